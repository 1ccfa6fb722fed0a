/* slab.h - chunks of one class, cut from runs
 *
 * Layer: slab.  Above: depot, and alloc where it bypasses the magazines
 * (dispatch.c, batch.c, block-info.c); below: page.
 * Locks: one for each class (rank 30).
 * Design: chapter 4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_SLAB_SLAB_H
#define SLI_SLAB_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errors.h"
#include "base/sizeclass.h"
#include "port/thread/lock.h"

/* Initialises this layer and those below; once, after the options are
 * frozen. */
void sli_slab_init (void);

/* Allocates up to n chunks of a class; returns how many, 0: no memory.  Writes
 * them downwards, from end[-1] to end[-result], the lowest address of a slab
 * first, so that a magazine pops them in rising order.  May map: the caller
 * holds no lock of rank 30 or less. */
unsigned sli_slab_alloc (unsigned class_index, unsigned n, void **end);

/* Frees chunks of class class_index (0: any class).  An address that is no
 * chunk, or a chunk free in its slab, is misuse: the program ends with a
 * message that names `operation`. */
void sli_slab_free (unsigned class_index, unsigned n, void *const *chunks,
                    const char *operation);
/* The same for chunks that were last needed at needed_msec; 0: now.  Pages
 * that become free are as old as the youngest of their chunks. */
void sli_slab_free_old (unsigned class_index, unsigned n, void *const *chunks,
                        uint64_t needed_msec, const char *operation);

/* The chunks of a slab that is about to go back to the page layer.  All that
 * were ever allocated are free; the caller holds no lock of rank 30 or less. */
typedef struct
{
  char *first;        /* chunk 0 */
  unsigned n_carved;
  unsigned class_index;
} RetiredSlab;

/* Sets a function that sees each such slab while its chunks are still as they
 * were freed, and one that sees memory before it becomes a slab or anything
 * else: `bytes' from `start' on.  The tags there are 0 where the memory was
 * purged, else as the last user left them.  Once, before the first slab. */
typedef void (*SlabRetired) (const RetiredSlab *slab);
typedef void (*MemoryTaken) (char *start, size_t bytes);
void sli_slab_watch (SlabRetired retired, MemoryTaken taken);

/* Calls `visit' for all memory that is free and was not purged, under the page
 * lock. */
typedef void (*FreeVisit) (char *start, size_t bytes, void *data);
void sli_slab_each_free (FreeVisit visit, void *data);

/* Purges pages that have been free for max_age_msec: at most max_regions idle
 * regions, or free granules of as many others.  Returns the bytes purged.  The
 * caller holds no lock. */
size_t sli_slab_trim (uint64_t max_age_msec, unsigned max_regions);
/* The bytes that were returned to the system since the start: by trims, and
 * where too many regions became idle. */
size_t sli_slab_returned_bytes (void);
/* Counts the granules that took memory from the system; wraps around. */
uint32_t sli_slab_n_fresh (void);

/* The results of sli_slab_lookup(). */
typedef enum
{
  CHUNK_FOREIGN,      /* in none of our regions */
  CHUNK_NONE,         /* in a region, but in no chunk */
  CHUNK_INTERIOR,     /* inside a chunk, not at its start */
  CHUNK_UNCARVED,     /* never allocated since the slab was initialised */
  CHUNK_FREE,         /* free in its slab */
  CHUNK_OUT           /* out of its slab */
} ChunkState;

typedef struct ChunkInfo
{
  ChunkState state;
  unsigned class_index; /* 0 if FOREIGN or NONE */
  void *start;          /* of the chunk; NULL if FOREIGN or NONE */
  uint16_t tag;         /* 0 in modes without tags */
} ChunkInfo;

/* Looks up any address, whatever other threads do meanwhile.  Takes the page
 * lock, so that nothing is unmapped. */
void sli_slab_lookup (const void *address, ChunkInfo *info);

/* What the layer counts, for one class. */
typedef struct
{
  uint64_t n_slabs;      /* now */
  uint64_t n_out;        /* chunks out of their slabs, now */
  uint64_t n_locks;      /* acquisitions of the lock, ever */
  uint64_t n_allocs;     /* chunks allocated, ever */
  uint64_t n_made;       /* slabs initialised, ever */
  uint64_t n_freed;      /* slabs freed, ever */
} SlabCounts;

/* Counts chunks by walking all slabs: n_out of every class. */
void sli_slab_count_all (SlabCounts counts[N_CLASSES]);
/* Bytes of the class's slabs, without a lock. */
size_t sli_slab_held_bytes (unsigned class_index);

/* Returns true if S1 to S4 of design chapter 10 hold for a class.  Takes the
 * lock. */
bool sli_slab_is_valid (unsigned class_index);
/* The id of an invariant that does not hold, and where; or NULL. */
const char *sli_slab_check (unsigned class_index, const void **where);

/* The same for S6 and all classes; wrong while other threads are at work. */
const char *sli_slab_check_full (const void **where);

/* Calls `visit` for every slab, under the page lock. */
typedef void (*SlabVisit) (void *run, unsigned class_index, void *data);
void sli_slab_each (SlabVisit visit, void *data);
/* Looks up a chunk of a slab by its number.  Returns how many chunks the slab
 * has, 0 if there is no slab at `run`. */
unsigned sli_slab_chunk (const void *run, unsigned index, ChunkInfo *info);
/* The same with the page lock held, as in a visit of sli_slab_each(). */
unsigned sli_slab_chunk_locked (const void *run, unsigned index,
                                ChunkInfo *info);

/* For fork.c: a class's lock, or NULL if the class was not used; and the one
 * that is held while a class is made, of the same rank. */
Lock *sli_slab_lock (unsigned class_index);
Lock *sli_slab_make_lock (void);

#endif
