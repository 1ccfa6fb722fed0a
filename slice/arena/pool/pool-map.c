/* pool-map.c - finds the block of an address; the table of tracks
 *
 * Layer: arena.  A search through the blocks of a large pool takes a hundred
 * instructions.  If the program frees many addresses in random order, the pool
 * makes a map of its pages, which takes 8 bytes a page.
 *
 * Design: section 8.4.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "pool.h"

#include <string.h>
#include "port/compiler.h"

enum
{
  N_TRACKS_MIN = 4,

  /* The map has one or two slots for each page; up to SLOTS_MOST if more than
   * one page in LOST_PART would find its first slot taken. */
  SLOTS_MOST = 4,
  LOST_PART = 16,

  /* With fewer tracks a search takes no longer than a look at the second slot,
   * which the processor often guesses wrong. */
  MANY_TRACKS = 64,

  /* It is made after one search for each 16 pages, which takes as long as the
   * map: an entry takes 4 instructions, a search some 60. */
  PAGES_A_SEARCH = 16
};

void
sli_pool_index_init (SlicePool *pool)
{
  size_t chunk = pool->chunk_bytes;
  unsigned shift = (unsigned) __builtin_ctzl (chunk);
  size_t odd = chunk >> shift;
  size_t inverse = odd; /* correct in the low 3 bits; each step doubles that */

  for (int i = 0; i < 5; i++)
    inverse *= 2 - odd * inverse;
  pool->chunk_inverse = inverse;
  pool->chunk_shift = shift;
}

/* --- the map -------------------------------------------------------------- */

/* Where a map leads from an address that it does not have. */
static Track no_track;
static Track *const no_slots[1] = { &no_track };

/* Leads nowhere, but keeps its memory. */
static void
map_clear (PoolMap *map)
{
  map->slots = no_slots;
  map->mask = 0;
}

void
sli_pool_map_init (PoolMap *map)
{
  *map = (PoolMap) { .is_old = true };
  map_clear (map);
}

void
sli_pool_map_expire (SlicePool *pool)
{
  map_clear (&pool->map);
  pool->map.is_old = true;
}

void
sli_pool_map_fini (SlicePool *pool)
{
  PoolMap *map = &pool->map;

  if (map->memory != NULL)
    sli_chain_table_free (&pool->chain, map->bytes, map->memory);
  sli_pool_map_init (map);
}

/* Makes space for n slots, all of which lead nowhere; NULL: no memory. */
static Track **
map_reserve (SlicePool *pool, size_t n)
{
  PoolMap *map = &pool->map;
  size_t bytes = n * sizeof (Track *);
  Track **slots;

  if (bytes > map->bytes)
    {
      sli_pool_map_fini (pool);
      map->memory = sli_chain_table_alloc (&pool->chain, 0, bytes);
      map->bytes = map->memory != NULL ? bytes : 0;
    }
  slots = map->memory;
  for (size_t i = 0; slots != NULL && i < n; i++)
    slots[i] = &no_track;
  return slots;
}

/* The first page of a track, and the number of its pages. */
static size_t
track_pages (const SlicePool *pool, const Track *track, size_t *n)
{
  uintptr_t start = (uintptr_t) track->start;
  uintptr_t last = start + track->n_chunks * pool->chunk_bytes - 1;

  *n = last / POOL_PAGE_BYTES - start / POOL_PAGE_BYTES + 1;
  return start / POOL_PAGE_BYTES;
}

static size_t
count_pages (const SlicePool *pool)
{
  size_t n_pages = 0;
  size_t n;

  for (uint32_t i = 0; i < pool->n_tracks; i++)
    {
      track_pages (pool, &pool->tracks[i], &n);
      n_pages += n;
    }
  return n_pages;
}

/* The slot of a page whose first slot is taken, by Fibonacci hashing. */
static size_t
second_slot (size_t page, size_t mask)
{
  return (size_t) (page * UINT64_C (0x9e3779b97f4a7c15) >> 32) & mask;
}

/* Enters all pages that find their first slot empty, or then the others that
 * find their second slot empty.  Returns the number of those that do not. */
static size_t
map_enter (const SlicePool *pool, Track **slots, size_t mask, bool is_second)
{
  size_t n_lost = 0;
  size_t n, first;

  for (uint32_t i = 0; i < pool->n_tracks; i++)
    {
      Track *track = &pool->tracks[i];

      first = track_pages (pool, track, &n);
      for (size_t page = first; page < first + n; page++)
        {
          Track **slot = &slots[page & mask];

          if (is_second && *slot != track)
            slot = &slots[second_slot (page, mask)];
          if (*slot == &no_track)
            *slot = track;
          n_lost += *slot != track;
        }
    }
  return n_lost;
}

