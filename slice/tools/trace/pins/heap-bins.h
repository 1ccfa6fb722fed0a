/* heap-bins.h - freed blocks that glibc's malloc keeps as they are
 *
 * Tools.  Two kinds of bins hold blocks that the program has freed, and keep
 * the pages below them from being returned:
 *
 *   tcache     up to 7 blocks of each size up to 1032 bytes, for each thread,
 *              until the thread ends
 *   fast bins  of each arena, for chunks up to 128 bytes, until the arena
 *              consolidates: at an allocation too large for the tcache, or at
 *              a free that leaves 64 KiB in one piece
 *
 * A bin's block counts as live in its pages, but belongs to no site.
 * (glibc 2.26 to 2.42, malloc/malloc.c: tcache_put(), _int_free(),
 * malloc_consolidate().)
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_PINS_HEAP_BINS_H
#define SLI_TRACE_PINS_HEAP_BINS_H

#include "tools/trace/common/table.h"
#include <stdbool.h>

#define TCACHE_SIZES 64
#define TCACHE_BLOCKS 7
#define TCACHE_BYTES_MAX 1032
#define FAST_BYTES_MAX 120

/* The bin of a freed block: none, fast bins, or BIN_TCACHE + i for thread i's
 * tcache. */
enum
{
  BIN_NONE,
  BIN_FAST,
  BIN_TCACHE
};

/* The fast bins of one segment. */
typedef struct
{
  uint64_t segment;
  uint64_t *addresses; /* some may have left */
  size_t n, capacity;
} FastBins;

typedef struct
{
  uint8_t (*tcache)[TCACHE_SIZES]; /* by thread: blocks of each size */
  uint32_t n_threads;
  FastBins *fast;
  size_t n_fast;
} HeapBins;

void sli_bins_free (HeapBins *bins);
/* The bin for a block that is freed: BIN_NONE if no bin takes it.
 *
 * segment  the number of the block's */
uint32_t sli_bins_put (HeapBins *bins, uint32_t thread, uint64_t segment,
                       uint64_t address, uint64_t size);
/* Removes a block from its bin. */
void sli_bins_take (HeapBins *bins, uint32_t bin, uint64_t size);
/* The fast bins of a segment, or NULL. */
FastBins *sli_bins_fast (const HeapBins *bins, uint64_t segment);

#endif
