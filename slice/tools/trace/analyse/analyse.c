/* analyse.c - the numbers of each site, from one reading of a trace
 *
 * Tools.  All numbers are updated event by event, each in constant time
 * (amortised):
 *
 *   - live objects are in one table by address;
 *   - the numbers of a site, its owners and its scopes have files of their
 *     own (analyse-parts.h).
 *
 * An analysis may keep a site at several depths at once (levels).
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "analyse-parts.h"
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64

static ThreadState *
thread_of (Analysis *analysis, uint32_t thread)
{
  ThreadState *threads = analysis->threads;

  if (thread >= analysis->threads_capacity)
    {
      uint32_t capacity = thread + 64;

      threads = sli_tool_grow (threads, capacity * sizeof *threads);
      memset (&threads[analysis->threads_capacity], 0,
              (capacity - analysis->threads_capacity) * sizeof *threads);
      analysis->threads = threads;
      analysis->threads_capacity = capacity;
    }
  return &threads[thread];
}

/* --- live objects -------------------------------------------------------- */

static uint32_t
object_new (Analysis *analysis)
{
  uint32_t object = analysis->free_object;

  if (object != NO_OBJECT)
    {
      analysis->free_object = analysis->objects[object].next_free;
      return object;
    }
  if (analysis->n_objects == analysis->objects_capacity)
    {
      uint32_t capacity = analysis->objects_capacity * 2 + 1024;

      analysis->objects
          = sli_tool_grow (analysis->objects, capacity * sizeof (LiveObject));
      analysis->links = sli_tool_grow (analysis->links,
                                       (size_t) capacity * analysis->n_levels
                                           * sizeof (Link));
      analysis->objects_capacity = capacity;
    }
  return analysis->n_objects++;
}

/* --- events -------------------------------------------------------------- */

static void
totals_freed (Analysis *analysis, const LiveObject *object)
{
  Totals *totals = &analysis->totals;
  uint64_t life = analysis->now - object->allocated;

  totals->live -= object->size;
  totals->live_n--;
  totals->life_n[log2_of (life)]++;
  totals->life_bytes[log2_of (life)] += object->size;
  totals->sum_life += (double) life;
  totals->sum_life2 += (double) life * (double) life;
}

static void
object_freed (Analysis *analysis, uint32_t index, const TraceEvent *event)
{
  LiveObject *object = &analysis->objects[index];
  ThreadState *thread = thread_of (analysis, event->thread);
  uint32_t site0 = object->site;

  analysis->totals.n_frees++;
  totals_freed (analysis, object);
  if (site0 != SITE_NONE && analysis->n_levels > 0)
    sli_batch_add (analysis, thread, index);
  if (analysis->frames != NULL)
    sli_lives_trim (analysis, thread, event->node);
  for (unsigned level = 0; level < analysis->n_levels; level++)
    {
      uint32_t site = link_of (analysis, index, level)->site;

      if (site == SITE_NONE)
        continue;
      if (analysis->frames != NULL && event->thread == object->thread)
        sli_lives_freed (analysis, thread,
                         sli_lane_at (&analysis->stats[level][site],
                                      link_of (analysis, index, level)->lane),
                         object);
      sli_stats_freed (analysis, level, index, event);
      if (thread->n_open > 0)
        sli_scopes_freed (thread, &analysis->stats[level][site],
                          object->allocated, rounded_size (object->size));
    }
  if (analysis->observer.freed != NULL)
    analysis->observer.freed (analysis->observer.user, analysis, object, site0,
                              event->op);
  if (event->op == TRACE_OP_REALLOC_FREE)
    {
      thread->kept_size = object->size;
      thread->kept_node = object->node;
    }
  object->address = 0;
  object->next_free = analysis->free_object;
  analysis->free_object = index;
}

static void
totals_allocated (Analysis *analysis, const TraceEvent *event)
{
  Totals *totals = &analysis->totals;

  totals->n_allocs++;
  totals->bytes += event->size;
  totals->live += event->size;
  totals->live_n++;
  if (totals->live_n > totals->peak_total_n)
    totals->peak_total_n = totals->live_n;
  if (totals->live > totals->peak)
    {
      totals->peak = totals->live;
      totals->peak_n = totals->live_n;
      totals->peak_event = analysis->now;
      totals->peak_ticks = event->ticks;
    }
  totals->size_n[log2_of (event->size)]++;
  totals->size_bytes[log2_of (event->size)] += event->size;
  totals->sum_size2 += (double) event->size * (double) event->size;
}

