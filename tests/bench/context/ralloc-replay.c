/* ralloc-replay.c - a recorded compile, as operations on contexts
 *
 * Reads what Mesa's GLSL compiler did with contexts, linear contexts and gc
 * contexts (tests/data/mesa-compile.trace.xz, unpacked, on standard input) and
 * does it again with each peer, all in turn in every round:
 *
 *   slice    our contexts, linear and gc contexts
 *   ralloc   Mesa's, if a shared library made of its ralloc.c is named
 *   talloc   if libtalloc.so.2 is found: nodes for everything, as it has
 *            neither of the other two; what a sweep kills is freed singly
 *   malloc   no trees: the replay knows what dies, and frees it block by block
 *
 * APR's pools can neither free nor steal a node, so they are no peer here.
 * Destructors are left out.  What is alive at the end is freed.  The first
 * word of each block is written.  Printed is the median CPU time of a replay
 * and its ratio to malloc's.
 *
 * usage: ralloc-replay [-r rounds] [-m mesa-ralloc.so] [-o peer] [-t threads]
 *        [-k] [-l blocks] < trace
 *   -k  tell a recorder (slice-trace) each block's kind and size in place of a
 *       source line, which the recording has not: for malloc alone
 *   -l  in a heap full of others' blocks: so many mallocs of 16 to 256 bytes
 *       that live on, and as many holes among them
 *   -m  linked with -Bsymbolic, as our library has functions of these names;
 *       its mallocs go where the program's go
 *   -o  only this one
 *   -t  how n threads scale that replay it at once, each for itself
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <slice/ralloc.h>
#include <slice/trace.h>

#include <tests/recording/recording.h>

#include "tests/bench/measure.h"

enum
{
  N_PEERS_MAX = 4,
  N_THREADS_MAX = 64,
  REPLAYS_A_THREAD = 10,
  N_ROUNDS_MAX = 101
};

/* --- the recording, and what becomes of it ------------------------------- */

/* Operations have the recording's letters. */
typedef struct
{
  char letter;
  char kind; /* the letter in the recording */
  uint8_t align;
  uint32_t id, other; /* nodes; other: the parent or context, 0 is NULL */
  uint32_t size;
} Op;

typedef struct
{
  Op *ops;
  uint32_t n, capacity;
} Stream;

static Stream whole; /* as recorded */
static Stream trees; /* with neither linear nor gc contexts */
static Stream flat;  /* without trees */
static Recording recording;
static size_t n_lines;

static void
emit (Stream *stream, Op op)
{
  stream->ops
      = recording_grow (stream->ops, stream->n, &stream->capacity, sizeof op);
  stream->ops[stream->n++] = op;
}

static void
on_op (void *data, const RecordedOp *op)
{
  (void) data;
  emit (&whole, (Op){ .letter = op->letter,
                      .align = (uint8_t) op->alignment,
                      .id = op->node,
                      .other = op->other,
                      .size = op->size });
}

static void
on_made (void *data, uint32_t id)
{
  const RecordedNode *node;
  Op op;

  (void) data;
  node = &recording.nodes[id];
  op = (Op){ .letter = node->letter == 'z' ? 'z' : 'a',
             .kind = node->letter,
             .id = id,
             .other = node->parent,
             .size = node->size };
  emit (&trees, op);
  emit (&flat, op);
}

static void
on_resized (void *data, uint32_t id, uint32_t old_size)
{
  const RecordedNode *node;
  Op op;

  (void) data;
  (void) old_size;
  node = &recording.nodes[id];
  op = (Op){ .letter = 'r',
             .kind = 'r',
             .id = id,
             .other = node->parent,
             .size = node->size };
  emit (&trees, op);
  emit (&flat, op);
}

static void
on_moved (void *data, uint32_t id)
{
  (void) data;
  emit (&trees, (Op){ .letter = 's',
                      .id = id,
                      .other = recording.nodes[id].parent });
}

static void
on_freed (void *data, uint32_t id)
{
  (void) data;
  emit (&trees, (Op){ .letter = 'f', .id = id });
}

static void
on_ended (void *data, uint32_t id)
{
  (void) data;
  emit (&flat, (Op){ .letter = 'f', .id = id });
}

static bool
recording_take (void)
{
  static const RecordingEvents events = { .op = on_op,
                                          .made = on_made,
                                          .resized = on_resized,
                                          .moved = on_moved,
                                          .freed = on_freed,
                                          .ended = on_ended };
  bool is_good;

  recording = (Recording){ .program = "ralloc-replay",
                           .events = &events,
                           .size_max = INT32_MAX };
  recording_init (&recording);
  is_good = recording_read (&recording, stdin, "standard input");
  n_lines = whole.n;
  recording_finish (&recording);
  return is_good && n_lines > 0;
}

