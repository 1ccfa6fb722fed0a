/* run.c - a gang of threads that walk or replay, and its clocks
 *
 * A lap is the unit of work: a round of the walk, or the stream once.  Each
 * thread fills its table, runs laps that are not timed to warm up, and waits
 * for the others; then all run timed laps until the time is over (or for the
 * number of laps asked for), wait again, and free what they hold.  CPU time
 * is each thread's own and summed; wall time is from the first timed lap's
 * start to the last one's end.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/stress.h>

#include <slice/slice.h>
#include <slice/stats.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Laps that warm up: enough for magazines to find their size. */
#define WARM_WALK_LAPS 20
#define WARM_REPLAY_LAPS 1
/* Threads' seeds are this far apart, so that their walks differ. */
#define SEED_STEP 0x9e3779b9u
/* How often the bar moves. */
#define PROGRESS_NSEC 100000000

typedef struct Gang Gang;

typedef struct
{
  Gang *gang;
  pthread_t thread;
  unsigned index;
  Walk walk;
  Replay replay;
  uint64_t n_laps;  /* timed; main reads it for the bar */
  double first_sec; /* CPU time of the very first lap */
  double cpu_sec;
  double began_sec, ended_sec;
} Worker;

struct Gang
{
  const Options *options;
  const Stream *stream; /* NULL: walk */
  Careful *careful;     /* NULL: fast laps */
  uint64_t pairs_per_lap;
  Worker *workers;
  unsigned n_done; /* atomic */
  pthread_barrier_t start, stop;
};

/* --- one thread -----------------------------------------------------------
 */

static void
worker_lap (Worker *worker)
{
  const Gang *gang = worker->gang;

  if (gang->careful != NULL && gang->stream != NULL)
    careful_replay (gang->careful, worker->index);
  else if (gang->careful != NULL)
    careful_walk (gang->careful, worker->index);
  else if (gang->stream != NULL)
    gang->options->contestant->replay (&worker->replay);
  else
    gang->options->contestant->walk (&worker->walk, gang->options);
}

static void
worker_fill (Worker *worker)
{
  const Options *options = worker->gang->options;
  Walk *walk = &worker->walk;

  if (worker->gang->careful != NULL)
    return;
  if (worker->gang->stream != NULL)
    {
      worker->replay.stream = worker->gang->stream;
      worker->replay.touch = options->touch;
      worker->replay.blocks
          = stress_alloc (worker->gang->stream->n_slots, sizeof (void *));
      return;
    }
  walk->n_blocks = options->n_blocks;
  walk->modulus = options->modulus;
  walk->random = options->seed + worker->index * SEED_STEP;
  walk->blocks = stress_alloc (options->n_blocks, sizeof (void *));
  walk->sizes = stress_alloc (options->n_blocks, sizeof (uint32_t));
  for (uint32_t i = 0; i < walk->n_blocks; i++)
    {
      walk->random = walk_next (walk->random);
      walk->sizes[i] = walk->random % walk->modulus;
      walk->blocks[i] = options->contestant->calls.alloc (walk->sizes[i]);
    }
}

static void
worker_empty (Worker *worker)
{
  const Options *options = worker->gang->options;
  Walk *walk = &worker->walk;

  if (worker->gang->careful != NULL)
    careful_finish_thread (worker->gang->careful, worker->index);
  else if (worker->gang->stream != NULL)
    free (worker->replay.blocks);
  else
    {
      for (uint32_t i = 0; i < walk->n_blocks; i++)
        options->contestant->calls.free (walk->sizes[i], walk->blocks[i]);
      free (walk->blocks);
      free (walk->sizes);
    }
}

static void
worker_warm (Worker *worker)
{
  double began = clock_thread_sec ();
  unsigned n;

  worker_lap (worker);
  worker->first_sec = clock_thread_sec () - began;
  n = worker->gang->stream != NULL ? WARM_REPLAY_LAPS : WARM_WALK_LAPS;
  while (--n > 0)
    worker_lap (worker);
}

static void
worker_timed_laps (Worker *worker)
{
  const Options *options = worker->gang->options;
  double deadline_sec = worker->began_sec + options->seconds;
  uint64_t n_laps = 0;

  do
    {
      worker_lap (worker);
      __atomic_store_n (&worker->n_laps, ++n_laps, __ATOMIC_RELAXED);
    }
  while (options->n_rounds > 0 ? n_laps < options->n_rounds
                               : clock_wall_sec () < deadline_sec);
}

static void *
worker_main (void *data)
{
  Worker *worker = data;
  Gang *gang = worker->gang;
  double cpu_began_sec;

  worker_fill (worker);
  worker_warm (worker);
  pthread_barrier_wait (&gang->start);
  worker->began_sec = clock_wall_sec ();
  cpu_began_sec = clock_thread_sec ();
  worker_timed_laps (worker);
  worker->cpu_sec = clock_thread_sec () - cpu_began_sec;
  worker->ended_sec = clock_wall_sec ();
  __atomic_add_fetch (&gang->n_done, 1, __ATOMIC_RELAXED);
  pthread_barrier_wait (&gang->stop);
  worker_empty (worker);
  return NULL;
}

/* --- the gang -------------------------------------------------------------
 */

