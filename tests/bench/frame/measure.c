/* measure.c - clocks, resident memory, mapped arrays, random sizes
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

_Noreturn void
bench_die (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  fflush (stdout);
  fputs ("slice-bench: ", stderr);
  vfprintf (stderr, format, arguments);
  fputc ('\n', stderr);
  va_end (arguments);
  exit (1);
}

void
bench_skip (const char *reason)
{
  fprintf (stderr, "slice-bench: %s\n", reason);
  exit (BENCH_EXIT_SKIPPED);
}

static double
clock_nsec (clockid_t clock)
{
  struct timespec now;

  clock_gettime (clock, &now);
  return (double) now.tv_sec * 1e9 + (double) now.tv_nsec;
}

double
bench_thread_nsec (void)
{
  return clock_nsec (CLOCK_THREAD_CPUTIME_ID);
}

double
bench_process_nsec (void)
{
  return clock_nsec (CLOCK_PROCESS_CPUTIME_ID);
}

double
bench_wall_nsec (void)
{
  return clock_nsec (CLOCK_MONOTONIC);
}

void
bench_sleep_msec (unsigned msec)
{
  struct timespec left
      = { .tv_sec = msec / 1000, .tv_nsec = (long) (msec % 1000) * 1000000 };

  while (nanosleep (&left, &left) != 0 && errno == EINTR)
    ;
}

/* What a tick of bench_ticks() is, found by 20 ms of the monotonic clock. */
double
bench_tick_nsec (void)
{
  double start_nsec = bench_wall_nsec ();
  uint64_t start = bench_ticks ();
  double nsec;

  bench_sleep_msec (20);
  nsec = bench_wall_nsec () - start_nsec;
  return nsec / (double) (bench_ticks () - start);
}

static size_t
file_read (const char *path, char *buffer, size_t buffer_size)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  size_t n = 0;

  if (fd < 0)
    return 0;
  for (;;)
    {
      ssize_t got = read (fd, buffer + n, buffer_size - 1 - n);

      if (got <= 0)
        break;
      n += (size_t) got;
    }
  close (fd);
  buffer[n] = '\0';
  return n;
}

/* /proc/self/statm is counted per processor and lags by up to a few hundred
 * kilobytes on newer kernels; smaps_rollup walks the page tables. */
uint64_t
bench_rss_bytes (void)
{
  char buffer[4096];
  unsigned long long total;
  unsigned long long resident = 0;

  if (file_read ("/proc/self/smaps_rollup", buffer, sizeof buffer) > 0)
    {
      const char *line = strstr (buffer, "\nRss:");

      if (line != NULL)
        return strtoull (line + 5, NULL, 10) * 1024;
    }
  if (file_read ("/proc/self/statm", buffer, sizeof buffer) > 0
      && sscanf (buffer, "%llu %llu", &total, &resident) == 2)
    return resident * (uint64_t) sysconf (_SC_PAGESIZE);
  return 0;
}

void *
bench_map (size_t bytes)
{
  void *address = mmap (NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

  if (address == MAP_FAILED)
    bench_die ("no memory for %zu bytes of its own", bytes);
  return address;
}

void
bench_unmap (void *address, size_t bytes)
{
  munmap (address, bytes);
}

/* Sizes of a compiler's syntax and intermediate trees: the shape of the
 * recorded compile (tests/data/), without its rare large blocks.  64 entries
 * stand for the distribution. */
size_t
random_compiler_size (uint64_t *state)
{
  static const uint8_t sizes[64]
      = { 24, 24,  24,  24,  24,  32,  32,  32,  32,  32,  32,  40, 40,
          40, 40,  40,  48,  48,  48,  48,  48,  48,  48,  48,  48, 56,
          56, 56,  56,  56,  56,  56,  64,  64,  64,  64,  64,  72, 72,
          72, 72,  72,  72,  72,  80,  80,  80,  80,  88,  88,  96, 96,
          96, 104, 104, 112, 120, 128, 144, 144, 144, 168, 176, 200 };

  return sizes[random_next (state) >> 58];
}

void
random_order (uint32_t *order, size_t n, uint64_t *state)
{
  for (size_t i = 0; i < n; i++)
    {
      size_t j = random_below (state, i + 1);

      order[i] = order[j];
      order[j] = (uint32_t) i;
    }
}
