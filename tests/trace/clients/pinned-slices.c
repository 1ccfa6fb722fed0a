/* pinned-slices.c - slices of which few are live, beside blocks of malloc's
 *
 * Without an argument: slices; `nodes': a context's nodes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/ralloc.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
  N_BLOCKS = 100000,
  SIZE = 200,
  LIVE = 1000, /* one in so many stays */
  IDLE_NSEC = 200000000
};

static void *blocks[N_BLOCKS];

static void *
block_new (void *root)
{
  void *block = root != NULL ? ralloc_size (root, SIZE) : slice_alloc (SIZE);

  return memset (block, 1, SIZE);
}

static void
block_free (void *root, void *block)
{
  if (root != NULL)
    ralloc_free (block);
  else
    slice_free1 (SIZE, block);
}

int
main (int argc, char **argv)
{
  struct timespec idle = { 0, IDLE_NSEC };
  void *root = argc > 1 && strcmp (argv[1], "nodes") == 0
                   ? ralloc_context (NULL)
                   : NULL;

  for (int i = 0; i < N_BLOCKS; i++)
    blocks[i] = block_new (root);
  for (int i = 0; i < N_BLOCKS; i++)
    if (i % LIVE != 0)
      block_free (root, blocks[i]);
  nanosleep (&idle, NULL);
  for (int i = 0; i < N_BLOCKS; i += LIVE)
    block_free (root, blocks[i]);
  ralloc_free (root);
  return 0;
}
