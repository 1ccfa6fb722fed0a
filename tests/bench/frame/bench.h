/* bench.h - what the workloads and the frame around them share
 *
 * slice-bench is one program, built once for each adaptor (tests/adaptors).
 * The frame (bench.c, gang.c, measure.c, observe.c, report.c) knows nothing of
 * allocators; the workloads (load-*.c) know adaptor_alloc() and
 * adaptor_free() only.
 *
 * Nothing here asks the measured allocator for memory: the frame's own arrays
 * are mapped (bench_map()), so that they neither disturb nor pollute.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#define BENCH_INLINE static inline __attribute__ ((always_inline))

/* --- parameters ------------------------------------------------------------
 */

/* What the command line may set; 0 or NULL means the workload's default. */
typedef struct
{
  uint64_t size_min;     /* smallest block, bytes */
  uint64_t size_max;     /* largest block, bytes */
  uint64_t n_blocks;     /* blocks held at a time, by each thread */
  uint64_t batch;        /* blocks allocated, then freed, in a row */
  uint64_t n_operations; /* pairs of alloc and free, per thread and lap */
  uint64_t n_threads;
  uint64_t n_laps;    /* measured laps; one more goes before as warm-up */
  uint64_t bytes;     /* size of the heap to build */
  uint64_t idle_msec; /* how long the idle phase lasts */
  uint64_t seed;
  uint64_t is_bound; /* each of several threads stays on one processor */
  const char *file; /* the trace to replay */
} Parameters;

/* --- results ---------------------------------------------------------------
 */

/* Statistics of one figure over the laps. */
typedef struct
{
  const char *name; /* with its unit, such as "build_ns" */
  unsigned n;
  double median, low_quartile, high_quartile, best, mean, deviation;
  double first; /* the warm-up lap: cold caches, fresh pages */
} Figure;

/* A curve. */
typedef struct
{
  const char *name, *x_name, *y_name;
  unsigned n, n_max;
  double *x, *y;
} Series;

enum
{
  FIGURES_MAX = 48, /* the workload with most (phases) has about 20 */
  SERIES_MAX = 8,
  LAPS_MAX = 1000,
  PARTS_MAX = 4,
  THREADS_MAX = 256
};

typedef struct Workload Workload;

/* One run of one workload. */
typedef struct
{
  const Workload *workload;
  Parameters parameters;
  bool is_observed;  /* checked mode, or histograms wanted */
  bool is_histogram; /* observed: print the histograms */
  unsigned n_figures, n_series;
  Figure figures[FIGURES_MAX];
  Series series[SERIES_MAX];
} Run;

struct Workload
{
  const char *name, *what;
  void (*run) (Run *run);
  Parameters defaults;
  Parameters tiny; /* for the self-test; 0 as in defaults */
};

/* The table of all workloads ends with one without a name (load-table.c). */
extern const Workload bench_workloads[];

/* report.c */
void bench_add_laps (Run *run, const char *name, unsigned n,
                     const double *laps, double first);
void bench_add_value (Run *run, const char *name, double value);
Series *bench_add_series (Run *run, const char *name, const char *x_name,
                          const char *y_name, unsigned n_max);
void bench_add_point (Series *series, double x, double y);
void bench_report_line (const Run *run);
void bench_report_json (const Run *run);

/* --- the adaptor, as the frame sees it (adaptor.c) -------------------------
 */

const char *bench_adaptor_name (void);
/* Version, or "".  The text stays valid. */
const char *bench_adaptor_version (void);
/* NULL if the allocator can be used, else why not. */
const char *bench_adaptor_start (void);
/* Asks for all spare memory to be given back; false if there is no way. */
bool bench_adaptor_trim (void);

/* What an allocator counts of itself, since its start; numbers of events. */
typedef struct
{
  double depot_trips;     /* to the shared store of full magazines */
  double depot_contended; /* of these, where the lock was not free */
  double slab_locks;      /* acquisitions of the slabs' locks */
} Counts;

/* False if it counts nothing. */
bool bench_adaptor_count (Counts *counts);
/* What a block of that size is aligned to, at least. */
size_t bench_adaptor_alignment (size_t size);
/* How many threads it may serve. */
unsigned bench_adaptor_threads_max (void);

/* --- threads and laps (gang.c) ----------------------------------------------
 */

