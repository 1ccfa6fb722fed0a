/* treap.c - a window over a stream of numbers, kept sorted: running medians
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_WINDOW 50000
#define N_NUMBERS 400000

typedef struct Node
{
  struct Node *left, *right;
  uint64_t key;
  uint32_t priority, n;
} Node;

static uint32_t ring[N_WINDOW];

static uint32_t
n_of (const Node *node)
{
  return node == NULL ? 0 : node->n;
}

static Node *
counted (Node *node)
{
  node->n = 1 + n_of (node->left) + n_of (node->right);
  return node;
}

static void
split (Node *node, uint64_t key, Node **low, Node **high)
{
  if (node == NULL)
    *low = *high = NULL;
  else if (node->key < key)
    {
      split (node->right, key, &node->right, high);
      *low = counted (node);
    }
  else
    {
      split (node->left, key, low, &node->left);
      *high = counted (node);
    }
}

static Node *
join (Node *low, Node *high)
{
  if (low == NULL || high == NULL)
    return low == NULL ? high : low;
  if (low->priority > high->priority)
    {
      low->right = join (low->right, high);
      return counted (low);
    }
  high->left = join (low, high->left);
  return counted (high);
}

static Node *
insert (Node *root, uint64_t key, uint32_t priority)
{
  Node *low, *high, *node = malloc (sizeof *node);

  if (node == NULL)
    abort ();
  *node = (Node){ NULL, NULL, key, priority, 1 };
  split (root, key, &low, &high);
  return join (join (low, node), high);
}

static Node *
erase (Node *root, uint64_t key)
{
  Node *low, *middle, *high;

  split (root, key, &low, &high);
  split (high, key + 1, &middle, &high);
  free (middle);
  return join (low, high);
}

static uint64_t
nth (const Node *node, uint32_t n)
{
  while (n_of (node->left) != n)
    if (n < n_of (node->left))
      node = node->left;
    else
      {
        n -= n_of (node->left) + 1;
        node = node->right;
      }
  return node->key;
}

int
main (void)
{
  uint64_t random = 9, sum = 0;
  Node *root = NULL;

  for (uint32_t i = 0; i < N_NUMBERS; i++)
    {
      uint32_t *slot = &ring[i % N_WINDOW];

      random = random * 6364136223846793005u + 1442695040888963407u;
      if (i >= N_WINDOW)
        root = erase (root, (uint64_t) *slot << 32 | (i - N_WINDOW));
      *slot = (uint32_t) (random >> 40);
      root = insert (root, (uint64_t) *slot << 32 | i,
                     (uint32_t) (random >> 16));
      if (i % 16 == 0)
        sum += nth (root, n_of (root) / 2) >> 32;
    }
  printf ("%llu\n", (unsigned long long) sum);
  return 0;
}
