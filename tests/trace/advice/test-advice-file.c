/* test-advice-file.c - unit tests of slice/dropin/advice/sites/advice-file.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "dropin/advice/advice.h"

#include <glib.h>
#include <string.h>

static Advice advice;

/* Parses a text, of which nothing is terminated by NUL. */
static bool
parse (const char *text, AdviceError *error)
{
  size_t n = strlen (text);
  char *copy = g_memdup2 (text, n);
  bool good;

  memset (&advice, 0, sizeof advice);
  good = sli_advice_parse (&advice, copy, n, error);
  /* names point into the text: compare them before the copy goes */
  if (good && advice.n_sites > 0)
    g_assert_cmpmem (advice.sites[0].name, advice.sites[0].n_name, "a < b", 5);
  g_free (copy);
  return good;
}

#define HEAD "slice-advice 1\n"
#define MODULE HEAD "module 00ff1a prog with space\n"
#define SITE MODULE "site linear pin 4096 blocks 12 a < b\n"
#define PATH SITE "path\nframe 0 0x10 0 xmalloc (x)\n"

static void
test_whole (void)
{
  AdviceError error;

  g_assert_true (parse ("slice-advice 1\n# program\n\n"
                        "module 00ff1a prog\nmodule ab lib.so\n"
                        "site linear pin 4096 blocks 12 a < b\n"
                        "path\nframe 0 0x10 0 xmalloc\nframe 1 20 48 caller\n"
                        "path\nframe 0 0x10 0 xmalloc\nframe 0 0x30 48 other\n"
                        "site slice pin 0 blocks 0 c\n"
                        "path\nframe 1 0xffffffffffffffff 0 far",
                        &error));
  g_assert_null (error.message);
  g_assert_cmpuint (advice.n_modules, ==, 2);
  g_assert_cmpuint (advice.modules[0].n_id, ==, 3);
  g_assert_cmpmem (advice.modules[0].id, 3, "\0\xff\x1a", 3);
  g_assert_cmpuint (advice.n_sites, ==, 2);
  g_assert_cmpuint (advice.sites[0].kind, ==, ADVICE_LINEAR);
  g_assert_cmpuint (advice.sites[0].pin_bytes, ==, 4096);
  g_assert_cmpuint (advice.sites[0].n_expected, ==, 12);
  g_assert_cmpuint (advice.sites[1].kind, ==, ADVICE_SLICE);
  /* the root, xmalloc once, its two callers, and far */
  g_assert_cmpuint (advice.n_nodes, ==, 5);
  g_assert_cmpuint (advice.nodes[1].outer_at, ==, 48);
  g_assert_cmpuint (advice.nodes[1].site, ==, 0);
  g_assert_cmpuint (advice.nodes[2].parent, ==, 1);
  g_assert_cmpuint (advice.nodes[2].module, ==, 1);
  g_assert_cmpuint (advice.nodes[2].offset, ==, 20);
  g_assert_cmpuint (advice.nodes[2].site, ==, 1);
  g_assert_cmpuint (advice.nodes[3].site, ==, 1);
  g_assert_cmpuint (advice.nodes[4].offset, ==, UINT64_MAX);
  g_assert_cmpuint (advice.nodes[4].site, ==, 2);
}

