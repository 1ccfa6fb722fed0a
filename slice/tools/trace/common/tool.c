/* tool.c - slice-trace: messages, memory, progress, options, files
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tool.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void
vsay (const char *format, va_list arguments)
{
  fputs ("slice-trace: ", stderr);
  vfprintf (stderr, format, arguments);
  fputc ('\n', stderr);
}

void
sli_tool_say (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  vsay (format, arguments);
  va_end (arguments);
}

static bool input_is_bad;

void
sli_tool_bad_input (void)
{
  input_is_bad = true;
}

int
sli_tool_status (int code)
{
  bool gives_way
      = code == TOOL_OK || code == TOOL_DIFFERS || code == TOOL_NO_EVENTS;

  return input_is_bad && gives_way ? TOOL_BAD_INPUT : code;
}

void
sli_tool_exit (int code, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  vsay (format, arguments);
  va_end (arguments);
  exit (sli_tool_status (code));
}

void *
sli_tool_grow (void *block, size_t n_bytes)
{
  void *grown = realloc (block, n_bytes == 0 ? 1 : n_bytes);

  if (grown == NULL)
    sli_tool_exit (TOOL_FAILED, "no memory for %zu bytes", n_bytes);
  return grown;
}

void *
sli_tool_alloc (size_t n_bytes)
{
  return sli_tool_grow (NULL, n_bytes);
}

void *
sli_tool_zero (size_t n_bytes)
{
  void *block = calloc (1, n_bytes == 0 ? 1 : n_bytes);

  if (block == NULL)
    sli_tool_exit (TOOL_FAILED, "no memory for %zu bytes", n_bytes);
  return block;
}

char *
sli_tool_text (const char *format, ...)
{
  char *text;
  va_list arguments;

  va_start (arguments, format);
  if (vasprintf (&text, format, arguments) < 0)
    sli_tool_exit (TOOL_FAILED, "no memory");
  va_end (arguments);
  return text;
}

void
sli_tool_expression (regex_t *compiled, const char *expression)
{
  int error = regcomp (compiled, expression, REG_EXTENDED | REG_NOSUB);

  if (error == REG_ESPACE)
    sli_tool_exit (TOOL_FAILED, "no memory for %s", expression);
  if (error != 0)
    sli_tool_exit (TOOL_USAGE, "%s is no regular expression", expression);
}

bool
sli_tool_process_lives (pid_t pid)
{
  char path[64], state = 'X';
  FILE *file;

  snprintf (path, sizeof path, "/proc/%d/stat", (int) pid);
  file = fopen (path, "re");
  if (file == NULL)
    return false;
  if (fscanf (file, "%*d (%*[^)]) %c", &state) != 1)
    state = 'R';
  fclose (file);
  return state != 'Z' && state != 'X';
}

double
sli_tool_seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

/* --- progress ------------------------------------------------------------ */

void
sli_progress_begin (Progress *progress, const char *what, uint64_t total)
{
  const char *asked = getenv ("SLICE_TRACE_PROGRESS");

  progress->what = what;
  progress->total = total;
  progress->start_sec = progress->shown_sec = sli_tool_seconds ();
  progress->terminal = isatty (STDERR_FILENO) == 1;
  progress->wanted = progress->terminal || asked != NULL;
}

static void
progress_bar (double share)
{
  enum
  {
    WIDTH = 24
  };
  char bar[WIDTH + 1];
  int done = (int) (share * WIDTH);

  for (int i = 0; i < WIDTH; i++)
    bar[i] = i < done ? '#' : '.';
  bar[WIDTH] = '\0';
  fprintf (stderr, " [%s]", bar);
}

void
sli_progress_step (Progress *progress, uint64_t bytes, uint64_t events)
{
  double now, passed, share;

  if (!progress->wanted)
    return;
  now = sli_tool_seconds ();
  if (now - progress->shown_sec < (progress->terminal ? 0.1 : 0.5))
    return;
  progress->shown_sec = now;
  passed = now - progress->start_sec;
  if (progress->terminal)
    fputs ("\r\033[K", stderr);
  fprintf (stderr, "%s", progress->what);
  if (progress->total > 0)
    {
      share = (double) bytes / (double) progress->total;
      if (progress->terminal)
        progress_bar (share);
      fprintf (stderr, " %3.0f %%", share * 100);
    }
  fprintf (stderr, "  %.1f MB  %.2f M events/s", (double) bytes / 1e6,
           (double) events / 1e6 / passed);
  if (progress->total > 0 && bytes > 0)
    fprintf (stderr, "  ETA %.0f s",
             passed * ((double) progress->total / (double) bytes - 1));
  if (!progress->terminal)
    fputc ('\n', stderr);
  fflush (stderr);
}

void
sli_progress_end (Progress *progress)
{
  if (progress->terminal)
    fputs ("\r\033[K", stderr);
}

/* --- signals ------------------------------------------------------------- */

#define N_SIGNALS 4

static const int signal_numbers[N_SIGNALS]
    = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
static struct sigaction signals_before[N_SIGNALS];
static volatile sig_atomic_t signal_child, signal_waiting;

static void
signal_pass_on (int number)
{
  signal_waiting = number;
  if (signal_child > 0)
    kill (signal_child, number);
}

static void
signal_note (int number)
{
  signal_waiting = number;
}

/* Passes SIGTERM and SIGHUP on, and gives `interrupt' those that the terminal
 * sends to the child, too. */
