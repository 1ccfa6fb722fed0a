/* schedule.c - threads that come between each other wherever they can
 *
 *   schedule [--schedules=N] [--seed=N] [--table]
 *   schedule --replay=SEED      one schedule again, step by step the same
 *
 * The library is built so that at every lock and slow step it calls
 * sli_schedule_point() (port/compiler.h).  Here threads are fibers of one
 * thread, and such a point goes on with whichever fiber the seed says: so a
 * schedule is its seed.  A table of live blocks says what may be handed out;
 * at the end everything must have come back, and the validator be content.
 * Each schedule is a process of its own, forked before the first block.
 *
 * What it can't show: the order in which other processors see stores.  That
 * is what the models in tests/model and the race detectors are for.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <slice/libslice.h>

#include "tests/hang.h"
#include "depot/depot.h"
#include "magazine/magazine.h"
#include "magazine/record/record.h"
#include "port/thread/asleep.h"
#include "port/thread/lock.h"
#include "port/os/os.h"
#include "port/thread/shard.h"
#include "port/thread/tls.h"

enum
{
  N_FIBERS = 3,
  N_OPERATIONS = 70,       /* of each fiber */
  N_HELD = 24,             /* places where any fiber leaves its blocks */
  STACK_BYTES = 128 * 1024,
  N_POINTS_MAX = 32,
  SWITCH_ONE_IN = 4        /* points that are passed without a change */
};

/* --- the seed ------------------------------------------------------------ */

static uint64_t random_state;

static unsigned
random_below (unsigned n)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned) ((random_state >> 33) % n);
}

/* The library's own randomness, from the seed as well. */
int
getentropy (void *to, size_t bytes)
{
  memset (to, (int) random_below (255) + 1, bytes);
  return 0;
}

/* --- points, counted by name --------------------------------------------- */

typedef struct
{
  char name[32];
  uint64_t n;
} Point;

/* Shared with the children. */
static struct
{
  Point points[N_POINTS_MAX];
  uint64_t n_switches;
  uint64_t n_detached;
  uint64_t n_pops, n_pushes, n_slabs_made, n_slabs_freed, n_trimmed, n_ends;
} *seen;

static void
count_point (const char *name)
{
  for (int i = 0; i < N_POINTS_MAX; i++)
    {
      Point *point = &seen->points[i];

      if (point->name[0] == '\0')
        strncpy (point->name, name, sizeof point->name - 1);
      if (strcmp (point->name, name) == 0)
        {
          point->n++;
          return;
        }
    }
}

/* --- fibers -------------------------------------------------------------- */

typedef struct
{
  ucontext_t context;
  SliceThreadV1 *tls;    /* its slice_tls_v1 while others run */
  ThreadRecord *record;  /* its sli_record_self likewise */
  void *watched;         /* argument of the call at its end */
  unsigned held_ranks;   /* of the locks that it holds, likewise */
  bool is_done;
} Fiber;

static Fiber fibers[N_FIBERS + 1]; /* the last is the program's own */
static Fiber *current = &fibers[N_FIBERS];
static bool is_running;
static void (*thread_end) (void *value);

/* Instead of port/thread/tls.c: the record's word is the fiber's. */
bool
sli_tls_open (void (*leave) (void *value))
{
  thread_end = leave;
  return true;
}

bool
sli_tls_watch (void *value)
{
  ThreadRecord *record = value;

  record->tls = &current->tls;
  current->watched = value;
  return true;
}

uint16_t
sli_tls_tag (void)
{
  return (uint16_t) (current - fibers);
}

/* Each fiber has a processor, and sometimes wakes up on another; a number that
 * is out of date by the time it is used comes to the same. */
static int
pretended_processor (void)
{
  return (int) (random_below (4) == 0 ? random_below (N_FIBERS + 1)
                                      : (unsigned) (current - fibers));
}

