/* latency.c - how long single calls take: percentiles
 *
 * SPDX-License-Identifier: MIT
 */
#include "latency.h"

bool latency_is_on;

/* The n-th thread that measures has slot n modulo their number.  Fewer live at
 * a time, so no two use one. */
static Latencies latencies[THREADS_MAX];
static unsigned n_threads;

Latencies *
latency_own (void)
{
  static __thread Latencies *own;

  if (own == NULL)
    own = &latencies[__atomic_fetch_add (&n_threads, 1, __ATOMIC_RELAXED)
                     % THREADS_MAX];
  return own;
}

static double
bin_ticks (unsigned bin)
{
  unsigned power = bin >> LATENCY_BINS_LOG2;
  unsigned low = bin & ((1 << LATENCY_BINS_LOG2) - 1);

  if (power == 0)
    return low;
  return (double) ((uint64_t) (low | 1 << LATENCY_BINS_LOG2) << (power - 1));
}

static double
bins_percentile (const Bins *bins, double percent)
{
  double wanted = (double) bins->n * percent / 100, seen = 0;

  for (unsigned bin = 0; bin < LATENCY_N_BINS; bin++)
    {
      seen += (double) bins->counts[bin];
      if (seen >= wanted && seen > 0)
        return bin_ticks (bin);
    }
  return 0;
}

static void
bins_sum (Bins *sum, const Bins *more)
{
  for (unsigned bin = 0; bin < LATENCY_N_BINS; bin++)
    sum->counts[bin] += more->counts[bin];
  sum->n += more->n;
}

/* The median of what two readings in a row give. */
static double
clock_ticks (void)
{
  static Bins empty;

  for (unsigned i = 0; i < 20000; i++)
    {
      uint64_t start = bench_ticks ();

      latency_add (&empty, bench_ticks () - start);
    }
  return bins_percentile (&empty, 50);
}

/* Names: of the figures of p50, p99, p99.9 and p99.99. */
static void
report_bins (Run *run, const Bins *bins, const char *const *names,
             const char *series_name, double own_ticks, double tick_nsec)
{
  static const double percents[] = {
    1, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.999, 100
  };
  static const double named[] = { 50, 99, 99.9, 99.99 };
  Series *series
      = bench_add_series (run, series_name, "percent", "ns",
                          (unsigned) (sizeof percents / sizeof *percents));

  for (unsigned i = 0; i < sizeof percents / sizeof *percents; i++)
    {
      double ticks = bins_percentile (bins, percents[i]) - own_ticks;
      double nsec = ticks > 0 ? ticks * tick_nsec : 0;

      bench_add_point (series, percents[i], nsec);
      for (unsigned k = 0; k < sizeof named / sizeof *named; k++)
        if (percents[i] == named[k])
          bench_add_value (run, names[k], nsec);
    }
}

void
latency_report (Run *run)
{
  static const char *const alloc_names[]
      = { "alloc_p50_ns", "alloc_p99_ns", "alloc_p999_ns", "alloc_p9999_ns" };
  static const char *const free_names[]
      = { "free_p50_ns", "free_p99_ns", "free_p999_ns", "free_p9999_ns" };
  static Latencies sum;
  double tick_nsec = bench_tick_nsec (), own_ticks = clock_ticks ();

  for (unsigned t = 0; t < THREADS_MAX; t++)
    {
      bins_sum (&sum.of_alloc, &latencies[t].of_alloc);
      bins_sum (&sum.of_free, &latencies[t].of_free);
    }
  bench_add_value (run, "clock_ns", own_ticks * tick_nsec);
  report_bins (run, &sum.of_alloc, alloc_names, "alloc_latency", own_ticks,
               tick_nsec);
  report_bins (run, &sum.of_free, free_names, "free_latency", own_ticks,
               tick_nsec);
}
