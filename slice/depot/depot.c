/* depot.c - full magazines for each class, by shard: the exchange
 *
 * Layer: depot.  Locks: those of the stacks (rank 40).  Design: chapter 5.
 * stack.c has one shard's stack of a class, depot-trim.c returns old
 * magazines, depot-check.c counts and validates; stack.h has what they share.
 * Sources: Bonwick & Adams 2001, sections 3.3 and 3.6 (the depot, its working
 * set); ages of magazines as in GSlice, but by a clock that can't jump.
 *
 *   shard 0:  push, pop --> | magazine | magazine | ... | magazine |
 *   shard 1:  push, pop --> | magazine | ... | magazine | --> thieves
 *   ...                       latest           oldest
 *
 * Threads on different processors that share no blocks do not contend here.  A
 * thread whose shard is empty takes another's oldest magazine, whose blocks
 * are most likely to have left the other processor's cache.  Blocks that are
 * pushed to a stack that feeds other shards are written to first
 * (magazine_own_lines()).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "depot.h"
#include "stack.h"
#include "slab/slab.h"
#include "slab/last-allocator.h"
#include "base/align.h"
#include "base/check.h"
#include "base/option.h"
#include "port/annotate.h"
#include "port/compiler.h"
#include "port/os/os.h"
#include "port/probe.h"
#include "port/thread/shard.h"

enum
{
  /* The depot of a class may hold this much, or an eighth of its slabs if that
   * is more.  A higher limit hardly pays (design chapter 11). */
  DEPOT_BYTES_MIN = 256 * 1024,
  DEPOT_SLAB_SHARE = 8
};

DepotLimits sli_depot_limits = { .rounds_max = MAGAZINE_ROUNDS_MAX };

COMMON_TEXT void
sli_depot_init (void)
{
  sli_slab_init ();
  sli_depot_init_rounds ();
  sli_stack_init_all ();
}

COMMON_TEXT Lock *
sli_depot_lock (unsigned class_index, unsigned shard)
{
  DepotStack *stack = stack_at (class_index, shard);

  assert_here (class_index > 0 && class_index < N_CLASSES && shard < SHARDS);
  return stack != NULL ? &stack->lock : NULL;
}

COMMON_TEXT bool
sli_depot_has (unsigned class_index)
{
  for (unsigned shard = 0; shard < SHARDS; shard++)
    if (stack_with_magazines (class_index, shard) != NULL)
      return true;
  return false;
}

/* --- pop ----------------------------------------------------------------- */

/* Pops from one stack: the latest magazine if the stack is the caller's own,
 * else the oldest.  If it pops one, the stack takes *empty, unless it has
 * enough; else *empty stays the caller's. */
COMMON_TEXT static Magazine *
stack_exchange (DepotStack *stack, bool is_own, Magazine **empty,
                bool *contended)
{
  Magazine *magazine;

  SCHEDULE_POINT (is_own ? "depot own" : "depot steal");
  *contended |= stack_lock (stack);
  magazine = is_own ? stack_latest (stack) : stack_oldest (stack);
  if (magazine != NULL)
    {
      assert_here (magazine->pushed_msec != 0); /* D2 */
      stack_remove (stack, magazine);
      magazine->pushed_msec = 0; /* it is needed now */
      STORE (&stack->n_pops, stack->n_pops + 1);
      STORE (&stack->feeds_others, !is_own);
      *empty = sli_stack_keep_empty (stack, *empty);
    }
  assert_slow (sli_stack_is_right (stack));
  sli_unlock (&stack->lock);
  return magazine;
}

static void
stack_count_miss (unsigned class_index, unsigned own)
{
  DepotStack *stack = stack_at (class_index, own);
  uint64_t *n_misses = &sli_depot_misses[class_index];

  if (stack != NULL)
    n_misses = &stack->n_misses;
  COUNT_UP_SHARED (n_misses, 1u);
}

/* The same for all shards in turn, the caller's first. */
COMMON_TEXT static Magazine *
shards_exchange (unsigned class_index, Magazine **empty, bool *contended)
{
  unsigned own = sli_shard ();

  for (unsigned i = 0; i < SHARDS; i++)
    {
      DepotStack *stack
          = stack_with_magazines (class_index, (own + i) % SHARDS);
      Magazine *magazine = NULL;

      if (stack != NULL)
        magazine = stack_exchange (stack, i == 0, empty, contended);
      if (magazine != NULL)
        return magazine;
    }
  stack_count_miss (class_index, own);
  return NULL;
}

