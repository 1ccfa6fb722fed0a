/* test-malloc.c - libslice-malloc: malloc's whole interface, by slices
 *
 * The program is linked to the library, so that each call of malloc's family,
 * GLib's too, comes to it.  A model knows what lives: its size, its contents,
 * its alignment.  test-malloc-programs.sh runs it once more in the checking
 * modes.
 * SLICE_TEST_TIER=2 runs the model for longer; with an argument
 * --soak=SECONDS it is all that runs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/heap.h>
#include <slice/slice.h>

#include "../testlib.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void free_sized (void *block, size_t size);
void free_aligned_sized (void *block, size_t alignment, size_t size);

enum
{
  SLOTS = 400,
  STEPS = 60000,
  THREADS = 4
};

/* The compiler must not know what becomes of a block. */
static void *volatile sink;

/* Is malloc ours?  Not under a tool or a sanitizer. */
static bool
is_by_slices (void)
{
  void *block = malloc (100);
  bool ours = slice_is_ours (block);

  free (block);
  return ours;
}

/* --- one call at a time -------------------------------------------------- */

static const size_t some_sizes[]
    = { 0,     1,     7,     8,      15,     16,     17,      24,      25,
        100,   512,   513,   1040,   1041,   2048,   2049,    2064,    2065,
        2304,  2305,  4096,  5000,   8192,   16384,  16385,   30000,   32768,
        32769, 49152, 65536, 100000, 262144, 400000, 524288,  524289,  700000,
        1 << 20, (1 << 20) + 1, 3000000, 20000000 };

static void
check_block (const void *block, size_t size)
{
  g_assert_nonnull (block);
  g_assert_cmpuint ((uintptr_t) block % 16, ==, 0);
  g_assert_cmpuint (malloc_usable_size ((void *) block), >=, size);
}

static void
test_sizes (void)
{
  for (unsigned i = 0; i < G_N_ELEMENTS (some_sizes); i++)
    {
      size_t size = some_sizes[i];
      char *one = malloc (size), *two = malloc (size);

      check_block (one, size);
      check_block (two, size);
      g_assert_true (one != two);
      memset (one, 1, malloc_usable_size (one));
      memset (two, 2, malloc_usable_size (two));
      for (size_t at = 0; at < size; at++)
        g_assert_true (one[at] == 1 && two[at] == 2);
      free (one);
      free_sized (two, size);
    }
}

/* Where GLib uses malloc, a program may pass a block of g_slice_alloc() to
 * malloc's functions.  The block is then no slice any more. */
static void
test_slices (void)
{
  for (unsigned i = 1; i < G_N_ELEMENTS (some_sizes); i++)
    for (unsigned k = 1; k < G_N_ELEMENTS (some_sizes); k++)
      {
        size_t size = some_sizes[i], new_size = some_sizes[k];
        char *block = slice_alloc (size);

        memset (block, 3, size);
        g_assert_cmpuint (malloc_usable_size (block), >=, size);
        memset (block, 3, malloc_usable_size (block));
        block = realloc (block, new_size);
        g_assert_nonnull (block);
        for (size_t at = 0; at < size && at < new_size; at += 7)
          g_assert_cmpint (block[at], ==, 3);
        memset (block, 4, malloc_usable_size (block));
        free (block);
      }
}

static void
test_calloc (void)
{
  for (unsigned round = 0; round < 3; round++)
    for (unsigned i = 0; i < G_N_ELEMENTS (some_sizes); i++)
      {
        size_t size = some_sizes[i];
        char *block = calloc (size, 1);

        check_block (block, size);
        for (size_t at = 0; at < size; at++)
          g_assert_cmpint (block[at], ==, 0);
        memset (block, 0x55, size);
        free (block);
      }
}

static void
test_too_much (void)
{
  static volatile size_t much = SIZE_MAX / 2 + 2;
  char *block = malloc (10);

  errno = 0;
  g_assert_null (malloc (much));
  g_assert_cmpint (errno, ==, ENOMEM);
  errno = 0;
  g_assert_null (malloc (SIZE_MAX - much / much));
  g_assert_cmpint (errno, ==, ENOMEM);
  errno = 0;
  g_assert_null (calloc (much, 2));
  g_assert_cmpint (errno, ==, ENOMEM);
  errno = 0;
  g_assert_null (reallocarray (block, much, 4));
  g_assert_cmpint (errno, ==, ENOMEM);
  errno = 0;
  g_assert_null (realloc (block, much));
  g_assert_cmpint (errno, ==, ENOMEM);
  errno = 0;
  g_assert_null (aligned_alloc (64, much));
  g_assert_cmpint (errno, ==, ENOMEM);
  errno = 0;
  g_assert_null (pvalloc (SIZE_MAX - much / much));
  g_assert_cmpint (errno, ==, ENOMEM);
  strcpy (block, "still");
  g_assert_cmpstr (block, ==, "still");
  free (block);
}

