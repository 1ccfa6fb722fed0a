/* test-linear-steps.c - how much of an arena a rollback looks at
 *
 * Built of the arenas' own files with CHAIN_COUNT_LOOKS.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/arena/arena-test.h"

extern unsigned sli_chain_n_probes;

enum
{
  LARGE = 1 << 20, /* an object with a block of its own */
  BLOCK = 8192,
  SMALL = 1500,
  N_SMALL = 5 /* in a block */
};

/* With so many spare blocks a rollback over two blocks looks at two. */
static void
looks_with_spare (int n_spare, SliceKeep keep)
{
  SliceArenaOptions options = { .first_bytes = BLOCK, .cap_bytes = BLOCK };
  SliceLinear *linear = slice_linear_new (&options);
  SliceMark mark;

  for (int i = 0; i < N_SMALL; i++)
    slice_linear_alloc (linear, SMALL);
  mark = slice_linear_mark (linear);
  for (int i = 0; i < N_SMALL * n_spare; i++)
    slice_linear_alloc (linear, SMALL);
  slice_linear_rollback (linear, mark);
  for (int round = 0; round < 3; round++)
    {
      SliceArenaStats before, after;
      char *first;

      slice_linear_get_stats (linear, &before);
      if (!is_annotated ())
        g_assert_cmpuint (before.n_spare_blocks, >=, (unsigned) n_spare / 2);
      first = slice_linear_alloc (linear, SMALL);
      slice_linear_alloc (linear, LARGE);
      sli_chain_n_probes = 0;
      slice_linear_rollback (linear, mark);
      g_assert_cmpuint (sli_chain_n_probes, ==, 2);
      slice_linear_get_stats (linear, &after);
      g_assert_cmpuint (after.n_blocks, ==, before.n_blocks);
      g_assert_cmpuint (after.n_own_blocks, ==, 0);
      g_assert_cmpuint (after.held_bytes - after.control_bytes, ==,
                        before.held_bytes - before.control_bytes);
      g_assert_true (slice_linear_alloc (linear, SMALL) == first);
      slice_linear_rollback (linear, mark);
    }
  slice_linear_reset (linear, keep);
  slice_linear_destroy (linear);
}

static void
test_rollback (void)
{
  static const int n_spare[] = { 1, 5, 6, 7, 100, 2000 };

  for (size_t i = 0; i < G_N_ELEMENTS (n_spare); i++)
    {
      looks_with_spare (n_spare[i], SLICE_KEEP_NONE);
      looks_with_spare (n_spare[i], SLICE_KEEP_ALL);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/linear-steps/rollback", test_rollback);
  return g_test_run ();
}
