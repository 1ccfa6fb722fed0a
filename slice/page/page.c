/* page.c - regions, and runs of granules cut from them
 *
 * Layer: page.  Lock: sli_page.lock (rank 20).  Nothing is mapped, unmapped
 * or advised while it is held: sli_page_alloc_run() maps between two attempts,
 * and the trimmers (page-trim.c) remove a region from its ring first.
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "page.h"
#include "map.h"
#include "page-state.h"
#include "source.h"
#include "base/align.h"
#include "base/check.h"
#include "base/list.h"
#include "base/option.h"
#include "extent-cache.h"
#include "base/trace.h"
#include "base/probe.h"
#include "base/sizeclass.h"
#include "port/annotate.h"
#include "port/compiler.h"
#include "port/os.h"

#include <string.h>

#define EXTENT_FIRST_BYTES KIB (256)
/* In a heap of this size the last huge page, which is rarely full, costs at
 * most a sixty-fourth. */
#define HUGE_AFTER_BYTES MIB (128)
#define EXTENT_BYTES (sizeof (void *) > 4 ? MIB (32) : MIB (4))

enum
{
  /* A search for a free run looks at so many regions of a ring. */
  FIT_PROBES_MAX = 8,
  /* So many idle regions (128 MiB: design chapter 11), or an eighth of the
   * most that were ever in use, keep their memory for a working set; those
   * beyond are purged at once. */
  IDLE_REGIONS_KEPT = 64,
  IDLE_REGIONS_SHARE = 8,
  /* A region that became idle earlier than others is put behind at most so
   * many of them. */
  IDLE_PROBES_MAX = 64,
  /* So many regions may have small pages in extents with huge ones: each may
   * be a mapping of its own, and a process has at most 65,530. */
  PLAIN_REGIONS_MAX = 8192
};

SLICE_STATIC_ASSERT (sizeof (Region) + sizeof (MapLeaf) <= GRANULE_BYTES_MIN,
                     "a header and a leaf of the map fit in one granule");
SLICE_STATIC_ASSERT (SLICE_OURS_BYTES == 1 << OURS_SHIFT,
                     "a bit of the map is what the header promises");
SLICE_STATIC_ASSERT (EXTENT_FIRST_BYTES % SLICE_OURS_BYTES == 0
                         && EXTENT_BYTES % SLICE_OURS_BYTES == 0
                         && (SLICE_OURS_BYTES & (SLICE_OURS_BYTES - 1)) == 0,
                     "extents, halved or not, are whole windows");
SLICE_STATIC_ASSERT ((int) REGION_GRANULES_MAX <= (int) GRANULESET_BITS,
                     "a region's granules fit in a set");

PageState sli_page = { .lock = LOCK_INIT (LOCK_RANK_PAGE) };

unsigned sli_region_granule_shift;

/* --- initialisation ------------------------------------------------------ */

/* How much memory is mapped before the first extent with huge pages. */
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

/* --- regions and their rings --------------------------------------------- */

void
sli_region_file (Region *region)
{
  assert_held (&sli_page.lock);
  assert_here (!region_is_empty (region)); /* P1 */
  link_remove (&region->link);
  region->state = REGION_USED;
  link_after (&region->link, region_fullness_ring (region));
}

CONTEXT_TEXT void
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

bool
sli_region_set_plain (Region *region, bool is_plain)
{
  assert_held (&sli_page.lock);
  if (!region->extent->is_huge || region->is_plain == is_plain
      || (is_plain && sli_page.n_plain >= PLAIN_REGIONS_MAX))
    return false;
  assert_here (is_plain || sli_page.n_plain > 0); /* P6 */
  region->is_plain = is_plain;
  if (is_plain)
    sli_page.n_plain++;
  else
    sli_page.n_plain--;
  return true;
}

void
sli_region_advise_huge (Region *region, bool wanted)
{
  sli_os_advise_huge (region, region->n_granules * sli_page.granule_bytes,
                      wanted);
}

/* Reserves room for the tags, behind the header's granule, and clears them. */
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

/* The first region of a leaf of the map has the leaf at the end of its
 * header's granule, and its extent is never unmapped. */
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

