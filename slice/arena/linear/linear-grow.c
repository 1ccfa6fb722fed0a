/* linear-grow.c - an object that grows at the end of a linear arena
 *
 * Layer: arena.  The inline code starts and finishes an object that fits the
 * current block.  All others grow in an arena that is hidden from it: the
 * first call of this file hides it (linear_grows()).  The object starts where
 * the next one would, and is added when it is finished.  If its block becomes
 * too small, it moves to a block of at least twice its size, so each byte is
 * copied O(1) times.
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

static void
grow_require (const SliceLinear *linear, const char *operation)
{
  sli_arena_require (linear, linear->bump.kind, ARENA_LINEAR, operation);
}

/* Under a tool, and while an object of no bytes grows in an arena without a
 * block, each character takes the slow path. */
static void
grow_set_end (Bump *bump)
{
  bool is_slow = bump->chain.is_annotated || bump->current == BLOCK_NONE;

  bump->head.growing_end = is_slow ? bump->head.growing : bump->block_end;
}

void
sli_arena_linear_hide_growing (SliceLinear *linear)
{
  assert_here (!linear->is_growing && !linear->bump.is_hidden);
  sli_bump_hide (&linear->bump);
  linear->is_growing = true;
  linear->grows_alone = false;
}

static void
grow_begin (SliceLinear *linear)
{
  Bump *bump = &linear->bump;
  char *start;

  sli_bump_hide (bump);
  linear->is_growing = true;
  linear->grows_alone = false;
  if (bump->current == BLOCK_NONE)
    return;
  start = sli_align (sli_bump_at (bump), 16);
  if (start > bump->block_end)
    start = bump->block_end;
  bump->at = start;
  bump->head.growing = start;
  grow_set_end (bump);
}

/* Ends the growing state; the next object starts where this one did. */
static void
grow_end (SliceLinear *linear)
{
  Bump *bump = &linear->bump;

  linear->is_growing = false;
  bump->head.growing = NULL;
  bump->head.growing_end = NULL;
  sli_bump_unhide (bump);
}

static size_t
grow_size (const SliceLinear *linear)
{
  if (linear->bump.current == BLOCK_NONE)
    return 0;
  return (size_t) (linear->bump.head.growing - linear->bump.at);
}

static size_t
grow_space (const SliceLinear *linear)
{
  const Bump *bump = &linear->bump;
  size_t space, gap;

  if (bump->current == BLOCK_NONE)
    return 0;
  space = (size_t) (bump->block_end - bump->head.growing);
  gap = sli_bump_gap (bump);
  return space > gap ? space - gap : 0;
}

/* Adds a block for twice `size' bytes, or for `size' if there is no memory for
 * more. */
static bool
grow_push (Bump *bump, size_t size)
{
  size_t need = size + sli_bump_gap (bump) + 8;

  return sli_chain_push (&bump->chain, need + size)
         || sli_chain_push (&bump->chain, need);
}

/* Moves the object to a block in which it can grow by `more' bytes.  Returns a
 * block that was pushed for this object alone at once. */
static bool
grow_move (SliceLinear *linear, size_t more)
{
  Bump *bump = &linear->bump;
  size_t size = grow_size (linear);
  char *old = bump->at;
  uint32_t n_used = bump->chain.n_used;
  bool drops;

  if (more > SIZE_MAX / 8 || !grow_push (bump, size + more))
    {
      errno = ENOMEM;
      return false;
    }
  drops = linear->grows_alone;
  sli_arena_linear_enter_pushed (linear);
  sli_bump_hide (bump);
  if (bump->chain.is_annotated)
    sli_annotate_show (bump->at, size);
  if (size > 0)
    memcpy (bump->at, old, size);
  bump->head.growing = bump->at + size;
  if (drops)
    {
      sli_chain_drop (&bump->chain, n_used - 1);
      bump->current--;
    }
  linear->grows_alone = true;
  grow_set_end (bump);
  return true;
}

