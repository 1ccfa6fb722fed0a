/* trace-twins.c - stacks through a module that was loaded at several places
 *
 * Tools.  A plugin that is unloaded and loaded again may lie elsewhere, and
 * the recorder writes addresses.  So one stack has a node for each place. Here
 * they become one: addresses in a module are those of its first place.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#include "tools/trace/common/table.h"
#include "tools/trace/common/tool.h"
#include "trace-read-parts.h"
#include <stdlib.h>
#include <string.h>

/* Returns true if both are the same file: by the build id, or by its path and
 * size if it has none. */
static bool
is_same_file (const ReadModule *a, const ReadModule *b)
{
  if (a->high - a->low != b->high - b->low
      || a->low - a->bias != b->low - b->bias
      || a->n_build_id != b->n_build_id)
    return false;
  return a->n_build_id > 0
             ? memcmp (a->build_id, b->build_id, a->n_build_id) == 0
             : a->path[0] == '/' && strcmp (a->path, b->path) == 0;
}

static uint64_t
file_hash (const ReadModule *module)
{
  uint64_t bytes = module->high - module->low;

  return module->n_build_id > 0
             ? sli_xxh64 (module->build_id, module->n_build_id, bytes)
             : sli_xxh64 (module->path, strlen (module->path), bytes);
}

/* By module: the first one of the same file; NULL if each is its own. */
static const ReadModule **
firsts_find (const TraceReader *reader)
{
  const ReadModule **firsts
      = sli_tool_zero ((reader->n_modules + 1) * sizeof *firsts);
  Table table = { 0 }; /* by hash: the first module plus 1 */
  bool any = false;

  for (size_t i = 0; i < reader->n_modules; i++)
    {
      const ReadModule *module = &reader->modules[i];
      uint32_t *number = sli_table_add (&table, file_hash (module));
      const ReadModule *first;

      if (*number == 0)
        *number = (uint32_t) i + 1;
      first = &reader->modules[*number - 1];
      firsts[i] = is_same_file (first, module) ? first : module;
      any |= firsts[i] != module;
    }
  sli_table_free (&table);
  if (any)
    return firsts;
  free (firsts);
  return NULL;
}

/* The address at the first place of its module.  *last is the module of the
 * address before, where most lie. */
static uint64_t
pc_first (const TraceReader *reader, const ReadModule **firsts, uint64_t pc,
          size_t *last)
{
  uint64_t address = pc & TRACE_PC_MASK, tag = pc >> TRACE_PC_BITS;

  if (tag == TRACE_PC_TAG_LINE)
    return pc;
  for (size_t i = 0; i < reader->n_modules; i++)
    {
      size_t at = (*last + i) % reader->n_modules;
      const ReadModule *module = &reader->modules[at], *first = firsts[at];

      if (module->tag != tag || address < module->low
          || address >= module->high)
        continue;
      *last = at;
      return module == first
                 ? pc
                 : ((address - module->low + first->low) & TRACE_PC_MASK)
                       | (uint64_t) first->tag << TRACE_PC_BITS;
    }
  return pc;
}

/* The first node with a node's parent and address; itself if there is none. */
static uint32_t
node_first (const TraceReader *reader, Table *table, uint32_t node)
{
  uint32_t parent = reader->parents[node];
  uint64_t pc = reader->pcs[node];

  for (uint64_t key = pc ^ ((uint64_t) parent + 1) << 33;; key++)
    {
      uint32_t *found = sli_table_add (table, key);

      if (*found == 0)
        *found = node;
      if (reader->parents[*found] == parent && reader->pcs[*found] == pc)
        return *found;
    }
}

void
sli_trace_twins_join (TraceReader *reader)
{
  const ReadModule **firsts = firsts_find (reader);
  Table table = { 0 };
  size_t last = 0;

  if (firsts == NULL)
    return;
  reader->twins = sli_tool_zero (reader->n_nodes * sizeof *reader->twins);
  for (uint32_t node = 0; node < reader->n_nodes; node++)
    reader->twins[node] = node;
  for (uint32_t node = TRACE_N_FIXED_NODES; node < reader->n_nodes; node++)
    {
      /* the parent is older, so it has been joined */
      reader->parents[node] = reader->twins[reader->parents[node]];
      reader->pcs[node] = pc_first (reader, firsts, reader->pcs[node], &last);
      reader->twins[node] = node_first (reader, &table, node);
    }
  sli_table_free (&table);
  free (firsts);
}
