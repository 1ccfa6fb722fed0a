/* values.c - an interpreter's lists and numbers, with counted references
 *
 * All memory comes from one function, as in Lua.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

typedef enum
{
  NIL,
  NUMBER,
  PAIR
} kind;

typedef struct value
{
  kind kind;
  unsigned n_references;
  double number;
  struct value *head, *tail;
  long mark;
} value;

static void *
memory (void *block, size_t size)
{
  if (size == 0)
    {
      free (block);
      return NULL;
    }
  block = realloc (block, size);
  if (block == NULL)
    abort ();
  return block;
}

__attribute__ ((noinline)) static value *
value_new (kind kind, double number, value *head, value *tail)
{
  value *made = memory (NULL, sizeof *made);

  *made = (value){ kind, 1, number, head, tail, 0 };
  return made;
}

static value *
keep (value *of)
{
  if (of != NULL)
    of->n_references++;
  return of;
}

__attribute__ ((noinline)) static void
drop (value *of)
{
  while (of != NULL && --of->n_references == 0)
    {
      value *tail = of->tail;

      drop (of->head);
      memory (of, 0);
      of = tail;
    }
}

static value *
range (int from, int to)
{
  value *list = NULL;

  for (int i = to; i-- > from;)
    list = value_new (PAIR, 0, value_new (NUMBER, i, NULL, NULL), list);
  return list;
}

static value *
squares (const value *list)
{
  value *made = NULL;

  for (; list != NULL; list = list->tail)
    made = value_new (
        PAIR, 0,
        value_new (NUMBER, list->head->number * list->head->number, NULL, NULL),
        made);
  return made;
}

static value *
odd (const value *list)
{
  value *made = NULL;

  for (; list != NULL; list = list->tail)
    if ((long) list->head->number % 2 != 0)
      made = value_new (PAIR, 0, keep (list->head), made);
  return made;
}

int
main (void)
{
  value *kept[40] = { NULL };
  double sum = 0;

  for (int i = 0; i < 80; i++)
    {
      value *numbers = range (i * 10, i * 10 + 10000);
      value *made = squares (numbers);
      value *chosen = odd (made);

      drop (numbers);
      drop (made);
      for (const value *at = chosen; at != NULL; at = at->tail)
        sum += at->head->number;
      drop (kept[i * 7 % 40]);
      kept[i * 7 % 40] = chosen;
    }
  for (int i = 0; i < 40; i++)
    drop (kept[i]);
  printf ("%.0f\n", sum);
  return 0;
}
