/* contestant.h - the laps that are timed, with one adaptor's calls in them
 *
 * Each contestant-*.c names its adaptor (ADAPTOR) and includes this.  Whatever
 * is tested here, it is tested outside the loops.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STRESS_CONTESTANT_H
#define STRESS_CONTESTANT_H

#include <tests/stress/stress.h>

#define ADAPTOR_DEFINE
#include <tests/adaptors/walk.h>

ADAPTOR_INLINE void *
touched_alloc (size_t size)
{
  char *block = adaptor_alloc (size);

  if (size > 0)
    {
      block[0] = 1;
      block[size - 1] = 1;
    }
  return block;
}

/* --- the walk ------------------------------------------------------------ */

ADAPTOR_INLINE void
lap_announced (AllocCall alloc_call, Walk *walk, bool literal)
{
  walk_announced (alloc_call, adaptor_free, walk, 0, literal);
}

/* 0 to n - 1 from the upper bits, the lower ones repeat early. */
ADAPTOR_INLINE uint32_t
random_below (uint32_t random, uint32_t n)
{
  return (uint32_t)(((uint64_t)random * n) >> 32);
}

/* Frees a random block and puts a new one in its place. */
ADAPTOR_INLINE void
lap_random (AllocCall alloc_call, Walk *walk, bool literal)
{
  void **blocks = walk->blocks;
  uint32_t *sizes = walk->sizes;
  uint32_t n_blocks = walk->n_blocks;
  uint32_t modulus = walk->modulus;
  uint32_t random = walk->random;

  for (uint32_t n = n_blocks / 2; n > 0; n--)
    {
      uint32_t slot;
      uint32_t size;

      random = walk_next (random);
      slot = random_below (random, n_blocks);
      adaptor_free (sizes[slot], blocks[slot]);
      random = walk_next (random);
      size = walk_size (random, modulus, literal);
      sizes[slot] = size;
      blocks[slot] = alloc_call (size);
    }
  walk->random = random;
}

/* Rows of blocks of one size. */
ADAPTOR_INLINE void
lap_rows (AllocCall alloc_call, Walk *walk, bool literal)
{
  void *row[WALK_ROW_BLOCKS];
  uint32_t modulus = walk->modulus;
  uint32_t random = walk->random;

  for (uint32_t n = walk->n_blocks / 2; n >= WALK_ROW_BLOCKS;
       n -= WALK_ROW_BLOCKS)
    {
      uint32_t size;

      random = walk_next (random);
      size = walk_size (random, modulus, literal);
      walk_row (alloc_call, adaptor_free, row, WALK_ROW_BLOCKS, size);
    }
  walk->random = random;
}

/* Each loop is a function of its own.  All in one, the compiler keeps the
 * modulus and the random number in memory for some contestants and in
 * registers for others, and which it does is worth as much as an allocation
 * (the stress program's loop with slices: 5.2 ns a pair against 4.1). */
#define WALK_LAP(order, kind, alloc_call, literal)                            \
  static __attribute__ ((noinline)) void order##_##kind (Walk *walk)          \
  {                                                                           \
    lap_##order (alloc_call, walk, literal);                                  \
  }

WALK_LAP (announced, plain, adaptor_alloc, false)
WALK_LAP (announced, touch, touched_alloc, false)
WALK_LAP (announced, literal, adaptor_alloc, true)
WALK_LAP (random, plain, adaptor_alloc, false)
WALK_LAP (random, touch, touched_alloc, false)
WALK_LAP (random, literal, adaptor_alloc, true)
WALK_LAP (rows, plain, adaptor_alloc, false)
WALK_LAP (rows, touch, touched_alloc, false)
WALK_LAP (rows, literal, adaptor_alloc, true)

/* A lap: n_blocks / 2 pairs of an allocation and a free. */
static void
walk_lap (Walk *walk, const Options *options)
{
  static void (*const laps[N_ORDERS][3]) (Walk *) = {
    [ORDER_ANNOUNCED] = { announced_plain, announced_touch, announced_literal },
    [ORDER_RANDOM] = { random_plain, random_touch, random_literal },
    [ORDER_ROWS] = { rows_plain, rows_touch, rows_literal },
  };
  laps[options->order][options->literal ? 2 : options->touch](walk);
}

/* --- a recorded stream --------------------------------------------------- */

ADAPTOR_INLINE void
replay_ops (AllocCall alloc_call, Replay *replay)
{
  void **blocks = replay->blocks;
  const StreamOp *op = replay->stream->ops;
  const StreamOp *end = op + replay->stream->n_ops;

  for (; op < end; op++)
    {
      void **block = &blocks[op->slot];
      size_t size = op->word >> STREAM_KIND_BITS;

      switch (op->word & ((1u << STREAM_KIND_BITS) - 1))
        {
        case STREAM_ALLOC:
          *block = alloc_call (size);
          break;
        case STREAM_ALLOC0:
          *block = adaptor_alloc0 (size);
          break;
        case STREAM_FREE:
          adaptor_free (size, *block);
          break;
        default:
          op++;
          *block
              = adaptor_resize (op->word >> STREAM_KIND_BITS, size, *block);
          break;
        }
    }
}

/* A lap: the stream from its first to its last operation. */
static void
replay_lap (Replay *replay)
{
  if (replay->touch)
    replay_ops (touched_alloc, replay);
  else
    replay_ops (adaptor_alloc, replay);
}

/* --- the contestant ------------------------------------------------------ */

static void *
call_alloc (size_t size)
{
  return adaptor_alloc (size);
}

static void *
call_alloc0 (size_t size)
{
  return adaptor_alloc0 (size);
}

static void
call_free (size_t size, void *block)
{
  adaptor_free (size, block);
}

static inline const char *
adaptor_prepare (const Options *options)
{
  (void)options;
  return ADAPTOR_START ();
}

/* What a contestant has of its adaptor. */
#define CONTESTANT_OF_ADAPTOR                                                 \
  .calls = { call_alloc, call_alloc0, adaptor_resize, call_free },            \
  .walk = walk_lap, .replay = replay_lap, .is_slice = ADAPTOR_IS_SLICE,       \
  .alignment_max = ADAPTOR_ALIGNMENT (16)

#endif
