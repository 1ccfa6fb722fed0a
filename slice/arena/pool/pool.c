/* pool.c - pools: objects of one size, freed in any order or all at once
 *
 * Layer: arena: above the chain of blocks.  Blocks are added in pool-blocks.c.
 * Chunks are allocated and freed in pool-plain.c, or in pool-track.c if each
 * call is checked.
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
#include "arena/arena-private.h"
#include "arena/bump/traced.h"

#define CONTROL_BYTES align_up (sizeof (SlicePool), 16)

enum
{
  NEW_BYTES = 512,
  OBJECT_BYTES_MAX = MIB (1)
};

void
sli_pool_require (const SlicePool *pool, const char *operation)
{
  sli_arena_require (pool, pool->kind, ARENA_POOL, operation);
}

/* --- making and ending --------------------------------------------------- */

static size_t
pool_bytes (const SlicePoolOptions *given, SlicePoolOptions *options)
{
  bool is_locked = (given->arena.flags & SLICE_ARENA_LOCKED) != 0;
  size_t alignment, empty;
  SliceArenaOptions arena;

  *options = *given;
  if (options->alignment == 0)
    options->alignment = sli_natural_alignment (given->object_bytes);
  alignment = options->alignment;
  if (given->object_bytes == 0 || given->object_bytes > OBJECT_BYTES_MAX
      || !is_power_of_two (alignment)
      || alignment > SLICE_ARENA_ALIGNMENT_MAX)
    {
      errno = EINVAL;
      return 0;
    }
  if (alignment < 8)
    options->alignment = 8;
  options->arena.flags &= ~(unsigned) SLICE_ARENA_LOCKED;
  arena = options->arena;
  if (!sli_options_fill (&arena, NEW_BYTES - CONTROL_BYTES, 0,
                         &options->arena))
    return 0;
  empty
      = CONTROL_BYTES + sli_options_embedded (&options->arena, CONTROL_BYTES);
  if (!sli_options_allow (&options->arena, empty))
    return 0;
  options->arena.flags |= is_locked ? SLICE_ARENA_LOCKED : 0;
  return empty + (is_locked ? LOCKED_POOL_BYTES : 0);
}

size_t
sli_arena_pool_bytes (const SlicePoolOptions *given, SlicePoolOptions *options)
{
  size_t bytes = pool_bytes (given, options);

  return bytes != 0 && sli_options_settle () ? pool_bytes (given, options)
                                             : bytes;
}

static void
pool_lay_out (SlicePool *pool)
{
  const SlicePoolOptions *options = &pool->options;
  bool is_annotated = pool->chain.is_annotated;
  size_t object = sli_round8 (options->object_bytes);
  bool links_behind;
  size_t chunk;

  pool->is_filled = (options->arena.flags & SLICE_ARENA_CHECKED) != 0
                    || sli_arena_all_checked ();
  links_behind = pool->is_filled || is_annotated || options->construct != NULL;
  pool->is_filled = pool->is_filled && options->construct == NULL;
  pool->is_traced = (options->arena.flags & ARENA_TRACED) != 0;
  pool->is_tracked = links_behind || pool->is_traced;
  pool->has_tracks = pool->is_tracked;
  pool->link_offset = links_behind ? object : 0;
  chunk = object + (links_behind ? sizeof (void *) : 0);
  chunk += is_annotated ? ANNOTATE_GAP_BYTES : 0;
  pool->chunk_bytes = align_up (chunk, options->alignment);
}

static SlicePool *
pool_setup (void *memory, const SlicePoolOptions *options,
            void (*end) (void *))
{
  SlicePool *pool = memory;
  size_t embedded;

  memset (pool, 0, sizeof *pool);
  embedded = sli_options_embedded (&options->arena, CONTROL_BYTES);
  pool->kind = ARENA_POOL;
  pool->control_bytes = (uint32_t) (CONTROL_BYTES + embedded);
  pool->end = end;
  pool->handle = pool;
  pool->options = *options;
  sli_chain_init (&pool->chain, &options->arena, (char *) pool + CONTROL_BYTES,
                  embedded, CONTROL_BYTES);
  pool_lay_out (pool);
  sli_pool_map_init (&pool->map);
  sli_pool_plain_init (pool);
  sli_pool_start_over (pool);
  return pool;
}

SlicePool *
sli_arena_pool_setup (void *memory, const SlicePoolOptions *options,
                      void (*end) (void *))
{
  SlicePoolOptions own = *options;

  if ((own.arena.flags & SLICE_ARENA_LOCKED) == 0)
    return pool_setup (memory, &own, end);
  own.arena.flags &= ~(unsigned) SLICE_ARENA_LOCKED;
  return sli_pool_locked_setup (
      memory, pool_setup ((char *) memory + LOCKED_POOL_BYTES, &own, NULL),
      end);
}

