/* slice.h - blocks: allocate, free, chains, typed macros, trimming
 *
 * Public.  The names and the rules are GSlice's: a block is freed with the
 * size that it was allocated with.  Blocks of up to SLICE_SIZE_MAX bytes come
 * from the calling thread's magazines, inline, with no lock and no call;
 * larger ones from the system's malloc.
 *
 * Alignment: the size is rounded up to a multiple of 8.  A block is aligned to
 * the largest power of two, at most 16, that divides the rounded size.
 * slice_alloc_aligned() aligns to more; slice_new() and slice_free() choose
 * the alignment themselves.
 *
 * No memory: the plain names never return NULL for a size above 0.  The
 * allocator gives back what is spare and tries again, calls the failure
 * handler, and then ends the program with one line on standard error.  The
 * `slice_try_` names return NULL.  A wrong argument, such as an alignment of
 * 0, ends the program there, too.
 *
 * Threads: any thread may call everything here, and may free a block that
 * another thread allocated.  Nothing here may be called from a signal
 * handler.
 *
 * Costs are instructions on x86-64 where a number is given.
 *
 * Design: chapters 1, 2 and 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SLICE_H
#define SLICE_SLICE_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <slice/version.h>
#include <slice/options.h>
#include <slice/address.h>
#include <slice/handlers.h>

SLICE_BEGIN_DECLS

/* --- the fast path's frozen layout (version 1) --------------------------- */

/** The largest size that slices serve; malloc serves larger ones. */
#define SLICE_SIZE_MAX 2064

/* The part of a magazine that the inline code sees:
 *
 *            +------+---------+---------+-----+---------+
 *   slots:   | NULL | round 1 | round 2 | ... | round n |
 *            +------+---------+---------+-----+---------+
 *               ^                  ^               ^
 *            sentinel             top             end
 *
 * top points to the round that is handed out next, or to the sentinel when
 * the magazine is empty; end to the last slot.  A thread without magazines
 * has top and end on one shared NULL: empty and full at once, so that every
 * call takes the slow path.  In front of a magazine's sentinel lie some
 * meaningless words, so that the inline code can look ahead without a test. */
typedef struct
{
  void **top;
  void **end;
} SliceEntryV1;

#define SLICE_FRONT_WORDS_V1 5

/* The class of a size of at most SLICE_SIZE_MAX.  Steps of 8 bytes up to 256,
 * of 16 up to 512, of 32 up to 1040, of 128 up to 2064. */
#define SLICE_CLASS_V1(size)                                                  \
  ((size) <= 256    ? ((size) + 7) >> 3                                       \
   : (size) <= 512  ? (((size) + 15) >> 4) + 16                               \
   : (size) <= 1040 ? (((size) + 15) >> 5) + 33                               \
                    : (((size) + 111) >> 7) + 57)

#define SLICE_CLASSES_V1 (SLICE_CLASS_V1 (SLICE_SIZE_MAX) + 1)
#define SLICE_CLASS_TABLE_BYTES_V1 2072

/* The data of one thread.  The table gives the class of each size, so that a
 * size that is no constant takes one load instead of branches, which the
 * processor would mispredict for random sizes.  The table holds twice the
 * class: an address computation scales by 8 at no cost, and an entry has 16
 * bytes on 64 bits.  For the same reason the entries come first: an
 * address of three parts fits into each instruction if nothing is added. */
typedef struct
{
  SliceEntryV1 entries[SLICE_CLASSES_V1];
  unsigned char class_table[SLICE_CLASS_TABLE_BYTES_V1];
} SliceThreadV1;

/* The thread's own data, or that of all threads without magazines, in which
 * every entry is empty. */
extern SLICE_API __thread SliceThreadV1 *slice_tls_v1
    __attribute__ ((tls_model ("initial-exec")));

/* Twice the class of a size of at most SLICE_SIZE_MAX, and the entry of a
 * class.  Class 0 is that of size 0; its entry is always empty and full. */
