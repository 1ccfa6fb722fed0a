/* load.c - a long mixed load, after which nothing is kept
 *
 *   load                        all modes, a short load each
 *   load --mode=MODE --operations=N    N million of them, in one mode
 *
 * Threads come and go in rounds.  Each works with slices, trees of nodes and
 * arenas, and passes blocks on to others.  After a round nothing is live, and
 * all is trimmed: then the validator must be content, no slab be left that was
 * not there after the first rounds, and no more memory be held, or resident (a
 * twentieth, for what the C library keeps), than after some of them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slice/libslice.h>

enum
{
  N_THREADS = 4,
  N_HELD = 1000,       /* blocks that a thread holds at most */
  N_RELAY = 500,       /* places where threads leave blocks for each other */
  N_NODES = 60,
  N_ROUNDS = 16,
  N_WARM_ROUNDS = 5,   /* from which on nothing may grow */
  /* Metadata that is not needed waits in at most so many units. */
  SPARE_BYTES = 4 * 16384,
  /* checked, hardened, debug: each of the sixteen regions of an extent keeps a
   * header and its marks for as long as one of them is in use. */
  MARKS_BYTES = 16 * 17 * 16384,
  RESIDENT_BYTES_LEAST = 256 * 1024, /* the C library's stacks and heap */
  SHORT_OPERATIONS = 480 * 1000,
  SIZE_MAX_USED = 3000 /* some are too large for slices */
};

static const char *const modes[]
    = { "", "checked", "hardened", "debug", "bypass-magazines",
        "trim-thread" };

typedef struct
{
  unsigned char *block;
  size_t size;
} Held;

static uint64_t n_operations = SHORT_OPERATIONS;
static Held *relay[N_RELAY];

/* --- a thread's work ----------------------------------------------------- */

typedef struct
{
  uint64_t random;
  Held held[N_HELD];
} Worker;

static unsigned
below (Worker *worker, unsigned n)
{
  worker->random
      = worker->random * 6364136223846793005u + 1442695040888963407u;
  return (unsigned) ((worker->random >> 33) % n);
}

_Noreturn static void
report_failure (const char *what)
{
  printf ("not ok - %s\n", what);
  fflush (stdout);
  _exit (1);
}

static void
get (Worker *worker, Held *place)
{
  unsigned most = below (worker, 20) == 0 ? SIZE_MAX_USED : 300;

  place->size = 1 + below (worker, most);
  place->block = slice_alloc (place->size);
  place->block[0] = place->block[place->size - 1]
      = (unsigned char) place->size;
}

static void
let_go (Held *place)
{
  if (place->block == NULL)
    return;
  if (place->block[0] != (unsigned char) place->size
      || place->block[place->size - 1] != (unsigned char) place->size)
    report_failure ("a block was written to by another");
  slice_free1 (place->size, place->block);
  place->block = NULL;
}

/* A block of this thread's for whatever another left. */
static void
pass_on (Worker *worker)
{
  Held **place = &relay[below (worker, N_RELAY)];
  Held *mine = slice_new (Held), *other;

  get (worker, mine);
  other = __atomic_exchange_n (place, mine, __ATOMIC_ACQ_REL);
  if (other == NULL)
    return;
  let_go (other);
  slice_free (Held, other);
}

static void
use_context (Worker *worker)
{
  void *root = ralloc_context (NULL), *other = ralloc_context (NULL);
  void *nodes[N_NODES] = { root };

  for (unsigned i = 1; i < N_NODES; i++)
    nodes[i] = ralloc_size (nodes[below (worker, i)],
                            below (worker, 50) == 0 ? 5000 : 10 + 3 * i);
  ralloc_steal (other, nodes[1 + below (worker, N_NODES - 1)]);
  ralloc_free (root);
  ralloc_free (other);
}

static void
use_arena (Worker *worker)
{
  SliceLinear *linear = slice_linear_new (NULL);

  for (unsigned i = 0; i < N_NODES; i++)
    memset (slice_linear_alloc (linear, 1 + 40 * i), 1, 1 + 40 * i);
  if (below (worker, 2) == 0)
    slice_linear_reset (linear, SLICE_KEEP_ALL);
  slice_linear_destroy (linear);
}

static void
one_operation (Worker *worker)
{
  Held *place = &worker->held[below (worker, N_HELD)];

  switch (below (worker, 1000))
    {
    case 0:
      use_context (worker);
      break;
    case 1:
      use_arena (worker);
      break;
    case 2:
    case 3:
    case 4:
    case 5:
      pass_on (worker);
      break;
    default:
      if (place->block == NULL)
        get (worker, place);
      else
        let_go (place);
    }
}

static void *
work (void *seed)
{
  Worker *worker = calloc (1, sizeof *worker);

  worker->random = (uint64_t) (uintptr_t) seed * 0x9e3779b97f4a7c15u;
  for (uint64_t i = 0; i < n_operations / N_ROUNDS / N_THREADS; i++)
    one_operation (worker);
  for (int i = 0; i < N_HELD; i++)
    let_go (&worker->held[i]);
  free (worker);
  return NULL;
}

/* --- rounds -------------------------------------------------------------- */

