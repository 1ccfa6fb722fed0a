/* annotate-misuse.c - one bad access, which a tool must report
 *
 *   annotate-misuse CASE       the bad access of that name
 *   annotate-misuse --good     the same calls without any
 *   annotate-misuse --reachable  ends with arenas that have objects
 *   annotate-misuse --list     the names
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include <slice/arena.h>
#include <slice/ralloc.h>

static bool is_bad;

/* Reads past the object, or after its end, if it may be bad. */
__attribute__ ((noinline)) static void
touch (const char *address)
{
  if (is_bad && *(const volatile char *) address == 77)
    puts ("seventy-seven");
}

/* An object that has been written to. */
static char *
filled (void *object, size_t size)
{
  return memset (object, 0, size);
}

static void
linear_overrun (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *object = slice_linear_alloc0 (linear, 21);

  touch (object + 21);
  slice_linear_destroy (linear);
}

static void
linear_reset (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *object = slice_linear_alloc0 (linear, 24);

  slice_linear_reset (linear, SLICE_KEEP_ALL);
  touch (object);
  slice_linear_destroy (linear);
}

static void
linear_rollback (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SliceMark mark;
  char *object;

  slice_linear_alloc (linear, 24);
  mark = slice_linear_mark (linear);
  object = slice_linear_alloc0 (linear, 24);
  slice_linear_rollback (linear, mark);
  touch (object);
  slice_linear_destroy (linear);
}

static void
linear_own_block (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *object = slice_linear_alloc0 (linear, 100001);

  touch (object + 100001);
  slice_linear_destroy (linear);
}

/* In a block of pages, which goes back to the shared spans. */
static char *
linear_far_object (SliceLinear *linear)
{
  for (int i = 0; i < 2000; i++)
    slice_linear_alloc (linear, 100);
  return slice_linear_alloc0 (linear, 100);
}

static void
linear_reset_none (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *object = linear_far_object (linear);

  slice_linear_reset (linear, SLICE_KEEP_NONE);
  touch (object);
  slice_linear_destroy (linear);
}

static void
linear_destroy (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *object = linear_far_object (linear);

  slice_linear_destroy (linear);
  touch (object);
}

static void
stack_overrun (void)
{
  SliceStack *stack = slice_stack_new (NULL);
  char *object = filled (slice_stack_alloc (stack, 40), 40);

  touch (object + 40);
  slice_stack_destroy (stack);
}

static void
stack_release (void)
{
  SliceStack *stack = slice_stack_new (NULL);
  char *object = filled (slice_stack_alloc (stack, 40), 40);

  slice_stack_release (stack, object);
  touch (object + 39);
  slice_stack_destroy (stack);
}

static void
stack_reset (void)
{
  SliceStack *stack = slice_stack_new (NULL);
  char *object = filled (slice_stack_alloc (stack, 40), 40);

  slice_stack_reset (stack, SLICE_KEEP_ALL);
  touch (object);
  slice_stack_destroy (stack);
}

static void
pool_overrun (void)
{
  SlicePool *pool = slice_pool_new_plain (32);
  char *object = filled (slice_pool_alloc (pool), 32);

  touch (object + 32);
  slice_pool_destroy (pool);
}

static void
pool_free (void)
{
  SlicePool *pool = slice_pool_new_plain (32);
  char *object = filled (slice_pool_alloc (pool), 32);

  slice_pool_free (pool, object);
  touch (object);
  slice_pool_destroy (pool);
}

static void
pool_reset (void)
{
  SlicePool *pool = slice_pool_new_plain (32);
  char *object = filled (slice_pool_alloc (pool), 32);

  slice_pool_reset (pool, SLICE_KEEP_ALL);
  touch (object);
  slice_pool_destroy (pool);
}

static void
tlsf_overrun (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  char *object = filled (slice_tlsf_alloc (tlsf, 50), 50);

  touch (object + 50);
  slice_tlsf_destroy (tlsf);
}

/* Where the compiler does not see how it was allocated. */
__attribute__ ((noinline)) static size_t
tlsf_usable (const SliceTlsf *tlsf, const void *object)
{
  return slice_tlsf_object_bytes (tlsf, object);
}

static bool
tell_usable (const void *object, size_t bytes, bool is_live, void *data)
{
  (void) data;
  if (is_live)
    memset ((void *) (uintptr_t) object, 0, bytes);
  return true;
}

/* All that may be used, they say, may be. */
static void
tlsf_use_usable (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);

  for (size_t size = 1; size < 80; size += 13)
    {
      char *object = slice_tlsf_alloc (tlsf, size);

      filled (object, tlsf_usable (tlsf, object));
      object = slice_tlsf_resize (tlsf, object, 2 * size);
      filled (object, tlsf_usable (tlsf, object));
      object = slice_tlsf_alloc_aligned (tlsf, 64, size);
      filled (object, tlsf_usable (tlsf, object));
      slice_tlsf_walk (tlsf, tell_usable, NULL);
      touch (object + tlsf_usable (tlsf, object));
    }
  slice_tlsf_destroy (tlsf);
}

static void
tlsf_underrun (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  char *object = filled (slice_tlsf_alloc (tlsf, 50), 50);

  touch (object - 1);
  slice_tlsf_destroy (tlsf);
}

