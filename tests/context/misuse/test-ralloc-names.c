/* test-ralloc-names.c - a message names the function that the program called
 *
 * Each function that takes a node is called with a wrong one, in each mode, as
 * the first call of a process and as a later one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/ralloc-testlib.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slice/arena.h>
#include <slice/options.h>

/* What NULL means to a function. */
typedef enum
{
  NULL_IS_VALID,
  NULL_IS_MISUSE,         /* 210 */
  NULL_IS_MISUSE_AT_FIRST /* and later in a mode; without one it is a crash */
} NullMeans;

typedef struct
{
  const char *name;
  NullMeans null_means;
  void (*call) (void *wrong);
} Call;

static void *sink;

/* For functions that take two nodes; NULL in the first call of a process. */
static void *good;
static RallocGc *good_gc;

static void *
other (void)
{
  return good != NULL ? good : ralloc_context (NULL);
}

#define CALL(id, expression)                                                  \
 static void call_##id (void *wrong)                                          \
 {                                                                            \
  {                                                                           \
   expression;                                                                \
  }                                                                           \
  (void) wrong;                                                               \
 }

static void G_GNUC_PRINTF (2, 3)
with_list (void *wrong, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  sink = ralloc_vasprintf (wrong, format, args);
  va_end (args);
}

static void G_GNUC_PRINTF (2, 3)
append_with_list (void *wrong, const char *format, ...)
{
  va_list args;
  char *text = wrong;

  va_start (args, format);
  ralloc_vasprintf_append (&text, format, args);
  va_end (args);
}

static void G_GNUC_PRINTF (2, 3)
rewrite_with_list (void *wrong, const char *format, ...)
{
  va_list args;
  char *text = wrong;
  size_t start = 0;

  va_start (args, format);
  ralloc_vasprintf_rewrite_tail (&text, &start, format, args);
  va_end (args);
}

static void G_GNUC_PRINTF (2, 3)
linear_with_list (void *wrong, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  sink = ralloc_linear_vasprintf (wrong, format, args);
  va_end (args);
}

static void G_GNUC_PRINTF (2, 3)
linear_append_with_list (void *wrong, const char *format, ...)
{
  va_list args;
  char *text = NULL;

  va_start (args, format);
  ralloc_linear_vasprintf_append (wrong, &text, format, args);
  va_end (args);
}

static void G_GNUC_PRINTF (2, 3)
linear_rewrite_with_list (void *wrong, const char *format, ...)
{
  va_list args;
  char *text = NULL;
  size_t start = 0;

  va_start (args, format);
  ralloc_linear_vasprintf_rewrite_tail (wrong, &text, &start, format, args);
  va_end (args);
}

static void
destroy (void *node)
{
  (void) node;
}

static bool
refuse (void *node)
{
  (void) node;
  return true;
}

static SliceTlsf *
tlsf_in (const void *context)
{
  SliceArenaOptions options = { .first_bytes = 4096 };

  return slice_tlsf_new_in (context, &options);
}

static SlicePool *
pool_in (const void *context)
{
  SlicePoolOptions options = { .object_bytes = 24 };

  return slice_pool_new_in (context, &options);
}

static void
export_to (const void *context)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *object = slice_linear_strdup (linear, "text");

  sink = slice_linear_export (linear, object, 5, context);
}

static char *text;
static size_t start;
static size_t size = 40; /* not known to the compiler */
static RallocLinearOpts opts;

/* parents of new nodes */
CALL (context, sink = ralloc_context (wrong))
CALL (size, sink = ralloc_size (wrong, size))
CALL (size_known, sink = ralloc_size (wrong, 40))
CALL (size_zero, sink = ralloc_size (wrong, 0))
CALL (size_large, sink = ralloc_size (wrong, 100000))
CALL (zsize, sink = rzalloc_size (wrong, size))
CALL (zsize_known, sink = rzalloc_size (wrong, 40))
CALL (zsize_zero, sink = rzalloc_size (wrong, 0))
CALL (resize, sink = reralloc_size (wrong, NULL, size))
CALL (zresize, sink = rerzalloc_size (wrong, NULL, 0, size))
CALL (array, sink = ralloc_array_size (wrong, 8, 5))
CALL (zarray, sink = rzalloc_array_size (wrong, 8, 5))
CALL (rearray, sink = reralloc_array_size (wrong, NULL, 8, 5))
CALL (rezarray, sink = rerzalloc_array_size (wrong, NULL, 8, 0, 5))
CALL (memdup, sink = ralloc_memdup (wrong, "text", 5))
CALL (strdup, sink = ralloc_strdup (wrong, "text"))
CALL (strndup, sink = ralloc_strndup (wrong, "text", 2))
CALL (asprintf, sink = ralloc_asprintf (wrong, "%d", 1))
CALL (vasprintf, with_list (wrong, "%d", 1))
CALL (named, sink = ralloc_named_const (wrong, 8, "name"))
CALL (gc_context, sink = ralloc_gc_context (wrong))
CALL (linear_context, sink = ralloc_linear_context (wrong))
CALL (linear_context_opts,
      sink = ralloc_linear_context_with_opts (wrong, &opts))
