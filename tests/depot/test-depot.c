/* test-depot.c - slice/depot/depot.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "tests/testlib.h"
#include "tests/testprocessor.h"
#include "base/option.h"
#include "depot/depot.h"
#include "slab/slab.h"
#include "port/os/os.h"
#include "port/thread/tls.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The class of 64 bytes, in magazines of the largest size. */
enum { CLASS = 8, LARGEST = MAGAZINE_SIZES - 1 };

static void
begin (void)
{
  sli_shard_pretend (pretended_processor);
  sli_option_freeze ();
  sli_depot_init ();
  sli_os_pretend_clock_msec (1000000);
}

static void
begin_with (const char *options)
{
  test_options (options);
  begin ();
}

static void
begin_without_limit (void)
{
  sli_depot_limits.bytes = SIZE_MAX;
  begin ();
}

static DepotCounts
counts_of (unsigned class_index)
{
  DepotCounts counts;

  sli_depot_count (class_index, &counts);
  return counts;
}

static void
check_valid (void)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      g_assert_true (sli_depot_is_valid (i));
      g_assert_true (sli_slab_is_valid (i));
    }
}

static uint64_t
chunks_out (unsigned class_index)
{
  SlabCounts counts[N_CLASSES];

  sli_slab_count_all (counts);
  return counts[class_index].n_out;
}

static Magazine *
full_magazine (unsigned class_index, unsigned size)
{
  Magazine *magazine = sli_depot_new_magazine (class_index, size);

  g_assert_nonnull (magazine);
  while (magazine->n_rounds < magazine->n_rounds_max)
    {
      unsigned n = sli_slab_alloc (class_index, 1,
                                   &magazine->slots[magazine->n_rounds + 2]);

      g_assert_cmpuint (n, ==, 1);
      magazine->n_rounds++;
    }
  return magazine;
}

/* Pushes, and flushes the spare magazine as any caller does; true if there was
 * one. */
static bool
push (Magazine *magazine)
{
  DepotExchange exchange;

  sli_depot_push (magazine, UINT_MAX, &exchange);
  if (exchange.spare != NULL)
    sli_depot_flush (exchange.spare);
  return exchange.spare != NULL;
}

static Magazine *
pop (unsigned class_index)
{
  bool contended;

  return sli_depot_pop (class_index, NULL, &contended);
}

/* --- the stack --- */

static void
test_last_in_first_out (void)
{
  Magazine *a, *b, *c;

  begin ();
  g_assert_false (sli_depot_has (CLASS));
  g_assert_null (pop (CLASS));
  a = full_magazine (CLASS, 0);
  b = full_magazine (CLASS, 1);
  c = full_magazine (CLASS, 2);
  g_assert_false (push (a));
  g_assert_false (push (b));
  g_assert_false (push (c));
  g_assert_true (sli_depot_has (CLASS));
  g_assert_false (sli_depot_has (CLASS + 1));
  g_assert_true (sli_depot_is_valid (CLASS));
  g_assert_true (pop (CLASS) == c);
  g_assert_true (pop (CLASS) == b);
  g_assert_true (pop (CLASS) == a);
  g_assert_null (pop (CLASS));
  g_assert_cmpuint (counts_of (CLASS).n_pops, ==, 3);
  g_assert_cmpuint (counts_of (CLASS).n_pushes, ==, 3);
  g_assert_cmpuint (counts_of (CLASS).n_misses, ==, 2);
  g_assert_cmpuint (counts_of (CLASS).n_chunks, ==, 0);
}

/* An exchange keeps the empty magazine, and returns it if it is large
 * enough. */
static void
test_exchange (void)
{
  DepotExchange exchange;
  Magazine *empty, *full;
  bool contended;

  begin ();
  push (full_magazine (CLASS, 1));
  empty = sli_depot_new_magazine (CLASS, 1);
  full = sli_depot_pop (CLASS, empty, &contended);
  g_assert_nonnull (full);
  sli_depot_push (full, full->n_rounds_max + 1, &exchange);
  g_assert_null (exchange.empty); /* too small */
  full = pop (CLASS);
  sli_depot_push (full, full->n_rounds_max, &exchange);
  g_assert_true (exchange.empty == empty);
  g_assert_null (exchange.spare);
  g_assert_false (exchange.contended);
  sli_depot_end_magazine (empty);
  sli_depot_trim (0);
  g_assert_cmpuint (chunks_out (CLASS), ==, 0);
}

