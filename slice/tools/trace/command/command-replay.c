/* command-replay.c - slice-trace replay: what other allocators would cost
 *
 * Tools.  Writes JSON: the whole trace on each allocator, each hotline on
 * malloc and on what its class names, and the trace with all advice taken.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "command-line.h"
#include "commands.h"
#include "tools/trace/common/json.h"
#include "tools/trace/common/origin.h"
#include "tools/trace/profile/profile-json.h"
#include "tools/trace/replay/replay.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_HOT_REPLAYED 12
#define N_BLOCK_SIZES 7 /* 1 to 64 KiB */
#define N_BLOCK_SITES 5
/* A pool must win this much, in time or in memory. */
#define POOL_WIN 0.90
/* A site's measurements take turns, so often. */
#define N_ROUNDS_MAX 5
#define N_COLD_ROUNDS 2
/* All advice taken at once, against malloc: so often, the best of so many; a
 * long trace is steady enough with one. */
#define N_TOGETHER_ROUNDS 7
#define N_TOGETHER_REPEATS 3
#define LONG_TRACE_OPS 4000000

typedef struct
{
  const char *output, *times;
  TextList preloads;
  uint32_t n_repeats;
  TraceOptions trace;
  bool litter;
  ReplayFile ops;
  unsigned pollute_lines;
} ReplayOptions;

typedef struct
{
  ReplayResult malloc, other, malloc_cold, other_cold, none, none_cold;
  BackendId backend;
  bool measured, win;
  double visit_nsec; /* what it takes to go to each block to free it */
  double saved_low, saved_high; /* of the rounds */
} SiteReplay;

static ReplayResult
measure (const ReplayOptions *options, BackendId backend, bool advised,
         uint32_t site, unsigned pollute_lines, size_t block_bytes,
         const char *preload)
{
  ReplayTask task = { .ops_path = options->ops.path,
                      .backend = backend,
                      .advised = advised,
                      .only_site = site,
                      .n_repeats = options->n_repeats,
                      .block_bytes = block_bytes,
                      .pollute_lines = pollute_lines,
                      .litter = options->litter,
                      .preload = preload };
  return sli_replay_measure (&task);
}

/* The calls of free go away with these, and what goes from block to block to
 * make them. */
static bool
is_freed_whole (SiteClass class)
{
  return class == CLASS_LINEAR || class == CLASS_LINEAR_FAIR
         || class == CLASS_SCOPE || class == CLASS_OWNER;
}

static double
net (const ReplayResult *result, const ReplayResult *none)
{
  double nsec = result->nsec - none->nsec;
  return nsec > 0 ? nsec : 0;
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
                     net (result, none) / (double)result->n_ops);
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
  sli_json_begin (out, "whole", '[');
  for (int id = BACKEND_MALLOC; id < N_BACKENDS; id++)
    {
      ReplayResult result
          = measure (options, (BackendId)id, false, SITE_NONE, 0, 0, NULL);
      result_write (out, sli_backend_name ((BackendId)id), &result, none);
    }
  for (size_t i = 0; i < options->preloads.n; i++)
    {
      const char *preload = options->preloads.items[i];
      ReplayResult result
          = measure (options, BACKEND_MALLOC, false, SITE_NONE, 0, 0, preload);
      result_write (out, preload, &result, none);
    }
  ReplayResult advised
      = measure (options, BACKEND_MALLOC, true, SITE_NONE, 0, 0, NULL);
  result_write (out, "advised", &advised, none);
  sli_json_end (out, ']');
}

/* How many cache lines the program itself touches between two operations, so
 * to say: the number that makes malloc here as slow as it was there.  More
 * lines make it slower, so the first that is slower ends the search. */
