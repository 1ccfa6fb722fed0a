/* test-first-call.c - an option that can still be set holds in every layer
 *
 * Each function that allocates nothing, or might not, is the first call of a
 * process.  Then the program sets an option and a source of pages.  Either
 * both come too late, as the headers say of that function, or both hold for
 * all that is made from then on: slices, contexts, arenas and the heap.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slice/arena.h>
#include <slice/heap.h>
#include <slice/libslice.h>
#include <slice/ralloc.h>

#include "tests/testlib.h"
#include "tests/arena/arena-test.h"

enum
{
  BUFFER_BYTES = 16384,
  OBJECT_BYTES = 100,
  LARGE_BYTES = 1 << 19, /* for a source of pages */
  /* How a child ends. */
  STATUS_FOUND = 3,  /* with the number that was expected */
  STATUS_OTHER = 4,  /* with another one */
  STATUS_UNFOUND = 5, /* with none */
  STATUS_TOO_LATE = 6 /* nothing could be set */
};

static char early_buffer[BUFFER_BYTES], late_buffer[BUFFER_BYTES];
static FILE *sink;
static void *volatile nothing; /* NULL, unknown to the compiler */

/* --- first calls --------------------------------------------------------- */

static const SliceArenaOptions bad_options = { .flags = 77 };
static const SlicePoolOptions bad_pool = { .object_bytes = 0 };

#define CALL(id, expression)                                                  \
  static void id (void)                                                       \
  {                                                                           \
    (void) (expression);                                                      \
  }

CALL (no_call, 0)
CALL (fixed_heap, slice_tlsf_new_fixed (early_buffer, BUFFER_BYTES))
CALL (fixed_heap_small, slice_tlsf_new_fixed (early_buffer, 10))
CALL (fixed_source, slice_source_fixed_new (early_buffer, BUFFER_BYTES))
CALL (linear_refused, slice_linear_new (&bad_options))
CALL (stack_refused, slice_stack_new (&bad_options))
CALL (tlsf_refused, slice_tlsf_new (&bad_options))
CALL (pool_refused, slice_pool_new (&bad_pool))
CALL (plain_pool_refused, slice_pool_new_plain (0))
CALL (linear_in_refused, slice_linear_new_in (nothing, &bad_options))
CALL (linear_destroy, (slice_linear_destroy (nothing), 0))
CALL (arena_trim, slice_arena_trim (0))
CALL (trim, slice_trim (0))
CALL (flush, (slice_thread_flush (), 0))
CALL (heap_trim, slice_heap_trim ())
CALL (heap_free, (slice_heap_free (nothing), 0))
CALL (heap_bytes, slice_heap_bytes (nothing))
CALL (block_size, slice_block_size (nothing))
CALL (is_ours, slice_is_ours (early_buffer))
CALL (print_stats, (slice_print_stats (fileno (sink)), 0))
CALL (copy_none, slice_copy (0, nothing))
CALL (free_n, (slice_free_n (2, 8, nothing), 0))
CALL (node_free, (ralloc_free (nothing), 0))
CALL (node_steal, (ralloc_steal (nothing, nothing), 0))
CALL (node_parent, ralloc_parent (nothing))
CALL (node_mark, ralloc_mark_place (nothing, __FILE__, __LINE__))
CALL (node_report, (ralloc_report (sink, nothing), 0))
CALL (node_total, ralloc_total_size (nothing))
CALL (string_of_null, ralloc_strdup (nothing, nothing))
CALL (linear_of_null, ralloc_linear_alloc_parent (nothing, 8))
CALL (abort_handler, (slice_set_abort_handler (NULL, NULL), 0))

CALL (alloc_none, slice_alloc (0))
CALL (free_none, (slice_free1 (8, nothing), 0))
CALL (free_bulk_none, (slice_free_bulk (0, NULL), 0))
CALL (track_roots, (ralloc_track_roots (false), 0))
CALL (report_at_exit, (ralloc_report_at_exit (false), 0))
CALL (heap_alloc_none, slice_heap_alloc (0))
CALL (root, ralloc_context (nothing))
CALL (arena, slice_linear_new (NULL))

static const struct
{
  const char *name;
  void (*call) (void);
  bool freezes;
} calls[]
    = { { "no call", no_call, false },
        { "slice_tlsf_new_fixed", fixed_heap, false },
        { "slice_tlsf_new_fixed, refused", fixed_heap_small, false },
        { "slice_source_fixed_new", fixed_source, false },
        { "slice_linear_new, refused", linear_refused, false },
        { "slice_stack_new, refused", stack_refused, false },
        { "slice_tlsf_new, refused", tlsf_refused, false },
        { "slice_pool_new, refused", pool_refused, false },
        { "slice_pool_new_plain, refused", plain_pool_refused, false },
        { "slice_linear_new_in, refused", linear_in_refused, false },
        { "slice_linear_destroy", linear_destroy, false },
        { "slice_arena_trim", arena_trim, false },
        { "slice_trim", trim, false },
        { "slice_thread_flush", flush, false },
        { "slice_heap_trim", heap_trim, false },
        { "slice_heap_free", heap_free, false },
        { "slice_heap_bytes", heap_bytes, false },
        { "slice_block_size", block_size, false },
        { "slice_is_ours", is_ours, false },
        { "slice_print_stats", print_stats, false },
        { "slice_copy", copy_none, false },
        { "slice_free_n", free_n, false },
        { "ralloc_free", node_free, false },
        { "ralloc_steal", node_steal, false },
        { "ralloc_parent", node_parent, false },
        { "ralloc_mark_place", node_mark, false },
        { "ralloc_report", node_report, false },
        { "ralloc_total_size", node_total, false },
        { "ralloc_strdup", string_of_null, false },
        { "ralloc_linear_alloc_parent", linear_of_null, false },
        { "slice_set_abort_handler", abort_handler, false },
        { "slice_alloc (0)", alloc_none, true },
        { "slice_free1", free_none, true },
        { "slice_free_bulk", free_bulk_none, true },
        { "ralloc_track_roots", track_roots, true },
        { "ralloc_report_at_exit", report_at_exit, true },
        { "slice_heap_alloc (0)", heap_alloc_none, true },
        { "ralloc_context", root, true },
        { "slice_linear_new", arena, true } };

