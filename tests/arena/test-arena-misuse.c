/* test-arena-misuse.c - what each mode says of each misuse of each arena
 *
 * Tables: kind, call or fault, and the number that each mode gives.  Every
 * case runs in a process of its own, made before the options are frozen.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "arena-test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <slice/options.h>
#include <slice/ralloc.h>

/* --- processes ----------------------------------------------------------- */

typedef enum
{
  MODE_DEFAULT,
  MODE_CHECKED,
  MODE_HARDENED,
  MODE_DEBUG,
  N_MODES
} Mode;

static const char *const mode_names[N_MODES]
    = { "default", "checked", "hardened", "debug" };

enum
{
  EXIT_WATCHED = 77,
  EXIT_CHANGED = 78
};

/* How a case ended. */
typedef struct
{
  bool is_watched; /* a tool watches; nothing was tried */
  int signal;      /* 0: it went on */
  int number;      /* of the message; 0: none */
  char text[512];
} End;

static void
mode_set (Mode mode)
{
  static const SliceOption options[N_MODES]
      = { SLICE_OPTION_CHECKED, SLICE_OPTION_CHECKED, SLICE_OPTION_HARDENED,
          SLICE_OPTION_DEBUG };
  if (mode != MODE_DEFAULT)
    g_assert_cmpint (slice_set_option (options[mode], 1), ==,
                     SLICE_SET_OK);
}

/* The child's part: its words go to the pipe, and it leaves no core. */
_Noreturn static void
case_child (Mode mode, int words, void (*body) (const void *),
            const void *data)
{
  struct rlimit none = { 0, 0 };
  setrlimit (RLIMIT_CORE, &none);
  dup2 (words, STDERR_FILENO);
  mode_set (mode);
  if (is_watched ())
    _exit (EXIT_WATCHED);
  body (data);
  _exit (0);
}

static End
case_run (Mode mode, void (*body) (const void *), const void *data)
{
  End end = { 0 };
  int words[2];
  int status;
  g_assert_cmpint (pipe (words), ==, 0);
  pid_t child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    case_child (mode, words[1], body, data);
  close (words[1]);
  size_t n = 0;
  ssize_t more;
  while ((more = read (words[0], end.text + n, sizeof end.text - 1 - n)) > 0)
    n += (size_t) more;
  close (words[0]);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  const char *at = strstr (end.text, "slice: error ");
  if (at != NULL)
    end.number = atoi (at + strlen ("slice: error "));
  if (WIFSIGNALED (status))
    end.signal = WTERMSIG (status);
  else
    {
      end.is_watched = WEXITSTATUS (status) == EXIT_WATCHED;
      g_assert_true (end.is_watched || WEXITSTATUS (status) == 0);
    }
  return end;
}

/* `number` 0: nothing is found, and nothing else happens. */
static void
case_expect (Mode mode, void (*body) (const void *), const void *data,
             const char *name, int number)
{
  End end = case_run (mode, body, data);
  if (end.is_watched)
    return;
  if (end.number != number || end.signal != (number != 0 ? SIGABRT : 0))
    {
      g_test_message ("%s, %s: wanted %d; signal %d, error %d: %s", name,
                      mode_names[mode], number, end.signal, end.number,
                      end.text);
      g_test_fail ();
    }
}

/* --- calls of an arena that is no more ----------------------------------- */

static char bytes[64] = "some text";
static void *object; /* of the arena, before it ended */
static SliceMark mark;

static void
no_cleanup (void *data)
{
  (void) data;
}

static bool
no_visit (const void *at, size_t size, bool is_live, void *data)
{
  (void) at;
  (void) size;
  (void) data;
  return is_live;
}

#define CALL(kind, name, ...)                                                 \
 static void kind##_##name (void *handle)                                     \
 {                                                                            \
  kind *arena = handle;                                                       \
  __VA_ARGS__;                                                                \
 }

typedef SliceLinear linear;
typedef SliceStack stack;
typedef SlicePool pool;
typedef SliceTlsf tlsf;

