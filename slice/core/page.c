/* page.c - regions, and runs of units cut from them
 *
 * Floor 2 (page).  Lock: page.lock (rank 20); nothing is mapped, unmapped or
 * advised while it is held: sli_page_alloc_run() maps between two attempts,
 * the trimmers take what they will give back off its ring first.
 * Theory: section 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "page.h"
#include "map.h"
#include "region.h"
#include "source.h"
#include "base/align.h"
#include "base/check.h"
#include "base/list.h"
#include "base/option.h"
#include "base/trace.h"
#include "base/probe.h"
#include "base/sizeclass.h"
#include "port/annotate.h"
#include "port/compiler.h"
#include "port/os.h"

#include <string.h>

#define EXTENT_FIRST_BYTES KIB (256)
/* From here on the last huge page of a heap, which is seldom full, costs at
 * most a sixty-fourth. */
#define HUGE_AFTER_BYTES MIB (128)
#define EXTENT_BYTES (sizeof (void *) > 4 ? MIB (32) : MIB (4))

enum
{
  /* Regions in use wait in rings by how full they are, fullest first, so
   * that the emptiest get a chance to become idle. */
  FULLNESS_RINGS = 4,
  /* In each ring so many regions are looked at for a run that fits. */
  FIT_LOOKS_MAX = 8,
  /* So many idle regions are kept for their working set, or an eighth of the
   * most that were ever in use; more go back at once (128 MiB: THEORY 11). */
  IDLE_REGIONS_KEPT = 64,
  IDLE_REGIONS_SHARE = 8
};

SLICE_STATIC_ASSERT (sizeof (Region) + MAP_LEAF_WORDS * 8 <= UNIT_BYTES_MIN,
                     "a header and a leaf of the map fit in one unit");
SLICE_STATIC_ASSERT ((int) REGION_UNITS_MAX <= (int) UNITSET_BITS,
                     "a region's units fit in a set");

static struct
{
  Lock lock;
  /* constant after sli_page_init() */
  const SliceSource *source;
  size_t unit_bytes;
  bool wants_huge;
  bool has_marks;
  /* under the lock */
  Link fullness[FULLNESS_RINGS + 1]; /* of regions; the last: no free unit */
  Link idle;              /* of regions, latest first */
  Link clean;             /* of regions */
  Link extents;           /* of extents */
  Extent *beginning;      /* the one that still has regions to begin */
  uint32_t trim_pass;
  size_t n_used_peak;     /* regions that had runs at once */
  size_t n_clean;         /* regions that are idle and given back */
  PageCounts counts;
} page = { .lock = LOCK_INIT (LOCK_RANK_PAGE) };

unsigned sli_region_unit_shift;

/* --- starting -------------------------------------------------------------- */

void
sli_page_init (void)
{
  size_t unit_bytes = max_size (UNIT_BYTES_MIN, sli_os_page_bytes ());

  page.source = sli_source_in_force ();
  page.unit_bytes = unit_bytes;
  sli_region_unit_shift = (unsigned) __builtin_ctzl (unit_bytes);
  page.wants_huge = sli_option_is_on (SLICE_OPTION_HUGE_PAGES);
  page.has_marks = sli_option_is_on (SLICE_OPTION_CHECKED)
                   || sli_option_is_on (SLICE_OPTION_HARDENED)
                   || sli_option_is_on (SLICE_OPTION_DEBUG)
                   || sli_annotate_is_on ();
  for (int i = 0; i <= FULLNESS_RINGS; i++)
    link_init (&page.fullness[i]);
  link_init (&page.idle);
  link_init (&page.clean);
  link_init (&page.extents);
  page.counts.unit_bytes = unit_bytes;
}

size_t
sli_page_unit_bytes (void)
{
  return page.unit_bytes;
}

bool
sli_page_has_marks (void)
{
  return page.has_marks;
}

Lock *
sli_page_lock (void)
{
  return &page.lock;
}

/* --- regions and their rings ---------------------------------------------- */

