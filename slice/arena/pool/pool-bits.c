/* pool-bits.c - the bits of a pool's free objects
 *
 * Layer: arena.  When a pool's stack of addresses is large, its older half
 * moves here: each block has a track with one bit for each chunk, which is set
 * if the chunk is free and its address is not on the stack.
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
  /* The least number of addresses that come back from the bits, if there are
   * as many. */
  REFILL_MIN = 64,

  /* How many addresses in random order move between two looks for a row. */
  LOOK_STEP = 32,

  /* The part of all blocks that may be empty until these are retired. */
  EMPTY_PART = 8
};

/* Makes tracks for all blocks in use, if there are none. */
bool
sli_pool_bits_make (SlicePool *pool)
{
  const BlockChain *chain = &pool->chain;
  bool has_space;

  if (pool->has_tracks)
    return true;
  pool->has_tracks = true;
  sli_pool_index_init (pool);
  /* Blocks that were reserved get their tracks without a request. */
  has_space = !pool->keeps_blocks
              || sli_pool_tracks_reserve (pool, chain->n_blocks + 1);
  for (int32_t i = BLOCK_EMBEDDED; has_space && i < (int32_t) chain->n_used;
       i++)
    has_space = sli_pool_track_block (pool, sli_chain_block (chain, i));
  if (!has_space)
    {
      sli_pool_track_fini (pool);
      pool->has_tracks = false;
    }
  return has_space;
}

/* The track of a block in use; most blocks follow each other in the table of
 * blocks as their tracks do.  last: the track found before, or NULL. */
static Track *
track_of_block (const SlicePool *pool, const Block *block, Track *last)
{
  Track *next = last != NULL ? last + 1 : pool->tracks;

  if (next < pool->tracks + pool->n_tracks
      && (uintptr_t) next->start - (uintptr_t) block->start
             < sli_block_bytes (block))
    return next;
  return sli_pool_track_of (pool, sli_align (block->start,
                                             pool->options.alignment));
}

void
sli_pool_bits_cut_rest (SlicePool *pool)
{
  size_t n_left = (size_t) (pool->cut_end - pool->cut_at) / pool->chunk_bytes;
  bool is_embedded = pool->chain.n_used == 0;
  Track *track;

  if (n_left == 0 || is_embedded)
    return;
  track = sli_pool_track_of (pool, pool->cut_at);
  if (track == NULL || track->live == NULL || track->n_unset != n_left)
    return;
  track->n_unset = 0;
  pool->n_cut += n_left;
  pool->n_spilt += n_left;
  pool->cut_at = pool->cut_end;
}

/* Retires the blocks whose chunks are all free.  The embedded block stays. */
void
sli_pool_bits_retire (SlicePool *pool)
{
  BlockChain *chain = &pool->chain;
  uint32_t n_kept = 0;
  Track *track = NULL;

  pool->n_empty = 0;
  for (uint32_t i = 0; i < chain->n_used; i++)
    {
      Block block = chain->table[i];

      track = track_of_block (pool, &block, track);
      if (track != NULL && track->n_unset == 0)
        {
          track->is_retired = true;
          continue;
        }
      chain->table[i] = chain->table[n_kept];
      chain->table[n_kept++] = block;
    }
  if (n_kept == chain->n_used)
    return;
  sli_pool_tracks_remove_retired (pool);
  sli_chain_retire_from (chain, n_kept, POOL_SPARE_BYTES_MAX);
}

/* Retires empty blocks if there are many, as a look at all blocks takes
 * long. */
static void
bits_retire_many (SlicePool *pool)
{
  if (pool->n_empty > pool->n_tracks / EMPTY_PART && !pool->keeps_blocks)
    sli_pool_bits_retire (pool);
}

/* Reports an address that is in no block, or at which no chunk starts. */
COLD static _Noreturn void
report_no_chunk (const SlicePool *pool, const void *object)
{
  const Track *track = sli_pool_track_of (pool, object);
  size_t offset;

  if (track == NULL)
    sli_pool_report_foreign (pool, object);
  offset = (size_t) ((const char *) object - track->start);
  sli_pool_report_interior (pool, object, offset % pool->chunk_bytes);
}

