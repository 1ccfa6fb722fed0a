/* ralloc.c - nodes: allocate, resize, steal, adopt, parent
 *
 * Floor 7 (context).  Freeing is in ralloc-free.c.  No locks.
 * The fast path of ralloc_size() stands first and fits a screen; whatever is
 * unusual (a root, a large node, a mode, a limit) goes to
 * sli_context_alloc_slow().
 * Theory: section 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/ralloc.h>

#include "errors.h"
#include "node.h"
#include "base/trace.h"

/* What ends the fast path: a parent with an extension (its children hang
 * there), or under a limit. */
#define PARENT_UNUSUAL (NODE_EXT | NODE_LIMITED)

/* Children that a moving node corrects one by one; above that it gets an
 * extension, and its children point to that, once and for ever. */
#define FAMILY_MIN 32

/* Sizes whose header would not fit, or that no object may have. */
#define SIZE_LIMIT ((size_t) PTRDIFF_MAX - 4096)

/* A chunk that is known to be zero is handed out alone, a hundred
 * instructions each, and others by the dozen: below this, clearing costs
 * less than asking. */
#define KNOWN_MIN_BYTES 256

/* Blocks of malloc above this are likely maps of their own, which grow
 * without copying. */
#define REALLOC_MIN_BYTES ((size_t) 128 * 1024)

static inline bool
parent_is_usual (const Node *parent)
{
  return LIKELY ((parent->parent & PARENT_UNUSUAL) == 0
                 && !node_is_unlinked (parent));
}

/* A fresh plain block becomes the youngest child. */
static inline void *
node_begin (Node *node, Node *parent, const void *ctx)
{
  void *payload = node + 1;
  void *next = parent->child;

  node->parent = (uintptr_t) ctx;
  node->child = NULL;
  node->next = next;
  node->pprev = &parent->child;
  if (next != NULL)
    head_of (next)->pprev = &node->next;
  parent->child = payload;
  return payload;
}

/* The chunk on top of the thread's magazine, as slice_try_alloc() takes it;
 * NULL if there is none: then the slow path asks slice_try_alloc().  Without
 * a call in it, the fast path needs no stack.  bytes is a node's total. */
static inline void *
magazine_pop (size_t bytes)
{
  SliceEntryV1 *entry = SLICE_LOAD (&slice_tls_v1)
                        + (LIKELY (bytes <= 256) ? bytes >> 3
                                                 : SLICE_CLASS_V1 (bytes));
  void **top = SLICE_LOAD (&entry->top);
  void *block = *top;

  if (LIKELY (block != NULL))
    SLICE_STORE (&entry->top, top - 1);
  return block;
}

void *
ralloc_size (const void *ctx, size_t size)
{
  Node *parent;
  Node *node;

  if (UNLIKELY (ctx == NULL || size > NODE_SMALL_MAX || sli_context_mode != 0))
    return sli_context_alloc_slow (ctx, size, false);
  parent = head_of (ctx);
  if (UNLIKELY (!parent_is_usual (parent)))
    return sli_context_alloc_slow (ctx, size, false);
  node = magazine_pop (node_total (size));
  if (UNLIKELY (node == NULL))
    return sli_context_alloc_slow (ctx, size, false);
  return node_begin (node, parent, ctx);
}

typedef long long Step __attribute__ ((vector_size (16), may_alias));

/* Two steps from each end of a range; they may meet or overlap. */
static inline void
clear_ends (char *start, char *end)
{
  const Step zero = { 0, 0 };

  ((Step *) start)[0] = zero;
  ((Step *) start)[1] = zero;
  ((Step *) end)[-2] = zero;
  ((Step *) end)[-1] = zero;
}

/* Clears a payload, `bytes' a multiple of 16.  Most are short: a few stores,
 * from both ends towards the middle, cost less than a call to memset(). */
