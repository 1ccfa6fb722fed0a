/* malloc-info.c - glibc's functions that describe and tune its heap
 *
 * Layer: dropin.  Below: the public interface.  No locks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "malloc-calls.h"

#include <slice/heap.h>
#include <slice/slice.h>
#include <slice/stats.h>

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

struct SliceMallinfo2
mallinfo2 (void)
{
  struct SliceMallinfo2 info = { 0 };
  SliceHeapCounts heap;
  SliceStats stats;

  slice_heap_count (&heap);
  if (!slice_get_stats (&stats))
    return info;
  info.arena = stats.mapped_bytes;
  info.hblks = heap.n_mapped;
  info.hblkhd = heap.mapped_bytes;
  info.uordblks = stats.live_bytes + heap.run_block_bytes;
  info.fordblks
      = stats.held_bytes > info.uordblks ? stats.held_bytes - info.uordblks
                                         : 0;
  info.keepcost = heap.kept_bytes;
  return info;
}

static int
to_int (size_t value)
{
  return value < INT_MAX ? (int) value : INT_MAX;
}

/* The fields are too narrow; larger numbers are cut to the maximum. */
struct SliceMallinfo
mallinfo (void)
{
  struct SliceMallinfo2 wide = mallinfo2 ();

  return (struct SliceMallinfo){
    { to_int (wide.arena), to_int (wide.ordblks), to_int (wide.smblks),
      to_int (wide.hblks), to_int (wide.hblkhd), to_int (wide.usmblks),
      to_int (wide.fsmblks), to_int (wide.uordblks), to_int (wide.fordblks),
      to_int (wide.keepcost) }
  };
}

/* This heap has no top that could be padded. */
int
malloc_trim (size_t pad UNUSED)
{
  return slice_heap_trim () > 0;
}

void
malloc_stats (void)
{
  struct SliceMallinfo2 info = mallinfo2 ();
  char text[256];
  int length
      = snprintf (text, sizeof text,
                  "slice: %zu bytes of pages, %zu bytes in %zu mapped blocks, "
                  "%zu bytes in other live blocks\n",
                  info.arena, info.hblkhd, info.hblks, info.uordblks);

  if (length > 0 && write (STDERR_FILENO, text, (size_t) length) < 0)
    return; /* the error can't be reported */
}

/* glibc's parameters have no meaning here: they are accepted without
 * effect. */
int
mallopt (int parameter UNUSED, int value UNUSED)
{
  return 1;
}
