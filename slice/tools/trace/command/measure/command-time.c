/* command-time.c - slice-trace time: a program's time in its allocator
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/command/stage-process.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
time_print (const JsonValue *document, FILE *file)
{
  const JsonValue *sites = sli_json_items (document, "sites");
  double total = 0;
  double plain;

  for (size_t i = 0; i < sites->n_items; i++)
    total += sli_stage_site_nsec (&sites->items[i]);
  plain = sli_json_number (sli_json_get (document, "totals"), "plain_nsec");
  fprintf (file, "%s in the allocator", sli_human_nsec (total));
  if (plain > 0)
    fprintf (file, ", of %s that the program takes unrecorded",
             sli_human_nsec (plain));
  fprintf (file, "\n%8s %10s %9s %9s  %s\n", "share", "time", "alloc", "free",
           "site");
  for (size_t i = 0; i < sites->n_items && i < 40; i++)
    {
      const JsonValue *site = &sites->items[i];
      double frees = sli_json_number (site, "frees");

      fprintf (file, "%7.2f%% %10s %6.1f ns %6.1f ns  %.50s\n",
               100 * sli_stage_site_nsec (site) / (total > 0 ? total : 1),
               sli_human_nsec (sli_stage_site_nsec (site)),
               sli_json_number (site, "alloc_nsec")
                   / sli_json_number (site, "calls"),
               frees > 0 ? sli_json_number (site, "free_nsec") / frees : 0,
               sli_json_string (site, "name"));
    }
}

static char *
directory_make (void)
{
  const char *place = getenv ("TMPDIR");
  char *path
      = sli_tool_text ("%s/slice-time-XXXXXX", place == NULL ? "/tmp" : place);

  if (mkdtemp (path) == NULL)
    sli_tool_exit (TOOL_FAILED, "%s: %s", path, strerror (errno));
  return path;
}

static void
directory_remove (const char *path)
{
  DIR *directory = opendir (path);

  for (struct dirent *entry;
       directory != NULL && (entry = readdir (directory)) != NULL;)
    unlinkat (dirfd (directory), entry->d_name, 0);
  if (directory != NULL)
    closedir (directory);
  rmdir (path);
}

/* Records the program.  Signals go to it; afterwards its trace, which has no
 * name any more, is read.
 *
 * Returns the trace's path, NULL if there is none. */
static char *
time_record (char **program, int *code)
{
  char *directory = directory_make ();
  char *trace = sli_tool_text ("%s/trace", directory);
  char **record = sli_record_arguments (trace, true, program);
  int fd;

  sli_signals_begin ();
  *code = sli_stage_execute ("record, timed", record);
  sli_signals_end ();
  fd = open (trace, O_RDONLY | O_CLOEXEC);
  directory_remove (directory);
  free (record);
  free (trace);
  free (directory);
  return fd < 0 ? NULL : sli_tool_text ("/proc/self/fd/%d", fd);
}

/* Runs a program with every call measured and prints where the time went. */
int
sli_command_time (int argc, char **argv)
{
  TraceOptions trace;
  const char *path = "-";
  int code;
  const ToolOption options[] = { OPTION (OUTPUT, NULL, 'o', &path, "FILE",
                                         "Where to write the table"),
                                 { 0 } };
  const CommandLine line
      = { .words = "PROGRAM [ARGUMENT...]",
          .help = "Shows where a program spends its allocator time.",
          .options = options,
          .trace = &trace,
          .runs = true };
  char *recorded;
  JsonValue *document;
  FILE *file;

  sli_trace_options_init (&trace, N_HOT_DEFAULT);
  sli_command_line (&line, &argc, &argv);
  sli_file_check (path);
  recorded = time_record (argv, &code);
  if (recorded == NULL)
    return code;
  document = sli_stage_patterns (recorded, &trace.profile);
  file = sli_file_begin (path);
  time_print (document, file);
  if (!sli_file_end (file, path))
    code = TOOL_FAILED;
  sli_json_free (document);
  free (recorded);
  return code;
}
