/* checking-report.c - the reports of the checking modes
 *
 * Layer: checking.  Below: the registry of live blocks, for their sites.
 * Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "checking-contents.h"
#include "checking/registry/block-registry.h"

/* --- contents ------------------------------------------------------------ */

/* Returns true if each byte has this value. */
static bool
bytes_are (const char *bytes, size_t n, uint8_t value)
{
  uint8_t wrong = 0;

  for (size_t i = 0; i < n; i++)
    wrong |= (uint8_t) bytes[i] ^ value;
  return wrong == 0;
}

/* Adds what the registry knows of a block: in debug of any block, in the other
 * modes of blocks of malloc's. */
_Noreturn static void
report (ErrorNumber number, const char *operation, BlockFacts facts)
{
  if (sli_checking.mode == CHECKING_DEBUG || number == ERROR_NOT_A_BLOCK)
    facts.sites = sli_block_registry_sites (facts.address);
  sli_diag_misuse (number, operation, &facts);
}

/* Reports that bytes of a block's chunk have changed. */
_Noreturn static void
report_bytes (ErrorNumber number, const char *operation, const char *block,
              size_t size, const char *bytes, size_t n, uint8_t value)
{
  report (number, operation,
          (BlockFacts){ .address = block,
                        .given_bytes = size,
                        .wrong = bytes,
                        .n_wrong = n,
                        .expected = value });
}

COLD void
sli_checking_report_overrun (const char *block, size_t size,
                             const char *operation)
{
  sli_diag_misuse (ERROR_OVERRUN, operation,
                   &(BlockFacts){ .address = block, .given_bytes = size });
}

COLD void
sli_checking_report_free_bytes (char *chunk, size_t chunk_bytes, size_t size,
                                const char *operation)
{
  report_bytes (ERROR_WRITTEN_FREE, operation,
                chunk + sli_checking.front_bytes, size, chunk, chunk_bytes,
                sli_checking.free_byte);
}

COLD void
sli_checking_report_zone (const char *block, size_t size, size_t zone_bytes,
                          const char *operation)
{
  report_bytes (ERROR_OVERRUN, operation, block, size, block + size,
                zone_bytes, BYTE_ZONE);
}

bool
sli_checking_zone_is_whole (const char *zone, size_t zone_bytes)
{
  return bytes_are (zone, zone_bytes, BYTE_ZONE);
}

bool
sli_checking_zones_are_whole (const char *block, size_t size,
                              size_t chunk_bytes)
{
  size_t back_bytes = chunk_bytes - sli_checking.front_bytes - size;

  return sli_checking_zone_is_whole (block - sli_checking.front_bytes,
                                     sli_checking.front_bytes)
         && sli_checking_zone_is_whole (block + size, back_bytes);
}

void
sli_checking_check_zones (char *block, size_t size, size_t chunk_bytes,
                          const char *operation)
{
  char *chunk = block - sli_checking.front_bytes;
  size_t back_bytes = chunk_bytes - sli_checking.front_bytes - size;

  if (!sli_checking_zone_is_whole (chunk, sli_checking.front_bytes))
    report_bytes (ERROR_UNDERRUN, operation, block, size, chunk,
                  sli_checking.front_bytes, BYTE_ZONE);
  if (!sli_checking_zone_is_whole (block + size, back_bytes))
    sli_checking_report_zone (block, size, back_bytes, operation);
}

bool
sli_checking_end_is_whole (const void *block, size_t size)
{
  size_t chunk_bytes;
  ChunkRef ref;

  if (sli_checking.mode == CHECKING_HARDENED)
    return canary_is_whole (block, size);
  if (sli_checking.mode != CHECKING_DEBUG)
    return true;
  chunk_find ((const char *) block - ZONE_BYTES, &ref);
  if (ref.state != CHUNK_OUT)
    return true;
  chunk_bytes = sli_sizeclasses[ref.slab->class_index].chunk_bytes;
  return sli_checking_zone_is_whole ((const char *) block + size,
                                     chunk_bytes - ZONE_BYTES - size);
}

/* --- blocks -------------------------------------------------------------- */

/* Which function a block came from, if the message needs it. */
static const char *
origin_words (uint16_t tag, size_t size)
{
  if ((tag & TAG_ALIGNED) != 0)
    return "from slice_alloc_aligned";
  if ((tag & TAG_HEAP) != 0)
    return "from slice_heap_alloc";
  if (size == DIAG_SIZE_UNKNOWN)
    return "from slice_alloc";
  return size == tag_size (tag) ? "not from slice_alloc_aligned" : NULL;
}

COLD void
sli_checking_report_size (uint16_t tag, size_t size, const void *block,
                          const char *operation)
{
  report (ERROR_WRONG_SIZE, operation,
          (BlockFacts){ .address = block,
                        .given_bytes = size,
                        .real_bytes = tag_size (tag),
                        .words = origin_words (tag, size) });
}

COLD void
sli_checking_report_chunk (const ChunkRef *ref, size_t size,
                           const void *block, const char *operation)
{
  ErrorNumber error = chunk_error (ref, 0);
  uint16_t tag = ref->state == CHUNK_OUT ? *chunk_tag (ref) : TAG_LIVE;

  size_t real_bytes = tag >= TAG_LIVE ? tag_size (tag) : 0;
  size_t known_bytes = sli_block_registry_size (block);
  const char *words = NULL;

  if (tag < TAG_LIVE)
    error = tag == TAG_FREE ? ERROR_ALREADY_FREE : ERROR_NEVER_ALLOCATED;
  if (error == ERROR_FOREIGN && known_bytes != SIZE_MAX)
    {
      /* A block of malloc's is freed as a slab's: it is large, or has a large
       * alignment. */
      error = ERROR_WRONG_SIZE;
      real_bytes = known_bytes;
      if (known_bytes <= sli_checking_size_max ())
        words = "from slice_alloc_aligned";
    }
  else if ((error == ERROR_FOREIGN || error == ERROR_NEVER_ALLOCATED)
           && sli_block_registry_knows (block))
    error = ERROR_NOT_A_BLOCK; /* it was a block, and was freed */
  report (error, operation,
          (BlockFacts){ .address = block,
                        .given_bytes = size,
                        .real_bytes = real_bytes,
                        .words = words });
}
