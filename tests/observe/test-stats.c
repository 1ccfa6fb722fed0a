/* test-stats.c - slice/observe/stats.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "tests/teststats.h"
#include "base/sizeclass.h"

#include <string.h>

static void
test_nothing_yet (void)
{
  SliceStats stats, zero;

  memset (&stats, 0xff, sizeof stats);
  memset (&zero, 0, sizeof zero);
  g_assert_false (slice_get_stats (&stats));
  zero.n_classes = stats.n_classes;
  g_assert_cmpmem (&stats, sizeof stats, &zero, sizeof zero);
}

static void
test_geometry (void)
{
  slice_free1 (8, slice_alloc (8));
  g_assert_true (slice_get_stats (&(SliceStats){ 0 }));
  g_assert_cmpuint (test_stats ()->n_classes, ==, SLICE_N_CLASSES);
  for (unsigned i = 1; i < SLICE_N_CLASSES; i++)
    {
      const SliceClassStats *class = &test_stats ()->classes[i];

      g_assert_cmpuint (class->block_bytes, ==,
                        sli_sizeclass_block_bytes (i));
      g_assert_cmpuint (class->chunk_bytes, >=, class->block_bytes);
      g_assert_cmpuint (class->slab_chunks * class->chunk_bytes, <=,
                        class->slab_bytes);
      g_assert_cmpuint (class->n_colours, >=, 1);
    }
}

/* A program with a later header has longer structs: their new fields, and
 * classes that the library does not have, are 0; what lies behind them stays.
 * One with fewer classes gets those. */
static void
test_other_sizes (void)
{
  enum
  {
    HEAD_MORE = 24,
    CLASS_MORE = 16,
    HEAD_BYTES = SLICE_STATS_HEAD_BYTES_V1 + HEAD_MORE,
    CLASS_BYTES = sizeof (SliceClassStats) + CLASS_MORE,
    CLASSES_MAX = SLICE_N_CLASSES + 3,
    BYTES = HEAD_BYTES + CLASSES_MAX * CLASS_BYTES
  };
  static union
  {
    SliceStats stats;
    char bytes[BYTES + 64];
  } room;
  static const char zero[CLASS_BYTES];
  void *block = slice_alloc (40);

  for (unsigned n = 1; n <= CLASSES_MAX; n++)
    {
      char *classes = room.bytes + HEAD_BYTES;
      unsigned n_known = n < SLICE_N_CLASSES ? n : SLICE_N_CLASSES;

      memset (&room, 0xaa, sizeof room);
      g_assert_true (
          slice_get_stats_v1 (&room.stats, HEAD_BYTES, CLASS_BYTES, n));
      g_assert_cmpuint (room.stats.n_classes, ==, n_known);
      g_assert_cmpuint (room.stats.live_blocks, ==, 1);
      g_assert_cmpmem (classes - HEAD_MORE, HEAD_MORE, zero, HEAD_MORE);
      for (unsigned i = 0; i < n; i++)
        {
          SliceClassStats class;
          char *start = classes + i * CLASS_BYTES;

          memcpy (&class, start, sizeof class);
          g_assert_cmpuint (class.block_bytes, ==,
                            i == 0 || i >= n_known
                                ? 0
                                : sli_sizeclass_block_bytes (i));
          g_assert_cmpuint (class.n_live, ==, i == SLICE_CLASS_V1 (40));
          g_assert_cmpmem (start + sizeof class, CLASS_MORE, zero, CLASS_MORE);
        }
      for (char *at = classes + n * CLASS_BYTES;
           at < room.bytes + sizeof room; at++)
        g_assert_cmpuint ((unsigned char) *at, ==, 0xaa);
    }
  slice_free1 (40, block);
}

/* Who takes the address speaks of version 1's sizes. */
static void
test_by_address (void)
{
  bool (*get) (SliceStats *) = slice_get_stats;
  SliceStats stats;

  slice_free1 (8, slice_alloc (8));
  memset (&stats, 0xff, sizeof stats);
  g_assert_true (get (&stats));
  g_assert_cmpuint (stats.n_classes, ==, SLICE_N_CLASSES);
  g_assert_cmpuint (stats.classes[0].block_bytes, ==, 0);
  g_assert_cmpuint (stats.classes[SLICE_N_CLASSES - 1].block_bytes, ==,
                    SLICE_SIZE_MAX);
}