CALL (linear, alloc, slice_linear_alloc (arena, 8))
CALL (linear, alloc_large, slice_linear_alloc (arena, 100000))
CALL (linear, alloc0, slice_linear_alloc0 (arena, 24))
CALL (linear, alloc_n, slice_linear_alloc_n (arena, 3, 8))
CALL (linear, alloc_aligned, slice_linear_alloc_aligned (arena, 64, 8))
CALL (linear, copy, slice_linear_copy (arena, 8, bytes))
CALL (linear, resize, slice_linear_resize (arena, object, 24, 48))
CALL (linear, resize_null, slice_linear_resize (arena, NULL, 0, 48))
CALL (linear, free_last, slice_linear_free_last (arena, object, 24))
CALL (linear, reset, slice_linear_reset (arena, SLICE_KEEP_ALL))
CALL (linear, mark, slice_linear_mark (arena))
CALL (linear, rollback, slice_linear_rollback (arena, mark))
CALL (linear, trim, slice_linear_trim (arena))
CALL (linear, add_cleanup, slice_linear_add_cleanup (arena, no_cleanup, NULL))
CALL (linear, get_stats, SliceArenaStats stats;
      slice_linear_get_stats (arena, &stats))
CALL (linear, owns, slice_linear_owns (arena, object))
CALL (linear, export, slice_linear_export (arena, object, 8, NULL))
CALL (linear, grow, slice_linear_grow (arena, 4, bytes))
CALL (linear, grow_char, slice_linear_grow_char (arena, 'x'))
CALL (linear, shrink, slice_linear_shrink (arena, 0))
CALL (linear, growing, slice_linear_growing (arena, NULL))
CALL (linear, finish, slice_linear_finish (arena, NULL))
CALL (linear, abandon, slice_linear_abandon (arena))
CALL (linear, strdup, slice_linear_strdup (arena, bytes))
CALL (linear, strdup_null, slice_linear_strdup (arena, NULL))
CALL (linear, strndup, slice_linear_strndup (arena, bytes, 3))
CALL (linear, strndup_null, slice_linear_strndup (arena, NULL, 3))
CALL (linear, strcat, char *string = object;
      slice_linear_strcat (arena, &string, bytes))
CALL (linear, strcat_null, char *string = NULL;
      slice_linear_strcat (arena, &string, bytes))
CALL (linear, printf, slice_linear_printf (arena, "%d", 3))
CALL (linear, destroy, slice_linear_destroy (arena))

CALL (stack, alloc, slice_stack_alloc (arena, 8))
CALL (stack, alloc_large, slice_stack_alloc (arena, 100000))
CALL (stack, alloc_aligned, slice_stack_alloc_aligned (arena, 64, 8))
CALL (stack, release, slice_stack_release (arena, object))
CALL (stack, release_null, slice_stack_release (arena, NULL))
CALL (stack, resize, slice_stack_resize (arena, object, 24, 48))
CALL (stack, resize_null, slice_stack_resize (arena, NULL, 0, 48))
CALL (stack, reset, slice_stack_reset (arena, SLICE_KEEP_ALL))
CALL (stack, trim, slice_stack_trim (arena))
CALL (stack, is_empty, slice_stack_is_empty (arena))
CALL (stack, get_stats, SliceArenaStats stats;
      slice_stack_get_stats (arena, &stats))
CALL (stack, destroy, slice_stack_destroy (arena))

CALL (pool, alloc, slice_pool_alloc (arena))
CALL (pool, free, slice_pool_free (arena, object))
CALL (pool, free_null, slice_pool_free (arena, NULL))
CALL (pool, free_bulk, slice_pool_free_bulk (arena, 1, &object))
CALL (pool, reset, slice_pool_reset (arena, SLICE_KEEP_ALL))
CALL (pool, trim, slice_pool_trim (arena))
CALL (pool, n_live, slice_pool_n_live (arena))
CALL (pool, chunk_bytes, slice_pool_chunk_bytes (arena))
CALL (pool, get_stats, SliceArenaStats stats;
      slice_pool_get_stats (arena, &stats))
CALL (pool, destroy, slice_pool_destroy (arena))

CALL (tlsf, alloc, slice_tlsf_alloc (arena, 8))
CALL (tlsf, alloc_large, slice_tlsf_alloc (arena, 100000))
CALL (tlsf, alloc_aligned, slice_tlsf_alloc_aligned (arena, 64, 8))
CALL (tlsf, free, slice_tlsf_free (arena, object))
CALL (tlsf, resize, slice_tlsf_resize (arena, object, 48))
CALL (tlsf, resize_null, slice_tlsf_resize (arena, NULL, 48))
CALL (tlsf, object_bytes, slice_tlsf_object_bytes (arena, object))
CALL (tlsf, reset, slice_tlsf_reset (arena, SLICE_KEEP_ALL))
CALL (tlsf, trim, slice_tlsf_trim (arena))
CALL (tlsf, get_stats, SliceTlsfStats stats;
      slice_tlsf_get_stats (arena, &stats))
