/* test-ralloc.c - nodes: allocate, resize, steal, adopt, parent
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"
#include "tests/testlib.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- what the calls mean --- */

static void
test_null_matrix (void)
{
  void *root = ralloc_context (NULL);
  void *node;
  char *text = NULL;
  size_t start = 7;

  g_assert_nonnull (root);
  g_assert_null (ralloc_parent (root));
  g_assert_null (ralloc_parent (NULL));
  ralloc_free (NULL);
  ralloc_steal (root, NULL);
  ralloc_steal (NULL, NULL);
  ralloc_adopt (root, NULL);
  ralloc_adopt (NULL, NULL);
  ralloc_free_children (NULL);
  ralloc_gc_free (NULL);
  ralloc_linear_free_parent (NULL);
  ralloc_linear_free_context (NULL);
  ralloc_steal_linear_context (root, NULL);
  g_assert_null (ralloc_linear_alloc_parent (NULL, 8));
  g_assert_null (ralloc_strdup (root, NULL));
  g_assert_null (ralloc_strndup (root, NULL, 3));
  g_assert_null (ralloc_linear_strdup (root, NULL));
  g_assert_cmpuint (ralloc_total_size (NULL), ==, 0);
  g_assert_cmpuint (ralloc_total_nodes (NULL), ==, 0);
  g_assert_cmpuint (ralloc_usable_size (NULL), ==, 0);
  g_assert_cmpuint (ralloc_reference_count (NULL), ==, 0);
  g_assert_cmpuint (ralloc_limit_used (NULL), ==, 0);
  g_assert_null (ralloc_get_name (NULL));
  g_assert_null (ralloc_check_name (NULL, "x"));
  g_assert_true (ralloc_try_free (NULL));
  g_assert_true (ralloc_try_steal (root, NULL));
  g_assert_false (ralloc_is_ancestor (NULL, root));
  g_assert_false (ralloc_is_ancestor (root, NULL));
  ralloc_print_info (stdout, NULL, 0);
  g_assert_null (ralloc_mark_place (NULL, "x", 1));

  /* Size 0 is a node that can be a context. */
  node = ralloc_size (root, 0);
  g_assert_nonnull (node);
  g_assert_true (ralloc_size (root, 0) != node);
  g_assert_nonnull (ralloc_size (node, 3));
  g_assert_true (ralloc_parent (node) == root);

  /* To size 0: the node and its children stay. */
  node = ralloc_size (root, 3000);
  g_assert_nonnull (ralloc_size (node, 1));
  node = reralloc_size (root, node, 0);
  g_assert_nonnull (node);
  g_assert_cmpuint (ralloc_total_nodes (node), ==, 2);
  g_assert_true (ralloc_parent (node) == root);

  /* Of NULL: a fresh node. */
  node = reralloc_size (root, NULL, 20);
  g_assert_true (ralloc_parent (node) == root);
  node = rerzalloc_size (root, NULL, 5, 20);
  for (unsigned i = 0; i < 20; i++)
    g_assert_cmpint (((char *) node)[i], ==, 0);
  node = reralloc_array_size (NULL, NULL, 4, 4);
  g_assert_nonnull (node);
  ralloc_free (node);

  /* Appending to nothing makes a root. */
  g_assert_true (ralloc_asprintf_rewrite_tail (&text, &start, "%d", 123));
  g_assert_cmpuint (start, ==, 3);
  g_assert_null (ralloc_parent (text));
  ralloc_free (text);
  g_assert_nonnull (ralloc_memdup (root, NULL, 0));
  ralloc_free (root);
}

