/* trace-blocks.c - the blocks of a trace that have no events
 *
 * Tools.  Payloads are checked by their hashes, and every number by its
 * bounds as well (trace-read.c).
 *
 * Design: chapter 13; docs/design/trace-format.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tools/trace/common/tool.h"
#include "trace-read-parts.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Larger than any block the writer makes: nodes of a full tree in one. */
#define RAW_BYTES_MAX (UINT32_C (1) << 30)
#define N_NODES_MAX (UINT32_C (1) << 28)
/* zstd makes 128 KiB of 4 bytes, no more. */
#define UNPACK_MAX 32768
/* The bytes of a node or an event in its block, all columns together. */
#define NODE_BYTES_MIN 2
#define NODE_BYTES_MAX 20
#define EVENT_BYTES_MAX 52
/* Nodes of one packed byte: those of a recursion are all alike, up to the
 * depth of a stack. */
#define NODES_PER_BYTE_MAX 1024
/* Numbers are given one after the other.  Some may be lost, so there may be
 * this many more than blocks in the file. */
#define NUMBERS_LOST_MAX 4096

/* The most numbers that a file of this size can have, with a block for
 * each. */
static uint64_t
numbers_max (const TraceReader *reader)
{
  return reader->n_map / sizeof (TraceBlockHead) + NUMBERS_LOST_MAX;
}

/* Returns true if the sizes in a head are possible for the packed bytes. */
static bool
sizes_fit (const TraceBlockHead *head)
{
  uint64_t raw = head->raw_bytes, packed = head->packed_bytes;
  uint64_t n = head->n_items;

  if (raw > RAW_BYTES_MAX || raw > packed * UNPACK_MAX)
    return false;
  if (head->type == TRACE_BLOCK_EVENTS_TYPE)
    return n <= TRACE_BLOCK_EVENTS && raw <= n * EVENT_BYTES_MAX;
  if (head->type == TRACE_BLOCK_NODES)
    return raw >= n * NODE_BYTES_MIN && raw <= n * NODE_BYTES_MAX
           && n <= packed * NODES_PER_BYTE_MAX;
  return true;
}

bool
sli_trace_head_read (const TraceReader *reader, uint64_t offset,
                     TraceBlockHead *head)
{
  if (offset > reader->n_map || reader->n_map - offset < sizeof *head)
    return false;
  memcpy (head, reader->map + offset, sizeof *head);
  return head->magic == TRACE_BLOCK_MAGIC
         && head->head_check
                == (uint32_t) sli_xxh64 (
                    head, offsetof (TraceBlockHead, head_check), 0)
         && head->packed_bytes <= reader->n_map - offset - sizeof *head;
}

/* The block's bytes, unpacked into a buffer that grows; NULL if damaged. */
uint8_t *
sli_trace_payload_read (TraceReader *reader, uint64_t offset,
                        const TraceBlockHead *head, uint8_t **buffer,
                        size_t *capacity)
{
  const uint8_t *packed = reader->map + offset + sizeof *head;

  if (!sizes_fit (head))
    {
      sli_trace_damage (reader, offset, "its sizes make no sense");
      return NULL;
    }
  if (sli_xxh64 (packed, head->packed_bytes, 0) != head->payload_hash)
    {
      sli_trace_damage (reader, offset, "its checksum is wrong");
      return NULL;
    }
  if (*capacity < head->raw_bytes + 16u)
    {
      free (*buffer);
      *capacity = head->raw_bytes + 16u;
      *buffer = sli_tool_alloc (*capacity);
    }
  if (head->codec == TRACE_CODEC_RAW && head->packed_bytes == head->raw_bytes)
    memcpy (*buffer, packed, head->raw_bytes);
  else if (head->codec != TRACE_CODEC_ZSTD
           || ZSTD_decompress (*buffer, head->raw_bytes, packed,
                               head->packed_bytes)
                  != head->raw_bytes)
    {
      sli_trace_damage (reader, offset, "it does not unpack");
      return NULL;
    }
  return *buffer;
}

static bool
nodes_read (TraceReader *reader, const TraceBlockHead *head,
            const uint8_t *raw)
{
  uint64_t first = head->first_ticks;
  uint64_t total = first + head->n_items;
  const uint8_t *end;
  uint64_t pc = 0;

  if (first != reader->n_nodes || total > N_NODES_MAX)
    return false;
  reader->parents
      = sli_tool_grow (reader->parents, total * sizeof *reader->parents);
  reader->pcs = sli_tool_grow (reader->pcs, total * sizeof *reader->pcs);
  end = raw + head->raw_bytes;
  for (uint64_t i = first; i < total; i++)
    {
      uint64_t back, step;

      if (!get_varint (&raw, end, &back) || !get_varint (&raw, end, &step))
        return false;
      pc += (uint64_t) unzigzag (step);
      /* a parent is older than its child, so walks outwards end */
      if (i >= TRACE_N_FIXED_NODES && (back == 0 || back > i))
        return false;
      reader->parents[i] = i < TRACE_N_FIXED_NODES ? 0 : (uint32_t) (i - back);
      reader->pcs[i] = pc;
      reader->n_nodes = (uint32_t) (i + 1);
    }
  return true;
}

