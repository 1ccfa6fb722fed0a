/* command-report.c - slice-trace report, time and run
 *
 * Tools.  `run` is the control script: each stage leaves a file, and a stage
 * whose file is there and newer than what it is made from is not done again.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "command-line.h"
#include "commands.h"
#include "tools/trace/common/origin.h"
#include "tools/trace/report/report.h"
#include "tools/trace/common/stage.h"
#include "tools/trace/common/tool.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int
sli_command_report (int argc, char **argv)
{
  TraceOptions trace;
  const char *path = "-", *times = NULL, *replay = NULL, *advice = NULL;
  bool text = false;
  const ToolOption options[]
      = { OPTION (TEXT, NULL, 'o', &path, "FILE", "The page"),
          OPTION (FLAG, "text", 0, &text, NULL, "Text instead of HTML"),
          OPTION (TEXT, "times", 0, &times, "FILE",
                  "The program's own times: a timed trace or its patterns"),
          OPTION (TEXT, "replay", 0, &replay, "FILE", "Of replay"),
          OPTION (TEXT, "advice", 0, &advice, "FILE", "Of advise"),
          { 0 } };
  const CommandLine line = { .words = "INPUT",
                             .help = "One page, of a trace or patterns.",
                             .options = options,
                             .trace = &trace,
                             .least = 1,
                             .most = 1 };
  sli_trace_options_init (&trace, N_HOT_DEFAULT);
  sli_command_line (&line, &argc, &argv);
  sli_file_check (path);
  JsonValue *documents[4]
      = { sli_stage_patterns (argv[0], &trace.profile),
          sli_stage_load (advice, "slice-trace advice 1"),
          sli_stage_load (replay, "slice-trace replay 1"),
          times == NULL ? NULL : sli_stage_patterns (times, &trace.profile) };
  OriginFile first = { documents[0], argv[0] };
  sli_origin_check (&first, &(OriginFile){ documents[1], advice });
  sli_origin_check (&first, &(OriginFile){ documents[2], replay });
  sli_origin_options_check (&first, &(OriginFile){ documents[3], times });
  Report report = { documents[0], documents[1], documents[2], documents[3] };
  FILE *file = sli_file_begin (path);
  if (text)
    sli_report_text (&report, file);
  else
    sli_report_html (&report, file);
  bool good = sli_file_end (file, path);
  for (int i = 0; i < 4; i++)
    sli_json_free (documents[i]);
  return good ? TOOL_OK : TOOL_FAILED;
}

/* --- stages -------------------------------------------------------------- */

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
  if (than == NULL || stat (than, &other) != 0)
    return true;
  return own.st_mtim.tv_sec > other.st_mtim.tv_sec
         || (own.st_mtim.tv_sec == other.st_mtim.tv_sec
             && own.st_mtim.tv_nsec >= other.st_mtim.tv_nsec);
}

/* Each stage is a process, which frees its memory by ending. */
static int
stage_execute (const char *what, char *const *arguments, bool passes_signals)
{
  int status;
  fprintf (stderr, "slice-trace: %s\n", what);
  pid_t pid = fork ();
  if (pid < 0)
    sli_tool_exit (TOOL_FAILED, "fork: %s", strerror (errno));
  if (pid == 0)
    {
      if (passes_signals)
        sli_signals_end ();
      execv ("/proc/self/exe", arguments);
      _exit (TOOL_NOT_RUN);
    }
  if (passes_signals)
    sli_signals_child (pid);
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
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
  return (char **)list.items;
}

static int
stage_file (Stages *stages, int file, int source, const char *what,
            char *const *arguments)
{
  if (!stages->again
      && is_newer (stages->file[file],
                   source < 0 ? NULL : stages->file[source]))
    return TOOL_OK;
  stages->again = true; /* the stages after it are made again */
  int code = stage_execute (what, arguments, false);
  /* The file was made, of what is not damaged. */
  if (code == TOOL_BAD_INPUT && source >= 0
      && is_newer (stages->file[file], stages->file[source]))
    sli_tool_bad_input ();
  else if (code != TOOL_OK && source >= 0)
    sli_tool_exit (code, "%s did not succeed", what);
  return code;
}

/* The arguments of `record`, then the program's. */
static char **
record_arguments (Stages *stages, bool timed, char **program)
{
  size_t n = 0;
  while (program[n] != NULL)
    n++;
  char **arguments = sli_tool_zero ((n + 12) * sizeof (char *));
  size_t at = 0;
  arguments[at++] = (char *)"slice-trace";
  arguments[at++] = (char *)"record";
  arguments[at++] = (char *)"-o";
  arguments[at++] = stages->file[timed ? FILE_TIME_TRACE : FILE_TRACE];
  arguments[at++] = (char *)"-q";
  if (timed)
    {
      arguments[at++] = (char *)"--timed";
      arguments[at++] = (char *)"--plain";
    }
  arguments[at++] = (char *)"--";
  memcpy (&arguments[at], program, n * sizeof (char *));
  return arguments;
}

