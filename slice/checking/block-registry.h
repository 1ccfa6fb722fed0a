/* block-registry.h - the registry of live blocks: mallocs, and debug's sites
 *
 * Layer: checking.  In the checking modes, the address and size of every live
 * block that is malloc's; in debug of all, and who allocated and freed them.
 * Lock: its own
 * (rank 10).  Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CHECKING_BLOCK_REGISTRY_H
#define SLI_CHECKING_BLOCK_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "port/lock.h"

#define BLOCK_CHECK_ANY_SIZE SIZE_MAX

/* A block was allocated; false: no memory to register it.  site: the return
 * address of the call, for messages; NULL if unknown. */
bool sli_block_check_add_at (const void *block, size_t size,
                             const void *site);
/* It is freed; if it is not live or not of that size the program ends. */
void sli_block_check_remove_at (const void *block, size_t size,
                                const char *operation, const void *site);
/* Who allocated a block, and who freed it. */
BlockSites sli_block_check_sites (const void *block);
/* The size of a live block; SIZE_MAX if it is none. */
size_t sli_block_check_size (const void *block);
/* Is it registered, live or lately freed? */
bool sli_block_check_knows (const void *block);
/* Calls `visit' for each live block of the program's that was allocated in
 * this process, not in one that forked it, under the registry's lock. */
void sli_block_check_each (void (*visit) (const void *block, size_t size,
                                          const void *site, void *data),
                           void *data);
/* In a forked child: what lives now was its parent's. */
void sli_block_check_fork_child (void);
/* How many live. */
size_t sli_block_check_count (void);

/* For fork.c. */
Lock *sli_block_check_lock (void);

#endif
