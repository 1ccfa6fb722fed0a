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
 * one of these, the fallback parent, to which nodes that refuse move.  And it
 * may ask what limits leave. */
CONTEXT_TEXT void
sli_free_suspend (Walk *walk, void *at)
{
  sli_free_flush (walk);
  walk_settle_limits (walk, at);
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
  walk->search_serial = 0;
  walk->is_changed = true;
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
      if (walk->stayed == old)
        walk->stayed = payload;
    }
}

CONTEXT_TEXT COLD void
sli_context_walks_left (Extension *extension)
{
  extension->stays = false;
  for (Walk *walk = sli_tls_word (); walk != NULL; walk = walk->outer)
    if (walk->stayed == extension->owner)
      {
        walk->stayed = NULL;
        walk->is_changed = true;
      }
}

/* --- steals between walks ------------------------------------------------ */

/* The walk, among those that began in user code of `outer', that frees a node;
 * NULL if none does. */
static Walk *
inner_walk_of (const Walk *outer, const void *at)
{
  const void *top;
  Walk *walk;

  while (at != NULL && node_of (at)->pprev != NODE_DYING)
    at = node_parent (node_of (at));
  for (top = at; at != NULL && node_of (at)->pprev == NODE_DYING;
       at = node_parent (node_of (at)))
    top = at;
  for (walk = sli_tls_word (); walk != outer; walk = walk->outer)
    if (top != NULL
        && (walk->top == top
            || (walk->keep != NULL && node_parent (node_of (top)) == walk->keep)))
      return walk;
  return NULL;
}

/* User code may have moved what a walk refers to into a tree that an inner
 * walk frees, and so before this walk goes on. */
CONTEXT_TEXT COLD void
sli_context_walks_stolen (void)
{
  for (Walk *walk = sli_tls_word (); walk != NULL; walk = walk->outer)
    {
      Walk *inner;
      if (walk->keep != NULL && inner_walk_of (walk, walk->keep) != NULL)
        {
          walk_detach (walk, walk->keep, node_of (walk->keep),
                       "ralloc_steal");
          walk->keep = NULL;
        }
      while (walk->fallback_parent != NULL
             && (inner = inner_walk_of (walk, walk->fallback_parent)) != NULL)
        walk_set_fallback_parent (walk, inner->fallback_parent);
    }
}

/* --- limits above dying trees -------------------------------------------- */

/* Does a walk free nodes below `top'? */
static bool
walk_is_below (const Walk *walk, const void *top)
{
  const void *at = walk->at;

  while (at != NULL && at != top)
    at = node_parent (node_of (at));
  return at != NULL;
}

/* The next of a walk's dying nodes, from the current one upwards and below
 * `top'.  They are off all lists. */
static void *
dying_next (const Walk *walk, void *at, const void *top)
{
  if (at == walk->top || at == top)
    return NULL;
  at = node_parent (node_of (at));
  return at != top && at != walk->keep ? at : NULL;
}

static void *
dying_first (const Walk *walk, const void *top)
{
  return walk_is_below (walk, top) && walk->at != top
                 && walk->at != walk->keep
             ? walk->at
             : NULL;
}

CONTEXT_TEXT COLD size_t
sli_context_walks_bytes (const void *top)
{
  size_t bytes = 0;
  void *at;

  for (Walk *walk = sli_tls_word (); walk != NULL; walk = walk->outer)
    for (at = dying_first (walk, top); at != NULL;
         at = dying_next (walk, at, top))
      bytes += sli_limit_listed_bytes (at);
  return bytes;
}

static size_t
n_limits_up_to (const void *at, const void *top)
{
  size_t n = 0;

  for (; at != top; at = node_parent (node_of (at)))
    {
      const Extension *extension = node_extension (node_of (at));
      n += extension != NULL && extension->limit != NULL;
    }
  return n;
}

/* (From the lower end of a path upwards, as there is no way down: so limits
 * are counted first.) */
CONTEXT_TEXT COLD void
sli_context_walks_set_flags (const void *top)
{
  bool limited = (node_of (top)->parent & NODE_LIMITED) != 0;

  for (Walk *walk = sli_tls_word (); walk != NULL; walk = walk->outer)
    {
      void *at = dying_first (walk, top);
      size_t n = at != NULL ? n_limits_up_to (at, top) : 0;
      for (; at != NULL; at = dying_next (walk, at, top))
        {
          sli_limit_set_listed_flags (at, limited || n > 0);
          n -= n_limits_up_to (at, node_parent (node_of (at)));
        }
    }
}
