/* stats.c - a snapshot of the layers' counts
 *
 * Layer: observe.  Reads the layers through their getters; takes their locks
 * one at a time.  Design: chapter 10.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#define SLICE_STATS_DEFINE_EXPORTS
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
class_sum_up (SliceClassStats *class, SliceStats *stats)
{
  uint64_t cached = class->n_cached_threads + class->n_cached_depot;

  class->n_live = class->n_used > cached ? class->n_used - cached : 0;
  stats->live_blocks += class->n_live;
  stats->live_bytes += class->n_live * class->chunk_bytes;
  stats->cached_bytes += cached * class->chunk_bytes;
}

/* The structs of the caller, whose header may be a later version's: its head
 * and its classes begin as ours do, and are longer.  (None is shorter: version
 * 1 is the first.) */
typedef struct
{
  char *classes;
  size_t class_bytes;
  unsigned n_classes;
} StatsLayout;

static void
layout_put_class (const StatsLayout *layout, unsigned i,
                  const SliceClassStats *class)
{
  if (i < layout->n_classes)
    memcpy (layout->classes + i * layout->class_bytes, class, sizeof *class);
}

static void
stats_add_classes (SliceStats *stats, const StatsLayout *layout)
{
  MagazineCounts magazines[N_CLASSES];
  SlabCounts slabs[N_CLASSES];

  stats->n_threads = sli_magazine_count_all (magazines);
  sli_slab_count_all (slabs);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      SliceClassStats class = { 0 };

      class_add_geometry (&class, i);
      class_add_slabs (&class, &slabs[i]);
      class_add_depot (&class, i);
      class_add_magazines (&class, &magazines[i]);
      class_sum_up (&class, stats);
      layout_put_class (layout, i, &class);
    }
}

bool
slice_get_stats_v1 (SliceStats *stats, size_t head_bytes, size_t class_bytes,
                    unsigned n_classes)
{
  StatsLayout layout
      = { (char *) stats + head_bytes, class_bytes, n_classes };

  memset (stats, 0, head_bytes + n_classes * class_bytes);
  stats->n_classes = n_classes < N_CLASSES ? n_classes : N_CLASSES;
  if (!sli_alloc_is_ready ())
    return false;
  stats_add_pages (stats);
  sli_alloc_count_large (&stats->n_large_allocs, &stats->n_large_frees);
  stats->n_fork_lost = sli_magazine_fork_lost ();
  stats_add_classes (stats, &layout);
  stats->live_blocks += sli_alloc_count_live_mallocs ();
  return true;
}
