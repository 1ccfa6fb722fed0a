/* load-replay.c - replays a recorded sequence of allocations and frees
 *
 * The file's form is in docs/design/benchmark.md: a line an operation,
 *
 *   a THREAD ID SIZE
 *   f THREAD ID
 *
 * threads and ids numbered from 0, an id used again only after its free.  A
 * trace of slice-trace(1) is turned into that by slice-trace, in a process of
 * its own: so neither the reader's memory nor its libraries are in this one.
 * The file is read before anything is measured.  Each thread of the trace is a
 * thread here and runs its operations in order; one that frees a block which
 * another thread has yet to allocate waits for it.  Every block is touched, a
 * byte a line.  What is live at the end of the trace is freed by thread 0,
 * within the lap.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/bench/frame/measured.h"
#include "load.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a trace of slice-trace begins. */
#define RECORDED_MAGIC "SLTRACE\n"

/* Where slice-trace is if the environment does not say. */
#ifndef BENCH_SLICE_TRACE
# define BENCH_SLICE_TRACE "slice-trace"
#endif

/* size 0: a free */
typedef struct
{
  uint32_t id;
  uint32_t size;
} Operation;

typedef struct
{
  Operation *operations;
  size_t n, n_max;
} Track;

static struct
{
  Track tracks[THREADS_MAX];
  unsigned n_threads;
  size_t n_ids, n_allocs, n_frees;
  uint64_t peak_bytes; /* live, in the file's order */
  uint64_t used_bytes;
  void **blocks;       /* by id; NULL: not allocated yet, or freed */
  uint32_t *sizes;     /* by id */
  size_t n_sizes_max;
} trace;

/* Makes an array at least one longer, doubling it. */
static void *
array_grow (void *array, size_t *n_max, size_t element_bytes)
{
  size_t n = *n_max != 0 ? 2 * *n_max : 1 << 16;
  char *larger = bench_map (n * element_bytes);

  if (array != NULL)
    {
      memcpy (larger, array, *n_max * element_bytes);
      bench_unmap (array, *n_max * element_bytes);
    }
  *n_max = n;
  return larger;
}

static void
track_add (unsigned thread, uint32_t id, uint32_t size)
{
  Track *track = &trace.tracks[thread];

  if (track->n == track->n_max)
    track->operations = array_grow (track->operations, &track->n_max,
                                    sizeof *track->operations);
  track->operations[track->n++] = (Operation){ id, size };
  if (thread >= trace.n_threads)
    trace.n_threads = thread + 1;
}

/* Takes a line in; false if it is not as it should be. */
static bool
trace_line (const char *line, uint64_t *live_bytes)
{
  unsigned thread;
  unsigned long id, size = 0;
  char operation;
  int n = sscanf (line, "%c %u %lu %lu", &operation, &thread, &id, &size);

  if (n < 3 || thread >= THREADS_MAX || id > UINT32_MAX - 1
      || size > UINT32_MAX)
    return false;
  while (id >= trace.n_sizes_max)
    trace.sizes
        = array_grow (trace.sizes, &trace.n_sizes_max, sizeof *trace.sizes);
  if (operation == 'a' ? n != 4 || size == 0 || trace.sizes[id] != 0
                       : operation != 'f' || trace.sizes[id] == 0)
    return false;
  if (operation == 'a')
    {
      trace.sizes[id] = (uint32_t) size;
      trace.n_allocs++;
      trace.used_bytes += size;
      *live_bytes += size;
    }
  else
    {
      *live_bytes -= trace.sizes[id];
      trace.sizes[id] = 0;
      trace.n_frees++;
    }
  if (*live_bytes > trace.peak_bytes)
    trace.peak_bytes = *live_bytes;
  if (id >= trace.n_ids)
    trace.n_ids = id + 1;
  track_add (thread, (uint32_t) id, (uint32_t) size);
  return true;
}

/* What is preloaded is to be measured, and is no business of the reader's. */
static _Noreturn void
exporter_run (const char *path, int output)
{
  const char *program = getenv ("SLICE_TRACE");
  static const char message[]
      = "slice-bench: a recorded trace is read by slice-trace, which is not"
        " there; SLICE_TRACE may name it\n";

  if (program == NULL || program[0] == '\0')
    program = BENCH_SLICE_TRACE;
  unsetenv ("LD_PRELOAD");
  unsetenv ("SLICE_OPTIONS");
  if (dup2 (output, STDOUT_FILENO) >= 0)
    execlp (program, program, "export", "--format", "operations", path,
            (char *) NULL);
  if (write (STDERR_FILENO, message, sizeof message - 1) < 0)
    _exit (126);
  _exit (127);
}

/* The operations of a recorded trace, by way of a pipe. */
static FILE *
exporter_open (const char *path, pid_t *child)
{
  int ends[2];

  if (pipe (ends) != 0 || (*child = fork ()) < 0)
    bench_die ("cannot start slice-trace");
  if (*child == 0)
    {
      close (ends[0]);
      exporter_run (path, ends[1]);
    }
  close (ends[1]);
  return fdopen (ends[0], "r");
}

/* The one text that is no operation nor a comment.  (A pipe can't be read
 * again from its start.) */
