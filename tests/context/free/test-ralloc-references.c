/* test-ralloc-references.c - references inside trees that are freed: the time
 * that they take, and holders that are being asked
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"
#include "tests/testlib.h"

#include <sys/resource.h>

/* --- large trees --------------------------------------------------------- */

/* Where time grows with the square of the nodes, each of these takes half a
 * minute or more. */
enum
{
  N_NODES = 64000,
  N_NODES_SLOW = 1000, /* under a tool */
  CPU_SECONDS = 20     /* these take 0.1 s */
};

typedef enum
{
  FLAT,   /* all nodes are children of one */
  NESTED, /* each is the child of the one before */
  SPACED, /* the same, and a plain node is between */
} Shape;

typedef enum
{
  HOLDS_NEXT,
  HOLDS_LAST,
  ALL_HOLD, /* all others hold the first */
  HOLDS_ANY /* two of any */
} Holds;

typedef struct
{
  const char *name;
  Shape shape;
  Holds holds;
} Tree;

typedef enum
{
  PLAIN,
  DESTRUCTOR,
  AGREES,
  REFUSES,
  REFUSES_HALF,
  N_KINDS
} NodeKind;

static size_t n_called;

static void
count (void *node)
{
  (void) node;
  n_called++;
}

static bool
agree (void *node)
{
  (void) node;
  n_called++;
  return false;
}

static bool
refuse (void *node)
{
  (void) node;
  n_called++;
  return true;
}

static bool
refuse_half (void *node)
{
  (void) node;
  return n_called++ % 2 == 0;
}

static void *
node_new (void *parent, NodeKind kind)
{
  void *node = ralloc_size (parent, 16);

  if (kind == DESTRUCTOR)
    ralloc_set_destructor (node, count);
  else if (kind != PLAIN)
    ralloc_set_refusing_destructor (node, kind == AGREES    ? agree
                                          : kind == REFUSES ? refuse
                                                            : refuse_half);
  return node;
}

static void
tree_build (void *top, const Tree *tree, NodeKind kind, void **nodes, size_t n)
{
  guint32 random = 1;

  for (size_t i = 0; i < n; i++)
    {
      void *parent = i > 0 && tree->shape != FLAT ? nodes[i - 1] : top;

      if (tree->shape == SPACED)
        parent = ralloc_context (parent);
      nodes[i] = node_new (parent, kind);
    }
  for (size_t i = 0; i < n; i++)
    if (tree->holds == HOLDS_NEXT && i + 1 < n)
      ralloc_reference (nodes[i], nodes[i + 1]);
    else if (tree->holds == HOLDS_LAST && i > 0)
      ralloc_reference (nodes[i], nodes[i - 1]);
    else if (tree->holds == ALL_HOLD && i > 0)
      ralloc_reference (nodes[i], nodes[0]);
    else if (tree->holds == HOLDS_ANY)
      for (int k = 0; k < 2; k++)
        {
          random = random * 1664525u + 1013904223u;
          ralloc_reference (nodes[(random >> 8) % n], nodes[i]);
        }
}

static void
tree_run (const Tree *tree, NodeKind kind, gboolean only_children)
{
  size_t n = test_is_slow () ? N_NODES_SLOW : N_NODES;
  void **nodes = g_new (void *, n);
  void *root = ralloc_context (NULL);
  void *top = ralloc_context (root);
  size_t left;

  tree_build (top, tree, kind, nodes, n);
  n_called = 0;
  if (only_children)
    ralloc_free_children (top);
  else
    ralloc_free (top);
  left = ralloc_total_nodes (root);
  if (kind == REFUSES || kind == REFUSES_HALF)
    g_assert_cmpuint (left, >, 1);
  else
    g_assert_cmpuint (left, ==, only_children ? 2 : 1);
  g_assert_cmpuint (n_called, >=, kind == PLAIN ? 0 : 1);
  if (kind == DESTRUCTOR || kind == AGREES)
    g_assert_cmpuint (n_called, ==, n);
  g_free (nodes);
}

static void
test_large (const void *data)
{
  struct rlimit limit = { CPU_SECONDS, CPU_SECONDS };

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
      g_test_trap_assert_passed ();
      return;
    }
  if (!test_is_slow ())
    setrlimit (RLIMIT_CPU, &limit);
  for (int kind = 0; kind < N_KINDS; kind++)
    for (int only_children = 0; only_children < 2; only_children++)
      tree_run (data, kind, only_children);
}

