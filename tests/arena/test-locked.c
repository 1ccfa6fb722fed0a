/* test-locked.c - pools and TLSF heaps for several threads
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/arena/arena-test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <slice/ralloc.h>

enum
{
  N_THREADS = 4,
  N_SLOTS = 256,
  OBJECT_BYTES = 40
};

/* Objects that whoever comes next frees. */
static _Atomic (char *) slots[N_SLOTS];

typedef struct
{
  SlicePool *pool;
  SliceTlsf *tlsf;
  unsigned seed;
  unsigned n_steps;
} Worker;

static unsigned
worker_random (Worker *worker)
{
  worker->seed = worker->seed * 1664525 + 1013904223;
  return worker->seed >> 8;
}

/* The first byte is a number, and all others repeat it. */
static void
object_fill (char *object, char number)
{
  memset (object, number, OBJECT_BYTES);
}

static void
object_check (const char *object)
{
  for (int i = 1; i < OBJECT_BYTES; i++)
    g_assert_cmpint (object[i], ==, object[0]);
}

static char *
worker_alloc (Worker *worker)
{
  size_t bytes = OBJECT_BYTES + worker_random (worker) % 2000;

  if (worker->pool != NULL)
    return slice_pool_alloc (worker->pool);
  switch (worker_random (worker) % 8)
    {
    case 0:
      return slice_tlsf_alloc_aligned (worker->tlsf, 64, bytes);
    case 1:
      return slice_tlsf_resize (
          worker->tlsf, slice_tlsf_alloc (worker->tlsf, OBJECT_BYTES), bytes);
    default:
      return slice_tlsf_alloc (worker->tlsf, bytes);
    }
}

static void
worker_free (Worker *worker, char *object)
{
  if (object == NULL)
    return;
  object_check (object);
  if (worker->pool != NULL)
    slice_pool_free (worker->pool, object);
  else
    slice_tlsf_free (worker->tlsf, object);
}

static void *
worker_run (void *data)
{
  Worker *worker = data;

  for (unsigned i = 0; i < worker->n_steps; i++)
    {
      char *object = worker_alloc (worker);
      unsigned slot;

      g_assert_nonnull (object);
      object_fill (object, (char) i);
      slot = worker_random (worker) % N_SLOTS;
      worker_free (worker, atomic_exchange (&slots[slot], object));
    }
  return NULL;
}

static bool
count_live (const void *object, size_t bytes, bool is_live, void *data)
{
  size_t *n_live = data;

  g_assert_nonnull (object);
  g_assert_cmpuint (bytes, >=, is_live ? OBJECT_BYTES : 0);
  *n_live += is_live;
  return true;
}

/* What another thread asks meanwhile. */
static void
look (const Worker *worker)
{
  SliceArenaStats stats;
  size_t most = N_SLOTS + 3 * N_THREADS;
  size_t n_live = 0;

  if (worker->pool != NULL)
    {
      slice_pool_get_stats (worker->pool, &stats);
      assert_stats_add_up (&stats);
      g_assert_cmpuint (slice_pool_n_live (worker->pool), <=, most);
      return;
    }
  g_assert_true (slice_tlsf_walk (worker->tlsf, count_live, &n_live));
  g_assert_cmpuint (n_live, <=, most);
  g_assert_true (slice_tlsf_is_valid (worker->tlsf, NULL));
  slice_tlsf_trim (worker->tlsf);
}

static void
run_threads (SlicePool *pool, SliceTlsf *tlsf)
{
  pthread_t threads[N_THREADS];
  Worker workers[N_THREADS];

  for (unsigned i = 0; i < N_THREADS; i++)
    {
      workers[i] = (Worker){ pool, tlsf, i, g_test_slow () ? 200000 : 10000 };
      g_assert_cmpint (
          pthread_create (&threads[i], NULL, worker_run, &workers[i]), ==, 0);
    }
  for (int i = 0; i < 50; i++)
    look (&workers[0]);
  for (int i = 0; i < N_THREADS; i++)
    pthread_join (threads[i], NULL);
  look (&workers[0]);
  for (int i = 0; i < N_SLOTS; i++)
    worker_free (&workers[0], atomic_exchange (&slots[i], NULL));
}

static const unsigned all_flags[]
    = { SLICE_ARENA_LOCKED, SLICE_ARENA_LOCKED | SLICE_ARENA_CHECKED };

static void
test_pool (void)
{
  for (size_t i = 0; i < G_N_ELEMENTS (all_flags); i++)
    for (int is_constructed = 0; is_constructed <= 1; is_constructed++)
      {
        SlicePoolOptions options
            = { .object_bytes = OBJECT_BYTES,
                .construct = is_constructed ? construct_nothing : NULL,
                .arena = { .flags = all_flags[i] } };
        SlicePool *pool = slice_pool_new (&options);

        g_assert_true (slice_pool_reserve (pool, 1000));
        run_threads (pool, NULL);
        g_assert_cmpuint (slice_pool_n_live (pool), ==, 0);
        slice_pool_trim (pool);
        slice_pool_destroy (pool);
      }
}

static void
test_tlsf (void)
{
  for (size_t i = 0; i < G_N_ELEMENTS (all_flags); i++)
    {
      SliceArenaOptions options = { .flags = all_flags[i] };
      SliceTlsf *tlsf = slice_tlsf_new (&options);

      run_threads (NULL, tlsf);
      slice_tlsf_reset (tlsf, SLICE_KEEP_NONE);
      slice_tlsf_destroy (tlsf);
    }
}

