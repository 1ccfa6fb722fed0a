/* fuzz-arena.c - arenas of the four kinds against their models, as bytes say
 *
 * An input chooses how its arena gets memory, then is a program of operations.
 * No object overlaps another or loses a byte; what is asked for comes unless
 * there is a limit; the figures add up; TLSF is valid throughout; and at the
 * end nothing is live.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "fuzz.h"

enum
{
  N_OBJECTS = 96,
  N_MARKS = 8
};

static Filled objects[N_OBJECTS];
static unsigned n_objects; /* linear and stack: in use, oldest first */
static bool has_limit;

const char *const fuzz_name = "arena";
const unsigned fuzz_n_kept = 1; /* the table of spans that all arenas share */

static SliceArenaOptions
input_options (Input *input)
{
  SliceArenaOptions options = { 0 };
  unsigned bits = input_byte (input);

  if ((bits & 1) != 0)
    options.first_bytes = 64 + input_byte (input) * 16u;
  if ((bits & 2) != 0)
    options.cap_bytes = 8192 + input_byte (input) * 256u;
  if ((bits & 4) != 0)
    options.limit_bytes = 16384 + input_byte (input) * 256u;
  if ((bits & 8) != 0)
    options.flags = SLICE_ARENA_CHECKED;
  has_limit = options.limit_bytes != 0;
  return options;
}

static void
check_objects (unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    CHECK (objects[i].block == NULL || is_whole (&objects[i]));
}

static void
check_stats (const SliceArenaStats *stats)
{
  size_t asked = 0;

  for (unsigned i = 0; i < N_OBJECTS; i++)
    if (i < n_objects && objects[i].block != NULL)
      asked += objects[i].size;
  CHECK (stats->used_bytes >= asked);
  CHECK (stats->used_bytes + stats->free_bytes + stats->wasted_bytes
             + stats->control_bytes
         == stats->held_bytes);
}

/* A new object at a place of the model: apart from all others. */
static bool
put (unsigned at, void *block, size_t size, size_t alignment, Input *input)
{
  if (block == NULL)
    {
      CHECK (has_limit);
      return false;
    }
  CHECK ((uintptr_t) block % alignment == 0);
  objects[at].block = block;
  objects[at].size = size;
  for (unsigned i = 0; i < n_objects; i++)
    CHECK (i == at || objects[i].block == NULL
           || is_apart (&objects[i], &objects[at]));
  fill (&objects[at], input_byte (input));
  return true;
}

/* --- linear -------------------------------------------------------------- */

typedef struct
{
  SliceMark mark;
  unsigned n_objects;
} Mark;

static Mark marks[N_MARKS];
static unsigned n_marks;

static void
linear_add (SliceLinear *linear, Input *input)
{
  size_t size = input_size (input);
  unsigned kind = input_byte (input);
  size_t alignment = kind % 4 == 0 ? (size_t) 1 << (kind / 4 % 10) : 1;
  void *block;

  if (n_objects == N_OBJECTS)
    return;
  if (kind % 4 == 0)
    block = slice_linear_alloc_aligned (linear, alignment, size);
  else if (kind % 4 == 1)
    {
      block = slice_linear_alloc0 (linear, size);
      CHECK (block == NULL || is_filled (block, size, 0));
    }
  else
    block = slice_linear_alloc (linear, size);
  n_objects += put (n_objects, block, size, alignment, input);
}

/* An object that grows, byte by byte and by pieces. */
static void
linear_grow (SliceLinear *linear, Input *input)
{
  unsigned n = 1 + input_byte (input), step = 1 + input_byte (input);
  unsigned char piece[256];
  size_t size, left = 0;

  if (n_objects == N_OBJECTS)
    return;
  memset (piece, 7, sizeof piece);
  for (unsigned i = 0; i < n && left < 4096; i++)
    {
      if (!slice_linear_grow (linear, step, piece))
        break;
      left += step;
      if (slice_linear_grow_char (linear, 7))
        left++;
    }
  if (left > 3)
    {
      slice_linear_shrink (linear, 3);
      left -= 3;
    }
  if (left == 0 || input_byte (input) % 4 == 0)
    {
      slice_linear_abandon (linear);
      return;
    }
  {
    unsigned char *block = slice_linear_finish (linear, &size);

    CHECK (size == left && is_filled (block, size, 7));
    n_objects += put (n_objects, block, size, 1, input);
  }
}

