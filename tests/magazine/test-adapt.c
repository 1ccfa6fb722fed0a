/* test-adapt.c - slice/magazine/adapt.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testmagazine.h"
#include "magazine/adapt.h"
#include "page/meta.h"
#include "page/page.h"

#include <pthread.h>

/* --- larger and smaller --- */

static void
test_grows_by_misses (void)
{
  uint32_t before;

  begin ();
  wave (CLASS, 1);
  before = counts_of (CLASS).rounds_now;
  g_assert_cmpuint (before, ==, sli_depot_rounds (CLASS, 0));
  wave (CLASS, 10000);
  g_assert_cmpuint (counts_of (CLASS).rounds_now, ==,
                    sli_depot_rounds (CLASS, MAGAZINE_SIZES - 1));
  g_assert_cmpuint (counts_of (CLASS).n_grown, ==, MAGAZINE_SIZES - 1);
  g_assert_cmpuint (counts_of (CLASS).n_shrunk, ==, 0);
  /* Only this class. */
  g_assert_cmpuint (counts_of (CLASS + 1).n_grown, ==, 0);
}

/* Alternation of alloc and free makes no trips and grows nothing. */
static void
test_does_not_grow_without_need (void)
{
  begin ();
  for (int i = 0; i < 10000; i++)
    wave (CLASS, 5);
  g_assert_cmpuint (counts_of (CLASS).n_grown, ==, 0);
}

/* One and a half of the smallest magazines: 15 blocks with 64 bits. */
static unsigned
swing (void)
{
  return sli_depot_rounds (CLASS, 0) * 3 / 2;
}

/* So do swings across the border between the two, if there are many in little
 * time: in larger magazines the same swing meets none. */
static void
test_grows_by_swaps (void)
{
  begin ();
  sli_os_pretend_clock_msec (1000000);
  for (int i = 0; i < 1000; i++)
    wave (CLASS, swing ());
  g_assert_cmpuint (counts_of (CLASS).n_grown, ==, 0);
  for (int i = 0; i < 10000; i++)
    wave (CLASS, swing ());
  g_assert_cmpuint (counts_of (CLASS).n_grown, ==, 1);
  g_assert_cmpuint (counts_of (CLASS).rounds_now, ==,
                    sli_depot_rounds (CLASS, 1));
}

static void
test_does_not_grow_by_slow_swaps (void)
{
  begin ();
  for (unsigned i = 0; i < 20000; i++)
    {
      sli_os_pretend_clock_msec (1000000 + i);
      wave (CLASS, swing ());
    }
  g_assert_cmpuint (counts_of (CLASS).n_grown, ==, 0);
}

static void
test_shrinks (void)
{
  uint32_t before;

  begin ();
  wave (CLASS, 10000);
  before = counts_of (CLASS).rounds_now;
  g_assert_cmpuint (before, >, sli_depot_rounds (CLASS, 0));
  /* Other classes' traffic carries the clock; this one rests. */
  for (int tick = 1; tick < 100; tick++)
    {
      sli_os_pretend_clock_msec (1000000 + (uint64_t) tick * 4000);
      wave (CLASS + 1, 1000);
    }
  g_assert_cmpuint (counts_of (CLASS).n_cached, ==, 0);
  g_assert_cmpuint (counts_of (CLASS).n_shrunk, >=, MAGAZINE_SIZES - 1);
  g_assert_cmpuint (counts_of (CLASS).rounds_peak, ==, before);
  wave (CLASS, 1);
  g_assert_cmpuint (counts_of (CLASS).rounds_now, ==,
                    sli_depot_rounds (CLASS, 0));
}

static uint64_t
n_slabs_of (unsigned class_index)
{
  static SlabCounts slabs[N_CLASSES];

  sli_slab_count_all (slabs);
  return slabs[class_index].n_slabs;
}

static void
shuffle (TestRandom *random, void **blocks, unsigned n)
{
  for (unsigned i = n; i > 1; i--)
    {
      unsigned j = test_random_below (random, i);
      void *block = blocks[j];

      blocks[j] = blocks[i - 1];
      blocks[i - 1] = block;
    }
}

