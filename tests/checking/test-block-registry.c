/* test-block-registry.c - slice/checking/registry/block-registry.c
 *
 * SPDX-License-Identifier: MIT
 */
/* Compilers see some of the misuse. */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wmismatched-dealloc"
#pragma GCC diagnostic ignored "-Wfree-nonheap-object"
#pragma GCC diagnostic ignored "-Wuse-after-free"

#include "config.h"

#include <slice/slice.h>

#include "tests/testlib.h"
#include "checking/registry/block-registry.h"
#include "checking/registry/code-files.h"
#include "page/meta.h"

#include <sys/resource.h>

static void *
at (uintptr_t number)
{
  return (void *) (number * 16);
}

/* Against a table: grows, forgets what is freed, and finds again. */
static void
test_model (void)
{
  enum { N = 20000 };
  static size_t sizes[N + 1];
  size_t n_live = 0;
  TestRandom random;

  test_random_init (&random, 0);
  for (unsigned turn = 0; turn < test_times (300000, 20000); turn++)
    {
      unsigned i = 1 + test_random_below (&random, N);

      if (sizes[i] == 0)
        {
          sizes[i] = 1 + test_random_below (&random, 5000);
          g_assert_true (sli_block_registry_add (at (i), sizes[i], NULL));
          n_live++;
        }
      else
        {
          sli_block_registry_remove (at (i),
                                     turn % 2 == 0 ? sizes[i]
                                                   : BLOCK_ANY_SIZE,
                                     "test", NULL);
          sizes[i] = 0;
          n_live--;
        }
      g_assert_cmpuint (sli_block_registry_count (), ==, n_live);
    }
}

/* Blocks that come and go at ever new addresses don't fill the table. */
static void
test_no_growth (void)
{
  size_t before = test_resident_bytes ();

  for (uintptr_t i = 1; i < test_times (2000000, 50000); i++)
    {
      sli_block_registry_add (at (i), 8, NULL);
      sli_block_registry_remove (at (i), 8, "test", NULL);
    }
  if (!test_is_slow ())
    g_assert_cmpuint (test_resident_bytes (), <, before + (1 << 20));
}

/* Where there is no memory for a new table, the freed blocks' slots serve
 * again, and every live block is still found. */
static void
test_no_memory (void)
{
  enum { N_LIVE = 2000 };
  struct rlimit none = { 0, 0 };

  for (uintptr_t i = 1; i <= N_LIVE; i++)
    g_assert_true (sli_block_registry_add (at (i * 5), i, NULL));
  g_assert_cmpint (setrlimit (RLIMIT_AS, &none), ==, 0);
  for (uintptr_t i = N_LIVE; i < 100000; i++)
    {
      if (!sli_block_registry_add (at (i * 5 + 1), 8, NULL))
        g_error ("block %zu is refused", (size_t) i);
      sli_block_registry_remove (at (i * 5 + 1), 8, "test", NULL);
    }
  for (uintptr_t i = 1; i <= N_LIVE; i++)
    {
      g_assert_cmpuint (sli_block_registry_size (at (i * 5)), ==, i);
      sli_block_registry_remove (at (i * 5), i, "test", NULL);
    }
}

/* A trim keeps what the live blocks need. */
static void
test_trim (void)
{
  enum { N = 100000, N_LIVE = 1000 };
  size_t before, full;

  sli_code_files_begin (); /* stays */
  before = sli_meta_held_bytes ();
  for (uintptr_t i = 1; i <= N; i++)
    g_assert_true (sli_block_registry_add (at (i * 5), i, NULL));
  full = sli_meta_held_bytes () - before;
  for (uintptr_t i = N_LIVE + 1; i <= N; i++)
    sli_block_registry_remove (at (i * 5), i, "test", NULL);
  sli_block_registry_trim ();
  g_assert_cmpuint (sli_meta_held_bytes () - before, <, full / 8);
  for (uintptr_t i = 1; i <= N_LIVE; i++)
    {
      g_assert_cmpuint (sli_block_registry_size (at (i * 5)), ==, i);
      sli_block_registry_remove (at (i * 5), i, "test", NULL);
    }
  for (uintptr_t i = 1; i <= N; i++)
    sli_block_registry_add (at (i * 5), i, NULL);
  g_assert_cmpuint (sli_block_registry_count (), ==, N);
  for (uintptr_t i = 1; i <= N; i++)
    sli_block_registry_remove (at (i * 5), i, "test", NULL);
  sli_block_registry_trim ();
  g_assert_cmpuint (sli_meta_held_bytes (), <=, before);
}

/* Without address space the tables are runs of the extents, and are given back
 * to them. */
