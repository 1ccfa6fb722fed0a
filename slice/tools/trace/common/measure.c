/* measure.c - runs a command and measures what it uses
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "measure.h"
#include "tool.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double
seconds_of (const struct timeval *time)
{
  return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

Measured
sli_measure (const char *command, void (*prepare) (const void *data),
             const void *data)
{
  int status;
  struct rusage usage;
  pid_t pid = fork ();

  if (pid < 0)
    sli_tool_exit (TOOL_FAILED, "fork: %s", strerror (errno));
  if (pid == 0)
    {
      int null = open ("/dev/null", O_WRONLY);

      dup2 (null, STDOUT_FILENO);
      signal (SIGXFSZ, SIG_DFL);
      if (prepare != NULL)
        prepare (data);
      execl ("/bin/sh", "sh", "-c", command, (char *)NULL);
      _exit (TOOL_NOT_RUN);
    }
  if (wait4 (pid, &status, 0, &usage) < 0)
    sli_tool_exit (TOOL_NOT_RUN, "wait4: %s", strerror (errno));
  if (WIFSIGNALED (status))
    sli_tool_exit (TOOL_NOT_RUN, "\"%s\" did not succeed (signal %d)",
                   command, WTERMSIG (status));
  if (WEXITSTATUS (status) != 0)
    sli_tool_exit (WEXITSTATUS (status) == TOOL_NOT_FOUND ? TOOL_NOT_FOUND
                                                          : TOOL_NOT_RUN,
                   "\"%s\" did not succeed (status %d)", command,
                   WEXITSTATUS (status));
  return (Measured){ seconds_of (&usage.ru_utime)
                         + seconds_of (&usage.ru_stime),
                     (double)usage.ru_maxrss };
}
