/* watch-process.c - finds a process that sleeps, wakes it, and puts it to sleep
 *
 * Tools.  The page that it shares (pack/spool.h) is a file of an unpredictable
 * name, which /proc/PID/maps has; the system shows that to the process's own
 * user only.  What is opened must be the very file that is mapped there.
 *
 * Design: section 13.13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "watch-parts.h"
#include "tools/trace/common/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

/* How long a thread may take to write its event. */
#define INSIDE_MSEC_MAX 2000

typedef struct
{
  char path[4096];
  unsigned major, minor;
  unsigned long long inode;
} Mapped;

/* One line of maps. */
static bool
line_is_control (const char *line, Mapped *mapped)
{
  const char *path = strchr (line, '/');

  if (path == NULL || strstr (path, "/" WATCH_DIRECTORY) == NULL
      || strstr (path, "/" WATCH_FILE) == NULL
      || sscanf (line, "%*s %*s %*s %x:%x %llu", &mapped->major,
                 &mapped->minor, &mapped->inode)
             != 3)
    return false;
  snprintf (mapped->path, sizeof mapped->path, "%.*s",
            (int) strcspn (path, "\n"), path);
  return true;
}

static bool
mapped_find (pid_t pid, Mapped *mapped)
{
  char *path = sli_tool_text ("/proc/%d/maps", (int) pid);
  FILE *file = fopen (path, "re");
  char *line = NULL;
  size_t capacity = 0;
  bool found = false;

  free (path);
  if (file == NULL)
    sli_tool_exit (TOOL_FAILED, "%d: %s", (int) pid,
                   errno == ENOENT ? "no such process" : strerror (errno));
  while (!found && getline (&line, &capacity, file) >= 0)
    found = line_is_control (line, mapped);
  free (line);
  fclose (file);
  return found;
}

/* Returns true if the file is the one that is mapped, and only its user could
 * have written it. */
static bool
file_is_right (int fd, const Mapped *mapped)
{
  struct stat status;

  return fstat (fd, &status) == 0 && S_ISREG (status.st_mode)
         && status.st_uid == geteuid ()
         && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0
         && status.st_size == WATCH_BYTES && status.st_ino == mapped->inode
         && major (status.st_dev) == mapped->major
         && minor (status.st_dev) == mapped->minor;
}

WatchControl *
sli_watch_find (pid_t pid)
{
  Mapped mapped;
  WatchControl *control = MAP_FAILED;
  int fd;

  if (!mapped_find (pid, &mapped))
    sli_tool_exit (TOOL_BAD_INPUT,
                   "%d: not started by slice-trace record --asleep", (int) pid);
  fd = open (mapped.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 && file_is_right (fd, &mapped))
    control = mmap (NULL, WATCH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                    0);
  if (control == MAP_FAILED || control->magic != WATCH_MAGIC
      || control->version != WATCH_VERSION || control->pid != (uint32_t) pid)
    sli_tool_exit (TOOL_FAILED, "%d: %s can't be used", (int) pid,
                   mapped.path);
  /* the file stays open, since that holds the lock */
  if (flock (fd, LOCK_EX | LOCK_NB) != 0)
    sli_tool_exit (TOOL_FAILED, "%d: process %u is watching it already",
                   (int) pid, (unsigned) atomic_load (&control->watcher));
  return control;
}

uint32_t
sli_watch_wake (WatchControl *control, const char *directory)
{
  uint32_t number = ++control->n_watches;

  if (number == 0)
    number = ++control->n_watches;
  snprintf (control->directory, sizeof control->directory, "%s", directory);
  atomic_store (&control->watcher, (uint32_t) getpid ());
  atomic_store (&control->beat, 1);
  atomic_store (&control->wanted, number);
  return number;
}

bool
sli_watch_sleep (WatchControl *control, uint32_t number)
{
  const struct timespec msec = { 0, 1000000 };

  atomic_compare_exchange_strong (&control->wanted, &number, 0);
  for (int i = 0; i < INSIDE_MSEC_MAX; i++)
    {
      if (atomic_load (&control->n_inside) == 0)
        return true;
      nanosleep (&msec, NULL);
    }
  return false;
}

char **
sli_watch_command (pid_t pid)
{
  char *path = sli_tool_text ("/proc/%d/cmdline", (int) pid);
  size_t n_bytes = 0, n = 0;
  char *text = sli_file_read (path, &n_bytes);
  char **arguments = sli_tool_zero (sizeof *arguments);

  free (path);
  for (size_t at = 0; text != NULL && at < n_bytes;
       at += strlen (text + at) + 1)
    {
      arguments = sli_tool_grow (arguments, (n + 2) * sizeof *arguments);
      arguments[n++] = text + at;
      arguments[n] = NULL;
    }
  return arguments;
}

double
sli_watch_resident (pid_t pid)
{
  char *path = sli_tool_text ("/proc/%d/statm", (int) pid);
  FILE *file = fopen (path, "re");
  unsigned long total, resident = 0, shared = 0;

  free (path);
  if (file == NULL)
    return 0;
  /* without shared pages, such as the spool's own */
  if (fscanf (file, "%lu %lu %lu", &total, &resident, &shared) != 3)
    resident = shared = 0;
  fclose (file);
  return (double) (resident - shared) * (double) sysconf (_SC_PAGESIZE);
}
