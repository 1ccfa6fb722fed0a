/* linear-mark.c - resets, marks and cleanups of a linear arena
 *
 * Layer: arena.  A mark is a position in a block; a rollback sets the arena
 * back to it and runs the cleanups that were added since:
 *
 *    block 1                block 2 (spare after the rollback)
 *   +--------------------+ +--------------------+
 *   | older   ^ newer    | | newer    |         |
 *   +---------|----------+ +----------|---------+
 *             mark_limit              next object
 *
 * What is older than the newest mark (below mark_limit) is never resized in
 * place.  Stamps tell which marks still hold (linear.h).
 *
 * Design: section 8.2.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "linear.h"

#include "arena/bump/traced.h"
#include "base/diag.h"

enum
{
  /* A rollback leaves the rest of a block if the next block has at least
   * this many times the space, or if the rest is small, twice. */
  SKIPPED_PART = 16,
  SKIPPED_BYTES_SMALL = 256
};

/* --- cleanups ------------------------------------------------------------ */

bool
slice_linear_add_cleanup (SliceLinear *linear, void (*function) (void *data),
                          void *data)
{
  Cleanup *cleanup = slice_linear_alloc (linear, sizeof *cleanup);

  if (cleanup == NULL)
    return false;
  if (linear->bump.chain.is_traced) /* not the program's object */
    sli_traced_free (&linear->bump, cleanup);
  cleanup->cleanup = function;
  cleanup->data = data;
  cleanup->next = linear->cleanups;
  linear->cleanups = cleanup;
  return true;
}

/* --- reset --------------------------------------------------------------- */

/* What is older than a mark stays as it is, as long as the mark may be used. */
static void
linear_set_limit (SliceLinear *linear, const char *next, uint32_t n_used)
{
  linear->mark_limit = next;
  linear->mark_n_used = n_used;
}

/* Returns true if objects that are the same again need the embedded block, or
 * as much space elsewhere. */
static bool
linear_needs_embedded (const SliceLinear *linear)
{
  const Bump *bump = &linear->bump;

  return bump->chain.consolidates
         && (bump->current == BLOCK_EMBEDDED
                 ? sli_bump_at (bump) != sli_bump_start (bump)
                 : linear->uses_embedded);
}

/* Starts again in a block that was kept, else in the embedded one.  Without
 * either the arena has no current block.  needs_embedded: the block that was
 * kept becomes larger by as much; if it can't, the embedded one comes first, as
 * it did. */
static void
linear_start_over (SliceLinear *linear, bool needs_embedded)
{
  Bump *bump = &linear->bump;
  BlockChain *chain = &bump->chain;

  bump->left_bytes = 0;
  bump->own_bytes = 0;
  linear->uses_embedded = false;
  if (chain->n_blocks > 0
      && (!needs_embedded
          || sli_chain_enlarge_spare (chain, chain->embedded_bytes)))
    {
      bump->chain.n_used = 1;
      sli_bump_enter (bump, 0, bump->chain.table[0].start);
    }
  else if (bump->chain.embedded != NULL)
    sli_bump_enter (bump, BLOCK_EMBEDDED, bump->chain.embedded);
  else
    {
      sli_bump_hide (bump);
      bump->current = BLOCK_NONE;
    }
}

/* Returns true if all objects are in one block, which can be used again as it
 * is. */
static bool
linear_has_one_block (const SliceLinear *linear)
{
  const Bump *bump = &linear->bump;

  return bump->chain.n_blocks == 1 && bump->chain.n_used == 1
         && bump->current == 0 && !linear->uses_embedded
         && !bump->is_always_hidden;
}

static void
linear_empty (SliceLinear *linear, SliceKeep keep)
{
  Bump *bump = &linear->bump;
  bool needs_embedded;

  if (keep == SLICE_KEEP_ALL && linear_has_one_block (linear))
    {
      bump->left_bytes = 0;
      sli_bump_set_at (bump, sli_bump_start (bump));
      return;
    }
  if (bump->chain.is_traced)
    sli_traced_cut_all (bump);
  needs_embedded = keep == SLICE_KEEP_ALL && linear_needs_embedded (linear);
  sli_chain_reset (&bump->chain, keep);
  linear_start_over (linear, needs_embedded);
}

void
slice_linear_reset (SliceLinear *linear, SliceKeep keep)
{
  linear_checked (linear, "slice_linear_reset");
  sli_arena_linear_run_cleanups (linear, NULL);
  if (linear_grows (linear))
    slice_linear_abandon (linear);
  linear_empty (linear, keep);
  linear_set_limit (linear, NULL, 0);
  linear->first = linear->stamp;
  linear->undone_from = linear->stamp;
  linear->undone_to = linear->stamp;
}

SliceMark
slice_linear_mark (SliceLinear *linear)
{
  const Bump *bump;
  SliceMark mark;

  linear_checked (linear, "slice_linear_mark");
  sli_arena_linear_require_still (linear, "slice_linear_mark");
  bump = &linear->bump;
  mark = (SliceMark){
    .linear = linear,
    .next = bump->current != BLOCK_NONE ? sli_bump_at (bump) : NULL,
    .cleanups = linear->cleanups,
    .left_bytes = bump->left_bytes,
    .own_bytes = bump->own_bytes,
    .stamp = ++linear->stamp,
    .n_used = bump->chain.n_used,
    .current = bump->current,
  };
  linear_set_limit (linear, mark.next, mark.n_used);
  if (bump->chain.is_traced)
    sli_traced_mark (&linear->bump, mark.stamp);
  return mark;
}

