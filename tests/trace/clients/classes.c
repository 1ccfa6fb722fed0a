/* classes.c - one behaviour a class, for real
 *
 * Tests: a program to be recorded.  The argument chooses; each behaviour
 * allocates in one function of its name.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/trace.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__ ((noinline)) static void *

static unsigned state = 1;

static unsigned
random_below (unsigned n)
{
  state = state * 1664525 + 1013904223;
  return (unsigned)((unsigned long long)state * n >> 32);
}

static size_t
any_size (void)
{
  return 16 * (1 + random_below (20));
}

SITE
site (size_t size)
{
  void *volatile block = malloc (size);

  return block;
}

SITE
owner_site (void)
{
  void *volatile block = malloc (200);

  return block;
}

static void
linear (void)
{
  static void *blocks[1000];

  for (int round = 0; round < 50; round++)
    {
      for (int i = 0; i < 1000; i++)
        blocks[i] = site (any_size ());
      for (int i = 0; i < 1000; i++)
        free (blocks[i * 7 % 1000]);
    }
}

static void
linear_fair (void)
{
  static void *blocks[1000];

  for (int round = 0; round < 50; round++)
    {
      int n = 0;

      for (int i = 0; i < 1000; i++)
        {
          void *block = site (any_size ());

          if (i % 10 < 3)
            free (block);
          else
            blocks[n++] = block;
        }
      for (int i = 0; i < n; i++)
        free (blocks[i]);
    }
}

static void
immortal (void)
{
  for (int i = 0; i < 5000; i++)
    site (any_size ());
}

static void
scratch (void)
{
  for (int i = 0; i < 5000; i++)
    {
      void *a = site (64), *b = site (80);

      free (b);
      free (a);
    }
}

static void
stack_of (int violations_percent)
{
  static void *stack[512];
  int n = 0, up = 1;

  for (int i = 0; i < 40000; i++)
    {
      int at;

      up = n < 3 ? 1 : n > 200 ? 0 : up;
      if (n < 2 || random_below (100) < (up ? 65u : 35u))
        {
          stack[n++] = site (any_size ());
          continue;
        }
      at = n - 1;
      if ((int)random_below (100) < violations_percent)
        at -= (int)random_below (n < 20 ? (unsigned)n : 20);
      free (stack[at]);
      memmove (&stack[at], &stack[at + 1],
               (size_t)(n - at - 1) * sizeof *stack);
      n--;
    }
}

static void
stack (void)
{
  stack_of (0);
}

static void
stack_lazy (void)
{
  stack_of (5);
}

static void
owner (void)
{
  enum
  {
    N = 8,
    CHILDREN = 60
  };
  void *parents[N] = { NULL }, *children[N][CHILDREN];
  int n[N] = { 0 };

  for (int i = 0; i < 60000; i++)
    {
      int at = (int)random_below (N);

      if (parents[at] == NULL)
        {
          parents[at] = owner_site ();
          n[at] = 0;
        }
      if (n[at] < CHILDREN)
        {
          children[at][n[at]++] = site (any_size ());
          continue;
        }
      for (int k = 0; k < CHILDREN; k++)
        free (children[at][k * 7 % CHILDREN]);
      free (parents[at]);
      parents[at] = NULL;
    }
}

static void
scope (void)
{
  void *held[10], *blocks[60];

  for (int i = 0; i < 10; i++)
    held[i] = site (any_size ());
  for (int round = 0; round < 1000; round++)
    {
      slice_trace_scope_begin ("round");
      for (int i = 0; i < 60; i++)
        blocks[i] = site (any_size ());
      for (int i = 0; i < 60; i++)
        free (blocks[i * 7 % 60]);
      slice_trace_scope_end ("round");
    }
  for (int i = 0; i < 10; i++)
    free (held[i]);
}

static void
replacement (size_t (*size) (void), int n_slots, int n)
{
  static void *slots[1000];

  for (int i = 0; i < n; i++)
    {
      unsigned at
          = i < n_slots ? (unsigned)i : random_below ((unsigned)n_slots);

      free (slots[at]);
      slots[at] = site (size ());
    }
}

static size_t
one_size (void)
{
  return 64;
}

static void
pool (void)
{
  replacement (one_size, 500, 20000);
}

static void
slice (void)
{
  replacement (one_size, 300, 900);
}

static void
general (void)
{
  replacement (any_size, 500, 20000);
}

static void
huge (void)
{
  for (int i = 0; i < 300; i++)
    free (site (200 * 1024));
}

static const struct
{
  const char *name;
  void (*run) (void);
} classes[] = { { "linear", linear },     { "linear-fair", linear_fair },
                { "immortal", immortal }, { "scratch", scratch },
                { "stack", stack },       { "stack-lazy", stack_lazy },
                { "owner", owner },       { "scope", scope },
                { "pool", pool },         { "slice", slice },
                { "general", general },   { "huge", huge } };

int
main (int argc, char **argv)
{
  for (size_t i = 0; argc > 1 && i < sizeof classes / sizeof *classes; i++)
    if (strcmp (classes[i].name, argv[1]) == 0)
      {
        classes[i].run ();
        return 0;
      }
  return 2;
}
