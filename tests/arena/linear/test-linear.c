/* test-linear.c - linear arenas against a model, and their promises
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/arena/arena-test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* --- alignment, sizes ---------------------------------------------------- */

static void
test_alignment (void)
{
  SliceLinear *linear = slice_linear_new (NULL);

  for (size_t size = 1; size <= 4096; size++)
    {
      size_t rounded = (size + 7) & ~(size_t) 7;
      uintptr_t natural = (uintptr_t) slice_linear_alloc (linear, size);
      size_t alignment;
      uintptr_t aligned;

      g_assert_cmpuint (natural % (rounded % 16 == 0 ? 16 : 8), ==, 0);
      alignment = (size_t) 1 << (size % 13);
      aligned
          = (uintptr_t) slice_linear_alloc_aligned (linear, alignment, size);
      g_assert_cmpuint (aligned % alignment, ==, 0);
      memset ((void *) natural, 1, size);
      memset ((void *) aligned, 2, size);
    }
  slice_linear_destroy (linear);
}

static void
test_size_zero (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  size_t none = 0; /* in sight of the compiler it would warn */
  char *a = slice_linear_alloc (linear, none);
  char *b = slice_linear_alloc (linear, none);
  char *c;

  g_assert_nonnull (a);
  g_assert_true (a != b);
  *a = 1;
  b = slice_linear_resize (linear, b, none, none);
  c = slice_linear_alloc (linear, 40);
  g_assert_true (b != c);
  c = slice_linear_resize (linear, c, 40, none);
  g_assert_true (c != slice_linear_alloc (linear, none));
  g_assert_true (c != slice_linear_resize (linear, b, none, 24));
  g_assert_false (slice_linear_free_last (linear, c, none));
  g_assert_nonnull (slice_linear_alloc0 (linear, 0));
  slice_linear_destroy (linear);
}

static void
test_overflow (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SliceArenaStats before;
  SliceArenaStats after;
  volatile size_t big = 0x20000001;

  slice_linear_get_stats (linear, &before);
  for (size_t k = 0; k <= 4096; k++)
    {
      volatile size_t size = SIZE_MAX - k;

      errno = 0;
      g_assert_null (slice_linear_alloc (linear, size));
      g_assert_cmpint (errno, ==, ENOMEM);
      g_assert_null (slice_linear_alloc_aligned (linear, 4096, size));
    }
  g_assert_null (slice_linear_alloc_n (linear, big, (SIZE_MAX >> 4) + 1));
  g_assert_null (slice_linear_alloc (linear, SIZE_MAX / 2 + big));
  slice_linear_get_stats (linear, &after);
  g_assert_cmpuint (before.held_bytes, ==, after.held_bytes);
  g_assert_cmpuint (before.used_bytes, ==, after.used_bytes);
  slice_linear_destroy (linear);
}

/* --- growth -------------------------------------------------------------- */

/* Sizes start small, never shrink, are powers of two and stop at the cap. */
static void
test_growth (void)
{
  SliceArenaOptions options = { .cap_bytes = 16384 };
  SliceLinear *linear = slice_linear_new (&options);
  SliceArenaStats stats;
  size_t held;
  size_t last = 0;
  size_t n_at_cap = 0;

  slice_linear_get_stats (linear, &stats);
  held = stats.held_bytes - stats.control_bytes;
  for (size_t i = 0; i < 200000; i++)
    {
      size_t now;
      size_t block;

      slice_linear_alloc (linear, 8);
      slice_linear_get_stats (linear, &stats);
      now = stats.held_bytes - stats.control_bytes;
      if (now == held)
        continue;
      block = now - held;
      g_assert_cmpuint (block & (block - 1), ==, 0);
      g_assert_cmpuint (block, >=, last);
      g_assert_cmpuint (block, <=, 16384);
      g_assert_true (block == 256 || block <= held / 8);
      g_assert_true (block <= 4096 || block <= held / 32);
      n_at_cap += block == 16384;
      last = block;
      held = now;
    }
  g_assert_cmpuint (n_at_cap, >, 10);
  slice_linear_destroy (linear);
}

/* The address of an object, from the arena on. */
static size_t
offset_in (const SliceLinear *linear, const void *object)
{
  return (size_t) ((const char *) object - (const char *) linear);
}

/* The library copies an arena with the default options.  So all of them are
 * like one that is made from its options, whatever was done with the first. */
static void
test_all_alike (void)
{
  SliceArenaOptions defaults = { 0 };

  for (int i = 0; i < 5; i++)
    {
      SliceLinear *asked = slice_linear_new (&defaults);
      SliceLinear *copy = slice_linear_new (NULL);

      for (size_t size = 1; size < 4000; size += 1 + size / 2)
        {
          SliceArenaStats stats[2];
          char *object = slice_linear_alloc (copy, size);
          void *expected = slice_linear_alloc (asked, size);

          memset (object, 1, size);
          slice_linear_get_stats (copy, &stats[0]);
          slice_linear_get_stats (asked, &stats[1]);
          g_assert_cmpmem (&stats[0], sizeof *stats, &stats[1],
                           sizeof *stats);
          assert_stats_add_up (&stats[0]);
          g_assert_true (slice_linear_owns (copy, object));
          if (stats[0].n_blocks == 1)
            g_assert_cmpuint (offset_in (copy, object), ==,
                              offset_in (asked, expected));
        }
      slice_linear_destroy (copy);
      slice_linear_destroy (asked);
    }
}

/* A thousand arenas of 1.5 KB each. */
static void
test_small_arenas (void)
{
  size_t held = 0;
  SliceLinear *arenas[1000];

  if (skip_watched ("objects have gaps under a tool"))
    return;
  for (int i = 0; i < 1000; i++)
    {
      SliceArenaStats stats;

      arenas[i] = slice_linear_new (NULL);
      for (int k = 0; k < 64; k++)
        slice_linear_alloc (arenas[i], 24);
      slice_linear_get_stats (arenas[i], &stats);
      held += stats.held_bytes;
    }
  g_test_message ("1536 bytes in each: %zu held", held / 1000);
  g_assert_cmpuint (held / 1000, <=, 2600);
  for (int i = 0; i < 1000; i++)
    slice_linear_destroy (arenas[i]);
}

static void
test_bytes_held (void)
{
  static const size_t sizes[] = { 8, 24, 64 };

  if (skip_watched ("objects have gaps under a tool"))
    return;
  for (size_t s = 0; s < G_N_ELEMENTS (sizes); s++)
    {
      SliceLinear *linear = slice_linear_new (NULL);
      size_t n = 100000;
      SliceArenaStats stats;
      size_t payload;

      for (size_t i = 0; i < n; i++)
        slice_linear_alloc (linear, sizes[s]);
      slice_linear_get_stats (linear, &stats);
      payload = n * sizes[s];
      g_test_message ("%zu bytes: %.3f held an object", sizes[s],
                      (double) stats.held_bytes / (double) n);
      g_assert_cmpuint (stats.used_bytes, ==, payload);
      g_assert_cmpuint (stats.held_bytes, <=, payload + payload / 50);
      assert_stats_add_up (&stats);
      slice_linear_destroy (linear);
    }
}

/* An object's number, repeated. */
static void
joined_fill (SliceLinear *linear, unsigned *objects[], unsigned from,
             unsigned to)
{
  for (unsigned i = from; i < to; i++)
    {
      objects[i] = slice_linear_alloc (linear, 40);
      pattern_fill (objects[i], 40, i);
    }
}

/* Blocks that lie in a row become one, up to the cap: far fewer are left than
 * were asked for, and nothing at their ends.  A mark in a block that has grown
 * since leads back to the same places; so does a reset that keeps all. */
