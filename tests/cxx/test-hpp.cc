/* test-hpp.cc - slice.hpp: allocators, resources, strategies
 *
 * SPDX-License-Identifier: MIT
 */
#include <glib.h>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <string>
#include <vector>

#include <slice/slice.hpp>
#include <slice/stats.h>

/* The machine's page, or what test_pages() says that it is. */
static long said_by_test (int name);

extern "C" long
sysconf (int name) noexcept
{
  static long (*const real) (int)
      = reinterpret_cast<long (*) (int)> (dlsym (RTLD_NEXT, "sysconf"));
  long said = said_by_test (name);
  return said != 0 ? said : real (name);
}

namespace
{

template <typename Map>
void
exercise_map (Map &map)
{
  for (int i = 0; i < 5000; i++)
    map[i * 7919 % 10007] = i;
  for (int i = 0; i < 5000; i += 2)
    map.erase (i * 7919 % 10007);
  int sum = 0;
  for (const auto &entry : map)
    sum += entry.second;
  g_assert_cmpint (sum, ==, 2500 * 2500);
}

typedef std::pair<const int, int> Pair;

void
test_allocator ()
{
  std::map<int, int, std::less<int>, slice::allocator<Pair>> map;
  exercise_map (map);
  std::vector<long, slice::allocator<long>> numbers;
  for (long i = 0; i < 100000; i++)
    numbers.push_back (i);
  g_assert_cmpint (numbers[99999], ==, 99999);
  std::vector<long, slice::allocator<long>> copy (numbers);
  g_assert_true (copy == numbers);
  copy.swap (numbers);
  g_assert_true (slice::allocator<int> () == slice::allocator<long> ());
}

struct alignas (64) Wide
{
  char bytes[64];
};

void
test_alignment ()
{
  std::list<Wide, slice::allocator<Wide>> wide;
  for (int i = 0; i < 100; i++)
    {
      wide.emplace_back ();
      g_assert_cmpuint (
          reinterpret_cast<std::uintptr_t> (&wide.back ()) % 64, ==, 0);
    }
  slice::CustomAllocator<Wide, slice::Pool> pool;
  slice::CustomAllocator<Wide, slice::LinearPool> linear;
  slice::CustomAllocator<Wide, slice::StackPool> stack;
  for (int i = 0; i < 100; i++)
    {
      g_assert_cmpuint (
          reinterpret_cast<std::uintptr_t> (pool.create ()) % 64, ==, 0);
      g_assert_cmpuint (
          reinterpret_cast<std::uintptr_t> (linear.create ()) % 64, ==, 0);
      g_assert_cmpuint (
          reinterpret_cast<std::uintptr_t> (stack.create ()) % 64, ==, 0);
    }
}

void
test_bad_alloc ()
{
  slice::allocator<long> allocator;
  volatile std::size_t n = static_cast<std::size_t> (-1) / 4;
  bool thrown = false;
  try
    {
      allocator.allocate (n);
    }
  catch (const std::bad_alloc &)
    {
      thrown = true;
    }
  g_assert_true (thrown);

  SliceArenaOptions options = SliceArenaOptions ();
  options.limit_bytes = 10000;
  slice::LinearPool linear (&options);
  thrown = false;
  try
    {
      for (;;)
        linear.allocate (100, 8);
    }
  catch (const std::bad_alloc &)
    {
      thrown = true;
    }
  g_assert_true (thrown);
}

int n_alive;

struct Counted
{
  explicit Counted (int v) : value (v)
  {
    if (v < 0)
      throw v;
    n_alive++;
  }
  virtual ~Counted ()
  {
    n_alive--;
  }
  SLICE_CLASS_OPERATORS
  int value;
};

struct Larger : Counted
{
  explicit Larger (int v) : Counted (v)
  {
  }
  char more[300];
};

void
test_unique ()
{
  n_alive = 0;
  {
    slice::unique_ptr<Counted> one = slice::make_unique<Counted> (5);
    g_assert_cmpint (one->value, ==, 5);
    g_assert_cmpint (n_alive, ==, 1);
    static_assert (sizeof one == sizeof (void *), "no state");
  }
  g_assert_cmpint (n_alive, ==, 0);
  bool thrown = false;
  try
    {
      slice::make_unique<Counted> (-1);
    }
  catch (int)
    {
      thrown = true;
    }
  g_assert_true (thrown);
}

/* The size that delete hands on is that of the real type. */
void
test_class_operators ()
{
  n_alive = 0;
  Counted *one = new Counted (1);
  Counted *other = new Larger (2);
  g_assert_cmpint (n_alive, ==, 2);
  delete one;
  delete other;
  g_assert_cmpint (n_alive, ==, 0);
  Counted *null = nullptr;
  delete null;
}

/* --- new and delete ------------------------------------------------------ */

bool is_bad;

template <std::size_t Alignment, std::size_t Size>
struct alignas (Alignment) Shaped
{
  Shaped ()
  {
    if (is_bad)
      throw 1;
    n_alive++;
    g_assert_cmpuint (reinterpret_cast<std::uintptr_t> (this) % Alignment, ==,
                      0);
  }
  virtual ~Shaped ()
  {
    n_alive--;
  }
  SLICE_CLASS_OPERATORS
  char bytes[Size];
};

template <typename T>
struct alignas (alignof (T) > 256 ? alignof (T) : 256) Finer : T
{
};

/* Blocks that are out, small and large. */
std::uint64_t
n_blocks_out ()
{
  SliceStats stats;
  slice_get_stats (&stats);
  return stats.live_blocks + stats.n_large_allocs - stats.n_large_frees;
}

/* Each way to make one, and each to end it. */
template <typename T>
void
new_and_delete ()
{
  std::vector<T *> made;
  for (int i = 0; i < 20; i++)
    {
      made.push_back (new T);
      made.push_back (new (std::nothrow) T);
      made.push_back (new Finer<T>);
      made.push_back (new (std::nothrow) Finer<T>);
    }
  for (std::size_t i = 0; i < made.size (); i += 2)
    delete made[i];
  for (std::size_t i = 1; i < made.size (); i += 2)
    delete made[i];
  g_assert_cmpint (n_alive, ==, 0);
  /* A constructor that throws: what new got goes back. */
  is_bad = true;
  std::uint64_t n_before = n_blocks_out ();
  for (int i = 0; i < 20; i++)
    {
      int n_thrown = 0;
      try
        {
          new T;
        }
      catch (int)
        {
          n_thrown++;
        }
      try
        {
          new (std::nothrow) T;
        }
      catch (int)
        {
          n_thrown++;
        }
      try
        {
          new (std::nothrow) Finer<T>;
        }
      catch (int)
        {
          n_thrown++;
        }
      g_assert_cmpint (n_thrown, ==, 3);
    }
  is_bad = false;
  g_assert_cmpuint (n_blocks_out (), ==, n_before);
}

void
test_new_and_delete ()
{
  n_alive = 0;
  new_and_delete<Shaped<8, 4>> ();
  new_and_delete<Shaped<8, 3000>> ();
  new_and_delete<Shaped<16, 100>> ();
  new_and_delete<Shaped<32, 700>> ();
  new_and_delete<Shaped<64, 40>> ();
  new_and_delete<Shaped<4096, 40>> ();
  new_and_delete<Shaped<8192, 40>> ();
}

/* A size that is too large is nullptr with nothrow, and thrown without. */
void
test_nothrow ()
{
  typedef Shaped<64, 8> T;
  volatile std::size_t size = static_cast<std::size_t> (-1) / 2 + 1;
  g_assert_true (T::operator new (size, std::nothrow) == nullptr);
  g_assert_true (T::operator new (size, std::align_val_t (64), std::nothrow)
                 == nullptr);
  bool thrown = false;
  try
    {
      T::operator delete (T::operator new (size), size);
    }
  catch (const std::bad_alloc &)
    {
      thrown = true;
    }
  g_assert_true (thrown);
}

int n_until_throw;

struct Fragile
{
  Fragile () : zero ()
  {
    if (--n_until_throw == 0)
      throw 1;
    n_alive++;
  }
  ~Fragile ()
  {
    n_alive--;
  }
  int zero;
};

void
test_unique_array ()
{
  n_alive = 0;
  {
    slice::unique_ptr<Fragile[]> array = slice::make_unique<Fragile[]> (10);
    g_assert_cmpint (n_alive, ==, 10);
    g_assert_cmpuint (array.get_deleter ().size (), ==, 10);
    array[9].zero = 1;
    slice::unique_ptr<Fragile[]> other (std::move (array));
    g_assert_true (array == nullptr);
    array = slice::make_unique<Fragile[]> (0);
    array.swap (other);
    g_assert_cmpint (array[9].zero, ==, 1);
    slice::unique_ptr<Fragile[]> none;
    g_assert_true (none == nullptr);
  }
  g_assert_cmpint (n_alive, ==, 0);
  slice::unique_ptr<int[]> zeros = slice::make_unique<int[]> (1000);
  for (int i = 0; i < 1000; i++)
    g_assert_cmpint (zeros[static_cast<std::size_t> (i)], ==, 0);
  slice::unique_ptr<const int> constant = slice::make_unique<const int> (5);
  g_assert_cmpint (*constant, ==, 5);
  n_until_throw = 7;
  bool thrown = false;
  try
    {
      slice::make_unique<Fragile[]> (10);
    }
  catch (int)
    {
      thrown = true;
    }
  g_assert_true (thrown);
  g_assert_cmpint (n_alive, ==, 0);
}

/* --- pages --------------------------------------------------------------- */

long page_bytes_said; /* 0: what the system says */
std::size_t mapped_bytes;

void *
count_map (const SliceSource *, std::size_t bytes, std::size_t alignment)
{
  std::size_t page = static_cast<std::size_t> (sysconf (_SC_PAGESIZE));
  g_assert_cmpuint (bytes % page, ==, 0);
  g_assert_cmpuint (bytes, >, 0);
  g_assert_cmpuint (alignment % page, ==, 0);
  mapped_bytes += bytes;
  return std::aligned_alloc (alignment, (bytes + alignment - 1) / alignment
                                            * alignment);
}

void
count_unmap (const SliceSource *, void *address, std::size_t bytes)
{
  mapped_bytes -= bytes;
  std::free (address);
}

} // namespace