/* Initialises the next region of an extent. */
COMMON_TEXT static Region *
region_init (Extent *extent)
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
  region->n_free = region_run_granules (region);
  granuleset_add (&region->free, region->n_header, region->n_free);
  region->dirty_msec = UINT64_MAX;
  if (extent->is_zeroed)
    granuleset_add (&region->zeroed, region->n_header, region->n_free);
  else /* granules that may hold memory count as if they did */
    {
      sli_page.counts.held_bytes += region->n_free * sli_page.granule_bytes;
      region_note_dirty (region, region->n_header, region->n_free,
                         sli_os_clock_msec ());
    }
  extent->n_initialised++;
  sli_page.counts.n_regions++;
  sli_page.counts.held_bytes += region->n_header * sli_page.granule_bytes;
  region_init_leaf (region);
  assert_here (!sli_map_has (region)); /* P5 */
  sli_map_set (region, bytes);
  if (extent->n_initialised == extent->n_regions)
    sli_page.unfinished = NULL;
  return region;
}

/* --- extents ------------------------------------------------------------- */

/* Maps *bytes, or half as much again and again, but at least least_bytes, if
 * the source has no memory.  No lock is held. */
static void *
extent_map (size_t *bytes, size_t least_bytes, bool *is_zeroed)
{
  const SliceSource *source = sli_page.source;
  void *start;

  for (;; *bytes /= 2)
    {
      TRACE_INTERNAL (start = source->map (source, *bytes, REGION_BYTES));
      if (start != NULL || *bytes / 2 < least_bytes)
        break;
    }
  if (start == NULL)
    return NULL;
  if (((uintptr_t) start & (REGION_BYTES - 1)) != 0)
    {
      sli_diag_warn (ERROR_BAD_SOURCE,
                     "page source %s: memory at %p can't be used",
                     source->name, start);
      if (source->unmap != NULL)
        TRACE_INTERNAL (source->unmap (source, start, *bytes));
      return NULL;
    }
  if (sli_annotate_is_on ())
    sli_annotate_extent (start, *bytes);
  *is_zeroed = source->is_zeroed
               || (source->advise_away != NULL
                   && source->advise_away (source, start, *bytes));
  return start;
}

void
sli_extent_unmap (void *start, size_t bytes)
{
  if (sli_annotate_is_on ())
    sli_annotate_extent_end (start, bytes);
  TRACE_INTERNAL (sli_page.source->unmap (sli_page.source, start, bytes));
}

/* Takes the first entry that was never set, if there is one. */
static void
extent_cache_add (const void *start, size_t bytes)
{
  assert_held (&sli_page.lock);
  for (int i = 0; i < CACHED_EXTENTS; i++)
    if (LOAD (&sli_extent_cache[i].start) == 0)
      {
        STORE (&sli_extent_cache[i].start, (uintptr_t) start);
        STORE_RELEASE (&sli_extent_cache[i].bytes, bytes);
        return;
      }
}

static void
extent_cache_remove (const void *start)
{
  assert_held (&sli_page.lock);
  for (int i = 0; i < CACHED_EXTENTS; i++)
    if (LOAD (&sli_extent_cache[i].start) == (uintptr_t) start)
      STORE (&sli_extent_cache[i].bytes, 0);
}

COMMON_TEXT static void
extent_add (void *start, size_t bytes, bool is_zeroed, bool is_huge)
{
  Region *first = start;
  Extent *extent = &first->own_extent;

  assert_held (&sli_page.lock);
  assert_here (region_of (start) == start);
  if (!is_zeroed)
    memset (first, 0, sli_page.granule_bytes);
  first->extent = extent;
  extent->start = start;
  extent->bytes = bytes;
  extent->n_regions = (unsigned) ((bytes + REGION_BYTES - 1) / REGION_BYTES);
  extent->is_zeroed = is_zeroed;
  extent->is_huge = is_huge;
  extent->is_permanent = link_is_alone (&sli_page.extents);
  extent_cache_add (start, bytes - OWN_EXTENT_END_BYTES);
  link_after (&extent->link, &sli_page.extents);
  sli_page.unfinished = extent;
  COUNT_UP (&sli_page.counts.mapped_bytes, bytes);
  COUNT_UP (&sli_page.counts.n_maps, 1);
}

/* Initialises the next region of an extent as an idle one that was never
 * used. */
COMMON_TEXT static void
region_init_idle (Extent *extent)
{
  Region *region = region_init (extent);

  assert_held (&sli_page.lock);
  region->state = REGION_PURGED;
  link_after (&region->link, &sli_page.purged);
  extent->n_purged++;
  sli_page.n_purged++;
  sli_page.counts.n_idle++;
}

