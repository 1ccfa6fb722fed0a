/* batch.c - frees of many blocks, or without a size
 *
 * Layer: alloc.  Below: magazine, and slab as dispatch.c may.  No locks.
 * Design: chapters 4 and 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "checking/registry/block-registry.h"
#include "magazine/magazine.h"
#include "slab/chunk.h"
#include "dispatch.h"
#include "untraced.h"
#include "slab/slab.h"
#include "base/align.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/trace.h"

#include <stdlib.h>

/* In a checking mode the largest blocks are mallocs, since canaries and red
 * zones need space in a chunk. */
static void
bulk_free_checked (void *block, const char *operation, const void *site)
{
  size_t size;

  assert_here (sli_dispatch.path == PATH_CHECKING && block != NULL);
  if (LIKELY (!sli_checking_is_large (block)))
    {
      sli_dispatch.untraced.free (DIAG_SIZE_UNKNOWN, block, operation, site);
      return;
    }
  /* Blocks that no mode has in its slabs end the program, as without the
   * mode. */
  size = sli_block_registry_size (block);
  if (UNLIKELY (size > SLICE_SIZE_MAX && size != SIZE_MAX))
    sli_diag_misuse (ERROR_FOREIGN, operation,
                     &(BlockFacts){ .address = block,
                                    .given_bytes = DIAG_SIZE_UNKNOWN });
  sli_checking_remove_large (block, BLOCK_ANY_SIZE, operation, site);
  sli_dispatch_count_malloc_free ();
  TRACE_INTERNAL (free (block));
}

/* Checks and frees blocks one by one. */
static void
bulk_free_each (size_t n, void *const *blocks, const char *operation,
                const void *site)
{
  assert_here (sli_dispatch.path == PATH_CHECKING
               || sli_dispatch.path == PATH_MALLOC);
  for (size_t i = 0; i < n; i++)
    {
      if (blocks[i] == NULL)
        continue;
      if (sli_dispatch.path == PATH_CHECKING)
        {
          bulk_free_checked (blocks[i], operation, site);
          continue;
        }
      if (sli_dispatch.registers)
        sli_block_registry_remove (blocks[i], BLOCK_ANY_SIZE, operation,
                                   site);
      sli_dispatch_count_malloc_free ();
      TRACE_INTERNAL (free (blocks[i]));
    }
}

static inline void
bulk_free (size_t n, void *const *blocks, const char *operation,
           const void *site)
{
  assert_here (n == 0 || blocks != NULL);
  dispatch_make_ready ();
  if (sli_dispatch.path == PATH_CHECKING || sli_dispatch.path == PATH_MALLOC)
    {
      bulk_free_each (n, blocks, operation, site);
      return;
    }
  while (n > 0)
    {
      unsigned part = (unsigned) min_size (n, UINT32_MAX);

      sli_slab_free (0, part, blocks, operation);
      n -= part;
      blocks += part;
    }
}

void
slice_free_bulk (size_t n, void *const *blocks)
{
  if (trace_is_on ())
    for (size_t i = 0; i < n; i++)
      sli_trace_free (SLICE_TRACE_SLICE, blocks[i], 0);
  bulk_free (n, blocks, "slice_free_bulk", CALL_SITE);
}

void
slice_free_as_v1 (void *block, const char *call)
{
  if (trace_is_on ())
    sli_trace_free (SLICE_TRACE_SLICE, block, 0);
  bulk_free (1, &block, call, CALL_SITE);
}

/* Returns true if a block is malloc's because it is large or aligned.  Not if
 * every block is a malloc.  In the checking modes such a block is registered;
 * any other address is left to the checks of bulk_free(). */
static bool
is_malloc_block (const void *block)
{
  assert_here (block != NULL && LOAD_ACQUIRE (&sli_dispatch.ready));
  if (sli_dispatch.path == PATH_MALLOC || chunk_may_be_at (block))
    return false;
  return sli_dispatch.path != PATH_CHECKING
         || sli_block_registry_size (block) != SIZE_MAX;
}

void
slice_free_unsized (void *block)
{
  if (block == NULL)
    return;
  if (trace_is_on ())
    sli_trace_free (SLICE_TRACE_SLICE, block, 0);
  dispatch_make_ready ();
  if (!is_malloc_block (block))
    {
      bulk_free (1, &block, "slice_free_unsized", CALL_SITE);
      return;
    }
  if (sli_dispatch.registers)
    sli_checking_remove_malloc (block, BLOCK_ANY_SIZE,
                                "slice_free_unsized", CALL_SITE);
  sli_dispatch_count_malloc_free ();
  TRACE_INTERNAL (free (block));
}

CONTEXT_TEXT void
sli_untraced_free_bulk (size_t n, void *const *blocks)
{
  bulk_free (n, blocks, "ralloc_free", CALL_SITE);
}

CONTEXT_TEXT void
sli_untraced_free_class_slow (unsigned class_index, void *block)
{
  sli_untraced_free_slow (sli_sizeclasses[class_index].chunk_bytes, block);
}

/* Pushes blocks to the magazines of a thread, up to the first that this does
 * not serve, which it returns; `end' if it serves all. */
static ALWAYS_INLINE void *const *
warm_push (void *const *blocks, void *const *end)
{
  /* (As far as the compiler knows, each store to a magazine could change the
   * variable.) */
  const unsigned shift = sli_region_granule_shift;
  const uint8_t *large = LOAD (&sli_extent_cache[1].classes);
  const uint8_t *small = LOAD (&sli_extent_cache[0].classes);
  SliceThreadV1 *thread = SLICE_LOAD (&slice_tls_v1);

  for (; blocks < end; blocks++)
    {
      void *block = *blocks;
      size_t class_index;
      SliceEntryV1 *entry;

      if (UNLIKELY (!extent_cache_class_at (1, large, block, shift,
                                            &class_index))
          && !extent_cache_class_at (0, small, block, shift, &class_index))
        class_index = chunk_class_near (block);
      entry = &thread->entries[class_index];
      KEEP (entry);
      /* Class 0, of no slab, has a magazine that takes nothing. */
      if (UNLIKELY (!magazine_push_to (entry, block)))
        return blocks;
    }
  return blocks;
}

/* Frees blocks, of which the first needs the slow path. */
CONTEXT_TEXT static NOINLINE void
free_warm_slow (void *const *blocks, void *const *end)
{
  do
    {
      unsigned class_index = chunk_class_of (*blocks);

      if (LIKELY (class_index != 0))
        sli_untraced_free_class_slow (class_index, *blocks);
      else
        sli_untraced_free_slow (0, *blocks);
      blocks = warm_push (blocks + 1, end);
    }
  while (blocks < end);
}

/* (It ends with the call that it makes, so that it saves no registers.) */
CONTEXT_TEXT void
sli_untraced_free_warm (size_t n, void *const *blocks)
{
  void *const *end = blocks + n;

  blocks = warm_push (blocks, end);
  if (UNLIKELY (blocks < end))
    free_warm_slow (blocks, end);
}
