/* test-ralloc-extension.c - names, types, references, limits, reports
 *
 * SPDX-License-Identifier: MIT
 */
#define RALLOC_MARKS
#include "tests/context/ralloc-testlib.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slice/options.h>

/* --- names and types --- */

static void
test_names (void)
{
  void *root = ralloc_context (NULL);
  void *node = ralloc_size (root, 10);
  void *child = ralloc_size (node, 10);
  int *number = ralloc_typed (child, int);
  char name[] = "a name";

  g_assert_null (ralloc_get_name (root));
  g_assert_true (ralloc_set_name (node, name));
  name[0] = 'X';
  g_assert_cmpstr (ralloc_get_name (node), ==, "a name");
  g_assert_true (ralloc_set_name_const (node, "literal"));
  g_assert_cmpstr (ralloc_get_name (node), ==, "literal");
  g_assert_true (ralloc_find_parent_by_name (number, "literal") == node);
  g_assert_null (ralloc_find_parent_by_name (number, "int"));
  g_assert_null (ralloc_find_parent_by_name (root, "literal"));
  g_assert_true (ralloc_get_type (number, int) == number);
  g_assert_null (ralloc_get_type (number, double));
  g_assert_null (ralloc_get_type (child, int));
  g_assert_true (ralloc_get_type_abort (number, int) == number);
  g_assert_cmpint (*number, ==, 0);
  node = reralloc_size (root, node, 3000);
  g_assert_cmpstr (ralloc_get_name (node), ==, "literal");
  g_assert_true (ralloc_set_name (node, NULL));
  g_assert_null (ralloc_get_name (node));
  ralloc_set_name (node, "once more");
  ralloc_free (root);
}

/* --- references --- */

static void
test_references (void)
{
  void *one = ralloc_context (NULL);
  void *two = ralloc_context (NULL);
  void *three = ralloc_context (NULL);
  void *node = ralloc_size (one, 10);
  void *child = ralloc_size (node, 10);

  n_destroyed = 0;
  ralloc_set_destructor (node, count_destroyed);
  g_assert_true (ralloc_reference (two, node) == node);
  g_assert_true (ralloc_reference (three, node) == node);
  g_assert_cmpuint (ralloc_reference_count (node), ==, 2);
  g_assert_true (ralloc_parent (node) == one);

  /* The parent goes: the oldest reference takes over. */
  ralloc_free (one);
  g_assert_cmpuint (n_destroyed, ==, 0);
  g_assert_true (ralloc_parent (node) == two);
  g_assert_true (ralloc_parent (child) == node);
  g_assert_cmpuint (ralloc_reference_count (node), ==, 1);
  /* A free of the node itself: the next one. */
  node = reralloc_size (two, node, 3000);
  g_assert_false (ralloc_try_free (node));
  g_assert_true (ralloc_parent (node) == three);
  g_assert_cmpuint (ralloc_total_nodes (two), ==, 1);
  /* And then it goes. */
  ralloc_free (three);
  g_assert_cmpuint (n_destroyed, ==, 1);
  ralloc_free (two);
}

/* What a context holds it still holds when its children become roots. */
static void
test_reference_adopt (void)
{
  void *one = ralloc_context (NULL);
  void *two = ralloc_context (NULL);
  void *node = ralloc_size (one, 10);
  void *child = ralloc_size (two, 10);

  ralloc_reference (two, node);
  ralloc_adopt (NULL, two);
  g_assert_null (ralloc_parent (child));
  g_assert_cmpuint (ralloc_total_nodes (two), ==, 2);
  ralloc_free (one);
  g_assert_true (ralloc_parent (node) == two);
  ralloc_free (two);
  ralloc_free (child);
}

static void
test_unlink (void)
{
  void *one = ralloc_context (NULL);
  void *two = ralloc_context (NULL);
  void *node = ralloc_size (one, 10);

  n_destroyed = 0;
  ralloc_set_destructor (node, count_destroyed);
  ralloc_reference (two, node);
  g_assert_false (ralloc_unlink (node, node));
  g_assert_true (ralloc_unlink (two, node));
  g_assert_false (ralloc_unlink (two, node));
  g_assert_cmpuint (ralloc_reference_count (node), ==, 0);
  ralloc_reference (two, node);
  g_assert_true (ralloc_unlink (one, node));
  g_assert_true (ralloc_parent (node) == two);
  g_assert_true (ralloc_unlink (two, node));
  g_assert_cmpuint (n_destroyed, ==, 1);
  /* A reference that goes first leaves no trace. */
  node = ralloc_size (one, 10);
  ralloc_reference (two, node);
  ralloc_free (two);
  g_assert_cmpuint (ralloc_reference_count (node), ==, 0);
  ralloc_free (one);
}

/* References from within the tree that goes, and from the node's own
 * subtree, keep nothing alive. */
static void
test_reference_inside (void)
{
  void *root = ralloc_context (NULL);
  void *branch = ralloc_size (root, 10);
  void *node = ralloc_size (root, 10);
  void *below = ralloc_size (node, 10);

  n_destroyed = 0;
  ralloc_set_destructor (node, count_destroyed);
  ralloc_reference (branch, node);
  ralloc_reference (below, node);
  ralloc_free (root);
  g_assert_cmpuint (n_destroyed, ==, 1);

  node = ralloc_context (NULL);
  ralloc_set_destructor (node, count_destroyed);
  ralloc_reference (ralloc_size (node, 1), node);
  g_assert_true (ralloc_try_free (node));
  g_assert_cmpuint (n_destroyed, ==, 2);
}

static void *keeper;
static void *result;

static void
reference_self (void *node)
{
  result = ralloc_reference (keeper, node);
}

static bool
reference_self_and_agree (void *node)
{
  result = ralloc_reference (keeper, node);
  return false;
}

/* In its own destructor a node can't be kept any more; while it is asked it
 * can, whatever it answers. */
