/* address.h - what an address is: slice's or not, a live block or a free one
 *
 * Public; slice.h includes it.  For allocators built on slices, and for
 * libraries that replace another allocator's functions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_ADDRESS_H
#define SLICE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <slice/version.h>

SLICE_BEGIN_DECLS

/** What an address is. */
typedef enum
{
  SLICE_BLOCK_FOREIGN = 0,  /**< not in our slabs (large blocks neither) */
  SLICE_BLOCK_NONE,         /**< our pages, but no block: slab header, unused
                                 page, padding */
  SLICE_BLOCK_FREE,         /**< in a chunk that lies free in its slab; in the
                                 checking modes (checked, hardened, debug) in
                                 any that no block lives in */
  SLICE_BLOCK_OUT,          /**< the start of a block whose chunk is out of its
                                 slab.  The block is live; outside the checking
                                 modes it may also be free, in a magazine */
  SLICE_BLOCK_INTERIOR      /**< in the chunk of such a block, not at the
                                 block's start */
} SliceBlockKind;

/** What slice_block_info() returns. */
typedef struct
{
  SliceBlockKind kind;
  unsigned class_index;  /**< its class; 0 if FOREIGN or NONE */
  size_t bytes;          /**< what may be used from `start` on: the chunk's
                              size.  In the checking modes it is the requested
                              size of a live block, and of a free one what the
                              mode leaves of the chunk.  0 if FOREIGN or
                              NONE */
  void *start;           /**< where the block begins, or would: the chunk's
                              start; in debug, 16 bytes behind it; NULL if
                              FOREIGN or NONE */
} SliceBlockInfo;

/** Looks an address up, without touching what it points to.
 *
 * @param address  anything, valid or not, whatever other threads do meanwhile
 * @param info     where to put the answer; not NULL.  If another thread frees
 *                 the block meanwhile, the answer may already be out of date
 *
 * Threads: any; not from a signal handler.  Cost: a few loads for foreign
 *   addresses; a lock and some loads for ours.
 */
SLICE_API void slice_block_info (const void *address, SliceBlockInfo *info);

/** slice_is_ours() has the same answer for all addresses in an aligned window
 * of this many bytes. */
#define SLICE_OURS_BYTES (256 * 1024)

/** Is this address in memory that slices are cut from?  Large blocks come from
 * malloc and are not.  But if libslice-malloc serves malloc, or the program
 * uses heap.h, larger blocks may lie in that memory as well.  The function
 * reads only a map that is never unmapped.
 *
 * @param address  anything, valid or not
 *
 * Threads: any; from a signal handler, too.  Cost: two loads.
 */
SLICE_API bool slice_is_ours (const void *address);

/** The size that was requested for a live block, if the library remembers it.
 * A layer that replaces another allocator's functions can use it to find out
 * which of the two a block belongs to.
 *
 *   checked, hardened, debug                  of every live block
 *   one of these together with always-malloc  of every live block
 *   force-pool=2                              of blocks that are not malloc's
 *   any other                                 of none
 *
 * @param address  anything, valid or not
 * @return         bytes, exactly as requested; 0 if no such block starts there
 *
 * Threads: any.  Cost: a lock and a few loads; for blocks of malloc's another
 *   lock and a look into a hash table.
 */
SLICE_API size_t slice_debug_size (const void *address);

SLICE_END_DECLS

#endif
