/* page-state.h - the state of the page layer
 *
 * Layer: page.  Shared by page.c, region.c, extent.c, page-trim.c and
 * page-stats.c alone.
 * Lock: sli_page.lock (rank 20).  Callers hold it, unless said otherwise.
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_PAGE_STATE_H
#define SLI_PAGE_PAGE_STATE_H

#include <slice/source.h>

#include "page.h"
#include "region.h"
#include "base/check.h"
#include "base/list.h"
#include "port/thread/lock.h"

enum
{
  /* Regions in use are kept in rings, by how full they are.  Runs come from
   * the fullest, so that the emptiest can become idle. */
  FULLNESS_RINGS = 4
};

typedef struct
{
  Lock lock;
  /* constant after sli_page_init() */
  const SliceSource *source;
  size_t granule_bytes;
  size_t huge_after_bytes; /* of mapped memory; SIZE_MAX: never */
  bool has_tags;
  /* under the lock */
  Link fullness[FULLNESS_RINGS + 1]; /* of regions in use, fullest first; in
                                        the last ring, those without a free
                                        granule */
  Link idle;            /* of regions, latest first */
  Link purged;          /* of regions */
  Link extents;         /* of extents */
  Extent *unfinished;   /* the extent with regions to initialise, or NULL */
  uint32_t trim_pass;   /* of sli_page_trim_granules(); counts up */
  unsigned n_trimming;  /* regions whose free granules a trimmer holds */
  size_t n_used_peak;   /* most regions in use at once */
  size_t n_purged;      /* regions in state REGION_PURGED */
  size_t n_small_paged; /* regions that have has_small_pages */
  PageCounts counts;
  uint32_t n_fresh;     /* granules that held no memory and were taken; counts
                           up; read without the lock */
} PageState;

extern PageState sli_page;

/* Moves a region with runs to the ring of its fullness. */
void sli_region_file (Region *region);
/* Moves a region without runs into the idle ring, ordered by since_msec. */
void sli_region_set_idle (Region *region, uint64_t since_msec);

/* Initialises the next region of an extent. */
Region *sli_region_init (Extent *extent);
/* The same, as an idle region that was never used. */
void sli_region_init_idle (Extent *extent);
/* Removes a region whose extent is to be unmapped.  Its header, its tags and
 * memory that was not purged count as returned now. */
void sli_region_retire (Region *region);

/* In an extent with huge pages, marks a region as one with small pages, or the
 * reverse.  A region gets small pages when a part of it is returned, or the
 * system would fill it up again to make a huge page.  It gets huge pages when
 * it is used again.  If true, the caller unlocks and calls
 * sli_region_advise_huge(). */
bool sli_region_set_small_pages (Region *region, bool small);
/* Clears the tags of granules that are about to be purged, if memory that is
 * taken is watched: they describe what the granules hold.  Before the purge,
 * since one that fails, or a fork in the middle, may leave zeroed memory that
 * does not count as such. */
void sli_region_clear_tags (Region *region, unsigned first, unsigned n);
/* Advises the system; the lock is not held. */
void sli_region_advise_huge (Region *region, bool wanted);

/* Returns true if P1, P2, P3 and P5 hold for a region. */
bool sli_region_is_valid (const Region *region);
/* Returns true if P1 to P6 hold for all regions.  Takes the lock. */
bool sli_page_is_valid (void);

/* Maps one more extent, which can hold a run of n_granules; false if there is
 * no memory.  If another thread was faster, unmaps this one again where the
 * source can.  The lock is not held. */
bool sli_extent_new (unsigned n_granules);
/* Returns true if the last extent could not be mapped, a moment ago.  The lock
 * is not held. */
bool sli_extent_is_unlikely (void);
/* Maps pages for the library's own records, zeroed; NULL: no memory, now or a
 * moment ago. */
void *sli_extent_map_pages (size_t bytes);
/* Removes an extent that has no region in use (P4); false if it has one, or
 * must stay.  If true, the caller unlocks and calls sli_extent_unmap(). */
bool sli_extent_retire (Extent *extent);
/* The lock is not held. */
void sli_extent_unmap (void *start, size_t bytes);
/* Notes that a region of an extent has a header now. */
void sli_extent_cache_grow (const Extent *extent);

static inline Region *
region_of_link (Link *link)
{
  return LINK_OWNER (link, Region, link);
}

/* A region of an extent, by its number. */
static inline Region *
extent_region (const Extent *extent, unsigned i)
{
  assert_here (i < extent->n_regions);
  return (Region *) (void *) ((char *) extent->start + i * REGION_BYTES);
}

/* Granules that runs can use. */
static inline unsigned
region_run_granules (const Region *region)
{
  return region->n_granules - region->n_header;
}

/* Returns true if a region has no run. */
static inline bool
region_is_empty (const Region *region)
{
  return region->n_free == region_run_granules (region);
}

static inline Link *
region_fullness_ring (const Region *region)
{
  return region->n_free == 0
             ? &sli_page.fullness[FULLNESS_RINGS]
             : &sli_page.fullness[(region->n_free - 1) * FULLNESS_RINGS
                                  / region->n_granules];
}

/* Notes when some granules that hold memory became free. */
static inline void
region_note_dirty (Region *region, unsigned first, unsigned n_granules,
                   uint64_t since_msec)
{
  assert_held (&sli_page.lock);
  assert_here (first + n_granules <= region->n_granules);
  for (unsigned granule = first; granule < first + n_granules; granule++)
    region->free_msec[granule] = since_msec;
  if (since_msec < region->dirty_msec)
    region->dirty_msec = since_msec;
}

#endif
