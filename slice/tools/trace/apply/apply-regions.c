/* apply-regions.c - replays each site on a region as libslice-advice has it
 *
 * Tools.  Each thread fills a chunk of its own for each site; a chunk is freed
 * with its last block.  So the memory that a region would take is measured, and
 * not estimated from the site's class.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#include "apply.h"
#include <stdlib.h>

#define CHUNK_HEAD_BYTES 320u

typedef struct
{
  uint32_t result, thread;
  uint32_t top, n_live;
  bool is_open;
} Chunk;

typedef struct
{
  uint32_t chunk, at, bytes; /* bytes 0: not in use */
  uint32_t malloc_bytes;
} Block;

typedef struct
{
  Profile *profile;
  ApplySite *sites;
  uint64_t *by_node;
  Chunk *chunks;
  uint32_t n_chunks, chunks_capacity;
  Table open; /* by result and thread: its chunk plus 1 */
  Block *blocks;
  uint32_t n_blocks, blocks_capacity;
  uint32_t *unused, n_unused, unused_capacity;
  Table by_address; /* a block's number plus 1 */
  Table resizing;   /* threads whose realloc has freed the old block */
} Replay;

bool
sli_apply_is_served (const TraceEvent *event, Table *resizing)
{
  bool resizes = sli_table_remove (resizing, event->thread) != 0;

  if (event->size > APPLY_BLOCK_BYTES_MAX)
    return false;
  switch (event->op)
    {
    case TRACE_OP_MALLOC:
    case TRACE_OP_CALLOC:
    case TRACE_OP_NEW:
    case TRACE_OP_NEW_ARRAY:
      return true;
    case TRACE_OP_REALLOC:
    case TRACE_OP_REALLOCARRAY:
      return !resizes;
    default:
      return false;
    }
}

static void
peak_note (ApplySite *site)
{
  if (site->region_bytes > site->region_peak)
    site->region_peak = site->region_bytes;
  if (site->malloc_bytes > site->malloc_peak)
    site->malloc_peak = site->malloc_bytes;
}

static uint32_t
block_number (Replay *replay)
{
  if (replay->n_unused > 0)
    return replay->unused[--replay->n_unused];
  if (replay->n_blocks == replay->blocks_capacity)
    {
      replay->blocks_capacity = replay->blocks_capacity * 2 + 1024;
      replay->blocks = sli_tool_grow (
          replay->blocks, replay->blocks_capacity * sizeof (Block));
    }
  return replay->n_blocks++;
}

static void
block_unuse (Replay *replay, uint32_t number)
{
  if (replay->n_unused == replay->unused_capacity)
    {
      replay->unused_capacity = replay->unused_capacity * 2 + 1024;
      replay->unused = sli_tool_grow (
          replay->unused, replay->unused_capacity * sizeof (uint32_t));
    }
  replay->unused[replay->n_unused++] = number;
}

/* --- chunks -------------------------------------------------------------- */

static void
chunk_close (Replay *replay, Chunk *chunk)
{
  ApplySite *site = &replay->sites[chunk->result];

  chunk->is_open = false;
  if (chunk->n_live == 0)
    site->region_bytes -= chunk->top;
}

/* The thread's chunk of the site that has space; opens one. */
static uint32_t
chunk_find (Replay *replay, uint32_t result, uint32_t thread, uint32_t bytes)
{
  uint32_t *number
      = sli_table_add (&replay->open, (uint64_t) result << 32 | thread);

  if (*number != 0)
    {
      Chunk *chunk = &replay->chunks[*number - 1];

      if (chunk->top + bytes <= APPLY_CHUNK_BYTES)
        return *number - 1;
      chunk_close (replay, chunk);
    }
  if (replay->n_chunks == replay->chunks_capacity)
    {
      replay->chunks_capacity = replay->chunks_capacity * 2 + 256;
      replay->chunks = sli_tool_grow (
          replay->chunks, replay->chunks_capacity * sizeof (Chunk));
    }
  replay->chunks[replay->n_chunks] = (Chunk){ .result = result,
                                              .thread = thread,
                                              .top = CHUNK_HEAD_BYTES,
                                              .is_open = true };
  replay->sites[result].region_bytes += CHUNK_HEAD_BYTES;
  *number = ++replay->n_chunks;
  return *number - 1;
}

