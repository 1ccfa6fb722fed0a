/* command-compare.c - slice-trace compare: finds out whether two things differ
 *
 * Tools.  Two commands run in turn; or, with --replay, the whole of each
 * trace on malloc and on slices over two sources of pages, each measurement
 * in a process of its own, in turn.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/replay/replay.h"
#include "tools/trace/replay/resample.h"
#include "tools/trace/common/measure.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/trial/trial.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define N_RUNS_MAX 200
#define CURVE_COLUMNS 32

/* --- two commands -------------------------------------------------------- */

static void
seconds_print (const double *values, size_t n)
{
  printf ("%10.4g s (+-%.2g)", sli_mean (values, n),
          sli_deviation (values, n));
}

static void
kib_print (const double *values, size_t n)
{
  printf ("%10.0f KiB (+-%.0f)", sli_mean (values, n),
          sli_deviation (values, n));
}

static bool
ratio_print (const char *what, void (*print) (const double *, size_t),
             const double *before, const double *after, size_t n)
{
  Resampled resampled = sli_resample (before, after, n);

  printf ("%-8s ", what);
  print (before, n);
  fputs ("  ->  ", stdout);
  print (after, n);
  printf ("\n         ratio %.4f, 95 %% interval %.4f to %.4f: %s\n",
          resampled.ratio, resampled.low, resampled.high,
          resampled.significant ? "significant" : "not significant");
  return resampled.significant;
}

/* As slice-trace predict counts: the median of the differences, pair by
 * pair. */
static void
medians_print (double cpu[2][N_RUNS_MAX], double rss[2][N_RUNS_MAX],
               unsigned n)
{
  double before = sli_trial_median (cpu[0], n);
  double saved = sli_trial_difference (cpu[0], cpu[1], n).value;
  double kib = sli_trial_difference (rss[0], rss[1], n).value;

  printf ("time     %.1f %% of %.4g s saved (%.4g s)\n", 100 * saved / before,
          before, saved);
  printf ("memory   %.0f KiB of %.0f KiB saved\n", kib,
          sli_trial_median (rss[0], n));
}

static int
commands_compare (char **commands, size_t n, bool medians)
{
  double cpu[2][N_RUNS_MAX] = { { 0 } }, rss[2][N_RUNS_MAX];
  bool differs;

  for (size_t i = 0; i < n; i++)
    for (int side = 0; side < 2; side++)
      {
        /* in turn, and the first of a pair changes */
        int which = (int) (i & 1) ^ side;
        Measured measured = sli_measure (commands[which], NULL, NULL);

        cpu[which][i] = measured.cpu_sec;
        rss[which][i] = measured.rss_kib;
      }
  if (medians)
    {
      medians_print (cpu, rss, (unsigned) n);
      return TOOL_OK;
    }
  differs = ratio_print ("cpu", seconds_print, cpu[0], cpu[1], n);
  differs |= ratio_print ("memory", kib_print, rss[0], rss[1], n);
  return differs ? TOOL_DIFFERS : TOOL_OK;
}

/* --- traces on allocators ------------------------------------------------ */

typedef struct
{
  const char *name;
  BackendId backend;
  const char *options, *preload;
  double nsec[N_RUNS_MAX], peak[N_RUNS_MAX];
  uint64_t curve[N_CURVE]; /* of the first round */
} Variant;

static void
variant_measure (Variant *variant, const char *ops_path, size_t round,
                 uint64_t *n_ops)
{
  ReplayTask task = { .ops_path = ops_path,
                      .backend = variant->backend,
                      .only_site = SITE_NONE,
                      .n_repeats = 1,
                      .options = variant->options,
                      .preload = variant->preload };
  ReplayResult result = sli_replay_measure (&task);

  if (!result.good)
    sli_tool_exit (TOOL_FAILED, "the replay on %s did not succeed",
                   variant->name);
  variant->nsec[round] = result.nsec;
  variant->peak[round] = (double) result.rss_peak;
  *n_ops = result.n_ops;
  if (round == 0)
    memcpy (variant->curve, result.curve, sizeof variant->curve);
}

/* Memory over the operations, in characters: of the highest of all. */
static void
curve_print (const Variant *variant, uint64_t most)
{
  static const char shades[] = " .:-=+*%#@";
  char line[CURVE_COLUMNS + 1];

  for (int i = 0; i < CURVE_COLUMNS; i++)
    {
      uint64_t high = variant->curve[i * N_CURVE / CURVE_COLUMNS];

      for (int k = i * N_CURVE / CURVE_COLUMNS;
           k < (i + 1) * N_CURVE / CURVE_COLUMNS; k++)
        high = variant->curve[k] > high ? variant->curve[k] : high;
      line[i] = shades[most == 0 ? 0 : high * (sizeof shades - 2) / most];
    }
  line[CURVE_COLUMNS] = '\0';
  printf ("  |%s|\n", line);
}

