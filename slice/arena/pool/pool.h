/* pool.h - inside a pool
 *
 * Layer: arena: shared by the files of this folder.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_POOL_POOL_H
#define SLI_ARENA_POOL_POOL_H

#include "arena/bump/bump.h"
#include "arena/locked.h"

enum
{
  POOL_PAGE_BYTES = 4096 /* of the map from addresses to blocks */
};

/* The record of a block of a tracked pool, in use or spare. */
typedef struct
{
  char *start; /* of the first chunk */
  uint32_t n_chunks;
  uint32_t n_cut;         /* the number of chunks, from the first on, that were
                             allocated */
  uint32_t n_constructed; /* the number of chunks, from the first on, that are
                             constructed */
  bool is_blind;          /* there was no memory for the bits, so a second free
                             is not detected */
  bool is_recent;         /* plain: it got its bits in the last trim */
  bool is_retired;        /* its block was just put out of use */
  uint64_t *live;         /* a bit for each chunk, set while it is live; in a
                             plain pool, set while it is free and not on the
                             stack.  NULL: there are no bits yet.  A tracked
                             pool makes them at the first free in the block,
                             and until then the first n_cut are live; a traced
                             pool makes them at once */
  uint32_t n_unset;       /* plain: chunks whose bits are not set.  A plain
                             pool does not keep n_cut and n_constructed */
  size_t n_bits;          /* plain: n_chunks, or 0 before it has its bits */
} Track;

/* The map from pages to tracks, a hash table.  Neighbouring pages have
 * neighbouring slots.  When the tracks have changed, the pool searches without
 * the map until there were so many searches that a new map costs less. */
typedef struct
{
  Track *const *slots; /* a page's track; a free slot has one without
                          chunks */
  size_t mask;         /* their number - 1; it is a power of two */
  void *memory;        /* of the slots */
  size_t bytes;
  size_t n_missed;     /* searches since the tracks changed */
  uint32_t last_found; /* the index of the track that a search found, at that
                          time */
  bool is_old;         /* the tracks have changed */
} PoolMap;

/* A chunk of a tracked pool:
 *
 *   +----------- ... --+------+-----+
 *   | object           | next | gap |
 *   +----------- ... --+------+-----+
 *    link_offset -------^
 *
 * The link follows the object, so that free objects stay constructed, filled
 * or hidden.  It is in the object if the pool is only traced.
 *
 * A chunk of a plain pool is the object.  Free objects are on the stack of
 * addresses in `head', or their bits are set.  If there is no memory for
 * either, they are linked through their first word, from `spilt'. */
struct SlicePool
{
  SlicePoolV1 head; /* first: the inline code reads it */
  ArenaKind kind;
  uint32_t control_bytes; /* with the embedded block */
  void (*end) (void *);
  const void *handle;       /* for messages: what the program calls the pool */
  void **spilt;             /* plain: list of free chunks */
  size_t stack_capacity;    /* plain: addresses that the stack can hold */
  size_t n_spilt;           /* plain: free chunks in that list and in bits */
  unsigned n_to_spill;      /* plain: chunks that go to that list without an
                               attempt to get memory for stack or bits */
  unsigned n_to_spill_next; /* plain: n_to_spill after the next attempt that
                               fails; 2^n - 1 */
  size_t n_cut;             /* plain: chunks cut since the pool started over,
                               live, on the stack or spilt */
  SlicePoolOptions options; /* with alignment filled in */
  size_t chunk_bytes;
  size_t link_offset;
  char *cut_at; /* the next chunk to be cut, of the last block in use;
                   NULL: no block is in use */
  char *cut_end;
  bool is_tracked;
  bool has_tracks;   /* tracked, or has moved free chunks to bits */
  bool keeps_blocks; /* a reserve needs them */
  bool is_traced; /* hooks are called for its objects; also tracked */
  bool is_filled; /* free objects are filled, and checked when reused */
  size_t n_live;     /* tracked */
  void *free;        /* tracked: the first free chunk */
  Track *tracks;     /* by address */
  uint32_t n_tracks;
  uint32_t tracks_capacity;
  uint32_t first_free; /* plain: no track before it has a bit set */
  uint32_t n_empty;    /* plain: blocks whose bits were all set at some time
                          since such blocks were last retired */
  size_t chunk_inverse; /* plain, with tracks: see sli_pool_index() */
  unsigned chunk_shift;
  PoolMap map;
  BlockChain chain;
};

