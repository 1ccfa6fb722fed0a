/* tlsf-region.c - the regions of a TLSF heap
 *
 * Layer: arena.  A heap over buffers has a region in each (tlsf-fixed.c).  One
 * that grows has a region in each block of its chain; it keeps one empty
 * region and returns a second one at once.
 *
 * Design: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "tlsf.h"

#include <errno.h>
#include <string.h>

enum
{
  N_EMPTY_REGIONS_MAX = 1,

  /* The bytes of a region beside its blocks: padding in front, and the header
   * of the end block. */
  REGION_EXTRA_BYTES = 32
};

static char *
region_first (char *start)
{
  return sli_align (start + BLOCK_HEAD_BYTES, TLSF_UNIT_BYTES)
         - BLOCK_HEAD_BYTES;
}

static size_t
region_block_bytes (char *start, size_t bytes)
{
  char *first = region_first (start);
  char *end = start + bytes - BLOCK_HEAD_BYTES;

  if (bytes < REGION_EXTRA_BYTES + BLOCK_STRIDE_MIN)
    return 0;
  return (size_t) (end - first) & ~(TLSF_UNIT_BYTES - 1);
}

/* Extends the range that holds all blocks. */
static void
range_include (SliceTlsf *tlsf, uintptr_t start, size_t bytes)
{
  uintptr_t low = tlsf->low;
  uintptr_t high = low + tlsf->span_bytes;

  if (tlsf->span_bytes == 0 || start < low)
    low = start;
  if (tlsf->span_bytes == 0 || start + bytes > high)
    high = start + bytes;
  tlsf->low = low;
  tlsf->span_bytes = high - low;
  tlsf->span_units = tlsf->span_bytes >> TLSF_UNIT_BITS;
}

/* Hides the one free block of a region, except for the heap's words in it. */
static void
region_hide (TlsfBlock *block, size_t stride)
{
  const char *start = (const char *) (block + 1);
  const char *end
      = (const char *) tlsf_block_before_word (tlsf_block_at (block, stride));

  if (start < end)
    sli_annotate_hide (start, (size_t) (end - start));
}

bool
sli_tlsf_region_lay_out (SliceTlsf *tlsf, char *start, size_t bytes,
                         Region *region)
{
  size_t stride = region_block_bytes (start, bytes);

  if (stride < BLOCK_STRIDE_MIN)
    return false;
  region->first = (TlsfBlock *) (void *) region_first (start);
  region->bytes = stride;
  sli_tlsf_region_open (tlsf, region);
  return true;
}

void
sli_tlsf_region_open (SliceTlsf *tlsf, const Region *region)
{
  TlsfBlock *block = region->first;
  size_t stride = region->bytes;

  if (tlsf->is_annotated)
    sli_annotate_show (block, stride + BLOCK_HEAD_BYTES);
  tlsf_block_at (block, stride)->stride_and_bits = tlsf->tag;
  sli_tlsf_insert (tlsf, block, stride);
  if (tlsf->is_annotated)
    region_hide (block, stride);
  range_include (tlsf, (uintptr_t) block, stride);
}

bool
sli_tlsf_grow (SliceTlsf *tlsf, size_t stride)
{
  Block block;
  Region region;

  if (stride < TLSF_EXACT_BELOW)
    stride = TLSF_EXACT_BELOW;
  if (tlsf->is_fixed
      || !sli_chain_push (&tlsf->chain, stride + REGION_EXTRA_BYTES))
    {
      errno = ENOMEM;
      return false;
    }
  block = tlsf->chain.table[tlsf->chain.n_used - 1];
  sli_tlsf_region_lay_out (tlsf, block.start, sli_block_bytes (&block),
                           &region);
  tlsf->n_empty++;
  return true;
}

size_t
sli_tlsf_region_least (void)
{
  return TLSF_EXACT_BELOW + REGION_EXTRA_BYTES;
}

uint32_t
sli_tlsf_n_regions (const SliceTlsf *tlsf)
{
  return tlsf->is_fixed ? sli_tlsf_fixed_n_regions (tlsf)
                        : tlsf->chain.n_used;
}

Region
sli_tlsf_region (const SliceTlsf *tlsf, uint32_t index)
{
  Block block;
  Region region;

  if (tlsf->is_fixed)
    return sli_tlsf_fixed_region (tlsf, index);
  block = tlsf->chain.table[index];
  region
      = (Region){ (TlsfBlock *) (void *) region_first (block.start),
                  region_block_bytes (block.start, sli_block_bytes (&block)),
                  index };
  return region;
}

/* A block is a whole region if it is the region's first and the end follows
 * it. */
bool
sli_tlsf_is_region (const SliceTlsf *tlsf, const TlsfBlock *block,
                    size_t stride)
{
  Region region;

  if (tlsf->is_fixed || tlsf_block_before_is_free (block)
      || tlsf_block_stride (tlsf_block_at (block, stride)) != 0)
    return false;
  return sli_tlsf_region_of (tlsf, block, &region) && region.first == block;
}

bool
sli_tlsf_region_of (const SliceTlsf *tlsf, const void *address, Region *region)
{
  int32_t index;

  if (tlsf->is_fixed)
    return sli_tlsf_fixed_region_of (tlsf, address, region);
  index = sli_chain_find (&tlsf->chain, address);
  if (index < 0)
    return false;
  *region = sli_tlsf_region (tlsf, (uint32_t) index);
  return (uintptr_t) address - (uintptr_t) region->first < region->bytes;
}

void
sli_tlsf_region_emptied (SliceTlsf *tlsf, TlsfBlock *block, size_t stride)
{
  int32_t index;

  if (tlsf->n_empty < N_EMPTY_REGIONS_MAX)
    {
      tlsf->n_empty++;
      return;
    }
  sli_tlsf_remove (tlsf, block, stride);
  index = sli_chain_find (&tlsf->chain, block);
  assert_here (index >= 0);
  sli_chain_drop (&tlsf->chain, (uint32_t) index);
}

static size_t
tlsf_trim (SliceTlsf *tlsf)
{
  size_t before = tlsf->chain.held_bytes;

  for (uint32_t i = tlsf->is_fixed ? 0 : tlsf->chain.n_used; i > 0; i--)
    {
      Region region = sli_tlsf_region (tlsf, i - 1);

      if (!tlsf_block_is_free (region.first)
          || tlsf_block_stride (region.first) != region.bytes)
        continue;
      assert_here (tlsf->n_empty > 0);
      sli_tlsf_remove (tlsf, region.first, region.bytes);
      sli_chain_drop (&tlsf->chain, i - 1);
      tlsf->n_empty--;
    }
  return before - tlsf->chain.held_bytes
         + sli_chain_trim_table (&tlsf->chain);
}

size_t
slice_tlsf_trim (SliceTlsf *tlsf)
{
  size_t bytes = tlsf_trim (sli_tlsf_acquire (tlsf, "slice_tlsf_trim"));

  sli_tlsf_release (tlsf);
  return bytes;
}
