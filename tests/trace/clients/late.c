/* late.c - a module that is loaded late, and each time elsewhere
 *
 * The module (late-plugin.c) allocates by this program's function, and itself.
 *
 *   late FILE ROUNDS apart    nothing of a place is used again
 *   late FILE ROUNDS near     places overlap
 *   late - ROUNDS             without the module
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define N_BLOCKS 2000
#define APART __attribute__ ((noinline))

void *xmalloc (size_t size);

APART void *
xmalloc (size_t size)
{
  void *block = malloc (size);

  if (block == NULL)
    abort ();
  return block;
}

static void *own[N_BLOCKS];

/* Another caller of xmalloc(), before the module is there. */
APART static void
own_work (void)
{
  for (int i = 0; i < N_BLOCKS; i++)
    own[i] = xmalloc (1000);
  for (int i = 0; i < N_BLOCKS; i++)
    free (own[i]);
}

static int
module_run (const char *path, int apart)
{
  Dl_info place;
  void *handle = dlopen (path, RTLD_NOW);
  int (*work) (int) = NULL;
  int n;

  if (handle != NULL)
    *(void **) &work = dlsym (handle, "late_work");
  if (work == NULL || dladdr (*(void **) &work, &place) == 0)
    exit (1);
  n = work (N_BLOCKS);
  dlclose (handle);
  if (apart)
    mmap (place.dli_fbase, 4096, PROT_NONE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  else
    mmap (NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return n;
}

int
main (int argc, char **argv)
{
  int n = 0, rounds = argc > 2 ? atoi (argv[2]) : 1;

  for (int round = 0; round < rounds; round++)
    {
      own_work ();
      if (strcmp (argv[1], "-") != 0)
        n += module_run (argv[1], argc > 3 && strcmp (argv[3], "apart") == 0);
    }
  printf ("late %d\n", n);
  return 0;
}
