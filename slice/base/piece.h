/* piece.h - memory that is known to be ours at a glance
 *
 * Floor 1 (base).  Set by the page floor, read by upper floors that look many
 * addresses up.  No locks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_BASE_PIECE_H
#define SLI_BASE_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/compiler.h"

enum
{
  OWN_PIECES = 2
};

/* The first two extents, a small and a large one, which hold the whole of most
 * heaps: mapped, and nothing but regions, begun or still to begin.  Each is
 * set once; `bytes' becomes 0 for good when it is given up. */
typedef struct
{
  uintptr_t start;
  size_t bytes;
} OwnPiece;

extern OwnPiece sli_own_pieces[OWN_PIECES]
    __attribute__ ((visibility ("hidden")));

/* May an address be read, as it is in memory of ours?  False says nothing. */
static inline bool
own_pieces_have (const void *address)
{
  for (int i = OWN_PIECES - 1; i >= 0; i--)
    if ((uintptr_t) address - LOAD (&sli_own_pieces[i].start)
        < LOAD (&sli_own_pieces[i].bytes))
      return true;
  return false;
}

#endif
