/* tlsf-tail.c - what tells the size of an object in a checked or watched heap
 *
 * Layer: arena.  Each live piece ends in its object's size and a guard; the bytes
 * between are filled.  So an overrun by a single byte is found when the object
 * is freed, resized or asked for.
 *
 * In a watched heap the gap before the object holds its size.  The tool is
 * shown that word only while it is looked at.
 *
 * Theory: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "tlsf.h"

#include <string.h>
#include "misuse.h"

/* An odd constant: a change of any bit of a size changes half the guard. */
#define GUARD_FACTOR ((size_t) UINT64_C (0x9e3779b97f4a7c15))

static PieceTail *
piece_tail (const Piece *piece)
{
  return (PieceTail *) ((uintptr_t) piece_at (piece, piece_stride (piece))
                        - sizeof (PieceTail));
}

static size_t
tail_guard (const SliceTlsf *tlsf, const Piece *piece, size_t size)
{
  return (size + 1) * GUARD_FACTOR ^ (uintptr_t) piece ^ tlsf->tag;
}

void
sli_tlsf_tail_note (const SliceTlsf *tlsf, Piece *piece, size_t size)
{
  PieceTail *tail = piece_tail (piece);
  char *end = piece_object (piece) + size;
  memset (end, PIECE_FILL, (size_t) ((char *) tail - end));
  tail->size = size;
  tail->guard = tail_guard (tlsf, piece, size);
}

bool
sli_tlsf_tail_is_whole (const SliceTlsf *tlsf, const Piece *piece)
{
  const PieceTail *tail = piece_tail (piece);
  const unsigned char *end = (const unsigned char *) tail;
  size_t room = (size_t) ((const char *) tail - piece_object (piece));
  if (piece_stride (piece) < PIECE_HEAD_BYTES + sizeof *tail
      || tail->guard != tail_guard (tlsf, piece, tail->size)
      || tail->size > room)
    return false;
  for (size_t i = tail->size; i < room; i++)
    if (end[(ptrdiff_t) i - (ptrdiff_t) room] != PIECE_FILL)
      return false;
  return true;
}

size_t
sli_tlsf_tail_size (const Piece *piece)
{
  return piece_tail (piece)->size;
}

static size_t *
gap_word (const Piece *piece)
{
  return (size_t *) (void *) piece_object (piece);
}

void
sli_tlsf_gap_note (const Piece *piece, size_t size)
{
  size_t *word = gap_word (piece);
  sli_watch_show (word, sizeof *word);
  *word = size;
  sli_watch_hide (word, sizeof *word);
}

size_t
sli_tlsf_gap_size (const Piece *piece)
{
  size_t *word = gap_word (piece);
  sli_watch_show_defined (word, sizeof *word);
  size_t size = *word;
  sli_watch_hide (word, sizeof *word);
  return size;
}

void
sli_tlsf_fault_overrun (const SliceTlsf *tlsf, const Piece *piece)
{
  sli_arena_fault (ARENA_FAULT_TLSF_DAMAGED,
                   "TLSF heap %p: the bytes behind %p were overwritten",
                   (const void *) tlsf, (const void *) piece_object (piece));
}
