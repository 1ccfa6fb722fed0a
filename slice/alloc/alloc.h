/* alloc.h - what the layer's files and the observers share
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

#include "port/thread/lock.h"

/* --- block-info.c --- */

/* The start and the size of a chunk's block; if the chunk is free, the largest
 * size that its block may have.  (ChunkInfo: slab.h) */
struct ChunkInfo;
void *sli_alloc_block_of (const struct ChunkInfo *chunk, size_t *bytes);

/* --- dispatch.c --- */

/* The layers that serve blocks; decided once, by the options. */
typedef enum
{
  PATH_MAGAZINES, /* all four layers */
  PATH_SLABS,     /* magazines bypassed */
  PATH_CHECKING,  /* all layers, in a checking mode */
  PATH_MALLOC     /* every block is a malloc of its own */
} AllocPath;

/* Returns true if the program has called the library. */
bool sli_alloc_is_ready (void);
AllocPath sli_alloc_path (void);
/* Counts the blocks that malloc serves because of their size or alignment;
 * none if every block is a malloc. */
void sli_alloc_count_large (uint64_t *n_allocs, uint64_t *n_frees);
/* The number of live blocks if every block is a malloc; else 0. */
uint64_t sli_alloc_count_live_mallocs (void);

/* --- trim.c --- */

/* Starts the helper thread; called again in a forked child. */
void sli_trim_thread_start (void);
/* Between the two calls, which nest, the helper changes nothing; for callers
 * that look at all structures.  The first call waits for the helper to
 * finish. */
void sli_trim_thread_suspend (void);
void sli_trim_thread_resume (void);

/* --- fork.c --- */

/* Registers the handlers, when the library is loaded. */
void sli_fork_load (void);
/* Registers the locks of a layer above: `each' calls `act' for all of them, in
 * the order in which they are taken.  Called once. */
typedef void (*ForkLocks) (void (*act) (Lock *lock));
void sli_fork_add_locks (ForkLocks each);
/* Called when the first call has initialised the layers, before other threads
 * see that.  If this thread forks, takes the locks that now exist. */
void sli_fork_hold_new_locks (void);

#endif