static void
test_reference_dying (void)
{
  for (int is_top = 0; g_test_subprocess () && is_top <= 1; is_top++)
    {
      void *root = ralloc_context (NULL);
      void *node = ralloc_size (root, 16);

      keeper = ralloc_context (NULL);
      result = keeper;
      ralloc_set_destructor (node, reference_self);
      errno = 0;
      ralloc_free (is_top ? node : root);
      g_assert_null (result);
      g_assert_cmpint (errno, ==, EINVAL);
      if (is_top)
        ralloc_free (root);

      root = ralloc_context (NULL);
      node = ralloc_size (root, 16);
      ralloc_set_refusing_destructor (node, reference_self_and_agree);
      ralloc_free (is_top ? node : root);
      g_assert_true (result == node);
      g_assert_true (ralloc_parent (node) == keeper);
      g_assert_cmpuint (ralloc_reference_count (node), ==, 0);
      ralloc_set_refusing_destructor (node, NULL);
      ralloc_free (keeper);
      if (is_top)
        ralloc_free (root);
    }
  if (g_test_subprocess ())
    return;
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*211*can't be kept: ralloc_reference*");
}

#define assert_refused(call)                                                  \
 do                                                                           \
  {                                                                           \
   errno = 0;                                                                 \
   g_assert_true (!(call) && errno == EINVAL);                                \
  }                                                                           \
 while (0)

/* Each call fails, and changes nothing. */
static void
expect_refused (char *node)
{
  char *text = node;
  size_t end = 2;

  assert_refused (reralloc_size (NULL, node, 4000));
  assert_refused (reralloc_size (NULL, node, 40));
  assert_refused (rerzalloc_size (NULL, node, 40, 4000));
  assert_refused (reralloc_array_size (NULL, node, 40, 100));
  assert_refused (rerzalloc_array_size (NULL, node, 40, 1, 100));
  assert_refused (ralloc_strcat (&text, ""));
  assert_refused (ralloc_strncat (&text, "more", 1));
  assert_refused (ralloc_str_append (&text, "more", 4, 4));
  assert_refused (ralloc_asprintf_append (&text, "%s", "more"));
  assert_refused (ralloc_asprintf_rewrite_tail (&text, &end, "%s", "more"));
  assert_refused (ralloc_try_steal (keeper, node));
  assert_refused (ralloc_reference (keeper, node));
  ralloc_steal (keeper, node);
  g_assert_true (text == node);
  g_assert_cmpuint (end, ==, 2);
  g_assert_cmpstr (text, ==, "text");
}

static void
self_and_parent_refused (void *node)
{
  expect_refused (node);
  expect_refused (ralloc_parent (node));
}

/* In a destructor its node stays as it is, and so does a parent that is freed
 * with it. */
static void
test_dying (void)
{
  if (g_test_subprocess ())
    {
      char *top = ralloc_strdup (NULL, "text");
      char *node = ralloc_strdup (top, "text");

      keeper = ralloc_context (NULL);
      ralloc_set_destructor (node, self_and_parent_refused);
      ralloc_free (top);
      g_assert_cmpuint (ralloc_total_nodes (keeper), ==, 1);
      ralloc_free (keeper);
      return;
    }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_passed ();
  for (const char *const *call
       = (const char *const[]){ "rerzalloc_array_size", "ralloc_strcat",
                                "ralloc_asprintf_rewrite_tail",
                                "ralloc_try_steal", "ralloc_steal", NULL };
       *call != NULL; call++)
    {
      char *line = g_strdup_printf ("*warning 211: *: %s (*", *call);

      g_test_trap_assert_stderr (line);
      g_free (line);
    }
}

/* What an adoption takes along, and what it leaves. */
static void
test_adopt (void)
{
  void *root = ralloc_context (NULL);
  void *from = ralloc_size (root, 10);
  void *to = ralloc_size (root, 10);
  void *holder = ralloc_size (root, 10);
  void *other = ralloc_size (holder, 10);
  void *older = ralloc_size (to, 10);
  void *child = ralloc_size (from, 10);
  size_t used;

  n_destroyed = 0;
  ralloc_set_destructor (child, count_destroyed);
  ralloc_set_name (child, "child");
  ralloc_set_limit (child, 1000);
  ralloc_size (child, 100);
  used = ralloc_limit_used (child);
  ralloc_reference (holder, child);
  ralloc_reference (holder, from);
  ralloc_reference (from, other);
  ralloc_set_name (from, "from");
  ralloc_set_destructor (from, count_destroyed);
  ralloc_set_limit (from, 2000);
  ralloc_set_limit (to, 1);
  ralloc_adopt (to, from);
  g_assert_true (ralloc_parent (child) == to);
  g_assert_cmpstr (ralloc_get_name (child), ==, "child");
  g_assert_cmpuint (ralloc_limit_used (child), ==, used);
  g_assert_cmpuint (ralloc_limit_used (to), >, used);
  g_assert_cmpuint (ralloc_reference_count (child), ==, 1);
  g_assert_true (ralloc_parent (from) == root);
  g_assert_cmpstr (ralloc_get_name (from), ==, "from");
  g_assert_cmpuint (ralloc_reference_count (from), ==, 1);
  g_assert_cmpuint (ralloc_limit_used (from), <, used);
  g_assert_cmpuint (ralloc_total_nodes (from), ==, 1);
  /* The reference to `other' is held by `to' now. */
  g_assert_false (ralloc_unlink (from, other));
  g_assert_true (ralloc_unlink (to, other));
  g_assert_true (ralloc_unlink (holder, child));
  g_assert_true (ralloc_unlink (holder, from));
  ralloc_free (from);
  g_assert_cmpuint (n_destroyed, ==, 1);
  ralloc_set_destructor (older, count_destroyed);
  ralloc_free (root);
  g_assert_cmpuint (n_destroyed, ==, 3);
}

/* --- references from contexts that survive themselves --- */

static bool answer;

static bool
answer_refuses (void *node)
{
  (void) node;
  return answer;
}

static unsigned n_asked;

static bool
answer_counted (void *node)
{
  n_asked++;
  return answer_refuses (node);
}

