/* stack.h - stack arenas: the object allocated last is released first
 *
 * Public.  Allocation and release take a handful of instructions each, even at
 * the end of a block, since the block above is kept as a spare.  See arena.h
 * for what all arenas share.
 *
 * Design: section 8.3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_STACK_H
#define SLICE_STACK_H

#include <slice/arena.h>

SLICE_BEGIN_DECLS

/** A stack arena. */
typedef struct SliceStack SliceStack;

/** Makes a stack arena.  With SLICE_ARENA_CHECKED in the options each release
 * is checked; the alignment of objects is the same.
 *
 * @param options  NULL: the defaults
 * @return         the arena, or NULL with errno ENOMEM, or EINVAL if an
 *                 option is out of range
 */
SLICE_API SliceStack *slice_stack_new (const SliceArenaOptions *options);

/** Makes a stack arena that belongs to a context, a node named "stack"; see
 * slice_linear_new_in(). */
SLICE_API SliceStack *slice_stack_new_in (const void *context,
                                          const SliceArenaOptions *options);

/** Ends an arena and all that is in it; NULL does nothing.  One that belongs to
 * a context may stay, as slice_linear_destroy() says. */
SLICE_API void slice_stack_destroy (SliceStack *stack);

SLICE_API void *slice_stack_alloc_slow_v1 (SliceStack *stack, size_t size);
SLICE_API void slice_stack_release_slow_v1 (SliceStack *stack, void *object);
/* For slice.hpp, whose objects are inside those of the arena.  Reports misuse
 * if no live object of the arena can be there, or the fault (311, 312, 313) if
 * that is not 0. */
SLICE_API void slice_stack_check_v1 (const SliceStack *stack,
                                     const void *object, int fault);

/** Puts an object on the stack.
 *
 * @param stack  the arena; not NULL
 * @param size   bytes; 0 is taken as 1
 * @return       the object, contents undefined; NULL with errno ENOMEM
 *
 * Threads: the arena's owner.
 * Cost: 7 instructions for a constant size; sometimes a block.
 */
SLICE_ARENA_INLINE void *slice_stack_alloc (SliceStack *stack, size_t size)
    SLICE_ATTR_ALLOC_SIZE (2);
SLICE_ARENA_INLINE void *
slice_stack_alloc (SliceStack *stack, size_t size)
{
  void *object = slice_bump_take_v1 ((SliceBumpV1 *) stack, size);
  if (SLICE_LIKELY (object != NULL))
    return object;
  return slice_stack_alloc_slow_v1 (stack, size);
}

/** As slice_linear_alloc_aligned(). */
SLICE_API void *slice_stack_alloc_aligned (SliceStack *stack, size_t alignment,
                                           size_t size)
    SLICE_ATTR_ALLOC_SIZE (3);

/** Releases the top object.
 *
 * @param stack   the arena; not NULL
 * @param object  the top; NULL does nothing
 *
 * Errors: it is misuse to release an object of another arena (312), an object
 *   twice (311) or out of order (310).  A second release is 312, too, once the
 *   memory was used again or its block returned: a large object has a block of
 *   its own, which is returned at once.  A checked arena finds these at the
 *   call, and also an overrun into the data before an object (313).  Other
 *   arenas find an address outside the current block that is not the top, and
 *   an address above the top; but the release of a lower object in the current
 *   block releases all objects above it.
 * Threads: the arena's owner.
 * Cost: 6 instructions; O(1) where a block becomes empty.
 */
SLICE_ARENA_INLINE void slice_stack_release (SliceStack *stack, void *object);
SLICE_ARENA_INLINE void
slice_stack_release (SliceStack *stack, void *object)
{
  SliceBumpV1 *bump = (SliceBumpV1 *) stack;
  if (SLICE_LIKELY ((uintptr_t) object - (uintptr_t) bump->low
                    < (uintptr_t) bump->next - (uintptr_t) bump->low))
    bump->next = (char *) object;
  else
    slice_stack_release_slow_v1 (stack, object);
}

/** Changes the top object's size.  An object that shrinks stays in place, with
 * the alignment that it has, at least 8: also if its new size is a multiple of
 * 16.  One that grows does so, too, if it fits and is aligned for its new size;
 * else it is copied.
 *
 * @param object    the top; NULL: as slice_stack_alloc()
 * @param old_size  its present size, as it was allocated or last resized
 * @param new_size  bytes; 0 is taken as 1
 * @return          the object; NULL with errno ENOMEM, and the old one is
 *                  unchanged.  In both cases the arena may have returned blocks
 *                  that releases before the call have emptied
 *
 * Errors: an object that is not the top is misuse (310).
 */
SLICE_API void *slice_stack_resize (SliceStack *stack, void *object,
                                    size_t old_size, size_t new_size);

/** Releases all objects.
 *
 * @param keep  which blocks stay for the next use
 *
 * Cost: O(blocks). */
SLICE_API void slice_stack_reset (SliceStack *stack, SliceKeep keep);

/** Returns the spare block to the source, and shrinks the table of blocks.
 * @return  bytes returned, by which SliceArenaStats.held_bytes falls */
SLICE_API size_t slice_stack_trim (SliceStack *stack);

/** Returns true if the stack has no object. */
SLICE_API bool slice_stack_is_empty (const SliceStack *stack);

/** Gets statistics of the arena.  Cost: O(blocks). */
SLICE_API void slice_stack_get_stats (const SliceStack *stack,
                                      SliceArenaStats *stats);

/** Puts one `type` on the stack, with the alignment of the type. */
#define slice_stack_new_object(stack, type)                                   \
  SLICE_CAST_ (type *,                                                        \
               SLICE_ALIGNED_BY_SIZE_ (type)                                  \
                   ? slice_stack_alloc ((stack), SLICE_SIZEOF_ (type))        \
                   : slice_stack_alloc_aligned (                              \
                           (stack), __alignof__ (type), SLICE_SIZEOF_ (type)))

SLICE_END_DECLS

#endif
