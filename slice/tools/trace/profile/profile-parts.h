/* profile-parts.h - shared by the parts of a profile
 *
 * Tools.  profile-reading.c reads the events, profile-depth.c finds the depth
 * of each site, profile-sampled.c estimates from a sample, profile-pictures.c
 * makes the pictures; profile.c calls them in order, profile-callers.c finds
 * the callers and the functions that free.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_PROFILE_PROFILE_PARTS_H
#define SLI_TRACE_PROFILE_PROFILE_PARTS_H

#include "profile.h"
#include "tools/trace/common/tool.h"

/* Free sites are kept for hotlines: pairs of site and freeing node. */
#define FREE_PAIRS_MOST 65536

typedef struct FreePair
{
  uint32_t result, node;
  double n, bytes;
} FreePair;

/* The sites of one depth, numbered densely. */
typedef struct
{
  uint32_t *map;   /* node to number */
  uint32_t *sites; /* number to site */
  uint32_t n;
} Level;

#define QUEUE_EVENTS 64 /* a power of two */

/* One reading of the trace.  Events wait in a queue while their data is
 * fetched into the cache, since an analysis spends most of its time on cache
 * misses. */
typedef struct
{
  Profile *profile;
  const ProfileOptions *options;
  const Analysis *analysis; /* may be NULL */
  Progress progress;
  uint64_t n;
  uint32_t first, n_queue;
  bool ended;
  TraceEvent queue[QUEUE_EVENTS];
} Reading;

/* --- profile-reading.c --- */

void sli_reading_begin (Reading *reading, Profile *profile,
                        const ProfileOptions *options,
                        const Analysis *analysis, const char *what);
/* The next event, valid until the next call; NULL at the end. */
const TraceEvent *sli_reading_next (Reading *reading);

/* --- profile-depth.c --- */

void sli_level_make (Level *level, Sites *sites, unsigned depth);
Analysis *sli_level_analyse (Profile *profile, const ProfileOptions *options,
                             const char *what, const Level *first,
                             const Level *const *levels, unsigned n_levels,
                             Sites *frames);
double sli_allocs_share (const SiteStats *stats, const Totals *totals);
/* For each site of depth 1, true if it should be analysed deeper; NULL if none
 * should.  The caller frees the result. */
bool *sli_split_wishes (const Analysis *analysis);
/* Finds the sites at their depths, by the numbers at depth 1.  The caller
 * frees *stats. */
void sli_depths_find (Profile *profile, const ProfileOptions *options,
                      const Level *first, const bool *wanted, Level *final,
                      const SiteStats ***stats);

/* --- profile-sampled.c --- */

/* Reads a sampled trace.  The numbers of the analysis, and those of the nodes,
 * are estimates of the whole. */
Analysis *sli_sampled_analyse (Profile *profile,
                               const ProfileOptions *options,
                               const Level *level);

/* --- profile-pictures.c --- */

/* Reads the trace for pictures, series and the live blocks at the peak; the
 * numbers are known. */
void sli_detail_read (Profile *profile, const ProfileOptions *options);

#endif
