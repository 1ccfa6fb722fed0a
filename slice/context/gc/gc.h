/* gc.h - gc contexts, for other files of the layer
 *
 * Layer: context.  No locks: a tree belongs to one thread at a time.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_GC_GC_H
#define SLI_CONTEXT_GC_GC_H

#include <stdbool.h>
#include <stddef.h>

void sli_gc_release (void *payload); /* the slabs */
size_t sli_gc_bytes (const void *payload);
bool sli_gc_is_context (const void *payload);
/* Called when all children of a gc context are about to leave: a sweep that is
 * under way frees none. */
void sli_gc_end_divider (void *payload);

#endif
