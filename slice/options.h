/* options.h - options, which are set before the first block is allocated
 *
 * Public.  Options are read once, when the first block is allocated.  The
 * variable SLICE_OPTIONS (slice-options(7)) has precedence over
 * slice_set_option(), and that over the build's defaults.  A program that runs
 * setuid ignores the variable.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_OPTIONS_H
#define SLICE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <slice/version.h>

SLICE_BEGIN_DECLS

/** The options.  In SLICE_OPTIONS each has the name given in brackets.
 * Numbers left out belonged to options that are gone. */
typedef enum
{
  SLICE_OPTION_ALWAYS_MALLOC = 1,   /**< [always-malloc] 0 or 1; 0 by
                                         default.  Every block is a malloc of
                                         its own */
  SLICE_OPTION_BYPASS_MAGAZINES,    /**< [bypass-magazines] 0 or 1; 0 by
                                         default.  Every call goes straight to
                                         a slab */
  SLICE_OPTION_WORKING_SET_MSEC = 4, /**< [working-set-msec] 0 to 86400000;
                                         15000 by default.  How long spare
                                         memory is kept; 0 keeps none */
  SLICE_OPTION_PAGE_SOURCE = 6,     /**< [page-source] a SlicePageSource */
  SLICE_OPTION_HUGE_PAGES = 9,      /**< [huge-pages] 0, 1 or 2; 1 by default.
                                         When to request huge pages.  0: never;
                                         1: once the heap is large (128 MiB);
                                         2: from the start */
  SLICE_OPTION_TRIM_THREAD,         /**< [trim-thread] 0 or 1; 0 by default.
                                         A thread gives back what is older than
                                         the working set, for processes that go
                                         idle */
  SLICE_OPTION_COUNT,               /**< [count] 0 or 1; 0 by default.  Count
                                         the calls that magazines serve, which
                                         makes each slower */
  SLICE_OPTION_STATS,               /**< [stats] 0 or 1; 0 by default.  Print a
                                         table of the statistics at exit */
  SLICE_OPTION_ALIGN_16,            /**< [align-16] 0 or 1; 0 by default.  The
                                         size of every chunk is a multiple of
                                         16, so that every block is aligned to
                                         16 */
  SLICE_OPTION_FORCE_POOL = 15,     /**< [force-pool] 0, 1 or 2; 0 by default.
                                         1: use the slabs under valgrind and
                                         the sanitizers, too; 2: and make every
                                         block known to the tool */
  SLICE_OPTION_CHECKED,             /**< [checked] 0 or 1; 0 by default.  Find
                                         bad frees at the call; see Promises
                                         and limits.  debug-blocks, GLib's
                                         word, is another name for it */
  SLICE_OPTION_HARDENED,            /**< [hardened] 0 or 1; 0 by default, but 1
                                         in setuid programs and in a build with
                                         --enable-hardened.  As checked, with
                                         canaries, zeroed free blocks, a
                                         quarantine and guard pages */
  SLICE_OPTION_DEBUG,               /**< [debug] 0 or 1; 0 by default.  As
                                         hardened, with red zones, and the
                                         calls that allocated and freed each
                                         block */
  SLICE_OPTION_MAGAZINE_BYTES_MAX,  /**< [magazine-bytes-max] 4096 to 131072;
                                         131072 by default.  The most bytes
                                         that the blocks of a magazine have
                                         together, if it holds more than 4 */
  SLICE_OPTION_LEAKS,               /**< [leaks] 0 or 1; 1 by default.  In
                                         debug, list at exit the blocks that
                                         were never freed, by the place that
                                         allocated them */
  SLICE_OPTION_EXIT_CHECK,          /**< [exit-check] 0, 1 or 2; 1 by default.
                                         At exit, check the bytes around every
                                         live block and in every free one.  0:
                                         never; 1: in debug; 2: in hardened,
                                         too */
  SLICE_N_OPTIONS
} SliceOption;

/** Where the pages come from. */
typedef enum
{
  SLICE_PAGES_POSIX_MEMALIGN = 0,   /**< [posix_memalign] the default
                                         (mmap, if memory is limited) */
  SLICE_PAGES_MMAP,                 /**< [mmap] */
  SLICE_PAGES_MEMALIGN,             /**< [memalign] */
  SLICE_PAGES_VALLOC,               /**< [valloc] */
  SLICE_PAGES_MALLOC,               /**< [malloc] plain malloc, aligned by
                                         hand */
  SLICE_PAGES_CUSTOM                /**< the source that slice_set_source()
                                         was given: only that function sets
                                         it; as a value of page-source it is
                                         SLICE_SET_BAD_VALUE */
} SlicePageSource;

/** The result of slice_set_option() and slice_set_source(). */
typedef enum
{
  SLICE_SET_OK = 0,         /**< it holds from the first block on */
  SLICE_SET_TOO_LATE,       /**< the first block has been allocated, or a call
                                 was made that would; nothing changed */
  SLICE_SET_BAD_VALUE,      /**< out of range, or not built in */
  SLICE_SET_UNKNOWN         /**< no such option */
} SliceSetResult;

/** Sets an option.
 *
 * Some calls read the options although they allocate nothing, and so make it
 * too late: slice_alloc() of 0 bytes; slice_free1(), slice_free_chain() and
 * slice_free_aligned(), if the block is NULL; slice_free_bulk() of no blocks;
 * ralloc_track_roots() and ralloc_report_at_exit(); and a call that finds no
 * memory for a node or an arena.  Calls that only set, query or trim do not,
 * nor does a constructor of an arena that refuses its options, nor
 * slice_tlsf_new_fixed(): the heap that it has made stays as it is, and an
 * option that is set afterwards holds for what is made later.
 *
 * @param option  the option
 * @param value   its value, in the unit and range given above
 * @return        SLICE_SET_OK, or why nothing changed
 *
 * Errors: as returned; nothing is printed.
 * Threads: any, but only before the first block is allocated.
 * Cost: one lock.
 * Source: mirrors g_slice_set_config(), which only logged when too late.
 */
SLICE_API SliceSetResult slice_set_option (SliceOption option, int64_t value);

/** The value that the library uses (after the first block), or would use if
 * the first block were allocated now.  It includes the environment and the
 * defaults.
 *
 * Under valgrind and the sanitizers each block is a malloc of its own unless
 * force-pool is set, and the modes find nothing, whatever always-malloc,
 * checked, hardened and debug say; this function returns them as they were
 * set. slice_is_ours() says whether a block lies in a slab.
 *
 * @param option  the option
 * @param value   receives its value; not NULL
 * @return        false if there is no such option; *value is then 0
 *
 * Threads: any.  Cost: one lock.
 * Source: mirrors g_slice_get_config(), which gave the defaults only.
 */
SLICE_API bool slice_get_option (SliceOption option, int64_t *value);

/** The option of a name as in SLICE_OPTIONS.
 *
 * @param name  for example "working-set-msec"; not NULL
 * @return      the option, or 0 if there is none of that name
 *
 * Threads: any.  Cost: a walk over the table.
 */
SLICE_API SliceOption slice_option_by_name (const char *name);

SLICE_END_DECLS

#endif
