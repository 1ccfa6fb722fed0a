/* tlsf-index.c - the lists of free blocks, and the maps that find them
 *
 * Layer: arena.  The lists have a row for each power of two and a column for
 * each 32nd of it.  A bit for each list says whether it has a block, in words
 * of two rows, and a bit for each word whether it is not 0.  Two counts of
 * zeros find the first list whose blocks are large enough.
 *
 * Design: section 8.5.
 * Source: Masmano, Ripoll, Crespo, Real: TLSF, ECRTS 2004, section 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "tlsf.h"

#include <string.h>
#include "base/diag.h"

#ifdef TLSF_COUNT_STEPS
unsigned sli_tlsf_n_steps;
#endif

uint32_t
sli_tlsf_n_lists_for (size_t bytes)
{
  uint32_t n = 1;

  while (n < TLSF_N_ROWS_MAX && bytes >> (TLSF_ROW0_BITS + n - 1) != 0)
    n++;
  return n * TLSF_N_COLUMNS;
}

void
sli_tlsf_index_clear (SliceTlsf *tlsf)
{
  tlsf->map_map = 0;
  memset (tlsf->maps, 0, sizeof tlsf->maps);
  for (unsigned list = 0; list < tlsf->n_lists; list++)
    tlsf->lists[list] = sli_tlsf_none (tlsf);
}

void
sli_tlsf_report_damaged (const SliceTlsf *tlsf, const void *block)
{
  sli_diag_abort (ARENA_MISUSE_TLSF_DAMAGED,
                  "TLSF heap %p: the header at %p was overwritten",
                  tlsf->handle, block);
}
