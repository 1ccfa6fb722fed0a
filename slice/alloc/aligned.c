/* aligned.c - blocks with an alignment of the caller's choice
 *
 * Layer: alloc.  Below: magazine, by way of dispatch.c.  No locks.
 * Design: chapter 4.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "dispatch.h"
#include "untraced.h"
#include "slab/chunk.h"
#include "base/align.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/sizeclass.h"
#include "base/trace.h"
#include "port/os/os.h"

#include <stdlib.h>

enum
{
  ALIGNMENT_MAX = 4096,     /* of slice_alloc_aligned() */
  ALIGNMENT_OF_TAGGED = 16, /* of chunks in the checking modes */
  ALIGNMENT_OF_MALLOC = 16  /* of blocks of sli_os_malloc() from 16 bytes on */
};

/* The size to allocate for a block.  Modes that remember sizes get the exact
 * one, which their messages show; a checking mode's chunks are at multiples of
 * 16 whatever their size. */
static size_t
class_bytes (size_t alignment, size_t size)
{
  return sli_dispatch.registers ? size : align_up (size, alignment);
}

/* Returns true if the class of a size has the alignment anyway. */
static bool
is_aligned_by_class (size_t alignment, size_t bytes)
{
  assert_here (is_power_of_two (alignment) && bytes > 0);
  if (dispatch_goes_to_malloc (bytes))
    return alignment <= sizeof (void *)
           || (alignment <= ALIGNMENT_OF_MALLOC
               && bytes >= ALIGNMENT_OF_MALLOC);
  if (sli_dispatch.path == PATH_CHECKING)
    return alignment <= ALIGNMENT_OF_TAGGED;
  return alignment <= sli_sizeclass_alignment (SLICE_CLASS_V1 (bytes));
}

/* Returns true if slice_free1() would put such a block into another class than
 * it has without the mode. */
static bool
is_noted (size_t alignment, size_t size)
{
  assert_here (is_power_of_two (alignment) && size > 0);
  return sli_dispatch.path == PATH_CHECKING && !dispatch_goes_to_malloc (size)
         && align_up (size, alignment) != align_up (size, 8);
}

_Noreturn COLD static void
report_alignment (const char *operation, size_t alignment, size_t size,
                  const void *block)
{
  char which[32] = "";

  if (block != NULL)
    sli_diag_format (which, sizeof which, "block %p, ", block);
  sli_diag_abort (ERROR_BAD_ALIGNMENT,
                  "%s: alignment %zu is no power of two up to %zu: %sgiven "
                  "size %zu [thread %u]",
                  operation, alignment, (size_t) ALIGNMENT_MAX, which, size,
                  sli_os_thread_id ());
}

static void
check_alignment (size_t alignment, size_t size, const char *operation,
                 const void *block)
{
  if (UNLIKELY (!is_power_of_two (alignment) || alignment > ALIGNMENT_MAX))
    report_alignment (operation, alignment, size, block);
}

static void *
alloc_by_class (size_t alignment, size_t size, bool zero, const void *site)
{
  size_t bytes = class_bytes (alignment, size);
  void *block = zero ? sli_dispatch_alloc0 (bytes, site)
                     : sli_dispatch_alloc (bytes, site);

  assert_here (block == NULL || ((uintptr_t) block & (alignment - 1)) == 0);
  if (block != NULL && is_noted (alignment, size))
    sli_checking_note_aligned (block);
  return block;
}

static void *
attempt (size_t alignment, size_t size, bool zero, const void *site)
{
  size_t bytes = align_up (size, alignment);
  void *block;

  assert_here (is_power_of_two (alignment) && size > 0);
  if (UNLIKELY (bytes < size || bytes > PTRDIFF_MAX))
    return NULL;
  if (is_aligned_by_class (alignment, class_bytes (alignment, size)))
    return alloc_by_class (alignment, size, zero, site);
  TRACE_INTERNAL (block = sli_os_aligned_alloc (
      bytes + sli_dispatch.zone_bytes, alignment));
  if (block != NULL && sli_dispatch.registers
      && !sli_checking_add_aligned (block, alignment, size, site))
    {
      TRACE_INTERNAL (free (block));
      return NULL;
    }
  if (block == NULL)
    return NULL;
  sli_dispatch_count_malloc ();
  return zero ? memset (block, 0, size) : block;
}

static void *
attempt_aligned (size_t alignment, size_t size, const void *site)
{
  return attempt (alignment, size, false, site);
}

static void *
attempt_aligned0 (size_t alignment, size_t size, const void *site)
{
  return attempt (alignment, size, true, site);
}

static void *
alloc_rounded (Attempt make, size_t alignment, size_t size, bool may_fail,
               const void *site)
{
  void *block;

  dispatch_make_ready ();
  if (size == 0)
    return NULL;
  block = make (alignment, size, site);
  if (UNLIKELY (block == NULL))
    block = sli_oom_retry (make, alignment, size, may_fail, site);
  if (trace_is_on ())
    sli_trace_alloc (SLICE_TRACE_SLICE, block, size);
  assert_here (block != NULL || may_fail);
  return block;
}

