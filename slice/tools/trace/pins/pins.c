/* pins.c - which sites' blocks keep pages resident that hold little else
 *
 * Tools.  See pins.h.  SPDX-License-Identifier: MIT
 */
#include "pins.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>

/* Predictions are made for the sites that pin most. */
#define PREDICTED_SITES 20
#define PAGE_SITES 64
#define IDLE_SAMPLES 5 /* on each side of a moment that is chosen */

static uint64_t
page_bytes (const Pins *pins)
{
  return UINT64_C (1) << pins->page_shift;
}

static uint64_t
pages_round (const Pins *pins, uint64_t n_bytes)
{
  return (n_bytes + page_bytes (pins) - 1) & ~(page_bytes (pins) - 1);
}

/* --- samples ------------------------------------------------------------- */

static void
cell_take (PinsSample *sample, const HeapRegion *region)
{
  PinsCell cell = { .number = region->number };

  for (unsigned page = 0; page < REGION_PAGES; page++)
    {
      cell.resident_pages += region->touched[page];
      cell.live_bytes += region->live[page];
    }
  if (cell.resident_pages > 0)
    sample->cells[sample->n_cells++] = cell;
}

static void
sample_take (PinsSample *sample, HeapModel *heap, uint64_t ticks)
{
  sample->ticks = ticks;
  sample->live_bytes = heap->live_bytes;
  sample->resident_bytes = sli_heap_settle (heap, ticks);
  sample->cells
      = sli_tool_alloc ((heap->n_regions + 1) * sizeof *sample->cells);
  for (size_t i = 0; i < heap->n_regions; i++)
    cell_take (sample, heap->regions[i]);
}

/* The process's end, which may be long after the last event. */
static uint64_t
end_ticks (const Profile *profile)
{
  const TraceReader *reader = profile->reader;
  uint64_t last = profile->totals.last_ticks;

  return reader->has_summary && reader->summary.end_ticks > last
             ? reader->summary.end_ticks
             : last;
}

/* Sample i is taken at the end of the i-th of PINS_SAMPLES equal spans. */
static void
samples_take (Pins *pins, Profile *profile)
{
  const Totals *totals = &profile->totals;
  HeapModel *heap = sli_heap_new (profile->reader, pins->policy);
  double span = (double) (end_ticks (profile) - totals->first_ticks);
  unsigned n = 0;
  TraceEvent event;

  sli_trace_rewind (profile->reader);
  while (sli_trace_next (profile->reader, &event))
    {
      while (n < PINS_SAMPLES
             && (double) event.ticks > (double) totals->first_ticks
                                           + span * (n + 1) / PINS_SAMPLES)
        {
          sample_take (&pins->samples[n], heap,
                       totals->first_ticks
                           + (uint64_t) (span * (n + 1) / PINS_SAMPLES));
          n++;
        }
      sli_heap_event (heap, &event);
    }
  for (; n < PINS_SAMPLES; n++)
    sample_take (&pins->samples[n], heap,
                 totals->first_ticks
                     + (uint64_t) (span * (n + 1) / PINS_SAMPLES));
  sli_heap_free (heap);
}

static uint64_t
sample_pinned (const Pins *pins, unsigned i)
{
  const PinsSample *sample = &pins->samples[i];

  return sample->resident_bytes > sample->live_bytes
             ? sample->resident_bytes - sample->live_bytes
             : 0;
}

/* The bytes that are pinned all the time around a sample.  A short peak, such
 * as the frees at the program's end, is no idle point. */
static uint64_t
pinned_around (const Pins *pins, unsigned i)
{
  uint64_t least = UINT64_MAX;

  for (unsigned at = i - IDLE_SAMPLES; at <= i + IDLE_SAMPLES; at++)
    if (sample_pinned (pins, at) < least)
      least = sample_pinned (pins, at);
  return least;
}

static unsigned
moment_choose (const Pins *pins)
{
  unsigned best = IDLE_SAMPLES;

  for (unsigned i = IDLE_SAMPLES; i + IDLE_SAMPLES < PINS_SAMPLES; i++)
    if (pinned_around (pins, i) > pinned_around (pins, best))
      best = i;
  return best;
}

