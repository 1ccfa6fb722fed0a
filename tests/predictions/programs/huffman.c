/* huffman.c - codes for blocks of text: a tree for each block
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Node
{
  struct Node *left, *right;
  unsigned weight, symbol;
} Node;

static unsigned char block[600];

static Node *
node_new (unsigned weight, unsigned symbol, Node *left, Node *right)
{
  Node *node = malloc (sizeof *node);

  if (node == NULL)
    abort ();
  *node = (Node){ left, right, weight, symbol };
  return node;
}

static Node *
lightest_take (Node **nodes, unsigned n)
{
  unsigned best = 0;
  Node *node;

  for (unsigned i = 1; i < n; i++)
    if (nodes[i]->weight < nodes[best]->weight)
      best = i;
  node = nodes[best];
  nodes[best] = nodes[n - 1];
  return node;
}

static unsigned
bits (const Node *node, unsigned depth)
{
  return node->left == NULL
             ? node->weight * depth
             : bits (node->left, depth + 1) + bits (node->right, depth + 1);
}

static void
tree_free (Node *node)
{
  if (node->left != NULL)
    {
      tree_free (node->left);
      tree_free (node->right);
    }
  free (node);
}

static unsigned
block_code (void)
{
  unsigned weights[64] = { 0 }, n = 0;
  Node *nodes[64];
  unsigned result;

  for (unsigned i = 0; i < sizeof block; i++)
    weights[block[i]]++;
  for (unsigned i = 0; i < 64; i++)
    if (weights[i] > 0)
      nodes[n++] = node_new (weights[i], i, NULL, NULL);
  while (n > 1)
    {
      Node *a = lightest_take (nodes, n--);
      Node *b = lightest_take (nodes, n--);

      nodes[n++] = node_new (a->weight + b->weight, 0, a, b);
    }
  result = bits (nodes[0], 0);
  tree_free (nodes[0]);
  return result;
}

int
main (void)
{
  uint64_t random = 13, sum = 0;

  for (unsigned i = 0; i < 40000; i++)
    {
      for (unsigned k = 0; k < sizeof block; k += 12)
        {
          random = random * 6364136223846793005u + 1442695040888963407u;
          for (unsigned j = 0; j < 12; j++)
            block[k + j] = (random >> (5 * j)) & (random >> 3 & 15);
        }
      sum += block_code ();
    }
  printf ("%llu\n", (unsigned long long) sum);
  return 0;
}
