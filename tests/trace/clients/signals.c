/* signals.c - malloc in a signal handler, often
 *
 * Tests: a program to be recorded, with an allocator of its own that may be
 * called from handlers (the C library's may not).  It only hands out, from a
 * ring.  Argument: how many milliseconds.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N 4096

static atomic_uint in_handler;

static void
handle (int number)
{
  void *volatile block;

  (void)number;
  block = malloc (32);
  free (block);
  in_handler++;
}

int
main (int argc, char **argv)
{
  struct timespec start, now;
  long limit = argc > 1 ? atol (argv[1]) : 1000;
  struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
  struct sigevent event
      = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
  struct itimerspec often = { { 0, 100000 }, { 0, 100000 } };
  timer_t timer;

  sigaction (SIGPROF, &action, NULL);
  /* ten thousand a second; ITIMER_PROF comes with the kernel's ticks */
  if (timer_create (CLOCK_MONOTONIC, &event, &timer) != 0
      || timer_settime (timer, 0, &often, NULL) != 0)
    return 1;
  clock_gettime (CLOCK_MONOTONIC, &start);
  do
    {
      for (int i = 0; i < 1000; i++)
        {
          void *volatile block = malloc (64);

          free (block);
        }
      clock_gettime (CLOCK_MONOTONIC, &now);
    }
  while ((now.tv_sec - start.tv_sec) * 1000
             + (now.tv_nsec - start.tv_nsec) / 1000000
         < limit);
  return in_handler > 0 ? 0 : 1;
}
