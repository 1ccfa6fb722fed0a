/* nodes.c - tree nodes of one size that come and go in any order
 *
 * Tests: a program to be recorded, and to be changed as it is advised
 * (-DADVISED): the nodes are of a pool.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/pool.h>
#include <stdio.h>
#include <stdlib.h>
#include "random.h"

#define N_SLOTS 50000
#define N_STEPS 4000000

struct node
{
  unsigned key, count;
  void *links[18];
};

#ifdef ADVISED
static SlicePool *pool;
#endif
static struct node *slots[N_SLOTS];

static struct node *
node_new (unsigned key)
{
#ifdef ADVISED
  struct node *node = slice_pool_alloc (pool);
#else
  struct node *node = malloc (sizeof *node);
#endif
  node->key = key;
  node->count = 1;
  node->links[0] = node->links[8] = node->links[16] = NULL;
  return node;
}

static void
node_free (struct node *node)
{
#ifdef ADVISED
  slice_pool_free (pool, node);
#else
  free (node);
#endif
}

int
main (void)
{
  unsigned sum = 0;
#ifdef ADVISED
  pool = slice_pool_new_plain (sizeof (struct node));
#endif
  for (unsigned i = 0; i < N_STEPS; i++)
    {
      struct node **slot = &slots[below (N_SLOTS)];
      if (*slot != NULL)
        {
          sum += (*slot)->key;
          node_free (*slot);
        }
      *slot = node_new (i);
    }
  printf ("%u\n", sum);
  return 0;
}
