/* malloc-of.c - says which library malloc() is from
 *
 * Tests: a program that is linked with libslice-malloc.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main (void)
{
  void *volatile block = malloc (100);
  Dl_info info;

  if (block == NULL || dladdr (dlsym (RTLD_DEFAULT, "malloc"), &info) == 0)
    return 1;
  free (block);
  printf ("malloc of %s\n", strrchr (info.dli_fname, '/') + 1);
  return 0;
}
