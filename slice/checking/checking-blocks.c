/* checking-blocks.c - the checking modes: sizes and state of chunks' blocks
 *
 * Layer: checking.  Below: slab, for the tags.  No locks.  Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "checking-contents.h"
#include "checking-state.h"
#include "base/diag.h"
#include "port/compiler.h"
#include "port/os/os.h"

size_t
sli_checking_front_bytes (void)
{
  return sli_checking.front_bytes;
}

size_t
sli_checking_usable_bytes (size_t chunk_bytes)
{
  return chunk_bytes - sli_checking.front_bytes - back_of (sli_checking.mode);
}

size_t
sli_checking_size_max (void)
{
  return SIZE_MAX_OF (sli_checking.mode);
}

/* The tag of a live block at any address; NULL: there is none. */
static uint16_t *
tag_if_live (const void *block, ChunkRef *ref)
{
  chunk_find ((const char *) block - sli_checking.front_bytes, ref);
  return ref->state == CHUNK_OUT && LOAD (chunk_tag (ref)) >= TAG_LIVE
             ? chunk_tag (ref)
             : NULL;
}

void
sli_checking_note_aligned (void *block)
{
  ChunkRef ref;
  uint16_t *tag = tag_if_live (block, &ref);

  require (tag != NULL);
  STORE (tag, (uint16_t) (LOAD (tag) | TAG_ALIGNED));
}

void
sli_checking_unnote_aligned (size_t size, void *block, const char *operation)
{
  ChunkRef ref;
  uint16_t *tag = tag_if_live (block, &ref);

  if (tag == NULL)
    return;
  if (UNLIKELY (LOAD (tag) != (TAG_ALIGNED | (TAG_LIVE + size))))
    sli_checking_report_size (LOAD (tag), size, block, operation);
  STORE (tag, (uint16_t) (TAG_LIVE + size));
}

void
sli_checking_note_heap (void *block)
{
  ChunkRef ref;
  uint16_t *tag = tag_if_live (block, &ref);

  if (tag != NULL) /* else it is a block of malloc */
    STORE (tag, (uint16_t) (LOAD (tag) | TAG_HEAP));
}

void
sli_checking_note_aligned_heap (void *block, size_t size)
{
  ChunkRef ref;
  uint16_t *tag = tag_if_live (block, &ref);

  require (tag != NULL && size <= tag_size (LOAD (tag)));
  assert_here (sli_checking.front_bytes == 0);
  if (sli_checking.mode == CHECKING_HARDENED)
    canary_write (block, size);
  STORE (tag, (uint16_t) (TAG_HEAP | (TAG_LIVE + size)));
}

void
sli_checking_unnote_heap (void *block, const char *operation)
{
  ChunkRef ref;
  uint16_t *tag = tag_if_live (block, &ref);

  if (tag == NULL)
    return;
  if (UNLIKELY ((LOAD (tag) & TAG_HEAP) == 0))
    sli_checking_report_size (LOAD (tag), DIAG_SIZE_UNKNOWN, block, operation);
  STORE (tag, (uint16_t) (LOAD (tag) - TAG_HEAP));
}

COLD void
sli_checking_report_free (size_t size, const void *block,
                          const char *operation)
{
  ChunkRef ref;
  uint16_t *tag = tag_if_live (block, &ref);

  if (tag == NULL)
    sli_checking_report_chunk (&ref, size, block, operation);
  sli_checking_report_size (LOAD (tag), size, block, operation);
}

size_t
sli_checking_tag_bytes (uint16_t tag)
{
  return tag >= TAG_LIVE ? tag_size (tag) : 0;
}

size_t
sli_checking_block_size (const void *block)
{
  ChunkRef ref;
  const uint16_t *tag = tag_if_live (block, &ref);

  return tag != NULL ? tag_size (LOAD (tag)) : 0;
}
