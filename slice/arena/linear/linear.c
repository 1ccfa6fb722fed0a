/* linear.c - linear arenas: objects are added, and all end at once
 *
 * Layer: arena: above bump.c and the chain of blocks.
 *
 * Design: section 8.2.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "linear.h"

#include <errno.h>
#include <string.h>
#include "base/diag.h"
#include "arena/arena-private.h"
#include "arena/traced.h"

SLICE_STATIC_ASSERT (offsetof (SliceLinear, bump.head) == 0,
               "the inline code finds its fields at the start");

#define CONTROL_BYTES align_up (sizeof (SliceLinear), 16)

enum
{
  /* Control block and first block together.  It is a class of slices, so
   * nothing is lost.  It is small, as half of a compiler's arenas hold 64
   * bytes or less, but 100 bytes fit. */
  NEW_BYTES = 352
};

static SliceLinear *
linear_checked (const SliceLinear *linear)
{
  sli_arena_require (linear, linear->bump.kind, ARENA_LINEAR);
  return (SliceLinear *) (uintptr_t) linear;
}

void
sli_arena_linear_require_still (const SliceLinear *linear)
{
  if (linear->is_growing)
    sli_diag_abort (
        ARENA_MISUSE_GROWING,
        "linear arena %p: used while an object grows in it",
        (const void *) linear);
}

/* --- making and ending --------------------------------------------------- */

size_t
sli_arena_linear_bytes (const SliceArenaOptions *given,
                        SliceArenaOptions *options)
{
  if (!sli_options_fill (given, NEW_BYTES - CONTROL_BYTES, 0, options))
    return 0;
  size_t empty
      = CONTROL_BYTES + sli_options_embedded (options, CONTROL_BYTES);
  return sli_options_allow (options, empty)
             ? empty + sli_traced_bytes (options)
             : 0;
}

SliceLinear *
sli_arena_linear_setup (void *memory, const SliceArenaOptions *options,
                        void (*end) (void *))
{
  SliceLinear *linear = memory;
  memset (&linear->bump + 1, 0, sizeof *linear - sizeof linear->bump);
  sli_bump_init (&linear->bump, ARENA_LINEAR, options, CONTROL_BYTES, end);
  /* If blocks take system calls, each dedicated one returns to its source at
   * once. */
  linear->bump.chain.keeps_dedicated = options->source == NULL;
  return linear;
}

static void
linear_run_cleanups (SliceLinear *linear, Cleanup *until)
{
  while (linear->cleanups != until)
    {
      Cleanup *cleanup = linear->cleanups;
      linear->cleanups = cleanup->next;
      cleanup->cleanup (cleanup->data);
    }
}

void
sli_arena_linear_fini (void *memory)
{
  SliceLinear *linear = memory;
  linear_run_cleanups (linear, NULL);
  if (linear->bump.chain.is_traced)
    sli_traced_fini (&linear->bump);
  sli_bump_end (&linear->bump);
  sli_chain_fini (&linear->bump.chain);
}

static void
linear_end (void *memory)
{
  SliceLinear *linear = memory;
  sli_arena_linear_fini (linear);
  slice_free1 (linear->bump.control_bytes, linear);
}

SliceLinear *
slice_linear_new (const SliceArenaOptions *given)
{
  SliceArenaOptions options;
  size_t bytes = sli_arena_linear_bytes (given, &options);
  void *memory = bytes != 0 ? slice_try_alloc (bytes) : NULL;
  return memory != NULL ? sli_arena_linear_setup (memory, &options, linear_end)
                        : NULL;
}

void
slice_linear_destroy (SliceLinear *linear)
{
  if (linear != NULL)
    linear_checked (linear)->bump.end (linear);
}

/* --- adding -------------------------------------------------------------- */

void
sli_arena_linear_enter_pushed (SliceLinear *linear)
{
  Bump *bump = &linear->bump;
  if (bump->current != BLOCK_NONE)
    bump->left_bytes += (size_t) (sli_bump_at (bump) - sli_bump_start (bump));
  int32_t index = (int32_t) bump->chain.n_used - 1;
  sli_bump_enter (bump, index, bump->chain.table[index].start);
}

/* Makes the block that was pushed the current one, or joins it to the current
 * one if it follows it in memory. */
