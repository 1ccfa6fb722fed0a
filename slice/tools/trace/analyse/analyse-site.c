/* analyse-site.c - the numbers of one site
 *
 * Tools.  The part of a site that one thread allocates is a lane.  The live
 * objects of a lane form a list in the order of allocation, so the youngest is
 * its tail.  A stack that tolerates disorder (a freed object is removed when
 * all above it are freed) would end at the tail's end.  A lane's epoch ends
 * when the list is empty.  A bump arena of that thread would have grown to the
 * sum of all allocations in the epoch.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "analyse-parts.h"
#include <stdlib.h>

/* A longer call was interrupted; it is counted, but not summed. */
#define COST_TICKS_MAX 100000

/* --- sizes --------------------------------------------------------------- */

static void
size_add (SiteStats *stats, uint64_t rounded)
{
  uint32_t *count = sli_table_add (&stats->sizes, rounded);

  if (*count < UINT32_MAX)
    ++*count;
}

static int
size_compare (const void *a, const void *b)
{
  const SizeCount *left = a, *right = b;

  if (left->count != right->count)
    return left->count < right->count ? 1 : -1;
  return left->size < right->size ? -1 : left->size > right->size;
}

SizeCount *
sli_sizes_sorted (const SiteStats *stats, size_t *n)
{
  const Table *sizes = &stats->sizes;
  SizeCount *sorted = sli_tool_alloc ((sizes->n + 1) * sizeof *sorted);

  *n = 0;
  for (size_t i = 0; i < sizes->n_slots; i++)
    if (sizes->entries[i].value != 0)
      sorted[(*n)++]
          = (SizeCount){ sizes->entries[i].key, sizes->entries[i].value };
  qsort (sorted, *n, sizeof *sorted, size_compare);
  return sorted;
}

/* --- lanes --------------------------------------------------------------- */

Lane *
sli_lane_at (SiteStats *stats, uint32_t lane)
{
  return lane == 0 ? &stats->lane : &stats->lanes[lane - 1];
}

void
sli_lanes_init (SiteStats *stats)
{
  stats->lane.tail = NO_OBJECT;
}

void
sli_lanes_free (SiteStats *stats)
{
  for (uint32_t i = 0; i <= stats->n_lanes; i++)
    sli_lives_free (sli_lane_at (stats, i)->lives);
  free (stats->lanes);
  free (stats->lane_of);
  free (stats->had_lane);
}

/* Gives an empty lane to another thread, since a program may start a thread
 * for each of its tasks. */
static void
lane_take_over (SiteStats *stats, Lane *lane, uint32_t thread)
{
  stats->past_peak += lane->peak;
  stats->past_epoch += lane->epoch_most;
  stats->past_height += lane->height_most;
  if (lane->peak_n > stats->past_peak_n)
    stats->past_peak_n = lane->peak_n;
  sli_lives_restart (lane->lives);
  *lane = (Lane){ .tail = NO_OBJECT, .thread = thread, .lives = lane->lives };
}

static void
thread_count (SiteStats *stats, uint32_t thread)
{
  uint32_t word = thread / 64, n = stats->n_had_lane;
  uint64_t bit = UINT64_C (1) << thread % 64;

  if (word >= n)
    {
      stats->n_had_lane = 2 * word + 1;
      stats->had_lane = sli_tool_grow (
          stats->had_lane, stats->n_had_lane * sizeof *stats->had_lane);
      for (; n < stats->n_had_lane; n++)
        stats->had_lane[n] = 0;
    }
  stats->n_threads += (stats->had_lane[word] & bit) == 0;
  stats->had_lane[word] |= bit;
}

/* Remembers a thread's lane if there are too many to search. */
static void
lane_note (SiteStats *stats, uint32_t thread, uint32_t lane)
{
  uint32_t n = stats->n_lane_of;

  if (stats->n_lanes <= N_LANES_KEPT)
    return;
  if (thread >= n)
    {
      stats->n_lane_of = 2 * thread + 1;
      stats->lane_of = sli_tool_grow (
          stats->lane_of, stats->n_lane_of * sizeof *stats->lane_of);
      for (; n < stats->n_lane_of; n++)
        stats->lane_of[n] = 0;
    }
  stats->lane_of[thread] = lane;
}

