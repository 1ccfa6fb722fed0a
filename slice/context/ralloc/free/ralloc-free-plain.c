/* ralloc-free-plain.c - frees a plain node, without a walk if that is possible
 *
 * Layer: context.  No locks.
 *
 * Most nodes that a program frees are leaves, or have a few leaves and nothing
 * else below them, and lie in the first extents.  In the default mode these
 * functions free them to the thread's magazines.  They leave all others to
 * ralloc-free.c.  Each ends with the call that it makes, so none saves
 * registers.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "context/node.h"
#include "ralloc-free.h"
#include "slab/chunk.h"

enum
{
  FEW_LEAVES = 4 /* children that are freed without a walk */
};

/* Frees a leaf to the thread's magazine.  False: it is no plain leaf, or that
 * needs a slow path; then it is as it was. */
static ALWAYS_INLINE bool
plain_leaf_free (void *child, const void *parent)
{
  Node *leaf = head_of (child);
  size_t class_index;

  if (!is_plain_leaf (child, parent)
      || UNLIKELY ((class_index = node_class_near (leaf)) == 0))
    return false;
  leaf->parent = NODE_DEAD;
  if (LIKELY (untraced_free_class_fast (class_index, leaf)))
    return true;
  leaf->parent = (uintptr_t) parent;
  return false;
}

/* Frees the children of a node to the magazines, if they are a few plain
 * leaves: most trees are small, and a walk costs more to start than they cost
 * to free.  False: children are left, for a walk.  In the default mode.  (It
 * calls no function that returns, so its callers save no registers.) */
static ALWAYS_INLINE bool
few_leaves_free (void *ptr, Node *node, const char *operation)
{
  void *child = node->child;
  void **link = &node->child;

  for (unsigned n = 0; child != NULL; n++)
    {
      Node *leaf = head_of (child);
      void *next = leaf->next;

      if (UNLIKELY (leaf->pprev != link))
        sli_context_damaged (child, operation);
      if (n == FEW_LEAVES || !plain_leaf_free (child, ptr))
        {
          node->child = child;
          leaf->pprev = &node->child;
          return false;
        }
      link = &leaf->next;
      child = next;
    }
  return true;
}

/* Frees a plain node that is linked, when its children are freed. */
static ALWAYS_INLINE bool
leaf_free (void *ptr, Node *node, size_t class_index, const char *operation)
{
  node_unlink_linked (node, ptr, operation, true);
  assert_slow (node->parent == 0
               || sli_context_node_is_right ((void *) node->parent));
  node->parent = NODE_DEAD;
  untraced_free_class (class_index, node);
  return true;
}

/* Frees a plain node that is linked, and whose first child is a leaf. */
CONTEXT_TEXT static NOINLINE bool
twig_free (void *ptr, size_t class_index, const char *operation)
{
  Node *node = head_of (ptr);

  return few_leaves_free (ptr, node, operation)
             ? leaf_free (ptr, node, class_index, operation)
             : sli_free_tree (ptr, node, operation);
}

/* Frees a plain node that is linked. */
static ALWAYS_INLINE bool
linked_free (void *ptr, size_t class_index, const char *operation)
{
  Node *node = head_of (ptr);

  if (node->child == NULL)
    return leaf_free (ptr, node, class_index, operation);
  return is_plain_leaf (node->child, ptr)
             ? twig_free (ptr, class_index, operation)
             : sli_free_tree (ptr, node, operation);
}

/* Frees an apparent root, which may be a list's tail pointer, inside a
 * block. */
CONTEXT_TEXT static NOINLINE bool
root_free (void *ptr, size_t class_index, const char *operation)
{
  if (UNLIKELY (!chunk_begins_at (head_of (ptr), (unsigned) class_index)))
    return sli_free_any (ptr, operation);
  return linked_free (ptr, class_index, operation);
}

CONTEXT_TEXT static NOINLINE bool far_free (void *ptr, const char *operation);

/* Frees a plain node in the default mode, with the same checks as
 * sli_context_check(); leaves all others to sli_free_any().  Without `far' it
 * serves nodes in the first extents, which have most, and ends with each call
 * that it makes, so that a leaf is freed without saved registers. */
static ALWAYS_INLINE bool
free_node (void *ptr, const char *operation, bool far)
{
  Node *node = head_of (ptr);
  size_t class_index = 0;

  if (LIKELY (context_is_usual ()
              && ((uintptr_t) ptr & (NODE_ALIGN - 1)) == 0))
    class_index = far ? node_class (node)
                      : extent_cache_class (node, sli_region_granule_shift);
  if (UNLIKELY (class_index == 0 || (node->parent & NODE_FLAGS) != 0
                || !(far ? node_is_linked (node, ptr)
                         : node_is_linked_near (node, ptr))))
    return far ? sli_free_any (ptr, operation) : far_free (ptr, operation);
  if (node->pprev == &node->next)
    return root_free (ptr, class_index, operation);
  return linked_free (ptr, class_index, operation);
}

CONTEXT_TEXT static NOINLINE bool
far_free (void *ptr, const char *operation)
{
  return free_node (ptr, operation, true);
}

CONTEXT_TEXT void
ralloc_free (void *ptr)
{
  if (UNLIKELY (ptr == NULL))
    return;
  free_node (ptr, "ralloc_free", false);
}

bool
ralloc_try_free (void *ptr)
{
  return ptr == NULL || free_node (ptr, "ralloc_try_free", false);
}