static void
linear_resume (SliceLinear *linear)
{
  Bump *bump = &linear->bump;
  bool follows = bump->current == (int32_t) bump->chain.n_used - 2;
  if (follows && sli_chain_join_last (&bump->chain))
    sli_bump_enter (bump, bump->current, sli_bump_at (bump));
  else
    sli_arena_linear_enter_pushed (linear);
}

static void *
linear_add_dedicated (SliceLinear *linear, size_t alignment, size_t size,
                      size_t need)
{
  Bump *bump = &linear->bump;
  if (!sli_chain_push_dedicated (&bump->chain, need))
    return NULL;
  char *start = bump->chain.table[bump->chain.n_used - 1].start;
  char *object = sli_align (start, alignment);
  bump->own_bytes += sli_round8 (size);
  if (bump->chain.is_annotated)
    sli_annotate_object (start, object, size);
  if (bump->chain.is_traced)
    sli_traced_alloc (bump, object, size);
  return object;
}

/* Objects of up to this size share blocks in the smallest arena, too. */
#define SHARED_BYTES_MAX 256

/* Returns true if an object should get a block of its own.  Not if it fits
 * into the next spare block, so that an arena repeats what it did before. */
static bool
linear_wants_dedicated (const BlockChain *chain, size_t need)
{
  return need > SHARED_BYTES_MAX && sli_chain_wants_dedicated (chain, need)
         && !sli_chain_has_spare (chain, need);
}

/* The size of the next block, for four objects at least. */
static size_t
linear_next_bytes (const BlockChain *chain, size_t need)
{
  size_t bytes = sli_chain_next_bytes (chain);
  return need <= SHARED_BYTES_MAX && 4 * need > bytes ? 4 * need : bytes;
}

void *
sli_arena_linear_add (SliceLinear *linear, size_t alignment, size_t size)
{
  Bump *bump = &linear->bump;
  if (size > SIZE_MAX / 4)
    {
      errno = ENOMEM;
      return NULL;
    }
  size = size + (size == 0);
  void *object = sli_bump_alloc (bump, alignment, size);
  if (object != NULL)
    return object;
  /* Blocks are aligned to 16 by themselves. */
  size_t need = sli_round8 (size) + sli_bump_gap (bump)
                + (alignment > 16 ? alignment : 0);
  if (linear_wants_dedicated (&bump->chain, need))
    return linear_add_dedicated (linear, alignment, size, need);
  if (!sli_chain_push_sized (&bump->chain, need,
                             linear_next_bytes (&bump->chain, need)))
    return NULL;
  linear_resume (linear);
  return sli_bump_alloc (bump, alignment, size);
}

void *
slice_linear_alloc_slow_v1 (SliceLinear *linear, size_t size)
{
  linear_checked (linear);
  sli_arena_linear_require_still (linear);
  return sli_arena_linear_add (linear, sli_natural_alignment (size), size);
}

void *
slice_linear_alloc_n (SliceLinear *linear, size_t n, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow (n, size, &bytes))
    bytes = SIZE_MAX;
  return slice_linear_alloc (linear, bytes);
}

void *
slice_linear_alloc_aligned_slow_v1 (SliceLinear *linear, size_t alignment,
                                    size_t size)
{
  linear_checked (linear);
  sli_arena_linear_require_still (linear);
  return sli_arena_linear_add (linear, sli_require_alignment (alignment),
                               size);
}

void *
slice_linear_alloc_aligned_n (SliceLinear *linear, size_t alignment, size_t n,
                              size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow (n, size, &bytes))
    bytes = SIZE_MAX; /* there is no memory for that */
  return slice_linear_alloc_aligned (linear, alignment, bytes);
}

/* --- the last object ----------------------------------------------------- */

/* Returns true for the last object, unless it is older than the newest mark: a
 * rollback would cut off what it has grown by. */
static bool
linear_is_last (const SliceLinear *linear, const char *object, size_t size)
{
  const Bump *bump = &linear->bump;
  size_t whole = sli_round8 (size + (size == 0)) + sli_bump_gap (bump);
  size_t floor_offset = (uintptr_t) linear->floor - (uintptr_t) object;
  return bump->current != BLOCK_NONE && object >= sli_bump_start (bump)
         && sli_bump_at (bump) == object + whole && floor_offset - 1 >= whole;
}

/* What is older than a mark stays as it is, as long as the mark may be used. */
static void
linear_set_floor (SliceLinear *linear, const char *next, uint32_t n_used)
{
  linear->floor = next;
  linear->floor_n_used = n_used;
}

