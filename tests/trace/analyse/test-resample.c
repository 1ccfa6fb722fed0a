/* test-resample.c - two series of the same kind do not differ
 *
 * Tests.  The numbers are pseudo-random with fixed seeds: each run is the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tools/trace/replay/resample.h"
#include <glib.h>
#include <math.h>

#define N_TRIALS 400

/* About normal: the sum of twelve uniform numbers, with a mean of 100. */
static double
measure (GRand *random)
{
  double sum = 0;

  for (int i = 0; i < 12; i++)
    sum += g_rand_double (random);
  return 94 + sum;
}

/* The share of pairs of series that are said to differ. */
static double
share_significant (size_t n, double factor)
{
  GRand *random = g_rand_new_with_seed (1);
  int n_significant = 0;

  for (int trial = 0; trial < N_TRIALS; trial++)
    {
      double before[20], after[20];

      for (size_t i = 0; i < n; i++)
        {
          before[i] = measure (random);
          after[i] = measure (random) * factor;
        }
      n_significant += sli_resample (before, after, n).significant;
    }
  g_rand_free (random);
  return n_significant / (double)N_TRIALS;
}

/* 5 % are wanted. */
static void
test_same (void)
{
  for (size_t n = 2; n <= 20; n = n < 5 ? n + 1 : n * 2)
    {
      double share = share_significant (n, 1);

      g_test_message ("%zu runs: %.3f", n, share);
      g_assert_cmpfloat (share, <, 0.08);
      g_assert_cmpfloat (share, >, 0.005);
    }
}

static void
test_different (void)
{
  g_assert_cmpfloat (share_significant (3, 1.05), >, 0.95);
  g_assert_cmpfloat (share_significant (10, 1.02), >, 0.95);
}

static void
test_interval (void)
{
  const double before[] = { 10, 12, 11 }, after[] = { 5, 6, 5.5 };
  Resampled resampled = sli_resample (before, after, 3);

  g_assert_cmpfloat (fabs (resampled.ratio - 0.5), <, 1e-9);
  g_assert_cmpfloat (resampled.low, <, 0.5);
  g_assert_cmpfloat (resampled.high, >, 0.5);
  g_assert_true (resampled.significant);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/trace/resample/same", test_same);
  g_test_add_func ("/trace/resample/different", test_different);
  g_test_add_func ("/trace/resample/interval", test_interval);
  return g_test_run ();
}
