/* chunk.h - a slab's header, and where in it a chunk is
 *
 * Layer: slab.  slab.c's own, and inline for the checking modes, which
 * look every chunk up.  Design: chapter 4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_SLAB_CHUNK_H
#define SLI_SLAB_CHUNK_H

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
  SLAB_NONE = 0,  /* this record is no slab's */
  SLAB_PARTIAL,   /* has free or uncarved chunks, and is in a ring */
  SLAB_FULL       /* has none, and is in no ring */
} SlabState;

/* The header: the record of the run's first granule, 64 bytes.
 *
 * A chunk's bit is 1 while it is free in the slab.  Chunks from `n_carved` on
 * were never handed out and their bits are 0. */
typedef struct
{
  Link link;             /* in a ring of its class; the lock's */
  uint64_t *words;       /* the bitmap: here or at the slab's end */
  uint32_t first_offset; /* of chunk 0 in the run: the colour */
  uint16_t class_index;  /* 0: no slab; read without the lock */
  uint16_t n_carved;     /* written under the lock, read without */
  uint8_t state;         /* a SlabState; the lock's */
  uint8_t ring;          /* which; the lock's */
  bool is_zero : 1;      /* what is not carved yet reads as zero */
  bool is_guarded : 1;   /* a granule behind it is a guard */
  uint16_t last_allocator; /* of the thread that took from it last (a hint) */
  uint64_t own_words[SLAB_INLINE_WORDS];
} Slab;

SLICE_STATIC_ASSERT (sizeof (Slab) <= RUN_RECORD_BYTES,
                     "a slab's header fits in a run's record");
SLICE_STATIC_ASSERT (offsetof (Slab, class_index) >= META_RECORD_BYTES,
                     "a run of metadata is never taken for a slab");

/* Where a chunk is. */
typedef struct
{
  ChunkState state;    /* CHUNK_OUT also stands for CHUNK_FREE here */
  Slab *slab;
  char *run;
  unsigned index;
} ChunkRef;

/* The one place that knows what must be true of a chunk's address. */
COMMON_TEXT static ALWAYS_INLINE void
chunk_find (const void *address, ChunkRef *place)
{
  const SizeClass *sizeclass;
  unsigned class_index;
  void *record;
  size_t offset;

  place->slab = NULL;
  place->index = 0;
  place->run = region_run_of (address, &record);
  if (place->run == NULL)
    {
      /* The first region is shorter than its window: what lies in the rest
       * is not ours. */
      place->state = sli_page_is_ours (address) ? CHUNK_NONE : CHUNK_FOREIGN;
      return;
    }
  class_index = LOAD (&((Slab *) record)->class_index);
  place->state = CHUNK_NONE;
  if (class_index == 0 || class_index >= N_CLASSES)
    return;
  sizeclass = &sli_sizeclasses[class_index];
  offset = (size_t) ((const char *) address - place->run)
           - ((Slab *) record)->first_offset;
  if (offset >= (size_t) sizeclass->n_chunks * sizeclass->chunk_bytes)
    return; /* in the colour (it wraps), the spare bytes or the bitmap */
  place->slab = record;
  place->index = sli_sizeclass_index (sizeclass, (uint32_t) offset);
  if ((size_t) place->index * sizeclass->chunk_bytes != offset)
    place->state = CHUNK_INTERIOR;
  else if (place->index >= LOAD (&place->slab->n_carved))
    place->state = CHUNK_UNCARVED;
  else
    place->state = CHUNK_OUT;
}

/* The class of a chunk that is known to be ours; 0 if it is not. */
static inline unsigned
chunk_class_of (const void *chunk)
{
  void *record;

  return LIKELY (region_run_of (chunk, &record) != NULL)
             ? LOAD (&((const Slab *) record)->class_index)
             : 0;
}

/* The same where its region is known to be ours. */
static inline unsigned
chunk_class_in (const Region *region, const void *chunk)
{
  unsigned first
      = LOAD (&region->run_first[region_granule_of (region, chunk)]);

  return LIKELY (first != 0)
             ? LOAD (&((const Slab *) (const void *) region->records[first])
                          ->class_index)
             : 0;
}

static inline ErrorNumber
chunk_error (const ChunkRef *place, unsigned class_index)
{
  switch (place->state)
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
      KNOWN (place->slab != NULL);
      return class_index != 0 && place->slab->class_index != class_index
                 ? ERROR_WRONG_SIZE
                 : (ErrorNumber) 0;
    }
}

/* The checking modes keep a mark for each chunk, of their own meaning; 0 since
 * the slab was cut. */
static inline uint16_t *
chunk_tag (const ChunkRef *place)
{
  KNOWN (place->slab != NULL);
  return region_tag_of (
      place->run + place->slab->first_offset
      + (size_t) place->index
            * sli_sizeclasses[place->slab->class_index].chunk_bytes);
}

/* The mark for an address, if it may be a chunk's at all; what begins no chunk
 * has 0. */
static inline bool
chunk_has_tag (const void *address, uint16_t **mark)
{
  uintptr_t offset = (uintptr_t) address & (REGION_BYTES - 1);

  if (UNLIKELY (!sli_map_has (address))
      || UNLIKELY (offset % (1u << TAG_GRAIN_SHIFT) != 0)
      || UNLIKELY (offset >> (TAG_GRAIN_SHIFT - 1)
                   >= region_of (address)->tags_bytes))
    return false;
  *mark = region_tag_of (address);
  return true;
}

#endif
