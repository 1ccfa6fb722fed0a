/* test-heap.c - slice/heap.h as a program uses it
 *
 * What malloc by slices promises is in tests/dropin/test-malloc.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"

#include <slice/heap.h>
#include <slice/slice.h>
#include <slice/stats.h>

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

static void *volatile sink;

static const char *const modes[]
    = { "default", "checked", "hardened", "debug", "always-malloc" };

/* The test's path ends in its mode. */
static void
enter_mode (void)
{
  const char *mode = strrchr (g_test_get_path (), '/') + 1;

  test_options (strcmp (mode, "default") == 0 ? "" : mode);
}

static void
check_aligned (size_t alignment, size_t size)
{
  char *block = slice_heap_alloc_aligned (alignment, size);

  g_assert_nonnull (block);
  g_assert_cmpuint ((uintptr_t) block % alignment, ==, 0);
  memset (block, 1, size);
  block = slice_heap_realloc (block, size + 100);
  g_assert_nonnull (block);
  for (size_t i = 0; i < size; i++)
    g_assert_cmpint (block[i], ==, 1);
  slice_heap_free (block);
}

/* Also those that the system's posix_memalign() refuses. */
static void
test_aligned (void)
{
  enter_mode ();
  for (size_t alignment = 1; alignment <= 1 << 16; alignment *= 2)
    for (size_t size = 0; size < 100000; size = size * 3 + 7)
      check_aligned (alignment, size);
}

static void
test_no_alignment (void)
{
  const size_t wrong[] = { 0, 3, 24, SIZE_MAX, ((size_t) 1 << 20) + 1 };

  enter_mode ();
  for (unsigned i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      errno = 0;
      g_assert_null (slice_heap_alloc_aligned (wrong[i], 100));
      g_assert_cmpint (errno, ==, EINVAL);
    }
}

/* 0 is a size like any other, for every call and block. */
static void
test_no_bytes (void)
{
  enter_mode ();
  for (size_t size = 0; size < 2000000; size = size * 3 + 7)
    {
      char *block = slice_heap_alloc (size), *other, *none;

      block = slice_heap_realloc (block, 0);
      other = slice_heap_realloc (slice_heap_alloc_aligned (64, size), 0);
      none = slice_heap_realloc (NULL, 0);
      g_assert_nonnull (block);
      g_assert_nonnull (other);
      g_assert_nonnull (none);
      g_assert_true (block != other && block != none && other != none);
      block = slice_heap_realloc (block, size + 1);
      g_assert_nonnull (block);
      memset (block, 1, size + 1);
      slice_heap_free (block);
      slice_heap_free (other);
      slice_heap_free (none);
    }
  g_assert_nonnull (sink = slice_heap_alloc0 (0));
  slice_heap_free (sink);
}

/* --- messages ------------------------------------------------------------ */

static void
free_small_twice (const char *operation)
{
  void *volatile block = slice_heap_alloc (100);

  slice_heap_free (block);
  test_will_die ("slice: error 101: %s: block freed twice in a row: block %p, "
                 "given size unknown, real size 112 [class 112, thread %u]",
                 operation, block, test_thread_id ());
  sink = block;
}

static void
death_twice (void)
{
  free_small_twice ("slice_heap_free");
  slice_heap_free (sink);
}

static void
death_sized (void)
{
  free_small_twice ("slice_heap_free_sized");
  slice_heap_free_sized (sink, 100);
}

static void
death_wrong_size (void)
{
  test_options ("checked");
  sink = slice_heap_alloc (100);
  test_will_die ("slice: error 103: slice_heap_free_sized: block freed with a "
                 "wrong size: block %p, given size 101, real size 100 "
                 "[class 104, thread %u]",
                 (void *) sink, test_thread_id ());
  slice_heap_free_sized (sink, 101);
}

static void
death_resize_freed (void)
{
  free_small_twice ("slice_heap_realloc");
  sink = slice_heap_realloc (sink, 500);
}

/* Blocks of slice_alloc() and of the heap are freed by the functions that
 * belong to them: in the checking modes each other call ends the program. */

static void
heap_free (void *block)
{
  slice_heap_free (block);
}

static void
heap_free_sized (void *block)
{
  slice_heap_free_sized (block, 40);
}

