/* test-stack.c - stack arenas against a model, and their promises
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/arena/arena-test.h"

#include <errno.h>
#include <string.h>

static SliceStack *
stack_new (unsigned flags)
{
  SliceArenaOptions options = { .first_bytes = 1024, .flags = flags };

  return slice_stack_new (&options);
}

/* --- model --------------------------------------------------------------- */

typedef struct
{
  char *object;
  size_t size;
  unsigned number;
} Known;

static size_t
random_size (void)
{
  int kind = g_test_rand_int_range (0, 100);

  if (kind < 92)
    return (size_t) g_test_rand_int_range (0, 200);
  if (kind < 99)
    return (size_t) g_test_rand_int_range (200, 5000);
  return (size_t) g_test_rand_int_range (5000, 100000);
}

static Known *
top_of (GArray *known)
{
  return &g_array_index (known, Known, known->len - 1);
}

static void
model_push (SliceStack *stack, GArray *known, unsigned number)
{
  Known one = { NULL, random_size (), number };

  if (g_test_rand_bit ())
    one.object = slice_stack_alloc (stack, one.size);
  else
    {
      size_t alignment = (size_t) 1 << g_test_rand_int_range (0, 8);

      one.object = slice_stack_alloc_aligned (stack, alignment, one.size);
      g_assert_cmpuint ((uintptr_t) one.object % alignment, ==, 0);
    }
  g_assert_nonnull (one.object);
  pattern_fill (one.object, one.size, number);
  g_array_append_val (known, one);
}

static void
model_pop (SliceStack *stack, GArray *known)
{
  Known *top = top_of (known);

  g_assert_true (pattern_holds (top->object, top->size, top->number));
  slice_stack_release (stack, top->object);
  g_array_set_size (known, known->len - 1);
  if (known->len > 0)
    {
      top = top_of (known);
      g_assert_true (pattern_holds (top->object, top->size, top->number));
    }
}

static void
model_resize (SliceStack *stack, GArray *known)
{
  Known *top = top_of (known);
  size_t size = random_size ();
  char *moved = slice_stack_resize (stack, top->object, top->size, size);

  g_assert_nonnull (moved);
  g_assert_true (pattern_holds (moved, MIN (size, top->size), top->number));
  top->object = moved;
  top->size = size;
  pattern_fill (moved, size, top->number);
}

/* Rises and falls over many blocks. */
static void
run_model (SliceStack *stack, unsigned n_operations)
{
  GArray *known = g_array_new (FALSE, FALSE, sizeof (Known));
  int rise = 60;

  for (unsigned i = 0; i < n_operations; i++)
    {
      int what;

      if (i % 2000 == 0)
        rise = rise == 60 ? 40 : 60;
      what = g_test_rand_int_range (0, 100);
      if (known->len == 0 || what < rise)
        model_push (stack, known, i);
      else if (what < 95)
        model_pop (stack, known);
      else
        model_resize (stack, known);
      g_assert_true (slice_stack_is_empty (stack) == (known->len == 0));
      if (i % 512 == 0)
        {
          SliceArenaStats stats;

          slice_stack_get_stats (stack, &stats);
          assert_stats_add_up (&stats);
          g_assert_cmpuint (stats.n_spare_blocks, <=, 1);
        }
    }
  while (known->len > 0)
    model_pop (stack, known);
  g_assert_true (slice_stack_is_empty (stack));
  g_array_free (known, TRUE);
}

static unsigned
n_model_operations (void)
{
  return g_test_slow () ? 1000000 : 60000;
}

static void
test_model (void)
{
  SliceStack *stack = stack_new (0);

  run_model (stack, n_model_operations ());
  slice_stack_reset (stack, SLICE_KEEP_NONE);
  run_model (stack, 2000);
  slice_stack_destroy (stack);
}

/* A reset takes all objects that are still there, and what comes after it is
 * new. */