static void
variant_print (const Variant *variant, const Variant *first, size_t n,
               double n_ops, uint64_t most)
{
  double mean = sli_mean (variant->nsec, n) / n_ops;
  double deviation = sli_deviation (variant->nsec, n) / n_ops;

  printf ("%-15s %6.1f +-%-5.2g", variant->name, mean, deviation);
  if (variant == first)
    printf ("%22s", "");
  else
    {
      Resampled time = sli_resample (first->nsec, variant->nsec, n);

      printf ("%5.2f (%.2f to %.2f)%s", time.ratio, time.low, time.high,
              time.significant ? " *" : "  ");
    }
  printf (" %8.0f +-%-4.0f", sli_mean (variant->peak, n) / 1024,
          sli_deviation (variant->peak, n) / 1024);
  if (variant == first)
    printf ("%7s", "");
  else
    {
      Resampled peak = sli_resample (first->peak, variant->peak, n);

      printf ("%5.2f%s", peak.ratio, peak.significant ? " *" : "  ");
    }
  curve_print (variant, most);
}

static void
trace_replay (const char *path, const ProfileOptions *options,
              Variant *variants, size_t n_variants, size_t n)
{
  Profile *profile = sli_profile_some (path, options);
  ReplayFile ops = sli_replay_write (profile, options);
  uint64_t n_ops = 0, most = 0;

  for (size_t round = 0; round < n; round++)
    for (size_t i = 0; i < n_variants; i++)
      variant_measure (&variants[(i + round) % n_variants], ops.path, round,
                       &n_ops);
  /* the last one is the loop without an allocator */
  for (size_t i = 0; i + 1 < n_variants; i++)
    {
      for (size_t round = 0; round < n; round++)
        variants[i].nsec[round] -= sli_mean (variants[n_variants - 1].nsec, n);
      for (int k = 0; k < N_CURVE; k++)
        most = variants[i].curve[k] > most ? variants[i].curve[k] : most;
    }
  printf ("%.99s\n  %llu operations, %llu KiB alive at the peak\n",
          profile->reader->command, (unsigned long long) n_ops,
          (unsigned long long) (profile->totals.peak / 1024));
  for (size_t i = 0; i + 1 < n_variants; i++)
    variant_print (&variants[i], &variants[0], n, (double) n_ops, most);
  sli_replay_file_close (&ops);
  sli_profile_free (profile);
}

static int
traces_compare (int argc, char **argv, const ProfileOptions *options,
                const TextList *preloads, size_t n)
{
  static const Variant first[] = {
    { .name = "malloc", .backend = BACKEND_MALLOC },
    { .name = "posix_memalign",
      .backend = BACKEND_SLICE,
      .options = "page-source=posix_memalign" },
    { .name = "mmap",
      .backend = BACKEND_SLICE,
      .options = "page-source=mmap" },
  };
  size_t n_variants;
  Variant *variants;

  sli_stage_inputs_check (argc, argv);
  for (size_t i = 0; i < preloads->n; i++)
    sli_replay_preload_check (preloads->items[i]);
  n_variants = sizeof first / sizeof *first;
  variants = sli_tool_zero ((n_variants + preloads->n + 1) * sizeof *variants);
  memcpy (variants, first, sizeof first);
  for (size_t i = 0; i < preloads->n; i++)
    {
      const char *path = preloads->items[i], *name = strrchr (path, '/');

      variants[n_variants++]
          = (Variant){ .name = name == NULL ? path : name + 1,
                       .backend = BACKEND_MALLOC,
                       .preload = path };
    }
  variants[n_variants++]
      = (Variant){ .name = "none", .backend = BACKEND_NONE };
  printf ("%-15s %-14s%-22s %-15s%-7s   memory over the operations\n", "",
          "ns/operation", "ratio (95 %)", "peak KiB", "ratio");
  for (int i = 0; i < argc; i++)
    trace_replay (argv[i], options, variants, n_variants, n);
  free (variants);
  puts ("\n* the ratio's interval, by resampling, does not hold 1");
  return TOOL_OK;
}

int
sli_command_compare (int argc, char **argv)
{
  TraceOptions trace;
  TextList preloads = { 0 };
  uint32_t n = 10;
  bool replay = false, medians = false;
  const ToolOption options[]
      = { { OPTION_COUNT, NULL, 'n', &n, "N", "Runs of each (10)", 2,
            N_RUNS_MAX },
          OPTION (FLAG, "medians", 0, &medians, NULL,
                  "Print the medians of what each pair of runs saves"),
          OPTION (FLAG, "replay", 0, &replay, NULL,
                  "Replay traces on malloc and on slices instead"),
          OPTION (TEXTS, "preload", 0, &preloads, "LIBRARY",
                  "Another malloc for --replay; may be repeated"),
          { 0 } };
  const CommandLine line
      = { .words = "COMMAND COMMAND",
          .help = "Finds out whether two commands, each in "
                  "quotes, differ in time and memory.  With "
                  "--replay it compares allocators instead, "
                  "on traces.",
          .options = options,
          .trace = &trace,
          .least = 1,
          .most = INT_MAX };

  sli_trace_options_init (&trace, 1);
  sli_command_line (&line, &argc, &argv);
  if (replay && medians)
    sli_tool_exit (TOOL_USAGE,
                   "--medians is of two commands, not of --replay");
  if (!replay && (preloads.n > 0 || trace.given.n > 0))
    sli_tool_exit (TOOL_USAGE, "%s is of --replay, not of two commands",
                   preloads.n > 0 ? "--preload" : trace.given.items[0]);
  if (replay)
    return traces_compare (argc, argv, &trace.profile, &preloads, n);
  if (argc != 2)
    sli_tool_exit (TOOL_USAGE, "two commands are wanted, each in quotes, or "
                               "--replay and traces");
  return commands_compare (argv, n, medians);
}
