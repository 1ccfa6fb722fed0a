/* adapt.c - magazines grow and shrink with their use
 *
 * Layer: magazine.  Below: depot.  No locks: the record has been entered.
 * Two limits lie elsewhere: the rounds of each size, and the largest size of a
 * class, in depot-magazine.c; the bytes of all magazines of a thread in
 * sli_record_bytes_max() (record.c).
 * Design: chapter 6.
 * Sources: Bonwick & Adams 2001, section 3.4 (growth by contention); growth by
 * misses, by measurement: on few cores threads rarely wait for locks (design
 * chapter 6).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "adapt.h"
#include "slab/slab.h"
#include "base/align.h"
#include "base/check.h"
#include "port/compiler.h"
#include "port/os/os.h"
#include "port/probe.h"

enum
{
  /* Magazines grow after this many trips to the depot within a tick.  A trip
   * that waited for another thread counts as four, so that contention makes
   * them grow first. */
  TRIPS_TO_GROW = 3,
  TRIPS_CONTENDED = 4,
  TRIPS_MAX = 200,
  /* SWAPS_PER_CHECK exchanges within this time count as a trip: the program
   * crosses the border between its two magazines over and over, and does so
   * less often with larger ones.  This is 8,000 exchanges a second.  At 20 ns
   * each, 50 classes take a hundredth of the time. */
  SWAPS_MSEC = 128,
  /* Trips with remote chunks make magazines grow to this size at most: the
   * chunks go to the slabs, and those that stay share lines. */
  SIZE_REMOTE_MAX = 1,
  /* After so many trips in one direction, further ones make a magazine grow
   * until it holds this much.  Beyond that they make it grow only after so many
   * within a tick, which take about a thousandth of the time. */
  ONE_WAY_ROW = 2,
  ONE_WAY_BYTES = 16 * 1024,
  ONE_WAY_TRIPS_TO_GROW = 32 * 1024,
  /* The most magazines that are consolidated between two ticks, and in one
   * call. */
  CONSOLIDATED_MAX = 4096,
  CONSOLIDATED_AT_ONCE = 64
};

/* --- larger and smaller -------------------------------------------------- */

/* The bytes that both magazines of a class may hold. */
static size_t
class_bytes (unsigned class_index, unsigned size)
{
  return (size_t) 2 * sli_sizeclasses[class_index].chunk_bytes
         * sli_depot_rounds (class_index, size);
}

COMMON_TEXT static void
class_resize (ThreadRecord *record, unsigned class_index, unsigned size)
{
  ClassCache *cache = &record->caches[class_index];

  assert_here (cache->is_accounted
               && size <= sli_depot_size_max (class_index));
  record->accounted_bytes -= class_bytes (class_index, cache->size);
  record->accounted_bytes += class_bytes (class_index, size);
  cache->size = (uint8_t) size;
  cache->size_peak = (uint8_t) max_size (cache->size_peak, size);
  assert_slow (sli_adapt_is_right (record));
  PROBE3 (magazine_resize, class_index, size, record->accounted_bytes);
}

static void
class_shrink (ThreadRecord *record, unsigned class_index, unsigned size)
{
  assert_here (size < record->caches[class_index].size);
  class_resize (record, class_index, size);
  COUNT_UP (&record->caches[class_index].n_shrunk, 1u);
}

/* Returns true if the thread's share allows a class magazines of that size.
 * The class is accounted. */
COMMON_TEXT static bool
class_may_be (const ThreadRecord *record, unsigned class_index, unsigned size)
{
  assert_here (record->caches[class_index].is_accounted);
  return record->accounted_bytes
             - class_bytes (class_index, record->caches[class_index].size)
             + class_bytes (class_index, size)
         <= sli_record_bytes_max ();
}

/* If the thread's share is used up, all its classes start again with the
 * smallest size: these fit together. */
