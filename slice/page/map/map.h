/* map.h - the address map: which regions exist, and where large nodes begin
 *
 * Layer: page.  The map has a byte for each window of 2 MiB of the address
 * space, and in it a bit for each 256 KiB, the least size of a region.  Bits
 * are set before a region is used and cleared before it is unmapped.  So the
 * map tells whether an address is ours without reading memory there.
 *
 *   address:  | 63 .. 48 | 47 .. 33 | 32 .. 21 | 20 .. 18 |
 *                 far       leaf       window      bit
 *
 * Outside the regions the map has notes: for each KiB a byte that says what
 * begins there.  Contexts note their large nodes, which are blocks of malloc.
 * They are longer than a KiB, so no two begin in the same one.
 *
 *   address:  | 63 .. 48 | 47 .. 33 | 32 .. 22 | 21 .. 10 | 9 .. 4 |
 *                 far       leaf       table      byte      step
 *
 * A table finds the leaves of the usual user addresses, a hash table those of
 * addresses beyond (5-level paging, arm64 with 52 bits, s390x, ...).
 * Locks: a thread that sets a region's bits holds the page lock; only the
 * owner of the memory at a KiB writes its note.  Levels are linked by
 * compare-and-swap and never freed, so readers take no lock and a fork needs
 * no work.
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_MAP_MAP_H
#define SLI_PAGE_MAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/compiler.h"

enum
{
  WINDOW_SHIFT = 21,          /* 2 MiB: a region is one window */
  OURS_SHIFT = 18,            /* 256 KiB: SLICE_OURS_BYTES */
  MAP_LEAF_SHIFT = 12,        /* windows of a leaf: 8 GiB in 4 KiB */
  MAP_LEAF_WINDOWS = 1 << MAP_LEAF_SHIFT,
  NOTE_SHIFT = 10,            /* 1 KiB: smaller than a noted block */
  NOTE_STEP_SHIFT = 4,        /* it begins at a multiple of 16 */
  NOTE_BYTES_SHIFT = 12,      /* notes of 4 MiB in 4 KiB */
  NOTE_BYTES = 1 << NOTE_BYTES_SHIFT
};

enum
{
  MAP_LEAF_BITS = WINDOW_SHIFT + MAP_LEAF_SHIFT, /* more than all 32 */
  MAP_TABLE_BITS = ADDRESS_BITS_USUAL > MAP_LEAF_BITS ? ADDRESS_BITS_USUAL
                                                      : MAP_LEAF_BITS,
  MAP_LEAVES = 1 << (MAP_TABLE_BITS - MAP_LEAF_BITS),
  MAP_FAR_BITS = 8,
  MAP_FAR_CHAINS = 1 << MAP_FAR_BITS,
  NOTE_TABLE_ENTRIES = 1 << (MAP_LEAF_BITS - NOTE_SHIFT - NOTE_BYTES_SHIFT)
};

typedef struct
{
  uint8_t *bytes[NOTE_TABLE_ENTRIES]; /* NULL: nothing was ever noted */
} NoteTable;

typedef struct MapLeaf
{
  struct MapLeaf *next; /* far leaves: in their chain; never removed */
  uint64_t number;      /* address / 8 GiB */
  NoteTable *notes;     /* NULL: nothing was ever noted */
  uint8_t windows[MAP_LEAF_WINDOWS];
} MapLeaf;

/* Indexed by address / 8 GiB; NULL where there was never a region. */
extern MapLeaf *sli_map_leaves[MAP_LEAVES]
    __attribute__ ((visibility ("hidden")));
/* Indexed by a hash of the leaf's number. */
extern MapLeaf *sli_map_far[MAP_FAR_CHAINS];

/* The leaf of an address beyond the table; NULL if there is none. */
MapLeaf *sli_map_far_leaf (uint64_t number);