/* A heap has gone, and what its traffic turns over lies all over it: with some
 * ticks it comes together, and the other slabs go. */
static void
test_gathers (void)
{
  enum { N_MOST = 80000, TRAFFIC = 1000 };
  static void *blocks[N_MOST];
  TestRandom random;
  int n;

  begin ();
  /* As many slabs where pages, and so slabs, are larger. */
  n = (int) MIN (20000 * (sli_page_granule_bytes () / 16384), N_MOST);
  test_random_init (&random, 0);
  for (int i = 0; i < n; i++)
    blocks[i] = fast_alloc (CLASS);
  shuffle (&random, blocks, (unsigned) n);
  for (int i = 0; i < n; i++)
    fast_free (CLASS, blocks[i]);
  g_assert_cmpuint (n_slabs_of (CLASS), >, 70);
  for (unsigned tick = 1; tick <= 6; tick++)
    {
      sli_os_pretend_clock_msec (1000000 + tick * 2000);
      for (int turn = 0; turn < 50; turn++)
        {
          for (int i = 0; i < TRAFFIC; i++)
            blocks[i] = fast_alloc (CLASS);
          shuffle (&random, blocks, TRAFFIC);
          for (int i = 0; i < TRAFFIC; i++)
            fast_free (CLASS, blocks[i]);
        }
    }
  g_assert_cmpuint (n_slabs_of (CLASS), <, 30);
}

/* Contention on purpose: a thread that waits for the depot at each trip. */
typedef struct
{
  pthread_t thread;
  unsigned thread_id;
  bool go;
} Contended;

static void *
contended_run (void *data)
{
  Contended *contended = data;
  const unsigned n = sli_depot_rounds (CLASS, 0);
  void **blocks = g_new (void *, n + 1);

  /* Both magazines empty: the next allocation makes a trip. */
  for (unsigned i = 0; i < n; i++)
    blocks[i] = fast_alloc (CLASS);
  __atomic_store_n (&contended->thread_id, test_thread_id (),
                    __ATOMIC_RELEASE);
  while (!__atomic_load_n (&contended->go, __ATOMIC_ACQUIRE))
    g_thread_yield ();
  blocks[n] = fast_alloc (CLASS);
  g_assert_cmpuint (counts_of (CLASS).n_grown, ==, 1);
  for (unsigned i = 0; i <= n; i++)
    fast_free (CLASS, blocks[i]);
  g_free (blocks);
  return NULL;
}

/* A magazine of one round, for the next trip to pop. */
static void
leave_magazine (unsigned class_index)
{
  Magazine *magazine = sli_depot_new_magazine (class_index, 0);
  DepotExchange exchange;

  g_assert_nonnull (magazine);
  magazine->n_rounds = sli_slab_alloc (class_index, 1, &magazine->slots[2]);
  sli_depot_push (magazine, UINT_MAX, &exchange);
  g_assert_null (exchange.spare);
}

static void
test_grows_by_contention (void)
{
  Contended contended = { 0, 0, false };

  begin ();
  if (test_is_slow ())
    return; /* under valgrind all threads sleep all the time */
  pthread_create (&contended.thread, NULL, contended_run, &contended);
  while (__atomic_load_n (&contended.thread_id, __ATOMIC_ACQUIRE) == 0)
    g_thread_yield ();
  g_assert_cmpuint (counts_of (CLASS).n_grown, ==, 0);
  leave_magazine (CLASS);
  sli_lock (sli_depot_lock (CLASS, 0));
  __atomic_store_n (&contended.go, true, __ATOMIC_RELEASE);
  test_wait_asleep (contended.thread_id);
  sli_unlock (sli_depot_lock (CLASS, 0));
  pthread_join (contended.thread, NULL);
  g_assert_cmpuint (counts_of (CLASS).n_grown, ==, 1);
}

/* What a depot holds of some classes: chunks of a heap in no order at all.  All
 * are allocated first, since a heap that grows flushes unused magazines. */
