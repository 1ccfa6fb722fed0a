/* test-arena-leaks.c - what arenas leave behind at exit, in debug
 *
 * A program that ends every arena that it made has nothing that was never
 * freed, whatever the arenas keep for the next one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"

#include <slice/arena.h>
#include <slice/ralloc.h>
#include <slice/stats.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAD "slice: warning 150: exit: "

/* Objects of many sizes: the largest have blocks of their own. */
#define N_OBJECTS 2000
#define SIZE_OF(i) ((i) % 300 == 299 ? 700000 : 8 + (i) % 97 * 24)
#define OBJECT_BYTES 48

/* What is left here is left on purpose: the leak sanitizer, where it is linked,
 * asks this for its options and keeps silent. */
const char *__lsan_default_options (void);

const char *
__lsan_default_options (void)
{
  return "detect_leaks=0";
}

/* --- bodies -------------------------------------------------------------- */

static void
fill_linear (SliceLinear *linear)
{
  for (size_t i = 0; i < N_OBJECTS; i++)
    memset (slice_linear_alloc (linear, SIZE_OF (i)), 1, SIZE_OF (i));
}

static void
fill_stack (SliceStack *stack)
{
  for (size_t i = 0; i < N_OBJECTS; i++)
    memset (slice_stack_alloc (stack, SIZE_OF (i)), 1, SIZE_OF (i));
}

static void
fill_pool (SlicePool *pool)
{
  for (size_t i = 0; i < N_OBJECTS * 20; i++)
    memset (slice_pool_alloc (pool), 1, OBJECT_BYTES);
}

static void
fill_tlsf (SliceTlsf *tlsf)
{
  for (size_t i = 0; i < N_OBJECTS; i++)
    memset (slice_tlsf_alloc (tlsf, SIZE_OF (i)), 1, SIZE_OF (i));
}

static void
use_each_kind (const SliceSource *source)
{
  SliceArenaOptions options = { .source = source };
  SlicePoolOptions pool_options = { .arena.source = source,
                                    .object_bytes = OBJECT_BYTES };
  SliceLinear *linear = slice_linear_new (&options);
  SliceStack *stack = slice_stack_new (&options);
  SlicePool *pool = slice_pool_new (&pool_options);
  SliceTlsf *tlsf = slice_tlsf_new (&options);

  fill_linear (linear);
  fill_stack (stack);
  fill_pool (pool);
  fill_tlsf (tlsf);
  slice_linear_destroy (linear);
  slice_stack_destroy (stack);
  slice_pool_destroy (pool);
  slice_tlsf_destroy (tlsf);
}

static void
leave_no_linear (void)
{
  SliceLinear *linear;

  test_options ("debug");
  linear = slice_linear_new (NULL);
  fill_linear (linear);
  slice_linear_destroy (linear);
}

static void
leave_no_stack (void)
{
  SliceStack *stack;

  test_options ("debug");
  stack = slice_stack_new (NULL);
  fill_stack (stack);
  slice_stack_destroy (stack);
}

static void
leave_no_pool (void)
{
  SlicePool *pool;

  test_options ("debug");
  pool = slice_pool_new_plain (OBJECT_BYTES);
  fill_pool (pool);
  slice_pool_destroy (pool);
}

static void
leave_no_tlsf (void)
{
  test_options ("debug");
  slice_tlsf_destroy (slice_tlsf_new (NULL));
}

static void
leave_no_fixed (void)
{
  static char buffer[1 << 20];
  SliceTlsf *tlsf;

  test_options ("debug");
  tlsf = slice_tlsf_new_fixed (buffer, sizeof buffer);
  memset (slice_tlsf_alloc (tlsf, 1000), 1, 1000);
  slice_tlsf_destroy (tlsf);
}

/* A source of the program's is ended by the program. */
static void
leave_no_sources (void)
{
  static char buffer[64 << 20];
  const SliceSource *huge, *file;
  int fd = memfd_create ("leaks", 0);

  test_options ("debug");
  use_each_kind (slice_source_fixed_new (buffer, sizeof buffer));
  huge = slice_source_huge_new (SLICE_HUGE_ADVISED, (size_t) 8 << 20);
  use_each_kind (huge);
  slice_source_destroy (huge);
  file = slice_source_file_new (fd, (size_t) 256 << 20);
  use_each_kind (file);
  slice_source_destroy (file);
  close (fd);
}

static void
leave_no_context (void)
{
  SlicePoolOptions pool_options = { .object_bytes = OBJECT_BYTES };
  void *context;

  test_options ("debug");
  context = ralloc_context (NULL);
  fill_linear (slice_linear_new_in (context, NULL));
  fill_stack (slice_stack_new_in (context, NULL));
  fill_pool (slice_pool_new_in (context, &pool_options));
  fill_tlsf (slice_tlsf_new_in (context, NULL));
  ralloc_free (context);
}

/* Enough at once that the table of spans grows, more than once. */
static void
leave_no_table (void)
{
  SliceLinear *linear;

  test_options ("debug");
  linear = slice_linear_new (NULL);
  for (int i = 0; i < 200; i++)
    for (int j = 0; j < 2; j++)
      ((char *) slice_linear_alloc (linear, 500000))[0] = 1;
  slice_linear_destroy (linear);
}

/* The pages came from a span that an earlier arena had made: what was never
 * freed is the later one's alone. */
static void
leave_a_later_one (void)
{
  leave_no_tlsf ();
  memset (slice_linear_alloc (slice_linear_new (NULL), 40000), 1, 40000);
}

/* --- tests --------------------------------------------------------------- */

static void
test_nothing (void)
{
  static const TestBody bodies[]
      = { leave_no_linear, leave_no_stack,   leave_no_pool,    leave_no_tlsf,
          leave_no_fixed,  leave_no_sources, leave_no_context, leave_no_table };

  for (size_t i = 0; i < G_N_ELEMENTS (bodies); i++)
    test_says_nothing (bodies[i]);
}

/* The same as the statistics see it: no block is live. */
static void
test_no_live_block (void)
{
  SliceStats stats;

  use_each_kind (NULL);
  g_assert_true (slice_get_stats (&stats));
  g_assert_cmpuint (stats.live_blocks, ==, 0);
  g_assert_cmpuint (stats.n_large_allocs, ==, stats.n_large_frees);
}

static void
test_arena (void)
{
  char *said = test_said_by (leave_a_later_one);
  char **lines = g_strsplit (said, "\n", -1);

  /* The sum, and the control block's place with the table of its blocks. */
  g_assert_cmpuint (g_strv_length (lines), >=, 3);
  g_assert_true (g_str_has_prefix (lines[0], HEAD "2 blocks, "));
  g_strfreev (lines);
  g_free (said);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/arena/leaks/nothing-of-ended-arenas", test_nothing);
  test_add_fresh ("/slice/arena/leaks/no-live-block", test_no_live_block);
  test_add ("/slice/arena/leaks/an-arena-that-never-ended", test_arena);
  return g_test_run ();
}
