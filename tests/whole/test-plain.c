/* test-plain.c - the whole library once over, without GLib
 *
 * Links libslice as any program would.  It needs nothing but libc, so that
 * check-32bit.sh can build it where there is no GLib of that width.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <slice/arena.h>
#include <slice/slice.h>
#include <slice/stats.h>

enum
{
  SIZE_LAST = 5000, /* past SLICE_SIZE_MAX and a page */
  N_ROUNDS = 200,   /* blocks a size class and thread, several magazines */
  N_THREADS = 4
};

static int n_tests;
static int n_failed;

static void
report (bool passed, const char *name)
{
  n_tests++;
  n_failed += !passed;
  printf ("%s %d - %s\n", passed ? "ok" : "not ok", n_tests, name);
}

/* What byte a block of this size and number is filled with. */
static unsigned char
pattern (size_t size, size_t number)
{
  return (unsigned char) (size * 31 + number * 7 + 1);
}

static bool
is_filled (const unsigned char *block, size_t size, unsigned char byte)
{
  for (size_t i = 0; i < size; i++)
    if (block[i] != byte)
      return false;
  return true;
}

/* The alignment that slice.h promises for a size. */
static size_t
promised_alignment (size_t size)
{
  size_t rounded = (size + 7) & ~(size_t) 7;

  return rounded % 16 == 0 ? 16 : 8;
}

static uint64_t
live_blocks (void)
{
  static SliceStats stats;

  slice_get_stats (&stats);
  return stats.live_blocks;
}

static void
test_every_size (void)
{
  static unsigned char *blocks[SIZE_LAST + 1];
  bool aligned = true, intact = true, zeroed = true;

  for (size_t size = 1; size <= SIZE_LAST; size++)
    {
      blocks[size] = slice_alloc (size);
      memset (blocks[size], pattern (size, 0), size);
      aligned = aligned
                && (uintptr_t) blocks[size] % promised_alignment (size) == 0;
    }
  for (size_t size = 1; size <= SIZE_LAST; size++)
    {
      intact = intact
               && is_filled (blocks[size], size, pattern (size, 0));
      slice_free1 (size, blocks[size]);
    }
  for (size_t size = 1; size <= SIZE_LAST; size++)
    {
      unsigned char *block = slice_alloc0 (size);

      zeroed = zeroed && is_filled (block, size, 0);
      slice_free1 (size, block);
    }
  report (slice_alloc (0) == NULL, "size 0 is NULL");
  slice_free1 (8, NULL);
  slice_free1 (0, NULL);
  report (aligned, "every size from 1 to 5000 is aligned as promised");
  report (intact, "no block overlaps another");
  report (zeroed, "slice_alloc0 gives zeros, on used memory too");
}

typedef struct Link Link;
struct Link
{
  int number;
  Link *next;
};

static void
test_chain (void)
{
  uint64_t before = live_blocks ();
  Link *chain = NULL;

  for (int i = 0; i < 1000; i++)
    {
      Link *link = slice_new (Link);

      link->next = chain;
      chain = link;
    }
  slice_free_chain (Link, chain, next);
  report (live_blocks () == before, "a freed chain leaves nothing");
}

/* Blocks that the thread before left, freed by the next one. */
static void *relay[N_ROUNDS];

static void *
relay_run (void *data)
{
  bool *intact = data;

  for (size_t i = 0; i < N_ROUNDS; i++)
    {
      size_t size = 8 * (i % 40 + 1);

      if (relay[i] != NULL)
        {
          *intact = *intact && is_filled (relay[i], size, pattern (size, i));
          slice_free1 (size, relay[i]);
        }
      relay[i] = slice_alloc (size);
      memset (relay[i], pattern (size, i), size);
    }
  return NULL;
}

static void
test_threads (void)
{
  uint64_t before = live_blocks ();
  bool intact = true;

  for (int i = 0; i < N_THREADS; i++)
    {
      pthread_t thread;

      pthread_create (&thread, NULL, relay_run, &intact);
      pthread_join (thread, NULL);
    }
  for (size_t i = 0; i < N_ROUNDS; i++)
    slice_free1 (8 * (i % 40 + 1), relay[i]);
  report (intact, "blocks go from thread to thread unchanged");
  report (live_blocks () == before, "threads that ended leave nothing");
}