#define SLICE_TWICE_CLASS_V1(thread, size)                                    \
  ((size_t) (__builtin_constant_p (size) ? 2 * SLICE_CLASS_V1 (size)          \
                                         : (thread)->class_table[size]))
#define SLICE_ENTRY_V1(thread, twice_class)                                   \
  ((SliceEntryV1 *) (void *) ((char *) (thread)->entries                      \
                              + sizeof (SliceEntryV1) / 2 * (twice_class)))

/* The slow path of the inline code. */
SLICE_API void slice_free_slow_v1 (size_t size, void *block);
SLICE_API void *slice_alloc_slow_v1 (size_t size)
    SLICE_ATTR_FREED_BY (slice_free_slow_v1, 2);
SLICE_API void *slice_try_alloc_slow_v1 (size_t size)
    SLICE_ATTR_FREED_BY (slice_free_slow_v1, 2);
SLICE_API void *slice_alloc0_slow_v1 (size_t size)
    SLICE_ATTR_FREED_BY (slice_free_slow_v1, 2);
SLICE_API void *slice_try_alloc0_slow_v1 (size_t size)
    SLICE_ATTR_FREED_BY (slice_free_slow_v1, 2);

/* Each inline function is also exported under its own name: for callers that
 * take its address, build without optimisation or bind from another
 * language.  alloc.c defines SLICE_DEFINE_EXPORTS to make these.  Without
 * optimisation nothing would be inlined, so there are no bodies then, and gcc
 * takes the attributes that name a deallocator (it refuses them on inline
 * functions). */
#ifdef SLICE_DEFINE_EXPORTS
# define SLICE_INLINE SLICE_API
# define SLICE_HAVE_BODIES_V1
# define SLICE_ALWAYS_V1
#elif defined SLICE_INLINE
# define SLICE_HAVE_BODIES_V1
#elif defined __OPTIMIZE__
# define SLICE_INLINE                                                         \
  SLICE_API extern __inline__ __attribute__ ((__gnu_inline__))
# define SLICE_HAVE_BODIES_V1
#else
# define SLICE_INLINE SLICE_API
# define SLICE_ALWAYS_V1
# define SLICE_INLINE_FREED_BY(function, n) SLICE_ATTR_FREED_BY (function, n)
#endif
#ifndef SLICE_INLINE_FREED_BY
# define SLICE_INLINE_FREED_BY(function, n)
#endif
#ifndef SLICE_ALWAYS_V1
# define SLICE_ALWAYS_V1 SLICE_ATTR_ALWAYS_INLINE
#endif
#define SLICE_LIKELY(x) __builtin_expect (!!(x), 1)
#define SLICE_UNLIKELY(x) __builtin_expect (!!(x), 0)
#define SLICE_LOAD(place) __atomic_load_n ((place), __ATOMIC_RELAXED)
#define SLICE_STORE(place, value)                                             \
  __atomic_store_n ((place), (value), __ATOMIC_RELAXED)

/* Hides from the compiler, in no instruction, that twice_class is what it was
 * before.  So each use computes the entry's address as part of its instruction
 * and none is needed to keep it. */
#define SLICE_FORGET_V1(size, twice_class)                                    \
  do                                                                          \
    if (!__builtin_constant_p (size))                                         \
      __asm__ ("" : "+r"(twice_class));                                       \
  while (0)

/* Moves top, which was loaded from an entry, by a step: if the size is no
 * constant, in one instruction that adds to memory.  Only the thread itself
 * writes the word.  A trim of another thread may read it meanwhile, and reads
 * the value before or after.  The thread sanitizer does not know that. */
