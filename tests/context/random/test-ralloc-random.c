/* test-ralloc-random.c - trees, references, limits and refusals at random,
 * with memory that fails
 *
 * As test-ralloc-model.c, with what few nodes have: the model knows which
 * node keeps which by a reference, which refuse to be freed and in which
 * order destructors run.  Some requests for memory fail; then the tree must
 * be as it was.  Each mode runs in a process of its own.
 * RALLOC_RANDOM_SEED and RALLOC_RANDOM_OPS change the run.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

#include "tests/failing-malloc.h"

enum
{
  N_PLACES = 300,
  N_OPERATIONS = 40000,
  CHECK_EVERY = 64
};

typedef enum
{
  KIND_PLAIN,
  KIND_LINEAR,
  KIND_GC,
  KIND_REFERENCE /* a child that the library makes for its holder */
} Kind;

typedef struct
{
  bool is_used;
  Kind kind;
  unsigned char *node; /* NULL: a reference */
  int parent;          /* -1: a root */
  int target;          /* of a reference; -1: was freed */
  GArray *children;    /* of int, youngest first */
  GArray *references;  /* of int, oldest first */
  size_t size;
  size_t limit;
  unsigned char fill;
  char name;           /* 0: none */
  bool has_destructor;
  bool refuses;
  bool is_dying;
  bool stays;          /* among those that do_free_children () frees */
  unsigned search;     /* the last search that met it */
  int from;            /* what it may save */
} Place;

static Place places[N_PLACES];
static Random source;
static bool is_armed;    /* the operation under way may fail */
static GArray *destroyed, *expected;
static int hub;          /* has many children */
static bool are_objects_nodes; /* those of linear and gc contexts */

#define INDEX(array, k) g_array_index ((array), int, (k))

static size_t
below (size_t n)
{
  return random_below (&source, n);
}

/* --- failing requests --- */

static void
arm (void)
{
#if MALLOC_CAN_FAIL
  is_armed = below (4) == 0;
  fault.persistent = below (2) == 0;
  fault.countdown = is_armed ? 1 + (long) below (3) : 0;
#endif
}

static void
disarm (void)
{
#if MALLOC_CAN_FAIL
  fault.countdown = 0;
#endif
}

/* --- user code --- */

static int
place_of (const void *node)
{
  for (int i = 0; i < N_PLACES; i++)
    if (places[i].is_used && places[i].node == node)
      return i;
  g_assert_not_reached ();
}

static GHashTable *by_node;

static void
note_destroyed (void *node)
{
  int i = GPOINTER_TO_INT (g_hash_table_lookup (by_node, node));

  g_array_append_val (destroyed, i);
}

static bool
refuse (void *node)
{
  return places[place_of (node)].refuses;
}

/* --- the model --- */

static int
place_find (void)
{
  for (int i = 1; i < N_PLACES; i++)
    if (!places[i].is_used)
      return i;
  return -1;
}

static void
array_drop (GArray *array, int value)
{
  for (unsigned k = 0; k < array->len; k++)
    if (INDEX (array, k) == value)
      {
        g_array_remove_index (array, k);
        return;
      }
  g_assert_not_reached ();
}

static void
model_unlink (int i)
{
  if (places[i].parent >= 0)
    array_drop (places[places[i].parent].children, i);
}

static void
model_link (int parent, int i)
{
  places[i].parent = parent;
  if (parent >= 0)
    g_array_prepend_val (places[parent].children, i);
}

static void
model_move (int parent, int i)
{
  model_unlink (i);
  model_link (parent, i);
}

/* A place without children that is off its list. */
static void
model_end (int i)
{
  Place *place = &places[i];

  if (place->has_destructor)
    g_array_append_val (expected, i);
  if (place->kind == KIND_REFERENCE && place->target >= 0)
    array_drop (places[place->target].references, i);
  for (unsigned k = 0; k < place->references->len; k++)
    places[INDEX (place->references, k)].target = -1;
  g_array_set_size (place->references, 0);
  place->is_used = false;
}

