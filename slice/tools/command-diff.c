/* command-diff.c - slice-trace diff and compare: before and after
 *
 * Tools.  `diff` sets two runs' sites side by side, paired by their functions
 * (addresses and lines move with every build).  `compare` runs two commands in
 * turn and says whether they differ, by resampling.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "commands.h"
#include "stage.h"
#include "tool.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_RESAMPLES 10000
#define N_RUNS_MAX 200

/* --- diff ---------------------------------------------------------------- */

/* The functions of a site and those inlined there, innermost first. */
static char *
chain_of (const JsonValue *site)
{
  const JsonValue *frames = sli_json_get (site, "frames");
  char *chain = sli_tool_text ("%s", "");
  for (size_t i = 0; frames != NULL && i < frames->n_items; i++)
    {
      const JsonValue *frame = &frames->items[i];
      const char *function = sli_json_string (frame, "function");
      /* an unnamed place: its offset moves, its module does not */
      char *longer = sli_tool_text ("%s|%s|%s", chain,
                                    strstr (function, "+0x") != NULL
                                        ? sli_json_string (frame, "module")
                                        : function,
                                    sli_json_string (frame, "inlined"));
      free (chain);
      chain = longer;
    }
  return chain;
}

typedef struct
{
  char *chain;
  double calls[2], bytes[2], peak[2];
  const char *name;
  const char *class[2];
} Pair;

static int
pair_compare (const void *a, const void *b)
{
  const Pair *left = a, *right = b;
  double left_gap = fabs (left->bytes[1] - left->bytes[0]);
  double right_gap = fabs (right->bytes[1] - right->bytes[0]);
  return left_gap > right_gap ? -1 : left_gap < right_gap;
}

/* Sites of one chain (several calls in one function) are added up. */
static void
pairs_add (Pair **pairs, size_t *n, const JsonValue *document, int side)
{
  const JsonValue *sites = sli_json_get (document, "sites");
  for (size_t i = 0; i < sites->n_items; i++)
    {
      const JsonValue *site = &sites->items[i];
      char *chain = chain_of (site);
      size_t at = 0;
      while (at < *n && strcmp ((*pairs)[at].chain, chain) != 0)
        at++;
      if (at == *n)
        {
          *pairs = sli_tool_grow (*pairs, ++*n * sizeof (Pair));
          (*pairs)[at]
              = (Pair){ .chain = chain, .class = { "absent", "absent" } };
        }
      else
        free (chain);
      Pair *pair = &(*pairs)[at];
      pair->name = sli_json_string (site, "name");
      if (pair->calls[side] == 0)
        pair->class[side] = sli_json_string (site, "class");
      pair->calls[side] += sli_json_number (site, "calls");
      pair->bytes[side] += sli_json_number (site, "bytes");
      pair->peak[side] += sli_json_number (site, "peak");
    }
}

static double
percent_of (double after, double before)
{
  return before > 0 ? 100 * (after / before - 1) : after > 0 ? 100 : 0;
}

static bool
totals_print (JsonValue *const documents[2])
{
  static const char *const keys[]
      = { "calls", "bytes", "peak", "end_bytes", "byte_seconds" };
  bool differs = false;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    {
      double values[2];
      for (int side = 0; side < 2; side++)
        values[side] = sli_json_number (
            sli_json_get (documents[side], "totals"), keys[i]);
      printf ("%-14s %14.0f %14.0f %+8.2f %%\n", keys[i], values[0], values[1],
              percent_of (values[1], values[0]));
      /* time differs always */
      differs |= i < 4 && fabs (percent_of (values[1], values[0])) > 1;
    }
  return differs;
}

int
sli_command_diff (int argc, char **argv)
{
  const char *rows = sli_option_value (&argc, argv, "-n");
  sli_option_none_left (argc, argv);
  if (argc != 2)
    sli_tool_die (TOOL_USAGE, "two traces or patterns are wanted");
  JsonValue *documents[2]
      = { sli_stage_patterns (argv[0]), sli_stage_patterns (argv[1]) };
  Pair *pairs = NULL;
  size_t n = 0, n_rows = rows == NULL ? 30 : strtoul (rows, NULL, 10);
  for (int side = 0; side < 2; side++)
    pairs_add (&pairs, &n, documents[side], side);
  bool differs = totals_print (documents);
  if (n > 0)
    qsort (pairs, n, sizeof *pairs, pair_compare);
  printf ("\n%10s %10s %11s %11s  %-23s %s\n", "calls", "after", "bytes",
          "after", "class", "site");
  for (size_t i = 0; i < n && i < n_rows; i++)
    {
      const Pair *pair = &pairs[i];
      bool same = strcmp (pair->class[0], pair -> class[1]) == 0;
      printf ("%10.0f %10.0f %11.0f %11.0f  %s%s%s  %.40s\n", pair->calls[0],
              pair->calls[1], pair->bytes[0], pair->bytes[1], pair->class[0],
              same ? "" : " -> ", same ? "" : pair->class[1], pair -> name);
      differs |= !same;
    }
  for (size_t i = 0; i < n; i++)
    free (pairs[i].chain);
  free (pairs);
  sli_json_free (documents[0]);
  sli_json_free (documents[1]);
  return differs ? TOOL_DIFFERS : TOOL_OK;
}

