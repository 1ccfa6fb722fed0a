/* meta.h - memory for the allocator's own records
 *
 * Layer: page.  Holds magazines and thread records; never the user's bytes.
 * The size of a block is a power of two.  A freed block is joined with its
 * buddy if that is spare, and whole granules are returned to the page layer.
 * Lock: its own (rank 15).
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_META_H
#define SLI_PAGE_META_H

#include <stddef.h>

#include "port/thread/lock.h"

enum
{
  META_BYTES_MIN = 128, /* in granules of 16 KiB; a 128th of larger ones */
  META_BYTES_MAX = 16384,
  /* The part of a run's record that metadata uses.  The rest, where a slab has
   * its class, stays 0. */
  META_RECORD_BYTES = 16
};

/* Allocates at least `bytes` (at most META_BYTES_MAX), aligned to
 * META_BYTES_MIN; contents undefined.  NULL: no memory.  The caller may hold
 * locks of a rank above 20, but the call may map an extent. */
void *sli_meta_alloc (size_t bytes);
/* The same for a caller that can do without: see
 * sli_page_alloc_optional_run(). */
void *sli_meta_alloc_optional (size_t bytes);
/* The same for more bytes: zeroed pages from the kernel. */
void *sli_meta_map (size_t bytes);
/* The same for a caller that can do without, and does not ask again for a
 * while after there was no memory. */
void *sli_meta_map_optional (size_t bytes);
void sli_meta_unmap (void *pages, size_t bytes);
/* The same, but where no address space is left, a run, if there is one of that
 * many bytes.  Callers hold no lock of rank 20 or more. */
void *sli_meta_map_or_run (size_t bytes);
void sli_meta_unmap_or_run (void *pages, size_t bytes);
/* The size of the block that sli_meta_alloc() returns for `bytes`. */
size_t sli_meta_bytes (size_t bytes);
/* Frees a block; bytes: as given to sli_meta_alloc().  Callers hold no lock of
 * rank 20 or less. */
void sli_meta_free (void *block, size_t bytes);

/* Bytes of the granules and of the mapped pages that metadata has now. */
size_t sli_meta_held_bytes (void);

/* For fork.c. */
Lock *sli_meta_lock (void);

#endif
