/* span-shared.c - the span heap that arenas without a source of their own
 * share
 *
 * Layer: arena: above the span heaps (span.c).  A fork holds the lock, so that
 * the heap is consistent in the child.
 *
 * Design: section 8.6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "span.h"

#include <slice/arena.h>
#include "base/check.h"
#include "base/trace.h"
#include "port/annotate.h"
#include "port/os/os.h"

enum
{
  /* The size of a span.  It is so large that the system's malloc maps it
   * separately and a free returns the memory (the threshold starts at 128 KiB
   * and stops at 32 MiB), and so small that one arena does not reserve
   * much. */
  SHARED_SPAN_BYTES = MIB (1),
  /* The empty spans that the heap keeps for the next arena: a compiler uses
   * this much in a phase or two. */
  SHARED_KEEP_BYTES = MIB (8)
};

static SpanHeap shared;
static pthread_once_t shared_once = PTHREAD_ONCE_INIT;
static bool shared_is_ready; /* an arena has taken a block of it, or will */

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

/* The spans come from the same source as the pages of slices. */
static void
shared_init (void)
{
  int64_t which;
  const SliceSource *parent;

  slice_get_option (SLICE_OPTION_PAGE_SOURCE, &which);
  parent = slice_source_builtin ((SlicePageSource) which);
  assert_here (parent != NULL);
  sli_span_heap_init (&shared, "arenas", parent, SHARED_SPAN_BYTES,
                      SPAN_PAGE_BYTES, SHARED_KEEP_BYTES);
  pthread_atfork (shared_before_fork, shared_after_fork, shared_after_fork);
  sli_annotate_happens_before (&shared);
  sli_annotate_published (&shared_is_ready, sizeof shared_is_ready);
  STORE_RELEASE (&shared_is_ready, true);
}

const SliceSource *
sli_shared_source (void)
{
  pthread_once (&shared_once, shared_init);
  sli_annotate_happens_after (&shared); /* helgrind does not know it of once */
  return &shared.source;
}

/* A program that fills new memory spends most of the time in page faults.
 * These take 13 % less time with 64 KiB at once, 9 % less with 32 KiB, 2 %
 * less with 16 KiB. */
void *
sli_shared_map_ready (size_t bytes)
{
  size_t n_ready = 0;
  char *pages;

  sli_shared_source ();
  pages = sli_span_heap_alloc (&shared, bytes, SPAN_PAGE_BYTES, &n_ready);
  if (n_ready != 0)
    (void) sli_os_populate (pages, n_ready * SPAN_PAGE_BYTES);
  return pages;
}

bool
sli_shared_extend (const char *end, size_t bytes)
{
  return sli_span_heap_extend (&shared, end, bytes / SPAN_PAGE_BYTES);
}

/* Before the first arena there is nothing to trim, and the program may still
 * set a source of pages: so that is not read here. */
size_t
slice_arena_trim (size_t keep_bytes)
{
  size_t bytes;

  if (!LOAD_ACQUIRE (&shared_is_ready))
    return 0;
  sli_annotate_happens_after (&shared);
  TRACE_INTERNAL (bytes = sli_span_heap_trim (&shared, keep_bytes));
  return bytes;
}
