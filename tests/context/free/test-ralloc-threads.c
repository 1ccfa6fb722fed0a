/* test-ralloc-threads.c - trees built in one thread and freed in another
 *
 * Plain pthreads, which race detectors understand.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

#include <pthread.h>

enum
{
  N_PAIRS = 4,
  N_TREES = 4000,
  N_TREES_WATCHED = 100,
  N_TREES_SLOW = 100000, /* with -m slow, watched or not */
  CAPACITY = 16
};

/* A queue of trees. */
typedef struct
{
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  void *trees[CAPACITY];
  unsigned n;
} Queue;

static unsigned n_trees;

static void
queue_put (Queue *queue, void *tree)
{
  pthread_mutex_lock (&queue->mutex);
  while (queue->n == CAPACITY)
    pthread_cond_wait (&queue->changed, &queue->mutex);
  queue->trees[queue->n++] = tree;
  pthread_cond_broadcast (&queue->changed);
  pthread_mutex_unlock (&queue->mutex);
}

static void *
queue_get (Queue *queue)
{
  void *tree;

  pthread_mutex_lock (&queue->mutex);
  while (queue->n == 0)
    pthread_cond_wait (&queue->changed, &queue->mutex);
  tree = queue->trees[--queue->n];
  pthread_cond_broadcast (&queue->changed);
  pthread_mutex_unlock (&queue->mutex);
  return tree;
}

static void *
build (void *data)
{
  Random random = { (uintptr_t) data };

  for (unsigned i = 0; i < n_trees; i++)
    {
      void *tree = ralloc_context (NULL);
      void *nodes[200] = { tree };
      unsigned n = 1 + (unsigned) random_below (&random, 199);
      void *linear;

      for (unsigned k = 1; k < n; k++)
        {
          size_t size = random_below (&random, 30) == 0
                            ? random_below (&random, 5000)
                            : random_below (&random, 150);

          nodes[k] = rzalloc_size (nodes[random_below (&random, k)], size);
        }
      linear = ralloc_linear_context (nodes[n - 1]);
      for (unsigned k = 0; k < n; k++)
        ralloc_linear_alloc_child (linear, k);
      queue_put (data, tree);
    }
  return NULL;
}

static void *
destroy (void *data)
{
  for (unsigned i = 0; i < n_trees; i++)
    {
      void *tree = queue_get (data);

      ralloc_free (tree);
    }
  return NULL;
}

static void
test_hand_over (void)
{
  static Queue queues[N_PAIRS];
  pthread_t threads[2 * N_PAIRS];
  uint64_t before;

  n_trees = g_test_slow () ? N_TREES_SLOW
            : is_annotated () || is_on (SLICE_OPTION_DEBUG) ? N_TREES_WATCHED
                            : N_TREES;
  before = live_blocks ();
  for (unsigned i = 0; i < N_PAIRS; i++)
    {
      pthread_mutex_init (&queues[i].mutex, NULL);
      pthread_cond_init (&queues[i].changed, NULL);
      pthread_create (&threads[2 * i], NULL, build, &queues[i]);
      pthread_create (&threads[2 * i + 1], NULL, destroy, &queues[i]);
    }
  for (unsigned i = 0; i < 2 * N_PAIRS; i++)
    pthread_join (threads[i], NULL);
  g_assert_cmpuint (live_blocks (), ==, before);
}

/* Two threads, each with a tree, steal subtrees from one to the other. */
static struct
{
  pthread_mutex_t mutex;
  void *trees[2];
} shared = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void *
steal_over (void *data)
{
  unsigned own = data != NULL;

  for (unsigned i = 0; i < n_trees; i++)
    {
      void *subtree = ralloc_context (NULL);

      for (unsigned k = 0; k < 50; k++)
        ralloc_size (subtree, k);
      pthread_mutex_lock (&shared.mutex);
      ralloc_steal (shared.trees[own], subtree);
      if (i % 3 == 0)
        ralloc_adopt (shared.trees[!own], shared.trees[own]);
      if (i % 7 == 0)
        ralloc_free_children (shared.trees[own]);
      pthread_mutex_unlock (&shared.mutex);
    }
  return NULL;
}

static void
test_steal_over (void)
{
  pthread_t threads[2];

  n_trees = is_annotated () || is_on (SLICE_OPTION_DEBUG) ? N_TREES_WATCHED
                                                         : N_TREES;
  for (unsigned i = 0; i < 2; i++)
    shared.trees[i] = ralloc_context (NULL);
  pthread_create (&threads[0], NULL, steal_over, NULL);
  pthread_create (&threads[1], NULL, steal_over, &shared);
  for (unsigned i = 0; i < 2; i++)
    pthread_join (threads[i], NULL);
  for (unsigned i = 0; i < 2; i++)
    ralloc_free (shared.trees[i]);
}

/* A tree that is handed over is blamed in no mode. */
static void
test_debug (gconstpointer data)
{
  void (*test) (void) = *(void (*const *) (void)) data;

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, 0);
      g_test_trap_assert_passed ();
      return;
    }
  g_assert_cmpint (slice_set_option (SLICE_OPTION_DEBUG, 1), ==,
                   SLICE_SET_OK);
  test ();
}

int
main (int argc, char **argv)
{
  static void (*const tests[]) (void) = { test_hand_over, test_steal_over };

  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/slice/ralloc-threads/hand-over-debug", &tests[0],
                        test_debug);
  g_test_add_data_func ("/slice/ralloc-threads/steal-over-debug", &tests[1],
                        test_debug);
  g_test_add_func ("/slice/ralloc-threads/hand-over", test_hand_over);
  g_test_add_func ("/slice/ralloc-threads/steal-over", test_steal_over);
  return g_test_run ();
}
