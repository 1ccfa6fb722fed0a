/* test-ralloc-gc.c - garbage-collected contexts
 *
 * SPDX-License-Identifier: MIT
 */
#include "ralloc-testlib.h"

#include <errno.h>

static void
test_alignment (void)
{
  RallocGc *gc = ralloc_gc_context (NULL);

  for (size_t size = 0; size <= 600; size++)
    for (size_t align = 1; align <= 64; align *= 2)
      {
        unsigned char *object = ralloc_gc_alloc_size (gc, size, align);
        g_assert_cmpuint ((uintptr_t) object % align, ==, 0);
        memset (object, 0xcc, size);
        g_assert_true (ralloc_gc_get_context (object) == gc);
        object = ralloc_gc_zalloc_size (gc, size, align);
        for (size_t i = 0; i < size; i++)
          g_assert_cmpuint (object[i], ==, 0);
        if (size % 3 == 0)
          ralloc_gc_free (object);
      }
  for (size_t align = 128; align <= 4096; align *= 2)
    for (size_t size = 1; size < 100000; size *= 7)
      {
        void *object = ralloc_gc_alloc_size (gc, size, align);
        g_assert_cmpuint ((uintptr_t) object % align, ==, 0);
        memset (object, 1, size);
        g_assert_true (ralloc_gc_get_context (object) == gc);
        if (size % 2 == 0)
          ralloc_gc_free (object);
      }
  ralloc_free (gc);
}

/* --- against a model --- */

typedef struct
{
  unsigned char *object;
  size_t size;
  unsigned char fill;
  bool marked;
} Object;

enum
{
  N_OBJECTS = 4000,
  N_STEPS = 1000000
};

static void
object_check (const Object *object)
{
  for (size_t i = 0; i < object->size; i++)
    g_assert_cmpuint (object->object[i], ==, object->fill);
}

static void
object_new (Random *random, RallocGc *gc, Object *object)
{
  size_t align = (size_t) 1 << random_below (random, 7);

  object->size = random_below (random, 50) == 0
                     ? random_below (random, 9000)
                     : random_below (random, 300);
  object->object = ralloc_gc_alloc_size (gc, object->size, align);
  object->fill = (unsigned char) random_next (random);
  object->marked = true; /* if allocated in a sweep */
  memset (object->object, object->fill, object->size);
}

static void
sweep (Random *random, RallocGc *gc, Object *objects)
{
  unsigned keep = 1 + (unsigned) random_below (random, 10);

  for (unsigned i = 0; i < N_OBJECTS; i++)
    objects[i].marked = false;
  ralloc_gc_sweep_start (gc);
  for (unsigned i = 0; i < N_OBJECTS; i++)
    if (objects[i].object != NULL && random_below (random, 10) < keep)
      {
        objects[i].marked = true;
        ralloc_gc_mark_live (gc, objects[i].object);
        if (i % 5 == 0)
          ralloc_gc_mark_live (gc, objects[i].object);
        g_assert_true (ralloc_gc_get_context (objects[i].object) == gc);
      }
    else if (objects[i].object == NULL && random_below (random, 20) == 0)
      object_new (random, gc, &objects[i]);
    else if (objects[i].object != NULL && random_below (random, 20) == 0)
      {
        g_assert_true (ralloc_gc_get_context (objects[i].object) == gc);
        ralloc_gc_free (objects[i].object);
        objects[i].object = NULL;
      }
  ralloc_gc_sweep_end (gc);
  for (unsigned i = 0; i < N_OBJECTS; i++)
    if (!objects[i].marked)
      objects[i].object = NULL;
    else if (objects[i].object != NULL)
      object_check (&objects[i]);
}

static void
test_model (void)
{
  Random random = { 31 };
  void *root = ralloc_context (NULL);
  RallocGc *gc = ralloc_gc_context (root);
  Object *objects = g_new0 (Object, N_OBJECTS);
  unsigned n = is_annotated () ? 20000 : N_STEPS;

  for (unsigned step = 0; step < n; step++)
    {
      Object *object = &objects[random_below (&random, N_OBJECTS)];

      if (object->object == NULL)
        object_new (&random, gc, object);
      else if (random_below (&random, 2) == 0)
        {
          object_check (object);
          ralloc_gc_free (object->object);
          object->object = NULL;
        }
      if (random_below (&random, 5000) == 0)
        sweep (&random, gc, objects);
    }
  /* Nothing marked: nothing left, and the slabs are given back. */
  ralloc_gc_sweep_start (gc);
  ralloc_gc_sweep_end (gc);
  g_assert_cmpuint (ralloc_total_nodes (gc), ==, 1);
  g_assert_cmpuint (ralloc_total_size (gc), <, 2048);
  ralloc_free (root);
  g_free (objects);
}

