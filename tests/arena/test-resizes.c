/* test-resizes.c - objects of every kind of arena, and of contexts, that grow
 * and shrink
 *
 * An object is resized while it is the last one, and below others.  What both
 * sizes have stays, and so do the neighbours.  Under valgrind and
 * AddressSanitizer all of the object is accessible, and what it has given back
 * is not.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/arena/arena-test.h"
#include "tests/testlib.h"
#include "port/memory-pool.h"

#include <errno.h>
#include <string.h>
#include <slice/heap.h>
#include <slice/ralloc.h>
#include <slice/ralloc-linear.h>

int __asan_address_is_poisoned (const volatile void *address)
    __attribute__ ((weak));

enum
{
  NEIGHBOUR_BYTES = 40,
  FIXED_BYTES = 1 << 20,
  LIMIT_BYTES = 16384
};

/* Where no tool is, every byte is accessible. */
static bool
is_hidden (const void *address)
{
  unsigned char bits G_GNUC_UNUSED;

  if (__asan_address_is_poisoned != NULL)
    return __asan_address_is_poisoned (address) != 0;
  return VALGRIND_GET_VBITS (address, &bits, 1) == 3;
}

/* --- the kinds ----------------------------------------------------------- */

typedef struct
{
  const char *name;
  void *(*begin) (void);
  void *(*alloc) (void *arena, size_t size);
  void *(*resize) (void *arena, void *object, size_t old_size,
                   size_t new_size);
  void (*end) (void *arena);
  bool is_stack;  /* only the last object can be resized */
  bool is_arena;  /* an object of no bytes has one, and gaps are known to a tool
                     also with force-pool */
} Kind;

/* Does a tool see the ends of objects? */
static bool
is_watched (const Kind *kind)
{
  void *block;
  bool is_slice;

  if (!is_annotated ())
    return false;
  block = slice_alloc (40);
  is_slice = slice_is_ours (block);
  slice_free1 (40, block);
  return kind->is_arena || !is_slice;
}

static void *
linear_begin (void)
{
  return slice_linear_new (NULL);
}

/* Objects of up to 1 MiB have no block of their own. */
static void *
linear_begin_large (void)
{
  SliceArenaOptions options = { .first_bytes = 1 << 22, .cap_bytes = 1 << 23 };

  return slice_linear_new (&options);
}

static void *
linear_begin_source (void)
{
  SliceArenaOptions options
      = { .source = slice_source_builtin (SLICE_PAGES_MMAP) };

  return slice_linear_new (&options);
}

static void *
linear_get (void *arena, size_t size)
{
  return slice_linear_alloc (arena, size);
}

static void *
linear_resize (void *arena, void *object, size_t old_size, size_t new_size)
{
  return slice_linear_resize (arena, object, old_size, new_size);
}

static void
linear_end (void *arena)
{
  slice_linear_destroy (arena);
}

static void *
stack_begin (void)
{
  return slice_stack_new (NULL);
}

static void *
stack_begin_checked (void)
{
  SliceArenaOptions options = { .flags = SLICE_ARENA_CHECKED };

  return slice_stack_new (&options);
}

static void *
stack_get (void *arena, size_t size)
{
  return slice_stack_alloc (arena, size);
}

static void *
stack_resize (void *arena, void *object, size_t old_size, size_t new_size)
{
  return slice_stack_resize (arena, object, old_size, new_size);
}

static void
stack_end (void *arena)
{
  slice_stack_destroy (arena);
}

static void *
tlsf_begin (void)
{
  return slice_tlsf_new (NULL);
}

static void *
tlsf_begin_checked (void)
{
  SliceArenaOptions options = { .flags = SLICE_ARENA_CHECKED };

  return slice_tlsf_new (&options);
}

static void *
tlsf_begin_locked (void)
{
  SliceArenaOptions options = { .flags = SLICE_ARENA_LOCKED };

  return slice_tlsf_new (&options);
}

static void *
tlsf_begin_fixed (void)
{
  static _Alignas (16) char buffer[FIXED_BYTES];

  return slice_tlsf_new_fixed (buffer, sizeof buffer);
}

static void *
tlsf_get (void *arena, size_t size)
{
  return slice_tlsf_alloc (arena, size);
}

