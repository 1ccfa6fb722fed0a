/* trace-read.c - reading a trace: the file, and what in it is not events
 *
 * Tools.  Nothing in the file is trusted: heads and payloads are checked by
 * their hashes, and every number by its bounds as well, since a hash can be
 * made to fit.  What is allocated for a number is bounded by the file's size.
 * A damaged block is left out and said; the rest is read.
 *
 * Design: chapter 13; docs/design/trace-format.md.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tools/trace/common/tool.h"
#include "trace-read-parts.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* Larger than any block the writer makes: nodes of a full tree in one. */
#define RAW_BYTES_MAX (UINT32_C (1) << 30)
#define N_NODES_MAX (UINT32_C (1) << 28)
/* zstd makes 128 KiB of 4 bytes, no more. */
#define UNPACK_MAX 32768
/* What a node or an event takes in its block, columns together. */
#define NODE_BYTES_MIN 2
#define NODE_BYTES_MAX 20
#define EVENT_BYTES_MAX 52
/* Nodes of one packed byte: a recursion's are all alike, but as long as a
 * stack is deep. */
#define NODES_PER_BYTE_MAX 1024
/* Numbers that are given to one thing after the other, and such as lost
 * theirs: more than there are blocks in the file. */
#define NUMBERS_LOST_MAX 4096

const char *
sli_trace_op_name (unsigned op)
{
  static const char *const names[TRACE_N_OPS]
      = { [TRACE_OP_NONE] = "none",
          [TRACE_OP_MALLOC] = "malloc",
          [TRACE_OP_CALLOC] = "calloc",
          [TRACE_OP_REALLOC] = "realloc",
          [TRACE_OP_REALLOCARRAY] = "reallocarray",
          [TRACE_OP_MEMALIGN] = "memalign",
          [TRACE_OP_POSIX_MEMALIGN] = "posix_memalign",
          [TRACE_OP_ALIGNED_ALLOC] = "aligned_alloc",
          [TRACE_OP_VALLOC] = "valloc",
          [TRACE_OP_PVALLOC] = "pvalloc",
          [TRACE_OP_NEW] = "new",
          [TRACE_OP_NEW_ARRAY] = "new[]",
          [TRACE_OP_NEW_ALIGNED] = "new-aligned",
          [TRACE_OP_NEW_ARRAY_ALIGNED] = "new[]-aligned",
          [TRACE_OP_SLICE_ALLOC] = "slice_alloc",
          [TRACE_OP_CONTEXT_ALLOC] = "context-alloc",
          [TRACE_OP_LINEAR_ALLOC] = "linear-alloc",
          [TRACE_OP_MMAP] = "mmap",
          [TRACE_OP_REALLOC_KEPT] = "realloc-kept",
          [TRACE_OP_STACK_ALLOC] = "stack-alloc",
          [TRACE_OP_POOL_ALLOC] = "pool-alloc",
          [TRACE_OP_TLSF_ALLOC] = "tlsf-alloc",
          [TRACE_OP_FREE] = "free",
          [TRACE_OP_REALLOC_FREE] = "realloc-free",
          [TRACE_OP_DELETE] = "delete",
          [TRACE_OP_DELETE_ARRAY] = "delete[]",
          [TRACE_OP_DELETE_SIZED] = "delete-sized",
          [TRACE_OP_DELETE_ARRAY_SIZED] = "delete[]-sized",
          [TRACE_OP_SLICE_FREE] = "slice_free",
          [TRACE_OP_CONTEXT_FREE] = "context-free",
          [TRACE_OP_LINEAR_FREE] = "linear-free",
          [TRACE_OP_MUNMAP] = "munmap",
          [TRACE_OP_STACK_FREE] = "stack-free",
          [TRACE_OP_POOL_FREE] = "pool-free",
          [TRACE_OP_TLSF_FREE] = "tlsf-free",
          [TRACE_OP_SCOPE_BEGIN] = "scope-begin",
          [TRACE_OP_SCOPE_END] = "scope-end",
          [TRACE_OP_MARK] = "mark" };
  return op < TRACE_N_OPS && names[op] != NULL ? names[op] : "?";
}

