/* arena.h - arenas: the interface that all four kinds share
 *
 * Public; it includes the four kinds.  The objects of an arena are freed
 * together, or in an order that is known beforehand, and so need no headers:
 *
 *   linear.h  objects are only added, and all end at once (or down to a mark)
 *   stack.h   the object allocated last is released first
 *   pool.h    objects of one size, freed in any order, or all at once
 *   tlsf.h    any size in any order, each call in bounded time
 *
 * All allocate from a chain of blocks.  The first block is small and lies
 * behind the arena's control block.  Further blocks have powers of two from 256
 * bytes up to a cap, each at most an eighth of what the arena holds, or a 32nd
 * if it has more than 4 KiB.  If the first block is large or the arena has its
 * own page source, a further block is at most half of what the arena holds.  In
 * a stack they start with 4 KiB, and each is twice as large as the one before.
 * A request that is too large for the next block gets a dedicated block, and
 * the current block stays current.  The table of blocks lies outside the
 * blocks, so an arena can be emptied without touching its memory.
 *
 * Objects of linear and stack arenas are aligned as slices are: to the
 * largest power of two, at most 16, that divides their size rounded up to a
 * multiple of 8.  The _aligned functions align to more: to any power of two
 * up to SLICE_ARENA_ALIGNMENT_MAX, a page of 4096 bytes; another alignment is
 * misuse (300).  The objects of a pool are aligned as its options say, up to
 * the same limit.  Only slice_tlsf_alloc_aligned() takes larger alignments.
 *
 * If there is no memory, a function that allocates returns NULL or false with
 * errno ENOMEM, and the arena is unchanged.  Misuse ends the program with one
 * numbered line on standard error (slice-errors(7), 300 to 399).  So does each
 * call with an arena that was destroyed (306): with the options hardened and
 * debug while its control block is in quarantine, otherwise until that memory
 * is allocated again.  With the option always-malloc, and under valgrind
 * and the sanitizers, the memory is malloc's: there it may not be found, but
 * the tool reports it.
 *
 * Threads: an arena belongs to one thread at a time; two threads may use two
 * arenas at once, whatever page source these share.  Pools and TLSF heaps may
 * belong to all threads: SLICE_ARENA_LOCKED.
 *
 * Under valgrind and AddressSanitizer a gap lies behind each object.  The
 * tools report overruns, and uses after a release, reset, rollback or free.
 *
 * Costs are instructions on x86-64 where a number is given.
 *
 * Design: chapter 8.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_ARENA_H
#define SLICE_ARENA_H

#include <stdarg.h>
#include <slice/slice.h>
#include <slice/source.h>

SLICE_BEGIN_DECLS

/* As SLICE_INLINE in slice.h: each inline function is also exported under
 * its own name; exports.c makes these. */
#ifdef SLICE_ARENA_DEFINE_EXPORTS
# define SLICE_ARENA_INLINE SLICE_API
# define SLICE_ARENA_ALWAYS_V1
#else
# define SLICE_ARENA_INLINE                                                   \
  SLICE_API extern __inline__ __attribute__ ((__gnu_inline__))
# define SLICE_ARENA_ALWAYS_V1 SLICE_ATTR_ALWAYS_INLINE
#endif

/** The largest alignment that the _aligned functions take, those of TLSF heaps
 * excepted: a page. */
#define SLICE_ARENA_ALIGNMENT_MAX 4096

