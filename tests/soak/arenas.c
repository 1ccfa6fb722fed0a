/* arenas.c - random operations on an arena, beside a model of it
 *
 *   arenas                       some operations on each kind
 *   arenas KIND OPERATIONS SEED  linear, stack, pool or tlsf
 *
 * The model is the list of the live objects.  Each object has a number at both
 * ends, and a fill between them.  An object that lies in another one, that is
 * moved or freed by mistake, or whose contents an operation changes, has lost
 * its number when it is looked at: each is when it ends, and one at random
 * after each operation.  SLICE_OPTIONS has the mode.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slice/arena.h>

enum
{
  N_LIVE = 4000, /* objects at most */
  N_MARKS = 8,
  N_QUICK = 200000
};

typedef struct
{
  unsigned char *at;
  size_t size;
  uint64_t number;
} Object;

static Object live[N_LIVE];
static size_t n_live;
static uint64_t n_made;
static uint64_t state;

static _Noreturn void
fail (const char *what)
{
  fprintf (stderr, "arenas: %s, after %llu objects\n", what,
           (unsigned long long) n_made);
  abort ();
}

/* A random number below n (xorshift). */
static size_t
below (size_t n)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (size_t) (state >> 20) % n;
}

/* Small sizes as a rule, some large. */
static size_t
random_size (void)
{
  size_t kind = below (64);

  if (kind == 0)
    return 1 + below (20000);
  return kind < 8 ? 1 + below (600) : 1 + below (72);
}

/* The bytes of the number at each end. */
static size_t
number_bytes (const Object *object)
{
  return object->size < 16 ? object->size / 2 : 8;
}

static void
write_number (const Object *object)
{
  size_t n = number_bytes (object);

  memset (object->at, (int) (object->number & 0xff), object->size);
  memcpy (object->at, &object->number, n);
  memcpy (object->at + object->size - n, &object->number, n);
}

/* Looks at the first `size' bytes of an object. */
static void
look_at (const Object *object, size_t size)
{
  size_t n = number_bytes (object);
  size_t n_first = n < size ? n : size;
  size_t middle = size / 2;

  if (memcmp (object->at, &object->number, n_first) != 0)
    fail ("an object's start has changed");
  if (size == object->size
      && memcmp (object->at + size - n, &object->number, n) != 0)
    fail ("an object's end has changed");
  if (middle >= n && middle < object->size - n
      && object->at[middle] != (object->number & 0xff))
    fail ("an object's middle has changed");
}

static void
look_at_one (void)
{
  const Object *object;

  if (n_live == 0)
    return;
  object = &live[below (n_live)];
  look_at (object, object->size);
}

static void
add (void *at, size_t size, size_t alignment)
{
  Object object;

  if (at == NULL)
    fail ("no memory");
  if ((uintptr_t) at % alignment != 0)
    fail ("an object is not aligned");
  object = (Object){ at, size, ++n_made * 0x9e3779b97f4a7c15u };
  live[n_live++] = object;
  write_number (&object);
}

/* The newest objects end, down to the first n. */
static void
cut (size_t n)
{
  while (n_live > n)
    {
      n_live--;
      look_at (&live[n_live], live[n_live].size);
    }
}

/* An object that has moved, or has another size. */
static void
resized (size_t index, void *at, size_t size)
{
  Object *object = &live[index];
  Object old = *object;

  if (at == NULL)
    fail ("no memory to resize");
  old.at = at;
  look_at (&old, size < old.size ? size : old.size);
  object->at = at;
  object->size = size;
  write_number (object);
}

/* --- linear --------------------------------------------------------------- */

static SliceMark marks[N_MARKS];
static size_t marked[N_MARKS]; /* the objects that were live at the mark */
static size_t n_marks;

static void
linear_add_text (SliceLinear *linear)
{
  char text[128];
  size_t size = 1 + below (sizeof text);
  char *copy;

  memset (text, 'x', size);
  text[size - 1] = '\0';
  copy = below (2) == 0 ? slice_linear_strdup (linear, text)
                        : slice_linear_copy (linear, size, text);
  if (copy == NULL || memcmp (copy, text, size) != 0)
    fail ("a copy differs");
  add (copy, size, 1);
}

