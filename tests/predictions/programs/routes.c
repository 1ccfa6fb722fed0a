/* routes.c - shortest routes in a random graph with adjacency lists
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_NODES 150000
#define N_EDGES 1200000

typedef struct Edge
{
  struct Edge *next;
  unsigned to, length;
} Edge;

static Edge *edges[N_NODES];
static unsigned distance[N_NODES], queue[N_NODES];
static char is_queued[N_NODES];

static void
edge_add (unsigned from, unsigned to, unsigned length)
{
  Edge *edge = malloc (sizeof *edge);

  if (edge == NULL)
    abort ();
  *edge = (Edge){ edges[from], to, length };
  edges[from] = edge;
}

int
main (void)
{
  uint64_t random = 11, sum = 0;
  unsigned first = 0, n = 1;

  for (unsigned i = 0; i < N_EDGES; i++)
    {
      random = random * 6364136223846793005u + 1442695040888963407u;
      edge_add ((unsigned) (random >> 33) % N_NODES,
                (unsigned) (random >> 13) % N_NODES,
                1 + (unsigned) (random >> 58));
    }
  for (unsigned i = 1; i < N_NODES; i++)
    distance[i] = UINT32_MAX;
  queue[0] = 0;
  while (n > 0)
    {
      unsigned at = queue[first];

      first = (first + 1) % N_NODES;
      n--;
      is_queued[at] = 0;
      for (const Edge *edge = edges[at]; edge != NULL; edge = edge->next)
        if (distance[at] + edge->length < distance[edge->to])
          {
            distance[edge->to] = distance[at] + edge->length;
            if (!is_queued[edge->to])
              queue[(first + n++) % N_NODES] = edge->to;
            is_queued[edge->to] = 1;
          }
    }
  for (unsigned i = 0; i < N_NODES; i++)
    sum += distance[i];
  printf ("%llu\n", (unsigned long long) sum);
  return 0;
}
