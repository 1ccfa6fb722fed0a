/* record-event.c - records an event
 *
 * Tools: the preloaded object (record.h).  While an event is written the
 * thread is busy.  A call within that, by a signal handler, is served and
 * counted but not recorded.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-sample.h"
#include <errno.h>
#include <sys/single_threaded.h>

/* --- the unwinder's own blocks ------------------------------------------- */

/* libunwind allocates a thread-local block for a thread, through the loader.
 * Others free it when the thread has ended; such a free is no event.  A filter
 * makes the check one load for all other blocks. */
#define N_OWN_BLOCKS 4096

static struct
{
  _Atomic uint64_t blocks[N_OWN_BLOCKS];
  _Atomic uint8_t filter[N_OWN_BLOCKS];
} own;

static uint32_t
own_slot (uint64_t address)
{
  return (uint32_t) ((address * UINT64_C (0x9E3779B97F4A7C15)) >> 52);
}

static void
own_note (void *block)
{
  uint32_t slot = own_slot ((uint64_t) block);

  atomic_store (&own.filter[slot], 1);
  for (uint32_t i = 0; i < N_OWN_BLOCKS; i++)
    {
      uint64_t nothing = 0;

      if (atomic_compare_exchange_strong (
              &own.blocks[(slot + i) % N_OWN_BLOCKS], &nothing,
              (uint64_t) block))
        return;
    }
}

static bool
own_take (void *block)
{
  uint32_t slot = own_slot ((uint64_t) block);

  if (LIKELY (own.filter[slot] == 0))
    return false;
  for (uint32_t i = 0; i < N_OWN_BLOCKS; i++)
    {
      uint64_t found = (uint64_t) block;

      if (own.blocks[(slot + i) % N_OWN_BLOCKS] == found
          && atomic_compare_exchange_strong (
              &own.blocks[(slot + i) % N_OWN_BLOCKS], &found, 0))
        return true;
    }
  return false;
}

/* --- events -------------------------------------------------------------- */

static bool
event_begin (RecordThread *self)
{
  if (UNLIKELY (!sli_record.ready))
    return false;
  if (UNLIKELY (self->busy))
    {
      if (!self->setup)
        atomic_fetch_add (&sli_record.head->n_dropped_nested, 1);
      return false;
    }
  self->busy = true;
  record_compiler_barrier ();
  if (UNLIKELY (self->was_overtaken))
    {
      self->was_overtaken = false;
      atomic_fetch_add (&sli_record.head->n_dropped_nested, 1);
    }
  if (UNLIKELY (*sli_record.own_page == 0))
    {
      sli_record_child_start (self);
      if (!sli_record.ready)
        {
          self->busy = false;
          return false;
        }
    }
  if (UNLIKELY (self->epoch != sli_record.epoch))
    {
      self->chunk = NULL;
      sli_stack_forget (self);
    }
  return true;
}

/* Makes the thread busy; false if it is, or if nothing is recorded. */
bool
sli_record_enter (RecordThread *self)
{
  if (LIKELY (sli_record.control == NULL))
    return event_begin (self);
  if (!sli_watch_begin (self))
    return false;
  if (event_begin (self))
    return true;
  sli_watch_end ();
  return false;
}

static void
event_finish (RecordThread *self)
{
  self->n_events++;
  atomic_store_explicit (&self->chunk->head.n_events, self->n_events,
                         memory_order_release);
}

static void
event_write (RecordThread *self, unsigned op, uint64_t address, size_t size,
             uint32_t node, uint64_t now, uint32_t extra)
{
  RawEvent *event = sli_spool_next_event (self, now);

  if (event == NULL)
    return;
  if (UNLIKELY (size > UINT32_MAX))
    {
      event->address_op = TRACE_OP_BIG;
      event->size = (uint32_t) (size >> 32);
      self->n_events++;
      event[1].ticks = event->ticks;
      event++;
    }
  event->address_op = address << 8 | op;
  event->node = node;
  event->size = (uint32_t) size;
  event->extra = extra;
  event_finish (self);
}

/* Reads the time after all earlier instructions are done.  Otherwise the clock
 * may be read before another thread's allocation of the block is visible, and
 * the free would seem to come before the allocation. */
static uint64_t
time_after (void)
{
  return __libc_single_threaded ? ticks_now () : ticks_after ();
}

/* Counts a call of malloc by libslice itself. */
static void
backing_count (void)
{
  if (sli_record.ready && sli_record.control == NULL)
    atomic_fetch_add (&sli_record.head->n_backing, 1);
}

