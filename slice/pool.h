/* pool.h - pools: objects of one size, freed in any order or all at once
 *
 * Public.  See arena.h for what all arenas share.
 *
 * Design: section 8.4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_POOL_H
#define SLICE_POOL_H

#include <slice/arena.h>

SLICE_BEGIN_DECLS

/** A pool.
 *
 * While objects live, a pool returns empty blocks by itself, but keeps up to
 * 1 MiB of them, and what was reserved.  A checked pool and one of constructed
 * objects return them only in slice_pool_trim() and slice_pool_reset(). */
typedef struct SlicePool SlicePool;

/** The objects of a pool. */
typedef struct
{
  /** The size of an object in bytes, 1 to 2^20. */
  size_t object_bytes;

  /** A power of two up to SLICE_ARENA_ALIGNMENT_MAX; 0: the largest up to 16
   * that divides object_bytes rounded up to 8. */
  size_t alignment;

  /** Not NULL: constructs an object once, in slice_pool_alloc() before its
   * first allocation, from bytes that are undefined.  The object stays
   * constructed while it is free.  False: the allocation returns NULL with
   * errno ENOMEM, and a later one tries again.
   *
   * Neither function may use this pool.  Both must return: an exception or a
   * jump would leave the pool half changed.  If the pool has SLICE_ARENA_LOCKED
   * they run under its lock, in the thread that calls; then a use of the pool
   * is misuse (341), and a function that does not return leaves it locked.
   * (slice_pool_destroy() takes no lock.) */
  bool (*construct) (void *object, void *data);

  /** Called for each constructed object, live or free, before its memory is
   * returned: in slice_pool_reset(), slice_pool_trim() and
   * slice_pool_destroy(), or as the context that the pool belongs to is freed.
   * May be NULL; without `construct` it is never called. */
  void (*destruct) (void *object, void *data);

  /** Passed to `construct` and `destruct`. */
  void *data;

  /** How the pool gets its memory. */
  SliceArenaOptions arena;
} SlicePoolOptions;

/** Makes a pool.
 *
 * @param options  not NULL; object_bytes must be set, the rest may be 0
 * @return         the pool, or NULL with errno ENOMEM, or EINVAL if an option
 *                 is out of range
 */
SLICE_API SlicePool *slice_pool_new (const SlicePoolOptions *options);

/** Makes a pool of plain objects of one size, with the default options.
 *
 * @param object_bytes  1 to 2^20
 * @return              as slice_pool_new()
 */
SLICE_API SlicePool *slice_pool_new_plain (size_t object_bytes);

/** Makes a pool that belongs to a context, a node named "pool"; see
 * slice_linear_new_in(). */
SLICE_API SlicePool *slice_pool_new_in (const void *context,
                                        const SlicePoolOptions *options);

/** Ends a pool and all its objects, after the destructor of the constructed
 * ones; NULL does nothing.  One that belongs to a context may stay, as
 * slice_linear_destroy() says.
 *
 * Threads: the last user, also if the pool has SLICE_ARENA_LOCKED.
 * Cost: O(blocks); with constructed objects O(objects). */
SLICE_API void slice_pool_destroy (SlicePool *pool);

/* The part that the inline functions use (version 1).  The addresses of free
 * objects are on a stack outside the objects: if the objects were linked, an
 * allocation would wait for the cache line of the previous one.
 *
 *       bottom               top           limit
 *         v                   v              v
 *   | NULL | address | address |    unused    |
 *
 * At the limit the stack is full, or the next free is of the last live object.
 * A pool whose calls must all take the slow path (constructed, checked, locked,
 * traced or under a tool) shows an empty stack that can't hold any.
 *
 * The members are addresses of the stack's words, but not of pointer type: a
 * compiler assumes that a store to one of these words may change any pointer,
 * and would read the members again. */
typedef struct
{
  uintptr_t top;    /* behind the next address to be allocated */
  uintptr_t bottom; /* the stack is empty if top is here */
  uintptr_t limit;  /* a free takes the slow path if top is here */
} SlicePoolV1;

SLICE_API void *slice_pool_alloc_slow_v1 (SlicePool *pool);
SLICE_API void slice_pool_free_slow_v1 (SlicePool *pool, void *object);