static Region *
region_of_link (Link *link)
{
  return LINK_OWNER (link, Region, link);
}

/* Units that runs may have. */
static inline unsigned
region_run_units (const Region *region)
{
  return region->n_units - region->n_header;
}

/* Does it hold no run? */
static inline bool
region_is_empty (const Region *region)
{
  return region->n_free == region_run_units (region);
}

/* Puts a region where its free units say that it belongs. */
static void
region_file (Region *region)
{
  Link *ring;

  assert_held (&page.lock);
  link_remove (&region->link);
  if (region->n_free == 0)
    ring = &page.fullness[FULLNESS_RINGS];
  else
    ring = &page.fullness[(region->n_free - 1) * FULLNESS_RINGS
                          / region->n_units];
  region->state = REGION_USED;
  link_after (&region->link, ring);
}

static void
region_set_idle (Region *region, uint64_t since_msec)
{
  size_t n_used = page.counts.n_regions - page.counts.n_idle;

  assert_held (&page.lock);
  page.n_used_peak = max_size (page.n_used_peak, n_used);
  link_remove (&region->link);
  region->state = REGION_IDLE;
  region->idle_msec = since_msec;
  link_after (&region->link, &page.idle);
  page.counts.n_idle++;
}

/* Room for marks, behind the header's unit: none of them is set. */
static void
region_begin_marks (Region *region, size_t bytes, bool is_zeroed)
{
  region->n_header = 1;
  region->marks_bytes = 0;
  if (!page.has_marks)
    return;
  region->marks_bytes
      = (uint32_t) (bytes >> MARK_GRAIN_SHIFT) * (uint32_t) sizeof (uint16_t);
  region->n_header
      = (uint32_t) ((MARKS_OFFSET + region->marks_bytes + page.unit_bytes - 1)
                    >> sli_region_unit_shift);
  if (!is_zeroed)
    memset ((char *) region + MARKS_OFFSET, 0, region->marks_bytes);
}

/* Writes the header of an extent's next region. */
static Region *
region_begin (Extent *extent)
{
  Region *region = (Region *) ((char *) extent->start
                               + extent->n_begun * REGION_BYTES);
  size_t bytes = min_size (REGION_BYTES,
                           extent->bytes - extent->n_begun * REGION_BYTES);

  assert_held (&page.lock);
  if (extent->n_begun > 0) /* the first was written with the extent */
    {
      if (!extent->is_zeroed)
        memset (region, 0, sizeof *region);
      region->extent = extent;
    }
  link_init (&region->link);
  region_begin_marks (region, bytes, extent->is_zeroed);
  region->n_units = (uint32_t) (bytes >> sli_region_unit_shift);
  region->n_free = region_run_units (region);
  unitset_add (&region->free, region->n_header, region->n_free);
  if (extent->is_zeroed)
    unitset_add (&region->fresh, region->n_header, region->n_free);
  else /* what may hold memory counts as if it did */
    page.counts.held_bytes += region->n_free * page.unit_bytes;
  extent->n_begun++;
  page.counts.n_regions++;
  page.counts.held_bytes += region->n_header * page.unit_bytes;
  sli_map_set (region);
  if (extent->n_begun == extent->n_regions)
    page.beginning = NULL;
  return region;
}

/* --- extents --------------------------------------------------------------- */

/* Asks the source, for less and less.  No lock is held. */
static void *
extent_map (size_t *bytes, bool *is_zeroed)
{
  const SliceSource *source = page.source;
  size_t least_bytes = max_size (EXTENT_FIRST_BYTES, 4 * page.unit_bytes);
  void *start;

  for (;; *bytes /= 2)
    {
      TRACE_OWN (start = source->map (source, *bytes, REGION_BYTES));
      if (start != NULL || *bytes <= least_bytes)
        break;
    }
  if (start == NULL)
    return NULL;
  if (((uintptr_t) start & (REGION_BYTES - 1)) != 0
      || !sli_map_can_hold (start))
    {
      sli_diag_warn (ERROR_BAD_SOURCE,
                     "page source %s: piece %p can't be used", source->name,
                     start);
      if (source->unmap != NULL)
        TRACE_OWN (source->unmap (source, start, *bytes));
      return NULL;
    }
  if (sli_annotate_is_on ())
    sli_annotate_extent (start, *bytes);
  *is_zeroed = source->is_zeroed
               || (source->advise_away != NULL
                   && source->advise_away (source, start, *bytes));
  return start;
}

