/* page.c - runs of granules, cut from regions
 *
 * Layer: page.  Lock: sli_page.lock (rank 20).  Nothing is mapped, unmapped
 * or advised while it is held: sli_page_alloc_run() maps between two attempts,
 * and the trimmers (page-trim.c) remove a region from its ring first.  Regions
 * are made and put in their rings in region.c, extents in extent.c.
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "page.h"
#include "page-state.h"
#include "page/source/source.h"
#include "base/align.h"
#include "base/check.h"
#include "base/list.h"
#include "base/option.h"
#include "port/annotate.h"
#include "port/compiler.h"
#include "port/os/os.h"
#include "port/probe.h"

#include <string.h>

/* In a heap of this size, the unused part of the last huge page is at most one
 * sixty-fourth. */
#define HUGE_AFTER_BYTES MIB (128)

enum
{
  /* A search for a free run examines at most this many regions of a ring. */
  FIT_PROBES_MAX = 8,
  /* Idle regions that keep their memory for the working set: 64 (128 MiB,
   * design chapter 11), or an eighth of the most that were ever in use.  More
   * than that are purged at once. */
  IDLE_REGIONS_KEPT = 64,
  IDLE_REGIONS_SHARE = 8
};

PageState sli_page = { .lock = LOCK_INIT (LOCK_RANK_PAGE) };

/* --- initialisation ------------------------------------------------------ */

/* The bytes that are mapped before the first extent with huge pages. */
static size_t
huge_after_bytes (void)
{
  switch (sli_option (SLICE_OPTION_HUGE_PAGES))
    {
    case 0:
      return SIZE_MAX;
    case 1:
      return HUGE_AFTER_BYTES;
    default:
      return 1; /* the first extent */
    }
}

COMMON_TEXT void
sli_page_init (void)
{
  size_t granule_bytes = max_size (GRANULE_BYTES_MIN, sli_os_page_bytes ());

  sli_page.source = sli_source_in_force ();
  sli_page.granule_bytes = granule_bytes;
  sli_region_granule_shift = (unsigned) __builtin_ctzl (granule_bytes);
  sli_page.huge_after_bytes = huge_after_bytes ();
  sli_page.has_tags = sli_option_is_on (SLICE_OPTION_CHECKED)
                      || sli_option_is_on (SLICE_OPTION_HARDENED)
                      || sli_option_is_on (SLICE_OPTION_DEBUG)
                      || sli_annotate_is_on ();
  for (int i = 0; i <= FULLNESS_RINGS; i++)
    link_init (&sli_page.fullness[i]);
  link_init (&sli_page.idle);
  link_init (&sli_page.purged);
  link_init (&sli_page.extents);
  sli_page.counts.granule_bytes = granule_bytes;
}

COMMON_TEXT size_t
sli_page_granule_bytes (void)
{
  return sli_page.granule_bytes;
}

COMMON_TEXT bool
sli_page_has_tags (void)
{
  return sli_page.has_tags;
}

COMMON_TEXT Lock *
sli_page_lock (void)
{
  return &sli_page.lock;
}

/* --- runs ---------------------------------------------------------------- */

static PageTaken taken_watch; /* NULL: nothing looks at memory taken */

COLD void
sli_page_watch_taken (PageTaken watch)
{
  taken_watch = watch;
}

void
sli_region_clear_tags (Region *region, unsigned first, unsigned n)
{
  size_t bytes = sli_page.granule_bytes >> (TAG_GRAIN_SHIFT - 1);

  if (UNLIKELY (taken_watch != NULL) && sli_page.has_tags)
    memset (region_tag_of (region_granule (region, first)), 0, n * bytes);
}

