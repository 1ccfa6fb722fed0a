/* profile-json.c - writes a profile as JSON, for patterns, callers and the
 * report
 *
 * Tools.  `format` changes when the meaning of a key does.  A sampled trace
 * has a format of its own: its sites have no classes, so commands that need
 * classes refuse the file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "profile-json.h"
#include "tools/trace/common/stage/origin.h"
#include "tools/trace/common/tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_CALLERS_MAX 12
#define N_SIZES_MAX 8

static void
frames_write (JsonOut *out, const Profile *profile, uint32_t site)
{
  uint64_t pcs[SITE_DEPTH_MAX];
  uint32_t n = sli_sites_frames (profile->sites, site, pcs);

  sli_json_begin (out, "frames", '[');
  for (uint32_t i = 0; i < n; i++)
    {
      const Symbol *symbol = sli_symbols_find (profile->symbols, pcs[i]);

      sli_json_begin (out, NULL, '{');
      sli_json_text (out, "function", symbol->function);
      sli_json_text (out, "module", symbol->module);
      sli_json_uint (out, "offset", symbol->offset);
      if (symbol->file != NULL)
        {
          sli_json_text (out, "file", symbol->file);
          sli_json_uint (out, "line", symbol->line);
        }
      if (symbol->inlined != NULL)
        sli_json_text (out, "inlined", symbol->inlined);
      sli_json_end (out, '}');
    }
  sli_json_end (out, ']');
}

/* The innermost two functions, and the outermost one of a deeper site, which
 * distinguishes it from its neighbours. */
char *
sli_profile_site_name (const Profile *profile, uint32_t site)
{
  uint64_t pcs[SITE_DEPTH_MAX];
  const char *names[3] = { "", "", "" };
  uint32_t n = sli_sites_frames (profile->sites, site, pcs);
  uint32_t n_names = n < 3 ? n : 3;
  const char *through;
  char *first, *name;

  for (uint32_t i = 0; i < n_names; i++)
    names[i] = sli_symbols_find (profile->symbols, pcs[i < 2 ? i : n - 1])
                   ->function;
  through = sli_sites_through (profile->sites, site);
  first = through == NULL ? sli_tool_text ("%s", names[0])
                          : sli_tool_text ("%s (%s)", names[0], through);
  name = n_names < 3
             ? sli_tool_text ("%s%s%s", first, n_names > 1 ? " < " : "",
                              n_names > 1 ? names[1] : "")
             : sli_tool_text ("%s < %s%s%s", first, names[1],
                              n > 3 ? " <..< " : " < ", names[2]);
  free (first);
  return name;
}

static void
numbers_write (JsonOut *out, const Verdict *verdict)
{
  sli_json_begin (out, "numbers", '{');
  for (int i = 0; i < N_NUMBERS; i++)
    if (isfinite (verdict->numbers[i]))
      sli_json_real (out, sli_number_name ((SiteNumber) i),
                     verdict->numbers[i]);
  sli_json_end (out, '}');
}

static void
log2_write (JsonOut *out, const char *key, const uint64_t counts[N_LOG2])
{
  int n = N_LOG2;

  while (n > 0 && counts[n - 1] == 0)
    n--;
  sli_json_begin (out, key, '[');
  for (int i = 0; i < n; i++)
    sli_json_uint (out, NULL, counts[i]);
  sli_json_end (out, ']');
}

static void
moments_write (JsonOut *out, const char *mean_key, const char *sd_key,
               double sum, double sum2, double n)
{
  double mean = n > 0 ? sum / n : 0;
  double variance = n > 0 ? sum2 / n - mean * mean : 0;

  sli_json_real (out, mean_key, mean);
  sli_json_real (out, sd_key, variance > 0 ? sqrt (variance) : 0);
}

/* Lives are counted in operations, but a sample does not show how many there
 * were: there they are in usec. */
static void
lives_write (JsonOut *out, const Profile *profile, double sum, double sum2,
             double n)
{
  if (profile->sample_bytes > 0)
    moments_write (out, "life_usec_mean", "life_usec_sd", sum, sum2, n);
  else
    moments_write (out, "life_mean", "life_sd", sum, sum2, n);
}