/* --- the peers ----------------------------------------------------------- */

typedef struct
{
  const char *name;
  void (*replay) (void);
} Peer;

static Peer peers[N_PEERS_MAX];
static unsigned n_peers;
static __thread void **blocks; /* by id */

static inline void
touch (void *block, size_t size)
{
  if (size >= sizeof (uint32_t))
    *(uint32_t *) block = 1;
}

/* What contexts with linear and gc contexts offer, by whatever names. */
typedef struct
{
  void *(*alloc) (const void *, size_t);
  void *(*zalloc) (const void *, size_t);
  void *(*resize) (const void *, void *, size_t);
  void (*free) (void *);
  void (*steal) (const void *, void *);
  void (*adopt) (const void *, void *);
  void *(*linear) (void *, unsigned);
  void *(*child) (void *, unsigned);
  void *(*gc) (const void *);
  void *(*gc_alloc) (void *, size_t, size_t);
  void (*gc_free) (void *);
  void (*gc_start) (void *);
  void (*gc_mark) (void *, const void *);
  void (*gc_end) (void *);
} Calls;

static inline __attribute__ ((always_inline)) void
replay_whole (const Calls *calls)
{
  for (const Op *op = whole.ops, *end = op + whole.n; op < end; op++)
    {
      void *ctx = blocks[op->other];
      void **block = &blocks[op->id];

      switch (op->letter)
        {
        case 'a':
          *block = calls->alloc (ctx, op->size);
          break;
        case 'z':
          *block = calls->zalloc (ctx, op->size);
          break;
        case 'r':
          *block = calls->resize (NULL, *block, op->size);
          break;
        case 'f':
          calls->free (*block);
          continue;
        case 's':
          calls->steal (ctx, *block);
          continue;
        case 'o':
          calls->adopt (*block, ctx);
          continue;
        case 'p':
          *block = calls->linear (ctx, op->size);
          break;
        case 'l':
          touch (calls->child (ctx, op->size), op->size);
          continue;
        case 'G':
          *block = calls->gc (ctx);
          continue;
        case 'g':
          *block = calls->gc_alloc (ctx, op->size, op->align);
          break;
        case 'x':
          calls->gc_free (*block);
          continue;
        case 'S':
          calls->gc_start (*block);
          continue;
        case 'm':
          calls->gc_mark (ctx, *block);
          continue;
        case 'E':
          calls->gc_end (*block);
          continue;
        }
      touch (*block, op->size);
    }
}

static void *
ours_size (const void *ctx, size_t size)
{
  return ralloc_size (ctx, size);
}

static void *
ours_zsize (const void *ctx, size_t size)
{
  return rzalloc_size (ctx, size);
}

static void *
ours_linear (void *ctx, unsigned size)
{
  return ralloc_linear_alloc_parent (ctx, size);
}

static void *
ours_child (void *linear, unsigned size)
{
  return ralloc_linear_alloc_child (linear, size);
}

static void *
ours_gc (const void *ctx)
{
  return ralloc_gc_context (ctx);
}

static void *
ours_gc_alloc (void *gc, size_t size, size_t align)
{
  return ralloc_gc_alloc_size (gc, size, align);
}

static void
ours_gc_start (void *gc)
{
  ralloc_gc_sweep_start (gc);
}

static void
ours_gc_mark (void *gc, const void *block)
{
  ralloc_gc_mark_live (gc, block);
}

static void
ours_gc_end (void *gc)
{
  ralloc_gc_sweep_end (gc);
}

static void
ours_replay (void)
{
  static const Calls calls
      = { ours_size,     ours_zsize,   reralloc_size, ralloc_free,
          ralloc_steal,  ralloc_adopt, ours_linear,   ours_child,
          ours_gc,       ours_gc_alloc, ralloc_gc_free, ours_gc_start,
          ours_gc_mark,  ours_gc_end };

  replay_whole (&calls);
}

static Calls mesa;

static void
mesa_replay (void)
{
  replay_whole (&mesa);
}

