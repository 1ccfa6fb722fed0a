/* arena-counts.cc - instructions of the arenas' calls and of their peers'
 *
 *   arena-counts             runs each case once
 *   valgrind --tool=callgrind --callgrind-out-file=F arena-counts
 *                            writes one dump for each case, F.1 and so on
 *
 * arena-counts.sh runs the latter and prints the table.  A count is an
 * operation's share of the whole loop; the line "loop" is an empty one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "arena-peers.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#ifdef HAVE_VALGRIND_MEMCHECK_H
# include <valgrind/callgrind.h>
#else
# define CALLGRIND_ZERO_STATS
# define CALLGRIND_DUMP_STATS_AT(name) ((void) (name))
#endif

namespace
{

constexpr long n_rounds = 1000;

/* Counts `operations' times n_rounds of what one round does, after some rounds
 * that bring the memory. */
template <typename Round>
void
count (const char *name, int operations, Round round)
{
  for (long i = 0; i < n_rounds / 4; i++)
    round ();
  char trigger[128];
  std::snprintf (trigger, sizeof trigger, "%s=%ld", name,
                 n_rounds * operations);
  CALLGRIND_ZERO_STATS;
  for (long i = 0; i < n_rounds; i++)
    round ();
  CALLGRIND_DUMP_STATS_AT (trigger);
}

const char *const text = "forty characters of text for one string.";

/* --- linear -------------------------------------------------------------- */

void
linear_objects ()
{
  SliceLinear *linear = slice_linear_new (nullptr);
  count ("slice: linear, 32 bytes", 1,
         [&] { use (slice_linear_alloc (linear, 32)); });
  count ("slice: linear, 32 aligned to 16", 1,
         [&] { use (slice_linear_alloc_aligned (linear, 16, 32)); });
  count ("slice: linear, 32 aligned to 64", 1,
         [&] { use (slice_linear_alloc_aligned (linear, 64, 32)); });
  count ("slice: linear, strdup of 40", 1,
         [&] { use (slice_linear_strdup (linear, text)); });
  count ("slice: linear, copy of 40", 1,
         [&] { use (slice_linear_copy (linear, 40, text)); });
  count ("slice: linear, string of 64 by char", 1, [&] {
    for (int i = 0; i < 64; i++)
      slice_linear_grow_char (linear, 'x');
    use (slice_linear_finish (linear, nullptr));
  });
  count ("slice: linear, string of 64 by 8", 1, [&] {
    for (int i = 0; i < 8; i++)
      slice_linear_grow (linear, 8, text);
    use (slice_linear_finish (linear, nullptr));
  });
  slice_linear_destroy (linear);
}

void
linear_marks ()
{
  SliceLinear *linear = slice_linear_new (nullptr);
  auto round = [&] {
    SliceMark mark = slice_linear_mark (linear);
    for (int i = 0; i < 10; i++)
      use (slice_linear_alloc (linear, 24));
    slice_linear_rollback (linear, mark);
  };
  count ("slice: linear, mark, 10 of 24, rollback", 1, round);
  SliceMark mark = slice_linear_mark (linear);
  for (int i = 0; i < 100000; i++)
    use (slice_linear_alloc (linear, 200));
  slice_linear_rollback (linear, mark);
  count ("slice: linear, the same after 20 MB", 1, round);
  count ("slice: linear, mark, 10 of 200, rollback", 1, [&] {
    SliceMark here = slice_linear_mark (linear);
    for (int i = 0; i < 10; i++)
      use (slice_linear_alloc (linear, 200));
    slice_linear_rollback (linear, here);
  });
  slice_linear_destroy (linear);
}

void
linear_frame (const char *name, int n, std::size_t size)
{
  SliceLinear *linear = slice_linear_new (nullptr);
  count (name, 1, [&] {
    for (int i = 0; i < n; i++)
      use (slice_linear_alloc (linear, size));
    slice_linear_reset (linear, SLICE_KEEP_ALL);
  });
  slice_linear_destroy (linear);
}

void
linear_arenas ()
{
  count ("slice: linear, made, 64 bytes, ended", 1, [] {
    SliceLinear *linear = slice_linear_new (nullptr);
    use (slice_linear_alloc (linear, 64));
    slice_linear_destroy (linear);
  });
#ifdef SLICE_HAS_PMR
  SliceLinear *arena = slice_linear_new (nullptr);
  slice::linear_resource resource (arena);
  count ("slice: linear_resource, 32 aligned to 16", 1,
         [&] { use (resource.allocate (32, 16)); });
  slice_linear_destroy (arena);
#endif
}

