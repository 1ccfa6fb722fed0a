/* stack.c - stack arenas: the object allocated last is released first
 *
 * Layer: arena: above bump.c and the chain of blocks.  Checks are in
 * stack-check.c.
 *
 * Invariants: the current block is the last regular one in use.  Dedicated
 * blocks above it in the table were pushed while it was current.  At most one
 * spare block is kept.
 *
 * Design: section 8.3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "stack.h"

#include <errno.h>
#include <string.h>
#include "base/diag.h"
#include "arena/arena-private.h"
#include "arena/bump/traced.h"

#define CONTROL_BYTES align_up (sizeof (SliceStack), 16)

/* A stack grows and shrinks over the same depth again and again, and each
 * block boundary on the way costs a call.  So blocks are large from the start
 * and double. */
enum
{
  NEW_BYTES = 2048,
  GROWTH_PART = 1,
  NEXT_BYTES_MIN = 4096,
  N_SPARE_BLOCKS = 1
};

/* --- making and ending --------------------------------------------------- */

static void stack_enter_bottom (SliceStack *stack);

static size_t
stack_bytes (const SliceArenaOptions *given, SliceArenaOptions *options)
{
  size_t bytes = NEW_BYTES - (sli_arena_all_checked () ? CHECKS_BYTES_MAX : 0);

  if (!sli_options_fill (given, bytes - CONTROL_BYTES, 0, options))
    return 0;
  return sli_bump_bytes (options, CONTROL_BYTES);
}

size_t
sli_arena_stack_bytes (const SliceArenaOptions *given,
                       SliceArenaOptions *options)
{
  size_t bytes = stack_bytes (given, options);

  return bytes != 0 && sli_options_settle () ? stack_bytes (given, options)
                                             : bytes;
}

SliceStack *
sli_arena_stack_setup (void *memory, const SliceArenaOptions *options,
                       void (*end) (void *))
{
  SliceStack *stack = memory;

  memset (stack, 0, sizeof *stack);
  sli_bump_init (&stack->bump, ARENA_STACK, options, CONTROL_BYTES, end);
  stack->is_checked = (options->flags & SLICE_ARENA_CHECKED) != 0
                      || sli_arena_all_checked ();
  if (stack->is_checked)
    stack->bump.is_always_hidden = true;
  stack->pad_max = 16;
  if (stack->bump.chain.embedded != NULL)
    sli_chain_set_growth (&stack->bump.chain, GROWTH_PART, NEXT_BYTES_MIN);
  stack_enter_bottom (stack);
  return stack;
}

void
sli_arena_stack_fini (void *memory)
{
  SliceStack *stack = memory;

  sli_bump_fini (&stack->bump);
}

static void
stack_end (void *memory)
{
  SliceStack *stack = memory;

  sli_arena_stack_fini (stack);
  slice_free1 (stack->bump.control_bytes, stack);
}

SliceStack *
slice_stack_new (const SliceArenaOptions *given)
{
  SliceArenaOptions options;
  size_t bytes = sli_arena_stack_bytes (given, &options);
  void *memory = bytes != 0 ? slice_try_alloc (bytes) : NULL;

  return memory != NULL ? sli_arena_stack_setup (memory, &options, stack_end)
                        : NULL;
}

void
slice_stack_destroy (SliceStack *stack)
{
  if (stack == NULL)
    return;
  sli_stack_require (stack, "slice_stack_destroy");
  stack->bump.end (stack);
}

/* --- blocks -------------------------------------------------------------- */

BlockHead *
sli_stack_block_head (const SliceStack *stack, int32_t index)
{
  return (BlockHead *) sli_chain_block (&stack->bump.chain, index).start;
}

/* Sets the lowest object that the inline code may release. */
static void
stack_set_low (SliceStack *stack, char *low)
{
  stack->low = low;
  sli_stack_block_head (stack, stack->bump.current)->first = low;
  if (!stack->bump.is_hidden)
    stack->bump.head.low = low;
}

