/* command-run.c - slice-trace run: all stages, or those that are wanted
 *
 * Tools.  Each stage leaves a file.  A stage whose file exists and is newer
 * than its inputs is not run again.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "command-line.h"
#include "commands.h"
#include "stage-process.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/format/read/trace-read.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum
{
  FILE_TRACE,
  FILE_PATTERNS,
  FILE_TIME_TRACE,
  FILE_TIMES,
  FILE_REPLAY,
  FILE_ADVICE,
  FILE_TEXT,
  FILE_HTML,
  N_FILES
};

typedef struct
{
  const char *directory;
  char *file[N_FILES];
  TextList passed; /* to the stages that read a trace */
  bool again;
} Stages;

static const char *const file_names[]
    = { "trace",       "patterns.json", "time.trace", "times.json",
        "replay.json", "advice.json",   "report.txt", "report.html" };

static bool
is_newer (const char *path, const char *than)
{
  struct stat own, other;

  if (stat (path, &own) != 0)
    return false;
  if (stat (than, &other) != 0)
    return true;
  return own.st_mtim.tv_sec > other.st_mtim.tv_sec
         || (own.st_mtim.tv_sec == other.st_mtim.tv_sec
             && own.st_mtim.tv_nsec >= other.st_mtim.tv_nsec);
}

/* The arguments, and the options that are passed on. */
static char **
with_passed (const Stages *stages, char *const *arguments)
{
  TextList list = { 0 };

  for (; *arguments != NULL; arguments++)
    sli_text_list_add (&list, *arguments);
  for (size_t i = 0; i < stages->passed.n; i++)
    sli_text_list_add (&list, stages->passed.items[i]);
  return (char **) list.items;
}

/* Runs a stage, which gets the signals that would end this process.  After one
 * it ends, too. */
static int
stage_execute (const char *what, char *const *arguments)
{
  int code, number;

  sli_signals_watch ();
  code = sli_stage_execute (what, arguments);
  number = sli_signals_came ();
  if (number != 0)
    sli_tool_say ("%s: interrupted by signal %d", what, number);
  sli_signals_end ();
  if (number == 0)
    return code;
  raise (number);
  exit (128 + number);
}

/* The name of a file that exists while a trace is recorded. */
static char *
mark_name (const char *trace)
{
  return sli_tool_text ("%s.recording", trace);
}

/* Records the program.  If this process ends meanwhile, the mark stays, and
 * the next one records again. */
static int
record_execute (const Stages *stages, int file, const char *what,
                char **program)
{
  char **record = sli_record_arguments (stages->file[file],
                                        file == FILE_TIME_TRACE, program);
  char *mark = mark_name (stages->file[file]);
  FILE *marked = sli_file_begin (mark);
  int code;

  if (!sli_file_end (marked, mark))
    exit (TOOL_FAILED);
  code = stage_execute (what, record);
  unlink (mark);
  free (mark);
  free (record);
  return code;
}

static void
stage_file (Stages *stages, int file, int source, const char *what,
            char *const *arguments)
{
  const char *made = stages->file[file], *from = stages->file[source];
  int code;

  if (!stages->again && is_newer (made, from))
    return;
  stages->again = true; /* the later stages run again */
  code = stage_execute (what, arguments);
  /* The file was made from the undamaged part. */
  if (code == TOOL_BAD_INPUT && is_newer (made, from))
    sli_tool_bad_input ();
  else if (code != TOOL_OK)
    sli_tool_exit (code, "%s did not succeed (status %d)", what, code);
}

/* Returns true if a file of the directory, with a word in each line, has these
 * words; writes them if `change'. */
static bool
is_remembered (const Stages *stages, const char *name,
               const char *const *words, bool change)
{
  char *text = sli_tool_text ("%s", "");
  char *path, *known;
  bool same, first;

  for (; words != NULL && *words != NULL; words++)
    {
      char *longer = sli_tool_text ("%s%s\n", text, *words);

      free (text);
      text = longer;
    }
  path = sli_tool_text ("%s/%s", stages->directory, name);
  known = sli_file_read (path, NULL);
  same = strcmp (known == NULL ? "" : known, text) == 0;
  if (known == NULL || (!same && change))
    {
      FILE *file = sli_file_begin (path);

      fputs (text, file);
      sli_file_end (file, path);
    }
  first = known == NULL;
  free (known);
  free (text);
  free (path);
  return same || (first && !change);
}