/* The nodes of a chain that lives on each hold a child of the top. */
static void
outside_run (gboolean only_children)
{
  size_t n = test_is_slow () ? N_NODES_SLOW : N_NODES;
  void *root = ralloc_context (NULL);
  void *top = ralloc_context (root);
  void *holder = only_children ? top : root;

  for (size_t i = 0; i < n; i++)
    {
      holder = ralloc_size (holder, 16);
      if (only_children && i == 0)
        ralloc_set_refusing_destructor (holder, refuse);
      ralloc_reference (holder, ralloc_size (top, 16));
    }
  if (only_children)
    ralloc_free_children (top);
  else
    ralloc_free (top);
  g_assert_cmpuint (ralloc_total_nodes (root), ==,
                    2 * n + (only_children ? 2 : 1));
  ralloc_free (root);
}

static void
test_outside (void)
{
  struct rlimit limit = { CPU_SECONDS, CPU_SECONDS };

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
      g_test_trap_assert_passed ();
      return;
    }
  if (!test_is_slow ())
    setrlimit (RLIMIT_CPU, &limit);
  outside_run (false);
  outside_run (true);
}

/* --- holders that are being asked ---------------------------------------- */

typedef struct
{
  void *top;
  void *asked;   /* a child of top that may refuse */
  void *below;   /* its child, which holds others */
  void *victim;  /* what it frees when it is asked */
  bool answer;
} Trial;

static Trial trial;
static bool
free_victim (void *node)
{
  (void) node;
  n_called++;
  ralloc_free (trial.victim);
  return trial.answer;
}

static void
trial_begin (void *root, bool answer)
{
  n_called = n_destroyed = 0;
  trial.answer = answer;
  trial.top = ralloc_context (root);
  trial.asked = ralloc_size (trial.top, 16);
  trial.below = ralloc_size (trial.asked, 16);
  ralloc_set_refusing_destructor (trial.asked, free_victim);
}

/* What ralloc_reference() promises of a node and its descendant. */
static void
test_held_branch (void)
{
  void *root = ralloc_context (NULL);
  void *keeper = ralloc_context (NULL);
  void *upper = ralloc_context (root);
  void *middle = ralloc_context (upper);
  void *lower = ralloc_context (middle);

  g_assert_nonnull (ralloc_reference (keeper, lower));
  g_assert_nonnull (ralloc_reference (keeper, upper));
  ralloc_free (root);
  g_assert_true (ralloc_parent (upper) == keeper);
  g_assert_cmpuint (ralloc_reference_count (upper), ==, 0);
  g_assert_true (ralloc_parent (middle) == upper);
  g_assert_true (ralloc_parent (lower) == middle);
  g_assert_cmpuint (ralloc_reference_count (lower), ==, 1);
  ralloc_free (upper);
  g_assert_true (ralloc_parent (lower) == keeper);
  g_assert_cmpuint (ralloc_reference_count (lower), ==, 0);
  ralloc_free (keeper);
}

/* A holder in the freed tree is held from outside: it moves, and what it holds
 * moves to it.  A second holder there, which nobody holds, is freed, though
 * its reference is older. */
static void
test_held_holder (void)
{
  void *root = ralloc_context (NULL);
  void *keeper = ralloc_context (NULL);
  void *target = ralloc_context (root);
  void *freed = ralloc_context (root);
  void *holder = ralloc_context (root);
  void *below = ralloc_context (holder);

  g_assert_nonnull (ralloc_reference (freed, target));
  g_assert_nonnull (ralloc_reference (below, target));
  g_assert_nonnull (ralloc_reference (keeper, holder));
  ralloc_free (root);
  g_assert_true (ralloc_parent (holder) == keeper);
  g_assert_true (ralloc_parent (below) == holder);
  g_assert_true (ralloc_parent (target) == below);
  g_assert_cmpuint (ralloc_reference_count (target), ==, 0);
  ralloc_free (keeper);
}

/* It frees another node of the tree, or one elsewhere, which it holds. */
static void
test_asked_holds (void)
{
  for (int i = 0; i < 8; i++)
    {
      void *root = ralloc_context (NULL);
      bool refuses = (i & 1) != 0;
      bool in_tree = (i & 2) != 0;
      void *parent;

      trial_begin (root, refuses);
      trial.victim = ralloc_size (in_tree ? trial.top : root, 16);
      ralloc_set_destructor (trial.victim, count_destroyed);
      ralloc_reference (trial.below, trial.victim);
      /* The one that is asked comes first. */
      if (in_tree)
        ralloc_steal (trial.top, trial.asked);
      if ((i & 4) != 0)
        ralloc_free_children (trial.top);
      else
        ralloc_free (trial.top);
      g_assert_cmpuint (n_called, ==, 1);
      g_assert_cmpuint (n_destroyed, ==, refuses ? 0 : 1);
      parent = refuses ? ralloc_parent (trial.victim) : NULL;
      g_assert_true (!refuses || parent == trial.below);
      if (refuses)
        ralloc_set_refusing_destructor (trial.asked, NULL);
      ralloc_free (root);
      g_assert_cmpuint (n_destroyed, ==, 1);
    }
}