/* --- shards --- */

static void
push_on (int at, Magazine *magazine)
{
  processor = at;
  g_assert_false (push (magazine));
}

static Magazine *
pop_on (int at)
{
  processor = at;
  return pop (CLASS);
}

/* A thread pops what was pushed last on its processor; what others pushed it
 * takes from the cold end, and only when its own shard has nothing. */
static void
test_own_shard_first (void)
{
  Magazine *a, *b, *c, *d;

  begin ();
  a = full_magazine (CLASS, 0);
  b = full_magazine (CLASS, 0);
  c = full_magazine (CLASS, 0);
  d = full_magazine (CLASS, 0);
  push_on (0, a);
  push_on (1, b);
  push_on (1, c);
  push_on (1, d);
  g_assert_true (sli_depot_is_valid (CLASS));
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 4);
  g_assert_true (pop_on (0) == a);
  g_assert_true (pop_on (0) == b);
  g_assert_true (pop_on (1) == d);
  g_assert_true (pop_on (2) == c);
  g_assert_null (pop_on (1));
  g_assert_false (sli_depot_has (CLASS));
  g_assert_cmpuint (counts_of (CLASS).n_pops, ==, 4);
  g_assert_cmpuint (counts_of (CLASS).n_pushes, ==, 4);
  g_assert_cmpuint (counts_of (CLASS).n_misses, ==, 1);
}

/* Does a push write to the chunks?  In a child, where they may only be read. */
static bool
push_writes (Magazine *magazine)
{
  int status;
  pid_t child = fork ();

  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      uintptr_t page = (uintptr_t) sysconf (_SC_PAGESIZE);
      DepotExchange exchange;

      signal (SIGSEGV, SIG_DFL);
      for (unsigned i = 1; i <= magazine->n_rounds; i++)
        mprotect ((void *) ((uintptr_t) magazine->slots[i] & ~(page - 1)),
                  page, PROT_READ);
      sli_depot_push (magazine, UINT_MAX, &exchange);
      _exit (0);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  return status != 0;
}

/* What goes to other processors is written to when it is pushed, a byte a
 * chunk, as it is; what comes back to its own is not touched. */
static void
test_hand_over_owns_lines (void)
{
  Magazine *magazine, *more;
  char *chunk;

  begin ();
  magazine = full_magazine (CLASS, LARGEST);
  more = full_magazine (CLASS, LARGEST);
  processor = 0;
  g_assert_false (push_writes (magazine));
  push_on (0, magazine);
  g_assert_true (pop_on (0) == magazine);
  g_assert_false (push_writes (magazine));
  /* A thread of another shard has taken from this stack. */
  push_on (0, magazine);
  g_assert_true (pop_on (1) == magazine);
  g_assert_false (push_writes (more)); /* the thief's own stack */
  processor = 0;
  g_assert_true (push_writes (more));
  /* Its bytes stay, and a hole in it does no harm. */
  chunk = more->slots[2];
  memset (chunk, 0x5a, 64);
  sli_slab_free (CLASS, 1, &more->slots[3], "test");
  more->slots[3] = NULL;
  push_on (0, more);
  for (int i = 0; i < 64; i++)
    g_assert_cmpint (chunk[i], ==, 0x5a);
  /* The owner takes again: back to no touch. */
  g_assert_true (pop_on (0) == more);
  g_assert_false (push_writes (magazine));
  push_on (0, magazine);
  push_on (0, more);
  sli_depot_trim (0);
  g_assert_cmpuint (chunks_out (CLASS), ==, 0);
  check_valid ();
}

