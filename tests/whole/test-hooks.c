/* test-hooks.c - slice_set_trace_hooks(): what is traced, when, and for whom
 *
 * What each layer tells is counted in whole programs by tests/trace; here is
 * how it begins and ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <glib.h>
#include <pthread.h>
#include <slice/libslice.h>
#include <stdlib.h>
#include <string.h>

enum
{
  N_KINDS = SLICE_TRACE_TLSF + 1,
  N_BLOCKS = 300
};

static unsigned n_allocs[N_KINDS], n_frees[N_KINDS], n_reallocs[N_KINDS];
static int n_own, n_own_ended;
static const void *last_allocated, *last_realloc_from, *last_realloc_to;
static size_t last_bytes;

static void
count_alloc (SliceTraceKind kind, const void *block, size_t bytes)
{
  __atomic_fetch_add (&n_allocs[kind], 1, __ATOMIC_RELAXED);
  __atomic_store_n (&last_allocated, block, __ATOMIC_RELAXED);
  __atomic_store_n (&last_bytes, bytes, __ATOMIC_RELAXED);
}

static void
count_free (SliceTraceKind kind, const void *block, size_t bytes)
{
  g_assert_nonnull (block);
  (void) bytes;
  __atomic_fetch_add (&n_frees[kind], 1, __ATOMIC_RELAXED);
}

static void
count_realloc (SliceTraceKind kind, const void *old_block, const void *block,
             size_t bytes)
{
  g_assert_nonnull (old_block);
  g_assert_nonnull (block);
  __atomic_fetch_add (&n_reallocs[kind], 1, __ATOMIC_RELAXED);
  __atomic_store_n (&last_realloc_from, old_block, __ATOMIC_RELAXED);
  __atomic_store_n (&last_realloc_to, block, __ATOMIC_RELAXED);
  __atomic_store_n (&last_bytes, bytes, __ATOMIC_RELAXED);
}

static void
count_own (bool begins)
{
  __atomic_fetch_add (begins ? &n_own : &n_own_ended, 1, __ATOMIC_RELAXED);
}

static const SliceTraceHooks hooks
    = { sizeof hooks, count_alloc, count_free, count_realloc, count_own };

static void
forget (void)
{
  memset (n_allocs, 0, sizeof n_allocs);
  memset (n_frees, 0, sizeof n_frees);
  memset (n_reallocs, 0, sizeof n_reallocs);
  n_own = n_own_ended = 0;
}

static void
use_slices (void)
{
  static __thread void *blocks[N_BLOCKS];

  for (int i = 0; i < N_BLOCKS; i++)
    blocks[i] = slice_alloc ((size_t) i + 1);
  for (int i = 0; i < N_BLOCKS; i++)
    slice_free1 ((size_t) i + 1, blocks[i]);
}

/* The first test: magazines, arenas and contexts are in use already. */
static void
test_begins_after_use (void)
{
  void *early = slice_alloc (40);
  SliceLinear *linear = slice_linear_new (NULL);
  void *root;

  slice_pool_destroy (slice_pool_new_plain (24));
  root = ralloc_context (NULL);

  use_slices ();
  slice_set_trace_hooks (&hooks);
  forget ();
  use_slices ();
  g_assert_cmpuint (n_allocs[SLICE_TRACE_SLICE], ==, N_BLOCKS);
  g_assert_cmpuint (n_frees[SLICE_TRACE_SLICE], ==, N_BLOCKS);
  /* A slice from before: its free is traced.  What was made before is of a
   * layer that tells nothing. */
  slice_free1 (40, early);
  g_assert_cmpuint (n_frees[SLICE_TRACE_SLICE], ==, N_BLOCKS + 1);
  slice_linear_alloc (linear, 30);
  slice_linear_destroy (linear);
  ralloc_size (root, 50);
  ralloc_free (root);
  for (int kind = SLICE_TRACE_CONTEXT; kind < N_KINDS; kind++)
    g_assert_cmpuint (n_allocs[kind] + n_frees[kind], ==, 0);
  /* And not of its slices either. */
  g_assert_cmpuint (n_allocs[SLICE_TRACE_SLICE], ==, N_BLOCKS);
  g_assert_cmpuint (n_frees[SLICE_TRACE_SLICE], ==, N_BLOCKS + 1);
}

