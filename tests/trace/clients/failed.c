/* failed.c - realloc fails, and a mark that would break a line
 *
 * Tests: a program to be recorded.  SPDX-License-Identifier: MIT
 */
#include <slice/trace.h>

int
main (void)
{
  volatile size_t huge = (size_t)-4096;

  slice_trace_mark ("a\\b\n1 1 free 0x1 node=1");
  for (int i = 0; i < 1000; i++)
    {
      void *volatile block = malloc (777);

      if (realloc (block, huge) != NULL)
        return 1;
      free (block);
    }
  return 0;
}