#if defined __SANITIZE_THREAD__
# define SLICE_ADDS_TO_MEMORY_V1 0
#elif defined __has_feature
# if __has_feature(thread_sanitizer)
#  define SLICE_ADDS_TO_MEMORY_V1 0
# endif
#endif
#ifndef SLICE_ADDS_TO_MEMORY_V1
# define SLICE_ADDS_TO_MEMORY_V1 1
#endif
#define SLICE_MOVE_TOP_V1(thread, size, twice_class, loaded, step)            \
  do                                                                          \
    if (!SLICE_ADDS_TO_MEMORY_V1 || __builtin_constant_p (size))              \
      SLICE_STORE (&SLICE_ENTRY_V1 (thread, twice_class)->top,                \
                   (loaded) + (step));                                        \
    else                                                                      \
      {                                                                       \
        SLICE_FORGET_V1 (size, twice_class);                                  \
        SLICE_ENTRY_V1 (thread, twice_class)->top += (step);                  \
      }                                                                       \
  while (0)

/* The block on top of the thread's magazine, which is taken off; NULL if the
 * magazine is empty, or the size above all classes.  (A function that is not
 * exported can't be used in the inline ones.) */
#define SLICE_POP_V1(size)                                                    \
  __extension__ ({                                                            \
    SliceThreadV1 *thread_ = SLICE_LOAD (&slice_tls_v1);                      \
    void *block_ = NULL;                                                      \
    if (SLICE_LIKELY ((size) <= SLICE_SIZE_MAX))                              \
      {                                                                       \
        size_t twice_class_ = SLICE_TWICE_CLASS_V1 (thread_, size);           \
        void **top_                                                           \
            = SLICE_LOAD (&SLICE_ENTRY_V1 (thread_, twice_class_)->top);      \
        block_ = *top_;                                                       \
        if (SLICE_LIKELY (block_ != NULL))                                    \
          SLICE_MOVE_TOP_V1 (thread_, size, twice_class_, top_, -1);          \
      }                                                                       \
    block_;                                                                   \
  })

/* --- blocks -------------------------------------------------------------- */

/* Functions that free come first, because the attributes of those that
 * allocate name them. */

/** Frees a block.
 *
 * @param size   the size that it was allocated with
 * @param block  the block; NULL does nothing
 *
 * Errors: if the block is the one that was freed last in its class, the
 *   program ends at once.  Other misuse ends it when the block comes back to
 *   its slab at the latest (slice-errors(7)).
 * Threads: any, not only the one that allocated.
 * Cost: 8 instructions; as slice_alloc().
 * Source: g_slice_free1().
 */
SLICE_INLINE void slice_free1 (size_t size, void *block);

/** Allocates a block.
 *
 * @param size  bytes; 0 gives NULL, and options can't be set after it, either
 * @return      the block, contents undefined; NULL only if size is 0
 *
 * Errors: no memory ends the program (see the top of this file).
 * Threads: any.
 * Cost: 8 instructions, or 10 if the size is no constant.  One call in a few
 *   dozen exchanges a magazine, which takes a lock.  The work of each call is
 *   bounded.
 * Source: g_slice_alloc().
 */
SLICE_INLINE void *slice_alloc (size_t size) SLICE_ATTR_MALLOC
    SLICE_ATTR_ALLOC_SIZE (1) SLICE_INLINE_FREED_BY (slice_free1, 2);

/** As slice_alloc(), but returns NULL when there is no memory.
 *
 * @param size  bytes; 0 gives NULL
 * @return      the block, or NULL with errno ENOMEM
 *
 * Cost: as slice_alloc().  A call that finds no memory trims, as
 *   slice_trim (0) does, and asks the system again: dozens of system calls
 *   each time, and locks that all threads share.
 */
SLICE_INLINE void *slice_try_alloc (size_t size) SLICE_ATTR_MALLOC
    SLICE_ATTR_ALLOC_SIZE (1) SLICE_INLINE_FREED_BY (slice_free1, 2);

/** As slice_alloc(), with all `size` bytes zero; above SLICE_SIZE_MAX by
 * calloc(), which leaves new memory untouched.  Source: g_slice_alloc0(). */
SLICE_INLINE void *slice_alloc0 (size_t size) SLICE_ATTR_MALLOC
    SLICE_ATTR_ALLOC_SIZE (1) SLICE_INLINE_FREED_BY (slice_free1, 2);

