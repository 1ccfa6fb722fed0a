/* source-owned.c - page sources that can be ended
 *
 * Layer: arena.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "source-owned.h"

#include <slice/arena.h>
#include "base/diag.h"

/* The `data' of a source that may be destroyed points here. */
static char owned_tag;

const SliceSource *
sli_owned_source (OwnedSource *owned, void (*end) (OwnedSource *))
{
  owned->end = end;
  owned->heap.source.data = &owned_tag;
  return &owned->heap.source;
}

void
slice_source_destroy (const SliceSource *source)
{
  OwnedSource *owned;

  if (source == NULL)
    return;
  if (source->data != &owned_tag)
    sli_diag_abort (
        ARENA_MISUSE_SOURCE_KIND,
        "slice_source_destroy: source %s: it can't be ended, it is not of"
        " slice_source_huge_new() or slice_source_file_new()",
        source->name);
  owned = (OwnedSource *) (uintptr_t) source;
  if (sli_span_heap_is_busy (&owned->heap))
    sli_diag_abort (ARENA_MISUSE_SOURCE_BUSY,
                    "slice_source_destroy: source %s: ended while its memory"
                    " is in use",
                    source->name);
  sli_span_heap_fini (&owned->heap);
  owned->end (owned);
}
