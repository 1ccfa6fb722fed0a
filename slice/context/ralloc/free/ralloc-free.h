/* ralloc-free.h - a walk that frees, and the blocks that it collects
 *
 * Layer: context.  Shared by ralloc-free.c and its parts (ralloc-free-*.c)
 * alone.  No locks: a walk belongs to its thread.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_RALLOC_FREE_RALLOC_FREE_H
#define SLI_CONTEXT_RALLOC_FREE_RALLOC_FREE_H

#include "suspend.h"
#include "context/node.h"
#include "context/ralloc/extension.h"
#include "page/region.h"
#include "port/compiler.h"

enum
{
  /* Four times the bits in a word of a slab's bitmap: most words are freed
   * whole, with one lock instead of two. */
  BATCH_BLOCKS = 256,
  BIN_BITS = 5,
  N_BINS = 1 << BIN_BITS, /* more than size classes in use at a time */
  BIN_BLOCKS = 64
};

/* Blocks that are probably in one slab.  The bin is aligned to its size, so
 * the address of the next entry shows when it is full. */
typedef struct
{
  _Alignas (BIN_BLOCKS * sizeof (void *)) void *blocks[BIN_BLOCKS];
} Bin;

/* Blocks in the order in which the walk met them.  Leaves and other nodes are
 * in separate batches: in a tree that was built level by level, each kind is
 * in the order of addresses, but not both together. */
typedef struct
{
  unsigned n;
  void *blocks[BATCH_BLOCKS];
} Batch;

typedef struct Walk Walk;

/* The results for a dying set, and the current search: see
 * ralloc-free-search.c. */
typedef struct
{
  Walk *walk;          /* the walk that frees; NULL: the top of a tree may */
  uintptr_t known;     /* in records of nodes that go; 0: there are no results,
                          and the fields below are not set */
  uintptr_t serial;    /* in records that the search has met; 0: there is
                          none */
  Extension *start;    /* the node that is to be freed */
  Extension *first;    /* the queue: nodes whose references are next */
  Extension *last;
  Extension *at;       /* the node whose references are examined; NULL: the
                          search is over */
  void *reference;     /* the next one; NULL: the first */
  void *way;           /* where its way up begins */
  void *saving;        /* a reference to `at' whose holder survives */
  Extension *refuser;  /* nodes on that way that may refuse, topmost first */
} Search;

struct Walk
{
  const char *operation; /* the function that the user called */
  void *top;             /* the node that the user freed */
  void *keep;            /* top, if only its descendants are freed, or NULL */
  void *fallback_parent; /* where a refusing node moves: top's parent, or
                            keep */
  void *at;              /* the current node, valid while user code runs */
  struct Walk *outer;    /* the walk whose user code started this one */
  size_t limited_bytes;  /* to be subtracted from limits at and above the
                            current node */
  Search search;         /* for holders that survive */
  void *stayed;          /* the last child of keep that stays, or NULL */
  bool is_changed;       /* user code ran since the walk started the list */
  bool has_waited;       /* it was suspended, so user code has run */
  unsigned n_batched;    /* blocks in batches that were full */
  bool is_large;         /* the bins are in use, as the tree is not small */
  Batch leaves;
  Batch others;
  void **bin_ends[N_BINS]; /* the next free entry; valid if is_large */
  Bin bins[N_BINS];
};

SLICE_STATIC_ASSERT (sizeof (Walk) <= 21 * 1024,
                     "what ralloc_free() says of it");

static inline void
walk_begin (Walk *walk, void *top, void *keep, void *fallback_parent,
            const char *operation)
{
  walk->operation = operation;
  walk->top = top;
  walk->keep = keep;
  walk->fallback_parent = fallback_parent;
  walk->at = top;
  walk->limited_bytes = 0;
  walk->search.known = 0;
  walk->stayed = NULL;
  walk->is_changed = false;
  walk->has_waited = false;
  walk->is_large = false;
  walk->n_batched = 0;
  walk->leaves.n = 0;
  walk->others.n = 0;
}

/* --- ralloc-free.c -------------------------------------------------------- */

/* Frees a linked node with all that is below it, in a walk.  Returns true, so
 * that a caller can end with the call. */
bool sli_free_tree (void *ptr, Node *node, const char *operation);
/* Frees any pointer, in any mode.  False: the node stays. */
bool sli_free_any (void *ptr, const char *operation);

/* --- ralloc-free-blocks.c ------------------------------------------------ */

/* Frees a batch to its slabs if it is in order, or to the magazines, or sorts
 * it into bins. */
void sli_free_batch (Walk *walk, Batch *batch);
/* Frees all blocks that the walk has collected: user code runs next, or the
 * walk is over. */
void sli_free_flush (Walk *walk);

