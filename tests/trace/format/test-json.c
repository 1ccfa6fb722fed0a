/* test-json.c - the reader of JSON: its bounds, and what is no JSON
 *
 * Tests.  Each text ends where the next page can't be read, so that a byte
 * read past its end is found without a sanitizer.  And what is JSON, but not
 * the JSON that is wanted, is shown to those that read it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "make-trace.h"
#include "tools/trace/profile/write/profile-json.h"
#include "tools/trace/common/table.h"
#include "tools/trace/report/report.h"
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
  JsonValue *value;

  memcpy (copy, text, n);
  copy[n] = '\0';
  value = sli_json_parse (copy, error);
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
      JsonValue *value;

      memset (text, '[', n);
      memset (text + n, ']', n);
      value = parse (text, 2 * n);
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
  JsonValue *value;

  g_assert_cmpint (fd, >=, 0);
  g_assert_true (g_file_set_contents (path, "[1]\0[", 5, NULL));
  value = sli_json_load (path, error);
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

/* --- documents that are not as they should be ---------------------------- */

static JsonValue *
patterns_make (void)
{
  static const ProfileOptions options = { .n_hot = 1, .chosen_time = 0 };
  char *path = g_strdup_printf ("%s/slice-json-%d.trace", g_get_tmp_dir (),
                                (int)getpid ());
  Maker *maker = maker_new (path, 7);
  Profile *profile;
  char *text;
  char error[256];
  size_t n;
  FILE *file;
  JsonValue *value;

  for (size_t i = 0; i < n_known_traces; i++)
    if (strcmp (known_traces[i].name, "scoped") == 0)
      known_traces[i].make (maker);
  maker_end (maker);
  profile = sli_profile_new (path, &options);
  file = open_memstream (&text, &n);
  sli_profile_write (profile, file, NULL);
  fclose (file);
  sli_profile_free (profile);
  value = sli_json_parse (text, error);
  g_assert_nonnull (value);
  free (text);
  unlink (path);
  g_free (path);
  return value;
}

static JsonValue *
others_make (void)
{
  static const char text[]
      = "{\"advice\":{\"inputs\":1,\"totals\":{\"allocator_nsec\":9,"
        "\"saved_nsec_low\":1,\"saved_nsec_high\":2},\"sites\":[{\"key\":"
        "\"1\",\"name\":\"f\",\"class\":\"pool\",\"verdict\":\"do\","
        "\"classes\":[\"pool\"],\"where\":\"in f\",\"hint\":\"x\","
        "\"frees_to_rewrite\":[{\"function\":\"g\",\"percent\":3}]}]},"
        "\"replay\":{\"sites\":[{\"key\":\"1\",\"blocks\":[{\"bytes\":1,"
        "\"nsec\":1}]}],\"whole\":[{\"backend\":\"malloc\",\"done\":true,"
        "\"nsec_per_op\":2,\"rss_peak\":9,\"curve\":[1,2]},{\"backend\":"
        "\"slice\",\"done\":true,\"nsec_per_op\":2,\"rss_peak\":7,\"curve\":"
        "[1,2]}]}}";
  JsonValue *value = parse (text, sizeof text - 1);

  g_assert_nonnull (value);
  return value;
}

/* Long arrays take their time, and say no more than short ones. */
typedef struct
{
  JsonValue *value;
  size_t n_items;
} Shortened;

static void
shorten (JsonValue *value, GArray *all)
{
  if (value->type == JSON_ARRAY && value->n_items > 4)
    {
      Shortened one = { value, value->n_items };

      g_array_append_val (all, one);
      value->n_items = 4;
    }
  for (size_t i = 0; i < value->n_items; i++)
    shorten (&value->items[i], all);
}

static Report report;
static FILE *null;
static unsigned n_reports;

static void
reports_write (void)
{
  n_reports++;
  sli_report_text (&report, null);
  sli_report_html (&report, null);
}

