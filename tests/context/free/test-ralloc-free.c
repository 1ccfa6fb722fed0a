/* test-ralloc-free.c - freeing: what destructors may do, depth, all small
 * trees
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

#include <limits.h>
#include <pthread.h>

/* --- what a destructor may do --- */

static void *victim;
static void *target;
static unsigned n_calls;

static void
free_victim (void *node)
{
  (void) node;
  n_calls++;
  ralloc_free (victim);
}

static void
set_again (void *node)
{
  if (++n_calls < 10)
    ralloc_set_destructor (node, set_again);
}

/* A destructor may name the next one, itself, too. */
static void
test_set_again (void)
{
  void *root = ralloc_context (NULL);

  n_calls = 0;
  ralloc_set_destructor (root, set_again);
  ralloc_free (root);
  g_assert_cmpuint (n_calls, ==, 10);
}

static void
alloc_on_self (void *node)
{
  n_calls++;
  for (unsigned i = 0; i < 1000; i++)
    memset (ralloc_size (node, 40), 1, 40);
}

static void
alloc_on_target (void *node)
{
  (void) node;
  n_calls++;
  for (unsigned i = 0; i < 100; i++)
    ralloc_size (target, 40);
}

static void
steal_self (void *node)
{
  n_calls++;
  ralloc_steal (target, node); /* a warning, and ignored */
}

static void
count_call (void *node)
{
  (void) node;
  n_calls++;
}

static bool
refuse (void *node)
{
  (void) node;
  n_calls++;
  return true;
}

static bool
agree (void *node)
{
  (void) node;
  n_calls++;
  return false;
}

static bool
escape (void *node)
{
  n_calls++;
  ralloc_steal (target, node);
  return false;
}

/*  root ( uncle , parent ( self ( child ) , sibling ) ) */
typedef struct
{
  void *root, *uncle, *parent, *self, *child, *sibling;
} Family;

static Family
family_new (void (*destructor) (void *))
{
  Family f;

  f.root = ralloc_context (NULL);
  f.uncle = ralloc_size (f.root, 100);
  f.parent = ralloc_size (f.root, 100);
  f.sibling = ralloc_size (f.parent, 100);
  f.self = ralloc_size (f.parent, 100);
  f.child = ralloc_size (f.self, 100);
  if (destructor != NULL)
    ralloc_set_destructor (f.self, destructor);
  n_calls = 0;
  return f;
}

/* The order in which destructors run, a letter each, and behind it that of the
 * parent; `-': none. */
static char ran[40];

static char
name_of (const void *node)
{
  return node == NULL ? '-' : ralloc_get_name (node)[0];
}

static void
note_ran (void *node)
{
  size_t n = strlen (ran);

  g_assert_cmpuint (n + 3, <, sizeof ran);
  ran[n] = name_of (node);
  ran[n + 1] = name_of (ralloc_parent (node));
  ran[n + 2] = ' ';
  if (strcmp (ralloc_get_name (node), "child") == 0)
    ralloc_free (victim);
}

static Family
family_named (void)
{
  Family f = family_new (NULL);
  void *nodes[] = { f.root, f.uncle, f.parent, f.self, f.child, f.sibling };
  static const char *const names[]
      = { "root", "uncle", "parent", "self", "child", "sibling" };

  for (size_t i = 0; i < G_N_ELEMENTS (nodes); i++)
    {
      ralloc_set_name (nodes[i], names[i]);
      ralloc_set_destructor (nodes[i], note_ran);
    }
  memset (ran, 0, sizeof ran);
  return f;
}

/* The destructor of the child frees a node above all that is being freed: that
 * node and its other descendants are destroyed at once, and for the rest it
 * never was between them and its parent. */
static void
test_frees_above (void)
{
  Family f = family_named ();
  void *above;

  victim = f.root;
  ralloc_free (f.parent);
  g_assert_cmpstr (ran, ==, "cs ur r- sp sp p- ");

  f = family_named ();
  above = ralloc_context (NULL);
  ralloc_set_name (above, "above");
  ralloc_steal (above, f.root);
  victim = f.root;
  ralloc_free (f.self);
  g_assert_cmpstr (ran, ==, "cs sp pr ur ra sa ");
  g_assert_cmpuint (ralloc_total_nodes (above), ==, 1);
  victim = NULL;
  ralloc_free (above);

  /* The node whose children are freed is the last of the tree. */
  f = family_named ();
  victim = f.root;
  ralloc_free_children (f.parent);
  g_assert_cmpstr (ran, ==, "cs ur r- sp sp p- ");

  /* Below a limit, of what is freed and of what is above. */
  f = family_named ();
  above = ralloc_context (NULL);
  ralloc_set_name (above, "above");
  ralloc_set_limit (above, 100000);
  ralloc_steal (above, f.root);
  ralloc_set_limit (f.root, 10000);
  victim = f.root;
  ralloc_free (f.parent);
  g_assert_cmpstr (ran, ==, "cs ur ra sp sp pa ");
  g_assert_cmpuint (ralloc_total_nodes (above), ==, 1);
  g_assert_nonnull (ralloc_size (above, 90000));
  victim = NULL;
  ralloc_free (above);
}

