/* span.h - pages cut from larger mappings of another source
 *
 * Layer: arena.  A span is a mapping whose pages are allocated and freed in
 * runs; a bit for each page says whether it is in use.  A span heap is a page
 * source that cuts from spans and keeps some of the empty ones.  The arenas'
 * default blocks, the fixed buffer, huge pages and files are span heaps over
 * different mappings.
 *
 *   SpanHeap  spans[] by address:  [0]     [1]     [2]
 *                                   |       |       |
 *                                   v       v       v
 *             open -------------> Span --> Span    Span (no page free)
 *
 * Locks: one mutex in each heap, rank 70; map and unmap of the parent are
 * called with no lock held.
 *
 * Design: section 8.6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_SOURCE_SPAN_H
#define SLI_ARENA_SOURCE_SPAN_H

#include <pthread.h>
#include <slice/source.h>
#include "base/align.h"

enum
{
  /* The unit in which arenas request memory.  The system's pages may be
   * larger; mappings are multiples of the system's pages. */
  SPAN_PAGE_BYTES = 4096,

  /* The most that sli_shared_map_ready() maps. */
  SPAN_READY_BYTES_MAX = KIB (64)
};

typedef struct Span Span;
typedef struct DirectMap DirectMap;

typedef struct
{
  SliceSource source;        /* users see it; the heap is found from it */
  const SliceSource *parent; /* the source of spans; NULL: there is only one
                                span */
  size_t span_bytes;         /* of a span; a multiple of SPAN_PAGE_BYTES */
  size_t span_alignment;
  size_t keep_bytes;    /* the most bytes of empty spans that stay */
  pthread_mutex_t lock; /* for all fields below */
  Span **spans;         /* by address */
  size_t n_spans;
  size_t capacity;      /* of the table */
  Span *open;          /* spans with a free page, last changed first */
  size_t empty_bytes;  /* in spans without a page in use */
  DirectMap *direct;   /* in use, too large for a span; span-direct.c */
} SpanHeap;

/* Makes a heap over another source.  The new source is called `name'. */
void sli_span_heap_init (SpanHeap *heap, const char *name,
                         const SliceSource *parent, size_t span_bytes,
                         size_t span_alignment, size_t keep_bytes);

/* Adds a span that stays for good, as the heap's only one.  `memory' is for its
 * record and a table of one: sli_span_bytes () + sizeof (Span *) bytes,
 * aligned to 8. */
size_t sli_span_bytes (size_t n_pages);
void sli_span_heap_add_fixed (SpanHeap *heap, void *memory, char *start,
                              size_t n_pages);

/* Allocates pages; NULL if there is no memory.  If n_ready is not NULL, sets
 * it to the number of pages, from the first on, that have no memory and should
 * get it now; it may be more than were requested. */
char *sli_span_heap_alloc (SpanHeap *heap, size_t bytes, size_t alignment,
                           size_t *n_ready);

/* Allocates the n pages from `end' on if sli_span_heap_alloc() would return
 * these. */
bool sli_span_heap_extend (SpanHeap *heap, const char *end, size_t n);

/* Returns empty spans beyond `keep_bytes'; the result is their size. */
size_t sli_span_heap_trim (SpanHeap *heap, size_t keep_bytes);

/* Returns true if a source is a span heap's. */
bool sli_is_span_source (const SliceSource *source);

/* Returns true if a page is in use. */
bool sli_span_heap_is_busy (SpanHeap *heap);

/* Returns all spans.  No page may be in use. */
void sli_span_heap_fini (SpanHeap *heap);

/* --- for span-direct.c --- */

void *sli_span_record_alloc (size_t bytes);
void sli_span_record_free (void *record);
void sli_span_unmap_parent (const SpanHeap *heap, void *address, size_t bytes);
_Noreturn void sli_span_report_foreign (const SpanHeap *heap,
                                        const void *address);

/* --- span-direct.c ------------------------------------------------------- */

/* Maps memory by the parent; NULL: there is none. */
void *sli_span_direct_map (SpanHeap *heap, size_t bytes, size_t alignment);

/* Returns what sli_span_direct_map() has mapped; false, without effect, for
 * any other address or size. */
bool sli_span_direct_unmap (SpanHeap *heap, const void *address, size_t bytes);

/* --- span-shared.c ------------------------------------------------------- */

/* The source that arenas without one of their own share. */
const SliceSource *sli_shared_source (void);

/* Maps pages of it that will all be written to soon, at most
 * SPAN_READY_BYTES_MAX.  They get their memory in one call. */
void *sli_shared_map_ready (size_t bytes);

/* Maps the pages from `end' on, if these are the next that a call for `bytes'
 * bytes would map. */
bool sli_shared_extend (const char *end, size_t bytes);

#endif
