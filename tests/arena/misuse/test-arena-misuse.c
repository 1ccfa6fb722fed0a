/* test-arena-misuse.c - what each mode says of each misuse of each arena
 *
 * Tables: kind, call or fault, and the number that each mode gives.  Every
 * case runs in a process of its own, made before the options are frozen.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/arena/arena-test.h"

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
  EXIT_WATCHED = 77
};

/* How a case ended. */
typedef struct
{
  bool is_annotated; /* a tool watches; nothing was tried */
  int signal;      /* 0: it went on */
  int number;      /* of the message; 0: none */
  char text[16384]; /* the thread sanitizer says much before it */
} End;

/* The environment, or the build, may have set another. */
static void
mode_set (Mode mode)
{
  static const SliceOption options[N_MODES]
      = { 0, SLICE_OPTION_CHECKED, SLICE_OPTION_HARDENED, SLICE_OPTION_DEBUG };
  int64_t value;

  for (Mode other = MODE_CHECKED; other < N_MODES && mode == MODE_DEFAULT;
       other++)
    if (slice_get_option (options[other], &value) && value != 0)
      _exit (EXIT_WATCHED);
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
  if (is_annotated ())
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
  pid_t child;
  size_t n = 0;
  ssize_t more;
  char rest[sizeof end.text];
  const char *at;

  g_assert_cmpint (pipe (words), ==, 0);
  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    case_child (mode, words[1], body, data);
  close (words[1]);
  /* The child must not wait for a full pipe, nor be ended for lack of a
   * reader. */
  while ((more = n < sizeof end.text - 1
                     ? read (words[0], end.text + n, sizeof end.text - 1 - n)
                     : read (words[0], rest, sizeof rest)) > 0)
    if (n < sizeof end.text - 1)
      n += (size_t) more;
  close (words[0]);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  at = strstr (end.text, "slice: error ");
  if (at != NULL)
    end.number = atoi (at + strlen ("slice: error "));
  if (WIFSIGNALED (status))
    end.signal = WTERMSIG (status);
  else
    {
      end.is_annotated = WEXITSTATUS (status) == EXIT_WATCHED;
      g_assert_true (end.is_annotated || WEXITSTATUS (status) == 0);
    }
  return end;
}

/* Does the message name the function, or one that it calls first? */
static bool
names_call (const char *text, const char *name)
{
  const char *said = strstr (text, "slice: error 306: slice_");
  size_t length;

  if (said == NULL)
    return false;
  said += strlen ("slice: error 306: slice_");
  length = strcspn (said, ":");
  if (strcmp (name, "linear_copy") == 0
      || strcmp (name, "linear_add_cleanup") == 0)
    name = "linear_alloc";
  else if (strcmp (name, "tlsf_resize_null") == 0)
    name = "tlsf_alloc";
  return strncmp (name, said, length) == 0
         && (name[length] == '\0' || strchr ("_0", name[length]) != NULL);
}

/* `number` 0: nothing is found, and nothing else happens. */
static void
case_expect (Mode mode, void (*body) (const void *), const void *data,
             const char *name, int number)
{
  End end = case_run (mode, body, data);

  if (end.is_annotated)
    return;
  if (end.number != number || end.signal != (number != 0 ? SIGABRT : 0)
      || (number == 306 && !names_call (end.text, name)))
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
CALL (linear, alloc_aligned_n,
      slice_linear_alloc_aligned_n (arena, 64, 3, 8))
CALL (linear, alloc_n_overflow, volatile size_t many = SIZE_MAX / 4;
      slice_linear_alloc_n (arena, many, 8))
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
CALL (pool, reserve, slice_pool_reserve (arena, 100))
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
  NAMED (linear, alloc_aligned_n), NAMED (linear, alloc_n_overflow),
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
  NAMED (pool, reserve), NAMED (pool, reset),
  NAMED (pool, trim), NAMED (pool, n_live), NAMED (pool, chunk_bytes),
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
  void *handle
      = call->call == linear_reset ? stack_own () : linear_own ();

  call->call (handle);
}

static void
test_other_kind (void)
{
  static const Call calls[] = {
    NAMED (linear, reset),       NAMED (stack, alloc_aligned),
    NAMED (pool, reset),         NAMED (pool, n_live),
    NAMED (tlsf, alloc_aligned), NAMED (tlsf, destroy),
  };

  for (Mode mode = 0; mode < N_MODES; mode++)
    for (size_t i = 0; i < G_N_ELEMENTS (calls); i++)
      case_expect (mode, other_body, &calls[i], calls[i].name, 306);
}