/* Adds n free granules, from `next' on, to the run that begins at `first'. */
static ALWAYS_INLINE void
region_alloc_granules (Region *region, unsigned first, unsigned next,
                       unsigned n)
{
  unsigned n_fresh = granuleset_count_in (&region->zeroed, next, n);

  assert_held (&sli_page.lock);
  assert_here (region->n_free >= n);
  sli_page.counts.held_bytes += n_fresh * sli_page.granule_bytes;
  STORE (&sli_page.n_fresh, sli_page.n_fresh + n_fresh);
  granuleset_remove (&region->free, next, n);
  granuleset_remove (&region->zeroed, next, n);
  region->n_free -= n;
  for (unsigned i = next; i < next + n; i++)
    STORE (&region->run_first[i], (uint8_t) first);
}

/* Allocates free granules of a region.  If *turns_huge, the caller unlocks and
 * calls sli_region_advise_huge(). */
static void *
region_alloc_run (Region *region, unsigned first, unsigned n_granules,
                  void **record, bool *is_zero, bool *turns_huge)
{
  assert_held (&sli_page.lock);
  assert_here (granuleset_has_all (&region->free, first, n_granules)); /* P2 */
  assert_here (region->state != REGION_IN_TRIM && first >= region->n_header);
  *turns_huge
      = region->state == REGION_PURGED
        && sli_region_set_small_pages (region, false);
  if (region->state != REGION_USED)
    sli_page.counts.n_idle--;
  if (region->state == REGION_PURGED)
    {
      region->extent->n_purged--;
      sli_page.n_purged--;
    }
  *is_zero = granuleset_has_all (&region->zeroed, first, n_granules);
  region_alloc_granules (region, first, first, n_granules);
  STORE (&region->run_granules[first], (uint8_t) n_granules);
  region->used_msec = sli_os_clock_msec ();
  sli_region_file (region);
  assert_slow (sli_region_is_valid (region));
  *record = region->records[first];
  return region_granule (region, first);
}

/* Finds a region with n free neighbours among the first of a ring; else
 * NULL. */
COMMON_TEXT static Region *
ring_find (Link *ring, unsigned n_granules, unsigned *first)
{
  unsigned n_probes = 0;

  LINK_EACH (link, ring)
    {
      Region *region = region_of_link (link);

      if (granuleset_find (&region->free, n_granules, first))
        return region;
      if (++n_probes == FIT_PROBES_MAX)
        break;
    }
  return NULL;
}

/* Finds a region with n free neighbours: one in use, fullest first, else an
 * idle one, a purged one or a new one.  NULL: the caller maps an extent. */
static Region *
region_find (unsigned n_granules, unsigned *first)
{
  Region *region = NULL;

  assert_held (&sli_page.lock);
  for (int i = 0; region == NULL && i < FULLNESS_RINGS; i++)
    region = ring_find (&sli_page.fullness[i], n_granules, first);
  if (region == NULL)
    region = ring_find (&sli_page.idle, n_granules, first);
  if (region == NULL)
    region = ring_find (&sli_page.purged, n_granules, first);
  while (region == NULL && sli_page.unfinished != NULL)
    {
      sli_region_init_idle (sli_page.unfinished);
      /* A region of a small extent may be too short for a long run. */
      region = ring_find (&sli_page.purged, n_granules, first);
    }
  return region;
}

COMMON_TEXT static void *
page_alloc_run (unsigned n_granules, void **record, bool *is_zero,
                bool is_optional)
{
  void *run = NULL;

  do
    {
      bool turns_huge = false;
      Region *region;
      unsigned first;

      sli_lock (&sli_page.lock);
      region = region_find (n_granules, &first);
      if (region != NULL)
        run = region_alloc_run (region, first, n_granules, record, is_zero,
                                &turns_huge);
      sli_unlock (&sli_page.lock);
      if (turns_huge)
        sli_region_advise_huge (region, true);
    }
  while (run == NULL && !(is_optional && sli_extent_is_unlikely ())
         && sli_extent_new (n_granules));
  if (UNLIKELY (taken_watch != NULL) && run != NULL)
    taken_watch (run, n_granules * sli_page.granule_bytes);
  return run;
}

COMMON_TEXT void *
sli_page_alloc_run (unsigned n_granules, void **record, bool *is_zero)
{
  return page_alloc_run (n_granules, record, is_zero, false);
}

