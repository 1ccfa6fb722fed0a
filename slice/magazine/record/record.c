/* record.c - threads' records: their magazines, and the registry of all
 *
 * Layer: magazine.  Lock: sli_registry.lock (rank 60).
 * Design: chapters 6 and 9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "magazine/magazine.h"
#include "magazine/quarantine.h"
#include "record.h"
#include "record-registry.h"
#include "page/meta.h"
#include "slab/slab.h"
#include "base/align.h"
#include "base/check.h"
#include "base/diag.h"
#include "port/compiler.h"
#include "port/os/os.h"
#include "port/thread/tls.h"

#include <limits.h>
#include <string.h>

enum
{
  /* The magazines of all threads together may grow to PROCESS_BYTES_MAX. But
   * each thread has at least THREAD_BYTES_MIN, about the size of its core's
   * second-level cache, and at most THREAD_BYTES_MAX.  So blocks that a
   * program frees all at once and allocates again stay in the magazines.
   * Measured: decisions/0003. */
  THREAD_BYTES_MIN = 1024 * 1024,
  THREAD_BYTES_MAX = 8 * 1024 * 1024,
  PROCESS_BYTES_MAX = 16 * 1024 * 1024
};

SLICE_STATIC_ASSERT (sizeof (ThreadRecord) <= META_BYTES_MAX,
                     "a record fits in a block of metadata");
SLICE_STATIC_ASSERT (SLICE_CLASS_V1 (SLICE_SIZE_MAX) == N_CLASSES - 1,
                     "the frozen function ends at the last class");
SLICE_STATIC_ASSERT (offsetof (Magazine, slots)
                         >= SLICE_FRONT_WORDS_V1 * sizeof (void *),
                     "the words in front of a sentinel may be read");
SLICE_STATIC_ASSERT (SLICE_CLASS_TABLE_BYTES_V1 > SLICE_SIZE_MAX,
                     "the table has a place for every size");

/* A shared NULL for entries without a magazine.  Their top and end point to
 * it, so they are empty and full at once.  It is never written. */
void *sli_record_nil[2];

/* The empty sentinel, to which a thread without magazines points.  Its table
 * may stay zero, because all entries are the same. */
SliceThreadV1 sli_record_sentinel
    = { .entries = { [0 ... N_CLASSES - 1]
                     = { sli_record_nil, sli_record_nil } } };

__thread SliceThreadV1 *slice_tls_v1
    __attribute__ ((tls_model ("initial-exec")))
    = &sli_record_sentinel;

/* Two empty records: `self` points to the first until the thread's first slow
 * call, and to the second once the thread ends or if it can have no record.
 * Their tls is NULL, so no thread enters them.  In modes that use a record
 * without entering it their entries point to the shared NULL, so that they
 * hold no chunk and accept none.  In others the second one and the third stay
 * untouched and take no memory.  A new record starts with the table and the
 * entries of the first. */
SPARSE_DATA static ThreadRecord record_new_one, record_none;
#define RECORD_NEW (&record_new_one)
#define RECORD_NONE (&record_none)

/* A third one, used while the thread's record is made.  It tells the modes
 * that look for calls within calls that the thread is in one. */
SPARSE_DATA static ThreadRecord record_beginning;
#define RECORD_BEGINNING (&record_beginning)

__thread ThreadRecord *sli_record_self
    __attribute__ ((tls_model ("initial-exec"))) = RECORD_NEW;
#define self sli_record_self

RecordOptions sli_record_options;

Registry sli_registry = { .lock = LOCK_INIT (LOCK_RANK_REGISTRY) };

/* --- entries and magazines ----------------------------------------------- */

COMMON_TEXT void
sli_record_show (ThreadRecord *record, unsigned class_index)
{
  SliceEntryV1 *entry = &record->fast.entries[class_index];
  Magazine *magazine = record->caches[class_index].loaded;

  if (magazine == NULL)
    {
      STORE (&entry->top, sli_record_nil);
      STORE (&entry->end, sli_record_nil);
      return;
    }
  STORE (&entry->end, &magazine->slots[magazine->n_rounds_max]);
  STORE (&entry->top, &magazine->slots[magazine->n_rounds]);
  assert_here (magazine->n_rounds <= magazine->n_rounds_max); /* M1 */
}

COMMON_TEXT void
sli_record_hide (ThreadRecord *record, unsigned class_index)
{
  Magazine *magazine = record->caches[class_index].loaded;

  if (magazine != NULL)
    magazine->n_rounds
        = (uint32_t) (LOAD (&record->fast.entries[class_index].top)
                      - magazine->slots);
}

COMMON_TEXT void
sli_record_reattach_class (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  Magazine *magazine = cache->loaded;

  if (cache->n_taken == 0)
    return;
  sli_record_hide (record, class_index);
  assert_here (cache->n_taken <= magazine->n_rounds); /* M4 */
  magazine->n_rounds -= cache->n_taken;
  memmove (&magazine->slots[1], &magazine->slots[1 + cache->n_taken],
           magazine->n_rounds * sizeof magazine->slots[0]);
  cache->n_taken = 0;
  sli_record_show (record, class_index);
  assert_slow (sli_record_is_right (record, class_index));
}

