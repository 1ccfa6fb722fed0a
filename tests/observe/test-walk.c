/* test-walk.c - slice_walk() and slice_validate()
 *
 * Each invariant is also broken by hand: the validator must name it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include <slice/libslice.h>

#include "depot/depot.h"
#include "page/page-state.h"
#include "magazine/record/record.h"
#include "slab/slab-class.h"

#include "tests/testlib.h"
#include "tests/teststats.h"

enum
{
  SIZE = 64,
  N_BLOCKS = 5000,
  N_KEPT = 700
};

static void *kept[N_KEPT];

static void
use_size (size_t size)
{
  static __thread void *blocks[N_BLOCKS];

  for (int i = 0; i < N_BLOCKS; i++)
    blocks[i] = slice_alloc (size);
  for (int i = 0; i < N_BLOCKS; i++)
    slice_free1 (size, blocks[(i * 7) % N_BLOCKS]);
}

/* Blocks that live, magazines in this thread and the depot, slabs with holes,
 * idle regions.  SIZE is last: as the heap grows for other sizes, its magazines
 * would go back. */
static void *
make_state (void *unused G_GNUC_UNUSED)
{
  for (size_t size = 16; size <= 1024; size *= 2)
    if (size != SIZE)
      use_size (size);
  use_size (SIZE);
  return NULL;
}

static void
begin (void)
{
  pthread_t thread;

  pthread_create (&thread, NULL, make_state, NULL);
  pthread_join (thread, NULL);
  make_state (NULL);
  for (int i = 0; i < N_KEPT; i++)
    kept[i] = slice_alloc (SIZE);
  g_assert_cmpstr (slice_validate (NULL), ==, NULL);
}

/* --- walking --- */

typedef struct
{
  uint64_t n_slabs;
  uint64_t n_out;
  uint64_t n_cached;
  uint64_t n_visits;
} Seen;

static bool
see (const SlicePart *part, void *data)
{
  Seen *seen = data;

  seen->n_visits++;
  if (part->class_index != SLICE_CLASS_V1 (SIZE))
    return true;
  seen->n_slabs += part->kind == SLICE_PART_SLAB;
  seen->n_out += part->kind == SLICE_PART_OUT;
  seen->n_cached += part->kind == SLICE_PART_CACHED;
  return true;
}

static void
test_walk (void)
{
  const SliceClassStats *stats;
  Seen seen = { 0 };

  g_assert_cmpstr (slice_validate (NULL), ==, NULL); /* no block yet */
  g_assert_true (slice_walk (see, &seen));
  g_assert_cmpuint (seen.n_visits, ==, 0);
  begin ();
  g_assert_true (slice_walk (see, &seen));
  stats = test_class_stats (SIZE);
  g_assert_cmpuint (seen.n_slabs, ==, stats->n_slabs);
  g_assert_cmpuint (seen.n_out, ==, stats->n_used);
  g_assert_cmpuint (seen.n_cached, ==,
                    stats->n_cached_threads + stats->n_cached_depot);
  g_assert_cmpuint (seen.n_out - seen.n_cached, ==, N_KEPT);
}

typedef struct
{
  SlicePartKind last;
  int n;
  int n_max;
} Some;

static bool
see_some (const SlicePart *part, void *data)
{
  Some *some = data;

  some->last = part->kind;
  return ++some->n < some->n_max;
}

/* In a slab, and in what is cached. */
static void
test_walk_ends (void)
{
  Some ten = { .n_max = 10 }, all = { .n_max = G_MAXINT }, most;

  begin ();
  g_assert_false (slice_walk (see_some, &ten));
  g_assert_cmpint (ten.n, ==, 10);
  g_assert_true (slice_walk (see_some, &all));
  most = (Some){ .n_max = all.n - 1 };
  g_assert_false (slice_walk (see_some, &most));
  g_assert_cmpint (most.n, ==, all.n - 1);
  g_assert_cmpint (most.last, ==, SLICE_PART_CACHED);
}

