/* last-allocator.h - whose chunks are these?  Against lines that threads share
 *
 * Layer: slab.  Above: depot.  No locks: the answers are hints.
 * Theory: section 5.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_SLAB_LAST_ALLOCATOR_H
#define SLI_SLAB_LAST_ALLOCATOR_H

#include <stdbool.h>

#include "chunk.h"
#include "port/compiler.h"
#include "port/tls.h"

/* The calling thread takes from a slab. */
static inline void
taker_note (Slab *slab)
{
  STORE (&slab->taker_tag, sli_tls_tag ());
}

/* Are most of n chunks of a class apart from their neighbours, with which they
 * share cache lines, and had others taken them from their slabs?  A guess, by
 * a few of them; what is no chunk at all does no harm. */
bool sli_taker_is_mixed (unsigned class_index, unsigned n,
                         void *const *chunks);
/* This thread has them now, whoever took them: notes that for a few. */
void sli_taker_claim (unsigned class_index, unsigned n, void *const *chunks);

#endif