static bool
mesa_load (const char *path)
{
  static const char *const names[]
      = { "ralloc_size",         "rzalloc_size",       "reralloc_size",
          "ralloc_free",         "ralloc_steal",       "ralloc_adopt",
          "linear_alloc_parent", "linear_alloc_child", "gc_context",
          "gc_alloc_size",       "gc_free",            "gc_sweep_start",
          "gc_mark_live",        "gc_sweep_end" };
  void *library = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  void **slots = (void **) &mesa;

  if (library == NULL)
    {
      fprintf (stderr, "ralloc-replay: %s\n", dlerror ());
      return false;
    }
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
    {
      slots[i] = dlsym (library, names[i]);
      if (slots[i] == NULL)
        return false;
    }
  return true;
}

static struct
{
  void *(*named) (const void *, size_t, const char *);
  void *(*zero) (const void *, size_t, const char *);
  void *(*resize) (const void *, void *, size_t, const char *);
  int (*free) (void *, const char *);
  void *(*steal) (const void *, const void *, const char *);
} talloc;

static void
talloc_replay (void)
{
  for (const Op *op = trees.ops, *end = op + trees.n; op < end; op++)
    {
      void *ctx = blocks[op->other];
      void **block = &blocks[op->id];

      switch (op->letter)
        {
        case 'z':
          *block = talloc.zero (ctx, op->size, "replay");
          break;
        case 'r':
          *block = talloc.resize (ctx, *block, op->size, "replay");
          break;
        case 'f':
          talloc.free (*block, "replay");
          continue;
        case 's':
          talloc.steal (ctx, *block, "replay");
          continue;
        default:
          *block = talloc.named (ctx, op->size, "replay");
        }
      touch (*block, op->size);
    }
}

static bool
talloc_load (void)
{
  void *library = dlopen ("libtalloc.so.2", RTLD_NOW | RTLD_LOCAL);

  if (library == NULL)
    return false;
  *(void **) &talloc.named = dlsym (library, "talloc_named_const");
  *(void **) &talloc.zero = dlsym (library, "_talloc_zero");
  *(void **) &talloc.resize = dlsym (library, "_talloc_realloc");
  *(void **) &talloc.free = dlsym (library, "_talloc_free");
  *(void **) &talloc.steal = dlsym (library, "_talloc_steal_loc");
  return talloc.named != NULL && talloc.zero != NULL && talloc.resize != NULL
         && talloc.free != NULL && talloc.steal != NULL;
}

static bool is_telling;

static void
kind_tell (const Op *op)
{
  static const char letters[] = "azpGglr";
  static const char *const kinds[]
      = { "node", "node, zero", "linear context", "gc context",
          "gc object", "linear child", "resized" };
  char place[64];

  snprintf (place, sizeof place, "%s of %u",
            kinds[strchr (letters, op->kind) - letters], op->size);
  slice_trace_line_v1 (place);
}

static void
malloc_replay (void)
{
  for (const Op *op = flat.ops, *end = op + flat.n; op < end; op++)
    {
      void **block = &blocks[op->id];

      if (is_telling && op->letter != 'f')
        kind_tell (op);
      switch (op->letter)
        {
        case 'z':
          *block = calloc (1, op->size);
          break;
        case 'r':
          *block = realloc (*block, op->size > 0 ? op->size : 1);
          break;
        case 'f':
          free (*block);
          continue;
        default:
          *block = malloc (op->size);
        }
      touch (*block, op->size);
    }
}

/* --- measuring ----------------------------------------------------------- */

static double
cpu_nsec (void)
{
  return measure_nsec (CLOCK_PROCESS_CPUTIME_ID);
}

static void
measure (unsigned n_rounds)
{
  static double times[N_PEERS_MAX][N_ROUNDS_MAX];
  double base = 0;

  for (unsigned round = 0; round <= n_rounds; round++)
    for (unsigned p = 0; p < n_peers; p++)
      {
        double began = cpu_nsec ();

        peers[p].replay ();
        if (round > 0) /* the first counts for nothing */
          times[p][round - 1] = cpu_nsec () - began;
      }
  printf ("%zu operations, median of %u replays\n", n_lines, n_rounds);
  for (unsigned p = 0; p < n_peers; p++)
    {
      double median = measure_median (times[p], n_rounds);

      if (p == 0)
        base = median;
      printf ("  %-8s  %6.2f ms  %5.1f ns an operation  (%.2f)\n",
              peers[p].name, median / 1e6, median / (double) n_lines,
              median / base);
    }
}

/* --- several at once ----------------------------------------------------- */

static double
wall_nsec (void)
{
  return measure_nsec (CLOCK_MONOTONIC);
}

static void *
replay_some (void *data)
{
  const Peer *peer = data;

  blocks = calloc (recording.n_nodes, sizeof *blocks);
  if (blocks == NULL)
    abort ();
  for (unsigned i = 0; i < REPLAYS_A_THREAD; i++)
    peer->replay ();
  free (blocks);
  return NULL;
}

