/* test-map.c - slice/page/map/map.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "page/map/map.h"

#define WINDOW ((uintptr_t) 1 << WINDOW_SHIFT)
#define PART ((uintptr_t) 1 << OURS_SHIFT)

/* With 32 bits there is one leaf, and no address beyond the table. */
#if UINTPTR_MAX > UINT32_MAX
# define LEAF_SPAN (WINDOW << MAP_LEAF_SHIFT)
# define TABLE_END ((uintptr_t) 1 << MAP_TABLE_BITS)
#else
# define LEAF_SPAN ((uintptr_t) 0)
#endif

static void *
at (uintptr_t address)
{
  return (void *) address;
}

static void
give_leaf (uintptr_t address)
{
  MapLeaf *leaf = g_new0 (MapLeaf, 1);

  if (!sli_map_add_leaf (at (address), leaf))
    g_free (leaf);
}

/* Checks a region of some bytes, and the addresses around it. */
static void
check_region (uintptr_t region, size_t bytes)
{
  bool had_leaf = map_leaf (at (region)) != NULL;

  g_assert_false (sli_map_has (at (region)));
  give_leaf (region);
  g_assert_nonnull (map_leaf (at (region + WINDOW - 1)));
  g_assert_false (sli_map_has (at (region)));
  sli_map_set (at (region), bytes);
  for (uintptr_t part = 0; part < WINDOW; part += PART)
    {
      g_assert_true (sli_map_has (at (region + part)) == (part < bytes));
      g_assert_true (sli_map_has (at (region + part + PART - 1))
                     == (part < bytes));
    }
  g_assert_false (sli_map_has (at (region - 1)));
  g_assert_false (sli_map_has (at (region + WINDOW)));
  if (LEAF_SPAN != 0)
    {
      g_assert_false (sli_map_has (at (region + LEAF_SPAN)));
      g_assert_false (sli_map_has (at (region - LEAF_SPAN)));
    }
  for (unsigned bit = 48; bit < 8 * sizeof region; bit++)
    g_assert_false (sli_map_has (at (region ^ (uintptr_t) 1 << bit)));
  sli_map_clear (at (region));
  g_assert_false (sli_map_has (at (region)));
  g_assert_true (had_leaf || map_leaf (at (region)) != NULL);
}

static void
test_bits (void)
{
  for (uintptr_t bytes = PART; bytes <= WINDOW; bytes *= 2)
    check_region (5 * LEAF_SPAN + 3 * WINDOW, bytes);
}

#ifdef TABLE_END
/* Whatever mmap returns: arm64's and riscv64's 48 bits, arm64's 52, x86-64's
 * 57, s390x's 64; the last of one kind and the first of the next. */
static void
test_far (void)
{
  static const unsigned bits[] = { 42, 46, 47, 48, 52, 53, 57, 63 };

  for (unsigned i = 0; i < G_N_ELEMENTS (bits); i++)
    {
      uintptr_t border = (uintptr_t) 1 << bits[i];

      check_region (border - WINDOW, WINDOW);
      check_region (border, WINDOW);
      check_region (border + LEAF_SPAN - WINDOW, PART);
    }
  check_region (0 - 2 * WINDOW, WINDOW);
}

/* The first and the last address of the table, and the first beyond it. */
static void
test_border (void)
{
  check_region (TABLE_END - WINDOW, WINDOW);
  check_region (TABLE_END, WINDOW);
  g_assert_true (sli_map_far_leaf ((TABLE_END - 1) / LEAF_SPAN) == NULL);
  g_assert_true (sli_map_far_leaf (TABLE_END / LEAF_SPAN) != NULL);
}

static unsigned
longest_chain (void)
{
  unsigned longest = 0;

  for (unsigned i = 0; i < MAP_FAR_CHAINS; i++)
    {
      unsigned n = 0;

      for (MapLeaf *leaf = sli_map_far[i]; leaf != NULL; leaf = leaf->next)
        n++;
      longest = MAX (longest, n);
    }
  return longest;
}

