/* testlib.c - what the tests share
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "testlib.h"
#include "hang.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum
{
  LINE_BYTES = 1024,   /* longest line that a death may say */
  HANG_SECONDS = 240,  /* a child that takes so long has hung */
  SLOWNESS = 20        /* of a tool */
};

static struct
{
  guint64 seed;
  gboolean is_slow;
  char *will_say;      /* shared with the child that dies */
} test;

/* --- starting --- */

void
test_init (int *argc, char ***argv)
{
  const char *seed;

  g_test_init (argc, argv, NULL);
  seed = g_getenv ("SLICE_TEST_SEED");
  test.seed = seed != NULL ? g_ascii_strtoull (seed, NULL, 0)
                           : (guint64) g_random_int ();
  printf ("# SLICE_TEST_SEED=%" G_GUINT64_FORMAT "\n", test.seed);
  test.is_slow = g_strcmp0 (g_getenv ("SLICE_TEST_VALGRIND"), "1") == 0
                 || g_strcmp0 (g_getenv ("SLICE_TEST_SANITIZED"), "1") == 0;
  test.will_say = mmap (NULL, LINE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  g_assert_true (test.will_say != MAP_FAILED);
}

void
test_options (const char *options)
{
  char *all = g_strconcat ("force-pool ", options, NULL);

  g_setenv ("SLICE_OPTIONS", all, TRUE);
  g_free (all);
}

gboolean
test_is_slow (void)
{
  return test.is_slow;
}

gboolean
test_is_second_tier (void)
{
  return g_strcmp0 (g_getenv ("SLICE_TEST_TIER"), "2") == 0;
}

unsigned
test_times (unsigned n, unsigned least)
{
  return test.is_slow ? MAX (n / SLOWNESS, least) : n;
}

unsigned
test_thread_id (void)
{
  return (unsigned) syscall (SYS_gettid);
}

void
test_limit_space (void)
{
  struct rlimit limit;

  if (sizeof (size_t) > 4)
    return;
  g_assert_cmpint (getrlimit (RLIMIT_AS, &limit), ==, 0);
  limit.rlim_cur = MIN (limit.rlim_cur, SIZE_MAX / 4);
  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
}

gboolean
test_can_limit_space (void)
{
  int status = 0;
  pid_t child;

  if (sizeof (size_t) > 4)
    return TRUE;
  fflush (NULL);
  child = fork ();
  if (child == 0)
    {
      test_limit_space ();
      _exit (mmap (NULL, SIZE_MAX / 4 + 1, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
             != MAP_FAILED);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  if (status != 0)
    g_test_message ("the limit of addresses is not obeyed");
  return status == 0;
}

gboolean
test_obeys_limits (void)
{
  struct rlimit limit;
  int status = 0;
  pid_t child;

  fflush (NULL);
  child = fork ();
  if (child == 0)
    {
      getrlimit (RLIMIT_AS, &limit);
      limit.rlim_cur = 1 << 20;
      setrlimit (RLIMIT_AS, &limit);
      _exit (mmap (NULL, 1 << 26, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                   0)
             != MAP_FAILED);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  if (status != 0)
    g_test_message ("the limit of addresses is not obeyed");
  return status == 0;
}

size_t
test_resident_bytes (void)
{
  char text[128] = "";
  FILE *file = fopen ("/proc/self/statm", "r");
  unsigned long pages = 0;

  g_assert_nonnull (file);
  g_assert_nonnull (fgets (text, sizeof text, file));
  fclose (file);
  g_assert_cmpint (sscanf (text, "%*u %lu", &pages), ==, 1);
  return pages * (size_t) sysconf (_SC_PAGESIZE);
}

/* --- a process of its own --- */

/* The child runs the body and leaves as a program does, so that what runs at
 * exit runs. */
static pid_t
child_start (TestBody body, int error_fd)
{
  pid_t child;

  fflush (NULL);
  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      struct rlimit no_core = { 0, 0 };

      setrlimit (RLIMIT_CORE, &no_core);
      hang_after (test.is_slow ? HANG_SECONDS * 10 : HANG_SECONDS);
      if (error_fd >= 0)
        dup2 (error_fd, 2);
      test_options ("");
      body ();
      exit (0);
    }
  return child;
}

static int
child_wait (pid_t child)
{
  int status = 0;

  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  return status;
}

static void
run_fresh (gconstpointer data)
{
  TestBody body = *(const TestBody *) data;
  int status = child_wait (child_start (body, -1));

  if (WIFSIGNALED (status))
    g_test_message ("ended by signal %d", WTERMSIG (status));
  g_assert_cmpint (status, ==, 0);
}

/* Drops the lines that hold `words`. */
static void
drop_lines (char *text, const char *words)
{
  char *line;

  while ((line = strstr (text, words)) != NULL)
    {
      char *end = strchr (line, '\n');

      while (line > text && line[-1] != '\n')
        line--;
      if (end == NULL)
        *line = '\0';
      else
        memmove (line, end + 1, strlen (end + 1) + 1);
    }
}

char *
test_capture (TestBody body, int *status)
{
  GString *text = g_string_new (NULL);
  int fds[2];
  char bytes[4096];
  ssize_t n;
  pid_t child;

  g_assert_cmpint (pipe (fds), ==, 0);
  child = child_start (body, fds[1]);
  close (fds[1]);
  while ((n = read (fds[0], bytes, sizeof bytes)) > 0)
    g_string_append_len (text, bytes, n);
  close (fds[0]);
  *status = child_wait (child);
  /* The address sanitizer warns of sizes that no malloc has; an emulator
   * names the signal. */
  drop_lines (text->str, "==WARNING: AddressSanitizer failed to ");
  drop_lines (text->str, "qemu: uncaught target signal ");
  return g_string_free (text, FALSE);
}

char *
test_said_by (TestBody body)
{
  int status;
  char *said = test_capture (body, &status);

  g_assert_cmpint (status, ==, 0);
  return said;
}

void
test_says_nothing (TestBody body)
{
  char *said = test_said_by (body);

  g_assert_cmpstr (said, ==, "");
  g_free (said);
}

void
test_will_die (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (test.will_say, LINE_BYTES - 1, format, arguments);
  va_end (arguments);
  strcat (test.will_say, "\n");
}

static void
run_death (gconstpointer data)
{
  TestBody body = *(const TestBody *) data;
  int status;
  char *said;

  test.will_say[0] = '\0';
  said = test_capture (body, &status);
  /* A star stands for an address that no test can know. */
  if (strchr (test.will_say, '*') == NULL
      || !g_pattern_match_simple (test.will_say, said))
    g_assert_cmpstr (said, ==, test.will_say);
  g_assert_cmpstr (said, !=, "");
  g_assert_true (WIFSIGNALED (status));
  g_assert_cmpint (WTERMSIG (status), ==, SIGABRT);
  g_free (said);
}

/* g_test_add_data_func() wants data, and a function is none. */
static gconstpointer
body_data (TestBody body)
{
  TestBody *data = g_new (TestBody, 1);

  *data = body;
  return data;
}

void
test_add (const char *path, TestBody body)
{
  g_test_add_func (path, body);
}

void
test_add_fresh (const char *path, TestBody body)
{
  g_test_add_data_func_full (path, (gpointer) body_data (body), run_fresh,
                             g_free);
}

void
test_add_death (const char *path, TestBody body)
{
  g_test_add_data_func_full (path, (gpointer) body_data (body), run_death,
                             g_free);
}

/* --- random numbers: Steele, Lea and Flood 2014 (SplitMix) --- */

guint64
test_seed (void)
{
  return test.seed;
}

void
test_random_init (TestRandom *random, unsigned number)
{
  random->state = test.seed + (guint64) number * 0x632be59bd9b4e019u;
  test_random (random);
}

guint64
test_random (TestRandom *random)
{
  guint64 z = random->state += 0x9e3779b97f4a7c15u;

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

unsigned
test_random_below (TestRandom *random, unsigned n)
{
  return (unsigned) ((test_random (random) >> 32) * n >> 32);
}

/* --- many threads --- */

typedef struct
{
  pthread_barrier_t *start;
  TestRun run;
  void *data;
  unsigned index;
} Member;

static void *
member_run (void *data)
{
  Member *member = data;

  pthread_barrier_wait (member->start);
  member->run (member->index, member->data);
  return NULL;
}

void
test_gang (unsigned n, TestRun run, void *data)
{
  pthread_t *threads = g_new (pthread_t, n);
  Member *members = g_new (Member, n);
  pthread_barrier_t start;

  pthread_barrier_init (&start, NULL, n);
  for (unsigned i = 0; i < n; i++)
    {
      members[i] = (Member){ &start, run, data, i };
      g_assert_cmpint (
          pthread_create (&threads[i], NULL, member_run, &members[i]), ==, 0);
    }
  for (unsigned i = 0; i < n; i++)
    pthread_join (threads[i], NULL);
  pthread_barrier_destroy (&start);
  g_free (members);
  g_free (threads);
}

void
test_wait_asleep (unsigned thread_id)
{
  char *path = g_strdup_printf ("/proc/self/task/%u/stat", thread_id);
  char state = 'R';

  while (state != 'S')
    {
      char *text = NULL, *end;

      sched_yield ();
      if (!g_file_get_contents (path, &text, NULL, NULL))
        break;
      end = strrchr (text, ')');
      state = end != NULL && end[1] == ' ' ? end[2] : 'S';
      g_free (text);
    }
  g_free (path);
}

/* --- a source of pages that can fail --- */

static void *
pages_map (const SliceSource *source, size_t bytes, size_t alignment)
{
  TestPages *pages = (TestPages *) source->data;
  char *raw, *start;

  /* Threads may call at once, but only a test of one sets a limit. */
  if (g_atomic_int_get (&pages->n_until_failure) == 0)
    {
      g_atomic_int_inc (&pages->n_failed);
      return NULL;
    }
  raw = mmap (NULL, bytes + alignment, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED)
    return NULL;
  start = (char *) (((uintptr_t) raw + alignment - 1) & -alignment);
  if (start > raw)
    munmap (raw, (size_t) (start - raw));
  munmap (start + bytes, (size_t) (raw + alignment - start));
  if (g_atomic_int_get (&pages->n_until_failure) > 0)
    g_atomic_int_add (&pages->n_until_failure, -1);
  g_atomic_int_inc (&pages->n_maps);
  __atomic_fetch_add (&pages->mapped_bytes, bytes, __ATOMIC_RELAXED);
  return start;
}

static void
pages_unmap (const SliceSource *source, void *address, size_t bytes)
{
  TestPages *pages = (TestPages *) source->data;

  munmap (address, bytes);
  g_atomic_int_inc (&pages->n_unmaps);
  __atomic_fetch_sub (&pages->mapped_bytes, bytes, __ATOMIC_RELAXED);
}

static bool
pages_advise_away (const SliceSource *source, void *address, size_t bytes)
{
  TestPages *pages = (TestPages *) source->data;

  g_atomic_int_inc (&pages->n_advised);
  return madvise (address, bytes, MADV_DONTNEED) == 0;
}

void
test_pages_init (TestPages *pages)
{
  memset (pages, 0, sizeof *pages);
  pages->source = (SliceSource){ "test", pages_map, pages_unmap,
                                 pages_advise_away, true, pages };
  pages->n_until_failure = -1;
}

/* --- blocks --- */

size_t
test_alignment (size_t size)
{
  return (size + 7) / 8 % 2 == 0 ? 16 : 8;
}

static unsigned char
fill_byte (size_t size, unsigned key, size_t i)
{
  return (unsigned char) (size * 13 + key * 7 + i + 1);
}

void
test_fill (void *block, size_t size, unsigned key)
{
  unsigned char *bytes = block;

  for (size_t i = 0; i < size; i++)
    bytes[i] = fill_byte (size, key, i);
}

gboolean
test_is_filled (const void *block, size_t size, unsigned key)
{
  const unsigned char *bytes = block;

  for (size_t i = 0; i < size; i++)
    if (bytes[i] != fill_byte (size, key, i))
      return FALSE;
  return TRUE;
}

gboolean
test_is_zero (const void *block, size_t size)
{
  const unsigned char *bytes = block;

  for (size_t i = 0; i < size; i++)
    if (bytes[i] != 0)
      return FALSE;
  return TRUE;
}