static void
heap_realloc (void *block)
{
  sink = slice_heap_realloc (block, 10000);
}

static void
heap_bytes (void *block)
{
  slice_heap_bytes (block);
}

static void
free1 (void *block)
{
  slice_free1 (40, block);
}

static const struct
{
  const char *call;
  void (*wrong) (void *block);
  size_t size;
  bool is_heaps; /* the block is */
} mixtures[] = { { "slice_heap_free", heap_free, 40, false },
                 { "slice_heap_free", heap_free, 5000, false },
                 { "slice_heap_free", heap_free, 500000, false },
                 { "slice_heap_free_sized", heap_free_sized, 40, false },
                 { "slice_heap_realloc", heap_realloc, 40, false },
                 { "slice_heap_realloc", heap_realloc, 5000, false },
                 { "slice_heap_bytes", heap_bytes, 5000, false },
                 { "slice_free1", free1, 40, true } };

static unsigned mixture;
static const char *mixture_mode;

static void
mix_up (void)
{
  size_t size = mixtures[mixture].size;

  test_options (mixture_mode);
  slice_heap_free (slice_heap_alloc (100));
  sink = mixtures[mixture].is_heaps ? slice_heap_alloc (size)
                                    : slice_alloc (size);
  mixtures[mixture].wrong (sink);
}

static void
test_mixtures (void)
{
  mixture_mode = strrchr (g_test_get_path (), '/') + 1;
  for (mixture = 0; mixture < G_N_ELEMENTS (mixtures); mixture++)
    {
      int status;
      char *said = test_capture (mix_up, &status);
      char *expected = g_strdup_printf (
          "slice: error 103: %s: block freed with a wrong size: *from %s*",
          mixtures[mixture].call,
          mixtures[mixture].is_heaps ? "slice_heap_alloc" : "slice_alloc");

      if (!g_pattern_match_simple (expected, said))
        g_error ("%s, %zu bytes: %s", mixtures[mixture].call,
                 mixtures[mixture].size, said);
      g_free (expected);
      g_free (said);
    }
}

/* --- memory beyond the blocks -------------------------------------------- */

static size_t
kept_bytes (void)
{
  SliceHeapCounts counts;

  slice_heap_count (&counts);
  return counts.kept_bytes;
}

/* The memory of a large block is kept for the next one of its size, but only
 * if there was one before. */
static void
test_recurring (void)
{
  const size_t size = 3 << 20;

  test_options ("");
  slice_heap_free (slice_heap_alloc (size));
  g_assert_cmpuint (kept_bytes (), ==, 0);
  slice_heap_free (slice_heap_alloc (2 * size)); /* not about that size */
  g_assert_cmpuint (kept_bytes (), ==, 0);
  slice_heap_free (slice_heap_alloc (size));
  g_assert_cmpuint (kept_bytes (), >=, size);
  slice_heap_free (slice_heap_alloc (size - size / 16));
  g_assert_cmpuint (kept_bytes (), >=, size);
  slice_heap_trim ();
  g_assert_cmpuint (kept_bytes (), ==, 0);
}

/* What empty runs give back is counted in the result, too. */
static void
trim_returns (size_t size)
{
  enum { BLOCKS = 20000 };
  static void *blocks[BLOCKS];
  SliceStats before, after;
  size_t bytes;

  for (unsigned i = 0; i < BLOCKS; i++)
    blocks[i] = slice_heap_alloc (size);
  for (unsigned i = 0; i < BLOCKS; i++)
    slice_heap_free (blocks[i]);
  g_assert_true (slice_get_stats (&before));
  bytes = slice_heap_trim ();
  g_assert_true (slice_get_stats (&after));
  g_assert_cmpuint (bytes, ==, after.returned_bytes - before.returned_bytes);
  g_assert_cmpuint (bytes, ==, before.held_bytes - after.held_bytes);
}

static void
test_trim_returns (void)
{
  test_options ("");
  trim_returns (10000);
  trim_returns (100);
  trim_returns (3000);
}

