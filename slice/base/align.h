/* align.h - small arithmetic on sizes and addresses
 *
 * Layer: base.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_BASE_ALIGN_H
#define SLI_BASE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB(n) ((size_t) (n) << 10)
#define MIB(n) ((size_t) (n) << 20)

static inline size_t
min_size (size_t a, size_t b)
{
  return a < b ? a : b;
}

static inline size_t
max_size (size_t a, size_t b)
{
  return a > b ? a : b;
}

static inline bool
is_power_of_two (size_t n)
{
  return n != 0 && (n & (n - 1)) == 0;
}

/* n rounded up to a multiple of a power of two. */
static inline size_t
align_up (size_t n, size_t alignment)
{
  return (n + alignment - 1) & ~(alignment - 1);
}

/* The largest power of two that divides n; n is not 0. */
static inline size_t
lowest_bit (size_t n)
{
  return n & -n;
}

/* The multiple of a power of two at or below an address. */
static inline void *
align_down_address (const void *address, size_t alignment)
{
  return (void *) ((uintptr_t) address & ~(uintptr_t) (alignment - 1));
}

#endif