/* The track of an address, any in turn, with bits; NULL: there is no memory
 * for these, or was none lately. */
static inline Track *
track_with_bits (SlicePool *pool, const void *object)
{
  Track *track = sli_pool_map_find (pool, object);

  if (UNLIKELY (track == NULL))
    sli_pool_report_foreign (pool, object);
  if (LIKELY (track->live != NULL))
    return track;
  if (!sli_pool_may_try (pool))
    return NULL;
  if (!sli_pool_track_make_bits (pool, track))
    sli_pool_try_failed (pool);
  return track->live != NULL ? track : NULL;
}

/* Counts how many of n addresses, from the first on, are in a row: each `step'
 * above the one before. */
static inline size_t
count_row (void *const *objects, size_t n, uintptr_t step)
{
  uintptr_t first = (uintptr_t) objects[0];
  AddressPair at = { first, first + step };
  AddressPair two = { 2 * step, 2 * step };
  size_t i = 0;

  /* Sixteen at a time: any difference leaves a bit. */
  for (; i + 16 <= n; i += 16)
    {
      const AddressPair *pairs
          = (const AddressPair *) (const void *) (objects + i);
      AddressPair difference = pairs[0] ^ at;

      difference |= pairs[1] ^ (at += two);
      difference |= pairs[2] ^ (at += two);
      difference |= pairs[3] ^ (at += two);
      difference |= pairs[4] ^ (at += two);
      difference |= pairs[5] ^ (at += two);
      difference |= pairs[6] ^ (at += two);
      difference |= pairs[7] ^ (at += two);
      at += two;
      if ((difference[0] | difference[1]) != 0)
        break;
    }
  i = i > 0 ? i : 1;
  while (i < n && (uintptr_t) objects[i] - (uintptr_t) objects[i - 1] == step)
    i++;
  return i;
}

/* Reports the first of some addresses whose bit is set. */
COLD static _Noreturn void
report_run_twice (const SlicePool *pool, const Track *track,
                  void *const *objects)
{
  for (;; objects++)
    {
      size_t index = sli_pool_index (
          (uintptr_t) *objects - (uintptr_t) track->start,
          pool->chunk_inverse, pool->chunk_shift);

      if ((track->live[index / WORD_BITS] >> (index % WORD_BITS) & 1) != 0)
        sli_pool_report_twice (pool, *objects);
    }
}

/* The number of addresses in a row, upwards or downwards, from the first of n
 * on, which has the index *index.  Changes that to the lowest index.  n_chunks
 * is that of the track. */
static inline size_t
row_length (void *const *objects, size_t n, size_t chunk, size_t n_chunks,
            size_t *index)
{
  size_t n_above = n_chunks - *index;
  size_t n_below = *index + 1;
  size_t n_row = 1;
  uintptr_t step;

  if (n == 1)
    return 1;
  step = (uintptr_t) objects[1] - (uintptr_t) objects[0];
  if (step == chunk)
    n_row = count_row (objects, n < n_above ? n : n_above, chunk);
  else if (step == -chunk)
    {
      n_row = count_row (objects, n < n_below ? n : n_below, -chunk);
      *index -= n_row - 1;
    }
  return n_row;
}

/* Sets n bits from index on.  False: one of them is set already, and nothing
 * has changed. */
static inline bool
bits_set_row (uint64_t *words, size_t index, size_t n)
{
  size_t highest = index + n - 1;
  size_t first = index / WORD_BITS;
  size_t last = highest / WORD_BITS;
  uint64_t low = ~UINT64_C (0) << (index % WORD_BITS);
  uint64_t high = ~UINT64_C (0) >> (WORD_BITS - 1 - highest % WORD_BITS);
  uint64_t found;

  if (first == last)
    low = high = low & high;
  found = (words[first] & low) | (words[last] & high);
  for (size_t i = first + 1; i < last; i++)
    found |= words[i];
  if (UNLIKELY (found != 0))
    return false;
  words[first] |= low;
  words[last] |= high;
  for (size_t i = first + 1; i < last; i++)
    words[i] = ~UINT64_C (0);
  return true;
}

