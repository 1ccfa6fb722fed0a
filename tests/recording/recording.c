/* recording.c - follows the tree of a recorded program
 *
 * A node is linked to its parent, its neighbours and its first child.  Nothing
 * recurses.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/recording/recording.h>

#include <stdlib.h>
#include <string.h>

#define ROOT 0u
/* More would be a broken file, not a recording. */
#define IDS_MAX (1u << 26)

/* Tells the program, if it wants to know. */
#define TELL(recording, event, ...)                                           \
  do                                                                          \
    {                                                                         \
      if ((recording)->events->event != NULL)                                 \
        (recording)->events->event ((recording)->data, __VA_ARGS__);          \
    }                                                                         \
  while (0)

void *
recording_grow (void *array, uint32_t n, uint32_t *capacity, size_t size)
{
  if (n < *capacity)
    return array;
  while (n >= *capacity)
    *capacity = *capacity == 0 ? 1024 : *capacity * 2;
  array = realloc (array, *capacity * size);
  if (array == NULL)
    {
      fputs ("no memory for a recording of this length\n", stderr);
      exit (1);
    }
  return array;
}

/* --- the tree ------------------------------------------------------------ */

static void
node_link (Recording *recording, uint32_t index, uint32_t parent)
{
  RecordedNode *nodes = recording->nodes;

  nodes[index].parent = parent;
  nodes[index].prev = 0;
  nodes[index].next = nodes[parent].child;
  if (nodes[parent].child != 0)
    nodes[nodes[parent].child].prev = index;
  nodes[parent].child = index;
}

static void
node_unlink (Recording *recording, uint32_t index)
{
  RecordedNode *nodes = recording->nodes;
  const RecordedNode *node = &nodes[index];

  if (node->prev != 0)
    nodes[node->prev].next = node->next;
  else
    nodes[node->parent].child = node->next;
  if (node->next != 0)
    nodes[node->next].prev = node->prev;
}

static void
node_move (Recording *recording, uint32_t index, uint32_t parent)
{
  node_unlink (recording, index);
  node_link (recording, index, parent);
  TELL (recording, moved, index);
}

/* Frees a node and all beneath it, leaves first. */
static void
node_free_tree (Recording *recording, uint32_t top)
{
  RecordedNode *nodes = recording->nodes;
  uint32_t index = top;

  TELL (recording, freed, top);
  for (;;)
    {
      uint32_t parent;

      while (nodes[index].child != 0)
        index = nodes[index].child;
      parent = nodes[index].parent;
      node_unlink (recording, index);
      nodes[index].is_alive = false;
      TELL (recording, ended, index);
      if (index == top)
        return;
      index = parent;
    }
}

/* Is `index` the node `above` or beneath it? */
static bool
node_is_beneath (const Recording *recording, uint32_t index, uint32_t above)
{
  for (; index != ROOT; index = recording->nodes[index].parent)
    if (index == above)
      return true;
  return false;
}

/* Makes the node without saying so. */
static uint32_t
node_new (Recording *recording, char letter, uint32_t parent, uint32_t size)
{
  uint32_t index = recording->n_nodes++;

  recording->nodes
      = recording_grow (recording->nodes, index, &recording->nodes_capacity,
                        sizeof *recording->nodes);
  recording->nodes[index]
      = (RecordedNode){ .letter = letter,
                        .is_alive = true,
                        .size = size,
                        .sweep = recording->nodes[parent].sweep };
  node_link (recording, index, parent);
  return index;
}

uint32_t
recording_add_own (Recording *recording, char letter, uint32_t parent,
                   uint32_t size)
{
  uint32_t index = node_new (recording, letter, parent, size);

  TELL (recording, made, index);
  return index;
}

/* --- ids ----------------------------------------------------------------- */

static const char *
id_find (const Recording *recording, uint32_t *id)
{
  uint32_t index
      = *id < recording->ids_capacity ? recording->node_of_id[*id] : 0;

  if (index == 0)
    return "there never was such a block";
  if (!recording->nodes[index].is_alive)
    return "that block has been freed";
  *id = index;
  return NULL;
}

static const char *
id_find_or_root (const Recording *recording, uint32_t *id)
{
  return *id == 0 ? NULL : id_find (recording, id);
}

static const char *
id_reserve (Recording *recording, uint32_t id)
{
  uint32_t capacity;

  if (id == 0 || id >= IDS_MAX)
    return "the id is out of range";
  capacity = recording->ids_capacity;
  if (id < capacity)
    return recording->node_of_id[id] != 0 ? "that id was used before" : NULL;
  recording->node_of_id
      = recording_grow (recording->node_of_id, id, &recording->ids_capacity,
                        sizeof *recording->node_of_id);
  memset (recording->node_of_id + capacity, 0,
          (recording->ids_capacity - capacity)
              * sizeof *recording->node_of_id);
  return NULL;
}

