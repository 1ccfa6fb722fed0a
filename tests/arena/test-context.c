/* test-context.c - arenas as nodes of a context's tree
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/arena/arena-test.h"

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
  SliceArenaOptions options;
  SlicePoolOptions pool_options;
  void *context;
  SliceLinear *linear;
  SliceStack *stack;
  SlicePool *pool;
  SliceTlsf *tlsf;

  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source };
  pool_options = (SlicePoolOptions){ .object_bytes = 24, .arena = options };
  context = ralloc_context (NULL);
  n_ended = 0;
  linear = linear_with_objects (context, &options);
  stack = slice_stack_new_in (context, &options);
  pool = slice_pool_new_in (linear, &pool_options);
  tlsf = slice_tlsf_new_in (context, &options);
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
  SliceArenaOptions options;
  void *context;

  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source };
  context = ralloc_context (NULL);
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
  SliceArenaOptions options;
  void *here;
  void *there;
  SliceLinear *linear;
  char *object;
  size_t n_maps;

  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source };
  here = ralloc_context (NULL);
  there = ralloc_context (NULL);
  n_ended = 0;
  linear = linear_with_objects (here, &options);
  object = slice_linear_strdup (linear, "still there");
  n_maps = counting.n_maps;
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
  char *text = NULL;
  size_t n = 0;
  FILE *file;

  slice_linear_new_in (context, NULL);
  slice_stack_new_in (context, NULL);
  slice_pool_new_in (context, &pool);
  slice_tlsf_new_in (context, NULL);
  file = open_memstream (&text, &n);
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
  char *copy;

  pattern_fill (object, 100, 9);
  copy = slice_linear_export (linear, object, 100, context);
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
      SliceLinear *linear;
      SliceStack *stack;
      SlicePool *pool;
      SliceTlsf *tlsf;

      errno = 0;
      linear = slice_linear_new_in (NULL, &options);
      is_refused[0] = linear == NULL;
      g_assert_cmpint (errno, ==, linear == NULL ? EINVAL : 0);
      errno = 0;
      stack = slice_stack_new_in (NULL, &options);
      is_refused[1] = stack == NULL;
      g_assert_cmpint (errno, ==, stack == NULL ? EINVAL : 0);
      errno = 0;
      pool = slice_pool_new_in (NULL, &pool_options);
      is_refused[2] = pool == NULL;
      g_assert_cmpint (errno, ==, pool == NULL ? EINVAL : 0);
      errno = 0;
      tlsf = slice_tlsf_new_in (NULL, &options);
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

/* --- the program's calls for nodes, on an arena's node --- */

enum
{
  N_KINDS = 4,
  N_RESIZES = 6
};

static const char *const modes[]
    = { "", "checked", "hardened", "debug", "always-malloc" };

/* Runs the body in a process of its own for each mode. */
static void
in_each_mode (void (*body) (void))
{
  if (g_test_subprocess ())
    {
      body ();
      return;
    }
  for (size_t i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_setenv ("SLICE_OPTIONS", modes[i], TRUE);
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
      g_test_trap_assert_passed ();
    }
  g_unsetenv ("SLICE_OPTIONS");
}

/* One of each kind in a context, with memory of its source. */
static void *
arena_of_kind (void *context, CountingSource *counting, int kind)
{
  SliceArenaOptions options = { .source = &counting->source };
  SlicePoolOptions pool_options = { .object_bytes = 24, .arena = options };
  void *arena = NULL;

  if (kind == 0)
    arena = slice_linear_new_in (context, &options);
  else if (kind == 1)
    arena = slice_stack_new_in (context, &options);
  else if (kind == 2)
    arena = slice_pool_new_in (context, &pool_options);
  else
    arena = slice_tlsf_new_in (context, &options);
  for (int i = 0; i < 1000; i++)
    if (kind == 0)
      slice_linear_alloc (arena, 100);
    else if (kind == 1)
      slice_stack_alloc (arena, 100);
    else if (kind == 2)
      slice_pool_alloc (arena);
    else
      slice_tlsf_alloc (arena, 100);
  return arena;
}

static int own_kind;
static bool own_has_block;

/* The arena can still be used, and its children were freed. */
static void
note_own_end (void *arena)
{
  n_ended++;
  own_has_block = (own_kind == 0   ? slice_linear_alloc (arena, 10)
                   : own_kind == 1 ? slice_stack_alloc (arena, 10)
                   : own_kind == 2 ? slice_pool_alloc (arena)
                                   : slice_tlsf_alloc (arena, 10))
                  != NULL;
  g_assert_cmpuint (ralloc_total_nodes (arena), ==, 1);
}

