/* test-sample-gap.c - the gaps of a sampled recording are exponential
 *
 * Tests.  The numbers are pseudo-random with fixed seeds: each run is the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include "port/ticks.h"
#include "tools/trace/record/sample-gap.h"
#include <glib.h>
#include <math.h>

#define N_GAPS 200000
#define MEAN 1000

/* The root of the variance of a share of n. */
static double
share_error (double share, uint64_t n)
{
  return sqrt (share * (1 - share) / (double) n);
}

static void
test_log (void)
{
  for (uint64_t n = 1; n < 100000; n++)
    g_assert_cmpfloat (fabs (sample_log (n) - log ((double) n)), <, 1e-9);
  for (uint64_t n = 1; n <= UINT64_C (1) << 53; n = n * 3 / 2 + 1)
    g_assert_cmpfloat (fabs (sample_log (n) - log ((double) n)), <, 1e-9);
}

/* A block of that size has a point with the probability 1 - exp (-s / mean),
 * also if other blocks came before. */
static void
test_shares (void)
{
  static const uint64_t sizes[] = { 1, 10, 100, 1000, 5000 };

  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (uint64_t before = 0; before <= 700; before += 700)
      {
        uint64_t random = 1, n = 0, n_hit = 0;
        double share;

        for (int k = 0; k < N_GAPS; k++)
          {
            uint64_t gap = sample_gap (&random, MEAN);

            n += gap > before;
            n_hit += gap > before && gap - before <= sizes[i];
          }
        share = -expm1 (-(double) sizes[i] / MEAN);
        g_assert_cmpfloat (fabs ((double) n_hit / (double) n - share), <,
                           4 * share_error (share, n));
      }
}

/* A gap has whole bytes, at least 1: on average half a byte more. */
static void
test_mean (void)
{
  static const uint64_t means[] = { 1, 64, 1 << 19, 1 << 30 };

  for (size_t i = 0; i < G_N_ELEMENTS (means); i++)
    {
      uint64_t random = 7;
      double sum = 0, mean = (double) means[i];
      double wanted;

      for (int k = 0; k < N_GAPS; k++)
        {
          uint64_t gap = sample_gap (&random, means[i]);

          g_assert_cmpuint (gap, >=, 1);
          sum += (double) gap;
        }
      wanted = 1 / -expm1 (-1 / mean); /* of a geometric distribution */
      g_assert_cmpfloat (fabs (sum / N_GAPS - wanted), <,
                         4 * mean / sqrt (N_GAPS));
    }
}

/* Threads' random numbers share nothing that a correlation shows. */
static void
test_streams (void)
{
  uint64_t one = sample_mix (1), two = sample_mix (2);
  double sum = 0;

  for (int k = 0; k < N_GAPS; k++)
    sum += ((double) sample_gap (&one, MEAN) - MEAN)
           * ((double) sample_gap (&two, MEAN) - MEAN);
  g_assert_cmpfloat (fabs (sum / N_GAPS / MEAN / MEAN), <,
                     4 / sqrt (N_GAPS));
}

/* A size is subtracted, 0 as 1, whatever the distance. */
static void
test_distance (void)
{
  static const size_t numbers[]
      = { 0, 1, 2, 16, 1 << 20, SIZE_MAX / 2, SIZE_MAX - 1, SIZE_MAX };

  for (size_t i = 0; i < G_N_ELEMENTS (numbers); i++)
    for (size_t k = 0; k < G_N_ELEMENTS (numbers); k++)
      {
        size_t distance = numbers[i], size = numbers[k];
        size_t counted = size == 0 ? 1 : size;
        bool was_less = distance_take (&distance, size);

        g_assert_true (was_less == (numbers[i] < counted));
        g_assert_true (distance == numbers[i] - counted);
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/trace/sample-gap/log", test_log);
  g_test_add_func ("/trace/sample-gap/shares", test_shares);
  g_test_add_func ("/trace/sample-gap/mean", test_mean);
  g_test_add_func ("/trace/sample-gap/streams", test_streams);
  g_test_add_func ("/trace/sample-gap/distance", test_distance);
  return g_test_run ();
}
