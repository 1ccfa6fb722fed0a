/* block-source.c - the chain of blocks that every arena takes memory from
 *
 * Layer: arena: above spans and sources, below the kinds of arenas.  No locks of
 * its own.
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
#include "span.h"
#include "traced.h"
#include "annotate.h"

/* Blocks up to here are slices; it is a class of slices, so nothing is lost.
 * Above, pages. */
#define SLICE_BLOCK_BYTES_MAX 2048

#define FIRST_BYTES_MIN 64
/* Large enough that a block's cost (a lock and a bitmap walk, about 100
 * instructions) vanishes among its objects. */
#define CAP_BYTES_DEFAULT ((size_t) 64 << 10)
#define BLOCK_BYTES_MAX ((size_t) 1 << 30)

/* The smallest block that a chain adds. */
#define NEXT_BYTES_MIN 256

/* A new block is at most this part of what is held. */
#define PART_SMALL 8
#define PART_LARGE 2

/* A chain whose blocks are an eighth goes on with a 32nd from this size on:
 * the last block is half empty on average, and that is to stay below 2 % of a
 * large arena. */
#define FINE_BYTES ((size_t) 4 << 10)
#define PART_FINE 32

/* From this size on a regular block's pages get memory in one call. */
#define READY_BYTES_MIN ((size_t) 32 << 10)

/* Spare blocks that go back together, in one call: a span is 1 MiB. */
#define JOINED_BYTES_MAX ((size_t) 1 << 20)

/* An object larger than this part of the next block gets its own. */
#define DEDICATED_PART 4

#define TABLE_ROOM_MIN 4

/* A look at a block of the table, which test-linear-steps counts. */
#ifdef CHAIN_COUNT_LOOKS
unsigned sli_chain_n_probes;
# define CHAIN_PROBES() (sli_chain_n_probes++)
#else
# define CHAIN_PROBES() ((void) 0)
#endif

static size_t
round_up (size_t bytes, size_t unit)
{
  return (bytes + unit - 1) & ~(unit - 1);
}

/* --- options ------------------------------------------------------------- */

bool
sli_options_fill (const SliceArenaOptions *given, size_t default_first,
                  size_t default_cap, SliceArenaOptions *options)
{
  SliceArenaOptions all = { 0 };
  if (given != NULL)
    all = *given;
  size_t page = all.source != NULL ? SPAN_PAGE_BYTES : 0;
  if (all.first_bytes == 0)
    all.first_bytes = page != 0 ? page : default_first;
  if (all.cap_bytes == 0)
    all.cap_bytes = default_cap != 0 ? default_cap : CAP_BYTES_DEFAULT;
  if (all.cap_bytes < all.first_bytes
      && (given == NULL || given->cap_bytes == 0))
    all.cap_bytes = all.first_bytes;
  if (all.limit_bytes == 0)
    all.limit_bytes = SIZE_MAX;
  *options = all;
  bool good = all.first_bytes >= FIRST_BYTES_MIN
              && all.first_bytes <= all.cap_bytes
              && all.cap_bytes <= BLOCK_BYTES_MAX
              && (all.flags & ~(unsigned) SLICE_ARENA_CHECKED) == 0
              && (all.source == NULL || all.source->map != NULL);
  if (!good)
    errno = EINVAL;
  else
    options->first_bytes = round_up (all.first_bytes, page != 0 ? page : 16);
  if (trace_is_on ())
    options->flags |= ARENA_TRACED;
  return good;
}

/* The most that a control block and the first block may come to, so that what
 * is left of an arena can be told from a live one. */
static size_t
record_bytes_max (void)
{
  return sli_arena_all_checked () ? SLICE_SIZE_MAX - CHECKS_BYTES_MAX
                                  : SLICE_SIZE_MAX;
}

size_t
sli_options_embedded (const SliceArenaOptions *options, size_t control_bytes)
{
  bool fits = options->source == NULL
              && options->first_bytes + control_bytes <= record_bytes_max ();
  return fits ? options->first_bytes : 0;
}

size_t
sli_options_one_block (const SliceArenaOptions *options, size_t bytes)
{
  bool is_slice = options->source == NULL && bytes <= SLICE_BLOCK_BYTES_MAX;
  return round_up (bytes, is_slice ? 16 : SPAN_PAGE_BYTES)
         + TABLE_ROOM_MIN * sizeof (Block);
}