/* The part of the work that the first thread has done. */
static double
gang_fraction (const Gang *gang, double began_sec)
{
  if (gang->options->n_rounds == 0)
    return (clock_wall_sec () - began_sec) / gang->options->seconds;
  return (double)__atomic_load_n (&gang->workers[0].n_laps, __ATOMIC_RELAXED)
         / (double)gang->options->n_rounds;
}

static void
gang_watch (Gang *gang)
{
  Progress progress;
  double began_sec;
  struct timespec nap;

  progress_begin (&progress, !gang->options->quiet);
  began_sec = clock_wall_sec ();
  nap = (struct timespec){ 0, PROGRESS_NSEC };
  while (progress.shown
         && __atomic_load_n (&gang->n_done, __ATOMIC_RELAXED)
                < gang->options->n_threads)
    {
      progress_show (&progress, gang_fraction (gang, began_sec),
                     gang->options->contestant->name);
      nanosleep (&nap, NULL);
    }
  progress_end (&progress);
}

static void
gang_start (Gang *gang)
{
  unsigned n_threads = gang->options->n_threads;

  pthread_barrier_init (&gang->start, NULL, n_threads);
  pthread_barrier_init (&gang->stop, NULL, n_threads);
  for (unsigned i = 0; i < n_threads; i++)
    {
      Worker *worker = &gang->workers[i];
      int error;

      worker->gang = gang;
      worker->index = i;
      error = pthread_create (&worker->thread, NULL, worker_main, worker);
      if (error != 0)
        stress_fail (EXIT_FOUND, "thread %u of %u can't be made: %s", i + 1,
                     n_threads, strerror (error));
    }
}

/* Sums up after all threads have ended. */
static void
gang_sum (const Gang *gang, RunResult *result)
{
  double began_sec = gang->workers[0].began_sec;
  double ended_sec = gang->workers[0].ended_sec;
  double first_sec = 0;
  uint64_t n_laps = 0;

  memset (result, 0, sizeof *result);
  for (unsigned i = 0; i < gang->options->n_threads; i++)
    {
      const Worker *worker = &gang->workers[i];

      n_laps += worker->n_laps;
      result->cpu_sec += worker->cpu_sec;
      first_sec += worker->first_sec;
      if (worker->began_sec < began_sec)
        began_sec = worker->began_sec;
      if (worker->ended_sec > ended_sec)
        ended_sec = worker->ended_sec;
    }
  result->n_pairs = n_laps * gang->pairs_per_lap;
  result->wall_sec = ended_sec - began_sec;
  result->first_nsec
      = first_sec * NSEC_PER_SEC
        / (double)(gang->pairs_per_lap * gang->options->n_threads);
}

/* The most memory that this program ever had in use.  (getrusage() would
 * count what the parent had before exec, too.) */
static uint64_t
peak_rss_bytes (void)
{
  FILE *status = fopen ("/proc/self/status", "re");
  char line[256];
  unsigned long kib = 0;

  if (status == NULL)
    return 0;
  while (fgets (line, sizeof line, status) != NULL)
    if (sscanf (line, "VmHWM: %lu", &kib) == 1)
      break;
  fclose (status);
  return (uint64_t)kib * 1024;
}

/* Everything is freed and all threads have ended, so the statistics, exact
 * in a process at rest, must show nothing alive. */
static void
slices_settle (const Options *options, RunResult *result)
{
  SliceStats stats;

  if (!options->contestant->is_slice || options->contestant->is_empty)
    return;
  if (slice_get_stats (&stats))
    result->kept_blocks = stats.live_blocks != 0
                          || stats.n_large_allocs != stats.n_large_frees;
  if (options->counters)
    {
      fflush (NULL);
      slice_print_stats (options->json ? STDERR_FILENO : STDOUT_FILENO);
    }
  result->trimmed_bytes = slice_trim (0);
}

static uint64_t
pairs_per_lap (const Gang *gang)
{
  uint64_t n_pairs = gang->options->n_blocks / 2;

  if (gang->stream != NULL)
    return gang->stream->n_pairs;
  if (gang->options->order == ORDER_ROWS && gang->careful == NULL)
    return n_pairs / WALK_ROW_BLOCKS * WALK_ROW_BLOCKS;
  return n_pairs;
}

/* Runs the walk, or the stream if there is one.  False: something was found
 * wrong, and said on standard error. */
bool
run_gang (const Options *options, const Stream *stream, RunResult *result)
{
  Gang gang = { .options = options, .stream = stream };

  if (options->check || options->share || options->lie != LIE_NONE)
    gang.careful = careful_new (options, stream);
  gang.pairs_per_lap = pairs_per_lap (&gang);
  gang.workers = stress_alloc (options->n_threads, sizeof (Worker));
  gang_start (&gang);
  gang_watch (&gang);
  for (unsigned i = 0; i < options->n_threads; i++)
    pthread_join (gang.workers[i].thread, NULL);
  gang_sum (&gang, result);
  result->peak_rss_bytes = peak_rss_bytes ();
  if (gang.careful != NULL)
    careful_destroy (gang.careful);
  free (gang.workers);
  pthread_barrier_destroy (&gang.start);
  pthread_barrier_destroy (&gang.stop);
  slices_settle (options, result);
  if (result->kept_blocks)
    fprintf (stderr, "slice-test: everything was freed, but the statistics"
                     " show blocks alive\n");
  return !result->kept_blocks;
}
