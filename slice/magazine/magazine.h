/* magazine.h - each thread's magazines
 *
 * Layer: magazine.  Above: alloc; below: depot.
 * Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_MAGAZINE_MAGAZINE_H
#define SLI_MAGAZINE_MAGAZINE_H

#include <slice/slice.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sizeclass.h"
#include "port/compiler.h"
#include "port/thread/lock.h"

/* When the library is loaded: registers to be called when threads end. */
void sli_magazine_load (void);

/* Before the first block: initialises the layers below. */
void sli_magazine_begin (void);

/* Options for sli_magazine_init(), which then initialises this layer. */
typedef struct
{
  bool is_inline;       /* the inline code may use the magazines; else every
                           call takes the slow path */
  bool counts_hits;
  bool picks_randomly;  /* pops from anywhere in a magazine */
  bool checks_reentry;  /* a call within a call is misuse */
  unsigned n_quarantine; /* freed chunks of a class that wait in each thread;
                           0: none */
} MagazineOptions;

void sli_magazine_init (const MagazineOptions *options);

/* Keeps the inline code out of all threads' magazines, or lets it in again if
 * the options allow it.  Each thread gets it back at its next slow call. */
void sli_magazine_show_inline (bool is_shown);

/* Allocates a chunk from the thread's magazines, the depot or a slab; NULL: no
 * memory. */
void *sli_magazine_alloc (unsigned class_index);
/* Frees a chunk; NULL does nothing.  operation: the program's call, which gave
 * no size, for messages; NULL: slice_free1(). */
void sli_magazine_free_as (unsigned class_index, void *chunk,
                           const char *operation);

static inline void
sli_magazine_free (unsigned class_index, void *chunk)
{
  sli_magazine_free_as (class_index, chunk, NULL);
}

/* Puts a chunk into the quarantine and frees the oldest one there. */
void sli_magazine_free_late (unsigned class_index, void *chunk);

/* Allocates a chunk from a slab, past the magazines. */
void *sli_magazine_alloc_slab (unsigned class_index);

/* Flushes the calling thread's magazines; to_slabs: past the depot. */
void sli_magazine_flush (bool to_slabs);
/* Takes the rounds of all other threads that are not in a slow path now,
 * except the top one of each magazine. */
void sli_magazine_detach_others (void);
/* Waits until the time is over, or the last thread that has a record ends for
 * more than the n_seen'th time.  Returns how often that has happened.  Only
 * one thread may wait. */
uint32_t sli_magazine_await_end (uint32_t n_seen, unsigned msec);
/* Gives back all memory that has been spare for max_age_msec; returns the
 * bytes that went back during the call. */
size_t sli_magazine_trim (uint64_t max_age_msec);

/* What the layer counts, for one class. */
typedef struct
{
  uint64_t n_cached;    /* chunks in threads' magazines, now */
  uint64_t n_hits;
  uint64_t n_grown;
  uint64_t n_shrunk;
  uint32_t rounds_now;  /* the most that any thread's magazines may hold */
  uint32_t rounds_peak;
} MagazineCounts;

/* Counts for all classes; returns the number of threads with records. */
unsigned sli_magazine_count_all (MagazineCounts counts[N_CLASSES]);
/* The number of chunks in records that forks have left behind in this
 * process. */
uint64_t sli_magazine_fork_lost (void);
/* Returns true if other threads used slices when this process or an ancestor
 * was forked.  They may have been in the middle of a call. */
bool sli_magazine_lost_threads (void);

/* The id of an invariant of design chapter 10 (M1 to M4) that does not hold,
 * and where; NULL if all do.  Wrong while other threads are at work. */
const char *sli_magazine_check (const void **where);
/* Calls `visit` for the chunks that threads keep, under the registry's lock.
 * Approximate for threads at work. */
void sli_magazine_each (void (*visit) (unsigned class_index,
                                       void *const *rounds, size_t n,
                                       void *data),
                        void *data);

/* For fork.c: all locks of the layer, and the child's clean-up. */
void sli_magazine_fork_prepare (void);
void sli_magazine_fork_parent (void);
void sli_magazine_fork_child (void);

/* --- without a call, as slice_alloc() and slice_free1() do it --- */

/* NULL: the magazine is empty, or each call takes the slow path. */
static ALWAYS_INLINE void *
magazine_pop (size_t class_index)
{
  SliceEntryV1 *entry = &SLICE_LOAD (&slice_tls_v1)->entries[class_index];
  void **top, *chunk;

  KEEP (entry);
  top = SLICE_LOAD (&entry->top);
  chunk = *top;
  if (LIKELY (chunk != NULL))
    SLICE_STORE (&entry->top, top - 1);
  return chunk;
}

/* False: the magazine is full, each call takes the slow path, or the chunk is
 * the top round already. */
static ALWAYS_INLINE bool
magazine_push_to (SliceEntryV1 *entry, void *chunk)
{
  void **top = SLICE_LOAD (&entry->top);

  if (UNLIKELY (top == entry->end || *top == chunk))
    return false;
  SLICE_STORE (top + 1, chunk);
  SLICE_STORE (&entry->top, top + 1);
  return true;
}

/* The same for a chunk that the thread may only have read lately.  A line that
 * was read is not kept in a cache shared by processors for as long as one that
 * was written to; but its other chunks are often freed next, and this one is
 * written to again.  So this writes to the chunk, as mallocs do that link what
 * is free.  It writes before the push, since a trimmer may take the chunk
 * after it. */
static ALWAYS_INLINE bool
magazine_push (size_t class_index, void *chunk)
{
  SliceEntryV1 *entry = &SLICE_LOAD (&slice_tls_v1)->entries[class_index];
  void **top;

  KEEP (entry);
  top = SLICE_LOAD (&entry->top);
  if (UNLIKELY (top == entry->end || *top == chunk))
    return false;
  *(volatile char *) chunk = 0;
  SLICE_STORE (top + 1, chunk);
  SLICE_STORE (&entry->top, top + 1);
  return true;
}

#endif
