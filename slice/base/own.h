/* own.h - the slices that the library's upper floors take for themselves
 *
 * Floor 1 (base), read before all else by contexts and arenas (their
 * local.mk has it included).  Those call the slices as any program does, and
 * a recorder must not hear of it: the program has a node, no slice.  So in
 * these files the slow paths go by other names, those of functions that tell
 * no one.  The inline code is the same; it is inlined even without
 * optimization, for the exported bodies tell.
 *
 * Theory: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_BASE_OWN_H
#define SLI_BASE_OWN_H

#define SLICE_INLINE                                                          \
  static __inline__ __attribute__ ((__always_inline__, __unused__))

#define slice_alloc_slow_v1 sli_own_alloc_slow
#define slice_try_alloc_slow_v1 sli_own_try_alloc_slow
#define slice_free_slow_v1 sli_own_free_slow
#define slice_try_alloc_known sli_own_try_alloc_known
#define slice_free_bulk sli_own_free_bulk

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the chunk that begins at an address, any address; 0 where none
 * of ours does.  It tells nothing of whether the chunk is free.  For where
 * neither canaries nor mallocs stand in for slices. */
size_t sli_own_chunk_bytes (const void *address);
/* May a block of ours begin at that address, any address?  True also of a
 * freed one's; for where no mallocs stand in for slices. */
bool sli_own_begins_block (const void *address);
/* Frees live blocks of ours, of any classes, as slice_free1() would, to where
 * the next allocation finds them.  In no checking mode, as above. */
void sli_own_free_warm (size_t n, void *const *blocks);

#endif