/* A copy of nothing is nothing, and no node. */
static void
test_copies_of_null (void)
{
  void *root = ralloc_context (NULL);
  void *linear = ralloc_linear_context (root);
  volatile size_t too_large = SIZE_MAX;
  size_t n = ralloc_total_nodes (root);
  const void *volatile null = NULL;
  char *text;

  g_assert_null (ralloc_memdup (root, null, 1));
  g_assert_null (ralloc_memdup (root, null, 100000));
  g_assert_null (ralloc_memdup (root, null, too_large));
  g_assert_null (ralloc_memdup (NULL, null, 1));
  g_assert_null (ralloc_strdup (root, null));
  g_assert_null (ralloc_strndup (root, null, 1));
  g_assert_null (ralloc_linear_memdup (linear, null, 1));
  g_assert_null (ralloc_linear_memdup (linear, null, too_large));
  g_assert_null (ralloc_linear_strdup (linear, null));
  g_assert_cmpuint (ralloc_total_nodes (root), ==, n);
  text = ralloc_strdup (root, "text");
  g_assert_true (ralloc_str_append (&text, null, 4, 0));
  g_assert_cmpstr (text, ==, "text");
  ralloc_free (root);
}

static void
test_alignments (void)
{
  void *root = ralloc_context (NULL);

  for (size_t size = 0; size <= 4096; size++)
    {
      void *nodes[5];

      nodes[0] = ralloc_size (root, size);
      nodes[1] = rzalloc_size (root, size);
      nodes[2] = ralloc_array_size (root, 1, size);
      nodes[3] = reralloc_size (root, ralloc_size (root, 16), size);
      nodes[4] = ralloc_memdup (root, nodes[0], 0);
      for (unsigned i = 0; i < G_N_ELEMENTS (nodes); i++)
        {
          g_assert_cmpuint ((uintptr_t) nodes[i] % 16, ==, 0);
          memset (nodes[i], 0xa5, i < 4 ? size : 0);
        }
      if (size % 64 == 0)
        ralloc_free_children (root);
    }
  ralloc_free (root);
}

/* Every byte zero, also where the chunk was full of something else before,
 * at every size and around every path of the clearing. */
static void
test_zeroed (void)
{
  void *root = ralloc_context (NULL);

  for (unsigned round = 0; round < 3; round++)
    for (size_t size = 0; size <= 5000; size += size < 600 ? 1 : 37)
      {
        unsigned char *node = rzalloc_size (root, size);

        for (size_t i = 0; i < size; i++)
          g_assert_cmpuint (node[i], ==, 0);
        memset (node, 0xff, size);
        if (size % 3 != 0)
          ralloc_free (node);
      }
  ralloc_free (root);
}

static void
test_zeroed_growth (void)
{
  void *root = ralloc_context (NULL);

  for (size_t old = 1; old < 5000; old += 1 + old / 7)
    for (size_t new_size = old; new_size < 5000; new_size += 1 + new_size / 5)
      {
        unsigned char *node = ralloc_size (root, old);

        memset (node, 0x5a, old);
        node = rerzalloc_size (root, node, old, new_size);
        for (size_t i = 0; i < new_size; i++)
          g_assert_cmpuint (node[i], ==, i < old ? 0x5a : 0);
        ralloc_free (node);
      }
  ralloc_free (root);
}

/* --- sizes that do not fit (defects of older implementations) --- */