/* There is nowhere to note the slabs down; nothing is visited. */
static void
test_walk_needs_memory (void)
{
  struct rlimit limit, none;
  Seen seen = { 0 };
  bool goes_on;

  if (TEST_IS_SANITIZED)
    return; /* it needs memory itself */
  begin ();
  g_assert_cmpint (getrlimit (RLIMIT_AS, &limit), ==, 0);
  none = (struct rlimit){ 0, limit.rlim_max };
  g_assert_cmpint (setrlimit (RLIMIT_AS, &none), ==, 0);
  goes_on = slice_walk (see, &seen);
  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
  g_assert_false (goes_on);
  g_assert_cmpuint (seen.n_visits, ==, 0);
  g_assert_true (slice_walk (see, &seen));
}

/* --- what is broken is found --- */

static void
expect_broken (const char *id, const void *place)
{
  const void *where;
  const char *broken = slice_validate (&where);
  size_t n = strlen (id);

  /* The id, and a text. */
  if (broken == NULL || strncmp (broken, id, n) != 0
      || strncmp (broken + n, ": ", 2) != 0)
    g_error ("%s is broken, but found is: %s", id,
             broken != NULL ? broken : "nothing");
  if (place != NULL)
    g_assert_true (where == place);
}

static Slab *
slab_of (const void *block)
{
  ChunkRef place;

  chunk_find (block, &place);
  return place.slab;
}

/* Some slab of the class that is in a ring. */
static Slab *
partial_slab (void)
{
  for (int i = 0; i < N_KEPT; i++)
    if (slab_of (kept[i])->state == SLAB_PARTIAL)
      return slab_of (kept[i]);
  g_assert_not_reached ();
}

#define BREAK(id, where, what, change)                                        \
  do                                                                          \
    {                                                                         \
      __typeof__ (what) before = (what);                                      \
      change;                                                                 \
      expect_broken (id, where);                                              \
      (what) = before;                                                        \
      g_assert_cmpstr (slice_validate (NULL), ==, NULL);                      \
    }                                                                         \
  while (0)

/* One that has no free chunk, among blocks that are made for it. */
static Slab *
full_slab (void)
{
  Slab *slab = NULL;

  for (int i = 0; i < N_BLOCKS && slab == NULL; i++)
    {
      Slab *of_block = slab_of (slice_alloc (SIZE));

      if (of_block->state == SLAB_FULL)
        slab = of_block;
    }
  g_assert_nonnull (slab);
  return slab;
}

static void
test_slabs (void)
{
  SlabClass *class = &sli_slab_classes[SLICE_CLASS_V1 (SIZE)];
  Slab *slab, *full;
  unsigned n_chunks = 0, granule;
  Region *region;

  begin ();
  slab = partial_slab ();
  n_chunks = sli_sizeclasses[slab->class_index].n_chunks;
  BREAK ("S1", slab, slab->state, slab->state = SLAB_FULL);
  BREAK ("S1", slab, slab->ring, slab->ring ^= 1);
  BREAK ("S1", slab, slab->class_index, slab->class_index++);
  BREAK ("S3", slab, slab->n_carved,
         slab->n_carved = (uint16_t) (n_chunks + 1));
  /* The last word has bits beyond the last chunk. */
  if (n_chunks % 64 != 0)
    BREAK ("S2", slab, slab->words[n_chunks / 64],
           slab->words[n_chunks / 64] |= (uint64_t) 1 << 63);
  region = region_of (slab);
  granule = (unsigned) (((char *) slab - region->records[0])
                        / RUN_RECORD_BYTES);
  BREAK ("S8", slab, region->run_class[granule],
         region->run_class[granule] = 0);
  BREAK ("S4", class, class->n_slabs, class->n_slabs = 0);
  full = full_slab ();
  BREAK ("S6", full, full->words[0], full->words[0] = 1);
}

