/* test-ralloc-misuse-gc.c - each misuse of gc contexts ends with its own
 * message
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/misuse/ralloc-misuse.h"

static void
gc_mark_node (void)
{
  ralloc_gc_mark_live (ralloc_gc_context (NULL), ralloc_size (NULL, 10));
}

/* Large, so it is a node. */
static void
gc_mark_other_large (void)
{
  RallocGc *other = ralloc_gc_context (NULL);

  ralloc_gc_mark_live (ralloc_gc_context (NULL),
                       ralloc_gc_alloc_size (other, 20000, 8));
}

/* The slab that was marked last has gone, and another context has its place.
 * (Without a slab, where objects are nodes, any node of the other will do.) */
static void
gc_mark_in_old_place (void)
{
  RallocGc *gc = ralloc_gc_context (NULL);
  RallocGc *other = ralloc_gc_context (NULL);
  const void *old = ralloc_gc_alloc_size (gc, 48, 8);
  void *objects[2];

  ralloc_gc_sweep_start (gc);
  ralloc_gc_mark_live (gc, old);
  ralloc_gc_sweep_end (gc);
  ralloc_gc_sweep_start (gc);
  ralloc_gc_sweep_end (gc);
  objects[0] = ralloc_gc_alloc_size (other, 48, 8);
  objects[1] = ralloc_gc_alloc_size (other, 48, 8);
  ralloc_gc_mark_live (gc, objects[objects[1] == old]);
}

static void
gc_of_node (void)
{
  ralloc_gc_alloc_size (rzalloc_size (NULL, 4000), 8, 8);
}

static void
gc_bad_align (void)
{
  ralloc_gc_alloc_size (ralloc_gc_context (NULL), 8, 24);
}

static void
gc_free_twice (void)
{
  RallocGc *gc = ralloc_gc_context (NULL);
  void *object;

  for (unsigned i = 0; i < 10; i++)
    object = ralloc_gc_alloc_size (gc, 48, 8);
  ralloc_gc_free (object);
  ralloc_gc_free (object);
}

static void
gc_free_next (void)
{
  char *object = ralloc_gc_alloc_size (ralloc_gc_context (NULL), 48, 8);

  ralloc_gc_free (object + 48);
}

static void
gc_mark_next (void)
{
  RallocGc *gc = ralloc_gc_context (NULL);
  char *object = ralloc_gc_alloc_size (gc, 48, 8);

  ralloc_gc_sweep_start (gc);
  ralloc_gc_mark_live (gc, object + 48);
}

static void
gc_free_interior (void)
{
  char *object = ralloc_gc_alloc_size (ralloc_gc_context (NULL), 48, 8);

  ralloc_gc_free (object + 16);
}

static const Misuse misuses[]
    = { { "gc-of-node", gc_of_node, "*error 207*no gc context*", false },
        { "gc-mark-node", gc_mark_node, "*error 207*no object*", false },
        { "gc-mark-other-large", gc_mark_other_large, "*error 207*another gc*",
          false },
        { "gc-mark-in-old-place", gc_mark_in_old_place,
          "*error 207*another gc*", false },
        { "gc-bad-align", gc_bad_align, "*error 207*alignment*", false },
        { "gc-free-twice", gc_free_twice, "*error 207*free already*", true },
        { "gc-free-next", gc_free_next, "*error 207*free already*", true },
        { "gc-mark-next", gc_mark_next, "*error 207*free already*", true },
        { "gc-free-interior", gc_free_interior, "*error 207*inside an object*",
          true } };

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  misuses_add ("/slice/ralloc-misuse-gc", misuses, G_N_ELEMENTS (misuses),
               misuse_test);
  return g_test_run ();
}
