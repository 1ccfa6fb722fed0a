/* test-tlsf.c - TLSF heaps against a model, and their promises
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/arena/arena-test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void
assert_valid (const SliceTlsf *tlsf)
{
  const char *why;

  if (!slice_tlsf_is_valid (tlsf, &why))
    g_error ("heap: %s", why);
}

/* --- model --------------------------------------------------------------- */

typedef struct
{
  char *object;
  size_t size;
  unsigned number;
} Known;

typedef struct
{
  GArray *known;
  guint n_seen;
} Model;

static size_t
random_size (size_t largest)
{
  int bits = g_test_rand_int_range (0, 17);
  size_t size = (size_t) g_test_rand_int_range (0, 2 << bits);

  return MIN (size, largest);
}

static void
model_add (SliceTlsf *tlsf, GArray *known, size_t largest, unsigned number)
{
  Known one = { NULL, random_size (largest), number };
  size_t alignment = 16;

  if (g_test_rand_int_range (0, 8) > 0)
    one.object = slice_tlsf_alloc (tlsf, one.size);
  else
    {
      alignment = (size_t) 1 << g_test_rand_int_range (0, 15);
      one.object = slice_tlsf_alloc_aligned (tlsf, alignment, one.size);
    }
  if (one.object == NULL)
    {
      g_assert_cmpint (errno, ==, ENOMEM);
      return;
    }
  g_assert_cmpuint ((uintptr_t) one.object % alignment, ==, 0);
  g_assert_cmpuint (slice_tlsf_object_bytes (tlsf, one.object), >=, one.size);
  pattern_fill (one.object, one.size, number);
  g_array_append_val (known, one);
}

static void
model_free (SliceTlsf *tlsf, GArray *known)
{
  guint i = (guint) g_test_rand_int_range (0, (gint32) known->len);
  Known one = g_array_index (known, Known, i);

  g_assert_true (pattern_holds (one.object, one.size, one.number));
  slice_tlsf_free (tlsf, one.object);
  g_array_remove_index_fast (known, i);
}

static void
model_resize (SliceTlsf *tlsf, GArray *known, size_t largest)
{
  guint i = (guint) g_test_rand_int_range (0, (gint32) known->len);
  Known *one = &g_array_index (known, Known, i);
  size_t size = random_size (largest);
  char *moved = slice_tlsf_resize (tlsf, one->object, size);
  size_t kept;

  if (moved == NULL)
    return;
  kept = MIN (size, one->size);
  g_assert_true (pattern_holds (moved, kept, one->number));
  one->object = moved;
  one->size = size;
  pattern_fill (moved, size, one->number);
}

static bool
count_live (const void *object, size_t bytes, bool is_live, void *data)
{
  Model *model = data;

  if (!is_live)
    return true;
  for (guint i = 0; i < model->known->len; i++)
    {
      Known *one = &g_array_index (model->known, Known, i);

      if (one->object == object)
        {
          g_assert_cmpuint (bytes, >=, one->size);
          model->n_seen++;
        }
    }
  return true;
}

static void
check_walk (const SliceTlsf *tlsf, GArray *known)
{
  Model model = { known, 0 };
  SliceTlsfStats stats;

  assert_valid (tlsf);
  g_assert_true (slice_tlsf_walk (tlsf, count_live, &model));
  g_assert_cmpuint (model.n_seen, ==, known->len);
  slice_tlsf_get_stats (tlsf, &stats);
  g_assert_cmpuint (stats.n_live, ==, known->len);
  assert_stats_add_up (&stats.arena);
  g_assert_cmpuint (stats.fragmentation_permille, <=, 1000);
}

static void
run_model (SliceTlsf *tlsf, size_t largest, unsigned n_operations)
{
  GArray *known = g_array_new (FALSE, FALSE, sizeof (Known));
  int rise = 70;

  for (unsigned i = 0; i < n_operations; i++)
    {
      int what;

      if (i % 2000 == 0)
        rise = rise == 65 ? 35 : 65;
      what = g_test_rand_int_range (0, 100);
      if (known->len == 0 || what < rise)
        model_add (tlsf, known, largest, i);
      else if (what < 92)
        model_free (tlsf, known);
      else
        model_resize (tlsf, known, largest);
      if (i % 500 == 0)
        check_walk (tlsf, known);
    }
  while (known->len > 0)
    model_free (tlsf, known);
  check_walk (tlsf, known);
  g_array_free (known, TRUE);
}

