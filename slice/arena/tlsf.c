/* tlsf.c - two-level segregated fit: any size, any order, bounded time
 *
 * Floor 7: above its index (tlsf-index.c) and its regions (tlsf-region.c).
 *
 * Invariants: no two free pieces are neighbours; the bits of a piece and of
 * the one behind it agree; each free piece is in the list of its stride.
 *
 * Theory: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tlsf.h"

#include <errno.h>
#include <string.h>
#include "fault.h"
#include "kinds.h"
#include "told.h"

#define CONTROL_BYTES(n_rows)                                                 \
 ((sizeof (SliceTlsf) + sli_tlsf_index_bytes (n_rows) + 15) & ~(size_t) 15)

#define TLSF_FIRST_BYTES ((size_t) 64 << 10)
#define TLSF_CAP_BYTES ((size_t) 1 << 20)

/* --- making and ending --------------------------------------------------- */

static void
tlsf_init (SliceTlsf *tlsf, uint32_t n_rows, void (*end) (void *))
{
  memset (tlsf, 0, sizeof *tlsf);
  tlsf->kind = ARENA_TLSF;
  tlsf->control_bytes = (uint32_t) CONTROL_BYTES (n_rows);
  tlsf->end = end;
  tlsf->low = UINTPTR_MAX;
  tlsf->n_rows = n_rows;
  tlsf->is_watched = sli_watch_active ();
  tlsf->is_asked = tlsf->is_watched;
  tlsf->front_bytes = tlsf->is_watched ? WATCH_GAP_BYTES : 0;
  sli_tlsf_index_clear (tlsf);
}

/* Of a heap without objects. */
static void
tlsf_set_told (SliceTlsf *tlsf)
{
  tlsf->chain.is_told = true;
  tlsf->is_asked = true;
  tlsf->wait_below = 0;
}

static bool
tell_end_of (const void *object, size_t bytes, bool is_live, void *data)
{
  (void) bytes;
  (void) data;
  if (is_live)
    sli_trace_died (SLICE_TRACE_TLSF, object, 0);
  return true;
}

size_t
slice_tlsf_buffer_bytes (size_t bytes)
{
  size_t piece = bytes + 3 * PIECE_STRIDE_MIN + 2 * WATCH_GAP_BYTES;
  size_t rows = CONTROL_BYTES (sli_tlsf_rows_for (2 * piece + 8192));
  return rows + piece + 64;
}

static void
tlsf_end_fixed (void *memory)
{
  SliceTlsf *tlsf = memory;
  sli_arena_tlsf_fini (tlsf);
}

SliceTlsf *
slice_tlsf_new_fixed (void *buffer, size_t bytes)
{
  char *start = sli_align (buffer, 16);
  size_t skip = (size_t) (start - (char *) buffer);
  size_t control = CONTROL_BYTES (sli_tlsf_rows_for (bytes));
  if (bytes < skip + control + PIECE_STRIDE_MIN)
    {
      errno = EINVAL;
      return NULL;
    }
  SliceTlsf *tlsf = (SliceTlsf *) (void *) start;
  tlsf_init (tlsf, sli_tlsf_rows_for (bytes), tlsf_end_fixed);
  tlsf->is_fixed = true;
  tlsf->fixed_bytes = bytes;
  if (!sli_tlsf_region_lay_out (tlsf, start + control, bytes - skip - control,
                                &tlsf->fixed))
    {
      errno = EINVAL;
      return NULL;
    }
  if (tlsf->is_watched)
    sli_watch_block (tlsf->fixed.first);
  if (trace_is_on ())
    tlsf_set_told (tlsf);
  return tlsf;
}

size_t
sli_arena_tlsf_bytes (const SliceArenaOptions *given,
                      SliceArenaOptions *options)
{
  size_t first = TLSF_FIRST_BYTES;
  if (!sli_options_fill (given, first, TLSF_CAP_BYTES, options))
    return 0;
  return CONTROL_BYTES (TLSF_N_ROWS_MAX) + sizeof (Waiting);
}

SliceTlsf *
sli_arena_tlsf_setup (void *memory, const SliceArenaOptions *options,
                      void (*end) (void *))
{
  SliceTlsf *tlsf = memory;
  tlsf_init (tlsf, TLSF_N_ROWS_MAX, end);
  tlsf->waiting = (Waiting *) ((uintptr_t) memory + tlsf->control_bytes);
  tlsf->wait_below = tlsf->is_watched ? 0 : TLSF_WAIT_BELOW;
  tlsf->control_bytes += sizeof (Waiting);
  sli_tlsf_wait_clear (tlsf);
  sli_chain_init (&tlsf->chain, options, NULL, 0, tlsf->control_bytes);
  if (!sli_tlsf_grow (tlsf, PIECE_STRIDE_MIN))
    return NULL;
  if ((options->flags & ARENA_TOLD) != 0)
    tlsf_set_told (tlsf);
  return tlsf;
}