/* Makes an empty block the current one. */
static void
stack_enter_empty (SliceStack *stack, int32_t index, char *below)
{
  BlockHead *head = sli_stack_block_head (stack, index);
  char *start = (char *) head + sizeof *head;

  if (stack->bump.chain.is_annotated)
    sli_annotate_show (head, sizeof *head);
  head->below = below;
  sli_bump_enter (&stack->bump, index, start);
  stack_set_low (stack, start);
}

static void
stack_enter_bottom (SliceStack *stack)
{
  Bump *bump = &stack->bump;

  bump->left_bytes = 0;
  bump->own_bytes = 0;
  stack->top = NULL;
  if (bump->chain.embedded != NULL)
    stack_enter_empty (stack, BLOCK_EMBEDDED, NULL);
  else
    {
      sli_bump_hide (bump);
      bump->current = BLOCK_NONE;
      stack->low = NULL;
    }
}

/* The regular block in use below the current one, or BLOCK_NONE. */
static int32_t
stack_block_below (const SliceStack *stack)
{
  const BlockChain *chain = &stack->bump.chain;
  int32_t index = stack->bump.current - 1;

  while (index >= 0 && sli_block_is_dedicated (&chain->table[index]))
    index--;
  if (index == BLOCK_EMBEDDED && chain->embedded == NULL)
    index = BLOCK_NONE;
  return index;
}

static bool
stack_block_is_empty (const SliceStack *stack)
{
  return stack->bump.current == BLOCK_NONE
         || sli_bump_at (&stack->bump) == stack->low;
}

/* Makes the block below the current one.  The block above it, which is empty
 * and the last in use, becomes the spare one. */
static void
stack_step_back (SliceStack *stack)
{
  Bump *bump = &stack->bump;
  char *below = sli_stack_block_head (stack, bump->current)->below;
  int32_t index = stack_block_below (stack);
  BlockHead *head;

  assert_here (stack_block_is_empty (stack));
  assert_here (bump->current == (int32_t) bump->chain.n_used - 1);
  sli_chain_cut (&bump->chain, (uint32_t) bump->current);
  sli_chain_trim (&bump->chain, N_SPARE_BLOCKS);
  if (index == BLOCK_NONE)
    {
      sli_bump_hide (bump);
      bump->current = BLOCK_NONE;
      return;
    }
  head = sli_stack_block_head (stack, index);
  assert_here (bump->left_bytes >= (size_t) (below - (char *) head));
  bump->left_bytes -= (size_t) (below - (char *) head);
  sli_bump_enter (bump, index, below);
  stack_set_low (stack, head->first);
}

/* The address of the next object, which the head of a new block above records.
 * An empty block is used from its start again. */
static char *
stack_next_place (SliceStack *stack)
{
  Bump *bump = &stack->bump;

  if (bump->current == BLOCK_NONE)
    return NULL;
  if (stack_block_is_empty (stack))
    {
      char *start = sli_bump_start (bump) + sizeof (BlockHead);

      sli_bump_set_at (bump, start);
      stack_set_low (stack, start);
    }
  return sli_bump_at (bump);
}

void
sli_stack_leave_empty (SliceStack *stack)
{
  const Bump *bump = &stack->bump;

  while (bump->current >= 0 && stack_block_is_empty (stack)
         && bump->current == (int32_t) bump->chain.n_used - 1)
    stack_step_back (stack);
}

/* --- alloc --------------------------------------------------------------- */

/* Allocates from the current block.  The first object may start above the
 * block's start; then it is the lowest that the inline code releases. */
static char *
stack_place_object (SliceStack *stack, size_t alignment, size_t size)
{
  Bump *bump = &stack->bump;
  bool was_empty;
  char *before, *object;
  size_t head_bytes, need;

  if (bump->current == BLOCK_NONE)
    return NULL;
  was_empty = stack_block_is_empty (stack);
  before = sli_bump_at (bump);
  if (was_empty)
    before = sli_bump_start (bump) + sizeof (BlockHead);
  head_bytes = sli_stack_head_bytes (stack);
  need = sli_round8 (size) + sli_bump_gap (bump);
  object = sli_align (before + head_bytes, alignment);
  if (object > bump->block_end || need > (size_t) (bump->block_end - object))
    return NULL;
  sli_bump_set_at (bump, object + need);
  if (was_empty)
    stack_set_low (stack, object - head_bytes);
  if (bump->chain.is_annotated)
    {
      if (head_bytes > 0)
        sli_annotate_show (object - head_bytes, head_bytes);
      sli_annotate_object (sli_bump_start (bump), object, size);
    }
  return object;
}

