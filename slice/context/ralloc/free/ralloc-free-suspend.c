/* ralloc-free-suspend.c - walks that are suspended while user code runs
 *
 * Layer: context.  No locks: each thread has its walks, and its word
 * (port/thread/tls.c) points to the innermost.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "ralloc-free.h"
#include "context/ralloc/steal.h"
#include "port/thread/tls.h"

/* User code may free or move nodes above a suspended walk.  One of these is
 * the walk's fallback parent, to which nodes that refuse move.  What is to be
 * subtracted from limits waits until user code reads or changes one: each
 * subtraction walks up to the root, so the free of a deep tree with many
 * destructors would be quadratic. */
CONTEXT_TEXT void
sli_free_suspend (Walk *walk, void *at)
{
  sli_free_flush (walk);
  walk->at = at;
  walk->outer = sli_tls_word ();
  context_count_suspended (true);
  /* (This fails if the system has no key left.  Then the walk does not notice
   * what the destructor frees above it.) */
  if (!sli_tls_set_word (walk))
    {
      search_forget (&walk->search);
      walk_settle_limits (walk, at);
    }
}

CONTEXT_TEXT void
sli_free_resume (Walk *walk)
{
  sli_tls_set_word (walk->outer);
  walk->is_changed = true;
  walk->has_waited = true;
  context_count_suspended (false);
}

static void
walk_set_fallback_parent (Walk *walk, void *fallback_parent)
{
  walk->fallback_parent = fallback_parent;
  if (walk->keep == NULL)
    node_set_parent (node_of (walk->top), fallback_parent);
}

/* --- changes by user code to nodes that walks refer to ------------------- */

/* Returns true if the refusing destructor of a node is running, so that the
 * node is not freed. */
static inline bool
is_asked (const void *payload)
{
  const Extension *extension = node_extension (node_of (payload));

  return extension != NULL && extension->asked;
}

/* Returns true if a walk frees a node. */
static bool
walk_frees (const Walk *walk, const void *payload)
{
  const void *at = payload;

  if (at == walk->keep)
    at = node_parent (node_of (at));
  while (at != NULL && at != walk->top && !is_asked (at))
    at = node_parent (node_of (at));
  return at != NULL && at == walk->top;
}

/* The walk that frees a node before `outer' is resumed; NULL if none does. */
static Walk *
inner_walk_of (const Walk *outer, const void *payload)
{
  Walk *walk = sli_tls_word ();

  while (walk != outer && !walk_frees (walk, payload))
    walk = walk->outer;
  return walk != outer ? walk : NULL;
}

CONTEXT_TEXT COLD bool
sli_free_keeps_outside (const void *payload)
{
  const Walk *walk = sli_tls_word ();

  while (walk != NULL && walk->keep != payload)
    walk = walk->outer;
  return walk != NULL;
}

/* Lets a walk free its keep as well, and removes it from its list.  Of several
 * walks that keep a node, this is the outermost, which needs the node longest.
 * But if an outer walk is destroying the node, that one frees it. */
static void
keep_take (Walk *walk, const char *operation)
{
  Walk *outer;

  if (node_of (walk->keep)->pprev == NODE_DYING)
    return;
  for (outer = walk->outer; outer != NULL; outer = outer->outer)
    if (outer->keep == walk->keep)
      return;
  walk_detach (walk, walk->keep, node_of (walk->keep), operation);
  walk->keep = NULL;
  search_forget (&walk->search); /* children that stayed go, too */
}

/* The nodes that the walk still frees are no longer below the old fallback
 * parent. */
static void
walk_move_fallback (Walk *walk, void *fallback_parent)
{
  Node *top = node_of (walk->top);
  bool to_limited = fallback_parent != NULL
                    && (node_of (fallback_parent)->parent & NODE_LIMITED) != 0;
  size_t bytes;

  if (walk->keep == NULL && ((top->parent & NODE_LIMITED) != 0 || to_limited))
    {
      bytes = sli_limit_subtree_bytes (walk->top);
      sli_limit_subtract (walk->fallback_parent, bytes);
      if (to_limited)
        sli_limit_force (fallback_parent, bytes);
      sli_limit_set_flags (walk->top, to_limited);
    }
  walk_set_fallback_parent (walk, fallback_parent);
}

/* Before a walk is resumed, an inner walk may now free a node that it refers
 * to: its keep, or its fallback parent. */
