/* test-sizes.c - sizes that there can be no memory for, in every call that
 * takes one
 *
 * Each must give NULL with errno ENOMEM, whatever is added to the size on the
 * way (headers, canaries, red zones, alignment), and leave what there was as
 * it was.  The builds with sanitizers show that nothing overflows meanwhile.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/libslice.h>

#include "tests/testlib.h"
#include "tests/teststats.h"

#include <errno.h>
#include <string.h>

/* Each wraps with something that is added, or is above what an object may
 * have, or just below it. */
static const volatile size_t too_large[] = { /* not to be seen through */
  SIZE_MAX,
  SIZE_MAX - 1,
  SIZE_MAX - 6,
  SIZE_MAX - 7,
  SIZE_MAX - 8,
  SIZE_MAX - 14,
  SIZE_MAX - 15,
  SIZE_MAX - 16,
  SIZE_MAX - 23,
  SIZE_MAX - 24,
  SIZE_MAX - 31,
  SIZE_MAX - 32,
  SIZE_MAX - 39,
  SIZE_MAX - 47,
  SIZE_MAX - 48,
  SIZE_MAX - 63,
  SIZE_MAX - 64,
  SIZE_MAX - 127,
  SIZE_MAX - 255,
  SIZE_MAX - 2047,
  SIZE_MAX - SLICE_SIZE_MAX,
  SIZE_MAX - 4094,
  SIZE_MAX - 4095,
  SIZE_MAX - 4096,
  SIZE_MAX - 8191,
  SIZE_MAX - 65535,
  SIZE_MAX - 65536,
  SIZE_MAX - (2u << 20),
  SIZE_MAX / 2 + 4097,
  SIZE_MAX / 2 + 17,
  SIZE_MAX / 2 + 16,
  SIZE_MAX / 2 + 2,
  SIZE_MAX / 2 + 1,
  SIZE_MAX / 2, /* PTRDIFF_MAX */
  SIZE_MAX / 2 - 1,
  SIZE_MAX / 2 - 15,
  SIZE_MAX / 2 - 16,
  SIZE_MAX / 2 - 4095,
  SIZE_MAX / 2 - 65536,
  SIZE_MAX / 3,
  SIZE_MAX / 4 + 1,
  SIZE_MAX / 4,
};

#define EACH_SIZE(size)                                                       \
  for (size_t i_ = 0, size;                                                   \
       i_ < G_N_ELEMENTS (too_large) && (size = too_large[i_], true); i_++)

/* A call that must find no memory. */
#define REFUSED(call)                                                         \
  G_STMT_START                                                                \
  {                                                                           \
    errno = 0;                                                                \
    g_assert_null (call);                                                     \
    g_assert_cmpint (errno, ==, ENOMEM);                                      \
  }                                                                           \
  G_STMT_END

/* n * size is too large, and so is the product the other way round. */
#define REFUSED_PRODUCTS(call)                                                \
  for (size_t at_ = 0; at_ < G_N_ELEMENTS (too_large); at_++)                 \
    for (size_t factor_ = 2; factor_ < SIZE_MAX / 16; factor_ *= 16)          \
      {                                                                       \
        size_t count = too_large[at_], size = factor_;                        \
        REFUSED (call);                                                       \
        count = factor_;                                                      \
        size = too_large[at_];                                                \
        REFUSED (call);                                                       \
      }

static const size_t alignments[] = { 1, 2, 8, 16, 64, 4096 };

/* Whatever the alignment. */
#define REFUSED_ALIGNED(call)                                                 \
  for (size_t at_ = 0; at_ < G_N_ELEMENTS (alignments); at_++)                \
    {                                                                         \
      size_t alignment = alignments[at_];                                     \
      REFUSED (call);                                                         \
    }

/* --- slices -------------------------------------------------------------- */

static void
refuse_slices (void)
{
  EACH_SIZE (size)
    {
      REFUSED (slice_try_alloc (size));
      REFUSED (slice_try_alloc0 (size));
      REFUSED (slice_try_alloc_n (1, size));
      REFUSED (slice_try_alloc_n (size, 1));
      REFUSED_ALIGNED (slice_try_alloc_aligned (alignment, size));
    }
  REFUSED_PRODUCTS (slice_try_alloc_n (count, size));
}

/* --- contexts ------------------------------------------------------------ */

static void
refuse_nodes (void)
{
  void *root = ralloc_context (NULL);
  char *node = ralloc_strdup (root, "as it was");

  EACH_SIZE (size)
    {
      REFUSED (ralloc_size (root, size));
      REFUSED (ralloc_size (NULL, size));
      REFUSED (rzalloc_size (root, size));
      REFUSED (reralloc_size (root, node, size));
      REFUSED (rerzalloc_size (root, node, 10, size));
      REFUSED (ralloc_array_size (root, 1, size));
      REFUSED (ralloc_array_size (root, size, 1));
    }
  REFUSED_PRODUCTS (ralloc_array_size (root, size, count));
  REFUSED_PRODUCTS (rzalloc_array_size (root, size, count));
  REFUSED_PRODUCTS (reralloc_array_size (root, node, size, count));
  REFUSED_PRODUCTS (rerzalloc_array_size (root, node, size, 1, count));
  g_assert_cmpstr (node, ==, "as it was");
  g_assert_true (ralloc_parent (node) == root);
  g_assert_cmpuint (ralloc_total_nodes (root), ==, 2);
  ralloc_free (root);
}

