/* large.c - nodes too large for a slice, and the map of their addresses
 *
 * Layer: context.  A large node is a block of malloc; the system's realloc can
 * grow it without copying.  Memory outside the slabs may not be read before
 * it is known that a node is there.  So a map has the addresses of large nodes
 * and of gc slabs: a byte for each KiB of address space, in three levels that
 * are allocated when first needed and never freed.  A large node is longer
 * than a KiB, so no two begin in one.
 *
 *   address:  | 63 .. 35 | 34 .. 22 | 21 .. 10 | 9 .. 4 |
 *               root 8192  mid 8192   leaf 4096   step + 1 (1 to 64)
 *
 * The root is a table for 48 bits; mids of higher addresses are found by a
 * hash, in chains.
 *
 * No locks: levels are linked by compare-and-swap, and only the owner of the
 * memory at a KiB writes its byte.  So there is nothing to do at fork.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <stdlib.h>

#include "node.h"
#include "base/trace.h"
#include "port/os.h"

enum
{
  GRANULE_SHIFT = 10, /* 1 KiB: smaller than any large node */
  LEAF_SHIFT = 12,    /* a leaf: 4096 bytes for 4 MiB */
  MID_SHIFT = 13,     /* a mid: 8192 leaves, 32 GiB */
  STEP_SHIFT = 4      /* payloads are 16-aligned */
};

enum
{
  MID_BITS = GRANULE_SHIFT + LEAF_SHIFT + MID_SHIFT, /* more than all 32 */
  ROOT_BITS = ADDRESS_BITS_USUAL > MID_BITS ? ADDRESS_BITS_USUAL : MID_BITS,
  ROOT_ENTRIES = 1 << (ROOT_BITS - MID_BITS),
  FAR_SHIFT = 6,
  MID_ENTRIES = 1 << MID_SHIFT,
  LEAF_ENTRIES = 1 << LEAF_SHIFT
};

typedef struct Mid
{
  struct Mid *next; /* in a chain of far ones, for good */
  uint64_t number;  /* of a far one: address / 32 GiB */
  uint8_t *leaves[MID_ENTRIES];
} Mid;

static Mid *root[ROOT_ENTRIES];
static Mid *far[1 << FAR_SHIFT]; /* by a hash of the number */

/* For large_resize(), which cannot undo: see sli_large_map_spare(). */
static Mid *spare_mid;
static uint8_t *spare_leaf;

/* --- memory -------------------------------------------------------------- */

CONTEXT_TEXT void *
sli_large_alloc (size_t bytes, bool zero)
{
  void *block;

  TRACE_INTERNAL (block = sli_os_malloc (bytes, zero));
  if (UNLIKELY (block == NULL) && slice_trim (0) > 0)
    TRACE_INTERNAL (block = sli_os_malloc (bytes, zero));
  return block;
}

CONTEXT_TEXT void *
sli_large_realloc (void *block, size_t old_bytes, size_t bytes)
{
  void *moved;

  TRACE_INTERNAL (moved = sli_os_realloc (block, old_bytes, bytes));
  if (UNLIKELY (moved == NULL) && slice_trim (0) > 0)
    TRACE_INTERNAL (moved = sli_os_realloc (block, old_bytes, bytes));
  return moved;
}

CONTEXT_TEXT void
sli_large_free (void *block)
{
  TRACE_INTERNAL (free (block));
}

/* --- the map ------------------------------------------------------------- */

/* Zeroed memory, the spare if there is no other; NULL: no memory. */
CONTEXT_TEXT static void *
level_new (void *spare, size_t bytes)
{
  void *level;

  TRACE_INTERNAL (level = calloc (1, bytes));
  if (level == NULL && spare != NULL)
    level = __atomic_exchange_n ((void **) spare, NULL, __ATOMIC_ACQ_REL);
  return level;
}