/* A sweep frees the nodes below the context, but for those that were stolen. */
static void
test_nodes (void)
{
  void *root = ralloc_context (NULL);
  RallocGc *gc = ralloc_gc_context (root);
  void *lost = ralloc_size (gc, 10);
  void *kept = ralloc_size (gc, 10);

  ralloc_gc_sweep_start (gc);
  ralloc_steal (root, kept);
  ralloc_gc_sweep_end (gc);
  (void) lost;
  g_assert_cmpuint (ralloc_total_nodes (root), ==, 3);
  /* The context goes in the middle of a sweep. */
  ralloc_size (gc, 10);
  ralloc_gc_alloc_size (gc, 2000, 8);
  ralloc_gc_sweep_start (gc);
  ralloc_free (root);
}

/* A reference that the context holds is no object: it survives a sweep. */
static void
test_reference (void)
{
  void *root = ralloc_context (NULL);
  RallocGc *gc = ralloc_gc_context (NULL);
  void *node = ralloc_size (root, 10);

  ralloc_reference (gc, node);
  ralloc_gc_alloc_size (gc, 2000, 8);
  ralloc_gc_sweep_start (gc);
  ralloc_gc_sweep_end (gc);
  g_assert_cmpuint (ralloc_reference_count (node), ==, 1);
  ralloc_free (root);
  g_assert_true (ralloc_parent (node) == gc);
  ralloc_free (gc);
}

static void
test_held (void)
{
  RallocGc *gc = ralloc_gc_context (NULL);
  enum { N = 100000 };
  size_t before = ralloc_total_size (gc);

  for (unsigned i = 0; i < N; i++)
    ralloc_gc_alloc (gc, char, 64);
  g_test_message ("%.1f bytes held for an object of 64",
                  (double) (ralloc_total_size (gc) - before) / N);
  if (!is_annotated ())
    g_assert_cmpuint (ralloc_total_size (gc) - before, <=, 70 * N);
  ralloc_free (gc);
}

/* Small objects lie in our pages, which keep a slab for the next context and
 * are given back by a trim. */
static void
test_pages (void)
{
  enum { N = 10000 };
  void *root = ralloc_context (NULL);
  RallocGc *gc = ralloc_gc_context (root);
  SliceStats *stats = g_new0 (SliceStats, 1);
  size_t held;
  char *object;

  for (unsigned i = 0; i < N; i++)
    {
      object = ralloc_gc_alloc_size (gc, 200, 8);
      memset (object, 1, 200);
      g_assert_true (is_annotated () || slice_is_ours (object));
    }
  slice_get_stats (stats);
  held = stats->held_bytes;
  ralloc_free (gc);
  slice_trim (0);
  slice_get_stats (stats);
  if (!is_annotated ())
    g_assert_cmpuint (stats->held_bytes + 200 * N, <=, held);
  g_free (stats);
  ralloc_free (root);
}

/* A product that does not fit is no memory, never a short block. */
static void
test_overflow (void)
{
  static volatile size_t wraps = SIZE_MAX / sizeof (int) + 2;
  static volatile size_t counts[]
      = { SIZE_MAX / sizeof (int) + 1, SIZE_MAX / sizeof (int), SIZE_MAX,
          SIZE_MAX - 1 };
  RallocGc *gc = ralloc_gc_context (NULL);

  for (unsigned i = 0; i <= G_N_ELEMENTS (counts); i++)
    {
      size_t count = i < G_N_ELEMENTS (counts) ? counts[i] : wraps;
      errno = 0;
      g_assert_null (ralloc_gc_alloc (gc, int, count));
      g_assert_cmpint (errno, ==, ENOMEM);
      errno = 0;
      g_assert_null (ralloc_gc_zalloc (gc, int, count));
      g_assert_cmpint (errno, ==, ENOMEM);
      g_assert_null (ralloc_array (gc, int, count));
      g_assert_null (rzalloc_array (gc, int, count));
      g_assert_null (reralloc (gc, NULL, int, count));
      g_assert_null (rerzalloc (gc, NULL, int, 0, count));
    }
  g_assert_true (ralloc_gc_alloc (gc, int, 0) != ralloc_gc_alloc (gc, int, 0));
  g_assert_nonnull (ralloc_gc_zalloc (gc, int, 3));
  ralloc_free (gc);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, function)                                                   \
  g_test_add_func ("/slice/ralloc-gc/" name, function)
  ADD ("alignment", test_alignment);
  ADD ("model", test_model);
  ADD ("nodes", test_nodes);
  ADD ("reference", test_reference);
  ADD ("held", test_held);
  ADD ("pages", test_pages);
  ADD ("overflow", test_overflow);
  return g_test_run ();
}
