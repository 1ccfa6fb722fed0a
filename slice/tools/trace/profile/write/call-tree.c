/* call-tree.c - a value of each stack, added up in a tree of calls
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "call-tree.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>

uint32_t
sli_profile_frames (const Profile *profile, uint32_t node,
                    uint32_t frames[PROFILE_FRAMES_MAX])
{
  uint32_t n = 0;
  uint32_t at = profile->sites->start[node];

  for (; at >= TRACE_N_FIXED_NODES && n < PROFILE_FRAMES_MAX;
       at = profile->reader->parents[at])
    frames[n++] = at;
  return n;
}

const Symbol *
sli_profile_symbol (const Profile *profile, uint32_t frame)
{
  return sli_symbols_find (profile->symbols, profile->reader->pcs[frame]);
}

static bool
node_is_of (const CallNode *node, const Symbol *symbol, CallTreeKind kind)
{
  return node->symbol == symbol
         || (kind == TREE_OF_FUNCTIONS
             && strcmp (node->symbol->function, symbol->function) == 0);
}

static CallNode *
node_child (CallNode *parent, const Symbol *symbol, CallTreeKind kind)
{
  CallNode *child;

  for (CallNode *at = parent->children; at != NULL; at = at->next)
    if (node_is_of (at, symbol, kind))
      return at;
  child = sli_tool_zero (sizeof *child);
  child->symbol = symbol;
  child->next = parent->children;
  parent->children = child;
  return child;
}

CallNode
sli_call_tree_make (const Profile *profile, const uint64_t *values,
                    CallTreeKind kind, uint32_t depth_max)
{
  CallNode root = { 0 };
  uint32_t frames[PROFILE_FRAMES_MAX];

  for (uint32_t node = 0; node < profile->reader->n_nodes; node++)
    {
      uint32_t n;
      CallNode *at;

      if (values[node] == 0)
        continue;
      n = sli_profile_frames (profile, node, frames);
      at = &root;
      root.value += values[node];
      for (uint32_t i = 0; i < n && i < depth_max; i++)
        {
          uint32_t frame = frames[kind == TREE_OF_CALLERS ? i : n - 1 - i];

          at = node_child (at, sli_profile_symbol (profile, frame), kind);
          at->value += values[node];
        }
    }
  return root;
}

void
sli_call_tree_free (CallNode *root)
{
  for (CallNode *at = root->children, *next; at != NULL; at = next)
    {
      next = at->next;
      sli_call_tree_free (at);
      free (at);
    }
}
