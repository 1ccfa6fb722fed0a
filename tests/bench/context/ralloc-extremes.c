/* ralloc-extremes.c - what must not depend on how many or how deep
 *
 *   parent    of the oldest of 100,000 siblings
 *   steal     of the oldest of 100,000 siblings, and back
 *   resize    a node with 100,000 children and one with none, moving each time
 *   free      a chain of 10,000,000 nodes, and as many siblings, in a thread
 *             with a stack of 64 KiB; CPU time, and a tenth of it beside that
 *   reused    bytes held after 200 trees were built and freed, to those after
 *             the first
 *
 * usage: ralloc-extremes; prints a line each.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <slice/ralloc.h>
#include <slice/stats.h>

#include "tests/bench/measure.h"

enum
{
  N_SIBLINGS = 100000,
  N_CALLS = 1000,
  N_SEEN = 101,
  N_LARGE = 10000000,
  STACK_BYTES = 64 * 1024,
  N_CYCLES = 200
};

static double seen[N_SEEN];

/* The oldest of many siblings. */
static void *
oldest_new (void *root)
{
  void *oldest = ralloc_size (root, 24);

  for (unsigned i = 1; i < N_SIBLINGS; i++)
    ralloc_size (root, 24);
  return oldest;
}

static void
measure_parent_and_steal (void)
{
  void *root = ralloc_context (NULL), *other = ralloc_context (NULL);
  void *oldest = oldest_new (root);
  double began;

  for (unsigned k = 0; k < N_SEEN; k++)
    {
      began = measure_nsec (CLOCK_THREAD_CPUTIME_ID);
      for (unsigned i = 0; i < N_CALLS; i++)
        if (ralloc_parent (oldest) != root)
          abort ();
      seen[k] = (measure_nsec (CLOCK_THREAD_CPUTIME_ID) - began) / N_CALLS;
    }
  printf ("parent of the oldest of %d: %.1f ns\n", N_SIBLINGS,
          measure_median (seen, N_SEEN));
  for (unsigned k = 0; k < N_SEEN; k++)
    {
      began = measure_nsec (CLOCK_THREAD_CPUTIME_ID);
      for (unsigned i = 0; i < N_CALLS; i++)
        ralloc_steal (i % 2 == 0 ? other : root, oldest);
      seen[k] = (measure_nsec (CLOCK_THREAD_CPUTIME_ID) - began) / N_CALLS;
    }
  printf ("steal of the oldest of %d: %.1f ns\n", N_SIBLINGS,
          measure_median (seen, N_SEEN));
  ralloc_free (root);
  ralloc_free (other);
}

static double
measure_resize (unsigned n_children)
{
  void *root = ralloc_context (NULL);
  void *node = ralloc_size (root, 40);

  for (unsigned i = 0; i < n_children; i++)
    ralloc_size (node, 24);
  node = reralloc_size (root, node, 1000); /* where it pays for them once */
  for (unsigned k = 0; k < N_SEEN; k++)
    {
      double began = measure_nsec (CLOCK_THREAD_CPUTIME_ID);

      for (unsigned i = 0; i < N_CALLS; i++)
        node = reralloc_size (root, node, i % 2 == 0 ? 100 : 1000);
      seen[k] = (measure_nsec (CLOCK_THREAD_CPUTIME_ID) - began) / N_CALLS;
    }
  ralloc_free (root);
  return measure_median (seen, N_SEEN);
}

static void *
tree_new (unsigned n, bool is_deep)
{
  void *root = ralloc_context (NULL), *node = root;

  for (unsigned i = 0; i < n; i++)
    {
      void *next = ralloc_size (node, 0);

      if (is_deep)
        node = next;
    }
  return root;
}

static void *
tree_free (void *tree)
{
  double *nsec = seen;

  *nsec = measure_nsec (CLOCK_THREAD_CPUTIME_ID);
  ralloc_free (tree);
  *nsec = measure_nsec (CLOCK_THREAD_CPUTIME_ID) - *nsec;
  return NULL;
}

/* Milliseconds, on a small stack. */
static double
measure_free (unsigned n, bool is_deep)
{
  pthread_attr_t attributes;
  pthread_t thread;

  pthread_attr_init (&attributes);
  if (pthread_attr_setstacksize (&attributes, STACK_BYTES) != 0
      || pthread_create (&thread, &attributes, tree_free,
                         tree_new (n, is_deep))
             != 0)
    abort ();
  pthread_join (thread, NULL);
  pthread_attr_destroy (&attributes);
  return seen[0] * 1e-6;
}

static double
held_mib (void)
{
  static SliceStats stats;

  slice_get_stats (&stats);
  return (double) stats.held_bytes / (1 << 20);
}

static void
build_and_free (void)
{
  static void *nodes[N_SIBLINGS];

  nodes[0] = ralloc_context (NULL);
  for (size_t i = 1; i < N_SIBLINGS; i++)
    nodes[i] = ralloc_size (nodes[(i - 1) / 8], 16 + i * 7919 % 193);
  ralloc_free (nodes[0]);
}

int
main (void)
{
  double first;

  build_and_free ();
  first = held_mib ();
  for (unsigned i = 1; i < N_CYCLES; i++)
    build_and_free ();
  printf ("held after %d trees: %.1f MiB, %.2f of after the first\n",
          N_CYCLES, held_mib (), held_mib () / first);
  measure_parent_and_steal ();
  printf ("resize, moving: %.1f ns with no children,", measure_resize (0));
  printf (" %.1f with %d\n", measure_resize (N_SIBLINGS), N_SIBLINGS);
  for (int is_deep = 0; is_deep <= 1; is_deep++)
    {
      double part = measure_free (N_LARGE / 10, is_deep);
      double whole = measure_free (N_LARGE, is_deep);

      printf ("%s of %d freed on a stack of %d KiB: %.0f ms, %.1f times a"
              " tenth's\n",
              is_deep ? "chain" : "siblings", N_LARGE, STACK_BYTES / 1024,
              whole, whole / part);
    }
  return 0;
}