/* The thread's lane; UINT32_MAX if it has none.  Searches the first lanes one
 * by one, which is as fast as a table for a few. */
static uint32_t
lane_known (const SiteStats *stats, uint32_t thread)
{
  uint32_t lane;

  for (uint32_t i = 0; i <= stats->n_lanes && i <= N_LANES_KEPT; i++)
    if (sli_lane_at ((SiteStats *) stats, i)->thread == thread)
      return i;
  lane = thread < stats->n_lane_of ? stats->lane_of[thread] : 0;
  return lane > 0 && stats->lanes[lane - 1].thread == thread ? lane
                                                             : UINT32_MAX;
}

/* Finds an empty lane, starting at the last one that was found. */
static uint32_t
lane_empty (SiteStats *stats)
{
  uint32_t n = stats->n_lanes + 1;

  for (uint32_t i = 0; i < n; i++)
    {
      uint32_t at = (stats->next_empty + i) % n;

      if (sli_lane_at (stats, at)->live_n == 0)
        {
          stats->next_empty = at + 1;
          return at;
        }
    }
  return UINT32_MAX;
}

/* Finds the lane of a thread other than that of the last allocation. */
static uint32_t
lane_find (SiteStats *stats, uint32_t thread)
{
  uint32_t lane = lane_known (stats, thread);

  if (lane != UINT32_MAX)
    return lane;
  thread_count (stats, thread);
  if (stats->n_lanes >= N_LANES_KEPT)
    lane = lane_empty (stats);
  if (lane != UINT32_MAX)
    lane_take_over (stats, sli_lane_at (stats, lane), thread);
  else
    {
      if ((stats->n_lanes & (stats->n_lanes - 1)) == 0)
        stats->lanes = sli_tool_grow (stats->lanes, (stats->n_lanes * 2 + 1)
                                                        * sizeof (Lane));
      stats->lanes[stats->n_lanes++]
          = (Lane){ .tail = NO_OBJECT, .thread = thread };
      lane = stats->n_lanes;
    }
  lane_note (stats, thread, lane);
  return lane;
}

static Lane *
lane_of_alloc (SiteStats *stats, uint32_t thread, uint32_t *index)
{
  if (stats->allocs == 1)
    {
      stats->lane.thread = thread;
      thread_count (stats, thread);
    }
  if (sli_lane_at (stats, stats->last_lane)->thread != thread)
    stats->last_lane = lane_find (stats, thread);
  *index = stats->last_lane;
  return sli_lane_at (stats, stats->last_lane);
}

static void
lane_allocated (Analysis *analysis, unsigned level, Lane *lane, uint32_t index,
                uint64_t rounded)
{
  Link *link = link_of (analysis, index, level);

  lane->live += rounded;
  if (lane->live > lane->peak)
    lane->peak = lane->live;
  if (++lane->live_n > lane->peak_n)
    lane->peak_n = lane->live_n;
  lane->epoch += rounded;
  if (lane->epoch > lane->epoch_most)
    lane->epoch_most = lane->epoch;
  link->offset = lane->height;
  lane->height += rounded;
  if (lane->height > lane->height_most)
    lane->height_most = lane->height;
  link->older = lane->tail;
  link->younger = NO_OBJECT;
  if (lane->tail != NO_OBJECT)
    link_of (analysis, lane->tail, level)->younger = index;
  lane->tail = index;
}

static void
list_remove (Analysis *analysis, unsigned level, Lane *lane, const Link *link)
{
  if (link->older != NO_OBJECT)
    link_of (analysis, link->older, level)->younger = link->younger;
  if (link->younger != NO_OBJECT)
    {
      link_of (analysis, link->younger, level)->older = link->older;
      return;
    }
  lane->tail = link->older;
  lane->height = 0;
  if (lane->tail != NO_OBJECT)
    lane->height = link_of (analysis, lane->tail, level)->offset
                   + rounded_size (analysis->objects[lane->tail].size);
}

