/* test-ralloc-report.c - context/ralloc/debug/ralloc-report.c: every kind of
 * node and everything that is said of one, as text and as JSON; roots that are
 * tracked
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/libslice.h>

#include "tests/testlib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *
said_of (void (*print) (FILE *, const void *), const void *node)
{
  char *text = NULL, *copy;
  size_t bytes;
  FILE *file = open_memstream (&text, &bytes);

  print (file, node);
  fclose (file);
  copy = g_strdup (text);
  free (text);
  return copy;
}

static void
assert_says (const char *said, const char *part)
{
  if (strstr (said, part) == NULL)
    g_error ("no \"%s\" in:\n%s", part, said);
}

/* As many as there are open, at every place; strings aside. */
static void
assert_is_balanced (const char *json)
{
  char open[100];
  unsigned depth = 0;
  bool in_string = false;

  for (; *json != '\0'; json++)
    if (in_string && *json == '\\')
      json++;
    else if (*json == '"')
      in_string = !in_string;
    else if (!in_string && (*json == '{' || *json == '['))
      open[depth++] = *json == '{' ? '}' : ']';
    else if (!in_string && (*json == '}' || *json == ']'))
      {
        g_assert_cmpuint (depth, >, 0);
        g_assert_cmpint (*json, ==, open[--depth]);
      }
  g_assert_cmpuint (depth, ==, 0);
  g_assert_false (in_string);
}

/* One of each kind. */
static void *
make_tree (void)
{
  void *root = ralloc_context (NULL);
  void *held = ralloc_size (root, 10), *holder = ralloc_size (root, 20);
  RallocGc *gc = ralloc_gc_context (root);
  RallocLinear *linear = ralloc_linear_context (root);

  g_assert_true (ralloc_set_name (root, "a \"root\"\\\n"));
  g_assert_true (ralloc_set_limit (root, 1000000));
  g_assert_nonnull (ralloc_reference (holder, held));
  g_assert_nonnull (ralloc_gc_alloc_size (gc, 100, 8));
  g_assert_true (ralloc_set_name_const (gc, "condemned"));
  g_assert_nonnull (ralloc_linear_alloc_child (linear, 30));
  ralloc_mark_place (holder, "place.c", 17);
  return root;
}

static void
test_text (void)
{
  void *root = make_tree ();
  char *said = said_of (ralloc_report, root);

  assert_says (said, "a \"root\"\\\\\\u000a: ");
  assert_says (said, "bytes held under a limit");
  assert_says (said, "1 references");
  assert_says (said, "  reference: ");
  assert_says (said, "  condemned: ");
  assert_says (said, "(gc)");
  assert_says (said, "  linear: ");
  g_free (said);
  ralloc_free (root);
}

static void
test_json (void)
{
  void *root = make_tree ();
  char *said = said_of (ralloc_report_json, root);

  assert_is_balanced (said);
  assert_says (said, "\"name\": \"a \\\"root\\\"\\\\\\u000a\"");
  assert_says (said, "\"limit_used\": ");
  assert_says (said, "\"references\": 1");
  assert_says (said, "\"kind\": \"reference\"");
  assert_says (said, "\"kind\": \"gc\", \"name\": \"condemned\"");
  assert_says (said, "\"kind\": \"linear\"");
  g_free (said);
  ralloc_free (root);
}