/* Adds an extent although another thread has added one meanwhile, because the
 * source can't unmap it.  All its regions are initialised at once; they are
 * idle and were never used. */
static void
extent_add_initialised (void *start, size_t bytes, bool is_zeroed,
                        bool is_huge)
{
  Extent *unfinished = sli_page.unfinished, *extent;

  assert_held (&sli_page.lock);
  extent_add (start, bytes, is_zeroed, is_huge);
  extent = sli_page.unfinished;
  while (extent->n_initialised < extent->n_regions)
    region_init_idle (extent);
  sli_page.unfinished = unfinished;
}

/* The least extent in which a run fits, a power of two. */
COMMON_TEXT static size_t
extent_least_bytes (unsigned n_granules)
{
  size_t bytes = max_size (EXTENT_FIRST_BYTES, 4 * sli_page.granule_bytes);
  size_t run_bytes = n_granules * sli_page.granule_bytes;
  size_t header_bytes
      = sli_page.granule_bytes
        + (sli_page.has_tags ? REGION_BYTES >> (TAG_GRAIN_SHIFT - 1) : 0);

  while (n_granules > SLAB_GRANULES_MAX && bytes < run_bytes + header_bytes)
    bytes *= 2;
  return bytes;
}

/* Maps one more extent, in which a run of n_granules fits; false if there is
 * no memory.  If another thread was faster, this extent is unmapped again
 * where the source can. */
static bool
extent_new (unsigned n_granules)
{
  size_t least_bytes = extent_least_bytes (n_granules);
  size_t bytes
      = LOAD (&sli_page.counts.n_maps) == 0
            ? max_size (least_bytes, 8 * sli_page.granule_bytes)
            : EXTENT_BYTES;
  /* Where the option wants no huge pages, advise the system so. */
  bool huge
      = LOAD (&sli_page.counts.mapped_bytes) >= sli_page.huge_after_bytes;
  bool is_zeroed, is_wanted, can_unmap = sli_page.source->unmap != NULL;
  void *start = extent_map (&bytes, least_bytes, &is_zeroed);

  if (start == NULL)
    return false;
  sli_os_advise_huge (start, bytes, huge);
  sli_lock (&sli_page.lock);
  is_wanted = sli_page.unfinished == NULL;
  if (is_wanted)
    extent_add (start, bytes, is_zeroed, huge);
  else if (!can_unmap)
    extent_add_initialised (start, bytes, is_zeroed, huge);
  sli_unlock (&sli_page.lock);
  if (!is_wanted && can_unmap)
    sli_extent_unmap (start, bytes);
  PROBE2 (page_map, start, bytes);
  return true;
}

/* Removes a region whose extent is to be unmapped.  Memory of it that was not
 * purged counts as returned now, and so do its header and tags. */
static void
region_retire (Region *region)
{
  size_t bytes = (region->n_granules - granuleset_count (&region->zeroed))
                 * sli_page.granule_bytes;

  assert_held (&sli_page.lock);
  assert_here (region->state == REGION_PURGED && region_is_empty (region));
  assert_here (sli_map_has (region)); /* P5 */
  link_remove (&region->link);
  sli_map_clear (region);
  sli_page.n_plain -= region->is_plain;
  sli_page.counts.held_bytes -= bytes;
  sli_page.counts.returned_bytes += bytes;
}

bool
sli_extent_retire (Extent *extent)
{
  assert_held (&sli_page.lock);
  if (extent->is_permanent || extent->n_purged != extent->n_initialised
      || sli_page.source->unmap == NULL)
    return false;
  if (sli_page.unfinished == extent)
    sli_page.unfinished = NULL;
  extent_cache_remove (extent->start);
  for (unsigned i = 0; i < extent->n_initialised; i++)
    region_retire (extent_region (extent, i));
  link_remove (&extent->link);
  sli_page.counts.n_idle -= extent->n_initialised;
  sli_page.n_purged -= extent->n_initialised;
  sli_page.counts.n_regions -= extent->n_initialised;
  COUNT_UP (&sli_page.counts.mapped_bytes, -extent->bytes);
  return true;
}

/* --- runs ---------------------------------------------------------------- */

/* Allocates some free granules of a region.  *turns_huge: the caller unlocks
 * and calls sli_region_advise_huge(). */
