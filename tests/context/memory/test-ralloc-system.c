/* test-ralloc-system.c - what contexts cost the system: clearing what is
 * known to be zero, copies of what grows, memory that stays, calls to give it
 * back
 *
 * This program has memset(), madvise() and munmap() of its own, which the
 * library's calls come to, and counts them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/testlib.h"
#include "tests/context/ralloc-testlib.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t n_give_backs;

/* The sanitizers have their own, and slices are mallocs then. */
#if !TEST_IS_SANITIZED

int
madvise (void *start, size_t n, int advice)
{
  n_give_backs += advice == MADV_DONTNEED || advice == MADV_FREE;
  return (int) syscall (SYS_madvise, start, n, advice);
}

int
munmap (void *start, size_t n)
{
  n_give_backs++;
  return (int) syscall (SYS_munmap, start, n);
}

#endif

/* --- zeroes --- */

static bool
is_zero (const char *block, size_t n)
{
  return n == 0 || (block[0] == 0 && memcmp (block, block + 1, n - 1) == 0);
}

/* Never dirty, however often the memory came back. */
static void
test_never_dirty (void)
{
  enum { N_LIVE = 512 };
  unsigned n_steps = is_annotated () ? 20000 : 1000000;
  Random random = { 31 };
  void *root = ralloc_context (NULL);
  char *nodes[N_LIVE] = { NULL };
  size_t sizes[N_LIVE] = { 0 };

  for (unsigned step = 0; step < n_steps; step++)
    {
      size_t k = random_below (&random, N_LIVE);

      if (nodes[k] != NULL)
        {
          memset (nodes[k], 0xa5, sizes[k]);
          ralloc_free (nodes[k]);
        }
      sizes[k] = random_below (&random, step % 16 == 0 ? 3000 : 300);
      nodes[k] = rzalloc_size (root, sizes[k]);
      if (!is_zero (nodes[k], sizes[k]))
        g_error ("step %u: %zu bytes are not zero", step, sizes[k]);
      if (step % 50000 == 49999)
        {
          ralloc_free_children (root);
          slice_trim (0);
          memset (nodes, 0, sizeof nodes);
        }
    }
  ralloc_free (root);
}

/* --- growing --- */

enum { GROW_FROM = 2048, GROW_TO = 256 << 10, GROW_STEP = 8, MOVES_MAX = 40 };

/* A node of its own tree, or with all that a move has to correct. */
typedef struct
{
  void *holder, *parent, *older, *younger, *child;
  unsigned char *array;
} Growing;

static void
growing_new (Growing *growing, bool is_limited)
{
  void *parent = ralloc_context (NULL);

  growing->parent = parent;
  growing->holder = ralloc_context (NULL);
  growing->older = ralloc_size (parent, 8);
  growing->array = ralloc_size (parent, GROW_FROM);
  growing->younger = ralloc_size (parent, 8);
  growing->child = ralloc_size (growing->array, 8);
  g_assert_true (ralloc_reference (growing->holder, growing->array));
  if (is_limited)
    g_assert_true (ralloc_set_limit (parent, 2 * GROW_TO));
}

static void
growing_check (const Growing *growing)
{
  for (size_t i = GROW_FROM; i < GROW_TO; i++)
    g_assert_cmpuint (growing->array[i], ==, (unsigned char) (i / GROW_STEP));
  g_assert_true (ralloc_parent (growing->array) == growing->parent);
  g_assert_true (ralloc_parent (growing->child) == growing->array);
  g_assert_cmpuint (ralloc_total_nodes (growing->parent), ==, 5);
  ralloc_free (growing->younger);
  ralloc_free (growing->older);
  ralloc_free (growing->parent); /* the reference keeps the array */
  g_assert_true (ralloc_parent (growing->array) == growing->holder);
  ralloc_free (growing->holder);
}

/* An array that grows by one element at a time is not copied at each step:
 * malloc extends its block at the end of the heap. */
static void
test_grows_in_place (gconstpointer is_limited)
{
  Growing growing;
  unsigned n_moves = 0;

  growing_new (&growing, is_limited != NULL);
  for (size_t n = GROW_FROM; n < GROW_TO; n += GROW_STEP)
    {
      void *before = growing.array;

      growing.array = reralloc_size (growing.parent, before, n + GROW_STEP);
      g_assert_nonnull (growing.array);
      n_moves += growing.array != before;
      memset (growing.array + n, (int) (n / GROW_STEP), GROW_STEP);
    }
  if (is_limited != NULL)
    {
      g_assert_cmpuint (ralloc_limit_used (growing.parent), >, GROW_TO);
      g_assert_null (reralloc_size (growing.parent, growing.array,
                                    2 * GROW_TO));
    }
  /* Under a tool each realloc() moves. */
  if (!is_annotated () && !test_is_slow ())
    g_assert_cmpuint (n_moves, <=, MOVES_MAX);
  growing_check (&growing);
}

/* --- giving back --- */

static uint64_t
held_bytes (void)
{
  SliceStats *stats = g_new0 (SliceStats, 1);
  uint64_t bytes;

  g_assert_true (slice_get_stats (stats));
  bytes = stats->held_bytes;
  g_free (stats);
  return bytes;
}

static size_t
resident_bytes (void)
{
  unsigned long size = 0, resident = 0;
  FILE *f = fopen ("/proc/self/statm", "r");

  if (f == NULL)
    return 0;
  if (fscanf (f, "%lu %lu", &size, &resident) != 2)
    resident = 0;
  fclose (f);
  return resident * (size_t) sysconf (_SC_PAGESIZE);
}

/* A large tree goes back whole, by few calls. */
static void
test_gives_back (void)
{
  const size_t window_bytes = 2 << 20, most_bytes = 64 << 20;
  size_t bytes = g_test_slow () ? (size_t) 1 << 30 : (size_t) 128 << 20;
  size_t resident_before, n = 0;
  uint64_t held;
  Random random = { 32 };
  void *root;

  if (is_annotated ())
    {
      g_test_skip ("slices are mallocs");
      return;
    }
  resident_before = resident_bytes ();
  root = ralloc_context (NULL);
  while (n < bytes)
    {
      size_t size = random_below (&random, 1000);

      memset (ralloc_size (root, size), 1, size);
      n += size + 32;
    }
  held = held_bytes ();
  g_assert_cmpuint (held, >=, bytes);
  n_give_backs = 0;
  ralloc_free (root);
  g_test_message ("%zu MiB: %zu calls when freed, %" G_GUINT64_FORMAT
                  " MiB held",
                  bytes >> 20, n_give_backs, held_bytes () >> 20);
  slice_trim (0);
  g_test_message ("%zu calls and %" G_GUINT64_FORMAT " MiB held when trimmed, "
                  "resident %zu KiB more than before the tree",
                  n_give_backs, held_bytes () >> 20,
                  (resident_bytes () - resident_before) >> 10);
  g_assert_cmpuint (held_bytes (), <, most_bytes);
  g_assert_cmpuint (n_give_backs, <=, held / window_bytes + 8);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  g_test_add_func ("/slice/ralloc-system/never-dirty", test_never_dirty);
  g_test_add_data_func ("/slice/ralloc-system/grows-in-place", NULL,
                        test_grows_in_place);
  g_test_add_data_func ("/slice/ralloc-system/grows-in-place/limited", "",
                        test_grows_in_place);
  g_test_add_func ("/slice/ralloc-system/gives-back", test_gives_back);
  return g_test_run ();
}