static unsigned
n_model_operations (void)
{
  return g_test_slow () ? 300000 : 15000;
}

static void
test_model_fixed (void)
{
  static const size_t sizes[] = { 3000, 65536, 4 << 20 };

  for (size_t s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (size_t skew = 0; skew < 24; skew += 7)
      {
        char *buffer = g_malloc (sizes[s] + 32);
        SliceTlsf *tlsf = slice_tlsf_new_fixed (buffer + skew, sizes[s]);
        SliceTlsfStats stats;

        g_assert_nonnull (tlsf);
        run_model (tlsf, sizes[s] / 16, n_model_operations () / 4);
        slice_tlsf_get_stats (tlsf, &stats);
        g_assert_cmpuint (stats.n_free, ==, 1);
        g_assert_cmpuint (stats.fragmentation_permille, ==, 0);
        slice_tlsf_destroy (tlsf);
        g_free (buffer);
      }
}

static void
test_model_growing (void)
{
  CountingSource counting;
  SliceArenaOptions options;
  SliceTlsf *tlsf;

  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source };
  tlsf = slice_tlsf_new (&options);
  run_model (tlsf, SIZE_MAX, n_model_operations ());
  g_assert_cmpuint (slice_tlsf_trim (tlsf), >, 0);
  g_assert_cmpuint (counting.out_bytes, ==, 0);
  run_model (tlsf, SIZE_MAX, n_model_operations () / 10);
  slice_tlsf_destroy (tlsf);
  g_assert_cmpuint (counting.out_bytes, ==, 0);
  tlsf = slice_tlsf_new (NULL);
  run_model (tlsf, SIZE_MAX, n_model_operations ());
  slice_tlsf_destroy (tlsf);
}

/* --- sizes of buffers ---------------------------------------------------- */

static void
test_buffer_bytes (void)
{
  static const size_t sizes[] = { 1, 16, 100, 1000, 10000, 1000000 };

  for (size_t s = 0; s < G_N_ELEMENTS (sizes); s++)
    {
      size_t bytes = slice_tlsf_buffer_bytes (sizes[s]);
      char *buffer = g_malloc (bytes);
      SliceTlsf *tlsf = slice_tlsf_new_fixed (buffer, bytes);

      g_assert_nonnull (tlsf);
      g_assert_nonnull (slice_tlsf_alloc (tlsf, sizes[s]));
      assert_valid (tlsf);
      slice_tlsf_destroy (tlsf);
      g_free (buffer);
    }
}

/* Each size of buffer either is refused or gives a heap that works. */
static void
test_small_buffers (void)
{
  static char buffer[4096];

  for (size_t bytes = 0; bytes < sizeof buffer; bytes++)
    {
      SliceTlsf *tlsf;

      memset (buffer, 0xee, sizeof buffer);
      errno = 0;
      tlsf = slice_tlsf_new_fixed (buffer, bytes);
      if (tlsf == NULL)
        {
          g_assert_cmpint (errno, ==, EINVAL);
          continue;
        }
      while (slice_tlsf_alloc (tlsf, 1) != NULL)
        ;
      assert_valid (tlsf);
      slice_tlsf_destroy (tlsf);
      for (size_t i = bytes; i < sizeof buffer; i++)
        g_assert_cmpint ((unsigned char) buffer[i], ==, 0xee);
    }
}

