/* trace.c - the hooks of a recorder, set and called for slices
 *
 * Layer: alloc.  With hooks every thread has the empty sentinel for a record,
 * as in the checking modes, so that no call takes the inline path; and the
 * entries reach the functions below by the pointers that lead to a checking
 * mode.  Without hooks nothing is tested.
 *
 * No locks: what is written twice is the same.  Design: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "magazine/magazine.h"
#include "dispatch.h"
#include "base/trace.h"

/* --- the entries --------------------------------------------------------- */

static void *
traced_alloc (size_t size, const void *site)
{
  void *block = sli_dispatch.untraced.alloc_any (size, site);

  sli_trace_alloc (SLICE_TRACE_SLICE, block, size);
  return block;
}

static void *
traced_try_alloc (size_t size, const void *site)
{
  void *block = sli_dispatch.untraced.try_alloc_any (size, site);

  sli_trace_alloc (SLICE_TRACE_SLICE, block, size);
  return block;
}

static void
traced_free (size_t size, void *block, const void *site)
{
  sli_trace_free (SLICE_TRACE_SLICE, block, size);
  sli_dispatch.untraced.free_any (size, block, site);
}

/* --- setting ------------------------------------------------------------- */

/* Where there is a checking mode its calls are what is asked in the end; it
 * keeps the inline code out by itself. */
static bool
dispatch_follow_once (void)
{
  bool is_traced = trace_hooks () != NULL;
  const CheckingCalls *untraced = &sli_dispatch.untraced;

  /* One after the other: what calls the old one of a pair and the new one of
   * another has its block all the same. */
  STORE_RELEASE (&sli_dispatch.calls.alloc_any,
                 is_traced ? traced_alloc : untraced->alloc_any);
  STORE_RELEASE (&sli_dispatch.calls.try_alloc_any,
                 is_traced ? traced_try_alloc : untraced->try_alloc_any);
  STORE_RELEASE (&sli_dispatch.calls.free_any,
                 is_traced ? traced_free : untraced->free_any);
  STORE_RELEASE (&sli_dispatch.is_fast, sli_dispatch.is_inline && !is_traced);
  sli_magazine_show_inline (!is_traced);
  return is_traced;
}

/* Hooks that are set and taken away at once: the last call must have
 * seen what they are in the end. */
COMMON_TEXT void
sli_trace_follow_hooks (void)
{
  bool is_traced;

  do
    {
      is_traced = dispatch_follow_once ();
      __atomic_thread_fence (__ATOMIC_SEQ_CST);
    }
  while ((trace_hooks () != NULL) != is_traced);
}

/* Hooks that were set meanwhile have found that all was ready, or are found
 * here. */
COMMON_TEXT void
sli_trace_follow (void)
{
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
  if (trace_hooks () != NULL)
    sli_trace_follow_hooks ();
}

void
slice_set_trace_hooks (const SliceTraceHooks *hooks)
{
  if (hooks != NULL && hooks->struct_bytes != sizeof *hooks)
    return;
  STORE_RELEASE (&sli_trace_hooks, hooks);
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
  if (sli_alloc_is_ready ())
    sli_trace_follow_hooks ();
}

/* The recorder's, if there is one: it wants to know whose frames ours are. */
extern const SliceTraceHooks *slice_trace_hooks_v1 (const void *inside)
    __attribute__ ((weak));

COMMON_TEXT void
sli_trace_load (void)
{
  if (slice_trace_hooks_v1 != NULL)
    slice_set_trace_hooks (slice_trace_hooks_v1 (&sli_trace_load));
}
