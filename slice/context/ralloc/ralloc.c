/* ralloc.c - nodes: allocation
 *
 * Layer: context.  Resizing, moving and freeing are in ralloc-resize.c,
 * ralloc-steal.c and ralloc-free.c.  No locks.  The fast path of ralloc_size()
 * is inline, in ralloc.h; unusual cases (a root, a large node, a mode, a
 * limit) go to sli_context_alloc_slow().
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

/* This file defines the bodies of the inline functions of ralloc.h. */
#define RALLOC_DEFINE_EXPORTS
#include "port/compiler.h"

#include <stddef.h>
/* Declared here for their section, before ralloc.h defines them. */
CONTEXT_TEXT ALWAYS_INLINE void *
ralloc_take_v1 (const void *ctx, size_t size);
CONTEXT_TEXT void *ralloc_size (const void *ctx, size_t size);
CONTEXT_TEXT void *rzalloc_size (const void *ctx, size_t size);
#include <slice/ralloc.h>

#include "extension.h"
#include "context/linear/linear.h"
#include "context/node-memory.h"
#include "context/node.h"
#include "context/owned.h"
#include "context/ralloc/debug/debug.h"
#include "base/align.h"
#include "base/trace.h"
#include "page/map/map.h"

/* The bytes of a payload, but for its last step of NODE_ALIGN. */
static inline size_t
steps_before_last (size_t size)
{
  return (size - 1) & ~(size_t) (NODE_ALIGN - 1);
}

/* Makes a node from the top block of the thread's magazine, as the inline code
 * does.  NULL: take the slow path, as also for size 0. */
static ALWAYS_INLINE void *
node_alloc (const void *ctx, size_t size)
{
  SliceThreadV1 *thread = SLICE_LOAD (&slice_tls_v1);
  size_t steps = steps_before_last (size);
  void **top, **children, *payload, *next;
  size_t twice_class;
  Node *node;

  if (UNLIKELY (ctx == NULL || steps >= RALLOC_INLINE_MAX_V1))
    return NULL;
  twice_class
      = SLICE_TWICE_CLASS_V1 (thread, steps + sizeof (Node) + NODE_ALIGN);
  top = SLICE_LOAD (&SLICE_ENTRY_V1 (thread, twice_class)->top);
  node = *top;
  /* In all modes that matter here the magazines are empty. */
  if (UNLIKELY (node == NULL
                || (head_of (ctx)->parent & RALLOC_UNUSUAL_V1) != 0))
    return NULL;
  SLICE_MOVE_TOP_V1 (thread, size, twice_class, top, -1);
  RALLOC_FETCH_V1 (top);
  children = &head_of (ctx)->child;
  KEEP (children);
  payload = node + 1;
  next = *children;
  KEEP (payload);
  KNOWN (payload != NULL);
  node = head_of (payload);
  node->parent = (uintptr_t) ctx;
  node->child = NULL;
  node->next = next;
  node->pprev = children;
  if (next != NULL)
    head_of (next)->pprev = &node->next;
  *children = payload;
  return payload;
}

/* The same for a root, if no mode is set. */
static ALWAYS_INLINE void *
root_alloc (size_t size)
{
  SliceThreadV1 *thread = SLICE_LOAD (&slice_tls_v1);
  SliceEntryV1 *entry;
  void **top;
  Node *node;

  if (UNLIKELY (!RALLOC_IS_INLINE_V1 (size)
                || LOAD_ACQUIRE (&sli_context_mode) != 0))
    return NULL;
  entry = RALLOC_ENTRY_V1 (thread, size);
  top = SLICE_LOAD (&entry->top);
  node = *top;
  if (UNLIKELY (node == NULL))
    return NULL;
  SLICE_STORE (&entry->top, top - 1);
  node->parent = 0;
  node->child = NULL;
  node_make_root (node, node + 1);
  return node + 1;
}

/* A node of no bytes. */
static ALWAYS_INLINE void *
context_new (const void *ctx, const char *operation)
{
  void *payload = ctx == NULL ? root_alloc (0) : node_alloc (ctx, 1);

  return payload != NULL
             ? payload
             : sli_context_alloc_slow (ctx, 0, false, operation);
}

CONTEXT_TEXT void *
ralloc_context (const void *ctx)
{
  return context_new (ctx, "ralloc_context");
}

CONTEXT_TEXT void *
sli_context_alloc_named (const void *ctx, size_t size, const char *operation)
{
  void *payload;

  if (UNLIKELY (size == 0))
    return context_new (ctx, operation);
  payload = ctx == NULL ? root_alloc (size) : NULL;
  return payload != NULL
             ? payload
             : sli_context_alloc_slow (ctx, size, false, operation);
}

CONTEXT_TEXT void *
ralloc_size_slow_v1 (const void *ctx, size_t size)
{
  return sli_context_alloc_named (ctx, size, "ralloc_size");
}

typedef long long Step __attribute__ ((vector_size (16), may_alias));

