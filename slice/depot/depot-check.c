/* depot-check.c - statistics and invariants of the depot
 *
 * Layer: depot.  Locks: those of the stacks (rank 40), one at a time.  So a
 * count over all shards is exact only while no other thread is at work.
 * Design: chapters 5 and 10.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "stack.h"

/* Reads every round, which only statistics do. */
static uint64_t
stack_count_chunks (DepotStack *stack)
{
  uint64_t n_chunks = 0;

  assert_held (&stack->lock);
  LINK_EACH (link, &stack->full)
    {
      const Magazine *magazine = LINK_OWNER (link, Magazine, link);

      n_chunks += rounds_count_chunks (&magazine->slots[1],
                                       magazine->n_rounds);
    }
  return n_chunks;
}

static void
stack_count (DepotStack *stack, DepotCounts *counts)
{
  sli_lock (&stack->lock);
  counts->n_magazines += stack->n_magazines;
  counts->n_chunks += stack_count_chunks (stack);
  counts->n_pops += stack->n_pops;
  counts->n_misses += LOAD (&stack->n_misses);
  counts->n_pushes += stack->n_pushes;
  counts->n_contended += stack->n_contended;
  counts->n_trimmed += stack->n_trimmed;
  sli_unlock (&stack->lock);
}

void
sli_depot_count (unsigned class_index, DepotCounts *counts)
{
  *counts = (DepotCounts){ .n_misses
                          = LOAD (&sli_depot_misses[class_index]) };
  for (unsigned shard = 0; shard < SHARDS; shard++)
    if (stack_at (class_index, shard) != NULL)
      stack_count (stack_at (class_index, shard), counts);
}

/* The id of an invariant that does not hold for a magazine, or NULL.
 * later_msec: when the one above it was pushed. */
static const char *
magazine_check (const Magazine *magazine, unsigned class_index,
                uint64_t later_msec)
{
  if (magazine->class_index != class_index || magazine->n_rounds == 0
      || magazine->n_rounds > magazine->n_rounds_max
      || magazine->slots[0] != NULL)
    return "D1";
  return magazine->pushed_msec > later_msec ? "D2" : NULL;
}

/* The id of an invariant (D1 to D3) that does not hold, and where; or NULL. */
static const char *
stack_check (const DepotStack *stack, const void **where)
{
  unsigned class_index
      = (unsigned) (stack - &sli_depot_stacks[0][0]) % N_CLASSES;
  uint64_t n_magazines = 0, n_chunks = 0, later_msec = UINT64_MAX;
  const char *broken = NULL;

  assert_held (&stack->lock);
  LINK_EACH (link, &stack->full)
    {
      Magazine *magazine = LINK_OWNER (link, Magazine, link);

      n_magazines++;
      n_chunks += magazine->n_rounds;
      if (broken == NULL)
        {
          broken = magazine_check (magazine, class_index, later_msec);
          *where = magazine;
        }
      later_msec = magazine->pushed_msec;
    }
  if (broken == NULL
      && (n_magazines != stack->n_magazines || n_chunks != stack->n_chunks))
    {
      broken = "D3";
      *where = stack;
    }
  return broken;
}

bool
sli_stack_is_right (const DepotStack *stack)
{
  const void *where;

  return stack_check (stack, &where) == NULL;
}

const char *
sli_depot_check (unsigned class_index, const void **where)
{
  const char *broken = NULL;
  unsigned n_large = 0;

  for (unsigned shard = 0; broken == NULL && shard < SHARDS; shard++)
    {
      DepotStack *stack = stack_at (class_index, shard);

      if (stack == NULL)
        continue;
      sli_lock (&stack->lock);
      broken = stack_check (stack, where);
      n_large += stack->is_large;
      sli_unlock (&stack->lock);
    }
  if (broken == NULL
      && n_large != LOAD (&sli_depot_classes[class_index].n_large))
    {
      broken = "D4";
      *where = &sli_depot_classes[class_index];
    }
  return broken;
}

bool
sli_depot_is_valid (unsigned class_index)
{
  const void *where;

  return sli_depot_check (class_index, &where) == NULL;
}

static void
stack_each (DepotStack *stack, unsigned class_index, MagazineVisit visit,
            void *data)
{
  sli_lock (&stack->lock);
  LINK_EACH (link, &stack->full)
    {
      Magazine *magazine = LINK_OWNER (link, Magazine, link);

      visit (class_index, magazine->slots + 1, magazine->n_rounds, data);
    }
  sli_unlock (&stack->lock);
}

void
sli_depot_each (unsigned class_index, MagazineVisit visit, void *data)
{
  for (unsigned shard = 0; shard < SHARDS; shard++)
    if (stack_at (class_index, shard) != NULL)
      stack_each (stack_at (class_index, shard), class_index, visit, data);
}
