/* heap-model.c - the pages that a recorded program's blocks keep resident
 *
 * Tools.  See heap-model.h; heap-segments.c says which pages stay.  The mmap
 * threshold moves as in free() of glibc's malloc.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "heap-model.h"
#include "tools/trace/common/tool.h"
#include <slice/slice.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 16
#define MMAP_THRESHOLD_BYTES (UINT64_C (128) << 10)
#define MMAP_THRESHOLD_MAX_BYTES (UINT64_C (32) << 20)
/* The greatest distance from the program at which the kernel places its main
 * heap. */
#define MAIN_HEAP_SPAN (UINT64_C (1) << 38)
#define CONSOLIDATE_BYTES (UINT64_C (64) << 10)
#define NO_BLOCK UINT32_MAX

/* --- which malloc -------------------------------------------------------- */

HeapPolicy
sli_heap_policy (const TraceReader *reader)
{
  static const char *const purging[]
      = { "jemalloc", "mimalloc", "tcmalloc", "snmalloc", "libslice-malloc" };

  for (size_t i = 0; i < reader->n_modules; i++)
    for (size_t name = 0; name < sizeof purging / sizeof *purging; name++)
      if (strstr (reader->modules[i].path, purging[name]) != NULL)
        return HEAP_PURGES;
  return HEAP_GLIBC;
}

/* Reads the ticks of each thread's last event, at which its tcache is flushed.
 * The first thread's tcache never is. */
static uint64_t *
thread_ends_read (TraceReader *reader)
{
  uint64_t *ends
      = sli_tool_zero (((size_t) reader->n_threads + 2) * sizeof *ends);
  TraceEvent event;

  sli_trace_rewind (reader);
  while (sli_trace_next (reader, &event))
    if (event.thread <= reader->n_threads)
      ends[event.thread] = event.ticks;
  for (uint32_t thread = 0; thread <= 1 && thread <= reader->n_threads;
       thread++)
    ends[thread] = UINT64_MAX;
  return ends;
}

HeapModel *
sli_heap_new (TraceReader *reader, HeapPolicy policy)
{
  HeapModel *heap = sli_tool_zero (sizeof *heap);
  uint32_t page_bytes;
  uint64_t low = UINT64_MAX, high = 0;

  heap->policy = policy;
  page_bytes = reader->head.page_bytes;
  heap->page_shift
      = page_bytes == 0 ? 12 : (unsigned) __builtin_ctz (page_bytes);
  heap->mmap_threshold_bytes = MMAP_THRESHOLD_BYTES;
  heap->trim_threshold_bytes = MMAP_THRESHOLD_BYTES;
  heap->first_free = NO_BLOCK;
  heap->n_threads = reader->n_threads;
  if (policy == HEAP_GLIBC)
    heap->thread_ends = thread_ends_read (reader);
  for (size_t i = 0; i < reader->n_modules; i++)
    if (reader->modules[i].low < low)
      {
        low = reader->modules[i].low;
        high = reader->modules[i].high;
      }
  heap->main_low = high;
  heap->main_high = high + MAIN_HEAP_SPAN;
  return heap;
}

void
sli_heap_free (HeapModel *heap)
{
  for (size_t i = 0; i < heap->n_regions; i++)
    free (heap->unsorted[i]);
  free (heap->unsorted);
  free (heap->regions);
  free (heap->blocks);
  sli_table_free (&heap->region_of);
  sli_table_free (&heap->live);
  sli_bins_free (&heap->bins);
  free (heap->thread_ends);
  free (heap);
}

/* --- pages --------------------------------------------------------------- */

static bool
in_main_heap (const HeapModel *heap, uint64_t address)
{
  return address >= heap->main_low && address < heap->main_high;
}

/* Returns true if glibc's malloc has a block. */
static bool
is_glibcs (const HeapModel *heap, const HeapBlock *block)
{
  return heap->policy == HEAP_GLIBC && !block->is_slice;
}

static uint64_t
block_begin (const HeapModel *heap, const HeapBlock *block)
{
  return block->address - (is_glibcs (heap, block) ? HEADER_BYTES : 0);
}

/* The address behind a block; a block of 0 bytes counts as 1. */
static uint64_t
block_end (const HeapBlock *block)
{
  return block->address + (block->size == 0 ? 1 : block->size);
}

uint64_t
sli_heap_first_page (const HeapModel *heap, const HeapBlock *block)
{
  return block_begin (heap, block) >> heap->page_shift;
}

uint64_t
sli_heap_last_page (const HeapModel *heap, const HeapBlock *block)
{
  return (block_end (block) - 1) >> heap->page_shift;
}

static HeapRegion *
region_get (HeapModel *heap, uint64_t number)
{
  uint32_t *index = sli_table_add (&heap->region_of, number);
  HeapRegion *region;

  if (*index != 0)
    return heap->unsorted[*index - 1];
  if (heap->n_regions == heap->n_regions_capacity)
    {
      heap->n_regions_capacity = 2 * heap->n_regions_capacity + 64;
      heap->unsorted = sli_tool_grow (
          heap->unsorted, heap->n_regions_capacity * sizeof *heap->unsorted);
    }
  region = sli_tool_zero (sizeof *region);
  region->number = number;
  heap->unsorted[heap->n_regions++] = region;
  *index = (uint32_t) heap->n_regions;
  return region;
}