/** How an arena behaves, ored together. */
typedef enum
{
  SLICE_ARENA_DEFAULT = 0,
  SLICE_ARENA_CHECKED = 1 << 0,  /**< stack: a size and a serial number
                                      precede each object, and only the top
                                      may be released; pool: a bitmap says
                                      which objects are live, and a free
                                      object is filled, and checked when it is
                                      allocated again; TLSF: each object ends
                                      in its size and a guard, which are
                                      checked with the object.  The options
                                      `checked`, `hardened` and `debug` set it
                                      for all arenas */
  SLICE_ARENA_LOCKED = 1 << 1    /**< pool and TLSF (EINVAL for the others):
                                      any thread may call at any time, each
                                      call takes a lock, and what one thread
                                      has allocated another may free.  Only
                                      destroy is for the last user.  A
                                      function of the program that a call runs
                                      must not use the same arena (341), and
                                      must return: by an exception or a jump
                                      the lock would stay locked.  The
                                      child of a fork() must not use it if
                                      another thread was in a call */
} SliceArenaFlags;

/** How an arena gets its memory.  All zero is the default for each. */
typedef struct
{
  /** The source of blocks.  NULL: blocks of up to 2048 bytes are slices;
   * larger ones come from page spans that all arenas share and that are kept
   * for the next one.  Otherwise every block is mapped from this source, in
   * whole pages, and returned to it at once; the source must outlive the
   * arena. */
  const SliceSource *source;

  /** Bytes of the first block, 64 to 2^30.  0: what the kind of arena needs to
   * hold, together with its control block, 352 bytes (linear), 512 (pool) or
   * 2048 (stack); 64 KiB in a TLSF heap.  With a source the block has whole
   * pages, and 0 means one page. */
  size_t first_bytes;

  /** Bytes of the largest regular block of the chain, first_bytes to 2^30;
   * 0: 64 KiB (1 MiB in a TLSF heap), or first_bytes if that is more. */
  size_t cap_bytes;

  /** Most bytes that the arena may hold, blocks and control block together;
   * 0: no limit.  Less than the empty arena holds: EINVAL.  If the arena
   * belongs to a context, a limit of that counts only the arena's node, with
   * the first block if that is in it, and none of the further blocks. */
  size_t limit_bytes;

  /** SliceArenaFlags. */
  unsigned flags;

  /** 0: the options of version 1, which are those above.  Or
   * sizeof (SliceArenaOptions): options that a later version appends count,
   * too.  A size that the library does not know is EINVAL. */
  size_t struct_bytes;
} SliceArenaOptions;

/** What a reset keeps for the next use. */
typedef enum
{
  SLICE_KEEP_NONE = 0,   /**< nothing, and no table of blocks (the block
                              behind the control block always stays) */
  SLICE_KEEP_FIRST,      /**< the block that was allocated first */
  SLICE_KEEP_LARGEST,    /**< the largest block of those of SLICE_KEEP_ALL */
  SLICE_KEEP_ALL         /**< all, except blocks of single objects above
                              cap_bytes (stack: of single large objects).
                              Without a source of its own a linear arena makes
                              one block of those below cap_bytes, so that the
                              same objects fit again without a request.  (If
                              they are more than cap_bytes, or aligned to more
                              than 8, one further request may be needed) */
} SliceKeep;

/** Statistics of an arena in bytes: held = used + free + wasted + control. */
typedef struct
{
  size_t used_bytes;     /**< in objects: their sizes rounded up to 8, padding
                              between them, and padding that was in front of
                              freed ones (0 in an empty stack).  In a checked
                              arena what is kept beside each object counts,
                              too; in a pool each object counts as
                              slice_pool_chunk_bytes() */
  size_t free_bytes;     /**< free: in the current block, in spare blocks, and
                              (pool, TLSF) between live objects */
  size_t wasted_bytes;   /**< at the ends of blocks that objects did not fit */
  size_t control_bytes;  /**< control block, block table, bitmaps, headers */
  size_t held_bytes;     /**< everything */
  size_t n_blocks;       /**< blocks held, the first one included */
  size_t n_own_blocks;   /**< of these, blocks of single large objects */
  size_t n_spare_blocks; /**< of these, blocks that are not in use */
  size_t n_requests;     /**< blocks requested from the source so far */
  size_t spare[3];       /**< 0; for figures of later versions */
} SliceArenaStats;

