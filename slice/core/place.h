/* place.h - a slab's header, and where in it a chunk is
 *
 * Floor 3 (slab).  slab.c's own, and inline for the checking modes, which
 * look every chunk up.  Theory: section 4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CORE_PLACE_H
#define SLI_CORE_PLACE_H

#include "region.h"
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

/* The header: the record of the run's first unit, 64 bytes.
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
  bool is_guarded : 1;   /* a unit behind it is a guard */
  uint64_t own_words[SLAB_INLINE_WORDS];
} Slab;

SLICE_STATIC_ASSERT (sizeof (Slab) <= RUN_RECORD_BYTES,
                     "a slab's header fits in a run's record");

/* Where a chunk is. */
typedef struct
{
  ChunkState state;    /* CHUNK_OUT also stands for CHUNK_FREE here */
  Slab *slab;
  char *run;
  unsigned index;
} Place;

/* The one place that knows what must be true of a chunk's address. */
static inline void
place_find (const void *address, Place *place)
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
  if ((size_t) place->index * sizeclass->chunk_bytes != offset && !SEEDED (16))
    place->state = CHUNK_INTERIOR;
  else if (place->index >= LOAD (&place->slab->n_carved))
    place->state = CHUNK_UNCARVED;
  else
    place->state = CHUNK_OUT;
}

/* The class of a chunk that is known to be ours; 0 if it is not. */
static inline unsigned
place_class_of (const void *chunk)
{
  void *record;

  return LIKELY (region_run_of (chunk, &record) != NULL)
             ? LOAD (&((const Slab *) record)->class_index)
             : 0;
}

static inline ErrorNumber
place_error (const Place *place, unsigned class_index)
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
      return class_index != 0 && place->slab->class_index != class_index
                 ? ERROR_WRONG_SIZE
                 : (ErrorNumber) 0;
    }
}

/* The checking modes keep a mark for each chunk, of their own meaning; 0 since
 * the slab was cut. */
static inline uint16_t *
place_mark (const Place *place)
{
  const SizeClass *sizeclass = &sli_sizeclasses[place->slab->class_index];

  return (uint16_t *) (void *) (place->run + sizeclass->marks_offset)
         + place->index;
}

/* The mark of a chunk of a class, if an address is one at all; false says
 * nothing but that place_find() must tell. */
static inline bool
place_live_mark (const void *chunk, unsigned class_index, uint16_t **mark)
{
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];
  Region *region = region_of (chunk);
  const Slab *slab;
  uint32_t offset, index;
  unsigned first;
  char *run;

  if (UNLIKELY (!sli_map_has (chunk)))
    return false;
  /* Of units that the region lacks the table says 0, too. */
  first = LOAD (&region->run_first[region_unit_of (region, chunk)]);
  slab = (const Slab *) (const void *) region->records[first];
  if (UNLIKELY (first == 0 || LOAD (&slab->class_index) != class_index))
    return false;
  run = region_unit (region, first);
  /* An address in the colour makes it wrap: then the index is too large. */
  offset = (uint32_t) ((const char *) chunk - run) - slab->first_offset;
  index = sli_sizeclass_index (sizeclass, offset);
  if (UNLIKELY (index >= sizeclass->n_chunks
                || !sli_sizeclass_is_start (sizeclass, offset)))
    return false;
  *mark = (uint16_t *) (void *) (run + sizeclass->marks_offset) + index;
  return true;
}

/* The same for a chunk that is known to be of a class. */
static inline uint16_t *
place_mark_of (const void *chunk, const SizeClass *sizeclass)
{
  Region *region = region_of (chunk);
  unsigned first = region->run_first[region_unit_of (region, chunk)];
  const Slab *slab = (const Slab *) (const void *) region->records[first];
  char *run = region_unit (region, first);
  size_t offset = (size_t) ((const char *) chunk - run) - slab->first_offset;

  return (uint16_t *) (void *) (run + sizeclass->marks_offset)
         + sli_sizeclass_index (sizeclass, (uint32_t) offset);
}

#endif
