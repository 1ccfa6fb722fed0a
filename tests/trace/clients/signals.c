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
#include <sys/time.h>
#include <time.h>

#define N 4096

static atomic_uint in_handler;

static void
handle (int number)
{
  (void)number;
  void *volatile block = malloc (32);
  free (block);
  in_handler++;
}

int
main (int argc, char **argv)
{
  struct timespec start, now;
  long limit = argc > 1 ? atol (argv[1]) : 1000;
  struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
  struct itimerval timer = { { 0, 100 }, { 0, 100 } };
  sigaction (SIGPROF, &action, NULL);
  setitimer (ITIMER_PROF, &timer, NULL);
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