static void
test_overflow (void)
{
  void *root = ralloc_context (NULL);
  void *node = ralloc_size (root, 40);
  void *linear = ralloc_linear_context (root);
  RallocGc *gc = ralloc_gc_context (root);
  volatile size_t huge;
  char *text = ralloc_strdup (root, "x");

  memset (node, 1, 40);
  for (size_t k = 0; k <= 4096; k++)
    {
      huge = SIZE_MAX - k;
      errno = 0;
      g_assert_null (ralloc_size (root, huge));
      g_assert_cmpint (errno, ==, ENOMEM);
      g_assert_null (rzalloc_size (NULL, huge));
      g_assert_null (reralloc_size (root, node, huge));
      g_assert_null (rerzalloc_size (root, node, 40, huge));
      g_assert_null (ralloc_linear_alloc_child (linear, huge));
      g_assert_null (ralloc_linear_zalloc_child (linear, huge));
      g_assert_null (ralloc_linear_alloc_parent (root, huge));
      g_assert_null (ralloc_gc_alloc_size (gc, huge, 8));
      g_assert_null (ralloc_gc_alloc_size (gc, huge, 64));
      g_assert_false (ralloc_str_append (&text, "y", 1, huge));
    }
  huge = SIZE_MAX / 2;
  g_assert_null (ralloc_size (root, huge));
  g_assert_null (ralloc_array_size (root, huge, 3));
  g_assert_null (rzalloc_array_size (root, 16, huge));
  g_assert_null (reralloc_array_size (root, node, huge, 4));
  g_assert_null (rerzalloc_array_size (root, node, huge, 1, 4));
  g_assert_null (ralloc_linear_alloc_child_array (linear, huge, 4));
  g_assert_null (ralloc_linear_zalloc_child_array (linear, 4, huge));
  /* Element size 0 is no division by zero, count 0 no special case. */
  g_assert_nonnull (ralloc_array_size (root, 0, 5));
  g_assert_nonnull (rzalloc_array_size (root, 5, 0));
  g_assert_nonnull (ralloc_linear_alloc_child_array (linear, 0, 9));
  g_assert_cmpstr (text, ==, "x");
  for (unsigned i = 0; i < 40; i++)
    g_assert_cmpint (((char *) node)[i], ==, 1);
  ralloc_free (root);
}

/* What fits in 32 bits only when cut: memory of the full length, or none. */
static void
test_no_truncation (void)
{
  void *root = ralloc_context (NULL);
  void *linear = ralloc_linear_context (root);
  char *object;

  if (sizeof (size_t) > 4)
    {
      object = ralloc_linear_alloc_child (linear, (size_t) 0xfffffff9);
      if (object != NULL)
        object[0xfffffff8u] = 1;
      object = ralloc_linear_alloc_child_array (linear, 8,
                                                (size_t) 0x20000001);
      if (object != NULL)
        object[(size_t) 0x20000001 * 8 - 1] = 1;
    }
  ralloc_free (root);
}

/* --- resizing --- */

static void
test_resize_keeps_all (void)
{
  static const unsigned counts[] = { 0, 1, 2, 31, 32, 33, 40, 500 };

  for (unsigned c = 0; c < G_N_ELEMENTS (counts); c++)
    {
      void *root = ralloc_context (NULL);
      void *older = ralloc_size (root, 8);
      void *node = ralloc_size (root, 8);
      void *younger = ralloc_size (root, 8);
      void **children = g_new (void *, counts[c] + 40);
      unsigned n = 0;
      size_t size = 8;

      n_destroyed = 0;
      ralloc_set_destructor (node, count_destroyed);
      for (; n < counts[c]; n++)
        children[n] = ralloc_size (node, 8);
      memcpy (node, "abcdefg", 8);
      for (unsigned step = 0; step < 36; step++)
        {
          size = step % 9 == 8 ? 8 : size * 2;
          node = reralloc_size (root, node, size);
          g_assert_cmpstr (node, ==, "abcdefg");
          g_assert_true (ralloc_parent (node) == root);
          if (step % 3 == 0)
            children[n++] = ralloc_size (node, 8);
          for (unsigned i = 0; i < n; i++)
            g_assert_true (ralloc_parent (children[i]) == node);
        }
      g_assert_cmpuint (ralloc_total_nodes (root), ==, n + 4);
      /* Its place: freeing the neighbours leaves a whole list. */
      ralloc_free (older);
      ralloc_free (younger);
      g_assert_cmpuint (ralloc_total_nodes (root), ==, n + 2);
      g_assert_cmpuint (n_destroyed, ==, 0);
      for (unsigned i = 0; i < n; i += 2)
        ralloc_free (children[i]);
      ralloc_free (root);
      g_assert_cmpuint (n_destroyed, ==, 1);
      g_free (children);
    }
}

