/* test-ralloc-oom.c - every request for memory fails in turn
 *
 * failing-malloc.h: what fails has to leave the tree as it was; what was
 * allocated has to be free at the end.  SLICE_OPTIONS is set so that every
 * slice is a request, too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

#include <slice/options.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/failing-malloc.h"

/* --- the script --- */

static bool
agree (void *node)
{
  (void) node;
  return false;
}

static void
destroyed (void *node)
{
  (void) node;
}

static void
script_strings (void *root, void *linear)
{
  char *text = ralloc_strdup (root, "start");
  char *other = ralloc_linear_strdup (linear, "start");
  size_t length;

  for (unsigned i = 0; i < 60 && text != NULL; i++)
    {
      char *before = text;

      length = strlen (text);
      if (!ralloc_asprintf_append (&text, "%0*u", 1 + (int) i * 7, i))
        {
          g_assert_true (text == before);
          g_assert_cmpuint (strlen (text), ==, length);
        }
      if (other != NULL)
        ralloc_linear_asprintf_append (linear, &other, "%s,%u", "x", i);
    }
}

static void
script_nodes (Random *random, void *root)
{
  void *nodes[40] = { NULL };

  for (unsigned i = 0; i < 500; i++)
    {
      void **node = &nodes[random_below (random, 40)];
      size_t size = random_below (random, 30) == 0
                        ? random_below (random, 200000)
                        : random_below (random, 500);
      void *ctx = ralloc_parent (*node);
      size_t n = ralloc_total_nodes (root);
      void *moved;

      switch (random_below (random, 6))
        {
        case 0:
          ralloc_free (*node);
          *node = NULL;
          break;
        case 1:
          if (*node == NULL)
            break;
          moved = reralloc_size (ctx, *node, size);
          g_assert_cmpuint (ralloc_total_nodes (root), ==, n);
          g_assert_true (ralloc_parent (moved != NULL ? moved : *node)
                         == ctx);
          *node = moved != NULL ? moved : *node;
          break;
        case 2:
          if (*node != NULL)
            {
              ralloc_try_set_destructor (*node, destroyed);
              ralloc_set_refusing_destructor (*node, agree);
              ralloc_set_name (*node, "a name that is copied");
              n = ralloc_total_nodes (root);
              moved = ralloc_named_const (*node, 30, "not copied");
              g_assert_cmpuint (ralloc_total_nodes (root), ==,
                                n + (moved != NULL));
              if (ralloc_reference (root, *node) != NULL)
                ralloc_unlink (root, *node);
            }
          break;
        default:
          if (*node == NULL)
            {
              *node = rzalloc_size (root, size);
              g_assert_cmpuint (ralloc_total_nodes (root), ==,
                                n + (*node != NULL));
            }
        }
    }
}

static void
script_arenas (void *root)
{
  RallocGc *gc = ralloc_gc_context (root);
  void *objects[300] = { NULL };

  if (gc == NULL)
    return;
  for (unsigned i = 0; i < 300; i++)
    objects[i] = ralloc_gc_alloc_size (gc, i * 5, 8u << (i % 4));
  ralloc_gc_sweep_start (gc);
  for (unsigned i = 0; i < 300; i += 2)
    if (objects[i] != NULL)
      ralloc_gc_mark_live (gc, objects[i]);
  ralloc_gc_sweep_end (gc);
  for (unsigned i = 0; i < 300; i += 4)
    ralloc_gc_free (objects[i]);
}

/* A node with many children moves with and without memory for the record. */
static void
script_family (void *root)
{
  void *node = ralloc_size (root, 10);
  void *children[50] = { NULL };

  if (node == NULL)
    return;
  for (unsigned i = 0; i < 50; i++)
    children[i] = ralloc_size (node, 10);
  for (size_t size = 10; size < 400000; size *= 4)
    {
      void *moved = reralloc_size (root, node, size);

      node = moved != NULL ? moved : node;
      for (unsigned i = 0; i < 50; i++)
        g_assert_true (children[i] == NULL
                       || ralloc_parent (children[i]) == node);
    }
}