void
obstacks ()
{
  obstack stack;
  obstack_init (&stack);
  count ("obstack: linear, strdup of 40", 1,
         [&] { use (obstack_copy0 (&stack, text, std::strlen (text))); });
  count ("obstack: linear, copy of 40", 1,
         [&] { use (obstack_copy (&stack, text, 40)); });
  count ("obstack: linear, mark, 10 of 24, rollback", 1, [&] {
    void *mark = obstack_alloc (&stack, 0);
    for (int i = 0; i < 10; i++)
      use (obstack_alloc (&stack, 24));
    obstack_free (&stack, mark);
  });
  count ("obstack: linear, string of 64 by char", 1, [&] {
    for (int i = 0; i < 64; i++)
      obstack_1grow (&stack, 'x');
    use (obstack_finish (&stack));
  });
  count ("obstack: linear, string of 64 by 8", 1, [&] {
    for (int i = 0; i < 8; i++)
      obstack_grow (&stack, text, 8);
    use (obstack_finish (&stack));
  });
  obstack_free (&stack, nullptr);
}

#ifdef HAVE_LLVM
void
llvm_frame (const char *name, int n, std::size_t size)
{
  llvm::BumpPtrAllocator bump;
  count (name, 1, [&] {
    for (int i = 0; i < n; i++)
      use (bump.Allocate (size, 16));
    bump.Reset ();
  });
}
#endif

#ifdef HAVE_APR
void
apr_frame (const char *name, int n, std::size_t size)
{
  apr_pool_t *pool;
  apr_pool_create (&pool, nullptr);
  count (name, 1, [&] {
    for (int i = 0; i < n; i++)
      use (apr_palloc (pool, size));
    apr_pool_clear (pool);
  });
  apr_pool_destroy (pool);
}

void
apr_linear ()
{
  apr_pool_t *pool;
  apr_initialize ();
  apr_pool_create (&pool, nullptr);
  count ("APR: pool, 32 bytes", 1, [&] { use (apr_palloc (pool, 32)); });
  count ("APR: pool, strdup of 40", 1, [&] { use (apr_pstrdup (pool, text)); });
  count ("APR: pool, copy of 40", 1,
         [&] { use (apr_pmemdup (pool, text, 40)); });
  apr_pool_destroy (pool);
  apr_frame ("APR: pool, frame of 10 x 200", 10, 200);
  apr_frame ("APR: pool, frame of 20 x 4000", 20, 4000);
  apr_frame ("APR: pool, frame of 300 x 100", 300, 100);
  count ("APR: pool, made, 64 bytes, ended", 1, [] {
    apr_pool_t *small;
    apr_pool_create (&small, nullptr);
    use (apr_palloc (small, 64));
    apr_pool_destroy (small);
  });
}
#endif

#ifdef SLICE_HAS_PMR
void
pmr_linear ()
{
  std::pmr::monotonic_buffer_resource resource;
  count ("pmr: linear, 32 aligned to 16", 1,
         [&] { use (resource.allocate (32, 16)); });
  count ("pmr: linear, 32 aligned to 64", 1,
         [&] { use (resource.allocate (32, 64)); });
  count ("pmr: linear, made, 64 bytes, ended", 1, [] {
    std::pmr::monotonic_buffer_resource small (128);
    use (small.allocate (64));
  });
}
#endif

#ifdef HAVE_TALLOC
void
talloc_frame (const char *name, int n, std::size_t size)
{
  void *pool = talloc_pool (nullptr, std::size_t (n) * (size + 128));
  count (name, 1, [&] {
    for (int i = 0; i < n; i++)
      use (talloc_size (pool, size));
    talloc_free_children (pool);
  });
  talloc_free (pool);
}

void
talloc_pools ()
{
  void *pool = talloc_pool (nullptr, 1 << 20);
  count ("talloc: pool, strdup of 40", 1,
         [&] { use (talloc_strdup (pool, text)); });
  count ("talloc: pool, copy of 40", 1,
         [&] { use (talloc_memdup (pool, text, 40)); });
  talloc_free (pool);
  talloc_frame ("talloc: pool, frame of 10 x 200", 10, 200);
  talloc_frame ("talloc: pool, frame of 20 x 4000", 20, 4000);
  talloc_frame ("talloc: pool, frame of 300 x 100", 300, 100);
  count ("talloc: pool, made, 64 bytes, ended", 1, [] {
    void *small = talloc_pool (nullptr, 256);
    use (talloc_size (small, 64));
    talloc_free (small);
  });
}
#endif

