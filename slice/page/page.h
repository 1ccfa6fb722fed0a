/* page.h - regions, and runs of granules cut from them
 *
 * Layer: page.  Above: slab, and meta beside it; below: base, port.
 * Locks: the page lock (rank 20), inside; callers hold none of rank 20 or
 * less, and call sli_page_alloc_run() with no lock at all, since it may map.
 * Design: chapter 3.
 *
 *   extent (32 MiB; the first 256 KiB)
 *   +---------------+---------------+-----+---------------+
 *   | region 2 MiB  | region        | ... | region        |
 *   +---------------+---------------+-----+---------------+
 *   |
 *   +--> +--------+------+------+------+-----+------+
 *        | header | granule | granule | granule | ... | granule |   granules
 * of 16 KiB
 *        +--------+------+------+------+-----+------+
 *                 |<--- a run --->|
 *
 * The header holds a record of 64 bytes for every granule; a run's user keeps
 * its own data (a slab's header) in the record of the run's first granule, so
 * nothing of it lies among the user's bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_PAGE_H
#define SLI_PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/lock.h"

enum
{
  RUN_RECORD_BYTES = 64
};

/* Readies the floor; once, before all else. */
void sli_page_init (void);
/* The size of a granule: 16 KiB, or a system page where that is larger. */
size_t sli_page_granule_bytes (void);
/* Do regions keep marks (region.h)? */
bool sli_page_has_tags (void);

/* A run of n_granules (1 to SLAB_GRANULES_MAX + 1), or NULL if there is no
 * memory. record: the run's record; its bytes are what its last user left
 * there. is_zero: every byte of the run reads as zero.  Maps when it must. */
void *sli_page_alloc_run (unsigned n_granules, void **record, bool *is_zero);
/* Gives one back.  since_msec: when it was last needed, by
 * sli_os_clock_msec().  Never maps, unmaps or advises; true if more regions
 * are idle now than are worth keeping: then call sli_page_trim (0, 1). */
bool sli_page_free_run (void *run, unsigned n_granules, uint64_t since_msec);

/* The run that holds an address, and its record; NULL if none does.  Takes
 * no lock: true as long as the caller knows the run to be in use, a guess
 * otherwise; it never faults while the region is mapped. */
void *sli_page_run_of (const void *address, void **record);

/* Is an address within a region of ours (used or not)? */
bool sli_page_is_ours (const void *address);
/* The run that a record belongs to. */
void *sli_page_run_of_record (const void *record);

/* Gives regions back that have been idle for at least max_age_msec, at most
 * max_regions; returns bytes.  No lock held by the caller. */
size_t sli_page_trim (uint64_t max_age_msec, unsigned max_regions);
/* Gives back the granules that have been free for at least max_age_msec, of at
 * most max_regions regions, whatever else of them is in use; returns bytes. */
size_t sli_page_trim_granules (uint64_t max_age_msec, unsigned max_regions);

/* Calls `visit` for every run in use, under the page lock. */
typedef void (*PageVisit) (void *run, void *record, void *data);
void sli_page_each_run (PageVisit visit, void *data);

/* The id of an invariant of design chapter 10 (P1 to P5) that does not hold,
 * and where; NULL if all do.  Takes the lock. */
const char *sli_page_check (const void **where);

/* What the floor counts. */
typedef struct
{
  size_t granule_bytes;
  size_t mapped_bytes;    /* addresses held */
  size_t held_bytes;      /* granules handed out since they were last zeroed */
  size_t returned_bytes;  /* given back since the start */
  size_t n_regions;       /* begun */
  size_t n_idle;          /* of these, without a run */
  size_t n_maps;          /* requests to the source */
} PageCounts;

void sli_page_count (PageCounts *counts);

/* For fork.c: the lock; and in the child, what trimmers had in hand is taken
 * from them, for they are gone. */
Lock *sli_page_lock (void);
void sli_page_fork_child (void);

#endif
