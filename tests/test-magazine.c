/* test-magazine.c - slice/core/magazine.c and record.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "testlib.h"
#include "base/option.h"
#include "core/depot.h"
#include "core/magazine.h"
#include "core/record.h"
#include "core/slab.h"
#include "port/os.h"

#include <pthread.h>
#include <string.h>

enum { CLASS = 8, BYTES = 64 };

static void
begin (void)
{
  MagazineOptions options = { .is_inline = true, .counts_hits = true };

  sli_option_freeze ();
  sli_magazine_load ();
  sli_magazine_begin ();
  sli_magazine_init (&options);
  sli_os_pretend_clock_msec (1000000);
}

static MagazineCounts
counts_of (unsigned class_index)
{
  static MagazineCounts counts[N_CLASSES];

  sli_magazine_count_all (counts);
  return counts[class_index];
}

static size_t
cached_bytes (void)
{
  static MagazineCounts counts[N_CLASSES];
  size_t bytes = 0;

  sli_magazine_count_all (counts);
  for (unsigned i = 1; i < N_CLASSES; i++)
    bytes += counts[i].n_cached * sli_sizeclasses[i].chunk_bytes;
  return bytes;
}

/* Chunks that are out of the slabs and rest nowhere. */
static uint64_t
live_chunks (void)
{
  static MagazineCounts magazines[N_CLASSES];
  static SlabCounts slabs[N_CLASSES];
  uint64_t live = 0;

  sli_magazine_count_all (magazines);
  sli_slab_count_all (slabs);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      DepotCounts depot;

      sli_depot_count (i, &depot);
      live += slabs[i].n_out - magazines[i].n_cached - depot.n_chunks;
    }
  return live;
}

static void
check_valid (void)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      g_assert_true (sli_depot_is_valid (i));
      g_assert_true (sli_slab_is_valid (i));
    }
}

/* What the inline code of slice.h does. */
static void *
fast_alloc (unsigned class_index)
{
  SliceEntryV1 *entry = &SLICE_LOAD (&slice_tls_v1)->entries[class_index];
  void **top = SLICE_LOAD (&entry->top);
  void *block = *top;

  if (block == NULL)
    return sli_magazine_alloc (class_index);
  SLICE_STORE (&entry->top, top - 1);
  return block;
}

static void
fast_free (unsigned class_index, void *block)
{
  SliceEntryV1 *entry = &SLICE_LOAD (&slice_tls_v1)->entries[class_index];
  void **top = SLICE_LOAD (&entry->top);

  if (top == entry->end || *top == block)
    sli_magazine_free (class_index, block);
  else
    {
      SLICE_STORE (top + 1, block);
      SLICE_STORE (&entry->top, top + 1);
    }
}

/* Takes n blocks and gives them back, the magazines going all the way. */
static void
wave (unsigned class_index, unsigned n)
{
  void **blocks = g_new (void *, n);

  for (unsigned i = 0; i < n; i++)
    {
      blocks[i] = fast_alloc (class_index);
      g_assert_nonnull (blocks[i]);
      memset (blocks[i], 1, sizeof (void *));
    }
  for (unsigned i = 0; i < n; i++)
    fast_free (class_index, blocks[i]);
  g_free (blocks);
}

/* --- one thread --- */

static void
test_last_in_first_out (void)
{
  void *a, *b, *c;

  begin ();
  a = fast_alloc (CLASS);
  b = fast_alloc (CLASS);
  c = fast_alloc (CLASS);
  g_assert_true (a != b && b != c && a != c);
  fast_free (CLASS, a);
  fast_free (CLASS, b);
  g_assert_true (fast_alloc (CLASS) == b);
  g_assert_true (fast_alloc (CLASS) == a);
  g_assert_cmpuint (live_chunks (), ==, 3);
  fast_free (CLASS, a);
  fast_free (CLASS, b);
  fast_free (CLASS, c);
  g_assert_cmpuint (live_chunks (), ==, 0);
}