/* Objects in the first block, in further ones, and in blocks of their own. */
static void
script_linear (void *root)
{
  const RallocLinearOpts opts = { .min_buffer_size = 65536 };
  RallocLinear *large = ralloc_linear_context_with_opts (root, &opts);
  void *linear = ralloc_linear_context (root);

  ralloc_linear_alloc_parent (root, 100000);
  if (linear != NULL)
    for (unsigned i = 0; i < 200; i++)
      ralloc_linear_alloc_child (linear, i % 50 == 49 ? 50000 : i * 3);
  if (linear != NULL)
    script_strings (root, linear);
  ralloc_linear_free_context (large);
}

static void
script_under (void *root, uint64_t seed)
{
  Random random = { seed };

  script_linear (root);
  script_nodes (&random, root);
  script_family (root);
  script_arenas (root);
}

static void
script (void)
{
  void *root = ralloc_context (NULL);

  if (root == NULL)
    return;
  script_under (root, 12345);
  ralloc_set_limit (root, 1 << 20);
  ralloc_size (root, 100);
  ralloc_free (root);
}

/* What is taken from a limit, for something that then fails, goes back. */
static void
script_limited (void)
{
  void *root = ralloc_context (NULL);
  void *top;
  size_t used;

  if (root == NULL)
    return;
  if (ralloc_set_limit (root, 1 << 20))
    {
      used = ralloc_limit_used (root);
      top = ralloc_context (root);
      if (top != NULL)
        {
          script_under (top, 54321);
          g_assert_cmpuint (ralloc_limit_used (root), >, used);
          g_assert_null (ralloc_linear_alloc_parent (top, 2 << 20));
        }
      ralloc_free (top);
      g_assert_cmpuint (ralloc_limit_used (root), ==, used);
    }
  ralloc_free (root);
}

static void
test_limited (void)
{
  fail_each (script_limited, false);
}

/* --- a destructor that can't be kept: the failure handler is asked --- */

static unsigned n_asked;

static bool
memory_comes (size_t size, size_t alignment, void *data)
{
  (void) size;
  (void) alignment;
  (void) data;
  n_asked++;
  fault.countdown = 0;
  return true;
}

static void
test_destructor (void)
{
  void *root = ralloc_context (NULL); /* with debug it has a record already */
  void *node = ralloc_size (root, 10);

  slice_set_failure_handler (memory_comes, NULL);
  fault.persistent = true;
  fault.countdown = 1;
  g_assert_false (ralloc_try_set_destructor (node, count_destroyed));
  g_assert_cmpuint (n_asked, ==, 0);
  ralloc_set_destructor (node, count_destroyed);
  g_assert_cmpuint (n_asked, ==, 1);
  slice_set_failure_handler (NULL, NULL);
  ralloc_free (node);
  g_assert_cmpuint (n_destroyed, ==, 1);
  ralloc_free (root);
}

/* --- the first requests of a process --- */

enum
{
  ALL_GIVEN = 10, /* exit statuses of no assertion's */
  SOME_REFUSED,
  NONE_LEFT,  /* fewer requests than that */
  LARGE = 5 << 20
};

/* In each, the first in a context of its kind: large nodes far from each
 * other, so that each is the first in its part of the map, too. */
static unsigned
make_first (void *root)
{
  unsigned n_refused = 0;
  void *node = ralloc_size (root, LARGE), *moved;
  RallocGc *gc = ralloc_gc_context (root);
  void *object = gc != NULL ? ralloc_gc_alloc_size (gc, 100, 16) : NULL;

  n_refused += node == NULL;
  n_refused += ralloc_linear_alloc_parent (root, LARGE) == NULL;
  n_refused += ralloc_size (root, LARGE) == NULL;
  n_refused += object == NULL;
  if (object != NULL)
    ralloc_gc_free (object); /* found in the map */
  if (node != NULL)
    {
      memset (node, 7, LARGE);
      moved = reralloc_size (root, node, 4 * LARGE);
      n_refused += moved == NULL;
      node = moved != NULL ? moved : node;
      g_assert_true (ralloc_parent (node) == root);
      g_assert_cmpint (((char *) node)[LARGE - 1], ==, 7);
      ralloc_free (node);
    }
  return n_refused;
}

