/* contestant-calls.c - slices through the library's exported functions
 *
 * As a caller does that was built without optimisation or is bound from
 * another language: the functions are declared here, the header with the
 * inline ones is not included.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/walk.h>
#include <tests/stress/contestant-slice.h>

#include <string.h>

extern void *slice_alloc (size_t size);
extern void *slice_alloc0 (size_t size);
extern void slice_free1 (size_t size, void *block);

static void *
calls_resize (size_t old_size, size_t size, void *block)
{
  void *resized = slice_alloc (size);
  if (block != NULL && resized != NULL)
    memcpy (resized, block, old_size < size ? old_size : size);
  slice_free1 (old_size, block);
  return resized;
}

WALK_DEFINE (calls_walk, slice_alloc, slice_free1)

static void
calls_replay (Replay *replay)
{
  replay_lap (slice_alloc, slice_alloc0, calls_resize, slice_free1, replay);
}

static const BlockCalls calls_calls
    = { slice_alloc, slice_alloc0, calls_resize, slice_free1 };

const Contestant contestant_calls = {
  .name = "calls",
  .what = "slices through the library's functions, not inline",
  .prepare = slice_prepare,
  .calls = &calls_calls,
  .walk = calls_walk,
  .replay = calls_replay,
  .is_slice = true,
};