static void
test_realloc (void)
{
  for (unsigned i = 0; i < G_N_ELEMENTS (some_sizes); i++)
    for (unsigned j = 0; j < G_N_ELEMENTS (some_sizes); j++)
      {
        size_t from = some_sizes[i], to = some_sizes[j];
        unsigned char *block;

        if (from + to > 8000000)
          continue;
        block = malloc (from);

        for (size_t at = 0; at < from; at += 61)
          block[at] = (unsigned char) (at * 7);
        if (to == 0)
          {
            g_assert_null (realloc (block, 0));
            continue;
          }
        block = realloc (block, to);
        check_block (block, to);
        for (size_t at = 0; at < from && at < to; at += 61)
          g_assert_cmpint (block[at], ==, (unsigned char) (at * 7));
        free (block);
      }
  sink = realloc (NULL, 50);
  check_block (sink, 50);
  free (sink);
}

static void
check_aligned (void *block, size_t alignment, size_t size)
{
  check_block (block, size);
  g_assert_cmpuint ((uintptr_t) block % alignment, ==, 0);
  memset (block, 3, size);
  free_aligned_sized (block, alignment, size);
}

static void
test_aligned (void)
{
  static volatile size_t odd = 24;
  size_t page = (size_t) sysconf (_SC_PAGESIZE);
  void *block;

  for (size_t alignment = 1; alignment < sizeof (void *); alignment *= 2)
    check_aligned (aligned_alloc (alignment, 100), alignment, 100);
  for (size_t alignment = sizeof (void *); alignment <= 1 << 20;
       alignment *= 2)
    for (unsigned i = 0; i < G_N_ELEMENTS (some_sizes); i += 3)
      {
        check_aligned (aligned_alloc (alignment, some_sizes[i]), alignment,
                       some_sizes[i]);
        check_aligned (memalign (alignment, some_sizes[i]), alignment,
                       some_sizes[i]);
        g_assert_cmpint (posix_memalign (&block, alignment, some_sizes[i]),
                         ==, 0);
        check_aligned (block, alignment, some_sizes[i]);
      }
  check_aligned (valloc (100), page, 100);
  check_aligned (pvalloc (page + 1), page, 2 * page);
  check_aligned (memalign (odd, 100), 32, 100);
  block = &page;
  g_assert_cmpint (posix_memalign (&block, odd, 100), ==, EINVAL);
  g_assert_cmpint (posix_memalign (&block, odd / 12, 100), ==, EINVAL);
  g_assert_true (block == &page);
}

/* POSIX.1-2024 asks for it. */
static void
test_free_keeps_errno (void)
{
  for (unsigned i = 0; i < G_N_ELEMENTS (some_sizes); i++)
    {
      sink = malloc (some_sizes[i]);
      errno = 12345;
      free (sink);
      g_assert_cmpint (errno, ==, 12345);
    }
}

static void
test_grows_in_place (void)
{
  size_t size = 100000;
  char *block = malloc (size);

  for (; size < 40000000; size += size / 3)
    {
      block = realloc (block, size);
      g_assert_nonnull (block);
      block[size - 1] = 'x';
    }
  for (size = 100000; size < 30000000; size += size / 3)
    g_assert_true (block[size - 1] == 'x' || size == 100000);
  free (block);
}

static void
test_counts (void)
{
#ifdef HAVE_MALLINFO2
  struct mallinfo2 before, after;
  char *blocks[3];

  if (!is_by_slices ())
    {
      g_test_skip ("malloc is not ours");
      return;
    }
  before = mallinfo2 ();
  blocks[0] = malloc (20000);
  blocks[1] = malloc (100000);
  blocks[2] = malloc (2000000);
  after = mallinfo2 ();
  g_assert_cmpuint (after.uordblks, >=, before.uordblks + 120000);
  g_assert_cmpuint (after.hblks, ==, before.hblks + 1);
  g_assert_cmpuint (after.hblkhd, >=, before.hblkhd + 2000000);
  for (unsigned i = 0; i < 3; i++)
    free (blocks[i]);
  after = mallinfo2 ();
  g_assert_cmpuint (after.uordblks, <, before.uordblks + 20000);
  g_assert_cmpuint (after.hblks, ==, before.hblks);
  malloc_trim (0);
  g_assert_cmpuint (mallinfo2 ().keepcost, ==, 0);
#else
  g_test_skip ("no mallinfo2");
#endif
}

