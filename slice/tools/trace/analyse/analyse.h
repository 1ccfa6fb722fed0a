/* analyse.h - the numbers of each site, from one reading of a trace
 *
 * Tools.  Definitions: design chapter 13 and slice-trace(1).  Memory follows
 * live objects and sites, never events.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_ANALYSE_ANALYSE_H
#define SLI_TRACE_ANALYSE_ANALYSE_H

#include "tools/trace/common/table.h"
#include "tools/trace/sites/sites.h"

#define N_LEVELS_MAX 6
#define BURST_RUN_MIN 8 /* frees in a row that count as a burst */
#define ROUND_BYTES 16  /* sizes are rounded up to it */
#define N_OWNERS_MAX 8
#define N_LOG2 48
/* The number of lanes of a site, beside the first, from which on a new thread
 * takes over an empty one; if none is empty, there are more. */
#define N_LANES_KEPT 64

typedef struct
{
  uint32_t site; /* at depth 1 */
  uint64_t bytes;
} Owner;

/* Functions outward from a site whose activations are analysed. */
#define N_LIVES 8

/* The start of an activation's part of an arena. */
typedef struct
{
  uint64_t opened; /* the event at which the activation was first seen */
  uint64_t first;  /* the event from which on it counts */
  uint64_t base;   /* the arena's height then */
  uint64_t n_allocated, n_live;
  uint32_t frame;  /* from the outer end */
} LifeMark;

/* The size to which an arena of one function's activations would grow. */
typedef struct
{
  uint64_t function; /* its start */
  uint64_t pc;       /* within it */
  bool mixed;        /* the function is unknown, or not always the same */
  bool within;       /* the last free that could be within was so */
  LifeMark *marks;
  uint32_t n_marks, marks_capacity;
  uint64_t height, height_most, past_height;
  uint64_t n_contained, contained; /* blocks freed within, and bytes */
} Life;

/* One thread's part of a site.  An arena or a stack belongs to one thread, so
 * its size is counted for each. */
typedef struct
{
  uint64_t live, peak; /* rounded bytes */
  uint64_t epoch, epoch_most;
  uint64_t height, height_most; /* of the tolerant stack */
  uint32_t live_n, peak_n;
  uint32_t tail; /* youngest live object */
  uint32_t thread;
  Life *lives; /* N_LIVES; NULL if they are not analysed */
} Lane;

/* One scope marker seen by one site. */
typedef struct
{
  uint32_t name;   /* string id */
  uint64_t serial; /* the number of the activation that is being summed */
  uint64_t begin;  /* the first event of this activation */
  uint64_t live, peak, bump;
  uint64_t n_allocs, n_contained;
  uint64_t bytes_allocs, bytes_contained;
  uint64_t sum_bump, sum_peak;
} ScopeSum;

/* The members that every event uses come first: four cache lines. */
typedef struct
{
  uint64_t allocs, bytes, rounded;         /* rounded: of allocs, in bytes */
  uint64_t live_n, live, peak_n, peak;     /* rounded bytes */
  Lane lane;                               /* of the first thread */
  uint64_t batch_n, batch_rounded;
  double sum_size2;
  uint64_t first_size, last_event;
  uint32_t last_lane;
  uint32_t max_alignment;                  /* log2 */
  uint64_t live_bytes, peak_bytes;         /* as requested */
  uint64_t peak_bytes_n;                   /* blocks, at that moment */
  uint64_t frees, dead_rounded, dead_bytes;
  uint64_t youngest_frees, youngest_rounded; /* frees of the youngest */
  double sum_life, sum_life2;              /* lives in events */
  Table sizes; /* how often, by rounded size */
  bool one_size;
  uint64_t burst_rounded, burst_n;
  uint64_t resized, resized_rounded;
  uint64_t other_thread, other_thread_rounded;
  uint64_t sized_frees;
  uint64_t cost, n_costs, n_cost_outliers; /* ticks */
  uint64_t free_cost, n_free_costs;
  uint64_t first_event;
  uint64_t resets; /* how often a thread had no live block of it */
  uint64_t owned_rounded;
  Owner owners[N_OWNERS_MAX];
  Lane *lanes; /* of other threads */
  uint32_t n_lanes, next_empty;
  uint32_t *lane_of; /* each thread's lane, valid if the lane still has the
                        thread's number; NULL while the site has few lanes */
  uint32_t n_lane_of;
  uint64_t *had_lane; /* a bit for each thread that has had a lane */
  uint32_t n_had_lane; /* the length of had_lane, in words */
  uint32_t n_threads; /* how many threads have had a lane */
  /* sums over the threads whose empty lanes were taken over */
  uint64_t past_peak, past_epoch, past_height, past_peak_n;
  ScopeSum *scopes;
  uint32_t n_scopes;
} SiteStats;

