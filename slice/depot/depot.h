/* depot.h - stacks of full magazines for each class
 *
 * Layer: depot.  Above: magazine; below: slab.
 * Locks: one for each class and shard (rank 40).
 * Design: chapter 5.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_DEPOT_DEPOT_H
#define SLI_DEPOT_DEPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/sizeclass.h"
#include "port/compiler.h"
#include "port/thread/lock.h"

/* A magazine: a short stack of chunks of one class.
 *
 *              base              top                    end
 *               |                 |                      |
 *               v                 v                      v
 *   slots:   | NULL | round 1 | round 2 | (stale) | ... | (stale) |
 *               0        1         2                     n_rounds_max
 *
 * While a thread has the magazine loaded, the thread's entry (slice.h) has
 * `top', and n_rounds is out of date (M2). */
typedef struct Magazine
{
  Link link;             /* in a stack of the depot; else alone */
  uint32_t class_index;
  uint32_t n_rounds_max;
  uint32_t n_rounds;     /* valid while no thread has it loaded */
  uint32_t meta_bytes;   /* size of its block of metadata */
  uint64_t pushed_msec;  /* when it was pushed to the depot; 0: it is not
                            there */
  void *slots[];         /* n_rounds_max + 1; slots[0] is NULL (M1) */
} Magazine;

/* Counts the chunks among n rounds.  Some rounds may be holes: NULLs that the
 * program freed. */
static ALWAYS_INLINE uint64_t
rounds_count_chunks (void *const *first, size_t n)
{
  uint64_t n_chunks = 0;

  for (size_t i = 0; i < n; i++)
    n_chunks += LOAD (&first[i]) != NULL;
  return n_chunks;
}

enum
{
  MAGAZINE_SIZES = 5,         /* 10, 26, 58, 122, 250 rounds on 64 bits */
  MAGAZINE_BYTES_MIN = 128,   /* of metadata; doubled from size to size */
  MAGAZINE_ROUNDS_MIN = 4,
  MAGAZINE_ROUNDS_MAX = 250,  /* of a magazine of 2 KiB */
  MAGAZINE_CHUNK_BYTES_MIN = 8 * 1024, /* of chunks; doubled likewise, up to
                                          the option magazine-bytes-max */
  DEPOT_LONG_AGO_MSEC = 1     /* a since_msec before any working set */
};

/* Constant, but tests set other limits before sli_depot_init(). */
typedef struct
{
  size_t bytes;      /* of the full magazines of a class; 0: a share of its
                        slabs */
  size_t rounds_max; /* of any magazine */
} DepotLimits;

extern DepotLimits sli_depot_limits
    __attribute__ ((visibility ("hidden")));

/* Computes the sizes of magazines; for sli_depot_init(). */
void sli_depot_init_rounds (void);
/* The rounds of a magazine of a class and size (0 to MAGAZINE_SIZES - 1). */
unsigned sli_depot_rounds (unsigned class_index, unsigned size);
/* The smallest size that has the most rounds of a class. */
unsigned sli_depot_size_max (unsigned class_index);

/* Makes an empty magazine; NULL: no memory. */
Magazine *sli_depot_new_magazine (unsigned class_index, unsigned size);
/* Frees an empty magazine. */
void sli_depot_end_magazine (Magazine *magazine);

/* Returns true if the chunks of a magazine are spread over many more slabs
 * than they would fill. */
bool sli_depot_is_fragmented (const Magazine *magazine);
/* Returns true if the chunks of a magazine lie close together, but in no order
 * of addresses, as those of a freed tree do.  A guess from a few of them. */
bool sli_depot_is_shuffled (const Magazine *magazine);
/* Removes the oldest magazine of a shard, if it is fragmented; else NULL. */
Magazine *sli_depot_pop_fragmented (unsigned class_index);

/* Initialises this layer and those below. */
void sli_depot_init (void);

/* Exchanges an empty magazine (or NULL) for the full one that was pushed last
 * in the caller's shard, else for the oldest of another shard.  NULL: there is
 * none, and `empty' stays the caller's.  *contended: the call waited for a
 * lock. */