/* In a ring without a chunk that is free or not carved. */
static void
test_slab_without_free (void)
{
  const SizeClass *sizeclass = &sli_sizeclasses[SLICE_CLASS_V1 (SIZE)];
  uint64_t words[16];
  uint16_t n_carved;
  Slab *slab;

  begin ();
  slab = partial_slab ();
  g_assert_cmpuint (sizeclass->n_words, <=, G_N_ELEMENTS (words));
  memcpy (words, slab->words, sizeclass->n_words * sizeof words[0]);
  n_carved = slab->n_carved;
  memset (slab->words, 0, sizeclass->n_words * sizeof words[0]);
  slab->n_carved = (uint16_t) sizeclass->n_chunks;
  expect_broken ("S1", slab);
  memcpy (slab->words, words, sizeclass->n_words * sizeof words[0]);
  slab->n_carved = n_carved;
  g_assert_cmpstr (slice_validate (NULL), ==, NULL);
}

static void
test_pages (void)
{
  Region *region;

  begin ();
  region = region_of (kept[0]);
  BREAK ("P2", region, region->n_free, region->n_free++);
  BREAK ("P1", region, region->state, region->state = REGION_IDLE);
  BREAK ("P1", region, region->state, region->state = REGION_PURGED);
  BREAK ("P1", region, region->state, region->state = REGION_IN_TRIM);
  BREAK ("P3", region, region->zeroed,
         granuleset_add (&region->zeroed, region_granule_of (region, kept[0]),
                         1));
  BREAK ("P4", region->extent, region->extent->n_purged,
         region->extent->n_purged++);
  BREAK ("P6", &sli_page, sli_page.n_small_paged, sli_page.n_small_paged++);
  BREAK ("P6", &sli_page, sli_page.n_purged, sli_page.n_purged++);
  BREAK ("P6", &sli_page, sli_page.counts.n_idle, sli_page.counts.n_idle++);
  BREAK ("P6", &sli_page, sli_page.counts.n_regions,
         sli_page.counts.n_regions++);
  BREAK ("P6", &sli_page, sli_page.counts.held_bytes,
         sli_page.counts.held_bytes++);
  BREAK ("P6", &sli_page, sli_page.counts.mapped_bytes,
         sli_page.counts.mapped_bytes++);
}

/* The first of three runs, the first two of one granule; 0: there are none. */
static unsigned
find_neighbours (const Region *region)
{
  for (unsigned granule = region->n_header; granule + 2 < region->n_granules;
       granule++)
    if (region->run_first[granule] == granule
        && region->run_first[granule + 1] == granule + 1
        && region->run_first[granule + 2] == granule + 2)
      return granule;
  return 0;
}

/* One with such runs and a free granule; NULL: there is none. */
static Region *
find_half_full (void)
{
  LINK_EACH (link, &sli_page.extents)
    {
      const Extent *extent = LINK_OWNER (link, Extent, link);

      for (unsigned i = 0; i < extent->n_initialised; i++)
        {
          Region *region
              = (Region *) ((char *) extent->start + i * REGION_BYTES);

          if (region->n_free > 0 && find_neighbours (region) != 0)
            return region;
        }
    }
  return NULL;
}

/* Where extents came to lie decides which runs are neighbours: some more slabs
 * are. */
static Region *
half_full_region (void)
{
  Region *region;

  while ((region = find_half_full ()) == NULL)
    g_assert_nonnull (slice_alloc (SIZE));
  return region;
}

static unsigned
find_unit (const Region *region, bool is_free)
{
  for (unsigned granule = region->n_granules - 1; granule > region->n_header;
       granule--)
    if (granuleset_has_all (&region->free, granule, 1) == is_free)
      return granule;
  g_assert_not_reached ();
}

/* Makes a free granule a run, of which nothing is wrong. */
static void
make_run (Region *region, unsigned granule)
{
  granuleset_remove (&region->free, granule, 1);
  granuleset_remove (&region->zeroed, granule, 1);
  region->run_first[granule] = (uint8_t) granule;
  region->run_granules[granule] = 1;
}

/* Each way in which granules, runs and the set of free ones may differ.  What
 * is broken is put right elsewhere, so that n_free stays true. */
