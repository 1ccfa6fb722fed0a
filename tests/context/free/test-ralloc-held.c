/* test-ralloc-held.c - which nodes of a freed tree survive, and where they go
 *
 * Random trees with references and refusing destructors, against what
 * ralloc_reference() says, not against the way in which the library finds it:
 * a node survives if it refuses, if a context that survives holds it, or below
 * a node that does.  It stays where it is if its parent survives as well.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"
#include "tests/testlib.h"

enum
{
  N_PLACES = 60,
  N_REFERENCES = 400,
  N_SEEDS = 8,
  N_OPERATIONS = 20000,
  N_OPERATIONS_SLOW = 500, /* under a tool */
  NOBODY = -1
};

typedef struct
{
  int *node;  /* its payload is the place's number; NULL: a free place */
  int parent; /* or NOBODY */
  bool refuses;
  bool dies;  /* in the tree that is freed */
  bool survives;
  bool is_held; /* by a context that is not in that tree */
} Place;

typedef struct
{
  int holder;
  int target;
} Reference;

static Place places[N_PLACES];
static Reference references[N_REFERENCES]; /* oldest first */
static int n_references;
static Random source;
/* Nodes that have left a node that is held from outside. */
static unsigned n_torn;

static int
below (size_t n)
{
  return (int) random_below (&source, n);
}

static void *
node_at (int i)
{
  return i == NOBODY ? NULL : places[i].node;
}

static int
place_of (const int *node)
{
  return node == NULL ? NOBODY : *node;
}

static int
live (void)
{
  for (int k = 0; k < N_PLACES; k++)
    {
      int i = below (N_PLACES);

      if (places[i].node != NULL)
        return i;
    }
  return NOBODY;
}

static bool
is_above (int above, int i)
{
  while (i != NOBODY && i != above)
    i = places[i].parent;
  return i == above;
}

static void
reference_drop (int k)
{
  n_references--;
  for (; k < n_references; k++)
    references[k] = references[k + 1];
}

static int
reference_find (int holder, int target)
{
  for (int k = 0; k < n_references; k++)
    if (references[k].holder == holder && references[k].target == target)
      return k;
  return NOBODY;
}

/* --- destructors --- */

static void
note_destroyed (void *node)
{
  int i = place_of (node);

  g_assert_true (places[i].dies && !places[i].survives);
  places[i].node = NULL;
  for (int k = n_references - 1; k >= 0; k--)
    if (references[k].holder == i || references[k].target == i)
      reference_drop (k);
}

static bool
answer (void *node)
{
  return places[place_of (node)].refuses;
}

/* --- what a free leaves --- */

static void
save_below (int top)
{
  for (int i = 0; i < N_PLACES; i++)
    if (places[i].node != NULL && is_above (top, i))
      places[i].survives = true;
}

/* `keep' frees its children, or is NOBODY. */
static void
survivors_find (int keep)
{
  bool found = true;

  for (int i = 0; i < N_PLACES; i++)
    if (places[i].dies && places[i].refuses)
      save_below (i);
  for (int k = 0; k < n_references; k++)
    places[references[k].target].is_held
        |= references[k].holder != keep && !places[references[k].holder].dies;
  while (found)
    {
      found = false;
      for (int k = 0; k < n_references; k++)
        {
          const Place *holder = &places[references[k].holder];
          int target = references[k].target;

          if (places[target].dies && !places[target].survives
              && references[k].holder != keep
              && (!holder->dies || holder->survives))
            {
              save_below (target);
              found = true;
            }
        }
    }
}

/* A node has moved to a context that held it, or refuses and has moved up. */
static void
check_moved (int i, int to, int fallback)
{
  int k = to == NOBODY ? NOBODY : reference_find (to, i);
  size_t n = ralloc_reference_count (places[i].node);
  size_t n_before = 0;

  for (int r = 0; r < n_references; r++)
    n_before += references[r].target == i;
  if (places[i].refuses && to == fallback && n == n_before)
    return;
  g_assert_cmpint (k, !=, NOBODY);
  g_assert_cmpuint (n, ==, n_before - 1);
  reference_drop (k);
}

static bool
is_below_held (int i)
{
  while (i != NOBODY && places[i].dies && !places[i].is_held)
    i = places[i].parent;
  return i != NOBODY && places[i].dies;
}

/* Below a node that is held from outside a node stays, unless the parent that
 * it had is below it now: each kept the other. */
static void
check_stayed (int i, int to, int was)
{
  if (was == NOBODY || !is_below_held (was) || to == was)
    return;
  if (!ralloc_is_ancestor (places[i].node, places[was].node))
    n_torn++;
}

