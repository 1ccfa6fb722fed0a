/* test-parked.c - slice/magazine/record/parked.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testmagazine.h"
#include "port/thread/asleep.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 100, SECOND = 1000 };

/* --- what threads do --- */

static void *last_freed, *first_got;

static void *
use_and_end (void *data G_GNUC_UNUSED)
{
  void *blocks[N];

  for (int i = 0; i < N; i++)
    blocks[i] = fast_alloc (CLASS);
  STORE (&first_got, blocks[0]);
  for (int i = 0; i < N; i++)
    fast_free (CLASS, blocks[i]);
  STORE (&last_freed, blocks[N - 1]);
  return NULL;
}

static void
run_thread_at (int where, void *(*function) (void *))
{
  pthread_t thread;

  __atomic_store_n (&processor, where, __ATOMIC_RELAXED);
  pthread_create (&thread, NULL, function, NULL);
  pthread_join (thread, NULL);
}

/* The locks that the class has cost so far. */
static uint64_t
count_trips (void)
{
  DepotCounts depot;
  SlabCounts slabs[N_CLASSES];

  sli_depot_count (CLASS, &depot);
  sli_slab_count_all (slabs);
  return depot.n_pops + depot.n_misses + depot.n_pushes + slabs[CLASS].n_locks;
}

static void
check_records (void)
{
  const void *where;

  g_assert_null (sli_magazine_check (&where));
  check_valid ();
}

/* --- the tests --- */

/* The next thread finds what the last one had, without a trip. */
static void
test_next_thread (void)
{
  uint64_t n_trips = 0;

  begin ();
  for (int i = 0; i < 50; i++)
    {
      if (i == 10)
        n_trips = count_trips ();
      run_thread_at (0, use_and_end);
      g_assert_cmpuint (counts_of (CLASS).n_cached, >=, N / 2);
      check_records ();
    }
  g_assert_cmpuint (count_trips (), ==, n_trips);
  run_thread_at (0, use_and_end);
  g_assert_true (first_got != NULL);
  g_assert_cmpuint (live_chunks (), ==, 0);
}

static void *
note_first (void *data G_GNUC_UNUSED)
{
  first_got = fast_alloc (CLASS);
  fast_free (CLASS, first_got);
  return NULL;
}

/* But not on another processor, whose blocks they are not. */
static void
test_other_processor (void)
{
  begin ();
  run_thread_at (0, use_and_end);
  run_thread_at (1, note_first);
  g_assert_true (first_got != last_freed);
  run_thread_at (0, note_first);
  g_assert_true (first_got == last_freed);
  /* A multiple of the number of shards is the same shard. */
  run_thread_at (SHARDS, note_first);
  g_assert_true (first_got == last_freed);
}

static pthread_barrier_t all_have_some;

static void *
use_together (void *data G_GNUC_UNUSED)
{
  void *blocks[N];

  for (int i = 0; i < N; i++)
    blocks[i] = fast_alloc (CLASS);
  pthread_barrier_wait (&all_have_some);
  for (int i = 0; i < N; i++)
    fast_free (CLASS, blocks[i]);
  pthread_barrier_wait (&all_have_some);
  return NULL;
}

/* However many end at once, two wait. */
static void
test_two_wait (void)
{
  enum { THREADS = 20 };
  pthread_t threads[THREADS];

  begin ();
  pthread_barrier_init (&all_have_some, NULL, THREADS);
  for (int i = 0; i < THREADS; i++)
    pthread_create (&threads[i], NULL, use_together, NULL);
  for (int i = 0; i < THREADS; i++)
    pthread_join (threads[i], NULL);
  g_assert_cmpuint (counts_of (CLASS).n_cached, >=, N);
  g_assert_cmpuint (counts_of (CLASS).n_cached, <, 5 * N);
  g_assert_cmpuint (live_chunks (), ==, 0);
  check_records ();
}

static void *
use_much (void *data G_GNUC_UNUSED)
{
  for (unsigned i = N_CLASSES - 20; i < N_CLASSES; i++)
    for (int turn = 0; turn < 10; turn++)
      wave (i, 1000);
  return NULL;
}

