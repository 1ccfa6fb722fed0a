/* extent-cache.h - the first extents, for fast lookups of addresses
 *
 * Layer: page.  Written by extent.c, under the page lock.  Upper layers that
 * look up many addresses read it without a lock.
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
  /* The last 16 bytes of an extent are left out.  So the 32 bytes of a node's
   * header can be read at each multiple of 16 that the cache has. */
  CACHED_EXTENT_END_BYTES = 16
};

/* The first two extents, a small and a large one, hold the whole of most
 * heaps.  An entry covers the regions of its extent that have headers, so that
 * both an address and the header of its region can be read.  `start' is set
 * once. */
typedef struct
{
  uintptr_t start;
  size_t bytes; /* grows with the regions; 0 for good once the extent is
                   unmapped */
} CachedExtent;

extern CachedExtent sli_extent_cache[CACHED_EXTENTS]
    __attribute__ ((visibility ("hidden")));

static inline bool
extent_cache_has_at (unsigned i, const void *address)
{
  return is_within (address, &sli_extent_cache[i].start,
                    &sli_extent_cache[i].bytes);
}

/* Returns true if an address is in a cached extent: it can be read, and its
 * region has a header.  False says nothing about the address. */
static inline bool
extent_cache_has (const void *address)
{
  for (int i = CACHED_EXTENTS - 1; i >= 0; i--)
    if (extent_cache_has_at ((unsigned) i, address))
      return true;
  return false;
}

/* The same for the larger extent alone: a short test before a longer one. */
static inline bool
extent_cache_has_large (const void *address)
{
  return extent_cache_has_at (CACHED_EXTENTS - 1, address);
}

#endif
