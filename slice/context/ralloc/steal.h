/* steal.h - nodes move to another parent
 *
 * Layer: context.  No locks: both trees belong to the caller.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_RALLOC_STEAL_H
#define SLI_CONTEXT_RALLOC_STEAL_H

#include "context/node-layout.h"

/* Gives a node another parent; the caller has checked everything. */
void sli_context_steal (void *new_ctx, Node *node, void *ptr,
                        const char *operation);
/* ralloc_steal() for another function of the interface, which messages
 * name. */
void sli_context_steal_any (const void *new_ctx, void *ptr,
                            const char *operation);
/* The same as sli_context_steal() for all nodes of a list, which begins at the
 * word `from'; neither the list is empty nor the parent NULL. */
void sli_context_adopt_list (void *new_ctx, void **from,
                             const char *operation);

#endif
