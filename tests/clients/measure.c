/* measure.c - runs a program and writes down what it used
 *
 *   measure FILE PROGRAM [ARGUMENT...]
 *
 * FILE gets one line: user, system and wall seconds, and peak RSS in KiB.
 * Small on purpose: a process's peak counts from before its exec, so it must
 * not be started by a large one.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double
seconds (struct timeval time)
{
  return (double) time.tv_sec + (double) time.tv_usec * 1e-6;
}

static double
now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return (double) time.tv_sec + (double) time.tv_nsec * 1e-9;
}

int
main (int argc, char **argv)
{
  double start = now ();
  struct rusage usage;
  int status;
  pid_t pid;
  FILE *file;

  if (argc < 3)
    {
      fprintf (stderr, "usage: measure FILE PROGRAM [ARGUMENT...]\n");
      return 125;
    }
  pid = fork ();
  if (pid == 0)
    {
      execvp (argv[2], argv + 2);
      perror (argv[2]);
      _exit (127);
    }
  if (pid < 0 || wait4 (pid, &status, 0, &usage) != pid)
    {
      perror ("measure");
      return 125;
    }
  file = fopen (argv[1], "w");
  if (file == NULL
      || fprintf (file, "%.6f %.6f %.6f %ld\n", seconds (usage.ru_utime),
                  seconds (usage.ru_stime), now () - start, usage.ru_maxrss)
             < 0
      || fclose (file) != 0)
    {
      perror (argv[1]);
      return 125;
    }
  return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}
