/* extent-cache.h - the first extents, for fast lookups of addresses
 *
 * Layer: page.  Written by extent.c, under the page lock.  Upper layers that
 * look up many addresses read it without a lock.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_MAP_EXTENT_CACHE_H
#define SLI_PAGE_MAP_EXTENT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
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
 * both an address and the header of its region can be read.  `start' and
 * `classes' are set once. */
typedef struct
{
  uintptr_t start;
  size_t bytes; /* grows with the regions; 0 for good once the extent is
                   unmapped */
  uint8_t *classes; /* by granule: as run_class in the headers of its regions
                       (region.h), for all of them together */
} CachedExtent;

extern CachedExtent sli_extent_cache[CACHED_EXTENTS]
    __attribute__ ((visibility ("hidden")));

static inline CachedExtent *
extent_cache_entry (unsigned i)
{
  assert_here (i < CACHED_EXTENTS);
  return &sli_extent_cache[i];
}

static inline bool
extent_cache_has_at (unsigned i, const void *address)
{
  size_t offset;

  return is_within (address, &sli_extent_cache[i].start,
                    &sli_extent_cache[i].bytes, &offset);
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

/* Finds the size class of the slab that has an address, 0 for none, in the
 * notes on a cached extent; false: the address is not there.  `shift' is
 * sli_region_granule_shift. */
static ALWAYS_INLINE bool
extent_cache_class_at (unsigned i, const uint8_t *classes,
                       const void *address, unsigned shift,
                       size_t *class_index)
{
  size_t offset;

  if (!is_within (address, &sli_extent_cache[i].start,
                  &sli_extent_cache[i].bytes, &offset))
    return false;
  *class_index = LOAD (&classes[offset >> shift]);
  return true;
}

/* The same for any address; 0: no slab, or in no cached extent. */
static ALWAYS_INLINE size_t
extent_cache_class (const void *address, unsigned shift)
{
  size_t class_index;

  for (int i = CACHED_EXTENTS - 1; i >= 0; i--)
    if (extent_cache_class_at ((unsigned) i,
                               LOAD (&sli_extent_cache[i].classes), address,
                               shift, &class_index))
      return class_index;
  return 0;
}

/* Notes the class of the slab at an address, if that is in a cached extent. */
static inline void
extent_cache_set_class (const void *run, unsigned n_granules,
                        unsigned class_index, unsigned shift)
{
  for (unsigned i = 0; i < CACHED_EXTENTS; i++)
    {
      const CachedExtent *extent = extent_cache_entry (i);
      size_t offset;

      if (is_within (run, &extent->start, &extent->bytes, &offset))
        for (unsigned k = 0; k < n_granules; k++)
          STORE (&extent->classes[(offset >> shift) + k],
                 (uint8_t) class_index);
    }
}

#endif
