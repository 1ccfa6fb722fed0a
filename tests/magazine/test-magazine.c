/* test-magazine.c - slice/magazine/magazine.c and record.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testmagazine.h"
#include "page/meta.h"
#include "port/os/os.h"

#include <pthread.h>

/* --- one thread --- */

static void
test_last_in_first_out (void)
{
  void *a, *b, *c;

  begin ();
  a = fast_alloc (CLASS);
  b = fast_alloc (CLASS);
  c = fast_alloc (CLASS);
  g_assert_true (a != b && b != c && a != c);
  fast_free (CLASS, a);
  fast_free (CLASS, b);
  g_assert_true (fast_alloc (CLASS) == b);
  g_assert_true (fast_alloc (CLASS) == a);
  g_assert_cmpuint (live_chunks (), ==, 3);
  fast_free (CLASS, a);
  fast_free (CLASS, b);
  fast_free (CLASS, c);
  g_assert_cmpuint (live_chunks (), ==, 0);
}

static void
test_waves (void)
{
  begin ();
  for (unsigned i = 1; i < N_CLASSES; i++)
    for (unsigned n = 1; n < 3000; n = n * 3 + 1)
      wave (i, n);
  g_assert_cmpuint (live_chunks (), ==, 0);
  check_valid ();
  sli_magazine_flush (true);
  g_assert_cmpuint (cached_bytes (), ==, 0);
  sli_magazine_trim (0);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      SlabCounts slabs[N_CLASSES];

      sli_slab_count_all (slabs);
      g_assert_cmpuint (slabs[i].n_slabs, ==, 0);
    }
}

/* A magazine that runs empty is filled again where it is, unless larger ones
 * are wanted by then. */
static void
test_keeps_its_magazine (void)
{
  enum { N = 400 };
  void *blocks[N];
  unsigned n_kept = 0;

  begin ();
  blocks[0] = fast_alloc (CLASS);
  for (unsigned i = 1; i < N; i++)
    {
      const ClassCache *cache = &sli_record_self->caches[CLASS];
      const Magazine *magazine = cache->loaded;
      unsigned size = cache->size, n_trips = sli_record_self->n_trips;

      blocks[i] = fast_alloc (CLASS);
      if (sli_record_self->n_trips == n_trips || cache->size != size)
        continue;
      g_assert_true (cache->loaded == magazine);
      n_kept++;
    }
  g_assert_cmpuint (n_kept, >, 0);
  for (unsigned i = 0; i < N; i++)
    fast_free (CLASS, blocks[i]);
}

/* Where blocks are picked at random, so is the first of a magazine that was
 * put aside full. */
static void
test_random_after_swap (void)
{
  enum { ROUNDS = 50 };
  MagazineOptions options = { .picks_randomly = true };
  unsigned n_top = 0;

  begin_with (&options);
  for (int round = 0; round < ROUNDS; round++)
    {
      const ClassCache *cache;
      const Magazine *full;
      const void *top;

      /* Two full magazines, of which the loaded one is emptied. */
      wave (CLASS, 100);
      cache = &sli_record_self->caches[CLASS];
      while (cache->loaded == NULL || cache->previous == NULL
             || cache->previous->n_rounds == 0)
        sli_magazine_free (CLASS, sli_magazine_alloc_slab (CLASS));
      full = cache->previous;
      while (cache->loaded != full
             && sli_record_self->fast.entries[CLASS].top
                    != cache->loaded->slots)
        sli_magazine_alloc (CLASS);
      top = full->slots[full->n_rounds];
      n_top += sli_magazine_alloc (CLASS) == top;
      g_assert_true (cache->loaded == full);
    }
  g_assert_cmpuint (n_top, <, ROUNDS);
}

/* --- trees --- */

typedef struct TestNode
{
  struct TestNode *left, *right;
} TestNode;

typedef struct
{
  uint64_t random;
  const char *last;   /* the node that was made last */
  unsigned n_next;    /* nodes that are behind the last one in memory */
} TestTree;

/* Makes a random tree of n nodes from the root down. */
static TestNode *
tree_new (TestTree *tree, unsigned n)
{
  TestNode *node = fast_alloc (CLASS);
  unsigned n_left;

  tree->n_next
      += (const char *) node
         == tree->last + sli_sizeclasses[CLASS].chunk_bytes;
  tree->last = (const char *) node;
  tree->random = tree->random * 6364136223846793005u + 1442695040888963407u;
  n_left = (unsigned) ((tree->random >> 32) * n >> 32);
  node->left = n_left > 0 ? tree_new (tree, n_left) : NULL;
  node->right
      = n - 1 > n_left ? tree_new (tree, n - 1 - n_left) : NULL;
  return node;
}

/* Frees it from the leaves up. */
static void
tree_free (TestNode *node)
{
  if (node == NULL)
    return;
  tree_free (node->left);
  tree_free (node->right);
  fast_free (CLASS, node);
}

/* However many trees have been freed, the next one's nodes are in the order of
 * their addresses, except those in the thread's two magazines and some where a
 * slab ends. */
