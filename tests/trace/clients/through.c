/* through.c - one function allocates itself and through the library
 *
 * With BEFORE, main() calls malloc 3 times; with AFTER twice, and strdup() 5
 * times.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

static void *volatile kept;

static void
drop (void)
{
  free (kept);
}

int
main (int argc, char **argv)
{
#ifdef BEFORE
  enum { N_OWN = 3, N_LIBRARY = 0 };
#else
  enum { N_OWN = 2, N_LIBRARY = 5 };
#endif

  (void) argc;
  for (int i = 0; i < N_OWN; i++)
    {
      kept = malloc (200000);
      drop ();
    }
  for (int i = 0; i < N_LIBRARY; i++)
    {
      kept = strdup (argv[0]);
      drop ();
    }
  return 0;
}