bool
sli_options_allow (const SliceArenaOptions *options, size_t empty_bytes)
{
  if (options->limit_bytes >= empty_bytes)
    return true;
  errno = EINVAL;
  return false;
}

bool
sli_arena_all_checked (void)
{
  static const SliceOption modes[]
      = { SLICE_OPTION_CHECKED, SLICE_OPTION_HARDENED, SLICE_OPTION_DEBUG };
  static int known; /* 0: not asked yet, 1: no, 2: yes */
  int state = __atomic_load_n (&known, __ATOMIC_RELAXED);
  if (state == 0)
    {
      state = 1;
      for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        {
          int64_t value = 0;
          slice_get_option (modes[i], &value);
          if (value != 0)
            state = 2;
        }
      __atomic_store_n (&known, state, __ATOMIC_RELAXED);
    }
  return state == 2;
}

/* --- blocks from the source ---------------------------------------------- */

static bool
chain_uses_slice (const BlockChain *chain, size_t bytes)
{
  return chain->source == NULL && bytes <= SLICE_BLOCK_BYTES_MAX;
}

/* The size that a request for so many bytes really gets. */
static size_t
chain_round (const BlockChain *chain, size_t bytes)
{
  return chain_uses_slice (chain, bytes) ? round_up (bytes, 16)
                                         : round_up (bytes, SPAN_PAGE_BYTES);
}

static const SliceSource *
chain_source (const BlockChain *chain)
{
  return chain->source != NULL ? chain->source : sli_shared_source ();
}

/* Regular blocks of a large arena are soon full of objects. */
static char *
pages_map (const BlockChain *chain, size_t bytes, bool is_regular)
{
  char *start;
  const SliceSource *source = chain_source (chain);
  bool is_ready = is_regular && chain->source == NULL
                  && bytes >= READY_BYTES_MIN && bytes <= SPAN_READY_BYTES_MAX
                  && chain->held_bytes >= bytes * PART_FINE / 2;
  TRACE_INTERNAL (start = is_ready ? sli_shared_map_ready (bytes)
                              : source->map (source, bytes, SPAN_PAGE_BYTES));
  return start;
}

static char *
block_map (BlockChain *chain, size_t bytes, bool is_regular)
{
  if (!sli_chain_may_hold (chain, bytes))
    return NULL;
  char *start = chain_uses_slice (chain, bytes)
                    ? slice_try_alloc (bytes)
                    : pages_map (chain, bytes, is_regular);
  if (start == NULL)
    return NULL;
  chain->held_bytes += bytes;
  chain->n_requests++;
  if (chain->is_annotated)
    {
      sli_annotate_block (start);
      sli_annotate_hide (start, bytes);
    }
  return start;
}

__attribute__ ((noinline)) static void
pages_unmap (const BlockChain *chain, char *start, size_t bytes)
{
  const SliceSource *source = chain_source (chain);
  if (source->unmap != NULL)
    TRACE_INTERNAL (source->unmap (source, start, bytes));
}

/* What goes to the shared spans stays hidden there, so that a tool sees a use
 * after the end of an arena, too. */
__attribute__ ((cold, noinline)) static void
block_unwatch (const BlockChain *chain, const char *start, size_t bytes)
{
  if (chain->source == NULL && !chain_uses_slice (chain, bytes))
    sli_annotate_block_kept (start, bytes);
  else
    sli_annotate_block_gone (start, bytes);
}

static inline void
block_unmap (BlockChain *chain, Block block)
{
  size_t bytes = sli_block_bytes (&block);
  if (SLICE_UNLIKELY (chain->is_annotated))
    block_unwatch (chain, block.start, bytes);
  chain->held_bytes -= bytes;
  if (chain_uses_slice (chain, bytes))
    slice_free1 (bytes, block.start);
  else
    pages_unmap (chain, block.start, bytes);
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
  chain->beside_bytes -= bytes;
  slice_free1 (bytes, table);
}

