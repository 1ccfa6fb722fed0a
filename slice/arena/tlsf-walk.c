/* tlsf-walk.c - looking through a TLSF heap
 *
 * Layer: arena.
 *
 * Theory: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "tlsf.h"

#include "misuse.h"

/* --- sound pieces -------------------------------------------------------- */

/* What is wrong with a header, or NULL.  All before it are sound. */
static const char *
header_fault (const SliceTlsf *tlsf, const Piece *piece, const Piece *end,
              bool before_is_free)
{
  size_t stride = piece_stride (piece);
  if (stride < PIECE_STRIDE_MIN || stride % TLSF_UNIT_BYTES != 0
      || stride > (size_t) ((const char *) end - (const char *) piece))
    return "a piece has an impossible size";
  if (piece_before_is_free (piece) != before_is_free)
    return "a piece is wrong about the one before it";
  if (piece_is_free (piece) && before_is_free)
    return "two free pieces are neighbours";
  size_t tag = piece_is_free (piece) ? 0 : tlsf->tag;
  if ((piece->stride_and_bits & PIECE_TAG_MASK) != tag)
    return "a header was overwritten";
  if (piece_is_free (piece)
      && *piece_before_word (piece_at (piece, stride)) != piece)
    return "the last word of a free piece is wrong";
  return NULL;
}

static bool
end_is_sound (const SliceTlsf *tlsf, const Piece *end, bool before_is_free)
{
  return end->stride_and_bits
         == (tlsf->tag | (before_is_free ? PIECE_BEFORE_FREE : 0));
}

/* --- what a bad address is ----------------------------------------------- */

/* The free piece that a freed object was joined to leaves its header, with
 * that bit. */
_Noreturn static void
fault_within (const SliceTlsf *tlsf, const Piece *outer, const Piece *piece,
              const void *object)
{
  if (piece_is_free (outer) && (outer == piece || piece_is_free (piece)))
    sli_arena_fault (ARENA_FAULT_TLSF_TWICE,
                     "TLSF heap %p: %p is free already", (const void *) tlsf,
                     object);
  sli_arena_fault (ARENA_FAULT_TLSF_FOREIGN,
                   "TLSF heap %p: %p is no object of this heap",
                   (const void *) tlsf, object);
}

/* The first piece of the region that is not sound is to blame; if that is none
 * up to the one behind the object's, the address is. */
void
sli_tlsf_fault_object (const SliceTlsf *tlsf, const void *object)
{
  static const Piece none;
  const Piece *piece
      = object_piece ((const char *) object - tlsf->front_bytes);
  Region region;
  if (((uintptr_t) object & (TLSF_UNIT_BYTES - 1)) != 0
      || !sli_tlsf_region_of (tlsf, piece, &region))
    fault_within (tlsf, &none, piece, object);
  const Piece *end = piece_at (region.first, region.bytes);
  const Piece *last = &none;
  bool before_is_free = false;
  for (const Piece *at = region.first; at != end;
       at = piece_at (at, piece_stride (at)))
    {
      if (header_fault (tlsf, at, end, before_is_free) != NULL)
        sli_tlsf_fault_damaged (tlsf, at);
      if (tlsf->is_checked && !piece_is_free (at)
          && !sli_tlsf_tail_is_whole (tlsf, at))
        sli_tlsf_fault_overrun (tlsf, at);
      if (at > piece)
        fault_within (tlsf, last, piece, object);
      before_is_free = piece_is_free (at);
      last = at;
    }
  if (!end_is_sound (tlsf, end, before_is_free))
    sli_tlsf_fault_damaged (tlsf, end);
  fault_within (tlsf, last, piece, object);
}

/* --- pieces in order ----------------------------------------------------- */

typedef struct
{
  const SliceTlsf *tlsf;
  uint32_t region;    /* the next one */
  const Piece *piece; /* the next one in the present region, or NULL */
  const Piece *end;   /* of that region */
  bool before_is_free;
} PieceWalk;

/* The next piece, or NULL.  Ends of regions are not told.  A damaged heap ends
 * the program. */
static const Piece *
walk_next (PieceWalk *walk)
{
  while (walk->piece == walk->end)
    {
      if (walk->region == sli_tlsf_n_regions (walk->tlsf))
        return NULL;
      Region region = sli_tlsf_region (walk->tlsf, walk->region++);
      walk->piece = region.first;
      walk->end = piece_at (region.first, region.bytes);
      walk->before_is_free = false;
    }
  const Piece *piece = walk->piece;
  if (header_fault (walk->tlsf, piece, walk->end, walk->before_is_free)
      != NULL)
    sli_tlsf_fault_damaged (walk->tlsf, piece);
  walk->before_is_free = piece_is_free (piece);
  walk->piece = piece_at (piece, piece_stride (piece));
  return piece;
}

static size_t
piece_usable (const SliceTlsf *tlsf, const Piece *piece)
{
  size_t taken = PIECE_HEAD_BYTES + tlsf->extra_bytes;
  if (tlsf->is_watched && !piece_is_free (piece))
    return sli_tlsf_gap_size (piece);
  if (tlsf->is_checked && !piece_is_free (piece))
    return sli_tlsf_tail_size (piece);
  size_t stride = piece_stride (piece);
  return stride > taken ? stride - taken : 0;
}

bool
slice_tlsf_walk (const SliceTlsf *tlsf,
                 bool (*visit) (const void *object, size_t bytes, bool is_live,
                                void *data),
                 void *data)
{
  sli_tlsf_require (tlsf);
  PieceWalk walk = { .tlsf = tlsf };
  for (const Piece *piece = walk_next (&walk); piece != NULL;
       piece = walk_next (&walk))
    if (!visit (piece_object (piece) + tlsf->front_bytes,
                piece_usable (tlsf, piece), !piece_is_free (piece), data))
      return false;
  return true;
}

