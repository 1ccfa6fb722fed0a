/* expand.c - from a recorded tree of blocks to plain allocations and frees
 *
 * A program that uses contexts frees a whole tree by one call.  Slices have
 * no trees, so the tree is followed here, before anything is timed, and each
 * block gets a free of its own.
 *
 * The blocks of the stream live in slots, and a slot that a free has emptied
 * is the next to be filled: the table that a replay reads stays as small as
 * the program's live set.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/recording/recording.h>
#include <tests/stress/stress.h>

#include <stdlib.h>
#include <string.h>

#define NO_SLOT UINT32_MAX

typedef struct
{
  Recording recording;
  bool with_arenas;
  uint32_t header_bytes;
  uint32_t *slots; /* [slots_capacity], by node; NO_SLOT: no block */
  uint32_t slots_capacity;
  uint32_t *free_slots; /* a stack */
  uint32_t n_free_slots, free_slots_capacity;
  Stream *stream;
  uint32_t ops_capacity;
} Expansion;

static void
op_append (Expansion *expansion, uint32_t slot, unsigned kind, uint32_t size)
{
  Stream *stream = expansion->stream;

  if (stream->n_ops == UINT32_MAX)
    stress_fail (EXIT_FOUND, "no memory for a stream of this length");
  stream->ops = recording_grow (stream->ops, (uint32_t) stream->n_ops,
                                &expansion->ops_capacity, sizeof (StreamOp));
  stream->ops[stream->n_ops++]
      = (StreamOp){ slot, size << STREAM_KIND_BITS | kind };
}

static uint32_t
slot_take (Expansion *expansion)
{
  if (expansion->n_free_slots > 0)
    return expansion->free_slots[--expansion->n_free_slots];
  return expansion->stream->n_slots++;
}

static void
slot_give (Expansion *expansion, uint32_t slot)
{
  expansion->free_slots
      = recording_grow (expansion->free_slots, expansion->n_free_slots,
                        &expansion->free_slots_capacity, sizeof (uint32_t));
  expansion->free_slots[expansion->n_free_slots++] = slot;
}

/* The size of a node's block whose recorded size is that.  Objects of linear
 * and of collected contexts have no header.  A block of 0 bytes is no block
 * for slices, so it is none for anybody. */
static uint32_t
block_size (const Expansion *expansion, const RecordedNode *node,
            uint32_t size)
{
  bool is_arena = strchr ("pGlg", node->letter) != NULL;

  if (is_arena && !expansion->with_arenas)
    return 0;
  return strchr ("lg", node->letter) != NULL ? size
                                             : size + expansion->header_bytes;
}

static void
block_alloc (Expansion *expansion, uint32_t node, uint32_t size, bool zeroed)
{
  uint32_t slot = slot_take (expansion);

  expansion->slots[node] = slot;
  op_append (expansion, slot, zeroed ? STREAM_ALLOC0 : STREAM_ALLOC, size);
  expansion->stream->n_pairs++;
  expansion->stream->n_zeroed += zeroed;
}

static void
block_free (Expansion *expansion, uint32_t node, uint32_t size)
{
  uint32_t slot = expansion->slots[node];

  op_append (expansion, slot, STREAM_FREE, size);
  slot_give (expansion, slot);
  expansion->slots[node] = NO_SLOT;
}

static void
on_made (void *data, uint32_t index)
{
  Expansion *expansion = data;
  const RecordedNode *node = &expansion->recording.nodes[index];
  uint32_t size = block_size (expansion, node, node->size);

  expansion->slots = recording_grow (
      expansion->slots, index, &expansion->slots_capacity, sizeof (uint32_t));
  expansion->slots[index] = NO_SLOT;
  if (size > 0)
    block_alloc (expansion, index, size, node->letter == 'z');
}

static void
on_resized (void *data, uint32_t index, uint32_t old_recorded)
{
  Expansion *expansion = data;
  const RecordedNode *node = &expansion->recording.nodes[index];
  uint32_t size = block_size (expansion, node, node->size);
  uint32_t old_size = block_size (expansion, node, old_recorded);

  if (old_size == 0 && size > 0)
    block_alloc (expansion, index, size, false);
  else if (old_size > 0 && size == 0)
    block_free (expansion, index, old_size);
  else if (size > 0)
    {
      uint32_t slot = expansion->slots[index];

      op_append (expansion, slot, STREAM_RESIZE, size);
      op_append (expansion, slot, STREAM_RESIZE, old_size);
      expansion->stream->n_resizes++;
      expansion->stream->n_pairs++;
    }
}

static void
on_ended (void *data, uint32_t index)
{
  Expansion *expansion = data;
  const RecordedNode *node = &expansion->recording.nodes[index];

  if (expansion->slots[index] != NO_SLOT)
    block_free (expansion, index, block_size (expansion, node, node->size));
}

/* Reads and expands a recorded stream.  False: said on standard error. */
bool
stream_read (Stream *stream, const char *path, bool with_arenas,
             uint32_t header_bytes)
{
  static const RecordingEvents events
      = { .made = on_made, .resized = on_resized, .ended = on_ended };
  Expansion expansion = { .recording = { .program = "slice-test",
                                         .events = &events,
                                         .data = &expansion,
                                         .size_max
                                         = STREAM_SIZE_MAX - header_bytes },
                          .with_arenas = with_arenas,
                          .header_bytes = header_bytes,
                          .stream = stream };
  bool good;
  size_t n_ops;

  memset (stream, 0, sizeof *stream);
  recording_init (&expansion.recording);
  good = recording_read_path (&expansion.recording, path);
  n_ops = stream->n_ops;
  recording_finish (&expansion.recording);
  stream->n_left = stream->n_ops - n_ops;
  recording_clear (&expansion.recording);
  free (expansion.slots);
  free (expansion.free_slots);
  if (good && stream->n_ops == 0)
    fprintf (stderr, "slice-test: %s: no operations in it\n", path);
  good = good && stream->n_ops > 0;
  if (!good)
    stream_destroy (stream);
  return good;
}
