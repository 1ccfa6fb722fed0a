/* aliasing.c - what compilers may assume of a new block, and must not
 *
 * For check-aliasing.sh, which compiles it with each compiler, at each level
 * of optimisation, with and without link-time optimisation.  Valid C and C++.
 *
 * A function with SLICE_ATTR_MALLOC promises that no pointer to anything lies
 * in its block, and that its result is the only way to the block.  A compiler
 * that believes a false promise reads a stale value, or drops a store.  Each
 * case here has one right result; `expected' stands beside it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/libslice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__ ((noinline))

typedef struct
{
  int *target;
  int number;
} Holder;

enum
{
  STALE = 11, /* what the stale value gives in COPY and FILL */
  FRESH = 51,
  LEFT = 7,   /* what a case leaves in an object to be found again */
  BUFFER_BYTES = 64 * 1024
};

/* The copy of a holder still points to `x'. */
#define COPY(name, make)                                                      \
  static NOINLINE int copy_##name (void *in)                                  \
  {                                                                           \
    int x = 1, before;                                                        \
    Holder holder = { &x, 0 }, *copy;                                         \
    (void) in;                                                                \
    copy = (Holder *) (make);                                                 \
    before = x;                                                               \
    *copy->target = 5;                                                        \
    return x * 10 + before;                                                   \
  }

/* A pointer that the caller stores into a new block points where it says, and
 * two blocks are two. */
#define FILL(name, make)                                                      \
  static NOINLINE int fill_##name (void *in)                                  \
  {                                                                           \
    int x = 1, before;                                                        \
    Holder *one, *two;                                                        \
    (void) in;                                                                \
    one = (Holder *) (make);                                                  \
    two = (Holder *) (make);                                                  \
    one->target = &x;                                                         \
    two->target = &x;                                                         \
    one->number = 3;                                                          \
    two->number = 4;                                                          \
    before = x;                                                               \
    *one->target = 5;                                                         \
    return one->number == 3 && two->number == 4 ? x * 10 + before : -1;       \
  }

/* As COPY, for strings: another string, of the same text. */
#define TEXT(name, make)                                                      \
  static NOINLINE int text_##name (void *in)                                  \
  {                                                                           \
    char text[] = "aliasing", *one, *two;                                     \
    (void) in;                                                                \
    one = (char *) (make);                                                    \
    two = (char *) (make);                                                    \
    text[0] = 'A';                                                            \
    one[1] = 'L';                                                             \
    return strcmp (one, "aLiasing") == 0 && strcmp (two, "aliasing") == 0     \
                   && strcmp (text, "Aliasing") == 0                          \
               ? FRESH                                                        \
               : STALE;                                                       \
  }

#define BYTES sizeof (Holder)

/* --- blocks --------------------------------------------------------------- */

FILL (slice_alloc, slice_alloc (BYTES))
FILL (slice_alloc0, slice_alloc0 (BYTES))
FILL (slice_try_alloc, slice_try_alloc (BYTES))
FILL (slice_try_alloc0, slice_try_alloc0 (BYTES))
FILL (slice_alloc_n, slice_alloc_n (1, BYTES))
FILL (slice_alloc0_n, slice_alloc0_n (1, BYTES))
FILL (slice_try_alloc_n, slice_try_alloc_n (1, BYTES))
FILL (slice_alloc_aligned, slice_alloc_aligned (64, BYTES))
FILL (slice_alloc0_aligned, slice_alloc0_aligned (64, BYTES))
FILL (slice_try_alloc_aligned, slice_try_alloc_aligned (64, BYTES))
FILL (slice_try_alloc0_aligned, slice_try_alloc0_aligned (64, BYTES))
FILL (slice_new, slice_new (Holder))
FILL (slice_try_new, slice_try_new (Holder))
COPY (slice_copy, slice_copy (BYTES, &holder))
COPY (slice_dup, slice_dup (Holder, &holder))

/* --- contexts ------------------------------------------------------------- */

