/* source-map.c - memory from a page source, which may break its promise
 *
 * Layer: arena.  No locks.
 *
 * An arena writes to the memory that its source returns, so a wild address
 * would end the program without a message.  Slices check page sources in the
 * same way (page/source/extent.c).
 *
 * Design: section 8.6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "source-map.h"
#include "span.h"
#include "base/align.h"
#include "base/diag.h"
#include "port/compiler.h"
#include "port/os/os.h"

#include <unistd.h>

/* Returns true if a source is the library's.  Memory from other sources may
 * not be aligned or mapped. */
static bool
source_is_ours (const SliceSource *source)
{
  if (sli_is_span_source (source))
    return true;
  for (int which = 0; which < SLICE_PAGES_CUSTOM; which++)
    if (source == slice_source_builtin ((SlicePageSource) which))
      return true;
  return false;
}

static bool
memory_is_usable (void *start, size_t bytes, size_t alignment)
{
  uintptr_t page_bytes = (uintptr_t) sysconf (_SC_PAGESIZE);
  uintptr_t first = (uintptr_t) start & ~(page_bytes - 1);
  uintptr_t end = (uintptr_t) start + bytes;

  return (uintptr_t) start % alignment == 0 && end > first
         && end <= UINTPTR_MAX - page_bytes
         && sli_os_is_mapped ((void *) first,
                              align_up (end, page_bytes) - first);
}

COLD void
sli_source_report (const SliceSource *source, const void *start)
{
  sli_diag_bad_source (BAD_SOURCE_UNUSABLE, source, source->name, start);
}

void *
sli_source_map (const SliceSource *source, size_t bytes, size_t alignment)
{
  void *start = source->map (source, bytes, alignment);

  if (start == NULL || source_is_ours (source)
      || memory_is_usable (start, bytes, alignment))
    return start;
  sli_source_report (source, start);
  if (source->unmap != NULL)
    source->unmap (source, start, bytes);
  return NULL;
}
