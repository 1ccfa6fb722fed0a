/* test-misuse.c - bad frees: which end at once, and with which words
 *
 * In the default mode a second free of the block freed last ends at the call;
 * any other bad free is found when the pointer comes back to its slab, so
 * these tests trim.  With debug-blocks all are found at the call.
 *
 * SPDX-License-Identifier: MIT
 */
/* Compilers see some of the misuse. */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wmismatched-dealloc"
#pragma GCC diagnostic ignored "-Wfree-nonheap-object"
#pragma GCC diagnostic ignored "-Wuse-after-free"

#include "config.h"

#include "tests/testlib.h"
#include "port/os/os.h"
#include "tests/teststats.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a message names in place of a call. */
#define FLUSH "flush of a magazine"

/* Expects the end in the form that all misuse has. */
static void
expect (int number, const char *operation, const char *text,
        const void *block, const char *sizes, size_t class_bytes)
{
  char class[16] = "malloc";

  if (class_bytes != 0)
    g_snprintf (class, sizeof class, "%zu", class_bytes);
  test_will_die ("slice: error %d: %s: %s: block %p, given size %s "
                 "[class %s, thread %u]",
                 number, operation, text, block, sizes, class,
                 test_thread_id ());
}

/* --- the default: found at the return to the slab --- */

static void
death_freed_twice (void)
{
  void *block = slice_alloc (40);

  slice_free1 (40, block);
  expect (101, "slice_free1", "block freed twice in a row", block, "40", 40);
  slice_free1 (40, block);
}

/* The same inline: the magazine is not full. */
static void
death_freed_twice_inline (void)
{
  void *block = slice_alloc (40), *other = slice_alloc (40);

  slice_free1 (40, block);
  expect (101, "slice_free1", "block freed twice in a row", block, "40", 40);
  slice_free1 (40, block);
  slice_free1 (40, other);
}

static void
death_freed_twice_later (void)
{
  void *a = slice_alloc (40), *b = slice_alloc (40);

  slice_free1 (40, a);
  slice_free1 (40, b);
  slice_free1 (40, a);
  expect (105, FLUSH, "block is free already", a, "40, real size 40", 40);
  slice_trim (0);
}

/* The last block of a slab: it goes back to the pages by the first free. */
static void
death_freed_again_without_slab (void)
{
  void *block = slice_alloc (2064);

  slice_free1 (2064, block);
  slice_trim (0);
  slice_free1 (2064, block);
  expect (112, FLUSH, "not in a slab: freed before, or never a block", block,
          "2064", 2064);
  slice_trim (0);
}

static void
death_foreign (void)
{
  void *block = malloc (40);

  slice_free1 (40, slice_alloc (40));
  slice_free1 (40, block);
  expect (102, FLUSH, "not a block of this allocator", block, "40", 40);
  slice_trim (0);
}

static void
death_wrong_class (void)
{
  void *block = slice_alloc (48);

  slice_free1 (40, slice_alloc (40));
  slice_free1 (40, block);
  expect (103, FLUSH, "block freed with a wrong size", block,
          "40, real size 48", 40);
  slice_trim (0);
}

static void
death_too_large (void)
{
  void *block = slice_alloc (48);

  expect (103, "slice_free1", "block freed with a wrong size", block,
          "5000, real size 48", 0);
  slice_free1 (5000, block);
}

static void
death_size_0 (void)
{
  void *block = slice_alloc (48);

  test_will_die ("slice: error 103: slice_free1: block freed with a wrong "
                 "size: block %p, given size 0 [class 0, thread %u]",
                 block, test_thread_id ());
  slice_free1 (0, block);
}

static void
death_interior (void)
{
  char *block = slice_alloc (48);

  slice_free1 (48, block + 8);
  expect (104, FLUSH, "not the start of a block", block + 8,
          "48, real size 48", 48);
  slice_trim (0);
}

