/* make-large.c - a trace of many millions of events, for trials of speed
 *
 * Tests: not run by make check.  Arguments: file, millions of events, live
 * blocks, and "deep" for stacks of three frames that share their inner ones,
 * so that each depth has sites of its own.  All sites are of the general
 * class, which is the dearest to find.
 *
 * SPDX-License-Identifier: MIT
 */
#include "make-trace.h"
#include <stdio.h>
#include <stdlib.h>

int
main (int argc, char **argv)
{
  uint64_t n;
  uint32_t live;
  uint64_t *slots;
  uint32_t sites[1000];
  Maker *maker;
  bool deep;

  if (argc < 4)
    {
      fputs ("usage: make-large FILE MILLIONS LIVE\n", stderr);
      return 2;
    }
  n = strtoull (argv[2], NULL, 10) * 500000;
  live = (uint32_t) atoi (argv[3]);
  slots = calloc (live, sizeof *slots);
  maker = maker_new (argv[1], 1);
  deep = argc > 4;
  for (uint64_t i = 0; i < 1000; i++)
    sites[i] = deep ? maker_site (maker, 0x1000 + i % 100, 0x20000 + i % 500,
                                  0x40000 + i)
                    : maker_site (maker, 0x1000 + i, 0x20000 + i % 50, 0);
  for (uint64_t i = 0; i < n; i++)
    {
      uint32_t at = maker_random (maker, live);

      if (slots[at] != 0)
        maker_free (maker, slots[at]);
      slots[at] = maker_alloc (maker, sites[maker_random (maker, 1000)],
                               maker_size (maker));
    }
  maker_end (maker);
  free (slots);
  return 0;
}