static void
switch_to (Fiber *next)
{
  Fiber *before = current;

  if (next == before)
    return;
  before->tls = slice_tls_v1;
  before->record = sli_record_self;
  before->held_ranks = sli_lock_switch_held (next->held_ranks);
  slice_tls_v1 = next->tls;
  sli_record_self = next->record;
  current = next;
  seen->n_switches++;
  swapcontext (&before->context, &next->context);
}

/* Some fiber that is not done; the program's own when all are. */
static Fiber *
choose_fiber (void)
{
  unsigned first = random_below (N_FIBERS);

  for (unsigned i = 0; i < N_FIBERS; i++)
    if (!fibers[(first + i) % N_FIBERS].is_done)
      return &fibers[(first + i) % N_FIBERS];
  return &fibers[N_FIBERS];
}

void
sli_schedule_point (const char *name)
{
  if (!is_running)
    return;
  count_point (name);
  /* Who waits for a lock must let others on; the owner is one of them. */
  if (strcmp (name, "lock taken") == 0 || random_below (SWITCH_ONE_IN) == 0)
    switch_to (choose_fiber ());
}

/* --- the model ----------------------------------------------------------- */

typedef struct
{
  unsigned char *block;
  size_t size;
  unsigned char fill;
} Held;

static Held held[N_HELD];

_Noreturn __attribute__ ((format (printf, 1, 2))) static void
complain (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  fprintf (stderr, "schedule: ");
  vfprintf (stderr, format, arguments);
  fprintf (stderr, "\n");
  va_end (arguments);
  _exit (2);
}

/* slice_alloc() as slice.h has it inline, with points between its loads and
 * stores. */
static void *
inline_alloc (size_t size)
{
  SliceThreadV1 *thread = SLICE_LOAD (&slice_tls_v1);
  SliceEntryV1 *entry = SLICE_ENTRY_V1 (thread, 2 * SLICE_CLASS_V1 (size));
  void **top = SLICE_LOAD (&entry->top);
  void *block;

  sli_schedule_point ("inline alloc: top");
  block = SLICE_LOAD (top);
  if (block == NULL)
    return slice_alloc_slow_v1 (size);
  sli_schedule_point ("inline alloc: block");
  SLICE_STORE (&entry->top, top - 1);
  return block;
}

static void
inline_free (size_t size, void *block)
{
  SliceThreadV1 *thread = SLICE_LOAD (&slice_tls_v1);
  SliceEntryV1 *entry = SLICE_ENTRY_V1 (thread, 2 * SLICE_CLASS_V1 (size));
  void **top = SLICE_LOAD (&entry->top);

  sli_schedule_point ("inline free: top");
  if (top == SLICE_LOAD (&entry->end) || SLICE_LOAD (top) == block)
    {
      slice_free_slow_v1 (size, block);
      return;
    }
  SLICE_STORE (top + 1, block);
  sli_schedule_point ("inline free: slot");
  SLICE_STORE (&entry->top, top + 1);
}

static void
check_apart (const Held *new)
{
  for (int i = 0; i < N_HELD; i++)
    if (held[i].block != NULL && &held[i] != new
        && held[i].block < new->block + new->size
        && new->block < held[i].block + held[i].size)
      complain ("%p was handed out while it is live", (void *) new->block);
}

static void
let_go (Held *one)
{
  Held gone = *one;

  if (gone.block == NULL)
    return;
  for (size_t i = 0; i < gone.size; i++)
    if (gone.block[i] != gone.fill)
      complain ("%p was written to by another", (void *) gone.block);
  one->block = NULL; /* another fiber may use the place meanwhile */
  inline_free (gone.size, gone.block);
}

/* Sizes of one slab class with few chunks, and one with many. */
static void
get (void)
{
  static const size_t sizes[] = { 2000, 2000, 64, 500 };
  size_t size = sizes[random_below (4)];
  unsigned char fill = (unsigned char) random_below (256);
  unsigned char *block = inline_alloc (size);

  for (int i = 0; i < N_HELD; i++)
    if (held[i].block == NULL)
      {
        held[i] = (Held){ block, size, fill };
        check_apart (&held[i]);
        memset (block, fill, size);
        return;
      }
  inline_free (size, block);
}

