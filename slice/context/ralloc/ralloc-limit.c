/* ralloc-limit.c - limits on the bytes of subtrees
 *
 * Layer: context.  No locks.
 *
 * The extension of the node that a limit was set on has the limit.  That node
 * and all nodes below it carry the flag NODE_LIMITED, which sends their
 * allocations, frees and steals to this file.  A node without a limit above it
 * has no cost.  Limits may be nested: each of them counts the bytes.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include <errno.h>

#include "extension.h"
#include "context/node.h"
#include "context/ralloc/free/suspend.h"

struct Limit
{
  size_t max_bytes;
  size_t used_bytes; /* blocks of the node and of all nodes below */
};

static Limit *
limit_at (const void *ctx)
{
  const Extension *extension = node_extension (node_of (ctx));

  return extension != NULL ? extension->limit : NULL;
}

/* The nearest limit at or above a context; *ctx becomes the parent of the
 * node that has it. */
static Limit *
limit_next (const void **ctx)
{
  Limit *limit = NULL;

  while (*ctx != NULL && limit == NULL)
    {
      const Node *node = node_of (*ctx);

      limit = (node->parent & NODE_LIMITED) ? limit_at (*ctx) : NULL;
      *ctx = (node->parent & NODE_LIMITED) ? node_parent (node) : NULL;
    }
  return limit;
}

static bool
limit_holds (const Limit *limit, size_t bytes)
{
  return limit->used_bytes <= limit->max_bytes
         && bytes <= limit->max_bytes - limit->used_bytes;
}

bool
sli_limit_allows (const void *ctx, size_t bytes)
{
  Limit *limit;

  if (context_has_suspended ())
    sli_context_walks_settle ();
  while ((limit = limit_next (&ctx)) != NULL)
    if (!limit_holds (limit, bytes))
      return false;
  return true;
}

void
sli_limit_force (const void *ctx, size_t bytes)
{
  Limit *limit;

  while ((limit = limit_next (&ctx)) != NULL)
    limit->used_bytes += bytes;
}

bool
sli_limit_add (const void *ctx, size_t bytes)
{
  if (!sli_limit_allows (ctx, bytes))
    {
      errno = ENOMEM;
      return false;
    }
  sli_limit_force (ctx, bytes);
  return true;
}

void
sli_limit_subtract (const void *ctx, size_t bytes)
{
  Limit *limit;

  while ((limit = limit_next (&ctx)) != NULL)
    limit->used_bytes -= bytes;
}

CONTEXT_TEXT void
sli_limit_drop (Extension *extension)
{
  if (extension->limit != NULL)
    slice_free1 (sizeof (Limit), extension->limit);
  extension->limit = NULL;
}

size_t
sli_limit_listed_bytes (const void *top)
{
  const void *at;
  size_t bytes = 0;

  for (at = top; at != NULL; at = sli_context_walk (top, at))
    bytes += sli_context_held_bytes (at);
  return bytes;
}

size_t
sli_limit_subtree_bytes (const void *top)
{
  size_t bytes = sli_limit_listed_bytes (top);

  return context_has_suspended () ? bytes + sli_context_walks_bytes (top)
                                  : bytes;
}

/* A limit that is above ptr counts its bytes already. */
bool
sli_limit_allows_move (const void *new_ctx, void *ptr)
{
  size_t bytes = sli_limit_subtree_bytes (ptr);
  Limit *limit;

  while ((limit = limit_next (&new_ctx)) != NULL)
    {
      const void *at = node_parent (node_of (ptr));
      Limit *old;

      while ((old = limit_next (&at)) != NULL && old != limit)
        ;
      if (old == NULL && !limit_holds (limit, bytes))
        return false;
    }
  return true;
}

/* A node is limited if it or a node above it, up to top, has a limit, or if
 * `limited' says that a node above top has one. */
void
sli_limit_set_listed_flags (void *top, bool limited)
{
  void *at;

  for (at = top; at != NULL; at = sli_context_walk (top, at))
    {
      Node *node = node_of (at);
      void *parent = at != top ? node_parent (node) : NULL;
      bool above = parent != NULL
                       ? (node_of (parent)->parent & NODE_LIMITED) != 0
                       : limited;

      if (above || limit_at (at) != NULL)
        node->parent |= NODE_LIMITED;
      else
        node->parent &= ~(uintptr_t) NODE_LIMITED;
    }
}

void
sli_limit_set_flags (void *top, bool limited)
{
  sli_limit_set_listed_flags (top, limited);
  if (context_has_suspended ())
    sli_context_walks_set_flags (top);
}

static bool
parent_is_limited (const Node *node)
{
  const void *parent = node_parent (node);

  return parent != NULL && (node_of (parent)->parent & NODE_LIMITED) != 0;
}

static bool
limit_lift (void *ctx, Node *node)
{
  if (node_extension (node) == NULL || node_extension (node)->limit == NULL)
    return true;
  if (context_has_suspended ())
    sli_context_walks_settle ();
  sli_limit_drop (node_extension (node));
  sli_limit_set_flags (ctx, parent_is_limited (node));
  assert_slow (sli_context_tree_is_right (ctx));
  return true;
}

bool
ralloc_set_limit (const void *ctx, size_t bytes)
{
  void *payload = (void *) (uintptr_t) ctx;
  Extension *extension;
  Node *node;
  Limit *limit;

  if (UNLIKELY (ctx == NULL))
    sli_diag_abort (ERROR_NODE_NULL, "NULL where a node must be: %s",
                    "ralloc_set_limit");
  node = sli_context_check (ctx, "ralloc_set_limit");
  if (bytes == 0)
    return limit_lift (payload, node);
  extension = sli_context_extend (payload);
  if (extension == NULL)
    return false;
  if (extension->limit == NULL)
    {
      limit = slice_try_alloc (sizeof *limit);
      if (limit == NULL)
        return false;
      limit->used_bytes = sli_limit_subtree_bytes (ctx);
      extension->limit = limit;
      sli_limit_set_flags (payload, parent_is_limited (node));
    }
  extension->limit->max_bytes = bytes;
  assert_slow (sli_context_tree_is_right (payload));
  return true;
}

size_t
ralloc_limit_used (const void *ctx)
{
  const Limit *limit;

  if (ctx == NULL)
    return 0;
  sli_context_check (ctx, "ralloc_limit_used");
  if (context_has_suspended ())
    sli_context_walks_settle ();
  limit = limit_at (ctx);
  return limit != NULL ? limit->used_bytes : 0;
}
