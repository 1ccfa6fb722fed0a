/* dispatch.c - serves a block by magazines, a checking mode, slabs or malloc
 *
 * Layer: alloc.  Below: magazine; slab where magazines are bypassed; the
 * system's malloc for large blocks.  The mode and the size given decide which
 * of them frees a block.  Where no size is given, or GLib may own the block,
 * its address decides: free_slow() in heap/heap.c; dropin/gslice/foreign.c.
 * Locks: begin_lock, for the first call (rank 70).  Design: chapters 2, 6 and
 * 9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "alloc.h"
#include "checking/registry/block-registry.h"
#include "magazine/magazine.h"
#include "dispatch.h"
#include "slab/chunk.h"
#include "slab/slab.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/option.h"
#include "base/trace.h"
#include "port/annotate.h"
#include "port/os/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Links what SLICE_OPTIONS may select for the exit. */
__attribute__ ((used)) static const char *const exit_link = &sli_exit_link;

/* --- one attempt --------------------------------------------------------- */

void
sli_dispatch_count_malloc (void)
{
  COUNT_UP_SHARED (sli_dispatch.path == PATH_MALLOC
                       ? &sli_dispatch.n_live_mallocs
                       : &sli_dispatch.n_large_allocs,
                   1);
}

void
sli_dispatch_count_malloc_free (void)
{
  if (sli_dispatch.path == PATH_MALLOC)
    COUNT_DOWN_SHARED (&sli_dispatch.n_live_mallocs, 1);
  else
    COUNT_UP_SHARED (&sli_dispatch.n_large_frees, 1);
}

static void *
malloc_alloc (size_t size, bool zero, const void *site)
{
  void *block;

  assert_here (size > 0 && dispatch_goes_to_malloc (size));
  if (UNLIKELY (size > PTRDIFF_MAX - sli_dispatch.zone_bytes))
    {
      errno = ENOMEM;
      return NULL;
    }
  TRACE_INTERNAL (
      block = sli_os_malloc (size + sli_dispatch.zone_bytes, zero));
  if (block == NULL)
    return NULL;
  if (sli_dispatch.registers && !sli_checking_add_large (block, size, site))
    {
      TRACE_INTERNAL (free (block));
      return NULL;
    }
  sli_dispatch_count_malloc ();
  return block;
}

/* malloc knows a block's size: exactly under a tool, else rounded up. */
static void
check_malloc_size (size_t size, void *block, const char *operation)
{
  size_t bytes;

  assert_here (sli_dispatch.path == PATH_MALLOC);
  /* The sanitizer reports a bad free itself: a free block has no size. */
  if (!sli_os_malloc_may_own (block))
    return;
  bytes = sli_os_malloc_bytes (block);
  if (bytes != 0
      && (bytes < size || (sli_dispatch.malloc_is_exact && bytes != size)))
    sli_diag_misuse (ERROR_MALLOC_SIZE, operation,
                     &(BlockFacts){ .address = block,
                                    .given_bytes = size,
                                    .real_bytes = bytes });
}

COLD void
sli_dispatch_report_chunk (size_t size, const void *block,
                           const char *operation)
{
  const SizeClass *class;

  assert_here (chunk_may_be_at (block));
  if (sli_dispatch.path == PATH_CHECKING)
    sli_checking_report_free (size, block, operation);
  class = &sli_sizeclasses[chunk_class_of (block)];
  sli_diag_misuse (ERROR_WRONG_SIZE, operation,
                   &(BlockFacts){ .address = block,
                                  .given_bytes = size,
                                  .real_bytes = class->block_bytes });
}

static void
malloc_free (size_t size, void *block, const char *operation,
             const void *site)
{
  if (UNLIKELY (chunk_may_be_at (block)))
    sli_dispatch_report_chunk (size, block, operation);
  if (sli_dispatch.registers)
    sli_checking_remove_large (block, size, operation, site);
  else if (sli_dispatch.path == PATH_MALLOC)
    check_malloc_size (size, block, operation);
  sli_dispatch_count_malloc_free ();
  TRACE_INTERNAL (free (block));
}

void
sli_dispatch_free (size_t size, void *block, const char *operation,
                   const void *site)
{
  assert_here (size > 0 && block != NULL);
  if (dispatch_goes_to_malloc (size))
    malloc_free (size, block, operation, site);
  else if (sli_dispatch.path == PATH_MAGAZINES)
    sli_magazine_free (SLICE_CLASS_V1 (size), block);
  else if (sli_dispatch.path == PATH_CHECKING)
    sli_dispatch.untraced.free (size, block, operation, site);
  else
    sli_slab_free (SLICE_CLASS_V1 (size), 1, &block, operation);
}

COMMON_TEXT void *
sli_dispatch_alloc (size_t size, const void *site)
{
  if (dispatch_goes_to_malloc (size))
    return malloc_alloc (size, false, site);
  if (sli_dispatch.path == PATH_MAGAZINES)
    return sli_magazine_alloc (SLICE_CLASS_V1 (size));
  if (sli_dispatch.path == PATH_CHECKING)
    return sli_dispatch.untraced.alloc (size, site);
  return sli_magazine_alloc_slab (SLICE_CLASS_V1 (size));
}

