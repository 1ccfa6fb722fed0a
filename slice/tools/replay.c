/* replay.c - a trace's operations again, on other allocators
 *
 * Tools.  The parent writes the operations and starts, for each measurement,
 * this program anew: its heap is fresh, and another malloc can be preloaded.
 * The child runs the operations several times and prints one line.
 *
 * What the loop itself costs (reading the operations, touching the blocks) is
 * measured the same way with no allocator behind it, and subtracted by those
 * who use the results.
 *
 * Theory: section 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "replay.h"
#include "commands.h"
#include "tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_REPEATS_MAX 15
#define POLLUTE_BYTES (8u << 20)
#define CACHE_LINE 64
#define LITTER_BLOCKS 200000

/* --- writing the operations ---------------------------------------------- */

/* Deaths of one site in a row, in one thread: the group of its owner. */
typedef struct
{
  uint32_t group;
} Burst;

typedef struct
{
  const Profile *profile;
  ReplayOp *ops;
  size_t n_ops, n_room;
  uint32_t *slot_op; /* by slot: the birth's place in ops */
  uint32_t *free_slots;
  uint32_t n_slots, n_free, n_slots_room;
  uint32_t *group_deaths; /* by group */
  uint32_t n_groups, n_groups_room;
  Burst *burst; /* by site */
  uint64_t bytes, n_births;
} OpWriter;

static ReplayOp *
op_add (OpWriter *writer)
{
  if (writer->n_ops == writer->n_room)
    {
      writer->n_room = writer->n_room * 2 + 65536;
      writer->ops
          = sli_tool_grow (writer->ops, writer->n_room * sizeof (ReplayOp));
    }
  return &writer->ops[writer->n_ops++];
}

static uint32_t
slot_take (OpWriter *writer)
{
  if (writer->n_free > 0)
    return writer->free_slots[--writer->n_free];
  if (writer->n_slots == writer->n_slots_room)
    {
      writer->n_slots_room = writer->n_slots_room * 2 + 1024;
      writer->slot_op = sli_tool_grow (
          writer->slot_op, writer->n_slots_room * sizeof (uint32_t));
      writer->free_slots = sli_tool_grow (
          writer->free_slots, writer->n_slots_room * sizeof (uint32_t));
    }
  return writer->n_slots++;
}

static void
op_birth (void *user, const Analysis *analysis, LiveObject *object,
          uint32_t unused)
{
  OpWriter *writer = user;
  uint32_t site = writer->profile->final_map[object->node];
  (void)analysis;
  (void)unused;
  object->slot = slot_take (writer);
  writer->slot_op[object->slot] = (uint32_t)writer->n_ops;
  ReplayOp *op = op_add (writer);
  op->slot_birth = object->slot << 1 | 1;
  op->size = object->size > UINT32_MAX ? UINT32_MAX : (uint32_t)object->size;
  op->site = site;
  op->group_align = 0;
  writer->burst[site].group = 0;
  writer->n_births++;
  writer->bytes += object->size;
}

static uint32_t
group_new (OpWriter *writer)
{
  uint32_t group = ++writer->n_groups;
  if (group >= writer->n_groups_room)
    {
      writer->n_groups_room = group * 2 + 64;
      writer->group_deaths = sli_tool_grow (
          writer->group_deaths, writer->n_groups_room * sizeof (uint32_t));
    }
  writer->group_deaths[group] = 0;
  return group;
}

/* What died alone, before its owner, is in no group. */
static void
groups_settle (OpWriter *writer)
{
  for (size_t i = 0; i < writer->n_ops; i++)
    {
      uint32_t group = writer->ops[i].group_align >> 5;
      if (group != 0 && writer->group_deaths[group] < BURST_RUN_MIN)
        writer->ops[i].group_align &= 31;
    }
}

/* The site's deaths since its last birth are one group. */
static void
op_death (void *user, const Analysis *analysis, const LiveObject *object,
          uint32_t unused, unsigned kind)
{
  OpWriter *writer = user;
  (void)analysis;
  (void)unused;
  (void)kind;
  ReplayOp *birth = &writer->ops[writer->slot_op[object->slot]];
  const SiteResult *result = &writer->profile->results[birth->site];
  if (result->verdict.class == CLASS_OWNER)
    {
      Burst *burst = &writer->burst[birth->site];
      if (burst->group == 0)
        burst->group = group_new (writer);
      writer->group_deaths[burst->group]++;
      birth->group_align |= burst->group << 5;
    }
  uint32_t site = birth->site;
  ReplayOp *op = op_add (writer); /* may move birth */
  *op = (ReplayOp){ .slot_birth = object->slot << 1, .site = site };
  writer->free_slots[writer->n_free++] = object->slot;
}

