/* test-one-thread.c - slice/port/thread/one-thread.h, by frees to slabs
 *
 * A process has a single thread once, so each round is a process of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "tests/testlib.h"
#include "tests/testprocessor.h"
#include "base/option.h"
#include "page/page.h"
#include "port/thread/one-thread.h"
#include "slab/slab.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

enum
{
  CLASS_INDEX = 5,
  N_CHUNKS = 20000,
  N_THREADS = 2,
  MAIN_SHARE = N_THREADS,
  KEPT_SHARE,           /* is out until the threads have ended */
  N_SHARES
};

static TestPages pages;
static void *chunks[N_CHUNKS];

static void
check_out (unsigned n)
{
  SlabCounts counts[N_CLASSES];

  sli_slab_count_all (counts);
  g_assert_cmpuint (counts[CLASS_INDEX].n_out, ==, n);
  if (n == 0)
    g_assert_cmpuint (counts[CLASS_INDEX].n_slabs, ==, 0);
  g_assert_true (sli_slab_is_valid (CLASS_INDEX));
}

/* Neighbours are of different shares, so each word has bits of all. */
static void
free_share (unsigned share, unsigned start, unsigned end)
{
  for (unsigned i = start + share; i < end; i += N_SHARES)
    sli_slab_free (CLASS_INDEX, 1, &chunks[i], "test");
}

/* What the threads of a round free. */
typedef struct
{
  unsigned change;      /* the main thread had freed its chunks below alone */
  unsigned n_awaited;   /* threads that are not there yet */
} Round;

typedef struct
{
  Round *round;
  unsigned share;
} Job;

/* All start together, or else they would rarely meet at a word. */
static void
meet (Round *round)
{
  __atomic_fetch_sub (&round->n_awaited, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n (&round->n_awaited, __ATOMIC_ACQUIRE) != 0)
    if (test_is_slow ())
      sched_yield ();
}

static void *
thread_run (void *data)
{
  const Job *job = data;

  meet (job->round);
  free_share (job->share, job->round->change, N_CHUNKS);
  free_share (job->share, 0, job->round->change);
  return NULL;
}

static void
begin (void)
{
  unsigned n = 0;

  sli_shard_pretend (pretended_processor);
  test_pages_init (&pages);
  slice_set_source (&pages.source);
  sli_option_freeze ();
  sli_slab_init ();
  while (n < N_CHUNKS)
    {
      unsigned n_more
          = sli_slab_alloc (CLASS_INDEX, N_CHUNKS - n, chunks + N_CHUNKS - n);

      g_assert_cmpuint (n_more, >, 0);
      n += n_more;
    }
}

/* Runs body in a process of its own. */
static void
in_child (void (*body) (unsigned), unsigned round)
{
  int status;
  pid_t child = fork ();

  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      body (round);
      _exit (0);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (status, ==, 0);
}

static void
free_kept (unsigned round G_GNUC_UNUSED)
{
  free_share (KEPT_SHARE, 0, N_CHUNKS);
  check_out (0);
}

/* The main thread frees; somewhere on the way it makes threads, whose chunks
 * are of the same words.  In every second round it goes on at once, in the
 * others beside them. */
static void
round_run (unsigned index)
{
  gboolean goes_on = index % 2 == 0;
  Round round = { .n_awaited = N_THREADS + !goes_on };
  pthread_t threads[N_THREADS];
  Job jobs[N_THREADS];
  TestRandom random;

  begin ();
  test_random_init (&random, index);
  round.change
      = N_SHARES * test_random_below (&random, N_CHUNKS / N_SHARES / 2);
#if defined HAVE_SYS_SINGLE_THREADED_H && !TEST_IS_SANITIZED
  /* In a forked child the thread sanitizer has a thread of its own. */
  g_assert_true (sli_has_one_thread ());
#endif
  free_share (MAIN_SHARE, 0, round.change);
  check_out (N_CHUNKS - round.change / N_SHARES);
  for (unsigned i = 0; i < N_THREADS; i++)
    {
      jobs[i] = (Job){ &round, i };
      g_assert_cmpint (
          pthread_create (&threads[i], NULL, thread_run, &jobs[i]), ==, 0);
    }
  g_assert_false (sli_has_one_thread ());
  if (!goes_on)
    meet (&round);
  free_share (MAIN_SHARE, round.change, N_CHUNKS);
  for (unsigned i = 0; i < N_THREADS; i++)
    pthread_join (threads[i], NULL);
  check_out (N_CHUNKS / N_SHARES);
  /* The child, too, has a single thread. */
  in_child (free_kept, 0);
  free_kept (0);
}

static void
test_moment_of_change (void)
{
  unsigned n_rounds = test_times (200, 10);

  for (unsigned i = 0; i < n_rounds; i++)
    in_child (round_run, i);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/one-thread/moment-of-change",
                  test_moment_of_change);
  return g_test_run ();
}
