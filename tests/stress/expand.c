/* expand.c - from a recorded tree of blocks to plain allocations and frees
 *
 * Nodes are numbers into one array; node 0 is the root, the parent of what
 * has none.  A node is linked to its parent, its neighbours and its first
 * child; new children come first, and a tree is freed leaves first, in the
 * order of the lists, as the recorded program does it.  Nothing recurses.
 *
 * The blocks of the stream live in slots, and a slot that a free has emptied
 * is the next to be filled: the table that a replay reads stays as small as
 * the program's live set.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/expand.h>

#include <stdlib.h>
#include <string.h>

#define ROOT 0u
#define NO_SLOT UINT32_MAX
/* More would be a broken file, not a recording. */
#define IDS_MAX (1u << 26)

typedef struct
{
  uint32_t parent;
  uint32_t child;      /* the first; 0: none */
  uint32_t next, prev; /* neighbours; 0: none */
  uint32_t size;
  uint32_t slot;  /* NO_SLOT: no block */
  uint32_t sweep; /* number of the last sweep that it survived; of a
                     context: of the last one begun */
  uint8_t kind;   /* a NodeKind */
  bool alive;
} Node;

struct Expansion
{
  Node *nodes;
  uint32_t n_nodes, room_nodes;
  uint32_t *node_of_id; /* [room_ids]; 0: never seen */
  uint32_t room_ids;
  uint32_t *free_slots; /* a stack */
  uint32_t n_free_slots, room_free_slots;
  Stream stream;
  size_t room_ops;
};

/* --- growing arrays -------------------------------------------------------
 */

/* Makes room for one element more; `room` counts elements. */
static void *
array_grow (void *array, uint32_t n, uint32_t *room, size_t size)
{
  if (n < *room)
    return array;
  *room = *room == 0 ? 1024 : *room * 2;
  array = realloc (array, *room * size);
  if (array == NULL)
    stress_fail (EXIT_FOUND, "no memory for a stream of this length");
  return array;
}

static void
op_append (Expansion *expansion, uint32_t slot, unsigned kind, uint32_t size)
{
  Stream *stream = &expansion->stream;
  if (stream->n_ops == expansion->room_ops)
    {
      expansion->room_ops = expansion->room_ops * 2 + 4096;
      stream->ops
          = realloc (stream->ops, expansion->room_ops * sizeof (StreamOp));
      if (stream->ops == NULL)
        stress_fail (EXIT_FOUND, "no memory for a stream of this length");
    }
  stream->ops[stream->n_ops++]
      = (StreamOp){ slot, size << STREAM_KIND_BITS | kind };
}

/* --- blocks in slots ------------------------------------------------------
 */

static uint32_t
slot_take (Expansion *expansion)
{
  if (expansion->n_free_slots > 0)
    return expansion->free_slots[--expansion->n_free_slots];
  return expansion->stream.n_slots++;
}

static void
slot_give (Expansion *expansion, uint32_t slot)
{
  expansion->free_slots
      = array_grow (expansion->free_slots, expansion->n_free_slots,
                    &expansion->room_free_slots, sizeof (uint32_t));
  expansion->free_slots[expansion->n_free_slots++] = slot;
}

/* A block of 0 bytes is no block for slices, so it is none for anybody. */
static void
node_alloc_block (Expansion *expansion, Node *node, uint32_t size, bool zeroed)
{
  node->size = size;
  node->slot = NO_SLOT;
  if (size == 0)
    return;
  node->slot = slot_take (expansion);
  op_append (expansion, node->slot, zeroed ? STREAM_ALLOC0 : STREAM_ALLOC,
             size);
  expansion->stream.n_pairs++;
  expansion->stream.n_zeroed += zeroed;
}

static void
node_free_block (Expansion *expansion, Node *node)
{
  if (node->slot == NO_SLOT)
    return;
  op_append (expansion, node->slot, STREAM_FREE, node->size);
  slot_give (expansion, node->slot);
  node->slot = NO_SLOT;
}

/* --- the tree -------------------------------------------------------------
 */

static void
node_link (Expansion *expansion, uint32_t index, uint32_t parent)
{
  Node *nodes = expansion->nodes;
  nodes[index].parent = parent;
  nodes[index].prev = 0;
  nodes[index].next = nodes[parent].child;
  if (nodes[parent].child != 0)
    nodes[nodes[parent].child].prev = index;
  nodes[parent].child = index;
}

