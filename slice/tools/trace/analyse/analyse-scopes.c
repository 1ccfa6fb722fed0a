/* analyse-scopes.c - the scopes of a program's markers
 *
 * Tools.  For each site and each scope that was open at an allocation: the
 * bytes allocated within the scope, those of them that were freed within the
 * same activation, and the size to which an arena of the scope would have
 * grown.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "analyse-parts.h"
#include <string.h>

static ScopeSum *
scope_of (SiteStats *stats, uint32_t name, bool make)
{
  ScopeSum *scope;

  for (uint32_t i = 0; i < stats->n_scopes; i++)
    if (stats->scopes[i].name == name)
      return &stats->scopes[i];
  if (!make)
    return NULL;
  stats->scopes = sli_tool_grow (stats->scopes,
                                 (stats->n_scopes + 1) * sizeof (ScopeSum));
  scope = &stats->scopes[stats->n_scopes++];
  memset (scope, 0, sizeof *scope);
  scope->name = name;
  return scope;
}

void
sli_scope_close (ScopeSum *scope)
{
  scope->sum_bump += scope->bump;
  scope->sum_peak += scope->peak;
  scope->bump = scope->peak = scope->live = 0;
}

void
sli_scopes_allocated (const ThreadState *thread, SiteStats *stats,
                      uint64_t rounded)
{
  for (uint32_t i = 0; i < thread->n_open; i++)
    {
      const OpenScope *open = &thread->open[i];
      ScopeSum *scope = scope_of (stats, open->name, true);

      if (scope->serial != open->serial)
        {
          sli_scope_close (scope);
          scope->serial = open->serial;
        }
      scope->n_allocs++;
      scope->bytes_allocs += rounded;
      scope->bump += rounded;
      scope->live += rounded;
      if (scope->live > scope->peak)
        scope->peak = scope->live;
    }
}

/* Counts a free within the activation of the allocation. */
void
sli_scopes_freed (const ThreadState *thread, SiteStats *stats,
                  uint64_t allocated, uint64_t rounded)
{
  for (uint32_t i = 0; i < thread->n_open; i++)
    {
      const OpenScope *open = &thread->open[i];
      ScopeSum *scope;

      if (open->begin > allocated)
        continue;
      scope = scope_of (stats, open->name, false);
      if (scope == NULL || scope->serial != open->serial)
        continue;
      scope->n_contained++;
      scope->bytes_contained += rounded;
      scope->live -= rounded < scope->live ? rounded : scope->live;
    }
}

void
sli_scope_event (Analysis *analysis, ThreadState *thread,
                 const TraceEvent *event)
{
  uint32_t name = (uint32_t) event->address;

  if (event->op == TRACE_OP_SCOPE_BEGIN)
    {
      if (thread->n_open < N_SCOPES_OPEN_MAX)
        thread->open[thread->n_open++]
            = (OpenScope){ name, analysis->now, ++analysis->scope_serial };
      return;
    }
  /* an end also closes scopes that were opened within and not closed */
  for (uint32_t i = thread->n_open; i-- > 0;)
    if (thread->open[i].name == name)
      {
        thread->n_open = i;
        return;
      }
}