/* Whatever a processor's number is: nothing is lost, and nothing is kept. */
static void
test_lying_processor (void)
{
  TestRandom random;
  uint64_t n;

  begin ();
  test_random_init (&random, 1);
  for (unsigned turn = 0; turn < 3000; turn++)
    {
      Magazine *magazine;

      n = counts_of (CLASS).n_magazines;
      /* Negative ones, too: there is none. */
      processor = (int) test_random_below (&random, 40) - 4;
      if (test_random_below (&random, 2) == 0)
        {
          push (full_magazine (CLASS, 0));
          continue;
        }
      magazine = pop (CLASS);
      g_assert_cmpint (magazine == NULL, ==, n == 0);
      processor = (int) test_random_below (&random, 40);
      if (magazine != NULL)
        g_assert_false (push (magazine));
    }
  check_valid ();
  g_assert_cmpuint (chunks_out (CLASS), ==, counts_of (CLASS).n_chunks);
  sli_depot_trim (0);
  g_assert_cmpuint (chunks_out (CLASS), ==, 0);
}

/* The bound holds over all shards together. */
static void
test_limit_of_shards (void)
{
  TestRandom random;

  sli_depot_limits.bytes = 100000;
  begin ();
  test_random_init (&random, 2);
  for (int i = 0; i < 300; i++)
    {
      processor = (int) test_random_below (&random, SHARDS);
      if (test_random_below (&random, 4) != 0)
        push (full_magazine (CLASS, LARGEST));
      else if (counts_of (CLASS).n_magazines != 0)
        sli_depot_flush (pop (CLASS));
      g_assert_cmpuint (counts_of (CLASS).n_chunks * 64, <=, 100000);
      g_assert_true (sli_depot_is_valid (CLASS));
    }
  while (counts_of (CLASS).n_magazines != 0)
    sli_depot_flush (pop (CLASS));
  /* And one shard alone may have all of it. */
  for (int i = 0; i < 50; i++)
    push (full_magazine (CLASS, LARGEST));
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 100000 / (250 * 64));
  check_valid ();
}

/* What an idle shard has goes home through the traffic of another, and through
 * a trim. */
static void
test_idle_shard (void)
{
  begin_without_limit ();
  processor = 3;
  for (int i = 0; i < 20; i++)
    push (full_magazine (CLASS, LARGEST));
  processor = 0;
  for (unsigned i = 0; i < 100; i++)
    {
      sli_os_pretend_clock_msec (1000000 + 15000 + (uint64_t) i * 2000);
      sli_depot_upkeep ();
    }
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 0);
  processor = 5;
  push (full_magazine (CLASS, LARGEST));
  processor = 0;
  sli_depot_trim (0);
  g_assert_cmpuint (chunks_out (CLASS), ==, 0);
  check_valid ();
}

/* --- sizes of magazines --- */

static void
test_rounds (void)
{
  g_assert_cmpuint (sizeof (Magazine), ==, sizeof (void *) > 4 ? 40 : 32);
  begin ();
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      size_t chunk_bytes = sli_sizeclasses[i].chunk_bytes;

      for (unsigned size = 0; size < MAGAZINE_SIZES; size++)
        {
          unsigned n = sli_depot_rounds (i, size);
          size_t slots = (((size_t) 128 << size) - sizeof (Magazine))
                         / sizeof (void *);
          size_t fit = MIN ((size_t) 8192 << size, 131072) / chunk_bytes;
          size_t most = MIN (slots - 1, MAX (fit, 4));

          /* (With 32 bits the largest would hold twice as many.) */
          g_assert_cmpuint (n, ==, MIN (most, 250));
          g_assert_cmpuint (n, >=, 4);
          g_assert_cmpuint (n, <=, 250);
          g_assert_cmpuint (n * chunk_bytes, <=, 131072);
          g_assert_true (size == 0 || n >= sli_depot_rounds (i, size - 1));
        }
      g_assert_cmpuint (sli_depot_rounds (i, sli_depot_size_max (i)), ==,
                        sli_depot_rounds (i, LARGEST));
    }
  g_assert_cmpuint (sli_depot_rounds (1, LARGEST), ==, 250);
}

static void
test_rounds_max (void)
{
  sli_depot_limits.rounds_max = 7;
  begin ();
  for (unsigned i = 1; i < N_CLASSES; i++)
    g_assert_cmpuint (sli_depot_rounds (i, LARGEST), <=, 7);
  g_assert_cmpuint (sli_depot_size_max (1), ==, 0);
}

