/* test-trim.c - slice/alloc/process/trim.c: memory goes back, and in time
 *
 * The clock is the tests' own: nothing here waits, and nothing is measured in
 * time but in counted work.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/walk.h>

#include "tests/day-clock.h"
#include "tests/hang.h"
#include "tests/testlib.h"
#include "tests/teststats.h"
#include "depot/depot.h"
#include "port/thread/asleep.h"
#include "port/os/os.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t) 1 << 20)

enum { START_MSEC = 1000000 };

/* --- loads --- */

/* So many blocks of a size.  The list of them must not stay with malloc. */
static void
use_and_free (size_t bytes, size_t size)
{
  size_t n = bytes / size;
  void **blocks = mmap (NULL, n * sizeof *blocks, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  for (size_t i = 0; i < n; i++)
    {
      blocks[i] = slice_alloc (size);
      memset (blocks[i], 1, size);
    }
  for (size_t i = 0; i < n; i++)
    slice_free1 (size, blocks[i]);
  munmap (blocks, n * sizeof *blocks);
}

/* A program goes on for some seconds, in one class. */
static void
traffic (unsigned seconds, size_t size, uint64_t *now_msec)
{
  for (unsigned i = 0; i < seconds * 20; i++)
    {
      *now_msec += 50;
      sli_os_pretend_clock_msec (*now_msec);
      use_and_free (size * 2000, size);
    }
}

static size_t load_bytes;

static void
begin (void)
{
  load_bytes = test_is_slow () ? 8 * MIB : 64 * MIB;
  sli_os_pretend_clock_msec (START_MSEC);
}

/* --- by call --- */

static void
test_trim_all (void)
{
  size_t before, bytes;

  begin ();
  use_and_free (MIB, 64);
  slice_trim (0);
  before = test_resident_bytes ();
  use_and_free (load_bytes, 64);
  bytes = slice_trim (0);
  g_assert_cmpuint (test_stats ()->cached_bytes, ==, 0);
  g_assert_cmpuint (test_class_stats (64)->n_slabs, ==, 0);
  g_test_message ("%zu KiB given back, %zu KiB more than before",
                  bytes / 1024, (test_resident_bytes () - before) / 1024);
  if (!test_is_slow ())
    g_assert_cmpuint (test_resident_bytes (), <=, before + load_bytes / 25);
  g_test_message ("%" G_GUINT64_FORMAT " KiB held, %" G_GUINT64_FORMAT
                  " KiB of them metadata",
                  test_stats ()->held_bytes / 1024,
                  test_stats ()->meta_bytes / 1024);
}

/* It says what it gave back: so much less is held. */
static void
test_trim_returns_bytes (void)
{
  uint64_t before, held;
  size_t bytes;

  begin ();
  use_and_free (load_bytes, 100);
  before = test_stats ()->returned_bytes;
  held = test_stats ()->held_bytes;
  bytes = slice_trim (0);
  g_assert_cmpuint (bytes, ==, test_stats ()->returned_bytes - before);
  g_assert_cmpuint (bytes, ==, held - test_stats ()->held_bytes);
  g_assert_cmpuint (test_stats ()->returned_bytes, >=, load_bytes * 9 / 10);
  g_assert_cmpuint (slice_trim (0), ==, 0);
}

/* In debug the tags go back with their regions. */
static void
test_trim_returns_tags (void)
{
  test_options ("debug");
  test_trim_returns_bytes ();
}

static void
test_trim_by_age (void)
{
  begin ();
  use_and_free (4 * MIB, 64);
  sli_os_pretend_clock_msec (START_MSEC + 999);
  slice_trim (1000);
  g_assert_cmpuint (test_class_stats (64)->n_cached_depot, >, 0);
  sli_os_pretend_clock_msec (START_MSEC + 1000);
  slice_trim (1000);
  g_assert_cmpuint (test_class_stats (64)->n_cached_depot, ==, 0);
}

/* Nothing that is in use is touched. */
static void
test_trim_keeps_live (void)
{
  enum { N = 20000 };
  static void *blocks[N];

  begin ();
  for (unsigned i = 0; i < N; i++)
    {
      blocks[i] = slice_alloc (i % 500 + 1);
      test_fill (blocks[i], i % 500 + 1, i);
    }
  for (unsigned i = 0; i < N; i += 2)
    slice_free1 (i % 500 + 1, blocks[i]);
  slice_trim (0);
  for (unsigned i = 1; i < N; i += 2)
    g_assert_true (test_is_filled (blocks[i], i % 500 + 1, i));
  for (unsigned i = 1; i < N; i += 2)
    slice_free1 (i % 500 + 1, blocks[i]);
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_thread_flush (void)
{
  begin ();
  use_and_free (64 * 100, 64);
  g_assert_cmpuint (test_class_stats (64)->n_cached_threads, >, 0);
  slice_thread_flush ();
  g_assert_cmpuint (test_class_stats (64)->n_cached_threads, ==, 0);
}

/* --- from every source of pages --- */

static const char *source_option;
static TestPages pages;

/* One that is not built in warns, and another takes its place. */
static gboolean
is_built_in (const char *option)
{
  if (strstr (option, "posix_memalign") != NULL)
    return slice_source_builtin (SLICE_PAGES_POSIX_MEMALIGN) != NULL;
  return (strstr (option, "memalign") == NULL
          || slice_source_builtin (SLICE_PAGES_MEMALIGN) != NULL)
         && (strstr (option, "valloc") == NULL
             || slice_source_builtin (SLICE_PAGES_VALLOC) != NULL);
}

static void
use_source (void)
{
  size_t before;

  if (source_option != NULL)
    test_options (source_option);
  else
    {
      test_pages_init (&pages);
      slice_set_source (&pages.source);
    }
  begin ();
  use_and_free (MIB, 64);
  slice_trim (0);
  before = test_resident_bytes ();
  for (int turn = 0; turn < 2; turn++)
    {
      use_and_free (load_bytes / 2, 48);
      use_and_free (load_bytes / 2, 600);
      slice_trim (0);
      g_test_message ("%zu KiB more",
                      (test_resident_bytes () - before) / 1024);
      if (!test_is_slow ())
        g_assert_cmpuint (test_resident_bytes (), <=,
                          before + load_bytes / 25 + MIB);
      g_assert_cmpuint (test_live (), ==, 0);
    }
  g_assert_true (source_option != NULL || pages.n_maps > 0);
}

/* Whatever gives the pages, they go back for certain. */
static void
test_sources (void)
{
  static const char *const options[]
      = { "page-source=posix_memalign", "page-source=mmap",
          "page-source=memalign",       "page-source=valloc",
          "page-source=malloc",         "huge-pages=0",
          NULL };

  for (size_t i = 0; i < G_N_ELEMENTS (options); i++)
    {
      int status;
      char *said;

      source_option = options[i];
      if (source_option != NULL && !is_built_in (source_option))
        continue;
      said = test_capture (use_source, &status);
      if (status != 0)
        g_test_message ("%s", options[i]);
      g_assert_cmpstr (said, ==, "");
      g_assert_cmpint (status, ==, 0);
      g_free (said);
    }
}

/* --- by traffic --- */

/* What one class had is given back by the traffic of another. */
static void
test_other_classes_traffic (void)
{
  uint64_t now_msec = START_MSEC, peak;

  begin ();
  use_and_free (load_bytes, 64);
  peak = load_bytes;
  traffic (20, 200, &now_msec);
  for (unsigned i = 1; i < SLICE_N_CLASSES; i++)
    {
      const SliceClassStats *class = &test_stats ()->classes[i];

      if (class->n_slabs > 0)
        g_test_message ("%zu bytes: %" G_GUINT64_FORMAT
                        " slabs, %" G_GUINT64_FORMAT " in threads, %"
                        G_GUINT64_FORMAT " in the depot",
                        class->block_bytes, class->n_slabs,
                        class->n_cached_threads, class->n_cached_depot);
    }
  g_test_message ("%" G_GUINT64_FORMAT " KiB cached, %" G_GUINT64_FORMAT
                  " KiB held, %" G_GUINT64_FORMAT " KiB metadata",
                  test_stats ()->cached_bytes / 1024,
                  test_stats ()->held_bytes / 1024,
                  test_stats ()->meta_bytes / 1024);
  g_assert_cmpuint (test_class_stats (64)->n_cached_depot * 64, <=,
                    peak / 20);
  g_assert_cmpuint (test_class_stats (64)->n_slabs, ==, 0);
  /* Regions that the traffic works in are not picked clean. */
  g_assert_cmpuint (test_stats ()->held_bytes, <=, peak / 20 + 4 * MIB);
}

/* Blocks of some sizes, freed in no order at all. */
static void
use_and_free_randomly (size_t bytes, const size_t *sizes, unsigned n_sizes)
{
  size_t n_max = bytes / 8, list_bytes = n_max * sizeof (void *), n = 0;
  void **blocks = mmap (NULL, list_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TestRandom random;

  test_random_init (&random, 0);
  for (size_t used = 0; used < bytes; used += sizes[n++ % n_sizes])
    {
      blocks[n] = slice_alloc (sizes[n % n_sizes]);
      memset (blocks[n], 1, sizes[n % n_sizes]);
    }
  /* One block in two changes its place with another of its size. */
  for (size_t i = 0; i < n; i++)
    {
      size_t other = test_random_below (&random, n / n_sizes) * n_sizes
                     + i % n_sizes;
      void *block = blocks[i];

      blocks[i] = blocks[other];
      blocks[other] = block;
    }
  for (size_t i = 0; i < n; i++)
    slice_free1 (sizes[i % n_sizes], blocks[i]);
  munmap (blocks, list_bytes);
}

/* What is freed in no order lies in the depot, in slabs, in regions and with
 * the traffic that goes on.  All of it goes home after one working set, not
 * after one for each of these. */
static void
test_one_working_set (void)
{
  static const size_t sizes[] = { 16, 48, 64, 88, 120, 160, 200, 240 };
  uint64_t now_msec = START_MSEC, peak;
  unsigned n_sizes = G_N_ELEMENTS (sizes);

  begin ();
  use_and_free_randomly (load_bytes, sizes, n_sizes);
  peak = test_stats ()->held_bytes;
  for (unsigned i = 0; i < 22 * 5; i++)
    for (unsigned k = 0; k < n_sizes; k++)
      {
        sli_os_pretend_clock_msec (now_msec += 25);
        use_and_free (sizes[k] * 500, sizes[k]);
        if (i == 13 * 5 && k == 0)
          g_assert_cmpuint (test_stats ()->held_bytes, >=, peak * 9 / 10);
      }
  g_test_message ("%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " KiB held",
                  test_stats ()->held_bytes / 1024, peak / 1024);
  g_assert_cmpuint (test_stats ()->held_bytes, <=, peak / 20 + 2 * MIB);
}

/* The class in use keeps what it uses. */
static void
test_working_set_stays (void)
{
  uint64_t now_msec = START_MSEC, made;

  begin ();
  traffic (20, 64, &now_msec);
  made = test_class_stats (64)->n_slabs_made;
  traffic (40, 64, &now_msec);
  g_assert_cmpuint (test_class_stats (64)->n_slabs_made, <=, made + 20);
}

/* The day's clock steps back and forth: nothing moves. */
static void
test_day_clock_steps (void)
{
  uint64_t cached, trimmed;

  load_bytes = 8 * MIB;
  use_and_free (load_bytes, 64); /* by the true clock */
  cached = test_class_stats (64)->n_cached_depot;
  trimmed = test_class_stats (64)->n_trimmed;
  g_assert_cmpuint (cached, >, 0);
  for (int hours = -1; hours <= 1; hours += 2)
    {
      day_clock_offset = hours * 3600;
      use_and_free (64 * 600, 64);
      g_assert_cmpuint (test_class_stats (64)->n_trimmed, <=, trimmed + 4);
      g_assert_cmpuint (test_class_stats (64)->n_cached_depot + 1000, >=,
                        cached);
    }
  g_assert_cmpint (n_day_clock_asked, ==, 0);
}

/* Fifty days go by; ages stay right all the while. */
static void
test_fifty_days (void)
{
  uint64_t now_msec = START_MSEC;

  begin ();
  for (unsigned day = 0; day < test_times (50, 5); day++)
    {
      use_and_free (MIB, 64);
      now_msec += 14000;
      sli_os_pretend_clock_msec (now_msec);
      slice_trim (15000);
      g_assert_cmpuint (test_class_stats (64)->n_cached_depot, >, 0);
      now_msec += 86400000 - 14000;
      sli_os_pretend_clock_msec (now_msec);
      slice_trim (15000);
      g_assert_cmpuint (test_class_stats (64)->n_cached_depot, ==, 0);
    }
}

/* --- bounded work --- */

/* With a full depot and idle regions that have grown old, no single call
 * gives back more than a counted number of chunks and one region. */
static void
test_bounded_work (void)
{
  enum { N = 12000 };
  static void *blocks[N];
  uint64_t now_msec = START_MSEC, most_trimmed = 0, most_bytes = 0;
  uint64_t trimmed, bytes;

  sli_depot_limits.bytes = 2000000;
  begin ();
  use_and_free (load_bytes, 2000);
  use_and_free (4 * MIB, 16);
  trimmed = test_class_stats (16)->n_trimmed;
  bytes = test_stats ()->returned_bytes;
  for (unsigned i = 0; i < test_times (N, 2000); i++)
    {
      uint64_t trimmed_now, bytes_now;

      sli_os_pretend_clock_msec (now_msec += 10);
      /* One call: taking many, then giving many. */
      if (i % 2000 < 1000)
        blocks[i] = slice_alloc (1000);
      else
        slice_free1 (1000, blocks[i - 1000]);
      trimmed_now = test_class_stats (16)->n_trimmed;
      bytes_now = test_stats ()->returned_bytes;
      most_trimmed = MAX (most_trimmed, trimmed_now - trimmed);
      most_bytes = MAX (most_bytes, bytes_now - bytes);
      trimmed = trimmed_now;
      bytes = bytes_now;
    }
  g_test_message ("at once: %" G_GUINT64_FORMAT " magazines, %"
                  G_GUINT64_FORMAT " KiB",
                  most_trimmed, most_bytes / 1024);
  g_assert_cmpuint (most_trimmed, <=, 16);
  /* One region, and where that was the last of an extent, 16 headers. */
  g_assert_cmpuint (most_bytes, <=, 2 * MIB + 16 * 16 * 1024);
  if (!test_is_slow ())
    {
      g_assert_cmpuint (most_trimmed, >, 0);
      g_assert_cmpuint (most_bytes, >, 0);
    }
}

/* --- sleeping threads --- */

enum { N_SLEEPERS = 64 };
static pthread_barrier_t barrier;
static int n_working;

static void
use_every_class (void)
{
  for (size_t size = 8; size <= SLICE_SIZE_MAX; size += 8)
    use_and_free (size * 40, size);
}

static void
sleep_or_work (unsigned index, void *data G_GNUC_UNUSED)
{
  if (index < N_SLEEPERS)
    {
      use_every_class ();
      pthread_barrier_wait (&barrier);
      pthread_barrier_wait (&barrier);
      use_every_class ();
    }
  else if (index == N_SLEEPERS)
    {
      size_t sleepers_bytes;

      pthread_barrier_wait (&barrier);
      slice_trim (0);
      /* The two at work have a share of their own. */
      sleepers_bytes = 0;
      for (unsigned i = 1; i < SLICE_N_CLASSES; i++)
        {
          const SliceClassStats *class = &test_stats ()->classes[i];

          if (class->block_bytes == 24)
            continue;
          sleepers_bytes += class->n_cached_threads * class->chunk_bytes;
        }
      g_test_message ("%zu bytes a sleeping thread",
                      sleepers_bytes / N_SLEEPERS);
      if (sli_os_barrier_all_threads ())
        g_assert_cmpuint (sleepers_bytes / N_SLEEPERS, <=, 48 * 1024);
      g_atomic_int_set (&n_working, 0);
      pthread_barrier_wait (&barrier);
    }
  else
    while (g_atomic_int_get (&n_working))
      {
        use_and_free (24 * 300, 24);
        if (test_is_slow ()) /* memcheck runs one thread at a time, unfairly */
          g_usleep (1000);
      }
}

/* As if the system could not tell that they sleep. */
static void
test_sleepers (void)
{
  sli_asleep_pretend (0);
  n_working = 1;
  pthread_barrier_init (&barrier, NULL, N_SLEEPERS + 1);
  test_gang (N_SLEEPERS + 3, sleep_or_work, NULL);
  g_assert_cmpuint (test_live (), ==, 0);
}

static size_t
threads_bytes (void)
{
  size_t bytes = 0;

  for (unsigned i = 1; i < SLICE_N_CLASSES; i++)
    bytes += test_stats ()->classes[i].n_cached_threads
             * test_stats ()->classes[i].chunk_bytes;
  return bytes;
}

static void
sleep_soundly (unsigned index, void *data G_GNUC_UNUSED)
{
  if (index < N_SLEEPERS)
    use_every_class ();
  pthread_barrier_wait (&barrier);
  if (index == N_SLEEPERS)
    {
      uint64_t held_bytes;

      g_usleep (100 * 1000); /* until they sleep again, which is pretended */
      g_assert_cmpuint (threads_bytes (), >, 0);
      slice_trim (0);
      held_bytes = test_stats ()->held_bytes;
      g_test_message ("%" G_GUINT64_FORMAT " bytes held for a thread",
                      held_bytes / N_SLEEPERS);
      if (sli_os_barrier_all_threads ())
        {
          g_assert_cmpuint (threads_bytes (), ==, 0);
          g_assert_cmpuint (held_bytes / N_SLEEPERS, <=, 48 * 1024);
        }
    }
  pthread_barrier_wait (&barrier);
  if (index < N_SLEEPERS)
    use_every_class ();
}

/* Threads that sleep in a system call keep nothing but their records. */
static void
test_sound_sleepers (void)
{
  sli_asleep_pretend (1);
  pthread_barrier_init (&barrier, NULL, N_SLEEPERS + 1);
  test_gang (N_SLEEPERS + 1, sleep_soundly, NULL);
  g_assert_cmpuint (test_live (), ==, 0);
}

/* --- the helper --- */

static void
await_helper (void)
{
  unsigned n_waits = 0;

  while (test_stats ()->held_bytes > 4 * MIB)
    {
      g_usleep (20000);
      g_assert_cmpuint (++n_waits, <, 50 * 60);
    }
  g_assert_cmpuint (test_live (), ==, 0);
}

/* It is there, once, takes no signals, and does its work; here its clock is
 * so fast that we may wait for it. */
static void
test_helper (void)
{
  test_options ("trim-thread working-set-msec=1");
  use_and_free (8 * MIB, 64);
  await_helper ();
}

/* Looks twice while the helper would wake several times. */
static bool
look_twice (const SlicePart *part G_GNUC_UNUSED, void *data)
{
  uint64_t held_bytes = test_stats ()->held_bytes;

  g_usleep (500000);
  g_assert_cmpuint (test_stats ()->held_bytes, ==, held_bytes);
  *(bool *) data = true;
  return false;
}

/* What a walk shows does not change under its hands. */
static void
test_helper_waits (void)
{
  bool is_seen = false;

  test_options ("trim-thread working-set-msec=1");
  use_and_free (64 * MIB, 64);
  slice_walk (look_twice, &is_seen);
  g_assert_true (is_seen);
  await_helper ();
}

/* --- the helper ends with the program --- */

/* In a child whose main thread has gone memcheck finds lost what that thread's
 * stack referred to. */
static bool
is_watched_for_leaks (void)
{
  if (test_is_slow ())
    g_test_skip ("the main thread's blocks are lost");
  return test_is_slow ();
}

static bool ends_in_main; /* which thread ends last */
static const char *helper_options;

static void *
end_last (void *main_thread)
{
  if (!ends_in_main)
    pthread_join (*(pthread_t *) main_thread, NULL);
  slice_free1 (40, slice_alloc (40));
  return NULL;
}

static void
end_by_pthread_exit (void)
{
  static pthread_t main_thread;
  pthread_t thread;

  prctl (PR_SET_PDEATHSIG, SIGKILL);
  test_options (helper_options);
  slice_free1 (40, slice_alloc (40));
  main_thread = pthread_self ();
  g_assert_cmpint (pthread_create (&thread, NULL, end_last, &main_thread), ==,
                   0);
  if (ends_in_main)
    pthread_join (thread, NULL);
  pthread_exit (NULL);
}

static void
helper_ends (bool in_main, const char *options)
{
  pid_t child;
  int status;

  if (is_watched_for_leaks ())
    return;
  ends_in_main = in_main;
  helper_options = options;
  child = fork ();
  if (child == 0)
    end_by_pthread_exit ();
  hang_after (20);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (status, ==, 0);
}

/* A process ends when its last thread does, as if there were no helper.  Its
 * own time would come after hours. */
static void
test_helper_ends_after_worker (void)
{
  helper_ends (false, "trim-thread working-set-msec=24h");
}

static void
test_helper_ends_after_main (void)
{
  helper_ends (true, "trim-thread working-set-msec=24h");
}

static void *
end_unnoticed (void *main_thread)
{
  pthread_join (*(pthread_t *) main_thread, NULL);
  g_usleep (300000);
  return NULL;
}

static void
end_without_slices (void)
{
  static pthread_t main_thread;
  pthread_t thread;

  prctl (PR_SET_PDEATHSIG, SIGKILL);
  test_options ("trim-thread working-set-msec=1");
  slice_free1 (40, slice_alloc (40));
  main_thread = pthread_self ();
  pthread_create (&thread, NULL, end_unnoticed, &main_thread);
  pthread_exit (NULL);
}

/* The last thread has never used a slice, so its end is not reported. */
static void
test_helper_ends_unnoticed (void)
{
  pid_t child;
  int status;

  if (is_watched_for_leaks ())
    return;
  child = fork ();
  if (child == 0)
    end_without_slices ();
  hang_after (20);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (status, ==, 0);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/trim/all", test_trim_all);
  test_add_fresh ("/slice/trim/returns-bytes", test_trim_returns_bytes);
  test_add_fresh ("/slice/trim/returns-tags", test_trim_returns_tags);
  test_add_fresh ("/slice/trim/by-age", test_trim_by_age);
  test_add_fresh ("/slice/trim/keeps-live", test_trim_keeps_live);
  test_add_fresh ("/slice/trim/thread-flush", test_thread_flush);
  test_add ("/slice/trim/sources", test_sources);
  test_add_fresh ("/slice/trim/other-classes-traffic",
                  test_other_classes_traffic);
  test_add_fresh ("/slice/trim/one-working-set", test_one_working_set);
  test_add_fresh ("/slice/trim/working-set-stays", test_working_set_stays);
  test_add_fresh ("/slice/trim/day-clock-steps", test_day_clock_steps);
  test_add_fresh ("/slice/trim/fifty-days", test_fifty_days);
  test_add_fresh ("/slice/trim/bounded-work", test_bounded_work);
  test_add_fresh ("/slice/trim/sleepers", test_sleepers);
  test_add_fresh ("/slice/trim/sound-sleepers", test_sound_sleepers);
  test_add_fresh ("/slice/trim/helper", test_helper);
  test_add_fresh ("/slice/trim/helper-waits", test_helper_waits);
#ifdef __GLIBC__
  /* musl 1.2.3 has no end of a forked child's first thread: pthread_join()
   * waits for it for ever, without slices, too. */
  test_add_fresh ("/slice/trim/helper-ends-after-worker",
                  test_helper_ends_after_worker);
  test_add_fresh ("/slice/trim/helper-ends-after-main",
                  test_helper_ends_after_main);
  test_add_fresh ("/slice/trim/helper-ends-unnoticed",
                  test_helper_ends_unnoticed);
#endif
  return g_test_run ();
}
