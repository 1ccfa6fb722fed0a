/* page-trim.c - returns memory that no run needs to the system
 *
 * Layer: page.  Lock: sli_page.lock (rank 20), not held while the source is
 * called.  A trimmer first removes the region from its ring.
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "page.h"
#include "page-state.h"
#include "base/check.h"
#include "base/list.h"
#include "port/compiler.h"
#include "port/os/os.h"
#include "port/probe.h"

/* --- idle regions -------------------------------------------------------- */

/* Removes the region that has been idle longest, if for max_age_msec or more;
 * else NULL. */
static Region *
idle_pop_oldest (uint64_t max_age_msec, bool *turns_small)
{
  Region *region;

  assert_held (&sli_page.lock);
  if (link_is_alone (&sli_page.idle))
    return NULL;
  region = region_of_link (sli_page.idle.previous);
  assert_here (region->state == REGION_IDLE && region_is_empty (region));
  if (max_age_msec > 0
      && sli_os_clock_msec () - region->idle_msec < max_age_msec)
    return NULL;
  link_remove (&region->link);
  region->state = REGION_IN_TRIM;
  *turns_small = sli_region_set_small_pages (region, true);
  return region;
}

/* Returns true if a source can unmap but not purge. */
static bool
source_unmaps_only (const SliceSource *source)
{
  return source->advise_away == NULL && source->unmap != NULL;
}

/* Puts an idle region into the ring of its new state, after an attempt to
 * purge it.  Returns the extent if it is to be unmapped, else NULL. */
static Extent *
idle_put_back (Region *region, size_t dirty_granules, bool is_purged)
{
  assert_held (&sli_page.lock);
  assert_here (region->state == REGION_IN_TRIM);
  assert_here (region_is_empty (region) && link_is_alone (&region->link));
  if (!is_purged && !source_unmaps_only (sli_page.source))
    {
      region->state = REGION_IDLE;
      region->idle_msec = sli_os_clock_msec ();
      link_after (&region->link, &sli_page.idle);
      return NULL;
    }
  if (is_purged)
    {
      granuleset_add (&region->zeroed, region->n_header,
                      region_run_granules (region));
      assert_here (sli_page.counts.held_bytes
                   >= dirty_granules * sli_page.granule_bytes);
      sli_page.counts.held_bytes -= dirty_granules * sli_page.granule_bytes;
      sli_page.counts.returned_bytes
          += dirty_granules * sli_page.granule_bytes;
    }
  region->state = REGION_PURGED;
  link_after (&region->link, &sli_page.purged);
  region->extent->n_purged++;
  sli_page.n_purged++;
  return sli_extent_retire (region->extent) ? region->extent : NULL;
}

/* Purges one idle region and returns how many bytes that frees.  *found: there
 * was one, and the source could purge it. */
static size_t
trim_one_region (uint64_t max_age_msec, bool *found)
{
  const SliceSource *source = sli_page.source;
  size_t dirty_granules, returned_bytes;
  Region *region;
  Extent *retired;
  bool is_purged, turns_small;

  sli_lock (&sli_page.lock);
  region = idle_pop_oldest (max_age_msec, &turns_small);
  sli_unlock (&sli_page.lock);
  *found = region != NULL;
  if (region == NULL)
    return 0;

  if (turns_small)
    sli_region_advise_huge (region, false);
  dirty_granules
      = region_run_granules (region) - granuleset_count (&region->zeroed);
  sli_region_clear_tags (region, region->n_header,
                         region_run_granules (region));
  is_purged = source->advise_away != NULL
              && source->advise_away (
                  source, region_granule (region, region->n_header),
                  region_run_granules (region) * sli_page.granule_bytes);
  PROBE2 (page_return, region, dirty_granules);
  sli_lock (&sli_page.lock);
  returned_bytes = sli_page.counts.returned_bytes;
  retired = idle_put_back (region, dirty_granules, is_purged);
  returned_bytes = sli_page.counts.returned_bytes - returned_bytes;
  /* If the source can't purge, the caller stops. */
  *found = region->state == REGION_PURGED;
  sli_unlock (&sli_page.lock);
  if (retired != NULL)
    sli_extent_unmap (retired->start, retired->bytes);
  return returned_bytes;
}

