/* trace.c - the hooks of a recorder, set and called for slices
 *
 * Layer: alloc.  With hooks every thread stands on the all-zero block, as
 * in the checking modes, and the slow entries come here by way of the same
 * pointers: so there is nothing to be tested in what they do without hooks.
 *
 * No locks: what is written twice is the same.  Theory: section 13.9.
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
untraced_alloc (size_t size, const void *site)
{
  return sli_alloc_any (size, false, site);
}

static void *
untraced_try_alloc (size_t size, const void *site)
{
  return sli_alloc_any (size, true, site);
}

static void *
traced_alloc (size_t size, const void *site)
{
  void *block = sli_dispatch.inner.alloc_any (size, site);

  sli_trace_alloc (SLICE_TRACE_SLICE, block, size);
  return block;
}

static void *
traced_try_alloc (size_t size, const void *site)
{
  void *block = sli_dispatch.inner.try_alloc_any (size, site);

  sli_trace_alloc (SLICE_TRACE_SLICE, block, size);
  return block;
}

static void
traced_free (size_t size, void *block, const void *site)
{
  sli_trace_free (SLICE_TRACE_SLICE, block, size);
  sli_dispatch.inner.free_any (size, block, site);
}

/* --- setting ------------------------------------------------------------- */

/* Where there is a checking mode its calls are what is asked in the end; it
 * keeps the inline code out by itself. */
static bool
dispatch_follow_once (void)
{
  bool is_traced = trace_hooks () != NULL;

  /* Written once: before anyone reads them, or, where a checking mode does, in
   * place of what may as well be called once more. */
  if (is_traced && LOAD (&sli_dispatch.checked.alloc_any) != traced_alloc)
    {
      STORE (&sli_dispatch.checked.alloc_any, traced_alloc);
      STORE (&sli_dispatch.checked.try_alloc_any, traced_try_alloc);
      STORE (&sli_dispatch.checked.free_any, traced_free);
    }
  STORE_RELEASE (&sli_dispatch.is_fast, sli_dispatch.is_inline && !is_traced);
  STORE_RELEASE (&sli_dispatch.calls_checking,
                 is_traced || sli_dispatch.route == PATH_CHECKING);
  sli_magazine_show_inline (!is_traced);
  return is_traced;
}

/* Hooks that are set and taken away at once: whoever comes last must have
 * seen what they are in the end. */
COMMON_TEXT static void
dispatch_follow_hooks (void)
{
  bool is_traced;

  do
    {
      is_traced = dispatch_follow_once ();
      __atomic_thread_fence (__ATOMIC_SEQ_CST);
    }
  while ((trace_hooks () != NULL) != is_traced);
}

COMMON_TEXT void
sli_trace_begin (void)
{
  if (sli_dispatch.route != PATH_CHECKING)
    {
      sli_dispatch.inner.alloc_any = untraced_alloc;
      sli_dispatch.inner.try_alloc_any = untraced_try_alloc;
      sli_dispatch.inner.free_any = sli_free_any;
    }
  dispatch_follow_hooks ();
}

/* Hooks that were set meanwhile have found that all was ready, or are found
 * here. */
COMMON_TEXT void
sli_trace_follow (void)
{
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
  if (trace_hooks () != NULL)
    dispatch_follow_hooks ();
}

void
slice_set_trace_hooks (const SliceTraceHooks *hooks)
{
  if (hooks != NULL && hooks->struct_bytes != sizeof *hooks)
    return;
  STORE_RELEASE (&sli_trace_hooks, hooks);
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
  if (sli_alloc_is_ready ())
    dispatch_follow_hooks ();
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