static void
extent_unmap (void *start, size_t bytes)
{
  if (sli_annotate_is_on ())
    sli_annotate_extent_end (start, bytes);
  TRACE_OWN (page.source->unmap (page.source, start, bytes));
}

static void
extent_add (void *start, size_t bytes, bool is_zeroed)
{
  Region *first = start;
  Extent *extent = &first->own_extent;

  assert_held (&page.lock);
  if (!is_zeroed)
    memset (first, 0, page.unit_bytes);
  first->extent = extent;
  extent->start = start;
  extent->bytes = bytes;
  extent->n_regions = (unsigned) ((bytes + REGION_BYTES - 1) / REGION_BYTES);
  extent->is_zeroed = is_zeroed;
  extent->is_permanent = link_is_alone (&page.extents);
  if (sli_map_needs_leaf (start))
    {
      sli_map_give_leaf (start, (char *) start + UNIT_BYTES_MIN
                                    - MAP_LEAF_WORDS * 8);
      extent->is_permanent = true;
    }
  link_after (&extent->link, &page.extents);
  page.beginning = extent;
  COUNT_UP (&page.counts.mapped_bytes, bytes);
  COUNT_UP (&page.counts.n_maps, 1);
}

/* Another thread was faster, and the source takes nothing back: all regions
 * of the extent begin at once and wait, idle and never used. */
static void
extent_add_begun (void *start, size_t bytes, bool is_zeroed)
{
  Extent *in_use = page.beginning, *extent;

  assert_held (&page.lock);
  extent_add (start, bytes, is_zeroed);
  extent = page.beginning;
  while (extent->n_begun < extent->n_regions)
    {
      Region *region = region_begin (extent);

      region->state = REGION_CLEAN;
      link_after (&region->link, &page.clean);
      extent->n_clean++;
      page.n_clean++;
      page.counts.n_idle++;
    }
  page.beginning = in_use;
}

/* Gets one more extent; false if there is no memory.  If another thread was
 * faster the memory goes back, where the source takes it. */
static bool
extent_new (void)
{
  size_t bytes = LOAD (&page.counts.n_maps) == 0
                     ? max_size (EXTENT_FIRST_BYTES, 8 * page.unit_bytes)
                     : EXTENT_BYTES;
  /* Huge pages only for a large heap, and never by accident. */
  bool huge = page.wants_huge
              && LOAD (&page.counts.mapped_bytes) >= HUGE_AFTER_BYTES;
  bool is_zeroed, is_wanted, can_unmap = page.source->unmap != NULL;
  void *start = extent_map (&bytes, &is_zeroed);

  if (start == NULL)
    return false;
  sli_os_advise_huge (start, bytes, huge);
  sli_lock (&page.lock);
  is_wanted = page.beginning == NULL;
  if (is_wanted)
    extent_add (start, bytes, is_zeroed);
  else if (!can_unmap)
    extent_add_begun (start, bytes, is_zeroed);
  sli_unlock (&page.lock);
  if (!is_wanted && can_unmap)
    extent_unmap (start, bytes);
  PROBE2 (page_map, start, bytes);
  return true;
}

/* What no advice has given back goes with the extent. */
static void
region_retire (Region *region)
{
  size_t dirty_bytes
      = (region_run_units (region) - unitset_count (&region->fresh))
        * page.unit_bytes;

  assert_held (&page.lock);
  link_remove (&region->link);
  sli_map_clear (region);
  page.counts.held_bytes
      -= dirty_bytes + region->n_header * page.unit_bytes;
  page.counts.returned_bytes += dirty_bytes;
}