static long
said_by_test (int name)
{
  return name == _SC_PAGESIZE ? page_bytes_said : 0;
}

namespace
{

/* A source is asked for whole pages of the machine's. */
void
test_pages ()
{
  SliceSource source = SliceSource ();
  source.name = "counting";
  source.map = count_map;
  source.unmap = count_unmap;
  slice::llvm_allocator<> pages (&source);
  for (long said : { 0L, 16384L, 65536L })
    {
      page_bytes_said = said;
      for (std::size_t size : { 0, 1, 4096, 5000, 70000 })
        {
          void *slab = pages.Allocate (size, 8);
          pages.Deallocate (slab, size, 8);
          g_assert_cmpuint (mapped_bytes, ==, 0);
        }
    }
  page_bytes_said = 0;
  bool thrown = false;
  try
    {
      pages.Allocate (static_cast<std::size_t> (-1) - 5, 8);
    }
  catch (const std::bad_alloc &)
    {
      thrown = true;
    }
  g_assert_true (thrown);
}

/* --- strategies ---------------------------------------------------------- */

void
test_strategies ()
{
  typedef slice::CustomAllocator<Pair, slice::Pool> PoolAllocator;
  std::map<int, int, std::less<int>, PoolAllocator> pooled;
  exercise_map (pooled);
  typedef slice::CustomAllocator<Pair, slice::LinearPool> LinearAllocator;
  slice::LinearPool owner;
  {
    std::map<int, int, std::less<int>, LinearAllocator> linear (
        (std::less<int> ()), LinearAllocator (owner));
    exercise_map (linear);
  }
  owner.reset ();

  slice::CustomAllocator<long, slice::StackPool> stack;
  long *a = stack.create (1);
  long *b = stack.create (2);
  stack.dispose (b);
  g_assert_true (stack.create (3) == b);
  stack.dispose (b);
  stack.dispose (a);
  stack.reset ();

  slice::Pool natural (48, 0);
  void *object = natural.allocate (48, 16);
  g_assert_cmpuint (slice_pool_n_live (natural.arena ()), ==, 1);
  natural.deallocate (object, 48, 16);
  g_assert_cmpuint (slice_pool_n_live (natural.arena ()), ==, 0);

  auto shared = std::make_shared<slice::LinearPool> ();
  {
    slice::CustomAllocator<int, slice::LinearPool> one (shared);
    slice::CustomAllocator<long, slice::LinearPool> two (shared);
    g_assert_true (one == two);
    g_assert_cmpint (*one.create (4) + *two.create (5), ==, 9);
    g_assert_cmpint (shared.use_count (), ==, 3);
  }
  g_assert_cmpint (shared.use_count (), ==, 1);
}

/* --- misuse -------------------------------------------------------------- */

void
dies (void (*misuse) (), const char *said)
{
  if (g_test_subprocess ())
    {
      misuse ();
      return;
    }
  g_test_trap_subprocess (nullptr, 0, static_cast<GTestSubprocessFlags> (0));
  g_test_trap_assert_failed ();
  /* A sanitizer may see it first, and has its own words. */
  if (g_getenv ("SLICE_TEST_SANITIZED") == nullptr)
    g_test_trap_assert_stderr (said);
}

/* Objects of 0 bytes at the end of a block, freed below a large one. */
void
test_stack_zero ()
{
  slice::StackPool pool;

  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2)
    for (std::size_t bytes : { 0, 8, 5000 })
      {
        void *empty = pool.allocate (0, alignment);
        void *above = pool.allocate (bytes, 8);
        pool.deallocate (empty, 0, alignment);
        pool.deallocate (above, bytes, 8);
        g_assert_true (slice_stack_is_empty (pool.arena ()));
      }
}

