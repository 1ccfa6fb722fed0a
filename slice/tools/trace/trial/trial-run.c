/* trial-run.c - runs the program in turn, and measures by what the runs differ
 *
 * Tools.  Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "trial.h"
#include "tools/trace/common/measure.h"
#include "tools/trace/common/paths.h"
#include "tools/trace/common/tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRIAL_LIBRARY "slice-trace-trial.so"
#define LIBSLICE "libslice.so.0"
#define N_COUNTS 5
#define N_CALLS 1000000
#define N_CALL_ROUNDS 20

/* --- the library --------------------------------------------------------- */

/* The two as LD_PRELOAD has them; frees them. */
static char *
preload_of (char *slice, char *trial)
{
  char *preload;

  sli_path_preload_check (slice);
  sli_path_preload_check (trial);
  preload = sli_tool_text ("%s:%s", slice, trial);
  free (slice);
  free (trial);
  return preload;
}

static char *
preload_find (void)
{
  static const char *const own[]
      = { "/../dropin/.libs", "/../../dropin/.libs", NULL };
  static const char *const base[] = { "/../.libs", "/../../.libs", NULL };
  char *trial = sli_path_beside (own, TRIAL_LIBRARY);
  char *slice = trial == NULL ? NULL : sli_path_beside (base, LIBSLICE);

  if (slice != NULL)
    return preload_of (slice, trial);
  free (trial);
  trial = sli_path_installed (SLICE_TRACE_LIBDIR, TRIAL_LIBRARY);
  /* what was moved does not find its libslice by itself */
  if (strcmp (trial, SLICE_TRACE_LIBDIR "/" TRIAL_LIBRARY) != 0)
    return preload_of (sli_path_installed (SLICE_TRACE_SLICEDIR, LIBSLICE),
                       trial);
  sli_path_preload_check (trial);
  return trial;
}

/* --- runs ---------------------------------------------------------------- */

typedef struct
{
  Trial trial;
  const TrialSite *site;
  const TrialPaths *paths;
  const char *preload;
} Task;

static void
environment_set (const void *data)
{
  const Task *task = data;
  const char *before = getenv ("LD_PRELOAD");

  if (task->trial == TRIAL_PLAIN)
    return;
  setenv ("LD_PRELOAD",
          before != NULL && before[0] != '\0'
              ? sli_tool_text ("%s:%s", task->preload, before)
              : task->preload,
          1);
  setenv ("SLICE_ADVICE", task->paths->advice, 1);
  setenv ("SLICE_TRIAL_OWNERS", task->paths->owners, 1);
  setenv ("SLICE_TRIAL",
          task->trial == TRIAL_ARENA ? task->site->arena : "malloc", 1);
}

void
sli_trial_run (TrialRuns *runs, const TrialSite *site, const char *command,
               const TrialPaths *paths, unsigned n)
{
  char *preload = preload_find ();

  for (unsigned end = runs->n + n; runs->n < end; runs->n++)
    for (unsigned i = 0; i < N_TRIALS; i++)
      {
        Trial trial = (Trial) ((i + runs->n) % N_TRIALS);
        Task task = { trial, site, paths, preload };
        Measured used = sli_measure (command, environment_set, &task);

        runs->cpu_sec[trial][runs->n] = used.cpu_sec;
        runs->rss_kib[trial][runs->n] = used.rss_kib;
      }
  free (preload);
}

static TrialCount
count_once (const TrialSite *site, const char *command,
            const TrialPaths *paths)
{
  char *preload = preload_find (), text[120] = "";
  TrialCount count = { .n_served = -1 };
  int fd = sli_file_unnamed ();
  char *path = sli_tool_text ("/proc/%ld/fd/%d", (long) getpid (), fd);
  Task task;
  ssize_t n;

  setenv ("SLICE_TRIAL_COUNT", path, 1);
  task = (Task){ TRIAL_ARENA, site, paths, preload };
  sli_measure (command, environment_set, &task);
  unsetenv ("SLICE_TRIAL_COUNT");
  n = pread (fd, text, sizeof text - 1, 0);
  close (fd);
  free (path);
  free (preload);
  if (n > 0
      && sscanf (text, "%lf %lf %lf %lf", &count.n_served, &count.n_frees,
                 &count.nsec, &count.n_seen)
             != 4)
    count.n_served = -1;
  return count;
}

