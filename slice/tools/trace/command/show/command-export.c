/* command-export.c - slice-trace export: the formats of other tools
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/export/export.h"
#include "tools/trace/format/operations.h"
#include <string.h>

/* Exports the events directly, without sites and symbols. */
static int
export_operations (const char *trace, const char *output)
{
  char error[512];
  const char *path = output == NULL ? "-" : output;
  TraceReader *reader = sli_trace_open (trace, error);
  FILE *file;
  Operations *operations;
  TraceEvent event;
  const OperationTotals *totals;
  bool good;

  if (reader == NULL)
    sli_tool_exit (TOOL_BAD_INPUT, "%s", error);
  file = sli_file_begin (path);
  operations = sli_operations_new ();
  fprintf (file, "# operations of a trace, for slice-bench replay\n");
  while (sli_trace_next (reader, &event))
    sli_operations_add (operations, &event, file);
  totals = sli_operations_totals (operations);
  if (totals->n_unknown > 0)
    fprintf (file, "# %llu frees of unknown blocks were left out\n",
             (unsigned long long) totals->n_unknown);
  sli_trace_is_whole (reader);
  good = sli_file_end (file, path);
  sli_operations_free (operations);
  sli_trace_close (reader);
  return good ? TOOL_OK : TOOL_FAILED;
}

/* Exports to a file, or to standard output if output is NULL. */
static int
export_text (const Profile *profile, const char *format, const char *output,
             bool by_count)
{
  const char *path = output == NULL ? "-" : output;
  FILE *file = sli_file_begin (path);

  if (strcmp (format, "folded") == 0)
    sli_export_folded (profile, file, by_count);
  else if (strcmp (format, "dhat") == 0)
    sli_export_dhat (profile, file);
  else
    sli_export_massif (profile, file);
  return sli_file_end (file, path) ? TOOL_OK : TOOL_FAILED;
}

static void
format_check (const char *format)
{
  static const char *const formats[]
      = { "pprof", "folded", "dhat", "massif", "operations" };

  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (strcmp (format, formats[i]) == 0)
      return;
  sli_tool_exit (TOOL_USAGE, "no format %s", format);
}

int
sli_command_export (int argc, char **argv)
{
  TraceOptions trace;
  const char *output = NULL, *format = NULL;
  bool by_count = false;
  const ToolOption options[]
      = { OPTION (OUTPUT, NULL, 'o', &output, "FILE", "The output"),
          OPTION (TEXT, "format", 0, &format, "FORMAT",
                  "pprof, folded, dhat, massif or operations"),
          OPTION (FLAG, "count", 0, &by_count, NULL,
                  "Count calls instead of bytes in folded stacks"),
          { 0 } };
  const CommandLine line = { .words = "TRACE",
                             .help = "Writes the format of another tool.",
                             .options = options,
                             .trace = &trace,
                             .least = 1,
                             .most = 1 };
  Profile *profile;
  int code = TOOL_OK;

  sli_trace_options_init (&trace, 1);
  sli_command_line (&line, &argc, &argv);
  if (format == NULL)
    sli_tool_exit (TOOL_USAGE, "export: which --format?");
  format_check (format);
  if (by_count && strcmp (format, "folded") != 0)
    sli_tool_exit (TOOL_USAGE, "--count is of folded stacks, not of %s",
                   format);
  if (output != NULL)
    sli_file_check (output);
  if (strcmp (format, "operations") == 0)
    return export_operations (argv[0], output);
  if (strcmp (format, "pprof") == 0 && output == NULL)
    sli_tool_exit (TOOL_USAGE, "pprof wants a file: -o");
  /* DHAT counts lives in operations */
  trace.profile.takes_sampled = strcmp (format, "dhat") != 0;
  profile = sli_profile_new (argv[0], &trace.profile);
  if (strcmp (format, "pprof") == 0)
    sli_export_pprof (profile, output);
  else
    code = export_text (profile, format, output, by_count);
  sli_profile_free (profile);
  return code;
}
