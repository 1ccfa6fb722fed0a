/* checking-quick.c - checked and hardened in the usual case
 *
 * Layer: checking.  Below: magazine (the thread's own record), and slab for
 * the marks.  No locks.
 * Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "checking-contents.h"

/* No function is called, so nothing is saved: what is unusual in any way is
 * left, untouched, to the code above. */
static ALWAYS_INLINE void *
alloc_quick (CheckingMode mode, ThreadRecord *record, size_t size)
{
  unsigned class_index = class_for (mode, record, size);
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];
  SliceEntryV1 *entry = &record->fast.entries[class_index];
  void **top = LOAD (&entry->top);
  char *chunk = *top;
  uint16_t *mark;

  if (UNLIKELY (chunk == NULL))
    return NULL;
  mark = region_tag_of (chunk);
  if (mode == CHECKING_CHECKED ? UNLIKELY (LOAD (mark) >= TAG_LIVE)
                               : UNLIKELY (LOAD (mark) != TAG_FREE))
    return NULL;
  if (mode == CHECKING_HARDENED
      && UNLIKELY (!chunk_is (chunk, sizeclass->chunk_bytes, 0)))
    return NULL;
  STORE (&entry->top, top - 1);
  STORE (mark, (uint16_t) (TAG_LIVE + size));
  if (mode == CHECKING_HARDENED)
    canary_write (chunk, size);
  return chunk;
}

static inline bool
free_quick_checked (ThreadRecord *record, size_t size, char *block)
{
  unsigned class_index = class_for (CHECKING_CHECKED, record, size);
  uint16_t *mark;

  if (UNLIKELY (!chunk_has_tag (block, &mark) || LOAD (mark) != TAG_LIVE + size
                || !sli_record_push (record, class_index, block)))
    return false;
  STORE (mark, TAG_FREE);
  return true;
}

static ALWAYS_INLINE bool
free_quick_hardened (ThreadRecord *record, size_t size, char *block,
                     size_t fill_bytes)
{
  unsigned class_index = class_for (CHECKING_HARDENED, record, size);
  size_t chunk_bytes = sli_sizeclasses[class_index].chunk_bytes;
  ClassCache *cache = &record->caches[class_index];
  SliceEntryV1 *entry = &record->fast.entries[class_index];
  void **top = LOAD (&entry->top);
  uint16_t *mark;
  void *oldest;

  if (UNLIKELY (!chunk_has_tag (block, &mark) || LOAD (mark) != TAG_LIVE + size
                || !canary_is_whole (block, size) || chunk_bytes > fill_bytes
                || cache->quarantine == NULL || top == entry->end))
    return false;
  chunk_fill_inline (block, chunk_bytes, 0);
  STORE (mark, TAG_FREE);
  oldest = quarantine_exchange (CHECKING_HARDENED, cache, block);
  if (LIKELY (oldest != NULL))
    {
      void **pick = sli_record_pick (record, cache, ++top);

      STORE (&entry->top, top);
      STORE (top, oldest);
      STORE (top, *pick);
      STORE (pick, oldest);
    }
  return true;
}

/* --- the public calls ---------------------------------------------------- */

/* Size 0 is of class 0, which has no chunks, and NULL lies in no slab: both
 * are unusual without a question. */
static ALWAYS_INLINE void *
hardened_alloc_any (size_t size, const void *site)
{
  ThreadRecord *record = sli_record_self;
  void *block;

  if (LIKELY (size <= SIZE_MAX_OF (CHECKING_HARDENED)) && call_begin (record))
    {
      block = alloc_quick (CHECKING_HARDENED, record, size);
      call_end (record);
      if (LIKELY (block != NULL))
        return block;
    }
  return sli_hardened_alloc (size, site);
}

static ALWAYS_INLINE void
hardened_free_any (size_t size, void *block, const void *site,
                   size_t fill_bytes)
{
  ThreadRecord *record = sli_record_self;
  bool is_done;

  if (LIKELY (size <= SIZE_MAX_OF (CHECKING_HARDENED)) && call_begin (record))
    {
      is_done = free_quick_hardened (record, size, block, fill_bytes);
      call_end (record);
      if (LIKELY (is_done))
        return;
    }
  sli_hardened_free (size, block, site);
}

void *
sli_hardened_alloc_quick (size_t size, const void *site)
{
  return hardened_alloc_any (size, site);
}

void
sli_hardened_free_quick (size_t size, void *block, const void *site)
{
  hardened_free_any (size, block, site, FILL_INLINE_BYTES);
}

/* The same code with wider registers, and for chunks of any size: memset() is
 * no faster then (decisions/0009). */
#ifdef WIDE
WIDE void *
sli_hardened_alloc_wide (size_t size, const void *site)
{
  return hardened_alloc_any (size, site);
}

WIDE void
sli_hardened_free_wide (size_t size, void *block, const void *site)
{
  hardened_free_any (size, block, site, SIZE_MAX);
}
#endif

void *
sli_checked_alloc_quick (size_t size, const void *site)
{
  void *block;

  if (LIKELY (size <= SIZE_MAX_OF (CHECKING_CHECKED))
      && LIKELY (
          (block = alloc_quick (CHECKING_CHECKED, sli_record_self, size))
          != NULL))
    return block;
  return sli_checked_alloc (size, site);
}

void
sli_checked_free_quick (size_t size, void *block, const void *site)
{
  if (UNLIKELY (size > SIZE_MAX_OF (CHECKING_CHECKED)
                || !free_quick_checked (sli_record_self, size, block)))
    sli_checked_free (size, block, site);
}
