/* trial.h - one site on its arena, in the unchanged program
 *
 * Tools.  trial-site.c chooses the site and writes the advice for it;
 * trial-run.c runs the program in turn as it is, with the site found and left
 * to malloc, and with the site on its arena; command-predict.c is the command.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_TRIAL_TRIAL_H
#define SLI_TRACE_TRIAL_TRIAL_H

#include "tools/trace/profile/profile.h"

/* How many blocks the arena had (below 0: not known); how many of them were
 * freed by loops that do nothing else, until none was left (of the owner, with
 * contexts), and how long that took. */
typedef struct
{
  double n_served, n_frees, nsec;
  double n_seen; /* allocations that were tried on contexts */
} TrialCount;

/* The owners that a trial on contexts has: of so many blocks, and how many of
 * them are freed with others. */
typedef struct
{
  double n_blocks, n_together;
} TrialOwners;

typedef struct
{
  char name[256]; /* of the hottest */
  unsigned n_sites;
  char class[64];
  char arena[32]; /* as the preloaded library takes it */
  double n_allocs, n_frees;
  TrialOwners owners;
  TrialCount count;
} TrialSite;

typedef enum
{
  TRIAL_PLAIN,  /* the program as it is */
  TRIAL_MALLOC, /* the site is found, and served by malloc */
  TRIAL_ARENA,
  N_TRIALS
} Trial;

#define TRIAL_ROUNDS_MAX 200

/* CPU seconds and peak KiB of each run. */
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

/* Nanoseconds of a call that does nothing, and of a step along a list in the
 * cache. */
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
 * wanted  sites with one of these in their names (^ stands for the beginning,
 *         $ for the end), ended by NULL; or NULL: the hottest that suits, and
 *         those of its name
 * arena   "linear", "pool", "slice", "context", or NULL: by its class
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

/* Exits with a message if a run does not succeed. */
void sli_trial_run (TrialRuns *runs, const TrialSite *site,
                    const char *command, const TrialPaths *paths, unsigned n);
/* Runs it some times, to count; of the times the median. */
TrialCount sli_trial_count (const TrialSite *site, const char *command,
                            const TrialPaths *paths);
/* The median of what the second takes less than the first, run by run. */
Estimate sli_trial_difference (const double *first, const double *second,
                               unsigned n);
double sli_trial_median (const double *values, unsigned n);
TrialCosts sli_trial_costs (void);

#endif
