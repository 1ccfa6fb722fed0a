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
#include "untraced.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/trace.h"
#include "port/os.h"

#include <errno.h>

static void *
attempt_block (size_t alignment UNUSED, size_t size, const void *site)
{
  return sli_dispatch_alloc (size, site);
}

COMMON_TEXT void *
sli_alloc_any (size_t size, bool may_fail, const void *site)
{
  void *block;

  assert_here (LOAD_ACQUIRE (&sli_dispatch.ready));
  if (size == 0)
    return NULL;
  block = sli_dispatch_alloc (size, site);
  if (UNLIKELY (block == NULL))
    block = sli_oom_retry (attempt_block, 0, size, may_fail, site);
  return block;
}

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

static void
free_any (size_t size, void *block, const char *operation, const void *site)
{
  assert_here (LOAD_ACQUIRE (&sli_dispatch.ready));
  if (block == NULL)
    return;
  if (UNLIKELY (size == 0))
    sli_diag_misuse (ERROR_WRONG_SIZE, operation,
                     &(BlockFacts){ .address = block });
  sli_dispatch_free (size, block, operation, site);
}

void
sli_free_any (size_t size, void *block, const void *site)
{
  free_any (size, block, "slice_free1", site);
}

void
sli_free_as (size_t size, void *block, const char *operation,
             const void *site)
{
  if (trace_is_on ())
    sli_trace_free (SLICE_TRACE_SLICE, block, size);
  free_any (size, block, operation, site);
}

COMMON_TEXT void
slice_free_slow_v1 (size_t size, void *block)
{
  if (dispatch_is_fast (size))
    sli_magazine_free (SLICE_CLASS_V1 (size), block);
  else
    LOAD_ACQUIRE (&sli_dispatch.calls.free_any) (size, block, CALL_SITE);
}

/* The checking modes look up a block before its link is read.  If it is no
 * block, its free reports that. */
static bool
has_link (const void *block)
{
  return (sli_dispatch.path == PATH_CHECKING
          && sli_untraced_begins_block (block))
         || sli_checking_is_large (block);
}

/* Brent's cycle detection: compares each block with a remembered one, which is
 * replaced after 1, 2, 4, ... steps. */
#define CHAIN_FREE(chain, next_offset, free_one)                              \
 do                                                                           \
  {                                                                           \
   const void *mark = NULL;                                                   \
   size_t steps = 0, turn = 1;                                                \
   bool is_checked = sli_dispatch.registers;                                 \
   while ((chain) != NULL)                                                    \
    {                                                                         \
     void *next = NULL;                                                       \
                                                                              \
     if (!UNLIKELY (is_checked) || has_link (chain))                          \
      next = *(void **) (void *) ((char *) (chain) + (next_offset));          \
     if (UNLIKELY ((chain) == mark))                                          \
      sli_diag_misuse (ERROR_CYCLIC_CHAIN, "slice_free_chain",                \
                       &(BlockFacts){ .address = (chain),                     \
                                      .given_bytes = size });                 \
     if (++steps == turn)                                                     \
      {                                                                       \
       mark = (chain);                                                        \
       steps = 0;                                                             \
       turn *= 2;                                                             \
      }                                                                       \
     free_one;                                                                \
     (chain) = next;                                                          \
    }                                                                         \
  }                                                                           \
 while (0)

void
slice_free_chain_with_offset (size_t size, void *chain, size_t next_offset)
{
  dispatch_make_ready (); /* this may be the program's first call */
  if (dispatch_checks_frees ())
    CHAIN_FREE (chain, next_offset,
                sli_free_as (size, chain, "slice_free_chain", CALL_SITE));
  else
    CHAIN_FREE (chain, next_offset, slice_free1 (size, chain));
}

void
slice_free_chain_aligned (size_t alignment, size_t size, void *chain,
                          size_t next_offset)
{
  dispatch_make_ready ();
  CHAIN_FREE (chain, next_offset,
              sli_free_aligned_as (alignment, size, chain, "slice_free_chain",
                                   CALL_SITE));
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
