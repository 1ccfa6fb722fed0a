/* map.c - is this address ours?
 *
 * Floor 2 (page).  Locks: the callers hold the page lock (rank 20).
 * Theory: section 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "map.h"

uint64_t *sli_map_leaves[MAP_LEAVES];

static uint64_t
window_of (const void *address)
{
  return (uint64_t) (uintptr_t) address >> WINDOW_SHIFT;
}

COMMON_TEXT bool
sli_map_can_hold (const void *address)
{
  return window_of (address) >> MAP_LEAF_SHIFT < MAP_LEAVES;
}

COMMON_TEXT bool
sli_map_needs_leaf (const void *address)
{
  return sli_map_leaves[window_of (address) >> MAP_LEAF_SHIFT] == 0;
}

COMMON_TEXT void
sli_map_give_leaf (const void *address, void *leaf)
{
  STORE_RELEASE (&sli_map_leaves[window_of (address) >> MAP_LEAF_SHIFT],
                 (uint64_t *) leaf);
}

static uint64_t *
word_of (const void *region, uint64_t *bit)
{
  uint64_t window = window_of (region);
  uint64_t *leaf = sli_map_leaves[window >> MAP_LEAF_SHIFT];

  window &= (1u << MAP_LEAF_SHIFT) - 1;
  *bit = (uint64_t) 1 << (window % 64);
  return &leaf[window / 64];
}

COMMON_TEXT void
sli_map_set (const void *region)
{
  uint64_t bit, *word = word_of (region, &bit);

  STORE_RELEASE (word, *word | bit);
}

void
sli_map_clear (const void *region)
{
  uint64_t bit, *word = word_of (region, &bit);

  STORE_RELEASE (word, *word & ~bit);
}