static void
sample_write (JsonOut *out, const SampleNotes *notes)
{
  sli_json_uint (out, "samples", notes->samples);
  sli_json_real (out, "calls_sd", notes->calls_sd);
  sli_json_real (out, "bytes_sd", notes->bytes_sd);
  sli_json_real (out, "peak_sd", notes->peak_sd);
}

/* The sizes are rounded, so their weights don't add up to the site's calls. */
static double
sizes_scale (const Profile *profile, const SiteStats *stats,
             const SizeCount *sizes, size_t n)
{
  double sum = 0;

  for (size_t i = 0; i < n; i++)
    sum += (double) sizes[i].count
           * sli_profile_weight (profile, sizes[i].size);
  return profile->sample_bytes > 0 && sum > 0 ? (double) stats->allocs / sum
                                              : 1;
}

static void
sizes_write (JsonOut *out, const Profile *profile, const SiteStats *stats)
{
  size_t n;
  SizeCount *sorted = sli_sizes_sorted (stats, &n);
  double scale = sizes_scale (profile, stats, sorted, n);

  sli_json_begin (out, "sizes", '[');
  for (size_t i = 0; i < n && i < N_SIZES_MAX; i++)
    {
      double weight;

      sli_json_begin (out, NULL, '[');
      sli_json_uint (out, NULL, sorted[i].size);
      weight = scale * sli_profile_weight (profile, sorted[i].size);
      sli_json_uint (out, NULL,
                     rounded_count ((double) sorted[i].count * weight));
      sli_json_end (out, ']');
    }
  sli_json_end (out, ']');
  sli_json_uint (out, "n_sizes", n);
  free (sorted);
}

static void
place_write (JsonOut *out, const Caller *at, const char *function,
             const char *file, const char *line)
{
  sli_json_text (out, function, at->function);
  if (at->file == NULL)
    return;
  sli_json_text (out, file, at->file);
  sli_json_uint (out, line, at->line);
}

static void
callers_write (JsonOut *out, const char *key, Caller *callers)
{
  uint64_t allocs = 0, rest = 0;
  size_t n = 0;

  for (Caller *at = callers; at->function != NULL; at++)
    allocs += at->allocs;
  sli_json_begin (out, key, '[');
  for (Caller *at = callers; at->function != NULL; at++, n++)
    {
      if (n >= N_CALLERS_MAX)
        {
          rest += at->allocs;
          continue;
        }
      sli_json_begin (out, NULL, '{');
      place_write (out, at, "function", "file", "line");
      sli_json_uint (out, "calls", at->allocs);
      sli_json_uint (out, "bytes", at->bytes);
      sli_json_real (out, "percent",
                     100.0 * (double) at->allocs / (double) allocs);
      sli_json_end (out, '}');
    }
  if (rest > 0)
    {
      sli_json_begin (out, NULL, '{');
      sli_json_text (out, "function", "(others)");
      sli_json_uint (out, "calls", rest);
      sli_json_real (out, "percent", 100.0 * (double) rest / (double) allocs);
      sli_json_end (out, '}');
    }
  sli_json_end (out, ']');
  free (callers);
}

/* Each row is a string, a character a cell: a blank for none, then 1 to 9 by
 * the logarithm of the count. */
static void
picture_write (JsonOut *out, const Picture *picture)
{
  char row[PICTURE_COLUMNS + 1];

  sli_json_begin (out, "picture", '{');
  sli_json_begin (out, "frees", '[');
  for (int y = 0; y < PICTURE_ROWS; y++)
    {
      int end = 0;

      for (int x = 0; x < PICTURE_COLUMNS; x++)
        {
          unsigned count = picture->cells[y][x];

          row[x] = count == 0 ? ' ' : (char) ('0' + log2_of (count));
          if (count > 0)
            end = x + 1;
        }
      row[end] = '\0';
      sli_json_text (out, NULL, row);
    }
  sli_json_end (out, ']');
  sli_json_begin (out, "offset", '[');
  for (int x = 0; x < PICTURE_COLUMNS; x++)
    {
      sli_json_uint (out, NULL, picture->offset_low[x]);
      sli_json_uint (out, NULL, picture->offset_high[x]);
    }
  sli_json_end (out, ']');
  sli_json_uint (out, "offset_most", picture->offset_most);
  log2_write (out, "size_log2", picture->size_n);
  log2_write (out, "life_log2", picture->life_n);
  sli_json_end (out, '}');
}