static void
end_thread (void)
{
  void *value = current->watched;

  current->watched = NULL;
  if (value != NULL)
    {
      thread_end (value);
      seen->n_ends++;
    }
}

/* Many blocks through the depot at once. */
static void
burst (void)
{
  void *blocks[30];
  unsigned n = 1 + random_below (30);

  for (unsigned i = 0; i < n; i++)
    blocks[i] = inline_alloc (2000);
  for (unsigned i = 0; i < n; i++)
    inline_free (2000, blocks[i]);
}

/* What the statistics and the validator read while others are at work. */
static void
look (void)
{
  static MagazineCounts counts[N_CLASSES];
  const void *where;
  const char *broken;

  sli_magazine_count_all (counts);
  broken = sli_magazine_check (&where);
  if (broken != NULL)
    complain ("%s while others are at work", broken);
}

static void
fiber_run (int number)
{
  Fiber *self = &fibers[number];

  for (int i = 0; i < N_OPERATIONS; i++)
    switch (random_below (24))
      {
      case 0:
        slice_trim (0);
        break;
      case 1:
        slice_thread_flush ();
        break;
      case 2:
      case 3:
      case 4:
        burst ();
        break;
      case 5:
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
        let_go (&held[random_below (N_HELD)]);
        break;
      case 11:
        look ();
        break;
      default:
        get ();
        break;
      }
  end_thread ();
  /* Another library's destructor still works with blocks. */
  if (random_below (2) == 0)
    get ();
  self->is_done = true;
  switch_to (choose_fiber ());
}

/* --- one schedule -------------------------------------------------------- */

static void
begin (ThreadRecord *new_record, SliceThreadV1 *new_tls)
{
  static char stacks[N_FIBERS][STACK_BYTES];

  for (int i = 0; i < N_FIBERS; i++)
    {
      Fiber *fiber = &fibers[i];

      getcontext (&fiber->context);
      fiber->context.uc_stack.ss_sp = stacks[i];
      fiber->context.uc_stack.ss_size = STACK_BYTES;
      fiber->context.uc_link = &fibers[N_FIBERS].context;
      fiber->tls = new_tls;
      fiber->record = new_record;
      makecontext (&fiber->context, (void (*) (void)) fiber_run, 1, i);
    }
}

static void
note_coverage (void)
{
  static SliceStats stats;

  slice_get_stats (&stats);
  for (int i = 1; i < SLICE_N_CLASSES; i++)
    {
      seen->n_pops += stats.classes[i].n_depot_pops;
      seen->n_pushes += stats.classes[i].n_depot_pushes;
      seen->n_slabs_made += stats.classes[i].n_slabs_made;
      seen->n_slabs_freed += stats.classes[i].n_slabs_freed;
      seen->n_trimmed += stats.classes[i].n_trimmed;
      if (stats.classes[i].n_used != 0)
        complain ("class %d: %u chunks are lost", i,
                  (unsigned) stats.classes[i].n_used);
    }
}

static void
run_schedule (uint64_t seed)
{
  ThreadRecord *new_record = sli_record_self;
  SliceThreadV1 *new_tls = slice_tls_v1;
  const char *broken;

  random_state = seed * 0x9e3779b97f4a7c15u + 1;
  /* Few rounds make many trips; magazines that may grow are replaced. */
  sli_depot_limits.rounds_max = seed % 2 == 0 ? 4 : 32;
  sli_depot_limits.bytes = 65536;
  sli_shard_pretend (pretended_processor);
  slice_set_option (SLICE_OPTION_HUGE_PAGES, 0);
  slice_free1 (64, slice_alloc (64)); /* readies all, in the program's own */
  begin (new_record, new_tls);
  is_running = true;
  switch_to (choose_fiber ());
  is_running = false;
  broken = slice_validate (NULL);
  if (broken != NULL)
    complain ("%s", broken);
  for (int i = 0; i < N_HELD; i++)
    let_go (&held[i]);
  slice_trim (0);
  broken = slice_validate (NULL);
  if (broken != NULL)
    complain ("%s", broken);
  note_coverage ();
}

