/* late-plugin.c - a module with a site behind a function of the program, and
 * with one of its own
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

void *xmalloc (size_t size);
int late_work (int n);

static void *theirs[10000], *ours[10000];

int
late_work (int n)
{
  for (int i = 0; i < n; i++)
    {
      theirs[i] = xmalloc (40);
#ifdef DIRECT
      ours[i] = malloc (24);
#endif
    }
  for (int i = 0; i < n; i++)
    {
      free (theirs[i]);
      free (ours[i]);
    }
  return n;
}