static void
test_reset_while_in_use (void)
{
  static const SliceKeep keeps[] = { SLICE_KEEP_NONE, SLICE_KEEP_FIRST,
                                     SLICE_KEEP_LARGEST, SLICE_KEEP_ALL };

  for (unsigned i = 0; i < 2 * G_N_ELEMENTS (keeps); i++)
    {
      CountingSource counting;
      SliceArenaOptions options;
      SliceStack *stack;
      char *first;
      SliceArenaStats stats;

      counting_source_init (&counting);
      options = (SliceArenaOptions){ .source = &counting.source,
                                     .flags
                                     = i % 2 != 0 ? SLICE_ARENA_CHECKED : 0 };
      stack = slice_stack_new (&options);
      for (int n = 0; n < 1000; n++)
        slice_stack_alloc (stack, random_size ());
      slice_stack_reset (stack, keeps[i / 2]);
      g_assert_true (slice_stack_is_empty (stack));
      if (keeps[i / 2] == SLICE_KEEP_NONE)
        g_assert_cmpuint (counting.out_bytes, ==, 0);
      first = slice_stack_alloc (stack, 100);
      slice_stack_get_stats (stack, &stats);
      g_assert_cmpuint (stats.used_bytes, >=, 100);
      g_assert_cmpuint (stats.used_bytes, <, 1000);
      assert_stats_add_up (&stats);
      pattern_fill (first, 100, 1);
      g_assert_true (pattern_holds (first, 100, 1));
      slice_stack_release (stack, first);
      /* (The model wants at most one spare block.) */
      if (keeps[i / 2] != SLICE_KEEP_ALL)
        run_model (stack, 1000);
      slice_stack_destroy (stack);
      g_assert_cmpuint (counting.out_bytes, ==, 0);
    }
}

static void
test_model_checked (void)
{
  SliceStack *stack = stack_new (SLICE_ARENA_CHECKED);

  run_model (stack, n_model_operations ());
  slice_stack_destroy (stack);
}

static void
test_model_source (void)
{
  CountingSource counting;
  SliceArenaOptions options;
  SliceStack *stack;

  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source };
  stack = slice_stack_new (&options);
  run_model (stack, n_model_operations () / 4);
  slice_stack_destroy (stack);
  g_assert_cmpuint (counting.out_bytes, ==, 0);
}

/* --- the end of a block -------------------------------------------------- */

/* Up and down across each block's end: no request once the spare one is
 * there. */
static void
test_boundary (void)
{
  CountingSource counting;
  SliceArenaOptions options;
  SliceStack *stack;

  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source };
  stack = slice_stack_new (&options);
  for (int i = 0; i < 1000; i++)
    {
      void *over[4];
      size_t n_maps;

      slice_stack_alloc (stack, 256);
      for (int k = 0; k < 4; k++)
        over[k] = slice_stack_alloc (stack, 256);
      for (int k = 4; k > 0; k--)
        slice_stack_release (stack, over[k - 1]);
      n_maps = counting.n_maps;
      for (int again = 0; again < 10; again++)
        {
          for (int k = 0; k < 4; k++)
            over[k] = slice_stack_alloc (stack, 256);
          for (int k = 4; k > 0; k--)
            slice_stack_release (stack, over[k - 1]);
        }
      g_assert_cmpuint (counting.n_maps, ==, n_maps);
    }
  slice_stack_destroy (stack);
  g_assert_cmpuint (counting.out_bytes, ==, 0);
}

/* Falling gives the blocks back, but for one. */
static void
test_falls (void)
{
  enum
  {
    N = 20000
  };
  CountingSource counting;
  SliceArenaOptions options;
  SliceStack *stack;
  static void *objects[N];
  SliceArenaStats stats;

  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source };
  stack = slice_stack_new (&options);
  for (int i = 0; i < N; i++)
    objects[i] = slice_stack_alloc (stack, 100);
  for (int i = N; i > 0; i--)
    slice_stack_release (stack, objects[i - 1]);
  slice_stack_get_stats (stack, &stats);
  g_assert_cmpuint (stats.n_blocks, <=, 2);
  g_assert_cmpuint (slice_stack_trim (stack), >, 0);
  slice_stack_destroy (stack);
}

static void
test_large (void)
{
  SliceStack *stack = stack_new (0);
  char *a = slice_stack_alloc (stack, 40);
  char *large = slice_stack_alloc (stack, 1000000);
  char *b = slice_stack_alloc (stack, 40);

  memset (large, 1, 1000000);
  pattern_fill (a, 40, 1);
  pattern_fill (b, 40, 2);
  slice_stack_release (stack, b);
  large = slice_stack_resize (stack, large, 1000000, 3000000);
  memset (large, 2, 3000000);
  slice_stack_release (stack, large);
  g_assert_true (pattern_holds (a, 40, 1));
  slice_stack_release (stack, a);
  g_assert_true (slice_stack_is_empty (stack));
  slice_stack_destroy (stack);
}

/* --- checked stacks align as others do ----------------------------------- */

