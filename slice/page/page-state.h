/* page-state.h - what the page floor keeps, and its moves
 *
 * Layer: page.  Shared by page.c, page-trim.c and page-stats.c alone.
 * Lock: sli_page.lock (rank 20), held by whoever calls what is below.
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
#include "port/lock.h"

enum
{
  /* Regions in use wait in rings by how full they are, fullest first, so
   * that the emptiest get a chance to become idle. */
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
  Link
      fullness[FULLNESS_RINGS + 1]; /* of regions; the last: no free granule */
  Link idle;              /* of regions, latest first */
  Link purged;            /* of regions */
  Link extents;           /* of extents */
  Extent *beginning;      /* the one that still has regions to begin */
  uint32_t trim_pass;
  unsigned n_trimming;    /* regions of which a trimmer has granules in hand */
  size_t n_used_peak;     /* regions that had runs at once */
  size_t n_purged;        /* regions that are idle and given back */
  size_t n_plain;         /* regions set apart in extents of huge pages */
  PageCounts counts;
} PageState;

extern PageState sli_page;

/* Puts a region that has runs where its free granules say that it belongs. */
void sli_region_file (Region *region);
/* Puts one without runs among the idle ones, by since when it is. */
void sli_region_set_idle (Region *region, uint64_t since_msec);

/* Small pages for a region of which some is given back, or the system would
 * fill it up again to make a huge one; and huge pages once more when it comes
 * into use anew.  True if sli_region_advise_huge() is to be called when the
 * lock is no longer held. */
bool sli_region_set_plain (Region *region, bool is_plain);
void sli_region_advise_huge (Region *region, bool wanted);

/* Is a region that has been worked on as it must be (P1, P2, P3, P5)? */
bool sli_region_is_valid (const Region *region);
/* Are all?  Takes the lock. */
bool sli_page_is_valid (void);

/* Is nothing of an extent in use any more?  Then it leaves the floor's books,
 * and the caller unmaps it, without the lock. */
bool sli_extent_retire (Extent *extent);
void sli_extent_unmap (void *start, size_t bytes);

static inline Region *
region_of_link (Link *link)
{
  return LINK_OWNER (link, Region, link);
}

/* Units that runs may have. */
static inline unsigned
region_run_granules (const Region *region)
{
  return region->n_granules - region->n_header;
}

/* Does it hold no run? */
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

/* Some granules hold memory and are free since then. */
static inline void
region_note_dirty (Region *region, unsigned first, unsigned n_granules,
                   uint64_t since_msec)
{
  for (unsigned granule = first; granule < first + n_granules; granule++)
    region->free_msec[granule] = since_msec;
  if (since_msec < region->dirty_msec)
    region->dirty_msec = since_msec;
}

#endif
