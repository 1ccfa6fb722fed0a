/* tlsf.c - two-level segregated fit: any size, any order, bounded time
 *
 * Layer: arena: above its index (tlsf-index.c) and its regions (tlsf-region.c).  How
 * a heap is made, reset and ended: tlsf-life.c.
 *
 * Invariants: no two free pieces are neighbours; the bits of a piece and of
 * the one behind it agree; each free piece is in the list of its stride.
 *
 * Theory: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "tlsf.h"

#include <errno.h>
#include <string.h>
#include "misuse.h"
#include "traced.h"

/* --- watched objects ----------------------------------------------------- */

/* Under a tool an object has a gap on both sides; the words that the heap
 * needs in a free piece lie in these:
 *
 *   | stride | front gap: links | object | back gap ... last word |
 */
__attribute__ ((cold, noinline)) static char *
watch_out (const SliceTlsf *tlsf, Piece *piece, size_t size)
{
  char *object = piece_object (piece) + tlsf->front_bytes;
  if (tlsf->is_watched)
    {
      size_t room = piece_stride (piece) - PIECE_HEAD_BYTES;
      sli_watch_hide (piece_object (piece), room);
      sli_watch_show (object, size);
      sli_tlsf_gap_note (piece, size);
    }
  if (tlsf->is_checked)
    sli_tlsf_tail_note (tlsf, piece, size);
  if (tlsf->chain.is_told)
    sli_trace_born (SLICE_TRACE_TLSF, object, size);
  return object;
}

/* The whole object is hidden, and the heap's own words are shown; and the
 * hooks are told. */
__attribute__ ((cold, noinline)) static void
watch_in (const SliceTlsf *tlsf, Piece *piece)
{
  if (tlsf->chain.is_told)
    sli_trace_died (SLICE_TRACE_TLSF, piece_object (piece) + tlsf->front_bytes,
                    0);
  if (!tlsf->is_watched)
    return;
  size_t room = piece_stride (piece) - PIECE_HEAD_BYTES;
  char *start = piece_object (piece);
  sli_watch_hide (start, room);
  sli_watch_show (start, 2 * sizeof (Piece *));
  sli_watch_show (start + room - sizeof (Piece *), sizeof (Piece *));
}

/* Shows the heap's words in a piece that is to be free. */
static void
watch_free (const SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  if (SLICE_LIKELY (!tlsf->is_watched))
    return;
  sli_watch_show (piece, sizeof *piece);
  sli_watch_show (piece_before_word (piece_at (piece, stride)),
                  sizeof (Piece *));
}

/* --- alloc --------------------------------------------------------------- */

/* Of an object of so many bytes, gaps included. */
static inline size_t
stride_of (size_t size)
{
  size_t stride = (size + PIECE_HEAD_BYTES + TLSF_UNIT_BYTES - 1)
                  & ~(TLSF_UNIT_BYTES - 1);
  return stride < PIECE_STRIDE_MIN ? PIECE_STRIDE_MIN : stride;
}

static size_t
stride_for (const SliceTlsf *tlsf, size_t size)
{
  return stride_of (size + tlsf->extra_bytes);
}

/* More than a quarter of what the lists can hold; or of all addresses, where
 * these have fewer bits. */
static bool
size_is_absurd (size_t size)
{
  const unsigned bits = sizeof (size_t) * 8 < TLSF_STRIDE_BITS_MAX
                            ? (unsigned) sizeof (size_t) * 8
                            : TLSF_STRIDE_BITS_MAX;

  return size >> (bits - 2) != 0;
}

/* The header of a piece that starts where none did. */
static void
piece_set_stride (const SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  if (tlsf->is_watched)
    sli_watch_show (piece, PIECE_HEAD_BYTES);
  piece->stride_and_bits = stride;
}

/* The whole of a piece goes to an object. */
static inline void
piece_mark_live (const SliceTlsf *tlsf, Piece *piece, size_t stride,
                 size_t bits)
{
  piece->stride_and_bits = stride | bits | tlsf->tag;
  TLSF_STEP ();
  piece_at (piece, stride)->stride_and_bits &= ~PIECE_BEFORE_FREE;
}

