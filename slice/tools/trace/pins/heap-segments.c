/* heap-segments.c - which pages of a recorded program stay resident
 *
 * Tools.  See heap-model.h.  glibc's rules are those of systrim() and
 * heap_trim() in its malloc.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "heap-model.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>

#define TOP_PAD_BYTES (UINT64_C (128) << 10)
/* The size and the alignment of the other arenas' heaps. */
#define ARENA_HEAP_BYTES (UINT64_C (64) << 20)
/* In the number of a segment of slices. */
#define SLICES_BIT (UINT64_C (1) << 63)

/* --- segments ------------------------------------------------------------ */

typedef struct
{
  size_t first, end; /* regions, by address */
  uint64_t end_page; /* behind the last touched one */
} HeapSegment;

static int
region_compare (const void *a, const void *b)
{
  const HeapRegion *const *one = a, *const *other = b;

  return ((*one)->number > (*other)->number)
         - ((*one)->number < (*other)->number);
}

static void
regions_sort (HeapModel *heap)
{
  if (heap->n_regions == 0)
    return;
  heap->regions
      = sli_tool_grow (heap->regions, heap->n_regions * sizeof *heap->regions);
  memcpy (heap->regions, heap->unsorted,
          heap->n_regions * sizeof *heap->regions);
  qsort (heap->regions, heap->n_regions, sizeof *heap->regions,
         region_compare);
}

uint64_t
sli_heap_segment_number (const HeapModel *heap, const HeapRegion *region)
{
  unsigned shift = heap->page_shift + REGION_SHIFT;
  uint64_t begin = region->number << shift;
  uint64_t end = begin + (UINT64_C (1) << shift);

  if (end > heap->main_low && begin < heap->main_high)
    return 0;
  return (end / ARENA_HEAP_BYTES + 1)
         | (region->has_slices ? SLICES_BIT : 0);
}

const HeapRegion *
sli_heap_region (const HeapModel *heap, uint64_t page)
{
  uint32_t index = table_get (&heap->region_of, page / REGION_PAGES);

  return index == 0 ? NULL : heap->unsorted[index - 1];
}

/* The page behind the last touched or live one of a region, or 0. */
static uint64_t
region_end_page (const HeapRegion *region, bool live)
{
  for (unsigned page = REGION_PAGES; page-- > 0;)
    if (live ? region->live[page] > 0 : region->touched[page])
      return region->number * REGION_PAGES + page + 1;
  return 0;
}

/* The same for a segment. */
static uint64_t
segment_end_page (const HeapModel *heap, const HeapSegment *segment, bool live)
{
  uint64_t page = 0;

  for (size_t at = segment->end; at-- > segment->first && page == 0;)
    page = region_end_page (heap->regions[at], live);
  return page;
}

/* The next segment behind *segment, which is all zero at first. */
static bool
next_segment (const HeapModel *heap, HeapSegment *segment)
{
  size_t first = segment->end;
  size_t end;

  if (first == heap->n_regions)
    return false;
  end = first + 1;
  while (end < heap->n_regions
         && sli_heap_segment_number (heap, heap->regions[end])
                == sli_heap_segment_number (heap, heap->regions[first]))
    end++;
  *segment = (HeapSegment){ .first = first, .end = end };
  segment->end_page = segment_end_page (heap, segment, false);
  return true;
}

static bool
is_of_slices (const HeapModel *heap, const HeapSegment *segment)
{
  return heap->policy == HEAP_GLIBC
         && heap->regions[segment->first]->has_slices;
}

/* The page behind the last one that stays, if live_end is the page behind the
 * last live one, or 0. */
