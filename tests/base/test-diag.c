/* test-diag.c - slice/base/diag.c and check.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "tests/misuse-texts.h"
#include "base/check.h"
#include "base/diag.h"

#include <limits.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#define CHECK_FORMAT(expected, ...)                                           \
  do                                                                          \
    {                                                                         \
      char text[64];                                                          \
      size_t length = sli_diag_format (text, sizeof text, __VA_ARGS__);       \
      g_assert_cmpstr (text, ==, expected);                                   \
      g_assert_cmpuint (length, ==, strlen (expected));                       \
    }                                                                         \
  while (0)

static void
test_format (void)
{
  CHECK_FORMAT ("plain", "plain");
  CHECK_FORMAT ("a word", "a %s", "word");
  CHECK_FORMAT ("0 4294967295", "%u %u", 0u, UINT_MAX);
  CHECK_FORMAT ("-1 0 2147483647 -2147483648", "%d %d %d %d", -1, 0, INT_MAX,
                INT_MIN);
  CHECK_FORMAT (sizeof (size_t) > 4 ? "18446744073709551615" : "4294967295",
                "%zu", SIZE_MAX);
  CHECK_FORMAT ("18446744073709551615", "%llu", ULLONG_MAX);
  CHECK_FORMAT ("0xdeadbeef", "%p", (void *) (uintptr_t) 0xdeadbeef);
  CHECK_FORMAT ("0x0", "%p", NULL);
  CHECK_FORMAT ("0x40", "%a", &(CodePlace){ (void *) (uintptr_t) 0x40, NULL });
  CHECK_FORMAT ("/a/b.so+0x30", "%a",
                &(CodePlace){ (void *) (uintptr_t) 0x40,
                              &(OsModule){ "/a/b.so", 0x10 } });
  CHECK_FORMAT ("100%", "100%%");
  CHECK_FORMAT ("end%", "end%");
}

static void
test_format_cuts (void)
{
  char text[8] = "-------";

  g_assert_cmpuint (sli_diag_format (text, 4, "abcdef"), ==, 3);
  g_assert_cmpstr (text, ==, "abc");
  g_assert_cmpint (text[4], ==, '-');
  g_assert_cmpuint (sli_diag_format (text, 4, "%u", 123456u), ==, 3);
  g_assert_cmpstr (text, ==, "123");
  g_assert_cmpuint (sli_diag_format (text, 1, "x"), ==, 0);
  g_assert_cmpstr (text, ==, "");
  g_assert_cmpuint (sli_diag_format (text, 0, "x"), ==, 0);
}

static void
warn_once (void)
{
  sli_diag_warn (130, "about %s and %zu", "this", (size_t) 7);
}

static void
warn_at_length (void)
{
  char long_word[2000];

  memset (long_word, 'x', sizeof long_word - 1);
  long_word[sizeof long_word - 1] = '\0';
  sli_diag_warn (131, "%s", long_word);
}

static void
test_warn (void)
{
  char *said = test_said_by (warn_once);

  g_assert_cmpstr (said, ==, "slice: warning 130: about this and 7\n");
  g_free (said);
}

/* What is too long is cut, and still one line. */
static void
test_warn_cuts (void)
{
  char *said = test_said_by (warn_at_length);

  g_assert_true (g_str_has_prefix (said, "slice: warning 131: xxxx"));
  g_assert_true (g_str_has_suffix (said, "xxx\n"));
  g_assert_cmpuint (strlen (said), <=, 1500);
  g_assert_true (strchr (said, '\n') == said + strlen (said) - 1);
  g_free (said);
}

static void
death_plain (void)
{
  test_will_die ("slice: error 120: out of 3");
  sli_diag_abort (120, "out of %u", 3u);
}

static void
death_misuse (void)
{
  test_will_die ("slice: error 103: slice_free1: block freed with a wrong "
                 "size: block 0x1234, given size 40, real size 48 "
                 "[class 40, thread %u]",
                 test_thread_id ());
  sli_diag_misuse (ERROR_WRONG_SIZE, "slice_free1",
                   &(BlockFacts){ .address = (void *) (uintptr_t) 0x1234,
                                  .given_bytes = 40,
                                  .real_bytes = 48 });
}

/* The file alone, not where it was compiled. */
static void
death_require (void)
{
  test_will_die ("slice: error 140: %s:%d: does not hold: 1 + 1 == 3",
                 THIS_FILE, __LINE__ + 1);
  require (1 + 1 == 3);
}

