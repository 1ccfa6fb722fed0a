/* tlsf-walk.c - looking through a TLSF heap
 *
 * Floor 7.
 *
 * Theory: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tlsf.h"

/* --- pieces in order ----------------------------------------------------- */

typedef struct
{
  const SliceTlsf *tlsf;
  uint32_t region;    /* the next one */
  const Piece *piece; /* the next one in the present region, or NULL */
} PieceWalk;

/* The next piece, or NULL.  Ends of regions are not told. */
static const Piece *
walk_next (PieceWalk *walk)
{
  while (walk->piece == NULL || piece_stride (walk->piece) == 0)
    {
      if (walk->region == sli_tlsf_n_regions (walk->tlsf))
        return NULL;
      walk->piece = sli_tlsf_region (walk->tlsf, walk->region++).first;
    }
  const Piece *piece = walk->piece;
  walk->piece = piece_at (piece, piece_stride (piece));
  return piece;
}

static size_t
piece_usable (const SliceTlsf *tlsf, const Piece *piece)
{
  size_t taken = PIECE_HEAD_BYTES + 2 * (size_t) tlsf->front_bytes;
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

static const char *
piece_fault (const SliceTlsf *tlsf, const Piece *piece, const Piece *end,
             bool before_is_free)
{
  size_t stride = piece_stride (piece);
  if (stride < PIECE_STRIDE_MIN || stride % TLSF_UNIT_BYTES != 0
      || stride > (size_t) ((const char *) end - (const char *) piece))
    return "a piece has an impossible size";
  if (piece_before_is_free (piece) != before_is_free)
    return "a piece is wrong about the one before it";
  if (!piece_is_free (piece))
    return NULL;
  if (before_is_free)
    return "two free pieces are neighbours";
  if (*piece_before_word (piece_at (piece, stride)) != piece)
    return "the last word of a free piece is wrong";
  const Piece *listed = tlsf->lists[sli_tlsf_list_of (stride)];
  while (listed != sli_tlsf_none (tlsf) && listed != piece)
    listed = listed->next;
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
  if (piece != end || piece_stride (end) != 0 || piece_is_free (end)
      || piece_before_is_free (end) != before_is_free)
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
      for (; piece != sli_tlsf_none (tlsf); piece = piece->next)
        if (!piece_is_free (piece) || n_free-- == 0)
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