static void
test_rounds_bytes_max (void)
{
  begin_with ("magazine-bytes-max=16384");
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      size_t chunk_bytes = sli_sizeclasses[i].chunk_bytes;

      g_assert_cmpuint (sli_depot_rounds (i, LARGEST), ==,
                        CLAMP (16384 / chunk_bytes, 4, 250));
    }
}

/* --- bounds --- */

/* The depot never has more than its limit. */
static void
test_limit (void)
{
  sli_depot_limits.bytes = 100000;
  begin ();
  for (int i = 0; i < 50; i++)
    {
      push (full_magazine (CLASS, LARGEST));
      g_assert_cmpuint (counts_of (CLASS).n_chunks * 64, <=, 100000);
    }
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 100000 / (250 * 64));
  g_assert_cmpuint (counts_of (CLASS).n_trimmed, ==, 50 - 6);
  g_assert_cmpuint (chunks_out (CLASS), ==, 6 * 250);
  check_valid ();
}

static void
test_limit_by_itself (void)
{
  begin ();
  for (int i = 0; i < 100; i++)
    push (full_magazine (CLASS, LARGEST));
  g_assert_cmpuint (counts_of (CLASS).n_chunks * 64, <=, 256 * 1024);
  g_assert_cmpuint (counts_of (CLASS).n_chunks * 64, >, 200 * 1024);
}

/* --- the working set --- */

static void
test_keeps_working_set (void)
{
  begin_without_limit ();
  for (int i = 0; i < 10; i++)
    push (full_magazine (CLASS, LARGEST));
  sli_os_pretend_clock_msec (1000000 + 14999);
  g_assert_null (sli_depot_pop_old (CLASS, 15000));
  g_assert_false (push (full_magazine (CLASS, LARGEST)));
  sli_os_pretend_clock_msec (1000000 + 15000);
  g_assert_true (push (full_magazine (CLASS, LARGEST)));
  sli_depot_flush (sli_depot_pop_old (CLASS, 15000));
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 10);
  /* A magazine that was used meanwhile is young again. */
  for (int i = 0; i < 10; i++)
    {
      Magazine *magazines[10];

      for (int k = 0; k < 10; k++)
        magazines[k] = pop (CLASS);
      for (int k = 0; k < 10; k++)
        g_assert_false (push (magazines[k]));
      sli_os_pretend_clock_msec (1000000 + 15000 + (uint64_t) i * 14000);
    }
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 10);
  check_valid ();
}

/* Only magazines at the bottom, which are not needed, become old. */
static void
test_unused_part_grows_old (void)
{
  begin_without_limit ();
  for (int i = 0; i < 20; i++)
    push (full_magazine (CLASS, LARGEST));
  for (unsigned second = 0; second < 30; second++)
    {
      Magazine *a = pop (CLASS), *b = pop (CLASS);

      sli_os_pretend_clock_msec (1000000 + second * 1000);
      push (b);
      push (a);
    }
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 2);
}

static void
test_working_set_of_nothing (void)
{
  begin_with ("working-set-msec=0");
  for (int i = 0; i < 5; i++)
    g_assert_true (push (full_magazine (CLASS, LARGEST)));
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 0);
  g_assert_cmpuint (chunks_out (CLASS), ==, 0);
}

/* --- upkeep: traffic in one class flushes old magazines of all --- */

static void
test_upkeep (void)
{
  unsigned n_calls = 0;

  begin_without_limit ();
  for (int i = 0; i < 300; i++)
    push (full_magazine (CLASS, LARGEST));
  for (unsigned i = 1; i < N_CLASSES; i++)
    for (int k = 0; k < 3; k++)
      push (full_magazine (i, LARGEST));
  sli_depot_upkeep ();
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 303);
  sli_os_pretend_clock_msec (1000000 + 15000);
  /* Each call flushes a bounded number, and in the end all are flushed. */
  for (bool any = true; any;)
    {
      uint64_t before = 0, after = 0;

      any = false;
      for (unsigned i = 1; i < N_CLASSES; i++)
        before += counts_of (i).n_magazines;
      sli_depot_upkeep ();
      for (unsigned i = 1; i < N_CLASSES; i++)
        after += counts_of (i).n_magazines;
      g_assert_cmpuint (before - after, <=, 8);
      any = after > 0;
      g_assert_cmpuint (++n_calls, <, 1000);
    }
  for (unsigned i = 1; i < N_CLASSES; i++)
    g_assert_cmpuint (chunks_out (i), ==, 0);
  check_valid ();
}

