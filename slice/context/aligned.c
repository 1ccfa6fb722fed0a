/* aligned.c - nodes with an alignment above 16
 *
 * Layer: context.  Objects of gc contexts that no slab can have.  The block is
 * a slice if it is small enough, else a block of malloc.  The header is
 * where the alignment puts it:
 *
 *   block                                       a multiple of the alignment
 *   |                                                   |
 *   +------------------+---------------+--------+--------------+---------
 *   | up to align - 16 | AlignedPrefix | Node   | payload      | unused
 *   +------------------+---------------+--------+--------------+---------
 *
 * In MODE_TRAILING_HEADER the payload comes first, as in any node.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "node-memory.h"
#include "node.h"
#include "base/align.h"
#include "page/map/map.h"

enum
{
  ALIGNED_HEAD = sizeof (AlignedPrefix) + sizeof (Node),
  /* Of a block of malloc: no two nodes are noted in one step of the map. */
  ALIGNED_NOTED_MIN = 1 << NOTE_SHIFT
};

static inline const AlignedPrefix *
prefix_of (const Node *node)
{
  return (const AlignedPrefix *) node - 1;
}

static inline bool
is_in_slab (const AlignedPrefix *prefix)
{
  return prefix->large.bytes <= slab_block_max ();
}

const char *
sli_aligned_block (const Node *node)
{
  const AlignedPrefix *prefix = prefix_of (node);

  return (const char *) prefix - prefix->front_bytes;
}

size_t
sli_aligned_usable_bytes (const Node *node)
{
  return prefix_of (node)->payload_bytes;
}

const void *
sli_aligned_registered (const void *payload)
{
  const Node *node = head_of (payload);

  return is_in_slab (prefix_of (node)) ? sli_aligned_block (node) : payload;
}

/* Makes a block a node. */
static void *
aligned_init (char *block, size_t bytes, size_t payload_bytes, size_t align)
{
  uintptr_t first = (uintptr_t) block + ALIGNED_HEAD;
  char *payload = block + ALIGNED_HEAD + (align_up (first, align) - first);
  Node *node = head_of (payload);
  AlignedPrefix *prefix = (AlignedPrefix *) node - 1;

  prefix->front_bytes = (size_t) ((char *) prefix - block);
  prefix->payload_bytes = payload_bytes;
  prefix->large.bytes = bytes;
  ((size_t *) node)[-1] = KIND_ALIGNED;
  node->parent = NODE_HAS_PREFIX;
  node->child = NULL;
  return payload;
}

static void *
slab_new (size_t bytes, size_t payload_bytes, size_t align)
{
  char *block = slice_try_alloc (bytes);

  return block != NULL ? aligned_init (block, bytes, payload_bytes, align)
                       : NULL;
}

static void *
large_new (size_t bytes, size_t payload_bytes, size_t align)
{
  char *block = sli_large_alloc (bytes, false);
  void *payload;

  if (block == NULL)
    return NULL;
  payload = aligned_init (block, bytes, payload_bytes, align);
  if (!sli_large_note (payload))
    {
      sli_large_free (block);
      return NULL;
    }
  if (UNLIKELY ((sli_context_mode & MODE_DEBUG) != 0))
    sli_untraced_remember_large (payload,
                                 sli_context_usable_bytes (payload));
  return payload;
}

COLD void *
sli_context_new_aligned (size_t size, size_t align)
{
  size_t front = ALIGNED_HEAD + align - NODE_ALIGN;
  size_t payload_bytes = align_up (slack_add (max_size (size, 1)), NODE_ALIGN);
  size_t bytes = node_total (front + payload_bytes - sizeof (Node));
  void *payload;

  assert_here (size <= SIZE_LIMIT / 2 && align > NODE_ALIGN);
  if (sli_context_mode & MODE_TRAILING_HEADER)
    return sli_trailing_new (size, align, false);
  if (bytes <= slab_block_max ())
    payload = slab_new (bytes, payload_bytes, align);
  else
    payload = large_new (front + max_size (payload_bytes, ALIGNED_NOTED_MIN),
                         payload_bytes, align);
  if (UNLIKELY ((sli_context_mode & MODE_SLACK) != 0) && payload != NULL)
    sli_slack_write (payload, size);
  return payload;
}

void
sli_aligned_free (void *payload)
{
  const Node *node = head_of (payload);
  void *block = (void *) (uintptr_t) sli_aligned_block (node);

  if (is_in_slab (prefix_of (node)))
    {
      slice_free_bulk (1, &block);
      return;
    }
  if (UNLIKELY ((sli_context_mode & MODE_DEBUG) != 0))
    sli_untraced_forget_large (payload);
  sli_map_forget (payload);
  sli_large_free (block);
}
