/* linear.c - linear contexts: making, freeing and moving them
 *
 * Layer: context.  No locks.
 * Objects are in linear-object.c, strings in linear-string.c.
 * Design: chapter 7; layout: linear-prefix.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include <errno.h>

#include "linear-prefix.h"
#include "linear.h"
#include "context/node-memory.h"
#include "context/owned.h"
#include "context/ralloc/debug/debug.h"
#include "context/ralloc/extension.h"
#include "context/ralloc/steal.h"
#include "page/map/map.h"

size_t
sli_context_linear_prefix_bytes (void)
{
  return sizeof (LinearPrefix);
}

size_t
sli_context_linear_bytes (const Node *node)
{
  return ((const LinearPrefix *) node - 1)->held_bytes;
}

COLD void
sli_context_linear_report (const void *linear, const char *operation)
{
  sli_context_abort (ERROR_NOT_LINEAR, linear,
                     "not a linear context: %s (%p)", operation, linear);
}

LinearPrefix *
sli_context_linear_examine (const void *linear, const char *operation)
{
  const Node *node = sli_context_check (linear, operation);
  LinearPrefix *prefix = linear_prefix (linear);

  if (UNLIKELY ((node->parent & NODE_HAS_PREFIX) == 0
                || prefix->kind != KIND_LINEAR))
    sli_context_linear_report (linear, operation);
  return prefix;
}

/* Checks the argument of calls that then treat it as any node; NULL is
 * valid. */
static void
require_linear (const void *linear, const char *operation)
{
  if (linear == NULL)
    return;
  (void) sli_context_init (); /* without memory the mode may stay unknown */
  if (sli_context_mode & MODE_NODES)
    sli_context_check (linear, operation);
  else
    sli_context_linear_examine (linear, operation);
}

/* --- memory -------------------------------------------------------------- */

CONTEXT_TEXT void *
sli_context_linear_memory_new (size_t bytes)
{
  return bytes <= slab_block_max () ? slice_try_alloc (bytes)
                                    : sli_large_alloc (bytes, false);
}

CONTEXT_TEXT void
sli_context_linear_memory_free (void *memory, size_t bytes)
{
  if (bytes <= slab_block_max ())
    slice_free1 (bytes, memory);
  else
    sli_large_free (memory);
}

CONTEXT_TEXT size_t
sli_context_linear_memory_bytes (size_t bytes)
{
  return bytes <= slab_block_max () ? node_total (bytes - sizeof (Node))
                                    : align_up (bytes, NODE_ALIGN);
}

CONTEXT_TEXT void
sli_context_linear_release (Node *node)
{
  LinearPrefix *prefix = (LinearPrefix *) node - 1;
  LinearBuffer *buffer = prefix->buffers;
  LinearBuffer *next;

  prefix->kind = 0;
  for (; buffer != NULL; buffer = next)
    {
      next = buffer->next;
      sli_context_linear_memory_free (buffer, linear_buffer_bytes (buffer));
    }
  if (prefix->block_bytes > slab_block_max ())
    sli_map_forget (node + 1);
  sli_context_linear_memory_free (prefix, prefix->block_bytes);
}

/* --- contexts ------------------------------------------------------------ */

static void *
linear_init (char *block, size_t bytes, size_t min_buffer_bytes)
{
  LinearPrefix *prefix = (LinearPrefix *) block;
  Node *node = (Node *) (prefix + 1);
  char *payload = (char *) (node + 1);

  prefix->at = payload;
  prefix->end = block + bytes;
  prefix->last = NULL;
  prefix->buffers = NULL;
  prefix->held_bytes = bytes;
  prefix->block_bytes = bytes;
  prefix->min_buffer_bytes = min_buffer_bytes;
  prefix->kind = KIND_LINEAR;
  node->parent = NODE_HAS_PREFIX;
  node->child = NULL;
  if (bytes > slab_block_max () && !sli_large_note (payload))
    {
      sli_large_free (block);
      return NULL;
    }
  return payload;
}

/* Links a new linear context to its parent, as ralloc_size() would. */
static void *
linear_link (const void *ctx, void *payload, const char *operation)
{
  void *parent = (void *) (uintptr_t) ctx;
  Node *node = head_of (payload);
  uintptr_t word;

  if (parent != NULL)
    {
      Node *parent_node = head_of (parent);

      if (UNLIKELY (parent_node->parent & NODE_LIMITED))
        {
          if (!sli_limit_add (parent, linear_prefix (payload)->held_bytes))
            {
              sli_context_linear_release (node);
              return NULL;
            }
          node->parent |= NODE_LIMITED;
        }
    }
  word = context_enter (parent, operation);
  node_link (parent, node, payload);
  context_leave (parent, word);
  if (UNLIKELY (sli_context_mode & MODE_ROOTS) && parent == NULL)
    sli_roots_add (payload);
  return payload;
}

