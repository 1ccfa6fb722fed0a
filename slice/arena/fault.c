/* fault.c - how arenas end a program that misuses them
 *
 * Floor 7.  The one place through which arenas report misuse.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "fault.h"

#include <stdarg.h>
#include <stdio.h>
#include "base/diag.h"

/* A line with two addresses and three sizes needs under 200. */
#define FAULT_LINE_BYTES 320

void
sli_arena_fault (ArenaFault number, const char *format, ...)
{
  char line[FAULT_LINE_BYTES];
  va_list arguments;
  va_start (arguments, format);
  vsnprintf (line, sizeof line, format, arguments);
  va_end (arguments);
  sli_diag_die ((int) number, "%s", line);
}