static void
death_never_allocated (void)
{
  char *block = slice_alloc (48);

  slice_free1 (48, block + 48 * 200);
  expect (106, FLUSH, "block was never allocated", block + 48 * 200,
          "48, real size 48", 48);
  slice_trim (0);
}

/* Straight to the slabs: at the call. */
static void
death_bypass (void)
{
  void *a, *b;

  test_options ("bypass-magazines");
  a = slice_alloc (40);
  b = slice_alloc (40);
  slice_free1 (40, a);
  expect (105, "slice_free1", "block is free already", a, "40, real size 40",
          40);
  slice_free1 (40, a);
  slice_free1 (40, b);
}

static void
death_bulk_foreign (void)
{
  int local;
  void *blocks[3] = { slice_alloc (8), &local, slice_alloc (8) };

  test_will_die ("slice: error 102: slice_free_bulk: not a block of this "
                 "allocator: block %p, given size unknown "
                 "[class unknown, thread %u]",
                 (void *) &local, test_thread_id ());
  slice_free_bulk (3, blocks);
}

/* --- the checking modes: found at the call --- */

static const char *const checking[] = { "checked", "hardened", "debug" };
static const char *mode;
static bool among_mallocs; /* always-malloc, too */

static void
set_mode (size_t i)
{
  static char options[64];

  g_snprintf (options, sizeof options, "%s%s", checking[i],
              among_mallocs ? " always-malloc" : "");
  mode = options;
}

static void
expect_clean_in_modes (TestBody body)
{
  for (size_t i = 0; i < G_N_ELEMENTS (checking); i++)
    {
      int status;
      char *said;

      set_mode (i);
      said = test_capture (body, &status);
      g_assert_cmpstr (said, ==, "");
      g_assert_cmpint (status, ==, 0);
      g_free (said);
    }
}

static void
expect_in_modes (TestBody body, const char *pattern)
{
  for (size_t i = 0; i < G_N_ELEMENTS (checking); i++)
    {
      int status;
      char *said;

      set_mode (i);
      said = test_capture (body, &status);
      if (!WIFSIGNALED (status) || WTERMSIG (status) != SIGABRT
          || !g_pattern_match_simple (pattern, said))
        g_error ("%s: status %d, said\n%s\nnot\n%s", mode, status, said,
                 pattern);
      g_free (said);
    }
}

typedef struct Wild Wild;
struct Wild
{
  Wild *next;
  int values[5];
};

static void
wild_chain (size_t size)
{
  Wild *first;

  test_options (mode);
  first = slice_alloc (size);
  first->next = (Wild *) 0x1238;
  slice_free_chain_with_offset (size, first, offsetof (Wild, next));
}

static void
wild_chain_small (void)
{
  wild_chain (sizeof (Wild));
}

static void
wild_chain_large (void)
{
  wild_chain (5000);
}

static void
wild_chain_aligned (void)
{
  Wild *first;

  test_options (mode);
  first = slice_alloc_aligned (64, 128);
  first->next = (Wild *) 0x1240;
  slice_free_chain_aligned (64, 128, first, offsetof (Wild, next));
}

/* What is right goes, through blocks of every kind. */
static void
right_chain (void)
{
  static const size_t sizes[] = { 16, 40, 4080, 5000 };

  test_options (mode);
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      Wild *first = slice_alloc (sizes[i]);

      first->next = slice_alloc (sizes[i]);
      first->next->next = NULL;
      slice_free_chain_with_offset (sizes[i], first, offsetof (Wild, next));
    }
}

static void
test_wild_chain (void)
{
  expect_in_modes (wild_chain_small,
                   "slice: error 102: slice_free_chain: not a block of this "
                   "allocator: block 0x1238, *");
  expect_in_modes (wild_chain_large, "slice: error 108: slice_free_chain: not "
                                     "a live block: block 0x1238, *");
  expect_in_modes (wild_chain_aligned, "slice: error 10?: slice_free_chain: *: "
                                       "block 0x1240, *");
  expect_clean_in_modes (right_chain);
}