/* The heap as it was at a moment, settled. */
static HeapModel *
heap_at (const Pins *pins, Profile *profile, uint64_t ticks)
{
  HeapModel *heap = sli_heap_new (profile->reader, pins->policy);
  TraceEvent event;
  unsigned n = 0;

  sli_trace_rewind (profile->reader);
  while (sli_trace_next (profile->reader, &event) && event.ticks <= ticks)
    {
      /* as often as before, so that the same pages are returned on the way */
      for (; n < PINS_SAMPLES && event.ticks > pins->samples[n].ticks; n++)
        sli_heap_settle (heap, pins->samples[n].ticks);
      sli_heap_event (heap, &event);
    }
  sli_heap_settle (heap, ticks);
  return heap;
}

/* --- pinned bytes by site ------------------------------------------------ */

/* The state of a walk over the live blocks by address. */
typedef struct
{
  Pins *pins;
  const HeapModel *heap;
  uint32_t *site_of; /* by result: the index in pins->sites plus 1 */
  uint64_t page;     /* the current one */
  uint32_t sites[PAGE_SITES], n_sites; /* with blocks on it */
  size_t region;                       /* of the pages between blocks */
} Assignment;

/* Blocks in malloc's bins count as those of one more site. */
static uint32_t
result_of (const Pins *pins, uint32_t node)
{
  return node == HEAP_BINNED ? pins->profile->n_results
                             : pins->profile->final_map[node];
}

static PinsSite *
site_get (Assignment *assignment, uint32_t node)
{
  Pins *pins = assignment->pins;
  uint32_t result = result_of (pins, node);
  uint32_t *index;

  if (result == SITE_NONE)
    return NULL;
  index = &assignment->site_of[result];
  if (*index == 0)
    {
      pins->sites[pins->n_sites] = (PinsSite){ .result = result };
      *index = ++pins->n_sites;
    }
  return &pins->sites[*index - 1];
}

static const HeapRegion *
region_of_page (Assignment *assignment, uint64_t page)
{
  const HeapModel *heap = assignment->heap;

  while (assignment->region < heap->n_regions
         && heap->regions[assignment->region]->number < page / REGION_PAGES)
    assignment->region++;
  if (assignment->region == heap->n_regions
      || heap->regions[assignment->region]->number != page / REGION_PAGES)
    return NULL;
  return heap->regions[assignment->region];
}

/* Assigns the free bytes of the current page to its sites. */
static void
page_end (Assignment *assignment)
{
  Pins *pins;
  const HeapRegion *region;
  uint64_t live, unused;

  if (assignment->n_sites == 0)
    return;
  pins = assignment->pins;
  region = region_of_page (assignment, assignment->page);
  live = region->live[assignment->page % REGION_PAGES];
  unused = live < page_bytes (pins) ? page_bytes (pins) - live : 0;
  for (uint32_t i = 0; i < assignment->n_sites; i++)
    {
      PinsSite *site = &pins->sites[assignment->sites[i]];

      site->pinned_bytes += unused / assignment->n_sites;
      site->n_pages++;
    }
  assignment->n_sites = 0;
}

/* Returns true if slice_trim (0), not malloc's, returns a region's pages. */
static bool
slices_are_apart (const Pins *pins, const HeapRegion *region)
{
  return pins->policy == HEAP_GLIBC && region->has_slices;
}

/* Assigns resident pages without a block, from the one behind the current page
 * to the one before `page', which has a block of the site.  Pages in another
 * segment are the tail of that segment. */
