/* test-ralloc-misuse.c - each misuse of contexts ends with its own message
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

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
  _Alignas(16) char buffer[512];

  memset (buffer, 0, sizeof buffer);
  do_free (buffer + 256);
}

static void
free_static (void)
{
  static _Alignas(16) char buffer[512];

  do_free (buffer + 256);
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
  char *start
      = (char *) ((uintptr_t) address & ~(uintptr_t) (WINDOW_BYTES - 1));

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

/* The slab that was marked last has gone, and another context has its place.
 * (Without a slab, where objects are nodes, any node of the other will do.) */
static void
gc_mark_in_old_place (void)
{
  RallocGc *gc = ralloc_gc_context (NULL);
  RallocGc *other = ralloc_gc_context (NULL);
  const void *old = ralloc_gc_alloc_size (gc, 48, 8);
  void *objects[2];

  ralloc_gc_sweep_start (gc);
  ralloc_gc_mark_live (gc, old);
  ralloc_gc_sweep_end (gc);
  ralloc_gc_sweep_start (gc);
  ralloc_gc_sweep_end (gc);
  objects[0] = ralloc_gc_alloc_size (other, 48, 8);
  objects[1] = ralloc_gc_alloc_size (other, 48, 8);
  ralloc_gc_mark_live (gc, objects[objects[1] == old]);
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
gc_free_next (void)
{
  char *object = ralloc_gc_alloc_size (ralloc_gc_context (NULL), 48, 8);

  ralloc_gc_free (object + 48);
}

static void
gc_mark_next (void)
{
  RallocGc *gc = ralloc_gc_context (NULL);
  char *object = ralloc_gc_alloc_size (gc, 48, 8);

  ralloc_gc_sweep_start (gc);
  ralloc_gc_mark_live (gc, object + 48);
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

/* What a second thread does while a destructor of the first one waits for it;
 * so the first is at work on the tree. */
static void *tree_in_use;
static void *(*second_thread) (void *);

static void
wait_for_second_thread (void *node)
{
  /* With 32 bits a word has space for seven tags or fifteen: a thread may have
   * the first one's, but several have not. */
  pthread_t threads[sizeof (void *) > 4 ? 1 : 8];

  (void) node;
  fputs ("freeing\n", stderr);
  for (size_t i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_create (&threads[i], NULL, second_thread, tree_in_use);
  for (size_t i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_join (threads[i], NULL);
}

static void
two_threads (void *(*second) (void *))
{
  void *node;

  debug_on ();
  tree_in_use = ralloc_context (ralloc_context (NULL));
  second_thread = second;
  node = ralloc_size (tree_in_use, 10);
  ralloc_set_destructor (node, wait_for_second_thread);
  ralloc_free (node);
}

static void *
use_tree (void *tree)
{
  ralloc_size (tree, 10);
  return NULL;
}

static void
second_thread_allocs (void)
{
  two_threads (use_tree);
}

static void *
steal_into_tree (void *tree)
{
  ralloc_steal (tree, ralloc_context (NULL));
  return NULL;
}

static void
second_thread_steals (void)
{
  two_threads (steal_into_tree);
}

static void *
free_tree (void *tree)
{
  ralloc_free (tree);
  return NULL;
}

static void
second_thread_frees (void)
{
  two_threads (free_tree);
}

static void *
free_children_of_tree (void *tree)
{
  ralloc_free_children (tree);
  return NULL;
}

static void
second_thread_frees_children (void)
{
  two_threads (free_children_of_tree);
}

static void *
adopt_into_tree (void *tree)
{
  void *other = ralloc_context (NULL);

  ralloc_size (other, 10);
  ralloc_adopt (tree, other);
  return NULL;
}

static void
second_thread_adopts (void)
{
  two_threads (adopt_into_tree);
}

static void *
linear_in_tree (void *tree)
{
  ralloc_linear_context (tree);
  return NULL;
}

static void
second_thread_makes_linear (void)
{
  two_threads (linear_in_tree);
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
destructor_of_null (void)
{
  ralloc_set_destructor (NULL, NULL);
}

static void
refusal_of_null (void)
{
  ralloc_set_refusing_destructor (NULL, NULL);
}

static void
no_limit_of_null (void)
{
  ralloc_set_limit (NULL, 0);
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
append_null (void)
{
  char *text = ralloc_strdup (NULL, "text");

  ralloc_str_append (&text, NULL, 4, 1);
}

static void
linear_print_to_null (void)
{
  ralloc_linear_asprintf_append (ralloc_linear_context (NULL), NULL, "%d", 1);
}

static void
linear_rewrite_null (void)
{
  size_t start = 0;

  ralloc_linear_asprintf_rewrite_tail (ralloc_linear_context (NULL), NULL,
                                       &start, "%d", 1);
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
        { "gc-of-node", gc_of_node, "*error 207*no gc context*",
          false },
        { "gc-mark-node", gc_mark_node, "*error 207*no object*",
          false },
        { "gc-mark-other-large", gc_mark_other_large, "*error 207*another gc*",
          false },
        { "gc-mark-in-old-place", gc_mark_in_old_place,
          "*error 207*another gc*", false },
        { "gc-bad-align", gc_bad_align, "*error 207*alignment*",
          false },
        { "gc-free-twice", gc_free_twice, "*error 207*free already*",
          true },
        { "gc-free-next", gc_free_next, "*error 207*free already*",
          true },
        { "gc-mark-next", gc_mark_next, "*error 207*free already*",
          true },
        { "gc-free-interior", gc_free_interior, "*error 207*inside an object*",
          true },
        { "wrong-type", wrong_type, "*error 208*double*int*", false },
        { "append-to-null", append_to_null, "*error 210*", false },
        { "limit-of-null", limit_of_null, "*error 210*ralloc_set_limit*",
          false },
        { "destructor-of-null", destructor_of_null,
          "*error 210*ralloc_set_destructor*", false },
        { "refusal-of-null", refusal_of_null,
          "*error 210*ralloc_set_refusing_destructor*", false },
        { "no-limit-of-null", no_limit_of_null,
          "*error 210*ralloc_set_limit*", false },
        { "name-of-null", name_of_null, "*error 210*ralloc_set_name*",
          false },
        { "reference-to-null", reference_to_null,
          "*error 210*ralloc_reference*", false },
        { "reference-from-null", reference_from_null,
          "*error 210*ralloc_reference*", false },
        { "append-null", append_null, "*error 210*ralloc_str_append*",
          false },
        { "linear-print-to-null", linear_print_to_null,
          "*error 210*ralloc_linear_asprintf_append*", false },
        { "linear-rewrite-null", linear_rewrite_null,
          "*error 210*ralloc_linear_asprintf_rewrite_tail*", false },
        { "linear-append-to-null", linear_append_to_null,
          "*error 210*ralloc_linear_strcat*", false },
        { "linear-append-null", linear_append_null,
          "*error 210*ralloc_linear_strcat*", false },
        { "type-of-null", type_of_null, "*error 208*int*NULL*here*", false },
        { "second-thread-allocs", second_thread_allocs,
          "*freeing*error 209*ralloc_size*", false },
        { "second-thread-steals", second_thread_steals,
          "*freeing*error 209*ralloc_steal*", false },
        /* With 32 bits one of the threads may have freed the tree (see
         * wait_for_second_thread), and the next one finds it freed: 201. */
        { "second-thread-frees", second_thread_frees,
          sizeof (void *) > 4 ? "*freeing*error 209*ralloc_free*"
                              : "*freeing*error 20?: *ralloc_free*",
          false },
        { "second-thread-frees-children", second_thread_frees_children,
          "*freeing*error 209*ralloc_free_children*", false },
        { "second-thread-adopts", second_thread_adopts,
          "*freeing*error 209*ralloc_adopt*", false },
        { "second-thread-makes-linear", second_thread_makes_linear,
          "*freeing*error 209*ralloc_linear_context*", false },
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