static void
leave_fragmented (unsigned first_class, unsigned n_classes)
{
  enum { N = 40000 };
  void **blocks = g_new (void *, n_classes * N);
  TestRandom random;

  test_random_init (&random, 0);
  for (unsigned i = 0; i < n_classes * N; i++)
    blocks[i] = fast_alloc (first_class + i / N);
  for (unsigned i = 0; i < n_classes; i++)
    {
      shuffle (&random, blocks + i * N, N);
      for (unsigned k = 0; k < N; k++)
        fast_free (first_class + i, blocks[i * N + k]);
    }
  g_free (blocks);
}

static uint64_t
n_magazines_of (unsigned class_index)
{
  DepotCounts counts;

  sli_depot_count (class_index, &counts);
  return counts.n_magazines;
}

static void
tick (void)
{
  ThreadRecord *record = sli_record_enter ();

  g_assert_nonnull (record);
  sli_adapt_tick (record);
  sli_record_leave (record);
}

static void
consolidate (void)
{
  ThreadRecord *record = sli_record_enter ();

  g_assert_nonnull (record);
  sli_adapt_consolidate (record);
  sli_record_leave (record);
}

/* A call gathers 64 magazines at the most, and the next one begins with the
 * class that follows, so that none waits for ever. */
static void
test_gathers_in_turn (void)
{
  enum { OTHER = CLASS + 1, N_AT_ONCE = 64 };
  uint64_t n_magazines, n_others;

  sli_depot_limits.bytes = SIZE_MAX;
  begin ();
  leave_fragmented (CLASS, 2);
  n_magazines = n_magazines_of (CLASS);
  n_others = n_magazines_of (OTHER);
  g_assert_cmpuint (n_magazines, >, 2 * N_AT_ONCE);
  g_assert_cmpuint (n_others, >, 2 * N_AT_ONCE);
  tick ();
  consolidate ();
  /* The thread's previous one was fragmented, too. */
  g_assert_cmpuint (n_magazines_of (CLASS), ==, n_magazines - N_AT_ONCE + 1);
  g_assert_cmpuint (n_magazines_of (OTHER), ==, n_others);
  sli_record_peek ()->n_consolidate = 0; /* the waves consolidate nothing */
  wave (CLASS, 2000); /* both still at work */
  wave (OTHER, 2000);
  n_magazines = n_magazines_of (CLASS);
  n_others = n_magazines_of (OTHER);
  tick ();
  consolidate ();
  g_assert_cmpuint (n_magazines_of (CLASS), ==, n_magazines);
  g_assert_cmpuint (n_magazines_of (OTHER), <, n_others);
}

/* What a tick allows is consolidated until the next one, and no more. */
static void
test_consolidates_until_tick (void)
{
  enum { N_A_TICK = 256 };
  uint64_t n_magazines, n_calls = 0;

  sli_depot_limits.bytes = SIZE_MAX;
  begin ();
  leave_fragmented (CLASS, 4);
  tick ();
  /* A heap of 400 MB has a thousand: all in one tick, or their slabs stay. */
  g_assert_cmpuint (sli_record_peek ()->n_consolidate, >=, 16 * N_A_TICK);
  sli_record_peek ()->n_consolidate = N_A_TICK;
  for (unsigned i = n_magazines = 0; i < 4; i++)
    n_magazines += n_magazines_of (CLASS + i);
  for (; sli_record_peek ()->n_consolidate > 0; n_calls++)
    consolidate ();
  g_assert_cmpuint (n_calls, ==, 4);
  for (unsigned i = 0; i < 4; i++)
    n_magazines -= n_magazines_of (CLASS + i);
  /* The thread's previous ones were fragmented, too. */
  g_assert_cmpuint (n_magazines, >=, N_A_TICK - 4);
  g_assert_cmpuint (n_magazines, <=, N_A_TICK);
}

/* --- what adds up --- */

/* The class is at rest: it has no magazine, and begins anew. */
static void
let_rest (void)
{
  for (int i = 0; i < (MAGAZINE_SIZES + 1) * TICKS_PER_WORKING_SET; i++)
    tick ();
  sli_depot_trim (0);
}

static void
check_records (void)
{
  const void *where;

  g_assert_cmpstr (sli_magazine_check (&where), ==, NULL);
}

/* A thread has counted as many trips as its class's stacks have seen: each is
 * a pop, a miss or a push. */
