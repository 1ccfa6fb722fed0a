/* page-trim.c - giving memory back that no run needs
 *
 * Layer: page.  Lock: sli_page.lock (rank 20), not held while the source
 * works: what is to be given back is taken off its ring first.
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "page.h"
#include "page-state.h"
#include "base/check.h"
#include "base/list.h"
#include "base/probe.h"
#include "port/compiler.h"
#include "port/os.h"

/* --- whole regions, idle ones -------------------------------------------- */

/* The region that has been idle longest, if that is long enough. */
static Region *
idle_take_oldest (uint64_t max_age_msec, bool *turns_plain)
{
  Region *region;

  assert_held (&sli_page.lock);
  if (link_is_alone (&sli_page.idle))
    return NULL;
  region = region_of_link (sli_page.idle.previous);
  if (max_age_msec > 0
      && sli_os_clock_msec () - region->idle_msec < max_age_msec)
    return NULL;
  link_remove (&region->link);
  region->state = REGION_IN_TRIM;
  *turns_plain = sli_region_set_plain (region, true);
  return region;
}

/* Can a source take memory back only by the extent? */
static bool
source_takes_extents_only (const SliceSource *source)
{
  return source->advise_away == NULL && source->unmap != NULL;
}

/* Files an idle region after its memory was given back (or could not be).
 * Returns the extent if it is to be unmapped. */
static Extent *
idle_put_back (Region *region, size_t dirty_granules, bool given_back)
{
  assert_held (&sli_page.lock);
  assert_here (region->state == REGION_IN_TRIM);
  if (!given_back && !source_takes_extents_only (sli_page.source))
    {
      region->state = REGION_IDLE;
      region->idle_msec = sli_os_clock_msec ();
      link_after (&region->link, &sli_page.idle);
      return NULL;
    }
  if (given_back)
    {
      granuleset_add (&region->zeroed, region->n_header,
                      region_run_granules (region));
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

/* Gives one idle region back; returns its bytes, 0 if there is none. */
static size_t
trim_one_region (uint64_t max_age_msec, bool *found)
{
  const SliceSource *source = sli_page.source;
  size_t dirty_granules, returned_bytes;
  Region *region;
  Extent *retired;
  bool given_back, turns_plain;

  sli_lock (&sli_page.lock);
  region = idle_take_oldest (max_age_msec, &turns_plain);
  sli_unlock (&sli_page.lock);
  *found = region != NULL;
  if (region == NULL)
    return 0;

  if (turns_plain)
    sli_region_advise_huge (region, false);
  dirty_granules
      = region_run_granules (region) - granuleset_count (&region->zeroed);
  given_back = source->advise_away != NULL
               && source->advise_away (
                   source, region_granule (region, region->n_header),
                   region_run_granules (region) * sli_page.granule_bytes);
  PROBE2 (page_return, region, dirty_granules);
  sli_lock (&sli_page.lock);
  returned_bytes = sli_page.counts.returned_bytes;
  retired = idle_put_back (region, dirty_granules, given_back);
  returned_bytes = sli_page.counts.returned_bytes - returned_bytes;
  /* A source that can't: do not ask again and again. */
  *found = region->state == REGION_PURGED;
  sli_unlock (&sli_page.lock);
  if (retired != NULL)
    sli_extent_unmap (retired->start, retired->bytes);
  return returned_bytes;
}

/* A guess; who takes one asks again, locked. */
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

/* --- single granules --------------------------------------------------------
 */

/* The free granules that hold memory and have not been needed for that long.
 */
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

/* Takes these out of a region, for a while; false if there are none. */
static bool
region_take_old (Region *region, uint64_t now_msec, uint64_t max_age_msec,
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
  if (region->state == REGION_IDLE)
    sli_page.counts.n_idle--;
  region->free = granuleset_minus (&region->free, dirty);
  region->n_free -= granuleset_count (dirty);
  sli_page.n_trimming++;
  link_remove (&region->link);
  region->state = REGION_IN_TRIM;
  return true;
}

/* Of the first region of a ring that this pass has not seen. */
COMMON_TEXT static Region *
ring_take_old (Link *ring, uint64_t now_msec, uint64_t max_age_msec,
               GranuleSet *dirty)
{
  assert_held (&sli_page.lock);
  LINK_EACH (link, ring)
    {
      Region *region = region_of_link (link);

      if (region->trim_pass == sli_page.trim_pass)
        continue;
      region->trim_pass = sli_page.trim_pass;
      if (region_take_old (region, now_msec, max_age_msec, dirty))
        return region;
    }
  return NULL;
}

/* Of the first region in use or idle: one that traffic now fills and now
 * leaves never becomes old as a whole. */
static Region *
granules_take_old (uint64_t max_age_msec, GranuleSet *dirty)
{
  uint64_t now_msec = sli_os_clock_msec ();
  Region *region = NULL;

  assert_held (&sli_page.lock);
  for (int i = 0; region == NULL && i < FULLNESS_RINGS; i++)
    region = ring_take_old (&sli_page.fullness[i], now_msec, max_age_msec,
                            dirty);
  if (region == NULL)
    region = ring_take_old (&sli_page.idle, now_msec, max_age_msec, dirty);
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

static void
granules_put_back (Region *region, const GranuleSet *dirty, bool given_back)
{
  unsigned n = granuleset_count (dirty);

  assert_held (&sli_page.lock);
  assert_here (sli_page.n_trimming > 0);
  sli_page.n_trimming--;
  region->free = granuleset_plus (&region->free, dirty);
  region->n_free += n;
  if (given_back)
    {
      region->zeroed = granuleset_plus (&region->zeroed, dirty);
      sli_page.counts.held_bytes -= n * sli_page.granule_bytes;
      sli_page.counts.returned_bytes += n * sli_page.granule_bytes;
    }
  else /* they wait for as long again */
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
         && (region = granules_take_old (max_age_msec, &dirty)) != NULL)
    {
      bool given_back, turns_plain = sli_region_set_plain (region, true);

      sli_unlock (&sli_page.lock);
      if (turns_plain)
        sli_region_advise_huge (region, false);
      given_back = granules_purge (region, dirty);
      if (given_back)
        bytes += granuleset_count (&dirty) * sli_page.granule_bytes;
      sli_lock (&sli_page.lock);
      granules_put_back (region, &dirty, given_back);
    }
  sli_unlock (&sli_page.lock);
  assert_slow (sli_page_is_valid ());
  return bytes;
}

/* --- fork ---------------------------------------------------------------- */

/* What a trimmer of the parent's had taken out goes back, and counts as not
 * given back. */
static void
region_recover (Region *region)
{
  unsigned n_free = 0;

  assert_held (&sli_page.lock);
  if (region->state == REGION_IN_TRIM && region_is_empty (region))
    {
      region->state = REGION_IDLE; /* it had been idle longest */
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
  region->dirty_msec = 0; /* or later: it is looked at */
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
        region_recover ((Region *) ((char *) extent->start
                                    + i * REGION_BYTES));
    }
  sli_unlock (&sli_page.lock);
}
