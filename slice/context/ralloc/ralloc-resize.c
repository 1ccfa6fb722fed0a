/* ralloc-resize.c - nodes: another size
 *
 * Layer: context.  No locks.  When a node moves, its neighbours, parent,
 * children, references and suspended walks are corrected.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "context/node.h"
#include "base/trace.h"

enum
{
  /* Children that a moving node corrects one by one.  A node with more gets an
   * extension, to which its children point from then on. */
  INDIRECT_MIN = 32,
  /* Larger blocks of malloc are likely mappings: they grow without a copy. */
  REALLOC_MIN_BYTES = 128 * 1024
};

/* The children of a node that has moved still point to its old address.  Up to
 * INDIRECT_MIN of them are corrected.  Where there are more, all are made to
 * point to the extension, which does not move, so later moves have nothing to
 * do.  New children are linked in front, so the children that point to the
 * extension are the end of the list, and the loop stops at the first. */
static void
children_follow (Node *node, void *payload)
{
  Extension *extension = node_extension (node);
  size_t n = 0;
  void *child;

  for (child = node_first_child (node); child != NULL && n <= INDIRECT_MIN;
       n++)
    {
      Node *child_node = node_of (child);
      if (child_node->parent & NODE_INDIRECT)
        return;
      node_set_parent (child_node, payload);
      child = child_node->next;
    }
  if (child == NULL)
    return;
  if (extension == NULL)
    extension = sli_context_extend (payload);
  for (child = node_first_child (node); child != NULL;)
    {
      Node *child_node = node_of (child);
      if (child_node->parent & NODE_INDIRECT)
        break;
      node_set_parent (child_node,
                       extension != NULL ? (void *) extension : payload);
      if (extension != NULL)
        child_node->parent |= NODE_INDIRECT;
      child = child_node->next;
    }
}

/* Everything that pointed to `old' now points to `payload', whose header is
 * a copy of the old one. */
CONTEXT_TEXT static void
node_moved (void *old, void *payload)
{
  Node *node = node_of (payload);
  Extension *extension = node_extension (node);
  void *child;

  if (node->next == old)
    node_make_root (node, payload);
  else
    {
      *node->pprev = payload;
      if (node->next != NULL)
        node_of (node->next)->pprev = &node->next;
    }
  if (extension != NULL)
    {
      extension->owner = payload;
      sli_reference_target_moved (extension);
    }
  if (context_has_suspended ())
    sli_context_walks_moved (old, payload);
  child = node_first_child (node);
  if (child == NULL)
    return;
  node_of (child)->pprev = node_children (node);
  children_follow (node, payload);
}

/* Resizes a large node by the system's realloc.  The map must never have an
 * address that another thread may get, so the entry is removed first. */
static void *
large_resize (void *ptr, size_t size)
{
  LargePrefix *prefix = (LargePrefix *) head_of (ptr) - 1;
  size_t bytes = sizeof (LargePrefix) + sizeof (Node)
                 + ((slack_add (size) + NODE_ALIGN - 1)
                    & ~(size_t) (NODE_ALIGN - 1));
  void *payload = NULL;

  if (!sli_map_note_reserve ())
    return NULL;
  sli_map_forget (ptr);
  prefix = sli_large_realloc (prefix, prefix->bytes, bytes);
  if (prefix != NULL)
    {
      prefix->bytes = bytes;
      payload = (Node *) (prefix + 1) + 1;
    }
  sli_map_note (payload != NULL ? payload : ptr, NOTE_NODE);
  if (payload != NULL && payload != ptr)
    node_moved (ptr, payload);
  if (UNLIKELY ((sli_context_mode & MODE_SLACK) != 0) && payload != NULL)
    sli_slack_write (payload, size);
  return payload;
}

/* Would the new block of a node that moves exceed a limit above it? */
static COLD bool
passes_limits (const void *ptr, const void *payload)
{
  size_t before = sli_context_block_bytes (ptr);
  size_t after = sli_context_block_bytes (payload);

  return after > before && !sli_limit_has_room (ptr, after - before);
}

/* Copies payload and header to a new block and frees the old one. */
CONTEXT_TEXT static void *
node_move (void *ptr, size_t size, size_t old_size)
{
  Node *old = node_of (ptr);
  void *payload = sli_context_new (size, false);
  uintptr_t prefix_flag;
  Node *node;

  if (payload == NULL)
    return NULL;
  if (UNLIKELY ((old->parent & NODE_LIMITED) != 0)
      && passes_limits (ptr, payload))
    {
      sli_context_release (payload);
      errno = ENOMEM;
      return NULL;
    }
  memcpy (payload, ptr, old_size < size ? old_size : size);
  node = node_of (payload);
  prefix_flag = node->parent & NODE_HAS_PREFIX;
  *node = *old;
  node->parent = (node->parent & ~(uintptr_t) NODE_HAS_PREFIX) | prefix_flag;
  node_moved (ptr, payload);
  if (sli_context_mode & MODE_TRACED)
    sli_trace_realloc (SLICE_TRACE_CONTEXT, ptr, payload, size);
  sli_context_release (ptr);
  return payload;
}

