/* flights.c - a graph whose edges come and go, and the shortest ways in it
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define N_NODES 20000
#define N_EDGES 260000

typedef struct edge
{
  struct edge *next;
  unsigned to, cost, day;
} edge;

static edge *edges[N_NODES];
static unsigned distance[N_NODES], queue[N_NODES + 1];
static unsigned char queued[N_NODES];
static unsigned state = 7;

static unsigned
random_next (unsigned n)
{
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % n;
}

static void
edge_add (unsigned from, unsigned day)
{
  edge *made = malloc (sizeof *made);

  *made = (edge){ edges[from], random_next (N_NODES), 1 + random_next (50),
                  day };
  edges[from] = made;
}

/* The edges of an old day are gone; returns their number. */
static unsigned
edges_expire (unsigned day)
{
  unsigned n = 0;

  for (unsigned i = 0; i < N_NODES; i++)
    for (edge **at = &edges[i]; *at != NULL;)
      if ((*at)->day == day)
        {
          edge *old = *at;

          *at = old->next;
          free (old);
          n++;
        }
      else
        at = &(*at)->next;
  return n;
}

static unsigned long
ways_find (unsigned from)
{
  unsigned head = 0, tail = 0;
  unsigned long sum = 0;

  for (unsigned i = 0; i < N_NODES; i++)
    distance[i] = 1u << 30;
  distance[from] = 0;
  queue[tail++] = from;
  while (head != tail)
    {
      unsigned at = queue[head];

      head = (head + 1) % (N_NODES + 1);
      queued[at] = 0;
      for (const edge *way = edges[at]; way != NULL; way = way->next)
        if (distance[at] + way->cost < distance[way->to])
          {
            distance[way->to] = distance[at] + way->cost;
            if (!queued[way->to])
              {
                queued[way->to] = 1;
                queue[tail] = way->to;
                tail = (tail + 1) % (N_NODES + 1);
              }
          }
    }
  for (unsigned i = 0; i < N_NODES; i++)
    sum += distance[i];
  return sum;
}

int
main (void)
{
  unsigned long sum = 0;
  unsigned n = 0;

  for (unsigned i = 0; i < N_EDGES; i++)
    edge_add (random_next (N_NODES), i % 8);
  for (unsigned day = 0; day < 24; day++)
    {
      unsigned n_gone = edges_expire (day % 8);

      for (unsigned i = 0; i < n_gone; i++)
        edge_add (random_next (N_NODES), day % 8);
      n += n_gone;
      if (day % 12 == 0)
        sum += ways_find (day);
    }
  printf ("%lu %u\n", sum, n);
  return 0;
}