FILL (ralloc_size, ralloc_size (in, BYTES))
FILL (rzalloc_size, rzalloc_size (in, BYTES))
FILL (ralloc_array_size, ralloc_array_size (in, BYTES, 1))
FILL (rzalloc_array_size, rzalloc_array_size (in, BYTES, 1))
COPY (ralloc_memdup, ralloc_memdup (in, &holder, BYTES))
COPY (reralloc_size,
      reralloc_size (in, ralloc_memdup (in, &holder, BYTES), 1000))
TEXT (ralloc_strdup, ralloc_strdup (in, text))
TEXT (ralloc_strndup, ralloc_strndup (in, text, 100))
TEXT (ralloc_asprintf, ralloc_asprintf (in, "%s", text))

#define IN_LINEAR (ralloc_linear_context (in))

FILL (ralloc_linear_alloc_child, ralloc_linear_alloc_child (IN_LINEAR, BYTES))
FILL (ralloc_linear_zalloc_child,
      ralloc_linear_zalloc_child (IN_LINEAR, BYTES))
FILL (ralloc_linear_alloc_child_array,
      ralloc_linear_alloc_child_array (IN_LINEAR, BYTES, 1))
FILL (ralloc_linear_zalloc_child_array,
      ralloc_linear_zalloc_child_array (IN_LINEAR, BYTES, 1))
FILL (ralloc_linear_alloc_parent, ralloc_linear_alloc_parent (in, BYTES))
FILL (ralloc_linear_zalloc_parent, ralloc_linear_zalloc_parent (in, BYTES))
COPY (ralloc_linear_memdup,
      ralloc_linear_memdup (IN_LINEAR, &holder, BYTES))
TEXT (ralloc_linear_strdup, ralloc_linear_strdup (IN_LINEAR, text))
TEXT (ralloc_linear_asprintf,
      ralloc_linear_asprintf (IN_LINEAR, "%s", text))

FILL (ralloc_gc_alloc_size,
      ralloc_gc_alloc_size (ralloc_gc_context (in), BYTES, 8))
FILL (ralloc_gc_zalloc_size,
      ralloc_gc_zalloc_size (ralloc_gc_context (in), BYTES, 8))

/* --- arenas --------------------------------------------------------------- */

#define LINEAR (slice_linear_new_in (in, NULL))

FILL (slice_linear_alloc, slice_linear_alloc (LINEAR, BYTES))
FILL (slice_linear_alloc0, slice_linear_alloc0 (LINEAR, BYTES))
FILL (slice_linear_alloc_n, slice_linear_alloc_n (LINEAR, 1, BYTES))
FILL (slice_linear_alloc_aligned,
      slice_linear_alloc_aligned (LINEAR, 64, BYTES))
COPY (slice_linear_copy, slice_linear_copy (LINEAR, BYTES, &holder))
TEXT (slice_linear_strdup, slice_linear_strdup (LINEAR, text))
TEXT (slice_linear_strndup, slice_linear_strndup (LINEAR, text, 100))
TEXT (slice_linear_printf, slice_linear_printf (LINEAR, "%s", text))

/* What the constructor stored is in the object that is handed out. */
static int constructed_target;

static bool
construct (void *object, void *data)
{
  Holder *holder = (Holder *) object;

  holder->target = (int *) data;
  return true;
}

/* And what the program stored is there for the destructor. */
static int destructed_number;

static void
destruct (void *object, void *data)
{
  (void) data;
  destructed_number += ((Holder *) object)->number;
}

static SlicePool *
pool_of_holders (void)
{
  SlicePoolOptions options;

  memset (&options, 0, sizeof options);
  options.object_bytes = sizeof (Holder);
  options.construct = construct;
  options.destruct = destruct;
  options.data = &constructed_target;
  return slice_pool_new (&options);
}

static NOINLINE int
pool_constructed (void *in)
{
  SlicePool *pool = pool_of_holders ();
  Holder *object;
  int before, result;

  (void) in;
  constructed_target = 1;
  object = (Holder *) slice_pool_alloc (pool);
  before = constructed_target;
  *object->target = 5;
  result = constructed_target * 10 + before;
  slice_pool_destroy (pool);
  return result;
}

