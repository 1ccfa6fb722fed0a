/* ralloc-free.c - frees a node and all its descendants
 *
 * Layer: context.  No locks, no recursion, 21 KiB of stack for the blocks
 * that the walk has collected.
 *
 * The walk is post-order, the youngest sibling first.  At each node (`at') it
 * reads the list of children.  It frees plain leaves at once, one after the
 * other, up to the first child that is no plain leaf.  Such a child may
 * survive (it has a reference, or a destructor that refuses).  Otherwise the
 * walk removes it from the list and descends to it.  When the list is empty,
 * the walk calls the destructor of the node, frees the node and returns to its
 * parent.
 *
 * Before user code runs, the walk writes the current list back and frees the
 * collected blocks, so user code finds every list valid.
 *
 * ralloc-free-plain.c frees the nodes that need no walk, ralloc-free-blocks.c
 * frees blocks, ralloc-free-survive.c and ralloc-free-search.c find the nodes
 * that survive, and ralloc-free-suspend.c handles calls of user code in a walk.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "ralloc-free.h"
#include "suspend.h"
#include "context/gc/gc.h"
#include "context/node-memory.h"
#include "context/node.h"
#include "context/ralloc/debug/debug.h"
#include "context/ralloc/extension.h"
#include "base/trace.h"

enum
{
  PREFETCH_BYTES = 640 /* measured: 384 to 768 are much the same */
};

/* Examines a node that is freed next, in modes that do so. */
static COLD void
node_examine (const Walk *walk, void *payload)
{
  if (sli_context_mode & MODE_SLACK)
    sli_slack_check (payload, walk->operation);
  if (sli_context_mode & MODE_DEBUG)
    sli_context_forget (payload);
  if (sli_context_mode & MODE_TRACED)
    sli_trace_free (SLICE_TRACE_CONTEXT, payload, 0);
}

/* --- one node ------------------------------------------------------------ */

CONTEXT_TEXT static COLD void
extension_release (void *payload, Node *node)
{
  Extension *extension = node->child;

  if (extension->kind == EXT_GC)
    sli_gc_release (payload);
  else if (extension->kind == EXT_REFERENCE)
    sli_reference_release (payload);
  if (extension->tracked)
    sli_roots_remove (payload);
  sli_context_unextend (node);
}

/* Frees an unusual node that is on no list and has no children. */
CONTEXT_TEXT static COLD void
node_release (Walk *walk, void *payload, Node *node)
{
  if (node->parent & NODE_LIMITED)
    walk->limited_bytes += sli_context_block_bytes (payload);
  if (node->parent & NODE_EXT)
    {
      if (search_has (&walk->search, node->child))
        search_drop (&walk->search);
      extension_release (payload, node);
    }
  if ((node->parent & NODE_HAS_PREFIX)
      || (sli_context_mode & MODE_TRAILING_HEADER))
    {
      sli_context_release (payload);
      return;
    }
  node->parent = NODE_DEAD;
  batch_push (walk, &walk->others, node);
}

/* Runs the next destructor, if there is one that has not run.  It may have
 * added children to the node, so the walk checks again. */
CONTEXT_TEXT static COLD bool
destructor_ran (Walk *walk, void *payload, Node *node)
{
  void (*destructor) (void *) = sli_context_take_destructor (node->child);

  if (destructor == NULL)
    return false;
  sli_free_suspend (walk, payload);
  destructor (payload);
  sli_free_resume (walk);
  return true;
}

/* --- the walk ------------------------------------------------------------ */

/* Frees one leaf in MODE_TRAILING_HEADER, where nothing may refer to freed
 * memory, not even the pprev of the next leaf. */
static COLD void *
leaf_free_trailing (void **slot, void *child)
{
  void *next = sli_context_trailing_header (child)->next;

  *slot = next;
  if (next != NULL)
    sli_context_trailing_header (next)->pprev = slot;
  sli_context_release (child);
  return next;
}

