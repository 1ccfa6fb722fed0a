/* tlsf.c - two-level segregated fit: any size, any order, bounded time
 *
 * Layer: arena: above its index (tlsf-index.c) and its regions
 * (tlsf-region.c).  tlsf-life.c makes, resets and ends a heap.
 *
 * Invariants: no two free blocks are neighbours; the bits of a block and of
 * the one behind it agree; each free block is in the list of its stride.
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
#include "base/diag.h"
#include "arena/bump/traced.h"

/* --- a free block under a tool ------------------------------------------- */

/* Shows the heap's words in a block that becomes free. */
static void
annotate_free (const SliceTlsf *tlsf, TlsfBlock *block, size_t stride)
{
  if (LIKELY (!tlsf->is_annotated))
    return;
  sli_annotate_show (block, sizeof *block);
  sli_annotate_show (tlsf_block_before_word (tlsf_block_at (block, stride)),
                     sizeof (TlsfBlock *));
}

/* --- alloc --------------------------------------------------------------- */

/* Writes the header of a block that starts where none did. */
static void
tlsf_block_set_stride (const SliceTlsf *tlsf, TlsfBlock *block, size_t stride)
{
  if (tlsf->is_annotated)
    sli_annotate_show (block, BLOCK_HEAD_BYTES);
  block->stride_and_bits = stride;
}

/* Uses a whole block for an object. */
static inline void
tlsf_block_mark_live (const SliceTlsf *tlsf, TlsfBlock *block, size_t stride,
                      size_t bits)
{
  block->stride_and_bits = stride | bits | tlsf->tag;
  TLSF_STEP ();
  tlsf_block_at (block, stride)->stride_and_bits &= ~BLOCK_BEFORE_FREE;
}

/* Marks a block that is in no list as live; makes a free block of the bytes
 * beyond `stride'. */
static inline void
tlsf_block_use (SliceTlsf *tlsf, TlsfBlock *block, size_t stride)
{
  size_t have = tlsf_block_stride (block);
  size_t before = block->stride_and_bits & BLOCK_BEFORE_FREE;
  size_t rest = have - stride;

  if (rest < BLOCK_STRIDE_MIN)
    {
      tlsf_block_mark_live (tlsf, block, have, before);
      return;
    }
  block->stride_and_bits = stride | before | tlsf->tag;
  annotate_free (tlsf, tlsf_block_at (block, stride), rest);
  sli_tlsf_insert (tlsf, tlsf_block_at (block, stride), rest);
}

/* The same with a block that is still the first of its list.  If the rest
 * belongs to that list, it replaces the block there. */
static inline void
tlsf_block_cut (SliceTlsf *tlsf, TlsfBlock *block, size_t stride)
{
  size_t have = tlsf_block_stride (block);
  size_t rest = have - stride;

  if (rest < BLOCK_STRIDE_MIN)
    {
      sli_tlsf_list_pop (tlsf, sli_tlsf_list_of (have), block);
      tlsf_block_mark_live (tlsf, block, have, 0);
      return;
    }
  annotate_free (tlsf, tlsf_block_at (block, stride), rest);
  sli_tlsf_move (tlsf, block, have, tlsf_block_at (block, stride), rest);
  block->stride_and_bits = stride | tlsf->tag;
}

/* Returns true if the block may be a whole region; sli_tlsf_is_region() is
 * exact. */
static inline bool
tlsf_block_fills_region (const TlsfBlock *block)
{
  return !tlsf_block_before_is_free (block)
         && tlsf_block_stride (
                tlsf_block_at (block, tlsf_block_stride (block)))
                == 0;
}

/* Accounts for a region that was empty and gets an object. */
COLD static void
tlsf_block_leaves_region (SliceTlsf *tlsf, const TlsfBlock *block)
{
  if (sli_tlsf_is_region (tlsf, block, tlsf_block_stride (block)))
    tlsf->n_empty--;
}

/* Finds a free block that is the first of its list; the heap grows if there is
 * none.  NULL with errno ENOMEM. */
static inline TlsfBlock *
tlsf_block_obtain (SliceTlsf *tlsf, size_t stride)
{
  TlsfBlock *block = sli_tlsf_find (tlsf, stride);

  if (UNLIKELY (block == NULL) && sli_tlsf_grow (tlsf, stride))
    block = sli_tlsf_find (tlsf, stride);
  if (UNLIKELY (block == NULL))
    {
      errno = ENOMEM;
      return NULL;
    }
  if (UNLIKELY (tlsf->n_empty > 0) && tlsf_block_fills_region (block))
    tlsf_block_leaves_region (tlsf, block);
  return block;
}