static void
refuse_linear_contexts (void)
{
  RallocLinear *linear = ralloc_linear_context (NULL);
  char *object = ralloc_linear_strdup (linear, "as it was");

  EACH_SIZE (size)
    {
      REFUSED (ralloc_linear_alloc_child (linear, size));
      REFUSED (ralloc_linear_zalloc_child (linear, size));
    }
  REFUSED_PRODUCTS (ralloc_linear_alloc_child_array (linear, size, count));
  REFUSED_PRODUCTS (ralloc_linear_zalloc_child_array (linear, size, count));
  g_assert_cmpstr (object, ==, "as it was");
  ralloc_linear_free_context (linear);
}

static void
refuse_gc_contexts (void)
{
  RallocGc *gc = ralloc_gc_context (NULL);

  EACH_SIZE (size)
    for (size_t align = 8; align <= 16; align *= 2)
      {
        REFUSED (ralloc_gc_alloc_size (gc, size, align));
        REFUSED (ralloc_gc_zalloc_size (gc, size, align));
      }
  ralloc_free (gc);
}

/* --- arenas -------------------------------------------------------------- */

static void
refuse_linear (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *object = slice_linear_strdup (linear, "as it was");

  EACH_SIZE (size)
    {
      REFUSED (slice_linear_alloc (linear, size));
      REFUSED (slice_linear_resize (linear, object, 10, size));
      REFUSED_ALIGNED (slice_linear_alloc_aligned (linear, alignment, size));
    }
  REFUSED_PRODUCTS (slice_linear_alloc_n (linear, count, size));
  g_assert_cmpstr (object, ==, "as it was");
  slice_linear_destroy (linear);
}

static void
refuse_growing (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *object;
  size_t bytes;

  g_assert_true (slice_linear_grow (linear, 10, "as it was"));
  EACH_SIZE (size)
    {
      errno = 0;
      g_assert_false (slice_linear_grow (linear, size, NULL));
      g_assert_cmpint (errno, ==, ENOMEM);
    }
  object = slice_linear_finish (linear, &bytes);
  g_assert_cmpuint (bytes, ==, 10);
  g_assert_cmpstr (object, ==, "as it was");
  slice_linear_destroy (linear);
}

static void
refuse_stack (void)
{
  SliceStack *stack = slice_stack_new (NULL);
  char *object = slice_stack_alloc (stack, 10);

  memcpy (object, "as it was", 10);
  EACH_SIZE (size)
    {
      REFUSED (slice_stack_alloc (stack, size));
      REFUSED (slice_stack_resize (stack, object, 10, size));
      REFUSED_ALIGNED (slice_stack_alloc_aligned (stack, alignment, size));
    }
  g_assert_cmpstr (object, ==, "as it was");
  slice_stack_release (stack, object);
  g_assert_true (slice_stack_is_empty (stack));
  slice_stack_destroy (stack);
}

static void
refuse_tlsf_of (SliceTlsf *tlsf)
{
  char *object = slice_tlsf_alloc (tlsf, 10);

  memcpy (object, "as it was", 10);
  EACH_SIZE (size)
    {
      REFUSED (slice_tlsf_alloc (tlsf, size));
      REFUSED (slice_tlsf_resize (tlsf, object, size));
      REFUSED_ALIGNED (slice_tlsf_alloc_aligned (tlsf, alignment, size));
    }
  g_assert_cmpstr (object, ==, "as it was");
  slice_tlsf_free (tlsf, object);
}

static void
refuse_tlsf (void)
{
  size_t bytes = slice_tlsf_buffer_bytes (4096);
  void *buffer = g_malloc (bytes);
  SliceTlsf *tlsf = slice_tlsf_new (NULL);

  refuse_tlsf_of (tlsf);
  slice_tlsf_destroy (tlsf);
  refuse_tlsf_of (slice_tlsf_new_fixed (buffer, bytes));
  g_free (buffer);
}

/* A size that a pool can't have is said to be none. */
static void
refuse_pools (void)
{
  EACH_SIZE (size)
    {
      SlicePoolOptions options = { .object_bytes = size };

      errno = 0;
      g_assert_null (slice_pool_new (&options));
      g_assert_cmpint (errno, ==, EINVAL);
      errno = 0;
      g_assert_null (slice_pool_new_plain (size));
      g_assert_cmpint (errno, ==, EINVAL);
    }
}

/* --- all of them, in every mode ------------------------------------------ */

static const char *options;

static void
refuse_in_all_calls (void)
{
  refuse_slices ();
  refuse_nodes ();
  refuse_linear_contexts ();
  refuse_gc_contexts ();
  refuse_linear ();
  refuse_growing ();
  refuse_stack ();
  refuse_tlsf ();
  refuse_pools ();
}

/* The second time nothing is made that stays, so all must be as it was. */
static void
refuse_all (void)
{
  uint64_t n_live;

  test_options (options);
  refuse_in_all_calls ();
  n_live = test_live ();
  refuse_in_all_calls ();
  g_assert_cmpuint (test_live (), ==, n_live);
  g_assert_null (slice_validate (NULL));
}

static void
refuse_in_default (void)
{
  options = "";
  refuse_all ();
}

static void
refuse_in_checked (void)
{
  options = "checked";
  refuse_all ();
}

static void
refuse_in_hardened (void)
{
  options = "hardened";
  refuse_all ();
}

static void
refuse_in_debug (void)
{
  options = "debug";
  refuse_all ();
}

static void
refuse_in_malloc (void)
{
  options = "always-malloc";
  refuse_all ();
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  if (!test_can_limit_space ())
    return g_test_run ();
  test_limit_space ();
  test_add_fresh ("/slice/sizes/default", refuse_in_default);
  test_add_fresh ("/slice/sizes/checked", refuse_in_checked);
  test_add_fresh ("/slice/sizes/hardened", refuse_in_hardened);
  test_add_fresh ("/slice/sizes/debug", refuse_in_debug);
  test_add_fresh ("/slice/sizes/always-malloc", refuse_in_malloc);
  return g_test_run ();
}