static bool
is_recorded (FILE *file)
{
  int first = getc (file);

  return ungetc (first, file) == RECORDED_MAGIC[0];
}

static FILE *
trace_open (const char *path, pid_t *child)
{
  FILE *file;

  *child = 0;
  if (strcmp (path, "-") == 0)
    return stdin;
  file = fopen (path, "r");
  if (file == NULL)
    bench_die ("cannot open %s", path);
  if (!is_recorded (file))
    return file;
  fclose (file);
  return exporter_open (path, child);
}

static void
trace_close (FILE *file, const char *path, pid_t child)
{
  int status = 0;

  if (file != stdin)
    fclose (file);
  if (child != 0 && (waitpid (child, &status, 0) != child || status != 0))
    bench_die ("%s: slice-trace could not read it", path);
}

static void
trace_read (const char *path)
{
  char line[256];
  uint64_t live_bytes = 0;
  unsigned long n_line = 0;
  pid_t child;
  FILE *file = trace_open (path, &child);

  if (file == NULL)
    bench_die ("cannot open %s", path);
  while (fgets (line, sizeof line, file) != NULL)
    {
      n_line++;
      if (line[0] != '#' && line[0] != '\n' && !trace_line (line, &live_bytes))
        bench_die ("%s: line %lu: not an operation that can be: %s", path,
                   n_line, line);
    }
  if (ferror (file))
    bench_die ("cannot read %s", path);
  trace_close (file, path, child);
  if (trace.n_allocs == 0)
    bench_die ("%s: no operations", path);
  trace.blocks = bench_map (trace.n_ids * sizeof *trace.blocks);
}

/* Waits until the block of an id is there (or, false, is gone): another thread
 * of the trace has yet to get to it. */
BENCH_INLINE void *
replay_wait (uint32_t id, bool is_there)
{
  void *block;

  while (
      ((block = __atomic_load_n (&trace.blocks[id], __ATOMIC_ACQUIRE)) != NULL)
      != is_there)
    sched_yield ();
  return block;
}

BENCH_INLINE void
replay_body (const Track *track, const bool observed)
{
  for (size_t i = 0; i < track->n; i++)
    {
      uint32_t id = track->operations[i].id;
      uint32_t size = track->operations[i].size;

      if (size != 0)
        {
          void *block;

          replay_wait (id, false);
          block = bench_alloc (observed, size, size);
          bench_touch (block, size);
          trace.sizes[id] = size;
          __atomic_store_n (&trace.blocks[id], block, __ATOMIC_RELEASE);
        }
      else
        {
          void *block = replay_wait (id, true);

          size = trace.sizes[id];
          __atomic_store_n (&trace.blocks[id], NULL, __ATOMIC_RELEASE);
          bench_free (observed, size, block);
        }
    }
}

static void
replay_thread (Run *run, unsigned thread, void *data)
{
  (void) data;
  BENCH_BODY (run, replay_body, &trace.tracks[thread]);
}

/* Frees what the trace leaves. */
static void
replay_rest (Run *run)
{
  for (size_t id = 0; id < trace.n_ids; id++)
    if (trace.blocks[id] != NULL)
      {
        bench_free (run->is_observed, trace.sizes[id], trace.blocks[id]);
        trace.blocks[id] = NULL;
      }
}

/* One lap; CPU time of the process, less that of weighing it. */
static double
replay_lap (Run *run, uint64_t *rss_peak)
{
  double start = bench_process_nsec ();
  double nsec;
  uint64_t rss;

  if (trace.n_threads == 1)
    replay_thread (run, 0, NULL);
  else
    bench_threads (run, trace.n_threads, replay_thread, NULL);
  nsec = bench_process_nsec () - start;
  rss = bench_rss_bytes ();
  *rss_peak = rss > *rss_peak ? rss : *rss_peak;
  start = bench_process_nsec ();
  replay_rest (run);
  nsec += bench_process_nsec () - start;
  return nsec / (double) trace.n_allocs;
}

void
load_replay (Run *run)
{
  static double laps[LAPS_MAX + 1];
  uint64_t rss_before;
  uint64_t rss_peak;

  if (run->parameters.file == NULL)
    bench_die ("replay needs a FILE");
  if (run->parameters.n_laps > LAPS_MAX)
    bench_die ("at most %d laps", LAPS_MAX);
  trace_read (run->parameters.file);
  run->parameters.n_threads = trace.n_threads;
  rss_before = bench_rss_bytes ();
  rss_peak = rss_before;
  for (unsigned lap = 0; lap <= run->parameters.n_laps; lap++)
    laps[lap] = replay_lap (run, &rss_peak);
  bench_add_laps (run, "ns", (unsigned) run->parameters.n_laps, laps + 1,
                  laps[0]);
  bench_add_value (run, "trace_allocs", (double) trace.n_allocs);
  bench_add_value (run, "trace_frees", (double) trace.n_frees);
  bench_add_value (run, "trace_requested_bytes", (double) trace.used_bytes);
  bench_add_value (run, "trace_peak_bytes", (double) trace.peak_bytes);
  bench_add_value (run, "rss_peak_bytes", (double) (rss_peak - rss_before));
}