/* Returns true if the program seems to be the same file as before, or can't be
 * found: then its stages stay. */
static bool
program_same (const Stages *stages, const char *name)
{
  struct stat status = { 0 };
  char *path = sli_program_find (name);
  const char *words[2] = { NULL };
  char *text;
  bool same;

  if (stat (path, &status) != 0)
    {
      free (path);
      return true;
    }
  text = sli_tool_text ("%s %lld %lld.%09ld", path, (long long) status.st_size,
                        (long long) status.st_mtim.tv_sec,
                        (long) status.st_mtim.tv_nsec);
  words[0] = text;
  same = is_remembered (stages, "program", words, true);
  free (text);
  free (path);
  return same;
}

/* Removes a trace whose recording was interrupted. */
static void
recording_check (const char *trace)
{
  char *mark = mark_name (trace);

  if (access (mark, F_OK) == 0)
    {
      unlink (trace);
      unlink (mark);
    }
  free (mark);
}

/* Says so if not all of the program is in the trace. */
static void
cut_say (const char *trace)
{
  char error[512];
  TraceReader *reader = sli_trace_open (trace, error);

  if (reader == NULL)
    return;
  if (!reader->has_summary || (reader->summary.flags & TRACE_SUMMARY_CUT) != 0)
    sli_tool_say ("%s is cut: the program ended without its exit handlers, or "
                  "became another; to record it again, remove that file",
                  trace);
  sli_trace_close (reader);
}

/* It is an error to use the directory of another program.  With other options
 * the stages run again; if the program was built again, the recordings do,
 * too. */
static void
command_check (Stages *stages, char **program)
{
  bool rebuilt;

  if (!is_remembered (stages, "command", (const char *const *) program, false))
    sli_tool_exit (TOOL_USAGE_RUN,
                   "%s holds another program's stages: choose another "
                   "directory (-o) or remove it",
                   stages->directory);
  recording_check (stages->file[FILE_TRACE]);
  recording_check (stages->file[FILE_TIME_TRACE]);
  rebuilt = !program_same (stages, program[0]);
  if (!is_remembered (stages, "options", stages->passed.items, true)
      || rebuilt)
    for (int i = 0; i < N_FILES; i++)
      if (rebuilt || (i != FILE_TRACE && i != FILE_TIME_TRACE))
        unlink (stages->file[i]);
}

/* Removes a directory that was made for a program that does not start. */
static void
memory_remove (const Stages *stages)
{
  static const char *const names[] = { "command", "program", "options" };

  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    {
      char *path = sli_tool_text ("%s/%s", stages->directory, names[i]);

      unlink (path);
      free (path);
    }
  rmdir (stages->directory);
}

#define STAGE(name, ...)                                                      \
 ((char *const[]){ (char *) "slice-trace", (char *) name, __VA_ARGS__, NULL })
#define OPTION_WITH(option, value) (char *) option, value

static void
patterns_make (Stages *stages, int file, int source, const char *what)
{
  char **files = stages->file;

  stage_file (stages, file, source, what,
              with_passed (stages, STAGE ("patterns", files[source],
                                          OPTION_WITH ("-o", files[file]))));
}

/* Runs the program once more with its calls measured, and once more without
 * the recorder. */
static void
times_make (Stages *stages, char **program)
{
  char **files = stages->file;

  if (!is_newer (files[FILE_TIME_TRACE], files[FILE_TRACE]))
    record_execute (stages, FILE_TIME_TRACE, "time: the program again",
                    program);
  patterns_make (stages, FILE_TIMES, FILE_TIME_TRACE, "times");
}

static void
advice_make (Stages *stages)
{
  char **files = stages->file;

  stage_file (
      stages, FILE_REPLAY, FILE_TIMES, "replay",
      with_passed (stages, STAGE ("replay", files[FILE_TRACE],
                                  OPTION_WITH ("--times", files[FILE_TIMES]),
                                  OPTION_WITH ("-o", files[FILE_REPLAY]),
                                  OPTION_WITH ("--repeats", (char *) "5"))));
  stage_file (stages, FILE_ADVICE, FILE_REPLAY, "advise",
              STAGE ("advise", files[FILE_PATTERNS],
                     OPTION_WITH ("--times", files[FILE_TIMES]),
                     OPTION_WITH ("--replay", files[FILE_REPLAY]),
                     OPTION_WITH ("-o", files[FILE_ADVICE])));
}