/* Removes the last object; the next one takes its address. */
static void
linear_cut_last (SliceLinear *linear, char *object)
{
  Bump *bump = &linear->bump;
  if (bump->chain.is_annotated)
    sli_annotate_cut (sli_bump_start (bump), object, bump->block_end);
  sli_bump_set_at (bump, object);
}

/* Returns a dedicated block, if it is the last of all blocks and holds the
 * object. */
static bool
linear_free_dedicated (SliceLinear *linear, char *object, size_t size)
{
  Bump *bump = &linear->bump;
  uint32_t n_used = bump->chain.n_used;
  if (n_used <= linear->floor_n_used)
    return false;
  Block last = bump->chain.table[n_used - 1];
  size_t offset = (uintptr_t) object - (uintptr_t) last.start;
  if (!sli_block_is_dedicated (&last) || offset >= sli_block_bytes (&last)
      || size > sli_block_bytes (&last) - offset)
    return false;
  if (bump->chain.is_traced)
    sli_traced_free (bump, object);
  assert_here (bump->own_bytes >= sli_round8 (size + (size == 0)));
  bump->own_bytes -= sli_round8 (size + (size == 0));
  sli_chain_drop (&bump->chain, n_used - 1);
  return true;
}

bool
slice_linear_free_last (SliceLinear *linear, void *object, size_t size)
{
  linear_checked (linear);
  if (object == NULL || linear->is_growing)
    return false;
  if (!linear_is_last (linear, object, size))
    return linear_free_dedicated (linear, object, size);
  if (linear->bump.chain.is_traced)
    sli_traced_free (&linear->bump, object);
  linear_cut_last (linear, object);
  return true;
}

/* Grows or shrinks the last object in place; its contents stay. */
static bool
linear_resize_last (SliceLinear *linear, char *object, size_t old_size,
                    size_t new_size)
{
  Bump *bump = &linear->bump;
  size_t need = sli_round8 (new_size + (new_size == 0)) + sli_bump_gap (bump);
  if (!linear_is_last (linear, object, old_size)
      || need > (size_t) (bump->block_end - object))
    return false;
  sli_bump_set_at (bump, object + need);
  if (bump->chain.is_annotated)
    {
      char *start = sli_bump_start (bump);
      sli_annotate_cut (start, object, bump->block_end);
      sli_annotate_object (start, object, new_size);
      sli_annotate_show_defined (object,
                                 old_size < new_size ? old_size : new_size);
    }
  return true;
}

/* Tells the hooks that an object has another size or was moved; returns it. */
static void *
linear_report_resized (SliceLinear *linear, const void *object, void *resized,
                     size_t new_size)
{
  Bump *bump = &linear->bump;
  if (LIKELY (!bump->chain.is_traced) || resized == NULL)
    return resized;
  if (resized == object)
    sli_traced_realloc (bump, object, object, new_size);
  else
    sli_traced_free (bump, object); /* the allocation was reported */
  return resized;
}

void *
sli_arena_linear_resize (SliceLinear *linear, void *object, size_t alignment,
                         size_t old_size, size_t new_size)
{
  sli_arena_require (linear, linear->bump.kind, ARENA_LINEAR);
  sli_arena_linear_require_still (linear);
  if (object == NULL)
    return sli_arena_linear_add (linear, alignment, new_size);
  bool is_aligned = ((uintptr_t) object & (alignment - 1)) == 0;
  if (new_size <= SIZE_MAX / 4 && is_aligned
      && linear_resize_last (linear, object, old_size, new_size))
    return linear_report_resized (linear, object, object, new_size);
  /* Compare the sizes unrounded first, as the largest ones would overflow. */
  bool is_smaller = new_size <= old_size
                    || (new_size <= SIZE_MAX / 4
                        && sli_round8 (new_size) <= sli_round8 (old_size));
  if (is_smaller && is_aligned && !linear->bump.chain.is_annotated)
    return linear_report_resized (linear, object, object, new_size);
  void *moved = sli_arena_linear_add (linear, alignment, new_size);
  if (moved != NULL)
    memcpy (moved, object, old_size < new_size ? old_size : new_size);
  return linear_report_resized (linear, object, moved, new_size);
}

