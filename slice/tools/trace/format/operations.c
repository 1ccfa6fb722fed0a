/* operations.c - a trace as a sequence of numbered operations
 *
 * Tools.  See operations.h.  Its memory depends on the blocks that are live at
 * once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "operations.h"
#include "tools/trace/common/table.h"
#include "tools/trace/common/tool.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The text's reader takes numbers of one byte. */
#define N_THREADS_MAX 256
#define ID_NONE UINT32_MAX

struct Operations
{
  OperationTotals totals;
  Table live;         /* by address: the block's id plus 1 */
  uint64_t *sizes;    /* by id */
  uint32_t *free_ids; /* that were used before, the last one first */
  uint32_t n_free, n_ids, capacity;
  /* by thread: the block that realloc has freed last, in case it failed */
  struct
  {
    uint64_t address, size;
  } resized[N_THREADS_MAX];
};

Operations *
sli_operations_new (void)
{
  return sli_tool_zero (sizeof (Operations));
}

void
sli_operations_free (Operations *operations)
{
  sli_table_free (&operations->live);
  free (operations->sizes);
  free (operations->free_ids);
  free (operations);
}

const OperationTotals *
sli_operations_totals (const Operations *operations)
{
  return &operations->totals;
}

/* --- events -------------------------------------------------------------- */

static uint32_t
id_take (Operations *operations)
{
  if (operations->n_free > 0)
    return operations->free_ids[--operations->n_free];
  if (operations->n_ids == operations->capacity)
    {
      operations->capacity = 2 * operations->capacity + 1024;
      operations->sizes = sli_tool_grow (
          operations->sizes, operations->capacity * sizeof (uint64_t));
      operations->free_ids = sli_tool_grow (
          operations->free_ids, operations->capacity * sizeof (uint32_t));
    }
  return operations->n_ids++;
}

static void
block_free (Operations *operations, const TraceEvent *event, unsigned thread,
            FILE *file)
{
  uint32_t id = sli_table_remove (&operations->live, event->address) - 1;
  uint64_t size;

  if (id == ID_NONE)
    {
      operations->totals.n_unknown++;
      return;
    }
  size = operations->sizes[id];
  if (file != NULL)
    fprintf (file, "f %u %" PRIu32 "\n", thread, id);
  operations->resized[thread].address = event->address;
  operations->resized[thread].size = size;
  operations->totals.n_frees++;
  operations->totals.live_bytes -= size;
  operations->free_ids[operations->n_free++] = id;
}

static void
block_alloc (Operations *operations, const TraceEvent *event, unsigned thread,
             FILE *file)
{
  OperationTotals *totals = &operations->totals;
  uint64_t size = event->size;
  uint32_t id;

  if (event->op == TRACE_OP_REALLOC_KEPT
      && operations->resized[thread].address == event->address)
    size = operations->resized[thread].size;
  size += size == 0;
  if (size > UINT32_MAX)
    size = UINT32_MAX;
  if (table_get (&operations->live, event->address) != 0)
    block_free (operations, event, thread, file); /* its free was lost */
  id = id_take (operations);
  *sli_table_add (&operations->live, event->address) = id + 1;
  operations->sizes[id] = size;
  if (file != NULL)
    fprintf (file, "a %u %" PRIu32 " %" PRIu64 "\n", thread, id, size);
  totals->n_allocs++;
  totals->bytes += size;
  totals->live_bytes += size;
  if (totals->live_bytes > totals->peak_bytes)
    totals->peak_bytes = totals->live_bytes;
}

/* Threads are numbered from 1 in a trace.  If there are more than the text can
 * name, some share a number, which keeps their order. */
void
sli_operations_add (Operations *operations, const TraceEvent *event,
                    FILE *file)
{
  unsigned thread = (event->thread - 1) % N_THREADS_MAX;

  if (trace_op_is_alloc (event->op))
    block_alloc (operations, event, thread, file);
  else if (trace_op_is_free (event->op))
    block_free (operations, event, thread, file);
}
