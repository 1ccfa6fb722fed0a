/* meta.c - memory for the allocator's own records
 *
 * Layer: page.  Below: page.  Lock: meta.lock (rank 15), not held during calls
 * of page.h.  Design: chapter 3.
 *
 * A buddy system over runs of one granule (D. E. Knuth, The Art of Computer
 * Programming, volume 1, section 2.5, "The buddy system").  It has one bit for
 * each pair of halves instead of a tag in each block:
 *
 *   size 7   |            a granule, 16 KiB             |     0
 *   size 6   |         half        |                 |    1 2
 *   size 5   | quarter  |          |        |        |  3 4 5 6  bits of
 *     ...                                                        `halves`
 *   size 0   128 bytes
 *
 * The bit of a pair is 1 while exactly one of its halves is spare.  So if the
 * bit becomes 0 when a block is freed, the other half is spare too, and both
 * are joined.  One whole granule is kept; others are returned to the page
 * layer.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "meta.h"
#include "page-state.h"
#include "region.h"
#include "base/align.h"
#include "base/check.h"
#include "base/list.h"
#include "port/compiler.h"
#include "port/os/os.h"

#include <errno.h>
#include <string.h>

enum
{
  WHOLE = 7, /* the size of a granule; each smaller size is half of the next */
  META_RUN_GRANULES_MAX = 16, /* a quarter of a region */
  WHOLE_SPARES_KEPT = 1 /* with none, a program that allocates and frees one
                           block in turn would allocate a run each time */
};

/* A spare block holds only its link.  The state of a granule is in the first
 * bytes of its run's record, where the header of a slab has its link. */
typedef struct
{
  uint64_t halves[2];
} MetaRun;

SLICE_STATIC_ASSERT (sizeof (MetaRun) == META_RECORD_BYTES,
                     "the part of the record that is metadata's");
SLICE_STATIC_ASSERT ((1 << WHOLE) - 1 <= 8 * sizeof (MetaRun),
                     "a bit for every pair of halves");
SLICE_STATIC_ASSERT (sizeof (Link) <= META_BYTES_MIN, "a block holds a link");

static struct
{
  Lock lock;
  Link spares[WHOLE + 1]; /* by size; initialised with the first granule */
  unsigned n_whole;       /* length of spares[WHOLE] */
  size_t held_bytes;      /* of granules; read without the lock */
  size_t mapped_bytes;    /* of sli_meta_map(); without the lock */
} meta = { .lock = LOCK_INIT (LOCK_RANK_META) };

/* --- sizes and pairs ----------------------------------------------------- */

static size_t
size_bytes (unsigned size)
{
  return sli_page_granule_bytes () >> (WHOLE - size);
}

static unsigned
size_for (size_t bytes)
{
  unsigned size = 0;

  require (bytes <= META_BYTES_MAX);
  while (size_bytes (size) < bytes)
    size++;
  return size;
}

size_t
sli_meta_bytes (size_t bytes)
{
  return size_bytes (size_for (bytes));
}

/* Flips the bit of a block's pair and returns its new value.  A whole granule
 * has no pair. */
COMMON_TEXT static bool
pair_flip (void *block, unsigned size)
{
  char *granule = align_down_address (block, sli_page_granule_bytes ());
  size_t pair = (size_t) ((char *) block - granule) / size_bytes (size + 1);
  size_t bit = ((size_t) 1 << (WHOLE - size - 1)) - 1 + pair;
  void *record = NULL;
  MetaRun *run;

  assert_held (&meta.lock);
  assert_here (size < WHOLE && bit < (1 << WHOLE) - 1);
  region_run_of (granule, &record);
  run = record;
  run->halves[bit / 64] ^= (uint64_t) 1 << bit % 64;
  return (run->halves[bit / 64] >> bit % 64 & 1) != 0;
}

static void *
buddy_of (void *block, unsigned size)
{
  char *granule = align_down_address (block, sli_page_granule_bytes ());

  assert_here (size < WHOLE);
  return granule + ((size_t) ((char *) block - granule) ^ size_bytes (size));
}

/* --- spares -------------------------------------------------------------- */

static void
spare_put (void *block, unsigned size)
{
  assert_held (&meta.lock);
  assert_here (((uintptr_t) block & (size_bytes (size) - 1)) == 0);
  link_init (block);
  link_after (block, &meta.spares[size]);
  meta.n_whole += size == WHOLE;
}

static void
spare_pop (void *block, unsigned size)
{
  assert_held (&meta.lock);
  assert_here (!link_is_alone (block));
  assert_here (size < WHOLE || meta.n_whole > 0);
  link_remove (block);
  meta.n_whole -= size == WHOLE;
}

/* Cuts a block from the smallest spare block that is large enough; NULL: there
 * is none.  The upper halves become spare. */
COMMON_TEXT static void *
meta_pop (unsigned size)
{
  unsigned from = size;
  void *block;

  assert_held (&meta.lock);
  if (meta.spares[0].next == NULL)
    return NULL; /* this is the first call */
  while (link_is_alone (&meta.spares[from]))
    if (from++ == WHOLE)
      return NULL;
  block = meta.spares[from].next;
  spare_pop (block, from);
  if (from < WHOLE)
    pair_flip (block, from);
  while (from > size)
    {
      void *upper = (char *) block + size_bytes (--from);

      spare_put (upper, from);
      pair_flip (upper, from);
    }
  return block;
}

