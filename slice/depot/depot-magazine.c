/* depot-magazine.c - sizes of magazines; makes, flushes and frees them
 *
 * Layer: depot.  No lock: a magazine belongs to the thread that calls.
 * Design: chapters 5 and 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "depot.h"
#include "page/meta.h"
#include "slab/slab.h"
#include "base/align.h"
#include "base/check.h"
#include "base/option.h"
#include "port/compiler.h"
#include "port/os/os.h"

#include <string.h>

enum
{
  /* A magazine is fragmented if its chunks lie in more than 4 n + 1 stretches
   * of 16 KiB, where n stretches would hold them. */
  FRAGMENTED_TIMES = 4,
  STRETCH_SHIFT = 14,
  /* Whether a magazine is shuffled is judged by so many pairs of rounds.  With
   * half as many, one of ten magazines of a freed tree seems ordered. */
  SHUFFLED_SAMPLES = 32,
  /* At least so many pairs are near each other: at most so many chunks apart.
   * If they had to be nearer, each tree would leave more magazines that seem
   * ordered. */
  SHUFFLED_NEAR = 22,
  SHUFFLED_NEAR_CHUNKS = 32,
  /* Of the near pairs at least so many are no neighbours.  (And some ascend
   * while others descend.) */
  SHUFFLED_APART = 5,
  /* Smaller magazines have too few rounds to judge by. */
  SHUFFLED_ROUNDS_MIN = 48
};

/* The rounds that magazines of a class can hold, by size.  Constant after
 * sli_depot_init_rounds(). */
typedef struct
{
  uint16_t of_size[MAGAZINE_SIZES];
  uint16_t size_max; /* the smallest size with the most rounds */
} Rounds;

static Rounds rounds[N_CLASSES];

/* --- sizes --------------------------------------------------------------- */

/* The formula of design chapter 6: as many rounds as the block of metadata has
 * slots for, but no more bytes of chunks than MAGAZINE_CHUNK_BYTES_MIN,
 * doubled from size to size, and never fewer than 4 rounds. */
static size_t
count_rounds (size_t chunk_bytes, unsigned size)
{
  size_t bytes = (size_t) MAGAZINE_BYTES_MIN << size;
  size_t n_slots = (bytes - sizeof (Magazine)) / sizeof (void *);
  size_t bytes_max = (size_t) sli_option (SLICE_OPTION_MAGAZINE_BYTES_MAX);
  size_t n_fit
      = min_size ((size_t) MAGAZINE_CHUNK_BYTES_MIN << size, bytes_max)
        / chunk_bytes;
  size_t n = min_size (n_slots - 1, max_size (n_fit, MAGAZINE_ROUNDS_MIN));

  return min_size (n, sli_depot_limits.rounds_max);
}

static void
class_init_rounds (unsigned class_index)
{
  Rounds *of = &rounds[class_index];

  for (unsigned size = 0; size < MAGAZINE_SIZES; size++)
    {
      of->of_size[size] = (uint16_t) count_rounds (
          sli_sizeclasses[class_index].chunk_bytes, size);
      assert_here (of->of_size[size] > 0);
      if (size == 0 || of->of_size[size] > of->of_size[size - 1])
        of->size_max = (uint16_t) size;
    }
}

COMMON_TEXT void
sli_depot_init_rounds (void)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    class_init_rounds (i);
}

COMMON_TEXT unsigned
sli_depot_rounds (unsigned class_index, unsigned size)
{
  assert_here (class_index < N_CLASSES);
  return rounds[class_index].of_size[size];
}

COMMON_TEXT unsigned
sli_depot_size_max (unsigned class_index)
{
  return rounds[class_index].size_max;
}

/* --- new and free -------------------------------------------------------- */

COMMON_TEXT Magazine *
sli_depot_new_magazine (unsigned class_index, unsigned size)
{
  size_t bytes = (size_t) MAGAZINE_BYTES_MIN << size;
  Magazine *magazine = sli_meta_alloc_optional (bytes);

  assert_here (class_index != 0 && size < MAGAZINE_SIZES);
  if (magazine == NULL)
    return NULL;
  link_init (&magazine->link);
  magazine->class_index = class_index;
  magazine->n_rounds_max = sli_depot_rounds (class_index, size);
  magazine->n_rounds = 0;
  magazine->meta_bytes = (uint32_t) bytes;
  magazine->pushed_msec = 0;
  magazine->slots[0] = NULL;
  return magazine;
}

