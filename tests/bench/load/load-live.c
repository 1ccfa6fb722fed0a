/* load-live.c - does the cost of a call grow with the number of live blocks?
 *
 * n_blocks live blocks of one size.  A round picks `batch` random ones, frees
 * them all, then allocates as many in their places.  Blocks are never touched,
 * and which ones are hit is drawn beforehand.
 *
 * Looking a random block's address up in a large array costs a cache miss of
 * the workload's own, which grows with n_blocks and would hide what the
 * allocator adds: so a round first gathers the addresses, then frees and
 * allocates, then scatters the new ones.  "net_ns" is the middle part alone,
 * "array_ns" the rest.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/bench/frame/measured.h"
#include "load.h"

typedef struct
{
  void **blocks;
  void **hand;     /* a batch of blocks, gathered */
  uint32_t *picks; /* n_rounds batches of distinct indices */
  uint64_t n_rounds;
  size_t n_blocks, batch;
} LiveSet;

BENCH_INLINE void
live_body (void **hand, size_t n, size_t size, const bool observed)
{
  for (size_t i = 0; i < n; i++)
    bench_free (observed, size, hand[i]);
  for (size_t i = 0; i < n; i++)
    hand[i] = bench_alloc (observed, size, 0);
}

static void
live_gather (const LiveSet *live, const uint32_t *picks)
{
  for (size_t i = 0; i < live->batch; i++)
    live->hand[i] = live->blocks[picks[i]];
}

static void
live_scatter (const LiveSet *live, const uint32_t *picks)
{
  for (size_t i = 0; i < live->batch; i++)
    live->blocks[picks[i]] = live->hand[i];
}

static void
live_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  LiveSet *live;
  const uint32_t *picks;
  double start;
  double net_nsec = 0;

  (void) thread;
  live = state;
  picks = live->picks;
  start = bench_thread_nsec ();
  lap->n_pairs = live->n_rounds * live->batch;
  for (uint64_t r = 0; r < live->n_rounds; r++, picks += live->batch)
    {
      double gathered;

      live_gather (live, picks);
      gathered = bench_thread_nsec ();
      BENCH_BODY (run, live_body, live->hand, live->batch,
                  run->parameters.size_min);
      net_nsec += bench_thread_nsec () - gathered;
      live_scatter (live, picks);
    }
  lap->part_nsec[0] = bench_thread_nsec () - start;
  lap->part_nsec[1] = lap->part_nsec[0] - net_nsec;
  lap->part_nsec[2] = net_nsec;
}

/* Distinct picks for a batch: a random start and an odd stride, taken modulo
 * a power of two, skipping what lies beyond n_blocks. */
static void
picks_draw (LiveSet *live, uint32_t *picks, uint64_t *random)
{
  uint64_t mask = 1;
  uint64_t multiplier;
  uint64_t add;
  uint64_t x;

  while (mask < live->n_blocks)
    mask *= 2;
  multiplier = random_next (random) | 5;
  add = random_next (random) | 1;
  multiplier = (multiplier & ~UINT64_C (7)) | 5; /* full period */
  x = random_next (random);
  for (size_t i = 0; i < live->batch;)
    {
      uint64_t mixed;

      x = (x * multiplier + add) & (mask - 1);
      mixed = x ^ x >> 1; /* a bijection below mask */
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
  live->hand = bench_map (live->batch * sizeof (void *));
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

enum
{
  LIVE_BATCH_MIN = 1000 /* fewer, and reading the clock would show */
};

static void *
live_deep_enter (Run *run, unsigned thread)
{
  size_t tenth = run->parameters.n_blocks / 10;

  return live_new (run, thread,
                   tenth > LIVE_BATCH_MIN ? tenth : LIVE_BATCH_MIN);
}

static void
live_leave (Run *run, unsigned thread, void *state)
{
  LiveSet *live;

  (void) thread;
  live = state;
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