static void
test_resize_root (void)
{
  char *root = ralloc_size (NULL, 10);
  void *child = ralloc_size (root, 10);

  strcpy (root, "root");
  for (size_t size = 10; size < 1000000; size *= 3)
    {
      root = reralloc_size (NULL, root, size);
      g_assert_cmpstr (root, ==, "root");
      g_assert_null (ralloc_parent (root));
      g_assert_true (ralloc_parent (child) == root);
    }
  for (size_t size = 1000000; size > 10; size /= 3)
    root = reralloc_size (NULL, root, size);
  g_assert_cmpstr (root, ==, "root");
  ralloc_steal (child, ralloc_context (NULL));
  ralloc_free (root);
}

/* A node that need not move does not: the same class, or not below half. */
static void
test_resize_in_place (void)
{
  void *node = ralloc_size (NULL, 100);
  size_t usable = ralloc_usable_size (node);

  if (is_annotated ())
    {
      g_test_skip ("a memory checker gets blocks of the exact size");
      ralloc_free (node);
      return;
    }
  g_assert_cmpuint (usable, >=, 100);
  g_assert_true (reralloc_size (NULL, node, usable) == node);
  g_assert_true (reralloc_size (NULL, node, usable - 20) == node);
  g_assert_true (reralloc_size (NULL, node, usable) == node);
  ralloc_free (node);
}

/* --- moving in the tree --- */

static GString *order;

static void
note (void *node)
{
  g_string_append (order, *(const char **) node);
  g_string_append_c (order, ' ');
}

static void *
noted (const void *ctx, const char *name)
{
  const char **node = ralloc (ctx, const char *);

  *node = name;
  ralloc_set_destructor (node, note);
  return node;
}

static void
expect_order (void *node, const char *expected)
{
  g_string_truncate (order, 0);
  ralloc_free (node);
  g_assert_cmpstr (order->str, ==, expected);
}

static void
test_order (void)
{
  void *root, *a, *b, *other;

  order = g_string_new (NULL);
  root = noted (NULL, "root");
  a = noted (root, "a");
  noted (a, "a1");
  noted (root, "b");
  expect_order (root, "b a1 a root ");

  /* A stolen node is the youngest; an adoption keeps the order, in front. */
  root = noted (NULL, "root");
  a = noted (root, "a");
  b = noted (root, "b");
  ralloc_steal (root, a);
  expect_order (root, "a b root ");

  root = noted (NULL, "root");
  noted (root, "x");
  other = noted (NULL, "other");
  a = noted (other, "a");
  b = noted (other, "b");
  ralloc_adopt (root, other);
  g_assert_true (ralloc_parent (a) == root);
  g_assert_true (ralloc_parent (b) == root);
  expect_order (other, "other ");
  expect_order (root, "b a x root ");
  g_string_free (order, TRUE);
}

static void
test_steal (void)
{
  void *one = ralloc_context (NULL);
  void *two = ralloc_context (NULL);
  void *node = ralloc_size (one, 10);
  void *child = ralloc_size (node, 10);

  ralloc_steal (two, node);
  g_assert_true (ralloc_parent (node) == two);
  g_assert_true (ralloc_parent (child) == node);
  g_assert_cmpuint (ralloc_total_nodes (one), ==, 1);
  ralloc_steal (NULL, node);
  g_assert_null (ralloc_parent (node));
  ralloc_free (two);
  ralloc_steal (one, node);
  g_assert_cmpuint (ralloc_total_nodes (one), ==, 3);
  /* Onto its own parent, and the quiet refusals. */
  ralloc_steal (one, node);
  g_assert_true (ralloc_try_steal (one, node));
  g_assert_false (ralloc_try_steal (node, node));
  g_assert_false (ralloc_try_steal (child, node));
  g_assert_false (ralloc_try_steal (child, one));
  g_assert_cmpint (errno, ==, EINVAL);
  g_assert_true (ralloc_parent (node) == one);
  g_assert_true (ralloc_is_ancestor (one, child));
  g_assert_false (ralloc_is_ancestor (child, one));
  ralloc_free (one);
}

