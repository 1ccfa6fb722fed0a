/* test-source-use.c - who uses the page sources that can be ended
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/arena/arena-test.h"

#include <errno.h>
#include <slice/ralloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB_BYTES ((size_t) 1 << 20)

typedef struct
{
  SliceLinear *linear;
  SliceStack *stack;
  SlicePool *pool;
  SliceTlsf *tlsf;
} Arenas;

static const SliceSource *
huge_new (void)
{
  return slice_source_huge_new (SLICE_HUGE_ADVISED, 0);
}

/* An arena of each kind; none but the heap has a page. */
static Arenas
arenas_new (const SliceSource *source, unsigned flags)
{
  SliceArenaOptions options = { .source = source };
  SliceArenaOptions locked = { .source = source, .flags = flags };
  SlicePoolOptions pool_options = { .object_bytes = 40, .arena = locked };

  return (Arenas){ .linear = slice_linear_new (&options),
                   .stack = slice_stack_new (&options),
                   .pool = slice_pool_new (&pool_options),
                   .tlsf = slice_tlsf_new (&locked) };
}

static void
arenas_destroy (const Arenas *arenas)
{
  slice_linear_destroy (arenas->linear);
  slice_stack_destroy (arenas->stack);
  slice_pool_destroy (arenas->pool);
  slice_tlsf_destroy (arenas->tlsf);
}

/* Once no arena is left, a source can be ended. */
static void
test_ended (void)
{
  const SliceSource *source = huge_new ();

  for (int round = 0; round < 4; round++)
    {
      Arenas arenas
          = arenas_new (source, (round & 2) != 0 ? SLICE_ARENA_LOCKED : 0);

      if ((round & 1) != 0)
        {
          g_assert_nonnull (slice_linear_alloc (arenas.linear, 100));
          g_assert_nonnull (slice_stack_alloc (arenas.stack, 100));
          g_assert_nonnull (slice_pool_alloc (arenas.pool));
          g_assert_nonnull (slice_tlsf_alloc (arenas.tlsf, 100));
          slice_linear_reset (arenas.linear, SLICE_KEEP_NONE);
        }
      arenas_destroy (&arenas);
    }
  slice_source_destroy (source);
}

/* Arenas of a context end with it. */
static void
test_ended_in_context (void)
{
  const SliceSource *source = huge_new ();
  SliceArenaOptions options = { .source = source };
  SlicePoolOptions pool_options = { .object_bytes = 40, .arena = options };
  void *context = ralloc_context (NULL);

  g_assert_nonnull (slice_linear_new_in (context, &options));
  g_assert_nonnull (slice_stack_new_in (context, &options));
  g_assert_nonnull (slice_pool_new_in (context, &pool_options));
  g_assert_nonnull (slice_tlsf_new_in (context, &options));
  ralloc_free (context);
  slice_source_destroy (source);
}

/* A heap that gets no memory is no user. */
static void
test_failed (void)
{
  FILE *file = tmpfile ();
  const SliceSource *source
      = slice_source_file_new (fileno (file), MIB_BYTES);
  SliceArenaOptions options = { .source = source, .first_bytes = 4096 };
  void *pages = source->map (source, MIB_BYTES, 4096);
  void *context = ralloc_context (NULL);

  g_assert_nonnull (pages);
  g_assert_null (slice_tlsf_new (&options));
  g_assert_cmpint (errno, ==, ENOMEM);
  g_assert_null (slice_tlsf_new_in (context, &options));
  ralloc_free (context);
  source->unmap (source, pages, MIB_BYTES);
  slice_source_destroy (source);
  fclose (file);
}

/* --- misuse -------------------------------------------------------------- */

MISUSE (linear, 307, "ended while arenas use it: 1")
{
  SliceArenaOptions options = { .source = huge_new () };

  slice_linear_new (&options);
  slice_source_destroy (options.source);
}

MISUSE (stack, 307, "ended while arenas use it: 1")
{
  SliceArenaOptions options = { .source = huge_new () };

  slice_stack_new (&options);
  slice_source_destroy (options.source);
}

MISUSE (pool, 307, "ended while arenas use it: 1")
{
  SlicePoolOptions options
      = { .object_bytes = 40, .arena.source = huge_new () };

  slice_pool_new (&options);
  slice_source_destroy (options.arena.source);
}

MISUSE (all, 307, "ended while arenas use it: 4")
{
  const SliceSource *source = huge_new ();

  arenas_new (source, SLICE_ARENA_LOCKED);
  slice_source_destroy (source);
}