static void
tlsf_free (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  char *object = filled (slice_tlsf_alloc (tlsf, 50), 50);

  slice_tlsf_free (tlsf, object);
  touch (object);
  slice_tlsf_destroy (tlsf);
}

static void
tlsf_reset (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  char *object = filled (slice_tlsf_alloc (tlsf, 50), 50);

  slice_tlsf_reset (tlsf, SLICE_KEEP_ALL);
  touch (object);
  slice_tlsf_destroy (tlsf);
}

/* What an object has given back, with others around it. */
static void
linear_shrink (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  char *object = slice_linear_alloc0 (linear, 200);

  slice_linear_alloc (linear, 24);
  object = slice_linear_resize (linear, object, 200, 50);
  touch (object + 150);
  slice_linear_destroy (linear);
}

static void
stack_shrink (void)
{
  SliceStack *stack = slice_stack_new (NULL);
  char *object = filled (slice_stack_alloc (stack, 200), 200);

  object = slice_stack_resize (stack, object, 200, 50);
  touch (object + 150);
  slice_stack_destroy (stack);
}

static void
tlsf_shrink (void)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  char *object = filled (slice_tlsf_alloc (tlsf, 200), 200);

  slice_tlsf_alloc (tlsf, 24);
  object = slice_tlsf_resize (tlsf, object, 50);
  touch (object + 180);
  slice_tlsf_destroy (tlsf);
}

static const struct
{
  const char *name;
  void (*run) (void);
} cases[] = {
  { "linear-overrun", linear_overrun },
  { "linear-reset", linear_reset },
  { "linear-reset-none", linear_reset_none },
  { "linear-rollback", linear_rollback },
  { "linear-own-block", linear_own_block },
  { "linear-destroy", linear_destroy },
  { "linear-shrink", linear_shrink },
  { "stack-overrun", stack_overrun },
  { "stack-release", stack_release },
  { "stack-reset", stack_reset },
  { "stack-shrink", stack_shrink },
  { "pool-overrun", pool_overrun },
  { "pool-free", pool_free },
  { "pool-reset", pool_reset },
  { "tlsf-overrun", tlsf_overrun },
  { "tlsf-underrun", tlsf_underrun },
  { "tlsf-usable", tlsf_use_usable },
  { "tlsf-free", tlsf_free },
  { "tlsf-reset", tlsf_reset },
  { "tlsf-shrink", tlsf_shrink },
};

/* The first byte of an object that is resized to 0 bytes is the program's. */
static void
resize_to_zero (void)
{
  SliceLinear *linear = slice_linear_new (NULL);
  SliceStack *stack = slice_stack_new (NULL);
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  char *object = slice_linear_alloc (linear, 100);

  object = slice_linear_resize (linear, object, 100, 0);
  *(volatile char *) object = 42;
  object = slice_stack_alloc (stack, 100);
  object = slice_stack_resize (stack, object, 100, 0);
  *(volatile char *) object = 42;
  object = slice_tlsf_alloc (tlsf, 100);
  object = slice_tlsf_resize (tlsf, object, 0);
  *(volatile char *) object = 42;
  slice_tlsf_destroy (tlsf);
  slice_stack_destroy (stack);
  slice_linear_destroy (linear);
}

/* --- everything is reachable at exit --- */

static void *volatile root, *volatile plain, *volatile objects[5];

/* The only pointers to some blocks are in records of arenas and in the links of
 * a context. */
static __attribute__ ((noinline)) void
make_reachable (void)
{
  SliceLinear *linear;
  SliceStack *stack;
  SlicePool *pool;
  SliceTlsf *tlsf;

  root = ralloc_context (NULL);
  ralloc_size (root, 10);
  linear = slice_linear_new_in (root, NULL);
  stack = slice_stack_new_in (root, NULL);
  pool = slice_pool_new_in (
      root, &(SlicePoolOptions){ .object_bytes = 48 });
  tlsf = slice_tlsf_new_in (root, NULL);
  ralloc_size (root, 10);
  objects[0] = slice_linear_alloc (linear, 40);
  objects[1] = slice_stack_alloc (stack, 40);
  objects[2] = slice_pool_alloc (pool);
  objects[3] = slice_tlsf_alloc (tlsf, 40);
  linear = slice_linear_new (NULL);
  plain = linear;
  for (unsigned i = 0; i < 5000; i++)
    {
      void **object = slice_linear_alloc (linear, 40);

      *object = objects[4];
      objects[4] = object;
    }
}

static __attribute__ ((noinline)) void
overwrite_stack (void)
{
  volatile char bytes[8000];

  memset ((void *) bytes, 0, sizeof bytes);
}

int
main (int argc, char **argv)
{
  const char *name = argc > 1 ? argv[1] : "--list";
  bool is_good = strcmp (name, "--good") == 0;

  if (strcmp (name, "--reachable") == 0)
    {
      make_reachable ();
      overwrite_stack ();
      return 0;
    }
  is_bad = !is_good;
  if (is_good)
    resize_to_zero ();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    if (strcmp (name, "--list") == 0)
      puts (cases[i].name);
    else if (is_good || strcmp (name, cases[i].name) == 0)
      cases[i].run ();
  return 0;
}