static void
run_destructors (void)
{
  for (own_kind = 0; own_kind < N_KINDS; own_kind++)
    for (int way = 0; way < 4; way++)
      {
        CountingSource counting;
        void *context = ralloc_context (NULL);
        void *arena;

        counting_source_init (&counting);
        arena = arena_of_kind (context, &counting, own_kind);
        ralloc_size (arena, 10);
        n_ended = 0;
        own_has_block = false;
        ralloc_set_destructor (arena, note_own_end);
        if (way == 1)
          ralloc_set_destructor (arena, NULL);
        ralloc_set_name (arena, "mine");
        ralloc_free (way == 2 ? arena : context);
        g_assert_cmpint (n_ended, ==, way == 1 ? 0 : 1);
        g_assert_true (own_has_block == (way != 1));
        g_assert_cmpuint (counting.out_bytes, ==, 0);
        if (way == 2)
          ralloc_free (context);
      }
}

static void
test_destructors (void)
{
  in_each_mode (run_destructors);
}

/* --- arenas that another context holds --- */

static void
destroy_of_kind (void *arena, int kind)
{
  if (kind == 0)
    slice_linear_destroy (arena);
  else if (kind == 1)
    slice_stack_destroy (arena);
  else if (kind == 2)
    slice_pool_destroy (arena);
  else
    slice_tlsf_destroy (arena);
}

/* The calls that ask for no end, or that no living context contradicts. */
static void
run_held (void)
{
  for (int kind = 0; kind < N_KINDS; kind++)
    for (int way = 0; way < 3; way++)
      {
        CountingSource counting;
        void *context = ralloc_context (NULL);
        void *other = ralloc_context (NULL);
        void *arena;

        counting_source_init (&counting);
        arena = arena_of_kind (context, &counting, kind);
        ralloc_reference (way == 2 ? ralloc_context (arena) : other, arena);
        if (way == 0)
          ralloc_free (arena);
        else if (way == 1)
          ralloc_unlink (other, arena);
        g_assert_true (ralloc_parent (arena) == (way == 0 ? other : context));
        if (way != 0)
          destroy_of_kind (arena, kind);
        ralloc_free (other);
        g_assert_cmpuint (counting.out_bytes, ==, 0);
        ralloc_free (context);
      }
}

static void
test_held (void)
{
  in_each_mode (run_held);
}

static bool
refuse (void *arena)
{
  (void) arena;
  return true;
}

/* A destructor that refuses is the program's will. */
static void
run_refused (void)
{
  for (int kind = 0; kind < N_KINDS; kind++)
    {
      CountingSource counting;
      void *context = ralloc_context (NULL);
      void *arena;

      counting_source_init (&counting);
      arena = arena_of_kind (context, &counting, kind);
      ralloc_set_refusing_destructor (arena, refuse);
      destroy_of_kind (arena, kind);
      g_assert_true (ralloc_parent (arena) == context);
      ralloc_set_refusing_destructor (arena, NULL);
      destroy_of_kind (arena, kind);
      g_assert_cmpuint (counting.out_bytes, ==, 0);
      ralloc_free (context);
    }
}

static void
test_refused (void)
{
  in_each_mode (run_refused);
}

static const char *const destroys[N_KINDS]
    = { "slice_linear_destroy: linear arena", "slice_stack_destroy: stack",
        "slice_pool_destroy: pool", "slice_tlsf_destroy: TLSF heap" };

static void
test_misuse_held (void)
{
  const char *which = g_getenv ("TEST_HELD");
  char text[16];

  if (g_test_subprocess ())
    {
      CountingSource counting;
      void *context = ralloc_context (NULL);
      void *arena;

      counting_source_init (&counting);
      arena = arena_of_kind (context, &counting, atoi (which));
      ralloc_reference (ralloc_context (NULL), arena);
      destroy_of_kind (arena, atoi (which));
      return;
    }
#ifdef NOGLIB_GLIB_H
  g_test_skip ("a subprocess is a fork here, and its mode is decided");
  return;
#endif
  for (int i = 0; i < N_KINDS * 3; i++)
    {
      snprintf (text, sizeof text, "%d", i / 3);
      g_setenv ("TEST_HELD", text, TRUE);
      g_setenv ("SLICE_OPTIONS", modes[1 + i % 3], TRUE);
      expect_error (342, destroys[i / 3]);
    }
  g_unsetenv ("SLICE_OPTIONS");
}

