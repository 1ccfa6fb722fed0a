/* record-plain.c - runs the program once more, without the recorder
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-parts.h"
#include "tools/trace/common/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sets the input as it was, or an empty one if it can't be read twice.  Opens
 * a file again, since other processes share its offset. */
static void
input_again (off_t offset)
{
  int fd = offset < 0 ? -1 : open ("/proc/self/fd/0", O_RDONLY);

  if (fd >= 0 && lseek (fd, offset, SEEK_SET) != offset)
    {
      close (fd);
      fd = -1;
    }
  if (fd < 0)
    fd = open ("/dev/null", O_RDONLY);
  dup2 (fd, STDIN_FILENO);
}

/* Runs the program without the recorder and its output (record-parts.h). */
uint64_t
sli_plain_run (char **argv, int status, off_t offset)
{
  struct rusage usage;
  const struct timeval *times[] = { &usage.ru_utime, &usage.ru_stime };
  int ended;
  pid_t pid = fork ();
  uint64_t nsec = 0;

  if (pid == 0)
    {
      int nowhere = open ("/dev/null", O_WRONLY);

      sli_signals_end ();
      input_again (offset);
      dup2 (nowhere, STDOUT_FILENO);
      dup2 (nowhere, STDERR_FILENO);
      signal (SIGXFSZ, SIG_DFL);
      execvp (argv[0], argv);
      _exit (TOOL_NOT_RUN);
    }
  if (pid < 0)
    return 0;
  sli_signals_child (pid);
  while (wait4 (pid, &ended, 0, &usage) < 0)
    if (errno != EINTR)
      return 0;
  if (ended != status)
    return 0;
  for (int i = 0; i < 2; i++)
    nsec += (uint64_t) times[i]->tv_sec * 1000000000u
            + (uint64_t) times[i]->tv_usec * 1000u;
  return nsec;
}
