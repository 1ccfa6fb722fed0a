/* record-chunks.c - the chunks that threads write their events to
 *
 * Tools, in the preloaded object (record-spool.h).
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-spool.h"
#include <pthread.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* An event may need a time base and the high half of a size before it. */
#define EVENT_SLOTS_MAX 3

/* A thread waits for the packer if there are this many unpacked chunks of 1.5
 * MiB each, but only for this long; then it takes more memory. */
#define WAIT_CHUNKS 192
#define WAIT_MSEC_MAX 2000
/* A watcher that makes no round within this time has been stopped. */
#define BEAT_MSEC 500
/* A chunk of rare samples is given back at the first event after so many
 * ticks, some 100 s, so that the trace has them if the launcher is killed. */
#define CHUNK_TICKS_MAX (UINT64_C (64) << 32)

static _Atomic uint32_t *
chunk_states (void)
{
  return (_Atomic uint32_t *) (sli_spool.map + SPOOL_STATES_OFFSET);
}

static RawChunk *
chunk_at (uint32_t index)
{
  return (RawChunk *) (sli_spool.map + SPOOL_CHUNKS_OFFSET
                       + index * SPOOL_CHUNK_BYTES);
}

static uint32_t
chunk_free_claim (uint32_t n, bool *any_full)
{
  _Atomic uint32_t *states = chunk_states ();

  for (uint32_t i = 0; i < n; i++)
    {
      uint32_t at = (sli_spool.hint + i) % n;
      uint32_t state
          = atomic_load_explicit (&states[at], memory_order_relaxed);

      *any_full |= state == SPOOL_CHUNK_FULL;
      if (state == SPOOL_CHUNK_FREE
          && atomic_compare_exchange_strong (&states[at], &state,
                                             SPOOL_CHUNK_OWNED))
        {
          sli_spool.hint = at;
          return at;
        }
    }
  return UINT32_MAX;
}

/* Adds a chunk, and reserves the pages of its beginning. */
static bool
chunk_add (uint32_t n)
{
  if (n >= sli_spool.n_chunks_max
      || !sli_spool_reserve (SPOOL_CHUNKS_OFFSET + n * SPOOL_CHUNK_BYTES,
                             RESERVE_STEP))
    return false;
  /* or another thread has added it */
  atomic_compare_exchange_strong (&sli_record.head->n_chunks, &n, n + 1);
  return true;
}

/* Finds a free chunk, or one that was never used; UINT32_MAX if there is none.
 * If the spool can't grow, waits until the packer returns one. */
static uint32_t
chunk_claim (void)
{
  SpoolHead *head = sli_record.head;
  uint32_t beat = 0;

  for (unsigned waited = 0;;)
    {
      bool any_full = false;
      uint32_t n = atomic_load (&head->n_chunks);
      uint32_t at = chunk_free_claim (n, &any_full);
      bool waits, many;
      struct timespec msec;

      if (at != UINT32_MAX)
        return at;
      waits = waited < WAIT_MSEC_MAX && head->packer_pid != 0;
      many = n >= WAIT_CHUNKS + atomic_load (&head->n_threads);
      if (!(many && waits) && chunk_add (n))
        continue;
      if (!waits || !(many || any_full))
        return UINT32_MAX;
      msec = (struct timespec){ 0, 1000000 };
      syscall (SYS_nanosleep, &msec, NULL);
      waited++;
      if (waited % BEAT_MSEC == 0 && !sli_watch_beats (&beat))
        return UINT32_MAX;
    }
}

static void
chunk_release (RecordThread *self)
{
  if (self->chunk == NULL)
    return;
  if (self->epoch == sli_record.epoch)
    {
      atomic_fetch_add (&sli_record.head->n_events, self->n_events);
      atomic_store (&chunk_states ()[self->chunk_index], SPOOL_CHUNK_FULL);
    }
  self->chunk = NULL;
}

