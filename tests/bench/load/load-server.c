/* load-server.c - blocks that one thread allocates and another frees
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/bench/frame/measured.h"
#include "load.h"

#include <pthread.h>

/* --- server
 * ------------------------------------------------------------------
 *
 * n_threads servers, each a line of threads: one replaces `batch` random
 * blocks among the n_blocks of its line, then ends, and the next of the line
 * inherits the blocks.  With batch four times n_blocks a quarter of all frees
 * are of blocks that a dead thread allocated.
 *
 * CPU time is the process's, since threads' ends (giving their caches back)
 * belong to the work.
 *
 * Source: Larson and Krishnan, Memory Allocation for Long-Running Server
 * Applications, ISMM 1998. */

typedef struct
{
  void *block;
  size_t size;
} Slot;

typedef struct
{
  Slot *slots;
  uint64_t random;
} Line;

BENCH_INLINE void
server_body (Run *run, Line *line, const bool observed)
{
  Slot *slots = line->slots;
  uint64_t random = line->random, n_blocks = run->parameters.n_blocks;

  for (uint64_t i = 0; i < run->parameters.batch; i++)
    {
      Slot *slot = &slots[random_below (&random, n_blocks)];

      bench_free (observed, slot->size, slot->block);
      slot->size = random_size (run, &random);
      slot->block = bench_alloc (observed, slot->size, 8);
      *(volatile uint64_t *) slot->block = i;
    }
  line->random = random;
}

static void
server_thread (Run *run, unsigned thread, void *data)
{
  Line *lines = data;

  BENCH_BODY (run, server_body, run, &lines[thread]);
}

static void
line_fill (Run *run, Line *line, unsigned thread)
{
  line->random = random_seed (run, thread);
  line->slots = bench_map (run->parameters.n_blocks * sizeof (Slot));
  for (size_t i = 0; i < run->parameters.n_blocks; i++)
    {
      Slot *slot = &line->slots[i];

      slot->size = random_size (run, &line->random);
      slot->block = bench_alloc (run->is_observed, slot->size, 8);
    }
}

void
load_server (Run *run)
{
  static double laps[LAPS_MAX + 1];
  Parameters *p = &run->parameters;
  unsigned n_threads = (unsigned) p->n_threads;
  uint64_t n_generations = p->n_operations / p->batch;
  Line *lines = bench_map (n_threads * sizeof *lines);
  uint64_t rss_before = bench_rss_bytes ();

  if (p->size_min < 8 || p->n_laps > LAPS_MAX)
    bench_die ("server: blocks of 8 bytes at least, %d laps", LAPS_MAX);
  for (unsigned t = 0; t < n_threads; t++)
    line_fill (run, &lines[t], t);
  for (unsigned lap = 0; lap <= p->n_laps; lap++)
    {
      double start = bench_process_nsec ();

      for (uint64_t g = 0; g < n_generations; g++)
        bench_threads (run, n_threads, server_thread, lines);
      laps[lap] = (bench_process_nsec () - start)
                  / (double) (n_generations * p->batch * n_threads);
    }
  bench_add_laps (run, "ns", (unsigned) p->n_laps, laps + 1, laps[0]);
  bench_add_value (run, "rss_before_bytes", (double) rss_before);
  bench_add_value (run, "rss_peak_bytes", (double) bench_rss_bytes ());
  for (unsigned t = 0; t < n_threads; t++)
    for (size_t i = 0; i < p->n_blocks; i++)
      bench_free (run->is_observed, lines[t].slots[i].size,
                  lines[t].slots[i].block);
  bench_add_value (run, "rss_after_bytes", (double) bench_rss_bytes ());
}

/* --- producer and consumer
 * ---------------------------------------------------
 *
 * Threads in couples (an odd one is left out): the even one allocates batches,
 * writes into every block and hands them over, the odd one reads and frees.
 * The queue blocks rather than spins, so that waiting costs no CPU time; it is
 * taken once a batch. */

enum
{
  QUEUE_N_BATCHES = 8 /* in flight at most */
};

typedef struct
{
  pthread_mutex_t lock;
  pthread_cond_t changed;
  void **batches[QUEUE_N_BATCHES];
  uint64_t n_put, n_got;
} Queue;

static Queue *
queue_new (size_t batch)
{
  Queue *queue = bench_map (sizeof *queue);

  pthread_mutex_init (&queue->lock, NULL);
  pthread_cond_init (&queue->changed, NULL);
  for (unsigned i = 0; i < QUEUE_N_BATCHES; i++)
    queue->batches[i] = bench_map (batch * sizeof (void *));
  return queue;
}

/* Waits until a batch may be written (limit QUEUE_N_BATCHES) or read (0). */
static void
queue_wait (Queue *queue, bool is_producer)
{
  pthread_mutex_lock (&queue->lock);
  while (is_producer ? queue->n_put - queue->n_got == QUEUE_N_BATCHES
                     : queue->n_put == queue->n_got)
    pthread_cond_wait (&queue->changed, &queue->lock);
  pthread_mutex_unlock (&queue->lock);
}

static void
queue_done (Queue *queue, uint64_t *n_done)
{
  pthread_mutex_lock (&queue->lock);
  ++*n_done;
  pthread_cond_signal (&queue->changed);
  pthread_mutex_unlock (&queue->lock);
}

BENCH_INLINE void
producer_body (Queue *queue, size_t batch, uint64_t n_batches, size_t size,
               const bool observed)
{
  for (uint64_t b = 0; b < n_batches; b++)
    {
      void **blocks;

      queue_wait (queue, true);
      blocks = queue->batches[queue->n_put % QUEUE_N_BATCHES];
      for (size_t i = 0; i < batch; i++)
        {
          blocks[i] = bench_alloc (observed, size, 8);
          *(volatile uint64_t *) blocks[i] = i;
        }
      queue_done (queue, &queue->n_put);
    }
}

BENCH_INLINE void
consumer_body (Queue *queue, size_t batch, uint64_t n_batches, size_t size,
               const bool observed)
{
  uint64_t sum = 0;

  for (uint64_t b = 0; b < n_batches; b++)
    {
      void **blocks;

      queue_wait (queue, false);
      blocks = queue->batches[queue->n_got % QUEUE_N_BATCHES];
      for (size_t i = 0; i < batch; i++)
        {
          sum += *(volatile uint64_t *) blocks[i];
          bench_free (observed, size, blocks[i]);
        }
      queue_done (queue, &queue->n_got);
    }
  if (sum != n_batches * (batch * (batch - 1) / 2))
    bench_die ("producer: a block's content changed on its way");
}

static Queue *producer_queues[THREADS_MAX / 2];

static void
producer_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  Queue *queue;
  size_t batch;
  uint64_t n_batches;

  (void) state;
  queue = producer_queues[thread / 2];
  batch = run->parameters.batch;
  n_batches = run->parameters.n_operations / batch;
  if (queue == NULL)
    return;
  if (thread % 2 == 0)
    {
      BENCH_BODY (run, producer_body, queue, batch, n_batches,
                  run->parameters.size_min);
      lap->n_pairs = n_batches * batch;
    }
  else
    BENCH_BODY (run, consumer_body, queue, batch, n_batches,
                run->parameters.size_min);
}

void
load_producer (Run *run)
{
  if (run->parameters.n_threads < 2 || run->parameters.size_min < 8)
    bench_die ("producer: two threads and 8 bytes at least");
  for (unsigned i = 0; i < run->parameters.n_threads / 2; i++)
    producer_queues[i] = queue_new (run->parameters.batch);
  bench_gang (run, &(GangWork){ .lap = producer_lap });
}
