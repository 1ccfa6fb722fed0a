/* test-slab.c - slice/slab/slab.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "tests/testlib.h"
#include "tests/testprocessor.h"
#include "base/option.h"
#include "page/page.h"
#include "slab/chunk.h"
#include "slab/slab.h"
#include "slab/last-allocator.h"
#include "port/os/os.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static TestPages pages;

static void
begin (void)
{
  sli_shard_pretend (pretended_processor);
  test_pages_init (&pages);
  slice_set_source (&pages.source);
  sli_option_freeze ();
  sli_slab_init ();
}

static SlabCounts
counts_of (unsigned class_index)
{
  SlabCounts counts[N_CLASSES];

  sli_slab_count_all (counts);
  return counts[class_index];
}

static void
check_valid (void)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    g_assert_true (sli_slab_is_valid (i));
}

static void *
take_one (unsigned class_index)
{
  void *chunk[1];

  g_assert_cmpuint (sli_slab_alloc (class_index, 1, chunk + 1), ==, 1);
  return chunk[0];
}

static void
give_one (unsigned class_index, void *chunk)
{
  sli_slab_free (class_index, 1, &chunk, "test");
}

static size_t
offset_in_run (void *chunk)
{
  void *record;

  return (size_t) ((char *) chunk - (char *) region_run_of (chunk, &record));
}

/* --- alloc and free --- */

/* The chunks of a new slab are neighbours in rising order. */
static void
test_order (void)
{
  void *chunks[100];

  begin ();
  g_assert_cmpuint (sli_slab_alloc (3, 100, chunks + 100), ==, 100);
  for (int i = 0; i < 99; i++)
    g_assert_true ((char *) chunks[i] == (char *) chunks[i + 1] + 24);
  /* Free chunks are allocated lowest first.  chunks[0] keeps the slab: a new
   * one may have another colour. */
  sli_slab_free (3, 99, chunks + 1, "test");
  g_assert_true (take_one (3) == chunks[99]);
  g_assert_true (take_one (3) == chunks[98]);
  check_valid ();
}

static void
test_every_class (void)
{
  begin ();
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      unsigned n = 2 * sli_sizeclasses[i].n_chunks + 1;
      void **chunks = g_new (void *, n);
      unsigned taken = 0;

      while (taken < n)
        {
          unsigned got = sli_slab_alloc (i, n - taken, chunks + n - taken);

          g_assert_cmpuint (got, >, 0);
          g_assert_cmpuint (got, <=, n - taken);
          taken += got;
        }
      for (unsigned k = 0; k < n; k++)
        {
          g_assert_cmpuint ((uintptr_t) chunks[k]
                                % test_alignment (sli_sizeclasses[i]
                                                      .block_bytes),
                            ==, 0);
          test_fill (chunks[k], sli_sizeclasses[i].chunk_bytes, k);
        }
      g_assert_cmpuint (counts_of (i).n_slabs, ==, 3);
      g_assert_cmpuint (counts_of (i).n_out, ==, n);
      for (unsigned k = 0; k < n; k++)
        g_assert_true (
            test_is_filled (chunks[k], sli_sizeclasses[i].chunk_bytes, k));
      g_assert_true (sli_slab_is_valid (i));
      sli_slab_free (i, n, chunks, "test");
      g_assert_cmpuint (counts_of (i).n_slabs, ==, 0);
      g_assert_cmpuint (counts_of (i).n_out, ==, 0);
      g_assert_cmpuint (counts_of (i).n_made, ==, 3);
      g_assert_cmpuint (counts_of (i).n_freed, ==, 3);
      g_free (chunks);
    }
  check_valid ();
}

/* Long random sequences agree with a table of the chunks that are out. */
static void
random_run (unsigned index, void *data G_GNUC_UNUSED)
{
  enum { N = 3000 };
  static const unsigned indexes[] = { 1, 2, 3, 8, 16, 32, 33, N_CLASSES - 1 };
  void **chunks = g_new0 (void *, N);
  unsigned *class_of = g_new0 (unsigned, N);
  TestRandom random;

  test_random_init (&random, index);
  for (unsigned turn = 0; turn < test_times (150000, 10000); turn++)
    {
      unsigned at = test_random_below (&random, N);

      if (chunks[at] == NULL)
        {
          unsigned which
              = test_random_below (&random, G_N_ELEMENTS (indexes));

          class_of[at] = indexes[which];
          chunks[at] = take_one (class_of[at]);
          test_fill (chunks[at], sli_sizeclasses[class_of[at]].chunk_bytes,
                     at + index * N);
        }
      else
        {
          g_assert_true (test_is_filled (
              chunks[at], sli_sizeclasses[class_of[at]].chunk_bytes,
              at + index * N));
          give_one (turn % 2 == 0 ? class_of[at] : 0, chunks[at]);
          chunks[at] = NULL;
        }
      if (turn % 5000 == 0)
        {
          sli_slab_trim (0, 2);
          check_valid ();
        }
    }
  /* The rest is freed in one call, classes mixed. */
  sli_slab_free (0, N, chunks, "test");
  g_free (chunks);
  g_free (class_of);
}

