/* test-leaks.c - slice/observe/leaks.c and slice/checking/checking-exit.c
 *
 * Links the library as a program does, and examines what it writes at exit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"

#include <slice/slice.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD "slice: warning 150: exit: "
#define HINT                                                                  \
  "; addr2line -ifp -e FILE 0xOFFSET names the line\n"

/* What is left here is left on purpose: the leak sanitizer, where it is linked,
 * asks this for its options and keeps silent. */
const char *__lsan_default_options (void);

const char *
__lsan_default_options (void)
{
  return "detect_leaks=0";
}

static const char *options;

/* What a body says that ends well. */
static char *
said_by (const char *with, TestBody body)
{
  char *said;

  options = with;
  said = test_said_by (body);
  return said;
}

static void
expect_said (const char *with, TestBody body, const char *pattern)
{
  char *said = said_by (with, body);

  if (!g_pattern_match_simple (pattern, said))
    g_error ("with %s: said\n%s\nnot\n%s", with, said, pattern);
  g_free (said);
}

static G_GNUC_NO_INLINE void
keep_some (void)
{
  for (int i = 0; i < 3; i++)
    ((char *) slice_alloc (40))[0] = 1;
}

static void
leave_blocks (void)
{
  test_options (options);
  keep_some ();
  memset (slice_alloc (3000), 1, 3000);
  slice_free1 (24, slice_alloc (24));
}

static void
leave_none (void)
{
  test_options (options);
  slice_free1 (24, slice_alloc (24));
  slice_free1 (5000, slice_alloc (5000));
}

static void
test_list (void)
{
  expect_said ("debug", leave_blocks,
               HEAD "4 blocks, 3120 bytes never freed, of 2 places" HINT
               HEAD "1 block, 3000 bytes never freed, allocated at /*+0x*\n"
               HEAD "3 blocks, 120 bytes never freed, allocated at /*+0x*\n");
  expect_said ("debug", leave_none, "");
}

/* The same where each block is a malloc.  (The leak sanitizer tells of these
 * itself.) */
static void
leave_aligned (void)
{
  test_options (options);
  memset (slice_alloc_aligned (256, 200), 1, 200);
}

static void
test_list_of_mallocs (void)
{
  if (TEST_IS_SANITIZED)
    return;
  expect_said ("always-malloc debug", leave_blocks,
               HEAD "4 blocks, 3120 bytes never freed, of 2 places" HINT
               HEAD "1 block, 3000 bytes never freed, allocated at /*+0x*\n"
               HEAD "3 blocks, 120 bytes never freed, allocated at /*+0x*\n");
  expect_said ("always-malloc debug", leave_aligned,
               HEAD "1 block, 200 bytes never freed, of 1 place" HINT
               HEAD "1 block, 200 bytes never freed, allocated at /*+0x*\n");
  expect_said ("always-malloc debug", leave_none, "");
  expect_said ("always-malloc debug leaks=no", leave_blocks, "");
  expect_said ("always-malloc hardened", leave_blocks, "");
}

static void
test_off (void)
{
  static const char *const without[]
      = { "debug leaks=no", "hardened", "checked", "", "debug-blocks",
          "bypass-magazines" };

  for (size_t i = 0; i < G_N_ELEMENTS (without); i++)
    expect_said (without[i], leave_blocks, "");
}

/* With many sites, the largest are shown and the others counted. */
#define LEAK_1(n) ((char *) slice_alloc (16 + (n)))[0] = 1;
#define LEAK_4(n) LEAK_1 (n) LEAK_1 (n + 1) LEAK_1 (n + 2) LEAK_1 (n + 3)

static void
leave_many (void)
{
  test_options (options);
  LEAK_4 (0) LEAK_4 (4) LEAK_4 (8) LEAK_4 (12) LEAK_4 (16) LEAK_4 (20)
}

