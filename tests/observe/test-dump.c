/* test-dump.c - slice/observe/dump.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "tests/teststats.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

static void
use_some (void)
{
  void *block = slice_alloc (40);

  slice_free1 (500, slice_alloc (500));
  slice_free1 (5000, slice_alloc (5000));
  g_assert_nonnull (block);
}

static void
print_table (void)
{
  use_some ();
  slice_print_stats (2);
}

/* A line up to the end of its column of that number, from 0. */
static const char *
column (const char *line, int number)
{
  static char text[256];
  const char *at = line;

  for (int i = 0; i <= number; i++)
    {
      at += strspn (at, " ");
      at += strcspn (at, " ");
    }
  g_strlcpy (text, line, (gsize) (at - line) + 1);
  return text;
}

static void
print_counted (void)
{
  test_options ("count");
  for (int i = 0; i < 3; i++)
    slice_free1 (40, slice_alloc (40));
  slice_print_stats (2);
}

static void
test_counted (void)
{
  char *said = test_said_by (print_counted),
       **lines = g_strsplit (said, "\n", -1);
  const char *hits = column (lines[3], 5);

  g_assert_true (g_str_has_prefix (said, "slice: 0 live blocks, "));
  g_assert_true (g_ascii_isdigit (hits[strlen (hits) - 1]));
  g_strfreev (lines);
  g_free (said);
}

/* Blocks that are mallocs are counted. */
static void
print_mallocs (void)
{
  void *blocks[4];

  test_options ("always-malloc");
  for (int i = 0; i < 4; i++)
    blocks[i] = slice_alloc (40);
  slice_free1 (40, blocks[0]);
  slice_free_bulk (1, &blocks[1]);
  slice_free1 (5000, slice_alloc (5000));
  slice_print_stats (2);
  slice_free1 (40, blocks[2]);
  slice_free1 (40, blocks[3]);
}

static void
test_mallocs (void)
{
  char *said = test_said_by (print_mallocs);

  g_assert_true (
      g_str_has_prefix (said, "slice: 2 live blocks, each a malloc of its "
                              "own ("));
  g_assert_null (strstr (said, "large"));
  g_assert_null (strstr (said, "regions"));
  g_free (said);
}

static void
test_table (void)
{
  char *said = test_said_by (print_table), **lines;

  g_assert_true (g_str_has_prefix (said, "slice: 1 live block, 0 KiB; "));
  g_assert_nonnull (strstr (said, "large: 1 allocated, 1 freed\n"));
  lines = g_strsplit (said, "\n", -1);
  /* Two lines of totals, a head, a line a class that was used. */
  g_assert_cmpuint (g_strv_length (lines), ==, 2 + 1 + 2 + 1);
  g_assert_true (g_str_has_prefix (lines[2], "  size      live"));
  g_assert_true (g_str_has_prefix (lines[3], "    40         1"));
  g_assert_true (g_str_has_prefix (lines[4], "   512         0"));
  g_assert_true (
      g_str_has_prefix (lines[1], "slice: 1 region (0 empty), 1 map, "));
  g_assert_nonnull (strstr (lines[1], " KiB returned; 1 thread; large: "));
  /* What is not counted is no number. */
  g_assert_true (g_str_has_suffix (column (lines[3], 5), " -"));
  for (int i = 2; i < 5; i++)
    g_assert_cmpuint (strlen (lines[i]), ==, strlen (lines[2]));
  g_strfreev (lines);
  g_free (said);
}

static void
print_nothing (void)
{
  slice_print_stats (2);
}

static void
test_nothing (void)
{
  char *said = test_said_by (print_nothing);

  g_assert_cmpstr (said, ==, "slice: no block was ever allocated\n");
  g_free (said);
}

/* --- JSON: a reader just good enough to find what is wrong --- */

static const char *
skip_value (const char *at)
{
  char close = *at == '{' ? '}' : *at == '[' ? ']' : '\0';

  if (close == '\0')
    {
      g_assert_true (g_ascii_isdigit (*at));
      while (g_ascii_isdigit (*at))
        at++;
      return at;
    }
  at++;
  while (*at != close)
    {
      if (close == '}')
        {
          g_assert_cmpint (*at++, ==, '"');
          while (g_ascii_isalnum (*at) || *at == '_')
            at++;
          g_assert_cmpint (*at++, ==, '"');
          g_assert_cmpint (*at++, ==, ':');
        }
      at = skip_value (at);
      if (*at == ',')
        {
          at++;
          g_assert_cmpint (*at, !=, close);
        }
      else
        g_assert_cmpint (*at, ==, close);
    }
  return at + 1;
}