/* Wall-clock and CPU time for n threads to do REPLAYS_A_THREAD replays
 * each. */
static double
gang_time (const Peer *peer, unsigned n, double *cpu)
{
  double cpu_began = cpu_nsec ();
  pthread_t threads[N_THREADS_MAX];
  double began = wall_nsec ();

  for (unsigned i = 0; i < n; i++)
    if (pthread_create (&threads[i], NULL, replay_some, (void *) peer) != 0)
      abort ();
  for (unsigned i = 0; i < n; i++)
    pthread_join (threads[i], NULL);
  *cpu = cpu_nsec () - cpu_began;
  return wall_nsec () - began;
}

/* How many times as much do n threads get done as one?  On a machine with other
 * work to do, what a second of CPU time gets done, compared with one thread,
 * says more: 1 is all. */
static void
measure_scaling (unsigned n_rounds, unsigned n_threads)
{
  static double times[N_PEERS_MAX][N_ROUNDS_MAX];
  static double cpus[N_PEERS_MAX][N_ROUNDS_MAX];

  for (unsigned round = 0; round < n_rounds; round++)
    for (unsigned p = 0; p < n_peers; p++)
      {
        double cpu_alone, cpu;
        double alone = gang_time (&peers[p], 1, &cpu_alone);

        times[p][round]
            = n_threads * alone / gang_time (&peers[p], n_threads, &cpu);
        cpus[p][round] = n_threads * cpu_alone / cpu;
      }
  printf ("%u threads, %u replays each: work done in the time of one "
          "thread, median and best of %u; in its CPU time, median\n",
          n_threads, REPLAYS_A_THREAD, n_rounds);
  for (unsigned p = 0; p < n_peers; p++)
    {
      double median = measure_median (times[p], n_rounds);

      printf ("  %-8s  %.2f  %.2f;  %.2f\n", peers[p].name, median,
              times[p][n_rounds - 1], measure_median (cpus[p], n_rounds));
    }
}

/* Blocks of others; which of them make holes is random. */
static void
heap_fill (size_t n_blocks)
{
  void **others = calloc (2 * n_blocks + 1, sizeof *others);
  uint64_t state = 88172645463325252u;

  if (others == NULL)
    abort ();
  for (size_t i = 0; i < 3 * n_blocks; i++)
    {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      if (i < 2 * n_blocks)
        {
          others[i] = malloc (16 + state % 241);
          if (others[i] == NULL)
            abort ();
          memset (others[i], 1, 16);
        }
      else
        {
          size_t k = i - 2 * n_blocks + state % (4 * n_blocks - i);

          free (others[k]);
          others[k] = others[i - 2 * n_blocks];
        }
    }
  free (others); /* not what it points to */
}

int
main (int argc, char **argv)
{
  unsigned n_rounds = 11;
  unsigned n_threads = 1;
  const char *only = NULL;
  int option;

  peers[n_peers++] = (Peer){ "malloc", malloc_replay };
  peers[n_peers++] = (Peer){ "slice", ours_replay };
  while ((option = getopt (argc, argv, "r:m:o:t:l:k")) != -1)
    if (option == 'r')
      n_rounds = (unsigned) strtoul (optarg, NULL, 10);
    else if (option == 'o')
      only = optarg;
    else if (option == 'k')
      is_telling = slice_trace_line_v1 != NULL;
    else if (option == 'l')
      heap_fill (strtoul (optarg, NULL, 10));
    else if (option == 't')
      n_threads = (unsigned) strtoul (optarg, NULL, 10);
    else if (option != 'm')
      return 2;
    else if (mesa_load (optarg))
      peers[n_peers++] = (Peer){ "ralloc", mesa_replay };
  if (n_rounds == 0 || n_rounds > N_ROUNDS_MAX || n_threads == 0
      || n_threads > N_THREADS_MAX)
    return 2;
  if (talloc_load ())
    peers[n_peers++] = (Peer){ "talloc", talloc_replay };
  for (unsigned p = 0; only != NULL && p < n_peers; p++)
    if (strcmp (peers[p].name, only) == 0)
      {
        peers[0] = peers[p];
        n_peers = 1;
      }
  if (!recording_take ())
    return 1;
  blocks = calloc (recording.n_nodes, sizeof *blocks);
  if (blocks == NULL)
    return 1;
  if (n_threads > 1)
    measure_scaling (n_rounds, n_threads);
  else
    measure (n_rounds);
  return 0;
}
