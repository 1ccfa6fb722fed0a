/* stack-resize.c - stack arenas: resizing the top object
 *
 * Layer: arena: above stack.c's blocks.
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
#include "arena/bump/traced.h"

/* The last block in use if it is dedicated to the object, else NULL. */
static const Block *
stack_dedicated_block (const SliceStack *stack, const char *object)
{
  const BlockChain *chain = &stack->bump.chain;
  const Block *last;

  if (chain->n_used == 0)
    return NULL;
  last = &chain->table[chain->n_used - 1];
  return sli_block_is_dedicated (last) && sli_block_has (*last, object) ? last
                                                                        : NULL;
}

static bool
stack_is_top (const SliceStack *stack, const char *object, size_t size)
{
  const Bump *bump = &stack->bump;
  const Block *own;
  size_t whole;

  if (stack->is_checked)
    return object == stack->top;
  own = stack_dedicated_block (stack, object);
  if (own != NULL)
    {
      const BlockHead *head = (const BlockHead *) own->start;

      return object == head->first && sli_stack_is_at (stack, head->below);
    }
  whole = sli_round8 (size) + sli_bump_gap (bump);
  return bump->current != BLOCK_NONE && object >= stack->low
         && sli_stack_is_at (stack, object + whole);
}

/* Tells the tool the new size of the top object. */
static void
stack_annotate_resized (SliceStack *stack, char *block_start, char *end,
                        char *object, size_t kept, size_t new_size)
{
  if (!stack->bump.chain.is_annotated)
    return;
  sli_annotate_cut (block_start, object, end);
  sli_annotate_object (block_start, object, new_size);
  sli_annotate_show_defined (object, kept);
}

/* Grows or shrinks the object in place, if it fits in its block and is aligned
 * for what it grows to. */
static bool
stack_resize_here (SliceStack *stack, char *object, size_t old_size,
                   size_t new_size)
{
  Bump *bump = &stack->bump;
  const Block *own = stack_dedicated_block (stack, object);
  char *start = own != NULL ? own->start : sli_bump_start (bump);
  char *end = own != NULL ? start + sli_block_bytes (own) : bump->block_end;
  size_t need = sli_round8 (new_size) + sli_bump_gap (bump);
  bool grows = new_size > old_size;
  size_t alignment = grows ? sli_natural_alignment (new_size) : 8;

  if (((uintptr_t) object & (alignment - 1)) != 0
      || need > (size_t) (end - object))
    return false;
  if (own == NULL)
    sli_bump_set_at (bump, object + need);
  stack_annotate_resized (stack, start, end, object,
                          grows ? old_size : new_size, new_size);
  return true;
}

/* Drops the dedicated block below the one just pushed; indexes move down. */
static void
stack_drop_dedicated (SliceStack *stack, uint32_t index)
{
  Bump *bump = &stack->bump;

  bump->own_bytes -= sli_block_bytes (&bump->chain.table[index]);
  sli_chain_drop (&bump->chain, index);
  if (bump->current > (int32_t) index)
    bump->current--;
}

/* Reports a move to the hooks while both addresses belong to the program. */
static void
stack_report_moved (SliceStack *stack, const char *object, const char *moved,
                  size_t new_size)
{
  if (stack->bump.chain.is_traced)
    sli_traced_realloc (&stack->bump, object, moved, new_size);
}

static char *
stack_add_again (SliceStack *stack, size_t size)
{
  return sli_stack_add (stack, sli_natural_alignment (size), size);
}

/* Moves the object of a dedicated block, and drops the block after the
 * copy. */
static char *
stack_move_dedicated (SliceStack *stack, char *object, size_t kept,
                      size_t new_size)
{
  uint32_t index = stack->bump.chain.n_used - 1;
  char *moved = stack_add_again (stack, new_size);

  if (moved == NULL)
    return NULL;
  memcpy (moved, object, kept);
  stack_report_moved (stack, object, moved, new_size);
  stack_drop_dedicated (stack, index);
  return moved;
}

/* Moves an object of the current block.  Releases it first, which does not
 * change its bytes. */
static char *
stack_move_here (SliceStack *stack, char *object, size_t kept, size_t new_size)
{
  Bump *bump = &stack->bump;
  char *at = sli_bump_at (bump);
  char *moved;

  sli_bump_set_at (bump, object - sli_stack_head_bytes (stack));
  moved = stack_add_again (stack, new_size);
  if (moved == NULL)
    sli_bump_set_at (bump, at);
  else
    memmove (moved, object, kept);
  return moved;
}

/* The same under a tool, which must not see two objects at one address.  Keeps
 * the bytes elsewhere meanwhile. */
static char *
stack_move_annotated (SliceStack *stack, char *object, size_t kept,
                      size_t old_size, size_t new_size)
{
  Bump *bump = &stack->bump;
  char *start = sli_bump_start (bump);
  char *at = sli_bump_at (bump);
  char *bytes = slice_try_alloc (kept + 1);
  char *moved;

  if (bytes == NULL)
    return NULL;
  memcpy (bytes, object, kept);
  sli_stack_release_here (stack, object, NULL);
  moved = stack_add_again (stack, new_size);
  if (moved == NULL)
    {
      sli_bump_set_at (bump, at);
      sli_annotate_object (start, object, old_size);
    }
  memcpy (moved != NULL ? moved : object, bytes, kept);
  slice_free1 (kept + 1, bytes);
  return moved;
}

/* Moves the top object, which stays the top. */
static char *
stack_resize_move (SliceStack *stack, char *object, size_t old_size,
                   size_t new_size)
{
  size_t kept = old_size < new_size ? old_size : new_size;
  char *moved;

  if (stack_dedicated_block (stack, object) != NULL)
    return stack_move_dedicated (stack, object, kept, new_size);
  moved = stack->bump.chain.is_annotated
              ? stack_move_annotated (stack, object, kept, old_size, new_size)
              : stack_move_here (stack, object, kept, new_size);
  if (moved != NULL)
    stack_report_moved (stack, object, moved, new_size);
  return moved;
}

void *
slice_stack_resize (SliceStack *stack, void *object, size_t old_size,
                    size_t new_size)
{
  char *top, *moved;
  bool is_here;

  sli_stack_require (stack, "slice_stack_resize");
  if (object == NULL)
    return slice_stack_alloc (stack, new_size);
  old_size += old_size == 0; /* the one byte is the program's and stays */
  new_size += new_size == 0;
  sli_stack_leave_empty (stack);
  if (!stack_is_top (stack, object, old_size))
    sli_stack_report (stack, object, "slice_stack_resize");
  if (new_size > SIZE_MAX / 4)
    {
      errno = ENOMEM;
      return NULL;
    }
  top = object;
  if (stack->is_checked)
    sli_stack_check_release (stack, top, "slice_stack_resize");
  is_here = stack_resize_here (stack, top, old_size, new_size);
  if (is_here)
    stack_report_moved (stack, top, top, new_size);
  moved = is_here ? top : stack_resize_move (stack, top, old_size, new_size);
  if (stack->is_checked)
    sli_stack_check_note (stack, moved != NULL ? moved : top,
                          moved != NULL ? new_size : old_size);
  return moved;
}
