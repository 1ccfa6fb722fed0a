/* extent.c - extents: memory of the source, of which regions are made
 *
 * Layer: page.  Lock: sli_page.lock (rank 20).  Nothing is mapped or unmapped
 * while it is held.
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/address.h>

#include "page/page-state.h"
#include "page/map/extent-cache.h"
#include "base/align.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/list.h"
#include "base/option.h"
#include "base/sizeclass.h"
#include "base/trace.h"
#include "port/annotate.h"
#include "port/compiler.h"
#include "port/os/os.h"
#include "port/probe.h"

#include <errno.h>
#include <string.h>

#define EXTENT_FIRST_BYTES KIB (256)

enum
{
  /* What the process may have is enough for so many extents, unless they would
   * be smaller than a region. */
  EXTENTS_IN_LIMIT = 16,
  /* Where the system reserves all that is mapped, an extent adds a quarter. */
  EXTENTS_IN_RESERVED = 4
};

SLICE_STATIC_ASSERT (SLICE_OURS_BYTES == 1 << OURS_SHIFT,
                     "a bit of the map is what the header promises");
SLICE_STATIC_ASSERT (EXTENT_FIRST_BYTES % SLICE_OURS_BYTES == 0
                         && EXTENT_BYTES_MAX % SLICE_OURS_BYTES == 0
                         && (SLICE_OURS_BYTES & (SLICE_OURS_BYTES - 1)) == 0,
                     "the map has whole bits for an extent, halved or not");

/* --- failures ------------------------------------------------------------ */

/* While a source has no memory, it is asked for the least size alone, which
 * takes a system call or two, where eight sizes would take dozens.  A caller
 * that can do without even waits until so long after the failure, twice as long
 * each time. */
enum
{
  WAIT_MSEC_MAX = 256
};

typedef struct
{
  uint32_t failed_msec; /* the latest failure that made the wait longer */
  uint32_t wait_msec;   /* 0: there was memory the last time, or an extent was
                           unmapped since */
  bool had_none;        /* no memory of any size, not memory of no use */
} Failure;

static Failure no_extent; /* the source had none */
static Failure no_pages;  /* the system had none for the library's records */

COMMON_TEXT static bool
failure_is_recent (const Failure *failure)
{
  uint32_t wait_msec = LOAD (&failure->wait_msec);

  return wait_msec != 0
         && (uint32_t) sli_os_clock_msec () - LOAD (&failure->failed_msec)
                < wait_msec;
}

COLD static void
failure_note (Failure *failure)
{
  uint32_t wait_msec = LOAD (&failure->wait_msec);

  if (failure_is_recent (failure))
    return;
  STORE (&failure->failed_msec, (uint32_t) sli_os_clock_msec ());
  STORE (&failure->wait_msec,
         wait_msec == 0 ? 1
                        : (uint32_t) min_size (2 * wait_msec, WAIT_MSEC_MAX));
}

static void
failure_forget (Failure *failure)
{
  if (LOAD (&failure->wait_msec) == 0)
    return;
  STORE (&failure->wait_msec, 0);
  STORE (&failure->had_none, false);
}

COMMON_TEXT bool
sli_extent_is_unlikely (void)
{
  return failure_is_recent (&no_extent);
}

void *
sli_extent_map_pages (size_t bytes)
{
  int error = errno;
  void *pages = NULL;

  if (!failure_is_recent (&no_pages))
    {
      pages = sli_os_map (bytes, sli_os_page_bytes ());
      errno = error; /* as in extent_map() */
      if (pages != NULL)
        failure_forget (&no_pages);
      else
        failure_note (&no_pages);
    }
  return pages;
}

/* --- mapping ------------------------------------------------------------- */

/* A program's own source may return memory that is not aligned or mapped. */
static bool
extent_is_usable (void *start, size_t bytes)
{
  return ((uintptr_t) start & (REGION_BYTES - 1)) == 0
         && (sli_option (SLICE_OPTION_PAGE_SOURCE) != SLICE_PAGES_CUSTOM
             || sli_os_is_mapped (start, bytes));
}

/* A source may return memory twice.  False: some of this is in an extent. */
static bool
extent_is_apart (const char *start, size_t bytes)
{
  assert_held (&sli_page.lock);
  LINK_EACH (link, &sli_page.extents)
    {
      const Extent *extent = LINK_OWNER (link, Extent, link);

      if ((uintptr_t) start < (uintptr_t) extent->start + extent->bytes
          && (uintptr_t) extent->start < (uintptr_t) start + bytes)
        return false;
    }
  return true;
}

/* Refuses memory of a program's own source; true: it can be used.  Memory that
 * is in use is not returned to the source, whatever else is wrong with it. */
