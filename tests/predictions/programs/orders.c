/* orders.c - a market's book of orders, which are filled or withdrawn
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define N_PRICES 4096
#define N_SLOTS 300000
#define N_STEPS 2400000

typedef struct order
{
  struct order *next, *previous;
  unsigned price, amount, slot;
} order;

static order *levels[N_PRICES], *slots[N_SLOTS];
static unsigned state = 11;

static unsigned
random_next (unsigned n)
{
  state = state * 1664525u + 1013904223u;
  return (unsigned) ((unsigned long) (state >> 4) * n >> 28);
}

__attribute__ ((noinline)) static order *
order_new (unsigned price, unsigned amount, unsigned slot)
{
  order *made = malloc (sizeof *made);

  *made = (order){ levels[price], NULL, price, amount, slot };
  if (levels[price] != NULL)
    levels[price]->previous = made;
  return levels[price] = made;
}

static unsigned
order_end (order *old)
{
  unsigned amount = old->amount;

  if (old->next != NULL)
    old->next->previous = old->previous;
  if (old->previous != NULL)
    old->previous->next = old->next;
  else
    levels[old->price] = old->next;
  slots[old->slot] = NULL;
  free (old);
  return amount;
}

int
main (void)
{
  unsigned long filled = 0, left = 0;

  for (unsigned i = 0; i < N_STEPS; i++)
    {
      unsigned slot = random_next (N_SLOTS);

      if (slots[slot] != NULL)
        filled += order_end (slots[slot]);
      else
        slots[slot] = order_new (random_next (N_PRICES),
                                 1 + random_next (100), slot);
    }
  for (unsigned i = 0; i < N_SLOTS; i++)
    if (slots[i] != NULL)
      left += order_end (slots[i]);
  printf ("%lu %lu\n", filled, left);
  return 0;
}
