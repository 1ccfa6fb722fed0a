/* test-pool.c - pools against a model, and their promises
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/arena/arena-test.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <slice/handlers.h>

static SlicePool *
pool_new (size_t object_bytes, unsigned flags)
{
  SlicePoolOptions options
      = { .object_bytes = object_bytes, .arena = { .flags = flags } };

  return slice_pool_new (&options);
}

/* --- making --------------------------------------------------------------- */

/* The library copies plain pools.  So a pool of any size is like one that is
 * made from its options, whatever was done with the first. */
static void
test_all_alike (void)
{
  for (size_t size = 1; size < 700; size += 1 + size / 20)
    {
      SlicePool *asked = pool_new (size, 0);
      SlicePool *copy = slice_pool_new_plain (size);

      g_assert_cmpuint (slice_pool_chunk_bytes (copy), ==,
                        slice_pool_chunk_bytes (asked));
      for (int i = 0; i < 100; i++)
        {
          SliceArenaStats stats[2];
          char *object = slice_pool_alloc (copy);
          char *expected = slice_pool_alloc (asked);

          memset (object, 1, size);
          slice_pool_get_stats (copy, &stats[0]);
          slice_pool_get_stats (asked, &stats[1]);
          g_assert_cmpmem (&stats[0], sizeof *stats, &stats[1],
                           sizeof *stats);
          assert_stats_add_up (&stats[0]);
          if (stats[0].n_blocks == 1)
            g_assert_cmpint (object - (char *) copy, ==,
                             expected - (char *) asked);
          if (i % 7 == 3)
            {
              slice_pool_free (copy, object);
              slice_pool_free (asked, expected);
            }
        }
      slice_pool_destroy (copy);
      slice_pool_destroy (asked);
    }
}

/* --- model --------------------------------------------------------------- */

typedef struct
{
  void *object;
  unsigned number;
} Known;

static void
model_free_random (SlicePool *pool, GArray *known, size_t size)
{
  guint i = (guint) g_test_rand_int_range (0, (gint32) known->len);
  Known one = g_array_index (known, Known, i);

  g_assert_true (pattern_holds (one.object, size, one.number));
  slice_pool_free (pool, one.object);
  g_array_remove_index_fast (known, i);
}

static void
run_model (const SlicePoolOptions *options, unsigned n_operations)
{
  SlicePool *pool = slice_pool_new (options);
  size_t size = options->object_bytes;
  size_t alignment = options->alignment != 0 ? options->alignment : 8;
  GArray *known = g_array_new (FALSE, FALSE, sizeof (Known));
  GHashTable *out = g_hash_table_new (NULL, NULL);
  int rise = 70;

  for (unsigned i = 0; i < n_operations; i++)
    {
      SliceArenaStats stats;

      if (i % 3000 == 0)
        rise = rise == 70 ? 30 : 70;
      if (known->len == 0 || g_test_rand_int_range (0, 100) < rise)
        {
          Known one = { slice_pool_alloc (pool), i };

          g_assert_nonnull (one.object);
          g_assert_cmpuint ((uintptr_t) one.object % alignment, ==, 0);
          pattern_fill (one.object, size, i);
          g_array_append_val (known, one);
        }
      else
        model_free_random (pool, known, size);
      g_assert_cmpuint (slice_pool_n_live (pool), ==, known->len);
      if (i % 1000 != 0)
        continue;
      slice_pool_get_stats (pool, &stats);
      assert_stats_add_up (&stats);
      g_assert_cmpuint (stats.used_bytes, ==,
                        known->len * slice_pool_chunk_bytes (pool));
    }
  for (guint i = 0; i < known->len; i++)
    g_assert_true (
        g_hash_table_add (out, g_array_index (known, Known, i).object));
  while (known->len > 0)
    model_free_random (pool, known, size);
  g_assert_cmpuint (slice_pool_n_live (pool), ==, 0);
  slice_pool_destroy (pool);
  g_hash_table_destroy (out);
  g_array_free (known, TRUE);
}

