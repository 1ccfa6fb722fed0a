/* block-source.h - the chain of blocks that every arena allocates from
 *
 * Layer: arena: above spans and sources, below the kinds of arenas.
 *
 * The table of blocks is outside the blocks.  It lists them in the order in
 * which they came into use:
 *
 *                   n_used          n_blocks     capacity
 *                      v               v            v
 *   +----+----+-----+----+-----+-----+------ ... ---+
 *   | 0  | 1  | 2 d | 3  |spare|spare|   unused     |
 *   +----+----+-----+----+-----+-----+------ ... ---+
 *
 * Many objects share a regular block.  A dedicated block (d) holds a single
 * large object and never becomes spare.  The embedded block, behind the
 * control block, is not in the table: its index is -1.
 *
 * No locks: a chain belongs to one arena, and the arena to one thread.
 *
 * Design: section 8.1.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_BLOCK_BLOCK_SOURCE_H
#define SLI_ARENA_BLOCK_BLOCK_SOURCE_H

#include <slice/arena.h>

#include "base/align.h"
#include "base/check.h"

enum
{
  BLOCK_EMBEDDED = -1,
  BLOCK_NONE = -2,
  TABLE_CAPACITY_MIN = 4,
  /* Blocks of up to this size are slices, larger ones pages.  The size is that
   * of a class of slices, so nothing is lost. */
  SLICE_BLOCK_BYTES_MAX = 2048,
  /* A block costs a lock and a bitmap walk, about 100 instructions, which is
   * little for so many objects. */
  CAP_BYTES_DEFAULT = KIB (64)
};

/* The low bit of a block's size, as sizes are multiples of 16. */
#define BLOCK_DEDICATED ((size_t) 1)

typedef struct
{
  char *start;
  size_t bytes_and_dedicated;
} Block;

typedef struct
{
  const SliceSource *source; /* NULL: slices and the shared source */
  Block *table;
  char *embedded;      /* start of the embedded block, or NULL */
  size_t held_bytes;   /* in blocks, the embedded one included */
  size_t beside_bytes; /* in tables: this one, and others in some kinds of
                          arenas */
  size_t limit_bytes;  /* for both; SIZE_MAX: none */
  uint32_t embedded_bytes;
  uint32_t first_bytes;
  uint32_t cap_bytes;
  uint32_t n_requests; /* blocks requested from the source so far */
  uint32_t n_used;
  uint32_t n_blocks;
  uint32_t capacity;
  uint32_t next_bytes_min; /* the smallest block that is added */
  uint16_t growth_part;    /* a new block is at most held / growth_part */
  bool is_annotated;
  bool is_apart;  /* the embedded block is one of malloc: see annotate.h */
  bool is_traced; /* hooks are called for its objects */
  bool keeps_dedicated; /* dedicated blocks up to the cap become spare */
  bool consolidates;    /* spare blocks become one, up to the cap */
} BlockChain;

static inline size_t
sli_block_bytes (const Block *block)
{
  return block->bytes_and_dedicated & ~BLOCK_DEDICATED;
}

static inline bool
sli_block_is_dedicated (const Block *block)
{
  return (block->bytes_and_dedicated & BLOCK_DEDICATED) != 0;
}

void sli_chain_init (BlockChain *chain, const SliceArenaOptions *options,
                     char *embedded, size_t embedded_bytes,
                     size_t control_bytes);

/* Returns true if the limit allows that many bytes more. */
static inline bool
sli_chain_may_hold (const BlockChain *chain, size_t bytes)
{
  return bytes <= chain->limit_bytes
         && chain->held_bytes + chain->beside_bytes
                <= chain->limit_bytes - bytes;
}

/* Returns true if a block can be returned together with its neighbours, with
 * one search and one lock.  Only pages of the shared spans can.  A larger
 * block may come from the parent source directly and be in no span. */
static inline bool
sli_block_is_joinable (const Block *block)
{
  return sli_block_bytes (block) > SLICE_BLOCK_BYTES_MAX
         && sli_block_bytes (block) <= CAP_BYTES_DEFAULT;
}

/* The invariants between any two calls. */
static inline void
sli_chain_assert (const BlockChain *chain)
{
  assert_here (chain->n_used <= chain->n_blocks);
  assert_here (chain->n_blocks <= chain->capacity);
  assert_here (chain->held_bytes >= chain->embedded_bytes);
}

/* Maps a block, if the limit allows it; NULL: no memory.  is_regular: many
 * objects will share it. */
char *sli_block_map (BlockChain *chain, size_t bytes, bool is_regular);
void sli_block_unmap (BlockChain *chain, Block block);

/* Makes a block of the shared spans larger, if the pages behind it are the next
 * that a block would get. */
bool sli_block_extend (BlockChain *chain, Block *block, size_t bytes);

/* Allocates a table of new_bytes to replace one of old_bytes, and accounts for
 * the difference.  NULL if there is no memory or the limit forbids it. */
void *sli_chain_table_alloc (BlockChain *chain, size_t old_bytes,
                             size_t new_bytes);

/* Frees a table that is accounted for. */
void sli_chain_table_free (BlockChain *chain, size_t bytes, void *table);

/* A block of the table, or the embedded one for BLOCK_EMBEDDED. */
Block sli_chain_block (const BlockChain *chain, int32_t index);