static void
test_tells_sizes (void)
{
  void *block = slice_alloc (77);

  g_assert_true (last_allocated == block);
  g_assert_cmpuint (last_bytes, ==, 77);
  slice_free1 (77, block);
  block = slice_alloc_aligned (64, 100);
  g_assert_true (last_allocated == block);
  g_assert_cmpuint (last_bytes, ==, 100);
  slice_free_aligned (64, 100, block);
  slice_free1 (8, NULL);
  g_assert_null (slice_alloc (0));
}

/* --- the size of a birth and of its death --- */

/* Sizes of the living, by address; 0: none. */
static GHashTable *sizes;
static unsigned n_sized;

static void
note_alloc (SliceTraceKind kind G_GNUC_UNUSED, const void *block, size_t bytes)
{
  g_hash_table_insert (sizes, (void *) block, GSIZE_TO_POINTER (bytes + 1));
}

static void
note_free (SliceTraceKind kind, const void *block, size_t bytes)
{
  size_t traced_bytes = GPOINTER_TO_SIZE (g_hash_table_lookup (sizes, block));

  g_assert_cmpuint (traced_bytes, !=, 0);
  if (bytes != 0)
    g_assert_cmpuint (bytes, ==, traced_bytes - 1);
  n_sized += bytes != 0 && kind == SLICE_TRACE_SLICE;
  g_hash_table_remove (sizes, block);
}

static void
note_realloc (SliceTraceKind kind G_GNUC_UNUSED, const void *old_block,
            const void *block, size_t bytes)
{
  g_assert_nonnull (g_hash_table_lookup (sizes, old_block));
  g_hash_table_remove (sizes, old_block);
  g_hash_table_insert (sizes, (void *) block, GSIZE_TO_POINTER (bytes + 1));
}

static void
note_own (bool begins G_GNUC_UNUSED)
{
}

static const SliceTraceHooks noting
    = { sizeof noting, note_alloc, note_free, note_realloc, note_own };

typedef struct
{
  _Alignas (64) char c[70];
} Wide;

/* Calls that are given no size tell none, and a chain has one. */
static void
slices_without_sizes (void)
{
  void *blocks[4];
  unsigned before = n_sized;

  for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
    blocks[i] = slice_alloc (40 + 900 * i);
  slice_free_unsized (blocks[3]);
  slice_free_bulk (3, blocks);
  slice_free_unsized (slice_alloc (100000));
  g_assert_cmpuint (n_sized, ==, before);
  blocks[0] = slice_alloc (40);
  *(void **) blocks[0] = slice_alloc (40);
  **(void ***) blocks[0] = NULL;
  slice_free_chain_with_offset (40, blocks[0], 0);
  g_assert_cmpuint (n_sized, ==, before + 2);
}

static void
slices_of_all_sizes (void)
{
  static const char kept[5000];
  unsigned n = 0;

  for (size_t size = 1; size < sizeof kept; size += size < 300 ? 1 : 77)
    {
      Wide *wide = slice_new (Wide);
      void *zero = slice_alloc0_n (3, size);

      slice_free1 (size, slice_alloc (size));
      for (size_t alignment = 1; alignment <= 4096; alignment *= 4)
        {
          slice_free_aligned (alignment, size,
                              slice_alloc_aligned (alignment, size));
          slice_free_aligned (alignment, size,
                              slice_try_alloc_aligned (alignment, size));
        }
      slice_free_n (3, size, zero);
      slice_free (Wide, wide);
      slice_free1 (size, slice_copy (size, kept));
      n += 2 * 7 + 4;
    }
  g_assert_cmpuint (n_sized, ==, n);
  slices_without_sizes ();
}

