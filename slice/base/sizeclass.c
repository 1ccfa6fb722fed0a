/* sizeclass.c - the classes of sizes, and how each is cut from a slab
 *
 * Layer: base.  No locks: filled once, before the first block.
 * Design: chapters 4 and 11.
 * Sources: Bonwick 1994, section 4 (colouring); the spacing by measurement of
 * compilers' sizes (8-byte steps: no internal waste for 24- to 200-byte
 * records).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "sizeclass.h"
#include "align.h"
#include "check.h"
#include "port/compiler.h"

enum
{
  /* A slab is cut from the fewest granules that waste at most a 1/100. */
  WASTE_DIVISOR = 100,
  /* Chunks of these sizes that are multiples of a line would all lie on the
   * same cache sets; one chunk a slab is given up so that colours differ. */
  COLOUR_SACRIFICE_MIN_BYTES = 128,
  COLOUR_SACRIFICE_MAX_BYTES = 512,
  BITS_PER_WORD = 64
};

SizeClass sli_sizeclasses[N_CLASSES];

size_t
sli_sizeclass_block_bytes (unsigned class_index)
{
  size_t n = class_index;

  if (n <= 32)
    return n * 8;           /* 8 ... 256 */
  if (n <= 48)
    return (n - 16) * 16;   /* 272 ... 512 */
  if (n <= 65)
    return (n - 33) * 32 + 16; /* 528 ... 1040 */
  return (n - 57) * 128 + 16;  /* 1168 ... 2064 */
}

size_t
sli_sizeclass_round (size_t size)
{
  for (unsigned i = 0; i < N_CLASSES; i++)
    if (sli_sizeclass_block_bytes (i) >= size)
      return sli_sizeclass_block_bytes (i);
  return 0;
}

size_t
sli_sizeclass_alignment (unsigned class_index)
{
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];

  return min_size (lowest_bit (sizeclass->chunk_bytes), COLOUR_LINE_BYTES);
}

static bool
wants_sacrifice (size_t chunk_bytes)
{
  return chunk_bytes % COLOUR_LINE_BYTES == 0
         && chunk_bytes >= COLOUR_SACRIFICE_MIN_BYTES
         && chunk_bytes <= COLOUR_SACRIFICE_MAX_BYTES;
}

/* Colours step by lines where the spare bytes have a few, else by the least
 * that keeps the chunks' alignment. */
static void
cut_colours (SizeClass *sizeclass, size_t spare_bytes)
{
  size_t alignment
      = min_size (lowest_bit (sizeclass->chunk_bytes), COLOUR_LINE_BYTES);

  if (spare_bytes >= 3 * COLOUR_LINE_BYTES)
    alignment = COLOUR_LINE_BYTES;
  sizeclass->colour_bytes = (uint32_t) alignment;
  sizeclass->n_colours = (uint32_t) (spare_bytes / alignment) + 1;
}

/* Cuts a slab of slab_bytes; returns the bytes that hold no chunk, not
 * counting a chunk given up for the colours. */
static size_t
cut_slab (SizeClass *sizeclass, size_t slab_bytes)
{
  size_t chunk_bytes = sizeclass->chunk_bytes;
  size_t n = slab_bytes / chunk_bytes;
  size_t n_words, bitmap_bytes, spare_bytes;

  for (;; n--)
    {
      n_words = (n + BITS_PER_WORD - 1) / BITS_PER_WORD;
      bitmap_bytes = n_words > SLAB_INLINE_WORDS ? n_words * 8 : 0;
      if (n * chunk_bytes + bitmap_bytes <= slab_bytes)
        break;
    }
  spare_bytes = slab_bytes - bitmap_bytes - n * chunk_bytes;
  if (wants_sacrifice (chunk_bytes))
    {
      n--;
      spare_bytes += chunk_bytes;
    }
  sizeclass->slab_bytes = (uint32_t) slab_bytes;
  sizeclass->n_chunks = (uint32_t) n;
  sizeclass->n_words = (uint32_t) n_words;
  sizeclass->bitmap_offset
      = bitmap_bytes > 0 ? (uint32_t) (slab_bytes - bitmap_bytes) : 0;
  cut_colours (sizeclass, spare_bytes);
  return slab_bytes - n * chunk_bytes;
}

/* The fewest granules that waste little; of equals the shortest run. */
static void
cut_class (SizeClass *sizeclass, size_t granule_bytes)
{
  SizeClass best = *sizeclass;
  size_t best_waste = SIZE_MAX;

  for (unsigned n_granules = 1; n_granules <= SLAB_GRANULES_MAX; n_granules++)
    {
      SizeClass trial = *sizeclass;
      size_t slab_bytes = n_granules * granule_bytes;
      size_t waste = cut_slab (&trial, slab_bytes);

      trial.n_granules = n_granules;
      /* Compare waste per byte without a division. */
      if (best_waste == SIZE_MAX
          || waste * best.slab_bytes < best_waste * slab_bytes)
        {
          best = trial;
          best_waste = waste;
        }
      if (waste * WASTE_DIVISOR <= slab_bytes)
        break;
    }
  *sizeclass = best;
}

COMMON_TEXT void
sli_sizeclass_init (size_t granule_bytes, bool align_16)
{
  require (is_power_of_two (granule_bytes) && granule_bytes >= KIB (16));
  sli_sizeclasses[0] = (SizeClass){ .n_colours = 1 };
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      SizeClass *sizeclass = &sli_sizeclasses[i];
      size_t block_bytes = sli_sizeclass_block_bytes (i);

      *sizeclass = (SizeClass){
        .block_bytes = (uint32_t) block_bytes,
        .chunk_bytes
        = (uint32_t) align_up (block_bytes, align_16 ? 16 : 8)
      };
      sizeclass->reciprocal
          = (uint32_t) ((((uint64_t) 1 << 32) + sizeclass->chunk_bytes - 1)
                        / sizeclass->chunk_bytes);
      cut_class (sizeclass, granule_bytes);
    }
}
