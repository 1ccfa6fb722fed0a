/* magazine.c - each thread's magazines: the slow path
 *
 * Layer: magazine.  Below: depot.  No locks: the record is entered, which
 * keeps a trimmer out (record.h).
 * Design: chapter 6.
 * Source: Bonwick & Adams 2001, section 3 (two magazines, exchanged whole).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "magazine.h"
#include "adapt.h"
#include "quarantine.h"
#include "magazine/record/record.h"
#include "relief.h"
#include "slab/slab.h"
#include "base/align.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/option.h"
#include "port/compiler.h"
#include "port/os/os.h"
#include "port/probe.h"

#include <string.h>

enum
{
  /* A tick is part of a working set (adapt.h), but at least this long. */
  TICK_MSEC_MIN = 250,
  /* At least each eighth trip reads the clock and trims old magazines. */
  TRIPS_PER_CHECK = 8
};

/* Constant after sli_magazine_init(). */
static struct
{
  uint64_t tick_msec;
  bool is_counting;
  bool picks_randomly;
  bool is_simple; /* neither of the two */
} magazine_options;

COMMON_TEXT void
sli_magazine_begin (void)
{
  sli_depot_init ();
}

COMMON_TEXT void
sli_magazine_init (const MagazineOptions *options)
{
  magazine_options.is_counting = options->counts_hits;
  magazine_options.picks_randomly = options->picks_randomly;
  magazine_options.is_simple
      = !options->counts_hits && !options->picks_randomly;
  magazine_options.tick_msec
      = max_size (TICK_MSEC_MIN,
                  (size_t) sli_option_working_set_msec ()
                      / TICKS_PER_WORKING_SET);
  sli_quarantine_init (options->n_quarantine);
  sli_record_init (options->is_inline, options->checks_reentry);
}

/* --- as time passes ------------------------------------------------------ */

/* After some trips: does the work of a tick that has passed, or what is left
 * of it, and lets the layers below trim what is due.  The record has been
 * left, since this may give memory back. */
COMMON_TEXT static void
review_classes (ThreadRecord *record)
{
  uint64_t now_msec = sli_os_clock_msec ();
  bool is_tick = now_msec - record->tick_msec >= magazine_options.tick_msec;

  if ((is_tick || record->n_consolidate > 0)
      && (record = sli_record_enter ()) != NULL)
    {
      if (is_tick)
        {
          record->tick_msec = now_msec;
          sli_adapt_tick (record);
        }
      sli_adapt_consolidate (record);
      sli_record_leave (record);
    }
  sli_record_review_parked (now_msec);
  sli_depot_upkeep ();
}

/* Ends a slow call, and reviews the classes if its trips make that due. */
static inline void
record_end_call (ThreadRecord *record, unsigned n_trips_before)
{
  bool is_due = record->n_trips != n_trips_before
                && (record->n_trips % TRIPS_PER_CHECK == 0
                    || record->n_consolidate > 0 || sli_depot_is_more_due ());

  sli_record_leave (record);
  if (UNLIKELY (is_due))
    review_classes (record);
}

/* --- allocating ---------------------------------------------------------- */

/* Pops the top round.  Drops holes, which frees of NULL have left. */
COMMON_TEXT static void *
class_pop (ThreadRecord *record, unsigned class_index)
{
  SliceEntryV1 *entry = &record->fast.entries[class_index];
  Magazine *magazine = record->caches[class_index].loaded;
  void **top = LOAD (&entry->top);

  if (magazine == NULL)
    return NULL;
  assert_here (magazine->slots[0] == NULL); /* M1 */
  assert_here (top >= magazine->slots && top <= LOAD (&entry->end)); /* M1 */
  while (top != magazine->slots && *top == NULL)
    top--;
  if (top == magazine->slots)
    {
      STORE (&entry->top, top);
      return NULL;
    }
  STORE (&entry->top, top);
  if (magazine_options.picks_randomly)
    sli_record_shuffle_top (record, class_index);
  return sli_record_pop (record, class_index);
}

