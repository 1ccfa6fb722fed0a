/* trial.h - runs the unchanged program with one site on its arena
 *
 * Tools.  trial-site.c chooses the site and writes the advice for it.
 * trial-run.c runs the program in turn in the three ways of Trial.
 * command-predict.c is the command.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_TRIAL_TRIAL_H
#define SLI_TRACE_TRIAL_TRIAL_H

#include "tools/trace/profile/profile.h"

/* What runs with the site on its arena have counted. */
typedef struct
{
  double n_served; /* blocks that the arena allocated; below 0: not known */
  /* blocks freed by loops that only free, until none is left (of the owner,
   * with contexts); the time of these loops */
  double n_frees, nsec;
  double n_seen; /* allocations that were tried on contexts */
} TrialCount;

/* The owners that a trial on contexts has: of so many blocks, and how many of
 * them are freed with others. */
typedef struct
{
  double n_blocks, n_together;
} TrialOwners;

/* The sites that one arena is to have. */
typedef struct
{
  char name[256]; /* of the hottest site */
  unsigned n_sites;
  char class[64];
  char arena[32]; /* the value of SLICE_TRIAL (advice-trial.c) */
  double n_allocs, n_frees;
  TrialOwners owners;
  TrialCount count;
} TrialSite;

typedef enum
{
  TRIAL_PLAIN,  /* the program as it is */
  TRIAL_MALLOC, /* the library finds the site, and calls malloc for it */
  TRIAL_ARENA,  /* the library finds the site, and has its arena for it */
  N_TRIALS
} Trial;

#define TRIAL_ROUNDS_MAX 200

/* The CPU seconds and the peak resident memory of each run; n of each kind. */
typedef struct
{
  double cpu_sec[N_TRIALS][TRIAL_ROUNDS_MAX];
  double rss_kib[N_TRIALS][TRIAL_ROUNDS_MAX];
  unsigned n;
} TrialRuns;

/* A value and half its 95 % interval. */
typedef struct
{
  double value, half;
} Estimate;

/* How long it takes to call a function that does nothing, and to follow one
 * link of a list that is in the cache. */
typedef struct
{
  double call_nsec, step_nsec;
} TrialCosts;

/* --- trial-site.c --- */

/* The files of a trial. */
typedef struct
{
  int advice, owners;
} TrialFiles;

/* Their names, for the programs that run. */
typedef struct
{
  char *advice, *owners;
} TrialPaths;

/* Chooses the sites that one arena is to have, and writes their advice to a
 * file, and to another the owners if the arena is a context.  Exits with a
 * message if there is none.
 *
 * wanted  texts, of which a site's name has one (^ stands for the name's
 *         beginning, $ for its end), ended by NULL; or NULL: the hottest site
 *         for which there is an arena, and those of the same name
 * arena   "linear", "stack", "pool", "slice", "context"; or NULL: what the
 *         site's class says
 */
TrialSite sli_trial_site (Profile *profile, const ProfileOptions *options,
                          const char *const *wanted, const char *arena,
                          TrialFiles files);

/* --- trial-owners.c --- */

/* Reads the trace once more, and writes to the file which blocks of the sites
 * are freed together, as slice/dropin/advice/trial-owners.h has it.
 *
 * only  by result: the sites that count */
TrialOwners sli_trial_owners (Profile *profile, const ProfileOptions *options,
                              const bool *only, int fd);

/* --- trial-run.c --- */

/* Adds n rounds to the runs; a round runs the command once in each way.  Exits
 * with a message if a run fails. */
void sli_trial_run (TrialRuns *runs, const TrialSite *site,
                    const char *command, const TrialPaths *paths, unsigned n);
/* Runs the command some times with the site on its arena, and counts; of the
 * times it returns the median. */
TrialCount sli_trial_count (const TrialSite *site, const char *command,
                            const TrialPaths *paths);
/* The median of first[i] - second[i]. */
Estimate sli_trial_difference (const double *first, const double *second,
                               unsigned n);
double sli_trial_median (const double *values, unsigned n);
TrialCosts sli_trial_costs (void);

#endif