static void
test_joined (void)
{
  enum
  {
    N = 40000,
    AT_MARK = 9000
  };
  static unsigned *objects[N];
  SliceLinear *linear = slice_linear_new (NULL);
  SliceArenaStats stats;
  SliceMark mark;
  size_t n_blocks;
  const unsigned *at_mark;
  size_t n_requests;

  joined_fill (linear, objects, 0, AT_MARK);
  mark = slice_linear_mark (linear);
  joined_fill (linear, objects, AT_MARK, N);
  slice_linear_get_stats (linear, &stats);
  assert_stats_add_up (&stats);
  n_blocks = stats.n_blocks;
  if (!is_annotated ())
    {
      g_assert_cmpuint (n_blocks, <, stats.n_requests / 2);
      g_assert_cmpuint (stats.wasted_bytes, <, stats.held_bytes / 400);
    }
  for (unsigned i = 0; i < N; i++)
    g_assert_true (pattern_holds (objects[i], 40, i));
  at_mark = objects[AT_MARK];
  slice_linear_rollback (linear, mark);
  joined_fill (linear, objects, AT_MARK, N);
  g_assert_true (is_annotated () || objects[AT_MARK] == at_mark);
  for (unsigned i = 0; i < N; i++)
    g_assert_true (pattern_holds (objects[i], 40, i));
  slice_linear_reset (linear, SLICE_KEEP_ALL);
  slice_linear_get_stats (linear, &stats);
  n_requests = stats.n_requests;
  joined_fill (linear, objects, 0, N);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.n_requests, ==, n_requests);
  slice_linear_reset (linear, SLICE_KEEP_LARGEST);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.held_bytes - stats.control_bytes, <=, 65536 + 512);
  slice_linear_destroy (linear);
}

/* Can the system say which pages have memory, and give it to many at once? */
static bool
system_populates (void)
{
#if defined(__linux__) && defined(MADV_POPULATE_WRITE)
  unsigned char is_present = 1;
  char *pages = mmap (NULL, 65536, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bool can;

  g_assert_true (pages != MAP_FAILED);
  can = mincore (pages, 4096, &is_present) == 0 && (is_present & 1) == 0
        && madvise (pages, 65536, MADV_POPULATE_WRITE) == 0;
  munmap (pages, 65536);
  return can;
#else
  return false;
#endif
}

static bool
page_is_present (const char *address)
{
  unsigned char is_present = 0;
  char *page = (char *) ((uintptr_t) address & ~(uintptr_t) 4095);

  g_assert_cmpint (mincore (page, 4096, &is_present), ==, 0);
  return (is_present & 1) != 0;
}

/* A large arena's pages have memory before they are touched.  In a process
 * that has no spans yet. */
static void
test_ready (void)
{
  SliceLinear *linear;
  SliceArenaStats stats;
  const char *object;
  size_t n_requests;

  if (is_annotated () || !system_populates ())
    {
      g_test_skip ("watched, or the system can't populate");
      return;
    }
  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, 0);
      g_test_trap_assert_passed ();
      return;
    }
  linear = slice_linear_new (NULL);
  do
    {
      slice_linear_get_stats (linear, &stats);
      n_requests = stats.n_requests;
      object = slice_linear_alloc (linear, 64);
      slice_linear_get_stats (linear, &stats);
    }
  while (stats.held_bytes < (size_t) 3 << 20
         || stats.n_requests == n_requests);
  /* The first of a block of 64 KiB. */
  g_assert_true (page_is_present (object + 32768));
  slice_linear_destroy (linear);
}

static void
test_oversize (void)
{
  CountingSource counting;
  SliceArenaOptions options;
  SliceLinear *linear;
  char *before;
  size_t out;
  char *large;
  char *after;
  SliceArenaStats stats;

  if (skip_watched ("objects have gaps under a tool"))
    return;
  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source };
  linear = slice_linear_new (&options);
  before = slice_linear_alloc (linear, 16);
  out = counting.out_bytes;
  large = slice_linear_alloc (linear, 100 * 1024);
  after = slice_linear_alloc (linear, 16);
  memset (large, 1, 100 * 1024);
  g_assert_true (after == before + 16);
  g_assert_cmpuint (counting.out_bytes, ==, out + 100 * 1024);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.n_own_blocks, ==, 1);
  slice_linear_reset (linear, SLICE_KEEP_ALL);
  g_assert_cmpuint (counting.out_bytes, ==, out);
  slice_linear_destroy (linear);
  g_assert_cmpuint (counting.out_bytes, ==, 0);
  g_assert_cmpuint (counting.n_maps, ==, counting.n_unmaps);
}

/* --- reset --------------------------------------------------------------- */

static void
fill_arena (SliceLinear *linear)
{
  for (int i = 0; i < 100000; i++)
    slice_linear_alloc (linear, 24);
}

static void
test_reset (void)
{
  CountingSource counting;
  SliceArenaOptions options;
  SliceLinear *linear;
  SliceArenaStats stats;
  size_t n_blocks;
  size_t n_maps;

  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source };
  linear = slice_linear_new (&options);
  fill_arena (linear);
  slice_linear_get_stats (linear, &stats);
  n_blocks = stats.n_blocks;

  slice_linear_reset (linear, SLICE_KEEP_ALL);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.n_blocks, ==, n_blocks);
  g_assert_cmpuint (stats.used_bytes, ==, 0);
  n_maps = counting.n_maps;
  fill_arena (linear);
  g_assert_cmpuint (counting.n_maps, ==, n_maps);

  slice_linear_reset (linear, SLICE_KEEP_LARGEST);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.n_blocks, ==, 1);
  g_assert_cmpuint (counting.out_bytes, ==, 65536);
  fill_arena (linear);

  slice_linear_reset (linear, SLICE_KEEP_FIRST);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.n_blocks, ==, 1);
  g_assert_cmpuint (counting.out_bytes, ==, 65536);

  slice_linear_reset (linear, SLICE_KEEP_NONE);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.n_blocks, ==, 0);
  g_assert_cmpuint (counting.out_bytes, ==, 0);
  fill_arena (linear);
  slice_linear_destroy (linear);
  g_assert_cmpuint (counting.out_bytes, ==, 0);
}

/* A block that a reset has kept is passed over if it is too small for the next
 * object. */
static void
test_reset_small_block (void)
{
  enum { LARGE_BYTES = 20000 };
  CountingSource counting;
  SliceArenaOptions options;
  SliceLinear *linear;
  size_t n_maps;
  char *large;

  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source };
  linear = slice_linear_new (&options);
  fill_arena (linear);
  slice_linear_reset (linear, SLICE_KEEP_ALL);
  n_maps = counting.n_maps;
  g_assert_true (slice_linear_grow (linear, LARGE_BYTES, NULL));
  large = slice_linear_finish (linear, NULL);
  pattern_fill (large, LARGE_BYTES, 1);
  for (int i = 0; i < 20000; i++)
    pattern_fill (slice_linear_alloc (linear, 24), 24, 2);
  g_assert_true (pattern_holds (large, LARGE_BYTES, 1));
  g_assert_cmpuint (counting.n_maps, ==, n_maps);
  slice_linear_destroy (linear);
}

/* By default the blocks stay in the shared spans. */
static void
test_reset_default (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SliceArenaStats stats;

  fill_arena (linear);
  slice_linear_reset (linear, SLICE_KEEP_NONE);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.n_blocks, ==, 1);
  assert_stats_add_up (&stats);
  fill_arena (linear);
  slice_linear_destroy (linear);
  g_assert_cmpuint (slice_arena_trim (0), >, 0);
  g_assert_cmpuint (slice_arena_trim (0), ==, 0);
}

typedef struct
{
  int n;
  size_t size;
} Frame;

static void
frame_fill (SliceLinear *linear, Frame frame)
{
  char *objects[300];

  for (int i = 0; i < frame.n; i++)
    {
      objects[i] = slice_linear_alloc (linear, frame.size);
      g_assert_nonnull (objects[i]);
      pattern_fill (objects[i], frame.size, (unsigned) i);
    }
  for (int i = 0; i < frame.n; i++)
    g_assert_true (pattern_holds (objects[i], frame.size, (unsigned) i));
}

/* What is the same again requests nothing, and holds little more. */
static void
check_frames (const SliceSource *source)
{
  static const Frame frames[]
      = { { 10, 200 }, { 20, 4000 }, { 300, 100 }, { 2, 60000 }, { 1, 50 } };

  for (size_t i = 0; i < G_N_ELEMENTS (frames); i++)
    for (int rolls_back = 0; rolls_back <= 1; rolls_back++)
      {
        SliceArenaOptions options = { .source = source };
        SliceLinear *linear = slice_linear_new (&options);
        SliceArenaStats stats;
        size_t n_requests = 0;
        SliceMark mark = slice_linear_mark (linear);
        size_t asked;

        for (int k = 0; k < 10; k++)
          {
            frame_fill (linear, frames[i]);
            if (rolls_back)
              slice_linear_rollback (linear, mark);
            else
              slice_linear_reset (linear, SLICE_KEEP_ALL);
            slice_linear_get_stats (linear, &stats);
            assert_stats_add_up (&stats);
            if (k == 4)
              n_requests = stats.n_requests;
          }
        g_assert_cmpuint (stats.n_requests, ==, n_requests);
        asked = (size_t) frames[i].n * frames[i].size;
        if (!is_annotated () && source == NULL)
          g_assert_cmpuint (stats.n_blocks, <=, rolls_back ? 5 : 4);
        if (!rolls_back && !is_annotated () && source == NULL)
          {
            g_assert_cmpuint (stats.held_bytes, <, asked * 2 + 5000);
          }
        slice_linear_destroy (linear);
      }
}