static void
test_frees_others (void)
{
  Family f = family_new (free_victim);

  victim = f.sibling; /* not visited yet */
  ralloc_free (f.root);
  g_assert_cmpuint (n_calls, ==, 1);

  f = family_new (free_victim);
  victim = f.uncle;
  ralloc_free (f.parent);
  g_assert_cmpuint (ralloc_total_nodes (f.root), ==, 1);
  ralloc_free (f.root);

  f = family_new (free_victim);
  victim = f.self; /* ignored: it is going already */
  ralloc_free (f.root);
  g_assert_cmpuint (n_calls, ==, 1);

  f = family_new (free_victim);
  victim = f.parent; /* the same */
  ralloc_free (f.root);
  g_assert_cmpuint (n_calls, ==, 1);

  f = family_new (free_victim);
  victim = f.parent; /* not going: self alone was freed */
  ralloc_free (f.self);
  g_assert_cmpuint (n_calls, ==, 1);
  g_assert_cmpuint (ralloc_total_nodes (f.root), ==, 2);
  ralloc_free (f.root);
}

static void
test_allocates (void)
{
  Family f = family_new (alloc_on_self);

  ralloc_free (f.root);
  g_assert_cmpuint (n_calls, ==, 1);

  f = family_new (alloc_on_self);
  ralloc_free (f.self);
  g_assert_cmpuint (ralloc_total_nodes (f.root), ==, 4);
  ralloc_free (f.root);

  f = family_new (alloc_on_target);
  target = f.parent;
  ralloc_free (f.root);
  f = family_new (alloc_on_target);
  target = f.root;
  ralloc_free (f.parent);
  g_assert_cmpuint (ralloc_total_nodes (f.root), ==, 102);
  ralloc_free (f.root);
}

static void
test_steals_self (void)
{
  Family f = family_new (steal_self);

  target = ralloc_context (NULL);
  ralloc_free (f.root);
  g_assert_cmpuint (n_calls, ==, 1);
  g_assert_cmpuint (ralloc_total_nodes (target), ==, 1);
  ralloc_free (target);
}

static void
test_refuses (void)
{
  Family f = family_new (NULL);
  void *above = ralloc_context (NULL);

  /* A refusal of the node itself: it stays, whole. */
  g_assert_true (ralloc_set_refusing_destructor (f.self, refuse));
  g_assert_false (ralloc_try_free (f.self));
  g_assert_true (ralloc_parent (f.self) == f.parent);
  ralloc_free (f.self);
  g_assert_cmpuint (n_calls, ==, 2);
  g_assert_cmpuint (ralloc_total_nodes (f.root), ==, 6);

  /* Its parent goes: the node moves to the grandparent, whole. */
  ralloc_free (f.parent);
  g_assert_true (ralloc_parent (f.self) == f.root);
  g_assert_true (ralloc_parent (f.child) == f.self);
  g_assert_cmpuint (n_calls, ==, 3);
  /* And if that goes, to above; and then it is a root. */
  ralloc_steal (above, f.root);
  ralloc_free (f.root);
  g_assert_true (ralloc_parent (f.self) == above);
  ralloc_free (above);
  g_assert_null (ralloc_parent (f.self));
  g_assert_true (ralloc_set_refusing_destructor (f.self, agree));
  ralloc_set_destructor (f.self, count_call);
  n_calls = 0;
  g_assert_true (ralloc_try_free (f.self));
  g_assert_cmpuint (n_calls, ==, 2);

  /* One that steals itself away stays where it went. */
  f = family_new (NULL);
  target = ralloc_context (NULL);
  ralloc_set_refusing_destructor (f.self, escape);
  ralloc_free (f.root);
  g_assert_true (ralloc_parent (f.self) == target);
  g_assert_cmpuint (ralloc_total_nodes (target), ==, 3);
  ralloc_set_refusing_destructor (f.self, NULL);
  ralloc_free (target);
}

static void
test_free_children (void)
{
  Family f = family_new (count_call);

  ralloc_free_children (f.parent);
  g_assert_cmpuint (n_calls, ==, 1);
  g_assert_cmpuint (ralloc_total_nodes (f.root), ==, 3);
  ralloc_free_children (f.parent);
  ralloc_size (f.parent, 9);
  ralloc_free_children (f.root);
  g_assert_cmpuint (ralloc_total_nodes (f.root), ==, 1);
  ralloc_set_destructor (f.root, count_call);
  ralloc_size (f.root, 9);
  ralloc_free_children (f.root);
  g_assert_cmpuint (n_calls, ==, 1);
  ralloc_free (f.root);
  g_assert_cmpuint (n_calls, ==, 2);
}