typedef enum
{
  PAGES_ALLOCATED,
  PAGES_FREED,
  PAGES_UNMAPPED
} PagesChange;

static void
page_change (HeapRegion *region, unsigned page, uint64_t n_bytes,
             PagesChange change)
{
  if (change == PAGES_ALLOCATED)
    {
      region->live[page] += (uint32_t) n_bytes;
      region->touched[page] = true;
      return;
    }
  region->live[page] -= (uint32_t) n_bytes;
  if (change == PAGES_UNMAPPED && region->live[page] == 0)
    region->touched[page] = false;
}

static void
pages_change (HeapModel *heap, const HeapBlock *block, PagesChange change)
{
  uint64_t at = block_begin (heap, block), end = block_end (block);
  HeapRegion *region = NULL;

  while (at < end)
    {
      uint64_t page = at >> heap->page_shift;
      uint64_t next = (page + 1) << heap->page_shift;

      if (region == NULL || region->number != page / REGION_PAGES)
        region = region_get (heap, page / REGION_PAGES);
      region->has_slices |= block->is_slice;
      page_change (region, page % REGION_PAGES, (next < end ? next : end) - at,
                   change);
      at = next;
    }
}

/* --- events -------------------------------------------------------------- */

/* glibc maps a block alone if it is large: it begins behind a header at the
 * mapping's start. */
static bool
is_mapped_alone (const HeapModel *heap, const HeapBlock *block)
{
  const uint64_t page_bytes = UINT64_C (1) << heap->page_shift;

  return is_glibcs (heap, block) && !in_main_heap (heap, block->address)
         && (block->address & (page_bytes - 1)) == HEADER_BYTES
         && block->size + HEADER_BYTES >= MMAP_THRESHOLD_BYTES;
}

static void
threshold_move (HeapModel *heap, const HeapBlock *block)
{
  uint64_t n_bytes = block->size + HEADER_BYTES;

  if (n_bytes <= heap->mmap_threshold_bytes
      || n_bytes > MMAP_THRESHOLD_MAX_BYTES)
    return;
  heap->mmap_threshold_bytes = n_bytes;
  heap->trim_threshold_bytes = 2 * n_bytes;
}

/* Removes a block from its pages. */
static void
block_drop (HeapModel *heap, uint32_t index, PagesChange change)
{
  HeapBlock *block = &heap->blocks[index];

  pages_change (heap, block, change);
  sli_table_remove (&heap->live, block->address);
  *block = (HeapBlock){ .size = heap->first_free };
  heap->first_free = index;
}

static bool
page_is_free (const HeapModel *heap, uint64_t page)
{
  const HeapRegion *region = sli_heap_region (heap, page);

  return region != NULL && region->live[page % REGION_PAGES] == 0
         && region->touched[page % REGION_PAGES];
}

/* Returns true if a page is in a gap so large that glibc consolidates. */
static bool
is_in_large_gap (const HeapModel *heap, uint64_t page)
{
  uint64_t wanted = (CONSOLIDATE_BYTES >> heap->page_shift) + 1, n = 1;

  if (!page_is_free (heap, page))
    return false;
  for (uint64_t at = page + 1; n < wanted && page_is_free (heap, at); at++)
    n++;
  for (uint64_t at = page - 1; n < wanted && page_is_free (heap, at); at--)
    n++;
  return n >= wanted;
}

static uint64_t
segment_of (const HeapModel *heap, uint64_t address)
{
  return sli_heap_segment_number (
      heap, sli_heap_region (heap, address >> heap->page_shift));
}

static void
fast_consolidate (HeapModel *heap, uint64_t address)
{
  FastBins *fast = sli_bins_fast (&heap->bins, segment_of (heap, address));

  for (size_t i = 0; fast != NULL && i < fast->n; i++)
    {
      uint32_t index = table_get (&heap->live, fast->addresses[i]);

      if (index != 0 && heap->blocks[index - 1].bin == BIN_FAST)
        block_drop (heap, index - 1, PAGES_FREED);
    }
  if (fast != NULL)
    fast->n = 0;
}

/* Puts a freed block into a bin; false if no bin takes it. */
static bool
block_bin (HeapModel *heap, HeapBlock *block, uint32_t thread)
{
  if (!is_glibcs (heap, block))
    return false;
  block->bin
      = sli_bins_put (&heap->bins, thread, segment_of (heap, block->address),
                      block->address, block->size);
  if (block->bin == BIN_NONE)
    return false;
  block->node = HEAP_BINNED;
  return true;
}

