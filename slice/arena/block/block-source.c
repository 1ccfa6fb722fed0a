/* block-source.c - the chain of blocks that every arena allocates from
 *
 * Layer: arena: above spans and sources, below the kinds of arenas.  No
 * locks.
 *
 * Design: section 8.1, with the reasons for the growth rule.
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
#include "port/compiler.h"
#include "arena/bump/traced.h"

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

/* The invariants between any two calls. */
static inline void
assert_chain (const BlockChain *chain)
{
  assert_here (chain->n_used <= chain->n_blocks);
  assert_here (chain->n_blocks <= chain->capacity);
  assert_here (chain->held_bytes >= chain->embedded_bytes);
}

/* --- the table ----------------------------------------------------------- */

void *
sli_chain_table_alloc (BlockChain *chain, size_t old_bytes, size_t new_bytes)
{
  if (!sli_chain_may_hold (chain, new_bytes - old_bytes))
    return NULL;
  void *table = slice_try_alloc (new_bytes);
  if (table != NULL)
    chain->beside_bytes += new_bytes - old_bytes;
  return table;
}

void
sli_chain_table_free (BlockChain *chain, size_t bytes, void *table)
{
  assert_here (chain->beside_bytes >= bytes);
  chain->beside_bytes -= bytes;
  slice_free1 (bytes, table);
}

static bool
table_reserve (BlockChain *chain)
{
  if (chain->n_blocks < chain->capacity)
    return true;
  uint32_t n = chain->capacity == 0 ? TABLE_CAPACITY_MIN : chain->capacity * 2;
  Block *table
      = sli_chain_table_alloc (chain, chain->capacity * sizeof (Block),
                               (size_t) n * sizeof (Block));
  if (table == NULL)
    return false;
  if (chain->table != NULL)
    memcpy (table, chain->table, chain->n_blocks * sizeof (Block));
  slice_free1 (chain->capacity * sizeof (Block), chain->table);
  chain->table = table;
  chain->capacity = n;
  return true;
}

COLD void
sli_chain_shrink_table (BlockChain *chain, uint32_t capacity)
{
  if (capacity == chain->capacity)
    return;
  assert_here (chain->n_blocks <= capacity);
  size_t bytes = capacity * sizeof (Block);
  size_t old_bytes = chain->capacity * sizeof (Block);
  Block *table = capacity > 0 ? slice_try_alloc (bytes) : NULL;
  if (capacity > 0 && table == NULL)
    return;
  if (capacity > 0)
    memcpy (table, chain->table, chain->n_blocks * sizeof (Block));
  chain->beside_bytes -= old_bytes - bytes;
  slice_free1 (old_bytes, chain->table);
  chain->table = table;
  chain->capacity = capacity;
}

size_t
sli_chain_trim_table (BlockChain *chain)
{
  size_t before = chain->beside_bytes;
  uint32_t n = chain->n_blocks > 0 ? TABLE_CAPACITY_MIN : 0;

  while (n < chain->n_blocks)
    n *= 2;
  sli_chain_shrink_table (chain, n);
  return before - chain->beside_bytes;
}

/* Puts a block into use: behind the used blocks, before the spare ones.  The
 * caller has reserved a slot. */
static void
table_insert (BlockChain *chain, Block block)
{
  Block *slot = chain->table + chain->n_used;
  assert_here (chain->n_blocks < chain->capacity);
  if (chain->n_blocks != chain->n_used)
    memmove (slot + 1, slot,
             (chain->n_blocks - chain->n_used) * sizeof (Block));
  *slot = block;
  chain->n_used++;
  chain->n_blocks++;
  assert_chain (chain);
}

static Block
table_remove (BlockChain *chain, uint32_t index)
{
  Block *slot = chain->table + index;
  Block block = *slot;
  assert_here (index < chain->n_blocks);
  chain->n_blocks--;
  if (index != chain->n_blocks)
    memmove (slot, slot + 1, (chain->n_blocks - index) * sizeof (Block));
  return block;
}

/* --- the chain ----------------------------------------------------------- */