static void
signals_catch (void (*interrupt) (int), bool keeps_ignored)
{
  signal_child = signal_waiting = 0;
  for (int i = 0; i < N_SIGNALS; i++)
    {
      int number = signal_numbers[i];
      struct sigaction action
          = { .sa_handler = number == SIGINT || number == SIGQUIT
                                ? interrupt
                                : signal_pass_on };

      sigaction (number, NULL, &signals_before[i]);
      if (!keeps_ignored || signals_before[i].sa_handler != SIG_IGN)
        sigaction (number, &action, NULL);
    }
}

void
sli_signals_begin (void)
{
  signals_catch (SIG_IGN, false);
}

void
sli_signals_watch (void)
{
  signals_catch (signal_note, true);
}

void
sli_signals_child (pid_t pid)
{
  signal_child = pid;
  if (signal_waiting != 0)
    kill (pid, signal_waiting);
}

void
sli_signals_note (void)
{
  const struct sigaction action = { .sa_handler = signal_note };

  for (int i = 0; i < N_SIGNALS; i++)
    sigaction (signal_numbers[i], &action, NULL);
}

int
sli_signals_came (void)
{
  return signal_waiting;
}

void
sli_signals_end (void)
{
  for (int i = 0; i < N_SIGNALS; i++)
    sigaction (signal_numbers[i], &signals_before[i], NULL);
  signal_child = 0;
}

/* --- files --------------------------------------------------------------- */

char *
sli_file_part_name (const char *path)
{
  return sli_tool_text ("%s.part", path);
}

bool
sli_file_is_plain (const char *path)
{
  struct stat status;

  return stat (path, &status) != 0 || S_ISREG (status.st_mode);
}

/* The file that is being written; a signal that ends the program removes it.
 */
static char *volatile part_written;

static void
part_remove (int number)
{
  char *part = part_written;

  if (part != NULL)
    unlink (part);
  signal (number, SIG_DFL);
  raise (number);
}

static void
part_keep (char *part)
{
  static bool is_watched;
  char *before = part_written;

  part_written = part;
  free (before);
  for (int i = 0; i < N_SIGNALS && !is_watched; i++)
    {
      struct sigaction action = { .sa_handler = part_remove }, is;

      if (sigaction (signal_numbers[i], NULL, &is) == 0
          && is.sa_handler == SIG_DFL)
        sigaction (signal_numbers[i], &action, NULL);
    }
  is_watched = true;
}

FILE *
sli_file_begin (const char *path)
{
  bool plain;
  char *part;
  FILE *file;

  if (strcmp (path, "-") == 0)
    return stdout;
  /* a device must not be replaced by a file */
  plain = sli_file_is_plain (path);
  part = plain ? sli_file_part_name (path) : sli_tool_text ("%s", path);
  file = fopen (part, "we");
  if (file == NULL)
    sli_tool_exit (TOOL_FAILED, "%s: %s", part, strerror (errno));
  if (plain)
    part_keep (part);
  else
    free (part);
  return file;
}

/* Writes what a stream has buffered; 0 or an error number.  A stream remembers
 * that a write has failed, but not why; another write is likely to fail for
 * the same reason. */
static int
stream_flush (FILE *file)
{
  errno = 0;
  if (fflush (file) != 0 && errno != 0)
    return errno;
  if (ferror (file) == 0)
    return 0;
  clearerr (file);
  errno = 0;
  if (fputc ('\n', file) != EOF)
    fflush (file);
  return errno != 0 ? errno : EIO;
}

bool
sli_output_end (void)
{
  static bool said;
  int error = said ? 0 : stream_flush (stdout);
  bool good;

  if (error != 0)
    sli_tool_say ("the output could not be written: %s", strerror (error));
  good = error == 0 && !said;
  said |= !good;
  return good;
}

bool
sli_file_end (FILE *file, const char *path)
{
  char *part;
  bool plain, good;
  int error;

  if (file == stdout)
    return sli_output_end ();
  part = sli_file_part_name (path);
  plain = sli_file_is_plain (path);
  error = stream_flush (file);
  good = error == 0;
  if (fclose (file) != 0 && good)
    {
      good = false;
      error = errno;
    }
  if (good && plain && rename (part, path) != 0)
    {
      good = false;
      error = errno;
    }
  if (!good)
    {
      if (plain)
        unlink (part);
      sli_tool_say ("%s could not be written: %s", path, strerror (error));
    }
  if (plain)
    part_keep (NULL);
  free (part);
  return good;
}

void
sli_file_check (const char *path)
{
  char *part;

  if (strcmp (path, "-") == 0)
    return;
  part = sli_file_part_name (path);
  fclose (sli_file_begin (path));
  if (sli_file_is_plain (path))
    unlink (part);
  free (part);
}

int
sli_file_unnamed (void)
{
  const char *directory = getenv ("TMPDIR");
  char *name = sli_tool_text ("%s/slice-trace-XXXXXX",
                              directory == NULL ? "/tmp" : directory);
  int fd = mkstemp (name);

  if (fd < 0)
    sli_tool_exit (TOOL_FAILED, "%s: %s", name, strerror (errno));
  unlink (name);
  free (name);
  return fd;
}

char *
sli_file_read (const char *path, size_t *n_bytes)
{
  FILE *file = fopen (path, "re");
  size_t n = 0, capacity = 65536;
  char *text;

  if (file == NULL)
    return NULL;
  text = sli_tool_alloc (capacity);
  for (size_t got; (got = fread (text + n, 1, capacity - n - 1, file)) > 0;)
    {
      n += got;
      if (capacity - n < 2)
        text = sli_tool_grow (text, capacity *= 2);
    }
  fclose (file);
  text[n] = '\0';
  if (n_bytes != NULL)
    *n_bytes = n;
  return text;
}
