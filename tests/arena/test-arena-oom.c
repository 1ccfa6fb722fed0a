/* test-arena-oom.c - every request for memory fails in turn, in arenas
 *
 * What fails gives NULL and leaves the arena as it was: what is in it keeps its
 * content, the next request may succeed, and at its end all goes back.  Every
 * slice is a malloc here (always-malloc), so that each is a request.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/heap.h>
#include <slice/libslice.h>
#include <string.h>

#include "tests/arena/arena-test.h"
#include "tests/failing-malloc.h"

enum { N_OBJECTS = 120 };

typedef struct
{
  void *object;
  size_t size;
} Held;

/* Sizes that want blocks of their own among small ones. */
static size_t
size_of (unsigned i)
{
  return i % 17 == 16 ? 9000 + i : 1 + i * 7 % 300;
}

static void
hold (Held *held, void *object, size_t size, unsigned i)
{
  held->object = object;
  held->size = size;
  if (object != NULL)
    pattern_fill (object, size, i);
  else
    g_assert_cmpint (errno, ==, ENOMEM);
}

static void
check_all (const Held *held, unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    g_assert_true (held[i].object == NULL
                   || pattern_holds (held[i].object, held[i].size, i));
}

/* --- linear -------------------------------------------------------------- */

static void
fill_linear (SliceLinear *linear)
{
  Held held[N_OBJECTS] = { { NULL, 0 } };
  char *text = slice_linear_strdup (linear, "begin");
  size_t bytes;

  for (unsigned i = 0; i < N_OBJECTS; i++)
    hold (&held[i],
          i % 5 == 4 ? slice_linear_alloc_aligned (linear, 64, size_of (i))
                     : slice_linear_alloc (linear, size_of (i)),
          size_of (i), i);
  for (unsigned i = 0; i < N_OBJECTS; i += 9)
    if (held[i].object != NULL)
      {
        void *resized = slice_linear_resize (linear, held[i].object,
                                             held[i].size, 500 + i);

        if (resized != NULL)
          hold (&held[i], resized, 500 + i, i);
      }
  for (unsigned i = 0; i < 30 && text != NULL; i++)
    slice_linear_strcat (linear, &text, " and another piece of it");
  g_assert_true (text == NULL || strncmp (text, "begin", 5) == 0);
  slice_linear_printf (linear, "%0300d", 7);
  if (slice_linear_grow (linear, 10, "0123456789"))
    {
      for (unsigned i = 0; i < 12; i++)
        (void) slice_linear_grow (linear, (size_t) 50 << i, NULL);
      g_assert_true (memcmp (slice_linear_finish (linear, &bytes),
                             "0123456789", 10)
                     == 0);
    }
  check_all (held, N_OBJECTS);
}

static void
no_cleanup (void *data)
{
  (void) data;
}

static void
use_linear (SliceLinear *linear)
{
  SliceMark mark;

  if (linear == NULL)
    return;
  fill_linear (linear);
  mark = slice_linear_mark (linear);
  slice_linear_add_cleanup (linear, no_cleanup, NULL);
  fill_linear (linear);
  slice_linear_rollback (linear, mark);
  slice_linear_trim (linear);
  slice_linear_reset (linear, SLICE_KEEP_ALL);
  fill_linear (linear);
  slice_linear_reset (linear, SLICE_KEEP_NONE);
  fill_linear (linear);
}

/* --- stack --------------------------------------------------------------- */

static void
use_stack (SliceStack *stack)
{
  Held held[N_OBJECTS] = { { NULL, 0 } };
  unsigned n = 0;

  if (stack == NULL)
    return;
  for (unsigned turn = 0; turn < 2 * N_OBJECTS; turn++)
    if (turn % 5 == 3 && n > 0)
      slice_stack_release (stack, held[--n].object);
    else if (turn % 7 == 6 && n > 0)
      {
        Held *top = &held[n - 1];
        size_t size = turn % 3 == 0 ? 20000 + turn : turn;
        void *resized
            = slice_stack_resize (stack, top->object, top->size, size);

        if (resized != NULL)
          hold (top, resized, size, n - 1);
      }
    else if (n < N_OBJECTS)
      {
        hold (&held[n],
              turn % 11 == 0
                  ? slice_stack_alloc_aligned (stack, 256, size_of (turn))
                  : slice_stack_alloc (stack, size_of (turn)),
              size_of (turn), n);
        n += held[n].object != NULL;
      }
  check_all (held, n);
  while (n > 0)
    slice_stack_release (stack, held[--n].object);
  g_assert_true (slice_stack_is_empty (stack));
  slice_stack_trim (stack);
  slice_stack_reset (stack, SLICE_KEEP_NONE);
}

/* --- pool and TLSF ------------------------------------------------------- */

static bool
construct (void *object, void *data)
{
  (void) data;
  memset (object, 0, 40);
  return true;
}

