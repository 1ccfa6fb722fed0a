/* map.c - the address map: which regions exist
 *
 * Layer: page.  Locks: the callers hold the page lock (rank 20).
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "map.h"
#include "base/check.h"

MapLeaf *sli_map_leaves[MAP_LEAVES];
MapLeaf *sli_map_far[MAP_FAR_CHAINS];

SLICE_STATIC_ASSERT (WINDOW_SHIFT - OURS_SHIFT == 3,
                     "a window's bits are a byte");

static uint64_t
leaf_number (const void *address)
{
  return (uint64_t) (uintptr_t) address >> MAP_LEAF_BITS;
}

/* Neighbours get different chains (Knuth, volume 3, section 6.4, "Fibonacci
 * hashing"). */
COMMON_TEXT static MapLeaf **
far_chain (uint64_t number)
{
  return &sli_map_far[number * UINT64_C (0x9e3779b97f4a7c15)
                      >> (64 - MAP_FAR_BITS)];
}

NOINLINE MapLeaf *
sli_map_far_leaf (uint64_t number)
{
  MapLeaf *leaf = LOAD_ACQUIRE (far_chain (number));

  while (leaf != NULL && leaf->number != number)
    leaf = leaf->next;
  return leaf;
}

COMMON_TEXT bool
sli_map_needs_leaf (const void *address)
{
  return map_leaf (address) == NULL;
}

COMMON_TEXT void
sli_map_add_leaf (const void *address, MapLeaf *leaf)
{
  uint64_t number = leaf_number (address);
  MapLeaf **slot = &sli_map_leaves[number % MAP_LEAVES];

  assert_here (sli_map_needs_leaf (address));
  if (number >= MAP_LEAVES)
    {
      slot = far_chain (number);
      leaf->number = number;
      leaf->next = *slot;
    }
  STORE_RELEASE (slot, leaf);
  assert_here (map_leaf (address) == leaf);
}

static uint8_t *
window_of (const void *region)
{
  MapLeaf *leaf = map_leaf (region);

  require (leaf != NULL);
  return &leaf->windows[((uint64_t) (uintptr_t) region >> WINDOW_SHIFT)
                        & (MAP_LEAF_WINDOWS - 1)];
}

COMMON_TEXT void
sli_map_set (const void *region, size_t bytes)
{
  assert_here (bytes >> OURS_SHIFT > 0 && bytes >> WINDOW_SHIFT <= 1);
  STORE_RELEASE (window_of (region),
                 (uint8_t) ((1u << (bytes >> OURS_SHIFT)) - 1));
}

void
sli_map_clear (const void *region)
{
  STORE_RELEASE (window_of (region), 0);
}