/* A free has the size of its allocation, or none. */
static void
test_sizes_agree (void)
{
  SliceTlsf *tlsf;
  SliceStack *stack;
  void *object;

  sizes = g_hash_table_new (NULL, NULL);
  slice_set_trace_hooks (&noting);
  slices_of_all_sizes ();
  tlsf = slice_tlsf_new (NULL);
  stack = slice_stack_new (NULL);
  object = slice_tlsf_alloc_aligned (tlsf, 64, 70);
  object = slice_tlsf_resize (tlsf, object, 700);
  slice_tlsf_free (tlsf, object);
  object = slice_stack_alloc_aligned (stack, 64, 70);
  object = slice_stack_resize (stack, object, 70, 90);
  slice_stack_release (stack, object);
  slice_tlsf_destroy (tlsf);
  slice_stack_destroy (stack);
  g_assert_cmpuint (g_hash_table_size (sizes), ==, 0);
  g_hash_table_unref (sizes);
  slice_set_trace_hooks (&hooks);
}

/* A large block is malloc's, between the two calls of own(). */
static void
test_own_is_paired (void)
{
  forget ();
  slice_free1 (100000, slice_alloc (100000));
  g_assert_cmpuint (n_allocs[SLICE_TRACE_SLICE], ==, 1);
  g_assert_cmpuint (n_frees[SLICE_TRACE_SLICE], ==, 1);
  g_assert_cmpint (n_own, ==, 2);
  g_assert_cmpint (n_own_ended, ==, 2);
}

/* Every call that gives or takes a slice. */
static void
test_each_call_tells (void)
{
  void *blocks[7];

  forget ();
  blocks[0] = slice_alloc0 (40);
  blocks[1] = slice_try_alloc (40);
  blocks[2] = slice_try_alloc0 (40);
  blocks[3] = slice_try_alloc (40);
  blocks[4] = slice_alloc_n (4, 10);
  blocks[5] = slice_copy (40, blocks[0]);
  blocks[6] = slice_alloc_aligned (64, 40);
  g_assert_cmpuint (n_allocs[SLICE_TRACE_SLICE], ==, 7);
  slice_free_aligned (64, 40, blocks[6]);
  g_assert_cmpuint (n_frees[SLICE_TRACE_SLICE], ==, 1);
  slice_free_n (4, 10, blocks[4]);
  slice_free1 (40, blocks[5]);
  g_assert_cmpuint (n_frees[SLICE_TRACE_SLICE], ==, 3);
  slice_free_bulk (2, blocks + 2);
  g_assert_cmpuint (n_frees[SLICE_TRACE_SLICE], ==, 5);
  *(void **) blocks[0] = blocks[1];
  *(void **) blocks[1] = NULL;
  slice_free_chain_with_offset (40, blocks[0], 0);
  g_assert_cmpuint (n_allocs[SLICE_TRACE_SLICE], ==, 7);
  g_assert_cmpuint (n_frees[SLICE_TRACE_SLICE], ==, 7);
}

/* What a linear arena keeps of its own, cleanups, is an object in it. */
static void
note_cleanup (void *data)
{
  ++*(int *) data;
}

static void
test_linear_tells_cleanups (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  int n_cleaned = 0;

  forget ();
  slice_linear_copy (linear, 12, "eleven long");
  g_assert_true (slice_linear_add_cleanup (linear, note_cleanup, &n_cleaned));
  g_assert_cmpuint (n_allocs[SLICE_TRACE_LINEAR]
                        - n_frees[SLICE_TRACE_LINEAR],
                    ==, 1);
  slice_linear_reset (linear, SLICE_KEEP_ALL);
  g_assert_cmpint (n_cleaned, ==, 1);
  g_assert_cmpuint (n_frees[SLICE_TRACE_LINEAR], ==,
                    n_allocs[SLICE_TRACE_LINEAR]);
  slice_linear_destroy (linear);
}

