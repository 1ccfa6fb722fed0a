/* checking-tool.c - slabs under a tool, which knows every block
 *
 * Layer: checking.  Below: magazine, and slab for the tags.  No locks.
 * Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "checking-state.h"
#include "magazine/magazine.h"
#include "base/diag.h"
#include "port/annotate.h"
#include "port/compiler.h"

SLICE_STATIC_ASSERT ((int) ZONE_BYTES == (int) ANNOTATE_ZONE_BYTES,
                     "the tool's zones fit around a block");

/* Allocates a chunk; the tool checks contents. */
static void *
annotated_alloc (size_t size, const void *site UNUSED)
{
  unsigned class_index
      = SLICE_CLASS_V1 (chunk_size_for (CHECKING_ANNOTATED, size));
  char *chunk = sli_magazine_alloc (class_index);

  if (chunk == NULL)
    return NULL;
  STORE (region_tag_of (chunk), (uint16_t) (TAG_LIVE + size));
  sli_annotate_alloc (chunk + ZONE_BYTES, size);
  return chunk + ZONE_BYTES;
}

/* The program goes on after a report of the tool, so the block is left
 * alone. */
static void
annotated_free (size_t size, void *block, const char *operation,
                const void *site UNUSED)
{
  char *chunk = (char *) block - ZONE_BYTES;
  uint16_t tag = TAG_FREE;
  ChunkRef ref;

  chunk_find (chunk, &ref);
  if (ref.state == CHUNK_OUT)
    tag = LOAD (chunk_tag (&ref));
  if (tag < TAG_LIVE)
    {
      /* The tool knows nothing of foreign blocks. */
      if (ref.state == CHUNK_FOREIGN
          || !sli_annotate_free (block, size, false))
        sli_checking_report_chunk (&ref, size, block, operation);
      return;
    }
  if (size != DIAG_SIZE_UNKNOWN && tag != TAG_LIVE + size)
    sli_checking_report_size (tag, size, block, operation);
  (void) sli_annotate_free (block, tag_size (tag), true);
  KNOWN (ref.slab != NULL);
  STORE (chunk_tag (&ref), TAG_FREE);
  sli_magazine_free_late (ref.slab->class_index, chunk);
}

static void *
annotated_alloc_any (size_t size, const void *site)
{
  void *block;

  if (fits_mode (CHECKING_ANNOTATED, size)
      && (block = annotated_alloc (size, site)) != NULL)
    return block;
  return sli_checking.fallback.alloc (size, false, site);
}

static void *
annotated_try_alloc_any (size_t size, const void *site)
{
  void *block;

  if (fits_mode (CHECKING_ANNOTATED, size)
      && (block = annotated_alloc (size, site)) != NULL)
    return block;
  return sli_checking.fallback.alloc (size, true, site);
}

static void
annotated_free_any (size_t size, void *block, const void *site)
{
  if (fits_mode (CHECKING_ANNOTATED, size) && block != NULL)
    annotated_free (size, block, "slice_free1", site);
  else
    sli_checking.fallback.free (size, block, site);
}

const CheckingCalls sli_checking_tool_calls
    = { annotated_alloc_any, annotated_try_alloc_any, annotated_free_any,
        annotated_alloc, annotated_free };