MISUSE (context, 307, "ended while arenas use it: 1")
{
  SliceArenaOptions options = { .source = huge_new () };

  slice_linear_new_in (ralloc_context (NULL), &options);
  slice_source_destroy (options.source);
}

/* --- slices on such a source --------------------------------------------- */

/* With that option no block comes from the source. */
static bool
skip_always_malloc (void)
{
  int64_t value;

  slice_get_option (SLICE_OPTION_ALWAYS_MALLOC, &value);
  if (value != 0)
    g_test_skip ("blocks are malloc's");
  return value != 0;
}

static void
use_as_pages (const SliceSource *source)
{
  char *blocks[1000];

  slice_set_option (SLICE_OPTION_FORCE_POOL, 1);
  g_assert_nonnull (source);
  g_assert_cmpint (slice_set_source (source), ==, SLICE_SET_OK);
  for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i++)
    {
      blocks[i] = slice_alloc (1000);
      pattern_fill (blocks[i], 1000, i);
    }
  for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i++)
    {
      g_assert_true (pattern_holds (blocks[i], 1000, i));
      slice_free1 (1000, blocks[i]);
    }
}

static void
test_pages_huge (void)
{
  if (g_test_subprocess ())
    {
      use_as_pages (huge_new ());
      return;
    }
  if (skip_always_malloc ())
    return;
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
}

static void
test_pages_file (void)
{
  if (g_test_subprocess ())
    {
      FILE *file = tmpfile ();
      struct stat status;

      use_as_pages (slice_source_file_new (fileno (file), 64 * MIB_BYTES));
      g_assert_cmpint (fstat (fileno (file), &status), ==, 0);
      g_assert_cmpint (status.st_size, >=, 1000 * 1000);
      return;
    }
  if (skip_always_malloc ())
    return;
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
}

/* What source.h says of a buffer of that size, wherever it lies. */
static void
fill_buffer (size_t bytes, size_t least_percent)
{
  char *memory = g_malloc (bytes + 4 * MIB_BYTES);
  uintptr_t start
      = ((uintptr_t) memory + 2 * MIB_BYTES - 1) & -(2 * MIB_BYTES);
  const SliceSource *source
      = slice_source_fixed_new ((char *) start + 4096, bytes);
  size_t n = 0;

  slice_set_option (SLICE_OPTION_FORCE_POOL, 1);
  g_assert_cmpint (slice_set_source (source), ==, SLICE_SET_OK);
  while (slice_try_alloc (1024) != NULL)
    n++;
  g_assert_cmpuint (n * 1024, >=, bytes / 100 * least_percent);
  g_assert_cmpuint (n * 1024, <=, bytes);
}

static void
test_pages_buffer (gconstpointer data)
{
  const size_t *mibs_and_percent = data;

  if (g_test_subprocess ())
    {
      fill_buffer (mibs_and_percent[0] * MIB_BYTES, mibs_and_percent[1]);
      return;
    }
  if (skip_checked ("blocks are larger") || skip_always_malloc ())
    return;
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
}

int
main (int argc, char **argv)
{
  static const size_t buffers[][2] = { { 8, 50 }, { 16, 70 }, { 64, 90 } };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/source-use/ended", test_ended);
  g_test_add_func ("/slice/source-use/context", test_ended_in_context);
  g_test_add_func ("/slice/source-use/failed", test_failed);
  g_test_add_func ("/slice/source-use/misuse/linear", test_misuse_linear);
  g_test_add_func ("/slice/source-use/misuse/stack", test_misuse_stack);
  g_test_add_func ("/slice/source-use/misuse/pool", test_misuse_pool);
  g_test_add_func ("/slice/source-use/misuse/all", test_misuse_all);
  g_test_add_func ("/slice/source-use/misuse/context", test_misuse_context);
  g_test_add_func ("/slice/source-use/pages/huge", test_pages_huge);
  g_test_add_func ("/slice/source-use/pages/file", test_pages_file);
  g_test_add_data_func ("/slice/source-use/pages/buffer-8", buffers[0],
                        test_pages_buffer);
  g_test_add_data_func ("/slice/source-use/pages/buffer-16", buffers[1],
                        test_pages_buffer);
  g_test_add_data_func ("/slice/source-use/pages/buffer-64", buffers[2],
                        test_pages_buffer);
  return g_test_run ();
}
