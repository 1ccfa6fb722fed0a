/* record-directory.c - the spool's directory, and removal of orphans
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-parts.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/pack/spool.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SPOOL_NAME "slice-trace-"
#define SPOOL_TEMPLATE SPOOL_NAME "XXXXXX"

/* A spool's directory is locked as long as its launcher lives. */
static int
spool_lock (int place, const char *name)
{
  int fd
      = openat (place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

  if (fd >= 0 && flock (fd, LOCK_EX | LOCK_NB) == 0)
    return fd;
  if (fd >= 0)
    close (fd);
  return -1;
}

/* Removes what is in a directory, and closes it. */
static void
directory_empty (DIR *directory)
{
  for (struct dirent *file; (file = readdir (directory)) != NULL;)
    unlinkat (dirfd (directory), file->d_name, 0);
  closedir (directory);
}

/* Removes the directories of killed launchers in that place. */
static void
orphans_remove (const char *path)
{
  DIR *place = opendir (path);

  if (place == NULL)
    return;
  for (struct dirent *entry; (entry = readdir (place)) != NULL;)
    {
      struct stat status;
      int fd;
      DIR *orphan;

      if (strncmp (entry->d_name, SPOOL_NAME, strlen (SPOOL_NAME)) != 0
          || strlen (entry->d_name) != strlen (SPOOL_TEMPLATE)
          || fstatat (dirfd (place), entry->d_name, &status,
                      AT_SYMLINK_NOFOLLOW)
                 != 0
          || !S_ISDIR (status.st_mode) || status.st_uid != geteuid ())
        continue;
      fd = spool_lock (dirfd (place), entry->d_name);
      orphan = fd < 0 ? NULL : fdopendir (fd);
      if (orphan == NULL)
        continue;
      directory_empty (orphan);
      unlinkat (dirfd (place), entry->d_name, AT_REMOVEDIR);
    }
  closedir (place);
}

/* This launcher's own. */
static int spool_locked = -1;

/* Makes the directory and locks it; or NULL.  Until it is locked, another
 * launcher may remove it as an orphan. */
static char *
spool_make_in (const char *place)
{
  for (int i = 0; i < 100; i++)
    {
      char *path = sli_tool_text ("%s/" SPOOL_TEMPLATE, place);
      struct stat status;

      if (mkdtemp (path) == NULL)
        {
          free (path);
          return NULL;
        }
      spool_locked = spool_lock (AT_FDCWD, path);
      if (spool_locked >= 0 && stat (path, &status) == 0)
        return path;
      free (path);
    }
  return NULL;
}

/* In memory if there is a place for that, since the pages are written once,
 * read once, and never need a disk. */
char *
sli_spool_make (void)
{
  const char *const places[] = { getenv ("SLICE_TRACE_SPOOL_DIR"), "/dev/shm",
                                 getenv ("TMPDIR"), "/tmp" };

  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    {
      char *path;

      if (places[i] == NULL)
        continue;
      orphans_remove (places[i]);
      path = spool_make_in (places[i]);
      if (path != NULL)
        return path;
    }
  sli_tool_exit (TOOL_FAILED, "no place for the spool: %s", strerror (errno));
}

/* A file is named by its process.  A directory that has just been made is
 * still empty. */
#define ASLEEP_EMPTY_SEC 60

/* Removes the files of processes that have ended without their exit handlers;
 * true if none is left. */
static bool
asleep_empty (DIR *directory)
{
  bool is_empty = true;

  for (struct dirent *file; (file = readdir (directory)) != NULL;)
    {
      pid_t pid;

      if (strncmp (file->d_name, WATCH_FILE, strlen (WATCH_FILE)) != 0)
        continue;
      pid = (pid_t) atoi (file->d_name + strlen (WATCH_FILE));
      if (pid > 0 && kill (pid, 0) != 0 && errno == ESRCH)
        unlinkat (dirfd (directory), file->d_name, 0);
      else
        is_empty = false;
    }
  return is_empty;
}

static void
asleep_orphans_remove (const char *path)
{
  DIR *place = opendir (path);

  if (place == NULL)
    return;
  for (struct dirent *entry; (entry = readdir (place)) != NULL;)
    {
      struct stat status;
      DIR *orphan;
      int fd;

      if (strncmp (entry->d_name, WATCH_DIRECTORY, strlen (WATCH_DIRECTORY))
          != 0)
        continue;
      fd = openat (dirfd (place), entry->d_name,
                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (fd < 0)
        continue;
      orphan = fdopendir (fd);
      if (orphan == NULL)
        {
          close (fd);
          continue;
        }
      if (fstat (fd, &status) == 0 && status.st_uid == geteuid ()
          && asleep_empty (orphan)
          && time (NULL) - status.st_mtime > ASLEEP_EMPTY_SEC)
        unlinkat (dirfd (place), entry->d_name, AT_REMOVEDIR);
      closedir (orphan);
    }
  closedir (place);
}

char *
sli_asleep_make (void)
{
  const char *const places[] = { getenv ("SLICE_TRACE_SPOOL_DIR"), "/dev/shm",
                                 getenv ("TMPDIR"), "/tmp" };

  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    {
      char *path;

      if (places[i] == NULL)
        continue;
      asleep_orphans_remove (places[i]);
      path = sli_tool_text ("%s/" WATCH_DIRECTORY "XXXXXX", places[i]);
      if (mkdtemp (path) != NULL)
        return path;
      free (path);
    }
  sli_tool_exit (TOOL_FAILED, "no place for a file: %s", strerror (errno));
}

void
sli_spool_remove (const char *path)
{
  DIR *directory = fdopendir (spool_locked);

  if (directory != NULL)
    directory_empty (directory);
  rmdir (path);
}
