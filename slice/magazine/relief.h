/* relief.h - as the heap grows, spare magazines of other classes go back
 *
 * Layer: magazine.  Used by the layer's own files, with the record entered.
 * Design: chapter 5.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_MAGAZINE_RELIEF_H
#define SLI_MAGAZINE_RELIEF_H

#include "magazine/record/record.h"
#include "slab/slab.h"

/* Flushes magazines of classes other than class_index to their slabs, if
 * nothing has used them since the last look, so that slabs become empty and the
 * heap need not grow further.  Looks at a class for each granule by which the
 * heap has grown, but at a few at most. */
void sli_relief_look (ThreadRecord *record, unsigned class_index);

/* Called after a refill of the class from its slabs. */
static inline void
relief_after_refill (ThreadRecord *record, unsigned class_index)
{
  if (UNLIKELY (record->n_fresh_seen != sli_slab_n_fresh ()))
    sli_relief_look (record, class_index);
}

#endif
