/* record.c - what each thread keeps: its magazines, and the registry of all
 *
 * Floor 5 (magazine).  Locks: registry.lock (rank 60), each record's (50).
 * Theory: sections 6 and 9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "magazine.h"
#include "record.h"
#include "meta.h"
#include "base/align.h"
#include "base/check.h"
#include "port/compiler.h"
#include "port/os.h"
#include "port/tls.h"

#include <string.h>

enum
{
  /* All magazines of a thread together may hold about what its core's
   * second-level cache does. */
  THREAD_BYTES_MAX = 1024 * 1024
};

SLICE_STATIC_ASSERT (sizeof (ThreadRecord) <= META_BYTES_MAX,
                     "a record fits in a piece of metadata");
SLICE_STATIC_ASSERT (SLICE_CLASS_V1 (SLICE_SIZE_MAX) == N_CLASSES - 1,
                     "the frozen function ends at the last class");

/* A shared NULL for entries without a magazine: top and end both stand on it,
 * so that it is empty and full at once.  Nobody ever writes it. */
void *sli_record_nil[2];

#define ENTRY_NIL { sli_record_nil, sli_record_nil }
#define ENTRY_NIL_8                                                           \
  ENTRY_NIL, ENTRY_NIL, ENTRY_NIL, ENTRY_NIL, ENTRY_NIL, ENTRY_NIL,           \
      ENTRY_NIL, ENTRY_NIL

/* The zero block: what a thread without magazines stands on. */
static SliceEntryV1 zero_block[N_CLASSES]
    = { ENTRY_NIL_8, ENTRY_NIL_8, ENTRY_NIL_8, ENTRY_NIL_8, ENTRY_NIL_8,
        ENTRY_NIL_8, ENTRY_NIL_8, ENTRY_NIL_8, ENTRY_NIL_8, ENTRY_NIL,
        ENTRY_NIL };

__thread SliceEntryV1 *slice_tls_v1
    __attribute__ ((tls_model ("initial-exec"))) = zero_block;

/* The thread's record: NULL before the first slow call, RECORD_NONE for good
 * when the thread ends or can have none. */
static __thread ThreadRecord *self
    __attribute__ ((tls_model ("initial-exec")));

static char none;
#define RECORD_NONE ((ThreadRecord *) (void *) &none)

static struct
{
  Lock lock;
  Link records;
  unsigned n_records;
  bool is_inline;          /* the inline code may use the magazines */
  bool is_open;            /* threads' ends are told */
  size_t room_bytes;       /* by which a thread's magazines may grow beyond
                              the smallest of every class */
  uint64_t n_fork_lost;
  MagazineCounts ended[N_CLASSES]; /* of threads that have ended */
} registry = { .lock = LOCK_INIT (LOCK_RANK_REGISTRY) };

/* --- entries and magazines --------------------------------------------------- */

void
sli_record_show (ThreadRecord *record, unsigned class_index)
{
  SliceEntryV1 *entry = &record->entries[class_index];
  Magazine *magazine = record->caches[class_index].loaded;

  if (magazine == NULL)
    {
      STORE (&entry->top, sli_record_nil);
      STORE (&entry->end, sli_record_nil);
      return;
    }
  STORE (&entry->end, &magazine->slots[magazine->n_rounds_max]);
  STORE (&entry->top, &magazine->slots[magazine->n_rounds]);
}

void
sli_record_hide (ThreadRecord *record, unsigned class_index)
{
  Magazine *magazine = record->caches[class_index].loaded;

  if (magazine != NULL)
    magazine->n_rounds
        = (uint32_t) (LOAD (&record->entries[class_index].top)
                      - magazine->slots);
}

/* A trimmer took the lowest n_taken rounds; the owner's last inline call may
 * still have popped or pushed one after that.  Close the gap. */