void *
sli_dispatch_alloc0 (size_t size, const void *site)
{
  void *block;

  if (dispatch_goes_to_malloc (size))
    return malloc_alloc (size, true, site);
  block = sli_dispatch_alloc (size, site);
  return block != NULL ? memset (block, 0, size) : NULL;
}

/* --- any size, any block, and no memory --------------------------------- */

static void *
attempt_block (size_t alignment UNUSED, size_t size, const void *site)
{
  return sli_dispatch_alloc (size, site);
}

COMMON_TEXT static void *
alloc_any (size_t size, bool may_fail, const void *site)
{
  void *block;

  assert_here (LOAD_ACQUIRE (&sli_dispatch.ready));
  if (size == 0)
    return NULL;
  block = sli_dispatch_alloc (size, site);
  if (UNLIKELY (block == NULL))
    block = sli_oom_retry (attempt_block, 0, size, may_fail, site);
  assert_here (block != NULL || may_fail);
  return block;
}

static void *
attempt_block0 (size_t alignment UNUSED, size_t size, const void *site)
{
  return sli_dispatch_alloc0 (size, site);
}

void *
sli_dispatch_large0 (size_t size, bool may_fail, const void *site)
{
  void *block = sli_dispatch_alloc0 (size, site);

  assert_here (size > 0 && dispatch_goes_to_malloc (size));
  return LIKELY (block != NULL)
             ? block
             : sli_oom_retry (attempt_block0, 0, size, may_fail, site);
}

static void
free_as (size_t size, void *block, const char *operation, const void *site)
{
  assert_here (LOAD_ACQUIRE (&sli_dispatch.ready));
  if (block == NULL)
    return;
  if (UNLIKELY (size == 0))
    sli_diag_misuse (ERROR_WRONG_SIZE, operation,
                     &(BlockFacts){ .address = block });
  sli_dispatch_free (size, block, operation, site);
}

static void
free_any (size_t size, void *block, const void *site)
{
  free_as (size, block, "slice_free1", site);
}

void
sli_free_as (size_t size, void *block, const char *operation,
             const void *site)
{
  if (trace_is_on ())
    sli_trace_free (SLICE_TRACE_SLICE, block, size);
  free_as (size, block, operation, site);
}

/* --- before the first block ---------------------------------------------- */

/* Held while the first call initialises the layers.  pthread_once() would not
 * do: a fork waits until that is done, and a fork handler's call may be the
 * first one (fork.c). */
static Lock begin_lock = LOCK_INIT (LOCK_RANK_BEGIN);

COMMON_TEXT static COLD void *
first_alloc (size_t size, const void *site)
{
  sli_dispatch_begin_once ();
  return sli_dispatch.calls.alloc_any (size, site);
}

static COLD void *
first_try_alloc (size_t size, const void *site)
{
  sli_dispatch_begin_once ();
  return sli_dispatch.calls.try_alloc_any (size, site);
}

static COLD void
first_free (size_t size, void *block, const void *site)
{
  sli_dispatch_begin_once ();
  sli_dispatch.calls.free_any (size, block, site);
}

Dispatch sli_dispatch
    = { .calls = { first_alloc, first_try_alloc, first_free, NULL, NULL } };

/* --- calls without a checking mode --------------------------------------- */

COMMON_TEXT static void *
unchecked_alloc (size_t size, const void *site)
{
  return alloc_any (size, false, site);
}

CONTEXT_TEXT static void *
unchecked_try_alloc (size_t size, const void *site)
{
  return alloc_any (size, true, site);
}

static const CheckingCalls unchecked_calls
    = { unchecked_alloc, unchecked_try_alloc, free_any, NULL, NULL };

/* --- the first block ----------------------------------------------------- */

static AllocPath
choose_path (const char *tool, CheckingMode mode)
{
  if (sli_option_is_on (SLICE_OPTION_ALWAYS_MALLOC)
      || (tool != NULL && !sli_option_is_on (SLICE_OPTION_FORCE_POOL)))
    return PATH_MALLOC;
  if (mode != CHECKING_OFF)
    return PATH_CHECKING;
  if (sli_option_is_on (SLICE_OPTION_BYPASS_MAGAZINES))
    return PATH_SLABS;
  return PATH_MAGAZINES;
}

/* Returns true if malloc knows the exact requested size.  That of the
 * sanitizers and of memcheck does; under callgrind and massif malloc is the
 * usual one, which rounds. */
static bool
malloc_knows_exactly (const char *tool)
{
  const size_t odd_bytes = 13;
  bool is_exact;
  void *block;

  if (tool == NULL || strcmp (tool, "valgrind") != 0)
    return tool != NULL;
  TRACE_INTERNAL (block = malloc (odd_bytes));
  is_exact = block != NULL && sli_os_malloc_bytes (block) == odd_bytes;
  TRACE_INTERNAL (free (block));
  return is_exact;
}

/* Every malloc is registered only if the options name both always-malloc and a
 * mode: a tool finds bad frees of mallocs itself, and reports them better. */
