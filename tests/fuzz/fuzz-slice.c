/* fuzz-slice.c - slices against a model, as bytes say
 *
 * Each input is a program of up to 256 operations; the model knows every live
 * block, its size and fill.  A block must not overlap another, be aligned as
 * promised, keep its bytes, and be zero where zero was promised; at the end
 * nothing is live and every invariant holds.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "fuzz.h"

enum
{
  N_PLACES = 64
};

typedef struct
{
  unsigned char *block;
  size_t size;
  size_t alignment; /* 0: none was asked for */
  unsigned char fill;
} Place;

static Place places[N_PLACES];

const char *const fuzz_name = "slice";
const unsigned fuzz_n_kept = 0;

static size_t
promised_alignment (size_t size)
{
  size_t rounded = (size + 7) & ~(size_t) 7;

  return rounded % 16 == 0 ? 16 : 8;
}

static void
put (Place *place, Input *input)
{
  CHECK (place->block != NULL);
  CHECK ((uintptr_t) place->block
             % (place->alignment != 0 ? place->alignment
                                      : promised_alignment (place->size))
         == 0);
  for (int i = 0; i < N_PLACES; i++)
    if (&places[i] != place && places[i].block != NULL)
      CHECK (places[i].block + places[i].size <= place->block
             || place->block + place->size <= places[i].block);
  place->fill = (unsigned char) input_byte (input);
  memset (place->block, place->fill, place->size);
}

static void
take (Place *place, Input *input, unsigned kind)
{
  size_t size = input_size (input);
  bool is_zero = false;

  place->alignment = 0;
  switch (kind)
    {
    case 0:
      place->block = slice_alloc0 (size);
      is_zero = true;
      break;
    case 1:
      place->block = slice_try_alloc (size);
      break;
    case 2:
      place->alignment = (size_t) 1 << input_byte (input) % 10;
      place->block = slice_alloc_aligned (place->alignment, size);
      break;
    case 3:
      place->block = slice_alloc_n (3, size);
      size *= 3;
      break;
    default:
      place->block = slice_alloc (size);
      break;
    }
  if (is_zero)
    CHECK (is_filled (place->block, size, 0));
  place->size = size;
  put (place, input);
}

static void
give (Place *place)
{
  CHECK (is_filled (place->block, place->size, place->fill));
  if (place->alignment != 0)
    slice_free_aligned (place->alignment, place->size, place->block);
  else
    slice_free1 (place->size, place->block);
  place->block = NULL;
}

/* A chain of blocks of one size, freed by its links. */
static void
chain (Input *input)
{
  size_t size = 16 + input_size (input) % 512;
  unsigned n = input_byte (input);
  void *first = NULL;

  for (unsigned i = 0; i < n; i++)
    {
      void **node = slice_alloc (size);

      node[1] = first;
      first = node;
    }
  slice_free_chain_with_offset (size, first, sizeof (void *));
}

/* Blocks of all sizes back at once. */
static void
bulk (Input *input)
{
  void *blocks[16];
  unsigned n = input_byte (input) % 16;

  for (unsigned i = 0; i < n; i++)
    blocks[i] = slice_alloc (1 + input_size (input) % SLICE_SIZE_MAX);
  slice_free_bulk (n, blocks);
}

static void
look_up (Place *place, Input *input)
{
  SliceBlockInfo info;
  size_t offset = input_byte (input);

  if (place->block == NULL || place->size <= offset
      || !slice_is_ours (place->block))
    return;
  slice_block_info (place->block + offset, &info);
  CHECK (info.kind == (offset == 0 ? SLICE_BLOCK_OUT : SLICE_BLOCK_INTERIOR));
  CHECK (info.start == place->block);
  CHECK (slice_block_size (place->block) >= place->size);
}

static void
operate (Input *input)
{
  unsigned operation = input_byte (input);
  Place *place = &places[operation % N_PLACES];

  switch (input_byte (input) % 32)
    {
    case 0:
      chain (input);
      break;
    case 1:
      bulk (input);
      break;
    case 2:
      slice_trim (0);
      break;
    case 3:
      slice_thread_flush ();
      break;
    case 4:
    case 5:
      look_up (place, input);
      break;
    default:
      if (place->block != NULL)
        give (place);
      else
        take (place, input, operation / N_PLACES + input_byte (input) % 8);
      break;
    }
}

void
fuzz_one (Input *input)
{
  while (input->n > 0)
    operate (input);
  for (int i = 0; i < N_PLACES; i++)
    if (places[i].block != NULL)
      give (&places[i]);
}