static void
test_frames (void)
{
  check_frames (NULL);
}

static void
test_frames_of_source (void)
{
  check_frames (slice_source_builtin (SLICE_PAGES_MMAP));
}

/* A frame of n objects of many sizes, the same for the same seed. */
static void
frame_fill_mixed (SliceLinear *linear, unsigned n, size_t size_max,
                  uint32_t seed)
{
  for (unsigned i = 0; i < n; i++)
    {
      seed = seed * 1664525 + 1013904223; /* Knuth's, modulo 2^32 */
      g_assert_nonnull (
          slice_linear_alloc (linear, (seed >> 8) % size_max));
    }
}

/* The second of two equal frames requests nothing, wherever the first one
 * ended: in the embedded block, behind it, or in the third block. */
static void
test_second_frame (void)
{
  static const size_t sizes_max[] = { 16, 60, 300, 2000 };
  SliceArenaStats first, second;

  for (size_t k = 0; k < G_N_ELEMENTS (sizes_max); k++)
    for (unsigned n = 1; n < 60; n++)
      {
        SliceLinear *linear = slice_linear_new (NULL);

        frame_fill_mixed (linear, n, sizes_max[k], n);
        slice_linear_reset (linear, SLICE_KEEP_ALL);
        slice_linear_get_stats (linear, &first);
        frame_fill_mixed (linear, n, sizes_max[k], n);
        slice_linear_get_stats (linear, &second);
        assert_stats_add_up (&second);
        if (second.n_requests != first.n_requests)
          g_error ("%u objects below %zu bytes: %zu requests, then %zu", n,
                   sizes_max[k], first.n_requests, second.n_requests);
        slice_linear_destroy (linear);
      }
}

/* The blocks of a frame stay as they are if there is no memory for the one in
 * their place. */
static void
test_frame_limit (void)
{
  SliceArenaOptions options;
  SliceLinear *linear;
  Frame frame;

  if (skip_watched ("objects have gaps under a tool"))
    return;
  options = (SliceArenaOptions){ .limit_bytes = 40000 };
  linear = slice_linear_new (&options);
  frame = (Frame){ 300, 96 };
  for (int k = 0; k < 5; k++)
    {
      frame_fill (linear, frame);
      slice_linear_reset (linear, SLICE_KEEP_ALL);
    }
  slice_linear_destroy (linear);
}

/* After a reset that kept a block the arena starts in it.  A trim returns it,
 * but not from under a mark. */
static void
test_trim_after_reset (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SliceArenaStats stats;
  SliceMark mark;

  fill_arena (linear);
  slice_linear_reset (linear, SLICE_KEEP_LARGEST);
  mark = slice_linear_mark (linear);
  slice_linear_trim (linear);
  slice_linear_rollback (linear, mark);
  frame_fill (linear, (Frame){ 10, 200 });
  slice_linear_rollback (linear, mark);
  slice_linear_reset (linear, SLICE_KEEP_LARGEST);
  g_assert_cmpuint (slice_linear_trim (linear), >, 0);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.n_blocks, ==, 1);
  frame_fill (linear, (Frame){ 10, 200 });
  slice_linear_destroy (linear);
}

/* An object that grows leaves the block of the others; without it, the new
 * block is empty, but the arena is not. */
static void
test_trim_after_abandon (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SliceArenaStats stats;
  char *first = slice_linear_alloc (linear, 24);
  char *last;

  pattern_fill (first, 24, 1);
  for (int i = 0; i < 3; i++)
    {
      g_assert_true (slice_linear_grow (linear, 300u << i, NULL));
      slice_linear_abandon (linear);
      slice_linear_trim (linear);
      slice_linear_get_stats (linear, &stats);
      g_assert_cmpuint (stats.used_bytes, >=, 24);
      for (int k = 0; k < 20; k++)
        memset (slice_linear_alloc (linear, 40), 'Z', 40);
      g_assert_true (pattern_holds (first, 24, 1));
    }
  slice_linear_destroy (linear);
  /* The same by an object that is freed. */
  linear = slice_linear_new (NULL);
  first = slice_linear_alloc (linear, 80);
  pattern_fill (first, 80, 1);
  last = slice_linear_alloc (linear, 60);
  g_assert_true (slice_linear_free_last (linear, last, 60));
  slice_linear_trim (linear);
  for (int k = 0; k < 20; k++)
    memset (slice_linear_alloc (linear, 40), 'Z', 40);
  g_assert_true (pattern_holds (first, 80, 1));
  slice_linear_destroy (linear);
}

/* Many compilers' arenas hold no more. */
static void
test_hundred_bytes (void)
{
  SliceLinear *linear;
  SliceArenaStats stats;

  if (skip_watched ("objects have gaps under a tool"))
    return;
  linear = slice_linear_new (NULL);
  slice_linear_alloc (linear, 100);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.held_bytes, <=, 400);
  slice_linear_destroy (linear);
}

/* The inline path, at each place in a block and at its end. */
static void
test_alignments (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *last = NULL;
  size_t last_size = 0;

  for (int i = 0; i < 20000; i++)
    {
      size_t alignment = (size_t) 1 << g_test_rand_int_range (0, 13);
      size_t size = (size_t) g_test_rand_int_range (1, 300);
      char *object = slice_linear_alloc_aligned (linear, alignment, size);

      g_assert_cmpuint ((uintptr_t) object % MAX (alignment, 8), ==, 0);
      g_assert_true (last == NULL || pattern_holds (last, last_size, 7));
      pattern_fill (object, size, 7);
      g_assert_true (slice_linear_owns (linear, object + size - 1));
      last = object;
      last_size = size;
    }
  for (int i = 0; i < 3; i++)
    g_assert_null (
        slice_linear_alloc_aligned (linear, 64, SIZE_MAX - (size_t) i * 32));
  slice_linear_destroy (linear);
}

/* --- marks --------------------------------------------------------------- */

enum
{
  N_MARKS = 1000
};

static void
test_marks (void)
{
  /* Smaller than what gets a block of its own. */
  SliceArenaOptions options = { .first_bytes = 8192, .cap_bytes = 8192 };
  SliceLinear *linear = slice_linear_new (&options);
  static SliceMark marks[N_MARKS];
  static char *objects[N_MARKS];
  static SliceArenaStats at_mark[N_MARKS];
  SliceArenaStats stats;
  size_t held_bytes;
  int n_same = 0;
  int top = N_MARKS;

  for (int i = 0; i < N_MARKS; i++)
    {
      marks[i] = slice_linear_mark (linear);
      slice_linear_get_stats (linear, &at_mark[i]);
      objects[i] = slice_linear_alloc (linear, 600);
      pattern_fill (objects[i], 600, (unsigned) i);
    }
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.n_blocks, >=, 45);
  held_bytes = stats.held_bytes;
  while (top > 0)
    {
      int to = top - g_test_rand_int_range (1, MIN (top, 60) + 1);
      char *again;

      slice_linear_rollback (linear, marks[to]);
      slice_linear_get_stats (linear, &stats);
      g_assert_cmpuint (stats.used_bytes, ==, at_mark[to].used_bytes);
      for (int i = 0; i < to; i += 17)
        g_assert_true (pattern_holds (objects[i], 600, (unsigned) i));
      /* At the same place, or at the next block's start if the object crosses
       * the block's end. */
      again = slice_linear_alloc (linear, 600);
      pattern_fill (again, 600, (unsigned) to);
      n_same += again == objects[to];
      for (int i = 0; i < to; i++)
        g_assert_true (pattern_holds (objects[i], 600, (unsigned) i));
      slice_linear_rollback (linear, marks[to]);
      top = to;
    }
  g_assert_cmpint (n_same, >, 0);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.held_bytes, <=, held_bytes);
  g_assert_cmpuint (slice_linear_trim (linear), >, 0);
  slice_linear_destroy (linear);
}

/* How many objects fit the first block? */
static unsigned
n_in_first_block (size_t size)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SliceArenaStats stats;
  unsigned n = 0;

  do
    {
      slice_linear_alloc (linear, size);
      slice_linear_get_stats (linear, &stats);
      n++;
    }
  while (stats.n_blocks <= 1);
  slice_linear_destroy (linear);
  return n - 1;
}

