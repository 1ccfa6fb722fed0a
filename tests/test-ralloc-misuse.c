/* test-ralloc-misuse.c - each misuse of contexts ends with its own message
 *
 * SPDX-License-Identifier: MIT
 */
#include "ralloc-testlib.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <slice/options.h>

/* Calls that the compiler may not look through. */
static void (*volatile do_free) (void *) = ralloc_free;
static void (*volatile do_steal) (const void *, void *) = ralloc_steal;
static void (*volatile do_adopt) (const void *, void *) = ralloc_adopt;
static void *(*volatile do_size) (const void *, size_t) = ralloc_size;

static void
free_twice (void)
{
  void *root = ralloc_context (NULL);
  void *node = ralloc_size (root, 40);

  do_free (node);
  do_free (node);
}

/* In a tree large enough to go back to the slabs. */
static void
free_child_after_parent (void)
{
  void *root = ralloc_context (NULL);
  void *child = NULL;

  for (unsigned i = 0; i < 5000; i++)
    child = ralloc_size (root, 40);
  do_free (root);
  do_free (child);
}

/* The chunk has been through a slab and lies in a magazine again. */
static void
free_refilled (void)
{
  void *root = ralloc_context (NULL);
  void *tree = ralloc_context (root);
  void *child = NULL;
  void *other;

  for (unsigned i = 0; i < 300; i++)
    child = ralloc_size (tree, 40);
  do_free (tree);
  for (unsigned i = 0; i < 3; i++)
    {
      other = ralloc_size (root, 40);
      g_assert_true (other != child);
    }
  do_free (child);
}

static void
free_large_twice (void)
{
  void *root = ralloc_context (NULL);
  void *node = ralloc_size (root, 100000);

  do_free (node);
  do_free (node);
}

static void
free_linear_twice (void)
{
  void *root = ralloc_context (NULL);
  void *node = ralloc_linear_context (root);

  do_free (node);
  do_free (node);
}

/* The words before the pointer look like those of a node that is dying. */
static void
free_like_dying (void)
{
  uintptr_t *words = rzalloc_size (NULL, 160);

  words[7] = 2;
  do_free (words + 8);
}

static void
free_interior (void)
{
  char *node = ralloc_size (NULL, 400);

  memset (node, 0x11, 400);
  do_free (node + 64);
}

static void
free_odd (void)
{
  char *node = ralloc_size (NULL, 400);

  do_free (node + 1);
}

static void
free_in_large (void)
{
  char *node = ralloc_size (NULL, 100000);

  memset (node, 0, 100000);
  do_free (node + 4096);
}

static void
free_malloc (void)
{
  void *volatile block = malloc (1000);

  memset (block, 0, 1000);
  do_free ((char *) block + 128);
}

static void
free_stack (void)
{
  _Alignas (16) char room[512];

  memset (room, 0, sizeof room);
  do_free (room + 256);
}

static void
free_static (void)
{
  static _Alignas (16) char room[512];

  do_free (room + 256);
}

static void
free_unmapped (void)
{
  char *page = mmap (NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                     0);

  do_free (page + 4096);
}

static void
free_slice (void)
{
  void *block = slice_alloc (64);

  memset (block, 0x22, 64);
  do_free ((char *) block + sizeof (RallocHeaderV1));
}

static void
free_dead_page (void)
{
  do_free ((void *) (uintptr_t) 0x1000);
}

static void
steal_freed (void)
{
  void *root = ralloc_context (NULL);
  void *node = ralloc_size (root, 40);

  do_free (node);
  do_steal (root, node);
}

static void
steal_to_freed (void)
{
  void *root = ralloc_context (NULL);
  void *node = ralloc_size (root, 40);
  void *gone = ralloc_size (root, 40);

  do_free (gone);
  do_steal (gone, node);
}

static void
alloc_on_freed (void)
{
  void *root = ralloc_context (NULL);
  void *gone = ralloc_size (root, 40);

  do_free (gone);
  do_size (gone, 10);
}

static void
resize_freed (void)
{
  void *root = ralloc_context (NULL);
  void *gone = ralloc_size (root, 40);

  do_free (gone);
  reralloc_size (root, gone, 4000);
}

