/* lines.c - source lines: each argument once, and headers on both sides
 *
 * Tests: a program that looks at itself.  Ends with the number of what is
 * wrong.  SPDX-License-Identifier: MIT
 */
#define SLICE_TRACE_SOURCE_LINES
#include <slice/trace.h>
/* too late, and yet it compiles */
#include <malloc.h>
#include <slice/libslice.h>
#include <slice/linear.h>
#include <slice/ralloc.h>
#include <slice/slice.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = { "a", "bb", "ccc" };
static int n_taken;

static const char *
take (void)
{
  return names[n_taken++];
}

int
main (void)
{
  char *first = strdup (take ());
  char *second = strdup (take ());
  size_t n = 1;
  char *block;
  char *at[2] = { NULL };
  char **next;
  size_t m = 1;
  char *zeros;
  char *nested;

  if (n_taken != 2 || strcmp (first, "a") != 0 || strcmp (second, "bb") != 0)
    return 1;
  block = malloc (n++);
  if (n != 2)
    return 2;
  at[0] = block;
  next = at;
  block = realloc (*next++, n *= 2);
  if (n != 4 || next != &at[1])
    return 3;
  zeros = calloc (n++, m++);
  if (n != 5 || m != 2 || zeros[3] != 0)
    return 4;
  nested = malloc (strlen (strcpy (malloc (8), "seven c")));
  free (nested);
  free (zeros);
  free (block);
  free (second);
  free (first);
  slice_trace_print_lines (stdout);
  return 0;
}
