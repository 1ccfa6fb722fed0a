/* untraced.c - the entries for the library's own upper layers
 *
 * Layer: alloc.  The same as in alloc.c, but without hooks (see untraced.h).
 * No locks.  Design: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "checking/block-registry.h"
#include "magazine/magazine.h"
#include "dispatch.h"
#include "untraced.h"
#include "base/check.h"

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

/* --- nodes that are mallocs ---------------------------------------------- */

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
  sli_block_registry_note_node (node);
  return true;
}

void
sli_untraced_forget_node (const void *node)
{
  assert_here (sli_untraced_remembers_nodes ());
  sli_block_registry_remove (node, BLOCK_ANY_SIZE, "ralloc_free",
                             CALL_SITE);
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