/* A thread with many blocks leaves none behind. */
static void
test_not_too_many (void)
{
  begin ();
  run_thread_at (0, use_much);
  g_assert_cmpuint (cached_bytes (), <=, 2 * 1024 * 1024);
  g_assert_cmpuint (live_chunks (), ==, 0);
}

static void *
make_slow_calls (void *data G_GNUC_UNUSED)
{
  for (int i = 0; i < 100; i++)
    wave (CLASS + 1, 3000);
  return NULL;
}

/* What no thread takes for a working set goes home: when another makes slow
 * calls, or by a trim of that age. */
static void
test_grows_old (void)
{
  begin ();
  run_thread_at (0, use_and_end);
  sli_os_pretend_clock_msec (1000000 + 14 * SECOND);
  run_thread_at (1, make_slow_calls);
  sli_magazine_trim (15 * SECOND);
  g_assert_cmpuint (counts_of (CLASS).n_cached, >=, N / 2);
  sli_os_pretend_clock_msec (1000000 + 16 * SECOND);
  run_thread_at (2, make_slow_calls);
  g_assert_cmpuint (counts_of (CLASS).n_cached, ==, 0);

  run_thread_at (0, use_and_end);
  g_assert_cmpuint (counts_of (CLASS).n_cached, >=, N / 2);
  sli_os_pretend_clock_msec (1000000 + 40 * SECOND);
  sli_magazine_trim (15 * SECOND);
  g_assert_cmpuint (counts_of (CLASS).n_cached, ==, 0);
  run_thread_at (0, use_and_end);
  sli_magazine_trim (0);
  g_assert_cmpuint (cached_bytes (), ==, 0);
  g_assert_cmpuint (live_chunks (), ==, 0);
  check_records ();
}

static void
check_counts (const MagazineCounts *expected)
{
  MagazineCounts found = counts_of (CLASS + 1);

  g_assert_cmpuint (found.n_grown, ==, expected->n_grown);
  g_assert_cmpuint (found.n_shrunk, ==, expected->n_shrunk);
  g_assert_cmpuint (found.rounds_peak, ==, expected->rounds_peak);
}

/* The same, and one magazine has become smaller. */
static void *
make_slow_calls_and_shrink (void *data)
{
  make_slow_calls (data);
  COUNT_UP (&sli_record_self->caches[CLASS + 1].n_shrunk, 1u);
  return NULL;
}

/* What a record has counted is counted once, while it is parked, by the next
 * thread, and when it has ended. */
static void
test_counts (void)
{
  MagazineCounts counts;

  begin ();
  run_thread_at (0, make_slow_calls_and_shrink);
  counts = counts_of (CLASS + 1);
  g_assert_cmpuint (counts.n_grown, >, 0);
  g_assert_cmpuint (counts.n_shrunk, >, 0);
  run_thread_at (0, note_first);
  check_counts (&counts);
  sli_magazine_trim (0);
  check_counts (&counts);
  g_assert_cmpuint (cached_bytes (), ==, 0);
}

static void
test_working_set_of_nothing (void)
{
  test_options ("working-set-msec=0");
  begin ();
  run_thread_at (0, use_and_end);
  g_assert_cmpuint (cached_bytes (), ==, 0);
}

/* Only a mode with inline code parks records. */
static void
test_other_modes (void)
{
  MagazineOptions options = { .counts_hits = true };

  begin_with (&options);
  run_thread_at (0, use_and_end);
  g_assert_cmpuint (cached_bytes (), ==, 0);
}

static pthread_barrier_t detached;

static void *
end_detached (void *data G_GNUC_UNUSED)
{
  use_and_end (NULL);
  pthread_barrier_wait (&detached);
  pthread_barrier_wait (&detached);
  return NULL;
}

/* The blocks of the parked record, and many from the slabs: each is another
 * one. */
static void *
fill_apart (void *data G_GNUC_UNUSED)
{
  void *blocks[10 * N];
  size_t bytes = sli_sizeclasses[CLASS].chunk_bytes;

  for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i++)
    {
      blocks[i] = fast_alloc (CLASS);
      test_fill (blocks[i], bytes, i);
    }
  for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i++)
    g_assert_true (test_is_filled (blocks[i], bytes, i));
  for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i++)
    fast_free (CLASS, blocks[i]);
  return NULL;
}

