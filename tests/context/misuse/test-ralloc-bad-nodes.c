/* test-ralloc-bad-nodes.c - what is no live node is refused by every function
 *
 * A table: each function that takes a node, times each kind of pointer that is
 * none, times each mode.  Every call must end the program with the number
 * that the kind has; here the end is caught, and the next call tried.
 *
 * In the default mode the inline code of an allocation, and its like, look at
 * one word of their context: they are tried with what has been freed, no more.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/context/ralloc-testlib.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slice/arena.h>
#include <slice/linear.h>
#include <slice/pool.h>
#include <slice/stack.h>
#include <slice/tlsf.h>

#include "tests/testlib.h"

enum
{
  BYTES = 512, /* of the buffer around a pointer */
  MIDDLE = 256,
  LARGE = 100000,
  SLOW_SIZE = 5000, /* too large for the inline code */
  MESSAGE_BYTES = 1024,
  SLOW_STEP = 16, /* under a tool, of functions */
  UNSEEN = -1000  /* a result: the call returned */
};

/* --- pointers that are no live nodes ------------------------------------- */

typedef enum
{
  FREED_LEAF,
  FREED_INNER,
  FREED_LINEAR,
  FREED_GC,
  FREED_LARGE,
  STACK,
  STATIC,
  MALLOCED,
  SLICE,
  SLICE_FULL,
  INTERIOR,
  INTERIOR_FULL,
  INTERIOR_LINKED,
  MISALIGNED,
  MISALIGNED_FOREIGN,
  SMALL,
  PAGE,
  HIGH,
  NOTHING,
  N_KINDS
} Kind;

static const struct
{
  const char *name;
  int number;     /* of NULL: the function says */
  bool is_freed;  /* and its memory is as it was left */
  bool is_forgotten; /* freed, too, and given back */
} kinds[N_KINDS]
    = { [FREED_LEAF] = { "freed leaf", 201, true },
        [FREED_INNER] = { "freed inner node", 201, true },
        [FREED_LINEAR] = { "freed linear context", 201, true },
        [FREED_GC] = { "freed gc context", 201, true },
        [FREED_LARGE] = { "freed large node", 200, false, true },
        [STACK] = { "stack", 200, false },
        [STATIC] = { "static data", 200, false },
        [MALLOCED] = { "malloc'd", 200, false },
        [SLICE] = { "slice, zero", 200, false },
        [SLICE_FULL] = { "slice, written", 200, false },
        [INTERIOR] = { "interior, zero", 202, false },
        [INTERIOR_FULL] = { "interior, written", 202, false },
        [INTERIOR_LINKED] = { "interior, linked to itself", 202, false },
        [MISALIGNED] = { "misaligned, of a node", 202, false },
        [MISALIGNED_FOREIGN] = { "misaligned, of the stack", 200, false },
        [SMALL] = { "16", 200, false },
        [PAGE] = { "a low address", 200, false },
        [HIGH] = { "no address", 200, false },
        [NOTHING] = { "NULL", 0, false } };

static void *root, *node, *text, *linear, *gc, *gc_object;
static SliceLinear *arena;
static void *bad[N_KINDS];
static FILE *sink;

static void *
freed (void *ptr)
{
  ralloc_free (ptr);
  return ptr;
}

/* The words before it are those of a list of one: a tail pointer that names
 * the first element, which is here. */
static void *
linked_interior (void)
{
  void **words = rzalloc_size (root, BYTES);
  void *payload = words + 32;

  words[30] = payload;
  words[31] = &words[30];
  return payload;
}

static void
make_pointers (char *stack)
{
  static _Alignas (16) char data[BYTES];
  char *plain = rzalloc_size (root, BYTES);
  char *full = ralloc_size (root, BYTES);
  char *slice = slice_alloc0 (BYTES);
  char *full_slice = slice_alloc (BYTES);
  /* Of a class that no other node below has, which would reuse it, and beside
   * one that keeps the slab. */
  void *beside = ralloc_size (root, 200);
  void *inner = ralloc_size (root, 200);

  memset (beside, 0, 200);
  memset (full, 0x5a, BYTES);
  memset (full_slice, 0x5a, BYTES);
  ralloc_size (ralloc_size (inner, 24), 24);
  bad[FREED_LEAF] = freed (ralloc_size (root, 200));
  bad[FREED_INNER] = freed (inner);
  bad[FREED_LINEAR] = freed (ralloc_linear_context (root));
  bad[FREED_GC] = freed (ralloc_gc_context (root));
  bad[FREED_LARGE] = freed (ralloc_size (root, LARGE));
  bad[STACK] = stack + MIDDLE;
  bad[STATIC] = data + MIDDLE;
  bad[MALLOCED] = (char *) calloc (1, BYTES) + MIDDLE;
  bad[SLICE] = slice + sizeof (RallocHeaderV1);
  bad[SLICE_FULL] = full_slice + sizeof (RallocHeaderV1);
  bad[INTERIOR] = plain + MIDDLE;
  bad[INTERIOR_FULL] = full + MIDDLE;
  bad[INTERIOR_LINKED] = linked_interior ();
  bad[MISALIGNED] = plain + MIDDLE + 8;
  bad[MISALIGNED_FOREIGN] = stack + MIDDLE + 1;
  bad[SMALL] = (void *) (uintptr_t) 16;
  bad[PAGE] = (void *) (uintptr_t) 0x1000;
  bad[HIGH] = (void *) (UINTPTR_MAX / 4 * 3 & ~(uintptr_t) 15);
  bad[NOTHING] = NULL;
}

