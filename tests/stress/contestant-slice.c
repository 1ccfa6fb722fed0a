/* contestant-slice.c - slices through the header's inline calls, with all
 * layers or with the magazines bypassed
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/walk.h>
#include <tests/stress/contestant-slice.h>

#include <slice/slice.h>

static void *
slice_resize (size_t old_size, size_t size, void *block)
{
  void *resized = slice_alloc (size);
  if (block != NULL && resized != NULL)
    memcpy (resized, block, old_size < size ? old_size : size);
  slice_free1 (old_size, block);
  return resized;
}

WALK_DEFINE (slice_walk, slice_alloc, slice_free1)

static void
slice_replay (Replay *replay)
{
  replay_lap (slice_alloc, slice_alloc0, slice_resize, slice_free1, replay);
}

static const char *
slab_prepare (const Options *options)
{
  if (slice_set_option (SLICE_OPTION_BYPASS_MAGAZINES, 1) != SLICE_SET_OK)
    return "the option bypass-magazines was refused";
  return slice_prepare (options);
}

static const BlockCalls slice_calls
    = { slice_alloc, slice_alloc0, slice_resize, slice_free1 };

const Contestant contestant_slice = {
  .name = "slice",
  .what = "slices, all layers, inline",
  .prepare = slice_prepare,
  .calls = &slice_calls,
  .walk = slice_walk,
  .replay = slice_replay,
  .is_slice = true,
};

const Contestant contestant_slab = {
  .name = "slab",
  .what = "slices, magazines bypassed",
  .prepare = slab_prepare,
  .calls = &slice_calls,
  .walk = slice_walk,
  .replay = slice_replay,
  .is_slice = true,
};