void
sli_record_close_gaps (ThreadRecord *record)
{
  assert_held (&sli_registry.lock);
  for (unsigned i = 1; i < N_CLASSES; i++)
    sli_record_reattach_class (record, i);
}

/* The registry's lock keeps trimmers away.  Otherwise this could overwrite a
 * trimmer's `attention', or its pointer to the empty sentinel, and the trimmer
 * would take rounds of a running thread. */
static void
record_reattach (ThreadRecord *record)
{
  sli_record_close_gaps (record);
  if (sli_record_options.is_inline)
    STORE (&slice_tls_v1, &record->fast);
  STORE (&record->attention, 0);
}

COMMON_TEXT size_t
sli_record_bytes_max (void)
{
  size_t share
      = PROCESS_BYTES_MAX / max_size (LOAD (&sli_registry.n_records), 1);

  return max_size (THREAD_BYTES_MIN, min_size (THREAD_BYTES_MAX, share));
}

/* --- a thread's beginning ------------------------------------------------ */

/* The thread's pointers change under the lock, as in record_reattach(). */
static void
record_register (ThreadRecord *record)
{
  sli_lock (&sli_registry.lock);
  self = record;
  if (sli_record_options.is_inline)
    STORE (&slice_tls_v1, &record->fast);
  link_after (&record->link, &sli_registry.records);
  STORE (&sli_registry.n_records, sli_registry.n_records + 1);
  sli_unlock (&sli_registry.lock);
}

/* A record without magazines; NULL: no memory. */
COMMON_TEXT static ThreadRecord *
record_make (void)
{
  ThreadRecord *record = sli_meta_alloc_optional (sizeof *record);

  if (record == NULL)
    return NULL;
  memset (record, 0, sizeof *record);
  record->fast = record_new_one.fast;
  link_init (&record->link);
  /* Modes with inline code pick nothing at random. */
  if (!sli_registry.may_be_inline)
    sli_os_random (&record->random, sizeof record->random);
  record->random |= 1;
  record->tick_msec = sli_os_clock_msec ();
  return record;
}

/* A parked record keeps its magazines, and its tick: else the magazines of
 * short threads would never shrink. */
COMMON_TEXT static ThreadRecord *
record_new (void)
{
  ThreadRecord *record = NULL;

  if (sli_registry.is_open && (record = sli_record_unpark ()) == NULL)
    record = record_make ();
  if (record == NULL)
    return NULL;
  record->tls = &slice_tls_v1;
  sli_asleep_init (&record->asleep);
  /* sli_tls_watch() may allocate slices. */
  self = RECORD_NONE;
  if (!sli_tls_watch (record))
    {
      sli_record_give_up (record);
      return NULL;
    }
  if (sli_record_options.checks_reentry)
    record->call = CALL_IN; /* while the lock is held */
  record_register (record);
  STORE (&record->call, CALL_NONE);
  return record;
}

/* The first slow call of a thread. */
COMMON_TEXT COLD static void
self_begin (void)
{
  ThreadRecord *record;

  /* An allocation of slices meanwhile must not recurse. */
  self = sli_record_options.checks_reentry ? RECORD_BEGINNING : RECORD_NONE;
  record = record_new ();
  if (record == NULL)
    {
      /* Without a key, for good; without memory, only this time. */
      self = sli_registry.is_open ? RECORD_NEW : RECORD_NONE;
      return;
    }
}

COMMON_TEXT ThreadRecord *
sli_record_begin (void)
{
  if (self == RECORD_NEW)
    self_begin ();
  return sli_record_peek ();
}

/* A trimmer holds the record, or has held it.  Either way the owner leaves the
 * record and waits for the trimmer's lock. */
void
sli_record_await_trimmer (ThreadRecord *record)
{
  assert_here (LOAD (&record->is_busy) && record == self);
  STORE_RELEASE (&record->is_busy, false);
  sli_lock (&sli_registry.lock);
  record_reattach (record);
  STORE (&record->is_busy, true);
  sli_unlock (&sli_registry.lock);
}

void
sli_record_report_reentry (const char *operation)
{
  sli_diag_misuse (ERROR_REENTERED,
                   operation != NULL ? operation : "slice", NULL);
}

/* --- flushing ------------------------------------------------------------ */

COMMON_TEXT static void
magazine_flush (Magazine *magazine, FlushKind kind)
{
  DepotExchange exchange = { .spare = magazine };

  if (magazine == NULL)
    return;
  /* A magazine that is at least half full is kept for the next thread. */
  if (kind == FLUSH_TO_DEPOT
      && magazine->n_rounds * 2 >= magazine->n_rounds_max)
    sli_depot_push (magazine, UINT_MAX, &exchange);
  else
    magazine->pushed_msec
        = kind == FLUSH_OLD_TO_SLABS ? DEPOT_LONG_AGO_MSEC : 0;
  if (exchange.spare != NULL)
    sli_depot_flush (exchange.spare);
}

