/* command-predict.c - slice-trace predict: what a change will save
 *
 * Tools.  Tries one site's arena in the unchanged program, so that the
 * prediction includes what a replay can't: the program's own work between the
 * calls, and where its data lies.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/trial/trial.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The interval is this share of the saving either way.  A figure that is less
 * certain is inconclusive. */
#define INTERVAL_SHARE 0.25
/* Of memory, because the library's own pages may differ by that much: it is
 * preloaded here, and linked later. */
#define MEMORY_KIB 256
/* If finding the sites makes the program that much slower, the runs say nothing
 * about it; unless it is as short as the start of the libraries. */
#define SLOWER_MAX 1.5
#define SLOWER_SEC 0.02
/* The program runs more often until the interval of its runs is this narrow,
 * so that the rest is left for the errors of the model and of the measurement
 * after the change. */
#define NOISE_SHARE 0.15
#define MORE_ROUNDS 4
/* Finding the sites costs the same with malloc and with the arena, or nearly:
 * the processor overlaps it with other work.  So a saving that is not much
 * larger than that cost is uncertain. */
#define FINDING_SHARE 0.4
/* The site's blocks that the library must have found. */
#define SERVED_SHARE 0.98

typedef struct
{
  TextList sites;
  const char *arena, *command;
  uint32_t n_rounds;
} Predict;

/* Ends the program if finding the sites takes too long. */
static void
slower_check (const TrialRuns *runs)
{
  double plain = sli_trial_median (runs->cpu_sec[TRIAL_PLAIN], runs->n);
  double found = sli_trial_median (runs->cpu_sec[TRIAL_MALLOC], runs->n);

  if (found > SLOWER_MAX * plain && found > plain + SLOWER_SEC)
    sli_tool_exit (TOOL_NO_EVENTS,
                   "the program takes %.2f times as long while its calls are "
                   "found: no prediction",
                   found / plain);
}

/* Chooses the site in a process of its own: the programs that this one starts
 * would inherit a large trace in their peak of memory. */
static TrialSite
site_find (const char *trace, const ProfileOptions *options,
           const Predict *predict, TrialFiles files)
{
  TrialSite site;
  int ends[2], status;
  pid_t pid;
  ssize_t n;
  int code;

  if (pipe (ends) != 0)
    sli_tool_exit (TOOL_FAILED, "pipe: %s", strerror (errno));
  pid = fork ();
  if (pid == 0)
    {
      Profile *profile = sli_profile_new (trace, options);

      site = sli_trial_site (profile, options, predict->sites.items,
                             predict->arena, files);
      _exit (write (ends[1], &site, sizeof site) == sizeof site
                 ? sli_tool_status (TOOL_OK)
                 : TOOL_FAILED);
    }
  close (ends[1]);
  n = read (ends[0], &site, sizeof site);
  close (ends[0]);
  if (pid < 0 || waitpid (pid, &status, 0) < 0)
    sli_tool_exit (TOOL_FAILED, "fork: %s", strerror (errno));
  code = WIFEXITED (status) ? WEXITSTATUS (status) : TOOL_FAILED;
  if (n != sizeof site || (code != TOOL_OK && code != TOOL_BAD_INPUT))
    exit (code);
  if (code == TOOL_BAD_INPUT)
    sli_tool_bad_input (); /* the site is from the undamaged part */
  return site;
}

/* The CPU seconds that the change saves, at most all.  With a linear arena the
 * program does not free block by block: loops that do only that go, and other
 * frees save at least two calls, which the runs still make; allocations are
 * inline.  With a stack, a pool or slices the calls become inline, but the
 * processor has overlapped most of them with the program's work anyway.  With
 * contexts the program frees an owner, and the library walks through its nodes
 * instead of the program, whose loop goes; where the loop also frees other
 * blocks, only the calls and steps go. */
