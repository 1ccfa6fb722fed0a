/* annotate.h - makes arenas known to valgrind and AddressSanitizer
 *
 * Layer: arena.  Under a tool, arenas take the slow path at every call and
 * tell the tool which bytes belong to an object and which may not be accessed.
 * Without a tool nothing here runs: each slow call tests a flag of the arena.
 *
 * Only the build needs valgrind's headers; without them only AddressSanitizer
 * is supported.  Its functions are weak symbols, so that a plain build of the
 * library works in a program built with -fsanitize=address.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_ANNOTATE_H
#define SLI_ARENA_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>

enum
{
  /* The gap behind each object under a tool, which finds an overrun of up to
   * this size. */
  ANNOTATE_GAP_BYTES = 16
};

/* Returns true under a tool that checks addresses. */
bool sli_annotate_active (void);

/* Marks bytes as inaccessible. */
void sli_annotate_hide (const void *start, size_t bytes);
/* Marks bytes as accessible, with undefined contents. */
void sli_annotate_show (const void *start, size_t bytes);
/* Marks bytes as accessible, with their contents. */
void sli_annotate_show_defined (const void *start, size_t bytes);

/* Memory for an embedded block, or NULL: it may lie where it is, in the record
 * of its arena.  memcheck searches no block of malloc for pointers that has
 * objects of an arena, so it would lose what the record and a context's links
 * point to. */
void *sli_annotate_apart (const void *embedded, size_t bytes);
void sli_annotate_apart_gone (void *block);

/* A block is in use from now on; its start identifies it to valgrind. */
void sli_annotate_block (const void *block);
/* An object in a block is allocated, and freed. */
void sli_annotate_object (const void *block, const void *object, size_t size);
void sli_annotate_object_gone (const void *block, const void *object,
                               size_t size);
/* All objects from `from' on are freed. */
void sli_annotate_cut (const void *block, const void *from, const void *end);
/* The block is returned and accessible again. */
void sli_annotate_block_gone (const void *block, size_t bytes);
/* The block is returned to the spans that arenas share, and stays hidden. */
void sli_annotate_block_kept (const void *block, size_t bytes);

#endif