static void *
tlsf_resize (void *arena, void *object, size_t old_size G_GNUC_UNUSED,
             size_t new_size)
{
  return slice_tlsf_resize (arena, object, new_size);
}

static void
tlsf_end (void *arena)
{
  const char *why;

  if (!slice_tlsf_is_valid (arena, &why))
    g_error ("heap: %s", why);
  slice_tlsf_destroy (arena);
}

static void *
context_begin (void)
{
  return ralloc_context (NULL);
}

static void *
context_get (void *arena, size_t size)
{
  return ralloc_size (arena, size);
}

static void *
context_resize (void *arena, void *object, size_t old_size G_GNUC_UNUSED,
                size_t new_size)
{
  return reralloc_size (arena, object, new_size);
}

static void *
context_resize_zeroed (void *arena, void *object, size_t old_size,
                       size_t new_size)
{
  char *resized = rerzalloc_size (arena, object, old_size, new_size);

  for (size_t i = old_size; i < new_size; i++)
    g_assert_cmpint (resized[i], ==, 0);
  return resized;
}

static void
context_end (void *arena)
{
  ralloc_free (arena);
}

static void *
linear_context_begin (void)
{
  return ralloc_linear_context (NULL);
}

static void *
linear_context_get (void *arena, size_t size)
{
  return ralloc_linear_alloc_child (arena, size);
}

static void *
linear_context_resize (void *arena, void *object,
                       size_t old_size G_GNUC_UNUSED, size_t new_size)
{
  return ralloc_linear_realloc (arena, object, new_size);
}

static void *heap_blocks[4];
static unsigned n_heap_blocks;

static void *
heap_begin (void)
{
  n_heap_blocks = 0;
  return heap_blocks;
}

static void *
heap_get (void *arena G_GNUC_UNUSED, size_t size)
{
  g_assert_cmpuint (n_heap_blocks, <, G_N_ELEMENTS (heap_blocks));
  return heap_blocks[n_heap_blocks++] = slice_heap_alloc (size);
}

static void *
heap_resize (void *arena G_GNUC_UNUSED, void *object,
             size_t old_size G_GNUC_UNUSED, size_t new_size)
{
  unsigned i = 0;

  while (heap_blocks[i] != object)
    i++;
  return heap_blocks[i] = slice_heap_realloc (object, new_size);
}

static void
heap_end (void *arena G_GNUC_UNUSED)
{
  while (n_heap_blocks > 0)
    slice_heap_free (heap_blocks[--n_heap_blocks]);
}

static const Kind kinds[] = {
  { "linear", linear_begin, linear_get, linear_resize, linear_end, false,
    true },
  { "linear-large", linear_begin_large, linear_get, linear_resize, linear_end,
    false, true },
  { "linear-source", linear_begin_source, linear_get, linear_resize,
    linear_end, false, true },
  { "stack", stack_begin, stack_get, stack_resize, stack_end, true, true },
  { "stack-checked", stack_begin_checked, stack_get, stack_resize, stack_end,
    true, true },
  { "tlsf", tlsf_begin, tlsf_get, tlsf_resize, tlsf_end, false, true },
  { "tlsf-checked", tlsf_begin_checked, tlsf_get, tlsf_resize, tlsf_end, false,
    true },
  { "tlsf-locked", tlsf_begin_locked, tlsf_get, tlsf_resize, tlsf_end, false,
    true },
  { "tlsf-fixed", tlsf_begin_fixed, tlsf_get, tlsf_resize, tlsf_end, false,
    true },
  { "context", context_begin, context_get, context_resize, context_end, false,
    false },
  { "context-zeroed", context_begin, context_get, context_resize_zeroed,
    context_end, false, false },
  { "linear-context", linear_context_begin, linear_context_get,
    linear_context_resize, context_end, false, false },
  { "heap", heap_begin, heap_get, heap_resize, heap_end, false, false },
};

/* --- one resize ---------------------------------------------------------- */

/* The bytes of the program's. */
static size_t
usable (const Kind *kind, size_t size)
{
  return size + (size == 0 && kind->is_arena);
}

static void
assert_end (const Kind *kind, const char *object, size_t size)
{
  size_t bytes = usable (kind, size);

  if (bytes == 0 || !is_watched (kind))
    return;
  g_assert_false (is_hidden (object));
  g_assert_false (is_hidden (object + bytes - 1));
  for (size_t i = 0; i < 8; i++)
    g_assert_true (is_hidden (object + bytes + i));
}

