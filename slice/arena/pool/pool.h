/* pool.h - inside a pool
 *
 * Layer: arena: shared by pool.c and pool-track.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_POOL_POOL_H
#define SLI_ARENA_POOL_POOL_H

#include "arena/bump.h"

/* What a tracked pool knows of a block, in use or spare. */
typedef struct
{
  char *start; /* of the first chunk */
  uint32_t n_chunks;
  uint32_t n_cut;         /* so many, from the first on, were handed out */
  uint32_t n_constructed; /* so many, from the first on, are constructed */
  bool is_blind;          /* there was no memory for the bits: a second free
                             is not detected */
  uint64_t *live;         /* a bit for each chunk; NULL: none was freed yet,
                             the first n_cut are live (a traced pool has the
                             bits from the start) */
} Track;

/* A chunk, of a plain pool and of a tracked one:
 *
 *   +------+------+----- ... -+       +----------- ... --+------+-----+
 *   |      | sign |           |       | object           | next | gap |
 *   +------+------+----- ... -+       +----------- ... --+------+-----+
 *    (while it is free)                link_offset -------^
 *
 * The free chunks of a plain pool are on the stack of addresses in head.  If
 * there is no memory for a larger stack, further ones are linked through their
 * first word, from `spilt'.
 *
 * In a tracked pool the link lies behind the object, so that free objects stay
 * constructed, filled or hidden.  It lies in the object if the pool is tracked
 * only because its objects, of 8 bytes, are too small for a sign. */
struct SlicePool
{
  SlicePoolV1 head; /* first: the inline code reads it */
  ArenaKind kind;
  uint32_t control_bytes; /* with the embedded block */
  void (*end) (void *);
  void **spilt;             /* plain: list of free chunks that the stack has
                               no room for */
  SlicePoolOptions options; /* with alignment filled in */
  size_t chunk_bytes;
  size_t link_offset;
  char *cut_at; /* the next chunk to be cut, of the last block in use;
                   NULL: no block is in use */
  char *cut_end;
  ptrdiff_t bias; /* head.n_live is so much too high: 1 while at most one
                     block is in use, so that the last free does not take
                     the slow path */
  bool is_tracked;
  bool is_traced; /* hooks hear of its objects; it is tracked, too */
  bool is_filled; /* free objects are filled, and checked when reused */
  /* tracked only */
  size_t n_live; /* head.n_live is always 1 */
  void *free;    /* the first free chunk */
  Track *tracks; /* by address */
  uint32_t n_tracks;
  uint32_t n_tracks_room;
  BlockChain chain;
};

/* Reports misuse of a handle that is no pool. */
void sli_pool_require (const SlicePool *pool);

/* Report an address that lies in no chunk of this pool, and one inside a
 * chunk. */
_Noreturn void sli_pool_report_foreign (const SlicePool *pool,
                                        const void *object);
_Noreturn void sli_pool_report_interior (const SlicePool *pool,
                                         const void *object, size_t offset);

/* Puts a block into use that has room for at least one chunk. */
bool sli_pool_push_block (SlicePool *pool);

/* Makes all blocks spare but the embedded one; nothing is live. */
void sli_pool_start_over (SlicePool *pool);

void *sli_pool_track_alloc (SlicePool *pool);
void sli_pool_track_free (SlicePool *pool, void *object);

/* Makes a track for a block that has none yet; false with errno ENOMEM. */
bool sli_pool_track_block (SlicePool *pool, Block block);
/* A block is about to be returned. */
void sli_pool_track_block_gone (SlicePool *pool, Block block);
/* Nothing is live any more. */
void sli_pool_track_start_over (SlicePool *pool);
void sli_pool_track_fini (SlicePool *pool);
/* Tells the hooks that all live objects end. */
void sli_pool_track_report_end (const SlicePool *pool);
/* Chunks in all tracked blocks. */
size_t sli_pool_track_n_chunks (const SlicePool *pool);
size_t sli_pool_track_bytes (const SlicePool *pool);

#endif