/* The node whose children are freed, as one set, or -1. */
static int model_keep = -1;

/* Does a node go by itself? */
static bool
model_goes (int at, int target)
{
  return at == target || places[at].is_dying
         || (model_keep >= 0 && places[at].parent == model_keep
             && !places[at].stays);
}

/* Does a context go with the tree that is being freed, or with a node? */
static bool
model_ends_with (int ctx, int target)
{
  for (; ctx >= 0; ctx = places[ctx].parent)
    if (model_goes (ctx, target))
      return true;
  return false;
}

static void
model_move_out (int to, int i)
{
  model_move (to, i);
  places[i].stays = to >= 0 && to == model_keep;
}

/* The first node above the part of a tree that goes. */
static int
model_fallback (int at, int target)
{
  while (!model_goes (at, target))
    at = places[at].parent;
  while (at >= 0 && model_goes (at, target))
    at = places[at].parent;
  return at;
}

/* The oldest reference to a node whose holder does not go, or -1. */
static int
model_saving (int i, int target)
{
  for (unsigned k = 0; k < places[i].references->len; k++)
    {
      int reference = INDEX (places[i].references, k);
      int owner = places[reference].parent;

      if (owner != model_keep && !model_ends_with (owner, target))
        return reference;
    }
  return -1;
}

/* Moves a node to that holder. */
static void
model_take (int i, int target)
{
  int reference = model_saving (i, target);
  int owner;

  g_assert_cmpint (reference, >=, 0);
  owner = places[reference].parent;
  model_unlink (reference);
  model_end (reference);
  model_move_out (owner, i);
}

static bool
model_way_ends (int at, int target)
{
  return at == model_keep || at == target || places[at].is_dying;
}

/* Moves the nodes of a path, from its far end. */
static void
model_path (int at, int target)
{
  for (; at != target; at = places[at].from)
    model_take (at, target);
  model_take (target, target);
}

static void
model_refuser_moves (int refuser, int target)
{
  if (model_keep >= 0 && places[refuser].parent == model_keep)
    places[refuser].stays = true;
  else
    model_move_out (model_fallback (refuser, target), refuser);
}

/* Notes the nodes with references from a holder up to the part that goes.  The
 * topmost one that is held from outside saves those below it, and the topmost
 * one that refuses above it moves.  True: one of these was found. */
static bool
model_way_up (int from_at, int from, int target, GArray *queue,
              unsigned search, int *held)
{
  int refuser = -1;
  int way = from_at;

  *held = -1;
  for (int at = from_at;
       !model_way_ends (at, target) && places[at].search != search;
       at = places[at].parent)
    if (model_saving (at, target) >= 0)
      {
        *held = way = at;
        refuser = -1;
      }
    else if (places[at].refuses)
      refuser = at;
  if (refuser >= 0)
    {
      model_refuser_moves (refuser, target);
      *held = -1;
      return true;
    }
  for (; !model_way_ends (way, target) && places[way].search != search;
       way = places[way].parent)
    if (places[way].references->len > 0)
      {
        places[way].search = search;
        places[way].from = from;
        g_array_append_val (queue, way);
      }
  return *held >= 0;
}

/* One search.  True: something has moved, the target or one that refuses. */
static bool
model_search (int target, bool *is_moved)
{
  static unsigned n_searches;
  GArray *queue = g_array_new (FALSE, FALSE, sizeof (int));
  int held = model_saving (target, target) >= 0 ? target : -1;
  bool found = held >= 0;

  n_searches++;
  g_array_append_val (queue, target);
  for (unsigned q = 0; q < queue->len && !found; q++)
    {
      int at = INDEX (queue, q);

      for (unsigned k = 0; k < places[at].references->len && !found; k++)
        found = model_way_up (places[INDEX (places[at].references, k)].parent,
                              at, target, queue, n_searches, &held);
    }
  if (held >= 0)
    model_path (held, target);
  *is_moved = held >= 0;
  g_array_free (queue, TRUE);
  return found;
}

