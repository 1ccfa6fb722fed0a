/* test-retired.c - slice/checking/checking-retired.c, and what debug still
 * knows of a block that was freed long ago
 *
 * SPDX-License-Identifier: MIT
 */
/* Compilers see the misuse. */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wuse-after-free"

#include "config.h"

#include <slice/slice.h>

#include "tests/testlib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum
{
  SIZE = 48,
  AT = 8, /* the byte that is written */
  AN_HOUR_MSEC = 3600 * 1000
};

#define SITES ", allocated at /*+0x* by thread %u, freed at /*+0x* by thread %u"

static char *volatile block; /* or the compiler knows that it is free */

static void
expect_hardened (const char *operation)
{
  test_will_die ("slice: error 115: %s: written to while it was free: "
                 "block %p, given size unknown, at byte %d: 1 0 0 0 (was 0) "
                 "[class unknown, thread %u]",
                 operation, (void *) block, AT, test_thread_id ());
}

static void
expect_debug (const char *operation, const char *size, const char *class_size)
{
  unsigned thread = test_thread_id ();

  test_will_die ("slice: error 115: %s: written to while it was free: "
                 "block %p, given size %s, at byte %d: 1 215 215 215 "
                 "(was 215)" SITES " [class %s, thread %u]",
                 operation, (void *) block, size, AT, thread, thread,
                 class_size, thread);
}

/* --- the slab goes back -------------------------------------------------- */

/* Frees a block whose slab has no other. */
static void
free_one (const char *options)
{
  test_options (options);
  block = slice_alloc (SIZE);
  slice_free1 (SIZE, block);
}

/* Returns the slab's run to the page layer, which keeps its memory. */
static void
retire (void)
{
  slice_trim (AN_HOUR_MSEC);
}

static void
take_all (size_t size)
{
  for (int i = 0; i < 2000; i++)
    slice_alloc (size);
}

static void
hardened_before (void)
{
  free_one ("hardened");
  block[AT] = 1;
  expect_hardened ("flush of a slab");
  retire ();
}

static void
debug_before (void)
{
  free_one ("debug leaks=no");
  block[AT] = 1;
  expect_debug ("flush of a slab", "unknown", "unknown");
  retire ();
}

static void
hardened_after (void)
{
  free_one ("hardened");
  retire ();
  block[AT] = 1;
  expect_hardened ("slice_alloc");
  take_all (SIZE);
}

static void
debug_after (void)
{
  free_one ("debug leaks=no");
  retire ();
  block[AT] = 1;
  expect_debug ("slice_alloc", "unknown", "unknown");
  take_all (SIZE);
}

static void
debug_exit (void)
{
  free_one ("debug leaks=no");
  retire ();
  block[AT] = 1;
  expect_debug ("exit", "unknown", "unknown");
  exit (0);
}

/* Blocks of another size get the memory. */
static void
hardened_other_size (void)
{
  free_one ("hardened");
  retire ();
  block[AT] = 1;
  expect_hardened ("slice_alloc");
  take_all (1000);
}

/* Memory that went back to the system reads as zero, whatever it was: that is
 * no write.  Nor is what a block held that is allocated. */
static void
use_and_trim (void)
{
  static const size_t sizes[] = { 8, 48, 200, 1000, 2000 };
  enum { N = 3000, ROUNDS = 12 };
  static char *blocks[N];

  for (unsigned round = 0; round < ROUNDS; round++)
    {
      size_t size = sizes[round % G_N_ELEMENTS (sizes)];

      for (int i = 0; i < N; i++)
        {
          blocks[i] = slice_alloc (size);
          memset (blocks[i], 0x5a, size);
        }
      for (int i = 0; i < N; i++)
        slice_free1 (size, blocks[i]);
      slice_trim (round % 3 == 0 ? 0 : AN_HOUR_MSEC);
    }
}

static void
hardened_quiet (void)
{
  test_options ("hardened");
  use_and_trim ();
}

static void
debug_quiet (void)
{
  test_options ("debug");
  use_and_trim ();
}

static void
test_quiet (void)
{
  test_says_nothing (hardened_quiet);
  test_says_nothing (debug_quiet);
}

/* Memory that is purged in part, and what a child finds whose parent is about
 * to purge: it reads as zero, but does not count as purged. */
static TestPages pages;
static bool forks;

static bool
discard (const SliceSource *source G_GNUC_UNUSED, void *address, size_t bytes)
{
  int status;
  pid_t child;

  g_assert_cmpint (madvise (address, bytes, MADV_DONTNEED), ==, 0);
  if (!forks)
    return false;
  fflush (NULL);
  child = fork ();
  if (child == 0)
    {
      take_all (1000);
      _exit (0);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (status, ==, 0);
  return true;
}

static void
use_and_discard (void)
{
  test_options ("debug leaks=no");
  test_pages_init (&pages);
  pages.source.advise_away = discard;
  g_assert_cmpint (slice_set_source (&pages.source), ==, SLICE_SET_OK);
  use_and_trim ();
}

static void
test_discarded (void)
{
  forks = false;
  test_says_nothing (use_and_discard);
  forks = true;
  test_says_nothing (use_and_discard);
}

/* --- who freed it -------------------------------------------------------- */

/* The block waits while thousands of others come and go. */
static void
debug_waits (void)
{
  free_one ("debug leaks=no");
  block[AT] = 1;
  expect_debug ("slice_alloc", "48", "48");
  for (int i = 0; i < 20000; i++)
    slice_free1 (SIZE, slice_alloc (SIZE));
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_death ("/slice/retired/hardened/before", hardened_before);
  test_add_death ("/slice/retired/hardened/after", hardened_after);
  test_add_death ("/slice/retired/hardened/other-size", hardened_other_size);
  test_add_death ("/slice/retired/debug/before", debug_before);
  test_add_death ("/slice/retired/debug/after", debug_after);
  test_add_death ("/slice/retired/debug/exit", debug_exit);
  test_add ("/slice/retired/quiet", test_quiet);
  test_add ("/slice/retired/discarded", test_discarded);
  test_add_death ("/slice/retired/debug/waits", debug_waits);
  return g_test_run ();
}