/* Sets *place to zeroed memory unless another thread was faster. */
static bool
level_fill (void *place, void *spare, size_t bytes)
{
  void *nothing = NULL;
  void *level = level_new (spare, bytes);

  if (level == NULL)
    return false;
  if (!__atomic_compare_exchange_n ((void **) place, &nothing, level, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    TRACE_INTERNAL (free (level));
  return true;
}

CONTEXT_TEXT static Mid *
chain_find (Mid *mid, uint64_t number)
{
  while (mid != NULL && mid->number != number)
    mid = mid->next;
  return mid;
}

/* The mid of an address beyond the root; NULL: there is none. */
CONTEXT_TEXT static NOINLINE Mid *
far_mid (uint64_t number, bool make)
{
  /* Knuth, volume 3, section 6.4, "Fibonacci hashing". */
  Mid **chain = &far[number * UINT64_C (0x9e3779b97f4a7c15)
                     >> (64 - FAR_SHIFT)];
  Mid *first = LOAD_ACQUIRE (chain);
  Mid *found = chain_find (first, number), *made;

  if (found != NULL || !make
      || (made = level_new (&spare_mid, sizeof *made)) == NULL)
    return found;
  made->number = number;
  do
    {
      made->next = first;
      if (__atomic_compare_exchange_n (chain, &first, made, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
      found = chain_find (first, number);
    }
  while (found == NULL);
  TRACE_INTERNAL (free (made));
  return found;
}

CONTEXT_TEXT static inline Mid *
near_mid (uint64_t number, bool make)
{
  Mid *mid = LOAD_ACQUIRE (&root[number]);

  if (mid == NULL && make
      && level_fill (&root[number], &spare_mid, sizeof (Mid)))
    mid = LOAD_ACQUIRE (&root[number]);
  return mid;
}

CONTEXT_TEXT static uint8_t *
map_leaf (uintptr_t address, bool make)
{
  uintptr_t index = address >> (GRANULE_SHIFT + LEAF_SHIFT);
  uint64_t number = index >> MID_SHIFT;
  Mid *mid = LIKELY (number < ROOT_ENTRIES) ? near_mid (number, make)
                                            : far_mid (number, make);
  uint8_t *leaf;

  if (mid == NULL)
    return NULL;
  index &= MID_ENTRIES - 1;
  leaf = LOAD_ACQUIRE (&mid->leaves[index]);
  if (leaf == NULL && make
      && level_fill (&mid->leaves[index], &spare_leaf, LEAF_ENTRIES))
    leaf = LOAD_ACQUIRE (&mid->leaves[index]);
  return leaf;
}

CONTEXT_TEXT bool
sli_large_map_spare (void)
{
  if (LOAD_ACQUIRE (&spare_mid) == NULL)
    level_fill (&spare_mid, NULL, sizeof (Mid));
  if (LOAD_ACQUIRE (&spare_leaf) == NULL)
    level_fill (&spare_leaf, NULL, LEAF_ENTRIES);
  if (LOAD_ACQUIRE (&spare_mid) != NULL
      && LOAD_ACQUIRE (&spare_leaf) != NULL)
    return true;
  errno = ENOMEM;
  return false;
}

static uint8_t
map_byte (uintptr_t address, MapEntry entry)
{
  unsigned step = (address >> STEP_SHIFT)
                  & ((1u << (GRANULE_SHIFT - STEP_SHIFT)) - 1);

  return (uint8_t) (entry == MAP_NODE ? entry + step : entry);
}

static size_t
map_index (uintptr_t address)
{
  return (address >> GRANULE_SHIFT) & (LEAF_ENTRIES - 1);
}

CONTEXT_TEXT bool
sli_large_map_add (const void *address, MapEntry entry)
{
  uintptr_t at = (uintptr_t) address;
  uint8_t *leaf = map_leaf (at, true);

  if (leaf == NULL)
    {
      errno = ENOMEM;
      return false;
    }
  STORE (&leaf[map_index (at)], map_byte (at, entry));
  return true;
}

CONTEXT_TEXT void
sli_large_map_remove (const void *address)
{
  uintptr_t at = (uintptr_t) address;
  uint8_t *leaf = map_leaf (at, false);

  if (leaf != NULL)
    STORE (&leaf[map_index (at)], (uint8_t) MAP_NOTHING);
}

CONTEXT_TEXT bool
sli_large_map_has (const void *address, MapEntry entry)
{
  uintptr_t at = (uintptr_t) address;
  const uint8_t *leaf = map_leaf (at, false);

  return leaf != NULL
         && (at & ((1u << STEP_SHIFT) - 1)) == 0
         && LOAD (&leaf[map_index (at)]) == map_byte (at, entry);
}
