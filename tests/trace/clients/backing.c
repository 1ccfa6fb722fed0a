/* backing.c - call sites whose blocks libslice takes from malloc
 *
 * Tests: a program to be recorded.  Each site is a function with a known
 * number of blocks.  With always-malloc this is so for all of them, else for
 * all but site_slice().
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/libslice.h>
#include <stdlib.h>

#define SITE __attribute__ ((noinline)) static void

SITE
site_slice (void)
{
  for (int i = 0; i < 20000; i++)
    slice_free1 (64, slice_alloc (64));
}

SITE
site_large (void)
{
  for (int i = 0; i < 2000; i++)
    slice_free1 (5000, slice_alloc (5000));
}

SITE
site_zeroed (void)
{
  for (int i = 0; i < 2000; i++)
    slice_free1 (6000, slice_alloc0 (6000));
}

SITE
site_aligned (void)
{
  for (int i = 0; i < 5000; i++)
    slice_free_aligned (256, 512, slice_alloc_aligned (256, 512));
}

SITE
site_context (void *root)
{
  for (int i = 0; i < 2000; i++)
    ralloc_free (ralloc_size (root, 8000));
}

/* Blocks of 5010, 5020, ... bytes. */
SITE
site_resized (void *root)
{
  void *block = NULL;

  for (size_t i = 1; i <= 2000; i++)
    block = reralloc_size (root, block, 5000 + i * 10);
}

/* The program's own, each after one of the library's. */
SITE
site_malloc (void *slice)
{
  void *volatile block = malloc (200);

  free (block);
  slice_free1 (5000, slice);
}

int
main (void)
{
  void *root = ralloc_context (NULL);

  site_slice ();
  site_large ();
  site_zeroed ();
  site_aligned ();
  site_context (root);
  site_resized (root);
  for (int i = 0; i < 5000; i++)
    site_malloc (slice_alloc (5000));
  ralloc_free (root);
  return 0;
}
