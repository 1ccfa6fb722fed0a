/* test-ralloc-model.c - random operations against a naive tree
 *
 * The model keeps parents and children in plain arrays; after every so many
 * operations the two trees are compared node by node: parent, order of the
 * children, contents, and at the end the number of destructor calls.
 * Arguments: seed, operations (RALLOC_MODEL_OPS in the environment, too).
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

enum
{
  N_MODEL = 400,
  N_OPERATIONS = 300000,
  CHECK_EVERY = 1000
};

typedef struct
{
  unsigned char *node; /* NULL: free place */
  int parent;          /* -1: a root */
  GArray *children;    /* of int, youngest first */
  size_t size;
  unsigned char fill;
  bool has_destructor;
} Place;

static Place places[N_MODEL];
static unsigned n_expected;

/* --- the model --- */

static void
model_unlink (int i)
{
  GArray *siblings;

  if (places[i].parent < 0)
    return;
  siblings = places[places[i].parent].children;
  for (unsigned k = 0; k < siblings->len; k++)
    if (g_array_index (siblings, int, k) == i)
      {
        g_array_remove_index (siblings, k);
        return;
      }
  g_assert_not_reached ();
}

static void
model_link (int parent, int i)
{
  places[i].parent = parent;
  if (parent >= 0)
    g_array_prepend_val (places[parent].children, i);
}

static void
model_free (int i)
{
  while (places[i].children->len > 0)
    {
      int child = g_array_index (places[i].children, int, 0);

      model_unlink (child);
      model_free (child);
    }
  places[i].node = NULL;
  n_expected += places[i].has_destructor;
}

static bool
model_is_above (int above, int node)
{
  for (; node >= 0; node = places[node].parent)
    if (node == above)
      return true;
  return false;
}

/* --- comparing --- */

static void
check_place (int i)
{
  const Place *place = &places[i];
  void *parent = place->parent < 0 ? NULL : places[place->parent].node;

  g_assert_true (ralloc_parent (place->node) == parent);
  g_assert_cmpuint (ralloc_usable_size (place->node), >=, place->size);
  for (size_t k = 0; k < place->size; k++)
    g_assert_cmpuint (place->node[k], ==, place->fill);
}

static size_t
model_count (int i)
{
  size_t n = 1;

  for (unsigned k = 0; k < places[i].children->len; k++)
    n += model_count (g_array_index (places[i].children, int, k));
  return n;
}

static void
check_all (void)
{
  for (int i = 0; i < N_MODEL; i++)
    if (places[i].node != NULL)
      {
        check_place (i);
        if (places[i].parent < 0)
          g_assert_cmpuint (ralloc_total_nodes (places[i].node), ==,
                            model_count (i));
      }
  g_assert_cmpuint (n_destroyed, ==, n_expected);
}

/* --- operations --- */

static int
random_live (Random *random)
{
  for (unsigned tries = 0; tries < 2 * N_MODEL; tries++)
    {
      int i = (int) random_below (random, N_MODEL);

      if (places[i].node != NULL)
        return i;
    }
  return -1;
}

static int
random_free (Random *random)
{
  for (unsigned tries = 0; tries < N_MODEL; tries++)
    {
      int i = (int) random_below (random, N_MODEL);

      if (places[i].node == NULL)
        return i;
    }
  return -1;
}

static size_t
random_size (Random *random)
{
  switch (random_below (random, 16))
    {
    case 0:
      return random_below (random, 6000);
    case 1:
      return random_below (random, 200) == 0 ? 300000
                                             : random_below (random, 3000);
    default:
      return random_below (random, 200);
    }
}

static void
do_alloc (Random *random)
{
  int i = random_free (random);
  int parent = random_below (random, 12) == 0 ? -1 : random_live (random);
  size_t size = random_size (random);
  void *ctx;

  if (i < 0)
    return;
  ctx = parent < 0 ? NULL : places[parent].node;
  switch (random_below (random, 5))
    {
    case 0:
      places[i].node = rzalloc_size (ctx, size);
      for (size_t k = 0; k < size; k++)
        g_assert_cmpuint (places[i].node[k], ==, 0);
      break;
    case 1:
      places[i].node = ralloc_array_size (ctx, 1, size);
      break;
    default:
      places[i].node = ralloc_size (ctx, size);
    }
  places[i].size = size;
  places[i].fill = (unsigned char) random_next (random);
  memset (places[i].node, places[i].fill, size);
  places[i].has_destructor = random_below (random, 10) == 0;
  if (places[i].has_destructor)
    ralloc_set_destructor (places[i].node, count_destroyed);
  model_link (parent, i);
}