static void
steal_cycle (void)
{
  void *root = ralloc_context (NULL);
  void *node = ralloc_size (root, 40);
  void *child = ralloc_size (ralloc_size (node, 40), 40);

  do_steal (child, node);
}

static void
steal_self (void)
{
  void *node = ralloc_context (NULL);

  do_steal (node, node);
}

static void
adopt_cycle (void)
{
  void *root = ralloc_context (NULL);
  void *node = ralloc_size (root, 40);

  do_adopt (ralloc_size (node, 10), root);
}

/* A write through a node's end into the next one's header. */
static void
damage_next (void)
{
  void *root = ralloc_context (NULL);
  void *volatile *volatile nodes[3];

  for (unsigned i = 0; i < 3; i++)
    nodes[i] = do_size (root, 40);
  nodes[1][-2] = (void *) nodes[2]; /* its next */
  do_free ((void *) nodes[1]);
}

static void
damage_pprev (void)
{
  void *root = ralloc_context (NULL);
  void *volatile *volatile nodes[3];

  for (unsigned i = 0; i < 3; i++)
    nodes[i] = do_size (root, 40);
  nodes[1][-1] = (void *) &nodes[0][-2];
  do_free (root);
}

/* A page that nobody may read, near the slabs and not ours: the first extent is
 * small, and has its 2 MiB of address space alone. */
static void *
forbidden_near (const void *address)
{
  enum { WINDOW_BYTES = 2 * 1024 * 1024 };
  size_t page_bytes = (size_t) sysconf (_SC_PAGESIZE);
  char *start = (char *) ((uintptr_t) address & ~(uintptr_t) (WINDOW_BYTES - 1));

  for (size_t at = 0; at < WINDOW_BYTES; at += page_bytes)
    if (!slice_is_ours (start + at)
        && mmap (start + at, page_bytes, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)
               == start + at)
      return start + at;
  return NULL;
}

static void
damage_pprev_forbidden (void)
{
  void *root = ralloc_context (NULL);
  void *volatile *node = do_size (root, 40);

  node[-1] = forbidden_near ((const void *) node);
  do_free ((void *) node);
}

static void
damage_parent (void)
{
  void *root = ralloc_context (NULL);
  void *volatile *volatile node = do_size (root, 40);
  void *other = ralloc_context (NULL);

  node[-4] = other;
  do_free (root);
}

static void
linear_of_node (void)
{
  ralloc_linear_alloc_child (ralloc_size (NULL, 40), 8);
}

static void
resize_linear (void)
{
  reralloc_size (NULL, ralloc_linear_context (NULL), 5000);
}

/* Where a node's header would lie there is a freed block. */
static void
free_slice_after_freed (void)
{
  void *blocks[256];
  SliceBlockInfo info;

  for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i++)
    blocks[i] = slice_alloc (64);
  for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i += 2)
    slice_free1 (64, blocks[i]);
  for (unsigned i = 1; i < G_N_ELEMENTS (blocks); i += 2)
    {
      slice_block_info ((char *) blocks[i] - 32, &info);
      if (info.kind == SLICE_BLOCK_FREE)
        ralloc_free (blocks[i]);
    }
  ralloc_free (blocks[1]);
}

static void
gc_mark_node (void)
{
  ralloc_gc_mark_live (ralloc_gc_context (NULL), ralloc_size (NULL, 10));
}

/* Large, so it is a node. */
static void
gc_mark_other_large (void)
{
  RallocGc *other = ralloc_gc_context (NULL);

  ralloc_gc_mark_live (ralloc_gc_context (NULL),
                       ralloc_gc_alloc_size (other, 20000, 8));
}

static void
gc_of_node (void)
{
  ralloc_gc_alloc_size (rzalloc_size (NULL, 4000), 8, 8);
}

static void
gc_bad_align (void)
{
  ralloc_gc_alloc_size (ralloc_gc_context (NULL), 8, 24);
}

static void
gc_free_twice (void)
{
  RallocGc *gc = ralloc_gc_context (NULL);
  void *object;

  for (unsigned i = 0; i < 10; i++)
    object = ralloc_gc_alloc_size (gc, 48, 8);
  ralloc_gc_free (object);
  ralloc_gc_free (object);
}

