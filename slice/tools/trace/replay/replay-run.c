/* replay-run.c - one measurement of a replay, in a process of its own
 *
 * Tools.  Runs the operations several times and prints one line.  The cost of
 * the loop itself (reading the operations, touching the blocks) is measured in
 * the same way without an allocator, and the users of the results subtract it.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "replay.h"
#include "tools/trace/common/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define N_REPEATS_MAX 15
#define POLLUTE_BYTES (8u << 20)
#define CACHE_LINE 64
#define LITTER_BLOCKS 200000

typedef struct
{
  const ReplayHead *head;
  const ReplaySite *sites;
  const ReplayOp *ops;
  const ReplayTask *task;
  ReplaySlot *slots;
  ReplayArena *arenas; /* by site */
  ReplayArena *groups; /* by owner's group */
  uint8_t *polluter;
  size_t pollute_at;
  size_t visited; /* 0, read from the last block that was visited */
  volatile unsigned sink;
  /* counts of the round that is not timed */
  uint64_t n_ops, n_allocs, bytes, live, peak;
} Replay;

/* Memory over the operations, in parts of as many each. */
typedef struct
{
  uint64_t before;           /* the process's own */
  uint64_t bytes[N_CURVE];   /* the most above that, of a part's samples */
  uint64_t highest[N_CURVE]; /* the operation with most live bytes */
  uint64_t next;             /* the operation of the next regular sample */
} Curve;