/* Buffers that are added: objects lie in all of them, and outside of none. */
static void
run_regions (unsigned flags)
{
  enum
  {
    N_BUFFERS = 5,
    BYTES = 1 << 18
  };
  static char first[20000];
  static char others[N_BUFFERS][BYTES + 64];
  SliceTlsfFixedOptions options = { .region_bytes_max = BYTES, .flags = flags };
  SliceTlsf *tlsf = slice_tlsf_new_fixed_with (first, sizeof first, &options);
  SliceTlsfStats stats;
  void *large[N_BUFFERS];

  g_assert_nonnull (tlsf);
  memset (others, 0xee, sizeof others);
  for (int i = 0; i < N_BUFFERS; i++)
    {
      size_t bytes = i == 0 ? 200 : BYTES - (size_t) i;

      g_assert_true (slice_tlsf_add_region (tlsf, others[i] + i, bytes));
      run_model (tlsf, 1 << 16, n_model_operations () / 5);
    }
  /* Each region is whole again. */
  slice_tlsf_get_stats (tlsf, &stats);
  g_assert_cmpuint (stats.n_free, ==, N_BUFFERS + 1);
  g_assert_cmpuint (stats.arena.n_blocks, ==, N_BUFFERS + 1);
  g_assert_cmpuint (stats.arena.held_bytes, >, (N_BUFFERS - 1) * (BYTES - 64));
  for (int i = 1; i < N_BUFFERS; i++)
    g_assert_nonnull (large[i] = slice_tlsf_alloc (tlsf, BYTES - 4096 * 4));
  slice_tlsf_reset (tlsf, SLICE_KEEP_NONE);
  for (int i = 1; i < N_BUFFERS; i++)
    g_assert_nonnull (large[i] = slice_tlsf_alloc (tlsf, BYTES - 4096 * 4));
  g_assert_cmpuint (slice_tlsf_trim (tlsf), ==, 0);
  assert_valid (tlsf);
  slice_tlsf_destroy (tlsf);
  for (int i = 0; i < N_BUFFERS; i++)
    {
      size_t end = (size_t) i + (i == 0 ? 200 : BYTES - (size_t) i);

      for (size_t at = end; at < sizeof others[i]; at++)
        g_assert_cmpint ((unsigned char) others[i][at], ==, 0xee);
    }
}

/* Options of a version that the library does not know. */
static void
test_options_size (void)
{
  static char buffer[4096];
  SliceTlsfFixedOptions options = { .struct_bytes = sizeof options };
  SliceTlsf *tlsf
      = slice_tlsf_new_fixed_with (buffer, sizeof buffer, &options);

  g_assert_nonnull (tlsf);
  slice_tlsf_destroy (tlsf);
  options.struct_bytes += 8;
  errno = 0;
  g_assert_null (slice_tlsf_new_fixed_with (buffer, sizeof buffer, &options));
  g_assert_cmpint (errno, ==, EINVAL);
}

/* The smallest regions, at each offset: a reset makes the heap as it was. */
static void
test_regions_small (void)
{
  static char first[16384];
  static _Alignas (64) char other[512];

  for (size_t bytes = 128; bytes < 200; bytes++)
    for (size_t offset = 0; offset < 16; offset++)
      {
        SliceTlsfStats before, after;
        SliceTlsf *tlsf = slice_tlsf_new_fixed (first, sizeof first);

        g_assert_true (slice_tlsf_add_region (tlsf, other + offset, bytes));
        slice_tlsf_get_stats (tlsf, &before);
        slice_tlsf_reset (tlsf, SLICE_KEEP_ALL);
        assert_valid (tlsf);
        slice_tlsf_get_stats (tlsf, &after);
        g_assert_cmpuint (after.n_free, ==, before.n_free);
        g_assert_cmpuint (after.free_bytes, ==, before.free_bytes);
        slice_tlsf_destroy (tlsf);
      }
}

static void
test_regions (void)
{
  run_regions (SLICE_ARENA_DEFAULT);
  run_regions (SLICE_ARENA_CHECKED);
  run_regions (SLICE_ARENA_LOCKED);
  run_regions (SLICE_ARENA_CHECKED | SLICE_ARENA_LOCKED);
}

static void
refuse_region (SliceTlsf *tlsf, void *buffer, size_t bytes)
{
  errno = 0;
  g_assert_false (slice_tlsf_add_region (tlsf, buffer, bytes));
  g_assert_cmpint (errno, ==, EINVAL);
  assert_valid (tlsf);
}

