/* command-report.c - slice-trace report: one page, or text, of the stages
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/common/stage/origin.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/report/report.h"

int
sli_command_report (int argc, char **argv)
{
  TraceOptions trace;
  const char *path = "-", *times = NULL, *replay = NULL, *advice = NULL;
  bool text = false;
  const ToolOption options[]
      = { OPTION (OUTPUT, NULL, 'o', &path, "FILE", "Where to write the page"),
          OPTION (FLAG, "text", 0, &text, NULL, "Text instead of HTML"),
          OPTION (INPUT, "times", 0, &times, "FILE",
                  "The program's own times: a timed trace or its patterns"),
          OPTION (INPUT, "replay", 0, &replay, "FILE", "The output of replay"),
          OPTION (INPUT, "advice", 0, &advice, "FILE", "The output of advise"),
          { 0 } };
  const CommandLine line = { .words = "INPUT",
                             .help = "Writes one page about a trace or "
                                     "patterns.",
                             .options = options,
                             .trace = &trace,
                             .least = 1,
                             .most = 1 };
  JsonValue *documents[4] = { NULL };
  OriginFile first;
  Report report;
  FILE *file;
  bool good;

  sli_trace_options_init (&trace, N_HOT_DEFAULT);
  sli_command_line (&line, &argc, &argv);
  sli_file_check (path);
  /* what is quick to read first, so that an error comes soon */
  documents[1] = sli_stage_load (advice, "slice-trace advice 1");
  documents[2] = sli_stage_load (replay, "slice-trace replay 1");
  if (times != NULL)
    documents[3] = sli_stage_patterns (times, &trace.profile);
  trace.profile.takes_sampled = true;
  documents[0] = sli_stage_patterns (argv[0], &trace.profile);
  if (sli_stage_is_sampled (documents[0])
      && (times != NULL || replay != NULL || advice != NULL))
    sli_tool_exit (TOOL_USAGE,
                   "%s: sampled (record --sample): there are no "
                   "times, replay or advice of it",
                   argv[0]);
  first = (OriginFile){ documents[0], argv[0] };
  sli_origin_check (&first, &(OriginFile){ documents[1], advice });
  sli_origin_check (&first, &(OriginFile){ documents[2], replay });
  sli_origin_options_check (&first, &(OriginFile){ documents[3], times });
  report = (Report){ documents[0], documents[1], documents[2], documents[3] };
  file = sli_file_begin (path);
  if (text)
    sli_report_text (&report, file);
  else
    sli_report_html (&report, file);
  good = sli_file_end (file, path);
  for (int i = 0; i < 4; i++)
    sli_json_free (documents[i]);
  return good ? TOOL_OK : TOOL_FAILED;
}
