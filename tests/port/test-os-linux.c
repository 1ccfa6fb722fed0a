/* test-os-linux.c - slice/port/os/os-linux.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "port/os/os.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES ((size_t) 4 << 20)

static void
test_thread_ids (void)
{
  g_assert_cmpuint (sli_os_thread_id (), ==, test_thread_id ());
  g_assert_cmpuint (sli_os_thread_id (), ==, (unsigned) getpid ());
}

static void
see_other_id (unsigned index G_GNUC_UNUSED, void *data G_GNUC_UNUSED)
{
  g_assert_cmpuint (sli_os_thread_id (), !=, (unsigned) getpid ());
  g_assert_cmpuint (sli_os_thread_id (), ==, test_thread_id ());
}

static void
test_thread_ids_differ (void)
{
  test_gang (3, see_other_id, NULL);
}

static void
test_advise_away (void)
{
  char *pages = sli_os_map (BYTES, 4096);
  size_t before;

  memset (pages, 1, BYTES);
  before = test_resident_bytes ();
  g_assert_true (sli_os_advise_away (pages + 4096, BYTES - 4096));
  g_assert_cmpint (pages[4095], ==, 1);
  g_assert_true (test_is_zero (pages + 4096, BYTES - 4096));
  /* Reading brought no page of its own back. */
  if (!test_is_slow ())
    g_assert_cmpuint (test_resident_bytes (), <, before - BYTES / 2);
  sli_os_unmap (pages, BYTES);
}

/* Some systems say that all is present, some can't populate. */
static void
test_populate (void)
{
  char *pages = sli_os_map (BYTES, 4096);
  bool tells = !sli_os_is_present (pages, 65536);

  pages[5000] = 1;
  g_assert_true (sli_os_is_present (pages, 65536));
  if (tells)
    g_assert_false (sli_os_is_present (pages + 65536, 65536));
  if (sli_os_populate (pages, 131072))
    g_assert_true (sli_os_is_present (pages + 131072 - 4096, 4096));
  g_assert_cmpint (pages[5000], ==, 1);
  g_assert_true (test_is_zero (pages + 8192, BYTES - 8192));
  sli_os_unmap (pages, BYTES);
}

static void
test_advise_nothing (void)
{
  char *pages = sli_os_map (4096, 4096);

  sli_os_unmap (pages, 4096);
  g_assert_false (sli_os_advise_away (pages + 1, 4096));
}

static void
test_advise_huge (void)
{
  char *pages = sli_os_map (BYTES, BYTES);

  sli_os_advise_huge (pages, BYTES, true);
  memset (pages, 1, BYTES);
  sli_os_advise_huge (pages, BYTES, false);
  g_assert_cmpint (pages[BYTES - 1], ==, 1);
  sli_os_unmap (pages, BYTES);
}

/* The reserve is empty on most machines: NULL then, and errno as it was. */
static void
test_map_huge (void)
{
  char *pages;

  errno = EDOM;
  pages = sli_os_map_huge (2 << 20);
  g_assert_cmpint (errno, ==, EDOM);
  if (pages == NULL)
    return;
  pages[(2 << 20) - 1] = 1;
  sli_os_unmap (pages, 2 << 20);
}

static void
test_punch_hole (void)
{
  FILE *file = tmpfile ();
  char text[8192];

  memset (text, 'x', sizeof text);
  g_assert_cmpuint (fwrite (text, 1, sizeof text, file), ==, sizeof text);
  fflush (file);
  errno = EDOM;
  sli_os_punch_hole (fileno (file), 0, 4096);
  sli_os_punch_hole (-1, 0, 4096);
  g_assert_cmpint (errno, ==, EDOM);
  rewind (file);
  g_assert_cmpuint (fread (text, 1, sizeof text, file), ==, sizeof text);
  g_assert_cmpint (text[0], ==, text[4095]);
  g_assert_true (text[0] == 0 || text[0] == 'x'); /* a file system may refuse */
  g_assert_cmpint (text[4096], ==, 'x');
  fclose (file);
}

static void
test_barrier (void)
{
#if defined HAVE_LINUX_MEMBARRIER_H && !defined __SANITIZE_THREAD__
  g_assert_true (sli_os_barrier_all_threads ());
#endif
  g_assert_true (sli_os_barrier_all_threads ()
                 == sli_os_barrier_all_threads ());
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/os-linux/thread-ids", test_thread_ids);
  test_add ("/slice/os-linux/thread-ids-differ", test_thread_ids_differ);
  test_add ("/slice/os-linux/advise-away", test_advise_away);
  test_add ("/slice/os-linux/populate", test_populate);
  test_add ("/slice/os-linux/advise-nothing", test_advise_nothing);
  test_add ("/slice/os-linux/advise-huge", test_advise_huge);
  test_add ("/slice/os-linux/map-huge", test_map_huge);
  test_add ("/slice/os-linux/punch-hole", test_punch_hole);
  /* A forked child must register again: both are tried. */
  test_add ("/slice/os-linux/barrier", test_barrier);
  test_add_fresh ("/slice/os-linux/barrier-in-child", test_barrier);
  return g_test_run ();
}