COMMON_TEXT void
sli_record_flush_class (ThreadRecord *record, unsigned class_index,
                        FlushKind kind)
{
  ClassCache *cache = &record->caches[class_index];
  Magazine *loaded = cache->loaded, *previous = cache->previous;

  assert_here (class_index > 0 && class_index < N_CLASSES);
  sli_record_hide (record, class_index);
  STORE (&cache->loaded, NULL);
  STORE (&cache->previous, NULL);
  sli_record_show (record, class_index);
  magazine_flush (loaded, kind);
  magazine_flush (previous, kind);
  sli_quarantine_flush (cache, class_index);
  assert_here (cache->loaded == NULL && cache->previous == NULL);
  assert_slow (sli_record_is_right (record, class_index));
}

/* Frees the rings of a thread's quarantines, which are empty.  Statistics read
 * them under the lock. */
static void
record_end_rings (ThreadRecord *record)
{
  void **rings[N_CLASSES];

  sli_lock (&sli_registry.lock);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      rings[i] = record->caches[i].quarantine;
      STORE (&record->caches[i].quarantine, NULL);
    }
  sli_unlock (&sli_registry.lock);
  for (unsigned i = 1; i < N_CLASSES; i++)
    if (rings[i] != NULL)
      sli_depot_end_ring (rings[i], sli_quarantine_chunks ());
}

void
sli_magazine_flush (bool to_slabs)
{
  ThreadRecord *record = sli_record_peek ();

  if (record == NULL || (record = sli_record_enter ()) == NULL)
    return;
  for (unsigned i = 1; i < N_CLASSES; i++)
    sli_record_flush_class (record, i,
                            to_slabs ? FLUSH_TO_SLABS : FLUSH_TO_DEPOT);
  if (to_slabs && sli_quarantine_chunks () > 0)
    record_end_rings (record);
  sli_record_leave (record);
}

/* --- a thread's end ------------------------------------------------------ */

COMMON_TEXT void
sli_record_end (ThreadRecord *record, FlushKind kind)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    if (class_has_chunks (&record->caches[i]))
      {
        sli_record_reattach_class (record, i);
        sli_record_flush_class (record, i, kind);
        sli_quarantine_end (&record->caches[i]);
      }
  sli_meta_free (record, sizeof *record);
}

/* The thread's key destructor.  It first unsets the record, so that later
 * calls of the thread use the slabs directly. */
COMMON_TEXT static void
self_end (void *value)
{
  ThreadRecord *record = value;

  STORE (&slice_tls_v1, &sli_record_sentinel);
  self = RECORD_NONE;
  sli_record_retire (record);
}

COMMON_TEXT void
sli_magazine_load (void)
{
  sli_registry.is_open = sli_tls_open (self_end);
}

COMMON_TEXT void
sli_record_init (bool is_inline, bool checks_reentry)
{
  sli_record_options = (RecordOptions){ is_inline, checks_reentry };
  sli_registry.may_be_inline = is_inline;
  memcpy (record_new_one.fast.entries, sli_record_sentinel.entries,
          sizeof sli_record_sentinel.entries);
  for (size_t size = 0; size <= SLICE_SIZE_MAX; size++)
    record_new_one.fast.class_table[size]
        = (unsigned char) (2 * SLICE_CLASS_V1 (size));
  if (!is_inline)
    {
      record_beginning.fast = record_none.fast = record_new_one.fast;
      record_new_one.call = record_none.call = CALL_UNKNOWN;
      record_beginning.call = CALL_IN;
    }
  link_init (&sli_registry.records);
  link_init (&sli_registry.orphans);
  link_init (&sli_registry.parked);
}

/* --- fork ---------------------------------------------------------------- */

COMMON_TEXT void
sli_magazine_fork_prepare (void)
{
  sli_lock_for_fork (&sli_registry.lock);
}

COMMON_TEXT void
sli_magazine_fork_parent (void)
{
  sli_unlock_after_fork (&sli_registry.lock);
}

/* Counts the chunks of another thread's magazines, which are lost to the
 * child.  If the thread was in no slow path, its magazines are intact: the
 * child sees all that the thread stored up to some moment, in the thread's
 * order.  So statistics and walks still know these chunks as cached. */
static void
record_leave_behind (ThreadRecord *record)
{
  MagazineCounts counts = { 0 };

  sli_registry.lost_threads = true;
  for (unsigned i = 1; i < N_CLASSES; i++)
    sli_record_count (record, i, &counts);
  sli_registry.n_fork_lost += counts.n_cached;
  if (!LOAD (&record->is_busy) && LOAD (&record->call) != CALL_IN)
    link_after (&record->link, &sli_registry.orphans);
}

void
sli_magazine_fork_child (void)
{
  ThreadRecord *own = sli_record_peek ();
  Link *links = &sli_registry.records;

  sli_lock_renew (&sli_registry.lock);
  while (!link_is_alone (links))
    {
      ThreadRecord *record = LINK_OWNER (links->next, ThreadRecord, link);

      link_remove (&record->link);
      if (record != own)
        record_leave_behind (record);
    }
  sli_registry.n_records = 0;
  if (own != NULL)
    {
      link_init (&own->link);
      link_after (&own->link, &sli_registry.records);
      sli_registry.n_records = 1;
    }
}
