/* tlsf-index.c - the lists of free pieces, and the maps that find them
 *
 * Floor 7.  A row for each power of two, a column for each 32nd of it; a bit
 * for each list that has a piece and a bit for each row that has such a list:
 * two counts of zeros find the least list that is large enough.
 *
 * Theory: section 8.5.
 * Source: Masmano, Ripoll, Crespo, Real: TLSF, ECRTS 2004, section 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tlsf.h"

#include <string.h>

#ifdef TLSF_COUNT_STEPS
unsigned sli_tlsf_n_steps;
#endif

/* Heads are behind the maps, aligned to 8. */
static size_t
maps_bytes (uint32_t n_rows)
{
  return ((size_t)n_rows * sizeof (uint32_t) + 7) & ~(size_t)7;
}

size_t
sli_tlsf_index_bytes (uint32_t n_rows)
{
  return maps_bytes (n_rows)
         + (size_t)n_rows * TLSF_N_COLUMNS * sizeof (Piece *);
}

uint32_t
sli_tlsf_rows_for (size_t bytes)
{
  uint32_t n = 1;
  while (n < TLSF_N_ROWS_MAX && bytes >> (TLSF_ROW0_BITS + n - 1) != 0)
    n++;
  return n;
}

void
sli_tlsf_index_clear (SliceTlsf *tlsf)
{
  tlsf->row_map = 0;
  tlsf->lists
      = (Piece **)((uintptr_t)tlsf->column_maps + maps_bytes (tlsf->n_rows));
  memset (tlsf->column_maps, 0, sli_tlsf_index_bytes (tlsf->n_rows));
}

/* A list that holds only pieces of at least the stride: the place of the
 * stride rounded up to the next column. */
static bool
index_search (const SliceTlsf *tlsf, size_t stride, uint32_t *row,
              uint32_t *column)
{
  if (stride >= (size_t)1 << TLSF_ROW0_BITS)
    stride += ((size_t)1 << (sli_log2_floor (stride) - TLSF_COLUMN_BITS)) - 1;
  sli_tlsf_place (stride, row, column);
  if (*row >= tlsf->n_rows)
    return false;
  TLSF_STEP ();
  uint32_t columns = tlsf->column_maps[*row] & (~UINT32_C (0) << *column);
  if (columns == 0)
    {
      TLSF_STEP ();
      uint64_t rows = tlsf->row_map & (~UINT64_C (1) << *row);
      if (rows == 0)
        return false;
      *row = (uint32_t)__builtin_ctzll (rows);
      columns = tlsf->column_maps[*row];
    }
  *column = (uint32_t)__builtin_ctz (columns);
  return true;
}

/* When nothing larger is free the first piece of the stride's own list may
 * do: one look more, so a heap over a tight buffer can be filled. */
static Piece *
index_own_list (const SliceTlsf *tlsf, size_t stride, uint32_t *row,
                uint32_t *column)
{
  sli_tlsf_place (stride, row, column);
  if (*row >= tlsf->n_rows)
    return NULL;
  Piece *piece = *sli_tlsf_list (tlsf, *row, *column);
  TLSF_STEP ();
  return piece != NULL && piece_stride (piece) >= stride ? piece : NULL;
}

Piece *
sli_tlsf_find (SliceTlsf *tlsf, size_t stride)
{
  uint32_t row;
  uint32_t column;
  Piece *piece;
  if (index_search (tlsf, stride, &row, &column))
    piece = *sli_tlsf_list (tlsf, row, column);
  else
    piece = index_own_list (tlsf, stride, &row, &column);
  if (piece == NULL)
    return NULL;
  if (!piece_is_free (piece) || piece->prev != NULL)
    sli_tlsf_fault_damaged (tlsf, piece);
  sli_tlsf_list_pop (tlsf, piece, row, column);
  return piece;
}
