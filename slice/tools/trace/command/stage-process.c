/* stage-process.c - programs, and the stages of run and time, each a process
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "stage-process.h"
#include "tools/trace/common/tool.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char *
sli_program_find (const char *name)
{
  const char *at = getenv ("PATH");

  if (strchr (name, '/') != NULL || at == NULL)
    return sli_tool_text ("%s", name);
  for (;; at++)
    {
      size_t n = strcspn (at, ":");
      char *path = sli_tool_text ("%.*s/%s", n == 0 ? 1 : (int) n,
                                  n == 0 ? "." : at, name);

      if (access (path, X_OK) == 0)
        return path;
      free (path);
      at += n;
      if (*at == '\0')
        return sli_tool_text ("%s", name);
    }
}

int
sli_stage_execute (const char *what, char *const *arguments)
{
  int status;
  pid_t pid;

  fprintf (stderr, "slice-trace: %s\n", what);
  pid = fork ();
  if (pid < 0)
    sli_tool_exit (TOOL_FAILED, "fork: %s", strerror (errno));
  if (pid == 0)
    {
      sli_signals_end ();
      execv ("/proc/self/exe", arguments);
      _exit (TOOL_NOT_RUN);
    }
  sli_signals_child (pid);
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}

char **
sli_record_arguments (const char *trace, bool timed, char **program)
{
  size_t n = 0;
  char **arguments;
  size_t at = 0;

  while (program[n] != NULL)
    n++;
  arguments = sli_tool_zero ((n + 12) * sizeof (char *));
  arguments[at++] = (char *) "slice-trace";
  arguments[at++] = (char *) "record";
  arguments[at++] = (char *) "-o";
  arguments[at++] = (char *) (uintptr_t) trace;
  arguments[at++] = (char *) "--silent";
  if (timed)
    {
      arguments[at++] = (char *) "--timed";
      arguments[at++] = (char *) "--plain";
    }
  arguments[at++] = (char *) "--";
  memcpy (&arguments[at], program, n * sizeof (char *));
  return arguments;
}
