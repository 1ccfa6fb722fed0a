/* map.h - the address map: which regions exist
 *
 * Layer: page.  The map has a byte for each window of 2 MiB of the address
 * space, and in it a bit for each 256 KiB, the least size of a region.  Bits
 * are set before a region is used and cleared before it is unmapped.  So the
 * map tells whether an address is ours without touching what it points to.
 *
 *   address:  | 63 .. 48 | 47 .. 33 | 32 .. 21 | 20 .. 18 |
 *                 far       leaf       window      bit
 *
 * A table finds the leaves of the addresses that user space has nearly
 * everywhere; a hash table those beyond (5-level paging, arm64 with 52 bits,
 * s390x, ...).
 * Locks: writers hold the page lock.  Readers take none: a leaf is never
 * freed.
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_MAP_H
#define SLI_PAGE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/compiler.h"

enum
{
  WINDOW_SHIFT = 21,          /* 2 MiB: a region is one window */
  OURS_SHIFT = 18,            /* 256 KiB: SLICE_OURS_BYTES */
  MAP_LEAF_SHIFT = 12,        /* windows of a leaf: 8 GiB in 4 KiB */
  MAP_LEAF_WINDOWS = 1 << MAP_LEAF_SHIFT
};

enum
{
  MAP_LEAF_BITS = WINDOW_SHIFT + MAP_LEAF_SHIFT, /* more than all 32 */
  MAP_TABLE_BITS = ADDRESS_BITS_USUAL > MAP_LEAF_BITS ? ADDRESS_BITS_USUAL
                                                      : MAP_LEAF_BITS,
  MAP_LEAVES = 1 << (MAP_TABLE_BITS - MAP_LEAF_BITS),
  MAP_FAR_BITS = 8,
  MAP_FAR_CHAINS = 1 << MAP_FAR_BITS
};

typedef struct MapLeaf
{
  struct MapLeaf *next; /* far leaves: in their chain; never removed */
  uint64_t number;      /* far leaves: address / 8 GiB */
  uint8_t windows[MAP_LEAF_WINDOWS];
} MapLeaf;

/* Indexed by address / 8 GiB; NULL where there was never a region. */
extern MapLeaf *sli_map_leaves[MAP_LEAVES];
/* Indexed by a hash of that. */
extern MapLeaf *sli_map_far[MAP_FAR_CHAINS];

/* The leaf of an address beyond the table; NULL if there is none yet. */
MapLeaf *sli_map_far_leaf (uint64_t number);

/* The leaf of any address; NULL if there is none yet. */
static inline MapLeaf *
map_leaf (const void *address)
{
  uint64_t number = (uint64_t) (uintptr_t) address >> MAP_LEAF_BITS;

  if (UNLIKELY (number >= MAP_LEAVES))
    return sli_map_far_leaf (number);
  return LOAD_ACQUIRE (&sli_map_leaves[number]);
}

/* Returns true if an address is in one of our regions, used or not. */
static inline bool
sli_map_has (const void *address)
{
  uint64_t at = (uint64_t) (uintptr_t) address;
  const MapLeaf *leaf = map_leaf (address);

  if (leaf == NULL)
    return false;
  return LOAD_ACQUIRE (&leaf->windows[(at >> WINDOW_SHIFT)
                                      & (MAP_LEAF_WINDOWS - 1)])
             >> ((at >> OURS_SHIFT) & 7)
         & 1;
}

/* Returns true if there is no leaf for an address yet. */
bool sli_map_needs_leaf (const void *address);
/* Adds it: zeroed memory that is never freed. */
void sli_map_add_leaf (const void *address, MapLeaf *leaf);
/* Sets the bits of a region of `bytes', a multiple of 256 KiB. */
void sli_map_set (const void *region, size_t bytes);
void sli_map_clear (const void *region);

#endif