static void
gc_free_interior (void)
{
  char *object = ralloc_gc_alloc_size (ralloc_gc_context (NULL), 48, 8);

  ralloc_gc_free (object + 16);
}

static void
wrong_type (void)
{
  int *number = ralloc_typed (NULL, int);

  g_assert_true (ralloc_get_type_abort (number, int) == number);
  ralloc_get_type_abort (number, double);
}

static void
append_to_null (void)
{
  char *text = NULL;

  ralloc_strcat (&text, "x");
}

/* --- with the option debug --- */

static void
debug_on (void)
{
  g_assert_cmpint (slice_set_option (SLICE_OPTION_DEBUG, 1), ==,
                   SLICE_SET_OK);
}

static void *
use_tree (void *tree)
{
  ralloc_size (tree, 10);
  return NULL;
}

static void *
take_and_use_tree (void *tree)
{
  ralloc_measure_tree (tree);
  return use_tree (tree);
}

static void
other_thread (void)
{
  pthread_t thread;
  void *tree;

  debug_on ();
  tree = ralloc_context (ralloc_context (NULL));
  pthread_create (&thread, NULL, take_and_use_tree, tree);
  pthread_join (thread, NULL);
  fputs ("taken\n", stderr);
  ralloc_measure_tree (tree);
  pthread_create (&thread, NULL, use_tree, tree);
  pthread_join (thread, NULL);
}

static void
in_other_thread (void *(*function) (void *), void *tree)
{
  pthread_t thread;

  pthread_create (&thread, NULL, function, tree);
  pthread_join (thread, NULL);
}

static void *
steal_into_tree (void *tree)
{
  void *own = ralloc_context (NULL);

  ralloc_steal (own, ralloc_size (own, 10));
  fputs ("own\n", stderr);
  ralloc_steal (tree, own);
  return NULL;
}

static void
other_thread_steal (void)
{
  debug_on ();
  in_other_thread (steal_into_tree, ralloc_context (NULL));
}

/* Nothing that the first owner's calls have found out is believed later. */
static void
first_owner (void)
{
  void *root;
  void *node;

  debug_on ();
  root = ralloc_context (NULL);
  node = ralloc_size (ralloc_context (root), 10);
  ralloc_size (node, 10);
  in_other_thread (take_and_use_tree, node);
  fputs ("taken\n", stderr);
  ralloc_size (node, 10);
}

static void
wrong_parent (void)
{
  void *root, *node;

  debug_on ();
  root = ralloc_context (NULL);
  node = ralloc_size (root, 10);
  node = reralloc_size (root, node, 100);
  reralloc_size (node, node, 1000);
}

/* What a memory checker reports itself, with both stacks, we leave to it. */
/* NULL where a node or a string must be. */
static void
limit_of_null (void)
{
  ralloc_set_limit (NULL, 1000);
}

static void
name_of_null (void)
{
  ralloc_set_name (NULL, "name");
}

static void
reference_to_null (void)
{
  ralloc_reference (ralloc_context (NULL), NULL);
}

static void
reference_from_null (void)
{
  ralloc_reference (NULL, ralloc_context (NULL));
}

static void
linear_append_to_null (void)
{
  char *text = NULL;

  ralloc_linear_strcat (ralloc_linear_context (NULL), &text, "more");
}

static void
linear_append_null (void)
{
  void *linear = ralloc_linear_context (NULL);
  char *text = ralloc_linear_strdup (linear, "text");

  ralloc_linear_strcat (linear, &text, NULL);
}

static void
type_of_null (void)
{
  ralloc_check_name_abort (NULL, "int", "here");
}

typedef struct
{
  const char *name;
  void (*run) (void);
  const char *message;
  bool left_to_tools;
} Misuse;

