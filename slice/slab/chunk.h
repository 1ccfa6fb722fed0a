/* chunk.h - the header of a slab, and how an address leads to a chunk
 *
 * Layer: slab.  Also used by the checking modes, alloc, the heap and contexts,
 * which look up chunks inline (tests/source/check-layers.sh lists them).
 * Design: chapter 4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_SLAB_CHUNK_H
#define SLI_SLAB_CHUNK_H

#include "page/map/extent-cache.h"
#include "page/meta.h"
#include "page/page.h"
#include "page/region.h"
#include "slab.h"
#include "base/check.h"
#include "base/errors.h"
#include "base/sizeclass.h"
#include "port/compiler.h"

enum
{
  BITS_PER_WORD = 64
};

typedef enum
{
  SLAB_NONE = 0,  /* the record is not that of a slab */
  SLAB_PARTIAL,   /* has chunks that are free or not carved; in a ring (S1) */
  SLAB_FULL,      /* has no such chunk; in no ring (S6) */
  SLAB_HEAP_MEDIUM, /* no slab: larger blocks of the heap (heap/heap.h) */
  SLAB_HEAP_RUN     /* no slab: one block of the heap */
} SlabState;

/* The header of a slab: the record of the run's first granule, 64 bytes.
 *
 *   run:  | colour | chunk 0 | chunk 1 | ... | not carved ... | spare |
 *                  ^                          ^
 *                  first_offset               n_carved
 *
 * The bit of a chunk is 1 while it is free in the slab.  Chunks from n_carved
 * on were never allocated, and their bits are 0 (S2). */
typedef struct
{
  Link link;             /* in a ring of its class; under the class lock */
  uint64_t *words;       /* the bitmap: own_words, or at the slab's end */
  uint32_t first_offset; /* of chunk 0 in the run: the colour */
  uint16_t class_index;  /* 0: no slab; read without the lock */
  uint16_t n_carved;     /* written under the lock, read without */
  uint8_t state;         /* a SlabState; written under the lock */
  uint8_t ring;          /* its number; under the lock */
  bool is_zero : 1;      /* the heap: memory not carved reads as zero */
  bool is_guarded : 1;   /* a guard granule is behind the slab */
  uint8_t claim;         /* the shard that has claimed it (slab-class.h); under
                            the lock */
  uint16_t last_allocator; /* the tag of the thread that allocated from it last
                              (a hint) */
  uint16_t needed_stamp; /* when one of its chunks was last needed
                            (slab-class.h); a hint, read and written without
                            the lock */
  uint64_t own_words[SLAB_INLINE_WORDS];
} Slab;

SLICE_STATIC_ASSERT (sizeof (Slab) <= RUN_RECORD_BYTES,
                     "a slab's header fits in a run's record");
SLICE_STATIC_ASSERT (offsetof (Slab, class_index) >= META_RECORD_BYTES,
                     "a run of metadata is never taken for a slab");

/* The result of chunk_find(). */
typedef struct
{
  ChunkState state;    /* CHUNK_OUT stands for CHUNK_FREE too */
  Slab *slab;          /* NULL: the address is in no chunk */
  char *run;           /* of the address; NULL: none */
  unsigned index;      /* of the chunk in its slab */
} ChunkRef;

/* Looks up an address.  No other code decides whether it is a chunk's. */
COMMON_TEXT static ALWAYS_INLINE void
chunk_find (const void *address, ChunkRef *ref)
{
  const SizeClass *sizeclass;
  unsigned class_index;
  void *record;
  size_t offset;

  ref->slab = NULL;
  ref->index = 0;
  ref->run = region_run_of (address, &record);
  if (ref->run == NULL)
    {
      /* The first region is shorter than its window; addresses behind it are
       * foreign. */
      ref->state = sli_map_has (address) ? CHUNK_NONE : CHUNK_FOREIGN;
      return;
    }
  class_index = LOAD (&((Slab *) record)->class_index);
  ref->state = CHUNK_NONE;
  if (class_index == 0 || class_index >= N_CLASSES)
    return;
  sizeclass = &sli_sizeclasses[class_index];
  offset = (size_t) ((const char *) address - ref->run)
           - ((Slab *) record)->first_offset;
  if (offset >= (size_t) sizeclass->n_chunks * sizeclass->chunk_bytes)
    return; /* in the colour (where offset wraps), spare bytes or bitmap */
  ref->slab = record;
  ref->index = sli_sizeclass_index (sizeclass, (uint32_t) offset);
  if ((size_t) ref->index * sizeclass->chunk_bytes != offset)
    ref->state = CHUNK_INTERIOR;
  else if (ref->index >= LOAD (&ref->slab->n_carved))
    ref->state = CHUNK_UNCARVED;
  else
    ref->state = CHUNK_OUT;
}