static void
test_waves (void)
{
  begin ();
  for (unsigned i = 1; i < N_CLASSES; i++)
    for (unsigned n = 1; n < 3000; n = n * 3 + 1)
      wave (i, n);
  g_assert_cmpuint (live_chunks (), ==, 0);
  check_valid ();
  sli_magazine_flush (true);
  g_assert_cmpuint (cached_bytes (), ==, 0);
  sli_magazine_trim (0);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      SlabCounts slabs[N_CLASSES];

      sli_slab_count_all (slabs);
      g_assert_cmpuint (slabs[i].n_slabs, ==, 0);
    }
}

static void
death_freed_twice (void)
{
  void *block;

  begin ();
  block = fast_alloc (CLASS);
  fast_free (CLASS, block);
  test_will_die ("slice: error 101: slice_free1: block freed twice in a row: "
                 "block %p, given size 64 [class 64, thread %u]",
                 block, test_thread_id ());
  fast_free (CLASS, block);
}

/* The same where the first free filled the magazine. */
static void
death_freed_twice_at_the_border (void)
{
  void *blocks[10];

  begin ();
  for (int i = 0; i < 10; i++)
    blocks[i] = fast_alloc (CLASS);
  for (int i = 0; i < 10; i++)
    fast_free (CLASS, blocks[i]);
  test_will_die ("slice: error 101: slice_free1: block freed twice in a row: "
                 "block %p, given size 64 [class 64, thread %u]",
                 blocks[9], test_thread_id ());
  fast_free (CLASS, blocks[9]);
}

/* --- sizes that adapt --- */

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

/* So do swings across the border between the two, if there are many in little
 * time: in larger magazines the same swing meets none. */
static void
test_grows_by_swaps (void)
{
  begin ();
  sli_os_pretend_clock_msec (1000000);
  for (int i = 0; i < 1000; i++)
    wave (CLASS, 15);
  g_assert_cmpuint (counts_of (CLASS).n_grown, ==, 0);
  for (int i = 0; i < 10000; i++)
    wave (CLASS, 15);
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
      wave (CLASS, 15);
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
  enum { N = 20000, TRAFFIC = 1000 };
  static void *blocks[N];
  TestRandom random;

  begin ();
  test_random_init (&random, 0);
  for (int i = 0; i < N; i++)
    blocks[i] = fast_alloc (CLASS);
  shuffle (&random, blocks, N);
  for (int i = 0; i < N; i++)
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
  g_assert_cmpuint (n_slabs_of (CLASS), <, 20);
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
  void *blocks[11];

  /* Both magazines empty: the next allocation makes a trip. */
  for (int i = 0; i < 10; i++)
    blocks[i] = fast_alloc (CLASS);
  __atomic_store_n (&contended->thread_id, test_thread_id (),
                    __ATOMIC_RELEASE);
  while (!__atomic_load_n (&contended->go, __ATOMIC_ACQUIRE))
    g_thread_yield ();
  blocks[10] = fast_alloc (CLASS);
  g_assert_cmpuint (counts_of (CLASS).n_grown, ==, 1);
  for (int i = 0; i < 11; i++)
    fast_free (CLASS, blocks[i]);
  return NULL;
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
  sli_lock (sli_depot_lock (CLASS));
  __atomic_store_n (&contended.go, true, __ATOMIC_RELEASE);
  test_wait_asleep (contended.thread_id);
  sli_unlock (sli_depot_lock (CLASS));
  pthread_join (contended.thread, NULL);
  g_assert_cmpuint (counts_of (CLASS).n_grown, ==, 1);
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

/* --- known zeroes --- */

static void
test_known_zero (void)
{
  void *blocks[500];
  unsigned n_known = 0;

  begin ();
  for (int turn = 0; turn < 20; turn++)
    {
      for (int i = 0; i < 500; i++)
        {
          bool known;

          blocks[i] = sli_magazine_alloc_known (CLASS, &known);
          n_known += known;
          if (known)
            g_assert_true (test_is_zero (blocks[i], BYTES));
          memset (blocks[i], 0xff, BYTES);
        }
      if (turn == 0)
        g_assert_cmpuint (n_known, ==, 500);
      for (int i = 0; i < 500; i++)
        fast_free (CLASS, blocks[i]);
    }
  g_assert_cmpuint (live_chunks (), ==, 0);
  sli_magazine_flush (true);
  g_assert_cmpuint (cached_bytes (), ==, 0);
}

/* --- threads --- */

static void
leave_everything (unsigned index G_GNUC_UNUSED, void *data G_GNUC_UNUSED)
{
  bool known;

  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      wave (i, 50);
      fast_free (i, sli_magazine_alloc_known (i, &known));
    }
}

