/* trace-read.c - reading a trace: the file and the blocks in it
 *
 * Tools.  The file is not trusted: heads and payloads are checked by their
 * hashes, and every number by its bounds as well, since a hash can be forged.
 * The memory that a number can request is bounded by the file's size.  A
 * damaged block is left out and reported; the rest is read.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void
sli_trace_damage (TraceReader *reader, uint64_t offset, const char *what)
{
  /* the blocks of events are first opened by the first reading; later ones
   * would find the same again */
  if (reader->n_passes <= 1 && reader->n_damaged++ == 0)
    snprintf (reader->damage, sizeof reader->damage, "block at byte %llu: %s",
              (unsigned long long) offset, what);
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

/* Finds the next block after a damaged head. */
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
      offset = (uint64_t) (found - reader->map);
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

/* Checks the index for the hash of the file's head; the rest of it is not
 * needed. */
static void
index_check (TraceReader *reader, uint64_t offset, const TraceBlockHead *head,
             uint8_t **buffer, size_t *capacity)
{
  reader->has_index = true;
  sli_trace_payload_read (reader, offset, head, buffer, capacity);
  if (head->first_ticks != 0
      && head->first_ticks != sli_trace_head_hash (&reader->head))
    sli_trace_damage (reader, 0, "the file's head is not as it was written");
}

/* Returns true if the rest of the file is its trailer. */
static bool
trailer_take (TraceReader *reader, uint64_t offset, uint64_t index_offset)
{
  TraceTrailer trailer;

  if (!reader->has_index || reader->n_map - offset != sizeof trailer)
    return false;
  memcpy (&trailer, reader->map + offset, sizeof trailer);
  if (trailer.index_offset != index_offset
      || memcmp (trailer.magic, TRACE_TRAILER_MAGIC, sizeof trailer.magic)
             != 0)
    sli_trace_damage (reader, offset, "it is not the file's end as written");
  return true;
}

static void
blocks_scan (TraceReader *reader)
{
  uint8_t *buffer = NULL;
  size_t capacity = 0;
  uint64_t offset = sizeof (TraceFileHead), index_offset = 0;
  TraceBlockHead head;

  while (offset < reader->n_map)
    {
      if (!sli_trace_head_read (reader, offset, &head))
        {
          if (trailer_take (reader, offset, index_offset))
            break;
          sli_trace_damage (reader, offset,
                            "it is cut off, or its head is damaged");
          offset = block_seek (reader, offset + 1);
          continue;
        }
      if (head.type == TRACE_BLOCK_INDEX)
        index_check (reader, index_offset = offset, &head, &buffer, &capacity);
      else
        sli_trace_block_take (reader, offset, &head, &buffer, &capacity);
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
  void *map;

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
  if (status.st_size < (off_t) sizeof reader->head)
    {
      snprintf (error, 512, "%s: too short to be a trace", path);
      close (fd);
      return false;
    }
  reader->n_map = (size_t) status.st_size;
  map = mmap (NULL, reader->n_map, PROT_READ, MAP_PRIVATE, fd, 0);
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
  const TraceFileHead *head;

  memcpy (&reader->head, reader->map, sizeof reader->head);
  head = &reader->head;
  if (memcmp (head->magic, TRACE_MAGIC, sizeof head->magic) != 0)
    snprintf (error, 512, "%s: not a trace", path);
  else if (head->byte_order != TRACE_BYTE_ORDER)
    snprintf (error, 512, "%s: written on a machine of the other byte order",
              path);
  else if (head->version < TRACE_VERSION_FIRST
           || head->version > TRACE_VERSION_SAMPLED)
    snprintf (error, 512, "%s: version %u, this program reads %u", path,
              head->version, TRACE_VERSION_SAMPLED);
  else if ((head->version == TRACE_VERSION_SAMPLED)
               != ((head->flags & TRACE_FLAG_SAMPLED) != 0)
           || (head->version == TRACE_VERSION_SAMPLED
               && head->sample_bytes == 0))
    snprintf (error, 512,
              "%s: its head is damaged: version %u, flags %u, "
              "%u bytes between samples",
              path, head->version, head->flags, head->sample_bytes);
  else
    return true;
  return false;
}

TraceReader *
sli_trace_open (const char *path, char *error)
{
  TraceReader *reader = sli_trace_open_any (path, error);

  if (reader == NULL || !trace_is_sampled (reader))
    return reader;
  snprintf (error, 512,
            "%s: sampled (record --sample): this needs a trace "
            "with every event",
            path);
  sli_trace_close (reader);
  return NULL;
}

TraceReader *
sli_trace_open_any (const char *path, char *error)
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
  sli_trace_twins_join (reader);
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
  free (reader->twins);
  free (reader->rss);
  free (reader->command);
  if (reader->map != NULL)
    munmap ((void *) reader->map, reader->n_map);
  free (reader);
}