static void
test_counts_each_trip (void)
{
  DepotCounts counts;

  begin ();
  for (unsigned n = 1; n < 20000; n = n * 2 + 1)
    wave (CLASS, n);
  sli_depot_count (CLASS, &counts);
  g_assert_cmpuint (counts.n_pushes, >, 10);
  g_assert_cmpuint (sli_record_peek ()->n_trips, ==,
                    counts.n_pops + counts.n_misses + counts.n_pushes);
  check_records ();
}

static void
leave_rounds (unsigned class_index, unsigned size, unsigned n_rounds)
{
  Magazine *magazine = sli_depot_new_magazine (class_index, size);
  DepotExchange exchange;

  g_assert_nonnull (magazine);
  for (unsigned i = 0; i < n_rounds; i++)
    g_assert_cmpuint (
        sli_slab_alloc (class_index, 1, &magazine->slots[i + 2]), ==, 1);
  magazine->n_rounds = n_rounds;
  sli_depot_push (magazine, UINT_MAX, &exchange);
  g_assert_null (exchange.spare);
}

static unsigned
least_size (unsigned class_index, unsigned n_rounds)
{
  unsigned size = 0;

  while (sli_depot_rounds (class_index, size) < n_rounds)
    size++;
  return size;
}

/* Whatever magazine a thread pops: its own become as large as those rounds
 * need, no larger, and what is loaded may hold no more than is accounted. */
static void
test_fits_what_it_pops (void)
{
  begin ();
  for (unsigned size = 0; size < MAGAZINE_SIZES; size++)
    for (unsigned n = 1; n <= sli_depot_rounds (CLASS, size);
         n += test_is_slow () ? 7 : 1)
      {
        const ClassCache *cache;
        void *block;

        leave_rounds (CLASS, size, n);
        block = fast_alloc (CLASS);
        cache = &sli_record_peek ()->caches[CLASS];
        g_assert_cmpuint (cache->size, ==, least_size (CLASS, n));
        g_assert_cmpuint (cache->loaded->n_rounds_max, <=,
                          sli_depot_rounds (CLASS, cache->size));
        check_records ();
        fast_free (CLASS, block);
        let_rest ();
        g_assert_cmpuint (live_chunks (), ==, 0);
      }
}

/* Traffic that repeats, with growth and rest, needs no more metadata than it
 * did at first: no magazine is lost. */
static void
test_loses_no_magazine (void)
{
  size_t held_bytes = 0;

  begin ();
  for (int turn = 0; turn < 40; turn++)
    {
      wave (CLASS, 10000);
      sli_os_pretend_clock_msec (1000000);
      for (int i = 0; i < 3000; i++)
        wave (CLASS + 1, sli_depot_rounds (CLASS + 1, 0) * 3 / 2);
      check_records ();
      let_rest ();
      if (turn == 0)
        held_bytes = sli_meta_held_bytes ();
      g_assert_cmpuint (sli_meta_held_bytes (), <=, held_bytes);
    }
}

/* --- rest --- */

/* For a working set a class that makes no trip keeps what it has. */
static void
test_keeps_for_a_working_set (void)
{
  uint64_t n_cached;

  begin ();
  wave (CLASS, 10000);
  tick (); /* the trips of the wave */
  n_cached = counts_of (CLASS).n_cached;
  g_assert_cmpuint (n_cached, >, 0);
  for (int i = 1; i < TICKS_PER_WORKING_SET; i++)
    tick ();
  g_assert_cmpuint (counts_of (CLASS).n_cached, ==, n_cached);
  g_assert_cmpuint (counts_of (CLASS).n_shrunk, ==, 0);
  tick ();
  g_assert_cmpuint (counts_of (CLASS).n_cached, ==, 0);
  g_assert_cmpuint (counts_of (CLASS).n_shrunk, ==, 1);
}

/* One whose blocks still come and go leaves its magazines where the next trip
 * finds them; one that stood still gives them to the slabs. */
