/* test-checking.c - slice/checking/checking.c, and what stands in chunks
 *
 * hardened in the usual case, as compiled for any processor and for one with
 * registers of 32 bytes: whatever the machine would choose, both are tried.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/stats.h>
#include <slice/walk.h>

#include "checking/checking-contents.h"

#include "tests/testlib.h"

#include <pthread.h>
#include <string.h>

enum
{
  N_BLOCKS = 40, /* more than wait in the quarantine */
  BYTE = 0xd7,
  AROUND = 64 /* bytes before and behind a chunk, which are another's */
};

typedef struct
{
  void (*fill) (char *chunk, size_t chunk_bytes, uint64_t word);
  bool (*is) (const char *chunk, size_t chunk_bytes, uint8_t value);
  void *(*alloc_any) (size_t size, const void *site);
  void (*give) (size_t size, void *block, const void *site);
} Width;

static void
fill_narrow (char *chunk, size_t chunk_bytes, uint64_t word)
{
  chunk_fill_inline (chunk, chunk_bytes, word);
}

static bool
is_narrow (const char *chunk, size_t chunk_bytes, uint8_t value)
{
  return chunk_is (chunk, chunk_bytes, value);
}

static const Width narrow
    = { fill_narrow, is_narrow, sli_hardened_alloc_quick,
        sli_hardened_free_quick };

#ifdef WIDE
WIDE static void
fill_wide (char *chunk, size_t chunk_bytes, uint64_t word)
{
  chunk_fill_inline (chunk, chunk_bytes, word);
}

WIDE static bool
is_wide (const char *chunk, size_t chunk_bytes, uint8_t value)
{
  return chunk_is (chunk, chunk_bytes, value);
}

static const Width wide
    = { fill_wide, is_wide, sli_hardened_alloc_wide,
        sli_hardened_free_wide };
#endif

/* --- chunks of all sizes ------------------------------------------------- */

static void
check_chunk (const Width *width, char *chunk, size_t chunk_bytes)
{
  memset (chunk - AROUND, 1, chunk_bytes + 2 * AROUND);
  width->fill (chunk, chunk_bytes, BYTE * 0x0101010101010101u);
  for (size_t i = 0; i < AROUND; i++)
    {
      g_assert_cmpint (chunk[-1 - (ptrdiff_t) i], ==, 1);
      g_assert_cmpint (chunk[chunk_bytes + i], ==, 1);
    }
  g_assert_true (width->is (chunk, chunk_bytes, BYTE));
  for (size_t i = 0; i < chunk_bytes; i++)
    {
      g_assert_cmpint ((unsigned char) chunk[i], ==, BYTE);
      chunk[i] = (char) (BYTE ^ (1 << i % 8));
      g_assert_false (width->is (chunk, chunk_bytes, BYTE));
      chunk[i] = (char) BYTE;
    }
}

static void
check_chunks (const Width *width)
{
  static _Alignas (16) char memory[SLICE_SIZE_MAX + 2 * AROUND];

  for (size_t bytes = 16; bytes <= SLICE_SIZE_MAX; bytes += 16)
    check_chunk (width, memory + AROUND, bytes);
}

/* --- blocks of all sizes ------------------------------------------------- */

static void
begin (void)
{
  test_options ("hardened");
  slice_free1 (8, slice_alloc (8));
}

static void
check_blocks (const Width *width)
{
  char *blocks[N_BLOCKS];

  begin ();
  for (size_t size = 1; size <= SIZE_MAX_OF (CHECKING_HARDENED);
       size += test_is_slow () ? 97 : 1)
    for (int round = 0; round < 2; round++)
      {
        for (int i = 0; i < N_BLOCKS; i++)
          {
            blocks[i] = width->alloc_any (size, NULL);
            g_assert_true (test_is_zero (blocks[i], size));
            memset (blocks[i], 0xff, size);
          }
        for (int i = 0; i < N_BLOCKS; i++)
          width->give (size, blocks[i], NULL);
      }
  g_assert_null (slice_validate (NULL));
}

/* The last byte of a large chunk. */
static void
die_written_free (const Width *width)
{
  enum { SIZE = 1000 };
  char *block;

  begin ();
  block = width->alloc_any (SIZE, NULL);
  width->give (SIZE, block, NULL);
  block[SIZE - 1] = 5;
  test_will_die ("slice: error 115: slice_alloc: written to while it was free: "
                 "block %p, given size %d, at byte %d: 5 0 0 0 (was 0) "
                 "[class %u, thread %u]",
                 (void *) block, SIZE, SIZE - 1,
                 (unsigned) sli_sizeclasses[SLICE_CLASS_V1 (SIZE)].block_bytes,
                 test_thread_id ());
  for (int i = 0; i < 10 * N_BLOCKS; i++)
    width->give (SIZE, width->alloc_any (SIZE, NULL), NULL);
}

