/* random.h - the same numbers in each run
 *
 * SPDX-License-Identifier: MIT
 */
static unsigned random_state = 1;

/* A number from 0 to n - 1. */
static unsigned
below (unsigned n)
{
  random_state = random_state * 1664525 + 1013904223;
  return (unsigned)((unsigned long long)random_state * n >> 32);
}
