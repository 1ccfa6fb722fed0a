/* test-ralloc-hooks.c - what contexts tell the hooks, node by node
 *
 * The hooks are set before the first root and keep a table of the nodes that
 * are alive.  The test fails if a node is traced as allocated while it is in
 * the table, as freed while it is not, or is left over after its tree has
 * gone.  Each mode of the library has a process of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/hooks.h>

#include "tests/context/ralloc-testlib.h"

enum
{
  N_NODES = 3000, /* several batches of the walk */
  FAN_OUT = 8
};

/* address -> bytes; nothing in it is the library's. */
static GHashTable *living;
static size_t n_allocs, n_frees, n_reallocs;

static void
note_alloc (SliceTraceKind kind, const void *block, size_t bytes)
{
  g_assert_cmpint (kind, ==, SLICE_TRACE_CONTEXT);
  g_assert_true (g_hash_table_insert (living, (void *) (uintptr_t) block,
                                      GSIZE_TO_POINTER (bytes)));
  n_allocs++;
}

static void
note_free (SliceTraceKind kind, const void *block, size_t bytes)
{
  g_assert_cmpint (kind, ==, SLICE_TRACE_CONTEXT);
  g_assert_cmpuint (bytes, ==, 0);
  g_assert_true (g_hash_table_remove (living, block));
  n_frees++;
}

static void
note_realloc (SliceTraceKind kind, const void *old_block, const void *block,
            size_t bytes)
{
  g_assert_cmpint (kind, ==, SLICE_TRACE_CONTEXT);
  g_assert_true (g_hash_table_remove (living, old_block));
  g_assert_true (g_hash_table_insert (living, (void *) (uintptr_t) block,
                                      GSIZE_TO_POINTER (bytes)));
  n_reallocs++;
}

static void
note_own (bool begins)
{
  (void) begins;
}

static const SliceTraceHooks hooks
    = { sizeof hooks, note_alloc, note_free, note_realloc, note_own };

/* n allocations and n frees since the last time, and none is missing. */
static void
assert_traced (size_t n)
{
  g_assert_cmpuint (n_allocs, ==, n);
  g_assert_cmpuint (n_frees, ==, n);
  g_assert_cmpuint (g_hash_table_size (living), ==, 0);
  n_allocs = n_frees = n_reallocs = 0;
}

static bool
lives (const void *node, size_t bytes)
{
  void *traced;

  return g_hash_table_lookup_extended (living, node, NULL, &traced)
         && GPOINTER_TO_SIZE (traced) == bytes;
}

/* --- trees --------------------------------------------------------------- */

static void *nodes[N_NODES];

/* Every way into an allocation: inline, by a size that is too large for
 * that, cleared by stores or by the library, malloc's. */
static void *
node_new (void *parent, size_t i)
{
  void *node;

  switch (i % 6)
    {
    case 0:
      node = ralloc_size (parent, 24);
      g_assert_true (lives (node, 24));
      return node;
    case 1:
      return rzalloc_size (parent, 40);
    case 2:
      return rzalloc_size (parent, i % 400 + 1);
    case 3:
      return ralloc_size (parent, 481 + i % 1500);
    case 4:
      return i % 60 == 4 ? ralloc_size (parent, 3000)
                         : ralloc_strdup (parent, "a text");
    default:
      return ralloc_context (parent);
    }
}

/* Node i hangs on node (i - 1) / fan_out; 0: on the root. */
static void *
tree_new (size_t fan_out)
{
  void *root = ralloc_context (NULL);

  for (size_t i = 0; i < N_NODES; i++)
    {
      void *parent = fan_out == 0 || i == 0 ? root : nodes[(i - 1) / fan_out];

      nodes[i] = node_new (parent, i);
      g_assert_nonnull (nodes[i]);
    }
  return root;
}

static void
test_trees (void)
{
  /* Flat; a list; what the leaves' loop takes two levels of; bushy. */
  static const size_t fan_outs[] = { 0, 1, N_NODES / 30, FAN_OUT };

  for (size_t i = 0; i < G_N_ELEMENTS (fan_outs); i++)
    {
      ralloc_free (tree_new (fan_outs[i]));
      assert_traced (N_NODES + 1);
    }
}

static void
test_single_nodes (void)
{
  void *root = tree_new (0);

  for (size_t i = 0; i < N_NODES; i++)
    {
      ralloc_free (nodes[i]);
      g_assert_false (g_hash_table_contains (living, nodes[i]));
    }
  g_assert_cmpuint (n_frees, ==, N_NODES);
  ralloc_free (root);
  assert_traced (N_NODES + 1);
}

static void
test_free_children (void)
{
  void *root = tree_new (FAN_OUT);

  ralloc_free_children (root);
  g_assert_cmpuint (n_frees, ==, N_NODES);
  g_assert_cmpuint (g_hash_table_size (living), ==, 1);
  ralloc_free (root);
  assert_traced (N_NODES + 1);
}

/* --- nodes that are unusual ---------------------------------------------- */