CALL (tlsf, walk, slice_tlsf_walk (arena, no_visit, NULL))
CALL (tlsf, is_valid, slice_tlsf_is_valid (arena, NULL))
CALL (tlsf, destroy, slice_tlsf_destroy (arena))

/* How arenas begin and end.  The last object is in `object`. */
static void *
linear_fill (SliceLinear *arena)
{
  slice_linear_alloc (arena, 24);
  mark = slice_linear_mark (arena);
  object = slice_linear_alloc0 (arena, 24);
  return arena;
}

static void *
linear_own (void)
{
  return linear_fill (slice_linear_new (NULL));
}

static void *
linear_large (void)
{
  SliceArenaOptions options = { .first_bytes = 1 << 16 };
  return linear_fill (slice_linear_new (&options));
}

static void *
linear_open (void)
{
  SliceLinear *arena = linear_own ();
  slice_linear_grow (arena, 4, bytes);
  return arena;
}

static void *
linear_in (void)
{
  return linear_fill (slice_linear_new_in (NULL, NULL));
}

static void *
stack_fill (SliceStack *arena)
{
  slice_stack_alloc (arena, 24);
  object = slice_stack_alloc (arena, 24);
  return arena;
}

static void *
stack_own (void)
{
  return stack_fill (slice_stack_new (NULL));
}

static void *
stack_large (void)
{
  SliceArenaOptions options = { .first_bytes = 1 << 16 };
  return stack_fill (slice_stack_new (&options));
}

static void *
stack_in (void)
{
  return stack_fill (slice_stack_new_in (NULL, NULL));
}

static void *
pool_fill (SlicePool *arena)
{
  for (int i = 0; i < 100; i++)
    object = slice_pool_alloc (arena);
  slice_pool_free (arena, object);
  object = slice_pool_alloc (arena);
  return arena;
}

static void *
pool_own (void)
{
  return pool_fill (slice_pool_new_plain (24));
}

static void *
pool_small (void)
{
  return pool_fill (slice_pool_new_plain (8));
}

static void *
pool_in (void)
{
  SlicePoolOptions options = { .object_bytes = 24 };
  return pool_fill (slice_pool_new_in (NULL, &options));
}

static void *
tlsf_fill (SliceTlsf *arena)
{
  slice_tlsf_alloc (arena, 24);
  object = slice_tlsf_alloc (arena, 24);
  slice_tlsf_alloc (arena, 24);
  return arena;
}

static void *
tlsf_own (void)
{
  return tlsf_fill (slice_tlsf_new (NULL));
}

static void *
tlsf_in (void)
{
  return tlsf_fill (slice_tlsf_new_in (NULL, NULL));
}

static void *
tlsf_fixed (void)
{
  static char buffer[1 << 16];
  return tlsf_fill (slice_tlsf_new_fixed (buffer, sizeof buffer));
}

typedef struct
{
  const char *name;
  void (*call) (void *handle);
} Call;

#define NAMED(kind, name)                                                     \
 {                                                                            \
   #kind "_" #name, kind##_##name                                             \
 }

static const Call linear_calls[] = {
  NAMED (linear, alloc), NAMED (linear, alloc_large),
  NAMED (linear, alloc0), NAMED (linear, alloc_n),
  NAMED (linear, alloc_aligned), NAMED (linear, copy),
  NAMED (linear, resize), NAMED (linear, resize_null),
  NAMED (linear, free_last), NAMED (linear, reset),
  NAMED (linear, mark), NAMED (linear, rollback),
  NAMED (linear, trim), NAMED (linear, add_cleanup),
  NAMED (linear, get_stats), NAMED (linear, owns),
  NAMED (linear, export), NAMED (linear, grow),
  NAMED (linear, grow_char), NAMED (linear, shrink),
  NAMED (linear, growing), NAMED (linear, finish),
  NAMED (linear, abandon), NAMED (linear, strdup),
  NAMED (linear, strdup_null), NAMED (linear, strndup),
  NAMED (linear, strndup_null), NAMED (linear, strcat),
  NAMED (linear, strcat_null), NAMED (linear, printf),
  NAMED (linear, destroy), { NULL, NULL },
};

