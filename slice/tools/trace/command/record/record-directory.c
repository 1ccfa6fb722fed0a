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

/* A kind of directory; its names end in six letters. */
typedef struct
{
  const char *name;
  const char *what; /* there is no place for, if it can't be made */
  /* Removes one that is no longer used from its place. */
  void (*remove_orphan) (int place, const char *name);
  /* Makes one by its template; false: not here. */
  bool (*make) (char *path);
} Kind;

static bool
is_of_kind (int place, const char *name, const Kind *kind)
{
  const size_t n = strlen (kind->name);
  struct stat status;

  return strncmp (name, kind->name, n) == 0 && strlen (name) == n + 6
         && fstatat (place, name, &status, AT_SYMLINK_NOFOLLOW) == 0
         && S_ISDIR (status.st_mode) && status.st_uid == geteuid ();
}

static void
orphans_remove (const char *path, const Kind *kind)
{
  DIR *place = opendir (path);

  if (place == NULL)
    return;
  for (struct dirent *entry; (entry = readdir (place)) != NULL;)
    if (is_of_kind (dirfd (place), entry->d_name, kind))
      kind->remove_orphan (dirfd (place), entry->d_name);
  closedir (place);
}

/* In memory if there is a place for that, since the pages are written once,
 * read once, and never need a disk. */
static char *
directory_make (const Kind *kind)
{
  const char *const places[] = { getenv ("SLICE_TRACE_SPOOL_DIR"), "/dev/shm",
                                 getenv ("TMPDIR"), "/tmp" };

  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    {
      char *path;

      if (places[i] == NULL)
        continue;
      orphans_remove (places[i], kind);
      path = sli_tool_text ("%s/%sXXXXXX", places[i], kind->name);
      if (kind->make (path))
        return path;
      free (path);
    }
  sli_tool_exit (TOOL_FAILED, "no place for %s: %s", kind->what,
                 strerror (errno));
}

/* --- spools -------------------------------------------------------------- */

/* That of a launcher that was killed. */
static void
spool_remove (int place, const char *name)
{
  int fd = spool_lock (place, name);
  DIR *orphan = fd < 0 ? NULL : fdopendir (fd);

  if (orphan == NULL)
    return;
  directory_empty (orphan);
  unlinkat (place, name, AT_REMOVEDIR);
}

/* This launcher's own. */
static int spool_locked = -1;

/* Makes the directory and locks it.  Until it is locked, another launcher may
 * remove it as an orphan. */
static bool
spool_make (char *path)
{
  for (int i = 0; i < 100; i++)
    {
      struct stat status;

      memset (path + strlen (path) - 6, 'X', 6);
      if (mkdtemp (path) == NULL)
        return false;
      spool_locked = spool_lock (AT_FDCWD, path);
      if (spool_locked >= 0 && stat (path, &status) == 0)
        return true;
    }
  return false;
}

char *
sli_spool_make (void)
{
  return directory_make (
      &(Kind){ SPOOL_NAME, "the spool", spool_remove, spool_make });
}

void
sli_spool_remove (const char *path)
{
  DIR *directory = fdopendir (spool_locked);

  if (directory != NULL)
    directory_empty (directory);
  rmdir (path);
}

/* --- files of processes that sleep --------------------------------------- */

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
asleep_remove (int place, const char *name)
{
  int fd = openat (place, name,
                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *orphan = fd < 0 ? NULL : fdopendir (fd);
  struct stat status;

  if (orphan == NULL)
    {
      if (fd >= 0)
        close (fd);
      return;
    }
  if (fstat (fd, &status) == 0 && asleep_empty (orphan)
      && time (NULL) - status.st_mtime > ASLEEP_EMPTY_SEC)
    unlinkat (place, name, AT_REMOVEDIR);
  closedir (orphan);
}

static bool
asleep_make (char *path)
{
  return mkdtemp (path) != NULL;
}

char *
sli_asleep_make (void)
{
  return directory_make (
      &(Kind){ WATCH_DIRECTORY, "a file", asleep_remove, asleep_make });
}
