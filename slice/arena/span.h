/* span.h - pages cut from larger pieces of another source
 *
 * Layer: arena.  A span is a piece of memory whose pages are handed
 * out in runs and come back one run at a time; a bit for each page says
 * whether it is out.  A span heap is a page source that cuts from spans and
 * keeps some of those that are empty.  The arenas' default blocks, the fixed
 * buffer, huge pages and files are span heaps over different pieces.
 *
 * Locks: one mutex a heap, rank 70; map and unmap of the parent are called
 * with no lock held.
 *
 * Design: section 8.6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_SPAN_H
#define SLI_ARENA_SPAN_H

#include <pthread.h>
#include <slice/source.h>

/* The unit in which arenas ask for memory.  Sources may be handed larger
 * system pages; their pieces are multiples of those. */
#define SPAN_PAGE_BYTES 4096

typedef struct Span Span;

typedef struct
{
  SliceSource source;        /* what users see; the heap is found from it */
  const SliceSource *parent; /* where spans come from; NULL: no further ones */
  size_t span_bytes;         /* of a span; a multiple of SPAN_PAGE_BYTES */
  size_t span_alignment;
  size_t keep_bytes;    /* how much of empty spans may stay */
  pthread_mutex_t lock; /* for all below */
  Span **spans;         /* by address */
  size_t n_spans;
  size_t n_room;       /* of the table */
  Span *open;          /* spans with a free page, last changed first */
  size_t empty_bytes;  /* in spans without a page out */
  size_t direct_bytes; /* out, in pieces too large for a span */
} SpanHeap;

/* Over another source.  `name` is the new source's. */
void sli_span_heap_init (SpanHeap *heap, const char *name,
                         const SliceSource *parent, size_t span_bytes,
                         size_t span_alignment, size_t keep_bytes);

/* Adds a piece that is the heap's for good, as its only one.  `memory` is for
 * the span's record and a table of one: sli_span_bytes () + sizeof (Span *),
 * aligned to 8. */
size_t sli_span_bytes (size_t n_pages);
void sli_span_heap_add_fixed (SpanHeap *heap, void *memory, char *start,
                              size_t n_pages);

/* Pages of a heap, NULL if there is no memory.  If n_ready is not NULL, so many
 * of them and of those behind have no memory yet and should get it now. */
char *sli_span_heap_alloc (SpanHeap *heap, size_t bytes, size_t alignment,
                           size_t *n_ready);

/* Gives empty spans back beyond `keep_bytes`; returns their bytes. */
size_t sli_span_heap_trim (SpanHeap *heap, size_t keep_bytes);

/* Is any page out? */
bool sli_span_heap_is_busy (SpanHeap *heap);

/* Gives everything back: nothing may be out. */
void sli_span_heap_fini (SpanHeap *heap);

/* --- span-shared.c ------------------------------------------------------- */

/* The source that arenas without one of their own share. */
const SliceSource *sli_shared_source (void);

/* Its map, for pages that will soon all be written to: they get memory in one
 * call.  At most SPAN_READY_BYTES_MAX; aligned to pages. */
#define SPAN_READY_BYTES_MAX ((size_t) 64 << 10)
void *sli_shared_map_ready (size_t bytes);

#endif