/* An object has left these bytes: all of them are hidden, except a few words of
 * the arena's. */
static void
assert_gone (const Kind *kind, const char *start, size_t bytes)
{
  size_t n_shown = 0;

  if (!is_watched (kind))
    return;
  for (size_t i = 0; i < bytes; i++)
    n_shown += !is_hidden (start + i);
  g_assert_cmpuint (n_shown, <=, 4 * sizeof (void *));
}

static char *
new_object (const Kind *kind, void *arena, size_t size, unsigned number)
{
  char *object = kind->alloc (arena, size);

  g_assert_nonnull (object);
  pattern_fill (object, usable (kind, size), number);
  assert_end (kind, object, size);
  return object;
}

static char *
resize_object (const Kind *kind, void *arena, char *object, size_t old_size,
               size_t new_size)
{
  char *resized = kind->resize (arena, object, old_size, new_size);

  g_assert_nonnull (resized);
  g_assert_cmpuint ((uintptr_t) resized % 8, ==, 0);
  assert_end (kind, resized, new_size);
  if (resized == object && new_size < old_size)
    assert_gone (kind, object + usable (kind, new_size),
                 old_size - usable (kind, new_size));
  g_assert_true (pattern_holds (resized, MIN (old_size, new_size), 2));
  pattern_fill (resized, usable (kind, new_size), 2);
  return resized;
}

/* Resizes an object there and back. */
static void
check_resize (const Kind *kind, size_t old_size, size_t new_size, bool is_last)
{
  void *arena = kind->begin ();
  char *below = new_object (kind, arena, NEIGHBOUR_BYTES, 1);
  char *object = new_object (kind, arena, old_size, 2);
  char *above = NULL;

  if (!is_last)
    above = new_object (kind, arena, NEIGHBOUR_BYTES, 3);
  object = resize_object (kind, arena, object, old_size, new_size);
  object = resize_object (kind, arena, object, new_size, new_size);
  object = resize_object (kind, arena, object, new_size, old_size);
  g_assert_true (pattern_holds (object, usable (kind, old_size), 2));
  g_assert_true (pattern_holds (below, NEIGHBOUR_BYTES, 1));
  if (above != NULL)
    g_assert_true (pattern_holds (above, NEIGHBOUR_BYTES, 3));
  new_object (kind, arena, NEIGHBOUR_BYTES, 4);
  g_assert_true (pattern_holds (object, usable (kind, old_size), 2));
  kind->end (arena);
}

static void
test_kind (gconstpointer data)
{
  static const size_t sizes[]
      = { 0, 1, 7, 8, 16, 17, 24, 40, 48, 100, 256, 257, 1000, 3000, 70000 };
  const Kind *kind = data;

  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (size_t k = 0; k < G_N_ELEMENTS (sizes); k++)
      {
        check_resize (kind, sizes[i], sizes[k], true);
        if (!kind->is_stack)
          check_resize (kind, sizes[i], sizes[k], false);
      }
}

/* Many resizes of one object, by a little and by much. */
static void
test_kind_random (gconstpointer data)
{
  const Kind *kind = data;
  unsigned n = test_times (2000, 100);
  void *arena = kind->begin ();
  char *below = new_object (kind, arena, NEIGHBOUR_BYTES, 1);
  size_t size = 100;
  char *object = new_object (kind, arena, size, 2);
  TestRandom random;

  test_random_init (&random, 1);
  for (unsigned i = 0; i < n; i++)
    {
      unsigned most = 1u << test_random_below (&random, 13);
      size_t wanted = test_random_below (&random, 4) == 0
                          ? test_random_below (&random, most)
                          : size + test_random_below (&random, 33);

      if (wanted > size + 16 && test_random_below (&random, 2) == 0)
        wanted = size > 16 ? size - 16 : 0;
      wanted = MIN (wanted, 20000);
      object = resize_object (kind, arena, object, size, wanted);
      size = wanted;
    }
  g_assert_true (pattern_holds (below, NEIGHBOUR_BYTES, 1));
  kind->end (arena);
}

/* --- without memory ------------------------------------------------------ */

