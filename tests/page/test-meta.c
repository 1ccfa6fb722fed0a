/* test-meta.c - slice/page/meta.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "base/option.h"
#include "page/meta.h"
#include "page/page.h"

#include <string.h>

static void
begin (void)
{
  sli_option_freeze ();
  sli_page_init ();
}

static void
test_sizes (void)
{
  size_t least;

  begin ();
  least = sli_page_granule_bytes () / 128;
  g_assert_cmpuint (sli_meta_bytes (1), ==, least);
  g_assert_cmpuint (sli_meta_bytes (least), ==, least);
  g_assert_cmpuint (sli_meta_bytes (least + 1), ==, 2 * least);
  g_assert_cmpuint (sli_meta_bytes (16384), ==, 16384);
  for (size_t bytes = 1; bytes <= META_BYTES_MAX; bytes += 97)
    {
      char *block = sli_meta_alloc (bytes);

      g_assert_nonnull (block);
      g_assert_cmpuint ((uintptr_t) block % 64, ==, 0);
      memset (block, 1, sli_meta_bytes (bytes));
      sli_meta_free (block, bytes);
    }
}

/* Blocks of all sizes at random: none overlaps another, and when all are
 * freed, they are joined to whole granules, of which one is kept. */
static void
test_random_run (unsigned index, void *data G_GNUC_UNUSED)
{
  enum { N = 200 };
  char *blocks[N] = { NULL };
  size_t bytes[N] = { 0 };
  TestRandom random;

  test_random_init (&random, index);
  for (unsigned turn = 0; turn < test_times (30000, 3000); turn++)
    {
      unsigned i = test_random_below (&random, N);

      if (blocks[i] == NULL)
        {
          bytes[i] = 1 + (test_random (&random)
                          & ((1u << test_random_below (&random, 14)) - 1));
          blocks[i] = sli_meta_alloc (bytes[i]);
          test_fill (blocks[i], bytes[i], i);
        }
      else
        {
          g_assert_true (test_is_filled (blocks[i], bytes[i], i));
          sli_meta_free (blocks[i], bytes[i]);
          blocks[i] = NULL;
        }
    }
  for (unsigned i = 0; i < N; i++)
    if (blocks[i] != NULL)
      sli_meta_free (blocks[i], bytes[i]);
}

static void
test_random_blocks (void)
{
  begin ();
  test_gang (3, test_random_run, NULL);
  g_assert_cmpuint (sli_meta_held_bytes (), ==, sli_page_granule_bytes ());
}

/* One live block keeps its own granule and no other. */
static void
test_one_stays (void)
{
  void *blocks[1000], *one = NULL;

  begin ();
  for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
    blocks[i] = sli_meta_alloc (META_BYTES_MIN << i % 5);
  for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
    if (i == 500)
      one = blocks[i];
    else
      sli_meta_free (blocks[i], META_BYTES_MIN << i % 5);
  g_assert_cmpuint (sli_meta_held_bytes (), ==, 2 * sli_page_granule_bytes ());
  memset (one, 1, META_BYTES_MIN);
  sli_meta_free (one, META_BYTES_MIN);
  g_assert_cmpuint (sli_meta_held_bytes (), ==, sli_page_granule_bytes ());
}

/* Freed blocks are used again: no growth. */
static void
test_reuse (void)
{
  void *blocks[1000];
  size_t held;

  begin ();
  for (int turn = 0; turn < 20; turn++)
    {
      for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
        blocks[i] = sli_meta_alloc (1024);
      if (turn == 0)
        held = sli_meta_held_bytes ();
      g_assert_cmpuint (sli_meta_held_bytes (), ==, held);
      for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
        sli_meta_free (blocks[i], 1024);
    }
  g_assert_cmpuint (held, <=,
                    1000 * 1024 + 2 * sli_page_granule_bytes ());
}

static void
test_no_memory (void)
{
  static TestPages pages;
  size_t n = 0;

  test_pages_init (&pages);
  pages.n_until_failure = 1;
  slice_set_source (&pages.source);
  begin ();
  while (sli_meta_alloc (META_BYTES_MAX) != NULL)
    n++;
  /* All granules of the extent but that of its header are used up, for smaller
   * blocks too. */
  g_assert_cmpuint (n, ==,
                    (pages.mapped_bytes - sli_page_granule_bytes ())
                        / META_BYTES_MAX);
  g_assert_null (sli_meta_alloc (META_BYTES_MAX));
  g_assert_null (sli_meta_alloc (64));
}

static void
death_too_large (void)
{
  begin ();
  sli_meta_alloc (META_BYTES_MAX + 1);
}

static void
test_too_large (void)
{
  int status;
  char *said = test_capture (death_too_large, &status);

  g_assert_true (g_pattern_match_simple (
      "slice: error 140: *meta.c:*: does not hold: "
      "bytes <= META_BYTES_MAX\n",
      said));
  g_assert_cmpint (status, !=, 0);
  g_free (said);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/meta/sizes", test_sizes);
  test_add_fresh ("/slice/meta/random-blocks", test_random_blocks);
  test_add_fresh ("/slice/meta/one-stays", test_one_stays);
  test_add_fresh ("/slice/meta/reuse", test_reuse);
  test_add_fresh ("/slice/meta/no-memory", test_no_memory);
  test_add ("/slice/meta/too-large", test_too_large);
  return g_test_run ();
}
