/* arena-test.c - what the arenas' tests share
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/arena/arena-test.h"

#include <stdlib.h>
#include <slice/options.h>

static void *
counting_map (const SliceSource *source, size_t bytes, size_t alignment)
{
  CountingSource *counting = source->data;
  void *pages = NULL;

  if (counting->n_until_failure == 0)
    return NULL;
  if (counting->n_until_failure != SIZE_MAX)
    counting->n_until_failure--;
  if (posix_memalign (&pages, alignment, bytes) != 0)
    return NULL;
  counting->n_maps++;
  counting->out_bytes += bytes;
  return pages;
}

static void
counting_unmap (const SliceSource *source, void *address, size_t bytes)
{
  CountingSource *counting = source->data;

  counting->n_unmaps++;
  counting->out_bytes -= bytes;
  free (address);
}

void
counting_source_init (CountingSource *counting)
{
  *counting = (CountingSource){ .n_until_failure = SIZE_MAX };
  counting->source = (SliceSource){ .name = "counting",
                                    .map = counting_map,
                                    .unmap = counting_unmap,
                                    .data = counting };
}

static unsigned char
pattern_byte (unsigned number, size_t i)
{
  return (unsigned char) ((number * 2654435761u >> 13) + i * 7);
}

void
pattern_fill (void *object, size_t size, unsigned number)
{
  unsigned char *bytes = object;

  for (size_t i = 0; i < size; i++)
    bytes[i] = pattern_byte (number, i);
}

bool
pattern_holds (const void *object, size_t size, unsigned number)
{
  const unsigned char *bytes = object;

  for (size_t i = 0; i < size; i++)
    if (bytes[i] != pattern_byte (number, i))
      return false;
  return true;
}

bool
is_annotated (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *first = slice_linear_alloc (linear, 8);
  char *second = slice_linear_alloc (linear, 8);
  bool watched = second - first != 8;

  slice_linear_destroy (linear);
  return watched;
}

bool
skip_watched (const char *reason)
{
  if (!is_annotated ())
    return false;
  g_test_skip (reason);
  return true;
}

bool
skip_checked (const char *reason)
{
  static const SliceOption modes[]
      = { SLICE_OPTION_CHECKED, SLICE_OPTION_HARDENED, SLICE_OPTION_DEBUG };

  for (size_t i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      int64_t value;

      slice_get_option (modes[i], &value);
      if (value == 0)
        continue;
      g_test_skip (reason);
      return true;
    }
  return false;
}

/* Returns true if `text' need not follow the name of a call: a later one finds
 * the damage, the library calls a source, contexts have words of their own, or
 * the text has the name. */
static bool
names_no_call (int number, const char *text)
{
  return number < 300 || number == 309 || number == 332
         || g_str_has_prefix (text, "slice_");
}

void
expect_error (int number, const char *text)
{
  const char *call = names_no_call (number, text) ? "" : "slice_";
  char *pattern
      = g_strdup_printf ("*slice: error %d: %s*%s*", number, call, text);

  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr (pattern);
  g_free (pattern);
}

bool
construct_nothing (void *object, void *data)
{
  (void) object;
  (void) data;
  return true;
}

void
assert_stats_add_up (const SliceArenaStats *stats)
{
  g_assert_cmpuint (stats->held_bytes, ==,
                    stats->used_bytes + stats->free_bytes
                        + stats->wasted_bytes + stats->control_bytes);
  for (size_t i = 0; i < G_N_ELEMENTS (stats->spare); i++)
    g_assert_cmpuint (stats->spare[i], ==, 0);
}