static void
test_many (void)
{
  char *said = said_by ("debug", leave_many), **lines;

  lines = g_strsplit (said, "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 1 + 20 + 1 + 1);
  g_assert_true (g_str_has_prefix (
      lines[0], HEAD "24 blocks, 660 bytes never freed, of 24 places;"));
  g_assert_true (g_str_has_prefix (lines[1], HEAD "1 block, 39 bytes "));
  g_assert_true (g_str_has_prefix (lines[20], HEAD "1 block, 20 bytes "));
  g_assert_cmpstr (lines[21], ==, HEAD "and 4 places more");
  g_strfreev (lines);
  g_free (said);
}

/* --- processes that end otherwise --- */

static void
leave_at_once (void)
{
  leave_blocks ();
  _exit (0);
}

static void
fork_and_leave (bool child_keeps)
{
  pid_t child;
  int status;

  test_options (options);
  keep_some ();
  child = fork ();
  if (child == 0)
    {
      if (child_keeps)
        memset (slice_alloc (100), 1, 100);
      exit (0);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (status, ==, 0);
  _exit (0);
}

static void
child_keeps_none (void)
{
  fork_and_leave (false);
}

static void
child_keeps_one (void)
{
  fork_and_leave (true);
}

/* A child answers for its own blocks, not for its parent's. */
static void
test_processes (void)
{
  expect_said ("debug", leave_at_once, "");
  expect_said ("debug", child_keeps_none, "");
  expect_said ("debug", child_keeps_one,
               HEAD "1 block, 100 bytes never freed, of 1 place" HINT
               HEAD "1 block, 100 bytes never freed, allocated at /*\n");
}

/* --- what is spoilt --- */

/* Neighbours, full to the last byte, and free ones among them. */
static void
leave_full (void)
{
  enum { N = 100 };
  void *blocks[N];

  test_options (options);
  for (int i = 0; i < N; i++)
    memset (blocks[i] = slice_alloc (40), 'x', 40);
  for (int i = 0; i < N; i += 3)
    slice_free1 (40, blocks[i]);
}

static void *volatile place; /* the compiler must not see whose it is */

static void
write_behind (void)
{
  test_options (options);
  place = slice_alloc (40);
  ((char *) place)[40] = 'x';
}

static void
write_behind_large (void)
{
  test_options (options);
  place = slice_alloc (5000);
  ((char *) place)[5002] = 'x';
}

static void
write_behind_aligned (void)
{
  test_options (options);
  place = slice_alloc_aligned (128, 200);
  ((char *) place)[200] = 'x';
}

static void
write_before (void)
{
  test_options (options);
  place = slice_alloc (40);
  ((char *) place)[-1] = 'x';
}

static void
write_freed (void)
{
  test_options (options);
  place = slice_alloc (40);
  slice_free1 (40, place);
  ((char *) place)[8] = 'x';
}

static void
expect_death (const char *with, TestBody body, const char *pattern)
{
  int status;
  char *said;

  options = with;
  said = test_capture (body, &status);
  if (!WIFSIGNALED (status) || WTERMSIG (status) != SIGABRT
      || !g_pattern_match_simple (pattern, said))
    g_error ("with %s: status %d, said\n%s\nnot\n%s", with, status, said,
             pattern);
  g_free (said);
}

static void
test_spoilt (void)
{
  expect_death ("debug", write_behind,
                "slice: error 113: exit: written to behind its end: block "
                "0x*, given size 40, at byte 40: 120 *, allocated at /*+0x* "
                "by thread * [class 40, thread *]\n");
  expect_death ("debug", write_behind_large,
                "slice: error 113: exit: written to behind its end: block "
                "0x*, given size 5000, at byte 5002: 120 *, allocated at "
                "/*+0x* by thread *\n");
  expect_death ("debug", write_behind_aligned,
                "slice: error 113: exit: written to behind its end: block "
                "0x*, given size 200, at byte 200: 120 *, allocated at *");
  expect_death ("hardened exit-check=2", write_behind_large,
                "slice: error 113: exit: written to behind its end: block "
                "0x*, given size 5000 [class malloc, thread *]\n");
  expect_death ("debug", write_before,
                "slice: error 114: exit: written to before its start: block "
                "0x*, given size 40, at byte -1: 120 *, allocated at /*");
  expect_death ("debug", write_freed,
                "slice: error 115: exit: written to while it was free: block "
                "0x*, given size unknown, at byte 8: 120 *, allocated at "
                "/*+0x* by thread *, freed at /*+0x* by thread *\n");
  expect_death ("hardened exit-check=2", write_behind,
                "slice: error 113: exit: written to behind its end: block "
                "0x*, given size 40 [class 40, thread *]\n");
  expect_death ("hardened exit-check=2", write_freed,
                "slice: error 115: exit: written to while it was free: *");
}

static void
test_spoilt_off (void)
{
  expect_said ("debug exit-check=no leaks=no", write_behind, "");
  expect_said ("hardened", write_behind, "");
  expect_said ("hardened exit-check=1", write_freed, "");
  expect_said ("checked exit-check=2", write_freed, "");
  expect_said ("exit-check=2", write_freed, "");
  /* What is whole is not complained of. */
  expect_said ("hardened exit-check=2", leave_blocks, "");
  expect_said ("hardened exit-check=2", leave_none, "");
  expect_said ("hardened exit-check=2", leave_full, "");
  expect_said ("debug exit-check=2 leaks=no", leave_full, "");
}

/* Another thread may be writing to a block at exit: contents are not checked
 * then. */
static int n_ready;

static void *
stay (void *data G_GNUC_UNUSED)
{
  slice_free1 (40, slice_alloc (40));
  g_atomic_int_inc (&n_ready);
  for (;;)
    pause ();
  return NULL;
}

static void
write_beside_thread (void)
{
  pthread_t thread;

  test_options (options);
  g_assert_cmpint (pthread_create (&thread, NULL, stay, NULL), ==, 0);
  while (g_atomic_int_get (&n_ready) == 0)
    g_usleep (1000);
  write_behind ();
}

static void
test_threads_left (void)
{
  expect_said ("debug leaks=no", write_beside_thread, "");
}

/* The same holds for the threads that a fork leaves behind: what is spoilt is
 * what one of them was about to fill. */
static void
fork_beside_thread (void)
{
  pthread_t thread;
  pid_t child;
  int status;

  test_options (options);
  g_assert_cmpint (pthread_create (&thread, NULL, stay, NULL), ==, 0);
  while (g_atomic_int_get (&n_ready) == 0)
    g_usleep (1000);
  child = fork ();
  if (child == 0)
    {
      write_behind ();
      exit (0);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  _exit (status == 0 ? 0 : 1);
}

static void
test_threads_lost (void)
{
  expect_said ("debug leaks=no", fork_beside_thread, "");
  expect_said ("hardened exit-check=2", fork_beside_thread, "");
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/leaks/list", test_list);
  test_add ("/slice/leaks/list-of-mallocs", test_list_of_mallocs);
  test_add ("/slice/leaks/off", test_off);
  test_add ("/slice/leaks/many", test_many);
  test_add ("/slice/leaks/processes", test_processes);
  test_add ("/slice/leaks/spoilt", test_spoilt);
  test_add ("/slice/leaks/spoilt-off", test_spoilt_off);
  test_add ("/slice/leaks/threads-left", test_threads_left);
  test_add ("/slice/leaks/threads-lost", test_threads_lost);
  return g_test_run ();
}
