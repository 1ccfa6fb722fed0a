/* block-info.c - what is at an address: blocks, their sizes and states
 *
 * Layer: alloc.  Below: magazine, and slab as dispatch.c may.  No locks;
 * what accepts any address looks while it holds the page lock (slab.h).
 * Design: chapters 3 and 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "checking/registry/block-registry.h"
#include "slab/chunk.h"
#include "alloc.h"
#include "dispatch.h"
#include "untraced.h"
#include "slab/slab.h"
#include "base/check.h"
#include "port/os/os.h"

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
