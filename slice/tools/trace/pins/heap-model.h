/* heap-model.h - the pages that a recorded program's blocks keep resident
 *
 * Tools.  The model follows a trace's blocks through the address space.  It
 * knows for each page how many bytes of it are live, and whether the program
 * has had a block there since the page was last returned to the system.
 *
 *   region   256 pages; the model has one for each that a block has touched
 *   segment  what a malloc can shrink as one: glibc's main heap, or 64 MiB of
 *            the rest of the address space, where each of its other arenas'
 *            heaps lies
 *
 *   segment |##..|....|.#..|    |###.|....|....|
 *            page 0           3   4 is the last with a live block
 *                             page 3 was never used; 5 and 6 are the tail
 *
 * Which pages are returned depends on the malloc behind the program:
 *
 *   HEAP_GLIBC   cuts the tail of a segment where that is longer than its trim
 *                threshold, and unmaps large blocks.  Pages between two live
 *                blocks stay.
 *   HEAP_PURGES  returns every page without a live block, at some time:
 *                jemalloc, mimalloc, tcmalloc, slice-run --malloc, or glibc's
 *                malloc_trim (0).
 *
 * The slices, nodes and arenas of a program that uses libslice have regions of
 * their own.  Behind glibc, their pages without a live block stay until
 * slice_trim (0), which is the most that they keep; none is in a bin.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_PINS_HEAP_MODEL_H
#define SLI_TRACE_PINS_HEAP_MODEL_H

#include "heap-bins.h"
#include "tools/trace/common/table.h"
#include "tools/trace/format/read/trace-read.h"

#define REGION_SHIFT 8
#define REGION_PAGES (1u << REGION_SHIFT)

typedef enum
{
  HEAP_GLIBC,
  HEAP_PURGES
} HeapPolicy;

typedef struct
{
  uint64_t address, size;
  uint32_t node; /* of the stack that allocated it, or HEAP_BINNED */
  uint32_t bin;  /* of a block that is freed */
  bool is_slice; /* in pages of slices */
} HeapBlock;

/* A freed block in one of malloc's bins, which belongs to no site. */
#define HEAP_BINNED UINT32_MAX

typedef struct
{
  uint64_t number; /* first address, in regions */
  uint32_t live[REGION_PAGES];
  bool touched[REGION_PAGES];
  bool has_slices;
} HeapRegion;

typedef struct
{
  HeapPolicy policy;
  unsigned page_shift;
  uint64_t main_low; /* glibc's main heap, which begins behind the program */
  uint64_t main_high;
  uint64_t mmap_threshold_bytes, trim_threshold_bytes; /* glibc adapts both */
  uint64_t live_bytes;

  HeapBlock *blocks; /* an entry of address 0 is free; its size is the index
                        of the next free one */
  uint32_t n_blocks, n_capacity, first_free;
  Table live; /* from address to the block's index plus 1, also if binned */
  HeapBins bins;
  uint64_t *thread_ends; /* by thread: ticks of its last event */
  uint32_t n_threads;    /* highest number */

  HeapRegion **regions; /* by address, once sli_heap_settle() has sorted */
  size_t n_regions, n_regions_capacity;
  HeapRegion **unsorted; /* the regions in the order in which they came */
  Table region_of;       /* by number: the index in `unsorted' plus 1 */
} HeapModel;

/* Makes a model; reads the trace once, for the ends of threads. */
HeapModel *sli_heap_new (TraceReader *reader, HeapPolicy policy);
void sli_heap_free (HeapModel *heap);
/* The policy of the malloc that the recorded program has loaded. */
HeapPolicy sli_heap_policy (const TraceReader *reader);

void sli_heap_event (HeapModel *heap, const TraceEvent *event);
/* The live and the binned blocks by address; freed by the caller. */
HeapBlock *sli_heap_live (const HeapModel *heap, uint32_t *n);
/* Flushes the tcaches of threads that have ended. */
void sli_heap_tcaches_flush (HeapModel *heap, uint64_t ticks);

/* --- heap-segments.c --- */

/* Drops the pages that the malloc has returned by now, and returns the bytes
 * of the others. */
uint64_t sli_heap_settle (HeapModel *heap, uint64_t ticks);

/* Regions with the same number are of one segment; one of slices has none of
 * malloc's. */
uint64_t sli_heap_segment_number (const HeapModel *heap,
                                  const HeapRegion *region);
/* The bytes that would stay resident if just these blocks, ordered by address,
 * were live. */
uint64_t sli_heap_resident (const HeapModel *heap, const HeapBlock *blocks,
                            uint32_t n);
/* The region of a page, or NULL. */
const HeapRegion *sli_heap_region (const HeapModel *heap, uint64_t page);
/* The first and the last page of a block, with its malloc's header. */
uint64_t sli_heap_first_page (const HeapModel *heap, const HeapBlock *block);
uint64_t sli_heap_last_page (const HeapModel *heap, const HeapBlock *block);

#endif
