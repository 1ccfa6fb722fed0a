/* test-failed-calls.c - a call that fails leaves an arena as it was
 *
 * Arenas of all kinds are filled up to their limit with objects of random
 * sizes.  What an arena says of itself is the same before and after a call that
 * fails, and a trim returns the bytes by which that falls.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/arena/arena-test.h"

#include <errno.h>
#include <string.h>

enum
{
  N_ROUNDS = 40,
  N_CALLS = 400
};

/* How an arena of one kind is called. */
typedef struct
{
  void *(*create) (const SliceArenaOptions *options);
  void *(*alloc) (void *arena, size_t size);
  size_t (*trim) (void *arena);
  void (*stats) (void *arena, SliceArenaStats *stats);
  void (*destroy) (void *arena);
} Kind;

static void
assert_same_blocks (const SliceArenaStats *before,
                    const SliceArenaStats *after)
{
  g_assert_cmpuint (before->used_bytes, ==, after->used_bytes);
  g_assert_cmpuint (before->free_bytes, ==, after->free_bytes);
  g_assert_cmpuint (before->wasted_bytes, ==, after->wasted_bytes);
  g_assert_cmpuint (before->n_blocks, ==, after->n_blocks);
  g_assert_cmpuint (before->n_own_blocks, ==, after->n_own_blocks);
  g_assert_cmpuint (before->n_spare_blocks, ==, after->n_spare_blocks);
}

static void
assert_same (const SliceArenaStats *before, const SliceArenaStats *after)
{
  assert_same_blocks (before, after);
  g_assert_cmpuint (before->control_bytes, ==, after->control_bytes);
  g_assert_cmpuint (before->held_bytes, ==, after->held_bytes);
}

static size_t
random_size (void)
{
  int most = g_test_rand_int_range (0, 4) == 0 ? 20000 : 300;

  return (size_t) g_test_rand_int_range (1, most);
}

/* Returns whether the call failed. */
static bool
try_alloc (const Kind *kind, void *arena, size_t size)
{
  SliceArenaStats before, after;

  kind->stats (arena, &before);
  errno = 0;
  if (kind->alloc (arena, size) != NULL)
    return false;
  g_assert_cmpint (errno, ==, ENOMEM);
  kind->stats (arena, &after);
  assert_same (&before, &after);
  return true;
}

static void
assert_trims (const Kind *kind, void *arena)
{
  SliceArenaStats before, after;
  size_t bytes;

  kind->stats (arena, &before);
  bytes = kind->trim (arena);
  kind->stats (arena, &after);
  g_assert_cmpuint (before.held_bytes, ==, after.held_bytes + bytes);
  g_assert_cmpuint (after.n_spare_blocks, ==, 0);
}

static void
fill (const Kind *kind, unsigned flags)
{
  unsigned n_failed = 0;

  for (int round = 0; round < N_ROUNDS; round++)
    {
      SliceArenaOptions options
          = { .limit_bytes = (size_t) g_test_rand_int_range (70000, 200000),
              .flags = flags };
      SliceArenaStats stats;
      void *arena = kind->create (&options);

      g_assert_nonnull (arena);
      kind->stats (arena, &stats);
      g_assert_cmpuint (stats.used_bytes, ==, 0);
      g_assert_true (try_alloc (kind, arena, SIZE_MAX - 4096));
      for (int call = 0; call < N_CALLS; call++)
        n_failed += try_alloc (kind, arena, random_size ());
      assert_trims (kind, arena);
      kind->destroy (arena);
    }
  g_assert_cmpuint (n_failed, >, N_ROUNDS);
}

/* --- the kinds ----------------------------------------------------------- */

static void *
linear_create (const SliceArenaOptions *options)
{
  return slice_linear_new (options);
}

static void *
linear_alloc (void *linear, size_t size)
{
  return slice_linear_alloc (linear, size);
}

static size_t
linear_trim (void *linear)
{
  return slice_linear_trim (linear);
}

static void
linear_stats (void *linear, SliceArenaStats *stats)
{
  slice_linear_get_stats (linear, stats);
}

static void
linear_destroy (void *linear)
{
  slice_linear_destroy (linear);
}

static void *
stack_create (const SliceArenaOptions *options)
{
  return slice_stack_new (options);
}

static void *
stack_alloc (void *stack, size_t size)
{
  return slice_stack_alloc (stack, size);
}

static size_t
stack_trim (void *stack)
{
  return slice_stack_trim (stack);
}

static void
stack_stats (void *stack, SliceArenaStats *stats)
{
  slice_stack_get_stats (stack, stats);
}

static void
stack_destroy (void *stack)
{
  slice_stack_destroy (stack);
}