/* Moves addresses to the bits of their block: the first of n and those that
 * follow it, up to one of another block.  Returns their number, at least 1.
 * Reports misuse that the free did not find.  Objects that are freed in their
 * order in memory share words of the bits, which are written once for all.
 * Reads the members first, as the compiler can't know that the bits don't
 * change them. */
static inline size_t
run_flush (const SlicePool *pool, const Track *track, void *const *objects,
           size_t n)
{
  uintptr_t start = (uintptr_t) track->start;
  size_t n_chunks = track->n_chunks;
  uint64_t *words = track->live;
  size_t chunk = pool->chunk_bytes;
  size_t inverse = pool->chunk_inverse;
  unsigned shift = pool->chunk_shift;
  size_t i = 0;

  do
    {
      uintptr_t offset = (uintptr_t) objects[i] - start;
      size_t index = sli_pool_index (offset, inverse, shift);
      size_t n_row;

      if (index >= n_chunks)
        break;
      n_row = row_length (objects + i, n - i, chunk, n_chunks, &index);
      if (UNLIKELY (!bits_set_row (words, index, n_row)))
        report_run_twice (pool, track, objects + i);
      i += n_row;
    }
  while (i < n);
  if (UNLIKELY (i == 0))
    report_no_chunk (pool, objects[0]);
  return i;
}

/* Returns true if the first two of n addresses are neighbours. */
static inline bool
is_row (void *const *objects, size_t n, size_t chunk)
{
  uintptr_t step;

  if (n < 2)
    return false;
  step = (uintptr_t) objects[1] - (uintptr_t) objects[0];
  return step == chunk || step == -chunk;
}

/* Sets the bit of a chunk; counts the blocks that become empty. */
static inline void
bits_set_one (SlicePool *pool, Track *track, size_t index, const void *object)
{
  uint64_t *words = track->live;
  uint64_t bits = words[index / WORD_BITS];

  if (UNLIKELY ((bits >> (index % WORD_BITS) & 1) != 0))
    sli_pool_report_twice (pool, object);
  words[index / WORD_BITS] = bits | UINT64_C (1) << (index % WORD_BITS);
  if (UNLIKELY (--track->n_unset == 0))
    pool->n_empty++;
}

/* Moves an address to whose block the map does not lead at first; false: it is
 * none of an object, or its block has no bits. */
static NOINLINE bool
search_flush_one (SlicePool *pool, const void *object)
{
  Track *track = sli_pool_map_search (pool, object);
  size_t index;

  if (track == NULL)
    return false;
  index = sli_pool_index ((uintptr_t) object - (uintptr_t) track->start,
                          pool->chunk_inverse, pool->chunk_shift);
  if (index >= track->n_bits)
    return false;
  bits_set_one (pool, track, index, object);
  return true;
}

/* The same for addresses in random order, up to one that search_flush_one()
 * can't move.  A track to which the map leads wrongly has no index below n_bits
 * for the address, so this needs no test of its own. */
static inline void **
scattered_flush_some (SlicePool *pool, void **next, void **end)
{
  const PoolMap *map = &pool->map;
  Track *const *slots = map->slots;
  size_t mask = map->mask;
  size_t inverse = pool->chunk_inverse;
  unsigned shift = pool->chunk_shift;

  for (; next < end; next++)
    {
      uintptr_t address = (uintptr_t) *next;
      Track *track = sli_pool_map_lead (slots, mask, address);
      size_t index = sli_pool_index (address - (uintptr_t) track->start,
                                     inverse, shift);

      if (LIKELY (index < track->n_bits))
        bits_set_one (pool, track, index, *next);
      else if (search_flush_one (pool, *next))
        {
          slots = map->slots;
          mask = map->mask;
        }
      else
        break;
    }
  return next;
}