/* --- the model ----------------------------------------------------------- */

typedef struct
{
  unsigned char *block;
  size_t size;
  unsigned char mark;
} Slot;

typedef struct
{
  TestRandom random;
  Slot slots[SLOTS];
  unsigned long n_steps;
} Model;

/* Mostly small; each power of two as likely as any other. */
static size_t
random_size (TestRandom *random)
{
  unsigned shift = (unsigned) test_random_below (random, 100) < 85
                       ? (unsigned) test_random_below (random, 12)
                       : (unsigned) test_random_below (random, 22);

  return test_random_below (random, 2u << shift);
}

static void
slot_fill (Slot *slot, unsigned char mark)
{
  slot->mark = mark;
  for (size_t at = 0; at < slot->size; at += 1 + at / 64)
    slot->block[at] = (unsigned char) (mark + at);
  if (slot->size > 0)
    slot->block[slot->size - 1] = mark;
}

static void
slot_check (const Slot *slot, size_t size)
{
  for (size_t at = 0; at < size; at += 1 + at / 64)
    if (at != slot->size - 1)
      g_assert_cmpint (slot->block[at], ==, (unsigned char) (slot->mark + at));
  if (size > 0 && size == slot->size)
    g_assert_cmpint (slot->block[size - 1], ==, slot->mark);
}

static void
slot_new (Slot *slot, TestRandom *random)
{
  size_t alignment = (size_t) 1 << test_random_below (random, 14);
  size_t size = random_size (random);

  switch (test_random_below (random, 8))
    {
    case 0:
      slot->block = calloc (1, size);
      g_assert_nonnull (slot->block);
      for (size_t at = 0; at < size; at++)
        g_assert_cmpint (slot->block[at], ==, 0);
      break;
    case 1:
      slot->block = aligned_alloc (alignment, size);
      g_assert_cmpuint ((uintptr_t) slot->block % alignment, ==, 0);
      break;
    default:
      slot->block = malloc (size);
      break;
    }
  check_block (slot->block, size);
  slot->size = size;
  slot_fill (slot, (unsigned char) test_random_below (random, 256));
}

static void
slot_resize (Slot *slot, TestRandom *random)
{
  size_t size = random_size (random) + 1;
  Slot old = *slot;

  slot->block = realloc (slot->block, size);
  check_block (slot->block, size);
  old.block = slot->block;
  slot_check (&old, MIN (size, old.size));
  slot->size = size;
  slot_fill (slot, (unsigned char) test_random_below (random, 256));
}

static void
slot_end (Slot *slot)
{
  if (slot->block == NULL)
    return;
  slot_check (slot, slot->size);
  free (slot->block);
  slot->block = NULL;
}

static void
model_run (Model *model)
{
  for (unsigned long i = 0; i < model->n_steps; i++)
    {
      Slot *slot = &model->slots[test_random_below (&model->random, SLOTS)];

      if (slot->block == NULL)
        slot_new (slot, &model->random);
      else if (test_random_below (&model->random, 3) == 0)
        slot_resize (slot, &model->random);
      else
        slot_end (slot);
      if (i % 20011 == 20010)
        malloc_trim (0);
    }
}

static void
model_end (Model *model)
{
  for (unsigned i = 0; i < SLOTS; i++)
    slot_end (&model->slots[i]);
}

static Model *
model_new (unsigned number, unsigned long n_steps)
{
  Model *model = g_new0 (Model, 1);

  test_random_init (&model->random, number);
  model->n_steps = n_steps;
  return model;
}

static unsigned long
steps (void)
{
  return test_times (test_is_second_tier () ? 10 * STEPS : STEPS, 2000);
}

static void
test_model (void)
{
  Model *model = model_new (1, steps ());

  model_run (model);
  model_end (model);
  g_free (model);
}

static void *
model_thread (void *data)
{
  model_run (data);
  return NULL;
}

