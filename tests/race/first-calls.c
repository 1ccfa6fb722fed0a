/* first-calls.c - the first calls of each layer, in two threads at once
 *
 * Each layer decides something at its first call and publishes it by an atomic
 * store.  helgrind and DRD do not know these, so the library tells them; a
 * program whose first call comes from a thread has no report.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdio.h>

#include <slice/libslice.h>

enum
{
  N_THREADS = 2,
  N_ROUNDS = 20
};

static void
use_slices (void)
{
  char *small = slice_alloc (48), *large = slice_alloc (5000);
  char *aligned = slice_alloc_aligned (64, 100);

  small[0] = large[0] = aligned[0] = 1;
  slice_free1 (48, small);
  slice_free1 (5000, large);
  slice_free_aligned (64, 100, aligned);
}

static void
use_contexts (void)
{
  void *context = ralloc_context (NULL);

  (void) ralloc_strdup (context, "a string");
  (void) ralloc_size (context, 3000);
  ralloc_free (context);
}

static void
use_arenas (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SlicePool *pool
      = slice_pool_new (&(SlicePoolOptions){ .object_bytes = 40 });
  SliceTlsf *tlsf = slice_tlsf_new (NULL);

  (void) slice_linear_alloc (linear, 100);
  (void) slice_linear_alloc (linear, 100000);
  slice_pool_free (pool, slice_pool_alloc (pool));
  slice_tlsf_free (tlsf, slice_tlsf_alloc (tlsf, 100));
  slice_linear_destroy (linear);
  slice_pool_destroy (pool);
  slice_tlsf_destroy (tlsf);
}

static void
use_heap (void)
{
  slice_heap_free (slice_heap_alloc (100));
  slice_heap_free (slice_heap_alloc (10000));
}

static void *
use_all (void *unused)
{
  SliceStats stats;

  for (int i = 0; i < N_ROUNDS; i++)
    {
      use_slices ();
      use_contexts ();
      use_arenas ();
      use_heap ();
    }
  slice_get_stats (&stats);
  return unused;
}

int
main (void)
{
  pthread_t threads[N_THREADS];

  for (int i = 0; i < N_THREADS; i++)
    pthread_create (&threads[i], NULL, use_all, NULL);
  for (int i = 0; i < N_THREADS; i++)
    pthread_join (threads[i], NULL);
  puts ("all used, 0 wrong");
  return 0;
}
