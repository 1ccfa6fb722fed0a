/* record-spool.h - shared by the parts of the recorder's spool
 *
 * Tools, in the preloaded object.  record-spool.c has the file and its
 * mapping, record-reserve.c the pages that may be written, record-chunks.c the
 * chunks of the threads, record-log.c the log of modules and strings.
 *
 * Locks: none; a chunk has one owner, and all shared data grows by atomics.
 * Only raw system calls and mmap, since this runs inside malloc.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_RECORD_SPOOL_RECORD_SPOOL_H
#define SLI_TRACE_RECORD_SPOOL_RECORD_SPOOL_H

#include "tools/trace/record/record.h"
#include <pthread.h>

/* Pages are reserved in steps of this size. */
#define RESERVE_STEP UINT64_C (65536)

typedef struct
{
  char directory[3072];
  int n_directory;
  char path[3072 + 40]; /* of the file */
  _Atomic uint64_t log_bytes;   /* that can be written */
  _Atomic uint64_t nodes_bytes; /* the same */
  uint8_t *map; /* head, states, log, nodes and the first chunks */
  uint64_t map_bytes;
  uint32_t n_chunks_max; /* that are mapped */
  uint32_t hint;         /* where a free chunk was last found */
  pthread_key_t key;
  bool has_key;
} Spool;

extern Spool sli_spool __attribute__ ((visibility ("hidden")));

/* --- record-reserve.c --- */

/* Reserves bytes of the file; true if they can be written from now on. */
bool sli_spool_reserve (uint64_t offset, uint64_t n_bytes);
/* Reserves the log up to that size; true if it can be written. */
bool sli_spool_log_reserve (uint64_t n_bytes);

/* --- record-chunks.c --- */

/* A thread's destructor, which gives its chunk back. */
void sli_chunk_thread_ends (void *self);

#endif