static inline void
payload_clear (char *payload, size_t bytes)
{
  char *end = payload + bytes;

  if (LIKELY (bytes <= 64))
    {
      if (LIKELY (bytes >= 32))
        clear_ends (payload, end);
      else if (bytes > 0)
        *(Step *) payload = (Step) { 0, 0 };
    }
  else if (LIKELY (bytes <= 128))
    {
      clear_ends (payload, end);
      clear_ends (payload + 32, end - 32);
    }
  else if (LIKELY (bytes <= 192))
    {
      clear_ends (payload, end);
      clear_ends (payload + 32, end - 32);
      clear_ends (payload + 64, end - 64);
    }
  else
    memset (payload, 0, bytes);
}

void *
rzalloc_size (const void *ctx, size_t size)
{
  Node *parent;
  Node *node;
  void *payload;

  if (UNLIKELY (ctx == NULL || size > NODE_SMALL_MAX || sli_context_mode != 0))
    return sli_context_alloc_slow (ctx, size, true);
  parent = head_of (ctx);
  if (UNLIKELY (!parent_is_usual (parent)))
    return sli_context_alloc_slow (ctx, size, true);
  node = magazine_pop (node_total (size));
  if (UNLIKELY (node == NULL))
    return sli_context_alloc_slow (ctx, size, true);
  payload = node_begin (node, parent, ctx);
  payload_clear (payload, (size + NODE_ALIGN - 1)
                              & ~(size_t) (NODE_ALIGN - 1));
  return payload;
}

void *
ralloc_context (const void *ctx)
{
  return ralloc_size (ctx, 0);
}

/* --- blocks for nodes -------------------------------------------------------- */

static void *
large_new (size_t size, bool zero)
{
  size_t bytes = sizeof (LargePrefix) + sizeof (Node)
                 + ((size + NODE_ALIGN - 1) & ~(size_t) (NODE_ALIGN - 1));
  LargePrefix *prefix = sli_large_alloc (bytes, zero);
  Node *node;

  if (prefix == NULL)
    return NULL;
  node = (Node *) (prefix + 1);
  if (!sli_large_map_add (node + 1, MAP_NODE))
    {
      sli_large_free (prefix);
      return NULL;
    }
  prefix->bytes = bytes;
  prefix->kind = KIND_LARGE;
  node->parent = NODE_ODD;
  node->child = NULL;
  return node + 1;
}

static void *
small_new (size_t size, bool zero)
{
  bool known = false;
  bool ask = zero && size >= KNOWN_MIN_BYTES;
  Node *node = ask ? slice_try_alloc_known (node_total (size), &known)
                   : slice_try_alloc (node_total (size));

  if (node == NULL)
    return NULL;
  node->parent = 0;
  node->child = NULL;
  if (zero && !known)
    memset (node + 1, 0, size);
  return node + 1;
}

void *
sli_context_new (size_t size, bool zero)
{
  void *payload;

  if (size > SIZE_LIMIT)
    {
      errno = ENOMEM;
      return NULL;
    }
  if (sli_context_mode & MODE_TAIL)
    {
      payload = sli_tail_new (size, zero);
      if (payload != NULL)
        {
          sli_context_tail (payload)->parent = 0;
          sli_context_tail (payload)->child = NULL;
        }
      return payload;
    }
  return size > slab_block_max () - sizeof (Node) ? large_new (size, zero)
                                                  : small_new (size, zero);
}

void
sli_context_release (void *payload)
{
  Node *node = node_of (payload);
  void *block = node;

  node->pprev = NODE_DEAD;
  if (sli_context_mode & MODE_TAIL)
    sli_tail_free (payload);
  else if (LIKELY ((node->parent & NODE_ODD) == 0))
    slice_free_bulk (1, &block);
  else if (((const size_t *) node)[-1] == KIND_LINEAR)
    sli_context_linear_release (node);
  else
    {
      sli_large_map_remove (payload);
      sli_large_free ((LargePrefix *) node - 1);
    }
}

