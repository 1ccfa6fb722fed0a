/* gang.c - laps, in one thread or several
 *
 * Every lap starts and ends at a barrier.  Time is CPU time, each thread's
 * own, so that other work on the machine does not count; the figure of a lap
 * is the sum over the threads divided by the sum of the pairs.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "bench.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

typedef struct
{
  Run *run;
  const GangWork *work;
  pthread_barrier_t barrier;
  Lap laps[THREADS_MAX];
  unsigned n_laps;                 /* the warm-up included */
  double (*figures)[LAPS_MAX + 1]; /* [PARTS_MAX] */
  uint64_t rss_before, rss_peak, rss_after;
  double n_pairs;   /* of the measured laps */
  Counts counts[2]; /* at their start and at their end */
  bool is_counted;
} Gang;

typedef struct
{
  Run *run;
  unsigned thread;
  ThreadFunction function;
  void *data;
} Member;

/* On a busy machine the kernel often runs all threads on one processor, where
 * they show nothing of what lines cost that move. */
static void
bind_to_processor (unsigned thread)
{
  cpu_set_t allowed, one;
  unsigned wanted;

  if (sched_getaffinity (0, sizeof allowed, &allowed) != 0)
    return;
  wanted = thread % (unsigned) CPU_COUNT (&allowed);
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET (i, &allowed) && wanted-- == 0)
      {
        CPU_ZERO (&one);
        CPU_SET (i, &one);
        sched_setaffinity (0, sizeof one, &one);
        return;
      }
}

static void *
member_main (void *data)
{
  Member *member = data;

  if (member->run->parameters.is_bound != 0)
    bind_to_processor (member->thread);
  member->function (member->run, member->thread, member->data);
  return NULL;
}

void
bench_threads (Run *run, unsigned n_threads, ThreadFunction function,
               void *data)
{
  pthread_t threads[THREADS_MAX];
  Member members[THREADS_MAX];

  if (n_threads > THREADS_MAX)
    bench_die ("at most %d threads", THREADS_MAX);
  if (n_threads > bench_adaptor_threads_max ())
    bench_skip ("this allocator serves one thread");
  for (unsigned i = 0; i < n_threads; i++)
    {
      members[i] = (Member){ run, i, function, data };
      if (pthread_create (&threads[i], NULL, member_main, &members[i]) != 0)
        bench_die ("cannot make thread %u", i);
    }
  for (unsigned i = 0; i < n_threads; i++)
    pthread_join (threads[i], NULL);
}

static unsigned
part_count (const GangWork *work)
{
  unsigned n = 1;

  while (n < PARTS_MAX && work->part_names[n] != NULL)
    n++;
  return n;
}

/* Sums what the threads did in a lap; by one thread, between barriers. */
static void
gang_sum (Gang *gang, unsigned lap)
{
  double nsec[PARTS_MAX] = { 0 }, n_pairs = 0;
  uint64_t rss;

  for (unsigned t = 0; t < gang->run->parameters.n_threads; t++)
    {
      n_pairs += (double) gang->laps[t].n_pairs;
      for (unsigned p = 0; p < PARTS_MAX; p++)
        nsec[p] += gang->laps[t].part_nsec[p];
    }
  for (unsigned p = 0; p < PARTS_MAX; p++)
    gang->figures[p][lap] = nsec[p] / n_pairs;
  gang->is_counted = bench_adaptor_count (&gang->counts[lap != 0]);
  gang->n_pairs += lap != 0 ? n_pairs : 0;
  rss = bench_rss_bytes ();
  if (rss > gang->rss_peak)
    gang->rss_peak = rss;
}

static void
gang_wait (Gang *gang)
{
  if (gang->run->parameters.n_threads > 1)
    pthread_barrier_wait (&gang->barrier);
}

static void
gang_member (Run *run, unsigned thread, void *data)
{
  Gang *gang = data;
  const GangWork *work = gang->work;
  void *state = work->enter != NULL ? work->enter (run, thread) : NULL;

  for (unsigned i = 0; i < gang->n_laps; i++)
    {
      Lap *lap = &gang->laps[thread];
      double start;
      double nsec;

      memset (lap, 0, sizeof *lap);
      gang_wait (gang);
      start = bench_thread_nsec ();
      work->lap (run, thread, state, lap);
      nsec = bench_thread_nsec () - start;
      if (lap->part_nsec[0] == 0)
        lap->part_nsec[0] = nsec;
      gang_wait (gang);
      if (thread == 0)
        gang_sum (gang, i);
      gang_wait (gang);
    }
  if (work->leave != NULL)
    work->leave (run, thread, state);
}

/* What the allocator counted during the measured laps, per pair. */
static void
gang_add_counts (Run *run, const Gang *gang)
{
  const Counts *start = &gang->counts[0], *end = &gang->counts[1];

  if (!gang->is_counted)
    return;
  bench_add_value (run, "depot_trips_per_pair",
                   (end->depot_trips - start->depot_trips) / gang->n_pairs);
  bench_add_value (run, "depot_contended_per_pair",
                   (end->depot_contended - start->depot_contended)
                       / gang->n_pairs);
  bench_add_value (run, "slab_locks_per_pair",
                   (end->slab_locks - start->slab_locks) / gang->n_pairs);
}

void
bench_gang (Run *run, const GangWork *work)
{
  /* One gang at a time; on the heap it would be the measured one's. */
  static double figures[PARTS_MAX][LAPS_MAX + 1];
  static Gang gang;
  unsigned n_threads = (unsigned) run->parameters.n_threads;

  if (n_threads > THREADS_MAX || run->parameters.n_laps > LAPS_MAX)
    bench_die ("at most %d threads and %d laps", THREADS_MAX, LAPS_MAX);
  memset (&gang, 0, sizeof gang);
  gang.run = run;
  gang.work = work;
  gang.figures = figures;
  gang.n_laps = (unsigned) run->parameters.n_laps + 1;
  gang.rss_before = bench_rss_bytes ();
  if (n_threads == 1)
    gang_member (run, 0, &gang);
  else
    {
      pthread_barrier_init (&gang.barrier, NULL, n_threads);
      bench_threads (run, n_threads, gang_member, &gang);
      pthread_barrier_destroy (&gang.barrier);
    }
  gang.rss_after = bench_rss_bytes ();
  for (unsigned p = 0; p < part_count (work); p++)
    bench_add_laps (run, work->part_names[p] ? work->part_names[p] : "ns",
                    gang.n_laps - 1, figures[p] + 1, figures[p][0]);
  gang_add_counts (run, &gang);
  bench_add_value (run, "rss_before_bytes", (double) gang.rss_before);
  bench_add_value (run, "rss_peak_bytes", (double) gang.rss_peak);
  bench_add_value (run, "rss_after_bytes", (double) gang.rss_after);
}
