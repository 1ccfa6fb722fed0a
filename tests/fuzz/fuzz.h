/* fuzz.h - what the fuzz targets share: bytes as a program of operations
 *
 * A target has fuzz_name, fuzz_n_kept and fuzz_one(): one input against its
 * model.
 *
 *   make fuzz                libFuzzer with clang, the library built in
 *   fuzz-NAME [N [SEED]]     without it: N inputs of a generator, in each mode
 *                            (`make check')
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slice/libslice.h>

enum
{
  INPUT_BYTES_MAX = 1024,
  VALIDATE_EVERY = 64 /* inputs: it looks at every slab there is */
};

typedef struct
{
  const uint8_t *bytes;
  size_t n;
} Input;

/* Defined by each target. */
extern const char *const fuzz_name;
extern const unsigned fuzz_n_kept; /* blocks that stay live, whatever comes */
void fuzz_one (Input *input);

#define CHECK(condition)                                                      \
  do                                                                          \
    if (!(condition))                                                         \
      {                                                                       \
        fprintf (stderr, "fuzz-%s: %s\n", fuzz_name, #condition);             \
        abort ();                                                             \
      }                                                                       \
  while (0)

/* 0 when there is no more. */
static inline unsigned
input_byte (Input *input)
{
  if (input->n == 0)
    return 0;
  input->n--;
  return *input->bytes++;
}

/* Small ones mostly; some at the limits. */
static inline size_t
input_size (Input *input)
{
  unsigned kind = input_byte (input), value = input_byte (input);

  switch (kind % 8)
    {
    case 0:
      return 1 + value * 9;
    case 1:
      return SLICE_SIZE_MAX - 4 + value % 9;
    case 2:
      return 2000 + value * 17;
    default:
      return 1 + value;
    }
}

static inline bool
is_filled (const unsigned char *block, size_t size, unsigned char fill)
{
  for (size_t i = 0; i < size; i++)
    if (block[i] != fill)
      return false;
  return true;
}

/* A block's bytes, known to the model. */
typedef struct
{
  unsigned char *block; /* NULL: none */
  size_t size;
  unsigned char fill;
} Filled;

static inline void
fill (Filled *filled, unsigned value)
{
  filled->fill = (unsigned char) value;
  memset (filled->block, filled->fill, filled->size);
}

static inline bool
is_whole (const Filled *filled)
{
  return is_filled (filled->block, filled->size, filled->fill);
}

static inline bool
is_apart (const Filled *a, const Filled *b)
{
  return a->block + a->size <= b->block || b->block + b->size <= a->block;
}

#endif
