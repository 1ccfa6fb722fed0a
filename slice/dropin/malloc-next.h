/* malloc-next.h - the malloc behind ours, and the start-up memory
 *
 * Layer: dropin.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_MALLOC_NEXT_H
#define SLI_DROPIN_MALLOC_NEXT_H

#include <slice/heap.h>

#include <stdbool.h>
#include <stddef.h>

/* The calls of the next malloc, for slice_heap_set_next(). */
extern const SliceHeapNext sli_malloc_next
    __attribute__ ((visibility ("hidden")));

/* Allocates start-up memory, for calls while the heap is initialised; zeroed,
 * never freed.  NULL: there is no more. */
void *sli_start_alloc (size_t alignment, size_t size);
/* The size of such a block; 0: it is no such block. */
size_t sli_start_bytes (const void *block);

/* The next library's function of this name; NULL: there is none. */
void *sli_malloc_next_function (const char *name);

#endif