CONTEXT_TEXT COLD void
sli_context_walks_stolen (void)
{
  for (Walk *walk = sli_tls_word (); walk != NULL; walk = walk->outer)
    {
      Walk *inner;

      if (walk->keep != NULL && inner_walk_of (walk, walk->keep) != NULL)
        keep_take (walk, walk->operation);
      while (walk->fallback_parent != NULL
             && walk->fallback_parent != walk->keep
             && (inner = inner_walk_of (walk, walk->fallback_parent)) != NULL)
        walk_move_fallback (walk, inner->fallback_parent);
    }
}

/* The same while a walk runs that user code has started. */
CONTEXT_TEXT COLD void
sli_free_look_outside (Walk *walk)
{
  walk->outer = sli_tls_word ();
  sli_tls_set_word (walk);
  sli_context_walks_stolen ();
  sli_tls_set_word (walk->outer);
}

/* Moves a node for a walk, perhaps one above it.  The walk counts as suspended
 * meanwhile, so that the nodes it frees move along. */
CONTEXT_TEXT COLD void
sli_free_move_outside (Walk *walk, void *to, const Extension *extension,
                       const char *operation)
{
  Search search = walk->search;

  walk_settle_limits (walk, walk->at);
  walk->outer = sli_tls_word ();
  sli_tls_set_word (walk);
  context_count_suspended (true);
  sli_context_steal (to, node_of (extension->owner), extension->owner,
                     operation);
  walk->search = search; /* it knows of its own moves */
  sli_context_walks_stolen ();
  context_count_suspended (false);
  sli_tls_set_word (walk->outer);
}

/* Called when user code frees a node.  True: a suspended walk, which was to
 * keep it, frees it. */
CONTEXT_TEXT COLD bool
sli_free_on_nested (void *ptr, const char *operation)
{
  Walk *walk = sli_tls_word ();

  while (walk != NULL && walk->keep != ptr)
    walk = walk->outer;
  if (walk == NULL)
    return false;
  for (; walk != NULL; walk = walk->outer)
    if (walk->keep == ptr)
      keep_take (walk, operation);
  sli_context_walks_stolen ();
  return true;
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
    {
      search_forget (&walk->search); /* nodes that it holds may go */
      if (walk->stayed == extension->owner)
        {
          walk->stayed = NULL;
          walk->is_changed = true;
        }
    }
}

/* --- what walks know of their dying sets --------------------------------- */

/* Returns true if a node, or one below it, may go with a dying set, perhaps
 * after it was asked. */
static bool
may_go (const void *payload)
{
  const void *at = payload;

  for (; at != NULL; at = node_parent (node_of (at)))
    if (node_of (at)->pprev == NODE_DYING || is_asked (at)
        || sli_free_keeps_outside (at))
      return true;
  return false;
}

CONTEXT_TEXT COLD void
sli_context_walks_touched (const void *payload, const void *to)
{
  Walk *walk = sli_tls_word ();

  while (walk != NULL && walk->search.known == 0)
    walk = walk->outer;
  if (walk == NULL || (!may_go (payload) && !may_go (to)))
    return;
  for (; walk != NULL; walk = walk->outer)
    search_forget (&walk->search);
}

CONTEXT_TEXT COLD void
sli_context_searches_leave (const Extension *extension)
{
  for (Walk *walk = sli_tls_word (); walk != NULL; walk = walk->outer)
    if (search_has (&walk->search, extension))
      search_drop (&walk->search);
}

/* --- limits above dying trees -------------------------------------------- */

CONTEXT_TEXT COLD void
sli_context_walks_settle (void)
{
  for (Walk *walk = sli_tls_word (); walk != NULL; walk = walk->outer)
    walk_settle_limits (walk, walk->at);
}

/* Returns true if a walk frees nodes below `top'. */
static bool
walk_is_below (const Walk *walk, const void *top)
{
  const void *at = walk->at;

  while (at != NULL && at != top)
    at = node_parent (node_of (at));
  return at != NULL;
}

/* The next of a walk's dying nodes, from the current one upwards and below
 * `top'.  They are on no list. */
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

  sli_context_walks_settle (); /* the bytes are for limits elsewhere */
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

/* (Goes up from the lower end of a path, as no links lead down, so it counts
 * limits first.) */
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
