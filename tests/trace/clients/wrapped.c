/* wrapped.c - source lines and what a program without the recorder sees
 *
 * Tests: a program to be recorded.  SPDX-License-Identifier: MIT
 */
#define SLICE_TRACE_SOURCE_LINES
#include <slice/trace.h>

int
main (void)
{
  for (int i = 0; i < 300; i++)
    {
      char *volatile a = malloc (10);

      free (a);
      a = strdup ("text");
      free (a);
    }
  slice_trace_mark ("done");
  slice_trace_print_lines (stdout);
  return 0;
}