/* A name of any bytes makes no invalid JSON. */
static void
test_json_bytes (void)
{
  static const struct
  {
    const char *name;
    const char *said;
  } names[] = {
    { "gr\303\274n \342\202\254 \360\237\230\200",
      "gr\303\274n \342\202\254 \360\237\230\200" },
    { "\377x", "\\ufffdx" },
    { "\303", "\\ufffd" },
    { "\342\202", "\\ufffd\\ufffd" },
    { "\300\257", "\\ufffd\\ufffd" },
    { "\340\200\257", "\\ufffd\\ufffd\\ufffd" },
    { "\355\240\200", "\\ufffd\\ufffd\\ufffd" },
    { "\364\220\200\200", "\\ufffd\\ufffd\\ufffd\\ufffd" },
    { "\365\200\200\200", "\\ufffd\\ufffd\\ufffd\\ufffd" },
    { "\303\"", "\\ufffd\\\"" },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    {
      void *root = ralloc_context (NULL);
      char *name = g_strdup_printf ("\"name\": \"%s\"", names[i].said);
      char *said;

      ralloc_set_name (root, names[i].name);
      said = said_of (ralloc_report_json, root);
      g_assert_true (g_utf8_validate (said, -1, NULL));
      assert_says (said, name);
      g_free (said);
      g_free (name);
      ralloc_free (root);
    }
}

/* What a name has in it makes no second line, and no escape sequence of a
 * terminal's. */
static void
test_text_bytes (void)
{
  static const struct
  {
    const char *name;
    const char *said;
  } names[] = {
    { "one\ntwo\r", "one\\u000atwo\\u000d: " },
    { "\033[2J\177", "\\u001b[2J\\u007f: " },
    { "next\302\205line\302\240", "next\\u0085line\302\240: " },
    { "\233x", "\\ufffdx: " },
    { "gr\303\274n \"a\\n\"", "gr\303\274n \"a\\\\n\": " },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    {
      void *root = ralloc_context (NULL);
      char *said;

      ralloc_set_name (root, names[i].name);
      said = said_of (ralloc_report, root);
      assert_says (said, names[i].said);
      g_assert_true (strchr (said, '\n') == said + strlen (said) - 1);
      g_free (said);
      ralloc_free (root);
    }
}

/* The place is kept with the option `debug` alone. */
static void
test_places (void)
{
  void *root;
  char *said;

  test_options ("debug");
  root = make_tree ();
  said = said_of (ralloc_report, root);
  assert_says (said, ", at place.c:17");
  g_free (said);
  said = said_of (ralloc_report_json, root);
  assert_is_balanced (said);
  assert_says (said, "\"file\": \"place.c\", \"line\": 17");
  g_free (said);
  g_assert_null (ralloc_mark_place (NULL, "place.c", 18));
  ralloc_free (root);
}

static void
test_roots (void)
{
  void *early = ralloc_context (NULL), *first, *second, *third, *below;
  char *said, *expected;

  ralloc_track_roots (true);
  first = ralloc_size (NULL, 11);
  second = ralloc_size (NULL, 22);
  third = ralloc_size (NULL, 33);
  below = ralloc_size (second, 44);
  said = said_of (ralloc_report, NULL);
  expected = g_strdup_printf (
      "node: %zu bytes\nnode: %zu bytes, %zu bytes in 2 nodes\n"
      "  node: %zu bytes\nnode: %zu bytes\n",
      ralloc_usable_size (third), ralloc_usable_size (second),
      ralloc_total_size (second), ralloc_usable_size (below),
      ralloc_usable_size (first));
  g_assert_cmpstr (said, ==, expected);
  g_free (expected);
  g_free (said);
  ralloc_steal (first, second); /* no root any more */
  said = said_of (ralloc_report_json, NULL);
  assert_is_balanced (said);
  g_assert_true (g_str_has_prefix (said, "[{\"kind\": \"node\", \"bytes\": "));
  g_free (said);
  ralloc_free (third);
  ralloc_free (first);
  said = said_of (ralloc_report_json, NULL);
  g_assert_cmpstr (said, ==, "[]\n");
  g_free (said);

  first = ralloc_size (NULL, 11);
  ralloc_track_roots (false);
  said = said_of (ralloc_report, NULL);
  g_assert_cmpstr (said, ==, "");
  g_free (said);
  ralloc_free (first);
  ralloc_free (early);
}

static void
print_info_full (FILE *file, const void *node)
{
  ralloc_print_info (file, node, 0);
}

static void
print_info_short (FILE *file, const void *node)
{
  ralloc_print_info (file, node, RALLOC_PRINT_INFO_SUMMARY_ONLY);
}

static void
test_print_info (void)
{
  void *root = ralloc_size (NULL, 12);
  char *full, *brief, *content;

  ralloc_size (root, 24);
  content = g_strdup_printf ("2 nodes, %zu bytes of content",
                             ralloc_total_size (root));
  full = said_of (print_info_full, root);
  brief = said_of (print_info_short, root);
  assert_says (brief, content);
  assert_says (full, brief);
  g_assert_cmpuint (strlen (full), >, strlen (brief));
  g_free (full);
  g_free (brief);
  g_free (content);
  full = said_of (print_info_full, NULL);
  g_assert_cmpstr (full, ==, "");
  g_free (full);
  ralloc_free (root);
}

/* The name of a node whose library was unloaded. */
static void
test_unloaded (void)
{
  void *root = ralloc_context (NULL), *node = ralloc_size (root, 10);
  size_t page_bytes = (size_t) sysconf (_SC_PAGESIZE);
  char *pages = mmap (NULL, 2 * page_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *text;

  g_assert_true (pages != MAP_FAILED);
  memset (pages, 'n', page_bytes + 3);
  g_assert_true (
      ralloc_set_name_const (node, pages + page_bytes - 4)); /* on both */
  text = said_of (ralloc_report, root);
  assert_says (text, "nnnnnnn: ");
  g_free (text);
  munmap (pages + page_bytes, page_bytes);
  text = said_of (ralloc_report, root);
  assert_says (text, "(unloaded): ");
  g_free (text);
  munmap (pages, page_bytes);
  text = said_of (ralloc_report, root);
  assert_says (text, "(unloaded): ");
  g_free (text);
  ralloc_free (root);
}

/* Something else lies where the name of a node and its file were. */
static void
test_replaced (void)
{
  void *root, *node;
  size_t page_bytes = (size_t) sysconf (_SC_PAGESIZE);
  char *page = mmap (NULL, page_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *text;

  g_assert_true (page != MAP_FAILED);
  test_options ("debug"); /* for the place */
  root = ralloc_context (NULL);
  node = ralloc_size (root, 10);
  strcpy (page, "plug");
  strcpy (page + 100, "plug.c");
  g_assert_true (ralloc_set_name_const (node, page));
  ralloc_mark_place (node, page + 100, 17);
  text = said_of (ralloc_report, root);
  assert_says (text, "plug: 10 bytes, at plug.c:17");
  g_free (text);
  memset (page, 'A', page_bytes);
  page[page_bytes - 1] = '\0';
  text = said_of (ralloc_report, root);
  assert_says (text, "(unloaded): 10 bytes, at (unloaded):17");
  g_assert_null (strstr (text, "AAAA"));
  g_free (text);
  g_assert_cmpint (mprotect (page, page_bytes, PROT_NONE), ==, 0);
  text = said_of (ralloc_report_json, root);
  assert_says (text, "\"name\": \"(unloaded)\"");
  assert_says (text, "\"file\": \"(unloaded)\", \"line\": 17");
  g_free (text);
  ralloc_free (root);
  munmap (page, page_bytes);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/ralloc/report/text", test_text);
  test_add_fresh ("/ralloc/report/json", test_json);
  test_add_fresh ("/ralloc/report/text-bytes", test_text_bytes);
  test_add_fresh ("/ralloc/report/json-bytes", test_json_bytes);
  test_add_fresh ("/ralloc/report/places", test_places);
  test_add_fresh ("/ralloc/report/roots", test_roots);
  test_add_fresh ("/ralloc/report/print-info", test_print_info);
  test_add_fresh ("/ralloc/report/unloaded", test_unloaded);
  test_add_fresh ("/ralloc/report/replaced", test_replaced);
  return g_test_run ();
}