static void
test_units (void)
{
  unsigned spare, used;
  Region *region;

  begin ();
  region = half_full_region ();
  spare = find_unit (region, true);
  used = find_neighbours (region);
  BREAK ("P2", region, region->run_first[0], region->run_first[0] = 1);
  BREAK ("P2", region, region->run_class[0], region->run_class[0] = 1);
  BREAK ("P2", region, *region,
         (make_run (region, spare), granuleset_add (&region->free, 0, 1)));
  BREAK ("P2", region, *region,
         (make_run (region, spare), granuleset_add (&region->free, used, 1)));
  BREAK ("P2", region, region->run_first[used],
         region->run_first[used] = 0);
  BREAK ("P2", region, region->run_first[used],
         region->run_first[used] = (uint8_t) (used + 1));
  BREAK ("P2", region, region->run_granules[used],
         region->run_granules[used] = 0);
  /* The third begins where none does: the first two have become one. */
  BREAK ("P2", region, *region,
         (region->run_first[used + 1] = (uint8_t) used,
          region->run_granules[used] = 2,
          region->run_first[used + 2] = (uint8_t) (used + 1),
          region->run_granules[used + 1] = UINT8_MAX));
}

/* The first region is shorter than its window, so there are bits that stand
 * for no granule. */
static void
test_bits_of_no_unit (void)
{
  Region *region = region_of (slice_alloc (SIZE));
  unsigned spare = find_unit (region, true);

  g_assert_cmpuint (region->n_granules, <, REGION_GRANULES_MAX);
  BREAK ("P2", region, *region,
         (make_run (region, spare),
          granuleset_add (&region->free, region->n_granules, 1)));
  BREAK ("P2", region, *region,
         (make_run (region, spare),
          granuleset_add (&region->free, GRANULESET_BITS - 1, 1)));
}

static void
test_map (void)
{
  Extent *extent;
  Region *region;
  void *unbegun;

  begin ();
  region = region_of (kept[0]);
  sli_map_clear (region);
  expect_broken ("P5", region);
  sli_map_set (region, region->n_granules * sli_page.granule_bytes);
  g_assert_cmpstr (slice_validate (NULL), ==, NULL);
  extent = region->extent;
  g_assert_true (sizeof (void *) == 4
                 || extent->n_initialised < extent->n_regions);
  /* With 32 bits an extent has two regions: it may take another one. */
  while (extent->n_initialised == extent->n_regions)
    extent = region_of (slice_alloc (SLICE_SIZE_MAX))->extent;
  unbegun = (char *) extent->start + extent->n_initialised * REGION_BYTES;
  g_assert_nonnull (map_leaf (unbegun));
  sli_map_set (unbegun, SLICE_OURS_BYTES);
  expect_broken ("P5", unbegun);
  sli_map_clear (unbegun);
  g_assert_cmpstr (slice_validate (NULL), ==, NULL);
}

static void
test_magazines (void)
{
  unsigned class_index = SLICE_CLASS_V1 (SIZE);
  SliceEntryV1 *entry;
  Magazine *loaded, *previous;
  ClassCache *cache;
  void *round, *other = slice_alloc (2 * SIZE);
  Slab *slab;
  ChunkRef place;

  begin ();
  for (int i = 0; i < 3; i++) /* something is in the loaded magazine */
    slice_free1 (SIZE, kept[i]);
  entry = &sli_record_self->fast.entries[class_index];
  loaded = sli_record_self->caches[class_index].loaded;
  cache = &sli_record_self->caches[class_index];
  BREAK ("M1", cache, entry->top, entry->top = entry->end + 1);
  BREAK ("M1", cache, entry->top, entry->top = (void **) loaded->slots - 1);
  BREAK ("M1", cache, entry->end, entry->end++);
  BREAK ("M1", cache, loaded->slots[0], loaded->slots[0] = kept[5]);
  BREAK ("M1", cache, loaded->class_index, loaded->class_index++);
  BREAK ("M4", cache, cache->n_taken, cache->n_taken = 60000);
  BREAK ("M3", sli_record_self, sli_record_self->accounted_bytes,
         sli_record_self->accounted_bytes++);
  BREAK ("M3", sli_record_self, cache->size, cache->size ^= 1);
  previous = cache->previous;
  g_assert_nonnull (previous);
  BREAK ("M2", cache, previous->slots[0], previous->slots[0] = kept[5]);
  BREAK ("M2", cache, previous->class_index, previous->class_index++);
  BREAK ("M2", cache, previous->n_rounds,
         previous->n_rounds = previous->n_rounds_max + 1);
  BREAK ("X2", entry->top[-1], entry->top[0], entry->top[0] = entry->top[-1]);
  BREAK ("X1", &slab, entry->top[0], entry->top[0] = &slab);
  BREAK ("X1", other, entry->top[0], entry->top[0] = other);
  /* Free in its slab and cached as well. */
  round = *entry->top;
  chunk_find (round, &place);
  slab = place.slab;
  BREAK ("X1", round, slab->words[place.index / 64],
         slab->words[place.index / 64] |= (uint64_t) 1 << place.index % 64);
}