static void
check_nothing_is_out (void)
{
  SlabCounts counts[N_CLASSES];

  sli_slab_count_all (counts);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      g_assert_cmpuint (counts[i].n_out, ==, 0);
      g_assert_cmpuint (counts[i].n_slabs, ==, 0);
    }
  check_valid ();
}

static void
test_random_sequence (void)
{
  begin ();
  random_run (0, NULL);
  check_nothing_is_out ();
}

static void
test_random_threads (void)
{
  begin ();
  test_gang (4, random_run, NULL);
  check_nothing_is_out ();
}

/* --- threads that return each other's chunks, with every transition --- */

enum { RELAY = 4096 };
static void *relay[RELAY];

static void
relay_run (unsigned index, void *data G_GNUC_UNUSED)
{
  TestRandom random;

  test_random_init (&random, index);
  for (unsigned turn = 0; turn < test_times (300000, 20000); turn++)
    {
      unsigned at = test_random_below (&random, RELAY);
      void *mine = turn % 3 == 0 ? NULL : take_one (64);
      void *other;

      if (mine != NULL)
        memset (mine, 1, 8);
      other = __atomic_exchange_n (&relay[at], mine, __ATOMIC_ACQ_REL);
      if (other != NULL)
        give_one (64, other);
    }
}

static void
test_relay (void)
{
  begin ();
  test_gang (4, relay_run, NULL);
  sli_slab_free (64, RELAY, relay, "test");
  check_nothing_is_out ();
}

/* --- which slab is chosen --- */

/* Slabs with few free chunks are filled before others. */
static void
test_fullest_first (void)
{
  enum { SLABS = 5 };
  unsigned class_index = (unsigned) SLICE_CLASS_V1 (512);
  unsigned n = sli_sizeclasses[class_index].n_chunks;
  void *chunks[SLABS][200], *record;

  begin ();
  n = sli_sizeclasses[class_index].n_chunks;
  g_assert_cmpuint (n, <, 200);
  for (int s = 0; s < SLABS; s++)
    {
      unsigned taken = 0;

      while (taken < n)
        taken += sli_slab_alloc (class_index, n - taken,
                                chunks[s] + n - taken);
    }
  /* Slab s gets s * 25 + 1 free chunks, the emptiest first. */
  for (int s = SLABS; s-- > 0;)
    sli_slab_free (class_index, (unsigned) s * 25 + 1, chunks[s], "test");
  for (int s = 0; s < SLABS; s++)
    for (int k = 0; k < s * 25 + 1; k++)
      {
        void *chunk = take_one (class_index);

        g_assert_true (region_run_of (chunk, &record)
                       == region_run_of (chunks[s][n - 1], &record));
      }
  g_assert_cmpuint (counts_of (class_index).n_made, ==, SLABS);
}

/* Of slabs that are about as full, too: the order of the frees means
 * nothing. */
static void
test_fullest_of_a_ring (void)
{
  enum { SLABS = 3, CHUNKS_MOST = 200 };
  static const unsigned n_free[SLABS] = { 6, 3, 9 };
  static const int by_fullness[SLABS] = { 1, 0, 2 };
  unsigned class_index = (unsigned) SLICE_CLASS_V1 (512);
  void *chunks[SLABS][CHUNKS_MOST], *record;
  unsigned n;

  begin ();
  n = sli_sizeclasses[class_index].n_chunks;
  g_assert_cmpuint (n, <, CHUNKS_MOST);
  for (int s = 0; s < SLABS; s++)
    for (unsigned i = 0; i < n; i++)
      chunks[s][i] = take_one (class_index);
  for (int s = 0; s < SLABS; s++)
    sli_slab_free (class_index, n_free[s], chunks[s], "test");
  for (int i = 0; i < SLABS; i++)
    for (unsigned k = 0; k < n_free[by_fullness[i]]; k++)
      {
        void *chunk = take_one (class_index);

        g_assert_true (region_run_of (chunk, &record)
                       == region_run_of (chunks[by_fullness[i]][n - 1],
                                         &record));
      }
}

/* A slab of which just a quarter is free is in the second ring, where it does
 * not hide a fuller one. */
static void
test_quarter_free (void)
{
  enum { SLABS = 40, CLASS_INDEX = N_CLASSES - 1, CHUNKS_MOST = 63 };
  static void *chunks[SLABS + 1][CHUNKS_MOST];
  int n_chunks, quarter;
  bool found = false;

  begin ();
  n_chunks = sli_sizeclasses[CLASS_INDEX].n_chunks;
  quarter = (n_chunks + 1) / 4;
  g_assert_cmpint (n_chunks, ==, sli_page_granule_bytes () > 16384 ? 63 : 31);
  for (int s = 0; s <= SLABS; s++)
    for (int i = 0; i < n_chunks; i++)
      chunks[s][i] = take_one (CLASS_INDEX);
  give_one (CLASS_INDEX, chunks[0][0]);
  for (int s = 1; s <= SLABS; s++)
    sli_slab_free (CLASS_INDEX, (unsigned) quarter, chunks[s], "test");
  for (int n = 0; n < SLABS * quarter / 2 && !found; n++)
    found = take_one (CLASS_INDEX) == chunks[0][0];
  g_assert_true (found);
}

