/* ralloc-free.h - a walk that frees, and the blocks on their way back
 *
 * Layer: context.  Shared by ralloc-free.c, ralloc-free-blocks.c and
 * ralloc-free-suspend.c alone.  No locks: a walk is its thread's.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_RALLOC_FREE_H
#define SLI_CONTEXT_RALLOC_FREE_H

#include "node.h"
#include "port/compiler.h"

enum
{
  /* Four times the bits in a word of a slab's bitmap: most words come back
   * whole, with one lock instead of two. */
  BATCH_BLOCKS = 256,
  BIN_BITS = 5,
  N_BINS = 1 << BIN_BITS, /* more than size classes in use at a time */
  BIN_BLOCKS = 64
};

/* Blocks that probably lie in one slab.  Aligned to its size, so that the
 * place for the next one tells when the bin is full. */
typedef struct
{
  _Alignas (BIN_BLOCKS * sizeof (void *)) void *blocks[BIN_BLOCKS];
} Bin;

/* Blocks in the order in which the walk met them.  Leaves and other nodes
 * are kept apart: of a tree that was built level by level each of them comes
 * along in the order of addresses, but not the two mixed. */
typedef struct
{
  unsigned n;
  void *blocks[BATCH_BLOCKS];
} Batch;

typedef struct Walk
{
  void *top;             /* the node whose freeing began it all */
  void *keep;            /* top, if only what is below it goes; else NULL */
  void *fallback_parent; /* top's parent: where a refusing node moves */
  void *at;              /* where it stands while user code runs */
  struct Walk *outer;    /* in whose user code this one runs */
  size_t limited_bytes;  /* to be given back to limits above top */
  bool is_large;         /* the bins are in use: not a small tree */
  Batch leaves;
  Batch others;
  void **bin_ends[N_BINS]; /* where the next goes; valid if is_large */
  Bin bins[N_BINS];
} Walk;

_Static_assert (sizeof (Walk) <= 21 * 1024, "what ralloc_free() says of it");

static inline void
walk_begin (Walk *walk, void *top, void *keep, void *fallback_parent)
{
  walk->top = top;
  walk->keep = keep;
  walk->fallback_parent = fallback_parent;
  walk->limited_bytes = 0;
  walk->is_large = false;
  walk->leaves.n = 0;
  walk->others.n = 0;
}

/* --- ralloc-free-blocks.c ------------------------------------------------ */

/* Puts a batch into bins, or straight back to its slabs if it is in order. */
void sli_free_batch_leaves (Walk *walk, Batch *batch);
/* Nothing stays under way: user code runs next, or the walk is over. */
void sli_free_flush (Walk *walk);

static inline __attribute__ ((always_inline)) void
batch_push (Walk *walk, Batch *batch, void *block)
{
  unsigned n = batch->n;

  batch->blocks[n] = block;
  batch->n = n + 1;
  if (UNLIKELY (n + 1 == BATCH_BLOCKS))
    sli_free_batch_leaves (walk, batch);
}

/* --- ralloc-free-suspend.c ------------------------------------------------- */

/* While user code runs the walk stands at a node; then it goes on. */
void sli_free_suspend (Walk *walk, void *at);
void sli_free_resume (Walk *walk);
/* User code frees a node.  True: there is nothing left to be done. */
bool sli_free_on_nested (void *ptr, const char *operation);

/* The node is to be freed by the walk that began on it. */
CONTEXT_TEXT static inline void
node_leaves_tree (Walk *walk, void *payload, Node *node,
                  const char *operation)
{
  walk->fallback_parent = node_parent (node);
  node_unlink (node, payload, operation);
  /* By address, not by way of the parent's extension: that may go first. */
  node->parent &= ~(uintptr_t) NODE_INDIRECT;
  node_set_parent (node, walk->fallback_parent);
  node->pprev = NODE_DYING;
}

#endif
