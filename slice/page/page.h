/* page.h - regions, and runs of granules cut from them
 *
 * Layer: page.  Above: slab, and meta beside it; below: base, port.
 * Locks: the functions take the page lock (rank 20).  Callers hold none of
 * rank 20 or less, and no lock at all when they call sli_page_alloc_run(),
 * which may map.
 * Design: chapter 3.
 *
 *   extent (32 MiB; the first 256 KiB)
 *   +---------------+---------------+-----+---------------+
 *   | region 2 MiB  | region        | ... | region        |
 *   +---------------+---------------+-----+---------------+
 *   |
 *   +--> +--------+---------+---------+---------+-----+---------+
 *        | header | granule | granule | granule | ... | granule |  of 16 KiB
 *        +--------+---------+---------+---------+-----+---------+
 *                 |<----- a run ----->|
 *
 * The header has a record of 64 bytes for each granule.  The user of a run
 * keeps its data (the header of a slab) in the record of the run's first
 * granule, apart from the program's bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_PAGE_H
#define SLI_PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/thread/lock.h"

enum
{
  RUN_RECORD_BYTES = 64
};

/* Initialises the layer; once, before all else. */
void sli_page_init (void);
/* The size of a granule: 16 KiB, or a system page where that is larger. */
size_t sli_page_granule_bytes (void);
/* Returns true if regions have tags (region.h). */
bool sli_page_has_tags (void);

/* Allocates a run of n_granules: 1 to 32, and at most a quarter of a region if
 * it is more than SLAB_GRANULES_MAX + 1.  Maps an extent if needed.  NULL: no
 * memory.  *record: the run's record, with what its last user left there.
 * *is_zero: every byte of the run reads as zero. */
void *sli_page_alloc_run (unsigned n_granules, void **record, bool *is_zero);
/* Frees a run.  since_msec: when it was last needed, by sli_os_clock_msec().
 * Never maps, unmaps or advises.  True if more regions are idle now than are
 * worth keeping: the caller then calls sli_page_trim (0, 1). */
bool sli_page_free_run (void *run, unsigned n_granules, uint64_t since_msec);

/* Changes the length of a run in place.  False if the granules behind it are
 * in use; the run is unchanged then.  Added granules have any contents. */
bool sli_page_resize_run (void *run, unsigned n_granules, unsigned n_wanted);

/* Sets a function that sees the memory of each run, and of each that grows,
 * before its user does: `bytes' from `start' on.  Tags are 0 there where the
 * memory was purged, else as the last user left them.  Once, before the first
 * run; the caller of the function holds no lock of rank 20 or less. */
typedef void (*PageTaken) (char *start, size_t bytes);
void sli_page_watch_taken (PageTaken watch);

/* The same for a caller that can do without.  For a moment after the source
 * had no memory it returns NULL unless a run is free: a fraction of a second,
 * or until an extent is mapped or unmapped. */
void *sli_page_alloc_optional_run (unsigned n_granules, void **record,
                                   bool *is_zero);

/* The run of a record. */
void *sli_page_run_of_record (const void *record);

/* Purges at most max_regions regions that have been idle for max_age_msec or
 * longer.  Returns the bytes purged.  The caller holds no lock. */
size_t sli_page_trim (uint64_t max_age_msec, unsigned max_regions);
/* Purges the granules that have been free for max_age_msec or longer in at
 * most max_regions regions, used or idle.  Returns the bytes purged. */
size_t sli_page_trim_granules (uint64_t max_age_msec, unsigned max_regions);

/* Calls `visit` for every run in use, under the page lock. */
typedef void (*PageVisit) (void *run, void *record, void *data);
void sli_page_each_run (PageVisit visit, void *data);

/* Calls `visit` for all memory that is free and was not purged, under the page
 * lock. */
typedef void (*PageFreeVisit) (char *start, size_t bytes, void *data);
void sli_page_each_free (PageFreeVisit visit, void *data);

/* The id of an invariant of design chapter 10 (P1 to P6) that does not hold,
 * and where; NULL if all do.  Takes the lock. */
const char *sli_page_check (const void **where);

/* What the layer counts. */
typedef struct
{
  size_t granule_bytes;
  size_t mapped_bytes;   /* address space of the extents */
  size_t held_bytes;     /* headers, and granules that are not zeroed */
  size_t returned_bytes; /* purged or unmapped since the start */
  size_t n_regions;      /* initialised */
  size_t n_idle;         /* of these, without a run */
  size_t n_maps;         /* extents mapped since the start */
} PageCounts;

void sli_page_count (PageCounts *counts);
/* Counts the granules for which runs have taken memory from the system; wraps
 * around.  Without the lock. */
uint32_t sli_page_n_fresh (void);

/* For fork.c: the lock. */
Lock *sli_page_lock (void);
/* In a forked child, puts back what the parent's trimmers had removed, since
 * their threads do not exist here. */
void sli_page_fork_child (void);

#endif
