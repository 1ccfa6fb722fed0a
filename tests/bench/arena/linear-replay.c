/* linear-replay.c - a recorded compile's linear arenas, and how full they are
 *
 *   linear-replay [PERCENT] < trace
 *
 * Reads what Mesa's GLSL compiler did (tests/data/mesa-compile.trace.xz,
 * unpacked, on standard input), makes a linear arena for each of its linear
 * parents and puts the recorded objects into it.  Prints what of all bytes
 * held, the control blocks counted, was asked for.  Fails if that is less
 * than PERCENT.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <slice/arena.h>

enum
{
  N_IDS = 1 << 20 /* the trace's ids count up from 1 */
};

typedef struct
{
  SliceLinear *linear;
  size_t asked_bytes;
} Arena;

static Arena arenas[N_IDS];

static void
arena_add (uint32_t id, size_t size)
{
  Arena *arena = id < N_IDS ? &arenas[id] : NULL;
  if (arena == NULL || arena->linear == NULL
      || slice_linear_alloc (arena->linear, size) == NULL)
    {
      fprintf (stderr, "linear-replay: no arena %" PRIu32 "\n", id);
      exit (2);
    }
  arena->asked_bytes += size;
}

/* "p id parent size" makes one with its first object, "l id size" adds. */
static void
line_replay (const char *line)
{
  uint32_t id;
  size_t size;
  if (sscanf (line, "l %" SCNu32 " %zu", &id, &size) == 2)
    arena_add (id, size);
  else if (sscanf (line, "p %" SCNu32 " %*u %zu", &id, &size) == 2
           && id < N_IDS)
    {
      arenas[id].linear = slice_linear_new (NULL);
      if (size > 0)
        arena_add (id, size);
    }
}

int
main (int argc, char **argv)
{
  double least = argc > 1 ? atof (argv[1]) : 0;
  char line[256];
  while (fgets (line, sizeof line, stdin) != NULL)
    line_replay (line);
  size_t n = 0;
  size_t asked = 0;
  size_t held = 0;
  for (size_t i = 0; i < N_IDS; i++)
    if (arenas[i].linear != NULL)
      {
        SliceArenaStats stats;
        slice_linear_get_stats (arenas[i].linear, &stats);
        slice_linear_destroy (arenas[i].linear);
        n++;
        asked += arenas[i].asked_bytes;
        held += stats.held_bytes;
      }
  double percent = held != 0 ? 100.0 * (double) asked / (double) held : 0;
  printf ("%zu arenas, %zu bytes asked, %zu held: %.1f %%\n", n, asked, held,
          percent);
  return n == 0 || percent < least;
}