static bool
ops_save (const OpWriter *writer, const char *path)
{
  const Profile *profile = writer->profile;
  ReplayHead head = { .n_ops = writer->n_ops,
                      .n_slots = writer->n_slots,
                      .n_sites = profile->n_results,
                      .n_groups = (uint64_t)writer->n_groups + 1,
                      .n_births = writer->n_births,
                      .bytes = writer->bytes,
                      .peak = profile->totals.peak };
  FILE *file = fopen (path, "wbe");
  if (file == NULL)
    return false;
  fwrite (&head, sizeof head, 1, file);
  for (uint32_t i = 0; i < profile->n_results; i++)
    {
      const SiteResult *result = &profile->results[i];
      const SizeMix *mix = &result->stats->mix;
      ReplaySite site = { .class = result->verdict.class,
                          .alignment_log2 = result->stats->max_alignment };
      /* the larger of the two commonest sizes */
      uint32_t best[2][2] = { { 0 } };
      for (uint32_t at = 0; at < mix->n_slots; at++)
        if (mix->keys[at] != 0)
          {
            int place = mix->counts[at] > best[0][0] ? 0 : 1;
            if (place == 0)
              memcpy (best[1], best[0], sizeof best[0]);
            if (place == 0 || mix->counts[at] > best[1][0])
              {
                best[place][0] = mix->counts[at];
                best[place][1] = (mix->keys[at] - 1) * ROUND_BYTES;
              }
          }
      site.pool_bytes = best[0][1] > best[1][1] ? best[0][1] : best[1][1];
      fwrite (&site, sizeof site, 1, file);
    }
  fwrite (writer->ops, sizeof (ReplayOp), writer->n_ops, file);
  bool good = ferror (file) == 0;
  return fclose (file) == 0 && good;
}

bool
sli_replay_write (const Profile *profile, const char *ops_path)
{
  OpWriter writer = { .profile = profile };
  writer.burst = sli_tool_zero ((profile->n_results + 1) * sizeof (Burst));
  const uint32_t *maps[1] = { profile->final_map };
  const uint32_t n_sites[1] = { profile->n_results };
  Analysis *analysis = sli_analysis_new (1, maps, n_sites);
  analysis->observer = (Observer){ op_birth, op_death, &writer };
  TraceEvent event;
  sli_trace_rewind (profile->reader);
  while (sli_trace_next (profile->reader, &event))
    {
      size_t at = writer.n_ops;
      sli_analysis_event (analysis, &event);
      if (trace_op_is_birth (event.op) && writer.n_ops > at)
        writer.ops[writer.n_ops - 1].group_align |= event.extra & 31;
    }
  sli_analysis_free (analysis);
  groups_settle (&writer);
  bool good = ops_save (&writer, ops_path);
  if (!good)
    sli_tool_say ("%s: %s", ops_path, strerror (errno));
  free (writer.burst);
  free (writer.group_deaths);
  free (writer.ops);
  free (writer.slot_op);
  free (writer.free_slots);
  return good;
}

/* --- one measurement, in a process of its own ---------------------------- */

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
  /* what was done, counted in the run that is not timed */
  uint64_t n_ops, n_births, bytes, live, peak;
} Run;

static void *
memory_map (size_t bytes)
{
  void *map = mmap (NULL, bytes + 1, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (map == MAP_FAILED)
    sli_tool_die (TOOL_FAILED, "no memory");
  return map;
}

static void
ops_map (Run *run, const char *path)
{
  struct stat status;
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat (fd, &status) != 0)
    sli_tool_die (TOOL_BAD_INPUT, "%s: %s", path, strerror (errno));
  const uint8_t *map = mmap (NULL, (size_t)status.st_size, PROT_READ,
                             MAP_SHARED | MAP_POPULATE, fd, 0);
  if (map == MAP_FAILED)
    sli_tool_die (TOOL_FAILED, "%s: %s", path, strerror (errno));
  run->head = (const ReplayHead *)map;
  run->sites = (const ReplaySite *)(run->head + 1);
  run->ops = (const ReplayOp *)(run->sites + run->head->n_sites);
}

