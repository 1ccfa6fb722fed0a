/* record-stats.c - statistics of the threads' records, and their invariants
 *
 * Layer: magazine.  Locks: sli_registry.lock (rank 60), and under it the
 * metadata's, so that magazines that owners drop are not freed meanwhile.
 * Design: chapters 6 and 10.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "magazine/adapt.h"
#include "magazine/magazine.h"
#include "page/meta.h"
#include "magazine/quarantine.h"
#include "record.h"
#include "record-registry.h"
#include "base/align.h"
#include "base/check.h"
#include "port/compiler.h"

#include <string.h>

/* --- counting ------------------------------------------------------------ */

/* The number of rounds of a magazine, limited to the most of its class.  If the
 * owner is at work, the magazine's memory may have another use by now, and
 * n_rounds_max may be any number. */
static ALWAYS_INLINE size_t
rounds_believable (const Magazine *magazine, unsigned class_index)
{
  return min_size (LOAD (&magazine->n_rounds_max),
                   sli_depot_rounds (class_index,
                                     sli_depot_size_max (class_index)));
}

/* Counts the chunks in a thread's loaded magazine; approximate if the owner is
 * at work.  The caller holds the metadata's lock.  Owners remove a magazine
 * from their record before they free it, so one that is seen there can't be
 * freed while the lock is held. */
READS_RACILY static uint64_t
loaded_count (const ThreadRecord *record, unsigned class_index)
{
  const ClassCache *cache = &record->caches[class_index];
  const Magazine *loaded = LOAD (&cache->loaded);
  void *const *top = LOAD (&record->fast.entries[class_index].top);

  if (SCHEDULE_IS_ON && loaded != NULL)
    {
      SCHEDULE_POINT ("magazine seen");
      require (loaded->class_index == class_index);
    }
  if (loaded == NULL || top < loaded->slots + cache->n_taken
      || top > loaded->slots + rounds_believable (loaded, class_index))
    return 0;
  return rounds_count_chunks (loaded->slots + 1 + cache->n_taken,
                              (size_t) (top - loaded->slots)
                                  - cache->n_taken);
}

READS_RACILY static uint64_t
previous_count (const ClassCache *cache, unsigned class_index)
{
  const Magazine *previous = LOAD (&cache->previous);

  return previous == NULL
             ? 0
             : rounds_count_chunks (&previous->slots[1],
                                    min_size (
                                        LOAD (&previous->n_rounds),
                                        rounds_believable (previous,
                                                           class_index)));
}

READS_RACILY static uint64_t
quarantine_count (const ClassCache *cache)
{
  void *const *ring = LOAD (&cache->quarantine);

  return ring != NULL ? rounds_count_chunks (ring, sli_quarantine_chunks ())
                      : 0;
}

READS_RACILY void
sli_record_count (const ThreadRecord *record, unsigned class_index,
                  MagazineCounts *counts)
{
  const ClassCache *cache = &record->caches[class_index];

  counts->n_cached += loaded_count (record, class_index);
  counts->n_cached += previous_count (cache, class_index);
  counts->n_cached += quarantine_count (cache);
  counts->n_hits += LOAD (&cache->n_hits);
  counts->n_grown += LOAD (&cache->n_grown);
  counts->n_shrunk += LOAD (&cache->n_shrunk);
  if (LOAD (&cache->loaded) != NULL)
    counts->rounds_now
        = (uint32_t) max_size (counts->rounds_now,
                               sli_depot_rounds (class_index, cache->size));
  counts->rounds_peak
      = (uint32_t) max_size (counts->rounds_peak,
                             record_rounds_peak (cache, class_index));
}

static void
records_count (const Link *records, MagazineCounts counts[N_CLASSES])
{
  LINK_EACH (link, records)
    {
      ThreadRecord *record = LINK_OWNER (link, ThreadRecord, link);

      for (unsigned i = 1; i < N_CLASSES; i++)
        sli_record_count (record, i, &counts[i]);
    }
}