/* A trimmer has taken rounds from a thread that ends without a further call:
 * the gap is closed, and no block comes twice. */
static void
test_with_gaps (void)
{
  pthread_t thread;

  begin ();
  pthread_barrier_init (&detached, NULL, 2);
  pthread_create (&thread, NULL, end_detached, NULL);
  pthread_barrier_wait (&detached);
  /* From a thread that is awake the trimmer takes all rounds but the top. */
  sli_asleep_pretend (0);
  sli_magazine_trim (0);
  sli_asleep_pretend (-1);
  pthread_barrier_wait (&detached);
  pthread_join (thread, NULL);
  check_records ();
  g_assert_cmpuint (live_chunks (), ==, 0);
  run_thread_at (0, fill_apart);
  check_records ();
  g_assert_cmpuint (live_chunks (), ==, 0);
}

/* A forked child has the parked records, and loses none of their chunks. */
static void
test_fork (void)
{
  pid_t child;
  int status;

  begin ();
  run_thread_at (0, use_and_end);
  sli_magazine_fork_prepare ();
  child = fork ();
  if (child == 0)
    {
      sli_magazine_fork_child ();
      g_assert_cmpuint (counts_of (CLASS).n_cached, >=, N / 2);
      g_assert_cmpuint (sli_magazine_fork_lost (), ==, 0);
      run_thread_at (0, note_first);
      g_assert_true (first_got == last_freed);
      sli_magazine_trim (0);
      g_assert_cmpuint (cached_bytes (), ==, 0);
      _exit (0);
    }
  sli_magazine_fork_parent ();
  /* The parent may fork again. */
  sli_magazine_fork_prepare ();
  sli_magazine_fork_parent ();
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (status, ==, 0);
}

static void
come_and_go (unsigned index G_GNUC_UNUSED, void *data)
{
  for (int i = 0; i < (int) test_times (300, 30); i++)
    {
      pthread_t thread;

      __atomic_store_n (&processor, i % 3, __ATOMIC_RELAXED);
      pthread_create (&thread, NULL, use_and_end, data);
      if (i % 16 == 0)
        sli_magazine_trim (0);
      pthread_join (thread, NULL);
    }
}

/* Threads that come and go at the same time, and trims. */
static void
test_at_once (void)
{
  begin ();
  test_gang (4, come_and_go, NULL);
  check_records ();
  g_assert_cmpuint (live_chunks (), ==, 0);
  sli_magazine_trim (0);
  g_assert_cmpuint (cached_bytes (), ==, 0);
}

/* Each end of a last thread is counted once somebody waits for one, so that the
 * thread that trims sees it at once. */
static void
test_last_end (void)
{
  uint32_t n;

  begin ();
  n = sli_magazine_await_end (0, 1);
  g_assert_cmpuint (n, ==, 0);
  for (int i = 0; i < 3; i++)
    {
      run_thread_at (0, use_and_end);
      g_assert_cmpuint (sli_magazine_await_end (n, 1), ==, n + 1);
      n++;
    }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/parked/next-thread", test_next_thread);
  test_add_fresh ("/slice/parked/other-processor", test_other_processor);
  test_add_fresh ("/slice/parked/two-wait", test_two_wait);
  test_add_fresh ("/slice/parked/not-too-many", test_not_too_many);
  test_add_fresh ("/slice/parked/grows-old", test_grows_old);
  test_add_fresh ("/slice/parked/counts", test_counts);
  test_add_fresh ("/slice/parked/working-set-of-nothing",
                  test_working_set_of_nothing);
  test_add_fresh ("/slice/parked/other-modes", test_other_modes);
  test_add_fresh ("/slice/parked/with-gaps", test_with_gaps);
  test_add_fresh ("/slice/parked/fork", test_fork);
  test_add_fresh ("/slice/parked/at-once", test_at_once);
  test_add_fresh ("/slice/parked/last-end", test_last_end);
  return g_test_run ();
}
