/* tlsf-fixed.c - TLSF heaps over buffers of the caller's
 *
 * Layer: arena: above the heap's regions (tlsf-region.c).  The control block
 * lies at the start of the first buffer.  Each further one starts with a
 * record of its region, so that nothing is allocated.
 *
 * Design: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "tlsf.h"

#include <errno.h>
#include "arena/arena-options.h"
#include "arena/arena-private.h"
#include "arena/bump/traced.h"

enum
{
  FIXED_FLAGS = SLICE_ARENA_CHECKED | SLICE_ARENA_LOCKED,
  ADDED_BYTES_MIN = 128
};

/* The most that region_bytes_max may be. */
#define TLSF_REGION_BYTES_MAX ((size_t) 1 << (sizeof (size_t) == 8 ? 38 : 30))

/* A region that was added, and the rest of the buffer behind this record. */
struct TlsfAdded
{
  Region region;
  size_t bytes; /* the caller's buffer */
  TlsfAdded *next;
};

size_t
slice_tlsf_buffer_bytes (size_t bytes)
{
  size_t block, control;

  if (bytes > TLSF_REGION_BYTES_MAX)
    return SIZE_MAX;
  block = bytes + 3 * BLOCK_STRIDE_MIN + 2 * ANNOTATE_GAP_BYTES;
  control = TLSF_CONTROL_BYTES (sli_tlsf_n_lists_for (2 * block + 8192));
  return control + block + 64;
}

static void
tlsf_end_fixed (void *memory)
{
  sli_arena_tlsf_fini (memory);
}

static SliceTlsf *
fail_with (int error)
{
  errno = error;
  return NULL;
}

SliceTlsf *
slice_tlsf_new_fixed_with (void *buffer, size_t bytes,
                           const SliceTlsfFixedOptions *options)
{
  size_t most = options->region_bytes_max;
  char *start = sli_align (buffer, 16);
  bool is_locked = (options->flags & SLICE_ARENA_LOCKED) != 0;
  char *shell = start;
  size_t skip, control;
  uint32_t n_lists;
  SliceTlsf *tlsf;

  start += is_locked ? LOCKED_TLSF_BYTES : 0;
  skip = (size_t) (start - (char *) buffer);
  n_lists = sli_tlsf_n_lists_for (most > bytes ? most : bytes);
  control = TLSF_CONTROL_BYTES (n_lists);
  if (bytes < skip + control + BLOCK_STRIDE_MIN
      || most > TLSF_REGION_BYTES_MAX
      || !sli_options_size_is_known (options->struct_bytes, sizeof *options)
      || (options->flags & ~(unsigned) FIXED_FLAGS) != 0)
    return fail_with (EINVAL);
  tlsf = (SliceTlsf *) (void *) start;
  sli_tlsf_init (tlsf, n_lists, options->flags, tlsf_end_fixed);
  tlsf->is_fixed = true;
  tlsf->fixed_bytes = bytes;
  if (!sli_tlsf_region_lay_out (tlsf, start + control, bytes - skip - control,
                                &tlsf->fixed))
    return fail_with (EINVAL);
  if (tlsf->is_annotated)
    sli_annotate_block (tlsf->fixed.first);
  if (trace_is_on ())
    sli_tlsf_set_traced (tlsf);
  return is_locked ? sli_tlsf_locked_setup (shell, tlsf, tlsf_end_fixed)
                   : tlsf;
}

SliceTlsf *
slice_tlsf_new_fixed (void *buffer, size_t bytes)
{
  SliceTlsfFixedOptions options = { 0 };

  return slice_tlsf_new_fixed_with (buffer, bytes, &options);
}

/* --- further regions ------------------------------------------------------ */

