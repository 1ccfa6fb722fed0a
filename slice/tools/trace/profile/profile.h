/* profile.h - a trace read through: sites at their depth, with their classes
 *
 * Tools.  Three or four readings: counts by stack; numbers at depth 1; if some
 * site has no good class there, its numbers at several depths; pictures of
 * the sites that were chosen.
 *
 * A sampled trace has two readings more than the counts: all numbers are
 * estimates of the whole program's, and sites have no class.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_PROFILE_PROFILE_H
#define SLI_TRACE_PROFILE_PROFILE_H

#include "tools/trace/analyse/classify/classify.h"

#define PICTURE_COLUMNS 240
#define PICTURE_ROWS 60
#define SERIES_COLUMNS 600
#define N_SERIES 9 /* the largest 8 sites and the rest */
#define N_HOT_DEFAULT 50

/* The picture of a site that is among the hottest (a hotline).  Its columns and
 * rows divide the events of the trace. */
typedef struct
{
  /* how many blocks were allocated in the column and freed in the row */
  uint8_t cells[PICTURE_ROWS][PICTURE_COLUMNS];
  /* by column: the range of a bump arena's height, and the most live bytes */
  uint64_t offset_low[PICTURE_COLUMNS], offset_high[PICTURE_COLUMNS];
  uint64_t live_high[PICTURE_COLUMNS];
  uint64_t live, offset, offset_most, live_n;
  uint64_t size_n[N_LOG2], life_n[N_LOG2];
} Picture;

typedef struct
{
  uint32_t site; /* in Sites */
  const SiteStats *stats;
  Verdict verdict;
  Picture *picture; /* NULL if the site is no hotline */
  uint32_t rank;    /* 0 is the hottest */
  const uint32_t *owner_sites; /* the verdict's owner is an index of this */
} SiteResult;

typedef struct
{
  double position[SERIES_COLUMNS]; /* the axis' value, 0 to 1 */
  uint64_t live[SERIES_COLUMNS][N_SERIES];
  uint64_t total[SERIES_COLUMNS]; /* most in the column */
  uint32_t n;
} Series;

enum
{
  AXIS_TIME,
  AXIS_EVENTS,
  AXIS_BYTES,
  N_AXES
};

/* How many sampled blocks an estimate comes from, and the standard errors of
 * the calls, bytes and peak. */
typedef struct
{
  uint64_t samples;
  double calls_sd, bytes_sd, peak_sd;
} SampleNotes;

typedef struct
{
  TraceReader *reader;
  Symbols *symbols;
  Sites *sites;
  uint32_t *final_map; /* node to number in results */
  SiteResult *results; /* by the final level's number */
  uint32_t n_results;
  uint32_t *ranked;      /* results, the hottest first */
  uint32_t *first_sites;  /* level-0 number to site, for owners */
  uint32_t *deeper_sites; /* the same for the sites in `deeper'; or NULL */
  Analysis *first;       /* numbers at depth 1 */
  Analysis *deeper;      /* of sites that were analysed deeper; or NULL */
  Totals totals;
  Series series[N_AXES];
  double cost_nsec_per_tick;
  uint32_t n_hot;
  uint64_t *peak_live; /* by node, at the peak: bytes, then counts */
  uint64_t *chosen_live;
  double chosen_time; /* seconds; below 0: none */
  struct FreePair *free_pairs; /* of hotlines: at most FREE_PAIRS_MOST */
  uint32_t n_free_pairs;
  Table free_pair_of; /* by result << 32 | node: its index plus 1 */
  const char *const *given;    /* as in the options */
  uint32_t sample_bytes;       /* the mean gap; 0 if the trace has all events */
  SampleNotes sample;          /* of the whole run; 0 in such a trace */
  SampleNotes *site_samples;   /* by result; or NULL */
} Profile;

typedef struct
{
  const char *const *wrappers; /* NULL-ended; may be NULL */
  const char *const *own; /* NULL-ended: modules that are no libraries */
  uint32_t n_hot;
  unsigned fixed_depth;      /* 0: adaptive */
  double chosen_time;        /* seconds from the start; below 0: none */
  double from_time, to_time; /* a window in seconds; to 0 or infinity: open */
  /* the options that decide what the sites are, sorted, as they were given;
   * NULL-ended; may be NULL */
  const char *const *given;
  bool takes_sampled; /* the command accepts a sampled trace's estimates */
} ProfileOptions;

/* Exits with a message if the file is no trace. */
Profile *sli_profile_new (const char *path, const ProfileOptions *options);
/* The same if nothing was allocated, in the window or at all. */
Profile *sli_profile_some (const char *path, const ProfileOptions *options);
void sli_profile_free (Profile *profile);
double sli_profile_seconds (const Profile *profile, uint64_t ticks);
/* The number of blocks of that size that a recorded one stands for: 1, or more
 * in a sampled trace. */
double sli_profile_weight (const Profile *profile, uint64_t size);
/* The same for a mean gap, which is 0 for a trace with every event. */
double sli_sample_weight (uint32_t mean_bytes, uint64_t size);

/* Rounds a sum.  The sizes in a damaged trace may add up to more than an
 * integer can hold. */
static inline uint64_t
rounded_count (double sum)
{
  return sum <= 0        ? 0
         : sum >= 0x1p63 ? UINT64_C (1) << 63
                         : (uint64_t)(sum + 0.5);
}

/* A consumer of a site: a function one frame further out, or the first frame
 * that matches an expression. */
typedef struct
{
  const char *function;
  const char *file; /* of free sites, where it is known; else NULL */
  uint32_t line;
  uint64_t allocs, bytes;
} Caller;

/* Sorted by allocations; ends with function NULL; freed by the caller. */
Caller *sli_profile_callers (const Profile *profile, uint32_t result,
                             const char *expression);
/* The innermost function that all of the site's stacks share, and its call in
 * the file, if that is known. */
Caller sli_profile_common (const Profile *profile, uint32_t result);
/* The functions, and their lines, that free the site's blocks, as the last
 * reading has noted them.  The caller frees the result. */
Caller *sli_profile_free_sites (const Profile *profile, uint32_t result);

#endif