static void
node_unlink (Expansion *expansion, uint32_t index)
{
  Node *nodes = expansion->nodes;
  const Node *node = &nodes[index];
  if (node->prev != 0)
    nodes[node->prev].next = node->next;
  else
    nodes[node->parent].child = node->next;
  if (node->next != 0)
    nodes[node->next].prev = node->prev;
}

/* Frees a node and all beneath it, leaves first. */
static void
node_free_tree (Expansion *expansion, uint32_t top)
{
  Node *nodes = expansion->nodes;
  uint32_t index = top;

  for (;;)
    {
      while (nodes[index].child != 0)
        index = nodes[index].child;
      uint32_t parent = nodes[index].parent;
      node_unlink (expansion, index);
      node_free_block (expansion, &nodes[index]);
      nodes[index].alive = false;
      if (index == top)
        return;
      index = parent;
    }
}

static uint32_t
node_new (Expansion *expansion, uint32_t parent, NodeKind kind)
{
  expansion->nodes = array_grow (expansion->nodes, expansion->n_nodes,
                                 &expansion->room_nodes, sizeof (Node));
  uint32_t index = expansion->n_nodes++;
  Node *node = &expansion->nodes[index];
  memset (node, 0, sizeof *node);
  node->slot = NO_SLOT;
  node->kind = (uint8_t)kind;
  node->alive = true;
  node->sweep = expansion->nodes[parent].sweep;
  node_link (expansion, index, parent);
  return index;
}

/* --- ids ------------------------------------------------------------------
 */

static const char *
id_find (const Expansion *expansion, uint32_t id, uint32_t *index)
{
  *index = id < expansion->room_ids ? expansion->node_of_id[id] : 0;
  if (*index == 0)
    return "there never was such a block";
  if (!expansion->nodes[*index].alive)
    return "that block has been freed";
  return NULL;
}

static const char *
id_find_parent (const Expansion *expansion, uint32_t id, uint32_t *index)
{
  *index = ROOT;
  return id == 0 ? NULL : id_find (expansion, id, index);
}

static const char *
id_reserve (Expansion *expansion, uint32_t id)
{
  if (id == 0 || id >= IDS_MAX)
    return "the id is out of range";
  if (id < expansion->room_ids)
    return expansion->node_of_id[id] != 0 ? "that id was used before" : NULL;
  uint32_t room = expansion->room_ids == 0 ? 1024 : expansion->room_ids;
  while (room <= id)
    room *= 2;
  expansion->node_of_id
      = realloc (expansion->node_of_id, room * sizeof (uint32_t));
  if (expansion->node_of_id == NULL)
    stress_fail (EXIT_FOUND, "no memory for %u ids", room);
  memset (expansion->node_of_id + expansion->room_ids, 0,
          (room - expansion->room_ids) * sizeof (uint32_t));
  expansion->room_ids = room;
  return NULL;
}

/* --- operations -----------------------------------------------------------
 */

const char *
expansion_add (Expansion *expansion, uint32_t id, uint32_t parent,
               NodeKind kind, uint32_t size, bool zeroed)
{
  uint32_t parent_index;
  const char *wrong = id_find_parent (expansion, parent, &parent_index);
  if (wrong == NULL)
    wrong = id_reserve (expansion, id);
  if (wrong != NULL)
    return wrong;
  uint32_t index = node_new (expansion, parent_index, kind);
  expansion->node_of_id[id] = index;
  node_alloc_block (expansion, &expansion->nodes[index],
                    kind == NODE_BARE ? 0 : size, zeroed);
  return NULL;
}

const char *
expansion_add_nameless (Expansion *expansion, uint32_t parent, uint32_t size)
{
  uint32_t parent_index;
  const char *wrong = id_find (expansion, parent, &parent_index);
  if (wrong != NULL)
    return wrong;
  uint32_t index = node_new (expansion, parent_index, NODE_BLOCK);
  node_alloc_block (expansion, &expansion->nodes[index], size, false);
  return NULL;
}

const char *
expansion_resize (Expansion *expansion, uint32_t id, uint32_t size)
{
  uint32_t index;
  const char *wrong = id_find (expansion, id, &index);
  if (wrong != NULL)
    return wrong;
  Node *node = &expansion->nodes[index];
  if (node->slot == NO_SLOT)
    node_alloc_block (expansion, node, size, false);
  else if (size == 0)
    node_free_block (expansion, node);
  else
    {
      op_append (expansion, node->slot, STREAM_RESIZE, size);
      op_append (expansion, node->slot, STREAM_RESIZE, node->size);
      expansion->stream.n_resizes++;
      expansion->stream.n_pairs++;
    }
  node->size = size;
  return NULL;
}