static void
test_alignment (void)
{
  for (unsigned flags = 0; flags <= SLICE_ARENA_CHECKED; flags++)
    {
      SliceStack *stack = stack_new (flags);

      for (size_t size = 1; size <= 64; size++)
        {
          size_t rounded = (size + 7) & ~(size_t) 7;
          size_t natural = rounded % 16 == 0 ? 16 : 8;
          uintptr_t object = (uintptr_t) slice_stack_alloc (stack, size);

          g_assert_cmpuint (object % natural, ==, 0);
          for (size_t alignment = 1; alignment <= 64; alignment *= 2)
            {
              object = (uintptr_t) slice_stack_alloc_aligned (stack, alignment,
                                                              size);
              g_assert_cmpuint (object % alignment, ==, 0);
            }
        }
      slice_stack_destroy (stack);
    }
}

static void
test_overflow (void)
{
  for (unsigned flags = 0; flags <= SLICE_ARENA_CHECKED; flags++)
    {
      SliceStack *stack = stack_new (flags);
      char *top = slice_stack_alloc (stack, 16);

      pattern_fill (top, 16, 3);
      for (size_t k = 0; k <= 4096; k++)
        {
          volatile size_t size = SIZE_MAX - k;

          errno = 0;
          g_assert_null (slice_stack_alloc (stack, size));
          g_assert_cmpint (errno, ==, ENOMEM);
          g_assert_null (slice_stack_resize (stack, top, 16, size));
        }
      g_assert_true (pattern_holds (top, 16, 3));
      slice_stack_release (stack, top);
      g_assert_true (slice_stack_is_empty (stack));
      slice_stack_destroy (stack);
    }
}

/* 0 bytes are taken as 1: the first byte is the program's. */
static void
test_resize_zero (void)
{
  for (unsigned flags = 0; flags <= SLICE_ARENA_CHECKED; flags++)
    {
      SliceStack *stack = stack_new (flags);

      for (size_t i = 0; i < 4; i++)
        {
          char *top = slice_stack_alloc (stack, 24); /* at 0, 8 mod 16 */

          *top = 42;
          top = slice_stack_resize (stack, top, 24, 0);
          g_assert_cmpint (*top, ==, 42);
          top = slice_stack_resize (stack, top, 0, 5000);
          g_assert_cmpint (*top, ==, 42);
          top = slice_stack_resize (stack, top, 5000, 0);
          g_assert_cmpint (*top, ==, 42);
          *top = 43;
        }
      slice_stack_destroy (stack);
    }
}

/* An object that shrinks stays, also if its new size is a multiple of 16 and
 * its address is not. */
static void
test_shrink_in_place (void)
{
  for (unsigned flags = 0; flags <= SLICE_ARENA_CHECKED; flags++)
    {
      SliceStack *stack = stack_new (flags);
      char *top = slice_stack_alloc (stack, 88);

      while (((uintptr_t) top & 8) == 0)
        top = slice_stack_alloc (stack, 88);
      pattern_fill (top, 88, 7);
      g_assert_true (slice_stack_resize (stack, top, 88, 80) == top);
      g_assert_true (slice_stack_resize (stack, top, 80, 16) == top);
      g_assert_true (pattern_holds (top, 16, 7));
      slice_stack_release (stack, top);
      slice_stack_destroy (stack);
    }
}

static void
test_failing_source (void)
{
  CountingSource counting;
  SliceArenaOptions options;

  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source };
  for (size_t k = 0; k < 20; k++)
    {
      SliceStack *stack = slice_stack_new (&options);
      GArray *known = g_array_new (FALSE, FALSE, sizeof (Known));

      counting.n_until_failure = k;
      for (unsigned i = 0; i < 2000; i++)
        {
          Known one = { NULL, 50 + i % 900, i };

          one.object = slice_stack_alloc (stack, one.size);
          if (one.object == NULL)
            continue;
          pattern_fill (one.object, one.size, i);
          g_array_append_val (known, one);
        }
      if (known->len > 0)
        {
          Known *top = top_of (known);
          char *same
              = slice_stack_resize (stack, top->object, top->size, 500000);

          g_assert_true (same == NULL || k > 15);
          if (same != NULL)
            top->object = same;
        }
      while (known->len > 0)
        model_pop (stack, known);
      slice_stack_destroy (stack);
      g_array_free (known, TRUE);
      g_assert_cmpuint (counting.out_bytes, ==, 0);
      counting.n_until_failure = SIZE_MAX;
    }
}

/* --- misuse -------------------------------------------------------------- */

static void
misuse_order (unsigned flags)
{
  SliceStack *stack = stack_new (flags);
  void *low = slice_stack_alloc (stack, 24);

  slice_stack_alloc (stack, 40);
  slice_stack_release (stack, low);
}

