/* watched.c - a program that is watched while it runs
 *
 * Tests: a program to be recorded.  It has allocated blocks before it writes
 * "ready", and waits for each line of its input:
 *
 *   grow N     the main thread allocates N blocks of 100 bytes, and keeps them
 *   old N      frees N of the blocks of 1000 bytes that it had at the start
 *   churn      starts threads that allocate blocks of 24 bytes, some of which
 *              another thread frees, until "calm", which ends them
 *   fork       forks a child that allocates, and waits for the next line, too
 *   shrink     frees what "grow" has allocated
 *   end        exits; "kill": ends by a signal
 *
 * It answers each line with "done".
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_OLD 1000
#define N_GROWN 100000
#define N_THREADS 4
#define N_PASSED 64

static void *old[N_OLD], *grown[N_GROWN];
static int n_old, n_grown;
static atomic_bool calm;
static _Atomic (void *) passed[N_PASSED];
static pthread_t threads[N_THREADS];

__attribute__ ((noinline)) static void *
old_make (void)
{
  return malloc (1000);
}

__attribute__ ((noinline)) static void *
grown_make (void)
{
  return malloc (100);
}

/* Half of its blocks are freed by whoever takes their place. */
static void *
churn (void *unused)
{
  unsigned n = 0;

  (void) unused;
  while (!calm)
    {
      free (malloc (24));
      free (atomic_exchange (&passed[n++ % N_PASSED], malloc (24)));
    }
  return NULL;
}

static void
threads_end (void)
{
  calm = true;
  for (int i = 0; i < N_THREADS; i++)
    pthread_join (threads[i], NULL);
  for (int i = 0; i < N_PASSED; i++)
    free (atomic_exchange (&passed[i], NULL));
  calm = false;
}

/* Allocates as long as its parent keeps the pipe open. */
static void
child_run (int from_parent)
{
  char byte;
  void *volatile block;

  for (int i = 0; i < 500; i++)
    {
      block = malloc (777);
      free (block);
    }
  if (read (from_parent, &byte, 1) < 0)
    _exit (1);
  _exit (0);
}

static void
fork_and_wait (char *line, int size)
{
  int ends[2];
  pid_t pid;

  if (pipe (ends) != 0 || (pid = fork ()) < 0)
    exit (1);
  if (pid == 0)
    {
      close (ends[1]);
      child_run (ends[0]);
    }
  close (ends[0]);
  printf ("child %d\n", (int) pid);
  if (fgets (line, size, stdin) == NULL)
    exit (1);
  close (ends[1]);
  waitpid (pid, NULL, 0);
}

static void
obey (char *line, int size)
{
  int n = 0;

  if (sscanf (line, "grow %d", &n) == 1)
    while (n-- > 0)
      grown[n_grown++] = grown_make ();
  else if (sscanf (line, "old %d", &n) == 1)
    while (n-- > 0)
      free (old[--n_old]);
  else if (strcmp (line, "churn\n") == 0)
    for (int i = 0; i < N_THREADS; i++)
      pthread_create (&threads[i], NULL, churn, NULL);
  else if (strcmp (line, "calm\n") == 0)
    threads_end ();
  else if (strcmp (line, "shrink\n") == 0)
    while (n_grown > 0)
      free (grown[--n_grown]);
  else if (strcmp (line, "fork\n") == 0)
    fork_and_wait (line, size);
  else if (strcmp (line, "kill\n") == 0)
    raise (SIGKILL);
  else
    exit (0);
}

int
main (void)
{
  char line[64];

  setvbuf (stdout, NULL, _IOLBF, 4096);
  for (; n_old < N_OLD; n_old++)
    old[n_old] = old_make ();
  puts ("ready");
  while (fgets (line, sizeof line, stdin) != NULL)
    {
      obey (line, sizeof line);
      puts ("done");
    }
  return 0;
}
