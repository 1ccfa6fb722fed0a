/* test-ralloc-who.c - debug's messages about nodes and arenas say who allocated
 * and freed them
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

#include <slice/arena.h>

#define ALLOCATED ", allocated at /*+0x* by thread *"
#define FREED ", freed at /*+0x* by thread *\n"

/* Calls that the compiler may not look through. */
static void (*volatile do_free) (void *) = ralloc_free;
static void (*volatile do_steal) (const void *, void *) = ralloc_steal;
static void *(*volatile do_size) (const void *, size_t) = ralloc_size;

static void
free_twice (void)
{
  void *node = do_size (ralloc_context (NULL), 40);

  do_free (node);
  do_free (node);
}

static void
free_child_after_parent (void)
{
  void *root = ralloc_context (NULL);
  void *child = NULL;

  for (unsigned i = 0; i < 5000; i++)
    child = do_size (root, 40);
  do_free (root);
  do_free (child);
}

static void
alloc_on_freed (void)
{
  void *node = do_size (NULL, 40);

  do_free (node);
  do_size (node, 10);
}

static void
free_large_twice (void)
{
  void *node = do_size (ralloc_context (NULL), 100000);

  do_free (node);
  do_free (node);
}

/* A large node whose block the system's realloc has moved, perhaps. */
static void
free_grown_twice (void)
{
  void *root = ralloc_context (NULL);
  void *node = do_size (root, 100000);

  node = reralloc_size (root, node, 300000);
  do_free (node);
  do_free (node);
}

static void
free_linear_twice (void)
{
  void *node = ralloc_linear_context (ralloc_context (NULL));

  do_free (node);
  do_free (node);
}

static void
free_interior (void)
{
  char *node = do_size (NULL, 400);

  memset (node, 0x11, 400);
  do_free (node + 64);
}

static void
free_slice (void)
{
  do_free (slice_alloc (64));
}

static void
damage_header (void)
{
  void *root = ralloc_context (NULL);
  void *volatile *volatile nodes[3];

  for (unsigned i = 0; i < 3; i++)
    nodes[i] = do_size (root, 40);
  nodes[1][-2] = (void *) nodes[2]; /* its next */
  do_free ((void *) nodes[1]);
}

static void
steal_self (void)
{
  void *node = do_size (NULL, 40);

  do_steal (node, node);
}

static void
wrong_parent (void)
{
  void *node = do_size (NULL, 40);

  reralloc_size (node, node, 50);
}

static void
linear_of_node (void)
{
  void *node = do_size (NULL, 40);

  ralloc_linear_zalloc_child (node, 8);
}

static void
wrong_type (void)
{
  int *number = ralloc_typed (NULL, int);

  ralloc_get_type_abort (number, double);
}

static void
overrun (void)
{
  char *volatile node = do_size (NULL, 61);

  node[61] = 1;
  do_free (node);
}

static void
overrun_large (void)
{
  char *volatile node = do_size (NULL, 6001);

  node[6001] = 1;
  do_free (node);
}

static void
free_in_large (void)
{
  char *node = do_size (NULL, 100000);

  memset (node, 0, 100000);
  do_free (node + 4096);
}

static void
free_large_as_slice (void)
{
  slice_free1 (100000, do_size (NULL, 100000));
}

static void
resize_linear (void)
{
  reralloc_size (NULL, ralloc_linear_context (NULL), 4000);
}

static void
steal_dying (void *node)
{
  ralloc_try_steal (NULL, node);
}

/* A warning. */
static void
keep_dying (void)
{
  void *node = do_size (NULL, 40);

  ralloc_set_destructor (node, steal_dying);
  do_free (node);
  abort ();
}

static void
destroy_twice (void)
{
  SliceLinear *volatile arena = slice_linear_new (NULL);

  slice_linear_destroy (arena);
  slice_linear_destroy (arena);
}

static void
destroy_in_context_twice (void)
{
  void *root = ralloc_context (NULL);
  SliceStack *volatile stack = slice_stack_new_in (root, NULL);

  slice_stack_destroy (stack);
  slice_stack_destroy (stack);
}

typedef struct
{
  const char *name;
  void (*run) (void);
  const char *message;
} Fault;

static const Fault faults[]
    = { { "free-twice", free_twice,
          "*error 201: a node that was freed before: ralloc_free (0x*), space "
          "for 40 bytes" ALLOCATED FREED },
        { "free-child-after-parent", free_child_after_parent,
          "*error 201: *), space for 40 bytes" ALLOCATED FREED },
        { "alloc-on-freed", alloc_on_freed,
          "*error 201: *), space for 40 bytes" ALLOCATED FREED },
        { "free-large-twice", free_large_twice,
          "*error 201: *), space for 100000 bytes" ALLOCATED FREED },
        { "free-grown-twice", free_grown_twice,
          "*error 201: *), space for 300000 bytes" ALLOCATED FREED },
        { "free-linear-twice", free_linear_twice,
          "*error 201: *" ALLOCATED FREED },
        { "free-interior", free_interior,
          "*error 202: *, the block begins at * bytes" ALLOCATED "\n" },
        { "free-slice", free_slice,
          "*error 200: *), space for 64 bytes" ALLOCATED "\n" },
        { "damage-header", damage_header,
          "*error 203: *), space for 40 bytes" ALLOCATED "\n" },
        { "steal-self", steal_self,
          "*error 204: *), space for 40 bytes" ALLOCATED "\n" },
        { "wrong-parent", wrong_parent,
          "*error 205: *), space for 40 bytes" ALLOCATED "\n" },
        { "linear-of-node", linear_of_node,
          "*error 206: *), space for 40 bytes" ALLOCATED "\n" },
        { "wrong-type", wrong_type,
          "*error 208: *, space for 4 bytes" ALLOCATED "\n" },
        { "keep-dying", keep_dying,
          "*warning 211: *), space for 40 bytes" ALLOCATED "\n*" },
        { "overrun", overrun,
          "*error 212: *), space for 61 bytes" ALLOCATED "\n" },
        { "overrun-large", overrun_large,
          "*error 212: *), space for 6001 bytes" ALLOCATED "\n" },
        { "free-in-large", free_in_large,
          "*error 202: *, the block begins at * bytes" ALLOCATED "\n" },
        { "free-large-as-slice", free_large_as_slice,
          "*error 108: *" ALLOCATED " [class *" },
        { "resize-linear", resize_linear, "*error 213: *" ALLOCATED "\n" },
        { "destroy-twice", destroy_twice,
          "*error 306: *no live linear arena" ALLOCATED FREED },
        { "destroy-in-context-twice", destroy_in_context_twice,
          "*error 306: *no live stack arena" ALLOCATED FREED } };

static void
test_fault (gconstpointer data)
{
  const Fault *fault = data;

  if (g_test_subprocess ())
    {
      g_assert_cmpint (slice_set_option (SLICE_OPTION_DEBUG, 1), ==,
                       SLICE_SET_OK);
      fault->run ();
      return;
    }
  if (is_annotated ())
    {
      g_test_skip ("a memory checker reports it");
      return;
    }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr (fault->message);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (unsigned i = 0; i < G_N_ELEMENTS (faults); i++)
    {
      char *path = g_strdup_printf ("/slice/ralloc-who/%s", faults[i].name);

      g_test_add_data_func (path, &faults[i], test_fault);
      g_free (path);
    }
  return g_test_run ();
}
