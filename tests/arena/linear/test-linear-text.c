/* test-linear-text.c - texts and objects of a linear arena that grow in many
 * steps
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/arena/arena-test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PIECE "0123456789abcdef"

enum
{
  PIECE_BYTES = sizeof PIECE - 1,
  /* From 257 bytes to 64 KB by half as much again, and a few more. */
  MOVES_MAX = 20
};

/* Appends a piece; counts the moves. */
static void
append (SliceLinear *linear, char **text, unsigned *n_moves)
{
  char *before = *text;

  g_assert_true (slice_linear_strcat (linear, text, PIECE));
  *n_moves += *text != before;
}

static void
expect_pieces (const char *text, unsigned n)
{
  g_assert_cmpuint (strlen (text), ==, n * PIECE_BYTES);
  for (unsigned i = 0; i < n; i++)
    g_assert_true (memcmp (text + i * PIECE_BYTES, PIECE, PIECE_BYTES) == 0);
}

static size_t
held_bytes (const SliceLinear *linear)
{
  SliceArenaStats stats;

  slice_linear_get_stats (linear, &stats);
  assert_stats_add_up (&stats);
  g_assert_cmpuint (stats.wasted_bytes, <=, stats.held_bytes);
  return stats.held_bytes;
}

/* A text moves O(log n) times, and holds O(n) bytes at any length. */
static void
test_grows (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *text = NULL;
  unsigned n_moves = 0;

  for (unsigned n = 1; n <= 4000; n++)
    {
      append (linear, &text, &n_moves);
      g_assert_cmpuint (held_bytes (linear), <=,
                        3 * n * PIECE_BYTES + 8192);
    }
  expect_pieces (text, 4000);
  g_assert_cmpuint (n_moves, <=, MOVES_MAX);
  slice_linear_destroy (linear);
}

/* So do two that grow by turns, with other objects between the appends, which
 * get several blocks. */
static void
test_by_turns (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *texts[2] = { NULL, NULL };
  unsigned char *objects[2000];
  unsigned n_moves = 0;

  for (unsigned i = 0; i < 2000; i++)
    {
      append (linear, &texts[0], &n_moves);
      objects[i] = slice_linear_alloc (linear, 40);
      pattern_fill (objects[i], 40, i);
      append (linear, &texts[1], &n_moves);
    }
  expect_pieces (texts[0], 2000);
  expect_pieces (texts[1], 2000);
  for (unsigned i = 0; i < 2000; i++)
    g_assert_true (pattern_holds (objects[i], 40, i));
  /* Up to 256 bytes each append moves a text that is not the last object. */
  g_assert_cmpuint (n_moves, <=, 2 * (MOVES_MAX + 256 / PIECE_BYTES));
  g_assert_cmpuint (held_bytes (linear), <=,
                    3 * (2 * 2000 * PIECE_BYTES + 2000 * (40 + 24)));
  slice_linear_destroy (linear);
}

/* A limit stops a text near half of it, as the old and the new one must fit
 * while it moves. */
static void
test_limit (void)
{
  SliceArenaOptions options = { .limit_bytes = 65536 };
  SliceLinear *linear = slice_linear_new (&options);
  char *text = NULL;
  unsigned n = 0;

  while (slice_linear_strcat (linear, &text, "x"))
    n++;
  g_assert_cmpint (errno, ==, ENOMEM);
  g_assert_cmpuint (strlen (text), ==, n);
  g_assert_cmpuint (n, >=, 65536 / 5 * 2);
  g_assert_cmpuint (held_bytes (linear), <=, 65536);
  slice_linear_destroy (linear);
}

