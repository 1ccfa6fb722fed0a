/* trace-write.h - writing a trace: events to columns, columns to blocks
 *
 * Tools.  Used by the packer and by the tests' generators.
 * Design: chapter 13; docs/design/trace-format.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_FORMAT_TRACE_WRITE_H
#define SLI_TRACE_FORMAT_TRACE_WRITE_H

#include "trace-format.h"
#include <stddef.h>

/* One event as the tools see it. */
typedef struct
{
  uint64_t ticks;
  uint64_t address; /* of scope markers: the string's id */
  uint64_t size;    /* 0 for frees */
  uint32_t node;
  uint32_t thread;
  uint32_t extra; /* cost << 5 | log2 of the alignment */
  uint8_t op;
} TraceEvent;

typedef struct TraceWriter TraceWriter;

/* NULL with errno if the file can't be made, or there is no memory. */
TraceWriter *sli_trace_create (const char *path, const TraceFileHead *head);
/* n is at most TRACE_BLOCK_EVENTS; all of one thread. */
bool sli_trace_write_events (TraceWriter *writer, const TraceEvent *events,
                             size_t n, uint64_t sequence, unsigned time_shift,
                             unsigned flags);
/* Any other block. */
bool sli_trace_write_block (TraceWriter *writer, TraceBlockType type,
                            uint64_t first, uint32_t n_items,
                            const void *bytes, size_t n_bytes);
uint64_t sli_trace_written_bytes (const TraceWriter *writer);
uint64_t sli_trace_written_events (const TraceWriter *writer);
/* Writes the index and the trailer; false, with the errno of the first failure,
 * if anything failed on the way. */
bool sli_trace_finish (TraceWriter *writer);

#endif