static void
test_trees_stay_in_order (void)
{
  enum { TREES = 8, NODES = 100000 };
  TestTree tree = { .random = 1 };

  begin ();
  for (int i = 0; i < TREES; i++)
    {
      tree.n_next = 0;
      tree_free (tree_new (&tree, NODES));
      g_assert_cmpuint (tree.n_next, >, NODES / 100 * 98);
    }
  sli_magazine_trim (0);
  g_assert_cmpuint (live_chunks (), ==, 0);
}

static void
death_freed_twice (void)
{
  void *block;

  begin ();
  block = fast_alloc (CLASS);
  fast_free (CLASS, block);
  test_will_die ("slice: error 101: slice_free1: block freed twice in a row: "
                 "block %p, given size 64 [class 64, thread %u]",
                 block, test_thread_id ());
  fast_free (CLASS, block);
}

/* The same where the first free filled the magazine. */
static void
death_freed_twice_at_the_border (void)
{
  void *blocks[10];

  begin ();
  for (int i = 0; i < 10; i++)
    blocks[i] = fast_alloc (CLASS);
  for (int i = 0; i < 10; i++)
    fast_free (CLASS, blocks[i]);
  test_will_die ("slice: error 101: slice_free1: block freed twice in a row: "
                 "block %p, given size 64 [class 64, thread %u]",
                 blocks[9], test_thread_id ());
  fast_free (CLASS, blocks[9]);
}

/* --- threads --- */

static void
leave_everything (unsigned index G_GNUC_UNUSED, void *data G_GNUC_UNUSED)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      wave (i, 50);
      fast_free (i, sli_magazine_alloc (i));
    }
}

static void
test_thread_end_flushes (void)
{
  MagazineCounts counts[N_CLASSES];

  begin ();
  test_gang (3, leave_everything, NULL);
  g_assert_cmpuint (sli_magazine_count_all (counts), ==, 0);
  sli_record_end_parked (0);
  g_assert_cmpuint (cached_bytes (), ==, 0);
  g_assert_cmpuint (live_chunks (), ==, 0);
  g_assert_cmpuint (counts_of (CLASS).n_hits, >, 0);
  g_assert_cmpuint (counts_of (CLASS).rounds_now, ==, 0);
  g_assert_cmpuint (counts_of (CLASS).rounds_peak, >, 0);
  check_valid ();
}

static pthread_barrier_t barrier;

static void
use_and_sleep (unsigned index, void *data G_GNUC_UNUSED)
{
  void *kept[N_CLASSES];

  if (index == 0)
    {
      pthread_barrier_wait (&barrier);
      sli_magazine_detach_others ();
      sli_magazine_detach_others ();
      /* Of each class and thread one round is left at most. */
      if (sli_os_barrier_all_threads ())
        for (unsigned i = 1; i < N_CLASSES; i++)
          g_assert_cmpuint (counts_of (i).n_cached, <=, 4);
      pthread_barrier_wait (&barrier);
      return;
    }
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      wave (i, 40);
      kept[i] = fast_alloc (i);
      test_fill (kept[i], sli_sizeclasses[i].chunk_bytes, index);
    }
  pthread_barrier_wait (&barrier);
  /* ... the trimmer is at work ... */
  pthread_barrier_wait (&barrier);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      g_assert_true (
          test_is_filled (kept[i], sli_sizeclasses[i].chunk_bytes, index));
      fast_free (i, kept[i]);
      wave (i, 40);
    }
  /* The first of these calls has done what was to be done. */
  g_assert_cmpuint (sli_record_self->attention, ==, 0);
  g_assert_true (slice_tls_v1 == &sli_record_self->fast);
}

static void
test_detach_sleepers (void)
{
  begin ();
  pthread_barrier_init (&barrier, NULL, 5);
  test_gang (5, use_and_sleep, NULL);
  g_assert_cmpuint (live_chunks (), ==, 0);
  check_valid ();
}

/* A thread that has no round is left alone: each allocation that fails
 * trims. */
static void
detach_or_idle (unsigned index, void *data G_GNUC_UNUSED)
{
  if (index != 0)
    {
      wave (CLASS, 40);
      sli_magazine_flush (true);
    }
  pthread_barrier_wait (&barrier);
  if (index == 0)
    sli_magazine_detach_others ();
  pthread_barrier_wait (&barrier);
  if (index == 0)
    return;
  g_assert_cmpuint (sli_record_self->attention, ==, 0);
  g_assert_true (slice_tls_v1 == &sli_record_self->fast);
}

static void
test_detach_nothing (void)
{
  begin ();
  pthread_barrier_init (&barrier, NULL, 3);
  test_gang (3, detach_or_idle, NULL);
  check_valid ();
}

/* Threads at work while others trim without pause: no block is ever handed
 * out twice, none is lost. */
static int n_working;