/* Rings that are too long for a block of metadata are mapped. */
void **
sli_depot_new_ring (size_t n)
{
  size_t bytes = n * sizeof (void *);
  void **ring;

  assert_here (n > 0);
  if (bytes > META_BYTES_MAX)
    return sli_meta_map_optional (bytes);
  ring = sli_meta_alloc_optional (bytes);
  if (ring != NULL)
    memset (ring, 0, bytes);
  return ring;
}

void
sli_depot_end_ring (void **ring, size_t n)
{
  size_t bytes = n * sizeof (void *);

  assert_here (ring != NULL && n > 0);
  if (bytes > META_BYTES_MAX)
    sli_meta_unmap (ring, bytes);
  else
    sli_meta_free (ring, bytes);
}

COMMON_TEXT void
sli_depot_end_magazine (Magazine *magazine)
{
  assert_here (link_is_alone (&magazine->link)); /* in no depot */
  sli_meta_free (magazine, magazine->meta_bytes);
}

COMMON_TEXT void
sli_depot_empty (Magazine *magazine)
{
  assert_here (magazine->slots[0] == NULL
               && magazine->n_rounds <= magazine->n_rounds_max); /* M1, D1 */
  sli_slab_free_old (magazine->class_index, magazine->n_rounds,
                     magazine->slots + 1, magazine->pushed_msec,
                     "flush of a magazine");
  magazine->n_rounds = 0;
  magazine->pushed_msec = 0;
}

COMMON_TEXT void
sli_depot_flush (Magazine *magazine)
{
  sli_depot_empty (magazine);
  sli_depot_end_magazine (magazine);
}

/* The magazine was in use until now, but slabs that are needed anyway will
 * replace its chunks.  So these chunks don't make their slabs younger. */
COMMON_TEXT void
sli_depot_flush_fragmented (Magazine *magazine)
{
  assert_here (link_is_alone (&magazine->link)); /* in no depot */
  magazine->pushed_msec = DEPOT_LONG_AGO_MSEC;
  sli_depot_flush (magazine);
}

/* The stretches are counted by a hash with 64 values, so the count is at most
 * 64.  A magazine whose chunks fill 15 or more stretches never counts as
 * fragmented. */
COMMON_TEXT bool
sli_depot_is_fragmented (const Magazine *magazine)
{
  size_t chunk_bytes = sli_sizeclasses[magazine->class_index].chunk_bytes;
  size_t n_filled = (magazine->n_rounds * chunk_bytes >> STRETCH_SHIFT) + 1;
  uint64_t seen = 0; /* a bit for each value of the hash */

  assert_here (magazine->n_rounds <= magazine->n_rounds_max); /* M1 */
  for (unsigned i = 1; i <= magazine->n_rounds; i++)
    seen |= (uint64_t) 1 << (((uintptr_t) magazine->slots[i] >> STRETCH_SHIFT)
                             & 63);
  return COUNT_BITS (seen) > FRAGMENTED_TIMES * n_filled + 1;
}

/* Counts, for a few pairs of rounds, how many are near each other in memory,
 * how many are neighbours, and how many ascend. */
COMMON_TEXT bool
sli_depot_is_shuffled (const Magazine *magazine)
{
  size_t chunk_bytes = sli_sizeclasses[magazine->class_index].chunk_bytes;
  size_t near_bytes = SHUFFLED_NEAR_CHUNKS * chunk_bytes;
  unsigned stride = (magazine->n_rounds - 1) / SHUFFLED_SAMPLES;
  unsigned n_near = 0, n_neighbours = 0, n_up = 0;

  if (magazine->n_rounds < SHUFFLED_ROUNDS_MIN)
    return false;
  for (unsigned i = 0; i < SHUFFLED_SAMPLES; i++)
    {
      void *const *pair = &magazine->slots[1 + i * stride];
      size_t step = (size_t) ((uintptr_t) pair[1] - (uintptr_t) pair[0]);
      bool is_near = step + near_bytes < 2 * near_bytes;

      if (!is_near && i - n_near == SHUFFLED_SAMPLES - SHUFFLED_NEAR)
        return false;
      n_near += is_near;
      n_neighbours += step == chunk_bytes || step == -chunk_bytes;
      if (n_neighbours > SHUFFLED_SAMPLES - SHUFFLED_APART)
        return false;
      n_up += step < near_bytes;
    }
  return n_near - n_neighbours >= SHUFFLED_APART
         && n_up > 0 && n_up < n_near;
}
