/* load-tree.c - what a compiler does: build a tree, walk it, free it
 *
 * A random binary tree of n_blocks nodes of size_min to size_max bytes, built
 * from the root down, each node before its right child; walked
 * in the same order; freed from the leaves up.  The three are timed apart.
 * The first lap builds in fresh memory ("first" in the report), the later ones
 * in what the ones before left.
 *
 * rss_over_live is resident memory at the peak, less what was resident before,
 * over the bytes asked for.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/bench/frame/measured.h"
#include "load.h"

typedef struct Node Node;
struct Node
{
  Node *left, *right;
  uint32_t size;
  uint32_t number; /* in building order */
};

/* One thread's tree. */
typedef struct
{
  Node *root;
  uint64_t random;
  uint32_t n_built;
  uint64_t bytes;
} Tree;

/* What is still to do: a subtree of n nodes, to hang at *place. */
typedef struct
{
  Node **place;
  size_t n;
} Job;

enum
{
  JOBS_MAX = 4096 /* depth of a random tree of 10^9 nodes is below 200 */
};

static double rss_over_live[LAPS_MAX + 1];

BENCH_INLINE Node *
node_new (Run *run, Tree *tree, const bool observed)
{
  size_t size = random_size (run, &tree->random) & ~(size_t) 7;
  Node *node = bench_alloc (observed, size, sizeof *node);

  node->size = (uint32_t) size;
  node->number = tree->n_built++;
  node->left = node->right = NULL;
  tree->bytes += size;
  return node;
}

BENCH_INLINE void
tree_build (Run *run, Tree *tree, const bool observed)
{
  Job jobs[JOBS_MAX];
  size_t n_jobs = 0;

  jobs[n_jobs++] = (Job){ &tree->root, run->parameters.n_blocks };
  while (n_jobs != 0)
    {
      Job job = jobs[--n_jobs];
      Node *node = *job.place = node_new (run, tree, observed);
      size_t n_left = random_below (&tree->random, job.n);
      size_t n_right = job.n - 1 - n_left;

      if (n_jobs + 2 > JOBS_MAX)
        bench_die ("tree: deeper than expected");
      if (n_right != 0)
        jobs[n_jobs++] = (Job){ &node->right, n_right };
      if (n_left != 0)
        jobs[n_jobs++] = (Job){ &node->left, n_left };
    }
}

/* Sums the nodes' numbers. */
static uint64_t
tree_walk (const Tree *tree)
{
  const Node *stack[JOBS_MAX];
  size_t depth = 0;
  uint64_t sum = 0;

  stack[depth++] = tree->root;
  while (depth != 0)
    {
      const Node *node = stack[--depth];

      sum += node->number;
      if (node->right != NULL)
        stack[depth++] = node->right;
      if (node->left != NULL)
        stack[depth++] = node->left;
    }
  return sum;
}

/* Frees a subtree, children first: a node goes on the stack a second time,
 * marked by its lowest bit, before its children. */
BENCH_INLINE void
tree_free (Tree *tree, const bool observed)
{
  uintptr_t stack[2 * JOBS_MAX];
  size_t depth = 0;

  stack[depth++] = (uintptr_t) tree->root;
  while (depth != 0)
    {
      uintptr_t top = stack[--depth];
      Node *node = (Node *) (top & ~(uintptr_t) 1);

      if ((top & 1) != 0 || (node->left == NULL && node->right == NULL))
        {
          bench_free (observed, node->size, node);
          continue;
        }
      stack[depth++] = top | 1;
      if (node->right != NULL)
        stack[depth++] = (uintptr_t) node->right;
      if (node->left != NULL)
        stack[depth++] = (uintptr_t) node->left;
    }
  tree->root = NULL;
}

static void
tree_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  static unsigned n_lap;
  static uint64_t rss_before;
  Tree *tree = state;
  uint64_t n = run->parameters.n_blocks;
  double start;
  double built;
  double walked;
  double weighed;

  if (n_lap == 0 && thread == 0)
    rss_before = bench_rss_bytes ();
  tree->n_built = 0;
  tree->bytes = 0;
  start = bench_thread_nsec ();
  BENCH_BODY (run, tree_build, run, tree);
  built = bench_thread_nsec ();
  if (tree_walk (tree) != n * (n - 1) / 2)
    bench_die ("tree: a node's number changed");
  walked = bench_thread_nsec ();
  if (thread == 0)
    {
      uint64_t rss = bench_rss_bytes ();

      rss_over_live[n_lap] = rss > rss_before
                                 ? (double) (rss - rss_before)
                                       / ((double) tree->bytes
                                          * (double) run->parameters.n_threads)
                                 : 0;
      n_lap++;
    }
  weighed = bench_thread_nsec ();
  BENCH_BODY (run, tree_free, tree);
  lap->part_nsec[0] = built - start;
  lap->part_nsec[1] = walked - built;
  lap->part_nsec[2] = bench_thread_nsec () - weighed;
  lap->part_nsec[3] = built - start + lap->part_nsec[2];
  lap->n_pairs = n;
}

static void *
tree_enter (Run *run, unsigned thread)
{
  Tree *tree = bench_map (sizeof *tree);

  tree->random = random_seed (run, thread);
  return tree;
}

void
load_tree (Run *run)
{
  if (run->parameters.size_min < sizeof (Node))
    bench_die ("tree: nodes of %zu bytes at least", sizeof (Node));
  bench_gang (run, &(GangWork){ .part_names
                                = { "build_ns", "walk_ns", "free_ns", "ns" },
                                .enter = tree_enter,
                                .lap = tree_lap });
  bench_add_laps (run, "rss_over_live", (unsigned) run->parameters.n_laps,
                  rss_over_live + 1, rss_over_live[0]);
}