/* Clears two Steps at each end of a payload; these may meet or overlap.  `last'
 * is its last Step. */
static inline void
clear_ends (char *payload, char *last)
{
  const Step zero = { 0, 0 };

  ((Step *) payload)[0] = zero;
  ((Step *) payload)[1] = zero;
  ((Step *) last)[-1] = zero;
  ((Step *) last)[0] = zero;
}

/* Out of line, so that the compiler calls libc.  If it knows a bound of 2000
 * bytes it emits `rep stos', which is slow to start. */
CONTEXT_TEXT static NOINLINE void *
clear_many (void *payload, size_t bytes)
{
  return memset (payload, 0, bytes);
}

CONTEXT_TEXT static NOINLINE void *
rzalloc_size_slow (const void *ctx, size_t size, const char *operation)
{
  void *payload = ctx == NULL ? root_alloc (size) : NULL;

  return payload != NULL ? memset (payload, 0, size)
                         : sli_context_alloc_slow (ctx, size, true, operation);
}

/* Clears a payload of `steps' bytes and one Step more.  Most are short: a few
 * stores, from both ends towards the middle, take less time than a call to
 * memset().  The bounds follow from the sizes in a compiler's trees: 48, 64 and
 * 144 bytes are the most frequent, and less than 33 are rare. */
static ALWAYS_INLINE void *
payload_clear (char *payload, size_t steps)
{
  const size_t step = sizeof (Step);
  const Step zero = { 0, 0 };
  char *last = payload + steps;

  KEEP (last);
  if (LIKELY (steps <= 4 * step))
    {
      if (UNLIKELY (steps < 2 * step))
        {
          *(Step *) payload = *(Step *) last = zero;
          return payload;
        }
      clear_ends (payload, last);
      ((Step *) payload)[2] = zero;
      return payload;
    }
  if (LIKELY (steps <= 8 * step))
    {
      clear_ends (payload, last);
      clear_ends (payload + 2 * step, last - 2 * step);
      ((Step *) payload)[4] = zero;
      return payload;
    }
  if (UNLIKELY (steps >= 12 * step))
    return clear_many (payload, steps + step);
  clear_ends (payload, last);
  clear_ends (payload + 2 * step, last - 2 * step);
  clear_ends (payload + 4 * step, last - 4 * step);
  return payload;
}

static ALWAYS_INLINE void *
node_zalloc (const void *ctx, size_t size, const char *operation)
{
  void *payload = node_alloc (ctx, size);

  if (UNLIKELY (payload == NULL))
    return size != 0 ? rzalloc_size_slow (ctx, size, operation)
                     : sli_context_alloc_named (ctx, 0, operation);
  return payload_clear (payload, steps_before_last (size));
}

CONTEXT_TEXT void *
rzalloc_size_v1 (const void *ctx, size_t size)
{
  return node_zalloc (ctx, size, "rzalloc_size");
}

CONTEXT_TEXT void *
sli_context_zalloc (const void *ctx, size_t size, const char *operation)
{
  return node_zalloc (ctx, size, operation);
}

/* --- blocks for nodes ---------------------------------------------------- */

static void *
large_new (size_t size, bool zero)
{
  size_t bytes = sizeof (LargePrefix) + sizeof (Node)
                 + align_up (size, NODE_ALIGN);
  LargePrefix *prefix = sli_large_alloc (bytes, zero);
  Node *node;

  if (prefix == NULL)
    return NULL;
  node = (Node *) (prefix + 1);
  if (!sli_large_note (node + 1))
    {
      sli_large_free (prefix);
      return NULL;
    }
  prefix->bytes = bytes;
  ((size_t *) node)[-1] = KIND_LARGE;
  node->parent = NODE_HAS_PREFIX;
  node->child = NULL;
  if (UNLIKELY ((sli_context_mode & MODE_DEBUG) != 0))
    sli_untraced_remember_large (node + 1,
                                 sli_context_usable_bytes (node + 1));
  return node + 1;
}

static void *
small_new (size_t size, bool zero)
{
  Node *node = slice_try_alloc (node_total (max_size (size, 1)));

  if (node == NULL)
    return NULL;
  node->parent = 0;
  node->child = NULL;
  if (zero)
    clear_many (node + 1, size);
  return node + 1;
}

CONTEXT_TEXT void *
sli_context_new (size_t size, bool zero)
{
  void *payload;

  if (size > SIZE_LIMIT)
    {
      errno = ENOMEM;
      return NULL;
    }
  if (sli_context_mode & MODE_TRAILING_HEADER)
    return sli_trailing_new (size, NODE_ALIGN, zero);
  payload = slack_add (size) > slab_block_max () - sizeof (Node)
                ? large_new (slack_add (size), zero)
                : small_new (slack_add (size), zero);
  if (UNLIKELY ((sli_context_mode & MODE_SLACK) != 0) && payload != NULL)
    sli_slack_write (payload, size);
  return payload;
}

