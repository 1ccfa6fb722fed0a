/* walk.h - the loops that are timed
 *
 * Every contestant gets its own copy of these loops with its calls inlined
 * into them, as a program that uses the allocator would have; the functions
 * are handed in as arguments that the compiler sees through.  Whatever is
 * tested here, it is tested outside the loops.
 *
 * The modulus.  The announcement's program divided by a global.  A division
 * with an operand in memory, followed by a store whose address depends on
 * the result, costs three times as much on some current processors, and
 * whether the compiler makes one depends on how many registers the
 * contestant's code leaves.  So the divisor is forced into a register for
 * all of them; --literal-modulus divides by the global.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STRESS_WALK_H
#define STRESS_WALK_H

#include <tests/stress/stress.h>

#define HOT_INLINE static inline __attribute__ ((always_inline))

typedef void *(*AllocCall) (size_t size);
typedef void *(*ResizeCall) (size_t old_size, size_t size, void *block);
typedef void (*FreeCall) (size_t size, void *block);

/* 0 to n - 1 from the upper bits, the lower ones repeat early. */
HOT_INLINE uint32_t
random_below (uint32_t random, uint32_t n)
{
  return (uint32_t)(((uint64_t)random * n) >> 32);
}

HOT_INLINE uint32_t
random_size (uint32_t random, uint32_t modulus, bool literal)
{
  if (literal)
    return random % walk_modulus;
  __asm__ volatile("" : "+r"(modulus));
  return random % modulus;
}

HOT_INLINE void *
touched (void *block, size_t size, bool touch)
{
  if (touch && size > 0)
    {
      ((char *)block)[0] = 1;
      ((char *)block)[size - 1] = 1;
    }
  return block;
}

/* Frees every second block, then fills the gaps with new sizes. */
HOT_INLINE void
walk_announced (AllocCall alloc_call, FreeCall free_call, Walk *walk,
                bool literal, bool touch)
{
  void **blocks = walk->blocks;
  uint32_t *sizes = walk->sizes;
  uint32_t n_blocks = walk->n_blocks;
  uint32_t modulus = walk->modulus;
  uint32_t random = walk->random;

  for (uint32_t i = 0; i < n_blocks; i += 2)
    free_call (sizes[i], blocks[i]);
  for (uint32_t i = 0; i < n_blocks; i += 2)
    {
      random = random_next (random);
      uint32_t size = random_size (random, modulus, literal);
      sizes[i] = size;
      blocks[i] = touched (alloc_call (size), size, touch);
    }
  walk->random = random;
}

/* Frees a random block and puts a new one in its place. */
HOT_INLINE void
walk_random (AllocCall alloc_call, FreeCall free_call, Walk *walk,
             bool literal, bool touch)
{
  void **blocks = walk->blocks;
  uint32_t *sizes = walk->sizes;
  uint32_t n_blocks = walk->n_blocks;
  uint32_t modulus = walk->modulus;
  uint32_t random = walk->random;

  for (uint32_t n = n_blocks / 2; n > 0; n--)
    {
      random = random_next (random);
      uint32_t slot = random_below (random, n_blocks);
      free_call (sizes[slot], blocks[slot]);
      random = random_next (random);
      uint32_t size = random_size (random, modulus, literal);
      sizes[slot] = size;
      blocks[slot] = touched (alloc_call (size), size, touch);
    }
  walk->random = random;
}

/* Allocates a row of blocks of one size and frees it. */
HOT_INLINE void
walk_rows (AllocCall alloc_call, FreeCall free_call, Walk *walk, bool literal,
           bool touch)
{
  void *row[WALK_ROW_BLOCKS];
  uint32_t modulus = walk->modulus;
  uint32_t random = walk->random;

  for (uint32_t n = walk->n_blocks / 2; n >= WALK_ROW_BLOCKS;
       n -= WALK_ROW_BLOCKS)
    {
      random = random_next (random);
      uint32_t size = random_size (random, modulus, literal);
      for (uint32_t i = 0; i < WALK_ROW_BLOCKS; i++)
        row[i] = touched (alloc_call (size), size, touch);
      for (uint32_t i = 0; i < WALK_ROW_BLOCKS; i++)
        free_call (size, row[i]);
    }
  walk->random = random;
}

/* Defines NAME, which runs a lap: n_blocks / 2 pairs of an allocation and a
 * free.  Each loop is a function of its own.  All in one, the compiler keeps
 * the modulus and the random number in memory for some contestants and in
 * registers for others, and which it does is worth as much as an allocation
 * (the stress program's loop with slices: 5.2 ns a pair against 4.1). */
#define WALK_LOOP(name, order, alloc_call, free_call, literal, touch)         \
  static __attribute__ ((noinline)) void name (Walk *walk)                    \
  {                                                                           \
    walk_##order (alloc_call, free_call, walk, literal, touch);               \
  }

#define WALK_DEFINE(name, alloc_call, free_call)                              \
  WALK_ORDERS (name##_literal, alloc_call, free_call, true, false)            \
  WALK_ORDERS (name##_touch, alloc_call, free_call, false, true)              \
  WALK_ORDERS (name##_plain, alloc_call, free_call, false, false)             \
  static void name (Walk *walk)                                               \
  {                                                                           \
    if (walk->literal)                                                        \
      name##_literal (walk);                                                  \
    else if (walk->touch)                                                     \
      name##_touch (walk);                                                    \
    else                                                                      \
      name##_plain (walk);                                                    \
  }

#define WALK_ORDERS(name, alloc_call, free_call, literal, touch)              \
  WALK_LOOP (name##_announced, announced, alloc_call, free_call, literal,     \
             touch)                                                           \
  WALK_LOOP (name##_random, random, alloc_call, free_call, literal, touch)    \
  WALK_LOOP (name##_rows, rows, alloc_call, free_call, literal, touch)        \
  static void name (Walk *walk)                                               \
  {                                                                           \
    if (walk->order == ORDER_ANNOUNCED)                                       \
      name##_announced (walk);                                                \
    else if (walk->order == ORDER_RANDOM)                                     \
      name##_random (walk);                                                   \
    else                                                                      \
      name##_rows (walk);                                                     \
  }

/* --- a recorded stream --------------------------------------------------- */

HOT_INLINE void
replay_ops (AllocCall alloc_call, AllocCall alloc0_call,
            ResizeCall resize_call, FreeCall free_call, Replay *replay,
            bool touch)
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
          *block = touched (alloc_call (size), size, touch);
          break;
        case STREAM_ALLOC0:
          *block = alloc0_call (size);
          break;
        case STREAM_FREE:
          free_call (size, *block);
          break;
        default:
          op++;
          *block = resize_call (op->word >> STREAM_KIND_BITS, size, *block);
          break;
        }
    }
}

/* A lap: the stream from its first to its last operation. */
HOT_INLINE void
replay_lap (AllocCall alloc_call, AllocCall alloc0_call,
            ResizeCall resize_call, FreeCall free_call, Replay *replay)
{
  if (replay->touch)
    replay_ops (alloc_call, alloc0_call, resize_call, free_call, replay, true);
  else
    replay_ops (alloc_call, alloc0_call, resize_call, free_call, replay,
                false);
}

#endif
