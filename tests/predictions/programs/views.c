/* views.c - windows whose contents are described anew at each change, compared
 * with what they were, and let go: elements, their properties and texts
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_WINDOWS 3000
#define N_CHANGES 24000

typedef struct property
{
  struct property *next;
  const char *name;
  char *value;
} property;

typedef struct element
{
  struct element *next, *inside;
  property *properties;
  unsigned kind, key;
} element;

typedef struct view
{
  element *top;
  unsigned window, version;
} view;

static unsigned state = 31337;

static unsigned
random_next (void)
{
  state = state * 1664525u + 1013904223u;
  return state >> 9;
}

static void *
view_alloc (view *of, size_t size)
{
  (void) of;
  return malloc (size);
}

static property *
property_new (view *of, property *next, const char *name, unsigned value)
{
  property *made = view_alloc (of, sizeof *made);
  char text[24];
  int length = 0;

  do
    {
      text[length++] = '0' + value % 10;
      value /= 10;
    }
  while (value > 0);
  text[length] = '\0';
  made->next = next;
  made->name = name;
  made->value = view_alloc (of, length + 1);
  memcpy (made->value, text, length + 1);
  return made;
}

static element *
element_new (view *of, unsigned seed, int depth)
{
  static const char *const names[] = { "width", "height", "colour", "weight" };
  element *made = view_alloc (of, sizeof *made);

  made->kind = seed % 7;
  made->key = seed;
  made->properties = NULL;
  made->inside = NULL;
  made->next = NULL;
  for (unsigned i = 0; i < 1 + seed % 3; i++)
    made->properties
        = property_new (of, made->properties, names[(seed + i) % 4],
                        seed * 17 % 5003 + i);
  if (depth > 0)
    for (unsigned i = 0; i < 3; i++)
      {
        element *inside = element_new (of, seed * 5 + i, depth - 1);

        inside->next = made->inside;
        made->inside = inside;
      }
  return made;
}

static void
element_free (element *old)
{
  while (old != NULL)
    {
      element *next = old->next;

      element_free (old->inside);
      while (old->properties != NULL)
        {
          property *after = old->properties->next;

          free (old->properties->value);
          free (old->properties);
          old->properties = after;
        }
      free (old);
      old = next;
    }
}

static view *
view_new (unsigned window, unsigned version)
{
  view *made = malloc (sizeof *made);

  made->window = window;
  made->version = version;
  made->top = element_new (made, window + version % 4 * 1000, 3);
  return made;
}

static void
view_free (view *old)
{
  element_free (old->top);
  free (old);
}

static unsigned
difference (const element *a, const element *b)
{
  unsigned n = 0;

  for (; a != NULL && b != NULL; a = a->next, b = b->next)
    {
      const property *p = a->properties, *q = b->properties;

      n += a->kind != b->kind || a->key != b->key;
      for (; p != NULL && q != NULL; p = p->next, q = q->next)
        n += p->name != q->name || strcmp (p->value, q->value) != 0;
      n += difference (a->inside, b->inside);
    }
  return n + (a != b);
}

int
main (void)
{
  view *views[N_WINDOWS];
  unsigned long sum = 0;

  for (unsigned i = 0; i < N_WINDOWS; i++)
    views[i] = view_new (i, 0);
  for (unsigned i = 0; i < N_CHANGES; i++)
    {
      unsigned window = random_next () % N_WINDOWS;
      view *before = views[window];

      views[window] = view_new (window, before->version + 1);
      sum += difference (before->top, views[window]->top);
      view_free (before);
    }
  for (unsigned i = 0; i < N_WINDOWS; i++)
    view_free (views[i]);
  printf ("%lu\n", sum);
  return 0;
}
