/* advice-chunks.h - the chunks of regions, and the threads that fill them
 *
 * Layer: dropin.  Shared by advice-region.c, which fills chunks, and
 * advice-chunks.c, which supplies them.
 *
 *   | count owner site top ... | end bits: 1 a granule | block | block | ...
 *
 * The owner sets the bit of a block's last granule before it hands the block
 * out, so any thread can find the block's size.  Only the owner sets and clears
 * bits.
 *
 * The count of an open chunk is CHUNK_OPEN less the number of blocks that other
 * threads have freed.  To close the chunk the owner subtracts CHUNK_OPEN and
 * adds the number of blocks that it has allocated and not freed.  The count is
 * then that of the live blocks, and the thread that brings it to 0 frees the
 * chunk.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_ADVICE_CHUNKS_H
#define SLI_DROPIN_ADVICE_CHUNKS_H

#include "advice-region.h"

#define CHUNK_OPEN (UINT64_C (1) << 32)

typedef struct RegionThread RegionThread;

typedef struct
{
  uint64_t count;
  RegionThread *owner; /* NULL: closed */
  char *top;           /* the address of the next block; the owner's */
  uint32_t n_allocs;   /* since it was empty; the owner's, constant when
                          closed */
  uint32_t n_own_frees;
  uint32_t site;
  uint32_t next, previous; /* of the site's chunks, plus 1; under the lock */
  uint64_t ends[CHUNK_WORDS];
} RegionChunk;

enum
{
  CHUNK_HEAD_BYTES = (sizeof (RegionChunk) + GRANULE_BYTES - 1)
                     / GRANULE_BYTES * GRANULE_BYTES
};

/* A thread's open chunks and its number of blocks, by site. */
struct RegionThread
{
  RegionThread *next; /* of all; under the lock */
  bool is_used;       /* under the lock */
  RegionChunk *open[ADVICE_SITES_MAX];
  uint64_t n_served[ADVICE_SITES_MAX];
};

/* The calling thread's; NULL: it has none yet, or has ended. */
extern __thread RegionThread *sli_region_self
    __attribute__ ((visibility ("hidden"), tls_model ("initial-exec")));

static inline RegionChunk *
chunk_of (const void *block)
{
  return (RegionChunk *) ((uintptr_t) block & ~(uintptr_t) (CHUNK_BYTES - 1));
}

/* --- advice-chunks.c --- */

/* Returns the calling thread's, and makes it if it has none.  NULL: the thread
 * has ended, or there is no memory. */
RegionThread *sli_region_thread (void);
/* Opens an empty chunk for this thread; NULL: there is no memory, or the site
 * is switched off. */
RegionChunk *sli_chunk_new (unsigned site, RegionThread *self);
/* Gives back a chunk that is closed and has no live block. */
void sli_chunk_free (RegionChunk *chunk);
/* Closes the owner's open chunk. */
void sli_chunk_close (RegionChunk *chunk);
bool sli_chunks_begin (const Advice *advice);

#endif
