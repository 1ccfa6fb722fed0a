/* debug.h - what debug keeps of trees: the roots, and who works on them
 *
 * Layer: context.  Roots and threads have a lock each.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_RALLOC_DEBUG_DEBUG_H
#define SLI_CONTEXT_RALLOC_DEBUG_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "context/mode.h"
#include "port/compiler.h"

/* --- roots (ralloc-report.c) --------------------------------------------- */

/* The list of roots, only in MODE_ROOTS. */
void sli_roots_add (void *payload);
void sli_roots_remove (void *payload);

/* Prints each root; `full': with all nodes below. */
void sli_roots_print (FILE *f, bool full);

/* --- threads (ralloc-threads.c) ------------------------------------------ */

/* In MODE_DEBUG, notes that this thread works on a node's children until it
 * leaves with the word that this returns.  Ends the program if another thread
 * does.  No effect in other modes, for NULL, and in an inner call of the
 * thread that is at work there already. */
uintptr_t sli_context_enter (const void *payload, const char *operation);
void sli_context_leave (const void *payload, uintptr_t word);

CONTEXT_TEXT static inline uintptr_t
context_enter (const void *payload, const char *operation)
{
  return UNLIKELY ((sli_context_mode & MODE_DEBUG) != 0) && payload != NULL
             ? sli_context_enter (payload, operation)
             : 0;
}

CONTEXT_TEXT static inline void
context_leave (const void *payload, uintptr_t word)
{
  if (UNLIKELY (word != 0))
    sli_context_leave (payload, word);
}

/* Called when a node is freed or moves. */
void sli_context_forget (const void *payload);

#endif
