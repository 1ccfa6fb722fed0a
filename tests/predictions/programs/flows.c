/* flows.c - a router counts what each connection carries; connections that are
 * silent for a while are written out and forgotten
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define N_BUCKETS 65536
#define N_PACKETS 1500000
#define N_SECONDS 30

typedef struct flow
{
  struct flow *chain;
  unsigned from, to, ports, last;
  unsigned bytes, packets, flags;
} flow;

static flow *buckets[N_BUCKETS];
static unsigned state = 91;

static unsigned
random_next (void)
{
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static flow *
flow_find (unsigned from, unsigned to, unsigned ports)
{
  unsigned hash = (from * 31 + to) * 2654435761u + ports;
  flow **bucket = &buckets[hash % N_BUCKETS], *at;

  for (at = *bucket; at != NULL; at = at->chain)
    if (at->from == from && at->to == to && at->ports == ports)
      return at;
  at = malloc (sizeof *at);
  *at = (flow){ *bucket, from, to, ports, 0, 0, 0, 0 };
  return *bucket = at;
}

/* Most packets belong to connections of late. */
static void
packet_count (unsigned now)
{
  static unsigned recent[4096];
  unsigned luck = random_next () % 8;
  unsigned *slot = &recent[random_next () % 4096];
  flow *of;

  if (luck < 3)
    *slot = random_next ();
  of = flow_find (*slot >> 20, *slot & 0xffff, *slot >> 7);
  of->last = now;
  of->bytes += 64 + luck * 100;
  of->packets++;
  of->flags |= luck;
}

static unsigned long
silent_write (unsigned now, unsigned age)
{
  unsigned long sum = 0;

  for (unsigned i = 0; i < N_BUCKETS; i++)
    for (flow **at = &buckets[i]; *at != NULL;)
      {
        flow *of = *at;

        if (now - of->last < age)
          {
            at = &of->chain;
            continue;
          }
        sum += of->bytes ^ of->packets ^ of->flags;
        *at = of->chain;
        free (of);
      }
  return sum;
}

int
main (void)
{
  unsigned long sum = 0;
  unsigned now = 0;

  for (; now < N_SECONDS; now++)
    {
      for (unsigned i = 0; i < N_PACKETS / N_SECONDS; i++)
        packet_count (now);
      if (now % 5 == 4)
        sum = sum * 3 + silent_write (now, 8);
    }
  sum += silent_write (now + 9, 8);
  printf ("%lu\n", sum);
  return 0;
}
