/* checking-exit.c - the check of every block and free chunk at exit
 *
 * Layer: checking.  Below: slab, for all chunks.  Takes the page lock for the
 * walks, and reports after them.  Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "checking-contents.h"
#include "port/compiler.h"

/* The first chunk whose bytes were overwritten. */
typedef struct
{
  char *chunk;
  unsigned class_index;
  uint16_t tag;
} Damaged;

static bool
chunk_is_damaged (char *chunk, size_t chunk_bytes, uint16_t tag)
{
  if (tag == TAG_NEW)
    return false;
  if (tag == TAG_FREE)
    return !chunk_is (chunk, chunk_bytes, sli_checking.free_byte);
  return sli_checking.mode == CHECKING_DEBUG
             ? !sli_checking_zones_are_whole (
                 chunk + ZONE_BYTES, tag_size (tag), chunk_bytes)
             : !canary_is_whole (chunk, tag_size (tag));
}

static void
check_slab (void *run, unsigned class_index, void *data)
{
  size_t chunk_bytes = sli_sizeclasses[class_index].chunk_bytes;
  Damaged *damaged = data;
  ChunkInfo chunk;

  for (unsigned i = 0;
       damaged->chunk == NULL && i < sli_slab_chunk_locked (run, i, &chunk);
       i++)
    {
      uint16_t tag;

      if (chunk.state == CHUNK_UNCARVED)
        continue;
      tag = LOAD (region_tag_of (chunk.start));
      if (chunk_is_damaged (chunk.start, chunk_bytes, tag))
        *damaged = (Damaged){ chunk.start, class_index, tag };
    }
}

/* A chunk whose slab is no more. */
typedef struct
{
  char *chunk;
  size_t chunk_bytes;
} DamagedRetired;

static void
check_free_memory (char *start, size_t bytes, void *data)
{
  DamagedRetired *damaged = data;

  if (damaged->chunk == NULL)
    damaged->chunk
        = sli_checking_find_retired (start, bytes, &damaged->chunk_bytes);
}

static void
check_all_retired (void)
{
  DamagedRetired damaged = { 0 };

  sli_slab_each_free (check_free_memory, &damaged);
  if (damaged.chunk != NULL)
    sli_checking_report_free_bytes (damaged.chunk, damaged.chunk_bytes,
                                    DIAG_SIZE_UNKNOWN, "exit");
}

void
sli_checking_check_all (void)
{
  Damaged damaged = { 0 };
  char *block;
  size_t size;

  if (sli_checking.mode != CHECKING_HARDENED
      && sli_checking.mode != CHECKING_DEBUG)
    return;
  sli_slab_each (check_slab, &damaged);
  if (damaged.chunk == NULL)
    {
      check_all_retired ();
      sli_checking_check_mallocs ("exit");
      return;
    }
  if (damaged.tag == TAG_FREE)
    sli_checking_report_free_bytes (
        damaged.chunk, sli_sizeclasses[damaged.class_index].chunk_bytes,
        DIAG_SIZE_UNKNOWN, "exit");
  block = damaged.chunk + sli_checking.front_bytes;
  size = tag_size (damaged.tag);
  if (sli_checking.mode == CHECKING_DEBUG)
    sli_checking_check_zones (
        block, size, sli_sizeclasses[damaged.class_index].chunk_bytes, "exit");
  sli_checking_report_overrun (block, size, "exit");
}
