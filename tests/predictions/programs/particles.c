/* particles.c - sparks of a game: each frame some are born, all move, some die
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Particle
{
  struct Particle *next;
  float x, y, dx, dy;
  uint32_t colour;
  int frames_left;
} Particle;

static Particle *particles;
static uint32_t random_state = 5;

static float
random_next (void)
{
  random_state = random_state * 1664525 + 1013904223;
  return (float) (random_state >> 8) / 16777216.0f;
}

static void
spark (float x, float y)
{
  Particle *particle = malloc (sizeof *particle);

  if (particle == NULL)
    abort ();
  particle->x = x;
  particle->y = y;
  particle->dx = random_next () - 0.5f;
  particle->dy = random_next () - 0.5f;
  particle->colour = random_state;
  particle->frames_left = 1 + (int) (random_next () * 5);
  particle->next = particles;
  particles = particle;
}

static double
particles_move (void)
{
  double sum = 0;

  for (Particle **link = &particles, *particle; (particle = *link) != NULL;)
    {
      particle->x += particle->dx;
      particle->y += particle->dy;
      sum += particle->x;
      if (--particle->frames_left > 0)
        {
          link = &particle->next;
          continue;
        }
      *link = particle->next;
      free (particle);
    }
  return sum;
}

int
main (void)
{
  double sum = 0;

  for (int frame = 0; frame < 400; frame++)
    {
      for (int i = 0; i < 10000; i++)
        spark ((float) (frame % 640), (float) (i % 480));
      sum += particles_move ();
    }
  printf ("%g\n", sum);
  return 0;
}
