/* ends.c - the ways a program may end
 *
 * Tests: a program to be recorded.  The argument chooses.
 *
 * SPDX-License-Identifier: MIT
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int never;

__attribute__ ((noinline)) static int
deeper (int n)
{
  volatile char buffer[4096];
  void *volatile block;

  buffer[0] = (char)n;
  block = malloc (16);
  free (block);
  return never ? n : deeper (n + 1) + buffer[0];
}

int
main (int argc, char **argv)
{
  const char *how = argc > 1 ? argv[1] : "";

  for (int i = 0; i < 1000; i++)
    {
      void *volatile block = malloc (100);

      free (block);
    }
  if (strcmp (how, "kill") == 0)
    raise (SIGKILL);
  if (strcmp (how, "abort") == 0)
    abort ();
  if (strcmp (how, "_exit") == 0)
    _exit (0);
  if (strcmp (how, "overflow") == 0)
    return deeper (0);
  if (strcmp (how, "status") == 0)
    return 42;
  return 0;
}