/* If nothing is old, the clock decides how often all classes are examined; old
 * magazines never wait for ever. */
static void
test_upkeep_of_one_class (void)
{
  begin_without_limit ();
  for (int i = 0; i < 100; i++)
    push (full_magazine (CLASS, LARGEST));
  for (unsigned i = 0; i < 100; i++)
    {
      sli_os_pretend_clock_msec (1000000 + 15000 + (uint64_t) i * 2000);
      sli_depot_upkeep ();
    }
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 0);
}

/* While nothing is returned, upkeep is due eight times a working set: calls
 * between do nothing, whatever has become old. */
static void
test_upkeep_is_rare (void)
{
  enum { BEGIN = 1000000, WORKING_SET = 15000 };

  begin_without_limit ();
  for (int i = 0; i < 3; i++)
    push (full_magazine (CLASS, LARGEST));
  sli_os_pretend_clock_msec (BEGIN + WORKING_SET - 1);
  sli_depot_upkeep ();
  g_assert_false (sli_depot_is_more_due ());
  sli_os_pretend_clock_msec (BEGIN + WORKING_SET - 1 + WORKING_SET / 8 - 1);
  sli_depot_upkeep ();
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 3);
  sli_os_pretend_clock_msec (BEGIN + WORKING_SET - 1 + WORKING_SET / 8);
  sli_depot_upkeep ();
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 0);
  /* It has returned some, and so it is due again at once. */
  g_assert_true (sli_depot_is_more_due ());
  sli_depot_upkeep ();
  sli_depot_upkeep ();
  g_assert_false (sli_depot_is_more_due ());
}

/* Fifty days in half minutes: nothing wraps. */
static void
test_fifty_days (void)
{
  uint64_t start = (uint64_t) UINT32_MAX - 86400000;

  begin_without_limit ();
  for (uint64_t t = 0; t < (uint64_t) 50 * 86400000;
       t += test_is_slow () ? 3000000 : 30000)
    {
      sli_os_pretend_clock_msec (start + t);
      g_assert_true (push (full_magazine (CLASS, 0)) == (t > 0));
      g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 1);
      sli_os_pretend_clock_msec (start + t + 14999);
      g_assert_null (sli_depot_pop_old (CLASS, 15000));
    }
}

/* --- trimming --- */

static void
test_trim (void)
{
  begin_without_limit ();
  for (unsigned i = 1; i < N_CLASSES; i++)
    for (int k = 0; k < 20; k++)
      push (full_magazine (i, LARGEST));
  g_assert_cmpuint (sli_depot_trim (10), ==, 0);
  g_assert_cmpuint (counts_of (CLASS).n_magazines, ==, 20);
  sli_os_pretend_clock_msec (1000000 + 10);
  g_assert_cmpuint (sli_depot_trim (10), >, (size_t) 20 << 20);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      g_assert_cmpuint (counts_of (i).n_magazines, ==, 0);
      g_assert_cmpuint (chunks_out (i), ==, 0);
    }
}

/* --- fragmented magazines --- */

/* Looks at a magazine with one chunk in each of n stretches of 16 KiB. */
static bool
is_fragmented (Magazine *magazine, uintptr_t first_stretch, unsigned n)
{
  magazine->n_rounds = n;
  for (unsigned i = 0; i < n; i++)
    magazine->slots[i + 1] = (void *) ((first_stretch + i) * 16384);
  return sli_depot_is_fragmented (magazine);
}

/* Where in memory its chunks are does not matter, but how far apart. */
static void
test_fragmented_anywhere (void)
{
  Magazine *magazine;

  begin ();
  magazine = sli_depot_new_magazine (CLASS, LARGEST);
  g_assert_nonnull (magazine);
  g_assert_false (is_fragmented (magazine, 0, 1));
  g_assert_true (is_fragmented (magazine, 0, 40));
  for (unsigned n = 1; n <= 64; n++)
    for (uintptr_t first = 1; first < 130; first++)
      g_assert_cmpint (is_fragmented (magazine, first, n), ==,
                       is_fragmented (magazine, 0, n));
  magazine->n_rounds = 0;
  sli_depot_end_magazine (magazine);
}

