/* test-granuleset.c - slice/page/granuleset.h
 *
 * Every operation against the same on an array of booleans.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "page/granuleset.h"

#include <string.h>

static bool
has (const GranuleSet *set, unsigned i)
{
  return (set->word[i / 64] >> (i % 64) & 1) != 0;
}

static void
check_same (const GranuleSet *set, const bool *model)
{
  unsigned n = 0;

  for (unsigned i = 0; i < GRANULESET_BITS; i++)
    {
      g_assert_true (has (set, i) == model[i]);
      n += model[i];
    }
  g_assert_cmpuint (granuleset_count (set), ==, n);
}

static void
test_stretch (void)
{
  for (unsigned first = 0; first < GRANULESET_BITS; first++)
    for (unsigned n = 0; n < GRANULESET_BITS && first + n <= GRANULESET_BITS;
         n++)
      {
        GranuleSet set = granuleset_stretch (first, n);
        bool model[GRANULESET_BITS] = { false };

        for (unsigned i = first; i < first + n; i++)
          model[i] = true;
        check_same (&set, model);
        g_assert_true (granuleset_has_all (&set, first, n));
        if (first + n < GRANULESET_BITS && n + 1 < GRANULESET_BITS)
          g_assert_false (granuleset_has_all (&set, first, n + 1));
      }
}

static bool
model_find (const bool *model, unsigned n, unsigned *first)
{
  for (unsigned i = 0; i + n <= GRANULESET_BITS; i++)
    {
      unsigned k = 0;

      while (k < n && model[i + k])
        k++;
      if (k == n)
        {
          *first = i;
          return true;
        }
    }
  return false;
}

static void
check_finds (const GranuleSet *set, const bool *model)
{
  unsigned found = 0, expected = 0, length = 0;

  for (unsigned n = 1; n <= 64; n += n < 5 ? 1 : 13)
    {
      bool is_there = model_find (model, n, &expected);

      g_assert_true (granuleset_find (set, n, &found) == is_there);
      if (is_there)
        g_assert_cmpuint (found, ==, expected);
    }
  if (granuleset_first_stretch (set, &found, &length))
    {
      g_assert_true (model_find (model, 1, &expected));
      g_assert_cmpuint (found, ==, expected);
      for (unsigned i = 0; i < length; i++)
        g_assert_true (model[found + i]);
      g_assert_true (found + length == GRANULESET_BITS
                     || !model[found + length]);
    }
  else
    g_assert_cmpuint (granuleset_count (set), ==, 0);
}

static void
test_model (void)
{
  GranuleSet set = { { 0, 0 } };
  bool model[GRANULESET_BITS] = { false };
  TestRandom random;

  test_random_init (&random, 0);
  for (unsigned i = 0; i < test_times (5000, 500); i++)
    {
      unsigned first = test_random_below (&random, GRANULESET_BITS);
      unsigned n = test_random_below (&random, 9);
      unsigned from = test_random_below (&random, GRANULESET_BITS);
      unsigned in = 0;
      bool add = test_random_below (&random, 2) != 0;

      n = MIN (n, GRANULESET_BITS - first);
      if (add)
        granuleset_add (&set, first, n);
      else
        granuleset_remove (&set, first, n);
      for (unsigned k = first; k < first + n; k++)
        model[k] = add;
      check_same (&set, model);
      check_finds (&set, model);
      for (unsigned k = from; k < GRANULESET_BITS && k < from + 70; k++)
        in += model[k];
      g_assert_cmpuint (granuleset_count_in (&set, from,
                                          MIN (70, GRANULESET_BITS - from)),
                        ==, in);
    }
}

static void
test_plus_minus (void)
{
  GranuleSet a = { { 0xf0, 0x3 } }, b = { { 0x3c, 0x6 } };
  GranuleSet sum = granuleset_plus (&a, &b), rest = granuleset_minus (&a, &b);

  g_assert_cmpuint (sum.word[0], ==, 0xfc);
  g_assert_cmpuint (sum.word[1], ==, 0x7);
  g_assert_cmpuint (rest.word[0], ==, 0xc0);
  g_assert_cmpuint (rest.word[1], ==, 0x1);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/unitset/stretch", test_stretch);
  test_add ("/slice/unitset/model", test_model);
  test_add ("/slice/unitset/plus-minus", test_plus_minus);
  return g_test_run ();
}