static void
owner_write (JsonOut *out, const Profile *profile, const SiteResult *result)
{
  const Verdict *verdict = &result->verdict;

  if (verdict->class == CLASS_OWNER)
    {
      char *name = sli_profile_site_name (profile,
                                          result->owner_sites[verdict->owner]);

      sli_json_text (out, "owner", name);
      free (name);
    }
  if (verdict->class == CLASS_SCOPE && verdict->scope_pc != 0)
    {
      sli_json_text (
          out, "scope",
          sli_symbols_find (profile->symbols, verdict->scope_pc)->function);
      sli_json_bool (out, "scope_is_function", true);
    }
  else if (verdict->class == CLASS_SCOPE)
    sli_json_text (out, "scope", profile->reader->strings[verdict->scope]);
  if (verdict->burst_unknown)
    sli_json_text (out, "owner", "unknown: freed in batches");
}

/* "asprintf called from f at x.c:12" */
static void
library_write (JsonOut *out, const Profile *profile, uint32_t site)
{
  uint64_t pcs[SITE_DEPTH_MAX];
  const char *through = sli_sites_through (profile->sites, site);
  const Symbol *symbol;
  char *text;

  if (sli_sites_temporary (profile->sites, site))
    sli_json_bool (out, "temporary", true);
  if (through == NULL)
    return;
  sli_sites_frames (profile->sites, site, pcs);
  symbol = sli_symbols_find (profile->symbols, pcs[0]);
  text = symbol->file == NULL
             ? sli_tool_text ("%s called from %s", through, symbol->function)
             : sli_tool_text ("%s called from %s at %s:%u", through,
                              symbol->function, symbol->file, symbol->line);
  sli_json_text (out, "through", text);
  free (text);
}

static void
names_write (JsonOut *out, const Profile *profile, uint32_t site)
{
  char key[24], *name;

  snprintf (key, sizeof key, "%016llx",
            (unsigned long long) sli_sites_key (profile->sites, site));
  sli_json_text (out, "key", key);
  name = sli_profile_site_name (profile, site);
  sli_json_text (out, "name", name);
  free (name);
  library_write (out, profile, site);
}

static void
verdict_write (JsonOut *out, const Verdict *verdict)
{
  sli_json_text (out, "class", sli_class_name (verdict->class));
  sli_json_text (out, "advice", sli_class_title (verdict->class));
  sli_json_text (out, "holds", verdict->holds);
  sli_json_text (out, "missed", verdict->missed);
}

static void
pictures_write (JsonOut *out, const Profile *profile, uint32_t index,
                const char *passes)
{
  Caller common = sli_profile_common (profile, index);

  callers_write (out, "callers", sli_profile_callers (profile, index, NULL));
  place_write (out, &common, "common", "common_file", "common_line");
  if (passes != NULL)
    callers_write (out, "passes",
                   sli_profile_callers (profile, index, passes));
  callers_write (out, "free_sites", sli_profile_free_sites (profile, index));
  if (profile->sample_bytes == 0)
    picture_write (out, profile->results[index].picture);
}

static void
site_write (JsonOut *out, const Profile *profile, uint32_t index,
            const char *passes)
{
  const SiteResult *result = &profile->results[index];
  const SiteStats *stats = result->stats;
  bool is_exact = profile->sample_bytes == 0;

  sli_json_begin (out, NULL, '{');
  names_write (out, profile, result->site);
  if (is_exact)
    {
      verdict_write (out, &result->verdict);
      owner_write (out, profile, result);
    }
  else
    sample_write (out, &profile->site_samples[index]);
  sli_json_uint (out, "calls", stats->allocs);
  sli_json_uint (out, "bytes", stats->bytes);
  sli_json_uint (out, "frees", stats->frees);
  sli_json_uint (out, "peak", stats->peak_bytes);
  sli_json_uint (out, "depth", profile->sites->sites[result->site].depth);
  moments_write (out, "size_mean", "size_sd", (double) stats->bytes,
                 stats->sum_size2, (double) stats->allocs);
  lives_write (out, profile, stats->sum_life, stats->sum_life2,
               (double) stats->frees);
  if (stats->n_costs > 0)
    {
      double nsec_per_tick = profile->cost_nsec_per_tick;

      sli_json_real (out, "alloc_nsec", (double) stats->cost * nsec_per_tick);
      sli_json_real (out, "free_nsec",
                     (double) stats->free_cost * nsec_per_tick);
      sli_json_uint (out, "interrupted", stats->n_cost_outliers);
    }
  if (is_exact)
    numbers_write (out, &result->verdict);
  sizes_write (out, profile, stats);
  frames_write (out, profile, result->site);
  if (result->picture != NULL)
    pictures_write (out, profile, index, passes);
  sli_json_end (out, '}');
}