static void
test_arenas_tell_all (void)
{
  SlicePoolOptions options = { .object_bytes = 24 };
  SliceLinear *linear = slice_linear_new (NULL);
  SliceStack *stack = slice_stack_new (NULL);
  SlicePool *pool = slice_pool_new (&options);
  SliceTlsf *tlsf = slice_tlsf_new (NULL);

  forget ();
  for (int i = 0; i < N_BLOCKS; i++)
    {
      slice_linear_alloc (linear, 16);
      slice_stack_alloc (stack, 16);
      slice_pool_alloc (pool);
      slice_tlsf_alloc (tlsf, 16);
    }
  slice_linear_destroy (linear);
  slice_stack_destroy (stack);
  slice_pool_destroy (pool);
  slice_tlsf_destroy (tlsf);
  for (int kind = SLICE_TRACE_LINEAR; kind < N_KINDS; kind++)
    {
      g_assert_cmpuint (n_allocs[kind], ==, N_BLOCKS);
      g_assert_cmpuint (n_frees[kind], ==, N_BLOCKS);
    }
  /* Their memory is no slice of the program's; but they themselves are none
   * either. */
  g_assert_cmpuint (n_allocs[SLICE_TRACE_SLICE], ==, 0);
  g_assert_cmpuint (n_frees[SLICE_TRACE_SLICE], ==, 0);
}

/* So many calls of each kind since the last forget(). */
static void
assert_traced (SliceTraceKind kind, guint allocs, guint frees, guint reallocs)
{
  g_assert_cmpuint (n_allocs[kind], ==, allocs);
  g_assert_cmpuint (n_frees[kind], ==, frees);
  g_assert_cmpuint (n_reallocs[kind], ==, reallocs);
}

/* One call, in place or to another one, as always when a tool watches. */
static void *
tlsf_resize_traced (SliceTlsf *tlsf, void *object, size_t size)
{
  void *resized;

  forget ();
  resized = slice_tlsf_resize (tlsf, object, size);
  assert_traced (SLICE_TRACE_TLSF, 0, 0, 1);
  g_assert_true (last_realloc_from == object);
  g_assert_true (last_realloc_to == resized);
  g_assert_cmpuint (last_bytes, ==, size);
  return resized;
}

/* Small and large; what is freed is not traced again when the rest is. */
static void
test_tlsf_tells_each (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  void *first;
  void *second;

  forget ();
  first = slice_tlsf_alloc (tlsf, 100);
  second = slice_tlsf_alloc_aligned (tlsf, 256, 5000);
  slice_tlsf_alloc (tlsf, 30);
  assert_traced (SLICE_TRACE_TLSF, 3, 0, 0);
  second = tlsf_resize_traced (tlsf, second, 3000);
  second = tlsf_resize_traced (tlsf, second, 4000);
  second = tlsf_resize_traced (tlsf, second, 500000);
  forget ();
  slice_tlsf_free (tlsf, first);
  slice_tlsf_free (tlsf, second);
  assert_traced (SLICE_TRACE_TLSF, 0, 2, 0);
  slice_tlsf_reset (tlsf, SLICE_KEEP_ALL);
  assert_traced (SLICE_TRACE_TLSF, 0, 3, 0);
  slice_tlsf_alloc (tlsf, 30);
  slice_tlsf_destroy (tlsf);
  assert_traced (SLICE_TRACE_TLSF, 1, 4, 0);
}

static void
test_tlsf_fixed_tells (void)
{
  static char buffer[16384];
  SliceTlsf *tlsf = slice_tlsf_new_fixed (buffer, sizeof buffer);

  forget ();
  slice_tlsf_free (tlsf, slice_tlsf_alloc (tlsf, 10));
  slice_tlsf_alloc (tlsf, 2000);
  slice_tlsf_destroy (tlsf);
  assert_traced (SLICE_TRACE_TLSF, 2, 2, 0);
}