/* Makes a context that begins with an object of `size' bytes. */
CONTEXT_TEXT static void *
linear_new (const void *ctx, size_t size, size_t min_buffer_bytes,
            const char *operation)
{
  const size_t head = sizeof (LinearPrefix) + sizeof (Node);
  size_t bytes = LINEAR_FIRST_BYTES;
  char *block;

  if (UNLIKELY (size > (size_t) PTRDIFF_MAX / 2
                || min_buffer_bytes > (size_t) PTRDIFF_MAX / 2))
    {
      errno = ENOMEM;
      return NULL;
    }
  if (UNLIKELY ((sli_context_mode & MODE_UNDECIDED) != 0
                && !sli_context_init ()))
    return NULL;
  if (sli_context_mode & MODE_NODES)
    return context_alloc (ctx, size, operation);
  /* Check before the allocation, which may return the block of a freed
   * parent. */
  if (ctx != NULL)
    sli_context_check (ctx, operation);
  if (bytes < head + size)
    bytes = head + size;
  if (bytes < head + min_buffer_bytes)
    bytes = head + min_buffer_bytes;
  bytes = sli_context_linear_memory_bytes (bytes);
  block = sli_context_linear_memory_new (bytes);
  if (UNLIKELY (block == NULL))
    return NULL;
  block = linear_init (block, bytes, min_buffer_bytes);
  return LIKELY (block != NULL) ? linear_link (ctx, block, operation) : NULL;
}

/* Makes a context of the new style: the handle is no object. */
static RallocLinear *
linear_new_apart (const void *ctx, size_t min_buffer_bytes,
                  const char *operation)
{
  void *linear = linear_new (ctx, 0, min_buffer_bytes, operation);

  if (LIKELY (linear != NULL && (sli_context_mode & MODE_NODES) == 0))
    linear_prefix (linear)->at += LINEAR_GAP_BYTES;
  return linear;
}

RallocLinear *
ralloc_linear_context (const void *ctx)
{
  return linear_new_apart (ctx, 0, "ralloc_linear_context");
}

RallocLinear *
ralloc_linear_context_with_opts (const void *ctx,
                                 const RallocLinearOpts *opts)
{
  size_t min = opts != NULL ? opts->min_buffer_size : 0;

  if (min > (size_t) PTRDIFF_MAX / 2)
    {
      errno = ENOMEM;
      return NULL;
    }
  min = align_up (min, LINEAR_OPTION_STEP_BYTES);
  return linear_new_apart (ctx, min > 0 ? min + LINEAR_GAP_BYTES : 0,
                           "ralloc_linear_context_with_opts");
}

void
ralloc_linear_free_context (RallocLinear *linear)
{
  require_linear (linear, "ralloc_linear_free_context");
  ralloc_free (linear);
}

void
ralloc_steal_linear_context (const void *new_ctx, RallocLinear *linear)
{
  require_linear (linear, "ralloc_steal_linear_context");
  sli_context_steal_any (new_ctx, linear, "ralloc_steal_linear_context");
}

void *
ralloc_parent_of_linear_context (const RallocLinear *linear)
{
  require_linear (linear, "ralloc_parent_of_linear_context");
  return ralloc_parent (linear);
}

CONTEXT_TEXT static void *
parent_new (const void *ctx, size_t size, const char *operation)
{
  void *linear;

  if (UNLIKELY (ctx == NULL))
    return NULL;
  linear = linear_new (ctx, size, 0, operation);
  if (LIKELY (linear != NULL && (sli_context_mode & MODE_NODES) == 0))
    {
      LinearPrefix *prefix = linear_prefix (linear);

      prefix->last = prefix->at;
      /* No object has the handle's address. */
      prefix->at += linear_round (size + (size == 0));
    }
  return linear;
}

CONTEXT_TEXT void *
ralloc_linear_alloc_parent (const void *ctx, size_t size)
{
  return parent_new (ctx, size, "ralloc_linear_alloc_parent");
}

void *
ralloc_linear_zalloc_parent (const void *ctx, size_t size)
{
  void *linear = parent_new (ctx, size, "ralloc_linear_zalloc_parent");

  if (LIKELY (linear != NULL))
    memset (linear, 0, size);
  return linear;
}

void
ralloc_linear_free_parent (void *linear)
{
  require_linear (linear, "ralloc_linear_free_parent");
  ralloc_free (linear);
}

void
ralloc_steal_linear_parent (const void *new_ctx, void *linear)
{
  require_linear (linear, "ralloc_steal_linear_parent");
  sli_context_steal_any (new_ctx, linear, "ralloc_steal_linear_parent");
}

void *
ralloc_parent_of_linear_parent (const void *linear)
{
  require_linear (linear, "ralloc_parent_of_linear_parent");
  return ralloc_parent (linear);
}
