/* block-growth.c - the sizes of the blocks of a chain
 *
 * Layer: arena: part of the chain of blocks (block-source.c).  No locks.
 *
 * Design: section 8.1, with the reasons for the growth rule.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "block-source.h"

#include "arena/source/span.h"

enum
{
  BLOCK_UNIT_BYTES = 16, /* sizes of blocks that are slices */

  /* The smallest block that a chain with an embedded block adds. */
  NEXT_BYTES_MIN = 256,

  /* A new block is at most this part of the bytes held. */
  PART_SMALL = 8,
  PART_LARGE = 2,

  /* A chain that grows by an eighth grows by a 32nd from this size on.  The
   * last block is half empty on average, and that stays below 2 % of a large
   * arena. */
  FINE_BYTES = KIB (4),
  PART_FINE = 32,

  /* An object larger than this part of the next block gets its own. */
  DEDICATED_PART = 4
};

size_t
sli_chain_round (const BlockChain *chain, size_t bytes)
{
  bool is_slice = sli_chain_uses_slice (chain, bytes);

  return align_up (bytes, is_slice ? BLOCK_UNIT_BYTES : SPAN_PAGE_BYTES);
}

size_t
sli_chain_least_bytes (const SliceArenaOptions *options, size_t bytes)
{
  BlockChain chain = { .source = options->source };

  return sli_chain_round (&chain, bytes) + TABLE_CAPACITY_MIN * sizeof (Block);
}

void
sli_chain_set_growth (BlockChain *chain, unsigned part, size_t next_bytes_min)
{
  chain->growth_part = (uint16_t) part;
  chain->next_bytes_min
      = (uint32_t) (next_bytes_min < chain->cap_bytes ? next_bytes_min
                                                      : chain->cap_bytes);
}

void
sli_chain_init_growth (BlockChain *chain, bool has_embedded)
{
  if (has_embedded)
    sli_chain_set_growth (chain, PART_SMALL, NEXT_BYTES_MIN);
  else
    sli_chain_set_growth (chain, PART_LARGE, chain->first_bytes);
}

/* The largest power of two that is at most a part of the bytes held.
 * Compilers make thousands of arenas that hold 100 bytes to 2 KB each.  In a
 * recorded compile objects use 78 % of all bytes held if a block is at most an
 * eighth, 77 % if a quarter, 69 % if a half, and 60 % if each block doubles
 * the arena.  If each block takes a system call, fewer and larger blocks are
 * better. */
size_t
sli_chain_next_bytes (const BlockChain *chain)
{
  size_t bytes;
  size_t part;

  if (chain->held_bytes == 0)
    return chain->first_bytes;
  bytes = chain->next_bytes_min;
  part = chain->held_bytes / chain->growth_part;
  if (chain->growth_part == PART_SMALL && part > FINE_BYTES)
    {
      part = chain->held_bytes / PART_FINE;
      part = part > FINE_BYTES ? part : FINE_BYTES;
    }
  if (part > bytes)
    bytes = (size_t) 1 << (63 - __builtin_clzll (part));
  return bytes < chain->cap_bytes ? bytes
                                  : sli_chain_round (chain, chain->cap_bytes);
}

bool
sli_chain_wants_dedicated (const BlockChain *chain, size_t bytes)
{
  return bytes > sli_chain_next_bytes (chain) / DEDICATED_PART;
}