COMMON_TEXT void
sli_adapt_account (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];

  assert_here (!cache->is_accounted);
  cache->size = 0;
  if (record->accounted_bytes + class_bytes (class_index, 0)
      > sli_record_bytes_max ())
    {
      for (unsigned i = 1; i < N_CLASSES; i++)
        if (record->caches[i].is_accounted && record->caches[i].size > 0)
          {
            sli_record_flush_class (record, i, FLUSH_TO_DEPOT);
            class_shrink (record, i, 0);
          }
      assert_here (record->accounted_bytes + class_bytes (class_index, 0)
                   <= sli_record_bytes_max ());
    }
  record->accounted_bytes += class_bytes (class_index, 0);
  cache->is_accounted = true;
  assert_slow (sli_adapt_is_right (record));
}

bool
sli_adapt_is_right (const ThreadRecord *record)
{
  size_t bytes = 0;

  for (unsigned i = 1; i < N_CLASSES; i++)
    if (record->caches[i].is_accounted)
      bytes += class_bytes (i, record->caches[i].size);
  return bytes == record->accounted_bytes;
}

static void
class_unaccount (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];

  assert_here (cache->is_accounted && cache->size == 0);
  record->accounted_bytes -= class_bytes (class_index, cache->size);
  cache->is_accounted = false;
  assert_slow (sli_adapt_is_right (record));
}

/* Grows the magazines of a class that makes too many trips, within the
 * limits. */
COMMON_TEXT static void
class_grow_rounds (ThreadRecord *record, unsigned class_index,
                   unsigned n_trips, unsigned size_max)
{
  ClassCache *cache = &record->caches[class_index];
  unsigned larger = cache->size + 1u;

  if (!cache->is_accounted)
    sli_adapt_account (record, class_index);
  if (cache->n_trips < TRIPS_MAX)
    cache->n_trips += n_trips;
  if (cache->n_trips < TRIPS_TO_GROW || larger > size_max
      || !class_may_be (record, class_index, larger))
    return;
  class_resize (record, class_index, larger);
  cache->n_trips = 0;
  cache->n_one_way = 0;
  COUNT_UP (&cache->n_grown, 1u);
}

/* Counts trips in one direction.  Returns true if a trip goes the way of some
 * before it, and few did so lately.  No chunk comes back that a larger magazine
 * could keep: twice as large ones would only halve the trips, and hold twice as
 * much. */
static bool
trip_is_one_way (ClassCache *cache, Trip trip)
{
  if (trip.is_push != cache->was_push)
    cache->n_in_row = 0;
  cache->was_push = trip.is_push;
  if (cache->n_in_row < ONE_WAY_ROW)
    {
      cache->n_in_row++;
      return false;
    }
  cache->n_one_way++;
  return !trip.contended && cache->n_one_way < ONE_WAY_TRIPS_TO_GROW;
}

/* The largest size that a class may have after a trip. */
COMMON_TEXT static unsigned
trip_size_max (ClassCache *cache, unsigned class_index, Trip trip)
{
  unsigned size_max = sli_depot_size_max (class_index);
  bool is_one_way = trip_is_one_way (cache, trip);

  if (trip.is_remote)
    return (unsigned) min_size (size_max, SIZE_REMOTE_MAX);
  if (cache->size < size_max && is_one_way
      && class_bytes (class_index, cache->size + 1u) > 2 * ONE_WAY_BYTES)
    return cache->size;
  return size_max;
}

COMMON_TEXT void
sli_adapt_count_trip (ThreadRecord *record, unsigned class_index, Trip trip)
{
  ClassCache *cache = &record->caches[class_index];

  record->n_trips++;
  class_grow_rounds (record, class_index,
                     trip.contended ? TRIPS_CONTENDED : 1,
                     trip_size_max (cache, class_index, trip));
}

COMMON_TEXT void
sli_adapt_count_swaps (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  uint32_t now_msec = (uint32_t) sli_os_clock_msec ();

  if (now_msec - cache->swaps_msec < SWAPS_MSEC)
    class_grow_rounds (record, class_index, 1,
                       sli_depot_size_max (class_index));
  cache->swaps_msec = now_msec;
  cache->n_swaps = 0;
}

