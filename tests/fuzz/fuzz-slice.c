/* fuzz-slice.c - slices against a model, as bytes say
 *
 * Each input is a program of up to 256 operations; the model knows every live
 * block, its size and fill.  A block must not overlap another, be aligned as
 * promised, keep its bytes, and be zero where zero was promised; at the end
 * nothing is live and every invariant holds.
 *
 *   make fuzz              libFuzzer with clang, the library built in
 *   fuzz-slice [N [SEED]]  without it: N inputs of a generator (`make check')
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slice/libslice.h>

enum
{
  N_PLACES = 64,
  INPUT_BYTES_MAX = 1024,
  VALIDATE_EVERY = 64 /* inputs: it looks at every slab there is */
};

typedef struct
{
  unsigned char *block;
  size_t size;
  size_t alignment; /* 0: none was asked for */
  unsigned char fill;
} Place;

static Place places[N_PLACES];

#define CHECK(condition)                                                      \
  do                                                                          \
    if (!(condition))                                                         \
      {                                                                       \
        fprintf (stderr, "fuzz-slice: %s\n", #condition);                     \
        abort ();                                                             \
      }                                                                       \
  while (0)

typedef struct
{
  const uint8_t *bytes;
  size_t n;
} Input;

static unsigned
input_byte (Input *input)
{
  if (input->n == 0)
    return 0;
  input->n--;
  return *input->bytes++;
}

/* Small ones mostly; some at the limits. */
static size_t
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

static bool
is_filled (const unsigned char *block, size_t size, unsigned char fill)
{
  for (size_t i = 0; i < size; i++)
    if (block[i] != fill)
      return false;
  return true;
}

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
  bool known_zero = false;

  place->alignment = 0;
  switch (kind)
    {
    case 0:
      place->block = slice_alloc0 (size);
      known_zero = true;
      break;
    case 1:
      place->block = slice_try_alloc_known (size, &known_zero);
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
  if (known_zero)
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

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n);

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n)
{
  static unsigned n_inputs;
  static SliceStats stats;
  Input input = { bytes, n < INPUT_BYTES_MAX ? n : INPUT_BYTES_MAX };

  while (input.n > 0)
    operate (&input);
  for (int i = 0; i < N_PLACES; i++)
    if (places[i].block != NULL)
      give (&places[i]);
  if (++n_inputs % VALIDATE_EVERY == 0)
    {
      const char *broken = slice_validate (NULL);

      if (broken != NULL)
        fprintf (stderr, "fuzz-slice: %s\n", broken);
      CHECK (broken == NULL);
      slice_get_stats (&stats);
      CHECK (stats.live_blocks == 0);
    }
  return 0;
}

#ifndef WITH_LIBFUZZER
static void
run_inputs (unsigned long n, uint64_t state)
{
  for (unsigned long i = 0; i < n; i++)
    {
      static uint8_t bytes[INPUT_BYTES_MAX];
      size_t length;

      state = state * 6364136223846793005u + 1442695040888963407u;
      length = (size_t) (state >> 33) % INPUT_BYTES_MAX;
      for (size_t at = 0; at < length; at++)
        {
          state = state * 6364136223846793005u + 1442695040888963407u;
          bytes[at] = (uint8_t) (state >> 56);
        }
      LLVMFuzzerTestOneInput (bytes, length);
    }
}

int
main (int argc, char **argv)
{
  static const char *const modes[]
      = { "force-pool", "force-pool:checked", "force-pool:hardened",
          "force-pool:debug", "force-pool:bypass-magazines",
          "force-pool:debug-blocks:clear-freed", "always-malloc" };
  unsigned long n = argc > 1 && argv[1][0] != '-' ? strtoul (argv[1], NULL, 10)
                                                  : 2000;
  uint64_t seed = argc > 2 ? strtoull (argv[2], NULL, 10) : 1;
  int n_modes = (int) (sizeof modes / sizeof modes[0]), n_failed = 0;

  for (int i = 0; i < n_modes; i++)
    {
      int status = 0;
      pid_t pid;

      fflush (NULL);
      pid = fork ();
      if (pid == 0)
        {
          setenv ("SLICE_OPTIONS", modes[i], 1);
          run_inputs (n, seed);
          _exit (0);
        }
      waitpid (pid, &status, 0);
      printf ("%s %d - %lu inputs from seed %llu, %s\n",
              status == 0 ? "ok" : "not ok", i + 1, n,
              (unsigned long long) seed, modes[i]);
      n_failed += status != 0;
    }
  printf ("1..%d\n", n_modes);
  return n_failed != 0;
}
#endif