static void
class_reattach (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  Magazine *magazine = cache->loaded;

  if (cache->n_taken == 0)
    return;
  sli_record_hide (record, class_index);
  magazine->n_rounds -= cache->n_taken;
  memmove (&magazine->slots[1], &magazine->slots[1 + cache->n_taken],
           magazine->n_rounds * sizeof magazine->slots[0]);
  cache->n_taken = 0;
  sli_record_show (record, class_index);
}

static void
record_reattach (ThreadRecord *record)
{
  assert_held (&record->lock);
  for (unsigned i = 1; i < N_CLASSES; i++)
    class_reattach (record, i);
  record->is_detached = false;
  if (registry.is_inline)
    STORE (&slice_tls_v1, record->entries);
}

/* --- a thread's beginning ------------------------------------------------------ */

static void
record_register (ThreadRecord *record)
{
  sli_lock (&registry.lock);
  link_after (&record->link, &registry.records);
  registry.n_records++;
  sli_unlock (&registry.lock);
}

static ThreadRecord *
record_new (void)
{
  ThreadRecord *record
      = registry.is_open ? sli_meta_alloc (sizeof *record) : NULL;

  if (record == NULL)
    return NULL;
  memset (record, 0, sizeof *record);
  memcpy (record->entries, zero_block, sizeof record->entries);
  sli_lock_init (&record->lock, LOCK_RANK_RECORD);
  link_init (&record->link);
  record->tls = &slice_tls_v1;
  record->tick_msec = sli_os_clock_msec ();
  record->room_bytes = registry.room_bytes;
  if (!sli_tls_watch (record))
    {
      sli_meta_free (record, sizeof *record);
      return NULL;
    }
  record_register (record);
  return record;
}

/* The first slow call of a thread. */
COLD static void
self_begin (void)
{
  /* Should sli_tls_watch() allocate through us, it must not come here. */
  self = RECORD_NONE;
  self = record_new ();
  if (self == NULL)
    {
      /* Without a key for good; without memory only this time. */
      self = registry.is_open ? NULL : RECORD_NONE;
      return;
    }
  if (registry.is_inline)
    STORE (&slice_tls_v1, self->entries);
}

ThreadRecord *
sli_record_enter (void)
{
  ThreadRecord *record;

  if (UNLIKELY (self == NULL))
    self_begin ();
  record = self;
  if (UNLIKELY (record == NULL || record == RECORD_NONE))
    return NULL;
  sli_lock (&record->lock);
  if (UNLIKELY (record->is_detached))
    record_reattach (record);
  return record;
}

void
sli_record_leave (ThreadRecord *record)
{
  sli_unlock (&record->lock);
}

ThreadRecord *
sli_record_peek (void)
{
  return self == RECORD_NONE ? NULL : self;
}

/* --- flushing -------------------------------------------------------------------- */

static void
magazine_put_away (Magazine *magazine, bool to_slabs)
{
  bool contended;

  if (magazine == NULL)
    return;
  /* Half a magazine is worth keeping whole for the next thread. */
  if (!to_slabs && magazine->n_rounds * 2 >= magazine->n_rounds_max)
    magazine = sli_depot_push (magazine, &contended);
  if (magazine != NULL)
    sli_depot_drain (magazine);
}

static void
zero_window_put_away (ClassCache *cache, unsigned class_index)
{
  while (cache->zero_next != cache->zero_end)
    {
      void *chunk = cache->zero_next;

      cache->zero_next += sli_sizeclasses[class_index].chunk_bytes;
      sli_depot_give (class_index, 1, &chunk, "flush");
    }
}

void
sli_record_flush_class (ThreadRecord *record, unsigned class_index,
                        bool to_slabs)
{
  ClassCache *cache = &record->caches[class_index];
  Magazine *loaded = cache->loaded, *previous = cache->previous;

  sli_record_hide (record, class_index);
  cache->loaded = cache->previous = NULL;
  sli_record_show (record, class_index);
  magazine_put_away (loaded, to_slabs);
  magazine_put_away (previous, to_slabs);
  zero_window_put_away (cache, class_index);
}

