/* test-ralloc-linear.c - linear contexts, both styles
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

#include <errno.h>

static void
test_basic (void)
{
  void *root = ralloc_context (NULL);
  RallocLinear *linear = ralloc_linear_context (root);
  unsigned char *objects[3000];

  g_assert_true (ralloc_parent_of_linear_context (linear) == root);
  for (unsigned i = 0; i < G_N_ELEMENTS (objects); i++)
    {
      objects[i] = ralloc_linear_alloc_child (linear, i);
      g_assert_cmpuint ((uintptr_t) objects[i] % 8, ==, 0);
      memset (objects[i], (int) i, i);
    }
  for (unsigned i = 0; i < G_N_ELEMENTS (objects); i++)
    for (unsigned k = 0; k < i; k++)
      g_assert_cmpuint (objects[i][k], ==, i & 0xff);
  for (unsigned i = 0; i < 300; i++)
    {
      objects[i] = ralloc_linear_zalloc_child (linear, i);
      for (unsigned k = 0; k < i; k++)
        g_assert_cmpuint (objects[i][k], ==, 0);
    }
  g_assert_cmpuint (ralloc_total_size (linear), >=, 3000u * 2999 / 2);
  ralloc_free (linear);
  g_assert_cmpuint (ralloc_total_nodes (root), ==, 1);
  ralloc_free (root);
}

/* gcc 14 warns of a size that it knows to be 0. */
static volatile size_t no_bytes;

/* Objects of no bytes: some need a new buffer. */
static void
test_nothing (void)
{
  void *root = ralloc_context (NULL);
  RallocLinear *linear = ralloc_linear_context (root);
  char *handle = ralloc_linear_alloc_parent (root, no_bytes);

  g_assert_true (ralloc_linear_alloc_child (handle, 10) != handle);
  for (unsigned i = 0; i < 20000; i++)
    {
      char *object = ralloc_linear_alloc_child (linear, no_bytes);
      size_t size = i % 50;

      object = ralloc_linear_realloc (linear, object, size);
      g_assert_nonnull (object);
      memset (object, 1, size);
      g_assert_nonnull (ralloc_linear_alloc_child (linear, 8));
    }
  ralloc_free (root);
}

static size_t nothing; /* in sight of the compiler it would warn */

static void *
nothing_alloc (RallocLinear *linear)
{
  return ralloc_linear_alloc_child (linear, nothing);
}

static void *
nothing_zalloc (RallocLinear *linear)
{
  return ralloc_linear_zalloc_child (linear, nothing);
}

static void *
nothing_array (RallocLinear *linear)
{
  return ralloc_linear_alloc_child_array (linear, 8, nothing);
}

static void *
nothing_zarray (RallocLinear *linear)
{
  return ralloc_linear_zalloc_child_array (linear, 8, nothing);
}

static void *
nothing_memdup (RallocLinear *linear)
{
  return ralloc_linear_memdup (linear, "", nothing);
}

static void *
nothing_realloc (RallocLinear *linear)
{
  return ralloc_linear_realloc (linear, NULL, nothing);
}

static void *
nothing_shrunk (RallocLinear *linear)
{
  void *object = ralloc_linear_alloc_child (linear, 40);

  return ralloc_linear_realloc (linear, object, nothing);
}

static void *
nothing_shrunk_twice (RallocLinear *linear)
{
  return ralloc_linear_realloc (linear, nothing_shrunk (linear), nothing);
}

static void *
nothing_copied (RallocLinear *linear)
{
  void *object = ralloc_linear_alloc_child (linear, 40);

  ralloc_linear_alloc_child (linear, 8);
  return ralloc_linear_realloc (linear, object, nothing);
}

static void *(*const ways_to_nothing[]) (RallocLinear *)
    = { nothing_alloc,  nothing_zalloc,  nothing_array,
        nothing_zarray, nothing_memdup,  nothing_realloc,
        nothing_shrunk, nothing_shrunk_twice, nothing_copied };

/* An object of no bytes, made in each way and at each distance from the
 * buffer's end, has an address of its own: to grow it leaves the next object
 * as it was. */