/*  keep , p ( user ( holder ) , n ): the holder keeps n. */
static struct
{
  void *keep, *p, *user, *holder, *n;
} tied;

static void
tied_new (void)
{
  n_destroyed = 0;
  tied.keep = ralloc_context (NULL);
  tied.p = ralloc_context (NULL);
  tied.user = ralloc_size (tied.p, 10);
  tied.holder = ralloc_size (ralloc_size (tied.user, 10), 10);
  tied.n = ralloc_size (tied.p, 10);
  ralloc_set_destructor (tied.n, count_destroyed);
  ralloc_reference (tied.holder, tied.n);
}

static void
tied_check (void *parent_of_user)
{
  g_assert_cmpuint (n_destroyed, ==, 0);
  g_assert_true (ralloc_parent (tied.user) == parent_of_user);
  g_assert_true (ralloc_parent (tied.n) == tied.holder);
  g_assert_cmpuint (ralloc_reference_count (tied.n), ==, 0);
  ralloc_set_refusing_destructor (tied.user, NULL);
  ralloc_free (parent_of_user != NULL ? parent_of_user : tied.user);
  g_assert_cmpuint (n_destroyed, ==, 1);
  if (parent_of_user != tied.keep)
    ralloc_free (tied.keep);
}

/* The user of a node survives, so the node does, though it comes first. */
static void
test_reference_survives (void)
{
  void *between;

  tied_new ();
  ralloc_reference (tied.keep, tied.user);
  ralloc_free (tied.p);
  tied_check (tied.keep);

  answer = true;
  tied_new ();
  ralloc_set_refusing_destructor (tied.user, answer_refuses);
  ralloc_free (tied.p);
  tied_check (NULL);

  /* By way of another node that comes first. */
  tied_new ();
  between = ralloc_size (tied.p, 10);
  ralloc_unlink (tied.holder, tied.n);
  ralloc_reference (tied.holder, between);
  ralloc_reference (ralloc_size (between, 1), tied.n);
  ralloc_reference (tied.keep, tied.user);
  ralloc_free (tied.p);
  g_assert_cmpuint (n_destroyed, ==, 0);
  g_assert_true (ralloc_parent (between) == tied.holder);
  g_assert_true (ralloc_is_ancestor (between, tied.n));
  ralloc_free (tied.keep);
  g_assert_cmpuint (n_destroyed, ==, 1);

  /* One that may refuse and does not: all goes. */
  answer = false;
  tied_new ();
  ralloc_set_refusing_destructor (tied.user, answer_refuses);
  ralloc_free (tied.p);
  g_assert_cmpuint (n_destroyed, ==, 1);
  ralloc_free (tied.keep);
}

/* The holder lies below the node that is freed. */
static void
test_reference_survives_below (void)
{
  tied_new ();
  ralloc_steal (tied.n, tied.user);
  ralloc_reference (tied.keep, tied.user);
  g_assert_false (ralloc_try_free (tied.n));
  tied_check (tied.keep);
  ralloc_free (tied.p);

  answer = true;
  tied_new ();
  ralloc_steal (tied.n, tied.user);
  ralloc_set_refusing_destructor (tied.user, answer_refuses);
  g_assert_false (ralloc_try_free (tied.n));
  tied_check (tied.p);
}

enum
{
  N_CHAIN = 20000,
  N_CHAIN_WATCHED = 1000
};

/* Long chains of references, and rings: each node is looked at a few times. */
static void
test_reference_chain (void)
{
  unsigned n = is_annotated () || is_checking () ? N_CHAIN_WATCHED : N_CHAIN;

  for (int is_kept = 0; is_kept <= 1; is_kept++)
    {
      void *keep = ralloc_context (NULL);
      void *p = ralloc_context (NULL);
      void *first = ralloc_size (p, 10);
      void *last = first;

      for (unsigned i = 0; i < n; i++)
        {
          void *node = ralloc_size (p, 10);

          ralloc_set_destructor (node, count_destroyed);
          ralloc_reference (last, node);
          last = node;
        }
      ralloc_reference (last, first);
      if (is_kept)
        ralloc_reference (keep, first);
      n_destroyed = 0;
      ralloc_free (p);
      g_assert_cmpuint (n_destroyed, ==, is_kept ? 0 : n);
      ralloc_free (keep);
      g_assert_cmpuint (n_destroyed, ==, n);
    }
}

/* --- references among children that are freed as one set --- */

static GString *order;

static void
note_order (void *node)
{
  g_string_append (order, ralloc_get_name (node));
}

static void *
set_new (void *ctx, const char *name)
{
  void *node = ralloc_size (ctx, 10);

  ralloc_set_name_const (node, name);
  ralloc_set_destructor (node, note_order);
  return node;
}

static void
order_check (const char *expected)
{
  g_assert_cmpstr (order->str, ==, expected);
  g_string_truncate (order, 0);
}

/*  root ( a ( b ) , p ( t ( l ) ) ): a, or b, holds t. */
static void *
set_tree (void *root, bool is_deep)
{
  void *a = set_new (root, "a");
  void *b = set_new (a, "b");
  void *p = set_new (root, "p");
  void *t = set_new (p, "t");

  set_new (t, "l");
  ralloc_reference (is_deep ? b : a, t);
  return p;
}

/* A holder below another child goes as well, so nodes go in the order of
 * ralloc_free(). */
static void
test_free_children_order (void)
{
  order = g_string_new (NULL);
  for (int is_deep = 0; is_deep <= 1; is_deep++)
    {
      void *root = ralloc_context (NULL);

      set_tree (root, is_deep);
      ralloc_free_children (root);
      order_check ("ltpba");
      set_tree (root, is_deep);
      ralloc_free (root);
      order_check ("ltpba");
    }
  g_string_free (order, TRUE);
}

static void *of_other;

static void
free_inner (void *node)
{
  (void) node;
  ralloc_free (of_other);
}

