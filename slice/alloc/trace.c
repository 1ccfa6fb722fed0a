/* trace.c - the hooks of a recorder, set and called for slices
 *
 * Layer: alloc.  With hooks every thread points to the empty sentinel, as in
 * the checking modes, so that no call takes the inline path.  The entries call
 * the functions below by the same pointers as those of a checking mode.
 * Without hooks they test nothing.
 *
 * No locks: all writers write the same values.  Design: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "magazine/magazine.h"
#include "dispatch.h"
#include "base/check.h"
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

/* Makes the entries call the hooks, if there are any, or not.  The functions
 * below call `untraced' in turn, the checking mode's if one is on.  A checking
 * mode has no inline path in any case. */
static bool
dispatch_apply_once (void)
{
  bool is_traced = trace_hooks () != NULL;
  const CheckingCalls *untraced = &sli_dispatch.untraced;

  assert_here (untraced->alloc_any != NULL && untraced->free_any != NULL);
  /* The pointers change one after the other.  A thread that sees some old and
   * some new ones meanwhile allocates and frees correctly: only tracing
   * differs. */
  STORE_RELEASE (&sli_dispatch.calls.alloc_any,
                 is_traced ? traced_alloc : untraced->alloc_any);
  STORE_RELEASE (&sli_dispatch.calls.try_alloc_any,
                 is_traced ? traced_try_alloc : untraced->try_alloc_any);
  STORE_RELEASE (&sli_dispatch.calls.free_any,
                 is_traced ? traced_free : untraced->free_any);
  assert_here (!sli_dispatch.is_inline
               || sli_dispatch.path == PATH_MAGAZINES);
  STORE_RELEASE (&sli_dispatch.is_fast, sli_dispatch.is_inline && !is_traced);
  sli_magazine_show_inline (!is_traced);
  return is_traced;
}

/* Two threads may set and clear the hooks at the same time.  The entries must
 * end in the state of the last change, so look again after each pass. */
COMMON_TEXT void
sli_trace_apply_hooks (void)
{
  bool is_traced;

  do
    {
      is_traced = dispatch_apply_once ();
      __atomic_thread_fence (__ATOMIC_SEQ_CST);
    }
  while ((trace_hooks () != NULL) != is_traced);
}

/* Called once the layers are ready.  Hooks that a thread sets at this moment
 * are not lost: either the thread sees that the layers are ready, or this call
 * sees its hooks. */
COMMON_TEXT void
sli_trace_apply_late_hooks (void)
{
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
  if (trace_hooks () != NULL)
    sli_trace_apply_hooks ();
}

void
slice_set_trace_hooks (const SliceTraceHooks *hooks)
{
  if (hooks != NULL && hooks->struct_bytes != sizeof *hooks)
    return;
  STORE_RELEASE (&sli_trace_hooks, hooks);
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
  if (sli_alloc_is_ready ())
    sli_trace_apply_hooks ();
}

/* Defined by the recorder, if one is preloaded.  It uses the address of code
 * in this library to tell our frames from the program's. */
extern const SliceTraceHooks *slice_trace_hooks_v1 (const void *inside)
    __attribute__ ((weak));

COMMON_TEXT void
sli_trace_load (void)
{
  if (slice_trace_hooks_v1 != NULL)
    slice_set_trace_hooks (slice_trace_hooks_v1 (&sli_trace_load));
}