/* Nor is a link followed where each block is a malloc. */
static void
test_wild_chain_of_mallocs (void)
{
  static const TestBody chains[]
      = { wild_chain_small, wild_chain_large, wild_chain_aligned };

  among_mallocs = true;
  for (size_t i = 0; i < G_N_ELEMENTS (chains); i++)
    expect_in_modes (chains[i], "slice: error 108: slice_free_chain: not a "
                                "live block: block 0x12*");
  expect_clean_in_modes (right_chain);
  among_mallocs = false;
}

static void
bulk_large (void)
{
  void *block;

  test_options (mode);
  block = slice_alloc (5000);
  slice_free_bulk (1, &block);
}

static void
unsized_foreign (void)
{
  static char local[64];

  test_options (mode);
  slice_free1 (16, slice_alloc (16));
  slice_free_unsized (local + 32);
}

/* The program's first call: nothing is initialised before it. */
static char array[64];
static char *volatile never_a_block = array + 16; /* the compiler would warn */

static void
first_call_free (void)
{
  test_options (mode);
  slice_free1 (40, never_a_block);
  slice_trim (0);
}

static void
first_call_unsized (void)
{
  test_options (mode);
  slice_free_unsized (never_a_block);
}

static void
first_call_aligned (void)
{
  test_options (mode);
  slice_free_aligned (32, 40, never_a_block);
  slice_trim (0);
}

static void
first_call_bulk (void)
{
  void *block = never_a_block;

  test_options (mode);
  slice_free_bulk (1, &block);
}

/* What is no block has no link, either. */
static void
first_call_chain (void)
{
  test_options (mode);
  slice_free_chain_with_offset (40, (void *) 0x1238, 0);
}

static void
first_call_chain_aligned (void)
{
  test_options (mode);
  slice_free_chain_aligned (64, 128, (void *) 0x1240, 0);
}

static void
small_as_large (void)
{
  test_options (mode);
  slice_free1 (5000, slice_alloc (16));
}

static void
test_bulk_large (void)
{
  expect_in_modes (bulk_large,
                   "slice: error 102: slice_free_bulk: not a block of this "
                   "allocator: block 0x*, given size unknown*");
}

static void
test_unsized_is_named (void)
{
  expect_in_modes (unsized_foreign,
                   "slice: error 102: slice_free_unsized: not a block of "
                   "this allocator: *");
}

static void
test_first_call (void)
{
  static const TestBody bodies[]
      = { first_call_free, first_call_unsized, first_call_aligned,
          first_call_bulk, first_call_chain, first_call_chain_aligned };

  for (size_t i = 0; i < G_N_ELEMENTS (bodies); i++)
    expect_in_modes (bodies[i], "slice: error 10?: slice_free*: not a *");
}

static void
test_small_as_large (void)
{
  expect_in_modes (small_as_large,
                   "slice: error 103: slice_free1: block freed with a wrong "
                   "size: block 0x*, given size 5000, real size 16*");
}

static void
death_bulk_twice (void)
{
  void *blocks[3] = { slice_alloc (8), slice_alloc (8), NULL };

  blocks[2] = blocks[0];
  test_will_die ("slice: error 105: slice_free_bulk: block is free already: "
                 "block %p, given size unknown, real size 8 "
                 "[class 8, thread %u]",
                 blocks[0], test_thread_id ());
  slice_free_bulk (3, blocks);
}

typedef struct Node Node;
struct Node
{
  Node *next;
  char data[40 - sizeof (Node *)];
};

static void
death_cyclic_chain (void)
{
  Node *nodes[100];

  for (int i = 0; i < 100; i++)
    nodes[i] = slice_new (Node);
  for (int i = 0; i < 99; i++)
    nodes[i]->next = nodes[i + 1];
  nodes[99]->next = nodes[40];
  slice_free_chain (Node, nodes[0], next);
}

