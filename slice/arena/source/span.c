/* span.c - pages cut from larger mappings of another source
 *
 * Layer: arena: above the page sources, below the chains of blocks.  Records
 * and tables are malloc's, except those of a fixed buffer, which are in the
 * buffer.
 *
 * Locks: one in each heap, rank 70.  A new span is mapped and gets its record
 * before the lock is taken, and an empty one is unmapped after it is released.
 *
 * The heap that arenas share: span-shared.c.  Design: section 8.6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "span.h"
#include "span-bits.h"
#include "source-map.h"

#include <slice/arena.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/diag.h"
#include "arena/annotate.h"
#include "base/align.h"
#include "base/check.h"
#include "base/trace.h"
#include "port/compiler.h"
#include "port/os/os.h"

enum
{
  READY_PAGES = 16 /* get memory at once if all will be used */
};

size_t
sli_span_bytes (size_t n_pages)
{
  return offsetof (Span, bits) + bits_words (n_pages) * sizeof (uint64_t);
}

/* --- the list of spans with free pages ----------------------------------- */

static void
span_open (SpanHeap *heap, Span *span)
{
  span->next_open = heap->open;
  span->open_link = &heap->open;
  if (heap->open != NULL)
    heap->open->open_link = &span->next_open;
  heap->open = span;
}

static void
span_close (Span *span)
{
  *span->open_link = span->next_open;
  if (span->next_open != NULL)
    span->next_open->open_link = span->open_link;
  span->open_link = NULL;
}

/* Records that pages are used.  If the caller needs them with memory and they
 * have none, *n_ready is the number of pages that should get it now, which may
 * include more than these. */
static void
span_note_use (Span *span, size_t page, size_t n, size_t *n_ready)
{
  size_t end = page + n;

  if (n_ready != NULL && page >= span->first_bare)
    {
      end = min_size (align_up (end, READY_PAGES), span->n_pages);
      *n_ready = end - page;
    }
  if (end > span->first_bare)
    span->first_bare = end;
}

/* Takes n free pages. */
static void
span_take (SpanHeap *heap, Span *span, size_t page, size_t n, size_t *n_ready)
{
  if (span->n_free == span->n_pages)
    heap->empty_bytes -= span_bytes (span);
  assert_here (page + n <= span->n_pages && span->open_link != NULL);
  span_set (span, page, n, true);
  span->n_free -= n;
  if (page == span->first_free)
    span->first_free = page + n;
  if (span->n_free == 0)
    span_close (span);
  span_note_use (span, page, n, n_ready);
}

static char *
span_alloc (SpanHeap *heap, Span *span, size_t n, size_t alignment,
            size_t *n_ready)
{
  size_t page;

  if (span->n_free < n)
    return NULL;
  page = span_find (span, n, alignment);
  if (page == span->n_pages)
    return NULL;
  span_take (heap, span, page, n, n_ready);
  return span->start + page * SPAN_PAGE_BYTES;
}

static void
span_free (SpanHeap *heap, Span *span, size_t page, size_t n)
{
  if (page + n > span->n_pages || span_next (span, page, false) < page + n)
    sli_diag_abort (
        ARENA_MISUSE_UNMAP, "source %s: unmap of pages that are not out: %p",
        heap->source.name, (void *) (span->start + page * SPAN_PAGE_BYTES));
  span_set (span, page, n, false);
  if (span->n_free == 0)
    span_open (heap, span);
  span->n_free += n;
  assert_here (span->n_free <= span->n_pages);
  if (page < span->first_free)
    span->first_free = page;
  if (span->n_free == span->n_pages)
    heap->empty_bytes += span_bytes (span);
}

/* --- the table, sorted by address ---------------------------------------- */

