/* linear.h - linear contexts, for other files of the layer
 *
 * Layer: context.  No locks: a tree belongs to one thread at a time.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_LINEAR_LINEAR_H
#define SLI_CONTEXT_LINEAR_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "context/node-layout.h"

/* Frees buffers and block. */
void sli_context_linear_release (Node *node);
/* Extends an object in place if it was allocated last, or has a buffer of its
 * own, and still fits. */
bool sli_context_linear_extend (void *linear, char *object, size_t new_size,
                                const char *operation);
/* ralloc_linear_alloc_child() for other functions of the interface, which
 * messages name. */
void *sli_context_linear_alloc (void *linear, size_t size,
                                const char *operation);
/* Makes a text of `used' bytes `size' bytes large.  If it moves it gets more
 * room than that, and its own buffer is freed.  NULL: no memory. */
char *sli_context_linear_text (void *linear, char *text, size_t used,
                               size_t size, const char *operation);
size_t sli_context_linear_bytes (const Node *node);
size_t sli_context_linear_prefix_bytes (void);

#endif