static ALWAYS_INLINE void
batch_push (Walk *walk, Batch *batch, void *block)
{
  unsigned n = batch->n;

  batch->blocks[n] = block;
  batch->n = n + 1;
  if (UNLIKELY (n + 1 == BATCH_BLOCKS))
    sli_free_batch (walk, batch);
}

/* --- ralloc-free-suspend.c ----------------------------------------------- */

/* Suspend a walk at a node while user code runs, and resume it. */
void sli_free_suspend (Walk *walk, void *at);
void sli_free_resume (Walk *walk);
/* For a walk that user code has started: checks what it may free of nodes that
 * suspended walks refer to; moves a node. */
void sli_free_look_outside (Walk *walk);
void sli_free_move_outside (Walk *walk, void *to, const Extension *extension,
                            const char *operation);
/* Called when user code frees a node.  True: a suspended walk frees it. */
bool sli_free_on_nested (void *ptr, const char *operation);

/* Returns true if a walk frees the children of a node but keeps the node: a
 * suspended walk, or any.  `walk' is the one that runs, or NULL. */
bool sli_free_keeps_outside (const void *payload);

static inline bool
sli_free_keeps (const Walk *walk, const void *payload)
{
  if (payload == NULL)
    return false;
  return (walk != NULL && walk->keep == payload)
         || (context_has_suspended () && sli_free_keeps_outside (payload));
}

/* Subtracts the freed bytes from the limits at and above `at'. */
static inline void
walk_settle_limits (Walk *walk, const void *at)
{
  if (UNLIKELY (walk->limited_bytes > 0) && at != NULL)
    sli_limit_subtract (at, walk->limited_bytes);
  walk->limited_bytes = 0;
}

/* --- ralloc-free-search.c ------------------------------------------------ */

typedef enum
{
  SEARCH_OVER,    /* no holder survives */
  SEARCH_HOLDER,  /* search->saving holds search->at and survives */
  SEARCH_REFUSER  /* search->refuser is to be asked first */
} SearchEnd;

/* Starts a search for a holder that saves a node, or continues it.  False: the
 * node is known to go. */
bool sli_search_begin (Search *search, Extension *start);
SearchEnd sli_search_run (Search *search);
/* Ends a search that has found no holder, for a node that does not refuse: all
 * nodes that it has met go. */
void sli_search_settle (Search *search);
/* Returns true if a node goes with the set. */
bool sli_search_is_doomed (const Search *search, const void *at);
/* The first node above the doomed part of a tree.  NULL: there is none. */
void *sli_search_fallback (const Search *search, const void *at);
/* Notes that a node has moved out of the set, if it has. */
void sli_search_note_moved (Search *search, Extension *extension);

/* Returns true if the current search has met a node. */
static inline bool
search_has (const Search *search, const Extension *extension)
{
  return search->known != 0 && search->serial != 0
         && (extension->search_serial & ~(uintptr_t) 3) == search->serial;
}

/* Ends the search, but keeps the results for the set. */
static inline void
search_drop (Search *search)
{
  search->serial = 0;
}

/* Ends the search, and drops the results for the set. */
static inline void
search_forget (Search *search)
{
  search->known = 0;
}

/* --- ralloc-free-survive.c ----------------------------------------------- */

/* Returns true if a child of the walk's node, or the top of a tree, survives.
 * It has an extension.  User code may run, and *ptr may move. */
bool sli_free_child_survives (Walk *walk, void *at, void *child);
bool sli_free_top_survives (void **ptr, const char *operation);

/* --- examining a node without a walk ------------------------------------ */

/* The class of a node's block, without a call; 0: it is in no slab, or beyond
 * the table of the address map. */
static ALWAYS_INLINE size_t
node_class_near (const Node *node)
{
  size_t class_index = extent_cache_class (node, sli_region_granule_shift);

  if (UNLIKELY (class_index == 0) && sli_map_has_near (node))
    class_index = region_class_of (region_of (node), node);
  return class_index;
}

/* The class of a node's block; 0: it is in no slab. */
static ALWAYS_INLINE size_t
node_class (const Node *node)
{
  size_t class_index = node_class_near (node);

  return LIKELY (class_index != 0) ? class_index
                                   : sli_untraced_class_of (node);
}

static inline bool
is_plain_leaf (const void *child, const void *parent)
{
  const Node *leaf = head_of (child);

  return leaf->parent == (uintptr_t) parent && leaf->child == NULL;
}

/* --- removing a tree from its list --------------------------------------- */

/* Removes the node that the walk frees from its list. */
CONTEXT_TEXT static inline void
walk_detach (Walk *walk, void *payload, Node *node, const char *operation)
{
  walk->fallback_parent = node_parent (node);
  node_unlink (node, payload, operation);
  /* Point to the parent itself, not to its extension, which may be freed
   * first. */
  node->parent &= ~(uintptr_t) NODE_INDIRECT;
  node_set_parent (node, walk->fallback_parent);
  node->pprev = NODE_DYING;
}

#endif