/* Is a node kept by a context that survives?  That may lie in the tree that
 * goes, and move out of it first. */
static bool
model_is_kept (int i)
{
  bool is_moved = false;

  while (!is_moved && places[i].references->len > 0
         && model_search (i, &is_moved))
    ;
  return is_moved;
}

static int
model_first (int at)
{
  for (unsigned k = 0; k < places[at].children->len; k++)
    {
      int child = INDEX (places[at].children, k);

      if (at != model_keep || !places[child].stays)
        return child;
    }
  return -1;
}

static void
model_walk (int at, int fallback)
{
  int child;

  while ((child = model_first (at)) >= 0)
    {
      if (model_is_kept (child))
        continue;
      if (places[child].refuses && at == model_keep)
        places[child].stays = true;
      else if (places[child].refuses)
        model_move_out (fallback, child);
      else
        {
          model_unlink (child);
          places[child].is_dying = true;
          model_walk (child, fallback);
          model_end (child);
        }
    }
}

static void
model_free_children (int i)
{
  model_keep = i;
  model_walk (i, i);
  model_keep = -1;
  for (unsigned k = 0; k < places[i].children->len; k++)
    places[INDEX (places[i].children, k)].stays = false;
}

static bool
model_free (int i)
{
  if (model_is_kept (i) || places[i].refuses)
    return false;
  model_unlink (i);
  places[i].is_dying = true;
  model_walk (i, places[i].parent);
  model_end (i);
  return true;
}

static bool
model_is_above (int above, int node)
{
  for (; node >= 0; node = places[node].parent)
    if (node == above)
      return true;
  return false;
}

static bool
model_is_limited (int i)
{
  for (; i >= 0; i = places[i].parent)
    if (places[i].limit > 0)
      return true;
  return false;
}

static size_t
model_count (int i)
{
  size_t n = 1;

  for (unsigned k = 0; k < places[i].children->len; k++)
    n += model_count (INDEX (places[i].children, k));
  return n;
}

/* --- comparing --- */

static void
check_limit (const Place *place)
{
  size_t used = ralloc_limit_used (place->node);

  g_assert_true (ralloc_set_limit (place->node, 0));
  g_assert_cmpuint (ralloc_limit_used (place->node), ==, 0);
  g_assert_true (ralloc_set_limit (place->node, place->limit));
  g_assert_cmpuint (ralloc_limit_used (place->node), ==, used);
}

static void
check_count (int i)
{
  size_t n = ralloc_total_nodes (places[i].node);

  if (are_objects_nodes)
    g_assert_cmpuint (n, >=, model_count (i));
  else
    g_assert_cmpuint (n, ==, model_count (i));
}

static void
check_place (int i)
{
  const Place *place = &places[i];
  void *parent = place->parent < 0 ? NULL : places[place->parent].node;
  const char *name = ralloc_get_name (place->node);

  g_assert_true (ralloc_parent (place->node) == parent);
  if (place->kind == KIND_PLAIN)
    g_assert_cmpuint (ralloc_usable_size (place->node), >=, place->size);
  for (size_t k = 0; k < place->size; k++)
    g_assert_cmpuint (place->node[k], ==, place->fill);
  g_assert_cmpuint (ralloc_reference_count (place->node), ==,
                    place->references->len);
  g_assert_cmpint (name != NULL ? name[0] : 0, ==, place->name);
  if (place->limit > 0)
    check_limit (place);
  if (place->parent < 0)
    check_count (i);
}

static void
check_all (void)
{
  for (int i = 0; i < N_PLACES; i++)
    if (places[i].is_used && places[i].node != NULL)
      check_place (i);
}

static void
check_destroyed (void)
{
  g_assert_cmpuint (destroyed->len, ==, expected->len);
  for (unsigned k = 0; k < expected->len; k++)
    g_assert_cmpint (INDEX (destroyed, k), ==, INDEX (expected, k));
  g_array_set_size (destroyed, 0);
  g_array_set_size (expected, 0);
}

