/* meta.h - memory for the allocator's own records
 *
 * Layer: page.  Magazines and thread records; never the user's bytes.
 * Pieces are powers of two; what is given back is joined with its spare
 * neighbours, and granules that are whole again go back to the pages.
 * Lock: its own (rank 15).
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_META_H
#define SLI_PAGE_META_H

#include <stddef.h>

#include "port/lock.h"

enum
{
  META_BYTES_MIN = 128, /* in granules of 16 KiB; a 128th of larger ones */
  META_BYTES_MAX = 16384,
  /* So much of a run's record is metadata's; in the rest a slab's class lies
   * and stays 0. */
  META_RECORD_BYTES = 16
};

/* A block for at least `bytes` (at most META_BYTES_MAX), aligned to
 * META_BYTES_MIN; contents undefined.  NULL: no memory.  The caller may hold
 * locks of rank above 20, though then a region may be mapped meanwhile. */
void *sli_meta_alloc (size_t bytes);
/* The size that sli_meta_alloc() really gives for `bytes`. */
size_t sli_meta_bytes (size_t bytes);
/* bytes: as it was asked for.  Callers hold no lock of rank 20 or less. */
void sli_meta_free (void *block, size_t bytes);

/* Bytes that are taken from the pages now. */
size_t sli_meta_held_bytes (void);

/* For fork.c. */
Lock *sli_meta_lock (void);

#endif
