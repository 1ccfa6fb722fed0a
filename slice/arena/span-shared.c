/* span-shared.c - the span heap that arenas without a source of their own share
 *
 * Layer: arena: above the span heaps (span.c).  Its lock is held over a fork, so
 * that the child finds the heap whole.
 *
 * Design: section 8.6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "span.h"

#include <slice/arena.h>
#include "base/trace.h"
#include "port/os.h"

/* What the shared heap asks its parent for: large enough that the system's
 * malloc maps it by itself (its threshold starts at 128 KiB and stops at 32
 * MiB, so that a free of it returns memory), small enough that one arena does
 * not reserve much. */
#define SHARED_SPAN_BYTES ((size_t) 1 << 20)
/* What it keeps for the next arena: a compiler's phase or two. */
#define SHARED_KEEP_BYTES ((size_t) 8 << 20)

static SpanHeap shared;
static pthread_once_t shared_once = PTHREAD_ONCE_INIT;

static void
shared_before_fork (void)
{
  pthread_mutex_lock (&shared.lock);
}

static void
shared_after_fork (void)
{
  pthread_mutex_unlock (&shared.lock);
}

/* Its spans come from where the slices' pages come from. */
static void
shared_init (void)
{
  int64_t which = SLICE_PAGES_POSIX_MEMALIGN;
  slice_get_option (SLICE_OPTION_PAGE_SOURCE, &which);
  const SliceSource *parent = slice_source_builtin ((SlicePageSource) which);
  if (parent == NULL)
    parent = slice_source_builtin (SLICE_PAGES_POSIX_MEMALIGN);
  sli_span_heap_init (&shared, "arenas", parent, SHARED_SPAN_BYTES,
                      SPAN_PAGE_BYTES, SHARED_KEEP_BYTES);
  pthread_atfork (shared_before_fork, shared_after_fork, shared_after_fork);
}

const SliceSource *
sli_shared_source (void)
{
  pthread_once (&shared_once, shared_init);
  return &shared.source;
}

/* On memory that a process never had most of a fill's time are page faults:
 * given 64 KiB at a time they cost 13 % less, 32 KiB 9 %, 16 KiB 2 %. */
void *
sli_shared_map_ready (size_t bytes)
{
  size_t n_ready = 0;
  sli_shared_source ();
  char *pages
      = sli_span_heap_alloc (&shared, bytes, SPAN_PAGE_BYTES, &n_ready);
  if (n_ready != 0)
    (void) sli_os_populate (pages, n_ready * SPAN_PAGE_BYTES);
  return pages;
}

size_t
slice_arena_trim (size_t keep_bytes)
{
  size_t bytes;
  sli_shared_source ();
  TRACE_INTERNAL (bytes = sli_span_heap_trim (&shared, keep_bytes));
  return bytes;
}
