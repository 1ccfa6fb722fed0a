/* command-patterns.c - slice-trace hot, patterns, callers: reading a trace
 *
 * Tools.  Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/profile/write/profile-json.h"
#include "tools/trace/common/tool.h"
#include <limits.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  TraceOptions trace;
  const char *output, *passes, *site;
  uint32_t n_rows;
} PatternOptions;

/* Checks the expression before the trace is read and before any output. */
static void
passes_check (const char *passes)
{
  regex_t compiled;

  if (passes == NULL)
    return;
  sli_tool_expression (&compiled, passes);
  regfree (&compiled);
}

static Profile *
profile_open (const PatternOptions *options, const char *path)
{
  passes_check (options->passes);
  return sli_profile_some (path, &options->trace.profile);
}

/* Opens the trace of a command with one. */
static Profile *
one_trace_open (PatternOptions *options, const ToolOption *table,
                const char *help, int argc, char **argv)
{
  const CommandLine line = { .words = "TRACE",
                             .help = help,
                             .options = table,
                             .trace = &options->trace,
                             .least = 1,
                             .most = 1 };

  sli_trace_options_init (&options->trace, N_HOT_DEFAULT);
  sli_command_line (&line, &argc, &argv);
  options->trace.profile.takes_sampled = true;
  if (options->output != NULL)
    sli_file_check (options->output);
  return profile_open (options, argv[0]);
}

int
sli_command_patterns (int argc, char **argv)
{
  PatternOptions options = { .output = "-" };
  bool thresholds = false;
  const ToolOption table[]
      = { OPTION (OUTPUT, NULL, 'o', &options.output, "FILE", "The JSON"),
          OPTION (TEXT, "passes", 0, &options.passes, "REGEX",
                  "Functions that count as callers"),
          OPTION (FLAG, "thresholds", 0, &thresholds, NULL,
                  "Print the decision list instead"),
          { 0 } };
  const CommandLine line = { .words = "TRACE",
                             .help = "Prints the numbers and the class of "
                                     "every site.",
                             .options = table,
                             .trace = &options.trace,
                             .most = 1 };
  const char *path;
  Profile *profile;
  FILE *file;
  bool good;

  sli_trace_options_init (&options.trace, N_HOT_DEFAULT);
  sli_command_line (&line, &argc, &argv);
  if (thresholds)
    {
      if (argc > 0 || strcmp (options.output, "-") != 0)
        sli_tool_exit (TOOL_USAGE, "--thresholds goes without a trace and "
                                   "without -o");
      sli_thresholds_print (stdout);
      return TOOL_OK;
    }
  if (argc != 1)
    sli_tool_exit (TOOL_USAGE, "one trace is wanted");
  path = options.output;
  sli_file_check (path);
  profile = profile_open (&options, argv[0]);
  file = sli_file_begin (path);
  sli_profile_write (profile, file, options.passes);
  good = sli_file_end (file, path);
  sli_profile_free (profile);
  return good ? TOOL_OK : TOOL_FAILED;
}

static uint32_t
ranked_site (const Profile *profile, uint32_t rank)
{
  return profile->results[profile->ranked[rank]].site;
}

/* Returns true if another of the sites up to n_rows has this name. */
static bool
name_recurs (const Profile *profile, uint32_t rank, uint32_t n_rows,
             const char *name)
{
  bool recurs = false;

  for (uint32_t i = 0; i < profile->n_results && i < n_rows && !recurs; i++)
    if (i != rank)
      {
        char *other = sli_profile_site_name (profile,
                                             ranked_site (profile, i));

        recurs = strcmp (name, other) == 0;
        free (other);
      }
  return recurs;
}

/* A site's name, cut to `width' columns.  If another site has it, too, where
 * the first one's call is follows.  Freed by the caller. */
static char *
site_label (const Profile *profile, uint32_t rank, uint32_t n_rows, int width)
{
  uint32_t site = ranked_site (profile, rank);
  char *name = sli_profile_site_name (profile, site);
  uint64_t pcs[SITE_DEPTH_MAX];
  uint32_t n = sli_sites_frames (profile->sites, site, pcs);
  const Symbol *symbol
      = n > 0 ? sli_symbols_find (profile->symbols, pcs[0]) : NULL;
  char *label;

  if (symbol != NULL && symbol->file != NULL
      && name_recurs (profile, rank, n_rows, name))
    {
      const char *slash = strrchr (symbol->file, '/');
      char *place = sli_tool_text (" %s:%u",
                                   slash != NULL ? slash + 1 : symbol->file,
                                   symbol->line);
      int left = width - (int) strlen (place);

      label = sli_tool_text ("%.*s%s", left > 0 ? left : 0, name, place);
      free (place);
    }
  else
    label = sli_tool_text ("%.*s", width, name);
  free (name);
  return label;
}

/* Says of a sampled trace what the numbers are. */
static void
sample_print (const Profile *profile)
{
  if (profile->sample_bytes > 0)
    printf ("estimated from %llu samples, one in %u bytes; "
            "+- is the standard error\n",
            (unsigned long long) profile->sample.samples,
            profile->sample_bytes);
}