static void
test_regions_refused (void)
{
  static char first[16384];
  static char other[65536];
  SliceTlsf *tlsf = slice_tlsf_new_fixed (first, sizeof first);
  SliceTlsf *growing;
  SliceTlsfFixedOptions options;

  for (size_t bytes = 0; bytes < 128; bytes++)
    {
      memset (other, 0xee, 256);
      refuse_region (tlsf, other, bytes);
      for (size_t i = bytes; i < 256; i++)
        g_assert_cmpint ((unsigned char) other[i], ==, 0xee);
    }
  refuse_region (tlsf, other, sizeof other); /* larger than the lists hold */
  refuse_region (tlsf, first, sizeof first);
  refuse_region (tlsf, first + 16000, 200);
  g_assert_true (slice_tlsf_add_region (tlsf, other, 8192));
  refuse_region (tlsf, other + 8000, 8192);
  refuse_region (tlsf, other, 128);
  g_assert_true (slice_tlsf_add_region (tlsf, other + 8192, 8192));
  slice_tlsf_destroy (tlsf);
  growing = slice_tlsf_new (NULL);
  refuse_region (growing, other, 8192);
  slice_tlsf_destroy (growing);
  options = (SliceTlsfFixedOptions){ .flags = 1u << 20 };
  g_assert_null (slice_tlsf_new_fixed_with (first, sizeof first, &options));
  options = (SliceTlsfFixedOptions){ .region_bytes_max = SIZE_MAX / 2 };
  g_assert_null (slice_tlsf_new_fixed_with (first, sizeof first, &options));
  g_assert_cmpuint (slice_tlsf_buffer_bytes (SIZE_MAX), ==, SIZE_MAX);
  g_assert_cmpuint (slice_tlsf_buffer_bytes (SIZE_MAX - 3000), ==, SIZE_MAX);
}

/* All of the free memory can be had in one object. */
static void
test_largest (void)
{
  size_t bytes = 1 << 20;
  char *buffer = g_malloc (bytes);
  SliceTlsf *tlsf = slice_tlsf_new_fixed (buffer, bytes);
  SliceTlsfStats stats;
  void *all;

  slice_tlsf_get_stats (tlsf, &stats);
  all = slice_tlsf_alloc (tlsf, stats.largest_free);
  g_assert_nonnull (all);
  g_assert_null (slice_tlsf_alloc (tlsf, 1));
  slice_tlsf_free (tlsf, all);
  g_assert_null (slice_tlsf_alloc (tlsf, stats.largest_free + 16));
  /* And not what it has no list for, larger than its buffer. */
  errno = 0;
  g_assert_null (slice_tlsf_alloc (tlsf, 8 * bytes));
  g_assert_cmpint (errno, ==, ENOMEM);
  g_assert_cmpuint (slice_tlsf_trim (tlsf), ==, 0);
  slice_tlsf_destroy (tlsf);
  g_free (buffer);
}

/* Fragments a heap, and asks for an object of what is said to be the largest
 * free. */
static void
expect_largest (SliceTlsf *tlsf)
{
  void *objects[60] = { NULL };
  SliceTlsfStats before, after;

  for (int i = 0; i < 200; i++)
    {
      void **object = &objects[g_test_rand_int_range (0, 60)];

      if (*object == NULL)
        *object = slice_tlsf_alloc_aligned (
            tlsf, (size_t) 16 << g_test_rand_int_range (0, 6),
            (size_t) g_test_rand_int_range (0, 3000));
      else
        {
          slice_tlsf_free (tlsf, *object);
          *object = NULL;
        }
    }
  slice_tlsf_get_stats (tlsf, &before);
  if (before.largest_free != 0)
    {
      g_assert_nonnull (slice_tlsf_alloc (tlsf, before.largest_free));
      slice_tlsf_get_stats (tlsf, &after);
      g_assert_cmpuint (after.arena.n_requests, ==, before.arena.n_requests);
    }
  slice_tlsf_destroy (tlsf);
}

static void
test_largest_of_fragments (void)
{
  static char buffer[65536];
  const SliceArenaOptions checked = { .flags = SLICE_ARENA_CHECKED };

  for (int turn = 0; turn < 300; turn++)
    {
      size_t bytes = (size_t) g_test_rand_int_range (60000, 65000);

      expect_largest (slice_tlsf_new (NULL));
      expect_largest (slice_tlsf_new (&checked));
      expect_largest (slice_tlsf_new_fixed (buffer, bytes));
    }
}

/* NULL to free is nothing, NULL to resize a new object. */
static void
test_null (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  SliceTlsfStats stats;
  void *object;

  slice_tlsf_free (tlsf, NULL);
  object = slice_tlsf_resize (tlsf, NULL, 300);
  slice_tlsf_get_stats (tlsf, &stats);
  g_assert_cmpuint (stats.n_live, ==, 1);
  g_assert_cmpuint (slice_tlsf_object_bytes (tlsf, object), >=, 300);
  slice_tlsf_destroy (tlsf);
}

