/* walk.h - the pattern of GLib's own stress program
 *
 * A thread holds blocks of random sizes; it frees every other one, then
 * allocates as many of new sizes.  The loops are compiled again for each
 * allocator with its calls inlined into them, as a program that uses the
 * allocator would have: the functions are handed in as arguments that the
 * compiler sees through.
 *
 * A size is a random number modulo a number.  The original program divides by
 * a global.  A division with an operand in memory, followed by a store whose
 * address depends on the result, costs three times as much on some processors,
 * and whether the compiler makes one depends on how many registers the
 * allocator's code leaves.  So the divisor is forced into a register here; the
 * literal form divides by the global.
 *
 * Source: the pattern of tests/slice-test.c in GLib 2.10 to 2.74.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_ADAPTORS_WALK_H
#define TESTS_ADAPTORS_WALK_H

#include <tests/adaptors/adaptor.h>
#include <tests/adaptors/walk-state.h>

typedef void *(*AllocCall) (size_t size);
typedef void (*FreeCall) (size_t size, void *block);

/* From 0 to modulus - 1. */
ADAPTOR_INLINE uint32_t
walk_size (uint32_t random, uint32_t modulus, bool literal)
{
  if (literal)
    return random % walk_modulus;
  /* Here and not before the loop: it may have been spilled since. */
  __asm__ volatile("" : "+r"(modulus));
  return random % modulus;
}

/* Frees every second block, then fills the gaps with new sizes from size_min
 * to size_min + modulus - 1. */
ADAPTOR_INLINE void
walk_announced (AllocCall alloc_call, FreeCall free_call, Walk *walk,
                uint32_t size_min, bool literal)
{
  void **blocks = walk->blocks;
  uint32_t *sizes = walk->sizes;
  size_t n_blocks = walk->n_blocks; /* so that an index needs no extension */
  uint32_t modulus = walk->modulus;
  uint32_t random = walk->random;

  for (size_t i = 0; i < n_blocks; i += 2)
    free_call (sizes[i], blocks[i]);
  for (size_t i = 0; i < n_blocks; i += 2)
    {
      uint32_t size;

      random = walk_next (random);
      size = size_min + walk_size (random, modulus, literal);
      sizes[i] = size;
      blocks[i] = alloc_call (size);
    }
  walk->random = random;
}

/* Allocates a row of blocks of one size and frees it. */
ADAPTOR_INLINE void
walk_row (AllocCall alloc_call, FreeCall free_call, void **row, size_t n_row,
          uint32_t size)
{
  for (size_t i = 0; i < n_row; i++)
    row[i] = alloc_call (size);
  for (size_t i = 0; i < n_row; i++)
    free_call (size, row[i]);
}

#endif
