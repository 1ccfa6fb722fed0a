/* tlsf-tail.c - objects of checked heaps, and of heaps that a tool watches
 *
 * Layer: arena.  In a checked heap each live block ends in its object's size
 * and a guard; the bytes between are filled.  So an overrun by a single byte
 * is found when the object is freed or resized, or its size is requested.
 *
 * Under a tool the gap before the object holds its size.  That word is hidden
 * from the tool except while it is read.
 *
 * Design: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "tlsf.h"

#include <string.h>
#include "base/diag.h"
#include "arena/bump/traced.h"

/* An odd constant: a change of any bit of a size changes half the guard. */
#define GUARD_FACTOR ((size_t) UINT64_C (0x9e3779b97f4a7c15))

static TlsfBlockTail *
tlsf_block_tail (const TlsfBlock *block)
{
  return (TlsfBlockTail *) ((uintptr_t) tlsf_block_at (
                                block, tlsf_block_stride (block))
                            - sizeof (TlsfBlockTail));
}

static size_t
tail_guard (const SliceTlsf *tlsf, const TlsfBlock *block, size_t size)
{
  return (size + 1) * GUARD_FACTOR ^ (uintptr_t) block ^ tlsf->tag;
}

void
sli_tlsf_tail_note (const SliceTlsf *tlsf, TlsfBlock *block, size_t size)
{
  TlsfBlockTail *tail = tlsf_block_tail (block);
  char *end = tlsf_block_object (block) + size;

  memset (end, BLOCK_FILL, (size_t) ((char *) tail - end));
  tail->size = size;
  tail->guard = tail_guard (tlsf, block, size);
}

bool
sli_tlsf_tail_is_whole (const SliceTlsf *tlsf, const TlsfBlock *block)
{
  const TlsfBlockTail *tail = tlsf_block_tail (block);
  const unsigned char *end = (const unsigned char *) tail;
  size_t usable = (size_t) ((const char *) tail - tlsf_block_object (block));

  if (tlsf_block_stride (block) < BLOCK_HEAD_BYTES + sizeof *tail
      || tail->guard != tail_guard (tlsf, block, tail->size)
      || tail->size > usable)
    return false;
  for (size_t i = tail->size; i < usable; i++)
    if (end[(ptrdiff_t) i - (ptrdiff_t) usable] != BLOCK_FILL)
      return false;
  return true;
}

size_t
sli_tlsf_tail_size (const TlsfBlock *block)
{
  return tlsf_block_tail (block)->size;
}

static size_t *
gap_word (const TlsfBlock *block)
{
  return (size_t *) (void *) tlsf_block_object (block);
}

void
sli_tlsf_gap_note (const TlsfBlock *block, size_t size)
{
  size_t *word = gap_word (block);

  sli_annotate_show (word, sizeof *word);
  *word = size;
  sli_annotate_hide (word, sizeof *word);
}

size_t
sli_tlsf_gap_size (const TlsfBlock *block)
{
  size_t *word = gap_word (block);
  size_t size;

  sli_annotate_show_defined (word, sizeof *word);
  size = *word;
  sli_annotate_hide (word, sizeof *word);
  return size;
}

void
sli_tlsf_report_overrun (const SliceTlsf *tlsf, const TlsfBlock *block)
{
  sli_diag_abort (
      ARENA_MISUSE_TLSF_DAMAGED,
      "TLSF heap %p: the bytes behind %p were overwritten",
      tlsf->handle, (const void *) tlsf_block_object (block));
}

/* --- objects that a tool or the hooks see --------------------------------- */

/* Tells the tool of an object that is new in its block. */
static void
annotate_object (const SliceTlsf *tlsf, const TlsfBlock *block, size_t size)
{
  sli_annotate_hide (tlsf_block_object (block),
                     tlsf_block_stride (block) - BLOCK_HEAD_BYTES);
  sli_annotate_show (tlsf_block_object (block) + tlsf->front_bytes, size);
  sli_tlsf_gap_note (block, size);
}

/* Under a tool an object has a gap on both sides.  The words that the heap
 * needs in a free block are in the gaps:
 *
 *   | stride | front gap: links | object | back gap ... last word |
 */
COLD char *
sli_tlsf_note_alloc (const SliceTlsf *tlsf, TlsfBlock *block, size_t size)
{
  char *object = tlsf_block_object (block) + tlsf->front_bytes;

  if (tlsf->is_annotated)
    annotate_object (tlsf, block, size);
  if (tlsf->is_checked)
    sli_tlsf_tail_note (tlsf, block, size);
  if (tlsf->chain.is_traced)
    sli_trace_alloc (SLICE_TRACE_TLSF, object, size);
  return object;
}

COLD void
sli_tlsf_note_resized (const SliceTlsf *tlsf, const TlsfBlock *block,
                       size_t kept, size_t size)
{
  annotate_object (tlsf, block, size);
  sli_annotate_show_defined (tlsf_block_object (block) + tlsf->front_bytes,
                             kept);
}

COLD void
sli_tlsf_note_free (const SliceTlsf *tlsf, TlsfBlock *block)
{
  size_t usable;
  char *start;

  if (tlsf->chain.is_traced)
    sli_trace_free (SLICE_TRACE_TLSF,
                    tlsf_block_object (block) + tlsf->front_bytes, 0);
  if (!tlsf->is_annotated)
    return;
  usable = tlsf_block_stride (block) - BLOCK_HEAD_BYTES;
  start = tlsf_block_object (block);
  sli_annotate_hide (start, usable);
  sli_annotate_show (start, 2 * sizeof (TlsfBlock *));
  sli_annotate_show (start + usable - sizeof (TlsfBlock *),
                     sizeof (TlsfBlock *));
}
