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

#include <tests/recording/recording.h>

typedef struct
{
  SliceLinear *linear;
  size_t used_bytes;
} Arena;

static Arena *arenas; /* [arenas_capacity], by node */
static uint32_t arenas_capacity;
static uint32_t n_arenas;

static void
arena_add (uint32_t node, size_t size)
{
  if (node >= n_arenas || arenas[node].linear == NULL
      || slice_linear_alloc (arenas[node].linear, size) == NULL)
    {
      fprintf (stderr, "linear-replay: no arena %" PRIu32 "\n", node);
      exit (2);
    }
  arenas[node].used_bytes += size;
}

static void
on_op (void *data, const RecordedOp *op)
{
  (void) data;
  if (op->letter == 'l')
    arena_add (op->other, op->size);
  if (op->letter != 'p')
    return;
  arenas = recording_grow (arenas, op->node, &arenas_capacity, sizeof *arenas);
  for (; n_arenas <= op->node; n_arenas++)
    arenas[n_arenas] = (Arena){ NULL, 0 };
  arenas[op->node].linear = slice_linear_new (NULL);
  if (op->size > 0)
    arena_add (op->node, op->size);
}

int
main (int argc, char **argv)
{
  double least = argc > 1 ? atof (argv[1]) : 0;
  static const RecordingEvents events = { .op = on_op };
  Recording recording = { .program = "linear-replay",
                          .events = &events,
                          .size_max = INT32_MAX };
  size_t n = 0;
  size_t asked = 0;
  size_t held = 0;
  double percent;

  recording_init (&recording);
  if (!recording_read (&recording, stdin, "standard input"))
    return 2;
  recording_clear (&recording);
  for (size_t i = 0; i < n_arenas; i++)
    if (arenas[i].linear != NULL)
      {
        SliceArenaStats stats;

        slice_linear_get_stats (arenas[i].linear, &stats);
        slice_linear_destroy (arenas[i].linear);
        n++;
        asked += arenas[i].used_bytes;
        held += stats.held_bytes;
      }
  percent = held != 0 ? 100.0 * (double) asked / (double) held : 0;
  printf ("%zu arenas, %zu bytes asked, %zu held: %.1f %%\n", n, asked, held,
          percent);
  return n == 0 || percent < least;
}