/* Allocates any size from any heap. */
NOINLINE static void *
alloc_any (SliceTlsf *tlsf, size_t size)
{
  size_t stride;
  TlsfBlock *block;

  if (UNLIKELY (sli_tlsf_is_locked (tlsf)))
    return sli_tlsf_locked_alloc (tlsf, size);
  sli_tlsf_require (tlsf, "slice_tlsf_alloc");
  if (sli_tlsf_is_absurd (size))
    {
      errno = ENOMEM;
      return NULL;
    }
  stride = sli_tlsf_stride_for (tlsf, size);
  block = tlsf_block_obtain (tlsf, stride);
  if (block == NULL)
    return NULL;
  tlsf_block_cut (tlsf, block, stride);
  if (UNLIKELY (tlsf->quick_kind != ARENA_TLSF))
    return sli_tlsf_note_alloc (tlsf, block, size + (size == 0));
  return tlsf_block_object (block);
}

/* Small sizes come from a list of the first map.  Its blocks all have the same
 * stride, and none of them is a whole region. */
void *
slice_tlsf_alloc (SliceTlsf *tlsf, size_t size)
{
  size_t stride, have;
  uint64_t map;
  unsigned list;
  TlsfBlock *block;

  if (UNLIKELY (tlsf->quick_kind != ARENA_TLSF)
      || size > TLSF_EXACT_BELOW - TLSF_UNIT_BYTES - BLOCK_HEAD_BYTES)
    return alloc_any (tlsf, size);
  stride = sli_tlsf_stride_of (size);
  TLSF_STEP ();
  map = tlsf->maps[0] & ~UINT64_C (0) << (stride >> TLSF_UNIT_BITS);
  if (map == 0)
    return alloc_any (tlsf, size);
  list = (unsigned) __builtin_ctzll (map);
  have = (size_t) list << TLSF_UNIT_BITS;
  block = tlsf->lists[list];
  TLSF_STEP ();
  TLSF_STEP ();
  if (UNLIKELY (block->stride_and_bits != (have | BLOCK_FREE)))
    sli_tlsf_report_damaged (tlsf, block);
  sli_tlsf_list_pop (tlsf, list, block);
  if (have - stride < BLOCK_STRIDE_MIN)
    tlsf_block_mark_live (tlsf, block, have, 0);
  else
    {
      block->stride_and_bits = stride | tlsf->tag;
      sli_tlsf_insert_exact (tlsf, tlsf_block_at (block, stride),
                             have - stride);
    }
  return tlsf_block_object (block);
}

/* The offset of an aligned object in a block.  The bytes before it are none,
 * or enough for a block. */
static size_t
aligned_offset (const SliceTlsf *tlsf, const TlsfBlock *block,
                size_t alignment)
{
  uintptr_t object = (uintptr_t) tlsf_block_object (block) + tlsf->front_bytes;
  size_t offset = (alignment - (object & (alignment - 1))) & (alignment - 1);

  while (offset != 0 && offset < BLOCK_STRIDE_MIN)
    offset += alignment;
  return offset;
}

static void *
alloc_aligned (SliceTlsf *tlsf, size_t alignment, size_t size)
{
  size_t stride, offset, have;
  TlsfBlock *block;

  sli_require_power_of_two (alignment, "slice_tlsf_alloc_aligned");
  if (alignment <= TLSF_UNIT_BYTES || sli_tlsf_is_absurd (size))
    return slice_tlsf_alloc (tlsf, size);
  if (sli_tlsf_is_absurd (alignment))
    {
      errno = ENOMEM;
      return NULL;
    }
  stride = sli_tlsf_stride_for (tlsf, size);
  block = tlsf_block_obtain (tlsf, stride + alignment + BLOCK_STRIDE_MIN);
  if (block == NULL)
    return NULL;
  offset = aligned_offset (tlsf, block, alignment);
  have = tlsf_block_stride (block);
  sli_tlsf_remove (tlsf, block, have);
  if (offset > 0)
    {
      TlsfBlock *front = block;

      block = tlsf_block_at (front, offset);
      tlsf_block_set_stride (tlsf, block, have - offset);
      annotate_free (tlsf, front, offset);
      sli_tlsf_insert (tlsf, front, offset);
    }
  tlsf_block_use (tlsf, block, stride);
  return sli_tlsf_note_alloc (tlsf, block, size + (size == 0));
}