/* Does a buffer overlap the control block or a region? */
static bool
tlsf_overlaps (const SliceTlsf *tlsf, const char *start, size_t bytes)
{
  uintptr_t from = (uintptr_t) start;
  uintptr_t fixed = (uintptr_t) tlsf;
  uintptr_t fixed_end
      = (uintptr_t) tlsf->fixed.first + tlsf->fixed.bytes + BLOCK_HEAD_BYTES;

  if (fixed - from < bytes || from - fixed < fixed_end - fixed)
    return true;
  for (const TlsfAdded *added = tlsf->added; added != NULL;
       added = added->next)
    if ((uintptr_t) added - from < bytes
        || from - (uintptr_t) added < added->bytes)
      return true;
  return false;
}

static bool
tlsf_add_region (SliceTlsf *tlsf, void *buffer, size_t bytes)
{
  char *start = sli_align (buffer, 16);
  size_t skip = (size_t) (start - (char *) buffer);
  size_t front = skip + align_up (sizeof (TlsfAdded), 16);
  TlsfAdded *added;

  if (!tlsf->is_fixed || bytes < ADDED_BYTES_MIN
      || bytes < front + BLOCK_STRIDE_MIN
      || sli_tlsf_n_lists_for (bytes) > tlsf->n_lists
      || tlsf_overlaps (tlsf, start, bytes - skip))
    {
      errno = EINVAL;
      return false;
    }
  added = (TlsfAdded *) (void *) start;
  if (!sli_tlsf_region_lay_out (tlsf, (char *) buffer + front, bytes - front,
                                &added->region))
    {
      errno = EINVAL;
      return false;
    }
  if (tlsf->is_annotated)
    sli_annotate_block (added->region.first);
  added->bytes = bytes - skip;
  added->next = tlsf->added;
  tlsf->added = added;
  return true;
}

bool
slice_tlsf_add_region (SliceTlsf *tlsf, void *buffer, size_t bytes)
{
  SliceTlsf *inner = sli_tlsf_acquire (tlsf, "slice_tlsf_add_region");
  bool is_added = tlsf_add_region (inner, buffer, bytes);

  sli_tlsf_release (tlsf);
  return is_added;
}

uint32_t
sli_tlsf_fixed_n_regions (const SliceTlsf *tlsf)
{
  uint32_t n = 1;

  for (const TlsfAdded *added = tlsf->added; added != NULL;
       added = added->next)
    n++;
  return n;
}

Region
sli_tlsf_fixed_region (const SliceTlsf *tlsf, uint32_t index)
{
  const TlsfAdded *added = tlsf->added;

  if (index == 0)
    return tlsf->fixed;
  for (; index > 1; index--)
    added = added->next;
  return added->region;
}

static bool
region_has (const Region *region, const void *address)
{
  return (uintptr_t) address - (uintptr_t) region->first < region->bytes;
}

bool
sli_tlsf_fixed_region_of (const SliceTlsf *tlsf, const void *address,
                          Region *region)
{
  *region = tlsf->fixed;
  for (const TlsfAdded *added = tlsf->added;
       added != NULL && !region_has (region, address); added = added->next)
    *region = added->region;
  return region_has (region, address);
}

size_t
sli_tlsf_fixed_bytes (const SliceTlsf *tlsf)
{
  size_t bytes = tlsf->fixed_bytes;

  for (const TlsfAdded *added = tlsf->added; added != NULL;
       added = added->next)
    bytes += added->bytes;
  return bytes;
}

void
sli_tlsf_fixed_reset (SliceTlsf *tlsf)
{
  sli_tlsf_region_open (tlsf, &tlsf->fixed);
  for (TlsfAdded *added = tlsf->added; added != NULL; added = added->next)
    sli_tlsf_region_open (tlsf, &added->region);
}

void
sli_tlsf_fixed_fini (SliceTlsf *tlsf)
{
  if (!tlsf->is_annotated)
    return;
  sli_annotate_block_gone (tlsf->fixed.first, tlsf->fixed.bytes);
  for (TlsfAdded *added = tlsf->added; added != NULL; added = added->next)
    sli_annotate_block_gone (added->region.first, added->region.bytes);
}
