/* extension.h - what a node's extension has: functions, references, limits
 *
 * Layer: context.  No locks: a tree belongs to one thread at a time.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_RALLOC_EXTENSION_H
#define SLI_CONTEXT_RALLOC_EXTENSION_H

#include <stdbool.h>
#include <stddef.h>

#include "context/node-layout.h"

/* The node's extension; makes one if there is none.  NULL with errno
 * ENOMEM. */
Extension *sli_context_extend (void *payload);
/* Removes and frees the extension of a node. */
void sli_context_unextend (Node *node);
/* Takes the next function to run before a node is freed: first the program's,
 * then the library's.  NULL: there is none left. */
void (*sli_context_take_destructor (Extension *extension)) (void *);

/* --- references (ralloc-reference.c) ------------------------------------- */

void sli_reference_release (void *payload); /* ralloc-reference.c */
/* The references to a node, oldest first, as payloads of nodes.  NULL:
 * none. */
void *sli_reference_first (const Extension *extension);
void *sli_reference_next (const void *reference);
/* The node that a reference refers to, which has not been freed. */
void *sli_reference_target (const void *reference);

/* Returns true if a node is a reference. */
static inline bool
node_is_reference (const Node *node)
{
  return (node->parent & NODE_EXT) != 0
         && ((const Extension *) node->child)->kind == EXT_REFERENCE;
}

void sli_reference_target_moved (Extension *extension);
void sli_reference_target_freed (Extension *extension);

/* --- limits (ralloc-limit.c) --------------------------------------------- */

/* Add to and subtract from the limits at and above a context.  sli_limit_add()
 * fails with errno ENOMEM if one of them would be exceeded; sli_limit_force()
 * never fails. */
bool sli_limit_add (const void *ctx, size_t bytes);
void sli_limit_force (const void *ctx, size_t bytes);
void sli_limit_subtract (const void *ctx, size_t bytes);
bool sli_limit_allows (const void *ctx, size_t bytes);
bool sli_limit_allows_move (const void *new_ctx, void *ptr);
void sli_limit_drop (Extension *extension);
/* The bytes of all nodes below a node, with the trees that are being freed
 * there; or only of nodes that are on lists. */
size_t sli_limit_subtree_bytes (const void *top);
size_t sli_limit_listed_bytes (const void *top);
void sli_limit_set_flags (void *top, bool limited);
void sli_limit_set_listed_flags (void *top, bool limited);

#endif