static unsigned
pollution_find (const ReplayOptions *options, double wanted_nsec)
{
  unsigned best = 0;
  double best_gap = 1e300;
  for (unsigned lines = 0; lines <= 64; lines = lines == 0 ? 1 : lines * 2)
    {
      ReplayResult none
          = measure (options, BACKEND_NONE, false, SITE_NONE, lines, 0, NULL);
      ReplayResult result = measure (options, BACKEND_MALLOC, false, SITE_NONE,
                                     lines, 0, NULL);
      double nsec = net (&result, &none) / (double)result.n_ops;
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

/* The program's own mean, from a timed run's numbers; 0 if there is none. */
static double
program_nsec_per_op (const char *path)
{
  char error[256];
  double nsec = 0, n = 0;
  JsonValue *times = path == NULL ? NULL : sli_json_load (path, error);
  if (path != NULL && times == NULL)
    sli_tool_exit (TOOL_BAD_INPUT, "%s: %s", path, error);
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

typedef struct
{
  ReplayResult *result;
  BackendId backend;
  bool cold;
  ReplayFrees frees;
} SiteTurn;

#define N_SITE_TURNS 8
#define TURN_MALLOC 1
#define TURN_OTHER 2

static int
double_compare (const void *a, const void *b)
{
  double left = *(const double *)a, right = *(const double *)b;
  return left < right ? -1 : left > right;
}

static unsigned
rounds_of (const ReplayOptions *options)
{
  return options->n_repeats < N_ROUNDS_MAX ? options->n_repeats : N_ROUNDS_MAX;
}

static ReplayResult
turn_measure (const ReplayOptions *options, uint32_t index, SiteClass class,
              const SiteTurn *turn)
{
  ReplayTask task = { .ops_path = options->ops.path,
                      .backend = turn->backend,
                      /* groups exist only when the advice is taken */
                      .advised = turn->backend == sli_backend_of_class (class),
                      .only_site = index,
                      .frees = turn->frees,
                      .n_repeats = options->n_repeats / rounds_of (options),
                      .pollute_lines = turn->cold ? options->pollute_lines : 0,
                      .litter = options->litter };
  return sli_replay_measure (&task);
}

/* Each in its turn, several times: what else the machine does for a moment
 * then falls on one turn, not on all that one allocator has. */
static void
turns_measure (const ReplayOptions *options, uint32_t index, SiteReplay *site,
               SiteClass class, const SiteTurn turns[N_SITE_TURNS])
{
  double saved[N_ROUNDS_MAX];
  unsigned n = rounds_of (options);
  for (unsigned round = 0; round < n; round++)
    {
      double nsec[N_SITE_TURNS];
      for (int i = 0; i < N_SITE_TURNS; i++)
        {
          if ((turns[i].cold && round >= N_COLD_ROUNDS)
              || (turns[i].frees != FREES_CALLED && !is_freed_whole (class)))
            continue;
          ReplayResult result
              = turn_measure (options, index, class, &turns[i]);
          nsec[i] = result.nsec;
          if (round == 0
              || (result.good && result.nsec < turns[i].result->nsec))
            *turns[i].result = result;
        }
      saved[round] = nsec[TURN_MALLOC] - nsec[TURN_OTHER];
    }
  /* one round may be anything */
  qsort (saved, n, sizeof *saved, double_compare);
  site->saved_low = saved[n > 3 ? 1 : 0];
  site->saved_high = saved[n > 3 ? n - 2 : n - 1];
}

static void
site_measure (const ReplayOptions *options, const Profile *profile,
              uint32_t index, SiteReplay *site)
{
  SiteClass class = profile->results[index].verdict.class;
  site->backend = sli_backend_of_class (class);
  if (site->backend == BACKEND_MALLOC)
    return;
  ReplayResult visits = { 0 }, allocs = { 0 };
  const SiteTurn turns[] = {
    { &site->none, BACKEND_NONE, false, FREES_CALLED },
    { &site->malloc, BACKEND_MALLOC, false, FREES_CALLED },
    { &site->other, site->backend, false, FREES_CALLED },
    { &visits, BACKEND_NONE, false, FREES_VISIT },
    { &allocs, BACKEND_NONE, false, FREES_NONE },
    { &site->none_cold, BACKEND_NONE, true, FREES_CALLED },
    { &site->malloc_cold, BACKEND_MALLOC, true, FREES_CALLED },
    { &site->other_cold, site->backend, true, FREES_CALLED },
  };
  turns_measure (options, index, site, class, turns);
  site->measured = site->malloc.good && site->other.good
                   && site->malloc_cold.good && site->other_cold.good;
  if (is_freed_whole (class) && visits.good && allocs.good)
    site->visit_nsec = net (&visits, &allocs);
  double before = net (&site->malloc, &site->none);
  double after = net (&site->other, &site->none);
  site->win = site->measured
              && (after < POOL_WIN * before
                  || (double)site->other.rss_peak
                         < POOL_WIN * (double)site->malloc.rss_peak);
}

/* Only what was replayed and won is advised in the end: the operations' file
 * says so to the last measurement. */
static void
classes_drop (const ReplayOptions *options, const Profile *profile,
              const bool *keep)
{
  for (uint32_t i = 0; i < profile->n_results; i++)
    {
      uint32_t class = CLASS_GENERAL;
      off_t at = (off_t)(sizeof (ReplayHead) + i * sizeof (ReplaySite));
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

/* A site alone on malloc costs less than among others, which share malloc's
 * lists and the cache.  Blocks apart from the others also are closer together:
 * to visit each of them takes less time. */
static void
together_write (JsonOut *out, const ReplayOptions *options, uint64_t n_ops)
{
  const unsigned n = N_TOGETHER_ROUNDS;
  const unsigned times = n_ops > LONG_TRACE_OPS ? 1 : N_TOGETHER_REPEATS;
  double nsec[2][2][N_TOGETHER_ROUNDS]; /* by reading and advice */
  for (unsigned round = 0; round < n; round++)
    for (int reading = 0; reading < 2; reading++)
      for (int advised = 0; advised < 2; advised++)
        nsec[reading][advised][round] = together_measure (
            options, times, advised != 0, reading ? FREES_READ : FREES_CALLED);
  for (int i = 0; i < 4; i++)
    qsort (nsec[i / 2][i % 2], n, sizeof (double), double_compare);
  /* others' work makes a run slower, never faster: the best of one beside
   * the third of the other */
  const double *plain = nsec[0][0], *advised = nsec[0][1];
  double saved = plain[0] - advised[0];
  double walk = nsec[1][0][0] - nsec[1][1][0] - saved;
  sli_json_begin (out, "together", '{');
  sli_json_real (out, "saved_nsec_low", plain[0] - advised[2]);
  sli_json_real (out, "saved_nsec_high", plain[2] - advised[0]);
  sli_json_real (out, "walk_nsec", walk > 0 ? walk : 0);
  sli_json_end (out, '}');
}

static double
ratio_of (const ReplayResult *after, const ReplayResult *before,
          const ReplayResult *none)
{
  double old = net (before, none);
  return old > 0 ? net (after, none) / old : 1;
}

static void
blocks_write (JsonOut *out, const ReplayOptions *options, uint32_t index,
              const SiteReplay *site)
{
  size_t best = 0;
  double best_score = 1e300;
  sli_json_begin (out, "blocks", '[');
  for (size_t i = 0; i < N_BLOCK_SIZES; i++)
    {
      size_t bytes = (size_t)1024 << i;
      ReplayResult result
          = measure (options, site->backend, false, index, 0, bytes, NULL);
      if (!result.good)
        continue;
      sli_json_begin (out, NULL, '{');
      sli_json_uint (out, "bytes", bytes);
      sli_json_real (out, "nsec", net (&result, &site->none));
      sli_json_uint (out, "rss_peak", result.rss_peak);
      sli_json_end (out, '}');
      /* a larger block must be worth it: 3 % */
      double score = (net (&result, &site->none) + 1) * (1 + 0.03 * (double)i);
      if (score < best_score)
        {
          best_score = score;
          best = bytes;
        }
    }
  sli_json_end (out, ']');
  sli_json_uint (out, "best_block", best);
}

static void
site_write (JsonOut *out, const ReplayOptions *options, const Profile *profile,
            uint32_t index, const SiteReplay *site, bool with_blocks)
{
  const SiteResult *result = &profile->results[index];
  char key[24];
  snprintf (key, sizeof key, "%016llx",
            (unsigned long long)sli_sites_key (profile->sites, result->site));
  sli_json_begin (out, NULL, '{');
  sli_json_text (out, "key", key);
  char *name = sli_profile_site_name (profile, result->site);
  sli_json_text (out, "name", name);
  free (name);
  sli_json_text (out, "class", sli_class_name (result->verdict.class));
  sli_json_text (out, "backend", sli_backend_name (site->backend));
  sli_json_bool (out, "win", site->win);
  sli_json_real (out, "malloc_nsec", net (&site->malloc, &site->none));
  sli_json_real (out, "new_nsec", net (&site->other, &site->none));
  sli_json_real (out, "ratio_warm",
                 ratio_of (&site->other, &site->malloc, &site->none));
  sli_json_real (
      out, "ratio_cold",
      ratio_of (&site->other_cold, &site->malloc_cold, &site->none_cold));
  sli_json_real (out, "visit_nsec", site->visit_nsec);
  sli_json_real (out, "saved_nsec_low", site->saved_low);
  sli_json_real (out, "saved_nsec_high", site->saved_high);
  sli_json_uint (out, "malloc_rss", site->malloc.rss_peak);
  sli_json_uint (out, "new_rss", site->other.rss_peak);
  if (with_blocks
      && (site->backend == BACKEND_LINEAR || site->backend == BACKEND_STACK))
    blocks_write (out, options, index, site);
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
      site_measure (options, profile, index, &site);
      double before = net (&site.malloc, &site.none);
      keep[index]
          = profile->results[index].verdict.class == CLASS_POOL
                ? site.win
                : site.measured
                      && (site.win || net (&site.other, &site.none) < before);
      if (site.measured)
        site_write (out, options, profile, index, &site,
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
  sli_file_check (path);
  double program = program_nsec_per_op (options->times);
  Profile *profile = sli_profile_new (trace, &options->trace.profile);
  options->ops = sli_replay_write (profile, &options->trace.profile);
  FILE *file = sli_file_begin (path);
  JsonOut out = { .file = file };
  ReplayResult none
      = measure (options, BACKEND_NONE, false, SITE_NONE, 0, 0, NULL);
  options->pollute_lines = program > 0 ? pollution_find (options, program) : 8;
  sli_json_begin (&out, NULL, '{');
  sli_json_text (&out, "format", "slice-trace replay 1");
  sli_origin_write (&out, profile);
  sli_json_uint (&out, "operations", none.n_ops);
  sli_json_uint (&out, "calls", none.n_allocs);
  sli_json_uint (&out, "bytes", none.bytes);
  sli_json_uint (&out, "peak", none.peak_live);
  sli_json_real (&out, "empty_nsec_per_op",
                 none.nsec / (double)(none.n_ops + (none.n_ops == 0)));
  sli_json_real (&out, "program_nsec_per_op", program);
  sli_json_uint (&out, "pollute_lines", options->pollute_lines);
  sli_json_bool (&out, "litter", options->litter);
  sites_write (&out, options, profile);
  together_write (&out, options, none.n_ops);
  whole_write (&out, options, &none);
  sli_json_end (&out, '}');
  bool good = sli_file_end (file, path);
  sli_replay_file_close (&options->ops);
  sli_profile_free (profile);
  return good ? TOOL_OK : TOOL_FAILED;
}

int
sli_command_replay (int argc, char **argv)
{
  ReplayOptions options = { .output = "-", .n_repeats = 5 };
  const ToolOption table[]
      = { OPTION (TEXT, NULL, 'o', &options.output, "FILE", "The JSON"),
          OPTION (TEXT, "times", 0, &options.times, "FILE",
                  "The program's own times: patterns of a timed trace"),
          OPTION (TEXTS, "preload", 0, &options.preloads, "LIBRARY",
                  "Another malloc; may be repeated"),
          { OPTION_COUNT, "repeats", 0, &options.n_repeats, "N",
            "How often each is measured (5)", 1, 1000 },
          OPTION (FLAG, "litter", 0, &options.litter, NULL,
                  "On a heap that was used before"),
          { 0 } };
  const CommandLine line = { .words = "TRACE",
                             .help = "What other allocators would cost.",
                             .options = table,
                             .trace = &options.trace,
                             .least = 1,
                             .most = 1 };
  sli_trace_options_init (&options.trace, N_HOT_REPLAYED);
  sli_command_line (&line, &argc, &argv);
  return replay_all (&options, argv[0]);
}