static void
make_nodes (void)
{
  root = ralloc_context (NULL);
  node = ralloc_size (root, 40);
  text = ralloc_strdup (root, "text");
  linear = ralloc_linear_context (root);
  gc = ralloc_gc_context (root);
  gc_object = ralloc_gc_alloc_size (gc, 24, 8);
  arena = slice_linear_new_in (root, NULL);
  sink = fopen ("/dev/null", "w");
  g_assert_nonnull (sink);
}

/* --- functions ----------------------------------------------------------- */

/* No destructor, no question. */
static void
nothing (void *ptr)
{
  (void) ptr;
}

static bool
agree (void *ptr)
{
  (void) ptr;
  return false;
}

static char *
format (const void *ctx, const char *fmt, ...)
{
  va_list args;
  char *made;

  va_start (args, fmt);
  made = ralloc_vasprintf (ctx, fmt, args);
  va_end (args);
  return made;
}

static char *
linear_format (void *ctx, const char *fmt, ...)
{
  va_list args;
  char *made;

  va_start (args, fmt);
  made = ralloc_linear_vasprintf (ctx, fmt, args);
  va_end (args);
  return made;
}

typedef struct
{
  const char *name;
  void (*call) (void *bad);
  int null;      /* number for NULL; 0: it is allowed */
  bool is_quick; /* in the default mode, looks at a word or two */
  bool is_blind; /* there, it looks at nothing */
  bool is_case;  /* takes no pointer, NULL is handed */
  bool is_below; /* there, it takes what points to itself for a root */
  bool needs_node;   /* besides, a node of the program's */
  bool needs_slices; /* besides, an arena */
} Function;

/* A function's row: its name in `functions' and the call. */
#define CALL(id, expression)                                                  \
  static void id (void *p)                                                    \
  {                                                                           \
    (void) (expression);                                                      \
  }
/* The same for what takes a string that grows. */
#define GROW(id, expression)                                                  \
  static void id (void *p)                                                    \
  {                                                                           \
    char *string = p;                                                         \
    size_t start = 0;                                                         \
    (void) start;                                                             \
    (void) (expression);                                                      \
  }

CALL (context, ralloc_context (p))
CALL (size, ralloc_size (p, 24))
CALL (size_slow, ralloc_size (p, SLOW_SIZE))
CALL (zsize, rzalloc_size (p, 24))
CALL (zsize_long, rzalloc_size (p, 200))
CALL (zsize_slow, rzalloc_size (p, SLOW_SIZE))
CALL (array, ralloc_array_size (p, 8, 3))
CALL (zarray, rzalloc_array_size (p, 8, 3))
CALL (memdup, ralloc_memdup (p, "abc", 4))
CALL (strdup_, ralloc_strdup (p, "abc"))
CALL (strndup_, ralloc_strndup (p, "abc", 2))
CALL (asprintf_, ralloc_asprintf (p, "%d", 12))
CALL (vasprintf_, format (p, "%d", 12))
CALL (re_new, reralloc_size (p, NULL, 24))
CALL (rez_new, rerzalloc_size (p, NULL, 0, 24))
CALL (re_array_new, reralloc_array_size (p, NULL, 8, 3))
CALL (rez_array_new, rerzalloc_array_size (p, NULL, 8, 0, 3))
CALL (named, ralloc_named_const (p, 24, "name"))
CALL (linear_context, ralloc_linear_context (p))
CALL (linear_opts, ralloc_linear_context_with_opts (p, NULL))
CALL (linear_parent, ralloc_linear_alloc_parent (p, 24))
CALL (linear_zparent, ralloc_linear_zalloc_parent (p, 24))
CALL (gc_context, ralloc_gc_context (p))
CALL (new_linear, slice_linear_new_in (p, NULL))
CALL (new_stack, slice_stack_new_in (p, NULL))
CALL (new_tlsf, slice_tlsf_new_in (p, NULL))
CALL (export, slice_linear_export (arena, slice_linear_alloc (arena, 8), 8, p))

static void
new_pool (void *p)
{
  SlicePoolOptions options = { .object_bytes = 24 };

  slice_pool_new_in (p, &options);
}

