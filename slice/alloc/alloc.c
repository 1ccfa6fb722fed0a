/* alloc.c - the entries: slice_alloc() and its family
 *
 * Layer: alloc.  Below: magazine, by way of dispatch.c.  No locks.
 * Design: chapters 2 and 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

/* This file exports the bodies of the inline functions of slice.h. */
#define SLICE_DEFINE_EXPORTS
#include <slice/slice.h>

#include "magazine/magazine.h"
#include "dispatch.h"
#include "base/diag.h"
#include "base/trace.h"
#include "port/os/os.h"

#include <errno.h>

/* --- blocks -------------------------------------------------------------- */

COMMON_TEXT void *
slice_alloc_slow_v1 (size_t size)
{
  void *block;

  /* Usually one magazine is empty and the other is not.  And all calls of the
   * checking modes come here.  Both paths are short. */
  if (dispatch_is_fast (size)
      && LIKELY ((block = sli_magazine_alloc (SLICE_CLASS_V1 (size))) != NULL))
    return block;
  return LOAD_ACQUIRE (&sli_dispatch.calls.alloc_any) (size, CALL_SITE);
}

void *
slice_try_alloc_slow_v1 (size_t size)
{
  return LOAD_ACQUIRE (&sli_dispatch.calls.try_alloc_any) (size, CALL_SITE);
}

COMMON_TEXT static void *
alloc0_any (size_t size, bool may_fail, const void *site)
{
  void *block;

  dispatch_make_ready ();
  if (UNLIKELY (dispatch_goes_to_malloc (size)))
    {
      block = sli_dispatch_large0 (size, may_fail, site);
      if (trace_is_on ())
        sli_trace_alloc (SLICE_TRACE_SLICE, block, size);
      return block;
    }
  block = may_fail
              ? LOAD_ACQUIRE (&sli_dispatch.calls.try_alloc_any) (size, site)
              : LOAD_ACQUIRE (&sli_dispatch.calls.alloc_any) (size, site);
  return block != NULL ? memset (block, 0, size) : NULL;
}

COMMON_TEXT void *
slice_alloc0_slow_v1 (size_t size)
{
  void *block;

  if (dispatch_is_fast (size)
      && LIKELY ((block = sli_magazine_alloc (SLICE_CLASS_V1 (size))) != NULL))
    return memset (block, 0, size);
  return alloc0_any (size, false, CALL_SITE);
}

void *
slice_try_alloc0_slow_v1 (size_t size)
{
  return alloc0_any (size, true, CALL_SITE);
}

COMMON_TEXT void
slice_free_slow_v1 (size_t size, void *block)
{
  if (dispatch_is_fast (size))
    sli_magazine_free (SLICE_CLASS_V1 (size), block);
  else
    LOAD_ACQUIRE (&sli_dispatch.calls.free_any) (size, block, CALL_SITE);
}

/* --- arrays -------------------------------------------------------------- */

_Noreturn COLD static void
abort_overflow (const char *operation, size_t n, size_t size)
{
  sli_diag_abort (ERROR_OVERFLOW,
                  "%s: size overflow: %zu times %zu bytes [thread %u]",
                  operation, n, size, sli_os_thread_id ());
}

/* Computes n * size; false on overflow, which counts as no memory.  With an
 * operation, an overflow ends the program instead. */
static bool
array_bytes (size_t n, size_t size, const char *operation, size_t *bytes)
{
  while (UNLIKELY (__builtin_mul_overflow (n, size, bytes)))
    {
      if (operation == NULL)
        {
          errno = ENOMEM;
          return false;
        }
      if (!sli_oom_ask (SIZE_MAX, 0))
        abort_overflow (operation, n, size);
    }
  return true;
}

void *
slice_alloc_n (size_t n, size_t size)
{
  size_t bytes = 0;

  return array_bytes (n, size, "slice_alloc_n", &bytes)
             ? slice_alloc (bytes)
             : NULL;
}

void *
slice_alloc0_n (size_t n, size_t size)
{
  size_t bytes = 0;

  return array_bytes (n, size, "slice_alloc0_n", &bytes)
             ? slice_alloc0 (bytes)
             : NULL;
}

void *
slice_try_alloc_n (size_t n, size_t size)
{
  size_t bytes = 0;

  return array_bytes (n, size, NULL, &bytes) ? slice_try_alloc (bytes) : NULL;
}

void
slice_free_n (size_t n, size_t size, void *block)
{
  size_t bytes;

  if (block == NULL)
    return;
  if (UNLIKELY (__builtin_mul_overflow (n, size, &bytes)))
    abort_overflow ("slice_free_n", n, size);
  dispatch_make_ready (); /* it may be the first call, with a wrong pointer */
  if (dispatch_checks_frees ())
    sli_free_as (bytes, block, "slice_free_n", CALL_SITE);
  else
    slice_free1 (bytes, block);
}

const char *
slice_version (void)
{
  return SLICE_VERSION_STRING;
}
