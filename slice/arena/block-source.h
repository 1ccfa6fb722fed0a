/* block-source.h - the chain of blocks that every arena takes memory from
 *
 * Layer: arena: above spans and sources, below the kinds of arenas.
 *
 * The table of blocks lies outside the blocks.  In it, in the order in which
 * they came into use:
 *
 *                   n_used          n_blocks     n_room
 *                      v               v            v
 *   +----+----+-----+----+-----+-----+------ ... ---+
 *   | 0  | 1  | 2 o | 3  |spare|spare|   unused     |
 *   +----+----+-----+----+-----+-----+------ ... ---+
 *
 * Regular blocks are shared by many objects; an own block (o) holds a single
 * large one and is never a spare.  The embedded block, behind the control
 * block, is not in the table: its index is -1.
 *
 * No locks: a chain belongs to one arena and that to one thread.
 *
 * Design: section 8.1.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_BLOCK_SOURCE_H
#define SLI_ARENA_BLOCK_SOURCE_H

#include <slice/arena.h>

#define BLOCK_EMBEDDED (-1)

/* The low bit of `bytes`: block sizes are multiples of 16. */
#define BLOCK_DEDICATED ((size_t) 1)

typedef struct
{
  char *start;
  size_t bytes_and_dedicated;
} Block;

typedef struct
{
  const SliceSource *source; /* NULL: slices, and the shared one */
  Block *table;
  char *embedded;     /* its start, or NULL */
  size_t held_bytes;  /* in blocks, the embedded one included */
  size_t beside_bytes; /* in tables: this one, and what kinds of arenas keep
                          of their own */
  size_t limit_bytes; /* for both; SIZE_MAX: none */
  uint32_t embedded_bytes;
  uint32_t first_bytes;
  uint32_t cap_bytes;
  uint32_t n_requests; /* blocks asked from the source */
  uint32_t n_used;
  uint32_t n_blocks;
  uint32_t n_room;
  uint32_t next_bytes_min; /* the smallest block that is added */
  uint16_t growth_part;    /* a new block is at most held / growth_part */
  bool is_annotated;
  bool is_traced; /* of its objects hooks are told */
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

/* Options with the defaults filled in; false with errno EINVAL. */
bool sli_options_fill (const SliceArenaOptions *given, size_t default_first,
                       size_t default_cap, SliceArenaOptions *options);

/* A checking mode puts its own bytes around a block, and only what is a slice
 * with them is filled and kept for a while when it is freed. */
#define CHECKS_BYTES_MAX 64

/* Bytes to embed behind a control block: the first block's, or 0 if blocks
 * come from a source of the caller's or the first one is too large. */
size_t sli_options_embedded (const SliceArenaOptions *options,
                             size_t control_bytes);

/* What a chain holds with one block of at least `bytes`: that and a table. */
size_t sli_options_one_block (const SliceArenaOptions *options, size_t bytes);

/* Is the limit at least what an empty arena holds?  False with errno
 * EINVAL. */
bool sli_options_allow (const SliceArenaOptions *options, size_t empty_bytes);

void sli_chain_init (BlockChain *chain, const SliceArenaOptions *options,
                     char *embedded, size_t embedded_bytes,
                     size_t control_bytes);

/* May it hold so many bytes more? */
static inline bool
sli_chain_may_hold (const BlockChain *chain, size_t bytes)
{
  return bytes <= chain->limit_bytes
         && chain->held_bytes + chain->beside_bytes
                <= chain->limit_bytes - bytes;
}

/* A table of old_bytes is to become one of new_bytes: if that is within the
 * limit, returns its memory, and the old one's counts no more. */
void *sli_chain_table_alloc (BlockChain *chain, size_t old_bytes,
                             size_t new_bytes);

/* Frees one that counts. */
void sli_chain_table_free (BlockChain *chain, size_t bytes, void *table);

/* Another rule of growth than that of sli_chain_init(). */
void sli_chain_set_growth (BlockChain *chain, unsigned part,
                           size_t next_bytes_min);

/* A table entry, or the embedded block's for BLOCK_EMBEDDED. */
Block sli_chain_block (const BlockChain *chain, int32_t index);

/* The size that the chain would give its next regular block. */
size_t sli_chain_next_bytes (const BlockChain *chain);

/* Should an object of so many bytes get a block of its own? */
bool sli_chain_wants_dedicated (const BlockChain *chain, size_t bytes);

/* Puts a regular block of at least `bytes` bytes into use (a spare one if one
 * fits): it is table[n_used - 1] then.  False with errno ENOMEM. */
bool sli_chain_push (BlockChain *chain, size_t bytes);

/* The same, and says what size to map if none is spare. */
bool sli_chain_push_sized (BlockChain *chain, size_t bytes, size_t size);

/* Adds a spare block of just `size` bytes, rounded up; false with errno
 * ENOMEM. */
bool sli_chain_add_spare (BlockChain *chain, size_t size);

/* Makes the last two used blocks one, if they are neighbours in the shared
 * spans and together no larger than the cap.  An arena then has fewer blocks,
 * and none of its memory is lost at their ends. */
bool sli_chain_join_last (BlockChain *chain);

/* The same with an own block of just `bytes` bytes. */
bool sli_chain_push_dedicated (BlockChain *chain, size_t bytes);

/* Ends the use of all blocks from n_used on: own ones go back to the source,
 * regular ones become spare. */
void sli_chain_cut (BlockChain *chain, uint32_t n_used);

/* Takes the block table[index] out of use and gives it back. */
void sli_chain_drop (BlockChain *chain, uint32_t index);

/* Gives all spare blocks back but the first n_keep; returns bytes. */
size_t sli_chain_trim (BlockChain *chain, uint32_t n_keep);

/* Ends the use of all blocks.  Those that `keep` means come to the front of
 * the spare ones, and their number is returned, for sli_chain_trim(). */
uint32_t sli_chain_empty (BlockChain *chain, SliceKeep keep);

/* Both. */
void sli_chain_reset (BlockChain *chain, SliceKeep keep);

/* Gives everything back. */
void sli_chain_fini (BlockChain *chain);

/* The index of the used block that the address is in (BLOCK_EMBEDDED is one),
 * or -2. */
#define BLOCK_NONE (-2)
int32_t sli_chain_find (const BlockChain *chain, const void *address);

/* Fills in the fields that the chain knows; asked, room and wasted are left
 * to the arena. */
void sli_chain_stats (const BlockChain *chain, size_t control_bytes,
                      SliceArenaStats *stats);

/* Is one of the options `checked`, `hardened` and `debug` set?  Asked for
 * once. */
bool sli_arena_all_checked (void);

#endif