static bool
registers_mallocs (void)
{
  return sli_dispatch.path == PATH_CHECKING
         || (sli_dispatch.mode != CHECKING_OFF
             && sli_option_is_on (SLICE_OPTION_ALWAYS_MALLOC));
}

/* The path of each block, and what depends on it. */
COMMON_TEXT static void
choose_dispatch (const char *tool)
{
  const CheckingFallback fallback = { alloc_any, free_any };
  bool is_checking;

  sli_dispatch.mode = sli_checking_begin (&fallback);
  sli_dispatch.path = choose_path (tool, sli_dispatch.mode);
  is_checking = sli_dispatch.path == PATH_CHECKING;
  sli_dispatch.untraced
      = is_checking ? *sli_checking_calls () : unchecked_calls;
  sli_dispatch.size_max = sli_dispatch.path == PATH_MALLOC ? 0
                          : is_checking ? sli_checking_size_max ()
                                        : SLICE_SIZE_MAX;
  sli_dispatch.zone_bytes = is_checking ? sli_checking_begin_zones () : 0;
  sli_dispatch.malloc_is_exact = malloc_knows_exactly (tool);
  sli_dispatch.registers = registers_mallocs ();
  assert_here (sli_dispatch.size_max <= SLICE_SIZE_MAX);
  assert_here ((sli_dispatch.size_max == 0)
               == (sli_dispatch.path == PATH_MALLOC));
  assert_here (!is_checking || sli_dispatch.mode != CHECKING_OFF);
}

/* Initialises the magazine layer and those below it. */
COMMON_TEXT static void
begin_magazines (void)
{
  bool is_hardened = sli_dispatch.mode >= CHECKING_HARDENED;
  MagazineOptions options = {
    .counts_hits = sli_option_is_on (SLICE_OPTION_COUNT),
    .picks_randomly = is_hardened,
    .checks_reentry = is_hardened,
    .n_quarantine = sli_checking_quarantine_chunks (sli_dispatch.mode)
  };

  options.is_inline
      = sli_dispatch.path == PATH_MAGAZINES && !options.counts_hits;
  sli_magazine_load ();
  sli_magazine_begin ();
  sli_magazine_init (&options);
  sli_dispatch.is_inline = options.is_inline;
}

COMMON_TEXT static void
dispatch_begin (void)
{
  const char *tool = sli_os_memory_tool ();

  assert_held (&begin_lock);
  assert_here (!sli_dispatch.ready);
  sli_option_freeze ();
  if (tool != NULL && sli_option (SLICE_OPTION_FORCE_POOL) == 2)
    sli_annotate_begin ();
  choose_dispatch (tool);
  begin_magazines ();
  sli_trace_apply_hooks ();
  sli_fork_hold_new_locks ();
  sli_annotate_happens_before (&sli_dispatch);
  STORE_RELEASE (&sli_dispatch.ready, true);
  sli_trace_apply_late_hooks ();
  if (sli_option_is_on (SLICE_OPTION_TRIM_THREAD))
    sli_trim_thread_start ();
}

/* The address of errno identifies the thread.  A signal handler that
 * interrupts the first call and calls the library would wait for itself. */
COMMON_TEXT void
sli_dispatch_begin_once (void)
{
  static int *beginner;

  if (UNLIKELY (LOAD (&beginner) == &errno))
    sli_diag_misuse (ERROR_REENTERED, "slice", NULL);
  sli_lock (&begin_lock);
  STORE (&beginner, &errno);
  if (!LOAD_ACQUIRE (&sli_dispatch.ready))
    dispatch_begin ();
  STORE (&beginner, NULL);
  sli_unlock (&begin_lock);
}

COMMON_TEXT Lock *
sli_dispatch_lock (void)
{
  return &begin_lock;
}

COMMON_TEXT bool
sli_alloc_is_ready (void)
{
  bool is_ready = LOAD_ACQUIRE (&sli_dispatch.ready);

  if (is_ready)
    sli_annotate_happens_after (&sli_dispatch);
  return is_ready;
}

COMMON_TEXT AllocPath
sli_alloc_path (void)
{
  return sli_dispatch.path;
}

void
sli_alloc_count_large (uint64_t *n_allocs, uint64_t *n_frees)
{
  *n_allocs = LOAD (&sli_dispatch.n_large_allocs);
  *n_frees = LOAD (&sli_dispatch.n_large_frees);
}

uint64_t
sli_alloc_count_live_mallocs (void)
{
  return LOAD (&sli_dispatch.n_live_mallocs);
}

/* Runs early, so that our key destructor and our prepare handler run in the
 * best order.  Options may still be set after this. */
COMMON_TEXT __attribute__ ((constructor)) static void
dispatch_load (void)
{
  sli_annotate_published (&sli_dispatch, sizeof sli_dispatch);
  sli_annotate_published (&sli_trace_hooks, sizeof sli_trace_hooks);
  /* Frees of batches read it without a look at `ready'. */
  sli_annotate_published (&sli_region_granule_shift,
                          sizeof sli_region_granule_shift);
  sli_magazine_load ();
  sli_fork_load ();
  sli_trace_load ();
}
