/* testmagazine.h - one class's traffic and counts, for the tests of the
 * magazine layer
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTMAGAZINE_H
#define TESTMAGAZINE_H

#include <slice/slice.h>

#include "testlib.h"
#include "testprocessor.h"
#include "base/option.h"
#include "depot/depot.h"
#include "magazine/magazine.h"
#include "magazine/record/record.h"
#include "slab/slab.h"
#include "port/os/os.h"

#include <string.h>

enum { CLASS = 8, BYTES = 64 };

static inline void
begin_with (const MagazineOptions *options)
{
  /* All threads run on the first: what one pushed last another pops first. */
  sli_shard_pretend (pretended_processor);
  sli_option_freeze ();
  sli_magazine_load ();
  sli_magazine_begin ();
  sli_magazine_init (options);
  sli_os_pretend_clock_msec (1000000);
}

static inline void
begin (void)
{
  MagazineOptions options = { .is_inline = true, .counts_hits = true };

  begin_with (&options);
}

static inline MagazineCounts
counts_of (unsigned class_index)
{
  static MagazineCounts counts[N_CLASSES];

  sli_magazine_count_all (counts);
  return counts[class_index];
}

static inline size_t
cached_bytes (void)
{
  static MagazineCounts counts[N_CLASSES];
  size_t bytes = 0;

  sli_magazine_count_all (counts);
  for (unsigned i = 1; i < N_CLASSES; i++)
    bytes += counts[i].n_cached * sli_sizeclasses[i].chunk_bytes;
  return bytes;
}

/* Chunks that are out of the slabs and rest nowhere. */
static inline uint64_t
live_chunks (void)
{
  static MagazineCounts magazines[N_CLASSES];
  static SlabCounts slabs[N_CLASSES];
  uint64_t live = 0;

  sli_magazine_count_all (magazines);
  sli_slab_count_all (slabs);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      DepotCounts depot;

      sli_depot_count (i, &depot);
      live += slabs[i].n_out - magazines[i].n_cached - depot.n_chunks;
    }
  return live;
}

static inline void
check_valid (void)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      g_assert_true (sli_depot_is_valid (i));
      g_assert_true (sli_slab_is_valid (i));
    }
}

/* What the inline code of slice.h does. */
static inline void *
fast_alloc (unsigned class_index)
{
  SliceEntryV1 *entry = &SLICE_LOAD (&slice_tls_v1)->entries[class_index];
  void **top = SLICE_LOAD (&entry->top);
  void *block = *top;

  if (block == NULL)
    return sli_magazine_alloc (class_index);
  SLICE_STORE (&entry->top, top - 1);
  return block;
}

static inline void
fast_free (unsigned class_index, void *block)
{
  SliceEntryV1 *entry = &SLICE_LOAD (&slice_tls_v1)->entries[class_index];
  void **top = SLICE_LOAD (&entry->top);

  if (top == entry->end || *top == block)
    sli_magazine_free (class_index, block);
  else
    {
      SLICE_STORE (top + 1, block);
      SLICE_STORE (&entry->top, top + 1);
    }
}

/* Takes n blocks and gives them back, the magazines going all the way. */
static inline void
wave (unsigned class_index, unsigned n)
{
  void **blocks = g_new (void *, n);

  for (unsigned i = 0; i < n; i++)
    {
      blocks[i] = fast_alloc (class_index);
      g_assert_nonnull (blocks[i]);
      memset (blocks[i], 1, sizeof (void *));
    }
  for (unsigned i = 0; i < n; i++)
    fast_free (class_index, blocks[i]);
  g_free (blocks);
}

#endif