void
sli_trace_damage (TraceReader *reader, uint64_t offset, const char *what)
{
  /* the blocks of events are first opened by the first reading; later ones
   * would find the same again */
  if (reader->n_passes <= 1 && reader->n_damaged++ == 0)
    snprintf (reader->damage, sizeof reader->damage, "block at byte %llu: %s",
              (unsigned long long)offset, what);
}

/* Most that a file of this size can have of what takes a block each. */
static uint64_t
numbers_max (const TraceReader *reader)
{
  return reader->n_map / sizeof (TraceBlockHead) + NUMBERS_LOST_MAX;
}

/* --- blocks -------------------------------------------------------------- */

/* Whether what the packed bytes are said to be is not too much. */
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
                == (uint32_t)sli_xxh64 (
                    head, offsetof (TraceBlockHead, head_check), 0)
         && head->packed_bytes <= reader->n_map - offset - sizeof *head;
}

/* The block's bytes, unpacked into a buffer that grows; NULL if damaged. */
uint8_t *
sli_trace_payload_read (TraceReader *reader, uint64_t offset,
                        const TraceBlockHead *head, uint8_t **buffer,
                        size_t *n_room)
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
  if (*n_room < head->raw_bytes + 16u)
    {
      free (*buffer);
      *n_room = head->raw_bytes + 16u;
      *buffer = sli_tool_alloc (*n_room);
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

bool
sli_trace_is_whole (TraceReader *reader)
{
  /* cut between two blocks: the ones that are missing count as one */
  if (!reader->has_summary && reader->n_damaged == 0)
    {
      reader->n_damaged = 1;
      snprintf (reader->damage, sizeof reader->damage,
                "block at byte %zu: the file is cut off before it",
                reader->n_map);
    }
  if (reader->n_damaged == 0)
    return true;
  sli_tool_say ("%s: %u block%s damaged, left out: %s", reader->path,
                reader->n_damaged, reader->n_damaged == 1 ? "" : "s",
                reader->damage);
  sli_tool_bad_input ();
  return false;
}

static bool
nodes_read (TraceReader *reader, const TraceBlockHead *head,
            const uint8_t *raw)
{
  uint64_t first = head->first_ticks;
  uint64_t total = first + head->n_items;
  if (first != reader->n_nodes || total > N_NODES_MAX)
    return false;
  reader->parents
      = sli_tool_grow (reader->parents, total * sizeof *reader->parents);
  reader->pcs = sli_tool_grow (reader->pcs, total * sizeof *reader->pcs);
  const uint8_t *end = raw + head->raw_bytes;
  uint64_t pc = 0;
  for (uint64_t i = first; i < total; i++)
    {
      uint64_t back, step;
      if (!get_varint (&raw, end, &back) || !get_varint (&raw, end, &step))
        return false;
      pc += (uint64_t)unzigzag (step);
      /* a parent is older than its child, so walks outwards end */
      if (i >= TRACE_N_FIXED_NODES && (back == 0 || back > i))
        return false;
      reader->parents[i] = i < TRACE_N_FIXED_NODES ? 0 : (uint32_t)(i - back);
      reader->pcs[i] = pc;
      reader->n_nodes = (uint32_t)(i + 1);
    }
  return true;
}

static bool
module_read (TraceReader *reader, const TraceBlockHead *head,
             const uint8_t *raw)
{
  TraceModule record;
  if (head->raw_bytes < sizeof record)
    return false;
  memcpy (&record, raw, sizeof record);
  if (sizeof record + record.build_id_bytes + record.path_bytes
      > head->raw_bytes)
    return false;
  reader->modules = sli_tool_grow (
      reader->modules, (reader->n_modules + 1) * sizeof *reader->modules);
  ReadModule *module = &reader->modules[reader->n_modules++];
  module->bias = record.bias;
  module->low = record.low;
  module->high = record.high;
  module->tag = record.tag;
  module->n_build_id = record.build_id_bytes;
  module->build_id = sli_tool_alloc (record.build_id_bytes + 1u);
  memcpy (module->build_id, raw + sizeof record, record.build_id_bytes);
  module->path = sli_tool_text ("%.*s", (int)record.path_bytes,
                                (const char *)raw + sizeof record
                                    + record.build_id_bytes);
  return true;
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
      uint32_t room = ids[0] + 1;
      reader->strings
          = sli_tool_grow (reader->strings, room * sizeof *reader->strings);
      for (uint32_t i = reader->n_strings; i < room; i++)
        reader->strings[i] = NULL;
      reader->n_strings = room;
    }
  free (reader->strings[ids[0]]);
  reader->strings[ids[0]]
      = sli_tool_text ("%.*s", (int)ids[1], (const char *)raw + sizeof ids);
  return true;
}

