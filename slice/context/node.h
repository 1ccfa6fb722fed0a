/* node.h - a context's nodes: from payload to header, checks, links
 *
 * Layer: context.  It uses slice.h like any program, and the messages of the
 * base layer.  No locks: a tree belongs to one thread at a time.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_NODE_H
#define SLI_CONTEXT_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slice/ralloc.h>

#include "mode.h"
#include "node-layout.h"

#include "base/diag.h"
#include "page/map/extent-cache.h"
#include "port/compiler.h"

/* --- from payload to header ---------------------------------------------- */

Node *sli_context_trailing_header (const void *payload);

/* The header of a payload, for code that has tested that it comes first. */
static inline Node *
head_of (const void *payload)
{
  /* Computed in integers, since callers may pass NULL before they test it. */
  return (Node *) ((uintptr_t) payload - sizeof (Node));
}

CONTEXT_TEXT static inline Node *
node_of (const void *payload)
{
  if (UNLIKELY (sli_context_mode & MODE_TRAILING_HEADER))
    return sli_context_trailing_header (payload);
  return head_of (payload);
}

static inline Extension *
node_extension (const Node *node)
{
  return (node->parent & NODE_EXT) != 0 ? node->child : NULL;
}

/* The word that points to a node's youngest child. */
static inline void **
node_children (Node *node)
{
  return (node->parent & NODE_EXT) != 0 ? (void **) node->child
                                        : &node->child;
}

static inline void *
node_first_child (const Node *node)
{
  return (node->parent & NODE_EXT) != 0 ? *(void **) node->child
                                        : node->child;
}

static inline void *
node_parent (const Node *node)
{
  void *parent = (void *) (node->parent & ~(uintptr_t) NODE_FLAGS);

  if (UNLIKELY (node->parent & NODE_INDIRECT))
    return ((Extension *) parent)->owner;
  return parent;
}

/* The next sibling, or NULL.  A root's next word points to the root itself. */
static inline void *
node_next (const Node *node, const void *payload)
{
  return node->next == payload ? NULL : node->next;
}

static inline void
node_set_parent (Node *node, const void *parent)
{
  node->parent
      = (uintptr_t) parent | (node->parent & (NODE_FLAGS & ~NODE_INDIRECT));
}

/* Returns true if a word can be read because it is in a region. */
static inline bool
is_in_slabs (const void *address)
{
  return LIKELY (extent_cache_has (address)) || slice_is_ours (address);
}

/* Returns true if slice_is_ours() certainly returns the same for both. */
static inline bool
is_same_window (const void *a, const void *b)
{
  return LIKELY (((uintptr_t) a ^ (uintptr_t) b) < SLICE_OURS_BYTES);
}

/* Returns true if the word that points to a node is in a region, where it can
 * be read, and points back.  False for a dying node and for one whose
 * neighbour is large: sli_context_check() handles these. */
CONTEXT_TEXT static inline bool
node_is_linked (const Node *node, const void *payload)
{
  void *const *place = node->pprev;

  if (UNLIKELY (((uintptr_t) place & (sizeof (void *) - 1)) != 0))
    return false;
  return (is_same_window (place, payload)
          || is_in_slabs (place))
         && LIKELY (*place == payload);
}

/* As node_is_linked(), without a call; false also for what it can't tell. */
static ALWAYS_INLINE bool
node_is_linked_near (const Node *node, const void *payload)
{
  void *const *place = node->pprev;

  return LIKELY (((uintptr_t) place & (sizeof (void *) - 1)) == 0
                 && (is_same_window (place, payload)
                     || extent_cache_has (place)))
         && LIKELY (*place == payload);
}

/* --- checks of pointers (node.c) ----------------------------------------- */

/* The header of a live or dying node; any other pointer ends the program.
 * Checks the address before it reads the header.  `operation' is the function
 * that the user called. */
Node *sli_context_check (const void *payload, const char *operation);
/* Returns true if a link leads to where a header can be read.  Not in
 * MODE_TRAILING_HEADER. */
bool sli_context_may_be_node (const void *payload);
/* In the checking modes: ends the program if the links of a live node to its
 * parent, next sibling and youngest child lead to no node, or the latter two
 * don't point back. */
void sli_context_check_links (Node *node, const void *payload,
                              const char *operation);
_Noreturn void sli_context_damaged (const void *payload,
                                    const char *operation);

/* Messages about a node, or what was taken for one, as sli_diag_abort() and
 * sli_diag_warn() write them; what debug knows of it follows (about.c). */
_Noreturn void sli_context_abort (ErrorNumber number, const void *payload,
                                  const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
void sli_context_warn (ErrorNumber number, const void *payload,
                       const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* The bytes of a node's block, with the buffers of a linear context; the same
 * with the slabs of a gc context; the bytes of the payload. */
size_t sli_context_block_bytes (const void *payload);
size_t sli_context_held_bytes (const void *payload);
size_t sli_context_payload_bytes (const void *payload, const char *operation);
/* The bytes of the payload with the slack, if that is marked. */
size_t sli_context_usable_bytes (const void *payload);

/* Returns true if `ancestor' is ptr or above it.  Both are known to be
 * nodes. */
bool sli_context_is_ancestor (const void *ancestor, const void *ptr);

/* The next node in a walk over top's subtree: children before siblings;
 * NULL after the last. */
void *sli_context_walk (const void *top, const void *payload);

/* --- invariants (node-valid.c) ------------------------------------------- */

/* Returns true if a live or dying node is valid: its links and those of its
 * neighbours, its kind, record and flags; or all of a tree, with the sum of
 * its limit.  For assert_slow(). */
bool sli_context_node_is_right (const void *payload);
bool sli_context_tree_is_right (const void *top);

/* --- linking ------------------------------------------------------------- */

static inline void
node_make_root (Node *node, void *payload)
{
  node->next = payload;
  node->pprev = &node->next;
}

/* Puts a node in front of a parent's children; NULL makes it a root.  The
 * parent word keeps its flags; the caller sets NODE_LIMITED. */
CONTEXT_TEXT static inline void
node_link (void *parent, Node *node, void *payload)
{
  void **slot;

  node_set_parent (node, parent);
  if (parent == NULL)
    {
      node_make_root (node, payload);
      return;
    }
  slot = node_children (node_of (parent));
  node->next = *slot;
  node->pprev = slot;
  if (node->next != NULL)
    node_of (node->next)->pprev = &node->next;
  *slot = payload;
}

/* Removes a live node from its list; its pprev has been checked.  `is_head':
 * the caller knows that headers come first. */
static ALWAYS_INLINE void
node_unlink_linked (Node *node, void *payload, const char *operation,
                    bool is_head)
{
  void *next = node->next;

  if (next != NULL && next != payload)
    {
      Node *next_node = is_head ? head_of (next) : node_of (next);

      if (UNLIKELY (next_node->pprev != &node->next))
        sli_context_damaged (next, operation);
      next_node->pprev = node->pprev;
    }
  *node->pprev = next;
}

/* The same, but checks both neighbours. */
CONTEXT_TEXT static inline void
node_unlink (Node *node, void *payload, const char *operation)
{
  if (UNLIKELY (*node->pprev != payload))
    sli_context_damaged (payload, operation);
  node_unlink_linked (node, payload, operation, false);
}

#endif
