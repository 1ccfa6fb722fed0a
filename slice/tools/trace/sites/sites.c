/* sites.c - call sites: stacks cut at a depth, allocators and wrappers dropped
 *
 * Tools.  A wrapper is a frame that does not show what the memory is for: by
 * its name (operator new, xmalloc, g_malloc), by an option of the user, or
 * because a large share of all allocations passes through it from many
 * callers.
 *
 * A library's frames don't show it either: the reader of the advice can change
 * the call of asprintf(), not asprintf().  So a site starts with the first
 * frame of the program itself, if it is near; the library's function is kept
 * as a detail.  Blocks that a library allocates and frees before it returns
 * stay a site in the library.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "sites.h"
#include "names.h"
#include "port/malloc-family.h"
#include "tools/trace/common/tool.h"
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define TEMPORARY_SHARE 0.99
#define NAME_PLAIN_BYTES 256

#define OR_CALL(result, name, parameters) #name "|"
static const char *const default_patterns[]
    = { "(^|::)operator (new|delete)",
        "^(__libc_|__)?(" MALLOC_FAMILY (OR_CALL) "strdup|strndup|wcsdup)$",
        /* the functions below a container of std, or of std::pmr */
        "::(do_)?allocate(_[a-z_]+)?(<.*>)?\\(",
        "^g_(try_)?(malloc|realloc|memdup|strdup|strndup|strdup_printf|"
        "slice_alloc)[0-9a-z_]*$",
        "^(x|check_|safe_|my_|do_x|xx?)(malloc|calloc|realloc|zalloc|strdup|"
        "strndup|memdup|mallocz|callocz|reallocarray)[0-9a-z_]*$",
        "^(ralloc|rzalloc|talloc|slice)_(size|take|alloc|try_alloc|zero)",
        "^llvm::(safe_malloc|safe_realloc|safe_calloc|allocate_buffer)",
        "^sqlite3(Db|_)?([mM]alloc|[rR]ealloc)(64|Zero|Raw|RawNN|RawNNTyped)?$",
        "^_?Py(Mem|Object)_(Raw)?(Malloc|Calloc|Realloc)$" };

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
      sites->outside[node] = node;
      sites->depths[node] = sites->depths[parent];
      if (sites->depths[node] < UINT16_MAX)
        sites->depths[node]++;
      if (!sli_symbols_is_library (sites->symbols, reader->pcs[node]))
        continue;
      unsigned depth = sites->depth_in[parent] + 1u;
      sites->depth_in[node] = depth > UINT8_MAX ? UINT8_MAX : (uint8_t)depth;
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
  for (size_t i = 0; i < sizeof default_patterns / sizeof *default_patterns;
       i++)
    sli_sites_wrapper (sites, default_patterns[i]);
  return sites;
}

