/* batch.c - frees of many blocks, or without a size; what an address is
 *
 * Layer: alloc.  Below: magazine, and slab as dispatch.c may.  No locks.
 * Design: chapters 4 and 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "checking/registry/block-registry.h"
#include "magazine/magazine.h"
#include "slab/chunk.h"
#include "dispatch.h"
#include "untraced.h"
#include "slab/slab.h"
#include "base/align.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/trace.h"
#include "port/os/os.h"

#include <stdlib.h>
#include <string.h>

/* In a checking mode the largest blocks are mallocs, since canaries and red
 * zones need space in a chunk. */
static void
bulk_free_checked (void *block, const char *operation, const void *site)
{
  size_t size;

  assert_here (sli_dispatch.path == PATH_CHECKING && block != NULL);
  if (LIKELY (!sli_checking_is_large (block)))
    {
      sli_dispatch.untraced.free (DIAG_SIZE_UNKNOWN, block, operation, site);
      return;
    }
  /* Blocks that no mode has in its slabs end the program, as without the
   * mode. */
  size = sli_block_registry_size (block);
  if (UNLIKELY (size > SLICE_SIZE_MAX && size != SIZE_MAX))
    sli_diag_misuse (ERROR_FOREIGN, operation,
                     &(BlockFacts){ .address = block,
                                    .given_bytes = DIAG_SIZE_UNKNOWN });
  sli_checking_remove_large (block, BLOCK_ANY_SIZE, operation, site);
  sli_dispatch_count_malloc_free ();
  TRACE_INTERNAL (free (block));
}

/* Checks and frees blocks one by one. */
static void
bulk_free_each (size_t n, void *const *blocks, const char *operation,
                const void *site)
{
  assert_here (sli_dispatch.path == PATH_CHECKING
               || sli_dispatch.path == PATH_MALLOC);
  for (size_t i = 0; i < n; i++)
    {
      if (blocks[i] == NULL)
        continue;
      if (sli_dispatch.path == PATH_CHECKING)
        {
          bulk_free_checked (blocks[i], operation, site);
          continue;
        }
      if (sli_dispatch.registers)
        sli_block_registry_remove (blocks[i], BLOCK_ANY_SIZE, operation,
                                   site);
      sli_dispatch_count_malloc_free ();
      TRACE_INTERNAL (free (blocks[i]));
    }
}

static inline void
bulk_free (size_t n, void *const *blocks, const char *operation,
           const void *site)
{
  assert_here (n == 0 || blocks != NULL);
  dispatch_make_ready ();
  if (sli_dispatch.path == PATH_CHECKING || sli_dispatch.path == PATH_MALLOC)
    {
      bulk_free_each (n, blocks, operation, site);
      return;
    }
  while (n > 0)
    {
      unsigned part = (unsigned) min_size (n, UINT32_MAX);

      sli_slab_free (0, part, blocks, operation);
      n -= part;
      blocks += part;
    }
}

void
slice_free_bulk (size_t n, void *const *blocks)
{
  if (trace_is_on ())
    for (size_t i = 0; i < n; i++)
      sli_trace_free (SLICE_TRACE_SLICE, blocks[i], 0);
  bulk_free (n, blocks, "slice_free_bulk", CALL_SITE);
}

void
slice_free_as_v1 (void *block, const char *call)
{
  if (trace_is_on ())
    sli_trace_free (SLICE_TRACE_SLICE, block, 0);
  bulk_free (1, &block, call, CALL_SITE);
}

/* Returns true if a block is malloc's because it is large or aligned.  Not if
 * every block is a malloc.  In the checking modes such a block is registered;
 * any other address is left to the checks of bulk_free(). */
static bool
is_malloc_block (const void *block)
{
  assert_here (block != NULL && LOAD_ACQUIRE (&sli_dispatch.ready));
  if (sli_dispatch.path == PATH_MALLOC || chunk_may_be_at (block))
    return false;
  return sli_dispatch.path != PATH_CHECKING
         || sli_block_registry_size (block) != SIZE_MAX;
}

void
slice_free_unsized (void *block)
{
  if (block == NULL)
    return;
  if (trace_is_on ())
    sli_trace_free (SLICE_TRACE_SLICE, block, 0);
  dispatch_make_ready ();
  if (!is_malloc_block (block))
    {
      bulk_free (1, &block, "slice_free_unsized", CALL_SITE);
      return;
    }
  if (sli_dispatch.registers)
    sli_checking_remove_malloc (block, BLOCK_ANY_SIZE,
                                "slice_free_unsized", CALL_SITE);
  sli_dispatch_count_malloc_free ();
  TRACE_INTERNAL (free (block));
}

CONTEXT_TEXT void
sli_untraced_free_bulk (size_t n, void *const *blocks)
{
  bulk_free (n, blocks, "slice_free_bulk", CALL_SITE);
}

CONTEXT_TEXT size_t
slice_block_size_v1 (const void *block)
{
  unsigned class_index = chunk_class_of (block);
  size_t size;

  if (UNLIKELY (sli_dispatch.path == PATH_CHECKING))
    {
      size = sli_checking_block_size (block);
      return size != 0 ? size : sli_checking_large_bytes (block);
    }
  return LIKELY (class_index != 0)
             ? sli_sizeclasses[class_index].chunk_bytes
             : sli_os_malloc_bytes (block);
}

COMMON_TEXT bool
slice_is_ours (const void *address)
{
  return sli_map_has (address);
}

CONTEXT_TEXT unsigned
sli_untraced_class_of (const void *address)
{
  return chunk_class_of (address);
}

