/* test-ralloc-string.c - strings that are nodes, against the C library
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

enum
{
  N_FORMATS = 100000
};

/* A random piece of a format, and the same through snprintf. */
static void
random_text (Random *random, char *to, size_t to_bytes)
{
  static const char letters[] = "abc XYZ%d.,";
  size_t n = random_below (random, 8) == 0 ? random_below (random, to_bytes)
                                           : random_below (random, 12);
  size_t i;

  for (i = 0; i + 1 < n; i++)
    to[i] = letters[random_below (random, sizeof letters - 1)];
  to[i] = '\0';
}

/* Formats of all lengths around the buffer on the stack, in both families. */
static void
test_formats (void)
{
  static const char *const formats[]
      = { "%s", "[%s]%d", "%5d|%s", "%s%s", "%.3f %s", "%x:%s", "%%%s%c" };
  Random random = { 42 };
  void *root = ralloc_context (NULL);
  void *linear = ralloc_linear_context (root);
  char text[700];
  char expected[2000];

  for (unsigned i = 0; i < N_FORMATS; i++)
    {
      unsigned which = (unsigned) random_below (&random,
                                                G_N_ELEMENTS (formats));
      int number = (int) random_below (&random, 100000) - 50000;
      char *ours = NULL;
      char *theirs = NULL;
      int length = 0;

      random_text (&random, text, sizeof text);
#define FORMAT(...)                                                           \
  length = snprintf (expected, sizeof expected, formats[which], __VA_ARGS__); \
  ours = ralloc_asprintf (root, formats[which], __VA_ARGS__);                 \
  theirs = ralloc_linear_asprintf (linear, formats[which], __VA_ARGS__)
      G_GNUC_BEGIN_IGNORE_DEPRECATIONS
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-truncation"
      switch (which)
        {
        case 0:
          FORMAT (text);
          break;
        case 1:
          FORMAT (text, number);
          break;
        case 2:
          FORMAT (number, text);
          break;
        case 3:
          FORMAT (text, text);
          break;
        case 4:
          FORMAT (number / 7.0, text);
          break;
        case 5:
          FORMAT ((unsigned) number, text);
          break;
        default:
          FORMAT (text, 'x');
          break;
        }
#pragma GCC diagnostic pop
      G_GNUC_END_IGNORE_DEPRECATIONS
      g_assert_cmpint (length, <, (int) sizeof expected);
      g_assert_cmpstr (ours, ==, expected);
      g_assert_cmpstr (theirs, ==, expected);
      if (i % 64 == 0)
        {
          ralloc_free_children (root);
          linear = ralloc_linear_context (root);
        }
    }
  ralloc_free (root);
}

/* Every call that appends, against one buffer kept by hand. */
static void
test_appends (void)
{
  Random random = { 7 };

  for (unsigned round = 0; round < 300; round++)
    {
      void *root = ralloc_context (NULL);
      void *linear = ralloc_linear_context (root);
      char *ours = ralloc_strdup (root, "");
      char *theirs = ralloc_linear_strdup (linear, "");
      GString *expected = g_string_new (NULL);
      char text[600];

      for (unsigned step = 0; step < 40; step++)
        {
          size_t start;

          random_text (&random, text, sizeof text);
          switch (random_below (&random, 6))
            {
            case 0:
              g_assert_true (ralloc_strcat (&ours, text));
              g_assert_true (ralloc_linear_strcat (linear, &theirs, text));
              g_string_append (expected, text);
              break;
            case 1:
              g_assert_true (ralloc_strncat (&ours, text, 5));
              text[strlen (text) < 5 ? strlen (text) : 5] = '\0';
              g_assert_true (ralloc_linear_strcat (linear, &theirs, text));
              g_string_append (expected, text);
              break;
            case 2:
              g_assert_true (ralloc_str_append (&ours, text, expected->len,
                                                strlen (text)));
              g_assert_true (ralloc_linear_strcat (linear, &theirs, text));
              g_string_append (expected, text);
              break;
            case 3:
              g_assert_true (ralloc_asprintf_append (&ours, "<%s>", text));
              g_assert_true (ralloc_linear_asprintf_append (linear, &theirs,
                                                            "<%s>", text));
              g_string_append_printf (expected, "<%s>", text);
              break;
            case 4:
              /* From the start, the middle or the end. */
              start = random_below (&random, 3) * expected->len / 2;
              g_string_truncate (expected, start);
              g_string_append_printf (expected, "%s!", text);
              {
                size_t from = start;

                g_assert_true (ralloc_asprintf_rewrite_tail (&ours, &from,
                                                             "%s!", text));
                g_assert_cmpuint (from, ==, expected->len);
                from = start;
                g_assert_true (ralloc_linear_asprintf_rewrite_tail (
                    linear, &theirs, &from, "%s!", text));
                g_assert_cmpuint (from, ==, expected->len);
              }
              break;
            default:
              /* Something else between, so that nothing is the last. */
              ralloc_size (root, 30);
              ralloc_linear_alloc_child (linear, 30);
            }
          g_assert_cmpstr (ours, ==, expected->str);
          g_assert_cmpstr (theirs, ==, expected->str);
          g_assert_true (ralloc_parent (ours) == root);
        }
      g_string_free (expected, TRUE);
      ralloc_free (root);
    }
}