COLD void *
sli_context_alloc_slow (const void *ctx, size_t size, bool zero)
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
      node = node_of (parent);
      if (node_is_unlinked (node))
        sli_context_check (parent, "ralloc_size");
      limited = (node->parent & NODE_LIMITED) != 0;
      if (sli_context_mode & MODE_DEBUG)
        sli_roots_check_thread (parent, "ralloc_size");
    }
  payload = sli_context_new (size, zero);
  if (payload == NULL)
    return NULL;
  if (limited && !sli_limit_take (parent, sli_context_block_bytes (payload)))
    {
      sli_context_release (payload);
      errno = ENOMEM;
      return NULL;
    }
  node = node_of (payload);
  if (limited)
    node->parent |= NODE_LIMITED;
  node_link (parent, node, payload);
  if (parent == NULL && (sli_context_mode & (MODE_DEBUG | MODE_ROOTS)))
    sli_roots_add (payload);
  if (sli_context_mode & MODE_TOLD)
    sli_trace_born (SLICE_TRACE_CONTEXT, payload, size);
  return payload;
}

/* --- arrays -------------------------------------------------------------------- */

static inline bool
product (size_t a, size_t b, size_t *bytes)
{
  if (LIKELY (!__builtin_mul_overflow (a, b, bytes)))
    return true;
  errno = ENOMEM;
  return false;
}

void *
ralloc_array_size (const void *ctx, size_t size, size_t count)
{
  size_t bytes;

  return product (size, count, &bytes) ? ralloc_size (ctx, bytes) : NULL;
}

void *
rzalloc_array_size (const void *ctx, size_t size, size_t count)
{
  size_t bytes;

  return product (size, count, &bytes) ? rzalloc_size (ctx, bytes) : NULL;
}

void *
reralloc_array_size (const void *ctx, void *ptr, size_t size, size_t count)
{
  size_t bytes;

  return product (size, count, &bytes) ? reralloc_size (ctx, ptr, bytes)
                                       : NULL;
}

void *
rerzalloc_array_size (const void *ctx, void *ptr, size_t size,
                      size_t old_count, size_t new_count)
{
  size_t old_bytes;
  size_t bytes;

  if (!product (size, new_count, &bytes)
      || !product (size, old_count, &old_bytes))
    return NULL;
  return rerzalloc_size (ctx, ptr, old_bytes, bytes);
}

void *
ralloc_memdup (const void *ctx, const void *mem, size_t n)
{
  void *copy = ralloc_size (ctx, n);

  if (LIKELY (copy != NULL && n > 0))
    memcpy (copy, mem, n);
  return copy;
}

/* --- resizing -------------------------------------------------------------------- */

/* The children of a node that has moved still name the old place.  Up to
 * FAMILY_MIN are told; where there are more, all are made to point to the
 * extension, which does not move, so the next move finds nothing to do.  New
 * children are put in front, so those that point to the extension are a tail
 * of the list, and the walk ends at the first of them. */
static void
children_follow (Node *node, void *payload)
{
  Extension *extension = node_extension (node);
  size_t n = 0;
  void *child;

  for (child = node_first_child (node); child != NULL && n <= FAMILY_MIN; n++)
    {
      Node *child_node = node_of (child);
      if (child_node->parent & NODE_FAMILY)
        return;
      node_set_parent (child_node, payload);
      child = child_node->next;
    }
  if (child == NULL)
    return;
  if (extension == NULL)
    extension = sli_context_extend (payload);
  for (child = node_first_child (node); child != NULL;)
    {
      Node *child_node = node_of (child);
      if (child_node->parent & NODE_FAMILY)
        break;
      node_set_parent (child_node,
                       extension != NULL ? (void *) extension : payload);
      if (extension != NULL)
        child_node->parent |= NODE_FAMILY;
      child = child_node->next;
    }
  if (extension != NULL)
    extension->has_family = true;
}

/* Everything that pointed to `old' now points to `payload', whose header is
 * a copy of the old one. */
static void
node_moved (void *old, void *payload)
{
  Node *node = node_of (payload);
  Extension *extension = node_extension (node);
  void *child;

  if (node->next == old)
    node_make_root (node, payload);
  else
    {
      *node->pprev = payload;
      if (node->next != NULL)
        node_of (node->next)->pprev = &node->next;
    }
  if (extension != NULL)
    {
      extension->owner = payload;
      sli_reference_target_moved (extension);
    }
  child = node_first_child (node);
  if (child == NULL)
    return;
  node_of (child)->pprev = node_children (node);
  children_follow (node, payload);
}