/* Of the children of a node, one that refuses stays where it is; one from
 * further below moves to that node. */
static void
test_free_children_refused (void)
{
  void *root = ralloc_context (NULL);
  void *ctx = ralloc_size (root, 10);
  void *older = ralloc_size (ctx, 10);
  void *stays = ralloc_size (ctx, 10);
  void *younger = ralloc_size (ctx, 10);
  void *below = ralloc_size (younger, 10);

  ralloc_set_destructor (older, count_call);
  ralloc_set_refusing_destructor (stays, refuse);
  ralloc_set_refusing_destructor (below, refuse);
  ralloc_size (stays, 1);
  n_calls = 0;
  ralloc_free_children (ctx);
  g_assert_cmpuint (n_calls, ==, 3);
  g_assert_true (ralloc_parent (stays) == ctx);
  g_assert_true (ralloc_parent (below) == ctx);
  g_assert_cmpuint (ralloc_total_nodes (root), ==, 5);
  /* Each time a new tree. */
  ralloc_size (ctx, 10);
  ralloc_free_children (ctx);
  g_assert_cmpuint (n_calls, ==, 5);
  g_assert_cmpuint (ralloc_total_nodes (root), ==, 5);
  ralloc_set_refusing_destructor (stays, NULL);
  ralloc_free_children (ctx);
  g_assert_cmpuint (ralloc_total_nodes (root), ==, 3);
  /* References that the node itself holds are given up. */
  stays = ralloc_size (ctx, 10);
  ralloc_reference (ctx, stays);
  ralloc_steal (ctx, stays);
  ralloc_reference (ctx, below);
  ralloc_free_children (ctx);
  g_assert_cmpuint (ralloc_total_nodes (root), ==, 3);
  ralloc_set_refusing_destructor (below, NULL);
  ralloc_free_children (ctx);
  g_assert_cmpuint (ralloc_total_nodes (root), ==, 2);
  ralloc_free (root);
}

/* --- children that stay, and what user code does with them --- */

enum
{
  N_STAY = 10,
  STAY_MANY = 20000,
  STAY_MANY_WATCHED = 500
};

static struct
{
  void *other, *ctx; /* ctx is a child of other */
  void *last;        /* the child that was asked last */
  bool refuses;
} stay;

static bool
stay_here (void *node)
{
  (void) node;
  return stay.refuses;
}

static bool
stay_and_free_last (void *node)
{
  void *last = stay.last;

  stay.last = node;
  if (last != NULL && stay.refuses)
    {
      ralloc_set_refusing_destructor (last, NULL);
      ralloc_free (last);
    }
  return stay.refuses;
}

static bool
stay_and_steal_last (void *node)
{
  if (stay.last != NULL && stay.refuses)
    ralloc_steal (stay.other, stay.last);
  stay.last = node;
  return stay.refuses;
}

static bool
stay_and_adopt (void *node)
{
  (void) node;
  if (stay.refuses)
    {
      ralloc_adopt (stay.other, stay.ctx);
      ralloc_set_destructor (ralloc_size (stay.ctx, 1), count_call);
    }
  return stay.refuses;
}

static bool
stay_and_resize (void *node)
{
  if (!stay.refuses)
    return false;
  if (stay.last != NULL)
    reralloc_size (stay.ctx, stay.last, 3000);
  stay.last = node;
  stay.ctx = reralloc_size (stay.other, stay.ctx, 5000 + N_STAY);
  return true;
}

static bool
stay_and_repeat (void *node)
{
  ralloc_set_refusing_destructor (node, stay_here);
  if (stay.refuses)
    {
      ralloc_size (stay.ctx, 10);
      ralloc_free_children (stay.ctx);
    }
  return stay.refuses;
}

/* n_left of the children stay, and the other node gets n_other. */
static void
stay_run (bool (*refuses) (void *), size_t n_left, size_t n_other)
{
  stay.other = ralloc_context (NULL);
  stay.ctx = ralloc_size (stay.other, 10);
  stay.last = NULL;
  stay.refuses = true;
  for (unsigned i = 0; i < N_STAY; i++)
    {
      ralloc_set_refusing_destructor (ralloc_size (stay.ctx, 10), refuses);
      ralloc_size (stay.ctx, 10);
    }
  ralloc_free_children (stay.ctx);
  g_assert_cmpuint (ralloc_total_nodes (stay.ctx), ==, 1 + n_left);
  g_assert_cmpuint (ralloc_total_nodes (stay.other), ==, 2 + n_left + n_other);
  stay.refuses = false;
  ralloc_free (stay.other);
}

