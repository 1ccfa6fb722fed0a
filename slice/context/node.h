/* node.h - the node of a context: the mode, functions that find, check and
 * link nodes, and the functions that the files of this layer share
 *
 * Layer: context.  It uses slice.h like any program, and the messages of the
 * base layer.  No locks: a tree belongs to one thread at a time.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_NODE_H
#define SLI_CONTEXT_NODE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <slice/ralloc.h>

#include "node-layout.h"
#include "owned.h"

#include "base/align.h"
#include "base/check.h"
#include "base/diag.h"
#include "page/map/extent-cache.h"
#include "page/map/map.h"
#include "port/compiler.h"

/* --- the mode ------------------------------------------------------------ */

enum
{
  MODE_TRAILING_HEADER = 1, /* header behind the payload */
  MODE_DEBUG = 2,           /* finds two threads at a node; notes file and
                               line */
  MODE_ROOTS = 4,           /* keep a list of roots */
  MODE_BULK = 8, /* blocks are checked or have canaries: only slice_free_bulk()
                    frees them */
  MODE_TRACED = 16, /* hooks see every node; objects of linear and gc contexts
                       are nodes, too */
  MODE_SLACK = 32,  /* bytes behind a payload are checked: see slack.c */
  MODE_REMEMBERED = 64, /* with MODE_TRAILING_HEADER: a checking mode remembers
                           every node */
  MODE_UNDECIDED = 128, /* alone, until the first root or the first check of a
                           pointer: the process has no nodes yet */
  MODE_END = 256 /* above all modes */
};

/* Any bit set sends every call out of its fast path.  (Declared hidden, so
 * that code compares it in memory, without the global offset table.) */
extern uint32_t sli_context_mode __attribute__ ((visibility ("hidden")));

/* The modes, and MODE_END for each walk, of all threads, that is suspended in
 * user code: all that sends a free or a steal out of its fast path, in one
 * word. */
extern uint32_t sli_context_unusual __attribute__ ((visibility ("hidden")));

static inline bool
context_is_usual (void)
{
  return LIKELY (LOAD (&sli_context_unusual) == 0);
}

/* Sets modes once the mode is decided, or clears them. */
void sli_context_set_modes (uint32_t modes, bool on);

/* The largest block that is certainly in a slab.  If canaries and red zones
 * take bytes of a chunk, the blocks of the last class are mallocs. */
static inline size_t
slab_block_max (void)
{
  return UNLIKELY ((sli_context_mode & MODE_BULK) != 0)
             ? SLICE_SIZE_MAX - LAST_STEP_BYTES
             : SLICE_SIZE_MAX;
}

/* Decides the mode, once; cheap afterwards.  False: there is no memory to find
 * out. */
bool sli_context_init (void);

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
size_t sli_context_payload_bytes (const void *payload);
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

/* --- memory of nodes (ralloc.c, ralloc-resize.c, ralloc-steal.c) --------- */

/* a * b; false with errno ENOMEM if it does not fit. */
static inline bool
node_product (size_t a, size_t b, size_t *bytes)
{
  if (LIKELY (!__builtin_mul_overflow (a, b, bytes)))
    return true;
  errno = ENOMEM;
  return false;
}

/* The block size of a plain node with a small payload: the full size of a
 * class, so that its size also tells its class and its usable bytes. */
static inline size_t
node_total (size_t size)
{
  size_t total = align_up (size + sizeof (Node), NODE_ALIGN);

  if (UNLIKELY (total > 512))
    total = total <= 1040 ? 528 + ((total - 528 + 31) & ~(size_t) 31)
                          : 1040 + ((total - 1040 + 127) & ~(size_t) 127);
  return total;
}

/* A larger size overflows with a header, or is more than an object may
 * have. */
#define SIZE_LIMIT ((size_t) PTRDIFF_MAX - 4096)

/* Allocates a node of any size in any mode, not linked; sets parent (flags
 * only) and child.  NULL with errno ENOMEM. */
void *sli_context_new (size_t size, bool zero);
/* Frees the block of a node whose extension is freed already. */
void sli_context_release (void *payload);
/* The slow path of allocation: roots, large nodes, modes, limits. */
void *sli_context_alloc_slow (const void *ctx, size_t size, bool zero,
                              const char *operation);
