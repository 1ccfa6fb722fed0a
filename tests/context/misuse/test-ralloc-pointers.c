/* test-ralloc-pointers.c - random wrong pointers into our slabs, in each mode
 *
 * Whatever function is given one says what it is and ends the program, and
 * never reads what can't be read: a header that lies in a guard page.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/testlib.h"

enum
{
  N_NODES = 3000,
  N_OBJECTS = 500, /* linear contexts, a gc context, and objects of both */
  N_POINTERS = 2000,
  N_POINTERS_SLOW = 100000 /* with -m slow */
};

/* A node for those that take two. */
static void *root;

static void
steal (void *ptr)
{
  ralloc_steal (root, ptr);
}

static void
steal_to (void *ptr)
{
  ralloc_steal (ptr, root);
}

static void
refer (void *ptr)
{
  ralloc_reference (root, ptr);
}

static void
refer_from (void *ptr)
{
  ralloc_reference (ptr, root);
}

static void
parent (void *ptr)
{
  ralloc_parent (ptr);
}

static void
usable (void *ptr)
{
  ralloc_usable_size (ptr);
}

static void
resize (void *ptr)
{
  if (reralloc_size (root, ptr, 1000) == NULL)
    abort ();
}

static void
grow_text (void *ptr)
{
  char *text = ptr;

  ralloc_strcat (&text, "more");
}

static void
destructor (void *ptr)
{
  ralloc_set_destructor (ptr, NULL);
}

static void
name (void *ptr)
{
  ralloc_set_name_const (ptr, "name");
}

static void
limit (void *ptr)
{
  ralloc_set_limit (ptr, 1000000);
}

static void
total (void *ptr)
{
  ralloc_total_size (ptr);
}

static void
linear_of (void *ptr)
{
  ralloc_parent_of_linear_context (ptr);
}

static void
gc_free (void *ptr)
{
  ralloc_gc_free (ptr);
}

static void
gc_context (void *ptr)
{
  ralloc_gc_get_context (ptr);
}

static void
gc_sweep (void *ptr)
{
  ralloc_gc_sweep_start (ptr);
}

static void
large_child (void *ptr)
{
  ralloc_size (ptr, 100000);
}

/* ralloc_parent(), the last, looks at nothing where no mode asks for it. */
static unsigned n_uses;

static void (*const uses[]) (void *)
    = { ralloc_free, steal, steal_to, refer, refer_from, usable,
        resize, grow_text, destructor, name, limit, total,
        ralloc_free_children, linear_of, gc_free, gc_context, gc_sweep,
        large_child, parent };

/* One child process tries one pointer; the next is tried in a fresh fork. */
static bool
pointer_is_caught (void *pointer, unsigned use)
{
  int status;
  pid_t pid = fork ();

  if (pid == 0)
    {
      g_assert_nonnull (freopen ("/dev/null", "w", stderr));
      uses[use](pointer);
      _exit (0);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  return WIFSIGNALED (status) && WTERMSIG (status) == SIGABRT;
}

static bool
is_right (void *const *nodes, char *const *objects, const void *pointer)
{
  unsigned n = N_NODES;
  unsigned n_objects = N_OBJECTS;

  while (n > 0 && nodes[n - 1] != pointer)
    n--;
  while (n_objects > 0 && objects[n_objects - 1] != pointer)
    n_objects--;
  return n > 0 || n_objects > 0 || pointer == root;
}

static void
try_pointers (void *const *nodes, char *const *objects, Random *random)
{
  unsigned n_pointers
      = g_test_slow () ? N_POINTERS_SLOW : test_times (N_POINTERS, 20);
  unsigned n_missed = 0;

  for (unsigned i = 0; i < n_pointers; i++)
    {
      unsigned near = random_below (random, N_NODES);
      char *at = i % 4 == 0 ? objects[near % N_OBJECTS] : nodes[near];
      ptrdiff_t step = (ptrdiff_t) random_below (random, 400) - 200;
      unsigned use = i % 3 == 0 ? random_below (random, n_uses) : 0;

      at += i % 2 == 0 ? step * 16 : step;
      if (!is_right (nodes, objects, at) && !pointer_is_caught (at, use))
        {
          n_missed++;
          g_printerr ("# missed by use %u: %p\n", use, (void *) at);
        }
    }
  g_assert_cmpuint (n_missed, ==, 0);
}

static void
make_objects (char **objects, Random *random)
{
  RallocGc *gc = ralloc_gc_context (root);
  void *linear = NULL;

  objects[N_OBJECTS - 1] = (char *) gc;
  for (unsigned i = 0; i < N_OBJECTS - 1; i++)
    {
      size_t size = 1 + random_below (random, 300);

      if (i % 50 == 0)
        {
          linear = ralloc_linear_context (root);
          objects[i] = linear;
          continue;
        }
      objects[i] = i % 2 == 0 ? ralloc_linear_alloc_child (linear, size)
                              : ralloc_gc_alloc_size (gc, size, 8);
      memset (objects[i], (int) i, size);
    }
}

static void
wrong_pointers (const char *options)
{
  Random random = { 99 };
  void *nodes[N_NODES];
  char *objects[N_OBJECTS];

  test_options (options);
  n_uses = G_N_ELEMENTS (uses) - (options[0] == '\0');
  root = ralloc_context (NULL);
  if (is_annotated ())
    exit (0); /* there are no slabs */
  for (unsigned i = 0; i < N_NODES; i++)
    {
      size_t size = random_below (&random, 300);

      nodes[i] = ralloc_size (i < 10 ? root : nodes[random_below (&random, i)],
                              size);
      memset (nodes[i], (int) i, size);
    }
  make_objects (objects, &random);
  try_pointers (nodes, objects, &random);
  ralloc_free (root);
}

static void
test_default (void)
{
  wrong_pointers ("");
}

static void
test_checked (void)
{
  wrong_pointers ("checked");
}

static void
test_hardened (void)
{
  wrong_pointers ("hardened");
}

static void
test_debug (void)
{
  wrong_pointers ("debug");
}

static void
test_debug_blocks (void)
{
  wrong_pointers ("debug-blocks");
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/ralloc-pointers/default", test_default);
  test_add_fresh ("/slice/ralloc-pointers/checked", test_checked);
  test_add_fresh ("/slice/ralloc-pointers/hardened", test_hardened);
  test_add_fresh ("/slice/ralloc-pointers/debug", test_debug);
  test_add_fresh ("/slice/ralloc-pointers/debug-blocks", test_debug_blocks);
  return g_test_run ();
}
