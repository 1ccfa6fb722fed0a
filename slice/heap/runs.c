/* runs.c - blocks that are runs, and runs for smaller blocks
 *
 * Layer: heap.  Below: page.  No locks.
 * Design: chapter 14.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "heap.h"
#include "base/align.h"
#include "port/os/os.h"

static struct
{
  size_t n_runs;
  size_t run_bytes;
  size_t block_bytes;
} counts;

HEAP_TEXT void
sli_heap_count_runs (ptrdiff_t n_runs, ptrdiff_t run_bytes,
                     ptrdiff_t block_bytes)
{
  if (n_runs != 0)
    COUNT_UP_SHARED (&counts.n_runs, (size_t) n_runs);
  if (run_bytes != 0)
    COUNT_UP_SHARED (&counts.run_bytes, (size_t) run_bytes);
  COUNT_UP_SHARED (&counts.block_bytes, (size_t) block_bytes);
}

void
slice_heap_count (SliceHeapCounts *to)
{
  *to = (SliceHeapCounts){ .n_runs = LOAD (&counts.n_runs),
                           .run_bytes = LOAD (&counts.run_bytes),
                           .run_block_bytes = LOAD (&counts.block_bytes) };
  sli_mapped_count (to);
}

/* --- runs ---------------------------------------------------------------- */

HEAP_TEXT char *
sli_heap_new_run (unsigned n_granules, SlabState state, HeapRun **run,
                  bool *is_zero)
{
  void *record;
  char *start = sli_page_alloc_run (n_granules, &record, is_zero);

  if (start == NULL)
    return NULL;
  *run = record;
  link_init (&(*run)->link);
  (*run)->n_carved = 0;
  (*run)->own_words[HEAP_LIVE] = 0;
  (*run)->own_words[HEAP_FREE] = 0;
  (*run)->own_words[HEAP_WHOLE] = 0;
  STORE (&(*run)->state, (uint8_t) state);
  sli_heap_count_runs (
      1, (ptrdiff_t) (n_granules * sli_page_granule_bytes ()), 0);
  return start;
}

HEAP_TEXT void
sli_heap_end_run (char *start, HeapRun *run)
{
  size_t bytes = heap_run_bytes (start);

  sli_heap_count_runs (-1, -(ptrdiff_t) bytes, 0);
  STORE (&run->state, (uint8_t) SLAB_NONE);
  if (sli_page_free_run (start, (unsigned) (bytes >> sli_region_granule_shift),
                         sli_os_clock_msec ()))
    sli_page_trim (0, 1);
}

/* --- blocks that are runs ------------------------------------------------ */

static unsigned
granules_for (size_t size)
{
  return (unsigned) ((size + sli_page_granule_bytes () - 1)
                     >> sli_region_granule_shift);
}

static size_t
run_bytes (unsigned n_granules)
{
  size_t region_granules = REGION_BYTES >> sli_region_granule_shift;

  return min_size (n_granules, region_granules / 4)
         << sli_region_granule_shift;
}

HEAP_TEXT size_t
sli_run_bytes_usual (void)
{
  return run_bytes (RUN_GRANULES_USUAL);
}

HEAP_TEXT size_t
sli_run_bytes_max (void)
{
  return run_bytes (RUN_GRANULES_MAX);
}

HEAP_TEXT void *
sli_run_alloc (size_t size, bool *is_zero)
{
  HeapRun *run;
  char *start
      = sli_heap_new_run (granules_for (size), SLAB_HEAP_RUN, &run, is_zero);

  if (start == NULL)
    return NULL;
  STORE (&run->own_words[HEAP_LIVE], 1);
  sli_heap_count_runs (0, 0, (ptrdiff_t) heap_run_bytes (start));
  return start;
}

HEAP_TEXT void
sli_run_check (const char *start, HeapRun *run, const void *block,
               const char *operation)
{
  if (UNLIKELY (block != start))
    sli_heap_report (ERROR_INTERIOR, block, operation);
  if (UNLIKELY (LOAD (&run->own_words[HEAP_LIVE]) == 0))
    sli_heap_report (ERROR_ALREADY_FREE, block, operation);
}

HEAP_TEXT void
sli_run_free (char *start, HeapRun *run, void *block, const char *operation)
{
  if (UNLIKELY (block != start))
    sli_heap_report (ERROR_INTERIOR, block, operation);
  if (UNLIKELY (__atomic_exchange_n (&run->own_words[HEAP_LIVE], 0,
                                     __ATOMIC_ACQ_REL)
                == 0))
    sli_heap_report (ERROR_ALREADY_FREE, block, operation);
  sli_heap_count_runs (0, 0, -(ptrdiff_t) heap_run_bytes (start));
  sli_heap_end_run (start, run);
}

HEAP_TEXT bool
sli_run_resize (char *start, size_t size)
{
  size_t bytes = heap_run_bytes (start);
  unsigned n_granules = (unsigned) (bytes >> sli_region_granule_shift);
  unsigned n_wanted = granules_for (size);
  ptrdiff_t difference;

  if ((size > sli_run_bytes_usual () && size > bytes) || n_wanted == 0)
    return false;
  if (n_wanted == n_granules)
    return true;
  if (!sli_page_resize_run (start, n_granules, n_wanted))
    return false;
  difference = ((ptrdiff_t) n_wanted - (ptrdiff_t) n_granules)
               * (ptrdiff_t) sli_page_granule_bytes ();
  sli_heap_count_runs (0, difference, difference);
  return true;
}
