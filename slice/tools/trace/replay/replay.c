/* replay.c - replays a trace's operations on other allocators
 *
 * Tools.  replay-write.c writes the operations; for each measurement the
 * parent starts this program again: its heap is fresh, and another malloc can
 * be preloaded.  The child (replay-run.c) answers with one line.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "replay.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/common/tool.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A copy of the environment with another value of one variable; the caller
 * frees the array, not the strings. */
static char **
environment_with (char **environment, char *assignment)
{
  size_t n = 0, n_name = strcspn (assignment, "=") + 1, n_kept = 0;
  char **with;

  while (environment[n] != NULL)
    n++;
  with = sli_tool_alloc ((n + 2) * sizeof *with);
  for (size_t i = 0; i < n; i++)
    if (strncmp (environment[i], assignment, n_name) != 0)
      with[n_kept++] = environment[i];
  with[n_kept++] = assignment;
  with[n_kept] = NULL;
  return with;
}

/* Starts slice-trace, not by fork(): this process may have a large trace in
 * memory, and would copy its page tables for each measurement. */
static pid_t
self_spawn (char *const *arguments, int out, char **environment)
{
  posix_spawn_file_actions_t actions;
  pid_t pid;
  int error;

  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, out, STDOUT_FILENO);
  error = posix_spawn (&pid, "/proc/self/exe", &actions, NULL, arguments,
                       environment);
  posix_spawn_file_actions_destroy (&actions);
  if (error != 0)
    sli_tool_exit (TOOL_FAILED, "a replay can't be started: %s",
                   strerror (error));
  return pid;
}

static pid_t
child_spawn (const ReplayTask *task, int out, char **environment)
{
  const char *backend
      = task->advised ? "advised" : sli_backend_name (task->backend);
  char numbers[6][24];
  char *arguments[] = { (char *) "slice-trace",
                        (char *) "replay-run",
                        (char *) (uintptr_t) task->ops_path,
                        (char *) (uintptr_t) backend,
                        numbers[0],
                        numbers[1],
                        numbers[2],
                        numbers[3],
                        numbers[4],
                        numbers[5],
                        NULL };

  snprintf (numbers[0], 24, "%u", task->only_site);
  snprintf (numbers[1], 24, "%u", task->n_repeats);
  snprintf (numbers[2], 24, "%zu", task->block_bytes);
  snprintf (numbers[3], 24, "%u", task->pollute_lines);
  snprintf (numbers[4], 24, "%d", task->litter);
  snprintf (numbers[5], 24, "%d", (int) task->frees);
  return self_spawn (arguments, out, environment);
}

static const char *
text_or_none (const char *text)
{
  return text == NULL ? "" : text;
}

static pid_t
child_start (const ReplayTask *task, int out)
{
  char *preload
      = sli_tool_text ("LD_PRELOAD=%s", text_or_none (task->preload));
  char *options
      = sli_tool_text ("SLICE_OPTIONS=%s", text_or_none (task->options));
  char **preloaded
      = task->preload == NULL ? NULL : environment_with (environ, preload);
  char **environment = preloaded == NULL ? environ : preloaded;
  char **given
      = task->options == NULL ? NULL : environment_with (environment, options);
  pid_t pid = child_spawn (task, out, given == NULL ? environment : given);

  free (given);
  free (preloaded);
  free (options);
  free (preload);
  return pid;
}

static bool
result_parse (FILE *file, ReplayResult *result)
{
  unsigned long long numbers[5];

  if (fscanf (file, "%llu %llu %llu %llu %lf %lf %llu", &numbers[0],
              &numbers[1], &numbers[2], &numbers[3], &result->nsec,
              &result->nsec_median, &numbers[4])
      != 7)
    return false;
  result->n_ops = numbers[0];
  result->n_allocs = numbers[1];
  result->bytes = numbers[2];
  result->peak_live = numbers[3];
  result->rss_peak = numbers[4];
  result->nsec *= 1e9;
  result->nsec_median *= 1e9;
  for (int i = 0; i < N_CURVE; i++)
    {
      unsigned long long value;

      if (fscanf (file, "%llu", &value) != 1)
        return false;
      result->curve[i] = value;
    }
  return true;
}

ReplayResult
sli_replay_measure (const ReplayTask *task)
{
  ReplayResult result = { 0 };
  int ends[2], status;
  pid_t pid;
  FILE *file;

  if (pipe2 (ends, O_CLOEXEC) != 0)
    sli_tool_exit (TOOL_FAILED, "pipe: %s", strerror (errno));
  pid = child_start (task, ends[1]);
  close (ends[1]);
  file = fdopen (ends[0], "r");
  result.good = result_parse (file, &result);
  fclose (file);
  waitpid (pid, &status, 0);
  result.good
      = result.good && WIFEXITED (status) && WEXITSTATUS (status) == TOOL_OK;
  return result;
}

/* The loader goes on without a library that it can't load.  So a new process
 * looks whether it has it. */
void
sli_replay_preload_check (const char *library)
{
  int status;
  char *preload = sli_tool_text ("LD_PRELOAD=%s", library);
  char *arguments[] = { (char *) "slice-trace", (char *) "replay-run",
                        (char *) (uintptr_t) library, NULL };
  char **environment = environment_with (environ, preload);
  pid_t pid = self_spawn (arguments, STDOUT_FILENO, environment);

  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  free (environment);
  free (preload);
  if (!WIFEXITED (status) || WEXITSTATUS (status) != TOOL_OK)
    sli_tool_exit (TOOL_USAGE, "--preload: '%s' can't be loaded", library);
}

/* Returns TOOL_OK if each of the libraries, which colons or spaces separate,
 * is in this process. */
static int
preload_look (char *libraries)
{
  char *rest, *one = strtok_r (libraries, ": ", &rest);

  if (one == NULL)
    return TOOL_FAILED;
  for (; one != NULL; one = strtok_r (NULL, ": ", &rest))
    if (dlopen (one, RTLD_LAZY | RTLD_NOLOAD) == NULL)
      return TOOL_FAILED;
  return TOOL_OK;
}

int
sli_command_replay_run (int argc, char **argv)
{
  ReplayTask task;

  if (argc == 2)
    return preload_look (argv[1]);
  if (argc != 9)
    sli_tool_exit (TOOL_USAGE, "replay-run is for slice-trace itself");
  prctl (PR_SET_PDEATHSIG, SIGKILL); /* if the parent ends, no process reads
                                        the result */
  argv++;
  task = (ReplayTask){ .ops_path = argv[0],
                       .advised = strcmp (argv[1], "advised") == 0,
                       .only_site = (uint32_t) strtoul (argv[2], NULL, 10),
                       .n_repeats = (unsigned) atoi (argv[3]),
                       .block_bytes = strtoul (argv[4], NULL, 10),
                       .pollute_lines = (unsigned) atoi (argv[5]),
                       .litter = atoi (argv[6]) != 0,
                       .frees = (ReplayFrees) atoi (argv[7]) };
  task.backend = task.advised ? BACKEND_MALLOC : sli_backend_by_name (argv[1]);
  if (task.backend == N_BACKENDS)
    sli_tool_exit (TOOL_FAILED, "%s: no such allocator", argv[1]);
  return sli_replay_run (&task);
}