/* Joins a freed block with its buddies as long as they are spare. */
static void
meta_put (void *block, unsigned size)
{
  assert_held (&meta.lock);
  while (size < WHOLE && !pair_flip (block, size))
    {
      void *buddy = buddy_of (block, size);

      spare_pop (buddy, size++);
      if (buddy < block)
        block = buddy;
    }
  spare_put (block, size);
}

/* Removes a spare whole granule if there are more than WHOLE_SPARES_KEPT; else
 * NULL. */
COMMON_TEXT static void *
meta_pop_surplus (void)
{
  void *granule;

  assert_held (&meta.lock);
  if (meta.n_whole <= WHOLE_SPARES_KEPT)
    return NULL;
  granule = meta.spares[WHOLE].next;
  spare_pop (granule, WHOLE);
  COUNT_UP (&meta.held_bytes, -size_bytes (WHOLE));
  return granule;
}

/* Returns a surplus granule to the page layer; the lock is not held.  If one
 * idle region too many is left, the next slab that is freed has it purged. */
static void
surplus_return (void *granule)
{
  if (granule != NULL)
    sli_page_free_run (granule, 1, sli_os_clock_msec ());
}

static void
meta_add_run (void *granule, void *record)
{
  assert_held (&meta.lock);
  *(MetaRun *) record = (MetaRun){ { 0, 0 } };
  if (meta.spares[0].next == NULL)
    for (unsigned size = 0; size <= WHOLE; size++)
      link_init (&meta.spares[size]);
  spare_put (granule, WHOLE);
  COUNT_UP (&meta.held_bytes, size_bytes (WHOLE));
}

/* --- interface ----------------------------------------------------------- */

COMMON_TEXT Lock *
sli_meta_lock (void)
{
  return &meta.lock;
}

typedef void *(*AllocRun) (unsigned n_granules, void **record, bool *is_zero);

COMMON_TEXT static void *
meta_alloc (size_t bytes, AllocRun alloc_run)
{
  unsigned size = size_for (bytes);
  void *block, *granule, *record, *surplus;
  bool is_zero;

  sli_lock (&meta.lock);
  block = meta_pop (size);
  sli_unlock (&meta.lock);
  if (LIKELY (block != NULL))
    return block;

  granule = alloc_run (1, &record, &is_zero);
  if (granule == NULL)
    return NULL;
  sli_lock (&meta.lock);
  meta_add_run (granule, record);
  block = meta_pop (size);
  surplus = meta_pop_surplus (); /* other threads may have freed some */
  sli_unlock (&meta.lock);
  surplus_return (surplus);
  return block;
}

COMMON_TEXT void *
sli_meta_alloc (size_t bytes)
{
  return meta_alloc (bytes, sli_page_alloc_run);
}

COMMON_TEXT void *
sli_meta_alloc_optional (size_t bytes)
{
  return meta_alloc (bytes, sli_page_alloc_optional_run);
}

COMMON_TEXT void
sli_meta_free (void *block, size_t bytes)
{
  void *surplus;

  sli_lock (&meta.lock);
  if (SCHEDULE_IS_ON) /* so that the explorer finds reads after the free */
    memset (block, 0, bytes);
  meta_put (block, size_for (bytes));
  surplus = meta_pop_surplus ();
  sli_unlock (&meta.lock);
  surplus_return (surplus);
}

void *
sli_meta_map (size_t bytes)
{
  int error = errno;
  void *pages = sli_os_map (bytes, sli_os_page_bytes ());

  errno = error; /* as in extent_map() */
  if (pages != NULL)
    COUNT_UP_SHARED (&meta.mapped_bytes, bytes);
  return pages;
}

void *
sli_meta_map_optional (size_t bytes)
{
  void *pages = sli_extent_map_pages (bytes);

  if (pages != NULL)
    COUNT_UP_SHARED (&meta.mapped_bytes, bytes);
  return pages;
}

void
sli_meta_unmap (void *pages, size_t bytes)
{
  sli_os_unmap (pages, bytes);
  COUNT_DOWN_SHARED (&meta.mapped_bytes, bytes);
}

static size_t
run_granules (size_t bytes)
{
  size_t granule_bytes = sli_page_granule_bytes ();

  return (bytes + granule_bytes - 1) / granule_bytes;
}

void *
sli_meta_map_or_run (size_t bytes)
{
  void *pages = sli_meta_map (bytes), *record;
  bool is_zero;

  if (pages != NULL || sli_page_granule_bytes () == 0
      || run_granules (bytes) > META_RUN_GRANULES_MAX)
    return pages;
  pages = sli_page_alloc_run ((unsigned) run_granules (bytes), &record,
                              &is_zero);
  if (pages == NULL)
    return NULL;
  *(MetaRun *) record = (MetaRun){ { 0, 0 } };
  if (!is_zero)
    memset (pages, 0, bytes);
  COUNT_UP_SHARED (&meta.mapped_bytes,
                   run_granules (bytes) * sli_page_granule_bytes ());
  return pages;
}

void
sli_meta_unmap_or_run (void *pages, size_t bytes)
{
  if (!sli_map_has (pages))
    {
      sli_meta_unmap (pages, bytes);
      return;
    }
  COUNT_DOWN_SHARED (&meta.mapped_bytes,
                     run_granules (bytes) * sli_page_granule_bytes ());
  sli_page_free_run (pages, (unsigned) run_granules (bytes),
                     sli_os_clock_msec ());
}

size_t
sli_meta_held_bytes (void)
{
  return LOAD (&meta.held_bytes) + LOAD (&meta.mapped_bytes);
}
