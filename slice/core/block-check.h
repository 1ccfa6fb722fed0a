/* block-check.h - the registry of live blocks (option debug-blocks)
 *
 * Floor 6 (alloc).  Every live block's address and size.  Lock: its own
 * (rank 10).  Theory: section 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CORE_BLOCK_CHECK_H
#define SLI_CORE_BLOCK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/lock.h"

#define BLOCK_CHECK_ANY_SIZE SIZE_MAX

/* A block came to life; false: no memory to remember it. */
bool sli_block_check_add (const void *block, size_t size);
/* It is freed; if it is not live or not of that size the program ends. */
void sli_block_check_remove (const void *block, size_t size,
                             const char *operation);
/* How many live. */
size_t sli_block_check_count (void);

/* For fork.c. */
Lock *sli_block_check_lock (void);

#endif