/* Which node the mark stands on is not promised; that it ends is. */
static void
test_cyclic_chain (void)
{
  int status;
  char *said = test_capture (death_cyclic_chain, &status);

  g_assert_true (g_pattern_match_simple (
      "slice: error 111: slice_free_chain: chain comes back to itself: "
      "block 0x*, given size 40 [class 40, thread *]\n",
      said));
  g_assert_cmpint (status, ==, SIGABRT);
  g_free (said);
}

static void
death_own_next (void)
{
  Node *node = slice_new (Node);

  node->next = node;
  expect (111, "slice_free_chain", "chain comes back to itself", node, "40",
          40);
  slice_free_chain (Node, node, next);
}

static void
death_aligned_as_other (void)
{
  void *block = slice_alloc (100);

  expect (103, "slice_free_aligned", "block freed with a wrong size", block,
          "100, real size 104", 104);
  slice_free_aligned (4096, 100, block);
}

/* The sizes are those that were asked for, and the wrong function is named
 * where the size is right. */
static void
aligned_as_plain (void)
{
  test_options (mode);
  slice_free1 (20, slice_alloc_aligned (16, 20));
}

static void
plain_as_aligned (void)
{
  test_options (mode);
  slice_free_aligned (16, 20, slice_alloc (20));
}

static void
plain_as_wide (void)
{
  test_options (mode);
  slice_free_aligned (64, 100, slice_alloc (100));
}

static void
wide_with_other_size (void)
{
  test_options (mode);
  slice_free_aligned (64, 90, slice_alloc_aligned (64, 100));
}

static void
aligned_with_other_size (void)
{
  test_options (mode);
  slice_free_aligned (16, 19, slice_alloc_aligned (16, 20));
}

/* What is right, in every manner, and what is asked of it meanwhile. */
static void
aligned_rightly (void)
{
  test_options (mode);
  for (size_t size = 1; size < 3000; size += 7)
    for (size_t alignment = 1; alignment <= 64; alignment *= 2)
      {
        void *block = slice_alloc_aligned (alignment, size);

        g_assert_cmpuint ((uintptr_t) block % alignment, ==, 0);
        g_assert_cmpuint (slice_debug_size (block), ==, size);
        slice_free_aligned (alignment, size, block);
        g_assert_cmpuint (slice_debug_size (block), ==, 0);
        slice_free_unsized (slice_alloc_aligned (alignment, size));
      }
}

static void
test_aligned_rightly (void)
{
  expect_clean_in_modes (aligned_rightly);
  among_mallocs = true;
  expect_clean_in_modes (aligned_rightly);
  among_mallocs = false;
}

static void
wide_as_plain (void)
{
  test_options (mode);
  slice_free1 (64, slice_alloc_aligned (32, 64));
}

static void
wide_as_plain_of_other_size (void)
{
  test_options (mode);
  slice_free1 (72, slice_alloc_aligned (32, 64));
}

static void
aligned_as_plain_of_other_size (void)
{
  test_options (mode);
  slice_free1 (21, slice_alloc_aligned (16, 20));
}

static void
plain_as_aligned_of_other_size (void)
{
  test_options (mode);
  slice_free_aligned (16, 64, slice_alloc (40));
}

static void
aligned_of_no_size (void)
{
  test_options (mode);
  slice_free_aligned (16, 0, slice_alloc_aligned (16, 20));
}

static void
array_with_other_size (void)
{
  test_options (mode);
  slice_free_n (3, 8, slice_alloc_n (2, 8));
}

/* The first call of the process. */
static void
array_of_no_block (void)
{
  static char data[64];
  void *volatile unknown = data + 16; /* to the compiler */

  test_options (mode);
  slice_free_n (2, 8, unknown);
}

static void
chain_with_other_size (void)
{
  Wild *only;

  test_options (mode);
  only = slice_alloc (40);
  only->next = NULL;
  slice_free_chain_with_offset (48, only, offsetof (Wild, next));
}

#define WRONG_SIZE "block freed with a wrong size: block 0x*, "

