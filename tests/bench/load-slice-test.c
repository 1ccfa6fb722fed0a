/* load-slice-test.c - the pattern of GLib's own stress program
 *
 * A thread holds n_blocks blocks of random sizes.  A repetition frees every
 * other one, then allocates as many of new sizes; after each repetition a row
 * of n_blocks/100 blocks of one size is allocated and freed.
 *
 * The size is a random number modulo size_max.  On some processors a division
 * by a number in memory, followed by a store to an address that depends on the
 * quotient, waits for older stores; that hit some builds and not others, by
 * what the compiler kept in registers.  So the modulus is held in a register
 * here; slice-test-literal leaves it in memory as the original program does.
 *
 * Source: the pattern of tests/slice-test.c in GLib 2.10 to 2.74.
 *
 * SPDX-License-Identifier: MIT
 */
#include "adaptor.h"
#include "load.h"

typedef enum
{
  SLICE_TEST_PLAIN,
  SLICE_TEST_TOUCH,
  SLICE_TEST_LITERAL
} SliceTestKind;

typedef struct
{
  void **blocks;
  uint32_t *sizes;
  uint32_t random; /* a linear congruence, as cheap as in the original */
} SliceTest;

/* The literal form's modulus: not constant, so that it is read each time. */
static uint32_t modulus_in_memory;

BENCH_INLINE uint32_t
size_next (uint32_t *random, uint32_t modulus, const SliceTestKind kind)
{
  *random = *random * 1664525u + 1013904223u;
  if (kind == SLICE_TEST_LITERAL)
    return 1 + *random % modulus_in_memory;
  /* Here and not before the loop: it may have been spilled since. */
  __asm__ volatile("" : "+r"(modulus));
  return 1 + *random % modulus;
}

BENCH_INLINE void *
test_alloc (size_t size, const SliceTestKind kind, const bool observed)
{
  void *block
      = bench_alloc (observed, size, kind == SLICE_TEST_TOUCH ? size : 0);
  if (kind == SLICE_TEST_TOUCH)
    bench_touch (block, size);
  return block;
}

BENCH_INLINE void
test_body (SliceTest *test, size_t n_blocks, uint64_t n_repetitions,
           uint32_t modulus, const SliceTestKind kind, const bool observed)
{
  void **blocks = test->blocks;
  uint32_t *sizes = test->sizes, random = test->random;
  size_t n_row = n_blocks / 100;
  __asm__ volatile("" : "+r"(modulus));
  for (uint64_t r = 0; r < n_repetitions; r++)
    {
      for (size_t i = 0; i < n_blocks; i += 2)
        bench_free (observed, sizes[i], blocks[i]);
      for (size_t i = 0; i < n_blocks; i += 2)
        {
          sizes[i] = size_next (&random, modulus, kind);
          blocks[i] = test_alloc (sizes[i], kind, observed);
        }
      uint32_t size = size_next (&random, modulus, kind);
      void **row = blocks + n_blocks;
      for (size_t i = 0; i < n_row; i++)
        row[i] = test_alloc (size, kind, observed);
      for (size_t i = 0; i < n_row; i++)
        bench_free (observed, size, row[i]);
    }
  test->random = random;
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
  BENCH_BODY (run, test_body, state, n_blocks, n_repetitions,
              (uint32_t) run->parameters.size_max, kind);
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
  SliceTest *test = bench_map (sizeof *test);
  test->blocks = bench_map ((n_blocks + n_blocks / 100) * sizeof (void *));
  test->sizes = bench_map (n_blocks * sizeof *test->sizes);
  test->random = (uint32_t) random_seed (run, thread);
  for (size_t i = 0; i < n_blocks; i++)
    {
      test->sizes[i]
          = size_next (&test->random, (uint32_t) run->parameters.size_max,
                       SLICE_TEST_PLAIN);
      test->blocks[i] = bench_alloc (run->is_observed, test->sizes[i], 0);
    }
  return test;
}

static void
test_leave (Run *run, unsigned thread, void *state)
{
  (void) thread;
  SliceTest *test = state;
  for (size_t i = 0; i < run->parameters.n_blocks; i++)
    bench_free (run->is_observed, test->sizes[i], test->blocks[i]);
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
  modulus_in_memory = (uint32_t) run->parameters.size_max;
  bench_gang (run, &(GangWork){ .enter = test_enter,
                                .lap = literal_lap,
                                .leave = test_leave });
}
