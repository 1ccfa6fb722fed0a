/* load-colour.c - does the allocator spread blocks over the cache's sets?
 *
 * n_blocks blocks of one size, linked into a random ring through their first
 * words; the walk along it touches one line a block.  8192 blocks of 256 bytes
 * have 512 KiB of first lines, which a second-level cache of 1 MiB holds only
 * if they do not all fall into a quarter of its sets.
 *
 * Source: Bonwick, The Slab Allocator, USENIX 1994, section 4.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/bench/frame/measured.h"
#include "load.h"

typedef struct
{
  void **blocks;
  uint32_t *order;
} Ring;

static void *
colour_enter (Run *run, unsigned thread)
{
  size_t n = run->parameters.n_blocks;
  uint64_t random = random_seed (run, thread);
  Ring *ring = bench_map (sizeof *ring);

  ring->blocks = bench_map (n * sizeof *ring->blocks);
  ring->order = bench_map (n * sizeof *ring->order);
  for (size_t i = 0; i < n; i++)
    ring->blocks[i] = bench_alloc (run->is_observed, run->parameters.size_min,
                                   sizeof (void *));
  random_order (ring->order, n, &random);
  for (size_t i = 0; i < n; i++)
    *(void **) ring->blocks[ring->order[i]]
        = ring->blocks[ring->order[(i + 1) % n]];
  return ring;
}

static void
colour_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  Ring *ring;
  void *place;

  (void) thread;
  ring = state;
  place = ring->blocks[0];
  for (uint64_t i = 0; i < run->parameters.n_operations; i++)
    place = *(void *volatile *) place;
  if (place == NULL)
    bench_die ("colour: the ring is broken");
  lap->n_pairs = run->parameters.n_operations;
}

static void
colour_leave (Run *run, unsigned thread, void *state)
{
  Ring *ring;

  (void) thread;
  ring = state;
  for (size_t i = 0; i < run->parameters.n_blocks; i++)
    bench_free (run->is_observed, run->parameters.size_min, ring->blocks[i]);
}

void
load_colour (Run *run)
{
  bench_gang (run, &(GangWork){ .enter = colour_enter,
                                .lap = colour_lap,
                                .leave = colour_leave });
}
