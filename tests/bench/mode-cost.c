/* mode-cost.c - what a block costs in each mode, beside GSlice
 *
 *   mode-cost [ROUNDS]      the table (9 rounds)
 *   mode-cost --one ALLOCATOR PATTERN SIZE PAIRS
 *                           one measurement, for callgrind
 *
 * A measurement is a process of its own, for the modes are chosen with the
 * first block.  All of a round run one after the other, so that what else the
 * machine does hits each alike; the quickest of many short laps counts, by the
 * thread's processor time; then the median of the rounds' ratios to GSlice.
 * Patterns: a block allocated and freed at once; 48 allocated, then 48 freed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <slice/slice.h>

#include "tests/bench/measure.h"

enum
{
  BATCH = 48,
  N_LAPS = 300,
  LAP_PAIRS = 2400,
  ROUNDS_MAX = 99
};

static const char *const modes[]
    = { "gslice", "default", "checked", "hardened", "debug" };
static const size_t sizes[] = { 48, 240, 1000 };
static const char *const patterns[] = { "pair", "batch" };

static void
slice_pairs (size_t size, unsigned n)
{
  while (n-- > 0)
    slice_free1 (size, slice_alloc (size));
}

static void
gslice_pairs (size_t size, unsigned n)
{
  while (n-- > 0)
    g_slice_free1 (size, g_slice_alloc (size));
}

static void
slice_batches (size_t size, unsigned n)
{
  void *blocks[BATCH];

  for (; n >= BATCH; n -= BATCH)
    {
      for (int i = 0; i < BATCH; i++)
        blocks[i] = slice_alloc (size);
      for (int i = 0; i < BATCH; i++)
        slice_free1 (size, blocks[i]);
    }
}

static void
gslice_batches (size_t size, unsigned n)
{
  void *blocks[BATCH];

  for (; n >= BATCH; n -= BATCH)
    {
      for (int i = 0; i < BATCH; i++)
        blocks[i] = g_slice_alloc (size);
      for (int i = 0; i < BATCH; i++)
        g_slice_free1 (size, blocks[i]);
    }
}

typedef void (*Pattern) (size_t size, unsigned n);

static Pattern
pattern_of (const char *allocator, const char *pattern)
{
  gboolean is_gslice = strcmp (allocator, "gslice") == 0;

  if (strcmp (pattern, "pair") == 0)
    return is_gslice ? gslice_pairs : slice_pairs;
  return is_gslice ? gslice_batches : slice_batches;
}

static double
now_nsec (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (double) now.tv_sec * 1e9 + (double) now.tv_nsec;
}

static double
quickest_lap (Pattern run, size_t size)
{
  double best = 1e18;

  run (size, 4 * LAP_PAIRS);
  for (int lap = 0; lap < N_LAPS; lap++)
    {
      double start = now_nsec ();

      run (size, LAP_PAIRS);
      best = MIN (best, (now_nsec () - start) / LAP_PAIRS);
    }
  return best;
}

/* In a child, for each mode begins with a process. */
static double
measure (const char *allocator, const char *pattern, size_t size)
{
  double nsec = 0;
  int ends[2], status;
  pid_t pid;

  if (pipe (ends) != 0)
    return 0;
  pid = fork ();
  if (pid == 0)
    {
      setenv ("SLICE_OPTIONS",
              strcmp (allocator, "default") == 0 ? "" : allocator, 1);
      nsec = quickest_lap (pattern_of (allocator, pattern), size);
      _exit (write (ends[1], &nsec, sizeof nsec) != sizeof nsec);
    }
  close (ends[1]);
  if (read (ends[0], &nsec, sizeof nsec) != sizeof nsec)
    nsec = 0;
  close (ends[0]);
  waitpid (pid, &status, 0);
  return nsec;
}

static void
print_row (const char *pattern, size_t size, int n_rounds)
{
  static double ratios[G_N_ELEMENTS (modes)][ROUNDS_MAX];
  double nsec[G_N_ELEMENTS (modes)], gslice[ROUNDS_MAX];

  for (int i = 0; i < n_rounds; i++)
    {
      for (size_t m = 0; m < G_N_ELEMENTS (modes); m++)
        nsec[m] = measure (modes[m], pattern, size);
      for (size_t m = 0; m < G_N_ELEMENTS (modes); m++)
        ratios[m][i] = nsec[m] / nsec[0];
      gslice[i] = nsec[0];
    }
  printf ("%-6s %5zu %9.2f", pattern, size,
          measure_median (gslice, (unsigned) n_rounds));
  for (size_t m = 1; m < G_N_ELEMENTS (modes); m++)
    printf (" %9.2f", measure_median (ratios[m], (unsigned) n_rounds));
  putchar ('\n');
  fflush (stdout);
}

int
main (int argc, char **argv)
{
  int n_rounds = argc == 2 ? atoi (argv[1]) : 9;

  if (argc == 6 && strcmp (argv[1], "--one") == 0)
    {
      pattern_of (argv[2], argv[3]) ((size_t) atol (argv[4]),
                                     (unsigned) atol (argv[5]));
      return 0;
    }
  if (n_rounds < 1 || n_rounds > ROUNDS_MAX)
    return 2;
  printf ("# %d rounds; GSlice in ns a pair, the modes as ratios to it\n"
          "%-6s %5s %9s %9s %9s %9s %9s\n",
          n_rounds, "", "bytes", "gslice", modes[1], modes[2], modes[3],
          modes[4]);
  fflush (stdout);
  for (size_t p = 0; p < G_N_ELEMENTS (patterns); p++)
    for (size_t s = 0; s < G_N_ELEMENTS (sizes); s++)
      print_row (patterns[p], sizes[s], n_rounds);
  return 0;
}