static Estimate
saving_find (const TrialRuns *runs, const TrialSite *site, TrialCosts costs)
{
  const TrialCount *count = &site->count;
  Estimate saving = sli_trial_difference (
      runs->cpu_sec[TRIAL_MALLOC], runs->cpu_sec[TRIAL_ARENA], runs->n);

  if (strcmp (site->arena, "linear") == 0)
    /* a call counts the frees */
    saving.value += (fmax (count->nsec - count->n_frees * costs.call_nsec, 0)
                     + (site->n_frees - count->n_frees)
                           * (2 * costs.call_nsec + costs.step_nsec)
                     + site->n_allocs * costs.call_nsec)
                    * 1e-9;
  else if (strcmp (site->arena, "context") == 0)
    saving.value += (fmax (count->nsec - count->n_frees * costs.call_nsec, 0)
                     + fmax (site->owners.n_together - count->n_frees, 0)
                           * (2 * costs.call_nsec + costs.step_nsec))
                    * 1e-9;
  return saving;
}

static void
time_print (const TrialRuns *runs, Estimate saving)
{
  double before = sli_trial_median (runs->cpu_sec[TRIAL_PLAIN], runs->n);
  double half = INTERVAL_SHARE * fabs (saving.value);
  double high = fmin (saving.value + half, before);
  double finding
      = sli_trial_median (runs->cpu_sec[TRIAL_MALLOC], runs->n) - before;

  if (finding > FINDING_SHARE * fabs (saving.value))
    printf ("time     inconclusive: the runs say %.3g s of %.4g s, and finding "
            "the site takes %.2g s\n",
            saving.value, before, finding);
  else if (saving.half > NOISE_SHARE * fabs (saving.value))
    printf ("time     inconclusive: the runs say %.3g s +- %.2g s of %.4g s\n",
            saving.value, saving.half, before);
  else
    printf ("time     %.1f to %.1f %% of %.4g s saved (%.4g to %.4g s)\n",
            100 * (saving.value - half) / before, 100 * high / before, before,
            saving.value - half, high);
}

static void
memory_print (const TrialRuns *runs)
{
  double before = sli_trial_median (runs->rss_kib[TRIAL_PLAIN], runs->n);
  Estimate saving = sli_trial_difference (
      runs->rss_kib[TRIAL_MALLOC], runs->rss_kib[TRIAL_ARENA], runs->n);
  double half = INTERVAL_SHARE * fabs (saving.value);

  if (fmax (saving.half, MEMORY_KIB) > half)
    printf ("memory   inconclusive: %.0f KiB of %.0f KiB, and the library's "
            "own pages and the runs may differ by %.0f KiB\n",
            saving.value, before, fmax (saving.half, MEMORY_KIB));
  else
    printf ("memory   %.0f to %.0f KiB of %.0f KiB saved\n",
            saving.value - half, saving.value + half, before);
}

/* Ends the program unless the library finds the blocks that the trace has: a
 * run of another size has other counts. */
static void
count_check (const TrialSite *site)
{
  if (site->count.n_served < 0)
    sli_tool_exit (TOOL_NO_EVENTS, "the program does not end by exit(): no "
                                   "count of its blocks, no prediction");
  if (site->count.n_served < SERVED_SHARE * site->n_allocs)
    sli_tool_exit (TOOL_NO_EVENTS,
                   "of %.0f blocks only %.0f can be found in the unchanged "
                   "program: no prediction",
                   site->n_allocs, site->count.n_served);
  if (strcmp (site->arena, "context") == 0
      && site->count.n_seen != site->owners.n_blocks)
    sli_tool_exit (TOOL_NO_EVENTS,
                   "%.0f blocks were allocated, and %.0f in the trace, so "
                   "their owners are not known: no prediction",
                   site->count.n_seen, site->owners.n_blocks);
  if (site->count.n_served * SERVED_SHARE > site->n_allocs)
    sli_tool_exit (TOOL_NO_EVENTS,
                   "%.0f blocks were allocated, and %.0f in the trace: record "
                   "a run of the same size; no prediction",
                   site->count.n_served, site->n_allocs);
}

/* Checks the counts; then runs the program until the interval of the saving is
 * narrow enough. */