void
sli_magazine_flush (bool to_slabs)
{
  ThreadRecord *record = sli_record_peek ();

  if (record == NULL || (record = sli_record_enter ()) == NULL)
    return;
  for (unsigned i = 1; i < N_CLASSES; i++)
    sli_record_flush_class (record, i, to_slabs);
  sli_record_leave (record);
}

/* --- a thread's end ----------------------------------------------------------------- */

static uint32_t
rounds_peak (const ClassCache *cache, unsigned class_index)
{
  return cache->size_peak == 0 && cache->loaded == NULL
             ? 0
             : sli_depot_rounds (class_index, cache->size_peak);
}

/* What a thread counted outlives it. */
static void
counts_keep (const ThreadRecord *record)
{
  assert_held (&registry.lock);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      MagazineCounts *ended = &registry.ended[i];
      const ClassCache *cache = &record->caches[i];

      ended->n_hits += cache->n_hits;
      ended->n_grown += cache->n_grown;
      ended->n_shrunk += cache->n_shrunk;
      ended->rounds_peak
          = (uint32_t) max_size (ended->rounds_peak, rounds_peak (cache, i));
    }
}

/* The thread's key destructor.  First the thread is set to do without a
 * record, so that whatever comes later goes to the slabs directly. */
static void
self_end (void *value)
{
  ThreadRecord *record = value;

  STORE (&slice_tls_v1, zero_block);
  self = RECORD_NONE;
  sli_lock (&registry.lock);
  link_remove (&record->link);
  registry.n_records--;
  counts_keep (record);
  sli_unlock (&registry.lock);
  /* Nobody else can reach it now. */
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      class_reattach (record, i);
      sli_record_flush_class (record, i, false);
    }
  sli_meta_free (record, sizeof *record);
}

void
sli_magazine_load (void)
{
  registry.is_open = sli_tls_open (self_end);
}

void
sli_record_init (bool is_inline)
{
  registry.is_inline = is_inline;
  registry.room_bytes = THREAD_BYTES_MAX;
  for (unsigned i = 1; i < N_CLASSES; i++)
    registry.room_bytes -= (size_t) 2 * sli_depot_rounds (i, 0)
                           * sli_sizeclasses[i].chunk_bytes;
  link_init (&registry.records);
}

/* --- detaching ------------------------------------------------------------------------ */

/* Everything but the top round, which the owner's last inline call may be
 * about to hand out.  The slots themselves are left as they are. */
static void
class_take_rounds (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  Magazine *previous = cache->previous;

  if (previous != NULL)
    {
      cache->previous = NULL;
      sli_depot_drain (previous);
    }
  if (cache->loaded != NULL && cache->n_taken == 0)
    {
      void **slots = cache->loaded->slots;
      size_t n_rounds = (size_t) (LOAD (&record->entries[class_index].top)
                                  - slots);

      if (n_rounds < 2)
        return;
      cache->n_taken = (uint16_t) (n_rounds - 1);
      sli_depot_give (class_index, cache->n_taken, slots + 1, "trim");
    }
}

/* Points a thread at the zero block, unless it is in a slow path just now:
 * then it is awake, and keeps what it has. */
static void
record_detach (ThreadRecord *record)
{
  if (record == self || !sli_trylock (&record->lock))
    return;
  record->is_detached = true;
  STORE (record->tls, zero_block);
  sli_unlock (&record->lock);
}

/* If its owner has not come back meanwhile, nobody uses its magazines. */
static void
record_take_rounds (ThreadRecord *record)
{
  if (record == self || !sli_trylock (&record->lock))
    return;
  if (record->is_detached)
    for (unsigned i = 1; i < N_CLASSES; i++)
      class_take_rounds (record, i);
  sli_unlock (&record->lock);
}

/* Between the two passes every thread passes a barrier.  After it no thread
 * is in an inline call that began before, but for what it had loaded already:
 * one call at most, on one magazine's top. */