static void
test_tlsf_fixed (void)
{
  static char buffer[1 << 20];
  static char other[1 << 20];

  for (size_t i = 0; i < G_N_ELEMENTS (all_flags); i++)
    for (size_t skew = 0; skew < 32; skew += 5)
      {
        SliceTlsfFixedOptions options
            = { .region_bytes_max = sizeof other, .flags = all_flags[i] };
        SliceTlsf *tlsf = slice_tlsf_new_fixed_with (
            buffer + skew, sizeof buffer - skew, &options);
        void *object;

        g_assert_true (slice_tlsf_add_region (tlsf, other, sizeof other));
        if (skew == 0)
          run_threads (NULL, tlsf);
        object = slice_tlsf_alloc (tlsf, 10);
        g_assert_cmpuint ((uintptr_t) object % 16, ==, 0);
        g_assert_cmpuint (slice_tlsf_object_bytes (tlsf, object), >=, 10);
        slice_tlsf_free (tlsf, object);
        slice_tlsf_destroy (tlsf);
      }
}

/* As nodes of a context they end with it. */
static void
test_in_context (void)
{
  void *context = ralloc_context (NULL);
  SliceArenaOptions options = { .flags = SLICE_ARENA_LOCKED };
  SlicePoolOptions pool_options
      = { .object_bytes = OBJECT_BYTES, .arena = options };
  SlicePool *pool = slice_pool_new_in (context, &pool_options);
  SliceTlsf *tlsf = slice_tlsf_new_in (context, &options);

  run_threads (pool, NULL);
  run_threads (NULL, tlsf);
  g_assert_nonnull (slice_pool_alloc (pool));
  g_assert_nonnull (slice_tlsf_alloc (tlsf, 100));
  ralloc_free (pool);
  ralloc_free (context);
}

/* Linear arenas and stacks have no lock. */
static void
test_refused (void)
{
  SliceArenaOptions options = { .flags = SLICE_ARENA_LOCKED };

  errno = 0;
  g_assert_null (slice_linear_new (&options));
  g_assert_cmpint (errno, ==, EINVAL);
  errno = 0;
  g_assert_null (slice_stack_new (&options));
  g_assert_cmpint (errno, ==, EINVAL);
}

/* --- misuse -------------------------------------------------------------- */

static SlicePool *the_pool;

static bool
construct_another (void *object, void *data)
{
  (void) object;
  (void) data;
  return slice_pool_alloc (the_pool) != NULL;
}

static void
pool_within_pool (void)
{
  SlicePoolOptions options = { .object_bytes = 24,
                               .construct = construct_another,
                               .arena = { .flags = SLICE_ARENA_LOCKED } };

  the_pool = slice_pool_new (&options);
  slice_pool_alloc (the_pool);
}

static bool
free_visited (const void *object, size_t bytes, bool is_live, void *data)
{
  (void) bytes;
  if (is_live)
    slice_tlsf_free (data, (void *) (uintptr_t) object);
  return true;
}

static void
free_within_walk (void)
{
  SliceArenaOptions options = { .flags = SLICE_ARENA_LOCKED };
  SliceTlsf *tlsf = slice_tlsf_new (&options);

  slice_tlsf_alloc (tlsf, 100);
  slice_tlsf_walk (tlsf, free_visited, tlsf);
}

static void
free_twice (void)
{
  SlicePoolOptions options
      = { .object_bytes = 24, .arena = { .flags = SLICE_ARENA_LOCKED } };
  SlicePool *pool = slice_pool_new (&options);
  void *object;

  slice_pool_alloc (pool);
  object = slice_pool_alloc (pool);
  slice_pool_free (pool, object);
  slice_pool_free (pool, object);
}

static void
free_twice_tlsf (void)
{
  SliceArenaOptions options = { .flags = SLICE_ARENA_LOCKED };
  SliceTlsf *tlsf = slice_tlsf_new (&options);
  void *object = slice_tlsf_alloc (tlsf, 100);

  slice_tlsf_free (tlsf, object);
  slice_tlsf_free (tlsf, object);
}

static void
use_of_wrong_kind (void)
{
  SliceArenaOptions options = { .flags = SLICE_ARENA_LOCKED };
  SliceTlsf *tlsf = slice_tlsf_new (&options);

  slice_pool_n_live ((SlicePool *) tlsf);
}

MISUSE_CALL (reentry, 341, "a function that one of its calls runs",
             pool_within_pool ())
MISUSE_CALL (walk, 341, "a function that one of its calls runs",
             free_within_walk ())
MISUSE_CALL (twice, 320, "is free already", free_twice ())
MISUSE_CALL (twice_tlsf, 330, "is free already", free_twice_tlsf ())
MISUSE_CALL (kind, 306, "is no live pool", use_of_wrong_kind ())

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/locked/pool", test_pool);
  g_test_add_func ("/slice/locked/tlsf", test_tlsf);
  g_test_add_func ("/slice/locked/tlsf-fixed", test_tlsf_fixed);
  g_test_add_func ("/slice/locked/in-context", test_in_context);
  g_test_add_func ("/slice/locked/refused", test_refused);
  g_test_add_func ("/slice/locked/misuse/reentry", test_misuse_reentry);
  g_test_add_func ("/slice/locked/misuse/walk", test_misuse_walk);
  g_test_add_func ("/slice/locked/misuse/twice", test_misuse_twice);
  g_test_add_func ("/slice/locked/misuse/twice-tlsf", test_misuse_twice_tlsf);
  g_test_add_func ("/slice/locked/misuse/kind", test_misuse_kind);
  return g_test_run ();
}
