/* adaptor-count.h - what slices' own statistics tell, for both slice adaptors
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_ADAPTOR_COUNT_H
#define BENCH_ADAPTOR_COUNT_H

#include <slice/stats.h>

static inline bool
adaptor_count (Counts *counts)
{
  static SliceStats stats; /* large */
  *counts = (Counts){ 0 };
  if (!slice_get_stats (&stats))
    return true; /* no block yet: all zero */
  for (uint32_t i = 0; i < stats.n_classes; i++)
    {
      const SliceClassStats *class = &stats.classes[i];
      counts->depot_trips
          += (double) (class->n_depot_pops + class->n_depot_misses
                       + class->n_depot_pushes);
      counts->depot_contended += (double) class->n_contended;
      counts->slab_locks += (double) class->n_slab_locks;
    }
  return true;
}

#endif