/* Puts a regular block of at least `bytes' bytes into use, a spare one if one
 * fits.  It becomes table[n_used - 1].  False with errno ENOMEM. */
bool sli_chain_push (BlockChain *chain, size_t bytes);

/* As sli_chain_push(), but if no spare block fits, maps one of `size' bytes,
 * or of fewer if there is no memory for so many. */
bool sli_chain_push_sized (BlockChain *chain, size_t bytes, size_t size);

/* Adds a spare block of `size' bytes, rounded up; false with errno ENOMEM. */
bool sli_chain_add_spare (BlockChain *chain, size_t size);

/* Joins the last two used blocks, if they are neighbours in the shared spans
 * and together no larger than the cap.  An arena then has fewer blocks, and
 * loses no memory at their ends. */
bool sli_chain_join_last (BlockChain *chain);

/* Makes the last used block larger by `size' bytes, too many for a slice, if
 * a block of that size would be mapped right behind it.  False if it would lie
 * elsewhere, or a spare block might be used. */
bool sli_chain_extend_last (BlockChain *chain, size_t size);

/* As sli_chain_push(), with a dedicated block of `bytes' bytes. */
bool sli_chain_push_dedicated (BlockChain *chain, size_t bytes);

/* Returns the block table[index] to the source. */
void sli_chain_drop (BlockChain *chain, uint32_t index);

/* Returns true if the next spare block has that many bytes. */
static inline bool
sli_chain_has_spare (const BlockChain *chain, size_t bytes)
{
  return chain->n_used < chain->n_blocks
         && bytes <= sli_block_bytes (&chain->table[chain->n_used]);
}

/* Makes the table of blocks smaller, if there is memory for that. */
void sli_chain_shrink_table (BlockChain *chain, uint32_t capacity);

/* Shrinks the table of blocks to what it needs; returns the bytes. */
size_t sli_chain_trim_table (BlockChain *chain);

/* Returns true for a chain that has nothing to return: it never had more than
 * its embedded block. */
static inline bool
sli_chain_is_bare (const BlockChain *chain)
{
  return chain->capacity == 0 && chain->source == NULL
         && !chain->is_annotated;
}

/* The index of the used block that has an address (it may be BLOCK_EMBEDDED),
 * or BLOCK_NONE. */
int32_t sli_chain_find (const BlockChain *chain, const void *address);

/* Fills in the chain's statistics.  The arena fills in used_bytes, free_bytes
 * and wasted_bytes. */
void sli_chain_stats (const BlockChain *chain, size_t control_bytes,
                      SliceArenaStats *stats);

/* --- block-reset.c ------------------------------------------------------- */

/* Ends the use of all blocks from n_used on: dedicated ones return to the
 * source (small ones do not if the chain keeps them), regular ones become
 * spare. */
void sli_chain_cut (BlockChain *chain, uint32_t n_used);

/* Ends the use of the blocks from n_used on, which are regular.  Of all spare
 * blocks then, returns those that exceed keep_bytes to the source. */
void sli_chain_retire_from (BlockChain *chain, uint32_t n_used,
                            size_t keep_bytes);

/* Returns all spare blocks but the first n_keep; the result is their size. */
size_t sli_chain_trim (BlockChain *chain, uint32_t n_keep);

/* Ends the use of all blocks.  Moves those that `keep' selects to the front of
 * the spare ones and returns their number, for sli_chain_trim(). */
uint32_t sli_chain_empty (BlockChain *chain, SliceKeep keep);

/* Replaces neighbours of the spare blocks table[from] ... table[to - 1] by one
 * block as large as all of them, as far as the cap allows.  Without memory for
 * it, they stay. */
void sli_chain_consolidate (BlockChain *chain, uint32_t from, uint32_t to);

/* Replaces the first block by one that is larger by more_bytes; no block is in
 * use.  False if it would be larger than the cap, or there is no memory. */
bool sli_chain_enlarge_spare (BlockChain *chain, size_t more_bytes);

/* Empties the chain and trims it. */
void sli_chain_reset (BlockChain *chain, SliceKeep keep);

/* Returns all blocks and the table. */
void sli_chain_fini (BlockChain *chain);

/* --- block-growth.c ------------------------------------------------------ */

/* Returns true if a block of that many bytes is a slice; else it is pages. */
static inline bool
sli_chain_uses_slice (const BlockChain *chain, size_t bytes)
{
  return chain->source == NULL && bytes <= SLICE_BLOCK_BYTES_MAX;
}

/* The size of the block that a request for that many bytes gets. */
size_t sli_chain_round (const BlockChain *chain, size_t bytes);

/* The bytes that a chain holds with one block of at least `bytes': that block
 * and a table. */
size_t sli_chain_least_bytes (const SliceArenaOptions *options, size_t bytes);

/* Sets the rule of growth, which depends on whether there is an embedded
 * block. */
void sli_chain_init_growth (BlockChain *chain, bool has_embedded);

/* Replaces the rule of growth that sli_chain_init() has set. */
void sli_chain_set_growth (BlockChain *chain, unsigned part,
                           size_t next_bytes_min);

/* The size that the next regular block will have. */
size_t sli_chain_next_bytes (const BlockChain *chain);

/* Returns true if an object of that many bytes should get a block of its
 * own. */
bool sli_chain_wants_dedicated (const BlockChain *chain, size_t bytes);

#endif