static const Misuse misuses[]
    = { { "free-twice", free_twice, "*error 201*", true },
        { "free-child-after-parent", free_child_after_parent, "*error 201*",
          true },
        { "free-refilled", free_refilled, "*error 201*", true },
        { "free-large-twice", free_large_twice, "*error 200*", true },
        { "free-linear-twice", free_linear_twice, "*error 201*", true },
        { "free-interior", free_interior, "*error 202*", true },
        { "free-like-dying", free_like_dying, "*error 202*", true },
        { "free-odd", free_odd, "*error 20*", false },
        { "free-in-large", free_in_large, "*error 200*", true },
        { "free-malloc", free_malloc, "*error 200*", true },
        { "free-stack", free_stack, "*error 200*", true },
        { "free-static", free_static, "*error 200*", true },
        { "free-unmapped", free_unmapped, "*error 200*", true },
        { "free-slice", free_slice, "*error 200*", true },
        { "free-slice-after-freed", free_slice_after_freed, "*error 200*",
          true },
        { "free-low-address", free_dead_page, "*error 200*", true },
        { "steal-freed", steal_freed, "*error 201*", true },
        { "steal-to-freed", steal_to_freed, "*error 201*", true },
        { "alloc-on-freed", alloc_on_freed, "*error 201*", true },
        { "resize-freed", resize_freed, "*error 201*", true },
        { "steal-cycle", steal_cycle,
          "*error 204: a node can't hang below its own descendant: "
          "ralloc_steal (new parent 0x*, which lies below node 0x*)\n",
          false },
        { "steal-self", steal_self,
          "*error 204: a node can't be its own parent: ralloc_steal (0x*, "
          "0x*)\n",
          false },
        { "adopt-cycle", adopt_cycle,
          "*error 204: a node can't adopt its own ancestors: ralloc_adopt "
          "(new parent 0x*, which lies below old parent 0x*)\n",
          false },
        { "damage-next", damage_next, "*error 203*", true },
        { "damage-pprev", damage_pprev, "*error 203*", true },
        { "damage-pprev-forbidden", damage_pprev_forbidden, "*error 200*",
          true },
        { "damage-parent", damage_parent, "*error 203*", true },
        { "linear-of-node", linear_of_node, "*error 206*", true },
        { "resize-linear", resize_linear, "*error 213*", true },
        { "gc-of-node", gc_of_node, "*error 207*", false },
        { "gc-mark-node", gc_mark_node, "*error 207*", false },
        { "gc-mark-other-large", gc_mark_other_large, "*error 207*", false },
        { "gc-bad-align", gc_bad_align, "*error 207*", false },
        { "gc-free-twice", gc_free_twice, "*error 207*", true },
        { "gc-free-interior", gc_free_interior, "*error 207*", true },
        { "wrong-type", wrong_type, "*error 208*double*int*", false },
        { "append-to-null", append_to_null, "*error 210*", false },
        { "limit-of-null", limit_of_null, "*error 210*ralloc_set_limit*",
          false },
        { "name-of-null", name_of_null, "*error 210*ralloc_set_name*",
          false },
        { "reference-to-null", reference_to_null,
          "*error 210*ralloc_reference*", false },
        { "reference-from-null", reference_from_null,
          "*error 210*ralloc_reference*", false },
        { "linear-append-to-null", linear_append_to_null,
          "*error 210*ralloc_linear_strcat*", false },
        { "linear-append-null", linear_append_null,
          "*error 210*ralloc_linear_strcat*", false },
        { "type-of-null", type_of_null, "*error 208*int*NULL*here*", false },
        { "other-thread", other_thread, "*taken*error 209*", false },
        { "other-thread-steal", other_thread_steal, "*own*error 209*",
          false },
        { "first-owner", first_owner, "*taken*error 209*", false },
        { "wrong-parent", wrong_parent, "*error 205*", false } };

static void
test_misuse (gconstpointer data)
{
  const Misuse *misuse = data;

  if (g_test_subprocess ())
    {
      misuse->run ();
      return;
    }
  if (misuse->left_to_tools && is_annotated ())
    {
      g_test_skip ("a memory checker reports it");
      return;
    }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr (misuse->message);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (unsigned i = 0; i < G_N_ELEMENTS (misuses); i++)
    {
      char *path = g_strdup_printf ("/slice/ralloc-misuse/%s",
                                    misuses[i].name);
      g_test_add_data_func (path, &misuses[i], test_misuse);
      g_free (path);
    }
  return g_test_run ();
}
