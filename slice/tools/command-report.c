/* command-report.c - slice-trace report, time and run
 *
 * Tools.  `run` is the control script: each stage leaves a file, and a stage
 * whose file is there and newer than what it is made from is not done again.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "commands.h"
#include "report.h"
#include "stage.h"
#include "tool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int
sli_command_report (int argc, char **argv)
{
  const char *output = sli_option_value (&argc, argv, "-o");
  const char *times = sli_option_value (&argc, argv, "--times");
  const char *replay = sli_option_value (&argc, argv, "--replay");
  const char *advice = sli_option_value (&argc, argv, "--advice");
  bool text = sli_option_flag (&argc, argv, "--text");
  sli_option_none_left (argc, argv);
  if (argc != 1)
    sli_tool_die (TOOL_USAGE, "one trace or patterns file is wanted");
  JsonValue *documents[4]
      = { sli_stage_patterns (argv[0]),
          sli_stage_load (advice, "slice-trace advice 1"),
          sli_stage_load (replay, "slice-trace replay 1"),
          times == NULL ? NULL : sli_stage_patterns (times) };
  Report report = { documents[0], documents[1], documents[2], documents[3] };
  const char *path = output == NULL ? "-" : output;
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

typedef struct
{
  const char *directory;
  char *file[8];
  bool again;
} RunFiles;

enum
{
  FILE_TRACE,
  FILE_PATTERNS,
  FILE_TIME_TRACE,
  FILE_TIMES,
  FILE_REPLAY,
  FILE_ADVICE,
  FILE_TEXT,
  FILE_HTML
};

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

/* Each stage is a process: its memory goes with it. */
static int
stage_run (const char *what, char *const *arguments)
{
  int status;
  fprintf (stderr, "slice-trace: %s\n", what);
  pid_t pid = fork ();
  if (pid < 0)
    sli_tool_die (TOOL_FAILED, "fork: %s", strerror (errno));
  if (pid == 0)
    {
      execv ("/proc/self/exe", arguments);
      _exit (TOOL_NOT_RUN);
    }
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}

static int
stage_file (RunFiles *run, int file, int source, const char *what,
            char *const *arguments)
{
  if (!run->again
      && is_newer (run->file[file], source < 0 ? NULL : run->file[source]))
    return TOOL_OK;
  run->again = true; /* what comes after is made anew */
  int code = stage_run (what, arguments);
  if (code != TOOL_OK && source >= 0)
    sli_tool_die (code, "%s did not succeed", what);
  return code;
}

/* The arguments of `record`, then the program's. */
static char **
record_arguments (RunFiles *run, bool timed, char **program)
{
  size_t n = 0;
  while (program[n] != NULL)
    n++;
  char **arguments = sli_tool_zero ((n + 12) * sizeof (char *));
  size_t at = 0;
  arguments[at++] = (char *)"slice-trace";
  arguments[at++] = (char *)"record";
  arguments[at++] = (char *)"-o";
  arguments[at++] = run->file[timed ? FILE_TIME_TRACE : FILE_TRACE];
  arguments[at++] = (char *)"-q";
  if (timed)
    arguments[at++] = (char *)"--timed";
  arguments[at++] = (char *)"--";
  memcpy (&arguments[at], program, n * sizeof (char *));
  return arguments;
}

/* The same directory for another program is a mistake. */
static void
command_check (const RunFiles *run, char **program)
{
  char *line = sli_tool_text ("%s", "");
  for (char **at = program; *at != NULL; at++)
    {
      char *longer = sli_tool_text ("%s%s\n", line, *at);
      free (line);
      line = longer;
    }
  char *path = sli_tool_text ("%s/command", run->directory);
  char *known = sli_file_read (path, NULL);
  if (known != NULL && strcmp (known, line) != 0)
    sli_tool_die (TOOL_USAGE,
                  "%s holds another program's stages: choose another "
                  "directory (-o) or remove it",
                  run->directory);
  if (known == NULL)
    {
      FILE *file = sli_file_begin (path);
      fputs (line, file);
      sli_file_end (file, path);
    }
  free (known);
  free (line);
  free (path);
}

#define STAGE(...)                                                            \
 ((char *const[]){ (char *)"slice-trace", __VA_ARGS__, NULL })

