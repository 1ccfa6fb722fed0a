/* parked.c - a thread's end: its record waits for the next thread
 *
 * Layer: magazine.  Lock: sli_registry.lock (rank 60).
 * Design: chapter 9.
 *
 * The record of a thread that ends is parked with its full magazines.  The next
 * thread that begins on a processor of the same shard gets it.  So a program
 * with many short threads makes no trip to the depot for each class in each
 * thread.  Few records wait, and none with many blocks.  Those that nobody
 * takes are ended after a working set, and by a trim.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "magazine/magazine.h"
#include "magazine/adapt.h"
#include "record.h"
#include "record-registry.h"
#include "base/align.h"
#include "base/check.h"
#include "base/option.h"
#include "port/compiler.h"
#include "port/os/os.h"
#include "port/thread/shard.h"

enum
{
  /* A shard's threads may run at the same time. */
  PARKED_PER_SHARD = 2,
  /* The most bytes of chunks in a parked record. */
  PARKED_BYTES_MAX = 2 * 1024 * 1024
};

/* The bytes of the chunks that wait in a record without gaps. */
COMMON_TEXT static size_t
record_bytes (const ThreadRecord *record)
{
  size_t bytes = 0;

  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      const ClassCache *cache = &record->caches[i];
      size_t n = cache->previous != NULL ? cache->previous->n_rounds : 0;

      if (cache->loaded == NULL)
        continue;
      n += (size_t) (LOAD (&record->fast.entries[i].top)
                     - cache->loaded->slots);
      bytes += n * sli_sizeclasses[i].chunk_bytes;
    }
  return bytes;
}

/* Keeps the counts of a record that is about to end.  (A parked one counts
 * itself.) */
COMMON_TEXT static void
counts_keep (const ThreadRecord *record)
{
  assert_held (&sli_registry.lock);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      MagazineCounts *ended = &sli_registry.ended[i];
      const ClassCache *cache = &record->caches[i];

      ended->n_hits += cache->n_hits;
      ended->n_grown += cache->n_grown;
      ended->n_shrunk += cache->n_shrunk;
      ended->rounds_peak
          = (uint32_t) max_size (ended->rounds_peak,
                                 record_rounds_peak (cache, i));
    }
}

COMMON_TEXT static unsigned
parked_count (unsigned shard)
{
  unsigned n = 0;

  LINK_EACH (link, &sli_registry.parked)
    n += LINK_OWNER (link, ThreadRecord, link)->shard == shard;
  return n;
}

/* Returns false if the record must be ended.  Only modes with inline code park
 * records: the others keep chunks in a quarantine, or look at each call. */
COMMON_TEXT static bool
record_park (ThreadRecord *record)
{
  unsigned shard = sli_shard ();

  assert_held (&sli_registry.lock);
  if (record->attention != 0)
    sli_record_close_gaps (record);
  if (!sli_record_options.is_inline
      || sli_option_working_set_msec () == 0
      || parked_count (shard) >= PARKED_PER_SHARD
      || record_bytes (record) > PARKED_BYTES_MAX)
    return false;
  STORE (&record->attention, 0);
  record->shard = (uint8_t) shard;
  record->parked_msec = sli_os_clock_msec ();
  link_after (&record->link, &sli_registry.parked);
  STORE (&sli_registry.n_parked, sli_registry.n_parked + 1);
  return true;
}

COMMON_TEXT static void
parked_remove (ThreadRecord *record)
{
  assert_held (&sli_registry.lock);
  assert_here (sli_registry.n_parked > 0);
  link_remove (&record->link);
  STORE (&sli_registry.n_parked, sli_registry.n_parked - 1);
}

COMMON_TEXT ThreadRecord *
sli_record_unpark (void)
{
  ThreadRecord *found = NULL;
  unsigned shard;

  if (LOAD (&sli_registry.n_parked) == 0)
    return NULL;
  shard = sli_shard ();
  sli_lock (&sli_registry.lock);
  LINK_EACH (link, &sli_registry.parked)
    {
      ThreadRecord *record = LINK_OWNER (link, ThreadRecord, link);

      if (found == NULL && record->shard == shard)
        found = record;
    }
  if (found != NULL)
    parked_remove (found);
  sli_unlock (&sli_registry.lock);
  return found;
}

/* Removes a record that was parked for max_age_msec; NULL: there is none. */
COMMON_TEXT static ThreadRecord *
parked_pop_old (uint64_t max_age_msec)
{
  uint64_t now_msec = sli_os_clock_msec ();
  ThreadRecord *old = NULL;

  sli_lock (&sli_registry.lock);
  LINK_EACH (link, &sli_registry.parked)
    {
      ThreadRecord *record = LINK_OWNER (link, ThreadRecord, link);

      if (now_msec - record->parked_msec >= max_age_msec)
        old = record; /* the last is the oldest */
    }
  if (old != NULL)
    {
      parked_remove (old);
      counts_keep (old);
    }
  sli_unlock (&sli_registry.lock);
  return old;
}

COMMON_TEXT void
sli_record_end_parked (uint64_t max_age_msec)
{
  ThreadRecord *record;

  while (LOAD (&sli_registry.n_parked) != 0
         && (record = parked_pop_old (max_age_msec)) != NULL)
    sli_record_end (record, FLUSH_OLD_TO_SLABS);
}

COMMON_TEXT void
sli_record_review_parked (uint64_t now_msec)
{
  uint64_t max_age_msec = sli_option_working_set_msec ();

  if (LOAD (&sli_registry.n_parked) == 0
      || now_msec - LOAD (&sli_registry.parked_seen_msec)
             < max_age_msec / TICKS_PER_WORKING_SET)
    return;
  STORE (&sli_registry.parked_seen_msec, now_msec);
  sli_record_end_parked (max_age_msec);
}

COMMON_TEXT COLD void
sli_record_give_up (ThreadRecord *record)
{
  sli_lock (&sli_registry.lock);
  counts_keep (record);
  sli_unlock (&sli_registry.lock);
  sli_record_end (record, FLUSH_TO_DEPOT);
}

/* The thread no longer points to the record. */
COMMON_TEXT void
sli_record_retire (ThreadRecord *record)
{
  bool is_last, is_parked;

  sli_lock (&sli_registry.lock);
  assert_here (sli_registry.n_records > 0);
  link_remove (&record->link);
  STORE (&sli_registry.n_records, sli_registry.n_records - 1);
  is_last = sli_registry.n_records == 0;
  is_parked = record_park (record);
  if (!is_parked)
    counts_keep (record);
  sli_unlock (&sli_registry.lock);
  /* No other thread can find it now. */
  if (!is_parked)
    sli_record_end (record, FLUSH_TO_DEPOT);
  if (is_last && LOAD (&sli_registry.awaits_end))
    {
      COUNT_UP_SHARED (&sli_registry.n_last_ends, 1);
      sli_os_wake_word (&sli_registry.n_last_ends);
    }
}

uint32_t
sli_magazine_await_end (uint32_t n_seen, unsigned msec)
{
  STORE (&sli_registry.awaits_end, true);
  if (LOAD (&sli_registry.n_last_ends) == n_seen)
    sli_os_wait_word (&sli_registry.n_last_ends, n_seen, msec);
  return LOAD (&sli_registry.n_last_ends);
}