COMMON_TEXT Magazine *
sli_depot_pop (unsigned class_index, Magazine *empty, bool *contended)
{
  Magazine *magazine;

  assert_here (class_index > 0 && class_index < N_CLASSES);
  assert_here (empty == NULL || link_is_alone (&empty->link));
  *contended = false;
  magazine = shards_exchange (class_index, &empty, contended);
  assert_here (magazine == NULL
               || (magazine->class_index == class_index
                   && link_is_alone (&magazine->link))); /* D1 */
  if (magazine != NULL && empty != NULL)
    sli_depot_end_magazine (empty);
  if (magazine != NULL)
    sli_last_allocator_claim (class_index, magazine->n_rounds,
                              magazine->slots + 1);
  PROBE2 (depot_pop, class_index, magazine);
  return magazine;
}

/* --- push ---------------------------------------------------------------- */

/* The most chunks of a class that all shards together may hold. */
COMMON_TEXT static uint64_t
class_chunks_max (unsigned class_index)
{
  size_t bytes = sli_depot_limits.bytes;

  if (bytes == 0)
    bytes = max_size (DEPOT_BYTES_MIN,
                      sli_slab_held_bytes (class_index) / DEPOT_SLAB_SHARE);
  return bytes / sli_sizeclasses[class_index].chunk_bytes;
}

/* Makes this processor the only owner of the cache lines of blocks that
 * another processor will allocate.  If the caller has only read the blocks,
 * both processors have copies of the lines.  Then the other's first write
 * waits until this one drops its copy, which takes twice as long as to fetch a
 * line that only this one has.  A prefetch for writing is not enough, so a
 * byte is written back unchanged.  This takes 1.7 ns a block, so it is done
 * only where magazines go one way, and not under a tool, which would report
 * it. */
COMMON_TEXT static void
magazine_own_lines (Magazine *magazine)
{
  for (unsigned i = 1; i <= magazine->n_rounds; i++)
    {
      volatile char *chunk = magazine->slots[i];

      if (chunk != NULL)
        *chunk = *chunk;
    }
}

/* Returns true if the chunks of a magazine are better handed out again by their
 * slabs, in order of addresses.
 *
 * When one thread has allocated small blocks and others free them, each of
 * these has some blocks of every cache line.  Through the depot, threads would
 * go on sharing lines.  From the slabs, neighbours are allocated to one thread
 * again.
 *
 * The nodes of a tree are freed in another order than they were allocated in.
 * If the next tree is built in that order, the processor does not foresee the
 * addresses, neither then nor when the tree is walked and freed. */
COMMON_TEXT static bool
magazine_is_for_slabs (const Magazine *magazine, bool *is_remote)
{
  *is_remote = sli_last_allocator_is_remote (
      magazine->class_index, magazine->n_rounds, magazine->slots + 1);
  return *is_remote || sli_depot_is_shuffled (magazine);
}

/* Removes a magazine that is not to stay: the one that was pushed, or an old
 * one; else NULL. */
COMMON_TEXT static Magazine *
stack_pop_spare (DepotStack *stack, Magazine *pushed, bool is_for_slabs,
                 uint64_t n_max)
{
  assert_held (&stack->lock);
  if (!is_for_slabs && !stack_is_over (stack, pushed->class_index, n_max))
    return sli_stack_pop_older (stack, pushed->pushed_msec,
                                sli_option_working_set_msec ());
  /* Its chunks and slabs are in the cache, those of an older one are not. */
  stack_remove (stack, pushed);
  stack->n_trimmed++;
  return pushed;
}

COMMON_TEXT void
sli_depot_push (Magazine *magazine, unsigned n_wanted,
                DepotExchange *exchange)
{
  unsigned class_index = magazine->class_index;
  DepotStack *stack = stack_own (class_index);
  uint64_t n_max = class_chunks_max (class_index);
  bool is_for_slabs = magazine_is_for_slabs (magazine, &exchange->is_remote);

  if (UNLIKELY (LOAD (&stack->feeds_others)) && !is_for_slabs
      && !sli_annotate_is_on ())
    magazine_own_lines (magazine);
  exchange->contended = stack_lock (stack);
  magazine->pushed_msec = sli_os_clock_msec (); /* under the lock, for D2 */
  stack_insert (stack, magazine);
  STORE (&stack->n_pushes, stack->n_pushes + 1);
  exchange->spare = stack_pop_spare (stack, magazine, is_for_slabs, n_max);
  exchange->empty = sli_stack_pop_empty (stack, n_wanted);
  assert_here (exchange->spare == NULL
               || link_is_alone (&exchange->spare->link));
  assert_here (exchange->empty == NULL
               || (exchange->empty->n_rounds_max >= n_wanted
                   && link_is_alone (&exchange->empty->link)));
  assert_slow (sli_stack_is_right (stack));
  sli_unlock (&stack->lock);
  PROBE2 (depot_push, class_index, magazine);
}