static bool
count_three (const void *object, size_t bytes, bool is_live, void *data)
{
  g_assert_nonnull (object);
  g_assert_true (bytes >= 50 && is_live);
  return ++*(int *) data < 3;
}

static void
test_walk_ends (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  int n = 0;

  for (int i = 0; i < 5; i++)
    slice_tlsf_alloc (tlsf, 50);
  g_assert_false (slice_tlsf_walk (tlsf, count_three, &n));
  g_assert_cmpint (n, ==, 3);
  slice_tlsf_destroy (tlsf);
}

/* 0 bytes are taken as 1: the first byte is the program's. */
static void
test_resize_zero (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  char *object = slice_tlsf_alloc (tlsf, 100);

  *object = 42;
  object = slice_tlsf_resize (tlsf, object, 0);
  g_assert_cmpint (*object, ==, 42);
  object = slice_tlsf_resize (tlsf, object, 5000);
  g_assert_cmpint (*object, ==, 42);
  slice_tlsf_destroy (tlsf);
}

static void
test_resize_in_place (void)
{
  SliceTlsf *tlsf;
  char *a;
  char *b;
  char *moved;

  if (skip_watched ("under a tool each resize moves"))
    return;
  tlsf = slice_tlsf_new (NULL);
  a = slice_tlsf_alloc (tlsf, 1000);
  b = slice_tlsf_alloc (tlsf, 1000);
  pattern_fill (a, 1000, 1);
  pattern_fill (b, 1000, 2);
  g_assert_true (slice_tlsf_resize (tlsf, a, 500) == a);
  g_assert_true (slice_tlsf_resize (tlsf, a, 1000) == a);
  g_assert_true (pattern_holds (a, 500, 1));
  g_assert_true (slice_tlsf_resize (tlsf, b, 20000) == b);
  g_assert_true (pattern_holds (b, 1000, 2));
  moved = slice_tlsf_resize (tlsf, a, 2000);
  g_assert_true (moved != a);
  g_assert_true (pattern_holds (moved, 500, 1));
  assert_valid (tlsf);
  slice_tlsf_destroy (tlsf);
}

static void
test_overflow (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  void *object = slice_tlsf_alloc (tlsf, 10);

  for (size_t k = 0; k <= 4096; k++)
    {
      volatile size_t size = SIZE_MAX - k;

      errno = 0;
      g_assert_null (slice_tlsf_alloc (tlsf, size));
      g_assert_cmpint (errno, ==, ENOMEM);
      g_assert_null (slice_tlsf_alloc_aligned (tlsf, 4096, size));
      g_assert_null (slice_tlsf_resize (tlsf, object, size));
    }
  assert_valid (tlsf);
  slice_tlsf_destroy (tlsf);
}

static void
test_reset (void)
{
  static char buffer[1 << 16];
  SliceTlsf *fixed = slice_tlsf_new_fixed (buffer, sizeof buffer);
  SliceTlsf *growing = slice_tlsf_new (NULL);

  for (int round = 0; round < 4; round++)
    {
      size_t n = 0;
      SliceTlsfStats stats;

      while (slice_tlsf_alloc (fixed, 100) != NULL)
        n++;
      g_assert_cmpuint (n, >, 300);
      for (int i = 0; i < 30000; i++)
        g_assert_nonnull (slice_tlsf_alloc (growing, 100));
      slice_tlsf_reset (fixed, (SliceKeep) round);
      slice_tlsf_reset (growing, (SliceKeep) round);
      slice_tlsf_get_stats (fixed, &stats);
      g_assert_cmpuint (stats.n_live, ==, 0);
      slice_tlsf_get_stats (growing, &stats);
      g_assert_cmpuint (stats.n_live, ==, 0);
      assert_valid (fixed);
      assert_valid (growing);
    }
  slice_tlsf_destroy (fixed);
  slice_tlsf_destroy (growing);
}

/* Falling gives memory back at once, but for one region. */
static void
test_gives_back (void)
{
  enum
  {
    N = 20000
  };
  CountingSource counting;
  SliceArenaOptions options;
  SliceTlsf *tlsf;
  static void *objects[N];
  size_t peak;

  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source,
                                 .first_bytes = 65536,
                                 .cap_bytes = 65536 };
  tlsf = slice_tlsf_new (&options);
  for (int i = 0; i < N; i++)
    objects[i] = slice_tlsf_alloc (tlsf, 200);
  peak = counting.out_bytes;
  g_assert_cmpuint (peak, >, N * 200);
  for (int i = 0; i < N; i++)
    slice_tlsf_free (tlsf, objects[i]);
  g_assert_cmpuint (counting.out_bytes, ==, 65536);
  slice_tlsf_destroy (tlsf);
}