void
sli_magazine_detach_others (void)
{
  sli_lock (&registry.lock);
  LINK_EACH (link, &registry.records)
    record_detach (LINK_OWNER (link, ThreadRecord, link));
  if (sli_os_barrier_all_threads ())
    LINK_EACH (link, &registry.records)
      record_take_rounds (LINK_OWNER (link, ThreadRecord, link));
  sli_unlock (&registry.lock);
}

/* --- looking ---------------------------------------------------------------------------- */

static void
record_count (ThreadRecord *record, unsigned class_index,
              MagazineCounts *counts)
{
  const ClassCache *cache = &record->caches[class_index];
  uint32_t rounds = 0;

  if (cache->loaded != NULL)
    {
      counts->n_cached += (uint64_t) (LOAD (&record->entries[class_index].top)
                                      - cache->loaded->slots)
                          - cache->n_taken;
      rounds = sli_depot_rounds (class_index, cache->size);
    }
  if (cache->previous != NULL)
    counts->n_cached += cache->previous->n_rounds;
  counts->n_cached += (uint64_t) (cache->zero_end - cache->zero_next)
                      / sli_sizeclasses[class_index].chunk_bytes;
  counts->n_hits += cache->n_hits;
  counts->n_grown += cache->n_grown;
  counts->n_shrunk += cache->n_shrunk;
  counts->rounds_now = (uint32_t) max_size (counts->rounds_now, rounds);
  counts->rounds_peak
      = (uint32_t) max_size (counts->rounds_peak,
                             rounds_peak (cache, class_index));
}

unsigned
sli_magazine_count_all (MagazineCounts counts[N_CLASSES])
{
  unsigned n_records;

  sli_lock (&registry.lock);
  memcpy (counts, registry.ended, sizeof registry.ended);
  n_records = registry.n_records;
  LINK_EACH (link, &registry.records)
    {
      ThreadRecord *record = LINK_OWNER (link, ThreadRecord, link);

      sli_lock (&record->lock);
      for (unsigned i = 1; i < N_CLASSES; i++)
        record_count (record, i, &counts[i]);
      sli_unlock (&record->lock);
    }
  sli_unlock (&registry.lock);
  return n_records;
}

uint64_t
sli_magazine_fork_lost (void)
{
  return LOAD (&registry.n_fork_lost);
}

/* --- fork --------------------------------------------------------------------------------- */

void
sli_magazine_fork_prepare (void)
{
  sli_lock_for_fork (&registry.lock);
  LINK_EACH (link, &registry.records)
    sli_lock_for_fork (&LINK_OWNER (link, ThreadRecord, link)->lock);
}

void
sli_magazine_fork_parent (void)
{
  LINK_EACH (link, &registry.records)
    sli_unlock_after_fork (&LINK_OWNER (link, ThreadRecord, link)->lock);
  sli_unlock_after_fork (&registry.lock);
}

/* Other threads' magazines changed without locks while the kernel copied the
 * pages: what they hold is out for ever in the child, and counted. */
void
sli_magazine_fork_child (void)
{
  ThreadRecord *own = sli_record_peek ();

  sli_lock_init (&registry.lock, LOCK_RANK_REGISTRY);
  LINK_EACH (link, &registry.records)
    {
      ThreadRecord *record = LINK_OWNER (link, ThreadRecord, link);
      MagazineCounts counts = { 0 };

      if (record == own)
        continue;
      for (unsigned i = 1; i < N_CLASSES; i++)
        record_count (record, i, &counts);
      registry.n_fork_lost += counts.n_cached;
    }
  link_init (&registry.records);
  registry.n_records = 0;
  if (own != NULL)
    {
      sli_lock_init (&own->lock, LOCK_RANK_RECORD);
      link_init (&own->link);
      link_after (&own->link, &registry.records);
      registry.n_records = 1;
    }
}