/* rzalloc_size(), reralloc_size() and rerzalloc_size() for other functions of
 * the interface, which messages name. */
void *sli_context_zalloc (const void *ctx, size_t size,
                          const char *operation);
void *sli_context_realloc (const void *ctx, void *ptr, size_t size,
                           const char *operation);
void *sli_context_rezalloc (const void *ctx, void *ptr, size_t old_size,
                            size_t new_size, const char *operation);

/* Resizes ptr to `size' bytes, or to `wanted' if it has to move.  NULL: no
 * memory, or the node is being destroyed. */
void *sli_context_resize (void *ptr, size_t size, size_t wanted,
                          const char *operation);
/* Gives a node another parent; the caller has checked everything. */
void sli_context_steal (void *new_ctx, Node *node, void *ptr,
                        const char *operation);
/* ralloc_steal() for another function of the interface, which messages
 * name. */
void sli_context_steal_any (const void *new_ctx, void *ptr,
                            const char *operation);
/* The same as sli_context_steal() for all nodes of a list, which begins at the
 * word `from'; neither the list is empty nor the parent NULL. */
void sli_context_adopt_list (void *new_ctx, void **from,
                             const char *operation);

/* --- walks that free (ralloc-free.c, ralloc-free-suspend.c) -------------- */

/* Counts a walk that is suspended in user code, until it is resumed. */
static inline void
context_count_suspended (bool suspended)
{
  __atomic_fetch_add (&sli_context_unusual,
                      suspended ? MODE_END : -(uint32_t) MODE_END,
                      __ATOMIC_RELAXED);
}

/* Returns true if a walk of any thread is suspended in user code.  A call
 * looks for those of its own thread only then. */
static inline bool
context_has_suspended (void)
{
  return UNLIKELY (LOAD (&sli_context_unusual) >= MODE_END);
}

/* Called when user code has resized a node, which moved. */
void sli_context_walks_moved (void *old, void *payload);
/* Called when user code has given nodes another parent. */
void sli_context_walks_stolen (void);
/* Called when user code gives a node a holder, a refusing destructor or
 * another parent, which may be NULL.  Walks then forget what this may
 * change. */
void sli_context_walks_touched (const void *payload, const void *to);
/* Called when a record is freed that a waiting search may have met. */
void sli_context_searches_leave (const Extension *extension);
/* Called when a node that was to stay among freed siblings has left. */
void sli_context_walks_left (Extension *extension);
/* Subtracts what suspended walks have freed from the limits above: before a
 * limit is read or changed. */
void sli_context_walks_settle (void);
/* The bytes of the dying trees below a node; sets NODE_LIMITED in their
 * nodes. */
size_t sli_context_walks_bytes (const void *top);
void sli_context_walks_set_flags (const void *top);

/* --- large nodes (large.c) ----------------------------------------------- */

void *sli_large_alloc (size_t bytes, bool zero);
void *sli_large_realloc (void *block, size_t old_bytes, size_t bytes);
void sli_large_free (void *block);

/* --- the end of a payload in MODE_SLACK (slack.c) ------------------------ */

enum
{
  SLACK_BYTES_MAX = 128,
  SLACK_LARGE_FROM = 2000, /* a payload that may be a block of malloc's */
  SLACK_LARGE_BYTES = 16   /* at least, behind such a one */
};

/* Marks the bytes behind `size': at least 1, at most SLACK_BYTES_MAX. */
void sli_slack_write (void *payload, size_t size);
/* The number of these bytes; ends the program if they were written to. */
size_t sli_slack_check (const void *payload, const char *operation);

/* The bytes of a block that a payload needs.  Behind a chunk's block there is a
 * canary or a red zone as well, so one byte is enough there. */
static inline size_t
slack_add (size_t size)
{
  if (LIKELY ((sli_context_mode & MODE_SLACK) == 0))
    return size;
  return size + (size < SLACK_LARGE_FROM ? 1 : SLACK_LARGE_BYTES);
}

/* --- nodes in MODE_TRAILING_HEADER (trailing-header.c) ------------------- */

void *sli_trailing_new (size_t size, bool zero);
void sli_trailing_free (void *payload);
size_t sli_trailing_payload_bytes (const void *payload);

/* --- other files of this layer ------------------------------------------- */

/* The node's extension; makes one if there is none.  NULL with errno
 * ENOMEM. */