static void *
tlsf_create (const SliceArenaOptions *options)
{
  return slice_tlsf_new (options);
}

static void *
tlsf_alloc (void *tlsf, size_t size)
{
  return slice_tlsf_alloc (tlsf, size);
}

static size_t
tlsf_trim (void *tlsf)
{
  return slice_tlsf_trim (tlsf);
}

static void
tlsf_stats (void *tlsf, SliceArenaStats *stats)
{
  SliceTlsfStats all;

  slice_tlsf_get_stats (tlsf, &all);
  *stats = all.arena;
}

static void
tlsf_destroy (void *tlsf)
{
  slice_tlsf_destroy (tlsf);
}

static const Kind linears = { linear_create, linear_alloc, linear_trim,
                              linear_stats, linear_destroy };
static const Kind stacks = { stack_create, stack_alloc, stack_trim,
                             stack_stats, stack_destroy };
static const Kind heaps = { tlsf_create, tlsf_alloc, tlsf_trim, tlsf_stats,
                            tlsf_destroy };

static void
test_linear (void)
{
  fill (&linears, 0);
  fill (&linears, SLICE_ARENA_CHECKED);
}

static void
test_stack (void)
{
  fill (&stacks, 0);
  fill (&stacks, SLICE_ARENA_CHECKED);
}

static void
test_tlsf (void)
{
  fill (&heaps, 0);
  fill (&heaps, SLICE_ARENA_CHECKED);
}

/* --- pools: all objects have one size ------------------------------------ */

/* Their tables may grow in a call that fails: a block is found by address
 * faster then. */

static void
assert_pool_trims (SlicePool *pool)
{
  SliceArenaStats before, after;
  size_t bytes;

  slice_pool_get_stats (pool, &before);
  bytes = slice_pool_trim (pool);
  slice_pool_get_stats (pool, &after);
  if (after.held_bytes <= before.held_bytes)
    g_assert_cmpuint (bytes, ==, before.held_bytes - after.held_bytes);
  else
    g_assert_cmpuint (bytes, ==, 0);
}

static void
pool_fill (unsigned flags)
{
  SlicePoolOptions options
      = { .object_bytes = random_size () % 300 + 1,
          .arena = { .limit_bytes = 100000, .flags = flags } };
  SliceArenaStats before, after;
  SlicePool *pool = slice_pool_new (&options);
  GPtrArray *objects = g_ptr_array_new ();
  void *object;
  guint n_kept;

  while (slice_pool_get_stats (pool, &before),
         (object = slice_pool_alloc (pool)) != NULL)
    g_ptr_array_add (objects, object);
  slice_pool_get_stats (pool, &after);
  assert_same_blocks (&before, &after);
  g_assert_false (slice_pool_reserve (pool, 1));
  slice_pool_get_stats (pool, &after);
  assert_same_blocks (&before, &after);
  n_kept = objects->len / 8;
  while (objects->len > n_kept)
    slice_pool_free (pool, g_ptr_array_remove_index (objects,
                                                     objects->len - 1));
  assert_pool_trims (pool);
  while (objects->len > 0)
    slice_pool_free (pool, g_ptr_array_remove_index (objects, 0));
  assert_pool_trims (pool);
  slice_pool_destroy (pool);
  g_ptr_array_free (objects, TRUE);
}

static void
test_pool (void)
{
  for (int round = 0; round < N_ROUNDS; round++)
    pool_fill (round % 2 == 0 ? 0 : SLICE_ARENA_CHECKED);
}

/* An object that grows begins at a multiple of 16, and may not even begin. */
static void
test_growing (void)
{
  for (size_t used = 8; used <= 32; used += 8)
    {
      SliceArenaOptions options = { .limit_bytes = 70000 };
      SliceLinear *linear = slice_linear_new (&options);
      SliceArenaStats before, after;

      slice_linear_alloc (linear, used);
      slice_linear_get_stats (linear, &before);
      errno = 0;
      g_assert_false (slice_linear_grow (linear, 80000, NULL));
      g_assert_cmpint (errno, ==, ENOMEM);
      slice_linear_get_stats (linear, &after);
      assert_same (&before, &after);
      g_assert_null (slice_linear_growing (linear, NULL));
      slice_linear_destroy (linear);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/failed-calls/linear", test_linear);
  g_test_add_func ("/slice/failed-calls/stack", test_stack);
  g_test_add_func ("/slice/failed-calls/tlsf", test_tlsf);
  g_test_add_func ("/slice/failed-calls/pool", test_pool);
  g_test_add_func ("/slice/failed-calls/growing", test_growing);
  return g_test_run ();
}