/* --- addresses that are no live object's --------------------------------- */

static char static_bytes[4096];

/* Two arenas of a kind; `object` is the first one's. */
static SliceStack *
two_stacks (void **other)
{
  SliceStack *first = stack_own ();
  void *mine = object;

  stack_own ();
  *other = object;
  object = mine;
  return first;
}

static SlicePool *
two_pools (void **other)
{
  SlicePool *first = slice_pool_new_plain (24);
  SlicePool *second = slice_pool_new_plain (24);

  object = slice_pool_alloc (first);
  *other = slice_pool_alloc (second);
  return first;
}

static SliceTlsf *
two_heaps (void **other)
{
  SliceTlsf *first = tlsf_own ();
  void *mine = object;

  tlsf_own ();
  *other = object;
  object = mine;
  return first;
}

/* So that the second heap's region lies between two of the first. */
static SliceTlsf *
heaps_in_turn (void **other)
{
  SliceTlsf *first = two_heaps (other);

  for (int i = 0; i < 20; i++)
    slice_tlsf_alloc (first, 30000);
  return first;
}

#define FAULT(name, type, begin, ...)                                         \
 static void name (const void *data)                                          \
 {                                                                            \
  void *other = NULL;                                                         \
  type *arena = begin (&other);                                               \
  char *mine = object;                                                        \
  char local[64];                                                             \
  (void) data;                                                                \
  (void) other;                                                               \
  (void) mine;                                                                \
  (void) local;                                                               \
  __VA_ARGS__;                                                                \
 }

FAULT (stack_foreign, SliceStack, two_stacks,
       slice_stack_release (arena, other))
FAULT (stack_foreign_resize, SliceStack, two_stacks,
       slice_stack_resize (arena, other, 24, 48))
FAULT (stack_interior, SliceStack, two_stacks,
       slice_stack_release (arena, mine + 8))
FAULT (stack_misaligned, SliceStack, two_stacks,
       slice_stack_release (arena, mine + 1))
FAULT (stack_local, SliceStack, two_stacks,
       slice_stack_release (arena, local))
FAULT (stack_static, SliceStack, two_stacks,
       slice_stack_release (arena, static_bytes))
FAULT (stack_malloc, SliceStack, two_stacks,
       slice_stack_release (arena, malloc (100)))
FAULT (stack_wild, SliceStack, two_stacks,
       slice_stack_release (arena, (void *) 4096))
FAULT (stack_null, SliceStack, two_stacks, slice_stack_release (arena, NULL))
FAULT (stack_twice, SliceStack, two_stacks,
       slice_stack_release (arena, mine);
       slice_stack_release (arena, mine))

FAULT (pool_foreign, SlicePool, two_pools, slice_pool_free (arena, other))
FAULT (pool_foreign_none, SlicePool, two_pools,
       slice_pool_free (arena, mine);
       slice_pool_free (arena, other))
FAULT (pool_interior, SlicePool, two_pools, slice_pool_free (arena, mine + 8))
FAULT (pool_interior_none, SlicePool, two_pools,
       slice_pool_free (arena, mine);
       slice_pool_free (arena, mine + 8))
FAULT (pool_misaligned, SlicePool, two_pools,
       slice_pool_free (arena, mine + 1))
FAULT (pool_misaligned_none, SlicePool, two_pools,
       slice_pool_free (arena, mine);
       slice_pool_free (arena, mine + 1))
FAULT (pool_local, SlicePool, two_pools, slice_pool_free (arena, mine);
       slice_pool_free (arena, local))
FAULT (pool_static, SlicePool, two_pools, slice_pool_free (arena, mine);
       slice_pool_free (arena, static_bytes))
FAULT (pool_malloc, SlicePool, two_pools, slice_pool_free (arena, mine);
       slice_pool_free (arena, malloc (100)))
FAULT (pool_wild, SlicePool, two_pools, slice_pool_free (arena, mine);
       slice_pool_free (arena, (void *) 4096))
FAULT (pool_null, SlicePool, two_pools, slice_pool_free (arena, NULL))
FAULT (pool_twice, SlicePool, two_pools, slice_pool_alloc (arena);
       slice_pool_free (arena, mine);
       slice_pool_free (arena, mine))
FAULT (pool_twice_none, SlicePool, two_pools, slice_pool_free (arena, mine);
       slice_pool_free (arena, mine))
FAULT (pool_twice_reset, SlicePool, two_pools,
       slice_pool_reset (arena, SLICE_KEEP_ALL);
       slice_pool_free (arena, mine))