/* --- operations --- */

static int
live (void)
{
  for (unsigned tries = 0; tries < 4 * N_PLACES; tries++)
    {
      int i = (int) below (N_PLACES);

      if (places[i].is_used && places[i].node != NULL)
        return i;
    }
  return -1;
}

static int
context (void)
{
  if (below (3) == 0 && places[hub].is_used && places[hub].node != NULL)
    return hub;
  return below (12) == 0 ? -1 : live ();
}

static size_t
some_size (void)
{
  size_t kind = below (16);

  if (kind == 0)
    return below (6000);
  if (kind == 1)
    return below (30) == 0 ? 100000 + below (200000) : below (3000);
  return below (200);
}

static void *
node_at (int i)
{
  return i < 0 ? NULL : places[i].node;
}

static void
place_begin (int i, int parent, Kind kind, void *node)
{
  Place *place = &places[i];

  place->is_used = true;
  place->kind = kind;
  place->node = node;
  place->size = 0;
  place->limit = 0;
  place->name = 0;
  place->has_destructor = place->refuses = place->is_dying = false;
  place->stays = false;
  place->search = 0;
  place->target = -1;
  if (node != NULL)
    g_hash_table_insert (by_node, node, GINT_TO_POINTER (i));
  model_link (parent, i);
}

static void
do_alloc (void)
{
  int i = place_find ();
  int parent = context ();
  size_t size = some_size ();
  bool zero = below (3) == 0;
  unsigned char *node;

  if (i < 0)
    return;
  arm ();
  node = zero ? rzalloc_size (node_at (parent), size)
              : ralloc_size (node_at (parent), size);
  disarm ();
  if (node == NULL)
    {
      g_assert_true (is_armed || model_is_limited (parent));
      return;
    }
  for (size_t k = 0; zero && k < size; k++)
    g_assert_cmpuint (node[k], ==, 0);
  place_begin (i, parent, KIND_PLAIN, node);
  places[i].size = size;
  places[i].fill = (unsigned char) random_next (&source);
  memset (node, places[i].fill, size);
}

static void
linear_fill (void *linear)
{
  for (size_t n = below (60); n > 0; n--)
    {
      size_t size = below (40) == 0 ? below (40000) : below (100);
      char *object = ralloc_linear_alloc_child (linear, size);

      if (object != NULL)
        memset (object, 0xab, size);
    }
}

/* All nodes below a gc context go in a sweep, references excepted. */
static bool
has_nodes (int i)
{
  for (unsigned k = 0; k < places[i].children->len; k++)
    if (places[INDEX (places[i].children, k)].kind != KIND_REFERENCE)
      return true;
  return false;
}

static void
gc_fill (RallocGc *gc, bool may_sweep)
{
  for (size_t n = below (60); n > 0; n--)
    {
      size_t size = below (40) == 0 ? below (400) : below (100);
      char *object = ralloc_gc_alloc_size (gc, size, 8);

      if (object != NULL)
        memset (object, 0xab, size);
    }
  if (may_sweep && below (4) == 0)
    {
      ralloc_gc_sweep_start (gc);
      ralloc_gc_sweep_end (gc);
    }
}

static void
do_arena (void)
{
  int i = place_find ();
  int parent = context ();
  Kind kind = below (2) == 0 ? KIND_LINEAR : KIND_GC;
  void *node;

  if (i < 0)
    return;
  arm ();
  node = kind == KIND_LINEAR
             ? (void *) ralloc_linear_context (node_at (parent))
             : (void *) ralloc_gc_context (node_at (parent));
  if (node != NULL && kind == KIND_LINEAR)
    linear_fill (node);
  if (node != NULL && kind == KIND_GC)
    gc_fill (node, true);
  disarm ();
  if (node != NULL)
    place_begin (i, parent, kind, node);
  else
    g_assert_true (is_armed || model_is_limited (parent));
}

