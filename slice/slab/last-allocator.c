/* last-allocator.c - finds chunks whose cache lines threads would share
 *
 * Layer: slab.  Below: page.  No locks: a slab's last_allocator is a hint,
 * read and written relaxed.  A slab is not freed while a chunk is out of it.
 * Design: chapter 5.
 * Sources: passive false sharing, Berger et al. 2000 (Hoard), section 2.2.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "last-allocator.h"
#include "page/region.h"
#include "base/sizeclass.h"

enum
{
  /* The chunks of a magazine that are examined: first, middle, last. */
  LAST_ALLOCATOR_SAMPLES = 3
};

/* The slab of a round; NULL if the round is a hole or a foreign block. */
COMMON_TEXT static Slab *
last_allocator_slab (const void *chunk)
{
  void *record;

  return chunk != NULL && region_run_of (chunk, &record) != NULL ? record
                                                                 : NULL;
}

/* Returns true if another thread has allocated chunk[0], and chunk[1] is not
 * its neighbour in the slab. */
static bool
chunk_is_remote (void *const *chunk, size_t chunk_bytes, uint16_t tag)
{
  size_t step = (size_t) ((uintptr_t) chunk[1] - (uintptr_t) chunk[0]);
  const Slab *slab;

  if (step == chunk_bytes || step == -chunk_bytes)
    return false;
  slab = last_allocator_slab (chunk[0]);
  return slab != NULL && LOAD (&slab->last_allocator) != tag;
}

COMMON_TEXT bool
sli_last_allocator_is_remote (unsigned class_index, unsigned n,
                              void *const *chunks)
{
  size_t chunk_bytes = sli_sizeclasses[class_index].chunk_bytes;
  unsigned n_remote = 0;
  uint16_t tag;

  if (!class_shares_lines (class_index) || n < LAST_ALLOCATOR_SAMPLES)
    return false;
  tag = sli_tls_tag ();
  for (unsigned i = 0; i < LAST_ALLOCATOR_SAMPLES; i++)
    n_remote += chunk_is_remote (
        chunks + (n - 2) * i / (LAST_ALLOCATOR_SAMPLES - 1), chunk_bytes, tag);
  return n_remote > LAST_ALLOCATOR_SAMPLES / 2;
}

COMMON_TEXT void
sli_last_allocator_claim (unsigned class_index, unsigned n,
                          void *const *chunks)
{
  uint16_t tag;

  if (!class_shares_lines (class_index) || n == 0)
    return;
  tag = sli_tls_tag ();
  for (unsigned i = 0; i < LAST_ALLOCATOR_SAMPLES; i++)
    {
      Slab *slab = last_allocator_slab (
          chunks[(n - 1) * i / (LAST_ALLOCATOR_SAMPLES - 1)]);

      /* Read first: if nothing is written, all processors keep the line. */
      if (slab != NULL && LOAD (&slab->last_allocator) != tag)
        STORE (&slab->last_allocator, tag);
    }
}
