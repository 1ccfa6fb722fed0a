/* source-owned.h - page sources that can be ended
 *
 * Layer: arena: shared by the huge-page and the file source.
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
};

/* Returns the public source; its `data' says that it may be destroyed. */
const SliceSource *sli_owned_source (OwnedSource *owned,
                                     void (*end) (OwnedSource *));

#endif