/* --- misuse -------------------------------------------------------------- */

MISUSE (twice, 330, "is free already")
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  void *object = slice_tlsf_alloc (tlsf, 100);

  slice_tlsf_alloc (tlsf, 100);
  slice_tlsf_free (tlsf, object);
  slice_tlsf_free (tlsf, object);
}

/* The first free has joined it to the one in front. */
MISUSE (twice_joined, 330, "is free already")
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  void *front = slice_tlsf_alloc (tlsf, 100);
  void *object = slice_tlsf_alloc (tlsf, 100);

  slice_tlsf_alloc (tlsf, 100);
  slice_tlsf_free (tlsf, front);
  slice_tlsf_free (tlsf, object);
  slice_tlsf_free (tlsf, object);
}

/* The reset has freed them; objects of after the reset lie elsewhere. */
static void
free_after_reset (SliceTlsf *tlsf)
{
  void *objects[5];

  for (int i = 0; i < 5; i++)
    objects[i] = slice_tlsf_alloc (tlsf, 40);
  slice_tlsf_reset (tlsf, SLICE_KEEP_ALL);
  slice_tlsf_alloc (tlsf, 40);
  slice_tlsf_free (tlsf, objects[3]);
}

MISUSE (after_reset, 330, "is free already")
{
  free_after_reset (slice_tlsf_new (NULL));
}

MISUSE (after_reset_fixed, 330, "is free already")
{
  static char buffer[9000];

  free_after_reset (slice_tlsf_new_fixed (buffer, sizeof buffer));
}

MISUSE (after_reset_checked, 330, "is free already")
{
  SliceArenaOptions options = { .flags = SLICE_ARENA_CHECKED };

  free_after_reset (slice_tlsf_new (&options));
}

MISUSE (foreign, 331, "is no object of this heap")
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  void *block = malloc (100);

  slice_tlsf_free (tlsf, block);
}

MISUSE (interior, 331, "is no object of this heap")
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  char *object = slice_tlsf_alloc (tlsf, 100);

  memset (object, 0, 100);
  slice_tlsf_free (tlsf, object + 8);
}

static void
test_misuse_overrun (void)
{
  if (g_test_subprocess ())
    {
      SliceTlsf *tlsf = slice_tlsf_new (NULL);
      char *object = slice_tlsf_alloc (tlsf, 24);
      char *next = slice_tlsf_alloc (tlsf, 24);
      volatile char *over = object;

      for (int i = 0; i < next - object; i++)
        over[i] = (char) 0xff;
      slice_tlsf_free (tlsf, next);
      return;
    }
  if (is_annotated ())
    g_test_skip ("the tool itself sees it");
  else
    expect_error (332, "overwritten");
}

/* --- joining ------------------------------------------------------------- */

static void
assert_free (const SliceTlsf *tlsf, size_t n_live, size_t n_free)
{
  SliceTlsfStats stats;

  assert_valid (tlsf);
  slice_tlsf_get_stats (tlsf, &stats);
  g_assert_cmpuint (stats.n_live, ==, n_live);
  g_assert_cmpuint (stats.n_free, ==, n_free);
}

/* What is freed is joined before the call returns, in a heap that grows as in
 * one over a buffer: the number of free pieces tells. */
static void
check_joins (SliceTlsf *tlsf, size_t size)
{
  void *objects[5];
  SliceTlsfStats stats;
  size_t largest;

  slice_tlsf_get_stats (tlsf, &stats);
  largest = stats.largest_free;
  for (unsigned i = 0; i < 5; i++)
    objects[i] = slice_tlsf_alloc (tlsf, size);
  assert_free (tlsf, 5, 1);
  slice_tlsf_free (tlsf, objects[1]);
  assert_free (tlsf, 4, 2);
  slice_tlsf_free (tlsf, objects[3]);
  assert_free (tlsf, 3, 3);
  slice_tlsf_free (tlsf, objects[2]); /* with both sides */
  assert_free (tlsf, 2, 2);
  slice_tlsf_free (tlsf, objects[0]); /* with the one behind */
  assert_free (tlsf, 1, 2);
  slice_tlsf_free (tlsf, objects[4]); /* and all is one */
  assert_free (tlsf, 0, 1);
  slice_tlsf_get_stats (tlsf, &stats);
  g_assert_cmpuint (stats.largest_free, ==, largest);
}

