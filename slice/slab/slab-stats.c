/* slab-stats.c - lookup, counts and invariants of slabs
 *
 * Layer: slab.  Locks: one for each class (rank 30); the page lock (rank 20)
 * where an address may be foreign.  Design: chapter 4.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "slab.h"
#include "page/page.h"
#include "slab-class.h"

#include <string.h>

/* While the page lock is held, no region is unmapped and no run is freed, so
 * the header, tags and bitmap of a slab may be read.  The class lock is not
 * held, so the slab may be retired meanwhile, and *info out of date. */
READS_RACILY static void
lookup_locked (const void *address, ChunkInfo *info)
{
  const SizeClass *sizeclass;
  ChunkRef ref;

  chunk_find (address, &ref);
  *info = (ChunkInfo){ .state = ref.state };
  if (ref.slab == NULL)
    return;
  /* Read the class again, before the bitmap: slab_init() writes the bitmap
   * first. */
  info->class_index = LOAD_ACQUIRE (&ref.slab->class_index);
  sizeclass = &sli_sizeclasses[info->class_index];
  if (info->class_index == 0 || ref.index >= sizeclass->n_chunks)
    {
      *info = (ChunkInfo){ .state = CHUNK_NONE };
      return;
    }
  info->start = ref.run + ref.slab->first_offset
                + (size_t) ref.index * sizeclass->chunk_bytes;
  if (sli_page_has_tags ())
    info->tag = LOAD (region_tag_of (info->start));
  if (ref.state == CHUNK_OUT
      && (LOAD (&ref.slab->words[ref.index / BITS_PER_WORD])
          >> (ref.index % BITS_PER_WORD) & 1) != 0)
    info->state = CHUNK_FREE;
}

void
sli_slab_lookup (const void *address, ChunkInfo *info)
{
  *info = (ChunkInfo){ .state = CHUNK_FOREIGN };
  if (!sli_map_has (address))
    return;
  sli_lock (sli_page_lock ());
  lookup_locked (address, info);
  sli_unlock (sli_page_lock ());
}

/* The class lock is not held.  A slab that is initialised or retired meanwhile
 * may seem to have any number of free chunks. */
READS_RACILY static void
count_run (void *run UNUSED, void *record, void *data)
{
  const Slab *slab = record;
  SlabCounts *counts = data;
  unsigned class_index = LOAD_ACQUIRE (&slab->class_index);
  unsigned n_chunks, n_free;

  if (class_index == 0 || class_index >= N_CLASSES)
    return;
  n_chunks = sli_sizeclasses[class_index].n_chunks;
  n_free = slab_count_free (slab, class_index);
  if (n_free < n_chunks)
    counts[class_index].n_out += n_chunks - n_free;
}

void
sli_slab_count_all (SlabCounts counts[N_CLASSES])
{
  memset (counts, 0, N_CLASSES * sizeof counts[0]);
  sli_page_each_run (count_run, counts);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      SlabClass *class = &sli_slab_classes[i];

      if (!slab_class_is_made (class))
        continue;
      sli_lock (&class->lock);
      counts[i].n_slabs = class->n_slabs;
      counts[i].n_locks = class->n_locks;
      counts[i].n_allocs = class->n_allocs;
      counts[i].n_made = class->n_made;
      counts[i].n_freed = class->n_freed;
      sli_unlock (&class->lock);
    }
}

COMMON_TEXT size_t
sli_slab_held_bytes (unsigned class_index)
{
  return LOAD (&sli_slab_classes[class_index].n_slabs)
         * sli_sizeclasses[class_index].slab_bytes;
}

/* Returns true if the region names the slab's class for each of its granules,
 * and so does the extent, if it is cached (S8). */
static bool
slab_is_noted (const Slab *slab)
{
  Region *region = region_of (slab);
  unsigned first = (unsigned) ((const char *) slab - region->records[0])
                   / RUN_RECORD_BYTES;

  for (unsigned i = 0; i < sli_sizeclasses[slab->class_index].n_granules; i++)
    {
      const char *granule = region_granule (region, first + i);

      if (region_class_of (region, granule) != slab->class_index
          || (extent_cache_has (granule)
              && extent_cache_class (granule, sli_region_granule_shift)
                     != slab->class_index))
        return false;
    }
  return true;
}

/* The id of an invariant (S1 to S3, S8) that does not hold for a slab in a
 * ring, or NULL. */
static const char *
slab_check (const Slab *slab, unsigned class_index, unsigned ring)
{
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];

  if (slab->class_index != class_index || slab->state != SLAB_PARTIAL
      || slab->ring != ring)
    return "S1";
  if (slab->n_carved > sizeclass->n_chunks)
    return "S3";
  if (!slab_is_noted (slab))
    return "S8";
  for (unsigned i = 0; i < sizeclass->n_words; i++)
    if ((LOAD (&slab->words[i]) & ~carved_mask (slab, i)) != 0)
      return "S2";
  return slab_count_free (slab, slab->class_index) == 0 ? "S1" : NULL;
}