void *
slice_tlsf_alloc_aligned (SliceTlsf *tlsf, size_t alignment, size_t size)
{
  SliceTlsf *inner = sli_tlsf_acquire (tlsf, "slice_tlsf_alloc_aligned");
  void *object = alloc_aligned (inner, alignment, size);

  sli_tlsf_release (tlsf);
  return object;
}

/* --- free ---------------------------------------------------------------- */

/* The block of a live object.  If the address is in the heap's range, all
 * words that this reads belong to the heap, so this is safe over a buffer.
 * The header must be this heap's.  The block behind it must be sound and must
 * not say that this one is free: otherwise it was freed and joined. */
static inline TlsfBlock *
tlsf_block_require (const SliceTlsf *tlsf, const void *object,
                    size_t front_bytes, const char *operation)
{
  TlsfBlock *block = object_block ((const char *) object - front_bytes);
  size_t offset = (uintptr_t) block - tlsf->low;
  size_t stride, after, tag;

  if (UNLIKELY (offset >= tlsf->span_bytes)
      || UNLIKELY (((uintptr_t) object & (TLSF_UNIT_BYTES - 1)) != 0))
    sli_tlsf_report_object (tlsf, object, operation);
  stride = (block->stride_and_bits ^ tlsf->tag) & ~BLOCK_BEFORE_FREE;
  TLSF_STEP ();
  if (UNLIKELY ((stride & (TLSF_UNIT_BYTES - 1)) != 0)
      || UNLIKELY (stride - BLOCK_STRIDE_MIN
                   >= tlsf->span_bytes - offset - TLSF_UNIT_BYTES))
    sli_tlsf_report_object (tlsf, object, operation);
  after = tlsf_block_at (block, stride)->stride_and_bits;
  tag = (after & BLOCK_FREE) != 0 ? 0 : tlsf->tag;
  TLSF_STEP ();
  if (UNLIKELY (((after ^ tag) & (BLOCK_TAG_MASK | BLOCK_BEFORE_FREE)) != 0))
    sli_tlsf_report_object (tlsf, object, operation);
  return block;
}

/* The same in any heap.  A checked heap reads nothing outside its regions, and
 * the end of the block must be intact. */
static TlsfBlock *
tlsf_block_asked (const SliceTlsf *tlsf, const void *object,
                  const char *operation)
{
  Region region;
  TlsfBlock *block;

  sli_tlsf_require (tlsf, operation);
  if (tlsf->is_checked && !sli_tlsf_region_of (tlsf, object, &region))
    sli_tlsf_report_object (tlsf, object, operation);
  block = tlsf_block_require (tlsf, object, tlsf->front_bytes, operation);
  if (tlsf->is_checked && !sli_tlsf_tail_is_whole (tlsf, block))
    sli_tlsf_report_object (tlsf, object, operation);
  return block;
}

/* The number of bytes of a live object that the program may use. */
static size_t
tlsf_block_usable (const SliceTlsf *tlsf, const TlsfBlock *block)
{
  if (tlsf->is_annotated)
    return sli_tlsf_gap_size (block);
  return tlsf->is_checked ? sli_tlsf_tail_size (block)
                          : tlsf_block_stride (block) - BLOCK_HEAD_BYTES
                                - tlsf->extra_bytes;
}

/* The stride of the free block behind a live one, whose header was checked; 0
 * if the block behind it is not free. */
static inline size_t
stride_behind (const SliceTlsf *tlsf, TlsfBlock *after)
{
  size_t bits = after->stride_and_bits;

  if ((bits & BLOCK_FREE) == 0)
    return 0;
  if (UNLIKELY (!sli_tlsf_stride_is_sound (tlsf, after, bits ^ BLOCK_FREE)))
    sli_tlsf_report_damaged (tlsf, after);
  return bits ^ BLOCK_FREE;
}

/* The free block before a block. */
static inline TlsfBlock *
tlsf_block_before (const SliceTlsf *tlsf, TlsfBlock *block)
{
  TlsfBlock *before = *tlsf_block_before_word (block);

  TLSF_STEP ();
  if (UNLIKELY (!sli_tlsf_in_range (tlsf, before))
      || UNLIKELY (
          before->stride_and_bits
          != ((size_t) ((char *) block - (char *) before) | BLOCK_FREE)))
    sli_tlsf_report_damaged (tlsf, block);
  return before;
}

