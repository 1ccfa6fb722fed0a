/* large.c - nodes too large for a slice
 *
 * Layer: context.  A large node is a block of malloc; the system's realloc can
 * grow it without copying.  Memory outside the slabs may not be read before
 * it is known that a node is there, so large nodes are noted in the address
 * map (map.h).
 * The statistics count these blocks as they count large slices.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <errno.h>
#include <stdlib.h>

#include "node-memory.h"
#include "node.h"
#include "base/trace.h"
#include "page/map/map.h"
#include "port/os/os.h"

CONTEXT_TEXT void *
sli_large_alloc (size_t bytes, bool zero)
{
  void *block;

  TRACE_INTERNAL (block = sli_os_malloc (bytes, zero));
  if (UNLIKELY (block == NULL) && slice_trim (0) > 0)
    TRACE_INTERNAL (block = sli_os_malloc (bytes, zero));
  if (LIKELY (block != NULL))
    sli_untraced_count_large ();
  return block;
}

CONTEXT_TEXT void *
sli_large_realloc (void *block, size_t old_bytes, size_t bytes)
{
  void *moved;

  TRACE_INTERNAL (moved = sli_os_realloc (block, old_bytes, bytes));
  if (UNLIKELY (moved == NULL) && slice_trim (0) > 0)
    TRACE_INTERNAL (moved = sli_os_realloc (block, old_bytes, bytes));
  return moved;
}

CONTEXT_TEXT bool
sli_large_note (const void *payload)
{
  if (LIKELY (sli_map_note (payload, NOTE_NODE))
      || (slice_trim (0) > 0 && sli_map_note (payload, NOTE_NODE)))
    return true;
  errno = ENOMEM;
  return false;
}

CONTEXT_TEXT void
sli_large_free (void *block)
{
  sli_untraced_count_large_free ();
  TRACE_INTERNAL (free (block));
}
