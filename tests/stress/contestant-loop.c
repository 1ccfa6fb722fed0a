/* contestant-loop.c - no allocator: what the loops themselves cost
 *
 * Its blocks are made-up addresses that nobody may follow.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/walk.h>

static void *
loop_alloc (size_t size)
{
  uintptr_t address = size;
  __asm__ volatile("" : "+r"(address));
  return (void *)address;
}

static void *
loop_resize (size_t old_size, size_t size, void *block)
{
  (void)old_size;
  (void)block;
  return loop_alloc (size);
}

static void
loop_free (size_t size, void *block)
{
  __asm__ volatile("" : : "r"(size), "r"(block));
}

WALK_DEFINE (loop_walk, loop_alloc, loop_free)

static void
loop_replay (Replay *replay)
{
  replay_lap (loop_alloc, loop_alloc, loop_resize, loop_free, replay);
}

static const char *
loop_prepare (const Options *options)
{
  if (options->check || options->touch || options->share)
    return "there are no blocks that could be touched";
  return NULL;
}

static const BlockCalls loop_calls
    = { loop_alloc, loop_alloc, loop_resize, loop_free };

const Contestant contestant_loop = {
  .name = "loop",
  .what = "nothing: the loop around the calls alone",
  .prepare = loop_prepare,
  .calls = &loop_calls,
  .walk = loop_walk,
  .replay = loop_replay,
  .is_empty = true,
};
