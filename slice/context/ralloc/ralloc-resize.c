/* ralloc-resize.c - resizes nodes
 *
 * Layer: context.  No locks.  When a node moves, its neighbours, parent,
 * children, references and suspended walks are updated.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <errno.h>
#include <slice/ralloc.h>

#include "extension.h"
#include "context/node-memory.h"
#include "context/node.h"
#include "context/owned.h"
#include "context/ralloc/debug/debug.h"
#include "context/ralloc/free/suspend.h"
#include "base/trace.h"
#include "page/map/map.h"

enum
{
  /* The most children that are updated one by one when a node moves.  A node
   * with more gets an extension, to which its children point from then on. */
  INDIRECT_MIN = 32,
  /* Larger blocks of malloc are likely mappings, whose realloc() moves pages.
   * Smaller ones that shrink are copied: less than half remains. */
  SHRINK_MIN_BYTES = 128 * 1024
};

/* The children of a node that has moved still point to its old address.  Up to
 * INDIRECT_MIN of them are updated.  If there are more, all get pointers to
 * the extension, which does not move, so later moves need not update them.
 * New children are linked in front, so the children that point to the
 * extension are at the end of the list, and the loop stops at the first. */
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

/* Makes everything that points to `old' point to `payload', whose header is a
 * copy of the old one. */
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

static size_t
large_bytes (size_t size)
{
  return sizeof (LargePrefix) + sizeof (Node)
         + align_up (slack_add (size), NODE_ALIGN);
}

/* Resizes a large node by the system's realloc.  The map must never have an
 * address that another thread may get, so the note is removed first; memory
 * for the new one is reserved, as there is no way back. */
static void *
large_resize (void *ptr, size_t size)
{
  LargePrefix *prefix = (LargePrefix *) head_of (ptr) - 1;
  size_t bytes = large_bytes (size);
  void *payload = NULL, *now;
  MapReserve reserve;

  if (!sli_map_reserve (&reserve)
      && !(slice_trim (0) > 0 && sli_map_reserve (&reserve)))
    {
      errno = ENOMEM;
      return NULL;
    }
  if (UNLIKELY ((sli_context_mode & MODE_DEBUG) != 0))
    sli_untraced_forget_large (ptr);
  sli_map_forget (ptr);
  prefix = sli_large_realloc (prefix, prefix->bytes, bytes);
  if (prefix != NULL)
    {
      prefix->bytes = bytes;
      payload = (Node *) (prefix + 1) + 1;
    }
  now = payload != NULL ? payload : ptr;
  sli_map_note_reserved (now, NOTE_NODE, &reserve);
  if (UNLIKELY ((sli_context_mode & MODE_DEBUG) != 0))
    sli_untraced_remember_large (now, sli_context_usable_bytes (now));
  if (payload != NULL && payload != ptr)
    node_moved (ptr, payload);
  if (UNLIKELY ((sli_context_mode & MODE_SLACK) != 0) && payload != NULL)
    sli_slack_write (payload, size);
  return payload;
}

/* Returns true if the new block of a node that moves exceeds a limit. */
static COLD bool
exceeds_limits (const void *ptr, const void *payload)
{
  size_t before = sli_context_block_bytes (ptr);
  size_t after = sli_context_block_bytes (payload);

  return after > before && !sli_limit_allows (ptr, after - before);
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
      && exceeds_limits (ptr, payload))
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

/* Ends the program for linear and gc contexts, references and arenas, whose
 * payload is the library's. */
static COLD void
require_resizable (const void *ptr, const Node *node, const char *operation)
{
  const Extension *extension = node_extension (node);

  if ((extension != NULL && extension->kind != EXT_PLAIN)
      || ((node->parent & NODE_HAS_PREFIX)
          && ((const size_t *) node)[-1] == KIND_LINEAR))
    sli_context_abort (
        ERROR_NODE_OWNED, ptr,
        "a node that the library uses itself can't be resized: %s (%p)",
        operation, ptr);
}

/* Returns true if a block can stay: it is large enough, and at least half
 * used. */
static inline bool
usable_fits (size_t size, size_t usable)
{
  return size <= usable
         && size + 2 * sizeof (Node) >= (usable + sizeof (Node)) / 2;
}

/* The same in MODE_SLACK, where the new end is marked.  A payload that shrinks
 * by more than can be marked keeps its old end. */
static COLD bool
slack_fits (void *ptr, size_t size, size_t old_size)
{
  size_t usable = sli_context_usable_bytes (ptr);
  bool is_near = usable > size && usable - size <= SLACK_BYTES_MAX;

  if (is_near)
    sli_slack_write (ptr, size);
  return is_near || usable_fits (size, old_size);
}

/* Returns true if the system's realloc resizes a node.  If it grows at its
 * place, or by pages that move, an array that grows by one element at a time
 * is not copied at each step.
 * (With a recorder, realloc would free the old address before the trace has
 * the event.) */
