/* client.c - a program as a user writes it, built against the installed
 * library by `make installcheck'
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <slice/slice.h>
#include <slice/stats.h>

typedef struct Node Node;
struct Node
{
  Node *next;
  int number;
};

int
main (void)
{
  Node *list = NULL;
  long sum = 0;
  SliceStats stats;

  for (int i = 1; i <= 1000; i++)
    {
      Node *node = slice_new (Node);

      node->number = i;
      node->next = list;
      list = node;
    }
  for (const Node *node = list; node != NULL; node = node->next)
    sum += node->number;
  slice_free_chain (Node, list, next);

  if (sum != 500500 || !slice_get_stats (&stats) || stats.live_blocks != 0)
    {
      fprintf (stderr, "client: sum %ld, live blocks %llu\n", sum,
               (unsigned long long) stats.live_blocks);
      return 1;
    }
  printf ("slice %s: %ld\n", slice_version (), sum);
  return 0;
}