/* A block of more than 128 KiB is a mapping, which moves as a whole. */
static void
test_grown (void)
{
  const size_t sizes[] = { 129 << 10, 200 << 10, 400 << 10, 800 << 10 };
  SliceHeapCounts counts;
  char *block = NULL;

  test_options ("");
  for (unsigned i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      block = slice_heap_realloc (block, sizes[i]);
      g_assert_nonnull (block);
      block[i] = (char) i;
      slice_heap_count (&counts);
      g_assert_cmpuint (counts.n_runs, ==, 0);
      g_assert_cmpuint (counts.n_mapped, ==, 1);
    }
  for (unsigned i = 0; i < G_N_ELEMENTS (sizes); i++)
    g_assert_cmpint (block[i], ==, i);
  slice_heap_free (block);
  g_assert_cmpuint (kept_bytes (), ==, 0);
}

/* Without memory to map, a block may still be a run of an extent. */
static void
test_not_mapped (void)
{
  const struct rlimit none = { 0, RLIM_INFINITY },
                      any = { RLIM_INFINITY, RLIM_INFINITY };
  void *blocks[10];
  SliceHeapCounts counts;
  char *block;

  test_options ("");
  /* The first extent is a small one. */
  for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i++)
    blocks[i] = slice_heap_alloc (100000);
  /* The last keeps the second. */
  for (unsigned i = 0; i < G_N_ELEMENTS (blocks) - 1; i++)
    slice_heap_free (blocks[i]);
  g_assert_cmpint (setrlimit (RLIMIT_AS, &none), ==, 0);
  g_assert_null (slice_heap_alloc (1 << 20));
  block = slice_heap_alloc (300000);
  g_assert_cmpint (setrlimit (RLIMIT_AS, &any), ==, 0);
  g_assert_nonnull (block);
  memset (block, 1, 300000);
  g_assert_true (slice_heap_realloc (block, 200000) == block);
  slice_heap_count (&counts);
  g_assert_cmpuint (counts.n_runs, ==, 2);
  slice_heap_free (block);
  slice_heap_free (blocks[G_N_ELEMENTS (blocks) - 1]);
}

/* Without memory a block shrinks in place; in a checking mode, which notes the
 * size, it stays as it was. */
static void
test_shrink_without_memory (void)
{
  const struct rlimit none = { 0, RLIM_INFINITY },
                      any = { RLIM_INFINITY, RLIM_INFINITY };
  bool is_checked;
  char *block, *shrunk;
  int error;

  enter_mode ();
  is_checked = !g_str_has_suffix (g_test_get_path (), "/default")
               && !g_str_has_suffix (g_test_get_path (), "/always-malloc");
  block = slice_heap_alloc (2446);
  g_assert_cmpint (setrlimit (RLIMIT_AS, &none), ==, 0);
  for (size_t size = 1 << 20; size > 0; size /= 2)
    while (slice_heap_alloc (size) != NULL)
      continue;
  errno = 0;
  shrunk = slice_heap_realloc (block, 237);
  error = errno;
  g_assert_cmpint (setrlimit (RLIMIT_AS, &any), ==, 0);
  if (is_checked)
    {
      g_assert_null (shrunk);
      g_assert_cmpint (error, ==, ENOMEM);
      g_assert_cmpuint (slice_heap_bytes (block), ==, 2446);
      slice_heap_free_sized (block, 2446);
    }
  else
    {
      g_assert_true (shrunk == block);
      g_assert_cmpint (error, ==, 0);
      slice_heap_free_sized (block, 237);
    }
}

enum
{
  N_FITTED = 2000
};

/* Many blocks of one size between two classes lie in runs for that size;
 * larger ones of the same class do not. */
static void
test_fitted (void)
{
  static char *blocks[N_FITTED];
  const size_t size = 4368;
  char *block;

  test_options ("");
  for (unsigned i = 0; i < N_FITTED; i++)
    {
      blocks[i] = slice_heap_alloc (size);
      g_assert_nonnull (blocks[i]);
      memset (blocks[i], (int) (i % 127), size);
    }
  g_assert_cmpuint (slice_heap_bytes (blocks[0]), >, size);
  g_assert_cmpuint (slice_heap_bytes (blocks[N_FITTED - 1]), ==, size);
  block = slice_heap_realloc (blocks[N_FITTED - 1], size + 1);
  g_assert_cmpuint (slice_heap_bytes (block), >, size);
  blocks[N_FITTED - 1] = block;
  block = slice_heap_alloc_aligned (256, size);
  g_assert_cmpuint ((uintptr_t) block % 256, ==, 0);
  slice_heap_free (block);
  for (unsigned i = 0; i < N_FITTED; i++)
    {
      for (size_t k = 0; k < size; k++)
        g_assert_cmpint (blocks[i][k], ==, i % 127);
      slice_heap_free (blocks[i]);
    }
}