/* Is nothing of it in use any more?  Then it leaves the floor's books, and
 * the caller unmaps it. */
static bool
extent_retire (Extent *extent)
{
  assert_held (&page.lock);
  if (extent->is_permanent || extent->n_clean != extent->n_begun
      || page.source->unmap == NULL)
    return false;
  if (page.beginning == extent)
    page.beginning = NULL;
  for (unsigned i = 0; i < extent->n_begun; i++)
    region_retire ((Region *) ((char *) extent->start + i * REGION_BYTES));
  link_remove (&extent->link);
  page.counts.n_idle -= extent->n_begun;
  page.n_clean -= extent->n_begun;
  page.counts.n_regions -= extent->n_begun;
  COUNT_UP (&page.counts.mapped_bytes, -extent->bytes);
  return true;
}

/* --- runs ------------------------------------------------------------------ */

static void *
region_take_run (Region *region, unsigned first, unsigned n_units,
                 void **record, bool *is_zero)
{
  assert_held (&page.lock);
  if (region->state != REGION_USED)
    page.counts.n_idle--;
  if (region->state == REGION_CLEAN)
    {
      region->extent->n_clean--;
      page.n_clean--;
    }
  *is_zero = unitset_has_all (&region->fresh, first, n_units);
  page.counts.held_bytes
      += unitset_count_in (&region->fresh, first, n_units) * page.unit_bytes;
  unitset_remove (&region->free, first, n_units);
  if (!SEEDED (14))
    unitset_remove (&region->fresh, first, n_units);
  region->n_free -= n_units;
  for (unsigned i = first; i < first + n_units; i++)
    STORE (&region->run_first[i], (uint8_t) first);
  region->run_units[first] = (uint8_t) n_units;
  region->used_msec = sli_os_clock_msec ();
  region_file (region);
  *record = region->records[first];
  return region_unit (region, first);
}

/* The first region of a ring, among some, with a fitting gap. */
static Region *
ring_find (Link *ring, unsigned n_units, unsigned *first)
{
  unsigned looks = 0;

  LINK_EACH (link, ring)
    {
      Region *region = region_of_link (link);

      if (unitset_find (&region->free, n_units, first))
        return region;
      if (++looks == FIT_LOOKS_MAX)
        break;
    }
  return NULL;
}

/* Fullest regions first; then what is idle and still in memory; then what
 * was given back; then what was never used. */
static Region *
region_find (unsigned n_units, unsigned *first)
{
  Region *region = NULL;

  assert_held (&page.lock);
  for (int i = 0; region == NULL && i < FULLNESS_RINGS; i++)
    region = ring_find (&page.fullness[i], n_units, first);
  if (region == NULL)
    region = ring_find (&page.idle, n_units, first);
  if (region == NULL)
    region = ring_find (&page.clean, n_units, first);
  if (region == NULL && page.beginning != NULL)
    {
      region = region_begin (page.beginning);
      region_file (region);
      *first = region->n_header;
    }
  return region;
}

void *
sli_page_alloc_run (unsigned n_units, void **record, bool *is_zero)
{
  void *run = NULL;

  do
    {
      Region *region;
      unsigned first;

      sli_lock (&page.lock);
      region = region_find (n_units, &first);
      if (region != NULL)
        run = region_take_run (region, first, n_units, record, is_zero);
      sli_unlock (&page.lock);
    }
  while (run == NULL && extent_new ());
  return run;
}

bool
sli_page_free_run (void *run, unsigned n_units, uint64_t since_msec)
{
  Region *region = region_of (run);
  unsigned first = region_unit_of (region, run);
  bool is_too_much = false;

  sli_lock (&page.lock);
  for (unsigned i = first; i < first + n_units; i++)
    STORE (&region->run_first[i], 0);
  unitset_add (&region->free, first, n_units);
  region->n_free += n_units;
  /* Clocks of several threads: the latest counts. */
  if (since_msec > region->used_msec)
    region->used_msec = since_msec;
  if (region_is_empty (region))
    {
      region_set_idle (region, region->used_msec);
      is_too_much
          = page.counts.n_idle - page.n_clean
            > max_size (IDLE_REGIONS_KEPT,
                        page.n_used_peak / IDLE_REGIONS_SHARE);
    }
  else
    region_file (region);
  sli_unlock (&page.lock);
  return is_too_much;
}

