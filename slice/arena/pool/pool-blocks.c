/* pool-blocks.c - the blocks of a pool: the next one, a reserve
 *
 * Layer: arena: above the chain of blocks.
 *
 * Design: section 8.4.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "pool.h"

#include <errno.h>
#include "arena/arena-private.h"

enum
{
  /* The largest block that a reserve adds. */
  RESERVE_BYTES_MAX = 1 << 30
};

/* The sizes of a pool's tables, and its count of requests. */
typedef struct
{
  uint32_t blocks_capacity, tracks_capacity;
  uint32_t n_requests;
} PoolTables;

static inline PoolTables
pool_tables (const SlicePool *pool)
{
  return (PoolTables){ pool->chain.capacity, pool->tracks_capacity,
                       pool->chain.n_requests };
}

/* Ends a call for which there was no memory: the tables are as small as they
 * were before.  False, with errno ENOMEM. */
COLD static bool
pool_restore (SlicePool *pool, PoolTables before)
{
  sli_pool_tracks_shrink (pool, before.tracks_capacity);
  sli_chain_shrink_table (&pool->chain, before.blocks_capacity);
  pool->chain.n_requests = before.n_requests;
  errno = ENOMEM;
  return false;
}

bool
sli_pool_push_block (SlicePool *pool)
{
  BlockChain *chain = &pool->chain;
  size_t alignment = pool->options.alignment;
  size_t extra = alignment > 16 ? alignment : 0;
  size_t n = sli_chain_next_bytes (chain) / pool->chunk_bytes;
  size_t size = (n > 1 ? n : 1) * pool->chunk_bytes + extra;
  bool has_spare = chain->n_used < chain->n_blocks;
  PoolTables before = pool_tables (pool);
  Block block;

  /* The track comes first: where the limit is near, the block may not take
   * what the track needs.  A tracked pool's spare blocks have theirs. */
  if (pool->has_tracks && !(pool->is_tracked && has_spare)
      && !sli_pool_tracks_reserve (pool, pool->n_tracks + 1))
    return pool_restore (pool, before);
  if (!sli_chain_push_sized (chain, pool->chunk_bytes + extra, size))
    return pool_restore (pool, before);
  block = chain->table[chain->n_used - 1];
  if (pool->has_tracks && !sli_pool_track_block (pool, block))
    {
      sli_chain_drop (chain, chain->n_used - 1);
      return pool_restore (pool, before);
    }
  sli_pool_enter (pool, block);
  return true;
}

void
sli_pool_start_over (SlicePool *pool)
{
  Block block;

  sli_chain_cut (&pool->chain, 0);
  if (pool->is_tracked)
    sli_pool_track_start_over (pool);
  else
    sli_pool_plain_start_over (pool);
  pool->cut_at = NULL;
  pool->cut_end = NULL;
  if (pool->chain.embedded == NULL)
    return;
  block = sli_chain_block (&pool->chain, BLOCK_EMBEDDED);
  if (!pool->has_tracks || sli_pool_track_block (pool, block))
    sli_pool_enter (pool, block);
}

/* --- reserve ------------------------------------------------------------- */

/* The number of chunks in all blocks, in use and spare. */
static size_t
pool_n_chunks (const SlicePool *pool)
{
  const BlockChain *chain = &pool->chain;
  size_t n = 0;

  if (pool->is_tracked)
    return sli_pool_track_n_chunks (pool);
  for (int32_t i = BLOCK_EMBEDDED; i < (int32_t) chain->n_blocks; i++)
    n += sli_pool_n_chunks_in (pool, sli_chain_block (chain, i));
  return n;
}

/* Adds a spare block for n chunks, or for as many as fit into one, and its
 * track, so that nothing has to be allocated when it comes into use. */
static bool
pool_add_spare (SlicePool *pool, size_t n)
{
  BlockChain *chain = &pool->chain;
  size_t alignment = pool->options.alignment;
  size_t extra = alignment > 16 ? alignment : 0;
  size_t n_most = (RESERVE_BYTES_MAX - extra) / pool->chunk_bytes;
  size_t bytes = (n < n_most ? n : n_most) * pool->chunk_bytes + extra;

  if (!sli_chain_add_spare (chain, bytes))
    return false;
  if (!pool->is_tracked
      || sli_pool_track_block (pool, chain->table[chain->n_blocks - 1]))
    return true;
  sli_chain_drop (chain, chain->n_blocks - 1);
  errno = ENOMEM;
  return false;
}

/* Returns the spare blocks beyond the first n_blocks. */
static void
pool_drop_spare (SlicePool *pool, uint32_t n_blocks)
{
  BlockChain *chain = &pool->chain;

  while (chain->n_blocks > n_blocks)
    {
      uint32_t last = chain->n_blocks - 1;

      if (pool->is_tracked)
        sli_pool_track_block_gone (pool, chain->table[last]);
      sli_chain_drop (chain, last);
    }
}

static bool
pool_reserve (SlicePool *pool, size_t n)
{
  uint32_t n_blocks = pool->chain.n_blocks;
  PoolTables before = pool_tables (pool);
  size_t n_live = sli_pool_n_live (pool);

  while (n <= SIZE_MAX / 4 / pool->chunk_bytes)
    {
      size_t n_free = pool_n_chunks (pool) - n_live;

      if (n <= n_free)
        {
          /* All blocks, the embedded one too, may get a track. */
          if (pool->has_tracks
              && !sli_pool_tracks_reserve (pool, pool->chain.n_blocks + 1))
            break;
          if (!pool->is_tracked && !sli_pool_plain_reserve (pool, n))
            break;
          pool->keeps_blocks = true;
          return true;
        }
      if (!pool_add_spare (pool, n - n_free))
        break;
    }
  pool_drop_spare (pool, n_blocks);
  return pool_restore (pool, before);
}

bool
slice_pool_reserve (SlicePool *shown, size_t n)
{
  SlicePool *pool = sli_pool_acquire (shown, "slice_pool_reserve");
  bool is_reserved = pool_reserve (pool, n);

  sli_pool_release (shown);
  return is_reserved;
}
