/* load-thread.c - what threads cost: their coming and going, shared lines
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/bench/frame/measured.h"
#include "load.h"

#include <stdlib.h>

/* --- churn
 * -----------------------------------------------------------------------
 *
 * `batch` threads in all, n_threads at a time.  Each allocates n_blocks blocks
 * of random sizes, frees three in four and leaves the rest to the main thread,
 * which frees them when it has waited for the thread.  CPU time is the
 * process's: making and ending threads is part of the work. */

typedef struct
{
  void *block;
  size_t size;
} Left;

BENCH_INLINE void
churn_body (Run *run, Left *left, uint64_t random, const bool observed)
{
  uint64_t n = run->parameters.n_blocks;

  for (uint64_t i = 0; i < n; i++)
    {
      left[i].size = random_size (run, &random);
      left[i].block = bench_alloc (observed, left[i].size, 8);
      *(volatile uint64_t *) left[i].block = i;
    }
  for (uint64_t i = 0; i < n; i++)
    if (i % 4 != 0)
      {
        bench_free (observed, left[i].size, left[i].block);
        left[i].block = NULL;
      }
}

static void
churn_thread (Run *run, unsigned thread, void *data)
{
  Left *left = (Left *) data + thread * run->parameters.n_blocks;

  BENCH_BODY (run, churn_body, run, left, random_seed (run, thread));
}

static void
churn_wave (Run *run, Left *left)
{
  uint64_t n = run->parameters.n_blocks * run->parameters.n_threads;

  bench_threads (run, (unsigned) run->parameters.n_threads, churn_thread,
                 left);
  for (uint64_t i = 0; i < n; i++)
    if (left[i].block != NULL)
      bench_free (run->is_observed, left[i].size, left[i].block);
}

void
load_churn (Run *run)
{
  static double laps[LAPS_MAX + 1];
  Parameters *p = &run->parameters;
  uint64_t n_waves = p->batch / p->n_threads;
  uint64_t rss_quarter = 0;
  Left *left;
  uint64_t rss_end;

  if (p->size_min < 8 || p->n_laps > LAPS_MAX)
    bench_die ("churn: blocks of 8 bytes at least, %d laps", LAPS_MAX);
  left = bench_map (p->n_blocks * p->n_threads * sizeof *left);
  for (unsigned lap = 0; lap <= p->n_laps; lap++)
    {
      double start = bench_process_nsec ();

      for (uint64_t wave = 0; wave < n_waves; wave++)
        {
          if (lap == 0 && wave == n_waves / 4)
            rss_quarter = bench_rss_bytes ();
          churn_wave (run, left);
        }
      laps[lap] = (bench_process_nsec () - start)
                  / (double) (n_waves * p->n_threads * p->n_blocks);
    }
  rss_end = bench_rss_bytes ();
  bench_add_laps (run, "ns", (unsigned) p->n_laps, laps + 1, laps[0]);
  bench_add_value (run, "rss_quarter_bytes", (double) rss_quarter);
  bench_add_value (run, "rss_end_bytes", (double) rss_end);
  bench_add_value (run, "rss_growth",
                   (double) rss_end / (double) (rss_quarter + 1));
}

/* --- false sharing
 * ---------------------------------------------------------------
 *
 * Cache lines are counted, which repeats exactly and needs no second
 * processor: the share of a thread's blocks that lie on a line with a block of
 * another thread.  The time to write into one block each, again and again, is
 * given beside; where no two processors run at once it shows nothing.
 *
 * Active: the threads allocate by turns, a few blocks each, as side by side
 * running threads do.  Passive: one thread allocated all, dealt them out like
 * cards; each thread frees all its own, then allocates as many again.  Direct:
 * the same, but each few blocks are freed and allocated again at once, so that
 * any cache of the thread's own hands back what it was just given.
 *
 * Source: the active and passive false sharing of Berger et al., Hoard,
 * ASPLOS 2000. */

enum
{
  LINE_BYTES = 64,
  TURN_BLOCKS = 8 /* what a thread allocates before another has its turn */
};

typedef enum
{
  SHARING_ACTIVE,
  SHARING_PASSIVE, /* all are freed before the first is allocated again */
  SHARING_DIRECT   /* a turn's blocks are freed, then allocated again */
} SharingKind;

typedef struct
{
  void **blocks; /* [thread * n_blocks + i] */
  SharingKind kind;
  unsigned turn; /* whose it is; the threads wait for theirs */
} Sharing;

static void
turn_wait (Sharing *sharing, unsigned thread, unsigned n_threads)
{
  while (__atomic_load_n (&sharing->turn, __ATOMIC_ACQUIRE) % n_threads
         != thread)
    bench_sleep_msec (0);
}

static void
turn_pass (Sharing *sharing)
{
  __atomic_fetch_add (&sharing->turn, 1, __ATOMIC_RELEASE);
}

static double sharing_write_nsec[THREADS_MAX];