CALL (linear_parent, sink = ralloc_linear_alloc_parent (wrong, 8))
CALL (linear_zparent, sink = ralloc_linear_zalloc_parent (wrong, 8))
CALL (linear_in, sink = slice_linear_new_in (wrong, NULL))
CALL (stack_in, sink = slice_stack_new_in (wrong, NULL))
CALL (pool_in, sink = pool_in (wrong))
CALL (tlsf_in, sink = tlsf_in (wrong))
CALL (export_to, export_to (wrong))

/* nodes */
CALL (resize_it, sink = reralloc_size (good, wrong, 5000))
CALL (zresize_it, sink = rerzalloc_size (good, wrong, 1, 5000))
CALL (rearray_it, sink = reralloc_array_size (good, wrong, 8, 500))
CALL (rezarray_it, sink = rerzalloc_array_size (good, wrong, 8, 1, 500))
CALL (free_it, ralloc_free (wrong))
CALL (try_free, ralloc_try_free (wrong))
CALL (free_children, ralloc_free_children (wrong))
CALL (steal_it, ralloc_steal (NULL, wrong))
CALL (steal_to, ralloc_steal (wrong, other ()))
CALL (try_steal_it, ralloc_try_steal (NULL, wrong))
CALL (try_steal_to, ralloc_try_steal (wrong, other ()))
CALL (adopt_from, ralloc_adopt (NULL, wrong))
CALL (adopt_to, void *node = other (); ralloc_context (node);
      ralloc_adopt (wrong, node))
CALL (parent, sink = ralloc_parent (wrong))
CALL (is_ancestor, ralloc_is_ancestor (wrong, other ()))
CALL (is_descendant, ralloc_is_ancestor (other (), wrong))
CALL (total_size, ralloc_total_size (wrong))
CALL (total_nodes, ralloc_total_nodes (wrong))
CALL (set_destructor, ralloc_set_destructor (wrong, destroy))
CALL (no_destructor, ralloc_set_destructor (wrong, NULL))
CALL (try_set_destructor, ralloc_try_set_destructor (wrong, destroy))
CALL (try_no_destructor, ralloc_try_set_destructor (wrong, NULL))
CALL (set_refusing, ralloc_set_refusing_destructor (wrong, refuse))
CALL (set_name, ralloc_set_name (wrong, "name"))
CALL (set_name_const, ralloc_set_name_const (wrong, "name"))
CALL (get_name, ralloc_get_name (wrong))
CALL (find_parent, sink = ralloc_find_parent_by_name (wrong, "name"))
CALL (check_name, sink = ralloc_check_name (wrong, "name"))
CALL (check_abort, sink = ralloc_check_name_abort (wrong, "name", "here"))
CALL (reference_to, sink = ralloc_reference (other (), wrong))
CALL (reference_of, sink = ralloc_reference (wrong, other ()))
CALL (unlink_it, ralloc_unlink (NULL, wrong))
CALL (unlink_of, ralloc_unlink (wrong, other ()))
CALL (reference_count, ralloc_reference_count (wrong))
CALL (set_limit, ralloc_set_limit (wrong, 10000))
CALL (limit_used, ralloc_limit_used (wrong))
CALL (report, ralloc_report (stderr, wrong))
CALL (report_json, ralloc_report_json (stderr, wrong))
CALL (print_info, ralloc_print_info (stderr, wrong, 0))

