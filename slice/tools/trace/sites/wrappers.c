/* wrappers.c - frames that do not show what the memory is for
 *
 * Tools.  A frame is a wrapper by its name (operator new, xmalloc, g_malloc),
 * by an option of the user, or because a large share of all allocations passes
 * through it from many callers.  A site begins outside of them.
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

#define NAME_PLAIN_BYTES 256
/* An unnamed return address is a wrapper from this share of all allocations
 * and this number of distinct callers on. */
#define WRAPPER_SHARE 0.20
#define WRAPPER_CALLERS 16

#define OR_CALL(result, name, parameters) #name "|"
static const char *const default_patterns[] = {
  "(^|::)operator (new|delete)",
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
  "^_?Py(Mem|Object)_(Raw)?(Malloc|Calloc|Realloc)$"
};

/* --- the patterns -------------------------------------------------------- */

void
sli_sites_wrapper (Sites *sites, const char *pattern)
{
  sites->patterns = sli_tool_grow (sites->patterns,
                                   (sites->n_patterns + 1) * sizeof (char *));
  sites->patterns[sites->n_patterns++] = sli_tool_text ("%s", pattern);
}

void
sli_sites_wrappers_init (Sites *sites)
{
  for (size_t i = 0; i < sizeof default_patterns / sizeof *default_patterns;
       i++)
    sli_sites_wrapper (sites, default_patterns[i]);
}

/* --- the search ---------------------------------------------------------- */

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
  const char *names[3] = { symbol->function, plain };
  const char *last;

  if (!symbol->named || symbol->function[0] == '\0')
    return false;
  sli_name_plain (symbol->function, plain, sizeof plain);
  last = strrchr (plain, ':');
  names[2] = last == NULL ? plain : last + 1;
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
  bool found;

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
  found = (double) leaf->allocs >= WRAPPER_SHARE * (double) n_allocs
          && leaf->n_callers >= WRAPPER_CALLERS
          && (leaf->named || callers_are_many (sites, leaf));
  leaf->wrapper = leaf->named || found;
  if (found && !leaf->named)
    {
      sites->wrapper_pcs = sli_tool_grow (
          sites->wrapper_pcs, (sites->n_wrapper_pcs + 1) * sizeof (uint64_t));
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
      uint32_t next;

      if (sites->allocs[node] == 0 || start < TRACE_N_FIXED_NODES
          || reader->parents[start] < TRACE_N_FIXED_NODES
          || sites->temporary[node]
          || !leaf_find (table, reader->pcs[start])->wrapper)
        continue;
      next = sites->outside[reader->parents[start]];
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

void
sli_sites_wrappers_find (Sites *sites)
{
  regex_t *expressions
      = sli_tool_zero ((sites->n_patterns + 1) * sizeof *expressions);
  uint64_t n_allocs = 0;
  LeafTable table = { 0 };

  for (size_t i = 0; i < sites->n_patterns; i++)
    sli_tool_expression (&expressions[i], sites->patterns[i]);
  for (uint32_t node = 0; node < sites->reader->n_nodes; node++)
    n_allocs += sites->allocs[node];
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
