/* source.h - sources of pages
 *
 * Public.  A source is a few functions that provide large aligned blocks of
 * memory.  Slices take all their pages from one source, in requests of 256 KiB
 * to 32 MiB (4 MiB on 32 bits), each at a multiple of 2 MiB.  The first is the
 * smallest; each further one is the largest of these, and while the source has
 * none of that size, half of it, and so on.  So a source over one buffer uses
 * that badly if it is small: the part before the first multiple is lost, and
 * the rest of the 2 MiB behind a smaller request.  Below 2.5 MiB there may be
 * no memory at all.  Of 4 MiB slices get 5 to 30 %, of 8 MiB at least 50 %, of
 * 16 MiB 75 %, of 64 MiB 93 %.  (slice_tlsf_new_fixed() needs no alignment.)
 * An arena may have a source of its own; it requests whole pages.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SOURCE_H
#define SLICE_SOURCE_H

#include <slice/options.h>

SLICE_BEGIN_DECLS

typedef struct SliceSource SliceSource;

/** A source of pages.  The functions may be called from several threads at
 * once, with no lock held, and must not use slices themselves. */
struct SliceSource
{
  /** For messages and statistics; not NULL. */
  const char *name;

  /** Gives `bytes` bytes (a multiple of the system's page size) at a multiple
   * of `alignment` (a power of two, at least a page), or NULL.  Memory that is
   * not aligned or mapped, or that the slices have already, is refused with
   * warning 132. */
  void *(*map) (const SliceSource *source, size_t bytes, size_t alignment);

  /** Returns a whole block that map() gave.  NULL: blocks are never returned
   * (a fixed buffer). */
  void (*unmap) (const SliceSource *source, void *address, size_t bytes);

  /** Gives the memory of some whole pages back to the system; their addresses
   * stay mapped.  True if they read as zero afterwards.  NULL: the source
   * cannot do this, and slices return memory by unmap() alone: a whole request
   * when nothing in it is in use, not even a record of the library's own
   * (SliceStats.meta_bytes).  A request of 32 MiB may stay for a record, and
   * slice_trim (0) returns nothing of one that has a live block. */
  bool (*advise_away) (const SliceSource *source, void *address,
                       size_t bytes);

  /** True if what map() gives reads as zero. */
  bool is_zeroed;

  /** Private data of the source. */
  void *data;
};

/** A built-in source.
 *
 * @param which  one of the built-in ones
 * @return       the source, or NULL if it is not built in (or is
 *               SLICE_PAGES_CUSTOM and none was set)
 *
 * Threads: any.  Cost: none.
 */
SLICE_API const SliceSource *slice_source_builtin (SlicePageSource which);

/** Makes the slices take their pages from a source of the caller's own.
 *
 * @param source  is used by reference and must live as long as the process;
 *                not NULL
 * @return        SLICE_SET_OK, SLICE_SET_TOO_LATE after the first block, or
 *                SLICE_SET_BAD_VALUE if `name` or `map` is missing
 *
 * Threads: any, before the first block.  Cost: one lock.
 */
SLICE_API SliceSetResult slice_set_source (const SliceSource *source);

SLICE_END_DECLS

#endif