bool
sli_trace_module_read (TraceReader *reader, const uint8_t *raw,
                       uint64_t n_bytes)
{
  TraceModule record;
  ReadModule *module;

  if (n_bytes < sizeof record)
    return false;
  memcpy (&record, raw, sizeof record);
  if (sizeof record + record.build_id_bytes + record.path_bytes > n_bytes)
    return false;
  reader->modules = sli_tool_grow (
      reader->modules, (reader->n_modules + 1) * sizeof *reader->modules);
  module = &reader->modules[reader->n_modules++];
  module->bias = record.bias;
  module->low = record.low;
  module->high = record.high;
  module->tag = record.tag;
  module->n_build_id = record.build_id_bytes;
  module->build_id = sli_tool_alloc (record.build_id_bytes + 1u);
  memcpy (module->build_id, raw + sizeof record, record.build_id_bytes);
  module->path = sli_tool_text ("%.*s", (int) record.path_bytes,
                                (const char *) raw + sizeof record
                                    + record.build_id_bytes);
  return true;
}

static bool
module_read (TraceReader *reader, const TraceBlockHead *head,
             const uint8_t *raw)
{
  return sli_trace_module_read (reader, raw, head->raw_bytes);
}

static bool
string_read (TraceReader *reader, const TraceBlockHead *head,
             const uint8_t *raw)
{
  uint32_t ids[2];

  if (head->raw_bytes < sizeof ids)
    return false;
  memcpy (ids, raw, sizeof ids);
  if (ids[0] >= numbers_max (reader) || ids[1] > INT_MAX
      || ids[1] > head->raw_bytes - sizeof ids)
    return false;
  if (ids[0] >= reader->n_strings)
    {
      uint32_t capacity = ids[0] + 1;

      reader->strings = sli_tool_grow (reader->strings,
                                       capacity * sizeof *reader->strings);
      for (uint32_t i = reader->n_strings; i < capacity; i++)
        reader->strings[i] = NULL;
      reader->n_strings = capacity;
    }
  free (reader->strings[ids[0]]);
  reader->strings[ids[0]]
      = sli_tool_text ("%.*s", (int) ids[1], (const char *) raw + sizeof ids);
  return true;
}

static bool
rss_read (TraceReader *reader, const TraceBlockHead *head, const uint8_t *raw)
{
  if (head->raw_bytes != (uint64_t) head->n_items * 16 || reader->rss != NULL)
    return false;
  reader->rss = sli_tool_alloc (head->raw_bytes + 1u);
  memcpy (reader->rss, raw, head->raw_bytes);
  reader->n_rss = head->n_items;
  return true;
}

static bool
summary_read (TraceReader *reader, const TraceBlockHead *head,
              const uint8_t *raw)
{
  size_t n = head->raw_bytes;

  if (n < TRACE_SUMMARY_BYTES_MIN)
    return false;
  memcpy (&reader->summary, raw,
          n < sizeof reader->summary ? n : sizeof reader->summary);
  reader->has_summary = true;
  return true;
}

static bool
command_read (TraceReader *reader, const TraceBlockHead *head,
              const uint8_t *raw)
{
  uint32_t n = head->raw_bytes;
  char *text = sli_tool_alloc (n + 1u);

  for (uint32_t i = 0; i < n; i++)
    text[i] = raw[i] == 0 ? ' ' : (char) raw[i];
  text[n == 0 ? 0 : n - 1] = '\0';
  free (reader->command);
  reader->command = text;
  return true;
}

static void
events_note (TraceReader *reader, uint64_t offset, const TraceBlockHead *head)
{
  if (head->n_items == 0 || head->n_items > TRACE_BLOCK_EVENTS
      || head->thread >= numbers_max (reader) || head->time_shift > 32)
    {
      sli_trace_damage (reader, offset, "its head makes no sense");
      return;
    }
  if (reader->n_blocks == reader->blocks_capacity)
    {
      reader->blocks_capacity = reader->blocks_capacity * 2 + 64;
      reader->blocks = sli_tool_grow (
          reader->blocks, reader->blocks_capacity * sizeof *reader->blocks);
    }
  reader->blocks[reader->n_blocks++]
      = (TraceIndexEntry){ .offset = offset,
                           .first_ticks = head->first_ticks,
                           .sequence = head->sequence,
                           .thread = head->thread,
                           .n_items = head->n_items,
                           .type = head->type,
                           .bytes
                           = (uint32_t) sizeof *head + head->packed_bytes };
  if (head->thread >= reader->n_threads)
    reader->n_threads = head->thread + 1;
  reader->n_events += head->n_items;
}

typedef bool (*BlockRead) (TraceReader *, const TraceBlockHead *,
                           const uint8_t *);

void
sli_trace_block_take (TraceReader *reader, uint64_t offset,
                      const TraceBlockHead *head, uint8_t **buffer,
                      size_t *capacity)
{
  static const BlockRead reads[] = {
    [TRACE_BLOCK_NODES] = nodes_read,     [TRACE_BLOCK_MODULES] = module_read,
    [TRACE_BLOCK_STRINGS] = string_read,  [TRACE_BLOCK_RSS] = rss_read,
    [TRACE_BLOCK_SUMMARY] = summary_read, [TRACE_BLOCK_COMMAND] = command_read
  };
  const uint8_t *raw;

  if (head->type == TRACE_BLOCK_EVENTS_TYPE)
    {
      events_note (reader, offset, head);
      return;
    }
  /* blocks of kinds from later versions are skipped */
  if (head->type >= sizeof reads / sizeof *reads || reads[head->type] == NULL)
    return;
  raw = sli_trace_payload_read (reader, offset, head, buffer, capacity);
  if (raw != NULL && !reads[head->type](reader, head, raw))
    sli_trace_damage (reader, offset, "its contents make no sense");
}