static void
block_free (HeapModel *heap, uint32_t index, uint32_t thread)
{
  HeapBlock *block = &heap->blocks[index];
  uint64_t address = block->address;
  bool glibcs = is_glibcs (heap, block);

  if (block->bin != BIN_NONE)
    return; /* it was freed before */
  heap->live_bytes -= block->size;
  if (is_mapped_alone (heap, block))
    {
      threshold_move (heap, block);
      block_drop (heap, index, PAGES_UNMAPPED);
    }
  else if (!block_bin (heap, block, thread))
    {
      block_drop (heap, index, PAGES_FREED);
      if (glibcs
          && is_in_large_gap (heap, address >> heap->page_shift))
        fast_consolidate (heap, address);
    }
}

static uint32_t
block_take (HeapModel *heap)
{
  uint32_t index = heap->first_free;

  if (index != NO_BLOCK)
    {
      heap->first_free = (uint32_t) heap->blocks[index].size;
      return index;
    }
  if (heap->n_blocks == heap->n_capacity)
    {
      heap->n_capacity = 2 * heap->n_capacity + 1024;
      heap->blocks = sli_tool_grow (heap->blocks,
                                    heap->n_capacity * sizeof *heap->blocks);
    }
  return heap->n_blocks++;
}

/* Removes the block at the address of a new one: it was in a bin, or its free
 * is not in the trace. */
static void
place_empty (HeapModel *heap, uint64_t address)
{
  uint32_t index = table_get (&heap->live, address);
  HeapBlock *block;

  if (index == 0)
    return;
  block = &heap->blocks[index - 1];
  if (block->bin == BIN_NONE)
    heap->live_bytes -= block->size;
  else
    sli_bins_take (&heap->bins, block->bin, block->size);
  block_drop (heap, index - 1, PAGES_FREED);
}

/* Returns true if a new block is in pages of slices.  They are in no main heap.
 * A large block is malloc's. */
static bool
is_slice (const HeapModel *heap, const TraceEvent *event)
{
  const HeapRegion *region
      = sli_heap_region (heap, event->address >> heap->page_shift);

  if (in_main_heap (heap, event->address))
    return false;
  switch (event->op)
    {
    case TRACE_OP_SLICE_ALLOC:
    case TRACE_OP_CONTEXT_ALLOC:
      return event->size <= SLICE_SIZE_MAX;
    case TRACE_OP_LINEAR_ALLOC:
    case TRACE_OP_STACK_ALLOC:
    case TRACE_OP_POOL_ALLOC:
    case TRACE_OP_TLSF_ALLOC:
      return true;
    default: /* a resize does not say of what */
      return region != NULL && region->has_slices;
    }
}

static void
block_alloc (HeapModel *heap, const TraceEvent *event)
{
  uint32_t index;
  HeapBlock *block;

  place_empty (heap, event->address);
  index = block_take (heap);
  block = &heap->blocks[index];
  *sli_table_add (&heap->live, event->address) = index + 1;
  *block = (HeapBlock){ .address = event->address,
                        .size = event->size,
                        .node = event->node,
                        .is_slice = is_slice (heap, event) };
  heap->live_bytes += event->size;
  pages_change (heap, block, PAGES_ALLOCATED);
  if (event->size > TCACHE_BYTES_MAX && is_glibcs (heap, block)
      && !is_mapped_alone (heap, block))
    fast_consolidate (heap, event->address);
}

void
sli_heap_event (HeapModel *heap, const TraceEvent *event)
{
  if (event->address < HEADER_BYTES)
    return;
  if (trace_op_is_alloc (event->op))
    block_alloc (heap, event);
  else if (trace_op_is_free (event->op))
    {
      uint32_t index = table_get (&heap->live, event->address);

      if (index != 0)
        block_free (heap, index - 1, event->thread);
    }
}

/* Flushes the tcaches of threads that have ended. */
void
sli_heap_tcaches_flush (HeapModel *heap, uint64_t ticks)
{
  for (uint32_t i = 0; i < heap->n_blocks; i++)
    {
      HeapBlock *block = &heap->blocks[i];
      uint32_t thread = block->bin - BIN_TCACHE;

      if (block->bin < BIN_TCACHE || thread > heap->n_threads
          || heap->thread_ends[thread] >= ticks)
        continue;
      sli_bins_take (&heap->bins, block->bin, block->size);
      block_drop (heap, i, PAGES_FREED);
    }
}

/* --- what is live -------------------------------------------------------- */

static int
block_compare (const void *a, const void *b)
{
  const HeapBlock *one = a, *other = b;

  return (one->address > other->address) - (one->address < other->address);
}

HeapBlock *
sli_heap_live (const HeapModel *heap, uint32_t *n)
{
  HeapBlock *live = sli_tool_alloc ((heap->n_blocks + 1) * sizeof *live);

  *n = 0;
  for (uint32_t i = 0; i < heap->n_blocks; i++)
    if (heap->blocks[i].address != 0)
      live[(*n)++] = heap->blocks[i];
  if (*n > 0)
    qsort (live, *n, sizeof *live, block_compare);
  return live;
}