static void
test_quiet_is_not_idle (void)
{
  uint64_t n_before;

  sli_depot_limits.bytes = SIZE_MAX;
  begin ();
  /* At last the heap does not grow, so both keep their magazines. */
  for (int i = 0; i < 10; i++)
    {
      wave (CLASS, 10000);
      wave (CLASS + 1, 10000);
    }
  g_assert_cmpuint (counts_of (CLASS).n_cached, >, 0);
  g_assert_cmpuint (counts_of (CLASS + 1).n_cached, >, 0);
  tick ();
  n_before = n_magazines_of (CLASS);
  for (int i = 0; i < TICKS_PER_WORKING_SET; i++)
    {
      void *block = fast_alloc (CLASS);

      if (i % 2 == 0)
        fast_free (CLASS, block);
      tick ();
    }
  g_assert_cmpuint (n_magazines_of (CLASS), >, n_before);
  g_assert_cmpuint (counts_of (CLASS).n_cached, ==, 0);
  g_assert_cmpuint (counts_of (CLASS + 1).n_cached, ==, 0);
}

/* A class at rest shrinks to nothing, and counts for nothing. */
static void
test_is_charged_while_used (void)
{
  begin ();
  wave (CLASS, 10000);
  g_assert_cmpuint (sli_record_peek ()->accounted_bytes, >, 0);
  for (int i = 0; i < (MAGAZINE_SIZES + 1) * TICKS_PER_WORKING_SET; i++)
    tick ();
  g_assert_cmpuint (sli_record_peek ()->accounted_bytes, ==, 0);
  sli_depot_trim (0); /* or it would fit itself to the magazines there */
  wave (CLASS, 1);
  g_assert_cmpuint (sli_record_peek ()->accounted_bytes, ==,
                    2 * BYTES * sli_depot_rounds (CLASS, 0));
}

/* --- blocks of others --- */

enum { SMALL_CLASS = 2, N_DEALT = 40000, N_HANDS = 4 };

/* Every fourth block that another thread took. */
static void
free_dealt (unsigned index, void *data)
{
  void **blocks = data;

  for (unsigned i = index; i < N_DEALT; i += N_HANDS)
    fast_free (SMALL_CLASS, blocks[i]);
  /* It grew, but no further than that. */
  g_assert_cmpuint (sli_record_peek ()->caches[SMALL_CLASS].size_peak, ==, 1);
}

/* Blocks so small that they share lines: magazines through which blocks only
 * pass, on their way home, stay small. */
static void
test_mixed_stays_small (void)
{
  static void *blocks[N_DEALT];

  begin ();
  for (int i = 0; i < N_DEALT; i++)
    blocks[i] = fast_alloc (SMALL_CLASS);
  g_assert_cmpuint (counts_of (SMALL_CLASS).rounds_now, ==,
                    sli_depot_rounds (SMALL_CLASS, MAGAZINE_SIZES - 1));
  test_gang (N_HANDS, free_dealt, blocks);
  g_assert_cmpuint (live_chunks (), ==, 0);
}

/* --- one way --- */

enum { ONE_WAY_CLASS = N_CLASSES - 1, ONE_WAY_BYTES = 16 * 1024 };

/* Takes blocks until the class has made so many trips to the depot, and frees
 * them past the magazines, as if other threads did. */
static void
take_for_trips (unsigned n_trips)
{
  const ThreadRecord *record = sli_record_peek ();
  uint32_t end = record->n_trips + n_trips;

  while (record->n_trips != end)
    {
      void *block = fast_alloc (ONE_WAY_CLASS);

      g_assert_nonnull (block);
      sli_slab_free (ONE_WAY_CLASS, 1, &block, "test");
    }
}

static size_t
magazine_bytes (void)
{
  return (size_t) counts_of (ONE_WAY_CLASS).rounds_now
         * sli_sizeclasses[ONE_WAY_CLASS].chunk_bytes;
}

/* Magazines through which chunks only pass hold little, unless there are very
 * many trips. */
static void
test_one_way_stays_small (void)
{
  size_t few;

  begin ();
  wave (ONE_WAY_CLASS, 1);
  take_for_trips (30000);
  few = magazine_bytes ();
  g_assert_cmpuint (few, <=, ONE_WAY_BYTES);
  g_assert_cmpuint (few, >, ONE_WAY_BYTES / 4);
  take_for_trips (10000);
  g_assert_cmpuint (magazine_bytes (), >, few);
}

