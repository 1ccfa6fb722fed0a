/* span-direct.c - what is too large for a span: mappings of the parent
 *
 * Layer: arena.  A span heap passes such a request on to its parent, and
 * remembers each mapping, so that only what was mapped is unmapped.
 *
 *   heap->direct --> { start, bytes } --> { start, bytes } --> NULL
 *
 * They are few and large; a list does.
 *
 * Lock: the heap's.  Design: section 8.6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "span.h"
#include "source-map.h"

struct DirectMap
{
  DirectMap *next;
  char *start;
  size_t bytes; /* a multiple of the heap's span_alignment */
};

static void
direct_add (SpanHeap *heap, DirectMap *direct)
{
  pthread_mutex_lock (&heap->lock);
  direct->next = heap->direct;
  heap->direct = direct;
  pthread_mutex_unlock (&heap->lock);
}

/* Takes a mapping from the list; NULL if there is none with that start and
 * size. */
static DirectMap *
direct_remove (SpanHeap *heap, const void *start, size_t bytes)
{
  DirectMap **link;
  DirectMap *found;

  pthread_mutex_lock (&heap->lock);
  link = &heap->direct;
  while (*link != NULL && ((*link)->start != start || (*link)->bytes != bytes))
    link = &(*link)->next;
  found = *link;
  if (found != NULL)
    *link = found->next;
  pthread_mutex_unlock (&heap->lock);
  return found;
}

void *
sli_span_direct_map (SpanHeap *heap, size_t bytes, size_t alignment)
{
  size_t unit = heap->span_alignment;
  DirectMap *direct = sli_span_record_alloc (sizeof *direct);

  if (direct == NULL)
    return NULL;
  direct->bytes = align_up (bytes, unit);
  direct->start = sli_source_map (heap->parent, direct->bytes,
                                  alignment > unit ? alignment : unit);
  if (direct->start == NULL)
    {
      sli_span_record_free (direct);
      return NULL;
    }
  direct_add (heap, direct);
  return direct->start;
}

bool
sli_span_direct_unmap (SpanHeap *heap, const void *address, size_t bytes)
{
  DirectMap *direct;

  if (bytes > SIZE_MAX / 2)
    return false;
  direct
      = direct_remove (heap, address, align_up (bytes, heap->span_alignment));
  if (direct == NULL)
    return false;
  sli_span_unmap_parent (heap, direct->start, direct->bytes);
  sli_span_record_free (direct);
  return true;
}
