/* owned.h - nodes that the library itself uses
 *
 * Layer: context.  For arenas that live in a context's tree: the node is the
 * arena's control block.  It can't be resized, and has an end function beside
 * the destructor that the program may set.
 * Design: section 8.7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_OWNED_H
#define SLI_CONTEXT_OWNED_H

#include <stdbool.h>
#include <stddef.h>

#include <slice/ralloc.h>

#include "port/compiler.h"

typedef enum
{
  OWNED_LINEAR,
  OWNED_STACK,
  OWNED_POOL,
  OWNED_TLSF,
  N_OWNED
} OwnedKind;

/* Makes a node one of that kind.  `end' is the same in each call for a kind.
 * It is called once, when the node is freed, after the descendants are freed
 * and the program's destructor has run.  False with errno ENOMEM: the node is
 * unchanged. */
bool sli_context_own (void *payload, OwnedKind kind, void (*end) (void *));

/* Frees such a node as ralloc_free() does; `operation' is the function that the
 * user called.  If a context holds a reference to the node, the node stays, and
 * that context is returned; else NULL. */
void *sli_context_end (void *payload, const char *operation);

/* The slow path of context_alloc(). */
void *sli_context_alloc_named (const void *ctx, size_t size,
                               const char *operation);

/* ralloc_size() for another function of the interface: `operation' is its
 * name, for messages. */
static ALWAYS_INLINE void *
context_alloc (const void *ctx, size_t size, const char *operation)
{
  void *payload = ralloc_take_v1 (ctx, size);

  return LIKELY (payload != NULL)
             ? payload
             : sli_context_alloc_named (ctx, size, operation);
}

#endif