static void
print_json (void)
{
  use_some ();
  slice_print_stats_json (2);
}

static void
test_json (void)
{
  static const char *const keys[]
      = { "live_blocks", "cached_bytes", "held_bytes", "n_threads",
          "n_large_allocs", "block_bytes", "n_live", "n_cached_threads",
          "n_cached_depot", "n_slabs", "n_contended", "n_trimmed",
          "rounds_now" };
  char *said = test_said_by (print_json);

  g_assert_cmpstr (skip_value (said), ==, "\n");
  g_assert_true (g_str_has_prefix (said, "{\"live_blocks\":1,"));
  for (size_t i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      char *key = g_strdup_printf ("\"%s\":", keys[i]);

      g_assert_nonnull (strstr (said, key));
      g_free (key);
    }
  g_free (said);
}

static void
print_json_of_nothing (void)
{
  slice_print_stats_json (2);
}

static void
test_json_of_nothing (void)
{
  char *said = test_said_by (print_json_of_nothing);

  g_assert_cmpstr (skip_value (said), ==, "\n");
  g_free (said);
}

/* --- at exit --- */

static void
exit_with_stats (void)
{
  test_options ("stats");
  use_some ();
}

static void
exit_without_stats (void)
{
  use_some ();
}

static void
exit_unused (void)
{
  test_options ("stats");
}

static void
test_at_exit (void)
{
  char *said = test_said_by (exit_with_stats);

  g_assert_true (g_str_has_prefix (said, "slice: 1 live block, "));
  g_free (said);
  said = test_said_by (exit_without_stats);
  g_assert_cmpstr (said, ==, "");
  g_free (said);
  said = test_said_by (exit_unused);
  g_assert_cmpstr (said, ==, "");
  g_free (said);
}

/* --- on the least stack that a thread may have --- */

static void *
print_both (void *unused G_GNUC_UNUSED)
{
  slice_print_stats (2);
  slice_print_stats_json (2);
  return NULL;
}

static void
print_in_small_thread (void)
{
  pthread_attr_t attributes;
  pthread_t thread;

  use_some ();
  pthread_attr_init (&attributes);
  /* (musl's least is 2 KiB, too little for its own printf.) */
  pthread_attr_setstacksize (&attributes,
                             MAX ((size_t) PTHREAD_STACK_MIN, 16384));
  g_assert_cmpint (pthread_create (&thread, &attributes, print_both, NULL),
                   ==, 0);
  pthread_join (thread, NULL);
}

static void
test_small_stack (void)
{
  char *said;

  if (TEST_IS_SANITIZED)
    return; /* it needs more itself */
  said = test_said_by (print_in_small_thread);
  g_assert_nonnull (strstr (said, "]}\n"));
  g_free (said);
}

static unsigned
count_in (const char *text, const char *part)
{
  unsigned n = 0;

  for (; (text = strstr (text, part)) != NULL; text++)
    n++;
  return n;
}

static void
test_json_counts_classes (void)
{
  char *said = test_said_by (print_json);
  const char *at = strstr (said, "\"n_classes\":");

  g_assert_nonnull (at);
  g_assert_cmpuint (g_ascii_strtoull (strchr (at, ':') + 1, NULL, 10), ==,
                    SLICE_N_CLASSES);
  g_assert_cmpuint (count_in (said, "\"block_bytes\":"), ==, SLICE_N_CLASSES);
  /* A class stands at its index. */
  g_assert_nonnull (strstr (said, "\"classes\":[{\"block_bytes\":0,"));
  g_free (said);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/dump/table", test_table);
  test_add ("/slice/dump/counted", test_counted);
  test_add ("/slice/dump/mallocs", test_mallocs);
  test_add ("/slice/dump/nothing", test_nothing);
  test_add ("/slice/dump/json", test_json);
  test_add ("/slice/dump/json-of-nothing", test_json_of_nothing);
  test_add ("/slice/dump/small-stack", test_small_stack);
  test_add ("/slice/dump/json-counts-classes", test_json_counts_classes);
  test_add ("/slice/dump/at-exit", test_at_exit);
  return g_test_run ();
}