/* What a file of the directory remembers, a word a line: whether it is this.
 * From now on it is. */
static bool
is_remembered (const Stages *stages, const char *name,
               const char *const *words, bool change)
{
  char *text = sli_tool_text ("%s", "");
  for (; words != NULL && *words != NULL; words++)
    {
      char *longer = sli_tool_text ("%s%s\n", text, *words);
      free (text);
      text = longer;
    }
  char *path = sli_tool_text ("%s/%s", stages->directory, name);
  char *known = sli_file_read (path, NULL);
  bool same = strcmp (known == NULL ? "" : known, text) == 0;
  if (known == NULL || (!same && change))
    {
      FILE *file = sli_file_begin (path);
      fputs (text, file);
      sli_file_end (file, path);
    }
  bool first = known == NULL;
  free (known);
  free (text);
  free (path);
  return same || (first && !change);
}

/* Where execvp() finds it; as it is, if it does not. */
static char *
program_find (const char *name)
{
  const char *at = getenv ("PATH");
  if (strchr (name, '/') != NULL || at == NULL)
    return sli_tool_text ("%s", name);
  for (;; at++)
    {
      size_t n = strcspn (at, ":");
      char *path = sli_tool_text ("%.*s/%s", n == 0 ? 1 : (int)n,
                                  n == 0 ? "." : at, name);
      if (access (path, X_OK) == 0)
        return path;
      free (path);
      at += n;
      if (*at == '\0')
        return sli_tool_text ("%s", name);
    }
}

/* Whether the program is the file that it was, as far as can be seen. */
static bool
program_same (const Stages *stages, const char *name)
{
  struct stat status = { 0 };
  char *path = program_find (name);
  stat (path, &status);
  char *text = sli_tool_text ("%s %lld %lld.%09ld", path,
                              (long long)status.st_size,
                              (long long)status.st_mtim.tv_sec,
                              (long)status.st_mtim.tv_nsec);
  const char *const words[] = { text, NULL };
  bool same = is_remembered (stages, "program", words, true);
  free (text);
  free (path);
  return same;
}

/* The same directory for another program is a mistake; with other options
 * the stages are made anew, and with the program built again the traces,
 * too. */
static void
command_check (Stages *stages, char **program)
{
  if (!is_remembered (stages, "command", (const char *const *) program, false))
    sli_tool_exit (TOOL_USAGE_RUN,
                   "%s holds another program's stages: choose another "
                   "directory (-o) or remove it",
                   stages->directory);
  bool rebuilt = !program_same (stages, program[0]);
  if (!is_remembered (stages, "options", stages->passed.items, true)
      || rebuilt)
    for (int i = 0; i < N_FILES; i++)
      if (rebuilt || (i != FILE_TRACE && i != FILE_TIME_TRACE))
        unlink (stages->file[i]);
}

/* A directory that was made for a program that does not start goes again. */
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

#define STAGE(...)                                                            \
 ((char *const[]){ (char *)"slice-trace", __VA_ARGS__, NULL })

