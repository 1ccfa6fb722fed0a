/* ralloc-free-suspend.c - walks that stand in user code
 *
 * Layer: context.  No locks: a thread has its own walks, and its word
 * (port/tls.c) leads to them.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "ralloc-free.h"
#include "port/tls.h"

/* What user code does while a walk stands: it may free or move the nodes
 * above the walk, of which the walk knows one, where those that refuse go.
 * The thread's word leads to its walks, the innermost first. */
CONTEXT_TEXT void
sli_free_suspend (Walk *walk, void *at)
{
  sli_free_flush (walk);
  walk->at = at;
  walk->outer = sli_tls_word ();
  __atomic_fetch_add (&sli_context_n_suspended, 1, __ATOMIC_RELAXED);
  /* (Without a key left nobody hears what the destructor frees above.) */
  sli_tls_set_word (walk);
}

CONTEXT_TEXT void
sli_free_resume (Walk *walk)
{
  sli_tls_set_word (walk->outer);
  __atomic_fetch_sub (&sli_context_n_suspended, 1, __ATOMIC_RELAXED);
}

/* Will `payload' go if `top' is freed?  What is dying is off its list, and
 * goes with its own walk. */
static bool
lies_below (const void *top, const void *payload)
{
  while (payload != NULL && payload != top)
    {
      const Node *node = node_of (payload);
      if (node->pprev == NODE_DYING)
        return false;
      payload = node_parent (node);
    }
  return payload != NULL;
}

static void
walk_set_fallback_parent (Walk *walk, void *fallback_parent)
{
  walk->fallback_parent = fallback_parent;
  if (walk->keep == NULL)
    node_set_parent (node_of (walk->top), fallback_parent);
}

/* User code frees a node.  A walk that was to keep its top, which goes now,
 * takes it along; one whose fallback_parent goes has the next that stays.
 * True: there is nothing left to be done. */
CONTEXT_TEXT COLD bool
sli_free_on_nested (void *ptr, const char *operation)
{
  bool taken = false;

  for (Walk *walk = sli_tls_word (); walk != NULL; walk = walk->outer)
    {
      if (walk->keep != NULL && lies_below (ptr, walk->keep))
        {
          taken |= walk->keep == ptr;
          node_leaves_tree (walk, walk->keep, node_of (walk->keep),
                            operation);
          walk->keep = NULL;
        }
      if (!taken && walk->fallback_parent != NULL
          && lies_below (ptr, walk->fallback_parent))
        walk_set_fallback_parent (walk, node_parent (node_of (ptr)));
    }
  return taken;
}

COLD void
sli_context_walks_moved (void *old, void *payload)
{
  for (Walk *walk = sli_tls_word (); walk != NULL; walk = walk->outer)
    {
      if (walk->keep == old)
        {
          void *at = walk->at;
          /* The node under way that hangs on it, or did. */
          while (at != old && node_parent (node_of (at)) != old)
            at = node_parent (node_of (at));
          if (at == old)
            walk->at = payload;
          else
            node_set_parent (node_of (at), payload);
          walk->keep = walk->top = payload;
        }
      if (walk->fallback_parent == old)
        walk_set_fallback_parent (walk, payload);
    }
}
