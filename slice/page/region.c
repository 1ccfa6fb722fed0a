/* region.c - regions and the rings that they are in
 *
 * Layer: page.  Callers hold sli_page.lock (rank 20), under which nothing is
 * mapped, unmapped or advised.  They call sli_region_advise_huge() without it.
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "page/map/map.h"
#include "page-state.h"
#include "base/align.h"
#include "base/check.h"
#include "base/list.h"
#include "port/compiler.h"
#include "port/os/os.h"

#include <string.h>

enum
{
  /* The idle ring is ordered by time: a region that became idle earlier is put
   * behind at most this many others. */
  IDLE_PROBES_MAX = 64,
  /* The most regions with small pages in extents with huge ones.  Each may be
   * a mapping of its own, and a process can have 65,530 mappings. */
  SMALL_PAGE_REGIONS_MAX = 8192
};

SLICE_STATIC_ASSERT (sizeof (Region) + sizeof (MapLeaf) <= GRANULE_BYTES_MIN,
                     "a header and a leaf of the map fit in one granule");
SLICE_STATIC_ASSERT ((int) REGION_GRANULES_MAX <= (int) GRANULESET_BITS,
                     "a region's granules fit in a set");

unsigned sli_region_granule_shift;

/* --- rings --------------------------------------------------------------- */

COMMON_TEXT void
sli_region_file (Region *region)
{
  assert_held (&sli_page.lock);
  assert_here (!region_is_empty (region)); /* P1 */
  link_remove (&region->link);
  region->state = REGION_USED;
  link_after (&region->link, region_fullness_ring (region));
}

COMMON_TEXT void
sli_region_set_idle (Region *region, uint64_t since_msec)
{
  size_t n_used = sli_page.counts.n_regions - sli_page.counts.n_idle;
  Link *position = &sli_page.idle;

  assert_held (&sli_page.lock);
  assert_here (region_is_empty (region)); /* P1 */
  assert_here (sli_page.counts.n_idle < sli_page.counts.n_regions);
  sli_page.n_used_peak = max_size (sli_page.n_used_peak, n_used);
  link_remove (&region->link);
  for (unsigned i = 0;
       i < IDLE_PROBES_MAX && position->next != &sli_page.idle
       && region_of_link (position->next)->idle_msec > since_msec;
       i++)
    position = position->next;
  region->state = REGION_IDLE;
  region->idle_msec = since_msec;
  link_after (&region->link, position);
  sli_page.counts.n_idle++;
}

COMMON_TEXT bool
sli_region_set_small_pages (Region *region, bool small)
{
  assert_held (&sli_page.lock);
  if (!region->extent->is_huge || region->has_small_pages == small
      || (small && sli_page.n_small_paged >= SMALL_PAGE_REGIONS_MAX))
    return false;
  assert_here (small || sli_page.n_small_paged > 0); /* P6 */
  region->has_small_pages = small;
  if (small)
    sli_page.n_small_paged++;
  else
    sli_page.n_small_paged--;
  return true;
}

void
sli_region_advise_huge (Region *region, bool wanted)
{
  sli_os_advise_huge (region, region->n_granules * sli_page.granule_bytes,
                      wanted);
}

/* --- beginning and end --------------------------------------------------- */

/* Reserves the granules of the tags, behind the header's, and clears the
 * tags. */
static void
region_init_tags (Region *region, size_t bytes, bool is_zeroed)
{
  region->n_header = 1;
  region->tags_bytes = 0;
  if (!sli_page.has_tags)
    return;
  region->tags_bytes
      = (uint32_t) (bytes >> TAG_GRAIN_SHIFT) * (uint32_t) sizeof (uint16_t);
  region->n_header = (uint32_t) ((TAGS_OFFSET + region->tags_bytes
                                  + sli_page.granule_bytes - 1)
                                 >> sli_region_granule_shift);
  if (!is_zeroed)
    memset ((char *) region + TAGS_OFFSET, 0, region->tags_bytes);
}

/* The first region in a leaf's part of the address space holds the leaf, at
 * the end of its header's granule.  Its extent is never unmapped. */
static void
region_init_leaf (Region *region)
{
  MapLeaf *leaf
      = (MapLeaf *) (void *) ((char *) region + GRANULE_BYTES_MIN) - 1;

  if (map_leaf (region) != NULL)
    return;
  if (!region->extent->is_zeroed)
    memset (leaf, 0, sizeof *leaf);
  if (sli_map_add_leaf (region, leaf))
    region->extent->is_permanent = true;
}

/* Sets up the sets of a new region: all its granules are free.  In an extent
 * that is not zeroed they count as holding memory. */
COMMON_TEXT static void
region_init_granules (Region *region, bool is_zeroed)
{
  assert_held (&sli_page.lock);
  region->n_free = region_run_granules (region);
  granuleset_add (&region->free, region->n_header, region->n_free);
  region->dirty_msec = UINT64_MAX;
  if (is_zeroed)
    granuleset_add (&region->zeroed, region->n_header, region->n_free);
  else
    {
      sli_page.counts.held_bytes += region->n_free * sli_page.granule_bytes;
      region_note_dirty (region, region->n_header, region->n_free,
                         sli_os_clock_msec ());
    }
}

COMMON_TEXT Region *
sli_region_init (Extent *extent)
{
  Region *region = extent_region (extent, extent->n_initialised);
  size_t bytes = min_size (
      REGION_BYTES, extent->bytes - extent->n_initialised * REGION_BYTES);

  assert_held (&sli_page.lock);
  assert_here (extent->n_initialised < extent->n_regions);
  if (extent->n_initialised > 0) /* extent_add() has cleared the first */
    {
      if (!extent->is_zeroed)
        memset (region, 0, sizeof *region);
      region->extent = extent;
    }
  link_init (&region->link);
  region_init_tags (region, bytes, extent->is_zeroed);
  region->n_granules = (uint32_t) (bytes >> sli_region_granule_shift);
  region_init_granules (region, extent->is_zeroed);
  extent->n_initialised++;
  sli_page.counts.n_regions++;
  sli_page.counts.held_bytes += region->n_header * sli_page.granule_bytes;
  region_init_leaf (region);
  assert_here (!sli_map_has (region)); /* P5 */
  sli_map_set (region, bytes);
  sli_extent_cache_grow (extent);
  if (extent->n_initialised == extent->n_regions)
    sli_page.unfinished = NULL;
  return region;
}

COMMON_TEXT void
sli_region_init_idle (Extent *extent)
{
  Region *region = sli_region_init (extent);

  assert_held (&sli_page.lock);
  region->state = REGION_PURGED;
  link_after (&region->link, &sli_page.purged);
  extent->n_purged++;
  sli_page.n_purged++;
  sli_page.counts.n_idle++;
}

void
sli_region_retire (Region *region)
{
  size_t bytes = (region->n_granules - granuleset_count (&region->zeroed))
                 * sli_page.granule_bytes;

  assert_held (&sli_page.lock);
  assert_here (region->state == REGION_PURGED && region_is_empty (region));
  assert_here (sli_map_has (region)); /* P5 */
  link_remove (&region->link);
  sli_map_clear (region);
  sli_page.n_small_paged -= region->has_small_pages;
  sli_page.counts.held_bytes -= bytes;
  sli_page.counts.returned_bytes += bytes;
}