/* The last object, if no mark holds it. */
static void
linear_last (SliceLinear *linear, Input *input)
{
  unsigned n_fixed = n_marks > 0 ? marks[n_marks - 1].n_objects : 0;
  Filled *last = &objects[n_objects > 0 ? n_objects - 1 : 0];
  size_t size = input_size (input);
  unsigned char *block;

  if (n_objects == n_fixed)
    return;
  if (size % 4 == 0)
    {
      if (slice_linear_free_last (linear, last->block, last->size))
        n_objects--;
      return;
    }
  block = slice_linear_resize (linear, last->block, last->size, size);
  CHECK (block != NULL || has_limit);
  if (block == NULL)
    return;
  CHECK (is_filled (block, size < last->size ? size : last->size,
                    last->fill));
  (void) put (n_objects - 1, block, size, 1, input);
}

static void
linear_operate (SliceLinear *linear, Input *input)
{
  SliceArenaStats stats;
  unsigned value;

  switch (input_byte (input) % 16)
    {
    case 0:
      if (n_marks < N_MARKS)
        marks[n_marks++] = (Mark){ slice_linear_mark (linear), n_objects };
      break;
    case 1:
      if (n_marks == 0)
        break;
      n_marks = input_byte (input) % n_marks;
      slice_linear_rollback (linear, marks[n_marks].mark);
      n_objects = marks[n_marks].n_objects;
      check_objects (n_objects);
      break;
    case 2:
      value = input_byte (input);
      if (value % 8 != 0)
        break;
      slice_linear_reset (linear, (SliceKeep) (value / 8 % 4));
      n_objects = n_marks = 0;
      break;
    case 3:
      slice_linear_trim (linear);
      break;
    case 4:
    case 5:
      linear_last (linear, input);
      break;
    case 6:
      linear_grow (linear, input);
      break;
    case 7:
      slice_linear_get_stats (linear, &stats);
      check_stats (&stats);
      break;
    default:
      linear_add (linear, input);
    }
}

static void
fuzz_linear (Input *input)
{
  SliceArenaOptions options = input_options (input);
  SliceLinear *linear = slice_linear_new (&options);

  n_marks = 0;
  while (linear != NULL && input->n > 0)
    linear_operate (linear, input);
  check_objects (n_objects);
  slice_linear_destroy (linear);
}

/* --- stack --------------------------------------------------------------- */

static void
stack_operate (SliceStack *stack, Input *input)
{
  unsigned kind = input_byte (input) % 8;
  size_t size = input_size (input);
  Filled *top = &objects[n_objects > 0 ? n_objects - 1 : 0];
  SliceArenaStats stats;
  unsigned char *block;

  if (kind < 3 && n_objects < N_OBJECTS)
    n_objects += put (n_objects, slice_stack_alloc (stack, size), size, 1,
                      input);
  else if (kind == 3 && n_objects < N_OBJECTS)
    n_objects += put (n_objects,
                      slice_stack_alloc_aligned (stack, 64, size), size, 64,
                      input);
  else if (kind < 6 && n_objects > 0)
    {
      CHECK (is_whole (top));
      slice_stack_release (stack, top->block);
      n_objects--;
    }
  else if (kind == 6 && n_objects > 0)
    {
      block = slice_stack_resize (stack, top->block, top->size, size);
      CHECK (block != NULL || has_limit);
      if (block == NULL)
        return;
      CHECK (is_filled (block, size < top->size ? size : top->size,
                        top->fill));
      (void) put (n_objects - 1, block, size, 1, input);
    }
  else
    {
      slice_stack_trim (stack);
      slice_stack_get_stats (stack, &stats);
      check_stats (&stats);
      CHECK (slice_stack_is_empty (stack) == (n_objects == 0));
    }
}