static bool
rss_read (TraceReader *reader, const TraceBlockHead *head, const uint8_t *raw)
{
  if (head->raw_bytes != (uint64_t)head->n_items * 16 || reader->rss != NULL)
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
    text[i] = raw[i] == 0 ? ' ' : (char)raw[i];
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
  if (reader->n_blocks == reader->n_blocks_room)
    {
      reader->n_blocks_room = reader->n_blocks_room * 2 + 64;
      reader->blocks = sli_tool_grow (
          reader->blocks, reader->n_blocks_room * sizeof *reader->blocks);
    }
  reader->blocks[reader->n_blocks++]
      = (TraceIndexEntry){ .offset = offset,
                           .first_ticks = head->first_ticks,
                           .sequence = head->sequence,
                           .thread = head->thread,
                           .n_items = head->n_items,
                           .type = head->type,
                           .bytes
                           = (uint32_t)sizeof *head + head->packed_bytes };
  if (head->thread >= reader->n_threads)
    reader->n_threads = head->thread + 1;
  reader->n_events += head->n_items;
}

typedef bool (*BlockRead) (TraceReader *, const TraceBlockHead *,
                           const uint8_t *);

static void
block_take (TraceReader *reader, uint64_t offset, const TraceBlockHead *head,
            uint8_t **buffer, size_t *n_room)
{
  static const BlockRead reads[] = {
    [TRACE_BLOCK_NODES] = nodes_read,     [TRACE_BLOCK_MODULES] = module_read,
    [TRACE_BLOCK_STRINGS] = string_read,  [TRACE_BLOCK_RSS] = rss_read,
    [TRACE_BLOCK_SUMMARY] = summary_read, [TRACE_BLOCK_COMMAND] = command_read
  };
  if (head->type == TRACE_BLOCK_EVENTS_TYPE)
    {
      events_note (reader, offset, head);
      return;
    }
  /* blocks of a kind that came after this version are passed over */
  if (head->type >= sizeof reads / sizeof *reads || reads[head->type] == NULL)
    return;
  const uint8_t *raw
      = sli_trace_payload_read (reader, offset, head, buffer, n_room);
  if (raw != NULL && !reads[head->type](reader, head, raw))
    sli_trace_damage (reader, offset, "its contents make no sense");
}

/* The next place after a damaged head where a block begins. */
static uint64_t
block_seek (const TraceReader *reader, uint64_t offset)
{
  static const uint32_t magic = TRACE_BLOCK_MAGIC;
  TraceBlockHead head;
  while (offset + sizeof head <= reader->n_map)
    {
      const uint8_t *found = memmem (
          reader->map + offset, reader->n_map - offset, &magic, sizeof magic);
      if (found == NULL)
        break;
      offset = (uint64_t)(found - reader->map);
      if (sli_trace_head_read (reader, offset, &head))
        return offset;
      offset++;
    }
  return reader->n_map;
}

static int
block_compare (const void *a, const void *b)
{
  const TraceIndexEntry *left = a, *right = b;
  if (left->thread != right->thread)
    return left->thread < right->thread ? -1 : 1;
  return left->sequence < right->sequence   ? -1
         : left->sequence > right->sequence ? 1
         : left->offset < right->offset     ? -1
                                            : 1;
}

static void
blocks_scan (TraceReader *reader)
{
  uint8_t *buffer = NULL;
  size_t n_room = 0;
  uint64_t offset = sizeof (TraceFileHead);
  TraceBlockHead head;
  while (offset < reader->n_map)
    {
      if (!sli_trace_head_read (reader, offset, &head))
        {
          TraceTrailer trailer;
          if (reader->has_index && reader->n_map - offset == sizeof trailer)
            break;
          sli_trace_damage (reader, offset,
                            "it is cut off, or its head is damaged");
          offset = block_seek (reader, offset + 1);
          continue;
        }
      if (head.type == TRACE_BLOCK_INDEX)
        reader->has_index = true;
      block_take (reader, offset, &head, &buffer, &n_room);
      offset += sizeof head + head.packed_bytes;
    }
  free (buffer);
  if (reader->n_blocks > 1)
    qsort (reader->blocks, reader->n_blocks, sizeof *reader->blocks,
           block_compare);
}