/** Returns the pages that the arenas' shared spans keep for the next arena.
 * What sources that were made by the functions below keep is not affected.
 *
 * @param keep_bytes  how much may stay; 0 returns everything
 * @return            bytes returned
 *
 * Threads: any.  Cost: one lock, and a call for each span returned.
 */
SLICE_API size_t slice_arena_trim (size_t keep_bytes);

/* For slice.hpp without exceptions: ends the program with error 340. */
SLICE_API void slice_arena_bad_options_v1 (void);

/* For slice-resource.hpp: the answer of a resource that may be of another unit,
 * with other virtual tables.  `object` is the question, a C++ object. */
typedef struct
{
  void *object[2];
  const void *self; /* the resource that answers */
  const void *arena;
  const void *other; /* a pool's resource for all else */
  size_t bytes;      /* a pool's objects */
  int kind;
} SliceQuestionV1;

/* Gets a place for a question, all zero, and returns it. */
SLICE_API SliceQuestionV1 *slice_question_begin_v1 (void);
SLICE_API void slice_question_end_v1 (SliceQuestionV1 *question);
/* The question that an object is; NULL: it is none. */
SLICE_API SliceQuestionV1 *slice_question_of_v1 (const void *object);

/* --- further page sources ------------------------------------------------ */

/** A source over a buffer of the caller's.  All its pages lie in the buffer,
 * and it never makes a system call.
 *
 * @param buffer  must outlive the source; not NULL
 * @param bytes   its size; two pages at least.  The source's own data (a bit
 *                for each page and 200 bytes) lies at its start
 * @return        the source, inside the buffer, or NULL with errno EINVAL if
 *                the buffer is too small
 *
 * Threads: any may use the source at once.
 * Cost: map and unmap search the bitmap, 64 pages at a step.  It needs no
 * destroy.
 */
SLICE_API const SliceSource *slice_source_fixed_new (void *buffer,
                                                     size_t bytes);

/** How the huge-page source gets its pages. */
typedef enum
{
  SLICE_HUGE_ADVISED = 0,  /**< 2 MiB regions of ordinary memory, advised to
                                be huge (transparent huge pages) */
  SLICE_HUGE_RESERVED      /**< from the system's reserve (MAP_HUGETLB); if
                                that is empty, as above */
} SliceHugeKind;

/** A source that cuts blocks from huge pages.  It may be given to
 * slice_set_source(), as may that of a file: making one allocates no block.
 *
 * @param kind        where the huge pages come from
 * @param keep_bytes  bytes of empty 2 MiB regions to keep for the next
 *                    request; further ones are returned at once
 * @return            the source, or NULL with errno ENOMEM
 *
 * Threads: any may use the source at once.
 * Cost: a system call for each 2 MiB, and a search of a bitmap.
 */
SLICE_API const SliceSource *slice_source_huge_new (SliceHugeKind kind,
                                                    size_t keep_bytes);

/** A source of the memory of a file, which may be larger than the machine's
 * memory.  The file grows as needed, by 1 MiB or, for a larger block, by what
 * that needs.  The disk's space for it is reserved before it is used: if the
 * disk is full, or the file would exceed the process's limit (RLIMIT_FSIZE),
 * there is no memory.  Where the file system can't reserve space (fallocate()
 * fails with EOPNOTSUPP), a write to an object on a full disk ends the process
 * by SIGBUS.
 *
 * Returned memory is punched out of the file, if the file system can do that,
 * in pieces of 1 MiB; the file's size stays.  One empty MiB stays for the next
 * request until the source is destroyed; slice_arena_trim() does not return it.
 * After a fork() parent and child share the memory, and each sees what the
 * other writes: one of the two must not use the arenas of this source any
 * more, nor destroy them.
 *
 * @param fd         a regular file open for reading and writing, or a memfd.
 *                   It is duplicated; its contents are overwritten
 * @param max_bytes  the most that the file may grow to, 1 MiB at least;
 *                   addresses for it are reserved at once
 * @return           the source, or NULL with errno set: EBADF (no descriptor,
 *                   or one that is not open for both), EINVAL (no regular
 *                   file, or max_bytes is out of range), ENOMEM, or what a
 *                   system call has set
 *
 * Threads: any may use the source at once.
 * Cost: a system call or two when the file grows or shrinks; to reserve 1 MiB
 *   of a memfd takes as long as to clear it.
 */
