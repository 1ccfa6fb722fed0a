/* test-walk.c - slice_walk() and slice_validate()
 *
 * Each invariant is also broken by hand: the validator must name it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <pthread.h>
#include <string.h>

#include <slice/libslice.h>

#include "core/depot.h"
#include "core/place.h"
#include "core/record.h"
#include "core/region.h"

#include "testlib.h"
#include "teststats.h"

enum
{
  SIZE = 64,
  N_BLOCKS = 5000,
  N_KEPT = 700
};

static void *kept[N_KEPT];

/* Blocks that live, magazines in this thread and the depot, slabs with holes,
 * idle regions. */
static void *
make_state (void *unused G_GNUC_UNUSED)
{
  static __thread void *blocks[N_BLOCKS];

  for (size_t size = 16; size <= 1024; size *= 2)
    {
      for (int i = 0; i < N_BLOCKS; i++)
        blocks[i] = slice_alloc (size);
      for (int i = 0; i < N_BLOCKS; i++)
        slice_free1 (size, blocks[(i * 7) % N_BLOCKS]);
    }
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

static bool
see_ten (const SlicePart *part G_GNUC_UNUSED, void *data)
{
  int *n = data;

  return ++*n < 10;
}

static void
test_walk_ends (void)
{
  int n = 0;

  begin ();
  g_assert_false (slice_walk (see_ten, &n));
  g_assert_cmpint (n, ==, 10);
}

/* --- what is broken is found --- */

static void
expect_broken (const char *id, const void *place)
{
  const void *where;
  const char *broken = slice_validate (&where);

  if (broken == NULL || strncmp (broken, id, strlen (id)) != 0)
    g_error ("%s is broken, but found is: %s", id,
             broken != NULL ? broken : "nothing");
  if (place != NULL)
    g_assert_true (where == place);
}

static Slab *
slab_of (const void *block)
{
  Place place;

  place_find (block, &place);
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

static void
test_slabs (void)
{
  Slab *slab;
  unsigned n_chunks = 0;

  begin ();
  slab = partial_slab ();
  n_chunks = sli_sizeclasses[slab->class_index].n_chunks;
  BREAK ("S1", slab, slab->state, slab->state = SLAB_FULL);
  BREAK ("S1", slab, slab->ring, slab->ring ^= 1);
  for (int i = 0; i < N_KEPT; i++)
    if (slab_of (kept[i])->state == SLAB_FULL)
      {
        Slab *full = slab_of (kept[i]);

        BREAK ("S6", full, full->words[0], full->words[0] = 1);
        break;
      }
  BREAK ("S3", slab, slab->n_carved,
         slab->n_carved = (uint16_t) (n_chunks + 1));
  /* The last word has bits beyond the last chunk. */
  if (n_chunks % 64 != 0)
    BREAK ("S2", slab, slab->words[n_chunks / 64],
           slab->words[n_chunks / 64] |= (uint64_t) 1 << 63);
}

static void
test_pages (void)
{
  Region *region;

  begin ();
  region = region_of (kept[0]);
  BREAK ("P2", region, region->n_free, region->n_free++);
  BREAK ("P1", region, region->state, region->state = REGION_IDLE);
  BREAK ("P2", region, region->run_first[region_unit_of (region, kept[0])],
         region->run_first[region_unit_of (region, kept[0])] = 0);
  BREAK ("P3", region, region->fresh,
         unitset_add (&region->fresh, region_unit_of (region, kept[0]), 1));
  BREAK ("P4", region->extent, region->extent->n_clean,
         region->extent->n_clean++);
}

static void
test_magazines (void)
{
  unsigned class_index = SLICE_CLASS_V1 (SIZE);
  SliceEntryV1 *entry;
  Magazine *loaded;
  void *round;
  Slab *slab;
  Place place;

  begin ();
  for (int i = 0; i < 3; i++) /* something is in the loaded magazine */
    slice_free1 (SIZE, kept[i]);
  entry = &sli_record_self->fast.entries[class_index];
  loaded = sli_record_self->caches[class_index].loaded;
  BREAK ("M1", NULL, entry->top, entry->top = entry->end + 1);
  BREAK ("M1", NULL, loaded->slots[0], loaded->slots[0] = kept[5]);
  BREAK ("X2", entry->top[-1], entry->top[0], entry->top[0] = entry->top[-1]);
  BREAK ("X1", &slab, entry->top[0], entry->top[0] = &slab);
  /* Free in its slab and cached as well. */
  round = *entry->top;
  place_find (round, &place);
  slab = place.slab;
  BREAK ("X1", round, slab->words[place.index / 64],
         slab->words[place.index / 64] |= (uint64_t) 1 << place.index % 64);
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
  begin ();
  sli_depot_each (SLICE_CLASS_V1 (SIZE), find_magazine, NULL);
  g_assert_nonnull (depot_magazine);
  BREAK ("D1", depot_magazine, depot_magazine->n_rounds_max,
         depot_magazine->n_rounds_max = depot_magazine->n_rounds - 1);
  BREAK ("D3", NULL, depot_magazine->n_rounds, depot_magazine->n_rounds--);
  /* find_magazine() ended at the oldest. */
  BREAK ("D2", depot_magazine, depot_magazine->pushed_msec,
         depot_magazine->pushed_msec += 1000000);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/walk/counts-as-stats", test_walk);
  test_add_fresh ("/slice/walk/ends-when-told", test_walk_ends);
  test_add_fresh ("/slice/walk/names-broken-slabs", test_slabs);
  test_add_fresh ("/slice/walk/names-broken-pages", test_pages);
  test_add_fresh ("/slice/walk/names-broken-magazines", test_magazines);
  test_add_fresh ("/slice/walk/names-broken-depots", test_depot);
  return g_test_run ();
}