static void
chunk_top (Replay *replay, Chunk *chunk, uint32_t top)
{
  replay->sites[chunk->result].region_bytes += top;
  replay->sites[chunk->result].region_bytes -= chunk->top;
  chunk->top = top;
}

/* --- events -------------------------------------------------------------- */

static void
event_alloc (Replay *replay, const TraceEvent *event)
{
  uint32_t result = replay->profile->final_map[event->node];
  ApplySite *site;
  uint32_t bytes;
  uint32_t plain;
  uint32_t at;
  Chunk *chunk;
  uint32_t number;

  if (!sli_apply_is_served (event, &replay->resizing) || result == SITE_NONE)
    return;
  site = &replay->sites[result];
  bytes = ((uint32_t) event->size + 15) & ~15u;
  plain = ((uint32_t) event->size + 23) & ~15u;
  bytes = bytes == 0 ? 16 : bytes;
  plain = plain < 32 ? 32 : plain;
  at = chunk_find (replay, result, event->thread, bytes);
  chunk = &replay->chunks[at];
  number = block_number (replay);
  replay->blocks[number] = (Block){ at, chunk->top, bytes, plain };
  *sli_table_add (&replay->by_address, event->address) = number + 1;
  chunk_top (replay, chunk, chunk->top + bytes);
  chunk->n_live++;
  site->n_blocks++;
  site->bytes += event->size;
  site->malloc_bytes += plain;
  if (event->size > site->largest)
    site->largest = event->size;
  replay->by_node[event->node]++;
  peak_note (site);
}

static void
event_free (Replay *replay, const TraceEvent *event)
{
  uint32_t number = sli_table_remove (&replay->by_address, event->address);
  const Block *block;
  Chunk *chunk;
  ApplySite *site;

  if (event->op == TRACE_OP_REALLOC_FREE)
    *sli_table_add (&replay->resizing, event->thread) = 1;
  if (number == 0)
    return;
  block = &replay->blocks[number - 1];
  chunk = &replay->chunks[block->chunk];
  site = &replay->sites[chunk->result];
  site->malloc_bytes -= block->malloc_bytes;
  chunk->n_live--;
  if (chunk->is_open && chunk->n_live == 0)
    chunk_top (replay, chunk, CHUNK_HEAD_BYTES);
  else if (chunk->is_open && event->thread == chunk->thread
           && block->at + block->bytes == chunk->top)
    chunk_top (replay, chunk, block->at);
  else if (!chunk->is_open && chunk->n_live == 0)
    site->region_bytes -= chunk->top;
  block_unuse (replay, number - 1);
}

ApplySite *
sli_apply_regions (Profile *profile, const ProfileOptions *options,
                   uint64_t **by_node)
{
  Replay replay = { .profile = profile };
  Reading reading;
  const TraceEvent *event;

  replay.sites
      = sli_tool_zero ((profile->n_results + 1) * sizeof (ApplySite));
  replay.by_node
      = sli_tool_zero (profile->reader->n_nodes * sizeof (uint64_t));
  sli_reading_begin (&reading, profile, options, NULL, "regions");
  while ((event = sli_reading_next (&reading)) != NULL)
    if (trace_op_is_alloc (event->op))
      event_alloc (&replay, event);
    else if (trace_op_is_free (event->op))
      event_free (&replay, event);
  free (replay.chunks);
  free (replay.blocks);
  free (replay.unused);
  sli_table_free (&replay.open);
  sli_table_free (&replay.by_address);
  sli_table_free (&replay.resizing);
  *by_node = replay.by_node;
  return replay.sites;
}
