/* sizeclass.h - the classes of sizes, and how each is cut from a slab
 *
 * Layer: base.  Filled once before the first block, constant afterwards.
 * The function from size to class is frozen in slice.h (SLICE_CLASS_V1); the
 * spacing of the chunks is ours to change.  Design: chapter 4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_BASE_SIZECLASS_H
#define SLI_BASE_SIZECLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum
{
  N_CLASSES = 74,        /* class 0, of size 0, has no slabs */
  SLAB_GRANULES_MAX = 4, /* longest run of granules that a slab is cut from */
  SLAB_INLINE_WORDS = 3, /* bitmap words that fit in the slab's header */
  COLOUR_LINE_BYTES = 64 /* colours separate cache lines */
};

/* How slabs of a class are cut:
 *
 *   | colour | chunk 0 | chunk 1 | ... | chunk n-1 | spare | bitmap |
 *   |<------------------------ slab_bytes ------------------------->|
 *
 * The bitmap lies here only if it is too long for the slab's header. */
typedef struct
{
  uint32_t block_bytes;    /* largest size served */
  uint32_t chunk_bytes;    /* from chunk to chunk; a multiple of 8 */
  uint32_t slab_bytes;     /* of the run */
  uint32_t n_granules;     /* granules of the run */
  uint32_t n_chunks;
  uint32_t n_words;        /* of 64 bits, in the bitmap */
  uint32_t bitmap_offset;  /* from the slab's start; 0: in the header */
  uint32_t n_colours;      /* at least 1 */
  uint32_t colour_bytes;   /* from colour to colour */
  uint32_t reciprocal;     /* 2^32 / chunk_bytes, rounded up: see
                              sli_sizeclass_index() */
  _Alignas (64) char end[0]; /* 64 bytes: its address is a shift away */
} SizeClass;

extern SizeClass sli_sizeclasses[N_CLASSES]
    __attribute__ ((visibility ("hidden")));

/* Fills the table for granules of granule_bytes (a power of two from 16 KiB
 * on). align_16: spacings are multiples of 16.  Each call fills it again. */
void sli_sizeclass_init (size_t granule_bytes, bool align_16);

/* The largest size that a class serves: the inverse of SLICE_CLASS_V1. */
size_t sli_sizeclass_block_bytes (unsigned class_index);

/* A size rounded up to the largest of its class; 0: no class serves it.  It
 * looks from class to class, for messages. */
size_t sli_sizeclass_round (size_t size);

/* The alignment that every chunk of a class has, at most a cache line. */
size_t sli_sizeclass_alignment (unsigned class_index);

/* offset / chunk_bytes, without a division: exact for offsets below 2^18
 * (design chapter 11). */
static inline uint32_t
sli_sizeclass_index (const SizeClass *sizeclass, uint32_t offset)
{
  return (uint32_t) (((uint64_t) offset * sizeclass->reciprocal) >> 32);
}

/* Is an offset below 2^18 one of a chunk's start?  The product's low half is
 * the rest of the division, scaled: below the reciprocal it is none
 * (Lemire, Kaser & Kurz 2019, section 3.2). */
static inline bool
sli_sizeclass_is_start (const SizeClass *sizeclass, uint32_t offset)
{
  return (uint32_t) (offset * sizeclass->reciprocal) < sizeclass->reciprocal;
}

#endif
