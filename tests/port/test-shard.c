/* test-shard.c - slice/port/thread/shard.c
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include "tests/testlib.h"
#include "port/thread/shard.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>

static int pretended;

static int
pretended_processor (void)
{
  return pretended;
}

/* Threads that live at the same time, so that no two have one address. */
enum { N_THREADS = 48 };

typedef struct
{
  pthread_barrier_t barrier;
  unsigned shards[N_THREADS];
} Crowd;

static void
note_shard (unsigned index, void *data)
{
  Crowd *crowd = data;

  crowd->shards[index] = sli_shard ();
  g_assert_cmpuint (sli_shard (), ==, crowd->shards[index]);
  pthread_barrier_wait (&crowd->barrier);
}

/* Without a processor number, a thread keeps to a shard, and threads differ. */
static void
test_by_thread (void)
{
  unsigned n_of[SHARDS] = { 0 }, n_used = 0;
  Crowd crowd;

  pretended = -1;
  sli_shard_pretend (pretended_processor);
  pthread_barrier_init (&crowd.barrier, NULL, N_THREADS);
  test_gang (N_THREADS, note_shard, &crowd);
  pthread_barrier_destroy (&crowd.barrier);
  for (unsigned i = 0; i < N_THREADS; i++)
    {
      g_assert_cmpuint (crowd.shards[i], <, SHARDS);
      n_of[crowd.shards[i]]++;
    }
  for (unsigned i = 0; i < SHARDS; i++)
    n_used += n_of[i] != 0;
  g_assert_cmpuint (n_used, >, SHARDS / 2);
}

/* Any number is a shard's, whether there is such a processor or not. */
static void
test_any_number (void)
{
  const int numbers[] = { 0, 1, SHARDS - 1, SHARDS, 4095, INT_MAX };

  sli_shard_pretend (pretended_processor);
  for (size_t i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      pretended = numbers[i];
      g_assert_cmpuint (sli_shard (), ==, (unsigned) pretended % SHARDS);
    }
  pretended = INT_MIN;
  g_assert_cmpuint (sli_shard (), <, SHARDS);
}

/* Where the system tells: a thread that can't leave its processor has that
 * one's shard. */
static void
test_by_processor (void)
{
#ifdef HAVE_RSEQ
  cpu_set_t allowed, one;

  sli_shard_pretend (NULL);
  g_assert_cmpint (sched_getaffinity (0, sizeof allowed, &allowed), ==, 0);
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET (i, &allowed))
      {
        CPU_ZERO (&one);
        CPU_SET (i, &one);
        if (sched_setaffinity (0, sizeof one, &one) != 0
            || sched_getcpu () != i)
          continue; /* taken from us meanwhile, or a tool's invention */
        if (test_is_slow ())
          g_assert_cmpuint (sli_shard (), <, SHARDS);
        else
          g_assert_cmpuint (sli_shard (), ==, (unsigned) i % SHARDS);
      }
  sched_setaffinity (0, sizeof allowed, &allowed);
#else
  g_test_skip ("no restartable sequences");
#endif
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/shard/by-thread", test_by_thread);
  test_add_fresh ("/slice/shard/any-number", test_any_number);
  test_add_fresh ("/slice/shard/by-processor", test_by_processor);
  return g_test_run ();
}
