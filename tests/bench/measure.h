/* measure.h - clocks and medians, for the benchmarks that are one file
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdlib.h>
#include <time.h>

/* What a clock says, in nanoseconds. */
static inline double
measure_nsec (clockid_t clock)
{
  struct timespec now;

  clock_gettime (clock, &now);
  return 1e9 * (double) now.tv_sec + (double) now.tv_nsec;
}

static inline int
measure_compare (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* Sorts them. */
static inline double
measure_median (double *values, unsigned n)
{
  qsort (values, n, sizeof *values, measure_compare);
  return values[n / 2];
}

#endif
