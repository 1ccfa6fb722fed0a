/* queries.c - a database's prepared statements, the oldest of which goes
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_QUERIES 9000
#define N_PREPARED 1500
#define N_ROWS 8

typedef enum { COLUMN, NUMBER, NEGATE, SUM, PRODUCT, LESS, BOTH } kind;

typedef struct expression
{
  kind kind;
  long value;
  struct expression *left, *right;
} expression;

typedef struct column
{
  struct column *next;
  char name[16];
  expression *shown;
} column;

typedef struct statement
{
  column *columns;
  expression *where;
} statement;

static unsigned state = 17;

static unsigned
random_next (void)
{
  state = state * 1103515245u + 12345u;
  return state >> 9;
}

static expression *
expression_new (statement *of, kind kind, long value, expression *left,
                expression *right)
{
  expression *made = malloc (sizeof *made);

  (void) of;
  made->kind = kind;
  made->value = value;
  made->left = left;
  made->right = right;
  return made;
}

static expression *
expression_parse (statement *of, int depth)
{
  expression *left;
  expression *right;

  if (depth == 0 || random_next () % 8 == 0)
    return random_next () % 2 == 0
               ? expression_new (of, COLUMN, random_next () % N_ROWS, NULL,
                                 NULL)
               : expression_new (of, NUMBER, random_next () % 1000, NULL, NULL);
  if (random_next () % 9 == 0)
    return expression_new (of, NEGATE, 0, expression_parse (of, depth - 1),
                           NULL);
  left = expression_parse (of, depth - 1);
  right = expression_parse (of, depth - 1);

  return expression_new (of, (kind) (SUM + random_next () % 4), 0, left,
                         right);
}

static statement *
statement_prepare (unsigned number)
{
  statement *made = malloc (sizeof *made);

  made->columns = NULL;
  for (unsigned i = 0; i < 4 + number % 5; i++)
    {
      column *next = malloc (sizeof *next);

      snprintf (next->name, sizeof next->name, "c%u", i);
      next->shown = expression_parse (made, 4);
      next->next = made->columns;
      made->columns = next;
    }
  made->where = expression_parse (made, 7);
  return made;
}

static long
expression_value (const expression *of, const long *row)
{
  switch (of->kind)
    {
    case COLUMN:
      return row[of->value];
    case NUMBER:
      return of->value;
    case NEGATE:
      return -expression_value (of->left, row);
    case SUM:
      return expression_value (of->left, row)
             + expression_value (of->right, row);
    case PRODUCT:
      return expression_value (of->left, row)
             * (expression_value (of->right, row) & 15);
    case LESS:
      return expression_value (of->left, row)
             < expression_value (of->right, row);
    default:
      return expression_value (of->left, row) != 0
             && expression_value (of->right, row) != 0;
    }
}

static long
statement_run (const statement *run)
{
  long row[N_ROWS], sum = 0;

  for (int i = 0; i < N_ROWS; i++)
    row[i] = i * 37 % 11;
  if (expression_value (run->where, row) % 3 == 0)
    return 0;
  for (const column *at = run->columns; at != NULL; at = at->next)
    sum += expression_value (at->shown, row) + at->name[1];
  return sum;
}

static void
expression_free (expression *old)
{
  if (old == NULL)
    return;
  expression_free (old->left);
  expression_free (old->right);
  free (old);
}

static void
statement_free (statement *old)
{
  while (old->columns != NULL)
    {
      column *next = old->columns->next;

      expression_free (old->columns->shown);
      free (old->columns);
      old->columns = next;
    }
  expression_free (old->where);
  free (old);
}

int
main (void)
{
  statement *prepared[N_PREPARED] = { NULL };
  long sum = 0;

  for (unsigned i = 0; i < N_QUERIES; i++)
    {
      statement **slot = &prepared[i % N_PREPARED];

      if (*slot != NULL)
        statement_free (*slot);
      *slot = statement_prepare (i);
      sum += statement_run (*slot);
      sum ^= statement_run (prepared[i / 2 % N_PREPARED]);
    }
  for (int i = 0; i < N_PREPARED; i++)
    if (prepared[i] != NULL)
      statement_free (prepared[i]);
  printf ("%ld\n", sum);
  return 0;
}