/* The handle of a pool with SLICE_ARENA_LOCKED.  It starts as SlicePool does;
 * its stack is empty and has no memory. */
typedef struct
{
  SlicePoolV1 head;
  ArenaKind kind;
  SlicePool *pool;
  void (*end) (void *);
  ArenaLock lock;
} LockedPool;

/* Reports misuse by `operation' of a handle that is no pool. */
void sli_pool_require (const SlicePool *pool, const char *operation);

/* Report an address that is in no chunk of this pool, and one inside a
 * chunk. */
_Noreturn void sli_pool_report_foreign (const SlicePool *pool,
                                        const void *object);
_Noreturn void sli_pool_report_interior (const SlicePool *pool,
                                         const void *object, size_t offset);

/* Reports a free object that is freed again. */
_Noreturn void sli_pool_report_twice (const SlicePool *pool,
                                      const void *object);

/* Puts a block into use that can hold at least one chunk. */
bool sli_pool_push_block (SlicePool *pool);

/* Makes all blocks except the embedded one spare; no object is live. */
void sli_pool_start_over (SlicePool *pool);

/* --- pool-locked.c -------------------------------------------------------- */

/* The bytes of a shell. */
#define LOCKED_POOL_BYTES align_up (sizeof (LockedPool), 16)

static inline bool
sli_pool_is_locked (const SlicePool *shown)
{
  return shown->kind == ARENA_POOL_LOCKED;
}

/* Find the pool of a handle and take its lock, if it has one; release the
 * lock.  Both report misuse. */
SlicePool *sli_pool_acquire (const SlicePool *shown, const char *operation);
void sli_pool_release (const SlicePool *shown);

/* Makes a shell in front of a pool that was made in the same memory. */
SlicePool *sli_pool_locked_setup (void *memory, SlicePool *pool,
                                  void (*end) (void *));
/* Ends the shell and returns the pool. */
SlicePool *sli_pool_locked_fini (SlicePool *shown);
void *sli_pool_locked_alloc (SlicePool *shown);
void sli_pool_locked_free (SlicePool *shown, void *object);

/* --- pool-plain.c -------------------------------------------------------- */

static inline void **
sli_pool_top (const SlicePool *pool)
{
  return (void **) pool->head.top;
}

static inline void **
sli_pool_bottom (const SlicePool *pool)
{
  return (void **) pool->head.bottom;
}

/* The number of addresses on the stack. */
static inline size_t
sli_pool_n_stacked (const SlicePool *pool)
{
  return (size_t) (pool->head.top - pool->head.bottom) / sizeof (void *);
}

/* An attempt to get memory for the stack or the bits may be a system call, and
 * there are many frees.  So after an attempt that fails the pool spills some
 * chunks without another attempt, after each failure about twice as many, up to
 * this number. */
enum { POOL_SPILL_MOST = 4095 };

static inline bool
sli_pool_may_try (SlicePool *pool)
{
  if (pool->n_to_spill == 0)
    return true;
  pool->n_to_spill--;
  return false;
}

/* Returns false. */
static inline bool
sli_pool_try_failed (SlicePool *pool)
{
  pool->n_to_spill = pool->n_to_spill_next;
  if (pool->n_to_spill_next < POOL_SPILL_MOST)
    pool->n_to_spill_next = 2 * pool->n_to_spill_next + 1;
  return false;
}

/* Two neighbours on a stack of addresses, which are written at once. */
typedef uintptr_t AddressPair
    __attribute__ ((vector_size (2 * sizeof (uintptr_t)),
                    aligned (sizeof (uintptr_t)), may_alias));

/* Writes n addresses, each `chunk' bytes below the one before. */
static inline void
sli_pool_write_down (void **addresses, char *highest, size_t chunk, size_t n)
{
  uintptr_t at = (uintptr_t) highest;
  AddressPair pair = { at, at - chunk };
  AddressPair step = { 2 * chunk, 2 * chunk };
  AddressPair *pairs = (AddressPair *) (void *) addresses;

  for (; n >= 16; n -= 16, pairs += 8)
    {
      pairs[0] = pair;
      pairs[1] = pair -= step;
      pairs[2] = pair -= step;
      pairs[3] = pair -= step;
      pairs[4] = pair -= step;
      pairs[5] = pair -= step;
      pairs[6] = pair -= step;
      pairs[7] = pair -= step;
      pair -= step;
    }
  at = pair[0];
  for (void **next = (void **) (void *) pairs; n > 0; n--, at -= chunk)
    *next++ = (void *) at;
}

