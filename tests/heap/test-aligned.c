/* test-aligned.c - blocks of the heap with more alignment than 16
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"

#include <slice/heap.h>
#include <slice/slice.h>
#include <slice/stats.h>

#include <string.h>
#include <unistd.h>

enum
{
  ALIGNMENT_MIN = 32,
  ALIGNMENT_MAX = 4096,
  LEAST_BYTES = 256,      /* a block takes so much if classes of slices, */
  CLASS_ALIGNMENT = 64,   /* which have this alignment, do not serve it */
  CLASS_BYTES_MAX = 512,
  TOTAL_BYTES = 4 << 20,  /* of the blocks whose memory is counted */
  BLOCKS_MAX = TOTAL_BYTES / ALIGNMENT_MIN
};

static void *blocks[BLOCKS_MAX];
static void *volatile sink;

/* The test's path ends in its mode. */
static void
enter_mode (void)
{
  const char *mode = strrchr (g_test_get_path (), '/') + 1;

  test_options (strcmp (mode, "default") == 0 ? "" : mode);
}

/* --- memory -------------------------------------------------------------- */

/* The bytes of all slabs and of all runs of the heap. */
static size_t
bytes_cut (void)
{
  static SliceStats stats;
  SliceHeapCounts counts;
  size_t bytes;

  slice_heap_trim ();
  slice_get_stats (&stats);
  slice_heap_count (&counts);
  bytes = counts.run_bytes;
  for (unsigned i = 0; i < stats.n_classes; i++)
    bytes += stats.classes[i].n_slabs * stats.classes[i].slab_bytes;
  return bytes;
}

/* Counts the memory that many blocks of a size take. */
static size_t
block_bytes (size_t alignment, size_t size)
{
  size_t n = TOTAL_BYTES / size, bytes = bytes_cut ();

  for (size_t i = 0; i < n; i++)
    {
      blocks[i] = slice_heap_alloc_aligned (alignment, size);
      g_assert_nonnull (blocks[i]);
      g_assert_cmpuint ((uintptr_t) blocks[i] % alignment, ==, 0);
    }
  bytes = bytes_cut () - bytes;
  for (size_t i = 0; i < n; i++)
    slice_heap_free (blocks[i]);
  return bytes / n;
}

/* The memory of a block is its size and at most a tenth. */
static void
test_bytes (void)
{
  enter_mode ();
  for (size_t alignment = ALIGNMENT_MIN; alignment <= ALIGNMENT_MAX;
       alignment *= 2)
    for (size_t n = 1; n <= 4; n++)
      {
        size_t size = n * alignment;
        size_t least = alignment <= CLASS_ALIGNMENT ? size : LEAST_BYTES;
        size_t bytes = block_bytes (alignment, size);

        g_test_message ("%zu, %zu: %zu", alignment, size, bytes);
        g_assert_cmpuint (bytes, >=, size);
        g_assert_cmpuint (bytes, <=, MAX (size, least) * 11 / 10);
      }
}

/* With a canary it is the next multiple of the alignment. */
static void
test_bytes_with_canary (void)
{
  enter_mode ();
  for (size_t alignment = ALIGNMENT_MIN; alignment <= CLASS_ALIGNMENT;
       alignment *= 2)
    for (size_t n = 1; n <= 4; n++)
      {
        size_t bytes = block_bytes (alignment, n * alignment);

        g_test_message ("%zu, %zu: %zu", alignment, n * alignment, bytes);
        g_assert_cmpuint (bytes, >, n * alignment);
        g_assert_cmpuint (bytes, <=, (n + 1) * alignment * 11 / 10);
      }
}

/* --- sizes --------------------------------------------------------------- */

/* A block has the size that was requested, also after it was resized and in
 * the place of another block. */
static void
check_size (size_t alignment, size_t size, bool is_exact)
{
  size_t given = MAX (size, 1), smaller = given - given / 16;
  char *block = slice_heap_alloc_aligned (alignment, size);

  g_assert_nonnull (block);
  g_assert_cmpuint ((uintptr_t) block % alignment, ==, 0);
  g_assert_cmpuint (slice_heap_bytes (block), >=, given);
  if (is_exact)
    g_assert_cmpuint (slice_heap_bytes (block), ==, given);
  sink = block; /* the compiler knows of fewer bytes */
  memset (sink, 1, slice_heap_bytes (block));
  block = slice_heap_realloc (block, smaller);
  for (size_t i = 0; i < smaller; i++)
    g_assert_cmpint (block[i], ==, 1);
  if (is_exact)
    g_assert_cmpuint (slice_heap_bytes (block), ==, smaller);
  slice_heap_free_sized (block, smaller);
  block = slice_heap_alloc_aligned (alignment, size);
  memset (block, 2, size);
  slice_heap_free_sized (block, size);
}

