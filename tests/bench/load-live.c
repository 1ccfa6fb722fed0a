/* load-live.c - does the cost of a call grow with the number of live blocks?
 *
 * n_blocks live blocks of one size.  A round picks `batch` random ones, frees
 * them all, then allocates as many in their places.  Blocks are never touched,
 * and which ones are hit is drawn beforehand.
 *
 * Looking a block's address up in a large array costs a cache miss of the
 * workload's own, which grows with n_blocks and would hide what the allocator
 * adds: so the same rounds are also run without the allocator (reading and
 * writing the array only), and "net_ns" is the difference.
 *
 * SPDX-License-Identifier: MIT
 */
#include "adaptor.h"
#include "load.h"

typedef struct
{
  void **blocks;
  uint32_t *picks; /* n_rounds batches of distinct indices */
  uint64_t n_rounds;
  size_t n_blocks, batch;
} LiveSet;

BENCH_INLINE void
live_body (LiveSet *live, size_t size, const bool observed)
{
  void **blocks = live->blocks;
  const uint32_t *picks = live->picks;
  for (uint64_t r = 0; r < live->n_rounds; r++, picks += live->batch)
    {
      for (size_t i = 0; i < live->batch; i++)
        bench_free (observed, size, blocks[picks[i]]);
      for (size_t i = 0; i < live->batch; i++)
        blocks[picks[i]] = bench_alloc (observed, size, 0);
    }
}

/* The same accesses to the array, without the allocator. */
static void
live_without (LiveSet *live)
{
  void **blocks = live->blocks;
  const uint32_t *picks = live->picks;
  for (uint64_t r = 0; r < live->n_rounds; r++, picks += live->batch)
    {
      for (size_t i = 0; i < live->batch; i++)
        {
          void *block = blocks[picks[i]];
          __asm__ volatile("" : : "r"(block) : "memory");
        }
      for (size_t i = 0; i < live->batch; i++)
        {
          void *volatile *place = &blocks[picks[i]];
          *place = *place;
        }
    }
}

static void
live_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  (void) thread;
  LiveSet *live = state;
  lap->n_pairs = live->n_rounds * live->batch;
  double start = bench_thread_nsec ();
  live_without (live);
  double middle = bench_thread_nsec ();
  BENCH_BODY (run, live_body, live, run->parameters.size_min);
  double end = bench_thread_nsec ();
  lap->part_nsec[0] = end - middle;
  lap->part_nsec[1] = middle - start;
  lap->part_nsec[2] = end - middle - (middle - start);
}

/* Distinct picks for a batch: a random start and an odd stride, taken modulo
 * a power of two, skipping what lies beyond n_blocks. */
static void
picks_draw (LiveSet *live, uint32_t *picks, uint64_t *random)
{
  uint64_t mask = 1;
  while (mask < live->n_blocks)
    mask *= 2;
  uint64_t multiplier = random_next (random) | 5,
           add = random_next (random) | 1;
  multiplier = (multiplier & ~UINT64_C (7)) | 5; /* full period */
  uint64_t x = random_next (random);
  for (size_t i = 0; i < live->batch;)
    {
      x = (x * multiplier + add) & (mask - 1);
      uint64_t mixed = x ^ x >> 1; /* a bijection below mask */
      if (mixed < live->n_blocks)
        picks[i++] = (uint32_t) mixed;
    }
}

static LiveSet *
live_new (Run *run, unsigned thread, size_t batch)
{
  uint64_t random = random_seed (run, thread);
  LiveSet *live = bench_map (sizeof *live);
  live->n_blocks = run->parameters.n_blocks;
  live->batch = batch < live->n_blocks ? batch : live->n_blocks;
  live->n_rounds = run->parameters.n_operations / live->batch;
  if (live->n_rounds == 0)
    live->n_rounds = 1;
  live->blocks = bench_map (live->n_blocks * sizeof (void *));
  live->picks = bench_map (live->n_rounds * live->batch * sizeof *live->picks);
  for (uint64_t r = 0; r < live->n_rounds; r++)
    picks_draw (live, live->picks + r * live->batch, &random);
  for (size_t i = 0; i < live->n_blocks; i++)
    live->blocks[i]
        = bench_alloc (run->is_observed, run->parameters.size_min, 0);
  return live;
}

static void *
live_enter (Run *run, unsigned thread)
{
  return live_new (run, thread, run->parameters.batch);
}

static void *
live_deep_enter (Run *run, unsigned thread)
{
  return live_new (run, thread, run->parameters.n_blocks / 10 + 1);
}

static void
live_leave (Run *run, unsigned thread, void *state)
{
  (void) thread;
  LiveSet *live = state;
  for (size_t i = 0; i < live->n_blocks; i++)
    bench_free (run->is_observed, run->parameters.size_min, live->blocks[i]);
}

void
load_live (Run *run)
{
  bench_gang (run, &(GangWork){ .part_names = { "ns", "array_ns", "net_ns" },
                                .enter = live_enter,
                                .lap = live_lap,
                                .leave = live_leave });
}

void
load_live_deep (Run *run)
{
  bench_gang (run, &(GangWork){ .part_names = { "ns", "array_ns", "net_ns" },
                                .enter = live_deep_enter,
                                .lap = live_lap,
                                .leave = live_leave });
}