/* Called when a free block may have become a whole region. */
COLD static void
tlsf_block_ends_region (SliceTlsf *tlsf, TlsfBlock *block)
{
  size_t stride = tlsf_block_stride (block);

  if (sli_tlsf_is_region (tlsf, block, stride))
    sli_tlsf_region_emptied (tlsf, block, stride);
}

/* Returns true if a free block that grows at its end stays in its list. */
static inline bool
tlsf_block_stays (size_t old_stride, size_t stride)
{
  return old_stride >= TLSF_EXACT_BELOW
         && sli_tlsf_list_of (old_stride) == sli_tlsf_list_of (stride);
}

/* Frees a live block, and joins it with its free neighbours. */
static inline void
tlsf_block_free (SliceTlsf *tlsf, TlsfBlock *block)
{
  size_t bits = block->stride_and_bits;
  size_t stride = (bits ^ tlsf->tag) & ~BLOCK_BEFORE_FREE;
  TlsfBlock *after = tlsf_block_at (block, stride);
  size_t behind = stride_behind (tlsf, after);
  bool stays;

  if (behind != 0)
    {
      sli_tlsf_remove (tlsf, after, behind);
      stride += behind;
    }
  stays = false;
  if ((bits & BLOCK_BEFORE_FREE) != 0)
    {
      TlsfBlock *before;
      size_t more;

      /* This bit shows a second free of a block that was joined. */
      block->stride_and_bits = bits | BLOCK_FREE;
      before = tlsf_block_before (tlsf, block);
      more = (size_t) ((char *) block - (char *) before);
      block = before;
      stride += more;
      stays = tlsf_block_stays (more, stride);
      if (!stays)
        sli_tlsf_remove (tlsf, before, more);
    }
  if (stays)
    tlsf_block_mark_free (block, stride);
  else
    sli_tlsf_insert (tlsf, block, stride);
  if (UNLIKELY (tlsf_block_at (block, stride)->stride_and_bits
                      == (tlsf->tag | BLOCK_BEFORE_FREE)))
    tlsf_block_ends_region (tlsf, block);
}

/* Frees in any heap. */
COLD static void
free_any (SliceTlsf *tlsf, void *object)
{
  TlsfBlock *block;

  if (sli_tlsf_is_locked (tlsf))
    {
      sli_tlsf_locked_free (tlsf, object);
      return;
    }
  block = tlsf_block_asked (tlsf, object, "slice_tlsf_free");
  sli_tlsf_note_free (tlsf, block);
  tlsf_block_free (tlsf, block);
}

void
slice_tlsf_free (SliceTlsf *tlsf, void *object)
{
  if (UNLIKELY (object == NULL))
    return;
  if (LIKELY (tlsf->quick_kind == ARENA_TLSF))
    tlsf_block_free (
        tlsf, tlsf_block_require (tlsf, object, 0, "slice_tlsf_free"));
  else
    free_any (tlsf, object);
}

/* --- resize -------------------------------------------------------------- */

size_t
slice_tlsf_object_bytes_v1 (const SliceTlsf *shown, const void *object)
{
  const char *operation = "slice_tlsf_object_bytes";
  const SliceTlsf *tlsf = sli_tlsf_acquire (shown, operation);
  size_t bytes = tlsf_block_usable (
      tlsf, tlsf_block_asked (tlsf, object, operation));

  sli_tlsf_release (shown);
  return bytes;
}

/* Frees the end of a live block; it joins a free block behind. */
static void
tlsf_block_shrink (SliceTlsf *tlsf, TlsfBlock *block, size_t stride)
{
  size_t have = tlsf_block_stride (block);
  size_t rest = have - stride;
  TlsfBlock *after = tlsf_block_at (block, have);
  TlsfBlock *tail = tlsf_block_at (block, stride);
  size_t more = stride_behind (tlsf, after);

  if (rest == 0 || (more == 0 && rest < BLOCK_STRIDE_MIN))
    return;
  annotate_free (tlsf, tail, rest + more);
  if (more != 0)
    sli_tlsf_move (tlsf, after, more, tail, rest + more);
  else
    sli_tlsf_insert (tlsf, tail, rest);
  block->stride_and_bits
      = stride | tlsf->tag | (block->stride_and_bits & BLOCK_BEFORE_FREE);
}