static void
free_children_of_inner (void *node)
{
  (void) node;
  ralloc_free_children (of_other);
  g_string_append_c (order, '|');
}

/* The same in walks that a destructor begins: of a sibling, of a tree
 * elsewhere, and of another node's children. */
static void
test_free_children_nested (void)
{
  static void (*const begin[]) (void *)
      = { free_inner, free_children_of_inner };
  void *root;
  void *other;

  order = g_string_new (NULL);
  for (unsigned k = 0; k < 4; k++)
    {
      bool is_outside = k / 2 != 0;

      root = ralloc_context (NULL);
      other = ralloc_context (NULL);
      of_other = set_tree (root, true);
      if (is_outside)
        ralloc_steal (other, of_other);
      ralloc_set_destructor (ralloc_size (root, 10), begin[k % 2]);
      ralloc_free_children (root);
      ralloc_free (other);
      if (k % 2 == 0)
        order_check ("ltpba");
      else
        order_check (is_outside ? "lt|bap" : "lt|pba");
      ralloc_free (root);
    }
  /* What the outer node holds itself is given up, too. */
  root = ralloc_context (NULL);
  other = ralloc_context (NULL);
  of_other = set_new (NULL, "i");
  ralloc_reference (root, of_other);
  ralloc_reference (other, of_other);
  ralloc_set_destructor (ralloc_size (root, 10), free_inner);
  ralloc_free_children (root);
  order_check ("");
  g_assert_true (ralloc_parent (of_other) == other);
  ralloc_free (root);
  ralloc_free (other);
  order_check ("i");
  g_string_free (order, TRUE);
}

/* A reference whose holder goes along is not used up by a node that stays. */
static void
test_free_children_mutual (void)
{
  void *root = ralloc_context (NULL);
  void *keep = ralloc_context (NULL);
  void *three = ralloc_size (root, 16);
  void *holder = ralloc_size (three, 16);
  void *six = ralloc_size (root, 16);

  n_destroyed = 0;
  answer = true;
  ralloc_set_destructor (six, count_destroyed);
  ralloc_set_refusing_destructor (six, answer_refuses);
  ralloc_reference (holder, six);
  ralloc_reference (six, three);
  ralloc_free_children (root);
  g_assert_true (ralloc_parent (six) == root);
  g_assert_true (ralloc_parent (three) == six);
  g_assert_cmpuint (ralloc_reference_count (six), ==, 1);
  ralloc_steal (keep, holder);
  answer = false;
  ralloc_free (root);
  g_assert_cmpuint (n_destroyed, ==, 0);
  g_assert_true (ralloc_parent (six) == holder);
  ralloc_free (keep);
  g_assert_cmpuint (n_destroyed, ==, 1);
}

/* A child that keeps a sibling and refuses is asked once, stays where it is,
 * and so the sibling lives.  One from further below moves to the node.  The
 * question may come from a free in a destructor. */
static void
free_children_refused (bool is_deep, bool is_nested)
{
  void *root = ralloc_context (NULL);
  void *a = ralloc_size (root, 10);
  void *user = is_deep ? ralloc_size (a, 10) : a;
  void *middle = ralloc_size (root, 10);
  void *t = ralloc_size (root, 10);

  n_destroyed = 0;
  n_asked = 0;
  answer = true;
  of_other = t;
  ralloc_set_destructor (t, count_destroyed);
  ralloc_set_destructor (middle, count_destroyed);
  ralloc_reference (ralloc_size (user, 10), t);
  ralloc_set_refusing_destructor (user, answer_counted);
  if (is_nested)
    ralloc_set_destructor (ralloc_size (root, 10), free_inner);
  ralloc_free_children (root);
  g_assert_cmpuint (n_asked, ==, 1);
  g_assert_cmpuint (n_destroyed, ==, 1);
  g_assert_true (ralloc_parent (user) == root);
  g_assert_true (ralloc_is_ancestor (user, t));
  g_assert_cmpuint (ralloc_reference_count (t), ==, 0);
  answer = false;
  ralloc_free (root);
  g_assert_cmpuint (n_destroyed, ==, 2);
}

static void
test_free_children_refused (void)
{
  for (unsigned k = 0; k < 4; k++)
    free_children_refused (k % 2 != 0, k / 2 != 0);
}

/* --- limits --- */

static size_t
held (void *node)
{
  size_t before;

  /* What one more limit on the same node counts is what the node holds. */
  if (ralloc_limit_used (node) > 0)
    return ralloc_limit_used (node);
  ralloc_set_limit (node, SIZE_MAX / 4);
  before = ralloc_limit_used (node);
  ralloc_set_limit (node, 0);
  return before;
}

/* Names and records are not counted. */
/* --- limits while a tree is freed --- */

/*  root ( upper ( top ( last , first ) ) ): `first' is the younger, and so is
 * freed first; then the destructor of `last' runs. */
static struct
{
  void *root, *upper, *top, *other;
  size_t used;
  bool done;
} freed;

static void
freed_new (void (*destructor) (void *))
{
  freed.root = ralloc_context (NULL);
  freed.other = ralloc_context (NULL);
  freed.upper = ralloc_size (freed.root, 100);
  freed.top = ralloc_size (freed.upper, 100);
  ralloc_set_destructor (ralloc_size (freed.top, 1000), destructor);
  ralloc_size (freed.top, 1000);
  freed.done = false;
}

/* What a limit counts is what is there. */
static void
limit_check (const void *ctx)
{
  size_t used = ralloc_limit_used (ctx);

  g_assert_true (ralloc_set_limit (ctx, 0));
  g_assert_true (ralloc_set_limit (ctx, 1 << 20));
  g_assert_cmpuint (ralloc_limit_used (ctx), ==, used);
}

static void
steal_into_root (void *node)
{
  void *node_1000 = ralloc_size (NULL, 1000);

  freed.used = ralloc_limit_used (freed.root);
  freed.done = ralloc_try_steal (freed.root, node_1000);
  g_assert_true (ralloc_limit_used (ralloc_parent (node)) == 0
                 || ralloc_limit_used (freed.top) < freed.used);
}

