/* before-after.c - one function that allocates, before and after it is changed
 *
 * Tests: a program to be recorded; AFTER: the blocks are slices.
 *
 * SPDX-License-Identifier: MIT
 */
#include "slice/slice.h"
#include <stdlib.h>

static void *volatile seen;

__attribute__ ((noinline)) static void
work (void)
{
#ifdef AFTER
  void *block = slice_alloc (40);

  seen = block;
  slice_free1 (40, block);
#else
  void *block = malloc (40);
  seen = block;
  free (block);
#endif
}

int
main (void)
{
  for (int i = 0; i < 1000; i++)
    work ();
}