void
sli_arena_tlsf_fini (void *memory)
{
  SliceTlsf *tlsf = memory;
  if (tlsf->chain.is_told)
    slice_tlsf_walk (tlsf, tell_end_of, NULL);
  tlsf->kind = ARENA_DEAD;
  if (!tlsf->is_fixed)
    sli_chain_fini (&tlsf->chain);
  else if (tlsf->is_watched)
    sli_watch_block_gone (tlsf->fixed.first, tlsf->fixed.bytes);
}

static void
tlsf_end (void *memory)
{
  SliceTlsf *tlsf = memory;
  sli_arena_tlsf_fini (tlsf);
  slice_free1 (tlsf->control_bytes, tlsf);
}

SliceTlsf *
slice_tlsf_new (const SliceArenaOptions *given)
{
  SliceArenaOptions options;
  size_t bytes = sli_arena_tlsf_bytes (given, &options);
  void *memory = bytes != 0 ? slice_try_alloc (bytes) : NULL;
  if (memory == NULL)
    return NULL;
  SliceTlsf *tlsf = sli_arena_tlsf_setup (memory, &options, tlsf_end);
  if (tlsf == NULL)
    slice_free1 (bytes, memory);
  return tlsf;
}

void
slice_tlsf_destroy (SliceTlsf *tlsf)
{
  if (tlsf == NULL)
    return;
  sli_tlsf_require (tlsf);
  tlsf->end (tlsf);
}

/* --- watched objects ----------------------------------------------------- */

/* Under a tool an object has a gap on both sides; the words that the heap
 * needs in a free piece lie in these:
 *
 *   | stride | front gap: links | object | back gap ... last word |
 */
static size_t
watch_extra (const SliceTlsf *tlsf)
{
  return 2 * (size_t) tlsf->front_bytes;
}

__attribute__ ((cold, noinline)) static char *
watch_out (const SliceTlsf *tlsf, Piece *piece, size_t size)
{
  char *object = piece_object (piece) + tlsf->front_bytes;
  if (tlsf->is_watched)
    {
      size_t room = piece_stride (piece) - PIECE_HEAD_BYTES;
      sli_watch_hide (piece_object (piece), room);
      sli_watch_show (object, size);
    }
  if (tlsf->chain.is_told)
    sli_trace_born (SLICE_TRACE_TLSF, object, size);
  return object;
}

/* The whole object is hidden, and the heap's own words are shown; and the hooks
 * are told. */
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

/* --- alloc --------------------------------------------------------------- */

static size_t
stride_for (const SliceTlsf *tlsf, size_t size)
{
  size_t whole = size + watch_extra (tlsf) + PIECE_HEAD_BYTES;
  size_t stride = (whole + TLSF_UNIT_BYTES - 1) & ~(TLSF_UNIT_BYTES - 1);
  return stride < PIECE_STRIDE_MIN ? PIECE_STRIDE_MIN : stride;
}

/* More than a quarter of what the rows can hold; or of all addresses, where
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

/* Marks a piece that is in no list as live; what is beyond `stride` becomes a
 * free piece. */
static inline void
piece_use (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  size_t have = piece_stride (piece);
  size_t before = piece->stride_and_bits & PIECE_BEFORE_FREE;
  size_t rest = have - stride;
  if (rest >= PIECE_STRIDE_MIN)
    {
      piece->stride_and_bits = stride | before;
      sli_tlsf_insert (tlsf, piece_at (piece, stride), rest);
      return;
    }
  piece->stride_and_bits = have | before;
  TLSF_STEP ();
  piece_at (piece, have)->stride_and_bits &= ~PIECE_BEFORE_FREE;
}

/* Does it look as if it were a whole region? */
static inline bool
piece_fills_region (const Piece *piece)
{
  return !piece_before_is_free (piece)
         && piece_stride (piece_at (piece, piece_stride (piece))) == 0;
}

/* From what waited, joined; else the heap grows, if it may. */
__attribute__ ((cold, noinline)) static Piece *
piece_obtain_new (SliceTlsf *tlsf, size_t stride)
{
  if (sli_tlsf_wait_end (tlsf))
    {
      Piece *piece = sli_tlsf_find (tlsf, stride);
      if (piece != NULL)
        return piece;
    }
  if (!sli_tlsf_grow (tlsf, stride))
    return NULL;
  return sli_tlsf_find (tlsf, stride);
}

