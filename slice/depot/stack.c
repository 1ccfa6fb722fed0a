/* stack.c - the depot's stacks: one for each class and shard
 *
 * Layer: depot.  Locks: one for each stack (rank 40).  Design: chapter 5.
 *
 * The magazine that was pushed last is popped first.  So the one at the bottom
 * has been spare longest: for as long as its age.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "stack.h"

#include <string.h>

enum
{
  /* Empty magazines that a stack keeps; others are freed. */
  EMPTIES_MAX = 4
};

SPARSE_DATA DepotStack sli_depot_stacks[SHARDS][N_CLASSES];
DepotClass sli_depot_classes[N_CLASSES];
uint64_t sli_depot_misses[N_CLASSES];

/* While it is held, no stacks are made. */
static Lock make_lock = LOCK_INIT (LOCK_RANK_DEPOT);

COMMON_TEXT Lock *
sli_depot_make_lock (void)
{
  return &make_lock;
}

COMMON_TEXT static void
stack_init (DepotStack *stack)
{
  memset (stack, 0, sizeof *stack);
  sli_lock_init (&stack->lock, LOCK_RANK_DEPOT);
  link_init (&stack->full);
}

COMMON_TEXT void
sli_stack_init_all (void)
{
  for (unsigned i = 0; i < N_CLASSES; i++)
    {
      sli_depot_classes[i] = (DepotClass){ .made = 0 };
      sli_depot_misses[i] = 0;
    }
}

/* While this thread forks, it holds the locks of all stacks, and gives them
 * back afterwards. */
COMMON_TEXT DepotStack *
sli_stack_make_own (unsigned class_index)
{
  unsigned shard = sli_shard ();
  DepotStack *stack = &sli_depot_stacks[shard][class_index];
  DepotClass *class = &sli_depot_classes[class_index];

  sli_lock (&make_lock);
  if (stack_at (class_index, shard) == NULL)
    {
      stack_init (stack);
      if (sli_lock_forking_here ())
        sli_lock_for_fork (&stack->lock);
      STORE_RELEASE (&class->made, (uint16_t) (class->made | 1u << shard));
    }
  sli_unlock (&make_lock);
  return stack;
}

/* --- full magazines ------------------------------------------------------ */

COMMON_TEXT void
sli_stack_set_large (DepotStack *stack, unsigned class_index, bool is_large)
{
  assert_held (&stack->lock);
  if (stack->is_large == is_large)
    return;
  stack->is_large = is_large;
  (void) __atomic_fetch_add (&sli_depot_classes[class_index].n_large,
                             is_large ? 1 : -1, __ATOMIC_RELAXED);
}

COMMON_TEXT Magazine *
sli_stack_pop_older (DepotStack *stack, uint64_t now_msec,
                     uint64_t max_age_msec)
{
  Magazine *magazine = stack_oldest (stack);

  assert_held (&stack->lock);
  if (magazine == NULL || now_msec - magazine->pushed_msec < max_age_msec)
    return NULL;
  stack_remove (stack, magazine);
  stack->n_trimmed++;
  return magazine;
}

COMMON_TEXT bool
sli_stack_is_over_all (DepotStack *stack, unsigned class_index, uint64_t n_max)
{
  uint64_t part = n_max / SHARDS, n = 0;

  sli_stack_set_large (stack, class_index,
                       stack->n_chunks > (stack->is_large ? part / 2 : part));
  if (LOAD (&sli_depot_classes[class_index].n_large) == 0)
    return false;
  for (unsigned shard = 0; shard < SHARDS; shard++)
    {
      const DepotStack *other = stack_at (class_index, shard);

      n += other != NULL ? LOAD (&other->n_chunks) : 0;
    }
  return n > n_max;
}

/* --- empty magazines ----------------------------------------------------- */

COMMON_TEXT Magazine *
sli_stack_keep_empty (DepotStack *stack, Magazine *empty)
{
  assert_held (&stack->lock);
  if (empty == NULL || stack->n_empties == EMPTIES_MAX)
    return empty;
  assert_here (link_is_alone (&empty->link));
  empty->link.next = stack->empties;
  stack->empties = &empty->link;
  stack->n_empties++;
  return NULL;
}

COMMON_TEXT Magazine *
sli_stack_pop_empty (DepotStack *stack, unsigned n_wanted)
{
  Magazine *empty;

  assert_held (&stack->lock);
  if (stack->n_empties == 0)
    return NULL;
  empty = LINK_OWNER (stack->empties, Magazine, link);
  if (empty->n_rounds_max < n_wanted)
    return NULL;
  stack->empties = empty->link.next;
  stack->n_empties--;
  link_init (&empty->link);
  return empty;
}