/* The suffix may be in the string, which moves. */
static void
test_itself (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *text = slice_linear_strdup (linear, "ab");

  errno = 0;
  for (unsigned length = 2; length < 100000; length *= 2)
    {
      g_assert_true (slice_linear_strcat (linear, &text, text));
      g_assert_true (slice_linear_strcat (linear, &text, text + 2 * length));
      g_assert_cmpuint (strlen (text), ==, 2 * length);
      for (unsigned i = 0; i < 2 * length; i++)
        g_assert_cmpint (text[i], ==, "ab"[i % 2]);
    }
  g_assert_cmpint (errno, ==, 0);
  g_assert_true (slice_linear_strcat (linear, &text, text + strlen (text) - 1));
  g_assert_cmpint (text[strlen (text) - 2], ==, 'b');
  slice_linear_destroy (linear);
}

/* A text that is older than the newest mark is copied, and a rollback brings
 * it back as it was. */
static void
test_marks (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *text = NULL;
  unsigned n_moves = 0;
  char *old;
  SliceMark mark;
  size_t held;

  for (unsigned i = 0; i < 500; i++)
    append (linear, &text, &n_moves);
  old = text;
  mark = slice_linear_mark (linear);
  held = held_bytes (linear);
  for (unsigned round = 0; round < 20; round++)
    {
      n_moves = 0;
      text = old;
      for (unsigned i = 0; i < 1000; i++)
        append (linear, &text, &n_moves);
      g_assert_true (text != old);
      g_assert_cmpuint (n_moves, <=, MOVES_MAX);
      expect_pieces (text, 1500);
      slice_linear_rollback (linear, mark);
      expect_pieces (old, 500);
    }
  /* What the rollbacks have kept is used again. */
  g_assert_cmpuint (held_bytes (linear), <=,
                    held + 6 * 1500 * PIECE_BYTES);
  slice_linear_destroy (linear);
}

/* An object with a block of its own grows in that block, and returns it when it
 * moves, though others were added since. */
static void
test_resize (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  unsigned char *objects[1250];
  size_t size = 1000;
  unsigned n_moves = 0;
  char *object = slice_linear_alloc (linear, size);

  pattern_fill (object, size, 7);
  for (unsigned i = 0; i < 1250; i++, size += 80)
    {
      char *moved;

      objects[i] = slice_linear_alloc (linear, 8);
      pattern_fill (objects[i], 8, i);
      moved = slice_linear_resize (linear, object, size, size + 80);
      g_assert_true (pattern_holds (moved, 1000, 7));
      memset (moved + size, 1, 80);
      n_moves += moved != object;
      object = moved;
    }
  for (unsigned i = 0; i < 1250; i++)
    g_assert_true (pattern_holds (objects[i], 8, i));
  g_assert_cmpuint (held_bytes (linear), <=, 2 * (size + 1250 * 24));
  g_assert_cmpuint (n_moves, <=, 1000 / 16 + size / 4096 + MOVES_MAX);
  slice_linear_destroy (linear);
}

/* The sizes of strings are those of their texts: what the program allocated and
 * cut does not count twice. */
static void
test_cut (void)
{
  SliceLinear *linear = slice_linear_new (NULL);

  for (unsigned i = 0; i < 10; i++)
    {
      char *text = slice_linear_alloc (linear, 20000);

      memset (text, 'x', 19000);
      text[300] = '\0';
      for (unsigned k = 0; k < 20; k++)
        {
          text[300] = '\0';
          for (unsigned n = 0; n < 100; n++)
            g_assert_true (slice_linear_strcat (linear, &text, PIECE));
          held_bytes (linear);
        }
      g_assert_cmpuint (strlen (text), ==, 300 + 100 * PIECE_BYTES);
      slice_linear_free_last (linear, text, strlen (text) + 1);
    }
  held_bytes (linear);
  slice_linear_destroy (linear);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/linear-text/grows", test_grows);
  g_test_add_func ("/slice/linear-text/by-turns", test_by_turns);
  g_test_add_func ("/slice/linear-text/limit", test_limit);
  g_test_add_func ("/slice/linear-text/itself", test_itself);
  g_test_add_func ("/slice/linear-text/marks", test_marks);
  g_test_add_func ("/slice/linear-text/resize", test_resize);
  g_test_add_func ("/slice/linear-text/cut", test_cut);
  return g_test_run ();
}