/* Blocks of all sizes of a class have no runs of their own. */
static void
test_not_fitted (void)
{
  static char *blocks[N_FITTED];

  test_options ("");
  for (unsigned i = 0; i < N_FITTED; i++)
    blocks[i] = slice_heap_alloc (4097 + i * 37 % 512);
  for (unsigned i = 0; i < N_FITTED; i++)
    {
      g_assert_cmpuint (slice_heap_bytes (blocks[i]), ==, 4608);
      slice_heap_free (blocks[i]);
    }
}

/* A few blocks of a size lie in the slabs of a larger one, and more get slabs
 * of their own.  Aligned blocks always do. */
static void
test_lent (void)
{
  enum
  {
    BYTES = 448,
    LARGER_BYTES = 512
  };
  unsigned n = 0;
  char *block, *larger;

  test_options ("");
  larger = slice_heap_alloc (LARGER_BYTES);
  block = slice_heap_alloc0 (BYTES);
  g_assert_cmpuint (slice_heap_bytes (block), ==, LARGER_BYTES);
  for (unsigned i = 0; i < BYTES; i++)
    g_assert_cmpint (block[i], ==, 0);
  sink = block; /* the compiler knows of fewer bytes */
  memset (sink, 1, LARGER_BYTES);
  while (slice_heap_bytes (sink = slice_heap_alloc (BYTES)) != BYTES)
    g_assert_cmpuint (n++, <, 100);
  g_assert_cmpuint (n, >, 10);
  slice_heap_free (block);
  slice_heap_free (larger);
  for (size_t alignment = 64; alignment >= 32; alignment /= 2)
    {
      sink = slice_heap_alloc (3 * alignment + 16);
      block = slice_heap_alloc_aligned (alignment, 3 * alignment);
      g_assert_cmpuint ((uintptr_t) block % alignment, ==, 0);
      g_assert_cmpuint (slice_heap_bytes (block), ==, 3 * alignment);
    }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  for (unsigned i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      char *name = g_strconcat ("/slice/heap/aligned/", modes[i], NULL);

      test_add_fresh (name, test_aligned);
      g_free (name);
      name = g_strconcat ("/slice/heap/no-alignment/", modes[i], NULL);
      test_add_fresh (name, test_no_alignment);
      g_free (name);
      name = g_strconcat ("/slice/heap/no-bytes/", modes[i], NULL);
      test_add_fresh (name, test_no_bytes);
      g_free (name);
      if (test_is_slow ()) /* a tool's malloc has other limits */
        continue;
      name = g_strconcat ("/slice/heap/shrink-without-memory/", modes[i],
                          NULL);
      test_add_fresh (name, test_shrink_without_memory);
      g_free (name);
    }
  if (!test_is_slow ()) /* a tool has every block */
    {
      test_add_death ("/slice/heap/death/twice", death_twice);
      test_add_death ("/slice/heap/death/sized", death_sized);
      test_add_death ("/slice/heap/death/wrong-size", death_wrong_size);
      test_add_death ("/slice/heap/death/resize-freed", death_resize_freed);
      test_add ("/slice/heap/mixtures/checked", test_mixtures);
      test_add ("/slice/heap/mixtures/hardened", test_mixtures);
      test_add ("/slice/heap/mixtures/debug", test_mixtures);
    }
  test_add_fresh ("/slice/heap/lent", test_lent);
  test_add_fresh ("/slice/heap/recurring", test_recurring);
  if (!test_is_slow ()) /* under a tool nothing is held */
    test_add_fresh ("/slice/heap/trim-returns", test_trim_returns);
  test_add_fresh ("/slice/heap/grown", test_grown);
  test_add_fresh ("/slice/heap/not-mapped", test_not_mapped);
  test_add_fresh ("/slice/heap/fitted", test_fitted);
  test_add_fresh ("/slice/heap/not-fitted", test_not_fitted);
  return g_test_run ();
}