/* Reserves space for more of the thread's events in its chunk. */
static bool
chunk_grow (RecordThread *self)
{
  uint64_t begin = 0;
  uint64_t end, n;

  if (self->capacity > 0)
    begin = sizeof (RawChunkHead)
            + (self->capacity + EVENT_SLOTS_MAX) * sizeof (RawEvent);
  begin = (begin + RESERVE_STEP - 1) & ~(RESERVE_STEP - 1);
  end = begin + RESERVE_STEP;
  if (end > SPOOL_CHUNK_BYTES)
    end = SPOOL_CHUNK_BYTES;
  if (self->capacity >= TRACE_BLOCK_EVENTS - EVENT_SLOTS_MAX
      || !sli_spool_reserve (
          SPOOL_CHUNKS_OFFSET + self->chunk_index * SPOOL_CHUNK_BYTES + begin,
          end - begin))
    return false;
  n = (end - sizeof (RawChunkHead)) / sizeof (RawEvent);
  if (n > TRACE_BLOCK_EVENTS)
    n = TRACE_BLOCK_EVENTS;
  self->capacity = (uint32_t) n - EVENT_SLOTS_MAX;
  return true;
}

static bool
chunk_take (RecordThread *self, uint64_t now)
{
  uint32_t index;
  RawChunk *chunk;

  chunk_release (self);
  if (!sli_watch_has_watcher ())
    return false;
  index = chunk_claim ();
  self->capacity = 0;
  if (index == UINT32_MAX)
    {
      atomic_fetch_add (&sli_record.head->n_dropped_full, 1);
      return false;
    }
  chunk = chunk_at (index);
  if (self->epoch != sli_record.epoch || self->thread == 0)
    self->thread = atomic_fetch_add (&sli_record.head->n_threads, 1) + 1;
  self->epoch = sli_record.epoch;
  self->n_events = 0;
  self->chunk_index = index;
  /* first, so that a watcher takes no old event for one of the new chunk */
  atomic_store (&chunk->head.n_events, 0);
  chunk->head.base_ticks = self->base_ticks = now;
  chunk->head.thread = self->thread;
  chunk->head.tid = (uint32_t) syscall (SYS_gettid);
  chunk->head.many_threads = !__libc_single_threaded;
  chunk->head.sequence = atomic_fetch_add (&sli_record.head->sequence, 1);
  self->chunk = chunk;
  chunk_grow (self); /* this part is reserved: see chunk_add() */
  if (sli_spool.has_key && !self->late)
    pthread_setspecific (sli_spool.key, self);
  return true;
}

/* Starts a new time base in the chunk, by an event of its own. */
static void
base_move (RecordThread *self, uint64_t now)
{
  RawChunk *chunk = self->chunk;

  chunk->events[self->n_events++]
      = (RawEvent){ .address_op
                    = (now - chunk->head.base_ticks) << 8 | TRACE_OP_TIME };
  self->base_ticks = now;
}

/* The slot of the thread's next event.  After a long pause, or when a second
 * thread starts, starts a new chunk; in a sampled recording, where pauses are
 * usual, a new time base. */
RawEvent *
sli_spool_next_event (RecordThread *self, uint64_t now)
{
  RawChunk *chunk = self->chunk;
  uint64_t ticks;
  RawEvent *event;

  if (UNLIKELY (chunk == NULL || self->n_events >= self->capacity
                || chunk->head.many_threads
                       == (uint32_t) __libc_single_threaded))
    {
      bool more
          = chunk != NULL && self->n_events >= self->capacity
            && chunk->head.many_threads != (uint32_t) __libc_single_threaded
            && chunk_grow (self);

      if (!more && !chunk_take (self, now))
        return NULL;
      chunk = self->chunk;
    }
  ticks = now - self->base_ticks;
  if (UNLIKELY (ticks > UINT32_MAX))
    {
      if (sli_record.sample_bytes != 0
          && now - chunk->head.base_ticks < CHUNK_TICKS_MAX)
        base_move (self, now);
      else if (!chunk_take (self, now))
        return NULL;
      chunk = self->chunk;
      ticks = 0;
    }
  event = &chunk->events[self->n_events];
  event->ticks = (uint32_t) ticks;
  return event;
}

/* Gives the thread's chunk back in the last round of its destructors.  Later
 * events, of the C library itself, get a new one, which the packer collects at
 * the end. */
void
sli_chunk_thread_ends (void *value)
{
  RecordThread *self = value;
  bool was_busy;

  if (++self->exit_rounds < 4) /* PTHREAD_DESTRUCTOR_ITERATIONS */
    {
      pthread_setspecific (sli_spool.key, self);
      return;
    }
  was_busy = self->busy;
  self->busy = true;
  self->late = true;
  if (sli_record.control == NULL)
    chunk_release (self);
  else if (sli_watch_begin (self))
    {
      chunk_release (self);
      sli_watch_end ();
    }
  self->busy = was_busy;
}