unsigned
sli_magazine_count_all (MagazineCounts counts[N_CLASSES])
{
  unsigned n_records;

  sli_lock (&sli_registry.lock);
  memcpy (counts, sli_registry.ended, sizeof sli_registry.ended);
  n_records = sli_registry.n_records;
  sli_lock (sli_meta_lock ());
  records_count (&sli_registry.records, counts);
  records_count (&sli_registry.orphans, counts);
  records_count (&sli_registry.parked, counts);
  sli_unlock (sli_meta_lock ());
  sli_unlock (&sli_registry.lock);
  return n_records;
}

uint64_t
sli_magazine_fork_lost (void)
{
  return LOAD (&sli_registry.n_fork_lost);
}

bool
sli_magazine_lost_threads (void)
{
  return LOAD (&sli_registry.lost_threads);
}

/* --- invariants ---------------------------------------------------------- */

static const char *
class_check (const ThreadRecord *record, unsigned class_index)
{
  const ClassCache *cache = &record->caches[class_index];
  const SliceEntryV1 *entry = &record->fast.entries[class_index];
  const Magazine *loaded = cache->loaded, *previous = cache->previous;

  if (loaded == NULL)
    return entry->top != sli_record_nil || entry->end != sli_record_nil
               ? "M1"
               : NULL;
  if (loaded->slots[0] != NULL || entry->top < (void **) loaded->slots
      || entry->top > entry->end
      || entry->end != loaded->slots + loaded->n_rounds_max
      || loaded->class_index != class_index)
    return "M1";
  if (cache->n_taken > entry->top - (void **) loaded->slots)
    return "M4";
  return previous != NULL
                 && (previous->slots[0] != NULL
                     || previous->n_rounds > previous->n_rounds_max
                     || previous->class_index != class_index)
             ? "M2"
             : NULL;
}

bool
sli_record_is_right (const ThreadRecord *record, unsigned class_index)
{
  return class_check (record, class_index) == NULL;
}

static const char *
records_check (const Link *records, const void **where)
{
  LINK_EACH (link, records)
    {
      ThreadRecord *record = LINK_OWNER (link, ThreadRecord, link);

      for (unsigned i = 1; i < N_CLASSES; i++)
        {
          const char *broken = class_check (record, i);

          *where = &record->caches[i];
          if (broken != NULL)
            return broken;
        }
      *where = record;
      if (!sli_adapt_is_right (record))
        return "M3";
    }
  return NULL;
}

const char *
sli_magazine_check (const void **where)
{
  const char *broken;

  sli_lock (&sli_registry.lock);
  sli_lock (sli_meta_lock ());
  broken = records_check (&sli_registry.records, where);
  if (broken == NULL)
    broken = records_check (&sli_registry.parked, where);
  sli_unlock (sli_meta_lock ());
  sli_unlock (&sli_registry.lock);
  return broken;
}

/* --- each round ---------------------------------------------------------- */

static void
class_each (const ThreadRecord *record, unsigned class_index,
            MagazineVisit visit, void *data)
{
  const ClassCache *cache = &record->caches[class_index];
  uint64_t n_loaded = loaded_count (record, class_index);
  const Magazine *loaded = LOAD (&cache->loaded);
  const Magazine *previous = LOAD (&cache->previous);

  if (n_loaded > 0 && loaded != NULL)
    visit (class_index, loaded->slots + 1 + cache->n_taken, n_loaded, data);
  if (previous != NULL)
    visit (class_index, previous->slots + 1,
           min_size (LOAD (&previous->n_rounds),
                     rounds_believable (previous, class_index)),
           data);
  if (cache->quarantine != NULL)
    visit (class_index, cache->quarantine, sli_quarantine_chunks (), data);
}

static void
records_each (const Link *records, MagazineVisit visit, void *data)
{
  LINK_EACH (link, records)
    for (unsigned i = 1; i < N_CLASSES; i++)
      class_each (LINK_OWNER (link, ThreadRecord, link), i, visit, data);
}

void
sli_magazine_each (MagazineVisit visit, void *data)
{
  sli_lock (&sli_registry.lock);
  sli_lock (sli_meta_lock ());
  records_each (&sli_registry.records, visit, data);
  records_each (&sli_registry.orphans, visit, data);
  records_each (&sli_registry.parked, visit, data);
  sli_unlock (sli_meta_lock ());
  sli_unlock (&sli_registry.lock);
}
