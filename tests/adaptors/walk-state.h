/* walk-state.h - what a walk stands on (walk.h), for those who only set it up
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_ADAPTORS_WALK_STATE_H
#define TESTS_ADAPTORS_WALK_STATE_H

#include <stdint.h>

/* One thread's walk. */
typedef struct
{
  void **blocks;   /* [n_blocks] */
  uint32_t *sizes; /* [n_blocks] */
  uint32_t n_blocks;
  uint32_t modulus;
  uint32_t random; /* state of the generator */
} Walk;

/* What the literal form divides by. */
extern uint32_t walk_modulus;

/* The original's generator: linear congruential, modulo 2^32. */
static inline uint32_t
walk_next (uint32_t random)
{
  return 1664525u * random + 1013904223u;
}

#endif
