/* pool.h - a pool for each size, in steps of 16 bytes; one thread
 *
 * What a program gets that keeps a pool for each of its types; larger objects
 * than pools take come from malloc.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <slice/arena.h>

#define ADAPTOR_NAME "pool"
#define ADAPTOR_ALIGNMENT(size) ((void) (size), 2 * sizeof (void *))
#define ADAPTOR_THREADS_MAX 1
#define ADAPTOR_VERSION() slice_version ()
#define ADAPTOR_TRIM() pool_trim ()

enum
{
  POOL_STEP_BYTES = 16,
  POOL_SIZE_MAX = 8192,
  POOL_N_SIZES = POOL_SIZE_MAX / POOL_STEP_BYTES + 1
};

extern SlicePool *pools[POOL_N_SIZES];

__attribute__ ((noinline, unused)) static SlicePool *
pool_make (size_t index)
{
  pools[index] = slice_pool_new_plain (index * POOL_STEP_BYTES);
  if (pools[index] == NULL)
    abort ();
  return pools[index];
}

ADAPTOR_INLINE size_t
pool_index (size_t size)
{
  return (size + POOL_STEP_BYTES - 1) / POOL_STEP_BYTES;
}

ADAPTOR_INLINE void *
adaptor_alloc (size_t size)
{
  if (__builtin_expect (size > POOL_SIZE_MAX, 0))
    return malloc (size);
  SlicePool *pool = pools[pool_index (size)];
  if (__builtin_expect (pool == NULL, 0))
    pool = pool_make (pool_index (size));
  return slice_pool_alloc (pool);
}

ADAPTOR_INLINE void
adaptor_free (size_t size, void *block)
{
  if (__builtin_expect (size > POOL_SIZE_MAX, 0))
    free (block);
  else
    slice_pool_free (pools[pool_index (size)], block);
}

static inline bool
pool_trim (void)
{
  for (size_t i = 0; i < POOL_N_SIZES; i++)
    if (pools[i] != NULL)
      slice_pool_trim (pools[i]);
  slice_arena_trim (0);
  return true;
}

#ifdef ADAPTOR_DEFINE
SlicePool *pools[POOL_N_SIZES];
#endif
