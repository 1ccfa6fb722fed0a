/* untraced.h - slices for the library's own use, which no recorder sees
 *
 * Layer: alloc.  For contexts and arenas, through untraced-slice.h.  When a
 * program allocates a node, the hooks are called for the node, not for the
 * slice that holds it.  No locks.  Design: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ALLOC_UNTRACED_H
#define SLI_ALLOC_UNTRACED_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

/* As slice_alloc_slow_v1() and the others in slice.h. */
void *sli_untraced_alloc_slow (size_t size);
void *sli_untraced_try_alloc_slow (size_t size);
void *sli_untraced_alloc0_slow (size_t size);
void *sli_untraced_try_alloc0_slow (size_t size);
void sli_untraced_free_slow (size_t size, void *block);

/* As slice_free_bulk(), of blocks that hold nodes: messages name
 * ralloc_free(). */
void sli_untraced_free_bulk (size_t n, void *const *blocks);

/* hardened and debug: false if bytes behind a live block of a chunk were
 * written to; size is its requested one.  Other modes: true. */
bool sli_untraced_end_is_whole (const void *block, size_t size);

/* Frees live blocks of any classes, which are in the processor's cache, to the
 * thread's magazines, as slice_free1() does.  Not for the checking modes, nor
 * if every block is a malloc. */
void sli_untraced_free_warm (size_t n, void *const *blocks);

/* The slow path of untraced_free_class(). */
void sli_untraced_free_class_slow (unsigned class_index, void *block);

/* The size class of the slab that has an address, which may be any address; 0
 * if no slab has it.  Modes as above. */
unsigned sli_untraced_class_of (const void *address);

/* Returns true if a block of ours, live or free, may begin at an address,
 * which may be any address.  Not if every block is a malloc. */
bool sli_untraced_begins_block (const void *address);

/* Returns true if an address, which may be any address, is in a slab, so that
 * it can be read even if there are guard pages. */
bool sli_untraced_is_in_slab (const void *address);

/* Nodes that are mallocs (always-malloc), where a checking mode remembers
 * every block. */
bool sli_untraced_remembers_nodes (void);
/* False: no memory. */
bool sli_untraced_remember_node (const void *node, size_t size);
void sli_untraced_forget_node (const void *node);
/* The same in debug for nodes inside of blocks of malloc, for messages.  If
 * there is no memory they are not remembered. */
void sli_untraced_remember_large (const void *node, size_t size);
void sli_untraced_forget_large (const void *node);
/* Returns true if a live node begins at an address, which may be any address.
 * If not, *is_freed tells whether one did; *start is that of the live node
 * that the address is inside of, with *bytes, or NULL. */
bool sli_untraced_is_node (const void *address, bool *is_freed,
                           void **start, size_t *bytes);

/* Count a block that goes to the system's malloc for its size, and its free. */
void sli_untraced_count_large (void);
void sli_untraced_count_large_free (void);

/* In debug: notes how many bytes at a node's end are not its payload's. */
void sli_untraced_note_slack (const void *block, uint8_t bytes);
/* For messages: what debug knows of the block, live or recently freed, that
 * has an address, which may be any address: its start, size and sites.  False:
 * nothing, as in most modes; then the facts are empty. */
bool sli_untraced_facts (const void *address, BlockFacts *facts);
/* As sli_diag_abort(), about an address; the line goes on with who allocated
 * and freed the block that has it, where that is known. */
_Noreturn void sli_untraced_abort (ErrorNumber number, const void *address,
                                   const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

#endif