static unsigned
use_first (bool by_linear)
{
  void *root
      = by_linear ? ralloc_linear_context (NULL) : ralloc_context (NULL);
  unsigned n_refused = 0;

  if (root == NULL)
    return 1;
  if (!by_linear)
    n_refused = make_first (root);
  ralloc_free (root);
  return n_refused;
}

/* Nodes are laid out as the mode asks for, whatever failed at first: with
 * the header in front where they lie in slabs. */
static void
check_layout (void)
{
  void *root = ralloc_size (NULL, 40);
  SliceBlockInfo info = { .kind = SLICE_BLOCK_FOREIGN };

  slice_block_info (root, &info);
  if (g_strcmp0 (g_getenv ("SLICE_OPTIONS"), "always-malloc") == 0)
    g_assert_cmpint (info.kind, ==, SLICE_BLOCK_FOREIGN);
  else
    g_assert_cmpint (info.kind, ==, SLICE_BLOCK_INTERIOR);
  ralloc_free (root);
}

/* In a child, so that all is as in a new process. */
static int
first_in_child (long at, bool persistent, bool by_linear)
{
  int status = 0;
  pid_t child = fork ();
  unsigned n_refused;
  int how;

  if (child == 0)
    {
      fault.persistent = persistent;
      fault.countdown = at;
      n_refused = use_first (by_linear);
      how = fault.countdown > 1 ? NONE_LEFT
            : n_refused > 0     ? SOME_REFUSED
                                : ALL_GIVEN;
      fault.countdown = 0;
      check_layout ();
      g_assert_cmpuint (use_first (by_linear), ==, 0);
      _exit (how);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFEXITED (status));
  how = WEXITSTATUS (status);
  g_assert_true (how >= ALL_GIVEN && how <= NONE_LEFT);
  return how;
}

static void
fail_first (bool persistent, bool by_linear)
{
  unsigned n_points = 0, n_some = 0;
  int how;

  while ((how = first_in_child (n_points + 1, persistent, by_linear))
         != NONE_LEFT)
    {
      n_points++;
      n_some += how == SOME_REFUSED;
    }
  g_test_message ("%u points, %u reported", n_points, n_some);
  /* A single failure may be made good. */
  g_assert_cmpuint (n_points, >, 0);
  if (persistent)
    g_assert_cmpuint (n_some, >, 0);
}

static void
test_first (void)
{
  if (g_test_subprocess ())
    {
      for (int way = 0; way < 4; way++)
        fail_first (way % 2 != 0, way / 2 != 0);
      return;
    }
  for (int in_pool = 0; in_pool < 2; in_pool++)
    {
      g_setenv ("SLICE_OPTIONS", in_pool ? "" : "always-malloc", true);
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDOUT);
      g_test_trap_assert_passed ();
    }
}

/* With slices from slabs. */
static void
test_limited_slabs (void)
{
  if (g_test_subprocess ())
    {
      fail_each (script_limited, false);
      fail_each (script_limited, true);
      return;
    }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDOUT);
  g_test_trap_assert_passed ();
}

static void
add_more (void)
{
  g_test_add_func ("/slice/ralloc-oom/limited", test_limited);
  g_test_add_func ("/slice/ralloc-oom/limited-slabs", test_limited_slabs);
  g_test_add_func ("/slice/ralloc-oom/destructor", test_destructor);
  g_test_add_func ("/slice/ralloc-oom/first", test_first);
}

int
main (int argc, char **argv)
{
  return fail_main (argc, argv, "ralloc-oom", script, add_more);
}