static void
empty_pages_assign (Assignment *assignment, uint64_t page, PinsSite *site)
{
  Pins *pins = assignment->pins;
  const HeapModel *heap = assignment->heap;
  uint64_t segment
      = sli_heap_segment_number (heap, sli_heap_region (heap, page));

  for (uint64_t at = assignment->page + 1; at < page;)
    {
      const HeapRegion *region = region_of_page (assignment, at);
      uint64_t n_bytes;

      if (region == NULL)
        {
          at = heap->regions[assignment->region]->number * REGION_PAGES;
          continue;
        }
      n_bytes = (uint64_t) region->touched[at++ % REGION_PAGES]
                << pins->page_shift;
      pins->empty_bytes += n_bytes;
      if (slices_are_apart (pins, region))
        {
          pins->slices_empty_bytes += n_bytes;
          pins->unassigned_bytes += n_bytes;
        }
      else if (sli_heap_segment_number (heap, region) == segment)
        site->pinned_bytes += n_bytes;
      else
        pins->unassigned_bytes += n_bytes;
    }
}

static void
page_begin (Assignment *assignment, uint64_t page, PinsSite *site)
{
  page_end (assignment);
  empty_pages_assign (assignment, page, site);
  assignment->page = page;
}

/* Counts the pages behind the last block. */
static void
last_pages_assign (Assignment *assignment)
{
  Pins *pins = assignment->pins;
  const HeapModel *heap = assignment->heap;
  uint64_t at = assignment->page + 1;

  for (size_t i = 0; i < heap->n_regions; i++)
    for (unsigned page = 0; page < REGION_PAGES; page++)
      if (heap->regions[i]->touched[page]
          && heap->regions[i]->number * REGION_PAGES + page >= at)
        {
          pins->unassigned_bytes += page_bytes (pins);
          pins->empty_bytes += page_bytes (pins);
          if (slices_are_apart (pins, heap->regions[i]))
            pins->slices_empty_bytes += page_bytes (pins);
        }
}

static void
page_site (Assignment *assignment, const PinsSite *site)
{
  uint32_t index = (uint32_t) (site - assignment->pins->sites);

  for (uint32_t i = 0; i < assignment->n_sites; i++)
    if (assignment->sites[i] == index)
      return;
  if (assignment->n_sites < PAGE_SITES)
    assignment->sites[assignment->n_sites++] = index;
}

static void
block_assign (Assignment *assignment, const HeapBlock *block)
{
  PinsSite *site = site_get (assignment, block->node);
  uint64_t first, last;

  if (site == NULL)
    return;
  first = sli_heap_first_page (assignment->heap, block);
  last = sli_heap_last_page (assignment->heap, block);
  if (block->node == HEAP_BINNED)
    site->pinned_bytes += block->size;
  else
    site->live_bytes += block->size;
  site->n_blocks++;
  if (first != assignment->page)
    page_begin (assignment, first, site);
  page_site (assignment, site);
  if (last == first)
    return;
  page_end (assignment);
  site->n_pages += last - first - 1; /* pages that the block fills */
  assignment->page = last;
  page_site (assignment, site);
}

static int
site_compare (const void *a, const void *b)
{
  const PinsSite *one = a, *other = b;

  return (one->pinned_bytes < other->pinned_bytes)
         - (one->pinned_bytes > other->pinned_bytes);
}

static void
blocks_assign (Pins *pins, const HeapModel *heap, const HeapBlock *blocks,
               uint32_t n)
{
  const Profile *profile = pins->profile;
  Assignment assignment
      = { .pins = pins,
          .heap = heap,
          .site_of = sli_tool_zero ((profile->n_results + 2)
                                    * sizeof *assignment.site_of) };

  pins->sites = sli_tool_zero ((profile->n_results + 2) * sizeof *pins->sites);
  for (uint32_t i = 0; i < n; i++)
    block_assign (&assignment, &blocks[i]);
  page_end (&assignment);
  last_pages_assign (&assignment);
  free (assignment.site_of);
  if (pins->n_sites > 0)
    qsort (pins->sites, pins->n_sites, sizeof *pins->sites, site_compare);
}

/* --- predictions --------------------------------------------------------- */

/* The bytes that return if the sites from the first to the last have memory of
 * their own. */
