/* trace-write.c - writing a trace: events to columns, columns to blocks
 *
 * Tools.  A block's events are split into columns of similar values, which
 * zstd compresses as one frame.  The columns are small because addresses come
 * back.  A free names its allocation by counting allocations backwards, and an
 * allocation that reuses a freed block names that free; only other addresses
 * are written as differences.
 *
 * Design: chapter 13; docs/design/trace-format.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-write.h"
#include "tools/trace/common/table.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define ZSTD_LEVEL 1
#define VARINT_BYTES_MAX 10

typedef struct
{
  uint8_t *bytes;
  size_t n;
} Column;

typedef struct
{
  uint8_t *bytes;
  size_t capacity;
} Buffer;

struct TraceWriter
{
  FILE *file;
  uint64_t offset;
  uint64_t n_events;
  uint64_t head_hash; /* of the file */
  int error; /* of the first call that failed, as errno has it; or 0 */
  TraceIndexEntry *index;
  size_t n_index, index_capacity;
  Column columns[TRACE_N_COLUMNS];
  Buffer raw, packed; /* of the block that is written */
  /* by address: its last allocation and free in the block, from 1 */
  Table allocs, frees;
  ZSTD_CCtx *zstd;
};

/* Makes a buffer hold n bytes.  The buffer is kept: if it were freed after
 * each block, the next one would get new pages. */
static uint8_t *
buffer_reserve (Buffer *buffer, size_t n)
{
  if (n > buffer->capacity)
    {
      free (buffer->bytes);
      buffer->capacity = n + n / 4;
      buffer->bytes = malloc (buffer->capacity);
      if (buffer->bytes == NULL)
        buffer->capacity = 0;
    }
  return buffer->bytes;
}

static void
error_note (TraceWriter *writer, int error)
{
  if (writer->error == 0)
    writer->error = error;
}

static void
write_bytes (TraceWriter *writer, const void *bytes, size_t n)
{
  if (n > 0 && fwrite (bytes, 1, n, writer->file) != n)
    error_note (writer, errno);
  writer->offset += n;
}

uint64_t
sli_trace_head_hash (const TraceFileHead *head)
{
  TraceFileHead hashed = *head;

  hashed.version = 0;
  return sli_xxh64 (&hashed, sizeof hashed, 0);
}

/* Closes the file and frees the writer; errno is 0, or of the first failure. */
static void
writer_free (TraceWriter *writer)
{
  int error;

  if (fclose (writer->file) != 0)
    error_note (writer, errno);
  error = writer->error;
  for (int i = 0; i < TRACE_N_COLUMNS; i++)
    free (writer->columns[i].bytes);
  sli_table_free (&writer->allocs);
  sli_table_free (&writer->frees);
  free (writer->packed.bytes);
  free (writer->raw.bytes);
  free (writer->index);
  ZSTD_freeCCtx (writer->zstd);
  free (writer);
  errno = error;
}

/* Returns true if the writer has the memory that it needs for a block. */
static bool
writer_reserve (TraceWriter *writer)
{
  bool is_done = true;

  for (int i = 0; i < TRACE_N_COLUMNS; i++)
    {
      writer->columns[i].bytes = malloc (TRACE_BLOCK_EVENTS * VARINT_BYTES_MAX);
      is_done = is_done && writer->columns[i].bytes != NULL;
    }
  writer->zstd = ZSTD_createCCtx ();
  return is_done && writer->zstd != NULL;
}

TraceWriter *
sli_trace_create (const char *path, const TraceFileHead *head)
{
  FILE *file = fopen (path, "wbe");
  TraceWriter *writer;
  TraceFileHead full;

  if (file == NULL)
    return NULL;
  writer = calloc (1, sizeof *writer);
  if (writer == NULL)
    {
      fclose (file);
      return NULL;
    }
  writer->file = file;
  if (!writer_reserve (writer))
    {
      error_note (writer, ENOMEM);
      writer_free (writer);
      return NULL;
    }
  full = *head;
  memcpy (full.magic, TRACE_MAGIC, sizeof full.magic);
  full.version = head->flags & TRACE_FLAG_SAMPLED ? TRACE_VERSION_SAMPLED
                                                  : TRACE_VERSION;
  full.byte_order = TRACE_BYTE_ORDER;
  writer->head_hash = sli_trace_head_hash (&full);
  write_bytes (writer, &full, sizeof full);
  return writer;
}

/* --- columns ------------------------------------------------------------- */

