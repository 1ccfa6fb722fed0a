/* test-ralloc-limit.c - a limit refuses only what exceeds it, in each mode
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

#include <errno.h>

#include "tests/testlib.h"

#define NO_LIMIT ((size_t) 1 << 40)

enum
{
  OLD_MAX = 3000, /* sizes before the resize, in steps */
  OLD_STEP = 300,
  NEW_MAX = 6000, /* and after it */
  NEW_SMALL = 2200, /* each size up to this, if the test is long */
  NEW_STEP = 37
};

/* The bytes that the root and a node hold after a resize from `size' to
 * `resized'. */
static size_t
bytes_after (void *root, size_t size, size_t resized)
{
  void *node = reralloc_size (root, ralloc_size (root, size), resized);
  size_t bytes = ralloc_limit_used (root);

  ralloc_free (node);
  return bytes;
}

/* A resize whose result has exactly the bytes of the limit succeeds; with a
 * byte less it gives NULL, and the node is as it was. */
static void
expect_exact (void *root, size_t size, size_t resized)
{
  size_t after = bytes_after (root, size, resized);
  char *node = ralloc_size (root, size);
  size_t before = ralloc_limit_used (root);
  char *moved;

  memset (node, 'x', size);
  if (after > before)
    {
      g_assert_true (ralloc_set_limit (root, after - 1));
      errno = 0;
      g_assert_null (reralloc_size (root, node, resized));
      g_assert_cmpint (errno, ==, ENOMEM);
      g_assert_cmpuint (ralloc_limit_used (root), ==, before);
    }
  g_assert_true (ralloc_set_limit (root, after > before ? after : before));
  moved = reralloc_size (root, node, resized);
  if (moved == NULL)
    g_error ("%zu to %zu bytes: refused, though %zu are allowed and held",
             size, resized, after > before ? after : before);
  g_assert_cmpuint (ralloc_limit_used (root), ==, after);
  for (size_t i = 0; i < size && i < resized; i++)
    g_assert_cmpint (moved[i], ==, 'x');
  ralloc_set_limit (root, NO_LIMIT);
  ralloc_free (moved);
}

static void
resizes_in (const char *options)
{
  bool is_long = test_is_slow ();
  void *root;

  test_options (options);
  root = ralloc_context (NULL);
  g_assert_true (ralloc_set_limit (root, NO_LIMIT));
  for (size_t size = 0; size < OLD_MAX; size += OLD_STEP)
    for (size_t resized = 1; resized < NEW_MAX;
         resized += !is_long && resized < NEW_SMALL ? 1 : NEW_STEP)
      expect_exact (root, size, resized);
  ralloc_free (root);
}

static void
resizes_default (void)
{
  resizes_in ("");
}

static void
resizes_hardened (void)
{
  resizes_in ("hardened");
}

static void
resizes_debug (void)
{
  resizes_in ("debug");
}

static void
resizes_always_malloc (void)
{
  resizes_in ("always-malloc");
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/ralloc-limit/resizes/default", resizes_default);
  test_add_fresh ("/slice/ralloc-limit/resizes/hardened", resizes_hardened);
  test_add_fresh ("/slice/ralloc-limit/resizes/debug", resizes_debug);
  test_add_fresh ("/slice/ralloc-limit/resizes/always-malloc",
                  resizes_always_malloc);
  return g_test_run ();
}