static uint64_t
bytes_returned (const Pins *pins, const HeapModel *heap,
                const HeapBlock *blocks, uint32_t n, uint32_t first,
                uint32_t last)
{
  bool *moves = sli_tool_zero ((pins->profile->n_results + 2) * sizeof *moves);
  HeapBlock *stay = sli_tool_alloc (((size_t) n + 1) * sizeof *stay);
  uint64_t packed = 0;
  uint32_t n_stay = 0;
  uint64_t after;

  for (uint32_t i = first; i <= last; i++)
    {
      if (pins->sites[i].result == pins->profile->n_results)
        continue; /* malloc's own */
      moves[pins->sites[i].result] = true;
      packed += pages_round (pins, pins->sites[i].live_bytes);
    }
  for (uint32_t i = 0; i < n; i++)
    {
      uint32_t result = result_of (pins, blocks[i].node);

      if (result == SITE_NONE || !moves[result])
        stay[n_stay++] = blocks[i];
    }
  after = sli_heap_resident (heap, stay, n_stay) + packed;
  free (stay);
  free (moves);
  return after < pins->resident_bytes ? pins->resident_bytes - after : 0;
}

static void
returns_predict (Pins *pins, const HeapModel *heap, const HeapBlock *blocks,
                 uint32_t n)
{
  for (uint32_t i = 0; i < pins->n_sites && i < PREDICTED_SITES; i++)
    {
      pins->sites[i].is_predicted = true;
      pins->sites[i].alone_bytes
          = bytes_returned (pins, heap, blocks, n, i, i);
      pins->sites[i].together_bytes
          = i == 0 ? pins->sites[i].alone_bytes
                   : bytes_returned (pins, heap, blocks, n, 0, i);
    }
}

/* --- the process --------------------------------------------------------- */

/* The recorder's last sample before a moment, or 0. */
static uint64_t
process_bytes (const TraceReader *reader, uint64_t ticks)
{
  uint64_t kib = 0;

  for (size_t i = 0; i < reader->n_rss && reader->rss[i][0] <= ticks; i++)
    kib = reader->rss[i][1];
  return kib << 10;
}

static uint64_t
moment_ticks (const Pins *pins, const Profile *profile, double at_seconds)
{
  const TraceFileHead *head = &profile->reader->head;
  double end_seconds
      = sli_profile_seconds (profile, end_ticks (profile) - head->start_ticks);

  if (at_seconds < 0)
    return pins->samples[moment_choose (pins)].ticks;
  if (at_seconds >= end_seconds)
    return end_ticks (profile);
  return head->start_ticks
         + (uint64_t) (at_seconds * (double) head->ticks_per_sec);
}

Pins *
sli_pins_new (Profile *profile, HeapPolicy policy, double at_seconds)
{
  Pins *pins = sli_tool_zero (sizeof *pins);
  const uint64_t start = profile->reader->head.start_ticks;
  uint64_t ticks;
  HeapModel *heap;
  uint32_t n;
  HeapBlock *blocks;

  pins->profile = profile;
  pins->policy = policy;
  samples_take (pins, profile);
  ticks = moment_ticks (pins, profile, at_seconds);
  heap = heap_at (pins, profile, ticks);
  pins->page_shift = heap->page_shift;
  blocks = sli_heap_live (heap, &n);
  pins->at_seconds = sli_profile_seconds (profile, ticks - start);
  pins->end_seconds
      = sli_profile_seconds (profile, end_ticks (profile) - start);
  for (uint32_t i = 0; i < n; i++)
    pins->n_blocks += blocks[i].node != HEAP_BINNED;
  pins->live_bytes = heap->live_bytes;
  pins->resident_bytes = sli_heap_resident (heap, blocks, n);
  pins->process_bytes = process_bytes (profile->reader, ticks);
  blocks_assign (pins, heap, blocks, n);
  returns_predict (pins, heap, blocks, n);
  free (blocks);
  sli_heap_free (heap);
  return pins;
}

void
sli_pins_free (Pins *pins)
{
  for (unsigned i = 0; i < PINS_SAMPLES; i++)
    free (pins->samples[i].cells);
  free (pins->sites);
  free (pins);
}
