/* test-tls.c - slice/port/thread/tls.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "port/thread/tls.h"

#include <pthread.h>

static int n_left;

static void
on_leave (void *value)
{
  g_assert_nonnull (value);
  g_atomic_int_inc (&n_left);
  g_atomic_int_inc ((int *) value);
}

static void
watch_and_end (unsigned index, void *data)
{
  int *values = data;

  if (index % 2 == 0)
    g_assert_true (sli_tls_watch (&values[index]));
}

static void
test_tells_end (void)
{
  int values[6] = { 0 };

  g_assert_true (sli_tls_open (on_leave));
  g_assert_true (sli_tls_open (on_leave));
  test_gang (6, watch_and_end, values);
  for (int i = 0; i < 6; i++)
    g_assert_cmpint (values[i], ==, i % 2 == 0);
  g_assert_cmpint (n_left, ==, 3);
}

static void
note_tag (unsigned index, void *data)
{
  uint16_t *tags = data;

  tags[index] = sli_tls_tag ();
  g_assert_cmpuint (sli_tls_tag (), ==, tags[index]);
}

/* Whoever lives beside another has a tag of his own: nearly always, and one
 * of six is enough. */
static void
test_tags_differ (void)
{
  uint16_t tags[6] = { 0 };
  uint16_t own = sli_tls_tag ();
  unsigned n_others = 0;

  test_gang (6, note_tag, tags);
  for (int i = 0; i < 6; i++)
    n_others += tags[i] != own;
  g_assert_cmpuint (n_others, >, 0);
}

/* Without a key nothing can be watched, and no other's key is touched. */
static void
test_no_key_left (void)
{
  pthread_key_t key, first;
  int value;

  g_assert_cmpint (pthread_key_create (&first, NULL), ==, 0);
  pthread_setspecific (first, &value);
  while (pthread_key_create (&key, NULL) == 0)
    continue;
  g_assert_false (sli_tls_open (on_leave));
  g_assert_false (sli_tls_watch (&key));
  g_assert_true (pthread_getspecific (first) == &value);
}

static void
test_not_open (void)
{
  int value;

  g_assert_false (sli_tls_watch (&value));
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/tls/tells-end", test_tells_end);
  test_add_fresh ("/slice/tls/tags-differ", test_tags_differ);
  test_add_fresh ("/slice/tls/no-key-left", test_no_key_left);
  test_add_fresh ("/slice/tls/not-open", test_not_open);
  return g_test_run ();
}
