/* alloc.h - what the entries share with trim.c, fork.c and the observers
 *
 * Layer: alloc.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ALLOC_ALLOC_H
#define SLI_ALLOC_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/lock.h"

/* --- batch.c --- */

/* Where the block of a chunk begins, and its size; of one that is free, what
 * its block may have.  (ChunkInfo, slab.h) */
struct ChunkInfo;
void *sli_alloc_block_of (const struct ChunkInfo *chunk, size_t *bytes);

/* --- dispatch.c --- */

/* What serves blocks; decided once, from the options. */
typedef enum
{
  PATH_MAGAZINES, /* all four layers */
  PATH_SLABS,     /* magazines bypassed */
  PATH_CHECKING,  /* all layers, in a checking mode */
  PATH_MALLOC     /* every block is a malloc of its own */
} AllocPath;

/* Has the program called the library? */
bool sli_alloc_is_ready (void);
AllocPath sli_alloc_path (void);
/* Blocks handed to malloc and back, because of their size or alignment; none
 * where each block is a malloc. */
void sli_alloc_count_large (uint64_t *n_allocs, uint64_t *n_frees);
/* Live blocks where each is a malloc; else 0. */
uint64_t sli_alloc_count_live_mallocs (void);

/* Any size, any block, no memory: what the short paths leave.  site: where the
 * call came from. */
void *sli_alloc_any (size_t size, bool may_fail, const void *site);
void sli_free_any (size_t size, void *block, const void *site);

/* --- trim.c --- */

/* Starts the helper thread; again in a forked child. */
void sli_trim_thread_start (void);

/* --- fork.c --- */

/* Registers the handlers; when the library is loaded. */
void sli_fork_load (void);
/* Names the locks of a layer above: `each' does something to all of them, in
 * the order in which they are taken.  Once. */
typedef void (*ForkLocks) (void (*act) (Lock *lock));
void sli_fork_add_locks (ForkLocks each);
/* The first call was made, and is not yet known to others. */
void sli_fork_follow (void);

#endif
