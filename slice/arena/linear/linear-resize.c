/* linear-resize.c - objects of a linear arena that are resized or freed
 *
 * Layer: arena.  The last object of the current block ends where the next one
 * begins, so it can grow, shrink and be freed.  An object with a dedicated
 * block can do so in its block, whatever was added since; if it outgrows the
 * block, it moves and the block is returned.  A text that moves gets more room
 * than it needs, so that n appends copy O(n) bytes.
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
#include "arena/bump/traced.h"

enum
{
  /* An object that grows is searched for in this many of the newest blocks.  A
   * text for which more blocks were added between two appends is copied. */
  GROWN_LOOKS_MAX = 64,

  /* Less room than this for the next appends is not worth a block. */
  ROOM_BYTES_MIN = 64
};

/* The bytes that an object takes in its block. */
static size_t
linear_whole (const Bump *bump, size_t size)
{
  return sli_round8 (size + (size == 0)) + sli_bump_gap (bump);
}

/* Returns true for the last object, unless it is older than the newest mark: a
 * rollback would cut off what it has grown by. */
static bool
linear_is_last (const SliceLinear *linear, const char *object, size_t size)
{
  const Bump *bump = &linear->bump;
  size_t whole = linear_whole (bump, size);
  size_t limit_offset = (uintptr_t) linear->mark_limit - (uintptr_t) object;

  return bump->current != BLOCK_NONE && object >= sli_bump_start (bump)
         && sli_bump_at (bump) == object + whole && limit_offset - 1 >= whole;
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

/* Counts an object of a dedicated block no longer.  A string has the size of
 * its text, which may be less than it was allocated with. */
static void
linear_uncount (Bump *bump, size_t size)
{
  size_t bytes = sli_round8 (size + (size == 0));

  assert_here (bump->own_bytes >= bytes);
  bump->own_bytes -= bytes;
}

/* Returns a dedicated block, if it is the last of all blocks and holds the
 * object. */
static bool
linear_free_dedicated (SliceLinear *linear, char *object, size_t size)
{
  Bump *bump = &linear->bump;
  uint32_t n_used = bump->chain.n_used;
  Block last;
  size_t offset;

  if (n_used <= linear->mark_n_used)
    return false;
  last = bump->chain.table[n_used - 1];
  offset = (uintptr_t) object - (uintptr_t) last.start;
  if (!sli_block_is_dedicated (&last) || offset >= sli_block_bytes (&last)
      || size > sli_block_bytes (&last) - offset)
    return false;
  if (bump->chain.is_traced)
    sli_traced_free (bump, object);
  linear_uncount (bump, size);
  sli_chain_drop (&bump->chain, n_used - 1);
  return true;
}

bool
slice_linear_free_last (SliceLinear *linear, void *object, size_t size)
{
  linear_checked (linear, "slice_linear_free_last");
  if (object == NULL || linear_grows (linear))
    return false;
  if (!linear_is_last (linear, object, size))
    return linear_free_dedicated (linear, object, size);
  if (linear->bump.chain.is_traced)
    sli_traced_free (&linear->bump, object);
  linear_cut_last (linear, object);
  return true;
}

/* The last object of a block has another size. */
COLD static void
linear_annotate_resized (const char *start, const char *end,
                         const char *object, size_t old_size, size_t new_size)
{
  sli_annotate_cut (start, object, end);
  sli_annotate_object (start, object, new_size);
  sli_annotate_show_defined (object,
                             old_size < new_size ? old_size : new_size);
}

/* Grows or shrinks the last object in place; its contents stay. */
static bool
linear_resize_last (SliceLinear *linear, char *object, size_t old_size,
                    size_t new_size)
{
  Bump *bump = &linear->bump;
  size_t need = linear_whole (bump, new_size);

  if (!linear_is_last (linear, object, old_size)
      || need > (size_t) (bump->block_end - object))
    return false;
  sli_bump_set_at (bump, object + need);
  if (bump->chain.is_annotated)
    linear_annotate_resized (sli_bump_start (bump), bump->block_end, object,
                             old_size, new_size);
  return true;
}

/* The dedicated block that holds an object, if it is no older than the newest
 * mark; else BLOCK_NONE.  What is older keeps its bytes. */
static int32_t
linear_find_dedicated (const SliceLinear *linear, const char *object,
                       uint32_t n_looks)
{
  const BlockChain *chain = &linear->bump.chain;
  uint32_t end = linear->mark_n_used;

  if (linear->bump.own_bytes == 0)
    return BLOCK_NONE;
  assert_here (chain->n_used >= end);
  if (chain->n_used - end > n_looks)
    end = chain->n_used - n_looks;
  for (uint32_t i = chain->n_used; i > end; i--)
    {
      const Block *block = &chain->table[i - 1];
      size_t offset = (uintptr_t) object - (uintptr_t) block->start;

      if (offset < sli_block_bytes (block))
        return sli_block_is_dedicated (block) ? (int32_t) (i - 1) : BLOCK_NONE;
    }
  return BLOCK_NONE;
}

/* The dedicated block of an object that is resized.  Few programs grow one that
 * has become small, and a search for each small object takes time. */
static int32_t
linear_find_resized (const SliceLinear *linear, const char *object,
                     size_t old_size, size_t new_size)
{
  if (new_size <= old_size)
    return linear_find_dedicated (linear, object, UINT32_MAX);
  return new_size > LINEAR_SHARED_BYTES_MAX
             ? linear_find_dedicated (linear, object, GROWN_LOOKS_MAX)
             : BLOCK_NONE;
}

/* Grows or shrinks the object of a dedicated block, which counts with its
 * size. */
static bool
linear_resize_dedicated (SliceLinear *linear, int32_t index, char *object,
                         size_t old_size, size_t new_size)
{
  Bump *bump = &linear->bump;
  Block block;
  const char *end;

  if (index < 0)
    return false;
  block = bump->chain.table[index];
  end = block.start + sli_block_bytes (&block);
  if (linear_whole (bump, new_size) > (size_t) (end - object))
    return false;
  linear_uncount (bump, old_size);
  bump->own_bytes += sli_round8 (new_size);
  if (bump->chain.is_annotated)
    linear_annotate_resized (block.start, end, object, old_size, new_size);
  return true;
}

/* Hides the end of an object that shrinks from the tool.  After a rollback it
 * would be accessible again, so this returns false if there is a mark. */
COLD static bool
linear_annotate_shrunk (const SliceLinear *linear, const char *object,
                        size_t old_size, size_t new_size)
{
  if (linear->mark_limit != NULL)
    return false;
  sli_annotate_hide (object + new_size, old_size - new_size);
  return true;
}

/* Resizes an object that is not the last one in place, if that is possible. */
static bool
linear_resize_inside (SliceLinear *linear, int32_t dedicated, char *object,
                      size_t old_size, size_t new_size)
{
  if (linear_resize_dedicated (linear, dedicated, object, old_size, new_size))
    return true;
  /* An object that grows by less than its rounding would fit where it is.  But
   * if it is older than the newest mark, a rollback promises its old bytes. */
  if (new_size > old_size)
    return false;
  if (UNLIKELY (linear->bump.chain.is_annotated))
    return linear_annotate_shrunk (linear, object, old_size, new_size);
  return true;
}

/* --- objects that move --------------------------------------------------- */

/* Adds an object in a dedicated block in which it can grow to `room' bytes, or
 * to less if memory is short.  NULL: the object needs no such block. */
static void *
linear_add_with_room (SliceLinear *linear, size_t alignment, size_t size,
                      size_t room)
{
  const Bump *bump = &linear->bump;
  int error = errno;
  void *object = NULL;
  size_t more;

  if (size <= LINEAR_SHARED_BYTES_MAX || room <= size || room > SIZE_MAX / 4
      || sli_chain_has_spare (&bump->chain, linear_whole (bump, room)))
    return NULL;
  for (more = room - size; object == NULL && more >= ROOM_BYTES_MIN; more /= 2)
    object = sli_arena_linear_add_dedicated (
        linear, alignment, size, linear_whole (bump, size + more));
  errno = error; /* less may do */
  return object;
}

/* Returns the dedicated block of an object that has moved. */
static void
linear_drop_dedicated (SliceLinear *linear, int32_t index, size_t size)
{
  Bump *bump = &linear->bump;

  linear_uncount (bump, size);
  sli_chain_drop (&bump->chain, (uint32_t) index);
  if (bump->current > index)
    bump->current--;
}

static void *
linear_move (SliceLinear *linear, int32_t dedicated, void *object,
             size_t alignment, size_t old_size, size_t new_size, size_t room)
{
  Bump *bump = &linear->bump;
  bool is_traced = bump->chain.is_traced;
  void *moved;

  bump->chain.is_traced = false; /* the hooks get one call, for the move */
  moved = linear_add_with_room (linear, alignment, new_size, room);
  if (moved == NULL)
    moved = sli_arena_linear_add (linear, alignment, new_size);
  bump->chain.is_traced = is_traced;
  if (moved == NULL)
    return NULL;
  memcpy (moved, object, old_size < new_size ? old_size : new_size);
  if (UNLIKELY (is_traced))
    sli_traced_move (bump, object, moved, new_size);
  if (dedicated >= 0)
    linear_drop_dedicated (linear, dedicated, old_size);
  return moved;
}

void *
sli_arena_linear_resize (SliceLinear *linear, void *object, size_t alignment,
                         size_t old_size, size_t new_size, size_t room)
{
  int error = errno;
  bool may_stay;
  int32_t dedicated;

  if (object == NULL)
    return sli_arena_linear_add (linear, alignment, new_size);
  /* One that shrinks keeps its place, whatever is natural to its new size. */
  may_stay = new_size <= SIZE_MAX / 4
             && (new_size <= old_size
                 || ((uintptr_t) object & (alignment - 1)) == 0);
  if (!may_stay || !linear_resize_last (linear, object, old_size, new_size))
    {
      dedicated = linear_find_resized (linear, object, old_size, new_size);
      if (!may_stay
          || !linear_resize_inside (linear, dedicated, object, old_size,
                                    new_size))
        {
          void *moved = linear_move (linear, dedicated, object, alignment,
                                     old_size, new_size, room);

          if (moved != NULL || new_size > old_size)
            return moved;
          errno = error; /* only a tool wanted a copy */
        }
    }
  if (UNLIKELY (linear->bump.chain.is_traced))
    sli_traced_realloc (&linear->bump, object, object, new_size);
  return object;
}

void *
slice_linear_resize (SliceLinear *linear, void *object, size_t old_size,
                     size_t new_size)
{
  linear_checked (linear, "slice_linear_resize");
  sli_arena_linear_require_still (linear, "slice_linear_resize");
  old_size += old_size == 0; /* the one byte is the program's and stays */
  new_size += new_size == 0;
  return sli_arena_linear_resize (
      linear, object, sli_natural_alignment (new_size), old_size, new_size, 0);
}
