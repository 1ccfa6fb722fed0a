/* test-ralloc-gc.c - garbage-collected contexts
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"
#include "tests/testlib.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void
test_alignments (void)
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

/* --- objects that no slab has the alignment for --- */

/* The bytes of a limit that each of 100 objects takes. */
static size_t
bytes_of_limit (size_t size, size_t align)
{
  void *root = ralloc_context (NULL);
  RallocGc *gc;
  size_t bytes;

  ralloc_set_limit (root, SIZE_MAX / 2);
  gc = ralloc_gc_context (root);
  bytes = ralloc_limit_used (root);
  for (unsigned i = 0; i < 100; i++)
    g_assert_nonnull (ralloc_gc_alloc_size (gc, size, align));
  g_assert_cmpuint (ralloc_total_nodes (gc), ==, 101);
  bytes = ralloc_limit_used (root) - bytes;
  ralloc_free (gc);
  g_assert_cmpuint (ralloc_limit_used (root), <, 100);
  ralloc_free (root);
  return bytes / 100;
}

/* An alignment costs its bytes and a header, not a slab. */
static void
test_aligned_cost (void)
{
  static const size_t sizes[] = { 0, 40, 512, 600, 1000, 2000, 3000, 20000 };

  for (unsigned i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (size_t align = 32; align <= 4096; align *= 2)
      if (sizes[i] > 512 || align > 64)
        g_assert_cmpuint (bytes_of_limit (sizes[i], align), <,
                          MAX (sizes[i], align >= 1024 ? 1024 : 0)
                              + (is_annotated () ? 3 : 1) * align + 200);
}

/* Such an object is a node: it can leave its context, and have children. */
static void
use_as_node (size_t size, size_t align)
{
  void *root = ralloc_context (NULL);
  RallocGc *gc = ralloc_gc_context (root);
  char *object = ralloc_gc_zalloc_size (gc, size, align);
  char *other = ralloc_gc_alloc_size (gc, size, align);
  char *marked = ralloc_gc_alloc_size (gc, size, align);
  char *moved;

  g_assert_cmpuint (ralloc_usable_size (object), >=, size);
  g_assert_cmpuint (ralloc_usable_size (object), <=, size + 32);
  memset (object, 'o', size);
  ralloc_strdup (other, "child");
  ralloc_steal (NULL, other);
  g_assert_null (ralloc_parent (other));
  ralloc_steal (other, object);
  g_assert_true (ralloc_parent (object) == other);
  moved = reralloc_size (other, object, size + 5000);
  for (size_t i = 0; i < size; i++)
    g_assert_cmpint (moved[i], ==, 'o');
  ralloc_set_destructor (moved, count_destroyed);
  n_destroyed = 0;
  ralloc_free (other);
  g_assert_cmpuint (n_destroyed, ==, 1);
  ralloc_set_name (ralloc_gc_alloc_size (gc, size, align), "not marked");
  ralloc_gc_sweep_start (gc);
  ralloc_gc_mark_live (gc, marked);
  ralloc_gc_sweep_end (gc);
  g_assert_cmpuint (ralloc_total_nodes (gc), ==, 2);
  g_assert_true (ralloc_gc_get_context (marked) == gc);
  ralloc_gc_free (marked);
  g_assert_cmpuint (ralloc_total_nodes (gc), ==, 1);
  ralloc_free (root);
}

static void
test_aligned_nodes (void)
{
  for (size_t align = 32; align <= 4096; align *= 2)
    for (size_t size = align > 64 ? 0 : 513; size < 300000;
         size = size * 3 + 1)
      use_as_node (size, align);
}

static void
test_aligned_nodes_debug (void)
{
  test_options ("debug");
  test_aligned_nodes ();
}

static void
test_aligned_nodes_hardened (void)
{
  test_options ("hardened");
  test_aligned_nodes ();
}

/* A byte behind such an object, in a process of its own. */
static void
overrun (size_t size, size_t align)
{
  int status;
  pid_t pid = fork ();

  if (pid == 0)
    {
      RallocGc *gc = ralloc_gc_context (NULL);
      char *object = ralloc_gc_alloc_size (gc, size, align);

      g_assert_nonnull (freopen ("/dev/null", "w", stderr));
      ((volatile char *) object)[size] = 'x';
      ralloc_gc_free (object);
      _exit (0);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGABRT);
}

static void
test_aligned_overrun (void)
{
  test_options ("debug");
  if (is_annotated ())
    return; /* it would be the tool's */
  for (size_t align = 32; align <= 4096; align *= 4)
    for (size_t size = 600; size <= 10000; size = size * 2 + 1)
      overrun (size, align);
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
  size_t align = (size_t) 1 << random_below (random, 8);

  if (align == 128)
    align <<= random_below (random, 6);
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

static unsigned n_ended;

static void
count_end (void *node G_GNUC_UNUSED)
{
  n_ended++;
}

/* In a sweep the nodes are the context's children, as before. */
static void
test_sweep_children (void)
{
  void *root = ralloc_context (NULL);
  RallocGc *gc = ralloc_gc_context (root);
  char *node;

  ralloc_set_name_const (root, "root");
  ralloc_set_limit (root, 100000);
  node = ralloc_size (gc, 60000);
  ralloc_set_destructor (node, count_end);
  n_ended = 0;
  ralloc_gc_sweep_start (gc);
  ralloc_gc_sweep_start (gc);
  g_assert_true (ralloc_parent (node) == gc);
  g_assert_true (ralloc_is_ancestor (root, node));
  g_assert_true (ralloc_find_parent_by_name (node, "root") == root);
  g_assert_cmpuint (ralloc_total_nodes (gc), ==, 3);
  g_assert_null (ralloc_size (root, 60000));
  node = reralloc (gc, node, char, 61000);
  ralloc_gc_mark_live (gc, node);
  ralloc_gc_sweep_end (gc);
  g_assert_cmpuint (n_ended, ==, 0);
  g_assert_cmpuint (ralloc_total_nodes (gc), ==, 2);
  g_assert_null (ralloc_size (root, 60000));
  ralloc_gc_sweep_start (gc);
  ralloc_gc_sweep_end (gc);
  g_assert_cmpuint (n_ended, ==, 1);
  g_assert_cmpuint (ralloc_total_nodes (gc), ==, 1);
  g_assert_nonnull (ralloc_size (root, 60000));
  ralloc_free (root);
}

/* A sweep makes space where there is none. */
static void
test_sweep_limit (void)
{
  void *root = ralloc_context (NULL);
  RallocGc *gc = ralloc_gc_context (root);
  char *kept;

  ralloc_set_limit (root, 40000);
  kept = ralloc_size (gc, 3000);
  while (ralloc_size (gc, 3000) != NULL)
    ;
  while (ralloc_size (gc, 16) != NULL)
    ;
  ralloc_gc_sweep_start (gc);
  ralloc_gc_mark_live (gc, kept);
  ralloc_gc_sweep_end (gc);
  g_assert_cmpuint (ralloc_total_nodes (gc), ==, 2);
  g_assert_nonnull (ralloc_size (root, 30000));
  ralloc_free (root);
}

static void
test_sweep_children_debug (void)
{
  test_options ("debug");
  test_sweep_children ();
}

/* Children that leave together in a sweep are not freed by it. */
static void
test_sweep_adopted (void)
{
  void *root = ralloc_context (NULL);
  RallocGc *gc = ralloc_gc_context (NULL);
  char *text = ralloc_strdup (gc, "text");

  ralloc_gc_sweep_start (gc);
  ralloc_adopt (root, gc);
  g_assert_cmpuint (ralloc_total_nodes (root), ==, 2);
  ralloc_gc_sweep_end (gc);
  g_assert_true (ralloc_parent (text) == root);
  g_assert_cmpstr (text, ==, "text");
  ralloc_gc_sweep_start (gc);
  ralloc_adopt (NULL, gc);
  ralloc_free (gc);
  ralloc_free (root);
}

enum
{
  N_LATE_BYTES = 1100 /* as large as a context */
};

static RallocGc *late_parent;
static unsigned char *late_nodes[64];

static void
add_late_child (void *node G_GNUC_UNUSED)
{
  ralloc_set_destructor (ralloc_size (late_parent, 10), count_end);
}

/* A context that goes in the middle of a sweep takes what destructors add. */
static void
test_sweep_freed (void)
{
  for (unsigned way = 0; way < 3; way++)
    {
      void *root = ralloc_context (NULL);

      late_parent = ralloc_gc_context (root);
      ralloc_set_destructor (ralloc_size (late_parent, 20), add_late_child);
      n_ended = 0;
      ralloc_gc_sweep_start (late_parent);
      if (way == 0)
        ralloc_free (late_parent);
      else if (way == 1)
        ralloc_free_children (late_parent);
      else
        ralloc_gc_sweep_end (late_parent);
      ralloc_free (root);
      g_assert_cmpuint (n_ended, ==, 1);
    }
}

static void
end_context (void *node G_GNUC_UNUSED)
{
  ralloc_free (late_parent);
  /* Something else may lie where the context was. */
  for (unsigned i = 0; i < 64; i++)
    late_nodes[i] = memset (ralloc_size (NULL, N_LATE_BYTES), 0xa5,
                            N_LATE_BYTES);
}

/* A destructor that a sweep runs frees the context. */
static void
test_sweep_ends_context (void)
{
  late_parent = ralloc_gc_context (NULL);
  ralloc_set_destructor (ralloc_size (late_parent, 10), end_context);
  ralloc_gc_sweep_start (late_parent);
  ralloc_gc_sweep_end (late_parent);
  for (unsigned i = 0; i < 64; i++)
    {
      for (unsigned j = 0; j < N_LATE_BYTES; j++)
        g_assert_cmpuint (late_nodes[i][j], ==, 0xa5);
      ralloc_free (late_nodes[i]);
    }
}

static void
start_sweep (void *node G_GNUC_UNUSED)
{
  ralloc_gc_sweep_start (late_parent);
}

/* A destructor that a sweep runs begins the next one. */
static void
test_sweep_again (void)
{
  void *kept;

  late_parent = ralloc_gc_context (NULL);
  ralloc_set_destructor (ralloc_size (late_parent, 10), start_sweep);
  kept = ralloc_size (late_parent, 10);
  ralloc_set_destructor (kept, count_end);
  n_ended = 0;
  ralloc_gc_sweep_start (late_parent);
  ralloc_gc_mark_live (late_parent, kept);
  ralloc_gc_sweep_end (late_parent);
  g_assert_cmpuint (n_ended, ==, 0);
  ralloc_gc_sweep_end (late_parent);
  g_assert_cmpuint (n_ended, ==, 1);
  g_assert_cmpuint (ralloc_total_nodes (late_parent), ==, 1);
  ralloc_free (late_parent);
}

static bool
refuse (void *node)
{
  return *(char *) node != '\0';
}

/* A node that refuses stays with its context. */
static void
test_sweep_refused (void)
{
  RallocGc *gc = ralloc_gc_context (NULL);
  char *node = ralloc_strdup (gc, "stays");

  ralloc_set_refusing_destructor (node, refuse);
  ralloc_size (gc, 10);
  ralloc_gc_sweep_start (gc);
  ralloc_gc_sweep_end (gc);
  g_assert_true (ralloc_parent (node) == gc);
  g_assert_cmpuint (ralloc_total_nodes (gc), ==, 2);
  *node = '\0';
  ralloc_gc_sweep_start (gc);
  ralloc_gc_sweep_end (gc);
  g_assert_cmpuint (ralloc_total_nodes (gc), ==, 1);
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
  test_init (&argc, &argv);
#define ADD(name, function)                                                   \
  g_test_add_func ("/slice/ralloc-gc/" name, function)
  /* First, before the others decide the mode of this process. */
  test_add_fresh ("/slice/ralloc-gc/sweep-children-debug",
                  test_sweep_children_debug);
  test_add_fresh ("/slice/ralloc-gc/aligned-nodes-debug",
                  test_aligned_nodes_debug);
  test_add_fresh ("/slice/ralloc-gc/aligned-nodes-hardened",
                  test_aligned_nodes_hardened);
  test_add_fresh ("/slice/ralloc-gc/aligned-overrun", test_aligned_overrun);
  ADD ("alignment", test_alignments);
  ADD ("aligned-cost", test_aligned_cost);
  ADD ("aligned-nodes", test_aligned_nodes);
  ADD ("model", test_model);
  ADD ("nodes", test_nodes);
  ADD ("reference", test_reference);
  ADD ("sweep-children", test_sweep_children);
  ADD ("sweep-adopted", test_sweep_adopted);
  ADD ("sweep-limit", test_sweep_limit);
  ADD ("sweep-freed", test_sweep_freed);
  ADD ("sweep-ends-context", test_sweep_ends_context);
  ADD ("sweep-again", test_sweep_again);
  ADD ("sweep-refused", test_sweep_refused);
  ADD ("held", test_held);
  ADD ("pages", test_pages);
  ADD ("overflow", test_overflow);
  return g_test_run ();
}