static void
test_aligned_in_modes (void)
{
  expect_in_modes (aligned_as_plain,
                   "slice: error 103: slice_free1: " WRONG_SIZE
                   "given size 20, real size 20, from slice_alloc_aligned*");
  expect_in_modes (plain_as_aligned,
                   "slice: error 103: slice_free_aligned: " WRONG_SIZE
                   "given size 20, real size 20, not from "
                   "slice_alloc_aligned*");
  expect_in_modes (plain_as_wide,
                   "slice: error 103: slice_free_aligned: " WRONG_SIZE
                   "given size 100, real size 100, not from "
                   "slice_alloc_aligned*");
  expect_in_modes (aligned_with_other_size,
                   "slice: error 103: slice_free_aligned: " WRONG_SIZE
                   "given size 19, real size 20*");
  expect_in_modes (wide_with_other_size,
                   "slice: error 109: slice_free_aligned: live block has "
                   "another size: block 0x*, given size 90, real size 100*");
  expect_in_modes (wide_as_plain,
                   "slice: error 103: slice_free1: " WRONG_SIZE
                   "given size 64, real size 64, from slice_alloc_aligned*");
  expect_in_modes (wide_as_plain_of_other_size,
                   "slice: error 103: slice_free1: " WRONG_SIZE
                   "given size 72, real size 64, from slice_alloc_aligned*");
  expect_in_modes (aligned_as_plain_of_other_size,
                   "slice: error 103: slice_free1: " WRONG_SIZE
                   "given size 21, real size 20, from slice_alloc_aligned*");
}

/* A fault is that of the function that was called. */
static void
test_caller_is_named (void)
{
  expect_in_modes (plain_as_aligned_of_other_size,
                   "slice: error 103: slice_free_aligned: " WRONG_SIZE
                   "given size 64, real size 40*");
  expect_in_modes (aligned_of_no_size,
                   "slice: error 103: slice_free_aligned: *");
  expect_in_modes (array_with_other_size,
                   "slice: error 103: slice_free_n: *");
  expect_in_modes (array_of_no_block, "slice: error 102: slice_free_n: *");
  expect_in_modes (chain_with_other_size,
                   "slice: error 103: slice_free_chain: *");
  among_mallocs = true;
  expect_in_modes (plain_as_aligned_of_other_size,
                   "slice: error 109: slice_free_aligned: *");
  expect_in_modes (array_with_other_size,
                   "slice: error 109: slice_free_n: *");
  expect_in_modes (chain_with_other_size,
                   "slice: error 109: slice_free_chain: *");
  among_mallocs = false;
}

/* --- always-malloc: glibc tells too small a block --- */

static void
death_malloc_too_small (void)
{
  const size_t size = 32 - sizeof (size_t); /* less the word before it */
  void *block;

  test_options ("always-malloc");
  block = slice_alloc (size);
  test_will_die ("slice: error 110: slice_free1: live block has another size: "
                 "block %p, given size 1000, real size %zu "
                 "[class 1008, thread %u]",
                 block, size, test_thread_id ());
  slice_free1 (1000, block);
}

/* --- debug-blocks: at the call, whatever the layers below --- */

static const char *layers = "always-malloc";

#define ALLOCATED ", allocated at /*+0x* by thread %u"
#define FREED ", freed at /*+0x* by thread %u"

/* Expects the registry to tell who allocated the block, and who freed it. */
static void
expect_known (int number, const char *operation, const char *text,
              const void *block, const char *sizes, size_t class_bytes,
              bool was_freed)
{
  unsigned self = test_thread_id ();
  char *who = was_freed
                  ? g_strdup_printf ("%s" ALLOCATED FREED, sizes, self, self)
                  : g_strdup_printf ("%s" ALLOCATED, sizes, self);

  expect (number, operation, text, block, who, class_bytes);
  g_free (who);
}

static void
begin_debug (void)
{
  char *options = g_strconcat ("debug-blocks ", layers, NULL);

  test_options (options);
  g_free (options);
}