static void
series_write (JsonOut *out, const Profile *profile)
{
  static const char *const axes[N_AXES] = { "time", "events", "bytes" };

  sli_json_begin (out, "series", '{');
  for (int axis = 0; axis < N_AXES; axis++)
    {
      const Series *series = &profile->series[axis];

      sli_json_begin (out, axes[axis], '{');
      sli_json_begin (out, "total", '[');
      for (uint32_t i = 0; i < series->n; i++)
        sli_json_uint (out, NULL, series->total[i]);
      sli_json_end (out, ']');
      sli_json_begin (out, "bands", '[');
      for (int band = 0; band < N_SERIES; band++)
        {
          sli_json_begin (out, NULL, '[');
          for (uint32_t i = 0; i < series->n; i++)
            sli_json_uint (out, NULL, series->live[i][band]);
          sli_json_end (out, ']');
        }
      sli_json_end (out, ']');
      sli_json_end (out, '}');
    }
  sli_json_end (out, '}');
}

/* Writes the sites of the bands in their order, which is by their peaks. */
static void
bands_write (JsonOut *out, const Profile *profile)
{
  bool *taken = sli_tool_zero (profile->n_results + 1);

  sli_json_begin (out, "bands", '[');
  for (int band = 0; band < N_SERIES - 1; band++)
    {
      uint32_t best = SITE_NONE;
      char *name;

      for (uint32_t i = 0; i < profile->n_results; i++)
        if (!taken[i]
            && (best == SITE_NONE
                || profile->results[i].stats->peak
                       > profile->results[best].stats->peak))
          best = i;
      if (best == SITE_NONE)
        break;
      taken[best] = true;
      name = sli_profile_site_name (profile, profile->results[best].site);
      sli_json_text (out, NULL, name);
      free (name);
    }
  sli_json_end (out, ']');
  free (taken);
}

static void
rss_write (JsonOut *out, const Profile *profile)
{
  const TraceReader *reader = profile->reader;
  size_t step = reader->n_rss / SERIES_COLUMNS + 1;
  double span
      = (double) (profile->totals.last_ticks - profile->totals.first_ticks);

  sli_json_begin (out, "rss", '[');
  for (size_t i = 0; i < reader->n_rss; i += step)
    {
      double at
          = ((double) reader->rss[i][0] - (double) profile->totals.first_ticks)
            / (span > 0 ? span : 1);

      if (at < 0 || at > 1)
        continue;
      sli_json_begin (out, NULL, '[');
      sli_json_real (out, NULL, at);
      sli_json_uint (out, NULL, reader->rss[i][1] * 1024);
      sli_json_end (out, ']');
    }
  sli_json_end (out, ']');
}

/* Histograms, and the events by operation, which a sample does not show. */
static void
histograms_write (JsonOut *out, const Profile *profile)
{
  const Totals *totals = &profile->totals;
  bool is_exact = profile->sample_bytes == 0;

  log2_write (out, "size_log2", totals->size_n);
  log2_write (out, "size_bytes_log2", totals->size_bytes);
  log2_write (out, is_exact ? "life_log2" : "life_usec_log2", totals->life_n);
  log2_write (out, is_exact ? "life_bytes_log2" : "life_usec_bytes_log2",
              totals->life_bytes);
  if (!is_exact)
    return;
  sli_json_begin (out, "operations", '{');
  for (unsigned op = 1; op < TRACE_N_OPS; op++)
    if (totals->by_op[op] > 0)
      sli_json_uint (out, sli_trace_op_name (op), totals->by_op[op]);
  sli_json_end (out, '}');
}

