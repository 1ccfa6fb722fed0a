/* latency.h - how long single calls take
 *
 * Each call stands between two readings of the tick counter.  Latencies go
 * into bins, 16 a power of two (6 % apart), each thread's own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include "bench.h"

enum
{
  LATENCY_BINS_LOG2 = 4,
  LATENCY_N_BINS = 64 << LATENCY_BINS_LOG2
};

typedef struct
{
  uint64_t counts[LATENCY_N_BINS];
  uint64_t n;
} Bins;

typedef struct
{
  Bins of_alloc, of_free;
} Latencies;

/* Set by --latency, before any thread starts: every workload's calls are
 * measured.  Only in the observed form of its body. */
extern bool latency_is_on;

/* The calling thread's. */
Latencies *latency_own (void);

/* Adds the percentiles over all threads, less the clock's own cost: the median
 * of an empty measurement. */
void latency_report (Run *run);

BENCH_INLINE unsigned
latency_bin (uint64_t ticks)
{
  unsigned power;

  if (ticks < 1 << LATENCY_BINS_LOG2)
    return (unsigned) ticks;
  power = 63 - (unsigned) __builtin_clzll (ticks);
  return (power - LATENCY_BINS_LOG2 + 1) << LATENCY_BINS_LOG2
         | ((unsigned) (ticks >> (power - LATENCY_BINS_LOG2))
            & ((1 << LATENCY_BINS_LOG2) - 1));
}

BENCH_INLINE void
latency_add (Bins *bins, uint64_t ticks)
{
  bins->counts[latency_bin (ticks)]++;
  bins->n++;
}

#endif
