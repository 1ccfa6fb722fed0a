/* units.c - a compiler's units: the tree of each goes when it is compiled
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define N_UNITS 60
#define N_FUNCTIONS 500
#define N_LIVE 24

typedef struct node
{
  struct node *left, *right;
  int operator;
  long value;
} node;

typedef struct
{
  node *functions[N_FUNCTIONS];
} unit;

static unsigned state = 3;

static unsigned
random_next (void)
{
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

static node *
node_new (unit *in, int operator, long value)
{
  node *made = malloc (sizeof *made);

  (void) in;
  *made = (node){ NULL, NULL, operator, value };
  return made;
}

static node *
parse (unit *in, int depth)
{
  node *made = node_new (in, (int) (random_next () % 4),
                         (long) (random_next () % 100));

  if (depth > 0)
    {
      made->left = parse (in, depth - 1);
      made->right = parse (in, depth - 1 - (int) (random_next () % 2));
    }
  return made;
}

static long
fold (const node *at)
{
  long left, right;

  if (at == NULL)
    return 1;
  left = fold (at->left);
  right = fold (at->right);
  switch (at->operator)
    {
    case 0:
      return left + right + at->value;
    case 1:
      return left - right;
    case 2:
      return (left * 7 + right) % 10007;
    default:
      return left ^ right;
    }
}

static void
node_free (node *at)
{
  if (at == NULL)
    return;
  node_free (at->left);
  node_free (at->right);
  free (at);
}

static void
unit_free (unit *old)
{
  for (int i = 0; i < N_FUNCTIONS; i++)
    node_free (old->functions[i]);
  free (old);
}

int
main (void)
{
  unit *units[N_LIVE] = { NULL };
  long sum = 0;

  for (int i = 0; i < N_UNITS; i++)
    {
      unit *made = malloc (sizeof *made);

      for (int k = 0; k < N_FUNCTIONS; k++)
        {
          made->functions[k] = parse (made, 5);
          sum += fold (made->functions[k]);
        }
      if (units[i % N_LIVE] != NULL)
        unit_free (units[i % N_LIVE]);
      units[i % N_LIVE] = made;
    }
  for (int i = 0; i < N_LIVE; i++)
    unit_free (units[i]);
  printf ("%ld\n", sum);
  return 0;
}