void
sli_chain_init (BlockChain *chain, const SliceArenaOptions *options,
                char *embedded, size_t embedded_bytes, size_t control_bytes)
{
  memset (chain, 0, sizeof *chain);
  chain->source = options->source;
  chain->first_bytes = (uint32_t) options->first_bytes;
  chain->cap_bytes = (uint32_t) options->cap_bytes;
  chain->limit_bytes = options->limit_bytes > control_bytes
                           ? options->limit_bytes - control_bytes
                           : 0;
  if (options->limit_bytes == SIZE_MAX)
    chain->limit_bytes = SIZE_MAX;
  chain->is_annotated = sli_annotate_active ();
  sli_chain_init_growth (chain, embedded_bytes != 0);
  if (embedded_bytes == 0)
    return;
  if (chain->is_annotated)
    chain->embedded = sli_annotate_apart (embedded, embedded_bytes);
  chain->is_apart = chain->embedded != NULL;
  if (!chain->is_apart)
    chain->embedded = embedded;
  chain->embedded_bytes = (uint32_t) embedded_bytes;
  chain->held_bytes = embedded_bytes;
  chain->n_requests = 1;
  if (chain->is_annotated)
    {
      sli_annotate_block (chain->embedded);
      sli_annotate_hide (chain->embedded, embedded_bytes);
    }
}

Block
sli_chain_block (const BlockChain *chain, int32_t index)
{
  if (index >= 0)
    return chain->table[index];
  Block block = { chain->embedded, chain->embedded_bytes };
  return block;
}

/* Puts the first spare block that is large enough into use. */
static bool
chain_use_spare (BlockChain *chain, size_t bytes)
{
  for (uint32_t i = chain->n_used; i < chain->n_blocks; i++)
    if (sli_block_bytes (&chain->table[i]) >= bytes)
      {
        if (i == chain->n_used)
          {
            chain->n_used++;
            return true;
          }
        Block block = table_remove (chain, i);
        table_insert (chain, block);
        return true;
      }
  return false;
}

/* Maps a block of `size' bytes, or half of that and so on down to `bytes'. */
static bool
chain_map_regular (BlockChain *chain, size_t bytes, size_t size)
{
  int error = errno;
  size_t least = sli_chain_round (chain, bytes);
  size = sli_chain_round (chain, size > least ? size : least);
  char *start = sli_block_map (chain, size, true);
  while (start == NULL && size > least)
    {
      size = sli_chain_round (chain, size / 2 > least ? size / 2 : least);
      start = sli_block_map (chain, size, true);
    }
  if (start == NULL)
    return false;
  errno = error; /* a larger block may have been refused */
  Block block = { start, size };
  table_insert (chain, block);
  return true;
}

/* A call that fails leaves the table as large as it was before the call:
 * capacity. */
COLD static bool
no_memory (BlockChain *chain, uint32_t capacity)
{
  sli_chain_shrink_table (chain, capacity);
  errno = ENOMEM;
  return false;
}

/* Maps a block of *bytes, rounded, and reserves its slot.  NULL: no memory. */
static char *
chain_map (BlockChain *chain, size_t *bytes, bool is_regular)
{
  uint32_t capacity = chain->capacity;
  char *start = NULL;
  if (*bytes <= SIZE_MAX / 2 && table_reserve (chain))
    {
      *bytes = sli_chain_round (chain, *bytes);
      start = sli_block_map (chain, *bytes, is_regular);
    }
  if (start == NULL)
    no_memory (chain, capacity);
  return start;
}

bool
sli_chain_push_sized (BlockChain *chain, size_t bytes, size_t size)
{
  uint32_t capacity = chain->capacity;
  if (chain_use_spare (chain, bytes))
    return true;
  if (bytes > SIZE_MAX / 2 || !table_reserve (chain)
      || !chain_map_regular (chain, bytes, size))
    return no_memory (chain, capacity);
  return true;
}

bool
sli_chain_push (BlockChain *chain, size_t bytes)
{
  return sli_chain_push_sized (chain, bytes, sli_chain_next_bytes (chain));
}

bool
sli_chain_add_spare (BlockChain *chain, size_t size)
{
  char *start = chain_map (chain, &size, true);
  if (start == NULL)
    return false;
  chain->table[chain->n_blocks++] = (Block){ start, size };
  assert_chain (chain);
  return true;
}

/* Returns true if a block can be returned together with its neighbours, with
 * one search and one lock.  Only pages of the shared spans can.  A larger
 * block may come from the parent source directly and be in no span. */
static bool
block_is_joinable (const Block *block)
{
  return sli_block_bytes (block) > SLICE_BLOCK_BYTES_MAX
         && sli_block_bytes (block) <= CAP_BYTES_DEFAULT;
}

bool
sli_chain_join_last (BlockChain *chain)
{
  /* The first block stays as it is, for a reset that keeps only that one. */
  if (chain->source != NULL || chain->is_annotated || chain->n_used < 3)
    return false;
  Block *below = &chain->table[chain->n_used - 2];
  const Block *last = below + 1;
  size_t bytes = sli_block_bytes (below) + sli_block_bytes (last);
  if (sli_block_is_dedicated (below) || sli_block_is_dedicated (last)
      || !block_is_joinable (below) || !block_is_joinable (last)
      || below->start + sli_block_bytes (below) != last->start
      || bytes > CAP_BYTES_DEFAULT || bytes > chain->cap_bytes)
    return false;
  below->bytes_and_dedicated = bytes;
  table_remove (chain, chain->n_used - 1);
  chain->n_used--;
  return true;
}