void
sli_sites_wrapper (Sites *sites, const char *pattern)
{
  sites->patterns = sli_tool_grow (sites->patterns,
                                   (sites->n_patterns + 1) * sizeof (char *));
  sites->patterns[sites->n_patterns++] = sli_tool_text ("%s", pattern);
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

/* --- wrappers ------------------------------------------------------------ */

/* A pc that is the innermost of some stacks. */
typedef struct
{
  uint64_t pc;
  uint64_t allocs;
  uint64_t callers[WRAPPER_CALLERS];
  uint32_t n_callers;
  bool named;   /* a wrapper by its name */
  bool checked; /* its name has been looked at */
  bool wrapper;
} Leaf;

typedef struct
{
  Leaf *leaves;
  uint32_t n, capacity;
  Table by_pc; /* a leaf's index plus 1 */
} LeafTable;

static Leaf *
leaf_find (LeafTable *table, uint64_t pc)
{
  uint32_t *number = sli_table_add (&table->by_pc, pc);
  if (*number != 0)
    return &table->leaves[*number - 1];
  if (table->n == table->capacity)
    {
      table->capacity = table->capacity * 2 + 256;
      table->leaves
          = sli_tool_grow (table->leaves, table->capacity * sizeof (Leaf));
    }
  table->leaves[table->n] = (Leaf){ .pc = pc };
  *number = ++table->n;
  return &table->leaves[table->n - 1];
}

/* Returns true if a name matches the patterns of allocators.  In C++ xmalloc()
 * is "util::xmalloc(unsigned long)", which a pattern for C does not match. */
static bool
name_matches (const Sites *sites, const regex_t *expressions,
              const Symbol *symbol)
{
  char plain[NAME_PLAIN_BYTES];
  if (!symbol->named || symbol->function[0] == '\0')
    return false;
  sli_name_plain (symbol->function, plain, sizeof plain);
  const char *last = strrchr (plain, ':');
  const char *names[] = { symbol->function, plain,
                          last == NULL ? plain : last + 1 };
  for (size_t i = 0; i < sites->n_patterns; i++)
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
      if (regexec (&expressions[i], names[k], 0, NULL, 0) == 0)
        return true;
  return false;
}

/* Returns true if only allocators call a function, such as one behind their
 * pointers: it is one itself.  Not so if a library's template calls the
 * program's own function. */
static bool
callers_are_named (const Sites *sites, const regex_t *expressions,
                   const Leaf *leaf)
{
  for (uint32_t i = 0; i < leaf->n_callers; i++)
    if (!name_matches (sites, expressions,
                       sli_symbols_find (sites->symbols, leaf->callers[i])))
      return false;
  return leaf->n_callers > 0;
}

static void
leaf_caller (Leaf *leaf, uint64_t caller)
{
  for (uint32_t i = 0; i < leaf->n_callers; i++)
    if (leaf->callers[i] == caller)
      return;
  if (leaf->n_callers < WRAPPER_CALLERS)
    leaf->callers[leaf->n_callers++] = caller;
}

/* Counts, for each pc that is innermost now, its allocations and callers. */
static void
leaves_count (Sites *sites, LeafTable *table)
{
  const TraceReader *reader = sites->reader;
  for (uint32_t i = 0; i < table->n; i++)
    {
      table->leaves[i].allocs = 0;
      table->leaves[i].n_callers = 0;
    }
  for (uint32_t node = TRACE_N_FIXED_NODES; node < reader->n_nodes; node++)
    if (sites->allocs[node] > 0 && sites->start[node] >= TRACE_N_FIXED_NODES
        && !sites->temporary[node])
      {
        Leaf *leaf = leaf_find (table, reader->pcs[sites->start[node]]);
        leaf->allocs += sites->allocs[node];
        leaf_caller (leaf, reader->pcs[reader->parents[sites->start[node]]]);
      }
}

/* Returns true if a pc has many callers in the source, too, where a call that
 * a template has many copies of is one. */
static bool
callers_are_many (const Sites *sites, const Leaf *leaf)
{
  const TraceReader *reader = sites->reader;
  Leaf calls = { 0 };
  for (uint32_t node = TRACE_N_FIXED_NODES;
       node < reader->n_nodes && calls.n_callers < WRAPPER_CALLERS; node++)
    {
      uint32_t start = sites->start[node];
      if (sites->allocs[node] > 0 && start >= TRACE_N_FIXED_NODES
          && reader->pcs[start] == leaf->pc && !sites->temporary[node])
        leaf_caller (&calls,
                     sli_symbols_find (sites->symbols,
                                       reader->pcs[reader->parents[start]])
                         ->call);
    }
  return calls.n_callers >= WRAPPER_CALLERS;
}

/* Decides whether a pc is a wrapper: by its name, or by the number of its
 * callers and its share of the allocations. */
static void
leaf_judge (Sites *sites, Leaf *leaf, const regex_t *expressions,
            uint64_t n_allocs)
{
  if (!leaf->checked)
    {
      const Symbol *symbol = sli_symbols_find (sites->symbols, leaf->pc);
      leaf->named
          = name_matches (sites, expressions, symbol)
            || (symbol->named && sli_name_is_library (symbol->function));
    }
  leaf->checked = true;
  if (!leaf->named && leaf->n_callers < WRAPPER_CALLERS)
    leaf->named = callers_are_named (sites, expressions, leaf);
  bool found = (double) leaf->allocs >= WRAPPER_SHARE * (double) n_allocs
               && leaf->n_callers >= WRAPPER_CALLERS
               && (leaf->named || callers_are_many (sites, leaf));
  leaf->wrapper = leaf->named || found;
  if (found && !leaf->named)
    {
      sites->wrapper_pcs
          = sli_tool_grow (sites->wrapper_pcs,
                           (sites->n_wrapper_pcs + 1) * sizeof (uint64_t));
      sites->wrapper_pcs[sites->n_wrapper_pcs++] = leaf->pc;
    }
}

/* Moves the starts of the stacks that begin in a wrapper outward; false when
 * there are none. */
static bool
starts_move (Sites *sites, LeafTable *table)
{
  const TraceReader *reader = sites->reader;
  bool any = false;
  for (uint32_t node = TRACE_N_FIXED_NODES; node < reader->n_nodes; node++)
    {
      uint32_t start = sites->start[node];
      if (sites->allocs[node] == 0 || start < TRACE_N_FIXED_NODES
          || reader->parents[start] < TRACE_N_FIXED_NODES
          || sites->temporary[node]
          || !leaf_find (table, reader->pcs[start])->wrapper)
        continue;
      uint32_t next = sites->outside[reader->parents[start]];
      /* If only a library is further out, as at the start of a thread, this is
       * the program's own innermost frame. */
      if (sites->depth_in[next] > 0 && sites->depth_in[start] == 0)
        continue;
      sites->start[node] = next;
      any = true;
    }
  return any;
}

/* One round: finds the wrappers among the pcs that are innermost now.  False
 * if no stack starts in one any more. */
static bool
wrappers_round (Sites *sites, LeafTable *table, const regex_t *expressions,
                uint64_t n_allocs)
{
  leaves_count (sites, table);
  for (uint32_t i = 0; i < table->n; i++)
    if (table->leaves[i].allocs > 0 && !table->leaves[i].wrapper)
      leaf_judge (sites, &table->leaves[i], expressions, n_allocs);
  return starts_move (sites, table);
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
  regex_t *expressions
      = sli_tool_zero ((sites->n_patterns + 1) * sizeof *expressions);
  for (size_t i = 0; i < sites->n_patterns; i++)
    sli_tool_expression (&expressions[i], sites->patterns[i]);
  uint64_t n_allocs = 0;
  for (uint32_t node = 0; node < sites->reader->n_nodes; node++)
    n_allocs += sites->allocs[node];
  LeafTable table = { 0 };
  /* as deep as wrappers of wrappers of wrappers go, and templates that are
   * not inlined */
  for (int round = 0; round < 40; round++)
    if (!wrappers_round (sites, &table, expressions, n_allocs))
      break;
  for (size_t i = 0; i < sites->n_patterns; i++)
    regfree (&expressions[i]);
  free (expressions);
  free (table.leaves);
  sli_table_free (&table.by_pc);
}

#define FUNCTION_UNKNOWN UINT64_C (1)

uint64_t
sli_sites_function (Sites *sites, uint32_t node)
{
  if (sites->functions == NULL)
    sites->functions
        = sli_tool_zero (sites->reader->n_nodes * sizeof (uint64_t));
  uint64_t *function = &sites->functions[node];
  if (*function == 0)
    {
      *function
          = sli_symbols_start (sites->symbols, sites->reader->pcs[node]);
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
  uint64_t key = pc ^ function << 7 ^ ((uint64_t)parent + 1) << 33;
  for (;; key++)
    {
      uint32_t *number = sli_table_add (&sites->table, key);
      if (*number == 0)
        return number;
      const Site *site = &sites->sites[*number - 1];
      if (site->parent == parent && site->pc == pc
          && site->function == function)
        return number;
    }
}

static uint32_t
site_child (Sites *sites, uint32_t parent, uint64_t pc, uint64_t function)
{
  uint32_t *number = site_slot (sites, parent, pc, function);
  if (*number != 0)
    return *number - 1;
  if (sites->n_sites == sites->capacity)
    {
      sites->capacity = sites->capacity * 2 + 256;
      sites->sites
          = sli_tool_grow (sites->sites, sites->capacity * sizeof (Site));
    }
  uint32_t depth = parent == SITE_NONE ? 1 : sites->sites[parent].depth + 1;
  sites->sites[sites->n_sites]
      = (Site){ .parent = parent,
                .depth = depth,
                .pc = pc,
                .function = function };
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
  /* a stack that is not known at all is a site, too */
  if (depth == 0 || at < TRACE_N_FIXED_NODES)
    return site_child (sites, SITE_NONE, 1, 0);
  uint32_t through = through_find (sites, node);
  uint32_t site
      = site_child (sites, SITE_NONE, reader->pcs[at],
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
  for (uint32_t i = 0; i < n; i++)
    key = sli_xxh64 (&sli_symbols_find (sites->symbols, pcs[i])->key,
                     sizeof (uint64_t), key + 1);
  const char *through = sli_sites_through (sites, site);
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
  if (node == 0)
    return NULL;
  const Symbol *symbol
      = sli_symbols_find (sites->symbols, sites->reader->pcs[node]);
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
