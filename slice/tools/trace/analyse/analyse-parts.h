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

/* At each level an object belongs to a site, and to a lane of that site.  This
 * is its place in the lane's list of live objects. */
typedef struct
{
  uint32_t site;
  uint32_t older, younger; /* objects, or NO_OBJECT */
  uint32_t lane;   /* 0: SiteStats.lane; i: SiteStats.lanes[i - 1] */
  uint64_t offset; /* where it lies in the lane's tolerant stack */
} Link;

/* A free in a batch.  A batch is the frees of one thread between two of its
 * allocations. */
typedef struct
{
  uint64_t allocated, rounded;
  uint32_t site; /* by Analysis.sites */
  uint32_t sites[N_LEVELS_MAX];
} Freed;

/* A scope marker of the program whose scope is open. */
typedef struct
{
  uint32_t name;          /* string id */
  uint64_t begin, serial; /* its first event; the number of the activation */
} OpenScope;

typedef struct
{
  /* the frees since this thread's last allocation */
  Freed *batch;
  uint32_t n_batch, batch_capacity;
  bool batch_counts; /* some free in it is of a site that is analysed */
  OpenScope open[N_SCOPES_OPEN_MAX];
  uint32_t n_open;
  /* the thread's stack at its last allocation, and how many frames of it, from
   * the outer end, may still be active */
  uint32_t stack, n_frames;
  uint32_t trimmed_by; /* the stack of the last free: another free with the
                          same stack ends no more frames */
  uint64_t *opened; /* by frame: the event at which it was first seen */
  uint32_t frames_capacity;
  /* the last block that a realloc freed; the realloc may turn out to have left
   * it where it was */
  uint64_t kept_size;
  uint32_t kept_node;
} ThreadState;

static inline Link *
link_of (const Analysis *analysis, uint32_t object, unsigned level)
{
  return (Link *)analysis->links + (size_t)object * analysis->n_levels + level;
}

/* --- analyse-site.c --- */

/* Note an allocation and a free in the numbers of the object's site.
 *
 * index  the object
 * extra  the event's cost and alignment
 */
void sli_stats_allocated (Analysis *analysis, unsigned level, uint32_t index,
                          uint32_t extra);
void sli_stats_freed (Analysis *analysis, unsigned level, uint32_t index,
                      const TraceEvent *event);
/* Ends a row of frees; a long one counts as a burst. */
void sli_burst_end (SiteStats *stats);
void sli_lanes_init (SiteStats *stats);
void sli_lanes_free (SiteStats *stats);
/* The lane of a Link's number. */
Lane *sli_lane_at (SiteStats *stats, uint32_t lane);

/* --- analyse-owners.c --- */

/* Adds a free to its thread's batch. */
void sli_batch_add (Analysis *analysis, ThreadState *thread, uint32_t index);
/* Finds the owners in a batch; called at the thread's next allocation. */
void sli_batch_end (Analysis *analysis, ThreadState *thread);
void sli_scratch_free (Analysis *analysis);

/* --- analyse-lives.c --- */

/* Update the frames that may still be active, by the stack of an allocation,
 * which is whole, and by that of a free, which lacks its outer end. */
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
/* Counts a free, if the scope in which the block was allocated is still
 * open. */
void sli_scopes_freed (const ThreadState *thread, SiteStats *stats,
                       uint64_t allocated, uint64_t rounded);
void sli_scope_close (ScopeSum *scope);

#endif
