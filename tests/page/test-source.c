/* test-source.c - slice/page/source/source.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "base/option.h"
#include "page/source/source.h"
#include "port/os/os.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t) 1 << 20)

static const char *const names[]
    = { "posix_memalign", "mmap", "memalign", "valloc", "malloc" };

static void
check_piece (const SliceSource *source, size_t bytes, size_t alignment)
{
  char *piece = source->map (source, bytes, alignment);

  g_assert_nonnull (piece);
  g_assert_cmpuint ((uintptr_t) piece % alignment, ==, 0);
  if (source->is_zeroed)
    g_assert_true (test_is_zero (piece, bytes));
  memset (piece, 1, bytes);
  g_assert_true (source->advise_away (source, piece, bytes));
  g_assert_true (test_is_zero (piece, bytes));
  memset (piece, 2, bytes);
  source->unmap (source, piece, bytes);
}

/* Each source maps aligned memory, and unmaps it. */
static void
test_builtin (void)
{
  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const SliceSource *source = slice_source_builtin ((SlicePageSource) i);

      if (source == NULL)
        {
          g_test_message ("%s is not built in", names[i]);
          continue;
        }
      g_assert_cmpstr (source->name, ==, names[i]);
      check_piece (source, MIB / 4, 2 * MIB);
      check_piece (source, sli_os_page_bytes (), sli_os_page_bytes ());
      check_piece (source, 3 * MIB, MIB);
    }
  g_assert_nonnull (slice_source_builtin (SLICE_PAGES_MMAP));
  g_assert_nonnull (slice_source_builtin (SLICE_PAGES_MALLOC));
}

static void
test_what_is_built_in (void)
{
  g_assert_true ((slice_source_builtin (SLICE_PAGES_POSIX_MEMALIGN) != NULL)
                 == sli_os_has_posix_memalign ());
  g_assert_true ((slice_source_builtin (SLICE_PAGES_MEMALIGN) != NULL)
                 == sli_os_has_memalign ());
  g_assert_true ((slice_source_builtin (SLICE_PAGES_VALLOC) != NULL)
                 == sli_os_has_valloc ());
}

static void
test_unknown (void)
{
  g_assert_null (slice_source_builtin (SLICE_PAGES_CUSTOM));
  g_assert_null (slice_source_builtin ((SlicePageSource) 6));
  g_assert_null (slice_source_builtin ((SlicePageSource) -1));
}

static void
test_too_much (void)
{
  test_limit_space ();
  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const SliceSource *source = slice_source_builtin ((SlicePageSource) i);

      if (source == NULL)
        continue;
      g_assert_null (source->map (source, SIZE_MAX / 2 - 8 * MIB, 2 * MIB));
      /* The bytes that an alignment adds do not wrap. */
      g_assert_null (source->map (source, SIZE_MAX - MIB + 1, 2 * MIB));
    }
}

static void
test_custom (void)
{
  static TestPages pages;
  SliceSource bad;
  int64_t value;

  test_pages_init (&pages);
  g_assert_cmpint (slice_set_source (NULL), ==, SLICE_SET_BAD_VALUE);
  bad = pages.source;
  bad.name = NULL;
  g_assert_cmpint (slice_set_source (&bad), ==, SLICE_SET_BAD_VALUE);
  bad = pages.source;
  bad.map = NULL;
  g_assert_cmpint (slice_set_source (&bad), ==, SLICE_SET_BAD_VALUE);
  g_assert_null (slice_source_builtin (SLICE_PAGES_CUSTOM));
  g_assert_cmpint (slice_set_source (&pages.source), ==, SLICE_SET_OK);
  g_assert_true (slice_source_builtin (SLICE_PAGES_CUSTOM) == &pages.source);
  slice_get_option (SLICE_OPTION_PAGE_SOURCE, &value);
  g_assert_cmpint (value, ==, SLICE_PAGES_CUSTOM);
  sli_option_freeze ();
  g_assert_true (sli_source_in_force () == &pages.source);
}

static void
test_custom_too_late (void)
{
  static TestPages pages;
  const SliceSource *before;

  test_pages_init (&pages);
  sli_option_freeze ();
  before = sli_source_in_force ();
  g_assert_cmpint (slice_set_source (&pages.source), ==, SLICE_SET_TOO_LATE);
  g_assert_null (slice_source_builtin (SLICE_PAGES_CUSTOM));
  g_assert_true (sli_source_in_force () == before);
}

/* An option must name a source that is built in. */
static void
test_option (void)
{
  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const SliceSource *source = slice_source_builtin ((SlicePageSource) i);

      g_assert_cmpint (slice_set_option (SLICE_OPTION_PAGE_SOURCE,
                                         (int64_t) i),
                       ==, source != NULL ? SLICE_SET_OK
                                          : SLICE_SET_BAD_VALUE);
    }
  sli_option_freeze ();
  g_assert_true (sli_source_in_force ()
                 == slice_source_builtin (SLICE_PAGES_MALLOC));
}