static void
do_free (Random *random)
{
  int i = random_live (random);

  if (i < 0)
    return;
  ralloc_free (places[i].node);
  model_unlink (i);
  model_free (i);
}

static void
do_steal (Random *random)
{
  int what = random_live (random);
  int to = random_below (random, 8) == 0 ? -1 : random_live (random);
  void *ctx = to < 0 ? NULL : places[to].node;

  if (what < 0)
    return;
  if (model_is_above (what, to))
    {
      g_assert_false (ralloc_try_steal (ctx, places[what].node));
      return;
    }
  ralloc_steal (ctx, places[what].node);
  model_unlink (what);
  model_link (to, what);
}

static void
do_adopt (Random *random)
{
  int from = random_live (random);
  int to = random_live (random);

  if (from < 0 || to < 0 || model_is_above (from, to))
    return;
  ralloc_adopt (places[to].node, places[from].node);
  for (int k = (int) places[from].children->len - 1; k >= 0; k--)
    {
      int child = g_array_index (places[from].children, int, k);

      g_array_prepend_val (places[to].children, child);
      places[child].parent = to;
    }
  g_array_set_size (places[from].children, 0);
}

static void
do_resize (Random *random)
{
  int i = random_live (random);
  size_t size = random_size (random);
  void *ctx;

  if (i < 0)
    return;
  ctx = places[i].parent < 0 ? NULL : places[places[i].parent].node;
  places[i].node = reralloc_size (ctx, places[i].node, size);
  if (size > places[i].size)
    memset (places[i].node + places[i].size, places[i].fill,
            size - places[i].size);
  places[i].size = size;
}

static void
do_free_children (Random *random)
{
  int i = random_live (random);

  if (i < 0 || places[i].children->len > 5)
    return;
  ralloc_free_children (places[i].node);
  while (places[i].children->len > 0)
    {
      int child = g_array_index (places[i].children, int, 0);

      model_unlink (child);
      model_free (child);
    }
}

static void
do_one (Random *random)
{
  switch (random_below (random, 20))
    {
    case 0: case 1: case 2:
      do_free (random);
      break;
    case 3: case 4: case 5:
      do_steal (random);
      break;
    case 6:
      do_adopt (random);
      break;
    case 7: case 8: case 9: case 10:
      do_resize (random);
      break;
    case 11:
      do_free_children (random);
      break;
    default:
      do_alloc (random);
    }
}

static void
test_model (void)
{
  const char *wanted = g_getenv ("RALLOC_MODEL_OPS");
  const char *seed = g_getenv ("RALLOC_MODEL_SEED");
  Random random = { seed != NULL ? strtoull (seed, NULL, 10) : 4711 };
  unsigned long n = wanted != NULL ? strtoul (wanted, NULL, 10)
                    : is_annotated () ? 20000 : N_OPERATIONS;
  uint64_t before;

  ralloc_free (ralloc_context (NULL));
  before = live_blocks ();
  for (unsigned i = 0; i < N_MODEL; i++)
    places[i].children = g_array_new (FALSE, FALSE, sizeof (int));
  for (unsigned long i = 0; i < n; i++)
    {
      do_one (&random);
      if (i % CHECK_EVERY == 0)
        check_all ();
    }
  check_all ();
  for (int i = 0; i < N_MODEL; i++)
    if (places[i].node != NULL && places[i].parent < 0)
      {
        ralloc_free (places[i].node);
        model_free (i);
      }
  g_assert_cmpuint (n_destroyed, ==, n_expected);
  g_assert_cmpuint (live_blocks (), ==, before);
  for (unsigned i = 0; i < N_MODEL; i++)
    g_array_free (places[i].children, TRUE);
  g_test_message ("%lu operations, %u destructors", n, n_destroyed);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/ralloc-model/random", test_model);
  return g_test_run ();
}