static void
test_stays_changed (void)
{
  uint64_t before = live_blocks ();

  stay_run (stay_here, N_STAY, 0);
  stay_run (stay_and_free_last, 1, 0);
  stay_run (stay_and_steal_last, 1, N_STAY - 1);
  stay_run (stay_and_adopt, 0, 2 * N_STAY - 1);
  stay_run (stay_and_resize, N_STAY, 0);
  stay_run (stay_and_repeat, N_STAY, 0);
  g_assert_cmpuint (live_blocks (), ==, before);
}

/* Each that stays is passed a few times, however many there are: in quadratic
 * time this would not end. */
static void
test_many_stay (void)
{
  unsigned n
      = is_annotated () || is_checking () ? STAY_MANY_WATCHED : STAY_MANY;
  void *ctx = ralloc_context (NULL);

  stay.refuses = true;
  for (unsigned i = 0; i < n; i++)
    ralloc_set_refusing_destructor (ralloc_size (ctx, 10), stay_here);
  ralloc_free_children (ctx);
  g_assert_cmpuint (ralloc_total_nodes (ctx), ==, n + 1);
  stay.refuses = false;
  ralloc_free (ctx);
}

/* --- order with both kinds of destructors --- */

static GString *order;

static void
note (void *node)
{
  g_string_append (order, *(const char **) node);
  g_string_append_c (order, ' ');
}

static bool
note_before (void *node)
{
  note (node);
  return false;
}

static void *
asked (const void *ctx, const char *name)
{
  const char **node = ralloc (ctx, const char *);

  *node = name;
  g_assert_true (ralloc_set_refusing_destructor (node, note_before));
  return node;
}

/* Who may refuse is asked before its descendants go, as in talloc. */
static void
test_order_asked (void)
{
  void *root, *a;

  order = g_string_new (NULL);
  root = asked (NULL, "root");
  a = asked (root, "a");
  asked (a, "a1");
  asked (root, "b");
  ralloc_free (root);
  g_assert_cmpstr (order->str, ==, "root b a a1 ");
  g_string_free (order, TRUE);
}

/* --- depth and width --- */

enum
{
  DEPTH = 5000000,
  DEPTH_DEBUG = 200000,
  DEPTH_WATCHED = 20000,
  SMALL_STACK_BYTES = 64 * 1024
};

static unsigned n_deep;

/* (The option debug notes a backtrace for each block.) */
static unsigned
tree_nodes (void)
{
  if (is_annotated ())
    return DEPTH_WATCHED;
  return is_on (SLICE_OPTION_DEBUG) ? DEPTH_DEBUG : DEPTH;
}

static void *
free_chain (void *chain)
{
  ralloc_free (chain);
  return NULL;
}

static void
on_small_stack (void *(*function) (void *), void *argument)
{
  pthread_attr_t attributes;
  pthread_t thread;
  size_t bytes = is_annotated () || SMALL_STACK_BYTES < PTHREAD_STACK_MIN
                     ? 1024 * 1024 : SMALL_STACK_BYTES;

  pthread_attr_init (&attributes);
  g_assert_cmpint (pthread_attr_setstacksize (&attributes, bytes), ==, 0);
  g_assert_cmpint (pthread_create (&thread, &attributes, function, argument),
                   ==, 0);
  pthread_join (thread, NULL);
  pthread_attr_destroy (&attributes);
}

static void
test_deep (void)
{
  void *chain = ralloc_context (NULL);
  void *node = chain;

  n_deep = tree_nodes ();
  for (unsigned i = 0; i < n_deep; i++)
    node = ralloc_size (node, 0);
  g_assert_cmpuint (ralloc_total_nodes (chain), ==, n_deep + 1);
  n_calls = 0;
  ralloc_set_destructor (node, count_call);
  ralloc_set_destructor (chain, count_call);
  on_small_stack (free_chain, chain);
  g_assert_cmpuint (n_calls, ==, 2);
}

static void
test_wide (void)
{
  void *root = ralloc_context (NULL);
  unsigned n = tree_nodes ();

  for (unsigned i = 0; i < n; i++)
    ralloc_size (root, 0);
  on_small_stack (free_chain, root);
}

/* --- every small tree, every assignment of deeds --- */

enum
{
  N_MAX = 5,
  N_DEEDS = 5
};

typedef enum
{
  DEED_NOTHING,
  DEED_ALLOC_CHILD,
  DEED_FREE_SIBLING,
  DEED_FREE_SELF,
  DEED_STEAL_OUT
} Deed;

static struct
{
  unsigned n;
  unsigned parents[N_MAX];
  Deed deeds[N_MAX];
  void *nodes[N_MAX];
  bool gone[N_MAX];
  unsigned n_runs[N_MAX];
  void *outside;
  unsigned n_extra_alive;
} tree;