/* --- order --- */

/* Writes chunks i * step, and exchanges each two. */
static void
write_rounds (Magazine *magazine, size_t step, bool is_mixed)
{
  size_t bytes = sli_sizeclasses[CLASS].chunk_bytes;

  magazine->n_rounds = magazine->n_rounds_max;
  for (unsigned i = 0; i < magazine->n_rounds; i++)
    magazine->slots[i + 1]
        = (void *) (((uintptr_t) 1 << 30)
                    + (is_mixed ? i ^ 1 : i) * step * bytes);
}

static void
test_shuffled (void)
{
  static const struct
  {
    size_t step;
    bool is_mixed, is_shuffled;
  } cases[] = { { 1, false, false }, { 1, true, true },     { 2, false, false },
                { 2, true, true },     { (size_t) -2, true, true },
                { 40, true, false },   { 100, true, false },
                { (size_t) -1, false, false } };
  Magazine *magazine;

  begin ();
  magazine = sli_depot_new_magazine (CLASS, LARGEST);
  g_assert_nonnull (magazine);
  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      write_rounds (magazine, cases[i].step, cases[i].is_mixed);
      g_assert_cmpint (sli_depot_is_shuffled (magazine), ==,
                       cases[i].is_shuffled);
      magazine->n_rounds = 47; /* too few to be worth a look */
      g_assert_false (sli_depot_is_shuffled (magazine));
    }
  magazine->n_rounds = 0;
  sli_depot_end_magazine (magazine);
}

/* Chunks of a tree go to their slabs, and come from there in order. */
static void
test_shuffled_goes_home (void)
{
  Magazine *magazine;
  void *lowest;

  begin_without_limit ();
  g_assert_false (push (full_magazine (CLASS, LARGEST)));
  magazine = pop (CLASS);
  g_assert_nonnull (magazine);
  lowest = magazine->slots[1];
  for (unsigned i = 1; i + 1 <= magazine->n_rounds; i += 2)
    {
      void *chunk = magazine->slots[i];

      magazine->slots[i] = magazine->slots[i + 1];
      magazine->slots[i + 1] = chunk;
    }
  g_assert_true (push (magazine));
  g_assert_false (sli_depot_has (CLASS));
  magazine = full_magazine (CLASS, LARGEST);
  for (unsigned i = 1; i <= magazine->n_rounds; i++)
    g_assert_true (
        magazine->slots[i]
        == (char *) lowest
               + (i - 1) * (size_t) sli_sizeclasses[CLASS].chunk_bytes);
  sli_depot_flush (magazine);
  g_assert_cmpuint (chunks_out (CLASS), ==, 0);
  check_valid ();
}

/* --- remote chunks --- */

/* A magazine of three chunks that another thread has allocated. */
typedef struct
{
  Magazine *magazine;
  uint16_t tag; /* that thread's */
} Remote;

static void
push_remote (unsigned index G_GNUC_UNUSED, void *data)
{
  Remote *remote = data;
  DepotExchange exchange;

  if (sli_tls_tag () == remote->tag)
    return; /* rare: the two threads have the same tag */
  sli_depot_push (remote->magazine, UINT_MAX, &exchange);
  g_assert_true (exchange.is_remote);
  g_assert_true (exchange.spare == remote->magazine);
}

/* All its rounds are examined, and nothing else: the first is no neighbour of
 * the second, as the third is. */
static void
test_remote_goes_home (void)
{
  enum { SMALL_CLASS = 4, N = 4 };
  void *chunks[N];
  Remote remote;

  begin_without_limit ();
  remote.tag = sli_tls_tag ();
  remote.magazine = sli_depot_new_magazine (SMALL_CLASS, LARGEST);
  g_assert_nonnull (remote.magazine);
  g_assert_cmpuint (sli_slab_alloc (SMALL_CLASS, N, chunks + N), ==, N);
  remote.magazine->slots[1] = chunks[0];
  remote.magazine->slots[2] = chunks[2];
  remote.magazine->slots[3] = chunks[3];
  remote.magazine->n_rounds = 3;
  test_gang (1, push_remote, &remote);
  sli_depot_flush (remote.magazine);
  sli_slab_free (SMALL_CLASS, 1, &chunks[1], "test");
  g_assert_cmpuint (chunks_out (SMALL_CLASS), ==, 0);
  check_valid ();
}