static void
do_fill (void)
{
  int i = live ();

  if (i < 0)
    return;
  arm ();
  if (places[i].kind == KIND_LINEAR)
    linear_fill (places[i].node);
  else if (places[i].kind == KIND_GC)
    gc_fill ((RallocGc *) places[i].node, !has_nodes (i));
  disarm ();
}

static void
do_mark (void)
{
  int i = live ();
  char name[] = { (char) ('a' + below (26)), 'x', 0 };
  bool done;

  if (i < 0)
    return;
  arm ();
  switch (below (4))
    {
    case 0:
      done = ralloc_set_name (places[i].node, name);
      if (done)
        places[i].name = name[0];
      break;
    case 1:
      done = ralloc_set_refusing_destructor (places[i].node, refuse);
      if (done)
        places[i].refuses = below (3) == 0;
      break;
    default:
      done = ralloc_try_set_destructor (places[i].node, note_destroyed);
      if (done)
        places[i].has_destructor = true;
    }
  disarm ();
  g_assert_true (done || is_armed);
}

static void
do_limit (void)
{
  int i = live ();
  size_t limit = below (3) == 0 ? 0 : 1 + below (200000);
  bool done;

  if (i < 0)
    return;
  arm ();
  done = ralloc_set_limit (places[i].node, limit);
  disarm ();
  g_assert_true (done || is_armed);
  if (done)
    places[i].limit = limit;
}

static void
do_free (void)
{
  int i = live ();
  bool is_freed;

  if (i < 0)
    return;
  is_freed = ralloc_try_free (places[i].node);
  g_assert_cmpint (is_freed, ==, model_free (i));
}

static void
do_free_children (void)
{
  int i = live ();

  if (i < 0 || places[i].children->len > 5)
    return;
  ralloc_free_children (places[i].node);
  model_free_children (i);
}

static void
do_steal (void)
{
  int what = live ();
  int to = context ();
  bool done;

  if (what < 0)
    return;
  if (model_is_above (what, to))
    {
      g_assert_false (ralloc_try_steal (node_at (to), places[what].node));
      return;
    }
  arm ();
  done = below (2) == 0;
  if (done)
    ralloc_steal (node_at (to), places[what].node);
  else
    done = ralloc_try_steal (node_at (to), places[what].node);
  disarm ();
  g_assert_true (done || model_is_limited (to));
  if (done)
    model_move (to, what);
}

static void
do_adopt (void)
{
  int from = live ();
  int to = context ();
  GArray *children;

  if (from < 0 || model_is_above (from, to))
    return;
  if (are_objects_nodes && places[from].kind != KIND_PLAIN)
    return; /* the objects would be adopted as well */
  ralloc_adopt (node_at (to), places[from].node);
  children = places[from].children;
  for (int k = (int) children->len - 1; k >= 0; k--)
    {
      int child = INDEX (children, k);

      if (to < 0 && places[child].kind == KIND_REFERENCE)
        continue;
      g_array_remove_index (children, k);
      model_link (to, child);
    }
}

static void
do_resize (void)
{
  int i = live ();
  size_t size = some_size ();
  unsigned char *node;
  Place *place;

  if (i < 0 || places[i].kind != KIND_PLAIN)
    return;
  place = &places[i];
  arm ();
  node = reralloc_size (node_at (place->parent), place->node, size);
  disarm ();
  if (node == NULL)
    {
      g_assert_true (is_armed || model_is_limited (i));
      return;
    }
  place->node = node;
  g_hash_table_insert (by_node, node, GINT_TO_POINTER (i));
  if (size > place->size)
    memset (node + place->size, place->fill, size - place->size);
  place->size = size;
}

static void
do_reference (void)
{
  int i = place_find ();
  int holder = live ();
  int target = live ();
  void *done;

  if (i < 0 || holder < 0 || target < 0)
    return;
  arm ();
  done = ralloc_reference (node_at (holder), node_at (target));
  disarm ();
  if (done == NULL)
    {
      g_assert_true (is_armed || model_is_limited (holder));
      return;
    }
  place_begin (i, holder, KIND_REFERENCE, NULL);
  places[i].target = target;
  g_array_append_val (places[target].references, i);
}