/* What crosses the end of a block between a mark and a rollback does so once:
 * the next rounds lie in the block behind.  The mark still holds. */
static void
test_marks_at_block_end (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SliceArenaStats stats;
  SliceMark outer = slice_linear_mark (linear);
  char *first[3];
  char *oldest = NULL;

  /* Where pointers are small, the first block has space for more. */
  for (unsigned i = n_in_first_block (24); i > 4; i--)
    {
      char *older = slice_linear_alloc (linear, 24);

      oldest = oldest == NULL ? older : oldest;
    }
  for (int round = 0; round < 3; round++)
    {
      SliceMark mark = slice_linear_mark (linear);

      for (int i = 0; i < 10; i++)
        {
          char *object = slice_linear_alloc (linear, 24);

          memset (object, i, 24);
          if (i == 0)
            first[round] = object;
        }
      slice_linear_get_stats (linear, &stats);
      g_assert_cmpuint (stats.n_blocks, >, 1);
      slice_linear_rollback (linear, mark);
    }
  g_assert_true (is_annotated () || first[1] != first[0]);
  g_assert_true (first[2] == first[1]);
  slice_linear_rollback (linear, outer);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.used_bytes, ==, 0);
  slice_linear_reset (linear, SLICE_KEEP_FIRST);
  g_assert_true (slice_linear_alloc (linear, 24)
                 == (oldest == NULL ? first[0] : oldest));
  slice_linear_destroy (linear);
}

/* What is older than a mark is neither grown nor cut in place. */
static void
test_marks_older (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *string = slice_linear_strdup (linear, "kept");
  char *before = string;
  SliceMark mark = slice_linear_mark (linear);
  char *large;
  char *small;

  g_assert_true (slice_linear_strcat (linear, &string, ", and longer"));
  g_assert_true (string != before);
  g_assert_cmpstr (string, ==, "kept, and longer");
  slice_linear_rollback (linear, mark);
  g_assert_cmpstr (before, ==, "kept");
  /* The mark still holds; a smaller object and a large one. */
  slice_linear_reset (linear, SLICE_KEEP_ALL);
  large = slice_linear_alloc (linear, 100000);
  pattern_fill (large, 100000, 1);
  small = slice_linear_alloc (linear, 80);
  pattern_fill (small, 80, 2);
  mark = slice_linear_mark (linear);
  for (int i = 0; i < 2; i++)
    {
      char *cut;
      char *next;

      g_assert_false (slice_linear_free_last (linear, small, 80));
      g_assert_false (slice_linear_free_last (linear, large, 100000));
      cut = slice_linear_resize (linear, small, 80, 8);
      g_assert_true (is_annotated () || cut == small);
      next = slice_linear_alloc (linear, 80);
      pattern_fill (next, 80, 3);
      g_assert_true (slice_linear_free_last (linear, next, 80));
      slice_linear_rollback (linear, mark);
      g_assert_true (pattern_holds (small, 80, 2));
      g_assert_true (pattern_holds (large, 100000, 1));
    }
  /* Without a mark they are the last again. */
  slice_linear_reset (linear, SLICE_KEEP_ALL);
  small = slice_linear_alloc (linear, 80);
  g_assert_true (slice_linear_resize (linear, small, 80, 160) == small);
  g_assert_true (slice_linear_free_last (linear, small, 160));
  slice_linear_destroy (linear);
}

/* --- cleanups ------------------------------------------------------------ */

static char cleanup_order[32];

static void
note_cleanup (void *data)
{
  /* The memory is still there. */
  size_t length = strlen (cleanup_order);

  cleanup_order[length] = *(char *) data;
  cleanup_order[length + 1] = '\0';
}

static char *
add_noted (SliceLinear *linear, char letter)
{
  char *object = slice_linear_alloc (linear, 400);

  *object = letter;
  g_assert_true (slice_linear_add_cleanup (linear, note_cleanup, object));
  return object;
}

static void
test_cleanups (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SliceMark mark;

  cleanup_order[0] = '\0';
  add_noted (linear, 'a');
  mark = slice_linear_mark (linear);
  add_noted (linear, 'b');
  add_noted (linear, 'c');
  slice_linear_rollback (linear, mark);
  g_assert_cmpstr (cleanup_order, ==, "cb");
  add_noted (linear, 'd');
  slice_linear_reset (linear, SLICE_KEEP_FIRST);
  g_assert_cmpstr (cleanup_order, ==, "cbda");
  add_noted (linear, 'e');
  slice_linear_destroy (linear);
  g_assert_cmpstr (cleanup_order, ==, "cbdae");
}

/* --- the last object ----------------------------------------------------- */

static void
test_last (void)
{
  SliceArenaOptions options = { .first_bytes = 1024 };
  SliceLinear *linear = slice_linear_new (&options);
  char *object = slice_linear_alloc (linear, 32);
  char *grown;
  char *next;
  char *moved;
  volatile size_t huge;

  pattern_fill (object, 32, 5);
  grown = slice_linear_resize (linear, object, 32, 96);
  g_assert_true (grown == object);
  g_assert_true (pattern_holds (grown, 32, 5));
  pattern_fill (grown, 96, 6);
  g_assert_true (slice_linear_resize (linear, grown, 96, 48) == grown);
  g_assert_true (pattern_holds (grown, 48, 6));
  next = slice_linear_alloc (linear, 16);
  g_assert_true (next >= grown + 48 && next < grown + 96);
  moved = slice_linear_resize (linear, grown, 48, 64);
  g_assert_true (moved != grown);
  g_assert_true (pattern_holds (moved, 48, 6));
  g_assert_false (slice_linear_free_last (linear, next, 16));
  g_assert_true (slice_linear_free_last (linear, moved, 64));
  g_assert_true (slice_linear_free_last (linear, next, 16));
  g_assert_true (slice_linear_alloc (linear, 16) == next);
  huge = SIZE_MAX - 8;
  g_assert_null (slice_linear_resize (linear, next, 16, huge));
  slice_linear_destroy (linear);
}

/* 0 bytes are taken as 1: the first byte is the program's. */
static void
test_resize_zero (void)
{
  SliceLinear *linear = slice_linear_new (NULL);

  for (size_t i = 0; i < 4; i++)
    {
      char *object = slice_linear_alloc (linear, 24); /* at 0, 8 mod 16 */
      char *moved;

      *object = 42;
      if (i % 2 != 0)
        slice_linear_alloc (linear, 8);
      moved = slice_linear_resize (linear, object, 24, 0);
      g_assert_true (moved == object || is_annotated ());
      g_assert_cmpint (*moved, ==, 42);
      slice_linear_alloc (linear, 8);
      moved = slice_linear_resize (linear, moved, 0, 40);
      g_assert_cmpint (*moved, ==, 42);
      moved = slice_linear_resize (linear, moved, 40, 0);
      *moved = 43;
    }
  slice_linear_destroy (linear);
}

/* An object that shrinks stays, also if its new size is a multiple of 16 and
 * its address is not. */
static void
test_shrink_in_place (void)
{
  SliceArenaOptions options = { .limit_bytes = 8192 };
  SliceLinear *linear;

  if (skip_watched ("under a tool an object that shrinks may move"))
    return;
  linear = slice_linear_new (&options);
  for (size_t i = 0; i < 2; i++)
    {
      char *object = slice_linear_alloc (linear, 88);

      while (((uintptr_t) object & 8) == 0)
        object = slice_linear_alloc (linear, 88);
      pattern_fill (object, 88, 7);
      if (i > 0)
        while (slice_linear_alloc (linear, 8) != NULL)
          ; /* no copy is possible */
      g_assert_true (slice_linear_resize (linear, object, 88, 80) == object);
      g_assert_true (slice_linear_resize (linear, object, 80, 16) == object);
      g_assert_true (pattern_holds (object, 16, 7));
    }
  slice_linear_destroy (linear);
}

/* --- growing ------------------------------------------------------------- */

