/* test-os-posix.c - slice/port/os/os-posix.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/day-clock.h"
#include "tests/testlib.h"
#include "port/os/os.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <stdlib.h>

#define MIB ((size_t) 1 << 20)

static void
test_page_bytes (void)
{
  size_t bytes = sli_os_page_bytes ();

  g_assert_cmpuint (bytes, ==, (size_t) sysconf (_SC_PAGESIZE));
  sli_os_pretend_page_bytes (16384);
  g_assert_cmpuint (sli_os_page_bytes (), ==, 16384);
  sli_os_pretend_page_bytes (65536);
  g_assert_cmpuint (sli_os_page_bytes (), ==, 65536);
  sli_os_pretend_page_bytes (0);
  g_assert_cmpuint (sli_os_page_bytes (), ==, bytes);
}

static void
test_clock_never_falls (void)
{
  uint64_t before = sli_os_clock_msec ();

  g_assert_cmpuint (before, >, 0);
  for (int i = 0; i < 1000; i++)
    {
      uint64_t now = sli_os_clock_msec ();

      g_assert_cmpuint (now, >=, before);
      before = now;
    }
}

static void
test_clock_is_not_the_days (void)
{
  uint64_t before, after;

  n_day_clock_asked = 0;
  before = sli_os_clock_msec ();
  day_clock_offset = 3600;
  after = sli_os_clock_msec ();
  g_assert_cmpuint (after, >=, before);
  g_assert_cmpuint (after - before, <, 3600 * 1000);
  day_clock_offset = -3600;
  g_assert_cmpuint (sli_os_clock_msec (), >=, after);
  day_clock_offset = 0;
  g_assert_cmpint (n_day_clock_asked, ==, 0);
}

static void
test_clock_pretends (void)
{
  sli_os_pretend_clock_msec (1);
  g_assert_cmpuint (sli_os_clock_msec (), ==, 1);
  sli_os_pretend_clock_msec (G_MAXUINT64);
  g_assert_cmpuint (sli_os_clock_msec (), ==, G_MAXUINT64);
  sli_os_pretend_clock_msec (0);
  g_assert_cmpuint (sli_os_clock_msec (), <, G_MAXUINT64 / 2);
}

static void
on_alarm (int number G_GNUC_UNUSED)
{
}

/* sli_os_write() continues after a signal that interrupts it. */
static void
write_much (unsigned index, void *data)
{
  int *fds = data;
  static char text[300000];

  if (index == 0)
    {
      struct sigaction action = { .sa_handler = on_alarm };

      sigaction (SIGUSR1, &action, NULL);
      sli_os_write (fds[1], text, sizeof text);
      close (fds[1]);
    }
  else
    {
      char bytes[4096];
      size_t total = 0;
      ssize_t n;

      while ((n = read (fds[0], bytes, sizeof bytes)) > 0)
        {
          total += (size_t) n;
          kill (getpid (), SIGUSR1);
        }
      g_assert_cmpuint (total, ==, sizeof text);
    }
}

static void
test_write (void)
{
  int fds[2];

  signal (SIGUSR1, SIG_IGN);
  g_assert_cmpint (pipe (fds), ==, 0);
  test_gang (2, write_much, fds);
  close (fds[0]);
  /* Nobody there: returns. */
  sli_os_write (-1, "text", 4);
}

static void
test_getenv (void)
{
  g_setenv ("SLICE_TEST_WORD", "a word", TRUE);
  g_assert_false (sli_os_is_secure ());
  g_assert_cmpstr (sli_os_getenv ("SLICE_TEST_WORD"), ==, "a word");
  g_unsetenv ("SLICE_TEST_WORD");
  g_assert_null (sli_os_getenv ("SLICE_TEST_WORD"));
}

static void
test_random_bytes (void)
{
  unsigned char a[256] = { 0 }, b[256] = { 0 };

  sli_os_random (a, sizeof a);
  sli_os_random (b, sizeof b);
  g_assert_cmpint (memcmp (a, b, sizeof a), !=, 0);
  g_assert_false (test_is_zero (a + 224, 32));
}

static void
test_map (void)
{
  for (size_t alignment = 4096; alignment <= 8 * MIB; alignment *= 2)
    {
      size_t bytes = 3 * 4096;
      char *start = sli_os_map (bytes, alignment);

      g_assert_nonnull (start);
      g_assert_cmpuint ((uintptr_t) start % alignment, ==, 0);
      g_assert_true (test_is_zero (start, bytes));
      memset (start, 1, bytes);
      sli_os_unmap (start, bytes);
    }
}

static void
test_map_too_much (void)
{
  g_assert_null (sli_os_map (SIZE_MAX - 4095, 4096));
  g_assert_null (sli_os_map (SIZE_MAX - MIB + 1, 2 * MIB));
  g_assert_null (sli_os_map (SIZE_MAX / 4 * 3, 4096));
}