static inline bool
resizes_by_realloc (const Node *node, size_t size, size_t usable)
{
  return (node->parent & NODE_HAS_PREFIX) != 0
         && ((const size_t *) node)[-1] != KIND_ALIGNED
         && (size > usable || size >= SHRINK_MIN_BYTES)
         && (sli_context_mode & MODE_TRACED) == 0;
}

static void *
resize_block (void *ptr, size_t size, size_t usable)
{
  return resizes_by_realloc (node_of (ptr), size, usable)
             ? large_resize (ptr, size)
             : node_move (ptr, size, usable);
}

static void *
limited_resize (void *ptr, size_t size, size_t usable)
{
  size_t before = sli_context_block_bytes (ptr);
  /* The bytes of the new block, at least.  If a limit forbids them, fail at
   * once; node_move() checks the bytes that the block has. */
  size_t least = resizes_by_realloc (node_of (ptr), size, usable)
                     ? large_bytes (size)
                     : size + sizeof (Node);
  void *payload;
  size_t after;

  if (least > before && !sli_limit_allows (ptr, least - before))
    {
      errno = ENOMEM;
      return NULL;
    }
  payload = resize_block (ptr, size, usable);
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
resize_slow (void *ptr, Node *node, size_t size, size_t usable)
{
  if (size > SIZE_LIMIT)
    {
      errno = ENOMEM;
      return NULL;
    }
  if (node->parent & NODE_LIMITED)
    return limited_resize (ptr, size, usable);
  return resize_block (ptr, size, usable);
}

/* `size' bytes are needed, `wanted' preferred: strings that grow want more
 * than they need now. */
CONTEXT_TEXT void *
sli_context_resize (void *ptr, size_t size, size_t wanted,
                    const char *operation)
{
  Node *node = sli_context_check (ptr, operation);
  void *payload;
  size_t usable;

  if (UNLIKELY ((node->parent & (NODE_EXT | NODE_HAS_PREFIX)) != 0))
    require_resizable (ptr, node, operation);
  if (UNLIKELY (node->pprev == NODE_DYING))
    {
      sli_context_warn (
          ERROR_NODE_DYING, ptr,
          "a node that is being destroyed stays as it is: %s (%p)", operation,
          ptr);
      errno = EINVAL;
      return NULL;
    }
  if (UNLIKELY (sli_context_mode & MODE_DEBUG))
    sli_context_forget (ptr); /* it may move */
  usable = sli_context_payload_bytes (ptr, operation);
  if (UNLIKELY ((sli_context_mode
                 & (MODE_TRAILING_HEADER | MODE_TRACED | MODE_SLACK))
                != 0))
    {
      if (sli_context_mode & MODE_TRAILING_HEADER)
        wanted = size;
      else if (sli_context_mode & MODE_SLACK ? slack_fits (ptr, size, usable)
                                             : usable_fits (size, usable))
        {
          if (sli_context_mode & MODE_TRACED)
            sli_trace_realloc (SLICE_TRACE_CONTEXT, ptr, ptr, size);
          return ptr;
        }
    }
  else if (LIKELY (usable_fits (size, usable)))
    return ptr;
  payload = resize_slow (ptr, node, wanted, usable);
  if (UNLIKELY (payload == NULL) && wanted > size)
    payload = resize_slow (ptr, node, size, usable);
  assert_slow (payload == NULL || sli_context_tree_is_right (payload));
  return payload;
}

static COLD void
check_parent (const void *ctx, const void *ptr, const char *operation)
{
  if (node_parent (sli_context_check (ptr, operation)) != ctx)
    sli_context_abort (ERROR_NODE_PARENT, ptr,
                       "%p is not the parent of the node: %s (%p)", ctx,
                       operation, ptr);
}

CONTEXT_TEXT void *
sli_context_realloc (const void *ctx, void *ptr, size_t size,
                     const char *operation)
{
  if (UNLIKELY (ptr == NULL))
    return context_alloc (ctx, size, operation);
  if (UNLIKELY (sli_context_mode & MODE_DEBUG))
    check_parent (ctx, ptr, operation);
  return sli_context_resize (ptr, size, size, operation);
}

CONTEXT_TEXT void *
reralloc_size (const void *ctx, void *ptr, size_t size)
{
  return sli_context_realloc (ctx, ptr, size, "reralloc_size");
}

void *
sli_context_rezalloc (const void *ctx, void *ptr, size_t old_size,
                      size_t new_size, const char *operation)
{
  char *payload;

  if (UNLIKELY (ptr == NULL))
    return sli_context_zalloc (ctx, new_size, operation);
  if (UNLIKELY (sli_context_mode & MODE_DEBUG))
    check_parent (ctx, ptr, operation);
  payload = sli_context_resize (ptr, new_size, new_size, operation);
  if (payload != NULL && new_size > old_size)
    memset (payload + old_size, 0, new_size - old_size);
  return payload;
}

void *
rerzalloc_size (const void *ctx, void *ptr, size_t old_size, size_t new_size)
{
  return sli_context_rezalloc (ctx, ptr, old_size, new_size,
                               "rerzalloc_size");
}
