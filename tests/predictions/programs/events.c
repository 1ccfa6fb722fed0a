/* events.c - a simulation of queues, driven by events in a heap
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_SERVERS 64
#define N_EVENTS 1500000

typedef struct
{
  double when;
  int kind, server;
  unsigned customer;
  double arrived;
  char note[24];
} Event;

static Event *heap[1 << 16];
static unsigned n_heap;
static uint64_t random_state = 42;

static double
random_next (void)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (double) (random_state >> 11) / 9007199254740992.0;
}

static void
event_add (double when, int kind, int server, unsigned customer,
           double arrived)
{
  Event *event = malloc (sizeof *event);
  unsigned i = n_heap++;

  if (event == NULL)
    abort ();
  event->when = when;
  event->kind = kind;
  event->server = server;
  event->customer = customer;
  event->arrived = arrived;
  event->note[0] = (char) customer;
  for (; i > 0 && heap[(i - 1) / 2]->when > when; i = (i - 1) / 2)
    heap[i] = heap[(i - 1) / 2];
  heap[i] = event;
}

static Event *
event_take (void)
{
  Event *first = heap[0], *last = heap[--n_heap];
  unsigned i = 0, child;

  while ((child = 2 * i + 1) < n_heap)
    {
      if (child + 1 < n_heap && heap[child + 1]->when < heap[child]->when)
        child++;
      if (heap[child]->when >= last->when)
        break;
      heap[i] = heap[child];
      i = child;
    }
  heap[i] = last;
  return first;
}

int
main (void)
{
  double busy_until[N_SERVERS] = { 0 }, waited = 0;
  unsigned customers = 0;

  for (int i = 0; i < 500; i++)
    event_add (random_next (), 0, i % N_SERVERS, customers++, 0);
  for (unsigned n = 0; n < N_EVENTS; n++)
    {
      Event *event = event_take ();
      int server = event->server;

      if (event->kind == 0)
        {
          double start = busy_until[server] > event->when
                             ? busy_until[server]
                             : event->when;

          busy_until[server] = start + 0.01 * random_next ();
          event_add (busy_until[server], 1, server, event->customer,
                     event->when);
        }
      else
        {
          waited += event->when - event->arrived;
          event_add (event->when + random_next (), 0,
                     (int) (random_next () * N_SERVERS), customers++, 0);
        }
      free (event);
    }
  printf ("%u customers, %g\n", customers, waited);
  return 0;
}