/* --- threads --- */

static void
churn_run (unsigned index, void *data)
{
  unsigned *n_contended = data;
  Magazine *held[8] = { NULL };
  TestRandom random;

  test_random_init (&random, index);
  for (unsigned turn = 0; turn < test_times (100000, 5000); turn++)
    {
      unsigned at = test_random_below (&random, G_N_ELEMENTS (held));
      bool contended = false;

      /* Of all threads: as if each migrated at any moment. */
      __atomic_store_n (&processor, (int) test_random_below (&random, 3),
                        __ATOMIC_RELAXED);

      if (held[at] != NULL)
        {
          DepotExchange exchange;

          g_assert_nonnull (held[at]->slots[held[at]->n_rounds]);
          sli_depot_push (held[at], 10, &exchange);
          if (exchange.spare != NULL)
            sli_depot_flush (exchange.spare);
          if (exchange.empty != NULL)
            sli_depot_end_magazine (exchange.empty);
          held[at] = NULL;
          contended = exchange.contended;
        }
      else if ((held[at] = sli_depot_pop (CLASS, NULL, &contended)) == NULL)
        held[at] = full_magazine (CLASS, 0);
      if (turn % 1000 == 0)
        sli_depot_upkeep ();
      __atomic_fetch_add (n_contended, contended, __ATOMIC_RELAXED);
    }
  for (size_t i = 0; i < G_N_ELEMENTS (held); i++)
    if (held[i] != NULL)
      sli_depot_flush (held[i]);
}

static void
test_threads (void)
{
  unsigned n_contended = 0;

  begin ();
  test_gang (4, churn_run, &n_contended);
  /* A pop may meet others at several stacks. */
  g_assert_cmpuint (counts_of (CLASS).n_contended, >=, n_contended);
  check_valid ();
  g_assert_cmpuint (chunks_out (CLASS), ==, counts_of (CLASS).n_chunks);
  sli_depot_trim (0);
  g_assert_cmpuint (chunks_out (CLASS), ==, 0);
}

typedef struct
{
  unsigned thread_id;
  bool contended;
} Waiter;

static void *
wait_for_depot (void *data)
{
  Waiter *waiter = data;
  Magazine *magazine;

  __atomic_store_n (&waiter->thread_id, test_thread_id (), __ATOMIC_RELEASE);
  magazine = sli_depot_pop (CLASS, NULL, &waiter->contended);
  g_assert_nonnull (magazine);
  sli_depot_flush (magazine);
  return NULL;
}

/* Contention on purpose is reported and counted. */
static void
test_contention (void)
{
  Waiter waiter = { 0, false };
  pthread_t thread;

  begin ();
  push (full_magazine (CLASS, 0));
  sli_lock (sli_depot_lock (CLASS, 0));
  pthread_create (&thread, NULL, wait_for_depot, &waiter);
  while (__atomic_load_n (&waiter.thread_id, __ATOMIC_ACQUIRE) == 0)
    g_thread_yield ();
  test_wait_asleep (waiter.thread_id);
  sli_unlock (sli_depot_lock (CLASS, 0));
  pthread_join (thread, NULL);
  if (!test_is_slow ())
    {
      g_assert_true (waiter.contended);
      g_assert_cmpuint (counts_of (CLASS).n_contended, ==, 1);
    }
}

static bool
has_any_stack (unsigned class_index)
{
  for (unsigned shard = 0; shard < SHARDS; shard++)
    if (sli_depot_lock (class_index, shard) != NULL)
      return true;
  return false;
}

/* A class takes no memory in the depot until a magazine is pushed, and counts
 * its misses all the same. */
