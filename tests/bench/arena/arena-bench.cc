/* arena-bench.cc - arenas against their peers, interleaved
 *
 *   arena-bench [ROUNDS [mixed]]
 *
 * Each round runs every contestant once, in turn; what is printed is each
 * one's median over the rounds, in nanoseconds an object, and its ratio to
 * malloc's in the same run.  CPU time of the thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <slice/slice.hpp>

#include <obstack.h>
#ifdef SLICE_HAS_PMR
# include <memory_resource>
#endif
#ifdef HAVE_APR
# include <apr_general.h>
# include <apr_pools.h>
#endif
#ifdef HAVE_LLVM
# include <llvm/Support/Allocator.h>
#endif

namespace
{

double
now_ns ()
{
  timespec time;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &time);
  return double (time.tv_sec) * 1e9 + double (time.tv_nsec);
}

double
median (std::vector<double> values)
{
  std::sort (values.begin (), values.end ());
  return values[values.size () / 2];
}

/* Results by scenario and contestant, in the order of their first coming. */
struct Table
{
  struct Row
  {
    std::string scenario;
    std::string contestant;
    std::vector<double> ns;
  };
  std::vector<Row> rows;

  void
  add (const std::string &scenario, const std::string &contestant, double ns)
  {
    for (Row &row : rows)
      if (row.scenario == scenario && row.contestant == contestant)
        {
          row.ns.push_back (ns);
          return;
        }
    rows.push_back ({ scenario, contestant, { ns } });
  }

  double
  reference (const std::string &scenario) const
  {
    for (const Row &row : rows)
      if (row.scenario == scenario && row.contestant == "malloc")
        return median (row.ns);
    return 0;
  }

  void
  print () const
  {
    std::map<std::string, bool> seen;
    for (const Row &first : rows)
      {
        if (seen[first.scenario])
          continue;
        seen[first.scenario] = true;
        std::printf ("%s\n", first.scenario.c_str ());
        for (const Row &row : rows)
          {
            if (row.scenario != first.scenario)
              continue;
            double ns = median (row.ns);
            std::printf ("  %-22s %9.3f ns  %6.3f of malloc\n",
                         row.contestant.c_str (), ns,
                         ns / reference (row.scenario));
          }
      }
  }
};

Table table;

/* Objects are linked, so that each is written to once. */
struct Link
{
  Link *next;
};

/* The compiler must take malloc for what it is. */
void *(*volatile the_malloc) (std::size_t) = std::malloc;
void (*volatile the_free) (void *) = std::free;

/* --- fill and reset ------------------------------------------------------ */

constexpr std::size_t n_objects = 100000;

template <std::size_t Size, typename Get>
Link *
fill (Get get)
{
  Link *head = nullptr;
  for (std::size_t i = 0; i < n_objects; i++)
    {
      Link *object = static_cast<Link *> (get (Size));
      object->next = head;
      head = object;
    }
  return head;
}

constexpr int n_fills = 8;

/* Fill and reset several times; the first fill, which meets fresh memory, is
 * told apart. */
template <std::size_t Size, typename Get, typename Reset>
void
fill_and_reset (const char *contestant, Get get, Reset reset)
{
  char first[64];
  char warm[64];
  char again[64];
  std::snprintf (first, sizeof first, "%zu bytes: first fill", Size);
  std::snprintf (warm, sizeof warm, "%zu bytes: fill after reset", Size);
  std::snprintf (again, sizeof again, "%zu bytes: reset or free all", Size);
  double fills = 0;
  double resets = 0;
  for (int i = 0; i <= n_fills; i++)
    {
      double start = now_ns ();
      Link *head = fill<Size> (get);
      double filled = now_ns ();
      reset (head);
      double end = now_ns ();
      if (i == 0)
        table.add (first, contestant, (filled - start) / n_objects);
      else
        {
          fills += filled - start;
          resets += end - filled;
        }
    }
  table.add (warm, contestant, fills / n_fills / n_objects);
  table.add (again, contestant, resets / n_fills / n_objects);
}

void
free_links (Link *head)
{
  void (*release) (void *) = the_free;
  while (head != nullptr)
    {
      Link *next = head->next;
      release (head);
      head = next;
    }
}

template <std::size_t Size>
void
fills_malloc ()
{
  void *(*get) (std::size_t) = the_malloc;
  fill_and_reset<Size> ("malloc", get, free_links);
}

template <std::size_t Size>
void
fills_linear ()
{
  SliceLinear *linear = slice_linear_new (nullptr);
  fill_and_reset<Size> (
      "slice linear",
      [=] (std::size_t size) { return slice_linear_alloc (linear, size); },
      [=] (Link *) { slice_linear_reset (linear, SLICE_KEEP_ALL); });
  slice_linear_destroy (linear);
  linear = slice_linear_new (nullptr);
  fill_and_reset<Size> (
      "slice linear, none kept",
      [=] (std::size_t size) { return slice_linear_alloc (linear, size); },
      [=] (Link *) { slice_linear_reset (linear, SLICE_KEEP_NONE); });
  slice_linear_destroy (linear);
}