CALL (re, reralloc_size (root, p, 2000))
CALL (rez, rerzalloc_size (root, p, 0, 2000))
CALL (re_array, reralloc_array_size (root, p, 8, 200))
CALL (rez_array, rerzalloc_array_size (root, p, 8, 0, 200))
CALL (free_, (ralloc_free (p), 0))
CALL (try_free, ralloc_try_free (p))
CALL (free_children, (ralloc_free_children (p), 0))
CALL (steal, (ralloc_steal (root, p), 0))
CALL (steal_root, (ralloc_steal (NULL, p), 0))
CALL (steal_to, (ralloc_steal (p, node), 0))
CALL (try_steal, ralloc_try_steal (root, p))
CALL (try_steal_to, ralloc_try_steal (p, node))
CALL (adopt, (ralloc_adopt (node, p), 0))
CALL (adopt_roots, (ralloc_adopt (NULL, p), 0))
CALL (adopt_to, (ralloc_adopt (p, root), 0))
CALL (parent, ralloc_parent (p))
CALL (set_destructor, (ralloc_set_destructor (p, nothing), 0))
CALL (clear_destructor, (ralloc_set_destructor (p, NULL), 0))
CALL (try_set_destructor, ralloc_try_set_destructor (p, nothing))
CALL (set_refusing, ralloc_set_refusing_destructor (p, agree))
CALL (total_size, ralloc_total_size (p))
CALL (total_nodes, ralloc_total_nodes (p))
CALL (usable_size, ralloc_usable_size (p))
CALL (is_ancestor, ralloc_is_ancestor (root, p))
CALL (is_ancestor_of, ralloc_is_ancestor (p, node))
CALL (print_info, (ralloc_print_info (sink, p, 0), 0))
CALL (print_summary,
      (ralloc_print_info (sink, p, RALLOC_PRINT_INFO_SUMMARY_ONLY), 0))
CALL (report, (ralloc_report (sink, p), 0))
CALL (report_json, (ralloc_report_json (sink, p), 0))
CALL (set_name, ralloc_set_name (p, "name"))
CALL (set_name_const, ralloc_set_name_const (p, "name"))
CALL (get_name, ralloc_get_name (p))
CALL (find_parent, ralloc_find_parent_by_name (p, "name"))
CALL (check_name, ralloc_check_name (p, "name"))
CALL (check_name_abort, ralloc_check_name_abort (p, "name", "here"))
CALL (reference, ralloc_reference (root, p))
CALL (reference_of, ralloc_reference (p, node))
CALL (unlink_, ralloc_unlink (root, p))
CALL (unlink_of, ralloc_unlink (p, node))
CALL (reference_count, ralloc_reference_count (p))
CALL (set_limit, ralloc_set_limit (p, 100000))
CALL (lift_limit, ralloc_set_limit (p, 0))
CALL (limit_used, ralloc_limit_used (p))
CALL (mark_place, ralloc_mark_place (p, __FILE__, __LINE__))
GROW (strcat_, ralloc_strcat (&string, "more"))
GROW (strncat_, ralloc_strncat (&string, "more", 2))
GROW (str_append, ralloc_str_append (&string, "more", 0, 4))
GROW (asprintf_append, ralloc_asprintf_append (&string, "%d", 12))
GROW (rewrite_tail, ralloc_asprintf_rewrite_tail (&string, &start, "%d", 12))

CALL (linear_free, (ralloc_linear_free_context (p), 0))
CALL (linear_free_old, (ralloc_linear_free_parent (p), 0))
CALL (linear_steal, (ralloc_steal_linear_context (root, p), 0))
CALL (linear_steal_old, (ralloc_steal_linear_parent (root, p), 0))
CALL (linear_steal_to, (ralloc_steal_linear_context (p, linear), 0))
CALL (linear_parent_of, ralloc_parent_of_linear_context (p))
CALL (linear_parent_of_old, ralloc_parent_of_linear_parent (p))
CALL (linear_alloc, ralloc_linear_alloc_child (p, 24))
CALL (linear_alloc_slow, ralloc_linear_alloc_child (p, SLOW_SIZE))
CALL (linear_zalloc, ralloc_linear_zalloc_child (p, 24))
CALL (linear_array, ralloc_linear_alloc_child_array (p, 8, 3))
CALL (linear_zarray, ralloc_linear_zalloc_child_array (p, 8, 3))
CALL (linear_re, ralloc_linear_realloc (p, NULL, 24))
CALL (linear_strdup, ralloc_linear_strdup (p, "abc"))
CALL (linear_memdup, ralloc_linear_memdup (p, "abc", 4))
CALL (linear_asprintf, ralloc_linear_asprintf (p, "%d", 12))
CALL (linear_vasprintf, linear_format (p, "%d", 12))

/* The same for a string in a linear context. */
#define LINEAR_GROW(id, expression)                                           \
  static void id (void *p)                                                    \
  {                                                                           \
    char *string = text;                                                      \
    size_t start = 4;                                                         \
    (void) start;                                                             \
    (void) (expression);                                                      \
  }
LINEAR_GROW (linear_re_old, ralloc_linear_realloc (p, string, 200))
LINEAR_GROW (linear_strcat, ralloc_linear_strcat (p, &string, "more"))
LINEAR_GROW (linear_append,
             ralloc_linear_asprintf_append (p, &string, "%d", 12))
LINEAR_GROW (linear_tail, ralloc_linear_asprintf_rewrite_tail (
                              p, &string, &start, "%d", 12))

