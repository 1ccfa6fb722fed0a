/* annotate.h - what arenas tell valgrind and AddressSanitizer
 *
 * Layer: arena.  When a tool watches, arenas are asked at every call and tell it
 * which bytes are an object's and which are nobody's.  Without a tool nothing
 * here runs: the arena's own mode decides, once for each slow call.
 *
 * valgrind's headers are needed at build time only, and without them only
 * AddressSanitizer is told.  Its functions are weak symbols, so that a plain
 * build of the library serves a program built with -fsanitize=address.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_ANNOTATE_H
#define SLI_ARENA_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>

/* The gap behind each object when a tool watches: an overrun by up to as much
 * meets nobody's memory. */
#define ANNOTATE_GAP_BYTES 16

/* Does a tool watch? */
bool sli_annotate_active (void);

/* Nobody's: any access is an error. */
void sli_annotate_hide (const void *start, size_t bytes);
/* Accessible, contents undefined. */
void sli_annotate_show (const void *start, size_t bytes);
/* Accessible, contents as they are. */
void sli_annotate_show_defined (const void *start, size_t bytes);

/* An object of a block (the block's start names it to valgrind) comes and
 * goes. */
void sli_annotate_block (const void *block);
void sli_annotate_object (const void *block, const void *object, size_t size);
void sli_annotate_object_gone (const void *block, const void *object,
                               size_t size);
/* All objects from `from` on are gone. */
void sli_annotate_cut (const void *block, const void *from, const void *end);
/* The block goes back to where it came from. */
void sli_annotate_block_gone (const void *block, size_t bytes);
/* The same, and it stays nobody's: to the spans that arenas share. */
void sli_annotate_block_kept (const void *block, size_t bytes);

#endif