/* Counts an object for its site on one level. */
static void
level_allocated (Analysis *analysis, const TraceEvent *event,
                 ThreadState *thread, uint32_t index, unsigned level)
{
  Link *link = link_of (analysis, index, level);
  uint32_t site = analysis->maps[level][event->node];
  SiteStats *stats;

  link->site = site;
  if (site == SITE_NONE)
    return;
  stats = &analysis->stats[level][site];
  sli_stats_allocated (analysis, level, index, event->extra);
  if (analysis->frames != NULL)
    sli_lives_allocated (analysis, thread, sli_lane_at (stats, link->lane),
                         &analysis->objects[index]);
  if (thread->n_open > 0)
    sli_scopes_allocated (thread, stats, rounded_size (event->size));
}

static void
object_allocated (Analysis *analysis, const TraceEvent *event)
{
  uint32_t lost_object = sli_table_remove (&analysis->live, event->address);
  uint32_t index;
  ThreadState *thread;

  if (lost_object != 0)
    {
      /* its free was not seen: the call was dropped */
      TraceEvent lost = *event;

      lost.op = TRACE_OP_FREE;
      lost.extra = 0;
      analysis->totals.n_lost_frees++;
      object_freed (analysis, lost_object - 1, &lost);
    }
  index = object_new (analysis);
  *sli_table_add (&analysis->live, event->address) = index + 1;
  analysis->objects[index]
      = (LiveObject){ .address = event->address,
                      .size = event->size,
                      .allocated = analysis->now,
                      .alloc_ticks = event->ticks,
                      .node = event->node,
                      .thread = event->thread,
                      .site = analysis->sites[event->node] };
  totals_allocated (analysis, event);
  thread = thread_of (analysis, event->thread);
  sli_batch_end (analysis, thread);
  if (analysis->frames != NULL)
    sli_lives_stack (analysis, thread, event->node);
  for (unsigned level = 0; level < analysis->n_levels; level++)
    level_allocated (analysis, event, thread, index, level);
  if (analysis->observer.allocated != NULL)
    analysis->observer.allocated (analysis->observer.user, analysis,
                                  &analysis->objects[index],
                                  analysis->objects[index].site);
}

/* Counts an event, and the live bytes up to it. */
static void
totals_event (Analysis *analysis, const TraceEvent *event)
{
  Totals *totals = &analysis->totals;

  if (analysis->now == 0)
    totals->first_ticks = totals->last_ticks = event->ticks;
  if (event->ticks > totals->last_ticks)
    {
      totals->live_integral += (double) totals->live
                               * (double) (event->ticks - totals->last_ticks);
      totals->last_ticks = event->ticks;
    }
  analysis->now++;
  analysis->now_ticks = event->ticks;
  totals->n_events++;
  totals->by_op[event->op < TRACE_N_OPS ? event->op : 0]++;
}

static void
event_alloc (Analysis *analysis, const TraceEvent *event)
{
  TraceEvent alloc = *event;

  if (event->op == TRACE_OP_REALLOC_KEPT)
    {
      const ThreadState *thread = thread_of (analysis, event->thread);

      alloc.size = thread->kept_size;
      alloc.node = thread->kept_node;
    }
  object_allocated (analysis, &alloc);
}

static void
event_free (Analysis *analysis, const TraceEvent *event)
{
  uint32_t object = sli_table_remove (&analysis->live, event->address);

  if (object == 0)
    analysis->totals.n_unknown_frees++;
  else
    object_freed (analysis, object - 1, event);
}

void
sli_analysis_event (Analysis *analysis, const TraceEvent *event)
{
  totals_event (analysis, event);
  if (trace_op_is_alloc (event->op))
    event_alloc (analysis, event);
  else if (trace_op_is_free (event->op))
    event_free (analysis, event);
  else if (event->op == TRACE_OP_SCOPE_BEGIN
           || event->op == TRACE_OP_SCOPE_END)
    sli_scope_event (analysis, thread_of (analysis, event->thread), event);
}

static void
stats_fetch (const SiteStats *stats)
{
  for (size_t at = 0; at < 4 * CACHE_LINE; at += CACHE_LINE)
    memory_prefetch ((const char *) stats + at);
}

