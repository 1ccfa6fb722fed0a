/* quarantine.c - freed chunks that wait before they are allocated again
 *
 * Layer: magazine.  Below: depot, for the rings.  No locks: the record is
 * entered, or no other thread can find it.
 * Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "magazine.h"
#include "quarantine.h"
#include "magazine/record/record.h"
#include "slab/slab.h"
#include "base/check.h"
#include "port/compiler.h"

static unsigned n_waiting; /* constant after sli_quarantine_init() */

COMMON_TEXT void
sli_quarantine_init (unsigned n_chunks)
{
  n_waiting = n_chunks;
}

COMMON_TEXT unsigned
sli_quarantine_chunks (void)
{
  return n_waiting;
}

/* The ring itself stays until its thread trims or ends. */
COMMON_TEXT void
sli_quarantine_flush (ClassCache *cache, unsigned class_index)
{
  unsigned n = n_waiting;

  if (cache->quarantine == NULL)
    return;
  assert_here (cache->quarantine_next < n);
  /* The ring is filled from the start, and most short threads fill only a
   * small part of it. */
  if (cache->quarantine[cache->quarantine_next] == NULL)
    n = cache->quarantine_next;
  sli_slab_free (class_index, n, cache->quarantine,
                 "flush of a quarantine");
  for (unsigned i = 0; i < n; i++)
    STORE (&cache->quarantine[i], NULL);
  cache->quarantine_next = 0;
}

void
sli_quarantine_end (ClassCache *cache)
{
  if (cache->quarantine != NULL)
    sli_depot_end_ring (cache->quarantine, n_waiting);
  cache->quarantine = NULL;
}

/* Returns true if a cache has a ring; makes one if there is memory. */
static bool
cache_has_ring (ClassCache *cache)
{
  if (n_waiting == 0)
    return false;
  if (cache->quarantine == NULL)
    {
      cache->quarantine = sli_depot_new_ring (n_waiting);
      cache->quarantine_next = 0;
    }
  return cache->quarantine != NULL;
}

void
sli_magazine_free_late (unsigned class_index, void *chunk)
{
  ThreadRecord *record = sli_record_enter ();
  bool is_in = false;

  if (LIKELY (record != NULL))
    {
      ClassCache *cache = &record->caches[class_index];

      if (cache_has_ring (cache))
        chunk = quarantine_exchange (cache, n_waiting, chunk);
      is_in = chunk == NULL || sli_record_push (record, class_index, chunk);
      sli_record_leave (record);
    }
  if (UNLIKELY (!is_in))
    sli_magazine_free (class_index, chunk);
}
