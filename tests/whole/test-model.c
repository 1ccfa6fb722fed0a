/* test-model.c - long random sequences of all calls against a slow oracle
 *
 * Links the library as a program would.  The oracle is a table of what each
 * block must be: where, how long, aligned how, filled with what; a second
 * table by address finds blocks that overlap.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/walk.h>

#include "tests/hang.h"
#include "tests/testlib.h"
#include "tests/teststats.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_SLOTS = 2000, SIZE_LARGE = 10000 };

typedef enum
{
  KIND_PLAIN,    /* slice_alloc() and its like */
  KIND_ARRAY,    /* n * size */
  KIND_ALIGNED
} Kind;

typedef struct
{
  unsigned char *block; /* NULL: the slot is free */
  size_t size;
  size_t alignment;
  size_t n;             /* KIND_ARRAY: size is n * (size / n) */
  Kind kind;
  unsigned key;
} Slot;

typedef struct
{
  Slot slots[N_SLOTS];
  GTree *by_address;    /* block -> Slot; one thread's own */
  TestRandom random;
  unsigned turn;
} Model;

static gint
compare_addresses (gconstpointer a, gconstpointer b)
{
  return (uintptr_t) a < (uintptr_t) b ? -1 : (uintptr_t) a > (uintptr_t) b;
}

static size_t
random_size (TestRandom *random)
{
  switch (test_random_below (random, 10))
    {
    case 0:
      return 1 + test_random_below (random, SIZE_LARGE);
    case 1:
    case 2:
      return 1 + test_random_below (random, SLICE_SIZE_MAX);
    default:
      return 1 + test_random_below (random, 200);
    }
}

/* --- the oracle --- */

/* A new block overlaps neither the one below it nor the one above. */
static void
model_insert (Model *model, Slot *slot)
{
  GTreeNode *node, *next;

  g_tree_insert (model->by_address, slot->block, slot);
  node = g_tree_lookup_node (model->by_address, slot->block);
  next = g_tree_node_next (node);
  if (next != NULL)
    g_assert_true (slot->block + slot->size
                   <= ((Slot *) g_tree_node_value (next))->block);
  next = g_tree_node_previous (node);
  if (next != NULL)
    {
      Slot *below = g_tree_node_value (next);

      g_assert_true (below->block + below->size <= slot->block);
    }
}

static void
slot_begin (Model *model, Slot *slot, void *block)
{
  g_assert_nonnull (block);
  g_assert_cmpuint ((uintptr_t) block % slot->alignment, ==, 0);
  slot->block = block;
  slot->key = model->turn;
  g_assert_cmpuint (slice_block_size (block), >=, slot->size);
  model_insert (model, slot);
  test_fill (block, slot->size, slot->key);
}

/* What must be true before a block is freed; afterwards it is no block. */
static unsigned char *
slot_end (Model *model, Slot *slot)
{
  unsigned char *block = slot->block;

  g_assert_true (test_is_filled (block, slot->size, slot->key));
  g_assert_true (g_tree_remove (model->by_address, block));
  slot->block = NULL;
  return block;
}

/* --- calls --- */

static size_t
malloc_alignment (void)
{
  return 2 * sizeof (void *);
}

static void *
alloc_plain (Model *model, Slot *slot)
{
  static const unsigned char source[SIZE_LARGE + 1];
  void *block;

  slot->kind = KIND_PLAIN;
  slot->size = random_size (&model->random);
  slot->alignment = MIN (test_alignment (slot->size), malloc_alignment ());
  switch (test_random_below (&model->random, 5))
    {
    case 0:
      return slice_alloc (slot->size);
    case 1:
      block = slice_alloc0 (slot->size);
      g_assert_true (test_is_zero (block, slot->size));
      return block;
    case 2:
      block = slice_copy (slot->size, source);
      g_assert_true (test_is_zero (block, slot->size));
      return block;
    case 3:
      return slice_try_alloc (slot->size);
    default:
      block = slice_try_alloc0 (slot->size);
      g_assert_true (test_is_zero (block, slot->size));
      return block;
    }
}

static void *
alloc_array (Model *model, Slot *slot)
{
  size_t size = 1 + test_random_below (&model->random, 100);
  void *block;

  slot->kind = KIND_ARRAY;
  slot->n = 1 + test_random_below (&model->random, 40);
  slot->size = slot->n * size;
  slot->alignment = MIN (test_alignment (slot->size), malloc_alignment ());
  switch (test_random_below (&model->random, 3))
    {
    case 0:
      return slice_alloc_n (slot->n, size);
    case 1:
      block = slice_alloc0_n (slot->n, size);
      g_assert_true (test_is_zero (block, slot->size));
      return block;
    default:
      return slice_try_alloc_n (slot->n, size);
    }
}

