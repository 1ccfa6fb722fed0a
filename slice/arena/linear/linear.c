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
#include "arena/bump/traced.h"

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

void
sli_arena_linear_require_still (const SliceLinear *linear,
                                const char *operation)
{
  if (linear->is_growing || linear_grows_inline (linear))
    sli_diag_abort (
        ARENA_MISUSE_GROWING,
        "%s: linear arena %p: used while an object grows in it", operation,
        (const void *) linear);
}

/* --- making and ending --------------------------------------------------- */

static size_t
linear_bytes (const SliceArenaOptions *given, SliceArenaOptions *options)
{
  if (!sli_options_fill (given, NEW_BYTES - CONTROL_BYTES, 0, options))
    return 0;
  return sli_bump_bytes (options, CONTROL_BYTES);
}

size_t
sli_arena_linear_bytes (const SliceArenaOptions *given,
                        SliceArenaOptions *options)
{
  size_t bytes = linear_bytes (given, options);

  return bytes != 0 && sli_options_settle () ? linear_bytes (given, options)
                                             : bytes;
}

SliceLinear *
sli_arena_linear_setup (void *memory, const SliceArenaOptions *options,
                        void (*end) (void *))
{
  SliceLinear *linear = memory;

  memset (&linear->bump + 1, 0, sizeof *linear - sizeof linear->bump);
  sli_bump_init (&linear->bump, ARENA_LINEAR, options, CONTROL_BYTES, end);
  linear->bump.chain.keeps_dedicated = true;
  /* A source of the program's may count its blocks. */
  linear->bump.chain.consolidates = options->source == NULL;
  return linear;
}

void
sli_arena_linear_run_cleanups (SliceLinear *linear, Cleanup *until)
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

  sli_arena_linear_run_cleanups (linear, NULL);
  sli_bump_fini (&linear->bump);
}

static void
linear_end (void *memory)
{
  SliceLinear *linear = memory;

  sli_arena_linear_fini (linear);
  slice_free1 (linear->bump.control_bytes, linear);
}

/* The first arena with the default options, before its first use.  Others with
 * these are copies, which takes a fifth of the time of an arena made from its
 * options. */
static SliceLinear pristine;
static int pristine_state; /* PristineState */

static SliceLinear *
pristine_copy (void)
{
  SliceLinear *linear = slice_try_alloc (NEW_BYTES);
  char *start;

  if (linear == NULL)
    return NULL;
  *linear = pristine;
  start = (char *) linear + CONTROL_BYTES;
  linear->bump.chain.embedded = start;
  sli_bump_show (&linear->bump, start, (char *) linear + NEW_BYTES);
  return linear;
}

static SliceLinear *
linear_new (const SliceArenaOptions *given)
{
  SliceArenaOptions options;
  size_t bytes = sli_arena_linear_bytes (given, &options);
  SliceLinear *linear = bytes != 0 ? slice_try_alloc (bytes) : NULL;

  if (linear == NULL)
    return NULL;
  sli_arena_linear_setup (linear, &options, linear_end);
  if (given == NULL && !linear->bump.is_always_hidden)
    sli_pristine_keep (&pristine_state, &pristine, linear, sizeof pristine);
  return linear;
}

SliceLinear *
slice_linear_new (const SliceArenaOptions *given)
{
  if (LIKELY (given == NULL && sli_pristine_is_kept (&pristine_state)))
    return pristine_copy ();
  return linear_new (given);
}

void
slice_linear_destroy (SliceLinear *linear)
{
  if (linear != NULL)
    linear_checked (linear, "slice_linear_destroy")->bump.end (linear);
}

/* --- adding -------------------------------------------------------------- */

