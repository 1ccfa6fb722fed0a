/* pack.h - the packer: from the spools of running processes to trace files
 *
 * Tools.  Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_PACK_PACK_H
#define SLI_TRACE_PACK_PACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct Packer Packer;

/* Called for a chunk of a process's spool; see sli_pack_watch(). */
typedef void PackSeen (void *data, uint8_t *map, uint32_t chunk);

/* spool_directory  where the recorders put their spools
 * output           the first process's trace; others get ".PID" after it
 * first_pid        the process that was started */
Packer *sli_pack_new (const char *spool_directory, const char *output,
                      pid_t first_pid);
/* The program and its arguments, noted in each trace; NULL ends them. */
void sli_pack_command (Packer *packer, char *const *arguments);
/* Packs the full chunks; returns their number. */
unsigned sli_pack_step (Packer *packer);
/* The first process has ended with this status (as wait() gives it). */
void sli_pack_ended (Packer *packer, int status);
/* The program's time without the recorder, noted in its trace. */
void sli_pack_plain (Packer *packer, uint64_t nsec);
/* Shows somebody each chunk of the first process before it is given back, and
 * at sli_pack_look() all that are in use. */
void sli_pack_watch (Packer *packer, PackSeen *seen, void *data);
void sli_pack_look (Packer *packer);
/* The first process has gone to sleep, and writes no more. */
void sli_pack_sleeps (Packer *packer);
/* Whether a recorded process still runs. */
bool sli_pack_running (Packer *packer);
/* Packs what is left, ends the traces, removes the spools. */
bool sli_pack_finish (Packer *packer);
/* Totals, for the line at the end; valid after sli_pack_finish(). */
typedef struct
{
  uint64_t n_events, n_bytes, n_dropped_nested, n_dropped_full;
  uint64_t n_unwind_checked, n_unwind_differs;
  uint64_t unwind_position, unwind_pcs[2]; /* of a first difference */
  unsigned n_traces;
  unsigned n_unsampled;  /* processes without a sample, and so without a
                          * trace */
  unsigned n_unrecorded; /* processes that had no space for a spool */
  unsigned n_refused;    /* those that could not open or map it, or it could
                          * not be opened here */
  bool cut, running;
} PackTotals;
void sli_pack_totals (const Packer *packer, PackTotals *totals);
void sli_pack_free (Packer *packer);

#endif