static void
runs_make (TrialRuns *runs, TrialSite *site, const Predict *predict,
           const TrialPaths *paths, TrialCosts costs)
{
  site->count = sli_trial_count (site, predict->command, paths);
  count_check (site);
  for (int i = 0; i < MORE_ROUNDS; i++)
    {
      unsigned n = predict->n_rounds;
      Estimate saving;

      if (runs->n + n > TRIAL_ROUNDS_MAX)
        return;
      sli_trial_run (runs, site, predict->command, paths, n);
      slower_check (runs);
      saving = saving_find (runs, site, costs);
      if (saving.half <= NOISE_SHARE * fabs (saving.value))
        return;
    }
}

static char *
unnamed_path (int fd)
{
  return sli_tool_text ("/proc/%ld/fd/%d", (long) getpid (), fd);
}

static int
predict_run (const char *trace, const ProfileOptions *options,
             const Predict *predict)
{
  TrialRuns *runs = sli_tool_zero (sizeof *runs);
  TrialFiles files = { sli_file_unnamed (), sli_file_unnamed () };
  TrialPaths paths = { unnamed_path (files.advice),
                       unnamed_path (files.owners) };
  TrialSite site = site_find (trace, options, predict, files);
  TrialCosts costs = sli_trial_costs ();

  runs_make (runs, &site, predict, &paths, costs);
  printf ("site     %s%s: %s; tried on: %s\n", site.name,
          site.n_sites > 1 ? ", and others" : "", site.class, site.arena);
  printf ("calls    %.0f allocations, %.0f frees; %.2f ns a call that does "
          "nothing, %.2f ns a step\n",
          site.n_allocs, site.n_frees, costs.call_nsec, costs.step_nsec);
  if (site.count.n_frees > 0)
    printf ("frees    %.0f in loops that only free, %.3g ns each\n",
            site.count.n_frees, site.count.nsec / site.count.n_frees);
  time_print (runs, saving_find (runs, &site, costs));
  memory_print (runs);
  printf ("runs     %u of each, in turn: %.4g s as it is, %.4g s with the "
          "site found, %.4g s with the arena\n",
          runs->n, sli_trial_median (runs->cpu_sec[TRIAL_PLAIN], runs->n),
          sli_trial_median (runs->cpu_sec[TRIAL_MALLOC], runs->n),
          sli_trial_median (runs->cpu_sec[TRIAL_ARENA], runs->n));
  free (paths.advice);
  free (paths.owners);
  free (runs);
  close (files.advice);
  close (files.owners);
  return TOOL_OK;
}

static bool
arena_exists (const char *name)
{
  static const char *const names[]
      = { "linear", "stack", "pool", "slice", "context" };

  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp (name, names[i]) == 0)
      return true;
  return false;
}

int
sli_command_predict (int argc, char **argv)
{
  TraceOptions trace;
  Predict predict = { .n_rounds = 15 };
  const ToolOption table[]
      = { { OPTION_COUNT, NULL, 'n', &predict.n_rounds, "N",
            "Runs of each (15); up to four times as many if they differ much",
            5, TRIAL_ROUNDS_MAX },
          OPTION (TEXTS, "site", 0, &predict.sites, "TEXT",
                  "All sites with this in their names (^beginning, end$), in "
                  "one arena; may be repeated"),
          OPTION (TEXT, "as", 0, &predict.arena, "ARENA",
                  "linear, stack, pool, slice or context; by default linear "
                  "for the classes immortal, linear and linear-fair, stack for "
                  "stack and stack-lazy, context for owner, pool and slice for "
                  "these; others need this"),
          { 0 } };
  const CommandLine line
      = { .words = "TRACE COMMAND",
          .help = "Tries an arena for one site in the unchanged program, and "
                  "says what it saves in time and memory.  COMMAND, in "
                  "quotes, runs the program that was recorded.",
          .options = table,
          .trace = &trace,
          .least = 2,
          .most = 2 };

  sli_trace_options_init (&trace, 0);
  sli_command_line (&line, &argc, &argv);
  predict.command = argv[1];
  if (predict.arena != NULL && !arena_exists (predict.arena))
    sli_tool_exit (TOOL_USAGE,
                   "--as: \"linear\", \"stack\", \"pool\", \"slice\" or "
                   "\"context\"");
  return predict_run (argv[0], &trace.profile, &predict);
}
