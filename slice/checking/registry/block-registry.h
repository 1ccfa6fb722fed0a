/* block-registry.h - the registry of live blocks: mallocs, and debug's sites
 *
 * Layer: checking.  In the checking modes it has the address and size of every
 * live block of malloc's; in debug, of all blocks, and where they were
 * allocated and freed.  Lock: its own (rank 10).  Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CHECKING_REGISTRY_BLOCK_REGISTRY_H
#define SLI_CHECKING_REGISTRY_BLOCK_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "port/thread/lock.h"

#define BLOCK_ANY_SIZE 0 /* no block has it */

/* Registers a block that was allocated; false: no memory.  site: the return
 * address of the call, for messages; NULL if unknown. */
bool sli_block_registry_add (const void *block, size_t size,
                             const void *site);
/* Notes the alignment, a power of two, that a live block was requested with;
 * and returns it, 0 if none was noted. */
void sli_block_registry_note_alignment (const void *block, size_t alignment);
size_t sli_block_registry_alignment (const void *block);
/* Notes that what was added is a node of a context: it is a block, or inside
 * of a block of malloc that nothing else registers.  The latter is no block for
 * the functions below that take one.  sli_block_registry_forget_node() removes
 * either, if it is there; sli_block_registry_remove() removes neither. */
void sli_block_registry_note_node (const void *node, bool is_inside);
void sli_block_registry_forget_node (const void *node, const void *site);
/* Notes how many bytes at its end are not the payload's, for messages. */
void sli_block_registry_note_slack (const void *block, uint8_t bytes);

typedef enum
{
  BLOCK_NODE_NONE,     /* no node has the address */
  BLOCK_NODE_LIVE,     /* a live node begins there */
  BLOCK_NODE_FREED,    /* a node that began there was freed last */
  BLOCK_NODE_INTERIOR  /* it is inside a live node */
} BlockNodeState;

/* What the registry knows of an address as a node's.  For one that is inside a
 * node, *start and *bytes are that node's.  Cost: O(1) where a node begins,
 * else O(blocks). */
BlockNodeState sli_block_registry_node_at (const void *address,
                                           void **start, size_t *bytes);
/* Registers that a block is freed; ends the program if it is not live or not
 * of that size. */
void sli_block_registry_remove (const void *block, size_t size,
                                const char *operation, const void *site);
/* Gives back what the registry does not need for its live blocks; it may
 * forget who freed the others. */
void sli_block_registry_trim (void);
/* The calls that allocated and freed a block. */
BlockSites sli_block_registry_sites (const void *block);
/* The size of a live block; SIZE_MAX if it is none. */
size_t sli_block_registry_size (const void *block);
/* Gets the size that a block was allocated with, and its sites.  False: it is
 * neither live nor recently freed. */
bool sli_block_registry_find (const void *block, BlockFacts *facts);
/* Returns true if a block is registered, live or recently freed. */
bool sli_block_registry_knows (const void *block);
/* Calls `visit' for each live block and node of the program that this process,
 * not an ancestor, has allocated.  Under the registry's lock. */
typedef struct
{
  const void *address;
  size_t size;
  CodePlace site;   /* that allocated it; address NULL: unknown */
  bool is_inside;   /* a node inside of a block of malloc */
} RegisteredBlock;

typedef void (*BlockVisit) (const RegisteredBlock *block, void *data);

void sli_block_registry_each (BlockVisit visit, void *data);
/* In a forked child: marks the live blocks as the parent's. */
void sli_block_registry_fork_child (void);
/* The number of live blocks. */
size_t sli_block_registry_count (void);

/* For fork.c. */
Lock *sli_block_registry_lock (void);

#endif