/* Resizes a large node by the system's realloc.  The map may not claim an
 * address that is no longer ours, so it forgets first. */
static void *
large_resize (void *ptr, size_t size)
{
  LargePrefix *prefix = (LargePrefix *) head_of (ptr) - 1;
  size_t bytes = sizeof (LargePrefix) + sizeof (Node)
                 + ((size + NODE_ALIGN - 1) & ~(size_t) (NODE_ALIGN - 1));
  void *payload = NULL;

  if (!sli_large_map_spare ())
    return NULL;
  sli_large_map_remove (ptr);
  prefix = sli_large_realloc (prefix, bytes);
  if (prefix != NULL)
    {
      prefix->bytes = bytes;
      payload = (Node *) (prefix + 1) + 1;
    }
  sli_large_map_add (payload != NULL ? payload : ptr, MAP_NODE);
  if (payload != NULL && payload != ptr)
    node_moved (ptr, payload);
  return payload;
}

/* A new block, a copy of payload and header, and the old block goes. */
static void *
node_move (void *ptr, size_t size, size_t old_size)
{
  Node *old = node_of (ptr);
  void *payload = sli_context_new (size, false);
  uintptr_t odd;
  Node *node;

  if (payload == NULL)
    return NULL;
  memcpy (payload, ptr, old_size < size ? old_size : size);
  node = node_of (payload);
  odd = node->parent & NODE_ODD;
  *node = *old;
  node->parent = (node->parent & ~(uintptr_t) NODE_ODD) | odd;
  node_moved (ptr, payload);
  if (sli_context_mode & MODE_TOLD)
    sli_trace_moved (SLICE_TRACE_CONTEXT, ptr, payload, size);
  sli_context_release (ptr);
  return payload;
}

static COLD _Noreturn void
die_not_resizable (const void *ptr)
{
  sli_diag_die (ERROR_NOT_A_NODE,
                "a linear or gc context can't be resized: reralloc_size (%p)",
                ptr);
}

/* The room stays if it suffices and at least half of it is used. */
static inline bool
room_fits (size_t size, size_t room)
{
  return size <= room
         && size + 2 * sizeof (Node) >= (room + sizeof (Node)) / 2;
}

static void *
limited_resize (void *ptr, size_t size, size_t room)
{
  size_t before = sli_context_block_bytes (ptr);
  void *payload;
  size_t after;

  /* What the new block will be, nearly: the exact sum is corrected below. */
  if (size > room && !sli_limit_has_room (ptr, size - room))
    {
      errno = ENOMEM;
      return NULL;
    }
  payload = node_move (ptr, size, room);
  if (payload == NULL)
    return NULL;
  after = sli_context_block_bytes (payload);
  if (after > before)
    sli_limit_force (payload, after - before);
  else
    sli_limit_give (payload, before - after);
  return payload;
}

static void *
resize_slow (void *ptr, Node *node, size_t size, size_t room)
{
  Extension *extension = node_extension (node);

  if (size > SIZE_LIMIT)
    {
      errno = ENOMEM;
      return NULL;
    }
  if ((extension != NULL && extension->kind != EXT_PLAIN)
      || ((node->parent & NODE_ODD)
          && ((const size_t *) node)[-1] == KIND_LINEAR))
    die_not_resizable (ptr);
  if (node->parent & NODE_LIMITED)
    return limited_resize (ptr, size, room);
  /* realloc gives the old place away before anyone could be told. */
  if ((node->parent & NODE_ODD) && size >= REALLOC_MIN_BYTES
      && (sli_context_mode & MODE_TOLD) == 0)
    return large_resize (ptr, size);
  return node_move (ptr, size, room);
}

/* `geometric' bytes are wanted, `size' are needed: strings that grow ask for
 * more than they need now. */
