/* test-context.c - arenas as nodes of a context's tree
 *
 * SPDX-License-Identifier: MIT
 */
#include "arena-test.h"

#include <string.h>
#include <slice/ralloc.h>

static int n_ended;

static void
note_end (void *data)
{
  (void) data;
  n_ended++;
}

static SliceLinear *
linear_with_objects (void *context, const SliceArenaOptions *options)
{
  SliceLinear *linear = slice_linear_new_in (context, options);
  for (int i = 0; i < 100000; i++)
    slice_linear_alloc (linear, 24);
  slice_linear_add_cleanup (linear, note_end, NULL);
  return linear;
}

static void
test_freed_with_context (void)
{
  CountingSource counting;
  counting_source_init (&counting);
  SliceArenaOptions options = { .source = &counting.source };
  SlicePoolOptions pool_options = { .object_bytes = 24, .arena = options };
  void *context = ralloc_context (NULL);
  n_ended = 0;
  SliceLinear *linear = linear_with_objects (context, &options);
  SliceStack *stack = slice_stack_new_in (context, &options);
  SlicePool *pool = slice_pool_new_in (linear, &pool_options);
  SliceTlsf *tlsf = slice_tlsf_new_in (context, &options);
  slice_stack_alloc (stack, 100);
  slice_pool_alloc (pool);
  slice_tlsf_alloc (tlsf, 100);
  g_assert_true (ralloc_parent (linear) == context);
  g_assert_true (ralloc_parent (pool) == linear);
  g_assert_cmpuint (counting.out_bytes, >, 2400000);
  ralloc_free (context);
  g_assert_cmpint (n_ended, ==, 1);
  g_assert_cmpuint (counting.out_bytes, ==, 0);
}

static void
test_destroy (void)
{
  CountingSource counting;
  counting_source_init (&counting);
  SliceArenaOptions options = { .source = &counting.source };
  void *context = ralloc_context (NULL);
  slice_linear_destroy (linear_with_objects (context, &options));
  slice_tlsf_destroy (slice_tlsf_new_in (context, &options));
  slice_stack_destroy (slice_stack_new_in (context, NULL));
  g_assert_cmpuint (counting.out_bytes, ==, 0);
  ralloc_free (context);
}

/* Moving changes one node's links, whatever the arena holds. */
static void
test_steal (void)
{
  CountingSource counting;
  counting_source_init (&counting);
  SliceArenaOptions options = { .source = &counting.source };
  void *here = ralloc_context (NULL);
  void *there = ralloc_context (NULL);
  n_ended = 0;
  SliceLinear *linear = linear_with_objects (here, &options);
  char *object = slice_linear_strdup (linear, "still there");
  size_t n_maps = counting.n_maps;
  ralloc_steal (there, linear);
  g_assert_true (ralloc_parent (linear) == there);
  ralloc_free (here);
  g_assert_cmpint (n_ended, ==, 0);
  g_assert_cmpstr (object, ==, "still there");
  g_assert_cmpuint (counting.n_maps, ==, n_maps);
  ralloc_free (there);
  g_assert_cmpint (n_ended, ==, 1);
}

/* Reports name what an arena is. */
static void
test_report (void)
{
  SlicePoolOptions pool = { .object_bytes = 24 };
  void *context = ralloc_context (NULL);
  slice_linear_new_in (context, NULL);
  slice_stack_new_in (context, NULL);
  slice_pool_new_in (context, &pool);
  slice_tlsf_new_in (context, NULL);
  char *text = NULL;
  size_t n = 0;
  FILE *file = open_memstream (&text, &n);
  ralloc_report (file, context);
  fclose (file);
  g_assert_nonnull (strstr (text, "  linear: "));
  g_assert_nonnull (strstr (text, "  stack: "));
  g_assert_nonnull (strstr (text, "  pool: "));
  g_assert_nonnull (strstr (text, "  tlsf: "));
  g_assert_null (strstr (text, "  node: "));
  free (text);
  ralloc_free (context);
}

static void
test_export (void)
{
  void *context = ralloc_context (NULL);
  SliceLinear *linear = slice_linear_new (NULL);
  char *object = slice_linear_alloc (linear, 100);
  pattern_fill (object, 100, 9);
  char *copy = slice_linear_export (linear, object, 100, context);
  slice_linear_destroy (linear);
  g_assert_true (ralloc_parent (copy) == context);
  g_assert_true (pattern_holds (copy, 100, 9));
  ralloc_free (context);
}

static void
test_misuse_export (void)
{
  if (g_test_subprocess ())
    {
      SliceLinear *linear = slice_linear_new (NULL);
      slice_linear_export (linear, &n_ended, sizeof n_ended, NULL);
      return;
    }
  expect_error (301, "which is not in it");
}

/* A limit that the empty arena would pass is refused; any other is kept. */
static void
test_small_limits (void)
{
  unsigned n_made[4] = { 0 };
  for (size_t limit = 1; limit < 20000; limit += limit < 2000 ? 7 : 500)
    {
      SliceArenaOptions options = { .limit_bytes = limit };
      SlicePoolOptions pool_options
          = { .object_bytes = 24, .arena = options };
      SliceArenaStats stats[4] = { 0 };
      SliceTlsfStats tlsf_stats = { 0 };
      bool is_refused[4];
      errno = 0;
      SliceLinear *linear = slice_linear_new_in (NULL, &options);
      is_refused[0] = linear == NULL;
      g_assert_cmpint (errno, ==, linear == NULL ? EINVAL : 0);
      errno = 0;
      SliceStack *stack = slice_stack_new_in (NULL, &options);
      is_refused[1] = stack == NULL;
      g_assert_cmpint (errno, ==, stack == NULL ? EINVAL : 0);
      errno = 0;
      SlicePool *pool = slice_pool_new_in (NULL, &pool_options);
      is_refused[2] = pool == NULL;
      g_assert_cmpint (errno, ==, pool == NULL ? EINVAL : 0);
      errno = 0;
      SliceTlsf *tlsf = slice_tlsf_new_in (NULL, &options);
      is_refused[3] = tlsf == NULL;
      g_assert_cmpint (errno, ==, tlsf == NULL ? EINVAL : 0);
      if (linear != NULL)
        slice_linear_get_stats (linear, &stats[0]);
      if (stack != NULL)
        slice_stack_get_stats (stack, &stats[1]);
      if (pool != NULL)
        slice_pool_get_stats (pool, &stats[2]);
      if (tlsf != NULL)
        slice_tlsf_get_stats (tlsf, &tlsf_stats);
      stats[3] = tlsf_stats.arena;
      for (int i = 0; i < 4; i++)
        {
          g_assert_cmpuint (stats[i].held_bytes, <=, limit);
          g_assert_false (is_refused[i] && n_made[i] > 0);
          n_made[i] += !is_refused[i];
        }
      ralloc_free (linear);
      ralloc_free (stack);
      ralloc_free (pool);
      ralloc_free (tlsf);
    }
  for (int i = 0; i < 4; i++)
    g_assert_cmpuint (n_made[i], >, 3);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/arena-context/freed-with-context",
                   test_freed_with_context);
  g_test_add_func ("/slice/arena-context/destroy", test_destroy);
  g_test_add_func ("/slice/arena-context/small-limits", test_small_limits);
  g_test_add_func ("/slice/arena-context/steal", test_steal);
  g_test_add_func ("/slice/arena-context/report", test_report);
  g_test_add_func ("/slice/arena-context/export", test_export);
  g_test_add_func ("/slice/arena-context/misuse/export", test_misuse_export);
  return g_test_run ();
}