/* Returns true if an address is in one of our regions, in a slab or not, but
 * in no run of the heap's. */
static inline bool
chunk_may_be_at (const void *address)
{
  void *record;

  return sli_map_has (address)
         && (region_run_of (address, &record) == NULL
             || LOAD (&((const Slab *) record)->state) < SLAB_HEAP_MEDIUM);
}

/* Returns true if an address is in a region that most heaps lie in, so that its
 * class can be read.  A short test; false says nothing. */
static inline bool
chunk_is_near (const void *address)
{
  return extent_cache_has_large (address);
}

/* The class of a chunk; 0 if the address is in no slab.  Reads a byte of the
 * region instead of the slab's header, which would be one more cache line. */
static inline unsigned
chunk_class_of (const void *chunk)
{
  return LIKELY (sli_map_has (chunk))
             ? region_class_of (region_of (chunk), chunk)
             : 0;
}

/* The same without a call, but 0 for addresses beyond the map's table. */
static ALWAYS_INLINE unsigned
chunk_class_near (const void *chunk)
{
  return LIKELY (sli_map_has_near (chunk))
             ? region_class_of (region_of (chunk), chunk)
             : 0;
}

/* Returns true if a chunk begins at an address in a slab of a class.  The
 * chunk may be free. */
static inline bool
chunk_begins_at (const void *address, unsigned class_index)
{
  Region *region = region_of (address);
  unsigned shift = sli_region_granule_shift;
  uint32_t offset = (uint32_t) ((uintptr_t) address - (uintptr_t) region);
  unsigned first = LOAD (&region->run_first[offset >> shift]);
  const Slab *slab = (const void *) region->records[first];

  return sli_sizeclass_is_start (&sli_sizeclasses[class_index],
                                 offset - (first << shift)
                                     - slab->first_offset);
}

/* The error to report when a chunk is freed with a class (0: any), or 0. */
static inline ErrorNumber
chunk_error (const ChunkRef *ref, unsigned class_index)
{
  switch (ref->state)
    {
    case CHUNK_FOREIGN:
      return ERROR_FOREIGN;
    case CHUNK_NONE:
      return ERROR_NO_SLAB;
    case CHUNK_INTERIOR:
      return ERROR_INTERIOR;
    case CHUNK_UNCARVED:
      return ERROR_NEVER_ALLOCATED;
    default:
      KNOWN (ref->slab != NULL);
      return class_index != 0 && ref->slab->class_index != class_index
                 ? ERROR_WRONG_SIZE
                 : (ErrorNumber) 0;
    }
}

/* The address of a chunk, by its number. */
static inline char *
slab_chunk (const Slab *slab, char *run, unsigned index)
{
  return run + slab->first_offset
         + (size_t) index * sli_sizeclasses[slab->class_index].chunk_bytes;
}

/* The tag of a chunk.  The checking modes give it a meaning; it is 0 in a new
 * slab. */
static inline uint16_t *
chunk_tag (const ChunkRef *ref)
{
  KNOWN (ref->slab != NULL);
  return region_tag_of (slab_chunk (ref->slab, ref->run, ref->index));
}

/* Whoever holds this lock (rank 20) may look for the tag of any address;
 * without it, only of one whose memory is known to stay. */
static inline Lock *
chunk_tags_lock (void)
{
  return sli_page_lock ();
}

/* Finds the tag of an address; false if no chunk can begin there.  The tag is
 * 0 if none does. */
static inline bool
chunk_has_tag (const void *address, uint16_t **tag)
{
  uintptr_t offset = (uintptr_t) address & (REGION_BYTES - 1);

  if (UNLIKELY (!sli_map_has (address))
      || UNLIKELY (offset % (1u << TAG_GRAIN_SHIFT) != 0))
    return false;
  /* The callers' modes have tags for each address that the map has (P5). */
  assert_here (offset >> (TAG_GRAIN_SHIFT - 1)
               < region_of (address)->tags_bytes);
  *tag = region_tag_of (address);
  return true;
}

#endif
