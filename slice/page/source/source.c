/* source.c - the sources of pages: posix_memalign, mmap, memalign, valloc,
 * malloc, or the program's own
 *
 * Layer: page.  Below: port.  No locks.  Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "source.h"
#include "base/align.h"
#include "base/check.h"
#include "base/option.h"
#include "port/compiler.h"
#include "port/os/os.h"

#include <stdlib.h>

/* --- posix_memalign ------------------------------------------------------ */

COMMON_TEXT static void *
posix_map (const SliceSource *source UNUSED, size_t bytes, size_t alignment)
{
  return sli_os_posix_memalign (bytes, alignment);
}

static void
malloc_unmap (const SliceSource *source UNUSED, void *address,
              size_t bytes UNUSED)
{
  free (address);
}

COMMON_TEXT static bool
system_advise_away (const SliceSource *source UNUSED, void *address,
                    size_t bytes)
{
  return sli_os_advise_away (address, bytes);
}

/* --- mmap ---------------------------------------------------------------- */

HEAP_TEXT static void *
mmap_map (const SliceSource *source UNUSED, size_t bytes, size_t alignment)
{
  return sli_os_map (bytes, alignment);
}

static void
mmap_unmap (const SliceSource *source UNUSED, void *address, size_t bytes)
{
  sli_os_unmap (address, bytes);
}

/* --- memalign ------------------------------------------------------------ */

static void *
memalign_map (const SliceSource *source UNUSED, size_t bytes,
              size_t alignment)
{
  return sli_os_memalign (bytes, alignment);
}

/* --- valloc and malloc: aligned by hand ---------------------------------- */

/* Returns the aligned part of a block that is larger than needed.  The word
 * before that part points to the block. */
static void *
align_by_hand (char *block, size_t alignment)
{
  char *start;

  if (block == NULL)
    return NULL;
  start = (char *) align_up ((uintptr_t) block + sizeof (void *), alignment);
  ((void **) (void *) start)[-1] = block;
  return start;
}

static void
by_hand_unmap (const SliceSource *source UNUSED, void *address,
               size_t bytes UNUSED)
{
  free (((void **) address)[-1]);
}

/* The size of the block to allocate; SIZE_MAX, which fails, on overflow. */
static size_t
by_hand_bytes (size_t bytes, size_t alignment)
{
  size_t more_bytes = alignment + sizeof (void *);

  return bytes < SIZE_MAX - more_bytes ? bytes + more_bytes : SIZE_MAX;
}

static void *
valloc_map (const SliceSource *source UNUSED, size_t bytes, size_t alignment)
{
  return align_by_hand (sli_os_valloc (by_hand_bytes (bytes, alignment)),
                        alignment);
}

static void *
malloc_map (const SliceSource *source UNUSED, size_t bytes, size_t alignment)
{
  return align_by_hand (malloc (by_hand_bytes (bytes, alignment)), alignment);
}

/* --- the table ----------------------------------------------------------- */

static const SliceSource builtin_sources[] = {
  [SLICE_PAGES_POSIX_MEMALIGN]
  = { "posix_memalign", posix_map, malloc_unmap, system_advise_away, false,
      NULL },
  [SLICE_PAGES_MMAP]
  = { "mmap", mmap_map, mmap_unmap, system_advise_away, true, NULL },
  [SLICE_PAGES_MEMALIGN]
  = { "memalign", memalign_map, malloc_unmap, system_advise_away, false,
      NULL },
  [SLICE_PAGES_VALLOC]
  = { "valloc", valloc_map, by_hand_unmap, system_advise_away, false, NULL },
  [SLICE_PAGES_MALLOC]
  = { "malloc", malloc_map, by_hand_unmap, system_advise_away, false, NULL }
};

COMMON_TEXT const SliceSource *
slice_source_builtin (SlicePageSource which)
{
  if (which == SLICE_PAGES_CUSTOM)
    return sli_option_custom_source ();
  return sli_option_has_source (which) ? &builtin_sources[which] : NULL;
}

SliceSetResult
slice_set_source (const SliceSource *source)
{
  if (source == NULL || source->name == NULL || source->map == NULL)
    return SLICE_SET_BAD_VALUE;
  return sli_option_set_custom_source (source);
}

/* The options (option.c) decide which source that is, and allow none that the
 * system lacks. */
COMMON_TEXT const SliceSource *
sli_source_in_force (void)
{
  const SliceSource *source = slice_source_builtin (
      (SlicePageSource) sli_option (SLICE_OPTION_PAGE_SOURCE));

  assert_here (source != NULL);
  return source;
}
