/* test-ralloc-oom.c - every request for memory fails in turn
 *
 * failing-malloc.h: what fails has to leave the tree as it was; what was
 * allocated has to be free at the end.  SLICE_OPTIONS is set so that every
 * slice is a request, too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ralloc-testlib.h"

#include <slice/options.h>

#include "failing-malloc.h"

/* --- the script --- */

static bool
agree (void *node)
{
  (void) node;
  return false;
}

static void
destroyed (void *node)
{
  (void) node;
}

static void
script_strings (void *root, void *linear)
{
  char *text = ralloc_strdup (root, "start");
  char *other = ralloc_linear_strdup (linear, "start");
  size_t length;

  for (unsigned i = 0; i < 60 && text != NULL; i++)
    {
      char *before = text;
      length = strlen (text);
      if (!ralloc_asprintf_append (&text, "%0*u", 1 + (int) i * 7, i))
        {
          g_assert_true (text == before);
          g_assert_cmpuint (strlen (text), ==, length);
        }
      if (other != NULL)
        ralloc_linear_asprintf_append (linear, &other, "%s,%u", "x", i);
    }
}

static void
script_nodes (Random *random, void *root)
{
  void *nodes[40] = { NULL };

  for (unsigned i = 0; i < 500; i++)
    {
      void **node = &nodes[random_below (random, 40)];
      size_t size = random_below (random, 30) == 0
                        ? random_below (random, 200000)
                        : random_below (random, 500);
      void *ctx = ralloc_parent (*node);
      size_t n = ralloc_total_nodes (root);
      void *moved;

      switch (random_below (random, 6))
        {
        case 0:
          ralloc_free (*node);
          *node = NULL;
          break;
        case 1:
          if (*node == NULL)
            break;
          moved = reralloc_size (ctx, *node, size);
          g_assert_cmpuint (ralloc_total_nodes (root), ==, n);
          g_assert_true (ralloc_parent (moved != NULL ? moved : *node)
                         == ctx);
          *node = moved != NULL ? moved : *node;
          break;
        case 2:
          if (*node != NULL)
            {
              ralloc_try_set_destructor (*node, destroyed);
              ralloc_set_refusing_destructor (*node, agree);
              ralloc_set_name (*node, "a name that is copied");
              if (ralloc_reference (root, *node) != NULL)
                ralloc_unlink (root, *node);
            }
          break;
        default:
          if (*node == NULL)
            {
              *node = rzalloc_size (root, size);
              g_assert_cmpuint (ralloc_total_nodes (root), ==,
                                n + (*node != NULL));
            }
        }
    }
}

static void
script_arenas (void *root)
{
  RallocGc *gc = ralloc_gc_context (root);
  void *objects[300] = { NULL };

  if (gc == NULL)
    return;
  for (unsigned i = 0; i < 300; i++)
    objects[i] = ralloc_gc_alloc_size (gc, i * 5, 8u << (i % 4));
  ralloc_gc_sweep_start (gc);
  for (unsigned i = 0; i < 300; i += 2)
    if (objects[i] != NULL)
      ralloc_gc_mark_live (gc, objects[i]);
  ralloc_gc_sweep_end (gc);
  for (unsigned i = 0; i < 300; i += 4)
    ralloc_gc_free (objects[i]);
}

/* A node with many children moves with and without memory for the record. */
static void
script_family (void *root)
{
  void *node = ralloc_size (root, 10);
  void *children[50] = { NULL };

  if (node == NULL)
    return;
  for (unsigned i = 0; i < 50; i++)
    children[i] = ralloc_size (node, 10);
  for (size_t size = 10; size < 400000; size *= 4)
    {
      void *moved = reralloc_size (root, node, size);
      node = moved != NULL ? moved : node;
      for (unsigned i = 0; i < 50; i++)
        g_assert_true (children[i] == NULL
                       || ralloc_parent (children[i]) == node);
    }
}

static void
script (void)
{
  Random random = { 12345 };
  void *root = ralloc_context (NULL);
  void *linear;

  if (root == NULL)
    return;
  linear = ralloc_linear_context (root);
  if (linear != NULL)
    for (unsigned i = 0; i < 200; i++)
      ralloc_linear_alloc_child (linear, i * 3);
  if (linear != NULL)
    script_strings (root, linear);
  script_nodes (&random, root);
  script_family (root);
  script_arenas (root);
  ralloc_set_limit (root, 1 << 20);
  ralloc_size (root, 100);
  ralloc_free (root);
}

int
main (int argc, char **argv)
{
  return fail_main (argc, argv, "ralloc-oom", script);
}