/* Marks a piece that is in no list as live; what is beyond `stride` becomes a
 * free piece. */
static inline void
piece_use (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  size_t have = piece_stride (piece);
  size_t before = piece->stride_and_bits & PIECE_BEFORE_FREE;
  size_t rest = have - stride;
  if (rest < PIECE_STRIDE_MIN)
    {
      piece_mark_live (tlsf, piece, have, before);
      return;
    }
  piece->stride_and_bits = stride | before | tlsf->tag;
  watch_free (tlsf, piece_at (piece, stride), rest);
  sli_tlsf_insert (tlsf, piece_at (piece, stride), rest);
}

/* The same with a piece that is still the first of its list: if its rest
 * belongs there, it stays. */
static inline void
piece_cut (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  size_t have = piece_stride (piece);
  size_t rest = have - stride;
  if (rest < PIECE_STRIDE_MIN)
    {
      sli_tlsf_list_pop (tlsf, sli_tlsf_list_of (have), piece);
      piece_mark_live (tlsf, piece, have, 0);
      return;
    }
  watch_free (tlsf, piece_at (piece, stride), rest);
  sli_tlsf_move (tlsf, piece, have, piece_at (piece, stride), rest);
  piece->stride_and_bits = stride | tlsf->tag;
}

/* Does it look as if it were a whole region? */
static inline bool
piece_fills_region (const Piece *piece)
{
  return !piece_before_is_free (piece)
         && piece_stride (piece_at (piece, piece_stride (piece))) == 0;
}

/* A region that was empty is so no more. */
__attribute__ ((cold, noinline)) static void
piece_leaves_region (SliceTlsf *tlsf, const Piece *piece)
{
  if (sli_tlsf_is_region (tlsf, piece, piece_stride (piece)))
    tlsf->n_empty--;
}

/* A free piece that is the first of its list; the heap grows if it must.
 * NULL with errno ENOMEM. */
static inline Piece *
piece_obtain (SliceTlsf *tlsf, size_t stride)
{
  Piece *piece = sli_tlsf_find (tlsf, stride);
  if (SLICE_UNLIKELY (piece == NULL) && sli_tlsf_grow (tlsf, stride))
    piece = sli_tlsf_find (tlsf, stride);
  if (SLICE_UNLIKELY (piece == NULL))
    {
      errno = ENOMEM;
      return NULL;
    }
  if (SLICE_UNLIKELY (tlsf->n_empty > 0) && piece_fills_region (piece))
    piece_leaves_region (tlsf, piece);
  return piece;
}

/* Any size, in any heap. */
__attribute__ ((noinline)) static void *
alloc_any (SliceTlsf *tlsf, size_t size)
{
  sli_tlsf_require (tlsf);
  if (size_is_absurd (size))
    {
      errno = ENOMEM;
      return NULL;
    }
  size_t stride = stride_for (tlsf, size);
  Piece *piece = piece_obtain (tlsf, stride);
  if (piece == NULL)
    return NULL;
  piece_cut (tlsf, piece, stride);
  if (SLICE_UNLIKELY (tlsf->quick_kind != ARENA_TLSF))
    return watch_out (tlsf, piece, size + (size == 0));
  return piece_object (piece);
}

/* Small sizes, from a list of the first map: its pieces all have the same
 * stride, and none of them is a whole region. */
