/* arena-resident.cc - the memory of arenas and of their peers
 *
 *   arena-resident           prints a line for each
 *
 * Resident bytes, as a multiple of the bytes in objects or strings, without
 * the pages of files, as code is.  Each is measured in a child of its own,
 * which has no memory of the others.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/bench/arena/arena-peers.h"

#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace
{

std::size_t
resident_bytes ()
{
  unsigned long pages = 0;
  unsigned long of_files = 0;
  std::FILE *file = std::fopen ("/proc/self/statm", "r");
  if (file == nullptr
      || std::fscanf (file, "%*u %lu %lu", &pages, &of_files) != 2)
    pages = of_files = 0;
  if (file != nullptr)
    std::fclose (file);
  return (pages - of_files) * std::size_t (sysconf (_SC_PAGESIZE));
}

template <typename Measure>
void
in_child (Measure measure)
{
  std::fflush (stdout);
  pid_t child = fork ();
  if (child != 0)
    {
      waitpid (child, nullptr, 0);
      return;
    }
  measure ();
  std::fflush (stdout);
  _exit (0);
}

unsigned random_state = 1;

unsigned
next_random ()
{
  random_state = random_state * 1664525 + 1013904223;
  return random_state >> 8;
}

/* --- small arenas --------------------------------------------------------- */

/* make: an arena that holds 100 bytes; returns their address. */
template <typename Make>
void
small_arenas (const char *kind, Make make)
{
  in_child ([=] {
    constexpr int n = 20000;
    std::memset (make (), 1, 100);
    std::size_t before = resident_bytes ();
    for (int i = 0; i < n; i++)
      std::memset (make (), 1, 100);
    std::printf ("memory: arenas of 100 bytes, %-32s %9.2f\n", kind,
                 double (resident_bytes () - before) / (100.0 * n));
  });
}

void
all_small_arenas ()
{
  small_arenas ("slice", [] {
    return slice_linear_alloc (slice_linear_new (nullptr), 100);
  });
  small_arenas ("obstack", [] {
    obstack *stack = new obstack;
    obstack_init (stack);
    return obstack_alloc (stack, 100);
  });
#ifdef SLICE_HAS_PMR
  small_arenas ("pmr", [] {
    return (new std::pmr::monotonic_buffer_resource)->allocate (100);
  });
#endif
#ifdef HAVE_LLVM
  small_arenas ("LLVM",
                [] { return (new llvm::BumpPtrAllocator)->Allocate (100, 8); });
#endif
#ifdef HAVE_APR
  small_arenas ("APR", [] {
    apr_pool_t *pool;
    apr_pool_create (&pool, nullptr);
    return apr_palloc (pool, 100);
  });
#endif
#ifdef HAVE_TALLOC
  small_arenas ("talloc",
                [] { return talloc_size (talloc_pool (nullptr, 256), 100); });
#endif
}

/* --- strings -------------------------------------------------------------- */

constexpr std::size_t string_most = 64;

/* Strings of 1 to 64 bytes, NUL included.  copy (string): its copy. */
template <typename Copy>
void
strings (const char *kind, Copy copy)
{
  in_child ([=] () mutable {
    constexpr int n = 400000;
    char text[string_most];
    std::size_t live = 0;
    copy ("first");
    std::size_t before = resident_bytes ();
    for (int i = 0; i < n; i++)
      {
        std::size_t length = next_random () % string_most;
        std::memset (text, 'x', length);
        text[length] = 0;
        live += length + 1;
        use (copy (text));
      }
    std::printf ("memory: strings of 1 to 64 bytes, %-28s %9.2f\n", kind,
                 double (resident_bytes () - before) / double (live));
  });
}

void
all_strings ()
{
  SliceLinear *linear = slice_linear_new (nullptr);
  strings ("slice", [=] (const char *text)
           { return slice_linear_strdup (linear, text); });
  slice_linear_destroy (linear);
  obstack stack;
  obstack_init (&stack);
  strings ("obstack", [&] (const char *text)
           { return obstack_copy0 (&stack, text, std::strlen (text)); });
  obstack_free (&stack, nullptr);
  obstack_init (&stack);
  obstack_alignment_mask (&stack) = 0;
  strings ("obstack, not aligned", [&] (const char *text)
           { return obstack_copy0 (&stack, text, std::strlen (text)); });
  obstack_free (&stack, nullptr);
#ifdef HAVE_APR
  apr_pool_t *pool;
  apr_pool_create (&pool, nullptr);
  strings ("APR", [=] (const char *text) { return apr_pstrdup (pool, text); });
  apr_pool_destroy (pool);
#endif
#ifdef HAVE_TALLOC
  void *context = talloc_pool (nullptr, 1 << 20);
  strings ("talloc",
           [=] (const char *text) { return talloc_strdup (context, text); });
  talloc_free (context);
#endif
}

/* --- pools ---------------------------------------------------------------- */

/* A pool of slice may also say what it holds. */
void
print_held (const Pool &pool, double bytes)
{
  SliceArenaStats stats;
  slice_pool_get_stats (pool.pool, &stats);
  std::printf ("  %.2f held, all but 5 freed",
               double (stats.held_bytes) / bytes);
}

template <typename Other>
void
print_held (const Other &, double)
{
}

/* Nine in ten are freed, in random order; then all but five. */
template <std::size_t Size, typename Kind>
void
pool_resident (const char *kind, Kind pool)
{
  constexpr int n = 400000;
  constexpr double bytes = double (n) * Size;
  std::vector<void *> objects (n);
  std::size_t before = resident_bytes ();
  for (void *&object : objects)
    std::memset (object = pool.alloc (), 1, Size);
  std::size_t full = resident_bytes () - before;
  for (unsigned i = n - 1; i > 0; i--)
    std::swap (objects[i], objects[next_random () % (i + 1)]);
  for (std::size_t i = n / 10; i < n; i++)
    pool.release (objects[i]);
  std::size_t after = resident_bytes () - before;
  char what[64];
  std::snprintf (what, sizeof what, "%s of %zu", kind, Size);
  std::printf ("memory: %-24s %6.2f full  %6.2f nine in ten freed", what,
               double (full) / bytes, double (after) / bytes);
  for (std::size_t i = 5; i < n / 10; i++)
    pool.release (objects[i]);
  print_held (pool, bytes);
  std::printf ("\n");
}

template <std::size_t Size>
void
pools ()
{
  with_pools<Size> ([] (const char *kind, auto pool) {
    in_child ([=] { pool_resident<Size> (kind, pool); });
  });
}

}

int
main ()
{
#ifdef HAVE_APR
  apr_initialize ();
#endif
  all_small_arenas ();
  all_strings ();
  pools<8> ();
  pools<24> ();
  pools<64> ();
  return 0;
}