static NOINLINE void
leave_in_pool (SlicePool *pool)
{
  Holder *object = (Holder *) slice_pool_alloc (pool);

  object->number = LEFT;
}

static NOINLINE int
pool_destructed (void *in)
{
  SlicePool *pool = pool_of_holders ();

  (void) in;
  destructed_number = 0;
  leave_in_pool (pool);
  slice_pool_destroy (pool);
  return destructed_number;
}

/* An object that the program holds no pointer to is found by a walk. */
static bool
add_number (const void *object, size_t bytes, bool is_live, void *data)
{
  (void) bytes;
  if (is_live)
    *(int *) data += ((const Holder *) object)->number;
  return true;
}

static NOINLINE void
leave_in_heap (SliceTlsf *heap)
{
  Holder *object = (Holder *) slice_tlsf_alloc (heap, sizeof *object);
  Holder *aligned
      = (Holder *) slice_tlsf_alloc_aligned (heap, 64, sizeof *aligned);

  object->number = LEFT - 1;
  aligned->number = 1;
}

static NOINLINE int
heap_walked (void *in)
{
  SliceTlsf *heap = slice_tlsf_new (NULL);
  int number = 0;

  (void) in;
  leave_in_heap (heap);
  slice_tlsf_walk (heap, add_number, &number);
  slice_tlsf_destroy (heap);
  return number;
}

/* Or in the memory that the program gave an arena: it may be a file. */
static unsigned char buffer[BUFFER_BYTES];

/* The longest row of one byte, but no more than LEFT: what lies beside it may
 * be an address with that byte. */
static int
row_in_buffer (unsigned char byte)
{
  int length = 0, longest = 0;

  for (int i = 0; i < BUFFER_BYTES; i++)
    {
      length = buffer[i] == byte ? length + 1 : 0;
      longest = length > longest ? length : longest;
    }
  return longest < LEFT ? longest : LEFT;
}

/* What lies in the buffer after `statements', which make an arena over it by
 * `options'. */
#define IN_BUFFER(name, statements)                                           \
  static NOINLINE void leave_##name (const SliceArenaOptions *options)        \
  {                                                                           \
    statements                                                                \
  }                                                                           \
  static NOINLINE int buffer_##name (void *in)                                \
  {                                                                           \
    SliceArenaOptions options;                                                \
    (void) in;                                                                \
    memset (buffer, 0, sizeof buffer);                                        \
    memset (&options, 0, sizeof options);                                     \
    options.source = slice_source_fixed_new (buffer, sizeof buffer);          \
    leave_##name (&options);                                                  \
    return row_in_buffer (0xc7);                                            \
  }

#define MARK(object) memset ((object), 0xc7, LEFT)

IN_BUFFER (linear_alloc,
           MARK (slice_linear_alloc (slice_linear_new (options), 8));)
IN_BUFFER (linear_alloc0,
           MARK (slice_linear_alloc0 (slice_linear_new (options), 8));)
IN_BUFFER (linear_alloc_n,
           MARK (slice_linear_alloc_n (slice_linear_new (options), 1, 8));)
IN_BUFFER (linear_alloc_aligned,
           MARK (slice_linear_alloc_aligned (slice_linear_new (options), 32,
                                             8));)
IN_BUFFER (linear_copy,
           MARK (slice_linear_copy (slice_linear_new (options), 8,
                                    "        "));)
IN_BUFFER (linear_strdup,
           MARK (slice_linear_strdup (slice_linear_new (options),
                                      "        "));)
IN_BUFFER (linear_printf,
           MARK (slice_linear_printf (slice_linear_new (options), "%s",
                                      "        "));)
IN_BUFFER (stack_alloc,
           MARK (slice_stack_alloc (slice_stack_new (options), 8));)
IN_BUFFER (stack_alloc_aligned,
           MARK (slice_stack_alloc_aligned (slice_stack_new (options), 32,
                                            8));)
IN_BUFFER (tlsf_alloc, MARK (slice_tlsf_alloc (slice_tlsf_new (options), 8));)

/* --- all of them ---------------------------------------------------------- */

