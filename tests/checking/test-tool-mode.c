/* test-tool-mode.c - under a memory tool every block is a malloc of its own
 *
 * This program says that it is watched: it has the symbol that the run time
 * of every sanitizer with a malloc defines.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "tests/testprocessor.h"
#include "tests/teststats.h"
#include "alloc/alloc.h"
#include "port/os/os.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
int __sanitizer_get_ownership (const volatile void *block);

int
__sanitizer_get_ownership (const volatile void *block)
{
  return block != NULL;
}

/* One that learns of the pool's blocks, with force-pool=2. */
void __msan_allocated_memory (const volatile void *start, size_t bytes);

void
__msan_allocated_memory (const volatile void *start, size_t bytes)
{
  (void) start;
  (void) bytes;
}
#endif

/* glibc's malloc tells this size exactly, as tools do all sizes, and so any
 * multiple of 32 more: with its word before it a block is 32 bytes. */
enum { EXACT_BYTES = 32 - sizeof (size_t) };

static void
test_blocks_are_mallocs (void)
{
  char *block;

  g_setenv ("SLICE_OPTIONS", "", TRUE);
  g_assert_nonnull (sli_os_memory_tool ());
  block = slice_alloc (40);
  g_assert_cmpint (sli_alloc_path (), ==, PATH_MALLOC);
  g_assert_false (slice_is_ours (block));
  g_assert_cmpuint (test_stats ()->n_maps, ==, 0);
  free (block);
  for (size_t size = EXACT_BYTES; size < 5000; size += 32)
    {
      block = slice_try_alloc (size);
      g_assert_cmpuint ((uintptr_t) block % test_alignment (size), ==, 0);
      memset (block, 1, size);
      slice_free1 (size, block);
      slice_free_bulk (1, (void *const *) &(void *){ slice_alloc0 (size) });
    }
  /* Afterwards: malloc may give the rest of such a block to the next one, which
   * is larger then than its size. */
  for (size_t size = EXACT_BYTES; size < 20000; size += 32)
    {
      block = slice_alloc_aligned (64, size);
      g_assert_cmpuint ((uintptr_t) block % 64, ==, 0);
      slice_free_aligned (64, size, block);
    }
  g_assert_cmpuint (slice_trim (0), ==, 0);
}

/* What slice.h promises of alignment holds for mallocs, too. */
static void
test_alignment_holds (void)
{
  static void *blocks[200];

  g_setenv ("SLICE_OPTIONS", "", TRUE);
  for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
    {
      size_t size = 8 * i + 8;

      blocks[i] = slice_alloc (size);
      g_assert_cmpuint ((uintptr_t) blocks[i] % test_alignment (size), ==, 0);
    }
  for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
    free (blocks[i]);
}

static void
test_forced (void)
{
  void *block;

  g_setenv ("SLICE_OPTIONS", "force-pool", TRUE);
  block = slice_alloc (40);
  g_assert_cmpint (sli_alloc_path (), ==, PATH_MAGAZINES);
  g_assert_true (slice_is_ours (block));
  slice_free1 (40, block);
}

/* The pool, and a tool that learns of its blocks from the library; large ones
 * are malloc's, and malloc reports them. */
static void
test_shown (void)
{
  static void *blocks[20000 / 32 + 1];

  g_setenv ("SLICE_OPTIONS", "force-pool=2", TRUE);
  /* One behind the other: in a hole a block may be larger than its size. */
  for (size_t size = EXACT_BYTES; size < 20000; size += 32)
    {
      blocks[size / 32] = slice_alloc (size);
      g_assert_cmpint (sli_alloc_path (), ==, PATH_CHECKING);
      g_assert_cmpuint (slice_block_size (blocks[size / 32]), ==, size);
    }
  for (size_t size = EXACT_BYTES; size < 20000; size += 32)
    slice_free1 (size, blocks[size / 32]);
  for (size_t size = EXACT_BYTES; size < 20000; size += 32)
    {
      void *block = slice_alloc_aligned (64, size);

      g_assert_cmpuint (slice_block_size (block), >=, size);
      g_assert_cmpuint (slice_block_size (block), <=, size + 128);
      slice_free_aligned (64, size, block);
    }
  g_assert_cmpuint (test_live (), ==, 0);
}

