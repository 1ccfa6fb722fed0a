/* arena-constant.c - what must cost the same however much there is
 *
 *   arena-constant [ROUNDS]
 *
 * The release of an object across a block's boundary, with one block below
 * and with a thousand; the move of an arena to another context, with one
 * object in it and with 100,000.  Interleaved, medians over the rounds, CPU
 * time of the thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <slice/arena.h>
#include <slice/ralloc.h>

#include "tests/bench/measure.h"

enum
{
  ROUNDS_MAX = 99,
  N_REPEATS = 100000,
  OBJECT_BYTES = 512,
  N_OBJECTS = 100000
};

static double
now_nsec (void)
{
  return measure_nsec (CLOCK_THREAD_CPUTIME_ID);
}

static size_t
n_blocks (const SliceStack *stack)
{
  SliceArenaStats stats;

  slice_stack_get_stats (stack, &stats);
  return stats.n_blocks;
}

/* --- stack --------------------------------------------------------------- */

typedef struct
{
  SliceStack *stack;
  void *last;  /* of its block */
  void *first; /* of the next one, and the top */
  size_t n_blocks;
} Boundary;

static Boundary
boundary_reach (size_t n)
{
  SliceArenaOptions options
      = { .first_bytes = 4096, .cap_bytes = 4096, .flags = 0 };
  Boundary boundary = { .stack = slice_stack_new (&options) };

  do
    {
      boundary.last = boundary.first;
      boundary.first = slice_stack_alloc (boundary.stack, OBJECT_BYTES);
      boundary.n_blocks = n_blocks (boundary.stack);
    }
  while (boundary.first != NULL && boundary.n_blocks <= n);
  return boundary;
}

/* Down over the boundary and up again. */
static double
boundary_nsec (Boundary *boundary)
{
  double start = now_nsec ();

  for (int i = 0; i < N_REPEATS; i++)
    {
      slice_stack_release (boundary->stack, boundary->first);
      slice_stack_release (boundary->stack, boundary->last);
      boundary->last = slice_stack_alloc (boundary->stack, OBJECT_BYTES);
      boundary->first = slice_stack_alloc (boundary->stack, OBJECT_BYTES);
    }
  return (now_nsec () - start) / N_REPEATS;
}

static void
boundaries (int n_rounds)
{
  static const size_t wanted[] = { 1, 1000 };
  Boundary all[2];
  double nsec[2][ROUNDS_MAX];
  double medians[2];

  for (int i = 0; i < 2; i++)
    all[i] = boundary_reach (wanted[i]);
  for (int round = 0; round < n_rounds; round++)
    for (int i = 0; i < 2; i++)
      nsec[i][round] = boundary_nsec (&all[i]);
  printf ("stack: two objects released and put back across a boundary\n");
  for (int i = 0; i < 2; i++)
    {
      medians[i] = measure_median (nsec[i], (unsigned) n_rounds);
      printf ("  %6zu blocks below %9.1f ns  %6.3f  %zu blocks asked after"
              " the start\n",
              wanted[i], medians[i], medians[i] / medians[0],
              n_blocks (all[i].stack) - all[i].n_blocks);
      slice_stack_destroy (all[i].stack);
    }
}

/* --- context ------------------------------------------------------------- */

static double
steal_nsec (void *here, void *there, SliceLinear *linear)
{
  double start = now_nsec ();

  for (int i = 0; i < N_REPEATS; i += 2)
    {
      ralloc_steal (there, linear);
      ralloc_steal (here, linear);
    }
  return (now_nsec () - start) / N_REPEATS;
}

static void
steals (int n_rounds)
{
  static const int wanted[] = { 1, N_OBJECTS };
  void *here = ralloc_context (NULL);
  void *there = ralloc_context (NULL);
  SliceLinear *linear[2];
  double nsec[2][ROUNDS_MAX];
  double medians[2];

  for (int i = 0; i < 2; i++)
    {
      linear[i] = slice_linear_new_in (here, NULL);
      for (int n = 0; n < wanted[i]; n++)
        slice_linear_alloc (linear[i], 64);
    }
  for (int round = 0; round < n_rounds; round++)
    for (int i = 0; i < 2; i++)
      nsec[i][round] = steal_nsec (here, there, linear[i]);
  printf ("context: an arena stolen\n");
  for (int i = 0; i < 2; i++)
    {
      medians[i] = measure_median (nsec[i], (unsigned) n_rounds);
      printf ("  %6d objects      %9.1f ns  %6.3f\n", wanted[i], medians[i],
              medians[i] / medians[0]);
    }
  ralloc_free (here);
  ralloc_free (there);
}

int
main (int argc, char **argv)
{
  int n_rounds = argc > 1 ? atoi (argv[1]) : 9;

  if (n_rounds < 1 || n_rounds > ROUNDS_MAX)
    {
      fprintf (stderr, "arena-constant: 1 to %d rounds\n", ROUNDS_MAX);
      return 2;
    }
  boundaries (n_rounds);
  steals (n_rounds);
  return 0;
}
