/* checking-tool.c - the pool under a tool, which is told of every block
 *
 * Layer: checking.  Below: magazine, and slab for the marks.  No locks.
 * Theory: section 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "checking-state.h"
#include "magazine/magazine.h"
#include "base/diag.h"
#include "port/annotate.h"
#include "port/compiler.h"

SLICE_STATIC_ASSERT ((int) ZONE_BYTES == (int) ANNOTATE_ZONE_BYTES,
                     "the tool's zones fit around a block");

/* Contents are the tool's to look after. */
static void *
annotated_alloc (size_t size, const void *site UNUSED)
{
  unsigned class_index
      = SLICE_CLASS_V1 (chunk_size_for (GUARD_ANNOTATED, size));
  char *chunk = sli_magazine_alloc (class_index);

  if (chunk == NULL)
    return NULL;
  STORE (region_mark_of (chunk), (uint16_t) (MARK_LIVE + size));
  sli_annotate_alloc (chunk + ZONE_BYTES, size);
  return chunk + ZONE_BYTES;
}

/* What the tool has complained of is left alone, for it goes on. */
static void
annotated_free (size_t size, void *block, const char *operation,
                const void *site UNUSED)
{
  char *chunk = (char *) block - ZONE_BYTES;
  uint16_t mark = MARK_FREE;
  Place place;

  place_find (chunk, &place);
  if (place.state == CHUNK_OUT)
    mark = LOAD (place_mark (&place));
  if (mark < MARK_LIVE)
    {
      /* Of what is not the pool's the tool may think otherwise. */
      if (place.state == CHUNK_FOREIGN
          || !sli_annotate_free (block, size, false))
        sli_guard_complain_of_place (&place, size, block, 0, operation);
      return;
    }
  if (size != DIAG_SIZE_UNKNOWN && size != mark - (size_t) MARK_LIVE)
    sli_guard_complain (ERROR_WRONG_SIZE, operation, block, size,
              mark - (size_t) MARK_LIVE);
  (void) sli_annotate_free (block, mark - (size_t) MARK_LIVE, true);
  KNOWN (place.slab != NULL);
  STORE (place_mark (&place), MARK_FREE);
  sli_magazine_free_late (place.slab->class_index, chunk);
}

static void *
annotated_take (size_t size, const void *site)
{
  void *block;

  if (fits_mode (GUARD_ANNOTATED, size)
      && (block = annotated_alloc (size, site)) != NULL)
    return block;
  return sli_guard.fallback.alloc (size, false, site);
}

static void *
annotated_try_take (size_t size, const void *site)
{
  void *block;

  if (fits_mode (GUARD_ANNOTATED, size)
      && (block = annotated_alloc (size, site)) != NULL)
    return block;
  return sli_guard.fallback.alloc (size, true, site);
}

static void
annotated_give (size_t size, void *block, const void *site)
{
  if (fits_mode (GUARD_ANNOTATED, size) && block != NULL)
    annotated_free (size, block, "slice_free1", site);
  else
    sli_guard.fallback.free (size, block, site);
}

const GuardCalls sli_guard_tool_calls
    = { annotated_take, annotated_try_take, annotated_give, annotated_alloc,
        annotated_free };