/* An empty slab is freed at once. */
static void
test_empty_slab_leaves (void)
{
  void *chunk;

  begin ();
  chunk = take_one (10);
  g_assert_cmpuint (counts_of (10).n_slabs, ==, 1);
  give_one (10, chunk);
  g_assert_cmpuint (counts_of (10).n_slabs, ==, 0);
}

/* --- claims of shards --- */

enum
{
  SMALL_CLASS = 2, /* 16 bytes: four a line */
  LARGE_CLASS = 16 /* 128 bytes */
};

static void *
slab_of (void *chunk)
{
  void *record;

  return region_run_of (chunk, &record);
}

typedef struct
{
  unsigned class_index;
  void *chunk;
} Wanted;

static void
take_one_run (unsigned index G_GNUC_UNUSED, void *data)
{
  Wanted *wanted = data;

  wanted->chunk = take_one (wanted->class_index);
}

/* A chunk for another thread, which runs on a processor. */
static void *
take_one_on (int at, unsigned class_index)
{
  Wanted wanted = { class_index, NULL };

  processor = at;
  test_gang (1, take_one_run, &wanted);
  processor = 0;
  return wanted.chunk;
}

/* Two shards that take turns have no slab in common. */
static void
test_claims (void)
{
  void *own[20], *other[20];

  begin ();
  for (int i = 0; i < 20; i++)
    {
      own[i] = take_one (SMALL_CLASS);
      other[i] = take_one_on (1, SMALL_CLASS);
      g_assert_true (slab_of (own[i]) == slab_of (own[0]));
      g_assert_true (slab_of (other[i]) == slab_of (other[0]));
    }
  g_assert_true (slab_of (own[0]) != slab_of (other[0]));
  g_assert_cmpuint (counts_of (SMALL_CLASS).n_slabs, ==, 2);
  check_valid ();
  /* Chunks that come back go to whoever has claimed their slab. */
  give_one (SMALL_CLASS, other[3]);
  g_assert_true (take_one (SMALL_CLASS) != other[3]);
  g_assert_true (take_one_on (1, SMALL_CLASS) == other[3]);
}

/* A thread that goes from processor to processor needs one slab, and two that
 * change places keep theirs. */
static void
test_claims_migrate (void)
{
  void *first, *other;

  begin ();
  first = take_one (SMALL_CLASS);
  for (int i = 0; i < 30; i++)
    {
      processor = i % (2 * SHARDS);
      g_assert_true (slab_of (take_one (SMALL_CLASS)) == slab_of (first));
    }
  g_assert_cmpuint (counts_of (SMALL_CLASS).n_slabs, ==, 1);
  processor = 0;
  g_assert_true (slab_of (take_one (SMALL_CLASS)) == slab_of (first));
  other = take_one_on (1, SMALL_CLASS);
  g_assert_true (slab_of (other) != slab_of (first));
  processor = 1;
  g_assert_true (slab_of (take_one (SMALL_CLASS)) == slab_of (first));
  check_valid ();
}

/* A claim that is not used ends when another shard needs slabs; where no lines
 * are shared it ends at once, and with a trim. */
static void
test_claims_end (void)
{
  const SizeClass *sizeclass = &sli_sizeclasses[SMALL_CLASS];
  void *claimed;
  unsigned n = 0;

  begin ();
  claimed = take_one_on (1, SMALL_CLASS);
  while (slab_of (take_one (SMALL_CLASS)) != slab_of (claimed))
    g_assert_cmpuint (++n, <, 3 * sizeclass->n_chunks);
  check_valid ();
  claimed = take_one_on (1, LARGE_CLASS);
  g_assert_true (slab_of (take_one (LARGE_CLASS)) == slab_of (claimed));
  claimed = take_one_on (1, SMALL_CLASS + 1);
  sli_slab_trim (0, UINT_MAX);
  g_assert_true (slab_of (take_one (SMALL_CLASS + 1)) == slab_of (claimed));
  check_valid ();
}

/* --- colours --- */

/* Returns true for the first chunk of a slab: no chunk is before it. */
static bool
slab_begins_at (void *chunk, const SizeClass *class)
{
  ChunkInfo info;

  sli_slab_lookup ((char *) chunk - class->chunk_bytes, &info);
  return offset_in_run (chunk) < class->chunk_bytes
         || info.state == CHUNK_NONE;
}