/* Writes into the thread's blocks, round and round. */
static void
sharing_write (Run *run, void **blocks, unsigned thread)
{
  uint64_t n = run->parameters.n_blocks;
  double start = bench_thread_nsec ();

  for (uint64_t i = 0, k = 0; i < run->parameters.n_operations; i++)
    {
      *(volatile uint64_t *) blocks[k] = i;
      k = k + 1 < n && k + 1 < 16 ? k + 1 : 0;
    }
  sharing_write_nsec[thread] = bench_thread_nsec () - start;
}

/* Frees the blocks of a turn, from the i-th on. */
static void
turn_free (Run *run, void **blocks, size_t i)
{
  size_t n = run->parameters.n_blocks;

  for (size_t k = i; k < i + TURN_BLOCKS && k < n; k++)
    bench_free (run->is_observed, run->parameters.size_min, blocks[k]);
}

static void
sharing_thread (Run *run, unsigned thread, void *data)
{
  Sharing *sharing = data;
  unsigned n_threads = (unsigned) run->parameters.n_threads;
  size_t n = run->parameters.n_blocks, size = run->parameters.size_min;
  void **blocks = sharing->blocks + thread * n;

  for (size_t i = 0; sharing->kind == SHARING_PASSIVE && i < n;
       i += TURN_BLOCKS)
    {
      turn_wait (sharing, thread, n_threads);
      turn_free (run, blocks, i);
      turn_pass (sharing);
    }
  for (size_t i = 0; i < n; i += TURN_BLOCKS)
    {
      turn_wait (sharing, thread, n_threads);
      if (sharing->kind == SHARING_DIRECT)
        turn_free (run, blocks, i);
      for (size_t k = i; k < i + TURN_BLOCKS && k < n; k++)
        blocks[k] = bench_alloc (run->is_observed, size, 8);
      turn_pass (sharing);
    }
  sharing_write (run, blocks, thread);
}

static int
word_compare (const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

  return (x > y) - (x < y);
}

/* The share of blocks on lines of more than one thread, in percent.  A word
 * is the line of a block's start, and below it whose block it is. */
static double
sharing_percent (Run *run, void *const *blocks)
{
  size_t n = run->parameters.n_blocks, n_all = n * run->parameters.n_threads;
  uint64_t *words = bench_map (n_all * sizeof *words);
  size_t n_shared = 0;

  for (size_t i = 0; i < n_all; i++)
    words[i] = ((uintptr_t) blocks[i] / LINE_BYTES) << 8 | i / n;
  qsort (words, n_all, sizeof *words, word_compare);
  for (size_t i = 0, end; i < n_all; i = end)
    {
      bool is_shared = false;

      for (end = i; end < n_all && words[end] >> 8 == words[i] >> 8; end++)
        is_shared = is_shared || words[end] != words[i];
      n_shared += is_shared ? end - i : 0;
    }
  bench_unmap (words, n_all * sizeof *words);
  return 100.0 * (double) n_shared / (double) n_all;
}

static void
sharing_run (Run *run, SharingKind kind)
{
  static double shared[LAPS_MAX + 1], write_ns[LAPS_MAX + 1];
  Parameters *p = &run->parameters;
  size_t n_all = p->n_blocks * p->n_threads;
  Sharing sharing
      = { .blocks = bench_map (n_all * sizeof (void *)), .kind = kind };

  if (p->size_min < 8 || p->n_laps > LAPS_MAX || p->n_threads > THREADS_MAX)
    bench_die ("sharing: blocks of 8 bytes at least");
  for (unsigned lap = 0; lap <= p->n_laps; lap++)
    {
      double nsec = 0;

      sharing.turn = 0;
      for (size_t i = 0; kind != SHARING_ACTIVE && i < n_all; i++)
        sharing.blocks[i % p->n_threads * p->n_blocks + i / p->n_threads]
            = bench_alloc (run->is_observed, p->size_min, 8);
      bench_threads (run, (unsigned) p->n_threads, sharing_thread, &sharing);
      shared[lap] = sharing_percent (run, sharing.blocks);
      for (unsigned t = 0; t < p->n_threads; t++)
        nsec += sharing_write_nsec[t];
      write_ns[lap] = nsec / (double) (p->n_operations * p->n_threads);
      for (size_t i = 0; i < n_all; i++)
        bench_free (run->is_observed, p->size_min, sharing.blocks[i]);
    }
  bench_add_laps (run, "shared_percent", (unsigned) p->n_laps, shared + 1,
                  shared[0]);
  bench_add_laps (run, "write_ns", (unsigned) p->n_laps, write_ns + 1,
                  write_ns[0]);
}

void
load_sharing_active (Run *run)
{
  sharing_run (run, SHARING_ACTIVE);
}

void
load_sharing_passive (Run *run)
{
  sharing_run (run, SHARING_PASSIVE);
}

void
load_sharing_direct (Run *run)
{
  sharing_run (run, SHARING_DIRECT);
}