/** Allocates an object.
 *
 * @param pool  not NULL
 * @return      the object: constructed, or with undefined contents; NULL with
 *              errno ENOMEM, also if the constructor fails
 *
 * Threads: the pool's owner; any with SLICE_ARENA_LOCKED, as for all calls of
 *   this file but slice_pool_destroy().
 * Cost: 6 instructions; a few dozen objects or more are cut at a time.  A call
 *   of the library if the pool is checked or locked or its objects are
 *   constructed, and the constructor.
 */
SLICE_ARENA_INLINE void *slice_pool_alloc (SlicePool *pool);
SLICE_ARENA_INLINE void *
slice_pool_alloc (SlicePool *pool)
{
  SlicePoolV1 *head = (SlicePoolV1 *) pool;
  void **top = (void **) head->top;
  if (SLICE_LIKELY (head->top != head->bottom))
    {
      void *object = top[-1];
      head->top = (uintptr_t) (top - 1);
      if (object == NULL)
        __builtin_unreachable ();
      return object;
    }
  return slice_pool_alloc_slow_v1 (pool);
}

/** Frees an object; it is the next to be allocated.
 *
 * @param pool    not NULL
 * @param object  of this pool; NULL does nothing
 *
 * Errors: it is misuse to free a free object (320), an object of another pool
 *   (321) or an address inside an object (322), and to write to a free object
 *   (323).  A checked pool finds the first three at the call, and a write when
 *   the object is allocated again; a pool of constructed objects finds the
 *   first three.  By default a pool finds a second free of the object that was
 *   freed last, and any free while no object is live.  The first free in a
 *   block of a checked pool, or of constructed objects, allocates a bitmap; if
 *   there is no memory for it, the pool does not find double frees in that
 *   block.
 * Threads: the pool's owner.
 * Cost: 10 instructions, or 9 together with the next allocation if the compiler
 *   sees both calls and knows that the object is not NULL.  After the free of
 *   the last live object, the pool starts over in the order of addresses:
 *   O(blocks).
 */
SLICE_ARENA_INLINE void slice_pool_free (SlicePool *pool, void *object);
SLICE_ARENA_INLINE void
slice_pool_free (SlicePool *pool, void *object)
{
  SlicePoolV1 *head = (SlicePoolV1 *) pool;
  void **top = (void **) head->top;
  if (SLICE_LIKELY (object != NULL && head->top != head->limit
                    && top[-1] != object))
    {
      head->top = (uintptr_t) (top + 1);
      *top = object;
      /* An allocation that follows need not look. */
      if (head->top == head->bottom)
        __builtin_unreachable ();
      return;
    }
  slice_pool_free_slow_v1 (pool, object);
}

/** Frees the `n` objects of an array as slice_pool_free() does; skips NULLs.
 * The array is not changed. */
SLICE_API void slice_pool_free_bulk (SlicePool *pool, size_t n,
                                     void *const *objects);

/** Reserves memory for objects that will be needed.
 *
 * @param pool  not NULL
 * @param n     the number of objects, free ones included, that can then be
 *              allocated without a request for memory, until the pool is
 *              reset, trimmed or destroyed (a constructor may still fail)
 * @return      false with errno ENOMEM; the pool is unchanged
 *
 * Threads: the pool's owner.
 * Cost: O(blocks); requests one block at most, or more if the objects take
 *   more than 1 GiB.
 */
SLICE_API bool slice_pool_reserve (SlicePool *pool, size_t n);

/** Frees all objects.  Calls the destructor of constructed objects in blocks
 * that are returned; in blocks that stay, objects stay constructed.
 *
 * Cost: O(blocks); with constructed objects O(objects).
 */
SLICE_API void slice_pool_reset (SlicePool *pool, SliceKeep keep);

/** Returns every block without a live object, the current one too, but not the
 * block behind the control block.  Calls the destructor of the constructed
 * objects there.  The pool never holds more afterwards.  (A pool that has found
 * no memory for its bitmaps may keep empty blocks while objects live.)
 *
 * @return  bytes returned, by which SliceArenaStats.held_bytes falls
 *
 * Cost: O(blocks + free objects).
 */
SLICE_API size_t slice_pool_trim (SlicePool *pool);

/** The number of live objects. */
SLICE_API size_t slice_pool_n_live (const SlicePool *pool);

/** The bytes from one object to the next in a block: at least the size of an
 * object, rounded up to its alignment. */
SLICE_API size_t slice_pool_chunk_bytes (const SlicePool *pool);

/** Gets statistics of the pool.  Cost: O(blocks). */
SLICE_API void slice_pool_get_stats (const SlicePool *pool,
                                     SliceArenaStats *stats);

SLICE_END_DECLS

#endif
