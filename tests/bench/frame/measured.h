/* measured.h - blocks of the allocator that this build of slice-bench measures
 *
 * The workloads come to the adaptor (tests/adaptors/adaptor.h) through this.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_MEASURED_H
#define BENCH_MEASURED_H

#include "bench.h"
#include "latency.h"
#include <tests/adaptors/adaptor.h>

/* The observed form: either checked or measured, call by call. */
static inline void *
bench_alloc_observed (size_t size, size_t n_own)
{
  Latencies *own;
  uint64_t start;
  void *block;

  if (!latency_is_on)
    {
      void *block = adaptor_alloc (size);

      observe_alloc (block, size, n_own);
      return block;
    }
  own = latency_own ();
  start = bench_ticks ();
  block = adaptor_alloc (size);
  __asm__ volatile("" : "+r"(block) : : "memory");
  latency_add (&own->of_alloc, bench_ticks () - start);
  return block;
}

static inline void
bench_free_observed (size_t size, void *block)
{
  Latencies *own;
  uint64_t start;

  if (!latency_is_on)
    {
      observe_free (block, size);
      adaptor_free (size, block);
      return;
    }
  own = latency_own ();
  start = bench_ticks ();
  adaptor_free (size, block);
  latency_add (&own->of_free, bench_ticks () - start);
}

/* The block passes through an empty instruction, so that the compiler cannot
 * remove a pair whose block is not used (as it does with malloc). */
BENCH_INLINE void *
bench_alloc (const bool is_observed, size_t size, size_t n_own)
{
  void *block;

  if (is_observed)
    return bench_alloc_observed (size, n_own);
  block = adaptor_alloc (size);
  __asm__ volatile("" : "+r"(block) : : "memory");
  return block;
}

BENCH_INLINE void
bench_free (const bool is_observed, size_t size, void *block)
{
  if (is_observed)
    bench_free_observed (size, block);
  else
    adaptor_free (size, block);
}

/* Runs an always-inline body in the timed or in the observed form; the body
 * takes the flag last. */
#define BENCH_BODY(run, body, ...)                                            \
 do                                                                           \
  {                                                                           \
   if ((run)->is_observed)                                                    \
    body (__VA_ARGS__, true);                                                 \
   else                                                                       \
    body (__VA_ARGS__, false);                                                \
  }                                                                           \
 while (0)

/* Touches one byte of each cache line of a block. */
BENCH_INLINE void
bench_touch (void *block, size_t size)
{
  for (size_t offset = 0; offset < size; offset += 64)
    ((volatile char *) block)[offset] = 1;
}

#endif