/* Exchanges loaded and previous. */
COMMON_TEXT static void
class_swap (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  Magazine *loaded = cache->loaded;

  assert_here (cache->previous != NULL);
  sli_record_hide (record, class_index);
  cache->loaded = cache->previous;
  cache->previous = loaded;
  sli_record_show (record, class_index);
}

/* For assertions: returns true if the loaded magazine is empty, or there is
 * none. */
UNUSED static inline bool
class_is_empty (const ThreadRecord *record, unsigned class_index)
{
  const Magazine *loaded = record->caches[class_index].loaded;

  return loaded == NULL
         || LOAD (&record->fast.entries[class_index].top) == loaded->slots;
}

/* For assertions: returns true if a full magazine may enter a record (D1). */
UNUSED static inline bool
magazine_is_of (const Magazine *magazine, unsigned class_index)
{
  return magazine->class_index == class_index && magazine->n_rounds > 0
         && magazine->n_rounds <= magazine->n_rounds_max;
}

/* Replaces the loaded magazine, which is empty, if it is smaller than is
 * wanted now.  Returns the loaded one; NULL: no memory. */
COMMON_TEXT static Magazine *
class_empty_magazine (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  Magazine *magazine, *old = cache->loaded;

  assert_here (class_is_empty (record, class_index));
  if (old != NULL
      && old->n_rounds_max >= sli_depot_rounds (class_index, cache->size))
    return old;
  magazine = sli_depot_new_magazine (class_index, cache->size);
  if (magazine == NULL)
    return old;
  /* The old one leaves the record before it is freed: see record-stats.c. */
  SCHEDULE_POINT ("magazine replaced");
  STORE (&cache->loaded, magazine);
  sli_record_show (record, class_index);
  if (old != NULL)
    sli_depot_end_magazine (old);
  return magazine;
}

/* Makes both magazines as large as is wanted now, if there is memory.  The
 * loaded one is empty, the previous is not. */
COMMON_TEXT static void
class_enlarge (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  Magazine *small = cache->previous, *large;

  assert_here (small != NULL && small->n_rounds > 0);
  (void) class_empty_magazine (record, class_index);
  if (small->n_rounds_max >= sli_depot_rounds (class_index, cache->size))
    return;
  large = sli_depot_new_magazine (class_index, cache->size);
  if (large == NULL)
    return;
  assert_here (small->n_rounds <= large->n_rounds_max);
  memcpy (&large->slots[1], &small->slots[1],
          small->n_rounds * sizeof small->slots[0]);
  large->n_rounds = small->n_rounds;
  STORE (&cache->previous, large);
  sli_depot_end_magazine (small);
}

/* Fills the (empty) loaded magazine from the slabs. */
static bool
class_refill_slabs (ThreadRecord *record, unsigned class_index)
{
  Magazine *magazine = class_empty_magazine (record, class_index);
  unsigned n_rounds_max, n;

  if (magazine == NULL)
    return false;
  n_rounds_max = magazine->n_rounds_max;
  n = sli_slab_alloc (class_index, n_rounds_max,
                      &magazine->slots[n_rounds_max + 1]);
  assert_here (n <= n_rounds_max);
  if (n > 0 && n < n_rounds_max)
    memmove (&magazine->slots[1], &magazine->slots[n_rounds_max + 1 - n],
             n * sizeof magazine->slots[0]);
  magazine->n_rounds = n;
  sli_record_show (record, class_index);
  relief_after_refill (record, class_index);
  return n > 0;
}

/* Both magazines are empty: exchanges the smaller one for a full one of the
 * depot; NULL: the depot has none. */
static Magazine *
class_exchange_empty (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  Magazine *magazine, *empty;
  bool contended;

  if (cache->previous != NULL
      && cache->previous->n_rounds_max > cache->loaded->n_rounds_max)
    class_swap (record, class_index);
  empty = cache->previous;
  STORE (&cache->previous, NULL); /* it may be freed */
  assert_here (empty == NULL || empty->n_rounds == 0);
  magazine = sli_depot_pop (class_index, empty, &contended);
  if (magazine == NULL)
    STORE (&cache->previous, empty);
  sli_adapt_count_trip (record, class_index,
                        (Trip){ .contended = contended });
  return magazine;
}