/* The same, up to neighbours, which a run moves faster.  Looks for these now
 * and then only. */
static void **
scattered_flush (SlicePool *pool, void **next, void **end)
{
  size_t chunk = pool->chunk_bytes;

  while (next < end && !is_row (next, (size_t) (end - next), chunk))
    {
      void **stop = end - next > LOOK_STEP ? next + LOOK_STEP : end;

      next = scattered_flush_some (pool, next, stop);
      if (next < stop)
        break;
    }
  return next;
}

/* Moves the first of n addresses, and those that follow it in the same block.
 * Returns their number. */
static size_t
block_flush (SlicePool *pool, void **next, size_t n)
{
  Track *track = track_with_bits (pool, *next);
  size_t n_run;

  if (UNLIKELY (track == NULL))
    {
      sli_pool_spill (pool, *next);
      return 1;
    }
  n_run = run_flush (pool, track, next, n);
  track->n_unset -= (uint32_t) n_run;
  pool->n_empty += track->n_unset == 0;
  return n_run;
}

/* Moves the n oldest addresses from the stack to the bits. */
void
sli_pool_bits_flush (SlicePool *pool, size_t n)
{
  void **bottom = sli_pool_bottom (pool);
  void **next = bottom;
  void **end = next + n;
  size_t n_left;

  pool->n_spilt += n;
  pool->first_free = 0;
  while (next < end)
    {
      next = scattered_flush (pool, next, end);
      if (next < end)
        next += block_flush (pool, next, (size_t) (end - next));
    }
  n_left = (size_t) (sli_pool_top (pool) - end);
  memmove (bottom, end, n_left * sizeof (void *));
  pool->head.top = (uintptr_t) (bottom + n_left);
  bits_retire_many (pool);
}

/* How many of a word's highest bits are set, of which there is one. */
static inline size_t
count_highest (uint64_t bits)
{
  return bits != ~UINT64_C (0) ? (size_t) __builtin_clzll (~bits) : WORD_BITS;
}

void
sli_pool_bits_take (const SlicePool *pool, Track *track, size_t n,
                    void **addresses)
{
  size_t word = (track->n_chunks + WORD_BITS - 1) / WORD_BITS;

  assert_here (n <= track->n_chunks - track->n_unset);
  track->n_unset += (uint32_t) n;
  while (n > 0)
    {
      uint64_t bits = track->live[--word];

      while (bits != 0 && n > 0)
        {
          unsigned n_above = (unsigned) __builtin_clzll (bits);
          size_t n_row = count_highest (bits << n_above);
          size_t highest;

          n_row = n_row < n ? n_row : n;
          highest = word * WORD_BITS + WORD_BITS - 1 - n_above;
          sli_pool_write_down (addresses,
                               track->start + highest * pool->chunk_bytes,
                               pool->chunk_bytes, n_row);
          addresses += n_row;
          n -= n_row;
          bits &= ~(~UINT64_C (0) << (WORD_BITS - n_row) >> n_above);
        }
      track->live[word] = bits;
    }
}

/* Moves addresses from the bits to the stack, which is empty. */
void
sli_pool_bits_refill (SlicePool *pool)
{
  void **top = sli_pool_bottom (pool);
  void **end = top + (pool->stack_capacity + 1) / 2;
  void **enough = top + REFILL_MIN < end ? top + REFILL_MIN : end;

  while (pool->first_free < pool->n_tracks && top < enough)
    {
      Track *track = &pool->tracks[pool->first_free];
      size_t space = (size_t) (end - top);
      size_t n_free = track->n_chunks - track->n_unset;
      size_t n = n_free < space ? n_free : space;

      if (n > 0)
        sli_pool_bits_take (pool, track, n, top);
      top += n;
      pool->n_spilt -= n;
      pool->first_free += n == n_free;
    }
  pool->head.top = (uintptr_t) top;
}
