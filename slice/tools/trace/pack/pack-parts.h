/* pack-parts.h - shared by the parts of the packer
 *
 * Tools.  pack.c has the packer and its steps, pack-process.c one recorded
 * process from its spool to its trace, pack-chunks.c the contents of a spool,
 * pack-rss.c the process's resident memory.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_PACK_PACK_PARTS_H
#define SLI_TRACE_PACK_PACK_PARTS_H

#include "pack.h"
#include "spool.h"
#include "tools/trace/format/trace-write.h"

#define RSS_EVERY_MSEC 10
#define N_RSS_MAX 65536

typedef struct
{
  uint64_t ticks;
  uint64_t kib;
} RssSample;

/* One recorded process. */
typedef struct
{
  char name[64]; /* of the spool: PID.N */
  pid_t pid;
  uint8_t *map;
  uint64_t map_bytes;
  SpoolHead *head;
  TraceWriter *writer;
  uint64_t log_done;   /* bytes */
  uint32_t nodes_done; /* nodes */
  RssSample *rss;
  size_t n_rss;
  uint64_t rss_next_msec, rss_step_msec;
  bool first;
  bool is_named; /* the spool still has its name */
  bool has_command;
  bool done;
} Process;

/* How far a chunk's events have been decoded. */
typedef struct
{
  uint32_t n;
  uint64_t base;
} ChunkCursor;

struct Packer
{
  char *spools;
  char *output;
  char *command;
  size_t n_command;
  pid_t first_pid;
  int first_status;
  uint64_t plain_nsec;
  bool first_ended;
  Process *processes;
  size_t n_processes;
  TraceEvent *events;
  PackTotals totals;
  int refused;          /* why the last scan missed spools; or 0 */
  unsigned n_unopened; /* spools that it found and could not open */
  bool failed;
  bool sleeps; /* the first process has gone to sleep, and writes no more */
  PackSeen *seen; /* or NULL */
  void *seen_data;
};

/* --- pack-process.c --- */

/* Maps the spool of that name.  False if it no longer exists, or can't be
 * opened (errno). */
bool sli_process_open (const Packer *packer, Process *process);
bool sli_process_alive (const Packer *packer, const Process *process);
/* Packs the full chunks; returns their number. */
unsigned sli_process_step (Packer *packer, Process *process);
/* Packs what is left, ends the trace, removes the spool.
 *
 * running  the process goes on, without its recording
 */
void sli_process_end (Packer *packer, Process *process, bool running);

/* --- pack-chunks.c --- */

/* ended  the process has ended: packs its threads' chunks as well */
unsigned sli_chunks_pack (Packer *packer, Process *process, bool ended);
/* Shows the chunks that are in use. */
void sli_chunks_look (const Packer *packer, const Process *process);
/* Decodes the events from the cursor on, which moves; returns their number. */
size_t sli_chunk_events (const RawChunk *chunk, ChunkCursor *cursor,
                         TraceEvent *events);
/* Pack what is in no chunk: modules, strings, frames. */
void sli_log_pack (Process *process);
void sli_nodes_pack (Process *process, bool ended);

/* --- pack-rss.c --- */

/* Notes the resident memory, unless that was done just before. */
void sli_rss_sample (Process *process);

#endif