static uint64_t
kept_end_page (const HeapModel *heap, const HeapSegment *segment,
               uint64_t live_end)
{
  uint64_t tail;

  if (live_end >= segment->end_page || is_of_slices (heap, segment))
    return segment->end_page;
  tail = (segment->end_page - live_end) << heap->page_shift;
  if (heap->policy == HEAP_GLIBC && live_end == 0)
    tail = UINT64_MAX;
  if (heap->policy == HEAP_GLIBC && tail < heap->trim_threshold_bytes)
    return segment->end_page;
  return heap->policy == HEAP_GLIBC && live_end != 0
             ? live_end + (TOP_PAD_BYTES >> heap->page_shift)
             : live_end;
}

/* --- what stays ---------------------------------------------------------- */

/* Returns how many pages stay. */
static uint64_t
region_settle (const HeapModel *heap, HeapRegion *region, uint64_t kept_end)
{
  uint64_t n = 0;

  for (unsigned page = 0; page < REGION_PAGES; page++)
    {
      if (region->number * REGION_PAGES + page >= kept_end
          || (heap->policy == HEAP_PURGES && region->live[page] == 0))
        region->touched[page] = false;
      n += region->touched[page];
    }
  return n;
}

uint64_t
sli_heap_settle (HeapModel *heap, uint64_t ticks)
{
  HeapSegment segment = { 0 };
  uint64_t n = 0;

  if (heap->policy == HEAP_GLIBC)
    sli_heap_tcaches_flush (heap, ticks);
  regions_sort (heap);
  while (next_segment (heap, &segment))
    {
      uint64_t kept_end = kept_end_page (
          heap, &segment, segment_end_page (heap, &segment, true));

      for (size_t at = segment.first; at < segment.end; at++)
        n += region_settle (heap, heap->regions[at], kept_end);
    }
  return n << heap->page_shift;
}

static uint64_t
touched_before (const HeapModel *heap, const HeapSegment *segment,
                uint64_t end_page)
{
  uint64_t n = 0;

  for (size_t at = segment->first; at < segment->end; at++)
    for (unsigned page = 0; page < REGION_PAGES; page++)
      n += heap->regions[at]->touched[page]
           && heap->regions[at]->number * REGION_PAGES + page < end_page;
  return n;
}

static uint64_t
pages_with_blocks (const HeapModel *heap, const HeapBlock *blocks, uint32_t n)
{
  uint64_t n_pages = 0, next = 0;

  for (uint32_t i = 0; i < n; i++)
    {
      uint64_t first = sli_heap_first_page (heap, &blocks[i]);
      uint64_t end = sli_heap_last_page (heap, &blocks[i]) + 1;

      if (first < next)
        first = next;
      if (end > first)
        n_pages += end - first;
      if (end > next)
        next = end;
    }
  return n_pages;
}

static uint64_t
pages_live (const HeapModel *heap, const HeapSegment *segment)
{
  uint64_t n = 0;

  for (size_t at = segment->first; at < segment->end; at++)
    for (unsigned page = 0; page < REGION_PAGES; page++)
      n += heap->regions[at]->live[page] > 0;
  return n;
}

uint64_t
sli_heap_resident (const HeapModel *heap, const HeapBlock *blocks, uint32_t n)
{
  HeapSegment segment = { 0 };
  uint64_t n_pages = 0;
  uint32_t i = 0;

  if (heap->policy == HEAP_PURGES)
    return pages_with_blocks (heap, blocks, n) << heap->page_shift;
  while (next_segment (heap, &segment))
    {
      uint64_t live_end = 0;
      uint32_t first = i;

      for (;
           i < n && sli_heap_first_page (heap, &blocks[i]) < segment.end_page;
           i++)
        live_end = sli_heap_last_page (heap, &blocks[i]) + 1;
      n_pages += touched_before (heap, &segment,
                                 kept_end_page (heap, &segment, live_end));
      /* Pages that lose their last block go, at slice_trim (0). */
      if (is_of_slices (heap, &segment))
        n_pages -= pages_live (heap, &segment)
                   - pages_with_blocks (heap, blocks + first, i - first);
    }
  return n_pages << heap->page_shift;
}
