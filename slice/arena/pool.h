/* pool.h - inside a pool
 *
 * Layer: arena: shared by pool.c and pool-track.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_POOL_H
#define SLI_ARENA_POOL_H

#include "bump.h"

/* What a tracked pool knows of a block in use or spare. */
typedef struct
{
  char *start; /* of the first chunk */
  uint32_t n_chunks;
  uint32_t n_cut;         /* the first so many have been handed out */
  uint32_t n_constructed; /* the first so many are constructed */
  bool is_blind;          /* there was no memory for the bits: what is freed
                             twice is not found */
  uint64_t *live;         /* a bit for each chunk; NULL: none was freed yet,
                             the first n_cut are live (a pool that is told
                             of has them from the start) */
} Track;

/* A chunk, of a plain pool and of a tracked one:
 *
 *   +------+------+----- ... -+       +----------- ... --+------+-----+
 *   |      | sign |           |       | object           | next | gap |
 *   +------+------+----- ... -+       +----------- ... --+------+-----+
 *    (while it is free)                link_offset -------^
 *
 * A plain pool's free chunks are on the stack of addresses in head; those that
 * it had no memory for are linked through their first word, from `spilt`.
 *
 * The link of a tracked pool's chunk lies behind the object, so that free
 * objects stay constructed, filled or hidden; but for objects of 8 bytes that
 * are merely too small for a sign it lies in them. */
struct SlicePool
{
  SlicePoolV1 head; /* first: the inline code's */
  ArenaKind kind;
  uint32_t control_bytes; /* with the embedded block */
  void (*end) (void *);
  void **spilt;             /* plain: free chunks that the stack has no
                               room for */
  SlicePoolOptions options; /* with alignment filled in */
  size_t chunk_bytes;
  size_t link_offset;
  char *cut_at; /* the next chunk to be cut, of the block in use
                   last; NULL: none in use */
  char *cut_end;
  ptrdiff_t bias; /* head.n_live is so much too high: 1 while no more
                     than a block is in use, so that the last free
                     need not be noticed */
  bool is_tracked;
  bool is_traced; /* of its objects hooks are told: it is tracked, too */
  bool is_filled; /* free objects are filled and looked at */
  /* tracked only */
  size_t n_live; /* head.n_live is always 1 */
  void *free;    /* the first free chunk */
  Track *tracks; /* by address */
  uint32_t n_tracks;
  uint32_t n_tracks_room;
  BlockChain chain;
};

/* Ends the program unless it is a pool. */
void sli_pool_require (const SlicePool *pool);

/* Ends the program: an address that is none of this pool's, or none of a
 * chunk's start. */
_Noreturn void sli_pool_report_foreign (const SlicePool *pool,
                                        const void *object);
_Noreturn void sli_pool_report_interior (const SlicePool *pool,
                                         const void *object, size_t offset);

/* Puts a block into use, for at least a chunk. */
bool sli_pool_push_block (SlicePool *pool);

/* All blocks are spare, the embedded one is in use; nothing is live. */
void sli_pool_start_over (SlicePool *pool);

void *sli_pool_track_alloc (SlicePool *pool);
void sli_pool_track_free (SlicePool *pool, void *object);

/* Notes the block in use last, if it is new; false with errno ENOMEM. */
bool sli_pool_track_block (SlicePool *pool, Block block);
/* A block is about to go. */
void sli_pool_track_block_gone (SlicePool *pool, Block block);
/* Nothing is live any more. */
void sli_pool_track_start_over (SlicePool *pool);
void sli_pool_track_fini (SlicePool *pool);
/* Tells hooks that all live objects die. */
void sli_pool_track_tell_end (const SlicePool *pool);
/* Chunks in the blocks that it knows. */
size_t sli_pool_track_n_chunks (const SlicePool *pool);
size_t sli_pool_track_bytes (const SlicePool *pool);

#endif