FAULT (tlsf_foreign, SliceTlsf, two_heaps, slice_tlsf_free (arena, other))
FAULT (tlsf_foreign_between, SliceTlsf, heaps_in_turn,
       slice_tlsf_free (arena, other))
FAULT (tlsf_foreign_resize, SliceTlsf, heaps_in_turn,
       slice_tlsf_resize (arena, other, 100))
FAULT (tlsf_foreign_bytes, SliceTlsf, heaps_in_turn,
       slice_tlsf_object_bytes (arena, other))
FAULT (tlsf_interior, SliceTlsf, two_heaps, memset (mine, 0, 24);
       slice_tlsf_free (arena, mine + 16))
FAULT (tlsf_misaligned, SliceTlsf, two_heaps,
       slice_tlsf_free (arena, mine + 1))
FAULT (tlsf_local, SliceTlsf, heaps_in_turn, slice_tlsf_free (arena, local))
FAULT (tlsf_static, SliceTlsf, heaps_in_turn,
       slice_tlsf_free (arena, static_bytes))
FAULT (tlsf_malloc, SliceTlsf, heaps_in_turn,
       slice_tlsf_free (arena, malloc (100)))
FAULT (tlsf_wild, SliceTlsf, two_heaps,
       slice_tlsf_free (arena, (void *) 4096))
FAULT (tlsf_null, SliceTlsf, two_heaps, slice_tlsf_free (arena, NULL))
FAULT (tlsf_twice, SliceTlsf, two_heaps, slice_tlsf_free (arena, mine);
       slice_tlsf_free (arena, mine))
FAULT (tlsf_twice_resize, SliceTlsf, two_heaps, slice_tlsf_free (arena, mine);
       slice_tlsf_resize (arena, mine, 100))

/* Headers of 32 bits have no tag of their heap: then the default does not find
 * an object of another heap whose region lies between two of this one. */
#define TLSF_FOREIGN (sizeof (size_t) > 4 ? 331 : 0)

/* What the default and each of the other modes say.  The inline code of the
 * default can't tell all: 0. */
static const struct
{
  const char *name;
  void (*body) (const void *data);
  int by_default;
  int number;
} faults[] = {
  { "stack_foreign", stack_foreign, 312, 312 },
  { "stack_foreign_resize", stack_foreign_resize, 312, 312 },
  { "stack_interior", stack_interior, 0, 312 },
  { "stack_misaligned", stack_misaligned, 0, 312 },
  { "stack_local", stack_local, 312, 312 },
  { "stack_static", stack_static, 312, 312 },
  { "stack_malloc", stack_malloc, 312, 312 },
  { "stack_wild", stack_wild, 312, 312 },
  { "stack_null", stack_null, 0, 0 },
  { "stack_twice", stack_twice, 311, 311 },
  { "pool_foreign", pool_foreign, 0, 321 },
  { "pool_foreign_none", pool_foreign_none, 321, 321 },
  { "pool_interior", pool_interior, 0, 322 },
  { "pool_interior_none", pool_interior_none, 322, 322 },
  { "pool_misaligned", pool_misaligned, 0, 322 },
  { "pool_misaligned_none", pool_misaligned_none, 322, 322 },
  { "pool_local", pool_local, 321, 321 },
  { "pool_static", pool_static, 321, 321 },
  { "pool_malloc", pool_malloc, 321, 321 },
  { "pool_wild", pool_wild, 321, 321 },
  { "pool_null", pool_null, 0, 0 },
  { "pool_twice", pool_twice, 320, 320 },
  { "pool_twice_none", pool_twice_none, 320, 320 },
  { "pool_twice_reset", pool_twice_reset, 320, 320 },
  { "tlsf_foreign", tlsf_foreign, 331, 331 },
  { "tlsf_foreign_between", tlsf_foreign_between, TLSF_FOREIGN, 331 },
  { "tlsf_foreign_resize", tlsf_foreign_resize, TLSF_FOREIGN, 331 },
  { "tlsf_foreign_bytes", tlsf_foreign_bytes, TLSF_FOREIGN, 331 },
  { "tlsf_interior", tlsf_interior, 331, 331 },
  { "tlsf_misaligned", tlsf_misaligned, 331, 331 },
  { "tlsf_local", tlsf_local, 331, 331 },
  { "tlsf_static", tlsf_static, 331, 331 },
  { "tlsf_malloc", tlsf_malloc, 331, 331 },
  { "tlsf_wild", tlsf_wild, 331, 331 },
  { "tlsf_null", tlsf_null, 0, 0 },
  { "tlsf_twice", tlsf_twice, 330, 330 },
  { "tlsf_twice_resize", tlsf_twice_resize, 330, 330 },
};

