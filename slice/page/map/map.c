/* map.c - the address map: which regions exist, and where large nodes begin
 *
 * Layer: page.  Locks: none of its own (map.h).
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "map.h"
#include "base/check.h"
#include "port/os/os.h"

#include <errno.h>

SPARSE_DATA MapLeaf *sli_map_leaves[MAP_LEAVES];
MapLeaf *sli_map_far[MAP_FAR_CHAINS];

SLICE_STATIC_ASSERT (WINDOW_SHIFT - OURS_SHIFT == 3,
                     "a window's bits are a byte");

/* --- leaves -------------------------------------------------------------- */

/* Neighbours get different chains (Knuth, volume 3, section 6.4, "Fibonacci
 * hashing"). */
COMMON_TEXT static MapLeaf **
far_chain (uint64_t number)
{
  return &sli_map_far[number * UINT64_C (0x9e3779b97f4a7c15)
                      >> (64 - MAP_FAR_BITS)];
}

COMMON_TEXT static MapLeaf *
chain_find (MapLeaf *leaf, uint64_t number)
{
  while (leaf != NULL && leaf->number != number)
    leaf = leaf->next;
  return leaf;
}

NOINLINE MapLeaf *
sli_map_far_leaf (uint64_t number)
{
  return chain_find (LOAD_ACQUIRE (far_chain (number)), number);
}

COMMON_TEXT bool
sli_map_add_leaf (const void *address, MapLeaf *leaf)
{
  uint64_t number = (uint64_t) (uintptr_t) address >> MAP_LEAF_BITS;
  MapLeaf **chain = number < MAP_LEAVES ? &sli_map_leaves[number]
                                        : far_chain (number);
  MapLeaf *first = LOAD_ACQUIRE (chain);

  leaf->number = number;
  do
    {
      if (chain_find (first, number) != NULL)
        return false;
      leaf->next = first;
    }
  while (!__atomic_compare_exchange_n (chain, &first, leaf, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  assert_here (map_leaf (address) == leaf);
  return true;
}

/* --- regions ------------------------------------------------------------- */

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

/* --- notes --------------------------------------------------------------- */

/* For sli_map_note_reserve(). */
static struct
{
  MapLeaf *leaf;
  NoteTable *table;
  uint8_t *bytes;
} spare;

/* Allocates zeroed memory from the kernel, or uses the spare; NULL: no
 * memory. */
CONTEXT_TEXT static void *
level_new (void *spare_place, size_t bytes)
{
  int error = errno;
  void *level = sli_os_map (bytes, sli_os_page_bytes ());

  errno = error; /* as in extent_map() */
  if (level == NULL && spare_place != NULL)
    level = __atomic_exchange_n ((void **) spare_place, NULL,
                                 __ATOMIC_ACQ_REL);
  return level;
}

/* Returns the level that *place points to.  If there is none and `make' is
 * true, adds one, unless another thread is faster. */
CONTEXT_TEXT static void *
level_get (void *place, void *spare_place, size_t bytes, bool make)
{
  void *level = LOAD_ACQUIRE ((void **) place), *made;

  if (level != NULL || !make)
    return level;
  made = level_new (spare_place, bytes);
  if (made == NULL
      || __atomic_compare_exchange_n ((void **) place, &level, made, false,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return made;
  sli_os_unmap (made, bytes);
  return level;
}

CONTEXT_TEXT static MapLeaf *
leaf_get (const void *address, bool make)
{
  MapLeaf *leaf = map_leaf (address), *made;

  if (leaf != NULL || !make
      || (made = level_new (&spare.leaf, sizeof *made)) == NULL)
    return leaf;
  if (!sli_map_add_leaf (address, made))
    sli_os_unmap (made, sizeof *made);
  return map_leaf (address);
}

/* As note_of(), for any address; makes what is missing, if it may. */
CONTEXT_TEXT static NOINLINE uint8_t *
note_of_any (const void *address, bool make)
{
  uint64_t at = (uint64_t) (uintptr_t) address >> NOTE_SHIFT;
  MapLeaf *leaf = leaf_get (address, make);
  NoteTable *table = NULL;
  uint8_t *bytes = NULL;

  if (leaf != NULL)
    table = level_get (&leaf->notes, &spare.table, sizeof *table, make);
  if (table != NULL)
    bytes = level_get (&table->bytes[(at >> NOTE_BYTES_SHIFT)
                                     & (NOTE_TABLE_ENTRIES - 1)],
                       &spare.bytes, NOTE_BYTES, make);
  return bytes != NULL ? &bytes[at & (NOTE_BYTES - 1)] : NULL;
}

/* The place of the note on an address.  NULL: it has no table, or there is no
 * memory for one. */
static inline uint8_t *
note_of (const void *address, bool make)
{
  uint8_t *byte = map_note_near (address);

  return LIKELY (byte != NULL) ? byte : note_of_any (address, make);
}

static uint8_t
note_byte (const void *address, Note note)
{
  unsigned step = ((uintptr_t) address >> NOTE_STEP_SHIFT)
                  & ((1u << (NOTE_SHIFT - NOTE_STEP_SHIFT)) - 1);

  return (uint8_t) (note == NOTE_NODE ? note + step : note);
}

CONTEXT_TEXT bool
sli_map_note_reserve (void)
{
  return level_get (&spare.leaf, NULL, sizeof (MapLeaf), true) != NULL
         && level_get (&spare.table, NULL, sizeof (NoteTable), true) != NULL
         && level_get (&spare.bytes, NULL, NOTE_BYTES, true) != NULL;
}

CONTEXT_TEXT bool
sli_map_note (const void *address, Note note)
{
  uint8_t *byte = note_of (address, true);

  if (byte != NULL)
    STORE (byte, note_byte (address, note));
  return byte != NULL;
}

CONTEXT_TEXT void
sli_map_forget (const void *address)
{
  uint8_t *byte = note_of (address, false);

  if (byte != NULL)
    STORE (byte, (uint8_t) NOTE_NOTHING);
}

CONTEXT_TEXT bool
sli_map_is_noted (const void *address, Note note)
{
  const uint8_t *byte = note_of (address, false);

  return byte != NULL
         && ((uintptr_t) address & ((1u << NOTE_STEP_SHIFT) - 1)) == 0
         && LOAD (byte) == note_byte (address, note);
}