/* Mesa's crashes with NULL, and ties a list into a ring with itself. */
static void
test_adopt_defined (void)
{
  void *ctx = ralloc_context (NULL);
  void *a = ralloc_size (ctx, 1);
  void *b = ralloc_size (ctx, 1);

  ralloc_adopt (ctx, ctx);
  g_assert_cmpuint (ralloc_total_nodes (ctx), ==, 3);
  ralloc_adopt (NULL, ctx);
  g_assert_cmpuint (ralloc_total_nodes (ctx), ==, 1);
  g_assert_null (ralloc_parent (a));
  g_assert_null (ralloc_parent (b));
  ralloc_steal (ctx, a);
  ralloc_free (b);
  ralloc_free (ctx);
}

/* --- nothing grows with the number of brothers or children --- */

/* Nothing but children of about the same age is on the page of one: whoever
 * walks over all of them reads it. */
static void
protect_page_of (void *child, int protection)
{
  size_t bytes = (size_t) sysconf (_SC_PAGESIZE);
  void *page = (void *) ((uintptr_t) child & ~(uintptr_t) (bytes - 1));

  g_assert_cmpint (mprotect (page, bytes, protection), ==, 0);
}

static void
test_resize_many_children (void)
{
  enum { N_CHILDREN = 100000, N_STEPS = 2000 };
  void *root = ralloc_context (NULL);
  char *node = ralloc_size (root, 64);
  void *oldest = ralloc_size (node, 8);
  void *middle = NULL;

  for (unsigned i = 1; i < N_CHILDREN; i++)
    {
      void *child = ralloc_size (node, 8);

      if (i == N_CHILDREN / 2)
        middle = child;
    }
  node = reralloc_size (root, node, 512); /* pays once */
  if (!is_annotated ()) /* a tool's own records may be there as well */
    protect_page_of (middle, PROT_NONE);
  for (unsigned i = 0; i < N_STEPS; i++)
    {
      node = reralloc_size (root, node, i % 2 == 0 ? 64 : 512);
      ralloc_size (node, 8); /* one more that is not of the family yet */
      g_assert_true (ralloc_parent (oldest) == node);
    }
  if (!is_annotated ())
    protect_page_of (middle, PROT_READ | PROT_WRITE);
  g_assert_cmpuint (ralloc_total_nodes (node), ==, N_CHILDREN + N_STEPS + 1);
  ralloc_free (root);
}

/* Where canaries and red zones take bytes, what fills the last class is a
 * malloc: still a node like any other. */
static void
every_size (void)
{
  void *root = ralloc_context (NULL);

  for (size_t size = 0; size < 2200; size++)
    {
      RallocLinearOpts opts = { .min_buffer_size = (unsigned) size };
      char *node = ralloc_size (root, size);

      memset (node, 1, size);
      ralloc_size (node, size);
      node = reralloc_size (root, node, size + 16);
      ralloc_steal (NULL, node);
      ralloc_free (node);
      ralloc_free (ralloc_linear_context_with_opts (root, &opts));
    }
  ralloc_free (root);
  g_assert_cmpuint (live_blocks (), ==, 0);
}

static void
test_every_size_hardened (void)
{
  test_options ("hardened");
  every_size ();
}

static void
test_every_size_debug (void)
{
  test_options ("debug");
  every_size ();
}

enum
{
  N_EMPTY = 500,
  EMPTY_WAYS = 6
};