/* Makes the map if it is worth it now. */
static void
map_make (SlicePool *pool)
{
  PoolMap *map = &pool->map;
  size_t n_held = pool->chain.held_bytes / POOL_PAGE_BYTES;
  size_t n_pages, n_lost;
  size_t n = 1;
  Track **slots;

  if (++map->n_missed < n_held / PAGES_A_SEARCH)
    return;
  map->n_missed = 0;
  n_pages = count_pages (pool);
  while (n < n_pages)
    n *= 2;
  do
    {
      slots = map_reserve (pool, n);
      if (slots == NULL)
        return;
      n_lost = map_enter (pool, slots, n - 1, false);
      n *= 2;
    }
  while (n_lost > n_pages / LOST_PART && n <= SLOTS_MOST * n_pages);
  if (n_lost > 0)
    map_enter (pool, slots, n / 2 - 1, true);
  map->slots = slots;
  map->mask = n / 2 - 1;
  map->is_old = false;
}

Track *
sli_pool_map_search (SlicePool *pool, const void *address)
{
  PoolMap *map = &pool->map;

  if (pool->n_tracks >= MANY_TRACKS)
    {
      size_t page = (uintptr_t) address / POOL_PAGE_BYTES;
      Track *track = map->slots[second_slot (page, map->mask)];

      if (track != &no_track && sli_track_has (pool, track, address))
        return track;
    }
  if (map->is_old)
    map_make (pool);
  return sli_pool_track_of (pool, address);
}

/* Looks where many programs free next: in the block that was found last or the
 * one behind it.  NULL: the address is in neither. */
static Track *
track_near_last (const SlicePool *pool, const void *address)
{
  uint32_t last = pool->map.last_found;

  for (uint32_t i = last; i < pool->n_tracks && i <= last + 1; i++)
    if (sli_track_has (pool, &pool->tracks[i], address))
      return &pool->tracks[i];
  return NULL;
}

Track *
sli_pool_map_find (SlicePool *pool, const void *address)
{
  PoolMap *map = &pool->map;
  Track *track
      = sli_pool_map_lead (map->slots, map->mask, (uintptr_t) address);

  if (!sli_track_has (pool, track, address))
    track = track_near_last (pool, address);
  if (track == NULL)
    track = sli_pool_map_search (pool, address);
  if (track != NULL)
    map->last_found = (uint32_t) (track - pool->tracks);
  return track;
}

/* --- the table of tracks -------------------------------------------------- */

/* Moves the tracks to a table for n. */
static void
tracks_move (SlicePool *pool, Track *tracks, uint32_t n)
{
  if (pool->n_tracks > 0)
    memcpy (tracks, pool->tracks, pool->n_tracks * sizeof (Track));
  slice_free1 (pool->tracks_capacity * sizeof (Track), pool->tracks);
  pool->tracks = tracks;
  pool->tracks_capacity = n;
  sli_pool_map_expire (pool);
}

bool
sli_pool_tracks_reserve (SlicePool *pool, uint32_t n_tracks)
{
  uint32_t n;
  Track *tracks;

  if (n_tracks <= pool->tracks_capacity)
    return true;
  n = pool->tracks_capacity * 2;
  if (n < N_TRACKS_MIN)
    n = N_TRACKS_MIN;
  if (n < n_tracks)
    n = n_tracks;
  tracks = sli_chain_table_alloc (&pool->chain,
                                  pool->tracks_capacity * sizeof (Track),
                                  n * sizeof (Track));
  if (tracks == NULL)
    return false;
  tracks_move (pool, tracks, n);
  return true;
}

void
sli_pool_tracks_shrink (SlicePool *pool, uint32_t n)
{
  Track *tracks = NULL;

  assert_here (n >= pool->n_tracks);
  if (n >= pool->tracks_capacity)
    return;
  if (n > 0 && (tracks = slice_try_alloc (n * sizeof (Track))) == NULL)
    return;
  pool->chain.beside_bytes -= (pool->tracks_capacity - n) * sizeof (Track);
  tracks_move (pool, tracks, n);
}

void
sli_pool_tracks_trim (SlicePool *pool)
{
  sli_pool_map_fini (pool);
  sli_pool_tracks_shrink (pool, pool->n_tracks > N_TRACKS_MIN
                                    ? pool->n_tracks
                                    : N_TRACKS_MIN);
}