/* Frees leaves from `child' on, to which *link should point, and returns the
 * first child that is no plain leaf, or NULL; *link then points to that one.
 * The walk of a large tree spends its time here, so the end of the batch is
 * kept in a register.  `examined' is a constant where this is inlined. */
static ALWAYS_INLINE void *
run_free (Walk *walk, const void *at, void *child, void ***link,
          void ***batch_end, bool examined)
{
  void **end = *batch_end;

  while (child != NULL)
    {
      Node *node = head_of (child);

      if (examined && UNLIKELY (!sli_context_may_be_node (child)))
        sli_context_damaged (child, walk->operation);
      if (UNLIKELY (node->pprev != *link))
        sli_context_damaged (child, walk->operation);
      if (UNLIKELY (node->parent != (uintptr_t) at || node->child != NULL))
        break;
      if (examined)
        node_examine (walk, child);
      /* The walk meets leaves of one size from high to low addresses.  One of
       * two neighbouring lines holds a header, unless chunks are long. */
      __builtin_prefetch ((char *) node - PREFETCH_BYTES, 1);
      __builtin_prefetch ((char *) node - PREFETCH_BYTES - CACHE_LINE_BYTES,
                          1);
      *link = &node->next;
      child = node->next;
      node->parent = NODE_DEAD;
      *end++ = node;
      if (UNLIKELY (end == walk->leaves.blocks + BATCH_BLOCKS))
        {
          walk->leaves.n = BATCH_BLOCKS;
          sli_free_batch (walk, &walk->leaves);
          end = walk->leaves.blocks;
        }
    }
  *batch_end = end;
  return child;
}

/* Frees leaves, and nodes that have only leaves, up to the first other child,
 * which it returns, or NULL.  Does not write the list back. */
static ALWAYS_INLINE void *
leaves_free (Walk *walk, const void *at, void *child, void **link,
             bool examined)
{
  void **end = walk->leaves.blocks + walk->leaves.n;

  while ((child = run_free (walk, at, child, &link, &end, examined)) != NULL)
    {
      Node *node = head_of (child);
      void **below_link = &node->child;
      void *below;

      if (UNLIKELY (node->parent != (uintptr_t) at))
        break;
      below = run_free (walk, child, node->child, &below_link, &end, examined);
      if (below != NULL)
        {
          node->child = below;
          head_of (below)->pprev = &node->child;
          break;
        }
      if (examined)
        node_examine (walk, child);
      link = &node->next;
      child = node->next;
      node->parent = NODE_DEAD;
      batch_push (walk, &walk->others, node);
    }
  walk->leaves.n = (unsigned) (end - walk->leaves.blocks);
  return child;
}

/* The same in MODE_TRAILING_HEADER, for leaves only. */
static COLD void *
leaves_free_trailing (const Walk *walk, void *at, void **slot,
                      bool examined)
{
  void *child = *slot;

  while (child != NULL)
    {
      Node *node = sli_context_trailing_header (child);

      if (UNLIKELY (node->pprev != slot))
        sli_context_damaged (child, walk->operation);
      if (node->parent != (uintptr_t) at || node->child != NULL)
        break;
      if (examined)
        node_examine (walk, child);
      child = leaf_free_trailing (slot, child);
    }
  return child;
}

/* The word that points to the next child to be freed, behind those that
 * stay. */
static inline void **
walk_slot (const Walk *walk, const void *at, Node *at_node)
{
  if (UNLIKELY (at == walk->keep) && walk->stayed != NULL)
    return &node_of (walk->stayed)->next;
  return node_children (at_node);
}

/* Returns true if the walk is done at the end of its keep's list.  If user
 * code ran, it may have put children in front of those that stay; then the
 * walk reads the list once more. */