bool
sli_chain_extend_last (BlockChain *chain, size_t size)
{
  if (chain->source != NULL || chain->is_annotated || chain->n_used < 2
      || chain->n_blocks != chain->n_used)
    return false;
  Block *last = &chain->table[chain->n_used - 1];
  size = sli_chain_round (chain, size);
  size_t bytes = sli_block_bytes (last) + size;
  assert_here (!sli_chain_uses_slice (chain, size));
  return !sli_block_is_dedicated (last) && block_is_joinable (last)
         && bytes <= CAP_BYTES_DEFAULT && bytes <= chain->cap_bytes
         && sli_block_extend (chain, last, size);
}

bool
sli_chain_push_dedicated (BlockChain *chain, size_t bytes)
{
  char *start = chain_map (chain, &bytes, false);
  if (start == NULL)
    return false;
  Block block = { start, bytes | BLOCK_DEDICATED };
  table_insert (chain, block);
  return true;
}

void
sli_chain_drop (BlockChain *chain, uint32_t index)
{
  Block block = table_remove (chain, index);
  if (index < chain->n_used)
    chain->n_used--;
  sli_block_unmap (chain, block);
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
  assert_chain (chain);
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
                  && block_is_joinable (last);
  while (may_join && last > end
         && sli_block_bytes (&joined) <= JOINED_BYTES_MAX
         && block_is_joinable (last - 1)
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

/* Moves the spare block that `keep' selects to the front. */
static void
chain_choose (BlockChain *chain, SliceKeep keep)
{
  uint32_t best = 0;
  for (uint32_t i = 1; i < chain->n_blocks && keep == SLICE_KEEP_LARGEST; i++)
    if (sli_block_bytes (&chain->table[i])
        > sli_block_bytes (&chain->table[best]))
      best = i;
  Block block = chain->table[best];
  chain->table[best] = chain->table[0];
  chain->table[0] = block;
}

uint32_t
sli_chain_empty (BlockChain *chain, SliceKeep keep)
{
  sli_chain_cut (chain, 0);
  if (chain->is_annotated && chain->embedded != NULL)
    sli_annotate_cut (chain->embedded, chain->embedded,
                      chain->embedded + chain->embedded_bytes);
  if (keep == SLICE_KEEP_ALL || chain->n_blocks == 0)
    return chain->n_blocks;
  bool embedded_is_first = chain->embedded != NULL;
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
  bytes = sli_chain_round (chain, bytes);
  int error = errno;
  char *start = sli_block_map (chain, bytes, true);
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
      for (end = first + 1; end < to; end++)
        {
          size_t bytes = sli_block_bytes (&chain->table[end]);
          if (sum + bytes > chain->cap_bytes)
            break;
          sum += bytes;
        }
      bool is_merged
          = end - first > 1 && chain_merge (chain, first, end, sum);
      uint32_t n_left = is_merged ? 1 : end - first;
      memmove (chain->table + n, chain->table + first,
               n_left * sizeof (Block));
      n += n_left;
    }
  memmove (chain->table + n, chain->table + to,
           (chain->n_blocks - to) * sizeof (Block));
  chain->n_blocks -= to - n;
  assert_chain (chain);
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
}

int32_t
sli_chain_find (const BlockChain *chain, const void *address)
{
  for (uint32_t i = chain->n_used; i > 0; i--)
    {
      const Block *block = &chain->table[i - 1];
      if ((uintptr_t) address - (uintptr_t) block->start
          < sli_block_bytes (block))
        return (int32_t) (i - 1);
    }
  if ((uintptr_t) address - (uintptr_t) chain->embedded
      < chain->embedded_bytes)
    return BLOCK_EMBEDDED;
  return BLOCK_NONE;
}

void
sli_chain_stats (const BlockChain *chain, size_t control_bytes,
                 SliceArenaStats *stats)
{
  memset (stats, 0, sizeof *stats);
  stats->control_bytes = control_bytes + chain->capacity * sizeof (Block);
  stats->held_bytes = chain->held_bytes + stats->control_bytes;
  stats->n_blocks = chain->n_blocks + (chain->embedded != NULL);
  stats->n_spare_blocks = chain->n_blocks - chain->n_used;
  stats->n_requests = chain->n_requests;
  for (uint32_t i = 0; i < chain->n_used; i++)
    stats->n_own_blocks += sli_block_is_dedicated (&chain->table[i]);
}
