/* own.c - the entries for the library's own upper floors
 *
 * Floor 6 (alloc).  As those of alloc.c, but the hooks do not hear of it:
 * base/own.h says why.  No locks.  Theory: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "magazine.h"
#include "route.h"

void *
sli_own_alloc_slow (size_t size)
{
  void *block;

  if (route_is_plain (size)
      && LIKELY ((block = sli_magazine_alloc (SLICE_CLASS_V1 (size))) != NULL))
    return block;
  return LOAD_ACQUIRE (&sli_route.calls_guard)
             ? sli_route.inner.take (size, CALL_SITE)
             : sli_alloc_any (size, false, CALL_SITE);
}

CONTEXT_TEXT void *
sli_own_try_alloc_slow (size_t size)
{
  return LOAD_ACQUIRE (&sli_route.calls_guard)
             ? sli_route.inner.try_take (size, CALL_SITE)
             : sli_alloc_any (size, true, CALL_SITE);
}

CONTEXT_TEXT void
sli_own_free_slow (size_t size, void *block)
{
  if (route_is_plain (size))
    sli_magazine_free (SLICE_CLASS_V1 (size), block);
  else if (LOAD_ACQUIRE (&sli_route.calls_guard))
    sli_route.inner.give (size, block, CALL_SITE);
  else
    sli_free_any (size, block, CALL_SITE);
}
