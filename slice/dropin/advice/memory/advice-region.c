/* advice-region.c - linear regions that are freed block by block
 *
 * Layer: dropin.  The paths of a block; chunks come from advice-chunks.c.
 * Locks: none.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "advice-chunks.h"

#include "port/thread/one-thread.h"

#include <string.h>

/* --- ends of blocks ------------------------------------------------------ */

static inline unsigned
granule_of (const RegionChunk *chunk, const void *address)
{
  return (unsigned) (((uintptr_t) address - (uintptr_t) chunk)
                     / GRANULE_BYTES);
}

static inline void
end_flip (RegionChunk *chunk, const char *end)
{
  unsigned granule = granule_of (chunk, end) - 1;
  uint64_t *word = &chunk->ends[granule / 64];

  STORE (word, LOAD (word) ^ UINT64_C (1) << granule % 64);
}

/* The end of the block that begins here. */
static inline char *
end_find (RegionChunk *chunk, const void *block)
{
  unsigned granule = granule_of (chunk, block);
  unsigned i = granule / 64;
  uint64_t word = LOAD (&chunk->ends[i]) >> granule % 64 << granule % 64;

  while (UNLIKELY (word == 0) && ++i < CHUNK_WORDS)
    word = LOAD (&chunk->ends[i]);
  if (UNLIKELY (i == CHUNK_WORDS))
    return (char *) chunk + CHUNK_BYTES;
  granule = i * 64 + (unsigned) __builtin_ctzll (word) + 1;
  return (char *) chunk + granule * GRANULE_BYTES;
}

/* --- blocks -------------------------------------------------------------- */

static inline size_t
bytes_round (size_t size)
{
  size_t bytes = (size + GRANULE_BYTES - 1) & ~(size_t) (GRANULE_BYTES - 1);

  return bytes == 0 ? GRANULE_BYTES : bytes;
}

static inline bool
chunk_has_room (const RegionChunk *chunk, const char *top, size_t bytes)
{
  return bytes <= (size_t) ((const char *) chunk + CHUNK_BYTES - top);
}

static void *
chunk_alloc (RegionChunk *chunk, size_t bytes)
{
  char *block = chunk->top;

  chunk->top = block + bytes;
  end_flip (chunk, chunk->top);
  chunk->n_allocs++;
  return block;
}

/* The chunk is full, or there is none yet. */
NOINLINE static void *
alloc_slow (unsigned site, size_t bytes)
{
  RegionThread *self = sli_region_thread ();
  RegionChunk *chunk;

  if (self == NULL)
    return NULL;
  if (self->open[site] != NULL)
    sli_chunk_close (self->open[site]);
  chunk = self->open[site] = sli_chunk_new (site, self);
  if (chunk == NULL)
    return NULL;
  self->n_served[site]++;
  return chunk_alloc (chunk, bytes);
}

void *
sli_region_alloc (unsigned site, size_t size)
{
  RegionThread *self = sli_region_self;
  size_t bytes = bytes_round (size);
  RegionChunk *chunk;

  if (UNLIKELY (LOAD (&sli_region_sites[site].is_off)))
    return NULL;
  chunk = LIKELY (self != NULL) ? self->open[site] : NULL;
  if (UNLIKELY (chunk == NULL || !chunk_has_room (chunk, chunk->top, bytes)))
    return alloc_slow (site, bytes);
  self->n_served[site]++;
  return chunk_alloc (chunk, bytes);
}

/* All blocks of an open chunk are dead: no thread has one to free. */
static void
chunk_reset (RegionChunk *chunk)
{
  unsigned n = (granule_of (chunk, chunk->top) + 63) / 64;

  if (n > CHUNK_WORDS)
    n = CHUNK_WORDS;
  memset (chunk->ends, 0, n * sizeof chunk->ends[0]);
  chunk->top = (char *) chunk + CHUNK_HEAD_BYTES;
  chunk->n_allocs = chunk->n_own_frees = 0;
  STORE (&chunk->count, CHUNK_OPEN);
}

/* Frees a block of a chunk that this thread fills.  The last one that was
 * allocated gives its place back. */
static inline void
own_free (RegionChunk *chunk, char *block)
{
  char *end = end_find (chunk, block);

  if (end == chunk->top)
    {
      end_flip (chunk, end);
      chunk->top = block;
      chunk->n_allocs--;
    }
  else
    chunk->n_own_frees++;
  if (chunk->n_allocs - chunk->n_own_frees
      == CHUNK_OPEN - LOAD_ACQUIRE (&chunk->count))
    chunk_reset (chunk);
}

void
sli_region_free (void *block)
{
  RegionChunk *chunk = chunk_of (block);
  uint64_t count;

  if (LOAD (&chunk->owner) == sli_region_self && sli_region_self != NULL)
    {
      own_free (chunk, block);
      return;
    }
  if (sli_has_one_thread ())
    count = --chunk->count;
  else
    count = __atomic_sub_fetch (&chunk->count, 1, __ATOMIC_ACQ_REL);
  if (count == 0)
    sli_chunk_free (chunk);
}

size_t
sli_region_bytes (const void *block)
{
  return (size_t) (end_find (chunk_of (block), block) - (const char *) block);
}

bool
sli_region_resize (void *block, size_t size)
{
  RegionChunk *chunk = chunk_of (block);
  size_t old = sli_region_bytes (block), bytes = bytes_round (size);
  char *end = (char *) block + old;

  if (bytes <= old && bytes >= old / 2)
    return true;
  if (size > REGION_BLOCK_BYTES_MAX || sli_region_self == NULL
      || LOAD (&chunk->owner) != sli_region_self || end != chunk->top
      || !chunk_has_room (chunk, block, bytes))
    return false;
  end_flip (chunk, end);
  chunk->top = (char *) block + bytes;
  end_flip (chunk, chunk->top);
  return true;
}

bool
sli_region_begin (const Advice *advice)
{
  return sli_chunks_begin (advice);
}
