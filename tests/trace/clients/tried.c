/* tried.c - sites for slice-trace predict
 *
 * Tests.  Three functions allocate: lists that are freed whole, items of a
 * queue, and texts that grow.  The output says whether all contents were as
 * written.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ROUNDS 200
#define N_ITEMS 100

typedef struct item
{
  struct item *next;
  unsigned number;
  char zero[12];
} item;

static unsigned n_wrong;

__attribute__ ((noinline)) static item *
list_item (item *next, unsigned number)
{
  item *made = malloc (sizeof *made);

  if (made == NULL)
    abort ();
  made->next = next;
  made->number = number;
  return made;
}

__attribute__ ((noinline)) static item *
queue_item (unsigned number)
{
  item *made = calloc (1, sizeof *made);

  if (made == NULL)
    abort ();
  for (unsigned i = 0; i < sizeof made->zero; i++)
    n_wrong += made->zero[i] != 0;
  memset (made->zero, 1, sizeof made->zero);
  made->number = number;
  return made;
}

__attribute__ ((noinline)) static char *
text_grow (unsigned number)
{
  char *text = malloc (16), wanted[16];

  if (text == NULL)
    abort ();
  snprintf (text, 16, "%u", number);
  memcpy (wanted, text, sizeof wanted);
  text = realloc (text, 400);
  if (text == NULL)
    abort ();
  n_wrong += strcmp (text, wanted) != 0;
  return text;
}

static void
list_use (void)
{
  item *list = NULL, *next;
  unsigned number = N_ITEMS;

  for (unsigned i = 1; i <= N_ITEMS; i++)
    list = list_item (list, i);
  for (; list != NULL; list = next)
    {
      n_wrong += list->number != number--;
      next = list->next;
      free (list);
    }
}

static void
queue_use (void)
{
  static item *queue[N_ITEMS];
  static unsigned n;

  for (unsigned i = 0; i < N_ITEMS; i++, n++)
    {
      item **slot = &queue[n % N_ITEMS];

      if (*slot != NULL)
        n_wrong += (*slot)->number != n - N_ITEMS;
      free (*slot);
      *slot = queue_item (n);
    }
}

static void *
rounds (void *unused)
{
  for (unsigned i = 0; i < N_ROUNDS; i++)
    {
      list_use ();
      queue_use ();
      free (text_grow (i));
    }
  return unused;
}

int
main (int argc, char **argv)
{
  pthread_t thread;

  (void) argv;
  rounds (NULL);
  if (argc > 1
      && (pthread_create (&thread, NULL, rounds, NULL) != 0
          || pthread_join (thread, NULL) != 0))
    return 1;
  printf ("%u wrong\n", n_wrong);
  return n_wrong != 0;
}