static void
run_round (unsigned round)
{
  pthread_t threads[N_THREADS];

  for (uintptr_t i = 0; i < N_THREADS; i++)
    pthread_create (&threads[i], NULL, work,
                    (void *) (round * N_THREADS + i + 1));
  for (int i = 0; i < N_THREADS; i++)
    pthread_join (threads[i], NULL);
  for (int i = 0; i < N_RELAY; i++)
    if (relay[i] != NULL)
      {
        let_go (relay[i]);
        slice_free (Held, relay[i]);
        relay[i] = NULL;
      }
  slice_arena_trim (0);
  slice_trim (0);
  malloc_trim (0);
}

typedef struct
{
  uint64_t n_live;
  uint64_t n_slabs;
  uint64_t held_bytes;
  size_t resident_bytes;
} Left;

static size_t
resident_bytes (void)
{
  FILE *file = fopen ("/proc/self/statm", "r");
  unsigned long pages = 0;

  if (file == NULL || fscanf (file, "%*u %lu", &pages) != 1)
    report_failure ("/proc/self/statm can't be read");
  fclose (file);
  return pages * (size_t) sysconf (_SC_PAGESIZE);
}

static Left
what_is_left (void)
{
  static SliceStats stats;
  Left left = { 0 };

  slice_get_stats (&stats);
  left.n_live = stats.live_blocks;
  left.held_bytes = stats.held_bytes;
  for (int i = 0; i < SLICE_N_CLASSES; i++)
    left.n_slabs += stats.classes[i].n_slabs;
  left.resident_bytes = resident_bytes ();
  return left;
}

static void
compare (const Left *first, const Left *last, size_t spare_bytes)
{
  if (slice_validate (NULL) != NULL)
    report_failure (slice_validate (NULL));
  if (last->n_live != first->n_live)
    report_failure ("blocks are lost");
  if (last->n_slabs > first->n_slabs)
    report_failure ("slabs are left");
  if (last->held_bytes > first->held_bytes + spare_bytes)
    report_failure ("pages are left");
}

static void
keep_most (Left *most, const Left *left)
{
  if (left->n_slabs > most->n_slabs)
    most->n_slabs = left->n_slabs;
  if (left->held_bytes > most->held_bytes)
    most->held_bytes = left->held_bytes;
  if (left->resident_bytes > most->resident_bytes)
    most->resident_bytes = left->resident_bytes;
  most->n_live = left->n_live;
}

static void
print_left (const char *when, const Left *left)
{
  printf ("# %s: %llu live, %llu slabs, %llu KiB held, %zu KiB resident\n",
          when, (unsigned long long) left->n_live,
          (unsigned long long) left->n_slabs,
          (unsigned long long) left->held_bytes / 1024,
          left->resident_bytes / 1024);
  fflush (stdout);
}

static void
run_mode (const char *mode)
{
  char options[80];
  Left first = { 0 }, last = { 0 };
  bool has_tags = strcmp (mode, "checked") == 0
                   || strcmp (mode, "hardened") == 0
                   || strcmp (mode, "debug") == 0;
  size_t tags_bytes = has_tags ? MARKS_BYTES : 0;

  snprintf (options, sizeof options, "force-pool:%s", mode);
  setenv ("SLICE_OPTIONS", options, 1);
  mallopt (M_ARENA_MAX, 1);
  for (unsigned round = 0; round < N_ROUNDS; round++)
    {
      run_round (round);
      last = what_is_left ();
      if (round < N_WARM_ROUNDS)
        keep_most (&first, &last);
      else
        compare (&first, &last, SPARE_BYTES + tags_bytes);
    }
  print_left ("after the first rounds", &first);
  print_left ("after the last", &last);
  printf ("# %llu operations; %s\n", (unsigned long long) n_operations,
          options);
  fflush (stdout);
  if (last.resident_bytes
      > first.resident_bytes + tags_bytes
            + (first.resident_bytes / 20 > RESIDENT_BYTES_LEAST
                   ? first.resident_bytes / 20
                   : RESIDENT_BYTES_LEAST))
    report_failure ("more memory is resident than after the first rounds");
}

/* In a process of its own; true if it found nothing. */
static bool
try_mode (const char *mode)
{
  int status;
  pid_t child;

  fflush (stdout);
  child = fork ();
  if (child == 0)
    {
      run_mode (mode);
      _exit (0);
    }
  waitpid (child, &status, 0);
  return status == 0;
}

int
main (int argc, char **argv)
{
  const char *only = NULL;
  int n_tests = 0, n_failed = 0;

  for (int i = 1; i < argc; i++)
    if (strncmp (argv[i], "--operations=", 13) == 0)
      n_operations = strtoull (argv[i] + 13, NULL, 10) * 1000 * 1000;
    else if (strncmp (argv[i], "--mode=", 7) == 0)
      only = strcmp (argv[i] + 7, "default") == 0 ? "" : argv[i] + 7;
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
    if (only == NULL || strcmp (only, modes[i]) == 0)
      {
        bool passed = try_mode (modes[i]);

        printf ("%s %d - after a mixed load nothing is kept, %s\n",
                passed ? "ok" : "not ok", ++n_tests,
                modes[i][0] == '\0' ? "default" : modes[i]);
        n_failed += !passed;
      }
  printf ("1..%d\n", n_tests);
  return n_failed != 0;
}
