/* depot-trim.c - returns magazines that were not needed for a while
 *
 * Layer: depot.  Locks: those of the stacks (rank 40), one at a time; none
 * while anything is flushed.  Design: chapter 5.
 * Source: Bonwick & Adams 2001, section 3.6 (the depot's working set).
 *
 * All functions visit every shard, since idle processors free nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "stack.h"
#include "slab/slab.h"
#include "base/check.h"
#include "base/option.h"
#include "port/os/os.h"

#include <limits.h>

enum
{
  /* Upkeep runs this often in a working set, and flushes at most this many old
   * magazines each time. */
  UPKEEP_PER_WORKING_SET = 8,
  UPKEEP_MAGAZINES_MAX = 8
};

static struct
{
  uint64_t last_msec;  /* when it last ran */
  unsigned next_class; /* the class at which it stopped */
  bool is_more_due;    /* it returned memory, so there may be more */
} upkeep;

/* --- one magazine -------------------------------------------------------- */

COMMON_TEXT Magazine *
sli_depot_pop_old (unsigned class_index, uint64_t max_age_msec)
{
  Magazine *magazine = NULL;

  for (unsigned shard = 0; magazine == NULL && shard < SHARDS; shard++)
    {
      DepotStack *stack = stack_with_magazines (class_index, shard);

      if (stack == NULL)
        continue;
      sli_lock (&stack->lock);
      magazine = sli_stack_pop_older (stack, sli_os_clock_msec (),
                                      max_age_msec);
      sli_unlock (&stack->lock);
    }
  assert_here (magazine == NULL
               || (magazine->class_index == class_index
                   && link_is_alone (&magazine->link))); /* D1 */
  return magazine;
}

/* Counts the pops and pushes of a class.  A guess, without the locks. */
COMMON_TEXT static uint32_t
class_count_uses (unsigned class_index)
{
  uint32_t n = 0;

  for (unsigned shard = 0; shard < SHARDS; shard++)
    {
      const DepotStack *stack = stack_at (class_index, shard);

      if (stack != NULL)
        n += (uint32_t) (LOAD (&stack->n_pops) + LOAD (&stack->n_pushes));
    }
  return n;
}

COMMON_TEXT Magazine *
sli_depot_pop_unused (unsigned class_index)
{
  DepotClass *class = &sli_depot_classes[class_index];
  uint32_t n_uses;

  if (!sli_depot_has (class_index))
    return NULL;
  n_uses = class_count_uses (class_index);
  if (n_uses == LOAD (&class->n_uses_seen))
    return sli_depot_pop_old (class_index, 0);
  STORE (&class->n_uses_seen, n_uses);
  return NULL;
}

/* Removes a stack's oldest magazine, if it is fragmented; else NULL. */
COMMON_TEXT static Magazine *
stack_pop_fragmented (DepotStack *stack)
{
  Magazine *magazine;

  sli_lock (&stack->lock);
  magazine = stack_oldest (stack);
  if (magazine != NULL && !sli_depot_is_fragmented (magazine))
    magazine = NULL;
  if (magazine != NULL)
    {
      stack_remove (stack, magazine);
      stack->n_trimmed++;
    }
  assert_slow (sli_stack_is_right (stack));
  sli_unlock (&stack->lock);
  return magazine;
}

COMMON_TEXT Magazine *
sli_depot_pop_fragmented (unsigned class_index)
{
  Magazine *magazine = NULL;

  for (unsigned shard = 0; magazine == NULL && shard < SHARDS; shard++)
    {
      DepotStack *stack = stack_with_magazines (class_index, shard);

      if (stack != NULL)
        magazine = stack_pop_fragmented (stack);
    }
  assert_here (magazine == NULL || magazine->class_index == class_index);
  return magazine;
}

/* --- trim and upkeep ----------------------------------------------------- */

/* Flushes at most n_max magazines that have been in the depot for a working
 * set; returns how many.  Starts behind the class at which the last call
 * stopped. */
static unsigned
flush_old (unsigned n_max)
{
  unsigned class_index = LOAD (&upkeep.next_class), n = 0;
  Magazine *magazine;

  for (unsigned i = 0; i < N_CLASSES && n < n_max; i++)
    {
      class_index = class_index + 1 < N_CLASSES ? class_index + 1 : 1;
      while (n < n_max
             && (magazine
                 = sli_depot_pop_old (class_index,
                                      sli_option_working_set_msec ()))
                    != NULL)
        {
          sli_depot_flush (magazine);
          n++;
        }
    }
  assert_here (class_index < N_CLASSES && n <= n_max);
  STORE (&upkeep.next_class, class_index);
  return n;
}

/* Returns true if upkeep is due, to one of the threads that ask at the same
 * time. */
static bool
upkeep_is_due (void)
{
  uint64_t now_msec = sli_os_clock_msec ();
  uint64_t last_msec = LOAD (&upkeep.last_msec);

  return (sli_depot_is_more_due ()
          || now_msec - last_msec
                 >= sli_option_working_set_msec () / UPKEEP_PER_WORKING_SET)
         && __atomic_compare_exchange_n (&upkeep.last_msec, &last_msec,
                                         now_msec, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED);
}

/* Design chapter 5.  Due at every call while it returns memory, otherwise
 * UPKEEP_PER_WORKING_SET times in a working set. */
COMMON_TEXT void
sli_depot_upkeep (void)
{
  unsigned n_flushed;
  size_t bytes;

  if (!upkeep_is_due ())
    return;
  n_flushed = flush_old (UPKEEP_MAGAZINES_MAX);
  bytes = sli_slab_trim (sli_option_working_set_msec (), 1);
  STORE (&upkeep.is_more_due, n_flushed > 0 || bytes > 0);
}

COMMON_TEXT bool
sli_depot_is_more_due (void)
{
  return LOAD (&upkeep.is_more_due);
}

static void
stack_end_empties (DepotStack *stack)
{
  Magazine *empty;

  do
    {
      sli_lock (&stack->lock);
      empty = sli_stack_pop_empty (stack, 0);
      sli_unlock (&stack->lock);
      if (empty != NULL)
        sli_depot_end_magazine (empty);
    }
  while (empty != NULL);
}

size_t
sli_depot_trim (uint64_t max_age_msec)
{
  Magazine *magazine;

  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      while ((magazine = sli_depot_pop_old (i, max_age_msec)) != NULL)
        sli_depot_flush (magazine);
      for (unsigned shard = 0; shard < SHARDS; shard++)
        if (stack_at (i, shard) != NULL)
          stack_end_empties (stack_at (i, shard));
    }
  return sli_slab_trim (max_age_msec, UINT_MAX);
}
