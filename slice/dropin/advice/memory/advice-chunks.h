/* advice-chunks.h - the chunks of regions, and the threads that fill them
 *
 * Layer: dropin.  Shared by advice-region.c, which fills chunks, and
 * advice-chunks.c, which supplies them.
 *
 *   | count owner site top ... | end bits: 1 a granule | block | block | ...
 *
 * A bit is set for the last granule of each block, before the block is handed
 * out, so any thread finds the block's size.  Only the owner sets and clears
 * bits.
 *
 * Count.  An open chunk has CHUNK_OPEN in `count', less the blocks that other
 * threads have freed.  To close it the owner subtracts CHUNK_OPEN and adds the
 * blocks that live.  From then on whoever brings it to 0 frees the chunk.
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
  char *top;           /* the next block is here; the owner's */
  uint32_t n_allocs;   /* since it was empty; the owner's, fixed when closed */
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

/* A thread's open chunks, and how many blocks it has got, by site. */
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

/* The calling thread's; makes it.  NULL: it has ended, or no memory. */
RegionThread *sli_region_thread (void);
/* An empty chunk, open, of this thread; NULL: no memory, or the site is
 * off. */
RegionChunk *sli_chunk_new (unsigned site, RegionThread *self);
/* Gives back a chunk that is closed and has no live block. */
void sli_chunk_free (RegionChunk *chunk);
/* Closes the owner's open chunk. */
void sli_chunk_close (RegionChunk *chunk);
bool sli_chunks_begin (const Advice *advice);

#endif
