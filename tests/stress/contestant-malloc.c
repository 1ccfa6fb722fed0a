/* contestant-malloc.c - the system's malloc, or one that is preloaded
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/walk.h>

#include <stdlib.h>

static void *
malloc_alloc0 (size_t size)
{
  return calloc (1, size);
}

static void *
malloc_resize (size_t old_size, size_t size, void *block)
{
  (void)old_size;
  return realloc (block, size);
}

static void
malloc_free (size_t size, void *block)
{
  (void)size;
  free (block);
}

WALK_DEFINE (malloc_walk, malloc, malloc_free)

static void
malloc_replay (Replay *replay)
{
  replay_lap (malloc, malloc_alloc0, malloc_resize, malloc_free, replay);
}

static const char *
malloc_prepare (const Options *options)
{
  (void)options;
  return NULL;
}

static const BlockCalls malloc_calls
    = { malloc, malloc_alloc0, malloc_resize, malloc_free };

const Contestant contestant_malloc = {
  .name = "malloc",
  .what = "malloc and free, the system's or a preloaded one",
  .prepare = malloc_prepare,
  .calls = &malloc_calls,
  .walk = malloc_walk,
  .replay = malloc_replay,
};