static void
resize_node (void *context, void *node, int way)
{
  char *text = node;

  switch (way)
    {
    case 0:
      reralloc_size (context, node, 100000);
      break;
    case 1:
      reralloc_size (context, node, ralloc_usable_size (node));
      break;
    case 2:
      reralloc_size (context, node, 1);
      break;
    case 3:
      rerzalloc_size (context, node, 0, 16);
      break;
    case 4:
      reralloc_array_size (context, node, 16, 1000);
      break;
    default:
      memset (text, 0, 1);
      ralloc_strcat (&text, "more than there is space for, perhaps");
    }
}

/* What has a payload of the library's: an arena, or ralloc's own two. */
static void
test_misuse_resize (void)
{
  enum { N_NODES = N_KINDS + 2 };
  const char *which = g_getenv ("TEST_RESIZE");
  char text[16];

  if (g_test_subprocess ())
    {
      int number = atoi (which);
      int kind = number % N_NODES;
      CountingSource counting;
      void *context = ralloc_context (NULL);

      counting_source_init (&counting);
      resize_node (context,
                   kind < N_KINDS ? arena_of_kind (context, &counting, kind)
                   : kind == N_KINDS ? (void *) ralloc_linear_context (context)
                                     : (void *) ralloc_gc_context (context),
                   number / N_NODES);
      return;
    }
  for (int i = 0; i < N_NODES * N_RESIZES; i++)
    {
      const char *mode = modes[(i + i / N_NODES) % G_N_ELEMENTS (modes)];

      /* There a linear context is a node like any other. */
      if (i % N_NODES == N_KINDS
          && (is_annotated () || strcmp (mode, "always-malloc") == 0))
        continue;
      snprintf (text, sizeof text, "%d", i);
      g_setenv ("TEST_RESIZE", text, TRUE);
      g_setenv ("SLICE_OPTIONS", mode, TRUE);
      expect_error (213, "can't be resized");
    }
  g_unsetenv ("SLICE_OPTIONS");
}

/* What is empty grows. */
static void
run_empty (void)
{
  void *context = ralloc_context (NULL);
  SliceLinear *linear = slice_linear_new_in (context, NULL);
  size_t size = 1;
  volatile size_t no_bytes = 0; /* gcc 14 warns of a size that it knows */

  for (size_t grown = 0; grown < 10000; grown = grown * 2 + 1)
    {
      char *node = ralloc_size (context, no_bytes);
      void *child = ralloc_size (node, 0);

      node = reralloc_size (context, node, grown);
      memset (node, 1, grown);
      g_assert_true (ralloc_parent (child) == node);
      node = reralloc_size (context, node, 0);
      node = rerzalloc_size (context, node, 0, grown);
      g_assert_true (grown == 0 || node[grown - 1] == 0);
      child = reralloc_array_size (node, ralloc_context (node), 0, grown);
      g_assert_nonnull (reralloc_array_size (node, child, grown, 1));

      g_assert_true (slice_linear_grow (linear, 0, NULL));
      slice_linear_growing (linear, &size);
      g_assert_cmpuint (size, ==, 0);
      g_assert_true (slice_linear_grow (linear, 0, "x"));
      slice_linear_shrink (linear, 0);
      if (grown % 3 == 0)
        g_assert_true (slice_linear_grow (linear, grown, NULL));
      if (grown % 4 == 0)
        slice_linear_abandon (linear);
      else
        g_assert_nonnull (slice_linear_finish (linear, &size));
    }
  ralloc_free (context);
}

static void
test_empty_grows (void)
{
  in_each_mode (run_empty);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/arena-context/freed-with-context",
                   test_freed_with_context);
  g_test_add_func ("/slice/arena-context/destroy", test_destroy);
  g_test_add_func ("/slice/arena-context/destructors", test_destructors);
  g_test_add_func ("/slice/arena-context/held", test_held);
  g_test_add_func ("/slice/arena-context/refused", test_refused);
  g_test_add_func ("/slice/arena-context/misuse-held", test_misuse_held);
  g_test_add_func ("/slice/arena-context/misuse-resize", test_misuse_resize);
  g_test_add_func ("/slice/arena-context/empty-grows", test_empty_grows);
  g_test_add_func ("/slice/arena-context/small-limits", test_small_limits);
  g_test_add_func ("/slice/arena-context/steal", test_steal);
  g_test_add_func ("/slice/arena-context/report", test_report);
  g_test_add_func ("/slice/arena-context/export", test_export);
  g_test_add_func ("/slice/arena-context/misuse/export", test_misuse_export);
  return g_test_run ();
}
