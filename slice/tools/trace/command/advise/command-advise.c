/* command-advise.c - slice-trace advise: what to change, and what it saves
 *
 * Tools.  From one or more runs, the program's own times and the replay.
 *
 * SPDX-License-Identifier: MIT
 */
#include "advice.h"
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/common/stage/origin.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>

static int
advice_compare (const void *a, const void *b)
{
  const Advice *left = a, *right = b;
  bool left_do = strcmp (left->verdict, "do") == 0;
  bool right_do = strcmp (right->verdict, "do") == 0;
  double left_mean;
  double right_mean;

  if (left_do != right_do)
    return left_do ? -1 : 1;
  left_mean = left->low + left->high;
  right_mean = right->low + right->high;
  return left_mean > right_mean ? -1 : left_mean < right_mean;
}

static int
advise_run (Advise *advise)
{
  const JsonValue *sites = sli_json_items (advise->inputs[0], "sites");
  size_t n = 0;
  Advice *advices = sli_tool_zero ((sites->n_items + 1) * sizeof (Advice));
  bool good = true;

  for (size_t i = 0; i < sites->n_items; i++)
    if (sli_json_get (&sites->items[i], "picture") != NULL)
      advices[n++] = sli_advice_make (advise, &sites->items[i]);
  sli_advice_settle (advise, advices, n);
  qsort (advices, n, sizeof *advices, advice_compare);
  if (advise->text)
    sli_advice_print (advise, advices, n);
  if (advise->output != NULL || !advise->text)
    {
      const char *path = advise->output == NULL ? "-" : advise->output;
      FILE *file = sli_file_begin (path);
      JsonOut out = { .file = file };

      sli_advice_write (&out, advise, advices, n);
      good = sli_file_end (file, path);
    }
  free (advices);
  return good ? TOOL_OK : TOOL_FAILED;
}

int
sli_command_advise (int argc, char **argv)
{
  Advise advise = { 0 };
  TraceOptions trace;
  const char *times = NULL, *replay = NULL;
  const ToolOption options[]
      = { OPTION (OUTPUT, NULL, 'o', &advise.output, "FILE",
                  "Where to write JSON"),
          OPTION (FLAG, "text", 0, &advise.text, NULL,
                  "Print text instead of JSON"),
          OPTION (INPUT, "times", 0, &times, "FILE",
                  "The program's own times: a timed trace or its patterns"),
          OPTION (INPUT, "replay", 0, &replay, "FILE", "The output of replay"),
          { 0 } };
  const CommandLine line = { .words = "INPUT...",
                             .help = "Says what to change and what that saves, "
                                     "from traces or patterns.",
                             .options = options,
                             .trace = &trace,
                             .least = 1,
                             .most = INPUTS_MAX };
  OriginFile first;
  int code;

  sli_trace_options_init (&trace, N_HOT_DEFAULT);
  sli_command_line (&line, &argc, &argv);
  if (advise.output != NULL)
    sli_file_check (advise.output);
  /* what is quick to read first, so that an error comes soon */
  sli_stage_inputs_check (argc, argv);
  advise.replay = sli_stage_load (replay, "slice-trace replay 1");
  advise.times
      = times == NULL ? NULL : sli_stage_patterns (times, &trace.profile);
  for (int i = 0; i < argc; i++)
    advise.inputs[advise.n_inputs++]
        = sli_stage_patterns (argv[i], &trace.profile);
  /* other inputs and times are from other recordings; the replay is of the
   * first */
  first = (OriginFile){ advise.inputs[0], argv[0] };
  for (int i = 1; i < argc; i++)
    sli_origin_options_check (&first,
                              &(OriginFile){ advise.inputs[i], argv[i] });
  sli_origin_options_check (&first, &(OriginFile){ advise.times, times });
  sli_origin_check (&first, &(OriginFile){ advise.replay, replay });
  code = advise_run (&advise);
  for (size_t i = 0; i < advise.n_inputs; i++)
    sli_json_free (advise.inputs[i]);
  sli_json_free (advise.times);
  sli_json_free (advise.replay);
  return code;
}
