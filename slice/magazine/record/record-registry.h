/* record-registry.h - all threads' records
 *
 * Layer: magazine.  Shared by record.c, record-detach.c, record-stats.c and
 * parked.c alone.
 * Lock: sli_registry.lock (rank 60).
 * Design: chapters 6 and 9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_MAGAZINE_RECORD_RECORD_REGISTRY_H
#define SLI_MAGAZINE_RECORD_RECORD_REGISTRY_H

#include "magazine/magazine.h"
#include "record.h"
#include "base/list.h"
#include "port/compiler.h"
#include "port/thread/lock.h"

typedef struct
{
  Lock lock;
  Link records;
  Link orphans;            /* records whose threads a fork left behind */
  Link parked;             /* records of ended threads, for the next ones;
                              latest first */
  unsigned n_parked;       /* read without the lock */
  uint64_t parked_seen_msec; /* when their age was last looked at; no lock */
  unsigned n_records;
  bool is_open;            /* a key exists, so the end of threads is noticed */
  bool may_be_inline;      /* no option keeps the inline code out */
  uint64_t n_fork_lost;
  bool awaits_end;      /* a thread waits, or will, for n_last_ends */
  uint32_t n_last_ends; /* how often the last record has ended */
  bool lost_threads; /* a fork left other threads behind */
  MagazineCounts ended[N_CLASSES]; /* of threads that have ended */
} Registry;

extern Registry sli_registry;

/* The empty sentinel, to which a thread without magazines points. */
extern SliceThreadV1 sli_record_sentinel;

/* May be true of a class whose magazines are empty. */
static inline bool
class_has_chunks (const ClassCache *cache)
{
  return cache->loaded != NULL || cache->previous != NULL
         || cache->quarantine != NULL;
}

/* Closes the gap where a trimmer has taken the lowest n_taken rounds.  The
 * owner's last inline call may have popped or pushed one after that. */
void sli_record_reattach_class (ThreadRecord *record, unsigned class_index);
/* Closes the gaps that trimmers left in a record's magazines.  The caller holds
 * the registry's lock. */
void sli_record_close_gaps (ThreadRecord *record);
/* Flushes and frees a record that is in no list. */
void sli_record_end (ThreadRecord *record, FlushKind kind);
/* Takes a thread's record from the registry, and parks or ends it. */
void sli_record_retire (ThreadRecord *record);
/* Ends a record, new or unparked, that its thread can't have. */
void sli_record_give_up (ThreadRecord *record);
/* Removes a parked record of the caller's shard; NULL: there is none. */
ThreadRecord *sli_record_unpark (void);

/* The most rounds that a magazine of this cache ever had. */
static ALWAYS_INLINE uint32_t
record_rounds_peak (const ClassCache *cache, unsigned class_index)
{
  return cache->size_peak == 0 && cache->loaded == NULL
             ? 0
             : sli_depot_rounds (class_index, cache->size_peak);
}

/* Adds a record's counts and cached chunks.  Approximate if the owner is at
 * work. */
void sli_record_count (const ThreadRecord *record, unsigned class_index,
                       MagazineCounts *counts);

#endif
