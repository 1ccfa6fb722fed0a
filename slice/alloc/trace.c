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
plain_take (size_t size, const void *site)
{
  return sli_alloc_any (size, false, site);
}

static void *
plain_try_take (size_t size, const void *site)
{
  return sli_alloc_any (size, true, site);
}

static void *
told_take (size_t size, const void *site)
{
  void *block = sli_route.inner.take (size, site);

  sli_trace_born (SLICE_TRACE_SLICE, block, size);
  return block;
}

static void *
told_try_take (size_t size, const void *site)
{
  void *block = sli_route.inner.try_take (size, site);

  sli_trace_born (SLICE_TRACE_SLICE, block, size);
  return block;
}

static void
told_give (size_t size, void *block, const void *site)
{
  sli_trace_died (SLICE_TRACE_SLICE, block, size);
  sli_route.inner.give (size, block, site);
}

/* --- setting ------------------------------------------------------------- */

/* Where there is a checking mode its calls are what is asked in the end; it
 * keeps the inline code out by itself. */
static bool
route_follow_once (void)
{
  bool is_told = trace_hooks () != NULL;

  /* Written once: before anyone reads them, or, where a checking mode does, in
   * place of what may as well be called once more. */
  if (is_told && LOAD (&sli_route.checked.take) != told_take)
    {
      STORE (&sli_route.checked.take, told_take);
      STORE (&sli_route.checked.try_take, told_try_take);
      STORE (&sli_route.checked.give, told_give);
    }
  STORE_RELEASE (&sli_route.is_plain, sli_route.is_inline && !is_told);
  STORE_RELEASE (&sli_route.calls_guard,
                 is_told || sli_route.route == ROUTE_GUARD);
  sli_magazine_show_inline (!is_told);
  return is_told;
}

/* Hooks that are set and taken away at once: whoever comes last must have
 * seen what they are in the end. */
COMMON_TEXT static void
route_follow_hooks (void)
{
  bool is_told;

  do
    {
      is_told = route_follow_once ();
      __atomic_thread_fence (__ATOMIC_SEQ_CST);
    }
  while ((trace_hooks () != NULL) != is_told);
}

COMMON_TEXT void
sli_trace_begin (void)
{
  if (sli_route.route != ROUTE_GUARD)
    {
      sli_route.inner.take = plain_take;
      sli_route.inner.try_take = plain_try_take;
      sli_route.inner.give = sli_free_any;
    }
  route_follow_hooks ();
}

/* Hooks that were set meanwhile have found that all was ready, or are found
 * here. */
COMMON_TEXT void
sli_trace_follow (void)
{
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
  if (trace_hooks () != NULL)
    route_follow_hooks ();
}

void
slice_set_trace_hooks (const SliceTraceHooks *hooks)
{
  if (hooks != NULL && hooks->struct_bytes != sizeof *hooks)
    return;
  STORE_RELEASE (&sli_trace_hooks, hooks);
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
  if (sli_alloc_is_ready ())
    route_follow_hooks ();
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
