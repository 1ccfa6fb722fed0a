/* advice-region.h - linear regions that are freed block by block
 *
 * Layer: dropin.  A region belongs to a site.  Each thread fills a chunk of
 * its own; a chunk is freed with its last block.
 *
 * Locks: one, for chunks and threads.  Its holder calls only the system.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_ADVICE_REGION_H
#define SLI_DROPIN_ADVICE_REGION_H

#include "dropin/advice/advice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/compiler.h"

enum
{
  CHUNK_BYTES = 32 * 1024,
  GRANULE_BYTES = 16,
  CHUNK_WORDS = CHUNK_BYTES / GRANULE_BYTES / 64,
  REGION_BLOCK_BYTES_MAX = CHUNK_BYTES / 8
};

/* The memory that all chunks are cut from; `bytes' is 0 until it is mapped. */
typedef struct
{
  uintptr_t start;
  size_t bytes;
} RegionArea;
extern RegionArea sli_region_area __attribute__ ((visibility ("hidden")));

static inline bool
region_has (const void *block)
{
  return (uintptr_t) block - sli_region_area.start < sli_region_area.bytes;
}

/* The chunks and counts of a site.  The lock protects them; `is_off' is also
 * read without it, and `n_served' changes by atomic additions. */
typedef struct
{
  bool is_off; /* its live blocks kept too much memory in use */
  uint32_t n_chunks, n_chunks_most;
  uint32_t check_at;   /* the number of chunks at the next check */
  uint32_t first;      /* the number of the first chunk, plus 1; 0: none */
  uint64_t n_served;   /* blocks of threads that have ended */
  uint64_t pinned;     /* bytes without live blocks when it was switched off */
} RegionSite;
extern RegionSite sli_region_sites[ADVICE_SITES_MAX]
    __attribute__ ((visibility ("hidden")));

/* Maps the memory; false: there is none, or no key for threads. */
bool sli_region_begin (const Advice *advice);
/* Allocates a block of at most REGION_BLOCK_BYTES_MAX bytes; NULL: the next
 * malloc must serve it. */
void *sli_region_alloc (unsigned site, size_t size);
void sli_region_free (void *block);
size_t sli_region_bytes (const void *block);
/* Resizes a block in place; false: it can't. */
bool sli_region_resize (void *block, size_t size);
/* The number of blocks that a site's region has served, and of its chunks at
 * most. */
void sli_region_count (unsigned site, uint64_t *n_served,
                       uint64_t *n_chunks_most);

#endif