static void
put_varint (Column *column, uint64_t value)
{
  uint8_t *at = column->bytes + column->n;

  while (value >= 0x80)
    {
      *at++ = (uint8_t) (value | 0x80);
      value >>= 7;
    }
  *at++ = (uint8_t) value;
  column->n = (size_t) (at - column->bytes);
}

static uint64_t
zigzag (int64_t value)
{
  return (uint64_t) value << 1 ^ (uint64_t) (value >> 63);
}

typedef struct
{
  uint64_t address, node; /* of the last event of this kind */
  uint32_t n;             /* events of this kind */
} Kind;

/* An odd number counts back to an event of the other kind with the same
 * address; an even one is a difference from the last of this kind. */
static void
put_address (Column *column, uint64_t address, Kind *own, const Kind *other,
             Table *own_table, const Table *other_table)
{
  uint32_t found = table_get (other_table, address);
  uint64_t upper = address >> 4;

  if (found != 0)
    put_varint (column, (uint64_t) (other->n - found) << 1 | 1);
  else
    put_varint (column, zigzag ((int64_t) (upper - own->address)) << 1);
  own->address = upper;
  *sli_table_add (own_table, address) = ++own->n;
}

static bool
has_address_kind (unsigned op)
{
  return op < TRACE_OP_SCOPE_BEGIN;
}

static void
put_event (TraceWriter *writer, const TraceEvent *event, Kind kinds[2],
           bool has_extra)
{
  Column *columns = writer->columns;
  unsigned op = event->op;
  bool is_free = trace_op_is_free (op);
  Kind *own = &kinds[is_free];
  bool unaligned = has_address_kind (op) && (event->address & 15) != 0;

  columns[TRACE_COLUMN_OP].bytes[columns[TRACE_COLUMN_OP].n++]
      = (uint8_t) (op | (unaligned ? TRACE_OP_UNALIGNED : 0));
  if (has_address_kind (op))
    put_address (&columns[TRACE_COLUMN_ADDRESS], event->address & ~15ull, own,
                 &kinds[!is_free], is_free ? &writer->frees : &writer->allocs,
                 is_free ? &writer->allocs : &writer->frees);
  else
    put_varint (&columns[TRACE_COLUMN_ADDRESS], event->address);
  if (unaligned)
    columns[TRACE_COLUMN_LOW].bytes[columns[TRACE_COLUMN_LOW].n++]
        = event->address & 15;
  put_varint (&columns[TRACE_COLUMN_NODE],
              zigzag ((int64_t) event->node - (int64_t) own->node));
  own->node = event->node;
  if (trace_op_is_alloc (op))
    put_varint (&columns[TRACE_COLUMN_SIZE], event->size);
  if (has_extra)
    put_varint (&columns[TRACE_COLUMN_EXTRA], event->extra);
}

static bool
any_extra (const TraceEvent *events, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (events[i].extra != 0)
      return true;
  return false;
}

/* --- blocks -------------------------------------------------------------- */

static void
index_add (TraceWriter *writer, const TraceBlockHead *head)
{
  TraceIndexEntry *entry;

  if (writer->n_index == writer->index_capacity)
    {
      size_t capacity = writer->index_capacity * 2 + 64;
      TraceIndexEntry *grown
          = realloc (writer->index, capacity * sizeof *grown);

      if (grown == NULL)
        {
          error_note (writer, ENOMEM);
          return;
        }
      writer->index = grown;
      writer->index_capacity = capacity;
    }
  entry = &writer->index[writer->n_index++];
  entry->offset = writer->offset;
  entry->first_ticks = head->first_ticks;
  entry->sequence = head->sequence;
  entry->thread = head->thread;
  entry->n_items = head->n_items;
  entry->type = head->type;
  entry->bytes = (uint32_t) sizeof *head + head->packed_bytes;
}

/* Compresses, completes the head and writes. */
static void
block_write (TraceWriter *writer, TraceBlockHead *head, const void *raw,
             size_t n_raw)
{
  size_t capacity = ZSTD_compressBound (n_raw);
  uint8_t *packed = buffer_reserve (&writer->packed, capacity);
  size_t n;
  const void *payload;

  if (packed == NULL)
    {
      error_note (writer, ENOMEM);
      return;
    }
  n = ZSTD_compressCCtx (writer->zstd, packed, capacity, raw, n_raw,
                         ZSTD_LEVEL);
  payload = packed;
  head->codec = TRACE_CODEC_ZSTD;
  if (ZSTD_isError (n) || n >= n_raw)
    {
      head->codec = TRACE_CODEC_RAW;
      payload = raw;
      n = n_raw;
    }
  head->magic = TRACE_BLOCK_MAGIC;
  head->raw_bytes = (uint32_t) n_raw;
  head->packed_bytes = (uint32_t) n;
  head->payload_hash = sli_xxh64 (payload, n, 0);
  head->head_check
      = (uint32_t) sli_xxh64 (head, offsetof (TraceBlockHead, head_check), 0);
  index_add (writer, head);
  write_bytes (writer, head, sizeof *head);
  write_bytes (writer, payload, n);
}