/* An object that shrinks needs no memory, although a tool may want a copy. */
static void
test_fixed_full (void)
{
  static _Alignas (16) char buffer[16384];
  SliceTlsf *tlsf = slice_tlsf_new_fixed (buffer, sizeof buffer);
  const Kind *kind = &(Kind){ .resize = tlsf_resize, .is_arena = true };
  char *object = slice_tlsf_alloc (tlsf, 1000);
  const char *why;
  char *other;

  pattern_fill (object, 1000, 2);
  while (slice_tlsf_alloc (tlsf, 100) != NULL || errno != ENOMEM)
    continue;
  while (slice_tlsf_alloc (tlsf, 1) != NULL || errno != ENOMEM)
    continue;
  g_assert_null (slice_tlsf_resize (tlsf, object, 2000));
  g_assert_cmpint (errno, ==, ENOMEM);
  g_assert_true (pattern_holds (object, 1000, 2));
  assert_end (kind, object, 1000);
  g_assert_true (resize_object (kind, tlsf, object, 1000, 990) == object);
  g_assert_true (resize_object (kind, tlsf, object, 990, 300) == object);
  g_assert_true (slice_tlsf_is_valid (tlsf, &why));
  /* What was given back serves others. */
  other = slice_tlsf_alloc (tlsf, 500);
  g_assert_nonnull (other);
  pattern_fill (other, 500, 5);
  slice_tlsf_free (tlsf, other);
  /* Or the object, in place: there is no memory for a copy. */
  g_assert_true (resize_object (kind, tlsf, object, 300, 700) == object);
  g_assert_true (resize_object (kind, tlsf, object, 700, 990) == object);
  g_assert_true (slice_tlsf_is_valid (tlsf, &why));
  slice_tlsf_free (tlsf, object);
  slice_tlsf_destroy (tlsf);
}

/* Fills an arena up to its limit. */
static void
linear_fill (SliceLinear *linear)
{
  for (size_t size = 256; size > 0; size /= 2)
    while (slice_linear_alloc (linear, size) != NULL)
      continue;
  g_assert_cmpint (errno, ==, ENOMEM);
}

static void
test_linear_full (void)
{
  SliceArenaOptions options = { .limit_bytes = LIMIT_BYTES };
  SliceLinear *linear = slice_linear_new (&options);
  const Kind *kind = &(Kind){ .resize = linear_resize, .is_arena = true };
  char *object = slice_linear_alloc (linear, 200);

  pattern_fill (object, 200, 2);
  linear_fill (linear);
  g_assert_null (slice_linear_resize (linear, object, 200, 2000));
  g_assert_cmpint (errno, ==, ENOMEM);
  g_assert_true (pattern_holds (object, 200, 2));
  errno = 0;
  g_assert_true (resize_object (kind, linear, object, 200, 100) == object);
  g_assert_true (resize_object (kind, linear, object, 100, 0) == object);
  g_assert_cmpint (errno, ==, 0);
  slice_linear_destroy (linear);
}

/* An object from before a mark is as it was after the rollback. */
static void
test_linear_marked (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *object = slice_linear_alloc (linear, 200);
  char *large = slice_linear_alloc (linear, 40000);
  SliceMark mark;

  pattern_fill (object, 200, 2);
  pattern_fill (large, 40000, 3);
  mark = slice_linear_mark (linear);
  g_assert_nonnull (slice_linear_resize (linear, object, 200, 20));
  g_assert_nonnull (slice_linear_resize (linear, large, 40000, 20));
  slice_linear_rollback (linear, mark);
  g_assert_true (pattern_holds (object, 200, 2));
  g_assert_true (pattern_holds (large, 40000, 3));
  pattern_fill (object, 200, 4);
  pattern_fill (large, 40000, 5);
  slice_linear_destroy (linear);
}

static void
test_stack_full (void)
{
  SliceArenaOptions options = { .limit_bytes = LIMIT_BYTES };
  SliceStack *stack = slice_stack_new (&options);
  const Kind *kind
      = &(Kind){ .resize = stack_resize, .is_arena = true };
  SliceArenaStats before, after;
  char *object;

  while (slice_stack_alloc (stack, 256) != NULL)
    continue;
  object = slice_stack_alloc (stack, 8);
  g_assert_nonnull (object);
  pattern_fill (object, 8, 2);
  slice_stack_get_stats (stack, &before);
  g_assert_null (slice_stack_resize (stack, object, 8, 20000));
  g_assert_cmpint (errno, ==, ENOMEM);
  slice_stack_get_stats (stack, &after);
  g_assert_cmpuint (after.used_bytes, ==, before.used_bytes);
  g_assert_cmpuint (after.held_bytes, ==, before.held_bytes);
  g_assert_true (pattern_holds (object, 8, 2));
  assert_end (kind, object, 8);
  g_assert_true (resize_object (kind, stack, object, 8, 1) == object);
  slice_stack_destroy (stack);
}

