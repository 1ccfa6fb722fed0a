/* test-block-info.c - slice_block_info() and slice_walk() say the same of a
 * block in every mode
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/libslice.h>

#include "tests/testlib.h"

typedef struct
{
  const void *block;
  size_t bytes;
  SlicePartKind kind; /* the last that was seen */
} Sought;

static bool
seek (const SlicePart *part, void *data)
{
  Sought *sought = data;

  if (part->kind != SLICE_PART_SLAB && part->address == sought->block)
    {
      sought->kind = part->kind;
      sought->bytes = part->bytes;
    }
  return true;
}

static void
check_info (const char *block, size_t offset, SliceBlockKind kind,
            size_t bytes)
{
  Sought sought = { .block = block };
  SliceBlockInfo info;

  slice_block_info (block + offset, &info);
  g_assert_cmpint (info.kind, ==, kind);
  g_assert_true (info.start == block);
  g_assert_cmpuint (info.bytes, ==, bytes);
  g_assert_true (slice_walk (seek, &sought));
  g_assert_cmpuint (sought.bytes, ==, bytes);
}

static void
check_block (const char *options, bool is_checking, size_t size, size_t usable)
{
  SliceBlockKind freed = is_checking ? SLICE_BLOCK_FREE : SLICE_BLOCK_OUT;
  char *block, *same, *other;

  test_options (options);
  block = slice_alloc (size);
  same = block;
  other = slice_alloc (size); /* the slab stays */
  check_info (block, 0, SLICE_BLOCK_OUT, is_checking ? size : usable);
  check_info (block, 5, SLICE_BLOCK_INTERIOR, is_checking ? size : usable);
  __asm__ ("" : "+r"(same)); /* gcc would warn: the block is looked at later */
  slice_free1 (size, same);
  check_info (block, 0, freed, usable);
  check_info (block, 5, is_checking ? SLICE_BLOCK_FREE : SLICE_BLOCK_INTERIOR,
              usable);
  slice_thread_flush ();
  slice_trim (0);
  check_info (block, 0, SLICE_BLOCK_FREE, usable);
  check_info (block, 5, SLICE_BLOCK_FREE, usable);
  slice_free1 (size, other);
}

static void
test_info (void)
{
  check_block ("", false, 61, 64);
}

static void
test_info_checked (void)
{
  check_block ("checked", true, 61, 64);
}

static void
test_info_hardened (void)
{
  check_block ("hardened", true, 53, 64 - 8);
}

static void
test_info_debug (void)
{
  check_block ("debug", true, 29, 64 - 32);
}

static void
test_info_bypass (void)
{
  void *block;

  test_options ("bypass-magazines");
  block = slice_alloc (61);
  check_info (block, 0, SLICE_BLOCK_OUT, 64);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/block-info/default", test_info);
  test_add_fresh ("/slice/block-info/checked", test_info_checked);
  test_add_fresh ("/slice/block-info/hardened", test_info_hardened);
  test_add_fresh ("/slice/block-info/debug", test_info_debug);
  test_add_fresh ("/slice/block-info/bypass", test_info_bypass);
  return g_test_run ();
}
