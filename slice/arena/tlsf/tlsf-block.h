/* tlsf-block.h - a block of a TLSF heap, and how large it is
 *
 * Layer: arena: below tlsf.h.
 *
 * Design: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_TLSF_TLSF_BLOCK_H
#define SLI_ARENA_TLSF_TLSF_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/align.h"

/* A stride is a block's size with its header, a multiple of 16.  Below 1024
 * each stride has its own list; above, each power of two is cut in 32.  So a
 * free block is at most 1/32 larger than the smallest one of its list. */
#define TLSF_UNIT_BITS 4
#define TLSF_UNIT_BYTES ((size_t) 1 << TLSF_UNIT_BITS)
#define TLSF_COLUMN_BITS 5
#define TLSF_N_COLUMNS (1 << TLSF_COLUMN_BITS)
#define TLSF_ROW0_BITS (TLSF_UNIT_BITS + TLSF_COLUMN_BITS)

/* Rows for strides up to 2^40. */
#define TLSF_STRIDE_BITS_MAX 40
#define TLSF_N_ROWS_MAX (TLSF_STRIDE_BITS_MAX - TLSF_ROW0_BITS + 1)
#define TLSF_N_LISTS_MAX (TLSF_N_ROWS_MAX * TLSF_N_COLUMNS)

/* A bit for each list, in words of two rows. */
#define TLSF_MAP_BITS 64
#define TLSF_N_MAPS_MAX (TLSF_N_LISTS_MAX / TLSF_MAP_BITS)

/* The first word of the maps is for strides below this, of which each has its
 * own list. */
#define TLSF_EXACT_BELOW ((size_t) TLSF_MAP_BITS << TLSF_UNIT_BITS)

/* A block of a region; the object starts at `links`:
 *
 *           +--------+----------------- ... -------------+--------+
 *   live:   | stride | object                                     |
 *           +--------+------------- ... ---------+-------+--------+
 *   checked | stride | object           | fill   | size  | guard  |
 *           +--------+------+------+--- ... -------------+--------+
 *   free:   | stride | next | prev |                     | start  |
 *           +--------+------+------+--- ... -------------+--------+
 *
 * The low bits of the stride say whether the block is free and whether the one
 * before it is.  Only if the one before it is free, its last word points to
 * its start.  The high bits are the heap's tag in a live block and in the end
 * of a region, and 0 in a free block.  A reset changes it.  So an object of
 * another heap, or from before the reset, has no valid header, and an overrun
 * rarely leaves one.  Objects are aligned to 16,
 * so blocks start 8 below. */
typedef struct TlsfBlock TlsfBlock;
struct TlsfBlock
{
  size_t stride_and_bits;
  TlsfBlock *next; /* in its list; free blocks only */
  TlsfBlock *prev;
};

#define BLOCK_FREE ((size_t) 1)
#define BLOCK_BEFORE_FREE ((size_t) 2)
#define BLOCK_BITS ((size_t) 3)
/* Sizes of 32 bits have no bits to spare for a tag. */
#define BLOCK_TAG_SHIFT 44
#define BLOCK_TAG_MASK                                                        \
 (sizeof (size_t) == 8 ? ~(size_t) 0 << BLOCK_TAG_SHIFT % SIZE_BITS           \
                       : (size_t) 0)
#define SIZE_BITS (8 * sizeof (size_t))
#define BLOCK_HEAD_BYTES sizeof (size_t)
/* Header, two links and the last word. */
#define BLOCK_STRIDE_MIN ((size_t) 32)

/* The end of a live block of a checked heap. */
typedef struct
{
  size_t size;  /* requested */
  size_t guard; /* depends on it and on the address */
} TlsfBlockTail;

enum
{
  BLOCK_FILL = 0xfb /* between an object and its tail */
};

/* --- steps --------------------------------------------------------------- */

/* A step reads a block's header, a list or a bitmap word.  The worst-case test
 * builds these files with TLSF_COUNT_STEPS. */
#ifdef TLSF_COUNT_STEPS
extern unsigned sli_tlsf_n_steps;
# define TLSF_STEP() (sli_tlsf_n_steps++)
#else
# define TLSF_STEP() ((void) 0)
#endif

/* --- blocks -------------------------------------------------------------- */

static inline size_t
tlsf_block_stride (const TlsfBlock *block)
{
  TLSF_STEP ();
  return block->stride_and_bits & ~(BLOCK_BITS | BLOCK_TAG_MASK);
}

static inline bool
tlsf_block_is_free (const TlsfBlock *block)
{
  return (block->stride_and_bits & BLOCK_FREE) != 0;
}

static inline bool
tlsf_block_before_is_free (const TlsfBlock *block)
{
  return (block->stride_and_bits & BLOCK_BEFORE_FREE) != 0;
}

static inline TlsfBlock *
tlsf_block_at (const void *start, size_t offset)
{
  return (TlsfBlock *) ((uintptr_t) start + offset);
}

/* The word that ends the block before. */
static inline TlsfBlock **
tlsf_block_before_word (TlsfBlock *block)
{
  return (TlsfBlock **) (void *) ((char *) block - sizeof (TlsfBlock *));
}

static inline char *
tlsf_block_object (const TlsfBlock *block)
{
  return (char *) (uintptr_t) block + BLOCK_HEAD_BYTES;
}

static inline TlsfBlock *
object_block (const void *object)
{
  return (TlsfBlock *) ((uintptr_t) object - BLOCK_HEAD_BYTES);
}

/* --- sizes --------------------------------------------------------------- */

/* The stride of an object of `size' bytes, gaps included. */
static inline size_t
sli_tlsf_stride_of (size_t size)
{
  size_t stride = align_up (size + BLOCK_HEAD_BYTES, TLSF_UNIT_BYTES);

  return stride < BLOCK_STRIDE_MIN ? BLOCK_STRIDE_MIN : stride;
}

/* Returns true if a size is more than a quarter of the largest stride of the
 * lists, or of all addresses if these have fewer bits. */
static inline bool
sli_tlsf_is_absurd (size_t size)
{
  const unsigned bits = sizeof (size_t) * 8 < TLSF_STRIDE_BITS_MAX
                            ? (unsigned) sizeof (size_t) * 8
                            : TLSF_STRIDE_BITS_MAX;

  return size >> (bits - 2) != 0;
}

#endif