/* Returns true if the mark is at or below the next object, and was not
 * undone. */
static bool
mark_holds (const SliceLinear *linear, const SliceMark *mark)
{
  const Bump *bump = &linear->bump;
  bool counts = mark->stamp > linear->first && mark->stamp <= linear->stamp
                && (mark->stamp <= linear->undone_from
                    || mark->stamp > linear->undone_to);
  bool below
      = mark->n_used <= bump->chain.n_used
        && (mark->current != bump->current || bump->current == BLOCK_NONE
            || mark->next <= sli_bump_at (bump));

  return counts && below;
}

/* Ends the use of the blocks from n_used on.  If these were several, they
 * become one, so that what is allocated next from the mark fits one block. */
static void
chain_return_to (BlockChain *chain, uint32_t n_used)
{
  uint32_t n_spare = chain->n_blocks - chain->n_used;
  uint32_t end;

  sli_chain_cut (chain, n_used);
  end = chain->n_blocks - n_spare;
  if (chain->consolidates && end > n_used + 1)
    sli_chain_consolidate (chain, n_used, end);
}

/* Leaves the mark's block for the spare one behind it, if little space is left
 * in the first.  What a program does between a mark and a rollback it mostly
 * does again, and it would cross the same boundary each time.  The mark still
 * holds: it lies below the next object. */
static void
linear_skip_rest (SliceLinear *linear)
{
  Bump *bump = &linear->bump;
  size_t left = (size_t) (bump->block_end - sli_bump_at (bump));
  size_t least = left <= SKIPPED_BYTES_SMALL ? 2 * left : SKIPPED_PART * left;

  if (!bump->is_always_hidden && bump->chain.consolidates
      && sli_chain_has_spare (&bump->chain, least)
      && sli_chain_push (&bump->chain, least))
    sli_arena_linear_enter_pushed (linear);
}

static void
linear_return_to (SliceLinear *linear, const SliceMark *mark)
{
  Bump *bump = &linear->bump;

  assert_here (mark->current < (int32_t) mark->n_used);
  if (mark->n_used == bump->chain.n_used && mark->current == bump->current
      && !bump->is_always_hidden)
    {
      sli_bump_set_at (bump, mark->next);
      return;
    }
  chain_return_to (&bump->chain, mark->n_used);
  bump->left_bytes = mark->left_bytes;
  bump->own_bytes = mark->own_bytes;
  if (mark->current == BLOCK_NONE)
    {
      sli_bump_hide (bump);
      bump->current = BLOCK_NONE;
      return;
    }
  sli_bump_enter (bump, mark->current, mark->next);
  if (bump->chain.is_annotated)
    sli_annotate_cut (sli_bump_start (bump), mark->next, bump->block_end);
  linear_skip_rest (linear);
}

void
slice_linear_rollback (SliceLinear *linear, SliceMark mark)
{
  linear_checked (linear, "slice_linear_rollback");
  if (mark.linear != linear)
    sli_diag_abort (ARENA_MISUSE_FOREIGN_MARK,
                    "slice_linear_rollback: linear arena %p: rollback to a "
                    "mark of %p",
                    (void *) linear, (void *) mark.linear);
  if (!mark_holds (linear, &mark))
    sli_diag_abort (
        ARENA_MISUSE_STALE_MARK,
        "slice_linear_rollback: linear arena %p: rollback to a mark that was "
        "undone",
        (void *) linear);
  if (linear_grows (linear))
    slice_linear_abandon (linear);
  sli_arena_linear_run_cleanups (linear, mark.cleanups);
  if (linear->bump.chain.is_traced)
    sli_traced_cut_mark (&linear->bump, mark.stamp);
  linear_return_to (linear, &mark);
  linear_set_limit (linear, mark.next, mark.n_used);
  assert_here (linear->first < mark.stamp && mark.stamp <= linear->stamp);
  linear->undone_from = mark.stamp;
  linear->undone_to = linear->stamp;
}

/* Returns true if the arena is as a reset has left it, without a mark
 * since.  (An object that was abandoned leaves an empty block behind those with
 * objects.) */
static bool
linear_is_fresh (const SliceLinear *linear)
{
  const Bump *bump = &linear->bump;

  return bump->chain.n_used == 1 && bump->current == 0
         && bump->left_bytes == 0 && sli_bump_at (bump) == sli_bump_start (bump)
         && linear->stamp == linear->first && !linear->is_growing
         && !linear_grows_inline (linear);
}

size_t
slice_linear_trim (SliceLinear *linear)
{
  BlockChain *chain = &linear->bump.chain;
  size_t before;

  linear_checked (linear, "slice_linear_trim");
  before = chain->held_bytes + chain->beside_bytes;
  if (linear_is_fresh (linear))
    {
      sli_chain_reset (chain, SLICE_KEEP_NONE);
      linear_start_over (linear, false);
    }
  sli_chain_trim (chain, 0);
  sli_chain_trim_table (chain);
  return before - chain->held_bytes - chain->beside_bytes;
}
