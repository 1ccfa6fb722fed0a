/* trace-stream.c - a trace's events, the threads merged by time
 *
 * Tools.  Each thread has one open block, and a heap orders the threads by the
 * event that each has decoded ahead.  Every number is checked by its bounds,
 * since a hash can be forged.
 *
 * Design: chapter 13; docs/design/trace-format.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tools/trace/common/tool.h"
#include "trace-read-parts.h"
#include <stdlib.h>
#include <string.h>

/* One thread's events, one block open at a time. */
struct TraceStream
{
  size_t first_block, next_block, end_block; /* in reader->blocks */
  bool primed; /* event holds one that was decoded */
  uint8_t *raw;
  size_t raw_capacity, address_capacity;
  const uint8_t *at[TRACE_N_COLUMNS], *end[TRACE_N_COLUMNS];
  uint64_t *addresses[2]; /* of allocs, of frees, in the block */
  uint32_t n_addresses[2];
  uint64_t last_address[2], last_node[2];
  uint64_t first_ticks, since;
  unsigned time_shift;
  bool has_extra;
  uint32_t n_left, thread;
  TraceEvent event; /* decoded ahead: the heap's key */
};

void
sli_streams_make (TraceReader *reader)
{
  size_t stream = 0;

  for (size_t i = 0; i < reader->n_blocks; i++)
    if (i == 0 || reader->blocks[i].thread != reader->blocks[i - 1].thread)
      reader->n_streams++;
  reader->streams
      = sli_tool_zero ((reader->n_streams + 1) * sizeof *reader->streams);
  reader->heap
      = sli_tool_zero ((reader->n_streams + 1) * sizeof *reader->heap);
  for (size_t i = 0; i < reader->n_blocks; i++)
    {
      if (i > 0 && reader->blocks[i].thread != reader->blocks[i - 1].thread)
        stream++;
      if (reader->streams[stream].end_block == 0)
        reader->streams[stream].first_block = i;
      reader->streams[stream].end_block = i + 1;
    }
}

static void
stream_free (TraceStream *stream)
{
  free (stream->raw);
  free (stream->addresses[0]);
  free (stream->addresses[1]);
  stream->raw = NULL;
  stream->raw_capacity = stream->address_capacity = 0;
  stream->addresses[0] = stream->addresses[1] = NULL;
}

void
sli_streams_free (TraceReader *reader)
{
  for (size_t i = 0; i < reader->n_streams; i++)
    stream_free (&reader->streams[i]);
  free (reader->streams);
  free (reader->heap);
}

/* Sets the columns to their parts of a block's bytes; false: they are too
 * long. */
static bool
columns_open (TraceStream *stream, const TraceBlockHead *head)
{
  uint64_t total = 0;

  for (int i = 0; i < TRACE_N_COLUMNS; i++)
    {
      if (head->column_bytes[i] > head->raw_bytes - total)
        return false;
      stream->at[i] = stream->raw + total;
      total += head->column_bytes[i];
      stream->end[i] = stream->raw + total;
    }
  return true;
}

/* Empties the tables of a block's addresses, which have space for as many as
 * it has events. */
static void
addresses_open (TraceStream *stream, uint32_t n_events)
{
  bool grow = stream->address_capacity < n_events;

  if (grow)
    stream->address_capacity = n_events;
  for (int kind = 0; kind < 2; kind++)
    {
      if (grow)
        stream->addresses[kind]
            = sli_tool_grow (stream->addresses[kind],
                             stream->address_capacity * sizeof (uint64_t));
      stream->n_addresses[kind] = 0;
      stream->last_address[kind] = stream->last_node[kind] = 0;
    }
}

static bool
block_open (TraceReader *reader, TraceStream *stream, uint64_t offset)
{
  TraceBlockHead head;

  if (!sli_trace_head_read (reader, offset, &head)
      || sli_trace_payload_read (reader, offset, &head, &stream->raw,
                                 &stream->raw_capacity)
             == NULL)
    return false;
  /* each event has an operation, so there are no more events */
  if (head.n_items > head.column_bytes[TRACE_COLUMN_OP])
    {
      sli_trace_damage (reader, offset, "its events are too few");
      return false;
    }
  if (!columns_open (stream, &head))
    {
      sli_trace_damage (reader, offset, "its columns do not fit");
      return false;
    }
  addresses_open (stream, head.n_items);
  stream->first_ticks = head.first_ticks;
  stream->since = 0;
  stream->time_shift = head.time_shift;
  stream->has_extra = (head.flags & TRACE_BLOCK_HAS_EXTRA) != 0;
  stream->n_left = head.n_items;
  stream->thread = head.thread;
  reader->bytes_read += sizeof head + head.packed_bytes;
  return true;
}

/* Reads the next number of a column; false: it has no more. */
static inline bool
column_read (TraceStream *stream, unsigned column, uint64_t *value)
{
  return get_varint (&stream->at[column], stream->end[column], value);
}

static bool
address_read (TraceStream *stream, bool is_free, uint64_t *address)
{
  uint64_t value;

  if (!column_read (stream, TRACE_COLUMN_ADDRESS, &value))
    return false;
  if (value & 1)
    {
      uint32_t n = stream->n_addresses[!is_free];

      if (value >> 1 >= n)
        return false;
      *address = stream->addresses[!is_free][n - 1 - (value >> 1)];
    }
  else
    *address
        = (stream->last_address[is_free] + (uint64_t) unzigzag (value >> 1))
          << 4;
  stream->last_address[is_free] = *address >> 4;
  stream->addresses[is_free][stream->n_addresses[is_free]++] = *address;
  return true;
}

