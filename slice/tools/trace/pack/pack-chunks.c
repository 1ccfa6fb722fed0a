/* pack-chunks.c - packs the chunks and the log of a spool
 *
 * Tools.  Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#include "pack-parts.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>

void
sli_log_pack (Process *process)
{
  const SpoolHead *head = process->head;
  uint64_t end = atomic_load (&head->log_bytes);

  if (end > SPOOL_LOG_BYTES)
    end = SPOOL_LOG_BYTES;
  while (process->log_done + sizeof (LogRecord) <= end)
    {
      LogRecord *record = (LogRecord *) (process->map + SPOOL_LOG_OFFSET
                                         + process->log_done);
      uint32_t n = atomic_load (&record->bytes);
      const char *bytes;
      size_t n_bytes;
      bool command;

      if (n < sizeof *record || n > end - process->log_done)
        return;
      bytes = (const char *) (record + 1);
      n_bytes = n - sizeof *record;
      command = record->type == TRACE_BLOCK_COMMAND;
      while (command && n_bytes > 1 && bytes[n_bytes - 2] == '\0')
        n_bytes--; /* the record's padding */
      /* the first program's is known in full */
      if (!command || !process->first)
        sli_trace_write_block (process->writer, (TraceBlockType) record->type,
                               0, 1, bytes, n_bytes);
      process->has_command |= command;
      process->log_done += n;
    }
}

/* Writes the complete nodes as {parent, pc}.  When the process has ended,
 * writes a node that it was writing as an unknown frame. */
void
sli_nodes_pack (Process *process, bool ended)
{
  const RawNode *nodes = (const RawNode *) (process->map + SPOOL_NODES_OFFSET);
  uint32_t end = atomic_load (&process->head->n_nodes);
  uint32_t first = process->nodes_done;
  uint8_t *raw, *at;
  uint32_t n = 0;
  uint64_t last = 0;

  if (end > SPOOL_NODES_MAX)
    end = SPOOL_NODES_MAX;
  if (first >= end)
    return;
  /* columns: the parents' distances, then the pcs' differences */
  raw = sli_tool_alloc ((size_t) (end - first) * 20);
  at = raw;
  for (uint32_t i = first; i < end; i++, n++)
    {
      uint64_t pc = atomic_load (&nodes[i].pc);
      uint64_t parts[2];

      if (pc == 0 && !ended && i >= TRACE_N_FIXED_NODES)
        break;
      parts[0] = i - nodes[i].parent;
      parts[1] = (pc - last) << 1 ^ (uint64_t) ((int64_t) (pc - last) >> 63);
      last = pc;
      for (int part = 0; part < 2; part++)
        {
          uint64_t value = parts[part];

          for (; value >= 0x80; value >>= 7)
            *at++ = (uint8_t) (value | 0x80);
          *at++ = (uint8_t) value;
        }
    }
  if (n > 0)
    sli_trace_write_block (process->writer, TRACE_BLOCK_NODES, first, n, raw,
                           (size_t) (at - raw));
  process->nodes_done = first + n;
  free (raw);
}

size_t
sli_chunk_events (const RawChunk *chunk, ChunkCursor *cursor,
                  TraceEvent *events)
{
  uint32_t n = atomic_load (&chunk->head.n_events);
  size_t n_out = 0;
  uint64_t high = 0;
  uint64_t base = cursor->n == 0 ? chunk->head.base_ticks : cursor->base;
  uint32_t i = cursor->n;

  if (n > TRACE_BLOCK_EVENTS)
    n = TRACE_BLOCK_EVENTS;
  for (; i < n; i++)
    {
      const RawEvent *raw = &chunk->events[i];
      unsigned op = raw->address_op & 0xff;

      if (op == TRACE_OP_BIG)
        {
          high = (uint64_t) raw->size << 32;
          continue;
        }
      if (op == TRACE_OP_TIME)
        {
          base = chunk->head.base_ticks + (raw->address_op >> 8);
          continue;
        }
      /* a realloc that failed: nothing was freed or allocated */
      if (op == TRACE_OP_REALLOC_KEPT && n_out > 0
          && events[n_out - 1].op == TRACE_OP_REALLOC_FREE
          && events[n_out - 1].address == raw->address_op >> 8)
        {
          n_out--;
          continue;
        }
      events[n_out++] = (TraceEvent){ .ticks = base + raw->ticks,
                                      .address = raw->address_op >> 8,
                                      .size = high | raw->size,
                                      .node = raw->node,
                                      .thread = chunk->head.thread,
                                      .extra = raw->extra,
                                      .op = (uint8_t) op };
      high = 0;
    }
  *cursor = (ChunkCursor){ i, base };
  return n_out;
}

static void
chunk_pack (Packer *packer, Process *process, RawChunk *chunk, unsigned flags)
{
  ChunkCursor begin = { 0 };
  size_t n = sli_chunk_events (chunk, &begin, packer->events);
  unsigned shift = chunk->head.many_threads ? 0 : TRACE_COARSE_SHIFT;

  sli_trace_write_events (process->writer, packer->events, n,
                          chunk->head.sequence, shift, flags);
}

static RawChunk *
chunk_at (const Process *process, uint32_t index)
{
  return (RawChunk *) (process->map + SPOOL_CHUNKS_OFFSET
                       + index * SPOOL_CHUNK_BYTES);
}

void
sli_chunks_look (const Packer *packer, const Process *process)
{
  const _Atomic uint32_t *states
      = (const _Atomic uint32_t *) (process->map + SPOOL_STATES_OFFSET);
  uint32_t n = atomic_load (&process->head->n_chunks);

  for (uint32_t i = 0; i < n && i < SPOOL_CHUNKS_MAX; i++)
    if (atomic_load (&states[i]) != SPOOL_CHUNK_FREE)
      packer->seen (packer->seen_data, process->map, i);
}

unsigned
sli_chunks_pack (Packer *packer, Process *process, bool ended)
{
  uint32_t n;
  unsigned n_packed = 0;
  _Atomic uint32_t *states
      = (_Atomic uint32_t *) (process->map + SPOOL_STATES_OFFSET);

  n = atomic_load (&process->head->n_chunks);
  for (uint32_t i = 0; i < n && i < SPOOL_CHUNKS_MAX; i++)
    {
      uint32_t state = atomic_load (&states[i]);

      if (state != SPOOL_CHUNK_FULL && !(ended && state == SPOOL_CHUNK_OWNED))
        continue;
      if (packer->seen != NULL && process->first)
        packer->seen (packer->seen_data, process->map, i);
      /* the modules and frames that its events may refer to come first */
      sli_log_pack (process);
      sli_nodes_pack (process, ended);
      chunk_pack (packer, process, chunk_at (process, i),
                  state == SPOOL_CHUNK_FULL ? 0 : TRACE_BLOCK_CUT);
      if (state == SPOOL_CHUNK_OWNED)
        atomic_fetch_add (&process->head->n_events,
                          chunk_at (process, i)->head.n_events);
      atomic_store (&states[i], SPOOL_CHUNK_FREE);
      n_packed++;
    }
  return n_packed;
}