/* --- faults that a checking mode finds ----------------------------------- */

/* Another compiler than ours would know that the byte is not the object's. */
static void
write_behind (char *object)
{
  char *volatile at = object + OBJECT_BYTES;

  *at = 1;
}

static void
overrun (SliceTlsf *tlsf)
{
  char *object = slice_tlsf_alloc (tlsf, OBJECT_BYTES);

  write_behind (object);
  slice_tlsf_free (tlsf, object);
}

static void
fault_fixed_heap (void)
{
  overrun (slice_tlsf_new_fixed (late_buffer, BUFFER_BYTES));
}

static void
fault_tlsf (void)
{
  overrun (slice_tlsf_new (NULL));
}

static void
fault_stack (void)
{
  SliceStack *stack = slice_stack_new (NULL);
  void *object = slice_stack_alloc (stack, 8);

  slice_stack_alloc (stack, 8);
  slice_stack_release (stack, object);
}

static void
fault_pool (void)
{
  SlicePool *pool = slice_pool_new_plain (32);
  void *a = slice_pool_alloc (pool), *b = slice_pool_alloc (pool);

  slice_pool_alloc (pool);
  slice_pool_free (pool, a);
  slice_pool_free (pool, b);
  slice_pool_free (pool, a);
}

static void
fault_slice (void)
{
  void *a = slice_alloc (64), *b = slice_alloc (64);

  slice_free1 (64, a);
  slice_free1 (64, b);
  slice_free1 (64, a);
}

static void
fault_node (void)
{
  ralloc_size (late_buffer + BUFFER_BYTES / 2, 10);
}

static const struct
{
  const char *name;
  void (*fault) (void);
  int number;
} faults[] = { { "TLSF heap over a buffer", fault_fixed_heap, 332 },
               { "TLSF heap", fault_tlsf, 332 },
               { "stack", fault_stack, 310 },
               { "pool", fault_pool, 320 },
               { "slice", fault_slice, 105 },
               { "node", fault_node, 200 } };

static void
leave_by_number (int number, const char *line G_GNUC_UNUSED, void *data)
{
  _exit (number == *(const int *) data ? STATUS_FOUND : STATUS_OTHER);
}

static void
commit_fault (size_t call, size_t fault)
{
  calls[call].call ();
  slice_set_abort_handler (leave_by_number, (void *) &faults[fault].number);
  if (slice_set_option (SLICE_OPTION_CHECKED, 1) != SLICE_SET_OK)
    _exit (STATUS_TOO_LATE);
  faults[fault].fault ();
}

/* --- a source of pages --------------------------------------------------- */

static void
use_source (size_t call)
{
  CountingSource counting;
  size_t n_maps;

  counting_source_init (&counting);
  calls[call].call ();
  if (slice_set_source (&counting.source) != SLICE_SET_OK)
    _exit (STATUS_TOO_LATE);
  slice_alloc (64);
  n_maps = counting.n_maps;
  slice_linear_alloc (slice_linear_new (NULL), LARGE_BYTES);
  _exit (n_maps > 0 && counting.n_maps > n_maps ? STATUS_FOUND
                                                : STATUS_UNFOUND);
}

/* --- children ------------------------------------------------------------ */

enum
{
  N_FAULTS = G_N_ELEMENTS (faults)
};

/* Returns a child's status: it commits a fault, or uses a source. */
static int
status_of (size_t call, size_t fault)
{
  int status = 0;
  pid_t child = fork ();

  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      dup2 (fileno (sink), 2); /* the number tells enough */
      if (fault < N_FAULTS)
        commit_fault (call, fault);
      else
        use_source (call);
      _exit (STATUS_UNFOUND);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  return status;
}

static void
test_options_hold (void)
{
  unsigned n_wrong = 0;

#ifdef __SANITIZE_ADDRESS__
  g_test_skip ("the sanitizer reports it first");
  return;
#endif
  test_options ("");
  sink = fopen ("/dev/null", "w");
  g_assert_nonnull (sink);
  for (size_t i = 0; i < G_N_ELEMENTS (calls); i++)
    for (size_t fault = 0; fault <= N_FAULTS; fault++)
      {
        int status = status_of (i, fault);
        int wanted = calls[i].freezes ? STATUS_TOO_LATE : STATUS_FOUND;

        if (WIFEXITED (status) && WEXITSTATUS (status) == wanted)
          continue;
        g_printerr ("# first %s, then %s: status %x\n", calls[i].name,
                    fault < N_FAULTS ? faults[fault].name : "a source",
                    (unsigned) status);
        n_wrong++;
      }
  g_assert_cmpuint (n_wrong, ==, 0);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  if (!test_is_slow ())
    test_add_fresh ("/slice/first-call/options-hold", test_options_hold);
  return g_test_run ();
}