static void
test_grow (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  size_t size;
  char *object;
  char *next;
  SliceArenaStats stats;

  slice_linear_alloc (linear, 24);
  for (unsigned i = 0; i < 300000; i++)
    g_assert_true (slice_linear_grow_char (linear, (char) (i * 31 % 127)));
  g_assert_nonnull (slice_linear_growing (linear, &size));
  g_assert_cmpuint (size, ==, 300000);
  g_assert_true (slice_linear_grow (linear, 1000, NULL));
  slice_linear_shrink (linear, 1000);
  object = slice_linear_finish (linear, &size);
  g_assert_cmpuint (size, ==, 300000);
  for (unsigned i = 0; i < 300000; i++)
    g_assert_cmpint (object[i], ==, (char) (i * 31 % 127));
  next = slice_linear_alloc (linear, 8);
  g_assert_true (next < object || next >= object + 300000);
  g_assert_true (slice_linear_grow (linear, 5, "12345"));
  slice_linear_abandon (linear);
  g_assert_null (slice_linear_growing (linear, NULL));
  slice_linear_finish (linear, &size);
  g_assert_cmpuint (size, ==, 0);
  slice_linear_get_stats (linear, &stats);
  assert_stats_add_up (&stats);
  /* Blocks that held nothing else went back as it grew. */
  g_assert_cmpuint (stats.held_bytes, <, 3 * 300000);
  slice_linear_destroy (linear);
}

/* --- strings ------------------------------------------------------------- */

static void
test_strings (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *text = slice_linear_strdup (linear, "one");
  const void *volatile null = NULL;
  char *none = NULL;
  char *start = NULL;

  g_assert_cmpstr (text, ==, "one");
  g_assert_null (slice_linear_strdup (linear, NULL));
  g_assert_null (slice_linear_strndup (linear, NULL, 3));
  g_assert_null (slice_linear_copy (linear, 1, null));
  g_assert_null (slice_linear_copy (linear, 100000, null));
  g_assert_nonnull (slice_linear_copy (linear, 0, null));
  g_assert_cmpstr (slice_linear_strndup (linear, "onetwo", 3), ==, "one");
  g_assert_true (slice_linear_strcat (linear, &text, "two"));
  g_assert_cmpstr (text, ==, "onetwo");
  g_assert_true (slice_linear_strcat (linear, &none, "new"));
  g_assert_cmpstr (none, ==, "new");
  slice_linear_strcat (linear, &start, "");
  for (int i = 0; i < 2000; i++)
    g_assert_true (slice_linear_strcat (linear, &start, "x"));
  g_assert_cmpuint (strlen (start), ==, 2000);
  slice_linear_destroy (linear);
}

static void
test_printf (void)
{
  SliceLinear *linear = slice_linear_new (NULL);

  for (int i = 0; i < 20000; i++)
    {
      char expected[1200];
      int width = g_test_rand_int_range (1, i % 50 == 0 ? 1000 : 60);
      double value = g_test_rand_double_range (-1e6, 1e6);
      char *text;

      snprintf (expected, sizeof expected, "%*d|%.*f|%s", width, i, i % 9,
                value, "tail");
      text = slice_linear_printf (linear, "%*d|%.*f|%s", width, i, i % 9,
                                  value, "tail");
      g_assert_cmpstr (text, ==, expected);
    }
  slice_linear_destroy (linear);
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
  SliceMark mark;
  guint n_known;
} KnownMark;

static void
check_all (GArray *known)
{
  for (guint i = 0; i < known->len; i++)
    {
      Known *one = &g_array_index (known, Known, i);

      g_assert_true (pattern_holds (one->object, one->size, one->number));
    }
}

static size_t
random_size (void)
{
  int kind = g_test_rand_int_range (0, 100);

  if (kind < 90)
    return (size_t) g_test_rand_int_range (0, 200);
  if (kind < 99)
    return (size_t) g_test_rand_int_range (200, 5000);
  return (size_t) g_test_rand_int_range (5000, 200000);
}

static void
model_add (SliceLinear *linear, GArray *known, unsigned number)
{
  Known one = { NULL, random_size (), number };

  if (g_test_rand_bit ())
    one.object = slice_linear_alloc (linear, one.size);
  else
    {
      size_t alignment = (size_t) 1 << g_test_rand_int_range (0, 9);

      one.object = slice_linear_alloc_aligned (linear, alignment, one.size);
      g_assert_cmpuint ((uintptr_t) one.object % alignment, ==, 0);
    }
  g_assert_nonnull (one.object);
  g_assert_true (slice_linear_owns (linear, one.object));
  pattern_fill (one.object, one.size, one.number);
  g_array_append_val (known, one);
}

/* An object from before the newest mark stays as it is: what it grows to is a
 * new object. */
static void
model_resize_older (SliceLinear *linear, GArray *known, size_t size)
{
  Known last = g_array_index (known, Known, known->len - 1);
  Known resized = { NULL, size, last.number };

  g_assert_false (slice_linear_free_last (linear, last.object, last.size));
  resized.object
      = slice_linear_resize (linear, last.object, last.size, size);
  g_assert_nonnull (resized.object);
  if (resized.object == last.object)
    {
      g_assert_cmpuint (size, <=, MAX ((last.size + 7) & ~(size_t) 7, 8));
      return;
    }
  pattern_fill (resized.object, size, last.number);
  g_array_append_val (known, resized);
}

static void
model_resize_last (SliceLinear *linear, GArray *known, GArray *marks)
{
  guint n_fixed = 0;
  size_t size = random_size ();
  Known *last;
  char *moved;

  if (marks->len > 0)
    n_fixed = g_array_index (marks, KnownMark, marks->len - 1).n_known;
  if (known->len == 0)
    return;
  if (known->len <= n_fixed)
    {
      model_resize_older (linear, known, size);
      return;
    }
  last = &g_array_index (known, Known, known->len - 1);
  moved = slice_linear_resize (linear, last->object, last->size, size);
  g_assert_nonnull (moved);
  g_assert_true (pattern_holds (moved, MIN (size, last->size), last->number));
  last->object = moved;
  last->size = size;
  pattern_fill (moved, size, last->number);
}

static void
model_grow (SliceLinear *linear, GArray *known, unsigned number)
{
  Known one = { NULL, 0, number };
  size_t size = random_size () + 1;
  char *bytes = g_malloc (size);

  pattern_fill (bytes, size, number);
  while (one.size < size)
    {
      size_t more = random_size () / 4 + 1;

      more = MIN (more, size - one.size);
      g_assert_true (slice_linear_grow (linear, more, bytes + one.size));
      one.size += more;
    }
  g_free (bytes);
  one.object = slice_linear_finish (linear, NULL);
  g_array_append_val (known, one);
}

static void
run_model (const SliceArenaOptions *options, unsigned n_operations)
{
  SliceLinear *linear = slice_linear_new (options);
  GArray *known = g_array_new (FALSE, FALSE, sizeof (Known));
  GArray *marks = g_array_new (FALSE, FALSE, sizeof (KnownMark));

  for (unsigned i = 0; i < n_operations; i++)
    {
      int what = g_test_rand_int_range (0, 1000);

      if (what < 850)
        model_add (linear, known, i);
      else if (what < 880)
        model_grow (linear, known, i);
      else if (what < 950)
        model_resize_last (linear, known, marks);
      else if (what < 980)
        {
          KnownMark mark = { slice_linear_mark (linear), known->len };

          g_array_append_val (marks, mark);
        }
      else if (what < 995 && marks->len > 0)
        {
          guint to = (guint) g_test_rand_int_range (0, (gint32) marks->len);
          KnownMark mark = g_array_index (marks, KnownMark, to);

          slice_linear_rollback (linear, mark.mark);
          g_array_set_size (known, mark.n_known);
          g_array_set_size (marks, to);
          check_all (known);
        }
      else if (what >= 998)
        {
          check_all (known);
          slice_linear_reset (linear,
                              (SliceKeep) g_test_rand_int_range (0, 4));
          g_array_set_size (known, 0);
          g_array_set_size (marks, 0);
        }
      if (i % 256 == 0)
        {
          SliceArenaStats stats;
          size_t asked = 0;

          slice_linear_get_stats (linear, &stats);
          assert_stats_add_up (&stats);
          for (guint k = 0; k < known->len; k++)
            asked += g_array_index (known, Known, k).size;
          g_assert_cmpuint (stats.used_bytes, >=, asked);
        }
    }
  check_all (known);
  slice_linear_destroy (linear);
  g_array_free (known, TRUE);
  g_array_free (marks, TRUE);
}

static void
test_model (void)
{
  unsigned n = g_test_slow () ? 200000 : 20000;
  SliceArenaOptions large_first;
  CountingSource counting;
  SliceArenaOptions counted;

  run_model (NULL, n);
  large_first = (SliceArenaOptions){ .first_bytes = 30000 };
  run_model (&large_first, n / 4);
  counting_source_init (&counting);
  counted = (SliceArenaOptions){ .source = &counting.source };
  run_model (&counted, n / 4);
  g_assert_cmpuint (counting.out_bytes, ==, 0);
}

