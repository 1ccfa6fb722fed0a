/* test-sizeclass.c - slice/base/sizeclass.c, and the frozen function
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "tests/testlib.h"
#include "base/align.h"
#include "base/sizeclass.h"

static const size_t unit_sizes[] = { KIB (16), KIB (32), KIB (64) };

/* Every size has the smallest class that serves it. */
static void
test_every_size (void)
{
  g_assert_cmpuint (SLICE_CLASS_V1 (0), ==, 0);
  for (size_t size = 1; size <= SLICE_SIZE_MAX; size++)
    {
      unsigned class_index = (unsigned) SLICE_CLASS_V1 (size);

      g_assert_cmpuint (class_index, <, N_CLASSES);
      g_assert_cmpuint (sli_sizeclass_block_bytes (class_index), >=, size);
      g_assert_cmpuint (sli_sizeclass_block_bytes (class_index - 1), <, size);
      g_assert_cmpuint (sli_sizeclass_round (size), ==,
                        sli_sizeclass_block_bytes (class_index));
    }
  g_assert_cmpuint (SLICE_CLASS_V1 (SLICE_SIZE_MAX), ==, N_CLASSES - 1);
}

/* Steps of 8 up to 256, 16 up to 512, 32 up to 1040, 128 up to 2064: the
 * frozen interface. */
static void
test_steps (void)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      size_t bytes = sli_sizeclass_block_bytes (i);
      size_t step = bytes - sli_sizeclass_block_bytes (i - 1);
      size_t expected = bytes <= 256    ? 8
                        : bytes <= 512  ? 16
                        : bytes <= 528  ? 16
                        : bytes <= 1040 ? 32
                                        : 128;

      g_assert_cmpuint (step, ==, expected);
    }
}

static void
check_class (const SizeClass *class, size_t granule_bytes)
{
  size_t bitmap_bytes = class->bitmap_offset == 0 ? 0 : class->n_words * 8u;
  size_t last_colour = (class->n_colours - 1) * class->colour_bytes;

  g_assert_cmpuint (class->slab_bytes, ==, class->n_granules * granule_bytes);
  g_assert_cmpuint (class->n_granules, <=, SLAB_GRANULES_MAX);
  g_assert_cmpuint (class->chunk_bytes, >=, class->block_bytes);
  g_assert_cmpuint (class->chunk_bytes % 8, ==, 0);
  g_assert_cmpuint (class->n_chunks, >, 0);
  g_assert_cmpuint (class->n_chunks, <=, G_MAXUINT16);
  g_assert_cmpuint (class->n_words * 64, >=, class->n_chunks);
  g_assert_true (class->bitmap_offset != 0
                 || class->n_words <= SLAB_INLINE_WORDS);
  g_assert_cmpuint (class->bitmap_offset % 8, ==, 0);
  /* The chunks of the last colour still end before the bitmap. */
  g_assert_cmpuint (last_colour
                        + (size_t) class->n_chunks * class->chunk_bytes
                        + bitmap_bytes,
                    <=, class->slab_bytes);
  g_assert_cmpuint (class->n_colours, >=, 1);
  /* Colours keep the alignment that is promised. */
  g_assert_cmpuint (class->colour_bytes
                        % MIN (lowest_bit (class->chunk_bytes), 16),
                    ==, 0);
}

static void
test_geometry (void)
{
  for (size_t u = 0; u < G_N_ELEMENTS (unit_sizes); u++)
    for (int align_16 = 0; align_16 < 2; align_16++)
      {
        sli_sizeclass_init (unit_sizes[u], align_16);
        for (unsigned i = 1; i < N_CLASSES; i++)
          {
            const SizeClass *class = &sli_sizeclasses[i];

            check_class (class, unit_sizes[u]);
            g_assert_cmpuint (class->block_bytes, ==,
                              sli_sizeclass_block_bytes (i));
            if (align_16)
              g_assert_cmpuint (class->chunk_bytes % 16, ==, 0);
            else
              g_assert_cmpuint (class->chunk_bytes, ==, class->block_bytes);
          }
      }
}

/* How little is wasted, the chunk given up for colours included. */
static void
test_waste (void)
{
  sli_sizeclass_init (KIB (16), false);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      const SizeClass *class = &sli_sizeclasses[i];
      size_t used = (size_t) class->n_chunks * class->block_bytes;

      g_assert_cmpuint ((class->slab_bytes - used) * 25, <=,
                        class->slab_bytes);
    }
}

/* No shorter run would have wasted as little.  (Those that give up a chunk for
 * their colours, or have their bits in the run, waste another share.) */
static void
test_shortest_of_equals (void)
{
  sli_sizeclass_init (KIB (16), false);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      const SizeClass *sizeclass = &sli_sizeclasses[i];

      if (sizeclass->bitmap_offset != 0
          || sizeclass->chunk_bytes % COLOUR_LINE_BYTES == 0)
        continue;
      for (unsigned n = 1; n < sizeclass->n_granules; n++)
        g_assert_cmpuint (sizeclass->n_chunks * n % sizeclass->n_granules, !=,
                          0);
    }
}

static void
test_alignment_of_chunks (void)
{
  sli_sizeclass_init (KIB (16), false);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      const SizeClass *class = &sli_sizeclasses[i];
      size_t alignment = sli_sizeclass_alignment (i);

      g_assert_true (is_power_of_two (alignment));
      g_assert_cmpuint (alignment, <=, 64);
      for (size_t colour = 0; colour < class->n_colours; colour++)
        for (size_t chunk = 0; chunk < class->n_chunks; chunk += 7)
          g_assert_cmpuint ((colour * class->colour_bytes
                             + chunk * class->chunk_bytes)
                                % alignment,
                            ==, 0);
    }
}

/* The division without a division, at every offset of every class. */
static void
test_index (void)
{
  for (size_t u = 0; u < G_N_ELEMENTS (unit_sizes); u += 2)
    {
      sli_sizeclass_init (unit_sizes[u], false);
      for (unsigned i = 1; i < N_CLASSES; i++)
        {
          const SizeClass *class = &sli_sizeclasses[i];
          uint32_t step = test_is_slow () ? 61 : 1;

          for (uint32_t offset = 0; offset < class->slab_bytes;
               offset += step)
            if (sli_sizeclass_index (class, offset)
                != offset / class->chunk_bytes)
              g_error ("class %u, offset %u", i, offset);
        }
    }
}

/* From a cache line on, slabs differ in colour.  (Chunks of a line or less
 * cover all lines alike; those of just 64 bytes keep to their line.) */
static void
test_colours (void)
{
  sli_sizeclass_init (KIB (16), false);
  for (unsigned i = (unsigned) SLICE_CLASS_V1 (72); i < N_CLASSES; i++)
    g_assert_cmpuint (sli_sizeclasses[i].n_colours, >=, 2);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/sizeclass/every-size", test_every_size);
  test_add ("/slice/sizeclass/steps", test_steps);
  test_add ("/slice/sizeclass/geometry", test_geometry);
  test_add ("/slice/sizeclass/waste", test_waste);
  test_add ("/slice/sizeclass/shortest-of-equals", test_shortest_of_equals);
  test_add ("/slice/sizeclass/alignment", test_alignment_of_chunks);
  test_add ("/slice/sizeclass/index", test_index);
  test_add ("/slice/sizeclass/colours", test_colours);
  return g_test_run ();
}