void *
slice_tlsf_alloc (SliceTlsf *tlsf, size_t size)
{
  if (SLICE_UNLIKELY (tlsf->quick_kind != ARENA_TLSF)
      || size > TLSF_EXACT_BELOW - TLSF_UNIT_BYTES - PIECE_HEAD_BYTES)
    return alloc_any (tlsf, size);
  size_t stride = stride_of (size);
  TLSF_STEP ();
  uint64_t map = tlsf->maps[0] & ~UINT64_C (0) << (stride >> TLSF_UNIT_BITS);
  if (map == 0)
    return alloc_any (tlsf, size);
  unsigned list = (unsigned) __builtin_ctzll (map);
  size_t have = (size_t) list << TLSF_UNIT_BITS;
  Piece *piece = tlsf->lists[list];
  TLSF_STEP ();
  TLSF_STEP ();
  if (SLICE_UNLIKELY (piece->stride_and_bits != (have | PIECE_FREE)))
    sli_tlsf_fault_damaged (tlsf, piece);
  sli_tlsf_list_pop (tlsf, list, piece);
  if (have - stride < PIECE_STRIDE_MIN)
    piece_mark_live (tlsf, piece, have, 0);
  else
    {
      piece->stride_and_bits = stride | tlsf->tag;
      sli_tlsf_insert_exact (tlsf, piece_at (piece, stride), have - stride);
    }
  return piece_object (piece);
}

/* Where in a piece an aligned object starts, so that what is in front of it
 * is nothing or large enough for a piece. */
static size_t
aligned_offset (const SliceTlsf *tlsf, const Piece *piece, size_t alignment)
{
  uintptr_t object = (uintptr_t) piece_object (piece) + tlsf->front_bytes;
  size_t offset = (alignment - (object & (alignment - 1))) & (alignment - 1);
  while (offset != 0 && offset < PIECE_STRIDE_MIN)
    offset += alignment;
  return offset;
}

void *
slice_tlsf_alloc_aligned (SliceTlsf *tlsf, size_t alignment, size_t size)
{
  sli_tlsf_require (tlsf);
  alignment = sli_require_alignment (alignment);
  if (alignment <= TLSF_UNIT_BYTES || size_is_absurd (size))
    return slice_tlsf_alloc (tlsf, size);
  size_t stride = stride_for (tlsf, size);
  Piece *piece = piece_obtain (tlsf, stride + alignment + PIECE_STRIDE_MIN);
  if (piece == NULL)
    return NULL;
  size_t offset = aligned_offset (tlsf, piece, alignment);
  size_t have = piece_stride (piece);
  sli_tlsf_remove (tlsf, piece, have);
  if (offset > 0)
    {
      Piece *front = piece;
      piece = piece_at (front, offset);
      piece_set_stride (tlsf, piece, have - offset);
      watch_free (tlsf, front, offset);
      sli_tlsf_insert (tlsf, front, offset);
    }
  piece_use (tlsf, piece, stride);
  return watch_out (tlsf, piece, size + (size == 0));
}

/* --- free ---------------------------------------------------------------- */

/* The piece of a live object.  What is looked at is the heap's as soon as the
 * address lies in its range, so the looks are safe over a buffer.  The header
 * must be this heap's, and the piece behind a sound one that does not take
 * this one for free: else it was freed and joined. */
static inline Piece *
piece_require (const SliceTlsf *tlsf, const void *object, size_t front_bytes)
{
  Piece *piece = object_piece ((const char *) object - front_bytes);
  size_t offset = (uintptr_t) piece - tlsf->low;
  if (SLICE_UNLIKELY (offset >= tlsf->span_bytes)
      || SLICE_UNLIKELY (((uintptr_t) object & (TLSF_UNIT_BYTES - 1)) != 0))
    sli_tlsf_fault_object (tlsf, object);
  size_t stride = (piece->stride_and_bits ^ tlsf->tag) & ~PIECE_BEFORE_FREE;
  TLSF_STEP ();
  if (SLICE_UNLIKELY ((stride & (TLSF_UNIT_BYTES - 1)) != 0)
      || SLICE_UNLIKELY (stride - PIECE_STRIDE_MIN
                         >= tlsf->span_bytes - offset - TLSF_UNIT_BYTES))
    sli_tlsf_fault_object (tlsf, object);
  size_t after = piece_at (piece, stride)->stride_and_bits;
  size_t tag = (after & PIECE_FREE) != 0 ? 0 : tlsf->tag;
  TLSF_STEP ();
  if (SLICE_UNLIKELY (((after ^ tag) & (PIECE_TAG_MASK | PIECE_BEFORE_FREE))
                      != 0))
    sli_tlsf_fault_object (tlsf, object);
  return piece;
}

