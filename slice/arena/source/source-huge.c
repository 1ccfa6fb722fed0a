/* source-huge.c - pages cut from huge pages
 *
 * Layer: arena: a span heap whose spans are regions of 2 MiB.  They come from
 * the system's reserve of huge pages, or are ordinary memory that is advised
 * to be huge.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/arena.h>

#include <sys/mman.h>
#include "base/align.h"
#include "port/os/os.h"
#include "span.h"
#include "source-owned.h"

enum
{
  HUGE_BYTES = MIB (2) /* on x86-64, and most others with 4 KiB pages */
};

/* Maps more bytes, by the alignment, and unmaps both ends. */
static void *
huge_map_advised (size_t bytes, size_t alignment)
{
  char *start = mmap (NULL, bytes + alignment, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  size_t before;

  if (start == MAP_FAILED)
    return NULL;
  before
      = (alignment - ((uintptr_t) start & (alignment - 1))) & (alignment - 1);
  if (before > 0)
    munmap (start, before);
  munmap (start + before + bytes, alignment - before);
  sli_os_advise_huge (start + before, bytes, true); /* ordinary pages do */
  return start + before;
}

static void *
huge_map (const SliceSource *source, size_t bytes, size_t alignment)
{
  void *start = NULL;

  if (*(const SliceHugeKind *) source->data == SLICE_HUGE_RESERVED
      && alignment <= HUGE_BYTES)
    start = sli_os_map_huge (bytes);
  return start != NULL ? start : huge_map_advised (bytes, alignment);
}

static void
huge_unmap (const SliceSource *source, void *address, size_t bytes)
{
  (void) source;
  munmap (address, bytes);
}

typedef struct
{
  OwnedSource owned; /* first */
  SliceSource regions;
  SliceHugeKind kind;
} HugeSource;

static void
huge_end (OwnedSource *owned)
{
  sli_span_record_free (owned);
}

const SliceSource *
slice_source_huge_new (SliceHugeKind kind, size_t keep_bytes)
{
  HugeSource *huge = sli_span_record_alloc (sizeof *huge);

  if (huge == NULL)
    return NULL;
  huge->kind = kind;
  huge->regions = (SliceSource){ .name = "huge-page regions",
                                 .map = huge_map,
                                 .unmap = huge_unmap,
                                 .is_zeroed = true,
                                 .data = &huge->kind };
  sli_span_heap_init (&huge->owned.heap, "huge pages", &huge->regions,
                      HUGE_BYTES, HUGE_BYTES, keep_bytes);
  return sli_owned_source (&huge->owned, huge_end);
}