SLICE_API const SliceSource *slice_source_file_new (int fd, size_t max_bytes);

/** Ends a huge-page or file source.  None of its memory may be in use, and no
 * arena may have it in its options, whether that has memory of it or not.
 *
 * @param source  of slice_source_huge_new() or slice_source_file_new(); NULL
 *                does nothing
 *
 * Errors: memory that is still in use, an arena that uses the source, and a
 *   source of another kind, are misuse (307, 307, 308).
 */
SLICE_API void slice_source_destroy (const SliceSource *source);

/* --- the inline code of linear and stack --------------------------------- */

/* What the inline functions see of a linear or stack arena (version 1):
 *
 *            low          next                      end
 *             v            v                         v
 *   +---------+------------+-------------------------+
 *   |  (pad)  |  objects   |  free                   |   the current block
 *   +---------+------------+-------------------------+
 *
 * next is a multiple of 8 and end of 16.  If the arena is checked, traced or
 * annotated, or an object grows in it, all three are the same multiple
 * of 16: the block looks full and nothing looks releasable, so that every call
 * takes the slow path.  They are an address above all objects then, unless the
 * inline code has started the object that grows: that starts at next, which is
 * end.  So such an object is finished inline if it ends above next. */
typedef struct
{
  char *next;
  char *end;
  char *low;         /* stack: the block's first object */
  char *growing;     /* linear: where the growing object ends, or NULL */
  char *growing_end; /* linear: the space for it ends here */
} SliceBumpV1;

/** Not for callers: allocates `size` bytes from the current block, or NULL.
 * The difference size-1 sends size 0 to the slow path. */
SLICE_ARENA_INLINE void *slice_bump_take_v1 (SliceBumpV1 *bump, size_t size);
SLICE_ARENA_INLINE void *
slice_bump_take_v1 (SliceBumpV1 *bump, size_t size)
{
  size_t rounded = (size + 7) & ~(size_t) 7;
  char *object = bump->next + ((uintptr_t) bump->next & ~rounded & 8);
  if (SLICE_LIKELY (size - 1 < (size_t) (bump->end - object)))
    {
      bump->next = object + rounded;
      if (object == NULL)
        __builtin_unreachable ();
      return object;
    }
  return NULL;
}

/** Not for callers: the same with an alignment, a power of two up to
 * SLICE_ARENA_ALIGNMENT_MAX. */
SLICE_ARENA_INLINE void *slice_bump_take_aligned_v1 (SliceBumpV1 *bump,
                                                     size_t alignment,
                                                     size_t size);
SLICE_ARENA_INLINE void *
slice_bump_take_aligned_v1 (SliceBumpV1 *bump, size_t alignment, size_t size)
{
  size_t mask = (alignment - 1) | 7;
  char *object = (char *) (((uintptr_t) bump->next + mask) & ~mask);
  ptrdiff_t space = (ptrdiff_t) ((uintptr_t) bump->end - (uintptr_t) object);
  if (SLICE_LIKELY (size - 1 < (size_t) PTRDIFF_MAX
                    && (ptrdiff_t) size <= space))
    {
      bump->next = object + ((size + 7) & ~(size_t) 7);
      if (object == NULL)
        __builtin_unreachable ();
      return object;
    }
  return NULL;
}

SLICE_END_DECLS

/* The four kinds; each may be included by itself, too. */
#include <slice/linear.h>
#include <slice/stack.h>
#include <slice/pool.h>
#include <slice/tlsf.h>

#endif