/* A guess without the lock; idle_pop_oldest() checks under it. */
READS_RACILY static bool
may_have_idle (void)
{
  return LOAD (&sli_page.idle.next) != &sli_page.idle;
}

COMMON_TEXT size_t
sli_page_trim (uint64_t max_age_msec, unsigned max_regions)
{
  size_t bytes = 0;
  bool found = may_have_idle ();

  while (found && max_regions-- > 0)
    bytes += trim_one_region (max_age_msec, &found);
  assert_slow (sli_page_is_valid ());
  return bytes;
}

/* --- single granules ----------------------------------------------------- */

/* The free granules that hold memory and have been free for max_age_msec. */
static GranuleSet
region_old_granules (Region *region, uint64_t now_msec, uint64_t max_age_msec)
{
  GranuleSet old = granuleset_minus (&region->free, &region->zeroed);
  uint64_t oldest_msec = UINT64_MAX;

  assert_held (&sli_page.lock);
  if (max_age_msec == 0)
    return old;
  for (unsigned granule = region->n_header; granule < region->n_granules;
       granule++)
    if (granuleset_has_all (&old, granule, 1)
        && now_msec - region->free_msec[granule] < max_age_msec)
      {
        granuleset_remove (&old, granule, 1);
        if (region->free_msec[granule] < oldest_msec)
          oldest_msec = region->free_msec[granule];
      }
  region->dirty_msec = oldest_msec;
  return old;
}

/* Removes a region's old granules from its set and the region from its ring,
 * until granules_put_back(); false if it has none. */
static bool
region_pop_old (Region *region, uint64_t now_msec, uint64_t max_age_msec,
                GranuleSet *dirty)
{
  assert_held (&sli_page.lock);
  if (max_age_msec > 0
      && (region->dirty_msec == UINT64_MAX
          || now_msec - region->dirty_msec < max_age_msec))
    return false;
  *dirty = region_old_granules (region, now_msec, max_age_msec);
  if (granuleset_count (dirty) == 0)
    return false;
  assert_here (region->state == REGION_USED || region->state == REGION_IDLE);
  if (region->state == REGION_IDLE)
    sli_page.counts.n_idle--;
  region->free = granuleset_minus (&region->free, dirty);
  region->n_free -= granuleset_count (dirty);
  sli_page.n_trimming++;
  link_remove (&region->link);
  region->state = REGION_IN_TRIM;
  return true;
}

/* Finds the first region of a ring that has old granules and that this pass
 * has not seen, and removes them; NULL if there is none. */
COMMON_TEXT static Region *
ring_pop_old (Link *ring, uint64_t now_msec, uint64_t max_age_msec,
              GranuleSet *dirty)
{
  assert_held (&sli_page.lock);
  LINK_EACH (link, ring)
    {
      Region *region = region_of_link (link);

      if (region->trim_pass == sli_page.trim_pass)
        continue;
      region->trim_pass = sli_page.trim_pass;
      if (region_pop_old (region, now_msec, max_age_msec, dirty))
        return region;
    }
  return NULL;
}

/* The same for all regions in use or idle.  Idle ones are included, since a
 * region that is idle from time to time never gets old as a whole. */
static Region *
granules_pop_old (uint64_t max_age_msec, GranuleSet *dirty)
{
  uint64_t now_msec = sli_os_clock_msec ();
  Region *region = NULL;

  assert_held (&sli_page.lock);
  for (int i = 0; region == NULL && i < FULLNESS_RINGS; i++)
    region
        = ring_pop_old (&sli_page.fullness[i], now_msec, max_age_msec, dirty);
  if (region == NULL)
    region = ring_pop_old (&sli_page.idle, now_msec, max_age_msec, dirty);
  return region;
}