/* strings that grow */
CALL (strcat, text = wrong; ralloc_strcat (&text, "a"))
CALL (strncat, text = wrong; ralloc_strncat (&text, "a", 1))
CALL (str_append, text = wrong; ralloc_str_append (&text, "a", 0, 1))
CALL (append, text = wrong; ralloc_asprintf_append (&text, "%d", 1))
CALL (vappend, append_with_list (wrong, "%d", 1))
CALL (rewrite, text = wrong; start = 0;
      ralloc_asprintf_rewrite_tail (&text, &start, "%d", 1))
CALL (vrewrite, rewrite_with_list (wrong, "%d", 1))

/* linear contexts */
CALL (child, sink = ralloc_linear_alloc_child (wrong, 8))
CALL (child_large, sink = ralloc_linear_alloc_child (wrong, 100000))
CALL (zchild, sink = ralloc_linear_zalloc_child (wrong, 8))
CALL (children, sink = ralloc_linear_alloc_child_array (wrong, 8, 2))
CALL (zchildren, sink = ralloc_linear_zalloc_child_array (wrong, 8, 2))
CALL (linear_realloc, sink = ralloc_linear_realloc (wrong, NULL, 8))
CALL (linear_memdup, sink = ralloc_linear_memdup (wrong, "text", 5))
CALL (linear_strdup, sink = ralloc_linear_strdup (wrong, "text"))
CALL (linear_asprintf, sink = ralloc_linear_asprintf (wrong, "%d", 1))
CALL (linear_vasprintf, linear_with_list (wrong, "%d", 1))
CALL (linear_append, text = NULL;
      ralloc_linear_asprintf_append (wrong, &text, "%d", 1))
CALL (linear_vappend, linear_append_with_list (wrong, "%d", 1))
CALL (linear_rewrite, text = NULL;
      ralloc_linear_asprintf_rewrite_tail (wrong, &text, &start, "%d", 1))
CALL (linear_vrewrite, linear_rewrite_with_list (wrong, "%d", 1))
CALL (linear_strcat, char old[] = "old"; text = old;
      ralloc_linear_strcat (wrong, &text, "a"))
CALL (linear_free, ralloc_linear_free_context (wrong))
CALL (linear_free_parent, ralloc_linear_free_parent (wrong))
CALL (linear_steal, ralloc_steal_linear_context (NULL, wrong))
CALL (linear_steal_to,
      ralloc_steal_linear_context (wrong, ralloc_linear_context (NULL)))
CALL (linear_steal_parent, ralloc_steal_linear_parent (NULL, wrong))
CALL (linear_parent_of, sink = ralloc_parent_of_linear_context (wrong))
CALL (linear_parent_of_parent, sink = ralloc_parent_of_linear_parent (wrong))

/* gc contexts */
CALL (gc_alloc, sink = ralloc_gc_alloc_size (wrong, 8, 8))
CALL (gc_alloc_aligned, sink = ralloc_gc_alloc_size (wrong, 64, 64))
CALL (gc_zalloc, sink = ralloc_gc_zalloc_size (wrong, 8, 8))
CALL (gc_free, ralloc_gc_free (wrong))
CALL (gc_get_context, sink = ralloc_gc_get_context (wrong))
CALL (gc_start, ralloc_gc_sweep_start (wrong))
CALL (gc_end, ralloc_gc_sweep_end (wrong))
CALL (gc_mark,
      ralloc_gc_mark_live (good_gc != NULL ? good_gc
                                           : ralloc_gc_context (NULL),
                           wrong))
CALL (gc_mark_in, ralloc_gc_mark_live (wrong, NULL))