static void
test_model (void)
{
  static const size_t sizes[] = { 1, 8, 12, 16, 24, 40, 64, 200, 3000, 70000 };
  unsigned n = g_test_slow () ? 200000 : 15000;

  for (size_t s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (unsigned flags = 0;
         flags <= (SLICE_ARENA_CHECKED | SLICE_ARENA_LOCKED); flags++)
      {
        SlicePoolOptions options
            = { .object_bytes = sizes[s], .arena = { .flags = flags } };

        run_model (&options, sizes[s] > 1000 ? n / 40 : n);
        options.alignment = 64;
        run_model (&options, n / 40);
        options.construct = construct_nothing;
        run_model (&options, n / 40);
      }
}

/* --- memory, order ------------------------------------------------------- */

static void
test_bytes_held (void)
{
  static const size_t sizes[] = { 8, 24, 64 };

  if (skip_watched ("objects have gaps under a tool")
      || skip_checked ("free objects have links behind them"))
    return;
  for (size_t s = 0; s < G_N_ELEMENTS (sizes); s++)
    {
      SlicePool *pool = slice_pool_new_plain (sizes[s]);
      size_t n = 100000;
      SliceArenaStats stats;
      size_t payload;

      for (size_t i = 0; i < n; i++)
        slice_pool_alloc (pool);
      slice_pool_get_stats (pool, &stats);
      g_test_message ("%zu bytes: %.3f held an object", sizes[s],
                      (double) stats.held_bytes / (double) n);
      payload = n * sizes[s];
      g_assert_cmpuint (stats.held_bytes, <=,
                        payload + payload / 50);
      slice_pool_destroy (pool);
    }
}

static void
test_last_in_first_out (void)
{
  SlicePool *pool = slice_pool_new_plain (48);
  void *a = slice_pool_alloc (pool);
  void *b = slice_pool_alloc (pool);
  void *c = slice_pool_alloc (pool);

  slice_pool_free (pool, a);
  slice_pool_free (pool, c);
  g_assert_true (slice_pool_alloc (pool) == c);
  g_assert_true (slice_pool_alloc (pool) == a);
  slice_pool_free (pool, b);
  slice_pool_destroy (pool);
}

/* Emptied in any order a pool starts afresh in the order of addresses. */
static void
test_starts_afresh (void)
{
  enum
  {
    N = 20000
  };
  static char *objects[N];
  SlicePool *pool = slice_pool_new_plain (32);
  SliceArenaStats stats;
  size_t n_requests;
  size_t n_up = 0;
  char *last = NULL;

  for (int i = 0; i < N; i++)
    objects[i] = slice_pool_alloc (pool);
  slice_pool_get_stats (pool, &stats);
  n_requests = stats.n_requests;
  for (int step = 0; step < 7919; step++)
    for (int i = step; i < N; i += 7919)
      slice_pool_free (pool, objects[i]);
  for (int i = 0; i < N; i++)
    {
      char *object = slice_pool_alloc (pool);

      n_up += object > last;
      last = object;
    }
  g_assert_cmpuint (n_up, >, N - 200);
  slice_pool_get_stats (pool, &stats);
  g_assert_cmpuint (stats.n_requests, ==, n_requests);
  slice_pool_destroy (pool);
}

static void
shuffle (void **objects, guint n)
{
  for (guint i = n - 1; i > 0; i--)
    {
      guint j = (guint) g_test_rand_int_range (0, (gint32) i + 1);
      void *object = objects[i];

      objects[i] = objects[j];
      objects[j] = object;
    }
}

/* Rises to so many objects, and falls to a tenth by random frees. */
static void
run_waves (const SlicePoolOptions *options, guint n)
{
  SlicePool *pool = slice_pool_new (options);
  size_t size = options->object_bytes;
  void **objects = g_new (void *, n);
  guint n_live = 0;

  for (unsigned wave = 0; wave < 5; wave++)
    {
      GHashTable *known = g_hash_table_new (NULL, NULL);
      SliceArenaStats stats;

      for (; n_live < n; n_live++)
        {
          objects[n_live] = slice_pool_alloc (pool);
          g_assert_nonnull (objects[n_live]);
          pattern_fill (objects[n_live], size, GPOINTER_TO_UINT (objects));
        }
      for (guint i = 0; i < n; i++)
        g_assert_true (g_hash_table_add (known, objects[i]));
      g_hash_table_destroy (known);
      shuffle (objects, n);
      for (; n_live > n / 10; n_live--)
        {
          g_assert_true (pattern_holds (objects[n_live - 1], size,
                                        GPOINTER_TO_UINT (objects)));
          slice_pool_free (pool, objects[n_live - 1]);
        }
      slice_pool_get_stats (pool, &stats);
      assert_stats_add_up (&stats);
      g_assert_cmpuint (slice_pool_n_live (pool), ==, n_live);
      if (wave == 3)
        slice_pool_trim (pool);
    }
  slice_pool_destroy (pool);
  g_free (objects);
}

static void
test_waves (void)
{
  static const size_t sizes[] = { 8, 24, 56, 200, 3000 };

  for (size_t s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (unsigned alignment = 0; alignment <= 64; alignment += 64)
      {
        SlicePoolOptions options
            = { .object_bytes = sizes[s], .alignment = alignment };
        guint n = sizes[s] > 1000 ? 2000 : 20000;
        CountingSource counting;
        size_t chunk;

        run_waves (&options, n);
        /* Blocks that lie anywhere. */
        counting_source_init (&counting);
        options.arena.source = &counting.source;
        run_waves (&options, n);
        options.arena.source = NULL;
        /* So that there is little memory for the pool's own lists. */
        chunk = sizes[s] + alignment + (is_annotated () ? 24 : 0);
        options.arena.limit_bytes = n * chunk + n * chunk / 8 + 200000;
        run_waves (&options, n);
      }
}

static size_t
held_bytes (const SlicePool *pool)
{
  SliceArenaStats stats;

  slice_pool_get_stats (pool, &stats);
  return stats.held_bytes;
}

/* Empty blocks go back while a few objects live on; a trim finds them all; and
 * what was reserved stays. */
static void
test_gives_blocks_back (void)
{
  enum
  {
    N = 400000,
    N_KEPT = 5
  };
  void **objects;
  SlicePool *pool;

  if (skip_watched ("tracked pools keep their blocks")
      || skip_checked ("tracked pools keep their blocks"))
    return;
  objects = g_new (void *, N);
  pool = slice_pool_new_plain (24);
  for (int reserves = 0; reserves <= 1; reserves++)
    {
      size_t full;

      for (int i = 0; i < N; i++)
        objects[i] = slice_pool_alloc (pool);
      full = held_bytes (pool);
      g_assert_true (!reserves || slice_pool_reserve (pool, 1));
      full = reserves ? held_bytes (pool) : full;
      shuffle (objects, N);
      for (int i = N_KEPT; i < N; i++)
        slice_pool_free (pool, objects[i]);
      if (reserves)
        g_assert_cmpuint (held_bytes (pool), >=, full);
      else
        g_assert_cmpuint (held_bytes (pool), <, full * 2 / 3);
      slice_pool_trim (pool);
      g_assert_cmpuint (held_bytes (pool), <, full / 10);
      for (int i = 0; i < N_KEPT; i++)
        slice_pool_free (pool, objects[i]);
    }
  slice_pool_destroy (pool);
  g_free (objects);
}

static void
check_trim (SlicePool *pool)
{
  SliceArenaStats before, after;
  size_t n_live = slice_pool_n_live (pool);
  size_t n;

  slice_pool_get_stats (pool, &before);
  n = slice_pool_trim (pool);
  slice_pool_get_stats (pool, &after);
  g_assert_cmpuint (after.held_bytes, <=, before.held_bytes);
  g_assert_cmpuint (before.held_bytes - after.held_bytes, ==, n);
  g_assert_cmpuint (slice_pool_n_live (pool), ==, n_live);
}

/* A trim may need bits to find that no block is empty, and gives them back:
 * after it no pool holds more.  Few or many objects are free, of one block or
 * of many, with bits from earlier frees and without. */
static void
test_trim_holds_no_more (void)
{
  enum
  {
    N = 20000
  };
  static const size_t sizes[] = { 8, 24, 40, 500, 3000 };
  static const int kept[] = { 2, 10, 1000, N };
  void **objects = g_new (void *, N);

  for (size_t i = 0; i < G_N_ELEMENTS (sizes) * G_N_ELEMENTS (kept); i++)
    {
      int one_of = kept[i % G_N_ELEMENTS (kept)];
      SlicePool *pool
          = slice_pool_new_plain (sizes[i / G_N_ELEMENTS (kept)]);

      for (int round = 0; round < 4; round++)
        for (int n = 5; n <= N; n *= 8)
          {
            for (int j = 0; j < n; j++)
              {
                objects[j] = slice_pool_alloc (pool);
                memset (objects[j], 1, sizes[i / G_N_ELEMENTS (kept)]);
              }
            if (round % 2 == 1)
              shuffle (objects, (size_t) n);
            for (int j = 0; j < n; j++)
              if (j % one_of != 0)
                slice_pool_free (pool, objects[j]);
            check_trim (pool);
            check_trim (pool);
            for (int j = 0; j < n; j += one_of)
              slice_pool_free (pool, objects[j]);
            if (round > 1)
              check_trim (pool);
          }
      check_trim (pool);
      slice_pool_destroy (pool);
    }
  g_free (objects);
}

/* Allocates n objects of 24 bytes, frees all but one, and trims.  Then the
 * pool has the block behind the control block, and that of the object. */
static void
check_trim_returns_empty (const SlicePoolOptions *options, size_t n,
                          size_t kept)
{
  void *objects[2000];
  SlicePool *pool = slice_pool_new (options);
  SliceArenaStats stats;

  for (size_t i = 0; i < n; i++)
    {
      objects[i] = slice_pool_alloc (pool);
      memset (objects[i], 7, 24);
    }
  for (size_t i = 0; i < n; i++)
    if (i != kept)
      slice_pool_free (pool, objects[i]);
  check_trim (pool);
  slice_pool_get_stats (pool, &stats);
  assert_stats_add_up (&stats);
  g_assert_cmpuint (stats.n_blocks, <=, kept == 0 ? 1 : 2);
  g_assert_cmpuint (stats.n_spare_blocks, ==, 0);
  for (size_t i = 0; i < 24; i++)
    g_assert_cmpint (((char *) objects[kept])[i], ==, 7);

  /* what is left serves the next objects */
  for (size_t i = 0; i < n; i++)
    if (i != kept)
      memset (objects[i] = slice_pool_alloc (pool), 8, 24);
  g_assert_cmpuint (slice_pool_n_live (pool), ==, n);
  for (size_t i = 0; i < 24; i++)
    g_assert_cmpint (((char *) objects[kept])[i], ==, 7);
  slice_pool_free_bulk (pool, n, objects);
  slice_pool_destroy (pool);
}

static void
test_trim_returns_empty (void)
{
  for (int kind = 0; kind < 3; kind++)
    for (size_t n = 2; n <= 2000; n += 61)
      {
        SlicePoolOptions options = { .object_bytes = 24 };

        if (kind == 1)
          options.arena.flags = SLICE_ARENA_CHECKED;
        if (kind == 2)
          options.construct = construct_nothing;
        check_trim_returns_empty (&options, n, 0);
        check_trim_returns_empty (&options, n, n / 2);
        check_trim_returns_empty (&options, n, n - 1);
      }
}

static void
test_bulk (void)
{
  void *objects[100];
  SlicePool *pool = slice_pool_new_plain (24);

  for (int i = 0; i < 100; i++)
    objects[i] = slice_pool_alloc (pool);
  objects[50] = NULL;
  slice_pool_free_bulk (pool, 100, objects);
  g_assert_cmpuint (slice_pool_n_live (pool), ==, 1);
  slice_pool_reset (pool, SLICE_KEEP_LARGEST);
  g_assert_cmpuint (slice_pool_n_live (pool), ==, 0);
  slice_pool_destroy (pool);
}

static void
test_reset_and_trim (void)
{
  CountingSource counting;
  SlicePoolOptions options;
  SlicePool *pool;

  counting_source_init (&counting);
  options = (SlicePoolOptions){ .object_bytes = 40,
                                .arena = { .source = &counting.source } };
  pool = slice_pool_new (&options);
  for (int round = 0; round < 4; round++)
    {
      SliceArenaStats stats;
      size_t n_expected;

      for (int i = 0; i < 30000; i++)
        g_assert_nonnull (slice_pool_alloc (pool));
      slice_pool_reset (pool, (SliceKeep) round);
      slice_pool_get_stats (pool, &stats);
      assert_stats_add_up (&stats);
      n_expected = round == SLICE_KEEP_NONE ? 0 : 1;
      if (round < SLICE_KEEP_ALL)
        g_assert_cmpuint (stats.n_blocks, ==, n_expected);
    }
  g_assert_cmpuint (slice_pool_trim (pool), >, 0);
  g_assert_cmpuint (counting.out_bytes, ==, 0);
  slice_pool_destroy (pool);
}

/* --- constructed objects ------------------------------------------------- */

static size_t n_constructed;
static size_t n_destructed;

static bool
construct (void *object, void *data)
{
  (void) data;
  memset (object, 0x5a, 40);
  n_constructed++;
  return true;
}

static void
destruct (void *object, void *data)
{
  (void) data;
  g_assert_cmpint (*(char *) object, ==, 0x5a);
  n_destructed++;
}

static void
test_constructed (void)
{
  enum
  {
    N = 5000
  };
  SlicePoolOptions options;
  SlicePool *pool;
  static char *objects[N];

  n_constructed = 0;
  n_destructed = 0;
  options = (SlicePoolOptions){ .object_bytes = 40,
                                .construct = construct,
                                .destruct = destruct };
  pool = slice_pool_new (&options);
  for (int round = 0; round < 3; round++)
    {
      for (int i = 0; i < N; i++)
        {
          objects[i] = slice_pool_alloc (pool);
          for (int k = 0; k < 40; k++)
            g_assert_cmpint (objects[i][k], ==, 0x5a);
        }
      for (int i = 0; i < N; i++)
        slice_pool_free (pool, objects[i * 7 % N]);
    }
  g_assert_cmpuint (n_constructed, ==, N);
  g_assert_cmpuint (n_destructed, ==, 0);
  slice_pool_reset (pool, SLICE_KEEP_NONE);
  g_assert_cmpuint (n_destructed, >, N - 20);
  slice_pool_alloc (pool);
  slice_pool_destroy (pool);
  g_assert_cmpuint (n_destructed, ==, n_constructed);
}

/* A trim destroys the constructed objects of the blocks that it returns. */
static void
test_constructed_trim (void)
{
  SlicePoolOptions options;
  SlicePool *pool;
  void *objects[1000];
  SliceArenaStats stats;

  n_constructed = 0;
  n_destructed = 0;
  options = (SlicePoolOptions){ .object_bytes = 40,
                                .construct = construct,
                                .destruct = destruct };
  pool = slice_pool_new (&options);
  for (int i = 0; i < 1000; i++)
    objects[i] = slice_pool_alloc (pool);
  slice_pool_free_bulk (pool, 999, objects + 1);
  g_assert_cmpuint (n_destructed, ==, 0);
  g_assert_cmpuint (slice_pool_trim (pool), >, 0);
  slice_pool_get_stats (pool, &stats);
  g_assert_cmpuint (stats.n_blocks, ==, 1);
  g_assert_cmpuint (n_destructed, >, 900);
  g_assert_cmpuint (n_destructed, <, 1000);
  slice_pool_destroy (pool);
  g_assert_cmpuint (n_destructed, ==, n_constructed);
}

static bool
construct_sometimes (void *object, void *data)
{
  (void) object;
  return ++*(int *) data % 3 != 0;
}

static void
test_construct_fails (void)
{
  int n = 0;
  SlicePoolOptions options
      = { .object_bytes = 40, .construct = construct_sometimes, .data = &n };
  SlicePool *pool = slice_pool_new (&options);
  int n_got = 0;

  for (int i = 0; i < 300; i++)
    n_got += slice_pool_alloc (pool) != NULL;
  g_assert_cmpint (n_got, ==, 200);
  g_assert_cmpuint (slice_pool_n_live (pool), ==, 200);
  slice_pool_destroy (pool);
}

static void
test_bad_options (void)
{
  SlicePoolOptions bad[] = {
    { .object_bytes = 0 },
    { .object_bytes = (size_t) 2 << 20 },
    { .object_bytes = 8, .alignment = 24 },
    { .object_bytes = 8, .alignment = 8192 },
    { .object_bytes = 8, .arena = { .flags = 4 } },
    { .object_bytes = 8, .arena = { .struct_bytes = 1 } },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      errno = 0;
      g_assert_null (slice_pool_new (&bad[i]));
      g_assert_cmpint (errno, ==, EINVAL);
    }
}

static void
test_failing_source (void)
{
  CountingSource counting;

  counting_source_init (&counting);
  for (size_t k = 0; k < 10; k++)
    for (unsigned flags = 0; flags <= SLICE_ARENA_CHECKED; flags++)
      {
        SlicePoolOptions options
            = { .object_bytes = 100,
                .arena = { .source = &counting.source, .flags = flags } };
        SlicePool *pool = slice_pool_new (&options);
        size_t n = 0;

        counting.n_until_failure = k;
        while (n < 5000 && slice_pool_alloc (pool) != NULL)
          n++;
        g_assert_cmpuint (slice_pool_n_live (pool), ==, n);
        counting.n_until_failure = SIZE_MAX;
        g_assert_nonnull (slice_pool_alloc (pool));
        slice_pool_destroy (pool);
        g_assert_cmpuint (counting.out_bytes, ==, 0);
      }
}

/* The stack of addresses, the tracks and their bits count, too. */
static void
test_limit (void)
{
  enum
  {
    LIMIT = 30000
  };
  static void *objects[LIMIT];
  static const size_t sizes[] = { 8, 16, 100 };

  for (size_t s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (unsigned flags = 0; flags <= SLICE_ARENA_CHECKED; flags++)
      {
        SlicePoolOptions options
            = { .object_bytes = sizes[s],
                .arena = { .limit_bytes = LIMIT, .flags = flags } };
        SlicePool *pool = slice_pool_new (&options);
        SliceArenaStats stats;

        for (int round = 0; round < 3; round++)
          {
            size_t n = 0;

            while ((objects[n] = slice_pool_alloc (pool)) != NULL)
              {
                n++;
                slice_pool_get_stats (pool, &stats);
                g_assert_cmpuint (stats.held_bytes, <=, LIMIT);
              }
            g_assert_cmpint (errno, ==, ENOMEM);
            g_assert_cmpuint (n * sizes[s], >, LIMIT / 8);
            for (size_t i = n - n / 2; i > 0; i--)
              slice_pool_free (pool, objects[i]);
            slice_pool_get_stats (pool, &stats);
            g_assert_cmpuint (stats.held_bytes, <=, LIMIT);
            slice_pool_reset (pool, (SliceKeep) round);
          }
        slice_pool_destroy (pool);
      }
}

/* --- reserve ------------------------------------------------------------- */

static void
reserve_with (CountingSource *counting, size_t size, size_t alignment,
              unsigned flags, bool is_constructed)
{
  SlicePoolOptions options
      = { .object_bytes = size,
          .alignment = alignment,
          .construct = is_constructed ? construct_nothing : NULL,
          .arena = { .source = &counting->source, .flags = flags } };
  SlicePool *pool = slice_pool_new (&options);
  static const size_t ns[] = { 1, 10, 1000, 777, 5000 };

  for (size_t i = 0; i < G_N_ELEMENTS (ns); i++)
    {
      size_t n_maps;
      void *last = NULL;
      SliceArenaStats stats;

      g_assert_true (slice_pool_reserve (pool, ns[i]));
      n_maps = counting->n_maps;
      counting->n_until_failure = 0;
      for (size_t n = 0; n < ns[i]; n++)
        g_assert_nonnull (last = slice_pool_alloc (pool));
      g_assert_cmpuint (counting->n_maps, ==, n_maps);
      slice_pool_free (pool, last);
      g_assert_true (slice_pool_reserve (pool, 1));
      g_assert_nonnull (slice_pool_alloc (pool));
      counting->n_until_failure = SIZE_MAX;
      slice_pool_get_stats (pool, &stats);
      assert_stats_add_up (&stats);
      if (i == 2) /* what a reset keeps counts */
        {
          slice_pool_reset (pool, SLICE_KEEP_ALL);
          n_maps = counting->n_maps;
          g_assert_true (slice_pool_reserve (pool, 1000));
          g_assert_cmpuint (counting->n_maps, ==, n_maps);
        }
    }
  slice_pool_destroy (pool);
  g_assert_cmpuint (counting->out_bytes, ==, 0);
}

static void
test_reserve (void)
{
  CountingSource counting;

  counting_source_init (&counting);
  for (unsigned flags = 0; flags <= SLICE_ARENA_CHECKED; flags++)
    {
      reserve_with (&counting, 8, 0, flags, false);
      reserve_with (&counting, 24, 0, flags, false);
      reserve_with (&counting, 100, 64, flags, false);
      reserve_with (&counting, 3000, 4096, flags, false);
      reserve_with (&counting, 24, 0, flags, true);
    }
}

/* Without memory the pool is as it was. */
static void
test_reserve_fails (void)
{
  CountingSource counting;

  counting_source_init (&counting);
  for (unsigned flags = 0; flags <= SLICE_ARENA_CHECKED; flags++)
    {
      SlicePoolOptions options = { .object_bytes = 24,
                                   .arena = { .source = &counting.source,
                                              .limit_bytes = 1 << 20,
                                              .flags = flags } };
      SlicePool *pool = slice_pool_new (&options);
      volatile size_t many[] = { SIZE_MAX, SIZE_MAX / 24 + 2, 1 << 20 };
      size_t out_bytes;

      g_assert_nonnull (slice_pool_alloc (pool));
      out_bytes = counting.out_bytes;
      for (size_t i = 0; i < G_N_ELEMENTS (many); i++)
        {
          errno = 0;
          g_assert_false (slice_pool_reserve (pool, many[i]));
          g_assert_cmpint (errno, ==, ENOMEM);
          g_assert_cmpuint (counting.out_bytes, ==, out_bytes);
        }
      counting.n_until_failure = 0;
      g_assert_false (slice_pool_reserve (pool, 1000));
      counting.n_until_failure = SIZE_MAX;
      g_assert_true (slice_pool_reserve (pool, 0));
      g_assert_true (slice_pool_reserve (pool, 1000));
      slice_pool_destroy (pool);
      g_assert_cmpuint (counting.out_bytes, ==, 0);
    }
}

/* What was reserved can be allocated, however little the limit leaves. */
static void
reserve_below (size_t limit_bytes, SlicePoolOptions options, size_t n_before,
               bool frees)
{
  enum { N_MOST = 400 };
  void *objects[N_MOST];
  size_t n = 0, n_reserved = limit_bytes / options.object_bytes;
  SlicePool *pool;

  options.arena.limit_bytes = limit_bytes;
  pool = slice_pool_new (&options);
  if (pool == NULL)
    return;
  while (n < n_before && (objects[n] = slice_pool_alloc (pool)) != NULL)
    n++;
  for (size_t i = 0; frees && i < n; i += 2)
    slice_pool_free (pool, objects[i]);
  while (n_reserved > 0 && !slice_pool_reserve (pool, n_reserved))
    n_reserved--;
  for (size_t i = 0; i < n_reserved; i++)
    g_assert_nonnull (slice_pool_alloc (pool));
  slice_pool_destroy (pool);
}

static void
test_reserve_near_limit (void)
{
  for (size_t limit = 1000; limit < 9500; limit += 104)
    for (size_t n_before = 0; n_before < 400; n_before += 29)
      for (int frees = 0; frees <= 1; frees++)
        {
          SlicePoolOptions plain = { .object_bytes = 8 },
                           checked
                           = { .object_bytes = 104,
                               .arena = { .flags = SLICE_ARENA_CHECKED } };

          reserve_below (limit, plain, n_before, frees);
          reserve_below (limit, checked, n_before, frees);
        }
}

/* A call that fails leaves the pool as it was: its tables and counts, too. */
static void
check_unchanged (SlicePoolOptions options, size_t n_reserved)
{
  SlicePool *pool = slice_pool_new (&options);
  SliceArenaStats before, after;
  bool is_done;
  size_t n = 0;

  g_assert_nonnull (pool);
  do
    {
      slice_pool_get_stats (pool, &before);
      n += n_reserved;
      is_done = n_reserved > 0 ? slice_pool_reserve (pool, n)
                               : slice_pool_alloc (pool) != NULL;
    }
  while (is_done);
  slice_pool_get_stats (pool, &after);
  g_assert_cmpmem (&before, sizeof before, &after, sizeof after);
  slice_pool_destroy (pool);
}

static void
test_failure_changes_nothing (void)
{
  static const size_t sizes[] = { 24, 96, 1763 };

  for (size_t limit_bytes = 20000; limit_bytes < 140000; limit_bytes += 1511)
    for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
      for (unsigned flags = 0; flags <= SLICE_ARENA_CHECKED;
           flags += SLICE_ARENA_CHECKED)
        {
          SlicePoolOptions options
              = { .object_bytes = sizes[i],
                  .arena = { .limit_bytes = limit_bytes, .flags = flags } };

          check_unchanged (options, 0);
          check_unchanged (options, 50000 / sizes[i]);
          options.arena.source = slice_source_builtin (SLICE_PAGES_MMAP);
          check_unchanged (options, 0);
          check_unchanged (options, 50000 / sizes[i]);
        }
}

/* What was reserved comes from what the pool holds: blocks and tables. */
static void
test_reserve_holds (void)
{
  for (size_t bytes = 8; bytes < 2000; bytes += bytes / 3)
    for (size_t n = 1; n < 3000; n = 2 * n + 1)
      for (size_t n_before = 0; n_before <= n; n_before += n / 2 + 1)
        {
          SlicePool *pool = slice_pool_new_plain (bytes);
          SliceArenaStats before, after;

          for (size_t i = 0; i < n_before; i++)
            g_assert_nonnull (slice_pool_alloc (pool));
          g_assert_true (slice_pool_reserve (pool, n));
          slice_pool_get_stats (pool, &before);
          for (size_t i = 0; i < n; i++)
            g_assert_nonnull (slice_pool_alloc (pool));
          slice_pool_get_stats (pool, &after);
          g_assert_cmpuint (before.held_bytes, ==, after.held_bytes);
          g_assert_cmpuint (before.n_requests, ==, after.n_requests);
          slice_pool_destroy (pool);
        }
}

/* --- blocks anywhere ------------------------------------------------------ */

enum
{
  APART_BYTES = 192 << 20 /* of address space */
};

/* A source whose blocks have gaps between them. */
typedef struct
{
  char *start;
  size_t used;
  size_t gap;
} Apart;

static void *
apart_map (const SliceSource *source, size_t bytes, size_t alignment)
{
  Apart *apart = source->data;
  char *at = apart->start + apart->used;
  size_t page_bytes = (size_t) sysconf (_SC_PAGESIZE); /* mprotect()'s */

  alignment = MAX (alignment, page_bytes);
  at += (0 - (uintptr_t) at) & (alignment - 1);
  apart->used = (size_t) (at - apart->start) + bytes + apart->gap;
  g_assert_cmpuint (apart->used, <=, APART_BYTES);
  return mprotect (at, bytes, PROT_READ | PROT_WRITE) == 0 ? at : NULL;
}

static void
apart_unmap (const SliceSource *source, void *address, size_t bytes)
{
  (void) source;
  mprotect (address, bytes, PROT_NONE);
}

/* The bytes beside its objects of a pool whose blocks have gaps of that size
 * between them, after most objects were freed in random order. */
static size_t
control_bytes_apart (size_t gap)
{
  enum
  {
    N = 100000
  };
  static void *objects[N];
  Apart apart = { .gap = gap };
  SliceSource source = {
    .name = "apart", .map = apart_map, .unmap = apart_unmap, .data = &apart
  };
  SlicePoolOptions options
      = { .object_bytes = 64, .arena = { .source = &source } };
  SlicePool *pool;
  SliceArenaStats stats;

  apart.start = mmap (NULL, APART_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  g_assert_true (apart.start != MAP_FAILED);
  pool = slice_pool_new (&options);
  for (unsigned i = 0; i < N; i++)
    {
      objects[i] = slice_pool_alloc (pool);
      g_assert_nonnull (objects[i]);
      pattern_fill (objects[i], 64, i);
    }
  for (unsigned i = 0; i < N; i++)
    g_assert_true (pattern_holds (objects[i], 64, i));
  shuffle (objects, N);
  for (unsigned i = N / 10; i < N; i++)
    slice_pool_free (pool, objects[i]);
  g_assert_cmpuint (slice_pool_n_live (pool), ==, N / 10);
  slice_pool_get_stats (pool, &stats);
  assert_stats_add_up (&stats);
  slice_pool_destroy (pool);
  munmap (apart.start, APART_BYTES);
  return stats.control_bytes;
}

/* The map from pages to blocks is made wherever the blocks lie.  Without it
 * each free would search all blocks. */
static void
test_far_apart (void)
{
  if (skip_watched ("tracked pools have no map")
      || skip_checked ("tracked pools have no map"))
    return;
  g_assert_cmpuint (control_bytes_apart (1 << 20), >=,
                    control_bytes_apart (0));
}

/* --- rows ---------------------------------------------------------------- */

static int
by_address (const void *a, const void *b)
{
  uintptr_t x = *(const uintptr_t *) a, y = *(const uintptr_t *) b;

  return (x > y) - (x < y);
}

/* Objects that are freed in the order of addresses share words of the bits.
 * Rows of all lengths, up or down, with gaps: each object that is allocated
 * afterwards is so once, and none that was left. */
static void
check_rows (size_t size, bool is_upward)
{
  enum
  {
    N = 20000
  };
  static void *objects[N], *left[N], *again[N];
  SlicePool *pool = slice_pool_new_plain (size);
  size_t n_left = 0, n_freed = 0;

  for (int i = 0; i < N; i++)
    objects[i] = slice_pool_alloc (pool);
  qsort (objects, N, sizeof *objects, by_address);
  for (int i = 0, next_gap = 0, row = 0; i < N; i++)
    {
      void *object = objects[is_upward ? i : N - 1 - i];

      if (i == next_gap)
        {
          left[n_left++] = object;
          next_gap += ++row % 200 + 1;
        }
      else
        slice_pool_free (pool, object);
    }
  n_freed = N - n_left;
  slice_pool_trim (pool); /* all to the bits */
  g_assert_cmpuint (slice_pool_n_live (pool), ==, n_left);
  for (size_t i = 0; i < n_freed; i++)
    again[i] = slice_pool_alloc (pool);
  g_assert_cmpuint (slice_pool_n_live (pool), ==, N);
  memcpy (again + n_freed, left, n_left * sizeof *left);
  qsort (again, N, sizeof *again, by_address);
  for (size_t i = 1; i < N; i++)
    g_assert_cmpuint ((uintptr_t) again[i] - (uintptr_t) again[i - 1], >=,
                      size);
  slice_pool_destroy (pool);
}

static void
test_rows (void)
{
  for (size_t size = 8; size <= 64; size += 8)
    {
      check_rows (size, true);
      check_rows (size, false);
    }
}

/* --- misuse -------------------------------------------------------------- */

static void
free_twice (size_t size, unsigned flags, int n_between)
{
  SlicePool *pool = pool_new (size, flags);
  void *object;
  void *others[64];

  slice_pool_alloc (pool);
  object = slice_pool_alloc (pool);
  for (int i = 0; i < n_between; i++)
    others[i] = slice_pool_alloc (pool);
  slice_pool_free (pool, object);
  for (int i = 0; i < n_between; i++)
    slice_pool_free (pool, others[i]);
  slice_pool_free (pool, object);
}

/* By default a second free is found when the addresses leave the stack. */
static void
free_all_twice (bool is_downwards)
{
  enum
  {
    N = 5000
  };
  static void *objects[N];
  SlicePool *pool = slice_pool_new_plain (24);

  for (int i = 0; i < N; i++)
    objects[i] = slice_pool_alloc (pool);
  slice_pool_alloc (pool);
  slice_pool_free (pool, objects[is_downwards ? N - 9 : 7]);
  for (int i = 0; i < N; i++)
    slice_pool_free (pool, objects[is_downwards ? N - 1 - i : i]);
}

static void
free_many_twice (void)
{
  free_all_twice (false);
}

static void
free_down_twice (void)
{
  free_all_twice (true);
}

/* Ends the process as if there was no fault if the message names another
 * address. */
static void
require_address (int number, const char *message, void *data)
{
  char *expected = g_strdup_printf (": %p ", data);

  (void) number;
  if (strstr (message, expected) == NULL)
    _exit (0);
  g_free (expected);
}

/* The row of objects that is freed lies in several words of the bits, and the
 * bit that is set already is not in the first: the message names its object. */
static void
free_row_twice (size_t first_bytes)
{
  enum
  {
    N = 1000,
    TWICE = 500
  };
  static void *objects[N];
  SlicePoolOptions options
      = { .object_bytes = 24, .arena = { .first_bytes = first_bytes } };
  SlicePool *pool = slice_pool_new (&options);

  for (int i = 0; i < N; i++)
    objects[i] = slice_pool_alloc (pool);
  qsort (objects, N, sizeof *objects, by_address);
  slice_pool_alloc (pool);
  slice_set_abort_handler (require_address, objects[TWICE]);
  slice_pool_free (pool, objects[TWICE]);
  slice_pool_trim (pool); /* to the bits */
  for (int i = 1; i < N; i++)
    slice_pool_free (pool, objects[i]);
  slice_pool_trim (pool);
}

/* Two objects by turns, when the stack has got more addresses from the bits
 * than live objects are left. */
static void
free_in_turn (void)
{
  enum
  {
    N = 200000,
    PART = 2000
  };
  static void *objects[N];
  SlicePool *pool = slice_pool_new_plain (24);

  for (int i = 0; i < N; i++)
    objects[i] = slice_pool_alloc (pool);
  for (int i = 0; i < N; i++)
    if (i % PART != 0)
      slice_pool_free (pool, objects[i]);
  for (int i = 0; i < N / PART; i++)
    slice_pool_alloc (pool);
  for (int i = 0; i < N; i++)
    slice_pool_free (pool, objects[i % 2 * PART]);
}

static bool
has_object (void *const *objects, int n, const void *address)
{
  for (int i = 0; i < n; i++)
    if (objects[i] == address)
      return true;
  return false;
}

/* An address in a row with the last objects of a block, behind them.  (Another
 * block of the pool may begin behind a block.) */
static void
free_behind_block (void)
{
  enum
  {
    N = 20000
  };
  static void *objects[N];
  SlicePool *pool = slice_pool_new_plain (24);
  size_t chunk = slice_pool_chunk_bytes (pool);
  int last = 0;

  for (int i = 0; i < N; i++)
    objects[i] = slice_pool_alloc (pool);
  slice_pool_alloc (pool);
  while (has_object (objects, N, (char *) objects[last] + chunk))
    last++;
  for (int i = 0; i <= last; i++)
    slice_pool_free (pool, objects[i]);
  slice_pool_free (pool, (char *) objects[last] + chunk);
  for (int i = last + 1; i < N; i++)
    slice_pool_free (pool, objects[i]);
}

/* So are addresses at which no object starts.  Enough are freed in random
 * order for the pool's map of its blocks. */
static void
free_many_and (size_t size, bool is_foreign, size_t offset)
{
  enum
  {
    N = 60000
  };
  static void *objects[N];
  SlicePool *pool = slice_pool_new_plain (size);
  SlicePool *other = slice_pool_new_plain (size);
  char *bad;

  for (int i = 0; i < N; i++)
    objects[i] = slice_pool_alloc (pool);
  shuffle (objects, N);
  bad = objects[N - 1];
  if (is_foreign)
    for (int i = 0; i < N; i++)
      bad = slice_pool_alloc (other);
  for (int i = 0; i < N / 2; i++)
    slice_pool_free (pool, objects[i]);
  slice_pool_free (pool, bad + offset);
  for (int i = N / 2; i < N - 1; i++)
    slice_pool_free (pool, objects[i]);
}

MISUSE_CALL (foreign_moved, 321, "is not of this pool",
             free_many_and (24, 1, 0))
MISUSE_CALL (interior_moved, 322, "8 bytes inside an object of 24",
             free_many_and (24, 0, 8))
MISUSE_CALL (unaligned_moved, 322, "1 bytes inside an object of 64",
             free_many_and (64, 0, 1))

MISUSE_CALL (twice, 320, "is free already", free_twice (24, 0, 0))
MISUSE_CALL (twice_small, 320, "is free already", free_twice (8, 0, 0))
MISUSE_CALL (twice_later, 320, "is free already",
             free_twice (24, SLICE_ARENA_CHECKED, 64))
MISUSE_CALL (twice_moved, 320, "is free already", free_many_twice ())
MISUSE_CALL (twice_row, 320, "is free already", free_row_twice (0))
/* All in one block, so the bit is between the first word and the last. */
MISUSE_CALL (twice_long_row, 320, "is free already", free_row_twice (65536))
MISUSE_CALL (twice_in_turn, 320, "is free already", free_in_turn ())
MISUSE_CALL (twice_downwards, 320, "is free already", free_down_twice ())
MISUSE_CALL (behind_block, 321, "is not of this pool", free_behind_block ())
MISUSE_CALL (twice_later_small, 320, "is free already",
             free_twice (8, SLICE_ARENA_CHECKED, 10))
MISUSE_CALL (twice_checked, 320, "is free already",
             free_twice (24, SLICE_ARENA_CHECKED, 10))

static void
free_after_empty (void)
{
  SlicePool *pool = slice_pool_new_plain (24);
  void *object = slice_pool_alloc (pool);

  slice_pool_free (pool, object);
  memset (object, 0, 24);
  slice_pool_free (pool, object);
}

static void
test_misuse_empty (void)
{
  if (g_test_subprocess ())
    {
      free_after_empty ();
      return;
    }
  if (is_annotated ())
    g_test_skip ("the tool itself sees it");
  else
    expect_error (320, "is free already");
}

static void
free_foreign (void)
{
  SlicePool *pool = pool_new (24, SLICE_ARENA_CHECKED);
  SlicePool *other = pool_new (24, SLICE_ARENA_CHECKED);

  slice_pool_alloc (pool);
  slice_pool_free (pool, slice_pool_alloc (other));
}
MISUSE_CALL (foreign, 321, "is not of this pool", free_foreign ())

static void
free_interior (void)
{
  SlicePool *pool = pool_new (24, SLICE_ARENA_CHECKED);
  char *object = slice_pool_alloc (pool);

  slice_pool_free (pool, object + 8);
}
MISUSE_CALL (interior, 322, "8 bytes inside an object of 24", free_interior ())

static void
write_after_free (void)
{
  SlicePool *pool = pool_new (24, SLICE_ARENA_CHECKED);
  char *object;

  slice_pool_alloc (pool);
  object = slice_pool_alloc (pool);
  slice_pool_free (pool, object);
  object[5] = 1;
  slice_pool_alloc (pool);
}

static void
test_misuse_written (void)
{
  if (g_test_subprocess ())
    {
      write_after_free ();
      return;
    }
  if (is_annotated ())
    g_test_skip ("the tool itself sees it");
  else
    expect_error (323, "was written to at byte 5 while free");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/pool/all-alike", test_all_alike);
  g_test_add_func ("/slice/pool/model", test_model);
  g_test_add_func ("/slice/pool/bytes-held", test_bytes_held);
  g_test_add_func ("/slice/pool/last-in-first-out", test_last_in_first_out);
  g_test_add_func ("/slice/pool/starts-afresh", test_starts_afresh);
  g_test_add_func ("/slice/pool/waves", test_waves);
  g_test_add_func ("/slice/pool/gives-blocks-back", test_gives_blocks_back);
  g_test_add_func ("/slice/pool/bulk", test_bulk);
  g_test_add_func ("/slice/pool/reset-and-trim", test_reset_and_trim);
  g_test_add_func ("/slice/pool/trim-holds-no-more", test_trim_holds_no_more);
  g_test_add_func ("/slice/pool/trim-returns-empty", test_trim_returns_empty);
  g_test_add_func ("/slice/pool/constructed-trim", test_constructed_trim);
  g_test_add_func ("/slice/pool/constructed", test_constructed);
  g_test_add_func ("/slice/pool/construct-fails", test_construct_fails);
  g_test_add_func ("/slice/pool/bad-options", test_bad_options);
  g_test_add_func ("/slice/pool/failing-source", test_failing_source);
  g_test_add_func ("/slice/pool/limit", test_limit);
  g_test_add_func ("/slice/pool/reserve", test_reserve);
  g_test_add_func ("/slice/pool/reserve-fails", test_reserve_fails);
  g_test_add_func ("/slice/pool/reserve-near-limit", test_reserve_near_limit);
  g_test_add_func ("/slice/pool/failure-changes-nothing",
                   test_failure_changes_nothing);
  g_test_add_func ("/slice/pool/reserve-holds", test_reserve_holds);
  g_test_add_func ("/slice/pool/far-apart", test_far_apart);
  g_test_add_func ("/slice/pool/rows", test_rows);
  g_test_add_func ("/slice/pool/misuse/twice", test_misuse_twice);
  g_test_add_func ("/slice/pool/misuse/twice-row", test_misuse_twice_row);
  g_test_add_func ("/slice/pool/misuse/twice-long-row",
                   test_misuse_twice_long_row);
  g_test_add_func ("/slice/pool/misuse/twice-in-turn",
                   test_misuse_twice_in_turn);
  g_test_add_func ("/slice/pool/misuse/twice-downwards",
                   test_misuse_twice_downwards);
  g_test_add_func ("/slice/pool/misuse/behind-block",
                   test_misuse_behind_block);
  g_test_add_func ("/slice/pool/misuse/twice-later", test_misuse_twice_later);
  g_test_add_func ("/slice/pool/misuse/twice-small", test_misuse_twice_small);
  g_test_add_func ("/slice/pool/misuse/twice-moved", test_misuse_twice_moved);
  g_test_add_func ("/slice/pool/misuse/foreign-moved",
                   test_misuse_foreign_moved);
  g_test_add_func ("/slice/pool/misuse/interior-moved",
                   test_misuse_interior_moved);
  g_test_add_func ("/slice/pool/misuse/unaligned-moved",
                   test_misuse_unaligned_moved);
  g_test_add_func ("/slice/pool/misuse/twice-later-small",
                   test_misuse_twice_later_small);
  g_test_add_func ("/slice/pool/misuse/twice-checked",
                   test_misuse_twice_checked);
  g_test_add_func ("/slice/pool/misuse/empty", test_misuse_empty);
  g_test_add_func ("/slice/pool/misuse/foreign", test_misuse_foreign);
  g_test_add_func ("/slice/pool/misuse/interior", test_misuse_interior);
  g_test_add_func ("/slice/pool/misuse/written", test_misuse_written);
  return g_test_run ();
}