static void
linear_add_grown (SliceLinear *linear)
{
  char part[64];
  size_t n_parts = below (20);
  size_t size = 0;
  size_t found;
  char *object;

  memset (part, 'y', sizeof part);
  for (size_t i = 0; i < n_parts; i++)
    {
      size_t n = 1 + below (sizeof part);
      bool is_char = below (2) == 0;

      if (!(is_char ? slice_linear_grow_char (linear, 'y')
                    : slice_linear_grow (linear, n, part)))
        fail ("no memory to grow");
      size += is_char ? 1 : n;
    }
  if (below (8) == 0)
    {
      slice_linear_abandon (linear);
      return;
    }
  object = slice_linear_finish (linear, &found);
  if (found != size || object == NULL)
    fail ("a grown object has another size");
  for (size_t i = 0; i < size; i++)
    if (object[i] != 'y')
      fail ("a grown object has other contents");
  add (object, size + (size == 0), 1);
}

static void
linear_change_last (SliceLinear *linear)
{
  Object *last = &live[n_live - 1];
  size_t size;
  bool is_old;
  void *at;

  if (below (3) == 0)
    {
      look_at (last, last->size);
      n_live -= slice_linear_free_last (linear, last->at, last->size);
      return;
    }
  size = random_size ();
  /* What is older than a mark stays there, and a copy is another object. */
  is_old = n_marks > 0 && n_live <= marked[n_marks - 1];
  at = slice_linear_resize (linear, last->at, last->size, size);
  if (is_old && at != last->at)
    live[n_live++] = *last;
  resized (n_live - 1, at, size);
}

static void
linear_go_back (SliceLinear *linear)
{
  n_marks = 1 + below (n_marks);
  cut (marked[n_marks - 1]);
  slice_linear_rollback (linear, marks[n_marks - 1]);
  n_marks -= below (2);
}

static void
linear_empty (SliceLinear *linear)
{
  cut (0);
  n_marks = 0;
  slice_linear_reset (linear, (SliceKeep) below (4));
}

/* Marks that were undone must not be used: they are dropped with n_marks. */
static void
linear_step (void *arena)
{
  SliceLinear *linear = arena;
  size_t size = random_size ();
  size_t alignment = (size_t) 8 << below (6);

  switch (below (16))
    {
    case 0:
      if (n_marks < N_MARKS)
        {
          marked[n_marks] = n_live;
          marks[n_marks++] = slice_linear_mark (linear);
        }
      break;
    case 1:
      if (n_marks > 0)
        linear_go_back (linear);
      break;
    case 2:
      if (below (40) == 0)
        linear_empty (linear);
      break;
    case 3:
    case 4:
      if (n_live > 0)
        linear_change_last (linear);
      break;
    case 5:
      linear_add_grown (linear);
      break;
    case 6:
      linear_add_text (linear);
      break;
    case 7:
      slice_linear_trim (linear);
      break;
    case 8:
    case 9:
      add (slice_linear_alloc_aligned (linear, alignment, size), size,
           alignment);
      break;
    default:
      add (slice_linear_alloc (linear, size), size, 8);
    }
  if (n_live > N_LIVE - 2)
    linear_empty (linear);
}

/* --- stack, pool, TLSF ---------------------------------------------------- */

static void
stack_step (void *arena)
{
  SliceStack *stack = arena;
  size_t size = random_size ();
  size_t alignment = (size_t) 8 << below (6);
  /* It rises to the most and falls again. */
  static bool rises;

  if (n_live == 0 || n_live > N_LIVE - 2)
    rises = n_live == 0;
  if (n_live > 0 && below (5) < (rises ? 2u : 3u))
    {
      Object top = live[n_live - 1];

      cut (n_live - 1);
      slice_stack_release (stack, top.at);
    }
  else if (below (4) == 0)
    add (slice_stack_alloc_aligned (stack, alignment, size), size, alignment);
  else
    add (slice_stack_alloc (stack, size), size, 8);
}