static const Call calls[] = {
  { "ralloc_context", NULL_IS_VALID, call_context },
  { "ralloc_size", NULL_IS_VALID, call_size },
  { "ralloc_size", NULL_IS_VALID, call_size_known },
  { "ralloc_size", NULL_IS_VALID, call_size_zero },
  { "ralloc_size", NULL_IS_VALID, call_size_large },
  { "rzalloc_size", NULL_IS_VALID, call_zsize },
  { "rzalloc_size", NULL_IS_VALID, call_zsize_known },
  { "rzalloc_size", NULL_IS_VALID, call_zsize_zero },
  { "reralloc_size", NULL_IS_VALID, call_resize },
  { "rerzalloc_size", NULL_IS_VALID, call_zresize },
  { "ralloc_array_size", NULL_IS_VALID, call_array },
  { "rzalloc_array_size", NULL_IS_VALID, call_zarray },
  { "reralloc_array_size", NULL_IS_VALID, call_rearray },
  { "rerzalloc_array_size", NULL_IS_VALID, call_rezarray },
  { "ralloc_memdup", NULL_IS_VALID, call_memdup },
  { "ralloc_strdup", NULL_IS_VALID, call_strdup },
  { "ralloc_strndup", NULL_IS_VALID, call_strndup },
  { "ralloc_asprintf", NULL_IS_VALID, call_asprintf },
  { "ralloc_vasprintf", NULL_IS_VALID, call_vasprintf },
  { "ralloc_named_const", NULL_IS_VALID, call_named },
  { "ralloc_gc_context", NULL_IS_VALID, call_gc_context },
  { "ralloc_linear_context", NULL_IS_VALID, call_linear_context },
  { "ralloc_linear_context_with_opts", NULL_IS_VALID,
    call_linear_context_opts },
  { "ralloc_linear_alloc_parent", NULL_IS_VALID, call_linear_parent },
  { "ralloc_linear_zalloc_parent", NULL_IS_VALID, call_linear_zparent },
  { "slice_linear_new_in", NULL_IS_VALID, call_linear_in },
  { "slice_stack_new_in", NULL_IS_VALID, call_stack_in },
  { "slice_pool_new_in", NULL_IS_VALID, call_pool_in },
  { "slice_tlsf_new_in", NULL_IS_VALID, call_tlsf_in },
  { "slice_linear_export", NULL_IS_VALID, call_export_to },
  { "reralloc_size", NULL_IS_VALID, call_resize_it },
  { "rerzalloc_size", NULL_IS_VALID, call_zresize_it },
  { "reralloc_array_size", NULL_IS_VALID, call_rearray_it },
  { "rerzalloc_array_size", NULL_IS_VALID, call_rezarray_it },
  { "ralloc_free", NULL_IS_VALID, call_free_it },
  { "ralloc_try_free", NULL_IS_VALID, call_try_free },
  { "ralloc_free_children", NULL_IS_VALID, call_free_children },
  { "ralloc_steal", NULL_IS_VALID, call_steal_it },
  { "ralloc_steal", NULL_IS_VALID, call_steal_to },
  { "ralloc_try_steal", NULL_IS_VALID, call_try_steal_it },
  { "ralloc_try_steal", NULL_IS_VALID, call_try_steal_to },
  { "ralloc_adopt", NULL_IS_VALID, call_adopt_from },
  { "ralloc_adopt", NULL_IS_VALID, call_adopt_to },
  { "ralloc_parent", NULL_IS_VALID, call_parent },
  { "ralloc_is_ancestor", NULL_IS_VALID, call_is_ancestor },
  { "ralloc_is_ancestor", NULL_IS_VALID, call_is_descendant },
  { "ralloc_total_size", NULL_IS_VALID, call_total_size },
  { "ralloc_total_nodes", NULL_IS_VALID, call_total_nodes },
  { "ralloc_set_destructor", NULL_IS_MISUSE, call_set_destructor },
  { "ralloc_set_destructor", NULL_IS_MISUSE, call_no_destructor },
  { "ralloc_try_set_destructor", NULL_IS_MISUSE, call_try_set_destructor },
  { "ralloc_try_set_destructor", NULL_IS_MISUSE, call_try_no_destructor },
  { "ralloc_set_refusing_destructor", NULL_IS_MISUSE, call_set_refusing },
  { "ralloc_set_name", NULL_IS_MISUSE, call_set_name },
  { "ralloc_set_name_const", NULL_IS_MISUSE, call_set_name_const },
  { "ralloc_get_name", NULL_IS_VALID, call_get_name },
  { "ralloc_find_parent_by_name", NULL_IS_VALID, call_find_parent },
  { "ralloc_check_name", NULL_IS_VALID, call_check_name },
  { "ralloc_check_name_abort", NULL_IS_VALID, call_check_abort },
  { "ralloc_reference", NULL_IS_MISUSE, call_reference_to },
  { "ralloc_reference", NULL_IS_MISUSE, call_reference_of },
  { "ralloc_unlink", NULL_IS_VALID, call_unlink_it },
  { "ralloc_unlink", NULL_IS_VALID, call_unlink_of },
  { "ralloc_reference_count", NULL_IS_VALID, call_reference_count },
  { "ralloc_set_limit", NULL_IS_MISUSE, call_set_limit },
  { "ralloc_limit_used", NULL_IS_VALID, call_limit_used },
  { "ralloc_report", NULL_IS_VALID, call_report },
  { "ralloc_report_json", NULL_IS_VALID, call_report_json },
  { "ralloc_print_info", NULL_IS_VALID, call_print_info },
  { "ralloc_strcat", NULL_IS_MISUSE, call_strcat },
  { "ralloc_strncat", NULL_IS_MISUSE, call_strncat },
  { "ralloc_str_append", NULL_IS_MISUSE, call_str_append },
  { "ralloc_asprintf_append", NULL_IS_VALID, call_append },
  { "ralloc_vasprintf_append", NULL_IS_VALID, call_vappend },
  { "ralloc_asprintf_rewrite_tail", NULL_IS_VALID, call_rewrite },
  { "ralloc_vasprintf_rewrite_tail", NULL_IS_VALID, call_vrewrite },
  { "ralloc_linear_alloc_child", NULL_IS_MISUSE_AT_FIRST, call_child },
  { "ralloc_linear_alloc_child", NULL_IS_MISUSE_AT_FIRST, call_child_large },
  { "ralloc_linear_zalloc_child", NULL_IS_MISUSE_AT_FIRST, call_zchild },
  { "ralloc_linear_alloc_child_array", NULL_IS_MISUSE_AT_FIRST,
    call_children },
  { "ralloc_linear_zalloc_child_array", NULL_IS_MISUSE_AT_FIRST,
    call_zchildren },
  { "ralloc_linear_realloc", NULL_IS_MISUSE_AT_FIRST, call_linear_realloc },
  { "ralloc_linear_memdup", NULL_IS_MISUSE_AT_FIRST, call_linear_memdup },
  { "ralloc_linear_strdup", NULL_IS_MISUSE_AT_FIRST, call_linear_strdup },
  { "ralloc_linear_asprintf", NULL_IS_MISUSE_AT_FIRST, call_linear_asprintf },
  { "ralloc_linear_vasprintf", NULL_IS_MISUSE_AT_FIRST,
    call_linear_vasprintf },
  { "ralloc_linear_asprintf_append", NULL_IS_MISUSE_AT_FIRST,
    call_linear_append },
  { "ralloc_linear_vasprintf_append", NULL_IS_MISUSE_AT_FIRST,
    call_linear_vappend },
  { "ralloc_linear_asprintf_rewrite_tail", NULL_IS_MISUSE_AT_FIRST,
    call_linear_rewrite },
  { "ralloc_linear_vasprintf_rewrite_tail", NULL_IS_MISUSE_AT_FIRST,
    call_linear_vrewrite },
  { "ralloc_linear_strcat", NULL_IS_MISUSE_AT_FIRST, call_linear_strcat },
  { "ralloc_linear_free_context", NULL_IS_VALID, call_linear_free },
  { "ralloc_linear_free_parent", NULL_IS_VALID, call_linear_free_parent },
  { "ralloc_steal_linear_context", NULL_IS_VALID, call_linear_steal },
  { "ralloc_steal_linear_context", NULL_IS_VALID, call_linear_steal_to },
  { "ralloc_steal_linear_parent", NULL_IS_VALID, call_linear_steal_parent },
  { "ralloc_parent_of_linear_context", NULL_IS_VALID, call_linear_parent_of },
  { "ralloc_parent_of_linear_parent", NULL_IS_VALID,
    call_linear_parent_of_parent },
  { "ralloc_gc_alloc_size", NULL_IS_MISUSE, call_gc_alloc },
  { "ralloc_gc_alloc_size", NULL_IS_MISUSE, call_gc_alloc_aligned },
  { "ralloc_gc_zalloc_size", NULL_IS_MISUSE, call_gc_zalloc },
  { "ralloc_gc_free", NULL_IS_VALID, call_gc_free },
  { "ralloc_gc_get_context", NULL_IS_MISUSE, call_gc_get_context },
  { "ralloc_gc_sweep_start", NULL_IS_MISUSE, call_gc_start },
  { "ralloc_gc_sweep_end", NULL_IS_MISUSE, call_gc_end },
  { "ralloc_gc_mark_live", NULL_IS_VALID, call_gc_mark },
  { "ralloc_gc_mark_live", NULL_IS_MISUSE, call_gc_mark_in },
};