static void
test_no_space (void)
{
  enum { N = 20000 };
  struct rlimit none = { 0, 0 };
  size_t before;

  slice_free1 (100, slice_alloc (100)); /* maps an extent */
  slice_free1 (2000, slice_alloc (2000));
  for (unsigned i = 0; i < 200; i++) /* and a larger one */
    slice_alloc (2000);
  before = sli_meta_held_bytes ();
  g_assert_cmpint (setrlimit (RLIMIT_AS, &none), ==, 0);
  for (uintptr_t i = 1; i <= N; i++)
    if (!sli_block_registry_add (at (i * 5), i, NULL))
      g_error ("block %zu is refused", (size_t) i);
  for (uintptr_t i = 1; i <= N; i++)
    {
      g_assert_cmpuint (sli_block_registry_size (at (i * 5)), ==, i);
      sli_block_registry_remove (at (i * 5), i, "test", NULL);
    }
  sli_block_registry_trim ();
  g_assert_cmpuint (sli_meta_held_bytes (), <=, before + 64 * 16384);
}

static void
add_and_remove (unsigned index, void *data G_GNUC_UNUSED)
{
  for (uintptr_t i = 0; i < test_times (50000, 5000); i++)
    {
      sli_block_registry_add (at (i * 4 + index + 1), i + 1, NULL);
      if (i % 3 != 0)
        sli_block_registry_remove (at (i * 4 + index + 1), i + 1, "test",
                                   NULL);
    }
  for (uintptr_t i = 0; i < test_times (50000, 5000); i += 3)
    sli_block_registry_remove (at (i * 4 + index + 1), i + 1, "test", NULL);
}

static void
test_threads (void)
{
  test_gang (4, add_and_remove, NULL);
  g_assert_cmpuint (sli_block_registry_count (), ==, 0);
}

/* --- slice_debug_size() --- */

enum
{
  SMALL = 40,
  LARGE = 100000
};

/* What it says of a small block and of a large one, while they live; and
 * nothing of what is beside them, or was freed. */
static void
check_debug_size (const char *options, size_t of_small, size_t of_large)
{
  char *small, *large;

  test_options (options);
  g_assert_cmpuint (slice_debug_size (&small), ==, 0);
  small = slice_alloc (SMALL);
  large = slice_alloc (LARGE);
  g_assert_cmpuint (slice_debug_size (small), ==, of_small);
  g_assert_cmpuint (slice_debug_size (small + 8), ==, 0);
  g_assert_cmpuint (slice_debug_size (large), ==, of_large);
  g_assert_cmpuint (slice_debug_size (large + 16), ==, 0);
  slice_free1 (SMALL, small);
  slice_free1 (LARGE, large);
  g_assert_cmpuint (slice_debug_size (small), ==, 0);
  g_assert_cmpuint (slice_debug_size (large), ==, 0);
}

static void
test_debug_size (void)
{
  check_debug_size ("debug-blocks", SMALL, LARGE);
}

static void
test_debug_size_checked (void)
{
  check_debug_size ("checked", SMALL, LARGE);
}

static void
test_debug_size_default (void)
{
  check_debug_size ("", 0, 0);
}

static void
check_node_at (uintptr_t number, size_t offset, BlockNodeState wanted)
{
  void *start = NULL;
  size_t bytes = 0;

  g_assert_cmpint (sli_block_registry_node_at ((char *) at (number) + offset,
                                               &start, &bytes),
                   ==, wanted);
  g_assert_true (start == (wanted == BLOCK_NODE_INTERIOR ? at (number)
                                                         : NULL));
  g_assert_cmpuint (bytes, ==, wanted == BLOCK_NODE_INTERIOR ? 40 : 0);
}

/* What is known of an address as a node's. */
/* What is inside of a block of malloc is a node, and no block. */
static void
test_nodes_inside (void)
{
  BlockFacts facts;
  size_t bytes;
  void *start;

  g_assert_true (sli_block_registry_add (at (7), 5000, NULL));
  sli_block_registry_note_node (at (7), true);
  sli_block_registry_note_slack (at (7), 20);
  g_assert_cmpint (sli_block_registry_node_at (at (7), &start, &bytes), ==,
                   BLOCK_NODE_LIVE);
  g_assert_cmpuint (sli_block_registry_size (at (7)), ==, SIZE_MAX);
  sli_block_registry_forget_node (at (7), NULL);
  sli_block_registry_forget_node (at (7), NULL);
  g_assert_cmpint (sli_block_registry_node_at (at (7), &start, &bytes), ==,
                   BLOCK_NODE_FREED);
  g_assert_true (sli_block_registry_find (at (7), &facts));
  g_assert_cmpuint (facts.real_bytes, ==, 5000);
  g_assert_cmpuint (facts.slack_bytes, ==, 20);
  g_assert_false (sli_block_registry_find (at (8), &facts));
  g_assert_null (facts.address);
  g_assert_cmpuint (sli_block_registry_count (), ==, 0);
}

