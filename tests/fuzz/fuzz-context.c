/* fuzz-context.c - trees of contexts against a model, as bytes say
 *
 * The model knows of every node its parent, its bytes, whether it has a
 * destructor and whether it may be the parent of another's move.  After each
 * input all is freed: each destructor has run once, and nothing is live.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "fuzz.h"

enum
{
  N_NODES = 48,
  NONE = -1
};

typedef struct
{
  Filled bytes;
  int parent; /* NONE: a root */
  bool has_destructor;
} Node;

static Node nodes[N_NODES];
static unsigned n_destroyed, n_expected;

const char *const fuzz_name = "context";
const unsigned fuzz_n_kept = 0;

static void
count_destroyed (void *node)
{
  (void) node;
  n_destroyed++;
}

/* --- the model ----------------------------------------------------------- */

static bool
is_live (int i)
{
  return nodes[i].bytes.block != NULL;
}

/* Is it that node, or above it? */
static bool
is_above (int above, int i)
{
  for (; i != NONE; i = nodes[i].parent)
    if (i == above)
      return true;
  return false;
}

static size_t
count_tree (int root)
{
  size_t n = 0;

  for (int i = 0; i < N_NODES; i++)
    n += is_live (i) && is_above (root, i);
  return n;
}

/* Forgets what is below a node, and the node if `with_root`. */
static void
forget (int root, bool with_root)
{
  bool goes[N_NODES];

  for (int i = 0; i < N_NODES; i++)
    goes[i] = is_live (i) && is_above (root, i) && (i != root || with_root);
  for (int i = 0; i < N_NODES; i++)
    if (goes[i])
      {
        n_expected += nodes[i].has_destructor;
        nodes[i].bytes.block = NULL;
      }
}

static void
check (int i)
{
  const Node *node = &nodes[i];

  CHECK (is_whole (&node->bytes));
  CHECK (ralloc_parent (node->bytes.block)
         == (node->parent == NONE ? NULL : nodes[node->parent].bytes.block));
  CHECK (ralloc_usable_size (node->bytes.block) >= node->bytes.size);
  for (int k = 0; k < N_NODES; k++)
    CHECK (k == i || !is_live (k) || is_apart (&node->bytes, &nodes[k].bytes));
}

/* --- operations ---------------------------------------------------------- */

/* A live node, or NONE. */
static int
input_node (Input *input)
{
  int i = (int) (input_byte (input) % N_NODES);

  return is_live (i) ? i : NONE;
}

static void *
block_of (int i)
{
  return i == NONE ? NULL : nodes[i].bytes.block;
}

static void
make (int i, Input *input)
{
  int parent = input_node (input);
  void *ctx = block_of (parent);
  size_t size = input_size (input);
  unsigned kind = input_byte (input);
  Node *node = &nodes[i];
  void *block;

  switch (kind % 6)
    {
    case 0:
      block = rzalloc_size (ctx, size);
      CHECK (is_filled (block, size, 0));
      break;
    case 1:
      block = ralloc_array_size (ctx, size, 3);
      size *= 3;
      break;
    case 2:
      block = ralloc_context (ctx);
      size = 0;
      break;
    case 3:
      block = ralloc_asprintf (ctx, "%*d", (int) (size % 300 + 1), 7);
      size = strlen (block) + 1;
      CHECK (((char *) block)[size - 2] == '7');
      break;
    default:
      block = ralloc_size (ctx, size);
    }
  CHECK (block != NULL);
  *node = (Node){ { block, size, 0 }, parent, false };
  fill (&node->bytes, kind);
  if (input_byte (input) % 4 == 0)
    {
      ralloc_set_destructor (block, count_destroyed);
      node->has_destructor = true;
    }
}

static void
resize (int i, Input *input)
{
  Node *node = &nodes[i];
  size_t size = input_size (input), old = node->bytes.size;
  unsigned char *block;

  CHECK (is_whole (&node->bytes));
  if (size % 2 == 0)
    block = reralloc_size (block_of (node->parent), node->bytes.block, size);
  else
    {
      block = rerzalloc_size (block_of (node->parent), node->bytes.block, old,
                              size);
      CHECK (size <= old || is_filled (block + old, size - old, 0));
    }
  CHECK (block != NULL);
  CHECK (is_filled (block, size < old ? size : old, node->bytes.fill));
  node->bytes.block = block;
  node->bytes.size = size;
  fill (&node->bytes, input_byte (input));
}

