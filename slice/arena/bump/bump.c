/* bump.c - the current block of a linear or stack arena
 *
 * Layer: arena.  See bump.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "bump.h"

#include <string.h>
#include "base/diag.h"
#include "traced.h"

static const char *
kind_name (ArenaKind kind)
{
  switch (kind)
    {
    case ARENA_LINEAR:
      return "linear arena";
    case ARENA_STACK:
      return "stack arena";
    case ARENA_POOL:
    case ARENA_POOL_LOCKED:
      return "pool";
    case ARENA_TLSF:
    case ARENA_TLSF_LOCKED:
      return "TLSF heap";
    case ARENA_DEAD:
      return "arena";
    }
  return "arena";
}

void
sli_arena_report_handle (const void *handle, ArenaKind want,
                         const char *operation)
{
  sli_untraced_abort (ARENA_MISUSE_HANDLE, handle, "%s: %p is no live %s",
                      operation, handle, kind_name (want));
}

size_t
sli_bump_bytes (const SliceArenaOptions *options, size_t control_bytes)
{
  size_t empty = control_bytes + sli_options_embedded (options, control_bytes);

  return sli_options_allow (options, empty)
             ? empty + sli_traced_bytes (options)
             : 0;
}

void
sli_bump_init (Bump *bump, ArenaKind kind, const SliceArenaOptions *options,
               size_t control_bytes, void (*end) (void *))
{
  size_t embedded = sli_options_embedded (options, control_bytes);

  memset (bump, 0, offsetof (Bump, chain));
  bump->kind = kind;
  bump->end = end;
  bump->control_bytes
      = (uint32_t) (control_bytes + embedded + sli_traced_bytes (options));
  sli_chain_init (&bump->chain, options, (char *) bump + control_bytes,
                  embedded, control_bytes);
  bump->chain.is_traced = (options->flags & ARENA_TRACED) != 0;
  if (bump->chain.is_traced)
    sli_traced_init (bump);
  bump->is_always_hidden = bump->chain.is_annotated || bump->chain.is_traced;
  bump->current = BLOCK_NONE;
  sli_bump_hide (bump);
  if (embedded != 0)
    sli_bump_enter (bump, BLOCK_EMBEDDED, bump->chain.embedded);
  if (!bump->is_always_hidden)
    sli_bump_unhide (bump);
}

void
sli_bump_fini (Bump *bump)
{
  if (bump->chain.is_traced)
    sli_traced_fini (bump);
  sli_bump_hide (bump);
  bump->head.growing = NULL;
  bump->head.growing_end = NULL;
  bump->kind = ARENA_DEAD;
  if (!sli_chain_is_bare (&bump->chain))
    sli_chain_fini (&bump->chain);
}

/* An arena without a block stays hidden, as it has nothing to allocate from or
 * to release. */
void
sli_bump_unhide (Bump *bump)
{
  if (bump->is_always_hidden || bump->current == BLOCK_NONE)
    return;
  assert_here (bump->kind != ARENA_DEAD && bump->at <= bump->block_end);
  bump->is_hidden = false;
  bump->head.next = bump->at;
  bump->head.end = bump->block_end;
}

void
sli_bump_enter (Bump *bump, int32_t index, char *at)
{
  Block block = sli_chain_block (&bump->chain, index);
  char *end = block.start + sli_block_bytes (&block);

  assert_here (at >= block.start && at <= end);
  assert_here (bump->kind != ARENA_DEAD);
  bump->current = index;
  bump->at = at;
  sli_bump_show (bump, at, end);
  if (UNLIKELY (bump->is_always_hidden))
    sli_bump_hide (bump);
}

size_t
sli_require_alignment (size_t alignment, const char *operation)
{
  if (!is_power_of_two (alignment) || alignment > SLICE_ARENA_ALIGNMENT_MAX)
    sli_diag_abort (ARENA_MISUSE_ALIGNMENT,
                    "%s: alignment %zu is no power of two up to %d",
                    operation, alignment, SLICE_ARENA_ALIGNMENT_MAX);
  return alignment < 8 ? 8 : alignment;
}

void
sli_require_power_of_two (size_t alignment, const char *operation)
{
  if (!is_power_of_two (alignment))
    sli_diag_abort (ARENA_MISUSE_ALIGNMENT,
                    "%s: alignment %zu is no power of two", operation,
                    alignment);
}

COLD static void
bump_report (Bump *bump, const void *object, size_t size)
{
  if (bump->chain.is_annotated)
    sli_annotate_object (sli_bump_start (bump), object, size);
  if (bump->chain.is_traced)
    sli_traced_alloc (bump, object, size);
}

char *
sli_bump_alloc (Bump *bump, size_t alignment, size_t size)
{
  size_t need;
  char *object;

  if (bump->current == BLOCK_NONE)
    return NULL;
  need = sli_round8 (size) + sli_bump_gap (bump);
  object = sli_align (sli_bump_at (bump), alignment);
  if (object > bump->block_end || need > (size_t) (bump->block_end - object))
    return NULL;
  assert_here (object >= sli_bump_start (bump));
  sli_bump_set_at (bump, object + need);
  if (UNLIKELY (bump->is_always_hidden))
    bump_report (bump, object, size);
  return object;
}

/* The bytes in objects of dedicated blocks.  Their sizes are the caller's, and
 * a string may have grown from less than it was allocated with. */
static size_t
bump_own_bytes (const Bump *bump)
{
  size_t bytes = 0;

  for (uint32_t i = 0; i < bump->chain.n_used; i++)
    if (sli_block_is_dedicated (&bump->chain.table[i]))
      bytes += sli_block_bytes (&bump->chain.table[i]);
  return bump->own_bytes < bytes ? bump->own_bytes : bytes;
}

void
sli_bump_stats (const Bump *bump, size_t control_bytes, SliceArenaStats *stats)
{
  const BlockChain *chain = &bump->chain;

  sli_chain_stats (chain, control_bytes, stats);
  stats->used_bytes = bump->left_bytes + bump_own_bytes (bump);
  if (bump->current != BLOCK_NONE)
    {
      char *at = sli_bump_at (bump);

      stats->used_bytes += (size_t) (at - sli_bump_start (bump));
      stats->free_bytes += (size_t) (bump->block_end - at);
    }
  for (uint32_t i = chain->n_used; i < chain->n_blocks; i++)
    stats->free_bytes += sli_block_bytes (&chain->table[i]);
  stats->wasted_bytes
      = chain->held_bytes - stats->used_bytes - stats->free_bytes;
}
