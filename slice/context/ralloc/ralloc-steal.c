/* ralloc-steal.c - nodes: parent, steal, adopt
 *
 * Layer: context.  No locks.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include <errno.h>

#include "extension.h"
#include "steal.h"
#include "context/gc/gc.h"
#include "context/node.h"
#include "context/ralloc/debug/debug.h"
#include "context/ralloc/free/suspend.h"

/* The slow path: other modes, NODE_INDIRECT, or a freed node. */
static NOINLINE void *
unusual_parent (const void *ptr)
{
  return node_parent (sli_context_check (ptr, "ralloc_parent"));
}

CONTEXT_TEXT void *
ralloc_parent (const void *ptr)
{
  uintptr_t word;

  if (UNLIKELY (ptr == NULL))
    return NULL;
  if (UNLIKELY (sli_context_mode != 0))
    return unusual_parent (ptr);
  word = head_of (ptr)->parent;
  if (UNLIKELY ((word & NODE_INDIRECT) != 0))
    return unusual_parent (ptr);
  return (void *) (word & ~(uintptr_t) NODE_FLAGS);
}

static COLD _Noreturn void
report_cycle (const void *new_ctx, const void *ptr, const char *operation)
{
  if (new_ctx == ptr)
    sli_context_abort (ERROR_NODE_CYCLE, ptr,
                       "a node can't be its own parent: %s (%p, %p)",
                       operation, new_ctx, ptr);
  sli_context_abort (ERROR_NODE_CYCLE, ptr,
                     "a node can't hang below its own descendant: %s (new "
                     "parent %p, which lies below node %p)",
                     operation, new_ctx, ptr);
}

/* A node without children has only itself below it, unless a tree below it is
 * being freed and on no list. */
static inline bool
closes_cycle (const void *new_ctx, const void *ptr, const Node *node)
{
  return new_ctx == ptr
         || (new_ctx != NULL
             && (node_first_child (node) != NULL || context_has_suspended ())
             && sli_context_is_ancestor (ptr, new_ctx));
}

/* Updates limits and flags for a steal from or to a limited parent. */
static void
steal_limited (void *new_ctx, Node *node, void *ptr, bool to_limited)
{
  size_t bytes = sli_limit_subtree_bytes (ptr);

  if (node->parent & NODE_LIMITED)
    sli_limit_subtract (node_parent (node), bytes);
  if (to_limited)
    sli_limit_force (new_ctx, bytes);
  sli_limit_set_flags (ptr, to_limited);
}

/* Accounts a node's change of parent in limits and in the list of roots;
 * sli_context_steal() does what must follow the linking. */
static inline void
account_move (void *new_ctx, Node *node, void *ptr)
{
  bool to_limited
      = new_ctx != NULL && (node_of (new_ctx)->parent & NODE_LIMITED) != 0;
  Extension *extension = node_extension (node);

  if (UNLIKELY (extension != NULL && extension->stays))
    sli_context_walks_left (extension);
  if (UNLIKELY (to_limited || (node->parent & NODE_LIMITED)))
    steal_limited (new_ctx, node, ptr, to_limited);
  if (UNLIKELY (sli_context_mode & MODE_ROOTS) && node->next == ptr)
    sli_roots_remove (ptr);
}

CONTEXT_TEXT void
sli_context_steal (void *new_ctx, Node *node, void *ptr,
                   const char *operation)
{
  void *parent = node_parent (node);
  uintptr_t from = context_enter (parent, operation);
  uintptr_t to = context_enter (new_ctx, operation);

  if (context_has_suspended ())
    sli_context_walks_touched (ptr, new_ctx);
  account_move (new_ctx, node, ptr);
  node_unlink (node, ptr, operation);
  node_link (new_ctx, node, ptr);
  context_leave (new_ctx, to);
  context_leave (parent, from);
  /* (During a free, limits are not exact, so callers check the trees.) */
  assert_slow (sli_context_node_is_right (ptr));
  if (UNLIKELY (new_ctx == NULL && (sli_context_mode & MODE_ROOTS) != 0))
    sli_roots_add (ptr);
}

