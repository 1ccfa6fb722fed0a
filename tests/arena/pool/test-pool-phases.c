/* test-pool-phases.c - pools against a model, by thousands of calls of a kind
 *
 * A pool takes another path for each order of many frees: addresses in a row,
 * upwards or downwards, and in random order move to the bits in ways of their
 * own.  So the kinds of calls change after 1 to 32,768 of them, in random
 * order, with trims, resets and reserves between.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/arena/arena-test.h"

#include <string.h>

enum
{
  LIVE_MOST = 60000,
  LARGE_BYTES = 1000, /* of objects above this size fewer live */
  LOOK_PART = 16      /* one of so many phases ends with a look at all */
};

typedef struct
{
  SlicePool *pool;
  size_t size;
  guint n_most;
  guint n_live;
  unsigned n_done; /* allocations and frees */
  void **objects;
  unsigned *numbers;
} Model;

static guint
random_below (guint n)
{
  return (guint) g_test_rand_int_range (0, (gint32) n);
}

static void
model_alloc (Model *model)
{
  guint i = model->n_live;

  if (i == model->n_most)
    return;
  model->objects[i] = slice_pool_alloc (model->pool);
  g_assert_nonnull (model->objects[i]);
  model->numbers[i] = model->n_done++;
  pattern_fill (model->objects[i], model->size, model->numbers[i]);
  model->n_live++;
}

static void
model_check (const Model *model, guint i)
{
  g_assert_true (
      pattern_holds (model->objects[i], model->size, model->numbers[i]));
}

static void
model_free (Model *model, guint i)
{
  model_check (model, i);
  slice_pool_free (model->pool, model->objects[i]);
  model->n_done++;
}

/* The last object takes its place. */
static void
free_random (Model *model)
{
  guint i, last;

  if (model->n_live == 0)
    return;
  i = random_below (model->n_live);
  model_free (model, i);
  last = --model->n_live;
  model->objects[i] = model->objects[last];
  model->numbers[i] = model->numbers[last];
}

static void
free_newest (Model *model, guint n)
{
  for (; n > 0 && model->n_live > 0; n--)
    model_free (model, --model->n_live);
}

static void
free_oldest (Model *model, guint n)
{
  n = MIN (n, model->n_live);
  for (guint i = 0; i < n; i++)
    model_free (model, i);
  model->n_live -= n;
  memmove (model->objects, model->objects + n,
           model->n_live * sizeof *model->objects);
  memmove (model->numbers, model->numbers + n,
           model->n_live * sizeof *model->numbers);
}

static void
free_bulk (Model *model, guint n)
{
  n = MIN (n, model->n_live);
  model->n_live -= n;
  for (guint i = 0; i < n; i++)
    model_check (model, model->n_live + i);
  slice_pool_free_bulk (model->pool, n, model->objects + model->n_live);
  model->n_done += n;
}

static void
model_reset (Model *model)
{
  static const SliceKeep keeps[]
      = { SLICE_KEEP_ALL, SLICE_KEEP_LARGEST, SLICE_KEEP_NONE };

  slice_pool_reset (model->pool, keeps[random_below (G_N_ELEMENTS (keeps))]);
  model->n_live = 0;
}

/* What is done between two phases, now and then. */
static void
model_act (Model *model)
{
  switch (random_below (64))
    {
    case 0:
      model_reset (model);
      break;
    case 1:
    case 2:
      g_assert_true (
          slice_pool_reserve (model->pool, random_below (model->n_most)));
      break;
    case 3:
    case 4:
    case 5:
      slice_pool_trim (model->pool);
      break;
    default:
      slice_pool_free (model->pool, NULL);
    }
}

static int
compare_addresses (const void *a, const void *b)
{
  const char *const *x = a;
  const char *const *y = b;

  return (*x > *y) - (*x < *y);
}

static void
model_look (const Model *model)
{
  SliceArenaStats stats;
  char **sorted = g_new (char *, model->n_live + 1);

  memcpy (sorted, model->objects, model->n_live * sizeof *sorted);
  qsort (sorted, model->n_live, sizeof *sorted, compare_addresses);
  for (guint i = 1; i < model->n_live; i++)
    g_assert_cmpuint ((size_t) (sorted[i] - sorted[i - 1]), >=, model->size);
  g_free (sorted);
  g_assert_cmpuint (slice_pool_n_live (model->pool), ==, model->n_live);
  slice_pool_get_stats (model->pool, &stats);
  assert_stats_add_up (&stats);
}

static void
model_phase (Model *model)
{
  guint n = random_below (1u << random_below (16)) + 1;
  unsigned kind = random_below (12);

  if (kind < 4)
    for (guint i = 0; i < n; i++)
      model_alloc (model);
  else if (kind < 6)
    for (guint i = 0; i < n; i++)
      free_random (model);
  else if (kind == 6)
    free_newest (model, n);
  else if (kind == 7)
    free_oldest (model, n);
  else if (kind == 8)
    free_bulk (model, n);
  else
    for (guint i = 0; i < n; i++)
      {
        if (kind == 11 || random_below (2) == 0)
          free_random (model);
        else
          model_alloc (model);
        if (kind == 11)
          model_alloc (model);
      }
}

static void
run_phases (const SlicePoolOptions *options, unsigned n_operations)
{
  Model model = { .pool = slice_pool_new (options),
                  .size = options->object_bytes };

  model.n_most = LIVE_MOST / (model.size > LARGE_BYTES ? 40 : 1);
  model.objects = g_new (void *, model.n_most);
  model.numbers = g_new (unsigned, model.n_most);
  while (model.n_done < n_operations)
    {
      model_phase (&model);
      model_act (&model);
      if (random_below (LOOK_PART) == 0)
        model_look (&model);
    }
  model_look (&model);
  free_newest (&model, model.n_live);
  g_assert_cmpuint (slice_pool_n_live (model.pool), ==, 0);
  slice_pool_destroy (model.pool);
  g_free (model.objects);
  g_free (model.numbers);
}

static void
test_phases (void)
{
  static const size_t sizes[] = { 1, 8, 24, 64, 200, 3000 };
  unsigned n = g_test_slow () ? 1000000 : 50000;

  for (size_t s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (unsigned flags = 0;
         flags <= (SLICE_ARENA_CHECKED | SLICE_ARENA_LOCKED); flags++)
      {
        SlicePoolOptions options
            = { .object_bytes = sizes[s], .arena = { .flags = flags } };

        run_phases (&options, sizes[s] > LARGE_BYTES ? n / 10 : n);
        options.construct = construct_nothing;
        run_phases (&options, n / 10);
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/pool/phases", test_phases);
  return g_test_run ();
}