static void *
memory_map (size_t bytes)
{
  void *map = mmap (NULL, bytes + 1, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

  if (map == MAP_FAILED)
    sli_tool_exit (TOOL_FAILED, "no memory");
  return map;
}

static void
ops_map (Replay *replay, const char *path)
{
  struct stat status;
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  const uint8_t *map;

  if (fd < 0 || fstat (fd, &status) != 0)
    sli_tool_exit (TOOL_BAD_INPUT, "%s: %s", path, strerror (errno));
  map = mmap (NULL, (size_t) status.st_size, PROT_READ,
              MAP_SHARED | MAP_POPULATE, fd, 0);
  if (map == MAP_FAILED)
    sli_tool_exit (TOOL_FAILED, "%s: %s", path, strerror (errno));
  replay->head = (const ReplayHead *) map;
  replay->sites = (const ReplaySite *) (replay->head + 1);
  replay->ops = (const ReplayOp *) (replay->sites + replay->head->n_sites);
}

static void
arenas_make (Replay *replay)
{
  const ReplayTask *task = replay->task;

  for (uint64_t i = 0; i < replay->head->n_sites; i++)
    {
      ReplayArena *arena = &replay->arenas[i];
      BackendId backend
          = task->advised
                ? sli_backend_of_class ((SiteClass) replay->sites[i].class)
                : task->backend;

      memset (arena, 0, sizeof *arena);
      arena->backend = (uint8_t) backend;
      arena->pool_bytes = replay->sites[i].pool_bytes;
    }
  memset (replay->groups, 0, replay->head->n_groups * sizeof (ReplayArena));
}

/* Frees all memory, outside the measured time. */
static void
arenas_destroy (Replay *replay)
{
  for (uint64_t i = 0; i < replay->head->n_sites; i++)
    {
      ReplayArena *arena = &replay->arenas[i];
      const Backend *backend = &sli_backends[arena->backend];

      if (arena->arena != NULL && backend->destroy != NULL)
        backend->destroy (arena);
      arena->arena = NULL;
    }
  for (uint64_t i = 1; i < replay->head->n_groups; i++)
    if (replay->groups[i].arena != NULL
        && sli_backends[replay->groups[i].backend].destroy != NULL)
      sli_backends[replay->groups[i].backend].destroy (&replay->groups[i]);
}

static void
touch (void *block, uint32_t size)
{
  volatile char *bytes = block;
  /* a part of a large block is enough to be fair to mmap */
  uint32_t most = size < 65536 ? size : 65536;

  for (uint32_t at = 0; at < most; at += CACHE_LINE)
    bytes[at] = 1;
}

static void
pollute (Replay *replay)
{
  unsigned sum = 0;

  for (unsigned i = 0; i < replay->task->pollute_lines; i++)
    {
      sum += replay->polluter[replay->pollute_at];
      replay->pollute_at
          = (replay->pollute_at + 37 * CACHE_LINE) & (POLLUTE_BYTES - 1);
    }
  replay->sink = sum;
}

/* The arena of an operation: a group has its own if the site's class has
 * one. */
static ReplayArena *
arena_of (Replay *replay, const ReplayOp *op, uint32_t group)
{
  ReplayArena *arena = &replay->arenas[op->site];
  ReplayArena *part;

  if (group == 0 || arena->backend == BACKEND_MALLOC || !replay->task->advised)
    return arena;
  part = &replay->groups[group];
  if (part->arena == NULL && part->n_live == 0)
    {
      part->backend = arena->backend;
      part->pool_bytes = arena->pool_bytes;
      part->n_stack = part->backend == BACKEND_CONTEXT; /* see context_free */
    }
  return part;
}

static void
alloc_replay (Replay *replay, const ReplayOp *op, ReplayArena *arena)
{
  ReplaySlot *slot = &replay->slots[op->slot_allocated >> 1];

  arena->n_live++;
  slot->size = op->size;
  slot->block = sli_backends[arena->backend].alloc (
      arena, op->size, op->group_align & 31, slot);
  touch (slot->block, op->size);
}

static void
free_replay (ReplaySlot *slot, ReplayArena *arena)
{
  const Backend *backend = &sli_backends[arena->backend];

  backend->free (arena, slot);
  slot->block = NULL;
  if (--arena->n_live == 0 && backend->empty != NULL)
    backend->empty (arena);
}

/* Visits a block as along a list, where the block before tells the address of
 * the next.  (The words that are read belong to no allocator's block, and are
 * zero.) */
static void
visit (Replay *replay, const ReplaySlot *slot)
{
  const char *word = (const char *) slot->block + sizeof (size_t);

  replay->visited = *(const volatile size_t *) (word + replay->visited);
}

static double
seconds_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

static uint64_t
anonymous_bytes (void)
{
  char text[4096];
  int fd = open ("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read (fd, text, sizeof text - 1);
  const char *found;

  if (fd >= 0)
    close (fd);
  if (n <= 0)
    return 0;
  text[n] = '\0';
  found = strstr (text, "RssAnon:");
  return found == NULL ? 0 : strtoull (found + 8, NULL, 10) * 1024;
}

/* Makes a heap as a program leaves it: blocks of many sizes, three of four
 * freed again, so that free memory is fragmented. */
static void
litter_make (void)
{
  static void *blocks[LITTER_BLOCKS];
  uint32_t random = 12345;

  for (int i = 0; i < LITTER_BLOCKS; i++)
    {
      random = random * 1664525 + 1013904223;
      blocks[i] = malloc (16 + (random >> 20) % 500);
    }
  for (int i = 0; i < LITTER_BLOCKS; i++)
    {
      random = random * 1664525 + 1013904223;
      if ((random >> 24) % 4 != 0)
        free (blocks[i]);
    }
}

static void
op_count (Replay *replay, const ReplayOp *op)
{
  replay->n_ops++;
  if (op->slot_allocated & 1)
    {
      replay->n_allocs++;
      replay->bytes += op->size;
      replay->live += op->size;
      if (replay->live > replay->peak)
        replay->peak = replay->live;
    }
  else
    replay->live -= replay->slots[op->slot_allocated >> 1].size;
}

/* Returns true if the measurement leaves the operation out. */
static bool
is_left_out (const Replay *replay, const ReplayOp *op)
{
  const ReplayTask *task = replay->task;

  return (task->only_site != SITE_NONE && op->site != task->only_site)
         || (task->frees == FREES_NONE && !(op->slot_allocated & 1));
}

/* Finds where the live bytes are highest, in each part of the curve.  A burst
 * between two samples would not be seen otherwise. */
static void
curve_plan (Replay *replay, Curve *curve)
{
  const uint64_t n_ops = replay->head->n_ops;
  uint64_t live = 0, most[N_CURVE] = { 0 };

  for (uint64_t i = 0; i < n_ops; i++)
    {
      const ReplayOp *op = &replay->ops[i];
      uint32_t *size = &replay->slots[op->slot_allocated >> 1].size;
      uint64_t at = i * N_CURVE / n_ops;

      if (is_left_out (replay, op))
        continue;
      if (!(op->slot_allocated & 1))
        {
          live -= *size;
          continue;
        }
      *size = op->size;
      live += op->size;
      if (live > most[at])
        {
          most[at] = live;
          curve->highest[at] = i;
        }
    }
}

/* Takes a sample at the first operation of each part, and at its highest. */
static void
curve_step (const Replay *replay, Curve *curve, uint64_t i)
{
  uint64_t at = i * N_CURVE / replay->head->n_ops;
  uint64_t now, more;

  if (i < curve->next && i != curve->highest[at])
    return;
  now = anonymous_bytes ();
  more = now > curve->before ? now - curve->before : 0;
  if (more > curve->bytes[at])
    curve->bytes[at] = more;
  if (i >= curve->next)
    curve->next = ((at + 1) * replay->head->n_ops + N_CURVE - 1) / N_CURVE;
}

/* The arena with a slot's number. */
static ReplayArena *
slot_arena_of (Replay *replay, uint32_t number)
{
  const uint64_t n_sites = replay->head->n_sites;

  return number < n_sites ? &replay->arenas[number]
                          : &replay->groups[number - n_sites];
}

/* Replays an allocation; returns the number of the arena it was made in. */
static uint32_t
op_alloc (Replay *replay, const ReplayOp *op)
{
  uint32_t group = op->group_align >> 5;
  ReplayArena *arena = arena_of (replay, op, group);

  alloc_replay (replay, op, arena);
  return arena == &replay->arenas[op->site]
             ? op->site
             : (uint32_t) (replay->head->n_sites + group);
}

static void
op_free (Replay *replay, ReplaySlot *slot, uint32_t number)
{
  ReplayFrees frees = replay->task->frees;

  if (frees == FREES_VISIT)
    visit (replay, slot);
  else if (frees == FREES_READ)
    replay->sink = *(const volatile uint8_t *) slot->block;
  free_replay (slot, slot_arena_of (replay, number));
}

static void
ops_replay (Replay *replay, uint32_t *slot_arena, Curve *curve)
{
  const uint64_t n_ops = replay->head->n_ops;

  for (uint64_t i = 0; i < n_ops; i++)
    {
      const ReplayOp *op = &replay->ops[i];
      uint32_t slot;

      if (is_left_out (replay, op))
        continue;
      if (replay->task->pollute_lines > 0)
        pollute (replay);
      slot = op->slot_allocated >> 1;
      if (op->slot_allocated & 1)
        slot_arena[slot] = op_alloc (replay, op);
      else
        op_free (replay, &replay->slots[slot], slot_arena[slot]);
      if (curve == NULL)
        continue;
      op_count (replay, op);
      curve_step (replay, curve, i);
    }
}

static void
rest_free (Replay *replay, const uint32_t *slot_arena)
{
  for (uint64_t i = 0; i < replay->head->n_slots; i++)
    {
      ReplaySlot *slot = &replay->slots[i];
      ReplayArena *arena;

      if (slot->block == NULL)
        continue;
      arena = slot_arena_of (replay, slot_arena[i]);
      if (arena->backend == BACKEND_MALLOC || arena->backend == BACKEND_SLICE
          || arena->backend == BACKEND_TLSF
          || (arena->backend == BACKEND_POOL && slot->place))
        sli_backends[arena->backend].free (arena, slot);
      slot->block = NULL;
    }
  arenas_destroy (replay);
}

static int
double_compare (const void *a, const void *b)
{
  double left = *(const double *) a, right = *(const double *) b;

  return left < right ? -1 : left > right;
}

/* One line, which replay.c reads: totals, the least time and the median, and
 * how memory grew. */
static int
result_print (const Replay *replay, double *times, unsigned n,
              const uint64_t curve[N_CURVE])
{
  uint64_t peak = 0;

  qsort (times, n, sizeof *times, double_compare);
  for (int i = 0; i < N_CURVE; i++)
    if (curve[i] > peak)
      peak = curve[i];
  printf (
      "%llu %llu %llu %llu %.9f %.9f %llu", (unsigned long long) replay->n_ops,
      (unsigned long long) replay->n_allocs,
      (unsigned long long) replay->bytes, (unsigned long long) replay->peak,
      times[0], times[n / 2], (unsigned long long) peak);
  for (int i = 0; i < N_CURVE; i++)
    printf (" %llu", (unsigned long long) curve[i]);
  putchar ('\n');
  return fflush (stdout) == 0 ? TOOL_OK : TOOL_FAILED;
}

int
sli_replay_run (const ReplayTask *task)
{
  Replay replay = { .task = task };
  double times[N_REPEATS_MAX];
  Curve curve = { 0 };
  unsigned n = task->n_repeats < 1               ? 1
               : task->n_repeats > N_REPEATS_MAX ? N_REPEATS_MAX
                                                 : task->n_repeats;
  uint32_t *slot_arena;

  ops_map (&replay, task->ops_path);
  if (task->block_bytes > 0)
    sli_backends_block_bytes (task->block_bytes);
  replay.slots = memory_map (replay.head->n_slots * sizeof (ReplaySlot));
  replay.arenas = memory_map (replay.head->n_sites * sizeof (ReplayArena));
  replay.groups = memory_map (replay.head->n_groups * sizeof (ReplayArena));
  if (task->pollute_lines > 0)
    replay.polluter = memory_map (POLLUTE_BYTES);
  slot_arena = memory_map (replay.head->n_slots * sizeof (uint32_t));
  if (task->litter)
    litter_make ();
  curve_plan (&replay, &curve);
  curve.before = anonymous_bytes ();
  /* measure memory separately, so that it costs no time below, and first, on a
   * fresh heap */
  arenas_make (&replay);
  ops_replay (&replay, slot_arena, &curve);
  rest_free (&replay, slot_arena);
  for (unsigned i = 0; i < n; i++)
    {
      double start;

      arenas_make (&replay);
      start = seconds_now ();
      ops_replay (&replay, slot_arena, NULL);
      times[i] = seconds_now () - start;
      rest_free (&replay, slot_arena);
    }
  return result_print (&replay, times, n, curve.bytes);
}