/* Returns true if a word, or all of a header, can be read.  Without `far' only
 * in the first extents, which have most nodes. */
static ALWAYS_INLINE bool
is_at_hand (const void *address, bool far)
{
  return LIKELY (extent_cache_has (address))
         || (far && slice_is_ours (address)
             && is_same_window (address,
                                (const char *) address + sizeof (Node) - 1));
}

/* As node_is_linked(). */
static ALWAYS_INLINE bool
is_linked_at_hand (const Node *node, const void *payload, bool is_near,
                   bool far)
{
  void *const *place = node->pprev;

  return LIKELY (((uintptr_t) place & (sizeof (void *) - 1)) == 0
                 && ((is_near && is_same_window (place, payload))
                     || is_at_hand (place, far)))
         && LIKELY (*place == payload);
}

/* Returns true if an apparent root may be a list's tail pointer that points to
 * the first element behind it.  With `far' the slab tells. */
static ALWAYS_INLINE bool
may_be_payload (const Node *node, bool far)
{
  return UNLIKELY (node->pprev == &node->next)
         && !(far && sli_untraced_begins_block (node));
}

/* Steals a plain node to a plain parent in the default mode, with the same
 * checks as sli_context_check().  False: it is another case.  Without `far'
 * this calls no function, and serves nodes without children. */
static ALWAYS_INLINE bool
plain_steal (void *new_ctx, void *ptr, bool far)
{
  Node *node = head_of (ptr);
  Node *parent = head_of (new_ctx);
  void *next;

  if (UNLIKELY (!context_is_usual () || new_ctx == ptr
                || (((uintptr_t) ptr | (uintptr_t) new_ctx)
                    & (NODE_ALIGN - 1)) != 0
                || !is_at_hand (node, far)
                || !is_at_hand (parent, far)
                || ((node->parent | parent->parent) & NODE_FLAGS) != 0
                || !is_linked_at_hand (node, ptr, false, far)
                || may_be_payload (node, far)
                || !is_linked_at_hand (parent, new_ctx, true, far)))
    return false;
  if (node->child != NULL && (!far || sli_context_is_ancestor (ptr, new_ctx)))
    return false;
  node_unlink_linked (node, ptr, "ralloc_steal", true);
  next = parent->child;
  node->parent = (uintptr_t) new_ctx;
  node->next = next;
  if (next != NULL)
    head_of (next)->pprev = &node->next;
  node->pprev = &parent->child;
  parent->child = ptr;
  assert_slow (sli_context_node_is_right (ptr));
  return true;
}

/* Checks both nodes of a steal; NULL if the node is being destroyed. */
static Node *
steal_check (const void *new_ctx, void *ptr, const char *operation)
{
  Node *node = sli_context_check (ptr, operation);

  if (new_ctx != NULL)
    sli_context_check (new_ctx, operation);
  if (UNLIKELY (node->pprev == NODE_DYING))
    {
      sli_context_warn (
          ERROR_NODE_DYING, ptr,
          "a node that is being destroyed can't be kept: %s (%p)", operation,
          ptr);
      return NULL;
    }
  return node;
}

CONTEXT_TEXT static NOINLINE void
far_steal (const void *new_ctx, void *ptr, const char *operation)
{
  Node *node;

  if (new_ctx != NULL && plain_steal ((void *) (uintptr_t) new_ctx, ptr, true))
    return;
  node = steal_check (new_ctx, ptr, operation);
  if (node == NULL)
    return;
  if (UNLIKELY (closes_cycle (new_ctx, ptr, node)))
    report_cycle (new_ctx, ptr, operation);
  sli_context_steal ((void *) (uintptr_t) new_ctx, node, ptr, operation);
  if (context_has_suspended ())
    sli_context_walks_stolen ();
  assert_slow (sli_context_tree_is_right (ptr));
  assert_slow (sli_context_tree_is_right (new_ctx));
}