static bool
table_has_room (BlockChain *chain)
{
  if (chain->n_blocks < chain->n_room)
    return true;
  uint32_t n = chain->n_room == 0 ? TABLE_ROOM_MIN : chain->n_room * 2;
  Block *table = sli_chain_table_alloc (chain, chain->n_room * sizeof (Block),
                                        (size_t) n * sizeof (Block));
  if (table == NULL)
    return false;
  if (chain->table != NULL)
    memcpy (table, chain->table, chain->n_blocks * sizeof (Block));
  slice_free1 (chain->n_room * sizeof (Block), chain->table);
  chain->table = table;
  chain->n_room = n;
  return true;
}

/* Puts a block into use: behind the used ones, before the spare ones. */
static void
table_insert (BlockChain *chain, Block block)
{
  Block *place = chain->table + chain->n_used;
  memmove (place + 1, place,
           (chain->n_blocks - chain->n_used) * sizeof (Block));
  *place = block;
  chain->n_used++;
  chain->n_blocks++;
}

static Block
table_remove (BlockChain *chain, uint32_t index)
{
  Block *place = chain->table + index;
  Block block = *place;
  chain->n_blocks--;
  memmove (place, place + 1, (chain->n_blocks - index) * sizeof (Block));
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
  bool is_small = embedded_bytes != 0;
  sli_chain_set_growth (chain, is_small ? PART_SMALL : PART_LARGE,
                        is_small ? NEXT_BYTES_MIN : options->first_bytes);
  if (embedded_bytes == 0)
    return;
  chain->embedded = embedded;
  chain->embedded_bytes = (uint32_t) embedded_bytes;
  chain->held_bytes = embedded_bytes;
  chain->n_requests = 1;
  if (chain->is_annotated)
    {
      sli_annotate_block (embedded);
      sli_annotate_hide (embedded, embedded_bytes);
    }
}

void
sli_chain_set_growth (BlockChain *chain, unsigned part, size_t next_bytes_min)
{
  chain->growth_part = (uint16_t) part;
  chain->next_bytes_min
      = (uint32_t) (next_bytes_min < chain->cap_bytes ? next_bytes_min
                                                      : chain->cap_bytes);
}

Block
sli_chain_block (const BlockChain *chain, int32_t index)
{
  if (index >= 0)
    return chain->table[index];
  Block block = { chain->embedded, chain->embedded_bytes };
  return block;
}

/* The largest power of two that is at most a part of what is held.  Compilers
 * make arenas by the thousand that hold 100 bytes to 2 KB each: over those of
 * a recorded compile, blocks of at most an eighth leave 78 % of all bytes held
 * to objects, of a quarter 77 %, of a half 69 %, and doubling each block 60 %.
 * Where a block is a system call, fewer and larger ones are better. */
size_t
sli_chain_next_bytes (const BlockChain *chain)
{
  if (chain->held_bytes == 0)
    return chain->first_bytes;
  size_t bytes = chain->next_bytes_min;
  size_t part = chain->held_bytes / chain->growth_part;
  if (chain->growth_part == PART_SMALL && part > FINE_BYTES)
    {
      part = chain->held_bytes / PART_FINE;
      part = part > FINE_BYTES ? part : FINE_BYTES;
    }
  if (part > bytes)
    bytes = (size_t) 1 << (63 - __builtin_clzll (part));
  return bytes < chain->cap_bytes ? bytes
                                  : chain_round (chain, chain->cap_bytes);
}

bool
sli_chain_wants_dedicated (const BlockChain *chain, size_t bytes)
{
  return bytes > sli_chain_next_bytes (chain) / DEDICATED_PART;
}

/* Of the spare blocks the first that is large enough goes into use. */
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

/* Maps that size, or as much of it as there is. */
static bool
chain_map_regular (BlockChain *chain, size_t bytes, size_t size)
{
  size_t least = chain_round (chain, bytes);
  size = chain_round (chain, size > least ? size : least);
  char *start = block_map (chain, size, true);
  while (start == NULL && size > least)
    {
      size = chain_round (chain, size / 2 > least ? size / 2 : least);
      start = block_map (chain, size, true);
    }
  if (start == NULL)
    return false;
  Block block = { start, size };
  table_insert (chain, block);
  return true;
}

static bool
no_memory (void)
{
  errno = ENOMEM;
  return false;
}

