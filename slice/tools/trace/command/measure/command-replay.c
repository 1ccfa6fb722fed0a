/* command-replay.c - slice-trace replay: the cost of other allocators
 *
 * Tools.  Writes JSON: the whole trace on each allocator, each hotline on
 * malloc and on the allocator of its class, and the trace with all advice
 * taken.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tools/trace/command/commands.h"
#include "replay-parts.h"
#include "tools/trace/common/stage/origin.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_HOT_REPLAYED 12
#define N_BLOCK_SITES 5
/* All advice taken together, compared with malloc: this many rounds, each the
 * best of this many repeats; one repeat is enough for a long trace. */
#define N_TOGETHER_ROUNDS 7
#define N_TOGETHER_REPEATS 3
#define LONG_TRACE_OPS 4000000

int
sli_double_compare (const void *a, const void *b)
{
  double left = *(const double *) a, right = *(const double *) b;

  return left < right ? -1 : left > right;
}

/* Measures the whole trace. */
static ReplayResult
measure (const ReplayOptions *options, BackendId backend, bool advised,
         unsigned pollute_lines, const char *preload)
{
  ReplayTask task = { .ops_path = options->ops.path,
                      .backend = backend,
                      .advised = advised,
                      .only_site = SITE_NONE,
                      .n_repeats = options->n_repeats,
                      .pollute_lines = pollute_lines,
                      .litter = options->litter,
                      .preload = preload };

  return sli_replay_measure (&task);
}

static void
result_write (JsonOut *out, const char *name, const ReplayResult *result,
              const ReplayResult *none)
{
  sli_json_begin (out, NULL, '{');
  sli_json_text (out, "backend", name);
  sli_json_bool (out, "done", result->good);
  if (result->good)
    {
      sli_json_real (out, "nsec", net (result, none));
      sli_json_real (out, "nsec_per_op",
                     net (result, none) / (double) result->n_ops);
      sli_json_real (out, "spread",
                     result->nsec > 0 ? result->nsec_median / result->nsec - 1
                                      : 0);
      sli_json_uint (out, "rss_peak", result->rss_peak);
      sli_json_begin (out, "curve", '[');
      for (int i = 0; i < N_CURVE; i++)
        sli_json_uint (out, NULL, result->curve[i]);
      sli_json_end (out, ']');
    }
  sli_json_end (out, '}');
}

static void
whole_write (JsonOut *out, const ReplayOptions *options,
             const ReplayResult *none)
{
  ReplayResult advised;

  sli_json_begin (out, "whole", '[');
  for (int id = BACKEND_MALLOC; id < N_BACKENDS; id++)
    {
      ReplayResult result = measure (options, (BackendId) id, false, 0, NULL);

      result_write (out, sli_backend_name ((BackendId) id), &result, none);
    }
  for (size_t i = 0; i < options->preloads.n; i++)
    {
      const char *preload = options->preloads.items[i];
      ReplayResult result
          = measure (options, BACKEND_MALLOC, false, 0, preload);

      result_write (out, preload, &result, none);
    }
  advised = measure (options, BACKEND_MALLOC, true, 0, NULL);
  result_write (out, "advised", &advised, none);
  sli_json_end (out, ']');
}

/* The number of cache lines, touched between two operations, that makes malloc
 * here as slow as it was in the program.  More lines make it slower, so the
 * first number that is too slow ends the search. */
static unsigned
pollution_find (const ReplayOptions *options, double wanted_nsec)
{
  unsigned best = 0;
  double best_gap = 1e300;

  for (unsigned lines = 0; lines <= 64; lines = lines == 0 ? 1 : lines * 2)
    {
      ReplayResult none = measure (options, BACKEND_NONE, false, lines, NULL);
      ReplayResult result
          = measure (options, BACKEND_MALLOC, false, lines, NULL);
      double nsec = net (&result, &none) / (double) result.n_ops;
      double gap
          = nsec > wanted_nsec ? nsec - wanted_nsec : wanted_nsec - nsec;

      if (gap < best_gap)
        {
          best_gap = gap;
          best = lines;
        }
      if (nsec > wanted_nsec)
        break;
    }
  return best;
}