/* A resized top is the same object, also in blocks of its own. */
static void
test_stack_tells_each (void)
{
  SliceStack *stack = slice_stack_new (NULL);
  void *second;
  void *top;

  forget ();
  slice_stack_alloc (stack, 20);
  second = slice_stack_alloc (stack, 20);
  top = slice_stack_alloc (stack, 20);
  top = slice_stack_resize (stack, top, 20, 40);
  top = slice_stack_resize (stack, top, 40, 100000);
  top = slice_stack_resize (stack, top, 100000, 500000);
  assert_traced (SLICE_TRACE_STACK, 3, 0, 3);
  slice_stack_release (stack, top);
  slice_stack_release (stack, second);
  assert_traced (SLICE_TRACE_STACK, 3, 2, 3);
  slice_stack_reset (stack, SLICE_KEEP_ALL);
  assert_traced (SLICE_TRACE_STACK, 3, 3, 3);
  slice_stack_alloc (stack, 20);
  slice_stack_destroy (stack);
  assert_traced (SLICE_TRACE_STACK, 4, 4, 3);
}

/* A source that notes what had been traced when memory came back. */
static unsigned n_reallocs_at_unmap;

static void *
noting_map (const SliceSource *source, size_t bytes, size_t alignment)
{
  void *pages = NULL;

  (void) source;
  return posix_memalign (&pages, alignment, bytes) == 0 ? pages : NULL;
}

static void
noting_unmap (const SliceSource *source, void *pages, size_t bytes)
{
  (void) source;
  (void) bytes;
  n_reallocs_at_unmap = n_reallocs[SLICE_TRACE_STACK];
  free (pages);
}

/* A dedicated block goes back after the realloc was traced, not before:
 * another thread may be given the same memory. */
static void
test_stack_tells_before_unmap (void)
{
  static const SliceSource source
      = { .name = "noting", .map = noting_map, .unmap = noting_unmap };
  SliceArenaOptions options = { .source = &source };
  SliceStack *stack = slice_stack_new (&options);
  void *top;

  forget ();
  n_reallocs_at_unmap = 0;
  top = slice_stack_alloc (stack, 100000);
  top = slice_stack_resize (stack, top, 100000, 500000);
  g_assert_nonnull (top);
  assert_traced (SLICE_TRACE_STACK, 1, 0, 1);
  g_assert_cmpuint (n_reallocs_at_unmap, ==, 1);
  slice_stack_destroy (stack);
}

/* What the library allocates for itself is traced as such where no call of the
 * program asks for it: the spans that arenas share, and a large node that
 * grows. */
static void
test_own_elsewhere (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  void *root = ralloc_context (NULL);
  void *node = ralloc_size (root, 100000);

  slice_linear_alloc (linear, 50000);
  slice_linear_alloc (linear, 300000);
  slice_linear_destroy (linear);
  forget ();
  g_assert_cmpuint (slice_arena_trim (0), >, 0);
  g_assert_cmpint (n_own, >, 0);
  g_assert_cmpint (n_own, ==, n_own_ended);
  forget ();
  node = reralloc_size (root, node, 1000000);
  g_assert_cmpint (n_own, >, 0);
  g_assert_cmpint (n_own, ==, n_own_ended);
  ralloc_free (root);
}

/* Blocks with frees and without, and after a reset. */
static void
test_pool_tells_each (void)
{
  SlicePool *pool = slice_pool_new_plain (24);
  void *last = NULL;

  forget ();
  for (int i = 0; i < N_BLOCKS; i++)
    last = slice_pool_alloc (pool);
  slice_pool_free (pool, last);
  assert_traced (SLICE_TRACE_POOL, N_BLOCKS, 1, 0);
  slice_pool_reset (pool, SLICE_KEEP_ALL);
  assert_traced (SLICE_TRACE_POOL, N_BLOCKS, N_BLOCKS, 0);
  slice_pool_free (pool, slice_pool_alloc (pool));
  slice_pool_alloc (pool);
  slice_pool_destroy (pool);
  assert_traced (SLICE_TRACE_POOL, N_BLOCKS + 2, N_BLOCKS + 2, 0);
}

