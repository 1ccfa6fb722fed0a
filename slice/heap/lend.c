/* lend.c - small blocks that a class lends to a smaller one
 *
 * Layer: heap.  Below: magazine, slab.  No locks: the counts are guesses.
 * Design: chapter 14.
 *
 * A program that has a few blocks each of many sizes would touch a page or two
 * for each size, most of it unused.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "heap.h"
#include "magazine/magazine.h"
#include "slab/slab.h"
#include "base/sizeclass.h"

enum
{
  /* What the first blocks of a class may leave unused, about half a page. */
  LENT_BYTES_MAX = 2048
};

/* Bytes that the blocks of each class have left unused so far. */
static uint16_t lent_bytes[N_CLASSES];

/* The class from which a block is allocated: if its own has no slab, the next
 * larger one that has. */
HEAP_TEXT static unsigned
class_lender (unsigned class_index)
{
  size_t bytes = sli_sizeclasses[class_index].block_bytes;
  size_t lent = LOAD (&lent_bytes[class_index]);

  if (lent >= LENT_BYTES_MAX || sli_slab_held_bytes (class_index) != 0)
    return class_index;
  for (unsigned i = class_index + 1; i < N_CLASSES; i++)
    {
      size_t unused = sli_sizeclasses[i].block_bytes - bytes;

      if (unused > bytes || lent + unused > LENT_BYTES_MAX)
        break;
      if (sli_slab_held_bytes (i) == 0)
        continue;
      STORE (&lent_bytes[class_index], (uint16_t) (lent + unused));
      return i;
    }
  return class_index;
}

HEAP_TEXT void *
sli_lend_alloc (unsigned class_index, bool may_lend)
{
  void *block = NULL;

  if (may_lend)
    {
      class_index = class_lender (class_index);
      block = magazine_pop (class_index);
    }
  return block != NULL ? block : sli_magazine_alloc (class_index);
}