/* What ralloc_unlink() does of a node and the context that lets it go. */
static bool
model_let_go (int ctx, int i)
{
  for (unsigned k = 0; k < places[i].references->len; k++)
    {
      int reference = INDEX (places[i].references, k);

      if (places[reference].parent == ctx)
        {
          model_unlink (reference);
          model_end (reference);
          return true;
        }
    }
  if (places[i].parent != ctx)
    return false;
  model_free (i);
  return true;
}

static void
do_unlink (void)
{
  int i = live ();
  int ctx = live ();
  bool done;

  if (i < 0)
    return;
  if (places[i].references->len > 0 && below (2) == 0)
    ctx = places[INDEX (places[i].references, 0)].parent;
  if (ctx < 0)
    return;
  done = ralloc_unlink (node_at (ctx), node_at (i));
  g_assert_cmpint (done, ==, model_let_go (ctx, i));
}

static void
do_one (void)
{
  static void (*const deeds[]) (void)
      = { do_free,   do_free,          do_free,   do_steal,     do_steal,
          do_steal,  do_adopt,         do_resize, do_resize,    do_resize,
          do_resize, do_free_children, do_mark,   do_mark,      do_mark,
          do_limit,  do_reference,     do_unlink, do_reference, do_arena,
          do_fill,   do_alloc,         do_alloc,  do_alloc,     do_alloc,
          do_alloc,  do_alloc,         do_alloc,  do_alloc,     do_alloc };

  deeds[below (G_N_ELEMENTS (deeds))] ();
  check_destroyed ();
}

/* --- the run --- */

/* Nodes that refuse are asked no more, and references end with their roots. */
static void
free_all (void)
{
  for (int i = 0; i < N_PLACES; i++)
    places[i].refuses = false;
  for (int i = 0; i < N_PLACES; i++)
    while (places[i].is_used && places[i].node != NULL
           && places[i].parent < 0)
      {
        bool is_freed = ralloc_try_free (places[i].node);

        g_assert_cmpint (is_freed, ==, model_free (i));
        check_destroyed ();
      }
  for (int i = 0; i < N_PLACES; i++)
    if (places[i].is_used && places[i].parent < 0)
      {
        free_all ();
        return;
      }
}

static void
run (void)
{
  unsigned long n = number_from ("RALLOC_RANDOM_OPS", N_OPERATIONS);
  uint64_t before;

  source.state = number_from ("RALLOC_RANDOM_SEED", 4711);
  ralloc_free (ralloc_context (NULL));
  before = live_blocks ();
  are_objects_nodes = is_annotated ();
  by_node = g_hash_table_new (NULL, NULL);
  destroyed = g_array_new (FALSE, FALSE, sizeof (int));
  expected = g_array_new (FALSE, FALSE, sizeof (int));
  for (unsigned i = 0; i < N_PLACES; i++)
    {
      places[i].children = g_array_new (FALSE, FALSE, sizeof (int));
      places[i].references = g_array_new (FALSE, FALSE, sizeof (int));
    }
  for (unsigned long i = 0; i < n; i++)
    {
      if (i % 500 == 0)
        hub = (int) below (N_PLACES);
      do_one ();
      if (i % CHECK_EVERY == 0)
        check_all ();
    }
  free_all ();
  g_assert_cmpuint (live_blocks (), ==, before);
}

int
main (int argc, char **argv)
{
  static const char *const modes[]
      = { "", "checked", "hardened", "debug", "always-malloc",
          "debug,always-malloc", "debug-blocks", NULL };

  g_test_init (&argc, &argv, NULL);
  add_modes ("/slice/ralloc-random", run, modes,
             G_TEST_SUBPROCESS_INHERIT_STDERR);
  return g_test_run ();
}