static void
reports_make (Stages *stages)
{
  char **files = stages->file;

  stage_file (stages, FILE_TEXT, FILE_ADVICE, "report, as text",
              STAGE ("report", (char *) "--text", files[FILE_PATTERNS],
                     OPTION_WITH ("--replay", files[FILE_REPLAY]),
                     OPTION_WITH ("--advice", files[FILE_ADVICE]),
                     OPTION_WITH ("-o", files[FILE_TEXT])));
  stage_file (stages, FILE_HTML, FILE_ADVICE, "report",
              STAGE ("report", files[FILE_PATTERNS],
                     OPTION_WITH ("--times", files[FILE_TIMES]),
                     OPTION_WITH ("--replay", files[FILE_REPLAY]),
                     OPTION_WITH ("--advice", files[FILE_ADVICE]),
                     OPTION_WITH ("-o", files[FILE_HTML])));
}

/* Says how to find out what a change saves, not in a replay but in the
 * program. */
static void
predict_say (const Stages *stages, char *const *program)
{
  fprintf (stderr,
           "slice-trace: before a change: slice-trace predict --site SITE %s "
           "\"",
           stages->file[FILE_TRACE]);
  for (; *program != NULL; program++)
    fprintf (stderr, "%s%s", *program, program[1] == NULL ? "\"\n" : " ");
}

static void
stages_after_record (Stages *stages, char **program, bool quick)
{
  char **files = stages->file;

  patterns_make (stages, FILE_PATTERNS, FILE_TRACE, "patterns");
  if (quick)
    {
      stage_file (stages, FILE_HTML, FILE_PATTERNS, "report",
                  STAGE ("report", files[FILE_PATTERNS],
                         OPTION_WITH ("-o", files[FILE_HTML])));
      return;
    }
  times_make (stages, program);
  advice_make (stages);
  reports_make (stages);
}

int
sli_command_run (int argc, char **argv)
{
  Stages stages = { .directory = "slice-trace.out" };
  TraceOptions trace;
  bool quick = false;
  const ToolOption options[]
      = { OPTION (TEXT, NULL, 'o', &stages.directory, "DIRECTORY",
                  "Where the stages' files are (slice-trace.out)"),
          OPTION (FLAG, "quick", 0, &quick, NULL,
                  "Without times, replay and advice"),
          { 0 } };
  const CommandLine line
      = { .words = "PROGRAM [ARGUMENT...]",
          .help
          = "Runs all stages, from record to report.  Stages whose files "
            "are up to date are skipped.",
          .options = options,
          .trace = &trace,
          .runs = true };
  bool is_new;
  int code = TOOL_OK;
  const char *recorded;

  sli_trace_options_init (&trace, N_HOT_DEFAULT);
  sli_command_line (&line, &argc, &argv);
  stages.passed = trace.given;
  is_new = mkdir (stages.directory, 0777) == 0;
  if (!is_new && errno != EEXIST)
    sli_tool_exit (TOOL_FAILED, "%s: %s", stages.directory, strerror (errno));
  for (int i = 0; i < N_FILES; i++)
    stages.file[i] = sli_tool_text ("%s/%s", stages.directory, file_names[i]);
  command_check (&stages, argv);
  recorded = stages.file[FILE_TRACE];
  if (access (recorded, F_OK) != 0)
    {
      stages.again = true;
      code = record_execute (&stages, FILE_TRACE, "record", argv);
    }
  if (access (recorded, R_OK) != 0)
    {
      if (is_new)
        memory_remove (&stages);
      return code == TOOL_OK ? TOOL_NO_EVENTS : code;
    }
  stages_after_record (&stages, argv, quick);
  cut_say (recorded);
  if (!quick)
    predict_say (&stages, argv);
  fprintf (stderr, "slice-trace: %s\n", stages.file[FILE_HTML]);
  for (int i = 0; i < N_FILES; i++)
    free (stages.file[i]);
  return TOOL_OK;
}