/* The same in any heap.  In a checked one nothing is looked at that lies in
 * none of its regions, and the piece's end must be whole. */
static Piece *
piece_asked (const SliceTlsf *tlsf, const void *object)
{
  Region region;
  sli_tlsf_require (tlsf);
  if (tlsf->is_checked && !sli_tlsf_region_of (tlsf, object, &region))
    sli_tlsf_fault_object (tlsf, object);
  Piece *piece = piece_require (tlsf, object, tlsf->front_bytes);
  if (tlsf->is_checked && !sli_tlsf_tail_is_whole (tlsf, piece))
    sli_tlsf_fault_object (tlsf, object);
  return piece;
}

/* Bytes that may be used of a live object. */
static size_t
piece_room (const SliceTlsf *tlsf, const Piece *piece)
{
  if (tlsf->is_watched)
    return sli_tlsf_gap_size (piece);
  return tlsf->is_checked
             ? sli_tlsf_tail_size (piece)
             : piece_stride (piece) - PIECE_HEAD_BYTES - tlsf->extra_bytes;
}

/* The stride of the free piece behind a live one, whose header was looked at;
 * 0 if that is not free. */
static inline size_t
stride_behind (const SliceTlsf *tlsf, Piece *after)
{
  size_t bits = after->stride_and_bits;
  if ((bits & PIECE_FREE) == 0)
    return 0;
  if (SLICE_UNLIKELY (
          !sli_tlsf_stride_is_sound (tlsf, after, bits ^ PIECE_FREE)))
    sli_tlsf_fault_damaged (tlsf, after);
  return bits ^ PIECE_FREE;
}

/* Where the free piece in front of a piece starts. */
static inline Piece *
piece_before (const SliceTlsf *tlsf, Piece *piece)
{
  Piece *before = *piece_before_word (piece);
  TLSF_STEP ();
  if (SLICE_UNLIKELY (!sli_tlsf_in_range (tlsf, before))
      || SLICE_UNLIKELY (
          before->stride_and_bits
          != ((size_t) ((char *) piece - (char *) before) | PIECE_FREE)))
    sli_tlsf_fault_damaged (tlsf, piece);
  return before;
}

/* A free piece has become a region, it seems. */
__attribute__ ((cold, noinline)) static void
piece_ends_region (SliceTlsf *tlsf, Piece *piece)
{
  size_t stride = piece_stride (piece);
  if (sli_tlsf_is_region (tlsf, piece, stride))
    sli_tlsf_region_emptied (tlsf, piece, stride);
}

/* Is a free piece that grows at its end still in the right list? */
static inline bool
piece_stays (size_t old_stride, size_t stride)
{
  return old_stride >= TLSF_EXACT_BELOW
         && sli_tlsf_list_of (old_stride) == sli_tlsf_list_of (stride);
}

/* A live piece becomes free, and one with its free neighbours. */
static inline void
piece_give (SliceTlsf *tlsf, Piece *piece)
{
  size_t bits = piece->stride_and_bits;
  size_t stride = (bits ^ tlsf->tag) & ~PIECE_BEFORE_FREE;
  Piece *after = piece_at (piece, stride);
  size_t behind = stride_behind (tlsf, after);
  if (behind != 0)
    {
      sli_tlsf_remove (tlsf, after, behind);
      stride += behind;
    }
  bool stays = false;
  if ((bits & PIECE_BEFORE_FREE) != 0)
    {
      /* A second free of what has been joined is found by this bit. */
      piece->stride_and_bits = bits | PIECE_FREE;
      Piece *before = piece_before (tlsf, piece);
      size_t more = (size_t) ((char *) piece - (char *) before);
      piece = before;
      stride += more;
      stays = piece_stays (more, stride);
      if (!stays)
        sli_tlsf_remove (tlsf, before, more);
    }
  if (stays)
    piece_mark_free (piece, stride);
  else
    sli_tlsf_insert (tlsf, piece, stride);
  if (SLICE_UNLIKELY (piece_at (piece, stride)->stride_and_bits
                      == (tlsf->tag | PIECE_BEFORE_FREE)))
    piece_ends_region (tlsf, piece);
}