static void
test_misuse_order (void)
{
  if (g_test_subprocess ())
    {
      misuse_order (SLICE_ARENA_CHECKED);
      return;
    }
  expect_error (310, "(24 bytes, serial 1) out of order; the top is "
                     "*(40 bytes, serial 2)");
}

static void
test_misuse_twice (void)
{
  if (g_test_subprocess ())
    {
      SliceStack *stack = stack_new (SLICE_ARENA_CHECKED);
      void *top;

      slice_stack_alloc (stack, 24);
      top = slice_stack_alloc (stack, 40);
      slice_stack_release (stack, top);
      slice_stack_release (stack, top);
      return;
    }
  expect_error (311, "(40 bytes, serial 2) was released before");
}

/* The first release has returned the large object's block. */
static void
test_misuse_twice_large (void)
{
  if (g_test_subprocess ())
    {
      SliceStack *stack = stack_new (SLICE_ARENA_CHECKED);
      void *top;

      slice_stack_alloc (stack, 100);
      top = slice_stack_alloc (stack, 100000);
      slice_stack_release (stack, top);
      slice_stack_release (stack, top);
      return;
    }
  expect_error (312, "not of this stack, or it was released before");
}

static void
test_misuse_foreign (void)
{
  if (g_test_subprocess ())
    {
      SliceStack *stack = stack_new (SLICE_ARENA_CHECKED);
      SliceStack *other = stack_new (SLICE_ARENA_CHECKED);

      slice_stack_alloc (stack, 24);
      slice_stack_release (stack, slice_stack_alloc (other, 24));
      return;
    }
  expect_error (312, "is not of this stack");
}

static void
test_misuse_inside (void)
{
  if (g_test_subprocess ())
    {
      SliceStack *stack = stack_new (SLICE_ARENA_CHECKED);
      char *top = slice_stack_alloc (stack, 240);

      memset (top, 0, 240);
      slice_stack_release (stack, top + 64);
      return;
    }
  expect_error (312, "no object begins at");
}

static void
test_misuse_overrun (void)
{
  if (g_test_subprocess ())
    {
      SliceStack *stack = stack_new (SLICE_ARENA_CHECKED);
      char *low = slice_stack_alloc (stack, 24);
      char *top = slice_stack_alloc (stack, 24);
      volatile char *over = low;

      for (int i = 0; i < 32; i++)
        over[i] = (char) 0xff;
      slice_stack_release (stack, top);
      return;
    }
  if (is_annotated ())
    g_test_skip ("the tool itself sees it");
  else
    expect_error (313, "overrun of the object below");
}

/* What a stack without checks finds, too. */
static void
test_misuse_plain_twice (void)
{
  if (g_test_subprocess ())
    {
      SliceStack *stack = stack_new (0);
      void *top;

      slice_stack_alloc (stack, 24);
      top = slice_stack_alloc (stack, 40);
      slice_stack_release (stack, top);
      slice_stack_release (stack, top);
      return;
    }
  expect_error (311, "was released before");
}

static void
test_misuse_plain_foreign (void)
{
  if (g_test_subprocess ())
    {
      SliceStack *stack = stack_new (0);
      int local = 0;

      slice_stack_alloc (stack, 24);
      slice_stack_release (stack, &local);
      return;
    }
  expect_error (312, "is not of this stack");
}

static void
test_misuse_plain_block_below (void)
{
  if (g_test_subprocess ())
    {
      SliceStack *stack = stack_new (0);
      void *low = slice_stack_alloc (stack, 24);

      for (int i = 0; i < 1000; i++)
        slice_stack_alloc (stack, 24);
      slice_stack_release (stack, low);
      return;
    }
  expect_error (310, "out of order");
}

static void
test_misuse_plain_large (void)
{
  if (g_test_subprocess ())
    {
      SliceStack *stack = stack_new (0);
      void *large;

      slice_stack_alloc (stack, 24);
      large = slice_stack_alloc (stack, 100000);
      slice_stack_alloc (stack, 24);
      slice_stack_release (stack, large);
      return;
    }
  expect_error (310, "out of order");
}

/* Types that want more than their size gives. */
typedef struct
{
  _Alignas (64) char bytes[64];
} Wide;

typedef int Aligned16 __attribute__ ((aligned (16)));

static void
test_typed_alignment (void)
{
  for (unsigned flags = 0; flags <= SLICE_ARENA_CHECKED; flags++)
    {
      SliceStack *stack = stack_new (flags);

      for (int i = 0; i < 200; i++)
        {
          uintptr_t wide;
          uintptr_t small;

          slice_stack_new_object (stack, double);
          wide = (uintptr_t) slice_stack_new_object (stack, Wide);
          g_assert_cmpuint (wide % 64, ==, 0);
          slice_stack_new_object (stack, double);
          small = (uintptr_t) slice_stack_new_object (stack, Aligned16);
          g_assert_cmpuint (small % 16, ==, 0);
        }
      slice_stack_destroy (stack);
    }
}