#ifdef HAVE_FOONATHAN
void
foonathan_stack ()
{
  namespace memory = foonathan::memory;
  memory::memory_stack<> stack (4096);
  count ("foonathan: linear, 32 aligned to 16", 1,
         [&] { use (stack.allocate (32, 16)); });
  count ("foonathan: linear, 32 aligned to 64", 1,
         [&] { use (stack.allocate (32, 64)); });
  count ("foonathan: linear, mark, 10 of 24, rollback", 1, [&] {
    auto mark = stack.top ();
    for (int i = 0; i < 10; i++)
      use (stack.allocate (24, 8));
    stack.unwind (mark);
  });
  count ("foonathan: linear, made, 64 bytes, ended", 1, [] {
    memory::memory_stack<> small (memory::memory_stack<>::min_block_size (128));
    use (small.allocate (64, 16));
  });
}
#endif

/* --- pools --------------------------------------------------------------- */

constexpr int n_pool = 100000;

/* As count(), for what is done once. */
template <typename Once>
void
count_once (const char *kind, std::size_t size, const char *what,
            long operations, Once once)
{
  char trigger[128];
  std::snprintf (trigger, sizeof trigger, "%s of %zu, %s=%ld", kind, size,
                 what, operations);
  CALLGRIND_ZERO_STATS;
  once ();
  CALLGRIND_DUMP_STATS_AT (trigger);
}

/* Compiled by itself, as a program's loops are, and not as a part of main. */
template <typename Pool>
__attribute__ ((noinline)) void *
free_and_take (void *object, Pool pool)
{
  for (int i = 0; i < n_pool; i++)
    {
      pool.release (object);
      object = pool.alloc ();
      use (object);
    }
  return object;
}

template <typename Pool>
__attribute__ ((noinline)) void
pool_case (const char *kind, std::size_t size, Pool pool)
{
  static void *objects[n_pool];
  /* The pool is copied, so that it stays in registers. */
  auto fill = [=] () mutable {
    for (int i = 0; i < n_pool; i++)
      use (objects[i] = pool.alloc ());
  };
  auto drain = [=] () mutable {
    for (int i = 0; i < n_pool; i++)
      pool.release (objects[i]);
  };
  void *other = pool.alloc (); /* the pool never becomes empty */
  count_once (kind, size, "first fill", n_pool, fill);
  count_once (kind, size, "drain", n_pool, drain);
  count_once (kind, size, "refill", n_pool, fill);
  count_once (kind, size, "free and take", n_pool, [=] {
    objects[100] = free_and_take (objects[100], pool);
  });
  unsigned random = 1;
  for (int i = n_pool - 1; i > 0; i--)
    {
      random = random * 1664525 + 1013904223;
      std::swap (objects[i], objects[random % unsigned (i + 1)]);
    }
  count_once (kind, size, "drain in random order", n_pool, drain);
  count_once (kind, size, "refill after that", n_pool, fill);
  drain ();
  pool.release (other);
}

template <std::size_t Size>
void
pools ()
{
  /* What the slices before have left would go back at a time of its own. */
  slice_trim (0);
  with_pools<Size> ([] (const char *kind, auto pool)
                    { pool_case (kind, Size, pool); });
}

void
pool_arenas ()
{
  count ("slice: pool, made, 3 of 24, ended", 1, [] {
    SlicePool *pool = slice_pool_new_plain (24);
    for (int i = 0; i < 3; i++)
      use (slice_pool_alloc (pool));
    slice_pool_destroy (pool);
  });
#ifdef HAVE_BOOST_POOL
  count ("Boost: pool, made, 3 of 24, ended", 1, [] {
    boost::pool<> pool (24);
    for (int i = 0; i < 3; i++)
      use (pool.malloc ());
  });
#endif
}

}

int
main ()
{
  count ("loop", 1, [] { use (nullptr); });
  linear_objects ();
  linear_marks ();
  linear_frame ("slice: linear, frame of 10 x 200", 10, 200);
  linear_frame ("slice: linear, frame of 20 x 4000", 20, 4000);
  linear_frame ("slice: linear, frame of 300 x 100", 300, 100);
  linear_arenas ();
  obstacks ();
#ifdef HAVE_LLVM
  llvm_frame ("LLVM: linear, frame of 10 x 200", 10, 200);
  llvm_frame ("LLVM: linear, frame of 20 x 4000", 20, 4000);
  llvm_frame ("LLVM: linear, frame of 300 x 100", 300, 100);
#endif
#ifdef HAVE_APR
  apr_linear ();
#endif
#ifdef SLICE_HAS_PMR
  pmr_linear ();
#endif
#ifdef HAVE_TALLOC
  talloc_pools ();
#endif
#ifdef HAVE_FOONATHAN
  foonathan_stack ();
#endif
  pools<24> ();
  pools<64> ();
  pools<8> ();
  pool_arenas ();
  return 0;
}