static void
check_nothing_next (RallocLinear *linear, void *(*make) (RallocLinear *))
{
  for (unsigned i = 0; i < 300; i++)
    {
      char *empty = make (linear);
      char *name = ralloc_linear_strdup (linear, "the name");
      char *items;

      g_assert_nonnull (empty);
      g_assert_true (empty != name);
      items = ralloc_linear_realloc (linear, empty, 24);
      g_assert_true (items != name);
      memset (items, 0x5a, 24);
      g_assert_cmpstr (name, ==, "the name");
      g_assert_true (make (linear) != make (linear));
    }
}

static void
test_nothing_next (void)
{
  for (unsigned i = 0; i < G_N_ELEMENTS (ways_to_nothing); i++)
    {
      RallocLinear *linear = ralloc_linear_context (NULL);
      void *old = ralloc_linear_alloc_parent (linear, nothing);

      check_nothing_next (linear, ways_to_nothing[i]);
      check_nothing_next (old, ways_to_nothing[i]);
      ralloc_free (linear);
    }
}

/* The string functions give an empty string its NUL's room, and a string grows
 * only in its own memory. */
static void
test_nothing_string (void)
{
  RallocLinear *linear = ralloc_linear_context (NULL);
  char *empty = ralloc_linear_strdup (linear, "");
  char *name = ralloc_linear_strdup (linear, "the name");

  g_assert_true (ralloc_linear_strcat (linear, &empty, "overwritten"));
  g_assert_cmpstr (name, ==, "the name");
  g_assert_cmpstr (empty, ==, "overwritten");
  ralloc_free (linear);
}

/* The context is a node like any other. */
static void
test_is_a_node (void)
{
  void *one = ralloc_context (NULL);
  void *two = ralloc_context (NULL);
  RallocLinear *linear = ralloc_linear_context (one);
  char *object = ralloc_linear_strdup (linear, "kept");
  void *child = ralloc_size (linear, 10);

  for (unsigned i = 0; i < 1000; i++)
    ralloc_linear_alloc_child (linear, 100);
  ralloc_steal_linear_context (two, linear);
  g_assert_true (ralloc_parent (linear) == two);
  g_assert_true (ralloc_parent (child) == linear);
  ralloc_free (one);
  g_assert_cmpstr (object, ==, "kept");
  ralloc_set_name_const (linear, "arena");
  g_assert_cmpstr (ralloc_get_name (linear), ==, "arena");
  ralloc_linear_free_context (linear);
  ralloc_free (two);
  linear = ralloc_linear_context (NULL);
  g_assert_null (ralloc_parent_of_linear_context (linear));
  ralloc_linear_alloc_child (linear, 5000);
  ralloc_free (linear);
}

static void
test_old_style (void)
{
  void *root = ralloc_context (NULL);

  for (size_t size = 0; size < 10000; size += 1 + size / 3)
    {
      unsigned char *parent = ralloc_linear_alloc_parent (root, size);
      unsigned char *child;

      g_assert_true (ralloc_parent_of_linear_parent (parent) == root);
      memset (parent, 0x77, size);
      child = ralloc_linear_alloc_child (parent, 40);
      memset (child, 0x11, 40);
      for (unsigned i = 0; i < 100; i++)
        memset (ralloc_linear_alloc_child (parent, 64), 0x22, 64);
      for (size_t i = 0; i < size; i++)
        g_assert_cmpuint (parent[i], ==, 0x77);
      if (size % 2 == 0)
        ralloc_linear_free_parent (parent);
      parent = ralloc_linear_zalloc_parent (root, size);
      for (size_t i = 0; i < size; i++)
        g_assert_cmpuint (parent[i], ==, 0);
      ralloc_steal_linear_parent (NULL, parent);
      g_assert_null (ralloc_parent_of_linear_parent (parent));
      ralloc_linear_free_parent (parent);
    }
  ralloc_free (root);
}

/* A large object does not push the current buffer aside. */
static void
test_large_object (void)
{
  RallocLinear *linear = ralloc_linear_context (NULL);
  char *first = ralloc_linear_alloc_child (linear, 32);
  char *large = ralloc_linear_alloc_child (linear, 16 * 1024);
  char *second = ralloc_linear_alloc_child (linear, 32);

  memset (large, 1, 16 * 1024);
  if (!is_annotated ())
    g_assert_cmpint (second - first, ==, 32);
  ralloc_free (linear);
}

