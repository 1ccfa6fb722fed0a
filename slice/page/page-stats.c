/* page-stats.c - runs, counts and invariants of the page layer
 *
 * Layer: page.  Lock: sli_page.lock (rank 20).
 * Design: chapters 3 and 10.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/address.h>

#include "page.h"
#include "page/map/map.h"
#include "page-state.h"
#include "base/check.h"
#include "base/list.h"

/* --- runs ---------------------------------------------------------------- */

static void
region_each_run (Region *region, PageVisit visit, void *data)
{
  for (unsigned granule = region->n_header; granule < region->n_granules;
       granule++)
    if (region->run_first[granule] == granule)
      visit (region_granule (region, granule), region->records[granule], data);
}

static void
region_each_free (Region *region, PageFreeVisit visit, void *data)
{
  GranuleSet free = granuleset_minus (&region->free, &region->zeroed);
  unsigned first, n;

  while (granuleset_first_stretch (&free, &first, &n))
    {
      granuleset_remove (&free, first, n);
      visit (region_granule (region, first), n * sli_page.granule_bytes, data);
    }
}

/* Calls one of two visits, and not the one that is NULL. */
static void
each_region (PageVisit visit, PageFreeVisit visit_free, void *data)
{
  sli_lock (&sli_page.lock);
  if (sli_page.source != NULL)
    LINK_EACH (link, &sli_page.extents)
      {
        Extent *extent = LINK_OWNER (link, Extent, link);

        for (unsigned i = 0; i < extent->n_initialised; i++)
          if (visit != NULL)
            region_each_run (extent_region (extent, i), visit, data);
          else
            region_each_free (extent_region (extent, i), visit_free, data);
      }
  sli_unlock (&sli_page.lock);
}

void
sli_page_each_run (PageVisit visit, void *data)
{
  each_region (visit, NULL, data);
}

void
sli_page_each_free (PageFreeVisit visit, void *data)
{
  each_region (NULL, visit, data);
}

/* --- invariants ---------------------------------------------------------- */

static bool
ring_has (const Link *ring, const Link *link)
{
  for (const Link *at = ring->next; at != ring; at = at->next)
    if (at == link)
      return true;
  return false;
}

/* The ring that a region must be in (P1). */
static const Link *
region_ring (const Region *region)
{
  if (region->state == REGION_IDLE)
    return &sli_page.idle;
  if (region->state == REGION_PURGED)
    return &sli_page.purged;
  return region_fullness_ring (region);
}

/* Returns true if `run_first' and `free' agree about a granule, and it has no
 * class if it is in no run (P2). */
static bool
granule_is_valid (const Region *region, unsigned granule)
{
  unsigned first = region->run_first[granule];

  if (first == 0 && region->run_class[granule] != 0)
    return false;
  if (granule < region->n_header)
    return first == 0 && !granuleset_has_all (&region->free, granule, 1);
  if (first == 0) /* free, unless a trimmer has removed it from the set */
    return granuleset_has_all (&region->free, granule, 1)
           || region->state == REGION_IN_TRIM || sli_page.n_trimming > 0;
  return first <= granule && region->run_first[first] == first
         && granule < first + region->run_granules[first]
         && !granuleset_has_all (&region->free, granule, 1);
}

/* Returns true if the map has the bits of a region, and no others (P5). */
static bool
map_is_right (const Region *region)
{
  const char *start = (const char *) region;
  size_t bytes = region->n_granules * sli_page.granule_bytes;

  for (size_t at = 0; at < REGION_BYTES; at += SLICE_OURS_BYTES)
    if (sli_map_has (start + at) != (at < bytes))
      return false;
  return true;
}