/* Decodes an event's address: a scope's number, or that of a block; op: with
 * its flag. */
static bool
decode_address (TraceStream *stream, unsigned op)
{
  TraceEvent *event = &stream->event;

  if (event->op >= TRACE_OP_SCOPE_BEGIN)
    {
      if (!column_read (stream, TRACE_COLUMN_ADDRESS, &event->address))
        return false;
    }
  else if (!address_read (stream, trace_op_is_free (event->op),
                          &event->address))
    return false;
  if ((op & TRACE_OP_UNALIGNED) == 0)
    return true;
  if (stream->at[TRACE_COLUMN_LOW] >= stream->end[TRACE_COLUMN_LOW])
    return false;
  event->address |= *stream->at[TRACE_COLUMN_LOW]++ & 15;
  return true;
}

static bool
decode_node (const TraceReader *reader, TraceStream *stream)
{
  uint64_t value,
      *node = &stream->last_node[trace_op_is_free (stream->event.op)];

  if (!column_read (stream, TRACE_COLUMN_NODE, &value))
    return false;
  *node += (uint64_t) unzigzag (value);
  stream->event.node
      = *node < reader->n_nodes ? (uint32_t) *node : TRACE_NODE_CUT;
  if (reader->twins != NULL)
    stream->event.node = reader->twins[stream->event.node];
  return true;
}

/* Decodes the next event of the open block. */
static bool
event_decode (const TraceReader *reader, TraceStream *stream)
{
  TraceEvent *event = &stream->event;
  uint64_t value = 0;
  uint8_t op;

  if (stream->at[TRACE_COLUMN_OP] >= stream->end[TRACE_COLUMN_OP]
      || !column_read (stream, TRACE_COLUMN_TIME, &value))
    return false;
  op = *stream->at[TRACE_COLUMN_OP]++;
  stream->since += value;
  event->ticks = stream->first_ticks + (stream->since << stream->time_shift);
  event->op = op & 0x7f;
  event->thread = stream->thread;
  event->size = 0;
  event->extra = 0;
  if (!decode_address (stream, op) || !decode_node (reader, stream))
    return false;
  if (trace_op_is_alloc (event->op)
      && !column_read (stream, TRACE_COLUMN_SIZE, &event->size))
    return false;
  if (!stream->has_extra)
    return true;
  if (!column_read (stream, TRACE_COLUMN_EXTRA, &value))
    return false;
  event->extra = (uint32_t) value;
  return true;
}

/* Makes the stream's next event ready; false when it has no more. */
static bool
stream_advance (TraceReader *reader, TraceStream *stream)
{
  for (;;)
    {
      while (stream->n_left == 0)
        {
          uint64_t offset;

          if (stream->next_block == stream->end_block)
            {
              stream_free (stream);
              return false;
            }
          offset = reader->blocks[stream->next_block++].offset;
          if (!block_open (reader, stream, offset))
            stream->n_left = 0;
        }
      stream->n_left--;
      if (event_decode (reader, stream))
        return true;
      sli_trace_damage (reader, reader->blocks[stream->next_block - 1].offset,
                        "an event makes no sense");
      stream->n_left = 0;
    }
}

static bool
stream_before (const TraceStream *a, const TraceStream *b)
{
  return a->event.ticks < b->event.ticks
         || (a->event.ticks == b->event.ticks && a < b);
}

static void
heap_sink (TraceReader *reader, size_t at)
{
  TraceStream **heap = reader->heap;

  for (;;)
    {
      size_t least = at;
      TraceStream *swap;

      for (size_t child = 2 * at + 1;
           child <= 2 * at + 2 && child < reader->n_heap; child++)
        if (stream_before (heap[child], heap[least]))
          least = child;
      if (least == at)
        return;
      swap = heap[at];
      heap[at] = heap[least];
      heap[least] = swap;
      at = least;
    }
}

/* A stream whose first block comes later is in the heap by that block's time,
 * not open (n_left 0).  So thousands of threads that come and go need not all
 * be open at once. */
void
sli_trace_rewind (TraceReader *reader)
{
  reader->n_heap = 0;
  reader->bytes_read = 0;
  reader->is_reading = false;
  for (size_t i = 0; i < reader->n_streams; i++)
    {
      TraceStream *stream = &reader->streams[i];

      stream->next_block = stream->first_block;
      stream->n_left = 0;
      stream->primed = false;
      stream->event.ticks = reader->blocks[stream->first_block].first_ticks;
      reader->heap[reader->n_heap++] = stream;
    }
  for (size_t i = reader->n_heap; i-- > 0;)
    heap_sink (reader, i);
}

bool
sli_trace_next (TraceReader *reader, TraceEvent *event)
{
  if (!reader->is_reading)
    reader->n_passes++;
  reader->is_reading = true;
  while (reader->n_heap > 0)
    {
      TraceStream *stream = reader->heap[0];
      bool ready = stream->primed;

      if (ready)
        *event = stream->event;
      stream->primed = stream_advance (reader, stream);
      if (!stream->primed)
        reader->heap[0] = reader->heap[--reader->n_heap];
      if (reader->n_heap > 1)
        heap_sink (reader, 0);
      if (ready)
        {
          reader->last_ticks = event->ticks;
          return true;
        }
    }
  return false;
}

uint64_t
sli_trace_position (const TraceReader *reader)
{
  return reader->bytes_read;
}