/* Leaves a power of two apart, as neighbours are and as systems place
 * mappings, are in chains of their own, or nearly. */
static void
test_far_apart (void)
{
  for (unsigned i = 0; i < MAP_FAR_CHAINS; i++)
    give_leaf (TABLE_END + i * LEAF_SPAN);
  g_assert_cmpuint (longest_chain (), <=, 3);
  for (unsigned i = 0; i < MAP_FAR_CHAINS; i++)
    give_leaf ((TABLE_END << 4) + i * (LEAF_SPAN << 4));
  g_assert_cmpuint (longest_chain (), <=, 6);
}

/* Many times as many far leaves as there are chains: each region is found, and
 * no other. */
static void
test_many_far (void)
{
  enum { N = 20 * MAP_FAR_CHAINS };
  uintptr_t *regions = g_new (uintptr_t, N);
  TestRandom random;

  test_random_init (&random, 2);
  for (unsigned i = 0; i < N; i++)
    {
      /* Some are neighbours, most are anywhere. */
      regions[i] = i % 4 == 3 ? regions[i - 1] + LEAF_SPAN
                              : ((uintptr_t) test_random (&random)
                                 | TABLE_END << 3) / WINDOW * WINDOW;
      give_leaf (regions[i]);
      sli_map_set (at (regions[i]), WINDOW);
    }
  for (unsigned i = 0; i < N; i++)
    g_assert_true (sli_map_has (at (regions[i] + 12345)));
  g_assert_cmpuint (longest_chain (), <, 3 * 20);
  for (unsigned i = 0; i < N; i++)
    {
      sli_map_clear (at (regions[i]));
      g_assert_false (sli_map_has (at (regions[i])));
    }
  g_free (regions);
}
#endif

/* A lookup of any address never faults. */
static void
test_any_address (void)
{
  TestRandom random;

  g_assert_false (sli_map_has (NULL));
  g_assert_false (sli_map_has (at (UINTPTR_MAX)));
#ifdef TABLE_END
  g_assert_false (sli_map_has (at (TABLE_END)));
  g_assert_false (sli_map_has (at (TABLE_END - 1)));
#endif
  test_random_init (&random, 0);
  for (int i = 0; i < 100000; i++)
    g_assert_false (sli_map_has (at ((uintptr_t) test_random (&random))));
}

/* The map agrees with a table of booleans: neighbours are independent. */
static void
check_model (uintptr_t first)
{
  enum { N = 300 };
  bool is_set[N] = { false };
  TestRandom random;

  test_random_init (&random, 1);
  give_leaf (first);
  give_leaf (first + N * WINDOW);
  for (int i = 0; i < 20000; i++)
    {
      unsigned which = test_random_below (&random, N);
      unsigned look = test_random_below (&random, N);

      is_set[which] = test_random_below (&random, 2) != 0;
      if (is_set[which])
        sli_map_set (at (first + which * WINDOW), WINDOW);
      else
        sli_map_clear (at (first + which * WINDOW));
      g_assert_true (sli_map_has (at (first + look * WINDOW + 12345))
                     == is_set[look]);
    }
  for (unsigned i = 0; i < N; i++)
    sli_map_clear (at (first + i * WINDOW));
}

/* The windows around the border of two leaves; of the last of the table and
 * the first beyond; of two that are far. */
static void
test_model (void)
{
  check_model (9 * LEAF_SPAN - 150 * WINDOW);
#ifdef TABLE_END
  check_model (TABLE_END - 150 * WINDOW);
  check_model (TABLE_END * 16 + LEAF_SPAN - 150 * WINDOW);
#endif
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/map/any-address", test_any_address);
  test_add ("/slice/map/bits", test_bits);
#ifdef TABLE_END
  test_add ("/slice/map/border", test_border);
  test_add ("/slice/map/far", test_far);
  test_add_fresh ("/slice/map/far-apart", test_far_apart);
  test_add_fresh ("/slice/map/many-far", test_many_far);
#endif
  test_add ("/slice/map/model", test_model);
  return g_test_run ();
}
