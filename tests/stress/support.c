/* support.c - clocks, memory for the test itself, the end of all hope
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/stress.h>

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double
clock_sec (clockid_t clock)
{
  struct timespec now;

  clock_gettime (clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / NSEC_PER_SEC;
}

double
clock_wall_sec (void)
{
  return clock_sec (CLOCK_MONOTONIC);
}

double
clock_thread_sec (void)
{
  return clock_sec (CLOCK_THREAD_CPUTIME_ID);
}

/* An array for the test's own use, zeroed; never NULL. */
void *
stress_alloc (size_t n, size_t size)
{
  void *array = calloc (n > 0 ? n : 1, size);

  if (array == NULL)
    stress_fail (EXIT_FOUND, "no memory for %zu times %zu bytes", n, size);
  return array;
}

/* Says what is wrong and ends the program, whatever other threads do. */
void
stress_fail (int code, const char *format, ...)
{
  va_list arguments;

  fputs ("slice-test: ", stderr);
  va_start (arguments, format);
  vfprintf (stderr, format, arguments);
  va_end (arguments);
  fputc ('\n', stderr);
  fflush (stderr);
  _exit (code);
}

/* What was printed is out, or the program ends. */
void
stress_output_end (void)
{
  /* of a write that failed before, fflush() says nothing */
  if (fflush (stdout) != 0 || ferror (stdout) != 0)
    stress_fail (EXIT_FOUND, "the output could not be written");
}
