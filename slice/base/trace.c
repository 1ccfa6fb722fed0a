/* trace.c - telling the hooks of a recorder
 *
 * Layer: base.  See trace.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "trace.h"

const SliceTraceHooks *sli_trace_hooks;

COLD void
sli_trace_alloc (SliceTraceKind kind, const void *block, size_t bytes)
{
  const SliceTraceHooks *hooks = trace_hooks ();

  if (hooks != NULL && block != NULL)
    hooks->on_alloc (kind, block, bytes);
}

COLD void
sli_trace_free (SliceTraceKind kind, const void *block, size_t bytes)
{
  const SliceTraceHooks *hooks = trace_hooks ();

  if (hooks != NULL && block != NULL)
    hooks->on_free (kind, block, bytes);
}

COLD void
sli_trace_realloc (SliceTraceKind kind, const void *old_block,
                   const void *block, size_t bytes)
{
  const SliceTraceHooks *hooks = trace_hooks ();

  if (hooks != NULL)
    hooks->on_realloc (kind, old_block, block, bytes);
}

COLD void
sli_trace_internal (bool begins)
{
  const SliceTraceHooks *hooks = trace_hooks ();

  if (hooks != NULL)
    hooks->on_internal (begins);
}
