/* trace.h - telling the hooks of a recorder
 *
 * Layer: base.  No locks: one pointer, NULL as a rule.
 * Design: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_BASE_TRACE_H
#define SLI_BASE_TRACE_H

#include <slice/hooks.h>

#include "port/compiler.h"

/* (Hidden, so that a test of it needs no indirection.) */
extern const SliceTraceHooks *sli_trace_hooks
    __attribute__ ((visibility ("hidden")));

static inline const SliceTraceHooks *
trace_hooks (void)
{
  return LOAD_ACQUIRE (&sli_trace_hooks);
}

COMMON_TEXT static inline bool
trace_is_on (void)
{
  return UNLIKELY (trace_hooks () != NULL);
}

/* Out of line: their callers are slow paths. */
void sli_trace_alloc (SliceTraceKind kind, const void *block, size_t bytes);
void sli_trace_free (SliceTraceKind kind, const void *block, size_t bytes);
void sli_trace_realloc (SliceTraceKind kind, const void *old_block,
                        const void *block, size_t bytes);

/* Around a call to malloc, free or a page source. */
void sli_trace_internal (bool begins);
#define TRACE_INTERNAL(statement)                                             \
  do                                                                          \
    {                                                                         \
      bool is_on_ = trace_is_on ();                                           \
      if (is_on_)                                                             \
        sli_trace_internal (true);                                            \
      statement;                                                              \
      if (is_on_)                                                             \
        sli_trace_internal (false);                                           \
    }                                                                         \
  while (0)

#endif