static void
debug_double_free (void)
{
  void *a, *b;

  begin_debug ();
  a = slice_alloc (40);
  b = slice_alloc (40);
  slice_free1 (40, a);
  slice_free1 (40, b);
  expect_known (108, "slice_free1", "not a live block", a, "40", 40, true);
  slice_free1 (40, a);
}

static void
debug_wrong_size (void)
{
  void *block;

  begin_debug ();
  block = slice_alloc (40);
  expect_known (109, "slice_free1", "live block has another size", block,
                "400, real size 40", 400, false);
  slice_free1 (400, block);
}

static void
debug_same_class (void)
{
  void *block;

  begin_debug ();
  block = slice_alloc (41);
  expect_known (109, "slice_free1", "live block has another size", block,
                "48, real size 41", 48, false);
  slice_free1 (48, block);
}

static void
debug_foreign (void)
{
  void *block = malloc (40);

  begin_debug ();
  slice_free1 (40, slice_alloc (40));
  expect (108, "slice_free1", "not a live block", block, "40", 40);
  slice_free1 (40, block);
}

static void
debug_interior (void)
{
  char *block;

  begin_debug ();
  block = slice_alloc (40);
  expect (108, "slice_free1", "not a live block", block + 8, "32", 32);
  slice_free1 (32, block + 8);
}

static void
debug_double_in_chain (void)
{
  Node *a, *b;

  begin_debug ();
  a = slice_new (Node);
  b = slice_new (Node);
  a->next = b;
  b->next = NULL;
  slice_free (Node, b);
  b->next = NULL; /* as a bug would leave it */
  expect_known (108, "slice_free_chain", "not a live block", b, "40", 40,
                true);
  slice_free_chain (Node, a, next);
}

static void
debug_large (void)
{
  void *block;

  begin_debug ();
  block = slice_alloc (10000);
  expect_known (109, "slice_free1", "live block has another size", block,
                "10001, real size 10000", 0, false);
  slice_free1 (10001, block);
}

static void
debug_bulk (void)
{
  void *blocks[2];

  begin_debug ();
  blocks[0] = blocks[1] = slice_alloc (40);
  test_will_die ("slice: error 108: slice_free_bulk: not a live block: "
                 "block %p, given size unknown" ALLOCATED FREED
                 " [class unknown, thread %u]",
                 blocks[0], test_thread_id (), test_thread_id (),
                 test_thread_id ());
  slice_free_bulk (2, blocks);
}

static void
debug_aligned (void)
{
  void *block;

  begin_debug ();
  block = slice_alloc_aligned (4096, 100);
  slice_free_aligned (4096, 5000, block);
}

/* The message has the caller's address as well. */
static void
test_debug_aligned (void)
{
  int status;
  char *said = test_capture (debug_aligned, &status);

  g_assert_true (g_pattern_match_simple (
      "slice: error 109: slice_free_aligned: live block has another size: "
      "block 0x*, given size 5000, real size 100* [class malloc, thread *]\n",
      said));
  g_assert_cmpint (status, ==, SIGABRT);
  g_free (said);
}

static const struct
{
  const char *path;
  TestBody body;
} debug_deaths[] = {
  { "double-free", debug_double_free },
  { "wrong-size", debug_wrong_size },
  { "same-class-other-size", debug_same_class },
  { "foreign", debug_foreign },
  { "interior", debug_interior },
  { "double-in-a-chain", debug_double_in_chain },
  { "large", debug_large },
  { "bulk", debug_bulk },
};

/* The setup of a test runs before its body: a layer a program of deaths. */
static void
add_debug_deaths (void)
{
  /* (A tool would be there first.) */
  for (size_t i = 0;
       sli_os_memory_tool () == NULL && i < G_N_ELEMENTS (debug_deaths); i++)
    {
      char *path = g_strconcat ("/slice/misuse/debug-blocks/",
                                debug_deaths[i].path, NULL);

      test_add_death (path, debug_deaths[i].body);
      g_free (path);
    }
}