/* An object that is live. */
typedef struct
{
  uint64_t address, size, allocated; /* event number */
  uint64_t alloc_ticks;
  uint32_t node, thread;
  uint32_t next_free;
  uint32_t slot; /* for the observer's own use */
  uint32_t site; /* by Analysis.sites */
} LiveObject;

typedef struct
{
  uint64_t n_events, n_allocs, n_frees, n_unknown_frees, n_lost_frees;
  uint64_t bytes, live, live_n, peak, peak_n, peak_event, peak_ticks;
  uint64_t peak_total_n; /* most objects live at once */
  uint64_t end_live, end_live_n;
  uint64_t first_ticks, last_ticks;
  uint64_t by_op[TRACE_N_OPS];
  uint64_t size_n[N_LOG2], size_bytes[N_LOG2];
  uint64_t life_n[N_LOG2], life_bytes[N_LOG2];
  double sum_size2, sum_life, sum_life2;
  double live_integral; /* bytes x ticks */
} Totals;

typedef struct
{
  uint64_t size, count;
} SizeCount;

typedef struct Analysis Analysis;

/* Called for every allocation and free, after the numbers are updated; the
 * sites are those of Analysis.sites. */
typedef struct
{
  void (*allocated) (void *user, const Analysis *analysis, LiveObject *object,
                     uint32_t site);
  void (*freed) (void *user, const Analysis *analysis,
                 const LiveObject *object, uint32_t site, unsigned op);
  void *user;
} Observer;

struct Analysis
{
  const uint32_t *sites; /* from a node to its site of depth 1, for owners and
                            observers; the map of level 0 unless the caller
                            sets another before the first event */
  uint32_t n_first_sites;
  unsigned n_levels; /* 0: totals and the observer alone */
  const uint32_t *maps[N_LEVELS_MAX]; /* node to a number of the level's own;
                                         SITE_NONE: not kept */
  SiteStats *stats[N_LEVELS_MAX];     /* by that number */
  uint32_t n_sites[N_LEVELS_MAX];
  Totals totals;
  uint64_t now; /* event number */
  uint64_t now_ticks;
  Observer observer;
  Sites *frames; /* the frames of functions; NULL: no activations analysed */
  uint64_t empty_cost; /* ticks of an empty measurement */
  /* private */
  LiveObject *objects;
  void *links;
  uint32_t n_objects, objects_capacity, free_object;
  Table live; /* by address: the object's index plus 1 */
  void *threads;
  uint32_t threads_capacity;
  void *scratch;
  uint64_t scope_serial;
};

Analysis *sli_analysis_new (unsigned n_levels, const uint32_t *const *maps,
                            const uint32_t *n_sites);
void sli_analysis_event (Analysis *analysis, const TraceEvent *event);
/* Prefetches the data of an event that comes soon.  Called with step 0, 1 and
 * 2, some events apart; each step needs the data of the one before. */
void sli_analysis_expect (const Analysis *analysis, const TraceEvent *event,
                          unsigned step);
/* The lane in which an object was allocated, and its number within the
 * site. */
Lane *sli_analysis_lane (const Analysis *analysis, const LiveObject *object,
                         unsigned level, uint32_t *number);
/* Ends open batches, epochs and scopes. */
void sli_analysis_finish (Analysis *analysis);
void sli_analysis_free (Analysis *analysis);
/* A site's rounded sizes, the most frequent first; the caller frees them. */
SizeCount *sli_sizes_sorted (const SiteStats *stats, size_t *n);
/* Visits the live objects. */
void sli_analysis_each_live (const Analysis *analysis,
                             void (*visit) (void *, const LiveObject *),
                             void *user);

static inline uint64_t
rounded_size (uint64_t size)
{
  uint64_t units = (size + ROUND_BYTES - 1) / ROUND_BYTES;

  return (units == 0 ? 1 : units) * ROUND_BYTES;
}

static inline unsigned
log2_of (uint64_t value)
{
  unsigned bits = value == 0 ? 0 : 64 - (unsigned)__builtin_clzll (value);

  return bits < N_LOG2 ? bits : N_LOG2 - 1;
}

#endif