/* Moves the rounds of a magazine into the loaded one, which is empty and
 * larger. */
static void
cache_move_rounds (ClassCache *cache, Magazine *magazine)
{
  assert_here (cache->loaded->n_rounds == 0);
  memcpy (&cache->loaded->slots[1], &magazine->slots[1],
          magazine->n_rounds * sizeof magazine->slots[0]);
  cache->loaded->n_rounds = magazine->n_rounds;
  cache->previous = NULL;
  sli_depot_end_magazine (magazine);
}

/* Loads a full magazine from the depot, in place of an empty one. */
static void
class_load_full (ThreadRecord *record, unsigned class_index,
                 Magazine *magazine)
{
  ClassCache *cache = &record->caches[class_index];

  assert_here (magazine_is_of (magazine, class_index)); /* D1 */
  sli_adapt_fit (record, class_index, magazine);
  sli_record_hide (record, class_index);
  if (cache->loaded != NULL
      && cache->loaded->n_rounds_max > magazine->n_rounds_max)
    /* It is from before the magazines grew.  If its rounds stayed in it, small
     * magazines would circulate without end. */
    cache_move_rounds (cache, magazine);
  else
    {
      cache->previous = cache->loaded;
      cache->loaded = magazine;
    }
  sli_record_show (record, class_index);
  assert_slow (sli_record_is_right (record, class_index));
}

/* Replaces the loaded magazine, which is empty, by the previous one, else by
 * one from the depot, else fills it from the slabs. */
static bool
class_refill (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  Magazine *magazine;

  assert_here (class_is_empty (record, class_index));
  if (cache->previous != NULL && cache->previous->n_rounds > 0)
    {
      if (++cache->n_swaps >= SWAPS_PER_CHECK)
        {
          sli_adapt_count_swaps (record, class_index);
          class_enlarge (record, class_index);
        }
      class_swap (record, class_index);
      return true;
    }
  magazine = class_exchange_empty (record, class_index);
  if (magazine == NULL)
    return class_refill_slabs (record, class_index);
  class_load_full (record, class_index, magazine);
  return true;
}

void *
sli_magazine_alloc_slab (unsigned class_index)
{
  void *chunk;

  return sli_slab_alloc (class_index, 1, &chunk + 1) == 1 ? chunk : NULL;
}

/* The most frequent slow call, inline: the loaded magazine is empty and the
 * previous is not.  NULL: it is another case. */
static inline void *
class_swap_and_pop (ThreadRecord *record, unsigned class_index)
{
  SliceEntryV1 *entry = &record->fast.entries[class_index];
  ClassCache *cache = &record->caches[class_index];
  Magazine *empty = cache->loaded, *full = cache->previous;
  void *chunk;

  if (full == NULL || full->n_rounds == 0 || empty == NULL
      || LOAD (&entry->top) != empty->slots || !magazine_options.is_simple
      || ++cache->n_swaps >= SWAPS_PER_CHECK
      || (chunk = full->slots[full->n_rounds]) == NULL)
    return NULL;
  assert_here (magazine_is_of (full, class_index)); /* M2 */
  empty->n_rounds = 0;
  cache->loaded = full;
  cache->previous = empty;
  STORE (&entry->end, &full->slots[full->n_rounds_max]);
  STORE (&entry->top, &full->slots[full->n_rounds - 1]);
  return chunk;
}