static void
totals_write (JsonOut *out, const Profile *profile)
{
  const Totals *totals = &profile->totals;
  const TraceReader *reader = profile->reader;

  sli_json_begin (out, "totals", '{');
  sli_json_uint (out, "events", totals->n_events);
  if (profile->sample_bytes > 0)
    sample_write (out, &profile->sample);
  sli_json_uint (out, "calls", totals->n_allocs);
  sli_json_uint (out, "frees", totals->n_frees);
  sli_json_uint (out, "bytes", totals->bytes);
  sli_json_uint (out, "peak", totals->peak);
  sli_json_uint (out, "peak_blocks", totals->peak_n);
  sli_json_uint (out, "peak_event", totals->peak_event);
  sli_json_real (
      out, "peak_seconds",
      sli_profile_seconds (profile, totals->peak_ticks - totals->first_ticks));
  sli_json_uint (out, "end_bytes", totals->end_live);
  sli_json_uint (out, "end_blocks", totals->end_live_n);
  sli_json_real (
      out, "seconds",
      sli_profile_seconds (profile, totals->last_ticks - totals->first_ticks));
  sli_json_real (out, "byte_seconds",
                 totals->live_integral / (double) reader->head.ticks_per_sec);
  sli_json_uint (out, "unknown_frees", totals->n_unknown_frees);
  sli_json_uint (out, "lost_frees", totals->n_lost_frees);
  sli_json_uint (out, "dropped_nested", reader->summary.n_dropped_nested);
  sli_json_uint (out, "dropped_full", reader->summary.n_dropped_full);
  sli_json_bool (out, "cut",
                 !reader->has_summary
                     || (reader->summary.flags & TRACE_SUMMARY_CUT) != 0);
  sli_json_uint (out, "damaged_blocks", reader->n_damaged);
  if (reader->summary.plain_nsec > 0)
    sli_json_uint (out, "plain_nsec", reader->summary.plain_nsec);
  moments_write (out, "size_mean", "size_sd", (double) totals->bytes,
                 totals->sum_size2, (double) totals->n_allocs);
  lives_write (out, profile, totals->sum_life, totals->sum_life2,
               (double) totals->n_frees);
  histograms_write (out, profile);
  sli_json_end (out, '}');
}

static void
classes_write (JsonOut *out, const Profile *profile)
{
  uint64_t by_class[N_SITE_CLASSES] = { 0 };

  for (uint32_t i = 0; i < profile->n_results; i++)
    by_class[profile->results[i].verdict.class]
        += profile->results[i].stats->allocs;
  sli_json_begin (out, "classes", '{');
  for (int i = 0; i < N_SITE_CLASSES; i++)
    sli_json_uint (out, sli_class_name ((SiteClass) i), by_class[i]);
  sli_json_end (out, '}');
}

void
sli_profile_write (const Profile *profile, FILE *file, const char *passes)
{
  JsonOut out = { .file = file };

  sli_json_begin (&out, NULL, '{');
  sli_json_text (&out, "format",
                 profile->sample_bytes > 0 ? FORMAT_SAMPLED : FORMAT_PATTERNS);
  sli_json_text (&out, "command", profile->reader->command);
  sli_origin_write (&out, profile);
  sli_json_bool (&out, "timed",
                 (profile->reader->head.flags & TRACE_FLAG_TIMED) != 0);
  sli_json_text (&out, "unwinder", sli_trace_unwinder (profile->reader));
  if (profile->sample_bytes > 0)
    sli_json_uint (&out, "sample_bytes", profile->sample_bytes);
  sli_origin_watch (&out, profile);
  totals_write (&out, profile);
  if (profile->sample_bytes == 0)
    classes_write (&out, profile);
  sli_json_begin (&out, "wrappers", '[');
  for (size_t i = 0; i < profile->sites->n_wrapper_pcs; i++)
    sli_json_text (
        &out, NULL,
        sli_symbols_find (profile->symbols, profile->sites->wrapper_pcs[i])
            ->function);
  sli_json_end (&out, ']');
  bands_write (&out, profile);
  series_write (&out, profile);
  rss_write (&out, profile);
  sli_flames_write (&out, profile);
  sli_json_uint (&out, "n_sites", profile->n_results);
  sli_json_begin (&out, "sites", '[');
  for (uint32_t rank = 0; rank < profile->n_results; rank++)
    site_write (&out, profile, profile->ranked[rank], passes);
  sli_json_end (&out, ']');
  sli_json_end (&out, '}');
}