/* A node of no bytes, in each way that there is. */
static void *
empty_node (void *root, unsigned way, size_t none)
{
  switch (way)
    {
    case 0:
      return ralloc_context (root);
    case 1:
      return ralloc_size (root, none);
    case 2:
      return rzalloc_size (root, none);
    case 3:
      return ralloc_size (NULL, none);
    case 4:
      return reralloc_size (root, ralloc_size (root, 900), none);
    default:
      return ralloc_size (root, 0);
    }
}

static int
compare_addresses (const void *a, const void *b)
{
  uintptr_t first = (uintptr_t) *(void *const *) a;
  uintptr_t second = (uintptr_t) *(void *const *) b;

  return first < second ? -1 : first > second;
}

/* Nodes of no bytes have addresses that no other block has. */
static void
check_empty_nodes (const char *options)
{
  static void *live[4 * N_EMPTY];
  size_t n = 0, none = 0;
  void *root;

  test_options (options);
  root = ralloc_context (NULL);
  for (unsigned i = 0; i < N_EMPTY; i++)
    {
      live[n++] = empty_node (root, i % EMPTY_WAYS, none);
      live[n++] = slice_alloc (32);
      live[n++] = slice_alloc (48);
      live[n++] = ralloc_linear_context (root);
    }
  qsort (live, n, sizeof *live, compare_addresses);
  for (size_t i = 1; i < n; i++)
    g_assert_true (live[i] != live[i - 1]);
}

static void
test_empty_default (void)
{
  check_empty_nodes ("");
}

static void
test_empty_checked (void)
{
  check_empty_nodes ("checked");
}

static void
test_empty_hardened (void)
{
  check_empty_nodes ("hardened");
}

static void *destroyed_last;

static void
note_destroyed (void *node)
{
  n_destroyed++;
  destroyed_last = node;
}

/* A hundred thousand slices, some below others, with destructors here and
 * there, moved about, and all gone with the root. */
static void
large_tree (void)
{
  enum { N = 100000, EVERY = 1000 };
  unsigned n = is_annotated () ? N / 10 : N;
  uint64_t before = live_blocks ();
  void *root = ralloc_context (NULL);
  void *branch = NULL;

  n_destroyed = 0;
  ralloc_set_destructor (root, note_destroyed);
  for (unsigned i = 0; i < n; i++)
    {
      void *node = ralloc_size (branch != NULL ? branch : root, 24);

      if (i % EVERY == 0)
        {
          ralloc_set_destructor (node, note_destroyed);
          branch = node;
        }
      else if (i % EVERY == EVERY / 2)
        {
          ralloc_steal (root, branch);
          g_assert_true (ralloc_parent (branch) == root);
        }
    }
  g_assert_cmpuint (ralloc_total_nodes (root), ==, n + 1);
  g_assert_cmpuint (ralloc_total_size (root), >=, (size_t) 24 * n);
  ralloc_free (root);
  g_assert_cmpuint (n_destroyed, ==, n / EVERY + 1);
  g_assert_true (destroyed_last == root); /* children first */
  g_assert_cmpuint (live_blocks (), ==, before);
}

static void
large_tree_debug_blocks (void)
{
  test_options ("debug-blocks");
  large_tree ();
}

static int64_t
live_large (void)
{
  SliceStats *stats = g_new0 (SliceStats, 1);
  int64_t n;

  slice_get_stats (stats);
  n = (int64_t) (stats->n_large_allocs - stats->n_large_frees);
  g_free (stats);
  return n;
}

/* The statistics count the blocks of malloc that contexts have. */
static void
test_large_counted (void)
{
  void *root = ralloc_context (NULL), *node = NULL;
  int64_t before = live_large ();
  RallocLinear *linear = ralloc_linear_context (root);

  if (is_annotated ())
    {
      g_test_skip ("each block is a malloc, and none is counted");
      ralloc_free (root);
      return;
    }
  for (unsigned i = 0; i < 100; i++)
    node = ralloc_size (root, 9000);
  g_assert_cmpint (live_large () - before, ==, 100);
  node = ralloc_size (node, 300000);
  node = reralloc_size (ralloc_parent (node), node, 600000);
  g_assert_cmpint (live_large () - before, ==, 101);
  ralloc_linear_alloc_child (linear, 9000);
  g_assert_cmpint (live_large () - before, ==, 102);
  ralloc_gc_alloc_size (ralloc_gc_context (root), 9000, 64);
  g_assert_cmpint (live_large () - before, ==, 103);
  ralloc_free (root);
  g_assert_cmpint (live_large (), ==, before);
}

