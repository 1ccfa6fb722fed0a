/* block-reset.c - the end of the use of blocks: which stay, which are returned
 *
 * Layer: arena: above spans and sources, below the kinds of arenas.  No
 * locks.
 *
 * Design: section 8.1.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "block-source.h"

#include <errno.h>
#include <string.h>
#include "base/align.h"
#include "base/check.h"
#include "arena/annotate.h"
#include "arena/source/source-owned.h"

enum
{
  /* Spare blocks that are returned together, in one call: a span. */
  JOINED_BYTES_MAX = MIB (1)
};

/* test-linear-steps counts how many blocks of the table are read. */
#ifdef CHAIN_COUNT_LOOKS
unsigned sli_chain_n_probes;
# define CHAIN_PROBES() (sli_chain_n_probes++)
#else
# define CHAIN_PROBES() ((void) 0)
#endif

/* Closes the gap of n slots that dedicated blocks have left before the spare
 * blocks.  The last spare blocks fill it, as their order means nothing. */
static void
table_close (BlockChain *chain, uint32_t first, uint32_t n)
{
  uint32_t n_spare = chain->n_blocks - (first + n);
  uint32_t n_moved = n_spare < n ? n_spare : n;

  if (n_moved > 0)
    memcpy (chain->table + first, chain->table + chain->n_blocks - n_moved,
            n_moved * sizeof (Block));
  chain->n_blocks -= n;
}

void
sli_chain_cut (BlockChain *chain, uint32_t n_used)
{
  uint32_t n_kept = n_used;
  uint32_t n_were_used = chain->n_used;

  for (uint32_t i = n_used; i < n_were_used; i++)
    {
      Block block = chain->table[i];

      CHAIN_PROBES ();
      if (sli_block_is_dedicated (&block))
        {
          block.bytes_and_dedicated -= BLOCK_DEDICATED;
          if (!chain->keeps_dedicated
              || block.bytes_and_dedicated > chain->cap_bytes)
            {
              sli_block_unmap (chain, block);
              continue;
            }
        }
      if (chain->is_annotated)
        sli_annotate_cut (block.start, block.start,
                          block.start + sli_block_bytes (&block));
      chain->table[n_kept++] = block;
    }
  if (n_kept < n_were_used)
    table_close (chain, n_kept, n_were_used - n_kept);
  chain->n_used = n_used;
  sli_chain_assert (chain);
}

/* Removes the last block from the table, and those before it that are right
 * below it in memory, as blocks that were mapped in a row are.  Returns their
 * memory as one block. */
static Block
chain_pop_last (BlockChain *chain, uint32_t n_least)
{
  const Block *last = &chain->table[chain->n_blocks - 1];
  const Block *end = chain->table + n_least;
  Block joined = *last;
  bool may_join = chain->source == NULL && !chain->is_annotated
                  && sli_block_is_joinable (last);

  while (may_join && last > end
         && sli_block_bytes (&joined) <= JOINED_BYTES_MAX
         && sli_block_is_joinable (last - 1)
         && last[-1].start + sli_block_bytes (last - 1) == joined.start)
    {
      last--;
      joined.start = last->start;
      joined.bytes_and_dedicated += sli_block_bytes (last);
    }
  chain->n_blocks = (uint32_t) (last - chain->table);
  return joined;
}

size_t
sli_chain_trim (BlockChain *chain, uint32_t n_keep)
{
  size_t before = chain->held_bytes;
  uint32_t n_least = chain->n_used + n_keep;

  while (chain->n_blocks > n_least)
    sli_block_unmap (chain, chain_pop_last (chain, n_least));
  return before - chain->held_bytes;
}

void
sli_chain_retire_from (BlockChain *chain, uint32_t n_used, size_t keep_bytes)
{
  size_t bytes = 0;
  uint32_t n_keep = 0;

  assert_here (n_used <= chain->n_used && !chain->is_annotated);
  chain->n_used = n_used;
  for (uint32_t i = n_used; i < chain->n_blocks; i++, n_keep++)
    {
      bytes += sli_block_bytes (&chain->table[i]);
      if (bytes > keep_bytes)
        break;
    }
  sli_chain_trim (chain, n_keep);
}

