/* map.h - is this address ours?
 *
 * Floor 2 (page).  One bit for each 2 MiB window of the address space, in two
 * levels; set before a region is used and cleared before it is given back, so
 * an address can be asked about without touching what it points to.
 * Locks: writers hold the page lock; readers take none.
 * Theory: section 3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CORE_MAP_H
#define SLI_CORE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "port/compiler.h"

enum
{
  WINDOW_SHIFT = 21,          /* 2 MiB: a region is one window */
  MAP_LEAF_SHIFT = 14,        /* windows of a leaf: 32 GiB in 2 KiB */
  MAP_LEAF_WORDS = (1 << MAP_LEAF_SHIFT) / 64
};

#if UINTPTR_MAX > UINT32_MAX
enum
{
  MAP_ADDRESS_BITS = 47 /* what user space gets unasked on 64 bits */
};
#else
enum
{
  MAP_ADDRESS_BITS = 35 /* one leaf, which covers more than all 32 bits */
};
#endif

enum
{
  MAP_LEAVES = 1 << (MAP_ADDRESS_BITS - WINDOW_SHIFT - MAP_LEAF_SHIFT)
};

/* By address / 32 GiB; NULL where nothing of ours ever was. */
extern uint64_t *sli_map_leaves[MAP_LEAVES];

/* Does a region of ours begin at the address's 2 MiB window? */
static inline bool
sli_map_has (const void *address)
{
  uint64_t window = (uint64_t) (uintptr_t) address >> WINDOW_SHIFT;
  uint64_t leaf_index = window >> MAP_LEAF_SHIFT;
  const uint64_t *leaf;

  if (UNLIKELY (leaf_index >= MAP_LEAVES))
    return false;
  leaf = LOAD_ACQUIRE (&sli_map_leaves[leaf_index]);
  if (leaf == 0)
    return false;
  window &= (1u << MAP_LEAF_SHIFT) - 1;
  return (LOAD_ACQUIRE (&leaf[window / 64]) >> (window % 64)) & 1;
}

/* Makes sure that the leaf for an address exists; leaf is 2 KiB of zeroed
 * memory, used (true returned) only if there is none yet. */
bool sli_map_needs_leaf (const void *address);
void sli_map_give_leaf (const void *address, void *leaf);
/* May this address be ours at all? */
bool sli_map_can_hold (const void *address);
void sli_map_set (const void *region);
void sli_map_clear (const void *region);

#endif
