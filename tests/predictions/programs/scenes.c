/* scenes.c - a game's map: parts are loaded around the player, and unloaded
 *
 * Each part is a tree of areas down to rooms, with things in them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define SIDE 20 /* loaded parts, each way */
#define STEPS 140

typedef struct thing
{
  struct thing *next;
  float x, y, speed;
  unsigned kind;
} thing;

typedef struct area
{
  struct area *quarters[4];
  thing *things;
  float left, top, size;
} area;

typedef struct part
{
  area *root;
  int x, y;
} part;

static unsigned state;

static unsigned
random_next (void)
{
  state = state * 22695477u + 1u;
  return state >> 10;
}

static thing *
thing_new (part *of, const area *in, thing *next)
{
  thing *made = malloc (sizeof *made);

  (void) of;
  made->x = in->left + in->size * (float) (random_next () % 100) / 100;
  made->y = in->top + in->size * (float) (random_next () % 100) / 100;
  made->speed = (float) (random_next () % 10);
  made->kind = random_next () % 5;
  made->next = next;
  return made;
}

static area *
area_new (part *of, float left, float top, float size)
{
  area *made = malloc (sizeof *made);

  *made = (area){ .left = left, .top = top, .size = size };
  if (size > 1 && random_next () % 10 != 0)
    for (int i = 0; i < 4; i++)
      made->quarters[i]
          = area_new (of, left + (float) (i % 2) * size / 2,
                      top + (float) (i / 2) * size / 2, size / 2);
  else
    for (unsigned n = random_next () % 5; n > 0; n--)
      made->things = thing_new (of, made, made->things);
  return made;
}

static part *
part_load (int x, int y)
{
  part *made = malloc (sizeof *made);

  state = (unsigned) (x * 7919 + y * 104729 + 1);
  made->x = x;
  made->y = y;
  made->root = area_new (made, 0, 0, 16);
  return made;
}

/* Moves all things; returns how many are in the upper left of their area. */
static unsigned
area_move (area *in)
{
  unsigned n = 0;

  for (thing *at = in->things; at != NULL; at = at->next)
    {
      at->x += at->speed / 16;
      if (at->x > in->left + in->size)
        at->x -= in->size;
      n += at->x - in->left < in->size / 2 && at->y - in->top < in->size / 2;
    }
  for (int i = 0; i < 4; i++)
    if (in->quarters[i] != NULL)
      n += area_move (in->quarters[i]);
  return n;
}

static void
area_free (area *old)
{
  while (old->things != NULL)
    {
      thing *next = old->things->next;

      free (old->things);
      old->things = next;
    }
  for (int i = 0; i < 4; i++)
    if (old->quarters[i] != NULL)
      area_free (old->quarters[i]);
  free (old);
}

static void
part_unload (part *old)
{
  area_free (old->root);
  free (old);
}

int
main (void)
{
  part *parts[SIDE][SIDE] = { { NULL } };
  unsigned long sum = 0;

  for (int step = 0; step < STEPS; step++)
    for (int y = 0; y < SIDE; y++)
      {
        part **slot = &parts[y][step % SIDE];

        if (*slot != NULL)
          part_unload (*slot);
        *slot = part_load (step, y);
        sum += area_move ((*slot)->root);
        sum += area_move (parts[y][step / 2 % SIDE]->root);
      }
  for (int y = 0; y < SIDE; y++)
    for (int x = 0; x < SIDE; x++)
      part_unload (parts[y][x]);
  printf ("%lu\n", sum);
  return 0;
}