/* A mark in a mark, and an object that is resized beyond one. */
static void
test_rollback_tells_some (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SliceMark outer, inner;
  void *object;

  forget ();
  slice_linear_alloc (linear, 8);
  outer = slice_linear_mark (linear);
  object = slice_linear_alloc (linear, 8);
  inner = slice_linear_mark (linear);
  slice_linear_alloc (linear, 8);
  object = slice_linear_resize (linear, object, 8, 400);
  g_assert_true (last_realloc_to == object);
  g_assert_cmpuint (last_bytes, ==, 400);
  assert_traced (SLICE_TRACE_LINEAR, 3, 0, 1);
  /* Where a tool watches, what shrinks moves. */
  object = slice_linear_resize (linear, object, 400, 300);
  g_assert_true (last_realloc_to == object);
  assert_traced (SLICE_TRACE_LINEAR, 3, 0, 2);
  slice_linear_rollback (linear, inner);
  assert_traced (SLICE_TRACE_LINEAR, 3, 2, 2);
  object = slice_linear_alloc (linear, 8);
  g_assert_true (slice_linear_free_last (linear, object, 8));
  slice_linear_rollback (linear, outer);
  assert_traced (SLICE_TRACE_LINEAR, 4, 3, 2);
  slice_linear_destroy (linear);
  assert_traced (SLICE_TRACE_LINEAR, 4, 4, 2);
}

/* Is the inline code let in at all, with these options and this tool? */
static bool is_inline;
static SliceThreadV1 *zero_entries; /* where it is not */

static gint turn;

static void
turn_wait (gint until)
{
  while (g_atomic_int_get (&turn) < until)
    g_usleep (100);
}

/* A thread that had its magazines before the hooks came, and after they
 * went. */
static void *
other_thread (void *unused)
{
  use_slices ();
  g_atomic_int_set (&turn, 1);
  turn_wait (2);
  use_slices ();
  g_atomic_int_set (&turn, 3);
  turn_wait (4);
  use_slices ();
  return unused;
}

static void
test_other_threads_follow (void)
{
  pthread_t thread;

  slice_set_trace_hooks (NULL);
  g_atomic_int_set (&turn, 0);
  g_assert_cmpint (pthread_create (&thread, NULL, other_thread, NULL), ==, 0);
  turn_wait (1);
  slice_set_trace_hooks (&hooks);
  forget ();
  g_atomic_int_set (&turn, 2);
  turn_wait (3);
  g_assert_cmpuint (n_allocs[SLICE_TRACE_SLICE], ==, N_BLOCKS);
  g_assert_cmpuint (n_frees[SLICE_TRACE_SLICE], ==, N_BLOCKS);
  slice_set_trace_hooks (NULL);
  g_atomic_int_set (&turn, 4);
  g_assert_cmpint (pthread_join (thread, NULL), ==, 0);
  g_assert_cmpuint (n_allocs[SLICE_TRACE_SLICE], ==, N_BLOCKS);
  slice_set_trace_hooks (&hooks);
}

/* Both at the same place. */
static void
meet (gint n_meetings)
{
  g_atomic_int_inc (&turn);
  while (g_atomic_int_get (&turn) < 2 * n_meetings)
    g_thread_yield ();
}

enum { N_RACES = 1000 };

static void *
take_away (void *unused)
{
  for (int i = 0; i < N_RACES; i++)
    {
      meet (2 * i + 1);
      slice_set_trace_hooks (NULL);
      meet (2 * i + 2);
    }
  return unused;
}

/* Set and taken away at once: the way that calls go fits what is so in the
 * end.  (Which of the two it is can't be known.) */