/* What one thread did in one lap. */
typedef struct
{
  uint64_t n_pairs;            /* allocations that were freed, or will be */
  double part_nsec[PARTS_MAX]; /* set by the lap itself; part 0 is set to the
                                  lap's CPU time when it is left at 0 */
} Lap;

typedef struct
{
  const char *part_names[PARTS_MAX]; /* NULL ends; part 0 defaults to "ns" */
  /* Makes a thread's state; may be NULL. */
  void *(*enter) (Run *run, unsigned thread);
  void (*lap) (Run *run, unsigned thread, void *state, Lap *lap);
  /* Frees all blocks; may be NULL. */
  void (*leave) (Run *run, unsigned thread, void *state);
} GangWork;

/* Runs the laps in n_threads threads and adds "ns" (CPU time a pair, over all
 * threads) and so on for each part, and the RSS before, at the peak and after
 * as "rss_..._bytes".  With one thread, it is the calling one. */
void bench_gang (Run *run, const GangWork *work);

/* Runs a function in so many new threads and waits for all. */
typedef void (*ThreadFunction) (Run *run, unsigned thread, void *data);
void bench_threads (Run *run, unsigned n_threads, ThreadFunction function,
                    void *data);

/* --- measuring (measure.c)
 * --------------------------------------------------- */

double bench_thread_nsec (void);  /* CPU time of this thread */
double bench_process_nsec (void); /* CPU time of the process */
double bench_wall_nsec (void);    /* monotonic */
uint64_t bench_rss_bytes (void);  /* exact: the kernel walks the tables */
void bench_sleep_msec (unsigned msec);

/* Zeroed memory, already touched; never from the measured allocator. */
void *bench_map (size_t bytes);
void bench_unmap (void *address, size_t bytes);

/* A fast clock for single calls: ticks, and what a tick is. */
double bench_tick_nsec (void);
BENCH_INLINE uint64_t
bench_ticks (void)
{
#if defined __x86_64__
  uint32_t low, high;

  __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
  return (uint64_t) high << 32 | low;
#elif defined __aarch64__
  uint64_t ticks;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
  return ticks;
#else
  return (uint64_t) bench_wall_nsec ();
#endif
}

_Noreturn void bench_die (const char *format, ...)
    __attribute__ ((format (printf, 1, 2)));

/* Ends the program: this allocator can't be measured so.  The exit status is
 * what Automake's tests say it with. */
#define BENCH_EXIT_SKIPPED 77
_Noreturn void bench_skip (const char *reason);

/* --- random numbers
 * ---------------------------------------------------------- */

/* splitmix64: one multiplication chain, any seed is good.
 * Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number
 * Generators, OOPSLA 2014. */
BENCH_INLINE uint64_t
random_next (uint64_t *state)
{
  uint64_t z = (*state += UINT64_C (0x9e3779b97f4a7c15));

  z = (z ^ z >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C (0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* Uniform in [0, n), n below 2^32; no division. */
BENCH_INLINE uint64_t
random_below (uint64_t *state, uint64_t n)
{
  return (random_next (state) >> 32) * n >> 32;
}

/* A starting state for each thread. */
BENCH_INLINE uint64_t
random_seed (const Run *run, unsigned thread)
{
  return run->parameters.seed * 1000003u + thread;
}

/* A size as a compiler asks for (measure.c): 24 to 200 bytes, mean 68. */
size_t random_compiler_size (uint64_t *state);
/* Uniform in the run's [size_min, size_max]. */
BENCH_INLINE size_t
random_size (const Run *run, uint64_t *state)
{
  uint64_t min = run->parameters.size_min, max = run->parameters.size_max;

  return (size_t) (min + random_below (state, max - min + 1));
}
/* A random order of 0..n-1. */
void random_order (uint32_t *order, size_t n, uint64_t *state);

/* --- checked mode (observe.c)
 * ------------------------------------------------ */

/* Notes a block, fills all but its first `n_own` bytes, which belong to the
 * workload, with a pattern. */
void observe_alloc (void *block, size_t size, size_t n_own);
/* Verifies size and pattern, and forgets the block. */
void observe_free (void *block, size_t size);
/* Dies unless every block was freed; then prints the histograms if asked. */
void observe_finish (Run *run);
uint64_t observe_n_allocs (void);

#endif