/* One of the live objects is looked at and leaves the list. */
static void *
take_out (size_t index)
{
  Object object = live[index];

  look_at (&object, object.size);
  live[index] = live[--n_live];
  return object.at;
}

static bool
rises_now (void)
{
  static bool rises;

  if (n_live < 5 || n_live > N_LIVE - 2)
    rises = n_live < 5;
  return n_live == 0 || below (5) < (rises ? 3u : 2u);
}

static size_t pool_object_bytes;

static void
pool_step (void *arena)
{
  SlicePool *pool = arena;

  if (below (20000) == 0)
    {
      cut (0);
      slice_pool_reset (pool, (SliceKeep) below (4));
    }
  else if (below (3000) == 0)
    slice_pool_trim (pool);
  else if (rises_now ())
    add (slice_pool_alloc (pool), pool_object_bytes, 8);
  else
    slice_pool_free (pool, take_out (below (4) == 0 ? n_live - 1
                                                    : below (n_live)));
  if (n_live != slice_pool_n_live (pool))
    fail ("the pool counts other objects");
}

static void
tlsf_step (void *arena)
{
  SliceTlsf *tlsf = arena;
  const char *why;
  size_t size = random_size ();

  if (n_live > 0 && below (6) == 0)
    {
      size_t index = below (n_live);
      Object old = live[index];

      look_at (&old, old.size);
      resized (index, slice_tlsf_resize (tlsf, old.at, size), size);
    }
  else if (rises_now ())
    add (slice_tlsf_alloc (tlsf, size), size, 8);
  else
    slice_tlsf_free (tlsf, take_out (below (n_live)));
  if (below (50000) == 0 && !slice_tlsf_is_valid (tlsf, &why))
    fail (why);
}

/* --- running -------------------------------------------------------------- */

typedef struct
{
  const char *name;
  void (*step) (void *arena);
} Kind;

static const Kind kinds[] = { { "linear", linear_step },
                              { "stack", stack_step },
                              { "pool", pool_step },
                              { "tlsf", tlsf_step } };

static void *
arena_new (const char *name)
{
  static const size_t sizes[] = { 8, 24, 40, 64, 200, 1000 };

  switch (name[0])
    {
    case 'l':
      return slice_linear_new (NULL);
    case 's':
      return slice_stack_new (NULL);
    case 'p':
      pool_object_bytes = sizes[below (sizeof sizes / sizeof *sizes)];
      return slice_pool_new_plain (pool_object_bytes);
    default:
      return slice_tlsf_new (NULL);
    }
}

static void
arena_end (const char *name, void *arena)
{
  n_marks = 0;
  cut (0);
  switch (name[0])
    {
    case 'l':
      slice_linear_destroy (arena);
      break;
    case 's':
      slice_stack_destroy (arena);
      break;
    case 'p':
      slice_pool_destroy (arena);
      break;
    default:
      slice_tlsf_destroy (arena);
    }
}

static void
run (const Kind *kind, unsigned long long n)
{
  void *arena = arena_new (kind->name);

  for (unsigned long long i = 0; i < n; i++)
    {
      kind->step (arena);
      look_at_one ();
      if (below (100000) == 0)
        {
          arena_end (kind->name, arena);
          arena = arena_new (kind->name);
        }
    }
  arena_end (kind->name, arena);
  printf ("# %s: %llu operations, %llu objects\n", kind->name, n,
          (unsigned long long) n_made);
}

/* As a test: some of each. */
static int
run_all (void)
{
  size_t n = sizeof kinds / sizeof *kinds;

  printf ("1..%zu\n", n);
  for (size_t i = 0; i < n; i++)
    {
      run (&kinds[i], N_QUICK);
      printf ("ok %zu - %s\n", i + 1, kinds[i].name);
    }
  return 0;
}

int
main (int argc, char **argv)
{
  state = 1;
  if (argc < 4)
    return run_all ();
  state = strtoull (argv[3], NULL, 10) * 2 + 1;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp (argv[1], kinds[i].name) == 0)
      {
        run (&kinds[i], strtoull (argv[2], NULL, 10));
        return 0;
      }
  fprintf (stderr, "usage: arenas [KIND OPERATIONS SEED]\n");
  return 2;
}
