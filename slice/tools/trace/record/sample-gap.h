/* sample-gap.h - random gaps between the samples, in bytes
 *
 * Tools.  The bytes that a thread allocates are a line, and points on it are a
 * Poisson process: the gaps between them are exponential.  A block is sampled
 * if it has a point.  Without libm, since the preloaded recorder needs the C
 * library alone.
 *
 * Design: section 13.12.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_RECORD_SAMPLE_GAP_H
#define SLI_TRACE_RECORD_SAMPLE_GAP_H

#include <stdint.h>

/* Mixes the bits of a number (the last steps of splitmix64). */
static inline uint64_t
sample_mix (uint64_t value)
{
  value = (value ^ value >> 30) * UINT64_C (0xBF58476D1CE4E5B9);
  value = (value ^ value >> 27) * UINT64_C (0x94D049BB133111EB);
  return value ^ value >> 31;
}

/* The next random number (splitmix64). */
static inline uint64_t
sample_random (uint64_t *state)
{
  *state += UINT64_C (0x9E3779B97F4A7C15);
  return sample_mix (*state);
}

/* The natural logarithm of n, from 1 to 2^53; the error is below 1e-9. */
static inline double
sample_log (uint64_t n)
{
  int exponent = 63 - __builtin_clzll (n);
  double m = (double) n / (double) (UINT64_C (1) << exponent); /* 1 to 2 */
  double t, t2, sum;

  if (m > 1.4142135623730951)
    {
      m /= 2;
      exponent++;
    }
  /* ln m = 2 artanh t */
  t = (m - 1) / (m + 1);
  t2 = t * t;
  sum = 1.0 / 13;
  for (int i = 11; i > 0; i -= 2)
    sum = sum * t2 + 1.0 / i;
  return exponent * 0.6931471805599453 + 2 * t * sum;
}

/* A gap: the distance of the next point, in whole bytes, at least 1.
 *
 * mean_bytes  of the exponential distribution
 */
static inline uint64_t
sample_gap (uint64_t *state, uint64_t mean_bytes)
{
  uint64_t n = (sample_random (state) >> 11) + 1; /* of 2^53 */
  double unit = 53 * 0.6931471805599453 - sample_log (n);

  return (unit > 0 ? (uint64_t) (unit * (double) mean_bytes) : 0) + 1;
}

#endif