/* --- no memory ----------------------------------------------------------- */

/* The k-th page request fails, for every k: what was there stands. */
static void
test_failing_source (void)
{
  CountingSource counting;
  SliceArenaOptions options;

  counting_source_init (&counting);
  options = (SliceArenaOptions){ .source = &counting.source };
  for (size_t k = 0; k < 40; k++)
    {
      SliceLinear *linear = slice_linear_new (&options);
      GArray *known = g_array_new (FALSE, FALSE, sizeof (Known));

      counting.n_until_failure = k;
      for (unsigned i = 0; i < 3000; i++)
        {
          Known one = { NULL, 100 + i % 900, i };

          one.object = slice_linear_alloc (linear, one.size);
          if (one.object == NULL)
            {
              g_assert_cmpint (errno, ==, ENOMEM);
              continue;
            }
          pattern_fill (one.object, one.size, i);
          g_array_append_val (known, one);
        }
      check_all (known);
      counting.n_until_failure = SIZE_MAX;
      g_assert_nonnull (slice_linear_alloc (linear, 70000));
      slice_linear_destroy (linear);
      g_array_free (known, TRUE);
      g_assert_cmpuint (counting.out_bytes, ==, 0);
    }
}

static void
test_limit (void)
{
  SliceArenaOptions options = { .limit_bytes = 100000 };
  SliceLinear *linear = slice_linear_new (&options);
  size_t n = 0;
  SliceArenaStats stats;

  while (slice_linear_alloc (linear, 100) != NULL)
    n++;
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (n, >, 600);
  g_assert_cmpuint (stats.held_bytes, <=, 100000);
  slice_linear_destroy (linear);
}

/* An object that grows gets a block of twice its size, or what there is. */
static void
test_limit_growing (void)
{
  SliceArenaOptions options = { .limit_bytes = 13000 };
  SliceLinear *linear = slice_linear_new (&options);
  SliceArenaStats stats;

  g_assert_true (slice_linear_grow (linear, 2000, NULL));
  g_assert_true (slice_linear_grow (linear, 3000, NULL));
  g_assert_false (slice_linear_grow (linear, 10000, NULL));
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.held_bytes, <=, 13000);
  slice_linear_destroy (linear);
}

/* An object of no bytes in an arena that holds no block: the bytes that follow
 * need one. */
static void
grow_from_nothing (SliceLinear *linear)
{
  size_t size = 1;
  char *object;

  g_assert_true (slice_linear_grow (linear, 0, ""));
  g_assert_true (slice_linear_grow (linear, 0, NULL));
  slice_linear_shrink (linear, 0);
  slice_linear_growing (linear, &size);
  g_assert_cmpuint (size, ==, 0);
  g_assert_true (slice_linear_grow_char (linear, 'x'));
  g_assert_true (slice_linear_grow (linear, 2, "yz"));
  object = slice_linear_finish (linear, &size);
  g_assert_cmpmem (object, size, "xyz", 3);
}

static void
test_grow_from_nothing (void)
{
  const SliceArenaOptions options[]
      = { { 0 }, { .source = slice_source_builtin (SLICE_PAGES_MMAP) } };

  for (size_t i = 0; i < G_N_ELEMENTS (options); i++)
    {
      SliceLinear *linear = slice_linear_new (&options[i]);
      SliceMark mark = slice_linear_mark (linear);

      grow_from_nothing (linear);
      slice_linear_rollback (linear, mark);
      slice_linear_trim (linear);
      grow_from_nothing (linear);
      slice_linear_reset (linear, SLICE_KEEP_NONE);
      grow_from_nothing (linear);
      slice_linear_reset (linear, SLICE_KEEP_NONE);
      g_assert_true (slice_linear_grow (linear, 0, NULL));
      slice_linear_abandon (linear);
      g_assert_true (slice_linear_grow (linear, 0, NULL));
      g_assert_nonnull (slice_linear_finish (linear, NULL));
      slice_linear_destroy (linear);
    }
}

/* From the growing object itself, which moves meanwhile. */
static void
test_grow_by_itself (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  size_t size = 3;
  const char *object;

  g_assert_true (slice_linear_grow (linear, 3, "abc"));
  for (int i = 0; i < 16; i++)
    {
      char *growing = slice_linear_growing (linear, &size);

      g_assert_true (slice_linear_grow (linear, size - 1, growing));
      g_assert_true (slice_linear_grow (linear, 1, "c"));
    }
  object = slice_linear_finish (linear, &size);
  g_assert_cmpuint (size, ==, 3 << 16);
  for (size_t i = 0; i < size; i++)
    if (object[i] != "abc"[i % 3])
      g_error ("wrong at %zu", i);
  slice_linear_destroy (linear);
}

/* With many small blocks the table is a part that counts. */
static void
test_limit_of_table (void)
{
  SliceArenaOptions options
      = { .first_bytes = 64, .cap_bytes = 256, .limit_bytes = 20000 };
  SliceLinear *linear = slice_linear_new (&options);
  SliceArenaStats stats;

  do
    {
      slice_linear_get_stats (linear, &stats);
      g_assert_cmpuint (stats.held_bytes, <=, 20000);
    }
  while (slice_linear_alloc (linear, 40) != NULL);
  g_assert_cmpuint (stats.held_bytes, >, 15000);
  slice_linear_destroy (linear);
}

/* Types that want more than their size gives. */
typedef struct
{
  _Alignas (64) char bytes[64];
} Wide;

typedef struct
{
  _Alignas (4096) char bytes[4096];
} Page;

typedef int Aligned16 __attribute__ ((aligned (16)));

#define ALIGNED_HERE(object, type)                                            \
 g_assert_cmpuint ((uintptr_t) (object) % __alignof__ (type), ==, 0)

static void
test_typed_alignment (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  volatile size_t many;

  for (int i = 0; i < 200; i++)
    {
      ALIGNED_HERE (slice_linear_new_object (linear, Wide), Wide);
      ALIGNED_HERE (slice_linear_new_object (linear, Page), Page);
      ALIGNED_HERE (slice_linear_new_object (linear, Aligned16), Aligned16);
      ALIGNED_HERE (slice_linear_new_object (linear, long double),
                    long double);
      ALIGNED_HERE (slice_linear_new_array (linear, Wide, 1 + i % 3), Wide);
      ALIGNED_HERE (slice_linear_new_array (linear, Page, 2), Page);
      ALIGNED_HERE (slice_linear_new_array (linear, long double, i),
                    long double);
      slice_linear_new_array (linear, char, 1 + i % 9);
      slice_linear_new_object (linear, double);
    }
  many = SIZE_MAX / sizeof (Wide) + 2;
  errno = 0;
  g_assert_null (slice_linear_new_array (linear, Wide, many));
  g_assert_cmpint (errno, ==, ENOMEM);
  many = SIZE_MAX / sizeof (double) + 2;
  errno = 0;
  g_assert_null (slice_linear_new_array (linear, double, many));
  g_assert_cmpint (errno, ==, ENOMEM);
  slice_linear_destroy (linear);
}

static void
test_bad_options (void)
{
  SliceArenaOptions bad[] = {
    { .first_bytes = 8 },
    { .first_bytes = 1000, .cap_bytes = 500 },
    { .cap_bytes = (size_t) 1 << 31 },
    { .flags = 0x80 },
    { .struct_bytes = sizeof (SliceArenaOptions) + 8 },
    { .struct_bytes = sizeof (SliceArenaOptions) - 8 },
  };
  SliceArenaOptions good;
  SliceLinear *linear;

  for (size_t i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      errno = 0;
      g_assert_null (slice_linear_new (&bad[i]));
      g_assert_cmpint (errno, ==, EINVAL);
    }
  good = (SliceArenaOptions){ .struct_bytes = sizeof good };
  linear = slice_linear_new (&good);
  g_assert_nonnull (linear);
  slice_linear_destroy (linear);
  slice_linear_destroy (NULL);
}

/* --- misuse -------------------------------------------------------------- */

static void
test_misuse_mark_foreign (void)
{
  if (g_test_subprocess ())
    {
      SliceLinear *one = slice_linear_new (NULL);
      SliceLinear *other = slice_linear_new (NULL);

      slice_linear_rollback (one, slice_linear_mark (other));
      return;
    }
  expect_error (303, "slice_linear_rollback: linear arena ");
}

