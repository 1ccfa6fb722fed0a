/* test-alloc.c - slice/alloc/alloc.c: the entries, in each mode
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "tests/teststats.h"
#include "alloc/alloc.h"
#include "base/align.h"
#include "depot/depot.h"
#include "slab/slab.h"
#include "port/os/os.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SIZE_LAST = 5000 };

static const char *const modes[]
    = { "",          "bypass-magazines", "always-malloc", "debug-blocks",
        "count",     "align-16",         "page-source=mmap", "checked",
        "magazine-bytes-max=4096",       "working-set-msec=0",
        "always-malloc debug-blocks", "bypass-magazines debug-blocks",
        "hardened", "debug" };

/* What the compiler would warn of. */
static volatile size_t third = SIZE_MAX / 3, half = SIZE_MAX / 2 + 1;

static const char *mode;


static bool
has (const char *word)
{
  return strstr (mode, word) != NULL;
}

static TestBody body_in_mode;

static void
run_in_mode (void)
{
  test_options (mode);
  body_in_mode ();
  if (!has ("malloc"))
    for (unsigned i = 1; i < N_CLASSES; i++)
      {
        g_assert_true (sli_slab_is_valid (i));
        g_assert_true (sli_depot_is_valid (i));
      }
}

/* A body in each mode, each time in a process of its own. */
static void
in_each_mode (TestBody body)
{
  for (size_t i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      int status;
      char *said;

      mode = modes[i];
      body_in_mode = body;
      said = test_capture (run_in_mode, &status);
      if (status != 0 || said[0] != '\0')
        g_test_message ("mode '%s': %s", mode, said);
      g_assert_cmpint (status, ==, 0);
      g_assert_cmpstr (said, ==, "");
      g_free (said);
    }
}

/* --- sizes --- */

static size_t
alignment_in_mode (size_t size)
{
  if (has ("malloc") || size > SLICE_SIZE_MAX)
    return sizeof (void *);
  return has ("align-16") ? 16 : test_alignment (size);
}

