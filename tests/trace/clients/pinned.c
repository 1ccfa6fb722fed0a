/* pinned.c - heaps that a few blocks keep from shrinking
 *
 *   pinned HEAP [own]   HEAP: 1 to 11; own: the blocks that pin have memory
 *                       of their own
 *
 * Each builds a heap, frees nearly all of it, says how many bytes are resident
 * (its own, with those of the blocks that pin, if they are apart), and sleeps.
 * The blocks that pin are allocated in a function named pin; in heap 9 in
 * pin_log as well.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__ ((noinline))
#define KEPT_MAX 400000
#define TEMPORARY_MAX 2000000

static bool has_own;

/* --- memory of their own -------------------------------------------------- */

typedef struct
{
  char *at, *end;
} Own;

static __thread Own own;

static void *
own_alloc (size_t n_bytes)
{
  void *block;

  n_bytes = (n_bytes + 15) & ~(size_t)15;
  if (n_bytes > (size_t)(own.end - own.at))
    {
      size_t chunk = 16 << 20;

      own.at = mmap (NULL, chunk, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      own.end = own.at + chunk;
    }
  block = own.at;
  own.at += n_bytes;
  return block;
}

static void *
filled (void *block, size_t n_bytes)
{
  memset (block, 1, n_bytes);
  return block;
}

NOINLINE void *
pin (size_t n_bytes)
{
  return filled (has_own ? own_alloc (n_bytes) : malloc (n_bytes), n_bytes);
}

NOINLINE void *
pin_log (size_t n_bytes)
{
  return filled (has_own ? own_alloc (n_bytes) : malloc (n_bytes), n_bytes);
}

NOINLINE void *
work (size_t n_bytes)
{
  return filled (malloc (n_bytes), n_bytes);
}

NOINLINE void *
buffer (size_t n_bytes)
{
  return filled (malloc (n_bytes), n_bytes);
}

/* --- heaps ---------------------------------------------------------------- */

static unsigned long long state = 1;

static unsigned
number (unsigned below)
{
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % below;
}

static void *kept[KEPT_MAX], *temporary[TEMPORARY_MAX];
static size_t n_kept, n_temporary;

static void
keep (void *block)
{
  kept[n_kept++] = block;
}

static void
use (void *block)
{
  temporary[n_temporary++] = block;
}

static void
temporary_free (void)
{
  for (size_t i = 0; i < n_temporary; i++)
    free (temporary[i]);
  n_temporary = 0;
}

/* 1: certificates among the buffers that they are read from */
static void
certificates (void)
{
  for (int i = 0; i < 6000; i++)
    {
      use (buffer (8000 + number (8000)));
      keep (pin (300));
    }
  temporary_free ();
}

/* 2: one small block behind a large list */
static void
late (void)
{
  for (int i = 0; i < 500000; i++)
    use (work (200));
  keep (pin (64));
  temporary_free ();
}

/* 3: every fiftieth word of a text is kept */
static void
words (void)
{
  for (int i = 0; i < 1000000; i++)
    if (i % 50 == 0)
      keep (pin (16 + number (32)));
    else
      use (work (130 + number (150)));
  temporary_free ();
}

/* 4: long-lived sessions among short-lived ones, freed in no order */
static void
sessions (void)
{
  for (int i = 0; i < 40000; i++)
    {
      use (work (1100));
      if (number (20) == 0)
        keep (pin (200));
    }
  for (size_t i = n_temporary; i > 1; i--)
    {
      size_t other = number ((unsigned)i);
      void *block = temporary[i - 1];

      temporary[i - 1] = temporary[other];
      temporary[other] = block;
    }
  temporary_free ();
}

/* 5: requests that come and go, and a line of a log for each tenth */
static void
requests (void)
{
  void *live[2000] = { 0 };

  for (int i = 0; i < 200000; i++)
    {
      unsigned slot = number (2000);

      free (live[slot]);
      live[slot] = buffer (1100 + number (30000));
      if (i % 100 == 0)
        keep (pin (120));
    }
  for (int i = 0; i < 2000; i++)
    free (live[i]);
}

/* 6: a result of 8 KiB after each MiB of work */
static void
results (void)
{
  for (int i = 0; i < 100; i++)
    {
      for (int n = 0; n < 1000; n++)
        use (work (1024));
      keep (pin (8192));
    }
  temporary_free ();
}

/* 7: threads with arenas of their own */
static void *
thread_main (void *unused)
{
  void **mine = calloc (100000, sizeof *mine);

  for (int i = 0; i < 100000; i++)
    {
      mine[i] = work (180);
      if (i % 400 == 0)
        pin (40);
    }
  for (int i = 0; i < 100000; i++)
    free (mine[i]);
  free (mine);
  return unused;
}

static void
threads (void)
{
  pthread_t thread[3];

  for (int i = 0; i < 3; i++)
    pthread_create (&thread[i], NULL, thread_main, NULL);
  for (int i = 0; i < 3; i++)
    pthread_join (thread[i], NULL);
}

/* 8: the program trims, and small blocks pin single pages */
static void
trimmed (void)
{
  for (int i = 0; i < 20000; i++)
    {
      use (buffer (3000));
      if (i % 2 == 0)
        keep (pin (48));
    }
  temporary_free ();
  malloc_trim (0);
}

/* 9: two sites pin together */
static void
together (void)
{
  for (int i = 0; i < 100000; i++)
    {
      use (work (400));
      if (i % 40 == 0)
        keep (pin (100));
      if (i % 40 == 20)
        keep (pin_log (60));
    }
  temporary_free ();
}

/* 10: aligned objects among documents */
NOINLINE static void *
pin_aligned (void)
{
  return filled (has_own ? own_alloc (64) : aligned_alloc (64, 64), 64);
}

static void
documents (void)
{
  for (int i = 0; i < 60000; i++)
    {
      use (work (1000 + number (1000)));
      if (i % 10 == 0)
        keep (pin_aligned ());
    }
  temporary_free ();
}

/* 11: no block pins; malloc's fast bins do */
static void
fast_bins (void)
{
  for (int i = 0; i < 500000; i++)
    use (work (100));
  temporary_free ();
}

static void (*const heaps[]) (void)
    = { certificates, late,    words,    sessions,  requests, results,
        threads,      trimmed, together, documents, fast_bins };

/* Without malloc, so that the heap stays as it is. */
static size_t
resident_bytes (void)
{
  char text[128] = "";
  unsigned long pages = 0;
  int fd = open ("/proc/self/statm", O_RDONLY);

  if (fd < 0 || read (fd, text, sizeof text - 1) < 0
      || sscanf (text, "%*u %lu", &pages) != 1)
    return 0;
  close (fd);
  return pages * (size_t)sysconf (_SC_PAGESIZE);
}

/* Idles as long as the work has taken, and 0.2 s at least: pins looks for what
 * stays in a share of the run, and a busy machine makes the work longer. */
static void
pause_as_long (const struct timespec *start)
{
  struct timespec now;
  double seconds;

  clock_gettime (CLOCK_MONOTONIC, &now);
  seconds = (double) (now.tv_sec - start->tv_sec)
            + (double) (now.tv_nsec - start->tv_nsec) / 1e9;
  usleep (seconds > 0.2 ? (useconds_t)(seconds * 1e6) : 200000);
}

int
main (int argc, char **argv)
{
  int heap = argc > 1 ? atoi (argv[1]) : 0;
  struct timespec start;

  if (heap < 1 || heap > (int)(sizeof heaps / sizeof *heaps))
    return 2;
  clock_gettime (CLOCK_MONOTONIC, &start);
  has_own = argc > 2;
  heaps[heap - 1] ();
  dprintf (1, "%zu\n", resident_bytes ());
  pause_as_long (&start);
  return 0;
}
