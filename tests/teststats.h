/* teststats.h - figures of the allocator, for the tests that link it whole
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTSTATS_H
#define TESTSTATS_H

#include <glib.h>
#include <slice/slice.h>
#include <slice/stats.h>

/* A snapshot, good until the next call. */
static inline const SliceStats *
test_stats (void)
{
  static SliceStats stats;

  slice_get_stats (&stats);
  return &stats;
}

static inline const SliceClassStats *
test_class_stats (size_t size)
{
  return &test_stats ()->classes[SLICE_CLASS_V1 (size)];
}

static inline uint64_t
test_live (void)
{
  return test_stats ()->live_blocks;
}

#endif
