/* heap.h - blocks of any size that are freed by their address alone
 *
 * Public.  For layers that replace malloc, such as libslice-malloc.so, and for
 * programs that want such blocks beside their slices.  Small blocks are slices,
 * rounded up to 16 bytes; larger ones are cut from runs of pages; very large
 * ones are mapped one by one.
 *
 * Alignment: 16 at least.
 *
 * No memory: NULL with errno ENOMEM, after spare memory was given back and the
 * attempt was repeated.  No failure handler is called, and no hook of hooks.h
 * for any block.
 *
 * Threads: everything here may be called from any thread, and a block may be
 * freed by another one.  Nothing here may be called from a signal handler.
 *
 * Costs are instructions on x86-64 where a number is given.
 *
 * Design: chapter 14.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_HEAP_H
#define SLICE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <slice/version.h>

SLICE_BEGIN_DECLS

/** Frees a block of the heap.
 *
 * @param block  a block of slice_heap_alloc() or one of its variants; NULL does
 *               nothing.  A block of slice_alloc() goes to slice_free1() or
 *               slice_free_unsized() instead
 *
 * Errors: in the checking modes a block that is not live ends the program.  So
 *   does a block of slice_alloc() (103), unless slice_heap_set_next() has made
 *   the heap a malloc; and slice_free1() refuses small blocks of the heap.  If
 *   every block comes from malloc (always-malloc, or under a tool), the next
 *   allocator and the tool decide.  Without these modes a block of more than
 *   SLICE_SIZE_MAX bytes is checked at the call, a smaller one as by
 *   slice_free1(), and an address outside slice's memory goes to the next
 *   allocator (slice_heap_set_next()).
 * Threads: any.  Cost: some 40 instructions for a small block, inside the
 *   library: the size class is looked up by the address.
 * Source: free().
 */
SLICE_API void slice_heap_free (void *block);

/** As slice_heap_free(), for a block whose size the caller knows.
 *
 * @param size  bytes that were requested.  The checking modes end the program
 *              if the size is wrong (103), except where every block comes from
 *              malloc.  0 and 1 count as the same.
 *
 * Source: free_sized() of C23.
 */
SLICE_API void slice_heap_free_sized (void *block, size_t size);

/* The same two for libraries that replace other functions.  Messages name
 * `call', which must stay valid. */
SLICE_API void slice_heap_free_as_v1 (void *block, const char *call);
SLICE_API void slice_heap_free_sized_as_v1 (void *block, size_t size,
                                            const char *call);

/* For such libraries: messages use these names for slice_alloc(), slice_free1()
 * and slice_free_chain().  They must stay valid. */
SLICE_API void slice_name_calls_v1 (const char *alloc_name,
                                    const char *free_name,
                                    const char *chain_name);

/** Allocates a block.
 *
 * @param size  bytes; 0 gives a block of its own, too
 * @return      the block, contents undefined; NULL with errno ENOMEM
 *
 * Threads: any.  Cost: some 100 instructions for a small block, which comes
 *   from the thread's magazine.
 * Source: malloc().
 */
SLICE_API void *slice_heap_alloc (size_t size) SLICE_ATTR_MALLOC
    SLICE_ATTR_ALLOC_SIZE (1) SLICE_ATTR_FREED_BY (slice_heap_free, 1);

/** As slice_heap_alloc(), with all bytes zero. */
SLICE_API void *slice_heap_alloc0 (size_t size) SLICE_ATTR_MALLOC
    SLICE_ATTR_ALLOC_SIZE (1) SLICE_ATTR_FREED_BY (slice_heap_free, 1);

/** As slice_heap_alloc(), with an alignment of the caller's choice.
 *
 * @param alignment  a power of two
 * @param size       bytes; 0 gives a block of its own, too
 * @return           the block; NULL with errno ENOMEM, or EINVAL if the
 *                   alignment is no power of two
 *
 * Source: memalign().
 */
SLICE_API void *slice_heap_alloc_aligned (size_t alignment, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2)
    SLICE_ATTR_FREED_BY (slice_heap_free, 1);

/** Gives a block another size, in place where that is possible.
 *
 * @param block  a live block; NULL: allocates one
 * @param size   bytes; 0 is a size like any other
 * @return       the block, which may have moved; NULL with errno ENOMEM, and
 *               the block is unchanged.  Making a block smaller can fail only
 *               in the checking modes, which store the size elsewhere
 *
 * Errors: as slice_heap_free().
 * Threads: any.  Source: realloc().
 */
SLICE_API void *slice_heap_realloc (void *block, size_t size)
    SLICE_ATTR_ALLOC_SIZE (2);

/** The usable size of a live block.
 *
 * @param block  a block of the heap; NULL gives 0
 * @return       bytes that may be used; in the checking modes exactly the size
 *               that was requested, 1 for a block of no bytes
 *
 * Threads: any.  Source: malloc_usable_size().
 */
SLICE_API size_t slice_heap_bytes (const void *block);

/** Gives spare memory back to the system, as slice_trim() does, and also the
 * memory that the heap keeps.
 *
 * @return  bytes given back: the growth of SliceStats.returned_bytes during
 *          the call, and the large blocks that were kept
 *          (SliceHeapCounts.kept_bytes), which SliceStats does not count
 *
 * Threads: any; what other threads give back meanwhile counts as well.
 * Cost: as slice_trim(). */
SLICE_API size_t slice_heap_trim (void);

/** What the heap counts.  Small blocks are in slice_get_stats(). */
typedef struct
{
  size_t n_runs;          /**< runs of pages that are or hold larger blocks */
  size_t run_bytes;       /**< bytes of these runs */
  size_t run_block_bytes; /**< bytes of the live blocks in them */
  size_t n_mapped;        /**< blocks with mappings of their own */
  size_t mapped_bytes;    /**< bytes of these blocks */
  size_t kept_bytes;      /**< bytes of mappings kept for another block */
} SliceHeapCounts;

/** Reads the counts, one after the other.  Threads: any. */
SLICE_API void slice_heap_count (SliceHeapCounts *counts);

/** Another allocator: for blocks that do not belong to the heap, and for all
 * blocks under a tool and with always-malloc. */
typedef struct
{
  void *(*alloc) (size_t size);
  void *(*alloc0) (size_t size);
  void *(*alloc_aligned) (size_t alignment, size_t size);
  void *(*realloc) (void *block, size_t size);
  void (*free) (void *block);
  size_t (*bytes) (const void *block);
  bool (*owns) (const void *block); /**< is it surely one of its blocks?  They
                                         are no misuse in the checking modes;
                                         NULL: that is not known */
  const char *alloc_name;   /**< what messages call slice_heap_alloc(), ... */
  const char *free_name;    /**< ... slice_heap_free() ... */
  const char *realloc_name; /**< ... slice_heap_realloc() ... */
  const char *bytes_name;   /**< ... and slice_heap_bytes() */
} SliceHeapNext;

/** Names the next allocator, and initialises the heap.  The layer that replaces
 * malloc calls it once, before any other call.  Pages then come from mmap,
 * unless a source of the program's own is set: the other sources call malloc.
 * Without this call the next allocator is the system's malloc.
 *
 * @param next  not NULL; must stay
 */
SLICE_API void slice_heap_set_next (const SliceHeapNext *next);

SLICE_END_DECLS

#endif
