/* checking-retired.c - the check of free chunks whose slab is no more
 *
 * Layer: checking.  Below: slab, which calls these functions.  No locks: the
 * run belongs to the thread that frees it or allocates it.  Design: chapter 6.
 *
 * When all chunks of a slab are free, its run goes back to the page layer, and
 * the next slab there takes its chunks for new.  So the contents are checked
 * before that.  The tags then describe free chunks without a slab: TAG_FREE for
 * the first 16 bytes of each, TAG_FREE_REST for the others.  Whoever gets the
 * memory next, the chunks are checked once more, and the tags cleared; or at
 * exit (checking-exit.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "checking-contents.h"
#include "port/compiler.h"

enum
{
  GRAIN_BYTES = 1 << TAG_GRAIN_SHIFT
};

/* Chunks that were never allocated have other contents and keep TAG_NEW. */
static void
check_retired (const RetiredSlab *slab)
{
  size_t chunk_bytes = sli_sizeclasses[slab->class_index].chunk_bytes;

  for (unsigned i = 0; i < slab->n_carved; i++)
    {
      char *chunk = slab->first + i * chunk_bytes;
      uint16_t *tags = region_tag_of (chunk);

      if (LOAD (tags) != TAG_FREE)
        continue;
      if (UNLIKELY (!chunk_is (chunk, chunk_bytes, sli_checking.free_byte)))
        sli_checking_report_free_bytes (chunk, chunk_bytes, DIAG_SIZE_UNKNOWN,
                                        "flush of a slab");
      for (size_t grain = 1; grain < chunk_bytes / GRAIN_BYTES; grain++)
        STORE (&tags[grain], (uint16_t) TAG_FREE_REST);
    }
}

/* Of a chunk that a run's end divides, the part behind it is not checked. */
char *
sli_checking_find_retired (char *start, size_t bytes, size_t *chunk_bytes)
{
  size_t n_grains = bytes / GRAIN_BYTES, end;
  const uint16_t *tags = region_tag_of (start);

  for (size_t i = 0; i < n_grains; i = end)
    {
      end = i + 1;
      if (LOAD (&tags[i]) != TAG_FREE)
        continue;
      while (end < n_grains && LOAD (&tags[end]) == TAG_FREE_REST)
        end++;
      *chunk_bytes = (end - i) * GRAIN_BYTES;
      if (!chunk_is (start + i * GRAIN_BYTES, *chunk_bytes,
                     sli_checking.free_byte))
        return start + i * GRAIN_BYTES;
    }
  return NULL;
}

static void
check_taken (char *start, size_t bytes)
{
  size_t chunk_bytes;
  char *chunk = sli_checking_find_retired (start, bytes, &chunk_bytes);

  if (UNLIKELY (chunk != NULL))
    sli_checking_report_free_bytes (chunk, chunk_bytes, DIAG_SIZE_UNKNOWN,
                                    "slice_alloc");
  memset (region_tag_of (start), 0,
          (bytes >> TAG_GRAIN_SHIFT) * sizeof (uint16_t));
}

COMMON_TEXT void
sli_checking_watch_retired (void)
{
  if (sli_checking.mode != CHECKING_HARDENED
      && sli_checking.mode != CHECKING_DEBUG)
    return;
  sli_slab_watch (check_retired, check_taken);
}