static void
test_options (void)
{
  RallocLinearOpts options = { .min_buffer_size = 8000 };
  RallocLinear *linear = ralloc_linear_context_with_opts (NULL, &options);
  char *first = ralloc_linear_alloc_child (linear, 1024);

  for (unsigned i = 1; i < 8 && !is_annotated (); i++)
    g_assert_cmpint ((char *) ralloc_linear_alloc_child (linear, 1024)
                         - first,
                     ==, (ptrdiff_t) (1024 * i));
  ralloc_free (linear);
  linear = ralloc_linear_context_with_opts (NULL, NULL);
  g_assert_nonnull (linear);
  ralloc_free (linear);
  options.min_buffer_size = SIZE_MAX;
  g_assert_null (ralloc_linear_context_with_opts (NULL, &options));
}

static void
test_realloc (void)
{
  RallocLinear *linear = ralloc_linear_context (NULL);
  char *a = ralloc_linear_realloc (linear, NULL, 16);
  char *b;

  strcpy (a, "0123456789abcde");
  b = ralloc_linear_realloc (linear, a, 64);
  if (!is_annotated ())
    g_assert_true (a == b); /* it was the last */
  ralloc_linear_alloc_child (linear, 8);
  a = ralloc_linear_realloc (linear, b, 400);
  g_assert_true (a != b);
  g_assert_cmpstr (a, ==, "0123456789abcde");
  a = ralloc_linear_realloc (linear, a, 100000);
  g_assert_cmpstr (a, ==, "0123456789abcde");
  a = ralloc_linear_realloc (linear, a, 4);
  g_assert_cmpint (memcmp (a, "0123", 4), ==, 0);
  ralloc_free (linear);
}

/* A thousand contexts of one and a half KiB each, as a compiler has them. */
static void
test_utilisation (void)
{
  void *root = ralloc_context (NULL);
  size_t bytes;

  for (unsigned i = 0; i < 1000; i++)
    {
      RallocLinear *linear = ralloc_linear_context (root);

      for (unsigned k = 0; k < 32; k++)
        ralloc_linear_alloc_child (linear, 48);
    }
  bytes = ralloc_total_size (root) / 1000;
  g_test_message ("%zu bytes held for 1536 asked", bytes);
  if (!is_annotated ())
    g_assert_cmpuint (bytes, <=, 2662);
  ralloc_free (root);
}

static void
test_misc (void)
{
  RallocLinear *linear = ralloc_linear_context (NULL);
  int *number = ralloc_linear_alloc (linear, int);
  int *numbers = ralloc_linear_zalloc_array (linear, int, 50);

  *number = 3;
  for (unsigned i = 0; i < 50; i++)
    g_assert_cmpint (numbers[i], ==, 0);
  numbers = ralloc_linear_alloc_array (linear, int, 50);
  memset (numbers, 1, 50 * sizeof (int));
  g_assert_cmpint (*number, ==, 3);
  g_assert_cmpint (memcmp (ralloc_linear_memdup (linear, "a\0b", 3), "a\0b",
                           3),
                   ==, 0);
  g_assert_nonnull (ralloc_linear_zalloc (linear, double));
  ralloc_free (linear);
}

static void
test_overflow (void)
{
  static volatile size_t counts[]
      = { SIZE_MAX / sizeof (int) + 2, SIZE_MAX / sizeof (int) + 1,
          SIZE_MAX / sizeof (int), SIZE_MAX };
  RallocLinear *linear = ralloc_linear_context (NULL);

  for (unsigned i = 0; i < G_N_ELEMENTS (counts); i++)
    {
      errno = 0;
      g_assert_null (ralloc_linear_alloc_array (linear, int, counts[i]));
      g_assert_cmpint (errno, ==, ENOMEM);
      g_assert_null (ralloc_linear_zalloc_array (linear, int, counts[i]));
      g_assert_null (ralloc_linear_alloc_child (linear, SIZE_MAX - i));
      g_assert_null (ralloc_linear_memdup (linear, "", SIZE_MAX - i));
      g_assert_null (ralloc_linear_realloc (linear, NULL, SIZE_MAX - i));
    }
  ralloc_free (linear);
}