/* Of a class that this thread never used. */
static void
test_no_magazine (void)
{
  unsigned class_index = SLICE_CLASS_V1 (3 * SIZE);
  SliceEntryV1 *entry;
  ClassCache *cache;

  begin ();
  entry = &sli_record_self->fast.entries[class_index];
  cache = &sli_record_self->caches[class_index];
  g_assert_null (cache->loaded);
  BREAK ("M1", cache, entry->top, entry->top++);
  BREAK ("M1", cache, entry->end, entry->end++);
}

/* The depot's one magazine, found through what is cached. */
static Magazine *depot_magazine;

static void
find_magazine (unsigned class_index G_GNUC_UNUSED, void *const *rounds,
               size_t n G_GNUC_UNUSED, void *data G_GNUC_UNUSED)
{
  depot_magazine = (Magazine *) (void *) ((char *) (uintptr_t) (rounds - 1)
                                          - offsetof (Magazine, slots));
}

static void
test_depot (void)
{
  static struct
  {
    Magazine magazine;
    void *slots[2];
  } another;

  begin ();
  sli_depot_each (SLICE_CLASS_V1 (SIZE), find_magazine, NULL);
  g_assert_nonnull (depot_magazine);
  BREAK ("D1", depot_magazine, depot_magazine->n_rounds_max,
         depot_magazine->n_rounds_max = depot_magazine->n_rounds - 1);
  BREAK ("D1", depot_magazine, depot_magazine->class_index,
         depot_magazine->class_index++);
  BREAK ("D1", depot_magazine, depot_magazine->n_rounds,
         depot_magazine->n_rounds = 0);
  BREAK ("D1", depot_magazine, depot_magazine->slots[0],
         depot_magazine->slots[0] = kept[0]);
  BREAK ("D3", NULL, depot_magazine->n_rounds, depot_magazine->n_rounds--);
  /* As many rounds, in one magazine more. */
  depot_magazine->n_rounds--;
  another.magazine = *depot_magazine;
  another.magazine.n_rounds = 1;
  link_init (&another.magazine.link);
  link_after (&another.magazine.link, &depot_magazine->link);
  expect_broken ("D3", NULL);
  link_remove (&another.magazine.link);
  depot_magazine->n_rounds++;
  g_assert_cmpstr (slice_validate (NULL), ==, NULL);
  /* find_magazine() ended at the oldest. */
  BREAK ("D2", depot_magazine, depot_magazine->pushed_msec,
         depot_magazine->pushed_msec += 1000000);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/walk/counts-as-stats", test_walk);
  test_add_fresh ("/slice/walk/ends-on-false", test_walk_ends);
  test_add_fresh ("/slice/walk/needs-memory", test_walk_needs_memory);
  test_add_fresh ("/slice/walk/names-broken-slabs", test_slabs);
  test_add_fresh ("/slice/walk/names-slab-without-free",
                  test_slab_without_free);
  test_add_fresh ("/slice/walk/names-broken-pages", test_pages);
  test_add_fresh ("/slice/walk/names-broken-granules", test_units);
  test_add_fresh ("/slice/walk/names-bits-of-no-granule", test_bits_of_no_unit);
  test_add_fresh ("/slice/walk/names-broken-map", test_map);
  test_add_fresh ("/slice/walk/names-broken-magazines", test_magazines);
  test_add_fresh ("/slice/walk/names-where-no-magazine-is",
                  test_no_magazine);
  test_add_fresh ("/slice/walk/names-broken-depots", test_depot);
  return g_test_run ();
}