/* Distinct offsets of slabs' first chunks, over many slabs. */
static unsigned
count_colours (unsigned class_index, unsigned n_slabs)
{
  const SizeClass *class = &sli_sizeclasses[class_index];
  unsigned n = n_slabs * class->n_chunks;
  void **chunks = g_new (void *, n);
  GHashTable *offsets = g_hash_table_new (NULL, NULL);
  unsigned taken = 0, n_offsets;

  while (taken < n)
    taken += sli_slab_alloc (class_index, n - taken, chunks + n - taken);
  for (unsigned i = 0; i < n; i++)
    if (offset_in_run (chunks[i]) < class->n_colours * class->colour_bytes
        && slab_begins_at (chunks[i], class))
      g_hash_table_add (offsets, GSIZE_TO_POINTER (offset_in_run (chunks[i])));
  n_offsets = g_hash_table_size (offsets);
  g_hash_table_unref (offsets);
  g_assert_cmpuint (counts_of (class_index).n_slabs, ==, n_slabs);
  sli_slab_free (class_index, n, chunks, "test");
  g_free (chunks);
  return n_offsets;
}

static void
test_colours (void)
{
  static const size_t sizes[]
      = { 64, 72, 80, 96, 128, 192, 256, 288, 336, 368, 448, 512, 1040, 2064 };

  begin ();
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      unsigned class_index = (unsigned) SLICE_CLASS_V1 (sizes[i]);
      unsigned n_colours = sli_sizeclasses[class_index].n_colours;

      g_assert_cmpuint (count_colours (class_index, test_times (1000, 50)),
                        ==, n_colours);
      g_assert_cmpuint (n_colours, >, sizes[i] == 64 ? 0 : 1);
    }
}

/* --- lookup --- */

static void
check_look_up (const void *address, ChunkState state, unsigned class_index,
               const void *start)
{
  ChunkInfo info;

  sli_slab_lookup (address, &info);
  g_assert_cmpint (info.state, ==, state);
  g_assert_cmpuint (info.class_index, ==, class_index);
  g_assert_true (info.start == start);
}

static void
test_look_up (void)
{
  char *chunks[3], *run;
  void *record;

  begin ();
  g_assert_cmpuint (sli_slab_alloc (5, 3, (void **) chunks + 3), ==, 3);
  check_look_up (chunks[0], CHUNK_OUT, 5, chunks[0]);
  check_look_up (chunks[0] + 1, CHUNK_INTERIOR, 5, chunks[0]);
  check_look_up (chunks[0] + 39, CHUNK_INTERIOR, 5, chunks[0]);
  check_look_up (chunks[0] + 40, CHUNK_UNCARVED, 5, chunks[0] + 40);
  give_one (5, chunks[1]);
  check_look_up (chunks[1], CHUNK_FREE, 5, chunks[1]);
  run = region_run_of (chunks[0], &record);
  check_look_up (run + sli_sizeclasses[5].slab_bytes - 1, CHUNK_NONE, 0, NULL);
  check_look_up (run - 1, CHUNK_NONE, 0, NULL); /* the region's header */
  check_look_up (&record, CHUNK_FOREIGN, 0, NULL);
  /* Addresses behind the short first extent are foreign. */
  check_look_up (run + (1 << 20), CHUNK_FOREIGN, 0, NULL);
  check_look_up (NULL, CHUNK_FOREIGN, 0, NULL);
  check_look_up ((void *) UINTPTR_MAX, CHUNK_FOREIGN, 0, NULL);
  g_assert_cmpuint (chunk_class_of (chunks[0]), ==, 5);
  g_assert_cmpuint (chunk_class_of (&record), ==, 0);
  give_one (5, chunks[0]);
  give_one (5, chunks[2]);
  check_look_up (chunks[0], CHUNK_NONE, 0, NULL);
}

/* --- misuse --- */

static void *kept;
static unsigned real_bytes;

static void
expect (int number, const char *text, const void *chunk)
{
  char real[32] = "";

  if (real_bytes != 0)
    g_snprintf (real, sizeof real, ", real size %u", real_bytes);
  test_will_die ("slice: error %d: test: %s: block %p, given size 40%s "
                 "[class 40, thread %u]",
                 number, text, chunk, real, test_thread_id ());
}

static void
begin_misuse (void)
{
  begin ();
  kept = take_one (5);
  real_bytes = 40;
}

static void
death_foreign (void)
{
  int local = 0;

  begin_misuse ();
  real_bytes = 0;
  expect (102, "not a block of this allocator", &local);
  give_one (5, &local);
}

static void
death_wrong_class (void)
{
  void *other;

  begin_misuse ();
  other = take_one (6);
  real_bytes = 48;
  expect (103, "block freed with a wrong size", other);
  give_one (5, other);
}

static void
death_interior (void)
{
  begin_misuse ();
  expect (104, "not the start of a block", (char *) kept + 8);
  give_one (5, (char *) kept + 8);
}

static void
death_already_free (void)
{
  void *second;

  begin_misuse ();
  second = take_one (5);
  give_one (5, second);
  expect (105, "block is free already", second);
  give_one (5, second);
}

/* The message names the chunk that was free. */
static void
death_already_free_among (void)
{
  void *chunks[10];

  begin_misuse ();
  g_assert_cmpuint (sli_slab_alloc (5, 10, chunks + 10), ==, 10);
  give_one (5, chunks[6]);
  expect (105, "block is free already", chunks[6]);
  sli_slab_free (5, 10, chunks, "test");
}

