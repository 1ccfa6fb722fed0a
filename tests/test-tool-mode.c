/* test-tool-mode.c - under a memory tool every block is a malloc of its own
 *
 * This program says that it is watched: it has the symbol that the run time
 * of every sanitizer defines.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "testlib.h"
#include "teststats.h"
#include "core/alloc.h"
#include "port/os.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void __sanitizer_print_stack_trace (void);

void
__sanitizer_print_stack_trace (void)
{
}
#endif

static void
test_blocks_are_mallocs (void)
{
  char *block;
  bool known = true;

  g_setenv ("SLICE_OPTIONS", "", TRUE);
  g_assert_nonnull (sli_os_memory_tool ());
  block = slice_alloc (40);
  g_assert_cmpint (sli_alloc_route (), ==, ROUTE_MALLOC);
  g_assert_false (slice_is_ours (block));
  g_assert_cmpuint (test_stats ()->n_maps, ==, 0);
  free (block);
  /* Sizes that glibc's malloc tells exactly, as tools do all of them. */
  for (size_t size = 24; size < 5000; size += 32)
    {
      block = slice_try_alloc_known (size, &known);
      g_assert_false (known);
      memset (block, 1, size);
      slice_free1 (size, block);
      block = slice_alloc_aligned (64, size);
      g_assert_cmpuint ((uintptr_t) block % 64, ==, 0);
      slice_free_aligned (64, size, block);
      slice_free_bulk (1, (void *const *) &(void *){ slice_alloc0 (size) });
    }
  g_assert_cmpuint (slice_trim (0), ==, 0);
}

static void
test_forced (void)
{
  void *block;

  g_setenv ("SLICE_OPTIONS", "force-pool", TRUE);
  block = slice_alloc (40);
  g_assert_cmpint (sli_alloc_route (), ==, ROUTE_MAGAZINES);
  g_assert_true (slice_is_ours (block));
  slice_free1 (40, block);
}

/* The sizes are checked exactly where the tool tells them exactly; glibc's
 * malloc, which this program really has, rounds. */
static void
free_wrong_size (void)
{
  void *block;

  g_setenv ("SLICE_OPTIONS", "", TRUE);
  block = slice_alloc (24);
  slice_free1 (16, block);
}

static void
test_exact_size (void)
{
  int status;
  char *said = test_capture (free_wrong_size, &status);

  g_assert_cmpint (status, ==, SIGABRT);
  g_assert_true (g_pattern_match_simple (
      "slice: error 110: slice_free1: live block has another size: "
      "block 0x*, given size 16, real size 24 [class 16, thread *]\n",
      said));
  g_free (said);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/tool-mode/blocks-are-mallocs",
                  test_blocks_are_mallocs);
  test_add_fresh ("/slice/tool-mode/forced", test_forced);
  test_add ("/slice/tool-mode/exact-size", test_exact_size);
  return g_test_run ();
}
