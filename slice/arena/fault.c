/* fault.c - how arenas end a program that misuses them
 *
 * Floor 7.  The one place through which arenas report misuse.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line with two addresses and three sizes needs under 200. */
#define FAULT_LINE_BYTES 320

void
sli_arena_fault (ArenaFault number, const char *format, ...)
{
  char line[FAULT_LINE_BYTES];
  int n = snprintf (line, sizeof line, "slice: error %d: ", (int) number);
  size_t used = (size_t) n;
  va_list arguments;
  va_start (arguments, format);
  vsnprintf (line + used, sizeof line - used - 1, format, arguments);
  va_end (arguments);
  used = strlen (line);
  line[used++] = '\n';
  ssize_t written = write (STDERR_FILENO, line, used);
  (void) written;
  abort ();
}