/* Dead below a live object. */
void
deallocate_twice ()
{
  slice::StackPool pool;
  void *object = pool.allocate (8, 8);
  pool.allocate (8, 8);
  pool.deallocate (object, 8, 8);
  pool.deallocate (object, 8, 8);
}

/* Where a later object is. */
void
deallocate_again ()
{
  slice::StackPool pool;
  void *low = pool.allocate (8, 8);
  void *object = pool.allocate (8, 8);
  pool.deallocate (object, 8, 8);
  pool.deallocate (low, 8, 8);
  void *other = pool.allocate (256, 8);
  std::memset (other, 0, 256);
  pool.deallocate (object, 8, 8);
}

void
deallocate_top_twice ()
{
  slice::StackPool pool;
  void *object = pool.allocate (8, 8);
  pool.deallocate (object, 8, 8);
  pool.deallocate (object, 8, 8);
}

void
deallocate_large_twice ()
{
  slice::StackPool pool;
  pool.allocate (100, 8);
  void *object = pool.allocate (5000, 8);
  pool.deallocate (object, 5000, 8);
  pool.deallocate (object, 5000, 8);
}

void
deallocate_of_another ()
{
  slice::StackPool pool, other;
  void *object = pool.allocate (8, 8);
  other.allocate (8, 8);
  other.deallocate (object, 8, 8);
}

