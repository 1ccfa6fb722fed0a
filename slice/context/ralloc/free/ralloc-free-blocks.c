/* ralloc-free-blocks.c - frees the blocks of a tree
 *
 * Layer: context.  No locks.
 *
 * The blocks of a tree go to the magazines, where the next allocation finds
 * them in the cache; those of a large tree, and those of a batch in the order
 * of addresses, to their slabs.  That keeps the order: magazines are last-in
 * first-out, so a large tree that is built and freed again and again would end
 * up fragmented.  A slab takes neighbours back at the price of one block.  But
 * a walk meets nodes of all sizes in turn, each size in another slab, so the
 * blocks are first sorted into bins by address.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "ralloc-free.h"

enum
{
  WARM_BLOCKS_MAX = 1024,   /* a tree of more than these is large */
  N_AFTER_LARGE = 2,        /* so many trees after it are taken for large */
  BIN_SHIFT = 14,           /* a stretch of 16 KiB goes to one bin */
  NEAR_BYTES = 16384        /* a quarter of a batch that is in order */
};

/* Not 0: one of the last trees that filled a batch was large.  So is the next
 * one, mostly, and large trees that go in part to the magazines take longer
 * than those that go to their slabs whole.  A guess, for all threads. */
static unsigned expects_large;

/* Frees the blocks of a full bin, which end at `end'. */
CONTEXT_TEXT static NOINLINE void
bin_free (Walk *walk, void **end)
{
  void **blocks = end - BIN_BLOCKS;

  walk->bin_ends[(Bin *) (void *) blocks - walk->bins] = blocks;
  slice_free_bulk (BIN_BLOCKS, blocks);
}

static inline void
bin_push (Walk *walk, void *block)
{
  unsigned bin = ((uintptr_t) block >> BIN_SHIFT) % N_BINS;
  void **end = walk->bin_ends[bin];

  *end++ = block;
  walk->bin_ends[bin] = end;
  if (UNLIKELY ((uintptr_t) end % sizeof (Bin) == 0))
    bin_free (walk, end);
}

static inline void
bins_begin (Walk *walk)
{
  for (unsigned i = 0; i < N_BINS; i++)
    walk->bin_ends[i] = walk->bins[i].blocks;
}

static void
expect_like (const Walk *walk)
{
  unsigned n = LOAD (&expects_large);

  if (walk->n_batched > WARM_BLOCKS_MAX)
    STORE (&expects_large, N_AFTER_LARGE);
  else if (n > 0)
    STORE (&expects_large, n - 1);
}

static inline bool
is_near (const void *a, const void *b)
{
  return (uintptr_t) a - (uintptr_t) b + NEAR_BYTES < 2 * NEAR_BYTES;
}

/* Checks samples: if they mislead, the free only takes a little longer. */
static inline bool
batch_is_in_order (const Batch *batch)
{
  void *const *blocks = batch->blocks;

  return is_near (blocks[0], blocks[BATCH_BLOCKS / 4])
         && is_near (blocks[BATCH_BLOCKS / 4], blocks[BATCH_BLOCKS / 2])
         && is_near (blocks[BATCH_BLOCKS / 2], blocks[BATCH_BLOCKS / 4 * 3])
         && is_near (blocks[BATCH_BLOCKS / 4 * 3], blocks[BATCH_BLOCKS - 1]);
}

CONTEXT_TEXT NOINLINE void
sli_free_batch (Walk *walk, Batch *batch)
{
  unsigned n = batch->n;

  batch->n = 0;
  walk->n_batched += n;
  if (n == BATCH_BLOCKS && batch_is_in_order (batch))
    {
      slice_free_bulk (BATCH_BLOCKS, batch->blocks);
      return;
    }
  if (walk->n_batched <= WARM_BLOCKS_MAX && !walk->is_large
      && !LOAD (&expects_large) && (sli_context_mode & MODE_BULK) == 0)
    {
      sli_untraced_free_warm (n, batch->blocks);
      return;
    }
  if (!walk->is_large)
    bins_begin (walk);
  walk->is_large = true;
  for (unsigned i = 0; i < n; i++)
    bin_push (walk, batch->blocks[i]);
}

/* Puts the other nodes behind the leaves, if there is room: most trees have
 * few of both, and one call frees them in less time than two. */
static inline void
batches_join (Batch *leaves, Batch *others)
{
  if (UNLIKELY (others->n > BATCH_BLOCKS - leaves->n))
    return;
  for (unsigned i = 0; i < others->n; i++)
    leaves->blocks[leaves->n + i] = others->blocks[i];
  leaves->n += others->n;
  others->n = 0;
}

CONTEXT_TEXT void
sli_free_flush (Walk *walk)
{
  unsigned i;

  if (UNLIKELY (walk->n_batched > 0))
    expect_like (walk);
  if (!walk->is_large && (sli_context_mode & MODE_BULK) == 0)
    {
      batches_join (&walk->leaves, &walk->others);
      sli_untraced_free_warm (walk->leaves.n, walk->leaves.blocks);
      if (UNLIKELY (walk->others.n > 0))
        sli_untraced_free_warm (walk->others.n, walk->others.blocks);
      walk->leaves.n = walk->others.n = 0;
      return;
    }
  sli_free_batch (walk, &walk->leaves);
  sli_free_batch (walk, &walk->others);
  for (i = 0; i < N_BINS; i++)
    if (walk->bin_ends[i] != walk->bins[i].blocks)
      {
        slice_free_bulk ((size_t) (walk->bin_ends[i] - walk->bins[i].blocks),
                         walk->bins[i].blocks);
        walk->bin_ends[i] = walk->bins[i].blocks;
      }
}