/* --- compare ------------------------------------------------------------- */

typedef struct
{
  double cpu_sec, rss_kib;
} Measured;

static Measured
command_measure (const char *command)
{
  int status;
  struct rusage usage;
  pid_t pid = fork ();
  if (pid < 0)
    sli_tool_die (TOOL_FAILED, "fork: %s", strerror (errno));
  if (pid == 0)
    {
      int null = open ("/dev/null", O_WRONLY);
      dup2 (null, STDOUT_FILENO);
      execl ("/bin/sh", "sh", "-c", command, (char *)NULL);
      _exit (TOOL_NOT_RUN);
    }
  if (wait4 (pid, &status, 0, &usage) < 0 || !WIFEXITED (status)
      || WEXITSTATUS (status) != 0)
    sli_tool_die (TOOL_NOT_RUN, "\"%s\" did not succeed", command);
  return (Measured){ (double)usage.ru_utime.tv_sec
                         + (double)usage.ru_utime.tv_usec * 1e-6
                         + (double)usage.ru_stime.tv_sec
                         + (double)usage.ru_stime.tv_usec * 1e-6,
                     (double)usage.ru_maxrss };
}

static uint64_t
random_next (uint64_t *state)
{
  *state = *state * UINT64_C (6364136223846793005) + 1442695040888963407u;
  return *state >> 33;
}

static int
double_compare (const void *a, const void *b)
{
  double left = *(const double *)a, right = *(const double *)b;
  return left < right ? -1 : left > right;
}

static double
mean_of (const double *values, size_t n)
{
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += values[i];
  return sum / (double)n;
}

static double
deviation_of (const double *values, size_t n)
{
  double mean = mean_of (values, n), sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += (values[i] - mean) * (values[i] - mean);
  return n > 1 ? sqrt (sum / (double)(n - 1)) : 0;
}

/* The ratio of the means, and its 95 % interval by resampling both sides.
 * The seed is fixed: the same numbers give the same answer. */
static bool
ratio_print (const char *what, const char *unit, const double *before,
             const double *after, size_t n)
{
  uint64_t state = 42;
  double *ratios = sli_tool_alloc (N_RESAMPLES * sizeof *ratios);
  for (int i = 0; i < N_RESAMPLES; i++)
    {
      double sums[2] = { 0, 0 };
      for (size_t k = 0; k < n; k++)
        {
          sums[0] += before[random_next (&state) % n];
          sums[1] += after[random_next (&state) % n];
        }
      ratios[i] = sums[1] / sums[0];
    }
  qsort (ratios, N_RESAMPLES, sizeof *ratios, double_compare);
  double low = ratios[N_RESAMPLES / 40];
  double high = ratios[N_RESAMPLES - N_RESAMPLES / 40];
  bool significant = low > 1 || high < 1;
  printf ("%-8s %10.4g %s (+-%.2g)  ->  %10.4g %s (+-%.2g)\n", what,
          mean_of (before, n), unit, deviation_of (before, n),
          mean_of (after, n), unit, deviation_of (after, n));
  printf ("         ratio %.4f, 95 %% of resamples in %.4f to %.4f: %s\n",
          mean_of (after, n) / mean_of (before, n), low, high,
          significant ? "significant" : "not significant");
  free (ratios);
  return significant;
}

int
sli_command_compare (int argc, char **argv)
{
  const char *runs = sli_option_value (&argc, argv, "-n");
  const char *advice_path = sli_option_value (&argc, argv, "--predicted");
  sli_option_none_left (argc, argv);
  if (argc != 2)
    sli_tool_die (TOOL_USAGE, "two commands are wanted, each in quotes");
  size_t n = runs == NULL ? 10 : strtoul (runs, NULL, 10);
  if (n < 2 || n > N_RUNS_MAX)
    sli_tool_die (TOOL_USAGE, "-n is 2 to %d", N_RUNS_MAX);
  double cpu[2][N_RUNS_MAX], rss[2][N_RUNS_MAX];
  for (size_t i = 0; i < n; i++)
    for (int side = 0; side < 2; side++)
      {
        /* in turn, and the first of a pair changes */
        int which = (int)(i & 1) ^ side;
        Measured measured = command_measure (argv[which]);
        cpu[which][i] = measured.cpu_sec;
        rss[which][i] = measured.rss_kib;
      }
  bool differs = ratio_print ("cpu", "s", cpu[0], cpu[1], n);
  differs |= ratio_print ("memory", "KiB", rss[0], rss[1], n);
  JsonValue *advice = sli_stage_load (advice_path, "slice-trace advice 1");
  if (advice != NULL)
    {
      const JsonValue *totals = sli_json_get (advice, "totals");
      printf ("saved    %.4g s measured; %.4g to %.4g s predicted\n",
              mean_of (cpu[0], n) - mean_of (cpu[1], n),
              sli_json_number (totals, "saved_nsec_low") * 1e-9,
              sli_json_number (totals, "saved_nsec_high") * 1e-9);
    }
  sli_json_free (advice);
  return differs ? TOOL_DIFFERS : TOOL_OK;
}
