/* load-slice-test.c - the pattern of GLib's own stress program
 *
 * A repetition is one of the announced walk (tests/adaptors/walk.h); after it,
 * a row of n_blocks/100 blocks of one size is allocated and freed.
 * slice-test-literal divides by a number in memory as the original program
 * does.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/bench/frame/measured.h"
#include "load.h"
#include <tests/adaptors/walk.h>

typedef enum
{
  SLICE_TEST_PLAIN,
  SLICE_TEST_TOUCH,
  SLICE_TEST_LITERAL
} SliceTestKind;

enum
{
  SIZE_MIN_BYTES = 1
};

uint32_t walk_modulus;

/* The calls that are put into the loops. */

BENCH_INLINE void *
timed_alloc (size_t size)
{
  return bench_alloc (false, size, 0);
}

BENCH_INLINE void *
timed_touched_alloc (size_t size)
{
  void *block = bench_alloc (false, size, size);

  bench_touch (block, size);
  return block;
}

BENCH_INLINE void
timed_free (size_t size, void *block)
{
  bench_free (false, size, block);
}

BENCH_INLINE void *
observed_alloc (size_t size)
{
  return bench_alloc (true, size, 0);
}

BENCH_INLINE void *
observed_touched_alloc (size_t size)
{
  void *block = bench_alloc (true, size, size);

  bench_touch (block, size);
  return block;
}

BENCH_INLINE void
observed_free (size_t size, void *block)
{
  bench_free (true, size, block);
}

BENCH_INLINE void
test_loop (AllocCall alloc_call, FreeCall free_call, Walk *walk,
           uint64_t n_repetitions, const bool is_literal)
{
  size_t n_row = walk->n_blocks / 100;
  void **row = walk->blocks + walk->n_blocks;

  for (uint64_t r = 0; r < n_repetitions; r++)
    {
      uint32_t size;

      walk_announced (alloc_call, free_call, walk, SIZE_MIN_BYTES, is_literal);
      walk->random = walk_next (walk->random);
      size = SIZE_MIN_BYTES
             + walk_size (walk->random, walk->modulus, is_literal);
      walk_row (alloc_call, free_call, row, n_row, size);
    }
}

BENCH_INLINE void
test_body (Walk *walk, uint64_t n_repetitions, const SliceTestKind kind,
           const bool observed)
{
  const bool is_literal = kind == SLICE_TEST_LITERAL;
  const bool is_touched = kind == SLICE_TEST_TOUCH;

  if (observed)
    test_loop (is_touched ? observed_touched_alloc : observed_alloc,
               observed_free, walk, n_repetitions, is_literal);
  else
    test_loop (is_touched ? timed_touched_alloc : timed_alloc, timed_free,
               walk, n_repetitions, is_literal);
}

static uint64_t
test_repetitions (const Run *run)
{
  uint64_t n = run->parameters.n_operations / (run->parameters.n_blocks / 2);

  return n != 0 ? n : 1;
}

BENCH_INLINE void
test_lap (Run *run, void *state, Lap *lap, const SliceTestKind kind)
{
  size_t n_blocks = run->parameters.n_blocks;
  uint64_t n_repetitions = test_repetitions (run);

  lap->n_pairs = n_repetitions * (n_blocks / 2 + n_blocks / 100);
  BENCH_BODY (run, test_body, state, n_repetitions, kind);
}

static void
plain_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  (void) thread;
  test_lap (run, state, lap, SLICE_TEST_PLAIN);
}

static void
touch_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  (void) thread;
  test_lap (run, state, lap, SLICE_TEST_TOUCH);
}

static void
literal_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  (void) thread;
  test_lap (run, state, lap, SLICE_TEST_LITERAL);
}

static void *
test_enter (Run *run, unsigned thread)
{
  size_t n_blocks = run->parameters.n_blocks;
  Walk *walk = bench_map (sizeof *walk);

  walk->n_blocks = (uint32_t) n_blocks;
  walk->modulus = (uint32_t) run->parameters.size_max;
  walk->random = (uint32_t) random_seed (run, thread);
  walk->blocks = bench_map ((n_blocks + n_blocks / 100) * sizeof (void *));
  walk->sizes = bench_map (n_blocks * sizeof *walk->sizes);
  for (size_t i = 0; i < n_blocks; i++)
    {
      walk->random = walk_next (walk->random);
      walk->sizes[i] = SIZE_MIN_BYTES + walk->random % walk->modulus;
      walk->blocks[i] = bench_alloc (run->is_observed, walk->sizes[i], 0);
    }
  return walk;
}

static void
test_leave (Run *run, unsigned thread, void *state)
{
  const Walk *walk;

  (void) thread;
  walk = state;
  for (size_t i = 0; i < walk->n_blocks; i++)
    bench_free (run->is_observed, walk->sizes[i], walk->blocks[i]);
}

void
load_slice_test (Run *run)
{
  bench_gang (run, &(GangWork){ .enter = test_enter,
                                .lap = plain_lap,
                                .leave = test_leave });
}

void
load_slice_test_touch (Run *run)
{
  bench_gang (run, &(GangWork){ .enter = test_enter,
                                .lap = touch_lap,
                                .leave = test_leave });
}

void
load_slice_test_literal (Run *run)
{
  walk_modulus = (uint32_t) run->parameters.size_max;
  bench_gang (run, &(GangWork){ .enter = test_enter,
                                .lap = literal_lap,
                                .leave = test_leave });
}
