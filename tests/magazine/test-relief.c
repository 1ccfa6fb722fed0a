/* test-relief.c - slice/magazine/relief.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testmagazine.h"
#include "magazine/relief.h"
#include "page/page.h"

enum
{
  FIRST = 5,
  LAST = 30,    /* of the classes that a string grows through */
  N_STRINGS = 10000
};

static size_t
held_bytes (void)
{
  PageCounts counts;

  sli_page_count (&counts);
  return counts.held_bytes;
}

static size_t
depot_bytes (void)
{
  size_t bytes = 0;

  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      DepotCounts counts;

      sli_depot_count (i, &counts);
      bytes += counts.n_chunks * sli_sizeclasses[i].chunk_bytes;
    }
  return bytes;
}

/* All strings grow at once, from class to class, as with realloc(). */
static void
strings_grow (void **strings)
{
  for (int i = 0; i < N_STRINGS; i++)
    strings[i] = fast_alloc (FIRST);
  for (unsigned class_index = FIRST + 1; class_index <= LAST; class_index++)
    for (int i = 0; i < N_STRINGS; i++)
      {
        void *longer = fast_alloc (class_index);

        fast_free (class_index - 1, strings[i]);
        strings[i] = longer;
      }
}

/* What they leave behind in each class would be 256 KiB in the depot, and two
 * magazines. */
static void
test_growing_strings (void)
{
  void **strings = g_new (void *, N_STRINGS);
  size_t live;

  begin ();
  strings_grow (strings);
  live = N_STRINGS * sli_sizeclasses[LAST].chunk_bytes;
  g_assert_cmpuint (depot_bytes () + cached_bytes (), <, live);
  g_assert_cmpuint (held_bytes (), <, 3 * live);
  check_valid ();
  for (int i = 0; i < N_STRINGS; i++)
    fast_free (LAST, strings[i]);
  g_assert_cmpuint (live_chunks (), ==, 0);
  g_free (strings);
}

static uint64_t
n_trimmed (unsigned class_index)
{
  DepotCounts counts;

  sli_depot_count (class_index, &counts);
  return counts.n_trimmed;
}

/* A class that is used meanwhile keeps what it has, here and in the depot. */
static void
test_used_classes_keep (void)
{
  enum { OTHER = LAST + 1, N = 40000 };
  void **blocks = g_new (void *, N);
  uint64_t trimmed;

  begin ();
  wave (CLASS, 1500);
  trimmed = n_trimmed (CLASS);
  for (int i = 0; i < N; i++)
    {
      blocks[i] = fast_alloc (OTHER);
      if (i % 50 == 0)
        wave (CLASS, 1501 + (unsigned) (i / 50) % 3);
    }
  g_assert_cmpuint (n_trimmed (CLASS), ==, trimmed);
  g_assert_cmpuint (counts_of (CLASS).n_cached, >, 0);
  for (int i = 0; i < N; i++)
    fast_free (OTHER, blocks[i]);
  g_assert_cmpuint (live_chunks (), ==, 0);
  g_free (blocks);
}

/* Then it is not used any more. */
static void
test_unused_class_returns (void)
{
  enum { OTHER = LAST + 1, N = 8000 };
  void **blocks = g_new (void *, N);
  DepotCounts counts;

  begin ();
  wave (CLASS, 1500);
  g_assert_cmpuint (counts_of (CLASS).n_cached, >, 0);
  for (int i = 0; i < N; i++)
    blocks[i] = fast_alloc (OTHER);
  sli_depot_count (CLASS, &counts);
  g_assert_cmpuint (counts.n_chunks, ==, 0);
  g_assert_cmpuint (counts_of (CLASS).n_cached, ==, 0);
  for (int i = 0; i < N; i++)
    fast_free (OTHER, blocks[i]);
  g_free (blocks);
}

/* A small program begins to use one class after the other. */
static void
test_small_heap (void)
{
  uint64_t trimmed;
  void *blocks[N_CLASSES];

  begin ();
  wave (CLASS, 100);
  trimmed = n_trimmed (CLASS);
  for (unsigned class_index = FIRST; class_index <= LAST; class_index++)
    blocks[class_index] = fast_alloc (class_index);
  g_assert_cmpuint (n_trimmed (CLASS), ==, trimmed);
  g_assert_cmpuint (counts_of (CLASS).n_cached, >, 0);
  for (unsigned class_index = FIRST; class_index <= LAST; class_index++)
    fast_free (class_index, blocks[class_index]);
}

/* As long as the heap does not grow nothing is flushed. */
static void
test_without_growth (void)
{
  uint64_t trimmed;

  begin ();
  for (int i = 0; i < 10; i++)
    {
      wave (LAST, 800);
      wave (CLASS, 1500);
    }
  trimmed = n_trimmed (CLASS);
  for (int i = 0; i < 100; i++)
    wave (LAST, 800);
  g_assert_cmpuint (n_trimmed (CLASS), ==, trimmed);
  g_assert_cmpuint (counts_of (CLASS).n_cached, >, 0);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/relief/growing-strings", test_growing_strings);
  test_add_fresh ("/slice/relief/used-classes-keep", test_used_classes_keep);
  test_add_fresh ("/slice/relief/unused-class-returns",
                  test_unused_class_returns);
  test_add_fresh ("/slice/relief/small-heap", test_small_heap);
  test_add_fresh ("/slice/relief/without-growth", test_without_growth);
  return g_test_run ();
}
