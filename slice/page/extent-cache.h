/* extent-cache.h - memory that is known to be ours at a glance
 *
 * Layer: page.  Set by the page floor, read by upper floors that look many
 * addresses up.  No locks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_EXTENT_CACHE_H
#define SLI_PAGE_EXTENT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/compiler.h"

enum
{
  CACHED_EXTENTS = 2,
  /* Left out at an extent's end, where a node's header of 32 bytes could begin
   * that does not end in it: a multiple of 16 that is known to be in an extent
   * has 32 bytes there. */
  OWN_EXTENT_END_BYTES = 16
};

/* The first two extents, a small and a large one, which hold the whole of most
 * heaps: mapped, and nothing but regions, begun or still to begin.  Each is
 * set once, `bytes' last; that becomes 0 for good when it is given up. */
typedef struct
{
  uintptr_t start;
  size_t bytes;
} CachedExtent;

extern CachedExtent sli_extent_cache[CACHED_EXTENTS]
    __attribute__ ((visibility ("hidden")));

/* May an address be read, as it is in memory of ours?  False says nothing. */
static inline bool
extent_cache_has (const void *address)
{
  for (int i = CACHED_EXTENTS - 1; i >= 0; i--)
    {
      /* First: with it the start is known. */
      size_t bytes = LOAD_ACQUIRE (&sli_extent_cache[i].bytes);

      if ((uintptr_t) address - LOAD (&sli_extent_cache[i].start) < bytes)
        return true;
    }
  return false;
}

#endif
