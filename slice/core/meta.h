/* meta.h - memory for the allocator's own records
 *
 * Floor 2 (page).  Magazines and thread records; never the user's bytes.
 * Pieces are powers of two; what is given back is kept for the next of that
 * size, so the memory is bounded by the most that was ever in use at once.
 * Lock: its own (rank 15).
 * Theory: section 3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CORE_META_H
#define SLI_CORE_META_H

#include <stddef.h>

#include "port/lock.h"

enum
{
  META_BYTES_MIN = 64,
  META_BYTES_MAX = 16384
};

/* A piece for at least `bytes` (at most META_BYTES_MAX), aligned to 64;
 * contents undefined.  NULL: no memory.  The caller may hold locks of rank
 * above 20, though then a region may be mapped while they are held. */
void *sli_meta_alloc (size_t bytes);
/* The size that sli_meta_alloc() really gives for `bytes`. */
size_t sli_meta_bytes (size_t bytes);
void sli_meta_free (void *piece, size_t bytes);

/* Bytes taken from the pages so far. */
size_t sli_meta_held_bytes (void);

/* For fork.c. */
Lock *sli_meta_lock (void);

#endif
