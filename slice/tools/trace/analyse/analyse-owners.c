/* analyse-owners.c - which object owns a freed block
 *
 * Tools.  A batch is a thread's frees without an allocation between them.  A
 * freed block covers the blocks that were freed since the previous free of its
 * own site, if it is older than all of them.  It counts as their owner, since
 * they were freed with it.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "analyse-parts.h"
#include <stdlib.h>
#include <string.h>

static void
owner_credit (SiteStats *stats, uint32_t owner, uint64_t rounded)
{
  Owner *least = &stats->owners[0];

  for (int i = 0; i < N_OWNERS_MAX; i++)
    {
      Owner *at = &stats->owners[i];

      if (at->bytes > 0 && at->site == owner)
        {
          at->bytes += rounded;
          return;
        }
      if (at->bytes < least->bytes)
        least = at;
    }
  if (rounded > least->bytes)
    *least = (Owner){ owner, rounded };
}

/* Work memory of sli_batch_end(), as long as the longest batch. */
typedef struct
{
  uint32_t *begin[2]; /* by free and direction: the segment it covers */
  uint32_t *stack;    /* frees that are the oldest since some point */
  uint32_t capacity;
  uint32_t *last;    /* by site: its last free in this pass */
  uint64_t *covered; /* by site: frees covered, in this batch */
  uint32_t *seen;    /* sites that cover other blocks */
  uint32_t n_seen;
  uint8_t *owned; /* by free: a bit for each level at which it is in a segment
                     as long as a burst */
} OwnerScratch;

#define NO_SEGMENT UINT32_MAX
/* Batches are cut at this length, which bounds their memory. */
#define BATCH_MAX (1u << 20)
#define N_CANDIDATES 4

static OwnerScratch *
scratch_of (Analysis *analysis, uint32_t n)
{
  OwnerScratch *scratch = analysis->scratch;
  uint32_t n_sites = analysis->n_first_sites;

  if (scratch == NULL)
    {
      scratch = analysis->scratch = sli_tool_zero (sizeof *scratch);
      scratch->last = sli_tool_zero ((n_sites + 1) * sizeof (uint32_t));
      scratch->covered = sli_tool_zero ((n_sites + 1) * sizeof (uint64_t));
      scratch->seen = sli_tool_zero ((n_sites + 1) * sizeof (uint32_t));
    }
  if (n > scratch->capacity)
    {
      size_t bytes = (size_t) n * 2 * sizeof (uint32_t);

      scratch->capacity = n * 2;
      scratch->begin[0] = sli_tool_grow (scratch->begin[0], bytes);
      scratch->begin[1] = sli_tool_grow (scratch->begin[1], bytes);
      scratch->stack = sli_tool_grow (scratch->stack, bytes);
      scratch->owned = sli_tool_grow (scratch->owned, n * 2);
    }
  return scratch;
}

/* The free at a step, in one direction or the other. */
static const Freed *
freed_at (const Freed *batch, uint32_t n, uint32_t step, unsigned direction)
{
  return &batch[direction == 0 ? step : n - 1 - step];
}

