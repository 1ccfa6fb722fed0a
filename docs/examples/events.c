/* events.c - a pool: objects of one size, freed in any order
 *
 * A simulation keeps its events in a queue by time.  Each event makes another
 * one or none, and is freed when it has happened: never in the order in which
 * they were made.  How many there can be at once is known, so their memory is
 * reserved before the start, and no event waits for it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include <slice/arena.h>

enum
{
  N_EVENTS = 500,
  N_STEPS = 100000
};

typedef struct Event Event;

struct Event
{
  unsigned long time;
  unsigned kind;
  Event *left;
  Event *right;
};

typedef struct
{
  SlicePool *events;
  Event *queue; /* a heap by time: the first event is on top */
  unsigned random;
} Simulation;

static Event *
merge (Event *a, Event *b)
{
  Event *left;

  if (a == NULL || b == NULL)
    return a != NULL ? a : b;
  if (b->time < a->time)
    {
      Event *other = a;

      a = b;
      b = other;
    }
  left = a->left;
  a->left = merge (a->right, b);
  a->right = left;
  return a;
}

static unsigned
next_random (Simulation *simulation)
{
  simulation->random = simulation->random * 1103515245u + 12345u;
  return simulation->random >> 16;
}

static void
add_event (Simulation *simulation, unsigned long now)
{
  Event *event = slice_pool_alloc (simulation->events);

  event->time = now + 1 + next_random (simulation) % 1000;
  event->kind = next_random (simulation) % 3;
  event->left = NULL;
  event->right = NULL;
  simulation->queue = merge (simulation->queue, event);
}

/* Returns the time of the event that has happened. */
static unsigned long
step (Simulation *simulation)
{
  Event *event = simulation->queue;
  unsigned long now = event->time;

  simulation->queue = merge (event->left, event->right);
  slice_pool_free (simulation->events, event);
  add_event (simulation, now);
  return now;
}

int
main (void)
{
  Simulation simulation
      = { .events = slice_pool_new_plain (sizeof (Event)), .random = 1 };
  SliceArenaStats before;
  SliceArenaStats after;
  unsigned long now = 0;
  int is_in_order = 1;

  if (simulation.events == NULL
      || !slice_pool_reserve (simulation.events, N_EVENTS))
    {
      perror ("events");
      return 1;
    }
  slice_pool_get_stats (simulation.events, &before);
  for (int i = 0; i < N_EVENTS; i++)
    add_event (&simulation, 0);
  for (int i = 0; i < N_STEPS; i++)
    {
      unsigned long then = step (&simulation);

      is_in_order = is_in_order && then >= now;
      now = then;
    }
  slice_pool_get_stats (simulation.events, &after);
  printf ("a pool: %zu events live, %s, %zu blocks asked for since\n",
          slice_pool_n_live (simulation.events),
          is_in_order ? "all in order" : "out of order",
          after.n_requests - before.n_requests);
  slice_pool_destroy (simulation.events);
  return 0;
}
