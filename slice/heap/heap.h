/* heap.h - shared by the heap's files
 *
 * Layer: heap (8).  Below: page, for runs; alloc, for slices.
 * Locks: those of medium classes, of caches and of mappings, all rank 25; no
 * thread holds one while it calls another layer.
 * Design: chapter 14.
 *
 *   bytes           a block is                     found by
 *   to 2064         a slice                        the region: its class
 *   to 32 KiB       medium: a part of a run        the run's record
 *   to 128 KiB      a run                          the run's record
 *   more            a mapping                      a table (mapped.c)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_HEAP_HEAP_H
#define SLI_HEAP_HEAP_H

#include <slice/heap.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc/dispatch.h"
#include "page/region.h"
#include "slab/chunk.h"
#include "port/compiler.h"
#include "port/thread/lock.h"

enum
{
  HEAP_ALIGN_BYTES = 16,
  MEDIUM_BYTES_MAX = 32 * 1024,
  RUN_GRANULES_USUAL = 8, /* 128 KiB; larger blocks are mapped */
  RUN_GRANULES_MAX = 32   /* 512 KiB, if there is no memory to map: three such
                             blocks and a smaller one fit into a region */
};

/* A run of the heap keeps its data where a slab keeps its header.  Its state,
 * and its class 0, tell it from a slab.  The words of the bitmap have another
 * meaning here. */
typedef Slab HeapRun;

enum
{
  HEAP_LIVE = 0, /* own_words: blocks that the program has, a bit each */
  HEAP_FREE = 1, /* blocks that are free in the run; under the class lock */
  HEAP_WHOLE = 2 /* the checking modes: blocks without a guard, whose size is
                    that of the run's blocks */
};

/* The bytes of a run that is one block. */
static inline size_t
heap_run_bytes (const char *run)
{
  const Region *region = region_of (run);
  unsigned first = region_granule_of (region, run);

  return (size_t) LOAD (&region->run_granules[first])
         << sli_region_granule_shift;
}

/* The heap's run that has an address; NULL: none. */
static inline char *
heap_run_of (const void *address, HeapRun **run)
{
  void *record;
  char *start = region_run_of (address, &record);

  if (start == NULL || LOAD (&((HeapRun *) record)->state) < SLAB_HEAP_MEDIUM)
    return NULL;
  *run = record;
  return start;
}

/* --- heap.c --- */

/* Returns true if a block of `size' bytes is a slice.  The heap is ready. */
static inline bool
heap_is_small (size_t size)
{
  return size <= sli_dispatch.size_max;
}

/* The allocator behind the heap; initialises the heap first. */
const SliceHeapNext *sli_heap_next (void);
/* Allocates a block of any size; NULL with errno ENOMEM. */
void *sli_heap_alloc_any (size_t alignment, size_t size, bool zero,
                          const void *site);
/* Frees a block that was resized and has moved; messages name that call. */
void sli_heap_free_moved (void *block, const void *site);
/* The usable bytes of a block; 0: it is none of ours.  Ends the program if the
 * block is known not to be live. */
size_t sli_heap_block_bytes (const void *block, const char *operation,
                             const void *site);
/* The usable bytes of a larger block that is live. */
/* The size of a live block of slice_alloc() that is malloc's; SIZE_MAX if it is
 * none.  If the heap is not the program's malloc, ends the program for such a
 * block, as it must not be passed to the heap. */
size_t sli_heap_slice_bytes (const void *block, const char *operation);
size_t sli_heap_large_usable (const void *block);
/* Called for an address outside our memory, which is misuse in the checking
 * modes. */
void sli_heap_check_foreign (const void *block, const char *operation);
/* Ends the program: the block is not live. */
_Noreturn void sli_heap_report (ErrorNumber number, const void *block,
                                const char *operation);

/* --- lend.c --- */

/* Allocates a small block whose class has an empty magazine.  may_lend: it may
 * be of a larger class, which may have less alignment. */
void *sli_lend_alloc (unsigned class_index, bool may_lend);

/* --- medium.c --- */

void sli_medium_init (void);
/* Allocates a block of at most MEDIUM_BYTES_MAX; NULL: no memory.  *is_zero:
 * it reads as zero. */
void *sli_medium_alloc (size_t size, size_t alignment, bool *is_zero);
/* Ends the program if the block is not live. */
void sli_medium_check (const char *start, HeapRun *run, const void *block,
                       const char *operation);
void sli_medium_free (char *start, HeapRun *run, void *block,
                      const char *operation);
size_t sli_medium_bytes (const HeapRun *run);
/* Notes whether a live block has no guard.  A block of another kind has one. */
void sli_medium_note_whole (const void *block, bool is_whole);
bool sli_medium_is_whole (const void *block);
/* Returns the blocks of the caches to their runs. */
void sli_medium_trim (void);
void sli_medium_each_lock (void (*act) (Lock *lock));

/* --- runs.c --- */

/* Adds to the counts of runs and of live blocks in them. */
void sli_heap_count_runs (ptrdiff_t n_runs, ptrdiff_t run_bytes,
                          ptrdiff_t block_bytes);
/* Allocates a run and marks it as the heap's. */
char *sli_heap_new_run (unsigned n_granules, SlabState state, HeapRun **run,
                        bool *is_zero);
void sli_heap_end_run (char *start, HeapRun *run);

/* The largest block that is a run, and the largest that is one if it can't be
 * mapped. */
size_t sli_run_bytes_usual (void);
size_t sli_run_bytes_max (void);
void *sli_run_alloc (size_t size, bool *is_zero);
void sli_run_check (const char *start, HeapRun *run, const void *block,
                    const char *operation);
void sli_run_free (char *start, HeapRun *run, void *block,
                   const char *operation);
/* Changes the size of a run in place; false: it can't. */
bool sli_run_resize (char *start, size_t size);

/* --- mapped.c --- */

void *sli_mapped_alloc (size_t size, size_t alignment, bool *is_zero);
/* The bytes of a mapped block; 0: none begins at the address. */
size_t sli_mapped_bytes (const void *block);
/* Frees a mapped block; false: it is none. */
bool sli_mapped_free (void *block);
/* Resizes a mapped block; NULL: it is none, or there is no memory. */
void *sli_mapped_resize (void *block, size_t size);
/* Returns true for a mapped block that was freed recently. */
bool sli_mapped_was (const void *block);
/* Unmaps the freed blocks that are kept; returns their bytes. */
size_t sli_mapped_trim (void);
void sli_mapped_count (SliceHeapCounts *counts);
Lock *sli_mapped_lock (void);

/* --- guard.c --- */

/* In the checking modes a larger block has its size and a canary behind it,
 * unless its size is that of its run's blocks. */
void sli_guard_init (void);
size_t sli_guard_bytes (void);
/* The same for a medium block; 0: its guard would take too much. */
size_t sli_guard_bytes_aligned (size_t alignment, size_t size);
void sli_guard_write (void *block, size_t size, size_t usable);
/* The size of a block; ends the program if bytes behind it were written to. */
size_t sli_guard_check (const void *block, size_t usable,
                        const char *operation);

#endif