/* --- open and close ------------------------------------------------------ */

static bool
file_map (TraceReader *reader, const char *path, char *error)
{
  struct stat status;
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat (fd, &status) != 0)
    {
      snprintf (error, 512, "%s: %s", path, strerror (errno));
      if (fd >= 0)
        close (fd);
      return false;
    }
  if (S_ISFIFO (status.st_mode) || S_ISSOCK (status.st_mode))
    {
      snprintf (error, 512, "%s: a pipe: a trace is read from a file", path);
      close (fd);
      return false;
    }
  if (status.st_size < (off_t)sizeof reader->head)
    {
      snprintf (error, 512, "%s: too short to be a trace", path);
      close (fd);
      return false;
    }
  reader->n_map = (size_t)status.st_size;
  void *map = mmap (NULL, reader->n_map, PROT_READ, MAP_PRIVATE, fd, 0);
  close (fd);
  if (map == MAP_FAILED)
    {
      snprintf (error, 512, "%s: %s", path, strerror (errno));
      return false;
    }
  reader->map = map;
  return true;
}

static bool
head_check (TraceReader *reader, const char *path, char *error)
{
  memcpy (&reader->head, reader->map, sizeof reader->head);
  const TraceFileHead *head = &reader->head;
  if (memcmp (head->magic, TRACE_MAGIC, sizeof head->magic) != 0)
    snprintf (error, 512, "%s: not a trace", path);
  else if (head->byte_order != TRACE_BYTE_ORDER)
    snprintf (error, 512, "%s: written on a machine of the other byte order",
              path);
  else if (head->version < TRACE_VERSION_FIRST
           || head->version > TRACE_VERSION)
    snprintf (error, 512, "%s: version %u, this program reads %u", path,
              head->version, TRACE_VERSION);
  else
    return true;
  return false;
}

TraceReader *
sli_trace_open (const char *path, char *error)
{
  TraceReader *reader = sli_tool_zero (sizeof *reader);
  reader->path = path;
  if (!file_map (reader, path, error) || !head_check (reader, path, error))
    {
      sli_trace_close (reader);
      return NULL;
    }
  reader->n_threads = 1;
  blocks_scan (reader);
  if (reader->n_nodes < TRACE_N_FIXED_NODES)
    {
      reader->parents = sli_tool_grow (reader->parents, 2 * sizeof (uint32_t));
      reader->pcs = sli_tool_grow (reader->pcs, 2 * sizeof (uint64_t));
      memset (reader->parents, 0, 2 * sizeof (uint32_t));
      reader->pcs[0] = 0;
      reader->pcs[1] = 1;
      reader->n_nodes = TRACE_N_FIXED_NODES;
    }
  if (reader->command == NULL)
    reader->command = sli_tool_text ("%s", "");
  sli_streams_make (reader);
  sli_trace_rewind (reader);
  return reader;
}

const char *
sli_trace_unwinder (const TraceReader *reader)
{
  return !reader->has_summary                           ? "unknown"
         : reader->summary.flags & TRACE_SUMMARY_LIBGCC ? "libgcc"
                                                        : "libunwind";
}

void
sli_trace_close (TraceReader *reader)
{
  sli_streams_free (reader);
  for (size_t i = 0; i < reader->n_modules; i++)
    {
      free (reader->modules[i].path);
      free (reader->modules[i].build_id);
    }
  for (uint32_t i = 0; i < reader->n_strings; i++)
    free (reader->strings[i]);
  free (reader->blocks);
  free (reader->modules);
  free (reader->strings);
  free (reader->parents);
  free (reader->pcs);
  free (reader->rss);
  free (reader->command);
  if (reader->map != NULL)
    munmap ((void *)reader->map, reader->n_map);
  free (reader);
}