static void
check_aligned (char *block, size_t alignment)
{
  g_assert_nonnull (block);
  g_assert_cmpuint ((uintptr_t) block % alignment, ==, 0);
  memset (block, 1, MIB);
  g_assert_cmpuint (sli_os_malloc_bytes (block), >=, MIB);
  free (block);
}

/* A limit that allows the pages, but no more for their alignment. */
static void
test_map_within_limit (void)
{
  FILE *file = fopen ("/proc/self/statm", "r");
  unsigned long pages = 0;
  struct rlimit limit;
  char *start;

  if (test_is_slow () || !test_obeys_limits ())
    {
      g_test_skip ("tools need memory of their own");
      return;
    }
  g_assert_nonnull (file);
  g_assert_cmpint (fscanf (file, "%lu", &pages), ==, 1);
  fclose (file);
  limit.rlim_max = pages * sli_os_page_bytes () + 17 * MIB;
  limit.rlim_cur = limit.rlim_max;
  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
  g_assert_null (sli_os_map (18 * MIB, 2 * MIB));
  start = sli_os_map (16 * MIB, 2 * MIB);
  g_assert_nonnull (start);
  g_assert_cmpuint ((uintptr_t) start % (2 * MIB), ==, 0);
  start[0] = start[16 * MIB - 1] = 1;
  sli_os_unmap (start, 16 * MIB);
}

static void
test_malloc_family (void)
{
  if (sli_os_has_posix_memalign ())
    check_aligned (sli_os_posix_memalign (MIB, 2 * MIB), 2 * MIB);
  else
    g_assert_null (sli_os_posix_memalign (MIB, 2 * MIB));
  if (sli_os_has_memalign ())
    check_aligned (sli_os_memalign (MIB, 2 * MIB), 2 * MIB);
  else
    g_assert_null (sli_os_memalign (MIB, 2 * MIB));
  if (sli_os_has_valloc ())
    check_aligned (sli_os_valloc (MIB), 4096);
  else
    g_assert_null (sli_os_valloc (MIB));
}

/* Not to be seen through. */
static volatile size_t unbearable = SIZE_MAX - 100;

/* Aligned to 16, as malloc alone is not everywhere with 32 bits. */
static void
test_malloc_aligns (void)
{
  enum { N = 100 };
  char *blocks[N];

  for (size_t i = 0; i < N; i++)
    {
      blocks[i] = sli_os_malloc (i + 1, i % 2 == 0);
      g_assert_cmpuint ((uintptr_t) blocks[i] % 16, ==, 0);
      g_assert_true (i % 2 != 0 || test_is_zero (blocks[i], i + 1));
      test_fill (blocks[i], i + 1, 0);
    }
  for (size_t i = 0; i < N; i++)
    {
      g_assert_true (test_is_filled (blocks[i], i + 1, 0));
      memset (blocks[i], 'x', i + 1);
      blocks[i] = sli_os_realloc (blocks[i], i + 1, 2000 + i);
      g_assert_cmpuint ((uintptr_t) blocks[i] % 16, ==, 0);
      g_assert_true (blocks[i][0] == 'x' && blocks[i][i] == 'x');
      blocks[i] = sli_os_realloc (blocks[i], 2000 + i, 1000);
      g_assert_true (blocks[i][0] == 'x' && blocks[i][i] == 'x');
      errno = 0;
      g_assert_null (sli_os_realloc (blocks[i], 1000, unbearable));
      g_assert_cmpint (errno, ==, ENOMEM);
      g_assert_true (blocks[i][0] == 'x' && blocks[i][i] == 'x');
      free (blocks[i]);
    }
  errno = 0;
  g_assert_null (sli_os_malloc (unbearable, false));
  g_assert_cmpint (errno, ==, ENOMEM);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/os-posix/page-bytes", test_page_bytes);
  test_add ("/slice/os-posix/clock-never-falls", test_clock_never_falls);
  test_add ("/slice/os-posix/clock-is-not-the-days",
            test_clock_is_not_the_days);
  test_add ("/slice/os-posix/clock-pretends", test_clock_pretends);
  test_add ("/slice/os-posix/write", test_write);
  test_add ("/slice/os-posix/getenv", test_getenv);
  test_add ("/slice/os-posix/random", test_random_bytes);
  test_add ("/slice/os-posix/map", test_map);
  test_add ("/slice/os-posix/map-too-much", test_map_too_much);
  test_add_fresh ("/slice/os-posix/map-within-limit", test_map_within_limit);
  test_add ("/slice/os-posix/malloc-family", test_malloc_family);
  test_add ("/slice/os-posix/malloc-aligns", test_malloc_aligns);
  return g_test_run ();
}