/* Returns true if a pool has only its embedded block, some of it not cut, and
 * nothing is free: most small pools never have more. */
static inline bool
sli_pool_only_cuts (const SlicePool *pool)
{
  return pool->stack_capacity == 0 && pool->chain.n_used == 0
         && pool->cut_at != pool->cut_end && pool->spilt == NULL
         && !pool->has_tracks;
}

/* Allocates an object of such a pool. */
static inline void *
sli_pool_cut_one (SlicePool *pool)
{
  char *object = pool->cut_at;

  pool->cut_at = object + pool->chunk_bytes;
  pool->n_cut++;
  assert_here (pool->head.limit == pool->head.bottom);
  return object;
}

/* Sets an empty stack without memory. */
void sli_pool_no_stack (SlicePoolV1 *head);
void sli_pool_plain_init (SlicePool *pool);
/* Frees the stack, which is empty. */
void sli_pool_plain_fini (SlicePool *pool);
/* Nothing is live any more. */
void sli_pool_plain_start_over (SlicePool *pool);
void *sli_pool_plain_alloc (SlicePool *pool);
void sli_pool_plain_free (SlicePool *pool, void *object);
/* Allocates the stack now, if one of the next n allocations would; false: no
 * memory. */
bool sli_pool_plain_reserve (SlicePool *pool, size_t n);
/* Moves all free objects to the bits, and so finds all empty blocks. */
void sli_pool_plain_trim (SlicePool *pool);
/* Undoes a trim for the blocks that got their bits in it: moves their free
 * objects back to the stack, and frees the bits. */
void sli_pool_plain_untrim (SlicePool *pool);
size_t sli_pool_plain_n_live (const SlicePool *pool);
/* The size of the stack. */
size_t sli_pool_plain_bytes (const SlicePool *pool);

/* --- pool-bits.c --------------------------------------------------------- */

enum
{
  /* The most bytes of empty blocks that wait for the next objects. */
  POOL_SPARE_BYTES_MAX = MIB (1),
  WORD_BITS = 64 /* of a track's bitmap */
};

/* Puts a free object on the list of those for which there was no memory on the
 * stack or in bits.  The caller counts it. */
static inline void
sli_pool_spill (SlicePool *pool, void *object)
{
  void **words = object;

  words[0] = pool->spilt;
  pool->spilt = words;
}

/* Makes tracks for all blocks in use, if there are none; false: no memory. */
bool sli_pool_bits_make (SlicePool *pool);
/* If all chunks of the current block that were cut are free, counts the others
 * as free, too.  Then the caller must retire the block. */
void sli_pool_bits_cut_rest (SlicePool *pool);
/* Retires all blocks whose chunks are all free. */
void sli_pool_bits_retire (SlicePool *pool);
/* Moves the n oldest addresses from the stack to the bits. */
void sli_pool_bits_flush (SlicePool *pool, size_t n);
/* Moves addresses from the bits to the stack, which is empty. */
void sli_pool_bits_refill (SlicePool *pool);
/* Clears the bits of n free chunks of a plain pool's track, the highest first,
 * and stores their addresses. */
void sli_pool_bits_take (const SlicePool *pool, Track *track, size_t n,
                         void **addresses);

/* --- pool-track.c -------------------------------------------------------- */

/* The number of tracks that start at or below the address. */
static inline uint32_t
sli_pool_track_rank (const SlicePool *pool, const void *address)
{
  const Track *base = pool->tracks;
  size_t n = pool->n_tracks;

  if (n == 0 || (uintptr_t) base->start > (uintptr_t) address)
    return 0;
  /* No branch depends on the address, since no processor could predict it. */
  while (n > 1)
    {
      size_t half = n / 2;
      bool is_above = (uintptr_t) base[half].start <= (uintptr_t) address;

      base = is_above ? base + half : base;
      n -= half;
    }
  return (uint32_t) (base - pool->tracks) + 1;
}

static inline bool
sli_track_has (const SlicePool *pool, const Track *track, const void *address)
{
  return (uintptr_t) address - (uintptr_t) track->start
         < track->n_chunks * pool->chunk_bytes;
}

/* The number of the chunk at an offset, without a division, which would take
 * longer than all other work on the address.  The size of a chunk is an odd
 * number times a power of two.  To divide by the odd number, multiply by its
 * inverse modulo the word; to divide by the power of two, rotate.  The result
 * is below n for the first n multiples of the size and for no other offset, so
 * it also shows whether a chunk starts there. */