void
sli_arena_pool_fini (void *memory)
{
  SlicePool *pool = memory;

  if (sli_pool_is_locked (pool))
    pool = sli_pool_locked_fini (pool);
  if (pool->is_traced)
    sli_pool_track_report_end (pool);
  if (pool->stack_capacity != 0)
    sli_pool_plain_fini (pool);
  if (pool->has_tracks)
    sli_pool_track_fini (pool);
  pool->kind = ARENA_DEAD;
  if (!sli_chain_is_bare (&pool->chain))
    sli_chain_fini (&pool->chain);
}

static void
pool_end (void *memory)
{
  size_t bytes = 0;
  SlicePool *pool = memory;

  if (sli_pool_is_locked (pool))
    {
      bytes = LOCKED_POOL_BYTES;
      pool = ((LockedPool *) memory)->pool;
    }
  bytes += pool->control_bytes;
  sli_arena_pool_fini (memory);
  slice_free1 (bytes, memory);
}

SlicePool *
slice_pool_new (const SlicePoolOptions *given)
{
  SlicePoolOptions options;
  size_t bytes = sli_arena_pool_bytes (given, &options);
  void *memory = bytes != 0 ? slice_try_alloc (bytes) : NULL;

  return memory != NULL ? sli_arena_pool_setup (memory, &options, pool_end)
                        : NULL;
}

/* The first plain pool, before its first use.  Other plain pools are copies
 * that differ in what follows from the size of their objects. */
static SlicePool pristine;
static int pristine_state; /* PristineState */

/* Two copies, as the compiler makes a single large one with a slow string
 * instruction. */
static inline void
pristine_copy (SlicePool *pool)
{
  memcpy (pool, &pristine, offsetof (SlicePool, chain));
  pool->chain = pristine.chain;
}

static SlicePool *
pool_like_pristine (size_t object_bytes)
{
  SlicePool *pool = slice_try_alloc (NEW_BYTES);
  size_t alignment;

  if (pool == NULL)
    return NULL;
  pristine_copy (pool);
  alignment = sli_natural_alignment (object_bytes);
  pool->handle = pool;
  pool->options.object_bytes = object_bytes;
  pool->options.alignment = alignment;
  pool->chunk_bytes = align_up (sli_round8 (object_bytes), alignment);
  pool->chain.embedded = (char *) pool + CONTROL_BYTES;
  sli_pool_enter (pool, sli_chain_block (&pool->chain, BLOCK_EMBEDDED));
  return pool;
}

SlicePool *
slice_pool_new_plain (size_t object_bytes)
{
  SlicePoolOptions options = { .object_bytes = object_bytes };
  SlicePool *pool;

  if (LIKELY (object_bytes - 1 < OBJECT_BYTES_MAX
              && sli_pristine_is_kept (&pristine_state)))
    return pool_like_pristine (object_bytes);
  pool = slice_pool_new (&options);
  if (pool != NULL && !pool->is_tracked)
    sli_pristine_keep (&pristine_state, &pristine, pool, sizeof pristine);
  return pool;
}

void
slice_pool_destroy (SlicePool *pool)
{
  if (pool == NULL)
    return;
  if (sli_pool_is_locked (pool))
    {
      LockedPool *shell = (LockedPool *) (void *) pool;

      shell->end (shell);
      return;
    }
  sli_pool_require (pool, "slice_pool_destroy");
  pool->end (pool);
}

void *
slice_pool_alloc_slow_v1 (SlicePool *pool)
{
  if (LIKELY (pool->kind == ARENA_POOL) && sli_pool_only_cuts (pool))
    return sli_pool_cut_one (pool);
  if (sli_pool_is_locked (pool))
    return sli_pool_locked_alloc (pool);
  sli_pool_require (pool, "slice_pool_alloc");
  if (pool->is_tracked)
    return sli_pool_track_alloc (pool);
  return sli_pool_plain_alloc (pool);
}

void
slice_pool_free_slow_v1 (SlicePool *pool, void *object)
{
  if (sli_pool_is_locked (pool))
    {
      sli_pool_locked_free (pool, object);
      return;
    }
  sli_pool_require (pool, "slice_pool_free");
  if (object == NULL)
    return;
  if (pool->is_tracked)
    sli_pool_track_free (pool, object);
  else
    sli_pool_plain_free (pool, object);
}