static void
every_size (void)
{
  static void *blocks[SIZE_LAST + 1];

  for (size_t size = 0; size <= SIZE_LAST; size++)
    {
      blocks[size] = slice_alloc (size);
      g_assert_true ((blocks[size] == NULL) == (size == 0));
      g_assert_cmpuint ((uintptr_t) blocks[size] % alignment_in_mode (size),
                        ==, 0);
      test_fill (blocks[size], size, 0);
      if (size > 0)
        g_assert_cmpuint (slice_block_size (blocks[size]), >=, size);
    }
  for (size_t size = 0; size <= SIZE_LAST; size++)
    {
      g_assert_true (test_is_filled (blocks[size], size, 0));
      slice_free1 (size, blocks[size]);
    }
  /* Dirty memory is cleared, to the last byte. */
  for (size_t size = 0; size <= SIZE_LAST; size++)
    {
      char *zero = slice_alloc0 (size), *try_zero = slice_try_alloc0 (size);

      g_assert_true ((zero == NULL) == (size == 0));
      g_assert_true (test_is_zero (zero, size));
      g_assert_true (test_is_zero (try_zero, size));
      test_fill (zero, size, 1);
      slice_free1 (size, try_zero);
      try_zero = slice_copy (size, zero);
      g_assert_true (test_is_filled (try_zero, size, 1));
      slice_free1 (size, zero);
      slice_free1 (size, try_zero);
    }
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_every_size (void)
{
  in_each_mode (every_size);
}

/* The same on systems with larger pages. */
static void
every_size_16 (void)
{
  mode = "";
  sli_os_pretend_page_bytes (16384);
  every_size ();
}

static void
every_size_64 (void)
{
  mode = "";
  sli_os_pretend_page_bytes (65536);
  every_size ();
}

static void
nothing (void)
{
  typedef struct
  {
  } Empty;
  Empty *empty;
  const void *volatile null = NULL;

  g_assert_null (slice_alloc (0));
  g_assert_null (slice_alloc0 (0));
  g_assert_null (slice_try_alloc (0));
  g_assert_null (slice_copy (0, NULL));
  g_assert_null (slice_copy (8, (const void *) null));
  g_assert_null (slice_copy (100000, (const void *) null));
  g_assert_null (slice_alloc_n (0, 8));
  g_assert_null (slice_alloc_n (8, 0));
  g_assert_null (slice_alloc_n (0, third));
  g_assert_null (slice_alloc0_n (0, 8));
  g_assert_null (slice_try_alloc_n (0, 8));
  g_assert_null (slice_alloc_aligned (64, 0));
  slice_free1 (0, NULL);
  for (size_t size = 1; size < SIZE_LAST; size += 13)
    {
      slice_free1 (size, NULL);
      slice_free_chain_with_offset (size, NULL, 0);
      slice_free_n (size, 3, NULL);
      slice_free_aligned (64, size, NULL);
      slice_free_aligned (3, size, NULL); /* not looked at */
    }
  slice_free_bulk (0, NULL);
  empty = slice_new (Empty);
  g_assert_nonnull (empty);
  slice_free (Empty, empty);
  empty = slice_new0 (Empty);
  g_assert_nonnull (empty);
  slice_free (Empty, empty);
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_nothing (void)
{
  in_each_mode (nothing);
}

/* NULLs between other frees leave nothing that is taken for a block. */
static void
null_frees (void)
{
  void *blocks[300];

  for (int turn = 0; turn < 10; turn++)
    {
      for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
        {
          blocks[i] = slice_alloc (40);
          g_assert_nonnull (blocks[i]);
          memset (blocks[i], 1, 40);
        }
      for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
        {
          slice_free1 (40, blocks[i]);
          slice_free1 (40, NULL);
          slice_free1 (40, NULL);
        }
    }
  g_assert_cmpuint (test_live (), ==, 0);
  blocks[0] = slice_alloc (40);
  if (!has ("malloc"))
    g_assert_cmpuint (test_live (), ==, 1);
  slice_free1 (40, blocks[0]);
}

static void
test_null_frees (void)
{
  in_each_mode (null_frees);
}

/* --- chains --- */

typedef struct Node Node;
struct Node
{
  long number;
  Node *next;
  char rest[8];
};

static Node *
make_chain (unsigned n)
{
  Node *chain = NULL;

  for (unsigned i = 0; i < n; i++)
    {
      Node *node = slice_new (Node);

      node->number = i;
      node->next = chain;
      chain = node;
    }
  return chain;
}

/* A chain's end is the end of as many single blocks, counter by counter. */
static void
free_as_chain (void)
{
  slice_free_chain (Node, make_chain (test_times (1000000, 20000)), next);
}

static void
free_singly (void)
{
  Node *chain = make_chain (test_times (1000000, 20000));

  while (chain != NULL)
    {
      Node *next = chain->next;

      slice_free (Node, chain);
      chain = next;
    }
}

static void
print_counters (TestBody free_all)
{
  const SliceClassStats *class;

  test_options ("count");
  free_all ();
  g_assert_cmpuint (test_live (), ==, 0);
  class = test_class_stats (sizeof (Node));
  g_printerr ("%" G_GUINT64_FORMAT " hits, %" G_GUINT64_FORMAT
              " pushes, %" G_GUINT64_FORMAT " pops, %" G_GUINT64_FORMAT
              " taken, %" G_GUINT64_FORMAT " locks, %" G_GUINT64_FORMAT
              " trimmed, %" G_GUINT64_FORMAT " slabs freed, %" G_GUINT64_FORMAT
              " cached\n",
              class->n_hits, class->n_depot_pushes, class->n_depot_pops,
              class->n_slab_fills, class->n_slab_locks, class->n_trimmed,
              class->n_slabs_freed,
              class->n_cached_threads + class->n_cached_depot);
}

static void
print_chain (void)
{
  print_counters (free_as_chain);
}

static void
print_singles (void)
{
  print_counters (free_singly);
}

static void
test_chain_counters (void)
{
  int status;
  char *chain = test_capture (print_chain, &status);
  char *singles = test_capture (print_singles, &status);

  g_test_message ("%s", chain);
  g_assert_cmpstr (chain, ==, singles);
  g_assert_nonnull (strstr (chain, "hits"));
  g_assert_false (g_str_has_prefix (chain, "0 hits"));
  g_free (chain);
  g_free (singles);
}

static void
chain_in_mode (void)
{
  for (unsigned n = 0; n < 2000; n = n * 2 + 1)
    slice_free_chain (Node, make_chain (n), next);
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_chain (void)
{
  in_each_mode (chain_in_mode);
}

/* --- arrays --- */

static void
arrays (void)
{
  for (size_t n = 1; n < 100; n += 7)
    for (size_t size = 1; size < 100; size += 9)
      {
        char *block = slice_alloc_n (n, size);
        char *zero = slice_alloc0_n (n, size);
        char *try_block = slice_try_alloc_n (n, size);

        g_assert_true (block != NULL && zero != NULL && try_block != NULL);
        g_assert_true (test_is_zero (zero, n * size));
        memset (block, 1, n * size);
        memset (zero, 2, n * size);
        memset (try_block, 3, n * size);
        slice_free_n (n, size, block);
        slice_free_n (n, size, zero);
        slice_free_n (n, size, try_block);
      }
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_arrays (void)
{
  in_each_mode (arrays);
}

enum { UNTOUCHED_BYTES = 64 << 20 };

/* Few of its pages are in memory: those at its ends, which may be huge. */
static void
assert_untouched (const char *block)
{
  size_t page = sli_os_page_bytes (), n = UNTOUCHED_BYTES / page - 1;
  unsigned char *in_memory = g_malloc (n);
  size_t n_in_memory = 0;

  g_assert_nonnull (block);
  if (mincore ((char *) align_up ((uintptr_t) block, page), n * page,
               (void *) in_memory)
      == 0)
    for (size_t i = 0; i < n; i++)
      n_in_memory += in_memory[i] & 1;
  g_free (in_memory);
  if (!test_is_slow ())
    g_assert_cmpuint (n_in_memory, <=, n / 4);
  for (size_t i = 0; i < UNTOUCHED_BYTES; i += page / 2)
    g_assert_cmpint (block[i], ==, 0);
}

/* Large zeroes are the system's, which does not clear twice. */
static void
large_zeroes (void)
{
  const size_t n = UNTOUCHED_BYTES / 2;
  char *blocks[] = { slice_alloc0 (UNTOUCHED_BYTES),
                     slice_try_alloc0 (UNTOUCHED_BYTES),
                     slice_alloc0_n (n, 2),
                     slice_alloc0_aligned (16, UNTOUCHED_BYTES),
                     slice_try_alloc0_aligned (8, UNTOUCHED_BYTES) };
  char *wide = slice_alloc0_aligned (64, UNTOUCHED_BYTES);

  for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
    assert_untouched (blocks[i]);
  g_assert_true (test_is_zero (wide, UNTOUCHED_BYTES));
  slice_free1 (UNTOUCHED_BYTES, blocks[0]);
  slice_free1 (UNTOUCHED_BYTES, blocks[1]);
  slice_free_n (n, 2, blocks[2]);
  slice_free_aligned (16, UNTOUCHED_BYTES, blocks[3]);
  slice_free_aligned (8, UNTOUCHED_BYTES, blocks[4]);
  slice_free_aligned (64, UNTOUCHED_BYTES, wide);
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_large_zeroes (void)
{
  in_each_mode (large_zeroes);
}

/* From each size to each: slices and mallocs, with the alignment. */
static void
resizes (void)
{
  static const size_t sizes[] = { 1, 24, 2064, 2065, 5000, 300000 };
  static const size_t alignments[] = { 8, 16, 64, 8192 };
  const size_t n = G_N_ELEMENTS (sizes);

  for (size_t i = 0; i < n * n * G_N_ELEMENTS (alignments); i++)
    {
      size_t from = sizes[i % n], to = sizes[i / n % n];
      size_t alignment = alignments[i / n / n];
      char *block = slice_try_alloc_wide_v1 (alignment, from), *moved;
      char *copy = g_malloc (from);

      test_fill (block, from, 1);
      test_fill (copy, from, 1);
      moved = slice_try_resize_wide_v1 (alignment, from, to, block);
      g_assert_cmpuint ((uintptr_t) moved % alignment, ==, 0);
      g_assert_cmpmem (moved, MIN (from, to), copy, MIN (from, to));
      test_fill (moved, to, 2);
      slice_free_wide_v1 (alignment, to, moved);
      g_free (copy);
    }
  /* Without memory the block stays. */
  for (size_t i = 0; i < n; i++)
    {
      char *block = slice_try_alloc_wide_v1 (8, sizes[i]);

      test_fill (block, sizes[i], 1);
      g_assert_null (slice_try_resize_wide_v1 (8, sizes[i], PTRDIFF_MAX - 99,
                                               block));
      g_assert_true (test_is_filled (block, sizes[i], 1));
      slice_free_wide_v1 (8, sizes[i], block);
    }
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_resizes (void)
{
  in_each_mode (resizes);
}

static const size_t borders[] = {
  1,
  2,
  3,
  7,
  8,
  9,
  15,
  16,
  31,
  255,
  256,
  257,
  2063,
  2064,
  2065,
  4095,
  4096,
  65535,
  65536,
  65537,
  ((size_t) 1 << 31) - 1,
  (size_t) 1 << 31,
#if SIZE_MAX > UINT32_MAX
  ((size_t) 1 << 32) - 1,
  (size_t) 1 << 32,
  ((size_t) 1 << 32) + 1,
  ((size_t) 1 << 33) - 1,
#else
  ((size_t) 1 << 16) - 1,
  (size_t) 1 << 16,
  ((size_t) 1 << 16) + 1,
  ((size_t) 1 << 17) - 1,
#endif
  SIZE_MAX / 4096,
  SIZE_MAX / 16,
  SIZE_MAX / 16 + 1,
  SIZE_MAX / 8,
  SIZE_MAX / 8 + 1,
  SIZE_MAX / 3,
  SIZE_MAX / 3 + 1,
  SIZE_MAX / 2,
  SIZE_MAX / 2 + 1,
  SIZE_MAX / 2 + 2,
  SIZE_MAX - 4096,
  SIZE_MAX - 15,
  SIZE_MAX - 8,
  SIZE_MAX - 7,
  SIZE_MAX - 1,
  SIZE_MAX,
};

/* What does not fit is NULL and ENOMEM; what fits is large enough; nothing
 * wraps to something small. */
static void
test_overflows (void)
{
  const size_t bearable = (size_t) 1 << 20;

  test_limit_space ();
  for (size_t i = 0; i < G_N_ELEMENTS (borders); i++)
    for (size_t k = 0; k < G_N_ELEMENTS (borders); k++)
      {
        size_t n = borders[i], size = borders[k], bytes;
        bool wraps = __builtin_mul_overflow (n, size, &bytes);
        char *block;

        if (!wraps && bytes > bearable && bytes < SIZE_MAX / 4)
          continue;
        errno = 0;
        block = slice_try_alloc_n (n, size);
        if (wraps || bytes > bearable)
          {
            g_assert_null (block);
            g_assert_cmpint (errno, ==, ENOMEM);
            continue;
          }
        g_assert_nonnull (block);
        block[0] = block[bytes - 1] = 1;
        slice_free_n (n, size, block);
      }
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_large_sizes (void)
{
  test_limit_space ();
  for (size_t i = 0; i < G_N_ELEMENTS (borders); i++)
    if (borders[i] > SIZE_MAX / 4)
      {
        errno = 0;
        g_assert_null (slice_try_alloc (borders[i]));
        g_assert_cmpint (errno, ==, ENOMEM);
        g_assert_null (slice_try_alloc0 (borders[i]));
        for (size_t alignment = 1; alignment <= 4096; alignment *= 2)
          g_assert_null (slice_try_alloc_aligned (alignment, borders[i]));
      }
}

static void
death_overflow (void)
{
  test_will_die ("slice: error 121: slice_alloc_n: size overflow: 4 times %zu "
                 "bytes [thread %u]",
                 SIZE_MAX / 3, test_thread_id ());
  slice_alloc_n (4, third);
}

static void
death_overflow_zeroed (void)
{
  test_will_die ("slice: error 121: slice_alloc0_n: size overflow: %zu times 2 "
                 "bytes [thread %u]",
                 SIZE_MAX / 2 + 1, test_thread_id ());
  slice_alloc0_n (half, 2);
}

/* A product that wraps frees nothing small. */
static void
death_free_overflow (void)
{
  void *block = slice_alloc (8);

  test_will_die ("slice: error 121: slice_free_n: size overflow: %zu times 8 "
                 "bytes [thread %u]",
                 SIZE_MAX / 8 + 2, test_thread_id ());
  slice_free_n (SIZE_MAX / 8 + 2, 8, block);
}

/* --- alignment --- */

static void
aligned (void)
{
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2)
    for (size_t size = 1; size < 6000; size = size * 5 / 4 + 1)
      {
        char *blocks[20];

        for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i++)
          {
            blocks[i] = i % 2 == 0
                            ? slice_alloc_aligned (alignment, size)
                            : slice_try_alloc_aligned (alignment, size);
            g_assert_nonnull (blocks[i]);
            g_assert_cmpuint ((uintptr_t) blocks[i] % alignment, ==, 0);
            test_fill (blocks[i], size, i);
          }
        for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i++)
          {
            g_assert_true (test_is_filled (blocks[i], size, i));
            slice_free_aligned (alignment, size, blocks[i]);
          }
      }
  g_assert_cmpuint (test_live (), ==, 0);
  g_assert_cmpuint (test_stats ()->n_large_allocs, ==,
                    test_stats ()->n_large_frees);
}

static void
test_aligned (void)
{
  in_each_mode (aligned);
}

/* Beyond what slice_alloc_aligned() takes. */
static void
wide (void)
{
  for (size_t alignment = 8192; alignment <= MIB (1); alignment *= 4)
    for (size_t size = 1; size < 20000; size = size * 7 + 1)
      {
        char *block = slice_try_alloc_wide_v1 (alignment, size);

        g_assert_nonnull (block);
        g_assert_cmpuint ((uintptr_t) block % alignment, ==, 0);
        test_fill (block, size, 1);
        g_assert_true (test_is_filled (block, size, 1));
        slice_free_wide_v1 (alignment, size, block);
      }
  g_assert_cmpuint (test_live (), ==, 0);
  g_assert_cmpuint (test_stats ()->n_large_allocs, ==,
                    test_stats ()->n_large_frees);
}

static void
test_wide (void)
{
  in_each_mode (wide);
}

typedef struct Wide Wide;
struct Wide
{
  _Alignas (64) char bytes[100];
  Wide *next;
};

static void
typed_aligned (void)
{
  Wide *chain = NULL, *copy;

  for (int i = 0; i < 1000; i++)
    {
      Wide *wide = i % 2 == 0 ? slice_new (Wide) : slice_new0 (Wide);

      g_assert_cmpuint ((uintptr_t) wide % 64, ==, 0);
      wide->next = chain;
      chain = wide;
    }
  copy = slice_dup (Wide, chain);
  g_assert_cmpuint ((uintptr_t) copy % 64, ==, 0);
  g_assert_true (copy->next == chain->next);
  slice_free (Wide, copy);
  slice_free_chain (Wide, chain, next);
  g_assert_cmpuint (test_live (), ==, 0);
}

/* Types that want 16 and are no multiple of it. */
typedef int Sixteen __attribute__ ((aligned (16)));
typedef struct
{
  double two[5];
} Forty;
typedef Forty FortyBySixteen __attribute__ ((aligned (16)));

static void
typed_aligned_beyond_size (void)
{
  enum { N = 100 };
  Sixteen *small[N];
  FortyBySixteen *large[N];

  for (int i = 0; i < N; i++)
    {
      small[i] = i % 2 == 0 ? slice_new (Sixteen) : slice_try_new0 (Sixteen);
      large[i] = i % 2 == 0 ? slice_new0 (FortyBySixteen)
                            : slice_try_new (FortyBySixteen);
      g_assert_cmpuint ((uintptr_t) small[i] % 16, ==, 0);
      g_assert_cmpuint ((uintptr_t) large[i] % 16, ==, 0);
    }
  for (int i = 0; i < N; i++)
    {
      slice_free (Sixteen, small[i]);
      slice_free (FortyBySixteen, large[i]);
    }
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_typed_aligned_beyond_size (void)
{
  in_each_mode (typed_aligned_beyond_size);
}

static void
test_typed_aligned (void)
{
  in_each_mode (typed_aligned);
}

/* slice_try_new() and slice_try_new0(), and that zero means zero again and
 * again, for a type that is aligned by its size and for one that is not. */
static void
typed_try (void)
{
  for (int i = 0; i < 100; i++)
    {
      Node *node = slice_try_new (Node), *zero_node = slice_try_new0 (Node);
      Wide *wide = slice_try_new (Wide), *zero_wide = slice_try_new0 (Wide);
      Wide *other_wide = slice_new0 (Wide);

      g_assert_cmpuint ((uintptr_t) wide % 64, ==, 0);
      g_assert_cmpuint ((uintptr_t) zero_wide % 64, ==, 0);
      g_assert_true (test_is_zero (zero_node, sizeof (Node)));
      g_assert_true (test_is_zero (zero_wide, sizeof (Wide)));
      g_assert_true (test_is_zero (other_wide, sizeof (Wide)));
      memset (node, 0x55, sizeof (Node));
      memset (zero_node, 0x55, sizeof (Node));
      memset (wide, 0x55, sizeof (Wide));
      memset (zero_wide, 0x55, sizeof (Wide));
      memset (other_wide, 0x55, sizeof (Wide));
      slice_free (Node, node);
      slice_free (Node, zero_node);
      slice_free (Wide, wide);
      slice_free (Wide, zero_wide);
      slice_free (Wide, other_wide);
    }
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_typed_try (void)
{
  in_each_mode (typed_try);
}

/* Types that fit into no machine: the plain names would end the program. */
static void
test_typed_try_large (void)
{
  /* clang refuses types of 2^61 bytes and more. */
  enum { SHARE = sizeof (size_t) > 4 ? 16 : 4 };

  typedef struct
  {
    char bytes[SIZE_MAX / SHARE];
  } Huge;
  typedef struct
  {
    _Alignas (64) char bytes[SIZE_MAX / SHARE];
  } HugeWide;

  test_limit_space ();
  errno = 0;
  g_assert_null (slice_try_new (Huge));
  g_assert_cmpint (errno, ==, ENOMEM);
  g_assert_null (slice_try_new0 (Huge));
  g_assert_null (slice_try_new (HugeWide));
  errno = 0;
  g_assert_null (slice_try_new0 (HugeWide));
  g_assert_cmpint (errno, ==, ENOMEM);
}

static void
check_bad_alignment (size_t alignment)
{
  test_will_die ("slice: error 107: slice_alloc_aligned: alignment %zu is no "
                 "power of two up to 4096: given size 10 "
                 "[thread %u]",
                 alignment, test_thread_id ());
  slice_alloc_aligned (alignment, 10);
}

static void
death_alignment_0 (void)
{
  check_bad_alignment (0);
}

static void
death_alignment_24 (void)
{
  check_bad_alignment (24);
}

static void
death_alignment_8192 (void)
{
  check_bad_alignment (8192);
}

/* --- many at once --- */

static void
bulk (void)
{
  enum { N = 5000 };
  static void *blocks[N];
  TestRandom random;

  test_random_init (&random, 0);
  for (int turn = 0; turn < 5; turn++)
    {
      for (unsigned i = 0; i < N; i++)
        {
          size_t size = 1 + test_random_below (&random, SLICE_SIZE_MAX);

          blocks[i] = i % 10 == 0 ? NULL : slice_alloc (size);
          if (blocks[i] != NULL)
            memset (blocks[i], 1, size);
        }
      slice_free_bulk (N, blocks);
      g_assert_true (blocks[0] == NULL && blocks[1] != NULL);
      g_assert_cmpuint (test_live (), ==, 0);
    }
}

static void
test_bulk (void)
{
  in_each_mode (bulk);
}

/* Whatever a mode makes the largest blocks of, they are freed. */
static void
bulk_of_largest (void)
{
  enum { N = 50, ROUNDS = 400 };
  void *blocks[N];
  size_t before = 0;

  for (int round = 0; round < ROUNDS; round++)
    {
      if (round == ROUNDS / 4)
        before = test_resident_bytes ();
      for (int i = 0; i < N; i++)
        memset (blocks[i] = slice_alloc (SLICE_SIZE_MAX), 1, SLICE_SIZE_MAX);
      slice_free_bulk (N - 1, blocks);
      slice_free_unsized (blocks[N - 1]);
    }
  if (!test_is_slow ()) /* valgrind keeps what is freed for a while */
    g_assert_cmpuint (test_resident_bytes (), <, before + MIB (8));
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_bulk_of_largest (void)
{
  in_each_mode (bulk_of_largest);
}

/* Trees of small blocks: a lock for every 32 chunks at most. */
static void
test_bulk_locks (void)
{
  static const size_t sizes[] = { 16, 24, 40, 64, 100 };
  unsigned n = test_times (200000, 20000);
  void **blocks = g_new (void *, n);

  for (size_t k = 0; k < G_N_ELEMENTS (sizes); k++)
    {
      uint64_t before;

      for (unsigned i = 0; i < n; i++)
        blocks[i] = slice_alloc (sizes[k]);
      before = test_class_stats (sizes[k])->n_slab_locks;
      slice_free_bulk (n, blocks);
      before = test_class_stats (sizes[k])->n_slab_locks - before;
      g_test_message ("%zu bytes: %u blocks, %" G_GUINT64_FORMAT " locks",
                      sizes[k], n, before);
      g_assert_cmpuint (before * 32, <=, n);
    }
  g_assert_cmpuint (test_live (), ==, 0);
  g_free (blocks);
}

/* --- what an address is --- */

static SliceBlockInfo
info_of (const void *address)
{
  SliceBlockInfo info;

  slice_block_info (address, &info);
  return info;
}

static void
test_block_info (void)
{
  char *block = slice_alloc (40), *large = slice_alloc (5000);
  SliceBlockInfo info = info_of (block);

  g_assert_cmpint (info.kind, ==, SLICE_BLOCK_OUT);
  g_assert_cmpuint (info.class_index, ==, SLICE_CLASS_V1 (40));
  g_assert_cmpuint (info.bytes, ==, 40);
  g_assert_true (info.start == block);
  info = info_of (block + 13);
  g_assert_cmpint (info.kind, ==, SLICE_BLOCK_INTERIOR);
  g_assert_true (info.start == block);
  g_assert_true (slice_is_ours (block));
  g_assert_true (slice_is_ours (block + 13));
  g_assert_cmpint (info_of (large).kind, ==, SLICE_BLOCK_FOREIGN);
  g_assert_false (slice_is_ours (large));
  g_assert_cmpint (info_of (NULL).kind, ==, SLICE_BLOCK_FOREIGN);
  g_assert_cmpint (info_of ((void *) UINTPTR_MAX).kind, ==,
                   SLICE_BLOCK_FOREIGN);
  g_assert_cmpuint (info_of (&info).bytes, ==, 0);
  g_assert_cmpuint (slice_block_size (block), ==, 40);
  g_assert_cmpuint (slice_block_size (large), >=, 5000);
  /* In a magazine it still counts as out; in the slab it is free, and then
   * there is no slab. */
  slice_free1 (40, block);
  g_assert_cmpint (info_of (block).kind, ==, SLICE_BLOCK_OUT);
  slice_thread_flush ();
  slice_trim (0);
  g_assert_cmpint (info_of (block).kind, ==, SLICE_BLOCK_NONE);
  slice_free1 (5000, large);
}

/* --- how much may be used of a block --- */

/* Not less than was asked for, and as much as its chunk at most; just that
 * where the exact size is written down. */
static void
check_block_size (const char *options, bool is_exact)
{
  test_options (options);
  for (size_t size = 1; size < 20000; size += size < 600 ? 1 : 97)
    {
      char *volatile hidden = slice_alloc (size);
      char *block = hidden;
      size_t bytes = slice_block_size (block);

      g_assert_cmpuint (bytes, >=, size);
      g_assert_cmpuint (bytes, <=, size + size / 8 + 128);
      if (is_exact)
        g_assert_cmpuint (bytes, ==, size);
      memset (block, 1, bytes);
      slice_free1 (size, block);
      hidden = slice_alloc_aligned (64, size);
      block = hidden;
      bytes = slice_block_size (block);
      g_assert_cmpuint (bytes, >=, size);
      g_assert_cmpuint (bytes, <=, size + size / 8 + 256);
      memset (block, 1, bytes);
      slice_free_aligned (64, size, block);
    }
}

static void
test_block_size (void)
{
  check_block_size ("", false);
}

static void
test_block_size_bypass (void)
{
  check_block_size ("bypass-magazines", false);
}

static void
test_block_size_debug_blocks (void)
{
  check_block_size ("debug-blocks", true);
}

static void
test_block_size_always_malloc (void)
{
  check_block_size ("always-malloc:debug-blocks", false);
}

static void
test_block_size_checked (void)
{
  check_block_size ("checked", true);
}

static void
test_block_size_hardened (void)
{
  check_block_size ("hardened", true);
}

static void
test_block_size_debug (void)
{
  check_block_size ("debug", true);
}

/* The pool tells a tool, if there is one. */
static void
test_block_size_known (void)
{
  g_setenv ("SLICE_OPTIONS", "force-pool=2", TRUE);
  check_block_size ("force-pool=2", false);
}

/* Nothing was ever asked for: nothing is ours, and all of this is harmless. */
static void
test_before_the_first_block (void)
{
  int local = 0;

  g_assert_cmpint (info_of (&local).kind, ==, SLICE_BLOCK_FOREIGN);
  g_assert_false (slice_is_ours (&local));
  g_assert_cmpuint (slice_trim (0), ==, 0);
  slice_thread_flush ();
  g_assert_cmpuint (test_stats ()->n_maps, ==, 0);
  g_assert_false (sli_alloc_is_ready ());
}

/* --- modes --- */

static void
test_always_malloc (void)
{
  void *block;

  test_options ("always-malloc");
  block = slice_alloc (40);
  g_assert_cmpint (sli_alloc_path (), ==, PATH_MALLOC);
  g_assert_false (slice_is_ours (block));
  g_assert_cmpuint (test_stats ()->n_maps, ==, 0);
  slice_free1 (40, block);
  block = slice_alloc (40);
  free (block); /* it is malloc's, indeed */
}

static void
test_bypass (void)
{
  void *block;

  test_options ("bypass-magazines count");
  block = slice_alloc (40);
  g_assert_cmpuint (test_stats ()->n_threads, ==, 0);
  slice_free1 (40, block);
  g_assert_cmpuint (test_class_stats (40)->n_used, ==, 0);
  g_assert_cmpuint (test_stats ()->cached_bytes, ==, 0);
}

/* Blocks of every size go back in bulk, canaries and red zones or not. */
static void
bulk_every_size (void)
{
  for (size_t size = 1; size <= SLICE_SIZE_MAX; size++)
    {
      void *block = slice_alloc (size);

      slice_free_bulk (1, &block);
    }
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_bulk_hardened (void)
{
  test_options ("hardened");
  bulk_every_size ();
}

static void
test_bulk_debug (void)
{
  test_options ("debug");
  bulk_every_size ();
}

/* Every hit is counted, and nothing else. */
static void
test_count (void)
{
  uint64_t before;
  void *block;

  test_options ("count");
  block = slice_alloc (40);
  slice_free1 (40, block);
  before = test_class_stats (40)->n_hits;
  for (int i = 0; i < 1000; i++)
    {
      block = slice_alloc (40);
      slice_free1 (40, block);
    }
  g_assert_cmpuint (test_class_stats (40)->n_hits, ==, before + 2000);
}

static void
test_late_options (void)
{
  static TestPages pages;

  test_pages_init (&pages);
  slice_free1 (8, slice_alloc (8));
  g_assert_cmpint (slice_set_option (SLICE_OPTION_ALWAYS_MALLOC, 1), ==,
                   SLICE_SET_TOO_LATE);
  g_assert_cmpint (slice_set_source (&pages.source), ==, SLICE_SET_TOO_LATE);
  slice_free1 (8, slice_alloc (8));
  g_assert_cmpint (pages.n_maps, ==, 0);
}

static void
test_version (void)
{
  char *expected
      = g_strdup_printf ("%d.%d.%d", SLICE_VERSION_MAJOR, SLICE_VERSION_MINOR,
                         SLICE_VERSION_MICRO);

  g_assert_cmpstr (slice_version (), ==, expected);
  g_free (expected);
}

/* A preprocessor's question, asked of the versions around this one. */
static void
test_check_version (void)
{
  enum
  {
    MAJOR = SLICE_VERSION_MAJOR,
    MINOR = SLICE_VERSION_MINOR,
    MICRO = SLICE_VERSION_MICRO
  };

#if !SLICE_CHECK_VERSION(0, 0, 0)
# error "older than nothing"
#endif
  g_assert_true (SLICE_CHECK_VERSION (MAJOR, MINOR, MICRO));
  g_assert_true (SLICE_CHECK_VERSION (MAJOR - 1, MINOR + 1, MICRO + 1));
  g_assert_true (SLICE_CHECK_VERSION (MAJOR, MINOR - 1, MICRO + 1));
  g_assert_true (SLICE_CHECK_VERSION (MAJOR, MINOR, MICRO - 1));
  g_assert_false (SLICE_CHECK_VERSION (MAJOR + 1, MINOR - 1, MICRO - 1));
  g_assert_false (SLICE_CHECK_VERSION (MAJOR, MINOR + 1, MICRO - 1));
  g_assert_false (SLICE_CHECK_VERSION (MAJOR, MINOR, MICRO + 1));
}

/* --- no memory --- */

static struct
{
  unsigned n_calls;
  size_t size, alignment;
  TestPages *pages;
} asked;

static bool
on_failure (size_t size, size_t alignment, void *data)
{
  g_assert_true (data == &asked);
  asked.n_calls++;
  asked.size = size;
  asked.alignment = alignment;
  /* It may use slices itself. */
  slice_free1 (16, slice_try_alloc (16));
  if (asked.pages != NULL)
    asked.pages->n_until_failure = -1;
  return asked.pages != NULL;
}

static TestPages pages;

static void
begin_without_memory (void)
{
  test_pages_init (&pages);
  pages.n_until_failure = 0;
  slice_set_source (&pages.source);
}

static void
test_failure_handler (void)
{
  void *block;

  begin_without_memory ();
  asked.pages = &pages;
  slice_set_failure_handler (on_failure, &asked);
  block = slice_alloc (100);
  g_assert_nonnull (block);
  g_assert_cmpuint (asked.n_calls, ==, 1);
  g_assert_cmpuint (asked.size, ==, 100);
  g_assert_cmpuint (asked.alignment, ==, 0);
  slice_free1 (100, block);
}

/* For slice_try_ nobody is asked. */
static void
test_try_does_not_ask (void)
{
  begin_without_memory ();
  slice_set_failure_handler (on_failure, &asked);
  errno = 0;
  g_assert_null (slice_try_alloc (100));
  g_assert_cmpint (errno, ==, ENOMEM);
  g_assert_null (slice_try_alloc0 (100));
  g_assert_null (slice_try_alloc_aligned (64, 100));
  g_assert_null (slice_try_alloc_n (10, 10));
  g_assert_cmpuint (asked.n_calls, ==, 0);
  pages.n_until_failure = -1;
  slice_free1 (100, slice_try_alloc (100));
}

static void
death_handler_gives_up (void)
{
  begin_without_memory ();
  slice_set_failure_handler (on_failure, &asked);
  test_will_die ("slice: error 120: slice_alloc: out of memory: 100 bytes "
                 "[thread %u]",
                 test_thread_id ());
  slice_alloc (100);
}

/* What can never fit is asked for once, whatever the handler says. */
static bool
says_yes (size_t size, size_t alignment G_GNUC_UNUSED,
          void *data G_GNUC_UNUSED)
{
  static int n_calls;

  if (n_calls++ > 0 || size <= PTRDIFF_MAX - 64)
    _exit (99);
  return true;
}

static void
death_never_fits (void)
{
  slice_set_failure_handler (says_yes, NULL);
  test_will_die ("slice: error 121: slice_alloc_n: size overflow: %zu times "
                 "2 bytes [thread %u]",
                 half, test_thread_id ());
  slice_alloc_n (half, 2);
}

static void
death_never_fits_aligned (void)
{
  slice_set_failure_handler (says_yes, NULL);
  test_will_die ("slice: error 120: slice_alloc_aligned: out of memory: %zu "
                 "bytes, alignment 64 [thread %u]",
                 half, test_thread_id ());
  slice_alloc_aligned (64, half);
}

/* Rounded up to its alignment it does not. */
static void
death_never_fits_rounded (void)
{
  slice_set_failure_handler (says_yes, NULL);
  test_will_die ("slice: error 120: slice_alloc_aligned: out of memory: %zu "
                 "bytes, alignment 64 [thread %u]",
                 half - 10, test_thread_id ());
  slice_alloc_aligned (64, half - 10);
}

static void
death_never_fits_one (void)
{
  slice_set_failure_handler (says_yes, NULL);
  test_will_die ("slice: error 120: slice_alloc: out of memory: %zu bytes "
                 "[thread %u]",
                 half, test_thread_id ());
  slice_alloc (half);
}

static void
death_no_memory (void)
{
  begin_without_memory ();
  test_will_die ("slice: error 120: slice_alloc: out of memory: 200 bytes "
                 "[thread %u]",
                 test_thread_id ());
  slice_alloc0 (200);
}

static void
death_no_memory_large (void)
{
  test_limit_space ();
  test_will_die ("slice: error 120: slice_alloc: out of memory: %zu bytes "
                 "[thread %u]",
                 SIZE_MAX / 2 - 1000, test_thread_id ());
  slice_alloc (SIZE_MAX / 2 - 1000);
}

static void
death_no_memory_aligned (void)
{
  test_limit_space ();
  test_will_die ("slice: error 120: slice_alloc_aligned: out of memory: %zu "
                 "bytes, alignment 4096 [thread %u]",
                 SIZE_MAX / 2 - 100000, test_thread_id ());
  slice_alloc_aligned (4096, SIZE_MAX / 2 - 100000);
}

/* Failing maps of every number: nothing is lost, and all goes on. */
static void
fail_nth_map (void)
{
  enum { N = 40000 };
  static void *blocks[N];

  for (int n_maps = 0; n_maps < 4; n_maps++)
    {
      unsigned n = 0;

      pages.n_until_failure = n_maps;
      while (n < N && (blocks[n] = slice_try_alloc (2000)) != NULL)
        {
          memset (blocks[n], 1, 2000);
          n++;
        }
      g_assert_cmpuint (test_live (), ==, n);
      while (n > 0)
        slice_free1 (2000, blocks[--n]);
      g_assert_cmpuint (test_live (), ==, 0);
      slice_trim (0);
    }
}

static void
test_nth_map_fails (void)
{
  begin_without_memory ();
  fail_nth_map ();
  for (unsigned i = 1; i < N_CLASSES; i++)
    g_assert_true (sli_slab_is_valid (i) && sli_depot_is_valid (i));
}

/* Bytes that the system's malloc has handed out. */
static size_t
malloc_bytes (void)
{
#ifdef HAVE_MALLINFO2
  struct mallinfo2 info = mallinfo2 ();

  return info.hblkhd + info.uordblks;
#else
  return 0;
#endif
}

/* Each way to free a large block returns its memory to malloc. */
static void
large_comes_back (void)
{
  enum { LARGE = 1 << 20, N = 16 };
  size_t before = malloc_bytes ();

  for (int i = 0; i < N; i++)
    {
      slice_free1 (LARGE, slice_alloc (LARGE));
      slice_free_unsized (slice_alloc (LARGE));
      slice_free_aligned (64, LARGE, slice_alloc_aligned (64, LARGE));
      slice_free_unsized (slice_alloc_aligned (64, LARGE));
    }
  g_assert_cmpuint (malloc_bytes (), <, before + LARGE);
}

static void
test_large_comes_back (void)
{
#ifndef HAVE_MALLINFO2
  g_test_skip ("malloc does not say what it has handed out");
  return;
#endif
  in_each_mode (large_comes_back);
}

/* What is refused as too large. */
static void
add_too_large (void)
{
  test_add_fresh ("/slice/alloc/overflows", test_overflows);
  test_add_fresh ("/slice/alloc/large-sizes", test_large_sizes);
  test_add_fresh ("/slice/alloc/typed-try-large", test_typed_try_large);
  test_add_death ("/slice/alloc/death/no-memory-large",
                  death_no_memory_large);
  test_add_death ("/slice/alloc/death/no-memory-aligned",
                  death_no_memory_aligned);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  if (test_can_limit_space ())
    add_too_large ();
  test_add ("/slice/alloc/every-size", test_every_size);
  test_add_fresh ("/slice/alloc/every-size-16-KiB-pages", every_size_16);
  test_add_fresh ("/slice/alloc/every-size-64-KiB-pages", every_size_64);
  test_add ("/slice/alloc/nothing", test_nothing);
  test_add ("/slice/alloc/null-frees", test_null_frees);
  test_add ("/slice/alloc/chain", test_chain);
  test_add ("/slice/alloc/chain-counters", test_chain_counters);
  test_add ("/slice/alloc/arrays", test_arrays);
  test_add ("/slice/alloc/large-zeroes", test_large_zeroes);
  test_add ("/slice/alloc/resizes", test_resizes);
  test_add_death ("/slice/alloc/death/overflow", death_overflow);
  test_add_death ("/slice/alloc/death/overflow-zeroed",
                  death_overflow_zeroed);
  test_add_death ("/slice/alloc/death/free-overflow", death_free_overflow);
  test_add ("/slice/alloc/aligned", test_aligned);
  test_add ("/slice/alloc/wide", test_wide);
  test_add ("/slice/alloc/typed-aligned", test_typed_aligned);
  test_add ("/slice/alloc/typed-aligned-beyond-size",
            test_typed_aligned_beyond_size);
  test_add ("/slice/alloc/typed-try", test_typed_try);
  test_add_death ("/slice/alloc/death/alignment-0", death_alignment_0);
  test_add_death ("/slice/alloc/death/alignment-24", death_alignment_24);
  test_add_death ("/slice/alloc/death/alignment-8192", death_alignment_8192);
  test_add ("/slice/alloc/bulk", test_bulk);
  test_add ("/slice/alloc/bulk-of-largest", test_bulk_of_largest);
  test_add_fresh ("/slice/alloc/bulk-locks", test_bulk_locks);
  test_add_fresh ("/slice/alloc/block-info", test_block_info);
  test_add_fresh ("/slice/alloc/block-size", test_block_size);
  test_add_fresh ("/slice/alloc/block-size-bypass", test_block_size_bypass);
  test_add_fresh ("/slice/alloc/block-size-debug-blocks",
                  test_block_size_debug_blocks);
  test_add_fresh ("/slice/alloc/block-size-always-malloc",
                  test_block_size_always_malloc);
  test_add_fresh ("/slice/alloc/block-size-checked", test_block_size_checked);
  test_add_fresh ("/slice/alloc/block-size-hardened",
                  test_block_size_hardened);
  test_add_fresh ("/slice/alloc/block-size-debug", test_block_size_debug);
  test_add_fresh ("/slice/alloc/block-size-known", test_block_size_known);
  test_add_fresh ("/slice/alloc/before-the-first-block",
                  test_before_the_first_block);
  test_add_fresh ("/slice/alloc/always-malloc", test_always_malloc);
  test_add_fresh ("/slice/alloc/bypass-magazines", test_bypass);
  test_add_fresh ("/slice/alloc/bulk-hardened", test_bulk_hardened);
  test_add_fresh ("/slice/alloc/bulk-debug", test_bulk_debug);
  test_add_fresh ("/slice/alloc/count", test_count);
  test_add_fresh ("/slice/alloc/large-comes-back", test_large_comes_back);
  test_add_fresh ("/slice/alloc/late-options", test_late_options);
  test_add_fresh ("/slice/alloc/version", test_version);
  test_add ("/slice/alloc/check-version", test_check_version);
  test_add_fresh ("/slice/alloc/failure-handler", test_failure_handler);
  test_add_fresh ("/slice/alloc/try-does-not-ask", test_try_does_not_ask);
  test_add_death ("/slice/alloc/death/never-fits", death_never_fits);
  test_add_death ("/slice/alloc/death/never-fits-aligned",
                  death_never_fits_aligned);
  test_add_death ("/slice/alloc/death/never-fits-rounded",
                  death_never_fits_rounded);
  test_add_death ("/slice/alloc/death/never-fits-one", death_never_fits_one);
  test_add_death ("/slice/alloc/death/handler-gives-up",
                  death_handler_gives_up);
  test_add_death ("/slice/alloc/death/no-memory", death_no_memory);
  test_add_fresh ("/slice/alloc/nth-map-fails", test_nth_map_fails);
  return g_test_run ();
}