bool
sli_slab_is_right (const Slab *slab)
{
  unsigned class_index = slab->class_index;

  if (class_index == 0 || class_index >= N_CLASSES
      || slab->n_carved > sli_sizeclasses[class_index].n_chunks)
    return false;
  assert_held (&sli_slab_classes[class_index].lock);
  return slab->state == SLAB_FULL
             ? slab_count_free (slab, class_index) == 0
             : slab->ring < N_RINGS
                   && slab_check (slab, class_index, slab->ring) == NULL;
}

/* Checks and counts the slabs in one ring. */
static const char *
ring_check (SlabClass *class, unsigned class_index, unsigned ring,
            uint64_t *n_partial, const void **where)
{
  const char *broken = NULL;
  unsigned claimants = 0; /* a bit for each */

  assert_held (&class->lock);
  LINK_EACH (link, &class->rings[ring])
    {
      const Slab *slab = LINK_OWNER (link, Slab, link);

      ++*n_partial;
      if (broken != NULL)
        continue;
      broken = slab_check (slab, class_index, ring);
      if (broken == NULL && ring == CLAIMED_RING
          && (slab_claimant (slab) >= SHARDS
              || (claimants >> slab_claimant (slab) & 1) != 0))
        broken = "S7";
      claimants |= 1u << slab_claimant (slab) % SHARDS;
      *where = slab;
    }
  return broken;
}

/* Not counted in n_locks, which is for the program's own calls. */
const char *
sli_slab_check (unsigned class_index, const void **where)
{
  SlabClass *class = &sli_slab_classes[class_index];
  const char *broken = NULL;
  uint64_t n_partial = 0;

  if (!slab_class_is_made (class))
    return NULL;
  sli_lock (&class->lock);
  for (unsigned ring = 0; broken == NULL && ring < N_RINGS; ring++)
    broken = ring_check (class, class_index, ring, &n_partial, where);
  if (broken == NULL && n_partial > class->n_slabs)
    {
      broken = "S4";
      *where = class;
    }
  sli_unlock (&class->lock);
  return broken;
}

bool
sli_slab_is_valid (unsigned class_index)
{
  const void *where;

  return sli_slab_check (class_index, &where) == NULL;
}

/* Checks S6 for the slabs in no ring. */
static void
check_full_run (void *run UNUSED, void *record, void *data)
{
  const Slab *slab = record;
  const void **where = data;
  unsigned class_index = LOAD (&slab->class_index);

  if (class_index != 0 && class_index < N_CLASSES && slab->state == SLAB_FULL
      && slab_count_free (slab, class_index) != 0)
    *where = slab;
}

const char *
sli_slab_check_full (const void **where)
{
  *where = NULL;
  sli_page_each_run (check_full_run, where);
  return *where != NULL ? "S6" : NULL;
}

/* --- walking ------------------------------------------------------------- */

typedef struct
{
  SlabVisit visit;
  void *data;
} SlabWalk;

static void
walk_run (void *run, void *record, void *data)
{
  const Slab *slab = record;
  const SlabWalk *walk = data;
  unsigned class_index = LOAD (&slab->class_index);

  if (class_index != 0 && class_index < N_CLASSES)
    walk->visit (run, class_index, walk->data);
}

void
sli_slab_each (SlabVisit visit, void *data)
{
  SlabWalk walk = { visit, data };

  sli_page_each_run (walk_run, &walk);
}

unsigned
sli_slab_chunk_locked (const void *run, unsigned index, ChunkInfo *info)
{
  void *record;
  unsigned class_index;

  assert_held (sli_page_lock ());
  *info = (ChunkInfo){ .state = CHUNK_NONE };
  if (region_run_of (run, &record) == NULL)
    return 0;
  class_index = LOAD (&((Slab *) record)->class_index);
  if (class_index == 0)
    return 0;
  if (index < sli_sizeclasses[class_index].n_chunks)
    lookup_locked (slab_chunk (record, (char *) (uintptr_t) run, index), info);
  return sli_sizeclasses[class_index].n_chunks;
}

unsigned
sli_slab_chunk (const void *run, unsigned index, ChunkInfo *info)
{
  unsigned n_chunks;

  sli_lock (sli_page_lock ());
  n_chunks = sli_slab_chunk_locked (run, index, info);
  sli_unlock (sli_page_lock ());
  return n_chunks;
}

void
sli_slab_each_free (FreeVisit visit, void *data)
{
  sli_page_each_free (visit, data);
}
