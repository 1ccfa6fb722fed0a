/* lisp.c - lists with reference counts: sorts and reverses them
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Cell
{
  unsigned n_references;
  int number;
  struct Cell *rest;
} Cell;

static Cell *
keep (Cell *cell)
{
  if (cell != NULL)
    cell->n_references++;
  return cell;
}

static void
drop (Cell *cell)
{
  while (cell != NULL && --cell->n_references == 0)
    {
      Cell *rest = cell->rest;

      free (cell);
      cell = rest;
    }
}

static Cell *
cons (int number, Cell *rest)
{
  Cell *cell = malloc (sizeof *cell);

  if (cell == NULL)
    abort ();
  cell->n_references = 1;
  cell->number = number;
  cell->rest = rest;
  return cell;
}

static Cell *
reverse (const Cell *list)
{
  Cell *result = NULL;

  for (; list != NULL; list = list->rest)
    result = cons (list->number, result);
  return result;
}

static Cell *
merge (const Cell *a, const Cell *b)
{
  Cell *result = NULL, *ordered;

  while (a != NULL || b != NULL)
    {
      const Cell **from
          = b == NULL || (a != NULL && a->number <= b->number) ? &a : &b;

      result = cons ((*from)->number, result);
      *from = (*from)->rest;
    }
  ordered = reverse (result);
  drop (result);
  return ordered;
}

static Cell *
sort (Cell *list, unsigned n)
{
  Cell *left = NULL, *right = NULL, *result;
  unsigned n_left = 0;
  unsigned n_right = 0;
  Cell *sorted_left;
  Cell *sorted_right;

  if (n < 2)
    return keep (list);
  for (const Cell *at = list; at != NULL; at = at->rest, n--)
    if (n % 2 == 0)
      left = cons (at->number, left);
    else
      right = cons (at->number, right);
  for (const Cell *at = left; at != NULL; at = at->rest)
    n_left++;
  for (const Cell *at = right; at != NULL; at = at->rest)
    n_right++;
  sorted_left = sort (left, n_left);
  sorted_right = sort (right, n_right);
  result = merge (sorted_left, sorted_right);
  drop (left);
  drop (right);
  drop (sorted_left);
  drop (sorted_right);
  return result;
}

int
main (void)
{
  uint32_t random = 1;
  long sum = 0;

  for (int round = 0; round < 30; round++)
    {
      Cell *list = NULL;
      Cell *sorted;

      for (int i = 0; i < 20000; i++)
        {
          random = random * 1664525 + 1013904223;
          list = cons ((int) (random >> 8), list);
        }
      sorted = sort (list, 20000);
      sum += sorted->number;
      drop (list);
      drop (sorted);
    }
  printf ("%ld\n", sum);
  return 0;
}