static void
test_addresses (void)
{
  for (Mode mode = 0; mode < N_MODES; mode++)
    for (size_t i = 0; i < G_N_ELEMENTS (faults); i++)
      case_expect (mode, faults[i].body, NULL, faults[i].name,
                   mode == MODE_DEFAULT ? faults[i].by_default
                                        : faults[i].number);
}

/* --- overruns in a TLSF heap --------------------------------------------- */

/* What lies behind the object that is overrun. */
typedef enum
{
  BEHIND_LIVE,
  BEHIND_FREE,
  BEHIND_END,
  N_BEHIND
} Behind;

typedef enum
{
  THEN_FREE,
  THEN_RESIZE,
  THEN_BYTES,
  THEN_FREE_NEXT,
  THEN_ALLOC,
  THEN_STATS,
  THEN_TRIM,
  THEN_VALID,
  N_THEN
} Then;

static const char *const then_names[N_THEN]
    = { "free",  "resize", "object-bytes", "free-next",
        "alloc", "stats",  "trim",         "valid" };

typedef struct
{
  Behind behind;
  Then then;
  int n;    /* bytes too many */
  int byte; /* that are written */
} Overrun;

enum
{
  HEAP_BYTES = 8192,
  OVERRUN_SIZE = 45
};

static _Alignas (16) char heap_bytes[HEAP_BYTES + 256];

static void
overrun_then (SliceTlsf *heap, Then then, char *victim, char *next)
{
  SliceTlsfStats stats;
  const char *why;

  switch (then)
    {
    case THEN_FREE:
      slice_tlsf_free (heap, victim);
      break;
    case THEN_RESIZE:
      slice_tlsf_resize (heap, victim, 200);
      break;
    case THEN_BYTES:
      slice_tlsf_object_bytes (heap, victim);
      break;
    case THEN_FREE_NEXT:
      slice_tlsf_free (heap, next);
      break;
    case THEN_ALLOC:
      for (int i = 0; i < 60; i++)
        slice_tlsf_alloc (heap, (size_t) i * 5);
      break;
    case THEN_STATS:
      slice_tlsf_get_stats (heap, &stats);
      break;
    case THEN_TRIM:
      slice_tlsf_trim (heap);
      slice_tlsf_reset (heap, SLICE_KEEP_ALL);
      g_assert_true (slice_tlsf_is_valid (heap, NULL));
      break;
    case THEN_VALID:
    default:
      g_assert_false (slice_tlsf_is_valid (heap, &why));
      g_assert_nonnull (why);
    }
}

static void
overrun_body (const void *data)
{
  const Overrun *one = data;
  SliceTlsf *heap = slice_tlsf_new_fixed (heap_bytes, HEAP_BYTES);
  SliceTlsfStats stats;
  size_t size = OVERRUN_SIZE;
  char *victim;
  char *next;
  volatile char *over;

  slice_tlsf_get_stats (heap, &stats);
  if (one->behind == BEHIND_END)
    size = stats.largest_free;
  victim = slice_tlsf_alloc (heap, size);
  next = slice_tlsf_alloc (heap, OVERRUN_SIZE);
  slice_tlsf_alloc (heap, OVERRUN_SIZE);
  memset (victim, 'v', size);
  if (next != NULL)
    memset (next, 'n', OVERRUN_SIZE);
  if (one->behind == BEHIND_FREE)
    slice_tlsf_free (heap, next);
  over = victim + size;
  for (int i = 0; i < one->n; i++)
    over[i] = (char) one->byte;
  overrun_then (heap, one->then, victim, next);
}

/* The bytes behind the victim that are nobody's by default, and of the header
 * that zeros don't damage.  With 32 bits the last block is rounded up to more
 * than any overrun here. */
static int
slack (Behind behind)
{
  if (sizeof (void *) > 4)
    return 11;
  return behind == BEHIND_END ? 64 : 12;
}

/* In a checked heap an overrun by one byte is found when the object is
 * touched, and what lies behind when its header is reached.  Else what is
 * found is reported by the same number, and nothing else may happen. */
static void
overrun_try (Mode mode, const Overrun *one)
{
  End end = case_run (mode, overrun_body, one);
  bool is_touched = one->then <= THEN_BYTES;
  bool must = mode != MODE_DEFAULT && is_touched;
  bool is_good;

  /* Header of a live piece behind: 64 bytes on at most, and 32 tail. */
  if (one->then == THEN_FREE_NEXT && one->n >= 40)
    must = true;
  is_good = end.number == 332 ? end.signal == SIGABRT
                              : !must && end.signal == 0 && end.number == 0;
  if (one->then >= THEN_TRIM)
    is_good = is_good && end.number == 0;
  if (end.is_annotated || is_good)
    return;
  g_test_message ("%s: %d of %d, behind %d, then %s: signal %d, error %d: %s",
                  mode_names[mode], one->n, one->byte, (int) one->behind,
                  then_names[one->then], end.signal, end.number, end.text);
  g_test_fail ();
}

