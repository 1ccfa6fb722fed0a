/* noglib-test.c - GLib's tests and assertions, without GLib
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <glib.h>
#include <stdarg.h>
#include <sys/wait.h>

typedef struct
{
  char *path;
  GTestFunc plain;
  GTestDataFunc with_data;
  gconstpointer data;
  GDestroyNotify destroy;
} Case;

static struct
{
  Case *cases;
  unsigned n_cases;
  const Case *now;        /* the one that runs */
  const char *skipped;    /* why it was left out */
  bool failed;
  bool is_subprocess;
  int status;             /* of the last subprocess */
  char *said[2];          /* by it: standard output, standard error */
  uint64_t random;
} test;

/* --- assertions --- */

void
noglib_failed (const char *file, int line, const char *what)
{
  fflush (stdout);
  fprintf (stderr, "%s:%d: assertion failed: %s\n", file, line, what);
  abort ();
}

void
noglib_compared (const char *file, int line, const char *what, long long left,
                 long long right)
{
  fflush (stdout);
  fprintf (stderr, "%s:%d: assertion failed (%s): %lld, %lld\n", file, line,
           what, left, right);
  abort ();
}

int
g_strcmp0 (const char *left, const char *right)
{
  if (left == NULL || right == NULL)
    return (left != NULL) - (right != NULL);
  return strcmp (left, right);
}

void
noglib_cmpstr (const char *file, int line, const char *what, const char *left,
               const char *right, bool holds)
{
  if (holds)
    return;
  fflush (stdout);
  fprintf (stderr, "%s:%d: assertion failed (%s): \"%s\", \"%s\"\n", file, line,
           what, left != NULL ? left : "NULL", right != NULL ? right : "NULL");
  abort ();
}

#define SAY(stream, format)                                                   \
  do                                                                          \
    {                                                                         \
      va_list arguments;                                                      \
      va_start (arguments, format);                                           \
      vfprintf (stream, format, arguments);                                   \
      va_end (arguments);                                                     \
    }                                                                         \
  while (0)

void
g_error (const char *format, ...)
{
  fflush (stdout);
  SAY (stderr, format);
  putc ('\n', stderr);
  abort ();
}

void
g_print (const char *format, ...)
{
  SAY (stdout, format);
}

void
g_printerr (const char *format, ...)
{
  SAY (stderr, format);
}

void
g_test_message (const char *format, ...)
{
  printf ("# ");
  SAY (stdout, format);
  printf ("\n");
}

/* --- running --- */

void
noglib_test_init (int *argc, char ***argv)
{
  (void) argc;
  (void) argv;
  test.random = (uint64_t) getpid () * 0x9e3779b97f4a7c15u;
}

void
g_test_add_data_func_full (const char *path, gpointer data, GTestDataFunc body,
                           GDestroyNotify destroy)
{
  test.cases = realloc (test.cases, (test.n_cases + 1) * sizeof *test.cases);
  g_assert_nonnull (test.cases);
  test.cases[test.n_cases++]
      = (Case){ g_strdup (path), NULL, body, data, destroy };
}

void
g_test_add_data_func (const char *path, gconstpointer data, GTestDataFunc body)
{
  g_test_add_data_func_full (path, (gpointer) (uintptr_t) data, body, NULL);
}

void
g_test_add_func (const char *path, GTestFunc body)
{
  g_test_add_data_func_full (path, NULL, NULL, NULL);
  test.cases[test.n_cases - 1].plain = body;
}

static void
case_run (const Case *c)
{
  test.now = c;
  test.skipped = NULL;
  test.failed = false;
  if (c->plain != NULL)
    c->plain ();
  else
    c->with_data (c->data);
}

/* GLib's: the name ends a part of the path. */
static bool
is_for_subprocess (const char *path)
{
  return strstr (path, "/subprocess") != NULL;
}

int
g_test_run (void)
{
  unsigned n_run = 0, n_failed = 0;

  for (unsigned i = 0; i < test.n_cases; i++)
    {
      const Case *c = &test.cases[i];

      if (is_for_subprocess (c->path))
        continue;
      case_run (c);
      n_failed += test.failed;
      printf ("%s %u %s%s%s\n", test.failed ? "not ok" : "ok", ++n_run, c->path,
              test.skipped != NULL ? " # SKIP " : "",
              test.skipped != NULL ? test.skipped : "");
      fflush (stdout);
    }
  printf ("1..%u\n", n_run);
  fflush (stdout);
  for (unsigned i = 0; i < test.n_cases; i++)
    {
      if (test.cases[i].destroy != NULL)
        test.cases[i].destroy ((gpointer) (uintptr_t) test.cases[i].data);
      free (test.cases[i].path);
    }
  free (test.cases);
  return n_failed != 0;
}

void
g_test_skip (const char *why)
{
  test.skipped = why;
}

void
g_test_fail (void)
{
  test.failed = true;
}

gboolean
g_test_slow (void)
{
  return FALSE;
}

/* --- a process of its own --- */

gboolean
g_test_subprocess (void)
{
  return test.is_subprocess;
}

static const Case *
case_by_path (const char *path)
{
  if (path == NULL)
    return test.now;
  for (unsigned i = 0; i < test.n_cases; i++)
    if (strcmp (test.cases[i].path, path) == 0)
      return &test.cases[i];
  g_error ("there is no test %s", path);
}

static FILE *
file_for_output (bool inherit)
{
  FILE *file = inherit ? NULL : tmpfile ();

  g_assert_true (inherit || file != NULL);
  return file;
}

static char *
text_of (FILE *file)
{
  GString *text = g_string_new (NULL);
  int c;

  if (file == NULL)
    return g_string_free (text, FALSE);
  rewind (file);
  while ((c = getc (file)) != EOF)
    g_string_append_c (text, (char) c);
  fclose (file);
  return g_string_free (text, FALSE);
}

void
g_test_trap_subprocess (const char *path, uint64_t usec_timeout,
                        GTestSubprocessFlags flags)
{
  const Case *c = case_by_path (path);
  FILE *out = file_for_output (false);
  FILE *error = file_for_output (flags & G_TEST_SUBPROCESS_INHERIT_STDERR);
  pid_t child;

  (void) usec_timeout;
  fflush (NULL);
  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      dup2 (fileno (out), 1);
      if (error != NULL)
        dup2 (fileno (error), 2);
      test.is_subprocess = true;
      case_run (c);
      exit (test.failed);
    }
  g_assert_cmpint (waitpid (child, &test.status, 0), ==, child);
  free (test.said[0]);
  free (test.said[1]);
  test.said[0] = text_of (out);
  test.said[1] = text_of (error);
}

void
noglib_trap_assert (const char *file, int line, bool passed)
{
  if ((test.status == 0) == passed)
    return;
  fprintf (stderr, "%s%s\n", test.said[0], test.said[1]);
  noglib_compared (file, line, "status of the subprocess", test.status, passed);
}

void
noglib_trap_output (const char *file, int line, bool error, const char *pattern)
{
  if (!g_pattern_match_simple (pattern, test.said[error]))
    noglib_cmpstr (file, line, "matches", test.said[error], pattern, false);
}

/* --- random numbers --- */

uint32_t
g_random_int (void)
{
  test.random = test.random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t) (test.random >> 32);
}

int
g_test_rand_int_range (int low, int high)
{
  return low + (int) (g_random_int () % (unsigned) (high - low));
}

double
g_test_rand_double_range (double low, double high)
{
  return low + (high - low) * g_random_int () / 4294967296.0;
}
