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

/* Its functions, for callers that count instructions.  At first they are those
 * of malloc-next.c, which find the next library's and know start-up memory. */
typedef struct
{
  void *(*malloc) (size_t size);
  void *(*calloc) (size_t n, size_t size);
  void *(*memalign) (size_t alignment, size_t size);
  void *(*realloc) (void *block, size_t size);
  void (*free) (void *block);
  size_t (*usable) (void *block);
} MallocNext;
extern MallocNext sli_next __attribute__ ((visibility ("hidden")));

/* Frees without a look at start-up memory from now on, if there is none.  For
 * a library that allocates it only while it looks functions up. */
void sli_malloc_next_settle (void);

/* Allocates start-up memory, for calls while the heap is initialised; zeroed,
 * never freed.  NULL: there is no more. */
void *sli_start_alloc (size_t alignment, size_t size);
/* The size of such a block; 0: it is no such block. */
size_t sli_start_bytes (const void *block);

/* The next library's function of this name; NULL: there is none. */
void *sli_malloc_next_function (const char *name);

#endif