/* The first step on the stack, which ascends, that is not before `from'. */
static uint32_t
stack_find (const OwnerScratch *scratch, uint32_t n_stack, uint32_t from)
{
  uint32_t low = 0, high = n_stack;

  while (low < high)
    {
      uint32_t middle = (low + high) / 2;

      if (scratch->stack[middle] < from)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* Notes that a site's free covers the segment that starts at `from'. */
static void
segment_note (OwnerScratch *scratch, uint32_t site, uint32_t from,
              uint32_t step, unsigned direction)
{
  scratch->begin[direction][step] = from;
  if (scratch->covered[site] == 0)
    scratch->seen[scratch->n_seen++] = site;
  scratch->covered[site] += step - from;
}

/* Finds, in one direction, which frees cover the segment since the previous
 * free of their own site: they are older than all in it. */
static void
segments_find (OwnerScratch *scratch, const Freed *batch, uint32_t n,
               unsigned direction)
{
  uint32_t n_stack = 0;

  for (uint32_t step = 0; step < n; step++)
    {
      const Freed *freed = freed_at (batch, n, step, direction);
      uint32_t site = freed->site;
      /* last holds the step after the site's previous free, 0 at first */
      uint32_t from = scratch->last[site];
      uint32_t oldest = stack_find (scratch, n_stack, from);

      scratch->begin[direction][step] = NO_SEGMENT;
      if (oldest < n_stack
          && freed->allocated
                 < freed_at (batch, n, scratch->stack[oldest], direction)
                       ->allocated)
        segment_note (scratch, site, from, step, direction);
      while (n_stack > 0
             && freed_at (batch, n, scratch->stack[n_stack - 1], direction)
                        ->allocated
                    >= freed->allocated)
        n_stack--;
      scratch->stack[n_stack++] = step;
      scratch->last[site] = step + 1;
    }
  for (uint32_t i = 0; i < n; i++)
    scratch->last[batch[i].site] = 0;
}

/* Credits the frees in the segments that a site covers to it. */
static void
segments_credit (Analysis *analysis, const OwnerScratch *scratch,
                 const Freed *batch, uint32_t n, unsigned direction,
                 uint32_t owner)
{
  for (uint32_t step = 0; step < n; step++)
    {
      uint32_t from = scratch->begin[direction][step];
      const Freed *freed = freed_at (batch, n, step, direction);

      if (from == NO_SEGMENT || freed->site != owner)
        continue;
      for (uint32_t at = from; at < step; at++)
        {
          uint32_t place = direction == 0 ? at : n - 1 - at;
          const Freed *owned = &batch[place];

          for (unsigned level = 0; level < analysis->n_levels; level++)
            /* a site is not its own owner, even if its parts are */
            if (owned->sites[level] != SITE_NONE
                && owned->sites[level] != freed->sites[level])
              {
                if (step - from >= BURST_RUN_MIN)
                  scratch->owned[place] |= (uint8_t) (1u << level);
                owner_credit (&analysis->stats[level][owned->sites[level]],
                              owner, owned->rounded);
              }
        }
    }
}

/* Credits the batch's blocks to their owners.  An owner is the oldest of the
 * blocks that were freed with it, and the first or the last of them; a batch
 * may hold several owners of one site, one after the other, each with its own
 * segment. */
void
sli_batch_end (Analysis *analysis, ThreadState *thread)
{
  uint32_t n = thread->n_batch;
  bool counts = thread->batch_counts;
  OwnerScratch *scratch;

  thread->n_batch = 0;
  thread->batch_counts = false;
  if (n < 2 || !counts)
    return;
  scratch = scratch_of (analysis, n);
  memset (scratch->owned, 0, n);
  for (unsigned direction = 0; direction < 2; direction++)
    {
      scratch->n_seen = 0;
      segments_find (scratch, thread->batch, n, direction);
      for (unsigned candidate = 0; candidate < N_CANDIDATES; candidate++)
        {
          uint32_t best = NO_SEGMENT;

          for (uint32_t i = 0; i < scratch->n_seen; i++)
            if (scratch->covered[scratch->seen[i]] > 0
                && (best == NO_SEGMENT
                    || scratch->covered[scratch->seen[i]]
                           > scratch->covered[best]))
              best = scratch->seen[i];
          if (best == NO_SEGMENT)
            break;
          segments_credit (analysis, scratch, thread->batch, n, direction,
                           best);
          scratch->covered[best] = 0;
        }
      for (uint32_t i = 0; i < scratch->n_seen; i++)
        scratch->covered[scratch->seen[i]] = 0;
    }
  for (uint32_t i = 0; i < n; i++)
    for (unsigned level = 0; scratch->owned[i] && level < analysis->n_levels;
         level++)
      if ((scratch->owned[i] >> level & 1) != 0)
        analysis->stats[level][thread->batch[i].sites[level]].owned_rounded
            += thread->batch[i].rounded;
}

void
sli_batch_add (Analysis *analysis, ThreadState *thread, uint32_t index)
{
  const LiveObject *object = &analysis->objects[index];
  Freed *freed;

  if (thread->n_batch == BATCH_MAX)
    sli_batch_end (analysis, thread);
  if (thread->n_batch == thread->batch_capacity)
    {
      thread->batch_capacity = thread->batch_capacity * 2 + 16;
      thread->batch = sli_tool_grow (thread->batch,
                                     thread->batch_capacity * sizeof (Freed));
    }
  freed = &thread->batch[thread->n_batch++];
  freed->allocated = object->allocated;
  freed->rounded = rounded_size (object->size);
  freed->site = object->site;
  for (unsigned level = 0; level < analysis->n_levels; level++)
    {
      freed->sites[level] = link_of (analysis, index, level)->site;
      thread->batch_counts |= freed->sites[level] != SITE_NONE;
    }
}

void
sli_scratch_free (Analysis *analysis)
{
  OwnerScratch *scratch = analysis->scratch;

  if (scratch == NULL)
    return;
  free (scratch->begin[0]);
  free (scratch->begin[1]);
  free (scratch->stack);
  free (scratch->last);
  free (scratch->covered);
  free (scratch->seen);
  free (scratch->owned);
  free (scratch);
}