static void
use_pool (SlicePool *pool)
{
  void *objects[4 * N_OBJECTS];
  unsigned n = 0;

  if (pool == NULL)
    return;
  for (unsigned turn = 0; turn < 2; turn++)
    {
      for (unsigned i = 0; i < G_N_ELEMENTS (objects); i++)
        if ((objects[n] = slice_pool_alloc (pool)) != NULL)
          n++;
      g_assert_cmpuint (slice_pool_n_live (pool), ==, n);
      slice_pool_free_bulk (pool, n / 2, objects + n - n / 2);
      n -= n / 2;
      while (n > 0)
        slice_pool_free (pool, objects[--n]);
      slice_pool_trim (pool);
    }
  slice_pool_reset (pool, SLICE_KEEP_FIRST);
  slice_pool_alloc (pool);
}

static void
use_tlsf (SliceTlsf *tlsf)
{
  Held held[N_OBJECTS] = { { NULL, 0 } };

  if (tlsf == NULL)
    return;
  for (unsigned turn = 0; turn < 3 * N_OBJECTS; turn++)
    {
      unsigned i = turn * 7 % N_OBJECTS;
      void *resized;

      if (held[i].object == NULL)
        hold (&held[i],
              turn % 9 == 0
                  ? slice_tlsf_alloc_aligned (tlsf, 128, size_of (turn))
                  : slice_tlsf_alloc (tlsf, size_of (turn)),
              size_of (turn), i);
      else if (turn % 2 == 0)
        {
          slice_tlsf_free (tlsf, held[i].object);
          held[i].object = NULL;
        }
      else if ((resized = slice_tlsf_resize (tlsf, held[i].object,
                                             size_of (turn + 40)))
               != NULL)
        hold (&held[i], resized, size_of (turn + 40), i);
    }
  check_all (held, N_OBJECTS);
  slice_tlsf_trim (tlsf);
}

/* --- all, alone and in a context ----------------------------------------- */

static void
script_alone (SliceArenaOptions *options)
{
  SlicePoolOptions plain = { .object_bytes = 40, .arena = *options };
  SlicePoolOptions tracked
      = { .object_bytes = 40, .construct = construct, .arena = *options };
  SliceLinear *linear = slice_linear_new (options);
  SliceStack *stack = slice_stack_new (options);
  SlicePool *pool = slice_pool_new (&plain);
  SlicePool *pool_tracked = slice_pool_new (&tracked);
  SliceTlsf *tlsf = slice_tlsf_new (options);

  use_linear (linear);
  use_stack (stack);
  use_pool (pool);
  use_pool (pool_tracked);
  use_tlsf (tlsf);
  slice_linear_destroy (linear);
  slice_stack_destroy (stack);
  slice_pool_destroy (pool);
  slice_pool_destroy (pool_tracked);
  slice_tlsf_destroy (tlsf);
}

static void
script_in_context (void)
{
  SlicePoolOptions plain = { .object_bytes = 40 };
  void *root = ralloc_context (NULL);

  if (root == NULL)
    return;
  use_linear (slice_linear_new_in (root, NULL));
  use_stack (slice_stack_new_in (root, NULL));
  use_pool (slice_pool_new_in (root, &plain));
  use_tlsf (slice_tlsf_new_in (root, NULL));
  ralloc_free (root);
}

/* Without memory, few of many frees ask for some. */
static void
free_many (void)
{
  enum { N = 1500, N_REQUESTS_MOST = 100 };
  void *objects[N];
  SlicePool *pool = slice_pool_new_plain (8);
  unsigned long n_refused;
  unsigned n = 0;

  if (pool == NULL)
    return;
  while (n < N && (objects[n] = slice_pool_alloc (pool)) != NULL)
    n++;
  n_refused = fault.n_refused;
  while (n > 0)
    slice_pool_free (pool, objects[--n]);
  g_assert_cmpuint (fault.n_refused - n_refused, <, N_REQUESTS_MOST);
  slice_pool_destroy (pool);
}

/* posix_memalign(), which is behind this, leaves errno alone. */
static void
alloc_aligned (void)
{
  void *block;

  errno = 0;
  block = slice_heap_alloc_aligned (64, 100);
  g_assert_true (block != NULL || errno == ENOMEM);
  slice_heap_free (block);
}

static void
script (void)
{
  SliceArenaOptions usual = { .first_bytes = 0 };
  SliceArenaOptions checked = { .flags = SLICE_ARENA_CHECKED };
  SliceArenaOptions limited = { .limit_bytes = 64 * 1024 };

  script_alone (&usual);
  script_alone (&checked);
  script_alone (&limited);
  script_in_context ();
  free_many ();
  alloc_aligned ();
  slice_arena_trim (0);
}

int
main (int argc, char **argv)
{
  return fail_main (argc, argv, "arena-oom", script, NULL);
}