static void
test_misuse_mark_undone (void)
{
  if (g_test_subprocess ())
    {
      SliceLinear *linear = slice_linear_new (NULL);
      SliceMark early = slice_linear_mark (linear);
      SliceMark late = slice_linear_mark (linear);

      slice_linear_rollback (linear, early);
      slice_linear_rollback (linear, late);
      return;
    }
  expect_error (304, "undone");
}

static void
test_misuse_mark_reset (void)
{
  if (g_test_subprocess ())
    {
      SliceLinear *linear = slice_linear_new (NULL);
      SliceMark mark = slice_linear_mark (linear);

      slice_linear_reset (linear, SLICE_KEEP_ALL);
      slice_linear_rollback (linear, mark);
      return;
    }
  expect_error (304, "undone");
}

G_GNUC_PRINTF (2, 3)
static void
print_list (SliceLinear *linear, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  slice_linear_vprintf (linear, format, arguments);
  va_end (arguments);
}

static const char *const growing_calls[]
    = { "slice_linear_alloc",  "slice_linear_alloc_aligned",
        "slice_linear_mark",   "slice_linear_resize",
        "slice_linear_strdup", "slice_linear_strndup",
        "slice_linear_strcat", "slice_linear_vprintf",
        "slice_linear_printf" };

static void
call_while_growing (SliceLinear *linear, const char *name)
{
  char *string = NULL;
  gsize i = 0;

  while (growing_calls[i] != name)
    i++;
  slice_linear_grow (linear, 3, "abc");
  switch (i)
    {
    case 0: slice_linear_alloc (linear, 8); break;
    case 1: slice_linear_alloc_aligned (linear, 64, 8); break;
    case 2: slice_linear_mark (linear); break;
    case 3: slice_linear_resize (linear, NULL, 0, 8); break;
    case 4: slice_linear_strdup (linear, "text"); break;
    case 5: slice_linear_strndup (linear, "text", 2); break;
    case 6: slice_linear_strcat (linear, &string, "text"); break;
    case 7: print_list (linear, "%d", 1); break;
    default: slice_linear_printf (linear, "%d", 1); break;
    }
}

static void
test_misuse_growing (gconstpointer name)
{
  char *text;

  if (g_test_subprocess ())
    {
      call_while_growing (slice_linear_new (NULL), name);
      return;
    }
  text = g_strdup_printf ("%s: linear arena *grows", (const char *) name);
  expect_error (302, text);
  g_free (text);
}

static void
test_misuse_shrink (void)
{
  if (g_test_subprocess ())
    {
      SliceLinear *linear = slice_linear_new (NULL);

      slice_linear_grow (linear, 3, "abc");
      slice_linear_shrink (linear, 4);
      return;
    }
  expect_error (305, "shrink by 4 of an object of 3");
}

static void
test_misuse_alignment (void)
{
  if (g_test_subprocess ())
    {
      SliceLinear *linear = slice_linear_new (NULL);

      slice_linear_alloc_aligned (linear, 24, 8);
      return;
    }
  expect_error (300, "slice_linear_alloc_aligned: alignment 24");
}

static void
test_misuse_handle (void)
{
  if (g_test_subprocess ())
    {
      SliceStack *stack = slice_stack_new (NULL);

      slice_linear_reset ((SliceLinear *) stack, SLICE_KEEP_ALL);
      return;
    }
  expect_error (306, "no live linear arena");
}

/* Which objects are last, as the header says. */
static void
test_last_of_block (void)
{
  SliceArenaOptions options = { .first_bytes = 4096 };
  SliceLinear *linear = slice_linear_new (&options);
  char *first = slice_linear_alloc (linear, 8);
  char *second = slice_linear_alloc (linear, 8);
  char *large = slice_linear_alloc (linear, 100000);
  char *larger = slice_linear_alloc (linear, 200000);
  char *padded;
  char *old;

  /* of the current block, and of the last block */
  g_assert_false (slice_linear_free_last (linear, first, 8));
  g_assert_false (slice_linear_free_last (linear, large, 100000));
  g_assert_true (slice_linear_resize (linear, larger, 200000, 200008)
                 == larger);
  g_assert_true (slice_linear_free_last (linear, larger, 200008));
  g_assert_true (slice_linear_free_last (linear, second, 8));
  g_assert_true (slice_linear_resize (linear, first, 8, 80) == first);
  g_assert_true (slice_linear_free_last (linear, large, 100000));

  /* padding stays */
  padded = slice_linear_alloc_aligned (linear, 1024, 8);
  g_assert_true (slice_linear_free_last (linear, padded, 8));
  g_assert_false (slice_linear_free_last (linear, first, 80));

  /* the newest mark */
  old = slice_linear_alloc (linear, 8);
  slice_linear_mark (linear);
  g_assert_false (slice_linear_free_last (linear, old, 8));
  g_assert_true (slice_linear_resize (linear, old, 8, 80) != old);
  slice_linear_destroy (linear);
}

static void
expect_counts (const SliceLinear *linear, size_t used_bytes,
               size_t wasted_bytes)
{
  SliceArenaStats stats;

  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.used_bytes, ==, used_bytes);
  g_assert_cmpuint (stats.wasted_bytes, ==, wasted_bytes);
}

/* A large object with a dedicated block counts with its present size, whichever
 * block was added since it shrank, unless it is older than the newest mark. */
static void
test_large_shrinks (void)
{
  SliceArenaOptions options = { .first_bytes = 4096 };
  SliceLinear *linear = slice_linear_new (&options);
  SliceArenaStats small;
  char *lower;
  char *upper;
  SliceArenaStats full;
  size_t used;
  size_t wasted;
  char *old;
  SliceMark mark;

  slice_linear_alloc (linear, 8);
  slice_linear_get_stats (linear, &small);
  lower = slice_linear_alloc (linear, 100000);
  upper = slice_linear_alloc (linear, 200000);
  slice_linear_get_stats (linear, &full);

  g_assert_true (slice_linear_resize (linear, lower, 100000, 50) == lower);
  used = full.used_bytes - (100000 - 56);
  wasted = full.wasted_bytes + (100000 - 56);
  expect_counts (linear, used, wasted);
  g_assert_true (slice_linear_resize (linear, upper, 200000, 0) == upper);
  expect_counts (linear, used - (200000 - 8), wasted + (200000 - 8));
  g_assert_true (slice_linear_free_last (linear, upper, 0));
  g_assert_true (slice_linear_free_last (linear, lower, 50));
  expect_counts (linear, small.used_bytes, small.wasted_bytes);
  if (is_annotated ()) /* what is older than a mark is copied */
    {
      slice_linear_destroy (linear);
      return;
    }

  old = slice_linear_alloc (linear, 100000);
  slice_linear_get_stats (linear, &full);
  mark = slice_linear_mark (linear);
  g_assert_true (slice_linear_resize (linear, old, 100000, 50) == old);
  expect_counts (linear, full.used_bytes, full.wasted_bytes);
  slice_linear_alloc (linear, 100000);
  slice_linear_rollback (linear, mark);
  expect_counts (linear, full.used_bytes, full.wasted_bytes);
  slice_linear_destroy (linear);
}

/* An arena of many small blocks. */
static const SliceArenaOptions many_blocks
    = { .first_bytes = 64, .cap_bytes = 256 };

/* A reset that keeps nothing, and a trim, return the tables as well: the arena
 * then holds what a new one does. */
static void
test_tables_linear (void)
{
  SliceLinear *linear = slice_linear_new (&many_blocks);
  SliceArenaStats fresh;
  SliceArenaStats stats;
  SliceMark mark;
  size_t held;
  size_t n;

  slice_linear_get_stats (linear, &fresh);
  for (int i = 0; i < 5000; i++)
    slice_linear_alloc (linear, 200);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.control_bytes, >, fresh.control_bytes + 10000);
  slice_linear_reset (linear, SLICE_KEEP_NONE);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.control_bytes, ==, fresh.control_bytes);
  g_assert_cmpuint (stats.held_bytes, ==, fresh.held_bytes);

  mark = slice_linear_mark (linear);
  for (int i = 0; i < 5000; i++)
    slice_linear_alloc (linear, 200);
  slice_linear_rollback (linear, mark);
  slice_linear_get_stats (linear, &stats);
  held = stats.held_bytes;
  n = slice_linear_trim (linear);
  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.held_bytes, ==, held - n);
  g_assert_cmpuint (stats.control_bytes, <, fresh.control_bytes + 200);
  slice_linear_destroy (linear);
}