static unsigned
tree_index (const void *node)
{
  return *(const unsigned *) node;
}

static void
extra_gone (void *node)
{
  (void) node;
  tree.n_extra_alive--;
}

static void
do_deed (void *node)
{
  unsigned i = tree_index (node);
  unsigned k;
  void *child;

  tree.n_runs[i]++;
  tree.gone[i] = true;
  switch (tree.deeds[i])
    {
    case DEED_ALLOC_CHILD:
      child = ralloc_size (node, 20);
      ralloc_set_destructor (child, extra_gone);
      tree.n_extra_alive++;
      break;
    case DEED_FREE_SIBLING:
      for (k = 1; k < tree.n; k++)
        if (k != i && i != 0 && tree.parents[k] == tree.parents[i]
            && !tree.gone[k])
          {
            ralloc_free (tree.nodes[k]);
            break;
          }
      break;
    case DEED_FREE_SELF:
      ralloc_free (node);
      break;
    case DEED_STEAL_OUT:
      ralloc_steal (tree.outside, node);
      break;
    default:
      break;
    }
}

/* As do_deed(), from destructors that are asked first: there to steal means
 * to stay. */
static bool
do_deed_asked (void *node)
{
  do_deed (node);
  return false;
}

static void
tree_run (bool asked_first)
{
  unsigned expected_outside = 0;

  memset (tree.n_runs, 0, sizeof tree.n_runs);
  memset (tree.gone, 0, sizeof tree.gone);
  tree.n_extra_alive = 0;
  tree.outside = ralloc_context (NULL);
  for (unsigned i = 0; i < tree.n; i++)
    {
      unsigned *node
          = ralloc (i == 0 ? NULL : tree.nodes[tree.parents[i]], unsigned);

      *node = i;
      tree.nodes[i] = node;
      if (asked_first)
        ralloc_set_refusing_destructor (node, do_deed_asked);
      else
        ralloc_set_destructor (node, do_deed);
    }
  ralloc_free (tree.nodes[0]);
  if (!asked_first)
    for (unsigned i = 0; i < tree.n; i++)
      g_assert_cmpuint (tree.n_runs[i], ==, 1);
  else
    {
      /* Whoever was asked and stayed is outside, with all below it. */
      expected_outside = (unsigned) ralloc_total_nodes (tree.outside) - 1;
      g_assert_cmpuint (expected_outside, <=, tree.n + tree.n_extra_alive);
      for (unsigned i = 0; i < tree.n; i++)
        g_assert_cmpuint (tree.n_runs[i], <=, 1);
    }
  for (unsigned i = 0; asked_first && i < tree.n; i++)
    tree.deeds[i] = tree.deeds[i] == DEED_STEAL_OUT ? DEED_NOTHING
                                                    : tree.deeds[i];
  ralloc_free (tree.outside);
  g_assert_cmpuint (tree.n_extra_alive, ==, 0);
}

static void
each_deed (bool asked_first, unsigned *n_trees)
{
  unsigned n_assignments = 1;

  for (unsigned i = 0; i < tree.n; i++)
    n_assignments *= N_DEEDS;
  for (unsigned a = 0; a < n_assignments; a++)
    {
      unsigned rest = a;

      for (unsigned i = 0; i < tree.n; i++, rest /= N_DEEDS)
        tree.deeds[i] = rest % N_DEEDS;
      tree_run (asked_first);
      ++*n_trees;
    }
}

/* parents[i] < i: every shape, and every order of birth. */
static void
each_tree (unsigned i, bool asked_first, unsigned *n_trees)
{
  if (i == tree.n)
    {
      each_deed (asked_first, n_trees);
      return;
    }
  for (tree.parents[i] = 0; tree.parents[i] < i; tree.parents[i]++)
    each_tree (i + 1, asked_first, n_trees);
}

static void
silence (void)
{
  /* The warnings of stolen nodes (211) are many and expected. */
  g_assert_nonnull (freopen ("/dev/null", "w", stderr));
}

static void
test_exhaustive (gconstpointer asked_first)
{
  uint64_t before;
  unsigned n_trees = 0;

  if (g_test_subprocess ())
    {
      silence ();
      before = live_blocks ();
      for (tree.n = 1; tree.n <= (is_annotated () ? 3u : N_MAX); tree.n++)
        each_tree (1, asked_first != NULL, &n_trees);
      g_assert_cmpuint (live_blocks (), ==, before);
      printf ("%u trees\n", n_trees);
      return;
    }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stdout ("*trees*");
}

/* --- every steal in every tree of up to 7 nodes --- */

enum
{
  N_STEAL = 7
};