template <std::size_t Size>
void
fills_obstack ()
{
#define obstack_chunk_alloc std::malloc
#define obstack_chunk_free std::free
  obstack stack;
  obstack_init (&stack);
  void *bottom = obstack_alloc (&stack, 1);
  fill_and_reset<Size> (
      "obstack",
      [&] (std::size_t size) {
        return obstack_alloc (&stack, int (size));
      },
      [&] (Link *) {
        obstack_free (&stack, bottom);
        bottom = obstack_alloc (&stack, 1);
      });
  obstack_free (&stack, nullptr);
}

template <std::size_t Size>
void
fills_apr ()
{
#ifdef HAVE_APR
  apr_pool_t *pool;
  apr_pool_create (&pool, nullptr);
  fill_and_reset<Size> (
      "APR pool",
      [=] (std::size_t size) { return apr_palloc (pool, size); },
      [=] (Link *) { apr_pool_clear (pool); });
  apr_pool_destroy (pool);
#endif
}

template <std::size_t Size>
void
fills_pmr ()
{
#ifdef SLICE_HAS_PMR
  std::pmr::monotonic_buffer_resource pool;
  fill_and_reset<Size> (
      "pmr::monotonic",
      [&] (std::size_t size) { return pool.allocate (size, 8); },
      [&] (Link *) { pool.release (); });
#endif
}

template <std::size_t Size>
void
fills_llvm ()
{
#ifdef HAVE_LLVM
  llvm::BumpPtrAllocator bump;
  fill_and_reset<Size> (
      "LLVM BumpPtrAllocator",
      [&] (std::size_t size) { return bump.Allocate (size, 8); },
      [&] (Link *) { bump.Reset (); });
#endif
}

template <std::size_t Size>
void
fills ()
{
  fills_malloc<Size> ();
  fills_linear<Size> ();
  fills_apr<Size> ();
  fills_llvm<Size> ();
  fills_pmr<Size> ();
  fills_obstack<Size> ();
}

/* --- stack --------------------------------------------------------------- */

constexpr int stack_depth = 50;
constexpr int n_stack_runs = 20000;

/* Up to a depth and down again, as in recursion. */
template <std::size_t Size, typename Get, typename Put>
void
stack_runs (const char *contestant, Get get, Put put)
{
  char scenario[64];
  std::snprintf (scenario, sizeof scenario,
                 "%zu bytes: stack, alloc and release", Size);
  Link *objects[stack_depth];
  double start = now_ns ();
  for (int run = 0; run < n_stack_runs; run++)
    {
      for (int i = 0; i < stack_depth; i++)
        {
          objects[i] = static_cast<Link *> (get (Size));
          objects[i]->next = nullptr;
        }
      for (int i = stack_depth; i > 0; i--)
        put (objects[i - 1]);
    }
  table.add (scenario, contestant,
             (now_ns () - start) / n_stack_runs / stack_depth);
}

template <std::size_t Size>
void
stacks ()
{
  void *(*get) (std::size_t) = the_malloc;
  void (*put) (void *) = the_free;
  stack_runs<Size> ("malloc", get, put);
  SliceStack *stack = slice_stack_new (nullptr);
  stack_runs<Size> (
      "slice stack",
      [=] (std::size_t size) { return slice_stack_alloc (stack, size); },
      [=] (void *object) { slice_stack_release (stack, object); });
  slice_stack_destroy (stack);
  stack_runs<Size> (
      "slices", [=] (std::size_t size) { return slice_alloc (size); },
      [=] (void *object) { slice_free1 (Size, object); });
}

/* --- pool ---------------------------------------------------------------- */

constexpr std::size_t n_live = 4096;
constexpr std::size_t n_replaced = 1000000;

/* Live objects are replaced in random order. */
template <std::size_t Size, typename Get, typename Put>
void
pool_runs (const char *contestant, Get get, Put put)
{
  char scenario[64];
  std::snprintf (scenario, sizeof scenario,
                 "%zu bytes: pool, random replacement", Size);
  std::vector<Link *> live (n_live);
  for (Link *&object : live)
    object = static_cast<Link *> (get (Size));
  unsigned random = 12345;
  double start = now_ns ();
  for (std::size_t i = 0; i < n_replaced; i++)
    {
      random = random * 1664525u + 1013904223u;
      Link *&object = live[random >> 20];
      put (object);
      object = static_cast<Link *> (get (Size));
      object->next = nullptr;
    }
  table.add (scenario, contestant, (now_ns () - start) / n_replaced);

  /* Many out, then all in. */
  std::snprintf (scenario, sizeof scenario,
                 "%zu bytes: pool, many out and all in", Size);
  std::vector<Link *> many (n_objects);
  start = now_ns ();
  for (int round = 0; round < 4; round++)
    {
      for (Link *&object : many)
        {
          object = static_cast<Link *> (get (Size));
          object->next = nullptr;
        }
      for (std::size_t i = 0; i < n_objects; i++)
        put (many[i * 7919 % n_objects]);
    }
  table.add (scenario, contestant, (now_ns () - start) / 4 / n_objects);
  for (Link *object : live)
    put (object);
}

