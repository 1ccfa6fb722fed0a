/* analyse.c - the numbers of each site, from one reading of a trace
 *
 * Tools.  All numbers are kept as the events stream by, each in constant time
 * (amortised):
 *
 *   - live objects are in one table by address;
 *   - for each site its live objects form a list in the order of birth, so
 *     the youngest is its tail, and a stack that tolerates disorder (a dead
 *     object goes when all above it are dead) ends at the tail's end;
 *   - a site's epoch ends when its list is empty: what was born in it is what
 *     a bump arena would have grown to.
 *
 * An analysis may keep a site at several depths at once (levels).
 *
 * Theory: section 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "analyse.h"
#include "tool.h"
#include <stdlib.h>
#include <string.h>

#define NO_OBJECT UINT32_MAX
#define N_SCOPES_OPEN_MAX 16
#define CACHE_LINE 64
/* A call that took longer was interrupted: counted, not summed. */
#define COST_TICKS_MAX 100000

/* Where an object stands in one level's list of its site. */
typedef struct
{
  uint32_t site;
  uint32_t older, younger;
  uint64_t offset; /* in the tolerant stack */
} Link;

/* A death in a run of deaths without a birth between, in one thread. */
typedef struct
{
  uint64_t birth, rounded;
  uint32_t site; /* by Analysis.sites */
  uint32_t sites[N_LEVELS_MAX];
} Death;

typedef struct
{
  uint32_t name;
  uint64_t begin, serial;
} OpenScope;

typedef struct
{
  /* the run of deaths without a birth in this thread */
  Death *run;
  uint32_t n_run, n_run_room;
  bool run_counts; /* some death in it is of a site that is looked at */
  OpenScope open[N_SCOPES_OPEN_MAX];
  uint32_t n_open;
  /* the last block that a realloc ended, in case it lives on */
  uint64_t kept_size;
  uint32_t kept_node;
} ThreadState;

static ThreadState *
thread_of (Analysis *analysis, uint32_t thread)
{
  ThreadState *threads = analysis->threads;
  if (thread >= analysis->n_threads_room)
    {
      uint32_t room = thread + 64;
      threads = sli_tool_grow (threads, room * sizeof *threads);
      memset (&threads[analysis->n_threads_room], 0,
              (room - analysis->n_threads_room) * sizeof *threads);
      analysis->threads = threads;
      analysis->n_threads_room = room;
    }
  return &threads[thread];
}

/* --- the table of live objects ------------------------------------------- */

static size_t
table_home (const Analysis *analysis, uint64_t address)
{
  /* the product's upper half is the better mixed one */
  return (size_t)((address * UINT64_C (0x9E3779B97F4A7C15)) >> 32)
         & (analysis->n_table - 1);
}

static size_t
table_find (const Analysis *analysis, uint64_t address)
{
  size_t at = table_home (analysis, address);
  while (analysis->table[at].object != NO_OBJECT
         && analysis->table[at].address != address)
    at = (at + 1) & (analysis->n_table - 1);
  return at;
}

static void
table_make (Analysis *analysis, size_t n)
{
  analysis->n_table = n;
  analysis->table = sli_tool_alloc (n * sizeof *analysis->table);
  for (size_t i = 0; i < n; i++)
    analysis->table[i].object = NO_OBJECT;
}

static void
table_grow (Analysis *analysis)
{
  void *old = analysis->table;
  table_make (analysis, analysis->n_table * 2);
  for (uint32_t i = 0; i < analysis->n_objects; i++)
    if (analysis->objects[i].address != 0)
      {
        size_t at = table_find (analysis, analysis->objects[i].address);
        analysis->table[at].address = analysis->objects[i].address;
        analysis->table[at].object = i;
      }
  free (old);
}