static void
check_all (int top, int fallback)
{
  int parents[N_PLACES];

  for (int i = 0; i < N_PLACES; i++)
    {
      const Place *place = &places[i];

      parents[i] = NOBODY;
      if (place->node == NULL)
        continue;
      g_assert_true (!place->dies || place->survives);
      parents[i] = place_of (ralloc_parent (place->node));
      check_stayed (i, parents[i], place->parent);
      if (i == top || parents[i] != place->parent)
        check_moved (i, parents[i], fallback);
    }
  for (int i = 0; i < N_PLACES; i++)
    {
      places[i].parent = parents[i];
      places[i].dies = places[i].survives = places[i].is_held = false;
    }
}

/* --- operations --- */

static void
do_alloc (void)
{
  int i = below (N_PLACES);
  int parent = below (8) == 0 ? NOBODY : live ();
  Place *place = &places[i];

  if (place->node != NULL)
    return;
  place->node = ralloc_size (node_at (parent), sizeof (int));
  *place->node = i;
  place->parent = parent;
  place->refuses = below (12) == 0;
  ralloc_set_destructor (place->node, note_destroyed);
  if (place->refuses || below (12) == 0)
    ralloc_set_refusing_destructor (place->node, answer);
}

static void
do_reference (void)
{
  int holder = live ();
  int target = live ();

  if (holder == NOBODY || target == NOBODY || n_references == N_REFERENCES)
    return;
  g_assert_nonnull (ralloc_reference (node_at (holder), node_at (target)));
  references[n_references++] = (Reference) { holder, target };
}

static void
do_unlink (void)
{
  Reference reference;

  if (n_references == 0)
    return;
  reference = references[below ((size_t) n_references)];
  g_assert_true (ralloc_unlink (node_at (reference.holder),
                                node_at (reference.target)));
  reference_drop (reference_find (reference.holder, reference.target));
}

static void
do_steal (void)
{
  int i = live ();
  int to = below (8) == 0 ? NOBODY : live ();

  if (i == NOBODY || is_above (i, to))
    return;
  ralloc_steal (node_at (to), node_at (i));
  places[i].parent = to;
}

static void
do_free (void)
{
  int top = live ();
  bool only_children = below (3) == 0;
  int fallback;

  if (top == NOBODY)
    return;
  fallback = only_children ? top : places[top].parent;
  for (int i = 0; i < N_PLACES; i++)
    places[i].dies = places[i].node != NULL && is_above (top, i);
  if (only_children)
    places[top].dies = false;
  survivors_find (only_children ? top : NOBODY);
  if (!only_children)
    g_assert_cmpint (ralloc_try_free (node_at (top)), !=,
                     places[top].survives);
  else
    {
      ralloc_free_children (node_at (top));
      for (int k = n_references - 1; k >= 0; k--)
        if (references[k].holder == top)
          reference_drop (k);
    }
  check_all (places[top].dies ? top : NOBODY, fallback);
}

/* --- the run --- */

static void
free_all (void)
{
  for (int i = 0; i < N_PLACES; i++)
    if (places[i].node != NULL)
      ralloc_set_refusing_destructor (places[i].node, NULL);
  while (n_references > 0)
    do_unlink ();
  for (int i = 0; i < N_PLACES; i++)
    places[i].dies = places[i].node != NULL;
  for (int i = 0; i < N_PLACES; i++)
    if (places[i].node != NULL && places[i].parent == NOBODY)
      ralloc_free (places[i].node);
  for (int i = 0; i < N_PLACES; i++)
    {
      g_assert_null (places[i].node);
      places[i].dies = false;
    }
}

static void
test_of_seed (const void *data)
{
  static void (*const deeds[]) (void)
      = { do_free,      do_free,      do_unlink, do_steal, do_steal, do_alloc,
          do_alloc,     do_alloc,     do_alloc,  do_alloc, do_alloc, do_alloc,
          do_reference, do_reference, do_reference };
  unsigned long n = test_is_slow () ? N_OPERATIONS_SLOW : N_OPERATIONS;

  n = number_from ("RALLOC_HELD_OPS", n);
  source.state = (uint64_t) GPOINTER_TO_UINT (data);
  n_torn = 0;
  for (unsigned long i = 0; i < n; i++)
    deeds[below (G_N_ELEMENTS (deeds))]();
  free_all ();
  g_assert_cmpuint (n_torn, ==, 0);
}

/* A node, a node below it, and a third that is held from below both.  Bits of
 * `order': third is older; its reference is older; free_children. */
static void
descendant_run (unsigned order, int n_links)
{
  void *x = ralloc_context (NULL);
  void *y = ralloc_context (NULL);
  void *top = ralloc_context (NULL);
  void *third = (order & 1) != 0 ? ralloc_context (top) : NULL;
  void *upper = ralloc_context (top);
  void *lower = ralloc_context (upper);
  void *holder = lower;

  for (int i = 0; i < n_links; i++)
    holder = ralloc_context (holder);
  if (third == NULL)
    third = ralloc_context (top);
  if ((order & 2) != 0)
    ralloc_reference (holder, third);
  ralloc_reference (x, upper);
  ralloc_reference (y, lower);
  if ((order & 2) == 0)
    ralloc_reference (holder, third);
  if ((order & 4) != 0)
    ralloc_free_children (top);
  else
    top = (ralloc_free (top), NULL);
  g_assert_true (ralloc_parent (upper) == x);
  g_assert_true (ralloc_parent (lower) == upper);
  g_assert_cmpuint (ralloc_reference_count (lower), ==, 1);
  g_assert_true (ralloc_parent (third) == holder);
  ralloc_free (y);
  g_assert_true (ralloc_parent (lower) == upper);
  ralloc_free (x);
  ralloc_free (top);
}

