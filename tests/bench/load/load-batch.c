/* load-batch.c - pairs and batches: the fast path, alone and just beyond
 *
 * Blocks are not touched (`skewed` touches them), so that the allocator's own
 * work is what is seen.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/bench/frame/measured.h"
#include "load.h"

/* Runs a body with the size as a compile-time constant where it is one of the
 * usual test sizes, since that is how a typed allocation is compiled. */
#define BY_CONSTANT_SIZE(run, body, ...)                                      \
 switch ((run)->parameters.size_min)                                          \
  {                                                                           \
  case 16:                                                                    \
   BENCH_BODY (run, body, __VA_ARGS__, 16);                                   \
   break;                                                                     \
  case 48:                                                                    \
   BENCH_BODY (run, body, __VA_ARGS__, 48);                                   \
   break;                                                                     \
  case 64:                                                                    \
   BENCH_BODY (run, body, __VA_ARGS__, 64);                                   \
   break;                                                                     \
  case 256:                                                                   \
   BENCH_BODY (run, body, __VA_ARGS__, 256);                                  \
   break;                                                                     \
  default:                                                                    \
   BENCH_BODY (run, body, __VA_ARGS__, (run)->parameters.size_min);           \
  }

/* --- pairs -----------------------------------------------------------------
 */

BENCH_INLINE void
pair_body (uint64_t n, size_t size, const bool observed)
{
  for (uint64_t i = 0; i < n; i++)
    bench_free (observed, size, bench_alloc (observed, size, 0));
}

static void
pair_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  (void) thread, (void) state;
  lap->n_pairs = run->parameters.n_operations;
  BY_CONSTANT_SIZE (run, pair_body, lap->n_pairs);
}

static void
pair_variable_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  size_t size;

  (void) thread, (void) state;
  size = run->parameters.size_min;
  __asm__ volatile("" : "+r"(size));
  lap->n_pairs = run->parameters.n_operations;
  BENCH_BODY (run, pair_body, lap->n_pairs, size);
}

void
load_pair (Run *run)
{
  bench_gang (run, &(GangWork){ .lap = pair_lap });
}

void
load_pair_variable (Run *run)
{
  bench_gang (run, &(GangWork){ .lap = pair_variable_lap });
}

/* --- batches ---------------------------------------------------------------
 */

static void *
batch_enter (Run *run, unsigned thread)
{
  (void) thread;
  return bench_map (run->parameters.batch * sizeof (void *));
}

static void
batch_leave (Run *run, unsigned thread, void *state)
{
  (void) thread;
  bench_unmap (state, run->parameters.batch * sizeof (void *));
}

static uint64_t
batch_rounds (const Run *run)
{
  uint64_t n = run->parameters.n_operations / run->parameters.batch;

  return n != 0 ? n : 1;
}

BENCH_INLINE void
lifo_body (uint64_t n_rounds, void **blocks, size_t batch, size_t size,
           const bool observed)
{
  for (uint64_t r = 0; r < n_rounds; r++)
    {
      for (size_t i = 0; i < batch; i++)
        blocks[i] = bench_alloc (observed, size, 0);
      for (size_t i = batch; i-- > 0;)
        bench_free (observed, size, blocks[i]);
    }
}

BENCH_INLINE void
fifo_body (uint64_t n_rounds, void **blocks, size_t batch, size_t size,
           const bool observed)
{
  for (uint64_t r = 0; r < n_rounds; r++)
    {
      for (size_t i = 0; i < batch; i++)
        blocks[i] = bench_alloc (observed, size, 0);
      for (size_t i = 0; i < batch; i++)
        bench_free (observed, size, blocks[i]);
    }
}

static void
lifo_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  uint64_t n_rounds;
  size_t batch;

  (void) thread;
  n_rounds = batch_rounds (run);
  batch = run->parameters.batch;
  lap->n_pairs = n_rounds * batch;
  BY_CONSTANT_SIZE (run, lifo_body, n_rounds, state, batch);
}

static void
fifo_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  uint64_t n_rounds;
  size_t batch;

  (void) thread;
  n_rounds = batch_rounds (run);
  batch = run->parameters.batch;
  lap->n_pairs = n_rounds * batch;
  BY_CONSTANT_SIZE (run, fifo_body, n_rounds, state, batch);
}

void
load_lifo (Run *run)
{
  bench_gang (run, &(GangWork){ .enter = batch_enter,
                                .lap = lifo_lap,
                                .leave = batch_leave });
}

void
load_fifo (Run *run)
{
  bench_gang (run, &(GangWork){ .enter = batch_enter,
                                .lap = fifo_lap,
                                .leave = batch_leave });
}

/* --- skewed sizes, odd order
 * ------------------------------------------------- */

typedef struct
{
  void **blocks;
  uint32_t *order;  /* in which a batch is freed */
  uint16_t *sizes;  /* of SKEWED_N_SIZES blocks, used round and round */
  size_t next_size; /* where in sizes the next batch starts */
} Skewed;

enum
{
  SKEWED_N_SIZES = 1 << 14 /* 32 KiB: random enough, and stays in L2 */
};

static void *
skewed_enter (Run *run, unsigned thread)
{
  size_t batch = run->parameters.batch;
  uint64_t random = random_seed (run, thread);
  Skewed *skewed = bench_map (sizeof *skewed);

  skewed->blocks = bench_map (batch * sizeof *skewed->blocks);
  skewed->order = bench_map (batch * sizeof *skewed->order);
  skewed->sizes = bench_map (SKEWED_N_SIZES * sizeof *skewed->sizes);
  random_order (skewed->order, batch, &random);
  for (size_t i = 0; i < SKEWED_N_SIZES; i++)
    skewed->sizes[i] = (uint16_t) random_compiler_size (&random);
  return skewed;
}

BENCH_INLINE void
skewed_body (Skewed *skewed, size_t batch, uint64_t n_rounds,
             const bool observed)
{
  void **blocks = skewed->blocks;
  const uint16_t *sizes = skewed->sizes;
  size_t mask = SKEWED_N_SIZES - 1;

  for (uint64_t r = 0; r < n_rounds; r++)
    {
      size_t start = skewed->next_size;

      for (size_t i = 0; i < batch; i++)
        {
          blocks[i] = bench_alloc (observed, sizes[(start + i) & mask], 8);
          *(volatile uint64_t *) blocks[i] = i;
        }
      for (size_t i = 0; i < batch; i++)
        {
          size_t k = skewed->order[i];

          bench_free (observed, sizes[(start + k) & mask], blocks[k]);
        }
      skewed->next_size = (start + batch) & mask;
    }
}

static void
skewed_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  uint64_t n_rounds;

  (void) thread;
  n_rounds = batch_rounds (run);
  lap->n_pairs = n_rounds * run->parameters.batch;
  BENCH_BODY (run, skewed_body, state, run->parameters.batch, n_rounds);
}

void
load_skewed (Run *run)
{
  bench_gang (run, &(GangWork){ .enter = skewed_enter, .lap = skewed_lap });
}