/* The offset of an address in the growing object, which may move; SIZE_MAX:
 * the address is elsewhere. */
static size_t
grow_offset (const SliceLinear *linear, const void *address)
{
  size_t offset = (uintptr_t) address - (uintptr_t) linear->bump.at;

  return address != NULL && offset < grow_size (linear) ? offset : SIZE_MAX;
}

bool
slice_linear_grow_slow_v1 (SliceLinear *linear, size_t size,
                           const void *source)
{
  Bump *bump;
  bool is_first;
  size_t inside;
  char *before;

  grow_require (linear, "slice_linear_grow");
  bump = &linear->bump;
  is_first = !linear_grows (linear);
  before = sli_bump_at (bump);
  if (is_first)
    grow_begin (linear);
  inside = grow_offset (linear, source);
  if (size > grow_space (linear) && !grow_move (linear, size))
    {
      if (is_first) /* no object grows, and others may be added */
        {
          bump->at = before; /* without the object's padding */
          grow_end (linear);
        }
      return false;
    }
  if (inside != SIZE_MAX)
    source = bump->at + inside;
  if (bump->chain.is_annotated)
    sli_annotate_show (bump->head.growing, size);
  if (source != NULL && size > 0)
    memcpy (bump->head.growing, source, size);
  bump->head.growing += size;
  assert_here (bump->head.growing <= bump->block_end);
  grow_set_end (bump);
  return true;
}

void
slice_linear_shrink (SliceLinear *linear, size_t size)
{
  Bump *bump;
  size_t have;

  grow_require (linear, "slice_linear_shrink");
  bump = &linear->bump;
  have = linear_grows (linear) ? grow_size (linear) : 0;
  if (size > have)
    sli_diag_abort (
        ARENA_MISUSE_SHRINK,
        "slice_linear_shrink: linear arena %p: shrink by %zu of an object of "
        "%zu",
        (void *) linear, size, have);
  if (size == 0)
    return;
  assert_here (linear->is_growing);
  bump->head.growing -= size;
  if (bump->chain.is_annotated)
    sli_annotate_hide (bump->head.growing, size);
  grow_set_end (bump);
}

void *
slice_linear_growing (const SliceLinear *linear, size_t *size)
{
  const Bump *bump;
  bool grows, is_there;
  char *start;

  grow_require (linear, "slice_linear_growing");
  bump = &linear->bump;
  grows = linear->is_growing || linear_grows_inline (linear);
  start = sli_bump_at (bump);
  is_there = grows && bump->current != BLOCK_NONE;
  if (size != NULL)
    *size = is_there ? (size_t) (bump->head.growing - start) : 0;
  return is_there ? start : NULL;
}

void *
slice_linear_finish_slow_v1 (SliceLinear *linear, size_t *size_out)
{
  Bump *bump;
  size_t size;
  void *object;

  grow_require (linear, "slice_linear_finish");
  bump = &linear->bump;
  size = linear_grows (linear) ? grow_size (linear) : 0;
  if (size_out != NULL)
    *size_out = size;
  if (LIKELY (size > 0 && !bump->is_always_hidden))
    {
      char *finished = bump->at;

      bump->at = finished + sli_round8 (size);
      grow_end (linear);
      return finished;
    }
  if (linear->is_growing)
    grow_end (linear);
  if (size == 0)
    return slice_linear_alloc (linear, 1);
  object = sli_bump_alloc (bump, 16, size);
  if (bump->chain.is_annotated)
    sli_annotate_show_defined (object, size);
  return object;
}

void
slice_linear_abandon (SliceLinear *linear)
{
  size_t size;

  grow_require (linear, "slice_linear_abandon");
  if (!linear_grows (linear))
    return;
  size = grow_size (linear);
  if (linear->bump.chain.is_annotated && size > 0)
    sli_annotate_hide (linear->bump.at, size);
  grow_end (linear);
}