/* Blocks that releases have emptied may go, but the object stays. */
static void
test_stack_emptied (void)
{
  enum { N_OBJECTS = 40, OBJECT_BYTES = 500 };
  SliceArenaOptions options = { .limit_bytes = 2 * LIMIT_BYTES };
  SliceStack *stack = slice_stack_new (&options);
  SliceArenaStats before, after;
  char *objects[N_OBJECTS];

  for (int i = 0; i < N_OBJECTS; i++)
    {
      objects[i] = slice_stack_alloc (stack, OBJECT_BYTES);
      g_assert_nonnull (objects[i]);
      pattern_fill (objects[i], OBJECT_BYTES, (unsigned) i);
    }
  for (int i = N_OBJECTS - 1; i > 0; i--)
    {
      slice_stack_release (stack, objects[i]);
      slice_stack_get_stats (stack, &before);
      g_assert_null (slice_stack_resize (stack, objects[i - 1], OBJECT_BYTES,
                                         4 * LIMIT_BYTES));
      slice_stack_get_stats (stack, &after);
      g_assert_cmpuint (after.used_bytes, <=, before.used_bytes);
      g_assert_cmpuint (after.held_bytes, <=, before.held_bytes);
      assert_stats_add_up (&after);
      g_assert_true (
          pattern_holds (objects[i - 1], OBJECT_BYTES, (unsigned) i - 1));
    }
  slice_stack_destroy (stack);
}

/* --- objects that grow at the end ---------------------------------------- */

static void
test_growing (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  size_t size;
  char *object;

  for (int i = 0; i < 1000; i++)
    g_assert_true (slice_linear_grow_char (linear, (char) i));
  slice_linear_shrink (linear, 993);
  object = slice_linear_growing (linear, &size);
  g_assert_cmpuint (size, ==, 7);
  if (is_annotated ())
    for (size_t i = 7; i < 1000; i++)
      g_assert_true (is_hidden (object + i));
  object = slice_linear_finish (linear, &size);
  g_assert_cmpuint (size, ==, 7);
  for (int i = 0; i < 7; i++)
    g_assert_cmpint (object[i], ==, i);
  slice_linear_destroy (linear);
}

/* An object that was abandoned has left nothing but its padding. */
static void
test_abandoned (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SliceArenaStats before, after;
  char *object;

  slice_linear_alloc (linear, 8);
  slice_linear_get_stats (linear, &before);
  for (int i = 0; i < 100; i++)
    {
      g_assert_true (slice_linear_grow (linear, 20, NULL));
      object = slice_linear_growing (linear, NULL);
      slice_linear_abandon (linear);
      if (is_annotated ())
        g_assert_true (is_hidden (object));
    }
  slice_linear_get_stats (linear, &after);
  g_assert_cmpuint (after.used_bytes, <=, before.used_bytes + 8);
  assert_stats_add_up (&after);
  slice_linear_destroy (linear);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  for (size_t i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      char *path = g_strdup_printf ("/arena/resizes/%s", kinds[i].name);
      char *random = g_strdup_printf ("%s/random", path);

      g_test_add_data_func (path, &kinds[i], test_kind);
      g_test_add_data_func (random, &kinds[i], test_kind_random);
      g_free (random);
      g_free (path);
    }
  g_test_add_func ("/arena/resizes/fixed-full", test_fixed_full);
  g_test_add_func ("/arena/resizes/linear-full", test_linear_full);
  g_test_add_func ("/arena/resizes/linear-marked", test_linear_marked);
  g_test_add_func ("/arena/resizes/stack-full", test_stack_full);
  g_test_add_func ("/arena/resizes/stack-emptied", test_stack_emptied);
  g_test_add_func ("/arena/resizes/growing", test_growing);
  g_test_add_func ("/arena/resizes/abandoned", test_abandoned);
  return g_test_run ();
}