/* Extends a block into the free block behind it; false if that is too small or
 * not free. */
static bool
tlsf_block_extend (SliceTlsf *tlsf, TlsfBlock *block, size_t stride)
{
  size_t have = tlsf_block_stride (block);
  size_t before = block->stride_and_bits & BLOCK_BEFORE_FREE;
  TlsfBlock *after = tlsf_block_at (block, have);
  size_t more = stride_behind (tlsf, after);
  size_t rest;

  if (more == 0 || have + more < stride)
    return false;
  rest = have + more - stride;
  if (rest >= BLOCK_STRIDE_MIN)
    {
      TlsfBlock *tail = tlsf_block_at (block, stride);

      /* It may overlap the words of `after', which are defined. */
      if (UNLIKELY (tlsf->is_annotated))
        sli_annotate_show_defined (tail, sizeof *tail);
      sli_tlsf_move (tlsf, after, more, tail, rest);
      block->stride_and_bits = stride | before | tlsf->tag;
      return true;
    }
  sli_tlsf_remove (tlsf, after, more);
  tlsf_block_mark_live (tlsf, block, have + more, before);
  return true;
}

/* Changes a block's stride in place, if that is possible. */
static inline bool
resize_here (SliceTlsf *tlsf, TlsfBlock *block, size_t stride)
{
  if (stride > tlsf_block_stride (block))
    return tlsf_block_extend (tlsf, block, stride);
  tlsf_block_shrink (tlsf, block, stride);
  return true;
}

static void *
resize_move (SliceTlsf *tlsf, void *object, size_t kept, size_t size)
{
  bool is_traced = tlsf->chain.is_traced;
  void *moved;

  tlsf->chain.is_traced = false; /* the hooks get one call, for the move */
  moved = slice_tlsf_alloc (tlsf, size);
  if (moved != NULL)
    {
      memcpy (moved, object, kept);
      if (is_traced)
        sli_trace_realloc (SLICE_TRACE_TLSF, object, moved, size);
      slice_tlsf_free (tlsf, object);
    }
  tlsf->chain.is_traced = is_traced;
  return moved;
}

/* Under a tool.  An object that grows moves, so that a use of its old address
 * is seen, but stays if there is no memory for a copy. */
COLD static void *
resize_annotated (SliceTlsf *tlsf, TlsfBlock *block, void *object, size_t kept,
                  size_t size)
{
  size_t stride = sli_tlsf_stride_for (tlsf, size);
  int error = errno;

  sli_annotate_show_defined (object, kept);
  if (kept < size)
    {
      void *moved = resize_move (tlsf, object, kept, size);

      if (moved != NULL || !resize_here (tlsf, block, stride))
        return moved;
      errno = error;
      sli_tlsf_note_resized (tlsf, block, kept, size);
    }
  else
    {
      sli_tlsf_note_resized (tlsf, block, kept, size);
      tlsf_block_shrink (tlsf, block, stride);
    }
  return object;
}

static void *
object_resize (SliceTlsf *tlsf, void *object, size_t size)
{
  TlsfBlock *block;
  size_t usable, kept;
  void *resized = object;

  if (sli_tlsf_is_absurd (size))
    {
      errno = ENOMEM;
      return NULL;
    }
  block = tlsf_block_asked (tlsf, object, "slice_tlsf_resize");
  usable = tlsf_block_usable (tlsf, block);
  kept = usable < size ? usable : size;
  if (UNLIKELY (tlsf->is_annotated))
    resized = resize_annotated (tlsf, block, object, kept, size);
  else if (!resize_here (tlsf, block, sli_tlsf_stride_for (tlsf, size)))
    return resize_move (tlsf, object, kept, size);
  if (resized != object)
    return resized;
  if (tlsf->is_checked)
    sli_tlsf_tail_note (tlsf, block, size);
  if (tlsf->chain.is_traced)
    sli_trace_realloc (SLICE_TRACE_TLSF, object, object, size);
  return object;
}

void *
slice_tlsf_resize (SliceTlsf *tlsf, void *object, size_t size)
{
  void *resized;

  if (object == NULL)
    return slice_tlsf_alloc (tlsf, size);
  size += size == 0; /* the one byte is the program's and stays */
  resized = object_resize (sli_tlsf_acquire (tlsf, "slice_tlsf_resize"),
                           object, size);
  sli_tlsf_release (tlsf);
  return resized;
}
