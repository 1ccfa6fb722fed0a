/* misuse.c - how arenas report misuse
 *
 * Layer: arena.  All reports of arenas pass through here.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "misuse.h"

#include <slice/arena.h>

#include <stdarg.h>
#include <stdio.h>
#include "base/diag.h"

enum
{
  MISUSE_LINE_BYTES = 320 /* two addresses and three sizes need under 200 */
};

void
sli_arena_report_misuse (ArenaMisuse number, const char *format, ...)
{
  char line[MISUSE_LINE_BYTES];
  va_list arguments;
  va_start (arguments, format);
  vsnprintf (line, sizeof line, format, arguments);
  va_end (arguments);
  sli_diag_abort ((int) number, "%s", line);
}

void
slice_arena_bad_options_v1 (void)
{
  sli_arena_report_misuse (
      ARENA_MISUSE_OPTIONS,
      "an arena's option is out of range, or its buffer is too"
      " small");
}