static void
test_sizes (void)
{
  bool is_exact = strstr (g_test_get_path (), "default") == NULL
                  && !test_is_slow ();

  enter_mode ();
  for (size_t alignment = ALIGNMENT_MIN; alignment <= ALIGNMENT_MAX;
       alignment *= 2)
    for (size_t n = 0; n <= 9; n++)
      for (size_t less = 0; less <= MIN (n, 1) * 20; less++)
        check_size (alignment, n * alignment - less, is_exact);
}

/* --- messages ------------------------------------------------------------ */

static void
twice (size_t alignment, size_t size)
{
  enter_mode ();
  sink = slice_heap_alloc_aligned (alignment, size);
  slice_heap_free (sink);
  test_will_die ("slice: error 105: slice_heap_free: block is free already: "
                 "block %p, given size unknown [class unknown, thread %u]",
                 (void *) sink, test_thread_id ());
  slice_heap_free (sink);
}

static void
death_twice_small (void)
{
  twice (64, 64);
}

static void
death_twice_large (void)
{
  twice (256, 256);
}

static void
wrong_size (size_t alignment, size_t size, unsigned class_bytes)
{
  enter_mode ();
  sink = slice_heap_alloc_aligned (alignment, size);
  test_will_die ("slice: error 103: slice_heap_free_sized: block freed with a "
                 "wrong size: block %p, given size %zu, real size %zu "
                 "[class %u, thread %u]",
                 (void *) sink, size + 1, size, class_bytes,
                 test_thread_id ());
  slice_heap_free_sized (sink, size + 1);
}

static void
death_wrong_size_small (void)
{
  wrong_size (64, 70, 72);
}

static void
death_wrong_size_large (void)
{
  wrong_size (256, 256, 272);
}

/* slice_free1() would put the block into the class of its size. */
static void
death_free1 (void)
{
  enter_mode ();
  sink = slice_heap_alloc_aligned (64, 70);
  test_will_die ("slice: error 103: slice_free1: block freed with a wrong "
                 "size: block %p, given size 70, real size 70, from "
                 "slice_heap_alloc [class 72, thread %u]",
                 (void *) sink, test_thread_id ());
  slice_free1 (70, sink);
}

static void
overrun (size_t size, const char *sizes)
{
  test_will_die ("slice: error 113: slice_heap_free: written to behind its "
                 "end: block %p, given size %s, thread %u]",
                 (void *) sink, sizes, test_thread_id ());
  ((volatile char *) sink)[size]++;
  slice_heap_free (sink);
}

static void
death_overrun_small (void)
{
  enter_mode ();
  sink = slice_heap_alloc_aligned (64, 60);
  overrun (60, "60 [class 64");
}

/* A block without a guard that shrinks has one. */
static void
death_overrun_large (void)
{
  enter_mode ();
  sink = slice_heap_alloc_aligned (4096, 4096);
  sink = slice_heap_realloc (sink, 4000);
  overrun (4000, "unknown, real size 4000 [class malloc");
}

int
main (int argc, char **argv)
{
  static const char *const modes[]
      = { "default", "checked", "hardened", "debug" };

  test_init (&argc, &argv);
  for (unsigned i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      char *name = g_strconcat ("/slice/heap/sizes/", modes[i], NULL);

      test_add_fresh (name, test_sizes);
      g_free (name);
    }
  if (test_is_slow ()) /* a tool has every block */
    return g_test_run ();
  if (sysconf (_SC_PAGESIZE) <= 16384) /* else granules are larger */
    {
      test_add_fresh ("/slice/heap/bytes/default", test_bytes);
      test_add_fresh ("/slice/heap/bytes/checked", test_bytes);
      test_add_fresh ("/slice/heap/bytes/hardened", test_bytes_with_canary);
    }
  test_add_death ("/slice/heap/twice-small/checked", death_twice_small);
  test_add_death ("/slice/heap/twice-large/checked", death_twice_large);
  test_add_death ("/slice/heap/wrong-size-small/checked",
                  death_wrong_size_small);
  test_add_death ("/slice/heap/wrong-size-large/checked",
                  death_wrong_size_large);
  test_add_death ("/slice/heap/free1/checked", death_free1);
  test_add_death ("/slice/heap/overrun-small/hardened", death_overrun_small);
  test_add_death ("/slice/heap/overrun-large/checked", death_overrun_large);
  return g_test_run ();
}