/* --- statistics ---------------------------------------------------------- */

/* Returns the largest free stride. */
static size_t
stats_of_pieces (const SliceTlsf *tlsf, SliceTlsfStats *stats)
{
  size_t largest = 0;
  PieceWalk walk = { .tlsf = tlsf };
  for (const Piece *piece = walk_next (&walk); piece != NULL;
       piece = walk_next (&walk))
    {
      size_t usable = piece_usable (tlsf, piece);
      if (!piece_is_free (piece))
        {
          stats->n_live++;
          stats->arena.asked_bytes += piece_stride (piece) - PIECE_HEAD_BYTES;
          stats->arena.control_bytes += PIECE_HEAD_BYTES;
          continue;
        }
      stats->n_free++;
      stats->free_bytes += piece_stride (piece);
      if (piece_stride (piece) > largest)
        largest = piece_stride (piece);
      if (usable > stats->largest_free)
        stats->largest_free = usable;
    }
  return largest;
}

void
slice_tlsf_get_stats (const SliceTlsf *tlsf, SliceTlsfStats *stats)
{
  sli_tlsf_require (tlsf);
  *stats = (SliceTlsfStats){ 0 };
  sli_chain_stats (&tlsf->chain, tlsf->control_bytes, &stats->arena);
  if (tlsf->is_fixed)
    {
      stats->arena.held_bytes = tlsf->fixed_bytes;
      stats->arena.n_blocks = 1;
    }
  size_t largest = stats_of_pieces (tlsf, stats);
  SliceArenaStats *arena = &stats->arena;
  arena->room_bytes = stats->free_bytes;
  arena->wasted_bytes = arena->held_bytes - arena->asked_bytes
                        - arena->room_bytes - arena->control_bytes;
  if (stats->free_bytes > largest)
    stats->fragmentation_permille
        = (unsigned) (1000 - largest * 1000 / stats->free_bytes);
}

/* --- validity ------------------------------------------------------------ */

/* The next one of a list, or NULL if the link does not lead to one whose link
 * leads back: then no list comes back to itself but to its head. */
static const Piece *
listed_next (const SliceTlsf *tlsf, const Piece *head, const Piece *piece)
{
  const Piece *next = piece->next;
  Region region;
  if (next == sli_tlsf_none (tlsf))
    return next;
  return sli_tlsf_in_range (tlsf, next)
                 && sli_tlsf_region_of (tlsf, next, &region)
                 && next->prev == piece && next != head
             ? next
             : NULL;
}

static const char *
piece_fault (const SliceTlsf *tlsf, const Piece *piece, const Piece *end,
             bool before_is_free)
{
  const char *fault = header_fault (tlsf, piece, end, before_is_free);
  if (fault != NULL)
    return fault;
  if (!piece_is_free (piece))
    return tlsf->is_checked && !sli_tlsf_tail_is_whole (tlsf, piece)
               ? "the bytes behind an object were overwritten"
               : NULL;
  unsigned list = sli_tlsf_list_of (piece_stride (piece));
  const Piece *head
      = list < tlsf->n_lists ? tlsf->lists[list] : sli_tlsf_none (tlsf);
  const Piece *listed = head;
  while (listed != NULL && listed != sli_tlsf_none (tlsf) && listed != piece)
    listed = listed_next (tlsf, head, listed);
  return listed == piece ? NULL : "a free piece is not in its list";
}

static const char *
region_fault (const SliceTlsf *tlsf, const Region *region, size_t *n_free)
{
  const Piece *end = piece_at (region->first, region->bytes);
  bool before_is_free = false;
  const Piece *piece = region->first;
  while (piece < end)
    {
      const char *fault = piece_fault (tlsf, piece, end, before_is_free);
      if (fault != NULL)
        return fault;
      before_is_free = piece_is_free (piece);
      *n_free += before_is_free;
      piece = piece_at (piece, piece_stride (piece));
    }
  if (!end_is_sound (tlsf, end, before_is_free))
    return "the end of a region was overwritten";
  return NULL;
}

/* Lists hold free pieces of their stride alone, as many as there are; maps
 * say which are empty. */
static const char *
index_fault (const SliceTlsf *tlsf, size_t n_free)
{
  for (unsigned list = 0; list < tlsf->n_lists; list++)
    {
      unsigned word = list / TLSF_MAP_BITS;
      bool is_told = (tlsf->map_map >> word & 1) != 0;
      if (is_told != (word > 0 && tlsf->maps[word] != 0))
        return "the map of maps is wrong";
      bool bit = (tlsf->maps[word] >> (list % TLSF_MAP_BITS) & 1) != 0;
      const Piece *piece = tlsf->lists[list];
      if (bit != (piece != sli_tlsf_none (tlsf)))
        return "a map of lists is wrong";
      for (; piece != sli_tlsf_none (tlsf);
           piece = listed_next (tlsf, tlsf->lists[list], piece))
        if (piece == NULL || !piece_is_free (piece) || n_free-- == 0)
          return "a list holds a piece that is not free";
    }
  return n_free == 0 ? NULL : "a free piece is in no list";
}

bool
slice_tlsf_is_valid (const SliceTlsf *tlsf, const char **why)
{
  sli_tlsf_require (tlsf);
  const char *fault = NULL;
  size_t n_free = 0;
  for (uint32_t i = 0; i < sli_tlsf_n_regions (tlsf) && fault == NULL; i++)
    {
      Region region = sli_tlsf_region (tlsf, i);
      fault = region_fault (tlsf, &region, &n_free);
    }
  if (fault == NULL)
    fault = index_fault (tlsf, n_free);
  if (why != NULL)
    *why = fault;
  return fault == NULL;
}