Magazine *sli_depot_pop (unsigned class_index, Magazine *empty,
                         bool *contended);
/* Returns true if any shard has a magazine of a class.  A guess, without the
 * locks. */
bool sli_depot_has (unsigned class_index);

/* The results of sli_depot_push(). */
typedef struct
{
  Magazine *spare;  /* a magazine that the caller must flush; or NULL.  It is
                       one that is too old; or the pushed one, if the depot is
                       full or the chunks are remote or shuffled */
  Magazine *empty;  /* of at least n_wanted rounds; or NULL */
  bool contended;   /* the call waited for the lock */
  bool is_remote;   /* its chunks are remote */
} DepotExchange;

/* Exchanges a magazine with rounds for an empty one of at least n_wanted
 * rounds. */
void sli_depot_push (Magazine *magazine, unsigned n_wanted,
                     DepotExchange *exchange);

/* Removes a magazine that has been in the depot for max_age_msec, for the
 * caller to flush; NULL: no shard has one. */
Magazine *sli_depot_pop_old (unsigned class_index, uint64_t max_age_msec);

/* Looks at a class that may have more than it needs.  If no magazine was pushed
 * or popped since the last look, removes the oldest one, for the caller to
 * flush; else, or if no shard has one, NULL. */
Magazine *sli_depot_pop_unused (unsigned class_index);

/* Frees the rounds of a magazine to their slabs; it is empty then.  The rounds
 * count as needed when it was pushed, or now if it is not from the depot. */
void sli_depot_empty (Magazine *magazine);
/* The same, and frees the magazine. */
void sli_depot_flush (Magazine *magazine);
/* The same for a fragmented one: its rounds do not count as needed. */
void sli_depot_flush_fragmented (Magazine *magazine);

/* Allocates a zeroed ring of n pointers for a quarantine; NULL: no memory. */
void **sli_depot_new_ring (size_t n);
/* Frees it. */
void sli_depot_end_ring (void **ring, size_t n);

/* If upkeep is due, flushes at most UPKEEP_MAGAZINES_MAX old magazines and
 * trims one region.  Called when magazines are exchanged, with no lock
 * held. */
void sli_depot_upkeep (void);
/* Returns true if the last upkeep returned memory, so that more may be due. */
bool sli_depot_is_more_due (void);
/* Gives back all memory that has been spare for max_age_msec.  Returns the
 * bytes that the system got.  The caller holds no lock. */
size_t sli_depot_trim (uint64_t max_age_msec);

/* What the layer counts, for one class over all shards (see DepotStack in
 * stack.h). */
typedef struct
{
  uint64_t n_magazines;  /* now */
  uint64_t n_chunks;     /* in them, now, without holes */
  uint64_t n_pops;
  uint64_t n_misses;
  uint64_t n_pushes;
  uint64_t n_contended;
  uint64_t n_trimmed;
} DepotCounts;

void sli_depot_count (unsigned class_index, DepotCounts *counts);

/* Returns true if D1 to D4 of design chapter 10 hold for a class.  Takes the
 * class's locks one at a time, so D4 may seem broken while other threads are
 * at work. */
bool sli_depot_is_valid (unsigned class_index);
/* The id of an invariant that does not hold, and where; or NULL. */
const char *sli_depot_check (unsigned class_index, const void **where);

/* `rounds' is an array of n chunks; NULLs are holes. */
typedef void (*MagazineVisit) (unsigned class_index, void *const *rounds,
                               size_t n, void *data);
/* Calls `visit` for the rounds of each magazine, under its stack's lock. */
void sli_depot_each (unsigned class_index, MagazineVisit visit, void *data);

/* For fork.c: the lock of a shard's stack, or NULL if it has none; and the one
 * that is held while a stack is made, of the same rank. */
Lock *sli_depot_lock (unsigned class_index, unsigned shard);
Lock *sli_depot_make_lock (void);

#endif
