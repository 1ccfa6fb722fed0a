/* slab-class.h - the state of a class of slabs
 *
 * Layer: slab.  Shared by slab.c, slab-free.c and slab-stats.c alone.
 * Locks: one for each class (rank 30).
 * Design: chapter 4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_SLAB_SLAB_CLASS_H
#define SLI_SLAB_SLAB_CLASS_H

#include "chunk.h"
#include "base/check.h"
#include "base/list.h"
#include "base/sizeclass.h"
#include "port/compiler.h"
#include "port/thread/lock.h"
#include "port/thread/shard.h"

enum
{
  /* Slabs with free chunks are in rings, by how many chunks are free.  Slabs
   * that shards have claimed are in a ring of their own. */
  FREE_RINGS = 4,
  CLAIMED_RING = FREE_RINGS,
  N_RINGS,
  /* Set in a slab's `claim', beside the shard's number, when the shard
   * allocates from the slab, and cleared when another shard looks for one. */
  CLAIM_USED = 0x80,
  /* A slab's `needed_stamp' counts steps of 32 ms. */
  STAMP_SHIFT = 5
};

/* The slabs of one class.  The lock protects everything. */
typedef struct
{
  _Alignas (CACHE_LINE_BYTES) Lock lock;
  Link rings[N_RINGS];    /* slabs with free chunks, fullest first, then the
                             claimed ones */
  uint32_t colour;        /* of the next slab, in steps */
  bool is_made;           /* the lock and the rings are initialised */
  uint64_t n_slabs;       /* now; read without the lock */
  uint64_t n_locks;       /* acquisitions of the lock, ever */
  uint64_t n_allocs;      /* chunks allocated, ever */
  uint64_t n_made;        /* slabs initialised, ever */
  uint64_t n_freed;       /* slabs freed, ever */
} SlabClass;

extern SlabClass sli_slab_classes[N_CLASSES]
    __attribute__ ((visibility ("hidden")));

/* A class that is not used takes no memory: it is made when it is first
 * locked.  Code that only looks leaves others alone. */
void sli_slab_class_make (SlabClass *class)
    __attribute__ ((visibility ("hidden")));

static inline bool
slab_class_is_made (const SlabClass *class)
{
  return LIKELY (LOAD_ACQUIRE (&class->is_made));
}

static inline void
slab_class_lock (SlabClass *class)
{
  if (!slab_class_is_made (class))
    sli_slab_class_make (class);
  sli_lock (&class->lock);
  class->n_locks++;
}

/* The bits of a word that stand for carved chunks. */
static inline uint64_t
carved_mask (const Slab *slab, unsigned word)
{
  unsigned n_carved = LOAD (&slab->n_carved);
  unsigned first = word * BITS_PER_WORD;

  if (n_carved >= first + BITS_PER_WORD)
    return ~(uint64_t) 0;
  return n_carved > first ? ((uint64_t) 1 << (n_carved - first)) - 1 : 0;
}

/* Chunks that are free or not carved. */
static ALWAYS_INLINE unsigned
slab_count_free (const Slab *slab, unsigned class_index)
{
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];
  unsigned n = sizeclass->n_chunks - LOAD (&slab->n_carved);

  for (unsigned i = 0; i < sizeclass->n_words; i++)
    n += COUNT_BITS (LOAD (&slab->words[i]));
  return n;
}

/* Moves a slab to a ring (S1). */
static inline void
slab_file (SlabClass *class, Slab *slab, unsigned ring)
{
  assert_held (&class->lock);
  assert_here (ring < N_RINGS && slab->class_index != 0);
  link_remove (&slab->link);
  STORE (&slab->state, (uint8_t) SLAB_PARTIAL);
  slab->ring = (uint8_t) ring;
  link_after (&slab->link, &class->rings[ring]);
}

/* When a chunk of a slab was last needed, at most a step too early.  A slab
 * that was not used for more than half an hour may seem younger. */
static inline uint64_t
slab_needed_msec (const Slab *slab, uint64_t now_msec)
{
  uint64_t now = now_msec >> STAMP_SHIFT;
  uint16_t age = (uint16_t) (now - LOAD (&slab->needed_stamp));

  return (now > age ? now - age : 0) << STAMP_SHIFT;
}

/* Notes when a chunk was last needed: a slab is as old as the youngest of its
 * chunks. */
static inline void
slab_note_needed (Slab *slab, uint64_t needed_msec, uint64_t now_msec)
{
  uint16_t stamp = (uint16_t) (needed_msec >> STAMP_SHIFT);

  if (stamp != LOAD (&slab->needed_stamp)
      && needed_msec > slab_needed_msec (slab, now_msec))
    STORE (&slab->needed_stamp, stamp);
}

/* The number of the shard that has claimed a slab of CLAIMED_RING. */
static inline unsigned
slab_claimant (const Slab *slab)
{
  return slab->claim & ~CLAIM_USED;
}

/* Returns true if S1, S2, S3, S6 and S8 hold for a slab.  The caller holds the
 * class lock. */
bool sli_slab_is_right (const Slab *slab);

/* Ends all claims, so that any shard may use the slabs. */
void sli_slab_give_up_claims (void);

/* Two addresses that are written or compared at once. */
typedef uintptr_t Pair
    __attribute__ ((vector_size (2 * sizeof (uintptr_t)),
                    aligned (sizeof (void *)), may_alias));

#endif
