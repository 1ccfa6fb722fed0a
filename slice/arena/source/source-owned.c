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
#include "port/compiler.h"

/* The `data' of a source that may be destroyed points here. */
static char owned_tag;

const SliceSource *
sli_owned_source (OwnedSource *owned, void (*end) (OwnedSource *))
{
  owned->end = end;
  owned->heap.source.data = &owned_tag;
  return &owned->heap.source;
}

/* NULL: the source can't be destroyed. */
static OwnedSource *
owned_of (const SliceSource *source)
{
  return source != NULL && source->data == &owned_tag
             ? (OwnedSource *) (uintptr_t) source
             : NULL;
}

void
sli_source_enter (const SliceSource *source)
{
  OwnedSource *owned = owned_of (source);

  if (owned != NULL)
    __atomic_fetch_add (&owned->n_arenas, 1, __ATOMIC_RELAXED);
}

void
sli_source_leave (const SliceSource *source)
{
  OwnedSource *owned = owned_of (source);

  if (owned != NULL)
    __atomic_fetch_sub (&owned->n_arenas, 1, __ATOMIC_RELAXED);
}

/* An arena that has no memory yet will request some. */
static void
require_unused (OwnedSource *owned)
{
  const char *name = owned->heap.source.name;
  size_t n_arenas = LOAD (&owned->n_arenas);

  if (n_arenas > 0)
    sli_diag_abort (ARENA_MISUSE_SOURCE_BUSY,
                    "slice_source_destroy: source %s: ended while arenas use"
                    " it: %zu",
                    name, n_arenas);
  if (sli_span_heap_is_busy (&owned->heap))
    sli_diag_abort (ARENA_MISUSE_SOURCE_BUSY,
                    "slice_source_destroy: source %s: ended while its memory"
                    " is in use",
                    name);
}

void
slice_source_destroy (const SliceSource *source)
{
  OwnedSource *owned = owned_of (source);

  if (source == NULL)
    return;
  if (owned == NULL)
    sli_diag_abort (
        ARENA_MISUSE_SOURCE_KIND,
        "slice_source_destroy: source %s: it can't be ended, it is not of"
        " slice_source_huge_new() or slice_source_file_new()",
        source->name);
  require_unused (owned);
  sli_span_heap_fini (&owned->heap);
  owned->end (owned);
}