static void *
churn_run (void *data)
{
  bool *intact = data;

  for (size_t turn = 0; turn < 100; turn++)
    {
      unsigned char *blocks[N_ROUNDS];

      for (size_t i = 0; i < N_ROUNDS; i++)
        {
          blocks[i] = slice_alloc (24);
          memset (blocks[i], pattern (24, i), 24);
        }
      for (size_t i = 0; i < N_ROUNDS; i++)
        {
          *intact = *intact && is_filled (blocks[i], 24, pattern (24, i));
          slice_free1 (24, blocks[i]);
        }
    }
  return NULL;
}

static void
test_threads_at_once (void)
{
  pthread_t threads[N_THREADS];
  bool intact[N_THREADS];
  bool all = true;

  for (int i = 0; i < N_THREADS; i++)
    {
      intact[i] = true;
      pthread_create (&threads[i], NULL, churn_run, &intact[i]);
    }
  for (int i = 0; i < N_THREADS; i++)
    {
      pthread_join (threads[i], NULL);
      all = all && intact[i];
    }
  report (all, "threads at once never get the same block");
}

static void
test_fork (void)
{
  void *block = slice_alloc (40);
  int status = -1;
  pid_t child;

  fflush (stdout);
  child = fork ();
  if (child == 0)
    {
      void *other = slice_alloc (40);
      bool well = other != NULL && other != block;

      slice_free1 (40, block);
      slice_free1 (40, other);
      _exit (well ? 0 : 1);
    }
  waitpid (child, &status, 0);
  slice_free1 (40, block);
  report (status == 0, "a forked child frees what its parent held");
}

static void
test_trim (void)
{
  static void *blocks[20000];
  uint64_t before = live_blocks ();
  size_t n = sizeof blocks / sizeof blocks[0];
  SliceStats stats;

  for (size_t i = 0; i < n; i++)
    blocks[i] = slice_alloc (200);
  for (size_t i = 0; i < n; i++)
    slice_free1 (200, blocks[i]);
  slice_trim (0);
  slice_get_stats (&stats);
  report (stats.live_blocks == before, "all is freed before the trim");
  report (stats.cached_bytes == 0, "a trim leaves no magazine filled");
}

/* A size that is no constant has the entry of its class, whatever the width of
 * a pointer.  (A thread on the zero block has no table.) */
static void
test_entries (void)
{
  SliceThreadV1 *thread;
  size_t n_wrong = 0;

  slice_free1 (8, slice_alloc (8));
  thread = slice_tls_v1;
  if (thread->class_table[8] != 0)
    for (volatile size_t size = 1; size <= SLICE_SIZE_MAX; size++)
      n_wrong
          += SLICE_ENTRY_V1 (thread, SLICE_TWICE_CLASS_V1 (thread, size))
             != &thread->entries[SLICE_CLASS_V1 (size)];
  report (n_wrong == 0, "every size has the entry of its class");
}

#ifndef WITHOUT_ARENAS
/* Up and down over many blocks; an error would end the program. */
static void
test_stack_arena (void)
{
  static unsigned char *objects[1000];
  SliceStack *stack = slice_stack_new (NULL);
  bool intact = true;
  unsigned random = 1;
  unsigned n = 0;

  for (unsigned i = 0; i < 100000; i++)
    {
      unsigned size;
      bool rises;

      random = random * 1664525u + 1013904223u;
      size = (random >> 24) % 50 == 0 ? random >> 12 & 0x7fff
                                      : random >> 12 & 0xff;
      rises = i / 1000 % 2 == 0 ? random >> 30 != 0 : random >> 30 == 0;
      if (n == 0 || (rises && n < 1000))
        {
          objects[n] = slice_stack_alloc (stack, size);
          if (size > 0)
            objects[n][0] = objects[n][size - 1] = (unsigned char) n;
          else
            objects[n][0] = (unsigned char) n;
          n++;
          continue;
        }
      n--;
      intact = intact && objects[n][0] == (unsigned char) n;
      slice_stack_release (stack, objects[n]);
    }
  while (n > 0)
    slice_stack_release (stack, objects[--n]);
  report (intact && slice_stack_is_empty (stack),
          "a stack arena rises and falls over many blocks");
  slice_stack_destroy (stack);
}
#else
static void
test_stack_arena (void)
{
}
#endif

int
main (void)
{
  /* Under a memory tool, too, the slabs are what is tested. */
  slice_set_option (SLICE_OPTION_FORCE_POOL, 1);
  test_entries ();
  test_every_size ();
  test_chain ();
  test_threads ();
  test_threads_at_once ();
  test_fork ();
  test_trim ();
  test_stack_arena ();
  printf ("1..%d\n", n_tests);
  return n_failed != 0;
}
