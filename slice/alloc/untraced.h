/* untraced.h - slices for the library's own use, which no recorder sees
 *
 * Layer: alloc.  For contexts and arenas, through untraced-slice.h.  A program
 * that asks for a node gets a node: the hooks are called for that one, and not
 * for the slice beneath it.  No locks.  Design: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ALLOC_UNTRACED_H
#define SLI_ALLOC_UNTRACED_H

#include <stdbool.h>
#include <stddef.h>

/* As slice_alloc_slow_v1() and its sisters in slice.h. */
void *sli_untraced_alloc_slow (size_t size);
void *sli_untraced_try_alloc_slow (size_t size);
void sli_untraced_free_slow (size_t size, void *block);

/* As slice_free_bulk(). */
void sli_untraced_free_bulk (size_t n, void *const *blocks);

/* Frees live blocks of any classes, as slice_free1() would, to where the next
 * allocation finds them.  Not in the checking modes, nor where mallocs stand
 * in for slices. */
void sli_untraced_free_warm (size_t n, void *const *blocks);

/* The bytes of a chunk of the slab that has an address, any address; 0 if no
 * slab has it.  Modes as above. */
size_t sli_untraced_class_bytes (const void *address);

/* The bytes of the chunk that begins at an address, any address; 0 if none of
 * ours does.  The chunk may be free.  Not in the checking modes, nor where
 * mallocs stand in for slices. */
size_t sli_untraced_chunk_bytes (const void *address);

/* May a block of ours begin at that address, any address?  True also of a
 * freed block.  Not where mallocs stand in for slices. */
bool sli_untraced_begins_block (const void *address);

/* Does an address, any address, lie in a slab of ours, so that it may be read
 * even where pages are guarded? */
bool sli_untraced_is_in_slab (const void *address);

#endif