bool
sli_chain_push_sized (BlockChain *chain, size_t bytes, size_t size)
{
  if (chain_use_spare (chain, bytes))
    return true;
  if (bytes > SIZE_MAX / 2 || !table_has_room (chain)
      || !chain_map_regular (chain, bytes, size))
    return no_memory ();
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
  if (size > SIZE_MAX / 2 || !table_has_room (chain))
    return no_memory ();
  size = chain_round (chain, size);
  char *start = block_map (chain, size, true);
  if (start == NULL)
    return no_memory ();
  chain->table[chain->n_blocks++] = (Block){ start, size };
  return true;
}

/* May blocks be part of a piece of several that goes back as one, with one
 * search and one lock?  Only pages of the shared spans, and none so large that
 * it may be a piece of its own and no part of a span. */
static bool
block_is_joinable (const Block *block)
{
  return sli_block_bytes (block) > SLICE_BLOCK_BYTES_MAX
         && sli_block_bytes (block) <= CAP_BYTES_DEFAULT;
}

bool
sli_chain_join_last (BlockChain *chain)
{
  /* The first block stays as it is, for a reset that keeps just that. */
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
sli_chain_push_dedicated (BlockChain *chain, size_t bytes)
{
  if (bytes > SIZE_MAX / 2 || !table_has_room (chain))
    return no_memory ();
  bytes = chain_round (chain, bytes);
  char *start = block_map (chain, bytes, false);
  if (start == NULL)
    return no_memory ();
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
  block_unmap (chain, block);
}

/* The slots that own blocks have left, before the spare blocks: as many of
 * these, from the end, go there.  Their order means nothing. */
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
          block_unmap (chain, block);
          continue;
        }
      if (chain->is_annotated)
        sli_annotate_cut (block.start, block.start,
                          block.start + sli_block_bytes (&block));
      chain->table[n_kept++] = block;
    }
  table_close (chain, n_kept, n_were_used - n_kept);
  chain->n_used = n_used;
}

/* The blocks from the last one on, as many as are one piece: those that came
 * in a row are neighbours. */
static Block
chain_pop_last (BlockChain *chain, uint32_t n_least)
{
  const Block *last = &chain->table[chain->n_blocks - 1];
  const Block *end = chain->table + n_least;
  Block piece = *last;
  bool joins = chain->source == NULL && !chain->is_annotated
               && block_is_joinable (last);
  while (joins && last > end && sli_block_bytes (&piece) <= JOINED_BYTES_MAX
         && block_is_joinable (last - 1)
         && last[-1].start + sli_block_bytes (last - 1) == piece.start)
    {
      last--;
      piece.start = last->start;
      piece.bytes_and_dedicated += sli_block_bytes (last);
    }
  chain->n_blocks = (uint32_t) (last - chain->table);
  return piece;
}

size_t
sli_chain_trim (BlockChain *chain, uint32_t n_keep)
{
  size_t before = chain->held_bytes;
  uint32_t n_least = chain->n_used + n_keep;
  while (chain->n_blocks > n_least)
    block_unmap (chain, chain_pop_last (chain, n_least));
  return before - chain->held_bytes;
}

/* The spare block that `keep` means, moved to the front. */
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

/* What gives back everything need not tell own blocks from spare ones first;
 * a tool is told block by block. */
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
    chain_free_all (chain);
  else
    sli_chain_trim (chain, sli_chain_empty (chain, keep));
}

void
sli_chain_fini (BlockChain *chain)
{
  chain_free_all (chain);
  if (chain->is_annotated && chain->embedded != NULL)
    sli_annotate_block_gone (chain->embedded, chain->embedded_bytes);
  slice_free1 (chain->n_room * sizeof (Block), chain->table);
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
  stats->control_bytes = control_bytes + chain->n_room * sizeof (Block);
  stats->held_bytes = chain->held_bytes + stats->control_bytes;
  stats->n_blocks = chain->n_blocks + (chain->embedded != NULL);
  stats->n_spare_blocks = chain->n_blocks - chain->n_used;
  stats->n_requests = chain->n_requests;
  for (uint32_t i = 0; i < chain->n_used; i++)
    stats->n_own_blocks += sli_block_is_dedicated (&chain->table[i]);
}
