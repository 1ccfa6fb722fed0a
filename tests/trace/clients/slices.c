/* slices.c - a client of all that libslice gives, with known counts
 *
 * Each thread does what worker() does: allocates and frees N of each kind, in
 * ways that are all to be recorded.  Prints what it has counted itself, the
 * same with and without a recorder.  The argument is the number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <slice/libslice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000

static unsigned n_failed;

#define CHECK(condition)                                                      \
  do                                                                          \
    if (!(condition))                                                         \
      __atomic_fetch_add (&n_failed, 1, __ATOMIC_RELAXED);                    \
  while (0)

typedef struct Link Link;
struct Link
{
  Link *next;
  long data[3];
};

/* 5 N allocs and frees. */
__attribute__ ((noinline)) void
use_slices (void)
{
  void *blocks[N];
  Link *chain = NULL;

  for (int i = 0; i < N; i++)
    blocks[i] = slice_alloc ((size_t) i % 4000 + 1); /* some large ones */
  for (int i = 0; i < N; i++)
    slice_free1 ((size_t) i % 4000 + 1, blocks[i]);
  for (int i = 0; i < N; i++)
    {
      Link *link = slice_new0 (Link);

      CHECK (link->data[2] == 0);
      link->next = chain;
      chain = link;
    }
  slice_free_chain (Link, chain, next);
  for (int i = 0; i < N; i++)
    blocks[i] = slice_alloc_aligned (256, 300);
  for (int i = 0; i < N; i++)
    {
      CHECK (((size_t) blocks[i] & 255) == 0);
      slice_free_aligned (256, 300, blocks[i]);
    }
  for (int i = 0; i < N; i++)
    blocks[i] = slice_alloc_n (3, 24);
  slice_free_bulk (N, blocks);
  for (int i = 0; i < N; i++)
    blocks[i] = slice_try_alloc (512);
  for (int i = 0; i < N; i++)
    slice_free1 (512, blocks[i]);
}

static void
destructor (void *node)
{
  char **text = node;

  free (*text); /* the program's own: to be recorded */
}

/* 1 root, N - 1 children with N large grandchildren, of which N / 2 are
 * resized, N objects of a linear context and its handle, N of a gc context
 * and its handle.  The destructors' N - 1 texts are malloc's. */
__attribute__ ((noinline)) void
use_contexts (void)
{
  void *root = ralloc_context (NULL);
  void *above = root;
  RallocLinear *linear;
  RallocGc *gc;

  for (int i = 1; i < N; i++)
    {
      char **node = ralloc_size (above, sizeof *node);

      *node = strdup ("a text");
      ralloc_set_destructor (node, destructor);
      above = i % 10 == 0 ? node : root;
    }
  for (int i = 0; i < N; i++)
    {
      void *large = rzalloc_size (root, 3000);

      if (i % 2 == 0)
        large = reralloc_size (root, large, i % 4 == 0 ? 2900 : 300000);
      CHECK (((char *) large)[2899] == 0);
    }
  linear = ralloc_linear_context (root);
  for (int i = 0; i < N; i++)
    memset (ralloc_linear_alloc_child (linear, 40), 1, 40);
  gc = ralloc_gc_context (root);
  for (int i = 0; i < N; i++)
    {
      void *object = ralloc_gc_alloc_size (gc, 64, 16);

      if (i % 2 == 0)
        ralloc_gc_free (object);
    }
  ralloc_free (root);
}

/* 4 N allocs: N undone by rollbacks, N by a reset, the rest at the end. */
__attribute__ ((noinline)) void
use_linear (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SliceMark mark;

  for (int i = 0; i < N; i++)
    memset (slice_linear_alloc (linear, 24), 2, 24);
  slice_linear_reset (linear, SLICE_KEEP_ALL);
  for (int i = 0; i < N / 2; i++)
    slice_linear_printf (linear, "%d", i);
  mark = slice_linear_mark (linear);
  for (int turn = 0; turn < 2; turn++)
    {
      for (int i = 0; i < N / 2; i++)
        slice_linear_alloc (linear, i == 0 ? 100000 : 8);
      slice_linear_rollback (linear, mark);
    }
  for (int i = 0; i < N; i++)
    slice_linear_alloc_aligned (linear, 64, 10);
  for (int i = 0; i < N / 2; i++)
    {
      slice_linear_grow (linear, 3, "abc");
      slice_linear_grow_char (linear, '\0');
      CHECK (strcmp (slice_linear_finish (linear, NULL), "abc") == 0);
    }
  slice_linear_destroy (linear);
}

/* 2 N allocs: N released one by one, N at the end. */
__attribute__ ((noinline)) void
use_stack (void)
{
  SliceStack *stack = slice_stack_new (NULL);
  void *objects[N];

  for (int i = 0; i < N; i++)
    objects[i] = slice_stack_alloc (stack, 32);
  for (int i = N - 1; i >= 0; i--)
    slice_stack_release (stack, objects[i]);
  for (int i = 0; i < N; i++)
    slice_stack_alloc (stack, (size_t) i + 1);
  slice_stack_destroy (stack);
}

/* 3 N allocs: N freed, N by a reset, N with the context that the pool is a
 * node of (1 root, 1 pool). */
__attribute__ ((noinline)) void
use_pool (void)
{
  SlicePoolOptions options = { .object_bytes = 40 };
  void *root = ralloc_context (NULL);
  SlicePool *pool = slice_pool_new_in (root, &options);
  void *objects[N];

  for (int i = 0; i < N; i++)
    objects[i] = slice_pool_alloc (pool);
  slice_pool_free_bulk (pool, N, objects);
  for (int turn = 0; turn < 2; turn++)
    {
      for (int i = 0; i < N; i++)
        slice_pool_alloc (pool);
      if (turn == 0)
        slice_pool_reset (pool, SLICE_KEEP_FIRST);
    }
  CHECK (slice_pool_n_live (pool) == N);
  ralloc_free (root);
}

/* 2 N allocs, N freed, N / 4 of them resized before. */
__attribute__ ((noinline)) void
use_tlsf (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  void *objects[N];

  for (int i = 0; i < N; i++)
    objects[i] = slice_tlsf_alloc (tlsf, (size_t) i + 1);
  for (int i = 0; i < N / 4; i++)
    objects[i] = slice_tlsf_resize (tlsf, objects[i], 0);
  for (int i = 0; i < N; i++)
    slice_tlsf_free (tlsf, objects[i]);
  for (int i = 0; i < N; i++)
    slice_tlsf_alloc_aligned (tlsf, i % 2 == 0 ? 8 : 128, 100);
  slice_tlsf_destroy (tlsf);
}

static void *
worker (void *unused)
{
  use_slices ();
  use_contexts ();
  use_linear ();
  use_stack ();
  use_pool ();
  use_tlsf ();
  return unused;
}

int
main (int argc, char **argv)
{
  pthread_t threads[16];
  int n = argc > 1 ? atoi (argv[1]) : 0;

  if (n > 16)
    return 2;
  if (n == 0)
    worker (NULL);
  for (int i = 0; i < n; i++)
    if (pthread_create (&threads[i], NULL, worker, NULL) != 0)
      return 2;
  for (int i = 0; i < n; i++)
    pthread_join (threads[i], NULL);
  printf ("%u failed\n", n_failed);
  return n_failed != 0;
}
