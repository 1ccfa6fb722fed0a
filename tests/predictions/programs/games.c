/* games.c - several games of Nim at once, each with the tree of its moves
 *
 * A game's tree grows while it is played, and goes when the game is over.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define N_HEAPS 8
#define N_GAMES 400
#define N_PLAYED 250
#define N_TRIES 500

typedef struct move
{
  struct move *first, *next;
  unsigned char heap, taken;
  unsigned visits, won;
} move;

typedef struct game
{
  move *root;
  unsigned heaps;
} game;

static unsigned state = 11;

static unsigned
random_next (void)
{
  state = state * 1103515245u + 12345u;
  return state >> 9;
}

static move *
move_new (game *of, unsigned heap, unsigned taken, move *next)
{
  move *made = malloc (sizeof *made);

  (void) of;
  *made = (move){ .heap = (unsigned char) heap,
                  .taken = (unsigned char) taken,
                  .next = next };
  return made;
}

/* heaps: eight of up to 7 matches, 3 bits each */
static void
move_expand (game *of, move *at, unsigned heaps)
{
  for (unsigned heap = 0; heap < N_HEAPS; heap++)
    for (unsigned n = heaps >> (3 * heap) & 7; n > 0; n--)
      at->first = move_new (of, heap, n, at->first);
}

/* Plays at random from a move on; returns true if who is to move wins. */
static int
move_try (game *of, move *at, unsigned heaps)
{
  int wins;
  move *best;

  at->visits++;
  if (heaps == 0)
    return 0;
  if (at->first == NULL && at->visits > 1)
    move_expand (of, at, heaps);
  if (at->first == NULL)
    return (int) (random_next () & 1);
  best = at->first;

  for (move *to = at->first; to != NULL && best->visits > 0; to = to->next)
    if (to->visits == 0
        || to->won * (best->visits + 1) + random_next () % 8
               > best->won * (to->visits + 1))
      best = to;
  wins = !move_try (of, best, heaps - ((unsigned) best->taken
                                       << (3 * best->heap)));
  best->won += (unsigned) wins;
  return wins;
}

static game *
game_new (unsigned number)
{
  game *made = malloc (sizeof *made);

  made->heaps = 0xffffff & (number * 2654435761u >> 7 | 044444444);
  made->root = move_new (made, 0, 0, NULL);
  return made;
}

static void
move_free (move *old)
{
  while (old->first != NULL)
    {
      move *next = old->first->next;

      move_free (old->first);
      old->first = next;
    }
  free (old);
}

static void
game_over (game *old)
{
  move_free (old->root);
  free (old);
}

int
main (void)
{
  game *played[N_PLAYED] = { NULL };
  unsigned long sum = 0;

  for (unsigned i = 0; i < N_GAMES; i++)
    {
      game **slot = &played[i % N_PLAYED];

      if (*slot != NULL)
        game_over (*slot);
      *slot = game_new (i);
      for (int n = 0; n < N_TRIES; n++)
        sum += (unsigned) move_try (*slot, (*slot)->root, (*slot)->heaps);
    }
  for (int i = 0; i < N_PLAYED; i++)
    game_over (played[i]);
  printf ("%lu\n", sum);
  return 0;
}
