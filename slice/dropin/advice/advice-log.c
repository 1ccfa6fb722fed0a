/* advice-log.c - messages of libslice-advice
 *
 * Layer: dropin.  SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "advice-log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum
{
  LINE_BYTES = 1024
};

void
sli_advice_log (const char *format, ...)
{
  static const char name[] = "libslice-advice: ";
  char line[LINE_BYTES + 1];
  int error = errno, n_name = sizeof name - 1, n;
  va_list arguments;

  for (int i = 0; i < n_name; i++)
    line[i] = name[i];
  va_start (arguments, format);
  errno = error; /* for %m */
  n = vsnprintf (line + n_name, (size_t) (LINE_BYTES - n_name), format,
                 arguments);
  va_end (arguments);
  n = n < 0 ? n_name : n + n_name;
  n = n > LINE_BYTES - 1 ? LINE_BYTES - 1 : n;
  line[n] = '\n';
  if (write (STDERR_FILENO, line, (size_t) n + 1) < 0)
    errno = error;
  errno = error;
}