static COLD bool
keep_is_done (Walk *walk, void *keep)
{
  bool again = walk->is_changed && walk->stayed != NULL;
  void *child = again ? NULL : node_first_child (node_of (keep));

  walk->is_changed = false;
  walk->stayed = NULL;
  for (; child != NULL; child = node_of (child)->next)
    {
      Extension *extension = node_extension (node_of (child));

      if (extension != NULL && extension->stays)
        sli_context_walks_left (extension);
    }
  return !again;
}

/* Returns true if the walk may descend to the child at the front of a list.
 * False: read the list again, since the child stays or has moved away, or the
 * list has changed.  Writes the list back first, as user code may run. */
CONTEXT_TEXT static COLD bool
unusual_child_is_ours (Walk *walk, void *at, void **slot, void *child)
{
  Node *node = node_of (child);
  Extension *extension = node_extension (node);

  walk->at = at;
  *slot = child;
  node->pprev = slot;
  if (node_parent (node) != at)
    sli_context_damaged (child, walk->operation);
  if (extension == NULL)
    return true;
  if (at == walk->keep && extension->stays)
    {
      walk->stayed = child;
      return false;
    }
  if (sli_free_child_survives (walk, at, child))
    return false;
  /* The child's own limit must not count nodes that were freed beside it. */
  if (extension->limit != NULL)
    walk_settle_limits (walk, at);
  return true;
}

/* The header of a node; `tail': it is behind the payload. */
static ALWAYS_INLINE Node *
walk_node (const void *payload, bool tail)
{
  return tail ? sli_context_trailing_header (payload) : head_of (payload);
}

/* Removes the child at the front of a list. */
static ALWAYS_INLINE void
first_child_unlink (const Walk *walk, void **slot, Node *node, bool tail)
{
  void *next = node->next;

  *slot = next;
  if (next != NULL)
    {
      Node *next_node = walk_node (next, tail);

      if (UNLIKELY (next_node->pprev != &node->next))
        sli_context_damaged (next, walk->operation);
      next_node->pprev = slot;
    }
  node->pprev = NODE_DYING;
}

/* Descends to the child at the front of the list of `at', which is no plain
 * leaf.  Returns the node at which the walk goes on: the child, or the same as
 * before if the child does not go. */
static ALWAYS_INLINE void *
walk_descend (Walk *walk, void *at, void **slot, void *child, bool tail,
              bool examined)
{
  Node *node = walk_node (child, tail);

  if (examined && !tail)
    sli_context_check_links (node, child, walk->operation);
  if (UNLIKELY (node->parent != (uintptr_t) at
                && !unusual_child_is_ours (walk, at, slot, child)))
    return walk->at; /* only walk->keep can have moved */
  first_child_unlink (walk, slot, node, tail);
  return child;
}

/* Frees the node *at, which has no children, and sets *at to its parent.
 * False: its destructor ran instead, and the walk reads the node again. */
static ALWAYS_INLINE bool
walk_ascend (Walk *walk, void **at, Node *node, bool tail, bool examined)
{
  void *payload = *at;

  if (LIKELY (!tail && (node->parent & NODE_FLAGS) == 0))
    {
      *at = (void *) node->parent;
      if (examined)
        node_examine (walk, payload);
      node->parent = NODE_DEAD;
      batch_push (walk, &walk->others, node);
      return true;
    }
  if ((node->parent & NODE_EXT) != 0 && destructor_ran (walk, payload, node))
    return false;
  if (examined)
    node_examine (walk, payload);
  *at = node_parent (node);
  node_release (walk, payload, node);
  return true;
}

/* Frees the descendants of `at' and, unless it is walk->keep, the node itself.
 * `tail' and, unless it is set, `examined' are constants where this is
 * inlined. */