static void
alloc_expect (const Analysis *analysis, const TraceEvent *event, unsigned step)
{
  for (unsigned level = 0; level < analysis->n_levels; level++)
    {
      const uint32_t *site = &analysis->maps[level][event->node];

      if (step == 0)
        memory_prefetch (site);
      else if (*site == SITE_NONE)
        continue;
      else if (step == 1)
        stats_fetch (&analysis->stats[level][*site]);
      else
        table_prefetch (&analysis->stats[level][*site].sizes,
                        rounded_size (event->size));
    }
}

/* Prefetches the object of a free: a guess, since events in between may move
 * it. */
static void
free_expect (const Analysis *analysis, const TraceEvent *event, unsigned step)
{
  uint32_t index;

  if (step == 0)
    return;
  index = table_get (&analysis->live, event->address) - 1;
  if (index == NO_OBJECT)
    return;
  if (step == 1)
    memory_prefetch (&analysis->objects[index]);
  for (unsigned level = 0; level < analysis->n_levels; level++)
    if (step == 1)
      memory_prefetch (link_of (analysis, index, level));
    else if (link_of (analysis, index, level)->site != SITE_NONE)
      stats_fetch (
          &analysis->stats[level][link_of (analysis, index, level)->site]);
}

void
sli_analysis_expect (const Analysis *analysis, const TraceEvent *event,
                     unsigned step)
{
  if (step == 0)
    table_prefetch (&analysis->live, event->address);
  if (trace_op_is_alloc (event->op))
    alloc_expect (analysis, event, step);
  else if (trace_op_is_free (event->op))
    free_expect (analysis, event, step);
}

Lane *
sli_analysis_lane (const Analysis *analysis, const LiveObject *object,
                   unsigned level, uint32_t *number)
{
  const Link *link
      = link_of (analysis, (uint32_t) (object - analysis->objects), level);

  *number = link->lane;
  return sli_lane_at (&analysis->stats[level][link->site], link->lane);
}

/* --- begin and end ------------------------------------------------------- */

Analysis *
sli_analysis_new (unsigned n_levels, const uint32_t *const *maps,
                  const uint32_t *n_sites)
{
  Analysis *analysis = sli_tool_zero (sizeof *analysis);

  analysis->n_levels = n_levels;
  analysis->sites = n_levels > 0 ? maps[0] : NULL;
  analysis->n_first_sites = n_levels > 0 ? n_sites[0] : 0;
  analysis->free_object = NO_OBJECT;
  for (unsigned level = 0; level < n_levels; level++)
    {
      analysis->maps[level] = maps[level];
      analysis->n_sites[level] = n_sites[level];
      analysis->stats[level]
          = sli_tool_zero (n_sites[level] * sizeof (SiteStats));
      for (uint32_t i = 0; i < n_sites[level]; i++)
        sli_lanes_init (&analysis->stats[level][i]);
    }
  return analysis;
}

void
sli_analysis_finish (Analysis *analysis)
{
  ThreadState *threads = analysis->threads;

  for (uint32_t i = 0; i < analysis->threads_capacity; i++)
    sli_batch_end (analysis, &threads[i]);
  for (unsigned level = 0; level < analysis->n_levels; level++)
    for (uint32_t i = 0; i < analysis->n_sites[level]; i++)
      {
        SiteStats *stats = &analysis->stats[level][i];

        sli_burst_end (stats);
        for (uint32_t scope = 0; scope < stats->n_scopes; scope++)
          sli_scope_close (&stats->scopes[scope]);
      }
  analysis->totals.end_live = analysis->totals.live;
  analysis->totals.end_live_n = analysis->totals.live_n;
}

void
sli_analysis_free (Analysis *analysis)
{
  ThreadState *threads = analysis->threads;

  for (uint32_t i = 0; i < analysis->threads_capacity; i++)
    {
      free (threads[i].batch);
      free (threads[i].opened);
    }
  free (threads);
  for (unsigned level = 0; level < analysis->n_levels; level++)
    {
      for (uint32_t i = 0; i < analysis->n_sites[level]; i++)
        {
          sli_table_free (&analysis->stats[level][i].sizes);
          free (analysis->stats[level][i].scopes);
          sli_lanes_free (&analysis->stats[level][i]);
        }
      free (analysis->stats[level]);
    }
  sli_scratch_free (analysis);
  free (analysis->objects);
  free (analysis->links);
  sli_table_free (&analysis->live);
  free (analysis);
}

void
sli_analysis_each_live (const Analysis *analysis,
                        void (*visit) (void *, const LiveObject *), void *user)
{
  for (uint32_t i = 0; i < analysis->n_objects; i++)
    if (analysis->objects[i].address != 0)
      visit (user, &analysis->objects[i]);
}