/* The leaf of any address; NULL if there is none. */
static inline MapLeaf *
map_leaf (const void *address)
{
  uint64_t number = (uint64_t) (uintptr_t) address >> MAP_LEAF_BITS;

  if (UNLIKELY (number >= MAP_LEAVES))
    return sli_map_far_leaf (number);
  return LOAD_ACQUIRE (&sli_map_leaves[number]);
}

static inline bool
map_leaf_has (const MapLeaf *leaf, const void *address)
{
  uint64_t at = (uint64_t) (uintptr_t) address;

  if (leaf == NULL)
    return false;
  return LOAD_ACQUIRE (&leaf->windows[(at >> WINDOW_SHIFT)
                                      & (MAP_LEAF_WINDOWS - 1)])
             >> ((at >> OURS_SHIFT) & 7)
         & 1;
}

/* Returns true if an address is in one of our regions, used or not. */
static inline bool
sli_map_has (const void *address)
{
  return map_leaf_has (map_leaf (address), address);
}

/* The same without a call, but false for addresses beyond the table. */
static inline bool
sli_map_has_near (const void *address)
{
  uint64_t number = (uint64_t) (uintptr_t) address >> MAP_LEAF_BITS;

  return LIKELY (number < MAP_LEAVES)
         && map_leaf_has (LOAD_ACQUIRE (&sli_map_leaves[number]), address);
}

/* Adds the leaf of an address, zeroed memory that is never freed.  False if
 * the address has one already. */
bool sli_map_add_leaf (const void *address, MapLeaf *leaf);
/* Sets the bits of a region of `bytes', a multiple of 256 KiB. */
void sli_map_set (const void *region, size_t bytes);
void sli_map_clear (const void *region);

/* What begins at an address. */
typedef enum
{
  NOTE_NOTHING = 0,
  NOTE_NODE = 1,     /* plus the 16-byte step within the KiB */
  NOTE_GC_SLAB = 128 /* at the KiB's start */
} Note;

/* Writes the note on an address; false: no memory. */
bool sli_map_note (const void *address, Note note);
void sli_map_forget (const void *address);
bool sli_map_is_noted (const void *address, Note note);

/* The place of the note on an address, without a call; NULL for an address
 * beyond the table, or if nothing was ever noted near it. */
static inline uint8_t *
map_note_near (const void *address)
{
  uint64_t at = (uint64_t) (uintptr_t) address >> NOTE_SHIFT;
  uint64_t number = (uint64_t) (uintptr_t) address >> MAP_LEAF_BITS;
  const MapLeaf *leaf;
  NoteTable *notes;
  uint8_t *bytes;

  if (UNLIKELY (number >= MAP_LEAVES)
      || UNLIKELY ((leaf = LOAD_ACQUIRE (&sli_map_leaves[number])) == NULL)
      || UNLIKELY ((notes = LOAD_ACQUIRE (&leaf->notes)) == NULL))
    return NULL;
  bytes = LOAD_ACQUIRE (&notes->bytes[(at >> NOTE_BYTES_SHIFT)
                                      & (NOTE_TABLE_ENTRIES - 1)]);
  return LIKELY (bytes != NULL) ? &bytes[at & (NOTE_BYTES - 1)] : NULL;
}

/* As sli_map_is_noted() without a call, for an address that is a multiple of a
 * KiB; false for addresses beyond the table. */
static inline bool
sli_map_is_noted_near (const void *address, Note note)
{
  const uint8_t *byte = map_note_near (address);

  return LIKELY (byte != NULL) && LOAD (byte) == (uint8_t) note;
}

/* Memory for one note, whose place is not known yet.  It is this thread's until
 * the note is written. */
typedef struct
{
  void *leaf, *table, *bytes; /* NULL: used */
} MapReserve;

/* False: no memory. */
bool sli_map_reserve (MapReserve *reserve);
/* Writes a note, which can't fail, and gives the reserve back. */
void sli_map_note_reserved (const void *address, Note note,
                            MapReserve *reserve);

#endif