static void
death_twice_in_one_call (void)
{
  void *chunks[3];

  begin_misuse ();
  g_assert_cmpuint (sli_slab_alloc (5, 2, chunks + 2), ==, 2);
  chunks[2] = chunks[0];
  expect (105, "block is free already", chunks[0]);
  sli_slab_free (5, 3, chunks, "test");
}

static void
death_never_allocated (void)
{
  begin_misuse ();
  expect (106, "block was never allocated", (char *) kept + 400);
  give_one (5, (char *) kept + 400);
}

static void
death_no_slab (void)
{
  begin_misuse ();
  give_one (5, kept);
  real_bytes = 0;
  expect (112, "not in a slab: freed before, or never a block", kept);
  give_one (5, kept);
}

/* --- no memory --- */

static void
test_no_memory (void)
{
  void *chunks[200];
  unsigned n = 0;

  begin ();
  pages.n_until_failure = 1;
  while (sli_slab_alloc (N_CLASSES - 1, 1, chunks + 1 + n % 100) == 1)
    n++;
  /* The first extent has space for three slabs. */
  g_assert_cmpuint (n, ==, 3 * sli_sizeclasses[N_CLASSES - 1].n_chunks);
  g_assert_cmpuint (sli_slab_alloc (N_CLASSES - 1, 1, chunks + 1), ==, 0);
  /* Other classes fit in the rest. */
  g_assert_cmpuint (sli_slab_alloc (2, 100, chunks + 100), ==, 100);
  pages.n_until_failure = -1;
  g_assert_cmpuint (sli_slab_alloc (N_CLASSES - 1, 1, chunks + 1), ==, 1);
  check_valid ();
}

/* --- remote chunks --- */

enum
{
  EACH = 100
};

/* Chunks that one thread allocates and another examines. */
typedef struct
{
  void *rising[EACH];   /* neighbours */
  void *apart[EACH];    /* every other one */
  void *large[EACH];    /* 64 bytes, every other one */
  uint16_t tag;
} Interleaved;

static void
examine_apart (unsigned index G_GNUC_UNUSED, void *data)
{
  Interleaved *d = data;

  if (sli_tls_tag () == d->tag)
    return; /* rare: the two threads have the same tag */
  g_assert_false (sli_last_allocator_is_remote (SMALL_CLASS, EACH, d->rising));
  g_assert_false (sli_last_allocator_is_remote (8, EACH, d->large));
  g_assert_true (sli_last_allocator_is_remote (SMALL_CLASS, EACH, d->apart));
  g_assert_false (sli_last_allocator_is_remote (SMALL_CLASS, 2, d->apart));
  sli_last_allocator_claim (SMALL_CLASS, EACH, d->apart);
  g_assert_false (sli_last_allocator_is_remote (SMALL_CLASS, EACH, d->apart));
  d->tag = 0;
}

static void
test_last_allocator (void)
{
  void *chunks[2 * EACH], *strange[EACH] = { NULL };
  Interleaved d;

  begin ();
  g_assert_cmpuint (
      sli_slab_alloc (SMALL_CLASS, 2 * EACH, chunks + 2 * EACH), ==,
      2 * EACH);
  for (int i = 0; i < EACH; i++)
    {
      d.rising[i] = chunks[i];
      d.apart[i] = chunks[2 * i];
    }
  g_assert_cmpuint (sli_slab_alloc (8, 2 * EACH, chunks + 2 * EACH), ==,
                    2 * EACH);
  for (int i = 0; i < EACH; i++)
    d.large[i] = chunks[2 * i];
  g_assert_false (sli_last_allocator_is_remote (SMALL_CLASS, EACH, d.apart));
  d.tag = sli_tls_tag ();
  test_gang (1, examine_apart, &d);
  g_assert_cmpint (
      sli_last_allocator_is_remote (SMALL_CLASS, EACH, d.apart), ==,
      d.tag == 0);
  /* Holes and foreign addresses do no harm: the slab layer reports them. */
  for (int i = 0; i < EACH; i += 3)
    strange[i] = chunks + i;
  g_assert_false (sli_last_allocator_is_remote (SMALL_CLASS, EACH, strange));
  sli_last_allocator_claim (SMALL_CLASS, EACH, strange);
  check_valid ();
}

/* Both read no further than the array's end: an inaccessible page is behind
 * it. */