void *
slice_alloc_aligned (size_t alignment, size_t size)
{
  check_alignment (alignment, size, "slice_alloc_aligned", NULL);
  return alloc_rounded (attempt_aligned, alignment, size, false, CALL_SITE);
}

void *
slice_try_alloc_aligned (size_t alignment, size_t size)
{
  check_alignment (alignment, size, "slice_try_alloc_aligned", NULL);
  return alloc_rounded (attempt_aligned, alignment, size, true, CALL_SITE);
}

void *
slice_alloc0_aligned (size_t alignment, size_t size)
{
  check_alignment (alignment, size, "slice_alloc0_aligned", NULL);
  return alloc_rounded (attempt_aligned0, alignment, size, false, CALL_SITE);
}

void *
slice_try_alloc0_aligned (size_t alignment, size_t size)
{
  check_alignment (alignment, size, "slice_try_alloc0_aligned", NULL);
  return alloc_rounded (attempt_aligned0, alignment, size, true, CALL_SITE);
}

static void
free_by_class (size_t alignment, size_t size, void *block,
               const char *operation, const void *site)
{
  assert_here (block != NULL && size > 0);
  if (is_noted (alignment, size))
    sli_checking_unnote_aligned (size, block, operation);
  size = class_bytes (alignment, size);
  /* The hooks have been called already. */
  if (dispatch_checks_frees ())
    sli_dispatch_free (size, block, operation, site);
  else if (trace_is_on ())
    sli_untraced_free_slow (size, block);
  else
    slice_free1 (size, block);
}

static void
free_rounded (size_t alignment, size_t size, void *block,
              const char *operation, const void *site)
{
  dispatch_make_ready ();
  if (block == NULL)
    return;
  if (trace_is_on ())
    sli_trace_free (SLICE_TRACE_SLICE, block, size);
  if (UNLIKELY (size == 0))
    sli_diag_misuse (ERROR_WRONG_SIZE, operation,
                     &(BlockFacts){ .address = block });
  if (is_aligned_by_class (alignment, class_bytes (alignment, size)))
    {
      free_by_class (alignment, size, block, operation, site);
      return;
    }
  if (UNLIKELY (chunk_may_be_at (block)))
    sli_dispatch_report_chunk (size, block, operation);
  if (sli_dispatch.registers)
    sli_checking_remove_aligned (block, alignment, size, operation, site);
  sli_dispatch_count_malloc_free ();
  TRACE_INTERNAL (free (block));
}

void
sli_free_aligned_as (size_t alignment, size_t size, void *block,
                     const char *operation, const void *site)
{
  if (block != NULL)
    check_alignment (alignment, size, operation, block);
  free_rounded (alignment, size, block, operation, site);
}

void
slice_free_aligned (size_t alignment, size_t size, void *block)
{
  sli_free_aligned_as (alignment, size, block, "slice_free_aligned",
                       CALL_SITE);
}

/* --- above ALIGNMENT_MAX, for over-aligned types of C++ ------------------ */

void *
slice_try_alloc_wide_v1 (size_t alignment, size_t size)
{
  return alloc_rounded (attempt_aligned, alignment, size, true, CALL_SITE);
}

void
slice_free_wide_v1 (size_t alignment, size_t size, void *block)
{
  free_rounded (alignment, size, block, "slice_free_aligned", CALL_SITE);
}

/* Returns true if the C library's realloc() may resize a block: nothing has to
 * know of its old address before that is freed. */
static bool
may_realloc (size_t alignment, size_t old_size, size_t size)
{
  return dispatch_goes_to_malloc (old_size) && dispatch_goes_to_malloc (size)
         && alignment <= ALIGNMENT_OF_MALLOC && size <= PTRDIFF_MAX - alignment
         && is_aligned_by_class (alignment, class_bytes (alignment, old_size))
         && is_aligned_by_class (alignment, class_bytes (alignment, size))
         && !sli_dispatch.registers && sli_dispatch.zone_bytes == 0
         && !trace_is_on ();
}

static void *
malloc_resize (size_t old_size, size_t size, void *block)
{
  void *moved;

  if (UNLIKELY (chunk_may_be_at (block)))
    sli_dispatch_report_chunk (old_size, block, "slice_free_aligned");
  TRACE_INTERNAL (moved = sli_os_realloc (block, old_size, size));
  if (UNLIKELY (moved == NULL) && slice_trim (0) > 0)
    TRACE_INTERNAL (moved = sli_os_realloc (block, old_size, size));
  return moved;
}

void *
slice_try_resize_wide_v1 (size_t alignment, size_t old_size, size_t size,
                          void *block)
{
  void *moved;

  assert_here (block != NULL && old_size > 0 && size > 0);
  dispatch_make_ready ();
  if (may_realloc (alignment, old_size, size))
    return malloc_resize (old_size, class_bytes (alignment, size), block);
  moved = alloc_rounded (attempt_aligned, alignment, size, true, CALL_SITE);
  if (moved == NULL)
    return NULL;
  memcpy (moved, block, old_size < size ? old_size : size);
  free_rounded (alignment, old_size, block, "slice_free_aligned", CALL_SITE);
  return moved;
}