/* Takes an entry out and moves back those that its place had pushed on. */
static void
table_remove (Analysis *analysis, size_t hole)
{
  size_t mask = analysis->n_table - 1;
  size_t at = hole;
  for (;;)
    {
      at = (at + 1) & mask;
      if (analysis->table[at].object == NO_OBJECT)
        break;
      size_t home = table_home (analysis, analysis->table[at].address);
      if (((at - home) & mask) >= ((at - hole) & mask))
        {
          analysis->table[hole] = analysis->table[at];
          hole = at;
        }
    }
  analysis->table[hole].object = NO_OBJECT;
  analysis->n_table_used--;
}

static uint32_t
object_new (Analysis *analysis)
{
  uint32_t object = analysis->free_object;
  if (object != NO_OBJECT)
    {
      analysis->free_object = analysis->objects[object].next_free;
      return object;
    }
  if (analysis->n_objects == analysis->n_objects_room)
    {
      uint32_t room = analysis->n_objects_room * 2 + 1024;
      analysis->objects
          = sli_tool_grow (analysis->objects, room * sizeof (LiveObject));
      analysis->links = sli_tool_grow (
          analysis->links, (size_t)room * analysis->n_levels * sizeof (Link));
      analysis->n_objects_room = room;
    }
  return analysis->n_objects++;
}

static Link *
link_of (const Analysis *analysis, uint32_t object, unsigned level)
{
  return (Link *)analysis->links + (size_t)object * analysis->n_levels + level;
}

/* --- sizes --------------------------------------------------------------- */

static uint32_t
mix_home (const SizeMix *mix, uint32_t key)
{
  return (key * 2654435769u) >> 8 & (mix->n_slots - 1);
}

static uint32_t
mix_key (uint64_t rounded)
{
  uint64_t units = rounded / ROUND_BYTES + 1;
  return units > UINT32_MAX ? UINT32_MAX : (uint32_t)units;
}

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

/* --- scopes -------------------------------------------------------------- */

static ScopeSum *
scope_of (SiteStats *stats, uint32_t name, bool make)
{
  for (uint32_t i = 0; i < stats->n_scopes; i++)
    if (stats->scopes[i].name == name)
      return &stats->scopes[i];
  if (!make)
    return NULL;
  stats->scopes = sli_tool_grow (stats->scopes,
                                 (stats->n_scopes + 1) * sizeof (ScopeSum));
  ScopeSum *scope = &stats->scopes[stats->n_scopes++];
  memset (scope, 0, sizeof *scope);
  scope->name = name;
  return scope;
}

static void
scope_close (ScopeSum *scope)
{
  scope->sum_bump += scope->bump;
  scope->sum_peak += scope->peak;
  scope->bump = scope->peak = scope->live = 0;
}

static void
scopes_birth (const ThreadState *thread, SiteStats *stats, uint64_t rounded)
{
  for (uint32_t i = 0; i < thread->n_open; i++)
    {
      const OpenScope *open = &thread->open[i];
      ScopeSum *scope = scope_of (stats, open->name, true);
      if (scope->serial != open->serial)
        {
          scope_close (scope);
          scope->serial = open->serial;
        }
      scope->n_births++;
      scope->bytes_births += rounded;
      scope->bump += rounded;
      scope->live += rounded;
      if (scope->live > scope->peak)
        scope->peak = scope->live;
    }
}

/* A death within the activation that saw the birth. */
static void
scopes_death (const ThreadState *thread, SiteStats *stats, uint64_t birth,
              uint64_t rounded)
{
  for (uint32_t i = 0; i < thread->n_open; i++)
    {
      const OpenScope *open = &thread->open[i];
      if (open->begin > birth)
        continue;
      ScopeSum *scope = scope_of (stats, open->name, false);
      if (scope == NULL || scope->serial != open->serial)
        continue;
      scope->n_contained++;
      scope->bytes_contained += rounded;
      scope->live -= rounded < scope->live ? rounded : scope->live;
    }
}

