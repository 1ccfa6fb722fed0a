/* profile-callers.c - the callers of a site, and what frees its blocks
 *
 * Tools.  It uses the tree of stacks, and the pairs of site and freeing node
 * that the last reading has kept.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "profile-parts.h"
#include "tools/trace/sites/names.h"
#include <regex.h>
#include <stdlib.h>
#include <string.h>

static int
caller_compare (const void *a, const void *b)
{
  const Caller *left = a, *right = b;

  if (left->allocs != right->allocs)
    return left->allocs < right->allocs ? 1 : -1;
  return left->line != right->line
             ? (left->line > right->line) - (left->line < right->line)
             : strcmp (left->function, right->function);
}

typedef struct
{
  Caller *callers;
  uint32_t n, capacity;
  Table by_name; /* a caller's index plus 1 */
} CallerList;

static Caller *
caller_append (CallerList *list, const Caller *caller)
{
  if (list->n + 1 >= list->capacity)
    {
      list->capacity = list->capacity * 2 + 16;
      list->callers = sli_tool_grow (list->callers,
                                     list->capacity * sizeof (Caller));
    }
  list->callers[list->n] = *caller;
  return &list->callers[list->n++];
}

static void
caller_add (CallerList *list, const char *function, uint64_t allocs,
            uint64_t bytes)
{
  uint32_t *number = sli_table_add_text (&list->by_name, function,
                                         list->callers, sizeof (Caller));

  if (*number == 0)
    {
      caller_append (list, &(Caller){ .function = function });
      *number = list->n;
    }
  list->callers[*number - 1].allocs += allocs;
  list->callers[*number - 1].bytes += bytes;
}

static bool
is_same_place (const Caller *a, const Caller *b)
{
  return a->line == b->line && strcmp (a->function, b->function) == 0
         && (a->file == b->file
             || (a->file != NULL && b->file != NULL
                 && strcmp (a->file, b->file) == 0));
}

/* The same by function and line: few places free a site's blocks. */
static void
place_add (CallerList *list, const Caller *place)
{
  Caller *at = list->callers;
  Caller *end = at + list->n;

  while (at < end && !is_same_place (at, place))
    at++;
  if (at == end)
    {
      caller_append (list, place);
      return;
    }
  at->allocs += place->allocs;
  at->bytes += place->bytes;
}

static Caller *
callers_end (CallerList *list)
{
  if (list->callers == NULL)
    list->callers = sli_tool_alloc (sizeof (Caller));
  qsort (list->callers, list->n, sizeof (Caller), caller_compare);
  list->callers[list->n] = (Caller){ 0 };
  sli_table_free (&list->by_name);
  return list->callers;
}

static const char *
frame_function (const Profile *profile, uint32_t node)
{
  if (node < TRACE_N_FIXED_NODES)
    return node == TRACE_NODE_CUT ? "(deeper than recorded)"
                                  : "(start of the thread)";
  return sli_symbols_find (profile->symbols, profile->reader->pcs[node])
      ->function;
}

/* The first frame outside the site's own, or the first that matches. */
static const char *
consumer_of (const Profile *profile, uint32_t node, uint32_t depth,
             const regex_t *expression)
{
  const TraceReader *reader = profile->reader;
  uint32_t at = profile->sites->start[node];

  if (expression == NULL)
    {
      for (uint32_t i = 0; i < depth && at >= TRACE_N_FIXED_NODES; i++)
        at = reader->parents[at];
      return frame_function (profile, at);
    }
  for (; at >= TRACE_N_FIXED_NODES; at = reader->parents[at])
    {
      const char *function = frame_function (profile, at);

      if (regexec (expression, function, 0, NULL, 0) == 0)
        return function;
    }
  return "(none)";
}

Caller *
sli_profile_callers (const Profile *profile, uint32_t result,
                     const char *expression)
{
  CallerList list = { 0 };
  regex_t compiled;
  uint32_t depth;

  if (expression != NULL)
    sli_tool_expression (&compiled, expression);
  depth = profile->sites->sites[profile->results[result].site].depth;
  for (uint32_t node = 0; node < profile->reader->n_nodes; node++)
    if (profile->final_map[node] == result)
      caller_add (&list,
                  consumer_of (profile, node, depth,
                               expression == NULL ? NULL : &compiled),
                  profile->sites->allocs[node], profile->sites->bytes[node]);
  if (expression != NULL)
    regfree (&compiled);
  return callers_end (&list);
}

/* A node's frame. */
static Caller
frame_place (const Profile *profile, uint32_t node)
{
  Caller place = { .function = frame_function (profile, node) };
  const Symbol *symbol;

  if (node < TRACE_N_FIXED_NODES)
    return place;
  symbol = sli_symbols_find (profile->symbols, profile->reader->pcs[node]);
  place.file = symbol->file;
  place.line = symbol->file == NULL ? 0 : symbol->line;
  return place;
}

/* An arena for the site must be made there or further out. */
Caller
sli_profile_common (const Profile *profile, uint32_t result)
{
  const TraceReader *reader = profile->reader;
  uint32_t common = UINT32_MAX;

  for (uint32_t node = 0; node < reader->n_nodes; node++)
    {
      uint32_t other;

      if (profile->final_map[node] != result)
        continue;
      other = profile->sites->start[node];
      if (common == UINT32_MAX)
        common = other;
      /* parents have smaller numbers than their children */
      while (common != other)
        if (common > other)
          common = reader->parents[common];
        else
          other = reader->parents[other];
    }
  return common == UINT32_MAX ? (Caller){ .function = "" }
                              : frame_place (profile, common);
}

/* The program's own frame that frees; not inline code of headers or an
 * operator delete. */
static uint32_t
free_node (const Profile *profile, uint32_t node)
{
  const TraceReader *reader = profile->reader;
  uint32_t at = node;

  while (at >= TRACE_N_FIXED_NODES
         && sli_name_is_library (frame_function (profile, at)))
    at = reader->parents[at];
  return at < TRACE_N_FIXED_NODES ? node : at;
}

Caller *
sli_profile_free_sites (const Profile *profile, uint32_t result)
{
  CallerList list = { 0 };

  for (uint32_t i = 0; i < profile->n_free_pairs; i++)
    {
      const FreePair *pair = &profile->free_pairs[i];

      Caller place;

      if (pair->result != result)
        continue;
      place = frame_place (profile, free_node (profile, pair->node));
      place.allocs = rounded_count (pair->n);
      place.bytes = rounded_count (pair->bytes);
      place_add (&list, &place);
    }
  return callers_end (&list);
}
