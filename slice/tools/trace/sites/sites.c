/* sites.c - call sites: stacks cut at a depth, allocators and wrappers dropped
 *
 * Tools.  A site's frames should show what the memory is for.  wrappers.c
 * finds the frames that do not.  Nor do those of a library: the reader of the
 * advice can change the call of asprintf(), not asprintf().  So a site starts
 * with the first frame of the program itself, if it is near; the library's
 * function is kept as a detail.  Blocks that a library allocates and frees
 * before it returns stay a site in the library.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "sites.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>

#define TEMPORARY_SHARE 0.99

/* A parent has a smaller number than its children, so one pass is enough. */
static void
libraries_find (Sites *sites)
{
  const TraceReader *reader = sites->reader;
  uint32_t n = reader->n_nodes;

  sites->depth_in = sli_tool_zero (n + 1);
  sites->outside = sli_tool_zero ((n + 1) * sizeof (uint32_t));
  sites->depths = sli_tool_zero ((n + 2) * sizeof (uint16_t));
  for (uint32_t node = TRACE_N_FIXED_NODES; node < n; node++)
    {
      uint32_t parent = reader->parents[node];
      unsigned depth;

      sites->outside[node] = node;
      sites->depths[node] = sites->depths[parent];
      if (sites->depths[node] < UINT16_MAX)
        sites->depths[node]++;
      if (!sli_symbols_is_library (sites->symbols, reader->pcs[node]))
        continue;
      depth = sites->depth_in[parent] + 1u;
      sites->depth_in[node] = depth > UINT8_MAX ? UINT8_MAX : (uint8_t) depth;
      sites->outside[node] = sites->outside[parent];
    }
  for (uint32_t node = TRACE_N_FIXED_NODES; node < n; node++)
    if (sites->outside[node] < TRACE_N_FIXED_NODES
        || sites->depth_in[node] > LIBRARY_FRAMES_MAX)
      sites->outside[node] = node;
}

Sites *
sli_sites_new (const TraceReader *reader, Symbols *symbols)
{
  Sites *sites = sli_tool_zero (sizeof *sites);

  sites->reader = reader;
  sites->symbols = symbols;
  sites->allocs = sli_tool_zero (reader->n_nodes * sizeof (uint64_t));
  sites->bytes = sli_tool_zero (reader->n_nodes * sizeof (uint64_t));
  sites->frees = sli_tool_zero (reader->n_nodes * sizeof (uint64_t));
  sites->start = sli_tool_zero (reader->n_nodes * sizeof (uint32_t));
  sites->gone = sli_tool_zero (reader->n_nodes * sizeof (uint64_t));
  sites->temporary = sli_tool_zero (reader->n_nodes);
  libraries_find (sites);
  sli_sites_wrappers_init (sites);
  return sites;
}

static LibraryCall *
call_of (Sites *sites, uint32_t thread)
{
  if (thread >= sites->n_calls)
    {
      uint32_t capacity = thread + 64;

      sites->calls
          = sli_tool_grow (sites->calls, capacity * sizeof *sites->calls);
      memset (&sites->calls[sites->n_calls], 0,
              (capacity - sites->n_calls) * sizeof *sites->calls);
      sites->n_calls = capacity;
    }
  return &sites->calls[thread];
}

static void
call_allocated (Sites *sites, const TraceEvent *event)
{
  LibraryCall *call = call_of (sites, event->thread);
  uint32_t outside = sites->outside[event->node];

  if (call->outside != outside)
    call->n = 0;
  call->outside = outside;
  if (outside == event->node)
    return;
  if (call->n == CALL_BLOCKS)
    {
      call->n--;
      memmove (call->nodes, call->nodes + 1, call->n * sizeof *call->nodes);
      memmove (call->blocks, call->blocks + 1, call->n * sizeof *call->blocks);
    }
  call->nodes[call->n] = event->node;
  call->blocks[call->n++] = event->address;
}

/* Returns true if a free is within the thread's current call of a library.
 * Its stack is short: if it shows no frame of the program, it is. */