void *
sli_context_resize (void *ptr, size_t size, size_t wanted,
                    const char *operation)
{
  Node *node = sli_context_check (ptr, operation);
  size_t room;

  if (UNLIKELY (node->pprev == NODE_DYING))
    {
      sli_diag_warn (ERROR_NODE_DYING,
                     "a node that is being destroyed stays as it is: %s (%p)",
                     operation, ptr);
      return NULL;
    }
  if (UNLIKELY (sli_context_mode & MODE_DEBUG))
    sli_roots_check_thread (ptr, operation);
  room = sli_context_payload_bytes (ptr);
  if (sli_context_mode & MODE_TAIL)
    wanted = size;
  else if (LIKELY (room_fits (size, room)))
    {
      if (UNLIKELY (sli_context_mode & MODE_TOLD))
        sli_trace_moved (SLICE_TRACE_CONTEXT, ptr, ptr, size);
      return ptr;
    }
  return resize_slow (ptr, node, wanted, room);
}

static COLD void
check_parent (const void *ctx, const void *ptr, const char *operation)
{
  if (node_parent (node_of (ptr)) != ctx)
    sli_diag_die (ERROR_NODE_PARENT,
                  "%p is not the parent of the node: %s (%p)", ctx, operation,
                  ptr);
}

void *
reralloc_size (const void *ctx, void *ptr, size_t size)
{
  if (UNLIKELY (ptr == NULL))
    return ralloc_size (ctx, size);
  if (UNLIKELY (sli_context_mode & MODE_DEBUG))
    check_parent (ctx, ptr, "reralloc_size");
  return sli_context_resize (ptr, size, size, "reralloc_size");
}

void *
rerzalloc_size (const void *ctx, void *ptr, size_t old_size, size_t new_size)
{
  char *payload;

  if (UNLIKELY (ptr == NULL))
    return rzalloc_size (ctx, new_size);
  if (UNLIKELY (sli_context_mode & MODE_DEBUG))
    check_parent (ctx, ptr, "rerzalloc_size");
  payload = sli_context_resize (ptr, new_size, new_size, "rerzalloc_size");
  if (payload != NULL && new_size > old_size)
    memset (payload + old_size, 0, new_size - old_size);
  return payload;
}

/* --- moving in the tree ------------------------------------------------------------ */

void *
ralloc_parent (const void *ptr)
{
  if (UNLIKELY (ptr == NULL))
    return NULL;
  return node_parent (node_of (ptr));
}

static COLD _Noreturn void
die_cycle (const void *new_ctx, const void *ptr, const char *operation)
{
  sli_diag_die (ERROR_NODE_CYCLE,
                "%p lies in the subtree that is to hang on it: %s (%p)",
                new_ctx, operation, ptr);
}

/* A node without children can have nothing but itself below it. */
static inline bool
closes_cycle (const void *new_ctx, const void *ptr, const Node *node)
{
  return new_ctx == ptr
         || (new_ctx != NULL && node_first_child (node) != NULL
             && ralloc_is_ancestor (ptr, new_ctx));
}

/* The checks of both nodes are done. */
static void
steal_limited (void *new_ctx, Node *node, void *ptr, bool to_limited)
{
  size_t bytes = sli_limit_subtree_bytes (ptr);

  if (node->parent & NODE_LIMITED)
    sli_limit_give (node_parent (node), bytes);
  if (to_limited)
    sli_limit_force (new_ctx, bytes);
  sli_limit_set_flags (ptr, to_limited);
}

/* What a node's change of parent means for limits and for the list of
 * roots, but for what must come after it is linked. */
static inline void
account_move (void *new_ctx, Node *node, void *ptr, const char *operation)
{
  bool to_limited
      = new_ctx != NULL && (node_of (new_ctx)->parent & NODE_LIMITED) != 0;

  if (UNLIKELY (to_limited || (node->parent & NODE_LIMITED)))
    steal_limited (new_ctx, node, ptr, to_limited);
  if (UNLIKELY (sli_context_mode & (MODE_DEBUG | MODE_ROOTS)))
    {
      sli_roots_check_thread (ptr, operation);
      if (node->next == ptr)
        sli_roots_remove (ptr);
    }
}