static void
arenas_make (Run *run)
{
  const ReplayTask *task = run->task;
  for (uint64_t i = 0; i < run->head->n_sites; i++)
    {
      ReplayArena *arena = &run->arenas[i];
      BackendId backend
          = task->advised
                ? sli_backend_of_class ((SiteClass)run->sites[i].class)
                : task->backend;
      memset (arena, 0, sizeof *arena);
      arena->backend = (uint8_t)backend;
      arena->pool_bytes = run->sites[i].pool_bytes;
    }
  memset (run->groups, 0, run->head->n_groups * sizeof (ReplayArena));
  for (uint64_t i = 1; i < run->head->n_groups; i++)
    {
      run->groups[i].backend = BACKEND_CONTEXT;
      run->groups[i].n_stack = 1; /* a group: see context_free() */
    }
}

/* Everything given back, outside of the measured time. */
static void
arenas_destroy (Run *run)
{
  for (uint64_t i = 0; i < run->head->n_sites; i++)
    {
      ReplayArena *arena = &run->arenas[i];
      const Backend *backend = &sli_backends[arena->backend];
      if (arena->arena != NULL && backend->destroy != NULL)
        backend->destroy (arena);
      arena->arena = NULL;
    }
  for (uint64_t i = 1; i < run->head->n_groups; i++)
    if (run->groups[i].arena != NULL)
      sli_backends[BACKEND_CONTEXT].destroy (&run->groups[i]);
}

static void
touch (void *block, uint32_t size)
{
  volatile char *bytes = block;
  /* a page's worth of a large block is enough to be fair to mmap */
  uint32_t most = size < 65536 ? size : 65536;
  for (uint32_t at = 0; at < most; at += CACHE_LINE)
    bytes[at] = 1;
}

static void
pollute (Run *run)
{
  unsigned sum = 0;
  for (unsigned i = 0; i < run->task->pollute_lines; i++)
    {
      sum += run->polluter[run->pollute_at];
      run->pollute_at
          = (run->pollute_at + 37 * CACHE_LINE) & (POLLUTE_BYTES - 1);
    }
  run->sink = sum;
}

/* An owner's group has its own arena, if that is what the site gets. */
static ReplayArena *
arena_of (Run *run, const ReplayOp *op, uint32_t group)
{
  ReplayArena *arena = &run->arenas[op->site];
  if (group != 0 && arena->backend == BACKEND_CONTEXT && run->task->advised)
    return &run->groups[group];
  return arena;
}

static void
birth_run (Run *run, const ReplayOp *op, ReplayArena *arena)
{
  ReplaySlot *slot = &run->slots[op->slot_birth >> 1];
  arena->n_live++;
  slot->size = op->size;
  slot->block = sli_backends[arena->backend].alloc (
      arena, op->size, op->group_align & 31, slot);
  touch (slot->block, op->size);
}

static void
death_run (ReplaySlot *slot, ReplayArena *arena)
{
  const Backend *backend = &sli_backends[arena->backend];
  backend->free (arena, slot);
  slot->block = NULL;
  if (--arena->n_live == 0 && backend->empty != NULL)
    backend->empty (arena);
}

/* As along a list: where the next block is says the one before.  (The words
 * read are those of no allocator's block, and zero.) */
static void
visit (Run *run, const ReplaySlot *slot)
{
  const char *word = (const char *)slot->block + sizeof (size_t);
  run->visited = *(const volatile size_t *)(word + run->visited);
}

