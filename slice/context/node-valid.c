/* node-valid.c - the invariants of nodes between any two calls
 *
 * Layer: context.  For assert_slow(), which a build with --enable-debug=full
 * runs at each change of a tree.  sli_context_check() (node.c) examines a
 * pointer of the program's, and finds a freed node; these functions tell
 * whether the library's code has left a tree valid.  No locks.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "node.h"
#include "context/ralloc/extension.h"
#include "context/ralloc/free/suspend.h"
#include "page/map/map.h"

enum
{
  /* The most nodes of a tree that are examined, so that a change of a large
   * tree does not take a walk over all of it. */
  VALID_NODES_MAX = 1000
};

static bool
is_limited (const void *payload)
{
  return payload != NULL && (node_of (payload)->parent & NODE_LIMITED) != 0;
}

/* The word that points to a node is in its parent or in a sibling. */
static bool
is_linked_from (const Node *node, const void *payload)
{
  const void *parent = node_parent (node);
  const Node *sibling;

  if (*node->pprev != payload)
    return false;
  if (parent == NULL)
    return node->pprev == &node->next;
  if (node->pprev == node_children (node_of (parent)))
    return true;
  sibling = (const Node *) (const void *) ((const char *) node->pprev
                                           - offsetof (Node, next));
  return sibling != node && node_parent (sibling) == parent;
}

static bool
siblings_are_right (const Node *node, const void *payload)
{
  const void *next = node_next (node, payload);
  const Node *next_node;

  if (node->pprev == NODE_DYING)
    return true;
  if (!is_linked_from (node, payload))
    return false;
  if (next == NULL)
    return true;
  next_node = node_of (next);
  return next_node->pprev == &node->next
         && node_parent (next_node) == node_parent (node);
}

static bool
children_are_right (Node *node, const void *payload)
{
  const void *child = node_first_child (node);
  const Node *child_node;

  if (child == NULL)
    return true;
  child_node = node_of (child);
  return child_node->pprev == NODE_DYING
         || (child_node->pprev == node_children (node)
             && node_parent (child_node) == payload);
}

static bool
kind_is_right (const Node *node, const void *payload)
{
  size_t kind;

  if ((node->parent & NODE_HAS_PREFIX) == 0)
    return true;
  kind = ((const size_t *) node)[-1];
  return kind == KIND_LINEAR || kind == KIND_ALIGNED
         || (kind == KIND_LARGE && sli_map_is_noted (payload, NOTE_NODE));
}

bool
sli_context_node_is_right (const void *payload)
{
  Node *node = node_of (payload);
  const Extension *extension;

  if (((uintptr_t) payload & (NODE_ALIGN - 1)) != 0 || node_is_dead (node))
    return false;
  extension = node_extension (node);
  if (extension != NULL && extension->owner != payload)
    return false;
  if (node->pprev != NODE_DYING
      && ((node->parent & NODE_LIMITED) != 0)
             != ((extension != NULL && extension->limit != NULL)
                 || is_limited (node_parent (node))))
    return false;
  return kind_is_right (node, payload)
         && siblings_are_right (node, payload)
         && children_are_right (node, payload);
}

/* (A free that is under way subtracts from limits at its end.) */
static bool
limit_is_right (const void *payload)
{
  return (node_of (payload)->parent & NODE_LIMITED) == 0
         || context_has_suspended ()
         || ralloc_limit_used (payload) == 0
         || ralloc_limit_used (payload) == sli_limit_subtree_bytes (payload);
}

bool
sli_context_tree_is_right (const void *top)
{
  unsigned n = 0;
  const void *at;

  for (at = top; at != NULL && n < VALID_NODES_MAX;
       at = sli_context_walk (top, at), n++)
    if (!sli_context_node_is_right (at))
      return false;
  return top == NULL || n == VALID_NODES_MAX || limit_is_right (top);
}