/* Where chunks come back, larger magazines keep them. */
static void
test_both_ways_grow (void)
{
  begin ();
  wave (ONE_WAY_CLASS, 1);
  take_for_trips (1000);
  g_assert_cmpuint (magazine_bytes (), <=, ONE_WAY_BYTES);
  for (int i = 0; i < 20; i++)
    wave (ONE_WAY_CLASS, 1000);
  g_assert_cmpuint (counts_of (ONE_WAY_CLASS).rounds_now, ==,
                    sli_depot_rounds (ONE_WAY_CLASS,
                                      sli_depot_size_max (ONE_WAY_CLASS)));
}

/* --- bounds --- */

/* However a thread works, its magazines hold no more than its share. */
static void
test_thread_bound (void)
{
  TestRandom random;

  begin ();
  test_random_init (&random, 0);
  for (int tick = 0; tick < 30; tick++)
    {
      sli_os_pretend_clock_msec (1000000 + (uint64_t) tick * 5000);
      for (int i = 0; i < 40; i++)
        {
          wave (1 + test_random_below (&random, N_CLASSES - 1),
                1 + test_random_below (&random, 2000));
          g_assert_cmpuint (cached_bytes (), <=, sli_record_bytes_max ());
        }
    }
  g_assert_cmpuint (live_chunks (), ==, 0);
}

static void
leave_much (unsigned index, void *data G_GNUC_UNUSED)
{
  for (unsigned i = 1 + index * 3; i < N_CLASSES && i < 4 + index * 3; i++)
    {
      wave (i, 2000);
      wave (i, 2000);
    }
}

/* Nor when it meets magazines that others have grown. */
static void
test_thread_bound_of_others_magazines (void)
{
  begin ();
  test_gang (25, leave_much, NULL);
  sli_record_end_parked (0);
  g_assert_cmpuint (cached_bytes (), ==, 0);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      void *a = fast_alloc (i);

      fast_free (i, a);
      g_assert_cmpuint (cached_bytes (), <=, sli_record_bytes_max ());
    }
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      wave (i, 600);
      g_assert_cmpuint (cached_bytes (), <=, sli_record_bytes_max ());
    }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/adapt/counts-each-trip", test_counts_each_trip);
  test_add_fresh ("/slice/adapt/fits-what-it-pops", test_fits_what_it_pops);
  test_add_fresh ("/slice/adapt/loses-no-magazine", test_loses_no_magazine);
  test_add_fresh ("/slice/adapt/grows-by-misses", test_grows_by_misses);
  test_add_fresh ("/slice/adapt/does-not-grow-without-need",
                  test_does_not_grow_without_need);
  test_add_fresh ("/slice/adapt/gathers", test_gathers);
  test_add_fresh ("/slice/adapt/grows-by-swaps", test_grows_by_swaps);
  test_add_fresh ("/slice/adapt/does-not-grow-by-slow-swaps",
                  test_does_not_grow_by_slow_swaps);
  test_add_fresh ("/slice/adapt/shrinks", test_shrinks);
  test_add_fresh ("/slice/adapt/grows-by-contention",
                  test_grows_by_contention);
  test_add_fresh ("/slice/adapt/thread-bound", test_thread_bound);
  test_add_fresh ("/slice/adapt/thread-bound-of-others-magazines",
                  test_thread_bound_of_others_magazines);
  test_add_fresh ("/slice/adapt/gathers-in-turn", test_gathers_in_turn);
  test_add_fresh ("/slice/adapt/gathers-until-tick",
                  test_consolidates_until_tick);
  test_add_fresh ("/slice/adapt/keeps-for-a-working-set",
                  test_keeps_for_a_working_set);
  test_add_fresh ("/slice/adapt/quiet-is-not-idle", test_quiet_is_not_idle);
  test_add_fresh ("/slice/adapt/is-charged-while-used",
                  test_is_charged_while_used);
  test_add_fresh ("/slice/adapt/mixed-stays-small", test_mixed_stays_small);
  test_add_fresh ("/slice/adapt/one-way-stays-small",
                  test_one_way_stays_small);
  test_add_fresh ("/slice/adapt/both-ways-grow", test_both_ways_grow);
  return g_test_run ();
}
