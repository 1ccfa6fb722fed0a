/* pages.c - a browser's pages: a document of elements, texts and attributes
 *
 * A page goes when a new one takes its place.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_PAGES 48
#define N_OPEN 10
#define N_ROWS 1500

typedef struct attribute
{
  struct attribute *next;
  char text[];
} attribute;

typedef struct element
{
  struct element *parent, *child, *next;
  attribute *attributes;
  char name[8];
} element;

static attribute *
attribute_new (element *of, const char *name, unsigned value)
{
  char text[40];
  size_t n = (size_t) snprintf (text, sizeof text, "%s=%u", name, value) + 1;
  attribute *made = malloc (sizeof *made + n);

  memcpy (made->text, text, n);
  made->next = of->attributes;
  return of->attributes = made;
}

static element *
element_new (element *parent, const char *name)
{
  element *made = calloc (1, sizeof *made);

  strcpy (made->name, name);
  made->parent = parent;
  if (parent != NULL)
    {
      made->next = parent->child;
      parent->child = made;
    }
  return made;
}

static element *
page_new (unsigned number)
{
  element *page = element_new (NULL, "html");
  element *table = element_new (page, "table");

  for (unsigned i = 0; i < N_ROWS; i++)
    {
      element *row = element_new (table, "tr");

      attribute_new (row, "id", i);
      for (unsigned k = 0; k < 4; k++)
        {
          element *cell = element_new (row, "td");

          if (k % 2 == 0)
            attribute_new (cell, "class", (number + k) % 7);
        }
    }
  return page;
}

/* A sum over all names and texts, as a layout would need them. */
static unsigned long
page_layout (const element *at)
{
  unsigned long sum = 0;

  for (; at != NULL; at = at->next)
    {
      sum += strlen (at->name);
      for (const attribute *of = at->attributes; of != NULL; of = of->next)
        sum += (unsigned char) of->text[0];
      sum += page_layout (at->child);
    }
  return sum;
}

static void
element_free (element *at)
{
  while (at != NULL)
    {
      element *next = at->next;

      element_free (at->child);
      while (at->attributes != NULL)
        {
          attribute *old = at->attributes;

          at->attributes = old->next;
          free (old);
        }
      free (at);
      at = next;
    }
}

int
main (void)
{
  element *pages[N_OPEN] = { NULL };
  unsigned long sum = 0;

  for (unsigned i = 0; i < 2 * N_PAGES; i++)
    {
      element *page = page_new (i);

      for (int round = 0; round < 3; round++)
        sum += page_layout (page);
      element_free (pages[i % N_OPEN]);
      pages[i % N_OPEN] = page;
    }
  for (int i = 0; i < N_OPEN; i++)
    element_free (pages[i]);
  printf ("%lu\n", sum);
  return 0;
}