/* Returns true if it was the youngest of the lane. */
static bool
lane_freed (Analysis *analysis, unsigned level, Lane *lane, const Link *link,
            uint64_t rounded)
{
  lane->live -= rounded;
  lane->live_n--;
  list_remove (analysis, level, lane, link);
  if (lane->live_n > 0)
    return false;
  lane->epoch = 0;
  return true;
}

/* --- one site's numbers -------------------------------------------------- */

void
sli_burst_end (SiteStats *stats)
{
  if (stats->batch_n >= BURST_RUN_MIN)
    {
      stats->burst_rounded += stats->batch_rounded;
      stats->burst_n += stats->batch_n;
    }
  stats->batch_n = stats->batch_rounded = 0;
}

static void
cost_add (const Analysis *analysis, SiteStats *stats, uint32_t extra,
          bool is_free)
{
  uint64_t cost = extra >> 5;

  if (cost == 0)
    return;
  if (cost > COST_TICKS_MAX)
    {
      stats->n_cost_outliers++;
      return;
    }
  cost = cost > analysis->empty_cost ? cost - analysis->empty_cost : 0;
  if (is_free)
    {
      stats->free_cost += cost;
      stats->n_free_costs++;
    }
  else
    {
      stats->cost += cost;
      stats->n_costs++;
    }
}

void
sli_stats_allocated (Analysis *analysis, unsigned level, uint32_t index,
                     uint32_t extra)
{
  const LiveObject *object = &analysis->objects[index];
  Link *link = link_of (analysis, index, level);
  SiteStats *stats = &analysis->stats[level][link->site];
  uint64_t rounded = rounded_size (object->size);
  Lane *lane;

  if (stats->allocs++ == 0)
    {
      stats->first_size = object->size;
      stats->one_size = true;
      stats->first_event = object->allocated;
    }
  stats->one_size &= stats->first_size == object->size;
  stats->last_event = object->allocated;
  stats->bytes += object->size;
  stats->rounded += rounded;
  stats->sum_size2 += (double) object->size * (double) object->size;
  stats->live_bytes += object->size;
  if (stats->live_bytes > stats->peak_bytes)
    {
      stats->peak_bytes = stats->live_bytes;
      stats->peak_bytes_n = stats->live_n + 1; /* this one is counted below */
    }
  sli_burst_end (stats);
  stats->live += rounded;
  if (stats->live > stats->peak)
    stats->peak = stats->live;
  if (++stats->live_n > stats->peak_n)
    stats->peak_n = stats->live_n;
  lane = lane_of_alloc (stats, object->thread, &link->lane);
  lane_allocated (analysis, level, lane, index, rounded);
  if ((extra & 31) > stats->max_alignment)
    stats->max_alignment = extra & 31;
  size_add (stats, rounded);
  cost_add (analysis, stats, extra, false);
}

void
sli_stats_freed (Analysis *analysis, unsigned level, uint32_t index,
                 const TraceEvent *event)
{
  const LiveObject *object = &analysis->objects[index];
  Link *link = link_of (analysis, index, level);
  SiteStats *stats = &analysis->stats[level][link->site];
  uint64_t rounded = rounded_size (object->size);
  Lane *lane = sli_lane_at (stats, link->lane);
  double life = (double) (analysis->now - object->allocated);

  stats->frees++;
  stats->dead_rounded += rounded;
  stats->dead_bytes += object->size;
  stats->sum_life += life;
  stats->sum_life2 += life * life;
  if (lane->tail == index)
    {
      stats->youngest_frees++;
      stats->youngest_rounded += rounded;
    }
  if (event->op == TRACE_OP_REALLOC_FREE)
    {
      stats->resized++;
      stats->resized_rounded += rounded;
    }
  if (event->thread != object->thread)
    {
      stats->other_thread++;
      stats->other_thread_rounded += rounded;
    }
  if (event->op == TRACE_OP_DELETE_SIZED
      || event->op == TRACE_OP_DELETE_ARRAY_SIZED
      || event->op == TRACE_OP_SLICE_FREE)
    stats->sized_frees++;
  stats->batch_n++;
  stats->batch_rounded += rounded;
  stats->live -= rounded;
  stats->live_bytes -= object->size;
  stats->live_n--;
  stats->resets += lane_freed (analysis, level, lane, link, rounded);
  cost_add (analysis, stats, event->extra, true);
}