/* Each thread's blocks are checked and freed by the next one's successor. */
static void
test_model_threads (void)
{
  Model *models[THREADS];
  pthread_t threads[THREADS];

  for (unsigned i = 0; i < THREADS; i++)
    models[i] = model_new (10 + i, steps () / THREADS);
  for (unsigned round = 0; round < 3; round++)
    {
      for (unsigned i = 0; i < THREADS; i++)
        g_assert_cmpint (pthread_create (&threads[i], NULL, model_thread,
                                         models[(i + round) % THREADS]),
                         ==, 0);
      for (unsigned i = 0; i < THREADS; i++)
        pthread_join (threads[i], NULL);
    }
  for (unsigned i = 0; i < THREADS; i++)
    {
      model_end (models[i]);
      g_free (models[i]);
    }
}

/* --- fork ---------------------------------------------------------------- */

static volatile bool churning;

static void *
churn (void *data)
{
  TestRandom random;

  test_random_init (&random, GPOINTER_TO_UINT (data));
  while (churning)
    {
      void *block = malloc (random_size (&random));

      sink = block;
      free (block);
    }
  return NULL;
}

/* A child can use whatever its parent's threads were at. */
static void
test_fork (void)
{
  pthread_t threads[THREADS];
  unsigned n = test_times (60, 3);

  churning = true;
  for (unsigned i = 0; i < THREADS; i++)
    pthread_create (&threads[i], NULL, churn, GUINT_TO_POINTER (20 + i));
  for (unsigned i = 0; i < n; i++)
    {
      int status;
      pid_t child = fork ();

      if (child == 0)
        {
          for (unsigned j = 0; j < G_N_ELEMENTS (some_sizes); j++)
            {
              char *block = malloc (some_sizes[j]);

              if (block == NULL)
                _exit (1);
              memset (block, 1, some_sizes[j]);
              free (block);
            }
          malloc_trim (0);
          _exit (0);
        }
      g_assert_cmpint (waitpid (child, &status, 0), ==, child);
      g_assert_cmpint (status, ==, 0);
    }
  churning = false;
  for (unsigned i = 0; i < THREADS; i++)
    pthread_join (threads[i], NULL);
}

/* --- a limit of the address space ---------------------------------------- */

/* What small blocks have left serves large ones. */
static void
test_limited_space (void)
{
  struct rlimit limit = { 200 << 20, 200 << 20 };
  void *chain = NULL, *block;
  unsigned n = 0;

  if (!is_by_slices ())
    {
      g_test_skip ("malloc is not ours");
      return;
    }
  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
  errno = 0;
  while ((block = malloc (600)) != NULL)
    {
      /* An attempt that failed before it came to memory is not reported. */
      g_assert_cmpint (errno, ==, 0);
      *(void **) block = chain;
      chain = block;
      n++;
    }
  g_assert_cmpint (errno, ==, ENOMEM);
  g_assert_cmpuint (n, >, 100000);
  /* A block can shrink, where there is no other. */
  block = realloc (chain, 300);
  g_assert_nonnull (block);
  chain = block;
  while (chain != NULL)
    {
      block = chain;
      chain = *(void **) chain;
      free (block);
    }
  for (size_t size = 3000; size < 20000000; size *= 3)
    {
      block = malloc (size);
      g_assert_nonnull (block);
      memset (block, 1, size);
      free (block);
    }
}

/* --- all ----------------------------------------------------------------- */

static void
soak (unsigned seconds)
{
  gint64 end = g_get_monotonic_time () + seconds * G_USEC_PER_SEC;

  for (unsigned round = 0; g_get_monotonic_time () < end; round++)
    test_model_threads ();
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  if (argc > 1 && g_str_has_prefix (argv[1], "--soak="))
    {
      soak ((unsigned) atoi (argv[1] + strlen ("--soak=")));
      return 0;
    }
  if (TEST_IS_SANITIZED)
    {
      g_test_message ("a sanitizer has a malloc of its own");
      return g_test_run ();
    }
  test_add ("/slice/malloc/sizes", test_sizes);
  test_add ("/slice/malloc/slices", test_slices);
  test_add ("/slice/malloc/calloc-is-zero", test_calloc);
  test_add ("/slice/malloc/too-much", test_too_much);
  test_add ("/slice/malloc/realloc", test_realloc);
  test_add ("/slice/malloc/aligned", test_aligned);
  test_add ("/slice/malloc/free-keeps-errno", test_free_keeps_errno);
  test_add ("/slice/malloc/grows", test_grows_in_place);
  test_add ("/slice/malloc/counts", test_counts);
  test_add ("/slice/malloc/model", test_model);
  test_add ("/slice/malloc/model-threads", test_model_threads);
  test_add ("/slice/malloc/fork", test_fork);
  test_add_fresh ("/slice/malloc/limited-space", test_limited_space);
  return g_test_run ();
}