void *
sli_page_run_of (const void *address, void **record)
{
  return region_run_of (address, record);
}

bool
sli_page_is_ours (const void *address)
{
  return region_holds (address);
}

void *
sli_page_run_of_record (const void *record)
{
  Region *region = region_of (record);
  size_t offset = (size_t) ((const char *) record
                            - (const char *) region->records);

  return region_unit (region, (unsigned) (offset / RUN_RECORD_BYTES));
}

/* --- giving back ------------------------------------------------------------ */

/* The region that has been idle longest, if that is long enough. */
static Region *
idle_take_oldest (uint64_t max_age_msec)
{
  Region *region;

  assert_held (&page.lock);
  if (link_is_alone (&page.idle))
    return NULL;
  region = region_of_link (page.idle.previous);
  if (max_age_msec > 0
      && sli_os_clock_msec () - region->idle_msec < max_age_msec)
    return NULL;
  link_remove (&region->link);
  region->state = REGION_IN_TRIM;
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
idle_put_back (Region *region, size_t dirty_units, bool given_back)
{
  assert_held (&page.lock);
  if (!given_back && !source_takes_extents_only (page.source))
    {
      region->state = REGION_IDLE;
      region->idle_msec = sli_os_clock_msec ();
      link_after (&region->link, &page.idle);
      return NULL;
    }
  if (given_back)
    {
      unitset_add (&region->fresh, region->n_header,
                   region_run_units (region));
      page.counts.held_bytes -= dirty_units * page.unit_bytes;
      page.counts.returned_bytes += dirty_units * page.unit_bytes;
    }
  region->state = REGION_CLEAN;
  link_after (&region->link, &page.clean);
  region->extent->n_clean++;
  page.n_clean++;
  return extent_retire (region->extent) ? region->extent : NULL;
}

/* Gives one idle region back; returns its bytes, 0 if there is none. */
static size_t
trim_one_region (uint64_t max_age_msec, bool *found)
{
  const SliceSource *source = page.source;
  size_t dirty_units, returned_bytes;
  Region *region;
  Extent *retired;
  bool given_back;

  sli_lock (&page.lock);
  region = idle_take_oldest (max_age_msec);
  sli_unlock (&page.lock);
  *found = region != NULL;
  if (region == NULL)
    return 0;

  dirty_units = region_run_units (region) - unitset_count (&region->fresh);
  given_back = source->advise_away != NULL
               && source->advise_away (
                   source, region_unit (region, region->n_header),
                   region_run_units (region) * page.unit_bytes);
  PROBE2 (page_return, region, dirty_units);
  sli_lock (&page.lock);
  returned_bytes = page.counts.returned_bytes;
  retired = idle_put_back (region, dirty_units, given_back);
  returned_bytes = page.counts.returned_bytes - returned_bytes;
  /* A source that can't: do not ask again and again. */
  *found = region->state == REGION_CLEAN;
  sli_unlock (&page.lock);
  if (retired != NULL)
    extent_unmap (retired->start, retired->bytes);
  return returned_bytes;
}

size_t
sli_page_trim (uint64_t max_age_msec, unsigned max_regions)
{
  size_t bytes = 0;
  bool found = !link_is_alone (&page.idle); /* a guess; asked again locked */

  while (found && max_regions-- > 0)
    bytes += trim_one_region (max_age_msec, &found);
  return bytes;
}

/* Takes the free units that hold memory out of a region, for a while. */
static bool
region_take_dirty (Region *region, UnitSet *dirty)
{
  assert_held (&page.lock);
  *dirty = unitset_minus (&region->free, &region->fresh);
  if (unitset_count (dirty) == 0)
    return false;
  region->free = unitset_minus (&region->free, dirty);
  region->n_free -= unitset_count (dirty);
  link_remove (&region->link);
  region->state = REGION_IN_TRIM;
  return true;
}

/* Of the first region in use that this pass has not seen and that was left
 * alone for long enough. */
static Region *
units_take_dirty (uint64_t max_age_msec, UnitSet *dirty)
{
  uint64_t now_msec = sli_os_clock_msec ();

  assert_held (&page.lock);
  for (int i = 0; i < FULLNESS_RINGS; i++)
    LINK_EACH (link, &page.fullness[i])
      {
        Region *region = region_of_link (link);

        if (region->trim_pass == page.trim_pass)
          continue;
        region->trim_pass = page.trim_pass;
        if (max_age_msec > 0
            && now_msec - region->used_msec < max_age_msec)
          continue;
        if (region_take_dirty (region, dirty))
          return region;
      }
  return NULL;
}

static void
units_put_back (Region *region, const UnitSet *dirty, bool given_back)
{
  unsigned n = unitset_count (dirty);

  assert_held (&page.lock);
  region->free = unitset_plus (&region->free, dirty);
  region->n_free += n;
  if (given_back)
    {
      region->fresh = unitset_plus (&region->fresh, dirty);
      page.counts.held_bytes -= n * page.unit_bytes;
      page.counts.returned_bytes += n * page.unit_bytes;
    }
  if (region_is_empty (region))
    region_set_idle (region, region->used_msec);
  else
    region_file (region);
}

/* Advises away each stretch of units in the set. */
static bool
units_advise_away (Region *region, UnitSet dirty)
{
  const SliceSource *source = page.source;
  unsigned first, n;

  while (unitset_first_stretch (&dirty, &first, &n))
    {
      if (!source->advise_away (source, region_unit (region, first),
                                n * page.unit_bytes))
        return false;
      unitset_remove (&dirty, first, n);
    }
  return true;
}

size_t
sli_page_trim_units (uint64_t max_age_msec, unsigned max_regions)
{
  size_t bytes = 0;
  Region *region;
  UnitSet dirty;

  if (page.source->advise_away == NULL)
    return 0;
  sli_lock (&page.lock);
  page.trim_pass++;
  while (max_regions-- > 0
         && (region = units_take_dirty (max_age_msec, &dirty)) != NULL)
    {
      bool given_back;

      sli_unlock (&page.lock);
      given_back = units_advise_away (region, dirty);
      if (given_back)
        bytes += unitset_count (&dirty) * page.unit_bytes;
      sli_lock (&page.lock);
      units_put_back (region, &dirty, given_back);
    }
  sli_unlock (&page.lock);
  return bytes;
}

/* --- fork ------------------------------------------------------------------ */

/* What a trimmer of the parent's had taken out goes back, and counts as not
 * given back. */
static void
region_recover (Region *region)
{
  unsigned n_free = 0;

  assert_held (&page.lock);
  if (region->state == REGION_IN_TRIM && region_is_empty (region))
    {
      region->state = REGION_IDLE; /* it had been idle longest */
      link_after (&region->link, page.idle.previous);
      return;
    }
  for (unsigned unit = region->n_header; unit < region->n_units; unit++)
    if (region->run_first[unit] == 0)
      {
        unitset_add (&region->free, unit, 1);
        n_free++;
      }
  if (n_free == region->n_free)
    return;
  region->n_free = n_free;
  if (region_is_empty (region))
    region_set_idle (region, region->used_msec);
  else
    region_file (region);
}

void
sli_page_fork_child (void)
{
  sli_lock (&page.lock);
  LINK_EACH (link, &page.extents)
    {
      Extent *extent = LINK_OWNER (link, Extent, link);

      for (unsigned i = 0; i < extent->n_begun; i++)
        region_recover ((Region *) ((char *) extent->start
                                    + i * REGION_BYTES));
    }
  sli_unlock (&page.lock);
}

/* --- looking --------------------------------------------------------------- */

static void
region_each_run (Region *region, PageVisit visit, void *data)
{
  for (unsigned unit = region->n_header; unit < region->n_units; unit++)
    if (region->run_first[unit] == unit)
      visit (region_unit (region, unit), region->records[unit], data);
}

void
sli_page_each_run (PageVisit visit, void *data)
{
  sli_lock (&page.lock);
  if (page.source != NULL)
    LINK_EACH (link, &page.extents)
      {
        Extent *extent = LINK_OWNER (link, Extent, link);

        for (unsigned i = 0; i < extent->n_begun; i++)
          region_each_run ((Region *) ((char *) extent->start
                                       + i * REGION_BYTES),
                           visit, data);
      }
  sli_unlock (&page.lock);
}

/* --- invariants ------------------------------------------------------------- */

/* Where is a region's link? */
static bool
ring_has (const Link *ring, const Link *link)
{
  for (const Link *at = ring->next; at != ring; at = at->next)
    if (at == link)
      return true;
  return false;
}

static const Link *
region_ring (const Region *region)
{
  if (region->state == REGION_IDLE)
    return &page.idle;
  if (region->state == REGION_CLEAN)
    return &page.clean;
  return region->n_free == 0
             ? &page.fullness[FULLNESS_RINGS]
             : &page.fullness[(region->n_free - 1) * FULLNESS_RINGS
                              / region->n_units];
}

/* Are a unit's run and the set of free ones of one mind? */
static bool
unit_is_valid (const Region *region, unsigned unit)
{
  unsigned first = region->run_first[unit];

  if (unit < region->n_header)
    return first == 0 && !unitset_has_all (&region->free, unit, 1);
  if (first == 0) /* a trimmer takes free units out of the set for a while */
    return unitset_has_all (&region->free, unit, 1)
           || region->state == REGION_IN_TRIM;
  return first <= unit && region->run_first[first] == first
         && unit < first + region->run_units[first]
         && !unitset_has_all (&region->free, unit, 1);
}

static const char *
region_check (const Region *region)
{
  assert_held (&page.lock);
  if (region->n_free != unitset_count (&region->free))
    return "P2";
  if (region->state == REGION_IN_TRIM
          ? !link_is_alone (&region->link)
          : !ring_has (region_ring (region), &region->link))
    return "P1";
  for (unsigned unit = 0; unit < region->n_units; unit++)
    if (!unit_is_valid (region, unit))
      return "P2";
  if (unitset_count_in (&region->free, region->n_units,
                        UNITSET_BITS - 1 - region->n_units)
      != 0)
    return "P2";
  if (region->state != REGION_IN_TRIM
      && !unitset_has_all_of (&region->free, &region->fresh))
    return "P3";
  return sli_map_has (region) ? NULL : "P5";
}

static const char *
extent_check (const Extent *extent, const void **where)
{
  unsigned n_clean = 0;

  for (unsigned i = 0; i < extent->n_regions; i++)
    {
      Region *region = (Region *) ((char *) extent->start + i * REGION_BYTES);
      const char *broken;

      *where = region;
      if (i >= extent->n_begun)
        {
          if (sli_map_has (region))
            return "P5";
          continue;
        }
      broken = region_check (region);
      if (broken != NULL)
        return broken;
      n_clean += region->state == REGION_CLEAN;
    }
  *where = extent;
  return n_clean != extent->n_clean ? "P4" : NULL;
}

const char *
sli_page_check (const void **where)
{
  const char *broken = NULL;

  sli_lock (&page.lock);
  if (page.source != NULL)
    LINK_EACH (link, &page.extents)
      if (broken == NULL)
        broken = extent_check (LINK_OWNER (link, Extent, link), where);
  sli_unlock (&page.lock);
  return broken;
}

void
sli_page_count (PageCounts *counts)
{
  sli_lock (&page.lock);
  *counts = page.counts;
  sli_unlock (&page.lock);
}