static bool
model_is_above (const unsigned *parents, unsigned above, unsigned node)
{
  for (;; node = parents[node])
    {
      if (node == above)
        return true;
      if (node == 0)
        return false;
    }
}

static void
steal_each_pair (const unsigned *parents, unsigned n, unsigned *n_steals)
{
  for (unsigned to = 0; to < n; to++)
    for (unsigned what = 0; what < n; what++)
      {
        void *nodes[N_STEAL];
        bool closes = model_is_above (parents, what, to);

        for (unsigned i = 0; i < n; i++)
          nodes[i] = ralloc_size (i == 0 ? NULL : nodes[parents[i]], 4);
        g_assert_true (ralloc_try_steal (nodes[to], nodes[what]) == !closes);
        for (unsigned i = 0; i < n; i++)
          g_assert_true (ralloc_parent (nodes[i])
                         == (i == what && !closes ? nodes[to]
                             : i == 0             ? NULL
                                                  : nodes[parents[i]]));
        g_assert_cmpuint (ralloc_total_nodes (nodes[0]), ==, n);
        ralloc_free (nodes[0]);
        ++*n_steals;
      }
}

static void
each_steal_tree (unsigned *parents, unsigned i, unsigned n,
                 unsigned *n_steals)
{
  if (i == n)
    {
      steal_each_pair (parents, n, n_steals);
      return;
    }
  for (parents[i] = 0; parents[i] < i; parents[i]++)
    each_steal_tree (parents, i + 1, n, n_steals);
}

static void
test_every_steal (void)
{
  unsigned parents[N_STEAL] = { 0 };
  unsigned n_steals = 0;

  for (unsigned n = 1; n <= (is_annotated () ? 4u : N_STEAL); n++)
    each_steal_tree (parents, 1, n, &n_steals);
  g_test_message ("%u steals", n_steals);
}

/* --- where the blocks go --- */

/* --- a destructor frees where those that refuse would go --- */

static void *seen_parent;

static void
see_parent (void *node)
{
  seen_parent = ralloc_parent (node);
}

/*  root ( upper ( fallback_parent ( top ( stays , frees-victim ) ) ) ): the
 * second is the younger, so it goes first. */
typedef struct
{
  void *root, *upper, *fallback_parent, *top, *stays;
} Tower;

static Tower
tower_new (void)
{
  Tower t;

  t.root = ralloc_context (NULL);
  t.upper = ralloc_size (t.root, 100);
  t.fallback_parent = ralloc_size (t.upper, 100);
  t.top = ralloc_size (t.fallback_parent, 100);
  t.stays = ralloc_size (t.top, 100);
  memset (t.stays, 77, 100);
  ralloc_set_destructor (t.top, see_parent);
  ralloc_set_refusing_destructor (t.stays, refuse);
  ralloc_set_destructor (ralloc_size (t.top, 100), free_victim);
  seen_parent = NULL;
  return t;
}

/* Something else in the place of what was freed. */
static void
reuse_blocks (void *root)
{
  for (unsigned i = 0; i < 200; i++)
    memset (ralloc_size (root, 100), 0xee, 100);
}

static void
tower_check (const Tower *t, void *parent)
{
  void *other = ralloc_context (NULL);

  g_assert_true (ralloc_parent (t->stays) == parent);
  g_assert_true (seen_parent == parent);
  reuse_blocks (other);
  for (unsigned i = 0; i < 100; i++)
    g_assert_cmpint (((char *) t->stays)[i], ==, 77);
  ralloc_set_refusing_destructor (t->stays, NULL);
  ralloc_free (other);
}

static void
test_fallback_parent_freed (void)
{
  Tower t = tower_new ();

  victim = t.fallback_parent;
  ralloc_free (t.top);
  tower_check (&t, t.upper);
  g_assert_cmpuint (ralloc_total_nodes (t.root), ==, 3);
  ralloc_free (t.root);

  t = tower_new ();
  victim = t.upper;
  ralloc_free (t.top);
  tower_check (&t, t.root);
  g_assert_cmpuint (ralloc_total_nodes (t.root), ==, 2);
  ralloc_free (t.root);

  t = tower_new ();
  victim = t.root;
  ralloc_free (t.top);
  tower_check (&t, NULL);
  ralloc_free (t.stays);

  /* The children of a node, which its youngest child frees: it goes last, and
   * what refuses goes to its parent. */
  t = tower_new ();
  victim = t.top;
  ralloc_free_children (t.top);
  tower_check (&t, t.fallback_parent);
  g_assert_cmpuint (ralloc_total_nodes (t.root), ==, 4);
  ralloc_free (t.root);

  t = tower_new ();
  victim = t.upper;
  ralloc_free_children (t.top);
  tower_check (&t, t.root);
  g_assert_cmpuint (ralloc_total_nodes (t.root), ==, 2);
  ralloc_free (t.root);
}