static double
percent_of (double part, uint64_t whole)
{
  return whole > 0 ? 100 * part / (double) whole : 0;
}

static void
hot_print_sampled (const Profile *profile, uint32_t n_rows)
{
  sample_print (profile);
  printf ("%10s %6s %13s %6s %12s %6s %8s  %s\n", "calls", "+- %", "bytes",
          "+- %", "peak", "+- %", "samples", "site");
  for (uint32_t rank = 0; rank < profile->n_results && rank < n_rows; rank++)
    {
      uint32_t index = profile->ranked[rank];
      const SiteResult *result = &profile->results[index];
      const SiteStats *stats = result->stats;
      const SampleNotes *notes = &profile->site_samples[index];
      char *name = site_label (profile, rank, n_rows, 28);

      printf ("%10llu %6.1f %13llu %6.1f %12llu %6.1f %8llu  %s\n",
              (unsigned long long) stats->allocs,
              percent_of (notes->calls_sd, stats->allocs),
              (unsigned long long) stats->bytes,
              percent_of (notes->bytes_sd, stats->bytes),
              (unsigned long long) stats->peak_bytes,
              percent_of (notes->peak_sd, stats->peak_bytes),
              (unsigned long long) notes->samples, name);
      free (name);
    }
}

/* Prints the hotlines, a line each, at most 100 columns. */
static void
hot_print (const Profile *profile, uint32_t n_rows)
{
  printf ("%9s %11s %11s  %-11s %-7s %-6s %s\n", "calls", "bytes", "peak",
          "class", "W", "L", "site");
  for (uint32_t rank = 0; rank < profile->n_results && rank < n_rows; rank++)
    {
      const SiteResult *result = &profile->results[profile->ranked[rank]];
      const Verdict *verdict = &result->verdict;
      char *name = site_label (profile, rank, n_rows, 38);

      printf ("%9llu %11llu %11llu  %-11s %-7.3g %-6.3f %s\n",
              (unsigned long long) result->stats->allocs,
              (unsigned long long) result->stats->bytes,
              (unsigned long long) result->stats->peak_bytes,
              sli_class_name (verdict->class), verdict->numbers[NUMBER_W],
              verdict->numbers[NUMBER_L], name);
      free (name);
    }
}

int
sli_command_hot (int argc, char **argv)
{
  PatternOptions options = { .n_rows = 20 };
  bool good = true;
  const ToolOption table[] = { { OPTION_COUNT, NULL, 'n', &options.n_rows, "N",
                                 "Lines (20)", 1, UINT32_MAX },
                               OPTION (OUTPUT, NULL, 'o', &options.output,
                                       "FILE", "JSON instead of the table"),
                               { 0 } };
  Profile *profile = one_trace_open (
      &options, table, "Lists the sites that allocate most.", argc, argv);

  if (options.output != NULL)
    {
      FILE *file = sli_file_begin (options.output);

      sli_profile_write (profile, file, NULL);
      good = sli_file_end (file, options.output);
    }
  else if (profile->sample_bytes > 0)
    hot_print_sampled (profile, options.n_rows);
  else
    hot_print (profile, options.n_rows);
  sli_profile_free (profile);
  return good ? TOOL_OK : TOOL_FAILED;
}

static void
callers_print (const Profile *profile, uint32_t rank, const char *passes)
{
  uint32_t index = profile->ranked[rank];
  char *name = site_label (profile, rank, profile->n_results, INT_MAX);
  Caller *callers;
  uint64_t allocs = 0;

  printf ("%s\n", name);
  free (name);
  callers = sli_profile_callers (profile, index, passes);
  for (Caller *at = callers; at->function != NULL; at++)
    allocs += at->allocs;
  for (Caller *at = callers; at->function != NULL; at++)
    printf ("  %6.2f %%  %9llu  %11llu  %s\n",
            100.0 * (double) at->allocs / (double) allocs,
            (unsigned long long) at->allocs, (unsigned long long) at->bytes,
            at->function);
  free (callers);
}

int
sli_command_callers (int argc, char **argv)
{
  PatternOptions options = { .n_rows = 20 };
  const ToolOption table[]
      = { { OPTION_COUNT, NULL, 'n', &options.n_rows, "N", "Sites (20)", 1,
            UINT32_MAX },
          OPTION (TEXT, "site", 0, &options.site, "TEXT",
                  "Only sites with this in their name"),
          OPTION (TEXT, "passes", 0, &options.passes, "REGEX",
                  "The caller is the first frame that matches"),
          { 0 } };
  bool any = false;
  Profile *profile = one_trace_open (
      &options, table, "Shows a site's callers, in percent.", argc, argv);

  sample_print (profile);
  for (uint32_t rank = 0; rank < profile->n_results; rank++)
    {
      char *name
          = sli_profile_site_name (profile, ranked_site (profile, rank));

      if (options.site == NULL ? rank < options.n_rows
                               : strstr (name, options.site) != NULL)
        {
          callers_print (profile, rank, options.passes);
          any = true;
        }
      free (name);
    }
  sli_profile_free (profile);
  if (!any)
    sli_tool_exit (TOOL_USAGE, "no site has '%s' in its name", options.site);
  return TOOL_OK;
}