/** As slice_try_alloc(), with all `size` bytes zero. */
SLICE_INLINE void *slice_try_alloc0 (size_t size) SLICE_ATTR_MALLOC
    SLICE_ATTR_ALLOC_SIZE (1) SLICE_INLINE_FREED_BY (slice_free1, 2);

/** Allocates a block and copies into it.
 *
 * @param size    bytes; 0 gives NULL
 * @param source  what to copy; NULL gives NULL, as g_memdup2() does
 * @return        the block
 *
 * In C++ what `source` points to must be trivially copyable.
 * Errors, Threads, Cost: as slice_alloc(), and the copy.
 * Source: g_slice_copy().
 */
SLICE_INLINE void *slice_copy (size_t size, const void *source)
    SLICE_ATTR_ALLOC_SIZE (1) SLICE_INLINE_FREED_BY (slice_free1, 2);

/** Frees a singly linked chain of blocks of one size.
 *
 * @param size         the size of each
 * @param chain        the first; NULL does nothing
 * @param next_offset  bytes from a block's start to its pointer to the next
 *
 * Errors: as slice_free1(); a chain that comes back to itself (111).  The
 *   default mode follows a wild link.  The checking modes look up each block
 *   first (102, or 108 where blocks come from malloc).
 * Threads: any.  Cost: O(length).
 * Source: g_slice_free_chain_with_offset().
 */
SLICE_API void slice_free_chain_with_offset (size_t size, void *chain,
                                             size_t next_offset);

/** Frees an array of slice_alloc_n(): the same n and size. */
SLICE_API void slice_free_n (size_t n, size_t size, void *block);

/** Allocates an array.
 *
 * @param n     elements
 * @param size  bytes of each
 * @return      n * size bytes; NULL if either is 0
 *
 * Errors: a product that overflows counts as no memory.
 * Threads, Cost: as slice_alloc().  Free with slice_free_n(). */
SLICE_API void *slice_alloc_n (size_t n, size_t size) SLICE_ATTR_MALLOC
    SLICE_ATTR_ALLOC_SIZE2 (1, 2) SLICE_ATTR_FREED_BY (slice_free_n, 3);
/** As slice_alloc_n(), zeroed. */
SLICE_API void *slice_alloc0_n (size_t n, size_t size) SLICE_ATTR_MALLOC
    SLICE_ATTR_ALLOC_SIZE2 (1, 2) SLICE_ATTR_FREED_BY (slice_free_n, 3);
/** As slice_alloc_n(), but NULL with errno ENOMEM when there is no memory. */
SLICE_API void *slice_try_alloc_n (size_t n, size_t size) SLICE_ATTR_MALLOC
    SLICE_ATTR_ALLOC_SIZE2 (1, 2) SLICE_ATTR_FREED_BY (slice_free_n, 3);

/** Frees a block of slice_alloc_aligned(): the same alignment and size; a
 * NULL block does nothing. */
SLICE_API void slice_free_aligned (size_t alignment, size_t size, void *block);

/** Allocates a block with a given alignment.
 *
 * @param alignment  a power of two up to 4096
 * @param size       bytes, rounded up to a multiple of alignment; 0 gives NULL
 * @return           the block
 *
 * Errors: an alignment that is not a power of two, or is above 4096, ends the
 *   program; no memory: as slice_alloc().
 * Threads, Cost: as slice_alloc() if the class has this alignment anyway
 *   (alignments up to 64 and sizes up to 512), else as posix_memalign().
 */
SLICE_API void *slice_alloc_aligned (size_t alignment, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2)
    SLICE_ATTR_FREED_BY (slice_free_aligned, 3);
/** As slice_alloc_aligned(), with all `size` bytes zero.  Cost: as
 * slice_alloc0() for alignments up to 16; above, a large block is cleared. */
SLICE_API void *slice_alloc0_aligned (size_t alignment, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2)
    SLICE_ATTR_FREED_BY (slice_free_aligned, 3);
/** As slice_alloc_aligned(), but NULL with errno ENOMEM. */
SLICE_API void *slice_try_alloc_aligned (size_t alignment, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2)
    SLICE_ATTR_FREED_BY (slice_free_aligned, 3);