static void
scope_event (Analysis *analysis, ThreadState *thread, const TraceEvent *event)
{
  uint32_t name = (uint32_t)event->address;
  if (event->op == TRACE_OP_SCOPE_BEGIN)
    {
      if (thread->n_open < N_SCOPES_OPEN_MAX)
        thread->open[thread->n_open++]
            = (OpenScope){ name, analysis->now, ++analysis->scope_serial };
      return;
    }
  /* an end closes what was opened after its beginning and not closed */
  for (uint32_t i = thread->n_open; i-- > 0;)
    if (thread->open[i].name == name)
      {
        thread->n_open = i;
        return;
      }
}

/* --- owners -------------------------------------------------------------- */

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

/* What run_end() works with; as long as the longest run. */
typedef struct
{
  uint32_t *begin[2]; /* by death and direction: the segment it covers */
  uint32_t *stack;    /* deaths that are the oldest since some point */
  uint32_t room;
  uint32_t *last;    /* by site: its last death in this pass */
  uint64_t *covered; /* by site: deaths covered, in this run */
  uint32_t *seen;    /* sites that cover something */
  uint32_t n_seen;
  uint8_t *owned; /* by death: in a segment as long as a burst */
} OwnerScratch;

#define NO_SEGMENT UINT32_MAX
/* A run is cut here: its memory stays bounded. */
#define RUN_DEATHS_MAX (1u << 20)
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
  if (n > scratch->room)
    {
      size_t bytes = (size_t)n * 2 * sizeof (uint32_t);
      scratch->room = n * 2;
      scratch->begin[0] = sli_tool_grow (scratch->begin[0], bytes);
      scratch->begin[1] = sli_tool_grow (scratch->begin[1], bytes);
      scratch->stack = sli_tool_grow (scratch->stack, bytes);
      scratch->owned = sli_tool_grow (scratch->owned, n * 2);
    }
  return scratch;
}

/* Finds, in one direction, which deaths cover the segment since the previous
 * death of their own site: they are older than all in it. */
static void
segments_find (OwnerScratch *scratch, const Death *run, uint32_t n,
               unsigned direction)
{
  uint32_t n_stack = 0;
  uint32_t *begin = scratch->begin[direction];
  for (uint32_t step = 0; step < n; step++)
    {
      const Death *death = &run[direction == 0 ? step : n - 1 - step];
      uint32_t site = death->site;
      /* last holds the step after the site's previous death, 0 at first */
      uint32_t from = scratch->last[site];
      uint32_t low = 0, high = n_stack;
      while (low < high)
        {
          uint32_t middle = (low + high) / 2;
          if (scratch->stack[middle] < from)
            low = middle + 1;
          else
            high = middle;
        }
      begin[step] = NO_SEGMENT;
      if (low < n_stack)
        {
          uint32_t oldest = scratch->stack[low];
          uint64_t birth = run[direction == 0 ? oldest : n - 1 - oldest].birth;
          if (death->birth < birth)
            {
              begin[step] = from;
              if (scratch->covered[site] == 0)
                scratch->seen[scratch->n_seen++] = site;
              scratch->covered[site] += step - from;
            }
        }
      while (n_stack > 0)
        {
          uint32_t top = scratch->stack[n_stack - 1];
          if (run[direction == 0 ? top : n - 1 - top].birth < death->birth)
            break;
          n_stack--;
        }
      scratch->stack[n_stack++] = step;
      scratch->last[site] = step + 1;
    }
  for (uint32_t i = 0; i < n; i++)
    scratch->last[run[i].site] = 0;
}

/* The deaths in the segments that a site covers are its own. */
static void
segments_credit (Analysis *analysis, const OwnerScratch *scratch,
                 const Death *run, uint32_t n, unsigned direction,
                 uint32_t owner)
{
  for (uint32_t step = 0; step < n; step++)
    {
      uint32_t from = scratch->begin[direction][step];
      const Death *death = &run[direction == 0 ? step : n - 1 - step];
      if (from == NO_SEGMENT || death->site != owner)
        continue;
      for (uint32_t at = from; at < step; at++)
        {
          uint32_t place = direction == 0 ? at : n - 1 - at;
          const Death *owned = &run[place];
          scratch->owned[place] |= step - from >= BURST_RUN_MIN;
          for (unsigned level = 0; level < analysis->n_levels; level++)
            if (owned->sites[level] != SITE_NONE)
              owner_credit (&analysis->stats[level][owned->sites[level]],
                            owner, owned->rounded);
        }
    }
}

