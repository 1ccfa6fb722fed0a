/* pool-track.c - pools that know each of their chunks
 *
 * Layer: arena.  A bit for each chunk says whether it is live, so every bad
 * free is found at the call.  A pool is of this kind if its objects are
 * constructed, or if it is checked, traced or under a tool.  A plain pool has
 * tracks, too, once many of its objects are free: see pool-plain.c.
 *
 * Design: section 8.4.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "pool.h"

#include <errno.h>
#include <string.h>
#include "base/diag.h"
#include "arena/bump/traced.h"
#include "port/compiler.h"

enum
{
  /* Fills the free objects of a checked pool. */
  FILL_BYTE = 0xdb
};

static size_t
live_bytes (const Track *track)
{
  return (track->n_chunks + WORD_BITS - 1) / WORD_BITS * sizeof (uint64_t);
}

/* Allocates the bits, none of them set; false: no memory. */
static bool
live_alloc (SlicePool *pool, Track *track)
{
  track->live = sli_chain_table_alloc (&pool->chain, 0, live_bytes (track));
  if (track->live != NULL)
    memset (track->live, 0, live_bytes (track));
  return track->live != NULL;
}

static char *
track_chunk (const SlicePool *pool, const Track *track, size_t index)
{
  return track->start + index * pool->chunk_bytes;
}

/* --- blocks -------------------------------------------------------------- */

bool
sli_pool_track_block (SlicePool *pool, Block block)
{
  char *start = sli_align (block.start, pool->options.alignment);
  char *end = block.start + sli_block_bytes (&block);
  size_t space = end > start ? (size_t) (end - start) : 0;
  Track track
      = { .start = start, .n_chunks = (uint32_t) (space / pool->chunk_bytes) };
  uint32_t rank;

  track.n_unset = track.n_chunks;
  if (track.n_chunks == 0 || sli_pool_track_of (pool, start) != NULL)
    return true;
  if (!sli_pool_tracks_reserve (pool, pool->n_tracks + 1))
    return false;
  /* The hooks are called for each end exactly once, which needs the bits. */
  if (pool->is_traced && !live_alloc (pool, &track))
    return false;
  rank = sli_pool_track_rank (pool, start);
  if (rank < pool->first_free)
    pool->first_free++;
  memmove (pool->tracks + rank + 1, pool->tracks + rank,
           (pool->n_tracks - rank) * sizeof (Track));
  pool->tracks[rank] = track;
  pool->n_tracks++;
  sli_pool_map_expire (pool);
  assert_here (pool->n_tracks <= pool->tracks_capacity);
  return true;
}

static void
track_end (SlicePool *pool, Track *track)
{
  const SlicePoolOptions *options = &pool->options;

  for (uint32_t i = 0; i < track->n_constructed; i++)
    {
      char *object = track_chunk (pool, track, i);

      if (pool->chain.is_annotated)
        sli_annotate_show_defined (object, options->object_bytes);
      if (options->destruct != NULL)
        options->destruct (object, options->data);
    }
  if (track->live != NULL)
    sli_chain_table_free (&pool->chain, live_bytes (track), track->live);
}

void
sli_pool_track_block_gone (SlicePool *pool, Block block)
{
  char *start = sli_align (block.start, pool->options.alignment);
  Track *track = sli_pool_track_of (pool, start);
  size_t n_above;

  if (track == NULL)
    return;
  track_end (pool, track);
  pool->n_tracks--;
  sli_pool_map_expire (pool);
  n_above = pool->n_tracks - (size_t) (track - pool->tracks);
  memmove (track, track + 1, n_above * sizeof (Track));
}

void
sli_pool_track_start_over (SlicePool *pool)
{
  const BlockChain *chain = &pool->chain;

  for (uint32_t i = 0; i < pool->n_tracks; i++)
    {
      Track *track = &pool->tracks[i];

      track->n_cut = 0;
      track->is_blind = false;
      if (track->live != NULL)
        memset (track->live, 0, live_bytes (track));
    }
  if (chain->is_annotated && chain->embedded != NULL)
    sli_annotate_cut (chain->embedded, chain->embedded,
                      chain->embedded + chain->embedded_bytes);
  pool->free = NULL;
  pool->n_live = 0;
}