/** As slice_try_alloc_aligned(), with all `size` bytes zero. */
SLICE_API void *slice_try_alloc0_aligned (size_t alignment, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2)
    SLICE_ATTR_FREED_BY (slice_free_aligned, 3);
/** Frees a block of slice_alloc() or slice_alloc_aligned() whose size the
 * caller does not know.  It looks the size up.
 *
 * @param block  of any size and alignment; NULL does nothing
 *
 * Errors: as slice_free_bulk(); but an address that is in no slab is passed to
 *   free(), because it may be a large block.
 * Threads: any.  Cost: as slice_free_bulk(), or free(). */
SLICE_API void slice_free_unsized (void *block);

/* --- for libraries that build on slices ---------------------------------- */

/** Frees many blocks of any classes, such as a whole tree, directly to their
 * slabs.  The magazines would mix the order of addresses.
 *
 * @param n       how many; after a call with 0, too, options can't be set
 * @param blocks  slice blocks (size at most SLICE_SIZE_MAX when allocated);
 *                NULLs are skipped.  The array is not changed.
 *
 * Errors: a pointer that is no live block ends the program at once.  In the
 *   default mode a block that was freed and still lies in a magazine counts
 *   as live.
 * Threads: any, not only the ones that allocated.
 * Cost: one atomic operation for all blocks in a row that share a word of 64
 *   chunks in their slab's bitmap; a lock only to set the first or the last
 *   bit of such a word.
 */
SLICE_API void slice_free_bulk (size_t n, void *const *blocks);

/* slice_free_bulk() of one block for libraries that take over other calls:
 * messages name `call', which must stay. */
SLICE_API void slice_free_as_v1 (void *block, const char *call);

/* As slice_block_size(), even if the compiler knows the size of the block. */
SLICE_API size_t slice_block_size_v1 (const void *block);

/** The usable size of a live block.
 *
 * @param block  a live block of any size; not NULL
 * @return       bytes that may be used, at least the requested size.  If the
 *               compiler sees how the block was allocated, exactly the
 *               requested size, because the compiler may report accesses
 *               beyond it as overruns (_FORTIFY_SOURCE,
 *               -fsanitize=object-size).
 *
 * Threads: any.  Cost: a few loads. */
SLICE_INLINE size_t slice_block_size (const void *block) SLICE_ALWAYS_V1;

/* For slice.hpp and the Rust crate: any power of two; large blocks. */
SLICE_API void *slice_try_alloc_wide_v1 (size_t alignment, size_t size);
SLICE_API void slice_free_wide_v1 (size_t alignment, size_t size, void *block);
SLICE_API void *slice_try_resize_wide_v1 (size_t alignment, size_t old_size,
                                          size_t size, void *block);

/* --- giving memory back -------------------------------------------------- */

/** Gives spare memory back to the system now: the caller's own magazines,
 * magazines that have been in the depot for longer than `max_age_msec`, the
 * magazines of sleeping threads, and slabs and pages that become free by that.
 * If the system cannot tell whether a thread sleeps, the thread keeps one block
 * of each size.  In the checking modes and with the option `count` sleeping
 * threads keep their magazines.
 *
 * @param max_age_msec  milliseconds; 0 gives everything back, and shrinks the
 *                      checking modes' tables of blocks (part of
 *                      SliceStats.meta_bytes) to what live blocks need, so that
 *                      debug may forget who freed a block.  The smallest tables
 *                      stay, 200 kB in all, and so do each thread's lists of
 *                      freed blocks that wait: 32 kB in debug for each size
 *                      class that the thread used, until it ends; and 4 MiB
 *                      of tags for each extent of 32 MiB with a live block
 * @return              bytes given back to the system, by which
 *                      SliceStats.held_bytes falls and returned_bytes grows
 *                      during the call
 *
 * Threads: any; what other threads give back meanwhile counts as well.
 * Cost: in proportion to what is given back.
 */
