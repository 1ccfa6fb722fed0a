/* trace-read-parts.h - shared by the parts of a reader
 *
 * Tools.  trace-read.c opens a file and finds its blocks; trace-blocks.c reads
 * the blocks without events; trace-twins.c joins stacks that are the same;
 * trace-stream.c decodes the events and merges the threads.
 *
 * Design: chapter 13; docs/design/trace-format.md.
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_FORMAT_TRACE_READ_PARTS_H
#define SLI_TRACE_FORMAT_TRACE_READ_PARTS_H

#include "trace-read.h"

/* --- trace-read.c --- */

/* Notes a block that is left out. */
void sli_trace_damage (TraceReader *reader, uint64_t offset, const char *what);
bool sli_trace_head_read (const TraceReader *reader, uint64_t offset,
                          TraceBlockHead *head);

static inline bool
get_varint (const uint8_t **at, const uint8_t *end, uint64_t *value)
{
  uint64_t sum = 0;

  for (unsigned shift = 0; *at < end && shift < 64; shift += 7)
    {
      uint8_t byte = *(*at)++;

      sum |= (uint64_t)(byte & 0x7f) << shift;
      if (byte < 0x80)
        {
          *value = sum;
          return true;
        }
    }
  return false;
}

static inline int64_t
unzigzag (uint64_t value)
{
  return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* --- trace-blocks.c --- */

/* The block's bytes, unpacked into a buffer that grows; NULL if damaged. */
uint8_t *sli_trace_payload_read (TraceReader *reader, uint64_t offset,
                                 const TraceBlockHead *head, uint8_t **buffer,
                                 size_t *capacity);
/* Notes a block of events for later; reads any other block. */
void sli_trace_block_take (TraceReader *reader, uint64_t offset,
                           const TraceBlockHead *head, uint8_t **buffer,
                           size_t *capacity);

/* --- trace-twins.c --- */

/* Makes one node of those that differ by a module's place only. */
void sli_trace_twins_join (TraceReader *reader);

/* --- trace-stream.c --- */

void sli_streams_make (TraceReader *reader);
void sli_streams_free (TraceReader *reader);

#endif
