/* watch-live.c - counts the blocks that live, by the places that allocate them
 *
 * Tools.  Reads the events of a running process's spool, also those of chunks
 * that are not full.  A free may come to another thread's chunk before the
 * allocation is in its own.  So an event waits until all that came before it
 * are there, and events are taken in the order of time.
 *
 * A place is a function of the program with two callers: what patterns and
 * reports call a site needs the whole trace.
 *
 * Design: section 13.13.  SPDX-License-Identifier: MIT
 */
#include "watch-parts.h"
#include "tools/trace/common/table.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/pack/pack-parts.h"
#include "tools/trace/sites/names.h"
#include "tools/trace/sites/sites.h"
#include <stdlib.h>
#include <string.h>

/* How long an event may take to come to its chunk: some 10 ms. */
#define LATE_TICKS (UINT64_C (1) << 25)
#define FRAMES_MAX 64
#define NAMES_MAX 3

typedef struct
{
  uint64_t size;
  uint32_t place; /* of a free item: the next, plus 1 */
} Block;

typedef struct
{
  uint64_t sequence; /* of the chunk that the cursor is for, plus 1 */
  ChunkCursor cursor;
} ChunkSeen;

struct WatchLive
{
  TraceReader modules; /* no more than the modules of a reader */
  Symbols *symbols;
  uint64_t log_done;
  ChunkSeen chunks[SPOOL_CHUNKS_MAX];
  TraceEvent *events; /* that wait */
  size_t n_events, capacity;
  uint64_t looked; /* events before are there, LATE_TICKS later */
  const RawNode *nodes;
  uint32_t *place_of; /* by node: the place plus 1 */
  uint32_t n_place_of;
  WatchPlace *places;
  WatchPlace **sorted;
  uint32_t n_places;
  Table by_name;
  Block *blocks;
  uint32_t n_blocks, first_free;
  Table by_address;
  WatchPlace all;
  double n_before;
};

WatchLive *
sli_live_new (void)
{
  WatchLive *live = sli_tool_zero (sizeof *live);

  live->all.name = sli_tool_text ("all");
  return live;
}

void
sli_live_free (WatchLive *live)
{
  for (uint32_t i = 0; i < live->n_places; i++)
    free (live->places[i].name);
  for (size_t i = 0; i < live->modules.n_modules; i++)
    {
      free (live->modules.modules[i].path);
      free (live->modules.modules[i].build_id);
    }
  if (live->symbols != NULL)
    sli_symbols_free (live->symbols);
  free (live->modules.modules);
  free (live->all.name);
  free (live->events);
  free (live->place_of);
  free (live->places);
  free (live->sorted);
  free (live->blocks);
  sli_table_free (&live->by_name);
  sli_table_free (&live->by_address);
  free (live);
}

/* --- places -------------------------------------------------------------- */

/* Reads the modules that are new; the names of places stay. */
static void
modules_read (WatchLive *live, const uint8_t *map)
{
  const SpoolHead *head = (const SpoolHead *) map;
  uint64_t end = atomic_load (&head->log_bytes);
  size_t n_before = live->modules.n_modules;

  while (live->log_done + sizeof (LogRecord) <= end && end <= SPOOL_LOG_BYTES)
    {
      const LogRecord *record
          = (const LogRecord *) (map + SPOOL_LOG_OFFSET + live->log_done);
      uint32_t n = atomic_load (&record->bytes);

      if (n < sizeof *record || n > end - live->log_done)
        break;
      if (record->type == TRACE_BLOCK_MODULES)
        sli_trace_module_read (&live->modules, (const uint8_t *) (record + 1),
                               n - sizeof *record);
      live->log_done += n;
    }
  if (live->modules.n_modules == n_before)
    return;
  if (live->symbols != NULL)
    sli_symbols_free (live->symbols);
  live->symbols = sli_symbols_new (&live->modules);
}