__attribute__ ((cold, noinline)) static Piece *
free_asked (const SliceTlsf *tlsf, const void *object)
{
  Piece *piece = piece_asked (tlsf, object);
  watch_in (tlsf, piece);
  return piece;
}

void
slice_tlsf_free (SliceTlsf *tlsf, void *object)
{
  if (SLICE_UNLIKELY (object == NULL))
    return;
  Piece *piece = SLICE_LIKELY (tlsf->quick_kind == ARENA_TLSF)
                     ? piece_require (tlsf, object, 0)
                     : free_asked (tlsf, object);
  piece_give (tlsf, piece);
}

/* --- resize -------------------------------------------------------------- */

size_t
slice_tlsf_object_bytes_v1 (const SliceTlsf *tlsf, const void *object)
{
  return piece_room (tlsf, piece_asked (tlsf, object));
}

/* Gives up the end of a live piece; it joins what is free behind. */
static void
piece_shrink (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  size_t have = piece_stride (piece);
  size_t rest = have - stride;
  Piece *after = piece_at (piece, have);
  Piece *tail = piece_at (piece, stride);
  size_t more = stride_behind (tlsf, after);
  if (more != 0)
    {
      sli_tlsf_move (tlsf, after, more, tail, rest + more);
    }
  else if (rest >= PIECE_STRIDE_MIN)
    sli_tlsf_insert (tlsf, tail, rest);
  else
    return;
  piece->stride_and_bits
      = stride | tlsf->tag | (piece->stride_and_bits & PIECE_BEFORE_FREE);
}

/* Takes what it needs of the free piece behind; false if there is not enough.
 */
static bool
piece_extend (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  size_t have = piece_stride (piece);
  size_t before = piece->stride_and_bits & PIECE_BEFORE_FREE;
  Piece *after = piece_at (piece, have);
  size_t more = stride_behind (tlsf, after);
  if (more == 0 || have + more < stride)
    return false;
  size_t rest = have + more - stride;
  if (rest >= PIECE_STRIDE_MIN)
    {
      sli_tlsf_move (tlsf, after, more, piece_at (piece, stride), rest);
      piece->stride_and_bits = stride | before | tlsf->tag;
      return true;
    }
  sli_tlsf_remove (tlsf, after, more);
  piece_mark_live (tlsf, piece, have + more, before);
  return true;
}

static void *
resize_move (SliceTlsf *tlsf, void *object, size_t kept, size_t size)
{
  void *moved = slice_tlsf_alloc (tlsf, size);
  if (moved == NULL)
    return NULL;
  memcpy (moved, object, kept);
  slice_tlsf_free (tlsf, object);
  return moved;
}

void *
slice_tlsf_resize (SliceTlsf *tlsf, void *object, size_t size)
{
  if (object == NULL)
    return slice_tlsf_alloc (tlsf, size);
  sli_tlsf_require (tlsf);
  if (size_is_absurd (size))
    {
      errno = ENOMEM;
      return NULL;
    }
  Piece *piece = piece_asked (tlsf, object);
  size_t stride = stride_for (tlsf, size);
  size_t have = piece_stride (piece);
  size_t room = piece_room (tlsf, piece);
  size_t kept = room < size ? room : size;
  /* A tool is told of a move, as it can't be told of a change in place. */
  if (tlsf->is_watched)
    {
      sli_watch_show_defined (object, kept);
      return resize_move (tlsf, object, kept, size);
    }
  if (stride <= have)
    piece_shrink (tlsf, piece, stride);
  else if (!piece_extend (tlsf, piece, stride))
    return resize_move (tlsf, object, kept, size);
  if (tlsf->is_checked)
    sli_tlsf_tail_note (tlsf, piece, size + (size == 0));
  if (tlsf->chain.is_told)
    sli_trace_moved (SLICE_TRACE_TLSF, object, object, size);
  return object;
}
