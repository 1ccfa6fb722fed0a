/* dispatch.c - which way a block goes: magazines, a checking mode, slabs, malloc
 *
 * Layer: alloc.  Below: magazine; and, for routing only, slab (magazines
 * bypassed) and the system's malloc (large blocks).  No locks.  Theory: sections 2 and 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "alloc.h"
#include "checking/block-registry.h"
#include "magazine/magazine.h"
#include "dispatch.h"
#include "slab/slab.h"
#include "base/diag.h"
#include "base/option.h"
#include "base/trace.h"
#include "port/annotate.h"
#include "port/os.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t route_once = PTHREAD_ONCE_INIT;

Route sli_route;

/* --- the first block ----------------------------------------------------- */

static AllocRoute
choose_route (const char *tool, GuardMode guard)
{
  if (sli_option_is_on (SLICE_OPTION_ALWAYS_MALLOC)
      || (tool != NULL && !sli_option_is_on (SLICE_OPTION_FORCE_POOL)))
    return ROUTE_MALLOC;
  if (guard != GUARD_OFF)
    return ROUTE_GUARD;
  if (sli_option_is_on (SLICE_OPTION_BYPASS_MAGAZINES))
    return ROUTE_SLABS;
  return ROUTE_MAGAZINES;
}

/* Does malloc tell the very size that was asked for?  The sanitizers' does, and
 * memcheck's; callgrind and massif leave malloc as it is, and it rounds. */
static bool
malloc_tells_exactly (const char *tool)
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

COMMON_TEXT static void
route_begin (void)
{
  const char *tool = sli_os_memory_tool ();
  const CheckingFallback fallback = { sli_alloc_any, sli_free_any };
  MagazineOptions options = { 0 };

  sli_option_freeze ();
  if (tool != NULL && sli_option (SLICE_OPTION_FORCE_POOL) == 2)
    sli_annotate_begin ();
  sli_route.guard = sli_guard_begin (&fallback);
  sli_route.route = choose_route (tool, sli_route.guard);
  sli_route.checked = sli_route.inner = *sli_guard_calls ();
  sli_route.size_max = sli_route.route == ROUTE_MALLOC  ? 0
                   : sli_route.route == ROUTE_GUARD ? sli_guard_size_max ()
                                                : SLICE_SIZE_MAX;
  sli_route.malloc_is_exact = malloc_tells_exactly (tool);
  sli_route.checks_blocks = sli_option_is_on (SLICE_OPTION_DEBUG_BLOCKS);
  sli_route.clears_freed = sli_option_is_on (SLICE_OPTION_CLEAR_FREED);
  options.counts_hits = sli_option_is_on (SLICE_OPTION_COUNT);
  options.is_inline = sli_route.route == ROUTE_MAGAZINES && !sli_route.checks_blocks
                      && !sli_route.clears_freed && !options.counts_hits;
  options.picks_randomly = sli_route.guard >= GUARD_HARDENED;
  options.checks_reentry = sli_route.guard >= GUARD_HARDENED;
  options.n_quarantine = sli_guard_quarantine_chunks (sli_route.guard);
  sli_magazine_load ();
  sli_magazine_begin ();
  sli_magazine_init (&options);
  sli_route.is_inline = options.is_inline;
  sli_trace_begin ();
  STORE_RELEASE (&sli_route.ready, true);
  sli_trace_follow ();
  if (sli_option_is_on (SLICE_OPTION_TRIM_THREAD))
    sli_trim_thread_start ();
}

COMMON_TEXT void
sli_route_begin_once (void)
{
  pthread_once (&route_once, route_begin);
}

COMMON_TEXT bool
sli_alloc_is_ready (void)
{
  return LOAD_ACQUIRE (&sli_route.ready);
}

AllocRoute
sli_alloc_route (void)
{
  return sli_route.route;
}

void
sli_alloc_count_large (uint64_t *n_allocs, uint64_t *n_frees)
{
  *n_allocs = LOAD (&sli_route.n_large_allocs);
  *n_frees = LOAD (&sli_route.n_large_frees);
}

/* In the checking modes the largest of our sizes are mallocs, too: these the
 * registry knows, and nobody asks for their number here. */