/* --- texts that grow ----------------------------------------------------- */

#define PIECE "0123456789abcdef"

enum
{
  PIECE_BYTES = sizeof PIECE - 1,
  /* From 257 bytes to 128 KB by half as much again, and a few more. */
  MOVES_MAX = 22
};

static void
expect_pieces (const char *text, unsigned n)
{
  g_assert_cmpuint (strlen (text), ==, n * PIECE_BYTES);
  for (unsigned i = 0; i < n; i++)
    g_assert_true (memcmp (text + i * PIECE_BYTES, PIECE, PIECE_BYTES) == 0);
}

/* Appends a piece in one of the ways to do so. */
static void
append (void *linear, char **text, size_t *end, unsigned way)
{
  switch (way % 3)
    {
    case 0:
      g_assert_true (ralloc_linear_strcat (linear, text, PIECE));
      break;
    case 1:
      g_assert_true (
          ralloc_linear_asprintf_append (linear, text, "%s", PIECE));
      break;
    default:
      *end = strlen (*text);
      g_assert_true (ralloc_linear_asprintf_rewrite_tail (linear, text, end,
                                                          "%s", PIECE));
    }
}

/* A text moves O(log n) times (under a tool at each append), and holds O(n)
 * bytes at any length. */
static void
test_text_grows (void)
{
  void *root = ralloc_context (NULL);
  void *linear = ralloc_linear_context (root);
  char *text = ralloc_linear_strdup (linear, "");
  unsigned n_moves = 0;
  size_t end = 0;

  for (unsigned n = 1; n <= 8000; n++)
    {
      char *before = text;

      append (linear, &text, &end, n);
      n_moves += text != before;
      g_assert_cmpuint (ralloc_total_size (linear), <=,
                        3 * n * PIECE_BYTES + 8192);
    }
  expect_pieces (text, 8000);
  if (!is_annotated ())
    g_assert_cmpuint (n_moves, <=, MOVES_MAX);
  ralloc_free (root);
}

/* So do two that grow by turns, with other objects between the appends. */
static void
test_text_by_turns (void)
{
  void *root = ralloc_context (NULL);
  void *linear = ralloc_linear_alloc_parent (root, 24);
  char *texts[2] = { linear, ralloc_linear_strdup (linear, "") };
  unsigned n_moves = 0;
  size_t end = 0;

  texts[0][0] = '\0';
  for (unsigned i = 0; i < 4000; i++)
    {
      char *before = texts[i % 2];

      append (linear, &texts[i % 2], &end, i);
      n_moves += texts[i % 2] != before;
      memset (ralloc_linear_alloc_child (linear, 40), 'x', 40);
    }
  expect_pieces (texts[0], 2000);
  expect_pieces (texts[1], 2000);
  g_assert_cmpuint (ralloc_total_size (linear), <=,
                    3 * (2 * 2000 * PIECE_BYTES + 4000 * 40));
  /* Up to 256 bytes each append moves a text that is not the last object. */
  if (!is_annotated ())
    g_assert_cmpuint (n_moves, <=, 2 * (MOVES_MAX + 256 / PIECE_BYTES));
  ralloc_free (root);
}

/* Near a limit buffers get smaller, so that little of it is lost. */
static void
test_limit_filled (void)
{
  enum { LIMIT = 65536 };
  void *root = ralloc_context (NULL);
  RallocLinear *linear;
  size_t n = 0, used;

  ralloc_set_limit (root, LIMIT);
  linear = ralloc_linear_context (root);
  while (ralloc_linear_alloc_child (linear, 16) != NULL)
    n++;
  used = ralloc_limit_used (root);
  g_assert_cmpuint (used, <=, LIMIT);
  if (!is_annotated ())
    {
      g_assert_cmpuint (used, >, LIMIT - 128);
      g_assert_cmpuint (n * 16, >, LIMIT / 100 * 97);
    }
  while (ralloc_linear_alloc_child (linear, 1) != NULL)
    ;
  ralloc_free (linear);
  g_assert_cmpuint (ralloc_limit_used (root), <, 100);
  ralloc_free (root);
}

