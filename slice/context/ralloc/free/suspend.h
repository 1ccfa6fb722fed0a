/* suspend.h - walks that are suspended in user code
 *
 * Layer: context.  Each thread has a list of its own walks.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_RALLOC_FREE_SUSPEND_H
#define SLI_CONTEXT_RALLOC_FREE_SUSPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "context/mode.h"
#include "context/node-layout.h"
#include "port/compiler.h"

/* Counts a walk that is suspended in user code, until it is resumed. */
static inline void
context_count_suspended (bool suspended)
{
  __atomic_fetch_add (&sli_context_unusual,
                      suspended ? MODE_END : -(uint32_t) MODE_END,
                      __ATOMIC_RELAXED);
}

/* Returns true if a walk of any thread is suspended in user code.  A call
 * looks for those of its own thread only then. */
static inline bool
context_has_suspended (void)
{
  return UNLIKELY (LOAD (&sli_context_unusual) >= MODE_END);
}

/* Called when user code has resized a node, which moved. */
void sli_context_walks_moved (void *old, void *payload);
/* Called when user code has given nodes another parent. */
void sli_context_walks_stolen (void);
/* Called when user code gives a node a holder, a refusing destructor or
 * another parent, which may be NULL.  Walks then forget what this may
 * change. */
void sli_context_walks_touched (const void *payload, const void *to);
/* Called when a record is freed that a waiting search may have met. */
void sli_context_searches_leave (const Extension *extension);
/* Called when a node that was to stay among freed siblings has left. */
void sli_context_walks_left (Extension *extension);
/* Subtracts what suspended walks have freed from the limits above: before a
 * limit is read or changed. */
void sli_context_walks_settle (void);
/* The bytes of the dying trees below a node; sets NODE_LIMITED in their
 * nodes. */
size_t sli_context_walks_bytes (const void *top);
void sli_context_walks_set_flags (const void *top);

#endif
