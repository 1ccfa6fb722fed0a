/* consumers.c - one call site with several callers, in shares by chance
 *
 * Tests: a program to be recorded; the argument is the seed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include "random.h"

#define CONSUMER(name)                                                        \
 __attribute__ ((noinline)) static void name (void *volatile *slot)           \
 {                                                                            \
  free (*slot);                                                               \
  *slot = site (16 + 16 * below (20));                                        \
 }

__attribute__ ((noinline)) static void *
site (size_t size)
{
  void *volatile block = malloc (size);

  return block;
}

CONSUMER (parser)
CONSUMER (folder)
CONSUMER (printer)
CONSUMER (linker)

int
main (int argc, char **argv)
{
  unsigned shares[4];

  static void (*const consumers[]) (void *volatile *)
      = { parser, folder, printer, linker };
  static void *volatile slots[300];
  random_state = argc > 1 ? (unsigned)atoi (argv[1]) : 1;
  for (int i = 0; i < 4; i++)
    shares[i] = 1 + below (50);
  for (int i = 0; i < 20000; i++)
    {
      unsigned which = below (4);

      if (below (50) < shares[which])
        consumers[which](&slots[below (300)]);
    }
  return 0;
}