/* --- each in a child ------------------------------------------------------ */

typedef enum
{
  FREED,         /* a node that was freed */
  FOREIGN,       /* static memory, in the first call of the process */
  FOREIGN_LATER, /* the same after another call */
  NOTHING,       /* NULL, in the first call of the process */
  NOTHING_LATER,
  N_WRONGS
} Wrong;

static void *
make_wrong (Wrong wrong)
{
  static _Alignas(64) char memory[512];
  void *volatile node = NULL;

  if (wrong != FOREIGN && wrong != NOTHING)
    {
      good = ralloc_context (NULL);
      good_gc = ralloc_gc_context (NULL);
      node = ralloc_size (good, 40);
      ralloc_free (node);
    }
  if (wrong == FREED)
    return node;
  return wrong == FOREIGN || wrong == FOREIGN_LATER ? memory + 256 : NULL;
}

/* What the call writes in a child, which it ends. */
static gchar *
output_of (const Call *call, Wrong wrong)
{
  GString *output = g_string_new (NULL);
  struct rlimit none = { 0, 0 };
  int pipe_ends[2];
  char buffer[512];
  ssize_t n;
  int status;
  pid_t child;

  g_assert_cmpint (pipe (pipe_ends), ==, 0);
  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      setrlimit (RLIMIT_CORE, &none);
      dup2 (pipe_ends[1], STDERR_FILENO);
      close (pipe_ends[0]);
      close (pipe_ends[1]);
      call->call (make_wrong (wrong));
      _exit (0);
    }
  close (pipe_ends[1]);
  while ((n = read (pipe_ends[0], buffer, sizeof buffer)) > 0)
    g_string_append_len (output, buffer, n);
  close (pipe_ends[0]);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_string_append_printf (output, "[status %d]", status);
  return g_string_free (output, FALSE);
}

