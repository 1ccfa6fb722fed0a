/* ralloc-reference.c - references: contexts beside the parent that keep a node
 *
 * Layer: context.  No locks.
 *
 * A reference is a small node below the context that holds it, and is freed
 * with that context.  Its payload is on the list of its target's references.
 * A node always has exactly one parent.  When the parent frees it, the oldest
 * context that holds a reference and survives becomes the parent.
 *
 *   ctx --child--> [Reference] --target--> node
 *                       ^                     |
 *                       +---- references -----+  (in node's extension)
 *
 * Design: chapter 7.  Source: talloc_reference(), whose handles cost more.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include <errno.h>

#include "extension.h"
#include "context/node.h"
#include "context/owned.h"
#include "context/ralloc/free/suspend.h"

struct Reference
{
  void *target;         /* the node that is kept; NULL: it was freed */
  Reference *next;      /* the next younger one */
  Reference *previous;  /* the next older one; of the oldest, the youngest */
};

static inline bool
refers_to (const Reference *child, const void *target)
{
  return node_is_reference (node_of (child)) && child->target == target;
}

/* The oldest reference of a context to a node, or NULL.  The steps go in turn
 * along both lists on which it is: a node may have many holders, a context
 * many children.  The children need not be in the order of their references,
 * so if several refer to the node, the node's list decides. */
static Reference *
reference_of (const Extension *extension, const void *ctx)
{
  Reference *at = extension != NULL ? extension->references : NULL;
  Reference *child = node_first_child (node_of (ctx));
  Reference *found = NULL;
  bool is_only = true;

  for (; at != NULL && node_parent (node_of (at)) != ctx; at = at->next)
    {
      if (child == NULL && is_only)
        return found;
      if (child == NULL)
        continue;
      if (refers_to (child, extension->owner))
        {
          is_only = found == NULL;
          found = child;
        }
      child = node_of (child)->next;
    }
  return at;
}

static void
reference_append (Extension *extension, Reference *reference, void *target)
{
  Reference *oldest = extension->references;

  reference->target = target;
  reference->next = NULL;
  if (oldest == NULL)
    {
      extension->references = reference;
      reference->previous = reference;
      return;
    }
  assert_here (oldest->previous->next == NULL);
  reference->previous = oldest->previous;
  oldest->previous->next = reference;
  oldest->previous = reference;
}

void *
ralloc_reference (const void *ctx, const void *ptr)
{
  void *target = (void *) (uintptr_t) ptr;
  Extension *extension;
  Extension *own;
  Reference *reference;

  if (UNLIKELY (ctx == NULL || ptr == NULL))
    sli_diag_abort (ERROR_NODE_NULL, "NULL where a node must be: %s",
                    "ralloc_reference");
  sli_context_check (ctx, "ralloc_reference");
  if (UNLIKELY (sli_context_check (target, "ralloc_reference")->pprev
                == NODE_DYING))
    {
      sli_context_warn (
          ERROR_NODE_DYING, target,
          "a node that is being destroyed can't be kept: %s (%p)",
          "ralloc_reference", target);
      errno = EINVAL;
      return NULL;
    }
  extension = sli_context_extend (target);
  reference = extension != NULL ? context_alloc (ctx, sizeof *reference,
                                               "ralloc_reference")
                              : NULL;
  own = reference != NULL ? sli_context_extend (reference) : NULL;
  if (own == NULL)
    {
      ralloc_free (reference);
      return NULL;
    }
  own->kind = EXT_REFERENCE;
  reference_append (extension, reference, target);
  if (context_has_suspended ())
    sli_context_walks_touched (target, NULL);
  return target;
}

/* Called when a target is freed although it has references, because their
 * contexts are freed in the same walk. */
CONTEXT_TEXT void
sli_reference_target_freed (Extension *extension)
{
  Reference *reference = extension->references;
  Reference *next;

  for (; reference != NULL; reference = next)
    {
      next = reference->next;
      reference->target = NULL;
      reference->next = NULL;
      reference->previous = NULL;
    }
  extension->references = NULL;
}

void
sli_reference_release (void *payload)
{
  Reference *reference = payload;
  Reference *next = reference->next;
  Reference **oldest;

  if (reference->target == NULL)
    return;
  oldest = &node_extension (node_of (reference->target))->references;
  if (*oldest == reference)
    *oldest = next;
  else
    reference->previous->next = next;
  /* (The only reference has no previous one.) */
  if (next != NULL)
    next->previous = reference->previous;
  else if (*oldest != NULL)
    (*oldest)->previous = reference->previous;
}

void
sli_reference_target_moved (Extension *extension)
{
  Reference *reference = extension->references;

  for (; reference != NULL; reference = reference->next)
    reference->target = extension->owner;
}

void *
sli_reference_first (const Extension *extension)
{
  return extension->references;
}

void *
sli_reference_next (const void *reference)
{
  return ((const Reference *) reference)->next;
}

void *
sli_reference_target (const void *reference)
{
  return ((const Reference *) reference)->target;
}

bool
ralloc_unlink (const void *ctx, void *ptr)
{
  Reference *reference;
  Node *node;

  if (UNLIKELY (ptr == NULL))
    return false;
  node = sli_context_check (ptr, "ralloc_unlink");
  if (ctx != NULL)
    sli_context_check (ctx, "ralloc_unlink");
  reference = ctx != NULL ? reference_of (node_extension (node), ctx) : NULL;
  if (reference != NULL)
    {
      ralloc_free (reference);
      return true;
    }
  if (node_parent (node) != ctx)
    return false;
  ralloc_free (ptr);
  return true;
}

size_t
ralloc_reference_count (const void *ptr)
{
  const Extension *extension;
  const Reference *reference;
  size_t n = 0;

  if (ptr == NULL)
    return 0;
  extension = node_extension (sli_context_check (ptr,
                                                 "ralloc_reference_count"));
  if (extension != NULL)
    for (reference = extension->references; reference != NULL;
         reference = reference->next)
      n++;
  return n;
}
