/* record-registry.h - all threads' records
 *
 * Layer: magazine.  Shared by record.c and record-stats.c alone.
 * Lock: sli_registry.lock (rank 60).
 * Design: chapters 6 and 9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_MAGAZINE_RECORD_REGISTRY_H
#define SLI_MAGAZINE_RECORD_REGISTRY_H

#include "magazine.h"
#include "record.h"
#include "base/list.h"
#include "port/compiler.h"
#include "port/lock.h"

typedef struct
{
  Lock lock;
  Link records;
  Link orphans;            /* a fork left them without their threads */
  unsigned n_records;
  bool is_open;            /* a key exists, so that threads' ends are noticed */
  bool may_be_inline;      /* no option keeps the inline code out */
  uint64_t n_fork_lost;
  bool awaits_end;      /* a thread waits, or will, for the next number: */
  uint32_t n_last_ends; /* so often the last record has ended */
  bool lost_threads; /* a fork left other threads behind */
  MagazineCounts ended[N_CLASSES]; /* of threads that have ended */
} Registry;

extern Registry sli_registry;

/* The most rounds that a magazine of this cache ever had. */
static ALWAYS_INLINE uint32_t
record_rounds_peak (const ClassCache *cache, unsigned class_index)
{
  return cache->size_peak == 0 && cache->loaded == NULL
             ? 0
             : sli_depot_rounds (class_index, cache->size_peak);
}

/* Adds what a record has and has counted.  The owner may be at work: what is
 * read is near the truth. */
void sli_record_count (const ThreadRecord *record, unsigned class_index,
                       MagazineCounts *counts);

#endif
