/* maze.c - the ways of robots through a hall with shelves, by A*
 *
 * Each search makes a node for each place that it reaches, and frees them all.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define SIDE 512
#define N_WAYS 120

typedef struct node
{
  struct node *all; /* of the search, one after the other */
  struct node *from, *bucket;
  unsigned place, cost;
} node;

static unsigned char wall[SIDE * SIDE];
static unsigned best[SIDE * SIDE];
static unsigned state = 99;

static unsigned
random_next (void)
{
  state = state * 22695477u + 1u;
  return state >> 10;
}

static node *
node_new (node *all, node *from, unsigned place, unsigned cost)
{
  node *made = malloc (sizeof *made);

  made->all = all;
  made->from = from;
  made->place = place;
  made->cost = cost;
  return made;
}

static unsigned
distance (unsigned from, unsigned to)
{
  int x = (int) (from % SIDE) - (int) (to % SIDE);
  int y = (int) (from / SIDE) - (int) (to / SIDE);

  return (unsigned) (abs (x) + abs (y));
}

/* The length of the way, 0 if there is none. */
static unsigned
way_find (unsigned start, unsigned goal)
{
  static node *buckets[SIDE * SIDE];
  static const int steps[] = { 1, -1, SIDE, -SIDE };
  unsigned length = 0, at = distance (start, goal), last = at;
  node *all = NULL;

  for (unsigned i = 0; i < SIDE * SIDE; i++)
    best[i] = ~0u;
  all = node_new (all, NULL, start, 0);
  all->bucket = NULL;
  buckets[at] = all;
  best[start] = 0;
  for (; at <= last && length == 0; at += buckets[at] == NULL)
    {
      node *next = buckets[at];

      if (next == NULL)
        continue;
      buckets[at] = next->bucket;
      if (next->place == goal)
        for (const node *back = next; back != NULL; back = back->from)
          length++;
      for (int i = 0; i < 4 && next->cost == best[next->place]; i++)
        {
          unsigned to = next->place + (unsigned) steps[i];
          unsigned key;

          if (wall[to] || best[to] <= next->cost + 1)
            continue;
          best[to] = next->cost + 1;
          all = node_new (all, next, to, next->cost + 1);
          key = all->cost + distance (to, goal);

          all->bucket = buckets[key];
          buckets[key] = all;
          last = key > last ? key : last;
        }
    }
  for (; at <= last; at++)
    buckets[at] = NULL;
  while (all != NULL)
    {
      node *next = all->all;

      buckets[all->cost + distance (all->place, goal)] = NULL;
      free (all);
      all = next;
    }
  return length;
}

int
main (void)
{
  unsigned long sum = 0;

  for (unsigned i = 0; i < SIDE * SIDE; i++)
    wall[i] = i % SIDE == 0 || i % SIDE == SIDE - 1 || i / SIDE == 0
              || i / SIDE == SIDE - 1 || random_next () % 4 == 0;
  for (int i = 0; i < N_WAYS; i++)
    {
      unsigned from = random_next () % (SIDE * SIDE);
      unsigned to = random_next () % (SIDE * SIDE);

      if (!wall[from] && !wall[to])
        sum += way_find (from, to);
    }
  printf ("%lu\n", sum);
  return 0;
}
