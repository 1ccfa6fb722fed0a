/* plugged.c - a program that knows nothing of libslice, and a plugin that
 * brings it along
 *
 * With PLUGIN defined it is the plugin.  Arguments: the plugin; "fork": then
 * a child uses it as well.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>

#ifdef PLUGIN

# include <slice/slice.h>

int use_plugin (void);

int
use_plugin (void)
{
  void *blocks[500];

  for (size_t i = 0; i < 500; i++)
    blocks[i] = slice_alloc (2 * i + 1);
  for (size_t i = 0; i < 500; i++)
    slice_free1 (2 * i + 1, blocks[i]);
  return 0;
}

#else

# include <dlfcn.h>
# include <sys/wait.h>
# include <unistd.h>

int
main (int argc, char **argv)
{
  void *plugin = argc > 1 ? dlopen (argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*use) (void) = NULL;
  int status = 0;

  if (plugin == NULL)
    return 2;
  *(void **) &use = dlsym (plugin, "use_plugin");
  if (use == NULL || use () != 0)
    return 1;
  if (argc > 2)
    {
      pid_t child = fork ();

      if (child == 0)
        return use ();
      waitpid (child, &status, 0);
    }
  return status != 0;
}

#endif