static void
chunks_narrow (void)
{
  check_chunks (&narrow);
}

static void
blocks_narrow (void)
{
  check_blocks (&narrow);
}

static void
death_narrow (void)
{
  die_written_free (&narrow);
}

#ifdef WIDE
static void
chunks_wide (void)
{
  check_chunks (&wide);
}

static void
blocks_wide (void)
{
  check_blocks (&wide);
}

static void
death_wide (void)
{
  die_written_free (&wide);
}
#endif

/* --- the quarantine ------------------------------------------------------ */

static const char *options;

/* A freed block does not come back before as many others of its size are
 * freed as the mode keeps back; `n' is none where a mode keeps none. */
static void
free_and_wait (void)
{
  enum { SIZE = 100, ROUNDS = 100 };
  unsigned n, n_back = 0;

  test_options (options);
  slice_free1 (SIZE, slice_alloc (SIZE));
  n = sli_checking_quarantine_chunks (sli_checking.mode);
  for (int round = 0; round < ROUNDS; round++)
    {
      void *block = slice_alloc (SIZE);

      slice_free1 (SIZE, block);
      for (unsigned i = 0; i + 1 < MAX (n, 5); i++)
        {
          void *other = slice_alloc (SIZE);

          n_back += other == block;
          slice_free1 (SIZE, other);
        }
    }
  if (n > 0)
    g_assert_cmpuint (n_back, ==, 0);
  else
    g_assert_cmpuint (n_back, >, 0);
}

static void
test_quarantine (void)
{
  static const char *const modes[]
      = { "checked", "hardened", "debug leaks=no" };

  for (size_t i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      options = modes[i];
      test_says_nothing (free_and_wait);
    }
}

/* Each thread that ends gives its quarantine up: many threads hold no more than
 * a few. */
static gpointer
free_many (gpointer unused)
{
  enum { N = 600 };
  void *blocks[N];

  for (int i = 0; i < N; i++)
    blocks[i] = slice_alloc (1000);
  for (int i = 0; i < N; i++)
    slice_free1 (1000, blocks[i]);
  return unused;
}

static void
end_threads (void)
{
  uint64_t few_bytes = 0;
  SliceStats stats;
  pthread_t thread;

  test_options (options);
  for (int i = 0; i < 200; i++)
    {
      g_assert_cmpint (pthread_create (&thread, NULL, free_many, NULL), ==, 0);
      pthread_join (thread, NULL);
      slice_get_stats (&stats);
      if (i == 9)
        few_bytes = stats.held_bytes;
    }
  g_assert_cmpuint (stats.held_bytes, <, few_bytes + (1 << 20));
}

static void
test_thread_ends (void)
{
  static const char *const modes[]
      = { "checked", "hardened", "debug leaks=no" };

  for (size_t i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      options = modes[i];
      test_says_nothing (end_threads);
    }
}

/* The tables of the library's own records. */
static uint64_t
meta_bytes (void)
{
  SliceStats stats;

  slice_get_stats (&stats);
  return stats.meta_bytes;
}

/* A trim leaves no ring behind, and the next free makes one again. */
static void
use_and_trim (void)
{
  test_options (options);
  for (int turn = 0; turn < 3; turn++)
    {
      for (size_t size = 8; size <= 2000; size += 8)
        slice_free1 (size, slice_alloc (size));
      slice_trim (0);
      g_assert_cmpuint (meta_bytes (), <, 512 << 10);
    }
}

static void
test_trim_ends_rings (void)
{
  static const char *const modes[]
      = { "checked", "hardened", "debug leaks=no" };

  for (size_t i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      options = modes[i];
      test_says_nothing (use_and_trim);
    }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/checking/chunks", chunks_narrow);
  test_add_fresh ("/slice/checking/blocks", blocks_narrow);
  test_add_death ("/slice/checking/death/written-free", death_narrow);
  test_add ("/slice/checking/quarantine", test_quarantine);
  test_add ("/slice/checking/thread-ends", test_thread_ends);
  test_add ("/slice/checking/trim-ends-rings", test_trim_ends_rings);
#ifdef WIDE
  g_assert_cmpint (HAS_WIDE () != 0, ==, __builtin_cpu_supports ("avx2") != 0);
  if (HAS_WIDE ())
    {
      test_add ("/slice/checking/wide/chunks", chunks_wide);
      test_add_fresh ("/slice/checking/wide/blocks", blocks_wide);
      test_add_death ("/slice/checking/wide/death/written-free", death_wide);
    }
#endif
  return g_test_run ();
}