typedef struct
{
  const char *name;
  int (*run) (void *in);
  int expected;
} Case;

#define CASE(kind, name, expected) { #kind " " #name, kind##_##name, expected }

static const Case cases[] = {
  CASE (fill, slice_alloc, FRESH),
  CASE (fill, slice_alloc0, FRESH),
  CASE (fill, slice_try_alloc, FRESH),
  CASE (fill, slice_try_alloc0, FRESH),
  CASE (fill, slice_alloc_n, FRESH),
  CASE (fill, slice_alloc0_n, FRESH),
  CASE (fill, slice_try_alloc_n, FRESH),
  CASE (fill, slice_alloc_aligned, FRESH),
  CASE (fill, slice_alloc0_aligned, FRESH),
  CASE (fill, slice_try_alloc_aligned, FRESH),
  CASE (fill, slice_try_alloc0_aligned, FRESH),
  CASE (fill, slice_new, FRESH),
  CASE (fill, slice_try_new, FRESH),
  CASE (copy, slice_copy, FRESH),
  CASE (copy, slice_dup, FRESH),
  CASE (fill, ralloc_size, FRESH),
  CASE (fill, rzalloc_size, FRESH),
  CASE (fill, ralloc_array_size, FRESH),
  CASE (fill, rzalloc_array_size, FRESH),
  CASE (copy, ralloc_memdup, FRESH),
  CASE (copy, reralloc_size, FRESH),
  CASE (text, ralloc_strdup, FRESH),
  CASE (text, ralloc_strndup, FRESH),
  CASE (text, ralloc_asprintf, FRESH),
  CASE (fill, ralloc_linear_alloc_child, FRESH),
  CASE (fill, ralloc_linear_zalloc_child, FRESH),
  CASE (fill, ralloc_linear_alloc_child_array, FRESH),
  CASE (fill, ralloc_linear_zalloc_child_array, FRESH),
  CASE (fill, ralloc_linear_alloc_parent, FRESH),
  CASE (fill, ralloc_linear_zalloc_parent, FRESH),
  CASE (copy, ralloc_linear_memdup, FRESH),
  CASE (text, ralloc_linear_strdup, FRESH),
  CASE (text, ralloc_linear_asprintf, FRESH),
  CASE (fill, ralloc_gc_alloc_size, FRESH),
  CASE (fill, ralloc_gc_zalloc_size, FRESH),
  CASE (fill, slice_linear_alloc, FRESH),
  CASE (fill, slice_linear_alloc0, FRESH),
  CASE (fill, slice_linear_alloc_n, FRESH),
  CASE (fill, slice_linear_alloc_aligned, FRESH),
  CASE (copy, slice_linear_copy, FRESH),
  CASE (text, slice_linear_strdup, FRESH),
  CASE (text, slice_linear_strndup, FRESH),
  CASE (text, slice_linear_printf, FRESH),
  CASE (pool, constructed, FRESH),
  CASE (pool, destructed, LEFT),
  CASE (heap, walked, LEFT),
  CASE (buffer, linear_alloc, LEFT),
  CASE (buffer, linear_alloc0, LEFT),
  CASE (buffer, linear_alloc_n, LEFT),
  CASE (buffer, linear_alloc_aligned, LEFT),
  CASE (buffer, linear_copy, LEFT),
  CASE (buffer, linear_strdup, LEFT),
  CASE (buffer, linear_printf, LEFT),
  CASE (buffer, stack_alloc, LEFT),
  CASE (buffer, stack_alloc_aligned, LEFT),
  CASE (buffer, tlsf_alloc, LEFT),
};

int
main (void)
{
  int n_wrong = 0;
  unsigned n_cases = sizeof cases / sizeof cases[0];

  for (unsigned i = 0; i < n_cases; i++)
    {
      void *in = ralloc_context (NULL);
      int result = cases[i].run (in);

      ralloc_free (in);
      if (result != cases[i].expected)
        {
          printf ("%s: %d, not %d\n", cases[i].name, result,
                  cases[i].expected);
          n_wrong++;
        }
    }
  return n_wrong != 0;
}