static bool
free_within (const Sites *sites, const LibraryCall *call, uint32_t node)
{
  const TraceReader *reader = sites->reader;

  if (sites->depth_in[node] == 0)
    return false;
  while (node >= TRACE_N_FIXED_NODES && sites->depth_in[node] > 0)
    node = reader->parents[node];
  return node < TRACE_N_FIXED_NODES
         || reader->pcs[node] == reader->pcs[call->outside];
}

static void
call_freed (Sites *sites, const TraceEvent *event)
{
  LibraryCall *call = call_of (sites, event->thread);

  if (call->n == 0)
    return;
  if (!free_within (sites, call, event->node))
    {
      call->n = 0;
      return;
    }
  for (uint32_t i = 0; i < call->n; i++)
    if (call->blocks[i] == event->address)
      {
        sites->gone[call->nodes[i]]++;
        call->blocks[i] = 0;
        return;
      }
}

void
sli_sites_count (Sites *sites, const TraceEvent *event)
{
  /* a sampled trace does not show what comes between */
  if (trace_is_sampled (sites->reader))
    ;
  else if (trace_op_is_alloc (event->op))
    call_allocated (sites, event);
  else if (trace_op_is_free (event->op))
    call_freed (sites, event);
  if (trace_op_is_alloc (event->op))
    {
      sites->allocs[event->node]++;
      sites->bytes[event->node] += event->size;
    }
  else if (trace_op_is_free (event->op))
    sites->frees[event->node]++;
}

void
sli_sites_free (Sites *sites)
{
  for (size_t i = 0; i < sites->n_patterns; i++)
    free (sites->patterns[i]);
  free (sites->patterns);
  free (sites->allocs);
  free (sites->bytes);
  free (sites->frees);
  free (sites->start);
  free (sites->outside);
  free (sites->depth_in);
  free (sites->gone);
  free (sites->temporary);
  free (sites->calls);
  free (sites->depths);
  free (sites->functions);
  free (sites->sites);
  sli_table_free (&sites->table);
  free (sites->wrapper_pcs);
  free (sites);
}

/* Finds the start of each stack: outside the libraries, except for blocks that
 * are freed before the library returns. */
static void
starts_find (Sites *sites)
{
  for (uint32_t node = 0; node < sites->reader->n_nodes; node++)
    {
      sites->temporary[node]
          = sites->outside[node] != node && sites->allocs[node] > 0
            && (double) sites->gone[node]
                   >= TEMPORARY_SHARE * (double) sites->allocs[node];
      sites->start[node]
          = sites->temporary[node] ? node : sites->outside[node];
    }
}

void
sli_sites_settle (Sites *sites)
{
  starts_find (sites);
  sli_sites_wrappers_find (sites);
}

#define FUNCTION_UNKNOWN UINT64_C (1)

uint64_t
sli_sites_function (Sites *sites, uint32_t node)
{
  uint64_t *function;

  if (sites->functions == NULL)
    sites->functions
        = sli_tool_zero (sites->reader->n_nodes * sizeof (uint64_t));
  function = &sites->functions[node];
  if (*function == 0)
    {
      *function = sli_symbols_start (sites->symbols, sites->reader->pcs[node]);
      if (*function == 0)
        *function = FUNCTION_UNKNOWN;
    }
  return *function == FUNCTION_UNKNOWN ? 0 : *function;
}

/* --- the tree of sites --------------------------------------------------- */

/* The table's value of a site that may be new. */
static uint32_t *
site_slot (Sites *sites, uint32_t parent, uint64_t pc, uint64_t function)
{
  uint64_t key = pc ^ function << 7 ^ ((uint64_t) parent + 1) << 33;

  for (;; key++)
    {
      uint32_t *number = sli_table_add (&sites->table, key);
      const Site *site;

      if (*number == 0)
        return number;
      site = &sites->sites[*number - 1];
      if (site->parent == parent && site->pc == pc
          && site->function == function)
        return number;
    }
}