static void
resize_victim (void *node)
{
  (void) node;
  victim = reralloc_size (ralloc_parent (victim), victim, 3000);
}

/* The same places are not freed but move. */
static void
test_fallback_parent_moved (void)
{
  Tower t = tower_new ();

  ralloc_set_destructor (ralloc_size (t.top, 100), resize_victim);
  victim = t.fallback_parent;
  ralloc_free (t.top); /* moved by the youngest, freed by the next */
  tower_check (&t, t.upper);
  ralloc_free (t.root);

  t = tower_new ();
  ralloc_set_destructor (ralloc_size (ralloc_size (t.top, 100), 100),
                         resize_victim);
  victim = t.top;
  ralloc_free_children (t.top);
  tower_check (&t, t.fallback_parent);
  ralloc_free (t.root);
}

/* --- walks within walks --- */

static struct
{
  void *fallback; /* of the outer walk */
  void *inner;    /* the tree that its destructor frees */
  void *seen;     /* the fallback's parent */
  bool was_stolen;
} nest;

static void
steal_fallback (void *node)
{
  ralloc_steal (node, nest.fallback); /* which goes with the node */
}

static void
adopt_fallback (void *node)
{
  ralloc_adopt (node, nest.seen);
}

static void
free_inner (void *node)
{
  (void) node;
  ralloc_free (nest.inner);
}

static void
free_inner_children (void *node)
{
  (void) node;
  ralloc_free_children (nest.inner);
}

static void
steal_into_dying (void *node)
{
  nest.seen = ralloc_parent (node);
  nest.was_stolen = ralloc_try_steal (node, nest.fallback);
}

/*  above ( fallback ( top ( stays , last ) ) ) , inner ( one ): while top is
 * freed, the destructor of `last' frees `inner', and that of `one' gives the
 * fallback parent to itself. */
static void
nest_run (void (*last) (void *), void (*one) (void *))
{
  void *above = ralloc_context (NULL);
  void *top, *stays;

  nest.seen = above;
  nest.fallback = ralloc_size (above, 10);
  top = ralloc_size (nest.fallback, 10);
  stays = ralloc_size (top, 10);
  nest.inner = ralloc_context (NULL);
  ralloc_set_destructor (ralloc_size (nest.inner, 10), one);
  ralloc_set_refusing_destructor (stays, refuse);
  ralloc_set_destructor (ralloc_size (top, 10), last);
  ralloc_free (top);
  g_assert_cmpuint (ralloc_total_nodes (above), ==, 1);
  g_assert_true (ralloc_parent (stays)
                 == (last == free_inner ? NULL : nest.inner));
  ralloc_set_refusing_destructor (stays, NULL);
  ralloc_free (last == free_inner ? stays : nest.inner);
  ralloc_free (above);
}

static void
test_steal_between_walks (void)
{
  uint64_t before = live_blocks ();

  nest_run (free_inner, steal_fallback);
  nest_run (free_inner, adopt_fallback);
  nest_run (free_inner_children, steal_fallback);
  g_assert_cmpuint (live_blocks (), ==, before);
}

/* The children of a node are freed while those of one below it are. */
static void
test_children_within_children (void)
{
  uint64_t before = live_blocks ();

  for (unsigned depth = 0; depth < 4; depth++)
    {
      void *ctx = ralloc_context (NULL);

      nest.inner = ctx;
      for (unsigned i = 0; i < depth; i++)
        ctx = ralloc_size (ctx, 10);
      ralloc_size (ctx, 10);
      ralloc_set_destructor (ralloc_size (ctx, 10), free_inner_children);
      ralloc_free_children (ctx);
      g_assert_cmpuint (ralloc_total_nodes (nest.inner), ==, 1);
      ralloc_free (nest.inner);
    }
  g_assert_cmpuint (live_blocks (), ==, before);
}

/* The parent of a tree that is being freed has no child left, and yet can't
 * hang below the tree. */
static void
test_steal_into_dying (void)
{
  void *top;

  nest.fallback = ralloc_context (NULL);
  top = ralloc_size (nest.fallback, 10);
  ralloc_set_destructor (top, steal_into_dying);
  ralloc_free (top);
  g_assert_true (nest.seen == nest.fallback);
  g_assert_false (nest.was_stolen);
  g_assert_cmpuint (ralloc_total_nodes (nest.fallback), ==, 1);
  ralloc_free (nest.fallback);
}

static uint64_t
count_slab_locks (void)
{
  SliceStats *stats = g_new0 (SliceStats, 1);
  uint64_t n = 0;

  g_assert_true (slice_get_stats (stats));
  for (unsigned i = 0; i < SLICE_N_CLASSES; i++)
    n += stats->classes[i].n_slab_locks;
  g_free (stats);
  return n;
}