/* Takes the mark of the operator whose event this is: its operation. */
static inline unsigned
tag_take (RecordThread *self, unsigned op)
{
  if (LIKELY (!self->wrapped))
    return op;
  op = self->tag;
  self->tag = 0;
  self->wrapped = false;
  return op;
}

void
sli_record_alloc (RecordThread *self, unsigned op, void *block, size_t size,
                  uint32_t extra)
{
  bool sampled;
  int saved_errno;

  if (UNLIKELY (self->inside != 0))
    {
      backing_count ();
      return;
    }
  sampled = sli_record.sample_bytes != 0;
  if (sampled && !sli_sample_take (self, size))
    return;
  if (UNLIKELY (self->setup) && block != NULL && !sampled)
    own_note (block);
  if (!sli_record_enter (self))
    return;
  saved_errno = errno;
  self->wrapped = self->tag != 0 && self->tag < TRACE_OP_FREE;
  if (UNLIKELY (block == NULL))
    {
      atomic_fetch_add (&sli_record.head->n_failed, 1);
      tag_take (self, op);
    }
  else
    {
      uint64_t now = time_after ();
      uint32_t node = sli_stack_node (self, sli_record.stack_depth);

      op = tag_take (self, op);
      if (UNLIKELY (node == SLI_STACK_INTERNAL))
        ;
      else if (sampled && !sli_sample_remember (block))
        atomic_fetch_add (&sli_record.head->n_dropped_full, 1);
      else
        event_write (self, op, (uint64_t) block, size, node, now, extra);
    }
  errno = saved_errno;
  record_leave (self);
}

/* Returns true if a free is no event: of a block that is not sampled, or of
 * one of the unwinder's. */
static bool
free_is_none (void *block)
{
  return sli_record.sample_bytes != 0 ? !sli_sample_forget (block)
                                      : own_take (block);
}

/* now  the time before the block was freed; 0 for this moment */
bool
sli_record_free (RecordThread *self, unsigned op, void *block, uint32_t extra,
                 uint64_t now)
{
  int saved_errno;
  uint32_t line, node;

  if (UNLIKELY (self->inside != 0))
    {
      backing_count ();
      return false;
    }
  if (UNLIKELY (free_is_none (block)) || !sli_record_enter (self))
    return false;
  saved_errno = errno;
  self->wrapped = self->tag >= TRACE_OP_FREE && op == TRACE_OP_FREE;
  if (LIKELY (now == 0))
    now = time_after ();
  line = self->line; /* for the next allocation, perhaps of a
                                 realloc */
  self->line = 0;
  node = sli_stack_node (self, sli_record.free_depth);
  self->line = line;
  op = tag_take (self, op);
  if (LIKELY (node != SLI_STACK_INTERNAL))
    event_write (self, op, (uint64_t) block, 0, node, now, extra);
  errno = saved_errno;
  record_leave (self);
  return true;
}

/* Counts a realloc that failed, and takes back the free of its block.
 *
 * was_freed  sli_record_free() has made an event of that
 */
void
sli_record_kept (RecordThread *self, void *block, bool was_freed)
{
  if (self->inside != 0 || !sli_record_enter (self))
    return;
  if (was_freed && sli_record.sample_bytes != 0)
    sli_sample_remember (block);
  if (was_freed)
    event_write (self, TRACE_OP_REALLOC_KEPT, (uint64_t) block, 0,
                 TRACE_NODE_CUT, ticks_now (), 0);
  atomic_fetch_add (&sli_record.head->n_failed, 1);
  record_leave (self);
}

/* Records a marker of the program: a scope or a point in time. */
void
sli_record_marker (unsigned op, const char *name)
{
  RecordThread *self = &sli_record_self;
  uint32_t id;

  if (!sli_record_enter (self))
    return;
  id = sli_spool_string (name);
  event_write (self, op, id, 0, TRACE_NODE_CUT, ticks_now (), 0);
  record_leave (self);
}

RECORD_API void
slice_trace_scope_begin_v1 (const char *name)
{
  sli_record_marker (TRACE_OP_SCOPE_BEGIN, name);
}

RECORD_API void
slice_trace_scope_end_v1 (const char *name)
{
  sli_record_marker (TRACE_OP_SCOPE_END, name);
}

RECORD_API void
slice_trace_mark_v1 (const char *name)
{
  sli_record_marker (TRACE_OP_MARK, name);
}

/* Sets the source line of this thread's next allocation. */
RECORD_API void
slice_trace_line_v1 (const char *file_line)
{
  RecordThread *self = &sli_record_self;

  if (!sli_record_enter (self))
    return;
  self->line = sli_spool_string (file_line);
  self->line_left = self->sample_left;
  record_leave (self);
}