CALL (gc_alloc, ralloc_gc_alloc_size (p, 24, 8))
CALL (gc_alloc_slow, ralloc_gc_alloc_size (p, SLOW_SIZE, 8))
CALL (gc_zalloc, ralloc_gc_zalloc_size (p, 24, 8))
CALL (gc_mark_in, (ralloc_gc_mark_live (p, gc_object), 0))
CALL (gc_start, (ralloc_gc_sweep_start (p), 0))
CALL (gc_end, (ralloc_gc_sweep_end (p), 0))
CALL (gc_free, (ralloc_gc_free (p), 0))
CALL (gc_get_context, ralloc_gc_get_context (p))
CALL (gc_mark, (ralloc_gc_mark_live (gc, p), 0))

/* --- objects of arenas, and contexts of another kind --------------------- */

typedef struct
{
  void *first;
  void **last;
} List;

static void
free_linked_in_linear (void *p)
{
  List *list = ralloc_linear_zalloc_child (linear, 48);

  (void) p;
  list += 2; /* the last words before the next object */
  list->first = ralloc_linear_alloc_child (linear, 16);
  list->last = &list->first;
  ralloc_free (list->first);
}

static void
free_in_pool (void *p)
{
  SlicePoolOptions options = { .object_bytes = 24 };

  (void) p;
  ralloc_free (slice_pool_alloc (slice_pool_new_in (root, &options)));
}

/* In the second buffer. */
static void
free_in_buffer (void *p)
{
  char *object = p, *before;

  do
    {
      before = object;
      object = ralloc_linear_alloc_child (linear, 24);
    }
  while (before == NULL || object == before + 24);
  ralloc_free (object);
}

CALL (free_in_linear,
      (ralloc_free (ralloc_linear_alloc_child (linear, 24)), p))
CALL (free_zero_in_linear,
      (ralloc_free (ralloc_linear_alloc_child (linear, 0)), p))
CALL (free_string_in_linear, (ralloc_free (ralloc_linear_strdup (linear, "a")),
                              p))
CALL (steal_in_linear,
      (ralloc_steal (NULL, ralloc_linear_alloc_child (linear, 24)), p))
CALL (alloc_below_in_linear,
      (ralloc_array_size (ralloc_linear_alloc_child (linear, 24), 1,
                          SLOW_SIZE),
       p))
CALL (free_second_in_linear,
      (ralloc_linear_alloc_child (linear, 16),
       ralloc_free (ralloc_linear_alloc_child (linear, 16)), p))
CALL (free_large_in_linear,
      (ralloc_free (ralloc_linear_alloc_child (linear, LARGE)), p))
CALL (free_in_gc, (ralloc_free (gc_object), p))
CALL (free_in_new_linear, (ralloc_free (slice_linear_alloc (arena, 16)), p))
CALL (free_in_stack,
      (ralloc_free (slice_stack_alloc (slice_stack_new_in (root, NULL), 16)),
       p))
CALL (free_in_tlsf,
      (ralloc_free (slice_tlsf_alloc (slice_tlsf_new_in (root, NULL), 16)),
       p))
CALL (linear_of_node, (ralloc_linear_alloc_child (node, 8), p))
CALL (linear_of_gc, (ralloc_linear_alloc_child (gc, 8), p))
CALL (linear_free_node, (ralloc_linear_free_context ((void *) node), p))
CALL (linear_free_node_old, (ralloc_linear_free_parent (node), p))
CALL (linear_steal_node,
      (ralloc_steal_linear_context (root, (void *) node), p))
CALL (linear_steal_node_old, (ralloc_steal_linear_parent (root, node), p))
CALL (linear_parent_of_node, (ralloc_parent_of_linear_context (node), p))
CALL (linear_parent_of_node_old, (ralloc_parent_of_linear_parent (node), p))
CALL (gc_of_node, (ralloc_gc_alloc_size (node, 8, 8), p))
CALL (gc_of_linear, (ralloc_gc_alloc_size (linear, 8, 8), p))
CALL (gc_start_node, (ralloc_gc_sweep_start (node), p))
CALL (gc_end_node, (ralloc_gc_sweep_end (node), p))
CALL (gc_free_node, (ralloc_gc_free (node), p))
CALL (gc_free_root, (ralloc_gc_free (root), p))
CALL (gc_free_itself, (ralloc_gc_free (gc), p))
CALL (gc_get_context_of_node, (ralloc_gc_get_context (node), p))

#define CONTEXT(id) { #id, id, 0, .is_quick = true }
#define NODE(id, null) { #id, id, null, .is_quick = false }
#define QUICK(id, null) { #id, id, null, .is_quick = true }
#define BLIND(id) { #id, id, 0, .is_blind = true }
#define BELOW(id) { #id, id, 0, .is_below = true, .needs_node = true }
#define PAIR(id, null) { #id, id, null, .needs_node = true }
#define ARENA(id) { #id, id, 0, .is_quick = true, .needs_slices = true }
#define CASE(id, number) { #id, id, number, .is_case = true }