/* The run ends: who took what with him?  An owner is the oldest of those that
 * died with it, and went first or last; a run may hold several owners of one
 * site, one after the other, each with its own segment. */
static void
run_end (Analysis *analysis, ThreadState *thread)
{
  uint32_t n = thread->n_run;
  bool counts = thread->run_counts;
  thread->n_run = 0;
  thread->run_counts = false;
  if (n < 2 || !counts)
    return;
  OwnerScratch *scratch = scratch_of (analysis, n);
  memset (scratch->owned, 0, n);
  for (unsigned direction = 0; direction < 2; direction++)
    {
      scratch->n_seen = 0;
      segments_find (scratch, thread->run, n, direction);
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
          segments_credit (analysis, scratch, thread->run, n, direction, best);
          scratch->covered[best] = 0;
        }
      for (uint32_t i = 0; i < scratch->n_seen; i++)
        scratch->covered[scratch->seen[i]] = 0;
    }
  for (uint32_t i = 0; i < n; i++)
    for (unsigned level = 0; scratch->owned[i] && level < analysis->n_levels;
         level++)
      if (thread->run[i].sites[level] != SITE_NONE)
        analysis->stats[level][thread->run[i].sites[level]].owned_rounded
            += thread->run[i].rounded;
}

static void
run_death (Analysis *analysis, ThreadState *thread, uint32_t index)
{
  const LiveObject *object = &analysis->objects[index];
  if (thread->n_run == RUN_DEATHS_MAX)
    run_end (analysis, thread);
  if (thread->n_run == thread->n_run_room)
    {
      thread->n_run_room = thread->n_run_room * 2 + 16;
      thread->run
          = sli_tool_grow (thread->run, thread->n_run_room * sizeof (Death));
    }
  Death *death = &thread->run[thread->n_run++];
  death->birth = object->birth;
  death->rounded = rounded_size (object->size);
  death->site = object->site;
  for (unsigned level = 0; level < analysis->n_levels; level++)
    {
      death->sites[level] = link_of (analysis, index, level)->site;
      thread->run_counts |= death->sites[level] != SITE_NONE;
    }
}

/* --- one site's numbers -------------------------------------------------- */

static void
burst_end (SiteStats *stats)
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

