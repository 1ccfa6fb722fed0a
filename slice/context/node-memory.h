/* node-memory.h - nodes' sizes and blocks
 *
 * Layer: context.  No locks: a tree belongs to one thread at a time.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_NODE_MEMORY_H
#define SLI_CONTEXT_NODE_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mode.h"
#include "node-layout.h"
#include "base/align.h"
#include "port/compiler.h"

/* --- any node (ralloc.c, ralloc-resize.c) -------------------------------- */

/* a * b; false with errno ENOMEM if it does not fit. */
static inline bool
node_product (size_t a, size_t b, size_t *bytes)
{
  if (LIKELY (!__builtin_mul_overflow (a, b, bytes)))
    return true;
  errno = ENOMEM;
  return false;
}

/* The block size of a plain node with a small payload: the full size of a
 * class, so that its size also tells its class and its usable bytes. */
static inline size_t
node_total (size_t size)
{
  size_t total = align_up (size + sizeof (Node), NODE_ALIGN);

  if (UNLIKELY (total > 512))
    total = total <= 1040 ? 528 + ((total - 528 + 31) & ~(size_t) 31)
                          : 1040 + ((total - 1040 + 127) & ~(size_t) 127);
  return total;
}

/* The largest block that is certainly in a slab.  If canaries and red zones
 * take bytes of a chunk, the blocks of the last class are mallocs. */
static inline size_t
slab_block_max (void)
{
  return UNLIKELY ((sli_context_mode & MODE_BULK) != 0)
             ? SLICE_SIZE_MAX - LAST_STEP_BYTES
             : SLICE_SIZE_MAX;
}

/* A larger size overflows with a header, or is more than an object may
 * have. */
#define SIZE_LIMIT ((size_t) PTRDIFF_MAX - 4096)

/* Allocates a node of any size in any mode, not linked; sets parent (flags
 * only) and child.  NULL with errno ENOMEM. */
void *sli_context_new (size_t size, bool zero);
/* The same for a payload that is aligned to more than 16, a power of two. */
void *sli_context_new_aligned (size_t size, size_t align);
/* Frees the block of a node whose extension is freed already. */
void sli_context_release (void *payload);
/* The slow path of allocation: roots, large nodes, modes, limits. */
void *sli_context_alloc_slow (const void *ctx, size_t size, bool zero,
                              const char *operation);
/* The same for a payload that is aligned to more than 16, below a context that
 * has been checked. */
void *sli_context_alloc_aligned (void *parent, size_t size, size_t align,
                                 const char *operation);
/* rzalloc_size(), reralloc_size() and rerzalloc_size() for other functions of
 * the interface, which messages name. */
void *sli_context_zalloc (const void *ctx, size_t size,
                          const char *operation);
void *sli_context_realloc (const void *ctx, void *ptr, size_t size,
                           const char *operation);
void *sli_context_rezalloc (const void *ctx, void *ptr, size_t old_size,
                            size_t new_size, const char *operation);

/* Resizes ptr to `size' bytes, or to `wanted' if it has to move.  NULL: no
 * memory, or the node is being destroyed. */
void *sli_context_resize (void *ptr, size_t size, size_t wanted,
                          const char *operation);

/* --- large nodes (large.c) ----------------------------------------------- */

void *sli_large_alloc (size_t bytes, bool zero);
void *sli_large_realloc (void *block, size_t old_bytes, size_t bytes);
void sli_large_free (void *block);
/* Notes where a node in such a block begins; false with errno ENOMEM. */
bool sli_large_note (const void *payload);

/* --- nodes with a larger alignment (aligned.c) --------------------------- */

/* Frees the block of a node whose parent word is NODE_DEAD already. */
void sli_aligned_free (void *payload);
/* Where the block begins, if there is such a node. */
const char *sli_aligned_block (const Node *node);
/* The bytes of the payload with the slack, if that is marked. */
size_t sli_aligned_usable_bytes (const Node *node);
/* The address by which the registry of live blocks knows the node. */
const void *sli_aligned_registered (const void *payload);

/* --- the end of a payload in MODE_SLACK (slack.c) ------------------------ */

enum
{
  SLACK_BYTES_MAX = 128,
  SLACK_LARGE_FROM = 2000, /* a payload that may be a block of malloc's */
  SLACK_LARGE_BYTES = 16   /* at least, behind such a one */
};

/* Marks the bytes behind `size': at least 1, at most SLACK_BYTES_MAX. */
void sli_slack_write (void *payload, size_t size);
/* The number of these bytes; ends the program if they were written to. */
size_t sli_slack_check (const void *payload, const char *operation);

/* The bytes of a block that a payload needs.  Behind a chunk's block there is a
 * canary or a red zone as well, so one byte is enough there. */
static inline size_t
slack_add (size_t size)
{
  if (LIKELY ((sli_context_mode & MODE_SLACK) == 0))
    return size;
  return size + (size < SLACK_LARGE_FROM ? 1 : SLACK_LARGE_BYTES);
}

/* --- nodes in MODE_TRAILING_HEADER (trailing-header.c) ------------------- */

void *sli_trailing_new (size_t size, size_t align, bool zero);
void sli_trailing_free (void *payload);
size_t sli_trailing_payload_bytes (const void *payload);

#endif