/* The program's own mean time, from a timed run; 0 if there is none. */
static double
program_nsec_per_op (const char *path)
{
  double nsec = 0, n = 0;
  JsonValue *times = sli_stage_load (path, "slice-trace patterns 1");
  const JsonValue *sites = sli_json_get (times, "sites");

  for (size_t i = 0; sites != NULL && i < sites->n_items; i++)
    {
      const JsonValue *site = &sites->items[i];

      nsec += sli_json_number (site, "alloc_nsec")
              + sli_json_number (site, "free_nsec");
      n += sli_json_number (site, "calls") + sli_json_number (site, "frees");
    }
  sli_json_free (times);
  return n > 0 ? nsec / n : 0;
}

/* Removes, in the operations' file of the last measurement, the advice for
 * sites that did not win in the replay. */
static void
classes_drop (const ReplayOptions *options, const Profile *profile,
              const bool *keep)
{
  for (uint32_t i = 0; i < profile->n_results; i++)
    {
      uint32_t class = CLASS_GENERAL;
      off_t at = (off_t) (sizeof (ReplayHead) + i * sizeof (ReplaySite));

      if (!keep[i]
          && pwrite (options->ops.fd, &class, sizeof class, at)
                 != sizeof class)
        sli_tool_exit (TOOL_FAILED, "the operations' file can't be changed");
    }
}

static double
together_measure (const ReplayOptions *options, unsigned n_repeats,
                  bool advised, ReplayFrees frees)
{
  ReplayTask task = { .ops_path = options->ops.path,
                      .backend = BACKEND_MALLOC,
                      .advised = advised,
                      .only_site = SITE_NONE,
                      .frees = frees,
                      .n_repeats = n_repeats,
                      .litter = options->litter };

  return sli_replay_measure (&task).nsec;
}

/* A site alone on malloc takes less time than among others, which share
 * malloc's lists and the cache.  Its blocks are also closer together, so
 * visits of all of them take less time. */
static void
together_write (JsonOut *out, const ReplayOptions *options, uint64_t n_ops)
{
  const unsigned n = N_TOGETHER_ROUNDS;
  const unsigned times = n_ops > LONG_TRACE_OPS ? 1 : N_TOGETHER_REPEATS;
  double nsec[2][2][N_TOGETHER_ROUNDS]; /* by reading and advice */
  double saved, walk;
  const double *plain;
  const double *advised;

  for (unsigned round = 0; round < n; round++)
    for (int reading = 0; reading < 2; reading++)
      for (int advice = 0; advice < 2; advice++)
        nsec[reading][advice][round] = together_measure (
            options, times, advice != 0, reading ? FREES_READ : FREES_CALLED);
  for (int i = 0; i < 4; i++)
    qsort (nsec[i / 2][i % 2], n, sizeof (double), sli_double_compare);
  /* other programs make a run slower, never faster: compare the best of one
   * with the third of the other */
  plain = nsec[0][0];
  advised = nsec[0][1];
  saved = plain[0] - advised[0];
  walk = nsec[1][0][0] - nsec[1][1][0] - saved;
  sli_json_begin (out, "together", '{');
  sli_json_real (out, "saved_nsec_low", plain[0] - advised[2]);
  sli_json_real (out, "saved_nsec_high", plain[2] - advised[0]);
  sli_json_real (out, "walk_nsec", walk > 0 ? walk : 0);
  sli_json_end (out, '}');
}

