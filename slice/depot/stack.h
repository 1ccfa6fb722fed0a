/* stack.h - the depot's stacks: one for each class and shard
 *
 * Layer: depot.  Shared by depot*.c and stack.c alone.
 * Locks: one a stack (rank 40).  No thread holds two of them.
 * Design: chapter 5.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_DEPOT_STACK_H
#define SLI_DEPOT_STACK_H

#include "depot.h"
#include "base/check.h"
#include "base/list.h"
#include "port/compiler.h"
#include "port/lock.h"
#include "port/shard.h"

/* The magazines of one class in one shard; it has its cache lines to itself.
 * The lock protects everything.
 *
 *   owners' push, pop --> | magazine | ... | magazine | --> trim, thieves
 *                           latest           oldest
 */
typedef struct
{
  _Alignas (2 * CACHE_LINE_BYTES) Lock lock;
  Link full;            /* magazines with rounds, latest first (D1, D2) */
  Link *empties;        /* magazines without; each link's next is the next */
  uint32_t n_magazines; /* in `full' (D3); read without the lock */
  uint8_t n_empties;    /* in `empties' */
  bool is_large;        /* counted in the class's n_large */
  uint64_t n_chunks;    /* rounds in `full' (D3); read without the lock */
  uint64_t n_pops;      /* that found a magazine here */
  uint64_t n_misses;    /* pops that found none in any shard; no lock */
  uint64_t n_pushes;
  uint64_t n_contended; /* times another thread had the lock */
  uint64_t n_trimmed;   /* magazines removed to be flushed */
} DepotStack;

SLICE_STATIC_ASSERT (sizeof (DepotStack) <= 2 * CACHE_LINE_BYTES,
                     "a stack is in two cache lines");

/* What the stacks of a class have in common: hardly ever written, so that all
 * processors may keep the line. */
typedef struct
{
  uint16_t made;    /* a bit for each stack that is made; under the lock of
                       the first, and read without */
  uint16_t n_large; /* stacks with more than their part of the limit */
} DepotClass;

/* A shard's stacks lie together: a shard that is not used costs nothing. */
extern DepotStack sli_depot_stacks[SHARDS][N_CLASSES];
extern DepotClass sli_depot_classes[N_CLASSES];

void sli_stack_init_all (void);

/* A stack; NULL if it was not made yet.  The first of a class always is. */
static inline DepotStack *
stack_at (unsigned class_index, unsigned shard)
{
  return (LOAD_ACQUIRE (&sli_depot_classes[class_index].made) >> shard & 1)
                 != 0
             ? &sli_depot_stacks[shard][class_index]
             : NULL;
}

/* The same for stacks that have magazines.  A guess, without the lock. */
static inline DepotStack *
stack_with_magazines (unsigned class_index, unsigned shard)
{
  DepotStack *stack = stack_at (class_index, shard);

  return stack != NULL && LOAD (&stack->n_magazines) != 0 ? stack : NULL;
}

/* The caller's shard's stack, which is made if need be.  No lock is held. */
DepotStack *sli_stack_own (unsigned class_index);

/* Locks a stack; returns true if another thread had the lock. */
static inline bool
stack_lock (DepotStack *stack)
{
  bool contended = sli_lock_contended (&stack->lock);

  stack->n_contended += contended;
  return contended;
}

/* With the lock held: */

void sli_stack_insert (DepotStack *stack, Magazine *magazine);
void sli_stack_remove (DepotStack *stack, Magazine *magazine);

static inline Magazine *
stack_latest (DepotStack *stack)
{
  return link_is_alone (&stack->full)
             ? NULL
             : LINK_OWNER (stack->full.next, Magazine, link);
}

static inline Magazine *
stack_oldest (DepotStack *stack)
{
  return link_is_alone (&stack->full)
             ? NULL
             : LINK_OWNER (stack->full.previous, Magazine, link);
}

/* Removes the oldest magazine, if it is old enough; else NULL. */
Magazine *sli_stack_pop_older (DepotStack *stack, uint64_t now_msec,
                               uint64_t max_age_msec);
/* Returns true if all the shards have more than n_max chunks of the stack's
 * class. */
bool sli_stack_is_over (DepotStack *stack, unsigned class_index,
                        uint64_t n_max);

/* Keeps an empty magazine; returns it if there are enough, else NULL. */
Magazine *sli_stack_keep_empty (DepotStack *stack, Magazine *empty);
/* Removes the empty magazine that was kept last, if it is large enough; else
 * NULL. */
Magazine *sli_stack_pop_empty (DepotStack *stack, unsigned n_wanted);

/* Returns true if D1 to D3 hold for a stack. */
bool sli_stack_is_right (const DepotStack *stack);

#endif