static void *
alloc_aligned (Model *model, Slot *slot)
{
  slot->kind = KIND_ALIGNED;
  slot->size = random_size (&model->random);
  slot->alignment = (size_t) 1 << test_random_below (&model->random, 13);
  return test_random_below (&model->random, 2) == 0
             ? slice_alloc_aligned (slot->alignment, slot->size)
             : slice_try_alloc_aligned (slot->alignment, slot->size);
}

static void
model_alloc (Model *model, Slot *slot)
{
  switch (test_random_below (&model->random, 8))
    {
    case 0:
      slot_begin (model, slot, alloc_array (model, slot));
      break;
    case 1:
      slot_begin (model, slot, alloc_aligned (model, slot));
      break;
    default:
      slot_begin (model, slot, alloc_plain (model, slot));
      break;
    }
}

static void
model_free (Model *model, Slot *slot)
{
  Kind kind = slot->kind;
  void *block = slot_end (model, slot);

  switch (kind)
    {
    case KIND_ARRAY:
      slice_free_n (slot->n, slot->size / slot->n, block);
      break;
    case KIND_ALIGNED:
      slice_free_aligned (slot->alignment, slot->size, block);
      break;
    default:
      slice_free1 (slot->size, block);
      break;
    }
}

/* A chain of its own, made and freed; both ways it is to be gone. */
static void
model_chain (Model *model)
{
  size_t size = 16 + test_random_below (&model->random, 300);
  size_t offset = test_random_below (&model->random, (unsigned) size / 8) * 8;
  unsigned n = test_random_below (&model->random, 200);
  void *chain = NULL;

  if (offset + sizeof (void *) > size)
    offset = 0;
  for (unsigned i = 0; i < n; i++)
    {
      char *block = slice_alloc (size);

      *(void **) (void *) (block + offset) = chain;
      chain = block;
    }
  slice_free_chain_with_offset (size, chain, offset);
}

/* Some blocks that slices are cut for, freed at once. */
static void
model_bulk (Model *model)
{
  void *blocks[64];
  size_t n = 0;

  for (unsigned i = test_random_below (&model->random, N_SLOTS);
       i < N_SLOTS && n < G_N_ELEMENTS (blocks); i++)
    {
      Slot *slot = &model->slots[i];

      if (slot->block == NULL || !slice_is_ours (slot->block))
        continue;
      blocks[n++] = slot_end (model, slot);
      if (n % 10 == 0 && n < G_N_ELEMENTS (blocks))
        blocks[n++] = NULL;
    }
  slice_free_bulk (n, blocks);
}

static void
model_look (Model *model)
{
  Slot *slot = &model->slots[test_random_below (&model->random, N_SLOTS)];
  SliceBlockInfo info;
  size_t inside;

  if (slot->block == NULL)
    return;
  inside = test_random_below (&model->random, (unsigned) slot->size);
  slice_block_info (slot->block + inside, &info);
  if (info.kind == SLICE_BLOCK_FOREIGN)
    {
      g_assert_false (slice_is_ours (slot->block));
      return;
    }
  g_assert_cmpint (info.kind, ==,
                   inside == 0 ? SLICE_BLOCK_OUT : SLICE_BLOCK_INTERIOR);
  g_assert_true (info.start == slot->block);
  g_assert_cmpuint (info.bytes, >=, slot->size);
}

static void
model_turn (Model *model)
{
  unsigned what = test_random_below (&model->random, 2000);
  Slot *slot = &model->slots[test_random_below (&model->random, N_SLOTS)];

  model->turn++;
  if (what == 0)
    slice_trim (test_random_below (&model->random, 2));
  else if (what == 1)
    slice_thread_flush ();
  else if (what < 12)
    model_chain (model);
  else if (what < 20)
    model_bulk (model);
  else if (what < 200)
    model_look (model);
  else if (what < 220)
    slice_free1 (1 + what % 100, NULL);
  else if (slot->block == NULL)
    model_alloc (model, slot);
  else
    model_free (model, slot);
}