static double
seconds_now (void)
{
  struct timespec now;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t
anonymous_bytes (void)
{
  char text[4096];
  int fd = open ("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read (fd, text, sizeof text - 1);
  if (fd >= 0)
    close (fd);
  if (n <= 0)
    return 0;
  text[n] = '\0';
  const char *found = strstr (text, "RssAnon:");
  return found == NULL ? 0 : strtoull (found + 8, NULL, 10) * 1024;
}

/* A heap that a program has used before: blocks of many sizes, three of four
 * freed again, so that what is free is in pieces. */
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
op_count (Run *run, const ReplayOp *op)
{
  run->n_ops++;
  if (op->slot_birth & 1)
    {
      run->n_births++;
      run->bytes += op->size;
      run->live += op->size;
      if (run->live > run->peak)
        run->peak = run->live;
    }
  else
    run->live -= run->slots[op->slot_birth >> 1].size;
}

static void
ops_run (Run *run, uint32_t *slot_arena, uint64_t *curve, uint64_t before)
{
  const uint64_t n_ops = run->head->n_ops;
  const uint32_t only = run->task->only_site;
  const ReplayDeaths deaths = run->task->deaths;
  const uint64_t n_sites = run->head->n_sites;
  uint64_t next_sample = 0;
  for (uint64_t i = 0; i < n_ops; i++)
    {
      const ReplayOp *op = &run->ops[i];
      if (only != SITE_NONE && op->site != only)
        continue;
      if (deaths == DEATHS_NONE && !(op->slot_birth & 1))
        continue;
      if (run->task->pollute_lines > 0)
        pollute (run);
      uint32_t slot = op->slot_birth >> 1;
      if (op->slot_birth & 1)
        {
          uint32_t group = op->group_align >> 5;
          ReplayArena *arena = arena_of (run, op, group);
          slot_arena[slot] = arena == &run->arenas[op->site]
                                 ? op->site
                                 : (uint32_t)(n_sites + group);
          birth_run (run, op, arena);
        }
      else
        {
          if (deaths == DEATHS_VISIT)
            visit (run, &run->slots[slot]);
          uint32_t number = slot_arena[slot];
          death_run (&run->slots[slot], number < n_sites
                                            ? &run->arenas[number]
                                            : &run->groups[number - n_sites]);
        }
      if (curve == NULL)
        continue;
      op_count (run, op);
      if (i >= next_sample)
        {
          uint64_t now = anonymous_bytes ();
          uint64_t at = i * N_CURVE / n_ops;
          curve[at] = now > before ? now - before : 0;
          next_sample = (at + 1) * n_ops / N_CURVE;
        }
    }
}

static void
rest_free (Run *run, const uint32_t *slot_arena)
{
  for (uint64_t i = 0; i < run->head->n_slots; i++)
    {
      ReplaySlot *slot = &run->slots[i];
      if (slot->block == NULL)
        continue;
      uint32_t number = slot_arena[i];
      ReplayArena *arena = number < run->head->n_sites
                               ? &run->arenas[number]
                               : &run->groups[number - run->head->n_sites];
      if (arena->backend == BACKEND_MALLOC || arena->backend == BACKEND_SLICE
          || arena->backend == BACKEND_TLSF
          || (arena->backend == BACKEND_POOL && slot->place))
        sli_backends[arena->backend].free (arena, slot);
      slot->block = NULL;
    }
  arenas_destroy (run);
}

static int
double_compare (const void *a, const void *b)
{
  double left = *(const double *)a, right = *(const double *)b;
  return left < right ? -1 : left > right;
}

int
sli_replay_run (const ReplayTask *task)
{
  Run run = { .task = task };
  double times[N_REPEATS_MAX];
  uint64_t curve[N_CURVE] = { 0 }, peak = 0;
  unsigned n = task->n_repeats < 1               ? 1
               : task->n_repeats > N_REPEATS_MAX ? N_REPEATS_MAX
                                                 : task->n_repeats;
  ops_map (&run, task->ops_path);
  if (task->block_bytes > 0)
    sli_backends_block_bytes (task->block_bytes);
  run.slots = memory_map (run.head->n_slots * sizeof (ReplaySlot));
  run.arenas = memory_map (run.head->n_sites * sizeof (ReplayArena));
  run.groups = memory_map (run.head->n_groups * sizeof (ReplayArena));
  run.polluter = memory_map (POLLUTE_BYTES);
  uint32_t *slot_arena = memory_map (run.head->n_slots * sizeof (uint32_t));
  if (task->litter)
    litter_make ();
  uint64_t before = anonymous_bytes ();
  /* memory apart, so that looking at it costs no time below, and first, on
   * a fresh heap */
  arenas_make (&run);
  ops_run (&run, slot_arena, curve, before);
  rest_free (&run, slot_arena);
  for (unsigned i = 0; i < n; i++)
    {
      arenas_make (&run);
      double start = seconds_now ();
      ops_run (&run, slot_arena, NULL, before);
      times[i] = seconds_now () - start;
      rest_free (&run, slot_arena);
    }
  qsort (times, n, sizeof *times, double_compare);
  for (int i = 0; i < N_CURVE; i++)
    if (curve[i] > peak)
      peak = curve[i];
  printf ("%llu %llu %llu %llu %.9f %.9f %llu",
          (unsigned long long)run.n_ops, (unsigned long long)run.n_births,
          (unsigned long long)run.bytes, (unsigned long long)run.peak,
          times[0], times[n / 2], (unsigned long long)peak);
  for (int i = 0; i < N_CURVE; i++)
    printf (" %llu", (unsigned long long)curve[i]);
  putchar ('\n');
  return fflush (stdout) == 0 ? TOOL_OK : TOOL_FAILED;
}

/* --- the parent's side --------------------------------------------------- */

static void
child_exec (const ReplayTask *task, int out)
{
  dup2 (out, STDOUT_FILENO);
  if (task->preload != NULL)
    setenv ("LD_PRELOAD", task->preload, 1);
  if (task->options != NULL)
    setenv ("SLICE_OPTIONS", task->options, 1);
  char numbers[6][24];
  snprintf (numbers[0], 24, "%u", task->only_site);
  snprintf (numbers[1], 24, "%u", task->n_repeats);
  snprintf (numbers[2], 24, "%zu", task->block_bytes);
  snprintf (numbers[3], 24, "%u", task->pollute_lines);
  snprintf (numbers[4], 24, "%d", task->litter);
  snprintf (numbers[5], 24, "%d", (int)task->deaths);
  execl ("/proc/self/exe", "slice-trace", "replay-run", task->ops_path,
         task->advised ? "advised" : sli_backend_name (task->backend),
         numbers[0], numbers[1], numbers[2], numbers[3], numbers[4],
         numbers[5], (char *)NULL);
  _exit (TOOL_NOT_RUN);
}

static bool
result_parse (FILE *file, ReplayResult *result)
{
  unsigned long long numbers[5];
  if (fscanf (file, "%llu %llu %llu %llu %lf %lf %llu", &numbers[0],
              &numbers[1], &numbers[2], &numbers[3], &result->nsec,
              &result->nsec_median, &numbers[4])
      != 7)
    return false;
  result->n_ops = numbers[0];
  result->n_births = numbers[1];
  result->bytes = numbers[2];
  result->peak_live = numbers[3];
  result->rss_peak = numbers[4];
  result->nsec *= 1e9;
  result->nsec_median *= 1e9;
  for (int i = 0; i < N_CURVE; i++)
    {
      unsigned long long value;
      if (fscanf (file, "%llu", &value) != 1)
        return false;
      result->curve[i] = value;
    }
  return true;
}

ReplayResult
sli_replay_measure (const ReplayTask *task)
{
  ReplayResult result = { 0 };
  int ends[2], status;
  if (pipe (ends) != 0)
    sli_tool_die (TOOL_FAILED, "pipe: %s", strerror (errno));
  pid_t pid = fork ();
  if (pid < 0)
    sli_tool_die (TOOL_FAILED, "fork: %s", strerror (errno));
  if (pid == 0)
    child_exec (task, ends[1]);
  close (ends[1]);
  FILE *file = fdopen (ends[0], "r");
  result.good = result_parse (file, &result);
  fclose (file);
  waitpid (pid, &status, 0);
  result.good
      = result.good && WIFEXITED (status) && WEXITSTATUS (status) == TOOL_OK;
  return result;
}

int
sli_command_replay_run (int argc, char **argv)
{
  if (argc != 8)
    sli_tool_die (TOOL_USAGE, "replay-run is for slice-trace itself");
  ReplayTask task = { .ops_path = argv[0],
                      .advised = strcmp (argv[1], "advised") == 0,
                      .only_site = (uint32_t)strtoul (argv[2], NULL, 10),
                      .n_repeats = (unsigned)atoi (argv[3]),
                      .block_bytes = strtoul (argv[4], NULL, 10),
                      .pollute_lines = (unsigned)atoi (argv[5]),
                      .litter = atoi (argv[6]) != 0,
                      .deaths = (ReplayDeaths)atoi (argv[7]) };
  task.backend = task.advised ? BACKEND_MALLOC : sli_backend_by_name (argv[1]);
  if (task.backend == N_BACKENDS)
    sli_tool_die (TOOL_FAILED, "%s: no such allocator", argv[1]);
  return sli_replay_run (&task);
}