static const Function functions[]
    = { CONTEXT (context), CONTEXT (size), NODE (size_slow, 0),
        CONTEXT (zsize), CONTEXT (zsize_long), NODE (zsize_slow, 0),
        CONTEXT (array), CONTEXT (zarray), CONTEXT (memdup),
        CONTEXT (strdup_), CONTEXT (strndup_), CONTEXT (asprintf_),
        CONTEXT (vasprintf_), CONTEXT (re_new), CONTEXT (rez_new),
        CONTEXT (re_array_new), CONTEXT (rez_array_new), CONTEXT (named),
        NODE (linear_context, 0), NODE (linear_opts, 0),
        NODE (linear_parent, 0), NODE (linear_zparent, 0),
        CONTEXT (gc_context), CONTEXT (new_linear), CONTEXT (new_stack),
        CONTEXT (new_pool), CONTEXT (new_tlsf), ARENA (export),
        NODE (re, 0), NODE (rez, 0), NODE (re_array, 0), NODE (rez_array, 0),
        NODE (free_, 0), NODE (try_free, 0), NODE (free_children, 0),
        NODE (steal, 0), NODE (steal_root, 0), BELOW (steal_to),
        NODE (try_steal, 0), PAIR (try_steal_to, 0), NODE (adopt, 0),
        NODE (adopt_roots, 0), PAIR (adopt_to, 0), QUICK (parent, 0),
        NODE (set_destructor, 210), NODE (clear_destructor, 0),
        NODE (try_set_destructor, 210), NODE (set_refusing, 210),
        NODE (total_size, 0), NODE (total_nodes, 0), NODE (usable_size, 0),
        PAIR (is_ancestor, 0), PAIR (is_ancestor_of, 0),
        NODE (print_info, 0), NODE (print_summary, 0), NODE (report, 0),
        NODE (report_json, 0), NODE (set_name, 210),
        NODE (set_name_const, 210), NODE (get_name, 0),
        NODE (find_parent, 0), NODE (check_name, 0),
        NODE (check_name_abort, 208), PAIR (reference, 210),
        PAIR (reference_of, 210), NODE (unlink_, 0), PAIR (unlink_of, 0),
        NODE (reference_count, 0), NODE (set_limit, 210),
        NODE (lift_limit, 210), NODE (limit_used, 0),
        BLIND (mark_place), NODE (strcat_, 210), NODE (strncat_, 210),
        NODE (str_append, 210), NODE (asprintf_append, 0),
        NODE (rewrite_tail, 0),
        NODE (linear_free, 0), NODE (linear_free_old, 0),
        NODE (linear_steal, 0), NODE (linear_steal_old, 0),
        BELOW (linear_steal_to), NODE (linear_parent_of, 0),
        NODE (linear_parent_of_old, 0), QUICK (linear_alloc, 210),
        QUICK (linear_alloc_slow, 210), QUICK (linear_zalloc, 210),
        QUICK (linear_array, 210), QUICK (linear_zarray, 210),
        QUICK (linear_re, 210), QUICK (linear_strdup, 210),
        QUICK (linear_memdup, 210), QUICK (linear_asprintf, 210),
        QUICK (linear_vasprintf, 210), QUICK (linear_re_old, 210),
        QUICK (linear_strcat, 210), QUICK (linear_append, 210),
        QUICK (linear_tail, 210),
        QUICK (gc_alloc, 210), QUICK (gc_alloc_slow, 210),
        QUICK (gc_zalloc, 210), QUICK (gc_mark_in, 210),
        NODE (gc_start, 210), NODE (gc_end, 210), NODE (gc_free, 0),
        NODE (gc_get_context, 210), PAIR (gc_mark, 0),
        CASE (free_in_linear, 202), CASE (free_zero_in_linear, 202),
        CASE (free_string_in_linear, 202), CASE (steal_in_linear, 202),
        CASE (alloc_below_in_linear, 202), CASE (free_second_in_linear, 202),
        CASE (free_large_in_linear, 200), CASE (free_in_buffer, 202),
        CASE (free_linked_in_linear, 202), CASE (free_in_gc, 200),
        CASE (free_in_new_linear, 202), CASE (free_in_stack, 200),
        CASE (free_in_pool, 202), CASE (free_in_tlsf, 200),
        CASE (linear_of_node, 206), CASE (linear_of_gc, 206),
        CASE (linear_free_node, 206), CASE (linear_free_node_old, 206),
        CASE (linear_steal_node, 206), CASE (linear_steal_node_old, 206),
        CASE (linear_parent_of_node, 206),
        CASE (linear_parent_of_node_old, 206), CASE (gc_of_node, 207),
        CASE (gc_of_linear, 207), CASE (gc_start_node, 207),
        CASE (gc_end_node, 207), CASE (gc_free_node, 207),
        CASE (gc_free_root, 207), CASE (gc_free_itself, 207),
        CASE (gc_get_context_of_node, 207) };

enum
{
  N_FUNCTIONS = G_N_ELEMENTS (functions)
};

/* --- trying -------------------------------------------------------------- */

static int (*results)[N_KINDS]; /* of each function, shared with children */
static bool is_strict;          /* a mode that looks at every context */
static bool is_malloc;          /* every node is a malloc, and remembered */
static bool is_debug;           /* nodes in mallocs are remembered */
static sigjmp_buf aborted;
static int said[2];             /* a pipe: what is written to stderr */

