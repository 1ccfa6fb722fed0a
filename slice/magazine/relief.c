/* relief.c - as the heap grows, spare magazines of other classes go back
 *
 * Layer: magazine.  Below: depot.  No locks: the record has been entered.
 * Design: chapter 5.
 * Source: the hand that goes round is that of the clock algorithm (Corbato
 * 1969), which finds pages that were not used since it last came by.
 *
 * A program whose strings all grow goes through the classes from one size to
 * the next, and needs none of them again.  What it leaves behind in magazines
 * keeps slabs from becoming empty, up to 256 KiB for each class in the depot
 * alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "relief.h"

enum
{
  /* The most classes that a call looks at, and the most magazines of the depot
   * that it flushes of each. */
  RELIEF_CLASSES_MAX = 4,
  RELIEF_MAGAZINES_MAX = 2,
  /* In a smaller heap the slabs of most classes are their first ones: it grows
   * with each class that a program begins to use. */
  RELIEF_HEAP_GRANULES_MIN = 64
};

/* Returns true if a class that the thread has used lately has magazines here or
 * in the depot. */
static bool
class_has_magazines (const ThreadRecord *record, unsigned class_index)
{
  const ClassCache *cache = &record->caches[class_index];

  return cache->is_accounted
         && (cache->loaded != NULL || cache->previous != NULL
             || sli_depot_has (class_index));
}

/* Flushes magazines of a class that was not used since the last look. */
static void
class_look (ThreadRecord *record, unsigned class_index)
{
  ClassCache *cache = &record->caches[class_index];
  void **top = LOAD (&record->fast.entries[class_index].top);
  Magazine *magazine;

  if (cache->top_relieved != top)
    {
      cache->top_relieved = top;
      return;
    }
  if (cache->loaded != NULL || cache->previous != NULL)
    sli_record_flush_class (record, class_index, FLUSH_TO_SLABS);
  cache->top_relieved = LOAD (&record->fast.entries[class_index].top);
  for (unsigned n = 0; n < RELIEF_MAGAZINES_MAX; n++)
    {
      magazine = sli_depot_pop_unused (class_index);
      if (magazine == NULL)
        break;
      sli_depot_flush (magazine);
    }
}

COMMON_TEXT void
sli_relief_look (ThreadRecord *record, unsigned class_index)
{
  uint32_t n_fresh = sli_slab_n_fresh ();
  uint32_t n = n_fresh - record->n_fresh_seen;

  if (n > RELIEF_CLASSES_MAX)
    n = RELIEF_CLASSES_MAX;
  record->n_fresh_seen = n_fresh;
  if (n_fresh < RELIEF_HEAP_GRANULES_MIN)
    return;
  for (unsigned turn = 1; turn < N_CLASSES && n > 0; turn++)
    {
      unsigned next = 1u + record->relief_next % (N_CLASSES - 1);

      record->relief_next = (uint8_t) next;
      if (next == class_index || !class_has_magazines (record, next))
        continue;
      class_look (record, next);
      n--;
    }
}