/* Nothing is in use when nothing is live, whatever was. */
static void
test_stats_empty (void)
{
  for (unsigned flags = 0; flags <= SLICE_ARENA_CHECKED; flags++)
    for (size_t alignment = 8; alignment <= 4096; alignment *= 2)
      for (size_t size = 1; size < 5000; size *= 3)
        {
          SliceStack *stack = stack_new (flags);
          SliceArenaStats stats;
          void *objects[3];

          for (int i = 0; i < 3; i++)
            objects[i] = slice_stack_alloc_aligned (stack, alignment, size);
          for (int i = 2; i >= 0; i--)
            slice_stack_release (stack, objects[i]);
          g_assert_true (slice_stack_is_empty (stack));
          slice_stack_get_stats (stack, &stats);
          g_assert_cmpuint (stats.used_bytes, ==, 0);
          assert_stats_add_up (&stats);
          slice_stack_destroy (stack);
        }
}

/* A checked stack's objects lie in their blocks, with their heads, however
 * large the heads are on this machine. */
static void
test_fit (void)
{
  for (size_t alignment = 8; alignment <= 64; alignment *= 2)
    for (size_t size = 8; size <= 400; size += 8)
      {
        SliceArenaOptions options = { .flags = SLICE_ARENA_CHECKED,
                                      .first_bytes = 64,
                                      .cap_bytes = size % 16 ? 64 : 4096 };
        SliceStack *stack = slice_stack_new (&options);

        for (int i = 0; i < 8; i++)
          {
            char *object = slice_stack_alloc_aligned (stack, alignment, size);
            SliceBlockInfo info;

            g_assert_nonnull (object);
            memset (object, 0x55, size);
            slice_block_info (object, &info);
            if (info.kind != SLICE_BLOCK_FOREIGN)
              g_assert_true (object + size
                             <= (const char *) info.start + info.bytes);
          }
        slice_stack_destroy (stack);
      }
}

MISUSE_CALL (alignment, 300, "slice_stack_alloc_aligned: alignment 8192 is no",
             slice_stack_alloc_aligned (slice_stack_new (NULL), 8192, 8))

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/stack/model", test_model);
  g_test_add_func ("/slice/stack/reset-while-in-use",
                   test_reset_while_in_use);
  g_test_add_func ("/slice/stack/model-checked", test_model_checked);
  g_test_add_func ("/slice/stack/model-source", test_model_source);
  g_test_add_func ("/slice/stack/boundary", test_boundary);
  g_test_add_func ("/slice/stack/falls", test_falls);
  g_test_add_func ("/slice/stack/large", test_large);
  g_test_add_func ("/slice/stack/alignment", test_alignment);
  g_test_add_func ("/slice/stack/overflow", test_overflow);
  g_test_add_func ("/slice/stack/failing-source", test_failing_source);
  g_test_add_func ("/slice/stack/misuse/order", test_misuse_order);
  g_test_add_func ("/slice/stack/misuse/twice", test_misuse_twice);
  g_test_add_func ("/slice/stack/misuse/twice-large",
                   test_misuse_twice_large);
  g_test_add_func ("/slice/stack/misuse/foreign", test_misuse_foreign);
  g_test_add_func ("/slice/stack/misuse/inside", test_misuse_inside);
  g_test_add_func ("/slice/stack/misuse/overrun", test_misuse_overrun);
  g_test_add_func ("/slice/stack/misuse/plain-twice", test_misuse_plain_twice);
  g_test_add_func ("/slice/stack/misuse/plain-foreign",
                   test_misuse_plain_foreign);
  g_test_add_func ("/slice/stack/misuse/plain-block-below",
                   test_misuse_plain_block_below);
  g_test_add_func ("/slice/stack/misuse/plain-large", test_misuse_plain_large);
  g_test_add_func ("/slice/stack/misuse/alignment", test_misuse_alignment);
  g_test_add_func ("/slice/stack/typed-alignment", test_typed_alignment);
  g_test_add_func ("/slice/stack/stats-empty", test_stats_empty);
  g_test_add_func ("/slice/stack/fit", test_fit);
  g_test_add_func ("/slice/stack/shrink-in-place", test_shrink_in_place);
  g_test_add_func ("/slice/stack/resize-zero", test_resize_zero);
  return g_test_run ();
}
