/* command-pins.c - slice-trace pins: who keeps the heap from shrinking
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/pins/pins.h"
#include <string.h>

typedef struct
{
  TraceOptions trace;
  const char *output, *picture, *malloc_name;
  uint32_t n_rows;
} PinsOptions;

static HeapPolicy
policy_choose (const PinsOptions *options, const TraceReader *reader)
{
  if (options->malloc_name == NULL)
    return sli_heap_policy (reader);
  return strcmp (options->malloc_name, "glibc") == 0 ? HEAP_GLIBC
                                                     : HEAP_PURGES;
}

static void
options_check (const PinsOptions *options)
{
  const char *name = options->malloc_name;

  if (name != NULL && strcmp (name, "glibc") != 0
      && strcmp (name, "purging") != 0)
    sli_tool_exit (TOOL_USAGE, "--malloc: '%s' is not glibc or purging", name);
  if (options->output != NULL)
    sli_file_check (options->output);
  if (options->picture != NULL)
    sli_file_check (options->picture);
}

static bool
file_write (const Pins *pins, const char *path,
            void (*write) (const Pins *, FILE *))
{
  FILE *file;

  if (path == NULL)
    return true;
  file = sli_file_begin (path);
  write (pins, file);
  return sli_file_end (file, path);
}

static bool
pins_show (const PinsOptions *options, const Pins *pins)
{
  if (options->output == NULL)
    sli_pins_print (pins, stdout, options->n_rows);
  return file_write (pins, options->output, sli_pins_write)
         && file_write (pins, options->picture, sli_pins_draw);
}

int
sli_command_pins (int argc, char **argv)
{
  PinsOptions options = { .n_rows = 20 };
  const ToolOption table[]
      = { OPTION (OUTPUT, NULL, 'o', &options.output, "FILE",
                  "JSON instead of the table"),
          OPTION (OUTPUT, "picture", 0, &options.picture, "FILE",
                  "The address space over time, as SVG"),
          OPTION (TEXT, "malloc", 0, &options.malloc_name, "glibc|purging",
                  "How the program's malloc returns memory; by default, as "
                  "the one that it has loaded does"),
          { OPTION_COUNT, NULL, 'n', &options.n_rows, "N", "Lines (20)", 1,
            UINT32_MAX },
          { 0 } };
  const CommandLine line
      = { .words = "TRACE",
          .help = "Shows the sites whose blocks keep nearly empty pages "
                  "resident.",
          .options = table,
          .trace = &options.trace,
          .least = 1,
          .most = 1 };
  Profile *profile;
  Pins *pins;
  bool good;

  sli_trace_options_init (&options.trace, 0);
  sli_command_line (&line, &argc, &argv);
  options_check (&options);
  profile = sli_profile_some (argv[0], &options.trace.profile);
  pins = sli_pins_new (profile, policy_choose (&options, profile->reader),
                       options.trace.profile.chosen_time);
  good = pins_show (&options, pins);
  sli_pins_free (pins);
  sli_profile_free (profile);
  return good ? TOOL_OK : TOOL_FAILED;
}
