/* race.c - one thread resizes while another takes what it left
 *
 * Tests: a program to be recorded.  SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_bool stop;

static void *
take (void *unused)
{
  (void)unused;
  while (!stop)
    {
      void *volatile block = malloc (1000);

      free (block);
    }
  return NULL;
}

int
main (void)
{
  pthread_t thread;

  pthread_create (&thread, NULL, take, NULL);
  for (int i = 0; i < 50000; i++)
    {
      void *volatile block = malloc (1000);

      block = realloc (block, 20000);
      block = realloc (block, 1000);
      free (block);
    }
  stop = 1;
  pthread_join (thread, NULL);
  return 0;
}