void
sli_pool_track_fini (SlicePool *pool)
{
  for (uint32_t i = 0; i < pool->n_tracks; i++)
    track_end (pool, &pool->tracks[i]);
  sli_chain_table_free (&pool->chain, pool->tracks_capacity * sizeof (Track),
                        pool->tracks);
  pool->tracks = NULL;
  pool->n_tracks = 0;
  pool->tracks_capacity = 0;
  pool->first_free = 0;
  pool->n_empty = 0;
  sli_pool_map_fini (pool);
}

void
sli_pool_tracks_remove_retired (SlicePool *pool)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < pool->n_tracks; i++)
    {
      Track *track = &pool->tracks[i];

      if (track->is_retired)
        {
          pool->n_cut -= track->n_chunks;
          pool->n_spilt -= track->n_chunks;
          track_end (pool, track);
        }
      else
        pool->tracks[n++] = *track;
    }
  pool->n_tracks = n;
  sli_pool_map_expire (pool);
}

size_t
sli_pool_track_n_chunks (const SlicePool *pool)
{
  size_t n = 0;

  for (uint32_t i = 0; i < pool->n_tracks; i++)
    n += pool->tracks[i].n_chunks;
  return n;
}

size_t
sli_pool_track_bytes (const SlicePool *pool)
{
  size_t bytes = pool->tracks_capacity * sizeof (Track)
                 + pool->map.bytes;

  for (uint32_t i = 0; i < pool->n_tracks; i++)
    if (pool->tracks[i].live != NULL)
      bytes += live_bytes (&pool->tracks[i]);
  return bytes;
}

/* --- links and contents -------------------------------------------------- */

static void **
chunk_link (const SlicePool *pool, char *chunk)
{
  return (void **) (void *) (chunk + pool->link_offset);
}

static void
chunk_push (SlicePool *pool, char *chunk)
{
  void **link = chunk_link (pool, chunk);

  if (pool->chain.is_annotated)
    sli_annotate_show (link, sizeof *link);
  *link = pool->free;
  if (pool->chain.is_annotated)
    sli_annotate_hide (link, sizeof *link);
  pool->free = chunk;
}

static char *
chunk_pop (SlicePool *pool)
{
  char *chunk = pool->free;
  void **link = chunk_link (pool, chunk);

  if (pool->chain.is_annotated)
    sli_annotate_show_defined (link, sizeof *link);
  pool->free = *link;
  if (pool->chain.is_annotated)
    sli_annotate_hide (link, sizeof *link);
  return chunk;
}

static void
chunk_require_filled (const SlicePool *pool, const char *chunk)
{
  if (pool->chain.is_annotated)
    sli_annotate_show_defined (chunk, pool->options.object_bytes);
  for (size_t i = 0; i < pool->options.object_bytes; i++)
    if ((unsigned char) chunk[i] != FILL_BYTE)
      sli_diag_abort (
          ARENA_MISUSE_POOL_WRITTEN,
          "slice_pool_alloc: pool %p: %p was written to at byte %zu while"
          " free",
          pool->handle, (const void *) chunk, i);
}

/* --- alloc --------------------------------------------------------------- */

/* Constructs an object that was never constructed, and tells the tool. */
static bool
chunk_ready (SlicePool *pool, Track *track, size_t index)
{
  const SlicePoolOptions *options = &pool->options;
  char *object = track_chunk (pool, track, index);

  if (pool->chain.is_annotated)
    {
      int32_t at = sli_chain_find (&pool->chain, object);

      sli_annotate_object (sli_chain_block (&pool->chain, at).start, object,
                           options->object_bytes);
    }
  if (options->construct == NULL)
    return true;
  if (index >= track->n_constructed)
    {
      if (!options->construct (object, options->data))
        return false;
      track->n_constructed = (uint32_t) index + 1;
    }
  else if (pool->chain.is_annotated)
    sli_annotate_show_defined (object, options->object_bytes);
  return true;
}

