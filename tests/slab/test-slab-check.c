/* test-slab-check.c - the slabs' validators name what damage breaks
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "tests/testlib.h"
#include "tests/testprocessor.h"
#include "base/option.h"
#include "slab/slab-class.h"

enum
{
  CLASS = 3,
  N_TAKEN = 10
};

static TestPages pages;

/* A slab with some chunks allocated, and others that are not carved yet. */
static Slab *
partial_slab (void)
{
  void *chunks[N_TAKEN], *record = NULL;

  sli_shard_pretend (pretended_processor);
  test_pages_init (&pages);
  slice_set_source (&pages.source);
  sli_option_freeze ();
  sli_slab_init ();
  g_assert_cmpuint (sli_slab_alloc (CLASS, N_TAKEN, chunks + N_TAKEN), ==,
                    N_TAKEN);
  g_assert_nonnull (region_run_of (chunks[0], &record));
  return record;
}

static void
assert_broken (const char *id, const void *expected)
{
  const void *where = NULL;

  g_assert_cmpstr (sli_slab_check (CLASS, &where), ==, id);
  if (expected != NULL)
    g_assert_true (where == expected);
}

static void
test_header (void)
{
  Slab *slab = partial_slab ();

  assert_broken (NULL, NULL);
  slab->class_index++;
  assert_broken ("S1", slab);
  slab->class_index--;
  slab->ring ^= 1;
  assert_broken ("S1", slab);
  slab->ring ^= 1;
  slab->state = SLAB_FULL;
  assert_broken ("S1", slab);
  slab->state = SLAB_PARTIAL;
  assert_broken (NULL, NULL);
}

static void
test_bitmap (void)
{
  Slab *slab = partial_slab ();
  uint16_t n_carved = slab->n_carved;
  unsigned n_chunks = sli_sizeclasses[CLASS].n_chunks;

  /* A chunk that was never carved can't be free. */
  g_assert_cmpuint (n_carved, <, n_chunks);
  slab->words[n_carved / BITS_PER_WORD] |= (uint64_t) 1
                                           << n_carved % BITS_PER_WORD;
  assert_broken ("S2", slab);
  slab->words[n_carved / BITS_PER_WORD]
      &= ~((uint64_t) 1 << n_carved % BITS_PER_WORD);
  slab->n_carved = (uint16_t) (n_chunks + 1);
  assert_broken ("S3", slab);
  /* A slab in a ring has a chunk to allocate. */
  slab->n_carved = (uint16_t) n_chunks;
  assert_broken ("S1", slab);
  slab->n_carved = n_carved;
  assert_broken (NULL, NULL);
}

static void
test_counts (void)
{
  SlabClass *class = &sli_slab_classes[CLASS];

  partial_slab ();
  class->n_slabs--;
  assert_broken ("S4", class);
  class->n_slabs++;
  assert_broken (NULL, NULL);
}

/* S6: a slab with a free chunk is in a ring. */
static void
test_full (void)
{
  Slab *slab = partial_slab ();
  const void *where;

  g_assert_null (sli_slab_check_full (&where));
  slab->state = SLAB_FULL;
  g_assert_cmpstr (sli_slab_check_full (&where), ==, "S6");
  g_assert_true (where == slab);
  slab->state = SLAB_PARTIAL;
  g_assert_null (sli_slab_check_full (&where));
}

/* S7: a shard has one slab of a class at most. */
static void
test_claims (void)
{
  Slab *slab = partial_slab ();
  uint8_t claim = slab->claim;

  g_assert_cmpuint (slab->ring, ==, CLAIMED_RING);
  slab->claim = SHARDS;
  assert_broken ("S7", slab);
  slab->claim = claim;
  assert_broken (NULL, NULL);
}

static void
visit_slab (void *run, unsigned class_index, void *data)
{
  unsigned *n_seen = data;

  g_assert_cmpuint (chunk_class_of ((char *) run + 1024), ==, class_index);
  n_seen[class_index]++;
}

/* The walk visits each slab of each class once. */
static void
test_each (void)
{
  unsigned n_seen[N_CLASSES] = { 0 };
  void *chunks[1];

  partial_slab ();
  for (unsigned i = CLASS + 1; i < N_CLASSES; i++)
    g_assert_cmpuint (sli_slab_alloc (i, 1, chunks + 1), ==, 1);
  sli_slab_each (visit_slab, n_seen);
  for (unsigned i = 1; i < N_CLASSES; i++)
    g_assert_cmpuint (n_seen[i], ==, i >= CLASS);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/slab-check/header", test_header);
  test_add_fresh ("/slice/slab-check/bitmap", test_bitmap);
  test_add_fresh ("/slice/slab-check/counts", test_counts);
  test_add_fresh ("/slice/slab-check/full", test_full);
  test_add_fresh ("/slice/slab-check/claims", test_claims);
  test_add_fresh ("/slice/slab-check/each", test_each);
  return g_test_run ();
}