static uint32_t
site_child (Sites *sites, uint32_t parent, uint64_t pc, uint64_t function)
{
  uint32_t *number = site_slot (sites, parent, pc, function);
  uint32_t depth;

  if (*number != 0)
    return *number - 1;
  if (sites->n_sites == sites->capacity)
    {
      sites->capacity = sites->capacity * 2 + 256;
      sites->sites
          = sli_tool_grow (sites->sites, sites->capacity * sizeof (Site));
    }
  depth = parent == SITE_NONE ? 1 : sites->sites[parent].depth + 1;
  sites->sites[sites->n_sites] = (Site){
    .parent = parent, .depth = depth, .pc = pc, .function = function
  };
  *number = ++sites->n_sites;
  return sites->n_sites - 1;
}

/* The library's frame that a stack's own innermost frame has called; or 0. */
static uint32_t
through_find (const Sites *sites, uint32_t node)
{
  const TraceReader *reader = sites->reader;
  uint32_t start = sites->start[node], inner = node;

  if (node == start || start < TRACE_N_FIXED_NODES
      || sites->depth_in[start] > 0)
    return 0;
  while (reader->parents[inner] != start)
    inner = reader->parents[inner];
  return sites->depth_in[inner] > 0 ? inner : 0;
}

uint32_t
sli_sites_of (Sites *sites, uint32_t node, uint32_t depth)
{
  const TraceReader *reader = sites->reader;
  uint32_t at = sites->start[node];
  uint32_t through, site;

  /* a stack that is not known at all is a site, too */
  if (depth == 0 || at < TRACE_N_FIXED_NODES)
    return site_child (sites, SITE_NONE, 1, 0);
  through = through_find (sites, node);
  site = site_child (sites, SITE_NONE, reader->pcs[at],
                     through == 0 ? 0 : sli_sites_function (sites, through));
  sites->sites[site].through = through;
  sites->sites[site].temporary |= sites->temporary[node];
  for (uint32_t i = 1; i < depth; i++)
    {
      at = reader->parents[at];
      if (at < TRACE_N_FIXED_NODES)
        break;
      site = site_child (sites, site, reader->pcs[at], 0);
    }
  return site;
}

uint64_t
sli_sites_key (Sites *sites, uint32_t site)
{
  uint64_t pcs[SITE_DEPTH_MAX], key = 0;
  uint32_t n = sli_sites_frames (sites, site, pcs);
  const char *through;

  for (uint32_t i = 0; i < n; i++)
    key = sli_xxh64 (&sli_symbols_find (sites->symbols, pcs[i])->key,
                     sizeof (uint64_t), key + 1);
  through = sli_sites_through (sites, site);
  return through == NULL ? key
                         : sli_xxh64 (through, strlen (through), key + 1);
}

static const Site *
site_first (const Sites *sites, uint32_t site)
{
  while (sites->sites[site].parent != SITE_NONE)
    site = sites->sites[site].parent;
  return &sites->sites[site];
}

const char *
sli_sites_through (const Sites *sites, uint32_t site)
{
  uint32_t node = site_first (sites, site)->through;
  const Symbol *symbol;

  if (node == 0)
    return NULL;
  symbol = sli_symbols_find (sites->symbols, sites->reader->pcs[node]);
  if (!symbol->named)
    return symbol->module;
  /* the functions below a string or a container need no name */
  return strstr (symbol->function, "std::") == NULL ? symbol->function : NULL;
}

bool
sli_sites_temporary (const Sites *sites, uint32_t site)
{
  return site_first (sites, site)->temporary;
}

uint32_t
sli_sites_frames (const Sites *sites, uint32_t site,
                  uint64_t pcs[SITE_DEPTH_MAX])
{
  uint32_t n = 0;
  uint32_t depth = sites->sites[site].depth;

  for (; site != SITE_NONE && n < SITE_DEPTH_MAX;
       site = sites->sites[site].parent)
    pcs[depth - 1 - n++] = sites->sites[site].pc;
  return n;
}