static void
test_thread_end_flushes (void)
{
  MagazineCounts counts[N_CLASSES];

  begin ();
  test_gang (3, leave_everything, NULL);
  g_assert_cmpuint (sli_magazine_count_all (counts), ==, 0);
  g_assert_cmpuint (cached_bytes (), ==, 0);
  g_assert_cmpuint (live_chunks (), ==, 0);
  g_assert_cmpuint (counts_of (CLASS).n_hits, >, 0);
  g_assert_cmpuint (counts_of (CLASS).rounds_now, ==, 0);
  g_assert_cmpuint (counts_of (CLASS).rounds_peak, >, 0);
  check_valid ();
}

static pthread_barrier_t barrier;

static void
use_and_sleep (unsigned index, void *data G_GNUC_UNUSED)
{
  void *kept[N_CLASSES];

  if (index == 0)
    {
      pthread_barrier_wait (&barrier);
      sli_magazine_detach_others ();
      sli_magazine_detach_others ();
      /* Of each class and thread one round is left at most. */
      if (sli_os_barrier_all_threads ())
        for (unsigned i = 1; i < N_CLASSES; i++)
          g_assert_cmpuint (counts_of (i).n_cached, <=, 4);
      pthread_barrier_wait (&barrier);
      return;
    }
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      wave (i, 40);
      kept[i] = fast_alloc (i);
      test_fill (kept[i], sli_sizeclasses[i].chunk_bytes, index);
    }
  pthread_barrier_wait (&barrier);
  /* ... the trimmer is at work ... */
  pthread_barrier_wait (&barrier);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      g_assert_true (
          test_is_filled (kept[i], sli_sizeclasses[i].chunk_bytes, index));
      fast_free (i, kept[i]);
      wave (i, 40);
    }
}

static void
test_detach_sleepers (void)
{
  begin ();
  pthread_barrier_init (&barrier, NULL, 5);
  test_gang (5, use_and_sleep, NULL);
  g_assert_cmpuint (live_chunks (), ==, 0);
  check_valid ();
}

/* Threads at work while others trim without pause: no block is ever handed
 * out twice, none is lost. */
static int n_working;

static void
work_or_trim (unsigned index, void *data G_GNUC_UNUSED)
{
  enum { N = 64 };
  void *blocks[N] = { NULL };
  TestRandom random;

  if (index == 0)
    {
      while (g_atomic_int_get (&n_working) > 0)
        {
          sli_magazine_detach_others ();
          g_thread_yield ();
        }
      return;
    }
  test_random_init (&random, index);
  for (unsigned turn = 0; turn < test_times (1500000, 50000); turn++)
    {
      unsigned at = test_random_below (&random, N);

      if (blocks[at] == NULL)
        {
          blocks[at] = fast_alloc (1 + at % 4);
          *(uintptr_t *) blocks[at] = index * 1000 + at;
        }
      else
        {
          g_assert_cmpuint (*(uintptr_t *) blocks[at], ==, index * 1000 + at);
          *(uintptr_t *) blocks[at] = 0;
          fast_free (1 + at % 4, blocks[at]);
          blocks[at] = NULL;
        }
    }
  for (unsigned at = 0; at < N; at++)
    if (blocks[at] != NULL)
      fast_free (1 + at % 4, blocks[at]);
  g_atomic_int_add (&n_working, -1);
}