COMMON_TEXT void *
sli_magazine_alloc (unsigned class_index)
{
  ThreadRecord *record = sli_record_enter ();
  unsigned n_trips_before;
  bool slabs_failed;
  void *chunk;

  assert_here (class_index > 0 && class_index < N_CLASSES);
  if (UNLIKELY (record == NULL))
    return sli_magazine_alloc_slab (class_index);
  chunk = class_swap_and_pop (record, class_index);
  if (LIKELY (chunk != NULL))
    {
      sli_record_leave (record);
      return chunk;
    }
  n_trips_before = record->n_trips;
  chunk = class_pop (record, class_index);
  if (chunk != NULL)
    COUNT_UP (&record->caches[class_index].n_hits,
              magazine_options.is_counting);
  /* A full magazine from another thread may hold only holes. */
  while (chunk == NULL && class_refill (record, class_index))
    chunk = class_pop (record, class_index);
  /* Without memory for a magazine there may be some for a chunk. */
  slabs_failed = chunk == NULL && record->caches[class_index].loaded != NULL;
  record_end_call (record, n_trips_before);
  return chunk != NULL || slabs_failed ? chunk
                                       : sli_magazine_alloc_slab (class_index);
}

/* --- freeing ------------------------------------------------------------- */

/* Pushes the previous magazine, which is full, to the depot, if there is one.
 * *exchange: what comes back. */
static void
class_push_previous (ThreadRecord *record, unsigned class_index,
                     DepotExchange *exchange)
{
  ClassCache *cache = &record->caches[class_index];
  unsigned n_wanted = sli_depot_rounds (class_index, cache->size);
  Magazine *full = cache->previous;

  *exchange = (DepotExchange){ 0 };
  if (full == NULL)
    return;
  assert_here (magazine_is_of (full, class_index)
               && full->n_rounds == full->n_rounds_max);
  STORE (&cache->previous, NULL); /* others may free it from now on */
  sli_depot_push (full, n_wanted, exchange);
  sli_adapt_count_trip (record, class_index,
                        (Trip){ .is_push = true,
                                .contended = exchange->contended,
                                .is_remote = exchange->is_remote });
  if (exchange->spare != NULL && exchange->empty == NULL
      && exchange->spare->n_rounds_max >= n_wanted)
    {
      /* It serves again, which saves two trips to the metadata. */
      exchange->empty = exchange->spare;
      exchange->spare = NULL;
      sli_depot_empty (exchange->empty);
    }
}

/* The loaded magazine is full, and so is the previous one, if there is one:
 * pushes the latter to the depot and loads an empty one.  False: no memory. */
static bool
class_exchange_full (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  DepotExchange exchange;

  assert_here (LOAD (&record->fast.entries[class_index].top)
               == LOAD (&record->fast.entries[class_index].end));
  sli_record_hide (record, class_index);
  class_push_previous (record, class_index, &exchange);
  cache->previous = cache->loaded;
  cache->loaded = exchange.empty != NULL
                      ? exchange.empty
                      : sli_depot_new_magazine (class_index, cache->size);
  if (cache->loaded != NULL)
    sli_adapt_fit (record, class_index, cache->loaded);
  sli_record_show (record, class_index);
  assert_slow (sli_record_is_right (record, class_index));
  if (exchange.spare != NULL)
    sli_depot_flush (exchange.spare);
  return cache->loaded != NULL;
}

/* Replaces the loaded magazine, which is full, by the previous one; if that is
 * full, too, by an empty one.  False: no memory. */
static bool
class_unload (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];

  if (cache->loaded == NULL)
    {
      /* Without memory for a third one, the previous is full. */
      assert_here (cache->previous == NULL || cache->previous->n_rounds > 0);
      if (!cache->is_accounted)
        sli_adapt_account (record, class_index);
      return class_empty_magazine (record, class_index) != NULL;
    }
  if (cache->previous != NULL
      && cache->previous->n_rounds < cache->previous->n_rounds_max)
    {
      class_swap (record, class_index);
      return true;
    }
  return class_exchange_full (record, class_index);
}

/* Returns true if this chunk was the last one freed here: it is freed
 * twice. */
static bool
class_is_last_freed (const ThreadRecord *record, unsigned class_index,
                     const void *chunk)
{
  const ClassCache *cache = &record->caches[class_index];
  void **top = LOAD (&record->fast.entries[class_index].top);

  if (cache->loaded != NULL && top != cache->loaded->slots)
    return *top == chunk;
  return cache->loaded != NULL && cache->previous != NULL
         && cache->previous->n_rounds == cache->previous->n_rounds_max
         && cache->previous->slots[cache->previous->n_rounds] == chunk;
}

