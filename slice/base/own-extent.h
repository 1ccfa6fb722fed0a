/* own-extent.h - memory that is known to be ours at a glance
 *
 * Floor 1 (base).  Set by the page floor, read by upper floors that look many
 * addresses up.  No locks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_BASE_OWN_EXTENT_H
#define SLI_BASE_OWN_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/compiler.h"

enum
{
  OWN_EXTENTS = 2
};

/* The first two extents, a small and a large one, which hold the whole of most
 * heaps: mapped, and nothing but regions, begun or still to begin.  Each is
 * set once, `bytes' last; that becomes 0 for good when it is given up. */
typedef struct
{
  uintptr_t start;
  size_t bytes;
} OwnExtent;

extern OwnExtent sli_own_extents[OWN_EXTENTS]
    __attribute__ ((visibility ("hidden")));

/* May an address be read, as it is in memory of ours?  False says nothing. */
static inline bool
own_extents_have (const void *address)
{
  for (int i = OWN_EXTENTS - 1; i >= 0; i--)
    {
      /* First: with it the start is known. */
      size_t bytes = LOAD_ACQUIRE (&sli_own_extents[i].bytes);

      if ((uintptr_t) address - LOAD (&sli_own_extents[i].start) < bytes)
        return true;
    }
  return false;
}

#endif