static void
stages_after_record (Stages *stages, char **program, bool quick)
{
  char **files = stages->file;
  stage_file (
      stages, FILE_PATTERNS, FILE_TRACE, "patterns",
      with_passed (stages, STAGE ((char *) "patterns", files[FILE_TRACE],
                                  (char *) "-o", files[FILE_PATTERNS])));
  if (!quick)
    {
      char **record = record_arguments (stages, true, program);
      if (!is_newer (files[FILE_TIME_TRACE], files[FILE_TRACE]))
        stage_execute ("time: the program again", record, false);
      free (record);
      stage_file (
          stages, FILE_TIMES, FILE_TIME_TRACE, "times",
          with_passed (stages,
                       STAGE ((char *) "patterns", files[FILE_TIME_TRACE],
                              (char *) "-o", files[FILE_TIMES])));
      stage_file (
          stages, FILE_REPLAY, FILE_TIMES, "replay",
          with_passed (stages, STAGE ((char *) "replay", files[FILE_TRACE],
                                      (char *) "--times", files[FILE_TIMES],
                                      (char *) "-o", files[FILE_REPLAY],
                                      (char *) "--repeats", (char *) "5")));
      stage_file (stages, FILE_ADVICE, FILE_REPLAY, "advise",
                  STAGE ((char *) "advise", files[FILE_PATTERNS],
                         (char *) "--times", files[FILE_TIMES],
                         (char *) "--replay", files[FILE_REPLAY],
                         (char *) "-o", files[FILE_ADVICE]));
      stage_file (stages, FILE_TEXT, FILE_ADVICE, "report, as text",
                  STAGE ((char *) "report", (char *) "--text",
                         files[FILE_PATTERNS], (char *) "--replay",
                         files[FILE_REPLAY], (char *) "--advice",
                         files[FILE_ADVICE], (char *) "-o", files[FILE_TEXT]));
      stage_file (stages, FILE_HTML, FILE_ADVICE, "report",
                  STAGE ((char *) "report", files[FILE_PATTERNS],
                         (char *) "--times", files[FILE_TIMES],
                         (char *) "--replay", files[FILE_REPLAY],
                         (char *) "--advice", files[FILE_ADVICE],
                         (char *) "-o", files[FILE_HTML]));
      return;
    }
  stage_file (stages, FILE_HTML, FILE_PATTERNS, "report",
              STAGE ((char *) "report", files[FILE_PATTERNS], (char *) "-o",
                     files[FILE_HTML]));
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
          .help = "All of it: record to report.  What is there already is not "
                  "done again.",
          .options = options,
          .trace = &trace,
          .runs = true,
          .least = 1,
          .most = INT_MAX };
  sli_trace_options_init (&trace, N_HOT_DEFAULT);
  sli_command_line (&line, &argc, &argv);
  stages.passed = trace.given;
  bool is_new = mkdir (stages.directory, 0777) == 0;
  if (!is_new && errno != EEXIST)
    sli_tool_exit (TOOL_FAILED, "%s: %s", stages.directory, strerror (errno));
  for (int i = 0; i < N_FILES; i++)
    stages.file[i] = sli_tool_text ("%s/%s", stages.directory, file_names[i]);
  command_check (&stages, argv);
  char **record = record_arguments (&stages, false, argv);
  int code = stage_file (&stages, FILE_TRACE, -1, "record", record);
  free (record);
  if (access (stages.file[FILE_TRACE], R_OK) != 0)
    {
      if (is_new)
        memory_remove (&stages);
      return code == TOOL_OK ? TOOL_NO_EVENTS : code;
    }
  stages_after_record (&stages, argv, quick);
  fprintf (stderr, "slice-trace: %s\n", stages.file[FILE_HTML]);
  for (int i = 0; i < N_FILES; i++)
    free (stages.file[i]);
  return TOOL_OK;
}

/* --- time ---------------------------------------------------------------- */

static void
time_print (const JsonValue *document, FILE *file)
{
  const JsonValue *sites = sli_json_items (document, "sites");
  double total = 0;
  for (size_t i = 0; i < sites->n_items; i++)
    total += sli_stage_site_nsec (&sites->items[i]);
  double plain = sli_json_number (sli_json_get (document, "totals"),
                                  "plain_nsec");
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

/* A timed stages.  Signals end the program that is recorded, or not, as it
 * likes; then its trace is looked at, which has no name any more.
 *
 * Returns the trace's path, NULL if there is none. */
static char *
time_record (char **program, int *code)
{
  Stages stages = { 0 };
  char *directory = directory_make ();
  stages.file[FILE_TIME_TRACE] = sli_tool_text ("%s/trace", directory);
  char **record = record_arguments (&stages, true, program);
  sli_signals_begin ();
  *code = stage_execute ("record, timed", record, true);
  sli_signals_end ();
  int fd = open (stages.file[FILE_TIME_TRACE], O_RDONLY | O_CLOEXEC);
  directory_remove (directory);
  free (record);
  free (stages.file[FILE_TIME_TRACE]);
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
  const ToolOption options[]
      = { OPTION (TEXT, NULL, 'o', &path, "FILE", "The table"), { 0 } };
  const CommandLine line
      = { .words = "PROGRAM [ARGUMENT...]",
          .help = "Where a program's time in the allocator goes.",
          .options = options,
          .trace = &trace,
          .runs = true,
          .least = 1,
          .most = INT_MAX };
  sli_trace_options_init (&trace, N_HOT_DEFAULT);
  sli_command_line (&line, &argc, &argv);
  sli_file_check (path);
  char *recorded = time_record (argv, &code);
  if (recorded == NULL)
    return code;
  JsonValue *document = sli_stage_patterns (recorded, &trace.profile);
  FILE *file = sli_file_begin (path);
  time_print (document, file);
  if (!sli_file_end (file, path))
    code = TOOL_FAILED;
  sli_json_free (document);
  free (recorded);
  return code;
}