template <std::size_t Size>
void
pools ()
{
  void *(*get) (std::size_t) = the_malloc;
  void (*put) (void *) = the_free;
  pool_runs<Size> ("malloc", get, put);
  SlicePool *pool = slice_pool_new_plain (Size);
  pool_runs<Size> (
      "slice pool", [=] (std::size_t) { return slice_pool_alloc (pool); },
      [=] (void *object) { slice_pool_free (pool, object); });
  slice_pool_destroy (pool);
  pool_runs<Size> (
      "slices", [=] (std::size_t size) { return slice_alloc (size); },
      [=] (void *object) { slice_free1 (Size, object); });
}

/* --- mixed sizes --------------------------------------------------------- */

struct Mix
{
  std::vector<unsigned> sizes;
  std::vector<unsigned> places;
};

/* Sizes as a compiler's: most small, a tail of large ones. */
Mix
make_mix (std::size_t n, std::size_t n_places, unsigned largest_bits)
{
  Mix mix;
  unsigned random = 777;
  for (std::size_t i = 0; i < n; i++)
    {
      random = random * 1664525u + 1013904223u;
      unsigned bits = 4 + (random >> 24) % (largest_bits - 3);
      random = random * 1664525u + 1013904223u;
      mix.sizes.push_back ((1u << bits >> 1) + (random >> 8) % (1u << bits));
      random = random * 1664525u + 1013904223u;
      mix.places.push_back ((random >> 8) % unsigned (n_places));
    }
  return mix;
}

template <typename Get, typename Put>
void
mixed_runs (const char *scenario, const char *contestant, const Mix &mix,
            std::size_t n_places, Get get, Put put)
{
  std::vector<void *> live (n_places, nullptr);
  double start = 0;
  for (int pass = 0; pass < 2; pass++)
    {
      /* The first pass fills the heap; the second one is told. */
      start = now_ns ();
      for (std::size_t i = 0; i < mix.sizes.size (); i++)
        {
          void *&object = live[mix.places[i]];
          if (object != nullptr)
            put (object);
          object = get (mix.sizes[i]);
          static_cast<Link *> (object)->next = nullptr;
        }
    }
  table.add (scenario, contestant,
             (now_ns () - start) / double (mix.sizes.size ()));
  for (void *object : live)
    if (object != nullptr)
      put (object);
}

void
mixed_sizes (const char *scenario, std::size_t n_places, unsigned bits)
{
  static std::map<std::string, Mix> mixes;
  if (mixes[scenario].sizes.empty ())
    mixes[scenario] = make_mix (400000, n_places, bits);
  const Mix &mix = mixes[scenario];
  void *(*get) (std::size_t) = the_malloc;
  void (*put) (void *) = the_free;
  mixed_runs (scenario, "malloc", mix, n_places, get, put);
  SliceTlsf *tlsf = slice_tlsf_new (nullptr);
  mixed_runs (
      scenario, "slice TLSF, growing", mix, n_places,
      [=] (std::size_t size) { return slice_tlsf_alloc (tlsf, size); },
      [=] (void *object) { slice_tlsf_free (tlsf, object); });
  slice_tlsf_destroy (tlsf);
  static std::vector<char> buffer (256u << 20);
  tlsf = slice_tlsf_new_fixed (buffer.data (), buffer.size ());
  mixed_runs (
      scenario, "slice TLSF, buffer", mix, n_places,
      [=] (std::size_t size) { return slice_tlsf_alloc (tlsf, size); },
      [=] (void *object) { slice_tlsf_free (tlsf, object); });
  slice_tlsf_destroy (tlsf);
}

} // namespace

int
main (int argc, char **argv)
{
  int n_rounds = argc > 1 ? std::atoi (argv[1]) : 7;
#ifdef HAVE_APR
  apr_initialize ();
#endif
  bool is_mixed_only = argc > 2;
  for (int round = 0; round < n_rounds; round++)
    {
      if (!is_mixed_only)
        {
          fills<8> ();
          fills<24> ();
          fills<64> ();
          stacks<8> ();
          stacks<24> ();
          pools<24> ();
          pools<64> ();
        }
      mixed_sizes ("16 B to 1 KB mixed, 2000 live", 2000, 10);
      mixed_sizes ("16 B to 16 KB mixed, 2000 live", 2000, 14);
      mixed_sizes ("16 B to 1 KB mixed, 50000 live", 50000, 10);
    }
  table.print ();
  return 0;
}