static void
test_joins (void)
{
  static char buffer[1 << 20];
  static const size_t sizes[] = { 1, 24, 100, 500, 1000, 1016, 3000, 8000 };
  SliceTlsf *fixed = slice_tlsf_new_fixed (buffer, sizeof buffer);
  SliceTlsf *growing = slice_tlsf_new (NULL);

  for (unsigned i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      check_joins (fixed, sizes[i]);
      check_joins (growing, sizes[i]);
    }
  slice_tlsf_destroy (fixed);
  slice_tlsf_destroy (growing);
}

/* A free block that loses or gains at an end, in its list and out of it:
 * is_valid checks the heap. */
static void
test_ends_move (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  char *object = slice_tlsf_alloc (tlsf, 100);

  slice_tlsf_alloc (tlsf, 100);
  for (size_t size = 100; size < 30000; size += 16 + size / 8)
    {
      object = slice_tlsf_resize (tlsf, object, size);
      assert_valid (tlsf);
    }
  for (size_t size = 30000; size > 16; size -= 16 + size / 16)
    {
      object = slice_tlsf_resize (tlsf, object, size);
      assert_valid (tlsf);
    }
  slice_tlsf_destroy (tlsf);
}

MISUSE_CALL (alignment, 300, "slice_tlsf_alloc_aligned: alignment 24 is no",
             slice_tlsf_alloc_aligned (slice_tlsf_new (NULL), 24, 8))

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/tlsf/model-fixed", test_model_fixed);
  g_test_add_func ("/slice/tlsf/regions", test_regions);
  g_test_add_func ("/slice/tlsf/options-size", test_options_size);
  g_test_add_func ("/slice/tlsf/regions-small", test_regions_small);
  g_test_add_func ("/slice/tlsf/regions-refused", test_regions_refused);
  g_test_add_func ("/slice/tlsf/model-growing", test_model_growing);
  g_test_add_func ("/slice/tlsf/buffer-bytes", test_buffer_bytes);
  g_test_add_func ("/slice/tlsf/small-buffers", test_small_buffers);
  g_test_add_func ("/slice/tlsf/largest", test_largest);
  g_test_add_func ("/slice/tlsf/largest-of-fragments",
                   test_largest_of_fragments);
  g_test_add_func ("/slice/tlsf/null", test_null);
  g_test_add_func ("/slice/tlsf/walk-ends", test_walk_ends);
  g_test_add_func ("/slice/tlsf/resize-zero", test_resize_zero);
  g_test_add_func ("/slice/tlsf/resize-in-place", test_resize_in_place);
  g_test_add_func ("/slice/tlsf/overflow", test_overflow);
  g_test_add_func ("/slice/tlsf/reset", test_reset);
  g_test_add_func ("/slice/tlsf/gives-back", test_gives_back);
  g_test_add_func ("/slice/tlsf/misuse/twice", test_misuse_twice);
  g_test_add_func ("/slice/tlsf/misuse/twice-joined",
                   test_misuse_twice_joined);
  /* Headers of 32 bits have no space for the tag that a reset changes. */
  if (sizeof (size_t) > 4 && !is_annotated ())
    {
      g_test_add_func ("/slice/tlsf/misuse/after-reset",
                       test_misuse_after_reset);
      g_test_add_func ("/slice/tlsf/misuse/after-reset-fixed",
                       test_misuse_after_reset_fixed);
      g_test_add_func ("/slice/tlsf/misuse/after-reset-checked",
                       test_misuse_after_reset_checked);
    }
  g_test_add_func ("/slice/tlsf/misuse/foreign", test_misuse_foreign);
  g_test_add_func ("/slice/tlsf/misuse/interior", test_misuse_interior);
  g_test_add_func ("/slice/tlsf/misuse/overrun", test_misuse_overrun);
  g_test_add_func ("/slice/tlsf/misuse/alignment", test_misuse_alignment);
  g_test_add_func ("/slice/tlsf/joins", test_joins);
  g_test_add_func ("/slice/tlsf/ends-move", test_ends_move);
  return g_test_run ();
}
