/* source-owned.h - page sources that can be ended
 *
 * Layer: arena: shared by the huge-page and the file source.  Their records are
 * no slices, so that a program can make a source and then give it to
 * slice_set_source().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_SOURCE_SOURCE_OWNED_H
#define SLI_ARENA_SOURCE_SOURCE_OWNED_H

#include "span.h"

typedef struct OwnedSource OwnedSource;

struct OwnedSource
{
  SpanHeap heap; /* first: users see its source */
  void (*end) (OwnedSource *);
  size_t n_arenas; /* atomic: that use the source */
};

/* Returns the public source; its `data' says that it may be destroyed. */
const SliceSource *sli_owned_source (OwnedSource *owned,
                                     void (*end) (OwnedSource *));

/* An arena uses a source from now on, and no longer.  Sources of other kinds,
 * and NULL, do not count. */
void sli_source_enter (const SliceSource *source);
void sli_source_leave (const SliceSource *source);

#endif
