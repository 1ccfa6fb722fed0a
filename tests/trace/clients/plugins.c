/* plugins.c - two plugins loaded in turn, at the same place
 *
 * Tests: a program to be recorded.  Arguments: both files, rounds.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int
main (int argc, char **argv)
{
  static const char *const names[] = { "plugin_a", "plugin_b" };
  int n = argc > 3 ? atoi (argv[3]) : 100;

  for (int i = 0; i < n; i++)
    {
      void *handle = dlopen (argv[1 + i % 2], RTLD_NOW);
      void *(*call) (void);
      void *blocks[10];

      if (handle == NULL)
        {
          fprintf (stderr, "%s\n", dlerror ());
          return 1;
        }
      call = (void *(*) (void) ) dlsym (handle, names[i % 2]);
      for (int k = 0; k < 10; k++)
        blocks[k] = call ();
      for (int k = 0; k < 10; k++)
        free (blocks[k]);
      dlclose (handle);
    }
  return 0;
}