SLICE_API size_t slice_trim (unsigned max_age_msec);

/** Returns all chunks in the calling thread's magazines to the depot and the
 * slabs, for a thread that is about to be idle for a long time.
 * Threads: any.  Cost: O(chunks). */
SLICE_API void slice_thread_flush (void);

/* --- the inline bodies ---------------------------------------------------- */

#ifdef SLICE_HAVE_BODIES_V1

SLICE_INLINE void *
slice_alloc (size_t size)
{
  void *block = SLICE_POP_V1 (size);
  return SLICE_LIKELY (block != NULL) ? block : slice_alloc_slow_v1 (size);
}

SLICE_INLINE void *
slice_try_alloc (size_t size)
{
  void *block = SLICE_POP_V1 (size);
  return SLICE_LIKELY (block != NULL) ? block : slice_try_alloc_slow_v1 (size);
}

SLICE_INLINE void *
slice_alloc0 (size_t size)
{
  void *block = SLICE_POP_V1 (size);
  return SLICE_LIKELY (block != NULL) ? memset (block, 0, size)
                                      : slice_alloc0_slow_v1 (size);
}

SLICE_INLINE void *
slice_try_alloc0 (size_t size)
{
  void *block = SLICE_POP_V1 (size);
  return SLICE_LIKELY (block != NULL) ? memset (block, 0, size)
                                      : slice_try_alloc0_slow_v1 (size);
}

SLICE_INLINE void *
slice_copy (size_t size, const void *source)
{
  void *block = SLICE_LIKELY (source != NULL) ? slice_alloc (size) : NULL;
  if (SLICE_LIKELY (block != NULL))
    memcpy (block, source, size);
  return block;
}

SLICE_INLINE void
slice_free1 (size_t size, void *block)
{
  SliceThreadV1 *thread = SLICE_LOAD (&slice_tls_v1);
  if (SLICE_LIKELY (size <= SLICE_SIZE_MAX))
    {
      size_t twice_class = SLICE_TWICE_CLASS_V1 (thread, size);
      void **top = SLICE_LOAD (&SLICE_ENTRY_V1 (thread, twice_class)->top);
      SLICE_FORGET_V1 (size, twice_class);
      if (SLICE_LIKELY (top != SLICE_ENTRY_V1 (thread, twice_class)->end
                        && *top != block))
        {
          SLICE_STORE (top + 1, block);
          SLICE_MOVE_TOP_V1 (thread, size, twice_class, top, 1);
          return;
        }
    }
  slice_free_slow_v1 (size, block);
}

SLICE_INLINE size_t
slice_block_size (const void *block)
{
  size_t bytes = slice_block_size_v1 (block);
  size_t known = SLICE_KNOWN_BYTES_V1 (block);
  return bytes < known ? bytes : known;
}

#endif /* SLICE_HAVE_BODIES_V1 */

/* --- typed macros -------------------------------------------------------- */

/* The size of a type, but at least 1, so that a type without members gets a
 * block, too. */
#define SLICE_SIZEOF_(type) (sizeof (type) + (sizeof (type) == 0))
/* Does a block of a type's size have the alignment of the type?  A constant.
 * (A type with the attribute aligned may need 16 without being a multiple of
 * 16.) */
#define SLICE_ALIGNED_BY_SIZE_(type)                                          \
  (__alignof__ (type) <= ((SLICE_SIZEOF_ (type) + 7) % 16 < 8 ? 16 : 8))
/* Never run; draws a warning (C) or an error (C++) if `block` is no type *.
 * C++ accepts a pointer to a derived type for one to its base. */
#define SLICE_CHECK_TYPE_(type, block)                                        \
  SLICE_CAST_ (void, SLICE_NULL_ (type *) == (block))

/* Never run; an error in C++ if `type` cannot be copied by its bytes. (A
 * std::pair of numbers can, though it cannot be assigned so.) */
#ifdef __cplusplus
# define SLICE_IS_BYTES_(type)                                                \
   (__is_trivially_copyable (type)                                            \
    || __is_trivially_constructible (type, const type &))