/* Moves the spare block that `keep' selects to the front. */
static void
chain_choose (BlockChain *chain, SliceKeep keep)
{
  uint32_t best = 0;
  Block block;

  for (uint32_t i = 1; i < chain->n_blocks && keep == SLICE_KEEP_LARGEST; i++)
    if (sli_block_bytes (&chain->table[i])
        > sli_block_bytes (&chain->table[best]))
      best = i;
  block = chain->table[best];
  chain->table[best] = chain->table[0];
  chain->table[0] = block;
}

uint32_t
sli_chain_empty (BlockChain *chain, SliceKeep keep)
{
  bool embedded_is_first;

  sli_chain_cut (chain, 0);
  if (chain->is_annotated && chain->embedded != NULL)
    sli_annotate_cut (chain->embedded, chain->embedded,
                      chain->embedded + chain->embedded_bytes);
  if (keep == SLICE_KEEP_ALL || chain->n_blocks == 0)
    return chain->n_blocks;
  embedded_is_first = chain->embedded != NULL;
  if (keep == SLICE_KEEP_NONE
      || (keep == SLICE_KEEP_FIRST && embedded_is_first))
    return 0;
  chain_choose (chain, keep);
  return 1;
}

/* Replaces the blocks table[first] ... table[end - 1] by one of `bytes' bytes,
 * in the first one's slot; false if there is no memory. */
static bool
chain_merge (BlockChain *chain, uint32_t first, uint32_t end, size_t bytes)
{
  int error;
  char *start;

  bytes = sli_chain_round (chain, bytes);
  error = errno;
  start = sli_block_map (chain, bytes, true);
  errno = error; /* what is there does, too */
  if (start == NULL)
    return false;
  for (uint32_t i = first; i < end; i++)
    sli_block_unmap (chain, chain->table[i]);
  chain->table[first] = (Block){ start, bytes };
  return true;
}

bool
sli_chain_enlarge_spare (BlockChain *chain, size_t more_bytes)
{
  size_t bytes = sli_block_bytes (&chain->table[0]) + more_bytes;

  assert_here (chain->n_used == 0 && chain->n_blocks > 0);
  return bytes <= chain->cap_bytes && chain_merge (chain, 0, 1, bytes);
}

void
sli_chain_consolidate (BlockChain *chain, uint32_t from, uint32_t to)
{
  uint32_t n = from; /* the blocks up to here are done */
  uint32_t end;

  assert_here (chain->n_used <= from && to <= chain->n_blocks);
  for (uint32_t first = from; first < to; first = end)
    {
      size_t sum = sli_block_bytes (&chain->table[first]);
      bool is_merged;
      uint32_t n_left;

      for (end = first + 1; end < to; end++)
        {
          size_t bytes = sli_block_bytes (&chain->table[end]);

          if (sum + bytes > chain->cap_bytes)
            break;
          sum += bytes;
        }
      is_merged = end - first > 1 && chain_merge (chain, first, end, sum);
      n_left = is_merged ? 1 : end - first;
      memmove (chain->table + n, chain->table + first,
               n_left * sizeof (Block));
      n += n_left;
    }
  memmove (chain->table + n, chain->table + to,
           (chain->n_blocks - to) * sizeof (Block));
  chain->n_blocks -= to - n;
  sli_chain_assert (chain);
}

/* Returns every block, used, dedicated or spare, without sorting them first.
 * Under a tool, returns the blocks one by one. */
static void
chain_free_all (BlockChain *chain)
{
  if (chain->is_annotated)
    sli_chain_empty (chain, SLICE_KEEP_NONE);
  chain->n_used = 0;
  sli_chain_trim (chain, 0);
}

void
sli_chain_reset (BlockChain *chain, SliceKeep keep)
{
  if (keep == SLICE_KEEP_NONE)
    {
      chain_free_all (chain);
      sli_chain_trim_table (chain);
    }
  else
    sli_chain_trim (chain, sli_chain_empty (chain, keep));
  if (keep == SLICE_KEEP_ALL && chain->consolidates)
    sli_chain_consolidate (chain, 0, chain->n_blocks);
}

void
sli_chain_fini (BlockChain *chain)
{
  chain_free_all (chain);
  if (chain->is_annotated && chain->embedded != NULL)
    sli_annotate_block_gone (chain->embedded, chain->embedded_bytes);
  if (chain->is_apart)
    sli_annotate_apart_gone (chain->embedded);
  slice_free1 (chain->capacity * sizeof (Block), chain->table);
  sli_source_leave (chain->source);
}
