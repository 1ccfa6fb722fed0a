/* pieces.c - the buffer of a text editor, as a tree of pieces
 *
 * Each edit splits a piece; an undo joins two again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define N_EDITS 220000

typedef struct piece
{
  struct piece *left, *right; /* a treap by position */
  unsigned start, n, sum, order;
  unsigned is_added, stamp;
} piece;

static unsigned state = 1;

static unsigned
random_next (void)
{
  state = state * 1664525u + 1013904223u;
  return state >> 4;
}

static unsigned
sum_of (const piece *at)
{
  return at == NULL ? 0 : at->sum;
}

static void
sum_up (piece *at)
{
  at->sum = sum_of (at->left) + at->n + sum_of (at->right);
}

static piece *
piece_new (unsigned start, unsigned n, unsigned is_added)
{
  piece *made = malloc (sizeof *made);

  *made = (piece){ NULL, NULL, start, n, n, random_next (), is_added, 0 };
  return made;
}

static piece *
join (piece *left, piece *right)
{
  if (left == NULL || right == NULL)
    return left == NULL ? right : left;
  if (left->order > right->order)
    {
      left->right = join (left->right, right);
      sum_up (left);
      return left;
    }
  right->left = join (left, right->left);
  sum_up (right);
  return right;
}

/* Splits before a position, in a piece if that lies there. */
static void
split (piece *at, unsigned position, piece **left, piece **right)
{
  unsigned before;

  if (at == NULL)
    {
      *left = *right = NULL;
      return;
    }
  before = sum_of (at->left);
  if (position <= before)
    {
      split (at->left, position, left, &at->left);
      *right = at;
    }
  else if (position >= before + at->n)
    {
      split (at->right, position - before - at->n, &at->right, right);
      *left = at;
    }
  else
    {
      unsigned n = position - before;
      piece *rest = piece_new (at->start + n, at->n - n, at->is_added);

      *right = join (rest, at->right);
      at->right = NULL;
      at->n = n;
      *left = at;
    }
  sum_up (at);
}

static void
pieces_free (piece *at)
{
  if (at == NULL)
    return;
  pieces_free (at->left);
  pieces_free (at->right);
  free (at);
}

int
main (void)
{
  piece *text = piece_new (0, 4000000, 0);
  unsigned n_added = 0;

  for (unsigned i = 0; i < N_EDITS; i++)
    {
      unsigned position = random_next () % text->sum;
      piece *left, *middle, *right;

      split (text, position, &left, &right);
      if (i % 4 != 3)
        {
          middle = piece_new (n_added, 12, 1);
          n_added += 12;
        }
      else
        {
          /* a deletion */
          split (right, 9, &middle, &right);
          pieces_free (middle);
          middle = NULL;
        }
      text = join (join (left, middle), right);
    }
  printf ("%u\n", text->sum);
  pieces_free (text);
  return 0;
}
