/* feed.c - reads a feed from standard input into a tree, and counts what it has
 *
 * SPDX-License-Identifier: MIT
 */
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct attribute
{
  struct attribute *next;
  char *name, *value;
} attribute;

/* an element, or a text if there is no name */
typedef struct node
{
  struct node *parent, *next, *first, **end;
  attribute *attributes;
  char *name, *text;
} node;

static node *at;

static void *
tree_alloc (size_t size)
{
  void *made = malloc (size);

  if (made == NULL)
    abort ();
  return made;
}

static char *
text_copy (const char *text, size_t length)
{
  char *made = tree_alloc (length + 1);

  memcpy (made, text, length);
  made[length] = '\0';
  return made;
}

static node *
node_new (node *parent)
{
  node *made = tree_alloc (sizeof *made);

  *made = (node){ .parent = parent };
  made->end = &made->first;
  if (parent != NULL)
    {
      *parent->end = made;
      parent->end = &made->next;
    }
  return made;
}

static void XMLCALL
element_start (void *data, const char *name, const char **attributes)
{
  (void) data;
  at = node_new (at);
  at->name = text_copy (name, strlen (name));
  for (; attributes[0] != NULL; attributes += 2)
    {
      attribute *made = tree_alloc (sizeof *made);

      made->name = text_copy (attributes[0], strlen (attributes[0]));
      made->value = text_copy (attributes[1], strlen (attributes[1]));
      made->next = at->attributes;
      at->attributes = made;
    }
}

static void XMLCALL
element_end (void *data, const char *name)
{
  (void) data;
  (void) name;
  if (at->parent != NULL)
    at = at->parent;
}

static void XMLCALL
text_add (void *data, const char *text, int length)
{
  (void) data;
  node_new (at)->text = text_copy (text, length);
}

static unsigned long
tree_digest (const node *of)
{
  unsigned long sum = 7;

  if (of->text != NULL)
    return strlen (of->text);
  for (const attribute *one = of->attributes; one != NULL; one = one->next)
    sum += one->value[0] * 3;
  for (const node *one = of->first; one != NULL; one = one->next)
    sum += tree_digest (one) ^ (unsigned char) of->name[0];
  return sum;
}

static void
tree_free (node *old)
{
  while (old->first != NULL)
    {
      node *next = old->first->next;

      tree_free (old->first);
      old->first = next;
    }
  while (old->attributes != NULL)
    {
      attribute *next = old->attributes->next;

      free (old->attributes->name);
      free (old->attributes->value);
      free (old->attributes);
      old->attributes = next;
    }
  free (old->name);
  free (old->text);
  free (old);
}

int
main (void)
{
  static char text[8000000];
  size_t length = fread (text, 1, sizeof text, stdin);
  unsigned long sum = 0;

  for (int round = 0; round < 3; round++)
    {
      XML_Parser parser = XML_ParserCreate (NULL);

      at = NULL;
      XML_SetElementHandler (parser, element_start, element_end);
      XML_SetCharacterDataHandler (parser, text_add);
      if (XML_Parse (parser, text, (int) length, 1) != XML_STATUS_OK)
        return 1;
      XML_ParserFree (parser);
      sum += tree_digest (at);
      tree_free (at);
    }
  printf ("%lu\n", sum);
  return 0;
}