CONTEXT_TEXT void
sli_context_release (void *payload)
{
  Node *node = node_of (payload);
  uintptr_t prefix_flag = node->parent & NODE_HAS_PREFIX;
  void *block = node;

  node->parent = NODE_DEAD;
  if (sli_context_mode & MODE_TRAILING_HEADER)
    sli_trailing_free (payload);
  else if (LIKELY (prefix_flag == 0))
    slice_free_bulk (1, &block);
  else if (((const size_t *) node)[-1] == KIND_LINEAR)
    sli_context_linear_release (node);
  else if (((const size_t *) node)[-1] == KIND_ALIGNED)
    sli_aligned_free (payload);
  else
    {
      if (UNLIKELY ((sli_context_mode & MODE_DEBUG) != 0))
        sli_untraced_forget_large (payload);
      sli_map_forget (payload);
      sli_large_free ((LargePrefix *) node - 1);
    }
}

/* Reports a new node, in modes that list roots or trace nodes. */
static COLD void
trace_alloc_node (const void *parent, void *payload, size_t size)
{
  if (parent == NULL && (sli_context_mode & MODE_ROOTS) != 0)
    sli_roots_add (payload);
  if (sli_context_mode & MODE_TRACED)
    sli_trace_alloc (SLICE_TRACE_CONTEXT, payload, size);
}

/* Links a new node below a parent that has been checked; frees it and returns
 * NULL if a limit forbids it. */
static ALWAYS_INLINE void *
node_add (void *parent, void *payload, size_t size, bool limited,
          const char *operation)
{
  uintptr_t word;
  Node *node;

  if (limited && !sli_limit_add (parent, sli_context_block_bytes (payload)))
    {
      sli_context_release (payload);
      errno = ENOMEM;
      return NULL;
    }
  node = node_of (payload);
  if (limited)
    node->parent |= NODE_LIMITED;
  word = context_enter (parent, operation);
  node_link (parent, node, payload);
  context_leave (parent, word);
  if (UNLIKELY (sli_context_mode != 0))
    trace_alloc_node (parent, payload, size);
  assert_slow (sli_context_node_is_right (payload));
  return payload;
}

CONTEXT_TEXT COLD void *
sli_context_alloc_slow (const void *ctx, size_t size, bool zero,
                        const char *operation)
{
  void *parent = (void *) (uintptr_t) ctx;
  bool limited = false;
  void *payload;
  Node *node;

  if (parent == NULL)
    {
      if (!sli_context_init ())
        return NULL;
    }
  else
    {
      node = head_of (parent);
      /* In the default mode an empty magazine may be the only reason for this
       * path.  Then the parent is not examined, as in the inline code. */
      if (sli_context_mode != 0 || size > RALLOC_INLINE_MAX_V1
          || (node->parent & RALLOC_UNUSUAL_V1) != 0)
        node = sli_context_check (parent, operation);
      limited = (node->parent & NODE_LIMITED) != 0;
    }
  payload = sli_context_new (size, zero);
  return payload != NULL
             ? node_add (parent, payload, size, limited, operation)
             : NULL;
}

COLD void *
sli_context_alloc_aligned (void *parent, size_t size, size_t align,
                           const char *operation)
{
  bool limited = (node_of (parent)->parent & NODE_LIMITED) != 0;
  void *payload = sli_context_new_aligned (size, align);

  return payload != NULL
             ? node_add (parent, payload, size, limited, operation)
             : NULL;
}

/* --- arrays -------------------------------------------------------------- */

CONTEXT_TEXT void *
ralloc_array_size (const void *ctx, size_t size, size_t count)
{
  size_t bytes;

  return node_product (size, count, &bytes)
             ? context_alloc (ctx, bytes, "ralloc_array_size")
             : NULL;
}

CONTEXT_TEXT void *
rzalloc_array_size (const void *ctx, size_t size, size_t count)
{
  size_t bytes;

  return node_product (size, count, &bytes)
             ? sli_context_zalloc (ctx, bytes, "rzalloc_array_size")
             : NULL;
}

CONTEXT_TEXT void *
reralloc_array_size (const void *ctx, void *ptr, size_t size, size_t count)
{
  size_t bytes;

  return node_product (size, count, &bytes)
             ? sli_context_realloc (ctx, ptr, bytes, "reralloc_array_size")
             : NULL;
}

void *
rerzalloc_array_size (const void *ctx, void *ptr, size_t size,
                      size_t old_count, size_t new_count)
{
  size_t old_bytes;
  size_t bytes;

  if (!node_product (size, new_count, &bytes)
      || !node_product (size, old_count, &old_bytes))
    return NULL;
  return sli_context_rezalloc (ctx, ptr, old_bytes, bytes,
                               "rerzalloc_array_size");
}

void *
ralloc_memdup (const void *ctx, const void *mem, size_t n)
{
  void *copy = LIKELY (mem != NULL || n == 0)
                   ? context_alloc (ctx, n, "ralloc_memdup")
                   : NULL;

  if (LIKELY (copy != NULL && n > 0))
    memcpy (copy, mem, n);
  return copy;
}
