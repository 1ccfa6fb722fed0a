/* stats.c - a snapshot of the layers' counts
 *
 * Layer: observe.  Reads the layers through their getters; takes their locks
 * one at a time.  Design: chapter 10.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/stats.h>

#include "base/check.h"
#include "base/sizeclass.h"
#include "alloc/alloc.h"
#include "depot/depot.h"
#include "magazine/magazine.h"
#include "page/meta.h"
#include "page/page.h"
#include "slab/slab.h"

#include <string.h>

SLICE_STATIC_ASSERT ((int) SLICE_N_CLASSES == (int) N_CLASSES,
                     "the public number of classes");

static void
stats_add_pages (SliceStats *stats)
{
  PageCounts counts;

  sli_page_count (&counts);
  stats->held_bytes = counts.held_bytes;
  stats->mapped_bytes = counts.mapped_bytes;
  stats->returned_bytes = counts.returned_bytes;
  stats->n_regions = counts.n_regions;
  stats->n_regions_empty = counts.n_idle;
  stats->n_maps = counts.n_maps;
  stats->meta_bytes = sli_meta_held_bytes ();
}

static void
class_add_geometry (SliceClassStats *stats, unsigned class_index)
{
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];

  stats->block_bytes = sizeclass->block_bytes;
  stats->chunk_bytes = sizeclass->chunk_bytes;
  stats->slab_bytes = sizeclass->slab_bytes;
  stats->slab_chunks = sizeclass->n_chunks;
  stats->n_colours = sizeclass->n_colours;
}

static void
class_add_slabs (SliceClassStats *stats, const SlabCounts *counts)
{
  stats->n_slabs = counts->n_slabs;
  stats->n_used = counts->n_out;
  stats->n_slab_locks = counts->n_locks;
  stats->n_slab_fills = counts->n_allocs;
  stats->n_slabs_made = counts->n_made;
  stats->n_slabs_freed = counts->n_freed;
}

static void
class_add_depot (SliceClassStats *stats, unsigned class_index)
{
  DepotCounts counts;

  sli_depot_count (class_index, &counts);
  stats->n_cached_depot = counts.n_chunks;
  stats->n_depot_magazines = counts.n_magazines;
  stats->n_depot_pops = counts.n_pops;
  stats->n_depot_misses = counts.n_misses;
  stats->n_depot_pushes = counts.n_pushes;
  stats->n_contended = counts.n_contended;
  stats->n_trimmed = counts.n_trimmed;
}

static void
class_add_magazines (SliceClassStats *stats, const MagazineCounts *counts)
{
  stats->n_cached_threads = counts->n_cached;
  stats->n_hits = counts->n_hits;
  stats->n_grown = counts->n_grown;
  stats->n_shrunk = counts->n_shrunk;
  stats->rounds_now = counts->rounds_now;
  stats->rounds_peak = counts->rounds_peak;
}

/* Live blocks are the chunks that are out of their slabs and not cached.  The
 * counts are not taken at one moment, so a difference may be below 0. */
static void
stats_sum_up (SliceStats *stats)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      SliceClassStats *class = &stats->classes[i];
      uint64_t cached = class->n_cached_threads + class->n_cached_depot;

      class->n_live = class->n_used > cached ? class->n_used - cached : 0;
      stats->live_blocks += class->n_live;
      stats->live_bytes += class->n_live * class->chunk_bytes;
      stats->cached_bytes += cached * class->chunk_bytes;
    }
}

bool
slice_get_stats (SliceStats *stats)
{
  MagazineCounts magazines[N_CLASSES];
  SlabCounts slabs[N_CLASSES];

  memset (stats, 0, sizeof *stats);
  stats->n_classes = SLICE_N_CLASSES;
  if (!sli_alloc_is_ready ())
    return false;
  stats_add_pages (stats);
  sli_alloc_count_large (&stats->n_large_allocs, &stats->n_large_frees);
  stats->n_threads = sli_magazine_count_all (magazines);
  stats->n_fork_lost = sli_magazine_fork_lost ();
  sli_slab_count_all (slabs);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      class_add_geometry (&stats->classes[i], i);
      class_add_slabs (&stats->classes[i], &slabs[i]);
      class_add_depot (&stats->classes[i], i);
      class_add_magazines (&stats->classes[i], &magazines[i]);
    }
  stats_sum_up (stats);
  stats->live_blocks += sli_alloc_count_live_mallocs ();
  return true;
}
