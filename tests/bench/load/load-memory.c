/* load-memory.c - how much memory is resident, and when it is given back
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tests/bench/frame/measured.h"
#include "load.h"

#include <sys/wait.h>
#include <unistd.h>

/* --- phases
 * ------------------------------------------------------------------
 *
 * grow    blocks of size_min..size_max until `bytes` are live
 * thin    90 % of them freed, in random order
 * refill  blocks of other sizes (half as large again) until `bytes` are live
 * free    all freed, in random order
 * idle    idle_msec long, a few batches each 10 ms, as a program that goes on
 *         at a low rate; they reach beyond the thread's own cache
 * trim    all spare memory asked back
 *
 * Every block is written into, once a line.  RSS is sampled along the way, the
 * workload's own arrays (which are resident from the start) taken off. */

typedef struct
{
  void *block;
  uint32_t size;
} Held;

typedef struct
{
  Run *run;
  Held *held;
  size_t n_held, n_max;
  uint64_t live_bytes;
  uint64_t random;
  double start_nsec;
  uint64_t rss_base, rss_peak;
  Series *series, *live_series;
  double end_msec[8]; /* of the phases */
} Phases;

enum
{
  PHASES_N_SAMPLES = 40,       /* a phase */
  PHASES_TRAFFIC_MSEC = 10,    /* from burst to burst */
  PHASES_TRAFFIC_BLOCKS = 2000 /* a burst: more than two magazines */
};

static double
phases_msec (const Phases *phases)
{
  return (bench_wall_nsec () - phases->start_nsec) / 1e6;
}

static uint64_t
phases_sample (Phases *phases)
{
  uint64_t rss = bench_rss_bytes ();

  rss = rss > phases->rss_base ? rss - phases->rss_base : 0;
  if (rss > phases->rss_peak)
    phases->rss_peak = rss;
  bench_add_point (phases->series, phases_msec (phases), (double) rss / 1e6);
  bench_add_point (phases->live_series, phases_msec (phases),
                   (double) phases->live_bytes / 1e6);
  return rss;
}

static void
phases_grow (Phases *phases, uint64_t size_min, uint64_t size_max)
{
  Run *run = phases->run;
  uint64_t bytes = run->parameters.bytes;
  uint64_t next = phases->live_bytes;

  while (phases->live_bytes < bytes && phases->n_held < phases->n_max)
    {
      Held *held = &phases->held[phases->n_held++];

      held->size = (uint32_t) (size_min
                               + random_below (&phases->random,
                                               size_max - size_min + 1));
      held->block = bench_alloc (run->is_observed, held->size, held->size);
      bench_touch (held->block, held->size);
      phases->live_bytes += held->size;
      if (phases->live_bytes >= next)
        {
          phases_sample (phases);
          next += bytes / PHASES_N_SAMPLES;
        }
    }
  phases_sample (phases);
}

/* Frees random blocks until n_keep are left. */
static void
phases_thin (Phases *phases, size_t n_keep)
{
  size_t step = (phases->n_held - n_keep) / PHASES_N_SAMPLES + 1;

  for (size_t i = 0; phases->n_held > n_keep; i++)
    {
      Held *held
          = &phases->held[random_below (&phases->random, phases->n_held)];

      bench_free (phases->run->is_observed, held->size, held->block);
      phases->live_bytes -= held->size;
      *held = phases->held[--phases->n_held];
      if (i % step == 0)
        phases_sample (phases);
    }
  phases_sample (phases);
}

BENCH_INLINE void
traffic_body (void **blocks, size_t n, size_t size, const bool observed)
{
  for (size_t i = 0; i < n; i++)
    blocks[i] = bench_alloc (observed, size, 0);
  for (size_t i = 0; i < n; i++)
    bench_free (observed, size, blocks[i]);
}

/* Low traffic for a while. */
static void
phases_idle (Phases *phases)
{
  static void *blocks[PHASES_TRAFFIC_BLOCKS];
  Run *run = phases->run;
  double end = phases_msec (phases) + (double) run->parameters.idle_msec;
  double next = 0, step = (double) run->parameters.idle_msec / 100;

  while (phases_msec (phases) < end)
    {
      for (size_t size = 32; size <= 96; size += 32)
        BENCH_BODY (run, traffic_body, blocks, PHASES_TRAFFIC_BLOCKS, size);
      if (phases_msec (phases) >= next)
        {
          phases_sample (phases);
          next = phases_msec (phases) + step;
        }
      bench_sleep_msec (PHASES_TRAFFIC_MSEC);
    }
  phases_sample (phases);
}

static void
phases_end (Phases *phases, const char *rss_name, const char *end_name)
{
  bench_add_value (phases->run, rss_name, (double) phases_sample (phases));
  bench_add_value (phases->run, end_name, phases_msec (phases));
}