static void
on_death (int number)
{
  siglongjmp (aborted, number);
}

/* The number of the message, or minus the signal. */
static int
number_of_death (int number)
{
  char message[MESSAGE_BYTES] = "";
  const char *at;
  ssize_t n;

  if (number != SIGABRT)
    return -number;
  n = read (said[0], message, sizeof message - 1);
  message[MAX (n, 0)] = '\0';
  at = strstr (message, "error ");
  return at != NULL ? atoi (at + strlen ("error ")) : -number;
}

static int
result_of (const Function *function, void *p)
{
  int number = sigsetjmp (aborted, 1);

  if (number != 0)
    return number_of_death (number);
  function->call (p);
  return UNSEEN;
}

/* Is it known what the function does with such a pointer? */
static bool
is_tried (const Function *function, Kind kind)
{
  if (function->is_case)
    return kind == NOTHING && !is_malloc; /* objects are nodes there */
  if (is_malloc && kind == FREED_INNER)
    return false; /* malloc has given its memory to the slice */
  if (!is_strict
      && (function->is_blind
          || (function->is_below && kind == INTERIOR_LINKED)))
    return false;
  if (kind == NOTHING)
    return function->null != 0 && (!function->is_quick || is_strict);
  return is_strict || !function->is_quick || kinds[kind].is_freed;
}

static int
number_expected (const Function *function, Kind kind)
{
  /* The stack is a large node. */
  if (is_debug && strcmp (function->name, "free_in_stack") == 0)
    return 202;
  if (kind == NOTHING)
    return function->null;
  if ((is_malloc || is_debug) && kinds[kind].is_forgotten)
    return 201;
  return kinds[kind].number;
}

static bool
is_expected (const Function *function, Kind kind, int number)
{
  int expected = number_expected (function, kind);

  /* With 32 bits it depends on the mode's headers what lies in front of an
   * object, and whether that looks like the header of a linear context. */
  if (sizeof (void *) == 4 && function->is_case && expected <= 202)
    return number == 200 || number == 202;
  return number == expected;
}

/* In a process of its own: every kind from *kind on, until one goes wrong. */
static void
try_kinds (unsigned i, Kind from)
{
  const int deaths[] = { SIGABRT, SIGSEGV, SIGBUS };

  for (unsigned k = 0; k < G_N_ELEMENTS (deaths); k++)
    signal (deaths[k], on_death);
  dup2 (said[1], 2);
  for (unsigned kind = from; kind < N_KINDS; kind++)
    {
      if (!is_tried (&functions[i], kind))
        continue;
      results[i][kind] = UNSEEN;
      results[i][kind] = result_of (&functions[i], bad[kind]);
      if (results[i][kind] != number_expected (&functions[i], kind))
        break;
    }
  /* Not by exit: a tool would look for leaks, each time. */
  kill (getpid (), SIGKILL);
}

/* Reports what was wrong with a function, and goes on behind it. */
static unsigned
try_function (unsigned i)
{
  unsigned n_wrong = 0;
  unsigned from = 0;

  while (from < N_KINDS)
    {
      pid_t child = fork ();
      int status;
      unsigned kind;

      g_assert_cmpint (child, >=, 0);
      if (child == 0)
        try_kinds (i, from);
      g_assert_cmpint (waitpid (child, &status, 0), ==, child);
      for (kind = from; kind < N_KINDS; kind++)
        if (is_tried (&functions[i], kind)
            && !is_expected (&functions[i], kind, results[i][kind]))
          break;
      if (kind < N_KINDS)
        {
          g_printerr ("# %s (%s): %d, not %d\n", functions[i].name,
                      kinds[kind].name, results[i][kind],
                      number_expected (&functions[i], kind));
          n_wrong++;
        }
      from = kind + 1;
    }
  return n_wrong;
}