static void
sites_write (JsonOut *out, const ReplayOptions *options,
             const Profile *profile)
{
  unsigned n_blocks = 0;
  bool *keep = sli_tool_zero (profile->n_results + 1);
  Progress progress;

  sli_progress_begin (&progress, "replay", profile->n_hot);
  sli_json_begin (out, "sites", '[');
  for (uint32_t rank = 0; rank < profile->n_hot; rank++)
    {
      uint32_t index = profile->ranked[rank];
      SiteReplay site = { 0 };
      double before;

      sli_replay_site (options, profile, index, &site);
      before = net (&site.malloc, &site.none);
      keep[index]
          = profile->results[index].verdict.class == CLASS_POOL
                ? site.win
                : site.measured
                      && (site.win || net (&site.other, &site.none) < before);
      if (site.measured)
        sli_replay_site_write (out, options, profile, index, &site,
                               n_blocks++ < N_BLOCK_SITES);
      sli_progress_step (&progress, rank + 1, rank + 1);
    }
  sli_json_end (out, ']');
  sli_progress_end (&progress);
  classes_drop (options, profile, keep);
  free (keep);
}

static int
replay_all (ReplayOptions *options, const char *trace)
{
  const char *path = options->output;
  double program;
  Profile *profile;
  FILE *file;
  JsonOut out;
  ReplayResult none;
  bool good;

  sli_file_check (path);
  program = program_nsec_per_op (options->times);
  profile = sli_profile_some (trace, &options->trace.profile);
  options->ops = sli_replay_write (profile, &options->trace.profile);
  file = sli_file_begin (path);
  out = (JsonOut){ .file = file };
  none = measure (options, BACKEND_NONE, false, 0, NULL);
  options->pollute_lines = program > 0 ? pollution_find (options, program) : 8;
  sli_json_begin (&out, NULL, '{');
  sli_json_text (&out, "format", "slice-trace replay 1");
  sli_origin_write (&out, profile);
  sli_json_uint (&out, "operations", none.n_ops);
  sli_json_uint (&out, "calls", none.n_allocs);
  sli_json_uint (&out, "bytes", none.bytes);
  sli_json_uint (&out, "peak", none.peak_live);
  sli_json_real (&out, "empty_nsec_per_op",
                 none.nsec / (double) (none.n_ops + (none.n_ops == 0)));
  sli_json_real (&out, "program_nsec_per_op", program);
  sli_json_uint (&out, "pollute_lines", options->pollute_lines);
  sli_json_bool (&out, "litter", options->litter);
  sites_write (&out, options, profile);
  together_write (&out, options, none.n_ops);
  whole_write (&out, options, &none);
  sli_json_end (&out, '}');
  good = sli_file_end (file, path);
  sli_replay_file_close (&options->ops);
  sli_profile_free (profile);
  return good ? TOOL_OK : TOOL_FAILED;
}

int
sli_command_replay (int argc, char **argv)
{
  ReplayOptions options = { .output = "-", .n_repeats = 5 };
  const ToolOption table[]
      = { OPTION (OUTPUT, NULL, 'o', &options.output, "FILE", "The JSON"),
          OPTION (INPUT, "times", 0, &options.times, "FILE",
                  "The program's own times: patterns of a timed trace"),
          OPTION (TEXTS, "preload", 0, &options.preloads, "LIBRARY",
                  "Another malloc; may be repeated"),
          { OPTION_COUNT, "repeats", 0, &options.n_repeats, "N",
            "Measure each N times (5)", 1, 1000 },
          OPTION (FLAG, "litter", 0, &options.litter, NULL,
                  "Start with a heap that was used before"),
          { 0 } };
  const CommandLine line = { .words = "TRACE",
                             .help = "Measures the trace on other allocators.",
                             .options = table,
                             .trace = &options.trace,
                             .least = 1,
                             .most = 1 };

  sli_trace_options_init (&options.trace, N_HOT_REPLAYED);
  sli_command_line (&line, &argc, &argv);
  for (size_t i = 0; i < options.preloads.n; i++)
    sli_replay_preload_check (options.preloads.items[i]);
  return replay_all (&options, argv[0]);
}