static void
test_detach_workers (void)
{
  begin ();
  n_working = 5;
  test_gang (6, work_or_trim, NULL);
  g_assert_cmpuint (live_chunks (), ==, 0);
  check_valid ();
}

/* Without a key threads do without magazines. */
static void
alloc_keyless (unsigned index G_GNUC_UNUSED, void *data G_GNUC_UNUSED)
{
  wave (CLASS, 100);
  g_assert_null (sli_record_peek ());
}

static void
test_no_key_left (void)
{
  pthread_key_t key;
  MagazineCounts counts[N_CLASSES];

  while (pthread_key_create (&key, NULL) == 0)
    continue;
  begin ();
  test_gang (3, alloc_keyless, NULL);
  alloc_keyless (0, NULL);
  g_assert_cmpuint (sli_magazine_count_all (counts), ==, 0);
  g_assert_cmpuint (live_chunks (), ==, 0);
  sli_magazine_trim (0);
}

/* --- no memory --- */

static TestPages pages;

static void
test_no_memory (void)
{
  void *first = NULL, *block;
  unsigned n = 0;

  test_pages_init (&pages);
  pages.n_until_failure = 1;
  slice_set_source (&pages.source);
  begin ();
  while ((block = sli_magazine_alloc (73)) != NULL)
    {
      *(void **) block = first;
      first = block;
      n++;
    }
  g_assert_cmpuint (n, >=, 31);
  /* All of it comes back, magazines or not. */
  while (first != NULL)
    {
      block = first;
      first = *(void **) block;
      sli_magazine_free (73, block);
    }
  g_assert_cmpuint (live_chunks (), ==, 0);
  check_valid ();
}

/* Not even a record: straight to the slabs, and a record later on. */
static void
test_no_memory_at_all (void)
{
  test_pages_init (&pages);
  pages.n_until_failure = 0;
  slice_set_source (&pages.source);
  begin ();
  g_assert_null (sli_magazine_alloc (CLASS));
  g_assert_null (sli_record_peek ());
  pages.n_until_failure = -1;
  wave (CLASS, 100);
  g_assert_nonnull (sli_record_peek ());
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/magazine/last-in-first-out",
                  test_last_in_first_out);
  test_add_fresh ("/slice/magazine/waves", test_waves);
  test_add_death ("/slice/magazine/death/freed-twice", death_freed_twice);
  test_add_death ("/slice/magazine/death/freed-twice-at-the-border",
                  death_freed_twice_at_the_border);
  test_add_fresh ("/slice/magazine/grows-by-misses", test_grows_by_misses);
  test_add_fresh ("/slice/magazine/does-not-grow-without-need",
                  test_does_not_grow_without_need);
  test_add_fresh ("/slice/magazine/gathers", test_gathers);
  test_add_fresh ("/slice/magazine/grows-by-swaps", test_grows_by_swaps);
  test_add_fresh ("/slice/magazine/does-not-grow-by-slow-swaps",
                  test_does_not_grow_by_slow_swaps);
  test_add_fresh ("/slice/magazine/shrinks", test_shrinks);
  test_add_fresh ("/slice/magazine/grows-by-contention",
                  test_grows_by_contention);
  test_add_fresh ("/slice/magazine/thread-bound", test_thread_bound);
  test_add_fresh ("/slice/magazine/thread-bound-of-others-magazines",
                  test_thread_bound_of_others_magazines);
  test_add_fresh ("/slice/magazine/known-zero", test_known_zero);
  test_add_fresh ("/slice/magazine/thread-end-flushes",
                  test_thread_end_flushes);
  test_add_fresh ("/slice/magazine/detach-sleepers", test_detach_sleepers);
  test_add_fresh ("/slice/magazine/detach-workers", test_detach_workers);
  test_add_fresh ("/slice/magazine/no-key-left", test_no_key_left);
  test_add_fresh ("/slice/magazine/no-memory", test_no_memory);
  test_add_fresh ("/slice/magazine/no-memory-at-all", test_no_memory_at_all);
  return g_test_run ();
}
