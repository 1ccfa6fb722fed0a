/* checking-exit.c - the checking modes' last look: at every chunk, at exit
 *
 * Layer: checking.  Below: slab, for all chunks.  Takes the page lock for the
 * walk; what is found is told after it.  Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "checking-contents.h"
#include "port/compiler.h"

/* The first chunk that is not as it must be. */
typedef struct
{
  char *chunk;
  unsigned class_index;
  uint16_t mark;
} Spoilt;

static bool
chunk_is_spoilt (char *chunk, size_t chunk_bytes, uint16_t mark)
{
  if (mark == TAG_NEW)
    return false;
  if (mark == TAG_FREE)
    return !chunk_is (chunk, chunk_bytes, sli_checking.free_byte);
  return sli_checking.mode == CHECKING_DEBUG
             ? !sli_checking_zones_are_whole (
                 chunk + ZONE_BYTES, tag_size (mark), chunk_bytes)
             : !canary_is_whole (chunk, tag_size (mark));
}

static void
check_slab (void *run, unsigned class_index, void *data)
{
  size_t chunk_bytes = sli_sizeclasses[class_index].chunk_bytes;
  Spoilt *spoilt = data;
  ChunkInfo chunk;

  for (unsigned i = 0;
       spoilt->chunk == NULL && i < sli_slab_chunk_locked (run, i, &chunk);
       i++)
    {
      uint16_t mark;

      if (chunk.state == CHUNK_UNCARVED)
        continue;
      mark = LOAD (region_tag_of (chunk.start));
      if (chunk_is_spoilt (chunk.start, chunk_bytes, mark))
        *spoilt = (Spoilt){ chunk.start, class_index, mark };
    }
}

void
sli_checking_check_all (void)
{
  Spoilt spoilt = { 0 };
  char *block;
  size_t size;

  if (sli_checking.mode != CHECKING_HARDENED
      && sli_checking.mode != CHECKING_DEBUG)
    return;
  sli_slab_each (check_slab, &spoilt);
  if (spoilt.chunk == NULL)
    return;
  if (spoilt.mark == TAG_FREE)
    sli_checking_report_free_bytes (
        spoilt.chunk, sli_sizeclasses[spoilt.class_index].chunk_bytes,
        DIAG_SIZE_UNKNOWN, "exit");
  block = spoilt.chunk + sli_checking.front_bytes;
  size = tag_size (spoilt.mark);
  if (sli_checking.mode == CHECKING_DEBUG)
    sli_checking_check_zones (
        block, size, sli_sizeclasses[spoilt.class_index].chunk_bytes, "exit");
  sli_diag_misuse (ERROR_OVERRUN, "exit", block, size, 0);
}
