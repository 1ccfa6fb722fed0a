/* quadtree.c - bodies that move; each frame builds a tree of their places
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_BODIES 4000
#define N_FRAMES 500

typedef struct Node
{
  struct Node *children[4];
  double x, y, mass;
} Node;

typedef struct
{
  double x, y, dx, dy;
} Body;

static Body bodies[N_BODIES];

static Node *
node_new (double x, double y)
{
  Node *node = calloc (1, sizeof *node);

  if (node == NULL)
    abort ();
  node->x = x;
  node->y = y;
  node->mass = 1;
  return node;
}

static void
node_add (Node *node, double x, double y, double left, double top, double size)
{
  for (int depth = 0; depth < 24; depth++)
    {
      int right;
      int low;
      Node **child;

      size /= 2;
      right = x >= left + size;
      low = y >= top + size;
      child = &node->children[right + 2 * low];

      node->x = (node->x * node->mass + x) / (node->mass + 1);
      node->y = (node->y * node->mass + y) / (node->mass + 1);
      node->mass++;
      left += right ? size : 0;
      top += low ? size : 0;
      if (*child == NULL)
        {
          *child = node_new (x, y);
          return;
        }
      node = *child;
    }
}

static void
node_free (Node *node)
{
  for (int i = 0; i < 4; i++)
    if (node->children[i] != NULL)
      node_free (node->children[i]);
  free (node);
}

static double
pull (const Node *node, const Body *body, double size)
{
  double dx = node->x - body->x, dy = node->y - body->y;
  double far = dx * dx + dy * dy + 0.01, sum = 0;

  if (size * size < far * 4)
    return node->mass / far;
  for (int i = 0; i < 4; i++)
    if (node->children[i] != NULL)
      sum += pull (node->children[i], body, size / 2);
  return sum + 1 / far;
}

int
main (void)
{
  uint32_t random = 1;
  double sum = 0;

  for (int i = 0; i < N_BODIES; i++)
    {
      double values[4];

      for (int k = 0; k < 4; k++)
        {
          random = random * 1664525 + 1013904223;
          values[k] = (random >> 8) / 16777216.0;
        }
      bodies[i] = (Body){ values[0], values[1], values[2] / 100,
                          values[3] / 100 };
    }
  for (int frame = 0; frame < N_FRAMES; frame++)
    {
      Node *root = node_new (0.5, 0.5);

      for (int i = 0; i < N_BODIES; i++)
        node_add (root, bodies[i].x, bodies[i].y, 0, 0, 1);
      for (int i = 0; i < N_BODIES; i += 64)
        sum += pull (root, &bodies[i], 1);
      for (int i = 0; i < N_BODIES; i++)
        {
          Body *body = &bodies[i];

          body->x += body->dx;
          body->y += body->dy;
          if (body->x < 0 || body->x >= 1)
            body->x -= body->dx, body->dx = -body->dx;
          if (body->y < 0 || body->y >= 1)
            body->y -= body->dy, body->dy = -body->dy;
        }
      node_free (root);
    }
  printf ("%.6g\n", sum);
  return 0;
}
