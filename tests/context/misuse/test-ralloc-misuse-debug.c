/* test-ralloc-misuse-debug.c - misuses with the option debug: some of them it
 * alone finds
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/misuse/ralloc-misuse.h"

#include <pthread.h>

#include <slice/arena.h>

/* A large node whose block the system's realloc has moved, perhaps. */
static void
free_grown_twice (void)
{
  void *root = ralloc_context (NULL);
  void *node = do_size (root, 100000);

  node = reralloc_size (root, node, 300000);
  do_free (node);
  do_free (node);
}

static void
overrun (void)
{
  char *volatile node = do_size (NULL, 61);

  node[61] = 1;
  do_free (node);
}

static void
overrun_large (void)
{
  char *volatile node = do_size (NULL, 6001);

  node[6001] = 1;
  do_free (node);
}

static void
free_large_as_slice (void)
{
  slice_free1 (100000, do_size (NULL, 100000));
}

static void
steal_dying (void *node)
{
  ralloc_try_steal (NULL, node);
}

/* A warning. */
static void
keep_dying (void)
{
  void *node = do_size (NULL, 40);

  ralloc_set_destructor (node, steal_dying);
  do_free (node);
  abort ();
}

static void
wrong_parent (void)
{
  void *node = do_size (NULL, 40);

  reralloc_size (node, node, 50);
}

static void
destroy_twice (void)
{
  SliceLinear *volatile arena = slice_linear_new (NULL);

  slice_linear_destroy (arena);
  slice_linear_destroy (arena);
}

static void
destroy_in_context_twice (void)
{
  void *root = ralloc_context (NULL);
  SliceStack *volatile stack = slice_stack_new_in (root, NULL);

  slice_stack_destroy (stack);
  slice_stack_destroy (stack);
}

/* What a second thread does while a destructor of the first one waits for it;
 * so the first is at work on the tree. */
static void *tree_in_use;
static void *(*second_thread) (void *);

static void
wait_for_second_thread (void *node)
{
  /* With 32 bits a word has space for seven tags or fifteen: a thread may have
   * the first one's, but several have not. */
  pthread_t threads[sizeof (void *) > 4 ? 1 : 8];

  (void) node;
  fputs ("freeing\n", stderr);
  for (size_t i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_create (&threads[i], NULL, second_thread, tree_in_use);
  for (size_t i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_join (threads[i], NULL);
}

static void
two_threads (void *(*second) (void *) )
{
  void *node;

  tree_in_use = ralloc_context (ralloc_context (NULL));
  second_thread = second;
  node = ralloc_size (tree_in_use, 10);
  ralloc_set_destructor (node, wait_for_second_thread);
  ralloc_free (node);
}

static void *
use_tree (void *tree)
{
  ralloc_size (tree, 10);
  return NULL;
}

static void
second_thread_allocs (void)
{
  two_threads (use_tree);
}

static void *
steal_into_tree (void *tree)
{
  ralloc_steal (tree, ralloc_context (NULL));
  return NULL;
}

static void
second_thread_steals (void)
{
  two_threads (steal_into_tree);
}

static void *
free_tree (void *tree)
{
  ralloc_free (tree);
  return NULL;
}

static void
second_thread_frees (void)
{
  two_threads (free_tree);
}

static void *
free_children_of_tree (void *tree)
{
  ralloc_free_children (tree);
  return NULL;
}

static void
second_thread_frees_children (void)
{
  two_threads (free_children_of_tree);
}

static void *
adopt_into_tree (void *tree)
{
  void *other = ralloc_context (NULL);

  ralloc_size (other, 10);
  ralloc_adopt (tree, other);
  return NULL;
}

static void
second_thread_adopts (void)
{
  two_threads (adopt_into_tree);
}

static void *
linear_in_tree (void *tree)
{
  ralloc_linear_context (tree);
  return NULL;
}

static void
second_thread_makes_linear (void)
{
  two_threads (linear_in_tree);
}

static const Misuse misuses[]
    = { { "free-grown-twice", free_grown_twice,
          "*error 201: *), space for 300000 bytes" ALLOCATED FREED, true },
        { "overrun", overrun,
          "*error 212: *), space for 61 bytes" ALLOCATED "\n", true },
        { "overrun-large", overrun_large,
          "*error 212: *), space for 6001 bytes" ALLOCATED "\n", true },
        { "free-large-as-slice", free_large_as_slice,
          "*error 108: *" ALLOCATED " [class *", true },
        { "keep-dying", keep_dying,
          "*warning 211: *), space for 40 bytes" ALLOCATED "\n*", true },
        { "wrong-parent", wrong_parent, "*error 205*", false },
        { "wrong-parent-of-whom", wrong_parent,
          "*error 205: *), space for 40 bytes" ALLOCATED "\n", true },
        { "destroy-twice", destroy_twice,
          "*error 306: *no live linear arena" ALLOCATED FREED, true },
        { "destroy-in-context-twice", destroy_in_context_twice,
          "*error 306: *no live stack arena" ALLOCATED FREED, true },
        { "second-thread-allocs", second_thread_allocs,
          "*freeing*error 209*ralloc_size*", false },
        { "second-thread-steals", second_thread_steals,
          "*freeing*error 209*ralloc_steal*", false },
        /* With 32 bits one of the threads may have freed the tree (see
         * wait_for_second_thread), and the next one finds it freed: 201. */
        { "second-thread-frees", second_thread_frees,
          sizeof (void *) > 4 ? "*freeing*error 209*ralloc_free*"
                              : "*freeing*error 20?: *ralloc_free*",
          false },
        { "second-thread-frees-children", second_thread_frees_children,
          "*freeing*error 209*ralloc_free_children*", false },
        { "second-thread-adopts", second_thread_adopts,
          "*freeing*error 209*ralloc_adopt*", false },
        { "second-thread-makes-linear", second_thread_makes_linear,
          "*freeing*error 209*ralloc_linear_context*", false } };

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  misuses_add ("/slice/ralloc-misuse-debug", misuses, G_N_ELEMENTS (misuses),
               misuse_test_with_debug);
  return g_test_run ();
}