void
deallocate_foreign ()
{
  slice::StackPool pool;
  long words[8] = {};
  pool.deallocate (&words[4], 8, 8);
}

void
deallocate_overrun ()
{
  slice::StackPool pool;
  char *object = static_cast<char *> (pool.allocate (8, 8));
  void *next = pool.allocate (8, 8);
  char *volatile start = object;
  for (std::ptrdiff_t i = 0; start + i < next; i++)
    start[i] = 1;
  pool.deallocate (next, 8, 8);
}

void
test_stack_twice ()
{
  dies (deallocate_twice, "*slice: error 311: *released before*");
}

void
test_stack_again ()
{
  dies (deallocate_again, "*slice: error 312: *no object begins at*");
}

void
test_stack_top_twice ()
{
  dies (deallocate_top_twice, "*slice: error 311: *released before*");
}

/* The first deallocation has returned the object's block. */
void
test_stack_large_twice ()
{
  dies (deallocate_large_twice, "*slice: error 312: *released before*");
}

void
test_stack_another ()
{
  dies (deallocate_of_another, "*slice: error 312: *no object begins at*");
}

void
test_stack_foreign ()
{
  dies (deallocate_foreign, "*slice: error 312: *no object begins at*");
}

void
test_stack_overrun ()
{
  dies (deallocate_overrun, "*slice: error 313: *overrun*");
}

struct alignas (262144) Huge
{
  char c;
};

/* Its pages have gone by then. */
void
wide_twice ()
{
  slice::allocator<Huge> allocator;
  Huge *object = allocator.allocate (1);
  allocator.deallocate (object, 1);
  allocator.deallocate (object, 1);
}

void
test_wide_twice ()
{
  g_setenv ("SLICE_OPTIONS", "checked", TRUE);
  dies (wide_twice, "*slice: error 108: *not a live block*");
  g_unsetenv ("SLICE_OPTIONS");
}

/* As of any other object of a TLSF heap. */
void
tlsf_wide_twice ()
{
  slice::TlsfPool pool;
  void *object = pool.allocate (40, 16384);
  void *kept = pool.allocate (40, 16384);
  g_assert_cmpuint (reinterpret_cast<std::uintptr_t> (kept) % 16384, ==, 0);
  pool.deallocate (object, 40, 16384);
  pool.deallocate (object, 40, 16384);
}

void
test_tlsf_wide_twice ()
{
  dies (tlsf_wide_twice, "*slice: error 330: *");
}