static void
stages_after_record (RunFiles *run, char **program, bool quick)
{
  char **files = run->file;
  stage_file (run, FILE_PATTERNS, FILE_TRACE, "patterns",
              STAGE ((char *)"patterns", files[FILE_TRACE], (char *)"-o",
                     files[FILE_PATTERNS]));
  if (!quick)
    {
      char **record = record_arguments (run, true, program);
      if (!is_newer (files[FILE_TIME_TRACE], files[FILE_TRACE]))
        stage_run ("time: the program again", record);
      free (record);
      stage_file (run, FILE_TIMES, FILE_TIME_TRACE, "times",
                  STAGE ((char *)"patterns", files[FILE_TIME_TRACE],
                         (char *)"-o", files[FILE_TIMES]));
      stage_file (run, FILE_REPLAY, FILE_TIMES, "replay",
                  STAGE ((char *)"replay", files[FILE_TRACE],
                         (char *)"--times", files[FILE_TIMES], (char *)"-o",
                         files[FILE_REPLAY], (char *)"--repeats",
                         (char *)"5"));
      stage_file (run, FILE_ADVICE, FILE_REPLAY, "advise",
                  STAGE ((char *)"advise", files[FILE_PATTERNS],
                         (char *)"--times", files[FILE_TIMES],
                         (char *)"--replay", files[FILE_REPLAY], (char *)"-o",
                         files[FILE_ADVICE]));
      stage_file (run, FILE_TEXT, FILE_ADVICE, "report, as text",
                  STAGE ((char *)"report", (char *)"--text",
                         files[FILE_PATTERNS], (char *)"--replay",
                         files[FILE_REPLAY], (char *)"--advice",
                         files[FILE_ADVICE], (char *)"-o",
                         files[FILE_TEXT]));
      stage_file (run, FILE_HTML, FILE_ADVICE, "report",
                  STAGE ((char *)"report", files[FILE_PATTERNS],
                         (char *)"--times", files[FILE_TIMES],
                         (char *)"--replay", files[FILE_REPLAY],
                         (char *)"--advice", files[FILE_ADVICE], (char *)"-o",
                         files[FILE_HTML]));
      return;
    }
  stage_file (run, FILE_HTML, FILE_PATTERNS, "report",
              STAGE ((char *)"report", files[FILE_PATTERNS], (char *)"-o",
                     files[FILE_HTML]));
}

int
sli_command_run (int argc, char **argv)
{
  RunFiles run = { 0 };
  const char *directory = sli_option_value (&argc, argv, "-o");
  bool quick = sli_option_flag (&argc, argv, "--quick");
  if (argc > 0 && strcmp (argv[0], "--") == 0)
    {
      argc--;
      argv++;
    }
  else
    sli_option_none_left (argc > 0 ? 1 : 0, argv);
  if (argc == 0)
    sli_tool_die (TOOL_USAGE, "run: which program?");
  run.directory = directory == NULL ? "slice-trace.out" : directory;
  if (mkdir (run.directory, 0777) != 0 && errno != EEXIST)
    sli_tool_die (TOOL_FAILED, "%s: %s", run.directory, strerror (errno));
  for (int i = 0; i < 8; i++)
    run.file[i] = sli_tool_text ("%s/%s", run.directory, file_names[i]);
  command_check (&run, argv);
  char **record = record_arguments (&run, false, argv);
  int code = stage_file (&run, FILE_TRACE, -1, "record", record);
  free (record);
  if (access (run.file[FILE_TRACE], R_OK) != 0)
    return code == TOOL_OK ? TOOL_NO_EVENTS : code;
  stages_after_record (&run, argv, quick);
  fprintf (stderr, "slice-trace: %s\n", run.file[FILE_HTML]);
  for (int i = 0; i < 8; i++)
    free (run.file[i]);
  return TOOL_OK;
}

/* --- time ---------------------------------------------------------------- */

/* Runs a program with every call measured and prints where the time went. */
int
sli_command_time (int argc, char **argv)
{
  const char *output = sli_option_value (&argc, argv, "-o");
  char trace[] = "/tmp/slice-time-XXXXXX";
  int fd = mkstemp (trace);
  if (fd >= 0)
    close (fd);
  RunFiles run = { 0 };
  run.file[FILE_TIME_TRACE] = trace;
  if (argc > 0 && strcmp (argv[0], "--") == 0)
    argv++;
  if (*argv == NULL)
    sli_tool_die (TOOL_USAGE, "time: which program?");
  char **record = record_arguments (&run, true, argv);
  int code = stage_run ("record, timed", record);
  free (record);
  JsonValue *document = sli_stage_patterns (trace);
  unlink (trace);
  const JsonValue *sites = sli_json_get (document, "sites");
  double total = 0;
  for (size_t i = 0; i < sites->n_items; i++)
    total += sli_stage_site_nsec (&sites->items[i]);
  FILE *file = sli_file_begin (output == NULL ? "-" : output);
  fprintf (file, "%s in the allocator\n%8s %10s %9s %9s  %s\n",
           sli_human_nsec (total), "share", "time", "alloc", "free", "site");
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
  sli_file_end (file, output == NULL ? "-" : output);
  sli_json_free (document);
  return code;
}
