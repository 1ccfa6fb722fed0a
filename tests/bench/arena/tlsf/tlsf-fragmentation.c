/* tlsf-fragmentation.c - what TLSF and malloc hold for the same live bytes
 *
 *   tlsf-fragmentation [REPLACEMENTS]
 *
 * The objects of slice-bench's working set: 80 % of the replacements hit 64
 * short-lived ones, 15 % a twentieth, 5 % all of 20,000.  Each allocator in a
 * process of its own, with the same random numbers.  Bytes held over bytes
 * asked for that are live: after the filling, on the way and at the end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slice/arena.h>

enum
{
  N_SHORT = 64,
  N_MIDDLE = 1000,
  N_LONG = 20000,
  N_ALL = N_SHORT + N_MIDDLE + N_LONG
};

typedef struct
{
  SliceTlsf *tlsf; /* NULL: malloc */
  size_t size_max;
  size_t live_bytes;
  uint64_t random;
  size_t sizes[N_ALL];
  void *objects[N_ALL];
} Set;

static Set set;

/* The generator of slice-bench (bench.h). */
static uint64_t
random_next (void)
{
  uint64_t z = (set.random += UINT64_C (0x9e3779b97f4a7c15));

  z = (z ^ z >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C (0x94d049bb133111eb);
  return z ^ z >> 31;
}

static void
place_fill (size_t index)
{
  size_t size = 8 + random_next () % (set.size_max - 7);
  void *object
      = set.tlsf != NULL ? slice_tlsf_alloc (set.tlsf, size) : malloc (size);

  if (object == NULL)
    abort ();
  set.objects[index] = object;
  set.sizes[index] = size;
  set.live_bytes += size;
}

static void
place_empty (size_t index)
{
  set.live_bytes -= set.sizes[index];
  if (set.tlsf != NULL)
    slice_tlsf_free (set.tlsf, set.objects[index]);
  else
    free (set.objects[index]);
}

static size_t
place_choose (void)
{
  uint64_t percent = random_next () % 100;

  if (percent < 80)
    return random_next () % N_SHORT;
  if (percent < 95)
    return N_SHORT + random_next () % N_MIDDLE;
  return N_SHORT + N_MIDDLE + random_next () % N_LONG;
}

static size_t
held_bytes (void)
{
  SliceTlsfStats stats;

  if (set.tlsf == NULL)
    {
#if defined __GLIBC__ && __GLIBC_PREREQ(2, 33)
      struct mallinfo2 info = mallinfo2 ();

      return info.arena + info.hblkhd;
#else
      return 0;
#endif
    }
  slice_tlsf_get_stats (set.tlsf, &stats);
  return stats.arena.held_bytes;
}

static void
report (unsigned long n)
{
  size_t held = held_bytes ();

  printf ("  %-7s %6zu %10lu %12zu %12zu %9.3f", set.tlsf ? "tlsf" : "malloc",
          set.size_max, n, set.live_bytes, held,
          (double) held / (double) set.live_bytes);
  if (set.tlsf != NULL)
    {
      SliceTlsfStats stats;

      slice_tlsf_get_stats (set.tlsf, &stats);
      printf (" %7zu %11zu", stats.n_free, stats.largest_free);
    }
  printf ("\n");
}

static void
run (bool is_tlsf, size_t size_max, unsigned long n_replacements)
{
  set.tlsf = is_tlsf ? slice_tlsf_new (NULL) : NULL;
  set.size_max = size_max;
  set.random = 42;
  for (size_t i = 0; i < N_ALL; i++)
    place_fill (i);
  report (0);
  for (unsigned long i = 1; i <= n_replacements; i++)
    {
      size_t index = place_choose ();

      place_empty (index);
      place_fill (index);
      if (i == n_replacements / 10 || i == n_replacements)
        report (i);
    }
}

int
main (int argc, char **argv)
{
  static const size_t size_max[] = { 512, 4096 };
  unsigned long n = argc > 1 ? strtoul (argv[1], NULL, 10) : 5000000;
  int status = 0;

  printf ("  %-7s %6s %10s %12s %12s %9s %7s %11s\n", "", "up to", "replaced",
          "live bytes", "held bytes", "held/live", "free", "largest");
  for (int i = 0; i < 4 && status == 0; i++)
    {
      pid_t child;

      fflush (stdout);
      child = fork ();
      if (child == 0)
        {
          run (i % 2 == 0, size_max[i / 2], n);
          exit (0);
        }
      if (child < 0 || waitpid (child, &status, 0) < 0)
        return 1;
    }
  return status != 0;
}