/* A region that was empty is so no more. */
__attribute__ ((cold, noinline)) static void
piece_leaves_region (SliceTlsf *tlsf, const Piece *piece)
{
  if (sli_tlsf_is_region (tlsf, piece, piece_stride (piece)))
    tlsf->n_empty--;
}

/* A free piece, out of its list; the heap grows if it must. */
static inline Piece *
piece_obtain (SliceTlsf *tlsf, size_t stride)
{
  Piece *piece = sli_tlsf_find (tlsf, stride);
  if (SLICE_UNLIKELY (piece == NULL))
    {
      piece = piece_obtain_new (tlsf, stride);
      if (piece == NULL)
        {
          errno = ENOMEM;
          return NULL;
        }
    }
  if (SLICE_UNLIKELY (tlsf->n_empty > 0) && piece_fills_region (piece))
    piece_leaves_region (tlsf, piece);
  return piece;
}

void *
slice_tlsf_alloc (SliceTlsf *tlsf, size_t size)
{
  sli_tlsf_require (tlsf);
  if (size_is_absurd (size))
    {
      errno = ENOMEM;
      return NULL;
    }
  size_t stride = stride_for (tlsf, size);
  Piece *piece;
  if (stride < tlsf->wait_below
      && (piece = sli_tlsf_wait_pop (tlsf, stride)) != NULL)
    {
      tlsf->n_out++;
      return piece_object (piece);
    }
  piece = piece_obtain (tlsf, stride);
  if (piece == NULL)
    return NULL;
  piece_use (tlsf, piece, stride);
  tlsf->n_out++;
  char *object = piece_object (piece) + tlsf->front_bytes;
  if (SLICE_UNLIKELY (tlsf->is_asked))
    watch_out (tlsf, piece, size + (size == 0));
  return object;
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
    {
      errno = ENOMEM;
      return NULL;
    }
  size_t offset = aligned_offset (tlsf, piece, alignment);
  if (offset > 0)
    {
      size_t have = piece_stride (piece);
      Piece *front = piece;
      piece = piece_at (front, offset);
      piece_set_stride (tlsf, piece, have - offset);
      sli_tlsf_insert (tlsf, front, offset);
    }
  piece_use (tlsf, piece, stride);
  tlsf->n_out++;
  return watch_out (tlsf, piece, size + (size == 0));
}

/* --- free ---------------------------------------------------------------- */

_Noreturn static void
fault_object (const SliceTlsf *tlsf, const void *object, bool is_free)
{
  if (is_free)
    sli_arena_fault (ARENA_FAULT_TLSF_TWICE,
                     "TLSF heap %p: %p is free already", (const void *) tlsf,
                     object);
  sli_arena_fault (ARENA_FAULT_TLSF_FOREIGN,
                   "TLSF heap %p: %p is no object of this heap",
                   (const void *) tlsf, object);
}

/* The piece of a live object.  What is looked at is the heap's as soon as the
 * address lies in its range, so the looks are safe over a buffer; a heap of
 * several regions asks the chain only when the piece looks wrong. */
static inline Piece *
piece_require (const SliceTlsf *tlsf, const void *object)
{
  Piece *piece = object_piece ((const char *) object - tlsf->front_bytes);
  uintptr_t address = (uintptr_t) piece;
  if (address < tlsf->low || address >= tlsf->high
      || (address & (TLSF_UNIT_BYTES - 1)) != PIECE_HEAD_BYTES)
    fault_object (tlsf, object, false);
  size_t stride = piece_stride (piece);
  if ((piece->stride_and_bits & (PIECE_FREE | PIECE_WAITS)) != 0)
    fault_object (tlsf, object, true);
  if (stride < PIECE_STRIDE_MIN || stride > tlsf->high - address
      || (stride & (TLSF_UNIT_BYTES - 1)) != 0)
    fault_object (tlsf, object, false);
  TLSF_STEP ();
  if (piece_before_is_free (piece_at (piece, stride)))
    fault_object (tlsf, object, false);
  return piece;
}

/* Joins the free neighbours of a piece that is in no list; returns where the
 * whole starts. */
static inline Piece *
piece_join (SliceTlsf *tlsf, Piece *piece, size_t *stride)
{
  Piece *after = piece_at (piece, *stride);
  if (piece_is_free (after))
    {
      size_t more = piece_stride (after);
      sli_tlsf_remove (tlsf, after, more);
      *stride += more;
    }
  if (piece_before_is_free (piece))
    {
      Piece *before = *piece_before_word (piece);
      TLSF_STEP ();
      if ((uintptr_t) before < tlsf->low || before >= piece
          || !piece_is_free (before)
          || piece_at (before, piece_stride (before)) != piece)
        sli_tlsf_fault_damaged (tlsf, piece);
      size_t more = piece_stride (before);
      sli_tlsf_remove (tlsf, before, more);
      *stride += more;
      piece = before;
    }
  return piece;
}

