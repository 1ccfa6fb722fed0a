/* load-scratch.c - a thread works in one small block, frees it, gets another
 *
 * After cache-scratch and cache-thrash of Hoard's authors (Berger et al.,
 * ASPLOS 2000; theirs: 1000 blocks of 8 bytes, each written 2,000,000 times).
 * In scratch the main thread allocates a block for each thread, side by side,
 * which the threads free before they begin: an allocator that hands these out
 * again lets the threads write to one cache line for good (passive false
 * sharing).  In thrash there is no such block (active false sharing).
 *
 * The figure is the time of a block: its allocation, `batch' writes to each of
 * its words, and its free.  Where threads share nothing, it is the same for
 * any number of them up to that of processors.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/bench/frame/measured.h"
#include "load.h"

static void *first_blocks[THREADS_MAX];

BENCH_INLINE void
scratch_body (uint64_t n, size_t size, uint64_t n_writes, const bool observed)
{
  for (uint64_t i = 0; i < n; i++)
    {
      volatile uint64_t *words = bench_alloc (observed, size, 8);

      for (uint64_t w = 0; w < n_writes; w++)
        for (size_t k = 0; k < size / sizeof *words; k++)
          words[k] = w;
      bench_free (observed, size, (void *) words);
    }
}

static void *
scratch_enter (Run *run, unsigned thread)
{
  if (first_blocks[thread] != NULL)
    bench_free (run->is_observed, run->parameters.size_min,
                first_blocks[thread]);
  first_blocks[thread] = NULL;
  return NULL;
}

static void
scratch_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  const Parameters *p = &run->parameters;

  (void) thread, (void) state;
  lap->n_pairs = p->n_operations;
  BENCH_BODY (run, scratch_body, p->n_operations, p->size_min, p->batch);
}

void
load_scratch (Run *run)
{
  Parameters *p = &run->parameters;

  if (p->size_min < 8 || p->n_threads > THREADS_MAX)
    bench_die ("scratch: blocks of 8 bytes at least");
  for (unsigned t = 0; t < p->n_threads; t++)
    first_blocks[t] = bench_alloc (run->is_observed, p->size_min, 8);
  bench_gang (run, &(GangWork){ .enter = scratch_enter, .lap = scratch_lap });
}

void
load_thrash (Run *run)
{
  if (run->parameters.size_min < 8)
    bench_die ("thrash: blocks of 8 bytes at least");
  bench_gang (run, &(GangWork){ .lap = scratch_lap });
}
