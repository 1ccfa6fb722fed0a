/* many.c - more events, and stacks, than a small spool can hold
 *
 * Tests: a program to be recorded, with this many threads.
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdlib.h>

static void *volatile sink;

static __attribute__ ((noinline)) void
take (unsigned bits, int depth)
{
  if (depth == 0)
    sink = malloc (16);
  else if (bits & 1)
    take (bits >> 1, depth - 1);
  else
    take (bits >> 1, depth - 1);
  if (depth == 0)
    free (sink);
  __asm__ volatile ("" ::: "memory");
}

static void *
work (void *unused)
{
  for (int i = 0; i < 100000; i++)
    {
      void *volatile block = malloc (24);

      free (block);
      if (unused == NULL && i % 10 == 0)
        take ((unsigned)i, 14);
    }
  return NULL;
}

int
main (int argc, char **argv)
{
  pthread_t threads[64];
  int n = argc > 1 ? atoi (argv[1]) : 0;

  for (int i = 0; i < n; i++)
    pthread_create (&threads[i], NULL, work, threads);
  work (NULL);
  for (int i = 0; i < n; i++)
    pthread_join (threads[i], NULL);
  return 0;
}
