/* test-map.c - slice/core/map.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "testlib.h"
#include "core/map.h"

#include <string.h>

#define WINDOW ((uintptr_t) 1 << WINDOW_SHIFT)

/* With 32 bits there is one leaf, and no address that the map can't hold:
 * then the only border is that of all addresses. */
#if UINTPTR_MAX > UINT32_MAX
# define LEAF_SPAN (WINDOW << MAP_LEAF_SHIFT)
# define MAP_END ((uintptr_t) 1 << MAP_ADDRESS_BITS)
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
  static uint64_t leaves[8][MAP_LEAF_WORDS];
  static int n;

  if (sli_map_needs_leaf (at (address)))
    sli_map_give_leaf (at (address), leaves[n++]);
}

static void
test_bits (void)
{
  uintptr_t region = 5 * LEAF_SPAN + 3 * WINDOW;

  g_assert_false (sli_map_has (at (region)));
  g_assert_true (sli_map_needs_leaf (at (region)));
  give_leaf (region);
  g_assert_false (sli_map_needs_leaf (at (region + WINDOW)));
  g_assert_false (sli_map_has (at (region)));
  sli_map_set (at (region));
  g_assert_true (sli_map_has (at (region)));
  g_assert_true (sli_map_has (at (region + WINDOW - 1)));
  g_assert_false (sli_map_has (at (region - 1)));
  g_assert_false (sli_map_has (at (region + WINDOW)));
  if (LEAF_SPAN != 0)
    {
      g_assert_false (sli_map_has (at (region + LEAF_SPAN)));
      g_assert_false (sli_map_has (at (region - LEAF_SPAN)));
    }
  sli_map_clear (at (region));
  g_assert_false (sli_map_has (at (region)));
}

/* No address at all makes it fault. */
static void
test_any_address (void)
{
  TestRandom random;

  g_assert_false (sli_map_has (NULL));
  g_assert_false (sli_map_has (at (UINTPTR_MAX)));
#ifdef MAP_END
  g_assert_false (sli_map_has (at (MAP_END)));
  g_assert_false (sli_map_has (at (MAP_END - 1)));
  g_assert_true (sli_map_can_hold (at (MAP_END - 1)));
  g_assert_false (sli_map_can_hold (at (MAP_END)));
  g_assert_false (sli_map_can_hold (at (UINTPTR_MAX)));
#else
  g_assert_true (sli_map_can_hold (at (UINTPTR_MAX)));
#endif
  test_random_init (&random, 0);
  for (int i = 0; i < 100000; i++)
    g_assert_false (sli_map_has (at ((uintptr_t) test_random (&random))));
}

/* Against a table of booleans: neighbours never disturb each other. */
static void
test_model (void)
{
  enum { N = 300 };
  /* The windows around the border of two leaves. */
  uintptr_t first = 9 * LEAF_SPAN - N / 2 * WINDOW;
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
        sli_map_set (at (first + which * WINDOW));
      else
        sli_map_clear (at (first + which * WINDOW));
      g_assert_true (sli_map_has (at (first + look * WINDOW + 12345))
                     == is_set[look]);
    }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/map/any-address", test_any_address);
  test_add ("/slice/map/bits", test_bits);
  test_add ("/slice/map/model", test_model);
  return g_test_run ();
}
