/* test-ralloc-misuse.c - each misuse of nodes ends with its own message
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/misuse/ralloc-misuse.h"

#include <sys/mman.h>
#include <unistd.h>

static void (*volatile do_adopt) (const void *, void *) = ralloc_adopt;

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
  char *page
      = mmap (NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

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
  void *node = ralloc_size (NULL, 40);

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

/* A page that nobody may read, near the slabs and not ours: the first extent
 * is small, and has its 2 MiB of address space alone. */
static void *
forbidden_near (const void *address)
{
  enum
  {
    WINDOW_BYTES = 2 * 1024 * 1024
  };
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
wrong_type (void)
{
  int *number = ralloc_typed (NULL, int);

  g_assert_true (ralloc_get_type_abort (number, int) == number);
  ralloc_get_type_abort (number, double);
}

static void
wrong_type_somewhere (void)
{
  ralloc_check_name_abort (ralloc_typed (NULL, int), "double", NULL);
}

static const Misuse misuses[] = {
  { "free-twice", free_twice, "*error 201*", true },
  { "free-child-after-parent", free_child_after_parent, "*error 201*", true },
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
  { "free-slice-after-freed", free_slice_after_freed, "*error 200*", true },
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
  { "damage-pprev-forbidden", damage_pprev_forbidden, "*error 200*", true },
  { "damage-parent", damage_parent, "*error 203*", true },
  { "linear-of-node", linear_of_node, "*error 206*", true },
  { "resize-linear", resize_linear, "*error 213*", true },
  { "wrong-type", wrong_type, "*error 208*double*int*", false },
  { "wrong-type-somewhere", wrong_type_somewhere,
    "*error 208*double*int*at ?*", false }
};

/* With the option debug the message says who allocated and freed the node. */
static const Misuse misuses_with_debug[]
    = { { "free-twice", free_twice,
          "*error 201: a node that was freed before: ralloc_free (0x*), space "
          "for 40 bytes" ALLOCATED FREED,
          true },
        { "free-child-after-parent", free_child_after_parent,
          "*error 201: *), space for 40 bytes" ALLOCATED FREED, true },
        { "alloc-on-freed", alloc_on_freed,
          "*error 201: *), space for 40 bytes" ALLOCATED FREED, true },
        { "free-large-twice", free_large_twice,
          "*error 201: *), space for 100000 bytes" ALLOCATED FREED, true },
        { "free-linear-twice", free_linear_twice,
          "*error 201: *" ALLOCATED FREED, true },
        { "free-interior", free_interior,
          "*error 202: *, the block begins at * bytes" ALLOCATED "\n", true },
        { "free-slice", free_slice,
          "*error 200: *), inside a block of 64 bytes" ALLOCATED "\n", true },
        { "damage-next", damage_next,
          "*error 203: *), space for 40 bytes" ALLOCATED "\n", true },
        { "steal-self", steal_self,
          "*error 204: *), space for 40 bytes" ALLOCATED "\n", true },
        { "linear-of-node", linear_of_node,
          "*error 206: *), space for 40 bytes" ALLOCATED "\n", true },
        { "wrong-type", wrong_type,
          "*error 208: *, space for 4 bytes" ALLOCATED "\n", true },
        { "free-in-large", free_in_large,
          "*error 202: *, the block begins at * bytes" ALLOCATED "\n", true },
        { "resize-linear", resize_linear, "*error 213: *" ALLOCATED "\n",
          true } };

static void
free_node_as_slice (void)
{
  slice_free1 (100, ralloc_size (ralloc_context (NULL), 100));
}

static void
free_large_as_slice (void)
{
  slice_free1 (5000, ralloc_size (ralloc_context (NULL), 5000));
}

static void
free_slice_as_node (void)
{
  do_free (slice_alloc (64));
}

/* With always-malloc nodes and slices are of one kind, but for what a checking
 * mode remembers. */
static const Misuse misuses_with_malloc[]
    = { { "free-node-as-slice", free_node_as_slice,
          "*error 108: slice_free1: *given size 100, a node of a context*",
          true },
        { "free-large-as-slice", free_large_as_slice,
          "*error 108: slice_free1: *given size 5000, a node of a context*",
          true },
        { "free-slice-as-node", free_slice_as_node, "*error 200: *", true },
        { "free-twice", free_twice, "*error 201: *", true } };

static void
misuse_test_with_malloc (const void *data)
{
  if (g_test_subprocess ())
    {
      slice_set_option (SLICE_OPTION_CHECKED, 1);
      slice_set_option (SLICE_OPTION_ALWAYS_MALLOC, 1);
    }
  misuse_test (data);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  misuses_add ("/slice/ralloc-misuse", misuses, G_N_ELEMENTS (misuses),
               misuse_test);
  misuses_add ("/slice/ralloc-misuse/debug", misuses_with_debug,
               G_N_ELEMENTS (misuses_with_debug), misuse_test_with_debug);
  misuses_add ("/slice/ralloc-misuse/malloc", misuses_with_malloc,
               G_N_ELEMENTS (misuses_with_malloc), misuse_test_with_malloc);
  return g_test_run ();
}