static int
count_compare (const void *a, const void *b)
{
  double left = ((const TrialCount *) a)->nsec;
  double right = ((const TrialCount *) b)->nsec;

  return left < right ? -1 : left > right;
}

TrialCount
sli_trial_count (const TrialSite *site, const char *command,
                 const TrialPaths *paths)
{
  TrialCount counts[N_COUNTS];

  for (int i = 0; i < N_COUNTS; i++)
    counts[i] = count_once (site, command, paths);
  qsort (counts, N_COUNTS, sizeof *counts, count_compare);
  return counts[N_COUNTS / 2];
}

/* --- numbers ------------------------------------------------------------- */

static int
double_compare (const void *a, const void *b)
{
  double left = *(const double *) a, right = *(const double *) b;

  return left < right ? -1 : left > right;
}

/* A sorted copy; freed by the caller. */
static double *
sorted (const double *values, unsigned n)
{
  double *copy = sli_tool_alloc (n * sizeof *copy);

  memcpy (copy, values, n * sizeof *copy);
  qsort (copy, n, sizeof *copy, double_compare);
  return copy;
}

double
sli_trial_median (const double *values, unsigned n)
{
  double *copy = sorted (values, n);
  double median = (copy[(n - 1) / 2] + copy[n / 2]) / 2;

  free (copy);
  return median;
}

/* The median, and the order statistics around it that enclose the true one in
 * 95 % of the cases, whatever the noise looks like (the sign test, by its
 * normal approximation). */
Estimate
sli_trial_difference (const double *first, const double *second, unsigned n)
{
  double *less = sli_tool_alloc (n * sizeof *less);
  double *order;
  double ranks;
  unsigned low;
  Estimate found;

  for (unsigned i = 0; i < n; i++)
    less[i] = first[i] - second[i];
  order = sorted (less, n);
  ranks = (double) n / 2 - 0.98 * sqrt ((double) n);
  low = ranks < 0 ? 0 : (unsigned) ranks;
  found = (Estimate){ .value = sli_trial_median (less, n),
                      .half = (order[n - 1 - low] - order[low]) / 2 };
  free (order);
  free (less);
  return found;
}

static void *__attribute__ ((noinline))
called (void *argument)
{
  __asm__ volatile ("");
  return argument;
}

static double
cpu_nsec (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec * 1e9 + (double) now.tv_nsec;
}

/* A turn of the loop alone, with a call, or with a step. */
static double
loop_nsec (void *(*volatile *function) (void *), bool steps)
{
  void *cell = &cell, *value = &cell;
  double start = cpu_nsec ();

  for (int i = 0; i < N_CALLS; i++)
    {
      if (function != NULL)
        value = (*function) (value);
      if (steps)
        value = *(void **) value;
      __asm__ volatile ("" : "+r"(value) : : "memory");
    }
  return (cpu_nsec () - start) / N_CALLS;
}

TrialCosts
sli_trial_costs (void)
{
  void *(*volatile function) (void *) = called;
  double call = 1e300, step = 1e300, empty = 1e300;
  for (int i = 0; i < N_CALL_ROUNDS; i++)
    {
      call = fmin (call, loop_nsec (&function, false));
      step = fmin (step, loop_nsec (NULL, true));
      empty = fmin (empty, loop_nsec (NULL, false));
    }
  return (TrialCosts){ .call_nsec = fmax (call - empty, 0),
                       .step_nsec = fmax (step - empty, 0) };
}