static inline size_t
sli_pool_index (size_t offset, size_t inverse, unsigned shift)
{
  size_t product = offset * inverse;
  unsigned bits = 8 * sizeof (size_t);

  return product >> shift | product << (-shift & (bits - 1));
}

/* The track of the block that has an address; NULL: none. */
static inline Track *
sli_pool_track_of (const SlicePool *pool, const void *address)
{
  uint32_t rank = sli_pool_track_rank (pool, address);
  Track *track;

  if (rank == 0)
    return NULL;
  track = &pool->tracks[rank - 1];
  return sli_track_has (pool, track, address) ? track : NULL;
}

/* --- pool-map.c: the tracks of many addresses in random order ------------ */

/* The track in the first slot of an address.  It may be another block's, so
 * the caller checks it with sli_track_has(). */
static inline Track *
sli_pool_map_lead (Track *const *slots, size_t mask, uintptr_t address)
{
  return slots[address / POOL_PAGE_BYTES & mask];
}

/* Both find the track of the block that has an address, or NULL.  The first
 * is for addresses in rising order: it also tries the tracks beside the one
 * that it found last.  The second is for an address whose first slot has
 * another block's track. */
Track *sli_pool_map_find (SlicePool *pool, const void *address);
Track *sli_pool_map_search (SlicePool *pool, const void *address);

/* Makes a map without memory, in which no address has a track. */
void sli_pool_map_init (PoolMap *map);

/* Called when the tracks have changed. */
void sli_pool_map_expire (SlicePool *pool);

void sli_pool_map_fini (SlicePool *pool);

/* Prepares sli_pool_index(). */
void sli_pool_index_init (SlicePool *pool);

/* Gives a track of a plain pool its bits, none of them set; false: no
 * memory. */
bool sli_pool_track_make_bits (SlicePool *pool, Track *track);
/* Frees the bits of a track of a plain pool, none of which is set. */
void sli_pool_track_drop_bits (SlicePool *pool, Track *track);
/* Removes the tracks of the blocks that were just retired. */
void sli_pool_tracks_remove_retired (SlicePool *pool);

void *sli_pool_track_alloc (SlicePool *pool);
void sli_pool_track_free (SlicePool *pool, void *object);

/* Reserves space for n_tracks in all; false: no memory. */
bool sli_pool_tracks_reserve (SlicePool *pool, uint32_t n_tracks);
/* Makes the table of tracks smaller, if there is memory for that. */
void sli_pool_tracks_shrink (SlicePool *pool, uint32_t n_tracks);
/* Shrinks the table of tracks to what it needs, and removes the map. */
void sli_pool_tracks_trim (SlicePool *pool);
/* Makes a track for a block that has none; false with errno ENOMEM. */
bool sli_pool_track_block (SlicePool *pool, Block block);
/* Removes the track of a block that is about to be returned. */
void sli_pool_track_block_gone (SlicePool *pool, Block block);
/* Puts the blocks without a live object out of use; the caller returns the
 * spare blocks. */
void sli_pool_track_trim (SlicePool *pool);
/* Nothing is live any more. */
void sli_pool_track_start_over (SlicePool *pool);
void sli_pool_track_fini (SlicePool *pool);
/* Tells the hooks that all live objects end. */
void sli_pool_track_report_end (const SlicePool *pool);
/* The number of chunks in all tracked blocks. */
size_t sli_pool_track_n_chunks (const SlicePool *pool);
size_t sli_pool_track_bytes (const SlicePool *pool);

/* The number of chunks in a block. */
static inline size_t
sli_pool_n_chunks_in (const SlicePool *pool, Block block)
{
  char *start = sli_align (block.start, pool->options.alignment);
  char *end = block.start + sli_block_bytes (&block);

  return end > start ? (size_t) (end - start) / pool->chunk_bytes : 0;
}

/* Cuts chunks from a block from now on. */
static inline void
sli_pool_enter (SlicePool *pool, Block block)
{
  pool->cut_at = sli_align (block.start, pool->options.alignment);
  pool->cut_end
      = pool->cut_at + sli_pool_n_chunks_in (pool, block) * pool->chunk_bytes;
}

/* The number of live objects. */
static inline size_t
sli_pool_n_live (const SlicePool *pool)
{
  return pool->is_tracked ? pool->n_live : sli_pool_plain_n_live (pool);
}

#endif