static void
test_overruns (void)
{
  static const int bytes_too_many[] = { 1, 3, 4, 8, 11, 12, 24, 30, 40, 64 };
  static const int values[] = { 0, 'A', 0xff };

  for (Mode mode = 0; mode < N_MODES; mode++)
    for (Behind behind = 0; behind < N_BEHIND; behind++)
      for (Then then = 0; then < N_THEN; then++)
        for (size_t n = 0; n < G_N_ELEMENTS (bytes_too_many); n++)
          {
            int byte = values[(n + then + mode) % G_N_ELEMENTS (values)];
            Overrun one = { behind, then, bytes_too_many[n], byte };
            bool has_next = behind == BEHIND_LIVE;
            bool is_damage = mode != MODE_DEFAULT || one.n > slack (behind);

            if (then == THEN_FREE_NEXT ? has_next
                                       : then != THEN_VALID || is_damage)
              overrun_try (mode, &one);
          }
}

/* --- writes to a free object of a TLSF heap ------------------------------ */

typedef struct
{
  int word;
  int value;
  int then;
} Write;

/* Not the heap's: no write through a link may change it. */
static uintptr_t not_the_heaps[64];

static void
write_body (const void *data)
{
  const Write *one = data;
  SliceTlsf *heap = slice_tlsf_new_fixed (heap_bytes, HEAP_BYTES);
  uintptr_t *objects[8];
  uintptr_t values[6]
      = { 0, 0x4141414141414141u, UINTPTR_MAX, (uintptr_t) &not_the_heaps[8] };

  for (int i = 0; i < 8; i++)
    objects[i] = slice_tlsf_alloc (heap, 100);
  for (int i = 1; i < 8; i += 2)
    slice_tlsf_free (heap, objects[i]);
  values[4] = (uintptr_t) objects[0] - sizeof (size_t);
  values[5] = (uintptr_t) objects[2] + 1;
  objects[3][one->word] = values[one->value];
  memset (objects[0], 'x', 100);
  memset (objects[2], 'x', 100);
  if (one->then == 0)
    for (int i = 0; i < 40; i++)
      slice_tlsf_alloc (heap, 100);
  else if (one->then == 1)
    slice_tlsf_free (heap, objects[2]);
  else
    slice_tlsf_free (heap, objects[4]);
  for (int i = 0; i < 8; i += 2)
    if (one->then == 0)
      slice_tlsf_free (heap, objects[i]);
  for (size_t i = 0; i < G_N_ELEMENTS (not_the_heaps); i++)
    g_assert_cmpuint (not_the_heaps[i], ==, 0);
}

static void
test_writes (void)
{
  for (Mode mode = 0; mode < N_MODES; mode++)
    for (int word = 0; word < 12; word++)
      for (int value = 0; value < 6; value++)
        {
          Write one = { word, value, (word + value) % 3 };
          End end;

          if (word < 2 || word == 11)
            one.then = value % 3;
          end = case_run (mode, write_body, &one);
          if (end.is_annotated || (end.number == 332 && end.signal == SIGABRT)
              || (end.number == 0 && end.signal == 0))
            continue;
          g_test_message ("%s: word %d, value %d, then %d: signal %d, %s",
                          mode_names[mode], word, value, one.then, end.signal,
                          end.text);
          g_test_fail ();
        }
}

static void
nothing (const void *data)
{
  (void) data;
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (case_run (MODE_CHECKED, nothing, NULL).is_annotated)
    return g_test_run (); /* the tool itself sees it */
  for (size_t i = 0; i < G_N_ELEMENTS (lives); i++)
    {
      char *path = g_strdup_printf ("/slice/arena-misuse/dead/%s",
                                    lives[i].name);

      g_test_add_data_func (path, &lives[i], test_dead);
      g_free (path);
    }
  g_test_add_func ("/slice/arena-misuse/other-kind", test_other_kind);
  g_test_add_func ("/slice/arena-misuse/addresses", test_addresses);
  g_test_add_func ("/slice/arena-misuse/overruns", test_overruns);
  g_test_add_func ("/slice/arena-misuse/writes", test_writes);
  return g_test_run ();
}