/* Fills the pcs from the innermost on; returns their number. */
static unsigned
frames_of (const WatchLive *live, uint32_t node, uint64_t pcs[FRAMES_MAX])
{
  unsigned n = 0;

  while (node >= TRACE_N_FIXED_NODES && node < SPOOL_NODES_MAX
         && n < FRAMES_MAX)
    {
      const RawNode *at = &live->nodes[node];
      uint64_t pc = atomic_load (&at->pc);

      if (pc == 0 || at->parent >= node)
        break;
      pcs[n++] = pc;
      node = at->parent;
    }
  return n;
}

static bool
is_own (WatchLive *live, uint64_t pc)
{
  return !sli_symbols_is_library (live->symbols, pc)
         && !sli_name_is_library (
             sli_symbols_find (live->symbols, pc)->function);
}

static char *
place_name (WatchLive *live, uint32_t node)
{
  uint64_t pcs[FRAMES_MAX];
  unsigned n = live->symbols == NULL ? 0 : frames_of (live, node, pcs);
  unsigned first = 0;
  char *name;

  while (first < n && first <= LIBRARY_FRAMES_MAX && !is_own (live, pcs[first]))
    first++;
  if (first == n || first > LIBRARY_FRAMES_MAX)
    first = 0;
  if (n == 0)
    return sli_tool_text ("(unknown)");
  name = sli_tool_text (
      "%s", sli_symbols_find (live->symbols, pcs[first])->function);
  for (unsigned i = first + 1; i < n && i < first + NAMES_MAX; i++)
    {
      char *longer = sli_tool_text (
          "%s < %s", name, sli_symbols_find (live->symbols, pcs[i])->function);

      free (name);
      name = longer;
    }
  return name;
}

static uint32_t
place_add (WatchLive *live, uint32_t node)
{
  char *name = place_name (live, node);
  uint32_t *number = sli_table_add_text (&live->by_name, name, live->places,
                                         sizeof (WatchPlace));

  if (*number != 0)
    {
      free (name);
      return *number;
    }
  *number = ++live->n_places;
  live->places
      = sli_tool_grow (live->places, live->n_places * sizeof *live->places);
  live->places[live->n_places - 1] = (WatchPlace){ .name = name };
  return live->n_places;
}

/* The number of a node's place. */
static uint32_t
place_find (WatchLive *live, uint32_t node)
{
  if (node >= live->n_place_of)
    {
      uint32_t n = node < SPOOL_NODES_MAX / 2 ? 2 * node + 1024 : node + 1;

      live->place_of
          = sli_tool_grow (live->place_of, n * sizeof *live->place_of);
      memset (&live->place_of[live->n_place_of], 0,
              (n - live->n_place_of) * sizeof *live->place_of);
      live->n_place_of = n;
    }
  if (live->place_of[node] == 0)
    live->place_of[node] = place_add (live, node);
  return live->place_of[node] - 1;
}

/* --- blocks -------------------------------------------------------------- */

static void
block_free (WatchLive *live, uint64_t address)
{
  uint32_t number = sli_table_remove (&live->by_address, address);
  Block *block;

  if (number == 0)
    {
      live->n_before++;
      return;
    }
  block = &live->blocks[number - 1];
  live->places[block->place].live -= (double) block->size;
  live->all.live -= (double) block->size;
  block->place = live->first_free;
  live->first_free = number;
}

static void
block_add (WatchLive *live, const TraceEvent *event)
{
  uint32_t place = place_find (live, event->node);
  WatchPlace *sums[2] = { &live->places[place], &live->all };
  uint32_t number = live->first_free;

  if (table_get (&live->by_address, event->address) != 0)
    block_free (live, event->address); /* whose free was not recorded */
  if (number != 0)
    live->first_free = live->blocks[number - 1].place;
  else
    {
      number = ++live->n_blocks;
      if ((number & (number - 1)) == 0)
        live->blocks
            = sli_tool_grow (live->blocks, 2 * number * sizeof *live->blocks);
    }
  live->blocks[number - 1] = (Block){ event->size, place };
  *sli_table_add (&live->by_address, event->address) = number;
  for (int i = 0; i < 2; i++)
    {
      sums[i]->live += (double) event->size;
      sums[i]->bytes += (double) event->size;
      sums[i]->calls++;
    }
}