static const struct
{
  const char *text, *message;
  unsigned line;
} wrongs[] = {
  { "", "not an advice file of version 1", 0 },
  { "slice-advice 11\n", "not an advice file of version 1", 1 },
  { HEAD "x\n", "a line of no known kind", 2 },
  { HEAD "module xy p\n", "this is no build id", 2 },
  { HEAD "module abc p\n", "this is no build id", 2 },
  { HEAD "module ab\n", "the module has no name", 2 },
  { HEAD "site heap\n", "no such kind of allocator", 2 },
  { HEAD "site linear blocks 1\n", "a word is missing or unknown", 2 },
  { HEAD "site linear pin\n", "a number is missing", 2 },
  { HEAD "site linear pin 1x\n", "this is no number", 2 },
  { HEAD "site linear pin 18446744073709551616 x\n", "this is no number", 2 },
  { HEAD "path\n", "a path without a site", 2 },
  { SITE "frame 0 0 0\n", "a frame without a path", 4 },
  { SITE "path\nsite linear pin 1 blocks 1 a\n", "a path without frames", 5 },
  { SITE "path\n", "a path without frames", 4 },
  { SITE "path\nframe 1 0 0 f\n", "no such module", 5 },
  { SITE "path\nframe 0 0 8 f\n", "this is no place in the stack", 5 },
  { PATH "frame 0 0 0 f\n", "this is no place in the stack", 6 },
  { PATH "frame 0 0 7 f\n", "this is no place in the stack", 6 },
  { PATH "frame 0 0 99999999 f\n", "this is no place in the stack", 6 },
  { PATH "frame 0 1 8 f\npath\nframe 0 0x10 0 x\nframe 0 1 16 f\n",
    "another place than in an earlier path", 9 },
  { PATH "path\nframe 0 0x10 0 x\n",
    "the path before is that of an earlier site, too", 7 },
};

static void
test_wrong (void)
{
  for (size_t i = 0; i < G_N_ELEMENTS (wrongs); i++)
    {
      AdviceError error;

      g_assert_false (parse (wrongs[i].text, &error));
      g_assert_cmpstr (error.message, ==, wrongs[i].message);
      g_assert_cmpuint (error.line, ==, wrongs[i].line);
    }
}

/* Every beginning of a good text is read or refused, and so is every text with
 * one byte that is another; under a memory checker, nothing beyond is. */
static void
test_damaged (void)
{
  static const char text[] = PATH "frame 0 0x20 16 f\n";
  AdviceError error;
  char changed[sizeof text];

  for (size_t n = 0; n < sizeof text; n++)
    {
      char *copy = g_memdup2 (text, n);

      memset (&advice, 0, sizeof advice);
      g_assert_true (sli_advice_parse (&advice, copy, n, &error)
                     == (error.message == NULL));
      g_free (copy);
    }
  for (size_t i = 0; i + 1 < sizeof text; i++)
    for (unsigned c = 0; c < 256; c += 5)
      {
        memcpy (changed, text, sizeof text);
        changed[i] = (char) c;
        memset (&advice, 0, sizeof advice);
        sli_advice_parse (&advice, changed, sizeof text - 1, &error);
        g_assert_cmpuint (advice.n_nodes, <=, 3);
      }
}

static void
test_limits (void)
{
  GString *text = g_string_new (HEAD);
  AdviceError error;

  for (unsigned i = 0; i <= ADVICE_MODULES_MAX; i++)
    g_string_append (text, "module ab x\n");
  g_assert_false (parse (text->str, &error));
  g_assert_cmpstr (error.message, ==, "too many modules");
  g_string_assign (text, HEAD "module ab x\n");
  for (unsigned i = 0; i <= ADVICE_SITES_MAX; i++)
    g_string_append (text, "site linear pin 1 blocks 1 a < b\n");
  g_assert_false (parse (text->str, &error));
  g_assert_cmpstr (error.message, ==, "too many sites");
  g_string_assign (text, SITE);
  for (unsigned i = 0; i <= ADVICE_NODES_MAX; i++)
    g_string_append_printf (text, "path\nframe 0 %u 0 f\n", i);
  g_assert_false (parse (text->str, &error));
  g_assert_cmpstr (error.message, ==, "too many frames");
  g_string_free (text, TRUE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/advice-file/whole", test_whole);
  g_test_add_func ("/slice/advice-file/wrong", test_wrong);
  g_test_add_func ("/slice/advice-file/damaged", test_damaged);
  g_test_add_func ("/slice/advice-file/limits", test_limits);
  return g_test_run ();
}