static void
test_set_and_taken_away_at_once (void)
{
  pthread_t thread;

  g_atomic_int_set (&turn, 0);
  pthread_create (&thread, NULL, take_away, NULL);
  for (int i = 0; i < N_RACES; i++)
    {
      meet (2 * i + 1);
      slice_set_trace_hooks (&hooks);
      forget ();
      meet (2 * i + 2);
      slice_free1 (40, slice_alloc (40));
      slice_free1 (40, slice_alloc (40));
      if (n_allocs[SLICE_TRACE_SLICE] == 0)
        g_assert_true ((slice_tls_v1 != zero_entries) == is_inline);
      else
        g_assert_cmpuint (n_allocs[SLICE_TRACE_SLICE], ==, 2);
    }
  pthread_join (thread, NULL);
  slice_set_trace_hooks (&hooks);
}

/* The inline code is let in again: a block freed is the next one, without a
 * call; and an arena that tells goes on without anyone to hear it. */
static void
test_ends (void)
{
  SliceStack *stack = slice_stack_new (NULL);
  void *object = slice_stack_alloc (stack, 10);

  slice_set_trace_hooks (NULL);
  forget ();
  use_slices ();
  g_assert_true ((slice_tls_v1 != zero_entries) == is_inline);
  slice_stack_release (stack, object);
  slice_stack_alloc (stack, 10);
  slice_stack_destroy (stack);
  for (int kind = 0; kind < N_KINDS; kind++)
    g_assert_cmpuint (n_allocs[kind] + n_frees[kind], ==, 0);
}

/* Made for another version: as if nothing had been said. */
static void
test_refuses_others (void)
{
  static const SliceTraceHooks others
      = { sizeof others - 1, count_alloc, count_free, count_realloc,
          count_own };

  forget ();
  slice_set_trace_hooks (&others);
  use_slices ();
  g_assert_cmpuint (n_allocs[SLICE_TRACE_SLICE], ==, 0);
}

int
main (int argc, char **argv)
{
  zero_entries = slice_tls_v1;
  use_slices ();
  is_inline = slice_tls_v1 != zero_entries;
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/hooks/begins-after-use", test_begins_after_use);
  g_test_add_func ("/slice/hooks/tells-sizes", test_tells_sizes);
  g_test_add_func ("/slice/hooks/sizes-agree", test_sizes_agree);
  g_test_add_func ("/slice/hooks/own-is-paired", test_own_is_paired);
  g_test_add_func ("/slice/hooks/each-call-tells", test_each_call_tells);
  g_test_add_func ("/slice/hooks/linear-tells-cleanups",
                   test_linear_tells_cleanups);
  g_test_add_func ("/slice/hooks/arenas-tell-all", test_arenas_tell_all);
  g_test_add_func ("/slice/hooks/tlsf-tells-each", test_tlsf_tells_each);
  g_test_add_func ("/slice/hooks/tlsf-fixed-tells", test_tlsf_fixed_tells);
  g_test_add_func ("/slice/hooks/stack-tells-each", test_stack_tells_each);
  g_test_add_func ("/slice/hooks/stack-tells-before-unmap",
                   test_stack_tells_before_unmap);
  g_test_add_func ("/slice/hooks/own-elsewhere", test_own_elsewhere);
  g_test_add_func ("/slice/hooks/pool-tells-each", test_pool_tells_each);
  g_test_add_func ("/slice/hooks/rollback-tells-some",
                   test_rollback_tells_some);
  g_test_add_func ("/slice/hooks/other-threads-follow",
                   test_other_threads_follow);
  g_test_add_func ("/slice/hooks/set-and-taken-away-at-once",
                   test_set_and_taken_away_at_once);
  g_test_add_func ("/slice/hooks/ends", test_ends);
  g_test_add_func ("/slice/hooks/refuses-others", test_refuses_others);
  return g_test_run ();
}