void
sli_context_steal (void *new_ctx, Node *node, void *ptr,
                   const char *operation)
{
  account_move (new_ctx, node, ptr, operation);
  node_unlink (node, ptr, operation);
  node_link (new_ctx, node, ptr);
  if (UNLIKELY (new_ctx == NULL
                && (sli_context_mode & (MODE_DEBUG | MODE_ROOTS))))
    sli_roots_add (ptr);
}

/* Both ends of a steal checked; NULL if the node is being destroyed. */
static Node *
steal_check (const void *new_ctx, void *ptr, const char *operation)
{
  Node *node = sli_context_check (ptr, operation);

  if (new_ctx != NULL)
    sli_context_check (new_ctx, operation);
  if (UNLIKELY (node->pprev == NODE_DYING))
    {
      sli_diag_warn (ERROR_NODE_DYING,
                     "a node that is being destroyed can't be kept: %s (%p)",
                     operation, ptr);
      return NULL;
    }
  return node;
}

void
ralloc_steal (const void *new_ctx, void *ptr)
{
  Node *node;

  if (UNLIKELY (ptr == NULL))
    return;
  node = steal_check (new_ctx, ptr, "ralloc_steal");
  if (node == NULL)
    return;
  if (UNLIKELY (closes_cycle (new_ctx, ptr, node)))
    die_cycle (new_ctx, ptr, "ralloc_steal");
  sli_context_steal ((void *) (uintptr_t) new_ctx, node, ptr,
                     "ralloc_steal");
}

bool
ralloc_try_steal (const void *new_ctx, void *ptr)
{
  Node *node;

  if (UNLIKELY (ptr == NULL))
    return true;
  node = steal_check (new_ctx, ptr, "ralloc_try_steal");
  if (node == NULL || closes_cycle (new_ctx, ptr, node))
    {
      errno = EINVAL;
      return false;
    }
  if (new_ctx != NULL && (node_of (new_ctx)->parent & NODE_LIMITED)
      && !sli_limit_move_has_room (new_ctx, ptr))
    {
      errno = ENOMEM;
      return false;
    }
  sli_context_steal ((void *) (uintptr_t) new_ctx, node, ptr,
                     "ralloc_try_steal");
  return true;
}

/* old has a child. */
static void
adopt_splice (void *new_ctx, Node *new_node, Node *old)
{
  void **from = node_children (old);
  void **to = node_children (new_node);
  void *first = *from;
  void *child = first;
  Node *node;

  do
    {
      node = node_of (child);
      account_move (new_ctx, node, child, "ralloc_adopt");
      node_set_parent (node, new_ctx);
      child = node->next;
    }
  while (child != NULL);
  node->next = *to;
  if (node->next != NULL)
    node_of (node->next)->pprev = &node->next;
  *to = first;
  node_of (first)->pprev = to;
  *from = NULL;
}

static void
adopt_as_roots (Node *old)
{
  void *child;

  while ((child = node_first_child (old)) != NULL)
    sli_context_steal (NULL, node_of (child), child, "ralloc_adopt");
}

void
ralloc_adopt (const void *new_ctx, void *old_ctx)
{
  void *to = (void *) (uintptr_t) new_ctx;
  Node *old;

  if (UNLIKELY (old_ctx == NULL || old_ctx == new_ctx))
    return;
  old = sli_context_check (old_ctx, "ralloc_adopt");
  if (node_first_child (old) == NULL)
    return;
  if (to != NULL)
    {
      sli_context_check (to, "ralloc_adopt");
      if (UNLIKELY (ralloc_is_ancestor (old_ctx, to)))
        die_cycle (to, old_ctx, "ralloc_adopt");
    }
  if (to == NULL)
    adopt_as_roots (old);
  else
    adopt_splice (to, node_of (to), old);
  if (node_extension (old) != NULL)
    node_extension (old)->has_family = false;
}