static const char *
region_check (const Region *region)
{
  assert_held (&sli_page.lock);
  if (region->n_free != granuleset_count (&region->free))
    return "P2";
  if (region->state == REGION_IN_TRIM
          ? !link_is_alone (&region->link)
          : !ring_has (region_ring (region), &region->link))
    return "P1";
  for (unsigned granule = 0; granule < region->n_granules; granule++)
    if (!granule_is_valid (region, granule))
      return "P2";
  if (granuleset_count_in (&region->free, region->n_granules,
                           GRANULESET_BITS - region->n_granules)
      != 0)
    return "P2";
  if (region->state != REGION_IN_TRIM
      && !granuleset_has_all_of (&region->free, &region->zeroed))
    return "P3";
  return map_is_right (region) ? NULL : "P5";
}

bool
sli_region_is_valid (const Region *region)
{
  return region_check (region) == NULL;
}

bool
sli_page_is_valid (void)
{
  const void *where;

  return sli_page_check (&where) == NULL;
}

/* Sums over the regions of all extents. */
typedef struct
{
  size_t mapped_bytes;
  size_t held_bytes;
  size_t n_regions;
  size_t n_idle;
  size_t n_purged;
  size_t n_small_paged;
  size_t n_in_trim; /* regions whose granules a trimmer holds */
} PageSums;

/* Returns true if some granules are neither free nor in a run. */
static bool
region_lacks_granules (const Region *region)
{
  unsigned n_no_run = 0;

  for (unsigned granule = region->n_header; granule < region->n_granules;
       granule++)
    n_no_run += region->run_first[granule] == 0;
  return n_no_run != region->n_free;
}

/* A region whose granules a trimmer holds all still counts as idle. */
static void
sums_add_region (PageSums *sums, const Region *region)
{
  sums->held_bytes += (region->n_granules - granuleset_count (&region->zeroed))
                      * sli_page.granule_bytes;
  sums->n_regions++;
  sums->n_idle += region->state != REGION_USED && region_is_empty (region);
  sums->n_purged += region->state == REGION_PURGED;
  sums->n_small_paged += region->has_small_pages;
  sums->n_in_trim += region_lacks_granules (region);
}

/* Returns true if the counts are those of the regions (P6). */
static bool
counts_are_right (const PageSums *sums)
{
  const PageCounts *counts = &sli_page.counts;

  return sums->mapped_bytes == counts->mapped_bytes
         && sums->held_bytes == counts->held_bytes
         && sums->n_regions == counts->n_regions
         && sums->n_idle == counts->n_idle
         && sums->n_purged == sli_page.n_purged
         && sums->n_small_paged == sli_page.n_small_paged
         && (sums->n_in_trim > 0) == (sli_page.n_trimming > 0);
}

static const char *
extent_check (const Extent *extent, PageSums *sums, const void **where)
{
  unsigned n_purged = 0;

  sums->mapped_bytes += extent->bytes;

  for (unsigned i = 0; i < extent->n_regions; i++)
    {
      Region *region = extent_region (extent, i);
      const char *broken;

      *where = region;
      if (i >= extent->n_initialised)
        {
          if (sli_map_has (region))
            return "P5";
          continue;
        }
      broken = region_check (region);
      if (broken != NULL)
        return broken;
      n_purged += region->state == REGION_PURGED;
      sums_add_region (sums, region);
    }
  *where = extent;
  return n_purged != extent->n_purged ? "P4" : NULL;
}

const char *
sli_page_check (const void **where)
{
  const char *broken = NULL;
  PageSums sums = { 0 };

  sli_lock (&sli_page.lock);
  if (sli_page.source != NULL)
    LINK_EACH (link, &sli_page.extents)
      if (broken == NULL)
        broken = extent_check (LINK_OWNER (link, Extent, link), &sums, where);
  if (broken == NULL && !counts_are_right (&sums))
    {
      broken = "P6";
      *where = &sli_page;
    }
  sli_unlock (&sli_page.lock);
  return broken;
}

void
sli_page_count (PageCounts *counts)
{
  sli_lock (&sli_page.lock);
  *counts = sli_page.counts;
  sli_unlock (&sli_page.lock);
}