static void
work_or_trim (unsigned index, void *data G_GNUC_UNUSED)
{
  enum { N = 64 };
  void *blocks[N] = { NULL };
  TestRandom random;

  if (index == 0)
    {
      while (g_atomic_int_get (&n_working) > 0)
        {
          sli_magazine_detach_others ();
          g_thread_yield ();
        }
      return;
    }
  test_random_init (&random, index);
  for (unsigned turn = 0; turn < test_times (1500000, 50000); turn++)
    {
      unsigned at = test_random_below (&random, N);

      if (blocks[at] == NULL)
        {
          blocks[at] = fast_alloc (1 + at % 4);
          *(uintptr_t *) blocks[at] = index * 1000 + at;
        }
      else
        {
          g_assert_cmpuint (*(uintptr_t *) blocks[at], ==, index * 1000 + at);
          *(uintptr_t *) blocks[at] = 0;
          fast_free (1 + at % 4, blocks[at]);
          blocks[at] = NULL;
        }
    }
  for (unsigned at = 0; at < N; at++)
    if (blocks[at] != NULL)
      fast_free (1 + at % 4, blocks[at]);
  g_atomic_int_add (&n_working, -1);
}

static void
test_detach_workers (void)
{
  begin ();
  n_working = 5;
  test_gang (6, work_or_trim, NULL);
  g_assert_cmpuint (live_chunks (), ==, 0);
  check_valid ();
}

/* Without a key threads do without magazines. */
static void
alloc_keyless (unsigned index G_GNUC_UNUSED, void *data G_GNUC_UNUSED)
{
  wave (CLASS, 100);
  g_assert_null (sli_record_peek ());
}

static void
test_no_key_left (void)
{
  pthread_key_t key;
  MagazineCounts counts[N_CLASSES];

  while (pthread_key_create (&key, NULL) == 0)
    continue;
  begin ();
  test_gang (3, alloc_keyless, NULL);
  alloc_keyless (0, NULL);
  g_assert_cmpuint (sli_magazine_count_all (counts), ==, 0);
  g_assert_cmpuint (live_chunks (), ==, 0);
  sli_magazine_trim (0);
}

/* --- no memory --- */

static TestPages pages;

static void
test_no_memory (void)
{
  void *first = NULL, *block;
  unsigned n = 0;
  int n_failed;

  test_pages_init (&pages);
  pages.n_until_failure = 1;
  slice_set_source (&pages.source);
  begin ();
  sli_os_pretend_clock_msec (1000);
  while ((block = sli_magazine_alloc (N_CLASSES - 1)) != NULL)
    {
      *(void **) block = first;
      first = block;
      n++;
    }
  g_assert_cmpuint (n, >=, 31);
  while (sli_meta_alloc (META_BYTES_MIN) != NULL)
    continue;
  /* All of it comes back, magazines or not, and no magazine is worth another
   * request of the source that has just failed. */
  n_failed = pages.n_failed;
  while (first != NULL)
    {
      block = first;
      first = *(void **) block;
      sli_magazine_free (N_CLASSES - 1, block);
    }
  g_assert_cmpint (pages.n_failed, ==, n_failed);
  g_assert_cmpuint (live_chunks (), ==, 0);
  check_valid ();
}

/* Not even a record: straight to the slabs, and a record later on.  The source
 * is asked for a record and for a slab, and then, a moment later, for a slab
 * alone. */
static void
test_no_memory_at_all (void)
{
  int n_failed;

  test_pages_init (&pages);
  pages.n_until_failure = 0;
  slice_set_source (&pages.source);
  begin ();
  sli_os_pretend_clock_msec (1000);
  g_assert_null (sli_magazine_alloc (CLASS));
  g_assert_null (sli_record_peek ());
  n_failed = pages.n_failed;
  g_assert_null (sli_magazine_alloc (CLASS));
  g_assert_cmpint (pages.n_failed, ==, n_failed + n_failed / 2);
  pages.n_until_failure = -1;
  wave (CLASS, 100);
  g_assert_nonnull (sli_record_peek ());
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/magazine/last-in-first-out",
                  test_last_in_first_out);
  test_add_fresh ("/slice/magazine/waves", test_waves);
  test_add_fresh ("/slice/magazine/keeps-its-magazine",
                  test_keeps_its_magazine);
  test_add_fresh ("/slice/magazine/random-after-swap",
                  test_random_after_swap);
  test_add_death ("/slice/magazine/death/freed-twice", death_freed_twice);
  test_add_death ("/slice/magazine/death/freed-twice-at-the-border",
                  death_freed_twice_at_the_border);
  test_add_fresh ("/slice/magazine/thread-end-flushes",
                  test_thread_end_flushes);
  test_add_fresh ("/slice/magazine/trees-stay-in-order",
                  test_trees_stay_in_order);
  test_add_fresh ("/slice/magazine/detach-sleepers", test_detach_sleepers);
  test_add_fresh ("/slice/magazine/detach-nothing", test_detach_nothing);
  test_add_fresh ("/slice/magazine/detach-workers", test_detach_workers);
  test_add_fresh ("/slice/magazine/no-key-left", test_no_key_left);
  test_add_fresh ("/slice/magazine/no-memory", test_no_memory);
  test_add_fresh ("/slice/magazine/no-memory-at-all", test_no_memory_at_all);
  return g_test_run ();
}
