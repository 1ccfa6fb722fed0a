/* threads.c - pairs of malloc and free in several threads, some handed over
 *
 * Tests: a program to be recorded.  Arguments: threads, pairs each.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static int n_pairs;
static _Atomic (void *) exchange[64];

static void *
work (void *seed)
{
  unsigned random = (unsigned)(size_t)seed * 7919 + 1;

  for (int i = 0; i < n_pairs; i++)
    {
      void *block;

      random = random * 1664525 + 1013904223;
      block = malloc (16 + (random >> 16) % 200);
      /* every fourth block is freed by whoever comes by next */
      if ((random >> 8) % 4 == 0)
        block = atomic_exchange (&exchange[(random >> 24) % 64], block);
      free (block);
    }
  return NULL;
}

int
main (int argc, char **argv)
{
  int n = argc > 1 ? atoi (argv[1]) : 4;
  pthread_t threads[64];

  n_pairs = argc > 2 ? atoi (argv[2]) : 100000;
  for (int i = 0; i < n && i < 64; i++)
    pthread_create (&threads[i], NULL, work, (void *)(size_t)i);
  for (int i = 0; i < n && i < 64; i++)
    pthread_join (threads[i], NULL);
  for (int i = 0; i < 64; i++)
    free (exchange[i]);
  return 0;
}