static bool
extent_accept (const SliceSource *source, void *start, size_t bytes)
{
  bool is_apart;

  sli_lock (&sli_page.lock);
  is_apart = extent_is_apart (start, bytes);
  sli_unlock (&sli_page.lock);
  if (UNLIKELY (!is_apart))
    {
      sli_diag_bad_source (BAD_SOURCE_IN_USE, source, source->name, start);
      return false;
    }
  if (LIKELY (extent_is_usable (start, bytes)))
    return true;
  sli_diag_bad_source (BAD_SOURCE_UNUSABLE, source, source->name, start);
  if (source->unmap != NULL)
    TRACE_INTERNAL (source->unmap (source, start, bytes));
  return false;
}

/* Maps *bytes.  While the source has no memory, tries half as much, down to
 * least_bytes.  Leaves errno alone: the call may succeed nevertheless; if it
 * does not, a layer above sets it.  No lock is held. */
static void *
extent_map (size_t *bytes, size_t least_bytes, bool *is_zeroed)
{
  const SliceSource *source = sli_page.source;
  int error = errno;
  void *start;

  for (;; *bytes /= 2)
    {
      TRACE_INTERNAL (start = source->map (source, *bytes, REGION_BYTES));
      if (start != NULL || *bytes / 2 < least_bytes)
        break;
    }
  errno = error;
  STORE (&no_extent.had_none, start == NULL);
  if (start == NULL || !extent_accept (source, start, *bytes))
    return NULL;
  if (sli_annotate_is_on ())
    sli_annotate_extent (start, *bytes);
  *is_zeroed = source->is_zeroed
               || (source->advise_away != NULL
                   && source->advise_away (source, start, *bytes));
  errno = error;
  return start;
}

void
sli_extent_unmap (void *start, size_t bytes)
{
  if (sli_annotate_is_on ())
    sli_annotate_extent_end (start, bytes);
  TRACE_INTERNAL (sli_page.source->unmap (sli_page.source, start, bytes));
  failure_forget (&no_extent);
  failure_forget (&no_pages);
}

/* Uses the first entry that was never set, if there is one. */
static void
extent_cache_add (Extent *extent)
{
  Region *first = extent->start;

  assert_held (&sli_page.lock);
  assert_here (extent->bytes <= EXTENT_BYTES_MAX);
  for (unsigned i = 0; i < CACHED_EXTENTS; i++)
    {
      CachedExtent *entry = extent_cache_entry (i);

      if (LOAD (&entry->start) != 0)
        continue;
      STORE (&entry->classes,
             extent->n_regions == 1 ? first->run_class : first->extent_class);
      STORE (&entry->start, (uintptr_t) extent->start);
      extent->cached = entry;
      return;
    }
}

COMMON_TEXT void
sli_extent_cache_grow (const Extent *extent)
{
  size_t bytes
      = min_size (extent->n_initialised * REGION_BYTES, extent->bytes);

  assert_held (&sli_page.lock);
  if (extent->cached != NULL)
    STORE_RELEASE (&extent->cached->bytes, bytes - CACHED_EXTENT_END_BYTES);
}

static void
extent_cache_remove (const Extent *extent)
{
  assert_held (&sli_page.lock);
  if (extent->cached != NULL)
    STORE (&extent->cached->bytes, 0);
}

COMMON_TEXT static void
extent_add (void *start, size_t bytes, bool is_zeroed, bool is_huge)
{
  Region *first = start;
  Extent *extent = &first->extent_record;

  assert_held (&sli_page.lock);
  assert_here (region_of (start) == start);
  if (!is_zeroed)
    memset (first, 0, sli_page.granule_bytes);
  first->extent = extent;
  extent->start = start;
  extent->bytes = bytes;
  extent->n_regions = (unsigned) ((bytes + REGION_BYTES - 1) / REGION_BYTES);
  extent->is_zeroed = is_zeroed;
  extent->is_huge = is_huge;
  extent->is_permanent = link_is_alone (&sli_page.extents);
  extent_cache_add (extent);
  link_after (&extent->link, &sli_page.extents);
  sli_page.unfinished = extent;
  COUNT_UP (&sli_page.counts.mapped_bytes, bytes);
  COUNT_UP (&sli_page.counts.n_maps, 1);
}

/* Adds an extent that the source can't unmap, although another thread has
 * added one meanwhile.  All its regions are initialised at once, as idle
 * ones. */
static void
extent_add_initialised (void *start, size_t bytes, bool is_zeroed,
                        bool is_huge)
{
  Extent *unfinished = sli_page.unfinished, *extent;

  assert_held (&sli_page.lock);
  extent_add (start, bytes, is_zeroed, is_huge);
  extent = sli_page.unfinished;
  while (extent->n_initialised < extent->n_regions)
    sli_region_init_idle (extent);
  sli_page.unfinished = unfinished;
}

