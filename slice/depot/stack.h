/* stack.h - the depot's stacks: one for each class and shard
 *
 * Layer: depot.  Shared by depot*.c and stack.c alone.
 * Locks: one for each stack (rank 40).  No thread holds two of them.
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
#include "port/thread/lock.h"
#include "port/thread/shard.h"

/* The magazines of one class in one shard, in cache lines of their own.  The
 * lock protects everything.
 *
 *   owners' push, pop --> | magazine | ... | magazine | --> trim, thieves
 *                           latest           oldest
 */
typedef struct
{
  _Alignas (2 * CACHE_LINE_BYTES) Lock lock;
  Link full;            /* magazines with rounds, latest first (D1, D2) */
  Link *empties;        /* magazines without, linked by `next' */
  uint32_t n_magazines; /* in `full' (D3); read without the lock */
  uint8_t n_empties;    /* in `empties' */
  bool is_large;        /* counted in the class's n_large */
  bool feeds_others;    /* another shard's thread popped here last; read
                           without the lock */
  uint64_t n_chunks;    /* rounds in `full' (D3); read without the lock */
  uint64_t n_pops;      /* that found a magazine here */
  uint64_t n_misses;    /* pops that found none in any shard; no lock */
  uint64_t n_pushes;
  uint32_t n_contended; /* times a thread waited for the lock */
  uint32_t n_trimmed;   /* magazines removed to be flushed; both have 32 bits
                           since a mutex has 48 bytes on 64-bit ARM */
} DepotStack;

SLICE_STATIC_ASSERT (sizeof (DepotStack) <= 2 * CACHE_LINE_BYTES,
                     "a stack is in two cache lines");

/* The common data of a class's stacks, rarely written, so that all processors
 * can keep the line. */
typedef struct
{
  uint16_t made;    /* a bit for each stack that is made; written under
                       sli_depot_make_lock() */
  uint32_t n_large; /* stacks with more than their share of the limit */
  uint32_t n_uses_seen; /* pops and pushes until sli_depot_pop_unused() last
                           looked; the low bits, no lock */
} DepotClass;

/* A shard's stacks lie together, so an unused shard takes no memory. */
extern DepotStack sli_depot_stacks[SHARDS][N_CLASSES];
extern DepotClass sli_depot_classes[N_CLASSES];
/* Pops that found no magazine, by threads whose shard has no stack yet. */
extern uint64_t sli_depot_misses[N_CLASSES];

void sli_stack_init_all (void);

/* A stack; NULL if it does not exist, since nothing was pushed to it yet. */
static inline DepotStack *
stack_at (unsigned class_index, unsigned shard)
{
  return (LOAD_ACQUIRE (&sli_depot_classes[class_index].made) >> shard & 1)
                 != 0
             ? &sli_depot_stacks[shard][class_index]
             : NULL;
}

/* The same, but NULL if it has no magazines.  A guess, without the lock. */
static inline DepotStack *
stack_with_magazines (unsigned class_index, unsigned shard)
{
  DepotStack *stack = stack_at (class_index, shard);

  return stack != NULL && LOAD (&stack->n_magazines) != 0 ? stack : NULL;
}

/* Makes the stack of the caller's shard.  No lock is held. */
DepotStack *sli_stack_make_own (unsigned class_index);

/* The stack of the caller's shard. */
static inline DepotStack *
stack_own (unsigned class_index)
{
  DepotStack *stack = stack_at (class_index, sli_shard ());

  return LIKELY (stack != NULL) ? stack : sli_stack_make_own (class_index);
}

/* Locks a stack; returns true if the call waited. */
static inline bool
stack_lock (DepotStack *stack)
{
  bool contended = sli_lock_contended (&stack->lock);

  stack->n_contended += contended;
  return contended;
}

/* With the lock held: */

/* Counts a stack, or stops counting it, as one with more than its share of the
 * limit. */
void sli_stack_set_large (DepotStack *stack, unsigned class_index,
                          bool is_large);

static inline void
stack_insert (DepotStack *stack, Magazine *magazine)
{
  assert_held (&stack->lock);
  assert_here (magazine->n_rounds > 0
               && magazine->n_rounds <= magazine->n_rounds_max); /* D1 */
  assert_here (link_is_alone (&magazine->link));
  SCHEDULE_POINT ("depot push");
  link_after (&magazine->link, &stack->full);
  SCHEDULE_POINT ("depot pushed");
  STORE (&stack->n_magazines, stack->n_magazines + 1);
  STORE (&stack->n_chunks, stack->n_chunks + magazine->n_rounds);
}

static inline void
stack_remove (DepotStack *stack, Magazine *magazine)
{
  assert_held (&stack->lock);
  assert_here (stack->n_magazines > 0
               && stack->n_chunks >= magazine->n_rounds); /* D3 */
  SCHEDULE_POINT ("depot pop");
  link_remove (&magazine->link);
  STORE (&stack->n_magazines, stack->n_magazines - 1);
  STORE (&stack->n_chunks, stack->n_chunks - magazine->n_rounds);
  if (UNLIKELY (stack->is_large) && stack->n_magazines == 0)
    sli_stack_set_large (stack, magazine->class_index, false);
}

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
/* The slow part of stack_is_over(), which looks at all shards if need be. */
bool sli_stack_is_over_all (DepotStack *stack, unsigned class_index,
                            uint64_t n_max);

/* Returns true if all shards together have more than n_max chunks of the
 * stack's class.  Each shard has an equal share of the limit.  While no stack
 * has more than its share, a thread looks only at its own, since the other
 * stacks' lines are in other processors' caches.  A stack stays large until it
 * is down to half its share, so that n_large is rarely written.  Threads that
 * push at the same time may each leave one magazine too many. */
static inline bool
stack_is_over (DepotStack *stack, unsigned class_index, uint64_t n_max)
{
  assert_held (&stack->lock);
  return (stack->is_large || stack->n_chunks > n_max / SHARDS
          || LOAD (&sli_depot_classes[class_index].n_large) != 0)
         && sli_stack_is_over_all (stack, class_index, n_max);
}

/* Keeps an empty magazine and returns NULL, or returns it if the stack has
 * enough. */
Magazine *sli_stack_keep_empty (DepotStack *stack, Magazine *empty);
/* Removes the empty magazine that was kept last, if it is large enough; else
 * NULL. */
Magazine *sli_stack_pop_empty (DepotStack *stack, unsigned n_wanted);

/* Returns true if D1 to D3 hold for a stack. */
bool sli_stack_is_right (const DepotStack *stack);

#endif
