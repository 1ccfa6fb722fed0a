/* untraced.c - the entries for the library's own upper layers
 *
 * Layer: alloc.  The same as in alloc.c, but without hooks (see untraced.h).
 * No locks.  Design: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "checking/registry/block-registry.h"
#include "magazine/magazine.h"
#include "dispatch.h"
#include "untraced.h"
#include "base/check.h"

#include <stdarg.h>

void *
sli_untraced_alloc_slow (size_t size)
{
  void *block;

  if (dispatch_is_fast (size)
      && LIKELY ((block = sli_magazine_alloc (SLICE_CLASS_V1 (size))) != NULL))
    return block;
  dispatch_make_ready ();
  return sli_dispatch.untraced.alloc_any (size, CALL_SITE);
}

CONTEXT_TEXT void *
sli_untraced_try_alloc_slow (size_t size)
{
  dispatch_make_ready ();
  return sli_dispatch.untraced.try_alloc_any (size, CALL_SITE);
}

static void *
untraced_alloc0 (size_t size, bool may_fail, const void *site)
{
  void *block;

  dispatch_make_ready ();
  if (dispatch_goes_to_malloc (size))
    return sli_dispatch_large0 (size, may_fail, site);
  block = may_fail ? sli_dispatch.untraced.try_alloc_any (size, site)
                   : sli_dispatch.untraced.alloc_any (size, site);
  return block != NULL ? memset (block, 0, size) : NULL;
}

void *
sli_untraced_alloc0_slow (size_t size)
{
  return untraced_alloc0 (size, false, CALL_SITE);
}

void *
sli_untraced_try_alloc0_slow (size_t size)
{
  return untraced_alloc0 (size, true, CALL_SITE);
}

CONTEXT_TEXT void
sli_untraced_free_slow (size_t size, void *block)
{
  if (dispatch_is_fast (size))
    {
      sli_magazine_free (SLICE_CLASS_V1 (size), block);
      return;
    }
  dispatch_make_ready ();
  sli_dispatch.untraced.free_any (size, block, CALL_SITE);
}

bool
sli_untraced_end_is_whole (const void *block, size_t size)
{
  return sli_dispatch.path != PATH_CHECKING
         || sli_checking_end_is_whole (block, size);
}

/* --- nodes that the registry knows --------------------------------------- */

bool
sli_untraced_remembers_nodes (void)
{
  return sli_dispatch.path == PATH_MALLOC && sli_dispatch.registers;
}

bool
sli_untraced_remember_node (const void *node, size_t size)
{
  assert_here (sli_untraced_remembers_nodes ());
  if (!sli_block_registry_add (node, size, CALL_SITE))
    return false;
  sli_block_registry_note_node (node, false);
  return true;
}

void
sli_untraced_count_large (void)
{
  sli_dispatch_count_malloc ();
}

void
sli_untraced_count_large_free (void)
{
  sli_dispatch_count_malloc_free ();
}

COLD void
sli_untraced_remember_large (const void *node, size_t size)
{
  if (sli_dispatch.registers && sli_block_registry_add (node, size, CALL_SITE))
    sli_block_registry_note_node (node, true);
}

COLD void
sli_untraced_forget_large (const void *node)
{
  if (sli_dispatch.registers)
    sli_block_registry_forget_node (node, CALL_SITE);
}

void
sli_untraced_forget_node (const void *node)
{
  assert_here (sli_untraced_remembers_nodes ());
  sli_block_registry_forget_node (node, CALL_SITE);
}

bool
sli_untraced_is_node (const void *address, bool *is_freed, void **start,
                      size_t *bytes)
{
  BlockNodeState state;

  *start = NULL;
  state = sli_block_registry_node_at (address, start, bytes);
  *is_freed = state == BLOCK_NODE_FREED;
  return state == BLOCK_NODE_LIVE;
}

/* --- messages ------------------------------------------------------------ */

void
sli_untraced_note_slack (const void *block, uint8_t bytes)
{
  if (sli_dispatch.registers)
    sli_block_registry_note_slack (block, bytes);
}

COLD bool
sli_untraced_facts (const void *address, BlockFacts *facts)
{
  SliceBlockInfo info;

  *facts = (BlockFacts){ .given_bytes = DIAG_SIZE_UNKNOWN };
  if (!LOAD_ACQUIRE (&sli_dispatch.ready) || !sli_dispatch.registers)
    return false;
  if (sli_block_registry_find (address, facts))
    return true;
  if (sli_dispatch.path != PATH_CHECKING)
    return false;
  slice_block_info (address, &info);
  return info.start != NULL && sli_block_registry_find (info.start, facts);
}

COLD void
sli_untraced_abort (ErrorNumber number, const void *address,
                    const char *format, ...)
{
  BlockFacts facts;
  va_list arguments;

  sli_untraced_facts (address, &facts);
  facts.real_bytes = 0;
  va_start (arguments, format);
  sli_diag_abort_about (number, &facts, format, arguments);
}
