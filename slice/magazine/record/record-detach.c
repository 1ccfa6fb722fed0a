/* record-detach.c - other threads' records: their inline code, their rounds
 *
 * Layer: magazine.  Lock: sli_registry.lock (rank 60).
 * Design: chapters 6 and 9.
 *
 * A trimmer frees rounds of threads that run.  Each thread's pointer to its
 * magazines leads to the empty sentinel meanwhile, and the thread repairs its
 * record at its next slow call (record.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "magazine/magazine.h"
#include "record.h"
#include "record-registry.h"
#include "slab/slab.h"
#include "base/check.h"
#include "port/compiler.h"
#include "port/os/os.h"

#define self sli_record_self

/* --- the inline code out, and in again ----------------------------------- */

/* A record's magazines belong to its owner, inline or not.  Only the pointer
 * that the inline code starts from changes, under the lock. */
COMMON_TEXT void
sli_magazine_show_inline (bool is_shown)
{
  is_shown = is_shown && sli_registry.may_be_inline;
  sli_lock (&sli_registry.lock);
  STORE (&sli_record_options.is_inline, is_shown);
  LINK_EACH (link, &sli_registry.records)
    {
      ThreadRecord *record = LINK_OWNER (link, ThreadRecord, link);

      if (is_shown)
        STORE_RELEASE (&record->attention, RECORD_DETACHED);
      else
        STORE (record->tls, &sli_record_sentinel);
    }
  sli_unlock (&sli_registry.lock);
}

/* --- detaching ----------------------------------------------------------- */

/* Frees all rounds of a class but the top one, which the owner's last inline
 * call may be about to return.  The slots keep their values. */
static void
class_free_rounds (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  Magazine *previous = cache->previous;

  assert_held (&sli_registry.lock);
  assert_here (class_index > 0 && class_index < N_CLASSES);
  if (previous != NULL)
    {
      cache->previous = NULL;
      previous->pushed_msec = DEPOT_LONG_AGO_MSEC;
      sli_depot_flush (previous);
    }
  if (cache->loaded != NULL && cache->n_taken == 0)
    {
      void **slots = cache->loaded->slots;
      size_t n_rounds = (size_t) (LOAD (&record->fast.entries[class_index].top)
                                  - slots);

      if (n_rounds < 2)
        return;
      cache->n_taken = (uint16_t) (n_rounds - 1);
      sli_slab_free_old (class_index, cache->n_taken, slots + 1,
                         DEPOT_LONG_AGO_MSEC, "trim of a magazine");
    }
}

static bool
record_has_chunks (const ThreadRecord *record)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    if (class_has_chunks (&record->caches[i]))
      return true;
  return false;
}

/* Frees all rounds of a record, the top ones, too: the owner sleeps in a
 * system call, so it is in no inline call. */
static void
record_flush_asleep (ThreadRecord *record)
{
  assert_held (&sli_registry.lock);
  assert_here (LOAD (&record->attention) & RECORD_HELD);
  for (unsigned i = 1; i < N_CLASSES; i++)
    if (class_has_chunks (&record->caches[i]))
      {
        sli_record_reattach_class (record, i);
        sli_record_flush_class (record, i, FLUSH_OLD_TO_SLABS);
      }
}

/* Frees rounds of a record unless its owner is in a slow path and uses them.
 * An owner that was in one when it was detached may have left it since, with
 * its entries back in place.  Such an owner is awake, and keeps its rounds. */
static void
record_free_rounds (ThreadRecord *record)
{
  if (record == self || LOAD_ACQUIRE (&record->is_busy)
      || LOAD (record->tls) != &sli_record_sentinel
      || !record_has_chunks (record))
    return;
  if (sli_asleep_is (&record->asleep))
    record_flush_asleep (record);
  else
    for (unsigned i = 1; i < N_CLASSES; i++)
      class_free_rounds (record, i);
}

/* Returns true if a trimmer may find rounds of a class to take.  A guess: the
 * owner may be at work. */
READS_RACILY static bool
class_has_rounds (const ThreadRecord *record, unsigned class_index)
{
  const ClassCache *cache = &record->caches[class_index];
  const Magazine *loaded = LOAD (&cache->loaded);
  uintptr_t top = (uintptr_t) LOAD (&record->fast.entries[class_index].top);

  if (LOAD (&cache->previous) != NULL)
    return true;
  /* (Of another magazine by now, the difference is any number.) */
  return loaded != NULL
         && (top - (uintptr_t) loaded->slots) / sizeof (void *)
                > cache->n_taken;
}

static bool
others_have_rounds (void)
{
  assert_held (&sli_registry.lock);
  LINK_EACH (link, &sli_registry.records)
    {
      const ThreadRecord *record = LINK_OWNER (link, ThreadRecord, link);

      for (unsigned i = 1; record != self && i < N_CLASSES; i++)
        if (class_has_rounds (record, i))
          return true;
    }
  return false;
}

/* Between the two passes every thread passes a barrier.  After it, no thread
 * is in an inline call that began before, except for values it had loaded
 * already: one call at most, on the top of one magazine.  A thread in a slow
 * path either is seen there or sees that it has to wait. */
void
sli_magazine_detach_others (void)
{
  if (!LOAD (&sli_record_options.is_inline))
    return; /* the other modes use records without entering them */
  sli_lock (&sli_registry.lock);
  if (!others_have_rounds ())
    {
      sli_unlock (&sli_registry.lock);
      return;
    }
  LINK_EACH (link, &sli_registry.records)
    {
      ThreadRecord *record = LINK_OWNER (link, ThreadRecord, link);

      if (record == self)
        continue;
      STORE (&record->attention, RECORD_HELD | RECORD_DETACHED);
      STORE (record->tls, &sli_record_sentinel);
    }
  SCHEDULE_POINT ("detaching");
  if (sli_os_barrier_all_threads ())
    LINK_EACH (link, &sli_registry.records)
    {
      record_free_rounds (LINK_OWNER (link, ThreadRecord, link));
    }
  LINK_EACH (link, &sli_registry.records)
    {
      ThreadRecord *record = LINK_OWNER (link, ThreadRecord, link);

      if (record != self)
        STORE_RELEASE (&record->attention, RECORD_DETACHED);
    }
  sli_unlock (&sli_registry.lock);
}
