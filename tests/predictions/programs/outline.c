/* outline.c - reads outlines into trees of headings, and prints their numbers
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Heading
{
  struct Heading *parent, *first, *last, *next;
  const char *title;
  unsigned n_title, number;
} Heading;

static char text[100000];

static Heading *
heading_new (Heading *parent, const char *title, unsigned n_title)
{
  Heading *heading = malloc (sizeof *heading);

  if (heading == NULL)
    abort ();
  *heading = (Heading){ parent, NULL, NULL, NULL, title, n_title, 1 };
  if (parent == NULL)
    return heading;
  if (parent->last != NULL)
    {
      heading->number = parent->last->number + 1;
      parent->last->next = heading;
    }
  else
    parent->first = heading;
  parent->last = heading;
  return heading;
}

static Heading *
outline_read (void)
{
  Heading *root = heading_new (NULL, "", 0), *at = root;
  unsigned depth = 0;

  for (const char *line = text; *line != '\0';)
    {
      unsigned n = (unsigned) strspn (line, "*");
      const char *end = strchr (line, '\n');

      for (; depth >= n; depth--)
        at = at->parent;
      at = heading_new (at, line + n, (unsigned) (end - line) - n);
      depth++;
      line = end + 1;
    }
  return root;
}

static uint64_t
outline_number (const Heading *heading, uint64_t number)
{
  uint64_t sum = number;

  for (unsigned i = 0; i < heading->n_title; i++)
    sum = sum * 31 + (unsigned char) heading->title[i];
  for (const Heading *at = heading->first; at != NULL; at = at->next)
    sum += outline_number (at, number * 10 + at->number);
  return sum;
}

static void
outline_free (Heading *heading)
{
  for (Heading *at = heading->first, *next; at != NULL; at = next)
    {
      next = at->next;
      outline_free (at);
    }
  free (heading);
}

int
main (void)
{
  uint32_t random = 23;
  uint64_t sum = 0;
  unsigned depth = 1;
  char *out = text;

  for (unsigned i = 0; i < 3000; i++)
    {
      unsigned n;

      random = random * 1664525 + 1013904223;
      n = 1 + (random >> 24) % (depth + 1);
      depth = n > 5 ? 5 : n;
      memset (out, '*', depth);
      out += depth + (unsigned) sprintf (out + depth, "part %u\n", i);
    }
  for (unsigned i = 0; i < 1500; i++)
    {
      Heading *root = outline_read ();

      sum += outline_number (root, i);
      outline_free (root);
    }
  printf ("%llu\n", (unsigned long long) sum);
  return 0;
}