/* What is freed waits, and then is used again. */
static void
test_shown_reuses (void)
{
  size_t before;

  g_setenv ("SLICE_OPTIONS", "force-pool=2", TRUE);
  for (int i = 0; i < 10000; i++)
    slice_free1 (1000, slice_alloc (1000));
  before = test_stats ()->held_bytes;
  for (int i = 0; i < 20000; i++)
    slice_free1 (1000, slice_alloc (1000));
  g_assert_cmpuint (test_stats ()->held_bytes, ==, before);
}

/* The depot writes to the blocks of a processor that frees for another, but not
 * to those that a tool knows to be free: it would report that. */
static void
test_shown_one_way (void)
{
  enum { N = 5000, LAPS = 5 };
  static void *blocks[N];

  sli_shard_pretend (pretended_processor);
  g_setenv ("SLICE_OPTIONS", "force-pool=2", TRUE);
  for (int lap = 0; lap < LAPS; lap++)
    {
      processor = 1;
      for (int i = 0; i < N; i++)
        blocks[i] = slice_alloc (64);
      processor = 0;
      for (int i = 0; i < N; i++)
        slice_free1 (64, blocks[i]);
    }
}

/* A tool that reads all memory at exit, as a leak sanitizer does, must be able
 * to: no slab has a guard. */
static int n_protected;

int
mprotect (void *address, size_t bytes, int protection)
{
  n_protected += protection == PROT_NONE;
  return (int) syscall (SYS_mprotect, address, bytes, protection);
}

static void
test_no_guards (void)
{
  g_setenv ("SLICE_OPTIONS", "force-pool hardened", TRUE);
  for (int i = 0; i < 1000; i++)
    g_assert_nonnull (slice_alloc (2000));
  g_assert_cmpint (sli_alloc_path (), ==, PATH_CHECKING);
  if (strcmp (sli_os_memory_tool (), "sanitizer") == 0)
    g_assert_cmpint (n_protected, ==, 0);
  else /* valgrind knows what can be read */
    g_assert_cmpint (n_protected, >, 0);
}

/* The sizes are checked exactly where the tool tells them exactly; glibc's
 * malloc, which this program really has, rounds. */
static void
free_wrong_size (void)
{
  void *block;

  g_setenv ("SLICE_OPTIONS", "", TRUE);
  block = slice_alloc (EXACT_BYTES);
  slice_free1 (16, block);
}

static void
test_exact_size (void)
{
  int status;
  char *said = test_capture (free_wrong_size, &status);
  char *expected = g_strdup_printf (
      "slice: error 110: slice_free1: live block has another size: "
      "block 0x*, given size 16, real size %d [class 16, thread *]\n",
      EXACT_BYTES);

  g_assert_cmpint (status, ==, SIGABRT);
  g_assert_true (g_pattern_match_simple (expected, said));
  g_free (expected);
  g_free (said);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/tool-mode/blocks-are-mallocs",
                  test_blocks_are_mallocs);
  test_add_fresh ("/slice/tool-mode/alignment-holds", test_alignment_holds);
  test_add_fresh ("/slice/tool-mode/forced", test_forced);
  test_add_fresh ("/slice/tool-mode/shown", test_shown);
  test_add_fresh ("/slice/tool-mode/shown-reuses", test_shown_reuses);
  test_add_fresh ("/slice/tool-mode/shown-one-way", test_shown_one_way);
  test_add_fresh ("/slice/tool-mode/no-guards", test_no_guards);
  test_add ("/slice/tool-mode/exact-size", test_exact_size);
  return g_test_run ();
}