static void
chunk_hide (SlicePool *pool, char *object)
{
  int32_t at;

  if (!pool->chain.is_annotated)
    return;
  at = sli_chain_find (&pool->chain, object);
  sli_annotate_object_gone (sli_chain_block (&pool->chain, at).start, object,
                            pool->options.object_bytes);
}

/* Allocates the next chunk that was never allocated.  If its construction
 * fails, it stays the next one. */
static char *
pool_cut_one (SlicePool *pool)
{
  char *chunk;
  Track *track;
  size_t index;

  if (pool->cut_at == pool->cut_end && !sli_pool_push_block (pool))
    return NULL;
  chunk = pool->cut_at;
  track = sli_pool_track_of (pool, chunk);
  KNOWN (track != NULL);
  index = (size_t) (chunk - track->start) / pool->chunk_bytes;
  if (!chunk_ready (pool, track, index))
    {
      chunk_hide (pool, chunk);
      errno = ENOMEM;
      return NULL;
    }
  track->n_cut = (uint32_t) index + 1;
  assert_here (track->n_cut <= track->n_chunks);
  pool->cut_at += pool->chunk_bytes;
  return chunk;
}

static void
track_flip (const SlicePool *pool, Track *track, const char *chunk)
{
  size_t index;

  KNOWN (track != NULL);
  index = (size_t) (chunk - track->start) / pool->chunk_bytes;
  if (track->live != NULL)
    track->live[index / WORD_BITS] ^= UINT64_C (1) << (index % WORD_BITS);
}

/* Allocates a block's bits, at the first free there.  Until then all chunks
 * that were cut are live, and a pool that only grows needs no bits. */
static void
track_make_bits (SlicePool *pool, Track *track)
{
  if (track->live != NULL || track->is_blind)
    return;
  track->is_blind = !live_alloc (pool, track);
  for (uint32_t i = 0; i < track->n_cut && track->live != NULL; i++)
    track->live[i / WORD_BITS] |= UINT64_C (1) << (i % WORD_BITS);
}

static bool
track_is_live (const Track *track, size_t index)
{
  if (track->live == NULL)
    return index < track->n_cut;
  return (track->live[index / WORD_BITS] >> (index % WORD_BITS) & 1) != 0;
}

void *
sli_pool_track_alloc (SlicePool *pool)
{
  char *chunk;

  if (pool->free != NULL)
    {
      Track *track;
      size_t index;

      chunk = chunk_pop (pool);
      if (pool->is_filled)
        chunk_require_filled (pool, chunk);
      track = sli_pool_track_of (pool, chunk);
      KNOWN (track != NULL);
      index = (size_t) (chunk - track->start) / pool->chunk_bytes;
      chunk_ready (pool, track, index);
    }
  else
    chunk = pool_cut_one (pool);
  if (chunk == NULL)
    return NULL;
  track_flip (pool, sli_pool_track_of (pool, chunk), chunk);
  pool->n_live++;
  if (pool->is_traced)
    sli_trace_alloc (SLICE_TRACE_POOL, chunk, pool->options.object_bytes);
  return chunk;
}

void
sli_pool_track_report_end (const SlicePool *pool)
{
  for (uint32_t i = 0; i < pool->n_tracks; i++)
    {
      const Track *track = &pool->tracks[i];

      for (uint32_t j = 0; j < track->n_cut; j++)
        if (track_is_live (track, j))
          sli_trace_free (SLICE_TRACE_POOL, track_chunk (pool, track, j), 0);
    }
}

/* --- free ---------------------------------------------------------------- */

