/* test-dump.c - slice/observe/dump.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "testlib.h"
#include "teststats.h"

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

static char *
said_by (TestBody body)
{
  int status;
  char *said = test_capture (body, &status);

  g_assert_cmpint (status, ==, 0);
  return said;
}

static void
test_table (void)
{
  char *said = said_by (print_table), **lines;

  g_assert_true (g_str_has_prefix (said, "slice: 1 live blocks, 0 KiB; "));
  g_assert_nonnull (strstr (said, "large: 1 allocated, 1 freed\n"));
  lines = g_strsplit (said, "\n", -1);
  /* Two lines of totals, a head, a line a class that was used. */
  g_assert_cmpuint (g_strv_length (lines), ==, 2 + 1 + 2 + 1);
  g_assert_true (g_str_has_prefix (lines[2], "  size      live"));
  g_assert_true (g_str_has_prefix (lines[3], "    40         1"));
  g_assert_true (g_str_has_prefix (lines[4], "   512         0"));
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
  char *said = said_by (print_nothing);

  g_assert_cmpstr (said, ==, "slice: no block was ever asked for\n");
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
  char *said = said_by (print_json);

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
  char *said = said_by (print_json_of_nothing);

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
  char *said = said_by (exit_with_stats);

  g_assert_true (g_str_has_prefix (said, "slice: 1 live blocks, "));
  g_free (said);
  said = said_by (exit_without_stats);
  g_assert_cmpstr (said, ==, "");
  g_free (said);
  said = said_by (exit_unused);
  g_assert_cmpstr (said, ==, "");
  g_free (said);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/dump/table", test_table);
  test_add ("/slice/dump/nothing", test_nothing);
  test_add ("/slice/dump/json", test_json);
  test_add ("/slice/dump/json-of-nothing", test_json_of_nothing);
  test_add ("/slice/dump/at-exit", test_at_exit);
  return g_test_run ();
}