static void
granules_note_dirty (Region *region, const GranuleSet *granules)
{
  uint64_t now_msec = sli_os_clock_msec ();

  for (unsigned granule = region->n_header; granule < region->n_granules;
       granule++)
    if (granuleset_has_all (granules, granule, 1))
      region_note_dirty (region, granule, 1, now_msec);
}

/* Puts granules back into their region, after an attempt to purge them. */
static void
granules_put_back (Region *region, const GranuleSet *dirty, bool is_purged)
{
  unsigned n = granuleset_count (dirty);

  assert_held (&sli_page.lock);
  assert_here (sli_page.n_trimming > 0);
  assert_here (region->n_free + n <= region_run_granules (region));
  sli_page.n_trimming--;
  region->free = granuleset_plus (&region->free, dirty);
  region->n_free += n;
  if (is_purged)
    {
      region->zeroed = granuleset_plus (&region->zeroed, dirty);
      sli_page.counts.held_bytes -= n * sli_page.granule_bytes;
      sli_page.counts.returned_bytes += n * sli_page.granule_bytes;
    }
  else /* try again when they have aged once more */
    granules_note_dirty (region, dirty);
  if (region_is_empty (region))
    sli_region_set_idle (region, region->used_msec);
  else
    sli_region_file (region);
  assert_slow (sli_region_is_valid (region));
}

/* Advises away each stretch of granules in the set. */
static bool
granules_purge (Region *region, GranuleSet dirty)
{
  const SliceSource *source = sli_page.source;
  unsigned first, n;

  while (granuleset_first_stretch (&dirty, &first, &n))
    {
      sli_region_clear_tags (region, first, n);
      if (!source->advise_away (source, region_granule (region, first),
                                n * sli_page.granule_bytes))
        return false;
      granuleset_remove (&dirty, first, n);
    }
  return true;
}

COMMON_TEXT size_t
sli_page_trim_granules (uint64_t max_age_msec, unsigned max_regions)
{
  size_t bytes = 0;
  Region *region;
  GranuleSet dirty;

  if (sli_page.source->advise_away == NULL)
    return 0;
  sli_lock (&sli_page.lock);
  sli_page.trim_pass++;
  while (max_regions-- > 0
         && (region = granules_pop_old (max_age_msec, &dirty)) != NULL)
    {
      bool is_purged, turns_small = sli_region_set_small_pages (region, true);

      sli_unlock (&sli_page.lock);
      if (turns_small)
        sli_region_advise_huge (region, false);
      is_purged = granules_purge (region, dirty);
      if (is_purged)
        bytes += granuleset_count (&dirty) * sli_page.granule_bytes;
      sli_lock (&sli_page.lock);
      granules_put_back (region, &dirty, is_purged);
    }
  sli_unlock (&sli_page.lock);
  assert_slow (sli_page_is_valid ());
  return bytes;
}

/* --- fork ---------------------------------------------------------------- */

/* Puts back what a trimmer of the parent had removed, as not purged. */
static void
region_recover (Region *region)
{
  unsigned n_free = 0;

  assert_held (&sli_page.lock);
  if (region->state == REGION_IN_TRIM && region_is_empty (region))
    {
      region->state = REGION_IDLE; /* it was the oldest */
      link_after (&region->link, sli_page.idle.previous);
      return;
    }
  for (unsigned granule = region->n_header; granule < region->n_granules;
       granule++)
    if (region->run_first[granule] == 0)
      {
        granuleset_add (&region->free, granule, 1);
        n_free++;
      }
  if (n_free == region->n_free)
    return;
  region->n_free = n_free;
  region->dirty_msec = 0; /* unknown: the next trim checks all */
  if (region_is_empty (region))
    sli_region_set_idle (region, region->used_msec);
  else
    sli_region_file (region);
}

void
sli_page_fork_child (void)
{
  sli_lock (&sli_page.lock);
  sli_page.n_trimming = 0;
  LINK_EACH (link, &sli_page.extents)
    {
      Extent *extent = LINK_OWNER (link, Extent, link);

      for (unsigned i = 0; i < extent->n_initialised; i++)
        region_recover (extent_region (extent, i));
    }
  sli_unlock (&sli_page.lock);
}