bool
sli_untraced_begins_block (const void *address)
{
  ChunkRef ref;

  chunk_find ((const char *) address - sli_checking_front_bytes (), &ref);
  return ref.state == CHUNK_OUT;
}

bool
sli_untraced_is_in_slab (const void *address)
{
  void *record;
  const char *run = region_run_of (address, &record);
  const SizeClass *sizeclass;

  if (run == NULL)
    return false;
  /* Class 0 has no bytes.  A guard may follow the slab. */
  sizeclass = &sli_sizeclasses[LOAD (&((const Slab *) record)->class_index)];
  return (size_t) ((const char *) address - run) < sizeclass->slab_bytes;
}

CONTEXT_TEXT void
sli_untraced_free_class_slow (unsigned class_index, void *block)
{
  sli_untraced_free_slow (sli_sizeclasses[class_index].chunk_bytes, block);
}

/* Pushes blocks to the magazines of a thread, up to the first that this does
 * not serve, which it returns; `end' if it serves all. */
static ALWAYS_INLINE void *const *
warm_push (void *const *blocks, void *const *end)
{
  /* (As far as the compiler knows, each store to a magazine could change the
   * variable.) */
  const unsigned shift = sli_region_granule_shift;
  const uint8_t *large = LOAD (&sli_extent_cache[1].classes);
  const uint8_t *small = LOAD (&sli_extent_cache[0].classes);
  SliceThreadV1 *thread = SLICE_LOAD (&slice_tls_v1);

  for (; blocks < end; blocks++)
    {
      void *block = *blocks;
      size_t class_index;
      SliceEntryV1 *entry;

      if (UNLIKELY (!extent_cache_class_at (1, large, block, shift,
                                            &class_index))
          && !extent_cache_class_at (0, small, block, shift, &class_index))
        class_index = chunk_class_near (block);
      entry = &thread->entries[class_index];
      KEEP (entry);
      /* Class 0, of no slab, has a magazine that takes nothing. */
      if (UNLIKELY (!magazine_push_to (entry, block)))
        return blocks;
    }
  return blocks;
}

/* Frees blocks, of which the first needs the slow path. */
CONTEXT_TEXT static NOINLINE void
free_warm_slow (void *const *blocks, void *const *end)
{
  do
    {
      unsigned class_index = chunk_class_of (*blocks);

      if (LIKELY (class_index != 0))
        sli_untraced_free_class_slow (class_index, *blocks);
      else
        sli_untraced_free_slow (0, *blocks);
      blocks = warm_push (blocks + 1, end);
    }
  while (blocks < end);
}

/* (It ends with the call that it makes, so that it saves no registers.) */
CONTEXT_TEXT void
sli_untraced_free_warm (size_t n, void *const *blocks)
{
  void *const *end = blocks + n;

  blocks = warm_push (blocks, end);
  if (UNLIKELY (blocks < end))
    free_warm_slow (blocks, end);
}

void *
sli_alloc_block_of (const ChunkInfo *chunk, size_t *bytes)
{
  size_t live_bytes = sli_dispatch.path == PATH_CHECKING
                          ? sli_checking_tag_bytes (chunk->tag)
                          : 0;

  assert_here (chunk->start != NULL && chunk->class_index < N_CLASSES);
  *bytes = live_bytes != 0
               ? live_bytes
               : sli_checking_usable_bytes (
                   sli_sizeclasses[chunk->class_index].chunk_bytes);
  return (char *) chunk->start + sli_checking_front_bytes ();
}

/* The size of a checking mode's live block that begins at any address; 0: none
 * does.  The lookup holds the page lock, since another thread may return the
 * region meanwhile. */
static size_t
checked_bytes (const void *address)
{
  ChunkInfo chunk;
  size_t bytes;

  assert_here (sli_dispatch.path == PATH_CHECKING);
  sli_slab_lookup (address, &chunk);
  if (chunk.start == NULL || sli_alloc_block_of (&chunk, &bytes) != address)
    return 0;
  return sli_checking_tag_bytes (chunk.tag);
}

size_t
slice_debug_size (const void *address)
{
  size_t size = 0;

  if (!LOAD_ACQUIRE (&sli_dispatch.ready) || !sli_dispatch.registers)
    return 0;
  if (sli_dispatch.path == PATH_CHECKING)
    size = checked_bytes (address);
  if (size == 0)
    size = sli_block_registry_size (address);
  return size == SIZE_MAX ? 0 : size;
}

/* Returns true if a chunk holds no live block.  The lookup of an interior
 * address does not tell whether its chunk is out. */
static bool
chunk_is_free (const ChunkInfo *chunk)
{
  ChunkInfo begin = *chunk;

  assert_here (chunk->start != NULL);
  if (chunk->state == CHUNK_INTERIOR)
    sli_slab_lookup (chunk->start, &begin);
  return begin.state != CHUNK_OUT
         || (sli_dispatch.path == PATH_CHECKING
             && sli_checking_tag_bytes (begin.tag) == 0);
}

void
slice_block_info (const void *address, SliceBlockInfo *info)
{
  ChunkInfo chunk;

  sli_slab_lookup (address, &chunk);
  *info = (SliceBlockInfo){ .kind = chunk.state == CHUNK_NONE
                                        ? SLICE_BLOCK_NONE
                                        : SLICE_BLOCK_FOREIGN };
  if (chunk.start == NULL)
    return;
  info->class_index = chunk.class_index;
  info->start = sli_alloc_block_of (&chunk, &info->bytes);
  info->kind = chunk_is_free (&chunk)      ? SLICE_BLOCK_FREE
               : address == info->start ? SLICE_BLOCK_OUT
                                        : SLICE_BLOCK_INTERIOR;
}
