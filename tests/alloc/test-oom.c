/* test-oom.c - when the system has no memory
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "tests/teststats.h"
#include "depot/depot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB ((size_t) 1 << 20)

static void
limit_memory (size_t bytes)
{
  struct rlimit limit = { bytes, bytes };

  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
}

/* As much as there is, linked in a chain. */
static void *
take_all (size_t size, size_t *n)
{
  void *chain = NULL, *block;

  *n = 0;
  errno = 0;
  while ((block = slice_try_alloc (size)) != NULL)
    {
      *(void **) block = chain;
      chain = block;
      ++*n;
    }
  g_assert_cmpint (errno, ==, ENOMEM);
  return chain;
}

static void
test_usable_afterwards (void)
{
  size_t n, first_n = 0;

  limit_memory (96 * MIB);
  for (int turn = 0; turn < 4; turn++)
    {
      static const size_t sizes[] = { 64, 2000, 24, 300 };
      size_t size = sizes[turn];
      void *chain = take_all (size, &n);

      g_test_message ("%zu blocks of %zu", n, size);
      g_assert_cmpuint (n * size, >, 20 * MIB);
      g_assert_null (slice_try_alloc (90 * MIB));
      g_assert_cmpuint (test_live (), ==, n);
      slice_free_chain_with_offset (size, chain, 0);
      g_assert_cmpuint (test_live (), ==, 0);
      slice_trim (0);
      if (turn == 0)
        first_n = n * size;
      /* Nothing is lost from turn to turn. */
      g_assert_cmpuint (n * size, >=, first_n * 8 / 10);
    }
}

static void
death_out_of_memory (void)
{
  limit_memory (96 * MIB);
  for (int i = 0; i < 2000; i++)
    slice_free1 (48, slice_alloc (48));
  test_will_die ("slice: error 120: slice_alloc: out of memory: 48 bytes "
                 "[thread %u]",
                 test_thread_id ());
  for (;;)
    *(void **) slice_alloc (48) = NULL;
}

static void
death_out_of_memory_aligned (void)
{
  limit_memory (96 * MIB);
  test_will_die ("slice: error 120: slice_alloc_aligned: out of memory: "
                 "100000 bytes, alignment 4096 [thread %u]",
                 test_thread_id ());
  for (;;)
    *(void **) slice_alloc_aligned (4096, 100000) = NULL;
}

static size_t
mapped_bytes (void)
{
  FILE *file = fopen ("/proc/self/statm", "r");
  unsigned long pages = 0;

  g_assert_nonnull (file);
  g_assert_cmpint (fscanf (file, "%lu", &pages), ==, 1);
  fclose (file);
  return pages * (size_t) sysconf (_SC_PAGESIZE);
}

/* A mode that notes each block needs memory for its notes.  After it could
 * have none, blocks can be allocated again as soon as others are freed. */
static void
check_usable_when_noted (const char *options, size_t size)
{
  size_t n, first_n = 0;

  test_options (options);
  slice_free1 (size, slice_alloc (size));
  limit_memory (mapped_bytes () + 36 * MIB);
  for (int turn = 0; turn < 4; turn++)
    {
      void *chain = take_all (size, &n);

      slice_free_chain_with_offset (size, chain, 0);
      if (turn == 0)
        first_n = n;
      g_assert_cmpuint (n, >, 2000);
      g_assert_cmpuint (n, >=, first_n * 8 / 10);
    }
}

static void
test_usable_in_debug (void)
{
  check_usable_when_noted ("debug", 64);
}

static void
test_usable_in_checked (void)
{
  check_usable_when_noted ("checked", 3000);
}

static void
test_usable_as_malloc (void)
{
  check_usable_when_noted ("always-malloc,checked", 64);
}

/* What is cached is given up before the failure handler is called. */
static void
test_spare_is_given_up (void)
{
  void *chain = NULL, *block;
  size_t n;

  sli_depot_limits.bytes = SIZE_MAX;
  limit_memory (96 * MIB);
  chain = take_all (64, &n);
  slice_free_chain_with_offset (64, chain, 0);
  g_assert_cmpuint (test_stats ()->cached_bytes, >, 10 * MIB);
  /* All of it lies in the depot now, in another class. */
  chain = NULL;
  for (size_t i = 0; i < n / 20; i++)
    {
      block = slice_alloc (1000);
      *(void **) block = chain;
      chain = block;
    }
  slice_free_chain_with_offset (1000, chain, 0);
}

/* A few blocks leave most of a limited memory to the rest of the program. */
static void
check_room_is_left (int resource)
{
  size_t before = mapped_bytes ();
  struct rlimit limit = { before + 36 * MIB, before + 36 * MIB };
  void *chain = NULL;

  g_assert_cmpint (setrlimit (resource, &limit), ==, 0);
  for (int i = 0; i < 10000; i++)
    {
      void **block = slice_alloc (100);

      *block = chain;
      chain = block;
    }
  g_assert_cmpuint (mapped_bytes () - before, <=, 10 * MIB);
  slice_free_chain_with_offset (100, chain, 0);
}

static void
test_room_in_limited_space (void)
{
  check_room_is_left (RLIMIT_AS);
}

static void
test_room_in_limited_data (void)
{
  check_room_is_left (RLIMIT_DATA);
}

/* The source is asked for many sizes once.  While it has none, a call that
 * fails asks for the least size alone, before and after it has trimmed; and
 * memory that comes back is found at once. */
static void
test_failures_are_cheap (void)
{
  enum { N_CALLS = 100 };
  TestPages pages;
  int n_failed;
  size_t n;

  test_pages_init (&pages);
  pages.n_until_failure = 3;
  slice_set_source (&pages.source);
  take_all (1000, &n);
  n_failed = pages.n_failed;
  for (int i = 0; i < N_CALLS; i++)
    g_assert_null (slice_try_alloc (1000));
  g_assert_cmpint (pages.n_failed, <=, n_failed + 2 * N_CALLS);
  pages.n_until_failure = -1;
  g_assert_nonnull (slice_try_alloc (1000));
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  if (test_is_slow ())
    {
      printf ("1..0 # SKIP tools want addresses of their own\n");
      return 0;
    }
  test_add_fresh ("/slice/oom/usable-afterwards", test_usable_afterwards);
  test_add_fresh ("/slice/oom/usable-in-debug", test_usable_in_debug);
  test_add_fresh ("/slice/oom/usable-in-checked", test_usable_in_checked);
  test_add_fresh ("/slice/oom/usable-as-malloc", test_usable_as_malloc);
  test_add_death ("/slice/oom/death/out-of-memory", death_out_of_memory);
  test_add_death ("/slice/oom/death/out-of-memory-aligned",
                  death_out_of_memory_aligned);
  test_add_fresh ("/slice/oom/failures-are-cheap", test_failures_are_cheap);
  test_add_fresh ("/slice/oom/spare-is-given-up", test_spare_is_given_up);
  test_add_fresh ("/slice/oom/room-in-limited-space",
                  test_room_in_limited_space);
  test_add_fresh ("/slice/oom/room-in-limited-data",
                  test_room_in_limited_data);
  return g_test_run ();
}