static void
steal (int i, Input *input)
{
  int to = input_node (input);

  if (to != NONE && is_above (i, to))
    {
      CHECK (!ralloc_try_steal (block_of (to), block_of (i)));
      return;
    }
  ralloc_steal (block_of (to), block_of (i));
  nodes[i].parent = to;
}

/* All children of one node become another's. */
static void
adopt (int i, Input *input)
{
  int to = input_node (input);

  if (to == NONE || is_above (i, to))
    return;
  ralloc_adopt (block_of (to), block_of (i));
  for (int k = 0; k < N_NODES; k++)
    if (is_live (k) && nodes[k].parent == i)
      nodes[k].parent = to;
}

/* Children that the model does not follow: they die with the node. */
static void
add_arenas (int i, Input *input)
{
  RallocLinear *linear = ralloc_linear_context (block_of (i));
  unsigned n = input_byte (input) % 32;
  Filled last = { NULL, 0, 0 };

  for (unsigned k = 0; k < n; k++)
    {
      Filled next = { NULL, input_size (input) % 600, 0 };

      next.block = ralloc_linear_zalloc_child (linear, next.size);
      CHECK (is_filled (next.block, next.size, 0));
      fill (&next, k);
      CHECK (last.block == NULL || is_whole (&last));
      last = next;
    }
  ralloc_linear_free_context (linear);
}

static void
sweep (int i, Input *input)
{
  RallocGc *gc = ralloc_gc_context (block_of (i));
  Filled objects[16] = { { NULL, 0, 0 } };
  unsigned n = input_byte (input) % 16;

  for (unsigned k = 0; k < n; k++)
    {
      objects[k].size = 1 + input_size (input) % 700;
      objects[k].block = ralloc_gc_alloc_size (gc, objects[k].size,
                                               8u << (k % 4));
      CHECK ((uintptr_t) objects[k].block % (8u << (k % 4)) == 0);
      fill (&objects[k], k);
    }
  ralloc_gc_sweep_start (gc);
  for (unsigned k = 0; k < n; k += 2)
    ralloc_gc_mark_live (gc, objects[k].block);
  ralloc_gc_sweep_end (gc);
  for (unsigned k = 0; k < n; k += 2)
    CHECK (is_whole (&objects[k]));
  ralloc_free (gc);
}

static void
change (int i, Input *input)
{
  switch (input_byte (input) % 16)
    {
    case 0:
    case 1:
    case 2:
      check (i);
      ralloc_free (block_of (i));
      forget (i, true);
      break;
    case 3:
    case 4:
    case 5:
    case 6:
      resize (i, input);
      break;
    case 7:
    case 8:
    case 9:
      steal (i, input);
      break;
    case 10:
      adopt (i, input);
      break;
    case 11:
      ralloc_free_children (block_of (i));
      forget (i, false);
      break;
    case 12:
      add_arenas (i, input);
      break;
    case 13:
      sweep (i, input);
      break;
    case 14:
      CHECK (ralloc_set_name (block_of (i), "named"));
      CHECK (strcmp (ralloc_get_name (block_of (i)), "named") == 0);
      break;
    default:
      CHECK (ralloc_total_nodes (block_of (i)) == count_tree (i));
      break;
    }
}

void
fuzz_one (Input *input)
{
  while (input->n > 0)
    {
      int i = (int) (input_byte (input) % N_NODES);

      if (is_live (i))
        change (i, input);
      else
        make (i, input);
      if (is_live (i))
        check (i);
      CHECK (n_destroyed == n_expected);
    }
  for (int i = 0; i < N_NODES; i++)
    if (is_live (i) && nodes[i].parent == NONE)
      {
        ralloc_free (block_of (i));
        forget (i, true);
      }
  CHECK (n_destroyed == n_expected);
}
