/* command-patterns.c - slice-trace hot, patterns, callers: reading a trace
 *
 * Tools.  Theory: section 13.  SPDX-License-Identifier: MIT
 */
#include "commands.h"
#include "profile-json.h"
#include "tool.h"
#include <stdlib.h>
#include <string.h>

typedef struct
{
  ProfileOptions profile;
  const char *output, *passes, *site;
  bool json, text;
  uint32_t n_rows;
} PatternOptions;

static void
options_take (int *argc, char **argv, PatternOptions *options)
{
  static const char *wrappers[64], *own[64];
  size_t n_wrappers = 0, n_own = 0;
  const char *value;
  memset (options, 0, sizeof *options);
  options->profile.n_hot = N_HOT_DEFAULT;
  options->profile.chosen_time = -1;
  while ((value = sli_option_value (argc, argv, "--wrapper")) != NULL)
    if (n_wrappers < 63)
      wrappers[n_wrappers++] = value;
  options->profile.wrappers = wrappers;
  while ((value = sli_option_value (argc, argv, "--own")) != NULL)
    if (n_own < 63)
      own[n_own++] = value;
  options->profile.own = own;
  while ((value = sli_option_value (argc, argv, "--set")) != NULL)
    if (!sli_threshold_set (value))
      sli_tool_die (TOOL_USAGE, "no threshold %s", value);
  if ((value = sli_option_value (argc, argv, "--context")) != NULL)
    options->profile.fixed_depth = (unsigned)atoi (value);
  if (options->profile.fixed_depth > SITE_DEPTH_MAX)
    sli_tool_die (TOOL_USAGE, "--context is 1 to %d", SITE_DEPTH_MAX);
  if ((value = sli_option_value (argc, argv, "--hot")) != NULL)
    options->profile.n_hot = (uint32_t)atoi (value);
  if ((value = sli_option_value (argc, argv, "--at")) != NULL)
    options->profile.chosen_time = atof (value);
  if ((value = sli_option_value (argc, argv, "--from")) != NULL)
    options->profile.from_time = atof (value);
  if ((value = sli_option_value (argc, argv, "--to")) != NULL)
    options->profile.to_time = atof (value);
  else if (options->profile.from_time > 0)
    options->profile.to_time = 1e18;
  options->output = sli_option_value (argc, argv, "-o");
  options->passes = sli_option_value (argc, argv, "--passes");
  options->site = sli_option_value (argc, argv, "--site");
  options->json = sli_option_flag (argc, argv, "--json");
  value = sli_option_value (argc, argv, "-n");
  options->n_rows = value == NULL ? 20 : (uint32_t)atoi (value);
}

static Profile *
profile_open (int argc, char **argv, PatternOptions *options)
{
  options_take (&argc, argv, options);
  sli_option_none_left (argc, argv);
  if (argc != 1)
    sli_tool_die (TOOL_USAGE, "one trace is wanted");
  Profile *profile = sli_profile_new (argv[0], &options->profile);
  if (profile->totals.n_births == 0)
    {
      sli_tool_say ("%s: no allocations in it", argv[0]);
      exit (TOOL_NO_EVENTS);
    }
  return profile;
}

int
sli_command_patterns (int argc, char **argv)
{
  PatternOptions options;
  if (sli_option_flag (&argc, argv, "--thresholds"))
    {
      sli_thresholds_print (stdout);
      return TOOL_OK;
    }
  Profile *profile = profile_open (argc, argv, &options);
  const char *path = options.output == NULL ? "-" : options.output;
  FILE *file = sli_file_begin (path);
  sli_profile_write (profile, file, options.passes);
  bool good = sli_file_end (file, path);
  sli_profile_free (profile);
  return good ? TOOL_OK : TOOL_FAILED;
}

/* The hotlines, a line each, at most 100 columns. */
static void
hot_print (const Profile *profile, uint32_t n_rows)
{
  printf ("%9s %11s %11s  %-11s %-7s %-6s %s\n", "calls", "bytes", "peak",
          "class", "W", "L", "site");
  for (uint32_t rank = 0; rank < profile->n_results && rank < n_rows; rank++)
    {
      const SiteResult *result = &profile->results[profile->ranked[rank]];
      const Verdict *verdict = &result->verdict;
      char *name = sli_profile_site_name (profile, result->site);
      printf ("%9llu %11llu %11llu  %-11s %-7.3g %-6.3f %.38s\n",
              (unsigned long long)result->stats->births,
              (unsigned long long)result->stats->bytes,
              (unsigned long long)result->stats->peak,
              sli_class_name (verdict->class), verdict->numbers[NUMBER_W],
              verdict->numbers[NUMBER_L], name);
      free (name);
    }
}

int
sli_command_hot (int argc, char **argv)
{
  PatternOptions options;
  Profile *profile = profile_open (argc, argv, &options);
  hot_print (profile, options.n_rows);
  sli_profile_free (profile);
  return TOOL_OK;
}

static void
callers_print (const Profile *profile, uint32_t index, const char *passes)
{
  const SiteResult *result = &profile->results[index];
  char *name = sli_profile_site_name (profile, result->site);
  printf ("%s\n", name);
  free (name);
  Caller *callers = sli_profile_callers (profile, index, passes);
  uint64_t births = 0;
  for (Caller *at = callers; at->function != NULL; at++)
    births += at->births;
  for (Caller *at = callers; at->function != NULL; at++)
    printf ("  %6.2f %%  %9llu  %11llu  %s\n",
            100.0 * (double)at->births / (double)births,
            (unsigned long long)at->births, (unsigned long long)at->bytes,
            at->function);
  free (callers);
}

int
sli_command_callers (int argc, char **argv)
{
  PatternOptions options;
  Profile *profile = profile_open (argc, argv, &options);
  for (uint32_t rank = 0; rank < profile->n_results; rank++)
    {
      uint32_t index = profile->ranked[rank];
      char *name
          = sli_profile_site_name (profile, profile->results[index].site);
      if (options.site == NULL ? rank < options.n_rows
                               : strstr (name, options.site) != NULL)
        callers_print (profile, index, options.passes);
      free (name);
    }
  sli_profile_free (profile);
  return TOOL_OK;
}
