/* resize.c - resizes blocks of the heap
 *
 * Layer: heap.  Below: heap.c, which allocates and frees; the kinds of blocks,
 * each of which knows whether it can grow in place.  No locks of its own.
 * Design: chapter 14.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "heap.h"
#include "alloc/dispatch.h"
#include "base/align.h"
#include "port/os/os.h"

#include <errno.h>
#include <string.h>

enum
{
  SMALL_SLACK_BYTES = 64 /* blocks of up to this size stay in place */
};

/* Returns true if a block of `bytes' can hold `size', and at least half of it
 * is used or it is small. */
static bool
is_good_fit (size_t size, size_t bytes)
{
  return size <= bytes && (size >= bytes / 2 || bytes <= SMALL_SLACK_BYTES);
}

/* Resizes a larger block in place; NULL: it must move. */
HEAP_TEXT static void *
resize_larger (void *block, size_t size)
{
  size_t needed = size + sli_guard_bytes ();
  HeapRun *run = NULL;
  char *start = heap_run_of (block, &run);
  void *moved = NULL;

  if (start != NULL && run->state == SLAB_HEAP_MEDIUM)
    moved = is_good_fit (needed, sli_medium_bytes (run)) ? block : NULL;
  else if (start != NULL)
    moved = needed > MEDIUM_BYTES_MAX && sli_run_resize (start, needed)
                ? block
                : NULL;
  else if (needed > sli_run_bytes_usual () / 2)
    moved = sli_mapped_resize (block, needed);
  if (moved != NULL && sli_guard_bytes () != 0)
    sli_guard_write (moved, size, sli_heap_large_usable (moved));
  return moved;
}

/* In the checking modes a small block always moves, since its size is
 * noted. */
HEAP_TEXT static void *
resize_in_place (void *block, size_t size, size_t bytes)
{
  if (size > PTRDIFF_MAX - sli_guard_bytes ())
    return NULL;
  if (chunk_class_of (block) == 0)
    return heap_is_small (size) ? NULL : resize_larger (block, size);
  return sli_dispatch.path != PATH_CHECKING && is_good_fit (size, bytes)
             ? block
             : NULL;
}

/* Returns true if a block that can't move may keep its memory: programs expect
 * that a block can shrink.  In the checking modes it would keep its noted size,
 * too. */
static bool
may_stay (size_t size, size_t bytes)
{
  return size <= bytes && sli_dispatch.path != PATH_CHECKING;
}

HEAP_TEXT static void *
realloc_ours (void *block, size_t size, size_t bytes, const void *site)
{
  void *moved = resize_in_place (block, size, bytes);
  int error = errno;

  if (moved != NULL)
    return moved;
  moved = sli_heap_alloc_any (1, size, false, site);
  if (moved == NULL && may_stay (size, bytes))
    {
      errno = error;
      return block;
    }
  if (moved == NULL)
    return NULL;
  memcpy (moved, block, min_size (size, bytes));
  sli_heap_free_moved (block, site);
  return moved;
}

/* Moves a small block to one of another small size. */
HEAP_TEXT static NOINLINE void *
realloc_small (void *block, size_t size, size_t bytes, const void *site)
{
  int error = errno;
  void *moved = sli_heap_alloc_any (1, size, false, site);

  if (UNLIKELY (moved == NULL && may_stay (size, bytes)))
    {
      errno = error;
      return block;
    }
  if (UNLIKELY (moved == NULL))
    return NULL;
  memcpy (moved, block, min_size (size, bytes));
  sli_heap_free_moved (block, site);
  return moved;
}

/* Resizes a block of the next allocator, whose realloc() may free the block
 * where the size is 0. */
HEAP_TEXT static void *
realloc_next (const SliceHeapNext *next, void *block, size_t size)
{
  void *moved;

  if (LIKELY (size != 0))
    return next->realloc (block, size);
  moved = next->alloc (0);
  if (moved != NULL)
    next->free (block);
  return moved;
}

/* Resizes a large block of slice_alloc(), which is malloc's and registered.
 * It moves, as its zone and its size are noted for where it is. */
static COLD void *
realloc_slice (void *block, size_t size, size_t bytes, const void *site)
{
  void *moved = slice_heap_alloc (size);

  if (moved == NULL)
    return NULL;
  memcpy (moved, block, min_size (size, bytes));
  sli_heap_free_moved (block, site);
  return moved;
}

HEAP_TEXT static NOINLINE void *
realloc_slow (void *block, size_t size, const void *site)
{
  const SliceHeapNext *next;
  const char *operation;
  size_t bytes;

  if (block == NULL)
    return slice_heap_alloc (size);
  next = sli_heap_next ();
  if (UNLIKELY (sli_dispatch.registers) && chunk_class_of (block) == 0)
    {
      bytes = sli_heap_slice_bytes (block, next->realloc_name);
      if (bytes != SIZE_MAX)
        return realloc_slice (block, size, bytes, site);
    }
  if (UNLIKELY (sli_dispatch.path == PATH_MALLOC))
    return realloc_next (next, block, size);
  operation = next->realloc_name;
  bytes = sli_heap_block_bytes (block, operation, site);
  if (LIKELY (bytes != 0))
    return realloc_ours (block, size, bytes, site);
  sli_heap_check_foreign (block, operation);
  return realloc_next (next, block, size);
}

HEAP_TEXT void *
slice_heap_realloc (void *block, size_t size)
{
  unsigned class_index = chunk_class_near (block);

  /* The usual case. */
  if (LIKELY (class_index != 0) && dispatch_is_fast (1))
    {
      size_t bytes = sli_sizeclasses[class_index].chunk_bytes;

      if (is_good_fit (size, bytes))
        return block;
      if (heap_is_small (size))
        return realloc_small (block, size, bytes, CALL_SITE);
    }
  return realloc_slow (block, size, CALL_SITE);
}
