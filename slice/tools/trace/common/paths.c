/* paths.c - where the other files of slice lie
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "paths.h"
#include "tool.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of this program; false if the system does not say. */
static bool
own_folder (char own[PATH_MAX])
{
  ssize_t n = readlink ("/proc/self/exe", own, PATH_MAX - 1);

  if (n <= 0)
    return false;
  own[n] = '\0';
  *strrchr (own, '/') = '\0';
  return true;
}

/* The path if the file can be read; else frees it and returns NULL. */
static char *
readable (char *path)
{
  if (access (path, R_OK) == 0)
    return path;
  free (path);
  return NULL;
}

char *
sli_path_beside (const char *const *folders, const char *name)
{
  char own[PATH_MAX], *found = NULL;

  if (!own_folder (own))
    return NULL;
  for (; *folders != NULL && found == NULL; folders++)
    found = readable (sli_tool_text ("%s%s/%s", own, *folders, name));
  return found;
}

/* What follows the prefix in an installed folder's path; NULL: it is not
 * below it. */
static const char *
below_prefix (const char *folder)
{
  size_t n = strlen (SLICE_TRACE_PREFIX);

  return strncmp (folder, SLICE_TRACE_PREFIX, n) == 0 && folder[n] == '/'
             ? folder + n
             : NULL;
}

char *
sli_path_installed (const char *folder, const char *name)
{
  char own[PATH_MAX], *found = NULL;
  const char *programs = below_prefix (SLICE_TRACE_BINDIR);
  const char *wanted = below_prefix (folder);

  if (programs != NULL && wanted != NULL && own_folder (own))
    {
      size_t n = strlen (own), n_programs = strlen (programs);

      if (n >= n_programs && strcmp (own + n - n_programs, programs) == 0)
        found = readable (sli_tool_text ("%.*s%s/%s", (int)(n - n_programs),
                                         own, wanted, name));
    }
  return found != NULL ? found : sli_tool_text ("%s/%s", folder, name);
}

void
sli_path_preload_check (const char *library)
{
  /* the loader splits the list there */
  if (strpbrk (library, ": \t\n\v\f\r") != NULL)
    sli_tool_exit (TOOL_FAILED,
                   "%s: LD_PRELOAD can not hold a path with a space or a colon",
                   library);
  if (access (library, R_OK) != 0)
    sli_tool_exit (TOOL_FAILED, "%s: %s", library, strerror (errno));
}