static void *
region_alloc_run (Region *region, unsigned first, unsigned n_granules,
                  void **record, bool *is_zero, bool *turns_huge)
{
  assert_held (&sli_page.lock);
  assert_here (granuleset_has_all (&region->free, first, n_granules)); /* P2 */
  assert_here (region->state != REGION_IN_TRIM && first >= region->n_header);
  *turns_huge
      = region->state == REGION_PURGED && sli_region_set_plain (region, false);
  if (region->state != REGION_USED)
    sli_page.counts.n_idle--;
  if (region->state == REGION_PURGED)
    {
      region->extent->n_purged--;
      sli_page.n_purged--;
    }
  *is_zero = granuleset_has_all (&region->zeroed, first, n_granules);
  sli_page.counts.held_bytes
      += granuleset_count_in (&region->zeroed, first, n_granules)
         * sli_page.granule_bytes;
  granuleset_remove (&region->free, first, n_granules);
  granuleset_remove (&region->zeroed, first, n_granules);
  region->n_free -= n_granules;
  for (unsigned i = first; i < first + n_granules; i++)
    STORE (&region->run_first[i], (uint8_t) first);
  STORE (&region->run_granules[first], (uint8_t) n_granules);
  region->used_msec = sli_os_clock_msec ();
  sli_region_file (region);
  assert_slow (sli_region_is_valid (region));
  *record = region->records[first];
  return region_granule (region, first);
}

/* The first of some regions of a ring that has n free neighbours. */
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

/* A region with n free neighbours: one in use, the fullest first; else one
 * that is idle, one that is purged, or a new one.  NULL: an extent is
 * needed. */
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
      region_init_idle (sli_page.unfinished);
      /* Small extents have regions in which a long run does not fit. */
      region = ring_find (&sli_page.purged, n_granules, first);
    }
  return region;
}

COMMON_TEXT void *
sli_page_alloc_run (unsigned n_granules, void **record, bool *is_zero)
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
  while (run == NULL && extent_new (n_granules));
  return run;
}

CONTEXT_TEXT bool
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
  for (unsigned i = first; i < first + n_granules; i++)
    STORE (&region->run_first[i], 0);
  granuleset_add (&region->free, first, n_granules);
  region->n_free += n_granules;
  region_note_dirty (region, first, n_granules, since_msec);
  /* Threads read the clock before they lock: the latest time counts. */
  if (since_msec > region->used_msec)
    region->used_msec = since_msec;
  if (region_is_empty (region))
    {
      sli_region_set_idle (region, region->used_msec);
      is_too_much = sli_page.counts.n_idle - sli_page.n_purged
                    > max_size (IDLE_REGIONS_KEPT,
                                sli_page.n_used_peak / IDLE_REGIONS_SHARE);
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
  sli_page.counts.held_bytes
      += granuleset_count_in (&region->zeroed, next, n_more)
         * sli_page.granule_bytes;
  granuleset_remove (&region->free, next, n_more);
  granuleset_remove (&region->zeroed, next, n_more);
  region->n_free -= n_more;
  for (unsigned i = next; i < next + n_more; i++)
    STORE (&region->run_first[i], (uint8_t) first);
  return true;
}

/* Frees the last granules of a run. */
static void
region_shorten_run (Region *region, unsigned first, unsigned n_granules,
                    unsigned n_less)
{
  unsigned next = first + n_granules - n_less;

  assert_held (&sli_page.lock);
  for (unsigned i = next; i < next + n_less; i++)
    STORE (&region->run_first[i], 0);
  granuleset_add (&region->free, next, n_less);
  region->n_free += n_less;
  region_note_dirty (region, next, n_less, sli_os_clock_msec ());
}

bool
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
    region_shorten_run (region, first, n_granules, n_granules - n_wanted);
  if (done)
    {
      STORE (&region->run_granules[first], (uint8_t) n_wanted);
      sli_region_file (region);
    }
  assert_slow (sli_region_is_valid (region));
  sli_unlock (&sli_page.lock);
  return done;
}

COMMON_TEXT void *
sli_page_run_of_record (const void *record)
{
  Region *region = region_of (record);
  size_t offset = (size_t) ((const char *) record
                            - (const char *) region->records);

  return region_granule (region, (unsigned) (offset / RUN_RECORD_BYTES));
}
