/* stage-process.c - the stages of run and time, each a process
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "stage-process.h"
#include "tools/trace/common/tool.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int
sli_stage_execute (const char *what, char *const *arguments)
{
  int status;
  fprintf (stderr, "slice-trace: %s\n", what);
  pid_t pid = fork ();
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
  while (program[n] != NULL)
    n++;
  char **arguments = sli_tool_zero ((n + 12) * sizeof (char *));
  size_t at = 0;
  arguments[at++] = (char *)"slice-trace";
  arguments[at++] = (char *)"record";
  arguments[at++] = (char *)"-o";
  arguments[at++] = (char *)(uintptr_t)trace;
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
