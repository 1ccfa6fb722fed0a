/* operations.c - a trace as a sequence of numbered operations
 *
 * Tools.  See operations.h.  Memory is by what is live at once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "operations.h"
#include "tools/trace/common/tool.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What the text's reader takes: a number of a byte. */
#define N_THREADS_MAX 256
#define N_SLOTS_MIN 1024

typedef struct
{
  uint64_t address; /* 0: the slot is empty */
  uint64_t size;
  uint32_t id;
} LiveBlock;

struct Operations
{
  OperationTotals totals;
  LiveBlock *blocks; /* hashed by address; at most half full */
  size_t n_slots, n_live;
  uint32_t *free_ids; /* that were used before, the last one first */
  size_t n_free, n_free_room;
  uint32_t n_ids;
  /* by thread: what realloc has ended last, should it have failed */
  LiveBlock resized[N_THREADS_MAX];
};

Operations *
sli_operations_new (void)
{
  Operations *operations = sli_tool_zero (sizeof *operations);
  operations->n_slots = N_SLOTS_MIN;
  operations->blocks = sli_tool_zero (N_SLOTS_MIN * sizeof (LiveBlock));
  return operations;
}

void
sli_operations_free (Operations *operations)
{
  free (operations->blocks);
  free (operations->free_ids);
  free (operations);
}

const OperationTotals *
sli_operations_totals (const Operations *operations)
{
  return &operations->totals;
}

/* --- live blocks --------------------------------------------------------- */

static size_t
slot_home (const Operations *operations, uint64_t address)
{
  return (size_t)((address >> 3) * UINT64_C (0x9E3779B97F4A7C15) >> 20)
         & (operations->n_slots - 1);
}

/* Where a block is, or would be. */
static LiveBlock *
slot_find (const Operations *operations, uint64_t address)
{
  size_t at = slot_home (operations, address);
  while (operations->blocks[at].address != 0
         && operations->blocks[at].address != address)
    at = (at + 1) & (operations->n_slots - 1);
  return &operations->blocks[at];
}

static void
slots_double (Operations *operations)
{
  LiveBlock *old = operations->blocks;
  size_t n_old = operations->n_slots;
  operations->n_slots = 2 * n_old;
  operations->blocks
      = sli_tool_zero (operations->n_slots * sizeof (LiveBlock));
  for (size_t i = 0; i < n_old; i++)
    if (old[i].address != 0)
      *slot_find (operations, old[i].address) = old[i];
  free (old);
}

/* Those behind it that would not be found any more move up (Knuth, volume 3,
 * 6.4, algorithm R). */
static void
slot_empty (Operations *operations, LiveBlock *block)
{
  size_t mask = operations->n_slots - 1;
  size_t hole = (size_t)(block - operations->blocks);
  for (size_t at = (hole + 1) & mask; operations->blocks[at].address != 0;
       at = (at + 1) & mask)
    {
      size_t home = slot_home (operations, operations->blocks[at].address);
      if (((at - home) & mask) < ((at - hole) & mask))
        continue;
      operations->blocks[hole] = operations->blocks[at];
      hole = at;
    }
  operations->blocks[hole].address = 0;
  operations->n_live--;
}

/* --- events -------------------------------------------------------------- */

static uint32_t
id_take (Operations *operations)
{
  return operations->n_free > 0
             ? operations->free_ids[--operations->n_free]
             : operations->n_ids++;
}

static void
id_give (Operations *operations, uint32_t id)
{
  if (operations->n_free == operations->n_free_room)
    {
      operations->n_free_room = 2 * operations->n_free_room + 1024;
      operations->free_ids
          = sli_tool_grow (operations->free_ids,
                           operations->n_free_room * sizeof (uint32_t));
    }
  operations->free_ids[operations->n_free++] = id;
}

static void
block_dies (Operations *operations, const TraceEvent *event, unsigned thread,
            FILE *file)
{
  LiveBlock *block = slot_find (operations, event->address);
  if (block->address == 0)
    {
      operations->totals.n_unknown++;
      return;
    }
  if (file != NULL)
    fprintf (file, "f %u %" PRIu32 "\n", thread, block->id);
  operations->resized[thread] = *block;
  operations->totals.n_deaths++;
  operations->totals.live_bytes -= block->size;
  id_give (operations, block->id);
  slot_empty (operations, block);
}

static void
block_is_born (Operations *operations, const TraceEvent *event,
               unsigned thread, FILE *file)
{
  OperationTotals *totals = &operations->totals;
  uint64_t size = event->size;
  if (event->op == TRACE_OP_REALLOC_KEPT
      && operations->resized[thread].address == event->address)
    size = operations->resized[thread].size;
  size += size == 0;
  if (size > UINT32_MAX)
    size = UINT32_MAX;
  LiveBlock *block = slot_find (operations, event->address);
  if (block->address != 0) /* its death was lost */
    {
      block_dies (operations, event, thread, file);
      block = slot_find (operations, event->address);
    }
  *block = (LiveBlock){ event->address, size, id_take (operations) };
  if (file != NULL)
    fprintf (file, "a %u %" PRIu32 " %" PRIu64 "\n", thread, block->id, size);
  totals->n_births++;
  totals->bytes += size;
  totals->live_bytes += size;
  if (totals->live_bytes > totals->peak_bytes)
    totals->peak_bytes = totals->live_bytes;
  if (2 * ++operations->n_live > operations->n_slots)
    slots_double (operations);
}

/* Threads are numbered from 1 in a trace.  Past what the text can name two of
 * them share a number, which keeps their order. */
void
sli_operations_add (Operations *operations, const TraceEvent *event,
                    FILE *file)
{
  unsigned thread = (event->thread - 1) % N_THREADS_MAX;
  if (trace_op_is_birth (event->op))
    block_is_born (operations, event, thread, file);
  else if (trace_op_is_death (event->op))
    block_dies (operations, event, thread, file);
}
