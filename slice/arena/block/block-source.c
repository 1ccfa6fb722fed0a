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
#include "arena/annotate.h"
#include "arena/source/source-owned.h"

/* --- the table ----------------------------------------------------------- */

void *
sli_chain_table_alloc (BlockChain *chain, size_t old_bytes, size_t new_bytes)
{
  void *table;

  if (!sli_chain_may_hold (chain, new_bytes - old_bytes))
    return NULL;
  table = slice_try_alloc (new_bytes);
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
  uint32_t n;
  Block *table;

  if (chain->n_blocks < chain->capacity)
    return true;
  n = chain->capacity == 0 ? TABLE_CAPACITY_MIN : chain->capacity * 2;
  table = sli_chain_table_alloc (chain, chain->capacity * sizeof (Block),
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
  size_t bytes;
  size_t old_bytes;
  Block *table;

  if (capacity == chain->capacity)
    return;
  assert_here (chain->n_blocks <= capacity);
  bytes = capacity * sizeof (Block);
  old_bytes = chain->capacity * sizeof (Block);
  table = capacity > 0 ? slice_try_alloc (bytes) : NULL;
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
  sli_chain_assert (chain);
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
  sli_source_enter (chain->source);
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
  return (Block){ chain->embedded, chain->embedded_bytes };
}

/* Puts the first spare block that is large enough into use. */
static bool
chain_use_spare (BlockChain *chain, size_t bytes)
{
  for (uint32_t i = chain->n_used; i < chain->n_blocks; i++)
    if (sli_block_bytes (&chain->table[i]) >= bytes)
      {
        Block block;

        if (i == chain->n_used)
          {
            chain->n_used++;
            return true;
          }
        block = table_remove (chain, i);
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
  char *start;

  size = sli_chain_round (chain, size > least ? size : least);
  start = sli_block_map (chain, size, true);
  while (start == NULL && size > least)
    {
      size = sli_chain_round (chain, size / 2 > least ? size / 2 : least);
      start = sli_block_map (chain, size, true);
    }
  if (start == NULL)
    return false;
  errno = error; /* a larger block may have been refused */
  table_insert (chain, (Block){ start, size });
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
  sli_chain_assert (chain);
  return true;
}

bool
sli_chain_join_last (BlockChain *chain)
{
  Block *below;
  const Block *last;
  size_t bytes;

  /* The first block stays as it is, for a reset that keeps only that one. */
  if (chain->source != NULL || chain->is_annotated || chain->n_used < 3)
    return false;
  below = &chain->table[chain->n_used - 2];
  last = below + 1;
  bytes = sli_block_bytes (below) + sli_block_bytes (last);
  if (sli_block_is_dedicated (below) || sli_block_is_dedicated (last)
      || !sli_block_is_joinable (below) || !sli_block_is_joinable (last)
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
  Block *last;
  size_t bytes;

  if (chain->source != NULL || chain->is_annotated || chain->n_used < 2
      || chain->n_blocks != chain->n_used)
    return false;
  last = &chain->table[chain->n_used - 1];
  size = sli_chain_round (chain, size);
  bytes = sli_block_bytes (last) + size;
  assert_here (!sli_chain_uses_slice (chain, size));
  return !sli_block_is_dedicated (last) && sli_block_is_joinable (last)
         && bytes <= CAP_BYTES_DEFAULT && bytes <= chain->cap_bytes
         && sli_block_extend (chain, last, size);
}

bool
sli_chain_push_dedicated (BlockChain *chain, size_t bytes)
{
  char *start = chain_map (chain, &bytes, false);

  if (start == NULL)
    return false;
  table_insert (chain, (Block){ start, bytes | BLOCK_DEDICATED });
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
