/* test-heap.c - slice/heap.h as a program uses it
 *
 * What malloc by slices promises is in tests/clients/test-malloc.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "testlib.h"

#include <slice/heap.h>

#include <errno.h>
#include <string.h>

static const char *const modes[]
    = { "default", "checked", "hardened", "debug", "always-malloc" };

/* The test's path ends in its mode. */
static void
enter_mode (void)
{
  const char *mode = strrchr (g_test_get_path (), '/') + 1;

  test_options (strcmp (mode, "default") == 0 ? "" : mode);
}

static void
check_aligned (size_t alignment, size_t size)
{
  char *block = slice_heap_alloc_aligned (alignment, size);

  g_assert_nonnull (block);
  g_assert_cmpuint ((uintptr_t) block % alignment, ==, 0);
  memset (block, 1, size);
  block = slice_heap_realloc (block, size + 100);
  g_assert_nonnull (block);
  for (size_t i = 0; i < size; i++)
    g_assert_cmpint (block[i], ==, 1);
  slice_heap_free (block);
}

/* Also those that the system's posix_memalign() refuses. */
static void
test_aligned (void)
{
  enter_mode ();
  for (size_t alignment = 1; alignment <= 1 << 16; alignment *= 2)
    for (size_t size = 0; size < 100000; size = size * 3 + 7)
      check_aligned (alignment, size);
}

static void
test_no_alignment (void)
{
  const size_t wrong[] = { 0, 3, 24, SIZE_MAX, ((size_t) 1 << 20) + 1 };

  enter_mode ();
  for (unsigned i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      errno = 0;
      g_assert_null (slice_heap_alloc_aligned (wrong[i], 100));
      g_assert_cmpint (errno, ==, EINVAL);
    }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  for (unsigned i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      char *name = g_strconcat ("/slice/heap/aligned/", modes[i], NULL);
      test_add_fresh (name, test_aligned);
      g_free (name);
      name = g_strconcat ("/slice/heap/no-alignment/", modes[i], NULL);
      test_add_fresh (name, test_no_alignment);
      g_free (name);
    }
  return g_test_run ();
}