/* --- operations ---------------------------------------------------------- */

/* a, z, p, G, g; and l, whose blocks have no ids. */
static const char *
apply_make (Recording *recording, RecordedOp op)
{
  uint32_t id = op.node;
  const char *wrong = op.letter == 'l'
                          ? id_find (recording, &op.other)
                          : id_find_or_root (recording, &op.other);
  uint32_t index;

  if (wrong == NULL && op.letter != 'l')
    wrong = id_reserve (recording, id);
  if (wrong != NULL)
    return wrong;
  index = node_new (recording, op.letter, op.other, op.size);
  if (op.letter != 'l')
    recording->node_of_id[id] = index;
  op.node = op.letter == 'l' ? 0 : index;
  TELL (recording, op, &op);
  TELL (recording, made, index);
  return NULL;
}

static const char *
apply_resize (Recording *recording, RecordedOp op)
{
  RecordedNode *node = &recording->nodes[op.node];
  uint32_t old_size = node->size;

  op.other = node->parent;
  TELL (recording, op, &op);
  node->size = op.size;
  TELL (recording, resized, op.node, old_size);
  return NULL;
}

/* s: a node to another parent. */
static const char *
apply_steal (Recording *recording, RecordedOp op)
{
  const char *wrong = id_find_or_root (recording, &op.other);

  if (wrong != NULL)
    return wrong;
  if (node_is_beneath (recording, op.other, op.node))
    return "a block would become its own ancestor";
  TELL (recording, op, &op);
  node_move (recording, op.node, op.other);
  return NULL;
}

/* o: all children of another parent to a node. */
static const char *
apply_adopt (Recording *recording, RecordedOp op)
{
  const char *wrong = id_find_or_root (recording, &op.node);

  if (wrong == NULL)
    wrong = id_find (recording, &op.other);
  if (wrong != NULL)
    return wrong;
  if (node_is_beneath (recording, op.node, op.other))
    return "a block would become its own ancestor";
  TELL (recording, op, &op);
  while (recording->nodes[op.other].child != 0)
    node_move (recording, recording->nodes[op.other].child, op.node);
  return NULL;
}

/* E: what a context collects and is not marked since S is freed. */
static void
sweep_end (Recording *recording, uint32_t context)
{
  uint32_t child = recording->nodes[context].child;

  while (child != 0)
    {
      const RecordedNode *node = &recording->nodes[child];
      uint32_t next = node->next;

      if (node->letter == 'g'
          && node->sweep != recording->nodes[context].sweep)
        node_free_tree (recording, child);
      child = next;
    }
}

/* S, m, E. */
static const char *
apply_sweep (Recording *recording, RecordedOp op)
{
  RecordedNode *node = &recording->nodes[op.node];

  op.other = op.letter == 'm' ? node->parent : 0;
  TELL (recording, op, &op);
  if (op.letter == 'S')
    node->sweep++;
  else if (op.letter == 'm')
    node->sweep = recording->nodes[node->parent].sweep;
  else
    sweep_end (recording, op.node);
  return NULL;
}

/* f, x: a node and all beneath it. */
static const char *
apply_free (Recording *recording, RecordedOp op)
{
  TELL (recording, op, &op);
  node_free_tree (recording, op.node);
  return NULL;
}

const char *
recording_apply (Recording *recording, RecordedOp op)
{
  const char *wrong;

  if (strchr ("azpGgl", op.letter) != NULL)
    return apply_make (recording, op);
  if (strchr ("FdD", op.letter) != NULL)
    return NULL; /* consequences, and facts that a replay needs not */
  if (op.letter == 'o')
    return apply_adopt (recording, op);
  wrong = id_find (recording, &op.node);
  if (wrong != NULL)
    return wrong;
  if (op.letter == 'r')
    return apply_resize (recording, op);
  if (op.letter == 's')
    return apply_steal (recording, op);
  if (op.letter == 'f' || op.letter == 'x')
    return apply_free (recording, op);
  return apply_sweep (recording, op);
}

/* --- beginning and end --------------------------------------------------- */

void
recording_init (Recording *recording)
{
  recording->nodes = NULL;
  recording->nodes_capacity = 0;
  recording->nodes = recording_grow (NULL, 0, &recording->nodes_capacity,
                                     sizeof *recording->nodes);
  recording->nodes[ROOT] = (RecordedNode){ .is_alive = true };
  recording->n_nodes = 1;
  recording->node_of_id = NULL;
  recording->ids_capacity = 0;
}

void
recording_finish (Recording *recording)
{
  uint32_t child;

  while ((child = recording->nodes[ROOT].child) != 0)
    apply_free (recording, (RecordedOp){ .letter = 'f', .node = child });
}

void
recording_clear (Recording *recording)
{
  free (recording->nodes);
  free (recording->node_of_id);
}