uint64_t
sli_alloc_count_small_mallocs (void)
{
  return sli_route.route == ROUTE_MALLOC ? LOAD (&sli_route.n_small_mallocs)
                                         : 0;
}

/* Early, so that our key is destroyed and our prepare handler called in the
 * best order; options may still be set after this. */
COMMON_TEXT __attribute__ ((constructor)) static void
route_load (void)
{
  sli_magazine_load ();
  sli_fork_load ();
  sli_trace_load ();
}

/* --- routing ------------------------------------------------------------- */

static void *
malloc_alloc (size_t size, const void *site)
{
  void *block;

  TRACE_INTERNAL (block = sli_os_malloc (size, false));
  if (block == NULL)
    return NULL;
  if (sli_route.route == ROUTE_GUARD && !sli_guard_add_large (block, size, site))
    {
      TRACE_INTERNAL (free (block));
      return NULL;
    }
  COUNT_UP_SHARED (size > SLICE_SIZE_MAX ? &sli_route.n_large_allocs
                                         : &sli_route.n_small_mallocs, 1);
  return block;
}

static void *
slab_alloc (unsigned class_index)
{
  void *chunk[1];

  return sli_slab_take (class_index, 1, chunk + 1) == 1 ? chunk[0] : NULL;
}

static void *
route_alloc (size_t size, const void *site)
{
  if (route_goes_to_malloc (size))
    return malloc_alloc (size, site);
  switch (sli_route.route)
    {
    case ROUTE_MAGAZINES:
      return sli_magazine_alloc (SLICE_CLASS_V1 (size));
    case ROUTE_GUARD:
      return sli_route.checked.alloc (size, site);
    default:
      return slab_alloc (SLICE_CLASS_V1 (size));
    }
}

/* A malloc'd block tells how large it is: exactly under a tool, else at
 * least. */
static void
check_malloc_size (size_t size, void *block)
{
  size_t bytes = sli_os_malloc_bytes (block);

  if (bytes != 0 && (bytes < size || (sli_route.malloc_is_exact && bytes != size)))
    sli_diag_misuse (ERROR_MALLOC_SIZE, "slice_free1", block, size, bytes);
}

static void
malloc_free (size_t size, void *block, const void *site)
{
  if (UNLIKELY (sli_slab_is_ours (block)))
    sli_diag_misuse (
        ERROR_WRONG_SIZE, "slice_free1", block, size,
        sli_route.route == ROUTE_GUARD
            ? sli_guard_block_size (block)
            : sli_sizeclasses[sli_slab_class_of (block)].block_bytes);
  if (sli_route.route == ROUTE_MALLOC)
    check_malloc_size (size, block);
  if (sli_route.route == ROUTE_GUARD)
    sli_guard_remove_large (block, size, "slice_free1", site);
  if (size > SLICE_SIZE_MAX)
    COUNT_UP_SHARED (&sli_route.n_large_frees, 1);
  else
    COUNT_DOWN_SHARED (&sli_route.n_small_mallocs, 1);
  TRACE_INTERNAL (free (block));
}

static void
route_free (size_t size, void *block, const void *site)
{
  if (sli_route.clears_freed)
    memset (block, 0, size);
  if (route_goes_to_malloc (size))
    {
      malloc_free (size, block, site);
      return;
    }
  switch (sli_route.route)
    {
    case ROUTE_MAGAZINES:
      sli_magazine_free (SLICE_CLASS_V1 (size), block);
      break;
    case ROUTE_GUARD:
      sli_route.checked.free (size, block, "slice_free1", site);
      break;
    default:
      sli_slab_give (SLICE_CLASS_V1 (size), 1, &block, "slice_free1");
      break;
    }
}

COMMON_TEXT void *
sli_route_alloc (size_t size, const void *site)
{
  void *block = route_alloc (size, site);

  if (block != NULL && sli_route.checks_blocks && sli_route.route != ROUTE_GUARD
      && !sli_block_check_add_at (block, size, site))
    {
      route_free (size, block, site);
      return NULL;
    }
  return block;
}

void
sli_route_free (size_t size, void *block, const void *site)
{
  if (sli_route.checks_blocks && sli_route.route != ROUTE_GUARD)
    sli_block_check_remove_at (block, size, "slice_free1", site);
  route_free (size, block, site);
}