static void
phases_percent (Phases *phases, const char *name)
{
  bench_add_value (phases->run, name,
                   100.0 * (double) phases_sample (phases)
                       / (double) phases->rss_peak);
}

void
load_phases (Run *run)
{
  const Parameters *p = &run->parameters;
  Phases phases = { .run = run, .random = random_seed (run, 0) };
  double start;

  phases.n_max = p->bytes / p->size_min / 4 + 1000;
  phases.held = bench_map (phases.n_max * sizeof *phases.held);
  phases.series = bench_add_series (run, "rss", "msec", "megabytes", 1000);
  phases.live_series
      = bench_add_series (run, "live", "msec", "megabytes", 1000);
  phases.rss_base = bench_rss_bytes ();
  phases.start_nsec = bench_wall_nsec ();
  start = bench_process_nsec ();
  phases_grow (&phases, p->size_min, p->size_max);
  phases_end (&phases, "rss_grown_bytes", "grown_msec");
  bench_add_value (run, "grown_rss_over_live",
                   (double) phases.rss_peak / (double) phases.live_bytes);
  phases_thin (&phases, phases.n_held / 10);
  phases_end (&phases, "rss_thinned_bytes", "thinned_msec");
  phases_grow (&phases, p->size_min * 3 / 2, p->size_max * 3 / 2);
  phases_end (&phases, "rss_refilled_bytes", "refilled_msec");
  bench_add_value (run, "refilled_rss_over_live",
                   (double) phases_sample (&phases)
                       / (double) phases.live_bytes);
  phases_thin (&phases, 0);
  phases_end (&phases, "rss_freed_bytes", "freed_msec");
  bench_add_value (run, "cpu_msec", (bench_process_nsec () - start) / 1e6);
  phases_percent (&phases, "freed_left_percent");
  phases_idle (&phases);
  phases_end (&phases, "rss_idle_bytes", "idle_end_msec");
  phases_percent (&phases, "idle_left_percent");
  if (bench_adaptor_trim ())
    phases_end (&phases, "rss_trimmed_bytes", "trimmed_msec");
  phases_percent (&phases, "trim_left_percent");
}

/* --- sizes
 * ---------------------------------------------------------------------
 *
 * Resident bytes per byte asked for: `bytes` of one size, all written, each
 * size in a fresh child process. */

static uint64_t
sizes_next (uint64_t size)
{
  if (size < 256)
    return size + 8;
  if (size < 512)
    return size + 32;
  return size + 128;
}

/* In the child. */
static double
sizes_measure (Run *run, uint64_t size)
{
  uint64_t n = run->parameters.bytes / size;
  void **blocks = bench_map (n * sizeof *blocks);
  uint64_t before;
  double ratio;

  bench_free (false, size, bench_alloc (false, size, 0));
  before = bench_rss_bytes ();
  for (uint64_t i = 0; i < n; i++)
    {
      blocks[i] = bench_alloc (run->is_observed, size, size);
      for (uint64_t k = 0; k < size; k += 8)
        ((volatile char *) blocks[i])[k] = 1;
    }
  ratio = (double) (bench_rss_bytes () - before) / (double) (n * size);
  for (uint64_t i = 0; i < n; i++)
    bench_free (run->is_observed, size, blocks[i]);
  if (run->is_observed)
    observe_finish (run);
  return ratio;
}

static double
sizes_in_child (Run *run, uint64_t size)
{
  int ends[2], status;
  double ratio = 0;
  pid_t child;

  if (pipe (ends) != 0)
    bench_die ("no pipe");
  child = fork ();
  if (child < 0)
    bench_die ("no child process");
  if (child == 0)
    {
      ratio = sizes_measure (run, size);
      _exit (write (ends[1], &ratio, sizeof ratio) != sizeof ratio);
    }
  close (ends[1]);
  if (read (ends[0], &ratio, sizeof ratio) != sizeof ratio
      || waitpid (child, &status, 0) != child || status != 0)
    bench_die ("sizes: the child for %u bytes failed", (unsigned) size);
  close (ends[0]);
  return ratio;
}

void
load_sizes (Run *run)
{
  Series *series
      = bench_add_series (run, "rss_per_byte", "bytes", "ratio", 256);
  double worst = 0, sum = 0;
  unsigned n = 0;

  for (uint64_t size = run->parameters.size_min;
       size <= run->parameters.size_max; size = sizes_next (size))
    {
      double ratio = sizes_in_child (run, size);

      bench_add_point (series, (double) size, ratio);
      if (size > 256)
        continue;
      worst = ratio > worst ? ratio : worst;
      sum += ratio;
      n++;
    }
  bench_add_value (run, "worst_to_256", worst);
  bench_add_value (run, "mean_to_256", sum / (n != 0 ? n : 1));
  /* The children checked; the parent has at least one block to balance. */
  if (run->is_observed)
    bench_free (true, run->parameters.size_min,
                bench_alloc (true, run->parameters.size_min, 0));
}