CONTEXT_TEXT void
ralloc_steal (const void *new_ctx, void *ptr)
{
  if (LIKELY (ptr != NULL)
      && !plain_steal ((void *) (uintptr_t) new_ctx, ptr, false))
    far_steal (new_ctx, ptr, "ralloc_steal");
}

void
sli_context_steal_any (const void *new_ctx, void *ptr, const char *operation)
{
  if (LIKELY (ptr != NULL))
    far_steal (new_ctx, ptr, operation);
}

bool
ralloc_try_steal (const void *new_ctx, void *ptr)
{
  Node *node;

  if (UNLIKELY (ptr == NULL))
    return true;
  node = steal_check (new_ctx, ptr, "ralloc_try_steal");
  if (node == NULL || closes_cycle (new_ctx, ptr, node))
    {
      errno = EINVAL;
      return false;
    }
  if (new_ctx != NULL && (node_of (new_ctx)->parent & NODE_LIMITED)
      && !sli_limit_allows_move (new_ctx, ptr))
    {
      errno = ENOMEM;
      return false;
    }
  sli_context_steal ((void *) (uintptr_t) new_ctx, node, ptr,
                     "ralloc_try_steal");
  if (context_has_suspended ())
    sli_context_walks_stolen ();
  assert_slow (sli_context_tree_is_right (ptr));
  assert_slow (sli_context_tree_is_right (new_ctx));
  return true;
}

/* Moves the nodes of a list, which begins at the word `from', to a node. */
static void
adopt_splice (void *new_ctx, void **from)
{
  void **to = node_children (node_of (new_ctx));
  void *first = *from;
  void *child = first;
  Node *node;

  do
    {
      node = node_of (child);
      account_move (new_ctx, node, child);
      node_set_parent (node, new_ctx);
      child = node->next;
    }
  while (child != NULL);
  node->next = *to;
  if (node->next != NULL)
    node_of (node->next)->pprev = &node->next;
  *to = first;
  node_of (first)->pprev = to;
  *from = NULL;
  assert_slow (sli_context_tree_is_right (new_ctx));
}

/* Makes the children of `old' roots.  References stay: without a context they
 * could not be given up, and would not keep their target. */
static void
adopt_as_roots (Node *old)
{
  void *child = node_first_child (old);
  void *next;
  Node *node;

  if (context_has_suspended ())
    sli_context_walks_touched (child, NULL);
  for (; child != NULL; child = next)
    {
      node = node_of (child);
      next = node->next;
      if (!node_is_reference (node))
        sli_context_steal (NULL, node, child, "ralloc_adopt");
    }
  if (context_has_suspended ())
    sli_context_walks_stolen ();
}

void
sli_context_adopt_list (void *new_ctx, void **from, const char *operation)
{
  uintptr_t word = context_enter (new_ctx, operation);

  if (context_has_suspended ())
    sli_context_walks_touched (*from, new_ctx);
  adopt_splice (new_ctx, from);
  context_leave (new_ctx, word);
  if (context_has_suspended ())
    sli_context_walks_stolen ();
}

void
ralloc_adopt (const void *new_ctx, void *old_ctx)
{
  void *to = (void *) (uintptr_t) new_ctx;
  Node *old;

  if (UNLIKELY (old_ctx == NULL || old_ctx == new_ctx))
    return;
  old = sli_context_check (old_ctx, "ralloc_adopt");
  if (sli_gc_is_context (old_ctx))
    sli_gc_end_divider (old_ctx);
  if (node_first_child (old) == NULL)
    return;
  if (to != NULL)
    {
      sli_context_check (to, "ralloc_adopt");
      if (UNLIKELY (sli_context_is_ancestor (old_ctx, to)))
        sli_context_abort (
            ERROR_NODE_CYCLE, old_ctx,
            "a node can't adopt its own ancestors: ralloc_adopt (new parent "
            "%p, which lies below old parent %p)",
            to, old_ctx);
    }
  if (to == NULL)
    adopt_as_roots (old);
  else
    sli_context_adopt_list (to, node_children (old), "ralloc_adopt");
  assert_slow (sli_context_node_is_right (old_ctx));
}
