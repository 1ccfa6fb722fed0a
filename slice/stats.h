/* stats.h - a snapshot of what the allocator holds and has done
 *
 * Public.  The library counts under locks that it holds anyway, or in the
 * thread's own record.  The number of live blocks is that of chunks out of the
 * slabs, less those in magazines.  A snapshot reads the figures of other
 * threads while these run, so it is approximate in a busy process, and exact
 * in one that does nothing else.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_STATS_H
#define SLICE_STATS_H

#include <slice/options.h>

SLICE_BEGIN_DECLS

/** The number of size classes, class 0 (size 0) included. */
#define SLICE_N_CLASSES 74

/** One class.  Numbers count from the start, except those that say "now". */
typedef struct
{
  size_t block_bytes;          /**< largest size that the class serves */
  size_t chunk_bytes;          /**< distance from chunk to chunk */
  size_t slab_bytes;           /**< bytes of a slab */
  size_t slab_chunks;          /**< chunks of a slab */
  size_t n_colours;            /**< distinct offsets of a slab's first chunk */

  uint64_t n_slabs;            /**< now */
  uint64_t n_used;             /**< chunks out of the slabs now: live, or in
                                    magazines */
  uint64_t n_live;             /**< blocks that the program holds now */
  uint64_t n_cached_threads;   /**< chunks in threads' magazines now */
  uint64_t n_cached_depot;     /**< chunks in the depot's magazines now */
  uint64_t n_depot_magazines;  /**< full magazines in the depot now */

  uint64_t n_hits;             /**< calls served by the thread's own magazines
                                    (0 unless the option `count` is set) */
  uint64_t n_depot_pops;       /**< full magazines taken from the depot */
  uint64_t n_depot_misses;     /**< times that it had none */
  uint64_t n_depot_pushes;     /**< full magazines given to it */
  uint64_t n_contended;        /**< depot locks that were not free at once;
                                    modulo 2^32 */
  uint64_t n_trimmed;          /**< depot magazines given back for age or
                                    limit; modulo 2^32 */
  uint64_t n_slab_locks;       /**< acquisitions of the slab lock */
  uint64_t n_slab_fills;       /**< chunks taken from slabs */
  uint64_t n_slabs_made;       /**< slabs cut from pages */
  uint64_t n_slabs_freed;      /**< slabs given back to the pages */
  uint32_t rounds_now;         /**< largest magazine size (rounds) in force in
                                    any thread now */
  uint32_t rounds_peak;        /**< the largest that was ever in force */
  uint64_t n_grown;            /**< times that a magazine size was raised */
  uint64_t n_shrunk;           /**< times that it was lowered */
} SliceClassStats;

/** The whole process. */
typedef struct
{
  uint64_t live_blocks;        /**< blocks that the program holds in slabs.
                                    If each block is a malloc (always-malloc,
                                    or under a tool): its slices, without
                                    nodes and blocks of heap.h */
  uint64_t live_bytes;         /**< bytes of the chunks of these blocks; 0 if
                                    each block is a malloc */
  uint64_t cached_bytes;       /**< in magazines of threads and depot */
  uint64_t held_bytes;         /**< pages held: regions, less what was advised
                                    away */
  uint64_t mapped_bytes;       /**< addresses held */
  uint64_t meta_bytes;         /**< magazines, thread records, tables; of the
                                    checking modes also quarantines and the
                                    records of live blocks, which are mapped
                                    beside the pages held */
  uint64_t returned_bytes;     /**< given back to the system since the start:
                                    by how much `held_bytes` fell, in all */
  uint64_t n_regions;          /**< 2 MiB regions now */
  uint64_t n_regions_empty;    /**< of these, without a slab */
  uint64_t n_maps;             /**< extents that the page source gave */
  uint64_t n_threads;          /**< threads with magazines now */
  uint64_t n_large_allocs;     /**< blocks handed to the system's malloc for
                                    their size or alignment, those of nodes
                                    and linear contexts included; none where
                                    each block is a malloc */
  uint64_t n_large_frees;      /**< and back */
  uint64_t n_fork_lost;        /**< in a forked child: chunks in magazines of
                                    threads that exist in the parent only,
                                    which are lost.  They count as cached;
                                    those of a thread that was in a slow path
                                    count as live */
  uint32_t n_classes;          /**< SLICE_N_CLASSES */
  SliceClassStats classes[SLICE_N_CLASSES];
} SliceStats;

/* The size of what precedes the classes. */
#define SLICE_STATS_HEAD_BYTES_V1                                             \
  (sizeof (SliceStats) - SLICE_N_CLASSES * sizeof (SliceClassStats))

/** Not for callers: slice_get_stats() with the sizes of the caller's header.
 * Fields that the library does not know are 0.
 *
 * @param stats        where to put it
 * @param head_bytes   the distance of the classes from the start
 * @param class_bytes  the size of a SliceClassStats
 * @param n_classes    how many of them there are
 */
SLICE_API bool slice_get_stats_v1 (SliceStats *stats, size_t head_bytes,
                                   size_t class_bytes, unsigned n_classes);

/* stats.c defines SLICE_STATS_DEFINE_EXPORTS to make the exported body.  A
 * call without optimisation is inline, too: it must say how large its structs
 * are, and the exported body can only speak for version 1. */
#ifdef SLICE_STATS_DEFINE_EXPORTS
# define SLICE_STATS_INLINE SLICE_API
# define SLICE_STATS_ALWAYS_V1
#else
# define SLICE_STATS_INLINE                                                   \
  SLICE_API extern __inline__ __attribute__ ((__gnu_inline__))
# define SLICE_STATS_ALWAYS_V1 SLICE_ATTR_ALWAYS_INLINE
#endif

/** Takes a snapshot.
 *
 * @param stats  where to put it; not NULL
 * @return       false if no block was ever allocated; then all counts are
 *               zero, and n_classes is set nevertheless
 *
 * The call passes on how large the program's structs are, so that a later
 * library fills those of an older program, too.  n_classes is the number of
 * classes that both know.
 *
 * Threads: any.
 * Cost: every class lock once and a walk over all slab headers.
 */
SLICE_STATS_INLINE bool slice_get_stats (SliceStats *stats);
SLICE_STATS_INLINE SLICE_STATS_ALWAYS_V1 bool
slice_get_stats (SliceStats *stats)
{
  return slice_get_stats_v1 (stats, SLICE_STATS_HEAD_BYTES_V1,
                             sizeof (SliceClassStats), SLICE_N_CLASSES);
}

/** Prints a snapshot as a table.
 *
 * @param fd  an open file descriptor, for example 2
 *
 * Threads: any.  Cost: as slice_get_stats(), and some write(2).
 */
SLICE_API void slice_print_stats (int fd);

/** Prints a snapshot as one JSON object, keys as the fields' names.  The list
 * `classes' has n_classes objects, by class_index as in SliceStats; the first
 * is that of class 0, all zero.
 *
 * @param fd  an open file descriptor
 *
 * Threads: any.  Cost: as slice_print_stats().
 */
SLICE_API void slice_print_stats_json (int fd);

SLICE_END_DECLS

#endif