static bool
class_push (ThreadRecord *record, unsigned class_index, void *chunk,
            bool *is_hit)
{
  SliceEntryV1 *entry = &record->fast.entries[class_index];
  void **top = LOAD (&entry->top);

  *is_hit = top != entry->end;
  if (!*is_hit)
    {
      if (!class_unload (record, class_index))
        return false;
      top = LOAD (&entry->top);
    }
  assert_here (top < LOAD (&entry->end)); /* M1 */
  STORE (top + 1, chunk);
  STORE (&entry->top, top + 1);
  return true;
}

/* The same, inline, for a loaded magazine that is full and a previous one that
 * is not; false: it is another case. */
static inline bool
class_swap_and_push (ThreadRecord *record, unsigned class_index, void *chunk)
{
  SliceEntryV1 *entry = &record->fast.entries[class_index];
  ClassCache *cache = &record->caches[class_index];
  Magazine *full = cache->loaded, *other = cache->previous;
  void **top = LOAD (&entry->top);

  if (other == NULL || other->n_rounds == other->n_rounds_max || full == NULL
      || top != LOAD (&entry->end) || !magazine_options.is_simple
      || *top == chunk)
    return false;
  full->n_rounds = (uint32_t) (top - full->slots);
  assert_here (magazine_is_of (full, class_index)); /* M2 */
  cache->loaded = other;
  cache->previous = full;
  top = &other->slots[other->n_rounds + 1];
  STORE (top, chunk);
  STORE (&entry->end, &other->slots[other->n_rounds_max]);
  STORE (&entry->top, top);
  return true;
}

_Noreturn COLD static void
report_freed_twice (unsigned class_index, const void *chunk,
                    const char *operation)
{
  size_t bytes = sli_sizeclasses[class_index].block_bytes;

  sli_diag_misuse (
      ERROR_FREED_TWICE, operation != NULL ? operation : "slice_free1",
      &(BlockFacts){ .address = chunk,
                     .given_bytes
                     = operation != NULL ? DIAG_SIZE_UNKNOWN : bytes,
                     .real_bytes = operation != NULL ? bytes : 0 });
}

/* Frees a chunk to its slab, past the magazines. */
static void
free_to_slab (unsigned class_index, void *chunk, const char *operation)
{
  if (operation != NULL)
    sli_slab_free (0, 1, &chunk, operation);
  else
    sli_slab_free (class_index, 1, &chunk, "slice_free1");
}

COMMON_TEXT void
sli_magazine_free_as (unsigned class_index, void *chunk, const char *operation)
{
  ThreadRecord *record;
  bool is_hit, is_in;
  unsigned n_trips_before;

  assert_here (class_index > 0 && class_index < N_CLASSES);
  if (chunk == NULL)
    return;
  record = sli_record_enter ();
  if (record == NULL)
    {
      free_to_slab (class_index, chunk, operation);
      return;
    }
  if (LIKELY (class_swap_and_push (record, class_index, chunk)))
    {
      sli_record_leave (record);
      return;
    }
  n_trips_before = record->n_trips;
  if (UNLIKELY (class_is_last_freed (record, class_index, chunk)))
    {
      sli_record_leave (record);
      report_freed_twice (class_index, chunk, operation);
    }
  is_in = class_push (record, class_index, chunk, &is_hit);
  COUNT_UP (&record->caches[class_index].n_hits,
            magazine_options.is_counting && is_hit);
  record_end_call (record, n_trips_before);
  if (!is_in)
    free_to_slab (class_index, chunk, operation);
}

size_t
sli_magazine_trim (uint64_t max_age_msec)
{
  size_t before = sli_slab_returned_bytes ();

  sli_magazine_flush (true);
  sli_magazine_detach_others ();
  sli_record_end_parked (max_age_msec);
  sli_depot_trim (max_age_msec);
  /* What the flushes freed may have been returned before the last step. */
  return sli_slab_returned_bytes () - before;
}