static void
move_upper (void *node)
{
  (void) node;
  ralloc_steal (freed.other, freed.upper);
  freed.used = ralloc_limit_used (freed.root);
}

static void
limit_upper (void *node)
{
  (void) node;
  g_assert_true (ralloc_set_limit (freed.upper, 1 << 20));
  freed.used = ralloc_limit_used (freed.upper);
}

static void
do_nothing (void *node)
{
  (void) node;
}

/* In a deep tree a destructor does not cost a walk up to the limit: in
 * quadratic time this would not end. */
static void
test_limit_deep (void)
{
  unsigned n = is_annotated () || is_checking () ? 2000 : 1000000;
  void *root = ralloc_context (NULL), *top = ralloc_context (root);
  void *node = top;
  size_t used;

  ralloc_set_limit (root, SIZE_MAX / 4);
  used = ralloc_limit_used (root);
  ralloc_set_limit (root, 0); /* under it, each allocation walks up */
  for (unsigned i = 0; i < n; i++)
    {
      node = ralloc_size (node, 16);
      if (i % 2 != 0)
        ralloc_set_destructor (node, do_nothing);
    }
  ralloc_set_limit (root, SIZE_MAX / 4);
  g_assert_cmpuint (ralloc_limit_used (root), >, used);
  ralloc_free_children (top);
  g_assert_cmpuint (ralloc_limit_used (root), ==, used);
  ralloc_free (root);
}

static void
test_limit_freeing (void)
{
  size_t full;

  /* The bytes of freed nodes may be used again. */
  freed_new (steal_into_root);
  ralloc_set_limit (freed.root, 1 << 20);
  full = ralloc_limit_used (freed.root);
  ralloc_set_limit (freed.root, full);
  ralloc_set_limit (freed.top, full);
  ralloc_free (freed.top);
  g_assert_cmpuint (freed.used, <=, full - 1000);
  g_assert_true (freed.done);
  limit_check (freed.root);
  ralloc_free (freed.root);
  ralloc_free (freed.other);

  /* Of ralloc_free_children() as well. */
  freed_new (steal_into_root);
  ralloc_set_limit (freed.root, full);
  ralloc_free_children (freed.top);
  g_assert_true (freed.done);
  limit_check (freed.root);
  ralloc_free (freed.root);
  ralloc_free (freed.other);

  /* What is being freed moves with the node above it. */
  for (int is_limited = 0; is_limited <= 1; is_limited++)
    {
      freed_new (move_upper);
      ralloc_set_limit (freed.root, 1 << 20);
      if (is_limited)
        ralloc_set_limit (freed.other, 1 << 20);
      ralloc_free (freed.top);
      limit_check (freed.root);
      g_assert_cmpuint (freed.used, ==, ralloc_limit_used (freed.root));
      if (is_limited)
        limit_check (freed.other);
      ralloc_free (freed.root);
      ralloc_free (freed.other);
    }

  /* A limit that is set above it counts it. */
  freed_new (limit_upper);
  ralloc_free (freed.top);
  g_assert_cmpuint (freed.used, >, 1000);
  limit_check (freed.upper);
  ralloc_free (freed.root);
  ralloc_free (freed.other);
}

