/* pack-clock.c - measures the clock of the events
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "pack-clock.h"
#include <stdlib.h>
#include <time.h>

uint64_t
sli_pack_ticks_per_sec (const SpoolHead *head)
{
  struct timespec now;
  uint64_t ticks, nsec;

  clock_gettime (CLOCK_REALTIME, &now);
  ticks = ticks_now ();
  nsec = (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
  if (nsec < head->start_unix_nsec + 50000000)
    {
      /* too short: measure 20 ms here */
      struct timespec pause = { 0, 20000000 }, then;
      uint64_t more, passed;

      nanosleep (&pause, NULL);
      more = ticks_now ();
      clock_gettime (CLOCK_REALTIME, &then);
      passed = (uint64_t) (then.tv_sec - now.tv_sec) * 1000000000u
               + (uint64_t) then.tv_nsec - (uint64_t) now.tv_nsec;
      return (uint64_t) ((double) (more - ticks) * 1e9 / (double) passed);
    }
  return (uint64_t) ((double) (ticks - head->start_ticks) * 1e9
                     / (double) (nsec - head->start_unix_nsec));
}

static int
cost_compare (const void *a, const void *b)
{
  uint32_t left = *(const uint32_t *) a, right = *(const uint32_t *) b;

  return left < right ? -1 : left > right;
}

uint32_t
sli_pack_empty_cost (void)
{
  enum
  {
    N = 2001
  };
  static uint32_t costs[N];

  for (int i = 0; i < N; i++)
    {
      uint64_t begin = ticks_after ();

      costs[i] = (uint32_t) (ticks_after () - begin);
    }
  qsort (costs, N, sizeof *costs, cost_compare);
  return costs[N / 2];
}