/* --- events -------------------------------------------------------------- */

/* Of two at one tick the free comes first: the block was used again. */
static int
event_compare (const void *a, const void *b)
{
  const TraceEvent *left = a, *right = b;

  if (left->ticks != right->ticks)
    return left->ticks < right->ticks ? -1 : 1;
  return trace_op_is_free (right->op) - trace_op_is_free (left->op);
}

static void
events_take (WatchLive *live, uint64_t until)
{
  size_t i = 0;

  if (live->n_events == 0)
    return;
  qsort (live->events, live->n_events, sizeof *live->events, event_compare);
  for (; i < live->n_events && live->events[i].ticks <= until; i++)
    if (trace_op_is_alloc (live->events[i].op)
        && live->events[i].op != TRACE_OP_REALLOC_KEPT)
      block_add (live, &live->events[i]);
    else if (trace_op_is_free (live->events[i].op))
      block_free (live, live->events[i].address);
  live->n_events -= i;
  memmove (live->events, &live->events[i],
           live->n_events * sizeof *live->events);
}

/* Reads a chunk's new events, unless it gets a new owner meanwhile. */
static void
chunk_read (WatchLive *live, const RawChunk *chunk, ChunkSeen *seen)
{
  uint64_t sequence = *(const volatile uint64_t *) &chunk->head.sequence;
  ChunkCursor cursor = { 0 };
  size_t n;

  if (sequence + 1 == seen->sequence)
    cursor = seen->cursor;
  if (live->n_events + TRACE_BLOCK_EVENTS > live->capacity)
    {
      live->capacity = 2 * (live->n_events + TRACE_BLOCK_EVENTS);
      live->events
          = sli_tool_grow (live->events, live->capacity * sizeof *live->events);
    }
  n = sli_chunk_events (chunk, &cursor, &live->events[live->n_events]);
  if (*(const volatile uint64_t *) &chunk->head.sequence != sequence)
    return;
  *seen = (ChunkSeen){ sequence + 1, cursor };
  live->n_events += n;
}

void
sli_live_read (WatchLive *live, uint8_t *map, uint32_t chunk)
{
  live->nodes = (const RawNode *) (map + SPOOL_NODES_OFFSET);
  chunk_read (live,
              (const RawChunk *) (map + SPOOL_CHUNKS_OFFSET
                                  + chunk * SPOOL_CHUNK_BYTES),
              &live->chunks[chunk]);
  modules_read (live, map); /* those of the events */
}

void
sli_live_settle (WatchLive *live)
{
  uint64_t now = ticks_now ();

  if (now - live->looked < LATE_TICKS)
    return;
  events_take (live, live->looked);
  live->looked = now;
}

/* --- sums ---------------------------------------------------------------- */

static int
place_compare (const void *a, const void *b)
{
  const WatchPlace *left = *(WatchPlace *const *) a;
  const WatchPlace *right = *(WatchPlace *const *) b;

  return left->live > right->live ? -1 : left->live < right->live;
}

void
sli_live_sums (WatchLive *live, bool at_end, WatchSums *sums)
{
  if (at_end)
    events_take (live, UINT64_MAX);
  live->sorted = sli_tool_grow (live->sorted, (live->n_places + 1)
                                                  * sizeof *live->sorted);
  for (uint32_t i = 0; i < live->n_places; i++)
    live->sorted[i] = &live->places[i];
  if (live->n_places > 0)
    qsort (live->sorted, live->n_places, sizeof *live->sorted, place_compare);
  *sums = (WatchSums){ live->all, live->sorted, live->n_places,
                       live->n_before };
}

static void
place_mark (WatchPlace *place)
{
  place->live_before = place->live;
  place->calls_before = place->calls;
  place->bytes_before = place->bytes;
}

void
sli_live_mark (WatchLive *live)
{
  place_mark (&live->all);
  for (uint32_t i = 0; i < live->n_places; i++)
    place_mark (&live->places[i]);
}
