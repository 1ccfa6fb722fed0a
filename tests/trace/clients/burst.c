/* burst.c - many blocks at once, for a short time
 *
 * Tests: a program to be recorded.  The argument is the number of blocks of
 * 3000 bytes; before and after them another site has a hundred small ones.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#define N_SMALL 100
#define N_ROUNDS 1500
#define BYTES 3000
#define APART __attribute__ ((noinline))

APART static void
burst (int n)
{
  char **blocks = calloc ((size_t) n, sizeof *blocks);

  for (int i = 0; i < n; i++)
    memset (blocks[i] = malloc (BYTES), 1, BYTES);
  for (int i = 0; i < n; i++)
    free (blocks[i]);
  free (blocks);
}

APART static void
rest (void)
{
  static void *blocks[N_SMALL];

  for (int round = 0; round < N_ROUNDS; round++)
    {
      for (int i = 0; i < N_SMALL; i++)
        blocks[i] = malloc (40);
      for (int i = 0; i < N_SMALL; i++)
        free (blocks[i]);
    }
}

int
main (int argc, char **argv)
{
  rest ();
  burst (argc > 1 ? atoi (argv[1]) : 1);
  rest ();
  return 0;
}