/* It frees its parent, so it moves to the parent of that; and other children of
 * the parent, which it holds, one through the other, move to it. */
static void
test_asked_frees_parent (void)
{
  void *root = ralloc_context (NULL);
  void *first;
  void *second;
  void *third;

  trial_begin (root, false);
  trial.victim = trial.top;
  first = ralloc_size (trial.top, 16);
  second = ralloc_size (trial.top, 16);
  third = ralloc_size (trial.top, 16);
  ralloc_set_destructor (first, count_destroyed);
  ralloc_set_destructor (second, count_destroyed);
  ralloc_set_destructor (third, count_destroyed);
  ralloc_reference (trial.below, first);
  ralloc_reference (first, second);
  ralloc_free (trial.asked);
  g_assert_cmpuint (n_called, ==, 1);
  g_assert_true (ralloc_parent (trial.asked) == root);
  g_assert_cmpuint (n_destroyed, ==, 1);
  g_assert_true (ralloc_parent (first) == trial.below);
  g_assert_true (ralloc_parent (second) == first);
  ralloc_set_refusing_destructor (trial.asked, NULL);
  ralloc_free (root);
  g_assert_cmpuint (n_destroyed, ==, 3);
}

/* Many contexts hold a node and give it up, the youngest first: in quadratic
 * time this would not end. */
static void
test_unlink_youngest (void)
{
  size_t n = test_is_slow () || is_checking () ? 500 : 700000;
  void *node = ralloc_context (NULL);
  void *top = ralloc_context (NULL);
  void **holders = g_new (void *, n);

  for (size_t i = 0; i < n; i++)
    {
      holders[i] = ralloc_context (top);
      ralloc_reference (holders[i], node);
    }
  g_assert_cmpuint (ralloc_reference_count (node), ==, n);
  for (size_t i = n; i-- > 0;)
    g_assert_true (ralloc_unlink (holders[i], node));
  g_assert_cmpuint (ralloc_reference_count (node), ==, 0);
  g_free (holders);
  ralloc_free (top);
  ralloc_free (node);
}

/* A context's references in another order than the node's list has them: the
 * oldest goes, so the node moves to the holder of the next. */
static void
test_unlink_oldest (void)
{
  void *node = ralloc_context (ralloc_context (NULL));
  void *parent = ralloc_parent (node);
  void *twice = ralloc_context (NULL);
  void *between = ralloc_context (NULL);
  void *last = ralloc_context (NULL);

  ralloc_reference (last, node);
  g_assert_true (ralloc_unlink (last, node));
  g_assert_false (ralloc_unlink (last, node));
  ralloc_reference (twice, node);
  ralloc_reference (between, node);
  ralloc_reference (twice, node);
  ralloc_reference (last, node);
  ralloc_context (twice);
  g_assert_true (ralloc_unlink (twice, node));
  g_assert_cmpuint (ralloc_reference_count (node), ==, 3);
  ralloc_free (parent);
  g_assert_true (ralloc_parent (node) == between);
  ralloc_free (between);
  g_assert_true (ralloc_parent (node) == twice);
  ralloc_free (twice);
  g_assert_true (ralloc_parent (node) == last);
  ralloc_free (last);
}

int
main (int argc, char **argv)
{
  static const Tree trees[]
      = { { "flat-next", FLAT, HOLDS_NEXT },
          { "flat-last", FLAT, HOLDS_LAST },
          { "flat-any", FLAT, HOLDS_ANY },
          { "flat-all-hold", FLAT, ALL_HOLD },
          { "nested-last", NESTED, HOLDS_LAST },
          { "nested-any", NESTED, HOLDS_ANY },
          { "nested-all-hold", NESTED, ALL_HOLD },
          { "spaced-all-hold", SPACED, ALL_HOLD },
          { "spaced-last", SPACED, HOLDS_LAST } };

  g_test_init (&argc, &argv, NULL);
  for (unsigned i = 0; i < G_N_ELEMENTS (trees); i++)
    {
      char *path = g_strdup_printf ("/slice/ralloc-references/%s",
                                    trees[i].name);

      g_test_add_data_func (path, &trees[i], test_large);
      g_free (path);
    }
  g_test_add_func ("/slice/ralloc-references/unlink-youngest",
                   test_unlink_youngest);
  g_test_add_func ("/slice/ralloc-references/unlink-oldest",
                   test_unlink_oldest);
  g_test_add_func ("/slice/ralloc-references/outside", test_outside);
  g_test_add_func ("/slice/ralloc-references/held-branch", test_held_branch);
  g_test_add_func ("/slice/ralloc-references/held-holder", test_held_holder);
  g_test_add_func ("/slice/ralloc-references/asked-holds", test_asked_holds);
  g_test_add_func ("/slice/ralloc-references/asked-frees-parent",
                   test_asked_frees_parent);
  return g_test_run ();
}
