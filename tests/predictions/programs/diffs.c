/* diffs.c - pairs of texts are compared: a line is a block, and so is each step
 * of a way through both
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_LINES 9000
#define N_PAIRS 3

typedef struct line
{
  struct line *next;
  unsigned hash, length;
  char text[];
} line;

/* the end of a way: as many lines of both texts are behind it */
typedef struct step
{
  struct step *before;
  unsigned x, y;
} step;

static unsigned state = 123;

static unsigned
random_next (void)
{
  state = state * 22695477u + 1u;
  return state >> 9;
}

static line *
line_new (unsigned seed)
{
  char text[80];
  unsigned length = 0;
  line *made;

  for (unsigned i = 0; i < 3 + seed % 8; i++)
    length += sprintf (text + length, "%x ", seed * 31 + i);
  made = malloc (sizeof *made + length + 1);
  made->next = NULL;
  made->length = length;
  made->hash = 0;
  for (unsigned i = 0; i <= length; i++)
    made->hash = made->hash * 33 + (unsigned char) text[i];
  memcpy (made->text, text, length + 1);
  return made;
}

/* Every few lines, the second text has another one, one less or one more. */
static void
texts_make (line **a, line **b)
{
  for (unsigned i = 0; i < N_LINES; i++)
    {
      unsigned seed = random_next () % 4000, luck = random_next () % 40;

      if (luck != 0)
        {
          *a = line_new (seed);
          a = &(*a)->next;
        }
      if (luck != 1)
        {
          *b = line_new (luck == 2 ? seed + 4000 : seed);
          b = &(*b)->next;
        }
    }
}

static unsigned
lines_list (line *first, line **lines)
{
  unsigned n = 0;

  for (; first != NULL; first = first->next)
    lines[n++] = first;
  return n;
}

static step *
step_new (step *before, unsigned x, unsigned y)
{
  step *made = malloc (sizeof *made);

  made->before = before;
  made->x = x;
  made->y = y;
  return made;
}

static int
lines_equal (const line *a, const line *b)
{
  return a->hash == b->hash && a->length == b->length
         && memcmp (a->text, b->text, a->length) == 0;
}

/* E. Myers, An O(ND) Difference Algorithm and Its Variations (1986).  All steps
 * are in `steps`, those of the shortest way are counted. */
static unsigned
difference (line **a, unsigned n, line **b, unsigned m, step **steps,
            unsigned *n_steps)
{
  static step *furthest[4 * N_LINES];
  step **at = furthest + 2 * N_LINES;

  *n_steps = 0;
  at[1] = steps[(*n_steps)++] = step_new (NULL, 0, 0);
  for (int d = 0;; d++)
    for (int k = -d; k <= d; k += 2)
      {
        int down = k == -d || (k != d && at[k - 1]->x < at[k + 1]->x);
        step *before = down ? at[k + 1] : at[k - 1];
        unsigned x = down ? before->x : before->x + 1, y = x - k;

        while (x < n && y < m && lines_equal (a[x], b[y]))
          {
            x++;
            y++;
          }
        at[k] = steps[(*n_steps)++] = step_new (before, x, y);
        if (x >= n && y >= m)
          {
            unsigned length = 0;

            for (const step *one = at[k]; one != NULL; one = one->before)
              length++;
            return length;
          }
      }
}

static void
lines_free (line *old)
{
  while (old != NULL)
    {
      line *next = old->next;

      free (old);
      old = next;
    }
}

int
main (void)
{
  static line *lines_a[N_LINES], *lines_b[N_LINES];
  static step *steps[3000000];
  unsigned long sum = 0;

  for (unsigned pair = 0; pair < N_PAIRS; pair++)
    {
      line *a = NULL, *b = NULL;
      unsigned n_steps, n, m;

      texts_make (&a, &b);
      n = lines_list (a, lines_a);
      m = lines_list (b, lines_b);
      sum += difference (lines_a, n, lines_b, m, steps, &n_steps) * (pair + 1);
      sum += n_steps;
      for (unsigned i = 0; i < n_steps; i++)
        free (steps[i]);
      lines_free (a);
      lines_free (b);
    }
  printf ("%lu\n", sum);
  return 0;
}
