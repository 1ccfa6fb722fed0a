/* arena-bench.cc - arenas against their peers, interleaved
 *
 *   arena-bench [ROUNDS] [fills | mixed | --table]
 *
 * Each round runs every contestant once, in turn; what is printed is each
 * one's median over the rounds, in nanoseconds an object, and its ratio to
 * malloc's in the same run.  CPU time of the thread.  --table prints ratios to
 * each peer with their spread instead; that takes the programs of TLSF's worst
 * case and fragmentation too, from the same directory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "arena-table.h"

#include <cstdlib>
#include <cstring>
#include <ctime>

#include <slice/slice.hpp>

#include "arena-libraries.h"

#include <sys/wait.h>
#include <unistd.h>

namespace
{

double
now_ns ()
{
  timespec time;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &time);
  return double (time.tv_sec) * 1e9 + double (time.tv_nsec);
}

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

/* In a child: where the first fill is reported, which then ends it. */
int first_fd = -1;

/* Fill and reset several times.  The first fill, which may meet fresh memory,
 * is not counted. */
template <std::size_t Size, typename Get, typename Reset>
void
fill_and_reset (const char *contestant, Get get, Reset reset)
{
  char warm[64];
  char again[64];
  std::snprintf (warm, sizeof warm, "%zu bytes: fill after reset", Size);
  std::snprintf (again, sizeof again, "%zu bytes: reset or free all", Size);
  double fills = 0;
  double resets = 0;
  for (int i = 0; i <= n_fills; i++)
    {
      double start = now_ns ();
      Link *head = fill<Size> (get);
      double filled = now_ns ();
      if (first_fd >= 0)
        {
          double ns = (filled - start) / n_objects;
          _exit (write (first_fd, &ns, sizeof ns) != sizeof ns);
        }
      reset (head);
      double end = now_ns ();
      if (i > 0)
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
  obstack stack;
  obstack_init (&stack);
  void *bottom = obstack_alloc (&stack, 1);
  fill_and_reset<Size> (
      "obstack",
      [&] (std::size_t size) { return obstack_alloc (&stack, int (size)); },
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
      "APR pool", [=] (std::size_t size) { return apr_palloc (pool, size); },
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

/* A fill of memory that the process never had: in a child, before this
 * process has used and freed any. */
template <std::size_t Size>
void
first_fill (const char *contestant, void (*fills_one) ())
{
  char scenario[64];
  std::snprintf (scenario, sizeof scenario, "%zu bytes: first fill", Size);
  int ends[2];
  if (pipe (ends) != 0)
    return;
  pid_t child = fork ();
  if (child == 0)
    {
      first_fd = ends[1];
      fills_one ();
      _exit (1);
    }
  close (ends[1]);
  double ns;
  if (child > 0 && read (ends[0], &ns, sizeof ns) == sizeof ns)
    table.add (scenario, contestant, ns);
  close (ends[0]);
  if (child > 0)
    waitpid (child, nullptr, 0);
}

template <std::size_t Size>
void
first_fills ()
{
  first_fill<Size> ("malloc", fills_malloc<Size>);
  first_fill<Size> ("slice linear", fills_linear<Size>);
  first_fill<Size> ("APR pool", fills_apr<Size>);
  first_fill<Size> ("LLVM BumpPtrAllocator", fills_llvm<Size>);
  first_fill<Size> ("pmr::monotonic", fills_pmr<Size>);
  first_fill<Size> ("obstack", fills_obstack<Size>);
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
      /* As if the program did something else here.  Otherwise the compiler
       * removes both calls of a pool that links its free objects. */
      __asm__ volatile ("" : : : "memory");
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

  std::snprintf (scenario, sizeof scenario,
                 "%zu bytes: pool, many out and in again in order", Size);
  start = now_ns ();
  for (int round = 0; round < 4; round++)
    {
      for (Link *&object : many)
        {
          object = static_cast<Link *> (get (Size));
          object->next = nullptr;
        }
      for (Link *object : many)
        put (object);
    }
  table.add (scenario, contestant, (now_ns () - start) / 4 / n_objects);
  for (Link *object : live)
    put (object);
}

/* Pools that link their free objects. */
template <std::size_t Size>
void
linking_pools ()
{
#ifdef HAVE_BOOST_POOL
  boost::pool<> boosts (Size);
  pool_runs<Size> (
      "Boost.Pool", [&] (std::size_t) { return boosts.malloc (); },
      [&] (void *object) { boosts.free (object); });
#endif
#ifdef HAVE_LLVM
  struct Object
  {
    alignas (8) char bytes[Size];
  };
  llvm::RecyclingAllocator<llvm::BumpPtrAllocator, Object> recycler;
  pool_runs<Size> (
      "LLVM Recycler",
      [&] (std::size_t) -> void *
      { return recycler.template Allocate<Object> (); },
      [&] (void *object)
      { recycler.Deallocate (static_cast<Object *> (object)); });
#endif
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
  linking_pools<Size> ();
}

/* --- mixed sizes --------------------------------------------------------- */

struct Mix
{
  std::vector<unsigned> sizes;
  std::vector<unsigned> places;
};

/* Sizes as a compiler's: most small, a tail of large ones. */
Mix
make_mix (std::size_t n, std::size_t n_sites, unsigned largest_bits)
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
      mix.places.push_back ((random >> 8) % unsigned (n_sites));
    }
  return mix;
}

template <typename Get, typename Put>
void
mixed_runs (const char *scenario, const char *contestant, const Mix &mix,
            std::size_t n_sites, Get get, Put put)
{
  std::vector<void *> live (n_sites, nullptr);
  double start = 0;
  for (int pass = 0; pass < 2; pass++)
    {
      /* The first pass fills the heap; the second one is reported. */
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
mixed_contest (const char *scenario, std::size_t n_sites, const Mix &mix)
{
  void *(*get) (std::size_t) = the_malloc;
  void (*put) (void *) = the_free;
  mixed_runs (scenario, "malloc", mix, n_sites, get, put);
  SliceTlsf *tlsf = slice_tlsf_new (nullptr);
  mixed_runs (
      scenario, "slice TLSF, growing", mix, n_sites,
      [=] (std::size_t size) { return slice_tlsf_alloc (tlsf, size); },
      [=] (void *object) { slice_tlsf_free (tlsf, object); });
  slice_tlsf_destroy (tlsf);
  static std::vector<char> buffer (256u << 20);
  tlsf = slice_tlsf_new_fixed (buffer.data (), buffer.size ());
  mixed_runs (
      scenario, "slice TLSF, buffer", mix, n_sites,
      [=] (std::size_t size) { return slice_tlsf_alloc (tlsf, size); },
      [=] (void *object) { slice_tlsf_free (tlsf, object); });
  slice_tlsf_destroy (tlsf);
}

void
mixed_sizes (const char *scenario, std::size_t n_sites, unsigned bits)
{
  static std::map<std::string, Mix> mixes;
  if (mixes[scenario].sizes.empty ())
    mixes[scenario] = make_mix (400000, n_sites, bits);
  mixed_contest (scenario, n_sites, mixes[scenario]);
}

/* The working set of slice-bench: 80 % of the replacements hit 64 short-lived
 * objects, 15 % a twentieth, 5 % all of 20,000; 8 to 512 bytes. */
void
working_set ()
{
  static Mix mix;
  constexpr unsigned n_long = 20000;
  unsigned random = 4711;
  while (mix.sizes.size () < 600000)
    {
      random = random * 1664525u + 1013904223u;
      unsigned percent = (random >> 8) % 100;
      unsigned n = percent < 80 ? 64 : percent < 95 ? n_long / 20 : n_long;
      random = random * 1664525u + 1013904223u;
      mix.places.push_back ((random >> 8) % n);
      random = random * 1664525u + 1013904223u;
      mix.sizes.push_back (8 + (random >> 8) % 505);
    }
  mixed_contest ("working set, 8 to 512 B, 20000 live", n_long, mix);
}

/* --- bytes held ---------------------------------------------------------- */

double
linear_held (std::size_t size)
{
  SliceArenaStats stats;
  SliceLinear *linear = slice_linear_new (nullptr);
  for (std::size_t i = 0; i < n_objects; i++)
    slice_linear_alloc (linear, size);
  slice_linear_get_stats (linear, &stats);
  slice_linear_destroy (linear);
  return double (stats.held_bytes) / double (n_objects * size);
}

double
pool_held (std::size_t size)
{
  SliceArenaStats stats;
  SlicePool *pool = slice_pool_new_plain (size);
  for (std::size_t i = 0; i < n_objects; i++)
    slice_pool_alloc (pool);
  slice_pool_get_stats (pool, &stats);
  slice_pool_destroy (pool);
  return double (stats.held_bytes) / double (n_objects * size);
}

/* A thousand arenas of 1.5 KB. */
double
small_arenas_used ()
{
  std::size_t held = 0;
  for (int i = 0; i < 1000; i++)
    {
      SliceArenaStats stats;
      SliceLinear *linear = slice_linear_new (nullptr);
      for (int k = 0; k < 64; k++)
        slice_linear_alloc (linear, 24);
      slice_linear_get_stats (linear, &stats);
      held += stats.held_bytes;
      slice_linear_destroy (linear);
    }
  return 1000.0 * 64 * 24 / double (held);
}

/* --- the table ----------------------------------------------------------- */

/* The programs beside this one print lines of figures. */
FILE *
run_sibling (const std::string &self, const char *name)
{
  std::size_t slash = self.rfind ('/');
  std::string directory
      = slash == std::string::npos ? "." : self.substr (0, slash);
  return popen (("'" + directory + "/" + name + "'").c_str (), "r");
}

void
table_worst (const std::string &self, const char *name, const char *unit)
{
  FILE *in = run_sibling (self, name);
  char line[256];
  unsigned least[2] = { ~0u, ~0u };
  unsigned most[2] = { 0, 0 };
  while (in != nullptr && std::fgets (line, sizeof line, in) != nullptr)
    {
      unsigned worst[2];
      if (std::sscanf (line, "%*u %*u %*f %u %*u %*f %u", &worst[0], &worst[1])
          != 2)
        continue;
      for (int i = 0; i < 2; i++)
        {
          least[i] = std::min (least[i], worst[i]);
          most[i] = std::max (most[i], worst[i]);
        }
    }
  if (in == nullptr || pclose (in) != 0 || most[0] == 0)
    {
      std::printf ("TLSF, worst case in %s: not measured here\n", unit);
      return;
    }
  for (int i = 0; i < 2; i++)
    std::printf ("TLSF, worst %s of %s, heaps of 1 KB to 1 GB%*s %9u"
                 "  %u .. %u\n",
                 unit, i == 0 ? "an alloc" : "a free",
                 int (62 - 43 - std::strlen (unit) - (i == 0 ? 3 : 1) + 2), "",
                 most[i], least[i], most[i]);
}

void
table_fragmentation (const std::string &self)
{
  FILE *in = run_sibling (self, "tlsf-fragmentation");
  char line[256];
  std::map<unsigned, double> held[2];
  while (in != nullptr && std::fgets (line, sizeof line, in) != nullptr)
    {
      char name[16];
      unsigned size;
      double ratio;
      if (std::sscanf (line, "%15s %u %*u %*u %*u %lf", name, &size, &ratio)
          == 3)
        held[std::strcmp (name, "tlsf") == 0][size] = ratio;
    }
  if (in != nullptr)
    pclose (in);
  for (const auto &one : held[1])
    {
      char what[80];
      std::snprintf (what, sizeof what,
                     "TLSF, held of live bytes, up to %u B (malloc: %.3f)",
                     one.first, held[0][one.first]);
      std::printf ("%-62s %9.4g\n", what, one.second);
    }
}

void
print_ratios (const std::string &self)
{
  static const char *const peers[]
      = { "LLVM BumpPtrAllocator", "APR pool", "pmr::monotonic", "obstack" };
  ratio_head ();
  ratio_of (table, "8 bytes: fill after reset", "slice linear", "malloc");
  for (const char *size : { "8", "24" })
    ratio_of (table, std::string (size) + " bytes: stack, alloc and release",
              "slice stack", "malloc");
  for (const char *size : { "24", "64" })
    for (const char *how : { "random replacement", "many out and all in",
                             "many out and in again in order" })
      for (const char *peer : { "malloc", "Boost.Pool", "LLVM Recycler" })
        ratio_of (table, std::string (size) + " bytes: pool, " + how,
                  "slice pool", peer);
  for (std::size_t size : { 8, 24, 64 })
    {
      std::string what
          = "100,000 of " + std::to_string (size) + " bytes, held";
      ratio_line (what + ": linear", linear_held (size), "");
      ratio_line (what + ": pool", pool_held (size), "");
    }
  ratio_line ("arenas of 1.5 KB, used of held", small_arenas_used (), "");
  for (const char *what :
       { "first fill", "fill after reset", "reset or free all" })
    for (const char *size : { "8", "24", "64" })
      for (const char *peer : peers)
        ratio_of (table, std::string (size) + " bytes: " + what,
                  "slice linear", peer);
  /* A reset that keeps nothing, against those that keep nothing or little. */
  for (const char *what : { "fill after reset", "reset or free all" })
    for (const char *size : { "8", "24", "64" })
      for (const char *peer : peers)
        if (std::strcmp (peer, "APR pool") != 0)
          ratio_of (table, std::string (size) + " bytes: " + what,
                    "slice linear, none kept", peer);
  for (const Table::Row &row : table.rows)
    if (row.contestant == "slice TLSF, growing")
      ratio_of (table, row.scenario, "slice TLSF, growing", "malloc");
  std::fflush (stdout);
  table_worst (self, "tlsf-worst-steps", "steps");
  table_worst (self, "tlsf-worst-instructions", "instructions");
  table_fragmentation (self);
}

} // namespace

int
main (int argc, char **argv)
{
  int n_rounds = argc > 1 && argv[1][0] != '-' ? std::atoi (argv[1]) : 7;
  std::string last = argc > 1 ? argv[argc - 1] : "";
  bool is_mixed_only = last == "mixed";
  bool is_fills_only = last == "fills";
#ifdef HAVE_APR
  apr_initialize ();
#endif
  for (int round = 0; round < n_rounds && !is_mixed_only; round++)
    {
      first_fills<8> ();
      first_fills<24> ();
      first_fills<64> ();
    }
  for (int round = 0; round < n_rounds; round++)
    {
      if (!is_mixed_only)
        {
          fills<8> ();
          fills<24> ();
          fills<64> ();
        }
      if (is_fills_only)
        continue;
      if (!is_mixed_only)
        {
          stacks<8> ();
          stacks<24> ();
          pools<24> ();
          pools<64> ();
        }
      working_set ();
      mixed_sizes ("16 B to 1 KB mixed, 2000 live", 2000, 10);
      mixed_sizes ("16 B to 16 KB mixed, 2000 live", 2000, 14);
      mixed_sizes ("16 B to 1 KB mixed, 50000 live", 50000, 10);
    }
  if (last == "--table")
    print_ratios (argv[0]);
  else
    table.print ();
  return 0;
}
