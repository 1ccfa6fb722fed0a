/* source-fixed.c - pages inside the caller's buffer
 *
 * Layer: arena: a span heap of one span whose record is in the buffer.
 *
 *   +----------+--------+---------+------+------ ... ------+-----+
 *   | SpanHeap | record | table   | pad  | pages           | pad |
 *   +----------+--------+---------+------+------ ... ------+-----+
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/arena.h>

#include <errno.h>
#include "base/align.h"
#include "span.h"

const SliceSource *
slice_source_fixed_new (void *buffer, size_t bytes)
{
  uintptr_t start = align_up ((uintptr_t) buffer, 16);
  uintptr_t end = (uintptr_t) buffer + bytes;
  size_t n_most = bytes / SPAN_PAGE_BYTES;
  uintptr_t record = start + align_up (sizeof (SpanHeap), 16);
  uintptr_t first = align_up (
      record + sli_span_bytes (n_most) + sizeof (Span *), SPAN_PAGE_BYTES);
  SpanHeap *heap;

  if (end < first || end - first < SPAN_PAGE_BYTES)
    {
      errno = EINVAL;
      return NULL;
    }
  heap = (SpanHeap *) start;
  sli_span_heap_init (heap, "fixed buffer", NULL, 0, SPAN_PAGE_BYTES, 0);
  sli_span_heap_add_fixed (heap, (void *) record, (char *) first,
                           (end - first) / SPAN_PAGE_BYTES);
  return &heap->source;
}