/* The size of the smallest extent that holds a run, a power of two. */
COMMON_TEXT static size_t
extent_least_bytes (unsigned n_granules)
{
  size_t bytes = max_size (EXTENT_FIRST_BYTES, 4 * sli_page.granule_bytes);
  size_t run_bytes = n_granules * sli_page.granule_bytes;
  size_t header_bytes
      = sli_page.granule_bytes
        + (sli_page.has_tags ? REGION_BYTES >> (TAG_GRAIN_SHIFT - 1) : 0);

  while (n_granules > SLAB_GRANULES_MAX && bytes < run_bytes + header_bytes)
    bytes *= 2;
  return bytes;
}

/* The most that an extent may be where the system reserves all that is mapped:
 * in proportion to what there is.  (From other sources than mmap small extents
 * would lie in malloc's heap.) */
COMMON_TEXT static size_t
extent_reserved_bytes (void)
{
  if (sli_option (SLICE_OPTION_PAGE_SOURCE) != SLICE_PAGES_MMAP
      || !sli_os_reserves_mapped ())
    return SIZE_MAX;
  return LOAD (&sli_page.counts.mapped_bytes) / EXTENTS_IN_RESERVED;
}

/* The size that an extent has if the source has the memory: small for the
 * first one, and in a process whose memory is limited, since what an extent
 * does not use yet is missing elsewhere, for threads' stacks for example. */
COMMON_TEXT static size_t
extent_best_bytes (void)
{
  size_t bytes = EXTENT_BYTES_MAX;
  size_t limit_bytes;

  if (LOAD (&sli_page.counts.n_maps) == 0)
    return 8 * sli_page.granule_bytes;
  limit_bytes = min_size (sli_os_memory_limit_bytes () / EXTENTS_IN_LIMIT,
                          extent_reserved_bytes ());
  while (bytes > limit_bytes && bytes > REGION_BYTES)
    bytes /= 2;
  return bytes;
}

typedef enum
{
  EXTENT_ADDED,
  EXTENT_UNNEEDED, /* another thread was faster, and this can be unmapped */
  EXTENT_IN_USE    /* the source had returned this memory before */
} ExtentResult;

/* Adds an extent that was mapped, if it is needed. */
COMMON_TEXT static ExtentResult
extent_add_mapped (void *start, size_t bytes, bool is_zeroed, bool is_huge)
{
  ExtentResult result = EXTENT_ADDED;

  sli_lock (&sli_page.lock);
  /* Another thread may have got the same memory since extent_accept(). */
  if (!extent_is_apart (start, bytes))
    result = EXTENT_IN_USE;
  else if (sli_page.unfinished == NULL)
    extent_add (start, bytes, is_zeroed, is_huge);
  else if (sli_page.source->unmap == NULL)
    extent_add_initialised (start, bytes, is_zeroed, is_huge);
  else
    result = EXTENT_UNNEEDED;
  sli_unlock (&sli_page.lock);
  return result;
}

/* --- new ----------------------------------------------------------------- */

COMMON_TEXT bool
sli_extent_new (unsigned n_granules)
{
  size_t least_bytes = extent_least_bytes (n_granules);
  size_t bytes = LOAD (&no_extent.had_none)
                     ? least_bytes
                     : max_size (least_bytes, extent_best_bytes ());
  /* Where the option wants no huge pages, advise the system so. */
  bool huge
      = LOAD (&sli_page.counts.mapped_bytes) >= sli_page.huge_after_bytes;
  bool is_zeroed;
  void *start = extent_map (&bytes, least_bytes, &is_zeroed);
  ExtentResult result;

  if (start == NULL)
    {
      failure_note (&no_extent);
      return false;
    }
  failure_forget (&no_extent);
  sli_os_advise_huge (start, bytes, huge);
  result = extent_add_mapped (start, bytes, is_zeroed, huge);
  if (UNLIKELY (result == EXTENT_IN_USE))
    {
      sli_diag_bad_source (BAD_SOURCE_IN_USE, sli_page.source,
                           sli_page.source->name, start);
      return false;
    }
  if (result == EXTENT_UNNEEDED)
    sli_extent_unmap (start, bytes);
  PROBE2 (page_map, start, bytes);
  return true;
}

bool
sli_extent_retire (Extent *extent)
{
  assert_held (&sli_page.lock);
  if (extent->is_permanent || extent->n_purged != extent->n_initialised
      || sli_page.source->unmap == NULL)
    return false;
  if (sli_page.unfinished == extent)
    sli_page.unfinished = NULL;
  extent_cache_remove (extent);
  for (unsigned i = 0; i < extent->n_initialised; i++)
    sli_region_retire (extent_region (extent, i));
  link_remove (&extent->link);
  sli_page.counts.n_idle -= extent->n_initialised;
  sli_page.n_purged -= extent->n_initialised;
  sli_page.counts.n_regions -= extent->n_initialised;
  COUNT_UP (&sli_page.counts.mapped_bytes, -extent->bytes);
  return true;
}
