/* subsets.c - automata are made deterministic: a set of states is a list, and a
 * table finds the sets that there are
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define N_STATES 22
#define N_LETTERS 4
#define N_BUCKETS 4096
#define N_AUTOMATA 8

typedef struct member
{
  struct member *next;
  unsigned state;
} member;

typedef struct set
{
  struct set *chain, *waiting;
  member *members;
  struct set *after[N_LETTERS];
  unsigned hash, number;
} set;

static unsigned moves[N_STATES][N_LETTERS];
static set *buckets[N_BUCKETS];
static unsigned state = 71;

static unsigned
random_next (void)
{
  state = state * 1103515245u + 12345u;
  return state >> 8;
}

static void
automaton_make (void)
{
  for (unsigned i = 0; i < N_STATES; i++)
    for (unsigned c = 0; c < N_LETTERS; c++)
      {
        moves[i][c] = 1u << random_next () % N_STATES;
        if (random_next () % 5 == 0)
          moves[i][c] |= 1u << random_next () % N_STATES;
      }
}

static member *
member_new (member *next, unsigned of)
{
  member *made = malloc (sizeof *made);

  made->next = next;
  made->state = of;
  return made;
}

static int
members_are (const member *at, unsigned bits)
{
  for (; at != NULL; at = at->next)
    {
      if (!(bits >> at->state & 1))
        return 0;
      bits &= ~(1u << at->state);
    }
  return bits == 0;
}

static set *
set_find (unsigned bits, unsigned *n, set ***waiting)
{
  unsigned hash = bits * 2654435761u >> 16;
  set *at;

  for (at = buckets[hash % N_BUCKETS]; at != NULL; at = at->chain)
    if (at->hash == hash && members_are (at->members, bits))
      return at;
  at = malloc (sizeof *at);
  at->chain = buckets[hash % N_BUCKETS];
  at->waiting = NULL;
  at->members = NULL;
  at->hash = hash;
  at->number = (*n)++;
  for (unsigned i = N_STATES; i-- > 0;)
    if (bits >> i & 1)
      at->members = member_new (at->members, i);
  buckets[hash % N_BUCKETS] = at;
  **waiting = at;
  *waiting = &at->waiting;
  return at;
}

static unsigned
sets_make (unsigned most)
{
  set *first = NULL, **waiting = &first;
  unsigned n = 0;

  set_find (1, &n, &waiting);
  for (set *at = first; at != NULL && n < most; at = at->waiting)
    for (unsigned c = 0; c < N_LETTERS; c++)
      {
        unsigned bits = 0;

        for (const member *one = at->members; one != NULL; one = one->next)
          bits |= moves[one->state][c];
        at->after[c] = set_find (bits, &n, &waiting);
      }
  return n;
}

static void
sets_free (void)
{
  for (unsigned i = 0; i < N_BUCKETS; i++)
    while (buckets[i] != NULL)
      {
        set *old = buckets[i];

        buckets[i] = old->chain;
        while (old->members != NULL)
          {
            member *next = old->members->next;

            free (old->members);
            old->members = next;
          }
        free (old);
      }
}

int
main (void)
{
  unsigned long sum = 0;

  for (unsigned i = 0; i < N_AUTOMATA; i++)
    {
      automaton_make ();
      sum = sum * 31 + sets_make (40000);
      sets_free ();
    }
  printf ("%lu\n", sum);
  return 0;
}