static char *
stack_alloc_dedicated (SliceStack *stack, size_t alignment, size_t size,
                       size_t need)
{
  Bump *bump = &stack->bump;
  int32_t index;
  BlockHead *head;
  size_t head_bytes;
  char *object;

  if (!sli_chain_push_dedicated (&bump->chain, need))
    return NULL;
  index = (int32_t) bump->chain.n_used - 1;
  head = sli_stack_block_head (stack, index);
  head_bytes = sli_stack_head_bytes (stack);
  object = sli_align ((char *) head + sizeof *head + head_bytes, alignment);
  if (bump->chain.is_annotated)
    {
      sli_annotate_show (head, (size_t) (object - (char *) head));
      sli_annotate_object (head, object, size);
    }
  head->below = stack_next_place (stack);
  head->first = object;
  bump->own_bytes += sli_block_bytes (&bump->chain.table[index]);
  return object;
}

char *
sli_stack_add (SliceStack *stack, size_t alignment, size_t size)
{
  Bump *bump = &stack->bump;
  char *object = stack_place_object (stack, alignment, size);
  size_t need;
  char *below;

  if (object != NULL)
    return object;
  need = sli_round8 (size) + sli_bump_gap (bump) + sizeof (BlockHead)
         + sli_stack_head_bytes (stack) + (alignment > 16 ? alignment : 0);
  if (sli_chain_wants_dedicated (&bump->chain, need))
    return stack_alloc_dedicated (stack, alignment, size, need);
  if (!sli_chain_push (&bump->chain, need))
    return NULL;
  below = stack_next_place (stack);
  if (below != NULL)
    bump->left_bytes += (size_t) (below - sli_bump_start (bump));
  stack_enter_empty (stack, (int32_t) bump->chain.n_used - 1, below);
  return stack_place_object (stack, alignment, size);
}

static void *
stack_alloc (SliceStack *stack, size_t alignment, size_t size)
{
  char *object;

  if (size > SIZE_MAX / 4)
    {
      errno = ENOMEM;
      return NULL;
    }
  size = size + (size == 0);
  object = sli_stack_add (stack, alignment, size);
  if (object != NULL && stack->is_checked)
    sli_stack_check_note (stack, object, size);
  if (object != NULL && stack->bump.chain.is_traced)
    sli_traced_alloc (&stack->bump, object, size);
  return object;
}

void *
slice_stack_alloc_slow_v1 (SliceStack *stack, size_t size)
{
  sli_stack_require (stack, "slice_stack_alloc");
  return stack_alloc (stack, sli_natural_alignment (size), size);
}

void *
slice_stack_alloc_aligned (SliceStack *stack, size_t alignment, size_t size)
{
  sli_stack_require (stack, "slice_stack_alloc_aligned");
  alignment = sli_require_alignment (alignment, "slice_stack_alloc_aligned");
  if (alignment > stack->pad_max)
    stack->pad_max = alignment;
  return stack_alloc (stack, alignment, size);
}

/* --- release ------------------------------------------------------------- */

bool
sli_stack_is_at (const SliceStack *stack, const char *place)
{
  const Bump *bump = &stack->bump;

  if (bump->current == BLOCK_NONE)
    return place == NULL;
  return (uintptr_t) sli_bump_at (bump) - (uintptr_t) place < stack->pad_max;
}

/* Releases the object if it is the one of the last dedicated block, and no
 * object was added to the current block since. */
static bool
stack_release_dedicated (SliceStack *stack, uint32_t index, const char *object)
{
  Bump *bump = &stack->bump;
  const Block *block = &bump->chain.table[index];
  BlockHead *head = (BlockHead *) block->start;

  if (object != head->first || !sli_stack_is_at (stack, head->below))
    return false;
  if (!stack_block_is_empty (stack))
    sli_bump_set_at (bump, head->below);
  bump->own_bytes -= sli_block_bytes (block);
  sli_chain_drop (&bump->chain, index);
  return true;
}

