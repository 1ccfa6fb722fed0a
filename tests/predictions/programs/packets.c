/* packets.c - a network is simulated: packets wait in the queues of routers, go
 * on, arrive, or are lost where a queue is full
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define N_ROUTERS 24000
#define N_LINKS 4
#define N_TICKS 90
#define MOST 60

typedef struct packet
{
  struct packet *next;
  unsigned from, to, born;
  unsigned short size, hops;
} packet;

typedef struct router
{
  packet *first, **end;
  unsigned n, links[N_LINKS];
} router;

static router routers[N_ROUTERS];
static unsigned state = 29, n_lost, n_arrived;

static unsigned
random_next (void)
{
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static void
packet_free (packet *old)
{
  free (old);
}

static void
packet_queue (router *at, packet *one)
{
  if (at->n == MOST)
    {
      n_lost++;
      packet_free (one);
      return;
    }
  one->next = NULL;
  *at->end = one;
  at->end = &one->next;
  at->n++;
}

static packet *
packet_new (unsigned from, unsigned now)
{
  packet *made = malloc (sizeof *made);

  made->from = from;
  made->to = random_next () % N_ROUTERS;
  made->born = now;
  made->size = 40 + random_next () % 1400;
  made->hops = 0;
  return made;
}

/* A router sends what its lines carry in a tick. */
static unsigned long
router_send (router *at, unsigned now)
{
  unsigned room = 9000;
  unsigned long sum = 0;

  while (at->first != NULL && at->first->size <= room)
    {
      packet *one = at->first;

      at->first = one->next;
      if (at->first == NULL)
        at->end = &at->first;
      at->n--;
      room -= one->size;
      if (++one->hops >= 6 + one->to % 8)
        {
          sum += now - one->born + one->size;
          n_arrived++;
          packet_free (one);
        }
      else
        packet_queue (&routers[at->links[one->to % N_LINKS]], one);
    }
  return sum;
}

int
main (void)
{
  unsigned long sum = 0;

  for (unsigned i = 0; i < N_ROUTERS; i++)
    {
      routers[i].end = &routers[i].first;
      for (unsigned k = 0; k < N_LINKS; k++)
        routers[i].links[k] = random_next () % N_ROUTERS;
    }
  for (unsigned now = 0; now < N_TICKS; now++)
    {
      for (unsigned i = 0; i < N_ROUTERS; i += 1 + random_next () % 2)
        packet_queue (&routers[i], packet_new (i, now));
      for (unsigned i = 0; i < N_ROUTERS; i++)
        sum += router_send (&routers[i], now);
    }
  printf ("%lu %u %u\n", sum, n_arrived, n_lost);
  return 0;
}
