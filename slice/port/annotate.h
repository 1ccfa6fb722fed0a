/* annotate.h - what the pool tells tools that watch memory
 *
 * Layer: port.  For the pool forced under a tool (force-pool=2): each block
 * is then to the tool what a block of malloc is.  Used by the annotated mode
 * of checking.c and, for slabs and extents, by their floors; nothing of it is
 * called unless sli_annotate_begin() found a tool.
 * Sources: valgrind's manual, section 4.8 (memory pools), 4.7; the interface
 * headers of the sanitizers.  docs/guide/debugging.md says which of them does
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
  ANNOTATE_ZONE_BYTES = 16 /* around each block, out of bounds */
};

/* Is there a tool?  Says so from now on by sli_annotate_is_on(). */
bool sli_annotate_begin (void);
bool sli_annotate_is_on (void);

/* A piece of pages that came from malloc: hides it from the tool, but for its
 * first bytes, so that blocks within are seen as such; and shows it again. */
void sli_annotate_extent (void *start, size_t bytes);
void sli_annotate_extent_end (void *start, size_t bytes);
/* The chunks of a slab: nobody's yet; and plain memory again. */
void sli_annotate_slab (void *chunks, size_t bytes);
void sli_annotate_slab_end (void *chunks, size_t bytes);

/* The last thing in an allocation, the first in a free: stacks that the tool
 * shows begin here.  A free of what is not live is the tool's to report: false
 * if it could not. */
void sli_annotate_alloc (void *block, size_t size);
bool sli_annotate_free (void *block, size_t size, bool is_live);

#endif