static void
test_variable (void)
{
  const SliceSource *source;
  int64_t value;

  test_options ("page-source=memalign");
  sli_option_freeze ();
  source = sli_source_in_force ();
  g_assert_nonnull (source);
  if (sli_os_has_memalign ())
    g_assert_cmpstr (source->name, ==, "memalign");
  g_assert_true (slice_get_option (SLICE_OPTION_PAGE_SOURCE, &value));
  g_assert_cmpstr (source->name, ==, names[value]);
}

static void
test_default (void)
{
  int64_t value;

  sli_option_freeze ();
  g_assert_true (slice_get_option (SLICE_OPTION_PAGE_SOURCE, &value));
  g_assert_cmpstr (sli_source_in_force ()->name, ==, names[value]);
  if (sli_os_has_posix_memalign ())
    g_assert_cmpint (value, ==, SLICE_PAGES_POSIX_MEMALIGN);
}

/* --- what is set while the options are frozen --- */

/* The environment is read for as long as the reader of the warnings waits. */
static unsigned freezing_thread;

static void *
freeze_run (void *data)
{
  __atomic_store_n (&freezing_thread, test_thread_id (), __ATOMIC_RELEASE);
  sli_option_freeze ();
  return data;
}

static void
pipe_fill (int fd)
{
  char bytes[4096] = { 0 };

  g_assert_cmpint (fcntl (fd, F_SETFL, O_NONBLOCK), ==, 0);
  while (write (fd, bytes, sizeof bytes) > 0)
    ;
  g_assert_cmpint (fcntl (fd, F_SETFL, 0), ==, 0);
}

static void *
drain_run (void *data)
{
  char bytes[4096];

  while (read (*(int *) data, bytes, sizeof bytes) > 0)
    ;
  return NULL;
}

static void
test_set_while_frozen (void)
{
  static TestPages first, second;
  pthread_t thread, drain;
  int ends[2], standard;
  SliceSetResult result;
  int64_t value;

  if (test_is_slow ())
    {
      g_test_skip ("under a tool threads that wait for their turn sleep, too");
      return;
    }
  test_pages_init (&first);
  test_pages_init (&second);
  g_assert_cmpint (slice_set_source (&first.source), ==, SLICE_SET_OK);
  g_setenv ("SLICE_OPTIONS", "nonsense", TRUE);
  g_assert_cmpint (pipe (ends), ==, 0);
  pipe_fill (ends[1]);
  standard = dup (STDERR_FILENO);
  dup2 (ends[1], STDERR_FILENO);
  pthread_create (&thread, NULL, freeze_run, NULL);
  while (__atomic_load_n (&freezing_thread, __ATOMIC_ACQUIRE) == 0)
    sched_yield ();
  test_wait_asleep (freezing_thread);
  result = slice_set_option (SLICE_OPTION_MAGAZINE_BYTES_MAX, 7777);
  g_assert_true (slice_get_option (SLICE_OPTION_MAGAZINE_BYTES_MAX, &value));
  g_assert_true ((value == 7777) == (result == SLICE_SET_OK));
  g_assert_cmpint (slice_set_source (&second.source), ==, result);
  pthread_create (&drain, NULL, drain_run, &ends[0]);
  pthread_join (thread, NULL);
  dup2 (standard, STDERR_FILENO);
  close (ends[1]);
  pthread_join (drain, NULL);
  /* Exactly the options that were reported as set are in force. */
  g_assert_true ((sli_option (SLICE_OPTION_MAGAZINE_BYTES_MAX) == 7777)
                 == (result == SLICE_SET_OK));
  g_assert_true (sli_source_in_force ()
                 == (result == SLICE_SET_OK ? &second.source : &first.source));
  g_assert_cmpint (result, ==, SLICE_SET_TOO_LATE);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/source/builtin", test_builtin);
  test_add ("/slice/source/what-is-built-in", test_what_is_built_in);
  test_add ("/slice/source/unknown", test_unknown);
  if (test_can_limit_space ())
    test_add_fresh ("/slice/source/too-much", test_too_much);
  test_add_fresh ("/slice/source/custom", test_custom);
  test_add_fresh ("/slice/source/custom-too-late", test_custom_too_late);
  test_add_fresh ("/slice/source/option", test_option);
  test_add_fresh ("/slice/source/variable", test_variable);
  test_add_fresh ("/slice/source/default", test_default);
  test_add_fresh ("/slice/source/set-while-frozen", test_set_while_frozen);
  return g_test_run ();
}