static void
test_tables_stack (void)
{
  SliceStack *stack = slice_stack_new (&many_blocks);
  SliceArenaStats fresh;
  SliceArenaStats stats;

  slice_stack_get_stats (stack, &fresh);
  for (int i = 0; i < 5000; i++)
    slice_stack_alloc (stack, 200);
  slice_stack_reset (stack, SLICE_KEEP_NONE);
  slice_stack_get_stats (stack, &stats);
  g_assert_cmpuint (stats.control_bytes, ==, fresh.control_bytes);
  g_assert_cmpuint (stats.held_bytes, ==, fresh.held_bytes);
  slice_stack_destroy (stack);
}

static void
check_tables_pool (unsigned flags)
{
  SlicePoolOptions options = { .object_bytes = 200, .arena = many_blocks };
  SlicePool *pool;
  static void *objects[5000];
  SliceArenaStats stats;

  options.arena.flags = flags;
  pool = slice_pool_new (&options);
  for (int trims = 0; trims < 2; trims++)
    {
      size_t held;

      for (int i = 0; i < 5000; i++)
        objects[i] = slice_pool_alloc (pool);
      slice_pool_get_stats (pool, &stats);
      held = stats.held_bytes;
      g_assert_cmpuint (stats.control_bytes, >, 20000);
      if (trims)
        {
          slice_pool_free_bulk (pool, 4999, objects + 1);
          slice_pool_get_stats (pool, &stats);
          held = stats.held_bytes - slice_pool_trim (pool);
        }
      else
        slice_pool_reset (pool, SLICE_KEEP_NONE);
      slice_pool_get_stats (pool, &stats);
      g_assert_cmpuint (stats.control_bytes, <, 10000);
      g_assert_true (!trims || stats.held_bytes == held);
    }
  slice_pool_destroy (pool);
}

static void
test_tables_pool (void)
{
  check_tables_pool (0);
  check_tables_pool (SLICE_ARENA_CHECKED);
}

static void
test_tables_tlsf (void)
{
  SliceArenaOptions options = { .first_bytes = 4096, .cap_bytes = 4096 };
  SliceTlsf *tlsf = slice_tlsf_new (&options);
  static void *objects[1000];
  SliceTlsfStats stats;
  size_t control;

  slice_tlsf_get_stats (tlsf, &stats);
  control = stats.arena.control_bytes;
  for (int trims = 0; trims < 2; trims++)
    {
      for (int i = 0; i < 1000; i++)
        objects[i] = slice_tlsf_alloc (tlsf, 3000);
      if (trims)
        {
          size_t held;

          for (int i = 0; i < 1000; i++)
            slice_tlsf_free (tlsf, objects[i]);
          slice_tlsf_get_stats (tlsf, &stats);
          held = stats.arena.held_bytes - slice_tlsf_trim (tlsf);
          slice_tlsf_get_stats (tlsf, &stats);
          g_assert_cmpuint (stats.arena.held_bytes, ==, held);
        }
      else
        slice_tlsf_reset (tlsf, SLICE_KEEP_NONE);
      slice_tlsf_get_stats (tlsf, &stats);
      g_assert_cmpuint (stats.arena.control_bytes, <=, control);
    }
  slice_tlsf_destroy (tlsf);
}

/* What grows within its rounding is copied as well if it is older than the
 * newest mark. */
static void
test_grows_after_mark (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *object = slice_linear_copy (linear, 10, "123456789");
  char *name = slice_linear_strdup (linear, "abc");
  SliceMark mark = slice_linear_mark (linear);
  char *longer = name;
  char *larger;

  g_assert_true (slice_linear_strcat (linear, &longer, "def"));
  g_assert_true (longer != name);
  g_assert_cmpstr (longer, ==, "abcdef");
  larger = slice_linear_resize (linear, object, 10, 16);
  g_assert_true (larger != object);
  memset (larger, 'b', 16);
  slice_linear_rollback (linear, mark);
  g_assert_cmpstr (name, ==, "abc");
  g_assert_cmpstr (object, ==, "123456789");
  slice_linear_destroy (linear);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/linear/all-alike", test_all_alike);
  g_test_add_func ("/slice/linear/large-shrinks", test_large_shrinks);
  g_test_add_func ("/slice/linear/tables/linear", test_tables_linear);
  g_test_add_func ("/slice/linear/tables/stack", test_tables_stack);
  g_test_add_func ("/slice/linear/tables/pool", test_tables_pool);
  g_test_add_func ("/slice/linear/tables/tlsf", test_tables_tlsf);
  g_test_add_func ("/slice/linear/grows-after-mark", test_grows_after_mark);
  g_test_add_func ("/slice/linear/alignment", test_alignment);
  g_test_add_func ("/slice/linear/size-zero", test_size_zero);
  g_test_add_func ("/slice/linear/overflow", test_overflow);
  g_test_add_func ("/slice/linear/growth", test_growth);
  g_test_add_func ("/slice/linear/small-arenas", test_small_arenas);
  g_test_add_func ("/slice/linear/bytes-held", test_bytes_held);
  g_test_add_func ("/slice/linear/frames", test_frames);
  g_test_add_func ("/slice/linear/frames-of-source", test_frames_of_source);
  g_test_add_func ("/slice/linear/second-frame", test_second_frame);
  g_test_add_func ("/slice/linear/frame-limit", test_frame_limit);
  g_test_add_func ("/slice/linear/trim-after-reset", test_trim_after_reset);
  g_test_add_func ("/slice/linear/trim-after-abandon", test_trim_after_abandon);
  g_test_add_func ("/slice/linear/hundred-bytes", test_hundred_bytes);
  g_test_add_func ("/slice/linear/alignments", test_alignments);
  g_test_add_func ("/slice/linear/joined", test_joined);
  g_test_add_func ("/slice/linear/ready", test_ready);
  g_test_add_func ("/slice/linear/oversize", test_oversize);
  g_test_add_func ("/slice/linear/reset", test_reset);
  g_test_add_func ("/slice/linear/reset-default", test_reset_default);
  g_test_add_func ("/slice/linear/reset-small-block", test_reset_small_block);
  g_test_add_func ("/slice/linear/marks", test_marks);
  g_test_add_func ("/slice/linear/marks-older", test_marks_older);
  g_test_add_func ("/slice/linear/marks-at-block-end",
                   test_marks_at_block_end);
  g_test_add_func ("/slice/linear/cleanups", test_cleanups);
  g_test_add_func ("/slice/linear/last", test_last);
  g_test_add_func ("/slice/linear/grow", test_grow);
  g_test_add_func ("/slice/linear/strings", test_strings);
  g_test_add_func ("/slice/linear/printf", test_printf);
  g_test_add_func ("/slice/linear/model", test_model);
  g_test_add_func ("/slice/linear/failing-source", test_failing_source);
  g_test_add_func ("/slice/linear/limit", test_limit);
  g_test_add_func ("/slice/linear/limit-of-table", test_limit_of_table);
  g_test_add_func ("/slice/linear/limit-growing", test_limit_growing);
  g_test_add_func ("/slice/linear/grow-from-nothing",
                   test_grow_from_nothing);
  g_test_add_func ("/slice/linear/grow-by-itself", test_grow_by_itself);
  g_test_add_func ("/slice/linear/typed-alignment", test_typed_alignment);
  g_test_add_func ("/slice/linear/bad-options", test_bad_options);
  g_test_add_func ("/slice/linear/misuse/mark-foreign",
                   test_misuse_mark_foreign);
  g_test_add_func ("/slice/linear/misuse/mark-undone",
                   test_misuse_mark_undone);
  g_test_add_func ("/slice/linear/misuse/mark-reset", test_misuse_mark_reset);
  for (gsize i = 0; i < G_N_ELEMENTS (growing_calls); i++)
    {
      char *path = g_strconcat ("/slice/linear/misuse/growing/",
                                growing_calls[i], NULL);

      g_test_add_data_func (path, growing_calls[i], test_misuse_growing);
      g_free (path);
    }
  g_test_add_func ("/slice/linear/misuse/shrink", test_misuse_shrink);
  g_test_add_func ("/slice/linear/misuse/alignment", test_misuse_alignment);
  g_test_add_func ("/slice/linear/misuse/handle", test_misuse_handle);
  g_test_add_func ("/slice/linear/last-of-block", test_last_of_block);
  g_test_add_func ("/slice/linear/shrink-in-place", test_shrink_in_place);
  g_test_add_func ("/slice/linear/resize-zero", test_resize_zero);
  return g_test_run ();
}
