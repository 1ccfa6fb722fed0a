/* careful.h - what careful laps and lies share
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STRESS_CAREFUL_H
#define STRESS_CAREFUL_H

#include <tests/stress/stress.h>

/* A block, and what is known of it. */
typedef struct
{
  void *block; /* NULL: none, size is 0 */
  uint32_t size;
  uint32_t tag; /* its pattern */
} Held;

/* Frees the block wrongly.  Does not return if that was possible: either the
 * allocator ends the program, or we do because it did not. */
void lie_tell (LieKind kind, const BlockCalls *calls, const Held *held,
               uint32_t random);

#endif