/* What debug remembers of each live block is metadata, too. */
static void
test_debug_records (void)
{
  enum { N = 20000, RECORD_BYTES_MIN = 5 * sizeof (void *) };
  static void *blocks[N];
  uint64_t before;

  test_options ("debug");
  slice_free1 (40, slice_alloc (40));
  before = test_stats ()->meta_bytes;
  for (unsigned i = 0; i < N; i++)
    blocks[i] = slice_alloc (40);
  g_assert_cmpuint (test_stats ()->meta_bytes, >=,
                    before + N * RECORD_BYTES_MIN);
  for (unsigned i = 0; i < N; i++)
    slice_free1 (40, blocks[i]);
}

/* Live blocks and bytes against a counter beside them, a million times. */
static void
test_live_is_exact (void)
{
  enum { N = 5000 };
  static void *blocks[N];
  uint64_t n_live = 0, n_bytes = 0, n_large = 0;
  TestRandom random;

  test_random_init (&random, 0);
  for (unsigned turn = 0; turn < test_times (1000000, 50000); turn++)
    {
      unsigned at = test_random_below (&random, N);
      size_t size = at < 4900 ? 1 + at % SLICE_SIZE_MAX : at;
      unsigned class_index = (unsigned) SLICE_CLASS_V1 (MIN (size, 2064));
      size_t bytes = sli_sizeclass_block_bytes (class_index);
      bool was_free = blocks[at] == NULL;

      if (was_free)
        blocks[at] = slice_alloc (size);
      else
        {
          slice_free1 (size, blocks[at]);
          blocks[at] = NULL;
        }
      if (size <= SLICE_SIZE_MAX)
        {
          n_live += was_free ? 1 : (uint64_t) -1;
          n_bytes += was_free ? bytes : -(uint64_t) bytes;
        }
      else
        n_large += was_free ? 1 : (uint64_t) -1;
      if (turn % 5000 == 0)
        {
          const SliceStats *stats = test_stats ();

          g_assert_cmpuint (stats->live_blocks, ==, n_live);
          g_assert_cmpuint (stats->live_bytes, ==, n_bytes);
          g_assert_cmpuint (stats->n_large_allocs - stats->n_large_frees, ==,
                            n_large);
          g_assert_cmpuint (stats->held_bytes, <=, stats->mapped_bytes);
          g_assert_cmpuint (stats->live_bytes + stats->cached_bytes, <=,
                            stats->held_bytes);
        }
    }
}

static void
test_sums (void)
{
  void *blocks[2000];
  const SliceStats *stats;
  uint64_t live = 0, cached = 0;

  for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i++)
    blocks[i] = slice_alloc (i + 1);
  for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i += 2)
    slice_free1 (i + 1, blocks[i]);
  stats = test_stats ();
  for (unsigned i = 1; i < SLICE_N_CLASSES; i++)
    {
      const SliceClassStats *class = &stats->classes[i];

      g_assert_cmpuint (class->n_used, ==,
                        class->n_live + class->n_cached_threads
                            + class->n_cached_depot);
      g_assert_cmpuint (class->n_slabs, ==,
                        class->n_slabs_made - class->n_slabs_freed);
      g_assert_cmpuint (class->n_used, <=,
                        class->n_slabs * class->slab_chunks);
      live += class->n_live;
      cached += (class->n_cached_threads + class->n_cached_depot)
                * class->chunk_bytes;
    }
  g_assert_cmpuint (stats->live_blocks, ==, live);
  g_assert_cmpuint (stats->live_blocks, ==, 1000);
  g_assert_cmpuint (stats->cached_bytes, ==, cached);
  g_assert_cmpuint (stats->n_threads, ==, 1);
  for (unsigned i = 1; i < G_N_ELEMENTS (blocks); i += 2)
    slice_free1 (i + 1, blocks[i]);
}

/* Growth and the way back, as they show here. */
static void
test_adaptation_shows (void)
{
  static void *blocks[20000];
  const SliceClassStats *class;

  for (int turn = 0; turn < 3; turn++)
    {
      for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
        blocks[i] = slice_alloc (64);
      for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
        slice_free1 (64, blocks[i]);
    }
  class = test_class_stats (64);
  g_assert_cmpuint (class->n_grown, >, 0);
  g_assert_cmpuint (class->rounds_now, ==, class->rounds_peak);
  g_assert_cmpuint (class->rounds_now, >, 10);
  g_assert_cmpuint (class->n_depot_pushes, >, 0);
  g_assert_cmpuint (class->n_depot_pops + class->n_depot_misses, >, 0);
  g_assert_cmpuint (class->n_hits, ==, 0); /* only with `count' */
}

/* Statistics can be read while other threads work. */
static int is_looking = 1;