Extension *sli_context_extend (void *payload);
/* Removes and frees the extension of a node. */
void sli_context_unextend (Node *node);
/* Takes the next function to run before a node is freed: first the program's,
 * then the library's.  NULL: there is none left. */
void (*sli_context_take_destructor (Extension *extension)) (void *);

/* linear.c: frees buffers and block. */
void sli_context_linear_release (Node *node);
/* Extends an object in place if it was allocated last, or has a buffer of its
 * own, and still fits. */
bool sli_context_linear_extend (void *linear, char *object, size_t new_size,
                                const char *operation);
/* ralloc_linear_alloc_child() for other functions of the interface, which
 * messages name. */
void *sli_context_linear_alloc (void *linear, size_t size,
                                const char *operation);
/* Makes a text of `used' bytes `size' bytes large.  If it moves it gets more
 * room than that, and its own buffer is freed.  NULL: no memory. */
char *sli_context_linear_text (void *linear, char *text, size_t used,
                               size_t size, const char *operation);
size_t sli_context_linear_bytes (const Node *node);
size_t sli_context_linear_prefix_bytes (void);
void sli_gc_release (void *payload);       /* gc.c: slabs */
size_t sli_gc_bytes (const void *payload);
bool sli_gc_is_context (const void *payload);
/* Called when all children of a gc context are about to leave: a sweep that is
 * under way frees none. */
void sli_gc_end_divider (void *payload);
void sli_reference_release (void *payload); /* ralloc-reference.c */
/* The references to a node, oldest first, as payloads of nodes.  NULL:
 * none. */
void *sli_reference_first (const Extension *extension);
void *sli_reference_next (const void *reference);

/* Returns true if a node is a reference. */
static inline bool
node_is_reference (const Node *node)
{
  return (node->parent & NODE_EXT) != 0
         && ((const Extension *) node->child)->kind == EXT_REFERENCE;
}

void sli_reference_target_moved (Extension *extension);
void sli_reference_target_freed (Extension *extension);

/* Add to and subtract from the limits at and above a context.  sli_limit_add()
 * fails with errno ENOMEM if one of them would be exceeded; sli_limit_force()
 * never fails. */
bool sli_limit_add (const void *ctx, size_t bytes);
void sli_limit_force (const void *ctx, size_t bytes);
void sli_limit_subtract (const void *ctx, size_t bytes);
bool sli_limit_allows (const void *ctx, size_t bytes);
bool sli_limit_allows_move (const void *new_ctx, void *ptr);
void sli_limit_drop (Extension *extension);
/* The bytes of all nodes below a node, with the trees that are being freed
 * there; or only of nodes that are on lists. */
size_t sli_limit_subtree_bytes (const void *top);
size_t sli_limit_listed_bytes (const void *top);
void sli_limit_set_flags (void *top, bool limited);
void sli_limit_set_listed_flags (void *top, bool limited);

/* Ends the program (210) if a pointer is NULL. */
void sli_context_require_string (const void *pointer, const char *operation);
/* Formats a text of `length' bytes into a block of length + 1 bytes, which the
 * caller frees by slice_free1().  For texts that may be made from the string
 * that they are written to, before that string moves.  NULL: no memory. */
char *sli_context_format (size_t length, const char *fmt, va_list args)
    SLICE_ATTR_PRINTF (2, 0);

/* The list of roots, only in MODE_ROOTS. */
void sli_roots_add (void *payload);
void sli_roots_remove (void *payload);

/* In MODE_DEBUG, notes that this thread works on a node's children until it
 * leaves with the word that this returns.  Ends the program if another thread
 * does.  No effect in other modes, for NULL, and in an inner call of the
 * thread that is at work there already. */
uintptr_t sli_context_enter (const void *payload, const char *operation);
void sli_context_leave (const void *payload, uintptr_t word);

static inline uintptr_t
context_enter (const void *payload, const char *operation)
{
  return UNLIKELY ((sli_context_mode & MODE_DEBUG) != 0) && payload != NULL
             ? sli_context_enter (payload, operation)
             : 0;
}

static inline void
context_leave (const void *payload, uintptr_t word)
{
  if (UNLIKELY (word != 0))
    sli_context_leave (payload, word);
}

/* Called when a node is freed or moves. */
void sli_context_forget (const void *payload);
void sli_roots_print (FILE *f, bool full);

#endif