/* A million single characters: O(log n) moves. */
static void
test_growth (void)
{
  enum { N = 1000000 };
  char *text = ralloc_strdup (NULL, "");
  char *before = text;
  size_t length = 0;
  unsigned n_moves = 0;
  size_t n = is_annotated () ? 2000 : N;

  for (; length < n; length++)
    {
      g_assert_true (ralloc_str_append (&text, "x", length, 1));
      n_moves += text != before;
      before = text;
    }
  g_assert_cmpuint (strlen (text), ==, n);
  if (!is_annotated ())
    g_assert_cmpuint (n_moves, <=, 64);
  g_test_message ("%u moves", n_moves);
  ralloc_free (text);
}

static void
test_own_text (void)
{
  char *text = ralloc_strdup (NULL, "abc");

  for (unsigned i = 0; i < 10; i++)
    g_assert_true (ralloc_strcat (&text, text));
  g_assert_cmpuint (strlen (text), ==, 3 * 1024);
  g_assert_true (g_str_has_prefix (text, "abcabcabc"));
  g_assert_true (ralloc_strcat (&text, text + 3 * 1024 - 2));
  g_assert_true (g_str_has_suffix (text, "abcbc"));
  ralloc_free (text);
}

/* A text that is made of the string it is appended to, long enough to be too
 * much for the buffer on the stack, moved and in place. */
static void
test_own_format (void)
{
  void *root = ralloc_context (NULL);
  const RallocLinearOpts options = { .min_buffer_size = 100000 };
  RallocLinear *linear = ralloc_linear_context_with_opts (root, &options);
  char *text = ralloc_strdup (root, "abc");
  char *other = ralloc_linear_strdup (linear, "abc");

  for (unsigned i = 0; i < 6; i++)
    {
      char *expected
          = g_strdup_printf ("%s%s|%s|%s", text, text, text, text);

      g_assert_true (
          ralloc_asprintf_append (&text, "%s|%s|%s", text, text, text));
      g_assert_cmpstr (text, ==, expected);
      g_assert_true (
          ralloc_linear_asprintf_append (linear, &other, "%s|%s|%s", other,
                                         other, other));
      g_assert_cmpstr (other, ==, expected);
      g_free (expected);
      text = reralloc_size (root, text, 5 * strlen (text));
    }
  ralloc_free (root);
}

static void
test_copies (void)
{
  void *root = ralloc_context (NULL);
  char *text;

  g_assert_cmpstr (ralloc_strdup (root, "hello"), ==, "hello");
  g_assert_cmpstr (ralloc_strndup (root, "hello", 3), ==, "hel");
  g_assert_cmpstr (ralloc_strndup (root, "hello", 99), ==, "hello");
  g_assert_cmpstr (ralloc_strndup (root, "hello", 0), ==, "");
  text = ralloc_memdup (root, "a\0b", 3);
  g_assert_cmpint (memcmp (text, "a\0b", 3), ==, 0);
  ralloc_free (root);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/ralloc-string/formats", test_formats);
  g_test_add_func ("/slice/ralloc-string/appends", test_appends);
  g_test_add_func ("/slice/ralloc-string/growth", test_growth);
  g_test_add_func ("/slice/ralloc-string/own-text", test_own_text);
  g_test_add_func ("/slice/ralloc-string/own-format", test_own_format);
  g_test_add_func ("/slice/ralloc-string/copies", test_copies);
  return g_test_run ();
}
