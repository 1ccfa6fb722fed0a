/* quarantine.h - freed chunks that wait before they are allocated again
 *
 * Layer: magazine.  Used by the layer's own files, and by checking-state.h of
 * the layer above.  No locks: a quarantine belongs to its thread's record.
 * Design: chapter 6.
 *
 * In hardened, in debug and under a tool each thread has a ring for each class
 * that it frees chunks of.  A freed chunk takes the place of the oldest one in
 * the ring, which goes to the magazines.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_MAGAZINE_QUARANTINE_H
#define SLI_MAGAZINE_QUARANTINE_H

#include "magazine/record/record.h"
#include "base/check.h"

/* Sets the number of chunks of a class that wait in a thread; 0: none. */
void sli_quarantine_init (unsigned n_chunks);
unsigned sli_quarantine_chunks (void);

/* Puts a chunk into a cache's ring, of n_chunks, and returns the oldest chunk
 * there; NULL: there was none. */
static inline void *
quarantine_exchange (ClassCache *cache, unsigned n_chunks, void *chunk)
{
  unsigned at = cache->quarantine_next;
  void *oldest = cache->quarantine[at];

  assert_here (at < n_chunks);
  cache->quarantine[at] = chunk;
  cache->quarantine_next = (uint16_t) ((at + 1) % n_chunks);
  return oldest;
}

/* Frees the chunks that wait to their slabs. */
void sli_quarantine_flush (ClassCache *cache, unsigned class_index);
/* Frees the ring, when no other thread can find the record. */
void sli_quarantine_end (ClassCache *cache);

#endif
