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

  /* The map has at most this many pages for each page of the pool, since the
   * blocks may be far apart. */
  SPARSE_MAX = 4,

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

void
sli_pool_map_fini (SlicePool *pool)
{
  PoolMap *map = &pool->map;

  if (map->tracks != NULL)
    sli_chain_table_free (&pool->chain, map->capacity * sizeof (Track *),
                          map->tracks);
  *map = (PoolMap) { .tracks = NULL };
}

/* Grows the map to the number of pages; false: there is no memory. */
static bool
map_reserve (SlicePool *pool)
{
  PoolMap *map = &pool->map;
  size_t n;

  if (map->n_pages <= map->capacity)
    return map->tracks != NULL;
  n = map->n_pages + map->n_pages / 2;
  if (map->tracks != NULL)
    sli_chain_table_free (&pool->chain, map->capacity * sizeof (Track *),
                          map->tracks);
  map->tracks = sli_chain_table_alloc (&pool->chain, 0, n * sizeof (Track *));
  map->capacity = map->tracks != NULL ? n : 0;
  return map->tracks != NULL;
}

static void
map_fill (SlicePool *pool)
{
  PoolMap *map = &pool->map;
  Track *track = pool->tracks;
  const Track *last = track + pool->n_tracks - 1;

  for (size_t i = 0; i < map->n_pages; i++)
    {
      uintptr_t page = map->low + i * POOL_PAGE_BYTES;

      while (track < last && (uintptr_t) track[1].start <= page)
        track++;
      map->tracks[i] = track;
    }
}

/* Sets the range of the map: from the first to the last block of pages.  The
 * few blocks that are slices are elsewhere. */
static void
map_set_range (SlicePool *pool)
{
  uintptr_t low = UINTPTR_MAX;
  uintptr_t end = 0;

  for (uint32_t i = 0; i < pool->n_tracks; i++)
    {
      const Track *track = &pool->tracks[i];
      size_t bytes = track->n_chunks * pool->chunk_bytes;

      if (sli_chain_uses_slice (&pool->chain, bytes))
        continue;
      if (low == UINTPTR_MAX)
        low = (uintptr_t) align_down_address (track->start, POOL_PAGE_BYTES);
      end = (uintptr_t) track->start + bytes;
    }
  pool->map.low = low;
  pool->map.n_pages
      = end != 0 ? align_up (end - low, POOL_PAGE_BYTES) / POOL_PAGE_BYTES : 0;
}

/* Makes the map if it is worth it now; else false. */
static bool
map_make (SlicePool *pool)
{
  PoolMap *map = &pool->map;
  size_t n_held = pool->chain.held_bytes / POOL_PAGE_BYTES;

  if (++map->n_missed < n_held / PAGES_A_SEARCH)
    return false;
  map->n_missed = 0;
  map_set_range (pool);
  if (map->n_pages / SPARSE_MAX > n_held || !map_reserve (pool))
    {
      map->n_pages = 0;
      return false;
    }
  map->is_old = false;
  map_fill (pool);
  return true;
}

Track *
sli_pool_map_find_slow (SlicePool *pool, const void *address)
{
  PoolMap *map = &pool->map;

  if (pool->n_tracks == 0)
    return NULL;
  if (map->is_old && map_make (pool))
    return sli_pool_map_find (pool, address);
  return sli_pool_track_of (pool, address);
}

/* --- the table of tracks -------------------------------------------------- */

/* Moves the tracks to a table for n. */
static void
tracks_move (SlicePool *pool, Track *tracks, uint32_t n)
{
  if (pool->tracks != NULL)
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
sli_pool_tracks_trim (SlicePool *pool)
{
  uint32_t n = pool->n_tracks > N_TRACKS_MIN ? pool->n_tracks : N_TRACKS_MIN;
  Track *tracks = n < pool->tracks_capacity
                      ? slice_try_alloc (n * sizeof (Track))
                      : NULL;

  sli_pool_map_fini (pool);
  if (tracks == NULL)
    return;
  pool->chain.beside_bytes -= (pool->tracks_capacity - n) * sizeof (Track);
  tracks_move (pool, tracks, n);
}