void
sli_arena_linear_enter_pushed (SliceLinear *linear)
{
  Bump *bump = &linear->bump;
  int32_t index;

  if (bump->current == BLOCK_EMBEDDED)
    linear->uses_embedded = sli_bump_at (bump) != sli_bump_start (bump);
  if (bump->current != BLOCK_NONE)
    bump->left_bytes += (size_t) (sli_bump_at (bump) - sli_bump_start (bump));
  index = (int32_t) bump->chain.n_used - 1;
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

void *
sli_arena_linear_add_dedicated (SliceLinear *linear, size_t alignment,
                                size_t size, size_t need)
{
  Bump *bump = &linear->bump;
  char *start, *object;

  if (!sli_chain_push_dedicated (&bump->chain, need))
    return NULL;
  start = bump->chain.table[bump->chain.n_used - 1].start;
  object = sli_align (start, alignment);
  bump->own_bytes += sli_round8 (size);
  if (bump->chain.is_annotated)
    sli_annotate_object (start, object, size);
  if (bump->chain.is_traced)
    sli_traced_alloc (bump, object, size);
  return object;
}

/* Returns true if an object should get a block of its own.  Not if it fits
 * into the next spare block, so that an arena repeats what it did before. */
static bool
linear_wants_dedicated (const BlockChain *chain, size_t need)
{
  return need > LINEAR_SHARED_BYTES_MAX
         && sli_chain_wants_dedicated (chain, need)
         && !sli_chain_has_spare (chain, need);
}

/* The size of the next block, for four objects at least. */
static size_t
linear_next_bytes (const BlockChain *chain, size_t need)
{
  size_t bytes = sli_chain_next_bytes (chain);
  bool is_shared = need <= LINEAR_SHARED_BYTES_MAX;

  return is_shared && 4 * need > bytes ? 4 * need : bytes;
}

/* Adds an object that does not fit the current block. */
static void *
linear_add_beyond (SliceLinear *linear, size_t alignment, size_t size)
{
  Bump *bump = &linear->bump;
  /* Blocks are aligned to 16 by themselves. */
  size_t need = sli_round8 (size) + sli_bump_gap (bump)
                + (alignment > 16 ? alignment : 0);
  size_t next;

  if (linear_wants_dedicated (&bump->chain, need))
    return sli_arena_linear_add_dedicated (linear, alignment, size, need);
  next = linear_next_bytes (&bump->chain, need);
  if (next > SLICE_BLOCK_BYTES_MAX
      && bump->current == (int32_t) bump->chain.n_used - 1
      && sli_chain_extend_last (&bump->chain, next > need ? next : need))
    sli_bump_enter (bump, bump->current, sli_bump_at (bump));
  else if (sli_chain_push_sized (&bump->chain, need, next))
    linear_resume (linear);
  else
    return NULL;
  return sli_bump_alloc (bump, alignment, size);
}

void *
sli_arena_linear_add (SliceLinear *linear, size_t alignment, size_t size)
{
  void *object;

  if (size > SIZE_MAX / 4)
    {
      errno = ENOMEM;
      return NULL;
    }
  size = size + (size == 0);
  object = sli_bump_alloc (&linear->bump, alignment, size);
  return object != NULL ? object : linear_add_beyond (linear, alignment, size);
}

/* Adds an object for the inline code.  If that has seen the block, the object
 * does not fit. */
static void *
linear_add_slow (SliceLinear *linear, size_t alignment, size_t size)
{
  if (LIKELY (!linear->bump.is_hidden && size - 1 < SIZE_MAX / 4))
    return linear_add_beyond (linear, alignment, size);
  return sli_arena_linear_add (linear, alignment, size);
}

void *
slice_linear_alloc_slow_v1 (SliceLinear *linear, size_t size)
{
  linear_checked (linear, "slice_linear_alloc");
  sli_arena_linear_require_still (linear, "slice_linear_alloc");
  return linear_add_slow (linear, sli_natural_alignment (size), size);
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
  const char *operation = "slice_linear_alloc_aligned";

  linear_checked (linear, operation);
  sli_arena_linear_require_still (linear, operation);
  return linear_add_slow (linear, sli_require_alignment (alignment, operation),
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

/* --- queries ------------------------------------------------------------- */

void
slice_linear_get_stats (const SliceLinear *linear, SliceArenaStats *stats)
{
  linear_checked (linear, "slice_linear_get_stats");
  sli_bump_stats (&linear->bump, CONTROL_BYTES, stats);
}

bool
slice_linear_owns (const SliceLinear *linear, const void *address)
{
  const Bump *bump = &linear_checked (linear, "slice_linear_owns")->bump;
  int32_t index = sli_chain_find (&bump->chain, address);

  if (index == BLOCK_NONE)
    return false;
  return index != bump->current || (const char *) address < sli_bump_at (bump);
}