static void
check_death (TestBody body)
{
  int status;
  char *said = test_capture (body, &status);

  g_assert_cmpint (status, ==, SIGABRT);
  g_assert_true (g_str_has_prefix (said, "slice: error 10"));
  g_free (said);
}

static void
test_debug_layers (void)
{
  static const char *const all[]
      = { "", "bypass-magazines", "count" };

  for (size_t l = 0; l < G_N_ELEMENTS (all); l++)
    for (size_t i = 0; i < G_N_ELEMENTS (debug_deaths); i++)
      {
        layers = all[l];
        check_death (debug_deaths[i].body);
      }
  layers = "always-malloc";
}

/* None of this happens to a program without fault. */
static void
test_debug_clean (void)
{
  static void *blocks[5000];
  TestRandom random;

  layers = "";
  begin_debug ();
  test_random_init (&random, 0);
  for (unsigned turn = 0; turn < test_times (200000, 20000); turn++)
    {
      unsigned at = test_random_below (&random, G_N_ELEMENTS (blocks));

      if (blocks[at] == NULL)
        blocks[at] = slice_alloc (at + 1);
      else
        {
          slice_free1 (at + 1, blocks[at]);
          blocks[at] = NULL;
        }
    }
}

/* --- the program's own last words --- */

static void
say (const char *text)
{
  g_assert_cmpint (write (2, text, strlen (text)), ==, (ssize_t) strlen (text));
}

static void
on_abort (int number, const char *message, void *data)
{
  char *line = g_strdup_printf ("%s: %d, %s\n", (const char *) data, number,
                                message);

  say (line);
  g_free (line);
}

static void
misuse_now (void)
{
  test_options ("checked");
  slice_free1 (40, slice_alloc (40));
  slice_free_n (SIZE_MAX, 2, &test_options);
}

static void
abort_with_handler (void)
{
  slice_set_abort_handler (on_abort, (void *) (uintptr_t) "unused");
  slice_set_abort_handler (on_abort, (void *) (uintptr_t) "told");
  misuse_now ();
}

static void
abort_without_handler (void)
{
  slice_set_abort_handler (on_abort, NULL);
  slice_set_abort_handler (NULL, NULL);
  misuse_now ();
}

/* A second fault, in the handler, goes straight to the end. */
static void
misuse_again (int number, const char *message, void *data)
{
  on_abort (number, message, data);
  misuse_now ();
}

static void
abort_with_faulty_handler (void)
{
  slice_set_abort_handler (misuse_again, (void *) (uintptr_t) "told");
  misuse_now ();
}

static int n_entered;

static void
misuse_in_thread (unsigned index G_GNUC_UNUSED, void *data G_GNUC_UNUSED)
{
  misuse_now ();
}

/* Leaves the others time to come. */
static void
on_abort_of_many (int number G_GNUC_UNUSED, const char *message G_GNUC_UNUSED,
                  void *data G_GNUC_UNUSED)
{
  g_atomic_int_inc (&n_entered);
  g_usleep (50000);
  say (g_atomic_int_get (&n_entered) == 1 ? "alone\n" : "not alone\n");
}

static void
abort_of_many (void)
{
  slice_set_abort_handler (on_abort_of_many, NULL);
  test_gang (4, misuse_in_thread, NULL);
}

static void
warn_with_handler (void)
{
  slice_set_abort_handler (on_abort, (void *) (uintptr_t) "told");
  test_options ("nonsense");
  slice_free1 (40, slice_alloc (40));
}

static char *
said_at_abort (TestBody body)
{
  int status;
  char *said = test_capture (body, &status);

  g_assert_true (WIFSIGNALED (status));
  g_assert_cmpint (WTERMSIG (status), ==, SIGABRT);
  return said;
}

#define OVERFLOW_LINE                                                         \
  "slice: error 121: slice_free_n: size overflow: * times 2 bytes "           \
  "[thread *]\n"

