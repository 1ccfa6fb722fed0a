/* tlsf.h - two-level segregated fit: any size, any order, bounded time
 *
 * Public.  Every operation on such a heap takes a bounded number of steps,
 * whatever happened before and however large the heap is.  A heap over a fixed
 * buffer makes no system call, so real-time threads may use it.  A heap may
 * also grow from a page source; then the bound holds except for calls that map
 * or unmap.  A free joins the block with its free neighbours before it
 * returns.
 *
 * See arena.h for what all arenas share.
 *
 * Design: section 8.5.
 * Source: M. Masmano, I. Ripoll, A. Crespo, J. Real: TLSF: a new dynamic
 * memory allocator for real-time systems.  ECRTS 2004.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_TLSF_H
#define SLICE_TLSF_H

#include <slice/arena.h>

SLICE_BEGIN_DECLS

/** A two-level segregated fit heap. */
typedef struct SliceTlsf SliceTlsf;

/** The size of a fixed buffer for one object of `bytes`, with the control
 * block and the headers; SIZE_MAX above 2^38. */
SLICE_API size_t slice_tlsf_buffer_bytes (size_t bytes);

/** Makes a heap over the caller's buffer.
 *
 * @param buffer  any address; must outlive the heap; not NULL
 * @param bytes   its size; slice_tlsf_buffer_bytes (16) at least
 * @return        the heap, inside the buffer, or NULL with errno EINVAL if
 *                the buffer is too small
 *
 * It allocates nothing, so options may still be set after it.  They hold for
 * arenas that are made later, not for this one.
 *
 * Cost: no system call; clears the control block (1.6 KiB for a buffer of
 *   4 KiB, under 7 KiB for one of 1 GiB).
 */
SLICE_API SliceTlsf *slice_tlsf_new_fixed (void *buffer, size_t bytes);

/** Options of a heap over buffers.  All zero is the default for each. */
typedef struct
{
  /** Up to this many bytes, 2^38 at most, slice_tlsf_add_region() adds buffers
   * that are larger than the first. */
  size_t region_bytes_max;

  /** SliceArenaFlags. */
  unsigned flags;

  /** 0, or sizeof (SliceTlsfFixedOptions), as in SliceArenaOptions. */
  size_t struct_bytes;
} SliceTlsfFixedOptions;

/** As slice_tlsf_new_fixed(), with options.
 *
 * @param options  not NULL
 * @return         the heap, or NULL with errno EINVAL, also if an option is out
 *                 of range
 *
 * Cost: the control block takes 256 bytes more for each doubling of the
 *   largest buffer.
 */
SLICE_API SliceTlsf *
slice_tlsf_new_fixed_with (void *buffer, size_t bytes,
                           const SliceTlsfFixedOptions *options);

/** Adds a buffer to a heap over buffers.  The buffer is part of the heap until
 * the heap ends.  Objects are allocated from all buffers, but none is in two,
 * even if these are neighbours.  A reset frees the objects in all buffers.
 *
 * @param tlsf    of slice_tlsf_new_fixed() or slice_tlsf_new_fixed_with()
 * @param buffer  any address; must outlive the heap; not NULL
 * @param bytes   its size; 128 at least, of which 72 are lost
 * @return        false with errno EINVAL if the buffer is too small or too
 *                large, if part of it is the heap's already, or if the heap
 *                grows by itself; heap and buffer are unchanged then
 *
 * A buffer is not too large if it is no larger than the first or than
 * region_bytes_max, and always is at twice the larger of these.  In between it
 * may be added or refused.
 *
 * Threads: the heap's owner.
 * Cost: no system call; O(buffers).
 * Source: tlsf_add_pool() of the authors' second implementation.
 */
SLICE_API bool slice_tlsf_add_region (SliceTlsf *tlsf, void *buffer,
                                      size_t bytes);

/** Makes a heap that grows.
 *
 * @param options  NULL: the defaults; first_bytes is 64 KiB by default,
 *                 cap_bytes 1 MiB
 * @return         the heap, or NULL with errno ENOMEM, or EINVAL if an option
 *                 is out of range
 */
SLICE_API SliceTlsf *slice_tlsf_new (const SliceArenaOptions *options);

/** Makes a heap that grows and belongs to a context, a node named "tlsf"; see
 * slice_linear_new_in(). */
SLICE_API SliceTlsf *slice_tlsf_new_in (const void *context,
                                        const SliceArenaOptions *options);

/** Ends a heap and all that is in it; NULL does nothing.  One that belongs to a
 * context may stay, as slice_linear_destroy() says. */
SLICE_API void slice_tlsf_destroy (SliceTlsf *tlsf);

/** Allocates.
 *
 * @param tlsf  not NULL
 * @param size  bytes; 0 is taken as 1
 * @return      an object aligned to 16; NULL with errno ENOMEM
 *
 * Errors: damage that the call finds is misuse (332).
 * Threads: the heap's owner.
 * Cost: bounded; it reads two bitmap words and at most three blocks.
 */
SLICE_API void *slice_tlsf_alloc (SliceTlsf *tlsf, size_t size)
    SLICE_ATTR_ALLOC_SIZE (2);

