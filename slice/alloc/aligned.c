/* aligned.c - blocks with an alignment of the caller's choice
 *
 * Layer: alloc.  Below: magazine, by way of dispatch.c.  No locks.
 * Design: chapter 4.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "checking/block-registry.h"
#include "dispatch.h"
#include "untraced.h"
#include "slab/slab.h"
#include "base/align.h"
#include "base/diag.h"
#include "base/sizeclass.h"
#include "base/trace.h"
#include "port/os.h"

#include <stdlib.h>

enum
{
  ALIGNMENT_MAX = 4096,     /* of slice_alloc_aligned() */
  ALIGNMENT_OF_MALLOC = 16  /* what sli_os_malloc() gives blocks of 16 bytes
                               and more; ours have their alignment's size */
};

/* The size to ask for, and whether its class is aligned by itself. */
static bool
is_aligned_by_class (size_t alignment, size_t bytes)
{
  if (dispatch_goes_to_malloc (bytes))
    return alignment <= ALIGNMENT_OF_MALLOC;
  if (sli_dispatch.path == PATH_CHECKING)
    return alignment <= 2 * sizeof (void *);
  return alignment <= sli_sizeclass_alignment (SLICE_CLASS_V1 (bytes));
}

_Noreturn COLD static void
report_alignment (const char *operation, size_t alignment, size_t size,
                  const void *block)
{
  char which[32] = "";

  if (block != NULL)
    sli_diag_format (which, sizeof which, "block %p, ", block);
  sli_diag_abort (ERROR_BAD_ALIGNMENT,
                  "%s: alignment %z is no power of two up to %z: %sgiven size "
                  "%z [thread %u]",
                  operation, alignment, (size_t) ALIGNMENT_MAX, which, size,
                  sli_os_thread_id ());
}

static size_t
aligned_bytes (size_t alignment, size_t size, const char *operation,
               const void *block)
{
  if (UNLIKELY (!is_power_of_two (alignment) || alignment > ALIGNMENT_MAX))
    report_alignment (operation, alignment, size, block);
  return align_up (size, alignment);
}

/* Are blocks of the system's malloc remembered, too? */
static bool
remembers_malloc (void)
{
  return sli_dispatch.checks_blocks || sli_dispatch.path == PATH_CHECKING;
}

static void *
attempt_aligned (size_t alignment, size_t bytes, const void *site)
{
  void *block;

  if (is_aligned_by_class (alignment, bytes))
    return sli_dispatch_alloc (bytes, site);
  TRACE_INTERNAL (block = sli_os_aligned_alloc (bytes, alignment));
  if (block != NULL && remembers_malloc ()
      && !sli_block_check_add_at (block, bytes, site))
    {
      TRACE_INTERNAL (free (block));
      return NULL;
    }
  if (block != NULL)
    COUNT_UP_SHARED (&sli_dispatch.n_large_allocs, 1);
  return block;
}

static void *
alloc_rounded (size_t alignment, size_t size, size_t bytes, bool may_fail,
               const void *site)
{
  void *block;

  dispatch_make_ready ();
  if (size == 0)
    return NULL;
  /* Rounding up may have wrapped. */
  block = bytes < size ? NULL : attempt_aligned (alignment, bytes, site);
  if (UNLIKELY (block == NULL))
    block = sli_oom_retry (attempt_aligned, alignment,
                           bytes < size ? SIZE_MAX : bytes, may_fail, site);
  if (trace_is_on ())
    sli_trace_alloc (SLICE_TRACE_SLICE, block, size);
  return block;
}

static void *
alloc_aligned (size_t alignment, size_t size, bool may_fail,
               const char *operation, const void *site)
{
  return alloc_rounded (alignment, size,
                        aligned_bytes (alignment, size, operation, NULL),
                        may_fail, site);
}

void *
slice_alloc_aligned (size_t alignment, size_t size)
{
  return alloc_aligned (alignment, size, false, "slice_alloc_aligned",
                        CALL_SITE);
}

void *
slice_try_alloc_aligned (size_t alignment, size_t size)
{
  return alloc_aligned (alignment, size, true, "slice_try_alloc_aligned",
                        CALL_SITE);
}

void *
slice_alloc0_aligned (size_t alignment, size_t size)
{
  void *block = alloc_aligned (alignment, size, false, "slice_alloc0_aligned",
                               CALL_SITE);

  return block != NULL ? memset (block, 0, size) : NULL;
}

void *
slice_try_alloc0_aligned (size_t alignment, size_t size)
{
  void *block = alloc_aligned (alignment, size, true,
                               "slice_try_alloc0_aligned", CALL_SITE);

  return block != NULL ? memset (block, 0, size) : NULL;
}

static void
free_rounded (size_t alignment, size_t size, size_t bytes, void *block)
{
  dispatch_make_ready ();
  if (block == NULL)
    return;
  if (trace_is_on ())
    {
      /* Of the size that it was born with; what goes back is told to no one. */
      sli_trace_free (SLICE_TRACE_SLICE, block, size);
      if (is_aligned_by_class (alignment, bytes))
        {
          sli_untraced_free_slow (bytes, block);
          return;
        }
    }
  if (is_aligned_by_class (alignment, bytes))
    {
      slice_free1 (bytes, block);
      return;
    }
  if (remembers_malloc ())
    sli_block_check_remove_at (block, bytes, "slice_free_aligned", CALL_SITE);
  if (UNLIKELY (sli_slab_is_ours (block)))
    sli_diag_misuse (ERROR_WRONG_SIZE, "slice_free_aligned", block, bytes, 0);
  COUNT_UP_SHARED (&sli_dispatch.n_large_frees, 1);
  TRACE_INTERNAL (free (block));
}

void
slice_free_aligned (size_t alignment, size_t size, void *block)
{
  free_rounded (alignment, size,
                aligned_bytes (alignment, size, "slice_free_aligned", block),
                block);
}

/* --- above ALIGNMENT_MAX, for C++, whose types may want it ---------------- */

void *
slice_try_alloc_wide_v1 (size_t alignment, size_t size)
{
  return alloc_rounded (alignment, size, align_up (size, alignment), true,
                        CALL_SITE);
}

void
slice_free_wide_v1 (size_t alignment, size_t size, void *block)
{
  free_rounded (alignment, size, align_up (size, alignment), block);
}