void *
slice_linear_resize (SliceLinear *linear, void *object, size_t old_size,
                     size_t new_size)
{
  return sli_arena_linear_resize (
      linear, object, sli_natural_alignment (new_size), old_size, new_size);
}

/* --- reset, marks -------------------------------------------------------- */

/* Starts again in a block that was kept, else in the embedded one.  Without
 * either the arena has no current block. */
static void
linear_start_over (SliceLinear *linear)
{
  Bump *bump = &linear->bump;
  bump->left_bytes = 0;
  bump->own_bytes = 0;
  if (bump->chain.n_blocks > 0)
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
         && bump->current == 0 && !bump->is_always_hidden;
}

static void
linear_empty (SliceLinear *linear, SliceKeep keep)
{
  Bump *bump = &linear->bump;
  if (keep == SLICE_KEEP_ALL && linear_has_one_block (linear))
    {
      bump->left_bytes = 0;
      sli_bump_set_at (bump, sli_bump_start (bump));
      return;
    }
  if (bump->chain.is_traced)
    sli_traced_cut_all (bump);
  sli_chain_reset (&bump->chain, keep);
  linear_start_over (linear);
}

void
slice_linear_reset (SliceLinear *linear, SliceKeep keep)
{
  linear_checked (linear);
  linear_run_cleanups (linear, NULL);
  if (linear->is_growing)
    slice_linear_abandon (linear);
  linear_empty (linear, keep);
  linear_set_floor (linear, NULL, 0);
  linear->first = linear->stamp;
  linear->undone_from = linear->stamp;
  linear->undone_to = linear->stamp;
}

SliceMark
slice_linear_mark (SliceLinear *linear)
{
  linear_checked (linear);
  sli_arena_linear_require_still (linear);
  const Bump *bump = &linear->bump;
  SliceMark mark = {
    .linear = linear,
    .next = bump->current != BLOCK_NONE ? sli_bump_at (bump) : NULL,
    .cleanups = linear->cleanups,
    .left_bytes = bump->left_bytes,
    .own_bytes = bump->own_bytes,
    .stamp = ++linear->stamp,
    .n_used = bump->chain.n_used,
    .current = bump->current,
  };
  linear_set_floor (linear, mark.next, mark.n_used);
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
  sli_chain_cut (chain, n_used);
  uint32_t end = chain->n_blocks - n_spare;
  if (chain->keeps_dedicated && end > n_used + 1)
    sli_chain_gather (chain, n_used, end);
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
}

void
slice_linear_rollback (SliceLinear *linear, SliceMark mark)
{
  linear_checked (linear);
  if (mark.linear != linear)
    sli_diag_abort (ARENA_MISUSE_FOREIGN_MARK,
                    "linear arena %p: rollback to a mark of %p",
                    (void *) linear, (void *) mark.linear);
  if (!mark_holds (linear, &mark))
    sli_diag_abort (
        ARENA_MISUSE_STALE_MARK,
        "linear arena %p: rollback to a mark that was undone",
        (void *) linear);
  if (linear->is_growing)
    slice_linear_abandon (linear);
  linear_run_cleanups (linear, mark.cleanups);
  if (linear->bump.chain.is_traced)
    sli_traced_cut_mark (&linear->bump, mark.stamp);
  linear_return_to (linear, &mark);
  linear_set_floor (linear, mark.next, mark.n_used);
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
         && linear->stamp == linear->first && !linear->is_growing;
}

size_t
slice_linear_trim (SliceLinear *linear)
{
  linear_checked (linear);
  size_t before = linear->bump.chain.held_bytes;
  if (linear_is_fresh (linear))
    {
      sli_chain_reset (&linear->bump.chain, SLICE_KEEP_NONE);
      linear_start_over (linear);
    }
  sli_chain_trim (&linear->bump.chain, 0);
  return before - linear->bump.chain.held_bytes;
}

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

/* --- queries ------------------------------------------------------------- */

void
slice_linear_get_stats (const SliceLinear *linear, SliceArenaStats *stats)
{
  linear_checked (linear);
  sli_bump_stats (&linear->bump, CONTROL_BYTES, stats);
}

bool
slice_linear_owns (const SliceLinear *linear, const void *address)
{
  const Bump *bump = &linear_checked (linear)->bump;
  int32_t index = sli_chain_find (&bump->chain, address);
  if (index == BLOCK_NONE)
    return false;
  return index != bump->current || (const char *) address < sli_bump_at (bump);
}
