/* block-map.c - the memory of an arena's blocks
 *
 * Layer: arena: below the chain of blocks (block-source.c).  Small blocks are
 * slices, larger ones pages of the arena's source or of the spans that arenas
 * share.  No locks.
 *
 * Design: section 8.1.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "block-source.h"

#include "arena/annotate.h"
#include "base/check.h"
#include "base/trace.h"
#include "port/compiler.h"
#include "arena/source/source-map.h"
#include "arena/source/span.h"

enum
{
  /* The most blocks that a new one from the arena's own source is compared
   * with. */
  LOOKED_AT_MAX = 64,

  /* From this size on the pages of a regular block get memory in one call. */
  READY_BYTES_MIN = KIB (32),
  /* But only if the block is at most this part of the bytes held. */
  READY_PART = 16
};

static const SliceSource *
chain_source (const BlockChain *chain)
{
  return chain->source != NULL ? chain->source : sli_shared_source ();
}

/* Returns true if memory overlaps one of the blocks that were put into use
 * last, or the embedded one.  A source that returns memory twice does so soon,
 * and a large arena has too many blocks to check all. */
static bool
chain_overlaps (const BlockChain *chain, const char *start, size_t bytes)
{
  uintptr_t from = (uintptr_t) start;
  uint32_t first = chain->n_blocks > LOOKED_AT_MAX
                       ? chain->n_blocks - LOOKED_AT_MAX
                       : 0;

  for (uint32_t i = first; i < chain->n_blocks; i++)
    {
      const Block *block = &chain->table[i];

      if ((uintptr_t) block->start - from < bytes
          || from - (uintptr_t) block->start < sli_block_bytes (block))
        return true;
    }
  return (uintptr_t) chain->embedded - from < bytes;
}

/* Maps a block from the arena's own source. */
static char *
own_map (const BlockChain *chain, size_t bytes)
{
  char *start;

  TRACE_INTERNAL (
      start = sli_source_map (chain->source, bytes, SPAN_PAGE_BYTES));
  if (start == NULL || LIKELY (!chain_overlaps (chain, start, bytes)))
    return start;
  sli_source_report (chain->source, start);
  return NULL;
}

/* Maps a block of pages.  Objects soon fill the regular blocks of a large
 * arena, so these get all their memory at once. */
static char *
pages_map (const BlockChain *chain, size_t bytes, bool is_regular)
{
  char *start;
  const SliceSource *source;
  bool is_ready;

  if (chain->source != NULL)
    return own_map (chain, bytes);
  source = sli_shared_source ();
  is_ready = is_regular && bytes >= READY_BYTES_MIN
             && bytes <= SPAN_READY_BYTES_MAX
             && chain->held_bytes >= bytes * READY_PART;
  TRACE_INTERNAL (start = is_ready
                              ? sli_shared_map_ready (bytes)
                              : source->map (source, bytes, SPAN_PAGE_BYTES));
  return start;
}

char *
sli_block_map (BlockChain *chain, size_t bytes, bool is_regular)
{
  char *start;

  if (!sli_chain_may_hold (chain, bytes))
    return NULL;
  start = sli_chain_uses_slice (chain, bytes)
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

bool
sli_block_extend (BlockChain *chain, Block *block, size_t bytes)
{
  const char *end = block->start + sli_block_bytes (block);

  if (bytes >= READY_BYTES_MIN || !sli_chain_may_hold (chain, bytes)
      || !sli_shared_extend (end, bytes))
    return false;
  block->bytes_and_dedicated += bytes;
  chain->held_bytes += bytes;
  chain->n_requests++;
  return true;
}

NOINLINE static void
pages_unmap (const BlockChain *chain, char *start, size_t bytes)
{
  const SliceSource *source = chain_source (chain);

  if (source->unmap != NULL)
    TRACE_INTERNAL (source->unmap (source, start, bytes));
}

/* A block of the shared spans stays hidden there, so that a tool also sees a
 * use after the end of an arena. */
COLD static void
block_unwatch (const BlockChain *chain, const char *start, size_t bytes)
{
  if (chain->source == NULL && !sli_chain_uses_slice (chain, bytes))
    sli_annotate_block_kept (start, bytes);
  else
    sli_annotate_block_gone (start, bytes);
}

void
sli_block_unmap (BlockChain *chain, Block block)
{
  size_t bytes = sli_block_bytes (&block);

  if (UNLIKELY (chain->is_annotated))
    block_unwatch (chain, block.start, bytes);
  assert_here (chain->held_bytes >= bytes);
  chain->held_bytes -= bytes;
  if (sli_chain_uses_slice (chain, bytes))
    slice_free1 (bytes, block.start);
  else
    pages_unmap (chain, block.start, bytes);
}
