/* last-allocator.h - whose chunks are these?  Against lines that threads share
 *
 * Layer: slab.  Above: depot.  No locks: the answers are hints.
 * Design: chapter 5.
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
last_allocator_note (Slab *slab)
{
  STORE (&slab->last_allocator, sli_tls_tag ());
}

/* Are most of n chunks of a class apart from their neighbours, with which they
 * share cache lines, and had others taken them from their slabs?  A guess, by
 * a few of them; what is no chunk at all does no harm. */
bool sli_last_allocator_is_remote (unsigned class_index, unsigned n,
                                   void *const *chunks);
/* This thread has them now, whoever took them: notes that for a few. */
void sli_last_allocator_claim (unsigned class_index, unsigned n,
                               void *const *chunks);

#endif