bool
sli_stack_release_here (SliceStack *stack, char *object, const char *lowest)
{
  Bump *bump = &stack->bump;
  char *start;

  if (bump->current == BLOCK_NONE || object < stack->low
      || object >= sli_bump_at (bump) || object < lowest)
    return false;
  start = object - sli_stack_head_bytes (stack);
  sli_bump_set_at (bump, start);
  if (bump->chain.is_annotated)
    sli_annotate_cut (sli_bump_start (bump), start, bump->block_end);
  return true;
}

static bool
stack_release (SliceStack *stack, char *object)
{
  Bump *bump = &stack->bump;

  for (;;)
    {
      uint32_t n_used = bump->chain.n_used;
      Block last = { 0 };

      if (n_used > 0)
        last = bump->chain.table[n_used - 1];
      if (n_used > 0 && sli_block_is_dedicated (&last))
        {
          const char *lowest = ((BlockHead *) last.start)->below;

          return sli_block_has (last, object)
                     ? stack_release_dedicated (stack, n_used - 1, object)
                     : sli_stack_release_here (stack, object, lowest);
        }
      if (sli_stack_release_here (stack, object, NULL))
        return true;
      if (bump->current < 0 || !stack_block_is_empty (stack))
        return false;
      stack_step_back (stack);
    }
}

void
slice_stack_release_slow_v1 (SliceStack *stack, void *object)
{
  sli_stack_require (stack, "slice_stack_release");
  if (object == NULL)
    return;
  if (stack->is_checked)
    sli_stack_check_release (stack, object, "slice_stack_release");
  if (stack->bump.chain.is_traced)
    sli_traced_cut (&stack->bump, object);
  if (!stack_release (stack, object))
    sli_stack_report (stack, object, "slice_stack_release");
}

/* --- the rest ------------------------------------------------------------ */

void
slice_stack_reset (SliceStack *stack, SliceKeep keep)
{
  sli_stack_require (stack, "slice_stack_reset");
  if (stack->bump.chain.is_traced)
    sli_traced_cut_all (&stack->bump);
  sli_chain_reset (&stack->bump.chain, keep);
  stack_enter_bottom (stack);
}

size_t
slice_stack_trim (SliceStack *stack)
{
  size_t bytes;

  sli_stack_require (stack, "slice_stack_trim");
  bytes = sli_chain_trim (&stack->bump.chain, 0);
  return bytes + sli_chain_trim_table (&stack->bump.chain);
}

/* Blocks may be in use though none has an object. */
bool
slice_stack_is_empty (const SliceStack *stack)
{
  const BlockChain *chain;
  const BlockHead *bottom;
  const char *first;

  sli_stack_require (stack, "slice_stack_is_empty");
  chain = &stack->bump.chain;
  if (!stack_block_is_empty (stack))
    return false;
  bottom = (const BlockHead *) chain->embedded;
  first = bottom != NULL ? bottom->first : NULL;
  for (uint32_t i = 0; i < chain->n_used; i++)
    {
      const BlockHead *head = (const BlockHead *) chain->table[i].start;

      if (sli_block_is_dedicated (&chain->table[i]) || head->below != first)
        return false;
      first = head->first;
    }
  return true;
}

void
slice_stack_get_stats (const SliceStack *stack, SliceArenaStats *stats)
{
  const BlockChain *chain;
  size_t n_heads;

  sli_stack_require (stack, "slice_stack_get_stats");
  chain = &stack->bump.chain;
  n_heads = chain->n_used + (chain->embedded != NULL);
  sli_bump_stats (&stack->bump, CONTROL_BYTES, stats);
  stats->used_bytes -= n_heads * sizeof (BlockHead);
  if (stack->bump.current != BLOCK_NONE && stack_block_is_empty (stack))
    {
      /* padding in front of an object that was released */
      const char *start = sli_bump_start (&stack->bump) + sizeof (BlockHead);
      size_t padding = (size_t) (stack->low - start);

      stats->used_bytes -= padding;
      stats->free_bytes += padding;
    }
  stats->control_bytes += n_heads * sizeof (BlockHead);
}