static const Call stack_calls[] = {
  NAMED (stack, alloc), NAMED (stack, alloc_large),
  NAMED (stack, alloc_aligned), NAMED (stack, release),
  NAMED (stack, release_null), NAMED (stack, resize),
  NAMED (stack, resize_null), NAMED (stack, reset),
  NAMED (stack, trim), NAMED (stack, is_empty),
  NAMED (stack, get_stats), NAMED (stack, destroy),
  { NULL, NULL },
};

static const Call pool_calls[] = {
  NAMED (pool, alloc), NAMED (pool, free),
  NAMED (pool, free_null), NAMED (pool, free_bulk),
  NAMED (pool, reset), NAMED (pool, trim),
  NAMED (pool, n_live), NAMED (pool, chunk_bytes),
  NAMED (pool, get_stats), NAMED (pool, destroy),
  { NULL, NULL },
};

static const Call tlsf_calls[] = {
  NAMED (tlsf, alloc), NAMED (tlsf, alloc_large),
  NAMED (tlsf, alloc_aligned), NAMED (tlsf, free),
  NAMED (tlsf, resize), NAMED (tlsf, resize_null),
  NAMED (tlsf, object_bytes), NAMED (tlsf, reset),
  NAMED (tlsf, trim), NAMED (tlsf, get_stats),
  NAMED (tlsf, walk), NAMED (tlsf, is_valid),
  NAMED (tlsf, destroy), { NULL, NULL },
};

/* How it begins, and the calls that it hears too late; the last one of them
 * is what ends it. */
typedef struct
{
  const char *name;
  void *(*begin) (void);
  const Call *calls;
} Life;

static const Life lives[] = {
  { "linear", linear_own, linear_calls },
  { "linear-large", linear_large, linear_calls },
  { "linear-open", linear_open, linear_calls },
  { "linear-in", linear_in, linear_calls },
  { "stack", stack_own, stack_calls },
  { "stack-large", stack_large, stack_calls },
  { "stack-in", stack_in, stack_calls },
  { "pool", pool_own, pool_calls },
  { "pool-small", pool_small, pool_calls },
  { "pool-in", pool_in, pool_calls },
  { "tlsf", tlsf_own, tlsf_calls },
  { "tlsf-in", tlsf_in, tlsf_calls },
  { "tlsf-fixed", tlsf_fixed, tlsf_calls },
};

typedef struct
{
  const Life *life;
  const Call *call;
} DeadCase;

static void
dead_body (const void *data)
{
  const DeadCase *one = data;
  void *handle = one->life->begin ();
  const Call *end = one->life->calls;
  while (end[1].name != NULL)
    end++;
  end->call (handle);
  one->call->call (handle);
}

static void
test_dead (const void *data)
{
  const Life *life = data;
  for (Mode mode = 0; mode < N_MODES; mode++)
    for (const Call *call = life->calls; call->name != NULL; call++)
      {
        DeadCase one = { life, call };
        case_expect (mode, dead_body, &one, call->name, 306);
      }
}

/* A handle of another kind. */
static void
other_body (const void *data)
{
  const Call *call = data;
  void *handle = call->call == linear_alloc_aligned ? stack_own ()
                                                    : linear_own ();
  call->call (handle);
}

static void
test_other_kind (void)
{
  static const Call calls[] = {
    NAMED (linear, alloc_aligned), NAMED (stack, alloc_aligned),
    NAMED (pool, reset),           NAMED (pool, n_live),
    NAMED (tlsf, alloc_aligned),   NAMED (tlsf, destroy),
  };
  for (Mode mode = 0; mode < N_MODES; mode++)
    for (size_t i = 0; i < G_N_ELEMENTS (calls); i++)
      case_expect (mode, other_body, &calls[i], calls[i].name, 306);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (size_t i = 0; i < G_N_ELEMENTS (lives); i++)
    {
      char *path = g_strdup_printf ("/slice/arena-misuse/dead/%s",
                                    lives[i].name);
      g_test_add_data_func (path, &lives[i], test_dead);
      g_free (path);
    }
  g_test_add_func ("/slice/arena-misuse/other-kind", test_other_kind);
  return g_test_run ();
}