static void
in_mode (const char *options, bool strict)
{
  _Alignas (16) char stack[BYTES] = "";
  size_t bytes = N_FUNCTIONS * sizeof results[0];
  unsigned n_wrong = 0;
  /* A tool makes a difference to the mode that tells it, and to no other. */
  unsigned step
      = test_is_slow () && strstr (options, "pool") == NULL ? SLOW_STEP : 1;

  test_options (options);
  is_strict = strict;
  make_nodes ();
  make_pointers (stack);
  results = mmap (NULL, bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  g_assert_true (results != MAP_FAILED);
  g_assert_cmpint (pipe (said), ==, 0);
  /* Words that nobody reads must not stop who says them, either. */
  for (unsigned i = 0; i < G_N_ELEMENTS (said); i++)
    g_assert_cmpint (fcntl (said[i], F_SETFL, O_NONBLOCK), ==, 0);
  for (unsigned i = 0; i < N_FUNCTIONS; i += step)
    n_wrong += try_function (i);
  g_assert_cmpuint (n_wrong, ==, 0);
}

static void
default_mode (void)
{
  in_mode ("", false);
}

static void
checked (void)
{
  in_mode ("checked", true);
}

static void
hardened (void)
{
  in_mode ("hardened", true);
}

static void
debug (void)
{
  is_debug = true;
  in_mode ("debug", true);
}

static void
checked_mallocs (void)
{
#ifdef __SANITIZE_ADDRESS__
  g_test_skip ("the sanitizer reports it first");
  return;
#endif
  is_malloc = true;
  in_mode ("checked:always-malloc", true);
}

/* Under a memory checker, of which there are two ways to see it.  A real one
 * reports what is freed itself (check-tools.sh). */
static void
annotated_tool (void)
{
#ifdef __SANITIZE_ADDRESS__
  g_test_skip ("the sanitizer reports it first");
  return;
#endif
  in_mode ("force-pool=2", false);
}

/* --- a first call -------------------------------------------------------- */

/* Pointers that there are before anything was allocated. */
static const Kind early_kinds[] = { STATIC, HIGH };

static void
make_early_pointers (void)
{
  static _Alignas (16) char data[BYTES];
  static char words[] = "text";

  text = words;
  bad[STATIC] = data + MIDDLE;
  bad[HIGH] = (void *) (UINTPTR_MAX / 4 * 3 & ~(uintptr_t) 15);
  sink = fopen ("/dev/null", "w");
  g_assert_nonnull (sink);
}

/* Can the call be made while there is no node but the one that is none? */
static bool
is_tried_early (const Function *function, bool has_slices)
{
  return !function->is_case && !function->needs_node
         && (has_slices || !function->needs_slices);
}

/* In a process of its own, which has made no call of the library before, or
 * none of contexts. */
static void
try_early (const Function *function, Kind kind, bool has_slices, int *result)
{
  signal (SIGABRT, on_death);
  signal (SIGSEGV, on_death);
  dup2 (said[1], 2);
  if (has_slices)
    {
      arena = slice_linear_new (NULL);
      slice_free1 (24, slice_alloc (24));
    }
  *result = result_of (function, bad[kind]);
  kill (getpid (), SIGKILL);
}

static unsigned
try_each_early (const char *options, bool has_slices, int *result)
{
  unsigned n_wrong = 0;

  for (unsigned i = 0; i < N_FUNCTIONS * G_N_ELEMENTS (early_kinds); i++)
    {
      const Function *function = &functions[i / G_N_ELEMENTS (early_kinds)];
      Kind kind = early_kinds[i % G_N_ELEMENTS (early_kinds)];
      pid_t child;

      if (!is_tried_early (function, has_slices))
        continue;
      *result = UNSEEN;
      child = fork ();
      g_assert_cmpint (child, >=, 0);
      if (child == 0)
        try_early (function, kind, has_slices, result);
      g_assert_cmpint (waitpid (child, NULL, 0), ==, child);
      if (*result == kinds[kind].number)
        continue;
      g_printerr ("# %s (%s), first call%s, %s: %d, not %d\n",
                  function->name, kinds[kind].name,
                  has_slices ? " of contexts" : "", options, *result,
                  kinds[kind].number);
      n_wrong++;
    }
  return n_wrong;
}

/* Every function as the first one that the process calls: there, too, a
 * checking mode looks at every context. */
static void
first_call (void)
{
  static const char *const options[]
      = { "checked", "hardened", "debug", "checked:always-malloc" };
  int *result = mmap (NULL, sizeof *result, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  unsigned n_wrong = 0;

#ifdef __SANITIZE_ADDRESS__
  g_test_skip ("the sanitizer reports it first");
  return;
#endif
  g_assert_true (result != MAP_FAILED);
  g_assert_cmpint (pipe (said), ==, 0);
  for (unsigned i = 0; i < G_N_ELEMENTS (said); i++)
    g_assert_cmpint (fcntl (said[i], F_SETFL, O_NONBLOCK), ==, 0);
  make_early_pointers ();
  for (unsigned i = 0; i < G_N_ELEMENTS (options); i++)
    {
      test_options (options[i]);
      n_wrong += try_each_early (options[i], false, result);
      n_wrong += try_each_early (options[i], true, result);
    }
  g_assert_cmpuint (n_wrong, ==, 0);
}

/* --- damaged links ------------------------------------------------------- */

#ifdef SLICE_DEBUG_FULL
# define HAS_VALIDATORS true
#else
# define HAS_VALIDATORS false
#endif

enum
{
  FOUND_DAMAGE = 3 /* a status */
};

static void
leave_if_damaged (int number, const char *line G_GNUC_UNUSED,
                  void *data G_GNUC_UNUSED)
{
  _exit (number == 203 ? FOUND_DAMAGE : 1);
}

/* Two siblings, one of which has descendants. */
typedef struct
{
  void *root, *older, *younger;
} Siblings;

/* What a program does with a damaged tree.  Each function follows a link. */
static void
use_freed (const Siblings *siblings)
{
  ralloc_free (siblings->root);
}

static void
use_freed_alone (const Siblings *siblings)
{
  ralloc_free (siblings->older);
  ralloc_free (siblings->root);
}

static void
use_stolen (const Siblings *siblings)
{
  void *other = ralloc_context (NULL);

  ralloc_steal (other, siblings->older);
  ralloc_steal (other, siblings->younger);
}

static void
use_tried (const Siblings *siblings)
{
  ralloc_try_steal (NULL, siblings->older);
  ralloc_try_steal (NULL, siblings->younger);
}

static void
use_adopted (const Siblings *siblings)
{
  void *other = ralloc_context (NULL);

  ralloc_adopt (other, siblings->older);
  ralloc_adopt (other, siblings->younger);
  ralloc_adopt (other, siblings->root);
}

static void
use_resized (const Siblings *siblings)
{
  reralloc_size (siblings->root, siblings->older, 1000);
  reralloc_size (siblings->root, siblings->younger, 1000);
}

static void
use_counted (const Siblings *siblings)
{
  ralloc_total_nodes (siblings->root);
}

static void
use_measured (const Siblings *siblings)
{
  ralloc_total_size (siblings->root);
}

static void
use_limited (const Siblings *siblings)
{
  ralloc_set_limit (siblings->root, 100000);
}

static void
use_reported (const Siblings *siblings)
{
  FILE *nowhere = fopen ("/dev/null", "w");

  ralloc_report (nowhere, siblings->root);
}

static void
use_parents (const Siblings *siblings)
{
  ralloc_size (siblings->older, 10);
  ralloc_size (siblings->younger, 10);
}

static void
use_ancestors (const Siblings *siblings)
{
  ralloc_is_ancestor (siblings->root, siblings->older);
  ralloc_is_ancestor (siblings->root, siblings->younger);
}

static void (*const uses[]) (const Siblings *)
    = { use_freed,   use_freed_alone, use_stolen,   use_tried,
        use_adopted, use_resized,     use_counted,  use_measured,
        use_limited, use_reported,    use_parents,  use_ancestors };

/* Writes to a word of the header of the older or the younger of two siblings,
 * and lets a program use the tree. */
static void
use_damaged (unsigned use, unsigned word, uintptr_t value, bool is_younger)
{
  Siblings siblings = { .root = ralloc_context (NULL) };
  uintptr_t *volatile words;

  siblings.older = ralloc_size (siblings.root, 30);
  siblings.younger = ralloc_size (siblings.root, 30);
  words = is_younger ? siblings.younger : siblings.older;
  ralloc_context (ralloc_context (ralloc_context (siblings.older)));
  slice_set_abort_handler (leave_if_damaged, NULL);
  words[-(ptrdiff_t) word] = value;
  uses[use](&siblings);
}

/* Returns the status of a child in which a damaged tree is used. */
static int
status_of_use (unsigned use, unsigned word, uintptr_t value, bool is_younger)
{
  int status;
  pid_t child = fork ();

  if (child == 0)
    {
      use_damaged (use, word, value, is_younger);
      _exit (0);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  return status;
}

/* Links that lead to no memory: next, child and parent are two to four words
 * before the payload. */
static void
damaged_links (const char *options)
{
  static const uintptr_t values[]
      = { (uintptr_t) 0x4141414141414140, (uintptr_t) 0x4141414141414150,
          (uintptr_t) 0x4141414141414148, 4096 };

  test_options (options);
  for (unsigned use = 0; use < G_N_ELEMENTS (uses); use++)
    for (unsigned i = 0; i < 6 * G_N_ELEMENTS (values); i++)
      {
        int status = status_of_use (use, 2 + i % 3, values[i / 6],
                                    i / 3 % 2 != 0);

        if (!WIFEXITED (status) || WEXITSTATUS (status) != FOUND_DAMAGE)
          g_error ("%s: use %u, word %u, value %zx: status %x", options, use,
                   2 + i % 3, (size_t) values[i / 6], (unsigned) status);
      }
}

static void
links_checked (void)
{
  damaged_links ("checked");
}

static void
links_hardened (void)
{
  damaged_links ("hardened");
}

static void
links_debug (void)
{
  damaged_links ("debug");
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/ralloc-bad-nodes/default", default_mode);
  test_add_fresh ("/slice/ralloc-bad-nodes/checked", checked);
  test_add_fresh ("/slice/ralloc-bad-nodes/hardened", hardened);
  test_add_fresh ("/slice/ralloc-bad-nodes/debug", debug);
  test_add_fresh ("/slice/ralloc-bad-nodes/checked-mallocs", checked_mallocs);
  test_add_fresh ("/slice/ralloc-bad-nodes/annotated-tool", annotated_tool);
  /* Tools have the header behind the payload, and the validators of
   * --enable-debug=full follow every link. */
  if (!test_is_slow () && !HAS_VALIDATORS)
    {
      test_add_fresh ("/slice/ralloc-bad-nodes/first-call", first_call);
      test_add_fresh ("/slice/ralloc-bad-nodes/links-checked", links_checked);
      test_add_fresh ("/slice/ralloc-bad-nodes/links-hardened",
                      links_hardened);
      test_add_fresh ("/slice/ralloc-bad-nodes/links-debug", links_debug);
    }
  return g_test_run ();
}
