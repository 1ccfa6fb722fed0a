/* markup.c - a parser of markup that makes a tree, and searches it
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct node
{
  struct node *parent, *child, *last, *next;
  char *text;
  unsigned line, n_children;
} node;

static const char *at;
static unsigned line;

__attribute__ ((noinline)) static node *
node_new (node *parent)
{
  node *made = malloc (sizeof *made);

  *made = (node){ parent, NULL, NULL, NULL, NULL, line, 0 };
  if (parent != NULL)
    {
      if (parent->last != NULL)
        parent->last->next = made;
      else
        parent->child = made;
      parent->last = made;
      parent->n_children++;
    }
  return made;
}

__attribute__ ((noinline)) static char *
text_new (const char *from, size_t n)
{
  char *text = malloc (n + 1);

  memcpy (text, from, n);
  text[n] = '\0';
  return text;
}

static void
spaces_skip (void)
{
  for (; *at == ' ' || *at == '\n'; at++)
    line += *at == '\n';
}

static node *
parse (void)
{
  node *root = node_new (NULL), *open = root;

  for (spaces_skip (); *at != '\0'; spaces_skip ())
    {
      const char *begin = at;

      if (at[0] == '<' && at[1] == '/')
        {
          at = strchr (at, '>') + 1;
          open = open->parent;
        }
      else if (*at == '<')
        {
          at = strchr (at, '>') + 1;
          open = node_new (open);
          open->text = text_new (begin + 1, (size_t) (at - begin) - 2);
        }
      else
        {
          at += strcspn (at, "<");
          node_new (open)->text = text_new (begin, (size_t) (at - begin));
        }
    }
  return root;
}

static unsigned
count (const node *in, const char *text)
{
  unsigned n = 0;

  for (; in != NULL; in = in->next)
    {
      n += in->text != NULL && strcmp (in->text, text) == 0;
      n += count (in->child, text);
    }
  return n;
}

static void
node_free (node *old)
{
  while (old != NULL)
    {
      node *next = old->next;

      node_free (old->child);
      free (old->text);
      free (old);
      old = next;
    }
}

int
main (void)
{
  char *text = malloc (12000000), *end = text;
  unsigned n = 0;

  for (int i = 0; i < 50000; i++)
    end += sprintf (end,
                    "<item>\n  <name>article %d</name>\n  <price>%d</price>\n"
                    "</item>\n",
                    i, i % 997);
  for (int round = 0; round < 3; round++)
    {
      node *root;

      at = text;
      line = 1;
      root = parse ();
      n += count (root, "17") + count (root, "name");
      node_free (root);
    }
  printf ("%u\n", n);
  free (text);
  return 0;
}
