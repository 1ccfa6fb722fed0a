/* test-ralloc-slack.c - where contents are checked, a node's size is exact
 *
 * In the modes hardened and debug a byte written behind a payload is found
 * when the node goes, is resized or is asked for its size; and nothing that
 * stays within a payload is taken for one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/testlib.h"

enum
{
  N_SMALL = 300,     /* each size up to this */
  STEP = 37,         /* from there on */
  STEP_SLOW = 7,     /* under valgrind: one in seven of these */
  SIZE_LARGE = 2000, /* 16 bytes are checked behind such a node */
  SIZE_MAX_TRIED = 5000,
  N_RESIZES = 20000,
  N_NODES = 64
};

static const unsigned char written[] = { 0, 'x', 0xff };

/* The ways in which it is found. */
static void
find_by (unsigned way, void *root, char *node, size_t size)
{
  switch (way % 4)
    {
    case 0:
      ralloc_free (node);
      break;
    case 1:
      ralloc_free (root);
      break;
    case 2:
      reralloc_size (root, node, size + 1);
      break;
    default:
      ralloc_usable_size (node);
    }
}

/* A byte behind a node of that size, after `distance' others, in a process of
 * its own. */
static void
try_overrun (size_t size, size_t distance, unsigned char byte, unsigned way)
{
  int status;
  pid_t pid = fork ();

  if (pid == 0)
    {
      void *root = ralloc_context (NULL);
      char *node = ralloc_size (root, size);

      g_assert_nonnull (freopen ("/dev/null", "w", stderr));
      ralloc_size (root, size);
      memset (node, 0x2a, size);
      ((volatile char *) node)[size + distance] = (char) byte;
      find_by (way, root, node, size);
      _exit (0);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  if (!WIFSIGNALED (status) || WTERMSIG (status) != SIGABRT)
    g_error ("size %zu, byte 0x%02x after %zu, way %u: not found", size, byte,
             distance, way % 4);
}

static void
overruns (void)
{
  unsigned i = 0, step = test_is_slow () ? STEP_SLOW : 1;

  for (size_t size = 0; size <= SIZE_MAX_TRIED;
       size += size < N_SMALL ? step : step * STEP)
    {
      try_overrun (size, 0, written[i % 3], i / 3);
      if (size >= SIZE_LARGE)
        try_overrun (size, i % 16, written[i % 3], i / 3);
      i++;
    }
}

/* Every byte of every payload is written, after every call. */
static void
no_false_alarm (void)
{
  Random random = { 7 };
  char *nodes[N_NODES] = { NULL };
  size_t sizes[N_NODES];
  void *root = ralloc_context (NULL);
  char *text = ralloc_strdup (root, "");

  for (unsigned i = 0; i < N_RESIZES; i++)
    {
      unsigned k = (unsigned) random_below (&random, N_NODES);
      size_t size = random_below (&random, i % 16 == 0 ? 6000 : 300);

      if (nodes[k] != NULL && i % 5 == 0)
        {
          ralloc_free (nodes[k]);
          nodes[k] = NULL;
        }
      else if (nodes[k] != NULL)
        {
          g_assert_cmpuint (ralloc_usable_size (nodes[k]), >=, sizes[k]);
          nodes[k] = reralloc_size (root, nodes[k], size);
        }
      else
        nodes[k] = i % 2 == 0 ? ralloc_size (root, size)
                              : rzalloc_size (root, size);
      sizes[k] = size;
      if (nodes[k] != NULL)
        memset (nodes[k], 0xff, ralloc_usable_size (nodes[k]));
      g_assert_true (ralloc_strcat (&text, "word"));
    }
  g_assert_cmpuint (strlen (text), ==, 4 * (size_t) N_RESIZES);
  ralloc_free (root);
}

static void
exact_sizes (void)
{
  void *root = ralloc_context (NULL);

  for (size_t size = 0; size <= SIZE_MAX_TRIED; size++)
    {
      char *node = ralloc_size (root, size);

      g_assert_cmpuint (ralloc_usable_size (node), ==, size);
      g_assert_cmpuint ((uintptr_t) node % 16, ==, 0);
    }
  ralloc_free (root);
}

/* The message has the size that was requested, where the last byte, which
 * leads to it, is whole. */
static void
death_size (void)
{
  char *node;

  test_options ("hardened");
  node = ralloc_size (NULL, 5);
  ((volatile char *) node)[5] = 'x';
  test_will_die ("slice: error 212: bytes behind a node's payload were "
                 "written: ralloc_free (%p), space for 5 bytes",
                 node);
  ralloc_free (node);
}

/* --- overruns that leave the slack whole --------------------------------- */

enum
{
  SIZE_HIT = 40, /* with a header it fills a block but for 8 bytes */
  HIT = 48       /* the first byte behind that block */
};

/* Writes the byte behind the block of a node that has a parent. */
static char *
node_hit (const char *options)
{
  void *root;
  char *node;

  test_options (options);
  root = ralloc_context (NULL);
  node = ralloc_size (root, SIZE_HIT);
  /* Not what a canary could have there. */
  ((volatile char *) node)[HIT] = (char) (node[HIT] ^ 0x55);
  return node;
}

/* The message names the function that the program called. */
static void
hit_will_die (const char *call, const char *node)
{
  test_will_die ("slice: error 212: bytes behind a node's payload were "
                 "written: %s (%p), space for 40 bytes*",
                 call, node);
}

static void
death_hit_free (void)
{
  char *node = node_hit ("hardened");

  hit_will_die ("ralloc_free", node);
  ralloc_free (node);
}

static void
death_hit_free_debug (void)
{
  char *node = node_hit ("debug");

  hit_will_die ("ralloc_free", node);
  ralloc_free (node);
}

static void
death_hit_try_free (void)
{
  char *node = node_hit ("hardened");

  hit_will_die ("ralloc_try_free", node);
  ralloc_try_free (node);
}

static void
death_hit_children (void)
{
  char *node = node_hit ("hardened");

  hit_will_die ("ralloc_free_children", node);
  ralloc_free_children (ralloc_parent (node));
}

static void
death_hit_tree (void)
{
  char *node = node_hit ("debug");

  ralloc_context (node);
  hit_will_die ("ralloc_free", node);
  ralloc_free (ralloc_parent (node));
}

static void
death_hit_resize (void)
{
  char *node = node_hit ("hardened");

  hit_will_die ("reralloc_size", node);
  reralloc_size (ralloc_parent (node), node, HIT);
}

static void
death_hit_append (void)
{
  char *node = node_hit ("debug");

  memset (node, 'x', SIZE_HIT - 1);
  node[SIZE_HIT - 1] = '\0';
  hit_will_die ("ralloc_strcat", node);
  ralloc_strcat (&node, "x");
}

static void
death_hit_size (void)
{
  char *node = node_hit ("hardened");

  hit_will_die ("ralloc_usable_size", node);
  ralloc_usable_size (node);
}

static void
in_mode (const char *options)
{
  test_options (options);
  if (is_annotated ())
    {
      g_test_message ("a memory checker sees to it");
      return;
    }
  exact_sizes ();
  no_false_alarm ();
  overruns ();
}

static void
hardened (void)
{
  in_mode ("hardened");
}

static void
debug (void)
{
  in_mode ("debug");
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/ralloc-slack/hardened", hardened);
  test_add_fresh ("/slice/ralloc-slack/debug", debug);
  if (!test_is_slow ())
    {
      test_add_death ("/slice/ralloc-slack/size", death_size);
      test_add_death ("/slice/ralloc-slack/hit/free", death_hit_free);
      test_add_death ("/slice/ralloc-slack/hit/debug", death_hit_free_debug);
      test_add_death ("/slice/ralloc-slack/hit/try-free", death_hit_try_free);
      test_add_death ("/slice/ralloc-slack/hit/children", death_hit_children);
      test_add_death ("/slice/ralloc-slack/hit/tree", death_hit_tree);
      test_add_death ("/slice/ralloc-slack/hit/resize", death_hit_resize);
      test_add_death ("/slice/ralloc-slack/hit/append", death_hit_append);
      test_add_death ("/slice/ralloc-slack/hit/size", death_hit_size);
    }
  return g_test_run ();
}