/* A limit stops a text near half of it, as the old and the new one must fit
 * while it moves. */
static void
test_text_limit (void)
{
  void *root = ralloc_context (NULL);
  unsigned n = 0;
  size_t used;
  void *linear;
  char *text;

  g_assert_true (ralloc_set_limit (root, 65536));
  used = ralloc_limit_used (root);
  linear = ralloc_linear_context (root);
  text = ralloc_linear_strdup (linear, "");
  while (ralloc_linear_strcat (linear, &text, "x"))
    n++;
  g_assert_cmpint (errno, ==, ENOMEM);
  g_assert_cmpuint (strlen (text), ==, n);
  g_assert_cmpuint (n, >=, 65536 / 5 * 2);
  g_assert_cmpuint (ralloc_limit_used (root), <=, 65536);
  ralloc_free (linear);
  g_assert_cmpuint (ralloc_limit_used (root), ==, used);
  ralloc_free (root);
}

/* The suffix may be in the string, which moves; and the string need not be in
 * the context. */
static void
test_text_itself (void)
{
  void *root = ralloc_context (NULL);
  void *linear = ralloc_linear_context (root);
  char elsewhere[] = "ab";
  char *text = elsewhere;

  for (size_t length = 2; length < 100000; length *= 2)
    {
      g_assert_true (ralloc_linear_strcat (linear, &text, text));
      g_assert_true (ralloc_linear_strcat (linear, &text, text + 2 * length));
      g_assert_cmpuint (strlen (text), ==, 2 * length);
      for (size_t i = 0; i < 2 * length; i++)
        g_assert_cmpint (text[i], ==, "ab"[i % 2]);
    }
  g_assert_true (
      ralloc_linear_asprintf_append (linear, &text, "%s", text + 65536));
  g_assert_cmpuint (strlen (text), ==, 2 * 131072 - 65536);
  g_assert_cmpstr (elsewhere, ==, "ab");
  ralloc_free (root);
}

/* An object that leaves its own buffer returns it. */
static void
test_realloc_large (void)
{
  void *root = ralloc_context (NULL);
  size_t size = 1000;
  size_t used;
  void *linear;
  char *object;

  g_assert_true (ralloc_set_limit (root, 1000000));
  used = ralloc_limit_used (root);
  linear = ralloc_linear_context (root);
  object = ralloc_linear_alloc_child (linear, size);
  memset (object, 'x', size);
  for (; size < 100000; size += 80)
    {
      object = ralloc_linear_realloc (linear, object, size + 80);
      memset (object + size, 'x', 80);
      g_assert_nonnull (ralloc_linear_alloc_child (linear, 8));
    }
  for (size_t i = 0; i < size; i++)
    g_assert_cmpint (object[i], ==, 'x');
  g_assert_cmpuint (ralloc_total_size (linear), <=, 2 * size);
  ralloc_free (linear);
  g_assert_cmpuint (ralloc_limit_used (root), ==, used);
  ralloc_free (root);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, function)                                                   \
  g_test_add_func ("/slice/ralloc-linear/" name, function)
  ADD ("basic", test_basic);
  ADD ("is-a-node", test_is_a_node);
  ADD ("old-style", test_old_style);
  ADD ("large-object", test_large_object);
  ADD ("options", test_options);
  ADD ("realloc", test_realloc);
  ADD ("nothing", test_nothing);
  ADD ("nothing/next", test_nothing_next);
  ADD ("nothing/string", test_nothing_string);
  ADD ("utilisation", test_utilisation);
  ADD ("misc", test_misc);
  ADD ("overflow", test_overflow);
  ADD ("text/grows", test_text_grows);
  ADD ("text/by-turns", test_text_by_turns);
  ADD ("text/limit", test_text_limit);
  ADD ("limit-filled", test_limit_filled);
  ADD ("text/itself", test_text_itself);
  ADD ("realloc/large", test_realloc_large);
  return g_test_run ();
}