/* What is in front of it can't be read. */
void
tlsf_wide_foreign ()
{
  std::size_t bytes = 65536;
  char *pages = static_cast<char *> (mmap (nullptr, 2 * bytes, PROT_NONE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1,
                                           0));
  slice::TlsfPool pool;
  pool.deallocate (pool.allocate (40, 8192), 40, 8192);
  pool.deallocate (pages + bytes, 40, 8192);
}

void
test_tlsf_wide_foreign ()
{
  dies (tlsf_wide_foreign, "*slice: error 331: *");
}

/* --- resources ----------------------------------------------------------- */

#ifdef SLICE_HAS_PMR

void
exercise_resource (std::pmr::memory_resource *resource)
{
  std::pmr::map<int, int> map (resource);
  exercise_map (map);
  std::pmr::vector<std::pmr::string> strings (resource);
  for (int i = 0; i < 1000; i++)
    strings.emplace_back ("a string that is too long to be kept inside");
  g_assert_cmpuint (strings.back ().size (), ==, 43);
  void *wide = resource->allocate (100, 64);
  g_assert_cmpuint (reinterpret_cast<std::uintptr_t> (wide) % 64, ==, 0);
  resource->deallocate (wide, 100, 64);
}

void
test_resources ()
{
  slice::memory_resource slices;
  exercise_resource (&slices);
  g_assert_true (slices.is_equal (*slice::default_resource ()));

  SliceLinear *linear = slice_linear_new (nullptr);
  slice::linear_resource linear_resource (linear);
  exercise_resource (&linear_resource);
  slice::linear_resource same (linear);
  g_assert_true (same.is_equal (linear_resource));
  g_assert_false (same.is_equal (slices));
  slice_linear_destroy (linear);

  SliceTlsf *tlsf = slice_tlsf_new (nullptr);
  slice::tlsf_resource tlsf_resource (tlsf);
  exercise_resource (&tlsf_resource);
  slice_tlsf_destroy (tlsf);

  SlicePool *pool = slice_pool_new_plain (48);
  slice::pool_resource pool_resource (pool, 48);
  exercise_resource (&pool_resource);
  g_assert_cmpuint (slice_pool_n_live (pool), ==, 0);
  slice_pool_destroy (pool);

  SliceStack *stack = slice_stack_new (nullptr);
  slice::stack_resource stack_resource (stack);
  void *low = stack_resource.allocate (100, 8);
  void *top = stack_resource.allocate (100, 32);
  stack_resource.deallocate (top, 100, 32);
  stack_resource.deallocate (low, 100, 8);
  g_assert_true (slice_stack_is_empty (stack));
  slice_stack_destroy (stack);
}

#endif

} // namespace

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, nullptr);
  g_test_add_func ("/slice/hpp/allocator", test_allocator);
  g_test_add_func ("/slice/hpp/alignment", test_alignment);
  g_test_add_func ("/slice/hpp/bad-alloc", test_bad_alloc);
  g_test_add_func ("/slice/hpp/unique", test_unique);
  g_test_add_func ("/slice/hpp/class-operators", test_class_operators);
  g_test_add_func ("/slice/hpp/new-and-delete", test_new_and_delete);
  g_test_add_func ("/slice/hpp/nothrow", test_nothrow);
  g_test_add_func ("/slice/hpp/unique-array", test_unique_array);
  g_test_add_func ("/slice/hpp/pages", test_pages);
  g_test_add_func ("/slice/hpp/strategies", test_strategies);
  g_test_add_func ("/slice/hpp/wide-twice", test_wide_twice);
  g_test_add_func ("/slice/hpp/tlsf-wide-twice", test_tlsf_wide_twice);
  g_test_add_func ("/slice/hpp/tlsf-wide-foreign", test_tlsf_wide_foreign);
  g_test_add_func ("/slice/hpp/stack/zero", test_stack_zero);
  g_test_add_func ("/slice/hpp/stack/twice", test_stack_twice);
  g_test_add_func ("/slice/hpp/stack/again", test_stack_again);
  g_test_add_func ("/slice/hpp/stack/top-twice", test_stack_top_twice);
  g_test_add_func ("/slice/hpp/stack/large-twice", test_stack_large_twice);
  g_test_add_func ("/slice/hpp/stack/another", test_stack_another);
  g_test_add_func ("/slice/hpp/stack/foreign", test_stack_foreign);
  g_test_add_func ("/slice/hpp/stack/overrun", test_stack_overrun);
#ifdef SLICE_HAS_PMR
  g_test_add_func ("/slice/hpp/resources", test_resources);
#endif
  return g_test_run ();
}
