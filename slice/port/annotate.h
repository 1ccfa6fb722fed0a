/* annotate.h - makes blocks known to valgrind and the sanitizers
 *
 * Layer: port.  For the pool that is forced under a tool (force-pool=2): the
 * tool then treats each block like one of malloc.  The annotated mode of
 * checking.c uses it, and the slab and page layers for slabs and extents.
 * They call it only if sli_annotate_begin() has found a tool.
 *
 * Two other files speak to tools. context/trailing-header.c lays out the nodes
 * of contexts if slices are mallocs, and hides their gaps by these functions;
 * arena/annotate.c shows the objects of arenas as valgrind's memory pools.
 * Sources: valgrind's manual, section 4.8 (memory pools), 4.7; the interface
 * headers of the sanitizers. docs/guide/debugging.md says which of them does
 * what.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_ANNOTATE_H
#define SLI_PORT_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>

enum
{
  ANNOTATE_ZONE_BYTES = 16 /* inaccessible bytes on each side of a block */
};

/* Looks for a tool; returns true if there is one. */
bool sli_annotate_begin (void);
/* The same without a look: what sli_annotate_begin() returned. */
bool sli_annotate_is_on (void);

/* Hides an extent that came from malloc, except for its first bytes, so that
 * the tool knows the blocks in it as blocks of their own. */
void sli_annotate_extent (void *start, size_t bytes);
/* Makes it a block of malloc again, before it is freed. */
void sli_annotate_extent_end (void *start, size_t bytes);
/* Makes memory inaccessible: the free chunks of a slab, the gap behind a node;
 * and accessible again.  Without a tool both do nothing, whether
 * sli_annotate_begin() was called or not. */
void sli_annotate_no_access (void *start, size_t bytes);
void sli_annotate_access (void *start, size_t bytes);

/* Tells helgrind and DRD that a variable is written once, published by an
 * atomic store and then read without a lock: they do not know atomics, and
 * would report each read.  Before there are threads; without a tool it does
 * nothing. */
void sli_annotate_published (const void *variable, size_t bytes);
/* The same for all that one thread has initialised: it calls the first before
 * the store, and a thread that has seen the store calls the second.  Only in
 * calls that are rare, for a tool's sake. */
void sli_annotate_happens_before (const void *variable);
void sli_annotate_happens_after (const void *variable);
/* For memory of the library that inline functions write to, in the program's
 * code: an atomic variable hands it from one thread to the next.  The thread
 * sanitizer sees the writes, but not the library's atomics.  A thread calls the
 * first before its store, and the second once it has the memory.  Not in a
 * constructor, which may run before the sanitizer is ready. */
void sli_annotate_give (void *variable);
void sli_annotate_take (void *variable);

/* Called last in an allocation and first in a free, for the stacks that the
 * tool shows begin here.  If a freed block is not live, the tool reports it;
 * false if it could not. */
void sli_annotate_alloc (void *block, size_t size);
bool sli_annotate_free (void *block, size_t size, bool is_live);

#endif
