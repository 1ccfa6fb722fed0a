/* last-allocator.h - finds chunks whose cache lines threads would share
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
#include "port/thread/tls.h"

/* Notes that the calling thread allocates from a slab. */
static inline void
last_allocator_note (Slab *slab)
{
  STORE (&slab->last_allocator, sli_tls_tag ());
}

/* Returns true if the calling thread was the last to allocate from a slab. */
static inline bool
last_allocator_is_me (const Slab *slab)
{
  return LOAD (&slab->last_allocator) == sli_tls_tag ();
}

/* Returns true if chunks of a class share cache lines with others. */
static inline bool
class_shares_lines (unsigned class_index)
{
  return sli_sizeclasses[class_index].chunk_bytes < CACHE_LINE_BYTES;
}

/* Returns true if most of n chunks of a class are remote: another thread has
 * allocated them, and their neighbours, which share their cache lines, are
 * elsewhere.  A guess from a few of the chunks. */
bool sli_last_allocator_is_remote (unsigned class_index, unsigned n,
                                   void *const *chunks);
/* Notes, for a few of n chunks, that the calling thread has them now. */
void sli_last_allocator_claim (unsigned class_index, unsigned n,
                               void *const *chunks);

#endif