/* A piece that is live no more, nor waits, becomes free. */
static inline void
piece_give (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  /* A second free of what has been joined is found by this bit. */
  piece->stride_and_bits |= PIECE_FREE;
  piece = piece_join (tlsf, piece, &stride);
  sli_tlsf_insert (tlsf, piece, stride);
  if (!tlsf->is_fixed && piece_fills_region (piece)
      && sli_tlsf_is_region (tlsf, piece, stride))
    sli_tlsf_region_emptied (tlsf, piece, stride);
}

__attribute__ ((cold)) bool
sli_tlsf_wait_end (SliceTlsf *tlsf)
{
  bool any = false;
  for (size_t stride = PIECE_STRIDE_MIN; stride < tlsf->wait_below;
       stride += TLSF_UNIT_BYTES)
    for (Piece *piece; (piece = sli_tlsf_wait_pop (tlsf, stride)) != NULL;)
      {
        piece_give (tlsf, piece, stride);
        any = true;
      }
  return any;
}

void
slice_tlsf_free (SliceTlsf *tlsf, void *object)
{
  if (object == NULL)
    return;
  sli_tlsf_require (tlsf);
  Piece *piece = piece_require (tlsf, object);
  if (SLICE_UNLIKELY (tlsf->is_asked))
    watch_in (tlsf, piece);
  size_t stride = piece_stride (piece);
  tlsf->n_out--;
  if (stride >= tlsf->wait_below || !sli_tlsf_wait_push (tlsf, piece, stride))
    piece_give (tlsf, piece, stride);
  /* What waits must not keep the regions of a heap without objects. */
  if (SLICE_UNLIKELY (tlsf->n_out == 0) && tlsf->chain.n_used > 1)
    sli_tlsf_wait_end (tlsf);
}

/* --- resize -------------------------------------------------------------- */

size_t
slice_tlsf_object_bytes (const SliceTlsf *tlsf, const void *object)
{
  sli_tlsf_require (tlsf);
  Piece *piece = piece_require (tlsf, object);
  return piece_stride (piece) - PIECE_HEAD_BYTES - watch_extra (tlsf);
}

/* Gives up the end of a live piece; it joins what is free behind. */
static void
piece_shrink (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  size_t rest = piece_stride (piece) - stride;
  if (rest < PIECE_STRIDE_MIN)
    return;
  piece->stride_and_bits
      = stride | (piece->stride_and_bits & PIECE_BEFORE_FREE);
  Piece *tail = piece_at (piece, stride);
  piece_set_stride (tlsf, tail, rest);
  piece_join (tlsf, tail, &rest);
  sli_tlsf_insert (tlsf, tail, rest);
}

/* Takes what it needs of the free piece behind; false if there is not enough.
 */
static bool
piece_extend (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  size_t have = piece_stride (piece);
  Piece *after = piece_at (piece, have);
  if (!piece_is_free (after) || have + piece_stride (after) < stride)
    return false;
  size_t more = piece_stride (after);
  sli_tlsf_remove (tlsf, after, more);
  piece->stride_and_bits
      = (have + more) | (piece->stride_and_bits & PIECE_BEFORE_FREE);
  piece_use (tlsf, piece, stride);
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
  Piece *piece = piece_require (tlsf, object);
  size_t stride = stride_for (tlsf, size);
  size_t have = piece_stride (piece);
  size_t room = have - PIECE_HEAD_BYTES - watch_extra (tlsf);
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
  if (tlsf->chain.is_told)
    sli_trace_moved (SLICE_TRACE_TLSF, object, object, size);
  return object;
}

/* --- reset --------------------------------------------------------------- */

void
slice_tlsf_reset (SliceTlsf *tlsf, SliceKeep keep)
{
  sli_tlsf_require (tlsf);
  if (tlsf->chain.is_told)
    slice_tlsf_walk (tlsf, tell_end_of, NULL);
  sli_tlsf_index_clear (tlsf);
  tlsf->low = UINTPTR_MAX;
  tlsf->high = 0;
  if (tlsf->is_fixed)
    {
      Region old = tlsf->fixed;
      sli_tlsf_region_lay_out (tlsf, (char *) old.first,
                               old.bytes + PIECE_HEAD_BYTES, &tlsf->fixed);
      return;
    }
  uint32_t n_keep = sli_chain_empty (&tlsf->chain, keep);
  sli_chain_trim (&tlsf->chain, n_keep);
  tlsf->n_empty = 0;
  while (tlsf->chain.n_used < tlsf->chain.n_blocks)
    sli_tlsf_grow (tlsf, PIECE_STRIDE_MIN);
}
