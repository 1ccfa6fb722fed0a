/* map.c - the address map: which regions exist, and where large nodes begin
 *
 * Layer: page.  Locks: none of its own (map.h).
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "map.h"
#include "base/align.h"
#include "base/check.h"
#include "port/os/os.h"
#include "port/thread/shard.h"

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

/* Memory of each kind of level, in one piece.  NULL in a shard: in use, or
 * there is none yet. */
static void *spare[SHARDS];

/* Mapped alone, so that a part that is not used can be unmapped. */
CONTEXT_TEXT static size_t
level_span (size_t bytes)
{
  return align_up (bytes, sli_os_page_bytes ());
}

CONTEXT_TEXT static size_t
spare_span (void)
{
  return level_span (sizeof (MapLeaf)) + level_span (sizeof (NoteTable))
         + level_span (NOTE_BYTES);
}

/* Returns zeroed memory from the kernel; NULL: none. */
CONTEXT_TEXT static void *
memory_new (size_t span)
{
  int error = errno;
  void *memory = sli_os_map (span, sli_os_page_bytes ());

  errno = error; /* as in extent_map() */
  return memory;
}

/* Takes a level from a reserve's place, or from the kernel if `reserved' is
 * NULL. */
CONTEXT_TEXT static void *
level_new (void *reserved, size_t bytes)
{
  void *level;

  if (reserved == NULL)
    return memory_new (level_span (bytes));
  level = *(void **) reserved;
  *(void **) reserved = NULL;
  return level;
}

/* Returns the level that *place points to.  If there is none and `make' is
 * true, adds one, unless another thread is faster. */
CONTEXT_TEXT static void *
level_get (void *place, void *reserved, size_t bytes, bool make)
{
  void *level = LOAD_ACQUIRE ((void **) place), *made;

  if (level != NULL || !make)
    return level;
  made = level_new (reserved, bytes);
  if (made == NULL
      || __atomic_compare_exchange_n ((void **) place, &level, made, false,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return made;
  sli_os_unmap (made, level_span (bytes));
  return level;
}

CONTEXT_TEXT static MapLeaf *
leaf_get (const void *address, void *reserved, bool make)
{
  MapLeaf *leaf = map_leaf (address), *made;

  if (leaf != NULL || !make
      || (made = level_new (reserved, sizeof *made)) == NULL)
    return leaf;
  if (!sli_map_add_leaf (address, made))
    sli_os_unmap (made, level_span (sizeof *made));
  return map_leaf (address);
}

/* As note_of(), for any address; makes what is missing, if it may: of the
 * reserve if there is one. */
CONTEXT_TEXT static NOINLINE uint8_t *
note_of_any (const void *address, MapReserve *reserve, bool make)
{
  uint64_t at = (uint64_t) (uintptr_t) address >> NOTE_SHIFT;
  bool has = reserve != NULL;
  MapLeaf *leaf = leaf_get (address, has ? &reserve->leaf : NULL, make);
  NoteTable *table = NULL;
  uint8_t *bytes = NULL;

  if (leaf != NULL)
    table = level_get (&leaf->notes, has ? &reserve->table : NULL,
                       sizeof *table, make);
  if (table != NULL)
    bytes = level_get (&table->bytes[(at >> NOTE_BYTES_SHIFT)
                                     & (NOTE_TABLE_ENTRIES - 1)],
                       has ? &reserve->bytes : NULL, NOTE_BYTES, make);
  return bytes != NULL ? &bytes[at & (NOTE_BYTES - 1)] : NULL;
}

/* The place of the note on an address.  NULL: it has no table, or there is no
 * memory for one. */
static inline uint8_t *
note_of (const void *address, bool make)
{
  uint8_t *byte = map_note_near (address);

  return LIKELY (byte != NULL) ? byte : note_of_any (address, NULL, make);
}

static uint8_t
note_byte (const void *address, Note note)
{
  unsigned step = ((uintptr_t) address >> NOTE_STEP_SHIFT)
                  & ((1u << (NOTE_SHIFT - NOTE_STEP_SHIFT)) - 1);

  return (uint8_t) (note == NOTE_NODE ? note + step : note);
}

CONTEXT_TEXT bool
sli_map_note (const void *address, Note note)
{
  uint8_t *byte = note_of (address, true);

  if (byte != NULL)
    STORE (byte, note_byte (address, note));
  return byte != NULL;
}

CONTEXT_TEXT bool
sli_map_reserve (MapReserve *reserve)
{
  char *memory = __atomic_exchange_n (&spare[sli_shard ()], NULL,
                                      __ATOMIC_ACQUIRE);

  if (memory == NULL && (memory = memory_new (spare_span ())) == NULL)
    return false;
  reserve->leaf = memory;
  memory += level_span (sizeof (MapLeaf));
  reserve->table = memory;
  memory += level_span (sizeof (NoteTable));
  reserve->bytes = memory;
  return true;
}

/* Unmaps what is left of a reserve that was used. */
COLD static void
reserve_end (MapReserve *reserve)
{
  if (reserve->leaf != NULL)
    sli_os_unmap (reserve->leaf, level_span (sizeof (MapLeaf)));
  if (reserve->table != NULL)
    sli_os_unmap (reserve->table, level_span (sizeof (NoteTable)));
  if (reserve->bytes != NULL)
    sli_os_unmap (reserve->bytes, level_span (NOTE_BYTES));
}

CONTEXT_TEXT void
sli_map_note_reserved (const void *address, Note note, MapReserve *reserve)
{
  uint8_t *byte = map_note_near (address);
  void *none = NULL;

  if (UNLIKELY (byte == NULL))
    byte = note_of_any (address, reserve, true);
  require (byte != NULL);
  STORE (byte, note_byte (address, note));
  if (UNLIKELY (reserve->leaf == NULL || reserve->table == NULL
                || reserve->bytes == NULL))
    reserve_end (reserve);
  else if (!__atomic_compare_exchange_n (&spare[sli_shard ()], &none,
                                         reserve->leaf, false,
                                         __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    sli_os_unmap (reserve->leaf, spare_span ());
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
