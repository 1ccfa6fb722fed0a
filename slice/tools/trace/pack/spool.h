/* spool.h - the memory that the recorder and the packer share
 *
 * One file per recorded process, mapped shared by both, so that what has been
 * written survives any end of the process.  It is sparse: the sizes below are
 * address space, not memory.
 *
 *   head | chunk states | log of modules and strings | stack tree | chunks
 *
 * A chunk belongs to one thread until it is full.  The packer writes it as one
 * block of the trace and gives it back, so a few chunks are enough for a run
 * of any length.
 *
 * Locks: none.  Chunk states, the log's end and the tree grow by atomics.
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_PACK_SPOOL_H
#define SLI_TRACE_PACK_SPOOL_H

#include "port/ticks.h"
#include "tools/trace/format/trace-format.h"
#include <stdatomic.h>

#define SPOOL_MAGIC UINT64_C (0x314c4f4f5053)
#define SPOOL_VERSION 1u

typedef struct
{
  uint64_t address_op; /* address << 8 | operation */
  uint32_t ticks;      /* since the chunk's base */
  uint32_t node;
  uint32_t size;  /* low half; TRACE_OP_BIG gives the other */
  uint32_t extra; /* cost << 5 | log2 of the alignment */
} RawEvent;

typedef struct
{
  uint64_t base_ticks;
  uint64_t sequence;
  uint32_t thread;
  uint32_t tid;
  _Atomic uint32_t n_events; /* stored after the event is written */
  uint32_t many_threads;     /* keep every tick */
  uint64_t pad[4];
} RawChunkHead;

#define SPOOL_CHUNK_BYTES                                                     \
 (((sizeof (RawChunkHead) + TRACE_BLOCK_EVENTS * sizeof (RawEvent)) + 4095)   \
  & ~UINT64_C (4095))

typedef struct
{
  RawChunkHead head;
  RawEvent events[TRACE_BLOCK_EVENTS];
} RawChunk;

enum
{
  SPOOL_CHUNK_FREE,
  SPOOL_CHUNK_OWNED,
  SPOOL_CHUNK_FULL
};

/* A frame of a stack; a path from the root is a stack.  The pc is written
 * last: a node without one is not finished. */
typedef struct
{
  uint32_t parent;
  uint32_t next; /* in its hash bucket; the recorder's own */
  _Atomic uint64_t pc;
} RawNode;

#define SPOOL_CHUNKS_MAX 16384u
#define SPOOL_LOG_BYTES (UINT64_C (64) << 20)
#define SPOOL_NODES_MAX (UINT64_C (1) << 24)

typedef struct
{
  uint64_t magic;
  uint32_t version;
  uint32_t pid;
  uint32_t parent_pid;
  uint32_t flags; /* TRACE_FLAG_* */
  uint64_t start_ticks;
  uint64_t start_unix_nsec;
  uint32_t stack_depth;
  uint32_t free_depth;
  uint32_t sample_bytes; /* mean gap between samples; 0: all is recorded */
  _Atomic uint32_t n_chunks; /* that have ever been taken */
  _Atomic uint32_t n_threads;
  _Atomic uint32_t n_nodes;
  _Atomic uint32_t closed; /* the exit handler ran */
  _Atomic uint64_t log_bytes;
  _Atomic uint64_t sequence;
  _Atomic uint64_t n_events; /* of chunks given back; the rest is in chunks */
  _Atomic uint64_t n_dropped_nested;
  _Atomic uint64_t n_dropped_full;
  _Atomic uint64_t n_failed;
  _Atomic uint64_t n_backing;
  _Atomic uint32_t n_strings;
  uint32_t packer_pid;
  /* stacks walked twice; the position of the first difference, counted from
   * the inner end, and the pc of each walk there */
  _Atomic uint64_t n_unwind_checked;
  _Atomic uint64_t n_unwind_differs;
  uint64_t unwind_position;
  uint64_t unwind_pcs[2];
  uint32_t libgcc_walks; /* there is no libunwind */
} SpoolHead;

#define LIBUNWIND_NAME "libunwind.so.8"

/* A record of the log: its size is stored last. */
typedef struct
{
  _Atomic uint32_t bytes; /* of the record, this head included */
  uint32_t type;          /* TRACE_BLOCK_MODULES, _STRINGS or _COMMAND */
} LogRecord;

#define SPOOL_STATES_OFFSET UINT64_C (4096)
#define SPOOL_LOG_OFFSET (SPOOL_STATES_OFFSET + SPOOL_CHUNKS_MAX * 4)
#define SPOOL_NODES_OFFSET (SPOOL_LOG_OFFSET + SPOOL_LOG_BYTES)
#define SPOOL_CHUNKS_OFFSET                                                   \
 (SPOOL_NODES_OFFSET + SPOOL_NODES_MAX * sizeof (RawNode))
#define SPOOL_FILE_BYTES                                                      \
 (SPOOL_CHUNKS_OFFSET + SPOOL_CHUNKS_MAX * SPOOL_CHUNK_BYTES)

/* --- a process that sleeps until it is watched ---------------------------
 *
 * A page that such a process and its watcher share, in a file of the process's
 * user in a directory of an unpredictable name.  The watcher finds it in
 * /proc/PID/maps.  A watch is a number; its spool is in the watcher's
 * directory. */
#define WATCH_MAGIC UINT64_C (0x314843544157)
#define WATCH_VERSION 1u
#define WATCH_BYTES 4096u
#define WATCH_DIRECTORY "slice-asleep-" /* and six more */
#define WATCH_FILE "asleep."            /* and the process's number */

typedef struct
{
  uint64_t magic;
  uint32_t version;
  uint32_t pid;
  _Atomic uint32_t wanted;   /* the watch that wants events; 0: none */
  _Atomic uint32_t started;  /* the last one that has a spool */
  _Atomic uint32_t refused;  /* the last one that could have none */
  _Atomic uint32_t n_inside; /* threads that may write an event */
  _Atomic uint32_t watcher;  /* its process */
  _Atomic uint32_t beat;     /* the watcher counts its rounds */
  uint32_t n_watches;        /* the watchers' own; the file is locked */
  char directory[3072];      /* where the spool is to be */
} WatchControl;

/* The environment variables that set the recorder's task. */
#define SPOOL_ENV "SLICE_TRACE_SPOOL"          /* the directory */
#define SPOOL_ENV_OPTIONS "SLICE_TRACE_RECORD" /* depth=N,timed,... */

#endif
