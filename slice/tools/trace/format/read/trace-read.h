/* trace-read.h - reading a trace: blocks to events, merged by time
 *
 * Tools.  A reader holds the file mapped, the tree of stacks, the modules and
 * the strings; events are streamed, one open block a thread.
 * Design: chapter 13; docs/design/trace-format.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_FORMAT_TRACE_READ_H
#define SLI_TRACE_FORMAT_TRACE_READ_H

#include "tools/trace/format/trace-write.h"

typedef struct
{
  uint64_t bias, low, high;
  uint32_t tag;
  char *path;
  uint8_t *build_id;
  uint32_t n_build_id;
} ReadModule;

typedef struct TraceStream TraceStream;

typedef struct
{
  const char *path;
  TraceFileHead head;
  TraceSummary summary;
  bool has_summary; /* else the file is cut: the counters are unknown */
  bool has_index;
  uint32_t n_damaged; /* blocks left out; the first is described */
  char damage[256];

  uint32_t n_nodes;
  uint32_t *parents;
  uint64_t *pcs;
  uint32_t *twins; /* by node: the first one that differs by the place of a
                      module only, which events have instead; or NULL */
  ReadModule *modules;
  size_t n_modules;
  char **strings; /* by id; NULL if there is none */
  uint32_t n_strings;
  uint64_t (*rss)[2]; /* ticks, KiB */
  size_t n_rss;
  char *command; /* the arguments, space between them */
  uint64_t n_events;
  uint32_t n_threads; /* highest number plus one */
  uint64_t last_ticks;

  /* private */
  const uint8_t *map;
  size_t n_map;
  TraceIndexEntry *blocks; /* of events, by thread and sequence */
  size_t n_blocks, blocks_capacity;
  TraceStream *streams;
  TraceStream **heap;
  size_t n_streams, n_heap;
  uint64_t bytes_read;
  unsigned n_passes; /* readings that have started */
  bool is_reading;
} TraceReader;

/* NULL, with one line in error (of at least 512 bytes), if it is no trace, or a
 * sampled one, which lacks most blocks. */
TraceReader *sli_trace_open (const char *path, char *error);
/* The same, but a sampled trace is opened, too. */
TraceReader *sli_trace_open_any (const char *path, char *error);
void sli_trace_close (TraceReader *reader);
/* Starts reading again. */
void sli_trace_rewind (TraceReader *reader);
/* After a reading: returns true if no block was left out.  Otherwise reports
 * that and sets the exit status TOOL_BAD_INPUT. */
bool sli_trace_is_whole (TraceReader *reader);
/* The next event in the order of time; false at the end. */
bool sli_trace_next (TraceReader *reader, TraceEvent *event);
/* Adds a module from its record in a trace or a spool; false if damaged. */
bool sli_trace_module_read (TraceReader *reader, const uint8_t *raw,
                            uint64_t n_bytes);
static inline bool
trace_is_sampled (const TraceReader *reader)
{
  return (reader->head.flags & TRACE_FLAG_SAMPLED) != 0;
}

/* "libunwind", "libgcc"; "unknown" if the file is cut. */
const char *sli_trace_unwinder (const TraceReader *reader);
/* The position of the reading, in bytes of the file. */
uint64_t sli_trace_position (const TraceReader *reader);

#endif
