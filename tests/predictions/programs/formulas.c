/* formulas.c - parses formulas into trees, simplifies and evaluates them
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Node
{
  char op; /* 'n': a number, 'x': the variable */
  double number;
  struct Node *left, *right;
} Node;

static const char *at;
static char text[4096];

static Node *
node_new (char op, double number, Node *left, Node *right)
{
  Node *node = malloc (sizeof *node);

  if (node == NULL)
    abort ();
  *node = (Node){ op, number, left, right };
  return node;
}

static void
node_free (Node *node)
{
  if (node == NULL)
    return;
  node_free (node->left);
  node_free (node->right);
  free (node);
}

static Node *sum_parse (void);

static Node *
factor_parse (void)
{
  Node *node;
  double number = 0;

  if (*at == '(')
    {
      at++;
      node = sum_parse ();
      at++;
      return node;
    }
  if (*at == 'x')
    {
      at++;
      return node_new ('x', 0, NULL, NULL);
    }
  while (isdigit ((unsigned char) *at))
    number = number * 10 + (*at++ - '0');
  return node_new ('n', number, NULL, NULL);
}

static Node *
product_parse (void)
{
  Node *node = factor_parse ();

  while (*at == '*')
    {
      at++;
      node = node_new ('*', 0, node, factor_parse ());
    }
  return node;
}

static Node *
sum_parse (void)
{
  Node *node = product_parse ();

  while (*at == '+' || *at == '-')
    {
      char op = *at++;

      node = node_new (op, 0, node, product_parse ());
    }
  return node;
}

static double
evaluate (const Node *node, double x)
{
  switch (node->op)
    {
    case 'n':
      return node->number;
    case 'x':
      return x;
    case '*':
      return evaluate (node->left, x) * evaluate (node->right, x);
    case '+':
      return evaluate (node->left, x) + evaluate (node->right, x);
    default:
      return evaluate (node->left, x) - evaluate (node->right, x);
    }
}

static char *
formula_write (char *out, uint32_t *random, int depth)
{
  unsigned choice;

  *random = *random * 1664525 + 1013904223;
  choice = *random >> 28;

  if (depth == 0 || choice < 4)
    {
      if (choice % 2 == 0)
        *out++ = 'x';
      else
        out += sprintf (out, "%u", *random >> 20 & 255);
      return out;
    }
  *out++ = '(';
  out = formula_write (out, random, depth - 1);
  *out++ = "+-*"[choice % 3];
  out = formula_write (out, random, depth - 1);
  *out++ = ')';
  return out;
}

int
main (void)
{
  uint32_t random = 7;
  double sum = 0;

  for (int i = 0; i < 60000; i++)
    {
      Node *tree;

      *formula_write (text, &random, 7) = '\0';
      at = text;
      tree = sum_parse ();
      sum += evaluate (tree, i % 3) + evaluate (tree, i % 5);
      node_free (tree);
    }
  printf ("%g\n", sum);
  return 0;
}