static void
destructor (void *node)
{
  /* Not traced before it runs; its own child is traced, too. */
  g_assert_true (g_hash_table_contains (living, node));
  g_assert_nonnull (ralloc_size (node, 50));
}

static void
test_destructors (void)
{
  void *root = tree_new (FAN_OUT);
  size_t n = 0;

  for (size_t i = 0; i < N_NODES; i += 7, n++)
    ralloc_set_destructor (nodes[i], destructor);
  ralloc_free (root);
  assert_traced (N_NODES + 1 + n);
}

static void *doomed;

static void
free_doomed (void *node)
{
  (void) node;
  ralloc_free (doomed);
}

/* A destructor frees what another walk is to keep, and what it goes through:
 * each is traced by one of the two. */
static void
test_frees_in_frees (void)
{
  void *root = ralloc_context (NULL);
  void *kept = ralloc_size (root, 10);
  void *child = ralloc_size (kept, 10);

  ralloc_size (child, 10);
  ralloc_set_destructor (child, free_doomed);
  doomed = kept;
  ralloc_free_children (kept);
  g_assert_cmpuint (n_frees, ==, 3);
  ralloc_free (root);
  assert_traced (4);

  root = ralloc_context (NULL);
  kept = ralloc_size (root, 10);
  child = ralloc_size (kept, 10);
  ralloc_set_destructor (child, free_doomed);
  doomed = root;
  ralloc_free (kept);
  assert_traced (3);
}

static bool
refuses (void *node)
{
  (void) node;
  return true;
}

/* No free is traced of what stays. */
static void
test_refusals (void)
{
  void *root = ralloc_context (NULL);
  void *top = ralloc_size (root, 10);
  void *stays = ralloc_size (top, 10);

  ralloc_size (stays, 10);
  ralloc_set_refusing_destructor (stays, refuses);
  ralloc_free (top);
  g_assert_cmpuint (n_frees, ==, 1);
  g_assert_true (lives (stays, 10));
  ralloc_set_refusing_destructor (stays, NULL);
  ralloc_free (root);
  assert_traced (4);
}

static void
test_sizes (void)
{
  static const size_t sizes[] = { 100, 104, 20, 481, 2032, 2033, 5000,
                                  200000, 400000, 30 };
  void *root = ralloc_context (NULL);
  void *node = ralloc_size (root, 60);

  ralloc_size (node, 10);
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      node = reralloc_size (root, node, sizes[i]);
      g_assert_true (lives (node, sizes[i]));
    }
  g_assert_cmpuint (n_reallocs, ==, G_N_ELEMENTS (sizes));
  ralloc_free (root);
  assert_traced (3);
}

static void
test_limits (void)
{
  void *root = ralloc_context (NULL);
  size_t n = 1;

  g_assert_true (ralloc_set_limit (root, 20000));
  while (ralloc_size (root, 100) != NULL)
    n++;
  g_assert_cmpuint (n_allocs, ==, n);
  ralloc_free (root);
  assert_traced (n);
}

/* Handles and objects. */
static void
test_linear_and_gc (void)
{
  void *root = ralloc_context (NULL);
  RallocLinear *linear = ralloc_linear_context (root);
  RallocGc *gc = ralloc_gc_context (root);

  for (int i = 0; i < 200; i++)
    {
      void *object = ralloc_gc_alloc_size (gc, 32, 16);

      ralloc_linear_alloc_child (linear, 24);
      if (i % 2 == 0)
        ralloc_gc_free (object);
    }
  ralloc_free (root);
  assert_traced (403);
}

/* --- modes --------------------------------------------------------------- */

static void
test_mode (const void *options)
{
  char *old = g_strdup (g_getenv ("SLICE_OPTIONS"));

  g_setenv ("SLICE_OPTIONS", options, TRUE);
  g_test_trap_subprocess ("/ralloc/hooks/all", 0,
                          G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_test_trap_assert_passed ();
  if (old != NULL)
    g_setenv ("SLICE_OPTIONS", old, TRUE);
  else
    g_unsetenv ("SLICE_OPTIONS");
  g_free (old);
}

static void
test_all (void)
{
  test_trees ();
  test_single_nodes ();
  test_free_children ();
  test_destructors ();
  test_frees_in_frees ();
  test_refusals ();
  test_sizes ();
  test_limits ();
  test_linear_and_gc ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  living = g_hash_table_new (NULL, NULL);
  slice_set_trace_hooks (&hooks);
  g_test_add_func ("/ralloc/hooks/all", test_all);
  g_test_add_data_func ("/ralloc/hooks/always-malloc", "always-malloc",
                        test_mode);
  g_test_add_data_func ("/ralloc/hooks/bypass-magazines", "bypass-magazines",
                        test_mode);
  g_test_add_data_func ("/ralloc/hooks/checked", "checked", test_mode);
  g_test_add_data_func ("/ralloc/hooks/debug", "debug", test_mode);
  return g_test_run ();
}