/* The track of a live object; reports misuse of any other address. */
static Track *
track_require (const SlicePool *pool, const char *object)
{
  Track *track = sli_pool_track_of (pool, object);
  size_t offset, index;

  if (track == NULL)
    sli_pool_report_foreign (pool, object);
  offset = (size_t) (object - track->start);
  index = offset / pool->chunk_bytes;
  if (offset % pool->chunk_bytes != 0)
    sli_pool_report_interior (pool, object, offset % pool->chunk_bytes);
  if (!track_is_live (track, index))
    sli_pool_report_twice (pool, object);
  return track;
}

void
sli_pool_track_free (SlicePool *pool, void *object)
{
  Track *track = track_require (pool, object);
  uint32_t n_in_use;

  track_make_bits (pool, track);
  track_flip (pool, track, object);
  assert_here (pool->n_live > 0);
  pool->n_live--;
  if (pool->is_traced)
    sli_trace_free (SLICE_TRACE_POOL, object, 0);
  if (pool->is_filled)
    memset (object, FILL_BYTE, pool->options.object_bytes);
  chunk_hide (pool, object);
  chunk_push (pool, object);
  n_in_use = pool->chain.n_used + (pool->chain.embedded != NULL);
  if (pool->n_live == 0 && n_in_use > 1)
    sli_pool_start_over (pool);
}

/* --- trim ---------------------------------------------------------------- */

static bool
track_is_empty (const Track *track)
{
  size_t n_words = (track->n_chunks + WORD_BITS - 1) / WORD_BITS;

  if (track->live == NULL)
    return track->n_cut == 0;
  for (size_t i = 0; i < n_words; i++)
    if (track->live[i] != 0)
      return false;
  return true;
}

/* Moves the empty blocks behind the others in use, and marks their tracks.
 * Returns how many stay. */
static uint32_t
track_retire_blocks (SlicePool *pool)
{
  BlockChain *chain = &pool->chain;
  uint32_t n_kept = 0;

  for (uint32_t i = 0; i < chain->n_used; i++)
    {
      Block block = chain->table[i];
      Track *track = sli_pool_track_of (
          pool, sli_align (block.start, pool->options.alignment));

      KNOWN (track != NULL);
      track->is_retired = track_is_empty (track);
      if (track->is_retired)
        {
          if (i == chain->n_used - 1) /* the current block */
            pool->cut_at = pool->cut_end = NULL;
          continue;
        }
      chain->table[i] = chain->table[n_kept];
      chain->table[n_kept++] = block;
    }
  return n_kept;
}

/* Takes the chunks of retired blocks off the list of free ones. */
static void
track_unlink_retired (SlicePool *pool)
{
  bool is_annotated = pool->chain.is_annotated;
  void **place = &pool->free;

  while (*place != NULL)
    {
      Track *track = sli_pool_track_of (pool, *place);
      void **link = chunk_link (pool, *place);
      void **passed;

      KNOWN (track != NULL);
      if (is_annotated)
        sli_annotate_show_defined (link, sizeof *link);
      passed = track->is_retired ? link : place;
      if (track->is_retired)
        *place = *link;
      else
        place = link;
      if (is_annotated && passed != &pool->free)
        sli_annotate_hide (passed, sizeof *passed);
    }
  if (is_annotated && place != &pool->free)
    sli_annotate_hide (place, sizeof *place);
}

void
sli_pool_track_trim (SlicePool *pool)
{
  uint32_t n_kept = track_retire_blocks (pool);

  if (n_kept == pool->chain.n_used)
    return;
  track_unlink_retired (pool);
  pool->chain.n_used = n_kept;
}

/* --- the free chunks of plain pools --------------------------------------- */

bool
sli_pool_track_make_bits (SlicePool *pool, Track *track)
{
  bool has_bits = live_alloc (pool, track);

  track->n_bits = has_bits ? track->n_chunks : 0;
  track->is_recent = has_bits;
  return has_bits;
}

void
sli_pool_track_drop_bits (SlicePool *pool, Track *track)
{
  assert_here (track->n_unset == track->n_chunks);
  sli_chain_table_free (&pool->chain, live_bytes (track), track->live);
  track->live = NULL;
  track->n_bits = 0;
}