COMMON_TEXT void *
sli_page_alloc_optional_run (unsigned n_granules, void **record,
                             bool *is_zero)
{
  return page_alloc_run (n_granules, record, is_zero, true);
}

/* Makes granules of a run free, which were last needed at since_msec. */
static ALWAYS_INLINE void
region_free_granules (Region *region, unsigned first, unsigned n,
                      uint64_t since_msec)
{
  assert_held (&sli_page.lock);
  for (unsigned i = first; i < first + n; i++)
    STORE (&region->run_first[i], 0);
  granuleset_add (&region->free, first, n);
  region->n_free += n;
  region_note_dirty (region, first, n, since_msec);
}

/* Returns true if more idle regions hold memory than are worth keeping. */
static bool
idle_are_too_many (void)
{
  assert_held (&sli_page.lock);
  return sli_page.counts.n_idle - sli_page.n_purged
         > max_size (IDLE_REGIONS_KEPT,
                     sli_page.n_used_peak / IDLE_REGIONS_SHARE);
}

COMMON_TEXT bool
sli_page_free_run (void *run, unsigned n_granules, uint64_t since_msec)
{
  Region *region = region_of (run);
  unsigned first = region_granule_of (region, run);
  bool is_too_much = false;

  sli_lock (&sli_page.lock);
  assert_here (region->state == REGION_USED
               || region->state == REGION_IN_TRIM);
  assert_here (region->run_first[first] == first
               && region->run_granules[first] == n_granules);
  region_free_granules (region, first, n_granules, since_msec);
  /* Threads read the clock before they lock, so times may be out of order. */
  if (since_msec > region->used_msec)
    region->used_msec = since_msec;
  if (region_is_empty (region))
    {
      sli_region_set_idle (region, region->used_msec);
      is_too_much = idle_are_too_many ();
    }
  else
    sli_region_file (region);
  assert_slow (sli_region_is_valid (region));
  sli_unlock (&sli_page.lock);
  return is_too_much;
}

/* Adds the granules behind a run to it; false if they are not free. */
static bool
region_extend_run (Region *region, unsigned first, unsigned n_granules,
                   unsigned n_more)
{
  unsigned next = first + n_granules;

  assert_held (&sli_page.lock);
  if (region->state != REGION_USED || next + n_more > region->n_granules
      || !granuleset_has_all (&region->free, next, n_more))
    return false;
  region_alloc_granules (region, first, next, n_more);
  return true;
}

HEAP_TEXT bool
sli_page_resize_run (void *run, unsigned n_granules, unsigned n_wanted)
{
  Region *region = region_of (run);
  unsigned first = region_granule_of (region, run);
  bool done = true;

  sli_lock (&sli_page.lock);
  assert_here (region->run_first[first] == first
               && region->run_granules[first] == n_granules);
  if (n_wanted > n_granules)
    done = region_extend_run (region, first, n_granules,
                              n_wanted - n_granules);
  else
    region_free_granules (region, first + n_wanted, n_granules - n_wanted,
                          sli_os_clock_msec ());
  if (done)
    {
      STORE (&region->run_granules[first], (uint8_t) n_wanted);
      sli_region_file (region);
    }
  assert_slow (sli_region_is_valid (region));
  sli_unlock (&sli_page.lock);
  if (UNLIKELY (taken_watch != NULL) && done && n_wanted > n_granules)
    taken_watch ((char *) run + n_granules * sli_page.granule_bytes,
                 (n_wanted - n_granules) * sli_page.granule_bytes);
  return done;
}

COMMON_TEXT uint32_t
sli_page_n_fresh (void)
{
  return LOAD (&sli_page.n_fresh);
}

COMMON_TEXT void *
sli_page_run_of_record (const void *record)
{
  Region *region = region_of (record);
  size_t offset = (size_t) ((const char *) record
                            - (const char *) region->records);

  return region_granule (region, (unsigned) (offset / RUN_RECORD_BYTES));
}
