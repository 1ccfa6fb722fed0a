/* adaptor.c - the adaptor as the frame sees it, and its variables
 *
 * SPDX-License-Identifier: MIT
 */
#define ADAPTOR_DEFINE
#include "bench.h"
#include <tests/adaptors/adaptor.h>

#if ADAPTOR_IS_SLICE
# include <slice/stats.h>
#endif

const char *
bench_adaptor_name (void)
{
  return ADAPTOR_NAME;
}

const char *
bench_adaptor_version (void)
{
  return ADAPTOR_VERSION ();
}

const char *
bench_adaptor_start (void)
{
  return ADAPTOR_START ();
}

bool
bench_adaptor_trim (void)
{
  return ADAPTOR_TRIM ();
}

#if ADAPTOR_IS_SLICE
static SliceStats stats; /* large */
#endif

bool
bench_adaptor_count (Counts *counts)
{
  *counts = (Counts){ 0 };
#if ADAPTOR_IS_SLICE
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
#endif
  return ADAPTOR_IS_SLICE;
}

size_t
bench_adaptor_alignment (size_t size)
{
  return ADAPTOR_ALIGNMENT (size);
}

unsigned
bench_adaptor_threads_max (void)
{
  return ADAPTOR_THREADS_MAX;
}