static void
flush_or_look (unsigned index, void *data G_GNUC_UNUSED)
{
  if (index == 0)
    {
      for (unsigned i = 0; i < test_times (5000, 500); i++)
        slice_get_stats (&(SliceStats){ 0 });
      g_atomic_int_set (&is_looking, 0);
      return;
    }
  while (g_atomic_int_get (&is_looking))
    {
      for (size_t size = 8; size < 200; size += 8)
        slice_free1 (size, slice_alloc (size));
      slice_thread_flush ();
      slice_trim (0);
    }
}

static void
test_beside_quarantines (void)
{
  test_options ("debug");
  test_gang (2, flush_or_look, NULL);
}

/* --- however a block comes and goes --------------------------------------- */

enum
{
  FREE_SIZED,
  FREE_UNSIZED,
  FREE_CHAIN,
  FREE_BULK,
  N_FREES
};

static void *
alloc_by (unsigned way, size_t alignment, size_t size)
{
  if (alignment != 0)
    return way == 0   ? slice_alloc_aligned (alignment, size)
           : way == 1 ? slice_alloc0_aligned (alignment, size)
                      : slice_try_alloc_aligned (alignment, size);
  return way == 0   ? slice_alloc (size)
         : way == 1 ? slice_alloc0_n (1, size)
                    : slice_try_alloc_n (1, size);
}

static void
free_by (unsigned way, size_t alignment, size_t size, void *block)
{
  if (way == FREE_UNSIZED)
    slice_free_unsized (block);
  else if (way == FREE_BULK)
    slice_free_bulk (1, &block);
  else if (way == FREE_CHAIN)
    {
      *(void **) block = NULL;
      if (alignment != 0)
        slice_free_chain_aligned (alignment, size, block, 0);
      else
        slice_free_chain_with_offset (size, block, 0);
    }
  else if (alignment != 0)
    slice_free_aligned (alignment, size, block);
  else
    slice_free1 (size, block);
}

/* slice_free_bulk() is for what is no malloc, in any mode. */
static bool
is_for_bulk (size_t alignment, size_t size)
{
  return size <= SLICE_SIZE_MAX && alignment <= 16;
}

static void
expect_held (unsigned way, size_t alignment, size_t size, uint64_t n)
{
  const SliceStats *stats = test_stats ();

  if (stats->live_blocks + stats->n_large_allocs - stats->n_large_frees != n)
    g_error ("way %u, alignment %zu, size %zu: %d live, %d and %d large", way,
             alignment, size, (int) stats->live_blocks,
             (int) stats->n_large_allocs, (int) stats->n_large_frees);
}

static void
each_way (size_t alignment, size_t size)
{
  for (unsigned way = 0; way < 3 * N_FREES; way++)
    {
      uint64_t n_live = test_live ();
      void *block;

      if (way % N_FREES == FREE_BULK && !is_for_bulk (alignment, size))
        continue;
      block = alloc_by (way / N_FREES, alignment, size);
      expect_held (way, alignment, size, 1);
      free_by (way % N_FREES, alignment, size, block);
      expect_held (way, alignment, size, 0);
      g_assert_cmpuint (test_live (), ==, n_live);
    }
}

static const char *options_now;

static void
each_way_in_mode (void)
{
  static const size_t sizes[]
      = { 8, 100, 1000, 2033, 2048, 2057, 2064, 2065, 2080, 3000, 70000 };

  test_options (options_now);
  for (unsigned i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      each_way (0, sizes[i]);
      for (size_t alignment = 8; alignment <= 4096; alignment *= 2)
        each_way (alignment, sizes[i]);
    }
}

static void
test_each_way (void)
{
  static const char *const modes[]
      = { "", "checked", "hardened", "debug", "always-malloc", "debug-blocks",
          "bypass-magazines", "count", "always-malloc,debug-blocks",
          "force-pool=2" };

  for (unsigned i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      int status;
      char *said;

      options_now = modes[i];
      said = test_capture (each_way_in_mode, &status);
      if (status != 0)
        g_error ("%s: %s", options_now, said);
      g_free (said);
    }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/stats/nothing-yet", test_nothing_yet);
  test_add_fresh ("/slice/stats/debug-records", test_debug_records);
  test_add_fresh ("/slice/stats/geometry", test_geometry);
  test_add_fresh ("/slice/stats/other-sizes", test_other_sizes);
  test_add ("/slice/stats/by-address", test_by_address);
  test_add_fresh ("/slice/stats/live-is-exact", test_live_is_exact);
  test_add_fresh ("/slice/stats/sums", test_sums);
  test_add ("/slice/stats/each-way", test_each_way);
  test_add_fresh ("/slice/stats/adaptation-shows", test_adaptation_shows);
  test_add_fresh ("/slice/stats/beside-quarantines", test_beside_quarantines);
  return g_test_run ();
}