/** As slice_tlsf_alloc(), with a given alignment: a power of two, else misuse
 * (300).  Unlike in other arenas it may exceed SLICE_ARENA_ALIGNMENT_MAX. */
SLICE_API void *slice_tlsf_alloc_aligned (SliceTlsf *tlsf, size_t alignment,
                                          size_t size)
    SLICE_ATTR_ALLOC_SIZE (3);

/** Frees an object, and at once joins its block with free neighbours.
 *
 * @param tlsf    not NULL
 * @param object  of this heap; NULL does nothing
 *
 * Errors: it is misuse to free a free object (330) or an address that no
 *   object of this heap has (331).  A damaged header or link that the call
 *   finds is misuse (332), reported before the call writes through it; so is
 *   an overrun of this object by one byte in a checked heap.  Addresses of
 *   another heap are found if size_t has 64 bits, or one of the heaps is over
 *   a single buffer, or the heap is checked.
 * Threads: the heap's owner.
 * Cost: bounded; it reads at most three blocks.  A heap that grows keeps one
 *   empty region and returns a second one.
 */
SLICE_API void slice_tlsf_free (SliceTlsf *tlsf, void *object);

/** Changes an object's size, in place if it shrinks, or if the block behind it
 * is free and large enough.  (Under valgrind and the sanitizers one that grows
 * is copied, if there is memory for the copy.)  One that shrinks needs no
 * memory.
 *
 * @param object  NULL: as slice_tlsf_alloc()
 * @param size    bytes; 0 is taken as 1
 * @return        the object; NULL with errno ENOMEM, and the old one is
 *                unchanged
 *
 * Errors: as slice_tlsf_free().
 * Cost: bounded in place; else the copy.
 */
SLICE_API void *slice_tlsf_resize (SliceTlsf *tlsf, void *object, size_t size);

/* As slice_tlsf_object_bytes(), whatever the compiler knows of the object. */
SLICE_API size_t slice_tlsf_object_bytes_v1 (const SliceTlsf *tlsf,
                                             const void *object);

/** The usable bytes of an object: at least its size.  They are exactly its
 * size in a checked heap, under valgrind or AddressSanitizer, and if the
 * compiler sees how the object was allocated: see slice_block_size().
 * Errors: as slice_tlsf_free(). */
SLICE_ARENA_INLINE size_t slice_tlsf_object_bytes (const SliceTlsf *tlsf,
                                                   const void *object)
    SLICE_ARENA_ALWAYS_V1;
SLICE_ARENA_INLINE size_t
slice_tlsf_object_bytes (const SliceTlsf *tlsf, const void *object)
{
  size_t bytes = slice_tlsf_object_bytes_v1 (tlsf, object);
  size_t known = SLICE_KNOWN_BYTES_V1 (object);
  return bytes < known ? bytes : known;
}

/** Frees all objects.
 *
 * @param keep  which regions of a heap that grows stay for the next use;
 *              SLICE_KEEP_NONE returns all.  A heap over buffers keeps them
 *
 * Cost: O(regions). */
SLICE_API void slice_tlsf_reset (SliceTlsf *tlsf, SliceKeep keep);

/** Returns regions without a live object, and shrinks the table of regions.
 * @return  bytes returned, by which the heap's held_bytes fall */
SLICE_API size_t slice_tlsf_trim (SliceTlsf *tlsf);

/** Statistics of a heap, and the fragmentation of its free memory. */
typedef struct
{
  SliceArenaStats arena;
  size_t n_live;            /**< objects */
  size_t n_free;            /**< free blocks */
  size_t free_bytes;        /**< in free blocks, with their headers */
  size_t largest_free;      /**< the largest object that slice_tlsf_alloc() can
                                 put into one of them now; it tries one of the
                                 blocks of almost the same size, so a block may
                                 be up to a 32nd larger */
  unsigned fragmentation_permille; /**< 1000 * (1 - largest / free), 0 if
                                        nothing is free */
  size_t spare[2];          /**< 0; for figures of later versions */
} SliceTlsfStats;

/** Gets statistics of the heap.  Errors: damage is misuse (332).
 * Cost: O(blocks and objects). */
SLICE_API void slice_tlsf_get_stats (const SliceTlsf *tlsf,
                                     SliceTlsfStats *stats);

/** Visits every block in the order of addresses, region by region.
 *
 * @param visit  called with the object, its usable bytes, whether it is live,
 *               and data; false ends the walk.  It must not change the heap
 * @return       false if visit ended it
 *
 * Errors: damage is misuse (332).
 * Threads: the heap's owner.  With SLICE_ARENA_LOCKED any; others that call
 *   wait until the walk has ended.
 */
SLICE_API bool slice_tlsf_walk (const SliceTlsf *tlsf,
                                bool (*visit) (const void *object,
                                               size_t bytes, bool is_live,
                                               void *data),
                                void *data);

/** Validates everything: sizes, neighbours, flags, lists and bitmaps.
 *
 * @param why  receives a text about the fault, or NULL if there is none; may
 *             be NULL
 * @return     true if the heap is sound
 *
 * Cost: O(blocks and objects).
 */
SLICE_API bool slice_tlsf_is_valid (const SliceTlsf *tlsf, const char **why);

SLICE_END_DECLS

#endif