static void
model_run (unsigned index, void *data)
{
  unsigned n_turns = *(const unsigned *) data;
  Model *model = g_new0 (Model, 1);

  model->by_address = g_tree_new (compare_addresses);
  test_random_init (&model->random, index);
  while (model->turn < n_turns)
    model_turn (model);
  for (unsigned i = 0; i < N_SLOTS; i++)
    if (model->slots[i].block != NULL)
      model_free (model, &model->slots[i]);
  g_assert_cmpint (g_tree_nnodes (model->by_address), ==, 0);
  g_tree_unref (model->by_address);
  g_free (model);
}

/* --- in each mode --- */

static const char *mode;
static unsigned n_threads;

static void
run_mode (void)
{
  unsigned n_turns = test_times (40000, 3000);

  test_options (mode);
  if (n_threads == 1)
    model_run (0, &n_turns);
  else
    test_gang (n_threads, model_run, &n_turns);
  g_assert_cmpuint (test_live (), ==, 0);
  g_assert_cmpuint (test_stats ()->n_large_allocs, ==,
                    test_stats ()->n_large_frees);
}

/* A page source may not be. */
static gboolean
mode_is_built_in (void)
{
  return (strcmp (mode, "page-source=memalign") != 0
          || slice_source_builtin (SLICE_PAGES_MEMALIGN) != NULL)
         && (strcmp (mode, "page-source=valloc") != 0
             || slice_source_builtin (SLICE_PAGES_VALLOC) != NULL);
}

static const char *const modes[]
    = { "",
        "count",
        "bypass-magazines",
        "always-malloc",
        "debug-blocks",
        "debug-blocks bypass-magazines",
        "debug-blocks always-malloc",
        "align-16",
        "working-set-msec=0",
        "huge-pages=0",
        "trim-thread working-set-msec=100",
        "page-source=mmap",
        "page-source=memalign",
        "page-source=valloc",
        "page-source=malloc",
        "checked",
        "hardened",
        "debug" };

static void
test_modes (void)
{
  for (size_t i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      int status;
      char *said;

      mode = modes[i];
      if (!mode_is_built_in ())
        continue;
      said = test_capture (run_mode, &status);
      if (status != 0 || said[0] != '\0')
        g_test_message ("mode '%s': %s", mode, said);
      g_assert_cmpint (status, ==, 0);
      g_assert_cmpstr (said, ==, "");
      g_free (said);
    }
}

static void
test_one_thread (void)
{
  n_threads = 1;
  test_modes ();
}

static void
test_four_threads (void)
{
  n_threads = 4;
  test_modes ();
}

/* --- in the child of a fork --- */

static gint goes_on;

static void *
churn (void *unused)
{
  while (g_atomic_int_get (&goes_on))
    {
      void *blocks[300];

      for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
        blocks[i] = slice_alloc (1 + i * 7);
      for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
        slice_free1 (1 + i * 7, blocks[i]);
    }
  return unused;
}

static void
child_runs_model (void)
{
  unsigned n_turns = test_times (20000, 2000);

  hang_after (test_is_slow () ? 1200 : 120);
  model_run (0, &n_turns);
  test_gang (2, model_run, &n_turns);
  g_assert_null (slice_validate (NULL));
  _exit (0);
}

/* All calls, in a process whose threads were at work when it forked.  (Not
 * under memcheck: what a thread had just got from the system, and nobody in
 * the child knows of, is lost there, as memcheck says.) */
static void
fork_and_run_model (void)
{
  pthread_t threads[3];
  size_t n = test_is_slow () ? 0 : G_N_ELEMENTS (threads);
  int status;
  pid_t child;

  test_options (mode);
  g_atomic_int_set (&goes_on, 1);
  for (size_t i = 0; i < n; i++)
    pthread_create (&threads[i], NULL, churn, NULL);
  slice_free1 (40, slice_alloc (40));
  fflush (NULL);
  child = fork ();
  if (child == 0)
    child_runs_model ();
  waitpid (child, &status, 0);
  g_atomic_int_set (&goes_on, 0);
  for (size_t i = 0; i < n; i++)
    pthread_join (threads[i], NULL);
  g_assert_cmpint (status, ==, 0);
}

static void
test_in_child (void)
{
  static const char *const fork_modes[]
      = { "", "checked", "hardened", "debug" };

  if (TEST_IS_SANITIZED)
    {
      g_test_skip ("the sanitizer's malloc may be locked in the child");
      return;
    }
  for (size_t i = 0; i < G_N_ELEMENTS (fork_modes); i++)
    {
      mode = fork_modes[i];
      test_says_nothing (fork_and_run_model);
    }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/model/one-thread", test_one_thread);
  test_add ("/slice/model/four-threads", test_four_threads);
  test_add ("/slice/model/in-a-child", test_in_child);
  return g_test_run ();
}
