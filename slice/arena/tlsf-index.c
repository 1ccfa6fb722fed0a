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
  return ((size_t) n_rows * sizeof (uint32_t) + 7) & ~(size_t) 7;
}

size_t
sli_tlsf_index_bytes (uint32_t n_rows)
{
  return maps_bytes (n_rows)
         + (size_t) n_rows * TLSF_N_COLUMNS * sizeof (Piece *);
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
      = (Piece **) ((uintptr_t) tlsf->column_maps + maps_bytes (tlsf->n_rows));
  memset (tlsf->column_maps, 0, sli_tlsf_index_bytes (tlsf->n_rows));
  sli_tlsf_wait_clear (tlsf);
}

void
sli_tlsf_wait_clear (SliceTlsf *tlsf)
{
  tlsf->n_out = 0;
  if (tlsf->waiting == NULL)
    return;
  memset (tlsf->waiting->first, 0, sizeof tlsf->waiting->first);
  memset (tlsf->waiting->n_more, TLSF_N_WAIT_MAX,
          sizeof tlsf->waiting->n_more);
}

void
sli_tlsf_watch_insert (Piece *piece, Piece *after)
{
  sli_watch_show (piece, sizeof *piece);
  sli_watch_show (piece_before_word (after), sizeof (Piece *));
}
