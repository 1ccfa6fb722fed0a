/* slab.h - chunks of one class, cut from runs
 *
 * Layer: slab.  Above: depot, and alloc where blocks pass the magazines by
 * (dispatch.c, batch.c); below: page.
 * Locks: one a class (rank 30).
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
#include "port/lock.h"

/* Readies this floor and those below; once, after the options are frozen. */
void sli_slab_init (void);

/* Takes up to n chunks of a class.  They are written below `end`, so that
 * end[-1] is written first and the last one lies at end[-result]; addresses
 * fall from end[-1] on within a slab, so that a magazine filled with them
 * pops in rising order.  Returns how many; 0: no memory.
 * May map: the caller holds no lock of rank 30 or less. */
unsigned sli_slab_alloc (unsigned class_index, unsigned n, void **end);

/* Takes up to n neighbouring chunks that read as zero, if there are any at
 * hand; returns how many, *first is the lowest. */
unsigned sli_slab_alloc_zero (unsigned class_index, unsigned n, void **first);

/* Gives chunks back that must be of class class_index (0: of any).  The
 * first that is no chunk out of its slab is misuse: the program ends with a
 * message that names `operation`. */
void sli_slab_free (unsigned class_index, unsigned n, void *const *chunks,
                    const char *operation);
/* The same for chunks that were last needed at since_msec: what becomes free
 * by that is as old. */
void sli_slab_free_old (unsigned class_index, unsigned n, void *const *chunks,
                        uint64_t since_msec, const char *operation);

/* Gives pages back that have been free for max_age_msec: at most max_regions
 * regions, idle ones or free granules of others.  Returns bytes.  No lock
 * held. */
size_t sli_slab_trim (uint64_t max_age_msec, unsigned max_regions);

/* What sli_slab_lookup() found. */
typedef enum
{
  CHUNK_FOREIGN,      /* in none of our regions */
  CHUNK_NONE,         /* in ours, in no slab's chunks */
  CHUNK_INTERIOR,     /* inside a chunk, not at its start */
  CHUNK_UNCARVED,     /* never handed out since the slab was cut */
  CHUNK_FREE,         /* free in its slab */
  CHUNK_OUT           /* out of its slab */
} ChunkState;

typedef struct ChunkInfo
{
  ChunkState state;
  unsigned class_index; /* 0 if FOREIGN or NONE */
  void *start;          /* the chunk's; NULL if FOREIGN or NONE */
  uint16_t mark;        /* in a mode that keeps marks; else 0 */
} ChunkInfo;

/* Is an address in a region of ours, in a slab or not? */
bool sli_slab_is_ours (const void *address);
/* Of any address, whatever others do meanwhile: under the page lock, so that
 * what is read stays mapped. */
void sli_slab_lookup (const void *address, ChunkInfo *info);
/* The class of a chunk that is known to be ours; 0 if it is not. */
unsigned sli_slab_class_of (const void *chunk);

/* What the floor counts, for one class. */
typedef struct
{
  uint64_t n_slabs;      /* now */
  uint64_t n_out;        /* chunks out of their slabs, now */
  uint64_t n_locks;      /* acquisitions of the lock */
  uint64_t n_taken;      /* chunks taken, ever */
  uint64_t n_made;       /* slabs made and freed, ever */
  uint64_t n_freed;
} SlabCounts;

/* Counts chunks by walking all slabs: n_out of every class. */
void sli_slab_count_all (SlabCounts counts[N_CLASSES]);
/* Bytes of the class's slabs, without a lock. */
size_t sli_slab_held_bytes (unsigned class_index);

/* Are all invariants of a class's slabs true?  Takes the lock. */
bool sli_slab_is_valid (unsigned class_index);
/* The id of one that is not (S1 to S4 of design chapter 10), and where. */
const char *sli_slab_check (unsigned class_index, const void **where);

/* S6, of all classes' slabs; threads at work may make it say nonsense. */
const char *sli_slab_check_full (const void **where);

/* Calls `visit` for every slab, under the page lock. */
typedef void (*SlabVisit) (void *run, unsigned class_index, void *data);
void sli_slab_each (SlabVisit visit, void *data);
/* Looks one chunk of a slab up, by its number; returns how many there are, 0
 * if no slab is at `run`. */
unsigned sli_slab_chunk (const void *run, unsigned index, ChunkInfo *info);
/* The same with the page lock held, as in a visit of sli_slab_each(). */
unsigned sli_slab_chunk_locked (const void *run, unsigned index,
                                ChunkInfo *info);

/* For fork.c. */
Lock *sli_slab_lock (unsigned class_index);

#endif
