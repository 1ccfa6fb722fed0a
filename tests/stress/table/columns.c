/* columns.c - who takes part in the table
 *
 * The modes of slice-test, and each malloc that is installed.  A malloc is
 * looked for by its library's name, first where the C library itself lies
 * (the right directory for this architecture), then in the usual places.
 * Each column is tried once: it must run, and a preloaded malloc must really
 * be the one that answers.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/table/table.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A malloc, the names of its library (the first that is there is taken), and
 * the Debian package to name when it is not. */
static const struct
{
  const char *name;
  const char *libraries[4];
  const char *package;
} mallocs[] = {
  { "jemalloc", { "libjemalloc.so.2" }, "libjemalloc2" },
  { "mimalloc",
    { "libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so.2.0" },
    "libmimalloc2.0" },
  { "tcmalloc",
    { "libtcmalloc_minimal.so.4", "libtcmalloc.so.4" },
    "libtcmalloc-minimal4" },
  { "tbbmalloc", { "libtbbmalloc_proxy.so.2" }, "libtbbmalloc2" },
};

#define N_MALLOCS (sizeof mallocs / sizeof mallocs[0])

/* The directory that the C library's malloc lies in; "" if unknown. */
static void
libc_directory (char *directory, size_t to_bytes)
{
  Dl_info info;
  void *address = dlsym (RTLD_DEFAULT, "__libc_start_main");
  const char *slash;

  directory[0] = '\0';
  if (address == NULL || dladdr (address, &info) == 0
      || info.dli_fname == NULL)
    return;
  slash = strrchr (info.dli_fname, '/');
  if (slash != NULL)
    snprintf (directory, to_bytes, "%.*s", (int) (slash - info.dli_fname),
              info.dli_fname);
}

static bool
library_find (char *path, size_t to_bytes, const char *library)
{
  char libc[200], usr_libc[210];
  const char *const directories[]
      = { "/usr/local/lib", libc, usr_libc, "/usr/lib64", "/usr/lib" };

  libc_directory (libc, sizeof libc);
  snprintf (usr_libc, sizeof usr_libc, "/usr%s", libc);
  for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++)
    {
      int n = snprintf (path, to_bytes, "%s/%s", directories[i], library);

      if (*directories[i] != '\0' && n > 0 && (size_t) n < to_bytes
          && access (path, R_OK) == 0)
        return true;
    }
  path[0] = '\0';
  return false;
}

/* Runs the column once; why it can't take part goes to column->missing. */
static void
column_try (Column *column)
{
  ChildResult result;
  ChildArgs args = { 0 };
  const char *said;
  const char *file;
  const char *why;

  child_args_add (&args, "--quiet");
  child_args_add (&args, "--json");
  child_args_add (&args, "--rounds=1");
  child_args_add (&args, "--mode=%s", column->mode);
  if (!child_run (&args, column->preload, &result))
    stress_fail (EXIT_FOUND, "a child could not be made");
  said = result.err != NULL ? result.err : "";
  file = strrchr (column->preload, '/');
  why = strstr (said, ": ");
  if (!WIFEXITED (result.status) || WEXITSTATUS (result.status) != 0)
    snprintf (column->missing, sizeof column->missing, "%.*s",
              (int)strcspn (why != NULL ? why + 2 : "it fails", "\n"),
              why != NULL ? why + 2 : "it fails");
  else if (file != NULL
           && (result.out == NULL || strstr (result.out, file) == NULL))
    snprintf (column->missing, sizeof column->missing,
              "%.100s does not take malloc over", column->preload);
  child_result_clear (&result);
}

static Column *
column_add (Table *table, const char *name, const char *mode)
{
  Column *column = &table->columns[table->n_columns++];

  column->name = name;
  column->mode = mode;
  return column;
}

void
table_find_columns (Table *table)
{
  for (unsigned i = 0; contestant_at (i) != NULL; i++)
    {
      const Contestant *contestant = contestant_at (i);
      Column *column;

      if (contestant->is_empty)
        continue;
      column = column_add (table, contestant->name, contestant->name);
      column->is_peer = strcmp (contestant->name, "malloc") == 0;
      column_try (column);
    }
  for (size_t i = 0; i < N_MALLOCS; i++)
    {
      Column *column = column_add (table, mallocs[i].name, "malloc");

      column->is_peer = true;
      for (size_t j = 0; mallocs[i].libraries[j] != NULL; j++)
        if (library_find (column->preload, sizeof column->preload,
                          mallocs[i].libraries[j]))
          break;
      if (column->preload[0] != '\0')
        column_try (column);
      else
        snprintf (column->missing, sizeof column->missing,
                  "not installed (Debian: %s)", mallocs[i].package);
    }
  column_add (table, "loop", "loop");
}