/* In a process of its own; false: it failed. */
static bool
try_schedule (uint64_t seed)
{
  int status;
  pid_t pid = fork ();

  if (pid == 0)
    {
      struct rlimit no_core = { 0, 0 };

      setrlimit (RLIMIT_CORE, &no_core);
      hang_after (20);
      run_schedule (seed);
      _exit (0);
    }
  waitpid (pid, &status, 0);
  return status == 0;
}

/* --- many ---------------------------------------------------------------- */

static void
print_coverage (void)
{
  for (int i = 0; i < N_POINTS_MAX && seen->points[i].name[0] != '\0'; i++)
    printf ("# %-24s %12llu\n", seen->points[i].name,
            (unsigned long long) seen->points[i].n);
  printf ("# switches %llu, depot pops %llu, pushes %llu, slabs made %llu, "
          "freed %llu, threads ended %llu\n",
          (unsigned long long) seen->n_switches,
          (unsigned long long) seen->n_pops,
          (unsigned long long) seen->n_pushes,
          (unsigned long long) seen->n_slabs_made,
          (unsigned long long) seen->n_slabs_freed,
          (unsigned long long) seen->n_ends);
}

static int n_tests, n_failed;

static void
report (bool passed, const char *name)
{
  printf ("%s %d - %s\n", passed ? "ok" : "not ok", ++n_tests, name);
  n_failed += !passed;
}

/* A schedule that went nowhere finds nothing. */
static bool
reached (const char *name)
{
  for (int i = 0; i < N_POINTS_MAX; i++)
    if (strcmp (seen->points[i].name, name) == 0)
      return seen->points[i].n > 0;
  return false;
}

int
main (int argc, char **argv)
{
  static const char *const wanted[] = { "lock",
                                        "lock taken",
                                        "record entered",
                                        "depot push",
                                        "depot pop",
                                        "depot steal",
                                        "detaching",
                                        "words cleared",
                                        "chunk to be freed",
                                        "magazine seen",
                                        "magazine replaced",
                                        "inline alloc: block",
                                        "inline free: slot" };
  uint64_t n_schedules = 3000, seed = 1, n_bad = 0;
  const char *replayed = NULL;

  for (int i = 1; i < argc; i++)
    if (strncmp (argv[i], "--schedules=", 12) == 0)
      n_schedules = strtoull (argv[i] + 12, NULL, 10);
    else if (strncmp (argv[i], "--seed=", 7) == 0)
      seed = strtoull (argv[i] + 7, NULL, 10);
    else if (strncmp (argv[i], "--replay=", 9) == 0)
      replayed = argv[i] + 9;
  /* The explorer's threads wait in system calls in the middle of inline
   * calls, which no real ones do. */
  sli_asleep_pretend (0);
  unsetenv ("SLICE_OPTIONS");
  setenv ("SLICE_OPTIONS", "force-pool", 1);
  seen = mmap (NULL, sizeof *seen, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (replayed != NULL)
    {
      run_schedule (strtoull (replayed, NULL, 10));
      return 0;
    }
  for (uint64_t i = 0; i < n_schedules && n_bad < 3; i++)
    if (!try_schedule (seed + i))
      {
        printf ("# schedule --replay=%llu\n", (unsigned long long) (seed + i));
        n_bad++;
      }
  printf ("# %llu schedules from %llu on\n", (unsigned long long) n_schedules,
          (unsigned long long) seed);
  report (n_bad == 0, "no schedule fails");
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
    report (reached (wanted[i]), wanted[i]);
  report (seen->n_pops > 0 && seen->n_slabs_freed > 0 && seen->n_ends > 0,
          "depots, slabs and threads come and go");
  print_coverage ();
  printf ("1..%d\n", n_tests);
  return n_failed != 0;
}