/* Linear and gc contexts, references, arenas: the payload is the library's. */
static COLD void
require_resizable (const void *ptr, const Node *node, const char *operation)
{
  const Extension *extension = node_extension (node);

  if ((extension != NULL && extension->kind != EXT_PLAIN)
      || ((node->parent & NODE_HAS_PREFIX)
          && ((const size_t *) node)[-1] == KIND_LINEAR))
    sli_diag_abort (ERROR_NODE_OWNED,
                    "a node that the library uses itself can't be resized: "
                    "%s (%p)",
                    operation, ptr);
}

/* The room stays if it suffices and at least half of it is used. */
static inline bool
room_fits (size_t size, size_t room)
{
  return size <= room
         && size + 2 * sizeof (Node) >= (room + sizeof (Node)) / 2;
}

/* The same in MODE_SLACK, which marks the new end.  A payload that shrinks by
 * more than can be marked keeps its old end. */
static COLD bool
slack_fits (void *ptr, size_t size, size_t old_size)
{
  size_t room = sli_context_room_bytes (ptr);
  bool is_near = room > size && room - size <= SLACK_BYTES_MAX;

  if (is_near)
    sli_slack_write (ptr, size);
  return is_near || room_fits (size, old_size);
}

static void *
limited_resize (void *ptr, size_t size, size_t room)
{
  size_t before = sli_context_block_bytes (ptr);
  void *payload;
  size_t after;

  /* The node grows by at least this much: without room, nothing is tried. */
  if (size > room && !sli_limit_has_room (ptr, size - room))
    {
      errno = ENOMEM;
      return NULL;
    }
  payload = node_move (ptr, size, room);
  if (payload == NULL)
    return NULL;
  after = sli_context_block_bytes (payload);
  if (after > before)
    sli_limit_force (payload, after - before);
  else
    sli_limit_subtract (payload, before - after);
  return payload;
}

static void *
resize_slow (void *ptr, Node *node, size_t size, size_t room)
{
  if (size > SIZE_LIMIT)
    {
      errno = ENOMEM;
      return NULL;
    }
  if (node->parent & NODE_LIMITED)
    return limited_resize (ptr, size, room);
  /* (Traced, realloc would free the old address before the trace has it.) */
  if ((node->parent & NODE_HAS_PREFIX) && size >= REALLOC_MIN_BYTES
      && (sli_context_mode & MODE_TRACED) == 0)
    return large_resize (ptr, size);
  return node_move (ptr, size, room);
}

/* `size' bytes are needed and `wanted' preferred: strings that grow ask for
 * more than they need now. */
CONTEXT_TEXT void *
sli_context_resize (void *ptr, size_t size, size_t wanted,
                    const char *operation)
{
  Node *node = sli_context_check (ptr, operation);
  void *payload;
  size_t room;

  if (UNLIKELY ((node->parent & (NODE_EXT | NODE_HAS_PREFIX)) != 0))
    require_resizable (ptr, node, operation);
  if (UNLIKELY (node->pprev == NODE_DYING))
    {
      sli_diag_warn (ERROR_NODE_DYING,
                     "a node that is being destroyed stays as it is: %s (%p)",
                     operation, ptr);
      return NULL;
    }
  if (UNLIKELY (sli_context_mode & MODE_DEBUG))
    sli_context_forget (ptr); /* it may move */
  room = sli_context_payload_bytes (ptr);
  if (UNLIKELY ((sli_context_mode
                 & (MODE_TRAILING_HEADER | MODE_TRACED | MODE_SLACK))
                != 0))
    {
      if (sli_context_mode & MODE_TRAILING_HEADER)
        wanted = size;
      else if (sli_context_mode & MODE_SLACK ? slack_fits (ptr, size, room)
                                             : room_fits (size, room))
        {
          if (sli_context_mode & MODE_TRACED)
            sli_trace_realloc (SLICE_TRACE_CONTEXT, ptr, ptr, size);
          return ptr;
        }
    }
  else if (LIKELY (room_fits (size, room)))
    return ptr;
  payload = resize_slow (ptr, node, wanted, room);
  if (UNLIKELY (payload == NULL) && wanted > size)
    payload = resize_slow (ptr, node, size, room);
  assert_slow (payload == NULL || sli_context_tree_is_right (payload));
  return payload;
}

static COLD void
check_parent (const void *ctx, const void *ptr, const char *operation)
{
  if (node_parent (sli_context_check (ptr, operation)) != ctx)
    sli_diag_abort (ERROR_NODE_PARENT,
                    "%p is not the parent of the node: %s (%p)", ctx,
                    operation, ptr);
}

CONTEXT_TEXT void *
reralloc_size (const void *ctx, void *ptr, size_t size)
{
  if (UNLIKELY (ptr == NULL))
    return ralloc_size (ctx, size);
  if (UNLIKELY (sli_context_mode & MODE_DEBUG))
    check_parent (ctx, ptr, "reralloc_size");
  return sli_context_resize (ptr, size, size, "reralloc_size");
}

void *
rerzalloc_size (const void *ctx, void *ptr, size_t old_size, size_t new_size)
{
  char *payload;

  if (UNLIKELY (ptr == NULL))
    return rzalloc_size (ctx, new_size);
  if (UNLIKELY (sli_context_mode & MODE_DEBUG))
    check_parent (ctx, ptr, "rerzalloc_size");
  payload = sli_context_resize (ptr, new_size, new_size, "rerzalloc_size");
  if (payload != NULL && new_size > old_size)
    memset (payload + old_size, 0, new_size - old_size);
  return payload;
}
