/* contestant-limit.c - the least that an allocator could do
 *
 * A free list for each size and thread, inline, without a limit or a count;
 * what is freed stays there for ever, nothing is checked, nothing is given
 * back, another thread's blocks are kept as one's own.  No allocator can be
 * used like that; it shows how far down there is to go.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/walk.h>

#include <stdlib.h>
#include <string.h>

#define LIMIT_SIZE_MAX 2048
#define LIMIT_STEP_BYTES 8
#define LIMIT_CLASSES (LIMIT_SIZE_MAX / LIMIT_STEP_BYTES + 1)
#define LIMIT_PAGE_BYTES (1u << 20)

typedef struct LimitLink
{
  struct LimitLink *next;
} LimitLink;

static __thread struct
{
  LimitLink *lists[LIMIT_CLASSES];
  char *page; /* what is left of the last page */
  size_t left;
} limit;

/* Cuts a block from the page; 0: NULL, as for slices. */
static __attribute__ ((noinline, cold)) void *
limit_carve (size_t size)
{
  size_t bytes = (size + LIMIT_STEP_BYTES - 1) & ~(size_t)7;
  if (size == 0)
    return NULL;
  if (size > LIMIT_SIZE_MAX)
    return malloc (size);
  if (bytes % 16 == 0 && (uintptr_t)limit.page % 16 != 0)
    {
      limit.page += LIMIT_STEP_BYTES;
      limit.left -= LIMIT_STEP_BYTES;
    }
  if (limit.left < bytes + LIMIT_STEP_BYTES)
    {
      limit.page = stress_alloc (1, LIMIT_PAGE_BYTES);
      limit.left = LIMIT_PAGE_BYTES;
    }
  void *block = limit.page;
  limit.page += bytes;
  limit.left -= bytes;
  return block;
}

static void
limit_free_large (size_t size, void *block)
{
  if (size > LIMIT_SIZE_MAX)
    free (block);
}

HOT_INLINE void *
limit_alloc (size_t size)
{
  if (size <= LIMIT_SIZE_MAX)
    {
      LimitLink **list = &limit.lists[(size + 7) / LIMIT_STEP_BYTES];
      LimitLink *block = *list;
      if (__builtin_expect (block != NULL, 1))
        {
          *list = block->next;
          return block;
        }
    }
  return limit_carve (size);
}

HOT_INLINE void
limit_free (size_t size, void *block)
{
  if (__builtin_expect (size <= LIMIT_SIZE_MAX && block != NULL, 1))
    {
      LimitLink **list = &limit.lists[(size + 7) / LIMIT_STEP_BYTES];
      LimitLink *link = block;
      link->next = *list;
      *list = link;
    }
  else
    limit_free_large (size, block);
}

HOT_INLINE void *
limit_alloc0 (size_t size)
{
  void *block = limit_alloc (size);
  if (block != NULL)
    memset (block, 0, size);
  return block;
}

static void *
limit_resize (size_t old_size, size_t size, void *block)
{
  void *resized = limit_alloc (size);
  if (block != NULL && resized != NULL)
    memcpy (resized, block, old_size < size ? old_size : size);
  limit_free (old_size, block);
  return resized;
}

WALK_DEFINE (limit_walk, limit_alloc, limit_free)

static void
limit_replay (Replay *replay)
{
  replay_lap (limit_alloc, limit_alloc0, limit_resize, limit_free, replay);
}

static const char *
limit_prepare (const Options *options)
{
  (void)options;
  return NULL;
}

static const BlockCalls limit_calls
    = { limit_alloc, limit_alloc0, limit_resize, limit_free };

const Contestant contestant_limit = {
  .name = "limit",
  .what = "bare free lists, inline, that never give back",
  .prepare = limit_prepare,
  .calls = &limit_calls,
  .walk = limit_walk,
  .replay = limit_replay,
};