static void
expect_name (const Call *call, Wrong wrong)
{
  static const char *const errors[N_WRONGS]
      = { "error 201: a node that was freed before: ",
          "error 200: a pointer that is no node: ",
          "error 200: a pointer that is no node: ", "error 210: ",
          "error 210: " };
  gchar *output = output_of (call, wrong);
  gchar *name = g_strdup_printf (
      wrong < NOTHING ? ": %s (0x" : ": %s\n", call->name);

  if (strstr (output, errors[wrong]) == NULL || strstr (output, name) == NULL)
    g_error ("%s, %u: %s", call->name, wrong, output);
  g_free (name);
  g_free (output);
}

static bool
null_is_misuse (NullMeans means, Wrong wrong, bool has_mode)
{
  return means == NULL_IS_MISUSE
         || (means == NULL_IS_MISUSE_AT_FIRST
             && (wrong == NOTHING || has_mode));
}

static void
call_all (bool has_mode, bool finds_foreign, bool finds_freed)
{
  for (size_t i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      const Call *call = &calls[i];

      if (finds_freed)
        expect_name (call, FREED);
      for (int wrong = FOREIGN; finds_foreign && wrong <= FOREIGN_LATER;
           wrong++)
        expect_name (call, (Wrong) wrong);
      for (int wrong = NOTHING; wrong <= NOTHING_LATER; wrong++)
        if (null_is_misuse (call->null_means, (Wrong) wrong, has_mode))
          expect_name (call, (Wrong) wrong);
    }
}

static void
test_names (gconstpointer data)
{
  const char *options = data;

  if (g_test_subprocess ())
    {
      bool is_malloc = strcmp (options, "always-malloc") == 0;
      bool is_default = options[0] == '\0';

      call_all (!is_default, !is_default && !is_malloc, !is_malloc);
      return;
    }
  if (is_annotated ())
    {
      g_test_skip ("a memory checker reports it");
      return;
    }
  g_setenv ("SLICE_OPTIONS", options, TRUE);
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_unsetenv ("SLICE_OPTIONS");
  g_test_trap_assert_passed ();
}

int
main (int argc, char **argv)
{
  static const char *const modes[]
      = { "",      "checked",       "hardened",
          "debug", "always-malloc", "always-malloc,checked" };

  g_test_init (&argc, &argv, NULL);
  for (size_t i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      char *path = g_strdup_printf ("/slice/ralloc-names/%s",
                                    i > 0 ? modes[i] : "default");

      g_test_add_data_func (path, modes[i], test_names);
      g_free (path);
    }
  return g_test_run ();
}