/* At most one lock of a class for 32 nodes, building and freeing. */
static void
test_few_locks (void)
{
  enum { N = 64000 };
  uint64_t before;
  void *root;

  if (is_annotated ())
    {
      g_test_skip ("slices are mallocs");
      return;
    }
  if (is_checking ())
    {
      g_test_skip ("blocks go back one by one, some by way of a quarantine");
      return;
    }
  for (unsigned size = 16; size <= 112; size += 32)
    {
      root = ralloc_context (NULL);
      for (unsigned i = 0; i < N; i++)
        ralloc_size (root, size);
      before = count_slab_locks ();
      ralloc_free (root);
      g_test_message ("%u bytes: %.1f nodes freed a lock", size,
                      (double) N / (double) (count_slab_locks () - before
                                             + 1));
      g_assert_cmpuint (count_slab_locks () - before, <=, N / 32);
    }
}

/* --- a few leaves, beside a child of each other kind --- */

static void *
child_of_kind (void *parent, unsigned kind)
{
  void *child;

  switch (kind)
    {
    case 0: /* a node that has a leaf */
      child = ralloc_size (parent, 40);
      ralloc_set_destructor (ralloc_size (child, 40), count_call);
      return child;
    case 1: /* one that has an extension */
      child = ralloc_size (parent, 40);
      ralloc_set_destructor (child, count_call);
      return child;
    case 2: /* a large one */
      child = ralloc_size (parent, 5000);
      ralloc_set_destructor (child, count_call);
      return child;
    default: /* one in front of its header */
      child = ralloc_linear_context (parent);
      ralloc_set_destructor (child, count_call);
      return child;
    }
}

/* Frees a node with n children, of which the k-th that goes is no plain leaf,
 * and counts what is left. */
static void
test_few_leaves (void)
{
  SliceStats before, after;

  for (unsigned n = 1; n < 10; n++)
    for (unsigned k = 0; k <= n; k++)
      for (unsigned kind = 0; kind < 4; kind++)
        {
          void *root, *top;

          slice_get_stats (&before);
          root = ralloc_context (NULL);
          top = ralloc_size (root, 24);
          n_calls = 0;
          for (unsigned i = n; i-- > 0;)
            if (i == k)
              child_of_kind (top, kind);
            else
              memset (ralloc_size (top, 16 * i + 1), 1, 16 * i + 1);
          ralloc_free (top);
          g_assert_cmpuint (n_calls, ==, k < n);
          g_assert_cmpuint (ralloc_total_nodes (root), ==, 1);
          ralloc_free (root);
          slice_get_stats (&after);
          g_assert_cmpuint (after.live_blocks, ==, before.live_blocks);
        }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/ralloc-free/frees-above", test_frees_above);
  g_test_add_func ("/slice/ralloc-free/frees-others", test_frees_others);
  g_test_add_func ("/slice/ralloc-free/set-again", test_set_again);
  g_test_add_func ("/slice/ralloc-free/allocates", test_allocates);
  g_test_add_func ("/slice/ralloc-free/steals-self", test_steals_self);
  g_test_add_func ("/slice/ralloc-free/refuses", test_refuses);
  g_test_add_func ("/slice/ralloc-free/fallback-parent-freed",
                   test_fallback_parent_freed);
  g_test_add_func ("/slice/ralloc-free/fallback-parent-moved",
                   test_fallback_parent_moved);
  g_test_add_func ("/slice/ralloc-free/steal-between-walks",
                   test_steal_between_walks);
  g_test_add_func ("/slice/ralloc-free/children-within-children",
                   test_children_within_children);
  g_test_add_func ("/slice/ralloc-free/steal-into-dying",
                   test_steal_into_dying);
  g_test_add_func ("/slice/ralloc-free/free-children", test_free_children);
  g_test_add_func ("/slice/ralloc-free/free-children-refused",
                   test_free_children_refused);
  g_test_add_func ("/slice/ralloc-free/stays-changed", test_stays_changed);
  g_test_add_func ("/slice/ralloc-free/many-stay", test_many_stay);
  g_test_add_func ("/slice/ralloc-free/order-asked", test_order_asked);
  g_test_add_func ("/slice/ralloc-free/deep", test_deep);
  g_test_add_func ("/slice/ralloc-free/wide", test_wide);
  g_test_add_data_func ("/slice/ralloc-free/exhaustive", NULL,
                        test_exhaustive);
  g_test_add_data_func ("/slice/ralloc-free/exhaustive-asked", "asked",
                        test_exhaustive);
  g_test_add_func ("/slice/ralloc-free/every-steal", test_every_steal);
  g_test_add_func ("/slice/ralloc-free/few-locks", test_few_locks);
  g_test_add_func ("/slice/ralloc-free/few-leaves", test_few_leaves);
  return g_test_run ();
}