const char *
expansion_free (Expansion *expansion, uint32_t id)
{
  uint32_t index;
  const char *wrong = id_find (expansion, id, &index);
  if (wrong == NULL)
    node_free_tree (expansion, index);
  return wrong;
}

/* Is `index` the node `above` or beneath it? */
static bool
node_is_beneath (const Expansion *expansion, uint32_t index, uint32_t above)
{
  for (; index != ROOT; index = expansion->nodes[index].parent)
    if (index == above)
      return true;
  return false;
}

const char *
expansion_move (Expansion *expansion, uint32_t id, uint32_t parent)
{
  uint32_t index, parent_index;
  const char *wrong = id_find (expansion, id, &index);
  if (wrong == NULL)
    wrong = id_find_parent (expansion, parent, &parent_index);
  if (wrong != NULL)
    return wrong;
  if (node_is_beneath (expansion, parent_index, index))
    return "a block would become its own ancestor";
  node_unlink (expansion, index);
  node_link (expansion, index, parent_index);
  return NULL;
}

const char *
expansion_adopt (Expansion *expansion, uint32_t new_parent,
                 uint32_t old_parent)
{
  uint32_t new_index, old_index;
  const char *wrong = id_find_parent (expansion, new_parent, &new_index);
  if (wrong == NULL)
    wrong = id_find (expansion, old_parent, &old_index);
  if (wrong != NULL)
    return wrong;
  if (node_is_beneath (expansion, new_index, old_index))
    return "a block would become its own ancestor";
  while (expansion->nodes[old_index].child != 0)
    {
      uint32_t child = expansion->nodes[old_index].child;
      node_unlink (expansion, child);
      node_link (expansion, child, new_index);
    }
  return NULL;
}

const char *
expansion_sweep_begin (Expansion *expansion, uint32_t id)
{
  uint32_t index;
  const char *wrong = id_find (expansion, id, &index);
  if (wrong == NULL)
    expansion->nodes[index].sweep++;
  return wrong;
}

const char *
expansion_mark (Expansion *expansion, uint32_t id)
{
  uint32_t index;
  const char *wrong = id_find (expansion, id, &index);
  if (wrong == NULL)
    {
      Node *node = &expansion->nodes[index];
      node->sweep = expansion->nodes[node->parent].sweep;
    }
  return wrong;
}

const char *
expansion_sweep_end (Expansion *expansion, uint32_t id)
{
  uint32_t index;
  const char *wrong = id_find (expansion, id, &index);
  if (wrong != NULL)
    return wrong;
  uint32_t child = expansion->nodes[index].child;
  while (child != 0)
    {
      const Node *node = &expansion->nodes[child];
      uint32_t next = node->next;
      if (node->kind == NODE_COLLECTED
          && node->sweep != expansion->nodes[index].sweep)
        node_free_tree (expansion, child);
      child = next;
    }
  return NULL;
}

/* --- beginning and end -----------------------------------------------------
 */

Expansion *
expansion_new (void)
{
  Expansion *expansion = stress_alloc (1, sizeof *expansion);
  expansion->nodes
      = array_grow (NULL, 0, &expansion->room_nodes, sizeof (Node));
  memset (&expansion->nodes[ROOT], 0, sizeof (Node));
  expansion->nodes[ROOT].alive = true;
  expansion->nodes[ROOT].slot = NO_SLOT;
  expansion->n_nodes = 1;
  return expansion;
}

void
expansion_finish (Expansion *expansion, Stream *stream)
{
  size_t n_ops = expansion->stream.n_ops;
  while (expansion->nodes[ROOT].child != 0)
    node_free_tree (expansion, expansion->nodes[ROOT].child);
  expansion->stream.n_left = expansion->stream.n_ops - n_ops;
  *stream = expansion->stream;
  memset (&expansion->stream, 0, sizeof expansion->stream);
}

void
expansion_destroy (Expansion *expansion)
{
  free (expansion->nodes);
  free (expansion->node_of_id);
  free (expansion->free_slots);
  free (expansion->stream.ops);
  free (expansion);
}
