/* apply-paths.c - the stacks by which a site is known when the program runs
 *
 * Tools.  A stack begins with malloc's caller and goes outward, until it
 * differs from the stacks of all other sites.  So most sites need their return
 * address alone.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#include "apply.h"
#include <stdlib.h>

#define CHAIN_MAX 64

static uint32_t
node_child (Paths *paths, uint32_t parent, uint64_t pc, uint32_t result)
{
  uint64_t key = pc ^ ((uint64_t) parent + 1) << 33;
  uint32_t *number;

  for (;; key++)
    {
      PathNode *node;

      number = sli_table_add (&paths->by_key, key);
      if (*number == 0)
        break;
      node = &paths->nodes[*number - 1];
      if (node->parent != parent || node->pc != pc)
        continue;
      if (node->result != result)
        node->result = SITE_NONE;
      return *number - 1;
    }
  if (paths->n == paths->capacity)
    {
      paths->capacity = paths->capacity * 2 + 256;
      paths->nodes
          = sli_tool_grow (paths->nodes, paths->capacity * sizeof (PathNode));
    }
  paths->nodes[paths->n]
      = (PathNode){ .pc = pc, .parent = parent, .result = result };
  *number = ++paths->n;
  return paths->n - 1;
}

/* The stack's frames, from the innermost.  Frames beyond the site's outermost
 * one distinguish it from sites that have the same frames up to there. */
static uint32_t
chain_find (const Profile *profile, uint32_t node, uint32_t chain[CHAIN_MAX])
{
  const TraceReader *reader = profile->sites->reader;
  uint32_t n = 0;

  for (uint32_t at = node; at >= TRACE_N_FIXED_NODES && n < CHAIN_MAX;
       at = reader->parents[at])
    chain[n++] = at;
  return n;
}

void
sli_apply_paths (Paths *paths, const Profile *profile, const uint64_t *by_node)
{
  const TraceReader *reader = profile->reader;
  uint32_t chain[CHAIN_MAX];

  node_child (paths, UINT32_MAX, 0, SITE_NONE);
  /* all of them first, since a later one may make an earlier one ambiguous */
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t node = TRACE_N_FIXED_NODES; node < reader->n_nodes; node++)
      {
        uint32_t result = profile->final_map[node], at = 0;
        uint32_t n = 0;

        if (by_node[node] > 0)
          n = chain_find (profile, node, chain);
        for (uint32_t i = 0; i < n; i++)
          {
            at = node_child (paths, at, reader->pcs[chain[i]], result);
            if (pass == 1 && paths->nodes[at].result == result)
              break;
          }
        if (pass == 1 && n > 0 && paths->nodes[at].result == result)
          paths->nodes[at].ends = true;
      }
}
