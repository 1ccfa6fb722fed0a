/* analyse-site.c - the numbers of one site
 *
 * Tools.  Its live objects form a list in the order of birth, so the youngest
 * is its tail, and a stack that tolerates disorder (a dead object goes when
 * all above it are dead) ends at the tail's end.  Its epoch ends when the list
 * is empty: what was born in it is what a bump arena would have grown to.
 *
 * Theory: section 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "analyse-parts.h"
#include <stdlib.h>

/* A call that took longer was interrupted: counted, not summed. */
#define COST_TICKS_MAX 100000

/* --- sizes --------------------------------------------------------------- */

static uint32_t
mix_slot (const SizeMix *mix, uint32_t key)
{
  uint32_t at = mix_home (mix, key);
  while (mix->keys[at] != 0 && mix->keys[at] != key)
    at = (at + 1) & (mix->n_slots - 1);
  return at;
}

static void
mix_grow (SizeMix *mix)
{
  SizeMix old = *mix;
  mix->n_slots = old.n_slots == 0 ? 4 : old.n_slots * 2;
  mix->keys = sli_tool_zero (mix->n_slots * sizeof *mix->keys);
  mix->counts = sli_tool_zero (mix->n_slots * sizeof *mix->counts);
  for (uint32_t i = 0; i < old.n_slots; i++)
    if (old.keys[i] != 0)
      {
        uint32_t at = mix_slot (mix, old.keys[i]);
        mix->keys[at] = old.keys[i];
        mix->counts[at] = old.counts[i];
      }
  free (old.keys);
  free (old.counts);
}

static void
mix_add (SizeMix *mix, uint64_t rounded)
{
  uint32_t key = mix_key (rounded);
  if (2 * mix->n >= mix->n_slots)
    mix_grow (mix);
  uint32_t at = mix_slot (mix, key);
  if (mix->keys[at] == 0)
    {
      mix->keys[at] = key;
      mix->n++;
    }
  mix->counts[at]++;
}

/* --- one site's numbers -------------------------------------------------- */

void
sli_burst_end (SiteStats *stats)
{
  if (stats->run_n >= BURST_RUN_MIN)
    {
      stats->burst_rounded += stats->run_rounded;
      stats->burst_n += stats->run_n;
    }
  stats->run_n = stats->run_rounded = 0;
}

static void
cost_add (const Analysis *analysis, SiteStats *stats, uint32_t extra,
          bool death)
{
  uint64_t cost = extra >> 5;
  if (cost == 0)
    return;
  if (cost > COST_TICKS_MAX)
    {
      stats->n_cost_outliers++;
      return;
    }
  cost = cost > analysis->cost_floor ? cost - analysis->cost_floor : 0;
  if (death)
    {
      stats->death_cost += cost;
      stats->n_death_costs++;
    }
  else
    {
      stats->cost += cost;
      stats->n_costs++;
    }
}

void
sli_stats_birth (Analysis *analysis, unsigned level, uint32_t index,
                 uint32_t extra)
{
  const LiveObject *object = &analysis->objects[index];
  Link *link = link_of (analysis, index, level);
  SiteStats *stats = &analysis->stats[level][link->site];
  uint64_t rounded = rounded_size (object->size);
  if (stats->births++ == 0)
    {
      stats->first_size = object->size;
      stats->one_size = true;
      stats->first_event = object->birth;
    }
  stats->one_size &= stats->first_size == object->size;
  stats->last_event = object->birth;
  stats->bytes += object->size;
  stats->rounded += rounded;
  stats->sum_size2 += (double)object->size * (double)object->size;
  sli_burst_end (stats);
  stats->live += rounded;
  if (stats->live > stats->peak)
    stats->peak = stats->live;
  if (++stats->live_n > stats->peak_n)
    stats->peak_n = stats->live_n;
  stats->epoch += rounded;
  if (stats->epoch > stats->epoch_most)
    stats->epoch_most = stats->epoch;
  link->offset = stats->height;
  stats->height += rounded;
  if (stats->height > stats->height_most)
    stats->height_most = stats->height;
  link->older = stats->tail;
  link->younger = NO_OBJECT;
  if (stats->tail != NO_OBJECT)
    link_of (analysis, stats->tail, level)->younger = index;
  stats->tail = index;
  if ((extra & 31) > stats->max_alignment)
    stats->max_alignment = extra & 31;
  mix_add (&stats->mix, rounded);
  cost_add (analysis, stats, extra, false);
}

static void
list_remove (Analysis *analysis, unsigned level, SiteStats *stats,
             const Link *link)
{
  if (link->older != NO_OBJECT)
    link_of (analysis, link->older, level)->younger = link->younger;
  if (link->younger != NO_OBJECT)
    {
      link_of (analysis, link->younger, level)->older = link->older;
      return;
    }
  stats->tail = link->older;
  stats->height = 0;
  if (stats->tail != NO_OBJECT)
    stats->height = link_of (analysis, stats->tail, level)->offset
                    + rounded_size (analysis->objects[stats->tail].size);
}

void
sli_stats_death (Analysis *analysis, unsigned level, uint32_t index,
                 const TraceEvent *event)
{
  const LiveObject *object = &analysis->objects[index];
  Link *link = link_of (analysis, index, level);
  SiteStats *stats = &analysis->stats[level][link->site];
  uint64_t rounded = rounded_size (object->size);
  double life = (double)(analysis->now - object->birth);
  stats->deaths++;
  stats->dead_rounded += rounded;
  stats->dead_bytes += object->size;
  stats->sum_life += life;
  stats->sum_life2 += life * life;
  if (stats->tail == index)
    {
      stats->youngest_deaths++;
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
    stats->sized_deaths++;
  stats->run_n++;
  stats->run_rounded += rounded;
  stats->live -= rounded;
  stats->live_n--;
  list_remove (analysis, level, stats, link);
  if (stats->live_n == 0)
    stats->epoch = 0;
  cost_add (analysis, stats, event->extra, true);
}
