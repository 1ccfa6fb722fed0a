/* analyse-parts.h - shared by the parts of an analysis
 *
 * Tools.  analyse.c has the events and the table of live objects,
 * analyse-site.c the numbers of one site, analyse-owners.c finds owners by
 * batches of frees, analyse-scopes.c has the scopes of a program's markers,
 * analyse-lives.c the blocks that live within one function.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_ANALYSE_ANALYSE_PARTS_H
#define SLI_TRACE_ANALYSE_ANALYSE_PARTS_H

#include "analyse.h"
#include "tools/trace/common/tool.h"

#define NO_OBJECT UINT32_MAX
#define N_SCOPES_OPEN_MAX 16

/* An object's place in one level's list of its site. */
typedef struct
{
  uint32_t site;
  uint32_t older, younger;
  uint32_t lane;   /* 0: the first; else one more than in SiteStats.lanes */
  uint64_t offset; /* in the tolerant stack */
} Link;

/* A free in a batch: one thread's frees without an allocation between. */
typedef struct
{
  uint64_t allocated, rounded;
  uint32_t site; /* by Analysis.sites */
  uint32_t sites[N_LEVELS_MAX];
} Freed;

typedef struct
{
  uint32_t name;
  uint64_t begin, serial;
} OpenScope;

typedef struct
{
  /* the frees since this thread's last allocation */
  Freed *batch;
  uint32_t n_batch, batch_capacity;
  bool batch_counts; /* some free in it is of a site that is analysed */
  OpenScope open[N_SCOPES_OPEN_MAX];
  uint32_t n_open;
  /* its stack at the last allocation, and the frames of it that are not known
   * to have returned, each with the event at which it was first seen */
  uint32_t stack, trimmed_by;
  uint64_t *opened;
  uint32_t n_frames, frames_capacity;
  /* the last block that a realloc ended, in case it lives on */
  uint64_t kept_size;
  uint32_t kept_node;
} ThreadState;

static inline Link *
link_of (const Analysis *analysis, uint32_t object, unsigned level)
{
  return (Link *)analysis->links + (size_t)object * analysis->n_levels + level;
}

/* --- analyse-site.c --- */

/* extra: the event's cost and alignment. */
void sli_stats_allocated (Analysis *analysis, unsigned level, uint32_t index,
                          uint32_t extra);
void sli_stats_freed (Analysis *analysis, unsigned level, uint32_t index,
                      const TraceEvent *event);
void sli_burst_end (SiteStats *stats);
void sli_lanes_init (SiteStats *stats);
void sli_lanes_free (SiteStats *stats);
Lane *sli_lane_at (SiteStats *stats, uint32_t lane);

/* --- analyse-owners.c --- */

/* Add a free to its thread's batch; end the batch at an allocation. */
void sli_batch_add (Analysis *analysis, ThreadState *thread, uint32_t index);
void sli_batch_end (Analysis *analysis, ThreadState *thread);
void sli_scratch_free (Analysis *analysis);

/* --- analyse-lives.c --- */

void sli_lives_stack (Analysis *analysis, ThreadState *thread, uint32_t node);
void sli_lives_trim (Analysis *analysis, ThreadState *thread, uint32_t node);
void sli_lives_allocated (Analysis *analysis, const ThreadState *thread,
                          Lane *lane, const LiveObject *object);
void sli_lives_freed (Analysis *analysis, const ThreadState *thread,
                      Lane *lane, const LiveObject *object);
void sli_lives_restart (Life *lives);
void sli_lives_free (Life *lives);

/* --- analyse-scopes.c --- */

void sli_scope_event (Analysis *analysis, ThreadState *thread,
                      const TraceEvent *event);
void sli_scopes_allocated (const ThreadState *thread, SiteStats *stats,
                           uint64_t rounded);
/* Counts a free within the activation of the allocation. */
void sli_scopes_freed (const ThreadState *thread, SiteStats *stats,
                       uint64_t allocated, uint64_t rounded);
void sli_scope_close (ScopeSum *scope);

#endif