static void
test_last_allocator_bounds (void)
{
  size_t page_bytes = sli_os_page_bytes ();
  char *pages_two = mmap (NULL, 2 * page_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void **chunks = (void **) (void *) (pages_two + page_bytes) - EACH;

  begin ();
  g_assert_true (pages_two != MAP_FAILED);
  g_assert_cmpint (mprotect (pages_two + page_bytes, page_bytes, PROT_NONE),
                   ==, 0);
  g_assert_cmpuint (sli_slab_alloc (SMALL_CLASS, EACH, chunks + EACH), ==,
                    EACH);
  sli_last_allocator_claim (SMALL_CLASS, EACH, chunks);
  g_assert_false (sli_last_allocator_is_remote (SMALL_CLASS, EACH, chunks));
  sli_slab_free (SMALL_CLASS, EACH, chunks, "test");
  check_nothing_is_out ();
  munmap (pages_two, 2 * page_bytes);
}

/* --- chunks in falling order --- */

/* As a tree is freed: each chunk just below the one before it, and at any one
 * place none, or one from elsewhere. */
static void
test_descending (void)
{
  enum { N = 40, CLASS_INDEX = 5 };
  void *chunks[N], *spare, *left;

  begin ();
  for (int at = 0; at < N; at++)
    for (int from_elsewhere = 0; from_elsewhere < 2; from_elsewhere++)
      {
        spare = take_one (CLASS_INDEX);
        for (int i = N; i-- > 0;)
          chunks[i] = take_one (CLASS_INDEX);
        g_assert_true (chunks[0] > chunks[N - 1]);
        left = chunks[at];
        chunks[at] = from_elsewhere ? spare : NULL;
        sli_slab_free (CLASS_INDEX, N, chunks, "test");
        g_assert_cmpuint (counts_of (CLASS_INDEX).n_out, ==,
                          from_elsewhere ? 1 : 2);
        give_one (CLASS_INDEX, left);
        if (!from_elsewhere)
          give_one (CLASS_INDEX, spare);
        check_nothing_is_out ();
      }
}

/* However much is idle, a call that frees a slab purges one region at most:
 * no free takes long. */
static void
test_free_purges_one_region (void)
{
  enum { CLASS_INDEX = N_CLASSES - 1, N = 100000 };
  static void *chunks[N];
  int n_purged = 0;

  begin ();
  for (int i = 0; i < N; i++)
    chunks[i] = take_one (CLASS_INDEX);
  for (int i = 0; i < N; i++)
    {
      int before = pages.n_advised;

      give_one (CLASS_INDEX, chunks[i]);
      g_assert_cmpint (pages.n_advised, <=, before + 1);
      n_purged += pages.n_advised > before;
    }
  g_assert_cmpint (n_purged, >, 0);
  check_nothing_is_out ();
}

/* --- other page sizes --- */

static void
test_pretended_64 (void)
{
  sli_os_pretend_page_bytes (65536);
  begin ();
  random_run (0, NULL);
  check_nothing_is_out ();
}

static void
test_pretended_16 (void)
{
  sli_os_pretend_page_bytes (16384);
  begin ();
  random_run (0, NULL);
  check_nothing_is_out ();
}

/* --- guard pages --- */

static bool refuses_protection;
static int n_protected, n_unprotected, n_failed;

int
mprotect (void *address, size_t bytes, int protection)
{
  if (refuses_protection)
    {
      errno = ENOMEM;
      return -1;
    }
  if (syscall (SYS_mprotect, address, bytes, protection) != 0)
    {
      n_failed++;
      return -1;
    }
  if (protection == PROT_NONE)
    n_protected++;
  else
    n_unprotected++;
  return 0;
}

enum { N_GUARDED = 600 };

/* What counts against RLIMIT_DATA. */
static size_t
data_bytes (void)
{
  char line[256];
  FILE *file = fopen ("/proc/self/status", "r");
  size_t kib = 0;

  g_assert_nonnull (file);
  while (kib == 0 && fgets (line, sizeof line, file) != NULL)
    (void) sscanf (line, "VmData: %zu", &kib);
  fclose (file);
  g_assert_cmpuint (kib, >, 0);
  return kib * 1024;
}

static void
use_many_slabs (bool is_refused, bool is_kept)
{
  static void *chunks[N_GUARDED];
  unsigned class_index = SLICE_CLASS_V1 (2048);

  refuses_protection = is_refused;
  for (int i = 0; i < N_GUARDED; i++)
    chunks[i] = take_one (class_index);
  refuses_protection = is_kept;
  for (int i = 0; i < N_GUARDED; i++)
    give_one (class_index, chunks[i]);
  refuses_protection = false;
}

/* A guard uses the record of its granule, with which another run may begin
 * later.  If that run has no slab, its record must not seem to be one's. */
static void
test_guards_leave_zeros (void)
{
  static const char zeros[RUN_RECORD_BYTES];
  unsigned class_index = SLICE_CLASS_V1 (2048);
  void *chunks[N_GUARDED];
  const char *record = NULL;
  int n = 0;

  test_options ("hardened");
  begin ();
  while (n < N_GUARDED && record == NULL)
    {
      void *slab = NULL;

      chunks[n] = take_one (class_index);
      g_assert_nonnull (region_run_of (chunks[n++], &slab));
      if (((const Slab *) slab)->is_guarded)
        record = (const char *) slab
                 + sli_sizeclasses[class_index].n_granules * RUN_RECORD_BYTES;
    }
  if (record == NULL) /* where a sanitizer reads all memory */
    return;
  for (int i = 0; i < n; i++)
    give_one (class_index, chunks[i]);
  g_assert_cmpint (n_unprotected, ==, n_protected);
  g_assert_cmpmem (record, sizeof zeros, zeros, sizeof zeros);
}

/* A guard that the system refuses is counted until its slab is freed: then
 * there are others. */
static void
test_guards_refused (void)
{
  test_options ("hardened");
  begin ();
  use_many_slabs (false, false);
  if (n_protected == 0) /* where a sanitizer reads all memory */
    return;
  g_assert_cmpint (n_unprotected, >, 0);
  use_many_slabs (true, false);
  n_protected = 0;
  use_many_slabs (false, false);
  g_assert_cmpint (n_protected, >, 0);
  check_valid ();
}

/* A guard that the system keeps is in no slab until it can be removed: its
 * memory can't be written.  The next trim tries again. */
static void
test_guards_kept (void)
{
  unsigned class_index = SLICE_CLASS_V1 (1024);
  void *chunks[2 * N_GUARDED];

  test_options ("hardened");
  begin ();
  use_many_slabs (false, true);
  for (int i = 0; i < 2 * N_GUARDED; i++)
    memset (chunks[i] = take_one (class_index), 1, 1024);
  for (int i = 0; i < 2 * N_GUARDED; i++)
    give_one (class_index, chunks[i]);
  sli_slab_trim (0, 1);
  g_assert_cmpint (n_unprotected, ==, n_protected);
  check_valid ();
  check_nothing_is_out ();
}

/* No process can map more, and all guards are removed nevertheless. */
static void
test_guards_at_limit (void)
{
  unsigned class_index = SLICE_CLASS_V1 (2048);
  void *chunks[N_GUARDED];
  struct rlimit limit;

  test_options ("hardened");
  begin ();
  for (int i = 0; i < N_GUARDED; i++)
    chunks[i] = take_one (class_index);
  g_assert_cmpint (getrlimit (RLIMIT_DATA, &limit), ==, 0);
  limit.rlim_cur = data_bytes ();
  g_assert_cmpint (setrlimit (RLIMIT_DATA, &limit), ==, 0);
  for (int i = 0; i < N_GUARDED; i++)
    give_one (class_index, chunks[i]);
  g_assert_cmpint (n_failed, ==, 0);
  g_assert_cmpint (n_unprotected, ==, n_protected);
  check_valid ();
  check_nothing_is_out ();
}

/* When the slab's last chunk comes back does not matter, but when any was last
 * needed. */
static void
test_age (void)
{
  enum { N = 40, AGE_MSEC = 15000, EARLY_MSEC = 32 };
  uint64_t now_msec = 32 * 100000 + 5;
  void *chunks[N];

  begin ();
  for (int turn = 0; turn < 3; turn++)
    {
      uint64_t needed_msec;

      sli_os_pretend_clock_msec (now_msec);
      g_assert_cmpuint (sli_slab_alloc (20, N, chunks + N), ==, N);
      now_msec += turn == 2 ? 3600 * 1000 : 40;
      needed_msec = now_msec;
      sli_os_pretend_clock_msec (needed_msec);
      sli_slab_free (20, N - 1, chunks, "test");
      sli_os_pretend_clock_msec (now_msec += AGE_MSEC - EARLY_MSEC - 1);
      sli_slab_free_old (20, 1, chunks + N - 1,
                         turn == 0 ? 1 : needed_msec, "test");
      g_assert_cmpuint (counts_of (20).n_slabs, ==, 0);
      g_assert_cmpuint (sli_slab_trim (AGE_MSEC, 2), ==, 0);
      sli_os_pretend_clock_msec (now_msec += EARLY_MSEC + 1);
      g_assert_cmpuint (sli_slab_trim (AGE_MSEC, 2), >, 0);
    }
}

/* The class of each chunk is noted in its region and, for the first two
 * extents, for the whole extent; not any more when its slab is gone. */
static void
test_noted_classes (void)
{
  enum { CLASS = 31, OTHER = 9, N = 12000 };
  void **chunks = g_new (void *, N);
  unsigned n = 0, n_cached = 0;

  begin ();
  take_one (OTHER);
  while (n < N)
    {
      unsigned class_index = n % 3 == 0 ? OTHER : CLASS;

      chunks[n] = take_one (class_index);
      g_assert_cmpuint (chunk_class_of (chunks[n]), ==, class_index);
      g_assert_cmpuint (extent_cache_class (chunks[n],
                                            sli_region_granule_shift),
                        ==, extent_cache_has (chunks[n]) ? class_index : 0);
      n_cached += extent_cache_has (chunks[n])
                  && (uintptr_t) chunks[n] - sli_extent_cache[1].start
                         >= REGION_BYTES;
      n++;
    }
  g_assert_cmpuint (n_cached, >, 0); /* in no first region of an extent */
  check_valid ();
  sli_slab_free (0, n, chunks, "test");
  for (unsigned i = 0; i < n; i++)
    if (i % 3 != 0) /* one slab of the other class has a chunk out */
      {
        g_assert_cmpuint (chunk_class_of (chunks[i]), ==, 0);
        g_assert_cmpuint (extent_cache_class (chunks[i],
                                              sli_region_granule_shift),
                          ==, 0);
      }
  g_free (chunks);
}

/* Whatever was in its memory before, a slab is no older than itself. */
static void
test_new_slab_is_young (void)
{
  enum { N = 40, AGE_MSEC = 15000, LONG_AGO = 1 };
  uint64_t now_msec = 32 * 100000;
  void *chunks[N];

  begin ();
  sli_os_pretend_clock_msec (now_msec);
  g_assert_cmpuint (sli_slab_alloc (20, N, chunks + N), ==, N);
  sli_slab_free_old (20, N, chunks, LONG_AGO, "test");
  g_assert_cmpuint (counts_of (20).n_slabs, ==, 0);
  g_assert_cmpuint (sli_slab_trim (AGE_MSEC, 2), ==, 0);
  sli_os_pretend_clock_msec (now_msec + AGE_MSEC);
  g_assert_cmpuint (sli_slab_trim (AGE_MSEC, 2), >, 0);
}

/* A class takes no memory until it is used; its numbers and its check need
 * none. */
static void
test_made_by_use (void)
{
  SlabCounts counts[N_CLASSES];
  void *chunk;

  begin ();
  g_assert_null (sli_slab_lock (LARGE_CLASS));
  check_valid ();
  sli_slab_count_all (counts);
  g_assert_cmpuint (counts[LARGE_CLASS].n_slabs, ==, 0);
  g_assert_null (sli_slab_lock (LARGE_CLASS));
  chunk = take_one (LARGE_CLASS);
  g_assert_nonnull (sli_slab_lock (LARGE_CLASS));
  g_assert_null (sli_slab_lock (LARGE_CLASS + 1));
  sli_slab_count_all (counts);
  g_assert_cmpuint (counts[LARGE_CLASS].n_slabs, ==, 1);
  give_one (LARGE_CLASS, chunk);
  check_valid ();
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/slab/order", test_order);
  test_add_fresh ("/slice/slab/every-class", test_every_class);
  test_add_fresh ("/slice/slab/random", test_random_sequence);
  test_add_fresh ("/slice/slab/random-threads", test_random_threads);
  test_add_fresh ("/slice/slab/relay", test_relay);
  test_add_fresh ("/slice/slab/fullest-first", test_fullest_first);
  test_add_fresh ("/slice/slab/fullest-of-a-ring", test_fullest_of_a_ring);
  test_add_fresh ("/slice/slab/claims", test_claims);
  test_add_fresh ("/slice/slab/claims-migrate", test_claims_migrate);
  test_add_fresh ("/slice/slab/claims-end", test_claims_end);
  test_add_fresh ("/slice/slab/quarter-free", test_quarter_free);
  test_add_fresh ("/slice/slab/empty-slab-leaves", test_empty_slab_leaves);
  test_add_fresh ("/slice/slab/age", test_age);
  test_add_fresh ("/slice/slab/colours", test_colours);
  test_add_fresh ("/slice/slab/look-up", test_look_up);
  test_add_death ("/slice/slab/death/foreign", death_foreign);
  test_add_death ("/slice/slab/death/wrong-class", death_wrong_class);
  test_add_death ("/slice/slab/death/interior", death_interior);
  test_add_death ("/slice/slab/death/already-free", death_already_free);
  test_add_death ("/slice/slab/death/already-free-among",
                  death_already_free_among);
  test_add_death ("/slice/slab/death/twice-in-one-call",
                  death_twice_in_one_call);
  test_add_death ("/slice/slab/death/never-allocated", death_never_allocated);
  test_add_death ("/slice/slab/death/no-slab", death_no_slab);
  test_add_fresh ("/slice/slab/last-allocator", test_last_allocator);
  test_add_fresh ("/slice/slab/no-memory", test_no_memory);
  test_add_fresh ("/slice/slab/guards-leave-zeros", test_guards_leave_zeros);
  test_add_fresh ("/slice/slab/guards-refused", test_guards_refused);
  test_add_fresh ("/slice/slab/guards-kept", test_guards_kept);
  test_add_fresh ("/slice/slab/guards-at-limit", test_guards_at_limit);
  test_add_fresh ("/slice/slab/last-allocator-bounds",
                  test_last_allocator_bounds);
  test_add_fresh ("/slice/slab/descending", test_descending);
  test_add_fresh ("/slice/slab/free-purges-one-region",
                  test_free_purges_one_region);
  test_add_fresh ("/slice/slab/noted-classes", test_noted_classes);
  test_add_fresh ("/slice/slab/new-slab-is-young", test_new_slab_is_young);
  test_add_fresh ("/slice/slab/pretended-pages-16", test_pretended_16);
  test_add_fresh ("/slice/slab/pretended-pages-64", test_pretended_64);
  test_add_fresh ("/slice/slab/made-by-use", test_made_by_use);
  return g_test_run ();
}