/* In a child whose address space is limited to `more' bytes more: true if a
 * large node was allocated, or errno says why not. */
static bool
says_no_memory (size_t more)
{
  FILE *file = fopen ("/proc/self/statm", "r");
  unsigned long pages = 0;
  struct rlimit limit;
  void *root;

  g_assert_nonnull (file);
  g_assert_cmpint (fscanf (file, "%lu", &pages), ==, 1);
  fclose (file);
  limit.rlim_max = pages * (size_t) sysconf (_SC_PAGESIZE) + more;
  limit.rlim_cur = limit.rlim_max;
  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
  root = ralloc_context (NULL);
  errno = 0;
  return root == NULL || ralloc_size (root, 4000) != NULL || errno == ENOMEM;
}

/* The block, the note of where the node lies, and the tables of these notes
 * need memory; whichever has none. */
static void
test_large_without_memory (void)
{
  if (test_is_slow () || sizeof (void *) == 4)
    {
      g_test_skip ("no limits of addresses");
      return;
    }
  for (size_t more = 0; more < 1200 << 10; more += 4096)
    {
      int status = 0;
      pid_t child = fork ();

      if (child == 0)
        _exit (says_no_memory (more) ? 0 : 1);
      g_assert_cmpint (waitpid (child, &status, 0), ==, child);
      g_assert_cmpint (status, ==, 0);
    }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  /* First, while no block has been asked for. */
  test_add_fresh ("/slice/ralloc/every-size-hardened",
                  test_every_size_hardened);
  test_add_fresh ("/slice/ralloc/every-size-debug", test_every_size_debug);
  test_add_fresh ("/slice/ralloc/large-tree", large_tree);
  test_add_fresh ("/slice/ralloc/empty-default", test_empty_default);
  test_add_fresh ("/slice/ralloc/empty-checked", test_empty_checked);
  test_add_fresh ("/slice/ralloc/empty-hardened", test_empty_hardened);
  test_add_fresh ("/slice/ralloc/large-tree-debug-blocks",
                  large_tree_debug_blocks);
  test_add_fresh ("/slice/ralloc/large-without-memory",
                  test_large_without_memory);
  g_test_add_func ("/slice/ralloc/null-matrix", test_null_matrix);
  g_test_add_func ("/slice/ralloc/copies-of-null", test_copies_of_null);
  g_test_add_func ("/slice/ralloc/alignment", test_alignments);
  g_test_add_func ("/slice/ralloc/zeroed", test_zeroed);
  g_test_add_func ("/slice/ralloc/zeroed-growth", test_zeroed_growth);
  g_test_add_func ("/slice/ralloc/overflow", test_overflow);
  g_test_add_func ("/slice/ralloc/no-truncation", test_no_truncation);
  g_test_add_func ("/slice/ralloc/resize-keeps-all", test_resize_keeps_all);
  g_test_add_func ("/slice/ralloc/resize-root", test_resize_root);
  g_test_add_func ("/slice/ralloc/resize-in-place", test_resize_in_place);
  g_test_add_func ("/slice/ralloc/resize-many-children",
                   test_resize_many_children);
  g_test_add_func ("/slice/ralloc/large-counted", test_large_counted);
  g_test_add_func ("/slice/ralloc/order", test_order);
  g_test_add_func ("/slice/ralloc/steal", test_steal);
  g_test_add_func ("/slice/ralloc/adopt-defined", test_adopt_defined);
  return g_test_run ();
}
