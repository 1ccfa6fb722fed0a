/* ralloc-free-suspend.c - walks that are suspended while user code runs
 *
 * Layer: context.  No locks: each thread has its walks, and its word
 * (port/tls.c) points to the innermost.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "ralloc-free.h"
#include "port/tls.h"

/* User code may free or move nodes above a suspended walk.  The walk refers to
 * one of these, the fallback parent, to which nodes that refuse move. */
CONTEXT_TEXT void
sli_free_suspend (Walk *walk, void *at)
{
  sli_free_flush (walk);
  walk->at = at;
  walk->outer = sli_tls_word ();
  __atomic_fetch_add (&sli_context_n_suspended, 1, __ATOMIC_RELAXED);
  /* (This fails if the system has no key left: then the walk does not learn
   * what the destructor frees above it.) */
  sli_tls_set_word (walk);
}

CONTEXT_TEXT void
sli_free_resume (Walk *walk)
{
  sli_tls_set_word (walk->outer);
  __atomic_fetch_sub (&sli_context_n_suspended, 1, __ATOMIC_RELAXED);
}

/* Is `payload' freed if `top' is freed?  A dying node is off its list, and is
 * freed by its walk. */
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

/* User code frees a node.  A walk that was to keep its top frees that as well
 * if it is in the freed tree.  A walk whose fallback parent is freed takes the
 * next surviving ancestor.  True: a walk frees the node itself. */
CONTEXT_TEXT COLD bool
sli_free_on_nested (void *ptr, const char *operation)
{
  bool taken = false;

  for (Walk *walk = sli_tls_word (); walk != NULL; walk = walk->outer)
    {
      if (walk->keep != NULL && lies_below (ptr, walk->keep))
        {
          taken |= walk->keep == ptr;
          walk_detach (walk, walk->keep, node_of (walk->keep),
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
          /* The dying child of `keep' that the walk is in, if any. */
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