COMMON_TEXT void
sli_adapt_fit (ThreadRecord *record, unsigned class_index, Magazine *magazine)
{
  ClassCache *cache = &record->caches[class_index];
  unsigned n_max = sli_depot_rounds (class_index, cache->size);
  unsigned size_before = cache->size;

  assert_here (magazine->class_index == class_index
               && link_is_alone (&magazine->link)); /* D1 */
  if (LIKELY (magazine->n_rounds_max == n_max))
    return;
  while (sli_depot_rounds (class_index, cache->size) < magazine->n_rounds
         && cache->size < sli_depot_size_max (class_index)
         && class_may_be (record, class_index, cache->size + 1u))
    {
      class_resize (record, class_index, cache->size + 1u);
      COUNT_UP (&cache->n_grown, 1u);
    }
  n_max = sli_depot_rounds (class_index, cache->size);
  if (magazine->n_rounds > n_max)
    {
      sli_slab_free (class_index, magazine->n_rounds - n_max,
                     &magazine->slots[n_max + 1], "flush of a magazine");
      magazine->n_rounds = n_max;
    }
  if (magazine->n_rounds_max > n_max)
    magazine->n_rounds_max = n_max;
  assert_here (magazine->n_rounds <= magazine->n_rounds_max);
  /* The size has grown no more than these rounds need. */
  assert_here (cache->size == size_before
               || sli_depot_rounds (class_index, cache->size - 1u)
                      < magazine->n_rounds);
}

/* --- ticks --------------------------------------------------------------- */

/* Counts the ticks for which a class has made no trip, and those for which its
 * magazine was not used either. */
static void
class_review (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  void **top = LOAD (&record->fast.entries[class_index].top);

  cache->n_quiet = cache->n_trips == 0 ? cache->n_quiet + 1 : 0;
  cache->n_idle = cache->n_quiet > 0 && top == cache->top_seen
                      ? cache->n_idle + 1
                      : 0;
  cache->top_seen = top;
  cache->n_trips = 0;
  cache->n_one_way = 0;
}

/* One class's part of sli_adapt_tick(). */
static void
class_tick (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];

  assert_here (cache->is_accounted);
  class_review (record, class_index);
  if (cache->n_quiet < TICKS_PER_WORKING_SET)
    return;
  sli_record_flush_class (record, class_index,
                          cache->n_idle >= TICKS_PER_WORKING_SET
                              ? FLUSH_OLD_TO_SLABS
                              : FLUSH_TO_DEPOT);
  if (cache->size > 0)
    class_shrink (record, class_index, cache->size - 1u);
  else
    class_unaccount (record, class_index);
  cache->n_quiet = cache->n_idle = 0;
}

COMMON_TEXT void
sli_adapt_tick (ThreadRecord *record)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    if (record->caches[i].is_accounted)
      class_tick (record, i);
  record->n_consolidate = CONSOLIDATED_MAX;
  assert_slow (sli_adapt_is_right (record));
}

/* Flushes at most n_max fragmented magazines of a class to the slabs: the
 * thread's previous one and the depot's oldest.  Returns how many. */
static unsigned
class_consolidate (ThreadRecord *record, unsigned class_index, unsigned n_max)
{
  ClassCache *cache = &record->caches[class_index];
  Magazine *magazine = cache->previous;
  unsigned n = 0;

  if (magazine != NULL && sli_depot_is_fragmented (magazine))
    {
      STORE (&cache->previous, NULL);
      sli_depot_flush_fragmented (magazine);
      n++;
    }
  while (n < n_max
         && (magazine = sli_depot_pop_fragmented (class_index)) != NULL)
    {
      sli_depot_flush_fragmented (magazine);
      n++;
    }
  return n;
}

COMMON_TEXT void
sli_adapt_consolidate (ThreadRecord *record)
{
  unsigned first = record->consolidate_next, n = 0;

  for (unsigned turn = 1; turn < N_CLASSES && n < CONSOLIDATED_AT_ONCE; turn++)
    {
      unsigned i = 1 + (first + turn) % (N_CLASSES - 1);

      if (!record->caches[i].is_accounted || record->caches[i].n_quiet != 0)
        continue;
      n += class_consolidate (record, i, CONSOLIDATED_AT_ONCE - n);
      record->consolidate_next = (uint8_t) (i - 1);
    }
  assert_here (record->consolidate_next < N_CLASSES - 1);
  if (n < CONSOLIDATED_AT_ONCE || record->n_consolidate < CONSOLIDATED_AT_ONCE)
    record->n_consolidate = 0;
  else
    record->n_consolidate -= CONSOLIDATED_AT_ONCE;
}