static void
test_limit_names (void)
{
  void *root = ralloc_context (NULL);
  void *node = ralloc_size (root, 10);
  char name[1000];
  size_t before;

  memset (name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  g_assert_true (ralloc_set_limit (root, 4096));
  before = ralloc_limit_used (root);
  ralloc_set_name (node, name);
  ralloc_set_destructor (node, count_destroyed);
  g_assert_cmpuint (ralloc_limit_used (root), ==, before);
  ralloc_free (root);
}

static void
test_limit (void)
{
  void *root = ralloc_context (NULL);
  void *inner, *node, *other;
  size_t before;
  unsigned n = 0;

  g_assert_true (ralloc_set_limit (root, 4096));
  inner = ralloc_size (root, 10);
  g_assert_true (ralloc_set_limit (inner, 1024));
  before = ralloc_limit_used (root);
  errno = 0;
  while (ralloc_size (inner, 50) != NULL)
    n++;
  g_assert_cmpint (errno, ==, ENOMEM);
  g_assert_cmpuint (n, >, 3);
  g_assert_cmpuint (ralloc_limit_used (inner), <=, 1024);
  g_assert_cmpuint (ralloc_limit_used (root), >, before);
  g_assert_null (rzalloc_size (inner, 100));
  g_assert_null (ralloc_strdup (inner, "far too much, as the limit is reached "
                                       "by what is there already, nearly"));
  /* The outer limit allows more. */
  node = ralloc_size (root, 100);
  g_assert_nonnull (node);
  g_assert_null (reralloc_size (root, node, 100000));
  g_assert_true (ralloc_parent (node) == root);
  g_assert_null (ralloc_size (root, 1000000));
  ralloc_free_children (inner);
  g_assert_nonnull (ralloc_size (inner, 50));

  /* Steals: counted there and back; the careful one refuses. */
  before = ralloc_limit_used (root);
  other = ralloc_context (NULL);
  ralloc_steal (other, node);
  g_assert_cmpuint (ralloc_limit_used (root), <, before);
  ralloc_steal (root, node);
  g_assert_cmpuint (ralloc_limit_used (root), ==, before);
  ralloc_size (other, 100000);
  errno = 0;
  g_assert_false (ralloc_try_steal (inner, other));
  g_assert_cmpint (errno, ==, ENOMEM);
  ralloc_free_children (other);
  g_assert_true (ralloc_try_steal (inner, other));
  ralloc_steal (NULL, other);
  g_assert_cmpuint (ralloc_limit_used (root), ==, before);
  ralloc_free (other);
  g_assert_true (ralloc_set_limit (inner, 0));
  g_assert_true (ralloc_set_limit (root, 0));
  g_assert_cmpuint (ralloc_limit_used (root), ==, 0);
  g_assert_nonnull (ralloc_size (inner, 100000));
  ralloc_free (root);
}

/* Random operations under nested limits: what is counted is what is there. */
static void
test_limit_counts (void)
{
  Random random = { 5 };
  void *root = ralloc_context (NULL);
  void *inner = ralloc_size (root, 1);
  void *free_tree = ralloc_context (NULL);
  void *nodes[64] = { NULL };

  ralloc_set_limit (root, SIZE_MAX / 2);
  ralloc_set_limit (inner, SIZE_MAX / 2);
  for (unsigned i = 0; i < 20000; i++)
    {
      void **node = &nodes[random_below (&random, 64)];
      void *ctx = random_below (&random, 3) == 0   ? root
                  : random_below (&random, 2) == 0 ? inner : free_tree;
      size_t size = random_below (&random, 3000);

      if (*node == NULL)
        *node = random_below (&random, 8) == 0
                    ? ralloc_linear_context (ctx)
                : random_below (&random, 8) == 0
                    ? (void *) ralloc_gc_context (ctx)
                    : ralloc_size (ctx, size);
      else if (random_below (&random, 3) == 0)
        {
          ralloc_free (*node);
          *node = NULL;
        }
      else if (random_below (&random, 2) == 0)
        ralloc_steal (ctx, *node);
      else
        ralloc_size (*node, size);
      if (i % 500 == 0)
        {
          size_t used_root = ralloc_limit_used (root);
          size_t used_inner = ralloc_limit_used (inner);

          ralloc_set_limit (root, 0);
          ralloc_set_limit (inner, 0);
          g_assert_cmpuint (held (root), ==, used_root);
          g_assert_cmpuint (held (inner), ==, used_inner);
          ralloc_set_limit (root, SIZE_MAX / 2);
          ralloc_set_limit (inner, SIZE_MAX / 2);
        }
    }
  ralloc_free_children (root);
  ralloc_free (root);
  ralloc_free (free_tree);
}

/* Buffers and slabs count as well. */
static void
test_limit_arenas (void)
{
  void *root = ralloc_context (NULL);
  void *linear = ralloc_linear_context (root);
  RallocGc *gc = ralloc_gc_context (root);
  size_t before;
  unsigned n = 0;

  ralloc_set_limit (root, 100000);
  before = ralloc_limit_used (root);
  while (n < 100000 && ralloc_linear_alloc_child (linear, 64) != NULL)
    n++;
  g_assert_cmpuint (n, <, 100000);
  g_assert_cmpuint (ralloc_limit_used (root), >, before);
  ralloc_free (linear);
  for (n = 0; n < 100000 && ralloc_gc_alloc_size (gc, 64, 8) != NULL; n++)
    ;
  g_assert_cmpuint (n, <, 100000);
  ralloc_free (gc);
  g_assert_cmpuint (ralloc_limit_used (root), <, before);
  ralloc_free (root);
}

static bool
append_cat (char **string)
{
  return ralloc_strcat (string, "x");
}

static bool
append_formatted (char **string)
{
  return ralloc_asprintf_append (string, "%c", 'x');
}

static bool
append_known (char **string)
{
  return ralloc_str_append (string, "x", strlen (*string), 1);
}

/* What grows by more than it needs now takes what there is. */
static void
test_limit_strings (void)
{
  static bool (*const append[]) (char **)
      = { append_cat, append_formatted, append_known };

  for (unsigned i = 0; i < G_N_ELEMENTS (append); i++)
    for (size_t limit = 700; limit < 6000; limit += 500)
      {
        void *root = ralloc_context (NULL);
        char *string = ralloc_strdup (root, "");

        g_assert_true (ralloc_set_limit (root, limit));
        while (append[i] (&string))
          g_assert_cmpuint (ralloc_limit_used (root), <=, limit);
        g_assert_cmpint (errno, ==, ENOMEM);
        g_assert_cmpuint (strspn (string, "x"), ==, strlen (string));
        g_assert_cmpuint (strlen (string), >, limit - 400);
        ralloc_free (root);
      }
}

static void
test_limit_linear (void)
{
  void *root = ralloc_context (NULL);
  void *linear = ralloc_linear_context (root);
  const size_t limit = ralloc_total_size (root) + 5000;

  g_assert_true (ralloc_set_limit (root, limit));
  while (ralloc_linear_alloc_child (linear, 8) != NULL)
    ;
  g_assert_cmpuint (ralloc_limit_used (root), <=, limit);
  g_assert_cmpuint (ralloc_limit_used (root), >, limit - 200);
  ralloc_free (root);
}

/* --- reports --- */

static char *
report_of (void (*print) (FILE *, const void *), const void *node)
{
  char *text = NULL;
  size_t length;
  FILE *f = open_memstream (&text, &length);

  print (f, node);
  fclose (f);
  return text;
}

/* Each size fills its class, so that the text is the same in every mode. */
static void *
make_report_tree (void)
{
  void *root = ralloc_size (NULL, 16);
  void *a = ralloc_size (root, 32);
  void *b = ralloc_size (a, 48);
  void *c = ralloc_size (b, 64);
  void *d = ralloc_size (c, 80);

  ralloc_set_name_const (root, "compiler");
  ralloc_set_name (a, "parse \"tree\"");
  ralloc_set_name_const (ralloc_size (d, 96), "leaf");
  ralloc_reference (root, b);
  ralloc_set_limit (c, 1 << 20);
  ralloc_set_limit (c, 0);
  return root;
}

static void
test_report (void)
{
  /* The record of a reference: three words, and its node's usable bytes. */
  const size_t reference = (3 * sizeof (void *) + 15) & ~(size_t) 15;
  void *root;
  char *text, *expected;

  if (is_annotated ())
    {
      g_test_skip ("a reference's record has another size");
      return;
    }
  if (is_on (SLICE_OPTION_HARDENED) || is_on (SLICE_OPTION_DEBUG))
    {
      g_test_skip ("sizes are those requested, and places are known");
      return;
    }
  root = make_report_tree ();
  text = report_of (ralloc_report, root);
  expected = g_strdup_printf (
      "compiler: 16 bytes, %zu bytes in 7 nodes\n"
      "  reference: %zu bytes\n"
      "  parse \"tree\": 32 bytes, 320 bytes in 5 nodes\n"
      "    node: 48 bytes, 288 bytes in 4 nodes, 1 references\n"
      "      node: 64 bytes, 240 bytes in 3 nodes\n"
      "        node: 80 bytes, 176 bytes in 2 nodes\n"
      "          leaf: 96 bytes\n",
      336 + reference, reference);
  g_assert_cmpstr (text, ==, expected);
  g_assert_cmpuint (ralloc_total_size (root), ==, 336 + reference);
  g_free (expected);
  free (text);
  text = report_of (ralloc_report_json, root);
  g_assert_true (g_str_has_prefix (text, "{\"kind\": \"node\", \"name\": "
                                         "\"compiler\", \"bytes\": 16"));
  g_assert_nonnull (strstr (text, "\"parse \\\"tree\\\"\""));
  g_assert_true (g_str_has_suffix (text, "}]}]}]}]}]}\n"));
  free (text);
  ralloc_free (root);
}

static void
print_info (FILE *f, const void *node)
{
  ralloc_print_info (f, node, RALLOC_PRINT_INFO_SUMMARY_ONLY);
}

static void
test_print_info (void)
{
  void *root = ralloc_size (NULL, 16);
  char *text;

  ralloc_size (root, 32);
  text = report_of (print_info, root);
  if (sizeof (void *) == 8)
    g_assert_cmpstr (text, ==,
                     "2 nodes, 48 bytes of content, 64 bytes of metadata\n");
  free (text);
  /* A name takes a record. */
  ralloc_set_name_const (root, "root");
  text = report_of (print_info, root);
  if (sizeof (void *) == 8)
    g_assert_cmpstr (text, ==,
                     "2 nodes, 48 bytes of content, 176 bytes of metadata\n");
  free (text);
  ralloc_free (root);
}

static void
test_report_at_exit (void)
{
  /* Kept, so that no leak checker has a word in this. */
  static void *volatile leaked, *volatile stolen, *volatile untracked;

  if (is_on (SLICE_OPTION_DEBUG))
    {
      g_test_skip ("places are known");
      return;
    }
  if (g_test_subprocess ())
    {
      ralloc_free (ralloc_context (NULL)); /* before: on no list */
      untracked = ralloc_context (NULL);
      ralloc_report_at_exit (false);
      leaked = ralloc_context (NULL);
      ralloc_set_name_const (leaked, "leaked");
      stolen = ralloc_context (leaked);
      ralloc_set_name_const (stolen, "stolen");
      ralloc_steal (NULL, stolen);
      ralloc_set_name_const (ralloc_context (stolen), "child");
      ralloc_free (ralloc_context (NULL));
      ralloc_steal (leaked, ralloc_context (NULL));
      g_assert_nonnull (untracked);
      exit (0);
    }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr (
      "*alive at exit:\nstolen: * in 2 nodes\nleaked: * in 2 nodes\n");
}

/* A root that a destructor of the program frees is not alive at exit. */
static void *freed_late;

__attribute__ ((destructor)) static void
free_late (void)
{
  ralloc_free (freed_late);
}

static void *
root_named (const char *name)
{
  void *root = ralloc_context (NULL);

  ralloc_set_name_const (root, name);
  return root;
}

/* A forked child prints the roots that it has made, and may free others. */
static void
test_report_fork (void)
{
  static void *volatile of_parent, *volatile of_child, *volatile shared;
  pid_t child;

  if (is_on (SLICE_OPTION_DEBUG))
    {
      g_test_skip ("places are known");
      return;
    }
  if (g_test_subprocess ())
    {
      ralloc_report_at_exit (false);
      of_parent = root_named ("of the parent");
      shared = root_named ("shared");
      freed_late = root_named ("freed late");
      child = fork ();
      if (child == 0)
        {
          of_child = root_named ("of the child");
          ralloc_free (shared);
          shared = NULL;
          child = fork (); /* it prints nothing */
          g_assert_cmpint (child, >=, 0);
        }
      if (child > 0)
        g_assert_cmpint (waitpid (child, NULL, 0), ==, child);
      g_assert_true (of_parent != NULL || of_child != NULL || shared != NULL);
      exit (0);
    }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr (
      "slice: roots alive at exit:\nof the child: *\n"
      "slice: roots alive at exit:\nshared: *\nof the parent: *\n");
  g_test_trap_assert_stderr_unmatched ("*freed late*");
  g_test_trap_assert_stderr_unmatched ("*of the child*of the child*");
  g_test_trap_assert_stderr_unmatched ("*of the parent*of the parent*");
}

typedef struct
{
  int x;
} Marked;

enum
{
  N_MARKED = 20
};

static char *
mark_formatted (void *root, const char *format, ...)
{
  va_list args;
  char *string;

  va_start (args, format);
  string = ralloc_vasprintf (root, format, args);
  va_end (args);
  return string;
}

/* Makes nodes of all kinds below a root; the place of all of them is a line of
 * this function, or of mark_formatted(). */
static void
make_marked (void *root)
{
  Marked *one = ralloc (root, Marked), *array;
  RallocLinearOpts opts = { 0 };
  char *string = ralloc_strdup (root, "a");
  void *node = ralloc_array (root, Marked, 2);

  memset (one, 0, sizeof *one);
  memset (node, 0, sizeof *one);
  g_assert_nonnull (rzalloc (root, Marked));
  g_assert_nonnull (rzalloc_array (root, Marked, 2));
  array = reralloc (root, NULL, Marked, 3);
  memset (array, 0, 3 * sizeof *array);
  g_assert_nonnull (rerzalloc (root, NULL, Marked, 0, 3));
  g_assert_nonnull (reralloc_size (root, NULL, 5));
  g_assert_nonnull (rerzalloc_size (root, NULL, 0, 5));
  g_assert_nonnull (ralloc_memdup (root, "abc", 3));
  g_assert_true (ralloc_strcat (&string, "b"));
  g_assert_cmpstr (string, ==, "ab");
  string = ralloc_strndup (root, "abc", 2);
  g_assert_cmpstr (string, ==, "ab");
  string = ralloc_asprintf (root, "%d-%s", 1, "x");
  g_assert_cmpstr (string, ==, "1-x");
  string = ralloc_asprintf (root, "plain");
  g_assert_cmpstr (string, ==, "plain");
  string = mark_formatted (root, "%s", "y");
  g_assert_cmpstr (string, ==, "y");
  g_assert_nonnull (ralloc_linear_context (root));
  g_assert_nonnull (ralloc_linear_context_with_opts (root, &opts));
  g_assert_nonnull (ralloc_linear_alloc_parent (root, 5));
  g_assert_nonnull (ralloc_linear_zalloc_parent (root, 5));
  g_assert_nonnull (ralloc_gc_context (root));
  g_assert_nonnull (ralloc_typed (root, Marked));
}

/* Each line of a report has a place in this file. */
static void
expect_all_marked (const char *text)
{
  char **lines = g_strsplit (text, "\n", -1);
  unsigned n = 0;

  for (char **line = lines; **line != '\0'; line++, n++)
    if (strstr (*line, ", at " __FILE__ ":") == NULL)
      g_error ("no place: %s", *line);
  g_assert_cmpuint (n, ==, N_MARKED + 1);
  g_strfreev (lines);
}

static void
test_marks (void)
{
  void *root;
  char *text;
  char *expected;

  if (g_test_subprocess ())
    {
      slice_set_option (SLICE_OPTION_DEBUG, 1);
      root = ralloc_size (NULL, 16);
      expected = g_strdup_printf (", at %s:%d\n", __FILE__, __LINE__ - 1);
      text = report_of (ralloc_report, root);
      g_assert_nonnull (strstr (text, expected));
      g_free (expected);
      free (text);
      make_marked (root);
      text = report_of (ralloc_report, root);
      expect_all_marked (text);
      free (text);
      ralloc_free (root);
      /* The option makes guard pages, over which LeakSanitizer stumbles when
       * it looks for pointers at exit. */
      _exit (0);
    }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_passed ();
}

/* Nobody pays who does not use them. */
static void
test_costs_nothing (void)
{
  void *root;
  uint64_t before;

  if (is_on (SLICE_OPTION_DEBUG))
    {
      g_test_skip ("places are kept in records");
      return;
    }
  root = ralloc_context (NULL);

  if (is_annotated ())
    {
      g_test_skip ("blocks are not counted");
      ralloc_free (root);
      return;
    }
  before = live_blocks ();
  for (unsigned i = 0; i < 100; i++)
    ralloc_size (root, 8);
  g_assert_cmpuint (live_blocks () - before, ==, 100);
  ralloc_set_name_const (root, "x");
  g_assert_cmpuint (live_blocks () - before, ==, 101);
  ralloc_free (root);
  g_assert_cmpuint (live_blocks (), ==, before - 1);
}

static void
test_stolen (void)
{
  void *one = ralloc_context (NULL);
  void *two = ralloc_context (NULL);
  char *text = ralloc_strdup (one, "text");
  char *got = ralloc_stolen (two, text);

  g_assert_true (got == text && ralloc_parent (text) == two);
  g_assert_cmpstr (ralloc_stolen (NULL, text), ==, "text");
  g_assert_null (ralloc_parent (text));
  g_assert_null (ralloc_stolen (two, (char *) NULL));
  ralloc_free (text);
  ralloc_free (one);
  ralloc_free (two);
}

static void
test_array_length (void)
{
  void *root = ralloc_context (NULL);

  for (size_t n = 0; n < 1000; n++)
    {
      int *numbers = ralloc_array (root, int, n);
      size_t length = ralloc_array_length (numbers);

      g_assert_cmpuint (length, >=, n);
      g_assert_cmpuint (length, <=, n + n / 8 + 8);
      memset (numbers, 1, length * sizeof (int));
      ralloc_free (numbers);
    }
  g_assert_cmpuint (ralloc_array_length ((int *) NULL), ==, 0);
  ralloc_free (root);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, function)                                                   \
  g_test_add_func ("/slice/ralloc-extension/" name, function)
  ADD ("names", test_names);
  ADD ("references", test_references);
  ADD ("reference-adopt", test_reference_adopt);
  ADD ("unlink", test_unlink);
  ADD ("reference-inside", test_reference_inside);
  ADD ("reference-dying", test_reference_dying);
  ADD ("dying", test_dying);
  ADD ("adopt", test_adopt);
  ADD ("reference-survives", test_reference_survives);
  ADD ("reference-survives-below", test_reference_survives_below);
  ADD ("reference-chain", test_reference_chain);
  ADD ("free-children-order", test_free_children_order);
  ADD ("free-children-nested", test_free_children_nested);
  ADD ("free-children-mutual", test_free_children_mutual);
  ADD ("free-children-refused", test_free_children_refused);
  ADD ("limit", test_limit);
  ADD ("limit-freeing", test_limit_freeing);
  ADD ("limit-deep", test_limit_deep);
  ADD ("limit-names", test_limit_names);
  ADD ("limit-counts", test_limit_counts);
  ADD ("limit-arenas", test_limit_arenas);
  ADD ("limit-strings", test_limit_strings);
  ADD ("limit-linear", test_limit_linear);
  ADD ("report", test_report);
  ADD ("print-info", test_print_info);
  ADD ("report-at-exit", test_report_at_exit);
  ADD ("report-at-exit/fork", test_report_fork);
  ADD ("marks", test_marks);
  ADD ("costs-nothing", test_costs_nothing);
  ADD ("stolen", test_stolen);
  ADD ("array-length", test_array_length);
  return g_test_run ();
}
