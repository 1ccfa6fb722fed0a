/* main.c - slice-trace: the commands
 *
 * Tools.  slice-trace(1).
 *
 * SPDX-License-Identifier: MIT
 */
#include "commands.h"
#include "slice/version.h"
#include "tools/trace/common/tool.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  const char *name;
  int (*run) (int argc, char **argv);
  const char *help;
} Command;

static const Command commands[] = {
  { "run", sli_command_run, "all stages, from record to report" },
  { "record", sli_command_record, "run a program and record its events" },
  { "watch", sli_command_watch, "what a program that runs allocates" },
  { "hot", sli_command_hot, "the sites that allocate most, a line for each" },
  { "patterns", sli_command_patterns, "the numbers and class of every site" },
  { "callers", sli_command_callers, "a site's allocations, by caller" },
  { "pins", sli_command_pins, "the sites that keep the heap from shrinking" },
  { "replay", sli_command_replay, "the time and memory with other allocators" },
  { "advise", sli_command_advise, "what to change, and what that saves" },
  { "predict", sli_command_predict, "an arena in the unchanged program" },
  { "apply", sli_command_apply, "advice for slice-run --advice" },
  { "time", sli_command_time, "where a program spends its allocator time" },
  { "report", sli_command_report, "one page, or text, about all stages" },
  { "diff", sli_command_diff, "the sites of two runs side by side" },
  { "compare", sli_command_compare, "whether two commands differ" },
  { "export", sli_command_export, "pprof, folded stacks, DHAT or massif" },
  { "replay-run", sli_command_replay_run, NULL },
  { "info", sli_command_info, "facts about a trace, with counts" },
  { "dump", sli_command_dump, "each event on a line" },
};

static int
help (FILE *file, int code)
{
  fputs ("Usage: slice-trace COMMAND [OPTIONS] ...\n\n", file);
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (commands[i].help != NULL)
      fprintf (file, "  %-9s %s\n", commands[i].name, commands[i].help);
  fputs ("\nslice-trace COMMAND --help has the options.\n", file);
  return code;
}

static int
command_run (int argc, char **argv)
{
  if (argc < 2)
    return help (stderr, TOOL_USAGE);
  if (strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "help") == 0)
    return help (stdout, TOOL_OK);
  if (strcmp (argv[1], "--version") == 0)
    {
      puts ("slice-trace (slice) " SLICE_VERSION_STRING);
      return TOOL_OK;
    }
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (strcmp (argv[1], commands[i].name) == 0)
      {
        argv[1] = sli_tool_text ("slice-trace %s", argv[1]);
        return sli_tool_status (commands[i].run (argc - 1, argv + 1));
      }
  sli_tool_say ("no command %s", argv[1]);
  return help (stderr, TOOL_USAGE);
}

/* Reports output that could not be written, also when argp prints its help and
 * exits. */
static void
at_exit (void)
{
  if (!sli_output_end ())
    _exit (TOOL_FAILED);
}

int
main (int argc, char **argv)
{
  if (atexit (at_exit) != 0)
    sli_tool_exit (TOOL_FAILED, "no memory");
  /* a file at its size limit is an ordinary error here; programs that are
   * started get the signal again */
  signal (SIGXFSZ, SIG_IGN);
  return command_run (argc, argv);
}