static void
fuzz_stack (Input *input)
{
  SliceArenaOptions options = input_options (input);
  SliceStack *stack = slice_stack_new (&options);

  while (stack != NULL && input->n > 0)
    stack_operate (stack, input);
  check_objects (n_objects);
  slice_stack_destroy (stack);
}

/* --- pool and TLSF: places in any order ---------------------------------- */

static size_t
count_live (void)
{
  size_t n = 0;

  for (unsigned i = 0; i < N_OBJECTS; i++)
    n += objects[i].block != NULL;
  return n;
}

static void
fuzz_pool (Input *input)
{
  SlicePoolOptions options = { 0 };
  SliceArenaStats stats;
  SlicePool *pool;

  options.arena = input_options (input);
  options.object_bytes = 1 + input_size (input) % 600;
  pool = slice_pool_new (&options);
  n_objects = N_OBJECTS;
  while (pool != NULL && input->n > 0)
    {
      unsigned at = input_byte (input);
      Filled *object = &objects[at % N_OBJECTS];

      if (at == 255)
        slice_pool_trim (pool);
      else if (object->block == NULL)
        (void) put (at % N_OBJECTS, slice_pool_alloc (pool),
                    options.object_bytes, 1, input);
      else
        {
          CHECK (is_whole (object));
          slice_pool_free (pool, object->block);
          object->block = NULL;
        }
      CHECK (slice_pool_n_live (pool) == count_live ());
    }
  check_objects (N_OBJECTS);
  if (pool != NULL)
    {
      slice_pool_get_stats (pool, &stats);
      check_stats (&stats);
    }
  slice_pool_destroy (pool);
}

static void
tlsf_change (SliceTlsf *tlsf, Filled *object, Input *input)
{
  size_t size = input_size (input);
  unsigned char *block;

  CHECK (is_whole (object));
  CHECK (slice_tlsf_object_bytes (tlsf, object->block) >= object->size);
  if (size % 4 != 0)
    {
      slice_tlsf_free (tlsf, object->block);
      object->block = NULL;
      return;
    }
  block = slice_tlsf_resize (tlsf, object->block, size);
  CHECK (block != NULL || has_limit);
  if (block == NULL)
    return;
  CHECK (is_filled (block, size < object->size ? size : object->size,
                    object->fill));
  (void) put ((unsigned) (object - objects), block, size, 1, input);
}

static void
fuzz_tlsf (Input *input)
{
  static char buffer[65536];
  SliceArenaOptions options = input_options (input);
  bool is_fixed = input_byte (input) % 2 == 0;
  SliceTlsf *tlsf = is_fixed
                        ? slice_tlsf_new_fixed (buffer, sizeof buffer)
                        : slice_tlsf_new (&options);

  has_limit = has_limit || is_fixed;
  n_objects = N_OBJECTS;
  while (tlsf != NULL && input->n > 0)
    {
      unsigned at = input_byte (input);
      Filled *object = &objects[at % N_OBJECTS];
      size_t size;

      if (at == 255)
        slice_tlsf_trim (tlsf);
      else if (object->block != NULL)
        tlsf_change (tlsf, object, input);
      else
        {
          size_t alignment = at % 8 == 0 ? 128 : 1;

          size = input_size (input);
          (void) put (at % N_OBJECTS,
                      alignment > 1 ? slice_tlsf_alloc_aligned (
                                          tlsf, alignment, size)
                                    : slice_tlsf_alloc (tlsf, size),
                      size, alignment, input);
        }
      CHECK (slice_tlsf_is_valid (tlsf, NULL));
    }
  check_objects (N_OBJECTS);
  slice_tlsf_destroy (tlsf);
}

void
fuzz_one (Input *input)
{
  static void (*const kinds[]) (Input *)
      = { fuzz_linear, fuzz_stack, fuzz_pool, fuzz_tlsf };

  memset (objects, 0, sizeof objects);
  n_objects = 0;
  kinds[input_byte (input) % 4](input);
  slice_arena_trim (0);
}