static void
death_size_unknown (void)
{
  test_will_die ("slice: error 105: slice_free_bulk: block is free already: "
                 "block 0x1234, given size unknown, real size 48 "
                 "[class 48, thread %u]",
                 test_thread_id ());
  sli_diag_misuse (ERROR_ALREADY_FREE, "slice_free_bulk",
                   &(BlockFacts){ .address = (void *) (uintptr_t) 0x1234,
                                  .given_bytes = DIAG_SIZE_UNKNOWN,
                                  .real_bytes = 48 });
}

/* All that can be known of a block, in this order. */
static void
death_facts (void)
{
  static const char bytes[] = { 5, 5, 5, 7, 8 };

  test_will_die ("slice: error 113: slice_free1: written to behind its end: "
                 "block 0x%zx, given size 41, real size 40, at byte 3: 7 8 0 0"
                 " (was 5), a word, allocated at 0xf by thread 1, freed at "
                 "0x1f by thread 2 [class 48, thread %u]",
                 (size_t) (uintptr_t) bytes, test_thread_id ());
  sli_diag_misuse (ERROR_OVERRUN, "slice_free1",
                   &(BlockFacts){ .address = bytes,
                                  .given_bytes = 41,
                                  .real_bytes = 40,
                                  .words = "a word",
                                  .wrong = bytes,
                                  .n_wrong = sizeof bytes,
                                  .expected = 5,
                                  .sites = { { (void *) (uintptr_t) 0x10,
                                               NULL },
                                             { (void *) (uintptr_t) 0x20,
                                               NULL },
                                             1,
                                             2 } });
}

/* The first byte may be the one that is wrong, and the only one. */
static void
death_first_byte (void)
{
  static const char bytes[] = { 7, 5, 5, 5 };

  test_will_die ("slice: error 113: slice_free1: written to behind its end: "
                 "block 0x%zx, given size 40, at byte 0: 7 5 5 5 (was 5) "
                 "[class 40, thread %u]",
                 (size_t) (uintptr_t) bytes, test_thread_id ());
  sli_diag_misuse (ERROR_OVERRUN, "slice_free1",
                   &(BlockFacts){ .address = bytes,
                                  .given_bytes = 40,
                                  .wrong = bytes,
                                  .n_wrong = sizeof bytes,
                                  .expected = 5 });
}

/* Where no block is at fault none is named. */
static void
death_no_block (void)
{
  test_will_die ("slice: error 116: slice: called again before a call had "
                 "ended (in a signal handler?) [thread %u]",
                 test_thread_id ());
  sli_diag_misuse (ERROR_REENTERED, "slice", NULL);
}

static jmp_buf away;
static int last_number;
static char last_line[512];

static void
on_message (int number, const char *line)
{
  last_number = number;
  g_strlcpy (last_line, line, sizeof last_line);
  longjmp (away, 1);
}

/* Each number has its text; a hook may jump away from the end. */
static void
test_misuse_texts (void)
{
  sli_diag_set_hook (on_message);
  for (volatile size_t i = 0; i < G_N_ELEMENTS (misuse_texts); i++)
    {
      char *expected = g_strdup_printf (
          "slice: error %d: call: %s: block 0x10, given size 8 "
          "[class 8, thread %u]",
          misuse_texts[i].number, misuse_texts[i].text, test_thread_id ());

      if (setjmp (away) == 0)
        sli_diag_misuse ((ErrorNumber) misuse_texts[i].number, "call",
                         &(BlockFacts){ .address = (void *) (uintptr_t) 16,
                                        .given_bytes = 8 });
      g_assert_cmpint (last_number, ==, misuse_texts[i].number);
      g_assert_cmpstr (last_line, ==, expected);
      g_free (expected);
    }
  sli_diag_set_hook (NULL);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/diag/format", test_format);
  test_add ("/slice/diag/format-cuts", test_format_cuts);
  test_add ("/slice/diag/warn", test_warn);
  test_add ("/slice/diag/warn-cuts", test_warn_cuts);
  test_add_death ("/slice/diag/die", death_plain);
  test_add_death ("/slice/diag/misuse", death_misuse);
  test_add_death ("/slice/diag/size-unknown", death_size_unknown);
  test_add_death ("/slice/diag/facts", death_facts);
  test_add_death ("/slice/diag/first-byte", death_first_byte);
  test_add_death ("/slice/diag/no-block", death_no_block);
  test_add_death ("/slice/diag/require", death_require);
  test_add ("/slice/diag/misuse-texts", test_misuse_texts);
  return g_test_run ();
}