bool
sli_trace_write_block (TraceWriter *writer, TraceBlockType type,
                       uint64_t first, uint32_t n_items, const void *bytes,
                       size_t n_bytes)
{
  TraceBlockHead head
      = { .type = (uint8_t) type, .n_items = n_items, .first_ticks = first };

  block_write (writer, &head, bytes, n_bytes);
  return writer->error == 0;
}

/* Writes the events' parts to their columns. */
static void
columns_fill (TraceWriter *writer, const TraceEvent *events, size_t n,
              unsigned time_shift, bool has_extra)
{
  uint64_t first = events[0].ticks, last = 0;
  Kind kinds[2] = { { 0 } };

  sli_table_clear (&writer->allocs);
  sli_table_clear (&writer->frees);
  for (int i = 0; i < TRACE_N_COLUMNS; i++)
    writer->columns[i].n = 0;
  for (size_t i = 0; i < n; i++)
    {
      /* time must not run backwards within a thread; if the clock did by a
       * tick, keep the time */
      uint64_t since = events[i].ticks > first
                           ? (events[i].ticks - first) >> time_shift
                           : 0;

      if (since < last)
        since = last;
      put_varint (&writer->columns[TRACE_COLUMN_TIME], since - last);
      last = since;
      put_event (writer, &events[i], kinds, has_extra);
    }
}

/* Joins the columns and writes their lengths to the head; NULL: there is no
 * memory. */
static uint8_t *
columns_join (TraceWriter *writer, TraceBlockHead *head, size_t *total)
{
  uint8_t *raw, *at;

  *total = 0;
  for (int i = 0; i < TRACE_N_COLUMNS; i++)
    {
      head->column_bytes[i] = (uint32_t) writer->columns[i].n;
      *total += writer->columns[i].n;
    }
  raw = buffer_reserve (&writer->raw, *total);
  at = raw;
  if (raw == NULL)
    return NULL;
  for (int i = 0; i < TRACE_N_COLUMNS; i++)
    {
      memcpy (at, writer->columns[i].bytes, writer->columns[i].n);
      at += writer->columns[i].n;
    }
  return raw;
}

bool
sli_trace_write_events (TraceWriter *writer, const TraceEvent *events,
                        size_t n, uint64_t sequence, unsigned time_shift,
                        unsigned flags)
{
  bool has_extra;
  TraceBlockHead head;
  size_t total;
  uint8_t *raw;

  if (n == 0)
    return writer->error == 0;
  has_extra = any_extra (events, n);
  head = (TraceBlockHead){
    .type = TRACE_BLOCK_EVENTS_TYPE,
    .thread = events[0].thread,
    .n_items = (uint32_t) n,
    .first_ticks = events[0].ticks,
    .sequence = sequence,
    .time_shift = (uint8_t) time_shift,
    .flags = (uint8_t) (flags | (has_extra ? TRACE_BLOCK_HAS_EXTRA : 0))
  };
  columns_fill (writer, events, n, time_shift, has_extra);
  raw = columns_join (writer, &head, &total);
  if (raw == NULL)
    {
      error_note (writer, ENOMEM);
      return false;
    }
  block_write (writer, &head, raw, total);
  writer->n_events += n;
  return writer->error == 0;
}

uint64_t
sli_trace_written_bytes (const TraceWriter *writer)
{
  return writer->offset;
}

uint64_t
sli_trace_written_events (const TraceWriter *writer)
{
  return writer->n_events;
}

bool
sli_trace_finish (TraceWriter *writer)
{
  TraceTrailer trailer = { .index_offset = writer->offset };
  TraceBlockHead head;

  memcpy (trailer.magic, TRACE_TRAILER_MAGIC, sizeof trailer.magic);
  head = (TraceBlockHead){ .type = TRACE_BLOCK_INDEX,
                           .n_items = (uint32_t) writer->n_index,
                           .first_ticks = writer->head_hash };
  block_write (writer, &head, writer->index,
               writer->n_index * sizeof *writer->index);
  write_bytes (writer, &trailer, sizeof trailer);
  writer_free (writer);
  return errno == 0;
}
