/* wires.c - a circuit's simulation: a change of a wire is a block in a queue
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define N_GATES 60000
#define N_SLOTS 4096 /* of time, in a wheel */
#define N_CLOCKS 8
#define CLOCK 3000

typedef struct change
{
  struct change *next;
  unsigned wire;
  unsigned char level;
} change;

typedef struct gate
{
  unsigned inputs[2], delay;
  unsigned readers[3], n_readers;
  unsigned char level, kind;
} gate;

static gate gates[N_GATES];
static change *wheel[N_SLOTS];
static unsigned state = 77, n_waiting;

static unsigned
random_next (void)
{
  state = state * 22695477u + 1u;
  return state >> 10;
}

static void
change_put (unsigned wire, unsigned char level, unsigned when)
{
  change *made = malloc (sizeof *made);

  made->wire = wire;
  made->level = level;
  made->next = wheel[when % N_SLOTS];
  wheel[when % N_SLOTS] = made;
  n_waiting++;
}

static unsigned char
gate_level (const gate *at)
{
  unsigned a = gates[at->inputs[0]].level, b = gates[at->inputs[1]].level;

  switch (at->kind)
    {
    case 0:
      return !(a & b);
    case 1:
      return !(a | b);
    case 2:
      return a ^ b;
    default:
      return !a;
    }
}

static void
wires_connect (void)
{
  for (unsigned i = 0; i < N_GATES; i++)
    {
      gate *at = &gates[i];

      at->kind = random_next () % 4;
      at->delay = 1 + random_next () % 2000;
      for (int k = 0; k < 2; k++)
        {
          unsigned from = random_next () % (i + 1);

          at->inputs[k] = from;
          if (gates[from].n_readers < 3)
            gates[from].readers[gates[from].n_readers++] = i;
        }
    }
}

int
main (void)
{
  unsigned long sum = 0;
  unsigned now = 0;

  wires_connect ();
  for (int clock = 0; clock < N_CLOCKS; clock++)
    {
      for (int i = 0; i < 120000; i++)
        {
          unsigned wire = random_next () % 20000;

          change_put (wire, !gates[wire].level,
                      now + 1 + random_next () % 2500);
        }
      for (unsigned end = now + CLOCK; now < end; now++)
        while (wheel[now % N_SLOTS] != NULL)
          {
            change *done = wheel[now % N_SLOTS];
            gate *at = &gates[done->wire];

            wheel[now % N_SLOTS] = done->next;
            n_waiting--;
            if (at->level != done->level)
              {
                at->level = done->level;
                sum += now & 3;
                for (unsigned k = 0; k < at->n_readers; k++)
                  {
                    gate *reader = &gates[at->readers[k]];
                    unsigned char level = gate_level (reader);

                    if (level != reader->level)
                      change_put (at->readers[k], level, now + reader->delay);
                  }
              }
            free (done);
          }
    }
  printf ("%lu %u\n", sum, n_waiting);
  return 0;
}