static void
test_descendant (void)
{
  for (unsigned order = 0; order < 8; order++)
    for (int n_links = 0; n_links < 100; n_links += 33)
      descendant_run (order, n_links);
}

static unsigned n_asked;

static bool
agree (void *node)
{
  (void) node;
  n_asked++;
  return false;
}

/* A node below one that is held is not asked whether it wants to be freed. */
static void
test_not_asked (void)
{
  void *x = ralloc_context (NULL);
  void *top = ralloc_context (NULL);
  void *upper = ralloc_context (top);
  void *lower = ralloc_context (upper);
  void *third = ralloc_context (top);

  ralloc_set_refusing_destructor (lower, agree);
  ralloc_reference (lower, third);
  ralloc_reference (x, upper);
  n_asked = 0;
  ralloc_free (top);
  g_assert_cmpuint (n_asked, ==, 0);
  g_assert_true (ralloc_parent (upper) == x);
  g_assert_true (ralloc_parent (lower) == upper);
  g_assert_true (ralloc_parent (third) == lower);
  ralloc_free (x);
  g_assert_cmpuint (n_asked, ==, 1);
}

/* --- long paths --- */

/* A node that is freed first, and nodes that save it: each is held from below
 * the next one, and the last one from outside.  All but the first are below a
 * chain of contexts. */
typedef struct
{
  size_t n;      /* nodes of the path, and contexts of the chain */
  void *top;
  void *bottom;  /* of the chain */
  void *outside;
  void *last;    /* of the path */
  void *holder;  /* of the first node */
} Path;

static void
path_make (Path *path, size_t n)
{
  path->n = n;
  path->outside = path->holder = ralloc_context (NULL);
  path->bottom = path->top = ralloc_context (NULL);
  for (size_t i = 0; i < n; i++)
    path->bottom = ralloc_context (path->bottom);
  for (size_t i = 0; i < n; i++)
    {
      void *node = ralloc_context (path->bottom);

      ralloc_reference (path->holder, node);
      if (i == 0)
        path->last = node;
      path->holder = ralloc_context (node);
    }
}

/* Contexts that go hold a node, too. */
static void
path_hold (const Path *path, void *node, void *parent)
{
  for (size_t i = 0; i < path->n; i++)
    ralloc_reference (ralloc_context (parent), node);
}

static void
path_free (const Path *path, void *first)
{
  void *node = first;
  size_t n = 0;

  ralloc_reference (path->holder, first);
  ralloc_free (path->top);
  for (; node != path->outside; node = ralloc_parent (node))
    n++;
  g_assert_cmpuint (n, ==, 2 * path->n + 1); /* with the holders */
  ralloc_free (path->outside);
}

static size_t
path_length (void)
{
  return test_is_slow () || is_checking () ? 500 : 400000;
}

/* The time of a free is in proportion to the nodes and references that it
 * looks at: in quadratic time these tests would not end. */
static void
test_long_path (void)
{
  Path path;

  path_make (&path, path_length ());
  path_free (&path, ralloc_context (path.top));
}

/* A node above the whole path is held by contexts that go. */
static void
test_long_path_below_held (void)
{
  Path path;

  path_make (&path, path_length ());
  path_hold (&path, path.bottom, path.top);
  path_free (&path, ralloc_context (path.top));
}

/* So are both ends of the path, for longer than by those that save them. */
static void
test_long_path_of_held (void)
{
  Path path;
  void *first;

  path_make (&path, path_length ());
  g_assert_true (ralloc_unlink (path.outside, path.last));
  path_hold (&path, path.last, path.bottom);
  ralloc_reference (path.outside, path.last);
  first = ralloc_context (path.top);
  path_hold (&path, first, path.bottom);
  path_free (&path, first);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/ralloc-held/descendant", test_descendant);
  g_test_add_func ("/slice/ralloc-held/not-asked", test_not_asked);
  g_test_add_func ("/slice/ralloc-held/long-path", test_long_path);
  g_test_add_func ("/slice/ralloc-held/long-path-below-held",
                   test_long_path_below_held);
  g_test_add_func ("/slice/ralloc-held/long-path-of-held",
                   test_long_path_of_held);
  for (unsigned seed = 1; seed <= N_SEEDS; seed++)
    {
      char *path = g_strdup_printf ("/slice/ralloc-held/random-%u", seed);

      g_test_add_data_func (path, GUINT_TO_POINTER (seed), test_of_seed);
      g_free (path);
    }
  return g_test_run ();
}
