/* day-clock.h - a clock of the day that steps: for one source file of a test
 * program
 *
 * clock_gettime() is the program's own, before the C library's: what the clock
 * of the day says can be moved, and who asks for it is seen.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DAY_CLOCK_H
#define DAY_CLOCK_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static time_t day_clock_offset; /* in seconds */
static int n_day_clock_asked;

int
clock_gettime (clockid_t id, struct timespec *now)
{
  int result = (int) syscall (SYS_clock_gettime, id, now);

  if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
    {
      n_day_clock_asked++;
      now->tv_sec += day_clock_offset;
    }
  return result;
}

#endif