static ALWAYS_INLINE void
walk_below (Walk *walk, void *at, bool tail, bool examined)
{
  for (;;)
    {
      Node *node = walk_node (at, tail);
      void **slot = walk_slot (walk, at, node);
      void *child = tail
                        ? leaves_free_trailing (walk, at, slot, examined)
                        : leaves_free (walk, at, *slot, slot, examined);
      const void *left = at;

      if (child != NULL)
        {
          at = walk_descend (walk, at, slot, child, tail, examined);
          continue;
        }
      *slot = NULL;
      if (UNLIKELY (at == walk->keep))
        {
          if (keep_is_done (walk, at))
            return;
        }
      else if (walk_ascend (walk, &at, node, tail, examined)
               && left == walk->top)
        return;
    }
}

/* The walk in modes where headers are behind payloads, each node is examined,
 * or both. */
static COLD void
walk_unusual (Walk *walk)
{
  if (sli_context_mode & MODE_TRAILING_HEADER)
    walk_below (walk, walk->top, true,
                (sli_context_mode & (MODE_TRACED | MODE_DEBUG)) != 0);
  else
    walk_below (walk, walk->top, false, true);
}

CONTEXT_TEXT static NOINLINE void
walk_all (Walk *walk)
{
  if (UNLIKELY ((sli_context_mode
                 & (MODE_TRAILING_HEADER | MODE_TRACED | MODE_BULK))
                != 0))
    walk_unusual (walk);
  else
    walk_below (walk, walk->top, false, false);
}

CONTEXT_TEXT NOINLINE bool
sli_free_tree (void *ptr, Node *node, const char *operation)
{
  Walk walk;

  walk_begin (&walk, ptr, NULL, NULL, operation);
  walk_detach (&walk, ptr, node, operation);
  if (context_has_suspended ())
    sli_free_look_outside (&walk);
  walk_all (&walk);
  walk_settle_limits (&walk, walk.fallback_parent);
  assert_slow (walk.fallback_parent == NULL
               || sli_context_node_is_right (walk.fallback_parent));
  sli_free_flush (&walk);
  return true;
}

CONTEXT_TEXT static bool
live_free (void *ptr, Node *node, const char *operation)
{
  if (UNLIKELY ((node->parent & NODE_EXT) != 0))
    {
      if (sli_free_top_survives (&ptr, operation))
        return false;
      node = node_of (ptr);
    }
  if (context_has_suspended () && sli_free_on_nested (ptr, operation))
    return true;
  return sli_free_tree (ptr, node, operation);
}

static COLD bool
debug_free (void *ptr, Node *node, const char *operation)
{
  void *parent = node_parent (node);
  uintptr_t above = context_enter (parent, operation);
  uintptr_t own = context_enter (ptr, operation);
  bool is_freed = live_free (ptr, node, operation);

  context_leave (ptr, own);
  context_leave (parent, above);
  return is_freed;
}

CONTEXT_TEXT NOINLINE bool
sli_free_any (void *ptr, const char *operation)
{
  Node *node = sli_context_check (ptr, operation);

  if (UNLIKELY (node->pprev == NODE_DYING))
    return false;
  return UNLIKELY ((sli_context_mode & MODE_DEBUG) != 0)
             ? debug_free (ptr, node, operation)
             : live_free (ptr, node, operation);
}

void
ralloc_free_children (void *ctx)
{
  void *at = ctx;
  uintptr_t word;
  Walk walk;

  if (ctx == NULL)
    return;
  sli_context_check (ctx, "ralloc_free_children");
  word = context_enter (ctx, "ralloc_free_children");
  walk_begin (&walk, ctx, ctx, ctx, "ralloc_free_children");
  if (context_has_suspended ())
    sli_free_look_outside (&walk);
  walk_all (&walk);
  /* A destructor may have freed ctx as well. */
  ctx = walk.keep != NULL ? walk.keep : walk.fallback_parent;
  walk_settle_limits (&walk, ctx);
  assert_slow (ctx == NULL || sli_context_tree_is_right (ctx));
  sli_free_flush (&walk);
  context_leave (at, word);
}