/* In the place of a value, one of each other kind. */
static void
spoil (JsonValue *value)
{
  static JsonValue item = { .type = JSON_NUMBER, .number = 1 };
  const JsonValue saved = *value;
  const JsonValue others[] = {
    { .type = JSON_NULL },
    { .type = JSON_NUMBER, .number = -1e300 },
    { .type = JSON_NUMBER, .number = 1e300 },
    { .type = JSON_TEXT, .text = (char *)"<text>" },
    { .type = JSON_ARRAY },
    { .type = JSON_ARRAY, .items = &item, .n_items = 1 },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (others); i++)
    {
      *value = others[i];
      value->key = saved.key;
      reports_write ();
      /* and none of that name */
      value->key = (char *)"";
      if (i == 0)
        reports_write ();
    }
  *value = saved;
}

/* All of an object, the first and the last of an array. */
static void
spoil_all (JsonValue *value)
{
  for (size_t i = 0; i < value->n_items; i++)
    if (value->type == JSON_OBJECT || i == 0 || i + 1 == value->n_items)
      {
        spoil (&value->items[i]);
        spoil_all (&value->items[i]);
      }
}

static void
test_report (gconstpointer which)
{
  JsonValue *patterns = patterns_make (), *others = others_make ();
  GArray *all;

  report = (Report){ patterns, sli_json_get (others, "advice"),
                     sli_json_get (others, "replay"), patterns };
  all = g_array_new (FALSE, FALSE, sizeof (Shortened));
  shorten (patterns, all);
  null = fopen ("/dev/null", "w");
  spoil_all (strcmp (which, "patterns") == 0 ? patterns : others);
  g_assert_cmpuint (n_reports, >, 100);
  fclose (null);
  for (guint i = 0; i < all->len; i++)
    {
      const Shortened *one = &g_array_index (all, Shortened, i);

      one->value->n_items = one->n_items;
    }
  g_array_unref (all);
  sli_json_free (patterns);
  sli_json_free (others);
}

/* --- the table ----------------------------------------------------------- */

#define N_KEYS 3000

/* Keys that collide (they differ in bits that the home does not keep) and 0,
 * added and removed at random, against a plain array. */
static void
test_table (void)
{
  Table table = { 0 };
  uint32_t *values = g_new0 (uint32_t, N_KEYS), n = 0;

  for (guint32 i = 1; i < 60 * N_KEYS; i++)
    {
      guint32 which = g_test_rand_int_range (0, N_KEYS);
      guint64 key = (guint64)which << (which % 3 * 20);

      g_assert_cmpuint (table_get (&table, key), ==, values[which]);
      if (g_test_rand_int_range (0, 3) > 0 || i < N_KEYS)
        {
          guint32 *value = sli_table_add (&table, key);

          g_assert_cmpuint (*value, ==, values[which]);
          n += *value == 0;
          *value = values[which] = i;
        }
      else
        {
          g_assert_cmpuint (sli_table_remove (&table, key), ==,
                            values[which]);
          n -= values[which] != 0;
          values[which] = 0;
        }
      g_assert_cmpuint (table.n, ==, n);
    }
  sli_table_clear (&table);
  g_assert_cmpuint (table_get (&table, 0), ==, 0);
  sli_table_free (&table);
  g_assert_cmpuint (sli_table_remove (&table, 1), ==, 0);
  g_free (values);
}

static void
test_table_text (void)
{
  const char *const names[] = { "", "one", "two", "three" };
  Table table = { 0 };

  for (guint32 round = 0; round < 2; round++)
    for (guint32 i = 0; i < G_N_ELEMENTS (names); i++)
      {
        guint32 *value
            = sli_table_add_text (&table, names[i], names, sizeof *names);

        g_assert_cmpuint (*value, ==, round == 0 ? 0 : i + 1);
        *value = i + 1;
      }
  sli_table_free (&table);
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
  g_test_add_data_func ("/slice/json/report/patterns", "patterns",
                        test_report);
  g_test_add_data_func ("/slice/json/report/others", "others", test_report);
  g_test_add_func ("/slice/table/numbers", test_table);
  g_test_add_func ("/slice/table/texts", test_table_text);
  return g_test_run ();
}