static void
stats_birth (Analysis *analysis, unsigned level, uint32_t index,
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
  burst_end (stats);
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

static void
stats_death (Analysis *analysis, unsigned level, uint32_t index,
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

/* --- events -------------------------------------------------------------- */

static void
totals_death (Analysis *analysis, const LiveObject *object)
{
  Totals *totals = &analysis->totals;
  uint64_t life = analysis->now - object->birth;
  totals->live -= object->size;
  totals->live_n--;
  totals->life_n[log2_of (life)]++;
  totals->life_bytes[log2_of (life)] += object->size;
  totals->sum_life += (double)life;
  totals->sum_life2 += (double)life * (double)life;
}

static void
object_die (Analysis *analysis, size_t slot, const TraceEvent *event)
{
  uint32_t index = analysis->table[slot].object;
  LiveObject *object = &analysis->objects[index];
  ThreadState *thread = thread_of (analysis, event->thread);
  uint32_t site0 = object->site;
  analysis->totals.n_deaths++;
  totals_death (analysis, object);
  if (site0 != SITE_NONE && analysis->n_levels > 0)
    run_death (analysis, thread, index);
  for (unsigned level = 0; level < analysis->n_levels; level++)
    {
      uint32_t site = link_of (analysis, index, level)->site;
      if (site == SITE_NONE)
        continue;
      stats_death (analysis, level, index, event);
      if (thread->n_open > 0)
        scopes_death (thread, &analysis->stats[level][site], object->birth,
                      rounded_size (object->size));
    }
  if (analysis->observer.death != NULL)
    analysis->observer.death (analysis->observer.user, analysis, object, site0,
                              event->op);
  if (event->op == TRACE_OP_REALLOC_FREE)
    {
      thread->kept_size = object->size;
      thread->kept_node = object->node;
    }
  object->address = 0;
  object->next_free = analysis->free_object;
  analysis->free_object = index;
  table_remove (analysis, slot);
}

static void
totals_birth (Analysis *analysis, const TraceEvent *event)
{
  Totals *totals = &analysis->totals;
  totals->n_births++;
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
  totals->sum_size2 += (double)event->size * (double)event->size;
}

static void
object_born (Analysis *analysis, const TraceEvent *event)
{
  size_t slot = table_find (analysis, event->address);
  if (analysis->table[slot].object != NO_OBJECT)
    {
      /* its death was not seen: a call that was dropped */
      TraceEvent lost = *event;
      lost.op = TRACE_OP_FREE;
      lost.extra = 0;
      analysis->totals.n_lost_deaths++;
      object_die (analysis, slot, &lost);
    }
  if (2 * ++analysis->n_table_used > analysis->n_table)
    table_grow (analysis);
  slot = table_find (analysis, event->address);
  uint32_t index = object_new (analysis);
  analysis->table[slot].address = event->address;
  analysis->table[slot].object = index;
  analysis->objects[index] = (LiveObject){ .address = event->address,
                                           .size = event->size,
                                           .birth = analysis->now,
                                           .birth_ticks = event->ticks,
                                           .node = event->node,
                                           .thread = event->thread,
                                           .site
                                           = analysis->sites[event->node] };
  totals_birth (analysis, event);
  ThreadState *thread = thread_of (analysis, event->thread);
  run_end (analysis, thread);
  for (unsigned level = 0; level < analysis->n_levels; level++)
    {
      uint32_t site = analysis->maps[level][event->node];
      link_of (analysis, index, level)->site = site;
      if (site == SITE_NONE)
        continue;
      stats_birth (analysis, level, index, event->extra);
      if (thread->n_open > 0)
        scopes_birth (thread, &analysis->stats[level][site],
                      rounded_size (event->size));
    }
  if (analysis->observer.birth != NULL)
    analysis->observer.birth (analysis->observer.user, analysis,
                              &analysis->objects[index],
                              analysis->objects[index].site);
}

void
sli_analysis_event (Analysis *analysis, const TraceEvent *event)
{
  Totals *totals = &analysis->totals;
  if (analysis->now == 0)
    totals->first_ticks = totals->last_ticks = event->ticks;
  if (event->ticks > totals->last_ticks)
    {
      totals->live_integral += (double)totals->live
                               * (double)(event->ticks - totals->last_ticks);
      totals->last_ticks = event->ticks;
    }
  analysis->now++;
  analysis->now_ticks = event->ticks;
  totals->n_events++;
  totals->by_op[event->op < TRACE_N_OPS ? event->op : 0]++;
  if (trace_op_is_birth (event->op))
    {
      TraceEvent birth = *event;
      if (event->op == TRACE_OP_REALLOC_KEPT)
        {
          const ThreadState *thread = thread_of (analysis, event->thread);
          birth.size = thread->kept_size;
          birth.node = thread->kept_node;
        }
      object_born (analysis, &birth);
    }
  else if (trace_op_is_death (event->op))
    {
      size_t slot = table_find (analysis, event->address);
      if (analysis->table[slot].object == NO_OBJECT)
        totals->n_unknown_deaths++;
      else
        object_die (analysis, slot, event);
    }
  else if (event->op == TRACE_OP_SCOPE_BEGIN
           || event->op == TRACE_OP_SCOPE_END)
    scope_event (analysis, thread_of (analysis, event->thread), event);
}

static void
stats_fetch (const SiteStats *stats)
{
  for (size_t at = 0; at < 4 * CACHE_LINE; at += CACHE_LINE)
    __builtin_prefetch ((const char *)stats + at, 1);
}

static void
birth_expect (const Analysis *analysis, const TraceEvent *event, unsigned step)
{
  for (unsigned level = 0; level < analysis->n_levels; level++)
    {
      const uint32_t *site = &analysis->maps[level][event->node];
      if (step == 0)
        __builtin_prefetch (site);
      else if (*site == SITE_NONE)
        continue;
      else if (step == 1)
        stats_fetch (&analysis->stats[level][*site]);
      else
        {
          const SizeMix *mix = &analysis->stats[level][*site].mix;
          if (mix->n_slots == 0)
            continue;
          uint32_t at = mix_home (mix, mix_key (rounded_size (event->size)));
          __builtin_prefetch (&mix->keys[at]);
          __builtin_prefetch (&mix->counts[at], 1);
        }
    }
}

/* Where the object is now: a guess, the events between may move it. */
static void
death_expect (const Analysis *analysis, const TraceEvent *event, unsigned step)
{
  if (step == 0)
    return;
  uint32_t index
      = analysis->table[table_find (analysis, event->address)].object;
  if (index == NO_OBJECT)
    return;
  if (step == 1)
    __builtin_prefetch (&analysis->objects[index], 1);
  for (unsigned level = 0; level < analysis->n_levels; level++)
    if (step == 1)
      __builtin_prefetch (link_of (analysis, index, level), 1);
    else if (link_of (analysis, index, level)->site != SITE_NONE)
      stats_fetch (
          &analysis->stats[level][link_of (analysis, index, level)->site]);
}

void
sli_analysis_expect (const Analysis *analysis, const TraceEvent *event,
                     unsigned step)
{
  if (step == 0)
    __builtin_prefetch (
        &analysis->table[table_home (analysis, event->address)], 1);
  if (trace_op_is_birth (event->op))
    birth_expect (analysis, event, step);
  else if (trace_op_is_death (event->op))
    death_expect (analysis, event, step);
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
  table_make (analysis, 1 << 16);
  for (unsigned level = 0; level < n_levels; level++)
    {
      analysis->maps[level] = maps[level];
      analysis->n_sites[level] = n_sites[level];
      analysis->stats[level]
          = sli_tool_zero (n_sites[level] * sizeof (SiteStats));
      for (uint32_t i = 0; i < n_sites[level]; i++)
        analysis->stats[level][i].tail = NO_OBJECT;
    }
  return analysis;
}

void
sli_analysis_finish (Analysis *analysis)
{
  ThreadState *threads = analysis->threads;
  for (uint32_t i = 0; i < analysis->n_threads_room; i++)
    run_end (analysis, &threads[i]);
  for (unsigned level = 0; level < analysis->n_levels; level++)
    for (uint32_t i = 0; i < analysis->n_sites[level]; i++)
      {
        SiteStats *stats = &analysis->stats[level][i];
        burst_end (stats);
        for (uint32_t scope = 0; scope < stats->n_scopes; scope++)
          scope_close (&stats->scopes[scope]);
      }
  analysis->totals.end_live = analysis->totals.live;
  analysis->totals.end_live_n = analysis->totals.live_n;
}

void
sli_analysis_free (Analysis *analysis)
{
  ThreadState *threads = analysis->threads;
  for (uint32_t i = 0; i < analysis->n_threads_room; i++)
    free (threads[i].run);
  free (threads);
  for (unsigned level = 0; level < analysis->n_levels; level++)
    {
      for (uint32_t i = 0; i < analysis->n_sites[level]; i++)
        {
          free (analysis->stats[level][i].mix.keys);
          free (analysis->stats[level][i].mix.counts);
          free (analysis->stats[level][i].scopes);
        }
      free (analysis->stats[level]);
    }
  OwnerScratch *scratch = analysis->scratch;
  if (scratch != NULL)
    {
      free (scratch->begin[0]);
      free (scratch->begin[1]);
      free (scratch->stack);
      free (scratch->last);
      free (scratch->covered);
      free (scratch->seen);
      free (scratch->owned);
      free (scratch);
    }
  free (analysis->objects);
  free (analysis->links);
  free (analysis->table);
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