# define SLICE_CHECK_BYTES_(type)                                             \
   [] {                                                                       \
     static_assert (SLICE_IS_BYTES_ (type),                                   \
                    #type " is not trivially copyable");                      \
   } ()
#else
# define SLICE_CHECK_BYTES_(type) SLICE_CAST_ (void, 0)
#endif

/* By `alloc' or, for a type that needs more alignment than its size implies,
 * by its form for aligned blocks. */
#define SLICE_NEW_(type, alloc)                                               \
  SLICE_CAST_ (type *, SLICE_ALIGNED_BY_SIZE_ (type)                          \
                           ? alloc (SLICE_SIZEOF_ (type))                     \
                           : alloc##_aligned (__alignof__ (type),             \
                                              SLICE_SIZEOF_ (type)))

/** Allocates a block for one `type`, aligned as the type requires. gcc 11 and
 * later warn (-Wmismatched-dealloc, in -Wall) if such a block goes to free()
 * (with optimisation only if the type is aligned to more than 16), and if a
 * block of malloc() goes to slice_free().
 * Source: g_slice_new(). */
#define slice_new(type) SLICE_NEW_ (type, slice_alloc)

/** As slice_new(), zeroed.  Source: g_slice_new0(). */
#define slice_new0(type) SLICE_NEW_ (type, slice_alloc0)

/** As slice_new(), but NULL with errno ENOMEM when there is no memory. */
#define slice_try_new(type) SLICE_NEW_ (type, slice_try_alloc)

/** As slice_try_new(), zeroed. */
#define slice_try_new0(type) SLICE_NEW_ (type, slice_try_alloc0)

/** A copy of `*block`.  In C++ `type` must be trivially copyable.
 * Source: g_slice_dup(). */
#define slice_dup(type, block)                                                \
  SLICE_CAST_ (type *, 1 ? memcpy (SLICE_CAST_ (void *, slice_new (type)),    \
                                   (block), sizeof (type))                    \
                         : (SLICE_CHECK_TYPE_ (type, block),                  \
                            SLICE_CHECK_BYTES_ (type),                        \
                            SLICE_NULL_ (void *)))

/** Frees a block of slice_new(); NULL does nothing.
 * Source: g_slice_free(). */
#define slice_free(type, block)                                               \
  (1 ? (SLICE_ALIGNED_BY_SIZE_ (type)                                         \
            ? slice_free1 (SLICE_SIZEOF_ (type), (block))                     \
            : slice_free_aligned (__alignof__ (type), SLICE_SIZEOF_ (type),   \
                                  (block)))                                   \
     : SLICE_CHECK_TYPE_ (type, block))

/** Frees a chain of blocks of slice_new() that are linked through the member
 * `next`.  Source: g_slice_free_chain(). */
#define slice_free_chain(type, chain, next)                                   \
  (1 ? (SLICE_ALIGNED_BY_SIZE_ (type)                                         \
            ? slice_free_chain_with_offset (SLICE_SIZEOF_ (type), (chain),    \
                                            offsetof (type, next))            \
            : slice_free_chain_aligned (__alignof__ (type),                   \
                                        SLICE_SIZEOF_ (type), (chain),        \
                                        offsetof (type, next)))               \
     : SLICE_CHECK_TYPE_ (type, chain))

/** As slice_free_chain_with_offset(), for blocks of slice_alloc_aligned(). */
SLICE_API void slice_free_chain_aligned (size_t alignment, size_t size,
                                         void *chain, size_t next_offset);

SLICE_END_DECLS

#ifdef __cplusplus
/* For types that cannot be copied by their bytes. */
extern "C++"
{
template <typename Type, size_t = sizeof (Type)>
inline void *
slice_copy (size_t size, const Type *source)
{
  static_assert (SLICE_IS_BYTES_ (Type),
                 "slice_copy: the type is not trivially copyable");
  return slice_copy (size, static_cast<const void *> (source));
}
}
#endif

#endif