/* The number of spans that start at or below the address. */
static size_t
heap_rank (const SpanHeap *heap, const void *address)
{
  size_t low = 0;
  size_t high = heap->n_spans;

  while (low < high)
    {
      size_t middle = (low + high) / 2;

      if ((uintptr_t) heap->spans[middle]->start <= (uintptr_t) address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static Span *
heap_span_of (const SpanHeap *heap, const void *address)
{
  size_t rank = heap_rank (heap, address);
  Span *span;
  bool inside;

  if (rank == 0)
    return NULL;
  span = heap->spans[rank - 1];
  inside = (uintptr_t) address - (uintptr_t) span->start < span_bytes (span);
  return inside ? span : NULL;
}

static void
heap_insert (SpanHeap *heap, Span *span)
{
  size_t rank = heap_rank (heap, span->start);

  assert_here (heap->n_spans < heap->capacity);
  memmove (heap->spans + rank + 1, heap->spans + rank,
           (heap->n_spans - rank) * sizeof (Span *));
  heap->spans[rank] = span;
  heap->n_spans++;
  heap->empty_bytes += span_bytes (span);
  span_open (heap, span);
}

static void
heap_remove (SpanHeap *heap, Span *span)
{
  size_t rank = heap_rank (heap, span->start);

  assert_here (rank > 0 && heap->spans[rank - 1] == span);
  assert_here (heap->empty_bytes >= span_bytes (span));
  memmove (heap->spans + rank - 1, heap->spans + rank,
           (heap->n_spans - rank) * sizeof (Span *));
  heap->n_spans--;
  heap->empty_bytes -= span_bytes (span);
  span_close (span);
}

/* Reserves a slot for one more span.  `*spare' is a larger table that was
 * allocated without the lock, or NULL; it becomes the table that the caller
 * frees. */
static bool
heap_reserve (SpanHeap *heap, Span ***spare, size_t *n_spare)
{
  Span **old;
  size_t n_old;

  if (heap->n_spans < heap->capacity)
    return true;
  if (*n_spare <= heap->n_spans)
    return false;
  old = heap->spans;
  n_old = heap->capacity;
  KNOWN (*spare != NULL);
  if (old != NULL)
    memcpy (*spare, old, heap->n_spans * sizeof (Span *));
  heap->spans = *spare;
  heap->capacity = *n_spare;
  *spare = old;
  *n_spare = n_old;
  return true;
}

/* --- growing and shrinking ----------------------------------------------- */

/* A heap keeps empty spans after the arenas ended.  Their records are no
 * slices, so they do not count as live blocks of the program. */
void *
sli_span_record_alloc (size_t bytes)
{
  void *record;

  TRACE_INTERNAL (record = sli_os_malloc (bytes, true));
  return record;
}

void
sli_span_record_free (void *record)
{
  TRACE_INTERNAL (free (record));
}

static Span *
span_new (const SpanHeap *heap)
{
  size_t n_pages = heap->span_bytes / SPAN_PAGE_BYTES;
  Span *span = sli_span_record_alloc (sli_span_bytes (n_pages));

  if (span == NULL)
    return NULL;
  span->start = sli_source_map (heap->parent, heap->span_bytes,
                                heap->span_alignment);
  if (span->start == NULL)
    {
      sli_span_record_free (span);
      return NULL;
    }
  span->n_pages = n_pages;
  span->n_free = n_pages;
  if (sli_os_is_present (span->start, heap->span_bytes))
    span->first_bare = n_pages;
  return span;
}

/* Under a tool arenas leave their pages hidden; makes them accessible again
 * before the parent gets them back. */
void
sli_span_unmap_parent (const SpanHeap *heap, void *address, size_t bytes)
{
  if (sli_annotate_active ())
    sli_annotate_show (address, bytes);
  if (heap->parent->unmap != NULL)
    heap->parent->unmap (heap->parent, address, bytes);
}

/* Returns the memory of a list of spans, linked by next_open. */
static size_t
spans_unmap (const SpanHeap *heap, Span *span)
{
  size_t bytes = 0;

  while (span != NULL)
    {
      Span *next = span->next_open;

      bytes += span_bytes (span);
      sli_span_unmap_parent (heap, span->start, span_bytes (span));
      sli_span_record_free (span);
      span = next;
    }
  return bytes;
}

/* Adds a span, with no lock held. */
static bool
heap_grow (SpanHeap *heap)
{
  Span *span;
  Span **spare = NULL;
  size_t n_spare = 0;

  if (heap->parent == NULL)
    return false;
  span = span_new (heap);
  if (span == NULL)
    return false;
  for (;;)
    {
      bool fits;
      size_t n_want;

      pthread_mutex_lock (&heap->lock);
      fits = heap_reserve (heap, &spare, &n_spare);
      if (fits)
        heap_insert (heap, span);
      n_want = heap->n_spans * 2 < 16 ? 16 : heap->n_spans * 2;
      pthread_mutex_unlock (&heap->lock);
      sli_span_record_free (spare);
      if (fits)
        return true;
      spare = sli_span_record_alloc (n_want * sizeof (Span *));
      n_spare = spare != NULL ? n_want : 0;
      if (spare == NULL)
        {
          span->next_open = NULL;
          spans_unmap (heap, span);
          return false;
        }
    }
}

/* Removes empty spans until at most keep_bytes of them remain; returns their
 * list. */
static Span *
heap_remove_empty (SpanHeap *heap, size_t keep_bytes)
{
  Span *removed = NULL;

  for (size_t i = heap->n_spans; i > 0 && heap->empty_bytes > keep_bytes; i--)
    {
      Span *span = heap->spans[i - 1];

      if (span->n_free != span->n_pages || span->is_fixed)
        continue;
      heap_remove (heap, span);
      span->next_open = removed;
      removed = span;
    }
  return removed;
}

size_t
sli_span_heap_trim (SpanHeap *heap, size_t keep_bytes)
{
  Span *removed;

  pthread_mutex_lock (&heap->lock);
  removed = heap_remove_empty (heap, keep_bytes);
  pthread_mutex_unlock (&heap->lock);
  return spans_unmap (heap, removed);
}

/* --- the source ---------------------------------------------------------- */

static SpanHeap *
heap_of (const SliceSource *source)
{
  return (SpanHeap *) ((uintptr_t) source - offsetof (SpanHeap, source));
}

/* Returns true if a request is too large to be cut from spans without much
 * waste. */
static bool
heap_goes_direct (const SpanHeap *heap, size_t bytes, size_t alignment)
{
  return heap->parent != NULL
         && (bytes > heap->span_bytes / 2 || alignment > heap->span_alignment);
}

static char *
heap_alloc (SpanHeap *heap, size_t n, size_t alignment, size_t *n_ready)
{
  char *pages = NULL;

  pthread_mutex_lock (&heap->lock);
  for (Span *span = heap->open; span != NULL && pages == NULL;)
    {
      Span *next = span->next_open;

      pages = span_alloc (heap, span, n, alignment, n_ready);
      span = next;
    }
  pthread_mutex_unlock (&heap->lock);
  return pages;
}

char *
sli_span_heap_alloc (SpanHeap *heap, size_t bytes, size_t alignment,
                     size_t *n_ready)
{
  size_t n = (bytes + SPAN_PAGE_BYTES - 1) / SPAN_PAGE_BYTES;
  char *pages = heap_alloc (heap, n, alignment, n_ready);

  while (pages == NULL && heap_grow (heap))
    pages = heap_alloc (heap, n, alignment, n_ready);
  return pages;
}

bool
sli_span_heap_extend (SpanHeap *heap, const char *end, size_t n)
{
  Span *span;
  size_t page = 0;
  bool fits;

  pthread_mutex_lock (&heap->lock);
  span = heap->open;
  if (span != NULL)
    page = ((uintptr_t) end - (uintptr_t) span->start) / SPAN_PAGE_BYTES;
  fits = span != NULL && span_next (span, span->first_free, false) == page
         && span_next (span, page, true) - page >= n;
  if (fits)
    span_take (heap, span, page, n, NULL);
  pthread_mutex_unlock (&heap->lock);
  return fits;
}

static void *
heap_map (const SliceSource *source, size_t bytes, size_t alignment)
{
  SpanHeap *heap = heap_of (source);

  if (bytes == 0 || bytes > SIZE_MAX / 2)
    return NULL;
  if (heap_goes_direct (heap, bytes, alignment))
    return sli_span_direct_map (heap, bytes, alignment);
  return sli_span_heap_alloc (heap, bytes, alignment, NULL);
}

bool
sli_is_span_source (const SliceSource *source)
{
  return source->map == heap_map;
}

_Noreturn void
sli_span_report_foreign (const SpanHeap *heap, const void *address)
{
  sli_diag_abort (ARENA_MISUSE_UNMAP, "source %s: unmap of foreign %p",
                  heap->source.name, address);
}

/* Frees as many of n pages as are in the span of an address; returns their
 * number, 0 if no span has the address. */
static size_t
heap_free (SpanHeap *heap, void *address, size_t n)
{
  Span *span = heap_span_of (heap, address);
  size_t offset;
  size_t page;
  size_t n_here;

  if (span == NULL)
    return 0;
  offset = (size_t) ((char *) address - span->start);
  page = offset / SPAN_PAGE_BYTES;
  if (offset % SPAN_PAGE_BYTES != 0)
    sli_span_report_foreign (heap, address);
  n_here = span->n_pages - page < n ? span->n_pages - page : n;
  span_free (heap, span, page, n_here);
  return n_here;
}

static void
heap_unmap (const SliceSource *source, void *address, size_t bytes)
{
  SpanHeap *heap = heap_of (source);
  size_t n = bytes / SPAN_PAGE_BYTES + (bytes % SPAN_PAGE_BYTES != 0);
  size_t n_freed = 0;
  size_t n_here;
  Span *removed = NULL;

  pthread_mutex_lock (&heap->lock);
  do
    {
      char *at = (char *) address + n_freed * SPAN_PAGE_BYTES;

      n_here = heap_free (heap, at, n - n_freed);
      n_freed += n_here;
    }
  while (n_here > 0 && n_freed < n);
  if (heap->empty_bytes > heap->keep_bytes && heap->parent != NULL)
    removed = heap_remove_empty (heap, heap->keep_bytes);
  pthread_mutex_unlock (&heap->lock);
  spans_unmap (heap, removed);
  if (n_freed < n
      && (n_freed != 0 || !sli_span_direct_unmap (heap, address, bytes)))
    sli_span_report_foreign (heap, address);
}

void
sli_span_heap_init (SpanHeap *heap, const char *name,
                    const SliceSource *parent, size_t span_bytes,
                    size_t span_alignment, size_t keep_bytes)
{
  memset (heap, 0, sizeof *heap);
  heap->source.name = name;
  heap->source.map = heap_map;
  heap->source.unmap = heap_unmap;
  heap->parent = parent;
  heap->span_bytes = span_bytes;
  heap->span_alignment = span_alignment;
  heap->keep_bytes = keep_bytes;
  pthread_mutex_init (&heap->lock, NULL);
}

void
sli_span_heap_add_fixed (SpanHeap *heap, void *memory, char *start,
                         size_t n_pages)
{
  size_t record_bytes = sli_span_bytes (n_pages);
  Span *span = memory;

  memset (span, 0, record_bytes);
  span->start = start;
  span->n_pages = n_pages;
  span->n_free = n_pages;
  span->is_fixed = true;
  heap->spans = (Span **) ((char *) memory + record_bytes);
  heap->capacity = 1;
  heap_insert (heap, span);
}

bool
sli_span_heap_is_busy (SpanHeap *heap)
{
  bool busy;

  pthread_mutex_lock (&heap->lock);
  busy = heap->direct != NULL;
  for (size_t i = 0; i < heap->n_spans && !busy; i++)
    busy = heap->spans[i]->n_free != heap->spans[i]->n_pages;
  pthread_mutex_unlock (&heap->lock);
  return busy;
}

void
sli_span_heap_fini (SpanHeap *heap)
{
  sli_span_heap_trim (heap, 0);
  sli_span_record_free (heap->spans);
  pthread_mutex_destroy (&heap->lock);
}
