/* child.c - runs slice-test again, as a child
 *
 * A process for each run: an allocator's state, a preloaded malloc and an
 * abort stay in it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/stress.h>

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SELF "/proc/self/exe"

void
child_args_add (ChildArgs *args, const char *format, ...)
{
  va_list arguments;

  if (args->n == CHILD_ARGS_MAX)
    stress_fail (EXIT_FOUND, "a child's command line is too long");
  va_start (arguments, format);
  vsnprintf (args->text[args->n++], CHILD_ARG_BYTES, format, arguments);
  va_end (arguments);
}

typedef struct
{
  char *text;
  size_t n, capacity;
} Text;

/* Reads what there is; false at the end. */
static bool
text_read (Text *text, int fd)
{
  ssize_t n;

  if (text->capacity - text->n < 1024)
    {
      text->capacity = text->capacity * 2 + 4096;
      text->text = realloc (text->text, text->capacity);
      if (text->text == NULL)
        stress_fail (EXIT_FOUND, "no memory for a child's output");
    }
  n = read (fd, text->text + text->n, text->capacity - text->n - 1);
  if (n < 0 && errno == EINTR)
    return true;
  if (n > 0)
    text->n += (size_t)n;
  text->text[text->n] = '\0';
  return n > 0;
}

static void
text_read_both (Text texts[2], const int fds[2])
{
  struct pollfd polls[2] = { { .fd = fds[0], .events = POLLIN },
                             { .fd = fds[1], .events = POLLIN } };

  while (polls[0].fd >= 0 || polls[1].fd >= 0)
    {
      if (poll (polls, 2, -1) < 0 && errno != EINTR)
        return;
      for (int i = 0; i < 2; i++)
        if (polls[i].fd >= 0 && polls[i].revents != 0
            && !text_read (&texts[i], fds[i]))
          polls[i].fd = -1;
    }
}

/* In the child: never returns. */
static void
child_begin (const ChildArgs *args, const char *preload, const int fds[2])
{
  const struct rlimit no_core = { 0, 0 };
  char name[] = "slice-test";
  char text[CHILD_ARGS_MAX][CHILD_ARG_BYTES];
  char *vector[CHILD_ARGS_MAX + 2] = { name };

  memcpy (text, args->text, sizeof text);
  for (unsigned i = 0; i < args->n; i++)
    vector[i + 1] = text[i];

  dup2 (fds[0], STDOUT_FILENO);
  dup2 (fds[1], STDERR_FILENO);
  setrlimit (RLIMIT_CORE, &no_core);
  if (preload == NULL)
    {
      optind = 0; /* again */
      exit (slice_test ((int)args->n + 1, vector));
    }
  if (*preload == '\0')
    unsetenv ("LD_PRELOAD");
  else
    setenv ("LD_PRELOAD", preload, 1);
  execv (SELF, vector);
  fprintf (stderr, "slice-test: " SELF ": %s\n", strerror (errno));
  _exit (EXIT_FOUND);
}

/* Runs slice-test with arguments.  preload: NULL, as a copy of this process, in
 * which no allocator was used (an emulator of processors can't start
 * /proc/self/exe); else as a new one, "" with nothing preloaded.  False if no
 * child could be made.
 */
bool
child_run (const ChildArgs *args, const char *preload, ChildResult *result)
{
  int out[2], err[2];
  Text texts[2] = { { 0 }, { 0 } };
  pid_t pid;

  fflush (NULL);
  if (pipe (out) != 0)
    return false;
  if (pipe (err) != 0)
    {
      close (out[0]);
      close (out[1]);
      return false;
    }
  pid = fork ();
  if (pid == 0)
    {
      close (out[0]);
      close (err[0]);
      child_begin (args, preload, (const int[2]){ out[1], err[1] });
    }
  close (out[1]);
  close (err[1]);
  if (pid > 0)
    text_read_both (texts, (const int[2]){ out[0], err[0] });
  close (out[0]);
  close (err[0]);
  result->out = texts[0].text;
  result->err = texts[1].text;
  return pid > 0 && waitpid (pid, &result->status, 0) == pid;
}

void
child_result_clear (ChildResult *result)
{
  free (result->out);
  free (result->err);
  *result = (ChildResult){ 0, NULL, NULL };
}