static void
test_nodes (void)
{
  sli_block_registry_add (at (5), 40, NULL);
  sli_block_registry_add (at (9), 40, NULL);
  sli_block_registry_note_node (at (5), false);
  check_node_at (5, 0, BLOCK_NODE_LIVE);
  check_node_at (5, 1, BLOCK_NODE_INTERIOR);
  check_node_at (5, 39, BLOCK_NODE_INTERIOR);
  check_node_at (5, 40, BLOCK_NODE_NONE);
  check_node_at (9, 0, BLOCK_NODE_NONE);
  check_node_at (9, 8, BLOCK_NODE_NONE);
  check_node_at (4, 0, BLOCK_NODE_NONE);
  sli_block_registry_forget_node (at (5), NULL);
  check_node_at (5, 0, BLOCK_NODE_FREED);
  check_node_at (5, 1, BLOCK_NODE_NONE);
  sli_block_registry_remove (at (9), 40, "test", NULL);
}

static void
expect (int number, const char *text, const char *sizes, const char *class)
{
  test_will_die ("slice: error %d: test: %s: block %p, given size %s "
                 "[class %s, thread %u]",
                 number, text, at (5), sizes, class, test_thread_id ());
}

static void
death_empty (void)
{
  expect (108, "not a live block", "40", "40");
  sli_block_registry_remove (at (5), 40, "test", NULL);
}

static void
death_twice (void)
{
  sli_block_registry_add (at (5), 40, NULL);
  sli_block_registry_remove (at (5), 40, "test", NULL);
  expect (108, "not a live block", "40", "40");
  sli_block_registry_remove (at (5), 40, "test", NULL);
}

/* No size stands for any. */
static void
death_size_max (void)
{
  sli_block_registry_add (at (5), 40, NULL);
  expect (109, "live block has another size", "unknown, real size 40", "40");
  sli_block_registry_remove (at (5), SIZE_MAX, "test", NULL);
}

/* The names of the files that code was loaded from stay as they were, also
 * when there are as many as the table has space for. */
static void
test_code_files (void)
{
  enum { N_MORE = 4096, NAME_BYTES = 64 };
  char name[NAME_BYTES];
  unsigned numbers[N_MORE], n = 0;
  OsModule file = { name, 4096 };

  sli_code_files_begin ();
  do
    {
      g_snprintf (name, sizeof name, "/a/folder/of/modules/number-%u.so", n);
      file.base = (uintptr_t) (n + 1) << 12;
      numbers[n] = sli_code_file_number (&file);
    }
  while (numbers[n] != 0 && ++n < N_MORE);
  g_assert_cmpuint (n, >, 500);
  g_assert_cmpuint (n, <, N_MORE);
  for (unsigned i = 0; i < n; i++)
    {
      const OsModule *found = sli_code_file (numbers[i]);

      g_snprintf (name, sizeof name, "/a/folder/of/modules/number-%u.so", i);
      g_assert_cmpstr (found->name, ==, name);
      g_assert_cmpuint (found->base, ==, (uintptr_t) (i + 1) << 12);
    }
}

static void
death_size (void)
{
  sli_block_registry_add (at (5), 40, NULL);
  expect (109, "live block has another size", "41, real size 40", "48");
  sli_block_registry_remove (at (5), 41, "test", NULL);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/block-check/model", test_model);
  test_add_fresh ("/slice/block-check/no-growth", test_no_growth);
  if (!test_is_slow ()) /* tools want addresses of their own */
    test_add_fresh ("/slice/block-check/no-memory", test_no_memory);
  test_add_fresh ("/slice/block-check/trim", test_trim);
  if (!test_is_slow ())
    test_add_fresh ("/slice/block-check/no-space", test_no_space);
  test_add_fresh ("/slice/block-check/threads", test_threads);
  test_add_fresh ("/slice/block-check/code-files", test_code_files);
  test_add_fresh ("/slice/block-check/nodes", test_nodes);
  test_add_fresh ("/slice/block-check/nodes-inside", test_nodes_inside);
  test_add_fresh ("/slice/block-check/debug-size", test_debug_size);
  test_add_fresh ("/slice/block-check/debug-size-checked",
                  test_debug_size_checked);
  test_add_fresh ("/slice/block-check/debug-size-default",
                  test_debug_size_default);
  test_add_death ("/slice/block-check/death/empty", death_empty);
  test_add_death ("/slice/block-check/death/twice", death_twice);
  test_add_death ("/slice/block-check/death/size", death_size);
  test_add_death ("/slice/block-check/death/size-max", death_size_max);
  return g_test_run ();
}
