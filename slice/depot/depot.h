/* depot.h - full magazines that wait for a thread that needs them
 *
 * Layer: depot.  Above: magazine; below: slab.
 * Locks: one a class (rank 40).
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
#include "port/lock.h"

/* A magazine: a short stack of chunks of one class.
 *
 *              base              top                    end
 *               |                 |                      |
 *               v                 v                      v
 *   slots:   | NULL | round 1 | round 2 | (stale) | ... | (stale) |
 *               0        1         2                     n_rounds_max
 *
 * While a thread has it loaded, the thread's entry (slice.h) knows top, and
 * n_rounds here is out of date. */
typedef struct Magazine
{
  Link link;             /* in the depot's stack */
  uint32_t class_index;
  uint32_t n_rounds_max;
  uint32_t n_rounds;     /* while nobody has it loaded */
  uint32_t meta_bytes;   /* of the piece of metadata it lies in */
  uint64_t pushed_msec;  /* when it came into the depot */
  void *slots[];         /* n_rounds_max + 1; slots[0] is NULL */
} Magazine;

/* Chunks among n rounds: a freed NULL has left a hole. */
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
  MAGAZINE_CHUNK_BYTES_MIN = 8 * 1024, /* of chunks; doubled likewise, up to
                                          the option magazine-bytes-max */
  DEPOT_LONG_AGO_MSEC = 1     /* a since_msec before any working set */
};

/* Readies the sizes of magazines; for sli_depot_init(). */
void sli_depot_cut_rounds (void);
/* Rounds of a class's magazine of a size (0 to MAGAZINE_SIZES - 1). */
unsigned sli_depot_rounds (unsigned class_index, unsigned size);
/* The largest size that makes a difference for a class. */
unsigned sli_depot_size_max (unsigned class_index);

/* An empty magazine; NULL: no memory.  And its end. */
Magazine *sli_depot_new_magazine (unsigned class_index, unsigned size);
void sli_depot_end_magazine (Magazine *magazine);

/* Do the chunks of a magazine come from many more slabs than they would fill? */
bool sli_depot_is_fragmented (const Magazine *magazine);
/* The oldest magazine of a class, if it is scattered; else NULL. */
Magazine *sli_depot_pop_fragmented (unsigned class_index);

/* Readies this floor and those below. */
void sli_depot_init (void);

/* Exchanges an empty magazine (NULL: none at hand) for a full one, the one
 * pushed last.  NULL: there is none, and `empty` stays the caller's.
 * *contended: another thread held the lock. */
Magazine *sli_depot_pop (unsigned class_index, Magazine *empty,
                         bool *contended);
/* Has it any?  A guess, without a lock. */
bool sli_depot_has (unsigned class_index);

/* What comes of leaving a magazine in the depot. */
typedef struct
{
  Magazine *spare;  /* one that has become too much or too old (perhaps the
                       same), for the caller to drain; or NULL */
  Magazine *empty;  /* one to go on with, of the size wanted; or NULL */
  bool contended;   /* another thread held the lock */
  bool is_remote;   /* it was drained lest threads share lines */
} DepotExchange;

/* Exchanges a magazine with rounds for an empty one of at least n_wanted. */
void sli_depot_push (Magazine *magazine, unsigned n_wanted,
                     DepotExchange *exchange);

/* A magazine that has been in the depot for max_age_msec or longer, oldest
 * first; NULL if there is none (any more).  The caller drains and ends it. */
Magazine *sli_depot_pop_old (unsigned class_index, uint64_t max_age_msec);

/* Gives a magazine's rounds to their slabs, and the magazine back.  The
 * rounds were last needed when it was pushed (or now, if it never was). */
void sli_depot_flush (Magazine *magazine);

/* Zeroed memory for a quarantine's ring of n pointers; NULL: none.  And its
 * end. */
void **sli_depot_new_ring (size_t n);
void sli_depot_end_ring (void **ring, size_t n);

/* A bounded bit of what is due; called on the way of depot traffic, with no
 * lock held: at most 8 magazines (UPKEEP_MAGAZINES_MAX), and one region. */
void sli_depot_upkeep (void);
/* Did the last upkeep give memory back, so that there may be more to give? */
bool sli_depot_is_more_due (void);
/* Gives back all that has been spare for max_age_msec; returns the bytes that
 * went to the system.  No lock held. */
size_t sli_depot_trim (uint64_t max_age_msec);

/* What the floor counts, for one class. */
typedef struct
{
  uint64_t n_magazines;  /* now */
  uint64_t n_chunks;     /* in them, now: holes are none */
  uint64_t n_pops;
  uint64_t n_misses;
  uint64_t n_pushes;
  uint64_t n_contended;
  uint64_t n_trimmed;
} DepotCounts;

void sli_depot_count (unsigned class_index, DepotCounts *counts);

/* Are all invariants of a class's depot true?  Takes the lock. */
bool sli_depot_is_valid (unsigned class_index);
/* The id of one that is not (D1 to D3 of design chapter 10), and where. */
const char *sli_depot_check (unsigned class_index, const void **where);

/* Chunks that lie in a row somewhere; NULLs are holes. */
typedef void (*MagazineVisit) (unsigned class_index, void *const *rounds,
                               size_t n, void *data);
/* Calls `visit` for the rounds of each magazine, under the lock. */
void sli_depot_each (unsigned class_index, MagazineVisit visit, void *data);

/* For fork.c. */
Lock *sli_depot_lock (unsigned class_index);

#endif
