/* operations.h - a trace as a sequence of numbered operations
 *
 * Tools.  It has what a benchmark needs to repeat a trace: allocations and
 * frees in order, blocks numbered from 0, and numbers that are used again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_FORMAT_OPERATIONS_H
#define SLI_TRACE_FORMAT_OPERATIONS_H

#include "tools/trace/format/read/trace-read.h"
#include <stdio.h>

/* A block of size 0 counts as one of 1 byte, and is repeated so. */
typedef struct
{
  uint64_t n_allocs;
  uint64_t n_frees;   /* of blocks that were allocated */
  uint64_t n_unknown; /* of others, left out */
  uint64_t bytes;     /* of all allocations */
  uint64_t live_bytes;
  uint64_t peak_bytes;
} OperationTotals;

typedef struct Operations Operations;

Operations *sli_operations_new (void);
void sli_operations_free (Operations *operations);

/* Adds an event; with a file, writes its line (docs/design/benchmark.md has
 * the format). */
void sli_operations_add (Operations *operations, const TraceEvent *event,
                         FILE *file);
const OperationTotals *sli_operations_totals (const Operations *operations);

#endif
