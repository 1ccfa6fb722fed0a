/* test-json.c - the reader of JSON: its bounds, and what is no JSON
 *
 * Tests.  Each text ends where the next page can't be read, so that a byte
 * read past its end is found without a sanitizer.
 *
 * SPDX-License-Identifier: MIT
 */
#include "slice/tools/json.h"
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *page_end; /* of the last page that can be read */

static void
pages_make (void)
{
  size_t bytes = (size_t)sysconf (_SC_PAGESIZE);
  char *pages = mmap (NULL, 2 * bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_assert_true (pages != MAP_FAILED);
  page_end = pages + bytes;
  g_assert_cmpint (mprotect (page_end, bytes, PROT_NONE), ==, 0);
}

/* The value of the first n bytes; NULL if they are no JSON.  The place that
 * the error names is one of theirs, or their end. */
static JsonValue *
parse (const char *text, size_t n)
{
  char error[256] = "";
  char *copy = page_end - n - 1;
  memcpy (copy, text, n);
  copy[n] = '\0';
  JsonValue *value = sli_json_parse (copy, error);
  if (value == NULL)
    {
      g_assert_true (g_str_has_prefix (error, "at byte "));
      g_assert_cmpuint (g_ascii_strtoull (error + 8, NULL, 10), <=, n);
    }
  return value;
}

static bool
is_json (const char *text)
{
  JsonValue *value = parse (text, strlen (text));
  sli_json_free (value);
  return value != NULL;
}

/* Cut after each byte, and there continued by each byte. */
static void
test_cut (void)
{
  static const char whole[]
      = "{ \"a\\\"\\u00e9\\ud83d\\ude00\\n\" : [ 1, -2.5e3, true, null, "
        "false, { }, [ ] ], \"b\":{\"c\":\"d\\\\\"} }";
  size_t n = sizeof whole - 1;
  char text[sizeof whole + 1];
  g_assert_true (is_json (whole));
  for (size_t cut = 0; cut < n; cut++)
    {
      JsonValue *value = parse (whole, cut);
      g_assert_null (value);
      for (int byte = 1; byte < 256; byte++)
        {
          memcpy (text, whole, cut);
          text[cut] = (char)byte;
          sli_json_free (parse (text, cut + 1));
        }
    }
}

static void
test_refused (void)
{
  static const char *const texts[]
      = { "",        " ",           "{\"\\",       "{\"a\\",
          "{",       "{\"a\"",      "{\"a\":",     "{\"a\":1,",
          "[",       "[1,",         "[1,]",        "{\"a\":1,}",
          "\"",      "\"\\u",       "\"\\u12",     "\"\\u0000\"",
          "\"\\x\"", "\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83d\\u0041\"",
          "tru",     "-",           "-inf",        "inf",
          "nan",     "-nan",        "0x10",        "-0x10",
          "1e999",   "1 2",         "{1:2}",       "{\"a\" 1}",
          "[1 2]",   "]",           "+1",          ".5" };
  for (size_t i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_test_message ("%s", texts[i]);
      g_assert_false (is_json (texts[i]));
    }
}

static void
test_values (void)
{
  static const char text[]
      = "{\"n\":-12.5e1,\"t\":\"a\\u00e9\\u20ac\\ud83d\\ude00\\t\","
        "\"l\":[1,[2]],\"y\":true}";
  JsonValue *value = parse (text, sizeof text - 1);
  g_assert_nonnull (value);
  g_assert_cmpfloat (sli_json_number (value, "n"), ==, -125);
  g_assert_cmpstr (sli_json_string (value, "t"), ==,
                   "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\t");
  g_assert_cmpuint (sli_json_get (value, "l")->n_items, ==, 2);
  g_assert_cmpfloat (sli_json_number (value, "y"), ==, 1);
  g_assert_null (sli_json_get (value, "z"));
  sli_json_free (value);
}

static void
test_deep (void)
{
  for (size_t n = 60; n < 70; n++)
    {
      char text[200];
      memset (text, '[', n);
      memset (text + n, ']', n);
      JsonValue *value = parse (text, 2 * n);
      g_assert_true ((value != NULL) == (n <= 64));
      sli_json_free (value);
    }
}

/* A text that goes on after a zero byte is not the half of it. */
static void
test_file (void)
{
  char error[256], *path;
  int fd = g_file_open_tmp ("slice-json-XXXXXX", &path, NULL);
  g_assert_cmpint (fd, >=, 0);
  g_assert_true (g_file_set_contents (path, "[1]\0[", 5, NULL));
  JsonValue *value = sli_json_load (path, error);
  g_assert_null (value);
  g_assert_cmpstr (error, ==, "at byte 3: a zero byte");
  g_assert_true (g_file_set_contents (path, "[1]\n", 4, NULL));
  value = sli_json_load (path, error);
  g_assert_nonnull (value);
  sli_json_free (value);
  close (fd);
  unlink (path);
  g_free (path);
}

int
main (int argc, char **argv)
{
  pages_make ();
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/json/cut", test_cut);
  g_test_add_func ("/slice/json/refused", test_refused);
  g_test_add_func ("/slice/json/values", test_values);
  g_test_add_func ("/slice/json/deep", test_deep);
  g_test_add_func ("/slice/json/file", test_file);
  return g_test_run ();
}
