/* command-apply.c - slice-trace apply: advice for slice-run --advice
 *
 * Tools.  Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/apply/apply.h"
#include <stdlib.h>

static uint64_t
blocks_sum (const Profile *profile, const ApplySite *sites)
{
  uint64_t n = 0;

  for (uint32_t i = 0; i < profile->n_results; i++)
    n += sites[i].n_blocks;
  return n;
}

static int
apply_run (Profile *profile, const ProfileOptions *options, bool all,
           const char *path)
{
  uint64_t *by_node;
  ApplySite *sites = sli_apply_regions (profile, options, &by_node);
  Paths paths = { 0 };
  FILE *file;
  uint32_t n;
  bool good;

  if (blocks_sum (profile, sites) > 0)
    sli_apply_paths (&paths, profile, by_node);
  file = sli_file_begin (path);
  n = sli_apply_write (profile, sites, &paths, (ApplyChoice){ .all = all },
                       file);
  good = sli_file_end (file, path);
  if (n == 0)
    sli_tool_say ("no site would gain: the advice is empty");
  free (paths.nodes);
  sli_table_free (&paths.by_key);
  free (by_node);
  free (sites);
  return good ? TOOL_OK : TOOL_FAILED;
}

int
sli_command_apply (int argc, char **argv)
{
  TraceOptions trace;
  const char *output = "-";
  bool all = false;
  const ToolOption table[]
      = { OPTION (OUTPUT, NULL, 'o', &output, "FILE",
                  "The advice, for slice-run --advice"),
          OPTION (FLAG, "all", 0, &all, NULL,
                  "A region for each site, also where it takes more memory"),
          { 0 } };
  const CommandLine line
      = { .words = "TRACE",
          .help = "Writes advice that slice-run --advice follows in the "
                  "unchanged program.",
          .options = table,
          .trace = &trace,
          .least = 1,
          .most = 1 };
  Profile *profile;
  int code;

  sli_trace_options_init (&trace, 0);
  sli_command_line (&line, &argc, &argv);
  sli_file_check (output);
  profile = sli_profile_some (argv[0], &trace.profile);
  code = apply_run (profile, &trace.profile, all, output);
  sli_profile_free (profile);
  return code;
}