static void
test_abort_handler (void)
{
  char *said = said_at_abort (abort_with_handler);
  int status;

  g_assert_true (g_pattern_match_simple (OVERFLOW_LINE "told: 121, "
                                         OVERFLOW_LINE, said));
  g_free (said);
  said = said_at_abort (abort_without_handler);
  g_assert_true (g_pattern_match_simple (OVERFLOW_LINE, said));
  g_assert_null (strchr (strchr (said, '\n') + 1, '\n'));
  g_free (said);
  said = test_capture (warn_with_handler, &status);
  g_assert_cmpint (status, ==, 0);
  g_assert_true (g_str_has_prefix (said, "slice: warning 130: "));
  g_assert_null (strstr (said, "told"));
  g_free (said);
}

static void
test_abort_handler_once (void)
{
  char *said = said_at_abort (abort_with_faulty_handler);

  g_assert_true (g_pattern_match_simple (OVERFLOW_LINE "told: 121, "
                                         OVERFLOW_LINE OVERFLOW_LINE, said));
  g_assert_null (strstr (strstr (said, "told") + 1, "told"));
  g_free (said);
  said = said_at_abort (abort_of_many);
  g_assert_nonnull (strstr (said, "alone\n"));
  g_assert_null (strstr (said, "not alone"));
  g_free (said);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_death ("/slice/misuse/freed-twice", death_freed_twice);
  test_add_death ("/slice/misuse/freed-twice-inline",
                  death_freed_twice_inline);
  test_add_death ("/slice/misuse/freed-twice-later", death_freed_twice_later);
  test_add_death ("/slice/misuse/freed-again-without-slab",
                  death_freed_again_without_slab);
  test_add_death ("/slice/misuse/foreign", death_foreign);
  test_add_death ("/slice/misuse/wrong-class", death_wrong_class);
  test_add_death ("/slice/misuse/too-large", death_too_large);
  test_add_death ("/slice/misuse/size-0", death_size_0);
  test_add_death ("/slice/misuse/interior", death_interior);
  test_add_death ("/slice/misuse/never-allocated", death_never_allocated);
  test_add_death ("/slice/misuse/bypass", death_bypass);
  test_add_death ("/slice/misuse/bulk-foreign", death_bulk_foreign);
  test_add_death ("/slice/misuse/bulk-twice", death_bulk_twice);
  test_add ("/slice/misuse/cyclic-chain", test_cyclic_chain);
  test_add ("/slice/misuse/wild-chain", test_wild_chain);
  test_add ("/slice/misuse/wild-chain-of-mallocs",
            test_wild_chain_of_mallocs);
  test_add ("/slice/misuse/caller-is-named", test_caller_is_named);
  test_add ("/slice/misuse/bulk-large", test_bulk_large);
  test_add ("/slice/misuse/unsized-is-named", test_unsized_is_named);
  test_add ("/slice/misuse/first-call", test_first_call);
  test_add ("/slice/misuse/small-as-large", test_small_as_large);
  test_add_death ("/slice/misuse/own-next", death_own_next);
  test_add_death ("/slice/misuse/aligned-as-other", death_aligned_as_other);
  test_add_death ("/slice/misuse/malloc-too-small", death_malloc_too_small);
  add_debug_deaths ();
  test_add ("/slice/misuse/debug-blocks/aligned", test_debug_aligned);
  test_add ("/slice/misuse/debug-blocks/layers", test_debug_layers);
  test_add ("/slice/misuse/aligned/in-modes", test_aligned_in_modes);
  test_add ("/slice/misuse/aligned/rightly", test_aligned_rightly);
  test_add_fresh ("/slice/misuse/debug-blocks/clean", test_debug_clean);
  test_add ("/slice/misuse/abort-handler", test_abort_handler);
  test_add ("/slice/misuse/abort-handler-once", test_abort_handler_once);
  return g_test_run ();
}