void
slice_pool_free_bulk (SlicePool *shown, size_t n, void *const *objects)
{
  SlicePool *pool = sli_pool_acquire (shown, "slice_pool_free_bulk");

  for (size_t i = 0; i < n; i++)
    slice_pool_free (pool, objects[i]);
  sli_pool_release (shown);
}

/* --- the rest ------------------------------------------------------------ */

static size_t
pool_return_spare (SlicePool *pool, uint32_t n_keep)
{
  BlockChain *chain = &pool->chain;

  if (pool->is_tracked)
    for (uint32_t i = chain->n_used + n_keep; i < chain->n_blocks; i++)
      sli_pool_track_block_gone (pool, chain->table[i]);
  return sli_chain_trim (chain, n_keep);
}

static void
pool_trim_tables (SlicePool *pool)
{
  sli_chain_trim_table (&pool->chain);
  sli_pool_tracks_trim (pool);
}

static void
pool_reset (SlicePool *pool, SliceKeep keep)
{
  uint32_t n_keep;

  if (pool->is_traced)
    sli_pool_track_report_end (pool);
  n_keep = sli_chain_empty (&pool->chain, keep);
  pool_return_spare (pool, n_keep);
  pool->keeps_blocks = false;
  sli_pool_start_over (pool);
  if (keep != SLICE_KEEP_NONE)
    return;
  sli_pool_plain_fini (pool);
  pool_trim_tables (pool);
}

void
slice_pool_reset (SlicePool *shown, SliceKeep keep)
{
  pool_reset (sli_pool_acquire (shown, "slice_pool_reset"), keep);
  sli_pool_release (shown);
}

/* In blocks and tables. */
static size_t
pool_held (const SlicePool *pool)
{
  return pool->chain.held_bytes + pool->chain.beside_bytes;
}

/* The bits that show which blocks are empty may take more than these blocks.
 * Then they go back, too. */
static size_t
pool_trim (SlicePool *pool)
{
  size_t before = pool_held (pool);
  size_t after;

  pool->keeps_blocks = false;
  if (sli_pool_n_live (pool) > 0)
    {
      if (pool->is_tracked)
        sli_pool_track_trim (pool);
      else
        sli_pool_plain_trim (pool);
      pool_return_spare (pool, 0);
      if (pool_held (pool) > before)
        sli_pool_plain_untrim (pool);
    }
  else
    pool_reset (pool, SLICE_KEEP_NONE);
  pool_trim_tables (pool);
  after = pool_held (pool);
  assert_here (after <= before);
  return before > after ? before - after : 0;
}

size_t
slice_pool_trim (SlicePool *shown)
{
  size_t bytes = pool_trim (sli_pool_acquire (shown, "slice_pool_trim"));

  sli_pool_release (shown);
  return bytes;
}

size_t
slice_pool_n_live (const SlicePool *shown)
{
  size_t n = sli_pool_n_live (sli_pool_acquire (shown, "slice_pool_n_live"));

  sli_pool_release (shown);
  return n;
}

size_t
slice_pool_chunk_bytes (const SlicePool *shown)
{
  const SlicePool *pool = sli_pool_acquire (shown, "slice_pool_chunk_bytes");
  size_t bytes = pool->chunk_bytes;

  sli_pool_release (shown);
  return bytes;
}

/* The bytes at both ends of each block in use that are part of no chunk. */
static size_t
pool_wasted (const SlicePool *pool)
{
  const BlockChain *chain = &pool->chain;
  size_t wasted = 0;

  for (int32_t i = BLOCK_EMBEDDED; i < (int32_t) chain->n_used; i++)
    {
      Block block = sli_chain_block (chain, i);
      size_t bytes = sli_block_bytes (&block);
      /* An empty chain's start is NULL, which has no offsets. */
      size_t skip = (0 - (uintptr_t) block.start)
                    & (pool->options.alignment - 1);

      if (bytes >= skip)
        wasted += skip + (bytes - skip) % pool->chunk_bytes;
      else
        wasted += bytes;
    }
  return wasted;
}

void
slice_pool_get_stats (const SlicePool *shown, SliceArenaStats *stats)
{
  const SlicePool *pool = sli_pool_acquire (shown, "slice_pool_get_stats");
  size_t control = CONTROL_BYTES + sli_pool_track_bytes (pool)
                   + sli_pool_plain_bytes (pool);

  sli_chain_stats (&pool->chain, control, stats);
  stats->used_bytes = sli_pool_n_live (pool) * pool->chunk_bytes;
  stats->wasted_bytes = pool_wasted (pool);
  stats->free_bytes
      = pool->chain.held_bytes - stats->used_bytes - stats->wasted_bytes;
  sli_pool_release (shown);
}