static void
test_made_by_push (void)
{
  bool contended;

  begin ();
  g_assert_null (sli_depot_pop (CLASS, NULL, &contended));
  g_assert_false (has_any_stack (CLASS));
  g_assert_cmpuint (counts_of (CLASS).n_misses, ==, 1);
  push (full_magazine (CLASS, 0));
  g_assert_true (has_any_stack (CLASS));
  g_assert_false (has_any_stack (CLASS + 1));
  g_assert_null (sli_depot_pop (CLASS + 1, NULL, &contended));
  g_assert_cmpuint (counts_of (CLASS).n_misses, ==, 1);
}

/* Lets the process map nothing more, or as much as before. */
static void
limit_memory (bool is_limited)
{
  struct rlimit limit;

  g_assert_cmpint (getrlimit (RLIMIT_AS, &limit), ==, 0);
  limit.rlim_cur = is_limited ? 1 << 20 : limit.rlim_max;
  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
}

/* A ring is asked for at each free that has none.  Where there was no memory
 * for one, the system is asked again after a while, or once an extent was
 * unmapped. */
static void
test_ring_without_memory (void)
{
  enum { N = 16384 };
  uint64_t now_msec = 1000000;
  void **ring;

  if (test_is_slow () || !test_obeys_limits ())
    {
      g_test_skip ("limits of addresses under a tool");
      return;
    }
  begin ();
  for (int turn = 0; turn < 2; turn++)
    {
      limit_memory (true);
      g_assert_null (sli_depot_new_ring (N));
      limit_memory (false);
      g_assert_null (sli_depot_new_ring (N)); /* not asked */
      sli_os_pretend_clock_msec (now_msec += 256);
      ring = sli_depot_new_ring (N);
      g_assert_nonnull (ring);
      sli_depot_end_ring (ring, N);
    }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/depot/last-in-first-out", test_last_in_first_out);
  test_add_fresh ("/slice/depot/exchange", test_exchange);
  test_add_fresh ("/slice/depot/own-shard-first", test_own_shard_first);
  test_add_fresh ("/slice/depot/hand-over-owns-lines",
                  test_hand_over_owns_lines);
  test_add_fresh ("/slice/depot/lying-processor", test_lying_processor);
  test_add_fresh ("/slice/depot/limit-of-shards", test_limit_of_shards);
  test_add_fresh ("/slice/depot/idle-shard", test_idle_shard);
  test_add_fresh ("/slice/depot/rounds", test_rounds);
  test_add_fresh ("/slice/depot/rounds-max", test_rounds_max);
  test_add_fresh ("/slice/depot/rounds-bytes-max", test_rounds_bytes_max);
  test_add_fresh ("/slice/depot/limit", test_limit);
  test_add_fresh ("/slice/depot/limit-by-itself", test_limit_by_itself);
  test_add_fresh ("/slice/depot/keeps-working-set", test_keeps_working_set);
  test_add_fresh ("/slice/depot/unused-part-grows-old",
                  test_unused_part_grows_old);
  test_add_fresh ("/slice/depot/working-set-of-nothing",
                  test_working_set_of_nothing);
  test_add_fresh ("/slice/depot/upkeep", test_upkeep);
  test_add_fresh ("/slice/depot/upkeep-of-one-class",
                  test_upkeep_of_one_class);
  test_add_fresh ("/slice/depot/upkeep-is-rare", test_upkeep_is_rare);
  test_add_fresh ("/slice/depot/fifty-days", test_fifty_days);
  test_add_fresh ("/slice/depot/trim", test_trim);
  test_add_fresh ("/slice/depot/fragmented-anywhere",
                  test_fragmented_anywhere);
  test_add_fresh ("/slice/depot/shuffled", test_shuffled);
  test_add_fresh ("/slice/depot/shuffled-goes-home", test_shuffled_goes_home);
  test_add_fresh ("/slice/depot/remote-goes-home", test_remote_goes_home);
  test_add_fresh ("/slice/depot/ring-without-memory",
                  test_ring_without_memory);
  test_add_fresh ("/slice/depot/threads", test_threads);
  test_add_fresh ("/slice/depot/contention", test_contention);
  test_add_fresh ("/slice/depot/made-by-push", test_made_by_push);
  return g_test_run ();
}
